"""An agent: one learner at work in an application, in the application's units."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Self

import numpy as np

from lewa.agent import files, saved_state, setup
from lewa.agent.change_methods import ChangeMethods
from lewa.agent.changes import apply_change
from lewa.agent.constraint import Constraint
from lewa.agent.exposure import mask
from lewa.agent.records import Change, Decision, Feedback, Input, Label, Plain, Record, brief, record
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.agent.status import Status, report
from lewa.types import Vector
from lewa.units import as_number
from lewa.validation import nearest

VERSION = 1  # of what is saved
_new = tuple.__new__  # a named tuple in half the time


class Agent(ChangeMethods):
    """Pull an action, and update with its outcome whenever that is known; each constraint is met on average.

    Calls may come from several threads. Nothing but `Decision` and `Feedback` records changes an agent: what `pull`,
    `update` and `close` return, given to `replay`, makes a new agent the same to the bit.

    Parameters
    ----------
    actions : sequence of str or int
        The labels of the actions.
    constraints : sequence of Constraint
        What to keep on average, made by `at_most` and `at_least`, in your units.
    reward_range : (float, float)
        The range of the reward. A value outside its range is clipped for the learner, counted, and warned of.
    horizon : int, optional
        The number of decisions, if it is known.
    learner : str
        A name of `lewa.learners.ALL`, or "auto": the learner that `lewa.choice.choose_learner` takes for the goal.
    seed : int
        The seed of the draws.
    goal : "practice" or "proved"
        For "auto": the learner that keeps its constraints and earns most on data, or the one with the least proved bound.
    settings : mapping, optional
        Settings of the learner's tuning, by name.
    feedback : "bandit" or "full"
        For "auto": whether only the outcome of the action taken is seen, or one value per action.
    max_pending : int
        The largest number of open decisions; a further one closes the oldest.
    expire_after : int, optional
        Close a decision so many decisions later.
    unanswered : "charge", "expire" or mapping
        What to do with values that a closed decision lacks. "charge" fills in the average of its action so far, or the
        worst of the range if nothing is known; "expire" leaves the decision out; a mapping fills in these values,
        {"reward": 0}, and charges the rest.
    expected : mapping, optional
        Values per action that are known in advance, by name. The learner starts from them, they are filled in until
        something was seen, and constraints that no mixture of them meets are refused.
    name : str, optional
        The name of the agent. Its decisions carry it, and an answer to a decision of another agent is refused.

    Examples
    --------
    >>> import lewa
    >>> agent = lewa.Agent(["small", "large"], [lewa.at_most("cost", 0.002, range=(0, 0.01))], seed=7)
    >>> decision = agent.pull()
    >>> decision.action, decision.probability
    ('small', 0.5)
    >>> agent.update(decision, cost=0.001)  # what is known now
    Feedback(decision=1, values={'cost': 0.001}, closed=False)
    >>> agent.update(decision.id, reward=0.8)  # and what became known later
    Feedback(decision=1, values={'reward': 0.8}, closed=False)
    >>> agent.status().constraints[0].average
    0.001
    """

    def __init__(
        self,
        actions: Sequence[Label],
        constraints: Constraint | Sequence[Constraint],
        reward_range: tuple[float, float] = (0, 1),
        horizon: float | None = None,
        learner: str = "auto",
        seed: int = 0,
        *,
        settings: Mapping[str, object] | None = None,
        feedback: str = "bandit",
        goal: str = "practice",
        max_pending: int = 10_000,
        expire_after: int | None = None,
        unanswered: str | Mapping[str, float] = "charge",
        expected: Mapping[str, Sequence[float]] | None = None,
        name: str | None = None,
    ) -> None:
        labels, items, rounds = setup.as_actions(actions), setup.as_constraints(constraints), setup.as_horizon(horizon)
        names = setup.field_names(items)
        known = setup.as_expected(expected, names, labels)
        setup.refuse_infeasible(items, known)
        prior = setup.tuning_prior(items, reward_range, known, len(labels))
        wish = setup.Wish(learner, feedback, goal, settings)
        learner_name, tuned = setup.make_learner(wish, len(labels), rounds, items, prior)
        self._begin(
            AgentState.begin(
                Setup(
                    actions=labels,
                    constraints=items,
                    reward_range=reward_range,
                    horizon=rounds,
                    learner_name=learner_name,
                    learner=tuned,
                    seed=seed,
                    max_pending=max_pending,
                    expire_after=expire_after,
                    unanswered=setup.as_policy(unanswered, names),
                    expected=known,
                    agent_name=name,
                )
            )
        )

    def _begin(self, state: AgentState) -> None:
        self._state, self._lock = state, Lock()
        self._know_actions()

    def _know_actions(self) -> None:
        self._actions, self._name = self.setup.actions, self.setup.agent_name
        self._index = {label: i for i, label in enumerate(self._actions)}

    @property
    def setup(self) -> Setup:
        """What the agent is made of now."""
        return self._state.setup

    def __repr__(self) -> str:
        constraints = ", ".join(map(str, self.setup.constraints))
        name, rounds = self.setup.learner_name, self._state.rounds
        return f"<Agent: {len(self._actions)} actions, {constraints}; {name}; {rounds} decisions>"

    def pull(self, available: Iterable[Label] | None = None) -> Decision:
        """Draw an action from the play, or from the play restricted to the available actions.

        Parameters
        ----------
        available : iterable of labels, optional
            The actions that can be taken now; all of them by default.

        Returns
        -------
        Decision
            The action with its probability and the number that an answer names it by.
        """
        with self._lock:
            state = self._state
            driver, t, exposure = state.driver, state.rounds, state.exposure
            among = None if available is None else self._among(available)
            labels = None if among is None else tuple(self._actions[k] for k in among)
            if among is None and exposure.plain_play and not exposure.retired:
                i, propensity, play = driver.draw(t)
            else:
                i, propensity, play = driver.draw_among(t, mask(driver.actions, among, exposure.retired), exposure)
            multipliers = tuple(driver.multiplier.tolist())
            fields = (t + 1, self._actions[i], propensity, play.tobytes(), multipliers, t + 1, labels, self._name)
            masked = among is not None
            state.decide(i, propensity, driver.pending_play(play, masked), masked)
            return _new(Decision, fields)

    def _among(self, available: Iterable[Label]) -> list[int] | None:
        """Return the indices of the available actions, or None if these are all."""
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise ValueError(f"available must be a list of actions, got {brief(available)}")
        labels = list(available)
        for label in labels:
            if label not in self._index:
                raise ValueError(f"there is no action {label!r}{nearest(str(label), list(map(str, self._actions)))}")
        if not labels:
            raise ValueError("available must name at least one action, got none")
        among = sorted({self._index[label] for label in labels})
        return among if len(among) < len(self._actions) else None

    def update(self, decision: Decision | int, /, reward: Input | None = None, **constraints: Input) -> Feedback:
        """Take in the outcome of a decision, in your units: all of it, or what is known now and the rest later.

        The learner learns when the last part is there; averages count each part as it comes. What was told before, or is
        not a number, is refused with a sentence, and nothing has changed then.

        Parameters
        ----------
        decision : Decision or int
            The decision, or its number.
        reward : float or sequence of float, optional
            What was earned; one value per action if the learner sees every action.
        **constraints : float or sequence of float
            The value of each constraint, by its name.

        Returns
        -------
        Feedback
            The record of this update.
        """
        with self._lock:
            number = self._state.find(decision)
            if reward is not None:
                constraints["reward"] = reward
            return _new(Feedback, (number, self._state.answer(number, constraints), False, self._name))

    def _make(self, what: str, name: Label | None, value: object, who: str, why: str) -> Change:
        with self._lock:
            change = Change(what, name, value, self._state.rounds, who, why, self._name)
            self._change(change)
            return change

    def _change(self, change: Change) -> None:
        apply_change(self._state, change)
        self._know_actions()

    def close(self, decision: Decision | int) -> Feedback:
        """Treat a decision as unanswered from now on: no more will be told of it."""
        with self._lock:
            number = self._state.find(decision)
            self._state.close(number)
            return Feedback(number, {}, True, self._name)

    def apply(self, entry: Record | Plain) -> None:
        """Take over a record, as it is or as JSON has it; refuse one that does not fit, and change nothing then."""
        item = entry if isinstance(entry, Record) else record(entry)
        with self._lock:
            self._state.check_name(item)
            if isinstance(item, Change):
                self._change(item)
                return
            if isinstance(item, Decision):
                i, propensity, play = self._check_next(item)
                masked = item.available is not None
                self._state.decide(i, propensity, self._state.driver.pending_play(play, masked), masked)
                return
            number = self._state.find(item.decision)
            if item.closed:
                self._state.close(number)
            else:
                self._state.answer(number, item.values)

    def replay(self, records: Iterable[Record | Plain]) -> Self:
        """Take over records one after the other; return the agent itself, for `Agent(...).replay(records)`."""
        for item in records:
            self.apply(item)
        return self

    def _check_next(self, decision: Decision) -> tuple[int, float, Vector]:
        """Return action, propensity and play of a recorded decision, if it can be the next one here."""
        number = self._state.rounds + 1
        if decision.id != number or decision.round != number:
            raise ValueError(
                f"the next decision here is {number}, got the record of {brief(decision.id)}: records go in order"
            )
        self._state.check_size(decision)
        i = self._index.get(decision.action)
        if i is None:
            raise ValueError(f"there is no action {brief(decision.action)}: the record is of another agent")
        if decision.available is not None:
            self._among(decision.available)
        propensity, play = as_number("the probability", decision.probability), np.array(decision.play)
        if not np.finfo(float).tiny <= propensity <= 1:
            raise ValueError(f"the probability of the action drawn must lie in (0, 1], got {propensity}")
        if play.size == 0 and self._state.driver.pending_play(play, False) is None:
            return i, propensity, play
        if not (play.size and play.min() >= 0 and abs(play.sum() - 1) < 1e-9 > abs(play[i] - propensity)):
            raise ValueError(
                f"the play must be a distribution that gives the action {propensity}, got {brief(decision.play)}"
            )
        return i, propensity, play

    def status(self) -> Status:
        """Return how the agent stands: each constraint with its average and band, regret, guarantee, and warnings."""
        return report(self._copy())

    def snapshot(self) -> Plain:
        """Return everything as plain numbers, texts, lists and dictionaries."""
        return {"version": VERSION, "setup": self.setup.plain(), "state": saved_state.to_plain(self._copy())}

    def _copy(self) -> AgentState:
        with self._lock:
            return self._state.copy()

    @classmethod
    def restore(cls, plain: Plain) -> Self:
        """Return the agent that a snapshot was taken of; it goes on bit for bit."""
        if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
            version = plain.get("version") if isinstance(plain, Mapping) else None
            raise ValueError(f"agents of version {VERSION} can be restored, got version {brief(version)}")
        try:
            restored = saved_state.from_plain(setup.from_plain(plain["setup"]), plain["state"])
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"what was saved of the agent is not complete: {error!r}") from None
        except OverflowError as error:
            raise ValueError(f"a number that was saved of the agent is too large: {error}") from None
        agent = cls.__new__(cls)
        agent._begin(restored)
        return agent

    def __reduce__(self) -> tuple[Callable[[Plain], Self], tuple[Plain]]:
        return type(self).restore, (self.snapshot(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file; until all of it is on the disk, what the file held before stays."""
        files.write(path, self.snapshot())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the agent that was saved; refuse a file that is cut, damaged or not a saved agent with a sentence."""
        return cls.restore(files.read(path))
