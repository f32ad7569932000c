"""Use a game as a gymnasium environment, also with the six-value step of Safety-Gymnasium."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from lewa import games
from lewa.game import Game, check_game
from lewa.games.stream import GameStream
from lewa.types import Vector
from lewa.validation import as_count, as_floor, nearest, short_repr
from lewa.version import install

try:
    import gymnasium
except ImportError:
    raise ImportError(f"lewa.adapters.gym needs gymnasium: {install('gym')}") from None

ID = "lewa/Game-v0"
FAR = np.array([1e6])  # that features stay within, in a game that does not show them beforehand


class Environment(gymnasium.Env[Vector, np.int64]):
    """A gymnasium environment of a game, in which the average of each constraint must reach its floor.

    `game` is a game, or a name in `lewa.games.ALL`; a game by name is made for this floor and these rounds. `rounds` is the
    number of rounds of an episode; None stands for all rounds of the game. The environment is also registered:
    `gymnasium.make("lewa.adapters.gym:lewa/Game-v0", game="slater", floor=0.5, rounds=1000)`.

    An action is an index. An observation is the reward and the constraints of the last action, in [0, 1], and zeros at the
    start. In a game with contexts the features of the next round follow, and zeros after the last round. An episode ends by
    truncation after `rounds` rounds. With c (m,) the constraints of the action in this round, `info` has

    - "constraints": c, whose averages must reach the floors;
    - "slack": c - floor (m,), negative if this round is below the floor; its average must be at least 0;
    - "costs": 1 - c (m,): the average must be at most 1 - floor, the sum over an episode at most `cost_limits`;
    - "cost": the sum of "costs". With one constraint its sum is at most `cost_limit` exactly if the average reaches the
      floor. With several constraints it can be below the limit although one constraint is missed: then use "costs".

    A cost above the limit in a single round is allowed: only averages are constrained.

    `reset(seed=n)` starts the rounds that `lewa.play(..., seeds=[n])` plays; without a seed the next rounds are drawn from
    the environment's own generator. A game that reacts to the play (`anti-leader`) gets the action as a play with
    probability 1 on it, which is harder than in `lewa.play`, where it sees the play before the action is drawn.

    >>> env = Environment("bernoulli", floor=0.6, rounds=1000)
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> reward, info["cost"], round(env.cost_limit)
    (0.0, 0.0, 400)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, game: Game | str, floor: object, rounds: int | None = None) -> None:
        self.floor = as_floor(floor)
        self.game = _game_for_problem(game, self.floor, rounds) if isinstance(game, str) else check_game(game)
        length = self.game.length if rounds is None else rounds
        if length is None:
            raise ValueError("rounds must be an integer of at least 1 for a game without end, got None")
        self.rounds = as_count("rounds", length)
        if self.game.length is not None and self.rounds > self.game.length:
            raise ValueError(f"rounds must be at most the game's length {self.game.length}, got {rounds}")
        K, m = self.game.actions, self.game.constraints
        if self.floor.size != m:
            raise ValueError(f"floor must have one number per constraint, got {self.floor.size} for {m} constraints")
        self.action_space = gymnasium.spaces.Discrete(K)
        low, high = np.zeros(1 + m), np.ones(1 + m)
        wide = np.full(self.game.features, max(1.0, float(np.abs(getattr(self.game, "contexts", FAR)).max(initial=0.0))))
        self.observation_space = gymnasium.spaces.Box(np.append(low, -wide), np.append(high, wide), dtype=np.float64)
        self.spec = copy(gymnasium.spec(ID))
        self.spec.kwargs = {"game": self.game, "floor": self.floor, "rounds": self.rounds}
        self._nature: GameStream | None = None
        self._round = self.rounds

    @property
    def cost_limits(self) -> Vector:
        """Return the limit of the sum of each cost over an episode, rounds (1 - floor)."""
        limits: Vector = self.rounds * (1 - self.floor)
        return limits

    @property
    def cost_limit(self) -> float:
        """Return the sum of `cost_limits`, for algorithms with one cost, such as those of OmniSafe."""
        return float(self.cost_limits.sum())

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Start the rounds of this seed, and return the first observation, zeros."""
        super().reset(seed=seed)
        name = int(self.np_random.integers(1 << 62)) if seed is None else seed
        self._nature, self._round = GameStream(self.game, name), 0
        return np.append(np.zeros(1 + self.game.constraints), self._features()), {"seed": name}

    def _features(self) -> Vector:
        """Return the features of the round that comes next; none in a game without contexts, zeros after the last one."""
        if self._nature is None or not self.game.features or self._round >= self.rounds:
            return np.zeros(self.game.features)
        features: Vector = self.game.block(self._nature.key, self._round, self._round + 1).contexts[0]
        return features

    def step(self, action: object) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated (always False), truncated (after the last round) and info."""
        if self._nature is None or self._round >= self.rounds:
            raise gymnasium.error.ResetNeeded(f"call reset to begin an episode of {self.rounds} rounds")
        K = self.game.actions
        if action not in self.action_space:
            raise ValueError(f"the action must be an integer from 0 to {K - 1}, got {short_repr(action)}")
        i = int(action)  # type: ignore[call-overload]  # the space has checked it
        play = np.eye(K)[i] if self._nature.reacts else None
        rewards, constraints = self._nature.round(self._round, play)
        self._round += 1
        c, reward = constraints[:, i].copy(), float(rewards[i])
        costs = 1 - c
        info = {"cost": float(costs.sum()), "costs": costs, "constraints": c, "slack": c - self.floor}
        return np.array([reward, *c, *self._features()]), reward, False, self._round == self.rounds, info


class _Wrapper(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """A wrapper that changes steps, and records its arguments."""

    def __init__(self, env: Any, **arguments: Any) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, **arguments)
        super().__init__(env)


class SixValues(_Wrapper):
    """The step of Safety-Gymnasium: observation, reward, cost, terminated, truncated, info, with cost = info["cost"].

    >>> env = SixValues(Environment("bernoulli", floor=0.6, rounds=1000))
    >>> _ = env.reset(seed=7)
    >>> observation, reward, cost, terminated, truncated, info = env.step(0)
    >>> cost
    1.0
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)

    def step(self, action: Any) -> Any:
        """Return six values instead of five."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "cost" not in info:
            raise ValueError(f"a step of six values needs info['cost'], got {', '.join(map(repr, info)) or 'nothing'}")
        return observation, reward, info["cost"], terminated, truncated, info


class Told(np.float64):
    """A reward with further values of its step, by name, in `quantities`."""

    quantities: Mapping[str, float]


class Telling(_Wrapper):
    """Add numbers of `info` to rewards, for loops that pass on only the reward.

    `river.bandit.evaluate` is such a loop; `lewa.adapters.river.Policy` reads the values of its constraints from the
    reward.

    >>> env = Telling(Environment("bernoulli", floor=0.6, rounds=1000), names=["cost"])
    >>> _ = env.reset(seed=7)
    >>> env.step(0)[1].quantities
    {'cost': 1.0}
    """

    def __init__(self, env: Any, names: Sequence[str] = ("cost",)) -> None:
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"names must be a list of names in info, got {short_repr(names)}")
        super().__init__(env, names=names)
        self.names = names

    def step(self, action: Any) -> Any:
        """Return the step with its reward as `Told`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        missing = [name for name in self.names if name not in info]
        if missing:
            raise ValueError(f"info must have {', '.join(missing)}, got {', '.join(info) or 'nothing'}")
        reward = Told(reward)
        reward.quantities = {name: info[name] for name in self.names}
        return observation, reward, terminated, truncated, info


def _game_for_problem(name: str, floor: Vector, rounds: int | None) -> Game:
    if name not in games.ALL:
        raise ValueError(f"unknown game {name!r}{nearest(name, list(games.ALL))}")
    if rounds is None:
        raise ValueError("rounds must be an integer of at least 1 for a game by its name, got None")
    return games.ALL[name].for_problem(floor, as_count("rounds", rounds))


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="lewa.adapters.gym:Environment")
