"""Compiled primitives: everything a learner's rule may call."""

from lewa.kernels.adahedge import SelfTuned, grow_tuned, share_tuned, tied
from lewa.kernels.algebra import average, clipped, dot, means, observe, positive, total
from lewa.kernels.compiling import exact, program, routine, rule
from lewa.kernels.exponential import exp
from lewa.kernels.lazy import Gains, earn, share_gains, unearned
from lewa.kernels.memory import builder, dump, flat, load, pack, restore, unpack
from lewa.kernels.projection import EMPTY, Tilt, lift, meets, project, upright
from lewa.kernels.spread import Spread, evenly, grow_spread, share_spread
from lewa.kernels.streams import DICE, NATURE, keys, place, toss, uniform
from lewa.kernels.weights import (
    Weights,
    draw,
    grow,
    grow_one,
    grow_priced,
    mix,
    ones,
    pick,
    set_one,
    settle,
    share,
    shrink_one,
)

__all__ = [
    "DICE",
    "EMPTY",
    "NATURE",
    "Gains",
    "SelfTuned",
    "Spread",
    "Tilt",
    "Weights",
    "average",
    "builder",
    "clipped",
    "dot",
    "draw",
    "dump",
    "earn",
    "evenly",
    "exact",
    "exp",
    "flat",
    "grow",
    "grow_one",
    "grow_priced",
    "grow_spread",
    "grow_tuned",
    "keys",
    "lift",
    "load",
    "means",
    "meets",
    "mix",
    "observe",
    "ones",
    "pack",
    "pick",
    "place",
    "positive",
    "program",
    "project",
    "restore",
    "routine",
    "rule",
    "set_one",
    "settle",
    "share",
    "share_gains",
    "share_spread",
    "share_tuned",
    "shrink_one",
    "tied",
    "toss",
    "total",
    "unearned",
    "uniform",
    "unpack",
    "upright",
]
