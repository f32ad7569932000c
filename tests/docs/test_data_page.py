"""The table of docs/data.md: its measures by hand, and one small set where the folder of data is there."""

import os
from pathlib import Path

import numpy as np
import pytest
from tools import data

from lewa.games import Table
from lewa.measures import best_fixed_play

FOLDER = Path(os.environ.get("LEWA_DATA", Path(__file__).parents[3] / "shared" / "data"))


def small() -> data.Set:
    rewards = np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 0.5], [1.0, 1.0]])
    constraints = np.array([[0.0, 1.0], [0.5, 1.0], [0.0, 1.0], [0.5, 0.0]])
    floor = np.array([0.5])
    best = best_fixed_play(rewards.mean(axis=0), constraints.mean(axis=0)[np.newaxis], floor)
    return data.Set("small", "a small set", Table(rewards, constraints), floor, best)


def test_the_measures_are_those_of_the_play() -> None:
    one = small()
    assert (one.best.value, one.best.play.tolist()) == (0.625, [0.5, 0.5])  # means (0.75, 0.5) and (0.25, 0.75)
    plays = np.array([[[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]])
    row = data.measured(one, "by hand", {}, "full", plays, np.array([1 + 0.75 + 0.5 + 1]))
    assert row.share == pytest.approx(3.25 / 2.5)
    assert row.positive == pytest.approx((0.5 + 0 + 0 + 0.5) / 4)  # p.c = 0, 0.75, 1, 0
    assert row.net == pytest.approx((0.5 - 0.25 - 0.5 + 0.5) / 4)
    assert row.steady == pytest.approx((0.25 + 0 + 0 + 0) / 4)


def test_the_limits_are_those_of_the_set() -> None:
    found = data.limits(small())
    assert found.slater == pytest.approx(0.25)
    assert found.fixed == pytest.approx([(0 + 0 + 0 + 0.25) / 4])  # p.c = 0.5, 0.75, 0.5, 0.25
    assert found.least == pytest.approx([0.0])  # the largest c of a round is at least the floor
    follows = 0.5 + 0.75 + 0 + 1  # by (1/2, 1/2), (1/2, 1/2), (1, 0), (0, 1)
    assert found.follows.share == pytest.approx(follows / 2.5)


def test_a_goal_is_asked_of_the_worst_seed_and_of_the_bill_where_actions_are_drawn() -> None:
    goal = data.Goal("x", 10_000, 3, "bandit", "file", mean=1.0, low=0.975, net=0.02, bill=0.004)
    assert goal.missed == []
    assert goal._replace(low=0.96, bill=0.006).missed == ["reward", "violation"]
    assert goal._replace(low=0.96, rounds=1000).missed == []  # few rounds: 95 %
    assert goal._replace(shown="full").missed == ["reward", "violation"]  # 99 %, and by the play
    assert goal._replace(name="energy_geo_carbon", shown="full", low=1.04, net=0.0).missed == ["reward"]


def test_what_is_not_measured_anew_stays_as_the_page_has_it() -> None:
    page = (
        "## All\n\n### one\n\n| learner | x |\n|---|---|\n| `a k=1` (advised) | 1 |\n| `b` | 2 |\n\n### two\n\n| `b` | 3 |\n"
    )
    assert data.lines_of(page, "one") == {"`a k=1`": "| `a k=1` | 1 |", "`b`": "| `b` | 2 |"}
    assert data.lines_of(page, "two") == {"`b`": "| `b` | 3 |"}
    assert data.lines_of(page, "three") == {}


def test_the_bill_is_what_the_actions_drawn_cost() -> None:
    one = small()
    row = data.measure(one, "ucb-lp", {}, seeds=3)
    assert 0 <= row.bill <= 0.5
    assert row.low <= row.share


def test_without_the_data_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["data.py", "nowhere"])
    data.main()
    assert capsys.readouterr().out == "tools/data.py takes a folder of sets, got nowhere: docs/data.md stays as it is\n"


@pytest.mark.compiled
@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no folder of data at {FOLDER}")
def test_the_advised_learners_on_a_small_set_are_as_the_table_says() -> None:
    one = next(one for one in data.sets(FOLDER) if one.name == "wireless_sigfox_power")
    assert (one.game.length, one.game.actions) == (816, 4)
    shown = (Path(data.__file__).parent.parent / "docs" / "data.md").read_text()
    for kind in data.GOALS:
        row = data.measure(one, *data.practice(kind))
        assert data.line(*data.cells(row)) in shown
