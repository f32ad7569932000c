"""The league: every learner in every game, regret and violation together, and who is best in both.

A learner is Pareto-best in a game if no other that sees as much has as little regret and as little violation there, and less
of one. That is a comparison of means over few seeds at one horizon: it says who to look at, and is no theorem.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np

from lewa import games, learners
from lewa.feedback import feedback_kind
from lewa.formatting import markdown_table
from lewa.lab.measures import Row
from lewa.lab.study import Study

TITLE = "The league"
CAPTION = (
    "Pareto-best: no other learner with the same feedback is at least as good in both and better in one, by the means "
    "over seeds; the learner with the smallest regret is one of them, however much it violates. Both are per round, "
    "and violation is that of the worst constraint. Regret below 0 comes with violation, or with changing rewards, "
    "where a changing play can beat every fixed one."
)
FLOOR = 0.6
# Where another floor is the natural one.
FLOORS: dict[str, float | tuple[float, ...]] = {"ads": (0.7, 0.8, 0.9), "radio": 0.9, "impossible": 0.5}
BEST = "\N{BLACK STAR}"
PLACES = ("learner", "sees", "Pareto-best in", "regret, middle game", "violation, middle game", "violation, worst game")
STANDINGS = ("learner", "sees", "regret", "violation", "positive violation", "best")


class Standing(NamedTuple):
    """What a learner came to in a game, a round and in the mean over seeds."""

    game: str
    learner: str
    sees: str  # "full" or "bandit"
    regret: float | None
    violation: float  # [net]+, of the worst constraint
    positive: float  # the sum of all shortfalls, of the worst constraint
    best: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of a game's table, in the order of `STANDINGS`."""
        numbers = map(digits, (self.regret, self.violation, self.positive))
        return self.learner, self.sees, *numbers, BEST if self.best else ""


def league(
    rounds: int, seeds: int, players: Iterable[str] = tuple(learners.ALL), worlds: Iterable[str] = tuple(games.ALL)
) -> Study:
    """Return the study: these learners in these games, by default all that are registered, with their usual settings."""
    return Study.model_validate(
        {
            "name": TITLE,
            "rounds": [rounds],
            "seeds": seeds,
            "measures": ["regret", "violation", "positive_violation"],
            "games": [{"name": name, "floor": FLOORS.get(name, FLOOR)} for name in worlds],
            "learners": [{"name": name} for name in players],
        }
    )


def standings(rows: Iterable[Row]) -> list[Standing]:
    """Return the rows of the study's measures, the seeds of a learner in a game together, and the best marked."""
    every = []
    for (game, learner), group in groupby(rows, key=lambda row: (row["game"], row["learner"])):
        each = list(group)
        regrets = [row["regret"] for row in each]
        regret = None if None in regrets else float(np.mean(regrets)) / each[0]["rounds"]
        net, positive = (
            max(np.mean([row[name] for row in each], axis=0).tolist()) / each[0]["rounds"]
            for name in ("violation", "positive_violation")
        )
        sees = feedback_kind(learners.find(learner)).observes
        every.append(Standing(game, learner, sees, regret, net, positive, False))
    return [standing._replace(best=_best(standing, every)) for standing in every]


def _best(standing: Standing, every: list[Standing]) -> bool:
    if standing.regret is None:
        return False
    pair = standing.regret, standing.violation
    rivals = [
        (other.regret, other.violation)
        for other in every
        if (other.game, other.sees) == (standing.game, standing.sees) and other.regret is not None
    ]
    return not any(regret <= pair[0] and short <= pair[1] and (regret, short) != pair for regret, short in rivals)


class Place(NamedTuple):
    """A learner over all games."""

    learner: str
    sees: str
    best: int  # games in which it is Pareto-best
    games: int
    regret: float | None  # the middle one of its games
    violation: float
    worst: float  # violation, in the game that it is worst in

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of the table over all games, in the order of `PLACES`."""
        numbers = map(digits, (self.regret, self.violation, self.worst))
        return self.learner, self.sees, f"{self.best} of {self.games}", *numbers


def places(every: Iterable[Standing]) -> list[Place]:
    """Return the learners, those first that are best most often; in the order of the registry where it is as often."""
    by_learner: dict[str, list[Standing]] = {}
    for standing in every:
        by_learner.setdefault(standing.learner, []).append(standing)
    rows = []
    for learner, group in by_learner.items():
        regrets = [standing.regret for standing in group if standing.regret is not None]
        violations = [standing.violation for standing in group]
        middle = float(np.median(regrets)) if regrets else None
        best = sum(standing.best for standing in group)
        rows.append(Place(learner, group[0].sees, best, len(group), middle, float(np.median(violations)), max(violations)))
    return sorted(rows, key=lambda row: (row.sees != "full", -row.best))


def digits(value: float | None) -> str:
    """Return a number with three places behind the point: more than so few seeds tell."""
    return "-" if value is None else f"{value:.3f}"


def markdown(every: list[Standing]) -> str:
    """Return the table over all games, and below it one for each game: regret and violation a round, stars for the best."""
    parts = [f"# {TITLE}", CAPTION, markdown_table(PLACES, [row.cells for row in places(every)])]
    for game, group in groupby(every, key=lambda standing: standing.game):
        parts += [f"## {game}", markdown_table(STANDINGS, [standing.cells for standing in group])]
    return "\n\n".join(parts) + "\n"
