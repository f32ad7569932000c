"""Late answers: what holds on every path, whatever the order in which answers come, and, in `make falsify`, the bounds on
expectations. docs/theory_delay.md, 2 to 5."""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import HUNT, few

from lewa.agent.delays import DelayCounter
from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateBanditLewa, LossBanditLewa
from lewa.learners.base import Learner
from lewa.measures.best_play import best_fixed_play
from lewa.theory import delayed
from lewa.theory.delayed import Delays
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.plain  # some hundred rounds each, in whatever order


class Late(NamedTuple):
    """A world whose answers come late."""

    actions: int
    floor: tuple[float, ...]
    delta: float
    order: tuple[int, ...]  # of each decision, the place of the answers that come after it among those that wait; -1: none
    seed: int

    @property
    def rounds(self) -> int:
        """T"""
        return len(self.order)


@st.composite
def worlds(draw: Any) -> Late:
    T = draw(st.integers(1, 60))
    order = draw(st.lists(st.integers(-3, 8), min_size=T, max_size=T))
    floor = draw(st.lists(st.floats(0, 1), min_size=1, max_size=2))
    return Late(draw(st.integers(2, 4)), tuple(floor), draw(st.floats(0.05, 20)), tuple(order), draw(st.integers(0, 999)))


class Path(NamedTuple):
    """All that a run did, by decision; answers that did not come are learned at the end."""

    plays: Matrix  # (T, K)
    actions: list[int]
    prices: Matrix  # (T, m)
    rewards: Matrix  # (T, K)
    constraints: Any  # (T, m, K)
    seen: list[set[int]]  # the decisions that were open at each
    learned: list[int]  # in which order
    between: list[int]  # e, of each decision
    queues: list[Vector]  # before each answer, and after the last
    steps: list[float]  # eta, of each decision


def play_late(x: Late) -> Path:
    """Play coins and hostile rounds: what is likely pays little and keeps little; arrivals are as drawn."""
    dice, K, m, T = np.random.default_rng(x.seed), x.actions, len(x.floor), x.rounds
    learner = LateBanditLewa(x.delta, np.array(x.floor))
    session = Session(learner, K)
    path = Path(np.zeros((T, K)), [], np.zeros((T, m)), np.zeros((T, K)), np.zeros((T, m, K)), [], [], [], [], [])
    before, between, waiting = {}, dict[int, int](), dict[int, Bandit]()

    def tell(t: int) -> None:
        path.queues.append(session.state.queue.copy())
        between[t] = len(path.learned) - before[t]
        path.learned.append(t)
        session.learn(waiting.pop(t))

    for t, place in enumerate(x.order):
        path.seen.append(set(waiting))
        path.plays[t] = p = session.play()
        path.prices[t] = session.multiplier
        i = int(np.searchsorted(np.cumsum(p), dice.random() * p.sum()).clip(0, K - 1))
        while p[i] == 0:
            i = (i + 1) % K
        charged = session.charge(i)
        path.steps.append(sqrt(log(K) / session.state.totals[1]))
        path.rewards[t] = 1 - p if x.seed % 2 else dice.random(K) < 0.5
        path.constraints[t] = np.tile(p < 1 / K, (m, 1)) if x.seed % 3 else dice.random((m, K))
        path.actions.append(i)
        before[t] = len(path.learned)
        waiting[t] = Bandit(i, p[i], path.rewards[t, i], path.constraints[t, :, i].copy(), np.zeros(0), charged)
        for _ in range(1 + abs(place) % 2 if place >= 0 else 0):
            if waiting:
                tell(list(waiting)[place % len(waiting)])
    for t in list(waiting):
        tell(t)
    path.queues.append(session.state.queue.copy())
    return path._replace(between=[between[t] for t in range(T)])


def partners(path: Path) -> list[int]:
    """g, of each decision."""
    T = len(path.seen)
    return [len(path.seen[t]) + sum(t in seen for seen in path.seen) for t in range(T)]


@few
@given(worlds())
def test_on_every_path_and_for_any_delays_late_bandit_lewa_obeys_the_inequality_that_its_theorem_averages(x: Late) -> None:
    path, K, m, T = play_late(x), x.actions, len(x.floor), x.rounds
    floor, delta, rows = np.array(x.floor), x.delta, np.arange(T)
    seen, i = path.constraints[rows, :, path.actions], path.actions
    lost = 1 - path.rewards[rows, i] + (path.prices * (1 - seen)).sum(axis=1)
    X = np.zeros((T, K))
    X[rows, i] = lost / path.plays[rows, i]
    # LL: what the losses cost, at the plays of the draws.
    cross = [sum((path.plays[t] * X[t] * X[u]).sum() for u in path.seen[t]) for t in range(T)]
    squares = (path.plays * X * X).sum(axis=1) / 2
    paid = log(K) / path.steps[-1] + np.dot(path.steps, squares + np.array(cross))
    # LQ: what the queues cost, in the order of learning, at the prices of the draws.
    place = {t: s for s, t in enumerate(path.learned, 1)}
    lam = np.array([path.queues[place[t] - 1] / (delta * sqrt(place[t])) for t in range(T)])
    shrunk = sum((sqrt(place[t]) - sqrt(place[t] - 1)) * delta / 2 * (lam[t] ** 2).sum() for t in range(T))
    dual = m / delta * sum((0.5 + path.between[t]) / sqrt(place[t]) for t in range(T))
    A = 2 * delta * sqrt(T)
    left = (1 - path.rewards[rows, i]).sum() + path.prices.sum(axis=0) @ (1 - floor) - X.sum(axis=0)
    left += (path.queues[-1] ** 2).sum() / A + shrunk
    assert (left <= (paid + dual) + 1e-9 * (1 + abs(left) + paid)).all()
    # The violation is at most the queue, and the quoted price near the one at learning.
    assert ((floor - seen).sum(axis=0) <= path.queues[-1] + 1e-9 * T).all()
    for t in range(T):
        assert (abs(lam[t] - path.prices[t]) <= path.between[t] / (delta * sqrt(place[t])) + 1e-12).all()
    # The step is that of sum (K + g) b^2, and this and what is absorbed are at most what the bound has.
    b, g = 1 + path.prices.sum(axis=1), partners(path)
    n = float(((K + np.array(g)) * b * b).sum())
    assert path.steps[-1] == pytest.approx(sqrt(log(K) / n))
    e = max(path.between)
    late = Delays(sum(map(len, path.seen)), max(g), e)
    assert sum(path.between) == late.total  # of two partners one is learned first
    bound = delayed.price_of_the_draw(LateBanditLewa(delta, floor), K, T, late)
    assert 2 * sqrt(log(K) * n) + dual - shrunk <= bound.B * (1 + 1e-9)
    assert bound.A == pytest.approx(A)


WORLDS = {
    "the dearer pays": ([0.9, 0.5, 0.4], [0.2, 0.6, 0.9]),
    "two alike": ([0.6, 0.5, 0.5], [0.4, 0.6, 0.5]),
}


@pytest.mark.skipif(HUNT is None, reason="a simulation: make falsify")
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("delay", [1, 7])
@pytest.mark.parametrize("kind", ["late-bandit-lewa", "loss-bandit-lewa"])
def test_with_delays_that_look_at_nothing_the_bounds_hold_in_expectation(name: str, delay: int, kind: str) -> None:
    """Th4 and Th7, with arrivals in a random order; the mean over seeds may exceed the bound by three standard errors."""
    T, K, c0, seeds = 2000, 3, 0.5, 40
    rewards, constraints = map(np.array, WORLDS[name])
    floor = np.array([c0])
    learner: Learner = LateBanditLewa.tuned(K, T, c0)
    if kind == "loss-bandit-lewa":
        learner = LossBanditLewa.tuned(K, T, c0, delay=2 * delay)
    dice = np.random.default_rng(delay)
    orders = dice.integers(1, 2 * delay + 1, size=T)  # fixed in advance
    late, runs = Delays(), []
    for seed in range(seeds):
        regret, short, late = _coins(learner, rewards, constraints, floor, orders, seed)
        runs.append((regret, short))
    bounds = learner.late_guarantees(K, T, late)[0]
    assert bounds.regret is not None
    assert bounds.violation is not None
    for column, most in zip(np.array(runs).T, (bounds.regret, bounds.violation[0]), strict=True):
        assert column.mean() - 3 * column.std() / sqrt(seeds) <= most


def _coins(learner: Learner, r: Vector, c: Vector, floor: Vector, delays: Any, seed: int) -> tuple[float, float, Delays]:
    """Play coins; return regret against the best play in the mean, violation, and the delays."""
    dice, session, counter = np.random.default_rng(seed), Session(learner, r.size), DelayCounter()
    best = best_fixed_play(r, c[np.newaxis], floor).value
    regret, short, waiting = 0.0, 0.0, dict[int, list[Any]]()
    for t in range(delays.size):
        p = session.play()
        i = int(dice.choice(r.size, p=p / p.sum()))
        charged = session.charge(i)
        counter.draw(t)
        seen = Bandit(i, p[i], float(dice.random() < r[i]), (dice.random(1) < c[i]).astype(float), np.zeros(0), charged)
        regret, short = regret + best - r[i], short + floor[0] - c[i]
        waiting.setdefault(t + int(delays[t]), []).append((t, seen))
        for number, answer in waiting.pop(t, []):
            session.learn(answer)
            counter.end(number, learned=True)
    return regret, short, counter.so_far()
