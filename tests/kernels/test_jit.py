"""Parts of a rule are compiled into their callers, once, and Python may call them too."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba.core.cpu import CPUContext
from numba.core.event import install_recorder
from numba.extending import overload

from lewa import learners
from lewa.kernels.jit import INLINE, program, routine, rule
from lewa.learners import ALL
from lewa.types import Vector

pytestmark = pytest.mark.compiled


@rule
def double(x: Vector) -> None:
    for i in range(x.size):
        x[i] *= 2.0


@routine
def double_twice(x: Vector) -> None:
    double(x)
    double(x)


def halve(x: Vector) -> None:
    raise NotImplementedError


def _halve(x: Vector) -> None:
    for i in range(x.size):
        x[i] /= 2.0


overload(halve, jit_options=INLINE, strict=False)(lambda x: _halve)


def change(x: Vector) -> None:
    double_twice(x)
    halve(x)


def add_two(x: Vector) -> None:
    for i in range(x.size):
        x[i] += 2.0


@pytest.fixture
def compiled() -> Iterator[Any]:
    """The names of the functions that were compiled."""
    with install_recorder("numba:compile") as recorder:
        yield lambda: [event.data["dispatcher"].py_func.__name__ for _, event in recorder.buffer if event.is_start]


def test_a_part_is_compiled_once_for_all_programs(compiled: Any) -> None:
    x = np.ones(3)
    for _ in range(2):
        program(change, keep=False)(x)
    assert x.tolist() == [4.0, 4.0, 4.0]
    assert sorted(compiled()) == ["_halve", "change", "change", "double", "double_twice"]


def test_what_is_on_the_disk_is_read_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3)
    program(add_two)(x)  # is written now, if it was not before
    monkeypatch.setattr(CPUContext, "refresh", lambda self: pytest.fail("what only a compiler needs was imported"))
    program(add_two)(x)
    assert x.tolist() == [5.0] * 3


def test_python_calls_a_part_before_and_after_a_program_does() -> None:
    for x in (np.ones(3), np.ones((2, 2))[0]):
        double(x)
        program(change, keep=False)(x)
        double(x)
        double_twice(x)
        assert x.tolist() == [32.0] * x.size


def test_no_learner_compiles_anything_to_be_made_and_to_start(compiled: Any) -> None:
    for name, kind in ALL.items():
        learners.make(name, 3, 1000, 0.5).start(3)
        for learner, actions in kind.examples():
            learner.start(actions)
    assert compiled() == []
