"""LEWA for an unknown horizon: with decreasing steps, and with steps that adapt to answers that come late."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels import LazyWeights, Weights, anytime_dual_step, grow_lazy, normalize, positive, rule, set_weights
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Charged, Clock, Gains, Multiplier, Prices, Totals
from lewa.learners.base import USUAL, Flags, Full, Learner, Parameters, Problem, Step, Theorems, entropy_of, sizes_of, trial
from lewa.theory import anytime, delayed
from lewa.theory.setting import Start
from lewa.types import State, Vector


class AnytimeLewaState(NamedTuple):
    gains: LazyWeights  # G, and w
    multiplier: Multiplier  # (m,)  lambda
    clock: Clock  # (1,)  t, the rounds seen


def steps(q: Problem, epsilon: float | None = None) -> Parameters:
    """eta = sqrt(2 (ln K + 1)/m), delta = m eta, for every T.

    With an epsilon, eta = sqrt((2 ln K + ln(2K/epsilon) + 1)/m), delta = 2 m eta.
    """
    if epsilon is None:
        eta = sqrt(2 * (q.ln_K + 1) / q.m)
        return {"eta": eta, "delta": q.m * eta}
    eta = sqrt((2 * q.ln_K + log(2 * q.K / epsilon) + 1) / q.m)
    return {"eta": eta, "delta": 2 * q.m * eta}


@dataclass(frozen=True)
class AnytimeLewa(Learner):
    """Anytime LEWA: LEWA for an unknown horizon.

    Every step decreases as 1/sqrt(t), and one bound holds at every T.

    No box of the paper. With G_0 = 0 and lambda_1 = 0, in round t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = w_t / sum w_t,   w_t = exp(eta_t G_{t-1})
        G_t          = G_{t-1} + r_t + lambda_t c_t
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (p_t.c_t - c0)]+

    Order: the gains use lambda_t, the multiplier uses p_t; both move at once. The current step weighs all past gains
    (lazy weights): weights that grew by earlier steps would have no such bound. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0; delta = delta > 0; c0 = floor, each in [0, 1]. The proof needs delta >= m eta.

    Reading: the dual step fits the shrinkage, 1/mu_t - 1/mu_{t-1} = delta_t, so in the proof its terms cancel exactly;
    and as 1 - delta_t mu_t = sqrt((t - 1)/t), the multiplier is a queue, Q_t = [Q_{t-1} + c0 - p_t.c_t]+, divided by
    delta sqrt(t). The tuning is eta = sqrt(2 (ln K + 1)/m), delta = m eta: for m = 1, regret <= sqrt(2 (ln K + 1) T),
    about sqrt(2) times the bound of LEWA with known T. With `epsilon`, eta = sqrt((2 ln K + ln(2K/epsilon) + 1)/m) and
    delta = 2 m eta, which gives bounds with probability 1 - epsilon. The proofs are in docs/theory_anytime.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("anytime-lewa", game, rounds=10_000, seeds=1, floor=0.5)
    >>> f"violation {trace.violation[0, 0]:.0f} (bound {trace.guarantee.violation[0]:.0f}, without learning 3000)"
    'violation 134 (bound 1936, without learning 3000)'

    Reference: docs/theory_anytime.md; the lazy step is P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident
    on-line learning algorithms, J. Comput. Syst. Sci. 64, 2002.
    """

    eta: Step
    delta: Step
    floor: Vector

    parent = None  # with floor 0 it is EWA with a decreasing step
    tunings = {"recommended": steps}
    trials = (*USUAL, trial(4, 100, 0.6, epsilon=0.1))
    theorems = Theorems(anytime.anytime_lewa)

    def play(self, s: AnytimeLewaState, p: Vector) -> None:
        normalize(s.gains, p)  # p = w / sum w

    def learn(self, s: AnytimeLewaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        eta = self.eta / sqrt(t + 1)  # of the next round
        grow_lazy(s.gains, eta, seen.rewards, s.multiplier, seen.constraints)  # G <- G + r + lam c, w = exp(eta G)
        anytime_dual_step(s.multiplier, self.delta, t, seen.met, self.floor)  # lam <- [(1 - delta_t mu_t) lam - ...]+


ANSWERS, SPENT, OPEN, SQUARES = 0, 1, 2, 3  # places in `totals`


class LateLewaState(NamedTuple):
    weights: Weights  # w, of the next decision
    multiplier: Multiplier  # (m,)    pi, of the next decision
    gains: Gains  # (K,)    G
    queue: Prices[Vector]  # (m,)    Q
    totals: Totals[Vector]  # (4,)    s, answers learned; n; decisions that are open; the sum of their b^2
    charged: Charged  # (m+1,)  pi and b, of the last decision


def shrinkage(q: Problem, delay: float = 0.0, epsilon: float | None = None) -> Parameters:
    """delta = sqrt(2 m (ln K + 1) (1 + 2 delay)); with an epsilon 2 ln K + ln(2K/epsilon) for ln K."""
    terms = q.ln_K + 1 if epsilon is None else 2 * q.ln_K + log(2 * q.K / epsilon) + 1
    return {"delta": sqrt(2 * q.m * terms * (1 + 2 * delay))}


def begin(learner: object, s: LateLewaState, there: Flags, start: Start) -> Start:
    """Return the start with the entropy of the play, and the totals if the weights are those of the gains."""
    return begun(s, start._replace(entropy=entropy_of(s.weights.log, there)), next_step(s) * s.gains, cost(s, 1))


@dataclass(frozen=True)
class LateLewa(Learner):
    """Late LEWA: for full information, an unknown horizon and answers that come late, at any time.

    LEWA with a step that adapts to the prices and the number of open decisions, so that any shrinkage is allowed.

    No box of the paper. With G = 0, Q = 0, s = 0 and n = 0 at first, at decision t::

        pi_t  = Q/(delta sqrt(s + 1)),   b_t = 1 + sum_j pi_{t,j}
        n     = n + b_t^2 + sum (b_t^2 + b_u^2) over the decisions u that are open,   eta_t = 2 sqrt(ln K/n)
        p_t   = w / sum w,   w = exp(eta_t G)

    when the answer to decision t comes::

        G     = G + r_t + sum_j pi_{t,j} c_{t,j}
        Q_j   = [Q_j + c0_j - p_t.c_{t,j}]+,   s = s + 1

    Order: an answer is learned with the price and the play of its own decision, at any time and in any order; both are
    stored with the decision. A decision that is closed without an answer is no longer open, and s counts it.

    Parameters: delta = delta > 0; c0 = floor, each in [0, 1].

    Reading: `anytime-lewa` has the same multiplier, a queue over delta sqrt(t), but steps eta/sqrt(t), for which its proof
    needs delta >= m eta; with late answers this would be m eta (1 + G), where G is the largest number of decisions that
    were open together with one decision. Here n grows by the terms of the proof. Without delay regret is at most sqrt(T
    ln K) + m (ln K + 1) sqrt(T)/delta. The tuning is delta = sqrt(2 m (ln K + 1)), that of `anytime-lewa`; with
    `delay`, the expected delay of answers in decisions, it is multiplied by sqrt(1 + 2 delay), which gives a smaller
    bound on regret and a larger one on violation. The bounds hold on every path, for delays that depend on anything,
    against plays that meet the floors in every round, and in expectation if the constraints have a fixed mean. The
    proof is in docs/theory_delay.md, 5.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("late-lewa", game, rounds=10_000, seeds=1, floor=0.5)
    >>> f"violation {trace.violation[0, 0]:.0f} (bound {trace.guarantee.violation[0]:.0f}, without learning 3000)"
    'violation 94 (bound 1935, without learning 3000)'

    Reference: docs/theory_delay.md; P. Joulani, A. György, C. Szepesvári, Delay-tolerant online convex optimization, AAAI
    2016, for steps that follow the number of open decisions, without constraints.
    """

    delta: Step
    floor: Vector

    quotes_prices = True
    proved_with_shares = True
    tunings = {"recommended": shrinkage}
    trials = (*USUAL, trial(4, 100, 0.6, delay=20))
    theorems = Theorems(
        anytime.late_lewa,
        delayed.late_lewa,
        delayed.late_lewa_probable,
        changed=delayed.late_lewa,
        begin=begin,
        certificate=lambda learner, s: s.queue.copy(),  # V <= Q, in whatever order answers come
    )

    def start(self, actions: int) -> LateLewaState:
        K, m = sizes_of(self, actions)
        return first_state(LateLewaState, K, m, totals=np.zeros(4), charged=np.zeros(m + 1))

    def play(self, s: LateLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def charge(self, s: LateLewaState, action: int) -> None:
        open_decision(s, cost(s, 1))  # pi_t, b_t, n
        weigh(s)

    def learn(self, s: LateLewaState, seen: Full) -> None:
        quoted = seen.charged[s.queue.size] > 0
        for i in range(s.gains.size):
            s.gains[i] += seen.rewards[i]
        for j in range(s.queue.size):  # G <- G + r + pi c, Q <- [Q + c0 - p.c]+
            price = seen.charged[j] if quoted else s.multiplier[j]
            for i in range(s.gains.size):
                s.gains[i] += price * seen.constraints[j, i]
            s.queue[j] = positive(s.queue[j] + self.floor[j] - seen.met[j])
        end(s, self.delta, seen.charged)
        weigh(s)

    def release(self, s: LateLewaState, charged: Vector) -> None:
        if charged[s.queue.size] > 0:  # else parameters or actions may have changed
            end(s, self.delta, charged)
        weigh(s)


@rule
def next_step(s: LateLewaState) -> float:
    """eta = 2 sqrt(ln K/n) of the next decision"""
    return 2 * sqrt(log(s.gains.size) / (s.totals[SPENT] + cost(s, 1)))


@rule
def weigh(s: LateLewaState) -> None:
    """w <- exp(eta G), eta the step of the next decision"""
    set_weights(s.weights, next_step(s), s.gains)


# Steps that follow the prices and the open decisions, of late learners for full information and for bandits --------------


def begun(s: State, start: Start, log_weights: Vector, next_cost: float) -> Start:
    """Return the start with the totals, if the weights are these; nothing is proved where they are not."""
    answers, spent, waiting, squares = s.totals.tolist()
    if waiting != start.waiting or np.ptp(s.weights.log - log_weights) > 1e-9 * (1 + np.ptp(log_weights)):
        return start
    prices = sqrt(waiting * squares)  # at least the sum of b over what is open
    return start._replace(totals=(answers, spent, next_cost, prices, *s.queue.tolist()))


@rule
def scale(multiplier: Vector) -> float:
    """b = 1 + sum_j pi_j of the next decision"""
    b = 1.0
    for j in range(multiplier.size):
        b += multiplier[j]
    return b


@rule
def cost(s: State, alone: int) -> float:
    """alone b^2 + sum (b^2 + b_u^2) over the open decisions u, b that of the next decision; alone is 1, or K for bandits"""
    b = scale(s.multiplier)
    return float((alone + s.totals[OPEN]) * b * b + s.totals[SQUARES])


@rule
def open_decision(s: State, spent: float) -> None:
    """Quote pi and b; n grows by the cost of the decision, which is open from now on"""
    b, m = scale(s.multiplier), s.multiplier.size
    for j in range(m):
        s.charged[j] = s.multiplier[j]
    s.charged[m] = b
    s.totals[SPENT] += spent
    s.totals[OPEN] += 1
    s.totals[SQUARES] += b * b


@rule
def end(s: State, delta: float, charged: Vector) -> None:
    """End a decision: s <- s + 1, pi <- Q/(delta sqrt(s + 1)); if its price was quoted, it was open"""
    b = charged[s.queue.size]
    if b > 0:
        s.totals[OPEN] = max(s.totals[OPEN] - 1, 0.0)
        s.totals[SQUARES] = max(s.totals[SQUARES] - b * b, 0.0) if s.totals[OPEN] > 0 else 0.0
    s.totals[ANSWERS] += 1
    for j in range(s.queue.size):
        s.multiplier[j] = s.queue[j] / (delta * sqrt(s.totals[ANSWERS] + 1))
