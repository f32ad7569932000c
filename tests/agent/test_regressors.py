"""Regressors in the place of the ridge: what they are asked and taught, late answers, records, and what is refused."""

import pickle
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.agent.saved_state import agent_to_plain
from lewa.engine.session import Session, dice_of
from lewa.feedback import Bandit
from lewa.kernels import forecast
from lewa.learners.squarecb_lewa import SquareCbLewa, WidthSquareCbLewa, score_error
from lewa.types import Vector

ACTIONS = ["small", "large"]
COLUMNS = [lewa.category("task", ["code", "chat"]), lewa.number("tokens", (0, 1000))]
COSTS = {"small": 0.4, "large": 0.6}


class Ridge:
    """The ridge of squarecb-lewa in NumPy, by the verbs of scikit-learn."""

    def __init__(self) -> None:
        self.matrix, self.sums = np.diag([0.1, 1.0, 1.0, 1.0]), np.zeros(4)

    def partial_fit(self, rows: Any, targets: Any) -> None:
        self.matrix += rows.T @ rows
        self.sums += rows.T @ targets

    def predict(self, rows: Any) -> Vector:
        prediction: Vector = rows @ np.linalg.solve(self.matrix, self.sums)
        return prediction


class Mean:
    """The mean of what was told, by the verbs of river; it can be made to fail."""

    def __init__(self, fails_after: int = 10**9, nothing_after: int = 10**9) -> None:
        self.count, self.mean, self.rows = 0, 0.0, list[dict[str, float]]()
        self.fails_after, self.nothing_after, self.interrupts = fails_after, nothing_after, False

    def learn_one(self, row: dict[str, float], y: float) -> None:
        if self.interrupts:
            raise KeyboardInterrupt
        if self.count >= self.fails_after:
            raise OverflowError("too\nmuch")
        self.rows.append(row)
        self.count += 1
        self.mean += (y - self.mean) / self.count

    def predict_one(self, row: dict[str, float]) -> float:
        return self.mean if self.count <= self.nothing_after else float("nan")


class ByTask:
    """The last value told of each task, by the verbs of river."""

    def __init__(self) -> None:
        self.last: dict[bool, float] = {}

    def learn_one(self, row: dict[str, float], y: float) -> None:
        self.last[row["task_0"] > 0] = y

    def predict_one(self, row: dict[str, float]) -> float:
        return self.last.get(row["task_0"] > 0, 0.0)


class Process(Ridge):
    """The same with the standard deviation of its prediction, as a Gaussian process of scikit-learn has it."""

    def __init__(self, bad: float | None = None) -> None:
        super().__init__()
        self.bad = bad

    def predict(self, rows: Any, return_std: bool = False) -> Any:
        if not return_std:
            return super().predict(rows)
        std = 0.3 * np.sqrt(np.einsum("ij,ij->i", rows, np.linalg.solve(self.matrix, rows.T).T))
        return super().predict(rows), std if self.bad is None or self.sums[0] == 0.25 else np.full(len(rows), self.bad)


class Silent(Ridge):
    """What `Process` was before it had standard deviations."""


Silent.__name__ = "Process"


def make(regressor: Any = None, **settings: Any) -> lewa.Agent:
    limits = [lewa.at_most("cost", 0.5)]
    return lewa.Agent(ACTIONS, limits, seed=3, **{"context": COLUMNS, "regressor": regressor, **settings})


def run(agent: lewa.Agent, n: int, late: int = 0, masks: bool = True) -> list[Any]:
    """Pull and answer, each answer `late` decisions later; return all records."""
    records, waiting, dice = list[Any](), list[Any](), np.random.default_rng(4)
    for t in range(n):
        task, tokens, luck = ("code", "chat")[int(dice.integers(2))], int(dice.integers(1000)), dice.random()
        decision = agent.pull(["small"] if masks and t % 7 == 3 else None, context={"task": task, "tokens": tokens})
        records.append(decision)
        reward = 0.4 + 0.2 * luck + 0.1 * (task == "code") * (decision.action == "large")
        waiting.append((decision, {"reward": reward, "cost": COSTS[str(decision.action)] + 0.1 * (luck - 0.5)}))
        if len(waiting) > late:
            answered, values = waiting.pop(0)
            records.append(agent.update(answered, **values))
    return records


def state(agent: lewa.Agent) -> Any:
    return agent_to_plain(agent._recorder.copy())["state"]


@pytest.mark.parametrize("late", [0, 5])
def test_the_ridge_as_a_regressor_plays_as_the_ridge_does(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lewa.learners.squarecb_lewa.RIDGE_SHARE", 0.0)  # a regressor of the user's has no least share
    inside, outside = make(), make(Ridge())
    pairs = list(zip(run(inside, 60, late), run(outside, 60, late), strict=True))  # at 64 answers the ridge inside forgets
    decisions = [(ours, theirs) for ours, theirs in pairs if hasattr(ours, "play")]
    if late == 0:
        for ours, theirs in decisions:
            assert ours.play == pytest.approx(theirs.play, abs=1e-9)
            assert ours.charged == pytest.approx(theirs.charged, abs=1e-9)
            assert theirs.features[:4] == ours.features
    least = "(governed, nothing proved about regret; anytime-proved-squarecb-lewa has the least bound)"
    assert (
        repr(outside)
        == f"<Agent: 2 actions, cost at most 0.5; squarecb-lewa, 4 features, Ridge {least}; 60 decisions; seed 3>"
    )
    assert outside.status().guarantee.regret is None


def test_one_regressor_for_each_action_and_quantity_learns_the_features_of_its_decisions() -> None:
    agent = make(Mean(), answers=lewa.Answers(expected={"cost": [0.4, 0.6]}))
    first = agent.pull(context={"task": "chat"})
    assert first.features[4:] == pytest.approx((0.5, 0.4, 0.5, 0.6))  # what is expected: reward and cost of each action
    agent.pull(context={"task": "code"})
    agent.update(first, reward=0.9, cost=COSTS[str(first.action)] + 0.1)
    k = ACTIONS.index(str(first.action))
    tail = [0.5, 0.4, 0.5, 0.6]
    tail[2 * k : 2 * k + 2] = [0.9, COSTS[str(first.action)] + 0.1]
    assert agent.pull(context={"task": "code"}).features[4:] == pytest.approx(tail)
    models: Any = agent._state.regressors._models  # type: ignore[union-attr]
    half = 0.5**0.5
    assert models[k][0].model.rows == [pytest.approx({"constant": 1, "task_0": 0, "task_1": half, "tokens": 0})]
    assert [models[1 - k][o].model.count for o in (0, 1)] == [0, 0]
    agent.close(agent.pull(context={}))  # nothing was told of it, and nothing is learned
    assert models[k][0].model.count == 1


def test_features_have_different_names_for_a_regressor() -> None:
    for columns, names in (
        ([lewa.number("constant", (0, 1))], ["constant", "constant_"]),
        ([lewa.category("k", ["x", "y"]), lewa.number("k_0", (0, 1))], ["constant", "k_0", "k_1", "k_0_"]),
        (
            [lewa.number("k_0_", (0, 1)), lewa.number("k_0", (0, 1)), lewa.category("k", ["x", "y"])],
            ["constant", "k_0_", "k_0", "k_0__", "k_1"],
        ),
    ):
        agent = make(Mean(), context=columns)
        agent.update(agent.pull(context={}), reward=1.0, cost=0.5)
        models: Any = agent._state.regressors._models  # type: ignore[union-attr]
        assert [list(row) for pair in models for row in pair[0].model.rows] == [names]


def test_a_cost_above_its_range_is_predicted_as_it_is() -> None:
    agent = lewa.Agent(
        ["a"], [lewa.at_most("cost", 0.5)], seed=3, context=lewa.ContextOptions(columns=[COLUMNS[0]], regressor=ByTask())
    )
    for t in range(60):
        task = ("code", "chat")[t % 2]
        agent.update(agent.pull(context={"task": task}), reward=3.0 if t % 2 else -2.0, cost=0.0 if t % 2 else 5.0)
    code, chat = agent.pull(context={"task": "code"}), agent.pull(context={"task": "chat"})
    assert code.features[3:] == pytest.approx((0.0, 5.0))  # a reward stays in [0, 1]
    assert chat.features[3:] == pytest.approx((1.0, 0.0))
    assert 4 < code.charged[0] <= 5
    assert chat.charged[0] < 1


@pytest.mark.parametrize("late", [0, 40])
def test_records_and_the_journal_bring_the_agent_back(late: int, tmp_path: Path) -> None:
    agent = make(Ridge(), journal=tmp_path / "j")
    records = run(agent, 120, late)
    agent.set_limit("cost", 0.52)
    assert agent.warm() is agent
    agent.stop_journal()
    again = make(Ridge()).replay(records)
    again.set_limit("cost", 0.52)
    opened = lewa.Agent.open(tmp_path / "j", regressor=Ridge())
    context = {"task": "code", "tokens": 7}
    assert state(agent) == state(again) == state(opened)
    assert agent.pull(context=context) == again.pull(context=context) == opened.pull(context=context)
    assert opened._recorder.journal is not None


def test_a_regressor_that_does_not_repeat_itself_is_named_and_the_records_count(tmp_path: Path) -> None:
    agent = make(Mean(), journal=tmp_path / "j")
    run(agent, 40)
    agent.stop_journal()
    with pytest.warns(UserWarning, match="the regressor does not repeat its prediction for decision \\d+: it is another"):
        opened = lewa.Agent.open(tmp_path / "j", regressor=Mean(nothing_after=3))
    assert state(opened) == state(agent)
    assert opened.pull(context={}) != agent.pull(context={})


@pytest.mark.filterwarnings("error")
def test_a_difference_as_an_error_leaves_the_record_taken(tmp_path: Path) -> None:
    records = run(make(Mean()), 20)
    other, calm = make(Mean(nothing_after=3)), make(Mean(nothing_after=3))
    taken = 0
    for item in records:
        try:
            other.apply(item)
        except UserWarning:
            taken += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calm.replay(records)
    assert taken == 1
    assert state(other) == state(calm)
    assert other._state.records == len(records)


@pytest.mark.parametrize("verb", ["update", "update_many", "close"])
def test_an_interrupt_in_a_regressor_comes_after_the_answer_was_taken(verb: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"learn": "close", "expire_after": 9} if verb == "close" else {}
    agent, calm = make(Mean(), journal=tmp_path / "j", **settings), make(Mean(), **settings)
    for each in (agent, calm):
        decision = each.pull(context={"task": "code"})
        if verb == "close":
            each.update(decision, reward=0.7, cost=0.3)
        if each is agent:
            model: Any = each._state.regressors._models[ACTIONS.index(str(decision.action))][0]  # type: ignore[union-attr]
            model.model.interrupts = True
        with pytest.raises(KeyboardInterrupt) if each is agent else nullcontext():
            if verb == "close":
                each.close(decision)
            elif verb == "update":
                each.update(decision, reward=0.7, cost=0.3)
            else:
                each.update_many([(decision, {"reward": 0.7, "cost": 0.3})])
    assert state(agent) == state(calm)
    assert "failed in 1 prediction or answer; its expected value was used instead; last error: Keyb" in str(agent.status())
    with pytest.raises(ValueError, match="closed"):
        agent.update(1, reward=0.7, cost=0.3)
    agent.stop_journal()
    assert agent.pull(context={}).id == 2  # it goes on
    assert state(lewa.Agent.open(tmp_path / "j", regressor=Mean())) == state(calm)


def test_what_a_regressor_learned_is_not_saved_and_a_sentence_says_so(tmp_path: Path) -> None:
    agent = make(Mean())
    agent.start_journal(tmp_path / "early")
    run(agent, 10)
    refusals: list[Callable[[], object]] = [
        agent.snapshot,
        agent.checkpoint,
        lambda: agent.save(tmp_path / "a.json"),
        lambda: pickle.dumps(agent),
        lambda: lewa.Agent.open(tmp_path / "early"),
    ]
    agent._recorder.try_checkpoint(agent._recorder.journal)  # type: ignore[arg-type]  # the journal does it by itself: nothing is written
    assert [path.name for path in tmp_path.iterdir()] == ["early"]
    for call in refusals[:-1]:
        with pytest.raises(ValueError, match="a fitted regressor is not saved: make the agent with a journal"):
            call()
    agent.stop_journal()
    with pytest.raises(ValueError, match="made with a Mean: a fitted regressor is not saved"):
        refusals[-1]()
    with pytest.raises(ValueError, match="is not saved"):
        agent.start_journal(tmp_path / "late")
    assert not (tmp_path / "late").exists()
    with pytest.raises(ValueError, match="is not saved"):
        lewa.Agent.restore(agent_to_plain(agent._recorder.copy()))


def test_a_regressor_that_fails_is_left_out_and_named_in_the_status() -> None:
    agent, blind = make(Mean(fails_after=20)), make(Mean(nothing_after=5))
    for each in (agent, blind):
        run(each, 100, masks=False)
        assert each._state.driver.multiplier[0] > 0  # the price goes on as ever
    texts = {warning for warning in agent.status().warnings if warning.code == "regressor"}
    assert any(
        "failed in " in text and "expected value was used instead; last error: OverflowError: too much" in text
        for text in texts
    )
    assert "ValueError: it predicts nan" in str(blind.status())
    assert all(0 <= x <= 1 for x in blind.pull(context={}).features[4:])


def test_what_is_no_regressor_gets_one_sentence(tmp_path: Path) -> None:
    class Classifier:
        def partial_fit(self, rows: Any, targets: Any, classes: Any = None) -> None:
            raise ValueError("classes must be passed\non the first call")

        def predict(self, rows: Any) -> Any: ...

    agent = make(Mean())
    run(agent, 5)
    make(journal=tmp_path / "plain").stop_journal()
    make(Mean(), journal=tmp_path / "mean").stop_journal()
    locked: Any = Mean()
    locked.lock = Lock()
    before = state(agent)
    refusals: list[tuple[Any, str]] = [
        (lambda: make(3), "must have partial_fit and predict, as in scikit-learn, or learn_one"),
        (lambda: make(Mean), "must be an object, such as Mean\\(\\), got the class"),
        (lambda: make(Classifier()), "predict a number, got Classifier: ValueError: classes must be passed on the first"),
        (lambda: make(Mean(), context=None), "a regressor needs a context: declare it"),
        (lambda: make(Mean(), context=lewa.ContextOptions(columns=None, policies=["a"])), "a regressor needs a context"),
        (lambda: make(Mean(), learner="proved-squarecb-lewa", horizon=100), "replaces the ridge of squarecb-lewa"),
        (lambda: agent.add_action("huge"), "an agent with a regressor cannot change its actions"),
        (
            lambda: agent.set_range("cost", (0, 2)),
            "an agent with a regressor cannot change a range: make a new agent with the new range of cost",
        ),
        (lambda: lewa.Agent.open(tmp_path / "plain", regressor=Mean()), "this agent was made without a regressor"),
        (lambda: lewa.Agent.open(tmp_path / "mean", regressor=Ridge()), "made with a Mean: .* of that class, got a Ridge"),
        (
            lambda: make(locked),
            "copy.deepcopy must be able to copy a regressor, .* got Mean: TypeError: cannot pickle '_thread.lock'",
        ),
    ]
    for call, sentence in refusals:
        with pytest.raises(ValueError, match=sentence) as error:
            call()
        assert len(str(error.value).splitlines()) == 1
    assert state(agent) == before


def test_regressors_of_river_learn_and_are_brought_back(tmp_path: Path) -> None:
    linear_model, preprocessing = pytest.importorskip("river.linear_model"), pytest.importorskip("river.preprocessing")
    check_with(preprocessing.StandardScaler() | linear_model.LinearRegression(), tmp_path)
    river = pytest.importorskip("lewa.adapters.river")
    policy = river.Policy([lewa.at_most("cost", 0.5)], ACTIONS, context=COLUMNS, regressor=linear_model.LinearRegression())
    for n in range(4):
        policy.update(policy.pull(ACTIONS, {"task": "code", "tokens": n}), 1, cost=0.4)
    assert "LinearRegression" in repr(policy.agent)
    assert len(policy.decision.features) == 8


def test_regressors_of_scikit_learn_learn_and_are_brought_back(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    check_with(linear_model.SGDRegressor(learning_rate="constant", eta0=0.1), tmp_path)


def check_with(model: Any, folder: Path) -> None:
    agent = make(model, journal=folder / "j")
    run(agent, 40, late=3)
    agent.stop_journal()
    decision = agent.pull(context={"task": "code"})
    assert all(prediction != 0.5 for prediction in decision.features[4:])
    assert not agent.status().warnings
    opened = lewa.Agent.open(folder / "j", regressor=model)  # the model itself has learned nothing
    assert opened.pull(context={"task": "code"}) == decision
    assert state(opened) == state(agent)


def test_a_width_is_the_standard_deviation_of_a_score_in_units_of_its_error() -> None:
    learner = WidthSquareCbLewa(**SquareCbLewa.tuned(2, 100, 0.5, features=1).parameters)
    session = Session(learner, 2, dice_of(0))
    session.multiplier[0] = 2.0
    session.see(np.array([1.0, 0.6, 0.4, 0.5, 0.5, 0.03, 0.02, 0.0, 0.5]))  # the constant, predictions, deviations
    session.play()
    e = 0.09 + 2.0**2 * 0.25  # before any answer: (S_0 + lambda^2 S_1)/N
    assert session.state.spread**2 * e == pytest.approx([0.03**2 + 2.0**2 * 0.02**2, 2.0**2 * 0.5**2])


def test_a_regressor_with_deviations_has_at_least_half_of_the_weight() -> None:
    agent, silent = make(Process()), make(Silent())
    for each in (agent, silent):
        for t in range(60):
            task = ("code", "chat")[t % 2]
            each.update(each.pull(context={"task": task, "tokens": 500 * (t % 3)}), reward=0.5, cost=0.5)
    least = [each._state.driver.state.forecasts.weight[-1].min() for each in (agent, silent)]
    assert least[0] == pytest.approx(0.5)
    assert least[1] < 0.45


def test_with_deviations_the_play_is_that_of_the_formula() -> None:
    learner = WidthSquareCbLewa(**SquareCbLewa.tuned(3, 100, 0.5, features=2).parameters)
    session, dice, doubt, left_out = Session(learner, 3, dice_of(0)), np.random.default_rng(1), 0.0, 0
    for t in range(80):
        deviations = dice.random((3, 2)) / (10 if t else 0.1)  # more than the whole range at first
        features = np.concatenate([[1.0, dice.random()], dice.random(6), deviations.ravel()])
        session.see(features)
        play, price = session.play(), float(session.multiplier[0])
        r, z = ([forecast(session.state.forecasts, learner.prior, o, k) for k in range(3)] for o in range(2))
        scores = np.array(r) - price * np.array(z)
        inside = scores + 2 * np.sqrt(deviations**2 @ [1, price**2]) >= scores.max()
        gaps = 8 * np.sqrt(2 * max(t, 1) / max(doubt, 1e-12)) * (scores.max() - scores)
        nu = max((1 / share - gap for share, gap in zip(play, gaps, strict=True) if share > 0), default=0.0)
        assert play == pytest.approx(np.where(inside, 1 / (nu + gaps), 0), abs=1e-9)
        left_out += int((~inside).sum())
        choice = session.choose(t)
        session.see(features)
        price = float(session.multiplier[0])
        told = Bandit(choice.action, choice.propensity, dice.random(), dice.random(1), choice.play, choice.charged)
        session.learn(told)
        doubt = (1 - 1 / 5000) * doubt + min(deviations[choice.action] ** 2 @ [1, price**2], 1 + price**2)
    assert 0 < left_out < 160


def test_an_action_in_doubt_keeps_its_share_where_all_others_are_predicted_exactly() -> None:
    """By the errors of all rounds its share would fall to nothing: it might never be taken where it is good."""
    learner = WidthSquareCbLewa(**SquareCbLewa.tuned(2, 1000, 0.5, rewards=[0.5, 0.4], features=1).parameters)
    session = Session(learner, 2, dice_of(0))
    features = np.array([1.0, 0.5, 0.5, 0.4, 0.5, 0.02, 0.0, 0.3, 0.0])  # both cost the limit, so the price stays at 0
    for _ in range(1000):
        session.see(features)
        charged = session.charge(0)
        session.see(features)
        session.learn(Bandit(0, 1.0, 0.5, np.array([0.5]), np.array([1.0, 0.0]), charged))
    session.see(features)
    share = session.play()[1]
    discount = (1 - 1 / 5000) ** 1000
    sharpness = 8 * np.sqrt(1000 / (0.02**2 * 5000 * (1 - discount)))
    assert score_error(session.state) < 1e-3
    assert share == pytest.approx(1 / (1 + 0.1 * sharpness), rel=0.03)  # nu is hardly above 1


@pytest.mark.parametrize("late", [0, 9])
def test_a_decision_records_deviations_and_the_journal_brings_them_back(late: int, tmp_path: Path) -> None:
    agent = make(Process(), journal=tmp_path / "j")
    first = agent.pull(context={"task": "code"})
    assert first.features[8:] == (1.0,) * 4  # the whole range, before the first answer of an action
    agent.update(first, reward=0.7, cost=0.3)
    records = run(agent, 60, late)
    decision = records[-2]
    assert len(decision.features) == 4 + 2 * 4
    assert all(0 < width < 0.3 for width in decision.features[8:])
    agent.stop_journal()
    opened = lewa.Agent.open(tmp_path / "j", regressor=Process())
    again = make(Process())
    again.apply(first)
    again.update(first, reward=0.7, cost=0.3)
    again.replay(records)
    context = {"task": "code", "tokens": 7}
    assert state(agent) == state(opened) == state(again)
    assert agent.pull(context=context) == opened.pull(context=context) == again.pull(context=context)


def test_a_journal_without_deviations_is_continued_without_them(tmp_path: Path) -> None:
    agent = make(Silent(), journal=tmp_path / "j")
    run(agent, 30, late=4)
    agent.stop_journal()
    opened = lewa.Agent.open(tmp_path / "j", regressor=Process())
    assert state(opened) == state(agent)
    assert opened.pull(context={"task": "code"}) == agent.pull(context={"task": "code"})
    opened.stop_journal()
    make(Process(), journal=tmp_path / "k").stop_journal()
    with pytest.raises(ValueError, match=r"made with a Process that returns standard deviations: .* return_std") as error:
        lewa.Agent.open(tmp_path / "k", regressor=Silent())
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1])
def test_a_deviation_that_is_none_is_the_whole_range_and_named_in_the_status(bad: float) -> None:
    agent = make(Process(bad))
    run(agent, 20)
    decision = agent.pull(context={"task": "code"})
    assert decision.features[4:8] == (0.5,) * 4  # what is expected
    assert decision.features[8:] == (1.0,) * 4
    assert f"its expected value was used instead; last error: ValueError: its standard deviation is {bad}" in str(
        agent.status()
    )


def test_a_deviation_without_measure_leaves_the_learner_finite() -> None:
    agent = make(Process(1e300))
    run(agent, 20)
    assert max(agent.pull(context={"task": "code"}).features[8:]) <= 1e6
    assert np.isfinite(agent._state.driver.memory).all()


def test_a_regressor_whose_deviation_is_no_number_is_refused() -> None:
    class Odd(Ridge):
        def predict(self, rows: Any, return_std: bool = False) -> Any:
            return super().predict(rows)

    with pytest.raises(ValueError, match="predict a number, and its standard deviation with return_std=True, got Odd"):
        make(Odd())
