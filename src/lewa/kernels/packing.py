"""One buffer a run: a learner's parameters and its state, laid out in one float64 array.

Copying, saving and a single step then handle one array, and a compiled loop's signature names no learner: that is what
lets the next process find the loop on disk. The layout is read off the annotations of the named tuples: `float`,
`Vector`, `Matrix`, or another named tuple. Leaf n has three numbers in the header, memory[3n : 3n + 3]: where it
starts, its rows and its columns.
"""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_type_hints

import numba
import numpy as np
from numba import types
from numba.extending import overload

from lewa.kernels.jit import INLINE, rule
from lewa.types import Matrix, Vector


# These three are inlined before typing: a function without reference counts may not return a new view.
@numba.njit(inline="always")
def scalar(memory: Vector, n: int) -> float:
    """Leaf n, a number."""
    x: float = memory[int(memory[3 * n])]
    return x


@numba.njit(inline="always")
def vector(memory: Vector, n: int) -> Vector:
    """Leaf n, a view."""
    start = int(memory[3 * n])
    return memory[start : start + int(memory[3 * n + 2])]


@numba.njit(inline="always")
def matrix(memory: Vector, n: int) -> Matrix:
    """Leaf n, a view in two dimensions."""
    start, rows, columns = int(memory[3 * n]), int(memory[3 * n + 1]), int(memory[3 * n + 2])
    return memory[start : start + rows * columns].reshape((rows, columns))


def pack(*records: Any) -> Vector:
    """Copy named tuples of floats, arrays and named tuples into one new buffer."""
    leaves = [np.asarray(leaf, dtype=np.float64) for record in records for leaf in _leaves(record)]
    memory = np.empty(3 * len(leaves) + sum(leaf.size for leaf in leaves))
    start = 3 * len(leaves)
    for n, leaf in enumerate(leaves):
        rows, columns = np.atleast_2d(leaf).shape
        memory[3 * n : 3 * n + 3] = start, rows, columns
        memory[start : start + leaf.size] = leaf.ravel()
        start += leaf.size
    return memory


def _leaves(value: Any) -> Iterator[Any]:
    if hasattr(value, "_fields"):
        for field in value:
            yield from _leaves(field)
    else:
        yield value


def unpack(learner: Any, memory: Vector) -> Any:
    """The learner and its state again, their arrays views of the buffer."""
    return _reader(learner)(learner, memory)


@overload(unpack, inline="always", strict=False)
def _unpack(learner: Any, memory: Any) -> Any:
    return _reader(learner.instance_class)


def builder(kind: Any, arguments: str, **fields: str) -> Any:
    """A function of these arguments that builds such a named tuple, each field from the expression given for it.

    It is written out for the reason that the reader below is, and inlined for the reason that the views above are.
    """
    words = ", ".join(fields[name] for name in kind._fields)
    return numba.njit(inline="always")(eval(f"lambda {arguments}: kind({words})", {"kind": kind}))


def flat(record: tuple[Any, ...]) -> Vector:
    """The numbers of a record's arrays, one after the other."""
    return np.concatenate([np.ravel(leaf) for leaf in _leaves(record)])


def restore(record: tuple[Any, ...], saved: Vector) -> None:
    """Write what `flat` took from a record like this one into it."""
    start = 0
    for leaf in _leaves(record):
        leaf[...] = saved[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size


@overload(restore, jit_options=INLINE, strict=False)
def _restore(record: Any, saved: Any) -> Any:
    def paths(kind: Any, path: str) -> Iterator[str]:
        if isinstance(kind, types.BaseTuple):
            for name, part in zip(kind.instance_class._fields, kind.types, strict=True):  # type: ignore[attr-defined]
                yield from paths(part, f"{path}.{name}")
        else:
            yield f"put({path}, saved, start)"

    steps = "".join(f"    start = {step}\n" for step in paths(record, "record"))
    names: dict[str, Any] = {"put": put}
    exec(f"def restore(record, saved):\n    start = 0\n{steps}", names)
    return names["restore"]


@rule
def put(leaf: Any, saved: Vector, start: int) -> int:
    """Fill one array, of one or two dimensions; and where the numbers of the next one start."""
    size: int = leaf.size
    whole = leaf.reshape(size)
    for i in range(size):
        whole[i] = saved[start + i]
    return start + size


@cache
def _reader(learner: Any) -> Any:
    """A function that rebuilds (learner, state), written out as one expression because Numba has no other way to build
    a tuple whose fields differ in type."""
    names: dict[str, Any] = {"scalar": scalar, "vector": vector, "matrix": matrix}
    count = itertools.count()

    def build(kind: Any) -> str:
        if kind is float:
            return f"scalar(memory, {next(count)})"
        if isinstance(kind, type) and issubclass(kind, tuple):
            name = f"{kind.__name__}_{len(names)}"
            names[name] = kind
            hints = get_type_hints(kind)
            return f"{name}({', '.join(build(hints[field]) for field in kind._fields)})"  # type: ignore[attr-defined]
        read = {1: "vector", 2: "matrix"}[len(get_args(get_args(kind)[0]))]
        return f"{read}(memory, {next(count)})"

    state = get_type_hints(learner.start)["return"]
    return eval(f"lambda learner, memory: ({build(learner)}, {build(state)})", names)
