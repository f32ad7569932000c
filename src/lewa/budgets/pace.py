"""The numbers of a purse, and the rules on them: what fits, the plan, and the price.

A purse is one row of numbers. An agent has rows of `array`, a compiled simulation has rows of a matrix, and both run these
rules. Costs are in the user's units, and a price is in reward per unit of cost, so that the range of a cost has no effect.
A limit on an average is a purse too: only its `plan` and the time in which it pays back debt are others.
docs/theory_budgets.md has the theorems, and their names.
"""

from math import sqrt

from lewa.budgets.traffic import Numbers
from lewa.kernels import limit_now, rule
from lewa.kernels.algebra import positive

# fmt: off
(
    BUDGET,       # B: what the period may cost; of a limit on an average, what a unit of weight may cost
    AVERAGE,      # 1 for a limit on an average, else 0
    CEILING,      # H: what the decisions of the period never cost together
    SPENT,        # S: the bills of the period's decisions
    CHARGED,      # C: the forecast costs of the period's open decisions
    RESERVED,     # R: the largest costs of the period's open decisions
    OPEN,         # how many of the period's decisions are open
    SEEN,         # n: the weight of the period's requests, 1 each unless sizes are known
    REQUESTS,     # how many they are
    PRICE,        # lambda: reward that a unit of cost must be worth
    SQUARES,      # squares of how far forecast costs are from the plan, summed and discounted
    COUNT,        # how many they are
    PRICES,       # prices of the period, times weights: their mean starts the next period
    FLOOR,        # what the period should cost at least
    SUBSIDY,      # mu: what is taken off the price while less is spent
    ODDS,         # ln(40/eps) if the ceiling is kept with probability 1 - eps, else 0
    LARGEST,      # W: the largest reserve that the test of the odds may count as uncertain
    FORESEEN,     # F: the forecast costs of all decisions of the period
    VARIANCE,     # V: forecast cost times reserve, of all decisions of the period
    MINIMUM,      # what no other purse can take
    SPARED,       # what the minimums of the purses below keep back beyond what they use
    USUAL,        # weights of earlier periods, summed and discounted
    PERIODS,      # how many they are
) = range(23)
# fmt: on
SIZE = PERIODS + 1
OF_A_PERIOD = SPENT, CHARGED, RESERVED, OPEN, SEEN, REQUESTS, PRICES, FORESEEN, VARIANCE

MEMORY = 5000.0  # decisions over which the unit of the price is averaged
WIDTH = 16.0  # the unit's square over the mean square
LEAST_UNIT = 1e-9  # of the unit, over the limit
REPAY, REPAY_LEAST = 1000.0, 30.0  # decisions: of a limit on an average; of a budget near the end of a period
STEP, STEP_LEAST, STEP_MOST = 0.35, 0.001, 0.1  # over the square root of the requests of a period
STEP_OF_AVERAGE = 0.005
POWERS = 40  # of two, for which the test of the odds is valid at once
NEVER = 1e300  # a ceiling where there is none: JSON has no infinity
ROUNDING = 1e-12  # relative: what adding up may lose
AGED = 0.85  # of what earlier periods weigh


@rule
def plan(q: Numbers, rest: float) -> float:
    """Return what a unit of weight may cost, if a weight of `rest` is still to come; no plan passes the ceiling."""
    if q[AVERAGE] > 0:
        return q[BUDGET]
    return min(q[BUDGET], q[CEILING]) / max(q[SEEN] + rest, 1e-300)


@rule
def debt(q: Numbers, rest: float) -> float:
    """Return what was spent beyond the plan, open decisions at their forecasts."""
    return q[SPENT] + q[CHARGED] - plan(q, rest) * q[SEEN]


@rule
def room(q: Numbers) -> float:
    """Return the largest reserve that fits, as `fits_surely` has it."""
    return q[CEILING] * (1 + ROUNDING) - q[SPENT] - q[RESERVED]


@rule
def fits_surely(q: Numbers, reserve: float, kept_back: float, spared: float) -> bool:
    """Return whether the ceiling holds on every path, whatever the open decisions cost (C1)."""
    return q[SPENT] + q[RESERVED] + reserve + kept_back + spared <= q[CEILING] * (1 + ROUNDING)


@rule
def fits(q: Numbers, foreseen: float, reserve: float, kept_back: float, spared: float) -> bool:
    """Return whether a decision fits under the ceiling: surely (C1), or with the odds of the purse (C3')."""
    if fits_surely(q, reserve, kept_back, spared):
        return True
    if q[ODDS] == 0 or spared > 0:
        return False
    uncertain = reserve <= q[LARGEST]
    mean = q[FORESEEN] + (foreseen if uncertain else reserve)
    variance = q[VARIANCE] + (foreseen * reserve if uncertain else 0.0)
    level, j = q[LARGEST] * q[LARGEST], 1
    while level < variance and j < POWERS:
        level, j = 2 * level, j + 1
    return level >= variance and mean + sqrt(2 * level * q[ODDS]) + q[LARGEST] * q[ODDS] / 3 + kept_back <= q[CEILING]


@rule
def book(q: Numbers, foreseen: float, reserve: float, weight: float) -> None:
    """Count a decision: its weight, its forecast and its reserve."""
    q[CHARGED] += foreseen
    q[RESERVED] += reserve
    q[OPEN] += 1
    q[SEEN] += weight
    q[REQUESTS] += 1
    if reserve <= q[LARGEST]:
        q[FORESEEN] += foreseen
        q[VARIANCE] += foreseen * reserve
    else:
        q[FORESEEN] += reserve


@rule
def settle(q: Numbers, cost: float, charged: float, reserved: float, final: bool) -> None:
    """Count a bill, and take off what it frees of the forecast and the reserve."""
    q[SPENT] += cost
    q[CHARGED] -= charged
    q[RESERVED] -= reserved
    if final:
        q[OPEN] -= 1
        if q[OPEN] == 0:  # what rounding left
            q[CHARGED] = 0.0
            q[RESERVED] = 0.0


@rule
def unit_of(q: Numbers, limit: float) -> float:
    """Return u: 4 times the root mean square of how far forecasts are from the plan, at most the limit of a request."""
    if q[COUNT] == 0:
        return limit
    return max(min(sqrt(WIDTH * q[SQUARES] / q[COUNT]), limit), LEAST_UNIT * limit)


@rule
def move_price(q: Numbers, foreseen: float, weight: float, rest: float, path_price: float) -> None:
    """Move the price by the forecast cost of a decision that is booked already.

    lambda <- [lambda + (step/u^2)(f - (b - k/w) w_t)]+, where b is the plan, w the mean weight of a request and k pays the
    debt back over the requests to come. `path_price` bounds the subsidy of a floor.
    """
    mean = q[SEEN] / q[REQUESTS]
    b = plan(q, rest)
    limit, expected = b * mean, (q[SEEN] + rest) / mean
    if limit <= 0:  # earlier periods have spent it
        return
    if q[AVERAGE] > 0:
        step, repay = STEP_OF_AVERAGE, REPAY
    else:
        step = min(max(STEP / sqrt(expected), STEP_LEAST), STEP_MOST)
        repay = max(rest / mean, min(REPAY_LEAST, 0.3 * expected + 1))
    off, before = foreseen - b * weight, unit_of(q, limit)
    if off != 0:
        q[SQUARES] += off * off - q[SQUARES] / MEMORY
        q[COUNT] += 1 - q[COUNT] / MEMORY
    unit = unit_of(q, limit)
    q[PRICE] *= (before / unit) ** 2  # what is measured of the unit changes no lambda u^2
    allowed = b * weight + (limit_now(limit, unit, debt(q, rest), repay) - limit) * weight / mean
    q[PRICE] = positive(q[PRICE] + step / (unit * unit) * (foreseen - allowed))
    q[PRICES] += q[PRICE] * weight
    if q[FLOOR] > 0:
        wanted = (q[FLOOR] - q[SPENT] - q[CHARGED]) / (rest + mean) * weight
        gap = min(max(wanted, 0.0), 2 * unit) - foreseen
        q[SUBSIDY] = min(positive(q[SUBSIDY] + step / (unit * unit) * gap), path_price)


@rule
def gap(q: Numbers, reserve: float, spared: float) -> float:
    """Return what a purse keeps back beyond what it uses, if it used `reserve` more and those below kept back `spared`."""
    return max(q[MINIMUM] - q[SPENT] - q[RESERVED] - reserve, spared)
