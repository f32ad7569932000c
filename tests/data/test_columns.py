"""Data of the user's: columns by name, in the user's units, converted once; and one sentence for whatever is wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from lewa.data.columns import Columns, Data, from_columns
from lewa.data.files import read_data
from lewa.data.log import Log
from lewa.games import Table

RNG = np.random.default_rng(12)
MODELS = ("small", "large")
QUALITY = RNG.integers(0, 2, (30, 2)).astype(float)
DOLLARS = np.column_stack([0.001 + 0.001 * RNG.random(30), 0.005 + 0.01 * RNG.random(30)])
SECONDS = RNG.random((30, 2)) * 3
COST = 1 - (DOLLARS - DOLLARS.min()) / (DOLLARS.max() - DOLLARS.min())  # as a learner is to see it


def wide() -> dict[str, Any]:
    found: dict[str, Any] = {"query": [f"q{t}" for t in range(30)]}
    for name, values in (("quality", QUALITY), ("dollars", DOLLARS), ("seconds", SECONDS)):
        found |= {f"{name}:{model}": values[:, i] for i, model in enumerate(MODELS)}
    return found


def long() -> dict[str, Any]:
    t, i = (k.ravel() for k in np.indices((30, 2)))
    shuffled = RNG.permutation(30)  # within a round actions may come in any order; rounds come as they are first named
    order = np.concatenate([2 * n + (np.array([1, 0]) if shuffled[n] % 2 else np.array([0, 1])) for n in range(30)])
    rows = {"query": np.array([f"q{n}" for n in t]), "model": np.array(MODELS)[i], "quality": QUALITY[t, i]}
    rows |= {"dollars": DOLLARS[t, i], "seconds": SECONDS[t, i]}
    return {name: values[order] for name, values in rows.items()}


def shown(data: Data) -> tuple[Any, Any]:
    assert isinstance(data.game, Table)
    order = [data.actions.index(model) for model in MODELS]
    return data.game.rewards[:, order], data.game.rows[:, :, order]


LONG = {"round": "query", "action": "model"}


@pytest.mark.parametrize("kind", ["wide csv", "wide parquet", "long csv", "long parquet", "wide mapping", "long mapping"])
def test_the_same_columns_are_the_same_game_in_every_layout(kind: str, tmp_path: Path) -> None:
    layout, form = kind.split()
    columns = wide() if layout == "wide" else long()
    names: dict[str, Any] = {"reward": "quality", "at_most": ["dollars"], "at_least": "seconds=0..3"}
    names |= LONG if layout == "long" else {}
    if form == "mapping":
        data = from_columns(columns, Columns(**names))
    else:
        path = tmp_path / f"queries.{form}"
        (csv.write_csv if form == "csv" else parquet.write_table)(pa.table(columns), path)
        data = read_data(path, Columns(**names))
    rewards, constraints = shown(data)
    assert rewards == pytest.approx(QUALITY)
    assert constraints[:, 0] == pytest.approx(COST)
    assert constraints[:, 1] == pytest.approx(SECONDS / 3)
    assert data.reward[:2] == ("quality", "a reward")
    assert data.constraints[0] == ("dollars", "at most", DOLLARS.min(), DOLLARS.max())
    assert data.constraints[1] == ("seconds", "at least", 0, 3)


def test_a_line_becomes_a_floor_and_back() -> None:
    data = from_columns(wide(), Columns("quality", "dollars=0..0.02"))
    one = data.constraints[0]
    assert one.floor(0.005) == pytest.approx(0.75)
    assert one.scale.to_user(0.75) == pytest.approx(0.005)
    with pytest.raises(
        ValueError,
        match=r"^the limit of dollars must lie in its range 0..0.02, got -0.01; dollars=LOW..HIGH sets a wider range$",
    ):
        one.floor(-0.01)
    assert one.floor(0.03) == 0  # which does not bind


def test_what_is_not_named_is_in_the_layout_that_was_there_before() -> None:
    t, i = (k.ravel() for k in np.indices((30, 2)))
    plain = {"t": t, "action": i, "reward": QUALITY.ravel(), "c2": SECONDS.ravel() / 3, "c1": COST.ravel()}
    data = from_columns(plain)
    assert isinstance(data.game, Table)
    assert (data.game.rewards == QUALITY).all()
    assert (data.game.rows[:, 0] == COST).all()
    assert (data.actions, [one.name for one in data.constraints]) == (("action 0", "action 1"), ["c1", "c2"])
    assert all(one[1:] == ("at least", 0, 1) for one in data.constraints)


def test_a_column_named_cost_is_to_be_small() -> None:
    columns = {"t": [0, 0, 1, 1], "action": ["a", "b", "a", "b"], "reward": [1, 3, 2, 5], "cost": [1, 4, 1, 5]}
    data = from_columns(columns)
    assert data.constraints == (("cost", "at most", 1, 5),)
    assert data.reward == ("reward", "a reward", 1, 5)
    beside = {
        "reward:a": [1, 2],
        "reward:b": [3, 5],
        "cost:a": [1, 1],
        "cost:b": [4, 5],
        "power:a": [0.1, 1],
        "power:b": [1, 0],
    }
    data = from_columns(beside)
    assert data.constraints == (("cost", "at most", 1, 5), ("power", "at least", 0, 1))
    assert data.reward == ("reward", "a reward", 1, 5)


def test_rounds_are_in_the_order_of_their_numbers_or_dates_and_else_as_they_come() -> None:
    columns = {"action": ["a"] * 3, "reward": [0.1, 0.2, 0.3], "c": [0.5, 0.6, 0.7]}
    for rounds, order in (
        ([10, 9, 2], [0.3, 0.2, 0.1]),
        (["q10", "q9", "q2"], [0.1, 0.2, 0.3]),
        (np.array(["2024-03-01", "2023-01-01", "2024-01-01"], dtype="M8[D]"), [0.2, 0.3, 0.1]),
    ):
        data = from_columns({**columns, "round": rounds})
        assert isinstance(data.game, Table)
        assert data.game.rewards[:, 0].tolist() == order


def test_a_propensity_makes_it_a_log() -> None:
    columns = {"model": ["a", "b", "a"], "quality": [1, 2, 5], "dollars": [0.2, 0.3, 0.7], "p": [0.5, 0.5, 0.25]}
    data = from_columns(columns, Columns("quality", "dollars", action="model", propensity="p"))
    assert isinstance(data.game, Log)
    assert data.game.reward.tolist() == [0, 0.25, 1]
    assert data.game.constraint_values[:, 0] == pytest.approx([1, 0.8, 0])
    assert (data.game.action.tolist(), data.game.propensity.tolist()) == ([0, 1, 0], [0.5, 0.5, 0.25])


def test_a_npz_may_name_its_actions_and_constraints(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"rewards": QUALITY, "constraints": np.stack([COST, SECONDS / 3], axis=2)}
    np.savez(tmp_path / "named.npz", **arrays, actions=MODELS, constraint_names=["headroom", "speed"])
    data = read_data(tmp_path / "named.npz")
    assert (data.actions, [one.name for one in data.constraints]) == (MODELS, ["headroom", "speed"])
    np.savez(tmp_path / "objects.npz", **arrays, actions=np.array([{}, None], dtype=object))
    assert read_data(tmp_path / "objects.npz").actions == ("action 0", "action 1")
    np.savez(tmp_path / "odd.npz", **arrays, actions=np.zeros((4, 30)))
    assert read_data(tmp_path / "odd.npz").actions == ("action 0", "action 1")
    with pytest.raises(ValueError, match=r"^only .csv and .parquet files have named columns; odd.npz holds arrays"):
        read_data(tmp_path / "odd.npz", Columns(at_most="cost"))


def changed(columns: dict[str, Any], name: str, row: int, value: Any) -> dict[str, Any]:
    values = [*columns[name]]
    values[row] = value
    return {**columns, name: values}


OWN = {"reward": "quality", "at_most": "dollars"}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a missing cell": (
        changed(long(), "dollars", 3, np.nan),
        OWN | LONG,
        "has a missing cell in row 4: fill in the value",
    ),
    "missing cells": (
        changed(changed(long(), "quality", 3, None), "quality", 7, None),
        OWN | LONG,
        "the column quality of the data has 2 missing cells, the first in row 4",
    ),
    "a missing name": (
        changed(long(), "model", 5, ""),
        OWN | LONG,
        "model of the data has a missing cell in row 6",
    ),
    "a missing cell of a wide table": (
        changed(wide(), "dollars:large", 0, np.nan),
        OWN,
        "dollars:large of the data has a m",
    ),
    "a constant cost": (
        {**long(), "dollars": np.full(60, 0.1)},
        OWN | LONG,
        "dollars is 0.1 everywhere: no play can change it; leave it out",
    ),
    "a constant reward": (
        {**long(), "quality": np.ones(60)},
        OWN | LONG,
        "quality is 1 everywhere: every play earns",
    ),
    "a negative cost": (
        changed(long(), "dollars", 9, -0.2),
        OWN | LONG,
        "a cost must not be negative, got dollars of -0.2 in row 10; to allow negative values give the range, dollars=-0.2",
    ),
    "a negative cost of a wide table": (
        changed(wide(), "dollars:large", 2, -1.0),
        OWN,
        "got dollars of -1 for large in row 3;",
    ),
    "an unknown reward": (wide(), {"reward": "qualty"}, "the data has no column 'qualty'; did you mean 'quality'?"),
    "an unknown cost": (long(), OWN | LONG | {"at_most": "dolars"}, "no column 'dolars'; did you mean 'dollars'?"),
    "an unknown action": (long(), OWN | {"round": "query", "action": "modl"}, "no column 'modl'; did you mean 'model'?"),
    "an unknown round": (long(), OWN | {"round": "quary", "action": "model"}, "no column 'quary'; did you mean 'query'?"),
    "an unknown propensity": (long(), OWN | LONG | {"propensity": "pp"}, "the data has no column 'pp'; choose one of"),
    "no action": (long(), OWN, "the data lacks the column action: name it with --action NAME; it has query, model"),
    "no reward": (long(), LONG | {"at_most": "dollars"}, "the data lacks the column reward: name it with --reward NAME"),
    "no constraint": (long(), LONG | {"reward": "quality"}, "the data has no constraint: name a column with --at-most or"),
    "no round and no propensity": (long(), OWN | {"action": "model"}, "lacks a column round, for a table with every action"),
    "text for numbers": (
        long(),
        LONG | {"reward": "model", "at_most": "dollars"},
        "model of the data must hold num",
    ),
    "dates for numbers": (
        {**long(), "quality": np.arange(60).astype("M8[D]")},
        OWN | LONG,
        "the column quality of the data must hold numbers",
    ),
    "an infinite cost": (changed(long(), "dollars", 1, np.inf), OWN | LONG, "dollars of the data must hold finite numbers"),
    "a value outside of its range": (
        long(),
        OWN | LONG | {"at_most": "dollars=0..0.004"},
        "dollars must lie in [0, 0.004], got",
    ),
    "a range that is none": (
        long(),
        OWN | LONG | {"at_most": "dollars=0-5"},
        "a column must be NAME or NAME=LOW..HIGH, got 'd",
    ),
    "an empty range": (
        long(),
        OWN | LONG | {"at_most": "dollars=5..5"},
        "the range of dollars must be (low, high) with",
    ),
    "a column twice": (
        long(),
        OWN | LONG | {"at_least": "dollars"},
        "dollars is named twice: a column is either the reward or",
    ),
    "half of a wide table": (
        {name: values for name, values in wide().items() if name != "dollars:large"},
        OWN,
        "the data lacks the column dollars:large: each of small, large must have one",
    ),
    "a cost of an action without a reward": (
        {**wide(), "dollars:huge": np.ones(30)},
        OWN,
        "the data has the column dollars:huge, but no quality:huge: each of small, large, huge must have both",
    ),
    "columns of two kinds": (
        {**long(), "power:a": np.ones(60)},
        OWN | LONG | {"at_least": "power"},
        "use one layout for all quantities",
    ),
    "an action shown twice": (
        {name: [*values, values[0]] for name, values in long().items()},
        OWN | LONG,
        "must have every action once in every round, or a propensity for each row; round q0 has action",
    ),
    "rewards beyond 1 that are not named": (
        {"t": [0], "action": ["a"], "reward": [7], "c": [1]},
        {},
        "reward must lie in [0, 1], got 7 in row 1; name the column to take its range from the data",
    ),
    "no rows": ({"t": [], "action": [], "reward": [], "c": []}, {}, "the data has no rows"),
    "a propensity above 1": (
        {**long(), "p": [0.5, 1.5] * 30},
        OWN | LONG | {"propensity": "p"},
        "propensities must be positive and at most 1, got 1.5 in row 2; a propensity is the probability",
    ),
    "a propensity of 0": (
        {**long(), "p": [0.5, 0.5, 0] * 20},
        OWN | LONG | {"propensity": "p"},
        "propensities must be positive and at most 1, got 0 in row 3; a propensity is the probability",
    ),
    "a log without propensities": (
        {name: values[::2] for name, values in long().items()},
        OWN | LONG,
        "has one action per round and no column of propensities, so the outcomes of the other actions cannot be estimated",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_data_is_answered_with_one_sentence(what: str) -> None:
    columns, names, sentence = BAD[what]
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (its sentence is read below)
        from_columns(columns, Columns(**names))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_text_that_is_not_unicode_is_answered_with_one_sentence(tmp_path: Path) -> None:
    rows = "t,model,quality,dollars\n1,gro\xdf,1,0.1\n1,klein,0,0.2\n"
    for text, sentence in (
        (rows, "the column model of old.csv is not in UTF-8: save the file in UTF-8"),
        (rows.replace("\xdf", "ss").replace("quality", "gro\xdf"), "the names of its columns are not in UTF-8"),
    ):
        (tmp_path / "old.csv").write_bytes(text.encode("latin-1"))
        with pytest.raises(ValueError, match=sentence):
            read_data(tmp_path / "old.csv", Columns("quality", "dollars", action="model"))


def test_cells_that_nobody_asks_for_may_be_missing() -> None:
    columns = changed(wide(), "seconds:large", 4, np.nan)
    assert from_columns(columns, Columns("quality", "dollars")).game.actions == 2


def test_a_cost_with_a_range_may_be_negative() -> None:
    data = from_columns(changed(wide(), "dollars:small", 0, -1.0), Columns("quality", "dollars=-1..1"))
    assert data.constraints[0].low == -1
