"""Worlds and parameters on which the laws of every path are tried; hypothesis draws them, and shrinks what breaks a law.

LEWA_HUNT is the number of instances that each law is tried on: set, they are other ones each time; unset, the same
sixteen. A failure prints the instance; `run(Lewa, Instance(...))` plays it again.
"""

import os
import warnings
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings, target
from hypothesis import strategies as st

import lewa
from lewa.blocks import Block
from lewa.kernels import field_types
from lewa.measures.performance import totals
from lewa.types import Cube, Matrix, Vector, Words

HUNT = os.environ.get("LEWA_HUNT")
law = settings(
    max_examples=int(HUNT or 16),
    derandomize=HUNT is None,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
few = settings(law, max_examples=max(law.max_examples // 4, 6))  # for equalities


def some(seeds: int) -> int:
    """Return how many seeds a theorem in expectation or with probability is tried on: a third, and all in `make falsify`."""
    return seeds if HUNT else max(seeds // 3, 6)


ROUNDING = 1e-9  # relative: what adding up some thousand numbers may lose


class Instance(NamedTuple):
    """A world and the parameters of a learner in it."""

    rounds: int
    constraints: tuple[tuple[float, ...], ...]  # (m, K): c, or where it varies what `safe` has
    floor: tuple[float, ...]  # (m,)
    eta: float
    delta: float
    mu: float
    rewards: str  # one of TABLES or REACTIONS
    varying: str = ""  # constraints that vary: one of VARYING
    safe: int = 0  # the action that meets the floors in every round, if they were drawn so
    seed: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """T, m, K"""
        return self.rounds, len(self.constraints), len(self.constraints[0])


class Run(NamedTuple):
    """Every round of one run."""

    rewards: Matrix  # (T, K)
    constraints: Cube  # (T, m, K)
    plays: Matrix  # (T, K)
    multipliers: Matrix  # (T + 1, m)  lambda_1 .. lambda_{T+1}
    trace: lewa.Trace


# Rewards laid out beforehand, (T, K) ------------------------------------------------------------------------------------


def _switching(x: Instance, rng: np.random.Generator) -> Matrix:
    T, _, K = x.shape
    length = int(rng.integers(1, T + 1))
    return np.eye(K)[rng.integers(K, size=T // length + 1)].repeat(length, axis=0)[:T]


TABLES: dict[str, Callable[[Instance, np.random.Generator], Matrix]] = {
    "slow burn": lambda x, rng: np.eye(x.shape[2])[[0] * x.rounds],  # action 0, which may just miss the floor
    "still": lambda x, rng: np.tile(rng.integers(2, size=x.shape[2]).astype(float), (x.rounds, 1)),
    "coins": lambda x, rng: (rng.random((x.rounds, x.shape[2])) < rng.random(x.shape[2])).astype(float),
    "noise": lambda x, rng: rng.random((x.rounds, x.shape[2])),
    "switching": _switching,
}

# Rewards that react to the play ------------------------------------------------------------------------------------------

REACTIONS: dict[str, Callable[[Instance, Vector, float], Vector]] = {
    "least likely": lambda x, p, u: np.eye(p.size)[p.argmin()],
    "rivals": lambda x, p, u: 1 - np.eye(p.size)[p.argmax()],
    "penalty breaker": lambda x, p, u: np.eye(p.size)[0] * (1 if p[0] > 0.5 else 0.6 + 0.3 * u),
    "tempter": lambda x, p, u: np.heaviside(np.dot(x.constraints[0], p) - np.array(x.constraints[0]), 0),  # what meets less
}


def _noisy(x: Instance, p: Vector, u: Matrix) -> Matrix:
    c = np.where(u < 0.3, 0, np.where(u > 0.7, 1, u))
    c[:, x.safe] = x.floor + (1 - np.array(x.floor)) * c[:, x.safe]
    return c


def _starving(x: Instance, p: Vector, u: Matrix) -> Matrix:
    c = np.tile(p < 1 / p.size, (len(u), 1)).astype(float)  # what is played most has nothing
    c[:, x.safe] = np.array(x.constraints)[:, x.safe]
    return c


VARYING: dict[str, Callable[[Instance, Vector, Matrix], Matrix]] = {
    "noisy": _noisy,
    "starving": _starving,
    "coins": lambda x, p, u: (u < np.array(x.constraints)).astype(float),  # a fixed mean
}
FLOORED = ("noisy", "starving")  # those where the action `safe` meets the floors in every round


class World(lewa.games.Game):
    """A game that knows no truth about its constraints, so that nothing is solved before it is played."""

    actions: int
    constraints: int
    reacts: bool = False
    setting = lewa.Setting("arbitrary", "adaptive")

    def __init__(self, x: Instance) -> None:
        T, m, K = x.shape
        self.x, self.actions, self.constraints = x, K, m
        rng = np.random.default_rng(x.seed)
        self.rows = np.tile(np.array(x.constraints), (T, 1, 1))
        self.rewards = TABLES[x.rewards](x, rng) if x.rewards in TABLES else np.zeros((T, K))
        if x.varying or x.rewards in REACTIONS:
            self.dice, self.noise = rng.random(T), rng.random((T, m, K))
            self.reacts = True

    def __deepcopy__(self, memo: object) -> "World":  # what its only seed was shown can be read off afterwards
        return self

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        if self.x.rewards in REACTIONS:
            self.rewards[t] = REACTIONS[self.x.rewards](self.x, p, self.dice[t])
        if self.x.varying:
            self.rows[t] = VARYING[self.x.varying](self.x, p, self.noise[t])
        return self.rewards[t], self.rows[t]

    def block(self, key: Words, start: int, stop: int) -> Block:
        return Block(self.rewards[start:stop], self.rows[start:stop])


def run(kind: Any, x: Instance, **parameters: float) -> Run:
    """Play the instance with a learner of that kind; it takes those of the instance's parameters that it has."""
    given = {name: getattr(x, name) for name in ("eta", "delta", "mu") if name in field_types(kind)}
    world = World(x)
    with warnings.catch_warnings(action="ignore"):  # some laws hold where no play meets the floors
        trace = lewa.play(kind(**given, **parameters, floor=np.array(x.floor)), world, x.rounds, every_round=True)
    assert trace.plays is not None
    assert trace.multipliers is not None
    multipliers = np.vstack([trace.multipliers[0], trace.multiplier[0, -1]])
    return Run(world.rewards, world.rows, trace.plays[0], multipliers, trace)


# What is drawn -----------------------------------------------------------------------------------------------------------

UNIT = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1).map(lambda v: round(v, 6))


def scales(low: float, high: float) -> st.SearchStrategy[float]:
    """Positive factors, e^low to e^high; the simplest is 1."""
    return st.floats(low, high).map(lambda v: float(np.exp(round(v, 3))))


@st.composite
def instances(
    draw: st.DrawFn,
    constraints: st.SearchStrategy[int] = st.integers(1, 3),  # noqa: B008 (a strategy is a value)
    shrinkage: st.SearchStrategy[float] = st.just(1.0) | scales(0, 4),  # noqa: B008
    varying: st.SearchStrategy[str] = st.just(""),  # noqa: B008
    slater: bool = False,
    feasible: bool = True,
) -> Instance:
    """Any eta; delta is `shrinkage` times m eta/2; delta mu <= 1; floors that some play meets, or exceeds (`slater`)."""
    K, m = draw(st.integers(1, 8)), draw(constraints)
    rewards = draw(st.sampled_from([*TABLES, *REACTIONS]))
    varied = draw(varying)
    T = draw(st.integers(1, 100 if varied or rewards in REACTIONS else 1000 if HUNT else 300))
    eta = draw(scales(-4, 4)) * float(np.sqrt(np.log(max(K, 2)) / T))
    delta = m * eta / 2 * draw(shrinkage)
    mu = min(draw(scales(-4, 4)) / float(np.sqrt(T)), 1 / delta)

    c = np.array([[draw(UNIT) for _ in range(K)] for _ in range(m)])
    safe, other = (draw(st.integers(min(1, K - 1), K - 1)) for _ in range(2))
    weight = 0.0 if varied else draw(st.just(0.0) | UNIT)
    reach = (1 - weight) * c[:, safe] + weight * c[:, other]
    share = np.array([draw(st.floats(0, 0.95) if slater else st.just(1.0) | UNIT) for _ in range(m)])
    floor = np.minimum(share * reach, 1.0) if feasible else np.array([draw(UNIT) for _ in range(m)])
    if draw(st.booleans()) and K > 1:  # a slow burn: action 0 misses the floors by a little
        c[:, 0] = np.maximum(floor - min(1.0, draw(scales(-2, 2)) / float(np.sqrt(mu * T))), 0)
    seed = draw(st.integers(0, 2**32 - 1))
    whole = tuple(tuple(row) for row in c.tolist())
    return Instance(T, whole, tuple(floor.tolist()), eta, delta, mu, rewards, varied, safe, seed)


# What the laws are made of -----------------------------------------------------------------------------------------------


def budget(x: Instance) -> Vector:
    """B = ln K/eta + eta t/4 + m mu t/2 after each round t"""
    t, (_, m, K) = rounds(x), x.shape
    B: Vector = np.log(K) / x.eta + x.eta * t / 4 + m * x.mu * t / 2
    return B


def width(x: Instance) -> Vector:
    """A = 2 (delta t + 1/mu) after each round t"""
    A: Vector = 2 * (x.delta * rounds(x) + 1 / x.mu)
    return A


def rounds(x: Instance) -> Vector:
    """1, 2, ..., T"""
    return np.arange(1.0, x.rounds + 1)


def regrets(r: Run) -> Matrix:
    """Regret after each round against each action, (T, K); against a mixture of actions it is their mixture."""
    earned: Matrix = np.cumsum(r.rewards - (r.plays * r.rewards).sum(axis=1, keepdims=True), axis=0)
    return earned


def shortfalls(x: Instance, r: Run) -> Matrix:
    """sum (floor - p.c) after each round, (T, m)"""
    missed: Matrix = np.cumsum(np.array(x.floor) - np.einsum("tk,tmk->tm", r.plays, r.constraints), axis=0)
    return missed


def squares(x: Instance, missed: Matrix) -> Vector:
    """sum_j [V_j]+^2 / A after each round"""
    total: Vector = (np.maximum(missed, 0) ** 2).sum(axis=1) / width(x)
    return total


def multiplier_sums(x: Instance, r: Run) -> Matrix:
    """sum lambda_t.(floor - c_t) after each round, for each action, (T, K)"""
    gap = np.array(x.floor)[:, np.newaxis] - r.constraints
    owed: Matrix = np.cumsum(np.einsum("tm,tmk->tk", r.multipliers[:-1], gap), axis=0)
    return owed


def corners(x: Instance) -> Matrix:
    """The corners of the plays that meet the floors, (n, K): of s actions in use s - 1 floors are met exactly."""
    return corners_of(x.constraints, x.floor)


@lru_cache(64)
def corners_of(constraints: tuple[tuple[float, ...], ...], floors: tuple[float, ...]) -> Matrix:
    """The same for constraints and floors that many instances share."""
    c, floor, (m, K) = np.array(constraints), np.array(floors), np.shape(constraints)
    found = []
    for s in range(1, min(K, m + 1) + 1):
        for used in combinations(range(K), s):
            for tight in combinations(range(m), s - 1):
                system = np.vstack([np.ones(s), c[np.ix_(tight, used)]])
                if abs(np.linalg.det(system)) > 1e-9:
                    p = np.zeros(K)
                    p[list(used)] = np.linalg.solve(system, [1, *floor[list(tight)]])
                    if p.min() >= 0 and (c @ p >= floor - 1e-12).all():
                        found.append(p)
    return np.array(found).reshape(-1, K)


def regret_at_marks(trace: lewa.Trace) -> Matrix:
    """The regret of every seed at each mark, (S, n), against the best corner of the plays that meet the true means.

    It is that of `lewa.measures.regret_curve`, which solves a linear program for each number where there are two floors.
    """
    means = tuple(tuple(row) for row in np.asarray(trace.game.mean_constraints).tolist())
    p = corners_of(means, tuple(trace.floor.tolist()))
    best = [(totals(trace, s)[0] @ p.T).max(axis=1) for s in range(len(trace.seeds))]
    curve: Matrix = np.array(best) - trace.reward
    return curve


def regret_at_end(trace: lewa.Trace) -> Vector:
    """The regret of every seed after the last round, (S,): that of `lewa.regret`."""
    last: Vector = regret_at_marks(trace)[:, -1]
    return last


def never_above(bounded: Any, bound: Any) -> None:
    """The law, in every round; hypothesis is told how near it came, and looks there for more."""
    bounded, bound = np.broadcast_arrays(np.asarray(bounded), np.asarray(bound))
    if bounded.size:
        target(float(np.divide(bounded, bound, out=np.zeros(bound.shape), where=bound > 1e-6).max().clip(-10, 10)))
        over = bounded - bound - ROUNDING * (1 + np.abs(bound))
        worst = np.unravel_index(over.argmax(), over.shape)
        assert over[worst] <= 0, f"{bounded[worst]} > {bound[worst]} at index {tuple(map(int, worst))}"
