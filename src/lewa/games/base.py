"""What a game is: who reveals rewards and constraints."""

from typing import ClassVar, Protocol

from lewa.measures.guarantees import Setting
from lewa.rounds import Block, Matrix, Vector, Words


class Game(Protocol):
    """A game lays out blocks of rounds, and says what it knows about itself.

    An adaptive game, whose rewards react to the learner, has `reveal(t, p, key) -> (rewards, constraints)` instead of
    `block`. Each seed meets a copy of it, which may remember what it saw; chance is `kernels.uniform` of nature's key.
    """

    about: ClassVar[str]

    @property
    def actions(self) -> int: ...

    @property
    def constraints(self) -> int:
        """m, how many."""
        ...

    @property
    def length(self) -> int | None:
        """How many rounds there are; None when there is no end."""
        ...

    @property
    def truth(self) -> Matrix | None:
        """The mean constraints (m, K), where the game knows them."""
        ...

    @property
    def setting(self) -> Setting:
        """What a theorem may assume of this game."""
        ...

    def block(self, key: Words, start: int, stop: int) -> Block:
        """Rounds start .. stop - 1 of the nature with this key."""
        ...

    def means(self) -> tuple[Vector, Matrix] | None:
        """Means of independent Bernoulli rewards and constraints, if that is the game: it is then drawn lazily."""
        ...
