"""Reserve at the draw and settle at the answer (Th9): what holds on every path, in whatever order answers come, and rules
that are wrong in one place. docs/theory_delay.md, 10."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statements import late_statements
from tests.theorems.instances import law
from tests.theorems.test_late_ix import World, check_certificates, play, worlds

from lewa import Setting
from lewa.feedback import Bandit
from lewa.learners import LateLewaIx, LateLossLewa
from lewa.learners.variants.loss_rule import LateLossState
from lewa.theory.delayed import no_later
from lewa.theory.delayed_losses import eager_steps
from lewa.theory.setting import Delays

pytestmark = pytest.mark.falsify
KINDS = (LateLewaIx, LateLossLewa)


@st.composite
def reserving(draw: Any) -> World:
    x: World = draw(worlds())
    value = st.one_of(st.floats(0, 1), st.sampled_from((0.0, 1.0)))
    reserves = tuple(tuple(draw(value) for _ in range(x.actions)) for _ in x.floor)
    error = draw(st.one_of(st.floats(0, 1), st.sampled_from((0.0, 0.1, 1.0))))
    return x._replace(kind=draw(st.sampled_from(KINDS)), reserves=reserves, error=error)


def check_eager_steps(x: World) -> None:
    """Prices have their cap and are near those at the draw, LD holds for the best l, and the certificate at all times."""
    path, learner, floor, T, tiny = play(x), x.learner, np.array(x.floor), len(x.order), 1e-9
    answered, delta, mu = ~np.array(path.lost), learner.delta, learner.mu
    wrong = abs(path.kept - path.reserved) * answered[:, None]
    late = path.late._replace(errors=tuple(wrong.max(axis=0).tolist()))
    errors, steps = np.array(late.errors), eager_steps(learner, T, late)
    assert (path.prices <= np.array(steps.prices) * (1 + tiny) + tiny).all()
    Gam = 1 + delta * mu * errors * late.most_open
    for t in np.flatnonzero(answered):
        later = sum(t in waiting for waiting in path.open)
        near = mu * (Gam * (1 + later) + errors * len(path.between[t]))
        assert (abs(path.prices_then[t] - path.prices[t]) <= near + tiny).all()
    # A decision without an answer is one whose constraint is its reserve.
    short = floor - np.where(answered[:, None], path.kept, path.reserved)
    A, total = 2 * (delta * T + 1 / mu), np.maximum(short.sum(axis=0), 0)
    gained = (total**2 / A).sum() + delta / 2 * (path.prices**2).sum() - (path.prices * short).sum()
    assert gained <= steps.cost * (1 + tiny) + tiny
    assert (short.sum(axis=0) <= path.last / mu + delta * path.prices.sum(axis=0) + tiny * T / mu).all()
    check_certificates(path)


@law
@given(reserving())
def test_on_every_path_and_in_any_order_the_steps_that_reserve_and_settle_obey_their_lemma(x: World) -> None:
    check_eager_steps(x)


class Wrong(LateLossLewa):
    compiled = False  # in `make falsify` too


class NoSettlement(Wrong):
    def learn(self, s: LateLossState, seen: Bandit) -> None:
        before = s.multiplier.copy()
        LateLossLewa.learn(self, s, seen)
        s.multiplier[:] = before


class WrongSign(Wrong):
    def learn(self, s: LateLossState, seen: Bandit) -> None:
        before, m = s.multiplier.copy(), s.multiplier.size
        LateLossLewa.learn(self, s, seen)
        s.multiplier[:] = np.maximum(before + self.mu * (seen.constraints - seen.charged[m + 2 :]), 0)


class LeaksTwice(Wrong):
    def learn(self, s: LateLossState, seen: Bandit) -> None:
        LateLossLewa.learn(self, s, seen)
        s.multiplier[:] = np.maximum(s.multiplier - self.mu * self.delta * seen.charged[: s.multiplier.size], 0)


class LeaksAtSettlement(Wrong):
    def charge(self, s: LateLossState, action: int) -> None:
        before = s.multiplier.copy()
        LateLossLewa.charge(self, s, action)
        s.multiplier[:] = np.maximum(
            before + self.mu * (self.floor - self.reserves.reshape(self.floor.size, -1)[:, action]), 0
        )

    def learn(self, s: LateLossState, seen: Bandit) -> None:
        LateLossLewa.learn(self, s, seen)
        s.multiplier[:] = np.maximum(s.multiplier - self.mu * self.delta * seen.charged[: s.multiplier.size], 0)


class NoReserve(Wrong):
    def charge(self, s: LateLossState, action: int) -> None:
        before = s.multiplier.copy()
        LateLossLewa.charge(self, s, action)
        s.multiplier[:] = np.maximum(before - self.mu * self.delta * before, 0)


@pytest.mark.parametrize("kind", [NoSettlement, WrongSign, LeaksTwice, LeaksAtSettlement, NoReserve])
def test_a_rule_that_is_wrong_in_one_place_breaks_the_lemma(kind: type[LateLossLewa]) -> None:
    v, error = (0.0, 0.0) if kind is LeaksAtSettlement else (0.6, 1.0)
    order, pays = tuple([-1] * 12 + [1] * 12), "nothing" if kind in (NoSettlement, WrongSign, NoReserve) else "dice"
    x = World(2, (0.7,), (0.1, 1.0, 0.5), order, 1, "dice", pays, 0, LateLossLewa, ((v, v),), error)
    check_eager_steps(x)
    with pytest.raises(AssertionError):
        check_eager_steps(x._replace(kind=kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bounds_have_the_errors_of_the_reserves_in_the_place_of_the_whole_range(kind: type[LateLossLewa]) -> None:
    T, K, d, floor, means = 10**7, 3, 20, (0.5, 0.3), [[0.2, 0.5, 0.9], [0.3, 0.6, 0.4]]
    plain: Any = kind.tuned(K, T, floor, delay=d)
    eager: Any = kind.tuned(K, T, floor, delay=d, means=means, reserve=1)
    delta, mu, late = eager.delta, eager.mu, Delays(d * T, 2 * d, 2 * d, d + 1, errors=(0.1, 0.25))
    assert (plain.eta, plain.delta, plain.mu) == (eager.eta, delta, mu)
    cost = 0.0
    for err in late.errors:
        Gam = 1 + delta * mu * err * (d + 1)
        cost += mu * (T * (Gam**2 + err**2) / 2 + err * (Gam * T + (Gam + err) * d * T))
    steps = eager_steps(eager, T, late)
    assert steps.cost == pytest.approx(cost)
    assert steps.prices == pytest.approx(
        [c0 / delta + mu * err * (d + 1) for c0, err in zip(floor, late.errors, strict=True)]
    )
    assert steps.lost == pytest.approx(1 + steps.prices[0] * 0.8 + steps.prices[1] * 0.7)
    assert steps.lost_violation == (0.9, 0.6)
    (statement, *_), (other, *_) = (late_statements(learner, K, T, late) for learner in (eager, plain))
    Gam = 1 + 0.5 * delta * mu * 2 * d
    assert other.regret is not None
    assert statement.regret is not None
    assert other.regret - statement.regret == pytest.approx(2 * mu * Gam**2 * (T / 2 + d * T) - cost)
    assert statement.regret < other.regret
    assert no_later(late) in statement.assumptions
    assert "no constraint differs from its reserve by more than 0.1 and 0.25 of its range" in no_later(late)
    unknown = late_statements(eager, K, T, late._replace(errors=()))[0]  # then the largest possible ones
    assert unknown.regret == pytest.approx(late_statements(eager, K, T, late._replace(errors=(0.9, 0.7)))[0].regret)
    assert eager.guarantees(K, T, Setting())[0].regret == pytest.approx(
        plain.guarantees(K, T, Setting())[0].regret
        - mu * T
        + eager_steps(eager, T, Delays(most_open=1, errors=(0.9, 0.7))).cost
    )


def test_reserves_are_checked() -> None:
    for floor, values, sentence in (
        ([0.5], [0.2, 1.5], "reserves must be numbers in"),
        ([0.5, 0.5], [0.2, 0.3, 0.4], "as many for each of 2 constraints"),
    ):
        with pytest.raises(ValueError, match=sentence):
            LateLossLewa(0.1, 0.5, 0.1, np.array(floor), np.array(values))
    with pytest.raises(ValueError, match="one number per constraint and action, 3, or none, got reserves=2"):
        LateLossLewa(0.1, 0.5, 0.1, np.array([0.5]), np.array([0.2, 0.3])).start(3)
    with pytest.raises(ValueError, match="reserve needs the expected constraints of each action"):
        LateLossLewa.tuned(2, 100, 0.5, reserve=1)
    with pytest.raises(ValueError, match="reserve must be 0 or 1"):
        LateLewaIx.tuned(2, 100, 0.5, means=[[0.2, 0.9]], reserve=0.5)
