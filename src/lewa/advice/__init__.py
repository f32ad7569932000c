"""Which learner to take: what is proved of each is evaluated for the numbers at hand, and the least bound is advised.

The criterion is the larger of regret/T and violation/T, over all constraints. Of the learners of which something is proved
in the setting that is asked about, the one with the least is advised, and the next one is the runner-up.

An application has one run. So a bound on an expectation counts double, beside one with probability or on every path: of an
expectation alone it only follows that half of the runs stay below twice as much (Markov). A bound on [E V]+ comes after all
others, as nothing follows from it for a run: one that misses the floor by much is made good by another that exceeds it.

Beside them stands what did best on real data (docs/data.md), whatever is proved of it.
"""

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa import notebook
from lewa.advice.candidates import CONTEXTUAL, NEVER, closer, covering_radius, names, tunings
from lewa.advice.question import Choice, Question
from lewa.advice.sentences import because, nothing, proved
from lewa.advice.weighing import rank, weigh
from lewa.learners.base import check_problem
from lewa.theory.guarantees import Setting, checked
from lewa.validation import short_repr

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# What did best on the data of docs/data.md, by the kind of feedback.
PRACTICE: dict[str, tuple[str, dict[str, float]]] = {
    "full": ("paced-hedge", {}),
    "bandit": ("squarecb-lewa", {}),
}
DRAWN = 10  # learners in a figure and in a table
TWICE = 2.0  # how far from the best a learner inside another is looked at closer


class Advice(NamedTuple):
    """Which learner to take, the runner-up, and why, in two sentences; and what did best in practice, in one."""

    learner: Choice
    runner_up: Choice | None
    reason: str
    practice: Choice
    in_practice: str
    question: Question
    ranked: tuple[Choice, ...]  # every tuned learner of which something is proved here, the best first

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
        return notebook.figure("", [notebook.Panel("the larger of regret/T and violation/T", "rank", curves)])

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
    ranked = rank_all(question)
    name, settings = PRACTICE[feedback]
    practice = weigh(name, settings, question)
    note = f"In practice {practice.called} did best on real data (docs/data.md); {proved(practice, question)}."
    if not ranked:
        return Advice(practice, None, nothing(question, practice), practice, note, question, ranked)
    second = next((choice for choice in ranked if choice.name != ranked[0].name), None)
    return Advice(ranked[0], second, because(question, ranked, second), practice, note, question, ranked)


def rank_all(question: Question, restarts: bool = True) -> tuple[Choice, ...]:
    """Return every tuned learner of which something is proved here, the best first; perhaps without those that restart."""
    able = (name for name in names(question) if restarts or not name.endswith("+doubling"))
    choices = [choice for name in able for choice in tunings(name, question) if choice.share is not None]
    choices.sort(key=partial(rank, question))
    inside = [choice for choice in choices if "+" in choice.name and (choice.share or 0) <= TWICE * (choices[0].share or 0)]
    choices += [closer(choice, question) for choice in inside if "b" in choice.settings]
    return tuple(sorted(choices, key=partial(rank, question)))


__all__ = [
    "CONTEXTUAL",
    "NEVER",
    "PRACTICE",
    "Advice",
    "Choice",
    "Question",
    "advise",
    "covering_radius",
    "names",
    "rank",
    "rank_all",
    "tunings",
    "weigh",
]
