"""Replay a learner on a bandit log, by rejection."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lewa.data.log import Log
from lewa.engine.session import NO_PLAY, Session, check_learner, dice_of
from lewa.feedback import Bandit, Feedback, feedback_kind
from lewa.kernels.random_streams import uniform
from lewa.learners.base import Learner
from lewa.simulate.arguments import as_seeds
from lewa.types import Cube, Matrix, Vector


class LogReplay(NamedTuple):
    """What the learner got in each round that counted: as many for each seed as for the seed with the fewest."""

    seeds: tuple[int, ...]
    reward: Matrix  # (S, n)
    shortfall: Cube  # (S, n, m)  floor - c of the action drawn
    multiplier: Cube  # (S, n, m)  after the round
    plays: Cube | None = None  # (S, rows, K)  the play at each row of the log, whether the row counted or not
    rows: int = 0  # of the log

    @property
    def rounds(self) -> int:
        """n"""
        return self.reward.shape[1]

    def __repr__(self) -> str:
        return f"<LogReplay: {self.rounds} of {self.rows} rows count, {len(self.seeds)} seeds>"


def replay_log(learner: Learner, log: Log, seeds: int | Iterable[int] = 1, every_row: bool = False) -> LogReplay:
    """Walk through the log once for each seed; only bandit learners can be replayed on what a log shows.

    With `every_row` the play at each row is kept too.
    """
    learner = check_learner(learner)
    if feedback_kind(type(learner)) is Feedback.FULL:
        raise ValueError(f"{type(learner).__name__} needs the outcome of every action, which a bandit log does not have")
    if learner.floor.size != log.constraints:
        raise ValueError(f"the learner must have one floor per constraint, got {learner.floor.size} for {log.constraints}")
    names = as_seeds(seeds)
    plays = np.empty((len(names) if every_row else 0, log.rows, log.actions))
    runs = [_walk(learner, log, seed, plays[n] if every_row else None) for n, seed in enumerate(names)]
    rounds = min(len(run.reward) for run in runs)
    if rounds == 0:
        raise ValueError(f"the learner never drew the logged action: {log.rows} rows are too few")
    rewards, met, multipliers = (np.array([field[:rounds] for field in part]) for part in zip(*runs, strict=True))
    return LogReplay(names, rewards, learner.floor - met, multipliers, plays if every_row else None, log.rows)


class Walk(NamedTuple):
    """What a learner got, round by round."""

    reward: list[float]
    met: list[Vector]
    multiplier: list[Vector]


def _walk(learner: Learner, log: Log, seed: int, plays: Matrix | None) -> Walk:
    session, walk, least = Session(learner, log.actions, dice_of(seed)), Walk([], [], []), log.propensity.min()
    key, p, cumulative = session.dice[0], NO_PLAY, NO_PLAY
    with np.errstate(over="ignore"):  # the stream wraps around
        for row in range(log.rows):
            if not p.size:  # the play changes only when a round counts, but each row has dice of its own
                p = session.play()
                cumulative = np.cumsum(p)
            if plays is not None:
                plays[row] = p
            i = min(int(np.searchsorted(cumulative, uniform(key, 2 * row), side="right")), log.actions - 1)
            if i == log.action[row] and uniform(key, 2 * row + 1) * log.propensity[row] < least:
                reward, constraints = float(log.reward[row]), log.constraint_values[row]
                to_learn = session.play_to_learn(p, masked=False)
                session.learn(Bandit(i, float(p[i]), reward, constraints, to_learn, session.charge(i)))
                walk.reward.append(reward)
                walk.met.append(constraints)
                walk.multiplier.append(session.multiplier.copy())
                p = NO_PLAY
    return walk
