"""The cost of dual steps at the price of the draw (Lemma LD); docs/theory_delay.md, 8, has the proof."""

from typing import NamedTuple

from lewa.theory import parameters
from lewa.theory.delayed import Delays


class DualSteps(NamedTuple):
    """The cost of the dual steps of T decisions, and the largest prices."""

    cost: float  # m mu Gam^2 (T/2 + D)
    prices: tuple[float, ...]  # that no multiplier exceeds
    lost: float  # 1 + sum_j pi_j (1 - c0_j), the regret of a decision without an answer
    lost_violation: tuple[float, ...]  # c0, its violation of each constraint


def late_steps(learner: parameters.Dual, rounds: int, late: Delays) -> DualSteps:
    """Return the cost for T = `rounds`, including the decisions that are never answered."""
    T, floor, delta, mu = rounds, learner.floor.tolist(), learner.delta, learner.mu
    prices = tuple(c0 * min((1 + delta * mu * late.between) / delta, mu * T) for c0 in floor)
    Gam = 1 + max(floor) * delta * mu * late.between
    cost = len(floor) * mu * Gam**2 * (T / 2 + late.total)
    lost = 1 + sum(price * (1 - c0) for price, c0 in zip(prices, floor, strict=True))
    return DualSteps(cost, prices, lost, tuple(floor))
