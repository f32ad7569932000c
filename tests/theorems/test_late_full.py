"""Late answers with full information (Th2): what holds on every path, whenever answers come. docs/theory_delay.md, 5."""

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import few
from tests.theorems.test_late import Late, worlds

from lewa.engine.session import Session
from lewa.feedback import full_feedback
from lewa.learners import FixedShareLewa, LateLewa, Lewa
from lewa.theory import delayed
from lewa.theory.setting import Delays, Start
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.falsify


class Run:
    """A run of Late LEWA whose answers come as the world says, and all in the end; by decision."""

    def __init__(self, x: Late) -> None:
        dice, K, m, T = np.random.default_rng(x.seed), x.actions, len(x.floor), x.rounds
        self.world, self.session = x, Session(LateLewa(x.delta, np.array(x.floor)), K)
        self.plays, self.prices, self.rewards = np.zeros((T, K)), np.zeros((T, m)), np.zeros((T, K))
        self.constraints = np.zeros((T, m, K))
        self.spent, self.known, self.seen = list[float](), list[int](), list[set[int]]()
        self.learned, self.between, self.queues = list[int](), dict[int, int](), list[Vector]()
        waiting: dict[int, Any] = {}
        for t, place in enumerate(x.order):
            self.seen.append(set(waiting))
            self.plays[t] = p = self.session.play()
            self.prices[t] = self.session.multiplier
            self.known.append(len(self.learned))
            charged = self.session.charge(0)
            self.spent.append(float(self.session.state.totals[1]))
            coins = dice.random((1 + m, K)) < 0.5
            outcomes = {"dice": coins, "nothing": np.zeros((1 + m, K)), "unlikely": np.tile(p <= p.min(), (1 + m, 1))}
            self.rewards[t], self.constraints[t] = outcomes[x.pays][0], outcomes[x.pays][1:]
            waiting[t] = full_feedback(self.rewards[t], self.constraints[t], p, charged)
            for _ in range(1 + abs(place) % 2 if place >= 0 else 0):
                if waiting:
                    self._tell(waiting, list(waiting)[place % len(waiting)])
        for t in list(waiting):
            self._tell(waiting, t)
        self.queues.append(self.session.state.queue.copy())

    def _tell(self, waiting: dict[int, Any], t: int) -> None:
        self.queues.append(self.session.state.queue.copy())
        self.between[t] = len(self.learned) - self.known[t]
        self.learned.append(t)
        self.session.learn(waiting.pop(t))

    @property
    def short(self) -> Matrix:
        """Return c0 - p_t.c_t, of each decision"""
        return np.asarray(np.array(self.world.floor) - np.einsum("tmk,tk->tm", self.constraints, self.plays))

    def left(self, tau: int) -> Vector:
        """Return the regret against each action, and what it misses of the floors at the prices, from decision tau on."""
        r, c, floor = self.rewards[tau:], self.constraints[tau:], np.array(self.world.floor)
        regret = r.sum(axis=0) - (self.plays[tau:] * r).sum()
        missed = np.einsum("tm,tmk->k", self.prices[tau:], floor[:, None] - c)
        return np.asarray(regret - missed)


def start_at(run: Run, tau: int) -> tuple[Start, Delays]:
    """Return where the learner stands before decision tau, and the delays from then on."""
    T, before, old = run.world.rounds, run.spent[tau - 1] if tau else 0.0, sorted(run.seen[tau])
    these = range(tau, T)
    g = [sum(t in run.seen[u] for u in these) + (len(run.seen[t]) if t >= tau else 0) for t in (*these, *old)]
    late = Delays(sum(len(run.seen[t]) for t in these), max(g), max(run.between[t] for t in (*these, *old)))
    prices = sum(1 + run.prices[u].sum() for u in old)
    queue = run.queues[run.known[tau]].tolist()
    totals = (run.known[tau], before, run.spent[tau] - before, prices, *queue)
    entropy = float(-np.log(np.maximum(run.plays[tau], 1e-300)).min())
    return Start(entropy, tuple(run.prices[tau].tolist()), len(old), 0, totals), late


@few
@given(worlds(), st.integers(0, 59))
def test_on_every_path_and_for_any_delays_late_lewa_keeps_its_bound_against_every_action(x: Late, first: int) -> None:
    """Regret(p) + sum_j Q_j^2/A <= B + N(p), for any rewards and constraints; from a later decision too."""
    run = Run(x)
    learner, K, T, m = run.session.learner, x.actions, x.rounds, len(x.floor)
    for tau in {0, first % T}:
        start, late = start_at(run, tau)
        B, A = delayed.price_of_the_draw(learner, K, T - tau, late, delayed.full_form(K), start if tau else None)
        left = run.left(tau) + (run.queues[-1] ** 2).sum() / A
        assert (left <= B * (1 + 1e-9) + 1e-9).all()
        old = sorted(run.seen[tau])
        ahead = run.queues[-1] - run.queues[run.known[tau]]
        assert (run.short[tau:].sum(axis=0) + run.short[old].sum(axis=0) <= ahead + 1e-9 * T).all()
    # With room for noise, which is what the bound with high probability takes from the path.
    start, late = start_at(run, 0)
    B, A = delayed.with_room_for_noise(learner, K, T, late)
    theta = x.delta / (2 * m * sqrt(T))
    left = run.left(0) + (run.queues[-1] ** 2).sum() / A + theta / 8 * (run.prices.sum(axis=1) ** 2).sum()
    assert (left <= B * (1 + 1e-9) + 1e-9).all()
    # The same with the numbers of the run: n, and what the shrinkage absorbs.
    place = {t: s for s, t in enumerate(run.learned, 1)}
    price = {t: run.queues[place[t] - 1] / (x.delta * sqrt(place[t])) for t in range(T)}
    shrunk = sum((sqrt(s) - sqrt(s - 1)) * x.delta / 2 * (price[t] ** 2).sum() for t, s in place.items())
    dual = m / x.delta * sum((0.5 + run.between[t]) / sqrt(s) for t, s in place.items())
    right = sqrt(log(K) * run.spent[-1]) + dual - shrunk
    assert (run.left(0) + (run.queues[-1] ** 2).sum() / (2 * x.delta * sqrt(T)) <= right + 1e-9 * (1 + abs(right))).all()
    g = np.array([len(run.seen[t]) + sum(t in later for later in run.seen) for t in range(T)])
    b = 1 + run.prices.sum(axis=1)
    assert run.spent[-1] == pytest.approx(float(((1 + g) * b * b).sum()))


def test_without_answers_regret_is_what_only_the_delay_in_the_bound_covers() -> None:
    """No answer comes before the end, so every play is even, and the regret is T/2 where one of two actions pays."""
    T = 40
    learner = LateLewa(1e6, np.array([0.0]))
    all_open = Delays(T * (T - 1) // 2, T - 1, T - 1, T)
    session = Session(learner, 2)
    for _ in range(T):
        assert session.play().tolist() == [0.5, 0.5]
        session.charge(0)
    assert session.state.totals[1] == T * T
    late, none = (
        delayed.price_of_the_draw(learner, 2, T, delays, delayed.full_form(2)).B for delays in (all_open, Delays())
    )
    assert none < T / 2 <= late == pytest.approx(sqrt(log(2) * T * T), rel=1e-3)


def test_after_a_change_a_lost_answer_costs_the_price_at_which_the_learner_stood() -> None:
    learner, lost = LateLewa(2.0, np.array([0.05])), 1000
    start = Start(log(2), (5.0,), totals=(10_000.0, 2e6, 36.0, 0.0, 1000.0))  # s0, n0, a, prices of what is open, Q0
    late = Delays(most_open=1, missing=lost)
    expected, every_path = delayed.late_lewa(learner, 2, 20_000, late, start)
    assert expected.regret is not None
    assert every_path.regret is not None
    price = 1000 / (2 * sqrt(10_001))  # of the first decision, which may be among those that are lost
    assert expected.regret - every_path.regret >= lost * price * (1 - 0.05)


@few
@given(worlds(), st.floats(0.05, 1))
def test_on_every_path_the_prices_of_lewa_at_learning_are_near_those_at_the_draw(x: Late, product: float) -> None:
    """With arrivals that may depend on anything the comparator's sum exceeds that at the prices of the draws by m mu D."""
    dice, K, m, floor = np.random.default_rng(x.seed), x.actions, len(x.floor), np.array(x.floor)
    learner = Lewa(0.3, x.delta, product / x.delta, floor)
    session, waiting, learned = Session(learner, K), dict[int, tuple[Vector, int, Any]](), 0
    more, total = np.zeros(K), 0

    def tell(t: int) -> None:
        nonlocal learned, more
        quoted, before, seen = waiting.pop(t)
        assert (abs(session.multiplier - quoted) <= learner.mu * (learned - before) + 1e-9).all()
        more += (session.multiplier - quoted) @ (floor[:, None] - seen.constraints)
        session.learn(seen)
        learned += 1

    for t, place in enumerate(x.order):
        p, total = session.play(), total + len(waiting)
        coins = dice.random((1 + m, K)) < 0.5 if x.pays == "dice" else np.tile(p <= p.min(), (1 + m, 1))
        answer = full_feedback(coins[0].astype(float), coins[1:].astype(float), p.copy())
        waiting[t] = session.multiplier.copy(), learned, answer
        for _ in range(1 + abs(place) % 2 if place >= 0 else 0):
            if waiting:
                tell(list(waiting)[place % len(waiting)])
    for t in list(waiting):
        tell(t)
    cost = delayed.at_prices_of_the_draw(learner, x.rounds, Delays(total))
    assert cost == pytest.approx(m * learner.mu * total)
    assert (more <= cost + 1e-9).all()


def test_a_lost_answer_costs_its_price_if_its_loss_may_depend_on_its_outcome() -> None:
    learner = Lewa(0.01, 0.5, 0.1, np.array([0.6, 0.5]))
    costs = [delayed.at_prices_of_the_draw(learner, 1000, Delays(70, missing=lost)) for lost in (0, 3)]
    assert costs == pytest.approx([14, 14 + 3 * (1.2 * 0.4 + 1.0 * 0.5)])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [0.0, 0.02])
def test_on_every_path_the_shrinkage_of_lewa_leaves_room_for_noise(seed: int, share: float) -> None:
    """Regret(p) + sum_j [V_j]+^2/A + (theta/8) sum_t (sum_j lambda_j)^2 <= B + N(p), for LEWA and fixed share."""
    dice, T, K, m = np.random.default_rng(seed), 80, 2 + seed % 3, 1 + seed % 2
    floor = dice.random(m)
    longest = seed % 5
    late = Delays(longest * T, 2 * longest, 2 * longest, longest + 1)
    eta = 0.2 * (1 + dice.random())
    delta = m * eta * (1 + late.partners) * (0.5 + dice.random()) + 2 * share * m * late.between
    steps = eta, delta, 1 / delta
    learner: Any = FixedShareLewa(*steps, share, floor) if share else Lewa(*steps, floor)
    session, waiting = Session(learner, K), list[tuple[int, int, Any]]()
    regret, missed, short, squares = np.zeros(K), np.zeros(K), np.zeros(m), 0.0
    for t in range(T + longest + 1):
        for due in [item for item in waiting if item[0] <= t]:
            waiting.remove(due)
            price = session.multiplier.copy()
            missed += price @ (floor[:, None] - due[2].constraints)
            squares += float(price.sum()) ** 2
            session.learn(due[2])
        if t < T:
            p = session.play()
            coins = dice.random((1 + m, K)) < 0.5 if seed % 4 else np.tile(p <= p.min(), (1 + m, 1))
            r, c = coins[0].astype(float), coins[1:].astype(float)
            regret += r - p @ r
            short += floor - c @ p
            waiting.append((t + 1 + int(dice.integers(0, longest + 1)), t, full_feedback(r, c, p.copy())))
    B, A = delayed.full_information(learner, K, T, late, share)
    theta = delayed.room_for_noise(learner, late, share)
    assert theta > 0
    left = regret - missed + (np.maximum(short, 0) ** 2).sum() / A + theta / 8 * squares
    assert (left <= B * (1 + 1e-9) + 1e-9).all()
