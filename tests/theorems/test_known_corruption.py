"""Corruption that is known, for bandits: a bonus of C/N covers it, against liars that see the past."""

from collections.abc import Callable
from math import log, sqrt

import numpy as np
import pytest
from tests.theorems.instances import some

import lewa
from lewa.engine.session import Session, dice_of
from lewa.learners import BanditOpEwa, OpEwa
from lewa.theory.setting import Setting
from lewa.types import Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

K, T, C, EPSILON, SEEDS = 3, 500, 4.0, 0.2, some(20)
TRUTH, REWARDS, FLOOR = np.array([0.2, 0.5, 0.8]), np.array([1.0, 0.6, 0.0]), 0.65

# A liar says what is revealed of each action in the place of the truth, by round and play, before the action is drawn.
Liar = Callable[[int, Vector], Vector]
LIARS: dict[str, Liar] = {
    "from the start": lambda t, p: TRUTH[::-1],
    "the bad look good": lambda t, p: np.array([1.0, 1.0, 0.8]),
    "the good look bad": lambda t, p: np.array([0.2, 0.5, 0.0]),
    "when the bad are likely": lambda t, p: np.array([1.0, 1.0, 0.8]) if p[0] > 0.5 else TRUTH,
    "when the good are unlikely": lambda t, p: np.array([0.2, 0.5, 0.0]) if p[2] < 0.6 else TRUTH,
    "late": lambda t, p: TRUTH[::-1] if t > T // 2 else TRUTH,
    "now and then": lambda t, p: TRUTH[::-1] if t % 50 == 0 else TRUTH,
}


def play_against(liar: Liar, learner: BanditOpEwa, seed: int) -> tuple[float, float]:
    """Return regret and the sum of shortfalls by the truth, against a liar that has C to spend; nothing else is noisy."""
    session, left, reward, short = Session(learner, K, dice_of(seed)), C, 0.0, 0.0
    for t in range(T):
        p = session.play()
        lie = TRUTH
        if left > 0:
            lie = np.clip(liar(t, p), np.maximum(TRUTH - left, 0), np.minimum(TRUTH + left, 1))
            left = max(left - float(abs(lie - TRUTH).max()), 0.0)
        choice = session.choose(t)
        session.learn(session.answer(choice, REWARDS, lie[np.newaxis]))
        reward += REWARDS[choice.action]
        short += max(FLOOR - float(p @ TRUTH), 0.0)
    best = 0.5 * REWARDS[1] + 0.5 * REWARDS[2], 0.25 * REWARDS[0] + 0.75 * REWARDS[2]  # the corners of what meets the floor
    return T * max(best) - reward, short


@pytest.mark.parametrize("name", LIARS)
def test_a_bonus_that_covers_the_corruption_costs_no_regret(name: str) -> None:
    """Only lies, no noise: the theorem then holds for every level, and a tiny one leaves the corruption alone."""
    level = 1e-6
    learner = BanditOpEwa.tuned(K, T, FLOOR, epsilon=EPSILON, corruption=C).replace(level=level)
    regret, short = np.array([play_against(LIARS[name], learner, seed) for seed in range(SEEDS)]).T
    in_the_mean = K + 2 * sqrt(2 * level * K * T) + (K + 1) * C * (1 + log(T))
    assert short.mean() <= in_the_mean + 3 * short.std() / sqrt(SEEDS)
    luck = (log(K) + log(4 * K / EPSILON)) / learner.eta + learner.eta * K * T + log(4 / EPSILON)
    kept = (regret <= luck) & (short <= in_the_mean + sqrt(T / 2 * log(4 / EPSILON)))
    assert kept.mean() >= 1 - EPSILON


def test_without_the_bonus_the_bound_without_corruption_is_passed() -> None:
    """The lies do harm: where the bonus does not cover them, runs fall short by more than without lies they could."""
    bare = BanditOpEwa.tuned(K, T, FLOOR, epsilon=EPSILON).replace(level=1e-6)
    short = [play_against(LIARS["the bad look good"], bare, seed)[1] for seed in range(5)]
    assert np.mean(short) > 2 * (K + 2 * sqrt(2 * 1e-6 * K * T))


def test_the_statements_are_those_of_the_theorem() -> None:
    G, m = 7.0, 2
    learner = BanditOpEwa.tuned(5, 10**5, (0.6, 0.4), epsilon=0.05, corruption=G)
    statement = lewa.guarantee(learner, 5, 10**5, epsilon=0.05, corruption=C)
    plain = lewa.guarantee(learner.replace(corruption=0.0), 5, 10**5, epsilon=0.05)
    assert statement.regret == plain.regret
    assert plain.positive_violation is not None
    assert statement.positive_violation == pytest.approx(
        [v + (5 * G + C) * (1 + log(10**5)) for v in plain.positive_violation]
    )
    assert any("except for a total corruption of 4" in text for text in statement.assumptions)
    assert len(statement.positive_violation or ()) == m

    full = OpEwa.tuned(5, 10**5, (0.6, 0.4), epsilon=0.05, corruption=G)
    statement = lewa.guarantee(full, 5, 10**5, epsilon=0.05, corruption=C)
    plain = lewa.guarantee(full.replace(corruption=0.0), 5, 10**5, epsilon=0.05)
    assert statement.regret == plain.regret
    assert plain.positive_violation is not None
    assert statement.positive_violation == pytest.approx([v + (G + C) * (1 + log(10**5)) for v in plain.positive_violation])


def test_what_it_does_not_cover_is_not_promised() -> None:
    learner = BanditOpEwa.tuned(3, 10_000, 0.5, corruption=5)
    assert "needs corruption >= 6" in lewa.guarantee(learner, 3, 10_000, corruption=6.0).reason
    assert "kappa = 1" in lewa.guarantee(learner.replace(kappa=0.0), 3, 10_000, constraints="constant").reason
    constant = learner.guarantees(3, 10_000, Setting(constraints="constant"))
    assert [statement.source for statement in constant] == ["Bandit OP-EWA"]  # not that of actions known once seen
    full = OpEwa.tuned(3, 10_000, 0.5, corruption=5)
    assert "corruption >= 6" in lewa.guarantee(full, 3, 10_000, corruption=6.0).reason
    assert lewa.guarantee(full.replace(share=1e-4), 3, 10_000, corruption=6.0, slater=0.3).source == "OP-EWA, slack"


@pytest.mark.parametrize("every", [1, 40])
@pytest.mark.parametrize("kind", [OpEwa, BanditOpEwa])
def test_runs_with_noise_keep_them(kind: type[OpEwa] | type[BanditOpEwa], every: int) -> None:
    rounds, game = 5000, lewa.games.Corrupted(corruption=20, every=every)
    learner = kind.tuned(3, rounds, 0.6, epsilon=EPSILON, corruption=20)
    statement = lewa.guarantee(learner, 3, rounds, epsilon=EPSILON, corruption=20.0)
    assert statement.regret is not None
    assert statement.positive_violation is not None
    assert statement.epsilon == EPSILON
    trace = lewa.play(learner, game, rounds, seeds=12)
    kept = (lewa.regret(trace) <= statement.regret) & (trace.positive[:, -1, 0] <= statement.positive_violation[0])
    assert kept.mean() >= 1 - EPSILON
