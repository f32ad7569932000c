"""The problem of `advise`, the choices among which it selects, and how they are weighed: by the theorems of each learner."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

from lewa import learners
from lewa.learners import Learner
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, PATHWISE, PROBABLE, STILL, Guarantee, applicable, none
from lewa.theory.setting import Setting
from lewa.types import Vector

IF_UNKNOWN = 1_000_000  # the rounds at which bounds are compared where the number of rounds is unknown


class Question(NamedTuple):
    """The arguments of `advise`, after checks."""

    feedback: str  # "full" or "bandit"
    actions: int  # K
    horizon: int | None  # T; None if it is unknown
    floor: Vector  # (m,)  c0
    every_round: bool  # whether the positive violation is to be bounded
    strict: bool  # whether no violation is allowed
    safe: int | None  # the index of a safe action
    setting: Setting  # the assumptions of the theorem

    @property
    def rounds(self) -> int:
        """T, or the number of rounds at which bounds are compared if T is unknown."""
        return IF_UNKNOWN if self.horizon is None else self.horizon

    @property
    def epsilon(self) -> float:
        """The given epsilon, or 1/T, for which a bound also holds on average up to an addition of 1."""
        return self.setting.epsilon or min(1 / self.rounds, 0.5)

    def violation(self, statement: Guarantee) -> tuple[float, ...] | None:
        """Return the bound on the violation in question, net or positive."""
        return statement.positive_violation if self.every_round else statement.violation

    def shares(self, statement: Guarantee) -> list[float]:
        """Return regret/T, then violation/T of each constraint."""
        return [bound / self.rounds for bound in (statement.regret or 0.0, *(self.violation(statement) or ()))]


class Choice(NamedTuple):
    """A learner by name, with the settings for `learners.make`, and its guarantee for these numbers."""

    name: str  # the name of the learner
    settings: dict[str, float]  # its settings
    guarantee: Guarantee  # its guarantee
    share: float | None  # the larger bound of regret/T and violation/T; None without a bound
    single: bool = False  # whether the bound is for single runs: on every path, or with probability

    @property
    def called(self) -> str:
        """The name of the learner with its settings."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))


SINGLE = (PATHWISE, PROBABLE)  # kinds that are about single runs


def rank(question: Question, choice: Choice) -> tuple[float, ...]:
    """Order choices, the best first: by kind, by share, by the sum of the shares, and simple settings before others."""
    weak, factor = choice.guarantee.kind == EXPECTED, 1 if choice.single else 2
    return weak, factor * (choice.share or 0.0), factor * sum(question.shares(choice.guarantee)), len(choice.settings)


def weigh(name: str, settings: dict[str, float], question: Question) -> Choice:
    """Return the learner with these settings and its best bound that answers the question."""
    problem = name, question.actions, question.rounds, tuple(question.floor.tolist()), tuple(settings.items())
    try:
        learner = _make(*problem)
    except ValueError as error:  # a setting that is out of its range for these numbers
        return Choice(name, settings, none(name, str(error)), None)
    if getattr(learner, "slack", None) == 0:
        return Choice(name, settings, none(name, "no slack is proved to suffice, or none is needed"), None)
    if question.horizon is None and not timeless(name, settings, question):
        return Choice(name, settings, none(name, "its tuning needs to know the number of rounds"), None)
    questions = dict.fromkeys((question.setting, question.setting._replace(epsilon=question.epsilon)))
    statements = [statement for setting in questions for statement in _guarantees(setting, *problem)]
    answers = [
        (answer, statement.kind in SINGLE)
        for statement in statements
        if (answer := answered(statement, question)) is not None
    ]
    if not answers:
        reasons = [statement for statement in statements if statement.reason]
        return Choice(name, settings, reasons[0] if reasons else none(name, "its theorem does not cover this case"), None)
    weighed = [Choice(name, settings, statement, max(question.shares(statement)), single) for statement, single in answers]
    proved = [choice for choice in weighed if (choice.share or 0.0) < 1]  # else of regret only the trivial bound
    return min(proved or [choice._replace(share=None) for choice in weighed], key=partial(rank, question))


@lru_cache(maxsize=4096)
def _make(
    name: str, actions: int, rounds: int, floor: tuple[float, ...], settings: tuple[tuple[str, float], ...]
) -> Learner:
    """Make the learner, once: some search for their settings, and each is asked about more than once."""
    return learners.make(name, actions, rounds, floor, **dict(settings))


@lru_cache(maxsize=4096)
def _guarantees(setting: Setting, name: str, actions: int, rounds: int, *more: Any) -> tuple[Guarantee, ...]:
    """Return the theorems of a learner, once: questions that differ in what is counted share them."""
    return _make(name, actions, rounds, *more).guarantees(actions, rounds, setting)


def timeless(name: str, settings: dict[str, float], question: Question) -> bool:
    """Return whether the tuning ignores the horizon."""
    if name.endswith("+doubling"):
        return True
    floor, chosen = tuple(question.floor.tolist()), tuple(settings.items())
    at, later = (_make(name, question.actions, rounds, floor, chosen) for rounds in (question.rounds, 2 * question.rounds))
    return at == later


def answered(statement: Guarantee, question: Question) -> Guarantee | None:
    """Return the statement if it answers the question: a stronger one does, one with more assumptions does not."""
    statement = applicable(statement, question.setting)
    if statement.regret is None or question.violation(statement) is None:
        return None
    if STILL in statement.assumptions or (statement.every_round and question.setting.constraints != "arbitrary"):
        return None
    if statement.each_action and not question.every_round:  # a comparator that others do not ask for
        return None
    if statement.raised > (question.setting.slater or 0.0):  # it assumes more than is known
        return None
    fails = statement.epsilon or 1
    if question.setting.epsilon is None:
        if statement.kind == PROBABLE and fails > question.epsilon * (1 + 1e-9):
            return None
        statement = on_average(statement, question) if statement.kind == PROBABLE else statement
    elif statement.kind != PATHWISE and not (statement.kind == PROBABLE and fails <= question.setting.epsilon * (1 + 1e-9)):
        return None
    return None if question.strict and any(question.violation(statement) or ()) else statement


def on_average(statement: Guarantee, question: Question) -> Guarantee:
    """Turn a bound with probability 1 - epsilon into one on an expectation: if it fails, T and floor T are lost at most."""
    fails, T = statement.epsilon or 0.0, question.rounds

    def add(bounds: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if bounds is None:
            return None
        return tuple(min(v + fails * c0 * T, c0 * T) for v, c0 in zip(bounds, question.floor.tolist(), strict=True))

    return statement._replace(
        regret=min((statement.regret or 0.0) + fails * T, float(T)),
        violation=add(statement.violation),
        positive_violation=add(statement.positive_violation),
        kind=EXPECTED_INSIDE,
        epsilon=None,
        throughout=False,
    )
