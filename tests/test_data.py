"""The table of docs/data.md: its measures by hand, and one small set where the folder of data is there."""

import os
from pathlib import Path

import numpy as np
import pytest
from tools import data

from lewa.advice import PRACTICE
from lewa.games import Table
from lewa.measures import best_fixed_play

FOLDER = Path(os.environ.get("LEWA_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


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


def test_a_goal_is_asked_of_positive_violation_with_full_information_and_of_net_with_bandit_feedback() -> None:
    row = data.Row("x", {}, "full", 0.995, 0.0, 0.0, 0.009, 0.0, 0.0)
    assert data.reached(row)
    assert not data.reached(row._replace(positive=0.011))
    assert not data.reached(row._replace(share=0.98))
    assert data.reached(row._replace(positive=0.2, share=0.975, shown="bandit"))
    assert not data.reached(row._replace(net=0.02, share=0.975, shown="bandit"))


def test_without_the_data_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["data.py", "nowhere"])
    data.main()
    assert capsys.readouterr().out == "tools/data.py takes a folder of sets, got nowhere: docs/data.md stays as it is\n"


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no folder of data at {FOLDER}")
def test_the_advised_learners_on_a_small_set_are_as_the_table_says() -> None:
    one = next(one for one in data.sets(FOLDER) if one.name == "wireless_sigfox_power")
    assert (one.game.length, one.game.actions) == (816, 4)
    shown = (Path(data.__file__).parent.parent / "docs" / "data.md").read_text()
    for kind in data.GOALS:
        row = data.measure(one, *PRACTICE[kind])
        assert data.line(*data.cells(row, "(advised)")) in shown
