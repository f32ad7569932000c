"""The compiled play of a world by the learner `squarecb-lewa` and a purse, or by a rival: for `make budgets`."""

from collections.abc import Callable
from math import floor, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from lewa.budgets import pace
from lewa.budgets.pace import AVERAGE as OF_AVERAGE
from lewa.budgets.pace import (
    BUDGET,
    CEILING,
    CHARGED,
    FORESEEN,
    LARGEST,
    ODDS,
    OPEN,
    PRICE,
    PRICES,
    REQUESTS,
    RESERVED,
    SEEN,
    SPENT,
    VARIANCE,
    book,
    fits,
    move_price,
)
from lewa.budgets.traffic import LEVEL, PROFILE, REFERENCE, new_traffic, rest_of, see
from lewa.feedback import Bandit
from lewa.kernels import compiled_form, pack, unpack
from lewa.kernels.dispatch import charge, learn, play
from lewa.kernels.jit import compile_program
from lewa.learners import SquareCbLewa
from lewa.types import Matrix, Vector
from tools.budget_worlds import World

# Who sets the price, or decides without one.
RULE, AVERAGE, BEST, DESCENT, SCHEDULE, PLAN, THROTTLE = range(7)
FORECAST, KNOWN, CLOCK = range(3)  # of the traffic to come
REWARD, BILLS, REFUSED, COUNTED, MEAN_PRICE, EMPTY_AT = range(6)  # columns of the result


class Method(NamedTuple):
    """Who decides, and what it is told."""

    name: str
    kind: int = RULE
    traffic: int = FORECAST
    ceiling: float = 1.025  # of the amount
    keep: bool = True  # whether dear actions leave money for the cheapest one
    odds: float = 0.0  # ln(40/eps), or 0


def make_loop(form: type) -> Callable[..., None]:
    """Make the loop of a world for a class of learner."""

    def loop(memory: Vector, q: Any, t_: Any, world: Any, requests: Any, scratch: Any, how: Vector, out: Matrix) -> None:
        order, known, draws = requests
        times, kinds, sizes, rewards, costs, mean_rewards, mean_costs, worst, arrivals, amount, period, usual, _ = world
        self, s = unpack(form, memory)
        kind, traffic, keep = int(how[0]), int(how[1]), how[3] > 0
        N, K = rewards.shape
        took, period_of, foreseen, p, constraint, charged_then, none = scratch
        now_period, last, ptr = -1, usual, 0
        rest, throttle, error, planned, paid, bin_ = 0.0, 0.5, 0.0, 0.0, 0.0, -1
        for n in range(N + 1):
            now = times[n] if n < N else inf
            while ptr < n and arrivals[order[ptr]] <= now:  # answers
                i = order[ptr]
                if i >= n:
                    break
                ptr += 1
                a = took[i]
                if a < 0:
                    continue
                z = costs[i, a]
                out[period_of[i], BILLS] += z
                if period_of[i] == now_period or kind == AVERAGE:
                    q[SPENT] += z
                    q[CHARGED] -= foreseen[i]
                    q[RESERVED] -= worst[a] * sizes[i]
                    q[OPEN] -= 1
                if s.features.size > 0:
                    s.features[0], s.features[1] = 1.0, kinds[i]
                constraint[0] = 1 - z / sizes[i]
                s.multiplier[0] = q[PRICE]
                charged_then[0] = foreseen[i] / sizes[i]
                learn(self, s, Bandit(a, 1.0, rewards[i, a], constraint, none, charged_then))
            if n == N:
                break
            if int(times[n] / period) != now_period:  # a new period
                if now_period >= 0:
                    last = q[SEEN]
                    out[now_period, MEAN_PRICE] = q[PRICES] / max(q[SEEN], 1e-9)
                    if kind == RULE:
                        q[PRICE] = out[now_period, MEAN_PRICE]
                now_period = int(times[n] / period)
                if kind != AVERAGE:
                    for c in (SPENT, CHARGED, RESERVED, OPEN, SEEN, REQUESTS, PRICES, FORESEEN, VARIANCE):
                        q[c] = 0.0
                else:
                    q[SPENT] -= q[BUDGET] * q[SEEN]  # the debt is carried
                    q[SEEN], q[REQUESTS], q[PRICES] = 0.0, 0.0, 0.0
                    q[BUDGET] = amount / max(last, 1.0)
            end = (now_period + 1) * period
            # What is to come.
            w, c = sizes[n], 0
            weight = w
            rest = rest_of(t_, now, end)
            if traffic == KNOWN:
                rest = known[n]
            elif traffic == CLOCK and t_[REFERENCE] > 0:
                rest = t_[REFERENCE] * t_[LEVEL] * t_[PROFILE + floor(now) % 168] * (end - now)
            # What fits.
            here = q[SPENT] + q[RESERVED] if kind != AVERAGE else out[now_period, COUNTED]
            cheapest, least = 0, inf
            for k in range(K):
                if mean_costs[n, k] < least:
                    cheapest, least = k, mean_costs[n, k]
            some = 0
            for k in range(K):
                back = rest * mean_costs[n, cheapest] / w if keep and k != cheapest else 0.0
                if kind == AVERAGE:
                    s.available[k] = 1.0 if here + worst[k] * w <= how[2] * amount else 0.0
                else:
                    s.available[k] = 1.0 if fits(q, mean_costs[n, k], worst[k] * w, back, 0.0) else 0.0
                some += int(s.available[k])
            a = -1
            if kind == BEST:
                for k in range(K):
                    if a < 0 or mean_rewards[n, k] > mean_rewards[n, a]:
                        a = k
                if s.available[a] == 0:
                    a = -1
            elif kind == THROTTLE:
                if int(now * 4) != bin_:
                    if planned > 0:
                        off = min(max((paid - planned) / planned, -2.0), 2.0)
                        error = min(max(error + off, -20.0), 20.0)
                        throttle = min(max(throttle - 0.5 * off - 0.002 * error, 0.0), 1.0)
                    bin_, planned, paid = int(now * 4), 0.0, 0.0
                a = cheapest
                if draws[n] < throttle:
                    for k in range(K):
                        if mean_rewards[n, k] > mean_rewards[n, a] and s.available[k] > 0:
                            a = k
                if s.available[a] == 0:
                    a = -1
                planned += max(amount - q[SPENT] - q[CHARGED], 0.0) / (rest + w) * w
            elif some > 0:
                s.multiplier[0] = q[PRICE] * w
                if s.features.size > 0:
                    s.features[0], s.features[1] = 1.0, kinds[n]
                play(self, s, p)
                x = draws[n]
                for k in range(K):
                    if p[k] > 0:
                        a = k
                        x -= p[k]
                        if x < 0:
                            break
            see(t_, now, weight)
            took[n], period_of[n] = a, now_period
            if a < 0:
                out[now_period, REFUSED] += 1
                if out[now_period, EMPTY_AT] == 0:
                    out[now_period, EMPTY_AT] = now - now_period * period
                q[SEEN] += weight
                q[REQUESTS] += 1
                if kind == AVERAGE:  # a limit on an average does not see what is refused
                    q[SPENT] += q[BUDGET] * weight
                continue
            s.multiplier[0] = q[PRICE]
            charge(self, s, a)
            f = min(s.charged[0] * w, worst[a] * w)
            foreseen[n] = f
            paid += f
            out[now_period, REWARD] += mean_rewards[n, a]
            out[now_period, COUNTED] += costs[n, a]
            book(q, f, worst[a] * w, weight)
            if kind in (RULE, AVERAGE):
                move_price(q, f, weight, rest, 0.0)
            elif kind in (DESCENT, SCHEDULE, PLAN):
                T = max(last, 1.0)
                if kind == DESCENT:
                    T = q[SEEN] + known[n]
                    limit = amount / T
                elif kind == SCHEDULE:
                    limit = amount / ((1 + log(4.0)) * max(T / 2, q[SEEN]))
                else:
                    total = 0.0
                    for h in range(int(period)):
                        total += t_[PROFILE + (now_period * int(period) + h) % 168]
                    shape = t_[PROFILE + floor(now) % 168]
                    limit = amount * shape / total / max(t_[REFERENCE] * shape, 1e-6) if t_[REFERENCE] > 0 else amount / T
                q[PRICE] = max(q[PRICE] + 0.5 / (limit * sqrt(T)) / limit * (f - limit), 0.0)
                if kind == PLAN:
                    q[PRICE] = min(q[PRICE], 1 / max(limit, 1e-9))
                q[PRICES] += q[PRICE] * weight

    return loop


FORM: type = compiled_form(SquareCbLewa)
LOOP = compile_program(make_loop(FORM), keep=False)


def simulate(world: World, method: Method, seed: int = 0) -> Matrix:
    """Play a world; return a row for each period."""
    K, N = world.rewards.shape[1], world.times.size
    limit = world.amount / world.usual
    learner = SquareCbLewa.tuned(K, N, 1 - limit, features=2 if world.contexts > 1 else 0)
    q = np.zeros(pace.SIZE)
    q[BUDGET], q[CEILING] = world.amount, world.amount * method.ceiling
    q[ODDS], q[LARGEST] = method.odds, world.worst.max() * world.sizes.max()
    if method.kind == AVERAGE:
        q[OF_AVERAGE], q[BUDGET] = 1.0, limit
    period = np.floor(world.times / world.period).astype(int)
    weights = world.sizes
    totals = np.bincount(period, weights)
    before = np.concatenate([[0.0], np.cumsum(totals)[:-1]])
    known = totals[period] - (np.cumsum(weights) - before[period])
    out = np.zeros((period[-1] + 1, 6))
    how = np.array([method.kind, method.traffic, method.ceiling, method.keep], float)
    draws = np.random.default_rng(1000 + seed).random(N)
    order = np.argsort(world.arrivals, kind="stable")
    scratch = np.full(N, -1), np.zeros(N, np.int64), np.zeros(N), np.zeros(K), np.zeros(1), np.zeros(1), np.zeros(0)
    LOOP(pack(learner, learner.start(K)), q, np.array(new_traffic()), tuple(world), (order, known, draws), scratch, how, out)
    return out
