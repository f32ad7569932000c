"""The governor of an agent that learns what is safe: docs/theory_governor.md, on every path and in every mode."""

from collections.abc import Callable
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lewa import Agent, Governor, LearnerOptions, at_least, at_most
from lewa.agent.governor.learned import LearnedGovernor
from lewa.agent.records import Record
from lewa.kernels.guard import PRACTICAL, REPAY, WALL
from lewa.theory.learned import Problem, excess, repay_level, wall_level

ACTIONS = ["a", "b", "c"]
COST = at_most("cost", 0.4)
SHARE = at_least("share", 0.3)
SMALL = Governor(debt={"cost": 8.0, "share": 8.0})  # W; repay begins at 6


def ledger_of(agent: Agent) -> LearnedGovernor:
    ledger = agent._recorder.state.ledger
    assert isinstance(ledger, LearnedGovernor)
    return ledger


def hostile(agent: Agent, rounds: int, seed: int, late: int = 0, masks: bool = True) -> tuple[list[Record], list[int]]:
    """Costs that make the governor act, with late and missing answers and masks; return the records and the modes."""
    dice, records, modes, waiting = np.random.default_rng(seed), list[Record](), list[int](), list[Any]()
    for t in range(rounds):
        there = None
        if masks and dice.random() < 0.2:
            there = sorted(dice.choice(ACTIONS, size=2, replace=False).tolist())
        decision = agent.pull(available=there)
        records.append(decision)
        modes.append(ledger_of(agent).mode)
        cheap = decision.action == "c" or (t // 200) % 2 == 1
        cheap = cheap and t >= 60  # at first nothing keeps the limits
        cost, share = float(dice.random() < (0.1 if cheap else 0.95)), float(dice.random() < (0.9 if cheap else 0.15))
        waiting.append((decision, {"cost": cost, "share": share, "reward": 0.2 if decision.action == "c" else 1.0}))
        while len(waiting) > (0 if late == 0 else int(dice.integers(1, late + 1))):
            answered, values = waiting.pop(int(dice.integers(len(waiting))))
            if late and dice.random() < 0.05:
                records.append(agent.close(answered))
                continue
            if late and dice.random() < 0.3:
                records.append(agent.update(answered, cost=values.pop("cost")))
            records.append(agent.update(answered, **values))
    return records, modes


@pytest.mark.plain
@pytest.mark.parametrize("late", [0, 2, 9])
@pytest.mark.parametrize("learner", ["squarecb-lewa", "exp3"])
def test_it_replays_to_the_bit_in_every_mode_and_goes_on_from_a_file(learner: str, late: int) -> None:
    wish: dict[str, Any] = {"learner": learner, "horizon": 900, "governor": SMALL, "seed": 5}
    agent = Agent(ACTIONS, [COST, SHARE], **wish)
    records, modes = hostile(agent, 900, seed=late, late=late)
    assert {PRACTICAL, REPAY, WALL} <= set(modes)
    again = Agent(ACTIONS, [COST, SHARE], **wish)
    for n, record in enumerate(records):
        again.apply(record)
        if n % 97 == 0:
            again = Agent.restore(again.snapshot())
    assert again.snapshot() == agent.snapshot()
    assert [again.pull().action for _ in range(20)] == [agent.pull().action for _ in range(20)]


@pytest.mark.plain
@pytest.mark.parametrize("late", [0, 1, 2, 9])
def test_below_the_wall_no_debt_passes_its_level_however_late_answers_are(late: int) -> None:
    """With o decisions open and l lost ones, each of them can add 1 - b."""
    for seed in range(2):
        agent = Agent(ACTIONS, [COST, SHARE], governor=SMALL, learner="exp3", horizon=600, seed=seed)
        dice, waiting = np.random.default_rng(seed), list[Any]()
        for _ in range(80):
            decision = agent.pull()
            waiting.append((decision, float(dice.random() < 0.9), float(dice.random() < 0.2)))
            status = agent.status().governor
            assert status is not None
            open_now = len(waiting)
            for j, worst in enumerate((0.6, 0.3)):
                if status.mode != "wall" and status.proved == 0:
                    owed = agent._recorder.state.debts(j)[0] + worst * open_now
                    assert owed <= 8 + worst * (open_now - 1) + 1e-9
                    bound = status.bounds[j]
                    assert bound is not None
                    assert owed <= bound + 1e-9
            while len(waiting) > late:
                answered, cost, share = waiting.pop(0)
                agent.update(answered, reward=1.0, cost=cost, share=share)


@pytest.mark.plain
def test_where_it_is_silent_it_changes_nothing() -> None:
    governed, free = (Agent(ACTIONS, [COST], governor=governor, seed=3) for governor in ("auto", "off"))
    assert free.status().governor is None
    dice = np.random.default_rng(0)
    for _ in range(300):
        one, other = governed.pull(), free.pull()
        assert one[:6] == other[:6]
        cost = float(dice.random() < 0.5)
        for agent, decision in ((governed, one), (free, other)):
            agent.update(decision, reward=0.5, cost=cost)
    assert ledger_of(governed).mode == PRACTICAL


@pytest.mark.plain
def test_every_agent_has_it_unless_its_learner_has_a_theorem_or_it_is_switched_off() -> None:
    assert Agent(ACTIONS, [COST], seed=0).status().governor is not None
    assert (
        Agent(ACTIONS, [COST], seed=0, learner=LearnerOptions("paced-hedge", feedback="full")).status().governor is not None
    )
    assert Agent(ACTIONS, [COST], seed=0, governor="off").status().governor is None
    assert Agent(ACTIONS, [COST], seed=0, horizon=1000, learner=LearnerOptions(goal="proved")).status().governor is None
    before = Agent.load(Path(__file__).parent.parent / "assets" / "agent-v1.json")
    assert before.status().governor is None  # as it was made


@pytest.mark.plain
def test_batches_are_the_same_as_single_calls() -> None:
    def make() -> Agent:
        return Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 8.0}), learner="squarecb-lewa", seed=8)

    dice = np.random.default_rng(1)
    many, single = make(), make()
    seen = set()
    for _ in range(60):
        n = int(dice.integers(1, 9))
        costs = [float(dice.random() < 0.8) for _ in range(n)]
        together, apart = many.pull_many(n), [single.pull() for _ in range(n)]
        assert [item[:6] for item in together] == [item[:6] for item in apart]
        values = [{"reward": 1.0, "cost": cost} for cost in costs]
        many.update_many(list(zip(together, values, strict=True)))
        for decision, value in zip(apart, values, strict=True):
            single.update(decision, **value)
        seen.add(ledger_of(many).mode)
        assert many.snapshot()["state"]["governor"] == single.snapshot()["state"]["governor"]
    assert seen == {PRACTICAL, REPAY, WALL}


# The learner with a proof


@pytest.mark.plain
@pytest.mark.parametrize("late", [0, 1, 4])
@pytest.mark.parametrize("masks", [False, True])
def test_with_full_information_theorem_v_holds_with_late_answers_and_missing_actions(late: int, masks: bool) -> None:
    """On every path: "c" keeps the limit in every round and is always there; the costs of others follow the play."""
    dice, W, T = np.random.default_rng(7), 6.0, 700
    governor = Governor(debt={"cost": W})
    agent = Agent(ACTIONS, [COST], governor=governor, learner="paced-hedge", seed=2)
    ledger, waiting, debt, most, walled = ledger_of(agent), list[Any](), 0.0, 0.0, 0
    for _ in range(T):
        there = None if not masks or dice.random() < 0.5 else ["c", str(dice.choice(["a", "b"]))]
        decision = agent.pull(available=there)
        play = np.array(decision.play)
        costs = np.array([1.0, 1.0, 0.35]) if dice.random() < 0.7 else np.array([0.0, 1.0, 0.4])
        if dice.random() < 0.2:
            costs[[0, 1]] = costs[[1, 0]]
        debt += float(play @ costs) - 0.4
        waiting.append((decision, costs.tolist()))
        walled += ledger_of(agent).mode == WALL
        most = max(most, debt)
        while len(waiting) > late:
            answered, told = waiting.pop(0)
            agent.update(answered, reward=[1.0, 1.0, 0.0], cost=told)
    assert walled > 100
    assert len(ledger.zone.copies if ledger.zone else []) <= late + 1
    c = late + 1
    assert most <= W + 0.6 * late + c * sqrt(log(6) * T / c)


@pytest.mark.plain
def test_weights_of_missing_actions_keep_their_share() -> None:
    """So an action that is always there is compared with as if no other had been missing."""
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 4.0}), learner="exp3", horizon=400, seed=4)
    checked = 0
    for _ in range(200):
        zone = ledger_of(agent).zone
        decision = agent.pull(available=["a", "c"])
        zone = ledger_of(agent).zone
        if zone is None or zone.mode != WALL:
            agent.update(decision, reward=1.0, cost=1.0)
            continue
        before = zone.copies[0].losses[:] if zone.copies else [0.0] * 3
        n = zone.copies[0].rounds + 1 if zone.copies else 1
        agent.update(decision, reward=1.0, cost=1.0)
        eta, prior = 2.8 / sqrt(3 * n), np.array(zone.prior)
        shares = [prior * np.exp(-eta * np.array(losses)) for losses in (before, zone.copies[0].losses)]
        missing = [float(weights[1] / weights.sum()) for weights in shares]
        assert missing[0] == pytest.approx(missing[1], rel=1e-9)
        checked += 1
    assert checked > 50


@pytest.mark.plain
def test_each_copy_waits_for_its_answer() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 4.0}), learner="exp3", horizon=400, seed=4)
    while ledger_of(agent).mode != WALL:
        agent.update(agent.pull(), reward=1.0, cost=1.0)
    zone = ledger_of(agent).zone
    assert zone is not None
    assert not zone.by_bounds  # answers came at once until now
    made = [agent.pull() for _ in range(6)]
    assert len(zone.copies) == 6
    assert sorted(zone.open.values()) == list(range(6))
    for decision in made:
        agent.update(decision, reward=1.0, cost=1.0)
    agent.pull()
    assert len(zone.copies) == 6
    assert zone.open == {agent.status().decisions: 0}


@pytest.mark.plain
def test_where_answers_are_late_the_wall_is_the_rule_for_fixed_means() -> None:
    agent, waiting = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 6.0}), learner="exp3", horizon=900, seed=4), []
    dice, debts = np.random.default_rng(0), []
    for _ in range(900):
        decision = agent.pull()
        waiting.append((decision, float(dice.random() < {"a": 0.9, "b": 0.9, "c": 0.2}[str(decision.action)])))
        while len(waiting) > 5:
            answered, cost = waiting.pop(0)
            agent.update(answered, reward=float(answered.action != "c"), cost=cost)
        debts.append(agent._recorder.state.debts(0)[0])
    zone, status = ledger_of(agent).zone, agent.status().governor
    assert status is not None
    assert status.proved > 0
    assert zone is None or zone.mode != WALL or zone.by_bounds
    assert "(G5)" in status.promise[2]
    assert max(debts) < 40


@pytest.mark.plain
def test_what_is_lost_counts_as_the_largest_cost_for_the_learner_with_a_proof() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 4.0}), learner="exp3", horizon=400, seed=4)
    while ledger_of(agent).mode != WALL:
        agent.update(agent.pull(), reward=1.0, cost=1.0)
    zone = ledger_of(agent).zone
    assert zone is not None
    decision = agent.pull()
    rise = zone.copies[0].rise[0] if zone.copies else 0.0
    agent.close(decision)
    assert zone.copies[0].rise[0] - rise == pytest.approx(0.6)
    status = agent.status().governor
    assert status is not None


# Changes


@pytest.mark.plain
def test_a_change_begins_anew_with_the_debt_that_is_there() -> None:
    def in_the_wall() -> Agent:
        agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 4.0}), learner="squarecb-lewa", seed=4)
        while ledger_of(agent).mode != WALL:
            agent.update(agent.pull(), reward=1.0, cost=1.0)
        return agent

    changes: list[Callable[[Agent], object]] = [
        lambda agent: agent.set_limit("cost", 0.3),
        lambda agent: agent.set_range("cost", (0.0, 2.0)),
        lambda agent: agent.add_action("d"),
        lambda agent: agent.set_governor(Governor(debt={"cost": 5.0})),
        lambda agent: agent.forgive("cost"),
    ]
    for change in changes:
        agent = in_the_wall()
        change(agent)
        ledger = ledger_of(agent)
        assert ledger.zone is None
        assert ledger.counts["stretches"] == 0
        decision = agent.pull()
        assert ledger_of(agent).start is not None
        agent.update(decision, reward=1.0, cost=1.0)
        assert Agent.restore(agent.snapshot()).snapshot() == agent.snapshot()
    agent = in_the_wall()
    agent.set_governor("off")
    assert agent.status().governor is None
    agent.set_governor("learned")  # what is owed already counts
    assert ledger_of(agent).mode == PRACTICAL
    agent.pull()
    assert ledger_of(agent).start == pytest.approx([agent._recorder.state.debts(0)[0]])


@pytest.mark.plain
def test_in_shadow_mode_the_fallback_is_played_and_the_status_counts_it() -> None:
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 4.0}), seed=4)
    agent.set_fallback("a")
    agent.set_mode("shadow")
    for _ in range(60):
        decision = agent.pull()
        assert decision.action == "a"
        agent.update(decision, reward=1.0, cost=1.0)
    status = agent.status().governor
    assert status is not None
    assert status.safe == 0
    assert status.unsafe > 40


@pytest.mark.plain
def test_a_governor_that_an_earlier_version_saved_goes_on_by_the_rule_of_today() -> None:
    agent = Agent(ACTIONS, [COST], governor="learned", learner="squarecb-lewa", seed=4)
    for _ in range(5):
        agent.update(agent.pull(), reward=1.0, cost=1.0)
    plain = agent.snapshot()
    wish = {**plain["state"]["governor"]["governor"], "debt": {"cost": 60.0}}
    before = {"governor": wish, "since": 0, "debt": [[3.0], [0.0], [3.0], [0.0]], "counts": {"safe": 0}, "helping": False}
    plain["state"]["governor"] = {**before, "reserves": [], "open": []}
    old = Agent.restore(plain)
    assert ledger_of(old).rule.debt == [60.0]
    old.update(old.pull(), reward=1.0, cost=1.0)


# Words


@pytest.mark.plain
def test_the_promise_has_the_numbers_of_the_theorem_in_the_users_units() -> None:
    agent = Agent(ACTIONS, [at_most("cost", 0.004, range=(0, 0.01))], seed=0, horizon=10_000)
    status, problem = agent.status().governor, Problem(3, 1, 1.0, full=False)
    assert status is not None
    levels = [level(0, 3, 10_000, False) * 0.01 for level in (repay_level, wall_level)]
    cases = ((0.2, 0.05, True), (0, 0.05, True), (0, 0.05, False))
    after = [levels[1] + 0.01 * excess(problem, 10_000, *case) for case in cases]
    text = " ".join(status.promise)
    for number in (*levels, *after):
        assert f"{number:.4g}" in text
    assert status.mode == "practical"
    assert len(status.promise) == 4
    assert "No guarantee" not in str(agent.status())


@pytest.mark.plain
def test_the_status_warns_early_where_no_mixture_seems_to_keep_the_limit() -> None:
    dice = np.random.default_rng(0)
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 30.0}), seed=4)
    for _ in range(600):
        decision = agent.pull()
        agent.update(decision, reward=1.0, cost=float(dice.random() < 0.7))
    warned = [warning for warning in agent.status().warnings if warning.code == "governor"]
    assert len(warned) == 1
    assert "no mixture of the actions seems to keep cost at most 0.4" in warned[0]
    fine = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 30.0}), seed=4)
    for _ in range(300):
        decision = fine.pull()
        fine.update(decision, reward=1.0, cost=float(dice.random() < (0.2 if decision.action == "a" else 0.9)))
    assert not [warning for warning in fine.status().warnings if warning.code == "governor"]


@pytest.mark.plain
def test_where_no_mixture_kept_the_limits_nothing_is_promised() -> None:
    """With full information this is seen after some 300 rounds."""
    agent = Agent(ACTIONS, [COST], governor=Governor(debt={"cost": 5.0}), learner="paced-hedge", seed=4)
    for _ in range(600):
        agent.update(agent.pull(), reward=[1.0, 1.0, 1.0], cost=[1.0, 0.9, 0.8])
    status = agent.status().governor
    assert status is not None
    assert status.bounds == (None,)
    assert status.promise[0].startswith("no bound is proved: no fixed mixture of the actions kept the limits in the last ")
