"""Replay a learner on a bandit log, by rejection."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lewa.data.log import Log, StreamedLog
from lewa.engine.session import NO_PLAY, Session, check_learner, dice_of
from lewa.feedback import Bandit, FeedbackKind, feedback_kind
from lewa.kernels.random_streams import next_counting
from lewa.learners.base import Learner
from lewa.measures.running_sums import Run, RunningSums, seeds_text
from lewa.simulate.arguments import as_seeds
from lewa.simulate.run import log_spaced
from lewa.types import Cube, Matrix, Vector
from lewa.units import Units


class Totals(NamedTuple):
    """The sums over the first rounds that counted, for each seed."""

    reward: Vector  # (S,)  rewards
    shortfall: Matrix  # (S, m)  floor - c of the action drawn
    positive: Matrix  # (S, m)  the positive parts of the shortfalls
    multiplier: Matrix  # (S, m)  the multiplier after the last of these rounds

    def in_units(self, units: Units, rounds: int) -> "Totals":
        """Return the sums over so many rounds in the user's units."""
        reward = units.reward.zero * rounds + units.reward.span * self.reward
        return Totals(reward, self.shortfall * units.sizes, self.positive * units.sizes, self.multiplier * units.prices)


@dataclass(frozen=True, eq=False, repr=False)
class LogReplay(Run):
    """The results of each round that counted, for as many rounds as the seed with the fewest has.

    The numbers of named columns are in the user's units: the shortfall of an upper limit is what was spent beyond it.
    """

    seeds: tuple[int, ...]  # the seeds
    reward: Matrix  # (S, n)  rewards
    shortfall: Cube  # (S, n, m)  floor - c of the action drawn
    multiplier: Cube  # (S, n, m)  the multiplier after the round
    plays: Cube | None = None  # (S, rows, K)  the play at each row of the log, counted or not, if requested
    log_rows: int = 0  # the number of rows of the log

    def in_units(self, units: Units) -> "LogReplay":
        """Return the same replay in the user's units."""
        short, prices = self.shortfall * units.sizes, self.multiplier * units.prices
        reward: Matrix = units.reward.zero + units.reward.span * self.reward
        return replace(self, reward=reward, shortfall=short, multiplier=prices)

    @property
    def rounds(self) -> int:
        """Return n, the number of rounds that counted."""
        return self.reward.shape[1]

    def totals(self, rounds: int) -> Totals:
        """Return the sums over the first rounds."""
        short = self.shortfall[:, :rounds]
        last: Matrix = self.multiplier[:, rounds - 1]
        return Totals(self.reward[:, :rounds].sum(axis=1), short.sum(axis=1), np.maximum(short, 0).sum(axis=1), last)

    def running_sums(self) -> list[RunningSums]:
        """Return the sums of each seed at log-spaced rounds; the last is n."""
        marks, reward = log_spaced(self.rounds), self.reward.cumsum(axis=1)
        short, positive = self.shortfall.cumsum(axis=1), np.maximum(self.shortfall, 0).cumsum(axis=1)
        here = marks - 1
        return [
            RunningSums(seed, marks, reward[s, here], short[s, here], positive[s, here], self.multiplier[s, here])
            for s, seed in enumerate(self.seeds)
        ]

    def __repr__(self) -> str:
        return f"<LogReplay: {self.rounds} of {self.log_rows} rows count, {seeds_text(self.seeds)}>"


class StreamedReplay(Run):
    """A replay on a log that is read in parts: sums over the rounds that counted, not the single rounds."""

    def __init__(self, learner: Learner, log: StreamedLog, seeds: tuple[int, ...], runs: "list[list[Stop]]") -> None:
        self.learner, self.log, self.seeds, self._runs = learner, log, seeds, runs
        self.rounds = min(run[-1].rounds for run in runs)  # as many for each seed as for the one with the fewest
        self.log_rows = log.rows
        self.units: Units | None = None

    def in_units(self, units: Units) -> "StreamedReplay":
        """Return the same replay in the user's units."""
        made = StreamedReplay(self.learner, self.log, self.seeds, self._runs)
        made.units = units
        return made

    def totals(self, rounds: int) -> Totals:
        """Return the sums over the first rounds; the part of the log that contains the last of them is read again."""
        totals = self._totals(rounds)
        return totals if self.units is None else totals.in_units(self.units, rounds)

    def _totals(self, rounds: int) -> Totals:
        stops = [
            _stop_at(self.learner, self.log, seed, run, rounds) for seed, run in zip(self.seeds, self._runs, strict=True)
        ]
        sums = np.array([stop.sums for stop in stops])
        m = self.log.constraints
        return Totals(sums[:, 0], sums[:, 1 : 1 + m], sums[:, 1 + m :], np.array([stop.multiplier for stop in stops]))

    def running_sums(self) -> list[RunningSums]:
        """Return the sums of each seed at the ends of parts of the log, and at the last round."""
        last, m = self._totals(self.rounds), self.log.constraints
        running = []
        for s, (seed, run) in enumerate(zip(self.seeds, self._runs, strict=True)):
            stops = [stop for before, stop in pairwise(run) if before.rounds < stop.rounds < self.rounds]
            sums = np.array([*(stop.sums for stop in stops), [last.reward[s], *last.shortfall[s], *last.positive[s]]])
            multiplier = np.array([*(stop.multiplier for stop in stops), last.multiplier[s]])
            marks = np.array([*(stop.rounds for stop in stops), self.rounds])
            sums_of_seed = RunningSums(seed, marks, sums[:, 0], sums[:, 1 : 1 + m], sums[:, 1 + m :], multiplier)
            running.append(sums_of_seed if self.units is None else sums_of_seed.in_units(self.units))
        return running

    def __repr__(self) -> str:
        return f"<StreamedReplay: {self.rounds} of {self.log_rows} rows count, {seeds_text(self.seeds)}>"


def _not_shown(rows: int) -> None:
    """Show no progress."""


def replay_log(
    learner: Learner,
    log: Log,
    seeds: int | Iterable[int] = 1,
    every_row: bool = False,
    advance: Callable[[int], object] = _not_shown,
) -> LogReplay:
    """Replay a bandit learner on a log, once for each seed.

    Parameters
    ----------
    learner
        A learner with bandit feedback. If it uses contexts, it gets those of the log.
    log
        The log.
    seeds
        The number of seeds, or the seeds.
    every_row
        Whether to record the play at each row too.
    advance
        Called with the number of rows that were processed since the last call.
    """
    learner = _checked(learner, log)
    names = as_seeds(seeds)
    plays = np.empty((len(names) if every_row else 0, log.rows, log.actions))
    runs = []
    for n, seed in enumerate(names):
        session, record = Session(learner, log.actions, dice_of(seed)), plays[n] if every_row else None
        if log.contexts.size and session.features:
            runs.append(_walk_in_contexts(session, log, record))
        else:
            runs.append(_walk(session, log, 0, NO_PLAY, float(log.propensity.min()), record)[0])
        advance(log.rows)
    rounds = min(len(run.reward) for run in runs)
    if rounds == 0:
        raise ValueError(f"the learner never drew the logged action: {log.rows} rows are too few")
    rewards, met, multipliers = (np.array([field[:rounds] for field in part]) for part in zip(*runs, strict=True))
    return LogReplay(names, rewards, learner.floor - met, multipliers, plays if every_row else None, log.rows)


def replay_stream(
    learner: Learner,
    log: StreamedLog,
    seeds: int | Iterable[int] = 1,
    executor: Executor | None = None,
    advance: Callable[[int], object] = _not_shown,
) -> StreamedReplay:
    """Replay a bandit learner on a log that is read in parts, once for each seed.

    Parameters
    ----------
    learner
        A learner with bandit feedback.
    log
        The log.
    seeds
        The number of seeds, or the seeds.
    executor
        Runs one task for each seed; None runs them here.
    advance
        Called with the number of rows that were processed since the last call.
    """
    learner = _checked(learner, log)
    names = as_seeds(seeds)
    if executor is None:
        runs = [_stops(learner, log, seed, advance) for seed in names]
    else:
        runs = []
        for run in executor.map(partial(_stops, learner, log), names):
            runs.append(run)
            advance(log.rows)
    if not min(run[-1].rounds for run in runs):
        raise ValueError(f"the learner never drew the logged action: {log.rows} rows are too few")
    return StreamedReplay(learner, log, names, runs)


def _checked(learner: Learner, log: Log | StreamedLog) -> Learner:
    learner = check_learner(learner)
    if feedback_kind(type(learner)) is FeedbackKind.FULL:
        raise ValueError(f"{type(learner).__name__} needs the outcome of every action, which a bandit log does not have")
    if learner.floor.size != log.constraints:
        raise ValueError(f"the learner must have one floor per constraint, got {learner.floor.size} for {log.constraints}")
    return learner


class Walk(NamedTuple):
    """The results of a learner, round by round."""

    reward: list[float]
    met: list[Vector]
    multiplier: list[Vector]


def _walk(
    session: Session, log: Log, first: int, play: Vector, least: float, plays: Matrix | None = None
) -> tuple[Walk, Vector]:
    """Walk through rows of which `first` others stand before, from a play if there is one; return the last play too."""
    walk, p, row, start = Walk([], [], []), play, 0, 0
    with np.errstate(over="ignore"):  # the stream wraps around
        while row < log.rows:
            if not p.size:  # the play changes only when a round counts, but each row has dice of its own
                p = session.play()
            row = next_counting(session.dice, first, start, log.action, log.propensity, least, np.cumsum(p))
            if plays is not None:
                plays[start : row + 1] = p
            if row < log.rows:
                _count(session, log, row, p, walk)
                p, start = NO_PLAY, row + 1
    return walk, p


def _walk_in_contexts(session: Session, log: Log, plays: Matrix | None) -> Walk:
    """Walk through the rows with the context of each: every row has a play of its own."""
    if log.contexts.shape[1] != session.features:
        raise ValueError(
            f"the learner must use as many features as the log has, got {session.features} and {log.contexts.shape[1]}"
        )
    walk, least = Walk([], [], []), float(log.propensity.min())
    with np.errstate(over="ignore"):  # the stream wraps around
        for row in range(log.rows):
            session.see(log.contexts[row])
            p, here = session.play(), slice(row, row + 1)
            if plays is not None:
                plays[row] = p
            if next_counting(session.dice, row, 0, log.action[here], log.propensity[here], least, np.cumsum(p)) == 0:
                _count(session, log, row, p, walk)
    return walk


def _count(session: Session, log: Log, row: int, p: Vector, walk: Walk) -> None:
    """Let the learner learn a row that counts."""
    i, reward, constraints = int(log.action[row]), float(log.reward[row]), log.constraint_values[row]
    to_learn = session.play_to_learn(p, None)
    session.learn(Bandit(i, float(p[i]), reward, constraints, to_learn, session.charge(i)))
    walk.reward.append(reward)
    walk.met.append(constraints)
    walk.multiplier.append(session.multiplier.copy())


# A log that is read in parts ---------------------------------------------------------------------------------------------


class Stop(NamedTuple):
    """The state of a replay before a part of the log, from which it can continue."""

    rounds: int  # the number of rounds that counted
    sums: Vector  # (1 + 2m,)  the sums of rewards, shortfalls and their positive parts
    multiplier: Vector  # the multiplier
    memory: Vector  # the buffer of the learner and its state
    play: Vector  # the current play


def _stops(learner: Learner, log: StreamedLog, seed: int, advance: Callable[[int], object] = _not_shown) -> list[Stop]:
    """Return the state of the learner before each part, and at the end."""
    session, m = Session(learner, log.actions, dice_of(seed)), log.constraints
    stops = [Stop(0, np.zeros(1 + 2 * m), session.multiplier.copy(), session.memory.copy(), NO_PLAY)]
    for n in range(len(log.parts)):
        part = log.read(log.parts[n])
        walk, play = _walk(session, part, log.starts[n], stops[-1].play, float(log.least.min()))
        advance(part.rows)
        count = len(walk.reward)
        sums = stops[-1].sums + _sums(learner, walk, count, m)
        stops.append(Stop(stops[-1].rounds + count, sums, session.multiplier.copy(), session.memory.copy(), play))
    return stops


def _sums(learner: Learner, walk: Walk, rounds: int, constraints: int) -> Vector:
    """Return the sums of the first rounds."""
    short = learner.floor - np.array(walk.met[:rounds]).reshape(rounds, constraints)
    reward = np.sum(walk.reward[:rounds])
    sums: Vector = np.concatenate([[reward], short.sum(axis=0), np.maximum(short, 0).sum(axis=0)])
    return sums


def _stop_at(learner: Learner, log: StreamedLog, seed: int, run: list[Stop], rounds: int) -> Stop:
    """Return the state of the learner after this many counted rounds."""
    n = max(n for n, stop in enumerate(run) if stop.rounds <= rounds)
    stop = run[n]
    if stop.rounds == rounds:
        return stop
    session = Session(learner, log.actions, dice_of(seed))
    session.memory[:] = stop.memory
    walk, _ = _walk(session, log.read(log.parts[n]), log.starts[n], stop.play, float(log.least.min()))
    more = rounds - stop.rounds
    sums = stop.sums + _sums(learner, walk, more, log.constraints)
    return stop._replace(rounds=rounds, sums=sums, multiplier=walk.multiplier[more - 1])
