"""What an agent is made with: records of options that belong together."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lewa.agent.breaker import Breaker
from lewa.agent.constraint import Constraint
from lewa.agent.context.policies import Policy
from lewa.agent.governor.rule import Governor
from lewa.agent.records import Label
from lewa.context import Column
from lewa.validation import as_flag


@dataclass(frozen=True)
class LearnerOptions:
    """The learner of an agent, and how it is tuned.

    Parameters
    ----------
    name : str
        A name in `lewa.learners.ALL`, or "auto": the choice of `lewa.choice.choose_learner` for the goal.
        NAME+governed is NAME with a governor, which learns what is safe if no safe action is named.
    goal : "practice" or "proved"
        For "auto": the learner that did best on real data, or the learner with the smallest proved bound.
    feedback : "bandit" or "full", optional
        Whether an answer has the outcome of the action taken, or one value per action. The default is the learner's
        feedback, and "bandit" for "auto".
    settings : mapping, optional
        Settings of the learner's tuning, by name. With `epsilon`, the status has the bound with probability 1 - epsilon, if
        there is one. `{"known": ["cost"]}` tells `proved-squarecb-lewa` that the expected costs are exact.
    """

    name: str = "auto"
    goal: str = "practice"
    feedback: str | None = None
    settings: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Answers:
    """The rules for answers, and for decisions without an answer.

    Parameters
    ----------
    max_open : int
        The largest number of open decisions; a further one closes the oldest.
    close_after : int, optional
        Close a decision this many decisions later.
    unanswered : "charge", "expire" or mapping
        The rule for missing values of a closed decision. "charge" fills in the average of its action, or what is expected
        of it, or the worst value of the range; for a constraint, a learner that forecasts costs fills in its forecast.
        "expire" does not learn the decision, and reported values still count; a mapping such as {"reward": 0} fills in
        these values.
    learn : "answer" or "close"
        When an answer is learned: as soon as it is complete, or when its decision is closed, `close_after` decisions later.
        Use "close" if the time of an answer depends on its values: with fixed times of learning, the theorems hold that
        assume arrivals which do not depend on outcomes.
    expected : mapping, optional
        Values per action that are known in advance, by name, within their ranges. They are filled in until there are
        answers; constraints that no mixture of them meets raise ValueError; and a learner that can, such as that of
        "auto", starts from them.
    """

    max_open: int = 10_000
    close_after: int | None = None
    unanswered: str | Mapping[str, float] = "charge"
    learn: str = "answer"
    expected: Mapping[str, Sequence[float]] | None = None


@dataclass(frozen=True)
class ContextOptions:
    """What is known of each request, and who reads it.

    Parameters
    ----------
    columns : sequence of columns, optional
        The columns of the context of each request, from `number`, `category`, `text` and `vector`. Every `pull` then takes
        a `context`, and the learner uses it.
    policies : mapping or list of names, optional
        Rules or models that choose an action: functions of the context by name, models with `predict` or `predict_one`, or
        only names. Every `pull` then takes a `context` for the policies, or their `advice`, and the learner mixes them.
        Policies that always take one action are added.
    regressor : regressor, optional
        Predicts rewards and costs in place of the ridge of `squarecb-lewa`: an unfitted regressor of scikit-learn
        (`partial_fit`) or river (`learn_one`). A copy per action and quantity learns with the agent; `Agent.open` needs it
        again. If its `predict` takes `return_std`, its standard deviations set where the agent explores.
    keep : bool
        Whether decisions record the context itself, for audits. By default they record only its features.
    """

    columns: Column | Sequence[Column] | None = None
    policies: Mapping[str, Policy] | Sequence[str] | None = None
    regressor: object = None
    keep: bool = False

    def __post_init__(self) -> None:
        if as_flag("keep", self.keep) and self.columns is None and not self.policies:
            raise ValueError("keep=True needs a context: declare its columns, or name policies")


@dataclass(frozen=True)
class JournalOptions:
    """The journal of an agent: see `Agent.start_journal`.

    Parameters
    ----------
    path : path
        A new file to which every record is written before its call returns. After a crash `Agent.open` continues it.
    sync : "every", "batch" or "never"
        When records are forced to the disk.
    plays : bool
        Whether to write the whole play of each decision even if the learner does not need it.
    """

    path: str | os.PathLike[str]
    sync: str = "batch"
    plays: bool = False


class Wish(NamedTuple):
    """The arguments of an agent."""

    actions: Sequence[Label]
    constraints: Constraint | Sequence[Constraint]
    reward_range: tuple[float, float]
    horizon: float | None
    learner: LearnerOptions
    seed: int | None
    answers: Answers
    context: ContextOptions
    governor: Governor | str
    breaker: Breaker | None
    name: str | None
