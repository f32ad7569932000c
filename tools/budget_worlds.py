"""Worlds with traffic for `make budgets`, and what can be earned in them; the play itself is in `budget_play`."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lewa.types import Matrix, Vector

BY_HOUR = np.array(
    [15, 10, 8, 7, 8, 15, 40, 80, 130, 170, 190, 190, 170, 180, 190, 190, 180, 160, 140, 120, 100, 80, 50, 30], float
)
BY_WEEKDAY = np.array([1.1, 1.15, 1.15, 1.1, 1.0, 0.6, 0.5])
LARGEST = 3.0  # cost of a request, over its mean


class World(NamedTuple):
    """Requests by their times, in hours since a Monday; costs are in units of the largest cost of a request of size 1."""

    times: Vector
    kinds: Vector  # what the learner sees of a request
    sizes: Vector
    rewards: Matrix  # (N, K)
    costs: Matrix
    mean_rewards: Matrix
    mean_costs: Matrix
    worst: Vector  # (K,) of size 1
    arrivals: Vector  # when the answer comes
    amount: float
    period: float  # hours
    usual: float  # requests of a period
    contexts: int


def arrivals(rng: np.random.Generator, days: int, per_day: float, shape: Mapping[str, object]) -> Vector:
    """Draw the times of requests."""
    hours = np.arange(days * 24)
    day, hour, half = hours // 24, hours % 24, days // 2
    by_hour = np.asarray(shape.get("by_hour", BY_HOUR))
    rate = np.full(hours.size, per_day / 24)
    if shape.get("cycle", True):
        rate = rate * (by_hour / by_hour.mean())[hour] * (BY_WEEKDAY / BY_WEEKDAY.mean())[day % 7]
    rate = rate * np.exp(float(str(shape.get("trend", 0.0))) * hours / 24)
    day_noise, hour_noise = float(str(shape.get("day_noise", 0.1))), float(str(shape.get("hour_noise", 0.15)))
    rate = rate * np.exp(day_noise * rng.standard_normal(days) - day_noise**2 / 2)[day]
    rate = rate * rng.gamma(hour_noise**-2, hour_noise**2, hours.size)
    event, launch = shape.get("event"), half * 24 + 10
    if event == "double":
        rate[day >= half] *= 2
    elif event == "launch":
        rate = np.where(hours >= launch, rate * (1.5 + 1.5 * np.exp(-(hours - launch) / 72)), rate)
    elif event == "holidays":
        rate[np.isin(day, [days // 3, 2 * days // 3, 2 * days // 3 + 1])] *= 0.3
    elif event == "outage":
        rate[np.isin(day, [days // 3, 2 * days // 3]) & (hour >= 10) & (hour < 16)] = 0
    elif event == "night":
        rate = np.where(day >= half, np.roll(rate, 10), rate)
    elif event == "weekend":
        rate[day % 7 >= 5] = 0
    counts = rng.poisson(rate)
    times = np.repeat(hours.astype(float), counts) + rng.random(counts.sum())
    for _ in range(20 if event == "bursts" else 0):  # 5 % of a day in ten minutes
        times = np.append(times, rng.random() * (hours.size - 1) + rng.random(int(0.05 * per_day)) / 6)
    return np.sort(times)


def make(
    seed: int, per_day: float = 5000, days: int = 30, K: int = 3, budget: float = 0.45, period: float = 24.0, **more: object
) -> World:
    """Make a world: K models between a price and 15 times that; `budget` says how far up the money goes."""
    rng = np.random.default_rng(seed)
    times = arrivals(rng, days, per_day, more)
    N, hour, x = times.size, times % 24, np.linspace(0, 1, K)
    price, easy, hard = np.geomspace(0.02, 0.3, K), 0.78 + 0.14 * x**0.6, 0.25 + 0.55 * x**0.8
    share = np.full(N, 0.4)
    quality, context = more.get("quality"), bool(more.get("context"))
    if quality == "night":
        share = np.where((hour < 7) | (hour >= 20), 0.8, 0.25)
    elif quality == "evening":
        share = np.where(hour >= 17, 0.8, 0.2)
    elif quality == "drift":
        share = 0.2 + 0.4 * times / times[-1]
    difficult = rng.random(N) < share
    sizes = np.clip(rng.lognormal(-0.32, 0.8, N), 0.05, 6.0) if more.get("sizes") else np.ones(N)
    known = difficult.astype(float) if context else share
    level = np.where(times >= (days // 2) * 24 + 12, 2.0, 1.0) if more.get("prices") == "double" else np.ones(N)
    tail = float(str(more.get("tail", 0.5)))
    noise = np.minimum(rng.lognormal(-(tail**2) / 2, tail, N), LARGEST)
    mean_noise = float(np.minimum(rng.lognormal(-(tail**2) / 2, tail, 100_000), LARGEST).mean())
    unit = price[-1] * LARGEST * level.max()
    costs = price * (sizes * level)[:, None] / unit
    late = float(str(more.get("late", 0.0)))
    return World(
        times,
        difficult.astype(float) if context else np.zeros(N),
        sizes,
        (rng.random((N, 1)) < np.where(difficult[:, None], hard, easy)).astype(float),
        costs * noise[:, None],
        known[:, None] * hard + (1 - known[:, None]) * easy,
        costs * mean_noise,
        price * LARGEST * level.max() / unit,
        times + (rng.exponential(late, N) if late else 0.0),
        per_day * period / 24 * (price[0] + budget * (price[-1] - price[0])) / unit,
        period,
        per_day * period / 24,
        2 if context else 1,
    )


def best_value(rewards: Matrix, costs: Matrix, amount: float) -> float:
    """Return what the best play earns with this money, if all means are known: the dual value of the linear program."""
    r = np.hstack([rewards, np.zeros((len(rewards), 1))])
    z = np.hstack([costs, np.zeros((len(costs), 1))])
    rows = np.arange(len(r))
    if z[rows, r.argmax(axis=1)].sum() <= amount:
        return float(r.max(axis=1).sum())
    low, high = 0.0, 1.01 * float(rewards.max() / costs[costs > 0].min())
    for _ in range(45):
        middle = (low + high) / 2
        spent = z[rows, (r - middle * z).argmax(axis=1)].sum()
        low, high = (middle, high) if spent > amount else (low, middle)
    return float((r - high * z).max(axis=1).sum() + high * amount)


def hindsight(world: World) -> tuple[Vector, Vector]:
    """Return for each period the best value, and what the best actions would have spent of the amount, at most all."""
    period = np.floor(world.times / world.period).astype(int)
    best, able = np.zeros(period[-1] + 1), np.ones(period[-1] + 1)
    for p in range(period[-1] + 1):
        rewards, costs = world.mean_rewards[period == p], world.mean_costs[period == p]
        if len(rewards):
            best[p] = best_value(rewards, costs, world.amount)
            able[p] = min(costs[np.arange(len(costs)), rewards.argmax(axis=1)].sum() / world.amount, 1.0)
    return best, able


DAYS: dict[str, dict[str, object]] = {
    "ordinary, 1,000 a day": {"per_day": 1000},
    "ordinary, 5,000 a day": {},
    "ordinary, 20,000 a day": {"per_day": 20_000},
    "10 actions": {"K": 10},
    "little money (0.15)": {"budget": 0.15},
    "much money (0.8)": {"budget": 0.8},
    "the same rate at all times": {"cycle": False},
    "noise: days 0.4, hours 0.5": {"day_noise": 0.4, "hour_noise": 0.5},
    "trend of 3 % a day": {"trend": 0.03},
    "traffic doubles": {"event": "double"},
    "launch at 10:00, three times the traffic": {"event": "launch"},
    "holidays, 0.3 times the traffic": {"event": "holidays"},
    "outages from 10:00 to 16:00": {"event": "outage"},
    "bursts, 5 % of a day in 10 minutes": {"event": "bursts"},
    "day becomes night": {"event": "night"},
    "closed at weekends": {"event": "weekend"},
    "hard requests at night, with context": {"quality": "night", "context": True},
    "hard requests at night, without context": {"quality": "night"},
    "hard requests in the evening, with context": {"quality": "evening", "context": True},
    "quality drifts": {"quality": "drift", "context": True},
    "prices double at noon": {"prices": "double"},
    "answers 1 hour late": {"late": 1.0},
    "answers 6 hours late": {"late": 6.0},
    "sizes are known": {"sizes": True, "context": True},
}
MONTHS: dict[str, dict[str, object]] = {
    "stable months": {},
    "months with a launch": {"event": "launch"},
    "months with a trend of 1 % a day": {"trend": 0.01},
    "months with noise": {"day_noise": 0.4, "hour_noise": 0.5},
    "months, hard requests at night, with context": {"quality": "night", "context": True},
}
