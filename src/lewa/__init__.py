"""Online decisions that keep their promises on average.

A learner picks one of K actions each round, earns a reward, and keeps the long-run average of other quantities on the
right side of a line.
"""

from lewa import checks, games, learners
from lewa.measures import (
    Guarantee,
    Hindsight,
    Setting,
    Verdict,
    best_fixed_play,
    best_play_every_round,
    certificate,
    guarantee,
    hindsight,
    judge,
    positive_violation,
    regret,
    regret_certificate,
    regret_curve,
    variation,
    violation,
    violation_curve,
)
from lewa.play import play
from lewa.rounds import Bandit, Full, Trace
from lewa.single import Player, current_play, learn, seen_full, start

__version__ = "0.1.0"

__all__ = [
    "Bandit",
    "Full",
    "Guarantee",
    "Hindsight",
    "Player",
    "Setting",
    "Trace",
    "Verdict",
    "best_fixed_play",
    "best_play_every_round",
    "certificate",
    "checks",
    "current_play",
    "games",
    "guarantee",
    "hindsight",
    "judge",
    "learn",
    "learners",
    "play",
    "positive_violation",
    "regret",
    "regret_certificate",
    "regret_curve",
    "seen_full",
    "start",
    "variation",
    "violation",
    "violation_curve",
]
