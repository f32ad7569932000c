"""Safe mixing: no round below the floors, given an action that is known to be safe."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    Tilt,
    Weights,
    comparable,
    ease_floors,
    grow,
    mix_one,
    no_tilt,
    normalize,
    ones,
    prices,
    project,
    safe_share,
    update_means,
)
from lewa.kernels.roles import Clock, Least, Lines, Multiplier, Totals
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem, log_actions, require
from lewa.learners.parameters import NO_ACTION, SpecialAction
from lewa.theory import paper, projected
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import as_real


class WithSafeAction(Learner):
    """A learner that knows a safe action and plays it with probability sigma."""

    safe: SpecialAction
    margin: float

    def check(self) -> None:
        check_safe(self.safe, self.margin, self.floor)

    def first_safety(self, actions: int) -> Vector:
        """Return sigma_1 = max_j c0/(c0 + margin): nothing is known yet, so every other action may have constraint 0."""
        check_safe(self.safe, self.margin, self.floor, actions)
        floors = [c0 for c0 in self.floor.tolist() if c0 > 0 and self.safe >= 0]
        return np.array([max((c0 / (c0 + self.margin) for c0 in floors), default=0.0)])


@comparable
class SafeMixingState(NamedTuple):
    weights: Weights  # w, of x
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  cbar
    least: Least  # (m,)    what x had to meet of it
    tilt: Tilt  # eta lambda, and its working memory
    safety: Totals[Vector]  # (1,)    sigma, the share of the safe action
    clock: Clock  # (1,)    t, the rounds seen


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

    eta: float
    radius: float
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
        """Return the learner with eta = sqrt(8 ln K/T), radius = sqrt(ln(2KmT/epsilon)/2).

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
        return cls(sqrt(8 * log_actions(K) / T), paper.hp_radius(K, T, floor.size, epsilon), safe, margin, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 100, (0.4, 0.2), safe=2, margin=0.1), 5),
            (cls.tuned(1, 50, 0.5, safe=0, margin=0.1), 1),
            (cls.tuned(4, 100, 0.6, safe=3, margin=0.4).replace(radius=0.05), 4),
        ]

    def check(self) -> None:
        super().check()
        check_positive(eta=self.eta, radius=self.radius)

    def start(self, actions: int) -> SafeMixingState:
        K, m = self.sizes(actions)
        mean, least, sigma = np.zeros((m, K)), np.zeros(m), self.first_safety(K)
        return SafeMixingState(ones(K), np.zeros(m), mean, least, no_tilt(K, m), sigma, np.zeros(1))

    def play(self, s: SafeMixingState, p: Vector) -> None:
        normalize(s.weights, p)  # x = w / sum w
        mix_one(p, int(self.safe), s.safety[0])  # p = sigma e_safe + (1 - sigma) x

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

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.safe_mixing(self, actions, rounds, setting)


def check_safe(safe: float, margin: float, floor: Vector, actions: int | None = None) -> None:
    """Check that the safe action exists, and that floor + margin is at most 1."""
    safe, margin = as_real("safe", safe), as_real("margin", margin)
    known = 0 <= safe < float("inf") and safe % 1 == 0 and (actions is None or safe < actions)
    last = "" if actions is None else f", 0 .. {actions - 1}"
    require(known or safe == NO_ACTION, f"safe must be the index of an action{last}", safe=safe)
    most = 1 - float(floor.max())
    require(0 <= margin <= most + 1e-12, f"margin must lie between 0 and 1 - floor = {most:.6g}", margin=margin)
