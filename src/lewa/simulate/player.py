"""A learner at work in an application, a round at a time."""

from itertools import count
from typing import Any

import numpy as np

from lewa.engine.loops import loops
from lewa.feedback import feedback_kind
from lewa.kernels import DICE, keys, pack, unpack
from lewa.simulate.functional import check_distribution, check_drawn, check_shapes, least_propensity, seen_full
from lewa.types import Vector
from lewa.validation import in_unit, plain


class Player:
    """A learner at work in an application: one buffer, drawn from and learned into in place, a microsecond a round.

    Rewards and constraints are numbers in [0, 1]. Feedback names the action and the chance it had when it was drawn, so it
    may come late and out of order. Each call is atomic: threads may share a player.

    >>> import lewa
    >>> player = lewa.Player(lewa.learners.BanditLewa.tuned(actions=3, horizon=10_000, floor=0.5), actions=3, seed=7)
    >>> action, chance = player.choose()
    >>> player.learn(action, chance, reward=1.0, constraints=0.25)
    >>> round(float(player.play()[action]), 6)
    0.33366
    """

    def __init__(self, learner: Any, actions: int, seed: int = 0) -> None:
        self.learner = learner
        self.actions, self.rounds, self._round = actions, 0, count()
        kind = type(learner)
        self._memory = np.append(pack(self.learner, self.learner.start(actions)), 0.0)  # and a spare number, for learn_one
        self._dice = keys(seed)[DICE : DICE + 1]
        self._steps, self._feedback = loops(kind), feedback_kind(kind)
        self._scratch = () if self._feedback == "bandit" else (np.empty(actions),)
        self._least = max(least_propensity(self.learner, actions), np.finfo(float).tiny)
        self._alone = self._feedback == "bandit" and self.learner.floor.size == 1

    @property
    def state(self) -> Any:
        """The state, as a view: it changes as the player learns."""
        return unpack(type(self.learner), self._memory)[1]

    def play(self) -> Vector:
        """The play p that the next action is drawn from."""
        p = np.empty(self.actions)
        self._steps.play(self._memory, p)
        return p

    def choose(self) -> tuple[int, float]:
        """An action drawn from the play, and the chance it had."""
        t = next(self._round)
        self.rounds = t + 1
        return self._steps.choose(self._memory, self._dice, t, *self._scratch)

    def learn(self, action: int, propensity: float, reward: float, constraints: Any, play: Vector | None = None) -> None:
        """Learn what one action earned and met; a dense learner also needs the play that it was drawn from."""
        if (
            self._alone
            and type(action) is int
            and type(propensity) is type(reward) is type(constraints) is float  # what the step is compiled for
            and self._steps.learn_one(self._memory, self.actions, self._least, action, propensity, reward, constraints)
        ):
            return  # what it refuses is refused below, with a sentence
        if self._feedback == "full":
            raise TypeError(f"{type(self.learner).__name__} learns from the rewards of every action: use learn_all")
        met = np.atleast_1d(in_unit("constraints", constraints))
        in_unit("reward", reward)
        propensity = float(propensity)
        if self._feedback == "dense" and play is None:
            raise ValueError(f"{type(self.learner).__name__} needs the play that the action was drawn from")
        p = check_distribution(play) if self._feedback == "dense" else np.zeros(0)
        check_shapes(constraints=(met, self.learner.floor.shape), play=(p, (self.actions,) if p.size else (0,)))
        check_drawn(self.learner, self.actions, action, propensity, p)
        arrays = (plain(x) for x in (met, p))
        self._steps.learn_bandit(self._memory, int(action), float(propensity), float(reward), *arrays)

    def learn_all(self, rewards: Any, constraints: Any, play: Any) -> None:
        """Learn what every action earned and would have met, for the play that is answered."""
        if self._feedback != "full":
            raise TypeError(f"{type(self.learner).__name__} learns from the one action that was drawn: use learn")
        seen = seen_full(in_unit("rewards", rewards), in_unit("constraints", constraints), check_distribution(play))
        check_shapes(
            rewards=(seen.rewards, (self.actions,)), constraints=(seen.constraints, (self.learner.floor.size, self.actions))
        )
        self._steps.learn_full(self._memory, *(plain(x) for x in seen))
