"""Compute the regret and the violation of a run, and certificates from the run's own numbers.

Regret is the reward of the best fixed play under the floors minus the reward earned. Violation is the sum of the shortfalls
below the floors.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from lewa.blocks import Block
from lewa.kernels import NATURE, keys
from lewa.measures.best_play import Hindsight, best_fixed_play, best_play_every_round, best_value
from lewa.measures.trace import Trace, check_trace
from lewa.types import Cube, Matrix, Vector
from lewa.validation import in_unit, short_repr

Array = TypeVar("Array", Vector, Matrix)
Means: TypeAlias = tuple[Vector, Matrix]  # of rewards (K,) and of constraints (m, K)
CHUNK = 1 << 20  # numbers laid out at a time when a lazily drawn nature is added up
SMALL = 1 << 16  # numbers of a seed's sums that are stored


class TraceCache:
    """What was computed of a trace, by seeds: to lay a lazily drawn nature out takes longer than to play it."""

    def __init__(self) -> None:
        self.totals: dict[int, tuple[Matrix, Cube]] = {}
        self.values: dict[str, Vector] = {}
        self.plays: dict[tuple[str, float], tuple[Hindsight, ...]] = {}


CACHE: WeakKeyDictionary[Trace, TraceCache] = WeakKeyDictionary()


def hindsight(trace: Trace, constraint: str = "auto", raised: float = 0.0) -> tuple[Hindsight, ...]:
    """Return the best fixed play in hindsight for each seed, against the rewards of that seed.

    `constraint` names the constraints that the play must meet: the game's true means ("known"), the means over the rounds
    of that seed ("trace"), the constraints of every round ("every round"), or "auto": the true means if the game knows them,
    otherwise those of the trace. The floors are those of the trace; floors other than 0 are raised by `raised`.
    """
    if (converted := check_trace(trace).converted) is not None:
        run, units = converted
        return tuple(
            each._replace(
                value=units.reward.to_user(each.value),
                price=each.price * units.prices,
                reachable=units.zeros + units.spans * each.reachable,
            )
            for each in hindsight(run, constraint, raised)
        )
    plays = CACHE.setdefault(check_trace(trace), TraceCache()).plays
    if (constraint, raised) not in plays:
        floor = raise_floor(trace.floor, raised)
        if constraint == "every round":
            plays[constraint, raised] = tuple(_every_round(trace, s, floor) for s in range(len(trace.seeds)))
        else:
            plays[constraint, raised] = tuple(best_fixed_play(r, c, floor) for r, c in _last_means(trace, constraint))
    return plays[constraint, raised]


def raise_floor(floor: Vector, raised: float) -> Vector:
    """Return the floors raised by this amount, to at most 1; a floor of 0 is no constraint and stays 0."""
    higher: Vector = np.where(floor > 0, np.minimum(floor + raised, 1.0), 0.0)
    return higher if raised else floor


def _every_round(trace: Trace, s: int, floor: Vector) -> Hindsight:
    blocks = [block.constraints for _, block in _nature(trace, s)]
    return best_play_every_round(totals(trace, s)[0][-1] / trace.rounds, np.concatenate(blocks), floor)


def conditions(trace: Trace, s: int, constraint: str) -> tuple[Vector, Matrix, Vector]:
    """Return the linear program of a seed: mean rewards (K,), constraints (n, K) and their floors (n,)."""
    rewards = totals(trace, s)[0][-1] / trace.rounds
    if constraint == "every round":
        rows = np.unique(np.concatenate([block.constraints for _, block in _nature(trace, s)]), axis=0)
        return rewards, rows.reshape(-1, rows.shape[2]), np.tile(trace.floor, len(rows))
    known = trace.game.mean_constraints
    if known is None or constraint == "trace":
        known = totals(trace, s)[1][-1] / trace.rounds
    return rewards, np.atleast_2d(known), trace.floor


def regret(trace: Trace, constraint: str = "auto") -> Vector:
    """Return the regret of each seed after the last round, (S,)."""
    if (converted := check_trace(trace).converted) is not None:
        run, units = converted
        scaled: Vector = regret(run, constraint) * units.reward.span
        return scaled
    values = CACHE.setdefault(check_trace(trace), TraceCache()).values
    if constraint not in values:
        if constraint == "every round":
            values[constraint] = np.array([h.value for h in hindsight(trace, constraint)])
        else:
            values[constraint] = np.array([best_value(r, c, trace.floor) for r, c in _last_means(trace, constraint)])
    total: Vector = values[constraint] * trace.rounds - trace.reward[:, -1]
    return total


def regret_curve(trace: Trace, constraint: str = "auto") -> Matrix:
    """Return the regret of each seed at each mark, (S, n), against the best fixed play for the rounds up to the mark."""
    if (converted := check_trace(trace).converted) is not None:
        run, units = converted
        scaled: Matrix = regret_curve(run, constraint) * units.reward.span
        return scaled
    each = (_means(trace, s, constraint, range(len(trace.marks))) for s in range(len(trace.seeds)))
    values = np.array([[best_value(r, c, trace.floor) for r, c in means] for means in each])
    curve: Matrix = values * trace.marks - trace.reward
    return curve


def regret_certificate(trace: Trace, play: Vector) -> Vector:
    """Return a bound on LEWA's regret against this play, (S,), that holds on every run, without assumptions: LEWA (g).

    The bound is ln K/eta + (eta/8) sum_t (1 + |lambda_t|)^2 + sum_t lambda_t.(p_t.c_t - p.c_t). It needs a trace of every
    round.
    """
    if (converted := check_trace(trace).converted) is not None:
        run, units = converted
        scaled: Vector = regret_certificate(run, play) * units.reward.span
        return scaled
    if trace.plays is None or trace.multipliers is None:
        raise ValueError("the regret certificate needs every round: play with every_round=True")
    if tuple(trace.learner.parameters) != ("eta", "delta", "mu", "floor"):  # the others' updates see something else than c_t
        raise ValueError(f"only LEWA has a regret certificate, got {type(trace.learner).__name__}")
    if trace.game.setting.outside_theory:
        raise ValueError(f"the regret certificate covers LEWA's own plays only, got {trace.game.setting.outside_theory}")
    eta, K = trace.learner.eta, trace.plays.shape[2]
    comparator = in_unit("play", play)
    if comparator.shape != (K,):
        raise ValueError(f"play must have {K} numbers, one for each action, got {short_repr(play)}")
    bounds: Vector = np.log(K) / eta + eta / 8 * ((1 + trace.multipliers.sum(axis=2)) ** 2).sum(axis=1)
    for s in range(len(trace.seeds)):
        start = 0
        for _, block in _nature(trace, s):
            here = slice(start, start + len(block.rewards))
            gained = np.einsum("tmk,tk->tm", block.constraints, trace.plays[s, here] - comparator)
            bounds[s] += (trace.multipliers[s, here] * gained).sum()
            start = here.stop
    return bounds


def _last_means(trace: Trace, constraint: str) -> list[Means]:
    """Return the means of each seed over all of its rounds."""
    return [_means(trace, s, constraint, [len(trace.marks) - 1])[0] for s in range(len(trace.seeds))]


def _means(trace: Trace, s: int, constraint: str, marks: Iterable[int]) -> list[Means]:
    """Return the means of a seed over the rounds up to each of these marks."""
    if not isinstance(constraint, str) or constraint not in ("auto", "known", "trace"):
        raise ValueError(f"constraint must be 'auto', 'known', 'trace' or 'every round', got {short_repr(constraint)}")
    mean_constraints = trace.game.mean_constraints
    if constraint == "known" and mean_constraints is None:
        raise ValueError("the game does not know its mean constraint: use 'trace'")
    known = None if constraint == "trace" else mean_constraints
    rewards, constraints = totals(trace, s)
    at = trace.marks
    return [(rewards[n] / at[n], constraints[n] / at[n] if known is None else known) for n in marks]


def totals(trace: Trace, s: int) -> tuple[Matrix, Cube]:
    """Return the sums of r_t (n, K) and c_t (n, m, K) up to each mark; rounds that were drawn lazily are computed again."""
    if trace.reward_sums is not None and trace.constraint_sums is not None:
        return trace.reward_sums[s], trace.constraint_sums[s]
    cache = CACHE.setdefault(trace, TraceCache()).totals
    if s in cache:
        return cache[s]
    K, m = trace.game.actions, trace.game.constraints
    rewards, constraints = np.zeros((len(trace.marks), K)), np.zeros((len(trace.marks), m, K))
    for n, block in _nature(trace, s):
        rewards[n] += block.rewards.sum(axis=0)
        constraints[n] += block.constraints.sum(axis=0)
    sums = np.cumsum(rewards, axis=0), np.cumsum(constraints, axis=0)
    if rewards.size + constraints.size <= SMALL:
        cache[s] = sums
    return sums


def _nature(trace: Trace, s: int) -> Iterator[tuple[int, Block]]:
    """Yield the rounds that a seed met, in blocks, each with the mark that it leads up to."""
    if trace.game.reacts:
        raise ValueError("the rounds of a game that reacts cannot be recomputed: only their sums were recorded")
    key = keys(trace.seeds[s])[NATURE : NATURE + 1]
    most = max(1, CHUNK // (trace.game.actions * (1 + trace.game.constraints)))
    start = 0
    for n, mark in enumerate(trace.marks.tolist()):
        while start < mark:
            stop = min(start + most, mark)
            yield n, trace.game.block(key, start, stop)
            start = stop


def variation(rewards: Matrix) -> float:
    """Return sum_t max_i |r_t - mean r|_i for rewards (T, K): their distance from constant rewards.

    >>> variation(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    2.0
    """
    rewards = in_unit("rewards", rewards)
    if rewards.ndim != 2 or not rewards.size:
        raise ValueError(f"rewards must be a matrix (T, K) with at least one row, got the shape {rewards.shape}")
    return float(np.abs(rewards - rewards.mean(axis=0)).max(axis=1).sum())


def violation(trace: Trace, realised: bool = False) -> Matrix:
    """Return [sum_t (floor - p_t.c)]+ after the last round, (S, m): surpluses offset shortfalls.

    With `realised`, c is the observed constraint, under bandit feedback that of the action drawn, not the mean.
    """
    check_trace(trace)
    net: Matrix = np.maximum((trace.observed_shortfall if realised else trace.shortfall)[:, -1], 0.0)
    return net


def violation_curve(trace: Trace) -> Cube:
    """Return the net violation at each mark, (S, n, m)."""
    net: Cube = np.maximum(check_trace(trace).shortfall, 0.0)
    return net


def positive_violation(trace: Trace) -> Matrix:
    """Return sum_t [floor - p_t.c]+ after the last round, (S, m): surpluses do not offset shortfalls."""
    return check_trace(trace).positive[:, -1]


def certificate(trace: Trace) -> Matrix:
    """Return lambda_{T+1}/mu + delta sum_t lambda_t, (S, m): a bound on V' that holds on every run, without assumptions.

    V' is the shortfall that the learner's dual step observed: sum(floor - p_t.c_t) for LEWA, sum(floor - q_t.chat_t) for
    BanditLEWA, sum(floor - p_t.cbar_t - alpha_t) for High-Probability LEWA. It follows by adding up
    lambda_{t+1} >= (1 - delta mu) lambda_t + mu (floor - seen_t).
    """
    if (converted := check_trace(trace).converted) is not None:
        run, units = converted
        scaled: Matrix = certificate(run) * units.sizes
        return scaled
    if check_trace(trace).learner.dual is None:
        raise ValueError(
            f"{type(trace.learner).__name__} has no certificate: its multiplier must have a fixed shrinkage and step"
        )
    if trace.game.setting.outside_theory:
        raise ValueError(f"a certificate needs feedback within the same round, got {trace.game.setting.outside_theory}")
    delta, mu = trace.learner.dual
    return dual_certificate(delta, mu, trace.multiplier[:, -1], trace.multiplier_sums[:, -1])


def dual_certificate(delta: float, mu: float, multiplier: Array, multiplier_sum: Array) -> Array:
    """Return lambda/mu + delta sum lambda."""
    bound: Array = multiplier / mu + delta * multiplier_sum
    return bound
