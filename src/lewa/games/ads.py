"""The paper's second example: ads of advertisers who each have a budget, so that there are many constraints."""

from typing import Self

import numpy as np

from lewa.games.bernoulli import Bernoulli
from lewa.validation import as_floor, in_unit

CLICKS = (0.35, 0.25), (0.30, 0.20), (0.25, 0.15)
CONTESTED = (0.8, 0.4), (0.7, 0.3), (0.6, 0.2)


class Ads(Bernoulli):
    """Ads are shown for clicks, and each advertiser has a budget.

    Advertiser j has the ads of row j. An ad that is shown is clicked with its rate in `clicks` (m, n), which is the mean
    reward. With its probability in `contested` (m, n) another advertiser bids for the place too, and j pays 1 for it. Action
    0 is a house ad, which is free and rarely clicked: it makes every budget feasible.

    Constraint j is 1 minus the payment of advertiser j: its mean is 1 - contested for an ad of j, and 1 for all other ads.
    So p.c_j >= floor_j means that j pays at most 1 - floor_j per round: a budget of 0.1 per round is the floor 0.9.
    `for_problem` makes as many advertisers as there are floors.

    Clicks and payments are independent coins. A price per click would make the payment a function of the reward, which the
    theorem for rewards fixed in advance (docs/theory.md, 1.2) does not cover.

    >>> import lewa
    >>> budgets = [0.3, 0.2, 0.1]
    >>> game = lewa.games.Ads.for_problem(floor=[1 - budget for budget in budgets], rounds=10_000)
    >>> game.actions, game.constraints
    (7, 3)
    >>> known = lewa.games.facts(game, floor=[0.7, 0.8, 0.9], rounds=10_000)
    >>> f"clicks {known.value:.3f} per round; one more unit of a budget would bring {[round(x, 3) for x in known.price]}"
    'clicks 0.285 per round; one more unit of a budget would bring [0.25, 0.214, 0.167]'
    """

    about = "ads for clicks, each advertiser with a budget: as many constraints as advertisers"

    def __init__(self, clicks: object = CLICKS, contested: object = CONTESTED, house: float = 0.05) -> None:
        rates, paid = in_unit("click rates", clicks), in_unit("contested", contested)
        if rates.ndim != 2 or rates.shape != paid.shape or not rates.size:
            raise ValueError(f"clicks and contested must have the shape (advertisers, ads), got {rates.shape}, {paid.shape}")
        m, n = rates.shape
        constraints = np.ones((m, 1 + m * n))
        for j in range(m):
            constraints[j, 1 + j * n : 1 + (j + 1) * n] = 1 - paid[j]
        super().__init__(rewards=[house, *rates.ravel()], constraints=constraints)
        self._arguments = f"clicks={rates.tolist()}, contested={paid.tolist()}, house={house}"

    def __repr__(self) -> str:
        return f"Ads({self._arguments})"

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with one advertiser per floor; the fourth is like the first, and so on."""
        rows = np.arange(as_floor(floor).size) % len(CLICKS)
        return cls(np.array(CLICKS)[rows], np.array(CONTESTED)[rows])
