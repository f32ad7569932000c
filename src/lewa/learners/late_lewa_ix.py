"""Late LEWA-IX: LEWA-IX with the price of the draw and the effective probability, for answers that come late."""

from dataclasses import dataclass
from math import log, sqrt

from lewa.feedback import Bandit
from lewa.kernels import ix_loss
from lewa.learners.expectations import reserved_means
from lewa.learners.late_loss_bandit_lewa import (
    LateLossBanditLewa,
    LateLossState,
    late_chance,
    late_dual,
    late_dual_steps,
    shrink_late,
)
from lewa.learners.problem import Parameters, Problem
from lewa.theory import bandit, delayed_ix
from lewa.theory.delayed_dual import late_steps
from lewa.theory.setting import NO_DELAY, Setting
from lewa.theory.theorems import Statements


def late_ix_steps(
    q: Problem, b: float = 0.5, delay: float = 0.0, means: object = None, epsilon: float = 0.05, reserve: float = 0.0
) -> Parameters:
    """eta = sqrt((ln K + ln(5K/epsilon))/(2 m (K + 2 delay))) T^(-b), delta = 8 m eta (K + 2 delay), mu as of losses."""
    most = q.K + 2 * delay  # decisions that are open together count as actions do
    eta = sqrt((q.ln_K + log(5 * q.K / epsilon)) / (2 * q.m * most)) * q.T**-b
    return {**late_dual_steps(q, b, delay, 8 * q.m * eta * most), "eta": eta, "reserves": reserved_means(means, reserve)}


def at_once(learner: "LateLewaIx", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of LEWA-IX, with the dual steps of reserves."""
    learner.sizes(actions)
    return bandit.lewa_ix(learner, actions, rounds, setting, "Late LEWA-IX", late_steps(learner, rounds, NO_DELAY))


@dataclass(frozen=True)
class LateLewaIx(LateLossBanditLewa):
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
    answer with c_t = c0, and the weights stay. With reserves the step of lambda has two parts, as in
    `late-loss-bandit-lewa`.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]; reserves, as in `late-loss-bandit-lewa`. The proof needs delta > 4 m eta
    (K + G), where G is the largest number of decisions that were open together with one decision.

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

    tunings = {"recommended": late_ix_steps}
    theorems = LateLossBanditLewa.theorems._replace(
        at_once=at_once, late=delayed_ix.late_lewa_ix, probable=delayed_ix.late_lewa_ix
    )

    def learn(self, s: LateLossState, seen: Bandit) -> None:
        loss, b = late_dual(s, seen, self.delta, self.mu, self.floor, self.reserves.size > 0)
        step = ix_loss(self.eta * loss, late_chance(s, seen), self.eta / 2 * b)
        shrink_late(s, seen.action, step)  # w_i <- w_i exp(-eta L/(q + g))
