"""Tightened: any tuned learner held to floors a little above those asked for, so that in the long run none is missed."""

from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any, get_type_hints

import numpy as np

from lewa.kernels import builder
from lewa.kernels import dispatch as methods
from lewa.learners.base import check_size, require
from lewa.learners.wrapper import about, fields, settle
from lewa.theory import anytime
from lewa.theory.guarantees import EXPECTED_INSIDE, Guarantee, Setting
from lewa.types import Vector

HALVINGS = 50  # of the slack's range


@cache
def tightened(kind: Any) -> Any:
    """The class of learners that hold one of this kind to the floors c0 + s.

    Box: the learner inside, with c0 + s in place of c0; a floor of 0 asks for nothing, and stays.

    Order: that of the learner inside.

    Parameters: those of the learner inside; s = slack, at least 0, c0 + s at most 1; c0 = floor, which violation is measured
    by.

    Reading: if the learner inside is proved to miss c0 + s by at most s T in all, it does not miss c0, in the sense of that
    bound: on average over runs, with probability 1 - epsilon, or always (docs/theory_anytime.md, 3). The tuned slack is the
    least one of which this is proved; on horizons too short for any up to 1 - c0 it is 0, and the guarantee is that of the
    learner inside. The price is regret: s T/S more, where some play exceeds every floor by S; without such an S nothing is
    proved against plays that meet no more than c0.

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
    State: Any = get_type_hints(kind.start)["return"]
    Parameters: Any = fields("Parameters", {**get_type_hints(kind), "slack": float})
    Raised = fields("Raised", {**get_type_hints(State), "line": Vector})
    own = [name for name in kind._fields if name != "floor"]
    rule = builder(kind, "self, s", floor="s.line", **{name: f"self.{name}" for name in own})
    inner = builder(State, "s", **{name: f"s.{name}" for name in State._fields})

    class Tightened(Parameters):  # type: ignore[misc]
        __slots__ = ()

        @classmethod
        def tuned(cls, actions: int, horizon: int, floor: object, slack: float | None = None, **settings: Any) -> Any:
            """The tuning for the floors c0 + s; s is the least slack that is proved to be enough, or 0 if none is."""
            return cls.made(kind.tuned, actions, horizon, floor, slack, **settings)

        @classmethod
        def made(
            cls,
            make: Callable[..., Any],
            actions: int,
            horizon: int,
            floor: object,
            slack: float | None = None,
            **settings: Any,
        ) -> Any:
            """The same, of a learner that `make` makes."""
            floor = check_size(actions, floor, horizon)
            slack = least_slack(make, actions, horizon, floor, settings) if slack is None else slack
            line = raised(floor, slack)
            made = make(actions, horizon, line, **settings)
            learner = cls(**{**made._asdict(), "floor": floor}, slack=slack)
            learner.start(1)
            return learner

        @classmethod
        def examples(cls) -> list[tuple[Any, int]]:
            return [
                (cls.tuned(3, 200, 0.5, slack=0.1), 3),
                (cls.tuned(5, 100, (0.4, 0.2), slack=0.3), 5),
                (cls.tuned(1, 50, 0.5), 1),
            ]

        def held(self) -> Any:
            """The learner inside."""
            return kind(**{name: getattr(self, name) for name in own}, floor=raised(self.floor, self.slack))

        def start(self, actions: int) -> Any:
            held = self.held()
            return Raised(*held.start(actions), held.floor)

        def play(self, s: Any, p: Vector) -> None:
            methods.play(rule(self, s), inner(s), p)

        def choose(self, s: Any, u: float) -> Any:
            return methods.choose(rule(self, s), inner(s), u)

        def learn(self, s: Any, seen: Any) -> None:
            methods.learn(rule(self, s), inner(s), seen)

        @property
        def parent(self) -> Any:
            """That of the learner inside."""
            return self.held().parent

        def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
            return anytime.tightened(self.held(), actions, rounds, self.floor, self.slack, setting)

        def __reduce__(self) -> Any:
            return _again, (kind, tuple(self))

    for name in ("choose", "parent"):
        if not hasattr(kind, name):
            delattr(Tightened, name)
    Tightened.__doc__ = f"{about(kind)}; held to a floor above the one that is asked for."
    Tightened.start.__annotations__["return"] = Raised
    Tightened.learn.__annotations__["seen"] = get_type_hints(kind.learn)["seen"]
    settle(Tightened, kind, "Tightened", globals())
    settle(Raised, kind, "Raised", globals())
    return Tightened


def raised(floor: Vector, slack: float) -> Vector:
    """c0 + s, but 0 where c0 is 0."""
    number = isinstance(slack, Real) and 0 <= slack <= 1 - floor.max() + 1e-12
    require(number or not floor.any(), "slack must lie in [0, 1 - floor]", slack=slack, floor=floor.tolist())
    line: Vector = np.where(floor > 0, np.minimum(floor + slack, 1.0), 0.0)
    return line


def least_slack(make: Callable[..., Any], actions: int, horizon: int, floor: Vector, settings: dict[str, Any]) -> float:
    """The least s such that the learner for the floors c0 + s is proved to miss them by at most s T; 0 if there is none."""
    blind = {name: value for name, value in settings.items() if name != "means"}  # a floor that is only tried may be high
    setting = Setting(epsilon=settings.get("epsilon"))

    def enough(slack: float) -> bool:
        said = make(actions, horizon, raised(floor, slack), **blind).guarantees(actions, horizon, setting)[0]
        if said.violation is None or said.kind == EXPECTED_INSIDE:
            return False
        return all(v <= slack * horizon for v, c0 in zip(said.violation, floor.tolist(), strict=True) if c0 > 0)

    low, high = 0.0, 1 - float(floor.max())
    if enough(low) or not enough(high):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _again(kind: Any, values: tuple[Any, ...]) -> Any:
    return tightened(kind)(*values)
