"""Ids after an older copy of an agent was restored: a late answer is never taken for one to another decision."""

import json
import pickle
import shutil
from pathlib import Path

import pytest

from lewa import Agent, at_most
from lewa.agent import Decision, UnknownError, read_journal
from lewa.agent.pending import Epochs
from lewa.ids import DecisionId, new_tag, read_id


@pytest.fixture(autouse=True)
def no_new_tags() -> None:
    """Ids have tags here."""


def make(path: Path | None = None, name: str | None = "router") -> Agent:
    return Agent(
        ["small", "large"], [at_most("cost", 0.4)], learner="bandit-lewa", horizon=200, name=name, journal=path, seed=3
    )


def test_an_id_is_read_as_it_was_written() -> None:
    for agent in ("router", "", "a:b", "a-b", "k3f9ab-17"):
        for tag in (None, "k3f9ab", new_tag()):
            made = DecisionId(agent, 17, tag)
            assert read_id(str(made)) == made
    for text in (
        "17",
        "router",
        "router:",
        "router:-1",
        "router:K3-1",
        "router:a-b-1",
        "router:\u0661",
        "router:1e3",
        "a:" + "9" * 19,
    ):
        assert read_id(text) is None


def test_a_new_agent_has_ids_without_a_tag() -> None:
    agent = make()
    assert [made.key for made in agent.pull_many(2)] == ["router:1", "router:2"]
    assert agent.pull().key == "router:3"
    assert "epochs" not in agent.snapshot()["state"]
    assert "tag" not in agent.pull().plain()


@pytest.mark.parametrize("name", ["router", None])
@pytest.mark.parametrize("way", ["journal", "file"])
def test_late_answers_of_a_lost_time_are_refused(tmp_path: Path, way: str, name: str | None) -> None:
    """Copy, go on, restore the copy: of the 40 open decisions of the lost time none is answered by another's answer."""
    path, copy = tmp_path / "agent", tmp_path / "copy"
    agent = make(path if way == "journal" else None, name)
    kept = agent.pull_many(30)
    if way == "file":
        agent.save(path)
    shutil.copy(path, copy)
    lost = agent.pull_many(40)
    agent.stop_journal()
    restored = Agent.open(copy) if way == "journal" else Agent.load(copy)
    made = [*restored.pull_many(20), *(restored.pull() for _ in range(20))]
    assert [one.id for one in made] == [one.id for one in lost]
    assert not {one.key for one in made} & {one.key for one in lost}
    before = restored.snapshot()
    for one in lost:
        for told in (one, one.key):
            with pytest.raises(UnknownError, match=r"is not among those of this agent, which has .*nothing was changed"):
                restored.update(told, reward=1.0, cost=0.9)
            with pytest.raises(UnknownError, match="is not among those of this agent"):
                restored.close(told)
    with pytest.raises(UnknownError, match="is not among those of this agent"):
        restored.update_many([(one, {"reward": 1.0, "cost": 0.9}) for one in lost])
    assert restored.snapshot() == before
    restored.update_many([(one, {"reward": 1.0, "cost": 0.9}) for one in made[:10]])
    for one in made[10:15]:
        restored.update(one.key, reward=1.0, cost=0.9)
    restored.update(made[15].id, reward=1.0, cost=0.9)  # a number stands for the decision that has it here
    restored.update(kept[0], reward=1.0, cost=0.9)
    restored.update(kept[1].key, reward=1.0, cost=0.9)
    assert restored.status().answered == 18


def test_tags_are_in_the_journal_and_replay_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = make(path)
    start = agent.snapshot()
    made = [agent.pull()]
    for _ in range(3):
        agent.stop_journal()
        agent = Agent.open(path)
        before = agent.snapshot()
        agent.stop_journal()
        assert Agent.open(path).snapshot() == before  # without a decision nothing is new
        agent = Agent.open(path)
        made += [agent.pull(), *agent.pull_many(2)]
        agent.update(made[-1], reward=1.0, cost=0.1)
    agent.checkpoint()
    made.append(agent.pull())
    agent.stop_journal()
    assert len({one.tag for one in made}) == 4
    assert made[-1].tag == made[-2].tag  # one epoch for each time that it was opened
    records = list(read_journal(path))
    assert [item.key for item in records if isinstance(item, Decision)] == [one.key for one in made]
    again = Agent.restore(start).replay(json.loads(json.dumps([item.plain() for item in records])))
    assert again.snapshot() == agent.snapshot() == Agent.open(path).snapshot()
    assert [again.tag_of(one.id) for one in made] == [one.tag for one in made]
    assert Agent.restore(agent.snapshot()).pull().tag == made[-1].tag  # a copy goes on as it was
    assert pickle.loads(pickle.dumps(agent)).pull().tag == made[-1].tag


def test_an_agent_that_was_opened_before_its_first_decision_has_a_tag_too(tmp_path: Path) -> None:
    make(tmp_path / "journal").stop_journal()
    shutil.copy(tmp_path / "journal", tmp_path / "copy")
    one, other = (Agent.open(tmp_path / name).pull() for name in ("journal", "copy"))
    assert (one.id, other.id) == (1, 1)
    assert one.key != other.key


@pytest.mark.parametrize("plain", [[[2, "A"]], [[2, "a-b"]], [[2, 7]], [["2", "a"]], [[5, "a"], [4, "b"]]])
def test_damaged_epochs_are_refused(plain: list[list[object]]) -> None:
    with pytest.raises(ValueError, match="an epoch must have its first decision and a tag"):
        Epochs.from_plain(plain)
    agent = make()
    snapshot = agent.snapshot()
    snapshot["state"]["epochs"] = plain
    with pytest.raises(ValueError, match="an epoch must have"):
        Agent.restore(snapshot)
    with pytest.raises(ValueError, match="a decision must have the fields that an agent gave it"):
        agent.apply(agent.pull()._replace(id=2, round=2, tag="A B"))


@pytest.mark.parametrize("tag", ["two\nlines", "A B", 7])
def test_an_answer_with_a_tag_that_is_none_gets_one_sentence(tag: str) -> None:
    agent = make()
    before, decision = agent.snapshot(), agent.pull()._replace(tag=tag)
    with pytest.raises(UnknownError) as error:
        agent.update(decision, reward=1.0)
    assert "\n" not in str(error.value)
    assert agent.snapshot()["records"] == before["records"] + 1  # the decision, and nothing more
