"""What a loop is given besides a learner and a nature: which rounds to play, and where to write what happens."""

from typing import NamedTuple

import numpy as np

from lewa.types import Indices, Matrix, Vector, Words


class Window(NamedTuple):
    """Rounds in a row, and the dice that actions are drawn with."""

    start: int  # the first round, counted from 0
    rounds: int
    dice: Words  # (1,)  the key of the stream


class RunningSums(NamedTuple):
    """What a run adds up as it goes; `Trace` says what each is."""

    reward: Vector  # (1,)
    shortfall: Vector  # (m,)
    positive: Vector  # (m,)
    observed_shortfall: Vector  # (m,)
    multiplier_sums: Vector  # (m,)
    largest_multiplier: Vector  # (m,)


class RoundHistory(NamedTuple):
    """What a run writes down in each round; without rows if every round was not asked for."""

    plays: Matrix  # (n, K)
    multipliers: Matrix  # (n, m)
    actions: Indices  # (n,)

    def part(self, start: int, stop: int) -> "RoundHistory":
        """Return the rows start .. stop - 1, as views."""
        return RoundHistory(self.plays[start:stop], self.multipliers[start:stop], self.actions[start:stop])


class Record(NamedTuple):
    """Where a loop writes, what violation is measured by, and room for one round."""

    sums: RunningSums
    history: RoundHistory
    mean_constraints: Matrix  # (m, K), or (0, K) where the game does not know them
    play: Vector  # (K,)
    met: Vector  # (m,)


def new_sums(constraints: int) -> RunningSums:
    """Return sums at zero."""
    return RunningSums(np.zeros(1), *(np.zeros(constraints) for _ in RunningSums._fields[1:]))


def new_history(rounds: int, actions: int, constraints: int) -> RoundHistory:
    """Return a history with room for this many rounds."""
    return RoundHistory(np.zeros((rounds, actions)), np.zeros((rounds, constraints)), np.zeros(rounds, dtype=np.int64))


def new_record(rounds: int, actions: int, constraints: int, mean_constraints: Matrix | None = None) -> Record:
    """Return a record with room for a history of this many rounds."""
    known = np.zeros((0, actions)) if mean_constraints is None else mean_constraints
    history = new_history(rounds, actions, constraints)
    return Record(new_sums(constraints), history, known, np.empty(actions), np.empty(constraints))
