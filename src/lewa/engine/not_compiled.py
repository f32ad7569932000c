"""Explain in one sentence why a rule does not compile."""

from collections.abc import Iterator
from contextlib import contextmanager
from linecache import getline
from pathlib import Path
from re import findall

from numba.core.errors import NumbaError

PACKAGE = str(Path(__file__).parents[1])


def why_not_compiled(error: NumbaError, learner: type) -> str:
    """Return the line of the rule that Numba rejects, and what a rule may contain."""
    rule = learner.learn.__code__.co_filename  # type: ignore[attr-defined]
    places = findall(r"([^\s\"]+\.py) \((\d+)\)", str(error))  # where, the innermost call first
    at = [place for place in places if place[0] == rule] or [place for place in places if not place[0].startswith(PACKAGE)]
    where = f"line {at[0][1]}, `{getline(at[0][0], int(at[0][1])).strip()}`" if at else str(error)
    return f"the rule does not compile: {where}; it may allocate nothing and call only lewa.kernels and math"


@contextmanager
def in_a_sentence(learner: type) -> Iterator[None]:
    """Turn the error of a rule that does not compile into one sentence."""
    try:
        yield
    except NumbaError as error:
        raise ValueError(why_not_compiled(error, learner)) from None
