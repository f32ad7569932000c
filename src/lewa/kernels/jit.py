"""How a rule is compiled: one place for the options, among them the one private to Numba; pipelines.py has the steps.

The steps are made of private parts of Numba. They are used with the versions of Numba in TRIED; with another version, or
where a part is missing, Numba's usual steps are taken. They take more time, and the last digit of a result may differ.
"""

from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
from numba import config

F = TypeVar("F", bound=Callable[..., object])
TRIED = ("0.68.",)  # beginnings of versions of Numba

# Sums may be reassociated (so that they vectorise) and fused; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A rule divides like NumPy and counts no references, which costs more than the arithmetic at K = 10: so it may not allocate.
OPTIONS: Any = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_RULE: Any = {**OPTIONS, "fastmath": SUMS, "forceinline": True}


def find_pipelines() -> ModuleType | None:
    """Return the module of the shorter pipelines; None if they are untested with this version of Numba, or do not load."""
    if not numba.__version__.startswith(TRIED):
        return None
    try:
        from lewa.kernels import pipelines
    except (ImportError, AttributeError, KeyError, TypeError):
        return None
    return pipelines


PIPELINES = find_pipelines()
INLINE: Any = _RULE if PIPELINES is None else {**_RULE, "pipeline_class": PIPELINES.PartCompiler}  # of an `overload`
_PROGRAM: Any = {} if PIPELINES is None else {"pipeline_class": PIPELINES.ProgramCompiler}


def rule(function: F) -> F:
    """Compile a piece of a learner's rule: inlined where it is called, working in place, allocating nothing."""
    return _part(function, _RULE)


def exact(function: F) -> F:
    """Like `rule`, but the order of operations is kept: reassociation would undo the rounding trick in `exp`."""
    return _part(function, {**_RULE, "fastmath": {"contract"}})


def routine(function: F) -> F:
    """Like `rule`, but called, not inlined: for long functions, which would be compiled again at every call site."""
    return _part(function, {**_RULE, "forceinline": False})  # unless it is said, it is inherited


def or_plain(plain: F) -> Callable[[F], F]:
    """Where nothing is compiled, call a function that Python runs faster and that gives the same to the last bit."""

    def choose(function: F) -> F:
        if not vars(config)["DISABLE_JIT"]:
            return function
        setattr(plain, "py_func", function)  # noqa: B010 (the rule, for those who look for its code)
        plain.__doc__ = function.__doc__
        return plain

    return choose


def _part(function: F, options: Any) -> F:
    if vars(config)["DISABLE_JIT"]:
        return function
    if PIPELINES is None:
        return cast(F, numba.njit(function, **options))
    return cast(F, PIPELINES.Part(function, options, numba.njit(function, **_PROGRAM, **options)))


def program(function: F, keep: bool = True, alone: bool = True) -> F:
    """Compile a function that Python calls: it lets other threads run if it can be left `alone`, and is kept on disk.

    What is kept is compiled anew when the function's own file changes, and only then: a function that calls into other
    files needs a stamp of them in its name (see engine/compile.py).
    """
    options: Any = {**OPTIONS, **_PROGRAM, "fastmath": SUMS}
    if alone:
        options |= {"nogil": True} if PIPELINES is None else {"pipeline_class": PIPELINES.UnlockedCompiler}
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
