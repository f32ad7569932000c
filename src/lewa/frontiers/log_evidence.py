"""Evaluate plays on a log: estimates for each action, off-policy values, and a test of the propensities."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import Log, StreamedLog
from lewa.data.log_values import LogSums, Question, self_normalised
from lewa.data.moments import Value, exponent, widen
from lewa.data.propensities import Misfit, is_shuffled, misfits
from lewa.data.small_samples import Shapes, Strata, means_of, one_action, strata_of
from lewa.frontiers.result import WAYS, Estimates
from lewa.types import Matrix, Vector

Means = tuple[Vector, Matrix]  # rewards (K,) and constraints (m, K), in [0, 1]
Halves = tuple[int, ...]  # 0 is the first half, 1 the second
BOTH: Halves = (0, 1)


class Evidence:
    """The rows of a log, each half of which chooses plays that the other half values; it is read twice, part by part."""

    def __init__(
        self,
        data: Data,
        log: Log | StreamedLog,
        folds: str,
        executor: Executor | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.data, self.shuffled, self.quantities = data, is_shuffled(log, folds), (data.reward, *data.constraints)
        self._log, self._executor, self._progress, self._passed = log, executor, progress, 0
        self._passes = LogSums(log, self.quantities, self.shuffled)
        self._first = self._passes.first(executor, self._advance)
        self.sums = self._first.all
        check_halves(data, self.sums.rows)
        self._shapes: dict[Halves, list[Shapes]] = {}

    def _advance(self, rows: int) -> None:
        self._passed += rows
        if self._progress is not None:
            self._progress(self._passed, 2 * self._log.rows)

    def rows(self) -> Vector:
        """Return the number of rows of each action that value plays."""
        valued: Vector = self.sums.rows.sum(axis=0) if self.shuffled else self.sums.rows[1]
        return valued

    def means(self, halves: Halves = BOTH) -> Means:
        """Return the self-normalised means of each action in these halves."""
        at, means = list(halves), np.empty((len(self.quantities), len(self.data.actions)))
        for q, quantity in enumerate(self.quantities):
            of = means_of(self.sums.inverse[at].sum(axis=0), self.sums.weighted[at, :, q].sum(axis=0))
            means[q] = quantity.scale.unit(of)
        means = means.clip(0, 1)  # but for rounding they lie there
        return means[0], means[1:]

    def bounds(self, miss: float, halves: Halves = BOTH) -> Matrix:
        """Return a lower bound on each constraint of each action, (m, K) in [0, 1], by the rows of these halves.

        Each bound is missed with a probability of about `miss` at most.
        """
        at, bounds = list(halves), np.empty((len(self.data.constraints), len(self.data.actions)))
        shapes = self._shapes_of(halves)
        for q, quantity in enumerate(self.quantities[1:], start=1):
            strata = self._strata(np.ones(len(self.data.actions)), at, q)
            for a, (mean, rows) in enumerate(zip(strata.mean.tolist(), strata.rows.tolist(), strict=True)):
                below, above = shapes[q].reach(one_action(a, mean, rows), -float(np.log(miss)))
                end = mean + above if quantity.sense == "at most" else mean - below
                bounds[q - 1, a] = quantity.scale.unit(end)
        return bounds.clip(0, 1)

    def values(self, pairs: Sequence[tuple[Vector, Vector]], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, over all rows, and of plays, each over rows that did not choose it.

        A pair is the play that the first half chose, which the second half values, and the play that the second half chose,
        which the first half values. The value is that of their mean. Without shuffling only the first play is used.
        """
        K, largest, halves = self._log.actions, self._first.largest, (1, 0) if self.shuffled else (1,)
        questions = [Question(np.eye(K)[a], None, float(largest[:, a].max())) for a in range(K)]
        for pair in pairs:
            for half in halves:
                play = pair[1 - half]
                questions.append(Question(play, half, float((play * largest[half]).max())))
        answers = self._ask(questions, level)
        alone: list[Estimates] = [
            {each.name: self._alone(a, q, answers[a][q], level) for q, each in enumerate(self.quantities)} for a in range(K)
        ]
        held_out: list[Estimates] = []
        for n, pair in enumerate(pairs):
            values = answers[K + n * len(halves) : K + (n + 1) * len(halves)]
            held_out.append(
                {
                    each.name: self._held_out(pair, q, [of[q] for of in values], level)
                    for q, each in enumerate(self.quantities)
                }
            )
        return alone, held_out

    def _ask(self, questions: list[Question], level: float) -> list[list[list[Value]]]:
        """Return the values by question, quantity and estimator, with the normal approximation."""
        moments = self._passes.second(self._first, questions, self._executor, self._advance)
        answers = []
        for question, by_quantity in zip(questions, moments, strict=True):
            halves: Halves = BOTH if question.half is None else (question.half,)
            # The errors of two halves may add up, so that a proved interval in one half needs a higher level.
            proved = (1 + level) / 2 if question.half is not None and self.shuffled else level
            values = []
            for q, (quantity, sums) in enumerate(zip(self.quantities, by_quantity, strict=True)):
                pairs, within = zip(sums, question.ends(quantity), strict=True), (quantity.low, quantity.high)
                by_ips, by_dr = (of.value(level, proved, within, ends) for of, ends in pairs)
                values.append([by_ips, self_normalised(self.sums, halves, question.play, q, level), by_dr])
            answers.append(values)
        return answers

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""
        return misfits(self._first.drawn)

    def _alone(self, a: int, q: int, values: Sequence[Value], level: float) -> dict[str, Value]:
        """Return the values of an action, by each estimator, with intervals for few rows and heavy tails."""
        reach = self._shapes_of(BOTH)[q].reach(self._strata(np.eye(len(self.data.actions))[a], BOTH, q), exponent(level))
        return {way: widen(value, reach) for way, value in zip(WAYS, values, strict=True)}

    def _held_out(
        self, pair: tuple[Vector, Vector], q: int, values: Sequence[Sequence[Value]], level: float
    ) -> dict[str, Value]:
        """Return the values of a pair of plays, by each estimator.

        The error of the second play in the first half and that of the first play in the second are dependent where the
        halves choose different plays, because the rows that choose one value the other. The variance of their mean is then
        at most twice that of independent errors (`lewa.frontiers.context_gain` has the reason). So it is multiplied by 1 +
        d, where d, from 0 to 1, is the total variation distance of the plays.
        """
        shapes, strata = self._shapes_of(BOTH)[q], self._strata(pair[0], [1], q)
        if len(values) == 1:
            reach = shapes.reach(strata, exponent(level))
            return {way: widen(value, reach) for way, value in zip(WAYS, values[0], strict=True)}
        wider = 1 + float(np.abs(pair[0] - pair[1]).sum()) / 2
        reach = shapes.reach(strata.joined(self._strata(pair[1], [0], q)), exponent(level) * wider)
        by_way = {}
        for way, *both in zip(WAYS, *values, strict=True):
            mean = sum(value.value for value in both) / 2
            error = (wider * sum(((value.high - value.low) / 2) ** 2 for value in both)) ** 0.5 / 2
            ends = [value.proved for value in both if value.proved is not None]
            proved = None if len(ends) < 2 else ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
            by_way[way] = widen(Value(mean, mean - error, mean + error, proved), reach)
        return by_way

    def _strata(self, play: Vector, halves: Sequence[int], q: int) -> Strata:
        at, sums = list(halves), self.sums
        weights, weighted, squares = (
            each.sum(axis=0) for each in (sums.inverse[at], sums.weighted[at, :, q], sums.squares[at])
        )
        return strata_of(play * weights, play * weighted, play**2 * squares)

    def _shapes_of(self, halves: Halves) -> list[Shapes]:
        """Return the shapes of each quantity in the rows of these halves."""
        if halves not in self._shapes:
            part, K = self._first.sample.part(halves), len(self.data.actions)
            self._shapes[halves] = [
                Shapes(part.action, values, part.inverse, K, (quantity.low, quantity.high), quantity.sense)
                for quantity, values in zip(self.quantities, part.values, strict=True)
            ]
        return self._shapes[halves]


def check_halves(data: Data, rows: Matrix) -> None:
    """Raise ValueError unless both halves have every action; `rows` (2, K) counts the rows of each half and action."""
    for name, half in zip(("first", "second"), rows, strict=True):
        missing = [action for a, action in enumerate(data.actions) if not half[a]]
        if missing or half.sum() < 2:
            fault = f"lacks {', '.join(missing)}" if missing else "is too short"
            raise ValueError(
                f"one half of a log selects and the other evaluates, so each half must have every action: the {name} half "
                f"({half.sum():.0f} of {rows.sum():.0f} rows) {fault}"
            )
