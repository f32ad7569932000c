"""Where nothing is compiled, Python runs faster forms of some functions: they give the same, bit for bit."""

from typing import Any

import numpy as np
import pytest

from lewa.agent.statistics import Statistics, add_action
from lewa.kernels import exp, lots, no_tilt, one_line, ones, pack, plain_exp, plain_uniform, tilting, toss, uniform
from lewa.kernels.weights.hedge import ANCHOR, FRESH, SUM
from lewa.units import Scale

DICE = np.random.default_rng(3)
KEY = np.array([2**63 + 12_345], dtype=np.uint64)
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # NumPy's integers warn that they wrap around


def rule_of(function: Any) -> Any:
    """Return the function that is compiled elsewhere."""
    return function.py_func


def both(function: Any) -> tuple[Any, Any]:
    """Return what Python runs, and what is compiled elsewhere."""
    return function, rule_of(function)


def test_exponentials() -> None:
    assert exp is plain_exp
    middles = (np.arange(-1021, 1024) + 0.5) * np.log(2)
    ends = [0.0, -0.0, -708.0, 709.0, -708.1, 709.1, 1e300, -np.inf, np.inf, 5e-324]
    for x in (*DICE.uniform(-720, 720, 3000), *DICE.normal(size=3000), *middles, *np.nextafter(middles, 0), *ends):
        assert plain_exp(x).hex() == rule_of(exp)(x).hex()
    assert np.isnan([plain_exp(np.nan), rule_of(exp)(np.nan)]).all()


@pytest.mark.parametrize("key", [1, 2**63, 2**64 - 1])
def test_random_numbers(key: int) -> None:
    for n in (*range(300), 10**15, 2**53):
        assert plain_uniform(np.uint64(key), n) == rule_of(uniform)(np.uint64(key), n)


def test_blocks_of_random_numbers() -> None:
    out = np.empty((2, 300))
    lots(KEY, 77, out[0])
    rule_of(lots)(KEY, 77, out[1])
    np.testing.assert_array_equal(*out)
    p, q, rewards, constraints = DICE.random(4), DICE.random((2, 4)), np.empty((2, 50, 4)), np.empty((2, 50, 2, 4))
    toss(p, q, KEY, 13, rewards[0], constraints[0])
    rule_of(toss)(p, q, KEY, 13, rewards[1], constraints[1])
    np.testing.assert_array_equal(*rewards)
    np.testing.assert_array_equal(*constraints)


@pytest.mark.parametrize("K", [1, 2, 7])
def test_the_tilt_for_one_line(K: int) -> None:
    for n in range(300):
        log, c, least = DICE.normal(0, 10.0 ** (n % 8 - 1), K), DICE.random(K), DICE.random()
        c[0] = least if DICE.random() < 0.3 else c[0]
        values, heads, tilts = np.array([log, log]), np.zeros((2, 3)), []
        for root, value, head in zip(both(one_line.root), values, heads, strict=True):
            value[:] = [exp(x) for x in log - log.max()]
            head[ANCHOR], head[SUM], head[FRESH] = log.max(), value.sum(), 1 + value.sum()
            tilts.append(root(log, value, head, c, least))
        assert tilts[0] == tilts[1]
        assert heads[0].tobytes() == heads[1].tobytes()
        assert values[0].tobytes() == values[1].tobytes()


@pytest.mark.parametrize("K", [1, 2, 7])
def test_a_look_at_the_tilt_for_several_lines(K: int) -> None:
    for n in range(300):
        m = 1 + n % 4
        c, least, log = DICE.random((m, K)), DICE.random(m), DICE.normal(0, 10.0 ** (n % 6 - 1), K)
        records = [(ones(K), no_tilt(K, m)._replace(actions=np.zeros((2, K)))) for _ in range(2)]
        results, theta = [], DICE.exponential(10.0 ** (n % 5 - 2), m) * (DICE.random(m) < 0.8)
        for look, (weights, tilt) in zip(both(tilting._look), records, strict=True):
            weights.log[:], tilt.theta[:] = log, theta
            results.append(look(weights, c, least, tilt))
        assert results[0] == results[1]
        assert pack(*records[0]).tobytes() == pack(*records[1]).tobytes()


@pytest.mark.parametrize("unbounded", [False, True])
def test_statistics_of_an_answer(unbounded: bool) -> None:
    scales = [Scale(0.0, 1.0), Scale(10.0, -20.0)]
    tables = [Statistics.empty(scales, 3).table for _ in range(2)]
    recents, desks = np.zeros((2, 2, 502)), np.zeros((2, 2, 2))
    multiplier = np.array([0.3])
    for n in range(900):
        values = DICE.normal(0.5, 0.6), np.nan if n % 5 == 0 else DICE.normal(0, 20)
        arguments = multiplier, int(DICE.integers(3)), float(DICE.uniform(0.01, 1)), unbounded, n % 3 > 0
        due = []
        for add, table, recent, desk in zip(both(add_action), tables, recents, desks, strict=True):
            desk[0] = values
            due.append(bool(add(table, recent, desk, *arguments)))
        assert due[0] == due[1]
        assert tables[0].tobytes() == tables[1].tobytes()
        assert desks[0].tobytes() == desks[1].tobytes()
        assert recents[0].tobytes() == recents[1].tobytes()
