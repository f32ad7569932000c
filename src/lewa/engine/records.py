"""The arguments of a loop besides a learner and a nature: the rounds to play, and the records to write."""

from typing import NamedTuple

import numpy as np

from lewa.types import Indices, Matrix, Vector, Words


class Window(NamedTuple):
    """Consecutive rounds, and the key of the random numbers that draw actions."""

    start: int  # the first round, counted from 0
    rounds: int
    dice: Words  # (1,)  the key of the stream
    ahead: int = 0  # 1 to write the play of the round after them to the record, else 0


class RunningSums(NamedTuple):
    """The running sums of a run; `Trace` describes them."""

    reward: Vector  # (1,)
    shortfall: Vector  # (m,)
    positive: Vector  # (m,)
    observed_shortfall: Vector  # (m,)
    multiplier_sums: Vector  # (m,)
    largest_multiplier: Vector  # (m,)


class RoundHistory(NamedTuple):
    """The records of each round; without rows unless every round was requested."""

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


def new_history(rounds: int, actions: int, constraints: int) -> RoundHistory:
    """Return a history with room for this many rounds."""
    return RoundHistory(np.zeros((rounds, actions)), np.zeros((rounds, constraints)), np.zeros(rounds, dtype=np.int64))


def new_record(rounds: int, actions: int, constraints: int, mean_constraints: Matrix | None = None) -> Record:
    """Return a record with room for a history of this many rounds."""
    known = np.zeros((0, actions)) if mean_constraints is None else mean_constraints
    history = new_history(rounds, actions, constraints)
    sums = RunningSums(np.zeros(1), *(np.zeros(constraints) for _ in RunningSums._fields[1:]))
    return Record(sums, history, known, np.empty(actions), np.empty(constraints))
