import copy
import json
import os
import pickle
import signal
import time
from math import inf
from pathlib import Path
from typing import Any

import pytest
from tests.theorems.instances import HUNT

from lewa import Agent, Answers, Governor, LearnerOptions, at_least, at_most, number
from lewa.agent.status.report import report

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

ASSETS = Path(__file__).parent.parent / "assets"

# Later than the first files of version 1.
LATER = ("recent", "debt", "exposure", "changes", "shifts", "delays", "segments", "compiled")


def at_work(learner: str = "anytime-loss-lewa", horizon: int | None = None, **more: Any) -> Agent:
    """An agent with answered, half-answered and unanswered decisions."""
    lines = [at_most("cost", 0.002, range=(0, 0.01)), at_least("quality", 3, range=(1, 5))]
    agent = Agent(["small", "medium", "large"], lines, horizon=horizon, learner=learner, seed=11, **more)
    vector = learner == "lewa"
    for n in range(40):
        decision = agent.pull(available=["small", "large"] if n % 7 == 3 else None)
        value = (lambda x: [x, x / 2, x / 3]) if vector else float
        agent.update(decision, cost=value(0.0001 * n))
        if n % 3:
            agent.update(decision, reward=value(n % 2), quality=value(1 + n % 5))
    return agent


def carry_on(agent: Agent, vector: bool) -> list[Any]:
    said: list[Any] = []
    for n in range(30):
        decision = agent.pull(available=["medium", "large"] if n % 5 == 4 else None)
        said += [decision, *([agent.status().plain()] if HUNT or n % 3 == 0 else [])]
        one = [0.3, 0.5, 0.7] if vector else 0.5
        agent.update(decision, reward=one, cost=[0.001] * 3 if vector else 0.001, quality=[3] * 3 if vector else 3)
    return [*said, agent.snapshot()]


LEARNERS = [("anytime-loss-lewa", None), ("bandit-lewa", 200), ("lewa-ucb", 200), ("lewa", 200), ("lewa+doubling", None)]


@pytest.mark.parametrize(("name", "horizon"), LEARNERS)
def test_a_loaded_agent_goes_on_bit_for_bit(name: str, horizon: int | None, tmp_path: Path) -> None:
    if "doubling" in name:
        agent = Agent(
            ["small", "medium", "large"], [at_least("quality", 3, range=(1, 5)), at_most("cost", 1)], learner=name, seed=0
        )
        agent.update(agent.pull(), reward=[1, 0, 1], quality=[1, 2, 3], cost=[1, 1, 0])
    else:
        agent = at_work(name, horizon, answers=Answers(max_open=7, close_after=11))
    agent.save(tmp_path / "agent.json")
    loaded = Agent.load(tmp_path / "agent.json")
    assert loaded.snapshot() == agent.snapshot()
    vector = name.startswith("lewa") and name != "lewa-ucb"
    assert carry_on(loaded, vector) == carry_on(agent, vector)


def test_what_is_saved_is_plain_json_that_a_reader_finds_its_way_in(tmp_path: Path) -> None:
    agent = at_work()
    agent.save(tmp_path / "agent.json")
    saved = json.loads((tmp_path / "agent.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert saved["format"] == "lewa agent"
    assert saved["agent"]["version"] == 1
    assert saved["agent"]["setup"]["actions"] == ["small", "medium", "large"]
    assert saved["agent"]["setup"]["lines"][0] == {"name": "cost", "sense": "at most", "line": 0.002, "low": 0, "high": 0.01}
    state = saved["agent"]["state"]
    assert set(state) == {"round", "dice", "learner", "book", "counts", "charges", "open", *LATER}
    assert len(state["learner"]["multiplier"]) == 2
    assert len(state["open"]) == agent.status().open == 14


def test_numbers_that_json_does_not_have_survive(tmp_path: Path) -> None:
    agent = at_work()
    plain = agent.snapshot()
    plain["state"]["learner"]["losses"][1] = float("inf")
    odd = Agent.restore(plain)
    odd.save(tmp_path / "odd.json")
    assert Agent.load(tmp_path / "odd.json").snapshot() == odd.snapshot()


def test_an_agent_can_be_copied_and_pickled() -> None:
    agent = at_work()
    for twin in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.snapshot() == agent.snapshot()
        twin.pull()
        assert twin.snapshot() != agent.snapshot()


def test_a_file_cut_anywhere_is_refused_with_a_sentence(tmp_path: Path) -> None:
    agent = at_work()
    agent.save(tmp_path / "agent.json")
    whole = (tmp_path / "agent.json").read_bytes()
    before = agent.snapshot()
    for end in [*range(0, len(whole) - 1, 97), len(whole) // 2, len(whole) - 2]:
        (tmp_path / "cut.json").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="is not a saved agent, or is truncated"):
            Agent.load(tmp_path / "cut.json")
    assert agent.snapshot() == before


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    at_work().save(path)
    text = path.read_text()
    path.write_text(text.replace('"round": 40', '"round": 41'))
    with pytest.raises(ValueError, match="checksum does not match"):
        Agent.load(path)
    path.write_text('{"weights": [1, 2]}')
    with pytest.raises(ValueError, match="is not a saved agent"):
        Agent.load(path)
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="is not a saved agent"):
        Agent.load(path)
    with pytest.raises(FileNotFoundError):
        Agent.load(tmp_path / "none.json")


def broken(change: Any) -> dict[str, Any]:
    plain = at_work().snapshot()
    change(plain)
    return plain


def test_an_agent_saved_under_a_name_of_an_earlier_version_continues() -> None:
    for name, fractional in (("kube", 0.0), ("fractional-kube", 1.0)):
        agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner=name, horizon=100, seed=1)
        snapshot = agent.snapshot()
        assert snapshot["setup"]["learner"].pop("fractional") == fractional  # two classes had no such parameter
        assert Agent.restore(snapshot).snapshot() == agent.snapshot()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda plain: plain.update(version=99), "must have version 1, got version 99"),
        (lambda plain: plain["state"].pop("book"), "not complete: KeyError"),
        (lambda plain: plain["setup"].pop("lines"), "not complete: KeyError"),
        (lambda plain: plain["state"]["book"].pop(), "the statistics of 3 quantities must have as many rows, got 2"),
        (lambda plain: plain["state"]["book"][0]["seen"].pop(), "seen must have one number per action, 3, got 2"),
        (lambda plain: plain["state"]["learner"].pop("losses"), "a saved AnytimeLossLewaState has the fields"),
        (lambda plain: plain["state"]["learner"]["losses"].pop(), "with 3 actions and 2 constraints"),
        (lambda plain: plain["state"]["learner"]["multiplier"].__setitem__(0, float("nan")), "must be numbers"),
        (lambda plain: plain["state"]["charges"][0].__setitem__(0, float("nan")), "must be numbers of at least 0, got"),
        (lambda plain: plain["state"]["open"][0].__setitem__(2, 2.0), "with probability 2.0 cannot be open"),
        (lambda plain: plain["setup"].update(name="nobody"), "unknown learner 'nobody'"),
        (lambda plain: plain["setup"].update(name="bandit-q"), "bandit-q was removed in 0.3.0; use squarecb-lewa instead"),
        (lambda plain: plain["setup"]["lines"][0].update(sense="about"), "'at most' or 'at least', got 'about'"),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(change: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Agent.restore(broken(change))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.json"
    agent = at_work()
    agent.save(path)
    old = path.read_bytes()
    agent.pull()

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="no space left"):
        agent.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["agent.json"]


def save_for_ever(path: Path, said: int) -> None:
    agent = Agent.load(path)
    while True:
        agent.update(agent.pull(), reward=0.5, cost=0.001, quality=3.0)
        agent.save(path)
        os.write(said, b"%d\n" % agent.status().decisions)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_killed_while_it_saves_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = at_work()
    agent.save(path)
    decisions = agent.status().decisions
    for n in range(4):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                save_for_ever(path, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as lines:
            last = [int(lines.readline()) for _ in range(3)][-1]
            time.sleep(0.0007 * n)
            os.kill(child, signal.SIGKILL)
            last = max([last, *map(int, lines.read().split())])
        os.waitpid(child, 0)
        loaded = Agent.load(path)
        assert loaded.status().decisions in (last, last + 1)  # what it said was saved is there
        assert last > decisions
        decisions = loaded.status().decisions
        assert Agent.restore(loaded.snapshot()).pull() == loaded.pull()


def test_an_agent_saved_by_version_one_still_loads() -> None:
    agent = Agent.load(ASSETS / "agent-v1.json")
    expected = json.loads((ASSETS / "agent-v1-goes-on.json").read_text())
    assert agent.status().decisions == 40
    assert agent.status().open == 14
    for then in expected:
        decision = agent.pull()
        assert decision.action == then["action"]
        assert decision.play == pytest.approx(then["play"], rel=1e-9)  # another machine may round otherwise
        assert decision.multipliers == pytest.approx(then["multipliers"], rel=1e-9)
        agent.update(decision, reward=0.5, cost=0.001, quality=3)


@pytest.mark.parametrize("governed", [False, True])
def test_open_decisions_are_saved_in_columns_and_a_status_needs_only_their_sums(governed: bool) -> None:
    more: Any = {"governor": Governor("small", sure={"cost": 0.001}, debt={"cost": 0.01})} if governed else {}
    agent = Agent(["small", "large"], [at_most("cost", 0.002, range=(0, 0.01))], seed=1, **more)
    for _ in range(50):
        agent.pull()
    for n in range(1, 40, 3):
        agent.update(n, cost=0.001)
    agent.update(2, reward=0.5, cost=0.004)
    light = agent._recorder.copy(whole=False)
    assert (len(light.open), list(light.open)) == (49, [50])
    assert report(light).plain() == report(agent._recorder.copy()).plain()
    plain = agent.snapshot()
    assert [len(column) for column in plain["state"]["delays"]["columns"]] == [len(agent._state.delays.open)] * 4
    assert Agent.restore(json.loads(json.dumps(plain))).snapshot() == plain
    old = copy.deepcopy(plain)
    columns = old["state"]["delays"].pop("columns")
    old["state"]["delays"]["open"] = [list(row) for row in zip(*columns, strict=True)]  # as they were saved in the past
    assert Agent.restore(old).snapshot() == plain


@pytest.mark.plain
@pytest.mark.parametrize(
    ("learner", "settings", "later"),
    [
        ("anytime-proved-squarecb-lewa", {}, ("known",)),
        ("late-anytime-loss-lewa+tightened", {"slack": 0.05}, ("cap_action", "cap_slack")),
    ],
)
def test_an_agent_saved_before_its_learner_had_further_parameters_still_loads(
    learner: str, settings: dict[str, object], later: tuple[str, ...]
) -> None:
    context = [number("size", (0, 1))] if "squarecb" in learner else None
    agent = Agent(
        ["x", "y"], [at_most("cost", 0.4)], context=context, seed=0, learner=LearnerOptions(learner, settings=settings)
    )
    saved = json.loads(json.dumps(agent.snapshot()))
    parameters = saved["setup"]["learner"]
    for name in later:
        del parameters[name]
    if "known" in later:
        parameters["delta"] = parameters["delta"][0]  # one for all constraints
    assert Agent.restore(saved).snapshot() == agent.snapshot()


@pytest.mark.plain
def test_a_setting_that_was_removed_is_named_with_its_successor_unless_it_was_off() -> None:
    agent = Agent(["x", "y"], [at_most("cost", 0.4)], learner="late-anytime-loss-lewa", seed=0)
    saved = json.loads(json.dumps(agent.snapshot()))
    saved["setup"]["learner"]["any_arrivals"] = 0.0
    assert Agent.restore(saved).setup.learner == agent.setup.learner
    saved["setup"]["learner"]["any_arrivals"] = 1.0
    with pytest.raises(ValueError, match=r"any_arrivals was removed in 0[.]3[.]0: use late-loss-lewa"):
        Agent.restore(saved)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("learner", "weights", "value", 0), 2**62, "saved weights must be numbers of at least 0 with the sum"),
        (("learner", "weights", "value", 0), -1, "saved weights must be"),
        (
            ("learner", "weights", "head", 0),
            inf,
            "saved weights must be numbers of at least 0 with the sum inf",
        ),
        (("learner", "weights", "head", 0), 0, "saved weights must be"),
        (("book", 1, "clipped"), inf, "clipped must be a count, got inf"),
        (("book", 0, "seen", 1), -1, "seen must be a count, got"),
        (("book", 1, "span"), 0, "span must be a number other than 0, got 0"),
        (("recent", "count", 0), inf, "the recent values must be numbers, a row and a count per field"),
    ],
)
def test_a_saved_state_that_could_not_have_been_is_refused(place: tuple[Any, ...], value: float, sentence: str) -> None:
    agent = Agent(["a", "b", "c"], [at_most("cost", 0.5)], learner="anytime-loss-lewa", seed=1)
    for n in range(10):
        agent.update(agent.pull(), reward=0.1 * n, cost=0.4)
    saved = agent.snapshot()
    *path, last = place
    part = saved["state"]
    for key in path:
        part = part[key]
    part[last] = value
    with pytest.raises(ValueError, match=sentence):
        Agent.restore(saved)
