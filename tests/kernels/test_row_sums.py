"""Rounds are added up to the bits of NumPy, compiled and not."""

import numpy as np
import pytest

from lewa.simulate.seed_run import sum_rounds

SHAPES = [(n, *rest) for n in (1, 2, 9, 129, 1000) for rest in ((1,), (2,), (3,), (10,), (1, 1), (2, 1), (2, 3), (3, 17))]


def check(shape: tuple[int, ...]) -> None:
    rounds = np.random.default_rng(0).random(shape)
    sums = sum_rounds(rounds)
    assert sums.shape == shape[1:]
    assert sums.tobytes() == rounds.sum(axis=0).tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_sums(shape: tuple[int, ...]) -> None:
    check(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_sums(shape: tuple[int, ...]) -> None:
    check(shape)
