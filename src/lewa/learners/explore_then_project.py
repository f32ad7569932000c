"""Explore-then-project: some rounds to estimate the constraints, then exponential weights on what the estimate allows."""

from math import ceil, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import EMPTY, Tilt, Weights, average, grow, mix, ones, project, share, upright
from lewa.learners.base import check_epsilon, check_feasible, check_positive, check_size, lawful, log_actions, require
from lewa.theory import projected
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector


class Explored(NamedTuple):
    weights: Weights  # w
    multiplier: Vector  # (m,)    lambda, of the last projection
    mean: Matrix  # (m, K)  of the rounds explored
    least: Vector  # (m,)    what the play has to meet of it
    tilt: Tilt  # eta lambda, and the room that it takes to find it
    clock: Vector  # (1,)    t, the rounds seen


class ExploreThenProject(NamedTuple):
    """Explore-then-project: estimate the constraints first, then project onto what the estimate allows.

    The road that section 4 of the paper dismisses, as it is usually walked. OP-EWA estimates in every round and is better by
    T^(1/6); this one is here to be measured beside it. No box of the paper. With w_1 = 1 and n = explore, in round t::

        p_t     = 1/K up to round n, then w_t / sum w_t
        cbar    = (c_1 + ... + c_n) / n
        X       = {p : p.cbar >= c0 - optimism radius/sqrt(n)}, or with 1 for optimism if there is no such play
        w_{t+1} = w_t exp(eta r_t); from round n on its projection onto X, in relative entropy     (itself, if X is empty)

    Order: round n is the last to be explored, and the first to be projected after. The weights learn from the first
    round on, which costs nothing. For m constraints X has m lines.

    Parameters: eta = eta > 0; n = explore >= 1, a whole number; radius = radius > 0; optimism = optimism, 0 (plain) or
    1; c0 = floor, each in [0, 1]; a floor of 0 is no line.

    Reading: eta = sqrt(8 ln K/T), n = T^(2/3), radius = sqrt(ln(2Km/epsilon)/2). With optimism regret and the sum of all
    shortfalls are of order T^(2/3) with probability 1 - epsilon, without slack: the regularity that the paper asks for is
    not needed. Plain, plays that meet the floors may be cut off by the estimate, and regret is proved only where some play
    exceeds the floors by S; this is where the paper's objection is right. Usually the action with the largest estimate is
    played where X is empty; here the optimistic set, which is not, and says what to do for several constraints.
    Proof: docs/theory_projected.md, 4.

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
        """eta = sqrt(8 ln K/T), n = T^(2/3), radius = sqrt(ln(2Km/epsilon)/2)"""
        floor = check_size(actions, floor, horizon)
        check_epsilon(epsilon)
        check_feasible(floor, means)
        explore = float(ceil(horizon ** (2 / 3) - 1e-9)) if explore is None else explore
        radius = projected.explore_radius(actions, floor.size, epsilon)
        return lawful(cls(sqrt(8 * log_actions(actions) / horizon), explore, radius, optimism, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [  # explored for one round: while a learner explores, no action gains
            (cls.tuned(3, 200, 0.5, explore=1), 3),
            (cls.tuned(5, 100, (0.4, 0.2), explore=1), 5),
            (cls.tuned(1, 50, 0.5, explore=1), 1),
            (cls.tuned(4, 100, 0.6, optimism=0, explore=1), 4),
            (cls.tuned(4, 100, (0.4, 0.6), optimism=0, explore=1)._replace(radius=0.05), 4),
        ]

    def start(self, actions: int) -> Explored:
        check_size(actions, self.floor)
        check_positive(eta=self.eta, radius=self.radius)
        check_explore(self.explore, self.optimism)
        K, m = actions, self.floor.size
        return Explored(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(m), upright(K, m), np.zeros(1))

    def play(self, s: Explored, p: Vector) -> None:
        if s.clock[0] < self.explore:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            share(s.weights, p)  # p = w / sum w

    def learn(self, s: Explored, seen: Full) -> None:
        s.clock[0] += 1
        c0 = self.floor
        grow(s.weights, self.eta, seen.rewards)  # w <- w exp(eta r)
        if s.clock[0] <= self.explore:
            for j in range(c0.size):  # cbar <- cbar + (c - cbar)/t
                average(s.mean[j], seen.constraints[j], s.clock[0], seen.play)
        if s.clock[0] >= self.explore:
            for optimism in (self.optimism, 1.0):  # w <- the nearest with p.cbar >= c0 - optimism alpha
                for j in range(c0.size):
                    s.least[j] = c0[j] - optimism * self.radius / sqrt(self.explore) if c0[j] > 0 else 0.0
                if project(s.weights, s.mean, s.least, s.tilt) != EMPTY:
                    break
            for j in range(c0.size):
                s.multiplier[j] = s.tilt.theta[j] / self.eta

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        steps = (self.eta, self.explore, self.radius, self.optimism)
        return projected.explore_then_project(actions, rounds, self.floor, *steps, setting)


def check_explore(explore: float, optimism: float) -> None:
    """How many rounds are explored, and whether the estimate is eased by its radius."""
    require(explore >= 1 and explore == int(explore), "explore must be a whole number of at least 1", explore=explore)
    require(optimism in (0, 1), "optimism must be 0 or 1", optimism=optimism)
