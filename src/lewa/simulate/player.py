"""Run a learner in an application, one round at a time."""

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
    """Play a learner in an application, at about a microsecond per round.

    Rewards and constraints are numbers in [0, 1]. Feedback contains the action and its propensity at the time of the draw,
    so it may arrive late and out of order. Each call is atomic: threads may share a player.

    Parameters
    ----------
    learner
        A learner, for instance from `lewa.learners.make`.
    actions
        The number of actions, K.
    seed
        The seed of the random numbers that draw actions.

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
        """Return the state as a view, which changes as the player learns."""
        return self._session.state

    def see(self, features: ArrayLike) -> None:
        """Pass the features of a round to the learner, before its action is drawn and again before a late answer."""
        self._session.see(check_features(self._session.features, features))

    def play(self) -> Vector:
        """Return the play p from which the next action is drawn."""
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
        """Return a copy of the constraint values that the learner charged at the last draw; empty if it does not charge."""
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
        action
            The index of the action drawn.
        propensity
            The probability with which it was drawn, from `choose`.
        reward
            Its reward, in [0, 1].
        constraints
            (m,) Its constraint values, in [0, 1].
        play
            (K,) The play from which it was drawn. Only learners that update every weight need it.
        charged
            (m,) The constraint values that the learner charged at the draw, from `charged`. Only learners that charge need
            them, and only if another action was drawn since.
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
            raise ValueError(f"{type(self.learner).__name__} needs the play from which the action was drawn")
        met = np.atleast_1d(in_unit("constraints", constraints))
        booked = session.charged if charged is None else charged
        seen = Bandit(action, propensity, reward, met, NO_PLAY if play is None else play, booked)  # type: ignore[arg-type]
        session.learn(check_feedback(self.learner, self.actions, seen))

    def learn_all(
        self, rewards: ArrayLike, constraints: ArrayLike, play: ArrayLike, charged: ArrayLike | None = None
    ) -> None:
        """Learn from the rewards and constraints of every action, for the play that was in use.

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
            raise TypeError(f"{type(self.learner).__name__} learns only from the action that was drawn: use learn")
        values = in_unit("rewards", rewards), in_unit("constraints", constraints), in_unit("play", play)
        seen = full_feedback(*values, session.charged if charged is None else charged)  # type: ignore[arg-type]
        session.learn(check_feedback(self.learner, self.actions, seen))
