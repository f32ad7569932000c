"""The contract for scripts: what `--json` prints is what lewa.schema says. Whoever changes that breaks somebody's script."""

import json
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import typer.main
from tests import forks
from tests.cli.mismatch import mismatch
from typer.testing import CliRunner

from lewa import cli, games, learners
from lewa.data.moments import Value
from lewa.frontiers import Frontier
from lewa.frontiers.result import BestPlay, HeldOut
from lewa.schema import (
    Advice,
    GameRow,
    GuaranteeReport,
    LearnerRow,
    Spread,
    Summary,
    json_text,
    plain,
)

pytestmark = pytest.mark.slow


def checked(value: Any, kind: Any) -> Any:
    """The value, if it is of this type."""
    assert not mismatch(value, kind), mismatch(value, kind)
    return value


def checked_summary(value: Any) -> Summary:
    found = cast(Summary, checked(value, Summary))
    for got in found["learners"].values():
        assert len(got["reward"]["per_seed"]) == len(got["violation"]["per_seed"]) == found["seeds"]
        assert len(got["violation"]["mean"]) == len(got["multiplier"]) == len(found["floor"])
    return found


def checked_frontier(value: Any) -> Any:
    found = checked(value, Frontier)
    names = {quantity["name"] for quantity in found["constraints"]}
    for point in found["points"]:
        assert set(point["lines"]) == set(point["best"]["price"]) == names
        assert (point["held_out"] is None) == (found["kind"] == "table")
        assert set(point["learners"]) == set(found["learners"])
        for got in point["learners"].values():  # reward and violation together
            assert set(got["violation"]) == set(got["positive_violation"]) == names
    return found


def report(words: str) -> GuaranteeReport:
    return cast(GuaranteeReport, checked(printed(words), GuaranteeReport))


def printed(line: str) -> Any:
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["lewa", *shlex.split(line), "--json"])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    assert not stopped.value.code, err.getvalue()
    return json.loads(out.getvalue())


def test_a_process_prints_json_and_nothing_else(tmp_path: Path) -> None:
    code, out, err = forks.run(tmp_path, ["learners", "--json"])
    assert (code, err) == (0, "")
    assert json.loads(out) == printed("learners")


def test_play_keeps_the_contract() -> None:
    names = "--learner lewa --learner bandit-lewa --learner hp-lewa"
    found = checked_summary(printed(f"play bernoulli {names} --floor 0.6 --rounds 300 --seeds 3"))
    assert list(found["learners"]) == ["lewa", "bandit-lewa", "hp-lewa"]
    assert (found["rounds"], found["actions"], found["seeds"], found["floor"]) == (300, 3, 3, [0.6])


def test_an_infeasible_floor_keeps_the_contract() -> None:
    found = checked_summary(printed("play bernoulli --learner lewa --floor 0.99 --rounds 50 --seeds 2"))
    assert found["hindsight"] is not None
    assert not found["hindsight"]["feasible"]
    assert found["learners"]["lewa"]["guarantee"]["holds"] is None


def test_replay_of_a_table_and_of_a_log_keeps_the_contract(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    np.savez(tmp_path / "table.npz", rewards=rng.random((60, 3)), constraints=rng.random((60, 3, 2)))
    words = "--learner lewa --budget 0.4 --budget 0.3 --seeds 2"
    found = checked_summary(printed(f"replay {tmp_path}/table.npz {words}"))
    assert (found["rounds"], len(found["floor"])) == (60, 2)
    rows = ["t,action,propensity,reward,c"]
    rows += [f"{t},{rng.integers(2)},0.5,{rng.integers(2)},{rng.integers(2)}" for t in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    log = checked_summary(printed(f"replay {tmp_path}/log.csv --learner bandit-lewa --budget 0.4 --seeds 2"))
    assert log["hindsight"] is None
    assert log["learners"]["bandit-lewa"]["regret"] is None


def test_frontier_of_a_table_and_of_a_log_keeps_the_contract(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    dear = np.array([1.0, 0.7, 0.4])
    kept = rng.random((60, 3, 2)) * np.array([1.4 - dear, [1, 1, 1]]).T
    np.savez(tmp_path / "table.npz", rewards=rng.random((60, 3)) * dear, constraints=kept)
    found = checked_frontier(printed(f"frontier {tmp_path}/table.npz --line c2=0.3 --seeds 2 --points 3"))
    assert (found["rounds"], found["varied"], len(found["points"]), len(found["learners"])) == (60, "c1", 3, 2)
    rows = ["model,stars,dollars,p"]
    rows += [f"{'ab'[rng.integers(2)]},{rng.integers(1, 6)},{rng.random():.4f},0.5" for _ in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    words = "--action model --reward stars=1..5 --at-most dollars=0..1 --propensity p --budget 0.01 --budget 0.8"
    log = checked_frontier(printed(f"frontier {tmp_path}/log.csv {words} --out {tmp_path}/found.json"))
    assert (log["kind"], log["rounds"], log["learners"]) == ("log", 200, {})
    assert [point["best"]["price"]["dollars"] is None for point in log["points"]] == [True, False]
    assert json.loads((tmp_path / "found.json").read_text()) == log


def test_guarantee_keeps_the_contract() -> None:
    for name in learners.ALL:
        words = f"guarantee {name} --actions 5 --rounds 10000 --floor 0.6 --json"
        found = checked(json.loads(CliRunner().invoke(cli.app, shlex.split(words)).stdout), GuaranteeReport)
        assert found["statements"][0]["regret"] == found["regret"]


def test_guarantee_can_be_asked_for_any_setting() -> None:
    words = "guarantee lewa --actions 5 --rounds 10000 --floor 0.6"
    assert report(f"{words} --constraints constant")["kind"] == "pathwise"
    assert report(f"{words} --constraints arbitrary")["regret"] is None
    assert report(f"{words} --adversary adaptive")["regret"] == 10_000


def test_lists_keep_the_contract() -> None:
    assert [row["name"] for row in checked(printed("learners"), list[LearnerRow])] == list(learners.ALL)
    assert [row["name"] for row in checked(printed("games"), list[GameRow])] == list(games.ALL)


def test_games_say_what_they_know_at_a_floor() -> None:
    rows = {row["name"]: row for row in checked(printed("games --floor 0.5 --rounds 1e4"), list[GameRow])}
    assert rows["slow-burn"]["slater"] == 0
    assert rows["slow-burn"]["price"] == pytest.approx([10.0])
    assert rows["low-variation"]["variation"] == pytest.approx(100.0)
    assert rows["counterexample"]["truth"] == [[1.0, 1.0]]
    assert rows["anti-leader"]["feasible"] is True


def test_advice_keeps_the_contract() -> None:
    words = "advise --feedback bandit --actions 5 --floor 0.6"
    assert checked(printed(f"{words} --rounds 1e5"), Advice)["rounds"] == 100_000
    assert checked(printed(words), Advice)["rounds"] is None


def test_what_the_schema_forbids_is_noticed() -> None:
    right: dict[str, Any] = {"mean": 1.0, "max": 2, "per_seed": [1.0, 2.0]}
    assert mismatch(right, Spread) == ""
    assert mismatch({**right, "median": 1.0}, Spread) == "it has an unknown key 'median'"
    assert mismatch({"mean": 1.0, "max": 2}, Spread) == "it has no 'per_seed'"
    assert mismatch({**right, "mean": None}, Spread) == "it['mean'] must be float, got None"
    assert mismatch({**right, "per_seed": [1.0, "x"]}, Spread) == "it['per_seed'][1] must be float, got 'x'"
    assert mismatch({**right, "mean": float("inf")}, Spread) == "it['mean'] must be float, got inf"
    assert mismatch(None, Spread | None) == ""
    assert mismatch(3, Spread | None) == "it must be an object, got 3"


def test_records_are_objects_without_hidden_fields_and_forbid_the_same() -> None:
    held_out = HeldOut({"a": 1.0}, {"cost": {way: Value(0.5, 0.4, 0.6, (0.0, 1.0)) for way in ("ips", "snips", "dr")}})
    right: Any = plain(held_out)
    value = {"value": 0.5, "low": 0.4, "high": 0.6, "proved": [0.0, 1.0]}
    assert right == {"play": {"a": 1.0}, "values": {"cost": {"ips": value, "snips": value, "dr": value}}}
    assert mismatch(right, HeldOut) == ""
    del right["values"]["cost"]["dr"]
    assert mismatch(right, HeldOut) == "it['values']['cost'] must have the keys ['ips', 'snips', 'dr'], got ['ips', 'snips']"
    best: Any = plain(BestPlay(1.0, {"a": 1.0}, {"cost": None}, {"cost": 0.5}, True))
    assert "bound" not in best
    assert mismatch(best, BestPlay) == ""
    assert mismatch({**best, "bound": {"cost": 0.6}}, BestPlay) == ""
    assert mismatch({**best, "curve": 1}, BestPlay) == "it has an unknown key 'curve'"


def test_numbers_that_are_not_finite_are_null() -> None:
    assert json_text({"a": [1.5, float("-inf")], "b": (float("nan"), True)}) == '{"a": [1.5, null], "b": [null, true]}'


# Help and completion -----------------------------------------------------------------------------------------------------


def leaves(group: Any, path: str = "") -> dict[str, Any]:
    """Return the commands by their words: "play", "keys add"."""
    words = {f"{path} {name}".strip(): command for name, command in group.commands.items()}
    return {
        leaf: command
        for name, item in words.items()
        for leaf, command in (leaves(item, name) if hasattr(item, "commands") else {name: item}).items()
    }


COMMANDS = {name: leaf for name, leaf in leaves(typer.main.get_command(cli.app)).items() if not leaf.hidden}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example_that_the_command_understands(name: str) -> None:
    epilog = COMMANDS[name].epilog or ""
    assert epilog.startswith("Example: "), f"lewa {name} --help shows no example"
    program, *words = shlex.split(epilog.removeprefix("Example: "))
    command, words = words[: len(name.split())], words[len(name.split()) :]
    assert (program, " ".join(command)) == ("lewa", name)
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
def test_the_shell_completes_commands_and_names(
    line: str, offered: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = {"_LEWA_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    if line == "lewa play radio+d":  # as a shell asks; the others are asked here, which is quicker
        printed = forks.run(tmp_path, [], **ask).out
    else:
        for name, value in ask.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit):
            cli.app([], prog_name="lewa")
        printed = capsys.readouterr().out
    assert set(printed.split()) == offered
