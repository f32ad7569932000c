"""Compute reward against budget from the user's data: the best reward at each limit, and the results of learners there.

For a table, which has every action in every round, the result is the best fixed play in hindsight at each limit, its price,
and the results of learners that are replayed. For a bandit log it is the best play by estimates, and its off-policy value.
All numbers are in the user's units, per round.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from lewa.data.columns import Columns, Data, texts
from lewa.data.frames import DataLike, as_data
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.context_gain import context_gains
from lewa.frontiers.log_evidence import Evidence
from lewa.frontiers.of_log import of_log
from lewa.frontiers.of_table import Replays, of_table
from lewa.frontiers.result import Frontier
from lewa.games.table import Table
from lewa.simulate.arguments import as_seeds
from lewa.validation import short_repr

POINTS, MOST_POINTS = 9, 10_000


def frontier(
    data: DataLike,
    *,
    reward: str | None = None,
    at_most: str | Sequence[str] = (),
    at_least: str | Sequence[str] = (),
    action: str | None = None,
    round: str | None = None,  # noqa: A002  the column's name
    propensity: str | None = None,
    context: str | Sequence[str] = (),
    drop_missing: bool = False,
    budgets: Sequence[float] | None = None,
    points: int = POINTS,
    lines: Mapping[str, float] | None = None,
    learner: str | Sequence[str] = "auto",
    seeds: int | Iterable[int] = 8,
    level: float = 0.95,
    confidence: float | None = 0.95,
    folds: str = "auto",
    goal: str = "practice",
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
) -> Frontier:
    """Return reward against budget: the best reward at each limit, its price, and the results of learners.

    Parameters
    ----------
    data
        A file (.csv, .csv.gz, .parquet, .npz), a DataFrame of any library, columns by name, or a game. A folder of Parquet
        files, or a large Parquet file, is read row group by row group, so that it may be larger than memory.
    reward, at_most, at_least, action, round, propensity
        The names of columns, as `lewa.data.files.read_data` describes them: a quantity is NAME or NAME=LOW..HIGH, actions
        are NAME or NAME=LABEL:TEXT,LABEL:TEXT.
    context
        The names of columns that are known before each decision, as NAME or NAME=KIND, where the kind is number, category,
        text or date. The best policy on them is then compared with the best
        fixed mixture, on rows that did not choose it. In a log no draw may depend on other rows.
    drop_missing
        Whether to leave out the rows of a log that have no reward.
    budgets, points
        The limit of one constraint is varied, the first without a limit in `lines`: over `budgets`, or over `points` limits
        from the strictest feasible one to the first that no longer binds.
    lines
        The limits of other constraints, by name.
    learner
        The names of learners to replay. "auto" replays the learners that did best on real data, one for full and one for
        bandit feedback. No learner is replayed on a log, which has one action per row: plays are evaluated off-policy
        (`lewa.data.off_policy`).
    seeds, level
        The number of seeds of each learner, or the seeds; and the level of intervals.
    confidence
        For a log, the probability with which the play at a limit keeps it in future rows. None returns the play that just
        keeps the limit in these rows; its true average is often beyond the limit.
    folds
        The rows of a log that choose a play and those that value it: "halves", the first half and the second; "shuffled",
        two halves drawn at random, each of which values what the other chose, for logs in which no draw depends on other
        rows; "auto", shuffled halves if each action has the same propensity in all of its rows.
    goal
        The rule for "auto" (`lewa.choice`): "practice", or "proved", the learners with the smallest bound.
    progress
        Called with the number of rounds played, or rows read, so far and in all.
    executor
        Reads row groups and replays learners, for instance `client.get_executor()` of a Dask cluster whose workers see the
        same files. The numbers do not depend on it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> good = {"small": rng.random(2000) < 0.6, "large": rng.random(2000) < 0.9}
    >>> table = {f"answered:{name}": right for name, right in good.items()}
    >>> table |= {"dollars:small": np.full(2000, 0.001), "dollars:large": 0.008 + 0.004 * rng.random(2000)}
    >>> result = frontier(table, reward="answered", at_most="dollars", budgets=[0.004])
    >>> best = result.points[0].best
    >>> f"{best.value:.3f} answered by {best.play['large']:.2f} large, {best.price['dollars']:.0f} more per dollar"
    '0.700 answered by 0.33 large, 33 more per dollar'
    >>> for name, got in result.points[0].learners.items():
    ...     f"{name}: {got.reward.mean:.3f} answered for {got.average['dollars'].mean:.4f} dollars"
    'paced-hedge: 0.700 answered for 0.0040 dollars'
    'squarecb-lewa: 0.699 answered for 0.0040 dollars'
    """
    named = as_data(
        data, Columns(reward, at_most, at_least, action, round, propensity, context, None, drop_missing), executor
    )
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= MOST_POINTS:
        raise ValueError(f"points must be an integer from 1 to {MOST_POINTS}, got {short_repr(points)}")
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {short_repr(level)}")
    if confidence is not None and (not isinstance(confidence, int | float) or not 0 < confidence < 1):
        raise ValueError(f"confidence must lie between 0 and 1 or be None, got {short_repr(confidence)}")
    names, game = texts("learners", learner), named.game
    limits = Budgets.of(named, budgets, points, lines)
    if isinstance(game, Table):
        if folds != "auto":
            raise ValueError(
                f"folds need a log, but these data have every action in every round, got folds={short_repr(folds)}"
            )
        how = Replays(names, as_seeds(seeds), goal, progress, executor)
        return _completed(of_table(named, game, limits, level, how), named, limits)
    if names != ["auto"]:
        raise ValueError(f"the frontier of a log cannot replay learners: use `lewa replay`, got {short_repr(names)}")
    evidence = Evidence(named, game, folds, executor, progress)
    return _completed(of_log(named, game.rows, evidence, limits, level, confidence), named, limits)


def _completed(result: Frontier, data: Data, limits: Budgets) -> Frontier:
    """Add what was said when the data were read, and the gain of a context at each limit, if context columns are named."""
    result = replace(result, notes=(*result.notes, *data.notes))
    if not data.contexts.size:
        return result
    varied = limits.varied  # a line of the grid may lie outside of the range by its rounding
    floors = [varied.floor(min(max(point.line, varied.low), varied.high)) for point in result.points]
    return replace(result, context=context_gains(data, limits, floors))
