"""A new action among weights: it enters with a share, and the other weights stay what they are to each other.

Its weight is share/(1 - share) times the sum of the others. Where weights are made of gains or regrets, the new action's
are those that give it this weight at the step of the moment.
"""

from functools import singledispatch
from itertools import pairwise
from math import log

import numpy as np

from lewa.kernels.weights.fixed_share import FixedShareWeights
from lewa.kernels.weights.hedge import ANCHOR, FAN, FRESH, LEAST, SUM, Weights
from lewa.kernels.weights.of_gains import AdaHedgeWeights, LazyWeights, NormalHedgeWeights, grow_normalhedge
from lewa.types import Vector

STEPS = 100  # of a bisection


def weigh(weights: Weights) -> None:
    """Do what `refresh` does in NumPy, so that nothing is compiled."""
    top = float(weights.log.max())
    np.exp(weights.log - top, out=weights.value)
    total = weights.value.sum()
    weights.head[[SUM, ANCHOR, FRESH]] = total, top, total
    level, below = weights.level.astype(int).tolist(), weights.value
    for start, end in reversed(list(pairwise(level))):
        weights.tree[start:end] = np.add.reduceat(below, np.arange(0, below.size, FAN))
        below = weights.tree[start:end]


def log_total(logs: Vector) -> float:
    """Return ln of the sum of exp(logs)."""
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum()))


@singledispatch
def enter(larger: object, smaller: object, share: float) -> bool:
    """Fill weights with those of one action less, and with the new action's, the last, in place.

    Return False for a record that is no kind of weights; it stays as it is.
    """
    return False


@enter.register
def _(larger: Weights, smaller: Weights, share: float) -> bool:
    larger.log[:-1] = smaller.log
    larger.log[-1] = max(log_total(smaller.log) + log(share / (1 - share)), LEAST)
    weigh(larger)  # with its tree, of which the new action may need one more node, or one more level
    return True


@enter.register
def _(larger: FixedShareWeights, smaller: FixedShareWeights, share: float) -> bool:
    larger.gain[:-1] = smaller.gain
    _enter_value(larger, smaller, share)
    return True


def _enter_value(larger: FixedShareWeights | LazyWeights, smaller: FixedShareWeights | LazyWeights, share: float) -> None:
    larger.value[:-1] = smaller.value
    larger.value[-1] = share / (1 - share) * smaller.value.sum()
    larger.head[0] = larger.value.sum()


@enter.register
def _(larger: LazyWeights, smaller: LazyWeights, share: float) -> bool:
    """Lazy weights: value = exp(eta total). Before the first answer no step is known: the new action is like the others."""
    _enter_value(larger, smaller, share)
    larger.total[:-1] = smaller.total
    k = int(np.argmax(abs(smaller.total)))
    if smaller.total[k] != 0 and smaller.value[k] > 0:
        larger.total[-1] = log(larger.value[-1]) * smaller.total[k] / log(smaller.value[k])
    else:
        larger.value[-1] = 1.0
        larger.head[0] = larger.value.sum()
    return True


@enter.register
def _(larger: AdaHedgeWeights, smaller: AdaHedgeWeights, share: float) -> bool:
    """AdaHedge: value = exp(-eta behind), eta = ln K/gap; while there is no gap, the leaders are played evenly."""
    larger.gain[:-1], larger.behind[:-1], larger.head[:] = smaller.gain, smaller.behind, smaller.head
    gap, behind = larger.head[1], larger.behind
    if gap > 0:
        eta = log(behind.size) / gap
        behind[-1] = -(log_total(-eta * behind[:-1]) + log(share / (1 - share))) / eta
        behind -= behind.min()
        larger.value[:] = np.exp(-eta * behind)
    else:
        larger.value[:] = behind == 0
    larger.head[0] = larger.value.sum()
    return True


@enter.register
def _(larger: NormalHedgeWeights, smaller: NormalHedgeWeights, share: float) -> bool:
    """NormalHedge: its weights grow with the regret of an action, between 0 and somewhat above the largest one."""
    larger.value[:-1], larger.total[:-1] = smaller.value, smaller.total
    nothing, top = np.zeros(larger.total.size), float(smaller.total.max())
    low, high = 0.0, 10 * top
    for _ in range(STEPS if top > 0 else 0):
        larger.total[-1] = (low + high) / 2
        grow_normalhedge(larger, nothing, 0.0)
        low, high = (low, larger.total[-1]) if larger.value[-1] > share * larger.head[0] else (larger.total[-1], high)
    if top <= 0:
        larger.value[-1] = larger.value[:-1].mean()
        larger.head[0] = larger.value.sum()
    return True
