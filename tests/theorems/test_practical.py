"""The certificate of the paced price, docs/theory_practical.md 2, holds on every path, for any forecasts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lewa
from lewa import functional
from lewa.kernels import pace


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    b=st.floats(0.01, 1.0),
    step=st.floats(1e-4, 1.0),
    repay=st.floats(1.0, 1e4),
    scale=st.floats(0.1, 100.0),
)
def test_the_certificate_holds_for_any_costs_and_forecasts(
    seed: int, b: float, step: float, repay: float, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    costs, forecasts = scale * rng.standard_cauchy(200), scale * rng.standard_cauchy(200)
    lam, debt, paid = np.zeros(1), np.zeros(1), 0.0
    for z, f in zip(costs.tolist(), forecasts.tolist(), strict=True):
        debt[0] += z - b
        paid += min(max(debt[0] / repay, -b), 19 * b / 20)
        pace(lam, debt, 0, 1 - b, f, step, repay)
    violation, excess = (costs - b).sum(), (costs - forecasts).sum()
    size = abs(costs).sum() + abs(forecasts).sum()
    assert violation + paid <= lam[0] * b**2 / step + excess + 1e-9 * (1 + size)


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
        paid += min(max((before + charged - b) / learner.repay, -b), 19 * b / 20)
        c = float((t // 50 + i) % 3 == 0) if game == "switching" else float(p[i] < 0.5)  # punishes what is likely
        seen = functional.Bandit(i, float(p[i]), float(rng.random() < 0.5), np.array([c]), p, state.charged)
        state = functional.learn(learner, state, seen)
        violation, excess = violation + 1 - c - b, excess + 1 - c - charged
    assert violation + paid <= float(state.multiplier[0]) * b**2 / learner.step + excess + 1e-9
    assert state.debt[0] == pytest.approx(violation)
