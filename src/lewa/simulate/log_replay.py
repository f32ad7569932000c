"""Replaying a learner on a bandit log, by rejection."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from lewa.data.log import Log
from lewa.engine.loops import loops
from lewa.feedback import feedback_kind
from lewa.kernels import DICE, keys, pack, unpack
from lewa.kernels.random_streams import uniform
from lewa.simulate.run import ready, seed_names
from lewa.types import Cube, Matrix, Vector


class Replayed(NamedTuple):
    """What the learner got in each round that counted: as many for each seed as for the seed with the fewest."""

    seeds: tuple[int, ...]
    reward: Matrix  # (S, n)
    short: Cube  # (S, n, m)  floor - c of the action drawn
    multiplier: Cube  # (S, n, m)  after the round
    plays: Cube | None = None  # (S, rows, K)  the play at each row of the log, whether the row counted or not

    @property
    def rounds(self) -> int:
        """n"""
        return self.reward.shape[1]


def replay_log(learner: Any, log: Log, seeds: int | Iterable[int] = 1, every_row: bool = False) -> Replayed:
    """Walk through the log once for each seed; only bandit learners can be replayed on what a log shows.

    With `every_row` the play at each row is kept too.
    """
    learner = ready(learner)
    if feedback_kind(type(learner)) == "full":
        raise ValueError(f"a bandit log cannot feed {type(learner).__name__}, which needs to see every action")
    if learner.floor.size != log.constraints:
        raise ValueError(f"the learner must have one floor per constraint, got {learner.floor.size} for {log.constraints}")
    names = seed_names(seeds)
    plays = np.empty((len(names) if every_row else 0, log.rows, log.actions))
    runs = [_walk(learner, log, seed, plays[n] if every_row else None) for n, seed in enumerate(names)]
    rounds = min(len(run[0]) for run in runs)
    if rounds == 0:
        raise ValueError(f"no row of the log was the action that the learner drew: {log.rows} rows are too few")
    rewards, met, prices = (np.array([run[k][:rounds] for run in runs]) for k in range(3))
    return Replayed(names, rewards, learner.floor - met, prices, plays if every_row else None)


def _walk(learner: Any, log: Log, seed: int, plays: Matrix | None) -> tuple[list[float], list[Vector], list[Vector]]:
    kind = type(learner)
    step, dense = loops(kind), feedback_kind(kind) == "dense"
    memory = pack(learner, learner.start(log.actions))
    state = unpack(kind, memory)[1]
    key = keys(seed)[DICE]
    p, nothing = np.empty(log.actions), np.zeros(0)
    least = log.propensity.min()
    rewards, met, prices = [], [], []
    drawn = None
    with np.errstate(over="ignore"):  # the stream wraps around
        for row in range(log.rows):
            if drawn is None:  # the play changes only when a round counts, but each row has dice of its own
                step.play(memory, p)
                cumulative = np.cumsum(p)
            if plays is not None:
                plays[row] = p
            drawn = min(int(np.searchsorted(cumulative, uniform(key, 2 * row), side="right")), log.actions - 1)
            if drawn == log.action[row] and uniform(key, 2 * row + 1) * log.propensity[row] < least:
                constraints = log.constraint_values[row]
                step.learn_bandit(
                    memory, drawn, float(p[drawn]), float(log.reward[row]), constraints, p if dense else nothing
                )
                rewards.append(float(log.reward[row]))
                met.append(constraints)
                prices.append(state.multiplier.copy() if hasattr(state, "multiplier") else np.zeros(log.constraints))
                drawn = None
    return rewards, met, prices
