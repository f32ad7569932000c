"""Format a frontier as tables of text: the best plays at each limit, then the learners."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

from lewa.data.moments import Value
from lewa.formatting import number
from lewa.frontiers.budgets import rounded
from lewa.frontiers.result import ContextGain, Frontier, HeldOut, LearnerResult, Mean, Point

PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
PER = {"at most": "extra unit", "at least": "unit less"}  # what eases a limit
MISSED = "!"  # marks an average beyond its limit
ROUNDING = 1e-12  # a narrower interval, relative to its middle, is an error of rounding
TEXT_WIDTH = 120  # of notes, where they are printed as plain text


class TextTable(NamedTuple):
    """A table whose first column names its rows."""

    title: str  # the line above the table
    columns: tuple[str, ...]  # the names of the columns
    rows: list[tuple[str, ...]]  # the cells, row by row
    caption: str = ""  # the text below the table
    together: int = 1  # the number of columns after the first that stay side by side


def tables(frontier: Frontier) -> list[TextTable]:
    """Return the tables of a frontier, with rewards and constraints side by side."""
    context = [_context(frontier)] if frontier.context else []
    if frontier.kind == "log":
        return [*_actions_alone(frontier), _best(frontier, "estimated", "rows"), _held_out(frontier), *context]
    return [_best(frontier, "best", "rounds"), _learners(frontier), *context]


def sentences(frontier: Frontier) -> list[str]:
    """Return the notes of a frontier as sentences."""
    return [note if note.endswith("?") else f"{note}." for note in frontier.notes]


def as_text(frontier: Frontier) -> str:
    """Return the tables and notes as plain text."""
    notes = (fill(sentence, TEXT_WIDTH, break_long_words=False) for sentence in sentences(frontier))
    return "\n".join(["\n\n".join(_layout(table) for table in tables(frontier)), *notes])


def _layout(table: TextTable) -> str:
    cells = [table.columns, *table.rows]
    widths = [max(len(row[n]) for row in cells) for n in range(len(table.columns))]
    lines = [
        " " + "  ".join(cell.ljust(widths[n]) if n == 0 else cell.rjust(widths[n]) for n, cell in enumerate(row)).rstrip()
        for row in cells
    ]
    return "\n".join([table.title, *lines, *([table.caption] if table.caption else [])])


# Tables ------------------------------------------------------------------------------------------------------------------


def _actions_alone(frontier: Frontier) -> list[TextTable]:
    """Return a table for each quantity: its value for each action, by each estimator."""
    columns = ("", "rows", "inverse propensities", "self-normalised", "doubly robust", f"proved, {frontier.level:.0%}")
    return [
        TextTable(
            f"{quantity.name} of each action, {frontier.rounds:,} rows",
            columns,
            [
                (
                    action,
                    f"{frontier.action_rows[action]:,}",
                    *(interval(by[way]) for way in ("ips", "snips", "dr")),
                    _between(by["dr"].proved),
                )
                for action, by in ((action, values[quantity.name]) for action, values in frontier.actions_alone.items())
            ],
        )
        for quantity in (frontier.reward, *frontier.constraints)
    ]


def _best(frontier: Frontier, known: str, rows: str) -> TextTable:
    """Return the best play at each line, with the price of every line."""
    reward = frontier.reward.name
    of = f" of {frontier.source}" if frontier.source else ""
    priced = sorted(frontier.limited, key=lambda quantity: quantity.name != frontier.varied)  # the varied one first
    percent = f"{100 * (frontier.confidence or 0):.4g}%"
    sure = [] if frontier.confidence is None else priced
    averages = [name for q in sure for name in (q.name, f"{q.name}, {percent} bound")]
    columns = (
        frontier.across,
        f"{known} {reward}",
        *averages,
        *(f"gain per {PER[q.sense]} of {q.name}" for q in priced),
        "by",
    )

    def row(point: Point) -> tuple[str, ...]:
        best = point.best
        prices = [number(best.price[q.name]) for q in priced]
        promised = [number(each[q.name]) for q in sure for each in (best.average, best.bound or best.average)]
        value = number(best.value) if best.feasible else "none"
        return (number(point.line), value, *promised, *prices, play_text(best.play))

    title = f"{reward} against {frontier.across}{frontier.fixed_lines}: {frontier.rounds:,} {rows}{of}"
    return TextTable(title, columns, [row(point) for point in frontier.points])


def _context(frontier: Frontier) -> TextTable:
    """Return the gain of a policy on the context, on rows that did not choose it."""
    reward, cost, table = frontier.reward.name, frontier.varied, frontier.kind == "table"
    groups = any(each.by_group is not None for each in frontier.context)
    head = (frontier.across, f"mixture {reward}", cost, f"policy {reward}", cost, "gain", "gain in sample")
    columns = (*head, *(("per group",) if groups else ()), *(("per row",) if table else ()), "verdict")

    def row(each: ContextGain) -> tuple[str, ...]:
        half = (each.high - each.low) / 2
        judged = (each.line, each.fixed, each.fixed_average, each.policy, each.policy_average)
        gain = f"{number(each.gain)} {PLUS_MINUS} {number(half)}"
        ceiling = tuple(number(x) for x in (each.by_group, each.ceiling) if x is not None)
        rows = each.rows_to_settle
        settle = f", about {rounded(rows):,} rows would settle it" if each.low <= 0 and rows else ""
        return (*map(number, judged), gain, number(each.in_sample), *ceiling, f"{each.verdict}{settle}")

    caption = "mixtures and policies that four fifths of the rows choose and the last fifth evaluates, in turn"
    caption += ", so that the mixture is not the one of the other tables; the gain in sample is optimistic"
    caption += ", per group is the reward of the policy that sees groups of similar rows" if groups else ""
    caption += ", and per row is not achievable" if table else ""
    return TextTable("would context pay?", columns, [row(each) for each in frontier.context], caption)


def _held_out(frontier: Frontier) -> TextTable:
    """Return the values of each play on rows that did not choose it."""
    names = [q.name for q in (frontier.reward, *frontier.constraints)]
    columns = (frontier.across, *(column for name in names for column in (name, f"{name}, proved")), "by")

    def row(line: float, held_out: HeldOut) -> tuple[str, ...]:
        robust = [held_out.values[name]["dr"] for name in names]
        cells = (cell for value in robust for cell in (interval(value), _between(value.proved)))
        return (number(line), *cells, play_text(held_out.play))

    rows = [row(point.line, point.held_out) for point in frontier.points if point.held_out is not None]
    return TextTable("held out, doubly robust", columns, rows)


def _learners(frontier: Frontier) -> TextTable:
    """Return what learners get at each line."""
    names = [q.name for q in frontier.limited]
    columns = [frontier.across]
    for name in frontier.learners:
        averages = "average" if len(names) > 1 else f"average {names[0]}"
        columns += [f"{name.split()[0]}: {frontier.reward.name}", averages, "net violation", "positive"]

    def cells(point: Point, result: LearnerResult) -> tuple[str, ...]:
        missed = result.missed(point.lines, frontier.limited)
        average = _by_name(result.average, names, missed)
        violations = (_by_name(each, names) for each in (result.violation, result.positive_violation))
        return (interval(result.reward), average, *violations)

    rows = [
        (number(point.line), *(cell for result in point.learners.values() for cell in cells(point, result)))
        for point in frontier.points
    ]
    over = any(
        result.missed(point.lines, frontier.limited) for point in frontier.points for result in point.learners.values()
    )
    listing = ", ".join(f"{name} ({feedback})" for name, feedback in frontier.learners.items())
    means = (
        f"; means over {frontier.seeds} seeds, {PLUS_MINUS} {frontier.level:.0%} interval over the learner's random seeds"
    )
    return TextTable(
        f"results of {listing}",
        tuple(columns),
        rows,
        f"per round{means if frontier.seeds > 1 else ''}{f'; {MISSED} the limit is missed' if over else ''}",
        together=4,
    )


# Cells -------------------------------------------------------------------------------------------------------------------


def interval(value: Value | Mean) -> str:
    """Format a value and its interval, if there is one: its half-width, or the ends where it is not symmetric."""
    middle, half = value[0], (value.high - value.low) / 2
    if half <= ROUNDING * abs(middle):
        return number(middle)
    if isinstance(value, Mean):
        return f"{number(middle)} {PLUS_MINUS} {half:.2g}"
    return f"{number(middle)} ({_between((value.low, value.high))})"


def play_text(shares: dict[str, float]) -> str:
    """Format the actions of a play and their shares."""
    if len(shares) == 1:
        return next(iter(shares))
    return ", ".join(f"{name} {100 * share:.3g}%" for name, share in shares.items())


def _between(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{number(ends[0])} to {number(ends[1])}"


def _by_name(means: dict[str, Mean], names: Sequence[str], missed: Sequence[str] = ()) -> str:
    """Format one number for each constraint, with its name where there are several, and mark those that are missed."""
    cells = {name: f"{number(means[name].mean)}{MISSED if name in missed else ''}" for name in names}
    return cells[names[0]] if len(names) == 1 else ", ".join(f"{name} {cell}" for name, cell in cells.items())
