"""Measure runs: regret and violation, the best play in hindsight, and whether a guarantee held."""

from lewa.measures.best_play import Hindsight, best_fixed_play, best_play_every_round
from lewa.measures.performance import (
    certificate,
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
from lewa.measures.verdict import Verdict, judge
from lewa.theory.guarantees import Guarantee, guarantee
from lewa.theory.setting import Setting

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
    "fit_rate",
    "guarantee",
    "hindsight",
    "judge",
    "positive_violation",
    "regret",
    "regret_certificate",
    "regret_curve",
    "variation",
    "violation",
    "violation_curve",
]
