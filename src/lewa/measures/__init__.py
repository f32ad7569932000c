"""What happened, against what was possible and what was promised."""

from lewa.measures.growth import Growth, growth
from lewa.measures.guarantees import Guarantee, Setting, guarantee
from lewa.measures.hindsight import Hindsight, best_fixed_play, best_play_every_round
from lewa.measures.regret import hindsight, regret, regret_certificate, regret_curve, variation
from lewa.measures.verdict import Verdict, judge
from lewa.measures.violation import certificate, positive_violation, violation, violation_curve

__all__ = [
    "Growth",
    "Guarantee",
    "Hindsight",
    "Setting",
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
