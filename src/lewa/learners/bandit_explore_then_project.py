"""Bandit explore-then-project: explore-then-project for bandit feedback."""

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
    mix,
    no_tilt,
    normalize,
    ones,
    prices,
    project_or_relax_bounds,
    shrink_one,
    update_mean_of,
)
from lewa.kernels.roles import Bounds, Clock, ConstraintMeans, Counts, Multiplier
from lewa.learners.bandit_op_ewa import ix_step
from lewa.learners.base import Learner
from lewa.learners.explore_then_project import check_explore, explored_rounds
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem
from lewa.theory import bandit, projected
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector


@comparable
class BanditExploreThenProjectState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N, of the rounds explored
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action in them
    upper: Bounds  # (m, K)  u
    tilt: Tilt  # eta lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds answered


@dataclass(frozen=True)
class BanditExploreThenProject(Learner):
    """Bandit explore-then-project: uniform exploration first, then Exp3-IX projected onto the estimate.

    Explore-then-project for bandit feedback. No box of the paper. With w_1 = 1, n = explore, and N_k and mean_k the
    number and the mean of the observations of action k in the first n rounds, in round t, i the action drawn from p_t::

        p_t       = 1/K up to round n, then w_t / sum w_t
        u_k       = mean_k + optimism sqrt(L/(2 N_k)), at most 1               ((1 + optimism)/2 where N_k = 0)
        X         = {p : p.u >= c0}, or with 1 for optimism if there is no such play
        w_{t+1,i} = w_{t,i} exp(-eta (1 - r_t)/(p_{t,i} + eta/2))              (the other weights stay)
        w_{t+1}   = from round n on its projection onto X, in relative entropy              (itself, if X is empty)

    Order: round n is the last round of exploration, and the first after which the weights are projected. The feedback
    contains the probability p_{t,i} of the draw. The weights learn from the first round on. With m constraints X has m
    half-spaces.

    Parameters: eta = eta > 0; n = explore >= 1, a whole number; L = level > 0; optimism = optimism, 0 (plain) or 1; c0 =
    floor, each in [0, 1].

    Reading: eta = sqrt((ln K + ln(4K/epsilon))/(K T)), n = T^(2/3), L = ln(8KmT/epsilon). Actions are drawn uniformly,
    not in turn, so that no action is special; each is drawn about n/K times. The bounds have the form of those for full
    information and are of order T^(2/3) sqrt(K). With optimism = 1 they need no slack; with optimism = 0 some play has
    to exceed the floors by S. Proof: docs/theory_projected.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for optimism in (1, 0):
    ...     kind = lewa.learners.BanditExploreThenProject
    ...     learner = kind.tuned(actions=2, horizon=100_000, floor=0.5, optimism=optimism)
    ...     trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls at most {lewa.positive_violation(trace).max():.0f}"
    'regret at most -4320, shortfalls at most 10095'
    'regret at most 1382, shortfalls at most 1182'

    Reference: docs/theory_projected.md; implicit exploration is G. Neu, NIPS 2015.
    """

    eta: float
    explore: float
    level: float
    optimism: float
    floor: Vector

    keeps_shares = False

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
        """Return the learner with eta = sqrt((ln K + ln(4K/epsilon))/(K T)), n = T^(2/3), L = ln(8 K m T/epsilon).

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
        return cls(ix_step(K, T, epsilon), n, bandit.ucb_level(K, T, floor.size, epsilon), optimism, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [  # explored for one round: while a learner explores, no action gains
            (cls.tuned(3, 200, 0.5, explore=1), 3),
            (cls.tuned(5, 100, (0.4, 0.2), explore=1), 5),
            (cls.tuned(1, 50, 0.5, explore=1), 1),
            (cls.tuned(4, 100, 0.6, optimism=0, explore=1).replace(level=0.01), 4),
        ]

    def check(self) -> None:
        check_positive(eta=self.eta, level=self.level)
        check_explore(self.explore, self.optimism)

    def start(self, actions: int) -> BanditExploreThenProjectState:
        K, m = self.sizes(actions)
        mean, untried = np.zeros((m, K)), np.full((m, K), (1 + self.optimism) / 2)
        return BanditExploreThenProjectState(ones(K), np.zeros(m), np.zeros(K), mean, untried, no_tilt(K, m), np.zeros(1))

    def play(self, s: BanditExploreThenProjectState, p: Vector) -> None:
        if s.clock[0] < self.explore:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: BanditExploreThenProjectState, seen: Bandit) -> None:
        i, N, u = seen.action, s.drawn, s.upper
        s.clock[0] += 1
        loss = ix_loss(self.eta * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - r)/(p_i + eta/2))
        if s.clock[0] <= self.explore:
            N[i] += 1
            update_mean_of(s.mean, i, seen.constraints, N[i])
            confidence_bound_of(
                s.mean, i, N[i], self.level, self.optimism, 0.0, u
            )  # u_i = mean_i + optimism sqrt(L/(2 N_i))
        if s.clock[0] >= self.explore:  # w <- the nearest with p.u >= c0, or with 1 for optimism
            project_or_relax_bounds(s.weights, u, s.mean, N, self.level, 0.0, self.floor, s.tilt)
            prices(s.tilt, self.eta, s.multiplier)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.bandit_explore_then_project(self, actions, rounds, setting)
