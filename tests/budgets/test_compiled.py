"""The rules compile, and do to a row of float64 what they do to a row of `array`."""

from array import array

import numpy as np
import pytest

from lewa.budgets import pace, traffic
from lewa.kernels.jit import compile_program
from lewa.types import Vector

pytestmark = pytest.mark.compiled


def day(q: Vector, t: Vector, hours: Vector, costs: Vector) -> float:
    """Run a purse through some requests; return the forecast at the end."""
    rest = 0.0
    for n in range(hours.size):
        rest = traffic.rest_of(t, hours[n], hours[hours.size - 1] + 5.0)  # type: ignore[arg-type]
        traffic.see(t, hours[n], 1.0)  # type: ignore[arg-type]
        if pace.fits(q, costs[n], 1.0, 0.01 * rest, 0.0):  # type: ignore[arg-type]
            pace.book(q, costs[n], 1.0, 1.0)  # type: ignore[arg-type]
            pace.move_price(q, costs[n], 1.0, rest, 1.0)  # type: ignore[arg-type]
            pace.settle(q, costs[n], costs[n], 1.0, n % 3 > 0)  # type: ignore[arg-type]
    return rest


def test_compiled_rules_do_what_plain_ones_do() -> None:
    dice = np.random.default_rng(0)
    hours, costs = np.sort(dice.uniform(0, 400, 3000)), dice.uniform(0, 1, 3000)
    q, t = np.zeros(pace.SIZE), np.array(traffic.new_traffic())
    q[pace.BUDGET], q[pace.CEILING], q[pace.FLOOR], q[pace.ODDS], q[pace.LARGEST] = 900, 1100, 400, 9, 1
    plain_q, plain_t = array("d", q), array("d", t)
    rest = compile_program(day, keep=False)(q, t, hours, costs)
    assert rest == pytest.approx(day(plain_q, plain_t, hours, costs))  # type: ignore[arg-type]
    assert q == pytest.approx(np.array(plain_q), rel=1e-9)
    assert t == pytest.approx(np.array(plain_t), rel=1e-9)
    assert q[pace.PRICE] > 0
