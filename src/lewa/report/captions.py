"""The sentences of a report: the runs, the verdicts, and the captions of tables and figures."""

from collections.abc import Sequence

from lewa.lab.study import short
from lewa.paper.rules import VerdictLine
from lewa.report.page import number
from lewa.report.results import Result, StudyFolder

SENSES = {"<=": "at most ", ">=": "at least ", "=": ""}  # in a sentence
LEVEL = 0.95  # of the intervals
TABLE = "Mean \N{PLUS-MINUS SIGN} standard deviation over seeds. A dash: not proved, not measured, or undecided."
SLOPES = f" Slopes on log-log scales over all horizons, with {LEVEL:.0%} intervals."
CLAIMS = (
    "Bound and measured are read at the longest horizon; slopes on log-log scales over all horizons, with intervals. "
    "If a claim has several games, the table shows the one nearest to the bound."
)
FAILURE = (
    "Measured means over seeds at each horizon, on log-log axes, and the line fitted to them. "
    "Dashed: the claimed rate, from the first horizon on."
)
GROWTH = (
    "Means over seeds at each horizon with their 95 % Student intervals, and the lines fitted to them, where all are "
    "positive, with their slopes. Dashed: the proved bound. In brackets: the exponent of the theory."
)


def judgement(results: Sequence[Result]) -> str:
    """Return a sentence on how many guarantees held."""
    judged = [result for result in results if result.holds() is not None]
    failed = [result for result in judged if result.holds() is False]
    if not judged:
        return "These runs cannot decide any guarantee."
    if not failed:
        return f"All {len(judged)} guarantees that these runs can decide hold."
    names = "; ".join(f"{result.learner} in {result.game} at T = {result.rounds:,}" for result in failed)
    return f"{len(failed)} of {len(judged)} guarantees that these runs can decide do not hold: {names}."


def facts(study: StudyFolder) -> str:
    """Return a line about the runs."""
    results = study.results
    horizons = sorted({result.rounds for result in results})
    seeds = len({row["seed"] for result in results for row in result.rows})
    worlds = list(dict.fromkeys(f"{result.game} at floor {short(result.floor)}" for result in results))
    learners = list(dict.fromkeys(result.learner for result in results))
    words = [
        learners[0] if len(learners) == 1 else f"{len(learners)} learners",
        worlds[0] if len(worlds) == 1 else f"{len(worlds)} games",
        f"T = {horizons[0]:,}" + (f" to {horizons[-1]:,} in {len(horizons)} steps" if len(horizons) > 1 else ""),
        f"{seeds} seeds" if seeds > 1 else "one seed",
    ]
    return ", ".join(words) + f"; lewa {study.versions.get('lewa', 'of no version')}."


def count(lines: Sequence[VerdictLine], studies: int) -> str:
    """Return a sentence on how many claims hold."""
    claims = {line.claim: all(other.holds for other in lines if other.claim == line.claim) for line in lines}
    failing = len(claims) - sum(claims.values())
    start = f"{sum(claims.values())} of {len(claims)} claims hold" + (f", {failing} fail." if failing else ".")
    return f"{start} Each verdict was computed from the runs of {studies} {'studies' if studies > 1 else 'study'}."


def failure(lines: Sequence[VerdictLine]) -> str:
    """Return a sentence with the statement of a claim and the value measured instead."""
    text = "; ".join(map(_failed, lines))
    return f"{text[:1].upper()}{text[1:]}."


def _failed(line: VerdictLine) -> str:
    slope = "" if line.slope is None else f", with slope {line.slope:.2f}"
    where = f"after {line.rounds:,} rounds of the game {line.game.split()[0]}"
    return f"{line.quantity} should be {SENSES[line.sense]}{line.formula}, but is {number(line.measured)} {where}{slope}"


def reason(line: VerdictLine) -> str:
    """Return the runs behind a verdict."""
    where = f"{line.learner} in {line.game}, T = {line.rounds:,}"
    return f"{where}: {line.why}." if line.why else f"{where}."


def on_action(results: Sequence[Result]) -> str:
    """Return a sentence that names the learners measured on the action drawn."""
    names = dict.fromkeys(result.learner for result in results if result.rows[0]["measured_on"] == "action")
    return f" Measured on the action drawn: {', '.join(names)}." if names else ""
