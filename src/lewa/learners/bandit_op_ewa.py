"""Bandit OP-EWA: OP-EWA when only the action drawn is seen."""

from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import EMPTY, Tilt, Weights, ones, project, share, shrink_one, upper, uppers, upright
from lewa.learners.base import check_epsilon, check_feasible, check_positive, check_size, lawful, log_actions
from lewa.learners.op_ewa import check_bonus
from lewa.theory import bandit, projected
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector


class Confident(NamedTuple):
    weights: Weights  # w
    multiplier: Vector  # (m,)    lambda, of the last projection
    drawn: Vector  # (K,)    N
    mean: Matrix  # (m, K)  of what was seen of each action
    upper: Matrix  # (m, K)  u
    tilt: Tilt  # eta lambda, and the room that it takes to find it


class BanditOpEwa(NamedTuple):
    """Bandit OP-EWA: implicit exploration, projected onto what may still meet the floors.

    Rewards are estimated by implicit exploration (Exp3-IX), constraints by an upper confidence bound for every action; the
    play is held to the floors as if the bounds were the truth. No multiplier has to be learned.

    No box of the paper. With p_1 even, and N_k and mean_k of what was seen of action k up to round t, in round t, i the
    action drawn from p_t::

        w_{t+1,i}   = p_{t,i} exp(-eta (1 - r_t)/(p_{t,i} + eta/2))           (the other weights are those of p_t)
        u_{t+1,k}   = mean_k + kappa sqrt(L/(2 N_k)), held to [0, 1]          (1 while N_k = 0)
        p_{t+1}     = the play nearest to w_{t+1} / sum w_{t+1}, in relative entropy, with p.u_{t+1} >= c0
                      (with 1 for kappa, if there is none; w itself, if there still is none)

    Order: u_{t+1} contains round t. The chance p_{t,i} is that of the moment of the draw: it travels with the feedback. The
    next step starts from the projected play. For m constraints there are m lines.

    Parameters: eta = eta > 0; L = level > 0; kappa = kappa in [-1, 1], the bonus; c0 = floor, each in [0, 1].

    Reading: eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8KmT/epsilon). kappa = 1 is the theorem: with probability
    1 - epsilon, against rewards that react, for all plays that meet the floors at once, regret <= 2 sqrt(K T (ln K +
    ln(4K/epsilon))) + ln(4/epsilon), and the sum of all shortfalls is at most K + 2 sqrt(2 L K T) + sqrt((T/2)
    ln(4/epsilon)), without slack. Below 1 nothing is proved, as plays that meet the floors may be cut off and what was
    cut off is not looked at again; in practice 0 falls short by much less. At any kappa an action that was not tried yet
    is taken to meet every floor, so that it is tried. Proof: docs/theory_projected.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for kappa in (1, 0):
    ...     learner = lewa.learners.BanditOpEwa.tuned(actions=2, horizon=100_000, floor=0.5, kappa=kappa)
    ...     trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls {lewa.positive_violation(trace).max():.0f}"
    'regret at most -1580, shortfalls 2852'
    'regret at most 114, shortfalls 348'
    >>> bound = lewa.guarantee(learner._replace(kappa=1.0), actions=2, rounds=100_000)
    >>> f"proved for kappa = 1 with probability 0.95: {bound.regret:.0f} and {bound.positive_violation[0]:.0f}"
    'proved for kappa = 1 with probability 0.95: 2153 and 5728'

    Reference: docs/theory_projected.md; F. E. Stradi, K. Kalupahana, M. Castiglioni, A. Marchesi, N. Gatti, Truly
    adapting to adversarial constraints in constrained MABs, COLT 2026; implicit exploration is G. Neu, NIPS 2015.
    """

    eta: float
    level: float
    kappa: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        kappa: float = 1.0,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon)"""
        floor = check_size(actions, floor, horizon)
        check_epsilon(epsilon)
        check_feasible(floor, means)
        level = bandit.ucb_level(actions, horizon, floor.size, epsilon)
        return lawful(cls(ix_step(actions, horizon, epsilon), level, kappa, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 100, (0.4, 0.2)), 5),
            (cls.tuned(1, 50, 0.5), 1),
            (cls.tuned(4, 100, 0.6)._replace(level=0.01), 4),
            (cls.tuned(4, 100, (0.4, 0.5), kappa=-1)._replace(level=0.01), 4),
        ]

    def start(self, actions: int) -> Confident:
        check_size(actions, self.floor)
        check_positive(eta=self.eta, level=self.level)
        check_bonus(self.kappa, 0.0)
        K, m = actions, self.floor.size
        return Confident(ones(K), np.zeros(m), np.zeros(K), np.zeros((m, K)), np.ones((m, K)), upright(K, m))

    def play(self, s: Confident, p: Vector) -> None:
        share(s.weights, p)  # p = w / sum w

    def learn(self, s: Confident, seen: Bandit) -> None:
        i, c, u = seen.action, seen.constraints, s.upper
        shrink_one(s.weights, i, self.eta * (1 - seen.reward) / (seen.propensity + self.eta / 2))
        s.drawn[i] += 1
        for j in range(c.size):  # u_i = mean_i + kappa sqrt(L/(2 N_i)), held to [0, 1]
            s.mean[j, i] += (c[j] - s.mean[j, i]) / s.drawn[i]
            u[j, i] = upper(s.mean[j, i], s.drawn[i], self.level, self.kappa)
        if project(s.weights, u, self.floor, s.tilt) == EMPTY:  # w <- the nearest with p.u >= c0, or with 1 for kappa
            uppers(s.mean, s.drawn, self.level, 1.0, u)
            project(s.weights, u, self.floor, s.tilt)
            uppers(s.mean, s.drawn, self.level, self.kappa, u)
        for j in range(c.size):
            s.multiplier[j] = s.tilt.theta[j] / self.eta

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.bandit_op_ewa(actions, rounds, self.floor, self.eta, self.level, self.kappa, setting)


def ix_step(actions: int, horizon: int, epsilon: float) -> float:
    """The step that balances the regret of implicit exploration."""
    return sqrt((log_actions(actions) + log(4 * actions / epsilon)) / (actions * horizon))
