"""Find, describe and make learners by name."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from functools import partial
from inspect import Parameter, signature
from numbers import Real
from typing import Any, get_args

from lewa.feedback import feedback_kind
from lewa.kernels import field_types, state_type
from lewa.learners.base import Learner, Purpose
from lewa.learners.problem import refuse_removed, tunings_of
from lewa.learners.registry import ALIASES, ALL, REMOVED, WRAPPERS
from lewa.learners.wrappers.wrapper import Wrapper
from lewa.plugins import LEARNERS, announced, find_class
from lewa.types import cached
from lewa.validation import nearest, short_repr

RULE = ("play", "learn")  # what a learner has to define, besides `theorems` or `guarantees`


def names() -> list[str]:
    """Return the names of all learners: those in `ALL`, NAME@TUNING for named tunings, and those of installed packages."""
    plain = {name: kind for name, kind in ALL.items() if "@" not in name}
    tunings = [f"{name}@{tuning}" for name, kind in plain.items() for tuning, its in tunings_of(kind).items() if its.about]
    return list(dict.fromkeys([*ALL, *tunings, *announced(LEARNERS)]))


def chosen_for(purpose: Purpose, feedback: str) -> list[str]:
    """Return the names of the learners that declare this purpose, those of installed packages last.

    Named tunings are left out, and so are learners of packages that cannot be imported.
    """
    kinds = {name: kind for name, kind in ALL.items() if "@" not in name}
    for name in announced(LEARNERS):
        with suppress(ValueError):
            kinds.setdefault(name, find(name))
    return [name for name, kind in kinds.items() if kind.purpose == purpose and feedback_kind(kind).observes == feedback]


def first_choice(purpose: Purpose, feedback: str, horizon: int | None) -> str:
    """Return the first learner with this purpose; without a horizon, the first that needs none."""
    return next(name for name in chosen_for(purpose, feedback) if horizon is not None or not needs_horizon(name))


def needs_horizon(name: str) -> bool:
    """Return whether the tuning of a learner depends on the number of rounds."""
    return make(name, 3, 1000, 0.5) != make(name, 3, 1_000_000, 0.5)


def find(name: str) -> type[Learner]:
    """Return the class of that name.

    A name is a key of `ALL`, an entry point of another package (group `lewa.learners`), or MODULE:CLASS. NAME@TUNING is one
    of NAME's tunings, and NAME+WRAPPER runs NAME inside a wrapper.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"the name of a learner must be a string in lewa.learners.ALL or MODULE:CLASS, got {short_repr(name)}"
        )
    name = _current(name)
    inside, plus, wrapper = name.rpartition("+")
    if plus and wrapper in WRAPPERS:
        return WRAPPERS[wrapper].of(find(inside))
    if name in ALL:
        return ALL[name]
    base, at, tuning = name.partition("@")
    kind = ALL.get(base) or _from_outside(base)
    if kind is not None and (not at or tuning in kind.tunings):
        return kind
    if base in REMOVED:
        raise ValueError(f"the learner {base} was removed in 0.3.0; use {REMOVED[base]} instead")
    words = [f"{inside}+{wrapper}" for wrapper in WRAPPERS] if plus else names()
    raise ValueError(f"unknown learner {name!r}{nearest(name, words)}")


def _current(name: str) -> str:
    return ALIASES[name].name if name in ALIASES else name


def _from_outside(name: str) -> type[Learner] | None:
    kind = find_class(name, LEARNERS)
    if kind is not None:
        examine(kind, name)
    return kind  # type: ignore[no-any-return]


def examine(kind: object, name: str) -> None:
    """Raise ValueError, with the name, unless the class is a learner with all parts that the engine needs."""
    if not (isinstance(kind, type) and issubclass(kind, Learner)):
        raise ValueError(f"the learner {name} must be a subclass of lewa.learners.Learner, got {short_repr(kind)}")
    if not is_dataclass(kind):
        raise ValueError(f"the learner {name} must be a dataclass: write @dataclass(frozen=True) above the class")
    missing = [method for method in RULE if getattr(kind, method) == getattr(Learner, method)]
    if kind.theorems is None and kind.guarantees == Learner.guarantees:
        missing.append("theorems")
    if kind.purpose not in get_args(Purpose):
        law = ", ".join(map(repr, get_args(Purpose)))
        raise ValueError(f"the purpose of the learner {name} must be one of {law}, got {short_repr(kind.purpose)}")
    if missing:
        raise ValueError(f"the learner {name} must define {', '.join(missing)}")
    try:
        feedback_kind(kind)
        for record in (kind, state_type(kind)):
            field_types(record)
    except (TypeError, ValueError) as error:  # an annotation that is missing, or names nothing
        raise ValueError(f"the learner {name} cannot be used: {error}") from None


def about(name: str) -> str:
    """Return the one-line description of the learner of that name."""
    kind, tuning = find(name), _tuning(name)
    return tunings_of(kind)[tuning].about if tuning else (kind.__doc__ or "").strip().splitlines()[0]


def make(name: str, actions: int, horizon: int, floor: object, **settings: Any) -> Learner:
    """Return a tuned learner by name.

    Parameters
    ----------
    name
        The name of a learner, NAME@TUNING, NAME+WRAPPER, or MODULE:CLASS.
    actions
        K, the number of actions.
    horizon
        T, the number of rounds.
    floor
        c0, one number per constraint.
    **settings
        Arguments of `tuned`, or parameters that replace the tuned ones. A wrapper passes the settings that it does not have
        to the inner learner.
    """
    kind, known = find(name), settings_of(name)
    arguments = _arguments(find(name.partition("+")[0]))
    tuned_as = settings.get("tuning")
    if isinstance(tuned_as, str) and tuned_as == "recommended" and "tuning" not in arguments:
        del settings["tuning"]  # it is the only one
    for setting, value in settings.items():
        if setting not in known:
            refuse_removed(setting)
            raise ValueError(f"{name} has no parameter {setting!r}{nearest(setting, known)}")
        if setting not in ("tuning", "means", "rewards", "known") and not isinstance(value, Real):
            raise ValueError(f"{setting} must be a number, got {short_repr(value)}")
    if issubclass(kind, Wrapper):
        return kind.made_by(partial(make, name.rpartition("+")[0]), actions, horizon, floor, **settings)
    if tuning := _tuning(name):
        settings["tuning"] = tuning
    learner = kind.tuned(actions, horizon, floor, **{k: v for k, v in settings.items() if k in arguments})
    others = {k: v for k, v in settings.items() if k not in arguments}
    return learner.replace(**others) if others else learner


def settings_in_context(name: str, features: int, policies: int = 0) -> dict[str, int]:
    """Return the settings with which a learner uses contexts of this many features, or the advice of policies.

    There are none without contexts, and for a learner that cannot use them. Advice does not count as features: its squares
    sum to the number of policies, while the theorems on features assume at most 2.
    """
    known = settings_of(name) if features else []
    if policies:
        return {"policies": policies} if "policies" in known else {}
    return {"features": features} if "features" in known else {}


def check_looks_at_features(name: str) -> None:
    """Raise ValueError, with the names of suitable learners, for a learner that does not use the features of a context."""
    if "features" not in settings_of(name):
        able = ", ".join(each for each in names() if "features" in settings_of(each))
        raise ValueError(f"{name} does not use a context; these do: {able}")


def settings_of(name: str) -> list[str]:
    """Return the names of all settings: the arguments of the tuning, the parameters, and those of an inner learner."""
    kind, (inside, plus, _) = find(name), name.rpartition("+")
    return list(_settings(kind, tuple(settings_of(inside)) if plus else None, _tuning(name)))


@cached
def _settings(kind: type[Learner], inside: tuple[str, ...] | None, tuning: str) -> tuple[str, ...]:
    arguments = _arguments(kind).values()
    known = {argument.name for argument in arguments if argument.kind is not argument.VAR_KEYWORD}
    known |= set(field_types(kind) if inside is None else inside)
    if tuning:
        known -= {"tuning", *tunings_of(kind)[tuning].fixes}
    return tuple(sorted(known - {"actions", "horizon", "floor"}))


@cached  # reading them takes longer than making the learner
def _arguments(kind: type[Learner]) -> Mapping[str, Parameter]:
    """Return the arguments of a learner's tuning."""
    return signature(kind.tuned).parameters


def _tuning(name: str) -> str:
    """Return the tuning that a name asks for, or nothing if NAME@printed is another rule, which is a separate class."""
    base, _, tuning = _current(name).partition("@")
    return tuning if tuning and "+" not in name and find(name) is find(base) else ""
