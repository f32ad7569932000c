"""Which learner to take: what is proved of each is evaluated for the numbers at hand, and the least bound is advised.

The criterion is the larger of regret/T and violation/T, over all constraints. Of the learners of which something is proved
in the setting that is asked about, the one with the least is advised, and the next one is the runner-up.

An application has one run. So a bound on an expectation counts double, beside one with probability or on every path: of an
expectation alone it only follows that half of the runs stay below twice as much (Markov). A bound on [E V]+ comes after all
others, as nothing follows from it for a run: one that misses the floor by much is made good by another that exceeds it.

Beside them stands what did best on real data (docs/data.md), whatever is proved of it.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import product
from math import ceil, sqrt
from numbers import Integral
from typing import NamedTuple

from lewa import learners
from lewa.feedback import feedback_kind
from lewa.learners.base import Learner, check_problem
from lewa.theory import projected
from lewa.theory.guarantees import (
    EXPECTED,
    EXPECTED_INSIDE,
    PATHWISE,
    PROBABLE,
    STILL,
    Guarantee,
    Setting,
    applicable,
    checked,
    none,
)
from lewa.types import Vector
from lewa.validation import short_repr

# Never advised, beside the printed boxes: EWA and some rivals are blind to constraints, of the penalties and other rivals
# nothing is proved, and epochs only add rounds of exploration to bandit OP-EWA.
BLIND = ("ewa", "anytime-ewa", "adahedge", "normalhedge", "exp3", "exp3-p", "ucb1")
HEURISTIC = ("fixed-penalty", "gated-penalty", "epsilon-first", "kube", "fractional-kube", "forecast-lp", "entropic-lp")
UNPROVED = (*HEURISTIC, "paced-hedge", "squarecb-lewa", "ucb-lp", "thompson-lp", "bandit-q")
# What these assume of contexts and policies no setting says.
CONTEXTUAL = (
    *("proved-squarecb-lewa", "anytime-proved-squarecb-lewa"),
    *("exp4-lewa", "exp4-lewa-ix", "anytime-exp4-lewa", "lewa-policies"),
)
NEVER = (*BLIND, *UNPROVED, *CONTEXTUAL, "bandit-epoch-project")
IF_UNKNOWN = 1_000_000  # the rounds at which bounds are compared where the number of rounds is unknown
# Tried beside the recommended tuning: b trades regret for violation; without their bonus the optimistic learners have a
# theorem where constraints are the same every round, or where some play is known to exceed the floors.
ALSO = {"b": (0.6, 2 / 3, 0.75, 0.8, 0.9), "kappa": (0.0, -1.0), "optimism": (0.0,)}
WRAPPED = {**ALSO, "b": (2 / 3, 0.75)}  # inside another each setting takes long to evaluate
LONGER = (0.5, 2.0, 4.0, 8.0)  # times the rounds explored as tuned

SINGLE = (PATHWISE, PROBABLE)  # kinds that are about single runs

# What did best on the data of docs/data.md, by the kind of feedback.
PRACTICE: dict[str, tuple[str, dict[str, float]]] = {
    "full": ("paced-hedge", {}),
    "bandit": ("squarecb-lewa", {}),
}


class Question(NamedTuple):
    """What is asked, checked."""

    feedback: str
    actions: int
    horizon: int | None
    floor: Vector
    every_round: bool
    strict: bool
    safe: int | None
    setting: Setting

    @property
    def rounds(self) -> int:
        """T, or the rounds at which bounds are compared where it is unknown."""
        return IF_UNKNOWN if self.horizon is None else self.horizon

    def violation(self, statement: Guarantee) -> tuple[float, ...] | None:
        """Return the violation that is asked about: net, or that of every round."""
        return statement.positive_violation if self.every_round else statement.violation

    def shares(self, statement: Guarantee) -> list[float]:
        """Return regret/T, then violation/T of each constraint."""
        return [bound / self.rounds for bound in (statement.regret or 0.0, *(self.violation(statement) or ()))]


class Choice(NamedTuple):
    """A learner by name, with the settings for `learners.make`, and what is proved of it for these numbers."""

    name: str
    settings: dict[str, float]
    guarantee: Guarantee
    share: float | None  # the larger of regret/T and violation/T; None where nothing is proved
    single: bool = False  # whether it is proved of single runs: on every path, or with probability

    @property
    def called(self) -> str:
        """Name the learner as it is made."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))


class Advice(NamedTuple):
    """Which learner to take, the runner-up, and why, in two sentences; and what did best in practice, in one."""

    learner: Choice
    runner_up: Choice | None
    reason: str
    practice: Choice
    in_practice: str
    question: Question
    ranked: tuple[Choice, ...]  # every tuned learner of which something is proved here, the best first


def advise(
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: object,
    constraints: str = "iid",
    every_round: bool = False,
    strict: bool = False,
    epsilon: float | None = None,
    slater: float | None = None,
    safe: int | None = None,
    corruption: float | None = None,
    adversary: str = "oblivious",
) -> Advice:
    """Return the learner with the least proved bound for these numbers.

    Parameters
    ----------
    feedback : str
        "full" if the values of all actions are seen, "bandit" if only those of the action drawn are.
    actions : int
        K, the number of actions.
    horizon : int, optional
        T, the number of rounds; None if it is unknown.
    floor : float or sequence of float
        c0, one per constraint.
    constraints : str
        "iid", "constant" or "arbitrary".
    every_round : bool
        Whether no round may make up for another.
    strict : bool
        Whether no violation at all is allowed.
    epsilon : float, optional
        Ask for bounds with probability 1 - epsilon; without it for bounds on an expectation.
    slater : float, optional
        By how much some play is known to exceed every floor.
    safe : int, optional
        The index of an action that exceeds every floor by `slater`.
    corruption : float, optional
        How far constraints that are otherwise iid may be from their mean, summed over all rounds.
    adversary : str
        "oblivious" if rewards are fixed in advance, "adaptive" if they may react to the play.

    >>> advice = advise("full", actions=10, horizon=100_000, floor=0.6, constraints="arbitrary", every_round=True)
    >>> advice.learner.name, round(advice.learner.guarantee.regret)
    ('exp-lewa', 482)
    """
    if not isinstance(feedback, str) or feedback not in ("full", "bandit"):
        raise ValueError(f"feedback must be 'full' or 'bandit', got {short_repr(feedback)}")
    _, _, line = check_problem(actions, 1 if horizon is None else horizon, floor)
    setting = checked(Setting(constraints, adversary, epsilon, slater, None, corruption))
    if slater is not None and slater > 1 - line.max():
        raise ValueError(f"no play exceeds a floor of {line.max()} by slater={slater}: constraints are at most 1")
    if safe is not None and slater is None:
        raise ValueError(f"safe needs slater, the margin by which that action is safe, got safe={safe}")
    if safe is not None and not (isinstance(safe, Integral) and 0 <= safe < actions):
        raise ValueError(f"safe must be the index of an action, 0 to {actions - 1}, got {safe}")
    question = Question(feedback, actions, horizon, line, every_round, strict, safe, setting)

    choices = [choice for name in names(question) for choice in tunings(name, question) if choice.share is not None]
    ranked = tuple(sorted(choices, key=partial(rank, question)))
    name, settings = PRACTICE[feedback]
    practice = weigh(name, settings, question)
    note = f"In practice {practice.called} did best on real data (docs/data.md); {_proved(practice, question)}."
    if not ranked:
        return Advice(practice, None, _nothing(question, practice), practice, note, question, ranked)
    second = next((choice for choice in ranked if choice.name != ranked[0].name), None)
    return Advice(ranked[0], second, _because(question, ranked, second), practice, note, question, ranked)


def rank(question: Question, choice: Choice) -> tuple[float, ...]:
    """Order choices, the best first: by kind, by share, by the sum of the shares, and simple settings before others."""
    weak, factor = choice.guarantee.kind == EXPECTED, 1 if choice.single else 2
    return weak, factor * (choice.share or 0.0), factor * sum(question.shares(choice.guarantee)), len(choice.settings)


def names(question: Question) -> Iterator[str]:
    """Yield the learners that may be advised for this feedback, and inside another where that is of use."""
    for name, kind in learners.ALL.items():
        if feedback_kind(kind).observes != question.feedback or name in NEVER or "@" in name:
            continue
        if question.safe is None and "safe" in learners.settings_of(name):
            continue
        yield name
        if question.horizon is None and not name.startswith("anytime-"):
            yield f"{name}+doubling"
        if question.setting.slater is not None:
            yield f"{name}+tightened"


def tunings(name: str, question: Question) -> Iterator[Choice]:
    """Yield the learner as it is tuned, tuned for the epsilon that is asked for, and with the other settings of use."""
    known = learners.settings_of(name)
    fixed = {"safe": float(question.safe or 0), "margin": question.setting.slater or 0.0} if "safe" in known else {}
    if "corruption" in known and question.setting.corruption:
        fixed["corruption"] = question.setting.corruption
    sure = [{}, {"epsilon": _epsilon(question)}] if "epsilon" in known else [{}]
    grid = WRAPPED if "+" in name else ALSO
    also = [{}, *({setting: value} for setting, values in grid.items() if setting in known for value in values)]
    if {"kappa", "share"} <= set(known) and question.horizon is not None:
        also += [{"share": min(1 / question.rounds, 0.5)}, {"kappa": 0.0, "share": 0.0}]
    if "explore" in known and question.horizon is not None and "+" not in name:
        also += explored(name, question)
    for sure_settings, other in product(sure, also):
        yield weigh(name, {**fixed, **sure_settings, **other}, question)


def explored(name: str, question: Question) -> Iterator[dict[str, float]]:
    """Yield other numbers of rounds to explore; where constraints are corrupted with a radius that covers that too."""
    C = question.setting.corruption or 0.0
    for factor in (*LONGER, *((1.0, 16.0, 32.0) if C else ())):
        explore = float(min(ceil(factor * question.rounds ** (2 / 3)), question.rounds))
        yield {"explore": explore}
        if C and "radius" in learners.settings_of(name):
            yield {"explore": explore, "radius": covering_radius(question, explore)}


def covering_radius(question: Question, explore: float) -> float:
    """Return the radius of explore-then-project that covers noise and corruption after so many rounds."""
    noise = projected.explore_radius(question.actions, question.floor.size, _epsilon(question))
    return noise + (question.setting.corruption or 0.0) / sqrt(explore)


def _epsilon(question: Question) -> float:
    """Return what is asked for, or 1/T: a bound that fails so rarely is one on average, but for 1."""
    return question.setting.epsilon or min(1 / question.rounds, 0.5)


def weigh(name: str, settings: dict[str, float], question: Question) -> Choice:
    """Return the learner with these settings, and the best that is proved of it in answer to what is asked."""
    try:
        learner = _make(name, question.actions, question.rounds, tuple(question.floor.tolist()), tuple(settings.items()))
    except ValueError as error:  # a setting that is out of its range for these numbers
        return Choice(name, settings, none(name, str(error)), None)
    if getattr(learner, "slack", None) == 0:
        return Choice(name, settings, none(name, "no slack is proved to suffice, or none is needed"), None)
    if question.horizon is None and not _timeless(learner, name, settings, question):
        return Choice(name, settings, none(name, "its tuning needs to know the number of rounds"), None)
    questions = dict.fromkeys((question.setting, question.setting._replace(epsilon=_epsilon(question))))
    statements = [
        statement for setting in questions for statement in learner.guarantees(question.actions, question.rounds, setting)
    ]
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


def _timeless(learner: Learner, name: str, settings: dict[str, float], question: Question) -> bool:
    """Return whether the tuning ignores the horizon."""
    if name.endswith("+doubling"):
        return True
    other = learners.make(name, question.actions, 2 * question.rounds, question.floor, **settings)
    return learner == other


def answered(statement: Guarantee, question: Question) -> Guarantee | None:
    """Return the statement as an answer to what is asked: what is stronger answers too, what assumes more does not."""
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
        if statement.kind == PROBABLE and fails > _epsilon(question) * (1 + 1e-9):
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


# Sentences -------------------------------------------------------------------------------------------------------------


def _because(question: Question, ranked: tuple[Choice, ...], second: Choice | None) -> str:
    best, count = ranked[0], len({choice.name for choice in ranked})
    first = f"{best.called} has the best bound among {count} learners with a theorem"
    first = f"{best.called} is the only learner with a theorem" if count == 1 else first
    bound = f"the larger of regret/T and violation/T is at most {_bound_of(best, question)}"
    rest = "No other learner has a theorem for this case"
    if second is not None:
        rest = f"The bound of the runner-up, {second.called}, is {_bound_of(second, question)}"
    return f"For {_world(question)}, {first}: {bound}. {rest}."


def _nothing(question: Question, practice: Choice) -> str:
    return (
        f"No learner has a guarantee for {_world(question)}. Use {practice.called}, which did best on real data "
        "(docs/data.md), and monitor its violation."
    )


def _proved(practice: Choice, question: Question) -> str:
    if practice.share is not None:
        return f"its regret/T and violation/T are proved to be below {_percent(practice.share)} here"
    if question.violation(practice.guarantee) is None:
        return "nothing is proved about it here"
    return "nothing is proved about its regret here"


def _world(question: Question) -> str:
    setting = question.setting
    feedback = "full information" if question.feedback == "full" else "bandit feedback"
    corrupted = f" with a total corruption of {setting.corruption:g}" if setting.corruption else ""
    means = f"{setting.constraints} constraints{corrupted}"
    sure = "on average" if setting.epsilon is None else f"with probability {1 - setting.epsilon:g}"
    counted = ("no " if question.strict else "") + ("violation in every round" if question.every_round else "net violation")
    known = "" if question.safe is None else f"action {question.safe} known to be safe, "
    length = (
        f"{question.rounds:,} rounds"
        if question.horizon
        else f"an unknown number of rounds, compared at {question.rounds:,}"
    )
    return f"{feedback}, {means}, {known}{counted}, {sure}, over {length}"


def _bound_of(choice: Choice, question: Question) -> str:
    shares = question.shares(choice.guarantee)
    largest = max(shares)
    sure = "" if choice.single else ", on average over runs only"
    if shares[0] == largest:
        return f"{_percent(largest)}, its regret{sure}"
    trivial = largest >= float(question.floor[shares.index(largest) - 1])
    return f"{_percent(largest)}, its violation{', with only the trivial bound known' if trivial else sure}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
