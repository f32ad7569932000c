"""A learner at work in an application, a round at a time."""

from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from lewa.engine.check_feedback import check_features, check_feedback, least_propensity
from lewa.engine.session import NO_PLAY, Session, dice_of
from lewa.feedback import Bandit, FeedbackKind, full_feedback
from lewa.learners.base import Learner
from lewa.types import State, Vector
from lewa.validation import as_count, in_unit


class Player:
    """Play a learner in an application: one buffer, drawn from and learned into in place, a microsecond per round.

    Rewards and constraints are numbers in [0, 1]. Feedback names the action and the propensity it had when it was drawn,
    so it may come late and out of order. Each call is atomic: threads may share a player.

    Parameters
    ----------
    learner: a learner, as `lewa.learners.make(...)` returns one.
    actions: the number of actions, K.
    seed: of the dice that actions are drawn with.

    >>> import lewa
    >>> player = lewa.Player(lewa.learners.BanditLewa.tuned(actions=3, horizon=10_000, floor=0.5), actions=3, seed=7)
    >>> action, propensity = player.choose()
    >>> player.learn(action, propensity, reward=1.0, constraints=0.25)
    >>> round(float(player.play()[action]), 6)
    0.33366
    """

    def __init__(self, learner: Learner, actions: int, seed: int = 0) -> None:
        self._session = session = Session(learner, actions, dice_of(as_count("seed", seed, least=0)))
        self.learner, self.actions, self.rounds, self._round = session.learner, session.actions, 0, count()
        # What every round looks at, without the way through the session.
        self._memory, self._dice = session.memory, session.dice
        self._choose, self._learn_one = session.steps.choose, session.steps.learn_one
        self._scratch = () if session.feedback is FeedbackKind.BANDIT else (np.empty(session.actions),)
        self._charges = session.charged.size > 0
        self._least = max(least_propensity(self.learner, self.actions), np.finfo(float).tiny)
        self._alone = session.feedback is FeedbackKind.BANDIT and self.learner.floor.size == 1

    @property
    def state(self) -> State:
        """The state, as a view: it changes as the player learns."""
        return self._session.state

    def see(self, features: ArrayLike) -> None:
        """Show the learner the features of a round: before its action is drawn, and again before a late answer."""
        self._session.see(check_features(self._session.features, features))

    def play(self) -> Vector:
        """Return the play p that the next action is drawn from."""
        return self._session.play()

    def choose(self) -> tuple[int, float]:
        """Draw an action from the play; return it with its propensity."""
        t = next(self._round)
        self.rounds = t + 1
        action, propensity = self._choose(self._memory, self._dice, t, *self._scratch)
        if self._charges:
            self._session.charge(action)
        return action, propensity

    @property
    def charged(self) -> Vector:
        """What the learner charged its constraints at the last draw, as a copy; empty for one that does not charge."""
        return self._session.charged

    def learn(
        self,
        action: int,
        propensity: float,
        reward: float,
        constraints: ArrayLike,
        play: ArrayLike | None = None,
        charged: ArrayLike | None = None,
    ) -> None:
        """Learn from the reward and the constraint values of one action.

        Parameters
        ----------
        action : int
            The index of the action drawn.
        propensity : float
            The probability with which it was drawn, as `choose` returned it.
        reward : float
            Its reward, in [0, 1].
        constraints : array_like, shape (m,)
            Its constraint values, in [0, 1].
        play : array_like, shape (K,), optional
            The play that it was drawn from. Only learners that update every weight need it.
        charged : array_like, shape (m,), optional
            What the learner charged its constraints at the draw. Only learners that charge at the draw need it, and only
            if another action was drawn since.
        """
        if (
            self._alone
            and type(action) is int
            and type(propensity) is type(reward) is type(constraints) is float  # what the step is compiled for
            and self._learn_one(self._memory, self.actions, self._least, action, propensity, reward, constraints)
        ):
            return  # what it refuses is refused below, with a sentence
        session = self._session
        if session.feedback is FeedbackKind.FULL:
            raise TypeError(f"{type(self.learner).__name__} learns from the rewards of every action: use learn_all")
        if session.feedback is FeedbackKind.DENSE and play is None:
            raise ValueError(f"{type(self.learner).__name__} needs the play that the action was drawn from")
        met = np.atleast_1d(in_unit("constraints", constraints))
        booked = session.charged if charged is None else charged
        seen = Bandit(action, propensity, reward, met, NO_PLAY if play is None else play, booked)  # type: ignore[arg-type]
        session.learn(check_feedback(self.learner, self.actions, seen))

    def learn_all(
        self, rewards: ArrayLike, constraints: ArrayLike, play: ArrayLike, charged: ArrayLike | None = None
    ) -> None:
        """Learn what every action earned and met, for the play that is answered.

        Parameters
        ----------
        rewards : array_like, shape (K,)
            The reward of every action, in [0, 1].
        constraints : array_like, shape (m, K)
            The constraint values of every action, in [0, 1].
        play : array_like, shape (K,)
            The play that is answered.
        charged : array_like, optional
            The prices that the learner quoted at the draw. Only learners that quote prices need them, and only if another
            action was drawn since.
        """
        session = self._session
        if session.feedback is not FeedbackKind.FULL:
            raise TypeError(f"{type(self.learner).__name__} learns from the one action that was drawn: use learn")
        values = in_unit("rewards", rewards), in_unit("constraints", constraints), in_unit("play", play)
        seen = full_feedback(*values, session.charged if charged is None else charged)  # type: ignore[arg-type]
        session.learn(check_feedback(self.learner, self.actions, seen))
