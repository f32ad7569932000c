"""Budgets say what they mean, refuse what contradicts itself, and go to JSON and back."""

import json

import pytest

from lewa.budgets.budget import Budget, budget, from_plain


@pytest.mark.parametrize(
    "made",
    [
        budget("cost", 1300, "day", zone="Europe/Berlin", never_more_than=1332, range=(0, 3), unit="EUR"),
        budget("cost", 40_000, "month", starts=15, rollover=0.1, spend_at_least=20_000, worst={"large": 0.4, "small": 0.01}),
        budget("cost", share=0.6, purse="org/research", at_least=0.5, sure=0.999),
        budget("tokens", 5, ("2026-11-20", "2026-12-24"), purse="org/*/*", when_spent="small", range=(0, 2)),
    ],
)
def test_a_budget_goes_to_json_and_back(made: Budget) -> None:
    assert from_plain(json.loads(json.dumps(made.to_plain()))) == made


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "needs an amount"),
        ({"amount": 5, "share": 0.5, "purse": "a"}, "both"),
        ({"share": 0.5}, "purse above"),
        ({"amount": 5, "at_least": 0.5, "purse": "a/*"}, "full name"),
        ({"amount": 5, "sure": 0.4}, "above 0.5"),
        ({"amount": 5, "sure": 0.9, "range": (-1, 1)}, "below 0"),
        ({"amount": 0.1, "never_more_than": 0.5}, "largest cost"),
        ({"amount": 5, "never_more_than": 4}, "at least the amount"),
        ({"amount": 5, "spend_at_least": 6}, "at most the amount"),
        ({"amount": -5}, "above 0"),
        ({"amount": 5, "rollover": 2}, "rollover must lie in"),
        ({"amount": 5, "purse": "a//b"}, "path"),
        ({"amount": "5"}, "must be a number"),
        ({"amount": 5, "name": "reward"}, "not 'reward'"),
    ],
)
def test_what_contradicts_itself_is_refused(terms: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        budget(**{"name": "cost", **terms})  # type: ignore[arg-type]


def test_the_ceiling_leaves_room_for_two_decisions() -> None:
    assert budget("cost", 100, range=(0, 10)).ceiling(100) == 120
    assert budget("cost", 1000, worst={"large": 3.0}).ceiling(1000) == 1025
    assert budget("cost", 100, never_more_than=101).ceiling(80) == 101
