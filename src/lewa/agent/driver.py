"""A learner at work: its parameters and state in one buffer, the compiled steps that work on it, and its dice."""

from typing import Any, get_type_hints

import numpy as np

from lewa.agent.records import Plain
from lewa.engine.loops import loops
from lewa.feedback import Feedback, feedback_kind
from lewa.kernels import dump, load, pack, uniform, unpack
from lewa.kernels.sampling import drawn, restricted
from lewa.learners.base import Learner
from lewa.types import Matrix, Vector, Words

LARGEST_PLAY = 1000  # actions up to which a decision of a learner that draws by itself carries its whole play
NO_PLAY: Vector = np.zeros(0)


class Driver:
    """Draw actions from a learner and let it learn; what a masked round teaches is decided here."""

    def __init__(self, learner: Learner, actions: int, dice: Words, memory: Vector) -> None:
        self.learner, self.actions, self.dice, self.memory = learner, actions, dice, memory
        self.feedback, self.steps = feedback_kind(type(learner)), loops(type(learner))
        state = self.state()
        self.multiplier: Vector = state.multiplier if hasattr(state, "multiplier") else np.zeros(len(learner.floor))
        self._draws_itself = self.feedback is Feedback.BANDIT
        self._play = np.empty(actions if actions <= LARGEST_PLAY else 0)

    @classmethod
    def begin(cls, learner: Learner, actions: int, dice: Words) -> "Driver":
        """Return a driver of the learner before its first round."""
        return cls(learner, actions, dice, _pack(learner, learner.start(actions)))

    @classmethod
    def resume(cls, learner: Learner, actions: int, dice: Words, plain: Plain) -> "Driver":
        """Return a driver of the learner in the state that `plain` wrote."""
        memory = _pack(learner, load(get_type_hints(type(learner).start)["return"], plain))
        if memory.shape != _pack(learner, learner.start(actions)).shape:
            raise ValueError(f"the saved state is not one of {actions} actions and {len(learner.floor)} constraints")
        return cls(learner, actions, dice, memory)

    def copy(self) -> "Driver":
        """Return a copy that goes on by itself."""
        return Driver(self.learner, self.actions, self.dice, self.memory.copy())

    def draw(self, t: int) -> tuple[int, float, Vector]:
        """Return the action drawn by the dice of round t, its propensity, and the play.

        A learner that draws by itself has its play written to an array that the next call uses again, or to none above
        `LARGEST_PLAY` actions.
        """
        if self._draws_itself:
            action, propensity = self.steps.choose(self.memory, self.dice, t)
            if self._play.size:
                self.steps.play(self.memory, self._play)
            return action, propensity, self._play
        play = np.empty(self.actions)
        action, propensity = self.steps.choose(self.memory, self.dice, t, play)
        return action, propensity, play

    def draw_among(self, t: int, among: list[int]) -> tuple[int, float, Vector]:
        """Return the same for the play restricted to these actions."""
        masked = restricted(self.play(), np.isin(np.arange(self.actions), among))
        with np.errstate(over="ignore"):  # the stream wraps around
            u = getattr(uniform, "py_func", uniform)(self.dice[0], t)
        action = drawn(masked, u)
        return action, float(masked[action]), masked

    def play(self) -> Vector:
        """Return the play."""
        play = np.empty(self.actions)
        self.steps.play(self.memory, play)
        return play

    def play_to_learn(self, play: Vector, masked: bool) -> Vector | None:
        """Return the play that the learner is to learn from, for a decision drawn from this play; None if it needs none.

        Where actions were masked, a learner that sees every action learns what the masked play met. A learner that sees the
        action drawn divides by propensities: that of the action is the true one, the others are those of its own play.
        """
        if self._draws_itself:
            return None
        return self.play() if masked and self.feedback is Feedback.DENSE else play

    def learn_action(self, action: int, propensity: float, units: Vector, play: Vector | None) -> None:
        """Learn the units of the action drawn: the reward's, then one per constraint."""
        self.steps.learn_bandit(self.memory, action, propensity, units.item(0), units[1:], NO_PLAY if play is None else play)

    def learn_all(self, units: Matrix, play: Vector) -> None:
        """Learn the units of every action: the rewards, then one row per constraint."""
        constraints = units[1:]
        self.steps.learn_full(self.memory, units[0], constraints, np.clip(constraints @ play, 0, 1), play)

    def state(self) -> Any:
        """Return the learner's state, as a view of the buffer."""
        return unpack(type(self.learner), self.memory)[1]

    def plain(self) -> Plain:
        """Return the learner's state as JSON has it."""
        return dump(self.state())


def _pack(learner: Any, state: Any) -> Vector:
    return pack(learner, state)
