"""Late BanditLEWA in loss form, for a known horizon: the price of the draw and the effective probability."""

from dataclasses import dataclass, field
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, effective_chance, log_sum, normalize, positive, rule, shrink_one
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Charged, Multiplier, Rescaling, Totals
from lewa.learners.base import Learner, Saved
from lewa.learners.expectations import check_reserves, reserved_means
from lewa.learners.parameter_checks import (
    check_dual,
)
from lewa.learners.parameters import Reserves, Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory import bandit, delayed_losses
from lewa.theory.delayed_dual import late_steps
from lewa.theory.setting import NO_DELAY, Setting
from lewa.theory.theorems import Statements, Theorems
from lewa.types import Matrix, Vector

QUOTED = 1.0  # in `charged`, after the prices: a price was quoted
LEAKS, HELD, ERROR = 0, 1, 2  # rows of `account`
UNKNOWN = -1e300  # LEAKS of a state that was saved without an account; prices added to it do not change it


@comparable
class LateLossState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, the price of the next decision
    log_total: Totals[Vector]  # (1,)    ln W, less what actions that were added brought in
    charged: Charged  # (m+2,)  pi, 1 and ln W, of the last decision; with reserves (2m+2,), also v
    account: Totals[Matrix]  # (3, m)  sums of pi over steps that shrink, and of c0 - v without answers; the largest |c - v|

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Add an account to the state of an earlier version, which had none: it has no certificate."""
        m = len(plain["multiplier"])
        return {"account": [[UNKNOWN] * m, [0.0] * m, [0.0] * m], **plain}


def late_loss_steps(
    q: Problem, b: float = 0.5, delay: float = 0.0, means: object = None, reserve: float = 0.0
) -> Parameters:
    """eta = sqrt(ln K/(m (K + 4 delay))) T^(-b), delta = 2 m eta (K + 4 delay), mu as below."""
    most = q.K + 4 * delay  # a pair of decisions that are open together counts twice
    eta = sqrt(q.ln_K / (q.m * most)) * q.T**-b
    return {**late_dual_steps(q, b, delay, 2 * q.m * eta * most), "eta": eta, "reserves": reserved_means(means, reserve)}


def late_dual_steps(q: Problem, b: float, delay: float, delta: float) -> Parameters:
    """mu = T^(b-1)/sqrt(m (1 + 2 delay)), at most 1/delta."""
    return {"delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m * (1 + 2 * delay)), 1 / delta)}


def at_once(learner: "LateLossBanditLewa", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of the loss form, with the dual steps of reserves."""
    learner.sizes(actions)
    dual = late_steps(learner, rounds, NO_DELAY)
    return bandit.loss_bandit_lewa(learner, actions, rounds, setting, "Late BanditLEWA, losses", dual)


def errors(learner: "LateLossBanditLewa", s: LateLossState) -> tuple[float, ...]:
    """Return the largest error of the reserves of each constraint; none without reserves."""
    return tuple(s.account[ERROR].tolist()) if learner.reserves.size else ()


def certificate(learner: "LateLossBanditLewa", s: LateLossState) -> Vector | None:
    """Return the bound on the shortfall that the account gives; None for a state that was saved without one."""
    if s.account[LEAKS].min() < 0:
        return None
    bound: Vector = s.multiplier / learner.mu + learner.delta * s.account[LEAKS] - s.account[HELD]
    return bound


@dataclass(frozen=True)
class LateLossBanditLewa(Learner):
    """Late BanditLEWA for a known horizon: regret of order sqrt(T) in expectation, for answers that come at any time.

    The loss form that learns at the price of the draw and divides by a probability that grows while an answer is late.

    No box of the paper. With w = 1 and lambda = 0 at first, at decision t::

        p_t      = w / W,   W_t = W = sum w;   i_t is drawn from p_t
        pi_t     = lambda

    when the answer to decision t comes, i = i_t::

        q        = min(1, p_{t,i} W_t/W)
        w_i      = w_i exp(-eta/q ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j})))               (the others stay)
        lambda_j = [lambda_j + mu (c0_j - c_{t,j} - delta pi_{t,j})]+

    Order: an answer is learned with the price, the probability and the sum of the weights of its own draw, at any time and
    in any order; all are stored with the decision. If a decision is closed without an answer, lambda moves as by an
    answer with c_t = c0, and the weights stay.

    With reserves v_{j,k} of each action the step of lambda has two parts, one at the draw and one at the answer::

        lambda_j = [lambda_j + mu (c0_j - v_{j,i} - delta pi_{t,j})]+
        lambda_j = [lambda_j + mu (v_{j,i} - c_{t,j})]+                                     (no step without an answer)

    If c0_j = 0, v_{j,i} is 0: such a constraint is always met.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]; v = reserves, each in [0, 1], those of all actions for
    the first constraint, then for the next; none if it is empty. The proof needs
    delta >= 2 m eta (K + 2G), where G is the largest number of decisions that were open together with one decision.

    Reading: if no answer is late, q = p_{t,i} and the rule is that of `loss-bandit-lewa`, with its bounds. With late
    answers the bound of `loss-bandit-lewa` assumes that the arrival of an answer does not depend on actions and outcomes.
    Here it may depend on anything, as with any_arrivals of `late-bandit-lewa`, which needs no horizon. The tuning is
    eta = sqrt(ln K/(m (K + 4 delay) T)), delta = 2 m eta (K + 4 delay), mu = 1/sqrt(m (1 + 2 delay) T), at most 1/delta;
    `delay` is the most decisions by which answers are late. With `b` in [1/2, 1) regret O(T^b) is traded for violation
    O(T^(1 - b/2)). The bounds hold only in expectation; `late-lewa-ix` has bounds for the single run. With long delays
    the shrinkage is large and the constraint is missed by much; `late-bandit-lewa` keeps it better. The proof is in
    docs/theory_delay.md, 9. `reserve` = 1 makes the expected constraints `means` of each action its reserve: the price then
    reacts at the draw, and the answer only corrects it (docs/theory_delay.md, 10).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateLossBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5, delay=1)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.19, without learning 0.30'

    Reference: docs/theory_delay.md; without constraints, Exp3 with late losses is in T. Thune, N. Cesa-Bianchi, Y. Seldin,
    Nonstochastic multiarmed bandits with unrestricted delays, NeurIPS 2019.
    """

    eta: Step
    delta: Step
    mu: Step
    floor: Vector
    reserves: Reserves = field(default_factory=lambda: np.zeros(0))

    reads_play = False
    quotes_prices = True
    tunings = {"recommended": late_loss_steps}
    theorems = Theorems(at_once, delayed_losses.late_loss_bandit_lewa, errors=errors, certificate=certificate)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        eager = cls.tuned(3, 100, (0.6, 0.5), delay=2, means=[[0.9, 0.3, 0.7], [0.4, 0.8, 0.6]], reserve=1)
        return [*super().examples(), (cls.tuned(4, 100, 0.6, delay=20), 4), (eager, 3)]

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        return {"reserves": [], **plain}

    def check(self) -> None:
        check_dual(self.delta, self.mu)
        check_reserves(self.reserves, self.floor)

    def start(self, actions: int) -> LateLossState:
        K, m = self.sizes(actions)
        charged, account = np.zeros(2 * m + 2 if self.reserves.size else m + 2), np.zeros((3, m))
        return first_state(LateLossState, K, m, log_total=np.array([log(K)]), charged=charged, account=account)

    def play(self, s: LateLossState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def charge(self, s: LateLossState, action: int) -> None:
        m = s.multiplier.size
        for j in range(m):
            s.charged[j] = s.multiplier[j]  # pi_t
        s.charged[m] = QUOTED
        s.charged[m + 1] = s.log_total[0]  # ln W_t
        if self.reserves.size > 0:
            K = self.reserves.size // m
            for j in range(m):  # lam <- [lam + mu (c0 - v - delta pi)]+
                v = self.reserves[j * K + action] if self.floor[j] > 0 else 0.0  # a floor of 0 cannot be missed
                s.charged[m + 2 + j] = v
                s.account[LEAKS, j] += s.multiplier[j]
                s.account[HELD, j] += self.floor[j] - v
                s.multiplier[j] = positive(s.multiplier[j] + self.mu * (self.floor[j] - v - self.delta * s.multiplier[j]))

    def learn(self, s: LateLossState, seen: Bandit) -> None:
        loss, _ = late_dual(s, seen, self.delta, self.mu, self.floor, self.reserves.size > 0)
        shrink_late(s, seen.action, self.eta * loss / late_chance(s, seen))  # w_i <- w_i exp(-eta L/q)

    def release(self, s: LateLossState, charged: Vector) -> None:
        m = s.multiplier.size
        if charged[m] > 0 and self.reserves.size == 0:  # with reserves the decision stays at its reserve
            for j in range(m):  # as if c = c0
                s.account[LEAKS, j] += charged[j]
                s.multiplier[j] = positive(s.multiplier[j] - self.mu * self.delta * charged[j])

    def rescale_charged(self, charged: Vector, units: Rescaling) -> None:
        super().rescale_charged(charged, units)
        place = self.floor.size + 2 + units.j
        if self.reserves.size and charged[self.floor.size] > 0:
            charged[place] = min(max(units.constraint(charged[place]), 0.0), 1.0)


@rule
def late_dual(s: LateLossState, seen: Bandit, delta: float, mu: float, floor: Vector, reserved: bool) -> tuple[float, float]:
    """lam <- [lam + mu (c0 - c - delta pi)]+; return L = (1 - r) + pi (1 - c) and b = 1 + pi, pi the price of the draw

    With a reserve v, the draw has made the step with v for c, and the answer corrects it: lam <- [lam + mu (v - c)]+.
    """
    m, c, lam = s.multiplier.size, seen.constraints, s.multiplier
    quoted = seen.charged[m] > 0
    loss, b = 1 - seen.reward, 1.0
    for j in range(m):
        price = seen.charged[j] if quoted else lam[j]
        loss += price * (1 - c[j])
        b += price
        if quoted and reserved:
            v = seen.charged[m + 2 + j]
            lam[j] = positive(lam[j] + mu * (v - c[j]))
            s.account[HELD, j] -= floor[j] - v
            s.account[ERROR, j] = max(s.account[ERROR, j], abs(c[j] - v))
        else:
            lam[j] = positive(lam[j] + mu * (floor[j] - c[j] - delta * price))
            s.account[LEAKS, j] += price
    return loss, b


@rule
def late_chance(s: LateLossState, seen: Bandit) -> float:
    """q = min(1, p W_t/W); p if no price was quoted"""
    m = s.multiplier.size
    if seen.charged[m] > 0:
        return effective_chance(seen.propensity, seen.charged[m + 1] - s.log_total[0])
    return seen.propensity


@rule
def shrink_late(s: LateLossState, action: int, step: float) -> None:
    """w_i <- w_i exp(-step), and ln W with it"""
    before = log_sum(s.weights)
    shrink_one(s.weights, action, step)
    s.log_total[0] += min(log_sum(s.weights) - before, 0.0)
