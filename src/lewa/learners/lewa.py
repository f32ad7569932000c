"""LEWA: exponential weights with a Lagrange multiplier (box 1 of the paper)."""

from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Weights, grow_priced, ones, positive, share
from lewa.learners.base import (
    check_dual,
    check_epsilon,
    check_feasible,
    check_positive,
    check_size,
    lawful,
    log_actions,
    require,
)
from lewa.theory import paper
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


class PrimalDual(NamedTuple):
    weights: Weights  # w
    multiplier: Vector  # (m,)  lambda


class Lewa(NamedTuple):
    """LEWA: exponential weights with a Lagrange multiplier.

    Actions are weighed by r + lambda c, and the multiplier lambda rises while the floor is missed.

    Box 1, Theorem 1. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = w_t / sum w_t
        w_{t+1}      = w_t exp(eta (r_t + lambda_t c_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.c_t - c0)]+

    Order: the weights use lambda_t, the multiplier uses p_t; both move at once. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1 (then 0 <= lambda <= c0/delta); c0 = floor, each in [0, 1].

    Reading: the box has one step, mu = eta; the proof uses the two steps apart, and a smaller dual step buys a better
    constant, so mu is a parameter. `tuning="paper"` is the theorem's own, eta = mu = sqrt(4 ln K/(9 T)), delta = eta/2,
    for which regret <= 2 sqrt(T ln K) is proved (the paper says 3). `tuning="recommended"` is eta = 2 sqrt(ln K/(m T)),
    delta = m eta/2, mu = 1/sqrt(m T); with `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)); with
    `epsilon`, eta = 2 sqrt((ln K + ln(2K/epsilon)/2)/(m T)) and delta = m eta, which gives this unmodified algorithm bounds
    with probability 1 - epsilon. The theorem
    takes an expectation and then maximises inside it; what survives of that is stated in docs/theory.md, 1 (a) to (g).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=10_000)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f} (bound {bound.violation[0]:.0f}, without learning 3000)"
    'violation 137 (bound 1927, without learning 3000)'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    eta: float
    delta: float
    mu: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        tuning: str = "recommended",
        b: float | None = None,
        epsilon: float | None = None,
        means: object = None,
    ) -> Self:
        """The parameters the theorem asks for; `means` (m, K), where known, refuse a floor that no play can meet."""
        floor = check_size(actions, floor, horizon)
        check_feasible(floor, means)
        eta, delta, mu = steps(actions, horizon, floor.size, tuning, b, epsilon)
        return lawful(cls(eta, delta, mu, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(4, 100, 0.6, tuning="paper"), 4),
            (cls.tuned(5, 100, (0.4, 0.2)), 5),
            (cls.tuned(1, 50, 0.5), 1),
        ]

    def start(self, actions: int) -> PrimalDual:
        check_size(actions, self.floor)
        check_positive(eta=self.eta)
        check_dual(self.delta, self.mu)
        return PrimalDual(ones(actions), np.zeros(self.floor.size))

    def play(self, s: PrimalDual, p: Vector) -> None:
        share(s.weights, p)  # p = w / sum w

    def learn(self, s: PrimalDual, seen: Full) -> None:
        lam = s.multiplier
        grow_priced(s.weights, self.eta, seen.rewards, lam, seen.constraints)  # w <- w exp(eta (r + lam c))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+
            lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (seen.met[j] - self.floor[j]))

    @property
    def dual(self) -> tuple[float, float]:
        """The shrinkage and the step of the multiplier's update, for the certificate of a run."""
        return self.delta, self.mu

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return paper.lewa(actions, rounds, self.floor, self.eta, self.delta, self.mu, setting)


def steps(
    actions: int, horizon: int, constraints: int, tuning: str, b: float | None, epsilon: float | None
) -> tuple[float, float, float]:
    """(eta, delta, mu) of the two tunings; the dual step is held to delta mu <= 1 on very short horizons."""
    T, m, ln_K = horizon, constraints, log_actions(actions)
    require(tuning in ("paper", "recommended"), "tuning must be 'paper' or 'recommended'", tuning=tuning)
    if tuning == "paper":
        require(b is None and epsilon is None, "the paper's tuning has neither b nor epsilon", b=b, epsilon=epsilon)
        eta = sqrt(4 * ln_K / (9 * T))
        return eta, m * eta / 2, min(eta, 2 / (m * eta))
    if epsilon is not None:
        require(b is None, "b and epsilon cannot be chosen together", b=b, epsilon=epsilon)
        check_epsilon(epsilon)
        eta = 2 * sqrt((ln_K + 0.5 * log(2 * actions / epsilon)) / (m * T))
        return eta, m * eta, min(1 / sqrt(m * T), 1 / (m * eta))
    b = 0.5 if b is None else b
    require(0.5 <= b < 1, "b must lie in [1/2, 1)", b=b)
    eta = 2 * sqrt(ln_K / m) * T**-b
    return eta, m * eta / 2, min(T ** (b - 1) / sqrt(m), 2 / (m * eta))
