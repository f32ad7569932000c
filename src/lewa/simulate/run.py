"""The loop: a learner, a game, some rounds, some seeds; out comes a trace."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from copy import deepcopy
from functools import partial
from numbers import Integral
from operator import index
from os import cpu_count
from threading import Event
from typing import Any

import numpy as np

from lewa.blocks import Block, Lazy
from lewa.engine.loops import Columns, Loops, Tally, loops
from lewa.feedback import feedback_kind
from lewa.kernels import DICE, keys, pack, unpack
from lewa.measures.best_play import best_fixed_play
from lewa.simulate.python_loop import OneByOne
from lewa.trace import Trace
from lewa.types import Indices, Matrix, Vector, Words
from lewa.validation import in_unit, plain

BLOCK = 1 << 16  # numbers of a block that is laid out at a time
LONGEST = 1 << 20  # rounds that are played without a look at the clock, where nothing is laid out
MOST = 1 << 23  # numbers that are kept at all marks of a seed
PER_DECADE = 20  # marks, spaced evenly on a logarithmic scale


class Interrupted(KeyboardInterrupt):
    """Raised when a play is stopped by Ctrl-C: `trace` holds the seeds that were finished, or is None."""

    def __init__(self, trace: Trace | None) -> None:
        super().__init__("stopped; the seeds that were finished are in .trace")
        self.trace = trace


def play(
    learner: Any,
    game: Any,
    rounds: int | None = None,
    seeds: int | Iterable[int] = 1,
    every_round: bool = False,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Play the learner against the game, once for each seed; `seeds` is their number, or they themselves.

    The trace has running sums at log-spaced rounds; with `every_round` also each play, multiplier and action. Learners
    that play the same seeds meet the same nature. Seeds run in `workers` threads, as many as there are cores by default;
    the results do not depend on it. `progress` is called with the number of rounds that were played since the last call.
    """
    rounds = _length(game, rounds)
    names = seed_names(seeds)
    if learner.floor.size != game.constraints:
        raise ValueError(
            f"the learner must have one floor per constraint, got {learner.floor.size} for a game with {game.constraints}"
        )
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    learner.start(game.actions)  # refuse what breaks a law before anything is compiled
    marks = log_spaced(rounds, game.actions * (2 + game.constraints))
    loops(type(learner))  # once, before the threads ask for them
    stop = Event()

    def one(seed: int) -> dict[str, Any] | None:
        with np.errstate(over="ignore"):  # random streams wrap around, when they run as plain Python
            return _run(learner, game, seed, marks, every_round, stop, progress)

    with ThreadPoolExecutor(min(len(names), workers or cpu_count() or 1)) as pool:
        futures: list[Future[Any]] = []
        try:
            futures += [pool.submit(one, seed) for seed in names]
            while wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION).not_done and not _failed(futures):
                pass  # a signal is only noticed between two waits
        except KeyboardInterrupt:
            stop.set()  # every thread stops after the block it is at
            done = {seed: run for seed, future in zip(names, futures, strict=False) if (run := future.result()) is not None}
            raise Interrupted(_gather(learner, game, marks, done) if done else None) from None
        finally:
            stop.set()
    return _gather(learner, game, marks, {seed: future.result() for seed, future in zip(names, futures, strict=True)})


def _failed(futures: list[Future[Any]]) -> bool:
    return any(future.done() and future.exception() is not None for future in futures)


def _gather(learner: Any, game: Any, marks: Indices, runs: dict[int, Any]) -> Trace:
    """The runs of all seeds side by side."""
    first = next(iter(runs.values()))
    mean_constraints = (
        game.mean_constraints
        if game.mean_constraints is not None
        else None
        if first["kept"] is None
        else first["kept"][-1] / marks[-1]
    )
    if mean_constraints is not None:
        _warn_if_infeasible(learner.floor, mean_constraints)
    stacked: dict[str, Any] = {
        name: None if first[name] is None else np.stack([run[name] for run in runs.values()])
        for name in first
        if name != "state"
    }
    return Trace(
        learner=learner,
        game=game,
        seeds=tuple(runs),
        floor=learner.floor,
        marks=marks,
        measured_on="action" if feedback_kind(type(learner)) == "bandit" else "play",
        states=tuple(run["state"] for run in runs.values()),
        **stacked,
    )


def seed_names(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds themselves, from their number or from a list of them."""
    try:
        names = tuple(map(index, seeds)) if isinstance(seeds, Iterable) else tuple(range(index(seeds)))
    except TypeError:
        names = ()
    if not names or min(names) < 0 or len(set(names)) < len(names):
        raise ValueError(
            f"seeds must be how many there are, at least 1, or different whole numbers from 0 on, got {seeds!r}"
        )
    return names


def log_spaced(rounds: int, numbers: int = 1) -> Indices:
    """Rounds at which the running sums are read: 1, then evenly on a logarithmic scale, then the last.

    `numbers` is how many are kept at each; where they are many, marks are few.
    """
    count = max(2, min(int(PER_DECADE * np.log10(rounds)) + 1, MOST // numbers))
    return np.unique(np.rint(np.geomspace(1, rounds, count)).astype(np.int64))


def _length(game: Any, rounds: int | None) -> int:
    if rounds is None:
        rounds = game.length
    if not isinstance(rounds, Integral) or rounds < 1:
        raise ValueError(f"rounds must be a whole number of at least 1, got {rounds}")
    if game.length is not None and rounds > game.length:
        raise ValueError(f"rounds must be at most the game's {game.length}, got {rounds}")
    return int(rounds)


def _warn_if_infeasible(floor: Vector, constraints: Matrix) -> None:
    if floor.size == 1 and constraints.max() >= floor[0]:
        return
    best = best_fixed_play(np.zeros(constraints.shape[1]), constraints, floor)
    if not best.feasible:
        nearest = best.reachable.round(6).tolist()
        warnings.warn(
            f"no play meets the floor {floor.tolist()}: the nearest is {nearest}, and no guarantee applies", stacklevel=4
        )


def _run(
    learner: Any,
    game: Any,
    seed: int,
    marks: Indices,
    every_round: bool,
    stop_now: Event,
    progress: Callable[[int], None] | None,
) -> dict[str, Any] | None:
    """One seed: from mark to mark, block by block; None if it was told to stop."""
    if stop_now.is_set():
        return None
    K, m, n, T = game.actions, game.constraints, len(marks), int(marks[-1])
    memory = pack(learner, learner.start(K))
    steps, state = loops(type(learner)), unpack(type(learner), memory)[1]
    nature_key, dice = np.split(keys(seed), [DICE])
    tally = Tally(np.zeros(1), *(np.zeros(m) for _ in Tally._fields[1:]))
    mean_constraints = np.zeros((0, K)) if game.mean_constraints is None else plain(game.mean_constraints)
    p, met = np.empty(K), np.empty(m)
    adaptive = hasattr(game, "reveal")
    if adaptive:
        game = deepcopy(game)  # it may remember what it saw: each seed meets its own
    means = None if adaptive or feedback_kind(type(learner)) == "full" else game.means()
    run = steps.run if means is None else steps.run_lazy
    if hasattr(game, "arrives") or hasattr(game, "available"):
        means, run = None, OneByOne(learner, game, memory, nature_key)
    lazy = None if means is None else Lazy(means[0], means[1], nature_key, np.zeros(1, dtype=np.int64))
    laid_out = partial(_asked, game, steps, memory, p) if adaptive else game.block
    most = 1 if adaptive else max(1, BLOCK // (K * (1 + m)))
    if lazy is not None and feedback_kind(type(learner)) == "bandit" and not every_round:
        most = LONGEST
    height = T if every_round else 0
    columns = Columns(np.zeros((height, K)), np.zeros((height, m)), np.zeros(height, dtype=np.int64))
    sums = Tally(np.zeros((n, 1)), *(np.zeros((n, m)) for _ in Tally._fields[1:]))
    multiplier, plays = np.zeros((n, m)), np.zeros((n, K))
    earnings, kept = (None, None) if lazy is not None else (np.zeros((n, K)), np.zeros((n, m, K)))

    start = 0
    for mark, end in enumerate(marks.tolist()):
        while start < end:
            if stop_now.is_set():
                return None
            stop = min(start + most, end)
            nature: Any = lazy
            if earnings is None or kept is None:
                lazy.start[0] = start  # type: ignore[union-attr]
            else:
                nature = _checked(game, laid_out(nature_key, start, stop), start, stop)
                earnings[mark] += nature.rewards.sum(axis=0)
                kept[mark] += nature.constraints.sum(axis=0)
            here = columns
            if every_round:
                here = Columns(columns.plays[start:stop], columns.multipliers[start:stop], columns.actions[start:stop])
            run(memory, nature, mean_constraints, stop - start, dice, start, p, met, tally, here)
            if progress is not None:
                progress(stop - start)
            start = stop
        for total, value in zip(sums, tally, strict=True):
            total[mark] = value
        if hasattr(state, "multiplier"):
            multiplier[mark] = state.multiplier
        steps.play(memory, plays[mark])

    return {
        **sums._asdict(),
        "reward": sums.reward[:, 0],
        "multiplier": multiplier,
        "play": plays,
        "earnings": None if earnings is None else np.cumsum(earnings, axis=0),
        "kept": None if kept is None else np.cumsum(kept, axis=0),
        "state": state,
        **(columns._asdict() if every_round else dict.fromkeys(Columns._fields)),
    }


def _asked(game: Any, steps: Loops, memory: Vector, p: Vector, key: Words, start: int, stop: int) -> Block:
    """The one round, `start`, of a game that looks at the play before it answers."""
    steps.play(memory, p)
    rewards, constraints = game.reveal(start, p.copy(), key)
    r, c = np.asarray(rewards), np.asarray(constraints)
    if r.shape != (game.actions,) or c.shape not in (
        (game.constraints, game.actions),
        (game.actions,) * (game.constraints == 1),
    ):
        raise ValueError(
            f"round {start} must show rewards ({game.actions},) and constraints ({game.constraints}, {game.actions}), "
            f"got {r.shape} and {c.shape}"
        )
    return Block(r[np.newaxis], c.reshape(1, game.constraints, game.actions))


def _checked(game: Any, block: Block, start: int, stop: int) -> Block:
    """A block in the layout of the loops; what a game of the user's lays out is checked before anyone learns from it."""
    if not _ours(game):
        K, m = game.actions, game.constraints
        shapes = np.shape(block.rewards), np.shape(block.constraints)
        if shapes != ((stop - start, K), (stop - start, m, K)):
            raise ValueError(
                f"rounds {start} to {stop} must have the shapes {(stop - start, K)} and {(stop - start, m, K)}, got {shapes}"
            )
        in_unit("rewards", block.rewards, first=start)
        in_unit("constraints", block.constraints, first=start)
    return Block(*(plain(array) for array in block))


def _ours(game: Any) -> bool:
    """Whether the game and what is inside it lays out what it should."""
    return type(game).__module__.startswith("lewa.") and (not hasattr(game, "game") or _ours(game.game))
