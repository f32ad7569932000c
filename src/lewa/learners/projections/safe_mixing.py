"""Safe mixing: no round below the floors, given an action that is known to be safe; for full and bandit feedback."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from lewa.feedback import Bandit, Full
from lewa.kernels.estimates import confidence_bound_of, ix_loss, update_mean_of, update_means
from lewa.kernels.first_state import first_state
from lewa.kernels.projection import ease_floors, prices, project, safe_share
from lewa.kernels.records import state_type
from lewa.kernels.roles import Bounds, Clock, ConstraintMeans, Counts, Least, Lines, Multiplier, Scores, Totals
from lewa.kernels.tilting import Tilt
from lewa.kernels.weights.hedge import Weights, grow, mix_one, normalize, shrink_one
from lewa.learners.base import Learner, Parameters, Positive, Problem, SpecialAction, Step, Theorems, sizes_of, trial
from lewa.learners.parameter_checks import require
from lewa.learners.parameters import NO_ACTION
from lewa.learners.projections.op_ewa import ix_step
from lewa.theory import paper, projected
from lewa.types import Matrix, State, Vector
from lewa.validation import as_real

SAFE = (trial(3, 200, 0.5), trial(5, 100, (0.4, 0.2), safe=2, margin=0.1), trial(1, 50, 0.5, safe=0, margin=0.1))


def check_safe(safe: float, margin: float, floor: Vector) -> None:
    """Check that the safe action is an index or none, and that floor + margin is at most 1."""
    place, more = as_real("safe", safe), as_real("margin", margin)
    known = 0 <= place < float("inf") and place % 1 == 0
    require(known or place == NO_ACTION, "safe must be the index of an action", safe=safe)
    most = 1 - float(floor.max())
    require(0 <= more <= most + 1e-12, f"margin must lie between 0 and 1 - floor = {most:.6g}", margin=margin)


class WithSafeAction(Learner):
    """A learner that knows a safe action and plays it with probability sigma."""

    safe: SpecialAction
    margin: float

    def check(self) -> None:
        check_safe(self.safe, self.margin, self.floor)

    def start(self, actions: int) -> Any:
        """Return the first state; sigma_1 = max_j c0/(c0 + margin), as every other action may have constraint 0."""
        floors = [c0 for c0 in self.floor.tolist() if c0 > 0 and self.safe >= 0]
        sigma = max((c0 / (c0 + self.margin) for c0 in floors), default=0.0)
        return first_state(state_type(type(self)), *sizes_of(self, actions), safety=np.array([sigma]))

    def play(self, s: State, p: Vector) -> None:
        normalize(s.weights, p)  # x = w / sum w
        mix_one(p, int(self.safe), s.safety[0])  # p = sigma e_safe + (1 - sigma) x


class SafeMixingState(NamedTuple):
    weights: Weights  # w, of x
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  cbar
    least: Least  # (m,)    what x had to meet of it
    tilt: Tilt  # eta lambda, and its working memory
    safety: Totals[Vector]  # (1,)    sigma, the share of the safe action
    clock: Clock  # (1,)    t, the rounds seen


class BanditSafeMixingState(NamedTuple):
    weights: Weights  # w, of x
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action
    upper: Bounds  # (m, K)  u
    lower: Scores[Matrix]  # (m, K)  v
    tilt: Tilt  # eta lambda, and its working memory
    safety: Totals[Vector]  # (1,)    sigma, the share of the safe action


def steps(q: Problem, safe: float = NO_ACTION, margin: float = 0.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt(8 ln K/T), radius = sqrt(ln(2KmT/epsilon)/2)."""
    eta, radius = sqrt(8 * q.ln_K / q.T), paper.hp_radius(q.K, q.T, q.m, epsilon)
    return {"eta": eta, "radius": radius, "safe": safe, "margin": margin}


def bandit_steps(q: Problem, safe: float = NO_ACTION, margin: float = 0.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon)."""
    return {**ix_step(q, epsilon), "safe": safe, "margin": margin}


@dataclass(frozen=True)
class SafeMixing(WithSafeAction):
    """Safe mixing: keeps the floor in every round, given one action that is known to be safe.

    Each round mixes as much of the safe action into the play of OP-EWA as is needed to meet the floors with certainty.
    This is what the paper calls "one shot" satisfaction. No box of the paper. With x_1 uniform and sigma_1 = max_j
    c0/(c0 + margin), in round t::

        p_t         = sigma_t e_safe + (1 - sigma_t) x_t
        cbar_t      = (c_1 + ... + c_t) / t
        alpha_t     = radius/sqrt(t)
        x_{t+1}     = the play nearest to x_t exp(eta r_t), in relative entropy, with p.cbar_t >= c0 - alpha_t
                      (without projection, if there is none)
        s_j         = [c0 - x_{t+1}.[cbar_t - alpha_t]+]+
        sigma_{t+1} = max_j s_j/(s_j + margin)

    Order: cbar_t contains c_t; x learns from the rewards of all actions, whichever was played.

    Parameters: eta = eta > 0; radius = radius > 0; safe = safe, the number of an action, or -1 if none is known; margin
    = margin >= 0, the amount by which the mean of that action is known to exceed every floor; c0 = floor, each in [0,
    1].

    Reading: eta = sqrt(8 ln K/T), radius = sqrt(ln(2KmT/epsilon)/2). You have to name `safe` and `margin`: doing
    nothing is often such an action, with margin 1 - c0. With probability 1 - epsilon, p_t.c >= c0 in every round, and
    regret <= sqrt(T ln K/2) + 1 + 4 radius sqrt(T)/margin. If the action is less safe than stated, the bounds do not
    hold. If no action is named, none is mixed in, and nothing is proved. S-OPS needs a safe play; here a safe action is
    enough. Proof: docs/theory_projected.md, 5.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.SafeMixing.tuned(actions=2, horizon=100_000, floor=0.5, safe=1, margin=0.3)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> f"shortfalls {lewa.positive_violation(trace).max():.1f}, regret {lewa.regret(trace).max():.0f}"
    'shortfalls 0.0, regret 1011'
    >>> f"proved with probability 0.95: {bound.positive_violation[0]:.1f} and {bound.regret:.0f}"
    'proved with probability 0.95: 0.0 and 10039'

    Reference: docs/theory_projected.md; the idea is that of S-OPS, F. E. Stradi et al., ICML 2025.
    """

    eta: Step
    radius: Positive
    safe: SpecialAction
    margin: float
    floor: Vector

    tunings = {"recommended": steps}
    trials = (*SAFE, trial(4, 100, 0.6, safe=3, margin=0.4, radius=0.05))
    theorems = Theorems(projected.safe_mixing)

    def learn(self, s: SafeMixingState, seen: Full) -> None:
        s.clock[0] += 1
        alpha, c0 = self.radius / sqrt(s.clock[0]), self.floor
        grow(s.weights, self.eta, seen.rewards)  # w <- x exp(eta r)
        update_means(s.mean, seen.constraints, s.clock[0])  # cbar <- cbar + (c - cbar)/t
        ease_floors(c0, alpha, s.least)
        project(s.weights, s.mean, s.least, s.tilt)  # w <- the nearest with p.cbar >= c0 - alpha
        prices(s.tilt, self.eta, s.multiplier)
        if self.safe >= 0:  # sigma = max s/(s + margin), s = [c0 - x.[cbar - alpha]+]+
            s.safety[0] = safe_share(s.weights, s.mean, alpha, c0, self.margin)


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

    eta: Step
    level: Positive
    safe: SpecialAction
    margin: float
    floor: Vector

    tunings = {"recommended": bandit_steps}
    trials = (*SAFE, trial(4, 100, 0.6, safe=3, margin=0.4, level=0.01))
    theorems = Theorems(projected.bandit_safe_mixing)

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
