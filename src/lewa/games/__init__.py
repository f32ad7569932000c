"""Who is played against. `ALL` is the one registry: a new game is one file here and one line there."""

from typing import Any

from lewa.games.anti_leader import AntiLeader
from lewa.games.base import Facts, Game, assumed, facts
from lewa.games.bernoulli import Bernoulli
from lewa.games.counterexample import Counterexample
from lewa.games.data import Columns, Data
from lewa.games.drifting import Drifting
from lewa.games.files import read_data
from lewa.games.log import Log
from lewa.games.low_variation import LowVariation
from lewa.games.penalty_breaker import PenaltyBreaker
from lewa.games.slater import Slater
from lewa.games.slow_burn import SlowBurn
from lewa.games.switching import Switching
from lewa.games.table import Table

ALL: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "switching": Switching,
    "drifting": Drifting,
    "low-variation": LowVariation,
    "slow-burn": SlowBurn,
    "slater": Slater,
    "anti-leader": AntiLeader,
    "penalty-breaker": PenaltyBreaker,
    "counterexample": Counterexample,
}

__all__ = [
    "ALL",
    "AntiLeader",
    "Bernoulli",
    "Columns",
    "Counterexample",
    "Data",
    "Drifting",
    "Facts",
    "Game",
    "Log",
    "LowVariation",
    "PenaltyBreaker",
    "Slater",
    "SlowBurn",
    "Switching",
    "Table",
    "assumed",
    "facts",
    "read_data",
]
