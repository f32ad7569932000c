"""Tightened: any tuned learner with slightly raised floors, so that in the long run no floor is missed."""

from collections.abc import Callable, Mapping
from math import inf, isfinite, isnan
from typing import Any, Self

import numpy as np

from lewa.kernels import annotated_types, compiled_form, field_types, state_type
from lewa.kernels.roles import Totals
from lewa.learners.base import Learner, Rescaling, Saved, Statements, Theorems, Vector, require
from lewa.learners.parameter_checks import check_problem
from lewa.learners.wrappers.wrapper import Wrapper
from lewa.theory import anytime
from lewa.theory.guarantees import EXPECTED_INSIDE
from lewa.theory.setting import Setting
from lewa.validation import as_real

HALVINGS = 50  # of the slack's range
NEAR = 1e-14  # what a bracket of the slack may be wide, as a share of it


def at_raised_floors(learner: "Tightened", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of the inner learner at its floors, for the floors of the wrapped one."""
    return anytime.tightened(learner.inner(), actions, rounds, learner.floor, learner.slack, setting)


class Tightened(Wrapper):
    """Run the inner learner with the floors c0 + s, so that in the long run c0 is not missed.

    Box: the inner learner, with c0 + s in place of c0; a floor of 0 is always met and does not change.

    Order: that of the inner learner.

    Parameters: those of the inner learner; s = slack, at least 0, c0 + s at most 1; c0 = floor, by which violation is
    measured.

    Reading: if the inner learner is proved to miss c0 + s by at most s T in total, it does not miss c0, in the sense of
    that bound: on average over runs, with probability 1 - epsilon, or always (docs/theory_anytime.md, 3). The tuned
    slack is the smallest one for which this is proved. If the horizon is too short for any slack up to 1 - c0, it is 0,
    and the guarantee is that of the inner learner. The cost is regret: the bound grows by s T/S if some play exceeds
    every floor by S; without such an S nothing is proved against plays that meet only c0.

    >>> import lewa
    >>> learner = lewa.learners.make("lewa+tightened", actions=2, horizon=100_000, floor=0.5)
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, slater=0.3)
    >>> f"slack {learner.slack:.3f}; violation {lewa.violation(trace).max():.0f} (bound {bound.violation[0]:.0f})"
    'slack 0.108; violation 0 (bound 0)'
    >>> f"regret {lewa.regret(trace).mean():.0f} (bound {bound.regret:.0f})"
    'regret 6997 (bound 36383)'

    Reference: docs/theory_anytime.md.
    """

    slack: float

    ending = "run with raised floors"
    theorems = Theorems(at_raised_floors)

    @classmethod
    def fields_around(cls, kind: type[Learner]) -> dict[str, object]:
        return {**annotated_types(kind), "slack": float}

    @classmethod
    def state_around(cls) -> dict[str, object]:
        return {"line": Totals[Vector]}  # (m,)  c0 + s

    @classmethod
    def opener(cls, kind: type[Learner]) -> Callable[..., tuple[object, object]]:
        form, state = compiled_form(kind), state_type(kind)
        k, numbers = list(form._fields).index("floor"), len(state._fields)
        after, end = k + 1, len(form._fields)  # Numba takes a slice of a tuple by numbers that it knows

        def inside(self: Any, s: Any) -> tuple[object, object]:
            parameters = self[:k] + (s.line,) + self[after:end]  # noqa: RUF005 (Numba has no star here)
            return form(*parameters), state(*s[:numbers])

        return inside

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        inside = {name: value for name, value in plain.items() if name != "slack"}
        return {**cls.kind.upgrade(inside), "slack": plain["slack"]} if "slack" in plain else plain

    @classmethod
    def made_by(
        cls,
        make: Callable[..., Learner],
        actions: int,
        horizon: int,
        floor: object,
        slack: float | None = None,
        **settings: Any,
    ) -> Self:
        """Return the learner tuned for the floors c0 + s; s is the smallest slack that is proved to be enough, or 0."""
        K, T, floor = check_problem(actions, horizon, floor)
        cls.refuse_reserves(settings)
        slack = least_slack(make, K, T, floor, settings) if slack is None else slack
        learner = make(K, T, raised(floor, slack), **settings)
        return cls(**{**learner.parameters, "floor": floor}, slack=slack)  # type: ignore[call-arg]

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        """Return the examples of the inner learner, whose floors are the raised ones."""
        examples = []
        for learner, actions in cls.kind.examples():
            slack = min(0.1, float(learner.floor.min(where=learner.floor > 0, initial=1.0)) / 2)
            floor = np.where(learner.floor > 0, learner.floor - slack, 0.0)
            examples.append((cls(**{**learner.parameters, "floor": floor}, slack=slack), actions))  # type: ignore[call-arg]
        return examples

    def inner(self) -> Learner:
        """Return the inner learner."""
        parameters = {name: self.parameters[name] for name in field_types(self.kind)}
        return self.kind(**{**parameters, "floor": raised(self.floor, self.slack)})

    def inner_at(self, s: Any) -> Learner:
        return self.inner()

    def check(self) -> None:
        """Check the inner learner."""
        self.inner()

    def start(self, actions: int) -> Any:
        learner = self.inner()
        return state_type(type(self))(*learner.start(actions), learner.floor.copy())

    @property
    def parent(self) -> Learner | None:
        """The parent of the inner learner."""
        return self.inner().parent

    def extended(self, like: int | None, expected: Mapping[int, float]) -> Self:
        parameters = {**self.inner().extended(like, expected).parameters, "floor": self.floor}
        return self.replace(**parameters)

    def changed(self, s: Any, floor: Vector, units: Rescaling | None) -> tuple[Self, Any]:
        size = len(state_type(self.kind)._fields)
        learner, state = self.inner().changed(state_type(self.kind)(*s[:size]), raised(floor, self.slack), units)
        return self.replace(**{**learner.parameters, "floor": floor}), type(s)(*state, raised(floor, self.slack))

    def rescale_charged(self, charged: Vector, units: Rescaling) -> None:
        self.inner().rescale_charged(charged, units)


def raised(floor: Vector, slack: float) -> Vector:
    """Return c0 + s, but 0 where c0 is 0."""
    legal = 0 <= as_real("slack", slack) <= 1 - floor.max() + 1e-12
    require(bool(legal) or not floor.any(), "slack must lie in [0, 1 - floor]", slack=slack, floor=floor.tolist())
    line: Vector = np.where(floor > 0, np.minimum(floor + slack, 1.0), 0.0)
    return line


def least_slack(make: Callable[..., Learner], actions: int, horizon: int, floor: Vector, settings: dict[str, Any]) -> float:
    """Return the smallest s such that the learner for the floors c0 + s is proved to miss them by at most s T, or 0."""
    blind = {name: value for name, value in settings.items() if name != "means"}  # a floor that is only tried may be high
    setting, floors = Setting(epsilon=settings.get("epsilon")), floor.tolist()

    def missed(slack: float) -> float:
        """By how much more than s T the floors may be missed; at most 0 where s is enough."""
        best = make(actions, horizon, raised(floor, slack), **blind).guarantees(actions, horizon, setting)[0]
        if best.violation is None or best.kind == EXPECTED_INSIDE:
            return inf
        over = [v - slack * horizon for v, c0 in zip(best.violation, floors, strict=True) if c0 > 0]
        return inf if any(map(isnan, over)) else max(over, default=0.0)

    low, high = 0.0, 1 - float(floor.max())
    below, above = missed(low), missed(high)
    if below <= 0 or above > 0:
        return low
    short, enough = _bracket(missed, low, below, high, above)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        suffices = middle >= enough or (middle > short and missed(middle) <= 0)
        low, high = (low, middle) if suffices else (middle, high)
    return high


def _bracket(
    missed: Callable[[float], float], short: float, over: float, enough: float, under: float
) -> tuple[float, float]:
    """Return a slack that is too small and one that is enough, close together, by secants with the Illinois rule.

    `missed` falls with the slack and takes long: it is `over` > 0 at `short`, and `under` <= 0 at `enough`.
    """
    moved = ""
    for _ in range(HALVINGS):
        x = short + (enough - short) * (over / (over - under) if isfinite(over) else 0.5)
        if not short < x < enough or enough - short <= NEAR * enough:
            break
        y = missed(x)
        if y > 0:
            short, over, under = x, y, under / 2 if moved == "short" else under
        else:
            enough, under, over = x, y, over / 2 if moved == "enough" else over
        moved = "short" if y > 0 else "enough"
    return short, enough
