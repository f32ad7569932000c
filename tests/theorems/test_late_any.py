"""Bandit feedback with late answers: the terms of the bounds that delay brings in, one by one (Th7), and arrivals that may
depend on anything (Th8). docs/theory_delay.md, 6."""

from itertools import product
from math import log, log2, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from tests.theorems.instances import few
from tests.theorems.test_late import Late, Path, play_late, worlds

from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateBanditLewa
from lewa.theory import delayed
from lewa.theory.setting import Delays
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.falsify


def prices_and_partners(x: Late, path: Path) -> tuple[Vector, Vector]:
    """Return b and g, of each decision."""
    g = np.array([len(path.seen[t]) + sum(t in later for later in path.seen) for t in range(x.rounds)])
    return 1 + path.prices.sum(axis=1), g


@few
@given(worlds())
def test_the_step_follows_every_pair_of_decisions_that_are_open_together(x: Late) -> None:
    for pairs, world in ((1, x), (2, x._replace(any_arrivals=1))):
        path = play_late(world)
        b, g = prices_and_partners(world, path)
        assert path.spent[-1] == pytest.approx(float(((x.actions + pairs * g) * b * b).sum()))


def test_without_answers_regret_is_what_only_the_delay_in_the_bound_covers() -> None:
    """No answer comes before the end, so every play is even, and the regret is T/2 where one of two actions pays."""
    T = 40
    all_open = Delays(T * (T - 1) // 2, T - 1, T - 1, T)
    learner = LateBanditLewa(1e6, np.array([0.0]))
    for any_arrivals in (False, True):
        form = delayed.bandit_form(2, any_arrivals)
        late, none = (delayed.price_of_the_draw(learner, 2, T, delays, form).B for delays in (all_open, Delays()))
        assert none < T / 2 <= late
        assert late == pytest.approx(form.c * sqrt(2 * T + form.pairs * T * (T - 1)), rel=1e-3)


def test_the_squares_of_high_prices_are_covered_only_with_the_partners_in_the_bound() -> None:
    """Every floor is missed in every round, so prices rise; answers are ten decisions late."""
    T, d, delta = 400, 10, 1.0
    x = Late(2, (1.0,), delta, tuple([-1] * d + [0] * (T - d)), 0, "likely", "nothing")
    path = play_late(x)
    b, g = prices_and_partners(x, path)
    place = {t: s for s, t in enumerate(path.learned, 1)}
    shrunk = sum((sqrt(s) - sqrt(s - 1)) / 2 * (path.queues[s - 1] ** 2).sum() / s for s in place.values())
    dual = sum((0.5 + path.between[t]) / sqrt(s) for t, s in place.items())
    paid = 2 * sqrt(log(2) * float(((2 + g) * b * b).sum())) + dual - shrunk
    late = Delays(sum(map(len, path.seen)), int(g.max()), max(path.between), d + 1)
    learner, form = LateBanditLewa(delta, np.array([1.0])), delayed.bandit_form(2)
    fewer = delayed.price_of_the_draw(learner, 2, T, late._replace(partners=0), form).B
    assert fewer < paid <= delayed.price_of_the_draw(learner, 2, T, late, form).B


@few
@given(worlds())
def test_on_every_path_the_effective_chance_is_at_least_that_of_every_play_that_lacks_the_answer(x: Late) -> None:
    """Th8's three ingredients, for any draws, arrivals and outcomes."""
    x = x._replace(any_arrivals=1)
    path, T = play_late(x), x.rounds
    b, _ = prices_and_partners(x, path)
    rows, i = np.arange(T), path.actions
    loss = 1 - path.rewards[rows, i] + (path.prices * (1 - path.constraints[rows, :, i])).sum(axis=1)
    chance = np.where(path.estimates > 0, loss / np.where(path.estimates > 0, path.estimates, 1), 1.0)
    tiny, changes = 1e-9, [t for t in range(1, T) if path.steps[t] != path.steps[t - 1]]
    place = {t: n for n, t in enumerate(path.learned)}
    for t in range(T):
        assert path.plays[t, i[t]] - tiny <= chance[t] <= 1 + tiny
        assert all(chance[u] >= path.plays[t, i[u]] - tiny for u in path.seen[t])
        meanwhile = path.learned[path.known[t] : place[t]]
        bias = loss[t] - path.plays[t, i[t]] * path.estimates[t]
        changed = any(t < u and path.known[u] <= place[t] for u in changes)
        assert bias <= (b[t] if changed else path.steps[t] * b[t] * sum(b[v] for v in meanwhile)) + tiny
    dearest = 1 + sum(x.floor) * sqrt(T) / x.delta
    assert len(changes) <= 1 + log2((x.actions * T + 4 * sum(map(len, path.seen))) * dearest**2 / x.actions)
    # All steps together cost at most c sqrt(n), with the squares and both sums over pairs.
    pair = [len(path.seen[t]) * b[t] ** 2 + sum(b[u] ** 2 for u in path.seen[t]) for t in range(T)]
    cost = sum(step / 2 * (x.actions * b[t] ** 2 + 2 * pair[t]) for t, step in enumerate(path.steps))
    assert log(x.actions) / path.steps[-1] + cost <= delayed.bandit_form(x.actions, True).c * sqrt(path.spent[-1]) + tiny


class Branch(NamedTuple):
    """One sequence of draws: its probability, what it lost, and what the theorem allows."""

    chance: float
    lost: Vector  # more than each action
    allowed: float


def branch(draws: tuple[int, ...], rewards: Matrix, any_arrivals: int) -> Branch:
    """Play these draws without constraints; which answers come depends on what was drawn, and on what it paid."""
    K = rewards.shape[1]
    session, waiting = Session(LateBanditLewa(1.0, np.array([0.0]), any_arrivals), K), dict[int, Bandit]()
    lost, chance, allowed, squares, last = np.zeros(K), 1.0, 0.0, 0.0, 0.0
    for t, i in enumerate(draws):
        p = session.play()
        opened = len(waiting)
        charged = session.charge(i)
        chance *= float(p[i])
        step = float(charged[2]) if any_arrivals else sqrt(log(K) / session.state.totals[1])
        allowed += opened if last and step != last else 0.0  # their bias is at most 1 each
        squares += step / 2 * (K + (1 + any_arrivals) * 2 * opened)
        last = step
        waiting[t] = Bandit(i, float(p[i]), float(rewards[t, i]), np.zeros(1), np.zeros(0), charged)
        lost += rewards[t] - rewards[t, i]
        # The first action drawn decides: answers come only after it was drawn, and those that lost come first.
        if i == 0:
            for u in sorted(waiting, key=lambda u: waiting[u].reward)[:2]:
                session.learn(waiting.pop(u))
    return Branch(chance, lost, allowed + log(K) / last + squares)


@pytest.mark.parametrize("seed", range(3))
def test_with_arrivals_that_look_at_draws_and_outcomes_the_expectation_keeps_the_inequality(seed: int) -> None:
    """All sequences of draws, with their probabilities: the expectation of Th8's inequality, exactly."""
    rewards = np.random.default_rng(seed).integers(0, 2, (8, 2)).astype(float)
    rewards[:, 0] *= seed > 0
    branches = [branch(draws, rewards, 1) for draws in product(range(2), repeat=8)]
    assert sum(item.chance for item in branches) == pytest.approx(1)
    chances = [item.chance for item in branches]
    lost = np.array(chances) @ np.array([item.lost for item in branches])
    assert lost.max() <= np.dot(chances, [item.allowed for item in branches]) + 1e-9
