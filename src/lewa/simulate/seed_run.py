"""Run one seed, from mark to mark and block by block."""

import math
from collections.abc import Callable
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lewa.blocks import Rounds
from lewa.engine.loops import Loop
from lewa.engine.records import Record, RoundHistory, Window, new_record
from lewa.engine.session import Session
from lewa.game import Game
from lewa.kernels import DICE, keys, sum_rows
from lewa.kernels.jit import WAY
from lewa.learners.base import Learner
from lewa.simulate.nature import LazyNature, Nature, ReactingNature, nature_of
from lewa.simulate.python_loop import PythonLoop
from lewa.types import Cube, Indices, Matrix, State, Vector
from lewa.validation import plain

SHORT = 500  # rounds of a run that plain Python plays in less time than it takes to read compiled code from the disk


class SeedResult(NamedTuple):
    """The result of one seed: fields of `Trace`, without the axis of seeds."""

    reward: Vector  # (n,)
    shortfall: Matrix  # (n, m)
    positive: Matrix  # (n, m)
    observed_shortfall: Matrix  # (n, m)
    multiplier_sums: Matrix  # (n, m)
    largest_multiplier: Matrix  # (n, m)
    multiplier: Matrix  # (n, m)
    play: Matrix  # (n, K)
    reward_sums: Matrix | None  # (n, K)
    constraint_sums: Cube | None  # (n, m, K)
    plays: Matrix | None  # (T, K)
    multipliers: Matrix | None  # (T, m)
    actions: Indices | None  # (T,)
    state: State  # the final state


class Playing(NamedTuple):
    """A learner that plays a game, and what is recorded; each seed is one run."""

    learner: Learner  # the learner
    game: Game  # the game
    marks: Indices  # the rounds at which sums are recorded
    every_round: bool = False  # whether to record every round too
    progress: Callable[[int], None] | None = None  # called with the number of rounds played since the last call
    stop: Event | None = None  # set to stop the runs

    @property
    def compiled(self) -> bool:
        """Whether runs are compiled: nobody waits for the compiler in a short one. It depends on nothing but the run."""
        return WAY == "wait" or self.marks[-1] > SHORT

    def run(self, seed: int) -> SeedResult | None:
        """Play one seed; return None if it was stopped."""
        learner, game, (key, dice) = self.learner, self.game, np.split(keys(seed), [DICE])
        session = Session(learner, game.actions, dice, compiled=self.compiled)
        nature = nature_of(game, key, session, self.every_round)
        loop = _loop(session, nature)
        recorder = Recorder(session, self, laid_out=not isinstance(nature, LazyNature))
        start, reacts = 0, isinstance(nature, ReactingNature) and not isinstance(loop, PythonLoop)
        if isinstance(nature, ReactingNature) and reacts:
            none = Rounds(np.zeros((0, game.actions)), np.zeros((0, game.constraints, game.actions)))
            loop(session.memory, none, Window(0, 0, dice, 1), recorder.part(0, 0))
            nature.ahead = recorder.record.play
        for mark, end in enumerate(self.marks.tolist()):
            while start < end:
                if self.stop is not None and self.stop.is_set():
                    return None
                stop = min(start + nature.most, end)
                rounds = nature.rounds(start, stop)
                if rounds.key.size == 0:
                    recorder.add(mark, rounds)
                window = Window(start, stop - start, dice, int(reacts or stop == end))
                loop(session.memory, rounds, window, recorder.part(start, stop))
                if self.progress is not None:
                    self.progress(stop - start)
                start = stop
            recorder.read(mark)
        return recorder.result()


class Recorder:
    """Records the sums of a run at the marks; `laid_out` says that the rounds are known for every action."""

    def __init__(self, session: Session, playing: Playing, laid_out: bool) -> None:
        game, marks, every_round = playing.game, playing.marks, playing.every_round
        n, K, m = len(marks), game.actions, game.constraints
        known = None if game.mean_constraints is None else plain(game.mean_constraints)
        self.session, self.every_round = session, every_round
        self.record: Record = new_record(int(marks[-1]) if every_round else 0, K, m, known)
        self.at_marks = {name: np.zeros((n, total.size)) for name, total in self.record.sums._asdict().items()}
        self.multiplier, self.play = np.zeros((n, m)), np.zeros((n, K))
        self.rewards = np.zeros((n, K)) if laid_out else None  # of the rounds from the mark before
        self.constraints = np.zeros((n, m, K)) if laid_out else None

    def part(self, start: int, stop: int) -> Record:
        """Return the record of the rounds start .. stop - 1."""
        history = self.record.history
        return self.record._replace(history=history.part(start, stop)) if self.every_round else self.record

    def add(self, mark: int, block: Rounds) -> None:
        """Add up the rounds of a block."""
        if self.rewards is not None and self.constraints is not None:
            self.rewards[mark] += sum_rounds(block.rewards)
            self.constraints[mark] += sum_rounds(block.constraints)

    def read(self, mark: int) -> None:
        """Record the sums, the multiplier and the play at a mark, which the loop has just written."""
        for rows, total in zip(self.at_marks.values(), self.record.sums, strict=True):
            rows[mark] = total
        self.multiplier[mark] = self.session.multiplier
        self.play[mark] = self.record.play

    def result(self) -> SeedResult:
        """Return the result of the run."""
        rounds: dict[str, Any] = self.record.history._asdict() if self.every_round else dict.fromkeys(RoundHistory._fields)
        sums: dict[str, Any] = {**self.at_marks, "reward": self.at_marks["reward"][:, 0]}
        return SeedResult(
            **sums,
            multiplier=self.multiplier,
            play=self.play,
            reward_sums=None if self.rewards is None else np.cumsum(self.rewards, axis=0),
            constraint_sums=None if self.constraints is None else np.cumsum(self.constraints, axis=0),
            state=self.session.state,
            **rounds,
        )


def sum_rounds(rounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over the first axis; NumPy takes as long for it as a learner takes to play the rounds."""
    shape = rounds.shape[1:]
    columns = math.prod(shape)
    if columns == 1:  # NumPy adds a single column up in another order
        total: NDArray[np.float64] = rounds.sum(axis=0)
        return total
    sums = np.empty(columns)
    sum_rows(rounds.reshape(len(rounds), columns), sums)
    return sums.reshape(shape)


def _loop(session: Session, nature: Nature) -> Loop:
    """Return the compiled loop of the learner, or the one in Python: late feedback, missing actions, a rule in Python."""
    if nature.game.late_feedback or nature.game.missing_actions or not session.learner.compiled:
        return PythonLoop(session, nature.game, nature.key)
    return session.steps.run
