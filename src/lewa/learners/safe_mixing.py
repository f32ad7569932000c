"""Safe mixing: no round below the floors, given an action that is known to be safe."""

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Tilt, Weights, average, grow, meets, ones, project, share, upright
from lewa.learners.base import check_epsilon, check_feasible, check_positive, check_size, lawful, log_actions, require
from lewa.theory import paper, projected
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector

UNKNOWN = -1.0  # in place of the number of a safe action


class Mixed(NamedTuple):
    weights: Weights  # w, of x
    multiplier: Vector  # (m,)    lambda, of the last projection
    mean: Matrix  # (m, K)  cbar
    least: Vector  # (m,)    what x had to meet of it
    tilt: Tilt  # eta lambda, and the room that it takes to find it
    safety: Vector  # (1,)    sigma, the share of the safe action
    clock: Vector  # (1,)    t, the rounds seen


class SafeMixing(NamedTuple):
    """Safe mixing: every round within the line, given one action that is known to be safe.

    OP-EWA, of which each round as much is replaced by the safe action as it takes to be sure. The paper's "one shot"
    satisfaction. No box of the paper. With x_1 even and sigma_1 = max_j c0/(c0 + margin), in round t::

        p_t         = sigma_t e_safe + (1 - sigma_t) x_t
        cbar_t      = (c_1 + ... + c_t) / t
        alpha_t     = radius/sqrt(t)
        x_{t+1}     = the play nearest to x_t exp(eta r_t), in relative entropy, with p.cbar_t >= c0 - alpha_t
                      (without projection, if there is none)
        s_j         = [c0 - x_{t+1}.[cbar_t - alpha_t]+]+
        sigma_{t+1} = max_j s_j/(s_j + margin)

    Order: cbar_t contains c_t; x learns from all rewards, whatever was played.

    Parameters: eta = eta > 0; radius = radius > 0; safe = safe, the number of an action, or -1 if none is known; margin =
    margin >= 0, by how much that action is known to exceed every floor in the mean; c0 = floor, each in [0, 1].

    Reading: eta = sqrt(8 ln K/T), radius = sqrt(ln(2KmT/epsilon)/2). `safe` and `margin` have to be told: to do nothing is
    often such an action, with margin 1 - c0. With probability 1 - epsilon, p_t.c >= c0 in every round, and regret <=
    sqrt(T ln K/2) + 1 + 4 radius sqrt(T)/margin. If the action is not as safe as said, nothing holds; if none is named,
    nothing is mixed in, and nothing proved. S-OPS is given a safe play; an action is enough here.
    Proof: docs/theory_projected.md, 5.

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
    safe: float
    margin: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        safe: float = UNKNOWN,
        margin: float = 0.0,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """eta = sqrt(8 ln K/T), radius = sqrt(ln(2KmT/epsilon)/2)"""
        floor = check_size(actions, floor, horizon)
        check_epsilon(epsilon)
        check_feasible(floor, means)
        check_safe(actions, safe, margin, floor)
        radius = paper.hp_radius(actions, horizon, floor.size, epsilon)
        return lawful(cls(sqrt(8 * log_actions(actions) / horizon), radius, float(safe), margin, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 100, (0.4, 0.2), safe=2, margin=0.1), 5),
            (cls.tuned(1, 50, 0.5, safe=0, margin=0.1), 1),
            (cls.tuned(4, 100, 0.6, safe=3, margin=0.4)._replace(radius=0.05), 4),
        ]

    def start(self, actions: int) -> Mixed:
        check_size(actions, self.floor)
        check_positive(eta=self.eta, radius=self.radius)
        check_safe(actions, self.safe, self.margin, self.floor)
        K, m = actions, self.floor.size
        safety = first_safety(self.floor, self.safe, self.margin)
        return Mixed(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(m), upright(K, m), safety, np.zeros(1))

    def play(self, s: Mixed, p: Vector) -> None:
        share(s.weights, p)  # x = w / sum w
        for i in range(p.size):  # p = sigma e_safe + (1 - sigma) x
            p[i] *= 1 - s.safety[0]
        p[min(int(self.safe), p.size - 1)] += s.safety[0]

    def learn(self, s: Mixed, seen: Full) -> None:
        s.clock[0] += 1
        alpha, c0 = self.radius / sqrt(s.clock[0]), self.floor
        grow(s.weights, self.eta, seen.rewards)  # w <- x exp(eta r)
        for j in range(c0.size):  # cbar <- cbar + (c - cbar)/t
            average(s.mean[j], seen.constraints[j], s.clock[0], seen.play)
            s.least[j] = c0[j] - alpha if c0[j] > 0 else 0.0
        project(s.weights, s.mean, s.least, s.tilt)  # w <- the nearest with p.cbar >= c0 - alpha
        s.safety[0] = 0.0
        for j in range(c0.size):  # sigma = max s/(s + margin), s = [c0 - x.[cbar - alpha]+]+
            short = c0[j] - meets(s.weights, s.mean[j], alpha)
            if short > 0 and self.safe >= 0:
                s.safety[0] = max(s.safety[0], short / (short + self.margin))
            s.multiplier[j] = s.tilt.theta[j] / self.eta

    def relabelled(self, order: Any) -> Self:
        """The same learner where action k is what was action order[k]."""
        return self._replace(safe=float(list(order).index(self.safe))) if self.safe >= 0 else self

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        steps = (self.eta, self.radius, self.safe, self.margin)
        return projected.safe_mixing(actions, rounds, self.floor, *steps, setting)


def check_safe(actions: int, safe: float, margin: float, floor: Vector) -> None:
    """The safe action is one of them (of one action it is that one, whatever its number), and no constraint exceeds 1."""
    known = 0 <= safe < float("inf") and safe == int(safe) and (safe < actions or actions == 1)
    require(known or safe == UNKNOWN, f"safe must be the number of an action, 0 .. {actions - 1}", safe=safe)
    most = 1 - float(floor.max())
    require(0 <= margin <= most + 1e-12, f"margin must lie between 0 and 1 - floor = {most:.6g}", margin=margin)


def first_safety(floor: Vector, safe: float, margin: float) -> Vector:
    """sigma_1 = max_j c0/(c0 + margin): nothing is known, so all but the safe action may meet nothing."""
    asked = [c0 for c0 in floor.tolist() if c0 > 0 and safe >= 0]
    return np.array([max((c0 / (c0 + margin) for c0 in asked), default=0.0)])
