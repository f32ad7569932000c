"""LEWA: exponential weights with a Lagrange multiplier (box 1 of the paper)."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Weights, comparable, dual_step, grow_priced, normalize, ones
from lewa.kernels.roles import Multiplier
from lewa.learners.base import (
    Flags,
    PrimalDual,
    Tuning,
    check_delay,
    check_epsilon,
    check_exponent,
    check_problem,
    check_tuning,
    entropy_of,
    log_actions,
    require,
)
from lewa.theory import delayed, delayed_probable, paper
from lewa.theory.delayed import Delays, Start
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


@comparable
class LewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)  lambda


@dataclass(frozen=True)
class Lewa(PrimalDual):
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

    Reading: the box has one step, mu = eta. The proof treats the two steps separately, and a separate dual step gives a
    better constant, so mu is a parameter. `tuning="paper"` is that of the theorem, eta = mu = sqrt(4 ln K/(9 T)), delta
    = eta/2, for which regret <= 2 sqrt(T ln K) is proved (the paper has the constant 3). `tuning="recommended"` is eta
    = 2 sqrt(ln K/(m T)), delta = m eta/2, mu = 1/sqrt(m T); with `b` in [1/2, 1) regret O(T^b) is traded for violation
    O(T^(1 - b/2)); with `epsilon`, eta = 2 sqrt((ln K + ln(2K/epsilon)/2)/(m T)) and delta = m eta, which gives the
    same algorithm bounds with probability 1 - epsilon; `delay`, the largest delay of an answer in decisions, gives eta
    = 2 sqrt(ln K/(m T n)) and delta = m eta n/2 with n = 1 + 2 delay, and bounds for answers that are this late
    (docs/theory_delay.md, 3). The proof of the theorem takes an expectation and then maximises inside it;
    docs/theory.md, 1 (a) to (g), has the statements that remain true.

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

    proved_with_shares = True
    tunings = {
        "recommended": Tuning(),
        "paper": Tuning(),
        "printed": Tuning("LEWA with the paper's tuning: one step for both updates.", fixes=("mu", "b")),
    }

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        tuning: str = "recommended",
        b: float | None = None,
        epsilon: float | None = None,
        eta: float | None = None,
        means: object = None,
        delay: float = 0.0,
    ) -> Self:
        """Return the learner with the parameters of the theorem.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        tuning
            "recommended", "paper" or "printed".
        b
            The exponent in [1/2, 1) that trades regret for violation; None for 1/2.
        epsilon
            The probability with which the bounds may fail; None for bounds on expectations.
        eta
            A value in place of the tuned one.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        delay
            The most decisions by which answers are expected to be late.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_tuning(cls, tuning)
        check_delay(delay)
        require(
            delay == 0 or (tuning == "recommended" and b is None),
            "delay needs the recommended tuning, without b",
            delay=delay,
        )
        if delay:
            step, delta, mu = late_steps(K, T, floor.size, delay, epsilon=epsilon)
        elif tuning == "recommended":
            step, delta, mu = recommended_steps(K, T, floor.size, b, epsilon)
        else:
            require(b is None and epsilon is None, "the paper's tuning has neither b nor epsilon", b=b, epsilon=epsilon)
            step, delta, mu = paper_steps(K, T, floor.size, eta if tuning == "printed" else None)
        return cls(step if eta is None else eta, delta, mu, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(4, 100, 0.6, tuning="paper"), 4)]

    def start(self, actions: int) -> LewaState:
        K, m = self.sizes(actions)
        return LewaState(ones(K), np.zeros(m))

    def play(self, s: LewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: LewaState, seen: Full) -> None:
        grow_priced(s.weights, self.eta, seen.rewards, s.multiplier, seen.constraints)  # w <- w exp(eta (r + lam c))
        dual_step(s.multiplier, self.delta, self.mu, seen.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return paper.lewa(self, actions, rounds, setting)

    def late_guarantees(self, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
        return delayed.lewa(self, actions, rounds, late)

    def late_probable(self, actions: int, rounds: int, late: Delays, epsilon: float) -> tuple[Guarantee, ...]:
        return delayed_probable.lewa(self, actions, rounds, late, epsilon)

    def entropy(self, s: LewaState, there: Flags) -> float:
        return entropy_of(s.weights.log, there)

    def segment_guarantees(self, actions: int, rounds: int, late: Delays, start: Start) -> tuple[Guarantee, ...]:
        return delayed.lewa(self, actions, rounds, late, start=start)


def paper_steps(actions: int, horizon: int, constraints: int, eta: float | None = None) -> tuple[float, float, float]:
    """Return (eta, delta, mu) of Theorem 1, or the values for another eta: the box has one step."""
    T, m = horizon, constraints
    if eta is not None:
        return eta, m * eta / 2, eta
    eta = sqrt(4 * log_actions(actions) / (9 * T))
    return eta, m * eta / 2, min(eta, 2 / (m * eta))


def late_steps(
    actions: int, horizon: int, constraints: int, delay: float, more: float = 0.0, epsilon: float | None = None
) -> tuple[float, float, float]:
    """Return (eta, delta, mu) for answers that are up to `delay` decisions late.

    A decision is then open together with at most G = 2 delay others, and the theorem requires delta = (m eta/2)(1 + G). With
    an epsilon it is (m eta/2)(1 + G + s) with s = sqrt(1 + G), which leaves theta = 2 eta s for the noise.

    Parameters
    ----------
    actions, horizon, constraints
        K, T and m.
    delay
        The most decisions by which answers are late.
    more
        An addition to ln K.
    epsilon
        The probability with which the bounds may fail; None for bounds on expectations.
    """
    T, m, among = horizon, constraints, 1 + 2 * delay
    cost, room = log_actions(actions) + more, 0.0
    if epsilon is not None:
        check_epsilon(epsilon)
        room = sqrt(among)
        cost += log(2 * actions / epsilon) / (2 * room)
    eta = 2 * sqrt(cost / (m * T * among))
    delta = m * eta / 2 * (among + room)
    return eta, delta, min(1 / sqrt(m * T), 1 / delta)


def recommended_steps(
    actions: int, horizon: int, constraints: int, b: float | None = None, epsilon: float | None = None
) -> tuple[float, float, float]:
    """Return (eta, delta, mu) with two steps; on very short horizons mu is lowered so that delta mu <= 1."""
    T, m, ln_K = horizon, constraints, log_actions(actions)
    if epsilon is not None:
        require(b is None, "b and epsilon cannot be chosen together", b=b, epsilon=epsilon)
        check_epsilon(epsilon)
        eta = 2 * sqrt((ln_K + 0.5 * log(2 * actions / epsilon)) / (m * T))
        return eta, m * eta, min(1 / sqrt(m * T), 1 / (m * eta))
    b = 0.5 if b is None else b
    check_exponent(b)
    eta = 2 * sqrt(ln_K / m) * T**-b
    return eta, m * eta / 2, min(T ** (b - 1) / sqrt(m), 2 / (m * eta))
