"""The base class of learners."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast
from warnings import warn

import numpy as np

from lewa.feedback import Bandit as Bandit
from lewa.feedback import FeedbackKind, feedback_kind
from lewa.feedback import Full as Full
from lewa.kernels import field_types, state_type
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Rescaling as Rescaling
from lewa.learners import parameter_checks
from lewa.learners.parameter_checks import check_dual, check_whole
from lewa.learners.parameter_checks import require as require
from lewa.learners.parameters import Count as Count
from lewa.learners.parameters import Flag as Flag
from lewa.learners.parameters import Known as Known
from lewa.learners.parameters import Law as Law
from lewa.learners.parameters import NewAction, change_parameters, check_columns, check_laws
from lewa.learners.parameters import Positive as Positive
from lewa.learners.parameters import Reserves as Reserves
from lewa.learners.parameters import Share as Share
from lewa.learners.parameters import ShareOrAll as ShareOrAll
from lewa.learners.parameters import SpecialAction as SpecialAction
from lewa.learners.parameters import Step as Step
from lewa.learners.problem import Parameters as Parameters
from lewa.learners.problem import Problem as Problem
from lewa.learners.problem import Tune, tuned_help, tuned_parameters, tuned_signature, tunings_of
from lewa.learners.problem import Tuning as Tuning
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting, checked
from lewa.theory.theorems import Flags as Flags
from lewa.theory.theorems import Statements as Statements
from lewa.theory.theorems import Theorems as Theorems
from lewa.theory.theorems import nothing_proved as nothing_proved
from lewa.types import Matrix as Matrix
from lewa.types import Vector as Vector
from lewa.types import cached
from lewa.validation import as_floats, as_floor, as_real, short_repr

ENTRY = 0.02  # the share to which an unknown action falls while it is missing
Saved: TypeAlias = dict[str, Any]  # parameters by name, as JSON has them
Purpose: TypeAlias = Literal["bounds", "practice", "contexts", "policies", "comparison"]
Trial: TypeAlias = tuple[int, int, object, dict[str, Any]]  # K, T, c0 and settings


def trial(actions: int, horizon: int, floor: object, **settings: Any) -> Trial:
    """Return a problem and settings for which the laws in checks/ try a learner."""
    return actions, horizon, floor, settings


USUAL = (trial(3, 200, 0.5), trial(5, 100, (0.4, 0.2)), trial(1, 50, 0.5))


class Learner:
    """The base class of learners. A learner is a frozen dataclass of hyperparameters: floats, vectors, and the floor.

    A learner defines `tunings`, `play`, `learn` and `theorems`. Its state is the named tuple of arrays that annotates `s` in
    `learn`; `play` and `learn` work on it in place, and its first array has one entry per action. Each array is annotated
    with its role, of `lewa.kernels.roles`: what it is at the start, and when an action is added or missing, or units change.
    A state that does not begin with zeros and even weights has a `start`, and parameters that obey laws have a `check`.

    The annotation of `seen` in `learn` is the feedback of the learner, `Full` or `Bandit`. A bandit learner that can draw
    without computing its whole play also has `choose(s, u) -> (action, propensity)`; one without it is dense: its `learn`
    gets the whole play. A learner that charges has no `choose`. A rule allocates nothing and calls only `lewa.kernels`,
    unless `compiled = False`: then it may be any Python. The first line of the docstring appears in lists.

    `purpose` says where a learner is chosen: "bounds" by `lewa.advise` and the goal "proved", where its bound is the least;
    "practice" as the default for its feedback; "contexts" with features, and "policies" with policies, which its theorem is
    about; "comparison" nowhere. The first two are measured beside the boxes of the paper (`make bench`).

    Two learners are equal if they have the same class and equal parameters. Invalid parameters raise ValueError when the
    learner is made.
    """

    floor: Vector  # one number per constraint, each in [0, 1]: the lower bound on its average
    tunings: ClassVar[Mapping[str, Tune | Tuning]] = {}  # by name, the recommended one first
    theorems: ClassVar[Theorems | None] = None  # what is proved about it
    purpose: ClassVar[Purpose] = "bounds"  # what it is chosen for; see below
    trials: ClassVar[Sequence[Trial]] = USUAL  # problems and settings for the laws
    State: ClassVar[Any] = None  # its state, if the annotation of `s` in `learn` does not say so
    feedback: ClassVar[FeedbackKind | None] = None  # if the annotation of `learn` does not determine it
    unbounded: ClassVar[bool] = False  # whether its rule accepts constraints outside [0, 1]
    compiled: ClassVar[bool] = True  # False: its rule is Python that is not compiled
    weighs_propensities: ClassVar[bool] = True  # whether a bandit learner divides by propensities
    all_weights_move: ClassVar[bool] = False  # whether a learner with `choose` changes all weights in a round
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
        if "tunings" in vars(cls):
            cls.tuned = OfClass(_tuned)  # type: ignore[assignment, method-assign]
        if "guarantees" in vars(cls):
            cls.guarantees = _with_checked_sizes(cls.guarantees)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for name, kind in field_types(type(self)).items():
            value = getattr(self, name)
            if kind is not float or type(value) is not float:
                object.__setattr__(self, name, as_real(name, value) if kind is float else _array(name, value))
        check_laws(self)
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

    def replace(self, **changes: object) -> Self:
        """Return a learner like this one with these parameters changed."""
        return type(self)(**{**self.parameters, **changes})

    @classmethod
    def tuned(cls, *sizes: Any, **settings: Any) -> Self:
        """Return the learner with the parameters of its theorem: `tuned(actions, horizon, floor, ...)`.

        A floor is one number, or one number per constraint. The settings are those of the learner's tunings.
        """
        raise NotImplementedError(f"{cls.__name__} has no tuning")

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        """Return a few small (learner, actions) pairs for the laws in checks/: `trials`, tuned."""
        return [(cls.tuned(K, T, floor, **settings), K) for K, T, floor, settings in cls.trials]

    def check(self) -> None:
        """Raise ValueError for invalid parameters. A learner is checked when it is made."""

    def start(self, actions: int) -> Any:
        """Return the state before the first round: zeros and even weights, by the roles of the state's arrays."""
        tree = hasattr(self, "choose") and not self.all_weights_move
        return first_state(state_type(type(self)), *sizes_of(self, actions), tree=tree)

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
        """Return the guarantees in this setting, the best first; if there is no bound, the reason.

        Nothing at all is returned where no theorem is about such a setting: late answers, or a start of a running learner.
        """
        if self.theorems is None:
            raise NotImplementedError(f"{type(self).__name__} has no theorems")
        return self.theorems.state(self, actions, rounds, setting)

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
    def parent(self) -> "Learner | None":
        """The learner that this one equals if every floor is 0: EWA, for full information and a step; else None."""
        from lewa.learners.paper.ewa import Ewa  # which is a learner itself, and imports this file

        if feedback_kind(type(self)) != "full" or field_types(type(self)).get("eta") is not float:
            return None
        return Ewa(self.parameters["eta"], self.floor)

    def extended(self, like: int | None, expected: Mapping[int, float]) -> Self:
        """Return the learner with one more action, the last, which is like action `like` or has these expected values.

        `expected` has the reward at 0 and the constraints from 1 on, if they are known.
        """
        new = NewAction(like, expected)
        return change_parameters(self, lambda role, value: role.extend(value, self.floor, new))

    def changed(self, s: Any, floor: Vector, units: Rescaling | None) -> tuple[Self, Any]:
        """Return the learner and its state with other floors; the state is a copy, already in the units of a constraint.

        A learner whose other parameters depend on the floors or on units changes them here.

        Parameters
        ----------
        s
            The state.
        floor
            The floors from now on.
        units
            The other units of a constraint, if its range changes.
        """
        return self.replace(floor=floor), s

    def rescale_charged(self, charged: Vector, units: Rescaling) -> None:
        """Write what was charged at a draw in other units of a constraint, in place."""
        j = units.j
        charged[j] = charged[j] / units.ratio if self.quotes_prices else units.cost(charged[j])

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Return the parameters that an earlier version saved in the form of this version."""
        return plain


def sizes_of(learner: Learner, actions: int) -> tuple[int, int]:
    """Return K and m, the numbers of actions and of constraints; raise ValueError for an invalid K."""
    check_whole(actions=actions)
    check_columns(learner, int(actions))
    return int(actions), learner.floor.size


class Dual:
    """The multiplier of a learner shrinks by delta and steps by mu, the same in every round."""

    delta: Step
    mu: Step

    def check(self) -> None:
        check_dual(self.delta, self.mu)

    @property
    def dual(self) -> tuple[float, float] | None:
        return self.delta, self.mu


@dataclass(frozen=True)
class PrimalDual(Dual, Learner):
    """A learner with such a multiplier and a step eta."""

    eta: Step
    delta: Step
    mu: Step


class OfClass:
    """A method of a class, made once for each class by a function of the class."""

    def __init__(self, make: Callable[[Any], Callable[..., Any]]) -> None:
        self.make = cached(make)

    def __get__(self, learner: object, kind: type) -> Callable[..., Any]:
        return self.make(kind)


def _tuned(kind: Any) -> Callable[..., Learner]:
    """Return `tuned` of a class, with the signature and the help that follow from its tunings."""
    fields = tuple(field_types(kind))

    def tuned(actions: int, horizon: int, floor: object, **settings: object) -> Learner:
        learner: Learner = kind(**tuned_parameters(kind.__name__, tunings, fields, (actions, horizon, floor), settings))
        sizes_of(learner, actions)  # raises ValueError for a parameter that belongs to other actions
        return learner

    tunings, form = tunings_of(kind), cast(Any, tuned)
    form.__signature__ = tuned_signature(tunings, fields)
    form.__doc__, form.__qualname__ = tuned_help(tunings, form.__signature__), f"{kind.__qualname__}.tuned"
    return tuned


def entropy_of(log_weights: Vector, there: Flags) -> float:
    """Return max_i ln(1/p_i) of p = w / sum w over the actions that are there, from ln w.

    >>> entropy_of(np.array([0.0, -2000.0, -5000.0]), np.array([True, True, False]))
    2000.0
    """
    logs = log_weights[there]
    top = float(logs.max())
    return top - float(logs.min()) + float(np.log(np.exp(logs - top).sum()))


def _with_checked_sizes(guarantees: Callable[..., tuple[Guarantee, ...]]) -> Callable[..., tuple[Guarantee, ...]]:
    """Reject invalid numbers of actions and rounds before the theorems of a learner use them.

    A learner that has a method of its own instead of `theorems` says nothing about late answers or a later start.
    """

    @wraps(guarantees)
    def with_checks(self: Learner, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        check_whole(actions=actions, rounds=rounds)
        if not isinstance(setting, Setting):
            raise TypeError(f"setting must be a lewa.Setting, got {short_repr(setting)}")
        if self.theorems is None and (setting.delays is not None or setting.start is not None):
            return ()
        return guarantees(self, actions, rounds, checked(setting))

    return with_checks


Learner.guarantees = _with_checked_sizes(Learner.guarantees)  # type: ignore[method-assign]


def _array(name: str, value: object) -> Vector:
    """Return a vector or a matrix as a read-only copy."""
    array = np.array(as_floor(value) if name == "floor" else as_floats(name, value))
    array.setflags(write=False)
    return array


def __getattr__(name: str) -> object:
    """Return a check of parameters from its new place, for learners of users; this module had them until version 0.2."""
    if name.startswith("check_") and hasattr(parameter_checks, name):
        warn(f"import {name} from lewa.learners.parameter_checks", DeprecationWarning, stacklevel=2)
        return getattr(parameter_checks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
