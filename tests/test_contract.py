"""The contract for scripts: the names and types of what `--json` prints. Whoever changes this breaks somebody's script."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import typer.main
from pydantic import BaseModel, ConfigDict, Field, model_validator
from typer.testing import CliRunner

from lewa import cli, games, learners

Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
COMMAND = str(Path(sys.executable).parent / "lewa")


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Spread(Closed):
    mean: Real
    max: Real
    per_seed: list[Real]


class Spreads(Closed):
    """One number per constraint."""

    mean: list[Real]
    max: list[Real]
    per_seed: list[list[Real]]


class Promise(Closed):
    regret: Real | None
    violation: list[Real] | None
    positive_violation: list[Real] | None
    kind: str | None
    epsilon: Real | None
    source: str
    assumptions: list[str]
    reason: str


class Judged(Promise):
    holds: bool | None


class Measured(Closed):
    reward: Spread
    regret: Spread | None
    violation: Spreads
    positive_violation: Spreads
    multiplier: list[Real]
    measured_on: Literal["play", "action"]
    guarantee: Judged


class Hindsight(Closed):
    value: Real
    play: list[Real]
    price: list[Real]
    feasible: bool


class Summary(Closed):
    rounds: int
    actions: int
    seeds: int
    floor: list[Real]
    hindsight: Hindsight | None
    learners: dict[str, Measured]

    @model_validator(mode="after")
    def _sizes(self) -> "Summary":
        for got in self.learners.values():
            assert len(got.reward.per_seed) == len(got.violation.per_seed) == self.seeds
            assert len(got.violation.mean) == len(got.multiplier) == len(self.floor)
        return self


class Stated(Promise):
    learner: str
    actions: int
    rounds: int
    floor: list[Real]
    parameters: dict[str, Any]
    statements: list[Promise]


class Quantity(Closed):
    name: str
    sense: Literal["a reward", "at most", "at least"]
    low: Real
    high: Real


class Mean(Closed):
    mean: Real
    low: Real
    high: Real
    per_seed: list[Real]


class Best(Closed):
    value: Real
    play: dict[str, Real]
    price: dict[str, Real | None]
    average: dict[str, Real]
    feasible: bool


class Got(Closed):
    """Per round; violations by constraint."""

    reward: Mean
    average: dict[str, Mean]
    violation: dict[str, Mean]
    positive_violation: dict[str, Mean]
    measured_on: Literal["play", "action"]


class Value(Closed):
    value: Real
    low: Real
    high: Real
    proved: list[Real] | None


class Ways(Closed):
    ips: Value
    snips: Value
    dr: Value


class Judgement(Closed):
    play: dict[str, Real]
    values: dict[str, Ways]


class Point(Closed):
    line: Real
    lines: dict[str, Real]
    best: Best
    learners: dict[str, Got]
    held_out: Judgement | None


class Frontier(Closed):
    kind: Literal["table", "log"]
    rounds: int
    actions: list[str]
    reward: Quantity
    constraints: list[Quantity]
    varied: str
    level: Real
    learners: dict[str, Literal["full", "bandit"]]
    points: list[Point]
    actions_alone: dict[str, dict[str, Ways]]
    notes: list[str]

    @model_validator(mode="after")
    def _shows_reward_and_violation_together(self) -> "Frontier":
        names = {one.name for one in self.constraints}
        for point in self.points:
            assert set(point.lines) == set(point.best.price) == names
            assert (point.held_out is None) == (self.kind == "table")
            assert set(point.learners) == set(self.learners)
            for got in point.learners.values():
                assert set(got.violation) == set(got.positive_violation) == names
        return self


class LearnerRow(Closed):
    name: str
    feedback: Literal["full", "bandit"]
    guarantee: str | None
    about: str


class GameRow(Closed):
    name: str
    actions: int
    constraints: int
    setting: Literal["constant", "iid", "arbitrary"]
    rewards: Literal["oblivious", "adaptive"]
    about: str


def printed(line: str) -> Any:
    done = subprocess.run([COMMAND, *shlex.split(line), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_play_keeps_the_contract() -> None:
    names = "--learner lewa --learner bandit-lewa --learner hp-lewa"
    found = Summary.model_validate(printed(f"play bernoulli {names} --floor 0.6 --rounds 300 --seeds 3"))
    assert list(found.learners) == ["lewa", "bandit-lewa", "hp-lewa"]
    assert (found.rounds, found.actions, found.seeds, found.floor) == (300, 3, 3, [0.6])


def test_an_infeasible_floor_keeps_the_contract() -> None:
    found = Summary.model_validate(printed("play bernoulli --learner lewa --floor 0.99 --rounds 50 --seeds 2"))
    assert found.hindsight is not None
    assert not found.hindsight.feasible
    assert found.learners["lewa"].guarantee.holds is None


def test_replay_of_a_table_and_of_a_log_keeps_the_contract(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "table.npz", rewards=rng.random((60, 3)), constraints=rng.random((60, 3, 2)))
    words = "--learner lewa --floor 0.4 --floor 0.3 --seeds 2"
    found = Summary.model_validate(printed(f"replay {tmp_path}/table.npz {words}"))
    assert (found.rounds, len(found.floor)) == (60, 2)
    rows = ["t,action,propensity,reward,c"]
    rows += [f"{t},{rng.integers(2)},0.5,{rng.integers(2)},{rng.integers(2)}" for t in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    log = Summary.model_validate(printed(f"replay {tmp_path}/log.csv --learner bandit-lewa --floor 0.4 --seeds 2"))
    assert log.hindsight is None
    assert log.learners["bandit-lewa"].regret is None


def test_frontier_of_a_table_and_of_a_log_keeps_the_contract(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    dear = np.array([1.0, 0.7, 0.4])
    kept = rng.random((60, 3, 2)) * np.array([1.4 - dear, [1, 1, 1]]).T
    np.savez(tmp_path / "table.npz", rewards=rng.random((60, 3)) * dear, constraints=kept)
    found = Frontier.model_validate(printed(f"frontier {tmp_path}/table.npz --line c2=0.3 --seeds 2 --points 3"))
    assert (found.rounds, found.varied, len(found.points), len(found.learners)) == (60, "c1", 3, 2)
    rows = ["model,stars,dollars,p"]
    rows += [f"{'ab'[rng.integers(2)]},{rng.integers(1, 6)},{rng.random():.4f},0.5" for _ in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    words = "--action model --reward stars=1..5 --at-most dollars=0..1 --propensity p --budget 0.01 --budget 0.5"
    log = Frontier.model_validate(printed(f"frontier {tmp_path}/log.csv {words} --out {tmp_path}/found.json"))
    assert (log.kind, log.rounds, log.learners) == ("log", 200, {})
    assert [point.best.price["dollars"] is None for point in log.points] == [True, False]
    assert Frontier.model_validate_json((tmp_path / "found.json").read_text()) == log


def test_guarantee_keeps_the_contract() -> None:
    for name in learners.ALL:
        words = f"guarantee {name} --actions 5 --rounds 10000 --floor 0.6 --json"
        found = Stated.model_validate_json(CliRunner().invoke(cli.app, shlex.split(words)).stdout)
        assert found.statements[0].regret == found.regret


def test_guarantee_can_be_asked_for_any_setting() -> None:
    words = "guarantee lewa --actions 5 --rounds 10000 --floor 0.6"
    assert Stated.model_validate(printed(f"{words} --constraints constant")).kind == "pathwise"
    assert Stated.model_validate(printed(f"{words} --constraints arbitrary")).regret is None
    assert Stated.model_validate(printed(f"{words} --adversary adaptive")).regret == 10_000


def test_lists_keep_the_contract() -> None:
    assert [LearnerRow.model_validate(row).name for row in printed("learners")] == list(learners.ALL)
    assert [GameRow.model_validate(row).name for row in printed("games")] == list(games.ALL)


def test_games_say_what_they_know_at_a_floor() -> None:
    rows = {row["name"]: row for row in printed("games --floor 0.5 --rounds 10000")}
    assert rows["slow-burn"]["slater"] == 0
    assert rows["slow-burn"]["price"] == pytest.approx([10.0])
    assert rows["low-variation"]["variation"] == pytest.approx(100.0)
    assert rows["counterexample"]["truth"] == [[1.0, 1.0]]
    assert rows["anti-leader"]["feasible"] is True


# Help and completion -----------------------------------------------------------------------------------------------------

COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example_that_the_command_understands(name: str) -> None:
    said = COMMANDS[name].epilog
    assert said.startswith("Example: "), f"lewa {name} --help shows no example"
    program, command, *words = shlex.split(said.removeprefix("Example: "))
    assert (program, command) == ("lewa", name)
    COMMANDS[name].make_context(name, words)  # parsed, not executed


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("lewa pl", {"play"}),
        ("lewa play slow", {"slow-burn"}),
        ("lewa play radio+d", {"radio+delay", "radio+dropping"}),
        ("lewa play bernoulli --learner hp-lewa", {"hp-lewa", "hp-lewa@printed"}),
        ("lewa guarantee bandit-lewa@", {"bandit-lewa@printed"}),
    ],
)
def test_the_shell_completes_commands_and_names(line: str, offered: set[str]) -> None:
    ask = {"_LEWA_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run([COMMAND], env={**os.environ, **ask}, capture_output=True, text=True)
    assert set(done.stdout.split()) == offered
