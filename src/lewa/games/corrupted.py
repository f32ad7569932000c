"""Constraints with corruption: an adversary changes their means in some rounds, up to a total amount."""

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from lewa.blocks import Block
from lewa.games.base import Scripted, check_per_action, convert_counts, convert_flags, numbers
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_count, as_real


@dataclass(frozen=True)
class Corrupted(Scripted):
    """Constraints are coins, with their means reversed in some rounds.

    Rewards are the same every round, and constraints are coins with the means `constraint_means` (K,), or the means
    themselves if not `noisy`. In rounds 0, every, 2 every, ... the order of these means is reversed, so the action with the
    largest reward seems to have the largest constraint too. Each such round uses max_i |c_i - c_{K-1-i}| of `corruption` for
    these means c, until it is used up. With every = 1 all of them come at the start; a larger number spreads them.
    `for_problem` sets corruption = sqrt(T).

    The game belongs to docs/theory_adversarial.md, 3: regret, violation and `mean_constraints` refer to the uncorrupted
    means.

    >>> import lewa
    >>> T = 100_000
    >>> for C in (0, 100, 1000):
    ...     game = lewa.games.Corrupted(corruption=C)
    ...     setting = lewa.games.assumed(game, floor=0.6, rounds=T)
    ...     learner = lewa.learners.FixedShareLewa.tuned(actions=3, horizon=T, floor=0.6)
    ...     bound = learner.guarantees(3, T, setting)[0].violation[0]
    ...     print(f"C = {C}: violation {lewa.violation(lewa.play(learner, game, T))[0, 0]:.0f} (bound {bound:.0f})")
    C = 0: violation 756 (bound 3332)
    C = 100: violation 681 (bound 3544)
    C = 1000: violation 1038 (bound 5758)
    """

    about = "constraints are coins, with their means reversed in some rounds: corruption"

    corruption: float = 100.0  # the total corruption
    every: int = 1  # the distance in rounds between corrupted rounds
    rewards: tuple[float, ...] = (0.9, 0.6, 0.3)  # (K,)
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_counts(self, "every")
        check_per_action(self.rewards, self.constraint_means)
        convert_flags(self, "noisy")
        if not 0 <= as_real("corruption", self.corruption) < np.inf:
            raise ValueError(f"corruption must be a number of at least 0, got {self.corruption}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with corruption sqrt(T)."""
        return cls(corruption=sqrt(as_count("rounds", rounds)))

    @property
    def corrupt_rounds(self) -> int:
        """The number of rounds in which the means are reversed."""
        size = float(np.abs(self.mean_constraints - self.mean_constraints[:, ::-1]).max())
        return int(self.corruption / size) if size > 0 else 0

    @property
    def setting(self) -> Setting:
        return super().setting._replace(corruption=self.corruption if self.corrupt_rounds else 0.0)

    def mean_rewards(self, rounds: int) -> Vector:
        return np.array(self.rewards, dtype=np.float64)

    def variation(self, rounds: int) -> float:
        return 0.0

    def script(self, start: int, stop: int) -> Matrix:
        return np.tile(self.mean_rewards(1), (stop - start, 1))

    def block(self, key: Words, start: int, stop: int) -> Block:
        t = np.arange(start, stop)[:, np.newaxis]
        corrupt = (t % self.every == 0) & (t // self.every < self.corrupt_rounds)
        means = np.where(corrupt, self.mean_constraints[:, ::-1], self.mean_constraints)
        if self.noisy:
            means = (numbers(key, start, stop, self.actions) < means).astype(np.float64)
        return Block(self.script(start, stop), means[:, np.newaxis])
