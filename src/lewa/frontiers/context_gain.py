"""Would context pay? The best policy on a context beside the best fixed mixture, each judged on rows that did not choose it.

Rows are cut into five folds at random. For each fold the other four fit a ridge regression of the reward and of the cost
for each action, and choose the best fixed mixture and the best policy: the largest forecast reward less a price times the
forecast cost, with two neighbouring prices mixed so that the forecasts meet the limit. On the fold itself each row has a
value for both: its own, in a table; in a log the doubly robust one. The gain charges what the policy spends more at the
price of the mixture.
"""

from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import Log
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.result import ContextGain
from lewa.games.table import Table
from lewa.measures.best_play import best_fixed_play
from lewa.types import Cube, Indices, Matrix, Vector

FOLDS, Z = 5, 1.96
CONSTANT, OTHERS = 0.1, 1.0  # the penalty of the constant, and of every other feature


class _Rows(NamedTuple):
    """Rewards and costs (2, n, K) of a table, or (2, n, 1) of the actions drawn in a log, in [0, 1]."""

    contexts: Matrix  # (n, d)
    values: Cube
    action: Indices | None  # of a log
    propensity: Vector | None
    actions: int

    def part(self, rows: Indices) -> "_Rows":
        action = None if self.action is None else self.action[rows]
        propensity = None if self.propensity is None else self.propensity[rows]
        return _Rows(self.contexts[rows], self.values[:, rows], action, propensity, self.actions)

    def fit(self) -> Cube:
        """Return the coefficients (2, K, d) of the reward and the cost of each action, less 1/2."""
        d = self.contexts.shape[1]
        penalty = np.diag([CONSTANT, *[OTHERS] * (d - 1)])
        coefficients = np.zeros((2, self.actions, d))
        for k in range(self.actions):
            mask = slice(None) if self.action is None else self.action == k
            X, y = self.contexts[mask], self.values[:, mask, k if self.action is None else 0]
            coefficients[:, k] = np.linalg.solve(penalty + X.T @ X, X.T @ (y - 0.5).T).T
        return coefficients

    def forecast(self, coefficients: Cube) -> Cube:
        """Return the forecasts (2, n, K)."""
        forecasts: Cube = np.clip(0.5 + np.einsum("nd,okd->onk", self.contexts, coefficients), 0, 1)
        return forecasts

    def means(self) -> Matrix:
        """Return the mean reward and cost (2, K) of each action; of a log, self-normalised."""
        means: Matrix
        if self.action is None or self.propensity is None:
            means = self.values.mean(axis=1)
            return means
        weights = np.eye(self.actions)[self.action] / self.propensity[:, None]  # (n, K)
        totals = weights.sum(axis=0)
        if not (totals > 0).all():
            raise ValueError("each fold of a log must show every action: there are too few rows to judge a context")
        means = np.clip(self.values[:, :, 0] @ weights / totals, 0, 1)
        return means

    def judge(self, policy: Matrix, forecasts: Cube) -> Matrix:
        """Return the reward and the cost (2, n) of each row under a policy (n, K)."""
        value: Matrix
        if self.action is None or self.propensity is None:
            value = (self.values * policy).sum(axis=2)
            return value
        rows = np.arange(self.action.size)
        weight = policy[rows, self.action] / self.propensity
        value = (forecasts * policy).sum(axis=2) + weight * (self.values[:, :, 0] - forecasts[:, rows, self.action])
        return value


class _Policy(NamedTuple):
    """argmax of reward less price times cost, at two prices that are mixed."""

    prices: tuple[float, float]
    share: float  # of the first

    def play(self, forecasts: Cube) -> Matrix:
        """Return the play (n, K) for each row."""
        first, second = (np.eye(forecasts.shape[2])[(forecasts[0] - x * forecasts[1]).argmax(axis=1)] for x in self.prices)
        play: Matrix = self.share * first + (1 - self.share) * second
        return play


def price_policy(forecasts: Cube, limit: float) -> _Policy:
    """Return the policy whose forecast costs meet the limit, or are below it at a price of 0."""
    rows = np.arange(forecasts.shape[1])

    def cost(price: float) -> float:
        return float(forecasts[1][rows, (forecasts[0] - price * forecasts[1]).argmax(axis=1)].mean())

    low, high = 0.0, 1.0
    if cost(low) <= limit:
        return _Policy((low, low), 1.0)
    while cost(high) > limit and high < 1e9:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) > limit else (low, middle)
    dear, cheap = cost(low), cost(high)
    return _Policy((low, high), (limit - cheap) / (dear - cheap) if dear > limit >= cheap else 0.0)


def context_gains(data: Data, budgets: Budgets, floors: list[float], seed: int = 0) -> tuple[ContextGain, ...]:
    """Return, for each line, what the best policy on the context gains over the best fixed mixture."""
    if len(data.constraints) > 1:
        names = ", ".join(quantity.name for quantity in data.constraints)
        raise ValueError(f"a context is judged under one constraint, got {names}")
    rows = _rows(data)
    n = len(rows.contexts)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    if n < 10 * FOLDS:
        raise ValueError(f"to judge a context takes at least {10 * FOLDS} rows, got {n}")
    splits = [(rows.part(np.flatnonzero(fold != f)), rows.part(np.flatnonzero(fold == f))) for f in range(FOLDS)]
    fits = [train.fit() for train, _ in splits]
    whole = rows.forecast(rows.fit())
    return tuple(_gain(data, budgets, floor, rows, whole, splits, fits) for floor in floors)


def _gain(
    data: Data,
    budgets: Budgets,
    floor: float,
    rows: _Rows,
    whole: Cube,
    splits: list[tuple[_Rows, _Rows]],
    fits: list[Cube],
) -> ContextGain:
    limit, parts = 1 - floor, []
    for (train, test), fit in zip(splits, fits, strict=True):
        means = train.means()
        best = best_fixed_play(means[0], 1 - means[1:], [floor])
        policy = price_policy(train.forecast(fit), limit)
        forecasts = test.forecast(fit)
        fixed = test.judge(np.tile(best.play, (len(test.contexts), 1)), forecasts)
        ours = test.judge(policy.play(forecasts), forecasts)
        parts.append(np.vstack([fixed, ours, (ours - fixed)[0] - best.price[0] * (ours - fixed)[1]]))
    table = np.concatenate(parts, axis=1)  # the rewards and costs of both, and the gain
    n, (fixed_r, fixed_z, policy_r, policy_z, gain) = table.shape[1], table.mean(axis=1).tolist()
    spread, span, cost = float(table[4].std(ddof=1)), data.reward.scale.span, data.constraints[0].scale
    means, seen = rows.means(), rows.judge(price_policy(whole, limit).play(whole), whole).mean(axis=1)
    best = best_fixed_play(means[0], 1 - means[1:], [floor])
    in_sample = float(seen[0] - best.value - best.price[0] * (seen[1] - best.play @ means[1]))
    ceiling = None
    if rows.action is None:
        play = price_policy(rows.values, limit).play(rows.values)
        ceiling = data.reward.scale.to_user(float(rows.judge(play, rows.values)[0].mean()))
    half = Z * spread / n**0.5
    return ContextGain(
        line=budgets.lines(budgets.floors_at(floor))[budgets.varied.name],
        fixed=data.reward.scale.to_user(fixed_r),
        fixed_average=cost.to_user(1 - fixed_z),
        policy=data.reward.scale.to_user(policy_r),
        policy_average=cost.to_user(1 - policy_z),
        gain=span * gain,
        low=span * (gain - half),
        high=span * (gain + half),
        in_sample=span * in_sample,
        ceiling=ceiling,
        rows_to_settle=None if gain <= 0 else int(np.ceil((Z * spread / gain) ** 2)),
    )


def _rows(data: Data) -> _Rows:
    game = data.game
    if isinstance(game, Log):
        values = np.stack([game.reward, 1 - game.constraint_values[:, 0]])[:, :, None]
        return _Rows(data.contexts, values, game.action, game.propensity, game.actions)
    assert isinstance(game, Table)
    rewards, constraints = np.asarray(game.rewards, dtype=np.float64), np.asarray(game.rows[:, 0], dtype=np.float64)
    return _Rows(data.contexts, np.stack([rewards, 1 - constraints]), None, None, game.actions)
