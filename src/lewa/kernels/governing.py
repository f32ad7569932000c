"""The rule of the governor: when a safe action has to be played, and the change of the debts in a round.

The debt of a constraint is what the rounds missed of its floor, less what they exceeded it by. An agent's governor has debts
in the user's units, as lists; the wrapper `+governed` has them in [0, 1], as arrays. Both ask here.
"""

from collections.abc import Sequence
from typing import Any

from lewa.feedback import Bandit, Full
from lewa.kernels.jit import INLINE, compiled_as, rule
from lewa.types import Vector


def exceeds(debt: Sequence[float] | Vector, worst: Sequence[float] | Vector, bound: Sequence[float] | Vector) -> bool:
    """Return whether one more round at its worst would take some debt beyond its bound."""
    for j in range(len(debt)):  # noqa: SIM110 (Numba compiles no generator)
        if debt[j] + worst[j] > bound[j]:
            return True
    return False


calls_for_safety = rule(exceeds)  # the same, for rules that are compiled


def book(debt: Vector, floor: Vector, seen: Full | Bandit) -> None:
    """debt <- debt + c0 - x, with x the constraint of the play, or of the action drawn with bandit feedback."""
    (_book_play if isinstance(seen, Full) else _book_action)(debt, floor, seen)


def _book_play(debt: Vector, floor: Vector, seen: Any) -> None:
    for j in range(debt.size):
        debt[j] += floor[j] - seen.met[j]


def _book_action(debt: Vector, floor: Vector, seen: Any) -> None:
    for j in range(debt.size):
        debt[j] += floor[j] - seen.constraints[j]


compiled_as(book, lambda debt, floor, seen: _book_play if seen.instance_class is Full else _book_action, jit_options=INLINE)


@rule
def play_one(p: Vector, action: int) -> None:
    """p <- 1 for that action, and 0 for the others"""
    for i in range(p.size):
        p[i] = 0.0
    p[action] = 1.0
