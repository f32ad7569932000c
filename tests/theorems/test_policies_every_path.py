"""Learners of contexts: the inequalities of the proof of EXP4-LEWA on every path, and their bounds in the mean."""

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lewa
from lewa import functional
from lewa.games import Contextual
from lewa.learners import AnytimeExp4Lewa, Exp4Lewa, Exp4LewaIx

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

K, P, T, FLOOR = 3, 2, 12, (0.6, 0.3)
LEARNERS: dict[str, Exp4Lewa | AnytimeExp4Lewa] = {
    "exp4-lewa": Exp4Lewa.tuned(K, T, FLOOR, policies=P),
    "anytime-exp4-lewa": AnytimeExp4Lewa.tuned(K, T, FLOOR, policies=P),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), sharp=st.sampled_from([0.05, 1.0, 20.0]), steps=st.sampled_from([1.0, 8.0]))
def test_lemma_l_the_variance_and_the_queue_hold_on_every_path(name: str, seed: int, sharp: float, steps: float) -> None:
    dice, learner = np.random.default_rng(seed), LEARNERS[name]
    learner = learner.replace(eta=steps * learner.eta)  # Lemma L asks nothing of the step
    anytime = isinstance(learner, AnytimeExp4Lewa)
    state: Any = functional.start(learner, K)
    losses, played, squares, short = np.zeros(K + P), 0.0, 0.0, np.zeros(2)
    for t in range(1, T + 1):
        advice = dice.dirichlet(np.full(K, sharp), size=P)
        xi, lam = np.vstack([np.eye(K), advice]), state.multiplier.copy()
        state = functional.see(learner, state, advice.ravel())
        p, step = functional.play(learner, state), learner.eta / sqrt(t) if anytime else learner.eta
        w = np.exp(-step * (losses - losses.min()))
        q = w / w.sum()
        assert p == pytest.approx(q @ xi)
        r, c = dice.integers(0, 2, K).astype(float), dice.random((2, K))
        priced = (1 - r) + lam @ (1 - c)  # of each action
        mean_square = sum(p[a] * q @ (xi[:, a] * priced[a] / p[a]) ** 2 for a in range(K))
        assert mean_square <= min(K, K + P) * (1 + lam.sum()) ** 2 * (1 + 1e-9)
        a = int(dice.choice(K, p=p / p.sum()))
        x = xi[:, a] * priced[a] / p[a]
        losses, played, squares = losses + x, played + q @ x, squares + step / 2 * q @ x**2
        assert q @ x == pytest.approx(priced[a])
        assert played - losses.min() <= (log(K + P) / step + squares) * (1 + 1e-9) + 1e-9
        state = functional.learn(learner, state, functional.Bandit(a, float(p[a]), r[a], c[:, a], p))
        short += np.array(FLOOR) - c[:, a]
        if anytime:  # the multiplier is a queue, and the queue is at least what is missing
            assert (short <= learner.parameters["delta"] * sqrt(t) * state.multiplier + 1e-9).all()


@pytest.mark.plain
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), sharp=st.sampled_from([0.05, 1.0, 20.0]), steps=st.sampled_from([0.2, 1.0, 8.0]))
def test_implicit_exploration_keeps_its_inequality_on_every_path(seed: int, sharp: float, steps: float) -> None:
    """sum L <= min_i sum X_i + ln N/eta + sum v with v = eta (1 + Lam) Lhat, whatever is drawn and answered."""
    dice, tuned = np.random.default_rng(seed), Exp4LewaIx.tuned(K, T, FLOOR, policies=P)
    learner = tuned.replace(eta=steps * tuned.eta)
    state: Any = functional.start(learner, K)
    losses, played, allowed = np.zeros(K + P), 0.0, log(K + P) / learner.eta
    for _ in range(T):
        advice, lam = dice.dirichlet(np.full(K, sharp), size=P), state.multiplier.copy()
        xi = np.vstack([np.eye(K), advice])
        state = functional.see(learner, state, advice.ravel())
        p, w = functional.play(learner, state), np.exp(-learner.eta * (losses - losses.min()))
        assert p == pytest.approx(w @ xi / w.sum(), rel=1e-6, abs=1e-12)
        a, r, c = int(p.argmin() if dice.random() < 0.5 else dice.integers(K)), float(dice.integers(2)), dice.random(2)
        loss = (1 - r) + lam @ (1 - c)
        estimate = loss / (p[a] + learner.eta / 2 * (1 + lam.sum()))
        losses, played = losses + xi[:, a] * estimate, played + loss
        allowed += learner.eta * (1 + lam.sum()) * estimate
        assert played <= (losses.min() + allowed) * (1 + 1e-9)
        state = functional.learn(learner, state, functional.Bandit(a, float(p[a]), r, c, p))


@pytest.mark.parametrize("name", [*LEARNERS, "exp4-lewa-ix", "anytime-proved-squarecb-lewa"])
def test_means_over_seeds_keep_the_bounds_against_every_mixture_of_policies(name: str) -> None:
    floor, rounds, game = 0.7, 20_000, Contextual(advice="exp4" in name)
    in_context = lewa.learners.settings_in_context(name, game.features, game.policies)
    learner = lewa.learners.make(name, 3, rounds, floor, **in_context)
    trace = lewa.play(learner, game, rounds, seeds=8)
    reward, short = trace.reward.mean(axis=0), trace.shortfall[:, :, 0].mean(axis=0)
    marks = list(enumerate(trace.marks.tolist()))
    for mark, n in marks if name.startswith("anytime") else marks[-1:]:
        bound = lewa.guarantee(learner, 3, n)
        if bound.regret is None or bound.violation is None:
            assert n < 1000  # the bound is trivial
            continue
        assert n * game.policy_value(floor) - reward[mark] <= bound.regret
        assert short[mark] <= bound.violation[0]
