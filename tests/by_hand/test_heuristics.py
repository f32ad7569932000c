"""Forecast-LP and entropic LP against the linear program and the projection, written out for two actions."""

import math
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.measures import best_fixed_play

REWARDS = [[1.0, 0.2], [0.3, 0.9], [0.0, 0.4], [0.8, 0.5], [0.7, 0.0], [0.5, 0.1]]
KEPT = [[0.1, 0.5], [0.0, 1.0], [0.2, 0.8], [0.3, 0.7], [0.2, 0.5], [0.9, 0.2]]
FLOOR = 0.6
GAME = lewa.games.Table(REWARDS, KEPT)


@pytest.mark.parametrize("gain", [0.0, 0.5])
def test_six_rounds_of_forecast_lp_by_hand(gain: float) -> None:
    trace: Any = lewa.play(lewa.learners.ForecastLp(gain, np.array([FLOOR])), GAME, every_round=True)
    plays, prices, rhat, chat = [[0.5, 0.5]], [0.0], [0.0, 0.0], [0.0, 0.0]
    for t, (r, c) in enumerate(zip(REWARDS, KEPT), start=1):
        g = max(1 / t, gain)
        rhat, chat = ([x + g * (y - x) for x, y in zip(old, new)] for old, new in ((rhat, r), (chat, c)))
        best, safe = (0, 1) if rhat[0] > rhat[1] else (1, 0)
        share, price = 1.0, 0.0  # of the better action
        if max(chat) < FLOOR:
            share = float(chat[best] > chat[safe])
        elif chat[best] < FLOOR:
            share = (chat[safe] - FLOOR) / (chat[safe] - chat[best])
            price = (rhat[best] - rhat[safe]) / (chat[safe] - chat[best])
        plays.append([share, 1 - share] if best == 0 else [1 - share, share])
        prices.append(price)
    np.testing.assert_allclose(trace.plays[0], plays[:-1], rtol=0, atol=1e-7)
    np.testing.assert_allclose(trace.multipliers[0, :, 0], prices[:-1], rtol=0, atol=1e-5)
    assert max(prices) > 0
    assert min(map(min, plays)) == 0


def test_the_linear_program_is_solved_for_any_number_of_lines() -> None:
    rng = np.random.default_rng(4)
    met = 0
    for n in range(60):
        m, K = 1 + n % 3, 2 + n % 7
        learner = lewa.learners.ForecastLp(0.0, rng.random(m) * 0.8)
        r, c = (
            (rng.random(K), rng.random((m, K))) if n % 2 else (rng.integers(3, size=K) / 2, rng.integers(3, size=(m, K)) / 2)
        )
        state = lewa.functional.learn(
            learner, lewa.functional.start(learner, K), lewa.functional.full_feedback(r, c, np.full(K, 1 / K))
        )
        p, best = lewa.functional.play(learner, state), best_fixed_play(r, c, learner.floor)
        if best.feasible:
            met += 1
            assert abs(p @ r - best.value) < 1e-6
            assert (c @ p >= learner.floor - 1e-8).all()
        else:
            worst = (c - learner.floor[:, np.newaxis]).min(axis=0)
            assert p @ worst > worst.max() - 1e-6
    assert 10 < met < 60


def test_six_rounds_of_entropic_lp_by_hand() -> None:
    eta = 0.7
    trace: Any = lewa.play(lewa.learners.EntropicLp(eta, np.array([FLOOR])), GAME, every_round=True)
    plays, prices, G, total = [0.5], [0.0], [0.0, 0.0], [0.0, 0.0]
    for t, (r, c) in enumerate(zip(REWARDS, KEPT), start=1):
        G, total = [x + y for x, y in zip(G, r)], [x + y for x, y in zip(total, c)]
        first, second = (x / t for x in total)
        x, lam = 1 / (1 + math.exp(eta * (G[1] - G[0]))), 0.0
        if max(first, second) >= FLOOR > x * first + (1 - x) * second:  # on the line: x first + (1 - x) second = floor
            x = (FLOOR - second) / (first - second)
            lam = (math.log(x / (1 - x)) / eta - (G[0] - G[1])) / (first - second)
        plays.append(x)
        prices.append(lam)
    np.testing.assert_allclose(trace.plays[0, :, 0], plays[:-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace.multipliers[0, :, 0], prices[:-1], rtol=0, atol=1e-6)
    assert max(prices) > 0
