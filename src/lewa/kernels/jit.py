"""How a rule is compiled: one place for the options, among them the one private to Numba; pipelines.py has the steps."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba import config
from numba.core.compiler import Compiler

from lewa.kernels.pipelines import Part, PartCompiler, UnlockedCompiler

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reassociated (so that they vectorise) and fused; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A rule divides like NumPy and counts no references, which costs more than the arithmetic at K = 10: so it may not allocate.
OPTIONS: Any = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_RULE: Any = {**OPTIONS, "fastmath": SUMS, "forceinline": True}
INLINE: Any = {**_RULE, "pipeline_class": PartCompiler}  # of an `overload`


def rule(function: F) -> F:
    """Compile a piece of a learner's rule: inlined where it is called, working in place, allocating nothing."""
    return _part(function, _RULE)


def exact(function: F) -> F:
    """Like `rule`, but the order of operations is kept: reassociation would undo the rounding trick in `exp`."""
    return _part(function, {**_RULE, "fastmath": {"contract"}})


def routine(function: F) -> F:
    """Like `rule`, but called, not inlined: for what is long, and would be compiled anew wherever it stands."""
    return _part(function, {**_RULE, "forceinline": False})  # unless it is said, it is inherited


def _part(function: F, options: Any) -> F:
    if vars(config)["DISABLE_JIT"]:
        return function
    return cast(F, Part(function, options, numba.njit(function, **options)))


def program(function: F, keep: bool = True, alone: bool = True) -> F:
    """Compile a function that Python calls: it lets other threads run if it can be left `alone`, and is kept on disk.

    What is kept is compiled anew when the function's own file changes, and only then: a function that calls into other
    files needs a stamp of them in its name (see engine/compile.py).
    """
    options = {**OPTIONS, "fastmath": SUMS, "pipeline_class": UnlockedCompiler if alone else Compiler}
    if keep:
        try:
            cached = numba.njit(function, cache=True, **options)
        except RuntimeError:  # no directory can be written to: compile in every process
            pass
        else:
            _forgive(cached)
            return cast(F, cached)
    return cast(F, numba.njit(function, **options))


def _forgive(cached: Any) -> None:
    """Continue a run if the disk is full while its compiled code is written."""
    cache = getattr(cached, "_cache", None)
    if cache is None:  # the JIT is off
        return
    save = cache.save_overload

    def attempt(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:  # the index may already name what was not written
            with suppress(OSError):
                cache.flush()

    cache.save_overload = attempt
