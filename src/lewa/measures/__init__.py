"""Measure runs: regret and violation, the best play in hindsight, and whether a guarantee held."""

from lewa.measures.best_play import Hindsight, best_fixed_play, best_play_every_round
from lewa.measures.performance import (
    certificate,
    dual_certificate,
    hindsight,
    positive_violation,
    regret,
    regret_certificate,
    regret_curve,
    variation,
    violation,
    violation_curve,
)
from lewa.measures.rate_fit import RateFit, fit_rate
from lewa.measures.trace import Trace
from lewa.measures.verdict import Verdict, judge, rest_of, with_rest
from lewa.theory.guarantees import Guarantee, Setting, guarantee

__all__ = [
    "Guarantee",
    "Hindsight",
    "RateFit",
    "Setting",
    "Trace",
    "Verdict",
    "best_fixed_play",
    "best_play_every_round",
    "certificate",
    "dual_certificate",
    "fit_rate",
    "guarantee",
    "hindsight",
    "judge",
    "positive_violation",
    "regret",
    "regret_certificate",
    "regret_curve",
    "rest_of",
    "variation",
    "violation",
    "violation_curve",
    "with_rest",
]
