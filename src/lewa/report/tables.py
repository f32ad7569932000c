"""Summarise a play or a replay, as the plain numbers that `--json` prints, and print summaries as tables."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lewa import schema
from lewa.data.columns import Quantity
from lewa.formatting import by_name
from lewa.formatting import number as number
from lewa.formatting import numbers as numbers
from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace
from lewa.schema import Hindsight, LearnerSummary, Spread, Spreads, Summary, plain
from lewa.simulate.log_replay import LogReplay, StreamedReplay
from lewa.theory.guarantees import Guarantee, none
from lewa.types import Matrix, Vector


def summary(traces: Mapping[str, Trace]) -> Summary:
    """Return the regret and the violation of learners that played the same game, rounds, seeds and floor."""
    first = next(iter(traces.values()))
    best = hindsight(first)
    return {
        "rounds": first.rounds,
        "actions": first.game.actions,
        "seeds": len(first.seeds),
        "floor": first.floor.tolist(),
        "hindsight": {
            "value": float(np.mean([h.value for h in best])),
            "play": np.mean([h.play for h in best], axis=0).tolist(),
            "price": np.mean([h.price for h in best], axis=0).tolist(),
            "feasible": all(h.feasible for h in best),
        },
        "learners": {name: _learner(trace) for name, trace in traces.items()},
    }


def _learner(trace: Trace) -> LearnerSummary:
    guarantee, holds = judge(trace)
    return {
        "reward": spread(trace.reward[:, -1]),
        "regret": spread(regret(trace)),
        "violation": spreads(violation(trace)),
        "positive_violation": spreads(positive_violation(trace)),
        "multiplier": trace.multiplier[:, -1].mean(axis=0).tolist(),
        "measured_on": trace.measured_on,
        "guarantee": {**guarantee_of(guarantee), "holds": holds},
    }


def guarantee_of(guarantee: Guarantee) -> schema.Guarantee:
    """Return a guarantee as plain numbers; a bound that does not exist is None, with the reason."""
    listed = {name: getattr(guarantee, name) for name in schema.Guarantee.__annotations__}
    numbers: schema.Guarantee = plain(listed)
    return numbers


def spread(values: Vector) -> Spread:
    """Return the mean and the largest value over seeds, and the value of every seed."""
    return {"mean": float(values.mean()), "max": float(values.max()), "per_seed": values.tolist()}


def spreads(values: Matrix) -> Spreads:
    """Return the same for values (seeds, m), each as a list over constraints."""
    return {"mean": values.mean(axis=0).tolist(), "max": values.max(axis=0).tolist(), "per_seed": values.tolist()}


# A bandit log ------------------------------------------------------------------------------------------------------------


def summary_of_log(replays: Mapping[str, LogReplay | StreamedReplay], actions: int, floor: list[float]) -> Summary:
    """Return the summary for a bandit log, without regret, because the rewards of other actions are unknown.

    Learners are compared over the same number of rounds, the smallest number that counted for a learner.
    """
    reason = "no bound is proved for a learner that is replayed on a log, which has one action per row"
    rounds = min(run.rounds for run in replays.values())
    learners: dict[str, LearnerSummary] = {}
    for name, run in replays.items():
        totals = run.totals(rounds)
        learners[name] = {
            "reward": spread(totals.reward),
            "regret": None,
            "violation": spreads(np.maximum(totals.shortfall, 0)),
            "positive_violation": spreads(totals.positive),
            "multiplier": totals.multiplier.mean(axis=0).tolist(),
            "measured_on": "action",
            "guarantee": {**guarantee_of(none("bandit log", reason)), "holds": None},
        }
    return {
        "rounds": rounds,
        "actions": actions,
        "seeds": len(next(iter(replays.values())).seeds),
        "floor": floor,
        "hindsight": None,
        "learners": learners,
    }


COLUMNS = ("learner", "reward", "regret", "proved: at most", "violation", "proved: at most", "positive violation", "holds")
CAPTION = "sums over the rounds, means over seeds; a dash: no bound is proved, or runs cannot decide"
IN_CONTEXT = (
    "regret is relative to the best fixed play; for a learner that uses the context, its bound and whether it holds are "
    "relative to policies on the context"
)
HOLDS = {True: "yes", False: "NO", None: "-"}


class Sheet(NamedTuple):
    """A plain table with names in the first column and numbers in the others; long lines break between words.

    A table that is too wide for the terminal continues below, with its first column again.
    """

    title: str
    columns: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    caption: str | None
    together: int = 1  # the number of columns after the first that stay side by side

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = self._parts(options.max_width)
        for n, part in enumerate(parts):
            title, caption = (self.title or None) if n == 0 else None, self.caption if n == len(parts) - 1 else None
            yield self._table(part, title, caption, options.max_width)

    def _table(self, part: list[int], title: str | None, caption: str | None, room: int) -> Table:
        sheet = Table(title=title, title_justify="left", title_style="bold", box=None)
        sheet.caption, sheet.caption_justify = caption, "left"
        for n, width in zip(part, self._widths(part, room), strict=True):
            left = n == 0 or not self.columns[n].plain
            justify: JustifyMethod = "left" if left else "right"
            sheet.add_column(self.columns[n], justify=justify, overflow="fold", min_width=width, max_width=width)
        for row in self.rows:
            sheet.add_row(*(row[n] for n in part))
        return sheet

    def _cells(self, n: int) -> list[str]:
        return [self.columns[n].plain, *(row[n].plain for row in self.rows)]

    def _least_width(self, n: int) -> int:
        """Return the width of the longest word of a column."""
        return max(cell_len(word) for cell in self._cells(n) for word in [*cell.split(), ""])

    def _parts(self, room: int) -> list[list[int]]:
        """Return the columns of each part: all in one if they fit, else as many as do, group by group."""
        least = [self._least_width(n) + 2 for n in range(len(self.columns))]
        groups = [[*range(n, min(n + self.together, len(least)))] for n in range(1, len(least), self.together)]
        if any(least[0] + sum(least[n] for n in group) > room for group in groups):
            groups = [[n] for n in range(1, len(least))]
        parts: list[list[int]] = [[0]]
        for group in groups:
            if len(parts[-1]) > 1 and sum(least[n] for n in [*parts[-1], *group]) > room:
                parts.append([0])
            parts[-1] += group
        return parts

    def _widths(self, part: list[int], room: int) -> list[int]:
        """Return the widths of columns: no more than there is room for, and none below its longest word if that fits."""
        widths = [max(cell_len(line) for cell in self._cells(n) for line in cell.split("\n")) for n in part]
        words = [self._least_width(n) for n in part]
        excess = sum(widths) + 2 * len(widths) - room
        while excess > 0 and widths != words:
            widest = max(range(len(widths)), key=lambda n: widths[n] - words[n])
            widths[widest] -= 1
            excess -= 1
        return widths


def table(
    title: str,
    *columns: str | Text,
    rows: Sequence[tuple[str | Text, ...]],
    caption: str | None = None,
    together: int = 1,
) -> Sheet:
    """Return a table of plain texts; where it is too wide, `together` columns after the first stay side by side."""
    return Sheet(title, tuple(map(_text, columns)), tuple(tuple(map(_text, row)) for row in rows), caption, together)


def _text(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def print_summary(result: Summary, console: Console, lines: Sequence[Quantity] = (), in_context: bool = False) -> None:
    """Print the regret and the violation of each learner beside their bounds; regret uses no context, if there is one."""
    m = len(result["floor"])
    names = [line.name for line in lines] or [f"c{j + 1}" for j in range(m)]
    title = f"{_size(result)}, {_floors(result['floor'], lines)}{_best(result['hindsight'], lines)}"
    rows = [(name, *_cells(learner, names)) for name, learner in result["learners"].items()]
    console.print(table(title, *COLUMNS, rows=rows, caption=CAPTION))
    if in_context:
        console.print(f"{IN_CONTEXT}.", style="dim", highlight=False, markup=False)
    for name, learner in result["learners"].items():
        if learner["guarantee"]["reason"]:
            console.print(f"{name}: {learner['guarantee']['reason']}.", style="dim", highlight=False, markup=False)
        if learner["measured_on"] == "action":
            console.print(f"{name}: violation is measured on the action drawn.", style="dim", highlight=False)


def _size(result: Summary) -> str:
    return f"{result['rounds']:,} rounds, {result['actions']} actions, {result['seeds']} seeds"


def _floors(floor: list[float], lines: Sequence[Quantity]) -> str:
    if not lines:
        return f"floor {numbers(floor)}"
    return ", ".join(f"{escape(q.name)} {q.sense} {number(c0)}" for q, c0 in zip(lines, floor, strict=True))


def _best(best: Hindsight | None, lines: Sequence[Quantity]) -> str:
    """Return a second line of the title: the best fixed play."""
    if best is None:
        return ""
    title = f"\nbest fixed play: {number(best['value'])} per round"
    if not best["feasible"]:
        return f"{title}; no play meets {'these limits' if lines else 'the floor'}"
    if not lines:
        return f"{title}, price of the floor {numbers(best['price'])}"
    each = zip(lines, best["price"], strict=True)
    return f"{title}, price " + ", ".join(f"of {escape(q.name)} {number(price)}" for q, price in each)


def _cells(learner: LearnerSummary, names: Sequence[str]) -> tuple[str, ...]:
    guarantee, regret = learner["guarantee"], learner["regret"]
    return (
        number(learner["reward"]["mean"]),
        number(None if regret is None else regret["mean"]),
        number(guarantee["regret"]),
        by_name(learner["violation"]["mean"], names),
        by_name(guarantee["violation"], names),
        by_name(learner["positive_violation"]["mean"], names),
        HOLDS[guarantee["holds"]],
    )


def print_log_summary(
    result: Summary, averages: dict[str, list[float]], rows: int, lines: Sequence[Quantity], console: Console
) -> None:
    """Print the results of learners on a log, per round; `averages` has those of each constraint, by learner."""
    T, names = result["rounds"], [line.name for line in lines]
    title = f"{T:,} of {rows:,} rows count: those in which the learner draws the action of the log\n"
    title += f"{result['actions']} actions, {result['seeds']} seeds; per round"
    across = [f"{q.name} {q.sense} {number(c0)}" for q, c0 in zip(lines, result["floor"], strict=True)]
    cells: list[tuple[str, ...]] = []
    for name, learner in result["learners"].items():
        short = [[value / T for value in learner[kind]["mean"]] for kind in ("violation", "positive_violation")]
        each = [number(average) for average in averages[name]]
        missed = [by_name(values, names) for values in short]
        cells.append((name, number(learner["reward"]["mean"] / T), *each, *missed))
    columns = ["learner", "reward", *across, "violation", "positive violation"]
    console.print(table(title, *columns, rows=cells, caption="means over seeds; violation is measured on the action drawn"))
    for reason in dict.fromkeys(learner["guarantee"]["reason"] for learner in result["learners"].values()):
        console.print(f"{reason}.", style="dim", highlight=False, markup=False)
