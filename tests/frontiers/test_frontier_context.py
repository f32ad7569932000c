"""`lewa frontier --context`: would context pay? On rows that did not choose the policy, with intervals."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import lewa
from lewa.cli.shared import app
from lewa.data.columns import Columns
from lewa.data.frames import as_data
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.context_gain import context_gains, price_policy
from lewa.frontiers.figure import panels
from lewa.frontiers.result import ContextGain

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

SHUFFLES = 30 if "LEWA_HUNT" not in os.environ else 200  # `make falsify` tries more


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


def test_the_grid_of_budgets_stays_in_the_range_after_rounding() -> None:
    dice = np.random.default_rng(0)
    model = dice.integers(3, size=300)
    log = {
        "model": np.array(["small", "medium", "large"])[model].tolist(),
        "propensity": [1 / 3] * 300,
        "good": (dice.random(300) < np.array([0.4, 0.6, 0.8])[model]).astype(float).tolist(),
        "seconds": np.array([0.1, 0.4, 0.9])[model].tolist(),
        "task": dice.choice(["code", "chat"], 300).tolist(),
    }
    columns = {"action": "model", "propensity": "propensity", "reward": "good", "at_most": "seconds"}
    result = lewa.frontier(log, context=["task"], **columns)  # type: ignore[arg-type]
    assert len(result.context) == len(result.points)


def test_shuffled_contexts_show_no_gain_though_they_do_in_sample() -> None:
    held, pays, optimistic = 0, 0, 0
    for seed in range(SHUFFLES):
        columns, dice = as_log(world(200, seed), 1000 + seed), np.random.default_rng(2000 + seed)
        levels = dice.permutation(np.array(columns["task"])) if seed % 2 else dice.integers(12, size=200).astype(str)
        data = as_data({**columns, "task": levels.tolist()}, Columns("good", ["dollars"], context=["task"]))
        budgets = Budgets.of(data, [0.55], 1, None)
        (gain,) = context_gains(data, budgets, list(budgets.user_floors or ()))
        held += gain.low <= 0 <= gain.high
        pays += gain.verdict == "context pays"
        optimistic += gain.in_sample > gain.gain or seed % 2 == 1  # two levels leave little to be fooled by
    assert held >= 0.9 * SHUFFLES
    assert pays <= 0.025 * SHUFFLES
    assert optimistic >= 0.92 * SHUFFLES


def test_the_command_prints_a_verdict_and_json_has_it_only_where_it_was_asked_for(tmp_path: Path) -> None:
    columns = world(400, 5)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    command = ["frontier", str(tmp_path / "table.csv"), "--reward", "good", "--at-most", "dollars", "--budget", "0.55"]
    command += ["--learner", "lewa"]
    printed = CliRunner().invoke(app, [*command, "--context", "task", "--context", "tokens"])
    assert printed.exit_code == 0, printed.output
    assert "would context pay?" in printed.output
    assert "gain in sample" in printed.output
    told = json.loads(CliRunner().invoke(app, [*command, "--context", "task", "--json"]).output)
    assert told["context"][0]["low"] > 0
    assert "context" not in json.loads(CliRunner().invoke(app, [*command, "--json"]).output)


def test_what_cannot_be_judged_gets_one_sentence() -> None:
    with pytest.raises(ValueError, match="at least 50 rows, got 20"):
        gain_of(world(20, 1), ["task"])
    with pytest.raises(ValueError, match="the data has no column 'tusk'; did you mean 'task'"):
        gain_of(world(60, 1), ["tusk"])


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("good", "the column good, which is the reward"),
        ("dollars", "the column dollars, which is a constraint"),
        ("action", "the column action, which is the action"),
        ("propensity", "the column propensity, which is the propensity"),
    ],
)
def test_a_column_that_shows_the_outcome_is_no_context(column: str, sentence: str) -> None:
    log = as_log(world(60, 1), 2)
    law = "a context or a group must be known before the decision, got "
    for use in ({"context": [column]}, {"group": column}):
        with pytest.raises(ValueError, match=law + sentence):
            as_data(log, Columns("good", ["dollars"], **use))


def test_a_table_has_one_context_in_each_round() -> None:
    wide = world(60, 1)
    with pytest.raises(ValueError, match="got the column good:large, which is the reward"):
        as_data(wide, Columns("good", ["dollars"], context=["good:large"]))
    long: dict[str, list[object]] = {
        "round": [t for t in range(60) for _ in "ab"],
        "action": ["small", "large"] * 60,
        "task": [task for task in wide["task"] for _ in "ab"],
        "tokens": [None if t == 5 else t for t in range(60) for _ in "ab"],
        "hint": [f"{x}" for t in range(60) for x in (t % 2, t % 2 + (t == 7))],
    }
    long |= {name: [wide[f"{name}:{a}"][t] for t in range(60) for a in ("small", "large")] for name in ("good", "dollars")}
    features = as_data(long, Columns("good", ["dollars"], context=["task", "tokens"])).contexts
    assert features.shape == (60, 1 + 2 + 4)
    assert not features[5, 3:].any()
    with pytest.raises(ValueError, match="the context column none of the data must have a value in some round, got none"):
        as_data({**long, "none": [None] * 120}, Columns("good", ["dollars"], context=["task", "none"]))
    with pytest.raises(ValueError, match="the column hint, which differs between the rows of a round: row 16"):
        as_data(long, Columns("good", ["dollars"], context=["hint"]))


def test_two_constraints_are_kept_by_the_policy_and_price_the_gain() -> None:
    """Large for code alone keeps both lines: at most 0.55 dollars and at most 0.4 seconds, of which large takes 0.7."""
    columns = world(3000, 6)
    columns |= {"seconds:small": [0.1] * 3000, "seconds:large": [0.7] * 3000}
    result = lewa.frontier(
        columns,
        reward="good",
        at_most=["dollars", "seconds"],
        budgets=[0.55],
        lines={"seconds": 0.4},
        context="task",
        learner="lewa",
    )
    gain = result.context[0]
    assert gain.verdict == "context pays"
    assert gain.low <= 0.15 <= gain.high
    assert gain.policy_average == pytest.approx(0.55, abs=0.03)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_policy_of_prices_is_the_best_of_all_policies(m: int) -> None:
    """Column generation reaches the linear program over all plays, and meets its limits."""
    dice = np.random.default_rng(m)
    n, K = 40, 3
    forecasts = dice.random((1 + m, n, K))
    forecasts[1:, :, 0] *= 0.2  # one action is cheap
    floors = np.full(m, 0.6)
    play = price_policy(forecasts, floors).play(forecasts)
    assert play.sum(axis=1) == pytest.approx(np.ones(n))
    value, costs = (forecasts[0] * play).sum() / n, (forecasts[1:] * play).sum(axis=(1, 2)) / n
    program = linprog(
        -forecasts[0].ravel() / n,
        A_ub=forecasts[1:].reshape(m, -1) / n,
        b_ub=1 - floors,
        A_eq=np.kron(np.eye(n), np.ones(K)),
        b_eq=np.ones(n),
    )
    assert value == pytest.approx(-program.fun, abs=1e-5)
    assert (costs <= 1 - floors + 1e-6).all()


def test_groups_are_rows_with_like_contexts() -> None:
    gain = gain_of(world(2000, 1), ["task"])
    assert gain.by_group == pytest.approx(gain.policy, abs=0.005)  # one category: its levels are the groups
    assert gain.ceiling is not None
    assert gain.policy < gain.ceiling
    columns = world(60, 2)
    columns["task"] = [*map(str, range(30)), *map(str, range(30))]
    assert gain_of(columns, ["task"]).by_group is None  # two rows a group teach nothing


def test_one_picture_has_the_mixture_the_policy_and_the_ceiling() -> None:
    result = lewa.frontier(
        world(500, 3), reward="good", at_most="dollars", budgets=[0.4, 0.55, 0.8], context="task", learner="lewa", seeds=1
    )
    names = [strand.name for strand in panels(result)[0].curves]  # type: ignore[attr-defined]
    assert names == ["hindsight", "lewa", "with context", "per group", "per row, not achievable"]
    assert "with context" in [text.get_text() for text in result.plot().axes[0].texts]
    assert "per group" in str(result)


def write(columns: dict[str, list[object]], path: Path) -> str:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines))
    return str(path)


def test_replay_with_a_context_beside_the_same_learner_without(tmp_path: Path) -> None:
    columns = ["--reward", "good", "--at-most", "dollars=0..1", "--budget", "0.55", "--seeds", "1", "--json"]
    for name, data in {"table": world(1500, 7), "log": as_log(world(3000, 8), 9)}.items():
        command = ["replay", write(data, tmp_path / f"{name}.csv"), *columns, "--context", "task"]
        printed = CliRunner().invoke(app, command)
        assert printed.exit_code == 0, printed.output
        learners = json.loads(printed.stdout)["learners"]
        assert list(learners) == ["squarecb-lewa", "squarecb-lewa without context"]
        rewards = [each["reward"]["mean"] / json.loads(printed.stdout)["rounds"] for each in learners.values()]
        assert rewards[0] > rewards[1] + 0.07


def test_replay_with_a_context_takes_the_learner_with_a_bound_if_asked(tmp_path: Path) -> None:
    file = write(world(200, 7), tmp_path / "table.csv")
    columns = ["--reward", "good", "--at-most", "dollars=0..1", "--budget", "0.55", "--seeds", "1", "--json"]
    printed = CliRunner().invoke(app, ["replay", file, *columns, "--context", "task", "--goal", "proved"])
    assert printed.exit_code == 0, printed.output
    assert list(json.loads(printed.stdout)["learners"]) == ["proved-squarecb-lewa", "proved-squarecb-lewa without context"]
    wrong = CliRunner().invoke(app, ["replay", file, *columns, "--context", "task", "--learner", "exp4-lewa"])
    assert str(wrong.exception).startswith("exp4-lewa does not use a context; these do: squarecb-lewa")
    names = {"reward": "good", "at_most": "dollars=0..1", "context": "task"}
    trace = lewa.replay(world(200, 7), "auto", goal="proved", lines={"dollars": 0.55}, **names)  # type: ignore[arg-type]
    assert repr(trace) == "<Trace: ProvedSquareCbLewa on Table, 200 rounds, 1 seed>"


def test_replay_keeps_a_line_for_each_group(tmp_path: Path) -> None:
    columns = ["--reward", "good", "--at-most", "dollars=0..1", "--budget", "0.55", "--seeds", "1", "--json"]
    file = write(world(1500, 7), tmp_path / "table.csv")
    printed = CliRunner().invoke(app, ["replay", file, *columns, "--context", "task", "--group", "task"])
    assert printed.exit_code == 0, printed.output
    result = json.loads(printed.stdout)
    assert result["floor"] == [0.55] * 3
    short = result["learners"]["squarecb-lewa"]["violation"]["mean"]
    assert len(short) == 3
    assert max(short) < 0.02 * 1500  # without the lines of groups code alone spends 0.35 more than the limit
    trace = lewa.replay(
        world(300, 7), "auto", reward="good", at_most="dollars=0..1", lines={"dollars": 0.55}, context="task", group="task"
    )
    assert trace.learner.floor.tolist() == pytest.approx([0.45] * 3)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="does not use a context; these do: squarecb-lewa"):
        lewa.replay(world(300, 7), "lewa", reward="good", at_most="dollars=0..1", lines={"dollars": 0.55}, context="task")
    wrong = CliRunner().invoke(app, ["replay", file, *columns, "--group", "tusk"])
    assert str(wrong.exception) == "table.csv has no column 'tusk'; did you mean 'task'?"


# What a column is taken for ----------------------------------------------------------------------------------------------


def notes_of(columns: dict[str, list[object]], context: list[str]) -> tuple[str, ...]:
    result = lewa.frontier(columns, reward="good", at_most="dollars", budgets=[0.55], context=context, learner="lewa")
    return result.notes


def test_the_output_says_what_a_context_column_is_taken_for() -> None:
    columns = world(200, 3)
    columns["day"] = [f"2026-01-{1 + n % 28:02}" for n in range(200)]
    columns["at"] = np.datetime64("2026-03-01T12:00") + np.arange(200).astype("m8[h]")  # type: ignore[assignment]
    columns["words"] = [f"word{n}" for n in range(200)]
    note = next(each for each in notes_of(columns, ["task", "tokens", "day", "at", "words"]) if each.startswith("context:"))
    assert note.startswith("context: task is a category with 2 levels, tokens is a number from ")
    assert "day is a date, in days since 2026-01-01, at is a date, in days since 2026-03-01, words is a text" in note
    days = as_data({**columns, "n": [float(n % 28) for n in range(200)]}, Columns("good", "dollars", context=["n"])).contexts
    dates = as_data(columns, Columns("good", "dollars", context="day")).contexts
    assert dates == pytest.approx(days)


def test_integers_that_may_name_something_are_asked_about_and_can_be_declared() -> None:
    columns = world(400, 3)
    columns["village"] = [n * 7919 % 90 for n in range(400)]
    hint = "village has 90 integers and is taken for a number; if they name something, declare it as village=category"
    assert hint in notes_of(columns, ["village"])
    declared = notes_of(columns, ["village=category"])
    assert "context: village is a category with 90 levels" in declared
    assert hint not in declared
    assert hint not in notes_of(columns, ["village=number"])
    assert as_data(columns, Columns("good", "dollars", context="village=category")).contexts.shape[1] == 91


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ("customer", "has another integer in every row, so it looks like an id"),
        ("task=number", "the context column task must hold numbers, got 'c"),
        ("task=date", "the context column task must hold dates, got 'c"),
        ("task=colour", "a context must be NAME or NAME=KIND with a kind among number, category, text, date"),
    ],
)
def test_a_column_of_no_use_or_of_another_kind_is_refused(context: str, sentence: str) -> None:
    columns = world(100, 3)
    columns["customer"] = [1000 + n for n in range(100)]
    with pytest.raises(ValueError, match=sentence):
        notes_of(columns, [context])
    assert notes_of(columns, ["customer=number"])
