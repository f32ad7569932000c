"""Recent values: a window and an exponential average per quantity, and changes in the mean of an action."""

from math import pi
from typing import NamedTuple

import numpy as np

from lewa.agent.records import Plain
from lewa.agent.statistics import WINDOW, Statistics, add_recent
from lewa.measures.confidence_sequence import interval, least_reach, reach
from lewa.types import Matrix, Vector
from lewa.validation import short_repr

BLOCK = 400  # answers of an action that are compared with those before them
FALSE_ALARM = 0.05  # the probability that a change is ever reported where nothing changed
POOL = 400  # answers of all actions together that are compared with those before them
KEPT_SHIFTS = 100  # the newest ones
FEW = 50  # answers of an action below which it is left out of the comparison of all actions together


class Shift(NamedTuple):
    """A change found in what an action gives: its mean before, and in the answers since.

    Without an action it is a change of all actions together: what those drawn lately gave, and what the same ones gave
    before on average.
    """

    decision: int  # at which it was found
    quantity: str
    action: str | int | None
    before: float
    after: float


class Recent:
    """The last values of each quantity, in the user's units: a row of the table each."""

    def __init__(self, fields: int) -> None:
        self.table: Matrix = np.zeros((fields, WINDOW + 2))
        self.values, self.count, self.smooth = self.table[:, :WINDOW], self.table[:, WINDOW], self.table[:, WINDOW + 1]

    def add(self, f: int, value: float) -> None:
        """Add one value."""
        getattr(add_recent, "py_func", add_recent)(self.table[f], value)

    def mean(self, f: int) -> float | None:
        """Return the mean of the window; None if nothing was told."""
        n = int(min(self.count[f], WINDOW))
        return float(self.values[f, :n].mean()) if n else None

    def average(self, f: int) -> float | None:
        """Return the exponential average; None if nothing was told."""
        return float(self.smooth[f]) if self.count[f] else None

    def copy(self) -> "Recent":
        """Return a copy."""
        twin = Recent(len(self.count))
        twin.table[:] = self.table
        return twin

    def plain(self) -> Plain:
        """Return it as plain data for JSON."""
        rows = [row[: min(int(n), WINDOW)].tolist() for row, n in zip(self.values, self.count, strict=True)]
        return {"values": rows, "count": self.count.astype(np.int64).tolist(), "smooth": self.smooth.tolist()}

    @classmethod
    def from_plain(cls, plain: Plain | None, fields: int) -> "Recent":
        """Return what `plain` wrote; nothing, for a file that was written before there was a window."""
        recent = cls(fields)
        if plain is not None:
            try:
                recent.count[:], recent.smooth[:] = plain["count"], plain["smooth"]
                for row, values in zip(recent.values, plain["values"], strict=True):
                    row[: len(values)] = values
            except (TypeError, ValueError):
                raise ValueError(f"the recent values must be numbers, a row per field, got {short_repr(plain)}") from None
        return recent


def find_shift(statistics: Statistics, f: int, action: int) -> tuple[float, float] | None:
    """Compare an action's newest answers with those before them; return both means, in units, if they differ.

    The newest answers are a block, which is compared every STEP answers and joins those before it when it is full. Half of
    the share of the probability that this quantity and action have is for the band of what was before, which holds at all
    times; of the other half 6/(pi k)^2 is for the k-th block. Half of FALSE_ALARM is for single actions, half for all of
    them together: while no action's mean changes, the probability that a change is ever reported is at most FALSE_ALARM.
    """
    fields, K = statistics.block_count.shape
    k = 1 + statistics.action_count[f, action] // BLOCK
    share = FALSE_ALARM / 4 / (fields * K)
    level = share * 6 / (pi * k) ** 2
    block: Vector = np.array([column[f, action] for column in statistics.block])
    before: Vector = np.array([column[f, action] for column in statistics.reference])
    shift = None
    if before[0] > 0 and _may_differ(before, share / 2, block, level / 2):
        low, high = interval(before[0], before[1], before[2], share)
        lower, upper = interval(block[0], block[1], block[2], level)
        if lower > high or upper < low:
            shift = float(before[1] / before[0]), float(block[1] / block[0])
            before[:] = 0.0
    if shift or block[0] >= BLOCK:
        for reference, old, new in zip(statistics.reference, before, block, strict=True):
            reference[f, action] = old + new
        for column in statistics.block:
            column[f, action] = 0.0
    return shift


def _may_differ(before: Vector, alpha: float, block: Vector, beta: float) -> bool:
    """Whether two bands, of these levels on each side, can be apart: nearly always they cannot, which is cheap to see."""
    gap = abs(before[1] / before[0] - block[1] / block[0])
    return bool(gap > least_reach(float(before[2]), alpha) / before[0] + least_reach(float(block[2]), beta) / block[0])


def find_common_shift(statistics: Statistics, f: int) -> tuple[float, float] | None:
    """Compare the newest answers of all actions together with what each action gave before; return both means, in units.

    Let n_k be the newest answers of action k, z_k their sum, and m_k its mean before. While no mean changes, the sum over
    the newest answers of value less mean is a martingale, whatever decides which action is drawn; so the sum of
    z_k - n_k m_k is at most its band plus the sum of n_k times the width of the band of m_k. Half of this quantity's share
    of the probability is for the bands of the m_k, each of which holds at all times; of the other half 6/(pi b)^2 is for the
    b-th block. Actions with few answers before the block are left out, which is decided when it begins.
    """
    fields, K = statistics.pool_count.shape
    newest = [column[f] for column in statistics.pool]
    before = [column[f] for column in statistics.base]
    b, long = 1 + (statistics.count[f] - 1) // POOL, before[0] >= FEW
    share = FALSE_ALARM / 4 / fields
    level = share * 6 / (pi * b) ** 2
    n, means = newest[0][long], before[1][long] / before[0][long]
    count, expected, gained = float(n.sum()), float(n @ means), float(newest[1][long].sum())
    spread, shift = float(newest[2][long].sum()), None
    if count and abs(gained - expected) > least_reach(spread, level / 2):
        drawn = n > 0
        widths = reach(before[2][long][drawn], share / (2 * K)) / before[0][long][drawn]
        if abs(gained - expected) > float(reach(spread, level / 2)) + float(n[drawn] @ widths):
            shift = expected / count, gained / count
            for column in before:
                column[:] = 0.0
    if shift or newest[0].sum() >= POOL:
        for old, new in zip(before, newest, strict=True):
            old += new
            new[:] = 0.0
    return shift
