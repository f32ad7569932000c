"""How a rule is compiled: one place for the options."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba import config

F = TypeVar("F", bound=Callable[..., object])

# Sums may be reassociated (so that they vectorise) and fused; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A rule divides like NumPy and counts no references, which costs more than the arithmetic at K = 10: so it may not allocate.
OPTIONS: Any = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
INLINE: Any = {**OPTIONS, "fastmath": SUMS, "forceinline": True}  # of a rule, and of an `overload`


def rule(function: F) -> F:
    """Compile a piece of a learner's rule: inlined where it is called, working in place, allocating nothing."""
    return cast(F, numba.njit(function, **INLINE))


def exact(function: F) -> F:
    """Like `rule`, but the order of operations is kept: reassociation would undo the rounding trick in `exp`."""
    return cast(F, numba.njit(function, **{**INLINE, "fastmath": {"contract"}}))


def routine(function: F) -> F:
    """Like `rule`, but called, not inlined: for long functions, which would be compiled again at every call site."""
    return cast(F, numba.njit(function, **{**INLINE, "forceinline": False}))  # unless it is said, it is inherited


def or_plain(plain: F) -> Callable[[F], F]:
    """Where nothing is compiled, call a function that Python runs faster and that gives the same to the last bit."""

    def choose(function: F) -> F:
        if not vars(config)["DISABLE_JIT"]:
            return function
        setattr(plain, "py_func", function)  # noqa: B010 (the rule, for those who look for its code)
        plain.__doc__ = function.__doc__
        return plain

    return choose


def program(function: F, keep: bool = True, alone: bool = True) -> F:
    """Compile a function that Python calls: it lets other threads run if it can be left `alone`, and is kept on disk.

    What is kept is compiled anew when the function's own file changes, and only then: a function that calls into other
    files needs a stamp of them in its name (see engine/compile.py).
    """
    options: Any = {**OPTIONS, "fastmath": SUMS, "nogil": alone}
    if keep:
        try:
            cached = numba.njit(function, cache=True, **options)
        except RuntimeError:  # no directory can be written to: compile in every process
            pass
        else:
            _ease(cached)
            return cast(F, cached)
    return cast(F, numba.njit(function, **options))


def _ease(cached: Any) -> None:
    """Read a program from the disk without the modules of the compiler, and run it if the disk is full.

    Before Numba reads, it imports everything that it can compile, and SciPy's linear algebra. That takes half a second, and
    machine code on the disk needs none of it. Compiling still imports it.
    """
    cache = getattr(cached, "_cache", None)
    if cache is None:  # the JIT is off
        return
    save = cache.save_overload

    def read(signature: object, context: object) -> object:
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    def attempt(*arguments: object) -> None:
        try:
            save(*arguments)
        except OSError:  # the index may already name what was not written
            with suppress(OSError):
                cache.flush()

    cache.load_overload, cache.save_overload = read, attempt
