"""Each game is what its definition says, computed once more in plain Python, and what it claims to know is true."""

import pickle
from collections.abc import Callable
from itertools import pairwise
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa.blocks import Block
from lewa.games import ALL, AntiLeader, Drifting, LowVariation, PenaltyBreaker, Slater, SlowBurn, Switching, assumed, facts
from lewa.kernels import NATURE, keys, place, uniform
from lewa.measures.best_play import slater_gap

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

SEED, ROUNDS = 5, 300
KEY = keys(SEED)[NATURE : NATURE + 1]
SCRIPTED: dict[str, Any] = {
    "switching": Switching(period=7),
    "switching by three": Switching(
        period=5, rewards=((0.1, 0.9), (0.8, 0.2), (0.5, 0.5)), constraint_means=(0.3, 0.6), noisy=False
    ),
    "drifting": Drifting(period=100),
    "drifting round and round": Drifting(period=37, rewards=(0.5, 0.3), swing=0.2, constraint_means=(0.1, 0.8), noisy=False),
    "low variation": LowVariation(swing=0.05),
    "still": LowVariation(swing=0.0, noisy=False),
    "slow burn": SlowBurn(floor=0.6, nu=0.25),
    "slater": Slater(floor=0.6, nu=0.25, change=190),
    "counterexample": lewa.games.Counterexample(),
}
FLOORS = (0.0, 0.3, 0.55, 0.6, 0.8)


def tri(x: float) -> float:
    """1 at whole numbers, -1 half way between."""
    x = x % 1
    return 1 - 4 * min(x, 1 - x)


def rewards_by_hand(game: Any, t: int) -> list[float]:
    match game:
        case Switching():
            return list(game.rewards[(t // game.period) % len(game.rewards)])
        case Drifting():
            K = len(game.rewards)
            return [game.rewards[i] + game.swing * tri(t / game.period - i / K) for i in range(K)]
        case LowVariation():
            return [r + game.swing * (-1) ** (t + i) for i, r in enumerate(game.rewards)]
        case Slater():
            return [1.0, 1.0 if t < game.change else 0.0, 0.0]
        case _:
            return [1.0, 0.0]


def constraints_by_hand(game: Any, t: int, key: Any = KEY) -> list[float]:
    if not getattr(game, "noisy", game.setting.constraints == "iid"):
        return list(game.mean_constraints[0])
    K = game.actions
    return [1.0 if uniform(key[0], place(t, i, K, 1) + 1) < game.constraint_means[i] else 0.0 for i in range(K)]


@pytest.mark.parametrize("game", SCRIPTED.values(), ids=SCRIPTED)
def test_a_scripted_game_shows_what_its_definition_says(game: Any) -> None:
    block: Block = game.block(KEY, 0, ROUNDS)
    np.testing.assert_allclose(block.rewards, [rewards_by_hand(game, t) for t in range(ROUNDS)], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(block.constraints[:, 0], [constraints_by_hand(game, t) for t in range(ROUNDS)])


@pytest.mark.parametrize("game", SCRIPTED.values(), ids=SCRIPTED)
def test_rounds_are_the_same_to_the_last_bit_wherever_they_are_cut(game: Any) -> None:
    whole = game.block(KEY, 0, ROUNDS)
    for cuts in ((0, 1, 2, 13, 150, ROUNDS), (0, 64, 65, 299, ROUNDS)):
        parts = [game.block(KEY, a, b) for a, b in pairwise(cuts)]
        assert np.concatenate([part.rewards for part in parts]).tobytes() == whole.rewards.tobytes()
        assert np.concatenate([part.constraints for part in parts]).tobytes() == whole.constraints.tobytes()


@pytest.mark.parametrize("game", SCRIPTED.values(), ids=SCRIPTED)
@pytest.mark.parametrize("rounds", [1, 2, 101, ROUNDS])
def test_means_and_variation_are_those_of_the_rounds(game: Any, rounds: int) -> None:
    rewards = game.block(KEY, 0, rounds).rewards
    np.testing.assert_allclose(game.mean_rewards(rounds), rewards.mean(axis=0), rtol=0, atol=1e-12)
    assert facts(game, 0.5, rounds).variation == pytest.approx(lewa.measures.variation(rewards), abs=1e-9)


def test_means_and_variation_are_right_over_more_rounds_than_are_laid_out_at_once() -> None:
    game, rounds = Drifting(period=200_000), 150_000
    rewards = game.script(0, rounds)
    np.testing.assert_allclose(game.mean_rewards(rounds), rewards.mean(axis=0), rtol=1e-12)
    assert game.variation(rounds) == pytest.approx(lewa.measures.variation(rewards), rel=1e-12)


@pytest.mark.parametrize("game", SCRIPTED.values(), ids=SCRIPTED)
@pytest.mark.parametrize("floor", FLOORS)
def test_price_value_and_gap_are_those_of_the_best_fixed_play(game: Any, floor: float) -> None:
    known = facts(game, floor, ROUNDS)
    best = lewa.measures.best_fixed_play(game.block(KEY, 0, ROUNDS).rewards.mean(axis=0), game.mean_constraints, floor)
    assert known.feasible is best.feasible
    assert known.slater == max(game.mean_constraints[0]) - floor
    if best.feasible:
        assert known.price == pytest.approx(best.price.tolist(), rel=1e-9)
        assert known.value == pytest.approx(best.value, rel=1e-9)
    else:
        assert known.price is None
        assert known.value is None


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name]().setting.constraints == "constant"])
def test_constraints_that_stand_still_are_the_truth_to_the_bit(name: str) -> None:
    game = ALL[name]()
    assert (game.block(KEY, 0, 100).constraints == game.mean_constraints).all()


# Games that look at the play ---------------------------------------------------------------------------------------------

PLAYS = ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 1.0])


@pytest.mark.parametrize("t", [0, 1, 17, 10**6])
@pytest.mark.parametrize("p", PLAYS)
def test_anti_leader_pays_the_least_likely_or_all_but_the_likeliest(t: int, p: list[float]) -> None:
    least, most = p.index(min(p)), p.index(max(p))
    for game, want in (
        (AntiLeader(), [float(i == least) for i in range(3)]),
        (AntiLeader(pays="rivals", noisy=False), [float(i != most) for i in range(3)]),
    ):
        rewards, constraints = game.reveal(t, np.array(p), KEY)
        assert rewards.tolist() == want
        assert constraints.tolist() == [constraints_by_hand(game, t)]


@pytest.mark.parametrize("t", [0, 1, 17, 10**6])
@pytest.mark.parametrize("first", [0.0, 0.5, 0.501, 1.0])
def test_penalty_breaker_pays_1_above_a_half_and_otherwise_what_it_draws(t: int, first: float) -> None:
    game = PenaltyBreaker()
    rewards, constraints = game.reveal(t, np.array([first, 1 - first]), KEY)
    drawn = 0.6 + (0.9 - 0.6) * uniform(KEY[0], 0)
    assert rewards.tolist() == [1.0 if first > 0.5 else drawn, 0.0]
    assert constraints.tolist() == [constraints_by_hand(game, t)]


def test_what_penalty_breaker_draws_fills_its_range_evenly() -> None:
    half = np.array([0.5, 0.5])
    drawn = np.array([PenaltyBreaker().reveal(9, half, keys(seed)[NATURE : NATURE + 1])[0][0] for seed in range(2000)])
    assert drawn.min() >= 0.6
    assert drawn.max() < 0.9
    assert abs(drawn.mean() - 0.75) <= 0.3 * sqrt(log(2e9) / 4000)  # Hoeffding, all but one of 10^9 natures


@pytest.mark.parametrize("game", [AntiLeader(), PenaltyBreaker()], ids=str)
def test_a_game_that_reacts_knows_its_gap_but_neither_price_nor_variation(game: Any) -> None:
    for floor, feasible in ((0.5, True), (0.95, False)):
        known = facts(game, floor, 100)
        assert known.slater == pytest.approx(0.9 - floor)
        assert known == (feasible, known.slater, None, None, None)
    assert assumed(game, 0.5, 100) == game.setting


# Posed for a floor and a horizon -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rounds", [1, 2, 10, 10_000])
@pytest.mark.parametrize("floor", [0.0, 0.5, 1.0])
def test_every_game_can_be_posed_for_any_floor_and_horizon(name: str, rounds: int, floor: float) -> None:
    game = ALL[name].for_problem(np.array([floor]), rounds)
    assert isinstance(game, ALL[name])
    assert game.constraints == 1
    facts(game, floor, rounds)
    if not game.reacts:
        block = game.block(KEY, 0, min(rounds, 50))
        for array in block:
            assert ((array >= 0) & (array <= 1)).all()


def test_games_are_posed_with_the_numbers_that_their_theorems_ask_for() -> None:
    T = 10_000
    assert Switching.for_problem(0.7, T) == Switching(period=100)
    assert Drifting.for_problem(0.7, T) == Drifting(period=T)
    assert LowVariation.for_problem(0.7, T) == LowVariation(swing=0.01)
    assert SlowBurn.for_problem([0.5], T) == SlowBurn(floor=0.5, nu=T**-0.25)
    assert Slater.for_problem(0.5, T) == Slater(floor=0.5, nu=T ** (-1 / 6), change=T - round(1.8 * T ** (5 / 6)))
    assert AntiLeader.for_problem(0.7, T) == AntiLeader()
    assert PenaltyBreaker.for_problem(0.7, T) == PenaltyBreaker()


@pytest.mark.parametrize("name", ["switching", "drifting", "low-variation", "slow-burn", "slater"])
@pytest.mark.parametrize("rounds", [0, -3, 2.5])
def test_a_horizon_that_is_none_is_refused_in_a_sentence(name: str, rounds: Any) -> None:
    with pytest.raises(ValueError, match="rounds must be an integer of at least 1"):
        ALL[name].for_problem(0.5, rounds)


def test_nonsense_is_refused_in_a_sentence() -> None:
    wrong: dict[str, Callable[[], Any]] = {
        "one floor": lambda: SlowBurn.for_problem([0.5, 0.6], 100),
        "nu must lie": lambda: SlowBurn(floor=0.5, nu=0.6),
        "nu must lie between": lambda: Slater(nu=-0.1),
        "change must be": lambda: Slater(change=-1),
        "rewards must have the shape": lambda: Switching(rewards=((1.0, 0.0),)),
        "integer of at least 1": lambda: Switching(period=0),
        "plus the swing": lambda: Drifting(swing=0.5),
        "minus and plus": lambda: LowVariation(swing=0.3),
        "one number per action": lambda: LowVariation(rewards=(0.5, 0.5)),
        "pays must be": lambda: AntiLeader(pays="leader"),
        "low must be": lambda: PenaltyBreaker(low=(0.9, 0.6)),
        "constraint_means must be": lambda: PenaltyBreaker(constraint_means=(0.9, 0.1)),
        "one number per constraint": lambda: facts(SlowBurn(), [0.5, 0.5], 10),
        "at most the game's length 2": lambda: facts(lewa.games.Table([[1.0], [0.0]], [0.5]), 0.5, 3),
    }
    for message, call in wrong.items():
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("name", ALL)
def test_a_game_says_how_it_was_made_and_survives_a_journey_to_another_process(name: str) -> None:
    game = ALL[name].for_problem(0.5, 1000)
    again = pickle.loads(pickle.dumps(game))
    assert repr(again) == repr(game)
    assert repr(game).startswith(ALL[name].__name__ + "(")


# What is known -----------------------------------------------------------------------------------------------------------


def test_a_table_knows_its_variation_always_and_the_rest_where_its_constraints_stand_still() -> None:
    rewards = np.random.default_rng(1).random((50, 2))
    constant = facts(lewa.games.Table(rewards, [0.2, 0.9]), 0.5, 40)
    best = lewa.measures.best_fixed_play(rewards[:40].mean(axis=0), [[0.2, 0.9]], 0.5)
    assert constant.variation == pytest.approx(lewa.measures.variation(rewards[:40]))
    assert constant.price == pytest.approx(best.price.tolist())
    assert constant.slater == pytest.approx(0.4)
    varying = facts(lewa.games.Table(rewards, rewards), 0.5, 50)
    assert varying.variation == pytest.approx(lewa.measures.variation(rewards))
    assert varying == (None, None, varying.variation, None, None)


def test_the_gap_of_more_constraints_is_that_of_the_best_mixture() -> None:
    c, rng = np.array([[1.0, 0.0], [0.0, 1.0]]), np.random.default_rng(2)
    assert slater_gap(c, np.array([0.25, 0.25])) == pytest.approx(0.25)
    assert slater_gap(c, np.array([0.5, 0.75])) == pytest.approx(-0.125)
    for _ in range(5):
        c, floor = rng.random((3, 4)), rng.random(3)
        plays = rng.dirichlet(np.ones(4), size=20_000)
        tried = (plays @ c.T - floor).min(axis=1).max()
        assert tried - 1e-9 <= slater_gap(c, floor) <= tried + 0.03
        assert facts(lewa.games.Bernoulli(np.ones(4), c), floor, 10).slater == slater_gap(c, floor)


def test_the_setting_that_a_theorem_may_assume_has_gap_and_variation_where_they_say_something() -> None:
    low = assumed(LowVariation(swing=0.05), 0.6, 1000)
    assert low.slater == pytest.approx(0.3)
    assert low.variation == pytest.approx(50)
    coins = assumed(lewa.games.Bernoulli(), 0.6, 1000)
    assert coins.slater == pytest.approx(0.3)
    assert coins.variation is None  # rewards with a fixed mean
    assert assumed(SlowBurn(), 0.5, 1000) == SlowBurn().setting  # no gap
    assert assumed(SlowBurn(), 0.9, 1000) == SlowBurn().setting  # no play meets the floor


# What each was built to show ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [10**4, 10**5])
@pytest.mark.parametrize("floor", [0.5, 0.8])
def test_slow_burn_costs_lewa_T_to_the_three_quarters_which_is_half_of_its_bound(T: int, floor: float) -> None:
    game = SlowBurn.for_problem(floor, T)
    trace = lewa.play(lewa.learners.Lewa.tuned(2, T, floor), game, T)
    violation = trace.shortfall[0, -1, 0]
    assert 0.9 <= violation / T**0.75 <= 1.1
    assert violation >= T**0.75 - T**0.25 / sqrt(log(2)) - T**-0.25  # docs/theory.md, 1.8
    verdict = lewa.judge(trace)
    assert verdict.holds
    assert verdict.guarantee.violation is not None
    assert 0.5 <= violation / verdict.guarantee.violation[0] <= 0.55


@pytest.mark.parametrize("T", [10**4, 10**5, 10**6])
def test_slater_game_costs_lewa_T_to_the_two_thirds_however_large_the_gap(T: int) -> None:
    game = Slater.for_problem(0.5, T)
    learner = lewa.learners.Lewa.tuned(3, T, 0.5)
    violation = lewa.play(learner, game, T).shortfall[0, -1, 0]
    assert 1.35 <= violation / T ** (2 / 3) <= 1.65
    by_variation = learner.guarantees(3, T, assumed(game, 0.5, T))[0]
    assert by_variation.source == "LEWA, variation"
    assert by_variation.violation is not None
    assert violation <= by_variation.violation[0] <= 5 * T ** (2 / 3)


@pytest.mark.parametrize("floor", [0.6, 0.8])
def test_low_variation_keeps_lewa_within_a_bound_of_order_sqrt_T(floor: float) -> None:
    for T in (10**3, 10**4, 10**5):
        game = LowVariation.for_problem(floor, T)
        learner = lewa.learners.Lewa.tuned(3, T, floor)
        shortfall = lewa.play(learner, game, T, seeds=8).shortfall[:, -1, 0]
        by_variation = learner.guarantees(3, T, assumed(game, floor, T))[0]
        assert by_variation.source == "LEWA, variation"
        assert by_variation.violation is not None
        assert shortfall.mean() <= by_variation.violation[0] <= 100 * sqrt(T)


def test_drifting_rewards_take_small_steps_and_have_a_variation_of_order_T() -> None:
    for T in (10**3, 10**5):
        game = Drifting.for_problem(0.7, T)
        steps = np.abs(np.diff(game.script(0, T), axis=0)).max()
        assert steps <= 4 * game.swing / T * (1 + 1e-6)
        assert game.variation(T) >= T / 4


@pytest.mark.parametrize("name", ["switching", "drifting", "anti-leader"])
def test_lewa_keeps_its_bounds_on_the_other_games(name: str) -> None:
    T, floor = 2000, 0.7
    game = ALL[name].for_problem(floor, T)
    learner = lewa.learners.Lewa.tuned(game.actions, T, floor, epsilon=0.05)
    verdict = lewa.judge(lewa.play(learner, game, T, seeds=4))
    assert verdict.guarantee.regret is not None
    assert verdict.holds


# Penalties ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [None, 0.05, 1.0])
@pytest.mark.parametrize("penalty", [0, 0.25, 0.5, 0.75, 0.76, 1, 1.5, 2, 3, 5, 10, 20])
def test_every_fixed_penalty_has_regret_or_violation_of_a_quarter_a_round(penalty: float, eta: float | None) -> None:
    """docs/theory.md, 6.2, on every path: the rewards are chosen by the penalty."""
    T = 10_000
    learner = lewa.learners.FixedPenalty.tuned(2, T, 0.5, penalty=penalty, eta=eta)
    lag = 1 / (1 - exp(-learner.eta / 4))
    rewards = [1.0, 0.0] if penalty <= 0.75 else [0.5, 0.0]
    trace = lewa.play(learner, lewa.games.Table(np.tile(rewards, (T, 1)), constraints=[0.0, 1.0]))
    regret, violation = lewa.regret(trace)[0], lewa.violation(trace)[0, 0]
    if penalty <= 0.75:
        assert violation >= T / 2 - lag - 1e-6
    else:
        assert regret >= T / 4 - lag / 2 - 1e-6
    assert max(regret, violation) >= T / 4 - lag / 2 - 1e-6


def test_penalty_breaker_breaks_every_fixed_penalty_without_knowing_it_but_not_lewa() -> None:
    T, seeds = 4000, 3 if HUNT else 1
    for penalty in (0, 1.125, 20):
        trace = lewa.play(lewa.learners.FixedPenalty.tuned(2, T, 0.5, penalty=penalty), PenaltyBreaker(), T, seeds)
        assert np.maximum(lewa.regret(trace), lewa.violation(trace)[:, 0]).mean() / T >= 0.3, penalty
    trace = lewa.play(lewa.learners.Lewa.tuned(2, T, 0.5), PenaltyBreaker(), T, seeds)
    assert (lewa.regret(trace) / T).max() <= 0.0
    assert (lewa.violation(trace) / T).max() <= 0.03


@pytest.mark.parametrize("T", [10**4, 10**5])
@pytest.mark.parametrize("penalty", [1, 3, 5, 10])
@pytest.mark.parametrize("name", ["fixed-penalty", "gated-penalty"])
def test_a_gate_leaves_a_violation_of_T_over_twice_the_penalty(name: str, penalty: float, T: int) -> None:
    floor, nu = 0.6, 1 / (2 * penalty)
    learner: Any = lewa.learners.make(name, 2, T, floor, penalty=penalty)
    violation = lewa.play(learner, SlowBurn(floor, nu), T).shortfall[0, -1, 0]
    assert nu * (T - 1 / (1 - exp(-learner.eta / 2))) - 1e-6 <= violation <= nu * T
    assert violation >= 0.8 * T / (2 * penalty)


def test_a_gate_holds_the_play_at_a_floor_that_costs_less_than_the_penalty() -> None:
    T = 20_000
    game = lewa.games.Table(np.tile([1.0, 0.0], (T, 1)), constraints=[0.0, 1.0])  # the price of the floor is 1
    gated = lewa.play(lewa.learners.make("gated-penalty", 2, T, 0.5, penalty=3.0), game)
    fixed = lewa.play(lewa.learners.make("fixed-penalty", 2, T, 0.5, penalty=3.0), game)
    assert lewa.violation(gated)[0, 0] / T <= 0.02
    assert lewa.regret(gated)[0] / T <= 0.02
    assert lewa.regret(fixed)[0] / T >= 0.45
