"""The session of an agent's learner: `lewa.engine.session.Session`, with what decisions and saved files need of it."""

from typing import Self

import numpy as np

from lewa.agent.exposure import Exposure
from lewa.agent.pending import Pending
from lewa.agent.records import COMPILED, PLAIN, JsonObject, Plain
from lewa.agent.statistics import PROGRAMS
from lewa.engine import background
from lewa.engine.masking import sample_action
from lewa.engine.session import NO_PLAY, Session
from lewa.feedback import NOTHING, Bandit, FeedbackKind
from lewa.kernels import dump, load, state_type
from lewa.kernels.roles import DEBT, array_with
from lewa.learners.base import Learner
from lewa.types import Indices, Matrix, Vector, Words

LARGEST_PLAY = 1000  # actions up to which a decision of a learner that draws by itself carries its whole play


class Driver(Session):
    """Draw the actions of an agent's decisions, and let its learner learn their answers."""

    def __init__(self, learner: Learner, actions: int, dice: Words, state: object = None, compiled: bool = False) -> None:
        self._left = background.AFTER  # draws before the compiled steps are asked for
        super().__init__(learner, actions, dice, state, compiled)
        self._draws_itself = self.feedback is FeedbackKind.BANDIT
        self.needs_play = not self._draws_itself and self.learner.reads_play  # whether an open decision carries its play
        self._play = np.empty(actions if actions <= LARGEST_PLAY else 0)

    def adopt(self, learner: Learner, state: object, actions: int | None = None) -> None:
        """Continue with other parameters, or with one more action."""
        super().adopt(learner, state, actions)
        if learner.quotes_prices:
            self.steps.release(self.memory, self.unbooked)  # its step depends on what was changed
        self._play = np.empty(self.actions if self.actions <= LARGEST_PLAY else 0)

    def use(self, compiled: bool) -> None:
        """Continue with compiled steps or plain ones, as the records say."""
        super().use(compiled)
        kind = type(self.learner)  # unless it is settled, each draw asks `switch`
        self.settled = background.steps_here(kind) if compiled else not background.can_compile(kind)

    def switch(self) -> str | None:
        """Take the steps that are there, before a draw; return what the record says if they are others than before."""
        kind = type(self.learner)
        compiled = background.steps_here(kind)
        self._left -= 1
        if not compiled and (self.compiled or self._left < 0):
            background.load_later(kind, PROGRAMS[not self.feedback.is_bandit])
        if compiled == self.compiled:
            return None
        self.use(compiled)
        return COMPILED if compiled else PLAIN

    def load(self) -> None:
        """Compile its steps, or read them from the disk, now."""
        background.load(type(self.learner), PROGRAMS[not self.feedback.is_bandit])

    @classmethod
    def resume(cls, learner: Learner, actions: int, dice: Words, plain: Plain, compiled: bool) -> Self:
        """Return a driver of the learner in the state that `plain` wrote."""
        return cls(learner, actions, dice, load(state_type(type(learner)), plain), compiled)

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
        return action, float(propensity), play

    def draw_many(self, t: int, n: int) -> tuple[Indices, Matrix, Matrix]:
        """Draw and charge n actions in a row, as n calls of `draw` and `charge` do.

        Return the actions; a row for each with its propensity, the multipliers before it and what was charged for it; and
        the plays, with no column above `LARGEST_PLAY` actions of a learner that draws by itself.
        """
        charged = NO_PLAY if self._charged is None else self._charged
        actions = np.empty(n, dtype=np.int64)
        numbers = np.empty((n, 1 + self.multiplier.size + charged.size))
        plays = np.empty((n, self._play.size if self._draws_itself else self.actions))
        self.steps.draw_many(self.memory, self.dice, t, self.multiplier, charged, actions, numbers, plays)
        return actions, numbers, plays

    def learn_many(self, actions: Indices, propensities: Vector, units: Matrix, plays: Matrix, charged: Matrix) -> Matrix:
        """Learn whole answers in a row; return the multipliers before each."""
        multipliers = np.empty((actions.size, self.multiplier.size))
        self.steps.learn_many(self.memory, self.multiplier, actions, propensities, units, plays, charged, multipliers)
        return multipliers

    def draw_among(self, t: int, available: Vector, exposure: Exposure, seen: Vector) -> tuple[int, float, Vector]:
        """Return the same for the play over the available actions, as far as the learner is exposed.

        `seen` counts the answers of each action: one that has just entered is held to its share.
        """
        play = self.play() if available.all() else self.play_among(available)
        shares = exposure.entry_shares(play, available, seen)
        others = available.copy()
        others[list(shares)] = 0.0
        if shares and others.any():
            play = max(1 - sum(shares.values()), 0.0) * self.play_among(others)
            play[list(shares)] = list(shares.values())
            play /= play.sum()
        return self.draw_from(t, exposure.mix(play, available))

    def draw_from(self, t: int, play: Vector) -> tuple[int, float, Vector]:
        """Return the same for a play that is given."""
        action = sample_action(play, self._uniform(t))
        return action, float(play[action]), play

    @property
    def charges(self) -> bool:
        """Whether the learner charges its constraints at the draw."""
        return self._charged is not None

    @property
    def unbooked(self) -> Vector:
        """The charges of a decision that was charged nothing: they add nothing to the debt, so its answer counts fully."""
        if self.learner.quotes_prices:
            return np.zeros(self.charged.size)  # no price was quoted
        return 1 - self.learner.floor if self.charges else NOTHING

    @property
    def debt(self) -> Vector | None:
        """The costs beyond the limits that the learner adds up, as a view of its state; None if it does not."""
        debt: Vector | None = array_with(self.state, DEBT)
        return debt

    @property
    def forecasts(self) -> bool:
        """Whether the charges of the learner at the draw are forecasts of the costs."""
        return self.charges and not self.learner.quotes_prices

    def release(self, charged: Vector) -> None:
        """Tell the learner that no answer to a decision will be learned, if it is one that counts open decisions."""
        if self.learner.quotes_prices and charged.any():
            self.steps.release(self.memory, charged)

    def pending_play(self, play: Vector, available: Vector | None, unmixed: bool) -> Vector | None:
        """Return the play that an open decision carries, if the learner needs one; `unmixed`: it is the learner's."""
        return self.play_to_learn(play, available, unmixed) if self.needs_play else None

    def learn_action(self, action: int, propensity: float, units: Vector, play: Vector | None, charged: Vector) -> None:
        """Learn the units of the action drawn: the reward's, then one per constraint."""
        play = NO_PLAY if play is None else play
        self.steps.learn_bandit(self.memory, action, propensity, units.item(0), units[1:], play, charged)

    def learn_among(self, pending: Pending, units: Vector, seen: Vector) -> None:
        """Learn the same of a decision for which some actions were not there; `seen` counts the answers of each action."""
        play = NO_PLAY if pending.play is None else pending.play
        there = np.ones(self.actions)
        there[list(pending.asleep)] = 0.0
        answer = Bandit(pending.action, pending.propensity, units.item(0), units[1:], play, pending.charged)
        self.learn(answer, there, [k for k in pending.asleep if seen[k] == 0])

    def learn_all(self, units: Matrix, play: Vector, charged: Vector) -> None:
        """Learn the units of every action: the rewards, then one row per constraint."""
        constraints = units[1:]
        met = constraints @ play if self.learner.unbounded else np.clip(constraints @ play, 0, 1)
        self.steps.learn_full(self.memory, units[0], constraints, met, play, charged)

    def plain(self) -> JsonObject:
        """Return the learner's state as plain data for JSON."""
        return dump(self.state)
