"""A replay of named columns answers in the units of the data: tables, logs, and logs that are read in parts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lewa
from lewa.cli.shared import app
from lewa.simulate.log_replay import LogReplay, StreamedReplay

QUERIES = Path(__file__).parents[2] / "docs" / "assets" / "queries.csv"
COLUMNS: dict[str, Any] = {"round": "query", "action": "model", "reward": "quality", "at_most": "dollars"}
RANGES: dict[str, Any] = {"reward": "quality=-1..1", "at_most": "dollars=0..0.02"}


def test_a_trace_is_in_the_units_that_the_command_prints() -> None:
    trace = lewa.replay(QUERIES, "lewa", seeds=2, lines={"dollars": 0.002}, **{**COLUMNS, **RANGES})
    words = ["replay", str(QUERIES), "--round", "query", "--action", "model", "--reward", "quality=-1..1"]
    words += ["--at-most", "dollars=0..0.02", "--budget", "0.002", "--learner", "lewa", "--seeds", "2", "--json"]
    result = json.loads(CliRunner().invoke(app, words).stdout)
    printed, best = result["learners"]["lewa"], result["hindsight"]
    assert isinstance(trace, lewa.measures.Trace)
    assert trace.floor == pytest.approx([0.002])
    assert trace.reward[:, -1] == pytest.approx(printed["reward"]["per_seed"])
    assert trace.regret == pytest.approx(printed["regret"]["per_seed"])
    assert lewa.regret(trace) == pytest.approx(printed["regret"]["per_seed"])
    assert lewa.violation(trace) == pytest.approx(np.array(printed["violation"]["per_seed"]))
    assert trace.positive_violation == pytest.approx(np.array(printed["positive_violation"]["per_seed"]))
    assert trace.multiplier[:, -1].mean(axis=0) == pytest.approx(printed["multiplier"])
    (hindsight, _) = lewa.measures.hindsight(trace)
    assert hindsight.value == pytest.approx(best["value"])
    assert hindsight.price == pytest.approx(best["price"])
    assert trace.guarantee.regret == pytest.approx(printed["guarantee"]["regret"])
    assert trace.guarantee.violation == pytest.approx(printed["guarantee"]["violation"])
    frame = trace.to_frame()
    assert frame["reward"].iloc[-1] == pytest.approx(printed["reward"]["per_seed"][-1])
    assert frame["shortfall"].iloc[-1] == pytest.approx(trace.shortfall[-1, -1, 0])


def test_cents_are_a_hundred_times_the_dollars_everywhere() -> None:
    import pandas as pd

    table = pd.read_csv(QUERIES)
    table["cents"], table["points"] = 100 * table["dollars"], 100 * table["quality"]
    other: dict[str, Any] = {"round": "query", "action": "model", "reward": "points", "at_most": "cents"}
    dollars = lewa.replay(table, "squarecb-lewa", seeds=2, lines={"dollars": 0.002}, **COLUMNS)
    cents = lewa.replay(table, "squarecb-lewa", seeds=2, lines={"cents": 0.2}, **other)
    assert isinstance(dollars, lewa.measures.Trace)
    assert isinstance(cents, lewa.measures.Trace)
    for name in ("reward", "shortfall", "positive", "observed_shortfall", "floor", "reward_sums", "constraint_sums"):
        assert getattr(cents, name) == pytest.approx(100 * getattr(dollars, name)), name
    assert cents.multiplier == pytest.approx(dollars.multiplier)
    assert cents.regret == pytest.approx(100 * dollars.regret)
    assert lewa.measures.regret_curve(cents) == pytest.approx(100 * lewa.measures.regret_curve(dollars))
    assert "points" not in repr(cents)


def log(rows: int = 2000) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    action = rng.integers(0, 2, rows)
    stars = 1 + 4 * (rng.random(rows) < np.array([0.4, 0.8])[action])
    return {
        "action": np.array(["a", "b"])[action],
        "propensity": np.full(rows, 0.5),
        "stars": stars,
        "usd": 3.0 * action + 1,
    }


def test_the_replay_of_a_log_is_in_units_in_memory_and_in_parts(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    own: dict[str, Any] = {"reward": "stars", "at_most": "usd", "lines": {"usd": 2.5}, "seeds": 2}
    run = lewa.replay(log(), "lewa-ix", **own)
    assert isinstance(run, LogReplay)
    assert set(np.unique(run.reward)) == {1.0, 5.0}
    assert set(np.unique(run.shortfall.round(9))) == {-1.5, 1.5}
    for n, part in enumerate(np.array_split(np.arange(2000), 2)):
        pq.write_table(pa.table({name: column[part] for name, column in log().items()}), tmp_path / f"part.{n}.parquet")
    parts = lewa.replay(tmp_path, "lewa-ix", **own)
    assert isinstance(parts, StreamedReplay)
    assert parts.rounds == run.rounds
    for there, here in zip(parts.totals(run.rounds), run.totals(run.rounds), strict=True):
        assert there == pytest.approx(here)
    assert parts.rows()[-1] == pytest.approx(run.rows()[-1])


def test_numbers_in_the_unit_interval_stay_as_they_are() -> None:
    table = lewa.games.Table(rewards=[[1, 0], [0, 1]] * 50, constraints=[0.2, 0.9])
    trace = lewa.replay(table, "lewa", floor=0.5)
    assert isinstance(trace, lewa.measures.Trace)
    assert trace.converted is None


def test_a_limit_beyond_the_range_does_not_bind() -> None:
    trace = lewa.replay(QUERIES, "paced-hedge", lines={"dollars": 5.0}, **COLUMNS)
    assert isinstance(trace, lewa.measures.Trace)
    assert lewa.violation(trace) == pytest.approx(np.zeros((1, 1)))
    words = ["replay", str(QUERIES), "--round", "query", "--action", "model", "--reward", "quality", "--at-most", "dollars"]
    printed = json.loads(CliRunner().invoke(app, [*words, "--budget", "5", "--seeds", "1", "--json"]).stdout)
    assert printed["floor"] == [5.0]
    assert printed["hindsight"]["price"] == [0.0]
    refused = CliRunner().invoke(app, [*words, "--budget", "0.00001"])
    assert "the limit of dollars must lie in its range" in str(refused.exception)
