"""What happened, against what was possible and what was promised."""

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
from lewa.measures.rate_fit import Growth, growth
from lewa.measures.trace import Trace
from lewa.measures.verdict import Verdict, judge
from lewa.theory.guarantees import Guarantee, Setting, guarantee

__all__ = [
    "Growth",
    "Guarantee",
    "Hindsight",
    "Setting",
    "Trace",
    "Verdict",
    "best_fixed_play",
    "best_play_every_round",
    "certificate",
    "growth",
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
