"""The Bernoulli game: every reward and every constraint is an independent coin."""

import numpy as np

from lewa.blocks import Block
from lewa.game import Game
from lewa.kernels import toss
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import in_unit


class Bernoulli(Game):
    """Independent coins for every reward and every constraint.

    In each round the reward of an action is 1 with probability equal to its mean, else 0; so is each constraint.

    Means of 0 and 1 make a coin certain, so deterministic games are Bernoulli games too.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> game.actions, game.constraints
    (2, 1)
    """

    mean_constraints: Matrix  # (m, K)

    about = "independent coins for rewards and constraints; the more expensive action pays more"
    stationary_rewards = True

    def __init__(self, rewards: object = (0.9, 0.6, 0.3), constraints: object = ((0.2, 0.5, 0.9),)) -> None:
        self.rewards: Vector = in_unit("mean rewards", rewards)
        if self.rewards.ndim != 1 or not self.rewards.size:
            raise ValueError(f"mean rewards must have the shape (actions,), at least one, got {self.rewards.shape}")
        self.mean_constraints: Matrix = np.ascontiguousarray(np.atleast_2d(in_unit("mean constraints", constraints)))
        if self.mean_constraints.ndim != 2 or self.mean_constraints.shape[1:] != self.rewards.shape:
            raise ValueError(
                f"mean constraints must have the shape (m, {self.rewards.size}), got {self.mean_constraints.shape}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rewards={self.rewards.tolist()}, constraints={self.mean_constraints.tolist()})"

    @property
    def actions(self) -> int:
        return self.rewards.size

    @property
    def constraints(self) -> int:
        return self.mean_constraints.shape[0]

    @property
    def setting(self) -> Setting:
        certain = bool(np.isin(self.mean_constraints, (0.0, 1.0)).all())
        return Setting(constraints="constant" if certain else "iid", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        rewards = np.empty((stop - start, self.actions))
        constraints = np.empty((stop - start, self.constraints, self.actions))
        toss(self.rewards, self.mean_constraints, key, start, rewards, constraints)
        return Block(rewards, constraints)

    def means(self) -> tuple[Vector, Matrix]:
        return self.rewards, self.mean_constraints

    def mean_rewards(self, rounds: int) -> Vector:
        return self.rewards

    def variation(self, rounds: int) -> float | None:
        # 0 where every coin is certain; else it is another one for each seed
        return 0.0 if np.isin(self.rewards, (0.0, 1.0)).all() else None
