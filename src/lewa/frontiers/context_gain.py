"""Compare the best policy on a context with the best fixed mixture, each evaluated on rows that did not choose it.

Rows are split into five folds at random. For each fold, a ridge regression of the reward and of the cost of each action is
fitted to the other four, which also choose the best fixed mixture and the best policy: the largest forecast reward less
prices times the forecast costs, at a few prices that are mixed so that the forecasts meet the limits. On the fold itself
each row has a value under both: the observed value in a table, the doubly robust value in a log. The gain is the difference
in reward, minus the extra cost of the policy at the prices of the mixture. A policy on groups is evaluated in the same way:
its forecasts are the means of each group.

The interval allows for twice the variance of independent rows. Given its policy, the rows of a fold are independent, but
each row also trains the policies of the other folds. If the context is uninformative, policies follow the noise of their
training rows. To first order the gain is then a sum of w(i, j) over ordered pairs of rows in different folds: i is evaluated
under the policy that j trained. w(i, j) = w(j, i) has mean 0 given either row, so pairs are uncorrelated except for the two
orders of one pair, which are the same number: the variance of the sum is twice that of independent rows. If context pays,
the policies of all folds agree, the variance is that of independent rows, and the interval is wider than necessary.
"""

from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import Log
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.result import ContextGain
from lewa.games.table import Table
from lewa.measures.best_play import TIGHT, Hindsight, best_fixed_play
from lewa.types import Cube, Indices, Matrix, Vector

FOLDS = 5
Z = 1.96 * 2**0.5  # standard errors of independent rows: the variance is at most twice theirs, see above
CONSTANT, OTHERS = 0.1, 1.0  # the penalty of the constant, and of every other feature
STEPS, CLOSE = 60, 1e-7  # prices that are tried, and the gain below which another is not
STEEP = 1e6  # a price at which nothing but the constraint counts
ROWS_PER_GROUP = 20  # fewer rows teach little of a group


class _Rows(NamedTuple):
    """The reward and the costs (1+m, n, K) of a table, or (1+m, n, 1) of the actions drawn in a log, in [0, 1]."""

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
        """Return the coefficients (1+m, K, d) of the reward and the costs of each action, less 1/2."""
        d = self.contexts.shape[1]
        penalty = np.diag([CONSTANT, *[OTHERS] * (d - 1)])
        coefficients = np.zeros((len(self.values), self.actions, d))
        for k in range(self.actions):
            mask = slice(None) if self.action is None else self.action == k
            X, y = self.contexts[mask], self.values[:, mask, k if self.action is None else 0]
            coefficients[:, k] = np.linalg.solve(penalty + X.T @ X, X.T @ (y - 0.5).T).T
        return coefficients

    def forecast(self, coefficients: Cube) -> Cube:
        """Return the forecasts (1+m, n, K)."""
        forecasts: Cube = np.clip(0.5 + np.einsum("nd,okd->onk", self.contexts, coefficients), 0, 1)
        return forecasts

    def means(self) -> Matrix:
        """Return the mean reward and costs (1+m, K) of each action; of a log, self-normalised."""
        means: Matrix
        if self.action is None or self.propensity is None:
            means = self.values.mean(axis=1)
            return means
        weights = np.eye(self.actions)[self.action] / self.propensity[:, None]  # (n, K)
        totals = weights.sum(axis=0)
        if not (totals > 0).all():
            raise ValueError("each fold of a log must have every action: there are too few rows to evaluate a context")
        means = np.clip(self.values[:, :, 0] @ weights / totals, 0, 1)
        return means

    def judge(self, policy: Matrix, forecasts: Cube) -> Matrix:
        """Return the reward and the costs (1+m, n) of each row under a policy (n, K)."""
        value: Matrix
        if self.action is None or self.propensity is None:
            value = (self.values * policy).sum(axis=2)
            return value
        rows = np.arange(self.action.size)
        weight = policy[rows, self.action] / self.propensity
        value = (forecasts * policy).sum(axis=2) + weight * (self.values[:, :, 0] - forecasts[:, rows, self.action])
        return value


class Policy(NamedTuple):
    """A mixture of policies, each of which maximises the reward less prices times costs at its own prices."""

    prices: Matrix  # (n, m)  the prices of each policy
    shares: Vector  # (n,)  the weight of each policy

    def play(self, forecasts: Cube) -> Matrix:
        """Return the play (n, K) for each row."""
        play = np.zeros(forecasts.shape[1:])
        for prices, share in zip(self.prices, self.shares.tolist(), strict=True):
            play[np.arange(len(play)), _best_action(forecasts, prices)] += share
        return play


def best_mixture(means: Matrix, floors: Vector) -> Hindsight:
    """Return the best mixture by mean rewards and costs (1+m, n), with prices that solve the dual problem.

    If several constraints bind together, the gains from easing each of them need not solve it.
    """
    best = best_fixed_play(means[0], 1 - means[1:], floors)
    if floors.size == 1 or not best.feasible:
        return best
    from scipy.optimize import linprog  # imported here: it takes longer than everything else together

    every = np.ones((1, means.shape[1]))
    program = linprog(-means[0], A_ub=means[1:], b_ub=1 - floors + TIGHT, A_eq=every, b_eq=[1])
    return best._replace(play=program.x, price=-program.ineqlin.marginals) if program.success else best


def _best_action(forecasts: Cube, prices: Vector) -> Indices:
    best: Indices = (forecasts[0] - np.tensordot(prices, forecasts[1:], 1)).argmax(axis=1)
    return best


def price_policy(forecasts: Cube, floors: Vector) -> Policy:
    """Return the policy with the largest forecast reward whose forecast costs meet the limits, or come nearest to them.

    The method is column generation: the best mixture of the policies so far has prices, and at these prices another policy
    may be better. There is one policy for each vector of prices, so no other policy can improve the mixture.
    """
    rows, m = np.arange(forecasts.shape[1]), floors.size
    steep = [*(STEEP * np.eye(m)), np.full(m, STEEP)] if m > 1 else [np.full(1, STEEP)]
    prices, means = [np.zeros(m)], list[Vector]()
    for step in range(STEPS):
        for each in prices[len(means) :]:
            means.append(forecasts[:, rows, _best_action(forecasts, each)].mean(axis=1))
        if step == 0:
            if (1 - means[0][1:] >= floors).all():
                return Policy(np.array(prices), np.ones(1))
            prices += steep
            continue
        table = np.array(means).T  # (1+m, policies)
        best = best_mixture(table, floors)
        if not best.feasible or step == STEPS - 1:
            break
        price = best.price
        gain = forecasts[:, rows, _best_action(forecasts, price)].mean(axis=1)
        here = table[:, best.play > 0].mean(axis=1)  # at these prices all of them are worth the same
        if gain[0] - price @ gain[1:] <= here[0] - price @ here[1:] + CLOSE:
            break
        prices.append(price)
    taken = best.play > 0
    return Policy(np.array(prices[: len(means)])[taken], best.play[taken] / best.play[taken].sum())


def groups_of(contexts: Matrix) -> Indices:
    """Return the group of each row: rows with the same levels and the same nearest knots share a group."""
    largest = np.maximum(abs(contexts).max(axis=0), 1e-12)
    numbers: Indices = np.unique(contexts > largest / 2, axis=0, return_inverse=True)[1].ravel()
    return numbers


def _indicators(rows: _Rows) -> _Rows | None:
    """Return the same rows with the indicators of their groups for features; None where groups are too small."""
    number = groups_of(rows.contexts)
    count = int(number.max()) + 1
    if count < 2 or count * ROWS_PER_GROUP > len(number):
        return None
    return rows._replace(contexts=np.column_stack([np.ones(len(number)), np.eye(count)[number]]))


class _Split(NamedTuple):
    """Rows cut into folds: for each fold the others with what they forecast, and the fold."""

    rows: _Rows
    parts: list[tuple[_Rows, _Rows, Cube]]

    @classmethod
    def of(cls, rows: _Rows, fold: Indices) -> "_Split":
        """Fit a regression for each fold on the others."""
        pairs = [(rows.part(np.flatnonzero(fold != f)), rows.part(np.flatnonzero(fold == f))) for f in range(FOLDS)]
        return cls(rows, [(train, test, train.fit()) for train, test in pairs])

    def judge(self, floors: Vector) -> Matrix:
        """Return rewards and costs of the mixture, then of the policy, and the gain: a row of numbers for each, by row."""
        parts = []
        for train, test, fit in self.parts:
            means = train.means()
            best = best_mixture(means, floors)
            policy, forecasts = price_policy(train.forecast(fit), floors), test.forecast(fit)
            fixed = test.judge(np.tile(best.play, (len(test.contexts), 1)), forecasts)
            ours = test.judge(policy.play(forecasts), forecasts)
            gain = (ours - fixed)[0] - best.price @ (ours - fixed)[1:]
            parts.append(np.vstack([fixed, ours, gain]))
        return np.concatenate(parts, axis=1)


def context_gains(data: Data, budgets: Budgets, floors: list[float], seed: int = 0) -> tuple[ContextGain, ...]:
    """Return, for each limit, the gain of the best policy on the context over the best fixed mixture."""
    rows = _rows(data)
    n = len(rows.contexts)
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    if n < 10 * FOLDS:
        raise ValueError(f"evaluating a context needs at least {10 * FOLDS} rows, got {n}")
    grouped = _indicators(rows)
    split, by_group = _Split.of(rows, fold), None if grouped is None else _Split.of(grouped, fold)
    whole = rows.forecast(rows.fit())
    return tuple(_gain(data, budgets, floor, whole, split, by_group) for floor in floors)


def _gain(data: Data, budgets: Budgets, floor: float, whole: Cube, split: _Split, by_group: _Split | None) -> ContextGain:
    rows, floors, m = split.rows, budgets.floors_at(floor), len(data.constraints)
    table = split.judge(floors)
    n, averages, j = table.shape[1], table.mean(axis=1), 1 + budgets.j
    fixed, policy, gain = averages[: 1 + m], averages[1 + m : -1], float(averages[-1])
    spread, reward, cost = float(table[-1].std(ddof=1)), data.reward.scale, budgets.varied.scale
    span = reward.span
    means, seen = rows.means(), rows.judge(price_policy(whole, floors).play(whole), whole).mean(axis=1)
    best = best_mixture(means, floors)
    in_sample = float(seen[0] - best.value - best.price @ (seen[1:] - means[1:] @ best.play))
    ceiling = None
    if rows.action is None:
        play = price_policy(rows.values, floors).play(rows.values)
        ceiling = reward.to_user(float(rows.judge(play, rows.values)[0].mean()))
    half = Z * spread / n**0.5
    return ContextGain(
        line=budgets.lines(floors)[budgets.varied.name],
        fixed=reward.to_user(float(fixed[0])),
        fixed_average=cost.to_user(1 - float(fixed[j])),
        policy=reward.to_user(float(policy[0])),
        policy_average=cost.to_user(1 - float(policy[j])),
        gain=span * gain,
        low=span * (gain - half),
        high=span * (gain + half),
        in_sample=span * in_sample,
        by_group=None if by_group is None else reward.to_user(float(by_group.judge(floors)[1 + m].mean())),
        ceiling=ceiling,
        rows_to_settle=None if gain <= 0 else int(np.ceil((Z * spread / gain) ** 2)),
    )


def _rows(data: Data) -> _Rows:
    game = data.game
    if isinstance(game, Log):
        values = np.vstack([game.reward, 1 - game.constraint_values.T])[:, :, None]
        return _Rows(data.contexts, values, game.action, game.propensity, game.actions)
    assert isinstance(game, Table)
    rewards, constraints = np.asarray(game.rewards, dtype=np.float64), np.asarray(game.rows, dtype=np.float64)
    return _Rows(data.contexts, np.stack([rewards, *(1 - constraints.transpose(1, 0, 2))]), None, None, game.actions)
