"""The cost of dual steps at the price of the draw (Lemma LD), and of those that reserve and settle (Th9).

docs/theory_delay.md, 8 and 10, has the proofs. T decisions, m constraints with floors c0.
"""

from typing import NamedTuple

from lewa.theory import parameters
from lewa.theory.setting import Delays


class DualSteps(NamedTuple):
    """The cost of the dual steps of T decisions, and the largest prices."""

    cost: float  # m mu Gam^2 (T/2 + D)
    prices: tuple[float, ...]  # that no multiplier exceeds
    lost: float  # 1 + sum_j pi_j (1 - c0_j), the regret of a decision without an answer
    lost_violation: tuple[float, ...]  # c0, its violation of each constraint


def late_steps(learner: parameters.Reserving, rounds: int, late: Delays) -> DualSteps:
    """Return the cost for T = `rounds`, including the decisions that are never answered."""
    if learner.reserves.size:
        return eager_steps(learner, rounds, late)
    T, floor, delta, mu = rounds, learner.floor.tolist(), learner.delta, learner.mu
    prices = tuple(c0 * min((1 + delta * mu * late.between) / delta, mu * T) for c0 in floor)
    Gam = 1 + max(floor) * delta * mu * late.between
    cost = len(floor) * mu * Gam**2 * (T / 2 + late.total)
    lost = 1 + sum(price * (1 - c0) for price, c0 in zip(prices, floor, strict=True))
    return DualSteps(cost, prices, lost, tuple(floor))


def eager_steps(learner: parameters.Reserving, rounds: int, late: Delays) -> DualSteps:
    """Return the same if decisions count at reserves (Th9): the error of a reserve takes the place of 1 in the delays.

    The errors are those of `late`, or the largest possible ones. A decision without an answer stays at its reserve.
    """
    T, D, delta, mu, most_open = rounds, late.total, learner.delta, learner.mu, max(late.most_open, 1)
    reserves = learner.reserves.reshape(learner.floor.size, -1)
    floor, low, high = learner.floor.tolist(), reserves.min(axis=1), reserves.max(axis=1)
    errors = late.errors or tuple(max(a, 1 - b) for a, b in zip(high.tolist(), low.tolist(), strict=True))
    cost, prices = 0.0, list[float]()
    for c0, err, most in zip(floor, errors, high.tolist(), strict=True):
        if c0 == 0:  # the multiplier stays 0
            prices.append(0.0)
            continue
        Gam = 1 + delta * mu * err * most_open
        cost += mu * (T * (Gam**2 + err**2) / 2 + err * (Gam * T + (Gam + err) * D))
        prices.append(min(c0 / delta + mu * err * most_open, mu * max(c0, most) * T))
    lost = 1 + sum(price * (1 - v) for price, v in zip(prices, low.tolist(), strict=True))
    return DualSteps(cost, tuple(prices), lost, tuple(high.tolist()))
