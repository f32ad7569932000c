"""The league: every learner in every game, regret and violation together, and who is best in both.

A learner is Pareto-best in a game if no other that sees as much has as little regret and as little violation there, and less
of one. That is a comparison of means over few seeds at one horizon: it says who to look at, and is no theorem.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from lewa import games, learners
from lewa.feedback import feedback_kind
from lewa.lab.storage import Row
from lewa.lab.study import Study
from lewa.report.tables import table

TITLE = "The league"
CAPTION = (
    "Pareto-best: no other learner that sees as much has as little of both in that game and less of one, in the mean over "
    "seeds; who has the least regret is one of them, however much it violates. Both are a round, violation is that of the "
    "worst constraint. Regret below 0 is paid for by violation, or comes from rewards that change, where a play that moves "
    "can beat every fixed one."
)
FLOOR = 0.6
FLOORS: dict[str, Any] = {"ads": (0.7, 0.8, 0.9), "radio": 0.9, "impossible": 0.5}  # where another floor is the natural one
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


def league(
    rounds: int, seeds: int, players: Iterable[str] = tuple(learners.ALL), worlds: Iterable[str] = tuple(games.ALL)
) -> Study:
    """The study: these learners in these games, by default all that are registered, each with its usual settings."""
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
    """The rows of the study's measures, the seeds of a learner in a game together, and the best marked."""
    found = []
    for (game, learner), own in groupby(rows, key=lambda row: (row["game"], row["learner"])):
        each = list(own)
        regrets = [row["regret"] for row in each]
        regret = None if None in regrets else float(np.mean(regrets)) / each[0]["rounds"]
        net, positive = (
            max(np.mean([row[name] for row in each], axis=0).tolist()) / each[0]["rounds"]
            for name in ("violation", "positive_violation")
        )
        sees = feedback_kind(learners.find(learner)).observes
        found.append(Standing(game, learner, sees, regret, net, positive, False))
    return [one._replace(best=_best(one, found)) for one in found]


def _best(one: Standing, found: list[Standing]) -> bool:
    if one.regret is None:
        return False
    own = one.regret, one.violation
    rivals = [
        (other.regret, other.violation)
        for other in found
        if (other.game, other.sees) == (one.game, one.sees) and other.regret is not None
    ]
    return not any(regret <= own[0] and short <= own[1] and (regret, short) != own for regret, short in rivals)


class Place(NamedTuple):
    """A learner over all games."""

    learner: str
    sees: str
    best: int  # games in which it is Pareto-best
    games: int
    regret: float | None  # the middle one of its games
    violation: float
    worst: float  # violation, in the game that it is worst in


def places(found: Iterable[Standing]) -> list[Place]:
    """The learners, those first that are best most often; in the order of the registry where it is as often."""
    by: dict[str, list[Standing]] = {}
    for one in found:
        by.setdefault(one.learner, []).append(one)
    rows = []
    for learner, own in by.items():
        regrets = [one.regret for one in own if one.regret is not None]
        violations = [one.violation for one in own]
        middle = float(np.median(regrets)) if regrets else None
        best = sum(one.best for one in own)
        rows.append(Place(learner, own[0].sees, best, len(own), middle, float(np.median(violations)), max(violations)))
    return sorted(rows, key=lambda row: (row.sees != "full", -row.best))


def shown(found: Iterable[Standing]) -> Table:
    """The table for people: a line for each learner."""
    return table(TITLE, *PLACES, rows=[_cells(row) for row in places(found)], caption=CAPTION)


def _cells(row: Place) -> tuple[str, ...]:
    return row.learner, row.sees, f"{row.best} of {row.games}", *map(digits, (row.regret, row.violation, row.worst))


def cells(one: Standing) -> tuple[str, ...]:
    """A line of a game's table, in the order of `STANDINGS`."""
    numbers = map(digits, (one.regret, one.violation, one.positive))
    return one.learner, one.sees, *numbers, BEST if one.best else ""


def digits(value: float | None) -> str:
    """Three places behind the point are more than so few seeds tell."""
    return "-" if value is None else f"{value:.3f}"


def markdown(found: list[Standing]) -> str:
    """The table over all games, and below it one for each game: regret and violation a round, the best with a star."""
    parts = [f"# {TITLE}", CAPTION, _markdown(PLACES, [_cells(row) for row in places(found)])]
    for game, own in groupby(found, key=lambda one: one.game):
        rows = [
            (
                one.learner,
                one.sees,
                digits(one.regret),
                digits(one.violation),
                digits(one.positive),
                BEST if one.best else "",
            )
            for one in own
        ]
        parts += [f"## {game}", _markdown(STANDINGS, rows)]
    return "\n\n".join(parts) + "\n"


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, tuple("---" for _ in head), *rows))
