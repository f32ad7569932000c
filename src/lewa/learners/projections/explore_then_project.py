"""Explore-then-project: estimate the constraints first, then project onto the estimate; once, or in epochs."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from lewa.feedback import Bandit, Full
from lewa.kernels.estimates import confidence_bound_of, confidence_bounds, ix_loss, update_mean_of, update_means
from lewa.kernels.first_state import first_state
from lewa.kernels.projection import prices, project_or_relax, project_or_relax_bounds
from lewa.kernels.roles import Bounds, Clock, ConstraintMeans, Counts, Multiplier
from lewa.kernels.tilting import Tilt
from lewa.kernels.weights.hedge import Weights, grow, mix, normalize, shrink_one
from lewa.learners.base import USUAL, Flag, Law, Learner, Parameters, Positive, Problem, Step, Theorems, sizes_of, trial
from lewa.learners.parameter_checks import law_of
from lewa.learners.projections.op_ewa import OpEwaState, ix_step
from lewa.theory import projected, rivals
from lewa.types import Matrix, Vector

# Explored for one round: while a learner explores, no action gains.
EXPLORED = tuple(trial(K, T, c0, explore=1) for K, T, c0, _ in USUAL)


Explored: TypeAlias = Annotated[float, Law(law_of("must be an integer of at least 1", lambda x: x >= 1 and x % 1 == 0))]


class BanditExploreThenProjectState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N, of the answers that the estimate is made of
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action in them
    upper: Bounds  # (m, K)  u
    tilt: Tilt  # eta lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds answered


def explored_rounds(horizon: int) -> float:
    """Return T^(2/3), rounded up."""
    return float(ceil(horizon ** (2 / 3) - 1e-9))


def steps(q: Problem, optimism: float = 1.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt(8 ln K/T), n = T^(2/3), radius = sqrt(ln(2Km/epsilon)/2)."""
    eta, radius = sqrt(8 * q.ln_K / q.T), projected.explore_radius(q.K, q.m, epsilon)
    return {"eta": eta, "explore": explored_rounds(q.T), "radius": radius, "optimism": optimism}


def bandit_steps(q: Problem, optimism: float = 1.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), n = T^(2/3), L = ln(8 K m T/epsilon)."""
    return {**ix_step(q, epsilon), "explore": explored_rounds(q.T), "optimism": optimism}


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

    eta: Step
    explore: Explored
    radius: Positive
    optimism: Flag
    floor: Vector

    tunings = {"recommended": steps}
    trials = (
        *EXPLORED,
        *(trial(4, 100, 0.6, optimism=0, explore=1), trial(4, 100, (0.4, 0.6), optimism=0, explore=1, radius=0.05)),
    )
    theorems = Theorems(projected.explore_then_project)

    def play(self, s: OpEwaState, p: Vector) -> None:
        if s.clock[0] < self.explore:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: OpEwaState, seen: Full) -> None:
        s.clock[0] += 1
        grow(s.weights, self.eta, seen.rewards)  # w <- w exp(eta r)
        if s.clock[0] <= self.explore:
            update_means(s.mean, seen.constraints, s.clock[0])  # cbar <- cbar + (c - cbar)/t
        if s.clock[0] >= self.explore:  # w <- the nearest with p.cbar >= c0 - optimism alpha
            alpha = self.radius / sqrt(self.explore)
            project_or_relax(s.weights, s.mean, self.floor, self.optimism, alpha, 0.0, s.least, s.tilt)
            prices(s.tilt, self.eta, s.multiplier)


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

    eta: Step
    explore: Explored
    level: Positive
    optimism: Flag
    floor: Vector

    keeps_shares = False
    tunings = {"recommended": bandit_steps}
    trials = (*EXPLORED, trial(4, 100, 0.6, optimism=0, explore=1, level=0.01))
    theorems = Theorems(projected.bandit_explore_then_project)

    def start(self, actions: int) -> BanditExploreThenProjectState:
        K, m = sizes_of(self, actions)
        return first_state(BanditExploreThenProjectState, K, m, upper=np.full((m, K), (1 + self.optimism) / 2))

    def play(self, s: BanditExploreThenProjectState, p: Vector) -> None:
        if s.clock[0] < self.explore:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: BanditExploreThenProjectState, seen: Bandit) -> None:
        i, N, u, L = seen.action, s.drawn, s.upper, self.level
        s.clock[0] += 1
        loss = ix_loss(self.eta * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - r)/(p_i + eta/2))
        if s.clock[0] <= self.explore:
            N[i] += 1
            update_mean_of(s.mean, i, seen.constraints, N[i])
            confidence_bound_of(s.mean, i, N[i], L, self.optimism, 0.0, u)  # u_i = mean_i + optimism sqrt(L/(2 N_i))
        if s.clock[0] >= self.explore:  # w <- the nearest with p.u >= c0, or with 1 for optimism
            project_or_relax_bounds(s.weights, u, s.mean, N, L, 0.0, self.floor, s.tilt)
            prices(s.tilt, self.eta, s.multiplier)


def epoch_steps(q: Problem, optimism: float = 1.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon)."""
    return {**ix_step(q, epsilon), "optimism": optimism}


@dataclass(frozen=True)
class BanditEpochProject(Learner):
    """Bandit epoch-project: explore-then-project for bandits in epochs that each begin with a round of exploration.

    Another form of the method that section 4 of the paper dismisses: a little exploration throughout instead of much at
    first. With w_1 = 1, and N_k and mean_k the number and the mean of the observations of action k up to round t, in
    round t, i drawn from p_t::

        p_t       = 1/K in the first round of epoch l = 1, 2, ..., w_t / sum w_t in the ceil(sqrt(l)) others
        w_{t+1,i} = w_{t,i} exp(-eta (1 - r_t)/(p_{t,i} + eta/2))              (the other weights stay)
        u_k       = mean_k + optimism sqrt(L/(2 N_k)), at most 1               ((1 + optimism)/2 where N_k = 0)
        X         = {p : p.u >= c0}, or with 1 for optimism if there is no such play
        w_{t+1}   = its projection onto X, in relative entropy                 (itself, if X is empty)

    Order: u contains round t. The feedback contains the probability p_{t,i} of the draw; epochs count answers. With m
    constraints X has m half-spaces.

    Parameters: eta = eta > 0; L = level > 0; optimism = optimism, 0 (plain) or 1; c0 = floor, each in [0, 1].

    Reading: eta and L are those of bandit OP-EWA. The two learners differ only in the explored rounds, about (1.5
    T)^(2/3) of T, each of which adds at most 1 to the bound on regret and c0 to that on violation. With optimism = 0
    regret is not bounded, but an action that an unlucky estimate excluded is explored again, unlike in bandit OP-EWA
    with kappa = 0. Epoch-greedy learns only from explored rounds; here all observations count, because the mean of a
    constraint does not depend on how the action was chosen. The lengths ceil(sqrt(l)) are our choice. With full
    information every round shows all constraints, nothing is left to explore, and the learner is OP-EWA. Proof:
    docs/theory_rivals.md, 5.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for optimism in (1, 0):
    ...     kind = lewa.learners.BanditEpochProject
    ...     learner = kind.tuned(actions=2, horizon=100_000, floor=0.5, optimism=optimism)
    ...     trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls at most {lewa.positive_violation(trace).max():.0f}"
    'regret at most -1514, shortfalls at most 2719'
    'regret at most 2232, shortfalls at most 177'

    Reference: J. Langford, T. Zhang, The epoch-greedy algorithm for contextual multi-armed bandits, NIPS 2007, for the
    epochs; docs/theory_rivals.md.
    """

    eta: Step
    level: Positive
    optimism: Flag
    floor: Vector

    keeps_shares = False
    purpose = "comparison"
    tunings = {"recommended": epoch_steps}
    trials = (*USUAL, trial(4, 100, 0.6, optimism=0, level=0.01))
    theorems = Theorems(rivals.bandit_epoch_project)

    def start(self, actions: int) -> BanditExploreThenProjectState:
        (K, m), clock = sizes_of(self, actions), np.array([1.0, 0.0])  # l, the epoch, and the rounds answered in it
        return first_state(BanditExploreThenProjectState, K, m, upper=np.zeros((m, K)), clock=clock)

    def play(self, s: BanditExploreThenProjectState, p: Vector) -> None:
        if s.clock[1] == 0:
            mix(s.weights, 1.0, p)  # p = 1/K
        else:
            normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: BanditExploreThenProjectState, seen: Bandit) -> None:
        i, N, u, L = seen.action, s.drawn, s.upper, self.level
        loss = ix_loss(self.eta * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - r)/(p_i + eta/2))
        N[i] += 1
        update_mean_of(s.mean, i, seen.constraints, N[i])
        confidence_bounds(s.mean, N, L, self.optimism, 0.0, (1 + self.optimism) / 2, u)
        project_or_relax_bounds(s.weights, u, s.mean, N, L, 0.0, self.floor, s.tilt)  # w <- the nearest with p.u >= c0
        prices(s.tilt, self.eta, s.multiplier)
        s.clock[1] += 1
        if s.clock[1] > ceil(sqrt(s.clock[0])):  # the next epoch
            s.clock[0] += 1
            s.clock[1] = 0
