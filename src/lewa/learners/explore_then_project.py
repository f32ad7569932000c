"""Explore-then-project: estimate the constraints first, then play exponential weights projected onto the estimate."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    Tilt,
    Weights,
    comparable,
    grow,
    mix,
    no_tilt,
    normalize,
    ones,
    prices,
    project_or_relax,
    update_means,
)
from lewa.kernels.roles import Clock, Least, Lines, Multiplier
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem, log_actions, require
from lewa.theory import projected
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class ExploreThenProjectState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  of the rounds explored
    least: Least  # (m,)    what the play has to meet of it
    tilt: Tilt  # eta lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class ExploreThenProject(Learner):
    """Explore-then-project: estimate the constraints first, then project onto the estimated feasible set.

    The usual form of the method that section 4 of the paper dismisses. OP-EWA estimates in every round and has bounds
    that are smaller by a factor of order T^(1/6); this learner is included for comparison. No box of the paper. With
    w_1 = 1 and n = explore, in round t::

        p_t     = 1/K up to round n, then w_t / sum w_t
        cbar    = (c_1 + ... + c_n) / n
        X       = {p : p.cbar >= c0 - optimism radius/sqrt(n)}, or with 1 for optimism if there is no such play
        w_{t+1} = w_t exp(eta r_t); from round n on its projection onto X, in relative entropy     (itself, if X is empty)

    Order: round n is the last round of exploration, and the first after which the weights are projected. The weights
    learn from the first round on, at no cost. With m constraints X has m half-spaces.

    Parameters: eta = eta > 0; n = explore >= 1, a whole number; radius = radius > 0; optimism = optimism, 0 (plain) or
    1; c0 = floor, each in [0, 1]; a floor of 0 is no constraint.

    Reading: eta = sqrt(8 ln K/T), n = T^(2/3), radius = sqrt(ln(2Km/epsilon)/2). With optimism regret and the sum of all
    shortfalls are of order T^(2/3) with probability 1 - epsilon, without slack: the regularity condition of the paper
    is not needed. With optimism = 0 the estimate may exclude plays that meet the floors, and regret is bounded only if
    some play exceeds the floors by S; in this case the objection of the paper is right. If X is empty, the usual rule
    is to play the action with the largest estimate. Here the optimistic set is used, which is not empty and is also
    defined for several constraints. Proof: docs/theory_projected.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for optimism in (1, 0):
    ...     kind = lewa.learners.ExploreThenProject
    ...     learner = kind.tuned(actions=2, horizon=10_000, floor=0.5, optimism=optimism)
    ...     trace = lewa.play(learner, game, rounds=10_000, seeds=20)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls at most {lewa.positive_violation(trace).max():.0f}"
    'regret at most -306, shortfalls at most 937'
    'regret at most 112, shortfalls at most 250'

    Reference: docs/theory_projected.md; M. Mahdavi, T. Yang, R. Jin, arXiv 1205.2265, section 4, for the objection.
    """

    eta: float
    explore: float
    radius: float
    optimism: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        optimism: float = 1.0,
        explore: float | None = None,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """Return the learner with eta = sqrt(8 ln K/T), n = T^(2/3), radius = sqrt(ln(2Km/epsilon)/2).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        optimism
            1 to relax the estimates by their radius, 0 not to.
        explore
            The number of rounds of exploration; None for T^(2/3).
        epsilon
            The probability with which the bounds may fail.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        n = explored_rounds(T) if explore is None else explore
        return cls(sqrt(8 * log_actions(K) / T), n, projected.explore_radius(K, floor.size, epsilon), optimism, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [  # explored for one round: while a learner explores, no action gains
            (cls.tuned(3, 200, 0.5, explore=1), 3),
            (cls.tuned(5, 100, (0.4, 0.2), explore=1), 5),
            (cls.tuned(1, 50, 0.5, explore=1), 1),
            (cls.tuned(4, 100, 0.6, optimism=0, explore=1), 4),
            (cls.tuned(4, 100, (0.4, 0.6), optimism=0, explore=1).replace(radius=0.05), 4),
        ]

    def check(self) -> None:
        check_positive(eta=self.eta, radius=self.radius)
        check_explore(self.explore, self.optimism)

    def start(self, actions: int) -> ExploreThenProjectState:
        K, m = self.sizes(actions)
        return ExploreThenProjectState(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(m), no_tilt(K, m), np.zeros(1))

    def play(self, s: ExploreThenProjectState, p: Vector) -> None:
        if s.clock[0] < self.explore:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: ExploreThenProjectState, seen: Full) -> None:
        s.clock[0] += 1
        grow(s.weights, self.eta, seen.rewards)  # w <- w exp(eta r)
        if s.clock[0] <= self.explore:
            update_means(s.mean, seen.constraints, s.clock[0])  # cbar <- cbar + (c - cbar)/t
        if s.clock[0] >= self.explore:  # w <- the nearest with p.cbar >= c0 - optimism alpha
            alpha = self.radius / sqrt(self.explore)
            project_or_relax(s.weights, s.mean, self.floor, self.optimism, alpha, 0.0, s.least, s.tilt)
            prices(s.tilt, self.eta, s.multiplier)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.explore_then_project(self, actions, rounds, setting)


def explored_rounds(horizon: int) -> float:
    """Return T^(2/3), rounded up."""
    return float(ceil(horizon ** (2 / 3) - 1e-9))


def check_explore(explore: float, optimism: float) -> None:
    """Check the number of rounds of exploration, and whether the estimate is relaxed by its radius."""
    require(explore >= 1 and explore % 1 == 0, "explore must be an integer of at least 1", explore=explore)
    require(optimism in (0, 1), "optimism must be 0 or 1", optimism=optimism)
