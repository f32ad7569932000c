"""Purses by paths and patterns: what they are paid from, whom they refuse, and what they hand on."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from lewa.budgets import pace
from lewa.budgets.budget import Budget, budget
from lewa.budgets.pace import BUDGET, MINIMUM, PRICE, SPENT
from lewa.budgets.periods import Calendar, zone_data
from lewa.budgets.purses import Purses

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 19, 12, tzinfo=BERLIN).timestamp()
DAY = 86_400.0


def spend(purses: Purses, path: str, time: float, cost: float) -> None:
    look = purses.look(path, time)
    purses.bill(purses.take(look, cost, cost), cost)


def test_a_decision_is_paid_from_every_purse_of_its_path() -> None:
    purses = Purses(
        [
            budget("cost", 100),
            budget("cost", share=0.5, purse="research"),
            budget("cost", 10, "month", purse="*/*"),
            budget("cost", 2, "month", purse="research/ada"),
        ]
    )
    look = purses.look("research/eve/laptop", NOON)
    assert [purse.path for purse in look.purses] == ["", "research", "research/eve"]
    assert [purse.budget.amount for purse in purses.look("research/ada", NOON).purses][-1] == 2
    spend(purses, "research/eve", NOON, 1.0)
    spend(purses, "sales/bob", NOON, 1.0)
    spend(purses, "other", NOON, 1.0)
    spent = {path: purse.numbers[SPENT] for path, purse in purses.nodes.items()}
    assert spent == {"": 3.0, "research": 1.0, "research/ada": 0.0, "research/eve": 1.0, "sales/bob": 1.0}


def test_a_refusal_names_the_purse_and_when_there_is_money_again() -> None:
    purses = Purses([budget("cost", 100), budget("cost", 2, purse="*", zone="Europe/Berlin", never_more_than=2)])
    spend(purses, "ada", NOON, 1.0)
    spend(purses, "ada", NOON, 0.5)
    look = purses.look("ada", NOON)
    assert look.fitting([0.1, 0.5], [0.2, 1.0]) == [True, False]
    assert look.fitting([0.6, 0.9], [0.6, 1.0]) == [False, False]
    refusal = look.spent([0.6, 0.9], [0.6, 1.0])
    assert (refusal.purse, refusal.until) == ("ada", datetime(2026, 11, 20, tzinfo=BERLIN).timestamp())
    assert str(refusal) == "the budget of ada is spent until 2026-11-19T23:00+00:00"
    assert purses.look("eve", NOON).fitting([0.1, 0.9], [0.6, 1.0]) == [True, True]
    with pytest.raises(ValueError, match="an action fits"):
        purses.look("eve", NOON).spent([0.6], [0.6])


def test_dear_actions_leave_money_for_the_cheapest() -> None:
    purses = Purses([budget("cost", 10, never_more_than=10)])
    look = purses.look("", NOON)._replace(rests=(50.0,))
    assert look.fitting([0.1, 1.0], [0.2, 1.0]) == [True, True]
    assert look._replace(rests=(95.0,)).fitting([0.1, 1.0], [0.2, 1.0]) == [True, False]


def test_if_no_action_leaves_enough_the_smallest_reserve_is_tried() -> None:
    """The cheapest by its mean may have the largest reserve."""
    purses = Purses([budget("cost", 10, never_more_than=10, range=(0, 10))])
    spend(purses, "", NOON, 5.0)
    look = purses.look("", NOON)._replace(rests=(10.0,))
    assert look.fitting([1.0, 2.0], [10.0, 3.0]) == [False, True]


def test_a_campaign_has_money_on_its_dates_only() -> None:
    purses = Purses([budget("cost", 10, ("2026-11-20", "2026-11-21"), zone="Europe/Berlin", never_more_than=10)])
    for time, fits in [(NOON, False), (NOON + DAY, True), (NOON + 2 * DAY, True), (NOON + 3 * DAY, False)]:
        look = purses.look("", time)
        assert look.fitting([0.1], [0.1]) == [fits]
    assert purses.look("", NOON + 3 * DAY).spent([0.1], [0.1]).until is None


def test_what_is_left_and_what_was_overspent_is_carried() -> None:
    purses = Purses([budget("cost", 10, rollover=0.5, never_more_than=30, range=(0, 20))])
    amounts = []
    for day, cost in enumerate([4.0, 16.0, 1.0]):
        spend(purses, "", NOON + day * DAY, cost)
        amounts.append(purses.nodes[""].numbers[BUDGET])
    assert amounts == [10, 13, 7]
    purses.look("", NOON + 5 * DAY)  # two days without a decision
    assert purses.nodes[""].numbers[BUDGET] == 10 + 0.5 * (10 + 0.5 * (10 + 0.5 * 6))


def test_no_plan_passes_the_ceiling() -> None:
    """What is carried over may be more than the period may ever cost."""
    purses = Purses([budget("cost", 10, rollover=1, never_more_than=12)])
    purses.look("", NOON)
    look = purses.look("", NOON + 5 * DAY)._replace(rests=(23.0,))
    purses.take(look, 0.5, 1.0)
    q = purses.nodes[""].numbers
    assert q[BUDGET] == 60
    assert pace.plan(q, 23.0) == 12 / 24


def test_a_saved_state_says_by_which_zones_its_periods_were_made() -> None:
    assert Purses([budget("cost", 10)]).to_plain()["zones"] == zone_data()


def test_the_price_of_a_path_is_the_sum_along_it() -> None:
    purses = Purses([budget("cost", 5), budget("cost", 1, purse="a"), budget("cost", 1, purse="b")])
    for _ in range(200):
        purses.take(purses.look("a", NOON), 1.0, 1.0)
    prices = [purses.nodes[path].numbers[PRICE] for path in ("", "a", "b")]
    assert prices[0] > 0
    assert prices[1] > prices[2] == 0
    assert purses.look("a", NOON).price == prices[0] + prices[1]
    assert purses.look("b", NOON).price == prices[0]


def test_a_limit_on_an_average_is_a_purse_without_a_period() -> None:
    """Two actions: the average cost of the decisions comes to the limit, whatever the time."""
    purses, dice = Purses([Budget("cost", amount=0.4, calendar=Calendar(""))]), np.random.default_rng(0)
    total, n = 0.0, 5000
    for _ in range(n):
        look = purses.look("", dice.uniform(0, 1e9))
        cost = 0.9 if 1.0 - 0.9 * look.price > 0.3 - 0.1 * look.price else 0.1
        assert look.fitting([cost], [1.0]) == [True]
        purses.bill(purses.take(look, cost, 1.0), cost)
        total += cost
    assert total / n == pytest.approx(0.4, rel=0.02)


def test_a_floor_lowers_the_price_of_the_purse_above() -> None:
    budgets = [budget("cost", 5, never_more_than=100), budget("cost", 5, purse="a", spend_at_least=4, never_more_than=100)]
    purses = Purses(budgets)
    for _ in range(200):
        purses.take(purses.look("b", NOON), 1.0, 1.0)
    for _ in range(50):
        purses.take(purses.look("a", NOON), 0.0, 1.0)
    assert 0 <= purses.look("a", NOON).price < purses.look("b", NOON).price


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ([budget("cost", 5), budget("time", 5)], "of it"),
        ([budget("cost", 5), budget("cost", 6)], "another path"),
        ([budget("cost", 5), budget("cost", 1, "month", purse="a", at_least=0.5)], "periods"),
        ([budget("cost", 5, sure=0.9), budget("cost", 1, purse="a", at_least=0.5)], "sure"),
        ([budget("cost", 5), *(budget("cost", 1, purse=name, at_least=0.6) for name in "ab")], "minimums"),
        ([budget("cost", share=0.5, purse="a/b")], "there is none"),
        ([], "one or more"),
    ],
)
def test_purses_that_contradict_each_other_are_refused(budgets: list[Budget], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Purses(budgets)


def test_a_minimum_of_a_purse_below_another_is_kept_back_at_the_top() -> None:
    """The counterexamples to a check level by level: a grandchild's minimum counts at the root, from the start."""
    budgets = [budget("cost", 10, never_more_than=10), budget("cost", 10, purse="a", never_more_than=10)]
    purses = Purses([*budgets, budget("cost", 10, purse="a/b", at_least=0.5, never_more_than=10)])
    assert purses.nodes["a/b"].numbers[MINIMUM] == purses.nodes[""].numbers[pace.SPARED] == 5
    for _ in range(20):
        look = purses.look("c", NOON)
        if look.fitting([0.0], [1.0]) == [True]:
            purses.take(look, 0.0, 1.0)
    assert purses.nodes[""].numbers[pace.RESERVED] == 5
    assert purses.look("a/b", NOON).fitting([0.0], [1.0]) == [True]


def test_a_refund_frees_no_minimum_of_others() -> None:
    budgets = [budget("cost", 10, range=(-9, 9), never_more_than=10), budget("cost", 10, purse="a", range=(-9, 9))]
    purses = Purses([*budgets, budget("cost", 10, purse="b", at_least=0.5, never_more_than=10)])
    purses.bill(purses.take(purses.look("a", NOON), 0.0, 1.0), -4.0)
    for path in ["c"] * 12 + ["a"]:
        look = purses.look(path, NOON)
        if look.refusing(0.0, 1.0) is None:
            purses.take(look, 0.0, 1.0)
    assert purses.nodes[""].numbers[SPENT] + purses.nodes[""].numbers[pace.RESERVED] == 5


def test_a_bill_after_the_final_one_is_refused() -> None:
    purses = Purses([budget("cost", 5)])
    hold = purses.take(purses.look("", NOON), 0.5, 1.0)
    purses.bill(hold, 0.5)
    with pytest.raises(ValueError, match="final"):
        purses.bill(hold, 0.5)


def test_a_saved_purse_without_a_budget_is_refused() -> None:
    plain = json.loads(json.dumps(Purses([budget("cost", 5)]).to_plain()))
    plain["purses"]["a"] = plain["purses"][""]
    with pytest.raises(ValueError, match="no budget says"):
        Purses.from_plain(plain)
