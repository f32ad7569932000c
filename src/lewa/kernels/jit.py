"""How a rule is compiled: one place for the options.

A rule is a plain function that Python may call at any time. Numba is imported, and learns of the rules, when the first
program is compiled or read from the disk: until then everything runs as plain Python.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, update_wrapper
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

WAYS = ("background", "wait", "never")  # in which an agent and a short play get compiled code


def _way_of(environment: Mapping[str, str]) -> str:
    """Return the way that LEWA_COMPILE asks for; "never" where Numba's own switch is off."""
    if environment.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "never"
    way = environment.get("LEWA_COMPILE") or "background"
    if way not in WAYS:
        raise ValueError(f"LEWA_COMPILE must be one of {', '.join(WAYS)}, got {way!r}")
    return way


WAY = _way_of(os.environ)
DISABLED = WAY == "never"  # nothing is ever compiled
# Sums may be reassociated (so that they vectorise) and fused; NaN and infinity keep their meaning.
SUMS = {"reassoc", "contract", "nsz"}
# A rule divides like NumPy and counts no references, which costs more than the arithmetic at K = 10: so it may not allocate.
OPTIONS: dict[str, object] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
INLINE: dict[str, object] = {**OPTIONS, "fastmath": SUMS, "forceinline": True}  # of a rule
EXACT: dict[str, object] = {**INLINE, "fastmath": {"contract"}}

_waiting: list[Callable[[], object]] = []  # what the compiler has to learn before it compiles
_numba: list[Any] = []  # the compiler, once it is imported
_learning = RLock()  # a thread may import the compiler while another one imports rules


def before_compiling(teach: F) -> F:
    """Call a function before anything is compiled: now, if the compiler is there, or when it is first needed."""
    with _learning:
        if _numba:
            teach()
        else:
            _waiting.append(teach)
    return teach


def compiler() -> Any:
    """Import Numba, and let it learn of all rules."""
    if not _numba:
        with _learning:
            import numba
            import numba.extending

            while _waiting:
                _waiting.pop(0)()
            _numba[:] = [numba]
    return _numba[0]


def compiled_as(function: Callable[..., object], write: Callable[..., object], **options: Any) -> None:
    """Let compiled code that calls a function run the one that `write` returns for the types of the arguments."""

    def teach() -> None:
        from numba.extending import overload

        overload(function, strict=False, **options)(write)

    if not DISABLED:
        before_compiling(teach)


def _register(function: F, options: dict[str, object], called: Callable[..., object] | None = None) -> F:
    """Let compiled code that calls a function, or the one that is `called` in its place, run its compiled form."""
    compiled_as(called or function, lambda *arguments, **named: function, jit_options=options)
    return function


def rule(function: F) -> F:
    """Compile a piece of a learner's rule: inlined where it is called, working in place, allocating nothing."""
    return _register(function, INLINE)


def exact(function: F) -> F:
    """Like `rule`, but the order of operations is kept: reassociation would undo the rounding trick in `exp`."""
    return _register(function, EXACT)


def routine(function: F) -> F:
    """Like `rule`, but called, not inlined: for long functions, which would be compiled again at every call site."""
    return _register(function, {**INLINE, "forceinline": False})  # unless it is said, it is inherited


def or_plain(plain: F, options: dict[str, object] = INLINE) -> Callable[[F], F]:
    """Let Python call a function in place of a rule that it runs more slowly, with the same result to the last bit."""

    def choose(function: F) -> F:
        _register(function, options, called=plain)
        setattr(plain, "py_func", function)  # noqa: B010 (the rule, for those who look for its code)
        plain.__doc__ = function.__doc__
        return plain

    return choose


class Program(Generic[P, R]):
    """A function that Python calls: compiled, or as it is written.

    One with a `twin`, which gives the same bits by NumPy, is compiled only where the compiler is there for something else.
    """

    def __init__(
        self,
        function: Callable[P, R],
        keep: bool = True,
        alone: bool = True,
        types: str = "",
        twin: Callable[P, R] | None = None,
    ) -> None:
        self.py_func, self._options, self.types, self._twin = function, (keep, alone), types, twin
        self.name: str = getattr(function, "__qualname__", "")
        update_wrapper(self, function)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Call the compiled function; the first call compiles it, or reads it from the disk."""
        if self._twin is not None and not _numba:
            return self._twin(*arguments, **named)
        return self.compiled(*arguments, **named)

    @cached_property
    def compiled(self) -> Callable[P, R]:
        """The compiled function."""
        return compile_program(self.py_func, *self._options)

    def __reduce__(self) -> str:
        """Pickle it by its name."""
        return self.name

    def load(self) -> None:
        """Compile it, or read it from the disk, before it is called."""
        load_program(self.compiled, self.types)

    def run(self, compiled: bool) -> Callable[P, R]:
        """Return the compiled function, or the one that is written."""
        return self.compiled if compiled else self.py_func


def program(function: Callable[P, R], keep: bool = True, alone: bool = True, types: str = "") -> Program[P, R]:
    """Compile a function that Python calls, when it is first called; see `compile_program`.

    `types` are those of the arguments, if it is to be compiled before a call, as Numba writes them.
    """
    return Program(function, keep, alone, types)


def program_or(twin: Callable[P, R]) -> Callable[[Callable[P, R]], Program[P, R]]:
    """Compile a function that Python calls, if the compiler is there; else call its twin, which gives the same bits."""
    return lambda function: Program(function, twin=twin)


def compile_program(function: F, keep: bool = True, alone: bool = True) -> F:
    """Return a compiled function: it lets other threads run if it can be left `alone`, and is kept on disk.

    What is kept is compiled anew when the function's own file changes, and only then: a function that calls into other
    files needs a stamp of them in its name (see engine/compile.py).
    """
    if DISABLED:
        return function
    options = {**OPTIONS, "fastmath": SUMS, "nogil": alone}
    numba = compiler()
    if keep:
        with suppress(RuntimeError):  # no directory can be written to: compile in every process
            cached: F = numba.njit(function, cache=True, **options)
            _ease(cached)
            return cached
    made: F = numba.njit(function, **options)
    return made


def load_program(compiled: Callable[..., object], types: str) -> None:
    """Compile a function for these types of arguments, or read it from the disk, before it is called."""
    made: Any = compiled
    made.compile(types)


def _ease(cached: Any) -> None:
    """Read a program from the disk without the modules of the compiler, and run it if the disk is full.

    Before Numba reads, it imports everything that it can compile, and SciPy's linear algebra. That takes half a second, and
    machine code on the disk needs none of it. Compiling still imports it.
    """
    cache = cached._cache
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
