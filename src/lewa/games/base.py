"""What a game is: who reveals rewards and constraints; and what can be known about one before it is played."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from lewa.blocks import Block
from lewa.kernels import lots, toss
from lewa.measures.best_play import TIGHT, best_fixed_play
from lewa.theory.guarantees import Setting
from lewa.types import Cube, Matrix, Vector, Words
from lewa.validation import as_floor

CHUNK = 1 << 16  # rounds laid out at a time when rewards are added up


class Game(Protocol):
    """A game lays out blocks of rounds, and says what it knows about itself.

    An adaptive game, whose rewards react to the learner, has `reveal(t, p, key) -> (rewards, constraints)` instead of
    `block`. Each seed meets a copy of it, which may remember what it saw; chance is `kernels.uniform` of nature's key.

    A game of ours also has `posed(floor, rounds)`, a class method: the game made for that floor and horizon. A game that
    knows them has `mean_rewards(rounds) -> (K,)` and `variation(rounds)`; `facts` says what follows. One whose rewards
    have a fixed mean, whatever happened before, says so by `still = True`.

    Feedback comes at once and all actions are there, unless a game has `arrives(key, start, stop) -> (n,)`, the round
    after which the feedback of each round is learned, -1 if never, or `available(key, start, stop) -> (n, K)`, which
    actions there are. Such rounds are not played in a compiled loop.
    """

    about: ClassVar[str]

    @property
    def actions(self) -> int:
        """K, how many."""
        ...

    @property
    def constraints(self) -> int:
        """m, how many."""
        ...

    @property
    def length(self) -> int | None:
        """How many rounds there are; None when there is no end."""
        ...

    @property
    def mean_constraints(self) -> Matrix | None:
        """The mean constraints (m, K), where the game knows them."""
        ...

    @property
    def setting(self) -> Setting:
        """What a theorem may assume of this game."""
        ...

    def block(self, key: Words, start: int, stop: int) -> Block:
        """Rounds start .. stop - 1 of the nature with this key."""
        ...

    def means(self) -> tuple[Vector, Matrix] | None:
        """Means of independent Bernoulli rewards and constraints, if that is the game: it is then drawn lazily."""
        ...


# What games are made of --------------------------------------------------------------------------------------------------


class Endless:
    """No end, nothing to draw lazily, one constraint whose mean is known, `kept`, and the same game for every floor."""

    length = None
    constraints = 1
    kept: tuple[float, ...]  # (K,)  the mean constraint of each action

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """The game for that floor, one number per constraint, and that many rounds."""
        return cls()

    @cached_property
    def mean_constraints(self) -> Matrix:
        return np.array([self.kept], dtype=np.float64)

    @property
    def actions(self) -> int:
        return len(self.kept)

    def means(self) -> None:
        return None


class Fixed(ABC):
    """Rewards that are the same for every seed: what they average to and how far they vary is known beforehand."""

    @abstractmethod
    def script(self, start: int, stop: int) -> Matrix:
        """The rewards of rounds start .. stop - 1, (n, K)."""

    def _chunks(self, rounds: int) -> Iterator[Matrix]:
        return (self.script(start, min(start + CHUNK, rounds)) for start in range(0, rounds, CHUNK))

    def mean_rewards(self, rounds: int) -> Vector:
        """sum_t r_t / T, (K,)"""
        mean: Vector = sum(chunk.sum(axis=0, dtype=np.float64) for chunk in self._chunks(check_rounds(rounds))) / rounds
        return mean

    def variation(self, rounds: int) -> float:
        """sum_t max_i |r_t - mean r|_i, as `lewa.variation` of all the rewards, a part of them at a time."""
        mean = self.mean_rewards(rounds)
        return float(sum(np.abs(chunk - mean).max(axis=1).sum() for chunk in self._chunks(rounds)))


class Scripted(Fixed, Endless):
    """Rewards by a script; constraints that are the same every round or, if `noisy`, coins with those means."""

    noisy: bool = False

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid" if self.noisy else "constant", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        shown = (
            coins(self.mean_constraints, key, start, stop)
            if self.noisy
            else np.tile(self.mean_constraints, (stop - start, 1, 1))
        )
        return Block(self.script(start, stop), shown)


def numbers(key: Words, start: int, stop: int, each: int) -> Matrix:
    """So many numbers of nature, even in [0, 1), for each of the rounds start .. stop - 1: (n, each)."""
    out = np.empty((stop - start, each))
    with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
        lots(key, start * each, out.reshape(-1))
    return out


def coins(means: Matrix, key: Words, start: int, stop: int) -> Cube:
    """The constraints (n, m, K) of rounds start .. stop - 1, coins with these means (m, K)."""
    m, K = means.shape
    rewards, constraints = np.empty((stop - start, K)), np.empty((stop - start, m, K))
    with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
        toss(np.zeros(K), means, key, start, rewards, constraints)
    return constraints


def check_rounds(rounds: int) -> int:
    """The number of rounds, if it is one."""
    if not isinstance(rounds, Integral) or rounds < 1:
        raise ValueError(f"rounds must be a whole number of at least 1, got {rounds}")
    return int(rounds)


def one_floor(floor: object) -> float:
    """The floor of a game with one constraint."""
    each = as_floor(floor)
    if each.size != 1:
        raise ValueError(f"this game has one constraint, so there must be one floor, got {each.tolist()}")
    return float(each[0])


# What is known -----------------------------------------------------------------------------------------------------------


class Facts(NamedTuple):
    """What is known about a game at some floor, before it is played; None where the game cannot tell."""

    feasible: bool | None  # whether some play meets every floor
    slater: float | None  # the largest S such that some play exceeds every floor by S; below 0 where none meets them
    variation: float | None  # sum of max_i |r_t - mean r|_i over the rounds
    value: float | None  # mean reward per round of the best fixed play that meets the floors
    price: tuple[float, ...] | None  # what one more unit of each floor would cost it


def facts(game: Any, floor: object, rounds: int) -> Facts:
    """What the game knows about itself at this floor and over this many rounds.

    >>> import lewa
    >>> facts(lewa.games.SlowBurn(floor=0.5, nu=0.125), floor=0.5, rounds=1000)
    Facts(feasible=True, slater=0.0, variation=0.0, value=0.0, price=(8.0,))
    """
    c0, mean_constraints, rounds = as_floor(floor), game.mean_constraints, check_rounds(rounds)
    if c0.size != game.constraints:
        raise ValueError(f"there must be one floor per constraint, got {c0.size} for a game with {game.constraints}")
    if game.length is not None and rounds > game.length:
        raise ValueError(f"rounds must be at most the game's {game.length}, got {rounds}")
    variation = game.variation(rounds) if hasattr(game, "variation") else None
    if mean_constraints is None:
        return Facts(None, None, variation, None, None)
    slack = slater_gap(mean_constraints, c0)
    feasible = slack >= -TIGHT
    if not feasible or not hasattr(game, "mean_rewards"):
        return Facts(feasible, slack, variation, None, None)
    best = best_fixed_play(game.mean_rewards(rounds), mean_constraints, c0)
    return Facts(feasible, slack, variation, best.value, tuple(best.price.tolist()))


def assumed(game: Any, floor: object, rounds: int) -> Setting:
    """The game's setting with what a theorem may assume besides: Slater's gap and the rewards' variation.

    They are filled in where the bounds that take them apply: there is a gap, and the variation is known or the rewards
    have a fixed mean.
    """
    known, setting = facts(game, floor, rounds), game.setting
    stationary_rewards = getattr(game, "stationary_rewards", game.means() is not None)
    if known.slater is None or known.slater <= TIGHT or (known.variation is None and not stationary_rewards):
        return setting  # type: ignore[no-any-return]
    return setting._replace(slater=known.slater, variation=known.variation)  # type: ignore[no-any-return]


def slater_gap(constraints: Matrix, floor: Vector) -> float:
    """max over plays p of min over j of p.c_j - c0_j: in closed form for one constraint, by linear programming for more."""
    m, K = constraints.shape
    if m == 1:
        return float(constraints.max() - floor[0])
    from scipy.optimize import linprog  # imported here: it takes longer than everything else together

    found = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-constraints, np.ones((m, 1))]),
        b_ub=-floor,
        A_eq=np.append(np.ones(K), 0.0).reshape(1, -1),
        b_eq=[1.0],
        bounds=[(0, 1)] * K + [(None, None)],
        method="highs",
    )
    return min(float(-found.fun), float((constraints.max(axis=1) - floor).min()))  # solved to about 1e-9
