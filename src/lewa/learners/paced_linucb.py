"""LinUCB with dual pacing: the largest upper bound of a linear reward minus the priced cost of the action."""

from dataclasses import dataclass
from typing import ClassVar

from lewa.kernels import play_largest
from lewa.learners.paced_linear import PacedLinear, PacedLinearState, score
from lewa.types import Vector


@dataclass(frozen=True)
class PacedLinUcb(PacedLinear):
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

    name: ClassVar = "LinUCB with dual pacing"

    def play(self, s: PacedLinearState, p: Vector) -> None:
        score(s, self.prior, self.alpha)
        for k in range(p.size):
            p[k] = s.scores[0, k] + s.scores[1, k]
        play_largest(p)
