"""Bandit epoch-project: explore-then-project in epochs, one round of exploration each."""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from lewa.kernels.estimates import confidence_bounds, ix_loss, update_mean_of
from lewa.kernels.first_state import first_state
from lewa.kernels.projection import prices, project_or_relax_bounds
from lewa.kernels.weights.hedge import mix, normalize, shrink_one
from lewa.learners.base import USUAL, Bandit, Flag, Learner, Parameters, Positive, Problem, Step, Theorems, sizes_of, trial
from lewa.learners.projections.bandit_op_ewa import ix_step
from lewa.learners.projections.explore_then_project import BanditExploreThenProjectState
from lewa.theory import rivals
from lewa.types import Vector


def steps(q: Problem, optimism: float = 1.0, epsilon: float = 0.05) -> Parameters:
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
    tunings = {"recommended": steps}
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
