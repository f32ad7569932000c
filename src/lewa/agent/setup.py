"""What an agent is made of and never changes: its actions, its lines, its learner, and what it does with the unanswered."""

from collections.abc import Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple, cast

import numpy as np

from lewa.advice import advise
from lewa.agent.constraint import Line, line_from
from lewa.agent.records import Label
from lewa.feedback import feedback_kind
from lewa.kernels import dump, load, pack
from lewa.learners import find, make
from lewa.measures import best_fixed_play
from lewa.types import Matrix
from lewa.units import Scale, as_number, as_range
from lewa.validation import nearest

ANYTIME = {"bandit": "anytime-bandit-lewa", "full": "anytime-lewa"}  # need no horizon


class Setup(NamedTuple):
    """Checked, and the same before and after a save."""

    actions: tuple[Label, ...]
    lines: tuple[Line, ...]
    reward_range: tuple[float, float]
    horizon: int | None
    name: str  # of the learner
    learner: Any
    seed: int
    max_pending: int
    expire_after: int | None
    unanswered: dict[str, float] | None  # None: left out; else charged, these by these values
    expected: dict[str, tuple[float, ...]]

    @property
    def fields(self) -> tuple[str, ...]:
        """What an answer consists of."""
        return ("reward", *(line.name for line in self.lines))

    @property
    def scales(self) -> list[Scale]:
        """How each of them becomes a number of [0, 1]."""
        low, high = self.reward_range
        return [Scale(low, high - low), *(line.scale for line in self.lines)]

    def priors(self) -> Matrix:
        """What is taken of each field and action while nothing was seen, in [0, 1]: as expected, or the worst."""
        found = np.zeros((len(self.fields), len(self.actions)))
        for f, (name, scale) in enumerate(zip(self.fields, self.scales, strict=True)):
            found[f] = [min(max(scale.unit(value), 0.0), 1.0) for value in self.expected.get(name, ())] or 0.0
        return found

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        lines = [line._asdict() for line in self.lines]
        return {**self._asdict(), "lines": lines, "learner": dump(self.learner)}


def set_up(
    actions: Sequence[Label],
    constraints: Sequence[Line],
    reward_range: tuple[float, float],
    horizon: int | None,
    learner: str,
    seed: int,
    settings: Mapping[str, Any] | None,
    kind: str,
    max_pending: int,
    expire_after: int | None,
    unanswered: str | Mapping[str, float],
    expected: Mapping[str, Sequence[float]] | None,
) -> Setup:
    """The setup, if everything in it makes sense."""
    labels, lines = _labels(actions), _lines(constraints)
    names = ["reward", *(line.name for line in lines)]
    known = _known(expected or {}, names, labels)
    _refuse_infeasible(lines, known)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}")
    name, tuned = _learner(learner, len(labels), horizon, [line.floor for line in lines], kind, dict(settings or {}))
    return Setup(
        actions=labels,
        lines=lines,
        reward_range=as_range("the reward", reward_range),
        horizon=None if horizon is None else int(horizon),
        name=name,
        learner=tuned,
        seed=int(seed),
        max_pending=_whole("max_pending", max_pending),
        expire_after=None if expire_after is None else _whole("expire_after", expire_after),
        unanswered=_policy(unanswered, names),
        expected=known,
    )


def from_plain(plain: Mapping[str, Any]) -> Setup:
    """The setup that `plain` wrote."""
    names = [line["name"] for line in plain["lines"]]
    policy = plain["unanswered"]
    return Setup(
        actions=_labels(plain["actions"]),
        lines=_lines([line_from(**line) for line in plain["lines"]]),
        reward_range=as_range("the reward", plain["reward_range"]),
        horizon=None if plain["horizon"] is None else _whole("horizon", plain["horizon"]),
        name=plain["name"],
        learner=load(find(plain["name"]), plain["learner"]),
        seed=int(plain["seed"]),
        max_pending=_whole("max_pending", plain["max_pending"]),
        expire_after=None if plain["expire_after"] is None else _whole("expire_after", plain["expire_after"]),
        unanswered=_policy("expire" if policy is None else policy, ["reward", *names]),
        expected=_known(plain["expected"], ["reward", *names], plain["actions"]),
    )


def _learner(
    name: str, actions: int, horizon: int | None, floor: list[float], kind: str, settings: dict[str, Any]
) -> tuple[str, Any]:
    """The learner's name, and the learner tuned."""
    if kind not in ("bandit", "full"):
        raise ValueError(f"feedback must be 'bandit' or 'full', got {kind!r}")
    if not isinstance(name, str):
        raise ValueError(f"learner must be a name of lewa.learners.ALL, or 'auto', got {name!r}")
    if horizon is not None:
        horizon = _whole("horizon", horizon)
    if name == "auto":
        name, advised = _advised(kind, actions, horizon, tuple(floor))
        settings = {**advised, **settings}
    if horizon is not None:
        return name, make(name, actions, horizon, floor, **settings)
    short, long = (cast(tuple[Any, ...], make(name, actions, rounds, floor, **settings)) for rounds in (1000, 1_000_000))
    if pack(short).tobytes() != pack(long).tobytes():
        own = ANYTIME[feedback_kind(find(name)).observes]
        raise ValueError(f"{name} is tuned for a number of rounds: give horizon, or take {own}, got horizon=None")
    return name, short


@cache
def _advised(kind: str, actions: int, horizon: int | None, floor: tuple[float, ...]) -> tuple[str, dict[str, float]]:
    """The learner of the least proved bound. One that starts afresh in epochs would forget what the application taught it:
    without a horizon the best of the others is taken, or the one that needs none."""
    advice = advise(kind, actions, horizon, floor)
    if horizon is not None:
        return advice.learner.name, advice.learner.settings
    steady = [one for one in advice.ranked if not one.name.endswith("+doubling")]
    return (steady[0].name, steady[0].settings) if steady else (ANYTIME[kind], {})


def _labels(actions: Any) -> tuple[Label, ...]:
    if isinstance(actions, str | bytes) or not isinstance(actions, Sequence):
        raise ValueError(f"actions must be a list of names, got {actions!r}")
    for label in actions:
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise ValueError(f"an action is named by a text or a whole number, got {label!r}")
    if not actions or len(set(actions)) < len(actions):
        raise ValueError(f"actions must be at least one, and have different names, got {list(actions)}")
    return tuple(actions)


def _lines(constraints: Any) -> tuple[Line, ...]:
    if isinstance(constraints, Line):
        constraints = [constraints]
    lines = tuple(constraints)
    if not lines or not all(isinstance(line, Line) for line in lines):
        raise ValueError(f"constraints must be a list of at_most(...) and at_least(...), at least one, got {constraints!r}")
    names = [line.name for line in lines]
    if len(set(names)) < len(names):
        raise ValueError(f"constraints must have different names, got {', '.join(names)}")
    return lines


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _policy(unanswered: Any, names: list[str]) -> dict[str, float] | None:
    if unanswered in ("charge", "expire"):
        return {} if unanswered == "charge" else None
    if not isinstance(unanswered, Mapping):
        raise ValueError(f"unanswered must be 'charge', 'expire' or values by name, got {unanswered!r}")
    return {_name(name, names): as_number(f"the unanswered {name}", value) for name, value in unanswered.items()}


def _known(expected: Any, names: list[str], actions: Sequence[Label]) -> dict[str, tuple[float, ...]]:
    found = {}
    for name, values in expected.items():
        numbers = tuple(as_number(f"the expected {name}", value) for value in values)
        if len(numbers) != len(actions):
            raise ValueError(f"the expected {name} must be {len(actions)} numbers, one per action, got {len(numbers)}")
        found[_name(name, names)] = numbers
    return found


def _name(name: Any, names: list[str]) -> str:
    if name not in names:
        raise ValueError(f"there is no {name!r} here{nearest(str(name), names)}")
    return str(name)


def _refuse_infeasible(lines: tuple[Line, ...], expected: Mapping[str, tuple[float, ...]]) -> None:
    """Where it is known what each action has, lines that no mixture keeps are refused, with the nearest that one does."""
    known = [line for line in lines if line.name in expected]
    if not known:
        return
    units = [[min(max(line.scale.unit(value), 0.0), 1.0) for value in expected[line.name]] for line in known]
    best = best_fixed_play(np.zeros(len(units[0])), units, [line.floor for line in known])
    if not best.feasible:
        nearest_lines = [
            str(line._replace(line=line.scale.own(c))) for line, c in zip(known, best.reachable.tolist(), strict=True)
        ]
        raise ValueError(
            f"no mixture of the actions keeps {' and '.join(map(str, known))}; the nearest is {' and '.join(nearest_lines)}"
        )
