"""LEWA-IX with late answers and the effective probability (Th6): what holds on every path, and the three supermartingales of
its proof by exact enumeration. docs/theory_delay.md, 8."""

from itertools import product
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statements import certificate, late_statements, probable_statements
from tests.theorems.instances import HUNT, few, law

from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateLewaIx, LateLossLewa
from lewa.theory import delayed_losses
from lewa.theory.delayed_losses import late_steps
from lewa.theory.setting import Delays
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.falsify


class World(NamedTuple):
    """A learner, the answers that come after each decision, and the draws."""

    actions: int
    floor: tuple[float, ...]
    steps: tuple[float, float, float]  # eta, delta, delta mu
    order: tuple[int, ...]  # of each decision, the place of the answers that come after it among those that wait; -1: none
    seed: int
    draws: str  # what holds on every path holds for any draws
    pays: str
    loses: int = 0  # one of so many decisions is never answered; 0: none
    kind: type[LateLossLewa] | type[LateLewaIx] = LateLewaIx
    reserves: tuple[tuple[float, ...], ...] = ()  # for each constraint and action
    error: float = 1.0  # the most by which a constraint differs from its reserve

    @property
    def learner(self) -> LateLossLewa | LateLewaIx:
        eta, delta, product = self.steps
        return self.kind(eta, delta, product / delta, np.array(self.floor), np.array(self.reserves).ravel())


@st.composite
def worlds(draw: Any) -> World:
    T = draw(st.integers(1, 50))
    some = st.lists(st.integers(-3, 8), min_size=T, max_size=T)
    later = st.integers(0, T).map(lambda n: [-1] * n + [1] * (T - n))  # none for a while, then two at a time
    order = draw(st.one_of(some, later, st.just([0] * T)))
    floor = draw(st.lists(st.floats(0, 1), min_size=1, max_size=2))
    steps = draw(st.floats(0.01, 3)), draw(st.floats(0.05, 5)), draw(st.floats(0.01, 1))
    draws, pays = (
        draw(st.sampled_from(("dice", "first", "unlikely"))),
        draw(st.sampled_from(("dice", "nothing", "unlikely"))),
    )
    loses, seed = draw(st.sampled_from((0, 0, 3))), draw(st.integers(0, 999))
    return World(draw(st.integers(2, 4)), tuple(floor), steps, tuple(order), seed, draws, pays, loses)


class Path(NamedTuple):
    """All that a run did, by decision; answers that did not come are learned at the end."""

    plays: Matrix  # (T, K)
    actions: list[int]
    prices: Matrix  # (T, m)
    rewards: Vector  # (T,)  of the actions drawn
    kept: Matrix  # (T, m)
    estimates: Vector  # (T,)  Lhat of the actions drawn; 0 of a decision that was not answered
    open: list[list[int]]  # the decisions that were open at each
    between: list[list[int]]  # those that ended between each decision and its answer
    prices_then: Matrix  # (T, m)  the multiplier before each ended
    lost: list[bool]  # whether its answer never came
    last: Vector  # (m,)  the multiplier at the end
    certified: list[tuple[Vector, Vector]]  # after each answer, the certificate and the shortfall of what was learned
    reserved: Matrix  # (T, m)  the reserves of the actions drawn; 0 without reserves

    @property
    def late(self) -> Delays:
        """D, G, e, the most open, and the lost."""
        T = len(self.actions)
        partners = [len(self.open[t]) + sum(t in later for later in self.open) for t in range(T)]
        most, total = max(map(len, self.open)) + 1, sum(map(len, self.open))
        return Delays(total, max(partners), max(map(len, self.between)), most, sum(self.lost))


def play(x: World) -> Path:
    """Play coins or hostile rounds; arrivals are as drawn."""
    dice, K, m, T = np.random.default_rng(x.seed), x.actions, len(x.floor), len(x.order)
    eta, session, ended, before = x.steps[0], Session(x.learner, K), list[int](), dict[int, int]()
    waiting: dict[int, Bandit] = {}
    lost, nothing = [x.loses > 0 and t % x.loses == 0 for t in range(T)], [np.zeros((T, m)) for _ in range(4)]
    between: list[list[int]] = [[] for _ in range(T)]
    plays, (prices, kept, prices_then, reserved), short = np.zeros((T, K)), nothing, np.zeros(m)
    path = Path(plays, [], prices, np.zeros(T), kept, np.zeros(T), [], between, prices_then, lost, np.zeros(m), [], reserved)

    def end(t: int) -> None:
        path.prices_then[t] = session.multiplier
        path.between[t].extend(ended[before[t] :])
        ended.append(t)
        answer, former = waiting.pop(t), session.state.weights.log[path.actions[t]]
        if path.lost[t]:
            session.learner.release(session.state, answer.charged)
        else:
            session.learn(answer)
            short[:] += x.floor - path.kept[t]
        path.certified.append((certificate(session.learner, session.state), short.copy()))
        path.estimates[t] = (former - session.state.weights.log[path.actions[t]]) / eta

    for t, place in enumerate(x.order):
        path.open.append(list(waiting))
        path.plays[t] = p = session.play()
        path.prices[t] = session.multiplier
        i = {"dice": int(dice.choice(K, p=p / p.sum())), "first": 0, "unlikely": int(p.argmin())}[x.draws]
        i = i if p[i] > 1e-200 else int(p.argmax())
        coins = (dice.random(1 + m) < 0.5).astype(float)
        values = {"dice": coins, "nothing": np.zeros(1 + m), "unlikely": np.full(1 + m, float(p[i] < 1 / K))}[x.pays]
        charged = session.charge(i)
        if x.reserves:
            path.reserved[t] = charged[m + 2 :]
            values[1:] = path.reserved[t] + x.error * (values[1:] - path.reserved[t])
        path.actions.append(i)
        path.rewards[t], path.kept[t], before[t] = values[0], values[1:], len(ended)
        waiting[t] = Bandit(i, p[i], values[0], values[1:], p, charged)
        for _ in range(1 + abs(place) % 2 if place >= 0 else 0):
            if waiting:
                end(list(waiting)[place % len(waiting)])
    for t in list(waiting):
        end(t)
    return path._replace(last=session.multiplier.copy())


def cross_terms(path: Path, b: Vector, eta: float, t: int) -> float:
    """eta sum_u b_u/(p_t(i_t) + g_u) over the open decisions u with the same action, which event 3 bounds"""
    i = path.actions[t]
    same = [u for u in path.open[t] if path.actions[u] == i]
    return float(eta * sum(b[u] / (path.plays[t, i] + eta / 2 * b[u]) for u in same))


def losses(path: Path) -> tuple[Vector, Vector]:
    """Return L and b, of each decision."""
    return 1 - path.rewards + (path.prices * (1 - path.kept)).sum(axis=1), 1 + path.prices.sum(axis=1)


def check_effective_chances(path: Path, chances: Vector) -> None:
    """The effective probability is at least that of the draw, and of every play that lacks the answer."""
    loss, b = losses(path)
    for t, i in enumerate(path.actions):
        if not path.lost[t] and loss[t] > 1e-3:
            plays = [path.plays[t], *(path.plays[u] for u in range(len(path.actions)) if t in path.open[u])]
            assert max(p[i] for p in plays) <= chances[t] * (1 + 1e-6) + 1e-6
            assert chances[t] <= 1 + 1e-6 * (1 + b[t])


def check_dual_steps(x: World, path: Path) -> None:
    """Prices are near those at the draw, at most S together, and Lemma LD holds for the best l."""
    learner, floor, late, T, tiny = x.learner, np.array(x.floor), path.late, len(x.order), 1e-9
    delta, mu, dual = learner.delta, learner.mu, late_steps(learner, T, late)
    Gam = 1 + max(x.floor) * delta * mu * late.between
    assert (path.prices <= np.array(dual.prices) * (1 + tiny)).all()
    for t in range(T):
        assert (abs(path.prices_then[t] - path.prices[t]) <= mu * Gam * len(path.between[t]) + tiny).all()
    short = (floor - path.kept) * ~np.array(path.lost)[:, None]
    A, total = 2 * (delta * T + 1 / mu), np.maximum(short.sum(axis=0), 0)
    gained = (total**2 / A).sum() + delta / 2 * (path.prices**2).sum() - (path.prices * short).sum()
    assert dual.cost == pytest.approx(floor.size * mu * Gam**2 * (T / 2 + late.total))
    assert gained <= dual.cost * (1 + tiny) + tiny
    assert (short.sum(axis=0) <= path.last / mu + delta * path.prices.sum(axis=0) + tiny * T / mu).all()
    check_certificates(path)


def check_certificates(path: Path) -> None:
    """After each answer the shortfall of what was learned is at most the certificate."""
    for bound, short in path.certified:
        assert (short <= bound + 1e-9 * (1 + abs(bound))).all()


@law
@given(worlds())
def test_on_every_path_and_for_any_arrivals_the_inequality_of_the_proof_holds(x: World) -> None:
    path, K, T, m = play(x), x.actions, len(x.order), len(x.floor)
    learner, answered, (loss, b), tiny = x.learner, ~np.array(path.lost), losses(path), 1e-9
    eta, delta = learner.eta, learner.delta
    X = np.zeros((T, K))
    X[np.arange(T), path.actions] = path.estimates
    check_effective_chances(path, loss / np.where(path.estimates > 0, path.estimates, np.inf) - eta / 2 * b)
    # The primal steps, with the bias and the cross terms as the events bound them.
    bias = sum(b[t] * b[v] for t in range(T) for v in path.between[t])
    cross = sum(b[t] * cross_terms(path, b, eta, t) for t in range(T))
    paid = log(K) / eta + eta * (b @ path.estimates + bias) + cross
    left = loss[answered].sum() - X.sum(axis=0)
    assert (left <= paid + tiny * (1 + paid)).all()
    parts = delayed_losses.terms(learner, K, T, path.late)
    assert b.max() <= parts.dearest * (1 + tiny)
    check_dual_steps(x, path)
    # What the events leave is at most the terms of B, with the shrinkage that theta leaves over.
    pairs = sum(b[t] * b[u] for t in range(T) for u in path.open[t])
    assert bias == pytest.approx(pairs)  # each pair of partners once, in both
    room = delta / 2 - m * parts.theta / 8
    assert eta * (K * (b @ b) + 2 * pairs) <= (parts.steps + room * (path.prices**2).sum()) * (1 + tiny)


class Branch(NamedTuple):
    """One sequence of draws: its probability, and the exponents of the three events."""

    chance: float
    comparator: Vector  # (K,)  eta sum (Lhat_k - L_k)
    squares: float
    cross: float
    mean: float  # the most that event 3 allows for the mean of the cross terms


def branch(
    draws: tuple[int, ...], rewards: Matrix, kept: Matrix, learner: LateLewaIx, parts: delayed_losses.Terms
) -> Branch:
    """Play these draws; which answers come depends on what was drawn, and on what it paid."""
    (T, K), eta, o = rewards.shape, learner.eta, parts.waiting
    session, waiting, opened, chance = Session(learner, K), dict[int, Bandit](), list[list[int]](), 1.0
    plays, prices, X = np.zeros((T, K)), np.zeros(T), np.zeros((T, K))

    def tell(t: int) -> None:
        former = session.state.weights.log[draws[t]]
        session.learn(waiting.pop(t))
        X[t, draws[t]] = (former - session.state.weights.log[draws[t]]) / eta

    for t, i in enumerate(draws):
        plays[t], prices[t] = session.play(), float(session.multiplier[0])
        opened.append(list(waiting))
        chance *= plays[t, i]
        waiting[t] = Bandit(i, plays[t, i], float(rewards[t, i]), kept[t, i : i + 1].copy(), plays[t], session.charge(i))
        if i == 0:  # answers come only after the first action was drawn, and those that lost come first
            for u in sorted(waiting, key=lambda u: waiting[u].reward)[:2]:
                tell(u)
    for t in list(waiting):
        tell(t)
    assert max(map(len, opened)) <= o
    b, L = 1 + prices, (1 - rewards) + prices[:, None] * (1 - kept)
    weight = b / parts.dearest
    assert weight.max() <= 1 + 1e-12
    same = [[u for u in opened[t] if draws[u] == draws[t]] for t in range(T)]
    z = [eta * sum(b[u] / (plays[t, draws[t]] + eta / 2 * b[u]) for u in same[t]) for t in range(T)]
    real = [eta * plays[t, draws[t]] * X[t, draws[t]] * sum(X[u, draws[u]] for u in same[t]) for t in range(T)]
    assert all(paid <= b[t] * z[t] * (1 + 1e-9) for t, paid in enumerate(real))
    mean = [eta * sum(b[u] for u in opened[t]) for t in range(T)]
    squares = float(eta * weight @ (X - L).sum(axis=1))
    return Branch(chance, eta * (X - L).sum(axis=0), squares, float(weight @ z) / o, float(weight @ mean) / o)


@pytest.mark.parametrize("seed", range(4))
def test_the_supermartingales_of_the_events_have_mean_at_most_one(seed: int) -> None:
    """Events 1, 2 and 3, exactly: all sequences of draws, with arrivals that look at draws and outcomes."""
    dice, T, K = np.random.default_rng(seed), 7, 2
    rewards, kept = dice.integers(0, 2, (2, T, K)).astype(float)
    kept *= seed % 2
    learner = LateLewaIx((0.05, 0.6)[seed // 2], 0.5, 0.8, np.array([0.7]))
    parts = delayed_losses.terms(learner, K, T, Delays(T * T, T, T, T))
    branches = [branch(draws, rewards, kept, learner, parts) for draws in product(range(K), repeat=T)]
    chances = np.array([item.chance for item in branches])
    assert chances.sum() == pytest.approx(1)
    for k in range(K):
        assert chances @ [exp(item.comparator[k]) for item in branches] <= 1 + 1e-9
    assert chances @ [exp(item.squares) for item in branches] <= 1 + 1e-9
    assert chances @ [exp(item.cross - item.mean) for item in branches] <= 1 + 1e-9
    if seed < 2:  # with small steps nothing can be taken off
        assert chances @ [exp(item.cross - 0.8 * item.mean) for item in branches] > 1


@few
@given(st.integers(2, 5), st.integers(0, 40), st.floats(0.001, 0.5), st.integers(1, 2))
def test_the_bound_with_the_tuning_is_that_of_the_formula(K: int, d: int, epsilon: float, m: int) -> None:
    T, floor = 10**7, (0.5, 0.3)[:m]
    learner = LateLewaIx.tuned(K, T, floor, delay=d, epsilon=epsilon)
    late = Delays(d * T, 2 * d, 2 * d, d + 1)
    eta, delta, mu, e5 = learner.eta, learner.delta, learner.mu, epsilon / 5
    Gam, S = 1 + 0.5 * delta * mu * 2 * d, sum(floor) * min((1 + delta * mu * 2 * d) / delta, mu * T)
    B = (log(K) + log(K / e5)) / eta + 2 * eta * (K * T + 2 * d * T) + (1 + S) * (1 + d) * log(1 / e5)
    B += m * mu * Gam**2 * (T / 2 + d * T) + log(K / e5) / (2 * delta / m)
    (statement,) = probable_statements(learner, K, T, late, epsilon)
    assert statement.regret == pytest.approx(B)
    assert statement.violation is not None
    V = np.sqrt(2 * (delta * T + 1 / mu) * (T + B)) + np.sqrt(T / 2 * log(m / e5))
    assert statement.violation == pytest.approx([min(V, c0 * T) for c0 in floor])
    (expected,) = late_statements(learner, K, T, late)
    assert expected.regret == pytest.approx(log(K) / eta + 2 * eta * (K + 2 * d) * T + m * mu * Gam**2 * (T / 2 + d * T))


def test_without_a_shrinkage_that_absorbs_the_delay_nothing_is_proved() -> None:
    learner = LateLewaIx.tuned(3, 10**6, 0.5, delay=2)  # delta = 8 m eta (K + 4)
    for epsilon, most in ((None, 11), (0.05, 10)):
        for partners, proved in ((most, True), (most + 1, False)):
            late = Delays(10**6, partners, partners, 3)
            args = (learner, 3, 10**6, late) if epsilon is None else (learner, 3, 10**6, late, epsilon)
            (statement,) = delayed_losses.late_lewa_ix(*args)
            assert (statement.regret is not None) == proved
            if not proved:
                assert f"G = {partners} decisions open together" in statement.reason


@pytest.mark.skipif(HUNT is None, reason="a simulation: make falsify")
@pytest.mark.parametrize("hostile", [False, True])
def test_few_runs_exceed_the_bound(hostile: bool) -> None:
    """Slow actions and bad news that comes late: at most epsilon of the runs exceed the bound, here none of 40."""
    T, K, d, epsilon = 3000, 3, 4, 0.1
    rewards, kept = np.array([0.9, 0.5, 0.4]), np.array([0.2, 0.6, 0.9])
    learner = LateLewaIx.tuned(K, T, 0.5, delay=d, epsilon=epsilon)
    (bound,) = probable_statements(learner, K, T, Delays(d * T, 2 * d, 2 * d, d + 1), epsilon)
    assert bound.regret is not None
    assert bound.violation is not None
    for seed in range(40):
        dice, session = np.random.default_rng(seed), Session(learner, K)
        due: list[tuple[int, Bandit]] = []
        earned, short = 0.0, 0.0
        for t in range(T):
            p = session.play()
            i = int(dice.choice(K, p=p / p.sum()))
            r, c = float(dice.random() < rewards[i]), float(dice.random() < kept[i])
            earned, short = earned + r, short + 0.5 - p @ kept
            wait = d if hostile and (i == 0 or r == 0) else int(dice.integers(0, d + 1))
            due.append((t + wait, Bandit(i, p[i], r, np.array([c]), p, session.charge(i))))
            for item in [item for item in due if item[0] <= t]:
                due.remove(item)
                session.learn(item[1])
        assert (rewards[:2] @ [0.25, 0.75]) * T - earned <= bound.regret
        assert short <= bound.violation[0]
