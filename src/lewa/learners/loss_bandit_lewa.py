"""BanditLEWA in loss form, which needs no exploration, and LEWA-IX, its form with implicit exploration."""

from dataclasses import dataclass
from math import log, sqrt

from lewa.feedback import Bandit
from lewa.kernels import draw, dual_step, ix_loss, normalize, priced_loss, shrink_one, total
from lewa.learners.base import PrimalDual
from lewa.learners.paper.lewa import LewaState, with_entropy
from lewa.learners.parameters import Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory import bandit, delayed
from lewa.theory.guarantees import none
from lewa.theory.theorems import Theorems
from lewa.types import Vector


def loss_steps(q: Problem, b: float = 0.5, delay: float = 0.0) -> Parameters:
    """eta = sqrt(ln K/(m K)) T^(-b), delta = 2 m eta K, mu = T^(b-1)/sqrt(m), at most 1/delta; K + 2 delay for K."""
    most = q.K + 2 * delay  # decisions that are open together count as actions do
    eta = sqrt(q.ln_K / (q.m * most)) * q.T**-b
    delta = 2 * q.m * eta * most
    return {"eta": eta, "delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m), 1 / delta)}


def ix_steps(q: Problem, b: float = 0.5, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(2 m K)) T^(-b), delta = 8 m eta K, mu = T^(b-1)/sqrt(m), at most 1/delta."""
    eta = sqrt((q.ln_K + log(4 * q.K / epsilon)) / (2 * q.m * q.K)) * q.T**-b
    delta = 8 * q.m * eta * q.K
    return {"eta": eta, "delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m), 1 / delta)}


@dataclass(frozen=True)
class LossBanditLewa(PrimalDual):
    """BanditLEWA in loss form: regret of order sqrt(T) in expectation.

    LEWA on importance-weighted estimates of the loss of the action drawn, without explicit exploration.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        p_t          = w_t / sum w_t
        w_{t+1,i}    = w_{t,i} exp(-eta/p_{t,i} ((1 - r_t) + lambda_t (1 - c_t)))          (the other weights stay)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weight uses lambda_t; both move at once. For m constraints lambda (1 - c) is the sum over constraints. The
    probability p_{t,i} is that of the draw, which the feedback contains. The multiplier is that of the time of
    learning: the draw of a late answer does not depend on it, so the estimate of the loss at the current price is
    unbiased. The dual step uses the same price.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs delta >= 2 m eta K.

    Reading: box 3 estimates gains, so an action that is never drawn never gains; it has to explore, which makes its
    bounds of order T^(3/4). An estimated loss is at least 0, so exp(-x) <= 1 - x + x^2/2 holds without any exploration,
    and the bound on regret is only 2 sqrt(K T ln K) + sqrt(T)/2 at eta = sqrt(ln K/(m K T)), delta = 2 m eta K, mu =
    1/sqrt(m T), m = 1; with `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)). The bound holds only
    in expectation: an action that loses when its probability is small may never be drawn again even if it becomes the
    best one, and the regret of a single run can be many times the bound. `lewa-ix` has bounds for the single run. The
    proof is in docs/theory_bandit.md, 1. With answers that are late by up to `delay` decisions the tuning has K + 2
    delay for K, and docs/theory_delay.md, 4, has the bound on regret.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LossBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_bandit.md; without constraints it is Exp3 with losses, S. Bubeck, N. Cesa-Bianchi, Regret
    analysis of stochastic and nonstochastic multi-armed bandit problems, Foundations and Trends in ML 5, 2012, section 3.
    """

    eta: Step
    delta: Step
    mu: Step
    floor: Vector

    proved_with_shares = True
    tunings = {"recommended": loss_steps}
    theorems = Theorems(
        bandit.loss_bandit_lewa, delayed.loss_bandit_lewa, changed=delayed.loss_bandit_lewa, begin=with_entropy
    )

    def play(self, s: LewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def choose(self, s: LewaState, u: float) -> tuple[int, float]:
        return draw(s.weights, 0.0, u)  # i ~ p, and p_i

    def learn(self, s: LewaState, seen: Bandit) -> None:
        i, p, c, lam = seen.action, seen.propensity, seen.constraints, s.multiplier
        loss = priced_loss(seen.reward, lam, c)  # L = (1 - r) + lam (1 - c)
        shrink_one(s.weights, i, self.eta * loss / p)  # w_i <- w_i exp(-eta L/p_i)
        dual_step(lam, self.delta, self.mu, c, self.floor)  # lam <- [(1 - delta mu) lam - mu (c - c0)]+


@dataclass(frozen=True)
class LewaIx(LossBanditLewa):
    """LEWA-IX: bandit LEWA with bounds for the single run, at the cost of a logarithm.

    The loss form with a small number added to the probability that divides a loss, in proportion to the largest
    possible loss.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        p_t          = w_t / sum w_t
        g_t          = (eta/2) (1 + lambda_t)
        w_{t+1,i}    = w_{t,i} exp(-eta/(p_{t,i} + g_t) ((1 - r_t) + lambda_t (1 - c_t)))  (the other weights stay)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weight uses lambda_t; both move at once. For m constraints lambda and lambda (1 - c) are sums over
    constraints. The probability p_{t,i} is that of the draw, which the feedback contains. The multiplier is that of the
    time of learning, in the loss and in g_t: g_t has to be eta/2 times the largest loss at the price that the loss
    uses. So with late feedback, too, losses are only underestimated on average.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs delta > 4 m eta K.

    Reading: a log-weight moves by at most 2 in a round, so no single draw excludes an action for long, and the regret
    of single runs is of order sqrt(K T ln(K/epsilon)), also if rewards react to the past. `epsilon` affects only the
    tuning, eta = sqrt((ln K + ln(4K/epsilon))/(2 m K T)), delta = 8 m eta K, mu = 1/sqrt(m T): the learner has bounds
    at every other epsilon too. With `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)). The proof is
    in docs/theory_bandit.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LewaIx.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, epsilon=0.05)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.04, proved 0.37, without learning 0.30'

    Reference: docs/theory_bandit.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    proved_with_shares = False
    tunings = {"recommended": ix_steps}
    theorems = Theorems(bandit.lewa_ix, lambda *problem: (none("LEWA-IX", delayed.CHANCE),))

    def learn(self, s: LewaState, seen: Bandit) -> None:
        i, p, c, lam = seen.action, seen.propensity, seen.constraints, s.multiplier
        loss, g = priced_loss(seen.reward, lam, c), self.eta / 2 * (1 + total(lam))  # L = (1 - r) + lam (1 - c)
        shrink_one(s.weights, i, ix_loss(self.eta * loss, p, g))  # w_i <- w_i exp(-eta L/(p_i + g))
        dual_step(lam, self.delta, self.mu, c, self.floor)  # lam <- [(1 - delta mu) lam - mu (c - c0)]+
