"""LEWA-UCB: implicit exploration for the rewards, upper confidence bounds for the constraints."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import Weights, confidence_bound, dual_step, grow_priced, ix_loss, means, normalize
from lewa.kernels.roles import Bounds, ConstraintSums, Counts, Multiplier, OfActions, OfConstraints, Scratch
from lewa.learners.base import USUAL, Bandit, Matrix, Parameters, PrimalDual, Problem, Step, Theorems, Vector, trial
from lewa.theory import bandit


class LewaUcbState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    gain: Scratch[OfActions]  # (K,)    minus the estimated loss of the last round
    drawn: Counts  # (K,)    N
    sums: ConstraintSums[Matrix]  # (m, K)  of the constraints seen
    upper: Bounds  # (m, K)  u
    met: Scratch[OfConstraints]  # (m,)    p.u of the last round


def steps(q: Problem, b: float = 0.5, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(1.5 m K)) T^(-b), delta = 2 m eta, mu = T^(b-1)/sqrt(m), L as needed."""
    eta = sqrt((q.ln_K + log(4 * q.K / epsilon)) / (1.5 * q.m * q.K)) * q.T**-b
    delta, level = 2 * q.m * eta, bandit.ucb_level(q.K, q.T, q.m, epsilon)
    return {"eta": eta, "delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m), 1 / delta), "level": level}


@dataclass(frozen=True)
class LewaUcb(PrimalDual):
    """LEWA-UCB: bounds for the single run, with a multiplier that reacts fast with many actions too.

    Rewards may change arbitrarily and are estimated in each round. Constraints have a mean, for which every action has
    an upper confidence bound, whether it was drawn or not.

    No box of the paper. With w_1 = 1, lambda_1 = 0, and N_k and mean_k the number and the mean of the observations of
    action k before round t, in round t, i the action drawn from p_t, and lhat_t = (1 - r_t)/(p_{t,i} + eta/2) at i and
    0 elsewhere::

        p_t          = w_t / sum w_t
        u_{t,k}      = min(1, mean_k + sqrt(L/(2 N_k)))                     (1 while N_k = 0)
        w_{t+1}      = w_t exp(-eta (lhat_t + lambda_t (1 - u_t)))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.u_t - c0)]+

    Order: u_t does not contain round t; the weights use lambda_t, the multiplier uses p_t. Every weight moves every
    round, and `learn` needs the whole play of the decision, which the feedback contains. Late feedback is learned with
    the multiplier and the u of the time of learning, and enters u after that.

    Parameters: eta = eta > 0; delta = delta > 0 and mu = mu > 0 with delta mu <= 1; L = level > 0; c0 = floor, each in
    [0, 1]. The proof needs delta >= 2 m eta and L >= ln(8 K m T/epsilon).

    Reading: the price lambda (1 - u) is known for all actions and is at most lambda; it is not divided by a
    probability. So delta has no factor K: eta = sqrt((ln K + ln(4K/epsilon))/(1.5 m K T)), delta = 2 m eta, mu =
    1/sqrt(m T); with `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)). A factor exp(eta lambda)
    common to all weights is left out; it does not change the play. The proof is in docs/theory_bandit.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LewaUcb.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, epsilon=0.05)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.03, proved 0.21, without learning 0.30'

    Reference: docs/theory_bandit.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    level: Step
    floor: Vector

    tunings = {"recommended": steps}
    trials = (*USUAL, trial(4, 100, 0.6, level=0.001))
    theorems = Theorems(bandit.lewa_ucb)

    def play(self, s: LewaUcbState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: LewaUcbState, seen: Bandit) -> None:
        i, lam, u = seen.action, s.multiplier, s.upper
        means(seen.play, u, s.met)  # p.u
        s.gain[i] = -ix_loss(1 - seen.reward, seen.propensity, self.eta / 2)
        grow_priced(s.weights, self.eta, s.gain, lam, u)  # w <- w exp(-eta (lhat + lam (1 - u))), up to a common factor
        s.gain[i] = 0.0
        dual_step(lam, self.delta, self.mu, s.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.u - c0)]+
        s.drawn[i] += 1
        for j in range(lam.size):  # u_i = min(1, mean_i + sqrt(L/(2 N_i)))
            s.sums[j, i] += seen.constraints[j]
            u[j, i] = confidence_bound(s.sums[j, i] / s.drawn[i], s.drawn[i], self.level, 1.0, 0.0, 1.0)
