import math
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.feedback import Bandit, feedback_kind

RNG = np.random.default_rng(5)
REWARDS, KEPT = RNG.random((30, 3)), RNG.random((30, 3, 2))
KEPT[:, 0] = 0.7  # one action meets every floor


def test_epochs_of_box_1_by_hand() -> None:
    learner = lewa.learners.make("lewa+doubling", 3, horizon=1, floor=(0.7, 0.6), first=2)
    plays: list[list[float]] = []
    multipliers: list[list[float]] = []
    t, length = 0, 2
    while t < 30:
        eta = 2 * math.sqrt(math.log(3) / (2 * length))
        mu = min(1 / math.sqrt(2 * length), 1 / eta)
        w, lam = [1.0] * 3, [0.0] * 2
        for _ in range(min(length, 30 - t)):
            r, c = REWARDS[t].tolist(), KEPT[t].tolist()
            p = [x / sum(w) for x in w]
            plays.append(p)
            multipliers.append(lam)
            w = [w[i] * math.exp(eta * (r[i] + lam[0] * c[i][0] + lam[1] * c[i][1])) for i in range(3)]
            met = [sum(p[i] * c[i][j] for i in range(3)) for j in range(2)]
            lam = [max(0.0, (1 - eta * mu) * lam[j] - mu * (met[j] - learner.floor[j])) for j in range(2)]
            t += 1
        length *= 2
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, KEPT), every_round=True)
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.multipliers[0], multipliers, rtol=0, atol=1e-12)
    assert max(map(max, multipliers)) > 0


@pytest.mark.parametrize("name", ["bandit-lewa", "hp-bandit-lewa"])
def test_an_epoch_is_the_learner_inside_from_its_start_on(name: str) -> None:
    made: Any = lewa.learners.make(f"{name}+doubling", 3, horizon=1, floor=(0.7, 0.6), first=3)
    assert feedback_kind(type(made)) == feedback_kind(lewa.learners.ALL[name])
    doubled, t = lewa.functional.start(made, 3), 0
    for epoch, length in enumerate((3, 6, 12)):
        inner = made.at(epoch)
        alone: Any = lewa.learners.make(name, 3, length, (0.7, 0.6), **confidence(name, epoch))
        assert inner == alone
        state = lewa.functional.start(inner, 3)
        for _ in range(length):
            p, q = lewa.functional.play(made, doubled), lewa.functional.play(inner, state)
            np.testing.assert_array_equal(p, q)
            seen: Any = lewa.functional.full_feedback(REWARDS[t], KEPT[t].T, p)
            if feedback_kind(type(made)) != "full":
                seen = Bandit(t % 3, float(p[t % 3]), float(REWARDS[t, t % 3]), KEPT[t, t % 3].copy(), p)
            doubled, state = lewa.functional.learn(made, doubled, seen), lewa.functional.learn(inner, state, seen)
            t += 1
        assert doubled.epoch.tolist() == [epoch + 1, 0]


def confidence(name: str, epoch: int) -> dict[str, float]:
    return {"epsilon": 0.05 / ((epoch + 1) * (epoch + 2))} if name.startswith("hp-") else {}


def test_an_answer_counts_for_the_epoch_in_which_it_arrives() -> None:
    learner = lewa.learners.make("bandit-lewa+doubling", 3, horizon=1, floor=0.5, first=2)
    state = lewa.functional.start(learner, 3)
    early = Bandit(1, float(lewa.functional.play(learner, state)[1]), 1.0, np.array([0.25]), np.zeros(0))
    for _ in range(2):
        state = lewa.functional.learn(learner, state, early)  # the first epoch is over
    inner = learner.at(1)  # type: ignore[attr-defined]
    late, fresh = (
        lewa.functional.learn(learner, state, early),
        lewa.functional.learn(inner, lewa.functional.start(inner, 3), early),
    )
    assert late.epoch.tolist() == [1, 1]
    np.testing.assert_array_equal(late.weights.log, fresh.weights.log)
    np.testing.assert_array_equal(late.multiplier, fresh.multiplier)


def test_the_guarantee_is_the_sum_over_epochs() -> None:
    K, T = 4, 10_000
    learner = lewa.learners.make("lewa+doubling", K, 1, 0.6)
    regret, violation, left, k = 0.0, 0.0, T, 0
    while left > 0:
        n = min(2**k, left)
        eta, mu = 2 * math.sqrt(math.log(K) / 2**k), min(2 ** (-k / 2), 1 / math.sqrt(math.log(K) / 2**k))
        B = math.log(K) / eta + eta * n / 4 + mu * n / 2
        V = math.sqrt(2 * (eta / 2 * n + 1 / mu) * (n + B))
        regret, violation, left, k = regret + min(B, n), violation + min(V, 0.6 * n), left - n, k + 1
    said: Any = lewa.guarantee(learner, K, T)
    assert (said.regret, said.violation) == (pytest.approx(regret), pytest.approx((violation,)))
    assert (said.kind, said.source) == ("expected [E V]+", "LEWA (a), (b), doubled")


def test_epsilon_is_split_over_the_epochs() -> None:
    K, T, eps = 4, 2**20 - 1, 0.1
    regret, fails = 0.0, 0.0
    for k in range(20):
        own = eps / ((k + 1) * (k + 2))
        part = lewa.guarantee(lewa.learners.make("lewa", K, 2**k, 0.6, epsilon=own), K, 2**k, epsilon=own)
        regret += 2**k if part.regret is None else part.regret
        radius = lewa.guarantee(lewa.learners.make("hp-lewa", K, 2**k, 0.6, epsilon=own), K, 2**k)
        fails += radius.epsilon or 0.0  # where nothing is proved the trivial bound holds, and never fails
    said: Any = lewa.guarantee(lewa.learners.make("lewa+doubling", K, 1, 0.6, epsilon=eps), K, T, epsilon=eps)
    assert (said.regret, said.kind, said.epsilon) == (pytest.approx(regret), "high probability", eps)
    radii = lewa.learners.make("hp-lewa+doubling", K, 1, 0.6, epsilon=eps)
    assert lewa.guarantee(radii, K, T).epsilon == pytest.approx(fails)
    assert 0 < fails < eps
    with pytest.raises(ValueError, match=r"epsilon must lie strictly between 0 and 1, got epsilon=1.5"):
        lewa.learners.make("lewa+doubling", K, 1, 0.6, epsilon=1.5)
    assert "needs radius" in lewa.guarantee(radii, K, T, epsilon=eps / 2).reason


def test_nothing_is_proved_beyond_the_epochs_that_there_are() -> None:
    learner = lewa.learners.make("lewa+doubling", 3, 1, 0.6)
    assert learner.length.sum() >= 10**13  # type: ignore[attr-defined]
    short = learner.replace(**{name: getattr(learner, name)[:3] for name in ("eta", "delta", "mu", "length")})
    assert lewa.guarantee(short, 3, 8).reason == "the epochs have only 7 rounds, fewer than 8"
    trace = lewa.play(short, lewa.games.Table(REWARDS, KEPT[:, :, 0]))
    assert trace.states[0].epoch.tolist() == [2, (30 - 7) % 4]  # the last epoch is repeated


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"length": np.array([1.0, 2.5])}, "length must be integers of at least 1"),
        ({"length": np.zeros(0)}, "length must be integers of at least 1"),
        ({"eta": np.ones(3)}, "eta must have one entry per epoch"),
        ({"eta": np.full(44, -1.0)}, "eta must be positive"),
    ],
)
def test_epochs_that_make_no_sense_are_refused(change: dict[str, Any], sentence: str) -> None:
    learner = lewa.learners.make("lewa+doubling", 3, 1, 0.6)
    with pytest.raises(ValueError, match=sentence):
        learner.replace(**change)


@pytest.mark.parametrize("first", [0, 1.5, -2, math.nan])
def test_a_first_epoch_is_a_whole_number_of_rounds(first: float) -> None:
    with pytest.raises(ValueError, match="first must be an integer of at least 1"):
        lewa.learners.make("lewa+doubling", 3, 1, 0.6, first=first)
