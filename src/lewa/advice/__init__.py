"""Recommend a learner: evaluate the bounds of all learners for the user's numbers, and choose the smallest.

The criterion is the larger of regret/T and violation/T, over all constraints. Among the learners with a theorem for the
given setting, the one with the smallest value is recommended, and the next one is the runner-up.

An application has one run. So a bound on an expectation counts twice as much as one with probability or on every path: from
an expectation alone it only follows that half of the runs stay below twice the bound (Markov). A bound on [E V]+ ranks after
all others, because it implies no bound for a single run: a run far below the floor can be offset by a run above it.

The advice also names the learner that did best on real data (docs/data.md), with or without a theorem.
"""

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa import learners, notebook
from lewa.advice.candidates import closer, names, tunings
from lewa.advice.weighing import Choice, Question, rank, weigh
from lewa.learners.parameter_checks import check_problem
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE
from lewa.theory.setting import Setting, checked
from lewa.validation import short_repr

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def because(question: Question, ranked: tuple[Choice, ...], second: Choice | None) -> str:
    """Return the reason for the recommendation, and the runner-up."""
    best, count = ranked[0], len({choice.name for choice in ranked})
    first = f"{best.called} ranks first among {count} learners with a theorem"
    first = f"{best.called} is the only learner with a theorem" if count == 1 else first
    bound = f"the larger of regret/T and violation/T is at most {_bound_of(best, question)}"
    rest = "No other learner has a theorem for this case"
    if second is not None:
        rest = f"The bound of the runner-up, {second.called}, is {_bound_of(second, question)}{_why_second(best, second)}"
    return f"For {_world(question)}, {first}: {bound}. {rest}."


def nothing(question: Question, practice: Choice) -> str:
    """Return the sentences for a setting without a guarantee."""
    return (
        f"No learner has a guarantee for {_world(question)}. Use {practice.called}, which did best on real data "
        "(docs/data.md), and monitor its violation."
    )


def proved(practice: Choice, question: Question) -> str:
    """Return the clause about the guarantee of the learner that did best in practice."""
    if practice.share is not None:
        return f"its regret/T and violation/T are proved to be below {_percent(practice.share)} here"
    if question.violation(practice.guarantee) is None:
        return "no bound is proved for it here"
    return "no bound is proved for its regret here"


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
    if choice.single and choice.guarantee.kind == EXPECTED_INSIDE:  # from a bound with probability
        sure = ", in a single run too with high probability"
    if shares[0] == largest:
        return f"{_percent(largest)}, its regret{sure}"
    trivial = largest >= float(question.floor[shares.index(largest) - 1])
    return f"{_percent(largest)}, its violation{', with only the trivial bound known' if trivial else sure}"


def _why_second(best: Choice, second: Choice) -> str:
    """Return the clause about a smaller bound that does not rank first."""
    if (second.share or 0.0) >= (best.share or 0.0):
        return ""
    if second.guarantee.kind == EXPECTED:
        return "; a bound on [E V]+ ranks after all others, because it says nothing about a single run"
    return "; a bound on an average counts twice, because an application has one run"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


DRAWN = 10  # learners in a figure and in a table
TWICE = 2.0  # how far from the best a learner inside another is looked at closer


class Advice(NamedTuple):
    """The recommended learner, the runner-up, the reason, and the learner that did best in practice."""

    learner: Choice  # the recommended learner
    runner_up: Choice | None  # the learner with the next bound
    reason: str  # the reason, in two sentences
    practice: Choice  # the learner that did best on real data
    in_practice: str  # a sentence about it
    question: Question  # the problem
    ranked: tuple[Choice, ...]  # every tuned learner with a theorem for this setting, the best first

    def __repr__(self) -> str:
        second = "" if self.runner_up is None else f", runner-up {self.runner_up.called}"
        return f"<Advice: {self.learner.called}{second}, of {len(self.ranked)} with a theorem>"

    def __str__(self) -> str:
        return f"{self.reason} {self.in_practice}"

    def rows(self) -> list[dict[str, float | str | None]]:
        """Return a flat row for each ranked learner, the best first: for a DataFrame, or a file."""
        rows: list[dict[str, float | str | None]] = []
        for choice in self.ranked:
            statement = choice.guarantee
            largest = max(self.question.violation(statement) or (), default=None)
            bounds = {"regret": statement.regret, "violation": largest, "larger, per round": choice.share}
            rows.append({"learner": choice.called, **bounds, "kind": statement.kind, "source": statement.source})
        return rows

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return a matplotlib figure: the larger of regret/T and violation/T of the learners that rank first."""
        curves = [
            notebook.Curve(choice.called, np.array([float(n)]), np.array([choice.share]), points=True)
            for n, choice in enumerate(self.ranked[:DRAWN], 1)
        ]
        return notebook.figure("", [notebook.Lines("the larger of regret/T and violation/T", "rank", curves)])

    def _repr_html_(self) -> str:
        return notebook.html_table(repr(self)[1:-1], self.rows()[:DRAWN], (self.reason, self.in_practice))


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
    """Return the learner with the smallest proved bound for these numbers, among the settings that are tried.

    Each learner is tried with its own tuning and a few others. A setting between these may have a bound that is a few
    percent smaller.

    Parameters
    ----------
    feedback
        "full" if the values of all actions are seen, "bandit" if only those of the action drawn are.
    actions
        K, the number of actions.
    horizon
        T, the number of rounds; None if it is unknown.
    floor
        c0, one number per constraint.
    constraints
        "iid", "constant" or "arbitrary".
    every_round
        Whether to bound the positive violation, in which surpluses do not offset shortfalls.
    strict
        Whether no violation at all is allowed.
    epsilon
        Require bounds with probability 1 - epsilon; None for bounds on an expectation.
    slater
        The amount by which some play is known to exceed every floor.
    safe
        The index of an action that exceeds every floor by `slater`.
    corruption
        The total distance of constraints that are otherwise iid from their mean, over all rounds.
    adversary
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
        raise ValueError(f"slater must be at most 1 - floor, got slater={slater} and floor={line.max()}")
    if safe is not None and slater is None:
        raise ValueError(f"safe needs slater, the margin by which that action is safe, got safe={safe}")
    if safe is not None and not (isinstance(safe, Integral) and 0 <= safe < actions):
        raise ValueError(f"safe must be the index of an action, 0 to {actions - 1}, got {safe}")
    question = Question(feedback, actions, horizon, line, every_round, strict, safe, setting)
    ranked = rank_all(question)
    practice = weigh(learners.first_choice("practice", feedback, horizon), {}, question)
    note = f"In practice {practice.called} did best on real data (docs/data.md); {proved(practice, question)}."
    if not ranked:
        return Advice(practice, None, nothing(question, practice), practice, note, question, ranked)
    second = next((choice for choice in ranked if choice.name != ranked[0].name), None)
    return Advice(ranked[0], second, because(question, ranked, second), practice, note, question, ranked)


def rank_all(question: Question, restarts: bool = True) -> tuple[Choice, ...]:
    """Return every tuned learner with a proved bound here, the best first; optionally without those that restart."""
    able = (name for name in names(question) if restarts or not name.endswith("+doubling"))
    choices = [choice for name in able for choice in tunings(name, question) if choice.share is not None]
    choices.sort(key=partial(rank, question))
    inside = [choice for choice in choices if "+" in choice.name and (choice.share or 0) <= TWICE * (choices[0].share or 0)]
    choices += [closer(choice, question) for choice in inside if "b" in choice.settings]
    return tuple(sorted(choices, key=partial(rank, question)))


__all__ = ["Advice", "Choice", "Question", "advise", "rank_all"]
