"""Twists: a twist contains a game and changes a part of it: late feedback, noise, a narrower range, or missing actions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from lewa.blocks import Block
from lewa.engine.masking import restrict
from lewa.game import Game, Mask, check_game
from lewa.games.base import convert_fields, numbers
from lewa.kernels import uniform
from lewa.theory.setting import Setting
from lewa.types import Cube, Indices, Matrix, Vector, Words
from lewa.validation import as_floor, as_real, as_share, in_unit, short_repr

FAR = 1 << 62  # a position of nature's stream that no game comes to
Range: TypeAlias = tuple[float, float]
Array = TypeVar("Array", Vector, Matrix, Cube)


def _of_game(name: str) -> Any:
    """Return a property that is the one of the inner game."""
    return property(attrgetter(f"game.{name}"))


@dataclass(frozen=True)
class Twist(Game):
    """A game that contains a game; all properties are those of the inner game, unless the twist changes them."""

    game: Game  # the inner game
    does: ClassVar[str]  # the change to the game, for `about`

    def __post_init__(self) -> None:
        check_game(self.game)

    @property
    def about(self) -> str:
        """The line of the inner game, and the change."""
        return f"{self.game.about}; {self.does}"

    actions = _of_game("actions")
    constraints = _of_game("constraints")
    length = _of_game("length")
    setting = _of_game("setting")
    mean_constraints = _of_game("mean_constraints")
    stationary_rewards = _of_game("stationary_rewards")
    reacts = _of_game("reacts")
    features = _of_game("features")
    policies = _of_game("policies")
    late_feedback = _of_game("late_feedback")
    missing_actions = _of_game("missing_actions")

    def block(self, key: Words, start: int, stop: int) -> Block:
        return self.game.block(key, start, stop)

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        return self.game.reveal(t, p, key)

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        return self.game.arrives(key, start, stop)

    def available(self, key: Words, start: int, stop: int) -> Mask:
        return self.game.available(key, start, stop)

    def mean_rewards(self, rounds: int) -> Vector | None:
        return self.game.mean_rewards(rounds)

    def variation(self, rounds: int) -> float | None:
        return self.game.variation(rounds)

    def inner_floor(self, floor: object) -> Vector:
        """Return the floor of the inner game that corresponds to this floor of the twist."""
        return as_floor(floor)

    def branch(self, key: Words) -> Words:
        """Return a key of random numbers that neither the inner game nor another twist uses."""
        depth, game = 0, self.game
        while isinstance(game, Twist):
            depth, game = depth + 1, game.game
        return np.array([uniform(key[0], FAR + depth) * 2.0**53]).astype(np.uint64)

    def outside_theory(self, what: str) -> Setting:
        """Return the setting of the inner game, with this feature added to those that no theorem covers."""
        setting = self.game.setting
        return setting._replace(outside_theory=" and ".join(filter(None, (setting.outside_theory, what))) or None)


class Mapped(Twist, ABC):
    """A twist that maps every mean to low + (high - low) mean, with one range for rewards and one for constraints."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range, Range]:
        """The ranges of the rewards and of the constraints."""

    @abstractmethod
    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        """Return the rounds of the inner game after the change.

        Parameters
        ----------
        rewards, constraints
            The rewards (n, K) and the constraints (n, m, K) of the inner game.
        key
            The key of the game's stream.
        start
            The first round.
        """

    def block(self, key: Words, start: int, stop: int) -> Block:
        block = self.game.block(key, start, stop)
        return self.change(block.rewards, block.constraints, key, start)._replace(contexts=block.contexts)

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        rewards, constraints = self.game.reveal(t, p, key)
        block = self.change(np.array([rewards]), np.reshape(constraints, (1, self.constraints, self.actions)), key, t)
        return block.rewards[0], block.constraints[0]

    def inner_floor(self, floor: object) -> Vector:
        low, high = self.ranges[1]
        return np.clip((as_floor(floor) - low) / (high - low), 0, 1)

    @property
    def mean_constraints(self) -> Matrix | None:
        inner = self.game.mean_constraints
        return None if inner is None else into_range(inner, self.ranges[1])

    def mean_rewards(self, rounds: int) -> Vector | None:
        inner = self.game.mean_rewards(rounds)
        return None if inner is None else into_range(inner, self.ranges[0])

    @property
    def setting(self) -> Setting:
        setting, (low, high) = self.game.setting, self.ranges[1]
        less = None if setting.corruption is None else (high - low) * setting.corruption
        return setting._replace(corruption=less)


def into_range(values: Array, part: Range) -> Array:
    """Return numbers in [0, 1], mapped linearly to a part of [0, 1]."""
    low, high = part
    return low + (high - low) * values


NEVER = -1


@dataclass(frozen=True)
class Delay(Twist):
    """The game, with feedback that comes late or never.

    The learner gets the feedback of round t after round t + `delay`; if `random`, after a number of rounds that is drawn
    uniformly from 0 .. 2 delay, so that answers overtake each other; and with the probability `lost` never. The learner
    keeps playing meanwhile. Feedback contains the propensity of its action, or the play of its round. The game and the facts
    about it do not change, but no guarantee of `lewa.judge` covers late feedback.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=10_000, floor=0.7)
    >>> for delay in (0, 100, 1000):
    ...     trace = lewa.play(learner, lewa.games.Delay(lewa.games.Bernoulli(), delay), rounds=10_000)
    ...     print(f"delay {delay}: regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}")
    delay 0: regret -137, violation 171
    delay 100: regret 171, violation 0
    delay 1000: regret 793, violation 0
    >>> lewa.judge(trace).guarantee.reason
    'no theorem covers feedback that comes late or never'

    Reference: P. Joulani, A. Gyorgy, C. Szepesvari, Online learning under delayed feedback, ICML 2013.
    """

    does = "feedback comes late or never"
    late_feedback = True

    delay: int = 10  # the delay in rounds, or its mean if `random`
    random: bool = False  # whether delays are drawn at random
    lost: float = 0.0  # the probability that feedback never comes

    def __post_init__(self) -> None:
        super().__post_init__()
        as_share("lost", self.lost)
        convert_fields(self, least=0)

    @property
    def setting(self) -> Setting:
        return self.outside_theory("feedback that comes late or never" if self.delay > 0 or self.lost > 0 else "")

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        wait, luck = numbers(self.branch(key), start, stop, 2).T
        late = np.floor(wait * (2 * self.delay + 1)).astype(np.int64) if self.random else self.delay
        first = self.game.arrives(key, start, stop)  # what is late already is later still
        return np.where((luck < self.lost) | (first == NEVER), NEVER, first + late)


@dataclass(frozen=True)
class Dropping(Twist):
    """The game, with actions that drop out and come back.

    Time is split into spells of `spell` rounds. In each spell every action is missing with the probability `missing`, but
    at least one action is available. The play is restricted to the available actions, as in `lewa.Agent`; it is uniform over
    them if the learner's play has no weight on them. Feedback refers to the restricted play: with full information the
    learner gets the constraints of this play, and with bandit feedback the propensity under it. Missing actions are never
    drawn. Regret is still against the best fixed play over all actions. No theorem here covers this case, so
    there is no guarantee.

    >>> import lewa
    >>> game = lewa.games.Dropping(lewa.games.Bernoulli(), missing=0.5, spell=100)
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=5000, floor=0.6)
    >>> trace = lewa.play(learner, game, rounds=5000, every_round=True)
    >>> bool((trace.plays == 0).any()), lewa.judge(trace).guarantee.reason
    (True, 'no theorem covers rounds in which actions are missing')

    Reference: R. Kleinberg, A. Niculescu-Mizil, Y. Sharma, Regret bounds for sleeping experts and bandits, COLT 2008, who
    measure regret against the best available action.
    """

    does = "actions drop out and come back"
    missing_actions = True

    missing: float = 0.2
    spell: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        as_share("missing", self.missing)
        convert_fields(self)

    @property
    def setting(self) -> Setting:
        return self.outside_theory("rounds in which actions are missing" if self.missing > 0 else "")

    def available(self, key: Words, start: int, stop: int) -> Mask:
        first = start // self.spell
        luck = numbers(self.branch(key), first, (stop - 1) // self.spell + 1, self.actions)
        luck = luck[np.arange(start, stop) // self.spell - first]
        inner = self.game.available(key, start, stop)
        best = np.where(inner, luck, -1.0).max(axis=1, keepdims=True)  # the last to go
        there: Mask = inner & ((luck >= self.missing) | (luck == best))
        return there

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        return self.game.reveal(t, restrict(p, self.available(key, t, t + 1)[0]), key)


@dataclass(frozen=True)
class Noise(Mapped):
    """The game, with some rewards and constraints replaced by fair coins.

    With the probability `noise`, and independently, each reward and each constraint is replaced by a fair coin. All means
    move towards 1/2: they become (1 - noise) mean + noise/2, and the game knows it. Noise that leaves means unchanged could
    not change a coin, which has the largest variance in [0, 1]. Constant constraints are no longer constant, but have a
    mean. `for_problem` makes the inner game for the floor that the twist maps to the given floor.

    >>> import lewa
    >>> game = lewa.games.Noise(lewa.games.SlowBurn(floor=0.5, nu=0.1), noise=0.2)
    >>> game.setting.constraints, game.mean_constraints.round(3).tolist()
    ('iid', [[0.42, 0.5]])
    """

    does = "some numbers are replaced by coin flips"

    noise: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= as_real("noise", self.noise) < 1:
            raise ValueError(f"noise must lie in [0, 1), got {self.noise}")

    @property
    def ranges(self) -> tuple[Range, Range]:
        return ((self.noise / 2, 1 - self.noise / 2),) * 2

    @property
    def setting(self) -> Setting:
        setting = super().setting
        return setting._replace(constraints="iid") if setting.constraints == "constant" and self.noise > 0 else setting

    def variation(self, rounds: int) -> None:
        return None  # another one for each seed

    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        n, m, K = constraints.shape
        luck = numbers(self.branch(key), start, start + n, K * (1 + m))
        coin = np.where(luck < self.noise, (luck < self.noise / 2).astype(np.float64), np.nan)
        first, others = coin[:, :K], coin[:, K:].reshape(n, m, K)
        return Block(np.where(np.isnan(first), rewards, first), np.where(np.isnan(others), constraints, others))


@dataclass(frozen=True)
class Scale(Mapped):
    """The game, with rewards and constraints that use only a part of [0, 1].

    Rewards are mapped to the range `rewards_in` and constraints to `constraints_in`, as if the user had given a range that
    is too wide: the same decisions then differ by less, while bounds and tunings are for all of [0, 1]. `for_problem` makes
    the inner game for the floor that the twist maps to the given floor.

    >>> import lewa
    >>> game = lewa.games.Scale(lewa.games.Bernoulli(), rewards_in=(0, 0.1), constraints_in=(0.9, 1))
    >>> game.mean_rewards(1).round(3).tolist(), game.mean_constraints.round(3).tolist()
    ([0.09, 0.06, 0.03], [[0.92, 0.95, 0.99]])
    """

    does = "rewards and constraints use only a part of their range"

    rewards_in: Range = (0.25, 0.75)
    constraints_in: Range = (0.25, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, ends in {"rewards_in": self.rewards_in, "constraints_in": self.constraints_in}.items():
            both = in_unit(name, ends)
            if both.shape != (2,) or not both[0] < both[1]:
                raise ValueError(f"{name} must be two numbers, the smaller one first, got {short_repr(ends)}")

    @property
    def ranges(self) -> tuple[Range, Range]:
        return self.rewards_in, self.constraints_in

    def variation(self, rounds: int) -> float | None:
        inner, (low, high) = self.game.variation(rounds), self.rewards_in
        return None if inner is None else (high - low) * inner

    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        return Block(into_range(rewards, self.rewards_in), into_range(constraints, self.constraints_in))
