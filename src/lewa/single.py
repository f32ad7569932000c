"""One round at a time, as pure functions: what an application, a test or a notebook calls."""

from itertools import count
from typing import Any

import numpy as np

from lewa.engine import loops
from lewa.kernels import DICE, keys, pack, unpack
from lewa.rounds import Bandit, Full, Vector, as_floor, feedback, in_unit, plain


def start(learner: Any, actions: int) -> Any:
    """The state before the first round."""
    return learner._replace(floor=as_floor(learner.floor)).start(actions)


def current_play(learner: Any, state: Any) -> Vector:
    """The play p that the learner makes in this state."""
    memory = _packed(learner, state)
    p = np.empty(actions_of(state))
    loops(type(learner)).play(memory, p)
    return p


def learn(learner: Any, state: Any, seen: Full | Bandit) -> Any:
    """The state after one more round has been seen; the state given stays as it was.

    >>> import lewa, numpy as np
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=100, floor=0.5)
    >>> state = lewa.start(learner, actions=2)
    >>> p = lewa.current_play(learner, state)
    >>> state = lewa.learn(learner, state, lewa.seen_full(rewards=[1, 0], constraints=[[0.2, 0.8]], play=p))
    >>> lewa.current_play(learner, state).round(4).tolist()
    [0.5415, 0.4585]
    """
    memory = _packed(learner, state)
    K, m = actions_of(state), as_floor(learner.floor).size
    kind = feedback(type(learner))
    expected = Full if kind == "full" else Bandit
    if not isinstance(seen, expected):
        raise TypeError(f"{type(learner).__name__} learns from {expected.__name__} feedback, got {type(seen).__name__}")
    if isinstance(seen, Full):
        rewards, constraints = in_unit("rewards", seen.rewards), in_unit("constraints", seen.constraints)
        met, play = in_unit("met", seen.met), _distribution(seen.play)
        _shapes(rewards=(rewards, (K,)), constraints=(constraints, (m, K)), met=(met, (m,)), play=(play, (K,)))
        loops(type(learner)).learn_full(memory, *(plain(x) for x in (rewards, constraints, met, play)))
    else:
        chance, reward = float(seen.chance), float(in_unit("reward", seen.reward))
        constraints = in_unit("constraints", seen.constraints)
        play = _distribution(seen.play) if kind == "dense" else np.zeros(0)
        _shapes(constraints=(constraints, (m,)), play=(play, (K,) if kind == "dense" else (0,)))
        _drawn(learner, K, seen.action, chance, play)
        arrays = (plain(x) for x in (constraints, play))
        loops(type(learner)).learn_bandit(memory, int(seen.action), chance, reward, *arrays)
    return unpack(type(learner), memory)[1]


def seen_full(rewards: object, constraints: object, play: object) -> Full:
    """Full-information feedback for the play it answers."""
    c, p = np.atleast_2d(np.asarray(constraints, dtype=np.float64)), np.asarray(play, dtype=np.float64)
    if c.shape[1:] != p.shape:
        raise ValueError(f"constraints must have the shape (m, {p.size}) to match the play, got {c.shape}")
    return Full(np.asarray(rewards, dtype=np.float64), c, np.clip(c @ p, 0, 1), p)


def actions_of(state: Any) -> int:
    """K: the first array of a state has one entry per action."""
    first = state
    while isinstance(first, tuple):
        first = first[0]
    return int(np.size(first))


def _packed(learner: Any, state: Any) -> Vector:
    learner = learner._replace(floor=as_floor(learner.floor))
    fresh, memory = pack(learner, learner.start(actions_of(state))), pack(learner, state)
    if fresh.size != memory.size:
        raise ValueError(f"the state must be one of this learner's, {learner.floor.size} constraints, got {state}")
    return memory


def least_chance(learner: Any, actions: int) -> float:
    """No action had a smaller chance than exploration gives it; a little less, for rounding."""
    return float(np.min(getattr(learner, "gamma", 0.0))) / actions * (1 - 1e-9)


def _drawn(learner: Any, actions: int, action: Any, chance: float, play: Vector) -> None:
    """Refuse what cannot have happened, before it spoils a state."""
    least = least_chance(learner, actions)
    if not isinstance(action, int | np.integer) or not 0 <= action < actions:
        raise ValueError(f"the action must be one of 0 .. {actions - 1}, got {action}")
    if not (0 < chance <= 1 and least <= chance):
        raise ValueError(f"the chance of the action drawn must lie in ({least:.3g}, 1], got {chance}")
    if play.size and not (play.min() >= least and abs(play[action] - chance) <= 1e-9):
        raise ValueError(
            f"the play must give the action its chance {chance} and every action at least {least:.3g}, got {play.tolist()}"
        )


def _distribution(play: object) -> Vector:
    p: Vector = in_unit("play", play)
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"a play must sum to 1, got {p.sum()}")
    return p


def _shapes(**arrays: tuple[Any, tuple[int, ...]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")


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
        self.learner = learner._replace(floor=as_floor(learner.floor))
        self.actions, self.rounds, self._round = actions, 0, count()
        kind = type(learner)
        self._memory = np.append(pack(self.learner, self.learner.start(actions)), 0.0)  # and a spare number, for learn_one
        self._dice = keys(seed)[DICE : DICE + 1]
        self._steps, self._feedback = loops(kind), feedback(kind)
        self._scratch = () if self._feedback == "bandit" else (np.empty(actions),)
        self._least = max(least_chance(self.learner, actions), np.finfo(float).tiny)
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

    def learn(self, action: int, chance: float, reward: float, constraints: Any, play: Vector | None = None) -> None:
        """Learn what one action earned and met; a dense learner also needs the play that it was drawn from."""
        if (
            self._alone
            and type(action) is int
            and type(chance) is type(reward) is type(constraints) is float  # what the step is compiled for
            and self._steps.learn_one(self._memory, self.actions, self._least, action, chance, reward, constraints)
        ):
            return  # what it refuses is refused below, with a sentence
        if self._feedback == "full":
            raise TypeError(f"{type(self.learner).__name__} learns from the rewards of every action: use learn_all")
        met = np.atleast_1d(in_unit("constraints", constraints))
        in_unit("reward", reward)
        chance = float(chance)
        if self._feedback == "dense" and play is None:
            raise ValueError(f"{type(self.learner).__name__} needs the play that the action was drawn from")
        p = _distribution(play) if self._feedback == "dense" else np.zeros(0)
        _shapes(constraints=(met, self.learner.floor.shape), play=(p, (self.actions,) if p.size else (0,)))
        _drawn(self.learner, self.actions, action, chance, p)
        arrays = (plain(x) for x in (met, p))
        self._steps.learn_bandit(self._memory, int(action), float(chance), float(reward), *arrays)

    def learn_all(self, rewards: Any, constraints: Any, play: Any) -> None:
        """Learn what every action earned and would have met, for the play that is answered."""
        if self._feedback != "full":
            raise TypeError(f"{type(self.learner).__name__} learns from the one action that was drawn: use learn")
        seen = seen_full(in_unit("rewards", rewards), in_unit("constraints", constraints), _distribution(play))
        _shapes(
            rewards=(seen.rewards, (self.actions,)), constraints=(seen.constraints, (self.learner.floor.size, self.actions))
        )
        self._steps.learn_full(self._memory, *(plain(x) for x in seen))
