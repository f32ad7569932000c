from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from lewa.kernels import builder, flat, restore
from lewa.kernels.weights.hedge import Weights, ones
from lewa.types import Matrix, Vector


class Part(NamedTuple):
    weights: Weights
    clock: Vector
    table: Matrix


class Whole(NamedTuple):
    a: float
    floor: Vector


def record(x: float) -> Part:
    return Part(ones(700, drawn=True), np.full(1, x), np.arange(6.0).reshape(2, 3) * x)


@numba.njit
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


def test_a_builder_takes_each_field_from_its_expression() -> None:
    build = builder(Whole, "x, e", a="x.clock[e]", floor="x.table[e]")

    @numba.njit
    def read(x: Any) -> Any:
        whole = build(x, 0)
        return whole.a + whole.floor[2]

    assert read(record(2.0)) == 2.0 + 4.0
    plain = getattr(build, "py_func", build)(record(2.0), 0)
    assert type(plain) is Whole
    assert plain.floor.tolist() == [0.0, 2.0, 4.0]
