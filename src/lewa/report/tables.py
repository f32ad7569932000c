"""The same numbers as tables for people."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text


def number(x: float | None) -> str:
    """Four digits that fit a column; a dash where there is none."""
    if x is None:
        return "-"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def numbers(values: Any) -> str:
    """One number per constraint."""
    return "-" if values is None else ", ".join(number(v) for v in values)


def table(title: str, *columns: str | Text, rows: Sequence[tuple[str | Text, ...]], caption: str | None = None) -> Table:
    """A plain table: the first column names, the others numbers."""
    shown = Table(title=title, title_justify="left", title_style="bold", caption=caption, caption_justify="left", box=None)
    for n, column in enumerate(columns):
        shown.add_column(column, justify="left" if n == 0 or not column else "right", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    return shown


def print_summary(result: dict[str, Any], console: Console, lines: Sequence[tuple[str, str]] = ()) -> None:
    """Regret and violation of each learner, side by side, beside what is proved; `lines` are names and senses of floors."""
    best, floor = result["hindsight"], result["floor"]
    title = f"{result['rounds']:,} rounds, {result['actions']} actions, {result['seeds']} seeds, "
    if lines:
        title += ", ".join(f"{escape(name)} {sense} {number(c0)}" for (name, sense), c0 in zip(lines, floor, strict=True))
    else:
        title += f"floor {numbers(floor)}"
    if best is not None:
        title += f"\nbest fixed play: {number(best['value'])} a round"
        if not best["feasible"]:
            title += f"; no play meets {'these lines' if lines else 'the floor'}"
        elif lines:
            each = zip(lines, best["price"], strict=True)
            title += ", price " + ", ".join(f"of {escape(name)} {number(price)}" for (name, _), price in each)
        else:
            title += f", price of the floor {numbers(best['price'])}"
    rows = [
        (
            name,
            number(got["reward"]["mean"]),
            "-" if got["regret"] is None else number(got["regret"]["mean"]),
            number(got["guarantee"]["regret"]),
            numbers(got["violation"]["mean"]),
            numbers(got["guarantee"]["violation"]),
            numbers(got["positive_violation"]["mean"]),
            {True: "yes", False: "NO", None: "-"}[got["guarantee"]["holds"]],
        )
        for name, got in result["learners"].items()
    ]
    columns = (
        "learner",
        "reward",
        "regret",
        "proved: at most",
        "violation",
        "proved: at most",
        "positive violation",
        "holds",
    )
    console.print(
        table(title, *columns, rows=rows, caption="means over seeds; a dash: nothing is proved, or runs cannot tell")
    )
    for name, got in result["learners"].items():
        if got["guarantee"]["reason"]:
            console.print(f"{name}: {got['guarantee']['reason']}.", style="dim", highlight=False)
        if got["measured_on"] == "action":
            console.print(f"{name}: violation is measured on the action drawn.", style="dim", highlight=False)
