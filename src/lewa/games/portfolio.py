"""Portfolio management: daily returns of assets, under a limit on the average risk."""

from dataclasses import dataclass

import numpy as np

from lewa.blocks import Block
from lewa.games.base import OneConstraint, numbers
from lewa.theory.setting import Setting
from lewa.types import Vector, Words
from lewa.validation import as_floats, in_unit


@dataclass(frozen=True)
class Portfolio(OneConstraint):
    """Assets move with the market and on their own, and the average risk held is limited.

    The play is the portfolio: the share of each asset on a day. The return of asset i, in units of the largest possible
    return, is drift_i + beta_i M + specific_i X_i, where M is the market's move of the day and X_i the asset's own move, all
    uniform in [-1, 1]; the reward is (1 + return)/2, so 1/2 stands for no change. The assets are cash, bonds, stocks and
    venture. The numbers are invented.

    The constraint is 1 - risk weight, which is the same every day: p.c >= floor means that the average risk weight of the
    portfolio is at most 1 - floor. Turnover cannot be limited in this way, because it depends on two plays at once.

    >>> import lewa
    >>> game = lewa.games.Portfolio()
    >>> known = lewa.games.facts(game, floor=0.7, rounds=10_000)
    >>> f"return {2 * known.value - 1:.3f} per day; one more unit of risk would bring {2 * known.price[0]:.3f}"
    'return 0.040 per day; one more unit of risk would bring 0.100'

    Reference: E. Hazan, S. Kale, On stochastic and worst-case models for investing, NIPS 2009, to which the paper points.
    """

    about = "a portfolio: returns that move with the market, under a limit on the average risk held"
    stationary_rewards = True

    drift: tuple[float, ...] = (0.0, 0.02, 0.06, 0.08)  # (K,)  the mean return of each asset
    beta: tuple[float, ...] = (0.0, 0.1, 0.4, 0.5)  # (K,)  its exposure to the market
    specific: tuple[float, ...] = (0.0, 0.1, 0.2, 0.4)  # (K,)  the size of its own moves
    constraint_means: tuple[float, ...] = (1.0, 0.9, 0.5, 0.1)  # (K,)  1 - its risk weight

    def __post_init__(self) -> None:
        arrays = [as_floats(name, getattr(self, name)) for name in ("drift", "beta", "specific")]
        shapes = [each.shape for each in (in_unit("1 - risk weights", self.constraint_means), *arrays)]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1 or not shapes[0][0]:
            raise ValueError(
                f"constraint_means, drift, beta and specific must have one number per asset, got the shapes {shapes}"
            )
        parts = np.array(arrays)
        if not (np.abs(parts).sum(axis=0) <= 1).all():
            raise ValueError(f"|drift| + |beta| + |specific| must be at most 1, got {np.abs(parts).sum(axis=0).tolist()}")

    @property
    def setting(self) -> Setting:
        return Setting(constraints="constant", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        moves = 2 * numbers(key, start, stop, 1 + self.actions) - 1  # the market's, then each asset's own
        returns = np.array(self.drift) + moves[:, :1] * self.beta + moves[:, 1:] * self.specific
        return Block(np.clip((1 + returns) / 2, 0, 1), np.tile(self.mean_constraints, (stop - start, 1, 1)))

    def mean_rewards(self, rounds: int) -> Vector:
        return (1 + np.array(self.drift)) / 2
