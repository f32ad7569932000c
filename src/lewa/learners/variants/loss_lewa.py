"""Bandit LEWA in loss form: with a known horizon, with bounds for the single run, and for an unknown horizon."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import Weights
from lewa.kernels.roles import Clock, Losses, Multiplier
from lewa.learners.base import USUAL, Learner, Parameters, PrimalDual, Problem, Step, Theorems, Vector, trial
from lewa.learners.paper.lewa import LewaState, with_entropy
from lewa.learners.variants.loss_rule import Anytime, Drawn, Fixed, Ix, LossRule, Weighted
from lewa.theory import bandit, delayed
from lewa.theory.guarantees import none


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


def anytime_steps(q: Problem) -> Parameters:
    """delta = sqrt(2 m (4 K ln K + 1)), eta = delta/(4 m K), for every horizon."""
    delta = sqrt(2 * q.m * (4 * q.K * q.ln_K + 1))
    return {"eta": delta / (4 * q.m * q.K), "delta": delta}


@dataclass(frozen=True)
class LossLewa(Weighted, Fixed, Drawn, LossRule, PrimalDual):
    """LossLEWA: BanditLEWA on losses; regret of order sqrt(T) in expectation.

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
    >>> learner = lewa.learners.LossLewa.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_bandit.md; without constraints it is Exp3 with losses, S. Bubeck, N. Cesa-Bianchi, Regret
    analysis of stochastic and nonstochastic multi-armed bandit problems, Foundations and Trends in ML 5, 2012, section 3.
    """

    floor: Vector

    State = LewaState
    proved_with_shares = True
    tunings = {"recommended": loss_steps}
    theorems = Theorems(bandit.loss_lewa, delayed.loss_lewa, changed=delayed.loss_lewa, begin=with_entropy)


@dataclass(frozen=True)
class LewaIx(Ix, Fixed, Drawn, LossRule, PrimalDual):
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

    floor: Vector

    State = LewaState
    tunings = {"recommended": ix_steps}
    theorems = Theorems(bandit.lewa_ix, lambda *problem: (none("LEWA-IX", delayed.CHANCE),))


class AnytimeLossLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    losses: Losses  # (K,)    the estimated losses added up
    clock: Clock  # (1,)    t, the rounds answered


@dataclass(frozen=True)
class AnytimeLossLewa(Weighted, Anytime, Drawn, LossRule, Learner):
    """Anytime LossLEWA: the loss form for an unknown horizon.

    Every step decreases as 1/sqrt(t), and one bound holds at every T.

    No box of the paper. With Lhat_0 = 0 and lambda_1 = 0, in round t, i the action drawn from p_t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = w_t / sum w_t,   w_t = exp(-eta_t Lhat_{t-1})
        Lhat_{t,i}   = Lhat_{t-1,i} + ((1 - r_t) + lambda_t (1 - c_t))/p_{t,i}             (the others stay)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the loss uses lambda_t; both move at once. For m constraints lambda (1 - c) is the sum over constraints. The
    current step weighs all past losses, so every weight moves every round. The probability p_{t,i} is that of the draw,
    which the feedback contains; t counts the rounds that were answered. The multiplier is that of the time of learning,
    as in `loss-lewa`.

    Parameters: eta = eta > 0; delta = delta > 0; c0 = floor, each in [0, 1]. The proof needs delta >= 4 m eta K.

    Reading: 1/mu_t - 1/mu_{t-1} = delta_t, so in the proof the dual step's terms cancel exactly; and as 1 - delta_t mu_t =
    sqrt((t - 1)/t), the multiplier is a queue, Q_t = [Q_{t-1} + c0 - c_t]+, divided by delta sqrt(t). The tuning is
    delta = sqrt(2 m (4 K ln K + 1)), eta = delta/(4 m K); for m = 1 regret <= delta sqrt(T) in expectation, at every T. The
    proof is in docs/theory_bandit.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.AnytimeLossLewa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_bandit.md; the lazy step is P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident
    on-line learning algorithms, J. Comput. Syst. Sci. 64, 2002.
    """

    eta: Step
    delta: Step
    floor: Vector

    State = AnytimeLossLewaState
    all_weights_move = True
    tunings = {"recommended": anytime_steps}
    trials = (trial(3, 200, 0.5, eta=0.1), *USUAL[1:])  # small steps keep the losses of rare draws from dwarfing all others
    theorems = Theorems(bandit.anytime_loss_lewa)
