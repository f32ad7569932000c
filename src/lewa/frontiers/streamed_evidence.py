"""Evaluate plays on a log that is read in parts."""

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import StreamedLog
from lewa.data.propensities import Misfit, are_equal, is_shuffled, misfits_in
from lewa.data.streamed_values import Question, ends_of, first_pass, second_pass, self_normalised, value_of
from lewa.frontiers.log_evidence import Means, check_halves, quantities_of
from lewa.frontiers.result import Estimates
from lewa.types import Vector

LEVEL = 0.95  # of the intervals of means, which are not used


class RowsInParts:
    """A log that is read twice, part by part.

    Parameters
    ----------
    data, log
        The log with its names and units, and its parts.
    folds
        "auto", "halves" or "shuffled", as in `lewa.frontier`.
    executor
        Reads the parts in parallel; None reads them here.
    progress
        Called with the number of rows read so far, and in all.
    """

    def __init__(
        self,
        data: Data,
        log: StreamedLog,
        folds: str,
        executor: Executor | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.data, self.log, self.executor = data, log, executor
        self.shuffled = is_shuffled(folds, lambda: are_equal(log.least, log.largest))
        self.quantities = quantities_of(data)
        self._progress, self._passed = progress, 0
        self.first = first_pass(log, self.quantities, self.shuffled, executor, self._advance)
        check_halves(data, self.first.all.rows)

    def _advance(self, rows: int) -> None:
        self._passed += rows
        if self._progress is not None:
            self._progress(self._passed, 2 * self.log.rows)

    def means(self) -> tuple[Means, Means]:
        """Return the means of each action, over all rows and over the first half."""
        return self._means((0, 1)), self._means((0,))

    def _means(self, halves: tuple[int, ...]) -> Means:
        K = self.log.actions
        means = np.empty((len(self.quantities), K))
        for q, quantity in enumerate(self.quantities):
            for a in range(K):
                value = self_normalised(self.first.all, halves, np.eye(K)[a], q, LEVEL).value
                means[q, a] = quantity.scale.unit(value)
        means = means.clip(0, 1)  # but for rounding they lie there
        return means[0], means[1:]

    def values(self, plays: list[Vector], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, over all rows, and of these plays, over the second half."""
        K, largest = self.log.actions, self.first.largest
        questions = [Question(np.eye(K)[a], False, float(largest[:, a].max())) for a in range(K)]
        questions += [Question(play, True, float((play * largest[1]).max())) for play in plays]
        moments = second_pass(self.log, self.quantities, self.shuffled, self.first, questions, self.executor, self._advance)
        estimates: list[Estimates] = []
        for question, by_quantity in zip(questions, moments, strict=True):
            values = {}
            for q, (quantity, (inverse, robust)) in enumerate(zip(self.quantities, by_quantity, strict=True)):
                within, halves = (quantity.low, quantity.high), (1,) if question.held_out else (0, 1)
                of_ips, of_dr = ends_of(question, quantity)
                values[quantity.name] = {
                    "ips": value_of(inverse, level, within, of_ips),
                    "snips": self_normalised(self.first.all, halves, question.play, q, level),
                    "dr": value_of(robust, level, within, of_dr),
                }
            estimates.append(values)
        return estimates[:K], estimates[K:]

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""
        return misfits_in(self.first.drawn)
