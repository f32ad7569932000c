"""How the runs of a study decide what is claimed of it.

There are five rules, the same for all claims of one kind, and nothing else says whether a claim holds:

- `AtMost`: a bound, at every horizon and in every game of the claim. A pathwise one binds every seed, one on an expectation
  the mean over seeds up to three standard errors, and one that holds with probability 1 - epsilon may be exceeded by as many
  seeds as a binomial test at 0.01 allows.
- `AtLeast`: a lower bound on the mean over seeds, at every horizon. Of several settings each has to reach it, in some game.
- `Grows`: O(T^a). Refuted where the slope of the log-log line has its whole interval above a + 0.05, in any game.
- `Attains`: the rate T^a itself. The slope is within 0.05 of a, or its interval contains a.
- `Same`: two learners agree to the last bit, at all times.

What is claimed of regret and of violation is judged apart and shown together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lewa import games
from lewa.lab.storage import Row
from lewa.lab.study import Run, Study, expand, titled
from lewa.measures.rate_fit import RateFit, fit_rate
from lewa.measures.verdict import MARGIN, ROUNDING
from lewa.theory.guarantees import EXPECTED, PATHWISE, PROBABLE, applicable
from lewa.types import Vector

TOLERANCE = 0.05  # by which a slope over finite horizons may miss the exponent of the rate
CHANCE = 0.01  # the level of the binomial test


class Line(NamedTuple):
    """What one claim says of one quantity, and what was measured: a line of the verdict table."""

    claim: str
    quantity: str  # one of `QUANTITIES`
    game: str  # the one that came nearest to the bound
    learner: str  # with its settings
    rounds: int  # the longest horizon: bound and measured are read there
    sense: str  # "<=", ">=" or "="
    bound: float | None
    formula: str  # how the bound is written
    measured: float
    ratio: float | None  # measured by bound
    slope: float | None  # of the log-log line through all horizons; None where no line can be fitted
    low: float | None
    high: float | None
    exponent: float | None  # the theorem's
    holds: bool
    study: str
    why: str  # how `holds` was decided


# What was measured -------------------------------------------------------------------------------------------------------

QUANTITIES: dict[str, Callable[[Row], float]] = {
    "regret": lambda row: float(row["regret"]),
    "violation": lambda row: float(max(row["shortfall"])),  # its positive part is taken after the mean over seeds
    "positive violation": lambda row: float(max(row["positive_violation"])),  # where no round makes up for another
    "multiplier": lambda row: float(max(row["largest_multiplier"])),
    "regret or violation": lambda row: float(max(row["regret"], *row["shortfall"])),  # the larger of both
}
# What the rules read of a study's measures.
READ = ("id", "regret", "shortfall", "positive_violation", "largest_multiplier", "regret_curve", "violation_curve")


class Series(NamedTuple):
    """One learner in one game, at every horizon from the shortest on: a run to build, and a row for each seed."""

    game: str
    learner: str
    runs: list[Run]
    rows: list[list[Row]]

    @property
    def rounds(self) -> list[int]:
        """The horizons."""
        return [run.rounds for run in self.runs]

    def values(self, quantity: str) -> list[Vector]:
        """What each seed measured, for each horizon."""
        return [np.array([QUANTITIES[quantity](row) for row in rows]) for rows in self.rows]

    def means(self, quantity: str) -> list[float]:
        """The mean over seeds for each horizon."""
        each = zip(self.values(quantity), self.rounds, strict=True)
        return [_positive(quantity, float(values.mean()), T) for values, T in each]


def series(study: Study, rows: Iterable[Row]) -> list[Series]:
    """The rows of the study by game and learner."""
    by_id = {row["id"]: row for row in rows}
    found: dict[tuple[Any, ...], dict[int, tuple[Run, list[Row]]]] = {}
    for run in expand(study):
        key = titled(run.game, run.parameters), run.floor, titled(run.learner, run.settings)
        found.setdefault(key, {}).setdefault(run.rounds, (run, []))[1].append(by_id[run.id])
    return [
        Series(game, learner, [at[T][0] for T in sorted(at)], [at[T][1] for T in sorted(at)])
        for (game, _, learner), at in found.items()
    ]


def _positive(quantity: str, value: float, rounds: int) -> float:
    """Of a violation what is above 0, by more than adding up so many numbers may lose."""
    return 0.0 if quantity in ("violation", "positive violation") and value <= ROUNDING * rounds else value


# Bounds ------------------------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """A number, and in which sense it bounds."""

    value: float
    kind: str = PATHWISE
    epsilon: float = 0.0  # the probability with which it may be exceeded
    trivial: bool = False  # it says no more than regret <= T or violation <= floor T


Bounding: TypeAlias = Callable[[Run, str], Bound | None]


def proved(run: Run, quantity: str, epsilon: float | None = None, assuming: bool = False) -> Bound:
    """What is proved of the learner in this game; with `assuming`, from the rewards' variation and Slater's gap too."""
    learner, game = run.build()
    setting = games.assumed(game, run.floor, run.rounds) if assuming else game.setting
    found = applicable(learner.guarantees(game.actions, run.rounds, setting._replace(epsilon=epsilon))[0], setting)
    most = float(run.rounds) if quantity == "regret" else max(run.floor) * run.rounds
    short = found.positive_violation if quantity == "positive violation" else found.violation
    if found.regret is None or short is None:  # it has nothing to say at this horizon
        return Bound(most, trivial=True)
    value = found.regret if quantity == "regret" else short[0]
    return Bound(value, found.kind or PATHWISE, found.epsilon or 0.0, value >= most)


# Rules -------------------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """What a rule found: the series it shows, what was measured there at every horizon, and whether the claim holds."""

    shown: Series
    measured: list[float]
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
    bound: Bounding = proved
    game: str = ""  # the only one it is about
    learner: str = ""

    def judge(self, quantity: str, found: list[Series]) -> Finding:
        """Every series at every horizon; one that exceeds its bound is shown, or else the one that comes nearest to it."""
        held = [(one, [_there(self.bound(run, quantity)) for run in one.runs]) for one in found]
        broken = [pair for pair in held if _exceeded(quantity, *pair)]
        shown, bounds = max(broken or held, key=lambda pair: _nearness(quantity, *pair))
        each = zip(bounds, shown.values(quantity), shown.rounds, strict=True)
        measured = [_read(quantity, bound, values, T) for bound, values, T in each]
        why = _exceeded(quantity, shown, bounds) or _how_kept(quantity, held) + _where_trivial(shown, bounds)
        return Finding(shown, measured, "<=", bounds[-1].value, self.formula, self.exponent, not broken, why)


def _exceeded(quantity: str, one: Series, bounds: list[Bound]) -> str:
    """'it was more at T = 1000 and 10000'; empty where the bound was kept."""
    all_of_it = zip(one.rounds, bounds, one.values(quantity), strict=True)
    where = [f"{T}" for T, bound, values in all_of_it if not _kept(bound, values, T)]
    return f"it was more at T = {' and '.join(where)}" if where else ""


def _nearness(quantity: str, one: Series, bounds: list[Bound]) -> float:
    measured = _read(quantity, bounds[-1], one.values(quantity)[-1], one.rounds[-1])
    return measured / bounds[-1].value if bounds[-1].value else measured


def _there(bound: Bound | None) -> Bound:
    if bound is None:
        raise ValueError("this bound is claimed in some games only, so no series may be held to it")
    return bound


def _read(quantity: str, bound: Bound, values: Vector, rounds: int) -> float:
    """The mean where the bound is on an expectation, and else the worst seed."""
    return _positive(quantity, float(values.mean() if bound.kind not in (PATHWISE, PROBABLE) else values.max()), rounds)


def _kept(bound: Bound, values: Vector, rounds: int) -> bool:
    most = bound.value + ROUNDING * rounds
    if bound.kind == PATHWISE:
        return bool((values <= most).all())
    if bound.kind == PROBABLE:
        from scipy.stats import binom  # imported here: it takes longer than everything else together

        return bool(binom.sf(np.sum(values > most) - 1, len(values), bound.epsilon) >= CHANCE)
    error = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else 0.0
    return bool(values.mean() <= most + MARGIN * error)


def _how_kept(quantity: str, held: list[tuple[Series, list[Bound]]]) -> str:
    """'the mean over 8 seeds, up to 3 standard errors, kept it at each of 7 horizons in each of 5 games'"""
    seen = [(bound, values) for one, bounds in held for bound, values in zip(bounds, one.values(quantity), strict=True)]
    single = [(bound, value) for bound, values in seen if bound.kind == PROBABLE for value in values]
    over = sum(value > bound.value for bound, value in single)
    ways = {
        PATHWISE: "every seed kept it",
        EXPECTED: f"the mean over {len(seen[0][1])} seeds, up to {MARGIN:.0f} standard errors, kept it",
        PROBABLE: f"no more runs exceeded it ({over} of {len(single)}) than chance allows",
    }
    kinds = {bound.kind for bound, _ in seen}
    how = " or, where chance is at play, ".join(words for kind, words in ways.items() if kind in kinds)
    return f"{how} {_everywhere([one for one, _ in held])}"


def _everywhere(found: list[Series]) -> str:
    several = {"game": len({one.game for one in found}), "learner": len({one.learner for one in found})}
    each = [f"each of {count} {name}s" for name, count in several.items() if count > 1]
    return " ".join([f"at each of {len(found[0].runs)} horizons", *(["in"] if each else []), " for ".join(each)]).strip()


def _where_trivial(shown: Series, bounds: list[Bound]) -> str:
    trivial = [T for T, bound in zip(shown.rounds, bounds, strict=True) if bound.trivial]
    return f"; up to T = {trivial[-1]} the bound is the trivial one" if trivial else ""


@dataclass(frozen=True)
class AtLeast:
    """Measured >= bound."""

    formula: str
    exponent: float
    bound: Bounding
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, found: list[Series]) -> Finding:
        """Every learner, each in the game where it fares worst of those that something is claimed in."""
        worst: dict[str, Reached] = {}
        for one in found:
            bounds = [bound.value for run in one.runs if (bound := self.bound(run, quantity)) is not None]
            if len(bounds) < len(one.runs):
                continue
            means = one.means(quantity)
            kept = all(mean >= bound for mean, bound in zip(means, bounds, strict=True))
            reached = Reached(kept, means[-1] / bounds[-1], one, bounds[-1])
            worst[one.learner] = max(worst.get(one.learner, reached), reached, key=lambda entry: entry[:2])
        shown = min(worst.values(), key=lambda entry: entry[:2])
        each = "" if len(worst) == 1 else f", for each of {len(worst)} settings in the game where it fares worst,"
        why = f"the mean over seeds{each} {'was' if shown.kept else 'was not'} at least that {_everywhere([shown.series])}"
        means = shown.series.means(quantity)
        return Finding(shown.series, means, ">=", shown.bound, self.formula, self.exponent, shown.kept, why)


class Reached(NamedTuple):
    """How a series stands to a lower bound."""

    kept: bool  # at every horizon
    ratio: float  # at the longest
    series: Series
    bound: float  # there


@dataclass(frozen=True)
class Grows:
    """Measured = O(T^exponent)."""

    exponent: float
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, found: list[Series]) -> Finding:
        """The line through the means over seeds; where there is none, nothing may be left at the longest horizon."""
        fits = {id(one): fit_rate(one.rounds, one.means(quantity)) for one in found}
        steep = [one for one in found if (fit := fits[id(one)]) and fit.low > self.exponent + TOLERANCE]
        shown = max(steep or found, key=lambda one: one.means(quantity)[-1])
        means, fit = shown.means(quantity), fits[id(shown)]
        rate, many = fraction(self.exponent), "" if len(found) == 1 else f" in any of {len(found)} games"
        if steep and fit is not None:
            why = f"the slope's interval lies above {rate} + {TOLERANCE}, from {fit.low:.3f} on"
        elif fit is not None:
            why = f"the slope's interval does not lie above {rate} + {TOLERANCE}{many}"
        else:
            why = "it was not positive at the longest horizon" if means[-1] <= 0 else "no line can be fitted"
        holds = not steep and (fit is not None or means[-1] <= 0)
        return Finding(shown, means, "<=", None, f"O(T^{rate})", self.exponent, holds, why)


@dataclass(frozen=True)
class Attains:
    """Measured ~ T^exponent."""

    exponent: float
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, found: list[Series]) -> Finding:
        """The line through the means over seeds, in the one game that it is about."""
        (shown,) = found
        means, rate = shown.means(quantity), fraction(self.exponent)
        fit = fit_rate(shown.rounds, means)
        if fit is None:
            return Finding(shown, means, "=", None, f"Theta(T^{rate})", self.exponent, False, "no line can be fitted")
        near, inside = abs(fit.slope - self.exponent) <= TOLERANCE, fit.low <= self.exponent <= fit.high
        where = f"is within {TOLERANCE} of" if near else "has an interval that contains" if inside else "is not near"
        return Finding(
            shown, means, "=", None, f"Theta(T^{rate})", self.exponent, near or inside, f"the slope {where} {rate}"
        )


@dataclass(frozen=True)
class Same:
    """Measured = that of another learner."""

    other: str
    game: str = ""
    learner: str = ""

    def judge(self, quantity: str, found: list[Series]) -> Finding:
        """The largest difference at any time that was written down, over all games, horizons and seeds."""
        others = {one.game: one for one in found if one.learner.startswith(self.other)}
        compared = [one for one in found if not one.learner.startswith(self.other)]
        apart = {one.game: self._apart(quantity, one, others[one.game]) for one in compared}
        shown = max(compared, key=lambda one: max(apart[one.game]))
        holds = max(map(max, apart.values())) == 0
        most = max(apart[shown.game])
        why = f"the largest difference from {self.other} at any time, in {len(compared)} games, is {most:.4g}"
        return Finding(shown, apart[shown.game], "=", 0.0, f"0, the difference from {self.other}", None, holds, why)

    def _apart(self, quantity: str, one: Series, other: Series) -> list[float]:
        curve = f"{quantity}_curve"
        return [
            max(float(np.abs(np.subtract(mine[curve], theirs[curve])).max()) for mine, theirs in zip(*pair, strict=True))
            for pair in zip(one.rows, other.rows, strict=True)
        ]


Rule: TypeAlias = AtMost | AtLeast | Grows | Attains | Same


def fraction(exponent: float) -> str:
    """'3/4'"""
    return str(Fraction(exponent).limit_denominator(12))


# Verdicts ---------------------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """What is claimed of each quantity, and the study that measures it."""

    title: str
    study: str
    rules: dict[str, Rule]


def verdict(claim: Claim, found: list[Series]) -> list[Line]:
    """The lines of one claim, from the series of its study."""
    return [_line(claim, quantity, rule, found) for quantity, rule in claim.rules.items()]


def _line(claim: Claim, quantity: str, rule: Rule, found: list[Series]) -> Line:
    about = [one for one in found if _named(one.game, rule.game) and _named(one.learner, rule.learner)]
    if not about:
        raise ValueError(f"{claim.title}: the study {claim.study} has no run that it is about")
    finding = rule.judge(quantity, about)
    shown, measured = finding.shown, finding.measured[-1]
    fit: RateFit | None = fit_rate(shown.rounds, finding.measured)
    return Line(
        claim=claim.title,
        quantity=quantity,
        game=shown.game,
        learner=shown.learner,
        rounds=shown.rounds[-1],
        sense=finding.sense,
        bound=finding.bound,
        formula=finding.formula,
        measured=measured,
        ratio=None if finding.bound is None else _ratio(measured, finding.bound),
        slope=None if fit is None else fit.slope,
        low=None if fit is None else fit.low,
        high=None if fit is None else fit.high,
        exponent=finding.exponent,
        holds=finding.holds,
        study=claim.study,
        why=finding.why,
    )


def _ratio(measured: float, bound: float) -> float | None:
    return measured / bound if bound else None


def _named(title: str, wanted: str) -> bool:
    """'lewa' is what 'lewa' and 'lewa tuning=paper' are called, 'only lewa' the first, 'lewa tuning=paper' the second."""
    return not wanted or title == wanted.removeprefix("only ") or title.startswith(f"{wanted} ")
