"""Anytime LEWA and the wrappers where the constraints are noise: means over fixed seeds, and failures that are counted."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT, regret_at_end, regret_at_marks, some

import lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

GAME = lewa.games.Bernoulli([0.9, 0.6, 0.3], [[0.2, 0.6, 0.9], [0.8, 0.7, 0.5]])
FLOOR = (0.55, 0.5)


@pytest.mark.parametrize("name", ["anytime-lewa", "lewa+doubling", "bandit-lewa+doubling", "lewa+tightened"])
@pytest.mark.parametrize("rounds", [300, 20_000])
def test_means_over_seeds_keep_the_bounds_in_expectation(name: str, rounds: int) -> None:
    learner = lewa.learners.make(name, 3, rounds, FLOOR)
    trace = lewa.play(learner, GAME, rounds, seeds=some(40))
    said = lewa.guarantee(learner, 3, rounds)
    if said.regret is None:
        assert "gives only the trivial bounds" in said.reason
        return
    assert said.violation is not None
    assert regret_at_end(trace).mean() <= said.regret
    assert (trace.shortfall[:, -1].mean(axis=0) <= said.violation).all()


# To compile the loop of `hp-lewa+doubling` takes as long as all plays here, and its epochs are those of `lewa+doubling`.
@pytest.mark.parametrize("name", ["anytime-lewa", "lewa+doubling", *["hp-lewa+doubling"] * bool(HUNT), "lewa+tightened"])
def test_bounds_with_high_probability_fail_no_more_often_than_they_may(name: str) -> None:
    rounds, eps, seeds = 5000, 0.1, 200 if HUNT else 50
    learner = lewa.learners.make(name, 3, rounds, FLOOR, epsilon=eps)
    said: Any = lewa.guarantee(learner, 3, rounds, epsilon=eps)
    assert said.kind == "high probability"
    trace = lewa.play(learner, GAME, rounds, seeds=seeds)
    failed = (regret_at_end(trace) > said.regret) | (trace.shortfall[:, -1] > np.array(said.violation)).any(axis=1)
    assert failed.mean() <= eps


def test_one_learner_keeps_its_bound_at_every_horizon() -> None:
    learner = lewa.learners.make("anytime-lewa", 3, 1, FLOOR)
    trace = lewa.play(learner, GAME, 20_000, seeds=8)
    curve, short = regret_at_marks(trace).mean(axis=0), trace.shortfall.mean(axis=0)
    for n, t in enumerate(trace.marks.tolist()):
        said = lewa.guarantee(learner, 3, t)
        if said.regret is not None and said.violation is not None:
            assert curve[n] <= said.regret
            assert (short[n] <= said.violation).all()
