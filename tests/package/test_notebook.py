"""What a notebook shows and takes: DataFrames in and out, short reprs, tables that escape names, figures."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lewa
from lewa.measures.trace import Trace
from lewa.simulate.log_replay import LogReplay, StreamedReplay

RNG = np.random.default_rng(3)
ROWS = 400
LOG = {
    "arm": RNG.choice(["a", "b"], ROWS),
    "sold": RNG.random(ROWS).round(3),
    "cost": RNG.random(ROWS).round(3),
    "p": np.full(ROWS, 0.5),
}
TABLE = {f"{name}:{arm}": RNG.random(60).round(3) for name in ("sold", "cost") for arm in ("a", "b")}
COLUMNS: dict[str, Any] = {"reward": "sold", "at_most": "cost=0..1", "action": "arm", "propensity": "p"}


class OnlyInterchange:
    """A DataFrame of a library that has the older protocol alone."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __dataframe__(self, **options: Any) -> Any:
        return self.frame.__dataframe__(**options)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda d: OnlyInterchange(pa.table(d)),
        lambda d: pd.DataFrame(d).astype({"arm": "category"}),
        lambda d: pl.DataFrame(d).with_columns(pl.col("arm").cast(pl.Categorical)),
        lambda d: pl.DataFrame(d).with_columns(pl.col("arm").cast(pl.Enum(sorted(set(d["arm"]))))),
    ],
    ids=["pandas", "polars", "arrow", "old", "pandas-categories", "polars-categories", "polars-enum"],
)
def test_a_dataframe_of_any_library_is_the_same_data(make: Callable[[Any], Any]) -> None:
    log, frame = {name: list(values) for name, values in LOG.items()}, make({name: list(v) for name, v in LOG.items()})
    known, same = (lewa.frontier(data, budgets=[0.4], **COLUMNS) for data in (log, frame))
    assert same.plain() == known.plain()
    first, second = (lewa.replay(data, "exp3", lines={"cost": 0.4}, **COLUMNS) for data in (log, frame))
    assert isinstance(first, LogReplay)
    assert isinstance(second, LogReplay)
    np.testing.assert_array_equal(first.reward, second.reward)


def test_what_is_no_data_is_refused_in_a_sentence() -> None:
    class Broken:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            raise RuntimeError("no\nstream")

    wrong: list[tuple[Any, str]] = [
        (3, "data must be a file, a DataFrame, .*, got int"),
        (Broken(), "the Broken cannot be read as a table"),
    ]
    for data, sentence in wrong:
        with pytest.raises(ValueError, match=sentence) as refused:
            lewa.frontier(data, **COLUMNS)
        assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(ValueError, match=r"there is no constraint 'cots'; did you mean 'cost'\?"):
        lewa.replay(LOG, "exp3", lines={"cots": 0.4}, **COLUMNS)


def test_a_trace_gives_rows_a_frame_a_table_and_a_figure() -> None:
    trace = lewa.play("adahedge", "radio", rounds=100, seeds=2, floor=0.5)
    rows, frame = trace.rows(), trace.to_frame()
    assert len(rows) == 2 * len(trace.marks) == len(frame)
    assert frame.columns.tolist() == ["seed", "round", "reward", "shortfall", "positive violation", "multiplier"]
    last = frame[frame["round"] == 100]
    np.testing.assert_array_equal(last["reward"], trace.reward[:, -1])
    np.testing.assert_array_equal(last["shortfall"], trace.shortfall[:, -1, 0])
    assert pl.DataFrame(rows).height == len(rows)
    assert len(repr(trace)) < 100
    assert trace._repr_html_().count("<tr>") == 3
    figure = trace.plot()
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["reward per round", "net violation so far", "multiplier"]
    figure.savefig(BytesIO())


def test_a_frontier_gives_rows_a_frame_a_table_and_a_figure() -> None:
    hostile = {f"{name}<script>$x^2$\x07": values for name, values in TABLE.items()}
    found = lewa.frontier(hostile, reward="sold", at_most="cost", budgets=[0.6, 0.7], learner="adahedge", seeds=2)
    frame = found.to_frame()
    assert frame["who"].tolist() == ["best", "adahedge"] * 2
    assert frame["sold"].tolist()[0] == found.points[0].best.value
    assert frame["sold low"].tolist()[1] == found.points[0].learners["adahedge"].reward.low
    page = found._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    found.plot().savefig(BytesIO())
    log = lewa.frontier(LOG, budgets=[0.6], **COLUMNS)
    assert [row["who"] for row in log.rows()] == ["estimated", "held out, doubly robust"]


def test_a_status_gives_rows_a_frame_a_table_and_a_figure() -> None:
    agent = lewa.Agent(["a", "b"], [lewa.at_most("<b>cost", 0.5)], learner="exp3", horizon=50, seed=0)
    empty = agent.status()
    empty.plot().savefig(BytesIO())
    for _ in range(20):
        agent.update(agent.pull(), reward=1.0, **{"<b>cost": 0.4})
    status = agent.status()
    assert repr(status) == f"<Status: 20 decisions by exp3: <b>cost {status.constraints[0].verdict}>"
    assert status.to_frame()["average"].tolist() == [pytest.approx(0.4)]
    assert "<b>" not in status._repr_html_()
    assert status.plot().axes[0].texts[0].get_text() == "<b>cost at most 0.5"


def test_the_replay_of_a_log_gives_rows_a_frame_a_table_and_a_figure(tmp_path: Path) -> None:
    how: dict[str, Any] = {"lines": {"cost": 0.4}, "seeds": 2, **COLUMNS}
    run = lewa.replay(LOG, "exp3", **how)
    assert isinstance(run, LogReplay)
    frame = run.to_frame()
    assert frame.columns.tolist() == ["seed", "round", "reward", "shortfall", "positive violation", "multiplier"]
    last, totals = frame[frame["round"] == run.rounds], run.totals(run.rounds)
    for name, sums in zip(("reward", "shortfall", "positive violation", "multiplier"), totals, strict=True):
        np.testing.assert_allclose(last[name], sums.ravel())
    assert run._repr_html_().count("<tr>") == 3
    assert run.plot().texts[0].get_text() == f"{run.rounds} of 400 rows count, 2 seeds"
    pq.write_table(
        pa.table({name: list(values) for name, values in LOG.items()}), tmp_path / "log.parquet", row_group_size=90
    )
    parts = lewa.replay(tmp_path, "exp3", **how)
    assert isinstance(parts, StreamedReplay)
    ends = parts.to_frame().groupby("seed").last()
    assert ends["round"].tolist() == [parts.rounds] * 2
    np.testing.assert_allclose(ends["reward"], parts.totals(parts.rounds).reward)
    assert len(parts.rows()) > 4
    assert parts._repr_html_().count("<tr>") == 3
    parts.plot().savefig(BytesIO())


def test_advice_and_guarantees_give_rows_a_frame_a_table_and_a_figure() -> None:
    advice = lewa.advise("full", actions=10, horizon=10_000, floor=0.6)
    assert repr(advice).startswith(f"<Advice: {advice.learner.called}, runner-up ")
    frame = advice.to_frame()
    assert frame["learner"].tolist() == [choice.called for choice in advice.ranked]
    assert frame["regret"].tolist()[0] == advice.learner.guarantee.regret
    assert advice.reason in str(advice)
    assert advice._repr_html_().count("<tr>") == 11
    advice.plot().savefig(BytesIO())
    nothing = lewa.advise("bandit", actions=3, horizon=100, floor=0.6, constraints="arbitrary", strict=True)
    assert nothing.rows() == []
    nothing.plot().savefig(BytesIO())
    assert nothing.reason in nothing._repr_html_()

    bound = lewa.guarantee(lewa.learners.make("lewa", 3, 10_000, [0.5, 0.6]), 3, 10_000)
    assert bound.to_frame()["bound on"].tolist()[:3] == ["regret", "violation 1", "violation 2"]
    assert repr(bound).startswith("<Guarantee: regret at most ")
    assert len(repr(bound)) < 200
    assert bound._repr_html_().count("<tr>") == 1 + len(bound.rows())
    bound.plot().savefig(BytesIO())
    none = lewa.guarantee(lewa.learners.make("ewa", 3, 100, 0.5), 3, 100, corruption=5.0)
    none.plot().savefig(BytesIO())


def test_without_pandas_rows_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    trace = lewa.play("adahedge", "radio", rounds=10, floor=0.5)
    assert isinstance(trace, Trace)
    with pytest.raises(ValueError, match=r"a DataFrame needs pandas: .* rows\(\) returns the same"):
        trace.to_frame()


def test_what_a_notebook_prints_of_a_run_is_one_line() -> None:
    trace = lewa.play("lewa", "bernoulli", rounds=100, floor=0.6)
    assert "\n" not in repr(trace)
    assert len(repr(trace)) < 100
    assert {"Agent", "at_most", "at_least"} <= set(dir(lewa))
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(lewa))
