"""Epsilon-first, KUBE and fractional KUBE: the budget, what they explore, what they fill it with, and where they stop."""

import math
from typing import Any

import numpy as np
import pytest

import lewa

RNG = np.random.default_rng(5)
ROUNDS = 14
REWARDS = RNG.random((ROUNDS, 3)).round(2).tolist()
KEPT = RNG.random((ROUNDS, 3, 2)).round(2).tolist()  # for each action what it keeps of the first and the second constraint


class Book:
    """What was seen and spent, in plain numbers; a budget of T rounds."""

    def __init__(self, floor: list[float], T: float) -> None:
        self.floor, self.left, self.T = floor, T, T
        self.rewards: list[list[float]] = [[], [], []]
        self.kept: list[list[list[float]]] = [[], [], []]
        self.spent = [0.0] * len(floor)

    def spend(self, c: list[float]) -> None:
        self.spent = [x + 1 - y for x, y in zip(self.spent, c)]
        self.left = min(self.T - x / (1 - c0) for x, c0 in zip(self.spent, self.floor))

    def see(self, i: int, r: float, c: list[float]) -> None:
        self.rewards[i].append(r)
        self.kept[i].append(c)

    def reward(self, k: int) -> float:
        return sum(self.rewards[k]) / len(self.rewards[k]) if self.rewards[k] else 0.0

    def cost(self, k: int) -> float:
        if not self.kept[k]:
            return 1.0
        means = [sum(c[j] for c in self.kept[k]) / len(self.kept[k]) for j in range(len(self.floor))]
        return max(1e-6, *((1 - mean) / (1 - c0) for mean, c0 in zip(means, self.floor)))

    def seldom(self) -> list[float]:
        least = min(map(len, self.rewards))
        return even([len(seen) == least for seen in self.rewards])

    def cheapest(self) -> list[float]:
        return even([self.cost(k) == min(map(self.cost, range(3))) for k in range(3)])

    def optimistic(self, k: int) -> float:
        t = 1 + sum(map(len, self.rewards))
        return self.reward(k) + math.sqrt(2 * math.log(t) / len(self.rewards[k]))

    def densest(self, value: Any) -> list[float]:
        paid = [k for k in range(3) if self.cost(k) <= self.left]
        if not paid:
            return self.cheapest()
        top = max(value(k) / self.cost(k) for k in paid)
        return even([k in paid and value(k) / self.cost(k) == top for k in range(3)])


def even(chosen: list[bool]) -> list[float]:
    return [x / sum(chosen) for x in chosen]


def kube(book: Book) -> list[float]:
    if not all(book.rewards):
        return book.seldom()
    left, counts = book.left, [0, 0, 0]
    for k in sorted(range(3), key=lambda k: -book.optimistic(k) / book.cost(k)):
        if book.cost(k) <= left:
            counts[k] = int(left / book.cost(k))
            left -= counts[k] * book.cost(k)
    return [n / sum(counts) for n in counts] if sum(counts) else book.cheapest()


def fractional(book: Book) -> list[float]:
    return book.densest(book.optimistic) if all(book.rewards) else book.seldom()


def exploring(book: Book, share: float) -> bool:
    return book.T - book.left < share * book.T


def first(book: Book) -> list[float]:
    return book.seldom() if exploring(book, 0.4) else book.densest(book.reward)


RULES: dict[str, Any] = {
    "kube": (kube, lambda T, floor: lewa.learners.Kube(T, 0.0, floor)),
    "kube@fractional": (fractional, lambda T, floor: lewa.learners.Kube(T, 1.0, floor)),
    "epsilon-first": (first, lambda T, floor: lewa.learners.EpsilonFirst(0.4, T, floor)),
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.4], [0.4, 0.3]])
@pytest.mark.parametrize("name", RULES)
def test_rounds_until_the_budget_is_spent_and_after(name: str, floor: list[float], seed: int) -> None:
    rule, make = RULES[name]
    T, m = 9.0, len(floor)  # the budget of 9 rounds does not last for 14
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(make(T, np.array(floor)), lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)
    book, plays, stopped = Book(floor, T), [], 0
    for r, c, i in zip(REWARDS, kept, trace.actions[0].tolist()):
        plays.append(rule(book))
        stopped += book.left < min(map(book.cost, range(3)))
        if name != "epsilon-first" or exploring(book, 0.4):
            book.see(i, r[i], c[i])
        book.spend(c[i])
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-9)
    assert 0 < stopped < ROUNDS  # both are tried
    overspent = [x - ROUNDS * (1 - c0) for x, c0 in zip(book.spent, floor)]
    np.testing.assert_allclose(trace.observed_shortfall[0, -1], overspent, atol=1e-9)  # to overspend is to violate


def test_kube_mixes_what_fits_into_the_rest_of_the_budget() -> None:
    """Costs 3/8 and 1/8, and 1 is left: the first is denser, and two of them leave room for two of the other."""
    learner = lewa.learners.Kube(3.0, 0.0, np.array([0.0]))
    state = lewa.functional.start(learner, 2)
    book = state.book
    book.drawn[:], book.reward[:], book.cost[:], book.used[:] = (1e9, 1e9), (0.9, 0.2), (0.375, 0.125), 2.0
    assert lewa.functional.play(learner, state).tolist() == [0.5, 0.5]
    fraction = learner.replace(fractional=1.0)
    assert lewa.functional.play(fraction, state).tolist() == [1.0, 0.0]


def test_a_floor_of_1_leaves_no_budget_and_one_of_0_is_never_spent() -> None:
    game = lewa.games.Bernoulli([0.9, 0.5], [[0.2, 0.8]])
    for floor, likely in ((1.0, [0.0, 1.0]), (0.0, [0.0, 1.0])):  # the cheapest; the densest, 0.5/0.2 against 0.9/0.8
        learner = lewa.learners.Kube.tuned(2, 1000, floor, tuning="fractional")
        trace = lewa.play(learner, game, 1000) if floor < 1 else None
        if trace is None:
            with pytest.warns(UserWarning, match="no play meets the floor"):
                trace = lewa.play(learner, game, 1000)
        assert lewa.functional.play(learner, trace.states[0]).tolist() == likely
        assert bool(trace.states[0].book.used[0] > 1000) == (floor == 1)
