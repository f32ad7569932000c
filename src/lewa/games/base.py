"""Base classes of games, with scripted rewards and known mean constraints; and facts about a game in advance."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lewa.blocks import Block
from lewa.game import Game, check_game
from lewa.kernels import lots, toss
from lewa.measures.best_play import TIGHT, best_fixed_play, slater_gap
from lewa.theory.setting import Setting
from lewa.types import Cube, Matrix, Vector, Words
from lewa.validation import as_count, as_flag, as_floor, in_unit

CHUNK = 1 << 16  # rounds laid out at a time when rewards are added up


# What games are made of --------------------------------------------------------------------------------------------------


class OneConstraint(Game):
    """A game with one constraint, whose mean is known for each action."""

    constraints = 1

    if TYPE_CHECKING:  # a field or a property, as in `Game`

        @property
        def constraint_means(self) -> tuple[float, ...]:
            """The mean constraint of each action, (K,)."""

    @cached_property
    def mean_constraints(self) -> Matrix:
        return np.array([self.constraint_means], dtype=np.float64)

    @property
    def actions(self) -> int:
        return len(self.constraint_means)


class FixedRewards(Game, ABC):
    """A game whose rewards are the same for every seed, so that their mean and their variation are known in advance."""

    @abstractmethod
    def script(self, start: int, stop: int) -> Matrix:
        """Return the rewards of rounds start .. stop - 1, (n, K)."""

    def _chunks(self, rounds: int) -> Iterator[Matrix]:
        return (self.script(start, min(start + CHUNK, rounds)) for start in range(0, rounds, CHUNK))

    def mean_rewards(self, rounds: int) -> Vector:
        """Return sum_t r_t / T, (K,)."""
        rounds = as_count("rounds", rounds)
        mean: Vector = sum(chunk.sum(axis=0, dtype=np.float64) for chunk in self._chunks(rounds)) / rounds
        return mean

    def variation(self, rounds: int) -> float:
        """Return sum_t max_i |r_t - mean r|_i as in `lewa.measures.variation`, computed block by block."""
        mean = self.mean_rewards(rounds)
        return float(sum(np.abs(chunk - mean).max(axis=1).sum() for chunk in self._chunks(rounds)))


class Scripted(FixedRewards, OneConstraint):
    """A game with scripted rewards, and constraints that are constant or, if `noisy`, coins with these means."""

    noisy: bool = False

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid" if self.noisy else "constant", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        constraints = (
            coins(self.mean_constraints, key, start, stop)
            if self.noisy
            else np.tile(self.mean_constraints, (stop - start, 1, 1))
        )
        return Block(self.script(start, stop), constraints)


def numbers(key: Words, start: int, stop: int, each: int) -> Matrix:
    """Return `each` random numbers for each of the rounds start .. stop - 1, uniform in [0, 1)."""
    out = np.empty((stop - start, each))
    lots(key, start * each, out.reshape(-1))
    return out


def coins(means: Matrix, key: Words, start: int, stop: int) -> Cube:
    """Return constraints (n, m, K) of the rounds start .. stop - 1 that are coins with these means (m, K)."""
    m, K = means.shape
    rewards, constraints = np.empty((stop - start, K)), np.empty((stop - start, m, K))
    toss(np.zeros(K), means, key, start, rewards, constraints)
    return constraints


def convert_fields(game: Any, least: int = 1) -> None:
    """Turn integer fields of a game, frozen or not, into numbers of at least `least`; raise ValueError for others.

    Fields that are True or False are checked too.
    """
    for field in fields(game):
        name, value = field.name, getattr(game, field.name)
        if field.type in (int, bool):
            object.__setattr__(game, name, as_count(name, value, least) if field.type is int else as_flag(name, value))


def check_per_action(rewards: object, constraint_means: object) -> Vector:
    """Return the rewards as an array; raise ValueError unless rewards and constraint means have one number per action."""
    r, c = in_unit("rewards", rewards), in_unit("mean constraints", constraint_means)
    if r.shape != c.shape or r.ndim != 1 or not r.size:
        raise ValueError(f"rewards and constraint_means must have one number per action, got {r.shape} and {c.shape}")
    return r


def one_floor(floor: object) -> float:
    """Return the floor of a game with one constraint."""
    each = as_floor(floor)
    if each.size != 1:
        raise ValueError(f"a game with one constraint must have one floor, got {each.tolist()}")
    return float(each[0])


# What is known -----------------------------------------------------------------------------------------------------------


class Facts(NamedTuple):
    """Facts about a game at some floor before it is played; None if the game does not know them."""

    feasible: bool | None  # whether some play meets every floor
    slater: float | None  # the largest S such that some play exceeds every floor by S; negative if no play meets them
    variation: float | None  # sum of max_i |r_t - mean r|_i over the rounds
    value: float | None  # the mean reward per round of the best fixed play that meets the floors
    price: tuple[float, ...] | None  # the loss of that reward per unit of raising each floor


def facts(game: Game, floor: object, rounds: int) -> Facts:
    """Return the facts that the game knows at this floor and over this many rounds.

    >>> import lewa
    >>> facts(lewa.games.SlowBurn(floor=0.5, nu=0.125), floor=0.5, rounds=1000)
    Facts(feasible=True, slater=0.0, variation=0.0, value=0.0, price=(8.0,))
    """
    c0, mean_constraints, rounds = as_floor(floor), check_game(game).mean_constraints, as_count("rounds", rounds)
    if c0.size != game.constraints:
        raise ValueError(f"floor must have one number per constraint, got {c0.size} for {game.constraints} constraints")
    if game.length is not None and rounds > game.length:
        raise ValueError(f"rounds must be at most the game's length {game.length}, got {rounds}")
    variation = game.variation(rounds)
    if mean_constraints is None:
        return Facts(None, None, variation, None, None)
    slack = slater_gap(mean_constraints, c0)
    feasible, mean_rewards = slack >= -TIGHT, game.mean_rewards(rounds)
    if not feasible or mean_rewards is None:
        return Facts(feasible, slack, variation, None, None)
    best = best_fixed_play(mean_rewards, mean_constraints, c0)
    return Facts(feasible, slack, variation, best.value, tuple(best.price.tolist()))


def assumed(game: Game, floor: object, rounds: int) -> Setting:
    """Return the game's setting with two further assumptions of theorems: Slater's gap and the rewards' variation.

    Each is set if the bounds that use it apply: if there is a gap, and if the variation is known or the rewards have a
    fixed mean.
    """
    known, setting = facts(game, floor, rounds), game.setting
    stationary = game.stationary_rewards or game.means() is not None
    if known.slater is None or known.slater <= TIGHT or (known.variation is None and not stationary):
        return setting
    return setting._replace(slater=known.slater, variation=known.variation)
