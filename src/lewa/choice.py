"""Choose a learner for "auto", if the user names none.

There are two goals:

- "practice": the learner that did best on the data of docs/data.md for this kind of feedback, with or without a theorem. It
  meets its constraints, follows change and needs no horizon;
- "proved": the learner with the smallest proved bound for these numbers, as `lewa.advise` ranks them; the same as "practice"
  if there is no theorem. With the features of a context it is the one learner whose theorem covers them.

Without a horizon "proved" may choose NAME+doubling, which restarts in epochs. With `restarts=False` such a learner is not
chosen, because it forgets what it learned: the choice is the best of the others or, if there is none, an anytime learner of
the LEWA family. Late answers have other bounds: `choose_for_late_answers`.

An agent, `lewa replay` and `lewa frontier` use "practice" by default; an agent never restarts. `lewa play` and
`lewa.play("auto", ...)` use "proved" with full information, in the setting of the game, which a simulation knows, and
"practice" if no theorem covers it: `choose_for_game`. An agent that mixes policies uses a learner for advice:
`choose_mixer`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from lewa import learners
from lewa.advice import Question, advise, rank_all
from lewa.learners.parameter_checks import check_problem
from lewa.theory.guarantees import PROBABLE
from lewa.theory.setting import Setting, most_late
from lewa.validation import as_count, short_repr

GOALS = ("practice", "proved")
FEEDBACK = ("bandit", "full")
EXPONENTS = [0.525 + n / 40 for n in range(19)]  # b in (1/2, 1), which trades regret for violation
ROUNDS = 1_000_000  # at which bounds for late answers are compared where their number is unknown


class LearnerChoice(NamedTuple):
    """A learner by name, with the settings for `learners.make`."""

    name: str
    settings: dict[str, float]

    @property
    def called(self) -> str:
        """The name with its settings, as on the command line."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))


def choose_learner(
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: float | Sequence[float],
    goal: str = "practice",
    restarts: bool = True,
    setting: Setting | None = None,
    features: int = 0,
) -> LearnerChoice:
    """Choose a learner for a goal.

    Parameters
    ----------
    feedback
        "full" if the learner sees every action of a round, "bandit" if it sees only the action drawn.
    actions, horizon, floor
        The number of actions, the number of rounds (None if it is unknown), and one floor per constraint.
    goal
        "practice" or "proved"; see the top of this module.
    restarts
        Whether a learner that restarts in epochs may be chosen without a horizon; only for "proved".
    setting
        The assumptions about the game; only for "proved".
    features
        The number of features of the context; 0 without a context. A context needs bandit feedback.

    >>> choose_learner("bandit", 10, 100_000, 0.6)
    LearnerChoice(name='squarecb-lewa', settings={})
    >>> choose_learner("full", 10, None, 0.6, goal="proved", restarts=False)
    LearnerChoice(name='anytime-op-ewa', settings={'epsilon': 1e-06})
    >>> choose_learner("bandit", 10, 100_000, 0.6, goal="proved", features=8)
    LearnerChoice(name='proved-squarecb-lewa', settings={})
    """
    if not isinstance(feedback, str) or feedback not in FEEDBACK:
        raise ValueError(f"feedback must be 'bandit' or 'full', got {short_repr(feedback)}")
    if not isinstance(goal, str) or goal not in GOALS:
        raise ValueError(f"goal must be 'practice' or 'proved', got {short_repr(goal)}")
    practice = LearnerChoice(learners.first_choice("practice", feedback, horizon), {})
    if goal == "proved" and features and feedback == "bandit":
        return LearnerChoice(learners.first_choice("contexts", feedback, horizon), {})
    if goal == "proved":
        floors = tuple(floor) if isinstance(floor, Sequence) else (floor,)
        best = _least_bound(feedback, actions, horizon, floors, restarts, setting or Setting())
        if best is None and horizon is None and not restarts:
            return LearnerChoice(learners.first_choice("bounds", feedback, None), {})
        return best or practice
    return practice


def least_bound_beside(
    name: str,
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: Sequence[float],
    restarts: bool = True,
    features: int = 0,
) -> LearnerChoice | None:
    """Return the learner with the smallest proved bound, to be named together with one that measurements chose.

    None for other learners, and if nothing is proved about any learner for these numbers.

    >>> least_bound_beside("squarecb-lewa", "bandit", 10, None, [0.6], restarts=False)
    LearnerChoice(name='anytime-loss-lewa', settings={})
    """
    if name not in learners.chosen_for("practice", feedback):
        return None
    if features and feedback == "bandit":
        return LearnerChoice(learners.first_choice("contexts", feedback, horizon), {})
    return _least_bound(feedback, actions, horizon, tuple(floor), restarts, Setting())


def describe_unproved(
    name: str, feedback: str, actions: int, horizon: int | None, floor: Sequence[float], features: int = 0
) -> str:
    """Return what is proved about a learner that measurements chose, and which learner has the smallest bound; else ""."""
    if name not in learners.chosen_for("practice", feedback):
        return ""
    least = least_bound_beside(name, feedback, actions, horizon, floor, features=features)
    if least is None:
        beside = "no learner has one for these numbers"
    else:
        beside = f"{least.called} has the smallest proved bound (goal: proved)"
    return f"chosen by measurements; no bound is proved for it; {beside}"


@lru_cache(maxsize=256)
def _least_bound(
    feedback: str, actions: int, horizon: int | None, floor: tuple[float, ...], restarts: bool, setting: Setting
) -> LearnerChoice | None:
    if horizon is None and not restarts:
        numbers = (feedback, actions, None, check_problem(actions, 1, floor)[2])
        ranked = rank_all(Question(*numbers, every_round=False, strict=False, safe=None, setting=setting), restarts=False)
        return LearnerChoice(ranked[0].name, ranked[0].settings) if ranked else None
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
    return LearnerChoice(advice.learner.name, advice.learner.settings) if advice.ranked else None


def choose_for_game(actions: int, rounds: int, floor: Sequence[float], setting: Setting) -> LearnerChoice:
    """Choose a learner with full information for a game: the smallest bound in its setting, or "practice" without one.

    Other facts of the game, such as its slack, are not used, because a user of the learner would not know them.
    """
    if setting.constraints == "arbitrary" or setting.outside_theory:
        return choose_learner("full", actions, rounds, floor)
    known = Setting(setting.constraints, setting.adversary, corruption=setting.corruption)
    return choose_learner("full", actions, rounds, floor, goal="proved", setting=known)


def choose_mixer(feedback: str, horizon: int | None) -> str:
    """Return the learner that mixes the advice of policies."""
    return learners.first_choice("policies", feedback, horizon)


def choose_for_late_answers(
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: float | Sequence[float],
    delay: int,
    others: Mapping[str, object] | None = None,
) -> LearnerChoice:
    """Choose the learner with the smallest proved bound for late answers, by the larger of regret and violation.

    Answers are late by at most `delay` decisions; the learner must have the settings `others`.

    >>> choose_for_late_answers("bandit", 10, None, 0.6, delay=20)
    LearnerChoice(name='late-anytime-loss-lewa', settings={})
    >>> choose_for_late_answers("bandit", 2, 1_000_000, 0.6, delay=1).called
    'loss-lewa delay=1 b=0.68'
    """
    T, d, settings = ROUNDS if horizon is None else horizon, as_count("delay", delay, least=0), dict(others or {})
    late, foreseen = most_late(T, d), {"delay": float(d)}
    known = {name: set(learners.settings_of(name)) for name in learners.chosen_for("bounds", feedback)}
    theorems = {name: learners.find(name).theorems for name in known}
    late_too = [
        name for name, each in theorems.items() if "delay" in known[name] and each is not None and each.late is not None
    ]
    anytime = [name for name in late_too if not learners.needs_horizon(name)]
    names = [name for name in (late_too if horizon else anytime) if set(settings) <= known[name]]
    if not names:
        unknown = "" if horizon else " and without a horizon"
        raise ValueError(
            f"no learner for {feedback} feedback{unknown} has a bound for late answers with the setting "
            f"{', '.join(settings)}{'' if horizon else ': pass horizon=...'}"
        )

    def size(choice: LearnerChoice) -> float:
        try:
            learner = learners.make(choice.name, actions, T, floor, **{**settings, **choice.settings})
        except ValueError:  # some settings cannot be combined
            return inf
        epsilon = settings.get("epsilon")
        setting = Setting(delays=late, epsilon=epsilon if isinstance(epsilon, int | float) else None)
        proved = [item for item in learner.guarantees(actions, T, setting) if item.regret is not None]
        proved = [item for item in proved if (item.kind == PROBABLE) == (setting.epsilon is not None)]
        return min((max(item.regret or 0.0, *(item.violation or ())) for item in proved), default=inf)

    choices = [LearnerChoice(name, {}) for name in names if name in anytime]
    choices += [LearnerChoice(name, foreseen) for name in names]
    free = [name for name in names if "b" in known[name] and "b" not in settings]
    choices += [LearnerChoice(name, {**foreseen, "b": b}) for name in free for b in EXPONENTS]
    best = min(choices, key=size)
    b = best.settings.get("b", 0.5)
    near = [round(b + n / 200, 4) for n in range(-4, 5) if best.name in free and 0.5 <= b + n / 200 < 1]
    return min([best, *(LearnerChoice(best.name, {**foreseen, "b": x}) for x in near)], key=size)
