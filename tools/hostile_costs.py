"""Hostile costs and a hostile inner learner against the learned governor: they know its state and its plays, not the draws.

`attack` plays one run. Some mixture keeps every limit in every round, with the slack rho; everything else is meant to make
debts as large as the theorem allows. `tools.governor` and tests/theorems/test_governor.py count what breaks a bound.
"""

from typing import NamedTuple

import numpy as np

from lewa.feedback import Bandit, Full
from lewa.kernels import keys, pick, program, rule, uniform
from lewa.kernels.guard import MODE, PRACTICAL, ROUNDS, STRETCHES, WALL, Guard, guarded_play, new_guard, settle_round
from lewa.theory.learned import Problem, excess, wall_level
from lewa.types import Matrix, Vector, Words

KINDS = {
    "likeliest": "the likeliest actions cost 1, as many as the limit allows",
    "leaders": "the actions with the smallest losses cost 1, and all of them outside the proved learner",
    "burst": "all but one cost 1 at the beginning of a stretch, then they are coins at the limit",
    "lure": "all but one are free while they are unlikely, and cost 1 when they are played",
    "contradiction": "three limits, and only a mixture of three actions keeps them",
    "halves": "the likelier half costs 1",
    "coins": "coins at the limit, and one action with slack",
    "gap": "coins above the limit by as much as cannot be learned, and one action with slack",
}


@rule
def write_costs(kind: int, g: Guard, q: Vector, safe: int, slack: float, limits: Vector, u: Vector, z: Matrix) -> None:
    """The costs of a round"""
    m, K = z.shape
    wall, n = g.numbers[MODE] == WALL, g.numbers[ROUNDS]
    heavy = 0.0
    for a in range(K // 2):
        heavy += q[a]
    for j in range(m):
        b, top = limits[j], 0
        for a in range(m):
            if g.rise[a] > g.rise[top]:
                top = a
        for a in range(K):
            cost = 0.0
            if kind <= 1:  # as many as b K
                before = 0
                for i in range(K):
                    if kind == 0:
                        before += 1 if q[i] > q[a] or (q[i] == q[a] and i < a) else 0
                    else:
                        before += 1 if g.losses[i] < g.losses[a] or (g.losses[i] == g.losses[a] and i < a) else 0
                cost = 1 - slack / b if before < b * K - 0.5 else 0.0
                if kind == 1 and not wall:
                    cost = 1.0
            elif kind == 2:
                cost = 1.0 if n < 200 or not wall or u[a] < b else 0.0
            elif kind == 3:
                cost = 1.0 if q[a] > 1 / K or not wall else 0.0
            elif kind == 4:
                cost = 1 - 3 * slack if a == j else 1.0 if a >= m and j == top else 0.0
            elif kind == 5:
                cost = 1 - slack / b if (a < K // 2) == (heavy > 0.5) else 0.0
            elif kind == 6:
                cost = 1.0 if u[a] < b else 0.0
            else:
                cost = 1.0 if u[a] < b - slack + 1.5 * (K / (n + K)) ** 0.5 else 0.0
            if a == safe and kind in (2, 3, 6, 7):
                cost = b - slack
            z[j, a] = cost


@program
def attack(
    kind: int,
    slack: float,
    limits: Vector,
    bound: Vector,
    g: Guard,
    full: bool,
    key: Words,
    desk: Matrix,
    z: Matrix,
    c: Vector,
    out: Matrix,
) -> None:
    """Play a run; write after each decision the stretch of the proved learner, its length so far, and the debts."""
    K, m = g.prior.size, limits.size
    q, u, ones, floor, safe, stretch = desk[0, :K], desk[1, :K], desk[2, :K], desk[3, :m], 0, 0.0
    for j in range(m):
        floor[j] = 1 - limits[j]
    for t in range(out.shape[0]):
        for a in range(K):
            u[a] = uniform(key[0], t * (K + 2) + a)
        mode = g.numbers[MODE]
        if g.numbers[STRETCHES] != stretch:
            stretch, safe = g.numbers[STRETCHES], int(u[0] * K)
            for a in range(K):
                g.prior[a] = 0.5 / K
            g.prior[(safe + 1) % K] += 0.5  # as wrong as it can be
        if mode != PRACTICAL:
            guarded_play(g, floor, q)
        else:
            for a in range(K):
                q[a] = 0.0
        write_costs(kind, g, q, safe, slack, limits, u, z)
        if mode == PRACTICAL:  # the dearest action of this very round
            worst = 0
            for a in range(K):
                if z[0, a] > z[0, worst]:
                    worst = a
            q[worst] = 1.0
        n, before = g.numbers[ROUNDS], g.numbers[STRETCHES]
        if full:
            for j in range(m):
                for a in range(K):
                    z[j, a] = 1 - z[j, a]
            settle_round(g, floor, bound, Full(ones, z, c, q, c))
        else:
            i = pick(q, uniform(key[0], t * (K + 2) + K))
            for j in range(m):
                c[j] = 1 - z[j, i]
            settle_round(g, floor, bound, Bandit(i, q[i], 1.0, c, ones, c))
        out[t, 0], out[t, 1] = before if mode == WALL else 0.0, n + 1 if mode == WALL else 0.0
        for j in range(m):
            out[t, 2 + j] = g.debt[j]


class Case(NamedTuple):
    """One setting of an attack."""

    kind: str
    actions: int
    constraints: int
    slack: float
    debt: float  # W
    full: bool

    @property
    def limits(self) -> Vector:
        """The limits on costs for which some mixture has the slack."""
        K, m = self.actions, self.constraints
        if self.kind in ("likeliest", "leaders"):
            return np.full(m, max(1, K // 3) / K)
        if self.kind == "contradiction":
            return np.full(3, 1 / 3)
        return np.full(m, 0.5) if self.kind == "halves" else np.array([0.5, 0.3, 0.7])[:m]


class Outcome(NamedTuple):
    """What an attack reached."""

    share: float  # the largest (rise + rho n)/R(n) in a stretch of the proved learner
    beyond: float  # the largest D - W(t) after a decision that was not the proved learner's
    stretches: int


def play_case(case: Case, rounds: int, seed: int, epsilon: float = 0.05) -> Outcome:
    """Play one attack, and compare it with the theorem."""
    K, limits, full = case.actions, case.limits, case.full
    m = limits.size
    g = new_guard(limits, K, full)
    bound, out = np.full(m, case.debt), np.zeros((rounds, 2 + m))
    desk, key = np.zeros((4, max(K, m))), keys(seed)[:1]
    attack(list(KINDS).index(case.kind), case.slack, limits, bound, g, full, key, desk, np.zeros((m, K)), np.zeros(m), out)
    stretch, n, debts = out[:, 0], out[:, 1].astype(int), out[:, 2:]
    wall, t = n > 0, np.arange(1, rounds + 1)
    level = np.array([wall_level(case.debt, K, float(x), full) for x in t])
    beyond = float((debts.max(axis=1) - level)[~wall].max(initial=-np.inf))
    if not wall.any():
        return Outcome(-1.0, beyond, 0)
    before = np.vstack([np.zeros(m), debts])[t[wall] - n[wall]]  # when the stretch began
    rise = (debts[wall] - before).max(axis=1)
    problem = Problem(K, m, 1 + float(limits.max() - limits.min()), full)
    sizes = np.unique(n[wall])
    rises = np.array([excess(problem, float(size), 0.0, epsilon, in_the_mean=False) for size in sizes])
    share = ((rise + case.slack * n[wall]) / rises[np.searchsorted(sizes, n[wall])]).max()
    return Outcome(float(share), beyond, int(stretch.max()))


def cases(full: bool) -> list[Case]:
    """Return the settings of all attacks."""
    found = []
    for K in (2, 3, 8, 50):
        for kind in KINDS:
            if kind == "contradiction" and K < 3:
                continue
            for m in (3,) if kind == "contradiction" else (1, 3):
                for slack in (0.0, 0.03, 0.15):
                    if kind == "contradiction" and slack > 0.1:
                        continue
                    found += [Case(kind, K, m, slack, debt, full) for debt in (4.0, 40.0)]
    return found
