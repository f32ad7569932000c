"""The base class of learners, and checks of their parameters."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property, wraps
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from lewa.feedback import FeedbackKind, feedback_kind
from lewa.kernels import field_types
from lewa.kernels.roles import CHARGED, Rescaling, array_with, rescale
from lewa.learners.parameters import NewAction, Parameter, parameter_roles
from lewa.theory.delayed import Delays, Start
from lewa.theory.guarantees import Guarantee, Setting, checked
from lewa.types import Vector
from lewa.validation import LARGEST_WHOLE, as_floats, as_floor, as_real, in_unit, short_repr

ENTRY = 0.02  # the share to which an unknown action falls while it is missing
Saved: TypeAlias = dict[str, Any]  # parameters by name, as JSON has them
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
LARGEST_ENTROPY = 1e300  # of a play whose probabilities are unknown


class Tuning(NamedTuple):
    """A named tuning of a learner."""

    about: str = ""  # one line for lists, in which NAME@TUNING is a learner of its own
    fixes: tuple[str, ...] = ()  # the settings that it fixes


class Learner:
    """The base class of learners. A learner is a frozen dataclass of hyperparameters: floats, vectors, and the floor.

    A learner defines `tuned`, `start`, `play`, `learn`, `guarantees`, and `check` if its parameters obey laws. Its state is
    a named tuple of arrays; `play` and `learn` work on it in place, and its first array has one entry per action. Each array
    is annotated with its role, of `lewa.kernels.roles`: what it is when an action is added or missing, or units change.

    The annotation of `seen` in `learn` is the feedback of the learner, `Full` or `Bandit`. A bandit learner that can draw
    without computing its whole play also has `choose(s, u) -> (action, propensity)`; one without it is dense: its `learn`
    gets the whole play. A learner that charges has no `choose`. A rule allocates nothing and calls only `lewa.kernels`,
    unless `compiled = False`: then it may be any Python. The first line of the docstring appears in lists.

    Two learners are equal if they have the same class and equal parameters. Invalid parameters raise ValueError when the
    learner is made.
    """

    floor: Vector  # one number per constraint, each in [0, 1]: the lower bound on its average
    tunings: ClassVar[dict[str, Tuning]] = {"recommended": Tuning()}
    feedback: ClassVar[FeedbackKind | None] = None  # if the annotation of `learn` does not determine it
    unbounded: ClassVar[bool] = False  # whether its rule accepts constraints outside [0, 1]
    compiled: ClassVar[bool] = True  # False: its rule is Python that is not compiled
    compiled_as: ClassVar["type[Learner] | None"] = None  # a class with the same rule, whose compiled code is used
    weighs_propensities: ClassVar[bool] = True  # whether a bandit learner divides by propensities
    reads_play: ClassVar[bool] = True  # whether `learn` reads the play
    proved_with_masks: ClassVar[bool] = False  # whether its bounds hold if actions are missing, see `MISSING`
    proved_with_shares: ClassVar[bool] = False  # whether they hold if shares are added to its play, see `SHARES`
    keeps_shares: ClassVar[bool] = True  # False: its play is made of statistics, or it restarts, and shares may jump
    restarts: ClassVar[bool] = False  # whether its state is reset to the start now and then
    quotes_prices: ClassVar[bool] = False  # whether it charges its prices at the draw, and not a forecast of the costs

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("__eq__", "__hash__"):  # those that a dataclass gets would ask for the truth value of an array
            setattr(cls, name, vars(Learner)[name])
        if "guarantees" in vars(cls):
            cls.guarantees = _with_checked_sizes(cls.guarantees)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for name, kind in field_types(type(self)).items():
            value = getattr(self, name)
            if kind is not float or type(value) is not float:
                object.__setattr__(self, name, as_real(name, value) if kind is float else _array(name, value))
        self.check()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(self.parameters.values())

    def _key(self) -> tuple[object, ...]:
        values = map(np.asarray, self.parameters.values())
        return tuple((value.shape, *value.ravel().tolist()) for value in values)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name: floats and read-only arrays, the floor among them."""
        return {name: getattr(self, name) for name in field_types(type(self))}

    @cached_property
    def layouts(self) -> dict[int, tuple[list[tuple[int, ...]], Vector]]:
        """The shapes of its state's arrays and the beginning of a session's buffer, by numbers of actions, for sessions."""
        return {}

    def replace(self, **changes: object) -> Self:
        """Return a learner like this one with these parameters changed."""
        return type(self)(**{**self.parameters, **changes})

    @classmethod
    def tuned(cls, *sizes: Any, **settings: Any) -> Self:
        """Return the learner with the parameters of its theorem: `tuned(actions, horizon, floor, ...)`.

        A floor is one number, or one number per constraint.
        """
        raise NotImplementedError(f"{cls.__name__} has no tuning")

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        """Return a few small (learner, actions) pairs for the laws in checks/."""
        return [(cls.tuned(3, 200, 0.5), 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def check(self) -> None:
        """Raise ValueError for invalid parameters. A learner is checked when it is made."""

    def sizes(self, actions: int) -> tuple[int, int]:
        """Return K and m, the numbers of actions and of constraints, for `start`; raise ValueError for an invalid K."""
        check_whole(actions=actions)
        return int(actions), self.floor.size

    def start(self, actions: int) -> Any:
        """Return the state before the first round."""
        raise NotImplementedError(f"{type(self).__name__} has no start")

    def play(self, s: Any, p: Vector) -> None:
        """Write the play into p."""
        raise NotImplementedError(f"{type(self).__name__} has no play")

    def charge(self, s: Any, action: int) -> None:
        """Charge the constraints for the action drawn, before its answer comes; most learners do nothing here.

        A learner that charges writes the values to `charged` of its state; the feedback passes them to `learn`.
        """

    def release(self, s: Any, charged: Vector) -> None:
        """Note that a decision with these charged values gets no answer; most learners do nothing here."""

    def learn(self, s: Any, seen: Any) -> None:
        """Update the state with the feedback of one round."""
        raise NotImplementedError(f"{type(self).__name__} does not learn")

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        """Return the guarantees in this setting, the best first; if there is no bound, one guarantee with the reason."""
        raise NotImplementedError(f"{type(self).__name__} has no guarantees")

    def late_guarantees(self, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
        """Return the guarantees for this many decisions with late answers, the best first; most learners have none."""
        return ()

    def late_probable(self, actions: int, rounds: int, late: Delays, epsilon: float) -> tuple[Guarantee, ...]:
        """Return the guarantees with late answers that hold with probability 1 - epsilon; most learners have none.

        Parameters
        ----------
        actions, rounds
            K and the number of decisions.
        late
            The delays.
        epsilon
            The probability with which a guarantee may fail.
        """
        return ()

    def segment_guarantees(self, actions: int, rounds: int, late: Delays, start: Start) -> tuple[Guarantee, ...]:
        """Return the guarantees for the decisions since a change; most learners have none.

        Parameters
        ----------
        actions, rounds
            K and T.
        late
            The delays of the answers.
        start
            The state of the learner at the change.
        """
        return ()

    def entropy(self, s: Any, there: Flags) -> float:
        """Return max_i ln(1/p_i) of the next play p over the actions that are `there`, for `segment_guarantees`.

        A learner that has these guarantees computes it from the logarithms of its weights, since p_i may be too small for a
        float. The default is larger than any bound.
        """
        return LARGEST_ENTROPY

    def stands(self, s: Any, start: Start) -> Start:
        """Return the start of a segment, with further values of the state that the theorem needs."""
        return start

    def with_errors(self, s: Any, late: Delays) -> Delays:
        """Return the delays with the largest errors of reserves so far, of a learner that has reserves."""
        return late

    def certificate(self, s: Any) -> Vector | None:
        """Return a bound on the shortfall of the answers learned so far that holds on every path, if the state has one."""
        return None

    def hold_back(self, s: Any, there: Vector, play: Vector, unknown: Sequence[int]) -> None:
        """Lower the forecasts of unknown actions while they are missing, so that they do not return with all the traffic.

        A learner that prefers unknown actions does so.

        Parameters
        ----------
        s
            The state.
        there
            (K,) 1 for an action that was there, 0 for one that was missing.
        play
            (K,) The play over those that were there.
        unknown
            The missing actions without any answer.
        """

    @property
    def dual(self) -> tuple[float, float] | None:
        """The shrinkage and the step of the multiplier's update, if they are constant: a run's certificate needs them."""
        return None

    @property
    def sure(self) -> tuple[int, float] | None:
        """An action, and the amount by which its theorem assumes that it exceeds every floor in every round, if it does."""
        return None

    @property
    def parent(self) -> "Learner | None":
        """The learner that this one equals if every floor is 0: EWA, for full information and a step; else None."""
        from lewa.learners.ewa import Ewa  # which is a learner itself, and imports this file

        if feedback_kind(type(self)) != "full" or field_types(type(self)).get("eta") is not float:
            return None
        return Ewa(self.parameters["eta"], self.floor)

    def relabelled(self, order: Sequence[int]) -> Self:
        """Return the learner after renaming action order[k] to k: its parameters of each action, by their roles."""
        return self._with_parameters(lambda role, value: role.reorder(value, order))

    def extended(self, like: int | None, expected: Mapping[int, float]) -> Self:
        """Return the learner with one more action, the last, which is like action `like` or has these expected values.

        `expected` has the reward at 0 and the constraints from 1 on, if they are known.
        """
        return self._with_parameters(lambda role, value: role.extend(value, self.floor, NewAction(like, expected)))

    def _with_parameters(self, change: Callable[[Parameter[Any], Any], object]) -> Self:
        """Return the learner with the parameters that have a role changed."""
        roles = parameter_roles(type(self))
        return self.replace(**{name: change(role, self.parameters[name]) for name, role in roles.items()}) if roles else self

    def with_floor(self, s: Any, floor: object) -> tuple[Self, Any]:
        """Return the learner and its state with another floor from now on."""
        return self.replace(floor=floor), s

    def rescaled(self, s: Any, j: int, ratio: float, shift: float) -> tuple[Self, Any]:
        """Return the learner and its state after a cost z = 1 - c is rescaled to ratio z + shift.

        The roles of its arrays and of its parameters say what changes: a multiplier is a price per unit of the cost.

        Parameters
        ----------
        s
            The state.
        j
            The index of the constraint.
        ratio, shift
            The new cost is ratio z + shift.
        """
        state, units = deepcopy(s), Rescaling(j, ratio, shift)
        rescale(state, self.floor.size, units)
        charged = array_with(state, CHARGED)
        if charged is not None:
            self.rescale_charged(charged, j, ratio, shift)
        return self._with_parameters(lambda role, value: role.rescale(value, self.floor, units)), state

    def rescale_charged(self, charged: Vector, j: int, ratio: float, shift: float) -> None:
        """Write what was charged at a draw in the units of `rescaled`, in place.

        Parameters
        ----------
        charged
            The values that were charged.
        j, ratio, shift
            The arguments of `rescaled`.
        """
        charged[j] = charged[j] / ratio if self.quotes_prices else ratio * charged[j] + shift

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Return the parameters that an earlier version saved in the form of this version."""
        return plain


class PrimalDual(Learner):
    """A learner with a step eta, and a multiplier that shrinks by delta and steps by mu, the same in every round."""

    eta: float
    delta: float
    mu: float

    def check(self) -> None:
        check_positive(eta=self.eta)
        check_dual(self.delta, self.mu)

    @property
    def dual(self) -> tuple[float, float] | None:
        return self.delta, self.mu


LARGEST = 1e100  # of a step size: no number of rounds then overflows a logarithm of a weight


def require(law: bool, sentence: str, **values: object) -> None:
    """Raise ValueError, with the law and the values in one sentence, unless the law holds."""
    if not law:
        raise ValueError(f"{sentence}, got " + ", ".join(f"{name}={_text(value)}" for name, value in values.items()))


def _text(value: object) -> str:
    """Return a value in one line."""
    return short_repr(value) if isinstance(value, int) else " ".join(str(value).split())


def check_whole(**values: object) -> None:
    """Check that numbers of actions and rounds are integers of at least 1."""
    for name, value in values.items():
        if type(value) is int and 1 <= value <= LARGEST_WHOLE:  # most values are, and the next test takes long
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
            require(False, f"{name} must be an integer of at least 1", **{name: value})
        elif int(value) > LARGEST_WHOLE:
            require(False, f"{name} must be at most {LARGEST_WHOLE}", **{name: value})


def check_problem(actions: int, horizon: int, floor: object, means: object = None) -> tuple[int, int, Vector]:
    """Return K, T and the floor as a vector, for `tuned`.

    Parameters
    ----------
    actions, horizon, floor
        K, T and c0.
    means
        (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
    """
    check_whole(actions=actions, horizon=horizon)
    c0 = as_floor(floor)
    check_feasible(c0, means, int(actions))
    return int(actions), int(horizon), c0


def check_positive(**values: float) -> None:
    """Check that step sizes are positive and not too large."""
    for name, value in values.items():
        if not 0 < as_real(name, value) <= LARGEST:
            require(False, f"{name} must be positive and at most {LARGEST:g}", **{name: value})


def check_dual(delta: float, mu: float) -> None:
    """Check that delta mu <= 1, so that the multiplier stays between 0 and floor/delta."""
    check_positive(delta=delta, mu=mu)
    require(delta * mu <= 1, "delta*mu must be at most 1", delta=delta, mu=mu)


def check_gamma(gamma: float) -> None:
    """Check the share of uniform exploration."""
    require(0 < as_real("gamma", gamma) < 1, "gamma must lie strictly between 0 and 1", gamma=gamma)


def check_epsilon(epsilon: float) -> None:
    """Check the probability with which a bound may fail."""
    require(0 < as_real("epsilon", epsilon) < 1, "epsilon must lie strictly between 0 and 1", epsilon=epsilon)


def check_exponent(b: float) -> None:
    """Check the exponent that trades regret for violation."""
    require(0.5 <= as_real("b", b) < 1, "b must lie in [1/2, 1)", b=b)


def check_delay(delay: float) -> None:
    """Check the largest delay of an answer, in decisions."""
    require(0 <= as_real("delay", delay) <= 1e9, "delay must be a number of decisions from 0 to 1e9", delay=delay)


def check_tuning(learner: type[Learner], tuning: str) -> None:
    """Check that the learner has a tuning of this name."""
    names = list(learner.tunings)
    require(isinstance(tuning, str) and tuning in names, f"tuning must be {' or '.join(map(repr, names))}", tuning=tuning)


def check_feasible(floor: Vector, means: object, actions: int) -> None:
    """Raise ValueError for a floor that no play can meet, if the mean constraints are known."""
    if means is None:
        return
    from lewa.measures.best_play import nearest_floors  # scipy: only where it is needed

    constraints, shape = np.atleast_2d(in_unit("means", means)), (floor.size, actions)
    require(constraints.shape == shape, f"means must have the shape (m, K) = {shape}", means=constraints.shape)
    if (nearest := nearest_floors(constraints, floor)) is not None:
        sentence = f"some play must meet the floor; the nearest feasible floor is {nearest.tolist()}"
        require(False, sentence, floor=floor.tolist())


def per_constraint(name: str, values: object, floor: Vector) -> Vector:
    """Return one number per constraint; a single number stands for all of them."""
    array = as_floats(name, values)
    fits = array.shape in ((), (1,), floor.shape)
    require(fits, f"{name} must be one number, or one per constraint ({floor.size})", **{name: short_repr(values)})
    return np.broadcast_to(array, floor.shape).copy()


def entropy_of(log_weights: Vector, there: Flags) -> float:
    """Return max_i ln(1/p_i) of p = w / sum w over the actions that are there, from ln w.

    >>> entropy_of(np.array([0.0, -2000.0, -5000.0]), np.array([True, True, False]))
    2000.0
    """
    logs = log_weights[there]
    top = float(logs.max())
    return top - float(logs.min()) + float(np.log(np.exp(logs - top).sum()))


def log_actions(actions: int) -> float:
    """Return ln K for a tuning, and ln 2 for K = 1, which keeps the step size positive."""
    return float(np.log(max(actions, 2)))


def _with_checked_sizes(guarantees: Callable[..., tuple[Guarantee, ...]]) -> Callable[..., tuple[Guarantee, ...]]:
    """Reject invalid numbers of actions and rounds before the theorems of a learner use them."""

    @wraps(guarantees)
    def with_checks(self: Learner, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        check_whole(actions=actions, rounds=rounds)
        if not isinstance(setting, Setting):
            raise TypeError(f"setting must be a lewa.Setting, got {short_repr(setting)}")
        return guarantees(self, actions, rounds, checked(setting))

    return with_checks


def _array(name: str, value: object) -> Vector:
    """Return a vector or a matrix as a read-only copy."""
    array = np.array(as_floor(value) if name == "floor" else as_floats(name, value))
    array.setflags(write=False)
    return array
