"""Compiled primitives: everything a learner's rule may call."""

from lewa.kernels.algebra import average, clipped, dot, means, observe, positive, total
from lewa.kernels.compiling import exact, program, rule
from lewa.kernels.exponential import exp
from lewa.kernels.memory import dump, load, pack, unpack
from lewa.kernels.streams import DICE, NATURE, keys, place, toss, uniform
from lewa.kernels.weights import Weights, draw, grow, grow_one, grow_priced, mix, ones, pick, set_one, settle, share

__all__ = [
    "DICE",
    "NATURE",
    "Weights",
    "average",
    "clipped",
    "dot",
    "draw",
    "dump",
    "exact",
    "exp",
    "grow",
    "grow_one",
    "grow_priced",
    "keys",
    "load",
    "means",
    "mix",
    "observe",
    "ones",
    "pack",
    "pick",
    "place",
    "positive",
    "program",
    "rule",
    "set_one",
    "settle",
    "share",
    "toss",
    "total",
    "uniform",
    "unpack",
]
