"""Check the arguments of a simulation: learners and games, as objects or by name, rounds and seeds."""

from collections.abc import Iterable
from operator import index

from lewa import games, learners
from lewa.choice import choose_for_game
from lewa.engine.session import check_learner
from lewa.game import Game, check_game
from lewa.learners.base import Learner
from lewa.types import Vector
from lewa.validation import as_count, as_floor, is_list, short_repr


def as_learner(learner: Learner | str, actions: int, rounds: int, floor: object = None, game: Game | None = None) -> Learner:
    """Return the learner; tune it for the problem if it is given by name.

    A learner by name uses the contexts of the game if it can.
    """
    if not isinstance(learner, str):
        if floor is not None:
            raise ValueError(
                f"floor needs a learner that is given by its name, got floor={floor!r} and {short_repr(learner)}"
            )
        return check_learner(learner)
    if floor is None:
        raise ValueError(f"a learner by its name needs floor, one number per constraint, got {learner!r} without floor")
    settings: dict[str, float] = {}
    if learner == "auto" and game is not None:
        learner, settings = choose_for_game(actions, rounds, as_floor(floor).tolist(), game.setting)
    if game is not None:
        settings |= learners.settings_in_context(learner, game.features, game.policies)
    return check_learner(learners.make(learner, actions, rounds, floor, **settings))


def as_game(game: Game | str, rounds: int | None, floor: Vector) -> Game:
    """Return the game; make it for this floor and these rounds if it is given by name."""
    if not isinstance(game, str):
        return check_game(game)
    if rounds is None:
        raise ValueError(f"a game by its name needs rounds, got {game!r} without rounds")
    made: Game = games.make(game, floor, rounds)
    return made


def as_players(learner: Learner | str, game: Game | str, rounds: int | None, floor: object) -> tuple[Learner, Game, int]:
    """Return the learner, the game and the number of rounds of a play."""
    rounds = None if rounds is None else as_count("rounds", rounds)
    if isinstance(game, str):
        lines = as_floor(floor) if isinstance(learner, str) and floor is not None else _floor_of(learner, game)
        game = as_game(game, rounds, lines)
    game = check_game(game)
    rounds = as_count("rounds", game.length if rounds is None else rounds)
    if game.length is not None and rounds > game.length:
        raise ValueError(f"rounds must be at most the game's length {game.length}, got {rounds}")
    learner = as_learner(learner, game.actions, rounds, floor, game)
    if learner.floor.size != game.constraints:
        raise ValueError(
            f"the learner must have one floor per constraint, got {learner.floor.size} for {game.constraints} constraints"
        )
    return learner, game, rounds


def _floor_of(learner: Learner | str, game: str) -> Vector:
    if isinstance(learner, str):
        raise ValueError(f"a learner and a game by their names need floor, got {learner!r} and {game!r} without floor")
    return check_learner(learner).floor


MOST_SEEDS = 10_000_000


def as_seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """Return the list of seeds, from their number or from a list."""
    if isinstance(seeds, int | float) and seeds > MOST_SEEDS:
        raise ValueError(f"seeds must be at most {MOST_SEEDS}, got {short_repr(seeds)}")
    try:
        names = tuple(map(index, seeds)) if is_list(seeds) else tuple(range(as_count("seeds", seeds)))
    except (TypeError, ValueError):
        names = ()
    if not names or min(names) < 0 or len(set(names)) < len(names):
        raise ValueError(
            f"seeds must be a positive integer or a list of distinct non-negative integers, got {short_repr(seeds)}"
        )
    return names
