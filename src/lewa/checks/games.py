"""The laws that every game must obey. A game that reacts is tested with the uniform play."""

from collections.abc import Iterable

import numpy as np

from lewa.blocks import Block
from lewa.checks.laws import Law, Result, hold, put
from lewa.game import Game, check_game
from lewa.kernels import NATURE, keys, toss
from lewa.theory.setting import checked

SEED = 3
MANY = 4000  # rounds whose averages are compared with what a game says of itself


def rounds(game: Game, start: int, stop: int) -> Block:
    """Return rounds start .. stop - 1 of one seed, as the loop would get them."""
    if not game.reacts:
        return game.block(keys(SEED)[NATURE : NATURE + 1], start, stop)
    K, m = game.actions, game.constraints
    answers = [game.reveal(t, np.full(K, 1 / K), keys(SEED)[NATURE : NATURE + 1]) for t in range(start, stop)]
    return Block(np.array([r for r, _ in answers]), np.array([np.reshape(c, (m, K)) for _, c in answers]))


def some(game: Game, most: int = 10) -> int:
    """Return the number of rounds to test: at most `most`, and at most the length of a table."""
    return most if game.length is None else min(most, game.length)


def same(block: Block, other: Block) -> bool:
    """Return whether two blocks are equal, bit for bit."""
    return all(np.array_equal(a, b) for a, b in zip(block, other, strict=True))


def about_is_one_line(game: Game) -> None:
    """Check that `about` is one line, for lists."""
    hold(len(game.about.splitlines()) == 1, f"about is {game.about!r}; it must be one line")


def sizes_are_whole_and_positive(game: Game) -> None:
    """Check the numbers of actions and constraints, and of rounds if they are limited."""
    sizes = {"actions": game.actions, "constraints": game.constraints, "length": 1 if game.length is None else game.length}
    for name, size in sizes.items():
        hold(int(size) == size and size >= 1, f"{name} is {size}; it must be an integer of at least 1")


def setting_is_true_to_its_kind(game: Game) -> None:
    """Check that the setting names a known case, and that a game that sees the play declares itself adaptive."""
    adversary = checked(game.setting).adversary
    if game.reacts:
        hold(adversary == "adaptive", f"a game that sees the play must declare itself adaptive, got {adversary}")


def rounds_have_their_shape_and_range(game: Game) -> None:
    """Check that rewards are (n, K) and constraints (n, m, K), all float64 and in [0, 1]."""
    n, m, K = some(game), game.constraints, game.actions
    block = rounds(game, 0, n)
    for name, array, shape in (("rewards", block.rewards, (n, K)), ("constraints", block.constraints, (n, m, K))):
        hold(array.shape == shape, f"the {name} of {n} rounds have the shape {array.shape}; it must be {shape}")
        hold(array.dtype == np.float64, f"the {name} are {array.dtype}; they must be float64")
        hold(
            ((array >= 0) & (array <= 1)).all(),
            f"the {name} range from {array.min()} to {array.max()}; they must lie in [0, 1]",
        )


def contexts_have_their_shape(game: Game) -> None:
    """Check that every round has a finite float64 for each feature of the game."""
    n, P = some(game), game.policies
    contexts, shape = rounds(game, 0, n).contexts, (n, game.features) if game.features else (0, 0)
    hold(contexts.shape == shape, f"the contexts of {n} rounds have the shape {contexts.shape}; it must be {shape}")
    hold(contexts.dtype == np.float64 and np.isfinite(contexts).all(), "the contexts must be finite float64")
    if P:
        hold(
            game.features == P * game.actions,
            f"{P} policies have {game.features} features; each policy must have one per action",
        )
        chances = contexts.reshape(n, P, game.actions)
        fine = (chances >= 0).all() and np.allclose(chances.sum(axis=2), 1)
        hold(bool(fine), f"the advice must be probabilities of the actions, got {chances.tolist()}")


def same_key_gives_same_rounds(game: Game) -> None:
    """Check that every learner that plays a seed faces the same rounds."""
    once, again = rounds(game, 0, some(game)), rounds(game, 0, some(game))
    hold(same(once, again), f"the same key gave {once} and then {again}; it must give the same rounds")


def block_boundaries_do_not_matter(game: Game) -> None:
    """Check that the rounds do not depend on the boundaries of blocks."""
    n = some(game)
    singles = [rounds(game, t, t + 1) for t in range(n)]
    parts = [np.concatenate(arrays) for arrays in zip(*singles, strict=True)]
    glued = Block(*parts) if game.features else Block(*parts[:2])
    hold(same(rounds(game, 0, n), glued), f"{n} rounds in one block are {rounds(game, 0, n)}; one by one they are {glued}")


def mean_constraints_are_the_means(game: Game) -> None:
    """Check that known mean constraints are (m, K), in [0, 1], and agree with the averages of the rounds.

    They may differ by the corruption, and by a random error that only one of 10^9 seeds exceeds (Hoeffding's inequality).
    """
    if game.mean_constraints is None:
        return
    n, shape, mean_constraints = some(game, MANY), (game.constraints, game.actions), np.asarray(game.mean_constraints)
    hold(mean_constraints.shape == shape, f"mean_constraints has the shape {mean_constraints.shape}; it must be {shape}")
    hold(
        ((mean_constraints >= 0) & (mean_constraints <= 1)).all(),
        f"mean_constraints ranges from {mean_constraints.min()} to {mean_constraints.max()}; it must lie in [0, 1]",
    )
    mean, luck = rounds(game, 0, n).constraints.mean(axis=0), np.sqrt(np.log(2 * mean_constraints.size * 1e9) / (2 * n))
    luck += (game.setting.corruption or 0) / n
    hold(
        (abs(mean - mean_constraints) <= luck).all(), f"{n} rounds average to {mean}; mean_constraints is {mean_constraints}"
    )


def what_it_knows_of_rewards_is_true(game: Game) -> None:
    """Check that known mean rewards, up to a random error, and a known variation are those of the rounds."""
    n = some(game, MANY)
    claim, claimed_variation = game.mean_rewards(n), game.variation(n)
    if claim is None and claimed_variation is None:
        return
    rewards = rounds(game, 0, n).rewards
    mean = rewards.mean(axis=0)
    if claim is not None:
        luck = np.sqrt(np.log(2 * game.actions * 1e9) / (2 * n))
        near = np.shape(claim) == mean.shape and (abs(mean - claim) <= luck).all()
        hold(near, f"the rewards of {n} rounds average to {mean}; mean_rewards is {claim}")
    if claimed_variation is not None:
        variation = np.abs(rewards - mean).max(axis=1).sum()
        close = abs(variation - claimed_variation) <= 1e-9 * n
        hold(close, f"the variation of {n} rounds is {variation}; the game has {claimed_variation}")


def constant_constraints_never_change(game: Game) -> None:
    """Check that constraints which are declared constant are the same in every round."""
    each = rounds(game, 0, some(game)).constraints
    if game.setting.constraints == "constant" and not game.setting.corruption:
        hold((each == each[0]).all(), f"constant constraints must be the same in every round, got {each.tolist()}")


def means_draw_the_same_rounds(game: Game) -> None:
    """Check that the blocks of a game with `means` are the rounds that are drawn lazily from them."""
    means = game.means()
    if means is None:
        return
    rewards, constraints = means
    hold(
        game.mean_constraints is not None and np.array_equal(constraints, game.mean_constraints),
        f"means() has the constraints {constraints}; mean_constraints is {game.mean_constraints}",
    )
    block = rounds(game, 0, some(game))
    lazy = Block(np.empty_like(block.rewards), np.empty_like(block.constraints))
    toss(rewards, constraints, keys(SEED)[NATURE : NATURE + 1], 0, lazy.rewards, lazy.constraints)
    hold(same(block, lazy), f"the rounds of a block are {block}; drawn from the means they are {lazy}")


def feedback_comes_after_its_round_or_never(game: Game) -> None:
    """Check that feedback arrives in its round, later, or never (-1), for any boundaries of blocks."""
    if not game.late_feedback:
        return
    n, key = some(game), keys(SEED)[NATURE : NATURE + 1]
    arrives = game.arrives(key, 0, n)
    fine = arrives.shape == (n,) and ((arrives >= np.arange(n)) | (arrives == -1)).all()
    hold(fine, f"feedback of {n} rounds arrives after the rounds {arrives}; each must be its own round, a later one, or -1")
    cut = np.concatenate([game.arrives(key, t, t + 1) for t in range(n)])
    hold(np.array_equal(arrives, cut), f"feedback arrives after the rounds {arrives}; requested one by one, {cut}")


def some_action_is_always_there(game: Game) -> None:
    """Check that at least one action is available in each round, for any boundaries of blocks."""
    if not game.missing_actions:
        return
    n, key = some(game), keys(SEED)[NATURE : NATURE + 1]
    there = game.available(key, 0, n)
    fine = there.shape == (n, game.actions) and there.dtype == bool and there.any(axis=1).all()
    hold(fine, f"in {n} rounds these actions are available: {there.tolist()}; at least one must be")
    cut = np.concatenate([game.available(key, t, t + 1) for t in range(n)])
    hold(np.array_equal(there, cut), f"these actions are available: {there.tolist()}; requested one by one, {cut.tolist()}")


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        about_is_one_line,
        sizes_are_whole_and_positive,
        setting_is_true_to_its_kind,
        rounds_have_their_shape_and_range,
        contexts_have_their_shape,
        same_key_gives_same_rounds,
        block_boundaries_do_not_matter,
        mean_constraints_are_the_means,
        what_it_knows_of_rewards_is_true,
        constant_constraints_never_change,
        means_draw_the_same_rounds,
        feedback_comes_after_its_round_or_never,
        some_action_is_always_there,
    )
}


def check(game: Game | type[Game], laws: Iterable[Law] = tuple(LAWS.values())) -> list[Result]:
    """Test a game, or a class of games that needs no arguments, against the laws; return one result per law."""
    try:
        example = game() if isinstance(game, type) else game
    except TypeError as error:
        raise ValueError(f"the class needs arguments, so check an instance of it: {error}") from error
    try:
        check_game(example)
    except TypeError as error:  # it lacks what a game declares
        raise ValueError(str(error)) from None
    return [put(law, repr(example), example) for law in laws]
