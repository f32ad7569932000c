"""Run hostile cases in this process: `make fuzz`, or `python -m tests.fuzz.run --cases 10000 --seed 0 [--only N]`.

A case is a function of the seed and its number. It fails if a command ends in a traceback, in a status other than 0 and 2
(`lewa check` and `lewa journal verify` may end in 1), in more than one line on standard error with status 2, or in JSON with
NaN or Infinity; if a call in Python ends in an error that no sentence of this package says, or, refused, changes what it was
called on; and if either takes longer than PATIENCE.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from tests.fuzz import calls, commands

import lewa
from lewa import cli

PATIENCE = 60.0  # seconds
MEMORY = 8 << 30  # bytes that a case may ask for on top
PACKAGE = str(Path(lewa.__file__).parent)
# Places with faults that are known and not yet mended: they are shown, and do not fail. It is to be empty.
OPEN: tuple[str, ...] = ()


class Hang(BaseException):
    """A case took too long."""


class Fault(NamedTuple):
    """What went wrong, and where."""

    number: int
    case: str
    what: str
    where: str


def run_case(seed: int, number: int) -> Fault | None:
    """Run one case in a folder of its own."""
    rng = Random(f"{seed}:{number}")
    home, folder = Path.cwd(), Path(tempfile.mkdtemp(prefix="lewa-fuzz-"))
    try:
        os.chdir(folder)
        case: calls.Call | commands.Command
        if rng.random() < 0.3:
            case = calls.make(rng, folder)
            what = _in_time(lambda: _call(case))
        else:
            case = commands.make(rng, folder, number)
            what = _in_time(lambda: _command(case))
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)
    if what is None:
        return None
    where = what[1] or f"lewa {case.words[0] if isinstance(case, commands.Command) and case.words else ''}"
    return Fault(number, str(case), what[0], where)


def _in_time(go: Any) -> tuple[str, str] | None:
    """Run with a limit of time; return what went wrong, and where."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        return go()  # type: ignore[no-any-return]
    except Hang as error:
        return f"took more than {PATIENCE:g} s", _place(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _place(error: BaseException) -> str:
    """Return the innermost line of this package."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]
    return f"{Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].lineno} {frames[-1].name}" if frames else "outside"


def _strict(text: str) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} in JSON")

    json.loads(text, parse_constant=refuse)


@contextlib.contextmanager
def _quiet() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    path, argv, modules = list(sys.path), sys.argv, set(sys.modules)
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.path[:], sys.argv = path, argv
        for name in [name for name in sys.modules if name.startswith("fuzz_") and name not in modules]:
            del sys.modules[name]


def _command(case: Any) -> tuple[str, str] | None:
    with _quiet() as (out, err):
        sys.argv = ["lewa", *case.words]
        status: object = None
        try:
            cli.main()
        except SystemExit as end:
            status = end.code
        except Hang:
            raise
        except BaseException as error:
            return f"traceback: {type(error).__name__}: {str(error)[:160]}", _place(error)
    former = "warning: --"  # an option was called by its former name
    lines = [line for line in err.getvalue().splitlines() if line.strip() and not line.startswith(former)]
    words = case.words[1:] if case.words[:1] == ["--"] else case.words
    asks_nothing = words in ([], ["keys"], ["journal"])  # the answer is the help
    answers_no = words[:1] == ["check"] or words[:2] == ["journal", "verify"]
    if status not in ((0, 1, 2) if answers_no else (0, 2)):
        return f"status {status}: {' / '.join(lines)[:200]}", ""
    if "Traceback" in err.getvalue():
        return f"a traceback on standard error: {lines[-1][:200]}", ""
    if status == 2 and len(lines) > 1 and not asks_nothing:
        return f"{len(lines)} lines on standard error: {' / '.join(lines)[:200]}", ""
    if status == 2 and not lines and not out.getvalue():
        return "status 2 without a word", ""
    if status == 0 and "--json" in case.words and "--help" not in case.words and out.getvalue():
        try:
            _strict(out.getvalue())
        except ValueError as error:
            return f"--json: {error}: {out.getvalue()[:80]!r}", ""
    return None


def _call(case: Any) -> tuple[str, str] | None:
    before = case.state()
    with _quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.call()
        except Hang:
            raise
        except BaseException as error:
            if case.state() != before:
                return f"refused ({str(error)[:120]}), and changed what it was called on", _place(error)
            what = _is_no_sentence(error)
            if what is not None:
                return what, _place(error)
    return None


def _is_no_sentence(error: BaseException) -> str | None:
    """Why an error is no sentence of this package: it was not raised here on purpose, or has several lines."""
    what = f"{type(error).__name__}: {str(error)[:160]!r}"
    if isinstance(error, OSError):
        return None
    if not isinstance(error, ValueError | TypeError):
        return what
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not last.filename.startswith(PACKAGE) or not (last.line or "").startswith("raise "):
        return f"{what} from {Path(last.filename).name}"
    return f"{what}: several lines" if "\n" in str(error).strip() else None


def run_cases(cases: int, seed: int, first: int = 0, progress: bool = False) -> list[Fault]:
    """Run the cases `first`, `first` + 1, ... of a seed and return their faults."""
    limit = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc").is_dir() else 0
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limit[1]))
    faults, start = [], time.monotonic()
    try:
        with np.errstate(all="ignore"):  # streams wrap around where nothing is compiled
            for number in range(first, first + cases):
                fault = run_case(seed, number)
                faults += [fault] if fault is not None else []
                if progress and (number + 1 - first) % 500 == 0:
                    print(f"{number + 1 - first} cases, {len(faults)} faults, {time.monotonic() - start:.0f} s", flush=True)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    return faults


def summary(faults: list[Fault]) -> str:
    """Return the faults by place, the most frequent first, each with its first case."""
    places: dict[str, list[Fault]] = {}
    for fault in faults:
        places.setdefault(fault.where, []).append(fault)
    return "\n".join(
        f"{len(each)} x {where}\n    {each[0].what}\n    case {each[0].number}: {each[0].case}"
        for where, each in sorted(places.items(), key=lambda item: -len(item[1]))
    )


def main() -> int:
    """Run the cases that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone")
    given = parser.parse_args()
    if given.only is not None:
        with np.errstate(all="ignore"):
            fault = run_case(given.seed, given.only)
        print(fault or "no fault")
        return fault is not None
    faults = run_cases(given.cases, given.seed, given.first, progress=True)
    new = [fault for fault in faults if not fault.where.startswith(OPEN)]
    print(summary(faults))
    print(f"{given.cases} cases of seed {given.seed}, {len(faults)} faults, {len(new)} of them new")
    return bool(new)


if __name__ == "__main__":
    sys.exit(main())
