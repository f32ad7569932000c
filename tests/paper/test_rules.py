"""The rules that decide, on rows made up so that the claim is true, and on rows made up so that it is not."""

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from lewa.lab.execute import execute
from lewa.lab.study import Run, expand, parse
from lewa.paper.rules import (
    AtLeast,
    AtMost,
    Attains,
    Claim,
    Grows,
    Rule,
    RunBound,
    Same,
    Series,
    VerdictLine,
    fraction,
    series,
    verdict,
)
from lewa.theory.guarantees import EXPECTED, PATHWISE, PROBABLE

HORIZONS = (1_000, 10_000, 100_000, 1_000_000)


def made_up(values: Any, game: str = "counterexample", learner: str = "lewa", horizons: Any = HORIZONS) -> Series:
    """A series with these regrets, which are its violations and multipliers too: values(T) for each seed."""
    runs = [Run(f"{T}", game, {}, T, (0.5,), learner, {}, 0, ()) for T in horizons]
    rows = [
        [
            {
                "regret": float(v),
                "shortfall": [float(v)],
                "positive_violation": [float(v)],
                "largest_multiplier": [float(v)],
                "regret_curve": [0.0, float(v)],
            }
            for v in np.atleast_1d(values(T))
        ]
        for T in horizons
    ]
    return Series(game, learner, runs, rows)


def judged(rule: Rule, *found: Series, quantity: str = "regret") -> VerdictLine:
    (line,) = verdict(Claim("a claim", "a study", {quantity: rule}), list(found))
    return line


def fixed(kind: str, epsilon: float = 0.0) -> AtMost:
    """At most sqrt(T), in this sense."""
    return AtMost("sqrt(T)", 1 / 2, lambda run, quantity: RunBound(sqrt(run.rounds), kind, epsilon))


# Bounds ------------------------------------------------------------------------------------------------------------------


def test_a_pathwise_bound_is_broken_by_one_seed_at_one_horizon() -> None:
    good = judged(fixed(PATHWISE), made_up(lambda T: [0.5 * sqrt(T), sqrt(T)]))
    assert good.holds
    assert (good.measured, good.bound, good.ratio, good.rounds) == (1000, 1000, 1, 1_000_000)
    assert good.slope == pytest.approx(0.5)
    once = judged(fixed(PATHWISE), made_up(lambda T: [0.5 * sqrt(T), sqrt(T) * (1.01 if T == 10_000 else 0.9)]))
    assert not once.holds
    assert once.why == "it was exceeded at T = 10000"


def test_a_bound_on_an_expectation_is_for_the_mean_up_to_three_standard_errors() -> None:
    def around(mean: float, spread: float) -> Series:
        return made_up(lambda T: mean * sqrt(T) + spread * sqrt(T) * np.array([-1, 1, -1, 1]))

    assert judged(fixed(EXPECTED), around(0.9, 0.5)).holds  # some seeds are above it
    error = 0.5 * sqrt(4 / 3) / 2
    assert judged(fixed(EXPECTED), around(1 + 2.9 * error, 0.5)).holds
    assert not judged(fixed(EXPECTED), around(1 + 3.1 * error, 0.5)).holds
    assert not judged(fixed(EXPECTED), made_up(lambda T: 1.01 * sqrt(T))).holds  # one seed has no spread


def test_a_bound_that_may_fail_is_refuted_by_more_failures_than_chance_allows() -> None:
    def failing(count: int) -> Series:
        return made_up(lambda T: np.where(np.arange(32) < count, 2, 0.5) * sqrt(T))

    # Of 32 seeds with a chance of 0.05 each, 5 or more fail with probability 0.0217, 6 or more with 0.0058.
    assert judged(fixed(PROBABLE, 0.05), failing(5)).holds
    assert judged(fixed(PROBABLE, 0.05), failing(5)).why == (
        "no more runs exceeded it (20 of 128) than chance allows at each of 4 horizons"
    )
    assert not judged(fixed(PROBABLE, 0.05), failing(6)).holds
    assert not judged(fixed(PROBABLE, 0.001), failing(2)).holds


def test_every_game_decides_and_the_one_nearest_to_the_bound_is_shown() -> None:
    small, large = made_up(lambda T: 0.1 * sqrt(T), "switching"), made_up(lambda T: 0.6 * sqrt(T), "drifting")
    line = judged(fixed(PATHWISE), small, large)
    assert (line.holds, line.game) == (True, "drifting")
    assert line.why == "it held for every seed at each of 4 horizons in each of 2 games"
    early = made_up(lambda T: sqrt(T) * (2 if T == 1000 else 0.01), "bernoulli")
    line = judged(fixed(PATHWISE), small, large, early)
    assert (line.holds, line.game, line.why) == (False, "bernoulli", "it was exceeded at T = 1000")


def test_a_violation_below_zero_is_none() -> None:
    line = judged(fixed(PATHWISE), made_up(lambda T: -T), quantity="violation")
    assert (line.holds, line.measured, line.slope) == (True, 0, None)
    assert judged(fixed(PATHWISE), made_up(lambda T: -T)).measured == -1_000_000  # regret can be negative
    rounded = judged(fixed(PATHWISE), made_up(lambda T: 1e-12 * T), quantity="positive violation")
    assert (rounded.measured, rounded.slope) == (0, None)  # no rate is read from what is lost in adding up
    assert judged(fixed(PATHWISE), made_up(lambda T: 1e-3 * T**0.5), quantity="positive violation").measured == 1


# Lower bounds ------------------------------------------------------------------------------------------------------------

THIRD = AtLeast("T/3", 1, lambda run, quantity: RunBound(run.rounds / 3))


def test_a_lower_bound_is_for_the_mean_at_every_horizon() -> None:
    assert judged(THIRD, made_up(lambda T: [0.2 * T, 0.5 * T])).holds
    line = judged(THIRD, made_up(lambda T: T * (0.3 if T == 1000 else 0.5)))
    assert not line.holds
    assert line.why == "the mean over seeds was not at least that at each of 4 horizons"
    assert line.ratio == pytest.approx(1.5)


def test_each_setting_has_to_reach_a_lower_bound_in_some_game() -> None:
    low = [made_up(lambda T: 0.4 * T, "a", "penalty=1"), made_up(lambda T: 0.1 * T, "b", "penalty=1")]
    high = [made_up(lambda T: 0.0 * T, "a", "penalty=2"), made_up(lambda T: 0.6 * T, "b", "penalty=2")]
    line = judged(THIRD, *low, *high)
    assert (line.holds, line.learner, line.game) == (True, "penalty=1", "a")
    line = judged(THIRD, *low, high[0])
    assert (line.holds, line.learner) == (False, "penalty=2")


def test_a_lower_bound_below_zero_is_reached() -> None:
    rule = AtLeast("T/4 - 2000", 1, lambda run, quantity: RunBound(run.rounds / 4 - 2000))
    assert judged(rule, made_up(lambda T: T / 4 - 1000)).holds


# Rates -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slope", "holds"), [(0.5, True), (0.75, True), (0.79, True), (0.81, False), (1.0, False)])
def test_a_rate_is_refuted_by_a_slope_above_it(slope: float, holds: bool) -> None:
    line = judged(Grows(3 / 4), made_up(lambda T: 7 * T**slope))
    assert line.holds == holds
    assert line.slope == pytest.approx(slope)
    assert (line.bound, line.ratio, line.formula, line.exponent) == (None, None, "O(T^3/4)", 0.75)


def test_a_rate_is_refuted_in_any_game_and_that_one_is_shown() -> None:
    large, steep = made_up(lambda T: 1000 * sqrt(T), "a"), made_up(lambda T: 0.01 * T, "b")
    line = judged(Grows(3 / 4), large, steep)
    assert (line.holds, line.game) == (False, "b")
    assert judged(Grows(3 / 4), large).why == "the slope's interval does not lie above 3/4 + 0.05"


def test_a_crooked_line_refutes_no_rate() -> None:
    assert judged(Grows(3 / 4), made_up(lambda T: T * (0.1 if T == 10_000 else 1))).holds


def test_without_a_line_only_nothing_left_is_any_rate() -> None:
    assert judged(Grows(1 / 2), made_up(lambda T: -T)).holds
    line = judged(Grows(1 / 2), made_up(lambda T: T - 5000))
    assert (line.holds, line.slope, line.why) == (False, None, "no line can be fitted")


@pytest.mark.parametrize(("slope", "holds"), [(0.69, False), (0.71, True), (0.75, True), (0.79, True), (0.81, False)])
def test_a_rate_is_attained_by_a_slope_near_it(slope: float, holds: bool) -> None:
    assert judged(Attains(3 / 4), made_up(lambda T: 7 * T**slope)).holds == holds


def test_a_rate_is_attained_by_a_slope_whose_interval_contains_it() -> None:
    bent = judged(Attains(3 / 4), made_up(lambda T: T**0.85 * (0.5 if T == 1_000_000 else 1)))
    assert abs((bent.slope or 0) - 0.75) < 0.05 or (bent.low or 1) <= 0.75 <= (bent.high or 0)
    assert bent.holds
    assert not judged(Attains(3 / 4), made_up(lambda T: T**0.75, horizons=(10, 100))).holds  # two horizons are no line


# Equality ----------------------------------------------------------------------------------------------------------------


def test_two_learners_are_the_same_to_the_last_bit_or_they_are_not() -> None:
    one, other = made_up(lambda T: sqrt(T)), made_up(lambda T: sqrt(T), learner="ewa eta=1")
    assert judged(Same("ewa"), one, other).holds
    apart = made_up(lambda T: np.nextafter(sqrt(T), 0) if T == 1000 else sqrt(T), learner="ewa eta=1")
    line = judged(Same("ewa"), one, apart)
    assert not line.holds
    assert line.bound == 0


# Claims ------------------------------------------------------------------------------------------------------------------


def test_a_claim_is_about_the_games_and_learners_that_it_names() -> None:
    found = [
        made_up(lambda T: sqrt(T), "a", "lewa"),
        made_up(lambda T: 2 * sqrt(T), "a x=1", "lewa tuning=paper"),
        made_up(lambda T: 3 * sqrt(T), "ab", "lewa@printed"),
    ]
    rule = Grows(1 / 2, learner="lewa tuning=paper")
    lines = verdict(Claim("title", "study", {"regret": replace(rule, game="a"), "violation": rule}), found)
    assert [(line.quantity, line.game) for line in lines] == [("regret", "a x=1"), ("violation", "a x=1")]
    (line,) = verdict(Claim("title", "study", {"regret": Grows(1 / 2, game="a")}), found)
    assert line.measured == 2000
    (line,) = verdict(Claim("title", "study", {"regret": Grows(1 / 2, game="only a")}), found)
    assert line.measured == 1000
    with pytest.raises(ValueError, match="has no run for this claim"):
        verdict(Claim("title", "study", {"regret": Grows(1 / 2, game="b")}), found)


def test_a_study_is_split_into_series_whatever_the_order_of_its_horizons() -> None:
    text = """
    name = "two"
    rounds = [300, 100, 200]
    seeds = 2
    [[games]]
    name = "counterexample"
    floor = 0.5
    [[learners]]
    name = "ewa"
    settings = { eta = "2 T^(-1/2)" }
    [[learners]]
    name = "lewa"
    """
    study = parse(text)
    found = series(study, [execute(run) for run in reversed(expand(study))])
    assert [(one.learner, one.rounds) for one in found] == [
        ("ewa eta=2 T^(-1/2)", [100, 200, 300]),
        ("lewa", [100, 200, 300]),
    ]
    assert [len(rows) for rows in found[0].rows] == [2, 2, 2]
    eta = [run.build()[0].parameters["eta"] for run in found[0].runs]
    assert eta == [2 * T**-0.5 for T in (100, 200, 300)]
    assert found[0].values("regret")[2][1] == execute(expand(study)[1])["regret"]


def test_fractions_are_short() -> None:
    assert [fraction(x) for x in (3 / 4, 2 / 3, 5 / 6, 7 / 8, 1.0, 1 / 2)] == ["3/4", "2/3", "5/6", "7/8", "1", "1/2"]
