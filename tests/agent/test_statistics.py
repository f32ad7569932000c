"""The statistics of answers with one value per action, against those of single values."""

from typing import Any

import numpy as np
import pytest

from lewa.agent.statistics import PER_ACTION, WINDOW, Statistics, _add_values, add_action, add_all
from lewa.units import Scale

K, RECENT = 3, WINDOW + 2


def empty() -> tuple[Statistics, np.ndarray]:
    return Statistics.empty([Scale(0.5, 2.0)], K), np.zeros((1, RECENT))


def add_single(statistics: Statistics, recent: np.ndarray, value: float, action: int) -> float:
    desk = np.array([[value], [np.nan]])
    add_action(statistics.table, recent, desk, np.zeros(0), action, 1.0, True, False)
    return float(desk[1, 0])


def test_values_of_all_actions_are_those_of_the_action_that_is_certain() -> None:
    rng = np.random.default_rng(3)
    rounds = rng.uniform(-1, 4, (120, K))  # many outside the range, 0.5 to 2.5
    rounds[7, 1] = 1e9
    together, recent = empty()
    drawn, single_recent = empty()  # the values of the action that is played, one by one
    each = [empty() for _ in range(K)]  # the values of each action
    play, units = np.array([0.0, 1.0, 0.0]), np.zeros(K)
    for n, values in enumerate(rounds, 1):
        due = add_all(together.table[0], recent[0], values, play, units, False)
        assert due == (n % 50 == 0)
        assert add_single(drawn, single_recent, values[1], 1) == units[1]
        assert [add_single(*each[k], values[k], k) for k in range(K)] == units.tolist()
    for name in ("count", "total", "unit_sum", "spread", "whole_spread"):
        assert getattr(together, name)[0] == getattr(drawn, name)[0], name
    assert recent.tolist() == single_recent.tolist()
    assert (together.lowest[0], together.highest[0]) == (rounds.min(), rounds.max())
    for name in ("clip_count", "clip_above", "clip_below"):
        assert getattr(together, name)[0] == sum(getattr(statistics, name)[0] for statistics, _ in each) > 0, name
    for name in list(PER_ACTION)[:8]:
        assert getattr(together, name)[0].tolist() == [getattr(each[k][0], name)[0, k] for k in range(K)], name


def test_units_are_raw_for_a_learner_that_takes_them_so() -> None:
    statistics, recent = empty()
    units = np.zeros(K)
    add_all(statistics.table[0], recent[0], np.array([4.5, 0.5, -1.5]), np.array([0.5, 0.25, 0.25]), units, True)
    assert units.tolist() == [2.0, 0.0, -1.0]
    assert (statistics.unit_sum[0], statistics.total[0]) == (0.5, 2.0)


@pytest.mark.compiled
def test_compiled_sums_are_those_of_plain_python_but_for_fused_products() -> None:
    plain: Any = getattr(_add_values, "py_func", _add_values)
    rng, actions = np.random.default_rng(5), 13
    first, second = (Statistics.empty([Scale(0.5, 2.0)], actions).table[0] for _ in range(2))
    recent, same_recent = np.zeros(RECENT), np.zeros(RECENT)
    for _ in range(60):
        values, play, units, same = rng.uniform(0, 3, actions), rng.dirichlet(np.ones(actions)), *np.zeros((2, actions))
        assert add_all(first, recent, values, play, units, False) == plain(second, same_recent, values, play, same, False)
        assert units.tobytes() == same.tobytes()
    np.testing.assert_allclose(first, second, rtol=1e-13)
    np.testing.assert_allclose(recent, same_recent, rtol=1e-13)
