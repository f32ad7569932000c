"""A company, two teams and 200 users, each with a budget per day: for `make budgets`. One learner, and `Purses`."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from lewa.budgets.budget import Budget, budget
from lewa.budgets.pace import CEILING, SPENT
from lewa.budgets.purses import Purses
from lewa.engine.session import Session, dice_of
from lewa.feedback import Bandit
from lewa.learners import SquareCbLewa
from lewa.types import Indices, Matrix, Vector
from tools.budget_worlds import LARGEST, arrivals

TREE, TEAMS, COUNTERS = "a price per purse", "company and teams have prices, users a counter", "counters, best action first"
DAYS, PER_DAY, USERS, KINDS, K = 14, 3000.0, 200, 4, 3
MONDAY = 4 * 86_400.0
TERMS = {"teams 60 and 40 %": (0.6, 0.4, 2.0), "teams 75 and 55 %": (0.75, 0.55, 2.0), "tight users": (0.6, 0.4, 1.0)}


class Requests(NamedTuple):
    """Requests by their times, in hours, with one user and one kind each."""

    times: Vector
    teams: Indices
    users: Indices
    kinds: Indices
    rewards: Matrix  # (KINDS, K) means
    costs: Vector  # (K,) means
    draws: Matrix  # (N, 3): of the action, the reward and the cost


def make(seed: int) -> Requests:
    """Draw the requests of two teams in two time zones."""
    rng = np.random.default_rng(seed)
    first, second = arrivals(rng, DAYS, 0.6 * PER_DAY, {}), arrivals(rng, DAYS, 0.4 * PER_DAY, {})
    times = np.concatenate([first, (second + 8) % (DAYS * 24)])
    order = np.argsort(times, kind="stable")
    teams = np.repeat([0, 1], [first.size, second.size])[order]
    half, active = USERS // 2, 1 / np.arange(1, USERS // 2 + 1) ** 0.9
    users = teams * half + rng.choice(half, times.size, p=active / active.sum())
    difficulty = np.clip(0.6 * rng.beta(2, 2, times.size) + np.where(teams == 0, 0.35, 0.05), 0, 0.999)
    x, middle = np.linspace(0, 1, K), (np.arange(KINDS) + 0.5)[:, None] / KINDS
    rewards = (1 - middle) * (0.78 + 0.14 * x**0.6) + middle * (0.25 + 0.55 * x**0.8)
    costs = np.geomspace(0.02, 0.3, K) / (0.3 * LARGEST)
    return Requests(
        times[order], teams, users, (KINDS * difficulty).astype(int), rewards, costs, rng.random((times.size, 3))
    )


def budgets_of(first: float, second: float, users: float) -> tuple[list[Budget], float]:
    """Return the budgets, and the amount of the company; a user has so many times the equal share."""
    amount = PER_DAY * 0.45 * (0.3 - 0.02) / (0.3 * LARGEST)
    user = users * 5 * amount / USERS
    return [
        budget("cost", amount),
        budget("cost", share=first, purse="t0"),
        budget("cost", share=second, purse="t1"),
        budget("cost", user, purse="*/*", never_more_than=max(user, 1.0)),
    ], amount


def play(world: Requests, terms: tuple[float, float, float], mode: str, seed: int) -> tuple[Vector, float, int]:
    """Return the reward of each day, the share of requests refused, and how many periods were over their ceiling."""
    budgets, amount = budgets_of(*terms)
    purses, worst = Purses(budgets), [LARGEST * cost for cost in world.costs]
    learner = SquareCbLewa.tuned(K, world.times.size, 1 - amount / PER_DAY, features=KINDS)
    session = Session(learner, K, dice_of(seed))
    reward, refused, eye, foreseen, over = np.zeros(DAYS), 0, np.eye(KINDS), world.costs.tolist(), 0
    for n, time in enumerate(world.times):
        kind, (draw, luck, noise) = int(world.kinds[n]), world.draws[n]
        look = purses.look(f"t{int(world.teams[n])}/{int(world.users[n])}", MONDAY + 3600 * time)
        over += sum(purse.numbers[CEILING] * (1 + 1e-9) < purse.numbers[SPENT] for purse in look.purses)
        if mode == COUNTERS:
            fit = [look.refusing(f, w) is None for f, w in zip(foreseen, worst, strict=True)]
        else:
            fit = look.fitting(foreseen, worst)
        if not any(fit):
            purses.refuse(look)
            refused += 1
            continue
        price = look.price if mode == TREE else look._replace(purses=look.purses[:2]).price
        session.see(eye[kind])
        session.multiplier[0] = price
        p = session.play_among(np.array(fit, float))
        a = max(k for k in range(K) if fit[k]) if mode == COUNTERS else int(min(np.searchsorted(np.cumsum(p), draw), K - 1))
        charged = session.charge(a)
        session.multiplier[0] = price
        hold = purses.take(look, float(charged[0]), worst[a])
        cost = min(world.costs[a] * 2 * noise, worst[a])
        purses.bill(hold, cost)
        reward[int(time // 24)] += world.rewards[kind, a]
        told = float(luck < world.rewards[kind, a])
        session.learn(Bandit(a, float(p[a]), told, np.array([1 - cost]), np.zeros(0), charged))
    return reward, refused / world.times.size, int(over)


def hindsight(world: Requests, terms: tuple[float, float, float], day: int) -> float:
    """Return the value of the linear program of a day with every budget."""
    budgets, amount = budgets_of(*terms)
    of_day = np.floor(world.times / 24) == day
    groups, counts = np.unique(world.users[of_day] * KINDS + world.kinds[of_day], return_counts=True)
    users, kinds = groups // KINDS, groups % KINDS
    n = groups.size
    row = np.repeat(np.arange(n), K)
    cost = np.tile(world.costs, n)
    seen, user_row = np.unique(users, return_inverse=True)
    team_row = n + 1 + (users >= USERS // 2)
    rows = np.concatenate([row, np.full(n * K, n), np.repeat(team_row, K), np.repeat(n + 3 + user_row, K)])
    columns = np.tile(np.arange(n * K), 4)
    values = np.concatenate([np.ones(n * K), cost, cost, cost])
    limits = [*counts, amount, terms[0] * amount, terms[1] * amount, *[budgets[3].amount] * seen.size]
    matrix = coo_matrix((values, (rows, columns))).tocsr()
    found_best = linprog(-world.rewards[kinds].ravel(), A_ub=matrix, b_ub=limits, bounds=(0, None), method="highs")
    return float(-found_best.fun)


def rows(seeds: range) -> list[str]:
    """Return the rows of the table: reward over the best in hindsight and requests refused, for each way."""
    text = []
    for name, terms in TERMS.items():
        line = [name]
        for mode in (TREE, TEAMS, COUNTERS):
            shares, refusals, over = [], [], 0
            for seed in seeds:
                world = make(seed)
                reward, refused, beyond = play(world, terms, mode, seed)
                best = np.array([hindsight(world, terms, day) for day in range(1, DAYS)])
                shares.append(100 * reward[1:].sum() / best.sum())
                refusals.append(100 * refused)
                over += beyond
            line.append(f"{np.mean(shares):.1f} ({np.mean(refusals):.2f} %)" + (f", over {over}" if over else ""))
        print(*line, flush=True)
        text.append(f"| {' | '.join(line)} |")
    return text
