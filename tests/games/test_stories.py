"""The paper's stories, and games about constraints that lie or react: each once more in plain Python."""

from itertools import pairwise, product
from math import isqrt, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.games import Ads, Corrupted, Experts, Impossible, Portfolio, Radio, ShortestPath, assumed, facts
from lewa.kernels import NATURE, keys, uniform

pytestmark = pytest.mark.compiled

KEY = keys(5)[NATURE : NATURE + 1]
ROUNDS = 60


def nth(n: int) -> float:
    with np.errstate(over="ignore"):
        return float(uniform(KEY[0], n))


def rounds_of(game: Any) -> tuple[Any, Any]:
    block = game.block(KEY, 0, ROUNDS)
    return block[0], block[1]


# The radio ---------------------------------------------------------------------------------------------------------------


def test_the_radio_draws_power_evenly_in_decibels_and_delivers_at_the_rates_measured() -> None:
    rewards, constraints = rounds_of(Radio())
    for t, i in product(range(ROUNDS), range(4)):
        n = 2 * (4 * t + i)
        assert rewards[t, i] == (nth(n) < (493, 661, 719, 737)[i] / 816)
        decibel = -30 + 5 * i + 5 * nth(n + 1)
        assert constraints[t, 0, i] == pytest.approx(1 - 10 ** (decibel / 10) / 10**-1, abs=1e-12)


def test_the_headroom_of_the_radio_is_that_which_was_measured() -> None:
    """Of the real packets: the mean headroom of 816 at each level. And the integral, as a sum of many small parts."""
    np.testing.assert_allclose(Radio().mean_constraints[0], [0.981204, 0.941128, 0.813989, 0.406231], rtol=0, atol=0.002)
    parts = (np.arange(10**5) + 0.5) / 10**5
    by_parts = [np.mean(1 - 10 ** ((-30 + 5 * (i + parts)) / 10 + 1)) for i in range(4)]
    np.testing.assert_allclose(Radio().mean_constraints[0], by_parts, rtol=0, atol=1e-9)


def test_the_floor_of_the_radio_costs_what_its_two_levels_say() -> None:
    r, c = (661 / 816, 719 / 816), Radio().mean_constraints[0, 1:3]
    known: Any = facts(Radio(), 0.9, 1000)
    assert known.price == pytest.approx([(r[1] - r[0]) / (c[0] - c[1])])
    assert known.value == pytest.approx(r[0] + known.price[0] * (c[0] - 0.9))
    assert assumed(Radio(), 0.9, 1000).slater == pytest.approx(Radio().mean_constraints.max() - 0.9)


# Ads ---------------------------------------------------------------------------------------------------------------------


def test_a_budget_is_kept_if_and_only_if_the_floor_is() -> None:
    game, rng = Ads(), np.random.default_rng(1)
    contested = {1: 0.8, 2: 0.4, 3: 0.7, 4: 0.3, 5: 0.6, 6: 0.2}  # by ad; ad 0 is the house's
    owner = {1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2}
    for p in rng.dirichlet(np.ones(7), size=50):
        for j in range(3):
            pays = sum(p[i] * contested[i] for i in owner if owner[i] == j)
            assert pays <= 0.1 or p @ game.mean_constraints[j] < 0.9
            assert p @ game.mean_constraints[j] == pytest.approx(1 - pays)
    np.testing.assert_array_equal(game.rewards, [0.05, 0.35, 0.25, 0.30, 0.20, 0.25, 0.15])


def test_only_the_advertiser_whose_ad_is_shown_pays_and_the_house_pays_nothing() -> None:
    _, constraints = rounds_of(Ads())
    paid = 1 - constraints
    assert (paid[:, :, 0] == 0).all()
    for j in range(3):
        others = [i for i in range(1, 7) if (i - 1) // 2 != j]
        assert (paid[:, j, others] == 0).all()
        assert set(np.unique(paid[:, j, 1 + 2 * j : 3 + 2 * j])) == {0.0, 1.0}


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7])
def test_there_are_as_many_advertisers_as_floors(m: int) -> None:
    game = Ads.for_problem(np.full(m, 0.9), 1000)
    assert (game.actions, game.constraints) == (1 + 2 * m, m)
    np.testing.assert_array_equal(
        game.mean_constraints[m - 1, -2:], 1 - np.array([[0.8, 0.4], [0.7, 0.3], [0.6, 0.2]])[(m - 1) % 3]
    )
    known = facts(game, np.full(m, 0.9), 1000)
    assert known.feasible
    assert known.slater == pytest.approx(0.1)  # the house ad costs nobody anything


def test_lewa_keeps_three_budgets_at_once() -> None:
    T, floors = 20_000, (0.7, 0.8, 0.9)
    trace = lewa.play(lewa.learners.Lewa.tuned(7, T, floors), Ads(), T, seeds=2)
    free = lewa.play(lewa.learners.Ewa.tuned(7, T, floors), Ads(), T, seeds=2)
    assert lewa.judge(trace).holds
    assert (lewa.violation(trace) <= 0.03 * T).all()
    assert (lewa.violation(free)[:, 0] >= 0.3 * T).all()  # its best ad alone is contested in 0.8 of the rounds


# Experts, portfolio, paths -----------------------------------------------------------------------------------------------


def test_experts_are_paid_one_less_their_absolute_loss() -> None:
    def y(t: int) -> float:
        if t // 7 % 2 == 0:
            return abs(1 - 2 * (t % 7) / 7)
        return 0.9 if t % 2 == 0 else 0.1

    rewards, covered = rounds_of(Experts(period=7))
    for t in range(ROUNDS):
        says = (y(t - 1), 1 - y(t - 1), 0.9, 0.5)
        np.testing.assert_allclose(rewards[t], [1 - abs(x - y(t)) for x in says], rtol=0, atol=1e-12)
        assert covered[t, 0].tolist() == [float(nth(8 * t + 2 * i + 1) < (0.6, 0.5, 0.8, 0.95)[i]) for i in range(4)]
    assert Experts.for_problem(0.8, 10_000) == Experts(period=100)


def test_assets_move_with_the_market_and_on_their_own() -> None:
    rewards, constraints = rounds_of(Portfolio())
    for t in range(ROUNDS):
        market, *own = (2 * nth(5 * t + n) - 1 for n in range(5))
        for i in range(4):
            moved = (0, 0.02, 0.06, 0.08)[i] + (0, 0.1, 0.4, 0.5)[i] * market + (0, 0.1, 0.2, 0.4)[i] * own[i]
            assert rewards[t, i] == pytest.approx((1 + moved) / 2, abs=1e-12)
        assert constraints[t, 0].tolist() == [1.0, 0.9, 0.5, 0.1]
    known = facts(Portfolio(), 0.7, 1000)
    assert known.value == pytest.approx((0.53 + 0.51) / 2)  # bonds and stocks, half each
    assert known.price == pytest.approx([(0.53 - 0.51) / (0.9 - 0.5)])


def test_a_path_takes_what_its_links_take_and_is_as_safe_as_all_of_them() -> None:
    game = ShortestPath(period=20)
    assert game.paths == [["s", "a", "b", "t"], ["s", "a", "t"], ["s", "b", "t"], ["s", "c", "t"]]
    links = {(one, other): row for row, (one, other, *_) in enumerate(game.links)}
    rewards, constraints = rounds_of(game)
    for t, (i, path) in product(range(ROUNDS), enumerate(game.paths)):
        delay, safe = 0.0, True
        for step in pairwise(path):
            least, rush, propensity = game.links[links[step]][2:]
            day = t / 20 + (0 if step[0] == "s" else 0.5)
            delay += least + rush * 2 * min(day % 1, 1 - day % 1)
            safe &= nth(7 * t + links[step]) < propensity
        assert rewards[t, i] == pytest.approx(1 - delay / 7, abs=1e-12)  # s a t takes at most 1 + 2 + 2 + 2
        assert constraints[t, 0, i] == safe
    assert game.mean_constraints[0] == pytest.approx([0.95 * 0.76 * 0.95, 0.95 * 0.8, 0.7 * 0.95, 0.99 * 0.99])


def test_stories_refuse_nonsense_in_a_sentence() -> None:
    wrong: dict[str, Any] = {
        "edges must increase": lambda: Radio(edges=(-30, -25, -25, -15, -10)),
        "one more than the delivery rates": lambda: Radio(delivered=(0.5,)),
        r"the shape \(advertisers, ads\)": lambda: Ads(clicks=[[0.5, 0.5]], contested=[0.5, 0.5]),
        "one number for each of the four experts": lambda: Experts(constraint_means=(0.5, 0.5)),
        "one number per asset": lambda: Portfolio(drift=(0.1,)),
        r"\|drift\| \+ \|beta\| \+ \|specific\| must be at most 1": lambda: Portfolio(beta=(0, 0, 0, 0.9)),
        "no path leads from 's' to 't'": lambda: ShortestPath(links=(("s", "a", 1.0, 1.0, 0.5),)),
        "delays must be finite and at least 0": lambda: ShortestPath(links=(("s", "t", -1.0, 1.0, 0.5),)),
        "corruption must be": lambda: Corrupted(corruption=-1),
        "one number per action": lambda: Corrupted(rewards=(0.5,)),
        "one constraint must have one floor": lambda: Impossible.for_problem((0.5, 0.5), 100),
    }
    for sentence, call in wrong.items():
        with pytest.raises(ValueError, match=sentence):
            call()


# Constraints that lie ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("noisy", [False, True])
def test_corrupted_rounds_show_the_means_turned_round_and_there_are_as_many_as_are_paid_for(every: int, noisy: bool) -> None:
    game, kept = Corrupted(corruption=5, every=every, noisy=noisy), (0.2, 0.5, 0.9)
    rewards, constraints = rounds_of(game)
    spent = 0.0
    for t in range(ROUNDS):
        lie = t % every == 0 and spent + 0.7 <= 5  # what it costs: |0.9 - 0.2|
        spent += 0.7 * lie
        means = kept[::-1] if lie else kept
        want = [float(nth(3 * t + i) < means[i]) for i in range(3)] if noisy else list(means)
        assert constraints[t, 0].tolist() == want
        assert rewards[t].tolist() == [0.9, 0.6, 0.3]
    assert 5 - 0.7 < spent <= 5 == game.setting.corruption
    assert game.mean_constraints.tolist() == [list(kept)]


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("name", ["lewa", "fixed-share-lewa"])
def test_what_is_proved_under_corruption_holds(name: str, every: int) -> None:
    T, C = 20_000, 300
    for noisy in (False, True):
        game = Corrupted(corruption=C, every=every, noisy=noisy)
        learner = lewa.learners.make(name, 3, T, floor=0.6)
        verdict = lewa.judge(lewa.play(learner, game, T, seeds=3))
        assert verdict.holds
        assert "except for a total corruption of 300" in " ".join(verdict.guarantee.assumptions)


# Constraints that react --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("floor", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", ["ewa", "lewa", "fixed-penalty"])
@pytest.mark.parametrize("T", [101, 600])
def test_whoever_plays_the_impossible_game_has_regret_or_violation_of_order_T(name: str, floor: float, T: int) -> None:
    """max(regret, violation) >= early high/(1 + high) on every path, by the definition and a line each."""
    game = Impossible.for_problem(floor, T)
    trace = lewa.play(lewa.learners.make(name, 2, T, floor), game, T, every_round=True)
    assert trace.plays is not None
    early, high = int(min(0.5, 1 - floor) * T), min(1, 2 * floor)
    x = trace.plays[0, :early, 0].mean()
    regret, violation = lewa.regret(trace)[0], lewa.violation(trace)[0, 0]
    if 1 - x > high * x:
        assert regret == pytest.approx((1 - x) * early, abs=1e-6)
    else:
        assert violation >= high * x * early - 1e-6
    assert max(regret, violation) >= early * high / (1 + high) - 1e-6
    assert lewa.judge(trace).holds is not False


def test_the_impossible_game_knows_nothing_beforehand_and_forgets_the_game_before() -> None:
    game = Impossible.for_problem(0.5, 10)
    assert facts(game, 0.5, 10) == (None, None, None, None, None)
    for p, later in (([1.0, 0.0], [0.0, 0.0]), ([0.0, 1.0], [1.0, 1.0]), ([0.5, 0.5], [0.0, 0.0])):
        shown = [game.reveal(t, np.array(p), KEY) for t in range(10)]
        assert [r.tolist() for r, _ in shown] == [[1.0, 0.0]] * 5 + [[0.0, 0.0]] * 5
        assert [c[0].tolist() for _, c in shown] == [[0.0, 1.0]] * 5 + [later] * 5


def test_every_game_and_every_twist_has_a_row_in_the_page_about_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "games.md").read_text()
    for name in (*lewa.games.ALL, *lewa.games.TWISTS):
        assert f"| `{name}` |" in page, name


def test_stories_are_posed_for_their_horizon() -> None:
    assert ShortestPath.for_problem(0.8, 10_000) == ShortestPath(period=2500)
    assert Corrupted.for_problem(0.6, 10_000) == Corrupted(corruption=100.0)
    assert Impossible.for_problem(0.3, 77) == Impossible(floor=0.3, rounds=77)
    assert Experts.for_problem(0.3, 80).period == isqrt(80)
    assert log(10) / 10 * (Radio().edges[1] - Radio().edges[0]) == pytest.approx(1.151293, abs=1e-6)
