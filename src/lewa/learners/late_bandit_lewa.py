"""Late BanditLEWA: the loss form with steps that follow its prices and the delays, for answers that come late."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, normalize, ones, positive, rule, set_weights
from lewa.learners.base import Learner, check_delay, check_positive, check_problem, log_actions
from lewa.theory import bandit, delayed
from lewa.theory.delayed import Delays, Start
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector

ANSWERS, SPENT, OPEN, SQUARES = 0, 1, 2, 3  # places in `totals`


@comparable
class LateBanditLewaState(NamedTuple):
    weights: Weights  # w, of the next decision
    multiplier: Vector  # (m,)    pi, of the next decision
    losses: Vector  # (K,)    Lhat
    queue: Vector  # (m,)    Q
    totals: Vector  # (4,)    s, answers learned; n; decisions that are open; the sum of their b^2
    charged: Vector  # (m+1,)  pi and b, of the last decision


@dataclass(frozen=True)
class LateBanditLewa(Learner):
    """Late BanditLEWA: an unknown horizon, answers that come late, and a bound for the delays that happened.

    The loss form whose step follows the prices and the number of open decisions, so the shrinkage may be any.

    No box of the paper. With Lhat = 0, Q = 0, s = 0 and n = 0 at first, at decision t::

        pi_t  = Q/(delta sqrt(s + 1)),   b_t = 1 + sum_j pi_{t,j}
        n     = n + K b_t^2 + sum (b_t^2 + b_u^2) over the decisions u that are open,   eta_t = sqrt(ln K/n)
        p_t   = w / sum w,   w = exp(-eta_t Lhat);   i_t is drawn from p_t

    when the answer to decision t comes, i = i_t::

        Lhat_i = Lhat_i + ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j}))/p_{t,i}               (the others stay)
        Q_j    = [Q_j + c0_j - c_{t,j}]+,   s = s + 1

    Order: an answer is learned at the price and at the chance of its own draw, whenever it comes and in whatever order; both
    travel with the decision. A decision that is closed without an answer is open no more, and s counts it.

    Parameters: delta = delta > 0; c0 = floor, each in [0, 1].

    Reading: `anytime-bandit-lewa` has the same multiplier, a queue over delta sqrt(t), but steps eta/sqrt(t), for which its
    proof needs delta >= 4 m eta K; with late answers that would be 4 m eta (K + G), G the most decisions that one was open
    together with, and a shrinkage so large lets the constraint go. Here n grows by what the proof has to pay. Without delay
    regret is at most 2 sqrt(K T ln K) + (4 m K ln K + m) sqrt(T)/delta, which at the same delta is at most 1.21 times that
    of `anytime-bandit-lewa` for m = 1, and 1.37 for more. The tuning is its delta, sqrt(2 m (4 K ln K + 1)); with `delay`,
    the decisions by which answers are expected to be late, it is sqrt(1 + 2 delay/K) times that: a smaller bound on regret
    and a larger one on violation. When answers come may not depend on what they say. The proof is in docs/theory_delay.md,
    5.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateBanditLewa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_delay.md; without constraints, steps that follow the number of open decisions are T. Thune, N.
    Cesa-Bianchi, Y. Seldin, Nonstochastic multiarmed bandits with unrestricted delays, NeurIPS 2019.
    """

    delta: float
    floor: Vector

    reads_play = False
    quotes_prices = True

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, delay: float = 0.0, means: object = None) -> Self:
        """Return the learner with delta = sqrt(2 m (4 K ln K + 1) (1 + 2 delay/K)), for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        delay
            The most decisions by which answers are expected to be late.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, _, floor = check_problem(actions, horizon, floor, means)
        check_delay(delay)
        return cls(sqrt(2 * floor.size * (4 * K * log_actions(K) + 1) * (1 + 2 * delay / K)), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(4, 100, 0.6, delay=20), 4)]

    def check(self) -> None:
        check_positive(delta=self.delta)

    def start(self, actions: int) -> LateBanditLewaState:
        K, m = self.sizes(actions)
        return LateBanditLewaState(ones(K), np.zeros(m), np.zeros(K), np.zeros(m), np.zeros(4), np.zeros(m + 1))

    def play(self, s: LateBanditLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def charge(self, s: LateBanditLewaState, action: int) -> None:
        b = 1.0
        for j in range(s.multiplier.size):
            s.charged[j] = s.multiplier[j]  # pi_t
            b += s.multiplier[j]
        s.charged[s.multiplier.size] = b
        s.totals[SPENT] += cost(s)  # n
        s.totals[OPEN] += 1
        s.totals[SQUARES] += b * b
        weigh(s)

    def learn(self, s: LateBanditLewaState, seen: Bandit) -> None:
        quoted = seen.charged[s.queue.size] > 0
        loss = 1 - seen.reward
        for j in range(s.queue.size):  # L = (1 - r) + pi (1 - c), Q <- [Q + c0 - c]+
            loss += (seen.charged[j] if quoted else s.multiplier[j]) * (1 - seen.constraints[j])
            s.queue[j] = positive(s.queue[j] + self.floor[j] - seen.constraints[j])
        s.losses[seen.action] += loss / seen.propensity
        end(s, self.delta, seen.charged)

    def release(self, s: LateBanditLewaState, charged: Vector) -> None:
        if charged[s.queue.size] > 0:
            end(s, self.delta, charged)
        else:  # no decision of the learner: parameters or actions may have changed
            weigh(s)

    def rescaled(self, s: LateBanditLewaState, j: int, ratio: float, shift: float) -> tuple[Self, LateBanditLewaState]:
        queue, charged, (_, state) = s.queue.copy(), s.charged.copy(), super().rescaled(s, j, ratio, shift)
        queue[j] /= ratio
        charged[j] /= ratio
        return self, state._replace(queue=queue, charged=charged)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return bandit.late_bandit_lewa(self, actions, rounds, setting)

    def late_guarantees(self, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
        return delayed.late_bandit_lewa(self, actions, rounds, late)

    def stands(self, s: LateBanditLewaState, start: Start) -> Start:
        answers, spent, waiting, squares = s.totals.tolist()
        log_weights = -sqrt(log(s.losses.size) / (spent + cost(s))) * s.losses
        apart = np.ptp(s.weights.log - log_weights)  # where weights are not those of the losses, nothing is proved
        if waiting != start.waiting or apart > 1e-9 * (1 + np.ptp(log_weights)):
            return start
        prices = sqrt(waiting * squares)  # at least the sum of b over what is open
        return start._replace(totals=(answers, spent, cost(s), prices, *s.queue.tolist()))

    def segment_guarantees(self, actions: int, rounds: int, late: Delays, start: Start) -> tuple[Guarantee, ...]:
        return delayed.late_bandit_lewa(self, actions, rounds, late, start) if start.totals else ()


@rule
def cost(s: LateBanditLewaState) -> float:
    """K b^2 + sum (b^2 + b_u^2) over the open decisions u, with b = 1 + sum_j pi_j of the next decision"""
    b = 1.0
    for j in range(s.multiplier.size):
        b += s.multiplier[j]
    return float((s.losses.size + s.totals[OPEN]) * b * b + s.totals[SQUARES])


@rule
def weigh(s: LateBanditLewaState) -> None:
    """w <- exp(-eta Lhat), eta the step of the next decision"""
    set_weights(s.weights, -sqrt(log(s.losses.size) / (s.totals[SPENT] + cost(s))), s.losses)


@rule
def end(s: LateBanditLewaState, delta: float, charged: Vector) -> None:
    """End a decision: s <- s + 1, pi <- Q/(delta sqrt(s + 1)); if its price was quoted, it was open"""
    b = charged[s.queue.size]
    if b > 0:
        s.totals[OPEN] = max(s.totals[OPEN] - 1, 0.0)
        s.totals[SQUARES] = max(s.totals[SQUARES] - b * b, 0.0) if s.totals[OPEN] > 0 else 0.0
    s.totals[ANSWERS] += 1
    for j in range(s.queue.size):
        s.multiplier[j] = s.queue[j] / (delta * sqrt(s.totals[ANSWERS] + 1))
    weigh(s)
