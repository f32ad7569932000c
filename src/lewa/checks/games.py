"""The laws every game obeys, whoever wrote it. An adaptive game is asked for its rounds with the uniform play."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lewa.checks.laws import Law, Result, hold, put
from lewa.kernels import NATURE, keys, toss
from lewa.measures.guarantees import checked
from lewa.rounds import Block

SEED = 3


def rounds(game: Any, start: int, stop: int) -> Block:
    """Rounds start .. stop - 1 of one nature, as the loop would get them."""
    if not hasattr(game, "reveal"):
        block: Block = game.block(keys(SEED)[NATURE : NATURE + 1], start, stop)
        return block
    K, m = game.actions, game.constraints
    shown = [game.reveal(t, np.full(K, 1 / K), keys(SEED)[NATURE : NATURE + 1]) for t in range(start, stop)]
    return Block(np.array([r for r, _ in shown]), np.array([np.reshape(c, (m, K)) for _, c in shown]))


def some(game: Any, most: int = 10) -> int:
    """How many rounds to look at: a table may be shorter than one would like."""
    return most if game.length is None else min(most, game.length)


def same(one: Block, other: Block) -> bool:
    """The same rounds, to the last bit."""
    return all(np.array_equal(mine, yours) for mine, yours in zip(one, other, strict=True))


def about_is_one_line(game: Any) -> None:
    """`about` stands in lists."""
    hold(len(game.about.splitlines()) == 1, f"about is {game.about!r}; it must be one line")


def sizes_are_whole_and_positive(game: Any) -> None:
    """Actions and constraints, and rounds where they come to an end."""
    sizes = {"actions": game.actions, "constraints": game.constraints, "length": 1 if game.length is None else game.length}
    for name, size in sizes.items():
        hold(int(size) == size and size >= 1, f"{name} is {size}; it must be a whole number of at least 1")


def setting_is_true_to_its_kind(game: Any) -> None:
    """A theorem can tell what it may assume, and a game that looks at the play says that it is adaptive."""
    adversary = checked(game.setting).adversary
    if hasattr(game, "reveal"):
        hold(adversary == "adaptive", f"the game looks at the play, yet it says it is {adversary}")


def rounds_have_their_shape_and_range(game: Any) -> None:
    """Rewards (n, K) and constraints (n, m, K), all float64 and in [0, 1]."""
    n, m, K = some(game), game.constraints, game.actions
    for (name, array), shape in zip(rounds(game, 0, n)._asdict().items(), ((n, K), (n, m, K)), strict=True):
        hold(array.shape == shape, f"the {name} of {n} rounds have the shape {array.shape}; it must be {shape}")
        hold(array.dtype == np.float64, f"the {name} are {array.dtype}; they must be float64")
        hold(
            ((array >= 0) & (array <= 1)).all(),
            f"the {name} go from {array.min()} to {array.max()}; it must be within 0 and 1",
        )


def same_key_gives_same_rounds(game: Any) -> None:
    """Every learner that plays a seed meets the same nature."""
    once, again = rounds(game, 0, some(game)), rounds(game, 0, some(game))
    hold(same(once, again), f"the same key gave {once} and then {again}; it must give the same rounds")


def block_boundaries_do_not_matter(game: Any) -> None:
    """The loop cuts the rounds where it likes."""
    n = some(game)
    singles = [rounds(game, t, t + 1) for t in range(n)]
    glued = Block(np.concatenate([s.rewards for s in singles]), np.concatenate([s.constraints for s in singles]))
    hold(same(rounds(game, 0, n), glued), f"{n} rounds in one block are {rounds(game, 0, n)}, one by one {glued}")


def truth_is_the_mean(game: Any) -> None:
    """Where the mean constraints are known they are (m, K), in [0, 1], and what the rounds average to.

    Up to what luck explains in all but one of 10^9 natures (Hoeffding's inequality).
    """
    if game.truth is None:
        return
    n, shape, truth = some(game, 4000), (game.constraints, game.actions), np.asarray(game.truth)
    hold(truth.shape == shape, f"truth has the shape {truth.shape}; it must be {shape}")
    hold(((truth >= 0) & (truth <= 1)).all(), f"truth goes from {truth.min()} to {truth.max()}; it must be within 0 and 1")
    mean, luck = rounds(game, 0, n).constraints.mean(axis=0), np.sqrt(np.log(2 * truth.size * 1e9) / (2 * n))
    hold((abs(mean - truth) <= luck).all(), f"{n} rounds average to {mean}; truth is {truth}")


def constant_constraints_never_change(game: Any) -> None:
    """A game that says its constraints are constant shows the same ones every round."""
    shown = rounds(game, 0, some(game)).constraints
    if game.setting.constraints == "constant":
        hold((shown == shown[0]).all(), f"the constraints are said to be constant, yet they are {shown.tolist()}")


def means_draw_the_same_rounds(game: Any) -> None:
    """A game that hands over its means to be drawn lazily lays out the very rounds that are drawn from them."""
    if game.means() is None:
        return
    rewards, constraints = game.means()
    hold(np.array_equal(constraints, game.truth), f"means() has the constraints {constraints}; truth is {game.truth}")
    laid = rounds(game, 0, some(game))
    lazy = Block(np.empty_like(laid.rewards), np.empty_like(laid.constraints))
    with np.errstate(over="ignore"):  # random streams wrap around, when they run as plain Python
        toss(rewards, constraints, keys(SEED)[NATURE : NATURE + 1], 0, *lazy)
    hold(same(laid, lazy), f"the rounds laid out are {laid}; drawn from the means they are {lazy}")


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        about_is_one_line,
        sizes_are_whole_and_positive,
        setting_is_true_to_its_kind,
        rounds_have_their_shape_and_range,
        same_key_gives_same_rounds,
        block_boundaries_do_not_matter,
        truth_is_the_mean,
        constant_constraints_never_change,
        means_draw_the_same_rounds,
    )
}


def check(game: Any, laws: Iterable[Law] = tuple(LAWS.values())) -> list[Result]:
    """Put a game, or a class of games that needs no arguments, to the laws: one result per law."""
    try:
        example = game() if isinstance(game, type) else game
    except TypeError as error:
        raise ValueError(f"a class that needs arguments cannot be checked, a game made of it can: {error}") from error
    return [put(law, repr(example), example) for law in laws]
