"""LinUCB with dual pacing: a ridge regression of the reward for each action, and a price that is paced."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Annotated, NamedTuple

import numpy as np

from lewa.kernels import Ridge, add_features, add_target, no_ridge, pace_by_average, play_largest, ridge_mean, rule, whiten
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Available, Axes, CostAverages, CostSums, Counts, Features, Multiplier, Scratch
from lewa.learners.base import USUAL, Bandit, Learner, Matrix, Parameters, Problem, Vector, nothing_proved, sizes_of, trial
from lewa.learners.parameter_checks import check_known, expected_values, require
from lewa.learners.parameters import ExpectedCosts, Positive, ShareOrAll, Step
from lewa.theory import rivals
from lewa.validation import as_count

ALPHA, STEP, SHARE = 0.5, 0.05, 0.02  # of the width, of the price, and of a round in the moving average


class PacedLinUcbState(NamedTuple):
    drawn: Counts  # (K,)    n, the answers of each action
    multiplier: Multiplier  # (m,)    lambda
    spent: CostAverages  # (m,)    e, the moving average of the costs
    cost: CostSums[Matrix]  # (m, K)  the sum of each action's costs
    available: Available  # (K,)    1, or 0 for an action that cannot be drawn now
    features: Features  # (d,)    x, of the round at hand
    ridge: Ridge  # of the reward, less its prior
    scores: Scratch[Annotated[Matrix, Axes((2, "K"))]]  # (2, K)  of each action in this context, and their spread


def usual(q: Problem, means: object = None, rewards: object = None, features: int = 1) -> Parameters:
    """alpha = 0.5, step = 0.05, share = 0.02, rho = 1; an unknown reward has the prior 0, an unknown cost the limit."""
    prior = expected_values(q.floor, q.K, means, 0.0 if rewards is None else rewards)
    return {"alpha": ALPHA, "step": STEP, "share": SHARE, "prior": prior, "ridge": np.ones(as_count("features", features))}


@dataclass(frozen=True)
class PacedLinUcb(Learner):
    """LinUCB with dual pacing: optimistic linear rewards, and a price that follows the average spending.

    A learner of another paper, for contexts. Costs are z = 1 - c with limits b = 1 - c0. With A_k = diag(rho) + sum of
    x x' over the answers of action k, n_k their number, lambda_1 = 0 and e_1 = b, in round t::

        r_k      = prior + x' A_k^-1 (sum of (r - prior) x)          z_{j,k} = (prior + the sum of its costs)/(1 + n_k)
        p_t      = the available action with the largest r_k + alpha sqrt(x' A_k^-1 x) - lambda.z_k; evenly, if several
        when the answer comes:
        e_j      = (1 - share) e_j + share z_j
        lambda_j = [lambda_j + step (e_j/b_j - 1)]+

    Order: a round counts when its answer comes, which may be late; the price does not move before that. Values outside
    [0, 1] are used unchanged.

    Parameters: alpha > 0, the width; step > 0, the step of the price; share in (0, 1], the share of a round in the
    moving average e; prior (1+m, K), the expected values before any answer; rho = ridge > 0, one per feature; c0 =
    floor, each in [0, 1].

    Reading: alpha = 0.5, step = 0.05, share = 0.02, rho = 1, and the prior of a reward is 0. The published router also
    forgets old answers and limits its price. The price does not depend on a debt, so overspending is not paid back.
    Costs are means per action and do not depend on the context. Nothing is proved about this learner. Results on data
    are in docs/contexts.md.

    >>> import lewa
    >>> game = lewa.games.Contextual()
    >>> learner = lewa.learners.PacedLinUcb.tuned(actions=3, horizon=1, floor=0.7, features=game.features)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"reward {trace.reward[0, -1] / 10_000:.3f}, violation {lewa.violation(trace)[0, 0]:.0f}"
    'reward 0.377, violation 0'

    Reference: L. Li, W. Chu, J. Langford, R. Schapire, A contextual-bandit approach to personalized news article
    recommendation, WWW 2010; with a budget pacer, the package `paretobandit`.
    """

    alpha: Positive
    step: Step
    share: ShareOrAll
    prior: ExpectedCosts
    ridge: Vector
    floor: Vector

    unbounded = True
    weighs_propensities = False
    reads_play = False
    keeps_shares = False
    purpose = "comparison"
    tunings = {"recommended": usual}
    trials = (*USUAL, trial(3, 200, (0.5, 0.4), features=4))
    theorems = nothing_proved("LinUCB with dual pacing", rivals.PACED_LINEAR)

    def check(self) -> None:
        check_known(self.prior, self.floor)
        require(self.prior.shape[1] > 0, "the prior must have one column per action", prior=self.prior.shape)
        fine = self.ridge.ndim == 1 and self.ridge.size > 0 and (np.isfinite(self.ridge) & (self.ridge > 0)).all()
        require(bool(fine), "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def start(self, actions: int) -> PacedLinUcbState:
        K, m = sizes_of(self, actions)
        features, ridge = np.eye(1, self.ridge.size)[0], no_ridge(self.ridge, 1, K)  # nothing but the constant
        return first_state(PacedLinUcbState, K, m, spent=1 - self.floor, features=features, ridge=ridge)

    def play(self, s: PacedLinUcbState, p: Vector) -> None:
        score(s, self.prior, self.alpha)
        for k in range(p.size):
            p[k] = s.scores[0, k] + s.scores[1, k]
        play_largest(p)

    def learn(self, s: PacedLinUcbState, seen: Bandit) -> None:
        i = seen.action
        s.drawn[i] += 1
        add_target(s.ridge, s.features, i, seen.reward - self.prior[0, i])
        add_features(s.ridge, s.features, i, 1)
        for j in range(self.floor.size):
            z = 1 - seen.constraints[j]
            s.cost[j, i] += z
            pace_by_average(s.multiplier, s.spent, j, 1 - self.floor[j], z, self.step, self.share)


@rule
def score(s: PacedLinUcbState, prior: Matrix, alpha: float) -> None:
    """scores <- prior + x' A_k^-1 b_k - lambda.z_k and alpha sqrt(x' A_k^-1 x), of each action; -inf if it is missing"""
    for k in range(s.drawn.size):
        s.scores[1, k] = alpha * sqrt(whiten(s.ridge, s.features, k))
        s.scores[0, k] = prior[0, k] + ridge_mean(s.ridge, k, k) if s.available[k] > 0 else -inf
        for j in range(s.multiplier.size):
            s.scores[0, k] -= s.multiplier[j] * (prior[1 + j, k] + s.cost[j, k]) / (1 + s.drawn[k])
