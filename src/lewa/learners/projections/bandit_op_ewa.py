"""Bandit OP-EWA: OP-EWA for bandit feedback."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels.estimates import confidence_bound_of, confidence_bounds, ix_loss, update_mean_of
from lewa.kernels.projection import prices, project_or_relax_bounds
from lewa.kernels.roles import Bounds, ConstraintMeans, Counts, Multiplier
from lewa.kernels.tilting import Tilt
from lewa.kernels.weights.hedge import Weights, normalize, shrink_one
from lewa.learners.base import USUAL, Bandit, Learner, Matrix, Parameters, Positive, Problem, Step, Theorems, Vector, trial
from lewa.learners.projections.op_ewa import Bonus, Corruption
from lewa.theory import bandit, projected


class BanditOpEwaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action
    upper: Bounds  # (m, K)  u
    tilt: Tilt  # eta lambda, and its working memory


def ix_step(q: Problem, epsilon: float) -> Parameters:
    """Return the step that balances the regret of implicit exploration, and the level of the radii."""
    eta = sqrt((q.ln_K + log(4 * q.K / epsilon)) / (q.K * q.T))
    return {"eta": eta, "level": bandit.ucb_level(q.K, q.T, q.m, epsilon)}


def steps(q: Problem, kappa: float = 1.0, corruption: float = 0.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon)."""
    return {**ix_step(q, epsilon), "kappa": kappa, "corruption": corruption}


@dataclass(frozen=True)
class BanditOpEwa(Learner):
    """Bandit OP-EWA: implicit exploration, projected onto an optimistic feasible set.

    Rewards are estimated by implicit exploration (Exp3-IX), constraints by an upper confidence bound for every action.
    The play meets the floors as if these bounds were the true means. No multiplier has to be learned.

    No box of the paper. With p_1 uniform, and N_k and mean_k the number and the mean of the observations of action k up
    to round t, in round t, i the action drawn from p_t::

        w_{t+1,i}   = p_{t,i} exp(-eta (1 - r_t)/(p_{t,i} + eta/2))           (the other weights are those of p_t)
        u_{t+1,k}   = mean_k + kappa sqrt(L/(2 N_k)) + C/N_k, clipped to [0, 1]  (1 while N_k = 0)
        p_{t+1}     = the play nearest to w_{t+1} / sum w_{t+1}, in relative entropy, with p.u_{t+1} >= c0
                      (with 1 for kappa, if there is none; w itself, if there still is none)

    Order: u_{t+1} contains round t. The probability p_{t,i} is that of the draw, which the feedback contains. The next
    step starts from the projected play. With m constraints there are m half-spaces.

    Parameters: eta = eta > 0; L = level > 0; kappa = kappa in [-1, 1], the bonus; c0 = floor, each in [0, 1]; C =
    corruption >= 0, the total corruption of the constraints.

    Reading: eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8KmT/epsilon). kappa = 1 is the theorem: with probability
    1 - epsilon, against rewards that react, for all plays that meet the floors at once, regret <= 2 sqrt(K T (ln K +
    ln(4K/epsilon))) + ln(4/epsilon), and the sum of all shortfalls is at most K + 2 sqrt(2 L K T) + sqrt((T/2)
    ln(4/epsilon)), without slack. If constraints are corrupted by at most C in total, and C is known, the bound on
    regret is the same and that on shortfalls grows by (K + 1) C (1 + ln T). If constraints are the same in every round
    and C = 0, there is a theorem for every kappa >= 0; with kappa = 0 the expected sum of shortfalls is at most K.
    Otherwise nothing is proved for kappa < 1, because the set may exclude plays that meet the floors, and an excluded
    action is not drawn again. In practice the shortfalls with kappa = 0 are much smaller. At any kappa an action that
    was not tried yet counts as meeting every floor, so that it is tried. Proof: docs/theory_projected.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for kappa in (1, 0):
    ...     learner = lewa.learners.BanditOpEwa.tuned(actions=2, horizon=100_000, floor=0.5, kappa=kappa)
    ...     trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls {lewa.positive_violation(trace).max():.0f}"
    'regret at most -1580, shortfalls 2852'
    'regret at most 114, shortfalls 348'
    >>> bound = lewa.guarantee(learner.replace(kappa=1.0), actions=2, rounds=100_000)
    >>> f"proved for kappa = 1 with probability 0.95: {bound.regret:.0f} and {bound.positive_violation[0]:.0f}"
    'proved for kappa = 1 with probability 0.95: 2153 and 5728'

    Reference: docs/theory_projected.md; F. E. Stradi, K. Kalupahana, M. Castiglioni, A. Marchesi, N. Gatti, Truly
    adapting to adversarial constraints in constrained MABs, COLT 2026; implicit exploration is G. Neu, NIPS 2015.
    """

    eta: Step
    level: Positive
    kappa: Bonus
    floor: Vector
    corruption: Corruption = 0.0

    tunings = {"recommended": steps}
    trials = (
        *(*USUAL, trial(4, 100, 0.6, level=0.01), trial(4, 100, (0.4, 0.5), kappa=-1, level=0.01)),
        trial(4, 100, 0.6, corruption=0.5, level=0.01),
    )
    theorems = Theorems(projected.bandit_op_ewa)

    def play(self, s: BanditOpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: BanditOpEwaState, seen: Bandit) -> None:
        i, N, u, L, C = seen.action, s.drawn, s.upper, self.level, self.corruption
        loss = ix_loss(self.eta * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - r)/(p_i + eta/2))
        N[i] += 1
        update_mean_of(s.mean, i, seen.constraints, N[i])
        confidence_bound_of(s.mean, i, N[i], L, self.kappa, C, u)  # u_i = mean_i + kappa sqrt(L/(2 N_i)) + C/N_i
        if project_or_relax_bounds(s.weights, u, s.mean, N, L, C, self.floor, s.tilt):  # p.u >= c0, or with 1 for kappa
            confidence_bounds(s.mean, N, L, self.kappa, C, 1.0, u)
        prices(s.tilt, self.eta, s.multiplier)
