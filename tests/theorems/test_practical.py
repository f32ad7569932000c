"""The certificate of the paced price, docs/theory_practical.md 2, holds on every path, for any forecasts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theorems.instances import HUNT

import lewa
from lewa import functional
from lewa.kernels import measure_unit, pace

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]


@pytest.mark.plain
@settings(max_examples=200 if HUNT else 60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    b=st.floats(1e-3, 1.0),
    step=st.floats(1e-4, 1.0),
    repay=st.floats(1.0, 1e4),
    scale=st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 100.0]),
)
def test_the_certificate_holds_for_any_costs_and_forecasts(
    seed: int, b: float, step: float, repay: float, scale: float
) -> None:
    """Also while the unit of the price falls and rises: the scale of the forecasts changes half-way."""
    rng = np.random.default_rng(seed)
    size = scale * np.repeat(rng.choice([1e-3, 1.0, 30.0], 2), 100)
    costs, forecasts = b + size * rng.standard_cauchy(200), b + size * rng.standard_cauchy(200)
    lam, deviations, debt, paid, unit = np.zeros(1), np.zeros((2, 1)), 0.0, 0.0, b
    for z, f in zip(costs.tolist(), forecasts.tolist(), strict=True):
        debt += z - b
        unit2 = measure_unit(lam, deviations, 0, b, (f - b) ** 2)
        unit = unit2**0.5
        assert 0 < unit <= b * (1 + 1e-12)
        paid += min(max(debt / repay, -unit), 19 * unit / 20)
        pace(lam, 0, b, unit2, debt, f, step, repay)
    violation, excess = (costs - b).sum(), (costs - forecasts).sum()
    total = abs(costs).sum() + abs(forecasts).sum()
    assert violation + paid <= lam[0] * unit**2 / step + excess + 1e-9 * (1 + total)


@pytest.mark.plain
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), ratio=st.floats(1e-5, 1.0), shift=st.floats(0.0, 1.0))
def test_the_price_of_a_cost_does_not_depend_on_the_range(seed: int, ratio: float, shift: float) -> None:
    """A cost z of the range is z' = ratio z + shift of a wider one: then lambda' = lambda/ratio, round by round."""
    rng = np.random.default_rng(seed)
    b, forecasts = 0.5, rng.uniform(0.4, 0.6, 100)  # the unit is at most 0.4, so b never caps it
    prices = []
    for r, limit in ((1.0, b), (ratio, ratio * b + shift)):
        lam, deviations, debt = np.zeros(1), np.zeros((2, 1)), 0.0
        for f in (r * (forecasts - b) + limit).tolist():
            debt += f - limit
            pace(lam, 0, limit, measure_unit(lam, deviations, 0, limit, (f - limit) ** 2), debt, f, 0.005, 1000.0)
        prices.append(r * lam[0])
    assert prices[1] == pytest.approx(prices[0], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("game", ["switching", "penalty-breaker"])
def test_a_run_of_squarecb_lewa_has_its_certificate(game: str) -> None:
    floor, rounds = 0.5, 400
    learner = lewa.learners.SquareCbLewa.tuned(3, rounds, floor)
    rng, state, b = np.random.default_rng(len(game)), functional.start(learner, 3), 1 - floor
    violation = excess = paid = 0.0
    for t in range(rounds):
        p = functional.play(learner, state)
        i = int(rng.choice(3, p=p / p.sum()))
        before = state.debt[0]
        state = functional.charge(learner, state, i)
        charged = float(state.charged[0])
        unit = min(4 * np.sqrt(state.deviations[0, 0] / max(state.deviations[1, 0], 1e-300)), b) or b
        paid += min(max((before + charged - b) / learner.repay, -unit), 19 * unit / 20)
        c = float((t // 50 + i) % 3 == 0) if game == "switching" else float(p[i] < 0.5)  # punishes what is likely
        seen = functional.Bandit(i, float(p[i]), float(rng.random() < 0.5), np.array([c]), p, state.charged)
        state = functional.learn(learner, state, seen)
        violation, excess = violation + 1 - c - b, excess + 1 - c - charged
    unit2 = min(16 * state.deviations[0, 0] / state.deviations[1, 0], b**2)
    assert violation + paid <= float(state.multiplier[0]) * unit2 / learner.step + excess + 1e-9
    assert state.debt[0] == pytest.approx(violation)
