"""The governor by price (G7): late-anytime-loss-lewa with a safe action. docs/theory_delay.md, 1."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statements import late_statements
from tests.theorems.instances import few

import lewa
from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateAnytimeLossLewa
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.falsify


def rounds(
    learner: LateAnytimeLossLewa, rewards: Matrix, kept: Matrix, draws: list[int]
) -> tuple[Vector, int, Session, float]:
    """Play these draws, but for safe rounds; return what each action kept of the floor, the safe rounds, and the chance."""
    session, debts, helps, chance = Session(learner, 2), [0.0], 0, 1.0
    for t, drawn in enumerate(draws):
        p = session.play()
        helped = bool(learner.cap_slack * session.multiplier.max() > 1)
        assert not helped or p[int(learner.cap_action)] == 1
        i = int(learner.cap_action) if helped else drawn if p[drawn] > 1e-4 else 1 - drawn
        helps, chance = helps + helped, chance * (float(drawn == 0) if helped else float(p[drawn]))
        charged = session.charge(i)
        before = session.state.losses.copy()
        session.learn(Bandit(i, float(p[i]), float(rewards[t, i]), kept[t, i : i + 1].copy(), np.zeros(0), charged))
        assert not helped or (session.state.losses == before).all()
        debts.append(debts[-1] + float(learner.floor[0] - kept[t, i]))
    return np.array(debts), helps, session, chance


@few
@given(st.floats(0.05, 3), st.floats(0, 0.9), st.floats(0.05, 1), st.integers(0, 99), st.booleans())
def test_on_every_path_no_debt_passes_what_the_price_cap_allows(
    delta: float, floor: float, part: float, seed: int, worst: bool
) -> None:
    """Draws are the worst, or even; the safe action has exactly its slack."""
    dice, T, slack = np.random.default_rng(seed), 80, part * (1 - floor)
    kept = np.column_stack([np.full(T, min(floor + slack, 1.0)), np.zeros(T) if worst else dice.random(T)])
    learner = LateAnytimeLossLewa(delta, np.array([floor]), 0.0, slack)
    draws = [1] * T if worst else dice.integers(0, 2, T).tolist()
    debts, _, session, _ = rounds(learner, dice.random((T, 2)), kept, draws)
    allowed = delta * np.sqrt(np.arange(T + 1)) / slack + floor
    assert (debts <= allowed + 1e-9).all()
    assert debts[-1] <= session.state.queue[0] + 1e-9
    statement = lewa.guarantee(learner, 2, 10**6)
    assert statement.violation is not None
    assert statement.violation[0] <= delta * 1000 / slack + floor + 1e-9


def test_in_expectation_regret_with_the_safe_rounds_keeps_the_inequality() -> None:
    """All sequences of draws with their probabilities: E Regret + E Q^2/A + E (safe rounds) (slack cap - 1) <= B."""
    T, delta, floor, slack = 9, 0.3, 0.6, 0.4
    kept = np.column_stack([np.ones(T), np.zeros(T)])
    rewards = np.column_stack([np.zeros(T), np.ones(T)])
    learner = LateAnytimeLossLewa(delta, np.array([floor]), 0.0, slack)
    regret, helps, total = 0.0, 0.0, 0.0
    play = np.array([floor, 1 - floor])  # meets the floor exactly
    for draws in product(range(2), repeat=T):
        debts, helped, session, chance = rounds(learner, rewards, kept, list(draws))
        if chance == 0:
            continue
        total += chance
        low = floor - np.diff(debts) > 0.5  # rounds in which action 0 was played
        regret += chance * float(T * (rewards[0] @ play) - (~low).sum())
        helps += chance * helped
        A = 2 * delta * sqrt(T)
        regret += chance * float(session.state.queue[0]) ** 2 / A
    assert total == pytest.approx(1)
    assert helps > 0.5  # the governor is needed here
    B = 2 * sqrt(2 * T * log(2)) + (4 * 2 * log(2) + 1) * sqrt(T) / delta
    assert regret <= B
    assert learner.guarantees(2, 10**6, lewa.Setting())[0].source.endswith("governed (G7)")


def test_its_guarantee_names_the_safe_action_and_the_bound_on_every_path() -> None:
    learner = LateAnytimeLossLewa.tuned(3, 1, 0.5, cap_action=2, cap_slack=0.25)
    plain = LateAnytimeLossLewa.tuned(3, 1, 0.5)
    with_cap, without = (lewa.guarantee(item, 3, 10**6) for item in (learner, plain))
    assert with_cap.regret == without.regret
    assert with_cap.safe == (2.0, 0.25)
    assert with_cap.violation == pytest.approx([min(without.violation[0], learner.delta * 1000 / 0.25 + 0.5)])  # type: ignore[index]
    assert any("the debt is at most" in text and "on every path" in text for text in with_cap.assumptions)
    assert late_statements(learner, 3, 10**6, lewa.theory.setting.Delays(5, 1, 1, 2)) == ()
