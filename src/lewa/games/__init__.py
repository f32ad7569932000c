"""Who is played against. `ALL` is the one registry: a new game is one file here and one line there."""

from typing import Any

from lewa.games.base import Game
from lewa.games.bernoulli import Bernoulli
from lewa.games.counterexample import Counterexample
from lewa.games.table import Table

ALL: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "counterexample": Counterexample,
}

__all__ = ["ALL", "Bernoulli", "Counterexample", "Game", "Table"]
