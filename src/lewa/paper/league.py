"""The league: the regret and the violation of every learner in every game.

A learner is Pareto-best in a game if no other learner with the same feedback has at most its regret and at most its
violation there, and less of one. This compares means over few seeds at one horizon; it is no theorem.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np

from lewa import games, learners
from lewa.feedback import feedback_kind
from lewa.formatting import markdown_table
from lewa.lab.measures import Row, cells
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
    """The results of a learner in a game, per round and as means over seeds."""

    game: str
    learner: str
    sees: str  # "full" or "bandit"
    regret: float | None
    violation: float  # the net violation of the worst constraint
    positive: float  # the sum of all shortfalls, of the worst constraint
    best: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a row of a game's table, in the order of `STANDINGS`."""
        numbers = map(digits, (self.regret, self.violation, self.positive))
        return self.learner, self.sees, *numbers, BEST if self.best else ""


def league(
    rounds: int, seeds: int, players: Iterable[str] = tuple(learners.ALL), worlds: Iterable[str] = tuple(games.ALL)
) -> Study:
    """Return the study of the league."""
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
    """Return the standings from the study's measures: means over seeds, with the best learners marked."""
    every = []
    for (game, _, learner, rounds), each in cells(rows).items():
        regrets = [row["regret"] for row in each]
        regret = None if None in regrets else float(np.mean(regrets)) / rounds
        net, positive = (
            max(np.mean([row[name] for row in each], axis=0).tolist()) / rounds
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
    best: int  # the number of games in which it is Pareto-best
    games: int
    regret: float | None  # the median over its games
    violation: float
    worst: float  # its largest violation in a game

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a row of the table over all games, in the order of `PLACES`."""
        numbers = map(digits, (self.regret, self.violation, self.worst))
        return self.learner, self.sees, f"{self.best} of {self.games}", *numbers


def places(every: Iterable[Standing]) -> list[Place]:
    """Return the learners, sorted by how often they are best, then in the order of the registry."""
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
    """Return a number with three decimals, which is more than few seeds can resolve."""
    return "-" if value is None else f"{value:.3f}"


def markdown(every: list[Standing]) -> str:
    """Return the table over all games, and a table for each game: regret and violation per round, stars for the best."""
    parts = [f"# {TITLE}", CAPTION, markdown_table(PLACES, [row.cells for row in places(every)])]
    for game, group in groupby(every, key=lambda standing: standing.game):
        parts += [f"## {game}", markdown_table(STANDINGS, [standing.cells for standing in group])]
    return "\n\n".join(parts) + "\n"
