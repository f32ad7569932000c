"""The setup of an agent: actions, constraints, learner, and the rule for unanswered decisions."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import cast

import numpy as np

from lewa.agent import constraint as constraints_
from lewa.agent.arguments import (
    as_actions,
    as_constraints,
    as_expected,
    as_horizon,
    as_learning_time,
    as_policy,
    check_field,
)
from lewa.agent.breaker import USUAL, Breaker, as_breaker
from lewa.agent.constraint import Constraint
from lewa.agent.context.features import check_contextual, mixing_learner
from lewa.agent.options import LearnerOptions
from lewa.agent.records import JsonObject, Label, Plain
from lewa.choice import FEEDBACK, choose_for_late_answers, choose_learner, least_bound_beside
from lewa.context import Context, as_context
from lewa.engine.session import Session
from lewa.feedback import feedback_kind
from lewa.kernels import dump, load, pack
from lewa.learners import ALIASES, find, first_choice, make, settings_of
from lewa.learners.base import Learner
from lewa.learners.contexts.proved_squarecb_lewa import all_learned
from lewa.learners.parameters import NO_ACTION
from lewa.learners.squarecb_lewa import RegressorSquareCbLewa, WidthSquareCbLewa
from lewa.measures.best_play import nearest_floors
from lewa.plugins import LEARNERS, source_stamp
from lewa.types import Matrix
from lewa.units import Scale, as_range
from lewa.validation import LARGEST_WHOLE, as_count, is_unicode, short_repr


@dataclass(frozen=True)
class Setup:
    """The setup of an agent; checked when constructed, and the same before and after a save."""

    actions: tuple[Label, ...]
    constraints: tuple[Constraint, ...]
    reward_range: tuple[float, float]
    horizon: int | None
    learner_name: str
    learner: Learner
    seed: int
    max_open: int
    close_after: int | None
    unanswered: dict[str, float] | None  # None: such decisions are left out; else filled in, some by these values
    expected: dict[str, tuple[float, ...]]
    agent_name: str | None = None  # that its decisions carry
    context: Context | None = None  # the columns that are known of each request
    policies: tuple[str, ...] = ()  # the names of those that give advice
    keep_context: bool = False  # whether decisions record the context as it was given
    learns_at_close: bool = False  # whole answers wait for the close of their decision
    regressor: str | None = None  # the class of those that predict in the place of a ridge
    epsilon: float | None = None  # that the user set: the bound that holds with probability 1 - epsilon is asked for
    # The versions of the learner's source so far, if it is the user's, or of a rule that has changed; the last is used.
    sources: tuple[str, ...] = ()
    breaker: Breaker | None = USUAL  # which lets actions that fail rest; None if there is none

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, Integral) or self.seed < 0:
            raise ValueError(f"seed must be an integer of at least 0, got {short_repr(self.seed)}")
        if self.agent_name is not None and not (isinstance(self.agent_name, str) and self.agent_name):
            raise ValueError(
                f"the name of an agent must be a text of at least one letter, got {short_repr(self.agent_name)}"
            )
        if self.agent_name is not None and not is_unicode(self.agent_name):
            raise ValueError(f"the name of an agent must be valid Unicode, got {short_repr(self.agent_name)}")
        close_after = None if self.close_after is None else as_count("close_after", self.close_after)
        if self.learns_at_close and close_after is None:
            raise ValueError(
                "learn='close' needs close_after, the number of decisions after which one is closed, got close_after=None"
            )
        for name, value in {
            "reward_range": as_range("the reward", self.reward_range),
            "seed": int(self.seed),
            "max_open": as_count("max_open", self.max_open),
            "close_after": close_after,
        }.items():
            object.__setattr__(self, name, value)

    @cached_property
    def places(self) -> dict[Label, int]:
        """Return the place of each action, by its label."""
        return {label: i for i, label in enumerate(self.actions)}

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the values that an answer consists of."""
        return field_names(self.constraints)

    @property
    def scales(self) -> list[Scale]:
        """Return how the value of each field becomes a unit of [0, 1]."""
        low, high = self.reward_range
        return [Scale(low, high - low), *(constraint.scale for constraint in self.constraints)]

    def prior_units(self) -> Matrix:
        """Return the unit assumed for each field and action while nothing was seen: the expected one, or the worst."""
        units = np.zeros((len(self.fields), len(self.actions)))
        for f, (name, scale) in enumerate(zip(self.fields, self.scales, strict=True)):
            units[f] = [clipped_unit(scale, value) for value in self.expected.get(name, ())] or 0.0
        return units

    def least_bound(self) -> str:
        """Return the name of the learner with the smallest proved bound if measurements chose the learner, else nothing."""
        feedback, features = feedback_kind(type(self.learner)).observes, 0 if self.context is None else self.context.size
        numbers = (len(self.actions), self.horizon, self.learner.floor.tolist())
        proved = least_bound_beside(self.learner_name, feedback, *numbers, restarts=False, features=features)
        return "" if proved is None else proved.called

    def describe_learner(self, governed: bool = False) -> str:
        """Return the learner, its context, and the learner with the smallest bound if nothing is proved about it."""
        text = self.learner_name + ("" if self.context is None else f", {self.context.size} features")
        text += f", {self.regressor}" if self.regressor else f", {len(self.policies)} policies" if self.policies else ""
        least = self.least_bound()
        what = "governed, nothing proved about regret" if governed else "nothing proved"
        return text + (f" ({what}; {least} has the least bound)" if least else "")

    def plain(self) -> JsonObject:
        """Return the setup as plain data for JSON, by the names of version 1."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["lines"] = [constraints_.to_plain(constraint) for constraint in plain.pop("constraints")]
        plain["name"] = plain.pop("learner_name")
        plain["max_pending"], plain["expire_after"] = plain.pop("max_open"), plain.pop("close_after")
        if (name := plain.pop("agent_name")) is not None:
            plain["agent"] = name
        if (context := plain.pop("context")) is not None:
            plain["context"] = context.plain()
        if not plain["policies"]:
            del plain["policies"]
        if not plain["keep_context"]:
            del plain["keep_context"]
        if plain.pop("learns_at_close"):
            plain["learn"] = "close"
        for name in ("regressor", "epsilon"):
            if plain[name] is None:
                del plain[name]
        if not plain["sources"]:
            del plain["sources"]
        if (breaker := plain.pop("breaker")) != USUAL:
            plain["breaker"] = breaker and breaker.plain()
        if isinstance(self.learner, WidthSquareCbLewa):
            plain["widths"] = True
        return {**plain, "learner": dump(self.learner)}


def from_plain(plain: Plain) -> Setup:
    """Return the setup that `Setup.plain` wrote."""
    actions = as_actions(plain["actions"])
    columns = as_context(plain["context"], most=LARGEST_WHOLE) if "context" in plain else None
    constraints = as_constraints([constraints_.from_plain(**line) for line in plain["lines"]], columns)
    names, policy = field_names(constraints), plain["unanswered"]
    by_regressor = WidthSquareCbLewa if plain.get("widths") is True else RegressorSquareCbLewa
    kind = find(plain["name"]) if plain.get("regressor") is None else by_regressor
    lacking = ALIASES[plain["name"]].parameters if plain["name"] in ALIASES else {}
    learner = load(kind, {**lacking, **all_learned(kind, plain["learner"], len(actions))})
    check_floor(learner, constraints)
    return Setup(
        actions=actions,
        constraints=constraints,
        reward_range=plain["reward_range"],
        horizon=as_horizon(plain["horizon"]),
        learner_name=plain["name"],
        learner=learner,
        seed=plain["seed"],
        max_open=plain["max_pending"],
        close_after=plain["expire_after"],
        unanswered=as_policy("expire" if policy is None else policy, names),
        expected=as_expected(plain["expected"], names, actions),
        agent_name=plain.get("agent"),
        context=columns,
        policies=tuple(plain.get("policies", ())),
        keep_context=plain.get("keep_context") is True,
        learns_at_close=as_learning_time(plain.get("learn", "answer")),
        regressor=plain.get("regressor"),
        epsilon=plain.get("epsilon"),
        sources=source_versions(plain["name"], tuple(map(str, plain.get("sources", ())))),
        breaker=as_breaker(plain["breaker"]) if "breaker" in plain else USUAL,
    )


def source_versions(learner: str, before: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the versions of the source of a user's learner: the earlier ones, and the current one."""
    here = source_stamp(learner, LEARNERS)
    if here is None or (before and before[-1] == here):
        return before
    if before:
        warnings.warn(mixed_sources(learner, (*before, here)), stacklevel=4)
    return (*before, here)


def mixed_sources(learner: str, versions: Sequence[str]) -> str:
    """Return in a sentence that more than one version of a learner's source, or of its rule, has been used."""
    what, how = ("source", "was edited") if source_stamp(learner, LEARNERS) is not None else ("rule", "has changed")
    return (
        f"the {what} of {learner} {how} (version {versions[-2]}, now {versions[-1]}): this agent continues with the "
        "new rule, and its journal does not replay bit for bit"
    )


def check_floor(learner: Learner, constraints: Sequence[Constraint]) -> None:
    """Raise ValueError if the limits differ from the learner's floors."""
    floors = [constraint.floor for constraint in constraints]
    if learner.floor.size != len(floors):
        raise ValueError(f"the learner has {learner.floor.size} constraints, got {len(floors)}")
    for constraint, floor, unit in zip(constraints, learner.floor.tolist(), floors, strict=True):
        if abs(floor - unit) > 1e-12:
            limit = constraint._replace(limit=float(f"{constraint.scale.to_user(floor):.12g}"))
            raise ValueError(
                f"the learner is set to {limit}, got {constraint}: use set_limit to change it while the agent runs"
            )


def field_names(constraints: Iterable[Constraint]) -> tuple[str, ...]:
    """Return the names of the values that an answer consists of."""
    return ("reward", *(constraint.name for constraint in constraints))


def field_index(setup: Setup, name: str) -> int:
    """Return the place of a value in an answer, by its name."""
    return setup.fields.index(check_field(name, setup.fields))


def clipped_unit(scale: Scale, value: float) -> float:
    """Return the unit of a value, clipped to [0, 1]."""
    return min(max(scale.unit(value), 0.0), 1.0)


def make_learner(
    wish: LearnerOptions,
    sizes: tuple[int, int, int],
    horizon: int | None,
    constraints: Sequence[Constraint],
    prior: Mapping[str, object],
) -> tuple[str, Learner]:
    """Return the name of the learner, chosen if it is "auto", and the learner tuned.

    `sizes` are the numbers of actions, features and policies; `prior` has the expected values of each action, for a learner
    whose tuning uses them.
    """
    name, kind, goal, settings = wish.name, wish.feedback, wish.goal, wish.settings
    actions, features, policies = sizes
    feedback = "bandit" if kind is None else kind
    floor = [constraint.floor for constraint in constraints]
    if not isinstance(feedback, str) or feedback not in FEEDBACK:
        raise ValueError(f"feedback must be 'bandit' or 'full', got {short_repr(feedback)}")
    if not isinstance(name, str):
        raise ValueError(f"learner must be a name in lewa.learners.ALL, or 'auto', got {short_repr(name)}")
    if settings is not None and not isinstance(settings, Mapping):
        raise ValueError(f"settings must be a mapping of names to values, got {short_repr(settings)}")
    options: dict[str, object] = dict(settings or {})
    if not all(isinstance(key, str) for key in options):
        raise ValueError(f"settings must be a mapping of names to values, got {short_repr(settings)}")
    if policies:
        name, options["policies"] = mixing_learner(name, feedback, horizon), policies
    elif name == "auto" and goal == "proved" and "delay" in options and not features:
        delay = cast(int, options.pop("delay"))
        choice = choose_for_late_answers(feedback, actions, horizon, floor, delay, options)
        name, options = choice.name, {**choice.settings, **options}
    elif name == "auto":
        choice = choose_learner(feedback, actions, horizon, floor, goal, restarts=False, features=features)
        name, options = choice.name, {**choice.settings, **options}
    sees = feedback_kind(find(name)).observes
    if kind not in (None, sees):
        raise ValueError(f"{name} needs feedback={sees!r}, got feedback={kind!r}")
    if features:
        options["features"] = check_contextual(name, feedback, features)
    known = settings_of(name)
    used = list(prior) if "rewards" in known else ["means"] if "reserve" in known and options.get("reserve") else []
    options = {**{key: value for key, value in prior.items() if key in used}, **options}
    if horizon is not None:
        return name, check_rule(name, make(name, actions, horizon, floor, **options), actions)
    short, long = (make(name, actions, rounds, floor, **options) for rounds in (1000, 1_000_000))
    if pack(short).tobytes() != pack(long).tobytes():
        anytime = first_choice("policies" if policies else "contexts" if features else "bounds", sees, None)
        raise ValueError(f"{name} needs horizon, the number of rounds, got horizon=None; {anytime} needs none")
    return name, check_rule(name, short, actions)


def check_rule(name: str, learner: Learner, actions: int) -> Learner:
    """Return the learner; raise ValueError if it has no effect, or is from outside and does not compile."""
    check_effect(name, learner)
    if learner.compiled and not type(learner).__module__.startswith("lewa."):
        Session(learner, actions).rehearse()
    return learner


def check_goal(goal: object, learner: str) -> None:
    """Raise ValueError for a goal that there is not, or that has no effect."""
    if not isinstance(goal, str):
        raise ValueError(f"goal must be 'practice' or 'proved', got {short_repr(goal)}")
    if goal != "practice" and learner != "auto":
        raise ValueError(f"goal needs learner='auto', got goal={short_repr(goal)} and learner={short_repr(learner)}")


def check_effect(name: str, learner: Learner) -> Learner:
    """Return the learner; raise ValueError for a learner that needs a safe action and has none."""
    if getattr(learner, "safe", 0.0) < 0:
        wish = "settings={'safe': the index of an action, 'margin': the amount by which it exceeds every floor}"
        raise ValueError(f"{name} needs an action that is known to be safe: pass {wish}")
    return learner


def tuning_prior(
    constraints: Sequence[Constraint],
    reward_range: tuple[float, float],
    expected: Mapping[str, tuple[float, ...]],
    actions: Sequence[Label],
) -> dict[str, object]:
    """Return the expected values of each action in the learner's units, as settings of a tuning that uses them."""
    if not expected:
        return {}
    low, high = as_range("the reward", reward_range)
    scales = {"reward": Scale(low, high - low), **{item.name: item.scale for item in constraints}}
    for name, values in expected.items():
        for action, value in zip(actions, values, strict=True):
            refuse_outside(name, action, value, scales[name])
    units = {name: [clipped_unit(scales[name], value) for value in values] for name, values in expected.items()}
    means = [units.get(item.name, [item.floor] * len(actions)) for item in constraints]
    return {"rewards": units.get("reward", [0.5] * len(actions)), "means": means}


ROUNDING = 1e-9  # by which the end of a range may differ in units of the range


def refuse_outside(name: str, action: Label, value: float, scale: Scale) -> None:
    """Raise ValueError for an expected value outside its range: the learner would start from the end of the range."""
    if abs(scale.unit(value) - 0.5) > 0.5 + ROUNDING:
        low, high = sorted((scale.to_user(0.0), scale.to_user(1.0)))
        raise ValueError(
            f"the expected {name} must lie in its range ({low:g}, {high:g}), got {value:g} for action {action!r}"
        )


def refuse_infeasible(constraints: Sequence[Constraint], expected: Mapping[str, tuple[float, ...]]) -> None:
    """Raise ValueError, with the nearest feasible limits, for constraints that no mixture of the expected values meets."""
    known = [constraint for constraint in constraints if constraint.name in expected]
    if not known:
        return
    units = [[clipped_unit(constraint.scale, value) for value in expected[constraint.name]] for constraint in known]
    nearest = nearest_floors(np.array(units), np.array([constraint.floor for constraint in known]))
    if nearest is not None:
        pairs = zip(known, nearest.tolist(), strict=True)
        reachable = [str(constraint._replace(limit=constraint.scale.to_user(unit))) for constraint, unit in pairs]
        raise ValueError(
            f"some mixture of actions must meet {' and '.join(map(str, known))}; the nearest is {' and '.join(reachable)}"
        )


def cap_action(learner: Learner) -> int:
    """Return the action that a learner plays while a price is high; -1 if none. `+doubling` has it once for each segment."""
    return int(np.max(learner.parameters.get("cap_action", NO_ACTION)))
