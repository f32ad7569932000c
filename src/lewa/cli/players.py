"""Make the learners that a command line names, with their settings; `lewa.choice` chooses for `auto`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lewa import learners
from lewa.choice import LearnerChoice, choose_for_game, choose_learner, describe_unproved
from lewa.cli.options import Values
from lewa.cli.shared import remark
from lewa.feedback import feedback_kind
from lewa.learners import Learner
from lewa.theory.setting import Setting
from lewa.validation import nearest


class Problem(NamedTuple):
    """The problem that the learners are made for."""

    actions: int
    rounds: int
    floor: Sequence[float]
    feedback: str | None = None  # "full" or "bandit"; None: the feedback that each learner needs
    setting: Setting | None = None  # the setting of a game; None for data, whose setting is unknown
    goal: str = "practice"  # the goal of `auto`, for data
    features: int = 0  # the number of features of the game's contexts
    policies: int = 0  # the number of policies whose advice the contexts contain


def make_learners(
    names: Iterable[str], problem: Problem, values: Values, others: Mapping[str, list[str]] | None = None
) -> dict[str, Learner]:
    """Return the learners by name. A setting goes to each learner that has it; `others` has the settings of the game."""
    advice: dict[str, dict[str, float]] = {}
    if "auto" in names:
        choice = _choose(problem)
        advice[choice.name] = choice.settings
        names = [choice.name if name == "auto" else name for name in names]
        remark(f"auto: {choice.called}{_beside(choice, problem)}")
    known = {name: learners.settings_of(name) for name in names}
    check_names(values, {**(others or {}), **known})
    players = {}
    for name, settings in known.items():
        needs = feedback_kind(learners.find(name)).observes
        if problem.feedback not in (None, needs):
            raise ValueError(f"{name} needs {needs} feedback and cannot learn from {problem.feedback} feedback")
        in_context = learners.settings_in_context(name, problem.features, problem.policies)
        if problem.features and not in_context:
            remark(f"{name} cannot use a context and plays without it")
        chosen = {**advice.get(name, {}), **in_context, **{key: value for key, value in values.items() if key in settings}}
        players[name] = learners.make(name, problem.actions, problem.rounds, problem.floor, **chosen)
    return players


def check_names(values: Values, known: Mapping[str, list[str]]) -> None:
    """Raise ValueError for an unknown setting, and suggest the nearest name."""
    every = sorted(set().union(*known.values()))
    for key in values:
        if key not in every:
            raise ValueError(f"{' or '.join(known)} has no parameter {key!r}{nearest(key, every)}")


def _choose(problem: Problem) -> LearnerChoice:
    """Choose the learner with the best bound for a game; for data, whose setting is unknown, the best in practice."""
    if problem.setting is not None:
        return choose_for_game(problem.actions, problem.rounds, problem.floor, problem.setting)
    numbers, features = (problem.actions, problem.rounds, problem.floor), _own_features(problem)
    return choose_learner(problem.feedback or "full", *numbers, goal=problem.goal, features=features)


def _own_features(problem: Problem) -> int:
    """Return the number of features for regressions; the advice of policies is not among them."""
    return 0 if problem.policies else problem.features


def _beside(choice: LearnerChoice, problem: Problem) -> str:
    """Return the remark for a choice by measurements: its bound, and the learner with the smallest bound."""
    numbers = (problem.actions, problem.rounds, problem.floor)
    text = describe_unproved(choice.name, problem.feedback or "full", *numbers, features=_own_features(problem))
    return f", {text}" if text else ""
