"""Names of learners in earlier versions: files, journals, studies and commands with them keep working."""

import json
import sys
from pathlib import Path

import pytest

import lewa
from lewa import Agent, at_most, cli
from lewa.lab.study import expand, parse
from lewa.learners.registry import ALIASES, FORMER_CLASSES

RENAMED = {name: alias.name for name, alias in ALIASES.items() if name.endswith("-bandit-lewa")}
EVERY = pytest.mark.parametrize(("former", "name"), RENAMED.items())
LIMIT = at_most("cost", 0.4)


def test_four_names_said_bandit_for_losses() -> None:
    assert list(RENAMED) == ["loss-bandit-lewa", "anytime-bandit-lewa", "late-bandit-lewa", "late-loss-bandit-lewa"]


@EVERY
def test_an_agent_with_a_former_name_decides_alike_and_is_saved_and_loaded(former: str, name: str, tmp_path: Path) -> None:
    agents = [Agent(["x", "y"], [LIMIT], learner=each, horizon=100, seed=0) for each in (former, name)]
    agents[0].save(tmp_path / "agent.json")
    agents[0] = Agent.load(tmp_path / "agent.json")
    assert agents[0].setup.learner_name == former
    for _ in range(20):
        decisions = [agent.pull() for agent in agents]
        assert decisions[0].action == decisions[1].action
        assert decisions[0].probability == decisions[1].probability
        for agent, decision in zip(agents, decisions, strict=True):
            agent.update(decision, reward=0.5, cost=0.3)
    assert agents[0].status().guarantee == agents[1].status().guarantee


@EVERY
def test_a_journal_with_a_former_name_is_opened(former: str, name: str, tmp_path: Path) -> None:
    agent = Agent(["x", "y"], [LIMIT], learner=former, horizon=100, seed=0, journal=tmp_path / "journal")
    agent.update(agent.pull(), reward=0.5, cost=0.3)
    agent.stop_journal()
    opened = Agent.open(tmp_path / "journal")
    assert opened.snapshot() == agent.snapshot()
    assert type(opened.setup.learner) is lewa.learners.ALL[name]
    opened.stop_journal()


@EVERY
def test_a_study_with_a_former_name_keeps_the_names_of_its_runs(former: str, name: str) -> None:
    game = '[[games]]\nname = "bernoulli"\nfloor = 0.6\n'
    (run,) = expand(parse(f'name = "small"\nrounds = [100]\nseeds = 1\n{game}[[learners]]\nname = "{former}"\n'))
    assert run.id == f"bernoulli/T=100/{former}/seed0"
    assert lewa.learners.find(run.learner) is lewa.learners.ALL[name]


@EVERY
def test_a_command_with_a_former_name_prints_the_same(
    former: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for each in (former, name):
        command = ["lewa", "guarantee", each, "--actions", "3", "--rounds", "1000", "--floor", "0.5", "--json"]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert not stopped.value.code
        printed.append(json.loads(capsys.readouterr().out))
    assert {**printed[0], "learner": name} == {**printed[1], "learner": name}


@pytest.mark.parametrize("former", FORMER_CLASSES)
def test_a_former_class_name_warns(former: str) -> None:
    kind = FORMER_CLASSES[former]
    with pytest.warns(DeprecationWarning, match=f"{former} is called {kind.__name__} now"):
        assert getattr(lewa.learners, former) is kind
    with pytest.raises(AttributeError, match="has no attribute 'NoLewa'"):
        lewa.learners.NoLewa  # noqa: B018
