"""Constraints that are not quite independent of each other: an adversary may lie about them, so much in all."""

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from lewa.blocks import Block
from lewa.games.base import Scripted, check_rounds, numbers
from lewa.theory.guarantees import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import in_unit


@dataclass(frozen=True)
class Corrupted(Scripted):
    """Constraints are coins, but for some rounds in which they are turned round.

    Rewards are the same every round, and constraints are coins with the means `kept` (K,), or the means themselves if not
    `noisy`. In rounds 0, every, 2 every, ... those means are turned round, the first action's for the last one's: the
    action that pays most seems to keep most too. Each such round costs max_i |kept_i - kept_{K-1-i}|, and there are as many
    as `corruption` pays for. With every = 1 all lies are told at once, at the start; a larger number spreads them. Posed,
    corruption = sqrt(T).

    It goes with docs/theory_adversarial.md, 3: regret, violation and `truth` are by what is not corrupted.

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

    about = "coins for constraints, but for some rounds in which they are turned round: corruption"

    corruption: float = 100.0
    every: int = 1
    rewards: tuple[float, ...] = (0.9, 0.6, 0.3)
    kept: tuple[float, ...] = (0.2, 0.5, 0.9)
    noisy: bool = True

    def __post_init__(self) -> None:
        check_rounds(self.every)
        rewards, kept = in_unit("rewards", self.rewards), in_unit("mean constraints", self.kept)
        if rewards.shape != kept.shape or rewards.ndim != 1 or not rewards.size:
            raise ValueError(f"rewards and kept must have one number per action, got {rewards.shape} and {kept.shape}")
        if not 0 <= self.corruption < np.inf:
            raise ValueError(f"corruption must be a number of at least 0, got {self.corruption}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """C = sqrt(T)"""
        return cls(corruption=sqrt(check_rounds(rounds)))

    @property
    def lies(self) -> int:
        """In how many rounds the means are turned round."""
        size = float(np.abs(self.mean_constraints - self.mean_constraints[:, ::-1]).max())
        return int(self.corruption / size) if size > 0 else 0

    @property
    def setting(self) -> Setting:
        return super().setting._replace(corruption=self.corruption if self.lies else 0.0)

    def mean_rewards(self, rounds: int) -> Vector:
        return np.array(self.rewards, dtype=np.float64)

    def variation(self, rounds: int) -> float:
        """They never vary."""
        return 0.0

    def script(self, start: int, stop: int) -> Matrix:
        return np.tile(self.mean_rewards(1), (stop - start, 1))

    def block(self, key: Words, start: int, stop: int) -> Block:
        t = np.arange(start, stop)[:, np.newaxis]
        lied = (t % self.every == 0) & (t // self.every < self.lies)
        shown = np.where(lied, self.mean_constraints[:, ::-1], self.mean_constraints)
        if self.noisy:
            shown = (numbers(key, start, stop, self.actions) < shown).astype(np.float64)
        return Block(self.script(start, stop), shown[:, np.newaxis])
