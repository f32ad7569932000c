"""The rules by which the runs of a study decide a claim.

There are five rules, the same for all claims of one kind, and only they decide whether a claim holds:

- `AtMost`: an upper bound, at every horizon and in every game of the claim. A pathwise bound must hold for every seed, a
  bound on an expectation for the mean over seeds up to three standard errors, and a bound with probability 1 - epsilon may
  be exceeded by as many seeds as a binomial test at 0.01 allows.
- `AtLeast`: a lower bound on the mean over seeds, at every horizon. Each of several settings must reach it in some game.
- `Grows`: O(T^a). Refuted if the slope of the log-log line has its whole interval above a + 0.05, in any game.
- `Attains`: the rate T^a itself. The slope is within 0.05 of a, or its interval contains a.
- `Same`: two learners agree to the last bit, at all times.

Claims about regret and about violation are judged separately and shown together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa import games
from lewa.lab import measures
from lewa.lab.measures import Row
from lewa.lab.study import Run, Study, expand
from lewa.measures.rate_fit import fit_rate
from lewa.measures.verdict import MARGIN, ROUNDING
from lewa.theory.guarantees import EXPECTED, PATHWISE, PROBABLE, applicable
from lewa.types import Vector

# What a claim can be about, and the columns it is read from: the largest number in them, over columns and constraints.
QUANTITIES: dict[str, tuple[str, ...]] = {name: (column,) for name, column in measures.QUANTITIES.items()}
QUANTITIES["regret or violation"] = tuple(measures.QUANTITIES[name] for name in ("regret", "violation"))
CURVES = tuple(f"{name}_curve" for name in QUANTITIES if f"{name}_curve" in measures.MEASURES["curves"].columns)
# What the rules read of a study's measures.
READ = ("id", *measures.CELL, *dict.fromkeys(column for columns in QUANTITIES.values() for column in columns), *CURVES)


class Series(NamedTuple):
    """One learner in one game with one floor at all horizons, the shortest first: a run, and a row for each seed."""

    game: str
    learner: str
    runs: list[Run]
    rows: list[list[Row]]

    @property
    def rounds(self) -> list[int]:
        """The horizons."""
        return [run.rounds for run in self.runs]

    def values(self, quantity: str) -> list[Vector]:
        """Return the value of each seed, for each horizon."""
        columns = QUANTITIES[quantity]
        return [np.array([max(float(np.max(row[column])) for column in columns) for row in rows]) for rows in self.rows]

    def means(self, quantity: str) -> list[float]:
        """Return the mean over seeds for each horizon."""
        each = zip(self.values(quantity), self.rounds, strict=True)
        return [positive_part(quantity, float(values.mean()), T) for values, T in each]


def series(study: Study, rows: Iterable[Row]) -> list[Series]:
    """Return the rows of the study by game, floor and learner."""
    by_id, runs = {row["id"]: row for row in rows}, {run.id: run for run in expand(study)}
    groups = measures.cells(by_id[name] for name in runs)  # in the order of the study
    lines = {cell[:3]: Series(cell.game, cell.learner, [], []) for cell in groups}
    for cell, each in sorted(groups.items(), key=lambda pair: pair[0].rounds):
        lines[cell[:3]].runs.append(runs[each[0]["id"]])
        lines[cell[:3]].rows.append(each)
    return list(lines.values())


def positive_part(quantity: str, value: float, rounds: int) -> float:
    """Return the positive part of a violation, up to rounding errors of its sum; return other quantities unchanged."""
    return 0.0 if quantity in ("violation", "positive violation") and value <= ROUNDING * rounds else value


TOLERANCE = 0.05  # by which a slope over finite horizons may miss the exponent of the rate
CHANCE = 0.01  # the level of the binomial test


# Bounds ------------------------------------------------------------------------------------------------------------------


class RunBound(NamedTuple):
    """A bound, and the sense in which it holds."""

    value: float
    kind: str = PATHWISE
    epsilon: float = 0.0  # the probability with which it may be exceeded
    trivial: bool = False  # whether it is no more than regret <= T or violation <= floor T


Bounding: TypeAlias = Callable[[Run, str], RunBound | None]


def proved_bound(
    run: Run, quantity: str, epsilon: float | None = None, assuming: bool = False, noisy: bool = False
) -> RunBound:
    """Return the proved bound of the learner in this game.

    With `assuming` it may use the rewards' variation and Slater's gap; with `noisy` constant constraints count as noisy.
    """
    learner, game = run.build()
    setting = games.assumed(game, run.floor, run.rounds) if assuming else game.setting
    if noisy and setting.constraints == "constant":
        setting = setting._replace(constraints="iid")
    guarantee = applicable(learner.guarantees(game.actions, run.rounds, setting._replace(epsilon=epsilon))[0], setting)
    most = float(run.rounds) if quantity == "regret" else max(run.floor) * run.rounds
    short = guarantee.positive_violation if quantity == "positive violation" else guarantee.violation
    if guarantee.regret is None or short is None:  # it has nothing to say at this horizon
        return RunBound(most, trivial=True)
    value = guarantee.regret if quantity == "regret" else short[0]
    return RunBound(value, guarantee.kind or PATHWISE, guarantee.epsilon or 0.0, value >= most)


# Rules -------------------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """The series that decides a claim, its values at every horizon, and whether the claim holds."""

    series: Series
    values: list[float]
    sense: str
    bound: float | None
    formula: str
    exponent: float | None
    holds: bool
    why: str


@dataclass(frozen=True)
class AtMost:
    """Measured <= bound."""

    formula: str
    exponent: float | None = None
    bound: Bounding = proved_bound
    game: str = ""  # the game of the claim; empty for all games
    learner: str = ""

    def judge(self, quantity: str, every: list[Series]) -> Finding:
        """Judge every series at every horizon; return one that exceeds its bound, or else the nearest one."""
        pairs = [(series, [_required(self.bound(run, quantity)) for run in series.runs]) for series in every]
        broken = [pair for pair in pairs if _excess(quantity, *pair)]
        nearest, bounds = max(broken or pairs, key=lambda pair: _nearness(quantity, *pair))
        each = zip(bounds, nearest.values(quantity), nearest.rounds, strict=True)
        values = [_reading(quantity, bound, values, T) for bound, values, T in each]
        why = _excess(quantity, nearest, bounds) or _evidence(quantity, pairs) + _trivial_up_to(nearest, bounds)
        return Finding(nearest, values, "<=", bounds[-1].value, self.formula, self.exponent, not broken, why)


def _excess(quantity: str, series: Series, bounds: list[RunBound]) -> str:
    """Return where the bound was exceeded, 'it was exceeded at T = 1000 and 10000', or an empty text."""
    each = zip(series.rounds, bounds, series.values(quantity), strict=True)
    where = [f"{T}" for T, bound, values in each if not _holds(bound, values, T)]
    return f"it was exceeded at T = {' and '.join(where)}" if where else ""


def _nearness(quantity: str, series: Series, bounds: list[RunBound]) -> float:
    value = _reading(quantity, bounds[-1], series.values(quantity)[-1], series.rounds[-1])
    return value / bounds[-1].value if bounds[-1].value else value


def _required(bound: RunBound | None) -> RunBound:
    if bound is None:
        raise ValueError("the claim has a bound in some games only, and no series is of such a game")
    return bound


def _reading(quantity: str, bound: RunBound, values: Vector, rounds: int) -> float:
    """Return the mean where the bound is on an expectation, and else the worst seed."""
    return positive_part(quantity, float(values.mean() if bound.kind not in (PATHWISE, PROBABLE) else values.max()), rounds)


def _holds(bound: RunBound, values: Vector, rounds: int) -> bool:
    most = bound.value + ROUNDING * rounds
    if bound.kind == PATHWISE:
        return bool((values <= most).all())
    if bound.kind == PROBABLE:
        from scipy.special import bdtrc  # imported here: it takes long

        over = int(np.sum(values > most))
        return bool(bdtrc(over - 1, len(values), bound.epsilon) >= CHANCE)  # as many as this, or more
    error = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else 0.0
    return bool(values.mean() <= most + MARGIN * error)


def _evidence(quantity: str, pairs: list[tuple[Series, list[RunBound]]]) -> str:
    """Return how a bound was kept: 'it held for every seed at each of 7 horizons in each of 5 games'."""
    each = [pair for series, bounds in pairs for pair in zip(bounds, series.values(quantity), strict=True)]
    single = [(bound, value) for bound, values in each if bound.kind == PROBABLE for value in values]
    over = sum(value > bound.value for bound, value in single)
    ways = {
        PATHWISE: "it held for every seed",
        EXPECTED: f"it held for the mean over {len(each[0][1])} seeds, up to {MARGIN:.0f} standard errors",
        PROBABLE: f"no more runs exceeded it ({over} of {len(single)}) than chance allows",
    }
    kinds = {bound.kind for bound, _ in each}
    how = " or, for random constraints, ".join(words for kind, words in ways.items() if kind in kinds)
    return f"{how} {_everywhere([series for series, _ in pairs])}"


def _everywhere(every: list[Series]) -> str:
    several = {"game": len({series.game for series in every}), "learner": len({series.learner for series in every})}
    each = [f"each of {count} {name}s" for name, count in several.items() if count > 1]
    return " ".join([f"at each of {len(every[0].runs)} horizons", *(["in"] if each else []), " for ".join(each)]).strip()


def _trivial_up_to(series: Series, bounds: list[RunBound]) -> str:
    trivial = [T for T, bound in zip(series.rounds, bounds, strict=True) if bound.trivial]
    return f"; up to T = {trivial[-1]} the bound is trivial" if trivial else ""


@dataclass(frozen=True)
class AtLeast:
    """Measured >= bound."""

    formula: str
    exponent: float
    bound: Bounding
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, every: list[Series]) -> Finding:
        """Judge every learner in the game of the claim with its worst result."""
        worst: dict[str, Reach] = {}
        for series in every:
            bounds = [bound.value for run in series.runs if (bound := self.bound(run, quantity)) is not None]
            if len(bounds) < len(series.runs):
                continue
            means = series.means(quantity)
            holds = all(mean >= bound for mean, bound in zip(means, bounds, strict=True))
            reach = Reach(holds, means[-1] / bounds[-1], series, bounds[-1])
            worst[series.learner] = max(worst.get(series.learner, reach), reach, key=lambda entry: entry[:2])
        least = min(worst.values(), key=lambda entry: entry[:2])
        each = "" if len(worst) == 1 else f", for each of {len(worst)} settings in the game with its worst result,"
        why = f"the mean over seeds{each} {'was' if least.holds else 'was not'} at least that {_everywhere([least.series])}"
        means = least.series.means(quantity)
        return Finding(least.series, means, ">=", least.bound, self.formula, self.exponent, least.holds, why)


class Reach(NamedTuple):
    """The relation of a series to a lower bound."""

    holds: bool  # whether the bound holds at every horizon
    ratio: float  # measured value divided by the bound, at the longest horizon
    series: Series
    bound: float  # the bound at the longest horizon


@dataclass(frozen=True)
class Grows:
    """Measured = O(T^exponent)."""

    exponent: float
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, every: list[Series]) -> Finding:
        """Fit a line to the means over seeds; without a line, the value at the longest horizon must not be positive."""
        fits = {id(series): fit_rate(series.rounds, series.means(quantity)) for series in every}
        steep = [series for series in every if (fit := fits[id(series)]) and fit.low > self.exponent + TOLERANCE]
        largest = max(steep or every, key=lambda series: series.means(quantity)[-1])
        means, fit = largest.means(quantity), fits[id(largest)]
        rate, many = fraction(self.exponent), "" if len(every) == 1 else f" in any of {len(every)} games"
        if steep and fit is not None:
            why = f"the slope's interval lies above {rate} + {TOLERANCE}, from {fit.low:.3f} on"
        elif fit is not None:
            why = f"the slope's interval does not lie above {rate} + {TOLERANCE}{many}"
        else:
            why = "it was not positive at the longest horizon" if means[-1] <= 0 else "no line can be fitted"
        holds = not steep and (fit is not None or means[-1] <= 0)
        return Finding(largest, means, "<=", None, f"O(T^{rate})", self.exponent, holds, why)


@dataclass(frozen=True)
class Attains:
    """Measured ~ T^exponent."""

    exponent: float
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, every: list[Series]) -> Finding:
        """Fit a line to the means over seeds in the game of the claim."""
        (series,) = every
        means, rate = series.means(quantity), fraction(self.exponent)
        fit = fit_rate(series.rounds, means)
        if fit is None:
            return Finding(series, means, "=", None, f"Theta(T^{rate})", self.exponent, False, "no line can be fitted")
        near, inside = abs(fit.slope - self.exponent) <= TOLERANCE, fit.low <= self.exponent <= fit.high
        where = f"is within {TOLERANCE} of" if near else "has an interval that contains" if inside else "is not near"
        return Finding(
            series, means, "=", None, f"Theta(T^{rate})", self.exponent, near or inside, f"the slope {where} {rate}"
        )


@dataclass(frozen=True)
class Same:
    """Measured = that of another learner."""

    other: str
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, every: list[Series]) -> Finding:
        """Find the largest difference at any recorded time, over all games, horizons and seeds."""
        others = {series.game: series for series in every if series.learner.startswith(self.other)}
        firsts = [series for series in every if not series.learner.startswith(self.other)]
        gaps = {series.game: self._gaps(quantity, series, others[series.game]) for series in firsts}
        widest = max(firsts, key=lambda series: max(gaps[series.game]))
        most = max(gaps[widest.game])
        why = f"the largest difference from {self.other} at any time, in {len(firsts)} games, is {most:.4g}"
        return Finding(widest, gaps[widest.game], "=", 0.0, f"0, the difference from {self.other}", None, most == 0, why)

    def _gaps(self, quantity: str, first: Series, other: Series) -> list[float]:
        curve = f"{quantity}_curve"
        return [
            max(float(np.abs(np.subtract(mine[curve], theirs[curve])).max()) for mine, theirs in zip(*pair, strict=True))
            for pair in zip(first.rows, other.rows, strict=True)
        ]


Rule: TypeAlias = AtMost | AtLeast | Grows | Attains | Same


def fraction(exponent: float) -> str:
    """Return an exponent as a fraction, such as '3/4'."""
    return str(Fraction(exponent).limit_denominator(12))


class VerdictLine(NamedTuple):
    """A line of the verdict table: the statement of a claim about one quantity, and the measurement."""

    claim: str
    quantity: str  # one of `series.QUANTITIES`
    game: str  # the game that is nearest to the bound
    learner: str  # the learner with its settings
    rounds: int  # the longest horizon, at which bound and measured are taken
    sense: str  # "<=", ">=" or "="
    bound: float | None
    formula: str  # the formula of the bound
    measured: float
    ratio: float | None  # measured divided by bound
    slope: float | None  # the slope of the log-log line through all horizons; None if no line can be fitted
    low: float | None
    high: float | None
    exponent: float | None  # the exponent of the theorem
    holds: bool
    study: str
    why: str  # the reason for `holds`


class Claim(NamedTuple):
    """The rule for each quantity, and the study that measures it."""

    title: str
    study: str
    rules: dict[str, Rule]


def verdict(claim: Claim, every: list[Series]) -> list[VerdictLine]:
    """Return the lines of one claim, from the series of its study."""
    return [_line(claim, quantity, rule, every) for quantity, rule in claim.rules.items()]


def _line(claim: Claim, quantity: str, rule: Rule, every: list[Series]) -> VerdictLine:
    about = [series for series in every if _named(series.game, rule.game) and _named(series.learner, rule.learner)]
    if not about:
        raise ValueError(f"{claim.title}: the study {claim.study} has no run for this claim")
    finding = rule.judge(quantity, about)
    series, measured = finding.series, finding.values[-1]
    fit = fit_rate(series.rounds, finding.values)
    return VerdictLine(
        claim=claim.title,
        quantity=quantity,
        game=series.game,
        learner=series.learner,
        rounds=series.rounds[-1],
        sense=finding.sense,
        bound=finding.bound,
        formula=finding.formula,
        measured=measured,
        ratio=measured / finding.bound if finding.bound else None,
        slope=None if fit is None else fit.slope,
        low=None if fit is None else fit.low,
        high=None if fit is None else fit.high,
        exponent=finding.exponent,
        holds=finding.holds,
        study=claim.study,
        why=finding.why,
    )


def _named(title: str, name: str) -> bool:
    """Return whether a claim names a title: 'lewa' names 'lewa' and 'lewa tuning=paper', 'only lewa' the first alone."""
    return not name or title == name.removeprefix("only ") or title.startswith(f"{name} ")
