"""How an agent stands: its lines, its regret, what is proved of it, and what looks wrong."""

from math import floor, log10
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from lewa.agent import statistics as books
from lewa.agent.constraint import Line
from lewa.measures import best_fixed_play, certificate
from lewa.measures.confidence_sequence import interval
from lewa.measures.trace import Trace
from lewa.theory.guarantees import Guarantee, Setting, guarantee, none
from lewa.types import Matrix, Vector
from lewa.units import Scale

LEVEL = 0.95  # of all the bands together, and of the finding that no mixture keeps the lines
FEW = 50  # values below which nothing is said about a range
NEAR = 0.05  # of the range: a line that no action clears by more is near
NARROW = 0.25  # of the range: values that fill less of it would do with another


class Certificate(NamedTuple):
    """Whether the shortfall that was met is below what the multiplier itself certifies, in the user's units."""

    bound: float
    shortfall: float
    holds: bool


class LineStatus(NamedTuple):
    """One line, in the user's units."""

    name: str
    sense: str
    line: float
    average: float | None  # of what was told; None before that
    low: float | None  # the band of the average that the decisions had in expectation; None if values were clipped
    high: float | None
    verdict: str  # "kept" or "missed", if all of the band says so, else "open"
    reserved: float | None  # the average with open and charged decisions at what they are expected to have
    multiplier: float
    price: float  # the multiplier in units of the reward per unit of this quantity
    clipped: int
    certificate: Certificate | None


class Status(NamedTuple):
    """How it stands, in the user's units; `guarantee` is in the learner's, where a round has rewards in [0, 1]."""

    decisions: int
    open: int
    answered: int
    charged: int
    expired: int
    late: int
    masked: int
    learner: str
    reward: float | None  # the average that was told
    lines: tuple[LineStatus, ...]
    regret: float | None
    regret_is: str  # how it was found, or why it was not
    guarantee: Guarantee
    promise: tuple[str, ...]  # the guarantee in the user's units
    warnings: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        lines = [{**line._asdict(), "certificate": line.certificate and line.certificate._asdict()} for line in self.lines]
        lists = {"promise": list(self.promise), "warnings": list(self.warnings)}
        return {**self._asdict(), "lines": lines, "guarantee": self.guarantee._asdict(), **lists}

    def __str__(self) -> str:
        counts = ("answered", "open", "charged", "expired", "late", "masked")
        said = [f"{number} {name}" for name in counts if (number := getattr(self, name))]
        text = [f"{self.decisions} decisions by {self.learner}: " + (", ".join(said) or "none yet")]
        if self.reward is not None:
            text.append(f"reward {self.reward:.4g} on average")
        for line in self.lines:
            met = "nothing told yet" if line.average is None else f"{line.average:.4g} on average"
            if line.low is not None:
                met += f", in expectation {line.low:.4g} to {line.high:.4g} ({LEVEL:.0%} at all times): {line.verdict}"
            text.append(f"{line.name} {line.sense} {line.line:g}: {met}; multiplier {line.multiplier:.4g}")
        text.append("regret " + (f"{self.regret:.4g} " if self.regret is not None else "") + self.regret_is)
        *promised, source = self.promise or (f"nothing: {self.guarantee.reason}",)
        text += [f"proved: {'; '.join(promised)}", f"  by {source}"] if promised else [f"proved: {source}"]
        return "\n".join([*text, *(f"warning: {warning}" for warning in self.warnings)])


def report(state: Any) -> Status:
    """The status of an agent, read off its fold."""
    setup, book, count = state.setup, state.book, state.count
    statement = proved(state)
    regret, regret_is = estimated_regret(state)
    reward = book[0]
    return Status(
        decisions=state.rounds,
        open=len(state.open),
        **count,
        learner=setup.name,
        reward=_mean(reward[books.TOTAL], reward[books.COUNT]),
        lines=tuple(_line(state, f, line) for f, line in enumerate(setup.lines, 1)),
        regret=regret,
        regret_is=regret_is,
        guarantee=statement,
        promise=_promise(state, statement),
        warnings=tuple(_warnings(state)),
    )


def _mean(total: float, count: float) -> float | None:
    return float(total / count) if count else None


def _line(state: Any, f: int, line: Line) -> LineStatus:
    row, scale, m = state.book[f], line.scale, len(state.setup.lines)
    n, clipped, multiplier = row[books.COUNT], int(row[books.CLIPPED]), float(state.multiplier[f - 1])
    low = high = None
    verdict = "open"
    if n and not clipped:
        ends = interval(n, row[books.SUM], row[books.SPREAD], (1 - LEVEL) / m)
        verdict = "kept" if ends[0] >= line.floor else "missed" if ends[1] < line.floor else "open"
        low, high = sorted(scale.own(float(end)) for end in ends)
    worst, best = state.setup.reward_range
    return LineStatus(
        name=line.name,
        sense=line.sense,
        line=line.line,
        average=_mean(row[books.TOTAL], n),
        low=low,
        high=high,
        verdict=verdict,
        reserved=_reserved(state, f, scale),
        multiplier=multiplier,
        price=multiplier * (best - worst) / (line.high - line.low),
        clipped=clipped,
        certificate=_certificate(state, f, line),
    )


def _reserved(state: Any, f: int, scale: Scale) -> float | None:
    """The average, with what was charged and with what is open at its guess."""
    row, (count, total) = state.book[f], state.charges[:, f]
    open_ = [entry for entry in state.open.values() if entry[3] is None or entry[3][f] is None]
    guessed = [scale.own(state.met(entry, state.guess(entry, f))) for entry in open_]
    return _mean(row[books.TOTAL] + total + sum(guessed), row[books.COUNT] + count + len(guessed))


def _certificate(state: Any, f: int, line: Line) -> Certificate | None:
    """lambda/mu + delta sum lambda of `measures.certificate`, beside the shortfall of what was told."""
    if state.setup.learner.dual is None or not state.book[f, books.COUNT]:
        return None
    run = SimpleNamespace(
        learner=state.setup.learner,
        game=SimpleNamespace(setting=Setting()),  # late or not: the book adds multipliers up as answers are learned
        multiplier=state.multiplier[np.newaxis, np.newaxis],
        multiplier_sums=state.book[1:, books.PRICED][np.newaxis, np.newaxis],
    )
    span = line.high - line.low
    bound = float(certificate(cast(Trace, run))[0, f - 1])
    short = float(line.floor * state.book[f, books.COUNT] - state.book[f, books.SUM])
    return Certificate(bound * span, short * span, short <= bound * (1 + 1e-9) + 1e-9)


# Regret and guarantee ----------------------------------------------------------------------------------------------------


def estimates(state: Any) -> tuple[Vector, Matrix, Any]:
    """The mean reward (K,) and constraints (m, K) of each action over the rounds, and which actions have some.

    With every action seen, these are the means. With one seen, they are inverse-propensity estimates, normalised by the
    weights: sum(value/chance)/sum(1/chance) over the rounds the action was taken in.
    """
    weights = np.array([books.block(row, "weight") for row in state.book])
    known = ((weights > 0) & np.isfinite(weights)).all(axis=0)  # 1/chance can be too large for a float
    means = np.array([books.block(row, "weighted") for row in state.book]) / np.where(known, weights, 1)
    means = np.clip(means, 0, 1)  # of rounding
    return means[0], means[1:], known


def estimated_regret(state: Any) -> tuple[float | None, str]:
    """What the best fixed play would have earned more, in the user's units, and how that was found."""
    row, setup = state.book[0], state.setup
    if not row[books.COUNT]:
        return None, "not known: no reward was told yet"
    rewards, constraints, known = estimates(state)
    if not known.any():
        return None, "not known: no action has been told of whole"
    best = best_fixed_play(rewards[known], constraints[:, known], setup.learner.floor)
    if not best.feasible:
        return None, "not known: by what was told no play keeps the lines"
    low, high = setup.reward_range
    regret = float(row[books.COUNT] * best.value - row[books.SUM]) * (high - low)
    if state.kind == "full":
        return regret, "of the answered rounds, against the best fixed play under the lines"
    missing = f"; {(~known).sum()} actions were never told of" if not known.all() else ""
    return regret, (
        "is an estimate: each action's means by inverse propensities (self-normalised), then the best fixed play for them"
        + missing
    )


def proved(state: Any) -> Guarantee:
    """What is proved of the learner over the rounds so far; nothing, where they were not the rounds of its theorem."""
    setup, count = state.setup, state.count
    rounds = count["answered"] + count["charged"]
    name = setup.name
    if rounds == 0:
        return none(name, "no round was answered yet")
    clipped = int(state.book[:, books.CLIPPED].sum())
    spoiled = [
        (count["masked"], "had actions masked"),
        (count["late"], "were answered late, after a further decision"),
        (count["charged"], "were charged, not answered"),
        (count["expired"], "expired"),
        (sum(number != state.rounds for number in state.open), "are open beside the last one"),
        (clipped, "were clipped"),
    ]
    reasons = [f"{number} {what}" for number, what in spoiled if number]
    if reasons:
        why = "the theorem is about rounds answered at once, with all actions, by values in their range"
        return none(name, f"{why}; of {state.rounds} decisions and their values {', '.join(reasons)}")
    return guarantee(setup.learner, len(setup.actions), rounds)


def _promise(state: Any, statement: Guarantee) -> tuple[str, ...]:
    """The guarantee in the user's units."""
    if statement.regret is None or statement.violation is None:
        return ()
    setup, rounds = state.setup, state.count["answered"]
    low, high = setup.reward_range
    text = [f"regret at most {statement.regret * (high - low):.4g} after {rounds} rounds"]
    for line, violation in zip(setup.lines, statement.violation, strict=True):
        edge = line.scale.own(max(line.floor - violation / rounds, 0.0))
        text.append(f"{line.name} {line.sense} {edge:.4g} on average over {rounds} rounds")
    kind = str(statement.kind) + (f" (probability {1 - statement.epsilon:g})" if statement.epsilon else "")
    return (*text, f"{statement.source}, {kind}: {'; '.join(statement.assumptions)}")


# Warnings ----------------------------------------------------------------------------------------------------------------


def _warnings(state: Any) -> list[str]:
    setup, count = state.setup, state.count
    found = _infeasible(state)
    for f, name in enumerate(setup.fields):
        found += _range(state, f, name, check_near=not found)
    if setup.horizon is not None and state.rounds > setup.horizon:
        found.append(f"{state.rounds} decisions were made, more than the horizon {setup.horizon} the learner is tuned for")
    lost = count["charged"] + count["expired"]
    if lost > 0.01 * state.rounds:
        found.append(f"{lost} of {state.rounds} decisions were not answered in full: see max_pending and expire_after")
    return found


def _infeasible(state: Any) -> list[str]:
    """Whether some play can keep the lines at all, by the upper end of what each action may have."""
    setup = state.setup
    K, m = len(setup.actions), len(setup.lines)
    upper = np.ones((m, K))
    for j, row in enumerate(state.book[1:]):
        seen, gained, varied = (books.block(row, name) for name in ("seen", "gained", "varied"))
        upper[j] = interval(seen, gained, varied, 2 * (1 - LEVEL) / (m * K))[1]  # one side only
    best = best_fixed_play(np.zeros(K), upper, setup.learner.floor)
    if best.feasible:
        return []
    pairs = zip(setup.lines, best.reachable.tolist(), strict=True)
    nearest = " and ".join(str(line._replace(line=float(f"{line.scale.own(c):.3g}"))) for line, c in pairs)
    lines = " and ".join(map(str, setup.lines))
    return [f"no mixture of the actions seems to keep {lines}; at best, with {LEVEL:.0%} confidence, {nearest}"]


def _range(state: Any, f: int, name: str, check_near: bool) -> list[str]:
    """Whether the range fits the values: none outside, and the line not lost in it."""
    setup, row = state.setup, state.book[f]
    line = setup.lines[f - 1] if f else None
    low, high = setup.reward_range if line is None else (line.low, line.high)
    n, least, most = int(row[books.COUNT]), float(row[books.LOW]), float(row[books.HIGH])
    fit = suggested(low, high, least, most, None if line is None else line.line)
    better = f"a range of ({fit[0]:g}, {fit[1]:g}) would fit"
    if row[books.CLIPPED]:
        return [
            f"{int(row[books.CLIPPED])} values of {name} were clipped: they lay outside its range ({low:g}, {high:g}), "
            f"all were {least:g} to {most:g}; {better}"
        ]
    if n < FEW:
        return []
    if fit[1] - fit[0] < NARROW * (high - low):
        return [
            f"{name} was only {least:g} to {most:g} in a range of ({low:g}, {high:g}): the learner learns slowly; {better}"
        ]
    if line is None or not check_near:
        return []
    seen, gained = books.block(row, "seen"), books.block(row, "gained")
    often = seen >= FEW / 5
    best = float((gained[often] / seen[often]).max()) if often.any() else 1.0
    if best - line.floor >= NEAR:
        return []
    wider = f"; {better}" if fit[1] - fit[0] < 0.8 * (high - low) else ""
    return [
        f"the line of {name}, {line.line:g}, is near the best that an action has, {line.scale.own(best):.4g}: "
        f"less than {NEAR:.0%} of the range ({low:g}, {high:g}) is left between them{wider}"
    ]


def suggested(low: float, high: float, least: float, most: float, line: float | None) -> tuple[float, float]:
    """A range that holds the values seen and the line, with a tenth to spare, in round numbers.

    >>> suggested(0, 0.05, 0.0004, 0.0042, line=0.002)
    (0.0, 0.005)
    """
    least, most = (least, most) if line is None else (min(least, line), max(most, line))
    reach = max(most - least, (high - low) / 100)
    if not reach < 1e300:  # no room for more
        return least, most
    step = 10.0 ** floor(log10(reach / 2))
    bottom = floor((least - reach / 10) / step) * step
    top = -floor(-(most + reach / 10) / step) * step
    if low <= least and bottom - low < reach / 2:  # the end it has will do
        bottom = low
    if most <= high and high - top < reach / 2:
        top = high
    return float(f"{bottom:.6g}"), float(f"{top:.6g}")
