"""Where nothing is compiled, Python runs faster forms of some functions: they give the same, bit for bit."""

from typing import Any

import numpy as np
import pytest

from lewa.kernels import exp, plain_exp, plain_uniform, uniform

DICE = np.random.default_rng(3)
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # NumPy's integers warn that they wrap around


def rule_of(function: Any) -> Any:
    """Return the function that is compiled elsewhere."""
    return function.py_func


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
