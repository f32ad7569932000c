"""The frontier of a bandit log, which shows one action a row: plays from estimates, valued off-policy."""

from functools import partial
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import Log
from lewa.data.off_policy import Value, doubly_robust, ips, snips
from lewa.frontiers.budgets import Lines
from lewa.frontiers.result import Frontier, Judged, Point
from lewa.types import Indices, Matrix, Vector

MANY = 30  # rows of an action from which on its propensities can be doubted
SURE = 5.0  # standard errors by which they have to be off
HALVES = (
    "the play of each line is chosen by the first half of the log and valued by the second: to value a play by the rows it "
    "was chosen by is optimistic, as the reward that is estimated from all rows is"
)
ABOUT = (
    "intervals hold each by itself: those with \N{PLUS-MINUS SIGN} are normal approximations; those that are proved, of the "
    "doubly robust values, take it that propensities are right, that no value can leave the range that was given or seen, "
    "and that no action could be drawn with less chance than the least that was seen"
)


class _Rows(NamedTuple):
    """Some rows of a log, its values in the user's units."""

    action: Indices
    propensity: Vector
    values: tuple[Vector, ...]  # of the reward and of each constraint

    def part(self, start: int, stop: int) -> "_Rows":
        return _Rows(self.action[start:stop], self.propensity[start:stop], tuple(one[start:stop] for one in self.values))


def of_log(data: Data, log: Log, lines: Lines, level: float) -> Frontier:
    """The frontier that a log lets one estimate, with each play judged by rows that it was not chosen by."""
    own = [data.reward.scale.own(log.reward)]
    own += [one.scale.own(log.kept[:, j]) for j, one in enumerate(data.constraints)]
    every = _Rows(log.action, log.propensity, tuple(own))
    half = log.rows // 2
    first, second = every.part(0, half), every.part(half, log.rows)
    for part, called in ((first, "first"), (second, "second")):
        missing = [name for a, name in enumerate(data.actions) if not (part.action == a).any()]
        if missing or part.action.size < 2:
            said = f"never shows {', '.join(missing)}" if missing else "is too short"
            raise ValueError(
                f"one half of a log chooses and the other judges, so each must show every action: the {called} half "
                f"({part.action.size} of {log.rows} rows) {said}"
            )
    estimated, chooser = _means(data, every), _means(data, first)
    valued = partial(_values, data, level=level)
    found = []
    for floor in lines.chosen(*estimated):
        floors = lines.floors(floor)
        best, _ = lines.best(*estimated, floors)
        judged, p = lines.best(*chooser, floors)
        held_out = Judged(judged.play, valued(second, p))
        found.append(Point(lines.own(floors)[lines.varied.name], lines.own(floors), best, {}, held_out))
    alone = {name: valued(every, np.eye(log.actions)[a]) for a, name in enumerate(data.actions)}
    notes = [HALVES, ABOUT, *lines.notes(*estimated), *_doubts(data, every)]
    head = ("log", log.rows, data.actions, data.reward, data.constraints, lines.varied.name, level)
    return Frontier(*head, {}, tuple(found), lines.curve(*estimated), alone, tuple(notes))


def _means(data: Data, rows: _Rows) -> tuple[Vector, Matrix]:
    """What each action has on average, self-normalised, in [0, 1]: rewards (K,) and constraints (m, K)."""
    K = len(data.actions)
    found = np.empty((len(rows.values), K))
    for n, (one, values) in enumerate(zip((data.reward, *data.constraints), rows.values, strict=True)):
        for a in range(K):
            found[n, a] = one.scale.unit(snips(rows.action, values, rows.propensity, np.eye(K)[a]).value)
    found = found.clip(0, 1)  # but for rounding they lie there
    return found[0], found[1:]


def _values(data: Data, rows: _Rows, p: Vector, level: float) -> dict[str, dict[str, Value]]:
    """The value of a play, of the reward and of each constraint, by each estimator."""
    found = {}
    for one, values in zip((data.reward, *data.constraints), rows.values, strict=True):
        log, within = (rows.action, values.clip(one.low, one.high), rows.propensity, p), (one.low, one.high)
        found[one.name] = {
            "ips": ips(*log, level=level, range=within),
            "snips": snips(*log, level=level),
            "dr": doubly_robust(*log, level=level, range=within),
        }
    return found


def _doubts(data: Data, rows: _Rows) -> list[str]:
    """Where propensities are right, 1/propensity over the rows of an action adds up to about the number of all rows."""
    found = []
    for a, name in enumerate(data.actions):
        inverse = (rows.action == a) / rows.propensity
        off = float(inverse.mean()) - 1
        if (inverse > 0).sum() >= MANY and abs(off) > SURE * float(inverse.std(ddof=1)) / inverse.size**0.5:
            found.append(
                f"the propensities of {name} are in doubt: 1/propensity over its rows adds up to {1 + off:.3g} of all rows "
                "instead of 1; were they written down wrongly, was the action not always there, or was its chance at times "
                "so small that no row shows it?"
            )
    return found
