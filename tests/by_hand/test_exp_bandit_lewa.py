"""ExpBanditLEWA by hand, and its inequality in exact expectation: over all draws of short games."""

from math import exp, expm1, log, sqrt
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.feedback import Bandit
from lewa.learners import ExpBanditLewa


def test_twelve_rounds_by_hand() -> None:
    rng, K, floor = np.random.default_rng(3), 3, (0.6, 0.3)
    rewards, kept = rng.random((12, K)), rng.random((12, K, 2))
    learner = ExpBanditLewa(eta=0.7, rate=0.4, floor=np.array(floor))
    trace = lewa.play(learner, lewa.games.Table(rewards, kept), every_round=True)
    drawn: Any = trace.actions
    losses, Q, n = [0.0] * K, 0.0, 0.0
    for t, i in enumerate(drawn[0].tolist()):
        z = (exp(0.4) - 1) * exp(0.4 * Q)
        n += (1 + z) ** 2
        w = [exp(-0.7 / sqrt(n) * loss) for loss in losses]
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(trace.plays[0, t], np.array(p), rtol=1e-12)  # type: ignore[index]
        v = max(0.0, *(c0 - c for c0, c in zip(floor, kept[t, i].tolist(), strict=True)))
        losses[i] += ((1 - rewards[t, i]) + z * v) / p[i]
        Q += v


@pytest.mark.parametrize(("eta", "rate"), [(0.6, 0.05), (0.2, 0.1), (3.0, 0.03), (1.0, 0.8)])
def test_in_expectation_over_all_draws_the_inequality_holds(eta: float, rate: float) -> None:
    """E Regret(k) + E e^{bQ} - 1 <= C (1 + (e^b - 1) E e^{bQ}), for an action k that never misses; rewards react."""
    rng, K, T, floor = np.random.default_rng(4), 2, 6, 0.7
    C = sqrt(T) * (log(K) / eta + K * eta)
    learner = ExpBanditLewa(eta, rate, np.array([floor]))
    for _ in range(5):
        kept = (rng.random((T, K)) < 0.5).astype(float)
        kept[:, 0] = floor
        base = rng.random((T, K))
        regret = steep = total = 0.0
        paths = [(lewa.functional.start(learner, K), 1.0, 0.0, 0.0)]  # with the same beginning they share it
        for t in range(T):
            longer = []
            for state, chance, Q, gained in paths:
                p = lewa.functional.play(learner, state)
                leader = int(p[1] > p[0])
                rewards = np.where(np.arange(K) == leader, 0.0, base[t])  # what is likely pays nothing
                for i in range(K):
                    seen = Bandit(i, float(p[i]), float(rewards[i]), kept[t, i : i + 1].copy(), p)
                    after, missed = lewa.functional.learn(learner, state, seen), max(0.0, floor - kept[t, i])
                    longer.append((after, chance * p[i], Q + missed, gained + rewards[0] - rewards[i]))
            paths = longer
        for _, chance, Q, gained in paths:
            regret, steep, total = regret + chance * gained, steep + chance * exp(rate * Q), total + chance
        assert len(paths) == K**T
        assert total == pytest.approx(1)
        assert regret + steep - 1 <= C * (1 + expm1(rate) * steep) + 1e-9


def test_the_guarantee_is_that_of_the_proof() -> None:
    K, T = 4, 10**6
    learner = lewa.learners.make("exp-bandit-lewa", K, T, (0.6, 0.3))
    C = 2 * sqrt(K * T * log(K))
    b = log(1 + 0.9 / C)
    said: Any = lewa.guarantee(learner, K, T, constraints="arbitrary")
    V = log(10 * (T + C + 1)) / b
    assert (said.kind, said.regret) == ("expected E[V]+", pytest.approx(C + 0.9))
    assert said.positive_violation == pytest.approx((V, V))
    assert said.assumptions[0].startswith("against mixtures of actions that each meet the floors in every round")
    likely: Any = lewa.guarantee(learner, K, T, constraints="arbitrary", epsilon=0.05)
    assert (likely.kind, likely.regret) == ("high probability", T)
    assert likely.violation[0] == pytest.approx(V + log(20) / b)
    assert lewa.guarantee(learner, K, T).regret is None  # noise: nothing is proved
    assert lewa.guarantee(learner.replace(rate=1.0), K, T, constraints="arbitrary").regret is None
    best = lewa.advise("bandit", K, T, 0.6, constraints="arbitrary", every_round=True)
    assert best.learner.name == "exp-bandit-lewa"  # nothing else is proved there
    net = lewa.advise("bandit", K, T, 0.6, constraints="arbitrary")
    assert net.learner.name != "exp-bandit-lewa"  # others have a bound against more plays


@pytest.mark.parametrize("name", ["lewa", "fixed-share-lewa", "exp-lewa", "loss-lewa", "lewa-ix", "anytime-loss-lewa"])
def test_bounds_against_plays_that_always_meet_the_floors_name_a_share_of_every_plays_reward(name: str) -> None:
    learner = lewa.learners.make(name, 3, 10**6, (0.6, 0.2))
    setting = lewa.Setting(constraints="arbitrary", slater=0.2)
    shares = {statement.share for statement in learner.guarantees(3, 10**6, setting) if statement.regret is not None}
    assert shares == {0.2 / (0.6 + 0.2)}
    assert {s.share for s in learner.guarantees(3, 10**6, setting._replace(slater=None))} == {None}


def test_a_bandit_earns_that_share_though_the_best_play_misses_the_floors() -> None:
    """The game in which no learner keeps up with plays that meet the floors on average, at its share."""
    T = 3000
    t = np.arange(T)[:, np.newaxis]
    rewards = np.where(np.arange(3) == 0, 1.0, np.where(np.arange(3) == 1, 0.5, 0.1)) * np.ones((T, 1))
    kept = np.where(np.arange(3) == 0, t % 2, np.where(np.arange(3) == 1, (t + 1) % 2, 0.9)) * 1.0
    learner = lewa.learners.make("loss-lewa", 3, T, 0.5)
    trace = lewa.play(learner, lewa.games.Table(rewards, kept), seeds=2)
    setting = lewa.Setting(constraints="arbitrary", slater=0.4)
    said = next(s for s in learner.guarantees(3, T, setting) if s.share)
    assert said.share is not None
    assert said.regret is not None
    assert trace.reward[:, -1].mean() >= said.share * T - said.regret
