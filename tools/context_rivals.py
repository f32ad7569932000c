"""Rivals of the learners of contexts, for `make contexts`: LinUCB and LinTS with dual pacing, and a learner per group.

Linear UCB and Thompson sampling as routers with a budget use them: a ridge regression of the reward for each action, and one
price of the cost, which rises while a moving average of the spending is above the limit.
"""

from collections.abc import Callable

import numpy as np

import lewa
from lewa.games import Table
from lewa.learners import SquareCbLewa
from lewa.types import Indices, Matrix, Vector

ALPHA = 0.5  # of LinUCB's width, and the spread of LinTS
STEP, MOVING = 0.05, 0.02  # of the price; the weight of a round in the moving average


def linear_router(rewards: Matrix, price: Vector, limit: float, contexts: Matrix, sampled: bool, seed: int) -> Indices:
    """Return the actions that LinUCB takes, or LinTS if `sampled`, with a price that follows the spending."""
    (T, K), d, dice = rewards.shape, contexts.shape[1], np.random.default_rng(seed)
    inverse, b, lam, spent = np.array([np.eye(d)] * K), np.zeros((K, d)), 0.0, limit
    theta, actions, cost = np.zeros((K, d)), np.zeros(T, dtype=np.int64), price / price.max()
    for t in range(T):
        x = contexts[t]
        leaned: Matrix = inverse @ x  # (K, d)
        width = np.sqrt(np.maximum(leaned @ x, 0.0))
        bonus = ALPHA * width * (dice.normal(size=K) if sampled else 1.0)
        a = int(np.argmax(theta @ x + bonus - lam * cost))
        actions[t] = a
        inverse[a] -= np.outer(leaned[a], leaned[a]) / (1 + leaned[a] @ x)
        b[a] += rewards[t, a] * x
        theta[a] = inverse[a] @ b[a]
        spent += MOVING * (price[a] - spent)
        lam = max(lam + STEP * (spent / limit - 1), 0.0)
    return actions


def learner_per_group(rewards: Matrix, price: Vector, limit: float, groups: Indices, seed: int) -> Indices:
    """Return the actions of one `squarecb-lewa` without context for each group; each keeps the limit by itself."""
    actions = np.zeros(len(rewards), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        learner = SquareCbLewa.tuned(rewards.shape[1], len(rows), 1 - limit / price.max())
        trace = lewa.play(learner, Table(rewards[rows], 1 - price / price.max()), seeds=[seed], every_round=True, workers=1)
        assert trace.actions is not None
        actions[rows] = trace.actions[0]
    return actions


Rival = Callable[..., Indices]
