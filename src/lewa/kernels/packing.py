"""One buffer a run: a learner's parameters and its state, laid out in one float64 array.

Copying, saving and a single step then handle one array, and a compiled loop's signature names no learner: that is what
lets the next process find the loop on disk. The layout is read off the annotations of the learner's fields and of its
state's: `float`, `Vector`, `Matrix`, or another named tuple. Leaf n has three numbers in the header, memory[3n : 3n + 3]:
where it starts, its rows and its columns.
"""

import itertools
from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np

from lewa.kernels.jit import before_compiling
from lewa.kernels.records import field_types, is_record, leaves, state_type
from lewa.types import Matrix, Vector, cached

T = TypeVar("T")

# What a compiled form has of its learner; `dispatch.method` adds to it.
RULE = ["start", "play", "choose", "charge", "release", "learn", "inside", "State", "feedback"]


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
        if not getattr(learner, "compiled", True) and not hasattr(learner, "inside"):  # a wrapper asks the one inside
            _run_as_python(form, learner)
        form.__module__, form.__qualname__ = learner.__module__, f"{learner.__qualname__}.Compiled"
        type.__setattr__(learner, "Compiled", form)
    return form


def _run_as_python(form: Any, learner: type) -> None:
    """Let the rule of a form run on a learner of the class itself, which may have methods that no compiler knows."""

    def on_learner(method: Callable[..., T]) -> Callable[..., T]:
        @wraps(method)
        def run(self: Iterable[object], *arguments: object) -> T:
            subject: object = object.__new__(learner)  # of parameters that were checked before
            for name, value in zip(form._fields, self, strict=True):
                object.__setattr__(subject, name, value)
            return method(subject, *arguments)

        return run

    for name in ("play", "choose", "charge", "release", "learn"):
        if hasattr(learner, name):
            setattr(form, name, on_learner(getattr(learner, name)))


def pack(*records: object) -> Vector:
    """Copy learners and states, records of floats, arrays and records, into one new buffer."""
    arrays = [np.asarray(leaf, dtype=np.float64) for record in records for leaf in leaves(record)]
    start, header = 3 * len(arrays), list[float]()
    for array in arrays:
        rows, columns = array.shape if array.ndim == 2 else (1, array.size)
        header += (start, rows, columns)
        start += array.size
    return np.concatenate([np.array(header, dtype=np.float64), *[array.ravel() for array in arrays]])


class _Unpacked(NamedTuple):
    """What plain Python unpacked of a buffer."""

    form: Any
    memory: Vector
    parameters: bytes  # with the header
    end: int  # of the parameters
    records: tuple[Any, Any]


MOST = 8  # buffers of which plain Python remembers what it unpacked
_unpacked: dict[int, _Unpacked] = {}  # by the place of the buffer, which stays its own while it stands here


def unpack(learner: type, memory: Vector) -> tuple[Any, Any]:
    """Return the learner in its compiled form, and its state; their arrays are views of the buffer."""
    # Plain Python calls this at every step: the views of the same buffer are the same, while no parameter was changed.
    last = _unpacked.get(id(memory))
    form = learner if last is not None and last.form is learner else compiled_form(learner)
    if last is not None and last.memory is memory and last.form is form and memory[: last.end].tobytes() == last.parameters:
        return last.records
    place = 3 * _leaf_count(form)  # in the header, of where the state begins
    end = int(memory[place]) if place < memory[0] else memory.size  # a state may be empty
    records = _reader(form)(memory)
    if len(_unpacked) >= MOST:
        _unpacked.clear()
    _unpacked[id(memory)] = _Unpacked(form, memory, memory[:end].tobytes(), end, records)
    return records


@cached
def _leaf_count(kind: type) -> int:
    return sum(map(_leaf_count, field_types(kind).values())) if is_record(kind) else 1


def restore(record: object, saved: Vector) -> None:
    """Write what `flat` took from a record like this one into it."""
    start = 0
    for leaf in leaves(record):
        leaf[...] = saved[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size


def fill(record: object, saved: Vector, start: int) -> int:
    """Write the numbers from `start` on into a record, or into one array; return where those of the next one start."""
    raise NotImplementedError("it is for compiled code only")


def put(leaf: Vector | Matrix, saved: Vector, start: int) -> int:
    """Fill one array, of one or two dimensions; return where the numbers of the next one start."""
    size = leaf.size
    whole = leaf.reshape(size)
    for i in range(size):
        whole[i] = saved[start + i]
    return start + size


def dimensions(kind: object) -> int:
    """Return how many a `Vector` or `Matrix` has, by its annotation."""
    return len(get_args(get_args(kind)[0]))


@cached
def _reader(form: type) -> Callable[[Vector], tuple[Any, Any]]:
    """Return a function that rebuilds (learner, state), written out as one expression: plain Python calls it often.

    A scalar is NumPy's, which divides like compiled code.
    """
    names: dict[str, object] = {}
    count = itertools.count(step=3)

    def build(kind: type) -> str:
        if is_record(kind):
            name = f"{kind.__name__}_{len(names)}"
            names[name] = kind
            return f"{name}({', '.join(map(build, field_types(kind).values()))})"
        start, rows, columns = _places(next(count))
        if kind is float:
            return f"memory[{start}]"
        if dimensions(kind) == 1:
            return f"memory[{start} : {start} + {columns}]"
        return f"memory[{start} : {start} + {rows} * {columns}].reshape(({rows}, {columns}))"

    records = f"({build(form)}, {build(state_type(form))})"
    read: Callable[[Vector, list[int]], tuple[Any, Any]] = eval(f"lambda memory, at: {records}", names)
    size = next(count)
    return lambda memory: read(memory, memory[:size].astype(np.int64).tolist())


def _places(n: int) -> tuple[str, str, str]:
    """Return where the start, the rows and the columns of a leaf stand in the header `at`."""
    return f"at[{n}]", f"at[{n + 1}]", f"at[{n + 2}]"


@before_compiling
def _compile_packing() -> None:
    """Let compiled code call the functions of this file."""
    import_module("lewa.kernels.compiled_packing")
