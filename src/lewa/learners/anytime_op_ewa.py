"""Anytime OP-EWA: OP-EWA for an unknown horizon, with bounds that hold at all rounds at once."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    Tilt,
    Weights,
    comparable,
    grow,
    no_tilt,
    normalize,
    ones,
    prices,
    project_or_relax,
    stitched,
    temper,
    update_means,
)
from lewa.kernels.roles import Clock, Least, Lines, Multiplier
from lewa.learners.base import Learner
from lewa.learners.op_ewa import check_bonus, check_corruption
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem, log_actions
from lewa.learners.variants.anytime_lewa import AnytimeLewa
from lewa.theory import anytime
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class AnytimeOpEwaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  cbar
    least: Least  # (m,)    what the play had to meet of cbar
    tilt: Tilt  # eta_{t+1} lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class AnytimeOpEwa(Learner):
    """Anytime OP-EWA: OP-EWA for an unknown horizon.

    OP-EWA with a decreasing step and a radius that covers all rounds. Before a projection the weights are flattened in
    proportion to the decrease of the step, so that the current step weighs all past rewards.

    No box of the paper. With p_1 uniform and eta_t = eta/sqrt(t), in round t::

        cbar_t  = (c_1 + ... + c_t) / t
        alpha_t = kappa sqrt(n (L + ln((k + 1)(k + 2)))/2)/t + C/t, n = 1.2^k the least power of 1.2 that is at least t
        X_t = {p : p.cbar_t >= c0 - alpha_t}, or with 1 for kappa if there is no such play w_{t+1} = (p_t exp(eta_t
        r_t))^(eta_{t+1}/eta_t) p_{t+1} = the play of X_t nearest to w_{t+1} / sum w_{t+1}, in relative entropy (w
        itself, if X_t is empty)

    Order: cbar_t contains c_t. Weights are flattened before they are projected, so the play meets the constraints.
    lambda_{t+1} is the tilt of the projection divided by eta_{t+1}. For m constraints X_t has m half-spaces and lambda m
    entries.

    Parameters: eta = eta > 0; L = level > 0; kappa = kappa in [-1, 1], the bonus; C = corruption >= 0, the total
    corruption of the constraints; c0 = floor, each in [0, 1]; a floor of 0 is no constraint.

    Reading: eta = 2 sqrt(ln K), L = ln(2Km/epsilon). With kappa = 1, with probability 1 - epsilon at all T at once,
    regret <= sqrt(T ln K), sqrt(2) times that of OP-EWA, which needs T; the sum of all shortfalls is at most c0 + 2
    sum_t alpha_t, of order sqrt(T ln ln T), and at a million rounds a little less than that of OP-EWA. It needs neither
    slack nor a share. (With doubling, OP-EWA has 2.4 times the regret bound and 2.6 times the bound on shortfalls that
    it has with known T.) If constraints are the same in every round, the shortfalls with kappa = 0 sum to at most c0,
    on every path. If they are corrupted by at most C in total, and C is known, the bound on shortfalls grows by 2C (1 +
    ln T) and that on regret does not change. With kappa below 1 the bound on shortfalls still holds; regret is then
    bounded only if constraints are the same in every round and kappa >= 0. Proof: docs/theory_anytime.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.AnytimeOpEwa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0]:.0f} (bound {bound.regret:.0f})"
    'regret -390 (bound 83)'
    >>> f"shortfalls {lewa.positive_violation(trace)[0, 0]:.0f} (bound {bound.positive_violation[0]:.0f})"
    'shortfalls 607 (bound 1012)'

    Reference: docs/theory_anytime.md; flattening the weights is the dual stabilisation of H. Fang, N. Harvey, V.
    Portella, M. Friedlander, Online mirror descent and dual averaging: keeping pace in the dynamic case, ICML 2020.
    """

    eta: float
    level: float
    kappa: float
    corruption: float
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        kappa: float = 1.0,
        corruption: float = 0.0,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """Return the learner with eta = 2 sqrt(ln K), L = ln(2Km/epsilon), for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        kappa
            The share of its radius by which each estimate is relaxed.
        corruption
            The total corruption of the constraints that the estimates allow for.
        epsilon
            The probability with which the bounds may fail.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, _, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        return cls(2 * sqrt(log_actions(K)), log(2 * K * floor.size / epsilon), kappa, corruption, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [
            *super().examples(),
            (cls.tuned(4, 100, 0.6, kappa=0), 4),
            (cls.tuned(4, 100, (0.3, 0.5), kappa=0, corruption=0.5), 4),
        ]

    def check(self) -> None:
        check_positive(eta=self.eta, level=self.level)
        check_bonus(self.kappa, 0.0)
        check_corruption(self.corruption)

    def start(self, actions: int) -> AnytimeOpEwaState:
        K, m = self.sizes(actions)
        return AnytimeOpEwaState(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(m), no_tilt(K, m), np.zeros(1))

    def play(self, s: AnytimeOpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: AnytimeOpEwaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        radius = stitched(t, self.level)
        update_means(s.mean, seen.constraints, t)  # cbar <- cbar + (c - cbar)/t
        grow(s.weights, self.eta / sqrt(t), seen.rewards)  # w <- p exp(eta_t r)
        temper(s.weights, sqrt(t / (t + 1)))  # w <- w^(eta_{t+1}/eta_t)
        # w <- the nearest with p.cbar >= c0 - kappa radius - C/t
        project_or_relax(s.weights, s.mean, self.floor, self.kappa, radius, self.corruption / t, s.least, s.tilt)
        prices(s.tilt, self.eta / sqrt(t + 1), s.multiplier)

    @property
    def parent(self) -> Learner | None:
        """With floor 0 it is anytime LEWA, whatever its delta."""
        return AnytimeLewa(self.eta, self.eta, self.floor)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return anytime.anytime_op_ewa(self, actions, rounds, setting)
