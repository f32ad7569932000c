"""BanditLEWA as printed (box 3 of the paper): kept so that anyone can see what it does."""

from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import dot, draw, grow_one, mix, ones, positive
from lewa.learners.base import check_feasible, check_gamma, check_positive, check_size, lawful, require
from lewa.learners.lewa import PrimalDual
from lewa.theory import paper
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


class PrintedBanditLewa(NamedTuple):
    """BanditLEWA as printed: with its proof's tuning it does not learn.

    Exactly the box: one step eta for both updates, and a multiplier shrunk by gamma.

    Box 3, Theorem 3. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        q_t          = w_t / sum w_t
        p_t          = (1 - gamma) q_t + gamma/K
        w_{t+1,i}    = w_{t,i} exp(eta/p_{t,i} (r_t + lambda_t c_t))          (the other weights stay)
        lambda_{t+1} = [(1 - gamma eta) lambda_t - eta (q_{t,i} c_t / p_{t,i} - c0)]+

    Order: the weight uses lambda_t, the multiplier uses q_t and p_t.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); c0 = floor, each in [0, 1]. The box's third argument, delta, does not
    occur in its lines; it enters through eta = (gamma/K) delta/(delta + 1), so it is an argument of `tuned`.

    Reading: `tuned` takes gamma = delta = T^(-1/2), where the proof of Theorem 3 ends. There 1/eta > K T: over the whole
    game a log-weight moves by about 1/K, in expectation, and lambda by less than c0/K, so nothing is learned, and on K =
    2, c = (1, 1), r = (1, 0), c0 <= 1/2 the expected regret is at least 0.377 T (0.438 T, with more care:
    docs/errata.md). What fails is the last step of the proof, which replaces a/gamma + b gamma by sqrt(a b): that holds
    (with a factor 2) at the optimal gamma only, which is of order T^(-1/4), not at gamma of order T^(-1/2). The
    theorem's statement leaves delta free; a constant delta is not refuted by this, behaves differently (`--set
    delta=0.125`), and is covered by no proof. With gamma = delta = T^(-1/3) the box has regret O(T^(2/3)) and violation
    O(T^(5/6)). The repaired learner is `bandit-lewa`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[1.0, 0.0], constraints=[[1.0, 1.0]])
    >>> learner = lewa.learners.PrintedBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"regret per round {lewa.regret(trace).mean() / 100_000:.2f}"
    'regret per round 0.44'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5.
    """

    eta: float
    gamma: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        gamma: float | None = None,
        delta: float | None = None,
        means: object = None,
    ) -> Self:
        """gamma = delta = T^(-1/2), at most 1/2; eta = (gamma/K) delta/(delta + 1)."""
        floor = check_size(actions, floor, horizon)
        check_feasible(floor, means)
        gamma = min(0.5, horizon**-0.5) if gamma is None else gamma
        delta = min(0.5, horizon**-0.5) if delta is None else delta
        check_positive(delta=delta)
        return lawful(cls(gamma / actions * delta / (delta + 1), gamma, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(3, 200, 0.5, delta=0.125), 3),
            (cls.tuned(5, 100, (0.4, 0.2)), 5),
            (cls.tuned(1, 50, 0.5), 1),
        ]

    def start(self, actions: int) -> PrimalDual:
        check_size(actions, self.floor)
        check_positive(eta=self.eta)
        check_gamma(self.gamma)
        require(self.gamma * self.eta <= 1, "gamma*eta must be at most 1", gamma=self.gamma, eta=self.eta)
        return PrimalDual(ones(actions, drawn=True), np.zeros(self.floor.size))

    def play(self, s: PrimalDual, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def choose(self, s: PrimalDual, u: float) -> tuple[int, float]:
        return draw(s.weights, self.gamma, u)  # i ~ p, and p_i

    def learn(self, s: PrimalDual, seen: Bandit) -> None:
        i, p, c, lam = seen.action, seen.propensity, seen.constraints, s.multiplier
        q = (p - self.gamma / s.weights.log.size) / (1 - self.gamma)
        grow_one(s.weights, i, self.eta / p * (seen.reward + dot(lam, c)))  # w_i <- w_i exp(eta/p_i (r + lam c))
        for j in range(lam.size):  # lam <- [(1 - gamma eta) lam - eta (q_i c/p_i - c0)]+
            lam[j] = positive((1 - self.gamma * self.eta) * lam[j] - self.eta * (q * c[j] / p - self.floor[j]))

    @property
    def dual(self) -> tuple[float, float]:
        """The shrinkage and the step of the multiplier's update, for the certificate of a run."""
        return self.gamma, self.eta

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return paper.bandit_lewa(actions, rounds, self.floor, self.eta, self.gamma, self.gamma, self.eta, setting)
