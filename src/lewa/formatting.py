"""Numbers and tables as text."""

from collections.abc import Iterable, Sequence


def number(x: float | None, missing: str = "-") -> str:
    """Return four digits that fit a column; a dash where there is no number."""
    if x is None:
        return missing
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def numbers(values: Iterable[float | None] | None, names: Sequence[str] = ()) -> str:
    """Return one number per constraint; of several, each after the name of its constraint if names are given."""
    if values is None:
        return "-"
    texts = [number(value) for value in values]
    if len(texts) > 1 and names:
        texts = [f"{name} {text}" for name, text in zip(names, texts, strict=True)]
    return ", ".join(texts)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows))
