"""One buffer a run: a learner's parameters and its state, laid out in one float64 array.

Copying, saving and a single step then handle one array, and a compiled loop's signature names no learner: that is what
lets the next process find the loop on disk. The layout is read off the annotations of the learner's fields and of its
state's: `float`, `Vector`, `Matrix`, or another named tuple. Leaf n has three numbers in the header, memory[3n : 3n + 3]:
where it starts, its rows and its columns.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import cache, wraps
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, get_args

import numpy as np
from numba import extending
from numba import types as numba_types
from numba.extending import overload, type_callable

from lewa.kernels.jit import INLINE
from lewa.kernels.records import field_types, is_record, leaves, state_type
from lewa.types import Matrix, Vector

# Numba ships no types.
types: Any = numba_types
_extending: Any = extending
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
    place = _place_of_state(form)
    end = int(memory[place]) if place < memory[0] else memory.size  # a state may be empty
    records = _reader(form)(memory)
    if len(_unpacked) >= MOST:
        _unpacked.clear()
    _unpacked[id(memory)] = _Unpacked(form, memory, memory[:end].tobytes(), end, records)
    return records


@cache
def _place_of_state(form: Any) -> int:
    """Return the place in the header of where the state begins."""
    return 3 * _leaf_count(form)


def _leaf_count(kind: Any) -> int:
    return sum(map(_leaf_count, field_types(kind).values())) if is_record(kind) else 1


# For compiled code `unpack` is written in LLVM's terms, by hand: as Numba's own slices it took most of the time that a
# single step takes to compile. The views hold no reference to the buffer, which belongs to whoever called the step.
@type_callable(unpack)
def _type_of_unpack(context: Any) -> Callable[[Any, object], object]:
    def typer(learner: Any, memory: object) -> object:
        form = learner.instance_class
        return types.Tuple((_numba_type(form), _numba_type(state_type(form))))

    return typer


def _numba_type(kind: type) -> object:
    if kind is float:
        return types.float64
    if is_record(kind):
        return types.BaseTuple.from_types([_numba_type(field) for field in field_types(kind).values()], kind)
    return types.Array(types.float64, dimensions(kind), "C")


def _lower_unpack(context: Any, builder: Any, signature: Any, arguments: Sequence[object]) -> object:
    arrays: Any = import_module("numba.np.arrayobj")  # which takes long, and only to compile needs it
    memory = context.make_array(signature.args[1])(context, builder, arguments[1]).data
    header, size = itertools.count(), context.get_constant(types.intp, 8)

    def number() -> object:
        return builder.load(builder.gep(memory, [context.get_constant(types.intp, next(header))]))

    def index() -> object:
        return builder.fptosi(number(), size.type)

    def read(kind: Any) -> object:
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [read(field) for field in kind.types])
        data, rows, columns = builder.gep(memory, [index()]), index(), index()
        if kind is types.float64:
            return builder.load(data)
        shape = [rows, columns][-kind.ndim :]
        strides = [builder.mul(columns, size), size][-kind.ndim :]
        array = context.make_array(kind)(context, builder)
        arrays.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    return read(signature.return_type)


_extending.lower_builtin(unpack, types.NamedTupleClass, types.Array)(_lower_unpack)


def restore(record: object, saved: Vector) -> None:
    """Write what `flat` took from a record like this one into it."""
    start = 0
    for leaf in leaves(record):
        leaf[...] = saved[start : start + leaf.size].reshape(leaf.shape)
        start += leaf.size


@overload(restore, jit_options=INLINE, strict=False)
def _restore(record: object, saved: object) -> Callable[..., int]:
    return lambda record, saved: fill(record, saved, 0)


def fill(record: object, saved: Vector, start: int) -> int:
    """Write the numbers from `start` on into a record, or into one array; return where those of the next one start."""
    raise NotImplementedError("it is for compiled code only")


@overload(fill, jit_options=INLINE, strict=False)
def _fill(record: Sized, saved: object, start: object) -> Callable[..., int]:
    if not isinstance(record, types.BaseTuple):
        return put
    if len(record) == 0:
        return lambda record, saved, start: start
    return lambda record, saved, start: fill(record[1:], saved, fill(record[0], saved, start))


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


@cache
def _reader(form: Any) -> Callable[[Vector], tuple[Any, Any]]:
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
