"""The check of propensities: what it must notice, where, and how rarely it may be wrong."""

import numpy as np
import pytest

from lewa.data.log import Log
from lewa.data.propensities import FALSE_ALARM, Cumulative, Misfit, are_fixed, misfits, watched


def log_of(action: np.ndarray, propensity: np.ndarray, actions: int) -> Log:
    return Log(action, propensity, np.zeros(action.size), np.zeros((action.size, 1)), actions)


@pytest.mark.parametrize("actions", [0, 1_000_001, 2**63, 10**100, True])
def test_a_log_of_no_or_absurdly_many_actions_is_refused(actions: int) -> None:
    with pytest.raises(ValueError, match="actions must be an integer from 1 to 1000000, got"):
        log_of(np.array([0]), np.array([0.5]), actions)


def misfits_of(log: Log) -> list[Misfit]:
    return misfits(Cumulative.of(log.action, 1 / log.propensity, log.actions, watched(log.rows)))


def test_right_propensities_are_hardly_ever_doubted_even_those_of_a_learner() -> None:
    rng, logs, rows = np.random.default_rng(3), 300, 200
    count, action, propensity = np.ones((logs, 3)), np.empty((logs, rows), dtype=int), np.empty((logs, rows))
    for t in range(rows):  # each log draws what it drew before
        p = 0.1 + 0.7 * count / count.sum(axis=1, keepdims=True)
        action[:, t] = (p.cumsum(axis=1) < rng.random((logs, 1))).sum(axis=1)
        propensity[:, t] = p[np.arange(logs), action[:, t]]
        count[np.arange(logs), action[:, t]] += 1
    alarms = sum(bool(misfits_of(log_of(a, p, 3))) for a, p in zip(action, propensity, strict=True))
    assert alarms <= logs * FALSE_ALARM + 3


def test_the_worst_rows_are_named_with_what_was_expected_there() -> None:
    rng = np.random.default_rng(4)
    p = np.array([0.9, 0.1])
    action = rng.choice(2, 2000, p=p)
    action[1000:1600] = 0  # the second action was not there
    misfit = next(each for each in misfits_of(log_of(action, p[action], 2)) if each.action == 1)
    assert misfit.draws == 0
    assert misfit.first == 1001
    assert 1590 <= misfit.last <= 1610
    assert misfit.expected == pytest.approx((misfit.last - misfit.first + 1) * 0.1)


def test_a_log_in_which_both_halves_are_off_and_the_whole_is_not_is_noticed() -> None:
    rng = np.random.default_rng(5)
    action = np.concatenate([rng.choice(2, 1400, p=[0.84, 0.16]), rng.choice(2, 1400, p=[0.96, 0.04])])
    p = np.array([0.9, 0.1])
    result = misfits_of(log_of(action, p[action], 2))
    assert result
    assert not any(misfit.overall for misfit in result)
    mixed = rng.permutation(action)
    assert not misfits_of(log_of(mixed, p[mixed], 2))


def test_propensities_are_fixed_where_each_action_has_one_and_they_add_up() -> None:
    a = np.array([0, 1, 0, 1])
    assert are_fixed(log_of(a, np.array([0.3, 0.7])[a], 2))
    assert not are_fixed(log_of(a, np.array([0.3, 0.6])[a], 2))
    assert not are_fixed(log_of(a, np.array([0.3, 0.7, 0.31, 0.7]), 2))
    assert not are_fixed(log_of(np.zeros(4, dtype=int), np.full(4, 0.5), 2))
