"""Compute the best fixed play under the floors, in hindsight: its value, and the price of the floors."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lewa.types import Matrix, Vector
from lewa.validation import as_floor, in_unit

TIGHT = 1e-7  # a floor missed by no more than this is met: a linear program is solved to about that
ROUNDING = 1e-12  # what a play in doubles may miss a floor by that it meets
EASED = 1e-6  # by how much a floor is eased to see what that yields


class Hindsight(NamedTuple):
    """The best fixed play. If no play meets the floors, it is the play with the smallest largest shortfall."""

    play: Vector  # (K,)  the probability of each action
    value: float  # its reward per round
    price: Vector  # (m,)  the reward per round gained by easing each floor, per unit
    feasible: bool  # whether some play meets the floors
    reachable: Vector  # (m,)  the floors, or the nearest floors that some play meets


def best_fixed_play(rewards: ArrayLike, constraints: ArrayLike, floor: ArrayLike) -> Hindsight:
    """Return the maximum of p.r over plays p with p.c >= floor, for mean rewards (K,) and mean constraints (m, K).

    The solution is in closed form for one constraint, and by linear programming (HiGHS) for more.

    >>> import numpy as np
    >>> best = best_fixed_play(np.array([0.9, 0.5]), np.array([[0.2, 0.8]]), np.array([0.5]))
    >>> best.play.round(3).tolist(), round(best.value, 3), best.price.round(3).tolist()
    ([0.5, 0.5], 0.7, [0.667])
    """
    r, c, c0 = _checked(rewards, constraints, floor)
    best = _without_prices(r, c, c0)
    if c0.size == 1:
        return best
    above = (best.play > TIGHT).sum() + (c @ best.play - c0 > TIGHT).sum()
    if not best.feasible or above > c0.size:
        return best
    # At a kink, with fewer shares and slacks above 0 than m + 1, prices are many: each is read where its floor is eased.
    price = [by_linear_program(r, c, c0 - EASED * unit).price[j] for j, unit in enumerate(np.eye(c0.size))]
    return best._replace(price=np.array(price))


def best_value(rewards: ArrayLike, constraints: ArrayLike, floor: ArrayLike) -> float:
    """Return the value of the best fixed play; it takes less time than to compute prices too."""
    r, c, c0 = _checked(rewards, constraints, floor)
    top = int(r.argmax())
    return float(r[top]) if (c[:, top] >= c0).all() else _without_prices(r, c, c0).value


def nearest_floors(constraints: Matrix, floor: Vector) -> Vector | None:
    """Return the nearest floors that some play meets, for mean constraints (m, K), or None if some play meets these."""
    if (constraints >= floor[:, np.newaxis]).all(axis=0).any():  # one action is a play
        return None
    best = _without_prices(*_checked(np.zeros(constraints.shape[1]), constraints, floor))
    return None if best.feasible else best.reachable


def _checked(rewards: ArrayLike, constraints: ArrayLike, floor: ArrayLike) -> tuple[Vector, Matrix, Vector]:
    r, c, c0 = in_unit("rewards", rewards), np.atleast_2d(in_unit("constraints", constraints)), as_floor(floor)
    if r.ndim != 1 or c.shape != (c0.size, r.size):
        raise ValueError(f"constraints must have the shape ({c0.size}, {r.size}) to match floor and rewards, got {c.shape}")
    return r, c, c0


def _without_prices(r: Vector, c: Matrix, c0: Vector) -> Hindsight:
    """Solve once: at a kink the prices of a linear program are some of many."""
    return one_constraint(r, c[0], float(c0[0])) if c0.size == 1 else by_linear_program(r, c, c0)


def one_constraint(r: Vector, c: Vector, c0: float) -> Hindsight:
    """Read the upper hull of the points (c_i, r_i) at c0: a mixture of at most two actions."""
    order, rs, cs = np.lexsort((-r, c)).tolist(), r.tolist(), c.tolist()  # Python is faster with its own numbers
    most = max(cs)  # `order` is from the smallest constraint on; of equals the best reward is first
    if most < c0 - TIGHT:
        best = next(i for i in order if cs[i] == most)
        return Hindsight(_pure(best, r.size), rs[best], np.zeros(1), False, np.array([most]))
    c0 = min(c0, most)
    hull: list[int] = []
    for i in order:
        if hull and cs[i] == cs[hull[-1]]:
            continue
        while hull and _below(hull, i, cs, rs):
            hull.pop()
        hull.append(i)
    top = max(range(len(hull)), key=lambda n: (rs[hull[n]], cs[hull[n]]))  # left of the top the floor does not bind
    if c0 <= cs[hull[top]]:
        best = hull[top]
        # On the floor's very edge easing it yields nothing: the top is the best there is.
        return Hindsight(_pure(best, r.size), rs[best], np.zeros(1), True, np.array([c0]))
    n = next(n for n in range(top, len(hull)) if cs[hull[n]] >= c0)
    left, right = hull[n - 1], hull[n]
    share = (c0 - cs[left]) / (cs[right] - cs[left])
    play = (1 - share) * _pure(left, r.size) + share * _pure(right, r.size)
    price = (rs[left] - rs[right]) / (cs[right] - cs[left])
    return Hindsight(play, float(play @ r), np.array([price]), True, np.array([c0]))


def _below(hull: list[int], i: int, c: list[float], r: list[float]) -> bool:
    """Return whether the hull's last point lies on or below the line from its predecessor to point i."""
    if len(hull) == 1:
        return False
    a, b = hull[-2], hull[-1]
    return (r[b] - r[a]) * (c[i] - c[a]) <= (r[i] - r[a]) * (c[b] - c[a])


def _pure(i: int, actions: int) -> Vector:
    p = np.zeros(actions)
    p[i] = 1.0
    return p


def by_linear_program(r: Vector, c: Matrix, c0: Vector) -> Hindsight:
    """Solve for any number of constraints; if infeasible, minimise the largest shortfall first, then maximise reward."""
    from scipy.optimize import linprog  # imported here: it takes longer than everything else together

    K = r.size
    simplex = {"A_eq": np.ones((1, K)), "b_eq": [1.0], "method": "highs"}
    solution = linprog(-r, A_ub=-c, b_ub=-c0, bounds=(0, 1), **simplex)
    if solution.status == 0:
        play = np.clip(solution.x, 0, None)
        price = np.maximum(-solution.ineqlin.marginals, 0.0)
        return Hindsight(play / play.sum(), float(-solution.fun), price, True, c0.copy())
    if solution.status != 2:
        raise RuntimeError(f"the linear program was not solved: {solution.message}")
    nearest, excess = _deepest(c, c0)
    best = linprog(-r, A_ub=-c, b_ub=-(c0 + excess - TIGHT), bounds=(0, 1), **simplex)
    play = np.clip(best.x, 0, None) if best.status == 0 else nearest
    play = play / play.sum()
    return Hindsight(play, float(play @ r), np.zeros(c0.size), False, np.minimum(c0, c @ play))


def certain_play(play: Vector, constraints: Matrix, floor: Vector) -> Vector | None:
    """Return a play near this one that meets p.c >= floor exactly, for constraints (n, K) and floors (n,), or None.

    A linear program may miss floors by TIGHT. Its answer is checked in rational numbers. If it misses a floor, it is mixed
    with the play that exceeds all floors by the most, with the smallest sufficient weight.
    """
    if meets_exactly(play, constraints, floor):
        return play
    inner, _ = _deepest(constraints, floor)
    slack, missed = float((constraints @ inner - floor).min()), float((floor - constraints @ play).max())
    missed = max(missed, 0.0) + ROUNDING
    if slack <= 2 * missed:
        return None
    share = missed / slack
    mixture: Vector = (1 - share) * play + share * inner
    return mixture if meets_exactly(mixture, constraints, floor) else None


def meets_exactly(play: Vector, constraints: Matrix, floor: Vector) -> bool:
    """Return whether p.c >= floor in rational numbers, where p is the play divided by its sum."""
    used = np.flatnonzero(play)
    weights = [Fraction(x) for x in play[used].tolist()]
    total = sum(weights)
    near = np.flatnonzero(constraints @ (play / play.sum()) < floor + TIGHT)  # the others are met beyond any rounding
    return all(
        sum(w * Fraction(c) for w, c in zip(weights, constraints[j, used].tolist(), strict=True)) >= total * Fraction(c0)
        for j, c0 in zip(near.tolist(), floor[near].tolist(), strict=True)
    )


def _deepest(c: Matrix, c0: Vector) -> tuple[Vector, float]:
    """Return the play whose smallest excess over the floors is largest, and that excess, which may be negative."""
    from scipy.optimize import linprog  # imported here: it takes longer than everything else together

    K = c.shape[1]
    best = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-c, np.ones((c0.size, 1))]),
        b_ub=-c0,
        A_eq=np.append(np.ones(K), 0.0).reshape(1, -1),
        b_eq=[1.0],
        bounds=[(0, 1)] * K + [(None, None)],
        method="highs",
    )
    play = np.clip(best.x[:K], 0, None)
    return play / play.sum(), float(-best.fun)


def best_play_every_round(rewards: ArrayLike, constraints: ArrayLike, floor: ArrayLike) -> Hindsight:
    """Return the best fixed play that meets the floors in every round; constraints have the shape (T, m, K)."""
    r, values, c0 = in_unit("rewards", rewards), in_unit("constraints", constraints), as_floor(floor)
    if r.ndim != 1 or values.ndim != 3 or values.shape[1:] != (c0.size, r.size):
        raise ValueError(
            f"constraints must have the shape (T, {c0.size}, {r.size}) to match floor and rewards, got {values.shape}"
        )
    rows = np.unique(values, axis=0)
    every = by_linear_program(r, rows.reshape(-1, rows.shape[2]), np.tile(c0, len(rows)))
    price = every.price.reshape(len(rows), -1).sum(axis=0)
    reachable = every.reachable.reshape(len(rows), -1).min(axis=0)
    return Hindsight(every.play, every.value, price, every.feasible, reachable)


def slater_gap(constraints: Matrix, floor: Vector) -> float:
    """Return the maximum over plays p of the minimum over j of p.c_j - c0_j: the most by which a play exceeds every floor.

    The solution is in closed form for one constraint, and by linear programming for more.
    """
    if len(constraints) == 1:
        return float(constraints.max() - floor[0])
    # The program is solved to about 1e-9.
    return min(_deepest(constraints, floor)[1], float((constraints.max(axis=1) - floor).min()))
