"""The theorems about a learner, by what is asked: answers at once, late answers, a learner that has learned before."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lewa.theory.guarantees import Statements as Statements
from lewa.theory.guarantees import none, one_action
from lewa.theory.setting import Delays, Setting, Start
from lewa.types import State, Vector

Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
LARGEST_ENTROPY = 1e300  # of a play whose probabilities are unknown


class Theorems(NamedTuple):
    """What is proved about a learner. Each theorem takes the learner, K and T first; the best statement is first."""

    at_once: Callable[[Any, int, int, Setting], Statements]  # answers that come before the next decision
    late: Callable[[Any, int, int, Delays], Statements] | None = None  # late answers
    probable: Callable[[Any, int, int, Delays, float], Statements] | None = None  # the same, with probability 1 - epsilon
    changed: Callable[[Any, int, int, Delays, Start], Statements] | None = None  # from a start that is not a new learner's
    begin: Callable[[Any, State, Flags, Start], Start] | None = None  # what `changed` needs of the state at the start
    errors: Callable[[Any, State], tuple[float, ...]] | None = None  # the largest errors of reserves so far
    certificate: Callable[[Any, State], Vector | None] | None = None  # a bound on the shortfall of answers, on every path
    sure: Callable[[Any], tuple[int, float] | None] | None = None  # an action and its slack, if the theorem assumes them
    trivial: bool = True  # whether `at_once` is asked about several actions only: one alone is the best play

    def state(self, learner: Any, actions: int, rounds: int, setting: Setting) -> Statements:
        """Return the statements in this setting, the best first; theorems without a bound stand last."""
        if setting.start is not None:
            return () if self.changed is None else self.changed(learner, actions, rounds, setting.late, setting.start)
        if setting.delays is None:
            if self.trivial and actions == 1:
                return one_action(learner.floor)
            return self.at_once(learner, actions, rounds, setting)
        expected = () if self.late is None else self.late(learner, actions, rounds, setting.delays)
        if self.probable is None or setting.epsilon is None:
            return expected
        probable = self.probable(learner, actions, rounds, setting.delays, setting.epsilon)
        proved = tuple(item for item in probable if item.regret is not None)
        return (*proved, *expected, *(item for item in probable if item.regret is None))


def nothing_proved(source: str, reason: str, trivial: bool = False) -> Theorems:
    """Return the theorems of a learner of which nothing is proved, with the reason; of one action nothing is said either."""
    return Theorems(lambda *problem: (none(source, reason),), trivial=trivial)
