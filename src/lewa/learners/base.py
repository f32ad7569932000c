"""What a learner is, in one page, and the laws its parameters obey."""

from numbers import Integral
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector
from lewa.validation import as_floor, in_unit


class Learner(Protocol):
    """A named tuple of hyperparameters with these methods. The state is a named tuple too; the rules work on it in place,
    and its first array has one entry per action.

    `learn` says by the annotation of `seen` what feedback it takes, `Full` or `Bandit`. A bandit learner that need not
    write out its whole play also has `choose(s, u) -> (action, chance)`; one without it is dense: its `learn` gets the
    whole play. A rule allocates nothing and calls only `lewa.kernels`. The docstring's first line stands in lists.
    """

    @property
    def floor(self) -> Vector:
        """One number per constraint, each in [0, 1]: what the constraint is to be on average."""
        ...

    @classmethod
    def tuned(cls, *arguments: Any, **settings: Any) -> Self:
        """The parameters that theory asks for at this size; a floor is one number, or one per constraint."""
        ...

    @classmethod
    def examples(cls) -> list[tuple["Learner", int]]:
        """A few small (learner, actions) pairs for the laws in checks/."""
        ...

    def start(self, actions: int) -> Any:
        """The state before the first round; parameters that break a law are refused here."""
        ...

    def play(self, s: Any, p: Vector) -> None:
        """Write the play into p."""
        ...

    def learn(self, s: Any, seen: Any) -> None:
        """Change the state by what one round showed."""
        ...

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        """What is proved in this setting, the best first; where nothing is, that, with the reason."""
        ...

    def _replace(self, *arguments: Any, **fields: Any) -> Self: ...

    def _asdict(self) -> dict[str, Any]: ...


LARGEST = 1e100  # of a step size: no number of rounds then overflows a logarithm of a weight


def require(law: bool, sentence: str, **values: object) -> None:
    """Refuse parameters that break a law, with the law and the values in one sentence."""
    if not law:
        raise ValueError(f"{sentence}, got " + ", ".join(f"{name}={value}" for name, value in values.items()))


def check_size(actions: int, floor: object, horizon: int | None = None) -> Vector:
    """The floor as a vector, if it, the number of actions and the horizon make sense."""
    for name, value in (("actions", actions), ("horizon", horizon)):
        whole = value is None or (isinstance(value, Integral) and value >= 1)
        require(whole, f"{name} must be a whole number of at least 1", **{name: value})
    return as_floor(floor)


def check_positive(**values: float) -> None:
    """Step sizes and their like."""
    for name, value in values.items():
        require(0 < value <= LARGEST, f"{name} must be positive and at most {LARGEST:g}", **{name: value})


def check_dual(delta: float, mu: float) -> None:
    """The multiplier stays between 0 and floor/delta only if its step does not overshoot."""
    check_positive(delta=delta, mu=mu)
    require(delta * mu <= 1, "delta*mu must be at most 1", delta=delta, mu=mu)


def check_gamma(gamma: float) -> None:
    """The share of uniform exploration."""
    require(0 < gamma < 1, "gamma must lie strictly between 0 and 1", gamma=gamma)


def check_epsilon(epsilon: float) -> None:
    """The probability with which a bound may fail."""
    require(0 < epsilon < 1, "epsilon must lie strictly between 0 and 1", epsilon=epsilon)


def check_feasible(floor: Vector, means: object) -> None:
    """Where the mean constraints are known, a floor that no play can meet is refused."""
    if means is None:
        return
    from lewa.measures.best_play import best_fixed_play  # scipy: only where it is needed

    constraints = np.atleast_2d(in_unit("means", means))
    require(
        constraints.ndim == 2 and len(constraints) == floor.size, f"means must have the shape ({floor.size}, K)", means=means
    )
    best = best_fixed_play(np.zeros(constraints.shape[1]), constraints, floor)
    require(
        best.feasible,
        f"the floor must be reachable; the nearest any play comes is {best.reachable.tolist()}",
        floor=floor.tolist(),
    )


L = TypeVar("L")


def lawful(learner: L) -> L:
    """The learner, if its parameters break no law; one action is enough to tell."""
    learner.start(1)  # type: ignore[attr-defined]
    return learner


def log_actions(actions: int) -> float:
    """ln K for a tuning; one action has nothing to learn, and ln 2 keeps its step size positive."""
    return float(np.log(max(actions, 2)))
