"""Off-policy values of a log, from sums over its parts that are merged in order; a log in memory is one part.

The values are those of `lewa.data.off_policy`. The rows of each half are taken in order, the first half before the second.
Two passes are enough. The first adds up, for each half and action, the sums for self-normalised values and for the test of
the propensities. The second pass knows the plays and the sums before each part, so that parts are independent of each other:
they may be read anywhere, and the result is the same.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Quantity
from lewa.data.log import Log, StreamedLog
from lewa.data.moments import Flags, Moments, PartMoments, Range, Value, past_mean, z_of
from lewa.data.propensities import Cumulative, halves, watched
from lewa.data.streaming import each
from lewa.types import Cube, Indices, Matrix, Vector

SAMPLE = 1 << 16  # rows of a log in parts from which the shapes of distributions are read


class Rows(NamedTuple):
    """Rows of a log in the user's units."""

    action: Indices  # the action of each row
    inverse: Vector  # 1/propensity
    values: tuple[Vector, ...]  # the reward, then each constraint
    second: Flags  # whether the row belongs to the second half

    def take(self, rows: Indices | Flags) -> "Rows":
        """Return some of the rows."""
        return Rows(self.action[rows], self.inverse[rows], tuple(x[rows] for x in self.values), self.second[rows])

    def part(self, halves: Sequence[int]) -> "Rows":
        """Return the rows of these halves."""
        return self if len(halves) == 2 else self.take(self.second == bool(halves[0]))

    @classmethod
    def merged(cls, parts: Sequence["Rows"]) -> "Rows":
        """Return the rows of all parts, in their order."""
        values = tuple(np.concatenate(each) for each in zip(*(part.values for part in parts), strict=True))
        action, inverse, second = (np.concatenate([part[n] for part in parts]) for n in (0, 1, 3))
        return cls(action, inverse, values, second)


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
        """Add up rows; `cell` is the action of each, plus the number of actions in the second half."""

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


class FirstPass(NamedTuple):
    """The sums of the first pass."""

    parts: list[HalfSums]  # the sums of each part
    before: list[HalfSums]  # the sums of all parts before each part
    all: HalfSums  # the sums of the whole log
    largest: Matrix  # (2, K)  the largest 1/p of each half
    drawn: Cumulative  # the draws of each action along the log
    sample: Rows  # every n-th row


class Question(NamedTuple):
    """A play to value, by all rows or by those of one half, and the largest weight that a row could have."""

    play: Vector
    half: int | None  # the half whose rows value it, which the other half chose; None for all rows
    max_weight: float

    def ends(self, quantity: Quantity) -> tuple[Range, Range]:
        """Return the bounds of the terms of inverse propensities, and of the doubly robust terms."""
        w, reach = self.max_weight, self.max_weight * (quantity.high - quantity.low)
        return (w * min(quantity.low, 0.0), w * max(quantity.high, 0.0)), (quantity.low - reach, quantity.high + reach)


Answer = tuple[PartMoments, PartMoments]  # of inverse propensities, and of the doubly robust terms


class LogSums(NamedTuple):
    """The sums over the parts of a log."""

    log: Log | StreamedLog
    quantities: tuple[Quantity, ...]  # the reward and the constraints, with their units
    shuffled: bool  # whether rows are assigned to the halves at random

    def _read(self, n: int) -> tuple[Log, Rows]:
        """Return a part, and its rows in the order in which they are taken."""
        part: Log = self.log.read(self.log.parts[n])
        order, second = halves(self.log, n, self.shuffled)
        columns = zip(self.quantities, (part.reward, *part.constraint_values.T), strict=True)
        values = tuple(q.scale.to_user(x[order]).clip(q.low, q.high) for q, x in columns)  # but for rounding they lie there
        with np.errstate(over="ignore"):
            inverse = 1 / part.propensity[order]
            squares = (inverse**2).sum() * (1 + max(float(np.abs(x).max()) for x in values)) ** 2
        if not np.isfinite(squares):
            raise ValueError(f"propensities must be large enough to divide by, got {part.propensity.min():g}")
        return part, Rows(part.action[order], inverse, values, second)

    # The first pass

    def first(self, executor: Executor | None, advance: Callable[[int], None]) -> FirstPass:
        """Go through the log once; the executor reads parts, and `advance` is called with the rows of each."""
        K = self.log.actions
        total = HalfSums.zero(K, len(self.quantities))
        parts, before, largest, counts, samples = [], [], np.zeros((2, K)), [], []
        for sums, most, drawn, sample in each(executor, self._first_sums, range(len(self.log.parts))):
            parts.append(sums)
            before.append(total)
            total = total.plus(sums)
            largest = np.maximum(largest, most)
            counts.append(drawn)
            samples.append(sample)
            advance(drawn.rows)
        return FirstPass(parts, before, total, largest, Cumulative.merged(self.log.rows, counts), Rows.merged(samples))

    def _first_sums(self, n: int) -> tuple[HalfSums, Matrix, Cumulative, Rows]:
        (part, rows), K, first = self._read(n), self.log.actions, self.log.starts[n]
        cell = rows.second * K + rows.action
        most = np.zeros(2 * K)
        np.maximum.at(most, cell, rows.inverse)
        drawn = Cumulative.of(part.action, 1 / part.propensity, K, watched(self.log.rows), first)
        every = 1 if isinstance(self.log, Log) else -(-self.log.rows // SAMPLE)
        sample = rows.take(np.flatnonzero((first + np.arange(part.rows)) % every == 0))
        return HalfSums.of(cell, rows.inverse, rows.values, K), most.reshape(2, K), drawn, sample

    # The second pass

    def second(
        self,
        first: FirstPass,
        questions: Sequence[Question],
        executor: Executor | None,
        advance: Callable[[int], None],
    ) -> list[list[tuple[Moments, Moments]]]:
        """Return, for each question and quantity, the moments of inverse propensities and of the doubly robust terms."""
        task = partial(self._second_sums, tuple(questions), first.all)
        parts: list[list[list[list[Answer]]]] = []  # by part, half, question and quantity
        for sums, answers in zip(first.parts, each(executor, task, list(enumerate(first.before))), strict=True):
            parts.append(answers)
            advance(int(sums.rows.sum()))

        def moments(n: int, q: int, estimator: int) -> Moments:
            total = Moments()
            for half in (0, 1):
                for answers in parts:
                    total = answers[half][n][q][estimator].after(total)
            return total

        quantities = range(len(self.quantities))
        return [[(moments(n, q, 0), moments(n, q, 1)) for q in quantities] for n in range(len(questions))]

    def _second_sums(
        self, questions: tuple[Question, ...], total: HalfSums, numbered: tuple[int, HalfSums]
    ) -> list[list[list[Answer]]]:
        """Return the moments of a part: by half, question and quantity."""
        (n, before), answers = numbered, []
        _, part = self._read(n)
        for half in (0, 1):
            rows = part.part([half])
            by_question: list[list[Answer]] = [[] for _ in questions]
            for q, quantity in enumerate(self.quantities):
                # Held-out rows come after those of the other half; all rows come in order, the second half after the first.
                guesses = [self._guess(rows, before, total, (half, q, other)) for other in (half == 1, True)]
                for question, cells in zip(questions, by_question, strict=True):
                    held_out = question.half is not None
                    size = 0 if held_out and question.half != half else rows.action.size
                    guess, action, y = guesses[held_out][:, :size], rows.action[:size], rows.values[q][:size]
                    weight, used = (question.play[rows.action] * rows.inverse)[:size], np.flatnonzero(question.play)
                    terms = question.play[used] @ guess[used] + weight * (y - guess[action, np.arange(size)])
                    of_ips, of_dr = question.ends(quantity)
                    t = int(before.rows[half].sum() + (0 if held_out or not half else total.rows[0].sum()))
                    cells.append((PartMoments.of(weight * y, of_ips, t), PartMoments.of(terms, of_dr, t)))
            answers.append(by_question)
        return answers

    def _guess(self, rows: Rows, before: HalfSums, total: HalfSums, at: tuple[int, int, bool]) -> Matrix:
        """Return (K, n) the mean of each action's rows before each row, of all rows where there is none, or 0.

        `at` is the half, the quantity, and whether the rows of the other half come before.
        """
        half, q, other = at
        x, quantity, counts, sums = rows.values[q], self.quantities[q], before.rows[half], before.x[half, :, q]
        if other:
            counts, sums = counts + total.rows[1 - half], sums + total.x[1 - half, :, q]
        overall = past_mean(x, float(counts.sum()), float(sums.sum()))
        guess = np.empty((counts.size, x.size))
        for a in range(counts.size):
            guess[a] = past_mean(x, float(counts[a]), float(sums[a]), rows.action == a, overall)
        return guess.clip(quantity.low, quantity.high)  # before the first row it is 0


def self_normalised(sums: HalfSums, halves: Sequence[int], play: Vector, q: int, level: float) -> Value:
    """Return the self-normalised value of a play for quantity q, 0 for the reward, by the rows of these halves."""
    at = list(halves)
    n = float(sums.rows[at].sum())
    total = float((sums.inverse[at].sum(axis=0) * play).sum())
    value = float((sums.weighted[at, :, q].sum(axis=0) * play).sum()) / total
    errors = sums.squared_x[at, :, q] - 2 * value * sums.squared[at, :, q] + value**2 * sums.squares[at]
    variance = max(0.0, float((errors.sum(axis=0) * play**2).sum())) * (n / total) ** 2 / (n - 1)
    reach = z_of(level) * float(np.sqrt(variance / n))
    return Value(value, value - reach, value + reach)
