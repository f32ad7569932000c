"""Measure how often intervals from a log hold, and how often a mixture chosen from a log overspends.

`python -m tools.coverage` draws logs from tables whose averages are known: a row of the table with replacement, and one
action by its propensity. It prints a table with a row for each setting. `--data FOLDER` draws from the full tables (.npz)
of a folder instead.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lewa.frontiers import Frontier, frontier
from lewa.measures import best_fixed_play

Array = NDArray[np.float64]
ROWS = 40_000  # of a table
MIXED = 0.5  # of the propensities that depend on the row


class World(NamedTuple):
    """A table of outcomes, and how a log is drawn from it."""

    name: str
    rewards: Array  # (N, K)
    costs: Array  # (N, K, m)
    limits: tuple[float, ...]  # on the average of each cost
    propensities: Array  # (K,), or (N, K) if they depend on the row
    rows: int  # of a log
    least: bool = False  # whether the first limit is a lower one, on the negative of the cost


# Tables ------------------------------------------------------------------------------------------------------------------


def _draws(rng: np.random.Generator, chances: Array) -> Array:
    return (rng.random((ROWS, chances.size)) < chances).astype(float)


def _lognormal(rng: np.random.Generator, size: tuple[int, ...], sigma: float) -> Array:
    """Return numbers with the mean 1."""
    return np.asarray(np.exp(sigma * rng.standard_normal(size) - sigma**2 / 2))


def _prices(rows: int, by_row: bool = False) -> World:
    """Return four actions with a fixed price each."""
    rng, K = np.random.default_rng(101), 4
    costs = np.tile([0.0, 0.5, 1.5, 3.0], (ROWS, 1))[:, :, np.newaxis]
    even: Array = np.full(K, 1 / K)
    if by_row:
        lean = rng.dirichlet(np.ones(K), ROWS)
        even = np.asarray(MIXED / K + (1 - MIXED) * lean)
    name = "fixed prices, propensities by row" if by_row else "fixed prices"
    return World(name, _draws(rng, np.array([0.55, 0.7, 0.86, 0.93])), costs, (1.0,), even, rows)


def _tokens(rows: int) -> World:
    """Return nine models, dear ones drawn rarely, with lognormal costs."""
    rng, K = np.random.default_rng(102), 9
    price = np.geomspace(0.05, 4, K)
    costs = _lognormal(rng, (ROWS, 1), 0.8) * _lognormal(rng, (ROWS, K), 0.4) * price
    p = np.geomspace(1, 0.12, K)
    return World(
        "lognormal costs", _draws(rng, np.linspace(0.45, 0.9, K)), costs[:, :, np.newaxis], (0.5,), p / p.sum(), rows
    )


def _two_limits(rows: int) -> World:
    """Return thirteen forecasters with two rates of misses."""
    rng, K = np.random.default_rng(103), 13
    misses = [_draws(rng, rng.uniform(low, high, K)) for low, high in ((0.02, 0.15), (0.1, 0.4))]
    rewards = np.clip(rng.uniform(0.3, 0.6, K) + 0.2 * rng.standard_normal((ROWS, K)), 0, 1)
    return World("two limits", rewards, np.stack(misses, axis=2), (0.09, 0.22), np.full(K, 1 / K), rows, least=True)


def _jobs(rows: int) -> World:
    """Return eighteen machines that run jobs of very different sizes."""
    rng, K = np.random.default_rng(104), 18
    price = np.geomspace(1, 5, K) * _lognormal(rng, (K,), 0.15)
    costs = _lognormal(rng, (ROWS, 1), 1.0) * _lognormal(rng, (ROWS, K), 0.5) * price
    speed = np.clip(0.15 * price * _lognormal(rng, (ROWS, K), 0.4), 0, 1)
    return World("jobs, heavy tail", speed, costs[:, :, np.newaxis], (1.7,), np.full(K, 1 / K), rows)


def _solvers(rows: int) -> World:
    """Return 44 solvers with run times up to a cutoff, and solved instances."""
    rng, K, cutoff = np.random.default_rng(105), 44, 1200.0
    typical = np.exp(rng.normal(3.2, 0.8, K))
    times = np.minimum(_lognormal(rng, (ROWS, 1), 1.6) * _lognormal(rng, (ROWS, K), 0.9) * typical, cutoff)
    solved = (times < cutoff) * _draws(rng, rng.uniform(0.75, 0.99, K))
    limit = float(np.sort(times.mean(axis=0))[10])
    return World("run times with a cutoff", solved, times[:, :, np.newaxis], (limit,), np.full(K, 1 / K), rows)


def _bills(rows: int) -> World:
    """Return ten models with Pareto bills."""
    rng, K, index = np.random.default_rng(106), 10, 2.1
    costs = np.minimum(1 + rng.pareto(index, (ROWS, K)), 80) * (index - 1) / index * np.geomspace(1, 6, K)
    return World(
        "Pareto bills", _draws(rng, np.linspace(0.5, 0.92, K)), costs[:, :, np.newaxis], (2.5,), np.full(K, 1 / K), rows
    )


def _shapes(rows: int) -> World:
    """Return twelve actions whose costs differ in shape: nearly constant, exponential, lognormal, Pareto."""
    rng, K = np.random.default_rng(107), 12
    kinds = (
        0.9 + 0.2 * rng.random((ROWS, 3)),
        rng.exponential(1, (ROWS, 3)),
        _lognormal(rng, (ROWS, 3), 1.3),
        np.minimum(rng.pareto(2, (ROWS, 3)), 100),
    )
    shapes = np.stack(kinds, axis=2).reshape(ROWS, K)
    costs = shapes / shapes.mean(axis=0) * np.geomspace(1, 6, K)
    return World(
        "different shapes", _draws(rng, np.linspace(0.4, 0.9, K)), costs[:, :, np.newaxis], (2.2,), np.full(K, 1 / K), rows
    )


def _jumps(rows: int) -> World:
    """Return six actions with a price each, which is up to twenty times as high in 3 % of the rows."""
    rng, K = np.random.default_rng(108), 6
    costs = np.geomspace(0.5, 3, K) * np.where(rng.random((ROWS, K)) < 0.03, 20 * rng.random((ROWS, K)), 1)
    return World(
        "prices with jumps", _draws(rng, np.linspace(0.4, 0.9, K)), costs[:, :, np.newaxis], (1.3,), np.full(K, 1 / K), rows
    )


def _levels(rows: int) -> World:
    """Return eight actions whose costs have three levels, the highest of them rare."""
    rng, K = np.random.default_rng(109), 8
    costs = rng.choice([1.0, 2.0, 60.0], p=[0.7, 0.285, 0.015], size=(ROWS, K)) * np.geomspace(0.3, 2, K)
    return World(
        "levels, one rare", _draws(rng, np.linspace(0.4, 0.9, K)), costs[:, :, np.newaxis], (1.5,), np.full(K, 1 / K), rows
    )


def _free(rows: int) -> World:
    """Return eight actions that mostly cost nothing."""
    rng, K = np.random.default_rng(110), 8
    costs = _lognormal(rng, (ROWS, K), 1.5) * _draws(rng, np.linspace(0.05, 0.5, K))
    return World(
        "mostly free", _draws(rng, np.linspace(0.4, 0.9, K)), costs[:, :, np.newaxis], (0.25,), np.full(K, 1 / K), rows
    )


def worlds() -> list[World]:
    """Return the settings."""
    return [
        _prices(2000),
        _prices(300),
        _prices(2000, by_row=True),
        _tokens(3000),
        _two_limits(3000),
        _jobs(2000),
        _jobs(321),
        _solvers(3000),
        _solvers(600),
        _bills(500),
        _shapes(1200),
        _jumps(900),
        _levels(800),
        _free(1200),
    ]


def worlds_of(folder: Path) -> Iterator[World]:
    """Yield the tables of a folder, each with logs of 30 and of 150 rows per action."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            if not {"rewards", "constraints"} <= set(file.files):
                continue
            rewards, costs = np.asarray(file["rewards"], dtype=float), 1 - np.asarray(file["constraints"], dtype=float)
        costs = costs.reshape(len(rewards), rewards.shape[1], -1)
        means, K = costs.mean(axis=0), rewards.shape[1]
        limits = tuple((means.min(axis=0) + 0.3 * (means.mean(axis=0) - means.min(axis=0))).tolist())
        for each in (30, 150):
            yield World(path.stem, rewards, costs, limits, np.full(K, 1 / K), each * K)


# Logs --------------------------------------------------------------------------------------------------------------------


def draw(world: World, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a log, and the arguments of `frontier` that describe it."""
    N, K = world.rewards.shape
    row = rng.integers(0, N, world.rows)
    p = np.broadcast_to(world.propensities, (N, K))[row]
    action = (rng.random((world.rows, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    columns: dict[str, Any] = {
        "action": action,
        "propensity": p[np.arange(world.rows), action],
        "reward": world.rewards[row, action],
    }
    names = [f"cost{j}" for j in range(len(world.limits))]
    signs = [-1 if world.least and j == 0 else 1 for j in range(len(world.limits))]
    for j, name in enumerate(names):
        columns[name] = signs[j] * world.costs[row, action, j]
    own = {
        "reward": "reward=0..1",
        "at_most": [f"{name}={0}..{world.costs[:, :, j].max() * 1.0000001}" for j, name in enumerate(names) if signs[j] > 0],
        "at_least": [f"{name}=-1..0" for j, name in enumerate(names) if signs[j] < 0],
        "lines": {name: signs[j] * world.limits[j] for j, name in enumerate(names) if j},
        "budgets": [signs[0] * world.limits[0]],
        "action": "action",
        "propensity": "propensity",
    }
    if world.least:  # the first constraint is varied: at_most columns come first
        own["lines"], own["budgets"] = {names[0]: -world.limits[0]}, [world.limits[1]]
    return columns, own


def vector(play: dict[str, float], actions: int) -> Array:
    """Return a play as a vector."""
    return np.array([play.get(f"action {a}", 0.0) for a in range(actions)])


def judge(world: World, seed: int) -> dict[str, float] | None:
    """Return what one log shows; None if a half of it lacks an action, or no play meets the fixed limits."""
    columns, own = draw(world, np.random.default_rng([seed, world.rows]))
    try:
        plain: Frontier = frontier(columns, **own, confidence=None)
        sure: Frontier = frontier(columns, **own)
    except ValueError as wrong:
        if "lacks" in str(wrong) or "no play meets" in str(wrong):
            return None
        raise
    K, costs = world.rewards.shape[1], world.costs.mean(axis=0)
    rewards, limits, found = world.rewards.mean(axis=0), np.array(world.limits), dict[str, float]()
    held = plain.points[0].held_out
    assert held is not None
    play = vector(held.play, K)
    play /= play.sum()
    first = 1 if world.least else 0
    for name, quantity, true in (("value", "reward", play @ rewards), ("cost", f"cost{first}", play @ costs[:, first])):
        for way, value in held.values[quantity].items():
            slack = 1e-6 * (1 + abs(true))
            found[f"{name} {way}"] = float(value.low - slack <= true <= value.high + slack)
            if value.proved is not None:
                found[f"{name} {way} proved"] = float(value.proved[0] - slack <= true <= value.proved[1] + slack)
    for name, result in (("plain", plain), ("sure", sure)):
        best = result.points[0].best
        mixture = vector(best.play, K)
        mixture /= mixture.sum()
        spent = (mixture @ costs / limits).max()
        found[f"{name} none"] = float(not best.feasible)
        found[f"{name} over"] = float(best.feasible and spent > 1 + 1e-6)
        found[f"{name} spent"] = float(spent) if best.feasible else np.nan
        found[f"{name} reward"] = float(mixture @ rewards) if best.feasible else np.nan
    return found


def _mean(values: list[float]) -> float:
    """Return the mean of the values that are numbers; NaN if none is."""
    numbers = [value for value in values if not np.isnan(value)]
    return float(np.mean(numbers)) if numbers else np.nan


def row_of(world: World, found: list[dict[str, float]]) -> str:
    """Return a row of the table."""
    K, costs = world.rewards.shape[1], world.costs.mean(axis=0)
    scale = world.costs.max(axis=(0, 1))
    best = best_fixed_play(world.rewards.mean(axis=0), 1 - (costs / scale).T, 1 - np.array(world.limits) / scale)
    mean = {name: _mean([each[name] for each in found]) for name in found[0]}
    cells = [world.name, f"{K}", f"{world.rows:,}", f"{world.rows / K:.0f}"]
    cells += [f"{mean[f'{name} {way}']:.1%}" for name in ("value", "cost") for way in ("dr", "ips", "snips")]
    cells += [
        f"{mean['plain over']:.0%}",
        f"{mean['plain spent']:.2f}",
        f"{mean['sure over']:.1%}",
        f"{mean['sure none']:.0%}",
    ]
    cells += [f"{best.value:.3f}", f"{mean['plain reward']:.3f}", f"{mean['sure reward']:.3f}"]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| setting | actions | rows | rows per action | value: DR | IPS | SNIPS | cost: DR | IPS | SNIPS | plain: over in "
    "| spent/limit | 0.95: over in | no promise in | best reward | plain | 0.95 |"
)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=300, help="the number of logs of each setting")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=2, help="the number of processes")
    parser.add_argument("--data", type=Path, help="a folder of tables")
    parser.add_argument("--only", type=int, nargs="*", help="the settings, numbered from 1")
    given = parser.parse_args()
    chosen = worlds() if given.data is None else list(worlds_of(given.data))
    chosen = [chosen[n - 1] for n in given.only] if given.only else chosen
    print(HEAD)
    print("|" + "---|" * (HEAD.count("|") - 1))
    with ProcessPoolExecutor(given.workers) as pool:
        for world in chosen:
            seeds = [1000 * given.seed + n for n in range(given.logs)]
            found = [each for each in pool.map(partial(judge, world), seeds, chunksize=10) if each is not None]
            print(row_of(world, found), flush=True)


if __name__ == "__main__":
    main()
