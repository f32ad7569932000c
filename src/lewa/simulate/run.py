"""Play a learner against a game for some rounds and seeds; the result is a trace."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from os import cpu_count
from threading import Event
from time import perf_counter
from typing import TypeAlias

import numpy as np

from lewa.engine.compile import compile_learner
from lewa.feedback import NOTHING, FeedbackKind, feedback_kind
from lewa.game import Game
from lewa.kernels.roles import FEATURES, array_with
from lewa.learners.base import Learner
from lewa.measures.best_play import nearest_floors
from lewa.measures.trace import Trace
from lewa.simulate.arguments import as_players, as_seeds
from lewa.simulate.seed_run import Playing, SeedResult
from lewa.types import Indices, Matrix, Vector
from lewa.validation import as_count, short_repr

OneSeed: TypeAlias = Callable[[int], SeedResult | None]
MOST = 1 << 23  # numbers that are kept at all marks of a seed
PER_DECADE = 20  # marks, spaced evenly on a logarithmic scale
# Threads that play short seeds wait for Python's lock longer than they save.
FEW = 200_000  # rewards and constraints of a seed that may be short
SHORT = 0.005  # seconds


class Interrupted(KeyboardInterrupt):
    """Raised when Ctrl-C stops a play: `trace` has the finished seeds, or is None.

    Ctrl-C stops a short seed at once, also inside of the game or of `progress`, and a long one after the block it is at.
    """

    def __init__(self, trace: Trace | None) -> None:
        super().__init__("stopped; .trace has the finished seeds")
        self.trace = trace


def play(
    learner: Learner | str,
    game: Game | str,
    rounds: int | None = None,
    seeds: int | Iterable[int] = 1,
    every_round: bool = False,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
    floor: object = None,
) -> Trace:
    """Play the learner against the game, once for each seed.

    The trace has running sums at log-spaced rounds. Learners that play the same seeds face the same rounds. Runs of at most
    500 rounds are played by plain Python, without waiting for a compiler, unless the environment says `LEWA_COMPILE=wait`.

    Parameters
    ----------
    learner
        A learner, or the name of a learner, which is tuned for the game's actions, the rounds and `floor`. "auto" is the
        learner with full information that has the smallest proved bound in this game, as in `lewa play`.
    game
        A game, or the name of a game, which is made for the floor and the rounds.
    rounds
        The number of rounds; by default all rounds of the game, if it has an end.
    seeds
        The number of seeds, or the seeds.
    every_round
        Whether to record each play, multiplier and action too.
    workers
        The number of threads. By default one per core, but short seeds are played in the calling thread, because threads
        would slow them down. Results do not depend on it.
    progress
        Called with the number of rounds that were played since the last call.
    floor
        The floor of a learner by name: one number in [0, 1] per constraint.

    >>> import lewa
    >>> trace = lewa.play("lewa", "radio", rounds=10_000, floor=0.9)
    >>> trace
    <Trace: Lewa on Radio, 10000 rounds, 1 seed>
    >>> trace.violation.round().tolist()
    [[140.0]]
    """
    learner, game, rounds = as_players(learner, game, rounds, floor)
    names = as_seeds(seeds)
    threads = min(len(names), (cpu_count() or 1) if workers is None else as_count("workers", workers))
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable with a number of rounds, got {short_repr(progress)}")
    _check_features(learner.start(game.actions), game)  # refuse what breaks a law before anything is compiled
    stop = Event()
    playing = Playing(learner, game, _marks(game, rounds), every_round, progress, stop)
    if playing.compiled:
        compile_learner(type(learner))  # once, before the threads ask for it

    def one_seed(seed: int) -> SeedResult | None:
        # NumPy's defaults, also in the calling thread, and no word about overflows, as from compiled code.
        with np.errstate(divide="warn", over="ignore", under="ignore", invalid="warn"):
            return playing.run(seed)

    results: dict[int, SeedResult] = {}
    try:
        if workers is None and rounds * game.actions * (1 + game.constraints) <= FEW:
            _play_in_turn(one_seed, names, results)
        if len(results) < len(names):
            _play_in_threads(one_seed, names[len(results) :], threads, stop, results)
    except KeyboardInterrupt:
        raise Interrupted(_gather(playing, results) if results else None) from None
    return _gather(playing, results)


def _play_in_turn(one_seed: OneSeed, names: tuple[int, ...], results: dict[int, SeedResult]) -> None:
    """Play seeds in this thread; stop if none of them is short. The first one may be long because it compiles."""
    least = np.inf
    for seed in names:
        start = perf_counter()
        result = one_seed(seed)
        assert result is not None  # nobody stops it
        results[seed] = result
        least = min(least, perf_counter() - start)
        if len(results) > 1 and least > SHORT:
            break


def _play_in_threads(
    one_seed: OneSeed, names: tuple[int, ...], threads: int, stop: Event, results: dict[int, SeedResult]
) -> None:
    """Play seeds side by side; add the finished ones to the results, also when Ctrl-C stops them."""
    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[SeedResult | None]] = []
        try:
            futures += [pool.submit(one_seed, seed) for seed in names]
            while wait(futures, timeout=0.1, return_when=FIRST_EXCEPTION).not_done and not _failed(futures):
                pass  # a signal is only noticed between two waits
        except KeyboardInterrupt:
            stop.set()  # every thread stops after the block it is at
            results |= _finished(names, futures)
            raise
        finally:
            stop.set()
    results |= _finished(names, futures)


def play_elsewhere(
    executor: Executor,
    learner: Learner,
    game: Game,
    seeds: int | Iterable[int] = 1,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Play all rounds of a game in an executor, for instance on a Dask cluster, with one task per seed.

    The trace is the same as that of `play`.

    Parameters
    ----------
    executor
        Runs the tasks.
    learner, game
        The learner and the game.
    seeds
        The seeds.
    progress
        Called with the number of rounds that were played since the last call.
    """
    learner, game, rounds = as_players(learner, game, None, None)
    names = as_seeds(seeds)
    _check_features(learner.start(game.actions), game)
    playing, results = Playing(learner, game, _marks(game, rounds)), dict[int, SeedResult]()
    for seed, result in zip(names, executor.map(partial(_run, playing), names), strict=True):
        results[seed] = result
        if progress is not None:
            progress(rounds)
    return _gather(playing, results)


def _run(playing: Playing, seed: int) -> SeedResult:
    with np.errstate(over="ignore"):
        result = playing.run(seed)
    assert result is not None  # nobody stops it
    return result


def _marks(game: Game, rounds: int) -> Indices:
    return log_spaced(rounds, game.actions * (2 + game.constraints))


def _check_features(state: object, game: Game) -> None:
    features = array_with(state, FEATURES)
    looked_at: Vector = NOTHING if features is None else features
    if game.reacts and game.features:
        raise ValueError(f"a game that reacts must have 0 features, because it has no contexts, got {game.features}")
    if game.policies and looked_at.size not in (0, game.features):
        raise ValueError(
            f"a game with the advice of {game.policies} policies needs a learner that mixes policies, such as "
            f"exp4-lewa, got a learner with {looked_at.size} feature{'s' * (looked_at.size > 1)}"
        )
    if looked_at.size and game.features and looked_at.size != game.features:
        raise ValueError(f"the learner must use as many features as the game has, got {looked_at.size} and {game.features}")


def _failed(futures: list[Future[SeedResult | None]]) -> bool:
    return any(future.done() and future.exception() is not None for future in futures)


def _finished(names: tuple[int, ...], futures: list[Future[SeedResult | None]]) -> dict[int, SeedResult]:
    results = {seed: future.result() for seed, future in zip(names, futures, strict=False)}
    return {seed: result for seed, result in results.items() if result is not None}


def _gather(playing: Playing, results: dict[int, SeedResult]) -> Trace:
    """Return the results of all seeds side by side."""
    learner, game, marks, first = *playing[:3], next(iter(results.values()))
    mean_constraints = game.mean_constraints
    if mean_constraints is None and first.constraint_sums is not None:
        mean_constraints = first.constraint_sums[-1] / marks[-1]
    if mean_constraints is not None:
        _warn_if_infeasible(learner.floor, mean_constraints)
    stacked = {
        name: None if getattr(first, name) is None else np.stack([getattr(result, name) for result in results.values()])
        for name in SeedResult._fields
        if name != "state"
    }
    return Trace(
        learner=learner,
        game=game,
        seeds=tuple(results),
        floor=learner.floor,
        marks=marks,
        measured_on="action" if feedback_kind(type(learner)) is FeedbackKind.BANDIT else "play",
        states=tuple(result.state for result in results.values()),
        **stacked,  # type: ignore[arg-type]
    )


def log_spaced(rounds: int, numbers: int = 1) -> Indices:
    """Return the rounds at which running sums are recorded: 1, then evenly on a logarithmic scale, then the last.

    `numbers` is the number of values per mark; the more values, the fewer marks.
    """
    count = max(2, min(int(PER_DECADE * np.log10(rounds)) + 1, MOST // numbers))
    return np.unique(np.rint(np.geomspace(1, rounds, count)).astype(np.int64))


def _warn_if_infeasible(floor: Vector, constraints: Matrix) -> None:
    nearest = nearest_floors(constraints, floor)
    if nearest is not None:
        warnings.warn(
            f"no play meets the floor {floor.tolist()}, so no guarantee applies; the nearest floor is "
            f"{nearest.round(6).tolist()}",
            stacklevel=4,
        )
