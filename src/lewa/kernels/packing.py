"""One buffer a run: a learner's parameters and its state, laid out in one float64 array.

Copying, saving and a single step then handle one array, and a compiled loop's signature names no learner: that is what
lets the next process find the loop on disk. The layout is read off the annotations of the learner's fields and of its
state's: `float`, `Vector`, `Matrix`, or another named tuple. Leaf n has three numbers in the header, memory[3n : 3n + 3]:
where it starts, its rows and its columns.
"""

import itertools
from functools import cache
from typing import Any, NamedTuple, get_args

import numba
import numpy as np
from numba import types
from numba.extending import overload

from lewa.kernels.jit import INLINE
from lewa.kernels.records import field_types, is_record, leaves, state_type
from lewa.types import Matrix, Vector

RULE = ("start", "play", "choose", "learn", "inside", "State", "feedback")  # what a compiled form has of its learner


def scalar(memory: Vector, n: int) -> float:
    """Return leaf n, a number."""
    x: float = memory[int(memory[3 * n])]
    return x


def vector(memory: Vector, n: int) -> Vector:
    """Return leaf n, a view."""
    start = int(memory[3 * n])
    return memory[start : start + int(memory[3 * n + 2])]


def matrix(memory: Vector, n: int) -> Matrix:
    """Return leaf n, a view in two dimensions."""
    start, rows, columns = int(memory[3 * n]), int(memory[3 * n + 1]), int(memory[3 * n + 2])
    return memory[start : start + rows * columns].reshape((rows, columns))


def compiled_form(learner: type) -> Any:
    """Return the named tuple that a class of learners is in compiled code: the same fields, and the methods of the rule.

    Numba compiles named tuples and no dataclasses. The form is an attribute of the learner's class, so that it has a name
    by which another process finds it, and with it what was compiled for it.
    """
    if issubclass(learner, tuple):
        return learner
    form: Any = vars(learner).get("Compiled")
    if form is None:
        named: Any = NamedTuple  # its fields are known here, and to no type checker
        form = named("Compiled", list(field_types(learner).items()))
        for name in RULE:
            if hasattr(learner, name):
                setattr(form, name, getattr(learner, name))
        form.__module__, form.__qualname__ = learner.__module__, f"{learner.__qualname__}.Compiled"
        type.__setattr__(learner, "Compiled", form)
    return form


def pack(*records: object) -> Vector:
    """Copy learners and states, records of floats, arrays and records, into one new buffer."""
    arrays = [np.asarray(leaf, dtype=np.float64) for record in records for leaf in leaves(record)]
    memory = np.empty(3 * len(arrays) + sum(array.size for array in arrays))
    start = 3 * len(arrays)
    for n, array in enumerate(arrays):
        rows, columns = np.atleast_2d(array).shape
        memory[3 * n : 3 * n + 3] = start, rows, columns
        memory[start : start + array.size] = array.ravel()
        start += array.size
    return memory


def unpack(learner: type, memory: Vector) -> Any:
    """Return the learner in its compiled form, and its state; their arrays are views of the buffer."""
    form = compiled_form(learner)
    return _reader(form, scalar, vector, matrix)(form, memory)


@cache
def compiled_unpack(form: Any) -> Any:
    """Return `unpack` for compiled code that handles learners of this form.

    It is inlined before typing, as a function without reference counts may not return a new view. An `overload` of `unpack`
    would do the same, and take a second longer to compile wherever it is called.
    """
    inlined = numba.njit(inline="always")
    return inlined(_reader(form, inlined(scalar), inlined(vector), inlined(matrix)))


def restore(record: object, saved: Vector) -> None:
    """Write what `flat` took from a record like this one into it."""
    start = 0
    for leaf in leaves(record):
        leaf[...] = saved[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size


@overload(restore, jit_options=INLINE, strict=False)
def _restore(record: Any, saved: Any) -> Any:
    return lambda record, saved: fill(record, saved, 0)


def fill(record: Any, saved: Vector, start: int) -> int:
    """Write the numbers from `start` on into a record, or into one array; return where those of the next one start."""
    raise NotImplementedError("it is for compiled code only")


@overload(fill, jit_options=INLINE, strict=False)
def _fill(record: Any, saved: Any, start: Any) -> Any:
    if not isinstance(record, types.BaseTuple):
        return put
    if len(record) == 0:
        return lambda record, saved, start: start
    return lambda record, saved, start: fill(record[1:], saved, fill(record[0], saved, start))


def put(leaf: Any, saved: Vector, start: int) -> int:
    """Fill one array, of one or two dimensions; return where the numbers of the next one start."""
    size: int = leaf.size
    whole = leaf.reshape(size)
    for i in range(size):
        whole[i] = saved[start + i]
    return start + size


@cache
def _reader(form: Any, scalar: Any, vector: Any, matrix: Any) -> Any:
    """Return a function that rebuilds (learner, state), written out as one expression: Numba has no other way to build a
    tuple of so many types that compiles as fast."""
    names: dict[str, Any] = {"scalar": scalar, "vector": vector, "matrix": matrix}
    count = itertools.count()

    def build(kind: Any) -> str:
        if kind is float:
            return f"scalar(memory, {next(count)})"
        if is_record(kind):
            name = f"{kind.__name__}_{len(names)}"
            names[name] = kind
            return f"{name}({', '.join(map(build, field_types(kind).values()))})"
        read = {1: "vector", 2: "matrix"}[len(get_args(get_args(kind)[0]))]
        return f"{read}(memory, {next(count)})"

    return eval(f"lambda learner, memory: ({build(form)}, {build(state_type(form))})", names)
