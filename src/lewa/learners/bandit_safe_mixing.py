"""Bandit safe mixing: no round below the floors, for bandit feedback."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import (
    Tilt,
    Weights,
    comparable,
    confidence_bound_of,
    ix_loss,
    mix_one,
    no_tilt,
    normalize,
    ones,
    prices,
    project,
    safe_share,
    shrink_one,
    update_mean_of,
)
from lewa.kernels.roles import Bounds, ConstraintMeans, Counts, Multiplier, Scores, Totals
from lewa.learners.bandit_op_ewa import ix_step
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem
from lewa.learners.parameters import NO_ACTION, SpecialAction
from lewa.learners.safe_mixing import WithSafeAction, check_safe
from lewa.theory import bandit, projected
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector


@comparable
class BanditSafeMixingState(NamedTuple):
    weights: Weights  # w, of x
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action
    upper: Bounds  # (m, K)  u
    lower: Scores[Matrix]  # (m, K)  v
    tilt: Tilt  # eta lambda, and its working memory
    safety: Totals[Vector]  # (1,)    sigma, the share of the safe action


@dataclass(frozen=True)
class BanditSafeMixing(WithSafeAction):
    """Bandit safe mixing: keeps the floor in every round, with bandit feedback.

    Each round mixes as much of the safe action into the play of bandit OP-EWA as is needed to meet the floors with
    certainty. No box of the paper. With x_1 uniform, sigma_1 = max_j c0/(c0 + margin), and N_k and mean_k the number
    and the mean of the observations of action k up to round t, in round t, i the action drawn from p_t::

        p_t         = sigma_t e_safe + (1 - sigma_t) x_t
        w_{t+1,i}   = x_{t,i} exp(-eta (1 - sigma_t) (1 - r_t)/(p_{t,i} + eta/2))       (the other weights are those of x_t)
        u_k, v_k    = mean_k + sqrt(L/(2 N_k)) and mean_k - sqrt(L/(2 N_k)), clipped to [0, 1]       (1 and 0 while N_k = 0)
        x_{t+1}     = the play nearest to w_{t+1} / sum w_{t+1}, in relative entropy, with p.u >= c0
                      (w itself, if there is none)
        s_j         = [c0 - x_{t+1}.v]+
        sigma_{t+1} = max_j s_j/(s_j + margin)

    Order: u and v contain round t. The feedback contains the probability p_{t,i} of the draw; for late feedback sigma
    is that of the time of learning.

    Parameters: eta = eta > 0; L = level > 0; safe = safe, the number of an action, or -1 if none is known; margin =
    margin >= 0, the amount by which the mean of that action is known to exceed every floor; c0 = floor, each in [0, 1].

    Reading: eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8KmT/epsilon); `safe` and `margin` as for safe-mixing.
    S-OPS learns with the whole step. Here the step is multiplied by 1 - sigma, the share of x in the play, so that no
    factor 1/margin enters the weights. With probability 1 - epsilon, p_t.c >= c0 in every round, and the bound on
    regret is that of bandit OP-EWA plus its bound on the shortfalls divided by margin. Proof: docs/theory_projected.md,
    5.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.BanditSafeMixing.tuned(actions=2, horizon=1_000_000, floor=0.5, safe=1, margin=0.3)
    >>> trace = lewa.play(learner, game, rounds=1_000_000, seeds=2)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=1_000_000)
    >>> f"shortfalls {lewa.positive_violation(trace).max():.1f}, regret {lewa.regret(trace).max():.0f}"
    'shortfalls 0.0, regret 5980'
    >>> f"proved with probability 0.95: {bound.positive_violation[0]:.1f} and {bound.regret:.0f}"
    'proved with probability 0.95: 0.0 and 70743'

    Reference: docs/theory_projected.md; the idea is that of S-OPS, F. E. Stradi et al., ICML 2025.
    """

    eta: float
    level: float
    safe: SpecialAction
    margin: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        safe: float = NO_ACTION,
        margin: float = 0.0,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """Return the learner with eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        safe
            The index of an action that is known to be safe; -1 if there is none.
        margin
            The amount by which the safe action exceeds every floor.
        epsilon
            The probability with which the bounds may fail.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        check_safe(safe, margin, floor, K)
        return cls(ix_step(K, T, epsilon), bandit.ucb_level(K, T, floor.size, epsilon), safe, margin, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 100, (0.4, 0.2), safe=2, margin=0.1), 5),
            (cls.tuned(1, 50, 0.5, safe=0, margin=0.1), 1),
            (cls.tuned(4, 100, 0.6, safe=3, margin=0.4).replace(level=0.01), 4),
        ]

    def check(self) -> None:
        super().check()
        check_positive(eta=self.eta, level=self.level)

    def start(self, actions: int) -> BanditSafeMixingState:
        K, m = self.sizes(actions)
        mean, u, v, sigma = np.zeros((m, K)), np.ones((m, K)), np.zeros((m, K)), self.first_safety(K)
        return BanditSafeMixingState(ones(K), np.zeros(m), np.zeros(K), mean, u, v, no_tilt(K, m), sigma)

    def play(self, s: BanditSafeMixingState, p: Vector) -> None:
        normalize(s.weights, p)  # x = w / sum w
        mix_one(p, int(self.safe), s.safety[0])  # p = sigma e_safe + (1 - sigma) x

    def learn(self, s: BanditSafeMixingState, seen: Bandit) -> None:
        i, c0, N = seen.action, self.floor, s.drawn
        loss = ix_loss(self.eta * (1 - s.safety[0]) * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - sigma) (1 - r)/(p_i + eta/2))
        N[i] += 1
        update_mean_of(s.mean, i, seen.constraints, N[i])
        confidence_bound_of(s.mean, i, N[i], self.level, 1.0, 0.0, s.upper)  # u_i = mean_i + sqrt(L/(2 N_i)), in [0, 1]
        confidence_bound_of(s.mean, i, N[i], self.level, -1.0, 0.0, s.lower)  # v_i = mean_i - sqrt(L/(2 N_i)), in [0, 1]
        project(s.weights, s.upper, c0, s.tilt)  # w <- the nearest with p.u >= c0
        prices(s.tilt, self.eta, s.multiplier)
        if self.safe >= 0:  # sigma = max s/(s + margin), s = [c0 - x.v]+
            s.safety[0] = safe_share(s.weights, s.lower, 0.0, c0, self.margin)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.bandit_safe_mixing(self, actions, rounds, setting)
