"""Evaluate plays on a log that is read in parts."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import StreamedLog
from lewa.data.off_policy import Value
from lewa.data.propensities import Misfit, are_equal, is_shuffled, misfits_in
from lewa.data.streamed_values import Question, ends_of, first_pass, second_pass, self_normalised, value_of
from lewa.frontiers.log_evidence import BOTH, Evidence, Halves, proved_level, quantities_of
from lewa.frontiers.result import Estimates
from lewa.types import Vector


class RowsInParts(Evidence):
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
        self.log, self.executor = log, executor
        shuffled = is_shuffled(folds, lambda: are_equal(log.least, log.largest))
        self._progress, self._passed = progress, 0
        self.first = first_pass(log, quantities_of(data), shuffled, executor, self._advance)
        super().__init__(data, self.first.all, self.first.sample, shuffled)

    def _advance(self, rows: int) -> None:
        self._passed += rows
        if self._progress is not None:
            self._progress(self._passed, 2 * self.log.rows)

    def values(self, pairs: Sequence[tuple[Vector, Vector]], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, over all rows, and of these plays, each over rows of the other half."""
        K, largest, halves = self.log.actions, self.first.largest, (1, 0) if self.shuffled else (1,)
        questions = [Question(np.eye(K)[a], None, float(largest[:, a].max())) for a in range(K)]
        for pair in pairs:
            for half in halves:
                play = pair[1 - half]
                questions.append(Question(play, half, float((play * largest[half]).max())))
        answers = self._ask(questions, level)
        alone: list[Estimates] = [
            {each.name: self.alone(a, q, answers[a][q], level) for q, each in enumerate(self.quantities)} for a in range(K)
        ]
        held_out: list[Estimates] = []
        for n, pair in enumerate(pairs):
            values = answers[K + n * len(halves) : K + (n + 1) * len(halves)]
            by_name = {
                each.name: self.held_out(pair, q, [of[q] for of in values], level) for q, each in enumerate(self.quantities)
            }
            held_out.append(by_name)
        return alone, held_out

    def _ask(self, questions: list[Question], level: float) -> list[list[list[Value]]]:
        """Return the values by question, quantity and estimator, with the normal approximation."""
        moments = second_pass(self.log, self.quantities, self.shuffled, self.first, questions, self.executor, self._advance)
        answers = []
        for question, by_quantity in zip(questions, moments, strict=True):
            halves: Halves = BOTH if question.half is None else (question.half,)
            proved = level if question.half is None else proved_level(level, self.shuffled)
            values = []
            for q, (quantity, (inverse, robust)) in enumerate(zip(self.quantities, by_quantity, strict=True)):
                within, (of_ips, of_dr) = (quantity.low, quantity.high), ends_of(question, quantity)
                normalised = self_normalised(self.first.all, halves, question.play, q, level)
                ends = [(inverse, of_ips), (robust, of_dr)]
                by_ips, by_dr = (value_of(sums, level, proved, within, of) for sums, of in ends)
                values.append([by_ips, normalised, by_dr])
            answers.append(values)
        return answers

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""
        return misfits_in(self.first.drawn)
