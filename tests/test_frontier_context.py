"""`lewa frontier --context`: would context pay? On rows that did not choose the policy, with intervals."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lewa
from lewa.cli.shared import app
from lewa.frontiers.result import ContextGain


def world(rows: int, seed: int) -> dict[str, list[object]]:
    """A table of two models: the large one is better where the task is code, and costs 1 instead of 0.1."""
    dice = np.random.default_rng(seed)
    code = dice.random(rows) < 0.5
    small, large = dice.random(rows) < np.where(code, 0.2, 0.8), dice.random(rows) < 0.85
    return {
        "good:small": small.astype(float).tolist(),
        "good:large": large.astype(float).tolist(),
        "dollars:small": [0.1] * rows,
        "dollars:large": [1.0] * rows,
        "task": np.where(code, "code", "chat").tolist(),
        "tokens": dice.integers(1, 500, rows).tolist(),
    }


def as_log(table: dict[str, list[object]], seed: int) -> dict[str, list[object]]:
    dice = np.random.default_rng(seed)
    actions = ["small" if u < 0.5 else "large" for u in dice.random(len(table["task"]))]
    columns = {name: [table[f"{name}:{a}"][t] for t, a in enumerate(actions)] for name in ("good", "dollars")}
    return {**columns, "action": list(actions), "propensity": [0.5] * len(actions), "task": table["task"]}


def gain_of(columns: dict[str, list[object]], context: list[str]) -> ContextGain:
    table = "good" not in columns
    settings = {"learner": "lewa"} if table else {}
    result = lewa.frontier(columns, reward="good", at_most="dollars", budgets=[0.55], context=context, **settings)  # type: ignore[arg-type]
    return result.context[0]


def test_context_pays_where_it_does_and_by_as_much() -> None:
    truth = 0.825 - 0.675  # large for code and small for chat, against half of each: (0.85 + 0.8)/2 - (0.85 + 0.5)/2
    for columns in (world(2000, 1), as_log(world(4000, 2), 3)):
        gain = gain_of(columns, ["task"])
        assert gain.low <= truth <= gain.high
        assert gain.verdict == "context pays"
        assert gain.policy_average == pytest.approx(0.55, abs=0.03)
    assert gain_of(world(2000, 1), ["task"]).ceiling == pytest.approx(0.95, abs=0.05)


def test_shuffled_contexts_show_no_gain_though_they_do_in_sample() -> None:
    held, optimistic = 0, 0
    for seed in range(25):
        columns = as_log(world(300, seed), 1000 + seed)
        columns["task"] = np.random.default_rng(2000 + seed).integers(12, size=300).astype(str).tolist()
        gain = gain_of(columns, ["task"])
        held += gain.low <= 0 <= gain.high or gain.high < 0
        optimistic += gain.in_sample > gain.gain
    assert held >= 23
    assert optimistic >= 23


def test_the_command_prints_a_verdict_and_json_has_it_only_where_it_was_asked_for(tmp_path: Path) -> None:
    columns = world(400, 5)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    command = ["frontier", str(tmp_path / "table.csv"), "--reward", "good", "--at-most", "dollars", "--budget", "0.55"]
    command += ["--learner", "lewa"]
    printed = CliRunner().invoke(app, [*command, "--context", "task", "--context", "tokens"])
    assert printed.exit_code == 0, printed.output
    assert "would context pay?" in printed.output
    told = json.loads(CliRunner().invoke(app, [*command, "--context", "task", "--json"]).output)
    assert told["context"][0]["low"] > 0
    assert "context" not in json.loads(CliRunner().invoke(app, [*command, "--json"]).output)


def test_what_cannot_be_judged_gets_one_sentence() -> None:
    with pytest.raises(ValueError, match="at least 50 rows, got 20"):
        gain_of(world(20, 1), ["task"])
    with pytest.raises(ValueError, match="the data has no column 'tusk'; did you mean 'task'"):
        gain_of(world(60, 1), ["tusk"])
