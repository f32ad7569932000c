"""The Gaussian process of docs/contexts.md is that of the textbook."""

from copy import deepcopy

import numpy as np
import pytest
from tools.context_process import GUESS, GUESSES, NOISE, REPEATS, GaussianProcess

import lewa
from lewa.types import Matrix


def test_one_answer_at_a_time_is_the_process_of_all_answers_at_once() -> None:
    dice, gamma = np.random.default_rng(2), 1.5
    points = dice.normal(size=(12, 3))
    order = np.append(np.arange(12), dice.integers(12, size=90))  # each once, then again
    rows, targets = points[order], dice.normal(size=order.size)
    process = GaussianProcess(gamma)
    for row, target in zip(rows, targets, strict=True):
        process.partial_fit(row[None], np.array([target]))
    where = np.concatenate([dice.normal(size=(5, 3)), points[:3]])

    def kernel(a: Matrix, b: Matrix) -> Matrix:
        values: Matrix = 1 + np.exp(-gamma * ((a[:, None] - b) ** 2).sum(axis=2))
        return values

    counts = np.bincount(order)
    answers = np.bincount(order, weights=targets) / counts
    inverse = np.linalg.inv(kernel(points, points) + np.diag(NOISE / np.minimum(counts, REPEATS)))
    first = np.linalg.inv(kernel(points, points) + NOISE * np.eye(12))
    scale = (GUESSES * GUESS**2 + targets[:12] @ first @ targets[:12]) / (GUESSES + 12)
    means, deviations = process.predict(where, return_std=True)
    across = kernel(where, points)
    assert means == pytest.approx(across @ inverse @ answers)
    assert means == pytest.approx(process.predict(where))
    variances = 2 - np.einsum("ij,jk,ik->i", across, inverse, across)
    assert deviations**2 == pytest.approx(scale * variances, rel=1e-6)


def test_copies_learn_one_scale_and_nothing_else_of_each_other() -> None:
    process, row = GaussianProcess(1.0), np.ones((1, 3))
    copy = deepcopy(process)
    process.partial_fit(row, np.array([3.0]))
    assert copy.predict(row).tolist() == [0]
    deviation = copy.predict(row, return_std=True)[1][0]
    assert deviation**2 == pytest.approx(2 * (GUESSES * GUESS**2 + 3.0**2 / (2 + NOISE)) / (GUESSES + 1))


def test_the_scale_of_an_agent_begins_with_the_answer_by_which_a_regressor_is_tried() -> None:
    process = GaussianProcess(1.0)
    lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], context=[lewa.vector("x", 2)], regressor=process, seed=0)
    assert process.scale.news == GUESSES + 1


def test_without_answers_it_predicts_nothing_and_is_unsure() -> None:
    means, deviations = GaussianProcess(1.0).predict(np.ones((2, 3)), return_std=True)
    assert means.tolist() == [0, 0]
    assert deviations == pytest.approx([GUESS * 2**0.5] * 2)
