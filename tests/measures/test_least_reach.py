"""The quick bound below the reach of a confidence sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lewa.measures.confidence_sequence import least_reach, reach


@given(spread=st.floats(0, 1e12), alpha=st.floats(1e-12, 0.5))
def test_it_is_never_above_the_reach_and_not_far_below(spread: float, alpha: float) -> None:
    quick, exact = least_reach(spread, alpha), float(reach(spread, alpha))
    assert quick <= exact * (1 + 1e-9)
    assert exact <= least_reach(spread, alpha / 3660) * (1 + 1e-9)  # one term alone: the least weight is 1/3660


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_without_spread_it_is_the_reach_of_the_largest_step(alpha: float) -> None:
    assert least_reach(0.0, alpha) <= float(reach(0.0, alpha))
