"""Late LEWA-IX: LEWA-IX with the price of the draw and the effective probability, for answers that come late."""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, ix_loss, log_sum, normalize, ones, positive, rule, shrink_one
from lewa.learners.base import (
    Learner,
    check_delay,
    check_dual,
    check_epsilon,
    check_exponent,
    check_positive,
    check_problem,
    log_actions,
)
from lewa.theory import bandit, delayed_ix
from lewa.theory.delayed import Delays
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector

QUOTED = 1.0  # in `charged`, after the prices: a price was quoted
STEEPEST = 700.0  # of an exponent: a larger one could overflow


@comparable
class LateLewaIxState(NamedTuple):
    weights: Weights  # w
    multiplier: Vector  # (m,)    lambda, the price of the next decision
    log_total: Vector  # (1,)    ln W, less what actions that were added brought in
    charged: Vector  # (m+2,)  pi, 1 and ln W, of the last decision


@dataclass(frozen=True)
class LateLewaIx(Learner):
    """Late LEWA-IX: bandit LEWA with bounds for the single run, for answers that come late, at any time.

    LEWA-IX that learns at the price of the draw and divides by a probability that grows while an answer is late.

    No box of the paper. With w = 1 and lambda = 0 at first, at decision t::

        p_t      = w / W,   W_t = W = sum w;   i_t is drawn from p_t
        pi_t     = lambda,   b_t = 1 + sum_j pi_{t,j}

    when the answer to decision t comes, i = i_t::

        q        = min(1, p_{t,i} W_t/W)
        w_i      = w_i exp(-eta/(q + (eta/2) b_t) ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j})))      (the others stay)
        lambda_j = [lambda_j + mu (c0_j - c_{t,j} - delta pi_{t,j})]+

    Order: an answer is learned with the price, the probability and the sum of the weights of its own draw, at any time and
    in any order; all are stored with the decision. If a decision is closed without an answer, lambda moves as by an
    answer with c_t = c0, and the weights stay.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs delta > 4 m eta (K + G), where G is the largest number of
    decisions that were open together with one decision.

    Reading: if no answer is late, q = p_{t,i} and the rule is that of `lewa-ix`. The draw of an action can decide which
    answers come first, so an action can be more probable in a later play than at its draw. The weights only decrease,
    so q is at least the probability of i in every play that lacks the answer. This is enough for a bound with probability
    1 - epsilon, whatever the arrivals depend on. The tuning is eta = sqrt((ln K + ln(5K/epsilon))/(2 m (K + 2 delay) T)),
    delta = 8 m eta (K + 2 delay), mu = 1/sqrt(m (1 + 2 delay) T), at most 1/delta; `delay` is the most decisions by which
    answers are late. The learner has bounds at every other epsilon too. With `b` in [1/2, 1) regret O(T^b) is traded for
    violation O(T^(1 - b/2)). With long delays the shrinkage is large and the constraint is missed by much; a larger `b`
    helps, and `late-bandit-lewa` keeps it better, with bounds in expectation. The proof is in docs/theory_delay.md, 8.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateLewaIx.tuned(actions=2, horizon=100_000, floor=0.5, delay=1)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, epsilon=0.05)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.06, proved 0.44, without learning 0.30'

    Reference: docs/theory_delay.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    eta: float
    delta: float
    mu: float
    floor: Vector

    reads_play = False
    quotes_prices = True

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        b: float = 0.5,
        delay: float = 0.0,
        means: object = None,
        epsilon: float = 0.05,
    ) -> Self:
        """Return the tuned learner.

        The tuning is eta = sqrt((ln K + ln(5K/epsilon))/(2 m (K + 2 delay))) T^(-b), delta = 8 m eta (K + 2 delay), mu =
        T^(b-1)/sqrt(m (1 + 2 delay)), at most 1/delta.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        b
            The exponent in [1/2, 1) that trades regret for violation.
        delay
            The most decisions by which answers are expected to be late.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        epsilon
            The probability with which the bounds may fail.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        check_exponent(b)
        check_delay(delay)
        m, most = floor.size, K + 2 * delay  # decisions that are open together count as actions do
        eta = sqrt((log_actions(K) + log(5 * K / epsilon)) / (2 * m * most)) * T**-b
        delta = 8 * m * eta * most
        return cls(eta, delta, min(T ** (b - 1) / sqrt(m * (1 + 2 * delay)), 1 / delta), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(4, 100, 0.6, delay=20), 4)]

    def check(self) -> None:
        check_positive(eta=self.eta)
        check_dual(self.delta, self.mu)

    def start(self, actions: int) -> LateLewaIxState:
        K, m = self.sizes(actions)
        return LateLewaIxState(ones(K), np.zeros(m), np.array([log(K)]), np.zeros(m + 2))

    def play(self, s: LateLewaIxState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def charge(self, s: LateLewaIxState, action: int) -> None:
        m = s.multiplier.size
        for j in range(m):
            s.charged[j] = s.multiplier[j]  # pi_t
        s.charged[m] = QUOTED
        s.charged[m + 1] = s.log_total[0]  # ln W_t

    def learn(self, s: LateLewaIxState, seen: Bandit) -> None:
        m, c, lam = s.multiplier.size, seen.constraints, s.multiplier
        quoted = seen.charged[m] > 0
        loss, b = 1 - seen.reward, 1.0
        for j in range(m):  # L = (1 - r) + pi (1 - c), b = 1 + pi, lam <- [lam + mu (c0 - c - delta pi)]+
            price = seen.charged[j] if quoted else lam[j]
            loss += price * (1 - c[j])
            b += price
            lam[j] = positive(lam[j] + self.mu * (self.floor[j] - c[j] - self.delta * price))
        q = effective_chance(seen.propensity, seen.charged[m + 1] - s.log_total[0]) if quoted else seen.propensity
        before = log_sum(s.weights)
        shrink_one(s.weights, seen.action, ix_loss(self.eta * loss, q, self.eta / 2 * b))  # w_i <- w_i exp(-eta L/(q + g))
        s.log_total[0] += min(log_sum(s.weights) - before, 0.0)

    def release(self, s: LateLewaIxState, charged: Vector) -> None:
        if charged[s.multiplier.size] > 0:
            for j in range(s.multiplier.size):  # as if c = c0
                s.multiplier[j] = positive(s.multiplier[j] - self.mu * self.delta * charged[j])

    def rescaled(self, s: LateLewaIxState, j: int, ratio: float, shift: float) -> tuple[Self, LateLewaIxState]:
        charged, (_, state) = s.charged.copy(), super().rescaled(s, j, ratio, shift)
        charged[j] /= ratio
        return self, state._replace(charged=charged)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return bandit.lewa_ix(self, actions, rounds, setting, "Late LEWA-IX")

    def late_guarantees(self, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
        return delayed_ix.late_lewa_ix(self, actions, rounds, late)

    def late_probable(self, actions: int, rounds: int, late: Delays, epsilon: float) -> tuple[Guarantee, ...]:
        return delayed_ix.late_lewa_ix(self, actions, rounds, late, epsilon)


@rule
def effective_chance(chance: float, log_ratio: float) -> float:
    """min(1, p W_t/W), with ln(W_t/W) given; never less than p"""
    return min(1.0, chance * exp(min(max(log_ratio, 0.0), STEEPEST)))
