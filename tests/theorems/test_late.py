"""Late answers: what holds on every path, whatever the order in which answers come, and, in `make falsify`, the bounds on
expectations. docs/theory_delay.md, 2 to 6."""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statements import late_statements
from tests.theorems.instances import HUNT, few

from lewa.agent.pending import DelayCounter
from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateAnytimeLossLewa, LossLewa
from lewa.learners.base import Learner
from lewa.measures.best_play import best_fixed_play
from lewa.theory import delayed
from lewa.theory.setting import Delays, Start
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.falsify


class Late(NamedTuple):
    """A world whose answers come late."""

    actions: int
    floor: tuple[float, ...]
    delta: float
    order: tuple[int, ...]  # of each decision, the place of the answers that come after it among those that wait; -1: none
    seed: int
    draws: str = "dice"  # or "first", "likely", "unlikely": what holds on every path holds for any draws
    pays: str = "dice"  # or "nothing", "unlikely": what the actions pay and keep

    @property
    def rounds(self) -> int:
        """T"""
        return len(self.order)


DRAWS, PAYS = ("dice", "first", "likely", "unlikely"), ("dice", "nothing", "unlikely")


@st.composite
def worlds(draw: Any) -> Late:
    T = draw(st.integers(1, 60))
    some = st.lists(st.integers(-3, 8), min_size=T, max_size=T)
    later = st.integers(0, T).map(lambda n: [-1] * n + [1] * (T - n))  # none for a while, then two at a time
    order = draw(st.one_of(some, later, st.just([0] * T)))
    floor = draw(st.lists(st.floats(0, 1), min_size=1, max_size=2))
    draws, pays = draw(st.sampled_from(DRAWS)), draw(st.sampled_from(PAYS))
    delta, seed = draw(st.floats(0.05, 20)), draw(st.integers(0, 999))
    return Late(draw(st.integers(2, 4)), tuple(floor), delta, tuple(order), seed, draws, pays)


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
    known: list[int]  # the answers learned before each decision
    spent: list[float]  # n, at each decision
    estimates: Vector  # (T,)  the estimated loss of each decision's action


def play_late(x: Late) -> Path:
    """Play coins or hostile rounds; arrivals are as drawn."""
    dice, K, m, T = np.random.default_rng(x.seed), x.actions, len(x.floor), x.rounds
    learner = LateAnytimeLossLewa(x.delta, np.array(x.floor))
    session, nothing = Session(learner, K), np.zeros(T)
    path = Path(
        np.zeros((T, K)), [], np.zeros((T, m)), np.zeros((T, K)), np.zeros((T, m, K)), [], [], [], [], [], [], [], nothing
    )
    before, between, waiting = dict[int, int](), dict[int, int](), dict[int, Bandit]()

    def tell(t: int) -> None:
        path.queues.append(session.state.queue.copy())
        between[t] = len(path.learned) - before[t]
        path.learned.append(t)
        former = session.state.losses[path.actions[t]]
        session.learn(waiting.pop(t))
        path.estimates[t] = session.state.losses[path.actions[t]] - former

    for t, place in enumerate(x.order):
        path.seen.append(set(waiting))
        path.plays[t] = p = session.play()
        path.prices[t] = session.multiplier
        unlikely = int(np.where(p > 1e-3, p, 2).argmin())
        drawn = {"dice": int(dice.choice(K, p=p / p.sum())), "first": 0, "likely": int(p.argmax()), "unlikely": unlikely}
        i = drawn[x.draws] if p[drawn[x.draws]] > 1e-3 else int(p.argmax())
        charged = session.charge(i)
        path.spent.append(float(session.state.totals[1]))
        path.steps.append(sqrt(log(K) / path.spent[-1]))
        coins = dice.random((1 + m, K)) < 0.5
        outcomes = {"dice": coins, "nothing": np.zeros((1 + m, K)), "unlikely": np.tile(p < 1 / K, (1 + m, 1))}[x.pays]
        path.rewards[t], path.constraints[t] = outcomes[0], outcomes[1:]
        path.actions.append(i)
        before[t] = len(path.learned)
        path.known.append(before[t])
        waiting[t] = Bandit(i, p[i], path.rewards[t, i], path.constraints[t, :, i].copy(), np.zeros(0), charged)
        for _ in range(1 + abs(place) % 2 if place >= 0 else 0):
            if waiting:
                tell(list(waiting)[place % len(waiting)])
    for t in list(waiting):
        tell(t)
    path.queues.append(session.state.queue.copy())
    return path._replace(between=[between[t] for t in range(T)])


class Sums(NamedTuple):
    """The two sides of the inequality that Th7 averages, of the decisions from one on, and its parts."""

    left: Vector  # for each action as the comparator
    right: Vector
    dual: float
    shrunk: float
    spent: float  # n, of these decisions and those before
    before: float  # n, of those before
    late: Delays
    start: Start
    old: list[int]  # the decisions that were open at first


def sums(x: Late, path: Path, tau: int) -> Sums:
    """Return LL and LQ, added up from decision tau on, with what was learned before as the start."""
    K, m, T, delta, floor = x.actions, len(x.floor), x.rounds, x.delta, np.array(x.floor)
    rows, i, these, old = np.arange(T), path.actions, range(tau, T), sorted(path.seen[tau])
    seen = path.constraints[rows, :, i]
    X = np.zeros((T, K))
    X[rows, i] = (1 - path.rewards[rows, i] + (path.prices * (1 - seen)).sum(axis=1)) / path.plays[rows, i]
    n = [log(K) / step**2 for step in path.steps]
    before = n[tau - 1] if tau else 0.0
    # LL: what the losses cost, at the plays of the draws.
    cross = [sum((path.plays[t] * X[t] * X[u]).sum() for u in path.seen[t]) for t in these]
    squares = (path.plays * X * X).sum(axis=1)[tau:] / 2
    paid = log(K) / path.steps[-1] + np.dot(path.steps[tau:], squares + np.array(cross))
    logs = np.log(np.maximum(path.plays[tau], 1e-300))
    paid = paid + (-logs - log(K)) / path.steps[tau] + X[old].sum(axis=0)
    # LQ: what the queues cost, in the order of learning, at the prices of the draws.
    s0, place = path.known[tau], {t: s for s, t in enumerate(path.learned, 1)}
    lam = {t: path.queues[place[t] - 1] / (delta * sqrt(place[t])) for t in (*these, *old)}
    shrunk = sum((sqrt(place[t]) - sqrt(place[t] - 1)) * delta / 2 * (lam[t] ** 2).sum() for t in lam)
    dual = m / delta * sum((0.5 + path.between[t] * (t >= tau)) / sqrt(place[t]) for t in lam)
    first = path.queues[s0]
    dual += (first**2).sum() / (2 * delta * sqrt(max(s0, 1))) + sum(lam[u] @ (floor - seen[u]) for u in old)
    left = (1 - path.rewards[rows, i])[tau:].sum() + path.prices[tau:].sum(axis=0) @ (1 - floor) - X[tau:].sum(axis=0)
    left = left + (path.queues[-1] ** 2).sum() / (2 * delta * sqrt(s0 + len(lam))) + shrunk
    g = [sum(t in path.seen[u] for u in these) + (len(path.seen[t]) if t >= tau else 0) for t in lam]
    late = Delays(sum(len(path.seen[t]) for t in these), max(g), max(path.between[t] for t in lam))
    prices = sum(1 + path.prices[u].sum() for u in old)
    totals = (s0, before, n[tau] - before, prices, *first.tolist())
    start = Start(float(-logs.min()), tuple(path.prices[tau].tolist()), len(old), 0, totals)
    return Sums(left, paid + dual, dual, shrunk, n[-1], before, late, start, old)


@few
@given(worlds(), st.integers(0, 59))
def test_on_every_path_and_for_any_delays_late_anytime_loss_lewa_obeys_the_inequality_that_its_theorem_averages(
    x: Late, first: int
) -> None:
    """From the first decision, and from any other, where answers may be open."""
    path, K, T, delta, floor = play_late(x), x.actions, x.rounds, x.delta, np.array(x.floor)
    learner = LateAnytimeLossLewa(delta, floor)
    seen = path.constraints[np.arange(T), :, path.actions]
    for tau in {0, first % T}:
        s = sums(x, path, tau)
        assert (s.left <= s.right + 1e-9 * (1 + abs(s.left) + abs(s.right))).all()
        # What is not random of it is at most what the bound has.
        bound = delayed.price_of_the_draw(learner, K, T - tau, s.late, delayed.bandit_form(K), s.start if tau else None)
        paid = (s.start.entropy - log(K)) / path.steps[tau] + sqrt(log(K)) * (2 * sqrt(s.spent) - sqrt(s.before))
        assert paid + s.start.totals[3] + s.dual - s.shrunk <= bound.B * (1 + 1e-9)
        # The violation is at most the queue, less what it was.
        short, others = (floor - seen[tau:]).sum(axis=0), (floor - seen[s.old]).sum(axis=0)
        assert (short + others <= path.queues[-1] - path.queues[path.known[tau]] + 1e-9 * T).all()
    place = {t: n for n, t in enumerate(path.learned, 1)}
    for t in range(T):  # the quoted price is near the one at learning
        price = path.queues[place[t] - 1] / (delta * sqrt(place[t]))
        assert (abs(price - path.prices[t]) <= path.between[t] / (delta * sqrt(place[t])) + 1e-12).all()
    assert sum(path.between) == sum(map(len, path.seen))  # of two decisions that were open together, one is learned first


WORLDS = {
    "the dearer pays": ([0.9, 0.5, 0.4], [0.2, 0.6, 0.9]),
    "two alike": ([0.6, 0.5, 0.5], [0.4, 0.6, 0.5]),
}


@pytest.mark.skipif(HUNT is None, reason="a simulation: make falsify")
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("delay", [1, 7])
@pytest.mark.parametrize("kind", ["late-anytime-loss-lewa", "loss-lewa"])
def test_with_delays_that_look_at_nothing_the_bounds_hold_in_expectation(name: str, delay: int, kind: str) -> None:
    """Th4 and Th7, with arrivals in a random order; the mean over seeds may exceed the bound by three standard errors."""
    T, K, c0, seeds = 2000, 3, 0.5, 40
    rewards, constraints = map(np.array, WORLDS[name])
    floor = np.array([c0])
    learner: Learner = LateAnytimeLossLewa.tuned(K, T, c0)
    if kind == "loss-lewa":
        learner = LossLewa.tuned(K, T, c0, delay=2 * delay)
    dice = np.random.default_rng(delay)
    orders = dice.integers(1, 2 * delay + 1, size=T)  # fixed in advance
    late, runs = Delays(), []
    for seed in range(seeds):
        regret, short, late = _coins(learner, rewards, constraints, floor, orders, seed)
        runs.append((regret, short))
    bounds = late_statements(learner, K, T, late)[0]
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
