"""Numbers and tables as text."""

from collections.abc import Iterable, Sequence


def number(x: float | None, missing: str = "-") -> str:
    """Return four digits that fit a column; a dash where there is no number."""
    if x is None:
        return missing
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def numbers(values: Iterable[float | None] | None) -> str:
    """Return one number per constraint."""
    return "-" if values is None else ", ".join(number(value) for value in values)


def by_name(values: Sequence[float] | None, names: Sequence[str]) -> str:
    """Return one number per constraint; of several, each in a line after the name of its constraint."""
    if values is None or len(values) == 1:
        return numbers(values)
    return "\n".join(f"{name} {number(value)}" for name, value in zip(names, values, strict=True))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows))
