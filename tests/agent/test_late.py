"""Late answers keep their theorem: the counters, the bounds at the delays that happened, and segments between changes."""

import json
from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.statements import from_start, late_statements, probable_statements

from lewa import Agent, Answers, LearnerOptions, Setting, at_least, at_most
from lewa.agent import ClosedError
from lewa.agent.pending import DelayCounter
from lewa.agent.recent import Shift
from lewa.learners import FixedShareLewa, Lewa, LossLewa
from lewa.theory import delayed
from lewa.theory.setting import Delays

pytestmark = pytest.mark.slow

FLOOR = 0.5
FLOORS = np.array([FLOOR])
SETTING = Setting()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=40), st.randoms(use_true_random=False))
def test_the_counters_are_what_counting_every_pair_gives(deeds: list[int], dice: Any) -> None:
    counter, plays, learned_at = DelayCounter(), list[set[int]](), dict[int, int]()
    waiting: list[int] = []
    for deed in deeds:
        if deed < 2 or not waiting:
            number = len(plays) + 1
            counter.draw(number)
            plays.append(set(waiting))
            waiting.append(number)
        else:
            number = waiting.pop(dice.randrange(len(waiting)))
            learned_at[number] = len(learned_at)
            counter.end(number, learned=True)
    for number in waiting:  # the end: what is open is learned, in order
        learned_at[number] = len(learned_at)
    late, T = counter.so_far(), len(plays)
    sigma = [len(open_then) for open_then in plays]
    delay = [sum(t in open_then for open_then in plays) for t in range(1, T + 1)]
    assert late.total == sum(sigma) == sum(delay)
    assert late.partners >= max((s + d for s, d in zip(sigma, delay, strict=True)), default=0)
    assert late.most_open == max((s + 1 for s in sigma), default=0)
    if not waiting:
        assert late.partners == max((s + d for s, d in zip(sigma, delay, strict=True)), default=0)
    assert counter.made == T
    assert DelayCounter.from_plain(json.loads(json.dumps(counter.plain()))).so_far() == late


def test_without_delay_the_bounds_are_those_of_answers_at_once() -> None:
    for learner in (Lewa.tuned(3, 5000, FLOOR), Lewa.tuned(4, 900, (0.4, 0.3)), FixedShareLewa.tuned(3, 5000, FLOOR)):
        plain, late = learner.guarantees(4, 5000, SETTING)[0], late_statements(learner, 4, 5000, Delays())[0]
        assert late.regret == pytest.approx(plain.regret)
        assert late.violation == pytest.approx(plain.violation)
    bandit = LossLewa.tuned(3, 5000, FLOOR)
    plain, late = bandit.guarantees(3, 5000, SETTING)[0], late_statements(bandit, 3, 5000, Delays())[0]
    assert late.regret == pytest.approx(plain.regret)
    assert late.violation == pytest.approx(plain.violation)


def test_the_bounds_are_the_formulas() -> None:
    learner, T, D, G, e = Lewa(0.01, 0.2, 0.02, FLOORS), 10_000, 50_000, 20, 10
    late = delayed.full_information(learner, 3, T, Delays(D, G, e, 10))
    assert pytest.approx(log(3) / 0.01 + 0.01 / 4 * (T + 2 * D) + 0.02 * T / 2) == late.B  # 0.2 >= (0.01/2) 21
    assert pytest.approx(2 * (0.2 * T + 50)) == late.A
    short = delayed.full_information(learner, 3, T, Delays(D, 100, e, 10))
    assert pytest.approx(late.B + (0.01 / 4 * 101 - 0.1) * T * (0.5 / 0.2) ** 2) == short.B
    bandit = LossLewa(0.004, 0.2, 0.02, FLOORS)
    some = delayed.price_of_learning(bandit, 3, T, Delays(D, G, e, 10))
    assert some is not None
    assert pytest.approx(log(3) / 0.004 + 0.004 * (3 * T + 2 * D * 1.4**2) + 0.02 * T / 2) == some.B
    assert delayed.price_of_learning(bandit, 3, T, Delays(D, 23, e, 10)) is None  # 2 eta (K + G) = 0.208


def late_game(learner: Lewa, seed: int, rounds: int = 300) -> tuple[float, float, Delays]:
    """Play hostile rounds with hostile arrivals; return regret against the best play that meets the floor in every round,
    violation, and the delays. Action 2 meets the floor in every round.
    """
    dice, K = np.random.default_rng(seed), 3
    steps = {"eta": learner.eta, "delta": learner.delta, "mu": learner.mu}
    agent = Agent(
        list("abc"), [at_least("c", FLOOR)], horizon=rounds, seed=seed, learner=LearnerOptions("lewa", settings=steps)
    )
    waiting, earned, short = [], 0.0, 0.0
    totals, met_always = np.zeros(K), np.array([False, False, True])
    for t in range(rounds):
        decision = agent.pull()
        p = np.array(decision.play)
        # The adversary looks at the play: what is likely pays little and breaks the floor.
        r = np.clip(1 - p + 0.2 * dice.random(K), 0, 1) if seed % 2 else (dice.random(K) < [0.9, 0.5, 0.4]).astype(float)
        c = np.array([0.0, 0.4 * dice.random(), 0.5 + 0.5 * dice.random()])
        earned, short, totals = earned + p @ r, short + FLOOR - p @ c, totals + r
        waiting.append((decision, r, c))
        # Arrivals look at outcomes: bad news comes late.
        for item in [item for item in waiting if dice.random() < 0.05 + 0.2 * (item[1][0] > 0.5) or t - item[0].id > 12]:
            waiting.remove(item)
            agent.update(item[0], reward=item[1].tolist(), c=item[2].tolist())
    return float(totals[met_always].max() - earned), max(short, 0.0), agent._state.delays.so_far()


def test_on_every_path_regret_and_violation_keep_the_bound_whenever_answers_come() -> None:
    """Th1, against plays that meet the floor in every round, with answers that are told late if they are bad."""
    for seed in range(6):
        learner = Lewa(0.05, 0.05 / 2 * 40, min(1 / sqrt(300), 1.0), FLOORS)
        regret, violation, late = late_game(learner, seed)
        assert late.total > 100
        assert learner.delta >= learner.eta / 2 * (1 + late.partners)  # so that the theorem applies as it stands
        B, A = delayed.full_information(learner, 3, 300, late)
        assert regret <= B
        assert violation <= sqrt(A * (300 + B))
        assert violation <= 300 * FLOOR


def answer_late(agent: Agent, rounds: int, delay: int, vector: bool) -> None:
    dice, waiting = np.random.default_rng(1), []
    for _ in range(rounds):
        decision = agent.pull()
        r, c = dice.random(2).tolist(), (dice.random(2) < [0.3, 0.9]).astype(float).tolist()
        i = "ab".index(str(decision.action))
        waiting.append((decision, (r, c) if vector else (r[i], c[i])))
        while len(waiting) > delay:
            late, (reward, quality) = waiting.pop(0)
            agent.update(late, reward=reward, c=quality)


@pytest.mark.parametrize("learner", ["lewa", "fixed-share-lewa", "loss-lewa"])
def test_the_status_prints_the_bound_for_the_delays_that_happened(learner: str) -> None:
    wish: dict[str, Any] = {"settings": {"delta": 0.5, "eta": 0.02, "mu": 0.05}}
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner=learner, horizon=1500, **{"seed": 0, **wish})
    answer_late(agent, 1500, 3, vector=learner != "loss-lewa")
    status, late = agent.status(), agent._state.delays.so_far()
    assert (late.total, late.partners) == (3 * 1500 - 6, 6)
    assert 3 <= late.between <= 5  # three, and what is open may be learned in any order
    assert status.open == 3
    assert "late answers (Th" in status.guarantee.source
    assert status.guarantee.regret is not None
    assert delayed.APART in status.guarantee.assumptions
    assert "after 1500 rounds" in status.promise[0]
    assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).status().guarantee == status.guarantee


def test_the_certificate_counts_what_is_reported_but_not_learned_and_is_none_where_values_were_filled_in() -> None:
    wish: dict[str, Any] = {
        "learner": "loss-lewa",
        "horizon": 300,
        "settings": {"delta": 0.01, "mu": 0.05, "eta": 0.01},
    }
    for policy, closes in (("charge", False), ("expire", True)):
        agent, dice = (
            Agent(["a", "b"], [at_least("c", 0.5)], answers=Answers(unanswered=policy), **{"seed": 0, **wish}),
            np.random.default_rng(1),
        )
        for t in range(100):
            decision = agent.pull()
            if t % 2:  # the reward never comes
                agent.update(decision, c=0.0)
                if closes:
                    agent.close(decision)
            else:
                agent.update(decision, reward=0.5, c=float(dice.random() < 0.45))
        certificate = agent.status().constraints[0].certificate
        assert certificate is not None
        assert certificate.holds
        assert certificate.bound - 25 < certificate.shortfall  # 50 values at the floor are part of it
    guessed = Agent(["a", "b"], [at_least("c", 0.5)], answers=Answers(unanswered={"c": 1.0}), **{"seed": 0, **wish})
    guessed.update(guessed.pull(), reward=0.5, c=0.0)
    guessed.close(guessed.pull())
    assert guessed.status().constraints[0].certificate is None


def test_an_answer_that_never_comes_costs_one() -> None:
    def proved(lost: int) -> float:
        agent = Agent(
            ["a", "b"], [at_least("c", 0.5)], learner="lewa", horizon=1500, seed=0, answers=Answers(unanswered="expire")
        )
        answer_late(agent, 1500, 0, vector=True)
        for _ in range(lost):
            agent.close(agent.pull())
        regret = agent.status().guarantee.regret
        assert regret is not None
        return regret

    assert proved(10) == pytest.approx(proved(0) + 10, abs=0.5)


def test_segments_are_named_with_what_is_proved_of_each() -> None:
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner="lewa", horizon=1500, seed=0)
    answer_late(agent, 1000, 0, vector=True)
    whole = agent.status().guarantee
    assert agent.status().segments == ()
    agent.set_limit("c", 0.6, why="new terms")
    assert agent.status().segments == (agent._state.segments[0],)
    answer_late(agent, 10, 0, vector=True)
    first, second = agent.status().segments
    assert (first.first, first.last, first.began, first.statement) == (1, 1000, "as it was made", whole)
    assert (second.first, second.last, second.began) == (1001, 1010, "limit of c")
    assert second.statement.regret is None
    assert agent.status().constraints[0].certificate is None  # its sums are of two limits
    assert agent.status().guarantee.regret is None
    assert "decisions 1 to 1000 (as it was made): regret at most" in str(agent.status())
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert again.status().segments == (first, second)
    assert json.loads(json.dumps(agent.status().plain()))["segments"][0]["last"] == 1000


@pytest.mark.parametrize("learner", ["loss-lewa", "auto", "lewa"])
def test_answers_that_are_learned_at_the_close_are_learned_in_the_order_of_the_decisions(learner: str) -> None:
    """However late and in whatever order answers come, what is learned is the same: bad news cannot come late."""
    horizon = None if learner == "auto" else 4000
    wish: dict[str, Any] = {"learner": learner, "horizon": horizon, "learn": "close", "expire_after": 10}
    dice = np.random.default_rng(2)
    values = dice.random((300, 2, 2))
    agents = [Agent(["a", "b"], [at_least("c", 0.5)], **{"seed": 0, **wish}) for _ in range(3)]
    for agent, patience in zip(agents, (0, 3, 9), strict=True):
        waiting: list[Any] = []
        for t in range(300):
            waiting.append(agent.pull())
            # The worse an answer, the later it comes.
            for decision in [d for d in waiting if t - d.id + 1 >= patience * (values[d.id - 1, 0, 0] < 0.5)]:
                waiting.remove(decision)
                r, c = values[decision.id - 1].tolist()
                i = "ab".index(str(decision.action))
                whole = {"reward": r, "c": c} if learner == "lewa" else {"reward": r[i], "c": c[i]}
                agent.update(decision, **whole)
                with pytest.raises(ClosedError, match="was reported before"):
                    agent.update(decision, **whole)
    states = [agent._state for agent in agents]
    assert states[0].driver.plain() == states[1].driver.plain() == states[2].driver.plain()
    assert [state.delays.so_far()[:4] for state in states] == [states[0].delays.so_far()[:4]] * 3
    assert {state.counts["filled_in"] for state in states} == {0}
    assert {state.counts["answered"] for state in states} == {290}
    again = Agent.restore(json.loads(json.dumps(agents[1].snapshot())))
    assert again.setup.learns_at_close
    assert again.pull() == agents[1].pull()


def test_learning_at_the_close_says_so_in_what_is_assumed() -> None:
    wish: dict[str, Any] = {"settings": {"delta": 0.5, "eta": 0.02, "mu": 0.05}, "learn": "close", "expire_after": 5}
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner="loss-lewa", horizon=1500, **{"seed": 0, **wish})
    answer_late(agent, 1500, 2, vector=False)
    status = agent.status()
    assert status.guarantee.regret is not None
    assert delayed.AT_CLOSE in status.guarantee.assumptions
    assert delayed.APART not in status.guarantee.assumptions
    assert agent._state.delays.so_far().most_open == 6
    for wrong, sentence in (("late", "learn must be 'answer' or 'close'"), ("close", "learn='close' needs close_after")):
        with pytest.raises(ValueError, match=sentence):
            Agent(["a", "b"], [at_least("c", 0.5)], seed=0, answers=Answers(learn=wrong))


def hostile(agent: Agent, rounds: int, floor: float, dice: Any) -> tuple[float, float]:
    """Play rounds that look at the play, told late if they are bad, all of them in the end; return regret against the last
    action, which meets the floor in every round, and violation.
    """
    waiting: list[Any] = []
    K, earned, short, total = len(agent.setup.actions), 0.0, 0.0, 0.0
    for t in range(rounds):
        decision = agent.pull()
        p = np.array(decision.play)
        r = np.clip(1 - p + 0.2 * dice.random(K), 0, 1)
        r[-1] = 1.0  # what the comparator plays is good from now on
        c = np.append(0.3 * dice.random(K - 1), floor + (1 - floor) * dice.random())
        earned, short, total = earned + p @ r, short + floor - p @ c, total + r[-1]
        waiting.append((t, decision, r, c))
        for item in [item for item in waiting if dice.random() < 0.3 or t - item[0] > 5 or t == rounds - 1]:
            waiting.remove(item)
            agent.update(item[1], reward=item[2].tolist(), c=item[3].tolist())
    return total - earned, short


@pytest.mark.parametrize("learner", ["lewa", "fixed-share-lewa"])
@pytest.mark.parametrize("limit", [0.2, 0.7])
def test_from_a_change_on_regret_and_violation_keep_the_bound_of_where_the_learner_stood(learner: str, limit: float) -> None:
    """Th1 from any start (Th11): before the change the learner was taught that the last action is the worst one."""
    steps = {"eta": 0.05, "delta": 0.5, "mu": 0.3}
    for seed in range(3):
        dice = np.random.default_rng(seed)
        agent = Agent(
            list("abc"), [at_least("c", FLOOR)], horizon=300, seed=seed, learner=LearnerOptions(learner, settings=steps)
        )
        for _ in range(100):
            agent.update(agent.pull(), reward=[1.0, 0.9, 0.0], c=[0.0, 0.1, 0.3])
        agent.set_limit("c", limit)
        beginning = agent._state.beginning
        assert beginning is not None
        assert beginning.start.entropy > 3
        assert beginning.start.multiplier[0] > 0.5
        regret, violation = hostile(agent, 200, limit, dice)
        late, share = agent._state.delays.so_far(), getattr(agent.setup.learner, "share", 0.0)
        assert late.total > 50
        assert agent._state.delays.made == 200
        tuned: Any = agent.setup.learner
        B, A = delayed.full_information(tuned, 3, 200, late, share, beginning.start)
        assert regret <= B
        assert violation <= sqrt(A * (200 + B))
        assert delayed.full_information(tuned, 3, 200, late, share).B + beginning.start.entropy / 0.05 + 200 > B
        # Without the cost of the start it would not hold: the comparator has to be learned from a small weight.
        if limit == 0.2 and learner == "lewa":
            assert regret > delayed.full_information(tuned, 3, 200, Delays(), share).B - tuned.mu * 200 / 2


@pytest.mark.parametrize("learner", ["lewa", "loss-lewa"])
def test_the_status_prints_what_is_proved_from_a_change_on(learner: str) -> None:
    wish: dict[str, Any] = {"settings": {"delta": 0.5, "eta": 0.02, "mu": 0.05}}
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner=learner, horizon=4000, **{"seed": 0, **wish})
    answer_late(agent, 50, 0, vector=learner == "lewa")
    agent.set_limit("c", 0.4)
    answer_late(agent, 1500, 2, vector=learner == "lewa")
    status = agent.status()
    assert status.guarantee.regret is not None
    assert "from the last change on" in status.guarantee.source
    assert delayed.PAST in status.guarantee.assumptions
    assert "after 1500 rounds since decision 51" in status.promise[0]
    assert [(item.first, item.last) for item in status.segments] == [(1, 50), (51, 1550)]
    assert status.segments[1].statement == status.guarantee
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert again.status().guarantee == status.guarantee
    old = json.loads(json.dumps(again.snapshot()))
    del old["state"]["beginning"]
    assert Agent.restore(old).status().guarantee.regret is None  # a file that does not say where the learner stood
    older = json.loads(json.dumps(again.snapshot()))
    older["state"]["beginning"] |= {"waiting": 2, "start": older["state"]["beginning"]["start"][:2]}
    assert "did not record the state of its learner" in Agent.restore(older).status().guarantee.reason


@pytest.mark.parametrize("learner", ["lewa", "loss-lewa", "late-anytime-loss-lewa"])
def test_answers_that_were_open_at_a_change_cost_their_price_and_no_more(learner: str) -> None:
    wish: dict[str, Any] = {"settings": {"delta": 0.5, "eta": 0.02, "mu": 0.05}, "horizon": 4000}
    if learner == "late-anytime-loss-lewa":
        wish = {"settings": {"delta": 10.0}}

    def proved(waiting: int) -> tuple[float, Any]:
        agent = Agent(["a", "b"], [at_least("c", 0.5)], learner=learner, **{"seed": 0, **wish})
        answer_late(agent, 50, 0, vector=learner == "lewa")
        pulled = [agent.pull() for _ in range(waiting)]
        agent.set_limit("c", 0.4)
        for decision in pulled:
            agent.update(decision, **dict.fromkeys(("reward", "c"), [0.5, 0.5] if learner == "lewa" else 0.5))
        answer_late(agent, 40, 1, vector=learner == "lewa")
        beginning, late = agent._state.beginning, agent._state.delays.so_far()
        assert beginning is not None
        assert beginning.start.waiting == waiting
        assert agent._state.delays.made == 40
        again = Agent.restore(json.loads(json.dumps(agent.snapshot())))._state
        assert (again.beginning, again.delays.so_far()) == (beginning, late)
        regret = from_start(agent.setup.learner, 2, 10**6, late, beginning.start)[0].regret
        assert regret is not None
        return regret, beginning.start

    (none_open, start), (three_open, _) = proved(0), proved(3)
    prices = sum(start.multiplier) + (0.5 if learner == "late-anytime-loss-lewa" else 0.1)  # they rise a little meanwhile
    assert none_open + 3 <= three_open
    assert three_open <= none_open + 3 * (1 + 1.4 * prices) + {"late-anytime-loss-lewa": 600}.get(learner, 1)


def test_an_action_that_leaves_costs_nothing_against_the_others() -> None:
    """Th12: with LEWA, what is proved after it left is that of the learner among the others."""
    steps = {"eta": 0.05, "delta": 0.5, "mu": 0.3}
    for seed in range(3):
        agent = Agent(
            list("abc"), [at_least("c", FLOOR)], horizon=300, seed=seed, learner=LearnerOptions("lewa", settings=steps)
        )
        for _ in range(30):
            agent.update(agent.pull(), reward=[1.0, 0.9, 0.0], c=[0.0, 0.1, 0.3])
        agent.retire_action("a")
        start = agent._state.beginning.start  # type: ignore[union-attr]
        play = agent._state.driver.play_among([0.0, 1.0, 1.0])
        assert start.entropy == pytest.approx(-log(play[1:].min()))
        assert start.left == 1
        regret, violation = hostile(agent, 200, FLOOR, np.random.default_rng(seed))
        tuned: Any = agent.setup.learner
        B, A = delayed.full_information(tuned, 3, 200, agent._state.delays.so_far(), 0.0, start)
        assert regret <= B
        assert violation <= sqrt(A * (200 + B))
    fixed = Agent(
        list("abc"), [at_least("c", FLOOR)], horizon=300, seed=0, learner=LearnerOptions("fixed-share-lewa", settings=steps)
    )
    fixed.retire_action("a")
    fixed.update(fixed.pull(), reward=[0.5] * 3, c=[0.5] * 3)
    assert "no bound is proved for this learner after such a change" in fixed.status().guarantee.reason


def test_what_is_proved_whenever_answers_come_is_in_the_status_and_holds_beside_safe_rounds() -> None:
    wish: dict[str, Any] = {"settings": {"delta": 0.5, "eta": 0.02, "mu": 0.05}}
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner="lewa", horizon=4000, **{"seed": 0, **wish})
    answer_late(agent, 1500, 3, vector=True)
    status = agent.status()
    assert [item.kind for item in status.guarantees] == ["expected [E V]+", "pathwise", "expected [E V]+"]
    assert delayed.ANY in status.guarantees[1].assumptions
    late, any_time = agent._state.delays.so_far(), status.guarantees[2]
    assert delayed.no_later(late) in any_time.assumptions
    assert status.guarantee.regret is not None
    assert any_time.regret == pytest.approx(status.guarantee.regret + 0.05 * late.total)  # m mu D
    assert f"also pathwise: {'; '.join(status.guarantees[1].assumptions)}" in str(status)
    assert json.loads(json.dumps(status.plain()))["guarantees"][1]["kind"] == "pathwise"
    lost = Agent.restore(json.loads(json.dumps(agent.snapshot())))  # a lost answer costs 1 on every path, too
    before = lost.status().guarantees[1].regret
    lost._state.setup = replace(lost.setup, unanswered=None)
    lost.close(lost.pull())
    assert before is not None
    assert lost.status().guarantees[1].regret == pytest.approx(before + 1, abs=0.5)


def test_after_a_shift_nothing_proved_is_printed_that_assumes_a_fixed_mean() -> None:
    def shifted(learner: str, quantity: str, vector: bool) -> Any:
        agent = Agent(["a", "b"], [at_least("c", 0.5)], learner=learner, horizon=2000, seed=0)
        answer_late(agent, 1000, 0, vector)
        assert agent.status().guarantee.regret is not None
        agent._state.shifts.append(Shift(900, quantity, "a", 0.2, 0.8))
        return agent.status().guarantee

    assert shifted("loss-lewa", "reward", vector=False).regret is not None  # it is the constraints that need one
    assert (
        "warning: shift" in shifted("loss-lewa", "c", vector=False).reason
        or not shifted("loss-lewa", "c", vector=False).needs_fixed_mean
    )
    whole = shifted("lewa", "c", vector=True)
    assert whole.kind == "pathwise"  # against plays that meet the floor in every round
    assert not whole.needs_fixed_mean


def test_late_anytime_loss_lewa_has_a_start_after_every_change_of_what_it_decides() -> None:
    agent = Agent(list("abc"), [at_most("cost", 0.4)], learner="late-anytime-loss-lewa", seed=3)
    for n in range(60):
        agent.update(agent.pull(), reward=n % 3 / 2, cost=n % 4 / 3)
    changes: list[Any] = [
        lambda: agent.set_limit("cost", 0.6),
        lambda: agent.set_range("cost", (0.0, 1.5)),
        lambda: agent.add_action("d", like="b"),
        lambda: agent.retire_action("a"),
    ]
    for change in changes:
        change()
        beginning = agent._state.beginning
        assert beginning is not None
        assert len(beginning.start.totals) == 5
        assert beginning.start.totals[0] == agent._state.counts["answered"]
        agent.update(agent.pull(), reward=0.5, cost=0.5)
        assert from_start(agent._state.setup.learner, 4, 10**8, Delays(), beginning.start)[0].regret is not None


def test_late_anytime_loss_lewa_counts_what_is_open_whatever_becomes_of_it() -> None:
    """Answered, expired, closed, masked, frozen: what the learner holds open is what the agent does, and b^2 adds up."""
    agent = Agent(
        list("abc"),
        [at_most("cost", 0.4)],
        learner="late-anytime-loss-lewa",
        seed=3,
        answers=Answers(max_open=5, unanswered="expire"),
    )
    dice, waiting = np.random.default_rng(0), dict[int, Any]()
    for t in range(150):
        if t == 40:
            agent.set_mode("frozen")
        if t == 60:
            agent.set_mode("live")
        if t == 80:
            agent.set_range("cost", (0.0, 2.0))
        if t == 100:
            agent.add_action("d", like="a")
        decision = agent.pull(available=["b", "c"] if t % 7 == 3 else None)
        waiting[decision.id] = decision
        for number in [n for n in waiting if dice.random() < 0.15]:
            if number in agent._state.open:
                agent.update(waiting[number], reward=float(dice.random()), cost=float(dice.random()))
            del waiting[number]
        state: Any = agent._state.driver.state
        quoted = [item.charged[-1] for item in agent._state.open.values() if item.charged[-1] > 0]
        assert state.totals[2] == len(quoted)
        assert state.totals[3] == pytest.approx(sum(b * b for b in quoted))
        assert state.charged.size == 2
    assert agent.status().expired > 10
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert again.pull() == agent.pull()


def test_with_a_delay_that_is_foreseen_tunings_have_a_bound_that_says_something() -> None:
    """Regret and violation per round at T = 10^6 where every answer is 20 decisions late; without `delay` there is none."""
    T, d = 10**6, 20
    late = Delays(d * T, 2 * d, 2 * d, d + 1)
    for kind, regret, violation in ((Lewa, 0.008, 0.13), (FixedShareLewa, 0.011, 0.15), (LossLewa, 0.016, 0.18)):
        tuned, proved = kind.tuned(3, T, FLOOR, delay=d), []
        for learner in (tuned, kind.tuned(3, T, FLOOR)):
            statement = late_statements(learner, 3, T, late)[0]
            proved.append((statement.regret, statement.violation and statement.violation[0]))
        assert proved[0][0] <= regret * T  # type: ignore[operator]
        assert proved[0][1] <= violation * T  # type: ignore[operator]
        assert proved[1] in ((None, None), (T, pytest.approx(proved[1][1])))
        assert kind.tuned(3, T, FLOOR, delay=0) == kind.tuned(3, T, FLOOR)
    with pytest.raises(ValueError, match="b cannot be combined with epsilon or delay"):
        Lewa.tuned(3, T, FLOOR, delay=d, b=0.6)


def test_a_delay_and_an_epsilon_that_are_foreseen_have_a_bound_with_high_probability() -> None:
    T, d, K, epsilon, s = 10**6, 20, 3, 0.05, sqrt(41)
    late, noise = Delays(d * T, 2 * d, 2 * d, d + 1), log(2 * K / epsilon)
    for kind, more in ((Lewa, 0.0), (FixedShareLewa, 1.0)):
        tuned: Any = kind.tuned(K, T, FLOOR, delay=d, epsilon=epsilon)
        share = getattr(tuned, "share", 0.0)
        assert tuned.eta == pytest.approx(2 * sqrt((log(K) + more + noise / (2 * s)) / (T * 41)))
        assert tuned.delta == pytest.approx(tuned.eta / 2 * (41 + s) + 4 * share * d)
        (statement,) = probable_statements(tuned, K, T, late, epsilon)
        bound = delayed.full_information(tuned, K, T, late, share)
        assert statement.regret == pytest.approx(bound.B + noise / (2 * tuned.eta * s))  # theta = 2 eta s
        assert (statement.regret or T) < 0.012 * T
        assert (statement.violation or (T,))[0] < 0.17 * T
        (none,) = probable_statements(kind.tuned(K, T, FLOOR, delay=d), K, T, late, epsilon)
        assert none.regret is None  # no room for the noise
        for chosen in ({"delay": d}, {"epsilon": epsilon}):
            alone: Any = kind.tuned(K, T, FLOOR, **chosen)
            assert alone.delta < tuned.delta
    with pytest.raises(ValueError, match="epsilon must lie strictly between 0 and 1"):
        Lewa.tuned(K, T, FLOOR, delay=d, epsilon=2)


def test_the_goal_proved_takes_the_least_bound_for_the_delay_that_is_named() -> None:
    def chosen(**wish: Any) -> str:
        return Agent(
            list("abc"), [at_least("c", FLOOR)], learner=LearnerOptions(goal="proved"), **{"seed": 0, **wish}
        ).setup.learner_name

    assert chosen() != "late-anytime-loss-lewa"  # while nothing is late
    assert chosen(settings={"delay": 20}) == "late-anytime-loss-lewa"
    for horizon in (None, 10**6):
        assert chosen(horizon=horizon, settings={"delay": 20}, feedback="full") == "late-lewa"


@pytest.mark.parametrize("delay", [1, 10])
def test_with_its_own_tuning_late_anytime_loss_lewa_prints_a_bound_that_says_something(delay: int) -> None:
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner="late-anytime-loss-lewa", seed=0)
    answer_late(agent, 3000, delay, vector=False)
    guarantee = agent.status().guarantee
    assert guarantee.regret is not None
    assert guarantee.violation is not None
    assert guarantee.violation[0] < 1500
    assert guarantee.regret < {1: 600, 10: 2000}[delay]
    assert delayed.APART in guarantee.assumptions


def test_a_price_that_reserves_at_the_draw_keeps_its_certificate_whenever_answers_come() -> None:
    """The eager step of squarecb-lewa: sum (f_t - b'_t) <= lambda b^2/step over all decisions made, open ones included; so
    what was told beyond the limit is at most that, less what was paid back, plus what costs exceed their forecasts.
    """
    for seed in range(3):
        dice, limit = np.random.default_rng(seed), 0.3
        agent = Agent(list("abc"), [at_most("cost", limit)], seed=seed)
        learner: Any = agent.setup.learner
        waiting: list[Any] = []
        foreseen, repaid, beyond, errors = 0.0, 0.0, 0.0, 0.0
        for t in range(300):
            decision = agent.pull()
            state: Any = agent._state.driver.state
            charge = float(state.charged[0])
            target = min(max(limit - float(state.debt[0]) / learner.repay, limit / 20), 2 * limit)
            foreseen, repaid = foreseen + charge - target, repaid + limit - target
            waiting.append((t, decision, charge, float(dice.random() ** 3) + 0.2 * "abc".index(str(decision.action))))
            # Dear answers come late, or never.
            for item in [item for item in waiting if dice.random() < (0.5 if item[3] < 0.4 else 0.05)]:
                waiting.remove(item)
                agent.update(item[1], reward=float(dice.random()), cost=item[3])
                beyond, errors = beyond + item[3] - limit, errors + item[3] - item[2]
            price = float(agent._state.driver.multiplier[0]) * limit**2 / learner.step
            assert foreseen <= price + 1e-9
            reserved = sum(item[2] - limit for item in waiting)
            assert beyond + reserved + repaid <= price + errors + 1e-9
        assert waiting  # open to the end
