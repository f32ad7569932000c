"""The quick bound below the reach of a confidence sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lewa.measures.confidence_sequence import COSTS, STEPS, WEIGHTS, least_reach, reach


@given(spread=st.floats(0, 1e12), alpha=st.floats(1e-12, 0.5))
def test_it_is_never_above_the_reach_and_not_far_below(spread: float, alpha: float) -> None:
    quick, exact = least_reach(spread, alpha), float(reach(spread, alpha))
    assert quick <= exact * (1 + 1e-9)
    assert exact <= 2.2 * least_reach(spread, alpha / 3660)  # the least weight is 1/3660, and no step is above 0.71


@given(spread=st.floats(0, 1e12), alpha=st.floats(1e-12, 0.5))
def test_it_is_the_least_that_any_step_reaches(spread: float, alpha: float) -> None:
    steps = np.linspace(0.01, 1, 100, endpoint=False)
    reached = (-np.log(alpha) + (-np.log1p(-steps) - steps) * spread) / steps
    assert least_reach(spread, alpha) <= reached.min() * (1 + 1e-9)


@pytest.mark.parametrize(("spread", "alpha"), [(0.0, 0.05), (0.3, 1e-6), (7.0, 0.5), (1e4, 0.01)])
def test_the_reach_solves_its_equation(spread: float, alpha: float) -> None:
    mixture = float(WEIGHTS @ np.exp(STEPS * float(reach(spread, alpha)) - COSTS * spread))
    assert mixture == pytest.approx(1 / alpha, rel=1e-9)
