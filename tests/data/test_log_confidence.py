"""Promises and intervals from a log: how often they hold, on logs drawn from tables whose averages are known."""

from typing import Any

import numpy as np
import pytest
from tools.coverage import judge, worlds

from lewa.data.small_samples import Shapes, Strata, one_action
from lewa.frontiers import Frontier, frontier


@pytest.mark.parametrize(("setting", "count"), [(6, 25), (8, 10), (9, 25)], ids=["jobs", "run times", "Pareto"])
def test_promised_mixtures_keep_the_limit_and_intervals_hold(setting: int, count: int) -> None:
    world = worlds()[setting]
    logs = [log for log in (judge(world, 100 + n) for n in range(count)) if log is not None]
    assert len(logs) > count / 2
    share = {name: float(np.mean([log[name] for log in logs])) for name in logs[0]}
    assert share["sure over"] <= 0.05
    assert min(share["value dr"], share["cost dr"], share["value snips"], share["cost snips"]) >= 0.88  # 0.95 less the noise
    if setting == 6:
        assert share["plain over"] >= 0.9  # eighteen machines: the one that looked cheap


def rows(n: int, K: int = 3, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.arange(n) % K, rng.lognormal(0, 1, n) * (1 + np.arange(n) % K)


def shapes(action: Any, value: Any, sense: str = "at most") -> Shapes:
    return Shapes(action, value, np.ones(action.size), 3, (min(0.0, value.min()), value.max()), sense)


def test_a_bound_scales_with_its_action_and_shrinks_with_its_rows() -> None:
    action, value = rows(300)
    one = shapes(action, value)
    below, above = one.reach(one_action(0, 1.0, 50), 3.0)
    assert 0 < below < above  # costs have their tail above
    more = one.reach(one_action(0, 1.0, 5000), 3.0)
    assert more[1] < above / 5
    cents = Shapes(action, 100 * value, np.ones(300), 3, (0.0, 100 * value.max()), "at most")
    assert cents.reach(one_action(0, 100.0, 50), 3.0) == pytest.approx((100 * below, 100 * above))


def test_with_many_rows_the_interval_is_the_normal_one() -> None:
    rng = np.random.default_rng(2)
    action, value = np.arange(30_000) % 3, rng.gamma(4, 1, 30_000)
    means = np.array([value[action == a].mean() for a in range(3)])
    reach = shapes(action, value).reach(Strata(np.arange(3), np.full(3, 1 / 3), means, np.full(3, 10_000.0)), 1.96**2 / 2)
    normal = 1.96 * value.std() / 30_000**0.5
    assert reach == pytest.approx((normal, normal), rel=0.05)


def test_a_tail_that_an_action_did_not_show_is_read_from_the_others() -> None:
    action, value = rows(300)
    value[action == 0] = 1.0 + 0.01 * np.arange(100)  # which has no tail
    value[action > 0] = np.where(np.arange(200) % 20, 1.0, 50.0)
    few = action != 0
    few[:30] = True  # ten rows of the first action
    assert shapes(action[few], value[few]).reach(one_action(0, 1.0, 10), 3.0)[1] > 1.0


def test_what_is_constant_is_known_and_rates_have_their_exact_bound() -> None:
    action = np.arange(600) % 3
    price = np.array([1.0, 2.0, 5.0])[action]
    assert shapes(action, price).reach(one_action(1, 2.0, 200), 5.0) == (0, 0)
    solved = (np.arange(600) % 7 > 0).astype(float)
    below, above = shapes(action, solved, "").reach(one_action(0, 1.0, 7), 3.0)
    assert [below, above] == pytest.approx([1 - np.exp(-3 / 7), 0])


def bounds_of(seed: int, K: int, each: int, costs: Any) -> Any:
    """Return upper bounds on each action's mean that hold together with 95 % confidence, from rows that `costs` draws."""
    rng = np.random.default_rng([K, seed])
    action, value = np.repeat(np.arange(K), each), costs(rng, (K, each))
    all_of = Shapes(action, value.ravel(), np.ones(K * each), K, (0.0, 1e6), "at most")
    means = value.mean(axis=1)
    return [x + all_of.reach(one_action(a, x, each), np.log(K / 0.05))[1] for a, x in enumerate(means.tolist())]


def test_rows_without_a_rare_event_are_no_evidence_that_there_is_none() -> None:
    """Of 100 rows a fifth of the actions lack the event, which is a third of the mean."""

    def costs(rng: np.random.Generator, size: tuple[int, int]) -> Any:
        return rng.choice([1.0, 2.0, 60.0], p=[0.7, 0.285, 0.015], size=size)

    missed = [min(bounds_of(seed, 8, 100, costs)) < 2.17 for seed in range(60)]
    assert np.mean(missed) <= 0.15  # 0.05 and the noise


def test_an_action_that_was_always_free_may_cost_something() -> None:
    def costs(rng: np.random.Generator, size: tuple[int, int]) -> Any:
        return rng.exponential(1, size) * (rng.random(size) < 0.1)

    bounds = [bounds_of(seed, 20, 20, costs) for seed in range(30)]
    assert np.mean([min(each) < 0.1 for each in bounds]) <= 0.15
    assert np.median(bounds) < 3
    free = shapes(np.arange(300) % 3, np.where(np.arange(300) % 3 == 0, 0.0, 1.0 + np.arange(300)))
    assert free.reach(one_action(0, 0.0, 100), 3.0) == (0, 0)  # no other action is ever free


def test_a_price_that_never_varied_stays_beside_prices_that_do() -> None:
    action, value = rows(300)
    value[action == 0] = 3.0
    assert shapes(action, value).reach(one_action(0, 3.0, 100), 3.0) == (0, 0)
    value = np.where(np.arange(300) % 40 == 1, 90.0 + np.arange(300), 3.0)
    value[action == 0] = 3.0  # but if those mostly stay too, and jump at times, it may jump as well
    assert shapes(action, value).reach(one_action(0, 3.0, 100), 3.0)[1] > 1


# The frontier ------------------------------------------------------------------------------------------------------------


def log(n: int = 1200) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 3, n)
    cost = np.array([1.0, 2.0, 4.0])[a] * rng.lognormal(-0.125, 0.5, n)
    won = (rng.random(n) < np.array([0.4, 0.6, 0.8])[a]).astype(float)
    return {
        "action": np.array(list("abc"))[a],
        "propensity": np.full(n, 1 / 3),
        "won": won,
        "cost": cost,
        "spare": 20 - cost,
    }


OWN: dict[str, Any] = {"reward": "won=0..1", "at_most": "cost=0..20"}


def test_the_mixture_of_a_log_keeps_the_limit_by_its_bound() -> None:
    sure, plain = frontier(log(), **OWN, budgets=[2.5]), frontier(log(), **OWN, budgets=[2.5], confidence=None)
    best, other = sure.points[0].best, plain.points[0].best
    assert best.bound is not None
    assert best.bound["cost"] == pytest.approx(2.5)
    assert best.average["cost"] < 2.5
    assert best.value < other.value
    assert other.bound is None
    assert other.average["cost"] == pytest.approx(2.5)
    surer = frontier(log(), **OWN, budgets=[2.5], confidence=0.999).points[0].best
    assert surer.average["cost"] < best.average["cost"]
    assert sure.plain()["points"][0]["best"]["bound"] == best.bound
    assert sure.plain()["confidence"] == 0.95
    assert "confidence" not in plain.plain()
    assert "bound" not in plain.plain()["points"][0]["best"]
    assert "95% bound" in str(sure)
    assert "keeps it with 95% confidence" in " ".join(str(sure).split())


def test_a_lower_limit_is_the_mirror_image() -> None:
    most = frontier(log(), **OWN, budgets=[2.5]).points[0].best
    least = frontier(log(), reward="won=0..1", at_least="spare=0..20", budgets=[17.5]).points[0].best
    assert least.play == pytest.approx(most.play)
    assert least.bound == pytest.approx({"spare": 17.5})


def test_several_limits_are_promised_together() -> None:
    columns = {**log(), "late": log()["cost"] / 20}
    both: dict[str, Any] = {"reward": "won=0..1", "at_most": ["cost=0..20", "late=0..1"]}
    best = frontier(columns, **both, budgets=[2.5], lines={"late": 0.1}).points[0].best
    assert best.bound is not None
    assert best.bound["late"] <= 0.1 + 1e-6
    assert best.bound["cost"] == pytest.approx(20 * best.bound["late"], rel=1e-6)
    with pytest.raises(ValueError, match=r"no play meets late at 0\.051 with 95% confidence, whatever the limit of cost"):
        frontier(columns, **both, lines={"late": 0.051})
    hopeless = frontier(columns, **both, budgets=[2.5], lines={"late": 0.051})
    assert not hopeless.points[0].best.feasible


def note(result: Frontier, words: str) -> str:
    (sentence,) = (each for each in result.notes if words in each)
    return sentence


def test_a_limit_that_cannot_be_promised_is_answered() -> None:
    result = frontier(log(), **OWN, budgets=[1.05])
    best = result.points[0].best
    assert (best.feasible, best.play) == (False, {"a": 1.0})
    assert best.bound is not None
    nearest = f"the nearest limit that can be promised is {best.bound['cost']:g}"
    assert nearest in note(result, "no play meets cost at most 1.05 with 95% confidence")
    needed = int(note(result, "could be promised after about").split("about ")[1].split(" rows")[0].replace(",", ""))
    assert needed > 1200
    assert len(str(needed).rstrip("0")) <= 2
    grid = frontier(log(), **OWN, points=3)
    assert all(point.best.feasible for point in grid.points)
    assert grid.points[0].line == pytest.approx(best.bound["cost"])


def test_few_rows_are_named() -> None:
    assert not [each for each in frontier(log(), **OWN, points=1).notes if "fewer than 30" in each]
    result = frontier(log(66), **OWN, points=1)
    assert sum(result.action_rows.values()) == 66
    assert "warning: fewer than 30 rows evaluate" in note(result, "fewer than 30")


@pytest.mark.parametrize("confidence", [0, 1, -0.5, "high"])
def test_a_confidence_is_a_probability(confidence: Any) -> None:
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1 or be None"):
        frontier(log(), **OWN, confidence=confidence)


# Limits that do not bind, rows without a reward --------------------------------------------------------------------------


def test_a_limit_beyond_the_range_does_not_bind() -> None:
    columns = log()
    for confidence in (0.95, None):
        result = frontier(columns, reward="won", at_most="cost", budgets=[50.0, 80.0], confidence=confidence)
        assert [point.line for point in result.points] == [pytest.approx(50.0), pytest.approx(80.0)]
        for point in result.points:
            assert (point.best.play, point.best.price) == ({"c": 1.0}, {"cost": 0})
    table = {"won:a": [1, 0, 1], "won:b": [1, 1, 0.5], "cost:a": [1, 1, 2], "cost:b": [3, 1, 4]}
    learned = frontier(table, reward="won", at_most="cost", budgets=[9.0], seeds=1).points[0]
    assert (learned.line, learned.best.price) == (9.0, {"cost": 0})
    assert all(result.violation["cost"].mean == 0 for result in learned.learners.values())


def test_rows_without_a_reward_can_be_left_out() -> None:
    columns = log()
    rated = np.random.default_rng(1).random(1200) < 0.4
    partly = {**columns, "won": np.where(rated, columns["won"], np.nan)}
    with pytest.raises(ValueError, match=r"got \d+ of 1,200 rows without one.*drop_missing=True"):
        frontier(partly, **OWN)
    dropped = frontier(partly, **OWN, points=2, drop_missing=True)
    assert dropped.points == frontier({name: column[rated] for name, column in columns.items()}, **OWN, points=2).points
    assert note(dropped, "have no won and are left out").startswith(f"{1200 - rated.sum()} of 1,200 rows")
