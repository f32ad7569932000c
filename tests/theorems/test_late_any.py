"""Bandit feedback with late answers: the terms of the bounds that delay brings in, one by one (Th7).

docs/theory_delay.md, 6.
"""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from tests.theorems.instances import few
from tests.theorems.test_late import Late, Path, play_late, worlds

from lewa.learners import LateAnytimeLossLewa
from lewa.theory import delayed
from lewa.theory.setting import Delays
from lewa.types import Vector

pytestmark = pytest.mark.falsify


def prices_and_partners(x: Late, path: Path) -> tuple[Vector, Vector]:
    """Return b and g, of each decision."""
    g = np.array([len(path.seen[t]) + sum(t in later for later in path.seen) for t in range(x.rounds)])
    return 1 + path.prices.sum(axis=1), g


@few
@given(worlds())
def test_the_step_follows_every_pair_of_decisions_that_are_open_together(x: Late) -> None:
    path = play_late(x)
    b, g = prices_and_partners(x, path)
    assert path.spent[-1] == pytest.approx(float(((x.actions + g) * b * b).sum()))


def test_without_answers_regret_is_what_only_the_delay_in_the_bound_covers() -> None:
    """No answer comes before the end, so every play is even, and the regret is T/2 where one of two actions pays."""
    T = 40
    all_open = Delays(T * (T - 1) // 2, T - 1, T - 1, T)
    learner = LateAnytimeLossLewa(1e6, np.array([0.0]))
    form = delayed.bandit_form(2)
    late, none = (delayed.price_of_the_draw(learner, 2, T, delays, form).B for delays in (all_open, Delays()))
    assert none < T / 2 <= late
    assert late == pytest.approx(form.c * sqrt(2 * T + form.pairs * T * (T - 1)), rel=1e-3)


def test_the_squares_of_high_prices_are_covered_only_with_the_partners_in_the_bound() -> None:
    """Every floor is missed in every round, so prices rise; answers are ten decisions late."""
    T, d, delta = 400, 10, 1.0
    x = Late(2, (1.0,), delta, tuple([-1] * d + [0] * (T - d)), 0, "likely", "nothing")
    path = play_late(x)
    b, g = prices_and_partners(x, path)
    place = {t: s for s, t in enumerate(path.learned, 1)}
    shrunk = sum((sqrt(s) - sqrt(s - 1)) / 2 * (path.queues[s - 1] ** 2).sum() / s for s in place.values())
    dual = sum((0.5 + path.between[t]) / sqrt(s) for t, s in place.items())
    paid = 2 * sqrt(log(2) * float(((2 + g) * b * b).sum())) + dual - shrunk
    late = Delays(sum(map(len, path.seen)), int(g.max()), max(path.between), d + 1)
    learner, form = LateAnytimeLossLewa(delta, np.array([1.0])), delayed.bandit_form(2)
    fewer = delayed.price_of_the_draw(learner, 2, T, late._replace(partners=0), form).B
    assert fewer < paid <= delayed.price_of_the_draw(learner, 2, T, late, form).B
