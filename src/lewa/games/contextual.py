"""Requests of several kinds: the reward of an action depends on the kind, which is known before the play."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from lewa.blocks import Block
from lewa.games.base import OneConstraint, numbers
from lewa.measures.best_play import TIGHT
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_floor, in_unit, short_repr

MOST_POLICIES = 1000


@dataclass(frozen=True)
class Contextual(OneConstraint):
    """Requests of several kinds, with a context: the kind is known before the play.

    In each round a kind is drawn, kind g with the probability `shares[g]`. The reward of action k is a coin with the mean
    `rewards[g][k]`; its constraint is a coin with the mean `constraint_means[k]`, for every kind.

    The context of a round has d = 1 + G features, the constant 1 and a 1 in the place of the kind, as `lewa.category` makes
    them; means are linear in the features. With `advice`, the context is the advice of all K^G policies, each of which maps
    a kind to an action, for learners that mix policies. The rounds are the same in both cases, and also for a learner that
    uses no context. `policy_value` is the reward of the best policy.

    >>> import lewa
    >>> game = lewa.games.Contextual()
    >>> best = lewa.games.facts(game, floor=0.7, rounds=1000).value
    >>> f"at best {best:.3f} without the kind, {game.policy_value(0.7):.3f} with it"
    'at best 0.336 without the kind, 0.384 with it'
    >>> learner = lewa.learners.SquareCbLewa.tuned(actions=3, horizon=20_000, floor=0.7, features=game.features)
    >>> trace = lewa.play(learner, game, rounds=20_000)
    >>> f"reward {trace.reward[0, -1] / 20_000:.3f}, violation {lewa.violation(trace)[0, 0]:.0f}"
    'reward 0.377, violation 0'
    """

    about = "requests of several kinds, seen as a context; the best action depends on the kind"
    stationary_rewards = True

    rewards: tuple[tuple[float, ...], ...] = ((0.2, 0.5, 0.6), (0.28, 0.3, 0.1))  # (G, K)  the mean rewards by kind
    constraint_means: tuple[float, ...] = (0.9, 0.6, 0.1)  # (K,)
    shares: tuple[float, ...] = (0.4, 0.6)  # (G,)  the probability of each kind
    advice: bool = False  # whether the context is the advice of policies

    def __post_init__(self) -> None:
        means, shares = in_unit("mean rewards", self.rewards), in_unit("shares", self.shares)
        met = in_unit("mean constraints", self.constraint_means)
        if shares.ndim != 1 or met.ndim != 1:
            raise ValueError(
                f"shares and constraint_means must be lists of numbers, got the shapes {shares.shape} and {met.shape}"
            )
        if means.shape != (shares.size, met.size) or not means.size:
            raise ValueError(
                f"rewards must have a row for each of {shares.size} kinds and a number for each of {met.size} actions, got "
                f"the shape {means.shape}"
            )
        if not isinstance(self.advice, bool):
            raise ValueError(f"advice must be true or false, got {short_repr(self.advice)}")
        if abs(shares.sum() - 1) > 1e-9:
            raise ValueError(f"shares must sum to 1, got {self.shares}")
        if self.advice:
            self._choices  # noqa: B018  refuse too many policies

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid", adversary="oblivious")

    @property
    def features(self) -> int:
        return self._contexts.shape[1]

    @property
    def policies(self) -> int:
        return len(self._choices) if self.advice else 0

    @cached_property
    def _choices(self) -> Any:
        """The action that each policy takes in each kind, (N, G)."""
        G, K = len(self.shares), self.actions
        if K**G > MOST_POLICIES:
            raise ValueError(f"there must be at most {MOST_POLICIES} policies from kinds to actions, got {K}^{G}")
        return np.array(list(product(range(K), repeat=G)))

    @cached_property
    def _contexts(self) -> Matrix:
        """The features of each kind, (G, d)."""
        G = len(self.shares)
        if self.advice:
            advice: Matrix = np.eye(self.actions)[self._choices.T].reshape(G, -1)
            return advice
        return np.column_stack([np.ones(G), np.eye(G)])

    def block(self, key: Words, start: int, stop: int) -> Block:
        K = self.actions
        luck = numbers(key, start, stop, 1 + 2 * K)
        kinds = np.minimum(np.searchsorted(np.cumsum(self.shares), luck[:, 0], side="right"), len(self.shares) - 1)
        earns = luck[:, 1 : 1 + K] < np.array(self.rewards)[kinds]
        keeps = luck[:, 1 + K :] < np.array(self.constraint_means)
        return Block(earns.astype(np.float64), keeps[:, np.newaxis].astype(np.float64), self._contexts[kinds])

    def mean_rewards(self, rounds: int) -> Vector:
        mean: Vector = np.array(self.shares) @ np.array(self.rewards)
        return mean

    def policy_value(self, floor: object) -> float:
        """Return the reward per round of the best policy on the kind that meets the floor on average.

        It is the value of a linear program over the probability of each action in each kind: a mixture of policies is such
        a table of probabilities.
        """
        from scipy.optimize import linprog  # takes long to import, and few need it

        c0, shares, means = as_floor(floor), np.array(self.shares), np.array(self.constraint_means)
        if c0.size != 1:
            raise ValueError(f"a game with one constraint must have one floor, got {c0.tolist()}")
        if means.max() < c0[0] - TIGHT:
            raise ValueError(f"some policy must meet the floor, got {floor}; the largest feasible floor is {means.max()}")
        G, K = len(self.shares), self.actions
        best = linprog(
            -(shares[:, None] * np.array(self.rewards)).ravel(),
            A_ub=-np.outer(shares, means).reshape(1, -1),
            b_ub=[-min(c0[0], means.max())],
            A_eq=np.kron(np.eye(G), np.ones(K)),
            b_eq=np.ones(G),
            bounds=(0, 1),
            method="highs",
        )
        if best.status != 0:
            raise RuntimeError(f"the linear program was not solved: {best.message}")
        return float(-best.fun)
