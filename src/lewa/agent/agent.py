"""An agent: one learner at work in an application, in the application's units."""

import os
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Self

import numpy as np

from lewa.agent import files, setup
from lewa.agent import state as fold
from lewa.agent.constraint import Line
from lewa.agent.records import Decision, Feedback, Label, Record, record, shortened
from lewa.agent.state import ClosedError, Fold
from lewa.agent.status import Status, report
from lewa.engine.masking import restrict, sample_action
from lewa.kernels import DICE, keys, uniform
from lewa.types import Vector
from lewa.units import as_number
from lewa.validation import nearest

VERSION = 1  # of what is saved
WRITTEN_OUT = 1000  # actions up to which a decision of a learner that draws by itself carries its whole play
_new = tuple.__new__  # a named tuple in half the time


class UnknownError(ValueError):
    """Feedback for a decision that this agent has not made."""


class Agent:
    """Pull an action, tell what came of it, whenever that is known; the lines are kept on average.

    `actions` are their names. `constraints` are lines, by `at_most` and `at_least`, in your units; `reward_range` are the
    units of the reward. A value outside its range is clipped for the learner, counted, and warned of.

    `horizon` is the number of decisions, if it is known. `learner` is a name of `lewa.learners.ALL`, with `settings` for its
    tuning; "auto" takes the one advised for `feedback`: "bandit" (only the action taken is seen) or "full" (every answer has
    one value per action). `seed` makes the draws repeatable.

    At most `max_pending` decisions are open: a further one closes the oldest; with `expire_after=n` one closes n decisions
    later. What a closed decision lacks is, by `unanswered`, taken to be what its action had on average, or the worst of its
    range if nothing is known ("charge"); or the decision is left out ("expire"); or a mapping says the values of some,
    {"reward": 0}, and the rest is charged. `expected` gives values per action that are known in advance, by name: they are
    charged until something was seen, and lines that no mixture of them keeps are refused.

    Calls may come from several threads. Nothing but `Decision` and `Feedback` records changes an agent: what `pull`,
    `update` and `close` return, given to `replay`, makes a new agent the same to the bit.

    >>> import lewa
    >>> agent = lewa.Agent(["small", "large"], [lewa.at_most("cost", 0.002, range=(0, 0.01))], seed=7)
    >>> decision = agent.pull()
    >>> decision.action, decision.probability
    ('small', 0.5)
    >>> agent.update(decision, cost=0.001)  # what is known now
    Feedback(decision=1, values={'cost': 0.001}, closed=False)
    >>> agent.update(decision.id, reward=0.8)  # and what became known later
    Feedback(decision=1, values={'reward': 0.8}, closed=False)
    >>> agent.status().lines[0].average
    0.001
    """

    def __init__(
        self,
        actions: Sequence[Label],
        constraints: Sequence[Line],
        reward_range: tuple[float, float] = (0, 1),
        horizon: int | None = None,
        learner: str = "auto",
        seed: int = 0,
        *,
        settings: Mapping[str, Any] | None = None,
        feedback: str = "bandit",
        max_pending: int = 10_000,
        expire_after: int | None = None,
        unanswered: str | Mapping[str, float] = "charge",
        expected: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        made = setup.set_up(
            actions,
            constraints,
            reward_range,
            horizon,
            learner,
            seed,
            settings,
            feedback,
            max_pending,
            expire_after,
            unanswered,
            expected,
        )
        self._begin(Fold(made, made.learner.start(len(made.actions)), keys(made.seed)[DICE : DICE + 1]))

    def _begin(self, state: Fold) -> None:
        self.setup, self._fold, self._lock = state.setup, state, Lock()
        self._actions, self._play = self.setup.actions, np.empty(len(self.setup.actions))
        self._index = {label: i for i, label in enumerate(self._actions)}
        self._written = self._play if self._play.size <= WRITTEN_OUT else self._play[:0]

    def __repr__(self) -> str:
        lines = ", ".join(map(str, self.setup.lines))
        return f"<Agent: {len(self.setup.actions)} actions, {lines}; {self.setup.name}; {self._fold.rounds} decisions>"

    def pull(self, available: Iterable[Label] | None = None) -> Decision:
        """Draw an action from the play, or from its part over the available actions."""
        with self._lock:
            if available is not None and len(among := self._among(available)) < len(self._actions):
                return self._pull_among(among)
            state = self._fold
            t, steps, p = state.rounds, state.steps, None
            if state.kind == "bandit":
                i, propensity = steps.choose(state.memory, state.dice, t)
                whole = self._written
                if whole.size:
                    steps.play(state.memory, whole)
            else:
                p = whole = np.empty(self._play.size)
                i, propensity = steps.choose(state.memory, state.dice, t, p)
            t += 1
            prices = tuple(state.multiplier.tolist())
            state.decide(i, propensity, p)
            return _new(Decision, (t, self._actions[i], propensity, whole.tobytes(), prices, t, None))

    def _pull_among(self, among: list[int]) -> Decision:
        state, p = self._fold, np.empty(self._play.size)
        state.steps.play(state.memory, p)
        masked = restrict(p, np.isin(np.arange(p.size), among))
        with np.errstate(over="ignore"):  # the stream wraps around
            u = getattr(uniform, "py_func", uniform)(state.dice[0], state.rounds)
        i = sample_action(masked, u)
        t, names = state.rounds + 1, tuple(self._actions[k] for k in among)
        prices = tuple(state.multiplier.tolist())
        decision = Decision(t, self._actions[i], float(masked[i]), masked.tobytes(), prices, t, names)
        state.decide(i, decision.probability, self._told_play(masked, True), masked=True)
        return decision

    def _told_play(self, play: Vector, masked: bool) -> Vector | None:
        """The play that the learner is answered for.

        Where actions were masked, one that sees every action is told what the masked play met. One that sees the action
        taken divides by chances: that of the action is the true one, the others are those they would have had.
        """
        if self._fold.kind == "bandit":
            return None
        if masked and self._fold.kind == "dense":
            play = np.empty(play.size)
            self._fold.steps.play(self._fold.memory, play)
        return play

    def _among(self, available: Iterable[Label]) -> list[int]:
        if isinstance(available, str | bytes) or not isinstance(available, Iterable):
            raise ValueError(f"available must be a list of actions, got {available!r}")
        labels = list(available)
        for label in labels:
            if label not in self._index:
                raise ValueError(f"there is no action {label!r}{nearest(str(label), list(map(str, self._actions)))}")
        if not labels:
            raise ValueError("available must name at least one action, got none")
        return sorted({self._index[label] for label in labels})

    def update(self, decision: Decision | int, /, reward: Any = None, **constraints: Any) -> Feedback:
        """Tell what a decision earned and met, in your units: all of it, or what is known now and the rest later.

        The learner learns when the last part is there; averages count each part as it comes. What was told before, or is
        not a number, is refused with a sentence, and nothing has changed then.
        """
        with self._lock:
            number, propensity = (decision[0], decision[2]) if type(decision) is Decision else (decision, None)
            if self._fold.tell_all(number, propensity, reward, constraints):
                constraints["reward"] = reward
                return _new(Feedback, (number, constraints, False))
            if reward is not None:
                constraints["reward"] = reward
            number = self._known(decision)
            return Feedback(number, self._fold.tell(number, constraints))

    def close(self, decision: Decision | int) -> Feedback:
        """No more will be told of this decision: it is treated as unanswered."""
        with self._lock:
            number = self._known(decision)
            self._fold.close(number)
            return Feedback(number, {}, True)

    def _known(self, decision: Any) -> int:
        """The number of a decision that is open, or a sentence."""
        number = decision.id if isinstance(decision, Decision) else decision
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise UnknownError(f"a decision is named by itself or by its number, got {shortened(decision)}")
        if not 1 <= number <= self._fold.rounds:
            raise UnknownError(f"decision {number} is not one of this agent's, which has made {self._fold.rounds}")
        entry = self._fold.open.get(int(number))
        if entry is None:
            raise ClosedError(f"decision {number} is closed: it was answered or it expired; nothing was changed")
        if isinstance(decision, Decision) and decision.probability != entry[1]:
            raise UnknownError(f"decision {number} of this agent is another one than {shortened(decision)}")
        return int(number)

    def apply(self, entry: Record | Mapping[str, Any]) -> None:
        """Take over a record, as it is or as JSON has it; one that does not fit is refused, and nothing has changed."""
        one = entry if isinstance(entry, Decision | Feedback) else record(entry)
        with self._lock:
            if isinstance(one, Decision):
                i, propensity, play = self._fitting(one)
                self._fold.decide(i, propensity, self._told_play(play, one.available is not None), one.available is not None)
                return
            number = self._known(one.decision)
            if one.closed:
                self._fold.close(number)
            else:
                self._fold.tell(number, one.values)

    def replay(self, records: Iterable[Record | Mapping[str, Any]]) -> Self:
        """Take over records one after the other; the agent itself, for `Agent(...).replay(records)`."""
        for one in records:
            self.apply(one)
        return self

    def _fitting(self, decision: Decision) -> tuple[int, float, Vector]:
        """What a recorded decision says, if it can be the next one here."""
        expected = self._fold.rounds + 1
        if decision.id != expected or decision.round != expected:
            raise ValueError(f"the next decision here is {expected}, got the record of {decision.id}: records go in order")
        i = self._index.get(decision.action)
        if i is None:
            raise ValueError(f"there is no action {decision.action!r}: the record is of another agent")
        if decision.available is not None:
            self._among(decision.available)
        propensity, play = as_number("the probability", decision.probability), np.array(decision.play)
        if not np.finfo(float).tiny <= propensity <= 1:
            raise ValueError(f"the probability of the action drawn must lie in (0, 1], got {propensity}")
        if play.size == 0 and self._fold.kind == "bandit":
            return i, propensity, play
        if not (play.size == self._play.size and play.min() >= 0 and abs(play.sum() - 1) < 1e-9 > abs(play[i] - propensity)):
            raise ValueError(
                f"the play must be a distribution that gives the action {propensity}, got {shortened(decision.play)}"
            )
        return i, propensity, play

    def status(self) -> Status:
        """How it stands: each line with its average and band, the regret, what is proved of it, and what looks wrong."""
        with self._lock:
            state = self._fold.copy()
        return report(state)

    def snapshot(self) -> dict[str, Any]:
        """Everything, as plain numbers, texts, lists and dictionaries."""
        with self._lock:
            state = self._fold.copy()
        return {"version": VERSION, "setup": self.setup.plain(), "state": state.plain()}

    @classmethod
    def restore(cls, plain: Mapping[str, Any]) -> Self:
        """The agent that a snapshot was taken of; it goes on bit for bit."""
        if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
            version = plain.get("version") if isinstance(plain, Mapping) else None
            raise ValueError(f"agents of version {VERSION} can be restored, got version {version!r}")
        try:
            state = fold.from_plain(setup.from_plain(plain["setup"]), plain["state"])
        except (KeyError, IndexError, TypeError, AttributeError) as missing:
            raise ValueError(f"what was saved of the agent is not complete: {missing!r}") from None
        agent = cls.__new__(cls)
        agent._begin(state)
        return agent

    def __reduce__(self) -> Any:
        return type(self).restore, (self.snapshot(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file; until all of it is on the disk, what the file held before stays."""
        files.write(path, self.snapshot())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The agent that was saved; a file that is cut, damaged or none of ours is refused with a sentence."""
        return cls.restore(files.read(path))
