import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lewa
from lewa import Agent, at_least, at_most
from lewa.agent import Feedback
from lewa.agent.constraint import Constraint
from lewa.agent.status.diagnostics import suggest_range
from lewa.kernels import rest

pytestmark = pytest.mark.compiled


def routed(
    rounds: int,
    costs: dict[str, float],
    rewards: dict[str, float],
    line: float,
    top: float = 0.01,
    learner: str = "auto",
    horizon: int | None = None,
) -> Agent:
    """Queries answered at once: costs spread evenly around their means, rewards are coins."""
    agent = Agent(list(costs), [at_most("cost", line, range=(0, top))], learner=learner, horizon=horizon, seed=1)
    rng = np.random.default_rng(2)
    for u, v in rng.random((rounds, 2)).tolist():
        decision = agent.pull()
        name = str(decision.action)
        agent.update(decision, reward=float(u < rewards[name]), cost=costs[name] * 2 * v)
    return agent


COSTS, REWARDS = {"small": 0.001, "large": 0.004}, {"small": 0.4, "large": 0.9}


@pytest.fixture(scope="module")
def routed_long() -> dict[str, Any]:
    """The snapshot of an agent whose bound says something: after 20,000 rounds."""
    return routed(20_000, COSTS, REWARDS, line=0.0025, learner="anytime-loss-lewa").snapshot()


def test_a_line_stands_with_its_average_its_band_and_its_price() -> None:
    agent = routed(5000, COSTS, REWARDS, line=0.0025)
    status = agent.status()
    cost = status.constraints[0]
    assert (cost.name, cost.sense, cost.limit) == ("cost", "at most", 0.0025)
    assert cost.average is not None
    assert cost.low is not None
    assert cost.high is not None
    assert 0 < cost.low < cost.average < cost.high < 0.01
    assert cost.high - cost.low < 0.0006
    assert cost.price == pytest.approx(cost.multiplier * 1 / 0.01)
    assert cost.reserved == pytest.approx(cost.average)
    assert status.reward == agent.snapshot()["state"]["book"][0]["total"] / 5000


def test_the_verdict_is_what_all_of_the_band_says() -> None:
    one = {"only": 0.003}
    assert routed(2000, one, {"only": 1}, line=0.004).status().constraints[0].verdict == "kept"
    assert routed(2000, one, {"only": 1}, line=0.002).status().constraints[0].verdict == "missed"
    assert routed(2000, one, {"only": 1}, line=0.003).status().constraints[0].verdict == "undecided"
    assert routed(1, one, {"only": 1}, line=0.009).status().constraints[0].verdict == "undecided"


def test_the_estimate_of_regret_is_labelled_and_near_the_truth() -> None:
    rounds = 20_000
    agent = routed(rounds, COSTS, REWARDS, line=0.0025, top=0.01, learner="bandit-lewa", horizon=rounds)
    status = agent.status()
    earned = agent.snapshot()["state"]["book"][0]["total"]
    mean_constraints = rounds * 0.65 - earned  # half small, half large keeps 0.0025
    assert status.regret == pytest.approx(mean_constraints, abs=0.02 * rounds)
    assert status.regret_is.startswith("is an estimate: the best fixed mixture within the limits would")


def test_the_estimate_of_regret_counts_the_actions_without_an_answer() -> None:
    for names, missing in (("ab", "; 1 action has no answer)"), ("abc", "; 2 actions have no answer)")):
        agent = Agent(list(names), [at_most("cost", 0.5)], seed=1)
        agent.update(agent.pull(), reward=1, cost=0.2)
        assert agent.status().regret_is.endswith(missing)


def test_the_regret_of_full_information_is_the_measured_one_in_the_users_units() -> None:
    rng = np.random.default_rng(9)
    rewards, constraints = rng.random((80, 3)), rng.random((80, 3, 1))
    trace = lewa.play(lewa.learners.make("lewa", 3, 80, 0.4), lewa.games.Table(rewards, constraints), seeds=[5])
    agent = Agent(range(3), [at_most("cost", 6, range=(0, 10))], reward_range=(0, 100), horizon=80, learner="lewa", seed=5)
    for t in range(80):
        agent.update(agent.pull(), reward=100 * rewards[t], cost=10 * (1 - constraints[t, :, 0]))
    status = agent.status()
    assert status.regret == pytest.approx(100 * lewa.regret(trace)[0])
    assert status.regret_is == "of the answered rounds, against the best fixed play under the constraints"
    assert status.reward == pytest.approx(100 * trace.reward[0, -1] / 80)
    certificate = status.constraints[0].certificate
    assert certificate is not None
    assert certificate.bound == pytest.approx(10 * lewa.measures.certificate(trace)[0, 0])
    assert certificate.shortfall == pytest.approx(10 * trace.observed_shortfall[0, -1, 0])
    assert certificate.holds


def test_a_learner_without_a_dual_step_has_no_certificate() -> None:
    assert routed(100, COSTS, REWARDS, 0.002).status().constraints[0].certificate is None
    assert (
        routed(100, COSTS, REWARDS, 0.002, learner="bandit-lewa", horizon=100).status().constraints[0].certificate
        is not None
    )


def test_the_guarantee_is_the_learners_for_the_rounds_so_far_and_in_the_users_units(routed_long: dict[str, Any]) -> None:
    agent = Agent.restore(routed_long)
    status = agent.status()
    proved = lewa.guarantee(agent.setup.learner, 2, 20_000)
    assert status.guarantee._replace(assumptions=proved.assumptions) == proved
    assert proved.regret is not None
    assert proved.violation is not None
    assert status.promise[0] == f"regret at most {proved.regret:.4g} after 20000 rounds"
    edge = 0.0025 + proved.violation[0] / 20_000 * 0.01
    assert status.promise[1] == f"cost at most {edge:.4g} on average over 20000 rounds"
    assert proved.source in status.promise[2]


def spoil(agent: Agent, how: str) -> None:
    if how == "masked":
        agent.update(agent.pull(available=["small"]), reward=1.0, cost=0.001)
    elif how == "late":
        first, second = agent.pull(), agent.pull()
        agent.update(second, reward=1.0, cost=0.001)
        agent.update(first, reward=1.0, cost=0.001)
    elif how == "filled_in":
        agent.close(agent.pull())
    elif how == "open":
        agent.pull()
        agent.pull()
    else:
        agent.update(agent.pull(), reward=1.0, cost=0.02)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("masked", "1 had actions masked"),
        ("late", "1 were answered late, after a further decision"),
        ("filled_in", "1 were filled in, not answered"),
        ("clipped", "1 were clipped"),
        ("open", "1 are open besides the last one"),
    ],
)
def test_no_guarantee_is_claimed_for_rounds_that_are_not_the_theorems(
    routed_long: dict[str, Any], how: str, said: str
) -> None:
    agent = Agent.restore(routed_long)
    assert agent.status().guarantee.regret is not None
    spoil(agent, how)
    status = agent.status()
    assert status.guarantee.regret is None
    assert status.guarantee.violation is None
    assert status.promise == ()
    assert status.guarantee.reason.startswith("the theorem assumes that ")
    assert f", but {said} (of {status.decisions} decisions and their values)" in status.guarantee.reason


@pytest.mark.plain
@pytest.mark.parametrize("how", ["masked", "late", "filled_in", "clipped", "open", "changed"])
def test_where_nothing_is_proved_of_a_learner_that_is_the_reason_whatever_happened(how: str) -> None:
    nothing, too_few = (
        routed(10, COSTS, REWARDS, line=0.0025, learner=name) for name in ("squarecb-lewa", "anytime-loss-lewa")
    )
    for agent in (nothing, too_few):
        if how == "changed":
            agent.pull()
            agent.set_limit("cost", 0.003)
            agent.update(agent.pull(), reward=1.0, cost=0.001)
        else:
            spoil(agent, how)
        assert agent.status().guarantee.regret is None
    assert nothing.status().guarantee == lewa.guarantee(nothing.setup.learner, 2, 11)
    assert "no bound on regret or violation is proved" in nothing.status().guarantee.reason
    reason = "no bound is proved for this learner after such a change" if how == "changed" else "theorem"
    assert reason in too_few.status().guarantee.reason  # its bound is trivial so far, and will not be


def test_what_projections_leave_is_added_to_the_bound() -> None:
    """Two constraints that are opposite but for 1e-11: a projection leaves more of them than rounding does."""
    T, shown = 300, np.array([[0.3, 0.1, 0.6, 0.4], [0.70000000002, 0.90000000003, 0.40000000002, 0.59999999997]])
    items = [at_least("x", 0.24), at_least("y", 0.760000000026)]
    settings = {"kappa": 0.0, "eta": 10.0}
    agent = Agent(
        list("abcd"), items, horizon=T, seed=1, learner=lewa.LearnerOptions("op-ewa", settings=settings, feedback="full")
    )
    for rewards in (np.random.default_rng(7).random((T, 4)) < 0.5) * 1.0:
        agent.update(agent.pull(), reward=rewards, x=shown[0], y=shown[1])
    before, after = lewa.guarantee(agent.setup.learner, 4, T).violation, agent.status().guarantee.violation
    left, _ = rest(agent._state.driver.state.tilt)
    assert left > 1e-6
    assert before is not None
    assert after == pytest.approx([bound + left for bound in before], abs=1e-9)


def test_a_line_that_no_action_keeps_is_warned_of_with_the_nearest_that_one_does() -> None:
    status = routed(3000, {"small": 0.003, "large": 0.006}, REWARDS, line=0.002, top=0.012).status()
    assert len(status.warnings) == 1
    assert status.warnings[0].startswith("no mixture of the actions seems to meet cost at most 0.002; at best, with 95%")
    best = float(status.warnings[0].rsplit(" ", 1)[1])
    assert 0.002 < best < 0.003


def test_two_lines_that_no_mixture_keeps_together_are_warned_of() -> None:
    agent = Agent(["a", "b"], [at_least("x", 0.7), at_least("y", 0.7)], seed=1)
    for _ in range(2000):
        decision = agent.pull()
        agent.update(decision, reward=0.5, x=float(decision.action == "a"), y=float(decision.action == "b"))
    assert "no mixture of the actions seems to meet x at least 0.7 and y at least 0.7" in agent.status().warnings[0]


def test_a_line_that_can_be_kept_is_not_called_infeasible() -> None:
    for line in (0.0015, 0.0025, 0.0035):
        assert not [w for w in routed(3000, COSTS, REWARDS, line).status().warnings if "no mixture" in w]


def test_clipping_is_warned_of_without_advice_that_makes_it_worse() -> None:
    for learner, ending in (
        (
            "anytime-loss-lewa",
            "those outside were clipped, so the limit may be missed; learner='auto' uses them unclipped",
        ),
        ("auto", "the learner uses them unclipped; only the confidence interval becomes one-sided"),
    ):
        agent = Agent(["a", "b"], [at_most("cost", 0.2, range=(0, 0.5))], learner=learner, seed=1)
        for n in range(10):
            agent.update(agent.pull(), reward=0.5, cost=0.1 * n)
        warning = agent.status().warnings[0]
        assert warning.startswith("4 values of cost lay outside its range (0, 0.5)")
        assert warning.endswith(ending)
        assert warning.code == "range"


def test_a_range_far_wider_than_the_values_is_warned_of() -> None:
    status = routed(200, COSTS, REWARDS, line=0.002, top=0.05, learner="anytime-loss-lewa").status()
    assert [warning for warning in status.warnings if "in a range of (0, 0.05)" in warning]
    assert status.warnings[0].endswith("a range of (0, 0.009) would fit")


def test_a_line_near_the_best_that_an_action_has_is_warned_of() -> None:
    status = routed(3000, COSTS, REWARDS, line=0.00105, top=0.009, learner="anytime-loss-lewa").status()
    assert status.warnings[0].startswith("the limit of cost, 0.00105, is close to the best value of any action, 0.00")


@pytest.mark.parametrize(("sense", "limit"), [(at_most, 0.4), (at_least, 0.35)])
@pytest.mark.parametrize("third", [0.36, 0.9])
def test_a_limit_that_every_action_meets_is_not_called_near(
    sense: Callable[..., Constraint], limit: float, third: float
) -> None:
    """All actions cost 0.36 to 0.39 of 0.4: nothing has to be learned to keep it. Of 0.9 there is something to learn."""
    third = 1 - third if sense is at_least and third > 0.5 else third
    agent = Agent(["a", "b", "c"], [sense("value", limit)], learner="anytime-loss-lewa", seed=0)
    for n in range(300):
        decision = agent.pull()
        value = {"a": 0.37, "b": 0.38, "c": third}[str(decision.action)]
        agent.update(decision, reward=0.01 * (n % 100), value=value)
    assert ("near-limit" in [warning.code for warning in agent.status().warnings]) == (abs(third - 0.36) > 0.1)


def test_a_horizon_that_has_passed_is_warned_of() -> None:
    agent = routed(101, COSTS, REWARDS, line=0.0025, top=0.009, learner="bandit-lewa", horizon=100)
    assert "101 decisions were made, more than the horizon 100 for which the learner is tuned" in agent.status().warnings


def test_decisions_without_an_answer_are_warned_of() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0, answers=lewa.Answers(max_open=5))
    for _ in range(10):
        agent.pull()
    [warning] = [text for text in agent.status().warnings if "not answered in full" in text]
    assert warning.startswith("5 of 10 decisions were not answered in full, and their reward was filled in: see max_open")


@pytest.mark.parametrize(
    ("low", "high", "least", "most", "line", "fit"),
    [
        (0, 0.05, 0.0004, 0.0042, 0.002, (0, 0.005)),
        (0, 1, 0.2, 1.4, None, (0, 1.6)),
        (0, 100, 40, 41, 40.5, (39.8, 41.2)),
        (-1, 1, -3, 0.9, 0, (-4, 1)),
        (0, 1, 0.5, 0.5, None, (0.499, 0.501)),
        (0, 1, -1e308, 1e308, None, (-1e308, 1e308)),
    ],
)
def test_a_suggested_range_holds_what_was_seen(
    low: float, high: float, least: float, most: float, line: float | None, fit: tuple[float, float]
) -> None:
    bottom, top = suggest_range(low, high, least, most, line)
    assert bottom <= least <= most <= top
    assert (bottom, top) == pytest.approx(fit, abs=0.1 * (fit[1] - fit[0]))


def test_a_status_survives_values_and_chances_at_the_end_of_what_floats_hold() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0, learner=lewa.LearnerOptions(goal="proved"))
    for value in (1e308, -1e308, 5e-324):
        agent.apply(Feedback(agent.pull().id, {"reward": value, "cost": value}))  # of a journal of an earlier version
    pattern = agent.pull()
    for number in (5, 6, 7):  # 1/chance adds up to more than a float holds
        agent.apply(pattern._replace(id=number, round=number, probability=2.3e-308, play_bytes=b""))
        agent.update(number, reward=1.0, cost=0.5)
    status = agent.status()
    assert "2 values of cost lay outside its range" in str(status)
    assert sum(agent.pull().play) == pytest.approx(1)
    assert Agent.restore(agent.snapshot()).snapshot() == agent.snapshot()


def test_what_is_open_is_reserved_at_what_it_is_expected_to_have() -> None:
    agent = Agent(["a"], [at_most("cost", 0.4, range=(0, 10))], seed=0, learner=lewa.LearnerOptions(goal="proved"))
    agent.pull()
    assert agent.status().constraints[0].reserved == 10  # nothing is known: the worst
    agent.update(1, reward=0.5, cost=2)
    agent.pull()
    agent.pull()
    agent.update(3, cost=5)
    line = agent.status().constraints[0]
    assert line.average == 3.5
    assert line.reserved == pytest.approx((2 + 5 + 3.5) / 3)


def test_a_status_is_text_and_json() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4), at_least("share", 0.1)], seed=0)
    assert str(agent.status()).splitlines()[0] == "0 decisions by squarecb-lewa: none yet"
    agent.update(agent.pull(), reward=0.5, cost=0.3)
    text = str(agent.status())
    assert (
        "cost at most 0.4: 0.3 on average (below the limit), 0.3 recently, debt -0.1; "
        "expected average 0 to 1 (95% confidence at all times): undecided; multiplier 0"
    ) in text
    assert "share at least 0.1: no values yet; multiplier 0" in text
    plain: dict[str, Any] = json.loads(json.dumps(agent.status().plain()))
    assert plain["constraints"][0]["average"] == 0.3
    assert plain["guarantee"]["reason"].startswith("its constants were chosen by measurements, and no bound on regret")
    least = "(governed, nothing proved about regret; anytime-loss-lewa has the least bound)"
    assert (
        repr(agent)
        == f"<Agent: 2 actions, cost at most 0.4, share at least 0.1; squarecb-lewa {least}; 1 decisions; seed 0>"
    )


@pytest.mark.plain
def test_the_learner_with_the_least_bound_is_named_beside_one_that_measurements_chose() -> None:
    wishes: list[dict[str, Any]] = [{}, {"feedback": "full"}, {"horizon": 5000}, {"context": [lewa.number("size", (0, 1))]}]
    for wish in wishes:
        chosen, proved = (
            Agent(["a", "b"], [at_most("cost", 0.4)], learner=lewa.LearnerOptions(goal=goal), **{"seed": 0, **wish})
            for goal in ("practice", "proved")
        )
        name = proved.setup.learner_name
        assert chosen.status().least_bound.split()[0] == name
        assert chosen.status().plain()["least_bound"] == chosen.status().least_bound
        assert f"; {chosen.status().least_bound} has the least proved bound (goal='proved')" in str(chosen.status())
        assert f"(governed, nothing proved about regret; {chosen.status().least_bound} has the least bound)" in repr(chosen)
        assert proved.status().least_bound == ""
        assert "least" not in repr(proved) + str(proved.status())
