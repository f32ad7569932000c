"""Data that are read row group by row group give the numbers of data in memory, wherever the groups are read."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import forks

import lewa
from lewa.cli.shared import executor_at
from lewa.data import streaming
from lewa.data.columns import Columns
from lewa.data.log import StreamedLog
from lewa.data.streaming import read_stream
from lewa.frontiers.result import Frontier
from lewa.measures.trace import Trace
from lewa.simulate.log_replay import LogReplay, StreamedReplay, replay_stream

pytestmark = pytest.mark.slow

NAMES = np.array(["large", "medium", "small"])
PROPENSITY = np.array([0.5, 0.3, 0.2])
QUALITY, DOLLARS = np.array([0.9, 0.7, 0.5]), np.array([3.0, 2.0, 1.0])
COLUMNS: dict[str, Any] = {"reward": "quality", "at_most": "dollars"}


def log(rows: int = 900, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    a = rng.choice(3, rows, p=PROPENSITY)
    quality, dollars = rng.random(rows) < QUALITY[a], DOLLARS[a] * (0.5 + rng.random(rows))
    return pa.table({"action": NAMES[a], "quality": quality.astype(float), "dollars": dollars, "propensity": PROPENSITY[a]})


def drifting_log(rows: int = 900) -> pa.Table:
    """Return a log whose propensities depend on the row, so that its halves are those of the file."""
    rng = np.random.default_rng(1)
    share = np.linspace(0.2, 0.6, rows)
    plays = np.column_stack([share, 0.8 - share, np.full(rows, 0.2)])
    a = (plays.cumsum(axis=1) < rng.random(rows)[:, np.newaxis]).sum(axis=1).clip(0, 2)
    quality, dollars = rng.random(rows) < QUALITY[a], DOLLARS[a] * (0.5 + rng.random(rows))
    propensity = plays[np.arange(rows), a]
    return pa.table({"action": NAMES[a], "quality": quality.astype(float), "dollars": dollars, "propensity": propensity})


def wide(rounds: int = 200) -> pa.Table:
    rng = np.random.default_rng(2)
    quality = {f"quality:{name}": (rng.random(rounds) < p).astype(float) for name, p in zip(NAMES, QUALITY, strict=True)}
    return pa.table(quality | {f"dollars:{n}": c * (0.5 + rng.random(rounds)) for n, c in zip(NAMES, DOLLARS, strict=True)})


def long(table: pa.Table) -> pa.Table:
    def column(name: str) -> object:
        return np.column_stack([table.column(f"{name}:{action}").to_numpy() for action in NAMES]).ravel()

    rounds = np.repeat(np.arange(table.num_rows), 3)
    action = np.tile(NAMES, table.num_rows)
    return pa.table({"round": rounds, "action": action, "quality": column("quality"), "dollars": column("dollars")})


def folder(path: Path, table: pa.Table, files: int = 11, group: int = 37) -> Path:
    """Write a table as a folder of files with row groups that fit no round number."""
    path.mkdir()
    cuts = np.linspace(0, table.num_rows, files + 1).astype(int).tolist()
    for n, (start, stop) in enumerate(pairwise(cuts)):
        parquet.write_table(table.slice(start, stop - start), path / f"part.{n}.parquet", row_group_size=group)
    return path


def close(one: object, other: object) -> None:
    """Compare nested numbers up to rounding, and everything else exactly."""
    if isinstance(one, dict):
        assert isinstance(other, dict)
        assert one.keys() == other.keys()
        for key in one:
            close(one[key], other[key])
    elif isinstance(one, list):
        assert isinstance(other, list)
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            close(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)
    else:
        assert one == other


def plain(frontier: Frontier) -> dict[str, Any]:
    return {**frontier.plain(), "source": ""}


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_a_table_in_parts_gives_the_same_bits_as_in_memory(tmp_path: Path, layout: str) -> None:
    table = wide()
    path = folder(tmp_path / "table", table if layout == "wide" else long(table))
    learners: Any = ["paced-hedge", "squarecb-lewa"]
    there = lewa.frontier(path, **COLUMNS, learner=learners, seeds=2, points=2)
    here = lewa.frontier(table, **COLUMNS, learner=learners, seeds=2, points=2)
    assert plain(there) == plain(here)
    one, other = (lewa.replay(each, "lewa", lines={"dollars": 2}, **COLUMNS) for each in (path, table))
    assert isinstance(one, Trace)
    assert isinstance(other, Trace)
    assert (one.reward == other.reward).all()
    assert (one.shortfall == other.shortfall).all()


@pytest.mark.parametrize("files", [1, 2, 11])
def test_a_log_has_the_same_values_in_one_part_as_in_many(tmp_path: Path, files: int) -> None:
    table = drifting_log()
    path = folder(tmp_path / "log", table, files, group=900 if files == 1 else 37)
    there, here = (lewa.frontier(each, **COLUMNS, points=3) for each in (path, table))
    close(plain(there), plain(here))


def test_shuffled_halves_of_a_log_in_parts_hold_each_row_once_and_estimate_the_same(tmp_path: Path) -> None:
    there, here = (lewa.frontier(each, **COLUMNS, points=3) for each in (folder(tmp_path / "log", log()), log()))
    for one, other in zip(there.points, here.points, strict=True):
        close(one.best._asdict(), other.best._asdict())  # of all rows, whatever the order
    for values, others in zip(there.actions_alone.values(), here.actions_alone.values(), strict=True):
        for name in ("quality", "dollars"):
            assert values[name]["ips"][:3] == pytest.approx(others[name]["ips"][:3])
            assert values[name]["snips"] == pytest.approx(others[name]["snips"])
    assert there.notes == here.notes


def test_rows_that_propensities_do_not_fit_are_named_in_parts_too(tmp_path: Path) -> None:
    table = drifting_log(3000)
    wrong = table.column("propensity").to_numpy().copy()
    wrong[2000:] = 0.99
    table = table.set_column(3, "propensity", pa.array(wrong))
    there, here = (lewa.frontier(each, **COLUMNS, points=2) for each in (folder(tmp_path / "log", table), table))
    assert there.notes == here.notes
    assert "propensities do not fit rows 1,501 to 3,000" in there.notes[-1]


@pytest.mark.parametrize("name", ["squarecb-lewa", "bandit-lewa"])
def test_a_replay_on_a_log_in_parts_counts_the_same_rounds(tmp_path: Path, name: str) -> None:
    table, seeds = log(), [3, 4]
    path = folder(tmp_path / "log", table)
    there, here = (lewa.replay(each, name, seeds, lines={"dollars": 2}, **COLUMNS) for each in (path, table))
    assert isinstance(there, StreamedReplay)
    assert isinstance(here, LogReplay)
    assert there.rounds == here.rounds
    assert repr(there) == f"<StreamedReplay: {here.rounds} of 900 rows count, 2 seeds>"
    for rounds in (1, 17, here.rounds):
        for one, other in zip(there.totals(rounds), here.totals(rounds), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_progress_adds_up_to_the_rows_of_every_seed(tmp_path: Path) -> None:
    game = read_stream(folder(tmp_path / "log", log(300), files=3, group=60), Columns("quality", "dollars")).game
    assert isinstance(game, StreamedLog)
    learner, rows, by_seed = lewa.learners.make("exp3", 3, 100, 0.5), list[int](), list[int]()
    replay_stream(learner, game, 2, advance=rows.append)
    assert rows == [60, 40] * 3 * 2
    with ThreadPoolExecutor(2) as pool:
        replay_stream(learner, game, 2, pool, by_seed.append)
    assert by_seed == [300, 300]


def test_an_executor_changes_no_bit(tmp_path: Path) -> None:
    path = folder(tmp_path / "log", log())
    tables = folder(tmp_path / "table", wide(100))
    with ThreadPoolExecutor(3) as pool:
        assert lewa.frontier(path, **COLUMNS, executor=pool).plain() == lewa.frontier(path, **COLUMNS).plain()
        runs = [lewa.replay(path, "exp3", 3, lines={"dollars": 2}, **COLUMNS, executor=each) for each in (None, pool)]
        assert isinstance(runs[0], StreamedReplay)
        assert isinstance(runs[1], StreamedReplay)
        for one, other in zip(*(run.totals(runs[0].rounds) for run in runs), strict=True):  # type: ignore[union-attr]
            assert (one == other).all()
        of_table: Any = {**COLUMNS, "learner": "exp3", "seeds": 2, "points": 2}
        assert lewa.frontier(tables, **of_table, executor=pool).plain() == lewa.frontier(tables, **of_table).plain()


@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
def test_a_dask_cluster_changes_no_bit(tmp_path: Path) -> None:
    distributed: Any = import_module("distributed")
    path, tables = folder(tmp_path / "log", log(300), files=3), folder(tmp_path / "table", wide(40), files=3)
    of_table: Any = {**COLUMNS, "learner": "exp3", "seeds": 2, "points": 2}
    forks.start()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        executor_at(cluster.scheduler_address) as workers,
    ):
        far = lewa.frontier(path, **COLUMNS, executor=workers).plain()
        replayed = lewa.replay(path, "exp3", 3, lines={"dollars": 2}, **COLUMNS, executor=workers)
        of_far_table = lewa.frontier(tables, **of_table, executor=workers).plain()
    assert far == lewa.frontier(path, **COLUMNS).plain()
    assert of_far_table == lewa.frontier(tables, **of_table).plain()
    here = lewa.replay(path, "exp3", 3, lines={"dollars": 2}, **COLUMNS)
    assert isinstance(here, StreamedReplay)
    assert isinstance(replayed, StreamedReplay)
    assert replayed.rounds == here.rounds
    for one, other in zip(replayed.totals(here.rounds), here.totals(here.rounds), strict=True):
        assert (one == other).all()


def test_parts_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    table = pa.table({"row": np.arange(110)})
    parts = streaming.open_dataset(folder(tmp_path / "data", table, files=11))
    rows = np.concatenate([group.read(["row"])["row"] for group in parts.groups])
    assert rows.tolist() == list(range(110))
    assert parts.rows == 110


def test_partitions_of_a_folder_are_columns(tmp_path: Path) -> None:
    table = log(200)
    action = table.column("action").to_numpy(zero_copy_only=False)
    for name in NAMES:
        part = tmp_path / "log" / f"model={name}"
        part.mkdir(parents=True)
        parquet.write_table(table.filter(pa.array(action == name)).drop(["action"]), part / "0.parquet")
    content = read_stream(tmp_path / "log", Columns("quality", "dollars", action="model"))
    assert isinstance(content.game, StreamedLog)
    assert content.actions == tuple(NAMES)
    assert content.game.rows == 200


def test_a_large_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.parquet"
    parquet.write_table(log(), path, row_group_size=50)
    assert not streaming.is_streamed(path)
    monkeypatch.setattr(streaming, "LARGE", 1000)
    assert streaming.is_streamed(path)
    assert isinstance(lewa.replay(path, "exp3", floor=0.5, **COLUMNS), StreamedReplay)


def test_memory_does_not_grow_with_the_number_of_parts(tmp_path: Path) -> None:
    def peak(name: str, parts: int) -> int:
        path = folder(tmp_path / name, log(2000 * parts), files=parts, group=2000)
        tracemalloc.start()
        lewa.frontier(path, **COLUMNS, points=2, folds="halves")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak("warm", 1)
    assert peak("many", 12) < 1.5 * peak("few", 4)


REFUSED: dict[str, tuple[Any, str]] = {
    "a missing cell": (
        lambda: log().set_column(2, "dollars", pa.array([None if n == 700 else 1.5 + n % 2 for n in range(900)])),
        "the column dollars of data has a missing cell in row 701",
    ),
    "a propensity of 0": (
        lambda: log().set_column(3, "propensity", pa.array([0.0 if n == 800 else 0.5 for n in range(900)])),
        "propensities must be positive and at most 1, got 0 in row 801",
    ),
    "a negative cost": (
        lambda: log().set_column(2, "dollars", pa.array([-1.0 if n == 500 else 1.0 for n in range(900)])),
        "a cost must not be negative, got dollars of -1 in row 501",
    ),
    "a long table out of order": (
        lambda: long(wide(30)).take(list(range(60, 90)) + list(range(60))),
        "rows 31 to 33 of data do not; sort or widen it",
    ),
    "an incomplete long table": (lambda: long(wide(30)).slice(0, 89), "it has 3 actions and 89 rows"),
    "no column of that name": (lambda: log().drop(["quality"]), "data has no column 'quality'"),
    "no rows": (lambda: log().slice(0, 0), "data has no rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_parts_are_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    make, message = REFUSED[case]
    path = folder(tmp_path / "data", make(), files=3)
    with pytest.raises(ValueError, match=message):
        lewa.frontier(path, **COLUMNS)


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the folder .* has no .parquet file"):
        lewa.frontier(tmp_path, **COLUMNS)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and more")
    with pytest.raises(ValueError, match="cannot be read and may be truncated or damaged"):
        lewa.frontier(tmp_path, **COLUMNS)
    path = folder(tmp_path / "log", log())
    with pytest.raises(ValueError, match="context columns need a file that is read as a whole"):
        lewa.frontier(path, **COLUMNS, context="dollars")
    with pytest.raises(ValueError, match="every_round needs data in memory"):
        lewa.replay(path, "exp3", floor=0.5, every_round=True, **COLUMNS)
