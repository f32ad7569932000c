"""LinTS with dual pacing: the largest sample of a linear reward minus the priced cost of the action."""

from dataclasses import dataclass
from typing import ClassVar

from lewa.kernels import chances_to_be_largest
from lewa.learners.paced_linear import PacedLinear, PacedLinearState, score
from lewa.types import Vector


@dataclass(frozen=True)
class PacedLinTs(PacedLinear):
    """LinTS with dual pacing: sampled linear rewards, and a price that follows the average spending.

    A learner of another paper, for contexts. r_k, z_{j,k}, A_k, and the price lambda are those of `paced-linucb`. In
    round t::

        y_k ~ normal with the mean r_k - lambda.z_k and the standard deviation alpha sqrt(x' A_k^-1 x), independent
        p_t = the probability that y_k is the largest, over the available actions

    Order: a round counts when its answer comes, which may be late; the price does not move before that. Values outside
    [0, 1] are used unchanged.

    Parameters: those of `paced-linucb`.

    Reading: alpha = 0.5, step = 0.05, share = 0.02, rho = 1, and the prior of a reward is 0. Thompson sampling draws
    coefficients; the value at x then has this distribution. Here an action is drawn with the probability that its value
    is the largest, so its propensity is known. This probability is an integral, computed by a sum of 17 terms in time
    of order K^2. Nothing is proved about this learner. Results on data are in docs/contexts.md.

    >>> import lewa
    >>> game = lewa.games.Contextual()
    >>> learner = lewa.learners.PacedLinTs.tuned(actions=3, horizon=1, floor=0.7, features=game.features)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"reward {trace.reward[0, -1] / 10_000:.3f}, violation {lewa.violation(trace)[0, 0]:.0f}"
    'reward 0.373, violation 0'

    Reference: S. Agrawal, N. Goyal, Thompson sampling for contextual bandits with linear payoffs, ICML 2013.
    """

    name: ClassVar = "LinTS with dual pacing"

    def play(self, s: PacedLinearState, p: Vector) -> None:
        score(s, self.prior, self.alpha)
        chances_to_be_largest(s.scores[0], s.scores[1], p)
