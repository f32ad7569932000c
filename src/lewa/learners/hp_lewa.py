"""High-Probability LEWA: LEWA on running means, with a confidence radius in the dual step (box 2 of the paper)."""

from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Weights, average, grow_priced, ones, positive, share
from lewa.learners.base import check_dual, check_epsilon, check_feasible, check_positive, check_size, lawful
from lewa.learners.lewa import steps
from lewa.theory import paper
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector


class Averaged(NamedTuple):
    weights: Weights  # w
    multiplier: Vector  # (m,)    lambda
    mean: Matrix  # (m, K)  cbar
    met: Vector  # (m,)    p.cbar of the last round
    clock: Vector  # (1,)    t, the rounds seen


class HpLewa(NamedTuple):
    """High-Probability LEWA: running means and a confidence radius.

    Both updates see the running mean of the constraints, the dual one plus a radius.

    Box 2, Theorem 2. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = w_t / sum w_t
        cbar_t       = (c_1 + ... + c_t) / t
        w_{t+1}      = w_t exp(eta (r_t + lambda_t cbar_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.cbar_t + alpha_1/sqrt(t) - c0)]+

    Order: cbar_t contains c_t; the weights use lambda_t, the multiplier uses p_t.

    Parameters: eta = eta > 0; delta = delta > 0; mu = mu > 0 with delta mu <= 1; alpha_1 = radius > 0; c0 = floor, each in
    [0, 1].

    Reading: the box does not define alpha_t. The theorem's has ln(2/epsilon), but its proof, after replacing epsilon by
    epsilon/T, needs ln(2T/epsilon), and because p_t depends on cbar_t, a union over the K actions and the m constraints:
    alpha_1 = sqrt(ln(2KmT/epsilon)/2), which is the default. `tuning="paper"` takes the statement's alpha_1 and one step
    mu = eta; what that radius covers is epsilon K m T, and where this is below 1 it is what a guarantee is printed for.
    The text says that only the dual update changes; the box, followed here, changes both. Plain LEWA, tuned with
    `epsilon`, has high-probability bounds too, without any radius.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.HpLewa.tuned(actions=2, horizon=100_000, floor=0.5, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f}, with probability 0.95 at most {bound.violation[0]:.0f}"
    'violation 2349, with probability 0.95 at most 14355'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.1.
    """

    eta: float
    delta: float
    mu: float
    radius: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        tuning: str = "recommended",
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """LEWA's steps, and the radius that covers every action, constraint and round with probability 1 - epsilon."""
        floor = check_size(actions, floor, horizon)
        check_epsilon(epsilon)
        check_feasible(floor, means)
        eta, delta, mu = steps(actions, horizon, floor.size, tuning, None, None)
        corrected = paper.hp_radius(actions, horizon, floor.size, epsilon)
        return lawful(cls(eta, delta, mu, sqrt(0.5 * log(2 / epsilon)) if tuning == "paper" else corrected, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 100, (0.4, 0.2)), 5),
            (cls.tuned(1, 50, 0.5), 1),
            (cls.tuned(4, 100, 0.6)._replace(radius=0.05), 4),
        ]

    def start(self, actions: int) -> Averaged:
        check_size(actions, self.floor)
        check_positive(eta=self.eta, radius=self.radius)
        check_dual(self.delta, self.mu)
        m = self.floor.size
        return Averaged(ones(actions), np.zeros(m), np.zeros((m, actions)), np.zeros(m), np.zeros(1))

    def play(self, s: Averaged, p: Vector) -> None:
        share(s.weights, p)  # p = w / sum w

    def learn(self, s: Averaged, seen: Full) -> None:
        lam, cbar = s.multiplier, s.mean
        s.clock[0] += 1
        t = s.clock[0]
        for j in range(lam.size):  # cbar <- cbar + (c - cbar)/t
            s.met[j] = average(cbar[j], seen.constraints[j], t, seen.play)
        grow_priced(s.weights, self.eta, seen.rewards, lam, cbar)  # w <- w exp(eta (r + lam cbar))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (p.cbar + alpha_1/sqrt(t) - c0)]+
            met = s.met[j] + self.radius / sqrt(t)
            lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (met - self.floor[j]))

    @property
    def dual(self) -> tuple[float, float]:
        """The shrinkage and the step of the multiplier's update, for the certificate of a run."""
        return self.delta, self.mu

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return paper.hp_lewa(actions, rounds, self.floor, self.eta, self.delta, self.mu, self.radius, setting)
