from typing import Any

from lewa import games, learners
from lewa.lab.study import expand
from lewa.paper import league
from lewa.report.paper_tables import league_table


def row(learner: str, regret: float | None, *violation: float, game: str = "bernoulli") -> dict[str, Any]:
    short = [2 * x for x in violation]
    return {
        "game": game,
        "floor": [0.6],
        "learner": learner,
        "settings": "",
        "rounds": 10,
        "regret": regret,
        "violation": list(violation),
        "positive_violation": short,
    }


def test_it_holds_every_learner_and_every_game_and_each_run_can_be_built() -> None:
    runs = expand(league.league(50, 1))
    assert {run.learner for run in runs} == set(learners.ALL)
    assert {run.game for run in runs} == set(games.ALL)
    assert len(runs) == len(learners.ALL) * len(games.ALL)


def test_the_best_are_those_that_nobody_who_sees_as_much_beats_in_both() -> None:
    rows = [
        row("ewa", -3, 5),
        row("lewa", 1, 2),
        row("hp-lewa", 2, 2),  # more regret than lewa, as much violation
        row("op-ewa", 4, 0),
        row("bandit-lewa", 5, 3),  # lewa beats it, but sees more
        row("lewa-ix", 5, 3),  # nobody is beaten by an equal
        row("lewa-ucb", 6, 3),
    ]
    found = {one.learner: one.best for one in league.standings(rows)}
    assert [name for name, best in found.items() if best] == ["ewa", "lewa", "op-ewa", "bandit-lewa", "lewa-ix"]


def test_numbers_are_a_round_the_mean_over_seeds_and_of_the_worst_constraint() -> None:
    [one] = league.standings([row("lewa", 1, 4, 0), row("lewa", 3, 2, 10)])
    assert (one.regret, one.violation, one.positive) == (0.2, 0.5, 1.0)  # the means are 3 and 5, not 4 and 10
    [unknown] = league.standings([row("lewa", None, 1)])
    assert (unknown.regret, unknown.best) == (None, False)


def test_places_count_the_games_and_the_tables_show_everybody() -> None:
    rows = [row("lewa", 1, 2), row("ewa", 0, 9)]
    rows += [row("lewa", 1, 2, game="slater"), row("ewa", 2, 9, game="slater"), row("exp3", 7, 9, game="slater")]
    found = league.standings(rows)
    first, second, third = league.places(found)
    assert (first.learner, first.best, first.games, first.violation, first.worst) == ("lewa", 2, 2, 0.2, 0.2)
    assert (second.learner, second.best, second.regret) == ("ewa", 1, 0.1)
    assert (third.learner, third.sees, third.best) == ("exp3", "bandit", 1)
    text = league.markdown(found)
    assert "| lewa | full | 2 of 2 | 0.100 | 0.200 | 0.200 |" in text
    assert "## slater" in text
    assert "| ewa | full | 0.200 | 0.900 | 1.800 |  |" in text
    assert len(league_table(found).rows) == 3
