"""Recent values: a window and an exponential average per quantity, and changes in the mean of an action."""

from math import pi
from typing import NamedTuple

import numpy as np

from lewa.agent.records import JsonObject, Plain
from lewa.agent.statistics import BLOCK, FALSE_ALARM, FEW, POOL, WINDOW, Statistics
from lewa.measures.confidence_sequence import interval, least_reach, reach
from lewa.types import Matrix
from lewa.validation import LARGEST_WHOLE, short_repr

KEPT_SHIFTS = 100  # the newest ones


class Shift(NamedTuple):
    """A change in the values of an action: the mean before it, and the mean of the answers since.

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

    def mean(self, f: int) -> float | None:
        """Return the mean of the window; None if no value was reported."""
        n = int(min(self.count[f], WINDOW))
        return float(self.values[f, :n].mean()) if n else None

    def average(self, f: int) -> float | None:
        """Return the exponential average; None if no value was reported."""
        return float(self.smooth[f]) if self.count[f] else None

    def copy(self) -> "Recent":
        """Return a copy."""
        twin = Recent(len(self.count))
        twin.table[:] = self.table
        return twin

    def plain(self) -> JsonObject:
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
                if not np.all((recent.count >= 0) & (recent.count <= LARGEST_WHOLE)):
                    raise ValueError(plain["count"])
                for row, values in zip(recent.values, plain["values"], strict=True):
                    row[: len(values)] = values
            except (TypeError, ValueError):
                raise ValueError(
                    f"the recent values must be numbers, a row and a count per field, got {short_repr(plain)}"
                ) from None
        return recent


def find_shift(statistics: Statistics, f: int, action: int) -> tuple[float, float] | None:
    """Compare an action's newest answers with those before them; return both means, in units, if they differ.

    The newest answers are a block, which is compared every STEP answers and joins those before it when it is full. Half of
    the share of the probability that this quantity and action have is for the band of what was before, which holds at all
    times; of the other half 6/(pi k)^2 is for the k-th block. Half of FALSE_ALARM is for single actions, half for all of
    them together: while no action's mean changes, the probability that a change is ever reported is at most FALSE_ALARM.
    """
    fields, K = statistics.block_count.shape
    k = 1 + statistics.action_count.item(f, action) // BLOCK
    share = FALSE_ALARM / 4 / (fields * K)
    level = share * 6 / (pi * k) ** 2
    block: list[float] = statistics.block[f, :, action].tolist()
    before: list[float] = statistics.reference[f, :, action].tolist()
    shift = None
    if before[0] > 0 and _may_differ(before, share / 2, block, level / 2):
        low, high = interval(before[0], before[1], before[2], share)
        lower, upper = interval(block[0], block[1], block[2], level)
        if lower > high or upper < low:
            shift = before[1] / before[0], block[1] / block[0]
            statistics.reference[f, :, action] = 0.0
    if shift or block[0] >= BLOCK:
        statistics.reference[f, :, action] += block
        statistics.block[f, :, action] = 0.0
    return shift


def _may_differ(before: list[float], alpha: float, block: list[float], beta: float) -> bool:
    """Whether two bands, of these levels on each side, can be apart: nearly always they cannot, which is cheap to see."""
    (n, total, spread), (m, gained, varied) = before, block
    return abs(total / n - gained / m) > least_reach(spread, alpha) / n + least_reach(varied, beta) / m


def find_common_shift(statistics: Statistics, f: int) -> tuple[float, float] | None:
    """Compare the newest answers of all actions together with the earlier means of the actions; return both means, in units.

    Let n_k be the newest answers of action k, z_k their sum, and m_k its mean before. While no mean changes, the sum over
    the newest answers of value less mean is a martingale, whatever decides which action is drawn; so the sum of
    z_k - n_k m_k is at most its band plus the sum of n_k times the width of the band of m_k. Half of this quantity's share
    of the probability is for the bands of the m_k, each of which holds at all times; of the other half 6/(pi b)^2 is for the
    b-th block. Actions with few answers before the block are left out, which is decided when it begins.
    """
    fields, K = statistics.pool_count.shape
    newest, before = statistics.pool[f], statistics.base[f]
    b, long = 1 + (statistics.count.item(f) - 1) // POOL, before[0] >= FEW
    share = FALSE_ALARM / 4 / fields
    level = share * 6 / (pi * b) ** 2
    n, means = newest[0] * long, before[1] / np.maximum(before[0], 1)
    count, gained, spread = (newest @ long).tolist()
    expected, shift = float(n @ means), None
    if count and abs(gained - expected) > least_reach(spread, level / 2):
        drawn = n > 0
        widths = reach(before[2][drawn], share / (2 * K)) / before[0][drawn]
        if abs(gained - expected) > float(reach(spread, level / 2)) + float(n[drawn] @ widths):
            shift = expected / count, gained / count
            before[:] = 0.0
    if shift or newest[0].sum() >= POOL:
        before += newest
        newest[:] = 0.0
    return shift
