"""What "auto" means: the one function that chooses a learner where the user names none.

Two goals, and one restriction:

- "practice": what did best on the data of docs/data.md for this kind of feedback, whatever is proved of it. It keeps its
  constraints, follows change and needs no horizon;
- "proved": the learner with the least proved bound for these numbers, as `lewa.advise` ranks them; where nothing is proved,
  the same as "practice".

Without a horizon "proved" may choose NAME+doubling, which starts afresh in epochs. With `restarts=False` such a learner is
not chosen, since it forgets what it was taught: the best of the others is taken, and where there is none, an anytime learner
of LEWA's family.

With a `delay`, "proved" takes the least bound that holds with answers that are so many decisions late.

An agent, `lewa replay` and `lewa frontier` ask for "practice" unless they are told otherwise; an agent never restarts.
`lewa play` asks for "proved" in the setting of the game, which a simulation knows, and for "practice" where no
theorem is about it.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from lewa import learners
from lewa.advice import IF_UNKNOWN, PRACTICE, advise
from lewa.theory.delayed import Delays
from lewa.theory.guarantees import Setting
from lewa.validation import as_count, short_repr

GOALS = ("practice", "proved")
ANYTIME = {"bandit": "anytime-bandit-lewa", "full": "anytime-lewa"}  # need no horizon and never start afresh


class LearnerChoice(NamedTuple):
    """A learner by name, with the settings for `learners.make`."""

    name: str
    settings: dict[str, float]

    @property
    def called(self) -> str:
        """The name with its settings, as a user writes them."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))


def choose_learner(
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: float | Sequence[float],
    goal: str = "practice",
    restarts: bool = True,
    setting: Setting | None = None,
    delay: int = 0,
) -> LearnerChoice:
    """Choose a learner for a goal.

    Parameters
    ----------
    feedback : "full" or "bandit"
        What a learner sees of a round: every action, or the action drawn.
    actions, horizon, floor
        The number of actions, the number of rounds (None if it is unknown), and one floor per constraint.
    goal : "practice" or "proved"
        What the choice is for; see the top of this module.
    restarts : bool
        Whether a learner that starts afresh in epochs may be chosen where there is no horizon; "proved" only.
    setting : Setting, optional
        The assumptions about the game; only for "proved".
    delay : int
        The most decisions by which answers are late, if they are; only for "proved".

    >>> choose_learner("bandit", 10, 100_000, 0.6)
    LearnerChoice(name='squarecb-lewa', settings={})
    >>> choose_learner("full", 10, None, 0.6, goal="proved", restarts=False)
    LearnerChoice(name='anytime-op-ewa', settings={'epsilon': 1e-06})
    >>> choose_learner("bandit", 10, None, 0.6, goal="proved", delay=20)
    LearnerChoice(name='late-bandit-lewa', settings={})
    """
    if not isinstance(feedback, str) or feedback not in PRACTICE:
        raise ValueError(f"feedback must be 'bandit' or 'full', got {short_repr(feedback)}")
    if not isinstance(goal, str) or goal not in GOALS:
        raise ValueError(f"goal must be 'practice' or 'proved', got {short_repr(goal)}")
    if goal == "proved":
        floors = tuple(floor) if isinstance(floor, Sequence) else (floor,)
        if as_count("delay", delay, least=0):
            return _least_late_bound(feedback, actions, horizon, floors, delay)
        return _least_bound(feedback, actions, horizon, floors, restarts, setting or Setting())
    return LearnerChoice(*PRACTICE[feedback])


@lru_cache(maxsize=256)
def _least_bound(
    feedback: str, actions: int, horizon: int | None, floor: tuple[float, ...], restarts: bool, setting: Setting
) -> LearnerChoice:
    advice = advise(
        feedback,
        actions,
        horizon,
        floor,
        constraints=setting.constraints,
        epsilon=setting.epsilon,
        slater=setting.slater,
        corruption=setting.corruption,
        adversary=setting.adversary,
    )
    if horizon is not None or restarts:
        return LearnerChoice(advice.learner.name, advice.learner.settings)
    for choice in advice.ranked:
        if not choice.name.endswith("+doubling"):
            return LearnerChoice(choice.name, choice.settings)
    return LearnerChoice(ANYTIME[feedback], {})


def _least_late_bound(
    feedback: str, actions: int, horizon: int | None, floor: tuple[float, ...], delay: int
) -> LearnerChoice:
    """Return the learner with the least of the larger of regret and violation where each answer is so late."""
    T = IF_UNKNOWN if horizon is None else horizon
    late = Delays(delay * T, 2 * delay, 2 * delay, delay + 1)
    least, best = inf, None
    for choice in _for_late_answers(feedback, horizon, delay):
        learner = learners.make(choice.name, actions, T, floor, **choice.settings)
        for statement in learner.late_guarantees(actions, T, late):
            if statement.regret is not None and (size := max(statement.regret, *(statement.violation or ()))) < least:
                least, best = size, choice
    return best or next(_for_late_answers(feedback, horizon, delay))


def _for_late_answers(feedback: str, horizon: int | None, delay: int) -> Iterator[LearnerChoice]:
    """Name the learners that have a theorem for late answers, with the settings that it may take."""
    if feedback == "bandit":
        yield LearnerChoice("late-bandit-lewa", {"delay": delay})
        yield LearnerChoice("late-bandit-lewa", {})
    if horizon is not None:
        yield LearnerChoice("loss-bandit-lewa" if feedback == "bandit" else "lewa", {"delay": delay})
    elif feedback == "full":
        raise ValueError("with full information a proved bound for late answers needs a horizon, got horizon=None")
