"""The governor of an agent: what it promises of the debts holds on every path, and everything replays to the bit."""

import json
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theorems.instances import HUNT

from lewa import Agent, Governor, LearnerOptions, at_least, at_most
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.governor.rule import Rule, best_mixture
from lewa.agent.governor.status import governor_status
from lewa.agent.records import Change, Record
from lewa.agent.status.assumptions import NEVER_SAFE

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

ACTIONS = ["safe", "b", "c"]
COST, QUALITY = at_most("cost", 0.4), at_least("quality", 0.5, range=(0, 2))


def test_a_debt_never_passes_its_bound_whatever_comes_late_or_never_and_whatever_is_masked() -> None:
    @settings(max_examples=25, deadline=None)
    @given(
        data=st.data(),
        learner=st.sampled_from(["auto", "lewa"]),
        policy=st.sampled_from(["charge", "expire"]),
        slack=st.floats(0, 0.3),
        most=st.integers(1, 12),
    )
    def law(data: st.DataObject, learner: str, policy: str, slack: float, most: int) -> None:
        sure = {"cost": 0.4 - slack, "quality": 0.5 + slack}
        governor = Governor("safe", sure=sure, debt={"cost": 0.6 * most, "quality": 0.5 * most})

        def fresh() -> Agent:
            given_to: dict[str, Any] = {"horizon": 100, "learner": learner, "unanswered": policy, "governor": governor}
            return Agent(ACTIONS, [COST, QUALITY], **{"seed": 0, **given_to})

        agent, full = fresh(), learner == "lewa"
        unit = st.floats(0, 1)
        debt, open_ones, records = np.zeros(2), list[Any](), list[Record]()
        for _ in range(data.draw(st.integers(1, 40))):
            deed = data.draw(st.integers(0, 5))
            if deed < 3 or not open_ones:
                masked = data.draw(st.sampled_from([None, None, None, ["b", "c"], ["safe", "b"]]))
                decision = agent.pull(available=masked)
                # Nature does its worst, but for the safe action.
                bad = data.draw(st.booleans())
                cost = [1.0 if bad else data.draw(unit) for _ in ACTIONS]
                quality = [0.0 if bad else 2 * data.draw(unit) for _ in ACTIONS]
                cost[0], quality[0] = min(cost[0], sure["cost"]), max(quality[0], sure["quality"])
                i = ACTIONS.index(str(decision.action))
                debt += [cost[i] - 0.4, 0.5 - quality[i]]
                open_ones.append((decision, i, cost, quality))
                records.append(decision)
            else:
                decision, i, cost, quality = open_ones.pop(data.draw(st.integers(0, len(open_ones) - 1)))
                if deed == 3:
                    records.append(agent.close(decision))  # lost
                else:
                    told: dict[str, Any] = {"cost": cost if full else cost[i], "quality": quality if full else quality[i]}
                    if deed == 4:  # in two parts
                        records.append(agent.update(decision, cost=told.pop("cost")))
                    told["reward"] = [0.5] * 3 if full else 0.5
                    records.append(agent.update(decision, **told))
            stands = agent.status().governor
            assert stands is not None
            ledger = agent._state.ledger
            assert isinstance(ledger, DebtLedger)
            for j, bound in enumerate(stands.bounds):
                assert bound is not None
                at_worst = ledger.eased[j]  # what decisions without an answer may have cost more than was filled in
                assert policy == "charge" or at_worst == 0
                assert debt[j] <= stands.reserved[j] + at_worst + 1e-9
                assert debt[j] <= bound + at_worst + 1e-9
                assert stands.reserved[j] <= bound + 1e-9
                assert ledger.counts["filled"] == 0 or f"they would add {at_worst:.4g}" in stands.promise[j]
                if not stands.unsafe:
                    assert bound == governor.debt[("cost", "quality")[j]]
        again = fresh().replay(json.loads(json.dumps([record.plain() for record in records])))
        assert again.snapshot() == agent.snapshot()
        restored = Agent.restore(json.loads(json.dumps(agent.snapshot())))
        assert restored.snapshot() == agent.snapshot()
        assert restored.pull() == again.pull() == agent.pull()

    law()


def sure_ledger(rho: float, bound: float) -> DebtLedger:
    wish = Governor("safe", sure={"cost": 0.4 - rho}, debt={"cost": bound})
    return DebtLedger(Rule(wish, ["safe", "b"], [COST]), [0.0])


def test_safe_rounds_are_at_most_what_the_learners_own_debt_calls_for() -> None:
    """G2, on every path: delays, losses, and a learner that spends at random."""
    for seed in range(30):
        dice, rho, bound = np.random.default_rng(seed), 0.1 + 0.3 * (seed % 3) / 2, 0.6 + seed % 7
        ledger, inside, open_inside, most, waiting = sure_ledger(rho, bound), 0.0, 0, 0.0, []
        for t in range(1, 400):
            safe = ledger.next_play(None) is not None
            if safe:
                most = max(most, (inside + open_inside - bound + 0.6) / rho)
                assert ledger.counts["safe"] + 1 <= 1 + most + 1e-9
            ledger.book(t, 0 if safe else 1)
            cost = 0.4 - rho if safe else float(dice.random() < 0.7)
            inside, open_inside = (inside, open_inside) if safe else (inside + cost - 0.4, open_inside + 1)
            waiting.append((t + int(dice.integers(0, 30)), t, cost, safe))
            for item in [item for item in waiting if item[0] <= t]:
                waiting.remove(item)
                if dice.random() < 0.98:
                    ledger.settle(item[1], 0, {"cost": item[2]})
                    ledger.close(item[1], whole=True)
                    open_inside -= not item[3]
        assert ledger.counts["safe"] > 0


def test_a_play_that_is_safe_in_the_mean_passes_the_bound_with_no_more_than_its_probability() -> None:
    """G3: the learner always spends 1; the safe action spends a coin of mean 0.3."""
    rule, runs, broken, passed = (
        Rule(Governor("safe", mean={"cost": 0.3}, debt={"cost": 3.0}), ["safe", "b"], [COST]),
        60 if HUNT else 20,
        0,
        0,
    )
    from lewa.agent.governor.status import governor_status

    for seed in range(runs):
        dice, ledger, debt, worst, peak = np.random.default_rng(seed), DebtLedger(rule, [0.0]), 0.0, -np.inf, 0.0
        for t in range(1, 1000):
            safe = ledger.next_play(None) is not None
            ledger.book(t, 0 if safe else 1)
            cost = float(dice.random() < 0.3) if safe else 1.0
            ledger.settle(t, 0, {"cost": cost})
            ledger.close(t, whole=True)
            debt += cost - 0.4
            peak = max(peak, debt)
            stands = governor_status(ledger)
            assert stands is not None
            assert stands.bounds[0] is not None
            worst = max(worst, debt - stands.bounds[0])
        broken += worst > 0
        passed += peak > 3.0
    assert broken <= 0.05 * runs
    assert passed > 0.9 * runs  # so that the bound of a sure action would have been wrong


def test_actions_that_are_safe_together_hold_all_debts() -> None:
    """G4: each action breaks one limit; the one with the most weight is played."""
    limits = [at_most("cost", 0.4), at_most("delay", 0.4)]
    sure = {"cost": [0.1, 0.6, 1.0], "delay": [0.6, 0.1, 1.0]}
    rule = Rule(Governor(sure=sure), ["a", "b", "c"], limits)
    assert rule.form == "weighted"
    assert rule.slack == pytest.approx([0.05, 0.05])
    ledger, debt = DebtLedger(rule, [0.0, 0.0]), np.zeros(2)
    for t in range(1, 800):
        play = ledger.next_play(None)
        i = 2 if play is None else int(np.argmax(play))
        ledger.book(t, i)
        values = [sure["cost"][i], sure["delay"][i]]
        ledger.settle(t, i, dict(zip(("cost", "delay"), values, strict=True)))
        ledger.close(t, whole=True)
        debt += np.array(values) - 0.4
        assert (debt <= np.array(rule.debt) + 1e-9).all()
    assert ledger.counts["safe"] > 100
    with pytest.raises(ValueError, match="must be at least"):
        Rule(Governor(sure=sure, debt={"cost": 5.0}), ["a", "b", "c"], limits)


def test_where_only_a_mixture_is_safe_debt_may_move_to_another_constraint_and_the_bound_covers_it() -> None:
    """G4 with decisions for which nothing safe was there: the bound has the norm of what they added."""
    rule = Rule(
        Governor(sure={"cost": [0.0, 1.0], "delay": [0.45, 0.3]}),
        ["a", "b", "c"],
        [at_most("cost", 0.4), at_most("delay", 0.4)],
    )
    assert rule.form == "weighted"
    ledger, unsafe = DebtLedger(rule, [0.0, 0.0]), 2000
    values = {0: (0.0, 0.45), 1: (1.0, 0.3), 2: (1.0, 1.0)}
    for t in range(1, 8000):
        play = ledger.next_play(np.array([0.0, 0.0, 1.0]) if ledger.counts["unsafe"] < unsafe else None)
        i = 2 if play is None else int(np.argmax(play))
        ledger.book(t, i)
        ledger.settle(t, i, dict(zip(("cost", "delay"), values[i], strict=True)))
        ledger.close(t, whole=True)
    status = governor_status(ledger)
    assert status is not None
    norm = sqrt(2) * 0.6
    assert status.bounds == pytest.approx([debt + unsafe * norm for debt in rule.debt])
    assert ledger.peak[1] > rule.debt[1] + unsafe * 0.6  # each constraint's own excess would not do
    assert all(peak <= bound for peak, bound in zip(ledger.peak, status.bounds, strict=True) if bound is not None)


def test_beyond_reserves_the_bound_grows_by_what_was_beyond_them() -> None:
    """G6: heavy tails, and a reserve that is a guess."""
    limit = at_most("cost", 1.0, range=(0, 100))
    for seed in range(40):
        dice = np.random.default_rng(seed)
        wish = Governor("safe", sure={"cost": 0.3}, debt={"cost": 5.0}, reserve={"cost": 2.0})
        ledger, debt, waiting, worst = DebtLedger(Rule(wish, ["safe", "b"], [limit]), [0.0]), 0.0, [], 0.0
        for t in range(1, 200):
            safe = ledger.next_play(None) is not None
            ledger.book(t, 0 if safe else 1)
            cost = 0.3 * dice.random() if safe else float(dice.pareto(1.1))
            debt += cost - 1.0
            worst = max(worst, debt)
            waiting.append((t + int(dice.integers(0, 15)), t, cost))
            for item in [item for item in waiting if item[0] <= t]:
                waiting.remove(item)
                ledger.settle(item[1], 0, {"cost": item[2]})
                ledger.close(item[1], whole=True)
        for _, number, cost in waiting:
            ledger.settle(number, 0, {"cost": cost})
        stands = governor_status(ledger)
        assert stands is not None
        assert stands.bounds[0] is not None
        assert worst <= stands.bounds[0] + 1e-9
        assert "(G6)" in stands.promise[0]


def test_telling_a_safe_action_governs_by_default_and_says_what_is_promised() -> None:
    agent = Agent(["small", "large"], [at_most("cost", 0.002, range=(0, 0.01))], seed=0, governor=Governor("small"))
    stands = agent.status().governor
    assert stands is not None
    assert list(stands.bounds) == pytest.approx([100 * 0.008])  # a hundred decisions at their worst
    assert str(stands) == (
        "the debt of cost at most 0.002 never exceeds 0.8, on every path, if 'small' never has cost above 0.002 and no "
        "decision has cost above 0.01 (G1)"
    )
    assert "governor: the debt of cost at most 0.002 never exceeds 0.8" in str(agent.status())
    assert json.loads(json.dumps(agent.status().plain()))["governor"]["bounds"] == [pytest.approx(0.8)]
    longer = Agent(
        ["small", "large"], [at_most("cost", 0.002, range=(0, 0.01))], horizon=10**6, seed=0, governor=Governor("small")
    ).status()
    assert longer.governor is not None
    assert list(longer.governor.bounds) == pytest.approx([1000 * 0.008])
    assert Agent(["a"], [COST], governor="off", seed=0).status().governor is None
    learned = Agent(["a"], [COST], seed=0).status().governor
    assert learned is not None
    assert learned.form == "learned"


def spend(agent: Agent, rounds: int, records: list[Record], dice: np.random.Generator) -> None:
    for _ in range(rounds):
        decision = agent.pull()
        records.append(decision)
        cost = {"safe": 0.1, "b": 0.8, "c": 1.0, "d": 0.9}[str(decision.action)] * dice.random()
        records.append(agent.update(decision, reward=float(decision.action != "safe"), cost=cost))


def test_changes_under_a_governor_replay_to_the_bit_and_keep_the_promise() -> None:
    def fresh() -> Agent:
        return Agent(ACTIONS, [COST], learner="exp3", horizon=1000, seed=2)

    agent, records, dice = fresh(), list[Record](), np.random.default_rng(0)
    spend(agent, 40, records, dice)
    left_open = agent.pull()
    records.append(left_open)
    records.append(agent.set_governor(Governor("safe", sure={"cost": 0.2}, debt={"cost": 4.0}), who="ops", why="a hard cap"))
    stands = agent.status().governor
    assert stands is not None
    assert stands.since == 41
    owed = agent.status().constraints[0].debt
    assert list(stands.reserved) == pytest.approx([owed + 0.6])
    changes: list[Callable[[], Change]] = [
        lambda: agent.set_limit("cost", 0.3),
        lambda: agent.add_action("d", like="b"),
        lambda: agent.set_range("cost", (0, 1.5)),
        lambda: agent.retire_action("c"),
        lambda: agent.set_governor(Governor({"safe": 0.9, "b": 0.1}, mean={"cost": 0.2}, debt={"cost": 6.0})),
        lambda: agent.set_governor(None),
    ]
    for change in changes:
        spend(agent, 60, records, dice)
        records.append(change())
    records.append(agent.update(left_open, reward=0.0, cost=0.9))
    again = fresh().replay(json.loads(json.dumps([record.plain() for record in records])))
    assert again.snapshot() == agent.snapshot()
    assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).pull() == agent.pull()


def test_safe_decisions_are_part_of_the_play_and_of_no_learner_that_weighs_propensities() -> None:
    wish = Governor("safe", sure={"cost": 0.1}, debt={"cost": 1.0})
    agent = Agent(ACTIONS, [COST], learner="exp3", horizon=100, governor=wish, seed=0)
    before = None
    for _ in range(40):
        decision = agent.pull()
        safe = decision.play == (1.0, 0.0, 0.0)
        learner = agent.snapshot()["state"]["learner"]
        agent.update(decision, reward=0.5, cost=0.1 if decision.action == "safe" else 1.0)
        assert (agent.snapshot()["state"]["learner"] == learner) == safe
        before = before or (safe and decision.probability == 1.0)
    assert before
    assert "of the governor" in agent.status().guarantee.reason or agent.status().guarantee.regret is None


def test_what_is_open_is_counted_at_its_worst_and_the_status_says_so() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor("safe", debt={"cost": 3.0}), seed=0)
    for _ in range(5):
        agent.pull()
    assert agent.pull().probability == 1.0
    codes = {warning.code: warning for warning in agent.status().warnings}
    assert "6 open decisions count at their worst cost" in codes["governor"]
    assert "lewa_safe_decisions_total" in agent.status().metrics()


def test_a_safe_action_that_is_not_safe_is_reported_and_nothing_is_promised() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor("safe", sure={"cost": 0.2}, debt={"cost": 0.6}), seed=0)
    for _ in range(5):
        agent.update(agent.pull(), reward=0.5, cost=1.0)
    stands = agent.status().governor
    assert stands is not None
    assert stands.bounds == (None,)
    assert stands.promise[0].startswith("no bound is proved for the debt of cost: ")
    assert "governor" in [warning.code for warning in agent.status().warnings]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"safe": "x"}, "there is no action 'x'"),
    ({"governor": "on"}, "governor must be a Governor, 'auto', 'learned' or 'off'"),
    (
        {"governor": Governor("safe", sure={"cost": 0.5})},
        "surely: cost at most 0.4 is not met by cost 0.5",
    ),
    ({"governor": Governor("safe", mean={"cost": 0.4})}, "must meet every limit in the mean, with slack"),
    ({"governor": Governor({"safe": 0.5, "b": 0.5})}, "must include cost"),
    ({"governor": Governor({"safe": 0.5, "b": 0.4}, mean={"cost": 0.1})}, "shares of at least 0 that sum to 1"),
    ({"governor": Governor("safe", debt={"cost": 0.1})}, "the debt of cost must be at least 0.6"),
    ({"governor": Governor("safe", debt={"cots": 1.0})}, "there is no constraint 'cots'; did you mean 'cost'"),
    ({"governor": Governor(mean={"cost": 0.1})}, "pass safe="),
    ({"governor": Governor(sure={"cost": [0.5, 0.9, 0.9]})}, "some mixture of the sure values must meet every limit"),
    ({"governor": Governor("safe", epsilon=0.0)}, "epsilon must lie strictly between 0 and 1"),
    ({"safe": "b", "governor": Governor("safe")}, "the safe action must be named once"),
]


@pytest.mark.parametrize(("wish", "sentence"), BAD)
def test_what_breaks_a_law_is_refused_in_one_sentence(wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Agent(ACTIONS, [COST], **{"seed": 0, **wish})


def test_a_limit_that_the_safe_action_does_not_keep_is_refused_and_nothing_has_changed() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor("safe", sure={"cost": 0.2}), seed=0)
    before = agent.snapshot()
    with pytest.raises(ValueError, match=r"not met by cost 0\.2"):
        agent.set_limit("cost", 0.1)
    with pytest.raises(ValueError, match="call set_governor first"):
        agent.retire_action("safe")
    assert agent.snapshot() == before
    agent.set_limit("cost", 0.3)
    assert agent.setup.constraints[0].limit == 0.3


def test_another_safe_action_is_played_where_the_first_is_not_there() -> None:
    wish = Governor(sure={"cost": [0.1, 0.3, 1.0]}, debt={"cost": 0.6})
    rule = Rule(wish, ACTIONS, [COST])
    ledger = DebtLedger(rule, [0.5])
    for there, action in (([1, 1, 1], 0), ([0, 1, 1], 1), ([0, 0, 1], None)):
        play = ledger.next_play(np.array(there, dtype=float))
        assert (None if play is None else int(np.argmax(play))) == action


def test_best_mixture_is_the_one_whose_least_slack_is_largest() -> None:
    dice = np.random.default_rng(3)
    for _ in range(20):
        gap = dice.random((2, 4)) - 0.5
        best = (gap @ best_mixture(gap)).min()
        others = dice.dirichlet(np.ones(4), 300)
        assert (others @ gap.T).min(axis=1).max() <= best + 1e-9


@pytest.mark.parametrize(("learner", "named"), [("loss-lewa", [True]), ("lewa", [True, False])])
def test_a_bound_that_does_not_hold_on_every_path_assumes_that_the_governor_never_decides(
    learner: str, named: list[bool]
) -> None:
    wish = Governor("safe", sure={"cost": 0.1}, debt={"cost": 1000.0})
    agent = Agent(
        ["safe", "b"], [COST], horizon=1000, governor=wish, seed=0, learner=LearnerOptions(learner, settings={"delay": 1})
    )
    value: Any = [0.4, 0.4] if learner == "lewa" else 0.4
    before = agent.pull()
    for _ in range(999):
        decision = agent.pull()
        agent.update(before, reward=value, cost=value)
        before = decision
    statements = agent.status().guarantees
    assert [item.kind != "pathwise" for item in statements][: len(named)] == named
    assert all((NEVER_SAFE in item.assumptions) == (item.kind != "pathwise") for item in statements)
    assert all(item.regret is not None for item in statements)
