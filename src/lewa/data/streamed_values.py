"""Off-policy values of a log that is larger than memory: sums over its parts, merged in the order of the parts.

The values are those of `lewa.data.off_policy`. The rows of each half are taken in the order of the log, the first half
before the second. Two passes are enough. The first adds up, for each half and action, the sums for self-normalised values
and for the test of the propensities. The second pass knows the plays and the sums before each part, so that parts are
independent of each other: they may be read anywhere, and the result is the same.

The proved interval needs V = sum (x_t - g_t)^2 with g_t = (1/2 + x_1 + ... + x_{t-1})/t. In a part that starts after rows
with the sum S, g_t = (1/2 + S + c_t)/t, c_t the sum within the part. With a_t = x_t - (1/2 + c_t)/t the part adds
sum a_t^2 - 2 S sum a_t/t + S^2 sum 1/t^2, and these three sums do not depend on S.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Quantity
from lewa.data.dataset import each
from lewa.data.log import Log, StreamedLog
from lewa.data.off_policy import Value, z_of
from lewa.data.propensities import Cumulative, Flags, halves_by_coin, watched
from lewa.measures.confidence_sequence import interval
from lewa.types import Cube, Indices, Matrix, Vector

Range = tuple[float, float]
SAMPLE = 1 << 16  # rows from which the shapes of distributions are read


class Moments(NamedTuple):
    """The sums from which the mean of some terms and its intervals are computed."""

    terms: int  # the number of terms
    mean: float  # their mean
    squares: float  # the sum of squared distances to the mean
    total: float  # S: the sum of the terms, mapped to [0, 1]
    spread: float  # V: the sum of (x_t - g_t)^2

    @classmethod
    def none(cls) -> "Moments":
        """Return the moments of no terms."""
        return cls(0, 0.0, 0.0, 0.0, 0.0)


class PartMoments(NamedTuple):
    """The moments of a part, whose spread depends on the sum of the rows before it."""

    terms: int  # the number of terms
    mean: float  # their mean
    squares: float  # the sum of squared distances to the mean
    total: float  # the sum of the terms, mapped to [0, 1]
    near: float  # the sum of a_t^2
    slope: float  # the sum of a_t/t
    curve: float  # the sum of 1/t^2

    @classmethod
    def of(cls, terms: Vector, ends: Range, first: int) -> "PartMoments":
        """Add up terms that lie between these ends; `first` is the number of terms before them."""
        if not terms.size:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        mean = float(terms.mean())
        squares = float(((terms - mean) ** 2).sum())
        low, high = ends
        if not np.isfinite(high - low):
            return cls(terms.size, mean, squares, 0.0, 0.0, 0.0, 0.0)
        x = np.clip((terms - low) / (high - low), 0, 1)  # but for rounding they lie there
        t = np.arange(first + 1, first + 1 + terms.size, dtype=np.float64)
        total = np.cumsum(x)
        a = x - (0.5 + total - x) / t
        return cls(terms.size, mean, squares, float(total[-1]), *(float(s.sum()) for s in (a**2, a / t, 1 / t**2)))


def merge(before: Moments, part: PartMoments) -> Moments:
    """Merge a part into the moments of the rows before it."""
    if not part.terms:
        return before
    n = before.terms + part.terms
    distance = part.mean - before.mean
    mean = before.mean + distance * part.terms / n
    squares = before.squares + part.squares + distance**2 * before.terms * part.terms / n
    spread = before.spread + part.near - 2 * before.total * part.slope + before.total**2 * part.curve
    return Moments(n, mean, squares, before.total + part.total, spread)


def value_of(moments: Moments, level: float, proved_level: float, within: Range, ends: Range) -> Value:
    """Return the mean, its normal interval and, if terms are bounded, the proved interval.

    Parameters
    ----------
    moments
        The sums of the terms.
    level
        The level of the normal interval.
    proved_level
        The level of the proved interval.
    within
        The range to which the proved interval is clipped.
    ends
        The bounds of the terms; infinite if there are none.
    """
    n, (low, high) = moments.terms, ends
    reach = z_of(level) * float(np.sqrt(moments.squares / (n - 1) / n))
    value = Value(moments.mean, moments.mean - reach, moments.mean + reach)
    if not np.isfinite(high - low):
        return value
    proved = interval(n, moments.total, moments.spread, 1 - proved_level)
    lower, upper = (min(max(low + (high - low) * float(end), within[0]), within[1]) for end in proved)
    return value._replace(proved=(lower, upper))


# The first pass ----------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """A part of a log in the user's units."""

    action: Indices  # the action of each row
    propensity: Vector  # its propensity
    values: list[Vector]  # the reward, then each constraint
    second: Flags  # whether the row belongs to the second half

    @classmethod
    def of(cls, log: StreamedLog, n: int, quantities: Sequence[Quantity], shuffled: bool) -> "Rows":
        """Read a part.

        Parameters
        ----------
        log, n
            The log, and the index of the part.
        quantities
            The reward and the constraints, with their units.
        shuffled
            Whether coins assign rows to the halves.
        """
        part: Log = log.read(log.parts[n])
        columns = (part.reward, *part.constraint_values.T)
        values = [q.scale.to_user(x).clip(q.low, q.high) for q, x in zip(quantities, columns, strict=True)]
        row = np.arange(log.starts[n], log.starts[n] + part.rows)
        second = halves_by_coin(log.starts[n], part.rows) if shuffled else row >= log.rows // 2
        return cls(part.action, part.propensity, values, second)


class HalfSums(NamedTuple):
    """Sums for each half and action, (2, K), and for each quantity, (2, K, q)."""

    rows: Matrix  # the number of rows
    inverse: Matrix  # the sum of 1/p
    squares: Matrix  # the sum of 1/p^2
    x: Cube  # the sum of x
    weighted: Cube  # the sum of x/p
    squared: Cube  # the sum of x/p^2
    squared_x: Cube  # the sum of x^2/p^2

    @classmethod
    def zero(cls, actions: int, quantities: int) -> "HalfSums":
        """Return the sums of no rows."""
        flat, deep = np.zeros((2, actions)), np.zeros((2, actions, quantities))
        return cls(flat, flat, flat, deep, deep, deep, deep)

    @classmethod
    def of(cls, cell: Indices, inverse: Vector, values: Sequence[Vector], actions: int) -> "HalfSums":
        """Add up rows.

        Parameters
        ----------
        cell
            The action of each row, plus the number of actions in the second half.
        inverse
            1/propensity.
        values
            The reward, then each constraint.
        actions
            The number of actions.
        """

        def add(weights: Vector | None = None) -> Matrix:
            return np.bincount(cell, weights, minlength=2 * actions).astype(np.float64).reshape(2, actions)

        by_quantity: list[Cube] = [
            np.stack([add(factor * x**power) for x in values], axis=2)
            for factor, power in ((np.ones(1), 1), (inverse, 1), (inverse**2, 1), (inverse**2, 2))
        ]
        return cls(add(), add(inverse), add(inverse**2), *by_quantity)

    def plus(self, other: "HalfSums") -> "HalfSums":
        """Return the sums with those of the next part added."""
        return HalfSums(*(mine + its for mine, its in zip(self, other, strict=True)))


class Sample(NamedTuple):
    """Rows of a log, from which the shapes of distributions are read."""

    action: Indices  # the action of each row
    inverse: Vector  # 1/propensity
    values: tuple[Vector, ...]  # the reward, then each constraint
    second: Flags  # whether the row belongs to the second half

    def take(self, rows: Indices | Flags) -> "Sample":
        """Return some of the rows."""
        return Sample(self.action[rows], self.inverse[rows], tuple(x[rows] for x in self.values), self.second[rows])

    def part(self, halves: Sequence[int]) -> "Sample":
        """Return the rows of these halves."""
        return self if len(halves) == 2 else self.take(self.second == bool(halves[0]))

    @classmethod
    def merged(cls, samples: Sequence["Sample"]) -> "Sample":
        """Return the rows of all samples, in their order."""
        values = tuple(np.concatenate(each) for each in zip(*(sample.values for sample in samples), strict=True))
        action, inverse, second = (np.concatenate([sample[n] for sample in samples]) for n in (0, 1, 3))
        return cls(action, inverse, values, second)


class FirstPass(NamedTuple):
    """The sums of the first pass."""

    parts: list[HalfSums]  # the sums of each part
    before: list[HalfSums]  # the sums of all parts before each part
    all: HalfSums  # the sums of the whole log
    largest: Matrix  # (2, K)  the largest 1/p of each half
    drawn: Cumulative  # the draws of each action along the log
    sample: Sample  # every n-th row


def first_pass(
    log: StreamedLog,
    quantities: Sequence[Quantity],
    shuffled: bool,
    executor: Executor | None,
    advance: Callable[[int], None],
) -> FirstPass:
    """Go through the log once.

    Parameters
    ----------
    log
        The log, which is read in parts.
    quantities
        The reward and the constraints, with their units.
    shuffled
        Whether coins assign rows to the halves.
    executor
        Reads the parts in parallel; None reads them here.
    advance
        Called with the number of rows of each part that was read.
    """
    task = partial(_first_sums, log, tuple(quantities), shuffled)
    K, q = log.actions, len(quantities)
    total = HalfSums.zero(K, q)
    parts, before, largest, counts, samples = [], [], np.zeros((2, K)), [], []
    for sums, most, drawn, sample in each(executor, task, range(len(log.parts))):
        parts.append(sums)
        before.append(total)
        total = total.plus(sums)
        largest = np.maximum(largest, most)
        counts.append(drawn)
        samples.append(sample)
        advance(drawn.rows)
    return FirstPass(parts, before, total, largest, Cumulative.merged(log.rows, counts), Sample.merged(samples))


def _first_sums(
    log: StreamedLog, quantities: tuple[Quantity, ...], shuffled: bool, n: int
) -> tuple[HalfSums, Matrix, Cumulative, Sample]:
    rows, K = Rows.of(log, n, quantities, shuffled), log.actions
    inverse = 1 / rows.propensity
    cell = rows.second * K + rows.action

    most = np.zeros(2 * K)
    np.maximum.at(most, cell, inverse)
    drawn = Cumulative.of(rows.action, inverse, K, watched(log.rows), log.starts[n])
    chosen = np.flatnonzero((log.starts[n] + np.arange(inverse.size)) % _stride(log.rows) == 0)
    sample = Sample(rows.action, inverse, tuple(rows.values), rows.second).take(chosen)
    return HalfSums.of(cell, inverse, rows.values, K), most.reshape(2, K), drawn, sample


def _stride(rows: int) -> int:
    """Return n such that every n-th row makes a sample of about `SAMPLE` rows."""
    return max(1, -(-rows // SAMPLE))


def self_normalised(sums: HalfSums, halves: Sequence[int], play: Vector, q: int, level: float) -> Value:
    """Return the self-normalised value of a play.

    Parameters
    ----------
    sums
        The sums of the log.
    halves
        The halves whose rows are used.
    play
        (K,) The play.
    q
        The index of the quantity: 0 for the reward, then the constraints.
    level
        The level of the interval.
    """
    at = list(halves)
    n = float(sums.rows[at].sum())
    total = float((sums.inverse[at].sum(axis=0) * play).sum())
    value = float((sums.weighted[at, :, q].sum(axis=0) * play).sum()) / total
    errors = sums.squared_x[at, :, q] - 2 * value * sums.squared[at, :, q] + value**2 * sums.squares[at]
    variance = max(0.0, float((errors.sum(axis=0) * play**2).sum())) * (n / total) ** 2 / (n - 1)
    reach = z_of(level) * float(np.sqrt(variance / n))
    return Value(value, value - reach, value + reach)


# The second pass ---------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A play to value, by all rows or by those of one half, and the largest weight that a row could have."""

    play: Vector
    half: int | None  # the half whose rows value it, which the other half chose; None for all rows
    max_weight: float


def ends_of(question: Question, quantity: Quantity) -> tuple[Range, Range]:
    """Return the bounds of the terms of inverse propensities, and of the doubly robust terms."""
    w, reach = question.max_weight, question.max_weight * (quantity.high - quantity.low)
    return (w * min(quantity.low, 0.0), w * max(quantity.high, 0.0)), (quantity.low - reach, quantity.high + reach)


Answer = tuple[PartMoments, PartMoments]  # of inverse propensities, and of the doubly robust terms


def second_pass(
    log: StreamedLog,
    quantities: Sequence[Quantity],
    shuffled: bool,
    first: FirstPass,
    questions: Sequence[Question],
    executor: Executor | None,
    advance: Callable[[int], None],
) -> list[list[tuple[Moments, Moments]]]:
    """Return, for each question and quantity, the moments of inverse propensities and of the doubly robust terms.

    Parameters
    ----------
    log
        The log, which is read in parts.
    quantities
        The reward and the constraints, with their units.
    shuffled
        Whether coins assign rows to the halves.
    first
        The result of the first pass.
    questions
        The plays to value.
    executor
        Reads the parts in parallel; None reads them here.
    advance
        Called with the number of rows of each part that was read.
    """
    task = partial(_second_sums, log, tuple(quantities), shuffled, tuple(questions), first.all)
    parts: list[list[list[list[Answer]]]] = []  # by part, half, question and quantity
    for sums, answers in zip(first.parts, each(executor, task, list(enumerate(first.before))), strict=True):
        parts.append(answers)
        advance(int(sums.rows.sum()))
    results = []
    for n in range(len(questions)):
        of_question = []
        for q in range(len(quantities)):
            both = [Moments.none(), Moments.none()]
            for half in (0, 1):
                for answers in parts:
                    both = [merge(sums, more) for sums, more in zip(both, answers[half][n][q], strict=True)]
            of_question.append((both[0], both[1]))
        results.append(of_question)
    return results


def _second_sums(
    log: StreamedLog,
    quantities: tuple[Quantity, ...],
    shuffled: bool,
    questions: tuple[Question, ...],
    total: HalfSums,
    numbered: tuple[int, HalfSums],
) -> list[list[list[Answer]]]:
    """Return the moments of a part: by half, question and quantity."""
    n, before = numbered
    rows = Rows.of(log, n, quantities, shuffled)
    answers = []
    for half in (0, 1):
        mask = rows.second == bool(half)
        action, inverse = rows.action[mask], 1 / rows.propensity[mask]
        by_question: list[list[Answer]] = [[] for _ in questions]
        for q, quantity in enumerate(quantities):
            x = rows.values[q][mask]
            # Held-out rows come after those of the other half; all rows come in order, the second half after the first.
            guesses = [_guess(action, x, before, total, quantity, (half, q, other)) for other in (half == 1, True)]
            for question, cells in zip(questions, by_question, strict=True):
                held_out = question.half is not None
                guess = guesses[held_out]
                weight = (question.play[action] * inverse)[: 0 if held_out and question.half != half else None]
                y, size = x[: weight.size], weight.size
                factual = guess[action, np.arange(action.size)]
                terms = question.play @ guess[:, :size] + weight * (y - factual[:size])
                of_ips, of_dr = ends_of(question, quantity)
                t = int(before.rows[half].sum() + (0 if held_out or not half else total.rows[0].sum()))
                cells.append((PartMoments.of(weight * y, of_ips, t), PartMoments.of(terms, of_dr, t)))
        answers.append(by_question)
    return answers


def _guess(
    action: Indices,
    x: Vector,
    before: HalfSums,
    total: HalfSums,
    quantity: Quantity,
    at: tuple[int, int, bool],
) -> Matrix:
    """Return the past means of each action in the rows of a half.

    `at` is the half, the quantity, and whether the rows of the other half come before.
    """
    half, q, other = at
    counts, sums = before.rows[half], before.x[half, :, q]
    if other:
        counts, sums = counts + total.rows[1 - half], sums + total.x[1 - half, :, q]
    return _past_means(action, x, counts, sums).clip(quantity.low, quantity.high)  # before the first row it is 0


def _past_means(action: Indices, x: Vector, counts: Vector, sums: Vector) -> Matrix:
    """Return (K, n) the mean of each action's rows before each row, of all rows where there is none, or 0."""
    n = np.arange(x.size)
    overall = (sums.sum() + np.cumsum(x) - x) / np.maximum(counts.sum() + n, 1)
    guess = np.empty((counts.size, x.size))
    for a in range(counts.size):
        drawn = action == a
        value = np.where(drawn, x, 0.0)
        count = counts[a] + np.cumsum(drawn) - drawn
        guess[a] = np.where(count > 0, (sums[a] + np.cumsum(value) - value) / np.maximum(count, 1), overall)
    return guess
