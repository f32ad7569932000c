"""A Gaussian process for the digits of docs/contexts.md: a regressor that an agent can have in place of its ridge."""

from typing import Any

import numpy as np

from lewa.types import Matrix, Vector

NOISE = 0.01  # of an answer, in units of the scale
GUESS, GUESSES = 0.3, 2  # the scale before any answer, and its weight: as squarecb-lewa has them for the error of a reward
REPEATS = 4  # answers to the same input that lower its noise


class Scale:
    """The scale of all copies of a process: what one action has taught about it holds for the others."""

    def __init__(self) -> None:
        self.squares, self.news = GUESSES * GUESS**2, GUESSES

    def __deepcopy__(self, memo: object) -> "Scale":
        return self

    def learn(self, square: float) -> None:
        """Learn the squared error of an answer at a new input, in units of its variance."""
        self.squares, self.news = self.squares + square, self.news + 1

    def variance(self) -> float:
        return self.squares / self.news


class GaussianProcess:
    """An exact Gaussian process that learns one answer at a time, by the verbs of scikit-learn.

    Its kernel is scale^2 (1 + exp(-gamma |x - y|^2)), its noise NOISE scale^2, where scale^2 is the mean of GUESS^2, which
    counts GUESSES times, and of the squared error, in units of its variance, of each input that is new. Copies share the
    scale: an action that has only failed does not become sure that it always will. Answers to the same input are merged;
    more than REPEATS of them change their mean, but not its noise. It holds the inverse of the covariance matrix: with n
    inputs, an answer and a prediction at a new input take time of order n^2. Predictions are kept until something changes.
    """

    def __init__(self, gamma: float) -> None:
        self.gamma, self.size, self.places = gamma, 0, dict[bytes, int]()
        self.inputs, self.inverse = np.zeros((0, 0)), np.zeros((0, 0))  # with room for more than `size`
        self.counts, self.means, self.weights = np.zeros(0), np.zeros(0), np.zeros(0)
        self.scale, self.results = Scale(), dict[bytes, tuple[float, float]]()

    def _kernel(self, x: Vector) -> Vector:
        """Return 1 + exp(-gamma |x - y|^2) for each input y."""
        y = self.inputs[: self.size]
        gaps = np.maximum(np.einsum("ij,ij->i", y, y) - 2 * (y @ x) + x @ x, 0)
        kernel: Vector = 1 + np.exp(-self.gamma * gaps)
        return kernel

    def predict(self, rows: Matrix, return_std: bool = False) -> Any:
        """Return the means at the rows, and on request the standard deviations of these means."""
        results = [self._at(np.asarray(row, dtype=np.float64)) for row in rows]
        means, variances = (np.array(column) for column in zip(*results, strict=True))
        return (means, np.sqrt(self.scale.variance() * np.maximum(variances, 0))) if return_std else means

    def _at(self, x: Vector) -> tuple[float, float]:
        """Return the mean and the variance at x, in units of the scale."""
        if (result := self.results.get(key := x.tobytes())) is None:
            result = self.results[key] = self._solve(x)
        return result

    def _solve(self, x: Vector) -> tuple[float, float]:
        """Return the mean and the variance at x; those at an input follow from its answers alone."""
        if (place := self.places.get(x.tobytes())) is not None:
            noise = NOISE / min(self.counts[place], REPEATS)
            return float(self.means[place] - noise * self.weights[place]), float(
                noise - noise**2 * self.inverse[place, place]
            )
        if self.size == 0:
            return 0.0, 2.0
        kernel = self._kernel(x)
        return float(kernel @ self.weights), 2.0 - float(kernel @ (self.inverse[: self.size, : self.size] @ kernel))

    def partial_fit(self, rows: Matrix, targets: Vector) -> "GaussianProcess":
        """Learn the rows, one after the other."""
        for row, target in zip(rows, targets, strict=True):
            x = np.array(row, dtype=np.float64)
            if (place := self.places.get(x.tobytes())) is None:
                self._append(x, float(target))
            else:
                self._repeat(place, float(target))
        return self

    def _solve_weights(self) -> None:
        self.weights = self.inverse[: self.size, : self.size] @ self.means[: self.size]
        self.results.clear()

    def _append(self, x: Vector, target: float) -> None:
        n, (mean, variance) = self.size, self._at(x)
        self.scale.learn((target - mean) ** 2 / (variance + NOISE))
        if n == len(self.counts):
            self._grow(max(2 * n, 64), x.size)
        solved = self.inverse[:n, :n] @ self._kernel(x)
        self.inverse[:n, :n] += np.outer(solved / (variance + NOISE), solved)
        self.inverse[n, :n] = self.inverse[:n, n] = -solved / (variance + NOISE)
        self.inverse[n, n] = 1 / (variance + NOISE)
        self.inputs[n], self.counts[n], self.means[n], self.places[x.tobytes()] = x, 1, target, n
        self.size += 1
        self._solve_weights()

    def _repeat(self, place: int, target: float) -> None:
        """Lower the noise of an input from NOISE/n to NOISE/(n + 1), by the formula of Sherman and Morrison."""
        n, count = self.size, self.counts[place]
        self.counts[place] += 1
        if count < REPEATS:
            column, less = self.inverse[:n, place].copy(), NOISE / (count + 1) - NOISE / count
            self.inverse[:n, :n] -= np.outer(column * (less / (1 + less * column[place])), column)
        elif target == self.means[place]:
            return
        self.means[place] += (target - self.means[place]) / self.counts[place]
        self._solve_weights()

    def _grow(self, room: int, features: int) -> None:
        n, old = self.size, (self.inputs, self.inverse, self.counts, self.means)
        self.inputs, self.inverse = np.zeros((room, features)), np.zeros((room, room))
        self.counts, self.means = np.zeros(room), np.zeros(room)
        if n:
            self.inputs[:n], self.inverse[:n, :n], self.counts[:n], self.means[:n] = old
