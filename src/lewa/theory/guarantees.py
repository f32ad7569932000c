"""Guarantees, their assumptions and their form; the other modules of this package have the theorems.

A bound is stated only if its conditions hold. The trivial bounds are applied last: regret is at most the number of rounds T,
and violation is at most floor * T. A theorem that gives only these bounds is not a guarantee.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lewa import notebook
from lewa.formatting import numbers
from lewa.theory.assumptions import CONSTANT as CONSTANT
from lewa.theory.assumptions import EACH_ACTION as EACH_ACTION
from lewa.theory.assumptions import EVERY_ROUND as EVERY_ROUND
from lewa.theory.assumptions import EXPECTED as EXPECTED
from lewa.theory.assumptions import EXPECTED_INSIDE as EXPECTED_INSIDE
from lewa.theory.assumptions import FEASIBLE as FEASIBLE
from lewa.theory.assumptions import IN_ADVANCE as IN_ADVANCE
from lewa.theory.assumptions import MEAN as MEAN
from lewa.theory.assumptions import MISSING as MISSING
from lewa.theory.assumptions import OBLIVIOUS as OBLIVIOUS
from lewa.theory.assumptions import PATHWISE as PATHWISE
from lewa.theory.assumptions import PROBABLE as PROBABLE
from lewa.theory.assumptions import ROUND_BY_ROUND
from lewa.theory.assumptions import SHARES as SHARES
from lewa.theory.assumptions import STILL as STILL
from lewa.theory.assumptions import UNSEEN as UNSEEN
from lewa.theory.setting import Setting, checked
from lewa.types import Vector
from lewa.validation import as_count, nearest, short_repr

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

TINY = 1e-300  # the least epsilon that is spoken of
HORIZONS = (1, 10**3, 10**6, 10**9, 10**12)  # rounds at which it is asked whether anything is proved


class Guarantee(NamedTuple):
    """A proved bound on regret and on the violation of each constraint, or None with the reason."""

    regret: float | None  # the bound on regret
    violation: tuple[float, ...] | None  # the bound on the violation of each constraint
    kind: str | None  # how the bounds hold: pathwise, expected, with high probability, ...
    source: str  # the name of the theorem
    assumptions: tuple[str, ...] = ()  # its assumptions, in words
    epsilon: float | None = None  # the probability with which the bounds may fail
    reason: str = ""  # why there is no bound
    positive_violation: tuple[float, ...] | None = None  # a bound on sum_t [c0 - p_t.c]+, if there is one
    raised: float = 0.0  # the amount by which the floors are raised that some play must meet
    throughout: bool = False  # whether the probability is for all t <= T at once, not only for T
    share: float | None = None  # the share of any fixed play's reward, minus regret, if every round has slack
    safe: tuple[float, float] | None = None  # assumes that this action exceeds every floor by this slack, always
    safe_in_mean: bool = False  # whether this assumption is about its mean constraints only

    def __repr__(self) -> str:
        if self.regret is None:
            return f"<Guarantee: none, {self.reason}>"
        sure = "" if self.epsilon is None else f" {1 - self.epsilon:g}"
        bounds = f"regret at most {self.regret:.4g}, violation {numbers(self.violation)}"
        return f"<Guarantee: {bounds}; {self.kind}{sure}, by {self.source}>"

    def rows(self) -> list[dict[str, float | str | None]]:
        """Return a flat row for each bound: for a DataFrame, or a file. There is none where nothing is proved."""
        bounds = [] if self.regret is None else [("regret", self.regret)]
        for name, values in (("violation", self.violation), ("positive violation", self.positive_violation)):
            each = values or ()
            bounds += [(name if len(each) == 1 else f"{name} {j}", value) for j, value in enumerate(each, 1)]
        same = {"kind": self.kind, "epsilon": self.epsilon, "source": self.source}
        return [{"bound on": name, "at most": value, **same} for name, value in bounds]

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return a matplotlib figure: a point for each bound."""
        curves = [
            notebook.Curve(str(row["bound on"]), np.array([float(n)]), np.array([row["at most"]]), points=True)
            for n, row in enumerate(self.rows())
        ]
        return notebook.figure(self.source, [notebook.Lines("at most", "bounds, in order", curves)])

    def _repr_html_(self) -> str:
        return notebook.html_table(repr(self)[1:-1], self.rows(), self.assumptions)

    @property
    def needs_fixed_mean(self) -> bool:
        """Whether it assumes that the constraints have a fixed mean, or never change."""
        return any(text == CONSTANT or ("a fixed mean" in text and text != STILL) for text in self.assumptions)

    @property
    def every_round(self) -> bool:
        """Whether regret is relative to plays that meet the floors in every round."""
        return any(ROUND_BY_ROUND in text for text in self.assumptions)

    @property
    def each_action(self) -> bool:
        """Whether regret is relative to mixtures of actions that each meet the floors in every round."""
        return any(text.startswith("against mixtures of actions") for text in self.assumptions)


Statements: TypeAlias = tuple[Guarantee, ...]  # the best first


class AnyLearner(Protocol):
    """A learner as its theorem sees it: its floors, and other parameters by name, which are numbers."""

    @property
    def floor(self) -> Vector:
        """One number per constraint."""

    def __getattribute__(self, name: str, /) -> float:
        """Return a parameter; each learner has its own."""


class HasGuarantees(Protocol):
    """An object with floors and guarantees, such as a `lewa.learners.Learner`."""

    @property
    def floor(self) -> Vector:
        """One number per constraint."""

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        """Return the guarantees in this setting, the best first."""


def guarantee(learner: HasGuarantees, actions: int, rounds: int, **setting: Any) -> Guarantee:
    """Return the guarantee of a learner with exactly its parameters.

    Parameters
    ----------
    learner
        The learner with its parameters.
    actions
        K, the number of actions.
    rounds
        T, the number of rounds.
    **setting
        Fields of `Setting` by name.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=10, horizon=100_000, floor=0.6, tuning="paper")
    >>> round(lewa.guarantee(learner, actions=10, rounds=100_000).regret, 1)  # 2 sqrt(T ln K)
    959.7
    """
    actions, rounds = as_count("actions", actions), as_count("rounds", rounds)
    if not hasattr(learner, "guarantees") or isinstance(learner, type):
        raise TypeError(f"learner must be an object such as lewa.learners.Lewa.tuned(...), got {short_repr(learner)}")
    for name in setting:
        if name not in Setting._fields:
            raise ValueError(f"a setting has no field {name!r}{nearest(name, list(Setting._fields))}")
    question = checked(Setting(**setting))
    return applicable(learner.guarantees(actions, rounds, question)[0], question)


def unproved(learner: HasGuarantees, actions: int) -> Guarantee | None:
    """Return why this learner has no guarantee for any number of rounds; None if it has one for some.

    A reason that depends on the rounds comes from a theorem whose bound is still trivial, or which covers fewer rounds.
    """
    first = guarantee(learner, actions, HORIZONS[0])
    if first.regret is not None or any(guarantee(learner, actions, rounds) != first for rounds in HORIZONS[1:]):
        return None
    return first


def steady(setting: Setting) -> str:
    """Return the assumption about the constraints: a fixed mean, or the same every round, except for corruption."""
    constant = setting.constraints == "constant"
    if not setting.corruption:
        return CONSTANT if constant else MEAN
    fixed = "the constraints are the same every round" if constant else "given the past, the constraints have a fixed mean"
    return f"{fixed}, except for a total corruption of {setting.corruption:g}; violation is measured without the corruption"


def applicable(statement: Guarantee, setting: Setting) -> Guarantee:
    """Return the guarantee, or none if its fixed mean is corrupted or no theorem covers the setting."""
    if setting.outside_theory:
        return none(statement.source, f"no theorem covers {setting.outside_theory}")
    if setting.corruption and {MEAN, CONSTANT} & set(statement.assumptions):
        return none(statement.source, f"no bound is proved under corruption, got corruption={setting.corruption:g}")
    return statement


def none(source: str, reason: str) -> Guarantee:
    """Return a guarantee without bounds, with the reason."""
    return Guarantee(None, None, None, source, reason=reason)


class Bound(NamedTuple):
    """The numbers of one theorem before the trivial bounds are applied; one violation, or one per constraint."""

    regret: float
    violation: float | tuple[float, ...]
    positive: float | tuple[float, ...] | None = None  # the bound on sum_t [c0 - p_t.c]+


def conclude(
    bound: Bound,
    rounds: int,
    floor: Vector,
    kind: str,
    source: str,
    assumptions: tuple[str, ...],
    epsilon: float | None = None,
) -> Guarantee:
    """Return the guarantee of a theorem, after the trivial bounds; without bounds if the theorem gives no more."""
    most = [c0 * rounds for c0 in floor.tolist()]
    each = _each(bound.violation, floor.size)
    if bound.regret >= rounds and all(v >= top for v, top in zip(each, most, strict=True)):
        return none(
            source,
            f"{source} gives only the trivial bounds regret <= T and violation <= floor*T here: its bounds are "
            f"{bound.regret:.4g} and {max(each, default=0.0):.4g} at T = {rounds}",
        )
    violation = tuple(map(min, each, most))
    positive = None if bound.positive is None else tuple(map(min, _each(bound.positive, floor.size), most))
    return Guarantee(min(bound.regret, float(rounds)), violation, kind, source, assumptions, epsilon, "", positive)


def _each(bound: float | tuple[float, ...], constraints: int) -> tuple[float, ...]:
    return bound if isinstance(bound, tuple) else (bound,) * constraints


def with_share(statement: Guarantee, floor: Vector, setting: Setting) -> Guarantee:
    """Add the share of every fixed play's reward that follows from a bound against plays that always meet the floors.

    Any fixed play with weight S/(max c0 + S), mixed with a play that has slack S in every round, always meets the floors.
    """
    if statement.regret is None or setting.slater is None:
        return statement
    return statement._replace(share=setting.slater / (float(floor.max()) + setting.slater))


def failed(conditions: dict[str, bool]) -> str:
    """Return the conditions that do not hold."""
    return " and ".join(formula for formula, holds in conditions.items() if not holds)


def one_action(floor: Vector) -> tuple[Guarantee, ...]:
    """Return the guarantee for K = 1: the only play is the comparator, and meets the floors if any play does."""
    nothing = (0.0,) * floor.size
    return (Guarantee(0.0, nothing, PATHWISE, "one action", (FEASIBLE,), positive_violation=nothing),)


def width(delta: float, mu: float, rounds: int) -> float:
    """Return A = 2 (delta T + 1/mu)."""
    return 2 * (delta * rounds + 1 / mu)
