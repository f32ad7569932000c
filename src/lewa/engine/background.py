"""Compile what an agent runs while it decides by plain Python, so that nobody waits for a compiler.

Where the compiled code is not on the disk yet, a child process with a low priority compiles it and saves it there. A thread
of this process then reads it, and the agent takes it between two decisions (`Session.switch`). A child ends by itself when
it has compiled; it may outlive its parent, so that many short runs fill the disk too. It holds a lock file: several
processes with the same learner start one child.

A thread of this process compiles, more slowly, where a child cannot: where nothing can be saved, where the class was typed
at a prompt, or where the interpreter is part of another program.
"""

import atexit
import hashlib
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Event, RLock, Thread
from typing import IO, Any, TypeAlias

from lewa.engine.compile import load_steps
from lewa.engine.stamp import UNSAVED, stamp_of
from lewa.kernels import compiled_form
from lewa.kernels.jit import DISABLED, WAY, Program
from lewa.learners.base import Learner

AFTER = 100  # decisions of an agent by plain Python after which its code is compiled: a short run needs no compiler
LONGEST = 600.0  # seconds that a child may take, or that another process is waited for
POLL = 0.25  # seconds between two looks at the disk
CHILD = "import sys; sys.path[:] = {path!r}; from lewa.engine import compile_child; compile_child.main()"
COMPILED = ".compiled"  # ends the name of an empty file that says what is on the disk

BUSY = 3  # the exit status of a child where another one is at work
END = object()
Programs: TypeAlias = Sequence[Program[..., Any]]

log = logging.getLogger("lewa")
_loaded: set[type[Learner]] = set()  # whose steps are in memory
_threads: dict[type[Learner], Thread] = {}
_turn = RLock()  # of the thread that imports or reads: a fork or the end of the process waits for it
_ending = Event()


def can_compile(learner: type[Learner]) -> bool:
    """Whether the steps of a learner are ever compiled in this process."""
    return learner.compiled and not DISABLED


def steps_here(learner: type[Learner]) -> bool:
    """Whether compiled steps are to be taken now: nobody waits, or is to wait; one from outside was compiled before."""
    return can_compile(learner) and (WAY == "wait" or learner in _loaded or not learner.__module__.startswith("lewa."))


def load(learner: type[Learner], others: Programs) -> None:
    """Compile the steps of a learner and these programs, or read them from the disk; this may take seconds."""
    for _ in _parts(learner, others):
        pass


def _parts(learner: type[Learner], others: Programs) -> Iterator[None]:
    """Do so in parts that take about a second each where something is compiled."""
    if can_compile(learner):
        yield from load_steps(learner)
        for program in others:
            program.load()
            yield
        _loaded.add(learner)
        mark = mark_of(learner, others)
        if mark is not None:
            with suppress(OSError):  # the disk is full
                mark.touch()


def load_later(learner: type[Learner], others: Programs) -> None:
    """Begin to do the same in the background, once for each learner."""
    if can_compile(learner) and learner not in _threads:
        thread = Thread(target=_load, args=(learner, others), name="lewa compiler", daemon=True)
        _threads[learner] = thread
        thread.start()


def wait_for(learner: type[Learner]) -> None:
    """Wait until the background has compiled a learner, if it was asked to."""
    if learner in _threads:
        _threads[learner].join()


def _load(learner: type[Learner], others: Programs) -> None:
    try:
        _fill_disk(learner, others)
        parts, more = _parts(learner, others), True
        while more and not _ending.is_set():
            with _turn:
                more = not _ending.is_set() and next(parts, END) is not END
    except Exception as error:
        log.warning("%s is not compiled, and goes on as plain Python: %s", learner.__qualname__, error)


def _fill_disk(learner: type[Learner], others: Programs) -> None:
    """Let a child compile what is not on the disk, or wait for the child of another process."""
    mark, until = mark_of(learner, others), time.monotonic() + LONGEST
    order = None if mark is None else _order(mark, learner, others)
    while mark is not None and order is not None and not mark.exists() and time.monotonic() < until:
        if _is_free(mark) and _run_child(order, until) != BUSY:
            return
        if _ending.wait(POLL):
            return


def _order(mark: Path, learner: type[Learner], others: Programs) -> bytes | None:
    """Return what a child is told; None if there can be no child."""
    if getattr(sys, "frozen", False) or "python" not in Path(sys.executable or "").name.lower():
        return None
    try:
        return pickle.dumps((mark, learner, others))
    except (pickle.PicklingError, AttributeError, TypeError):  # a class that has no name in its module
        return None


def _run_child(order: bytes, until: float) -> int | None:
    """Start a child, and wait for its end or for that of this process; return its exit status."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(path=sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LEWA_COMPILE": "wait"},
        creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),  # of Windows; others have `os.nice`
    )
    assert child.stdin is not None  # it is a pipe
    with suppress(OSError), child.stdin:  # the child may have ended already
        child.stdin.write(order)
    while child.poll() is None and time.monotonic() < until and not _ending.wait(POLL):
        pass
    return child.returncode


def mark_of(learner: type[Learner], others: Programs) -> Path | None:
    """Return the file that is there when the compiled code is on the disk; None if nothing can be saved.

    Its name holds what the code depends on. Numba checks that for itself: a wrong mark costs time, and nothing else.
    """
    stamp, folder = stamp_of(compiled_form(learner)), _folder()
    if stamp == UNSAVED or folder is None:
        return None
    files = {__file__, *(sys.modules[program.__module__].__file__ or "" for program in others)}
    sources = [(file, os.stat(file).st_mtime_ns) for file in sorted(files)]
    machine = sys.version, sys.platform, os.uname().machine if hasattr(os, "uname") else "", _processor()
    parts = stamp, sources, machine, version("numba"), version("llvmlite"), [program.name for program in others]
    return folder / f"lewa-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}{COMPILED}"


def _processor() -> str:
    """Return the name of the processor, where it is easy to read."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


def _folder() -> Path | None:
    """Return a folder for marks that can be written to, in the order in which Numba looks for one."""
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    numba = os.environ.get("NUMBA_CACHE_DIR")
    for folder in [Path(numba)] if numba else [Path(__file__).parent / "__pycache__", Path(home) / "lewa"]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def hold(mark: Path) -> IO[bytes] | None:
    """Return the open lock file of a mark, which nobody else holds until it is closed; None if somebody does."""
    file = open(mark.with_suffix(".lock"), "a+b")  # noqa: SIM115 (it stays open while it is held)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of this process alone: a fork does not hold it
    except OSError:
        file.close()
        return None
    return file


def _is_free(mark: Path) -> bool:
    file = hold(mark)
    if file is not None:
        file.close()
    return file is not None


@atexit.register
def _end() -> None:
    """Let no thread import or read while the interpreter takes itself apart."""
    _ending.set()
    if _threads:
        _turn.acquire()


def _in_child() -> None:
    _turn.release()
    for learner in _threads.keys() - _loaded:  # their threads are the parent's
        del _threads[learner]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_in_child)
