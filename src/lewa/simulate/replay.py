"""Replay a learner on data: on every round of a table, or on the rows of a bandit log."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor

from lewa import learners
from lewa.choice import choose_learner
from lewa.data.columns import Columns, Data
from lewa.data.frames import DataLike, as_data, with_group_lines
from lewa.data.log import Log, StreamedLog
from lewa.games.table import Table
from lewa.learners.base import Learner
from lewa.measures.trace import Trace
from lewa.simulate.arguments import as_learner
from lewa.simulate.log_replay import LogReplay, StreamedReplay, replay_log, replay_stream
from lewa.simulate.run import play, play_elsewhere
from lewa.units import Units
from lewa.validation import as_floor, nearest


def replay(
    data: DataLike,
    learner: Learner | str,
    seeds: int | Iterable[int] = 1,
    floor: object = None,
    every_round: bool = False,
    goal: str = "practice",
    *,
    lines: Mapping[str, float] | None = None,
    reward: str | None = None,
    at_most: str | Sequence[str] = (),
    at_least: str | Sequence[str] = (),
    action: str | None = None,
    round: str | None = None,  # noqa: A002  the column's name
    propensity: str | None = None,
    context: str | Sequence[str] = (),
    group: str | None = None,
    drop_missing: bool = False,
    executor: Executor | None = None,
) -> Trace | LogReplay | StreamedReplay:
    """Replay a learner on data: on every round of a table, or by rejection on the rows of a bandit log.

    The result is in the units of the data: rewards, limits, shortfalls and prices.

    Parameters
    ----------
    data
        A file, a DataFrame of any library, columns by name, a `Table`, a `Log`, or a result of
        `lewa.data.files.read_data`.
    learner
        A learner, or the name of a learner, which is tuned for the size of the data and `floor`. "auto" is the choice of
        `lewa.choice` for the goal, with bandit feedback for a log and full information for a table.
    seeds
        The number of seeds, or the seeds.
    floor
        The floor of a learner by name: one number in [0, 1] per constraint.
    every_round
        Whether to record the play of every round, or at every row of a log.
    goal
        The rule for "auto": "practice", or "proved", the learner with the smallest bound.
    lines
        The limit of each constraint by its name, in the units of the data, in place of `floor`.
    reward, at_most, at_least, action, round, propensity
        The names of columns, as for `lewa.frontier`.
    context
        The names of columns that are known before each decision, as for `lewa.frontier`. A learner by name must then be one
        that uses a context; "auto" is `squarecb-lewa`, or `proved-squarecb-lewa` for the goal "proved": both have bandit
        feedback.
    group
        The name of a column of groups. Every limit of `lines` then also applies to each of its levels.
    drop_missing
        Whether to leave out the rows of a log that have no reward.
    executor
        Checks the parts of a folder of Parquet files or of a large Parquet file, and replays the seeds, for instance on a
        Dask cluster whose workers see the same files.

    >>> import lewa
    >>> table = lewa.games.Table(rewards=[[1, 0], [0, 1]] * 500, constraints=[0.2, 0.9])
    >>> lewa.replay(table, "lewa", floor=0.5)
    <Trace: Lewa on Table, 1000 rounds, 1 seed>
    >>> lewa.replay(table, "auto", floor=0.5)
    <Trace: PacedHedge on Table, 1000 rounds, 1 seed>
    """
    named = as_data(
        data, Columns(reward, at_most, at_least, action, round, propensity, context, group, drop_missing), executor
    )
    if lines is not None:
        if floor is not None:
            raise ValueError(f"limits must be given by either floor or lines, got floor={floor!r} and lines={lines!r}")
        named, limits = with_group_lines(named, _limits(named, lines))
        floor = [quantity.floor(line) for quantity, line in zip(named.constraints, limits, strict=True)]
    elif group is not None:
        raise ValueError(
            f"a group column needs lines, the limits in the units of the data, got group={group!r} without lines"
        )
    game = with_contexts(named)
    if named.contexts.size and isinstance(learner, str) and floor is not None:
        learner, floor = _contextual(learner, game, floor, named.contexts.shape[1], goal), None
    if isinstance(learner, str) and learner == "auto" and floor is not None:
        feedback, rounds = ("full", game.length) if isinstance(game, Table) else ("bandit", game.rounds)
        choice = choose_learner(feedback, game.actions, rounds, as_floor(floor).tolist(), goal=goal)
        learner, floor = learners.make(choice.name, game.actions, rounds, floor, **choice.settings), None
    made = as_learner(learner, game.actions, game.length if isinstance(game, Table) else game.rounds, floor)
    units = units_of(named)
    if isinstance(game, Log):
        return replay_log(made, game, seeds, every_round).in_units(units)
    if every_round and (executor is not None or isinstance(game, StreamedLog)):
        raise ValueError("every_round needs data in memory and no executor, got an executor or data that are read in parts")
    if isinstance(game, Table):
        if executor is not None:
            return play_elsewhere(executor, made, game, seeds).in_units(units)
        return play(made, game, seeds=seeds, every_round=every_round).in_units(units)
    return replay_stream(made, game, seeds, executor).in_units(units)


def units_of(data: Data) -> Units:
    """Return the units of the data."""
    return Units(data.reward.scale, tuple(quantity.scale for quantity in data.constraints))


def with_contexts(data: Data) -> Table | Log | StreamedLog:
    """Return the game with the features of each round or row, if the data have contexts."""
    game = data.game
    if not data.contexts.size or isinstance(game, StreamedLog):
        return game
    if isinstance(game, Log):
        return Log(game.action, game.propensity, game.reward, game.constraint_values, game.actions, data.contexts)
    return Table(game.rewards, game.rows.transpose(0, 2, 1), data.contexts)


def _contextual(name: str, game: Table | Log | StreamedLog, floor: object, features: int, goal: str) -> Learner:
    """Return the learner of that name for so many features; "auto" is what `lewa.choice` takes for the goal."""
    rounds = game.length if isinstance(game, Table) else game.rounds
    if name == "auto":
        name = choose_learner("bandit", game.actions, rounds, as_floor(floor).tolist(), goal, features=features).name
    learners.check_looks_at_features(name)
    return learners.make(name, game.actions, rounds, floor, features=features)


def _limits(data: Data, lines: Mapping[str, float]) -> list[float]:
    """Return the limits in the user's units, in the order of the constraints."""
    names = [quantity.name for quantity in data.constraints]
    for name in lines:
        if name not in names:
            raise ValueError(f"there is no constraint {name!r}{nearest(name, names)}")
    missing = [name for name in names if name not in lines]
    if missing:
        raise ValueError(f"lines must have a limit for each constraint, got none for {', '.join(missing)}")
    return [lines[name] for name in names]
