"""What is assumed of a game, of the answers, and of the learner at the first round, when a bound is asked for."""

from math import log
from numbers import Real
from typing import NamedTuple

from lewa.types import Vector
from lewa.validation import short_repr

LARGEST = 1e300  # up to which a corruption or a variation is computed with


class Delays(NamedTuple):
    """The delays of the answers of a run, in decisions."""

    total: int = 0  # D: the number of earlier open decisions, summed over the decisions
    partners: int = 0  # G: the most decisions that were open together with one decision
    between: int = 0  # e: the most answers that were learned, or given up, between a draw and its answer
    most_open: int = 0  # o: the most decisions that were open at once
    missing: int = 0  # the number of answers that never came
    errors: tuple[float, ...] = ()  # for each constraint, the most by which an answer differed from its reserve; (): any


NO_DELAY = Delays()


def most_late(rounds: int, delay: int) -> Delays:
    """Return the largest delays if each answer comes within this many decisions."""
    return Delays(delay * rounds, 2 * delay, 2 * delay, delay + 1)


class Start(NamedTuple):
    """The state of a learner at the first decision that a theorem covers, if it has learned before."""

    entropy: float  # max_i ln(1/p_i) of its play p, over the remaining actions
    multiplier: tuple[float, ...]  # lambda
    waiting: int = 0  # the number of open answers, which are learned later
    left: int = 0  # the number of actions that were removed
    totals: tuple[float, ...] = ()  # s, n, a of the next decision, the sum of b over what is open, and Q

    def excess(self, delta: float, floor: Vector) -> list[float]:
        """Return x_j = [delta lambda_j - c0_j]+, the excess of each multiplier's shrinkage over the step of its floor."""
        return [max(delta * value - c0, 0.0) for value, c0 in zip(self.multiplier, floor.tolist(), strict=True)]

    def dual_cost(self, delta: float, mu: float, floor: Vector, rounds: int) -> float:
        """Return the cost of the dual steps, (mu T/2) sum_j (1 + x_j)^2 + |lambda|^2/(2 mu)."""
        squares = sum((1 + x) ** 2 for x in self.excess(delta, floor))
        return mu * rounds / 2 * squares + sum(value**2 for value in self.multiplier) / (2 * mu)

    def open_cost(self, mu: float, floor: Vector, between: int) -> float:
        """Return the cost of the open answers, 1 + sum_j lambda_j (1 + c0_j) each, at the highest later price."""
        pairs = zip(self.multiplier, floor.tolist(), strict=True)
        return self.waiting * (1 + sum((value + mu * c0 * between) * (1 + c0) for value, c0 in pairs))


def first_start(actions: int, constraints: int) -> Start:
    """Return the start of a learner that has learned nothing."""
    return Start(log(actions), (0.0,) * constraints)


class Setting(NamedTuple):
    """The assumptions about the game, and the kind of bound that is requested."""

    constraints: str = "iid"  # "constant", "iid" (a fixed mean given the past), or "arbitrary"
    adversary: str = "oblivious"  # "oblivious", or "adaptive": rewards may react to the learner
    epsilon: float | None = None  # request bounds that hold with probability 1 - epsilon
    slater: float | None = None  # S: some play exceeds every floor by S
    variation: float | None = None  # sum of max_i |r_t - mean r|_i over the rounds, if it is known
    corruption: float | None = None  # sum over rounds of max_j,i |E[c_t | past] - c|, if constraints are not quite iid
    outside_theory: str | None = None  # a feature that no theorem covers, such as late feedback
    delays: "Delays | None" = None  # of the answers; None if each answer comes before the next decision
    start: "Start | None" = None  # the state of the learner at the first of these rounds; None for a new learner

    @property
    def late(self) -> "Delays":
        """The delays of the answers, all 0 if answers come at once."""
        return self.delays or NO_DELAY


def checked(setting: Setting) -> Setting:
    """Return the setting; raise ValueError if it is inconsistent."""
    for name in ("epsilon", "slater", "variation", "corruption"):
        value = getattr(setting, name)
        if value is None:
            continue
        if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
            raise ValueError(f"{name} must be a number, got {short_repr(value)}")
        if isinstance(value, int | float) and abs(value) > LARGEST:
            raise ValueError(f"{name} must be at most {LARGEST:g}, got {short_repr(value)}")
    if not isinstance(setting.constraints, str) or setting.constraints not in ("constant", "iid", "arbitrary"):
        raise ValueError(f"constraints must be 'constant', 'iid' or 'arbitrary', got {short_repr(setting.constraints)}")
    if not isinstance(setting.adversary, str) or setting.adversary not in ("oblivious", "adaptive"):
        raise ValueError(f"adversary must be 'oblivious' or 'adaptive', got {short_repr(setting.adversary)}")
    if setting.epsilon is not None and not 0 < setting.epsilon < 1:
        raise ValueError(f"epsilon must lie strictly between 0 and 1, got {setting.epsilon}")
    if setting.slater is not None and not 0 < setting.slater <= 1:
        raise ValueError(f"slater must lie in (0, 1], got {setting.slater}")
    if setting.variation is not None and not setting.variation >= 0:
        raise ValueError(f"variation must be at least 0, got {setting.variation}")
    if setting.variation is not None and setting.slater is None:
        raise ValueError(f"variation needs slater, got variation={setting.variation} alone")
    if setting.corruption is not None and not setting.corruption >= 0:
        raise ValueError(f"corruption must be at least 0, got {setting.corruption}")
    if setting.corruption is not None and setting.constraints == "arbitrary":
        raise ValueError(
            f"corruption needs constraints with a mean, got corruption={setting.corruption} for arbitrary constraints"
        )
    return setting
