"""Games with scripted rewards that change, or hardly do, each for what a theorem says."""

from dataclasses import dataclass
from math import isqrt, sqrt
from typing import Self

import numpy as np

from lewa.blocks import Block
from lewa.games.base import Scripted, check_per_action, convert_fields, numbers, one_floor
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_count, as_real, as_share, in_unit


@dataclass(frozen=True)
class Switching(Scripted):
    """The best action changes every `period` rounds.

    Rewards run through the rows of `rewards` (phases, K), `period` rounds each, and then start again. Constraints
    are coins with the means `constraint_means` (K,), or the means themselves if not `noisy`. `for_problem` makes a phase
    last sqrt(T) rounds: about the time that the weights of EWA or LEWA need to follow, so they lag behind the leader.

    The game belongs to Theorem 1 and docs/theory.md, 1.2: rewards fixed in advance, without a fixed distribution. Their
    variation is of order T, so the variation bound (1.10) is no better than 1.2, and 1.9, for rewards with a fixed
    mean, does not apply.

    >>> import lewa
    >>> game = lewa.games.Switching(period=100)
    >>> known = lewa.games.facts(game, floor=0.7, rounds=10_000)
    >>> f"price {known.price[0]:.2f}, variation {known.variation:.0f}"
    'price 0.50, variation 5000'
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=10_000, floor=0.7)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=10_000)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f} (bound {bound.violation[0]:.0f})"
    'regret -10, violation 72 (bound 2040)'
    """

    about = "the best action changes at regular intervals: rewards without a fixed distribution"

    period: int = 100  # the rounds of each phase
    rewards: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.3), (0.0, 1.0, 0.3))  # (phases, K)
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_fields(self)
        rewards, means = in_unit("rewards", self.rewards), in_unit("mean constraints", self.constraint_means)
        if rewards.ndim != 2 or rewards.shape[1:] != means.shape or not rewards.size:
            raise ValueError(f"rewards must have the shape (phases, {means.size}), got {rewards.shape}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with phases of sqrt(T) rounds."""
        return cls(period=isqrt(as_count("rounds", rounds)))

    def script(self, start: int, stop: int) -> Matrix:
        rows = np.array(self.rewards, dtype=np.float64)
        rewards: Matrix = rows[np.arange(start, stop) // self.period % len(rows)]
        return rewards


@dataclass(frozen=True)
class Drifting(Scripted):
    """Rewards drift slowly, and the actions take turns as the best.

    In round t = 0, 1, ... action i of K pays rewards_i + swing tri(t/period - i/K), where tri is the triangular wave that
    is 1 at whole numbers and -1 half way between. Constraints are coins with the means `constraint_means` (K,),
    or the means themselves if not `noisy`. `for_problem` sets period = T, so that each action leads once.

    The game belongs to the variation bound (docs/theory.md, 1.10) and errata E34: the paper mentions *consecutive* rewards,
    which differ by at most 4 swing/period here, but defines, and needs, the distance to the mean, whose sum is of order T.

    >>> import lewa
    >>> game = lewa.games.Drifting(period=10_000)
    >>> f"{lewa.games.facts(game, floor=0.7, rounds=10_000).variation:.0f} of 10000, each round at most {4 * 0.4 / 10_000}"
    '3333 of 10000, each round at most 0.00016'
    """

    about = "rewards drift slowly and the actions take turns as the best: small steps, large variation"

    period: int = 10_000  # the rounds of one cycle
    rewards: tuple[float, ...] = (0.6, 0.55, 0.4)  # (K,)  the mean rewards over a cycle
    swing: float = 0.4  # the largest distance of a reward from its mean
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_fields(self)
        rewards, swing = check_per_action(self.rewards, self.constraint_means), as_real("swing", self.swing)
        in_unit("rewards minus and plus the swing", [rewards - swing, rewards + swing])

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with one cycle of T rounds."""
        return cls(period=as_count("rounds", rounds))

    def script(self, start: int, stop: int) -> Matrix:
        t, i = np.arange(start, stop)[:, np.newaxis], np.arange(self.actions)
        phase = t / self.period - i / self.actions
        wave = 1 - 4 * np.abs(phase - np.rint(phase))
        rewards: Matrix = np.clip(np.array(self.rewards) + self.swing * wave, 0, 1)
        return rewards


@dataclass(frozen=True)
class LowVariation(Scripted):
    """Rewards hardly vary from one round to another.

    In even rounds every second action, from the first on, pays its mean plus `swing` and the others pay their means minus
    `swing`; in odd rounds the signs are exchanged. Constraints are coins with the means `constraint_means` (K,), or the
    means themselves if not `noisy`. `for_problem` sets swing = T^(-1/2), at most 0.1.

    The game belongs to the variation bound (docs/theory.md, 1.10): the variation is swing T, which is sqrt(T) by
    `for_problem`. If some play exceeds the floor by a fixed slack, LEWA's violation is then O(sqrt(T)), while 1.2 gives
    T^(3/4).

    >>> import lewa
    >>> T = 10_000
    >>> game = lewa.games.LowVariation.for_problem(floor=0.6, rounds=T)
    >>> known = lewa.games.facts(game, floor=0.6, rounds=T)
    >>> f"variation {known.variation:.1f}, some play exceeds the floor by {known.slater:.1f}, price {known.price[0]:.1f}"
    'variation 100.0, some play exceeds the floor by 0.3, price 1.0'
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> bounds = [bound.violation[0] for bound in learner.guarantees(3, T, lewa.games.assumed(game, 0.6, T))]
    >>> trace = lewa.play(learner, game, rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f} (bounds {bounds[0]:.0f} by variation, {bounds[1]:.0f} without)"
    'violation 142 (bounds 1438 by variation, 2040 without)'
    """

    about = "rewards hardly vary: the variation bound promises a violation of order sqrt(T)"

    swing: float = 0.01  # the distance of each reward from its mean
    rewards: tuple[float, ...] = (0.8, 0.6, 0.2)  # (K,)  the mean rewards
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_fields(self)
        rewards, swing = check_per_action(self.rewards, self.constraint_means), as_real("swing", self.swing)
        in_unit("rewards minus and plus the swing", [rewards - swing, rewards + swing])

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with swing T^(-1/2), at most 0.1."""
        return cls(swing=min(0.1, as_count("rounds", rounds) ** -0.5))

    def script(self, start: int, stop: int) -> Matrix:
        t, i = np.arange(start, stop)[:, np.newaxis], np.arange(self.actions)
        rewards: Matrix = np.array(self.rewards) + self.swing * (1 - 2 * ((t + i) % 2))
        return rewards


@dataclass(frozen=True)
class SlowBurn(Scripted):
    """All the reward is just below the floor: T^(3/4) is tight.

    The two actions have the rewards (1, 0) and the constraints (floor - nu, floor) in every round. Only the action without
    reward meets the floor, with no slack: Slater's gap is 0 and the price of the floor is 1/nu. `for_problem` sets
    nu = T^(-1/4).

    The game belongs to docs/theory.md, 1.8: the multiplier rises by mu nu per round and needs to reach 1/nu, which takes
    longer than the game, so LEWA plays the first action throughout and misses the floor by nu T = T^(3/4), half of its
    bound. Because it also shrinks, the multiplier never exceeds nu/delta: against given steps `hardest` sets nu^2 = delta +
    1/(mu T), for which LEWA misses the floor by 1/sqrt(2) of its bound. A fixed or gated penalty below 1/nu never leaves the
    first action, for any number of rounds.

    >>> import lewa
    >>> T = 100_000
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=T, floor=0.5)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=T, constraints="constant").violation[0]
    >>> hardest = lewa.games.SlowBurn.hardest(floor=0.5, rounds=T, delta=learner.delta, mu=learner.mu)
    >>> for game in (lewa.games.SlowBurn.for_problem(floor=0.5, rounds=T), hardest):
    ...     violation = lewa.violation(lewa.play(learner, game, rounds=T))[0, 0]
    ...     f"violation {violation / T**0.75:.3f} T^(3/4), {violation / bound:.2f} of the bound"
    'violation 0.999 T^(3/4), 0.52 of the bound'
    'violation 1.352 T^(3/4), 0.70 of the bound'
    """

    about = "all the reward is just below the floor: LEWA misses it by T^(3/4)"

    floor: float = 0.5
    nu: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= as_real("nu", self.nu) <= as_share("floor", self.floor):
            raise ValueError(f"nu must lie between 0 and the floor, got nu={self.nu}, floor={self.floor}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with nu = T^(-1/4), at most the floor."""
        c0 = one_floor(floor)
        return cls(c0, min(c0, as_count("rounds", rounds) ** -0.25))

    @classmethod
    def hardest(cls, floor: object, rounds: int, delta: float, mu: float) -> Self:
        """Return the game with nu = sqrt(delta + 1/(mu T)), at most the floor, the hardest for LEWA with these steps.

        Parameters
        ----------
        floor
            The floor.
        rounds
            The number of rounds, T.
        delta, mu
            The shrinkage and the step of LEWA's multiplier.
        """
        c0 = one_floor(floor)
        return cls(c0, min(c0, sqrt(delta + 1 / (mu * as_count("rounds", rounds)))))

    @property
    def constraint_means(self) -> tuple[float, ...]:
        return self.floor - self.nu, self.floor

    def script(self, start: int, stop: int) -> Matrix:
        return np.tile([1.0, 0.0], (stop - start, 1))


@dataclass(frozen=True)
class Slater(Scripted):
    """One action exceeds the floor by far, but its weight is small by the time it is needed.

    The three actions have the constraints (floor - nu, floor, 1) in every round. Rewards are (1, 1, 0) in the first `change`
    rounds and then (1, 0, 0). Slater's gap is always 1 - floor. `for_problem` sets nu = T^(-1/6), and the rewards change
    1.8 T^(5/6) rounds before the end.

    While the second action pays, the log-weight of the third falls linearly. Then only the first pays, just below the
    floor, and the multiplier has to offset this before the third is played. The game belongs to the variation bound
    (docs/theory.md, 1.10): the variation is of order T^(5/6), for which the bound is of order T^(2/3). LEWA's violation at
    floor 1/2 was measured as 1.57, 1.48 and 1.42 T^(2/3) at T = 10^4, 10^5 and 10^6; there is no proof that the rate is
    attained. The constants 1.8 and 1/6 come from a search on a small grid for a large violation at these T.

    >>> import lewa
    >>> T = 100_000
    >>> game = lewa.games.Slater.for_problem(floor=0.5, rounds=T)
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=T, floor=0.5)
    >>> bound = learner.guarantees(3, T, lewa.games.assumed(game, floor=0.5, rounds=T))[0]
    >>> trace = lewa.play(learner, game, rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0] / T ** (2 / 3):.2f} T^(2/3), bound {bound.violation[0] / T ** (2 / 3):.2f}"
    'violation 1.48 T^(2/3), bound 3.97'
    """

    about = "one action exceeds the floor by far, but plain LEWA cannot raise its weight in time"

    floor: float = 0.5
    nu: float = 0.2
    change: int = 6_000

    def __post_init__(self) -> None:
        if not 0 <= as_real("nu", self.nu) <= as_share("floor", self.floor):
            raise ValueError(f"nu must lie between 0 and the floor, got nu={self.nu}, floor={self.floor}")
        convert_fields(self, least=0)

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with nu = T^(-1/6), at most the floor, that changes 1.8 T^(5/6) rounds before the end."""
        c0, T = one_floor(floor), as_count("rounds", rounds)
        return cls(c0, min(c0, T ** (-1 / 6)), max(0, T - round(1.8 * T ** (5 / 6))))

    @property
    def constraint_means(self) -> tuple[float, ...]:
        return self.floor - self.nu, self.floor, 1.0

    def script(self, start: int, stop: int) -> Matrix:
        early = np.arange(start, stop) < self.change
        return np.column_stack([np.ones(stop - start), early, np.zeros(stop - start)])


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
        convert_fields(self)
        check_per_action(self.rewards, self.constraint_means)
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
