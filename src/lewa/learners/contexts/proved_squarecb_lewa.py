"""SquareCB-LEWA with proofs: regressions on features, and constraints that are known before the draw or learned."""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.kernels.dual import anytime_dual_step_one, dual_step_one
from lewa.kernels.first_state import first_state
from lewa.kernels.inverse_gap import weigh_gaps
from lewa.kernels.jit import rule
from lewa.kernels.records import state_type
from lewa.kernels.ridge import Ridge, add_features, add_target, move_target, no_ridge, ridge_mean, whiten
from lewa.kernels.roles import Available, Clock, Features, Multiplier, Rescaling
from lewa.learners.base import USUAL, Bandit, Known, Learner, Parameters, Problem, Step, Theorems, require, sizes_of, trial
from lewa.learners.parameter_checks import LARGEST
from lewa.theory import contexts
from lewa.types import Matrix, State, Vector
from lewa.validation import as_count, as_floats, in_unit, short_repr

USUAL_ROUNDS = 100_000  # at which gamma is best for an unknown horizon; the bound grows by less than ln T beside sqrt(T)


class KnownConstraints(Learner):
    """A learner with regressions on features; some constraints may be known for every action before the draw."""

    sharpness: Step
    known: Known
    ridge: Vector

    purpose = "contexts"
    weighs_propensities = False
    reads_play = False
    proved_with_masks = True
    keeps_shares = False

    trials = (
        *(*USUAL, trial(3, 200, (0.5, 0.4), features=4)),
        trial(3, 200, (0.5, 0.4), features=2, known=[[-1, -1, -1], [0.2, 0.9, 0.5]]),
    )

    @property
    def unknown(self) -> Vector:
        """1 for a constraint that is learned, 0 for one that is known before the draw."""
        return np.array([float(row.max(initial=-1.0) < 0) for row in self.known])

    def check(self) -> None:
        m = self.floor.size
        rows = self.known.ndim == 2 and self.known.shape[0] == m
        require(rows, f"known must have {m} rows, one per constraint", known=self.known.tolist())
        in_unit("known", self.known[~(self.known < 0)])
        mixed = ((self.known < 0).any(axis=1) & (self.known >= 0).any(axis=1)).any()
        require(not mixed, "a constraint must be known for every action or for none", known=self.known.tolist())
        positive = self.ridge.size > 0 and bool((np.isfinite(self.ridge) & (self.ridge > 0)).all())
        require(positive, "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def start(self, actions: int) -> State:
        K, m = sizes_of(self, actions)
        constant = np.eye(1, self.ridge.size)[0]  # nothing but the constant
        return first_state(state_type(type(self)), K, m, features=constant, ridge=no_ridge(self.ridge, 1 + m, K))

    def changed(self, s: Any, floor: Vector, units: Rescaling | None) -> tuple[Self, Any]:
        if units is not None and self.unknown[units.j]:  # its regressions are of c - 1/2
            line = (units.ratio, (1 - units.ratio) / 2 - units.shift)
            move_target(s.ridge, self.ridge, 1 + units.j, 1 + self.floor.size, line)
        return super().changed(s, floor, units)


class ProvedSquareCbLewaState(NamedTuple):
    available: Available  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Multiplier  # (m,)  lambda
    features: Features  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


def regression_steps(
    q: Problem, b: float = 0.5, features: int = 1, epsilon: float | None = None, known: object = None
) -> Parameters:
    """gamma = 2 sqrt((K - 1)/U) T^b, delta = 2 (K - 1)/gamma, mu = T^(b-1)/sqrt(m), at most 1/delta."""
    K, T, m, d = q.K, q.T, q.m, as_count("features", features)
    lines, learned = as_known(known, m, K)
    targets = 1 + int(learned.sum())
    U, spare = contexts.squared_error(K, d, T, targets), 0.0
    if epsilon is not None:
        U = contexts.squared_error_probable(K, d, T, targets, epsilon)
        spare = 3 * m / 4 * sqrt(8 * log(5 / epsilon) / T)
    gamma = 2 * sqrt((K - 1) / U) * T**b if K > 1 else 1.0
    delta: Vector = np.where(learned > 0, 2 * (K - 1) / gamma, 0.0) + spare
    mu: Vector = np.minimum(T ** (b - 1) / sqrt(m), 1 / np.maximum(delta, 1e-100))
    return {"sharpness": gamma, "delta": delta, "mu": mu, "known": lines, "ridge": np.ones(d)}


@dataclass(frozen=True)
class ProvedSquareCbLewa(KnownConstraints):
    """SquareCB-LEWA with its theorem's constants: a guarantee for contexts with linear means.

    No box of the paper. In round t the features x are seen; for each action k, A = I + sum of x x' over its answers and
    w_k = x' A^-1 x, and r_k, c_{j,k} are 1/2 + x' A^-1 (sum of (y - 1/2) x)/(1 + w_k), clipped to [0, 1]. lambda_1 = 0::

        s_k          = r_k + sum_j lambda_{t,j} c_{j,k}
        p_k          = 1/(nu + g (max s - s_k)) over the available actions,  g = gamma/(1 + sum_j lambda_{t,j}^2)
        lambda_{t+1} = [(1 - delta_j mu_j) lambda_t - mu_j (c_t - c0)]+

    Order: the play uses lambda_t and the answers before round t. The sum in g leaves out constraints that are known before
    the draw, whose c_{j,k} is the known value.

    Parameters: gamma = sharpness > 0; delta_j >= 0, the shrinkage; mu_j > 0, the dual step, delta_j mu_j <= 1; known
    (m, K), the constraints that are known, -1 where they are learned; rho = ridge, 1 for each feature; c0 = floor.

    Reading: gamma = 2 sqrt((K - 1)/U) T^b with U = (M K d/4)(1 + ln(1 + 2 T/(K d))), M = 1 + the number of constraints
    that are learned; delta = 2 (K - 1)/gamma, and 0 for known constraints; mu = T^(b-1)/sqrt(m). With `epsilon` delta
    is larger by sqrt(9 m^2 ln(5/epsilon)/(2 T)), and U is that of the bound with high probability. The bounds need no
    Slater condition, and an adversary may choose the contexts. Actions that are not available are part of the context,
    and the bounds hold with them. `squarecb-lewa` has constants that earn more, but no bound. The proof is in
    docs/theory_contexts.md, 3.

    >>> import lewa
    >>> learner = lewa.learners.ProvedSquareCbLewa.tuned(actions=3, horizon=1_000_000, floor=0.6, features=10)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 19558.4, violation at most 202241.2'

    Reference: docs/theory_contexts.md; D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    sharpness: Step
    delta: Vector
    mu: Vector
    known: Known
    ridge: Vector
    floor: Vector

    tunings = {"recommended": regression_steps}
    theorems = Theorems(contexts.squarecb_lewa)

    def check(self) -> None:
        super().check()
        m = self.floor.size
        require(self.delta.shape == self.mu.shape == (m,), "delta and mu must be one number per constraint", mu=self.mu)
        steps = (self.delta >= 0) & (self.mu > 0) & (self.delta * self.mu <= 1 + 1e-12)
        require(bool(steps.all()), "delta must be at least 0, mu positive, delta*mu at most 1", delta=self.delta, mu=self.mu)

    def play(self, s: ProvedSquareCbLewaState, p: Vector) -> None:
        squares = foretell_all(s.available, s.multiplier, s.features, s.ridge, self.known, p)
        weigh_gaps(p, self.sharpness / squares)

    def learn(self, s: ProvedSquareCbLewaState, seen: Bandit) -> None:
        a, m = seen.action, self.floor.size
        add_target(s.ridge, s.features, a * (1 + m), seen.reward - 0.5)
        for j in range(m):
            c, lam = seen.constraints[j], s.multiplier
            add_target(s.ridge, s.features, a * (1 + m) + 1 + j, c - 0.5)
            lam[j] = dual_step_one(lam[j], self.delta[j], self.mu[j], c, self.floor[j])
        add_features(s.ridge, s.features, a, 1 + m)


class AnytimeProvedSquareCbLewaState(NamedTuple):
    available: Available  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Multiplier  # (m,)  lambda
    clock: Clock  # (1,)  the rounds answered
    features: Features  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


def anytime_regression_steps(q: Problem, features: int = 1, known: object = None) -> Parameters:
    """gamma = sqrt(8 (K - 1)/U), U at 100,000 rounds, delta = 4 (K - 1)/gamma, or sqrt(m) of a known constraint."""
    d = as_count("features", features)
    lines, learned = as_known(known, q.m, q.K)
    gamma, delta = 1.0, np.ones(q.m)
    if q.K > 1:
        gamma = sqrt(8 * (q.K - 1) / contexts.squared_error(q.K, d, USUAL_ROUNDS, 1 + int(learned.sum())))
        delta = np.where(learned > 0, 4 * (q.K - 1) / gamma, sqrt(q.m))
    return {"sharpness": gamma, "delta": delta, "known": lines, "ridge": np.ones(d)}


@dataclass(frozen=True)
class AnytimeProvedSquareCbLewa(KnownConstraints):
    """Anytime SquareCB-LEWA: a guarantee for contexts with linear means, for an unknown horizon.

    No box of the paper. Forecasts r_k and c_{j,k} are those of `proved-squarecb-lewa`. With lambda_1 = 0, in round t::

        delta_t      = delta_j (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta_j sqrt(t))
        s_k          = r_k + sum_j lambda_{t,j} c_{j,k}
        p_k          = 1/(nu + g (max s - s_k)) over the available actions,  g = gamma sqrt(t)/(1 + sum_j lambda_{t,j}^2)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the play uses lambda_t and the answers before round t. t counts the rounds that were answered. The sum in g leaves
    out constraints that are known before the draw, whose c_{j,k} is the known value.

    Parameters: gamma = sharpness > 0; delta_j > 0, one per constraint; known (m, K), the constraints that are known, -1
    where they are learned; rho = ridge, 1 for each feature; c0 = floor, each in [0, 1]. The proof needs delta_j >= 4 (K
    - 1)/gamma for constraints that are learned.

    Reading: gamma = sqrt(8 (K - 1)/U) with U = (M K d/4)(1 + ln(1 + 2 T/(K d))) at T = 100,000, M = 1 + the number of
    constraints that are learned; delta = 4 (K - 1)/gamma, and sqrt(m) for known constraints, at every horizon. The
    bound needs no Slater condition, and an adversary may choose the contexts. Actions that are not available are part
    of the context. Proof: docs/theory_contexts.md, 3.

    >>> import lewa
    >>> learner = lewa.learners.AnytimeProvedSquareCbLewa.tuned(actions=3, horizon=1, floor=0.6, features=10)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 27144.0, violation at most 223218.7'

    Reference: docs/theory_contexts.md; D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    sharpness: Step
    delta: Vector
    known: Known
    ridge: Vector
    floor: Vector

    tunings = {"recommended": anytime_regression_steps}
    theorems = Theorems(contexts.anytime_squarecb_lewa)

    def check(self) -> None:
        super().check()
        fine = self.delta.shape == self.floor.shape and bool(((self.delta > 0) & (self.delta <= LARGEST)).all())
        require(fine, f"delta must be one positive number of at most {LARGEST:g} per constraint", delta=self.delta)

    def play(self, s: AnytimeProvedSquareCbLewaState, p: Vector) -> None:
        squares = foretell_all(s.available, s.multiplier, s.features, s.ridge, self.known, p)
        weigh_gaps(p, self.sharpness * sqrt(s.clock[0] + 1) / squares)

    def learn(self, s: AnytimeProvedSquareCbLewaState, seen: Bandit) -> None:
        a, m, c = seen.action, self.floor.size, seen.constraints
        s.clock[0] += 1
        add_target(s.ridge, s.features, a * (1 + m), seen.reward - 0.5)
        for j in range(m):
            add_target(s.ridge, s.features, a * (1 + m) + 1 + j, c[j] - 0.5)
            s.multiplier[j] = anytime_dual_step_one(s.multiplier[j], self.delta[j], s.clock[0], c[j], self.floor[j])
        add_features(s.ridge, s.features, a, 1 + m)


def as_known(known: object, constraints: int, actions: int) -> tuple[Matrix, Vector]:
    """Return the known values (m, K), -1 where they are learned, for `tuned`; and 1 for each constraint that is learned."""
    m, K = constraints, actions
    lines: Matrix = np.full((m, K), -1.0) if known is None else as_floats("known", known)
    shape = f"known must have the shape ({m}, {K}), a row per constraint and a value per action, -1 if it is learned"
    require(lines.shape == (m, K), shape, known=short_repr(known))
    return lines, np.array([float((row < 0).all()) for row in lines])


def all_learned(kind: type[Learner], saved: dict[str, Any], actions: int) -> dict[str, Any]:
    """Return the parameters in the form of this version; in earlier versions all constraints were learned."""
    if not issubclass(kind, KnownConstraints) or "known" in saved:
        return saved
    m = len(saved["floor"])
    shrinkage = saved["delta"] if isinstance(saved["delta"], list) else [saved["delta"]] * m
    return {**saved, "delta": shrinkage, "known": [[-1.0] * actions] * m}


@rule
def forecast_known(known: Matrix, ridge: Ridge, j: int, k: int, w: float) -> float:
    """Return constraint j of action k, if it is known, or its forecast at the features that were whitened last."""
    return float(known[j, k]) if known[j, k] >= 0 else foretell(ridge, k, k * (1 + known.shape[0]) + 1 + j, w)


@rule
def foretell(ridge: Ridge, k: int, row: int, w: float) -> float:
    """1/2 + x' A^-1 b/(1 + w), clipped to [0, 1], at the features that were whitened last"""
    return float(min(max(0.5 + ridge_mean(ridge, k, row) / (1 + w), 0.0), 1.0))


@rule
def foretell_all(available: Vector, lam: Vector, x: Vector, ridge: Ridge, known: Matrix, p: Vector) -> float:
    """p_k = r_k + lam c_k, forecast at the features x; return 1 + lam^2 of the constraints that are learned"""
    m, squares = lam.size, 1.0
    for j in range(m):
        if known[j, 0] < 0:
            squares += lam[j] * lam[j]
    for k in range(p.size):
        w = whiten(ridge, x, k)
        p[k] = foretell(ridge, k, k * (1 + m), w)
        for j in range(m):
            p[k] += lam[j] * forecast_known(known, ridge, j, k, w)
        if available[k] == 0:
            p[k] = -inf
    return float(squares)
