"""Explain in one sentence why a rule does not compile."""

import re
from collections.abc import Callable
from functools import wraps
from linecache import getline
from pathlib import Path
from typing import TypeVar

F = TypeVar("F")
PACKAGE = str(Path(__file__).parents[1])
METHODS = ("play", "choose", "charge", "learn", "release")
RULE = "a compiled rule allocates nothing and calls only lewa.kernels and math"
LONGEST = 160  # letters of a reason


class NotCompiledError(ValueError):
    """A learner's rule does not compile."""


def explained(function: F, learner: type) -> F:
    """Return the compiled function; if it does not compile, its first call raises an error of one sentence."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    compile_for = getattr(function, "_compile_for_args", None)  # what Numba calls for types that are new
    if compile_for is not None:

        @wraps(compile_for)
        def attempt(*arguments: object, **named: object) -> Callable[..., object]:
            try:
                return compile_for(*arguments, **named)  # type: ignore[no-any-return]
            except (NumbaError, UnsupportedBytecodeError, NotImplementedError) as error:
                raise NotCompiledError(why_not_compiled(error, learner)) from None

        function._compile_for_args = attempt  # type: ignore[attr-defined]
    return function


def why_not_compiled(error: Exception, learner: type) -> str:
    """Return the class and the method that Numba rejects, the line, the reason, and how to run the rule uncompiled."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    place, method = _place(text, learner), re.search(r"function (play|choose|charge|learn|release)", text)
    where, at = (method[1] if method else "", "") if place is None else place
    path = f"{learner.__module__}:{learner.__qualname__}"
    return (
        f"the rule of {path} does not compile{f', method {where}' if where else ''}{at}: {_reason(text)}; {RULE}. "
        "With `compiled = False` in the class it runs as plain Python, slowly"
    )


def _place(text: str, learner: type) -> tuple[str, str] | None:
    """Return the method and the line of the rule that Numba rejects, if the message has them, from the innermost call."""
    places = re.findall(r"([^\s\"]+\.py) \((\d+)\)", text) + re.findall(r"File \"([^\"]+\.py)\", line (\d+)", text)
    rules = {name: getattr(learner, name).__code__ for name in METHODS if hasattr(getattr(learner, name, None), "__code__")}
    for file, number in places:
        for name, code in rules.items():
            ends = [line for _, _, line in code.co_lines() if line is not None]
            if Path(file).name == Path(code.co_filename).name and code.co_firstlineno <= int(number) <= max(ends):
                return name, f", line {number}, `{getline(code.co_filename, int(number)).strip()}`"
    for file, number in places:
        if Path(file).is_absolute() and not file.startswith((PACKAGE, str(Path(re.__file__).parents[1]))):
            return "", f", line {number} of {Path(file).name}, `{getline(file, int(number)).strip()}`"
    return None


def _reason(text: str) -> str:
    """Return the first reason that is about the rule, not about the functions that call it."""
    lines = [line.strip() for line in text.splitlines()]
    after = [line for before, line in zip(["(step:", *lines], lines, strict=False) if "(step:" in before]
    ours = re.compile(rf"Function\(<function ({'|'.join(METHODS)}|see_context)\b")
    reasons = [line for line in after if line and "(step:" not in line and not ours.search(line)]
    reason = (reasons or lines)[0].partition(" Raised from ")[0].rstrip(".:")
    missing = re.search(r"No implementation of function Function\(<(?:.*?)(?:function|intrinsic) ([\w.]+)", reason)
    reason = f"Numba has no {missing[1]} for these arguments" if missing else reason
    return reason if len(reason) <= LONGEST else f"{reason[:LONGEST]}..."
