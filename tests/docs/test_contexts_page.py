"""docs/contexts.md states its goals, and which of them its own tables miss."""

import re

import numpy as np
import pytest
from tools.context_goals import BLIND, LATE, PAGE, goals, sections, with_goals
from tools.contexts import Problem, blind, in_hindsight, play, with_delay

from lewa.learners import SquareCbLewa

TABLE = """
take 70 us.

### set, limit 8

20,000 rounds, 3 features.

| | random order | used | file order | used | us |
|---|---|---|---|---|---|
| squarecb-lewa | 98.0% | 1.000 | 96.5% | 1.006 | 1.0 |
| squarecb-lewa, without context | 90.0% | 1.000 | 99.0% | 1.000 | 0.7 |
| squarecb-lewa, answers 1,000 late | 97.9% | 1.000 | 90.0% | 1.000 | 2.9 |

## Beside
"""


def test_the_goals_of_the_page_follow_from_its_tables() -> None:
    page = PAGE.read_text()
    assert with_goals(page) == page
    assert len(sections(page)) >= 8


def test_a_goal_that_is_missed_is_said_to_be() -> None:
    lines = goals(TABLE)
    for n, missed in enumerate(
        [
            "set, limit 8 (98 % and 96.5 %)",
            "(1.006)",
            "set, limit 8 (2.5 %)",
            "",
            "set, limit 8 (6.7 %)",
            *[""] * 4,
            "70 us.",
        ]
    ):
        assert missed in lines[n]
        assert ("**Missed**" in lines[n]) == bool(missed)
        assert lines[n].endswith("Met.") != bool(missed)
    fine = TABLE.replace("96.5", "99.5").replace("1.006", "1.005").replace("| 90.0% | 1.000 | 2.9", "| 99.0% | 1.000 | 2.9")
    assert not any("Missed" in line for line in goals(fine.replace("70 us", "59 us")))


REFERENCES = """
take 50 us.

### set, limit 8

20,000 rounds, 3 features.

| | random order | used | file order | used | us |
|---|---|---|---|---|---|
| squarecb-lewa | 95.0% | 1.000 | 96.5% | 1.000 | 1.0 |
| squarecb-lewa, without context | 90.0% | 1.000 | 90.0% | 1.000 | 0.7 |
| squarecb-lewa, answers 1,000 late | 94.9% | 1.000 | 90.0% | 1.000 | 2.9 |
| squarecb-lewa, prices expected | 95.0% | 1.000 | 96.5% | 1.000 | 1.0 |
| squarecb-lewa, prices expected, answers 1,000 late | 93.0% | 1.000 | 90.0% | 1.000 | 2.9 |
| squarecb-lewa, contexts shuffled | 88.0% | 1.000 | 89.9% | 1.000 | 1.0 |
| linear, full information, in hindsight | 96.0% | 1.000 | 96.0% | 1.000 | - |
| linear, full information, 1,000 late | 95.0% | 1.000 | 91.0% | 1.000 | - |
"""


def test_a_goal_is_compared_with_what_linear_policies_can_earn() -> None:
    lines = goals(REFERENCES)
    assert lines[0].endswith("**Missed**: set, limit 8 (95 % and 96.5 %; linear in hindsight: 96 %).")
    assert lines[3].endswith("**Missed**: set, limit 8 (2.2 %).")  # shuffled contexts
    assert lines[4].endswith("random order. Met.")
    assert lines[5].endswith("file order. **Missed**: set, limit 8 (6.7 %).")
    assert lines[6].endswith("**Missed**: set, limit 8 (2.1 %).")  # expected prices
    assert lines[7].endswith("Met.")  # 90 of 91
    other = REFERENCES.replace(
        "| linear, full information, in",
        "| squarecb-lewa, 9 kernel features | 97.0% | 1.000 | 96.9% | 1.000 | 9.0 |\n| linear, full information, in",
    )
    assert "; linear in hindsight: 96 %; 9 kernel features: 97 % and 96.9 %)" in goals(other)[0]
    assert goals(other)[1].endswith("such a row. **Missed**: set, limit 8 (97 % and 96.9 %).")
    for used, met in (("1.005", True), ("1.006", False)):
        best = other.replace("| 96.9% | 1.000 | 9.0 |", f"| 97.1% | {used} | 9.0 |")
        assert "; 9 kernel features: 97 % and 97.1 %)" in goals(best)[0]
        assert goals(best)[1].endswith("Met.") == met
    early = REFERENCES.replace(
        "| linear, full information, in", f"| {BLIND} | 94.0% | 1.000 | 95.0% | 1.000 | - |\n| linear, full information, in"
    )
    assert goals(early)[4] == lines[4]
    assert "set, limit 8 (6.7 %; 1.6 % by the rounds before the first answer)" in goals(early)[5]
    assert goals(early)[6] == lines[6]  # compared with expected prices


def test_on_the_speech_set_late_answers_have_a_goal_in_each_order() -> None:
    lines = goals(TABLE.replace("### set", "### context_speech_command"))[6:8]
    assert lines[0].endswith("random order. **Missed**: context_speech_command, limit 8 (97.9 %).")
    assert lines[1].endswith("file order. **Missed**: context_speech_command, limit 8 (90 %).")


def test_before_the_first_late_answer_the_best_fixed_mixture_is_played() -> None:
    dice = np.random.default_rng(0)
    rewards, price = dice.random((LATE + 20, 2)) * [1.0, 0.5], np.array([1.0, 0.0])
    none = np.zeros((len(rewards), 0))
    problem = Problem(rewards, price, 0.5, np.ones((len(rewards), 1)), np.zeros(len(rewards), dtype=np.int64), none, none)
    actions = play(problem, SquareCbLewa.tuned(2, len(rewards), 0.5, features=1), problem.contexts)
    mixture, last = 0.5 * rewards[:LATE].mean(axis=0).sum(), np.arange(LATE, LATE + 20)
    earned, spent = rewards[last, actions[LATE:]].sum(), price[actions[LATE:]].sum()
    assert blind(problem).reward == pytest.approx((LATE * mixture + earned) / (LATE + 20))
    assert blind(problem).spent == pytest.approx((LATE * 0.5 + spent) / (LATE + 20))


CURVED_ROWS = """| squarecb-lewa, curved confidence | 98.9% | 1.000 | 98.9% | 1.000 | 9.0 |
| squarecb-lewa, curved confidence, answers 1,000 late | LATE% | 1.000 | 90.0% | 1.000 | 9.0 |
| linear, full information, in"""


def test_a_curved_confidence_has_goals_of_its_own_in_random_order() -> None:
    place = goals(REFERENCES).index(goals(REFERENCES)[-2])  # behind the speech set
    for title in ("set", "context_speech_command"):
        page = REFERENCES.replace("### set", f"### {title}").replace("| linear, full information, in", CURVED_ROWS)
        for late, met in (("98.0", True), ("97.9", False)):
            lines = goals(page.replace("LATE", late))[place : place + 2]
            assert [line.endswith("Met.") for line in lines] == [met, met or title == "set"]


def test_a_linear_policy_with_the_best_price_spends_the_limit() -> None:
    rewards, price = np.array([[1.0, 0.0], [1.0, 1.0]] * 300), np.array([1.0, 0.0])
    contexts = np.array([[1.0, 1.0], [1.0, -1.0]] * 300)
    assert in_hindsight(rewards, price, 0.5, contexts) == pytest.approx((1.0, 0.5))
    assert in_hindsight(rewards, price, 0.25, contexts) == pytest.approx((0.75, 0.25))
    assert in_hindsight(rewards, price, 0.5, contexts[:, :1]) == pytest.approx((0.75, 0.5))
    assert with_delay(rewards, price, 0.5, contexts, late=600) == pytest.approx((0.75, 0.5))  # nothing is ever told


# What a prototype in NumPy earned on the same prompts, with the same 34 features, budgets and constants: the mean reward on
# the held-out prompts over 20 orders.
PROTOTYPE = {
    "2.93e-05": 0.7931,
    "8.29e-05": 0.8149,
    "0.000235": 0.8676,
    "0.000664": 0.9199,
    "0.00188": 0.9234,
    "0.00531": 0.9266,
    "0.015": 0.9303,
}


def test_the_rewards_beside_the_router_are_those_of_the_prototype_within_thousandths() -> None:
    """Within 0.003 at all budgets but one, where the default earns 0.0039 less, and 0.0033 less with `repay=250`."""
    table = PAGE.read_text().split("\n## Beside the published router\n")[1]
    rows = {cells[0]: cells[1:] for cells in re.findall(r"^\| ([\d.e-]+) \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|", table, re.M)}
    assert rows.keys() == PROTOTYPE.keys()
    off = {budget: [round(float(reward) - PROTOTYPE[budget], 4) for reward in rows[budget]] for budget in rows}
    assert max(map(abs, off.pop("0.000235"))) <= 0.004
    assert all(abs(difference) <= 0.003 for pair in off.values() for difference in pair)
