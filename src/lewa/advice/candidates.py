"""The learners that may be recommended, with the settings that give the smallest bound.

A setting with a few useful values is tried at each of them. Two settings have a continuum: b trades regret for violation,
and `explore` trades rounds of exploration for accuracy. The larger of a decreasing and an increasing bound has one minimum:
a grid finds its neighbourhood, and golden-section search the minimum.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from math import exp, log, sqrt
from typing import NamedTuple

from lewa import learners
from lewa.advice.weighing import Choice, Question, rank, timeless, weigh
from lewa.theory import projected

# Tried beside the recommended tuning: without their bonus the optimistic learners have a theorem where constraints are the
# same every round, or where some play is known to exceed the floors.
ALSO = {"kappa": (0.0, -1.0), "optimism": (0.0,)}
EXPONENTS = [0.5 + n / 40 for n in range(20)]  # b in [1/2, 1)
FEW_EXPONENTS = [2 / 3, 0.75]  # of a learner inside another: each takes long to evaluate
TIMES = [2.0**n for n in range(-3, 7)]  # times T^(2/3) rounds of exploration
STEPS = 10  # of the golden section, which leave 1 % of the neighbourhood
GOLDEN = (sqrt(5) - 1) / 2


def names(question: Question) -> Iterator[str]:
    """Yield the learners that may be recommended for this feedback, alone and, if useful, inside a wrapper."""
    for name in learners.chosen_for("bounds", question.feedback):
        if question.safe is None and "safe" in learners.settings_of(name):
            continue
        if question.horizon is not None or timeless(name, {}, question):  # no further setting makes it so
            yield name
        else:
            yield f"{name}+doubling"
        if question.setting.slater is not None:
            yield f"{name}+tightened"


def tunings(name: str, question: Question) -> Iterator[Choice]:
    """Yield the learner with its default tuning, tuned for the given epsilon, and with other useful settings."""
    known = learners.settings_of(name)
    also = [{}, *({setting: value} for setting, values in ALSO.items() if setting in known for value in values)]
    if {"kappa", "share"} <= set(known) and question.horizon is not None:
        also += [{"share": min(1 / question.rounds, 0.5)}, {"kappa": 0.0, "share": 0.0}]
    for sure, other in product(_fixed(known, question), also):
        yield weigh(name, {**sure, **other}, question)
    for sure in _fixed(known, question):
        if "b" in known:
            at = partial(_with_exponent, name, sure, question)
            yield from map(at, FEW_EXPONENTS) if "+" in name else [least(at, EXPONENTS, question)]
        if "explore" in known and question.horizon is not None and "+" not in name:
            logarithms = [log(times * question.rounds ** (2 / 3)) for times in TIMES]
            for covers in (False, True)[: 1 + bool(question.setting.corruption and "radius" in known)]:
                yield least(partial(_with_exploration, name, sure, covers, question), logarithms, question)


def closer(choice: Choice, question: Question) -> Choice:
    """Return the choice with the best b near its own, for a learner inside a wrapper, for which few b were tried."""
    b, rest = choice.settings["b"], {name: value for name, value in choice.settings.items() if name != "b"}
    return least(partial(_with_exponent, choice.name, rest, question), [b - 0.07, b, b + 0.07], question)


def least(at: Callable[[float], Choice], grid: list[float], question: Question) -> Choice:
    """Return the best choice on the grid and between the neighbours of its best point."""
    points = [_point(at, x, question) for x in grid]
    best = points.index(min(points))
    if points[best].choice.share is None:
        return points[best].choice
    low, high = points[max(best - 1, 0)].x, points[min(best + 1, len(points) - 1)].x
    tried = [points[best]]
    values = [_point(at, low + share * (high - low), question) for share in (1 - GOLDEN, GOLDEN)]
    for _ in range(STEPS):
        tried += values
        if values[0] < values[1]:
            high, x = values[1].x, low + (1 - GOLDEN) * (values[1].x - low)
            values = [_point(at, x, question), values[0]]
        else:
            low, x = values[0].x, values[0].x + GOLDEN * (high - values[0].x)
            values = [values[1], _point(at, x, question)]
    return min([*tried, *values]).choice


class Point(NamedTuple):
    """A point of a search; better points come first."""

    order: tuple[float, ...]
    x: float
    choice: Choice


def _point(at: Callable[[float], Choice], x: float, question: Question) -> Point:
    choice = at(x)
    return Point((2.0,) if choice.share is None else rank(question, choice), x, choice)


def _fixed(known: list[str], question: Question) -> list[dict[str, float]]:
    """Return the settings that every tuning gets: the default ones, and those for the requested epsilon."""
    fixed = {"safe": float(question.safe or 0), "margin": question.setting.slater or 0.0} if "safe" in known else {}
    if "corruption" in known and question.setting.corruption:
        fixed["corruption"] = question.setting.corruption
    return [fixed, {**fixed, "epsilon": question.epsilon}] if "epsilon" in known else [fixed]


def _with_exponent(name: str, others: dict[str, float], question: Question, b: float) -> Choice:
    return weigh(name, {**others, "b": float(f"{b:.4g}")}, question)


def _with_exploration(name: str, others: dict[str, float], covers: bool, question: Question, logarithm: float) -> Choice:
    """Weigh this many rounds of exploration, optionally with a radius that also covers the corruption."""
    explore = max(min(float(f"{exp(logarithm):.4g}") // 1, float(question.rounds)), 1.0)
    radius = {"radius": covering_radius(question, explore)} if covers else {}
    return weigh(name, {**others, "explore": explore, **radius}, question)


def covering_radius(question: Question, explore: float) -> float:
    """Return the radius of explore-then-project that covers noise and corruption after this many rounds."""
    noise = projected.explore_radius(question.actions, question.floor.size, question.epsilon)
    return noise + (question.setting.corruption or 0.0) / sqrt(explore)
