"""Replay a learner on data: on every round of a table, or on the rows of a bandit log."""

from collections.abc import Iterable

from lewa import learners
from lewa.choice import choose_learner
from lewa.data.columns import Data
from lewa.data.log import Log
from lewa.games.table import Table
from lewa.learners.base import Learner
from lewa.measures.trace import Trace
from lewa.simulate.arguments import as_learner
from lewa.simulate.log_replay import LogReplay, replay_log
from lewa.simulate.run import play
from lewa.validation import as_floor, short_repr


def replay(
    data: Table | Log | Data,
    learner: Learner | str,
    seeds: int | Iterable[int] = 1,
    floor: object = None,
    every_round: bool = False,
    goal: str = "practice",
) -> Trace | LogReplay:
    """Replay a learner on data; a table is played like a game, a bandit log by rejection.

    Parameters
    ----------
    data: a `Table`, a `Log`, or what `lewa.data.files.read_data` reads from a file.
    learner: a learner, or the name of one, which is then tuned for the size of the data and `floor`; "auto" is what
        `lewa.choice` takes for the goal, with bandit feedback for a log and full information for a table.
    seeds: how many, or the seeds themselves.
    floor: for a learner by name: one number of [0, 1] per constraint.
    every_round: keep the play of every round, of a log the play at every row.
    goal: of "auto": "practice", or "proved", the learner with the least bound.

    >>> import lewa
    >>> table = lewa.games.Table(rewards=[[1, 0], [0, 1]] * 500, constraints=[0.2, 0.9])
    >>> lewa.replay(table, "lewa", floor=0.5)
    <Trace: Lewa on Table, 1000 rounds, 1 seed>
    >>> lewa.replay(table, "auto", floor=0.5)
    <Trace: PacedHedge on Table, 1000 rounds, 1 seed>
    """
    game = data.game if isinstance(data, Data) else data
    if learner == "auto" and isinstance(game, Log | Table) and floor is not None:
        feedback, rounds = ("bandit", game.rounds) if isinstance(game, Log) else ("full", game.length)
        choice = choose_learner(feedback, game.actions, rounds, as_floor(floor).tolist(), goal=goal)
        learner, floor = learners.make(choice.name, game.actions, rounds, floor, **choice.settings), None
    if isinstance(game, Log):
        return replay_log(as_learner(learner, game.actions, game.rounds, floor), game, seeds, every_round)
    if not isinstance(game, Table):
        raise TypeError(f"data must be a lewa.games.Table or a lewa.data.log.Log, got {short_repr(data)}")
    return play(as_learner(learner, game.actions, game.length, floor), game, seeds=seeds, every_round=every_round)
