"""A session: a running learner. Simulations, replays and applications each use one."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from lewa.engine.compile import compile_learner, plain_learner
from lewa.engine.masking import restrict, sample_action
from lewa.engine.sleeping import hide, hide_weights, project, wake, weight_shares
from lewa.feedback import NOTHING, Bandit, FeedbackKind, Full, feedback_kind, full_feedback
from lewa.kernels import DICE, keys, leaves, pack, plain_uniform, stream_key, unpack
from lewa.kernels.roles import AVAILABLE, CHARGED, FEATURES, KEY, MULTIPLIER, array_with
from lewa.learners.base import Learner
from lewa.types import Matrix, State, Vector, Words
from lewa.validation import as_count, short_repr

NO_DICE = np.zeros(1, dtype=np.uint64)  # of a session that draws no action
NO_PLAY = NOTHING


class Choice(NamedTuple):
    """An action, its probability, and the play from which it was drawn."""

    action: int
    propensity: float
    play: Vector  # (K,), or (0,) where the learner draws by itself and nobody asked for the play
    available: Vector | None = None  # 1 for each action that was there, or None if all were
    charged: Vector = NOTHING  # what the learner charged its constraints for the action
    features: Vector = NOTHING  # of the context that it was drawn in


class Session:
    """A running learner: its parameters and its state in one buffer, its steps, and its random numbers.

    `state` and `multiplier` are views of the buffer: they change as the learner learns. `multiplier` is all zeros for a
    learner that has none. What changes is the buffer and nothing else, so that `copy` is exact.
    """

    def __init__(
        self, learner: Learner, actions: int, dice: Words = NO_DICE, state: object = None, compiled: bool = True
    ) -> None:
        """Start at the first round, or from a copy of a state; with compiled steps or plain ones."""
        self.dice, self.compiled = dice, compiled
        self._begin(check_learner(learner), as_count("actions", actions), state)

    def _begin(self, learner: Learner, actions: int, state: object) -> None:
        self.learner, self.actions = learner, actions
        kind = type(self.learner)
        self.memory: Vector = _buffer(learner, actions, state)
        self.feedback = feedback_kind(kind)
        self.use(self.compiled)
        self.state: State = unpack(kind, self.memory)[1]
        key: Vector | None = array_with(self.state, KEY)
        if key is not None and self.dice is not NO_DICE:
            key[:] = stream_key(self.dice)
        multiplier: Vector | None = array_with(self.state, MULTIPLIER)
        features: Vector | None = array_with(self.state, FEATURES)
        self.multiplier: Vector = np.zeros(self.learner.floor.size) if multiplier is None else multiplier
        self._charged: Vector | None = array_with(self.state, CHARGED)  # None: the learner does not charge
        self._available: Vector | None = array_with(self.state, AVAILABLE)  # None: it does not know masks
        self._features: Vector = NOTHING if features is None else features  # none: it looks at no context
        self._former: tuple[Vector, State] | None = None  # a buffer for a copy of the state, and its views

    def adopt(self, learner: Learner, state: object, actions: int | None = None) -> None:
        """Continue with a learner of the same class with other parameters, from a state that may have other actions."""
        self._begin(learner, self.actions if actions is None else actions, state)

    def use(self, compiled: bool) -> None:
        """Continue with compiled steps or plain ones; they differ in the last bits."""
        self.compiled = compiled
        self.steps = (compile_learner if compiled else plain_learner)(type(self.learner))

    def copy(self) -> Self:
        """Return an independent copy of the session."""
        return type(self)(self.learner, self.actions, self.dice, self.state, self.compiled)

    @property
    def features(self) -> int:
        """The number of features that the learner uses; 0 for a learner without context."""
        return self._features.size

    @property
    def seen_features(self) -> Vector:
        """A copy of the features that the learner got last."""
        return self._features.copy() if self._features.size else NOTHING

    def see(self, features: Vector) -> None:
        """Pass the features of the current round to the learner, before a draw and again before its answer is learned."""
        if self._features.size:
            self._features[:] = features

    def play(self) -> Vector:
        """Return the play from which the next action is drawn."""
        p = np.empty(self.actions)
        self.steps.play(self.memory, p)
        return p

    def choose(self, t: int, available: ArrayLike | None = None, with_play: bool = False) -> Choice:
        """Draw the action of round t from the play, or from its part over the available actions.

        With `with_play` the choice has the play also where the learner draws by itself.
        """
        if available is not None and not np.all(available):
            play = self.play_among(available)
            action = sample_action(play, self._uniform(t))
            there = np.array(available, dtype=np.float64)
            return Choice(action, float(play[action]), play, there, self.charge(action), self._features.copy())
        if self.feedback is FeedbackKind.BANDIT:
            play = self.play() if with_play else NO_PLAY
            return Choice(*self.steps.choose(self.memory, self.dice, t), play, features=self._features.copy())
        play = np.empty(self.actions)
        action, propensity = self.steps.choose(self.memory, self.dice, t, play)
        return Choice(action, propensity, play, None, self.charge(action), self._features.copy())

    def play_among(self, available: ArrayLike) -> Vector:
        """Return the play over the available actions.

        It is the learner's own, if it knows masks. Else it is the play that the learner makes where the others have no
        weight, and that of a learner that projects is projected once more.
        """
        if self._available is None:
            play = restrict(self._play_hidden(available), available)
            return project(play, self.state, self.learner.floor)
        self._available[:] = available
        play = self.play()
        self._available[:] = 1.0
        return restrict(play, available)

    def _play_hidden(self, available: ArrayLike) -> Vector:
        """Return the play that the learner makes where the other actions have no weight; its exploration counts them."""
        before, there = self.memory.copy(), np.array(available, dtype=np.float64)
        hide(self.state, there)
        play = self.play()
        if not play[there > 0].sum() > 0:
            play = weight_shares(self.state, play)
        self.memory[:] = before
        return play

    @property
    def charged(self) -> Vector:
        """The charges of the last draw, as a copy; empty for a learner that does not charge."""
        return NOTHING if self._charged is None else self._charged.copy()

    def charge(self, action: int) -> Vector:
        """Let the learner charge its constraints for the action drawn; return the charged values."""
        if self._charged is None:
            return NOTHING
        self.steps.charge(self.memory, action)
        return self._charged.copy()

    def _uniform(self, t: int) -> float:
        return plain_uniform(self.dice[0], t)  # compiling the other takes longer than the numbers of most sessions

    def rehearse(self) -> None:
        """Play and learn one round on a copy: a rule that does not compile is refused before anything has happened."""
        copy = self.copy()
        choice = copy.choose(0)
        copy.learn(copy.answer(choice, np.ones(self.actions), np.ones((self.learner.floor.size, self.actions))))

    def play_to_learn(self, play: Vector, available: ArrayLike | None, unmixed: bool = True) -> Vector:
        """Return the play that the feedback to a choice carries; ask for it before the learner learns anything else.

        A learner that sees every action learns what the play met from which the action was drawn, masked or not. A dense
        learner divides by probabilities. Where actions were missing, or the play was not the learner's `unmixed` one, that
        of the action drawn is its propensity, which the feedback carries too; the others are those of the learner's play,
        with no weight for what was missing. One that draws by itself needs none.
        """
        if self.feedback is FeedbackKind.BANDIT:
            return NO_PLAY
        if self.feedback is FeedbackKind.FULL or (unmixed and available is None):
            return play
        return self.play() if available is None else self._play_hidden(available)

    def answer(self, choice: Choice, rewards: Vector, constraints: Matrix) -> Full | Bandit:
        """Return the feedback of a choice in a round with these rewards and constraints, which are copied."""
        i, play = choice.action, self.play_to_learn(choice.play, choice.available)
        if self.feedback is FeedbackKind.FULL:
            return full_feedback(rewards.copy(), constraints.copy(), play, choice.charged)
        return Bandit(i, choice.propensity, float(rewards[i]), constraints[:, i].copy(), play, choice.charged)

    def learn(self, seen: Full | Bandit, available: ArrayLike | None = None, unknown: Sequence[int] = ()) -> None:
        """Learn from one round, in place. The feedback is not checked: `check_feedback` does that.

        A learner that looks at contexts must have seen the features of that round last: see `see`. Of a round in which
        actions were missing, some of them perhaps `unknown`, a bandit learner learns as engine/sleeping.py says.
        """
        if isinstance(seen, Full):
            self.steps.learn_full(self.memory, *seen)
        elif available is None or self._available is not None:
            self.steps.learn_bandit(self.memory, *seen)
        else:
            there, before = np.array(available, dtype=np.float64), self._copy_state()
            hide_weights(self.state, there)
            self.steps.learn_bandit(self.memory, *seen)
            wake(self.state, before, seen, there == 0, unknown)
        if available is not None and unknown and type(self.learner).hold_back is not Learner.hold_back:
            there = np.array(available, dtype=np.float64)
            self.learner.hold_back(self.state, there, self.play_among(there), unknown)

    def _copy_state(self) -> State:
        """Return a copy of the state, in a buffer that the next call uses again."""
        if self._former is None:
            memory = self.memory.copy()
            self._former = memory, unpack(type(self.learner), memory)[1]
        self._former[0][:] = self.memory
        return self._former[1]


def _buffer(learner: Learner, actions: int, state: object) -> Vector:
    """Return a buffer of the learner and its first state, or a copy of this one.

    All buffers of a learner begin alike, with the header and the parameters, which are read-only.
    """
    layouts = _layouts(learner)
    if state is None or actions not in layouts:
        first = learner.start(actions)  # also refuses parameters that break a law
        parts = _arrays(first)
        packed = pack(learner, first)
        beginning = packed[: packed.size - sum(part.size for part in parts)].copy()  # a view would hold the state
        layouts[actions] = [part.shape for part in parts], beginning
    parts = _arrays(first if state is None else state)
    shapes, beginning = layouts[actions]
    if [part.shape for part in parts] == shapes:
        return np.concatenate([beginning, *[part.ravel() for part in parts]])
    if [part.size for part in parts] != [prod(shape) for shape in shapes]:
        raise ValueError(
            f"state must belong to {type(learner).__name__} with {actions} actions and {learner.floor.size} "
            f"constraints, got {short_repr(state)}"
        )
    return pack(learner, state)


@lru_cache(maxsize=1024)
def _layouts(learner: Learner) -> dict[int, tuple[list[tuple[int, ...]], Vector]]:
    """Return the shapes of its state's arrays and the beginning of a buffer, by numbers of actions; both are filled in."""
    return {}


def _arrays(state: object) -> list[Vector | Matrix]:
    return [np.asarray(leaf, dtype=np.float64) for leaf in leaves(state)]


def dice_of(seed: int) -> Words:
    """Return the key of the dice of a seed."""
    return keys(seed)[DICE : DICE + 1]


def check_learner(learner: object) -> Learner:
    """Return the learner; raise TypeError for anything else."""
    if not isinstance(learner, Learner):
        got = f"the class {learner.__name__}" if isinstance(learner, type) else short_repr(learner)
        raise TypeError(f"learner must be an object such as lewa.learners.Lewa.tuned(...), got {got}")
    return learner
