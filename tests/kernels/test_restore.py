from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from lewa.kernels import flat, restore
from lewa.kernels.dispatch import rows
from lewa.kernels.weights.hedge import Weights, ones
from lewa.types import Matrix, Vector


class Part(NamedTuple):
    weights: Weights
    clock: Vector
    table: Matrix


def record(x: float) -> Part:
    return Part(ones(700, drawn=True), np.full(1, x), np.arange(6.0).reshape(2, 3) * x)


@numba.njit  # type: ignore[untyped-decorator]
def compiled(part: Any, saved: Any) -> None:
    restore(part, saved)


@pytest.mark.parametrize("how", [restore, compiled])
def test_what_was_taken_from_a_record_is_written_into_another(how: Any) -> None:
    saved, other = flat(record(3.0)), record(-1.0)
    other.weights.value[:] = np.nan
    arrays = [other.weights.tree, other.clock, other.table]
    how(other, saved)
    np.testing.assert_array_equal(flat(other), saved)
    assert [arrays[0] is other.weights.tree, arrays[1] is other.clock, arrays[2] is other.table] == [True] * 3  # in place
    np.testing.assert_array_equal(other.table, record(3.0).table)


def test_row_e_of_vectors_and_of_matrices_makes_a_tuple() -> None:
    @numba.njit  # type: ignore[untyped-decorator]
    def read(x: Any, e: int) -> Any:
        number, vector = rows((x.clock, x.table), e)
        return number + vector[2], rows(x[:0], e)

    assert read(record(2.0), 0) == (2.0 + 4.0, ())
    number, vector = rows((record(2.0).clock, record(2.0).table), 0)
    assert (number, vector.tolist()) == (2.0, [0.0, 2.0, 4.0])
