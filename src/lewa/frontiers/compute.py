"""Reward against budget, from data of the user's: what could have been had at each line, and what a learner gets there.

Of a table, which shows every action in every round, the best fixed play in hindsight at each line with its price, and the
learners replayed on it. Of a bandit log the same play from estimates, and what it would have had, off-policy. All in the
user's units, per round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lewa.data.columns import Columns, Data, from_columns
from lewa.data.files import read_data
from lewa.data.log import Log
from lewa.frontiers.budgets import Lines
from lewa.frontiers.of_log import of_log
from lewa.frontiers.of_table import of_table
from lewa.frontiers.result import Best, Frontier, Got, Judged, Mean, Point
from lewa.games.table import Table
from lewa.simulate.arguments import as_seeds

__all__ = ["Best", "Frontier", "Got", "Judged", "Mean", "Point", "frontier"]

POINTS = 9


def frontier(
    data: str | Path | Mapping[str, Any] | Data | Table | Log,
    *,
    reward: str | None = None,
    at_most: str | Sequence[str] = (),
    at_least: str | Sequence[str] = (),
    action: str | None = None,
    round: str | None = None,  # noqa: A002  the column's name
    propensity: str | None = None,
    budgets: Sequence[float] | None = None,
    points: int = POINTS,
    lines: Mapping[str, float] | None = None,
    learner: str | Sequence[str] = "auto",
    seeds: int | Iterable[int] = 8,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Reward against budget: the best that each line allows with its price, and what learners get there.

    `data` is a file (.csv, .csv.gz, .parquet, .npz), columns by name, or a game; the columns are named as `read_data` says.
    The line of one constraint is varied, the first for which `lines` has none: over `budgets`, or over `points` lines from
    the strictest that some play keeps to the one that no longer binds. `lines` says, by name, where those of others stay.
    "auto" takes the learners that did best on real data, one for full and one for bandit feedback; others go by name. Of a
    log, which shows one action a row with its propensity, plays are valued off-policy (`lewa.data.off_policy`) and no
    learner is replayed. `progress` is called with the rounds played so far and those in all.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> good = {"small": rng.random(2000) < 0.6, "large": rng.random(2000) < 0.9}
    >>> table = {f"answered:{name}": right for name, right in good.items()}
    >>> table |= {"dollars:small": np.full(2000, 0.001), "dollars:large": 0.008 + 0.004 * rng.random(2000)}
    >>> found = frontier(table, reward="answered", at_most="dollars", budgets=[0.004])
    >>> best = found.points[0].best
    >>> f"{best.value:.3f} answered by {best.play['large']:.2f} large, {best.price['dollars']:.0f} more per dollar"
    '0.700 answered by 0.33 large, 33 more per dollar'
    >>> for name, got in found.points[0].learners.items():
    ...     f"{name}: {got.reward.mean:.3f} answered for {got.average['dollars'].mean:.4f} dollars"
    'op-ewa kappa=0: 0.697 answered for 0.0039 dollars'
    'bandit-op-ewa kappa=0: 0.699 answered for 0.0039 dollars'
    """
    asked = Columns(reward, at_most, at_least, action, round, propensity)
    if isinstance(data, Mapping):
        data = from_columns(data, asked)
    elif isinstance(data, str | Path):
        data = read_data(data, asked)
    elif any(asked):
        raise ValueError("columns are named in a file or a mapping of columns; a game has none")
    own = data if isinstance(data, Data) else Data.of(data)
    if not isinstance(points, int) or points < 1:
        raise ValueError(f"points must be a whole number of at least 1, got {points!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if isinstance(own.game, Log):
        if learner != "auto":
            raise ValueError(f"no learner is replayed on a log for its frontier: `lewa replay` does that, got {learner}")
        return of_log(own, own.game, Lines.of(own, budgets, points, lines), level)
    return of_table(own, own.game, Lines.of(own, budgets, points, lines), level, learner, as_seeds(seeds), progress)
