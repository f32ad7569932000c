"""The base class of games."""

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from lewa.blocks import Block
from lewa.theory.setting import Setting
from lewa.types import Indices, Matrix, Vector, Words
from lewa.validation import short_repr

Mask: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.bool_]]  # (n, K)

# A method that changes how a game is played, and the attribute by which the game says that it has one.
DECLARED_BY = {"reveal": "reacts", "arrives": "late_feedback", "available": "missing_actions"}


class Game:
    """Base class of games, which produce blocks of rounds.

    A subclass has `about` (one line for lists), `actions` (K), `constraints` (m) and `setting` (what a theorem may assume
    about the game), as class attributes, instance attributes or properties, and the method `block`. The rest has a default:

    - A game whose rewards react to the learner declares `reacts = True` and has `reveal` instead of `block`. Each seed
      plays a copy of it, which may remember earlier plays. Its random numbers are `kernels.uniform` of the key.
    - Feedback comes at once, unless a game declares `late_feedback = True` and has `arrives`.
    - Every action is available, unless a game declares `missing_actions = True` and has `available`.
    - `stationary_rewards`, that rewards have a fixed mean given the past, is False.
    - `mean_rewards`, `variation` and `mean_constraints` are None if the game does not know them.
    - `features` is the number of features of each round's context, in `contexts` of its blocks; 0 without context.
      If they are the advice of policies, one probability per policy and action, `policies` is the number of policies.
    - `length` is the number of rounds; None if there is no end.
    - Games with one constraint have `constraint_means`, its mean for each action.

    Rounds with late feedback or missing actions are not played in a compiled loop.
    """

    # Types and runtime differ here on purpose: a read-only property may be overridden by a property, a class attribute or
    # an instance attribute, while a plain attribute could not be overridden by a property.
    if TYPE_CHECKING:

        @property
        def about(self) -> str: ...
        @property
        def actions(self) -> int: ...
        @property
        def constraints(self) -> int: ...
        @property
        def setting(self) -> Setting: ...
        @property
        def length(self) -> int | None: ...
        @property
        def mean_constraints(self) -> Matrix | None: ...
        @property
        def features(self) -> int: ...
        @property
        def policies(self) -> int: ...
        @property
        def stationary_rewards(self) -> bool: ...
        @property
        def reacts(self) -> bool: ...
        @property
        def late_feedback(self) -> bool: ...
        @property
        def missing_actions(self) -> bool: ...

    else:
        about = ""
        features = policies = 0
        length = None
        mean_constraints = None
        stationary_rewards = reacts = late_feedback = missing_actions = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Raise TypeError for a method that is never called because the game does not declare it."""
        super().__init_subclass__(**arguments)
        for method, attribute in DECLARED_BY.items():
            kinds = cls.__mro__[: cls.__mro__.index(Game)]
            if method in vars(cls) and not any(attribute in vars(kind) for kind in kinds):
                raise TypeError(f"{cls.__name__} has `{method}`, so it must declare `{attribute} = True`")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game for this floor, one number per constraint, and this many rounds."""
        return cls()

    def block(self, key: Words, start: int, stop: int) -> Block:
        """Return rounds start .. stop - 1 for the stream of this key."""
        raise NotImplementedError(f"{type(self).__name__} must have `block`, or declare `reacts = True` and have `reveal`")

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        """Return the rewards (K,) and constraints (m, K) of round t, in which the learner plays p."""
        raise NotImplementedError(f"{type(self).__name__} declares `reacts = True`, so it must have `reveal`")

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        """Return, for each round, the round after which its feedback arrives; -1 for never."""
        return np.arange(start, stop)

    def available(self, key: Words, start: int, stop: int) -> Mask:
        """Return, for each round, which actions are available."""
        return np.ones((stop - start, self.actions), dtype=np.bool_)

    def means(self) -> tuple[Vector, Matrix] | None:
        """Return the means of rewards and constraints, if all are independent coins: rounds are then drawn lazily."""
        return None

    def mean_rewards(self, rounds: int) -> Vector | None:
        """Return the mean reward of each action over this many rounds, or None if the game does not know it."""
        return None

    def policy_value(self, floor: object) -> float | None:
        """Return the reward per round of the best policy on the contexts that meets the floors, or None if it is unknown."""
        return None

    def variation(self, rounds: int) -> float | None:
        """Return sum_t max_i |r_t - mean r|_i over this many rounds, or None if the game does not know it."""
        return None


REQUIRED = ("actions", "constraints", "setting")


def check_game(game: object) -> Game:
    """Return the game; raise ValueError for anything else, and name the missing methods."""
    if isinstance(game, type) and issubclass(game, Game):
        raise TypeError(f"game must be an instance of {game.__name__}, not the class itself")
    if not isinstance(game, Game):
        raise TypeError(f"game must be a lewa.games.Game or a name in lewa.games.ALL, got {short_repr(game)}")
    missing = [name for name in REQUIRED if not hasattr(game, name)]
    if missing:
        raise TypeError(f"the game {type(game).__name__} must have {' and '.join(f'`{name}`' for name in missing)}")
    return game
