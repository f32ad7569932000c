"""What a policy that is linear in the features could earn at most: references for the tables of docs/contexts.md.

Both see the reward of every action, which a learner with bandit feedback does not, and have the best fixed price in
hindsight. So what a learner loses against them is the cost of learning; what they lose is in the features or in the delay.
"""

from typing import NamedTuple

import numpy as np

from lewa.types import Matrix, Vector

EVERY = 100  # rounds between two fits
MEMORY = 5000.0  # rounds, as in `squarecb-lewa`
CONSTANT = 0.1  # the penalty of the constant, which is the first feature; that of the others is 1


class Reference(NamedTuple):
    reward: float  # per round
    spent: float  # per round


def in_hindsight(rewards: Matrix, price: Vector, limit: float, contexts: Matrix) -> Reference:
    """Return what the policy by one regression on all rounds comes to."""
    penalty = _penalty(contexts)
    theta = np.linalg.solve(contexts.T @ contexts + penalty, contexts.T @ (rewards - 0.5))
    return at_best_price(contexts @ theta, rewards, price, limit)


def with_delay(rewards: Matrix, price: Vector, limit: float, contexts: Matrix, late: int) -> Reference:
    """Return the same if the regression is made of the rounds that are at least `late` rounds old, and forgets."""
    T, d = contexts.shape
    products, sums, penalty = np.zeros((d, d)), np.zeros((d, rewards.shape[1])), _penalty(contexts)
    scores, told = np.zeros(rewards.shape), 0
    for start in range(0, T, EVERY):
        end = max(start - late, 0)
        if end > told:
            x, fade = contexts[told:end], np.exp((told - end) / MEMORY)
            products, sums = fade * products + x.T @ x, fade * sums + x.T @ (rewards[told:end] - 0.5)
            told = end
        scores[start : start + EVERY] = contexts[start : start + EVERY] @ np.linalg.solve(products + penalty, sums)
    return at_best_price(scores, rewards, price, limit)


def at_best_price(scores: Matrix, rewards: Matrix, price: Vector, limit: float) -> Reference:
    """Return what the largest score less price comes to, at the fixed price that spends the limit."""
    rows = np.arange(len(rewards))

    def at(dual: float) -> Reference:
        best = np.argmax(scores - dual * price, axis=1)
        return Reference(float(rewards[rows, best].mean()), float(price[best].mean()))

    low, high = 0.0, 100.0 / float(price.max())
    if at(low).spent <= limit:
        return at(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).spent > limit else (low, middle)
    (more, dear), (less, cheap) = at(low), at(high)
    share = (limit - cheap) / (dear - cheap) if dear > cheap else 0.0
    return Reference(less + share * (more - less), cheap + share * (dear - cheap))


def _penalty(contexts: Matrix) -> Matrix:
    penalty: Matrix = np.eye(contexts.shape[1])
    penalty[0, 0] = CONSTANT
    return penalty
