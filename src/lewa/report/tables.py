"""The same numbers as tables for people."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lewa.formatting import number as number
from lewa.formatting import numbers as numbers
from lewa.schema import Hindsight, LearnerSummary, Summary

COLUMNS = ("learner", "reward", "regret", "proved: at most", "violation", "proved: at most", "positive violation", "holds")
CAPTION = "means over seeds; a dash: nothing is proved, or runs cannot tell"
HOLDS = {True: "yes", False: "NO", None: "-"}


class Line(NamedTuple):
    """A constraint as the user names it."""

    name: str
    sense: str  # "at most" or "at least"


def table(title: str, *columns: str | Text, rows: Sequence[tuple[str | Text, ...]], caption: str | None = None) -> Table:
    """Return a plain table: the first column names, the others numbers. No word is broken where the table fits."""
    sheet = Table(title=title, title_justify="left", title_style="bold", caption=caption, caption_justify="left", box=None)
    for n, column in enumerate(columns):
        longest = max(len(word) for cell in (column, *(row[n] for row in rows)) for word in [*_words(cell), ""])
        sheet.add_column(column, justify="left" if n == 0 or not column else "right", overflow="fold", min_width=longest)
    for row in rows:
        sheet.add_row(*row)
    return sheet


def _words(cell: str | Text) -> list[str]:
    return (cell.plain if isinstance(cell, Text) else Text.from_markup(cell).plain).split()


def print_summary(result: Summary, console: Console, lines: Sequence[Line] = ()) -> None:
    """Print regret and violation of each learner, side by side, beside what is proved; `lines` name the constraints."""
    m = len(result["floor"])
    names = [line.name for line in lines] or [f"c{j + 1}" for j in range(m)]
    title = f"{_size(result)}, {_floors(result['floor'], lines)}{_best(result['hindsight'], lines)}"
    rows = [(name, *_cells(learner, names)) for name, learner in result["learners"].items()]
    console.print(table(title, *COLUMNS, rows=rows, caption=CAPTION))
    for name, learner in result["learners"].items():
        if learner["guarantee"]["reason"]:
            console.print(f"{name}: {learner['guarantee']['reason']}.", style="dim", highlight=False, markup=False)
        if learner["measured_on"] == "action":
            console.print(f"{name}: violation is measured on the action drawn.", style="dim", highlight=False)


def _size(result: Summary) -> str:
    return f"{result['rounds']:,} rounds, {result['actions']} actions, {result['seeds']} seeds"


def _floors(floor: list[float], lines: Sequence[Line]) -> str:
    if not lines:
        return f"floor {numbers(floor)}"
    return ", ".join(f"{escape(name)} {sense} {number(c0)}" for (name, sense), c0 in zip(lines, floor, strict=True))


def _best(best: Hindsight | None, lines: Sequence[Line]) -> str:
    """Return a second line of the title: the best fixed play."""
    if best is None:
        return ""
    title = f"\nbest fixed play: {number(best['value'])} a round"
    if not best["feasible"]:
        return f"{title}; no play meets {'these lines' if lines else 'the floor'}"
    if not lines:
        return f"{title}, price of the floor {numbers(best['price'])}"
    each = zip(lines, best["price"], strict=True)
    return f"{title}, price " + ", ".join(f"of {escape(name)} {number(price)}" for (name, _), price in each)


def _cells(learner: LearnerSummary, names: Sequence[str]) -> tuple[str | Text, ...]:
    guarantee, regret = learner["guarantee"], learner["regret"]
    return (
        number(learner["reward"]["mean"]),
        number(None if regret is None else regret["mean"]),
        number(guarantee["regret"]),
        Text(numbers(learner["violation"]["mean"], names)),
        Text(numbers(guarantee["violation"], names)),
        Text(numbers(learner["positive_violation"]["mean"], names)),
        HOLDS[guarantee["holds"]],
    )


def print_log_summary(
    result: Summary, averages: dict[str, list[float]], rows: int, lines: Sequence[Line], console: Console
) -> None:
    """Print what learners came to on a log of so many rows, per round: `averages` has that of each constraint."""
    T, names = result["rounds"], [line.name for line in lines]
    title = f"{T:,} of {rows:,} rows count: those in which the learner draws the action of the log\n"
    title += f"{result['actions']} actions, {result['seeds']} seeds; per round"
    across = [Text(f"{name} {sense} {number(c0)}") for (name, sense), c0 in zip(lines, result["floor"], strict=True)]
    cells: list[tuple[str | Text, ...]] = []
    for name, learner in result["learners"].items():
        short = [[value / T for value in learner[kind]["mean"]] for kind in ("violation", "positive_violation")]
        each = [number(average) for average in averages[name]]
        missed = [Text(numbers(values, names)) for values in short]
        cells.append((name, number(learner["reward"]["mean"] / T), *each, *missed))
    columns: list[str | Text] = ["learner", "reward", *across, "violation", "positive violation"]
    console.print(table(title, *columns, rows=cells, caption="means over seeds; violation is measured on the action drawn"))
    for reason in dict.fromkeys(learner["guarantee"]["reason"] for learner in result["learners"].values()):
        console.print(f"{reason}.", style="dim", highlight=False, markup=False)
