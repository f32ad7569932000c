"""What compiled code runs for the functions of packing.py; it is imported when the first program is compiled or read.

`unpack` is written in LLVM's terms, by hand: as Numba's own slices it took most of the time that a single step takes to
compile. The views hold no reference to the buffer, which belongs to whoever called the step.
"""

import itertools
from collections.abc import Callable, Sequence, Sized
from importlib import import_module
from typing import Any

from numba import extending
from numba import types as numba_types
from numba.extending import overload, type_callable

from lewa.kernels.jit import INLINE
from lewa.kernels.packing import dimensions, fill, put, restore, unpack
from lewa.kernels.records import field_types, is_record, state_type

# Numba ships no types.
types: Any = numba_types
_extending: Any = extending


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
    arrays: Any = import_module("numba.np.arrayobj")  # which takes long; a program that is read from the disk needs none
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


@overload(restore, jit_options=INLINE, strict=False)
def _restore(record: object, saved: object) -> Callable[..., int]:
    return lambda record, saved: fill(record, saved, 0)


@overload(fill, jit_options=INLINE, strict=False)
def _fill(record: Sized, saved: object, start: object) -> Callable[..., int]:
    if not isinstance(record, types.BaseTuple):
        return put
    if len(record) == 0:
        return lambda record, saved, start: start
    return lambda record, saved, start: fill(record[1:], saved, fill(record[0], saved, start))
