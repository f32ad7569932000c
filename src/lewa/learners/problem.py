"""The problem that a learner is tuned for, and the settings of tunings: each is checked and documented here, once.

A tuning is a function that takes a `Problem`, and settings with defaults, and returns the parameters by name. The table
`tunings` of a learner has them by name, and `Learner.tuned` is made from this table.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, Self, TypeAlias

from lewa.learners.parameter_checks import (
    check_delay,
    check_exponent,
    check_least_share,
    check_problem,
    check_share,
    check_step,
    log_actions,
    require,
)
from lewa.types import Vector
from lewa.validation import as_count, as_real, nearest

Parameters: TypeAlias = Mapping[str, object]  # by name, without the floor
Tune: TypeAlias = Callable[..., Parameters]


@dataclass(frozen=True)
class Problem:
    """K actions, T rounds, and one floor per constraint, after checks."""

    actions: int
    horizon: int
    floor: Vector

    @classmethod
    def of(cls, actions: int, horizon: int, floor: object, means: object = None) -> Self:
        """Return the problem; raise ValueError for sizes or floors that are none, and floors that `means` cannot meet."""
        return cls(*check_problem(actions, horizon, floor, means))

    @property
    def K(self) -> int:
        """The number of actions."""
        return self.actions

    @property
    def T(self) -> int:
        """The number of rounds."""
        return self.horizon

    @property
    def m(self) -> int:
        """The number of constraints."""
        return self.floor.size

    @property
    def ln_K(self) -> float:
        """The logarithm of K, of 2 if K = 1, which keeps steps positive."""
        return log_actions(self.actions)


class Tuning(NamedTuple):
    """A named tuning of a learner."""

    parameters: Tune
    about: str = ""  # one line for lists, in which NAME@TUNING is a learner of its own
    fixes: tuple[str, ...] = ()  # the parameters that nothing may replace

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that the tuning takes, with their defaults."""
        return _settings(self.parameters)


@cache
def _settings(tune: Tune) -> dict[str, object]:
    return {setting.name: setting.default for setting in list(signature(tune).parameters.values())[1:]}


def tunings_of(learner: Any) -> dict[str, Tuning]:
    """Return the tunings of a class of learners by name, the recommended one first."""
    return {name: tuning if isinstance(tuning, Tuning) else Tuning(tuning) for name, tuning in learner.tunings.items()}


class TuningSetting(NamedTuple):
    """A setting of tunings: what it is, and its check."""

    about: str
    check: Callable[[str, Any], object] | None = None  # of its name and its value


REPLACES = "A value in place of the tuned one."
SETTINGS = {
    "tuning": TuningSetting("The tuning, by name."),
    "means": TuningSetting(
        "(m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError."
    ),
    "rewards": TuningSetting("(K,) The expected rewards, if they are known. Known values are the prior."),
    "known": TuningSetting(
        "(m, K) The constraints that are known before the draw, -1 where they are learned; None if all are learned."
    ),
    "b": TuningSetting("The exponent in [1/2, 1) that trades regret for violation.", check_exponent),
    "epsilon": TuningSetting(
        "The probability with which the bounds may fail; None for bounds on expectations.", check_share
    ),
    "delay": TuningSetting("The most decisions by which answers are expected to be late.", check_delay),
    "gamma": TuningSetting("The share of exploration, in place of the tuned one.", check_share),
    "delta": TuningSetting(REPLACES, check_step),
    "kappa": TuningSetting("The share of its radius by which each estimate is relaxed.", as_real),
    "share": TuningSetting("The smallest share of an action; None for 0 if kappa = 1, else 1/T.", check_least_share),
    "corruption": TuningSetting("The total corruption of the constraints that the estimates allow for.", as_real),
    "optimism": TuningSetting("1 to relax the estimates by their radius, 0 not to.", as_real),
    "explore": TuningSetting("How long the learner explores; None for the tuned value.", as_real),
    "safe": TuningSetting("The index of an action that is known to be safe; -1 if there is none.", as_real),
    "margin": TuningSetting("The amount by which the safe action exceeds every floor.", as_real),
    "features": TuningSetting("d, the number of features of a context; 0 without a context.", partial(as_count, least=0)),
    "policies": TuningSetting("P, the number of the user's policies.", partial(as_count, least=0)),
    "ridge": TuningSetting(
        "The penalty of each feature but the constant; smaller if many features together explain the rewards.",
        check_step,
    ),
    "penalty": TuningSetting("The penalty per unit of shortfall, one number or one per constraint."),
    "reserve": TuningSetting("1 to count each decision at the `means` of its action until its answer comes, else 0."),
    "first": TuningSetting("The number of rounds of the first epoch."),
    "slack": TuningSetting("The amount by which floors are raised; None for the smallest that is proved to be enough."),
    "debt": TuningSetting("The bound on the debt of each constraint; None for the tuned value."),
    "cap_action": TuningSetting("An action that exceeds every floor by `cap_slack` in every round; -1 if there is none."),
    "cap_slack": TuningSetting("The slack of `cap_action`: prices are capped at 1/cap_slack."),
}
# Settings of earlier versions, and what to use instead.
REMOVED_SETTINGS = {"any_arrivals": "use late-loss-lewa, which needs a horizon, or learn='close' of an agent"}
SIZES = ("actions", "horizon", "floor")


def refuse_removed(setting: str) -> None:
    """Raise ValueError, with what to use instead, for a setting of an earlier version."""
    if setting in REMOVED_SETTINGS:
        raise ValueError(f"the setting {setting} was removed in 0.3.0: {REMOVED_SETTINGS[setting]}")


def tuned_parameters(
    name: str,
    tunings: Mapping[str, Tuning],
    fields: tuple[str, ...],
    sizes: tuple[int, int, object],
    chosen: dict[str, object],
) -> dict[str, object]:
    """Return the parameters of a learner for a problem K, T and c0, the floor among them.

    None stands for a setting that was not chosen. A chosen parameter that the tuning does not take replaces the tuned one.
    """
    chosen = {key: value for key, value in chosen.items() if value is not None}
    tuning = tunings[checked_tuning(tunings, chosen.pop("tuning", next(iter(tunings))))]
    problem, takes = Problem.of(*sizes, chosen.get("means")), tuning.settings
    others = {key: value for key, value in chosen.items() if key not in takes and key != "means"}
    for key in others:
        if key not in fields or key in ("floor", *tuning.fixes):
            refuse_removed(key)
            known = sorted({*takes, *fields, "means"} - {"floor", *tuning.fixes})
            raise ValueError(f"{name} has no setting {key!r} here{nearest(key, known)}")
    taken = {key: value for key, value in chosen.items() if key in takes}
    for key, value in taken.items():
        rule = SETTINGS.get(key)
        if rule is not None and rule.check is not None:
            rule.check(key, value)
    return {**tuning.parameters(problem, **taken), "floor": problem.floor, **others}


def checked_tuning(tunings: Mapping[str, Tuning], tuning: object) -> str:
    """Return the name of a tuning; raise ValueError for another one."""
    names = list(tunings)
    require(isinstance(tuning, str) and tuning in names, f"tuning must be {' or '.join(map(repr, names))}", tuning=tuning)
    return str(tuning)


def tuned_signature(tunings: Mapping[str, Tuning], fields: tuple[str, ...]) -> Signature:
    """Return the signature of `tuned`: the sizes, the settings of all tunings, and the parameters that may be replaced."""
    settings: dict[str, object] = {"tuning": next(iter(tunings))} if len(tunings) > 1 else {}
    for tuning in tunings.values():
        settings = {**settings, **{key: default for key, default in tuning.settings.items() if key not in settings}}
    settings = {**settings, **{key: None for key in ("means", *fields) if key not in settings and key != "floor"}}
    sizes = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD) for key in SIZES]
    return Signature(sizes + [Parameter(key, Parameter.KEYWORD_ONLY, default=value) for key, value in settings.items()])


def tuned_help(tunings: Mapping[str, Tuning], form: Signature) -> str:
    """Return the docstring of `tuned`: what each tuning sets, and each setting."""
    about = [f"    {key}\n        {tuning.parameters.__doc__ or ''}".rstrip() for key, tuning in tunings.items()]
    tunings_part = "\n".join(("Return the tuned learner.\n\n    Tunings\n    -------", *about))
    return f"{tunings_part}\n\n{settings_help(key for key in form.parameters if key not in SIZES)}"


def settings_help(names: Iterable[str]) -> str:
    """Return the section of a docstring that describes the sizes and these settings."""
    settings = [f"    {key}\n        {SETTINGS[key].about if key in SETTINGS else REPLACES}" for key in names]
    head = "    Parameters\n    ----------\n    actions, horizon, floor\n        K, T and c0: one floor per constraint."
    return "\n".join((head, *settings))
