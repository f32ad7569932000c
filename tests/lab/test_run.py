"""Studies are killed, interrupted and robbed of their workers here; what comes out has to be the same table, bit for bit."""

import importlib.util
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet
from tests import forks

import lewa
from lewa.lab import places, schedule
from lewa.lab.execute import execute, execute_all
from lewa.lab.measures import COLUMNS
from lewa.lab.places import Place
from lewa.lab.run import run_studies, run_study
from lewa.lab.schedule import Job, Progress, Work
from lewa.lab.storage import Journal, versions
from lewa.lab.study import Study, expand, parse

pytestmark = pytest.mark.slow

# Games that spawned workers can import: each run notes that it began, some wait while a file is there, some die.
WORLDS = """
import os
import time
from pathlib import Path

from lewa.games import Bernoulli


class Noted(Bernoulli):
    def __init__(self, folder, waits=False, dies="never"):
        super().__init__()
        self.folder, self.waits, self.dies = Path(folder), waits, dies

    def means(self):
        return None

    def block(self, key, start, stop):
        if start == 0:
            with (self.folder / "begun").open("a") as file:
                file.write(f"{os.getpid()} {self.waits} {key[0]}\\n")
            while self.waits and (self.folder / "hold").exists():
                time.sleep(0.01)
            died = self.folder / "died"
            if self.dies == "always" or (self.dies == "once" and not died.exists()):
                died.touch()
                os._exit(1)
        return super().block(key, start, stop)
"""

SMALL = """
name = "small"
rounds = [100, 1000]
seeds = 2

[[games]]
name = "bernoulli"
floor = 0.6

[[learners]]
name = "lewa"
settings = { tuning = "paper" }

[[learners]]
name = "bandit-lewa"
"""


@pytest.fixture
def worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "worlds"
    folder.mkdir()
    (folder / "worlds_of_tests.py").write_text(WORLDS)
    monkeypatch.syspath_prepend(folder)  # processes that are started get this process's path
    yield folder
    (folder / "hold").unlink(missing_ok=True)
    sys.modules.pop("worlds_of_tests", None)


def study_of(folder: Path, seeds: int, *kinds: str) -> str:
    games = "".join(
        f'[[games]]\nname = "worlds_of_tests:Noted"\nfloor = 0.6\nparameters = {{ folder = "{folder}"{kind} }}\n'
        for kind in kinds
    )
    return f'name = "noted"\nrounds = 200\nseeds = {seeds}\n{games}[[learners]]\nname = "ewa"\n'


def alone(study: Study, out: Path) -> bytes:
    """The table as one thread of this process makes it."""
    with ThreadPoolExecutor(1) as executor:
        return run_study(study, out, executor=executor).read_bytes()


def ids(out: Path) -> list[str]:
    lines = (out / "journal.jsonl").read_bytes().splitlines() if (out / "journal.jsonl").exists() else []
    return [json.loads(line)["id"] for line in lines]


def begun(folder: Path) -> list[list[str]]:
    file = folder / "begun"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def until(happened: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# One run -----------------------------------------------------------------------------------------------------------------


def test_a_row_has_the_numbers_that_the_measures_give() -> None:
    run = next(run for run in expand(parse(SMALL)) if run.learner == "bandit-lewa" and run.rounds == 1000 and run.seed == 1)
    row = execute(run)
    learner = lewa.learners.make("bandit-lewa", 3, 1000, 0.6)
    trace = lewa.play(learner, run.build()[1], 1000, seeds=[1])
    assert row["reward"] == trace.reward[0, -1]
    assert row["regret"] == lewa.regret(trace)[0] == row["regret_curve"][-1]
    assert row["violation"] == lewa.violation(trace)[0].tolist() == [row["violation_curve"][0][-1]]
    assert row["positive_violation"] == lewa.positive_violation(trace)[0].tolist()
    assert row["multiplier"] == trace.multiplier[0, -1].tolist() == [row["multiplier_curve"][0][-1]]
    assert row["hindsight_value"] == lewa.hindsight(trace)[0].value
    assert row["guarantee_kind"] == lewa.judge(trace).guarantee.kind
    assert row["marks"] == trace.marks.tolist()
    assert json.loads(row["parameters"])["gamma"] == trace.learner.gamma
    assert row["feasible"] is True
    assert set(row) == set(COLUMNS)


def test_only_what_the_study_measures_is_measured(tmp_path: Path) -> None:
    study = parse(SMALL.replace("seeds = 2", 'seeds = 1\nmeasures = ["regret", "violation"]'))
    row = execute(expand(study)[0])
    assert "regret" in row
    assert "reward" not in row
    assert "marks" not in row
    alone(study, tmp_path)
    table = parquet.read_table(tmp_path / "measures.parquet")
    assert table.column_names == list(COLUMNS)
    assert table["marks"].null_count == len(table) == 4


def test_an_infeasible_floor_is_a_row_that_says_so() -> None:
    row = execute(expand(parse(SMALL.replace("0.6", "0.95")))[0])
    assert row["feasible"] is False
    assert row["guarantee_kind"] is None


def test_a_run_that_fails_is_named() -> None:
    run = expand(parse(SMALL))[0]
    wrong = type(run)(**{**{name: getattr(run, name) for name in run.__slots__}, "floor": (0.6, 0.5)})
    with pytest.raises(ValueError, match=r"^bernoulli/T=100/lewa tuning=paper/seed0: .* one floor per constraint"):
        execute_all([wrong], versions())
    with pytest.raises(ValueError, match=r"must have the same versions to get the same numbers, got numba .*, not 0.0"):
        execute_all([run], {**versions(), "numba": "0.0"})


# The folder --------------------------------------------------------------------------------------------------------------


def test_the_folder_says_what_was_run_by_what_and_running_again_repeats_nothing(tmp_path: Path) -> None:
    study, seen = parse(SMALL), list[Progress]()
    table = alone(study, tmp_path)
    assert (tmp_path / "study.toml").read_text() == SMALL
    assert json.loads((tmp_path / "versions.json").read_text()) == versions()
    assert parquet.read_table(tmp_path / "measures.parquet")["id"].to_pylist() == [run.id for run in expand(study)]
    journal = (tmp_path / "journal.jsonl").read_bytes()
    run_study(study, tmp_path, progress=seen.append)  # no process is started: nothing is left
    assert seen == [Progress(8, 8, 4400, 4400)]
    assert (tmp_path / "journal.jsonl").read_bytes() == journal
    assert (tmp_path / "measures.parquet").read_bytes() == table


def test_a_folder_that_holds_another_study_or_other_versions_is_refused(tmp_path: Path) -> None:
    alone(parse(SMALL), tmp_path)
    with pytest.raises(ValueError, match="has another study, 'small': give another folder for 'other'"):
        run_study(parse(SMALL.replace('"small"', '"other"')), tmp_path)
    with pytest.raises(ValueError, match="has another study"):
        run_study(parse(SMALL.replace("0.6", "0.5")), tmp_path)
    run_study(parse("# the same in other words\n" + SMALL), tmp_path)
    (tmp_path / "versions.json").write_text(json.dumps({**versions(), "numpy": "1.0"}))
    with pytest.raises(ValueError, match=r"was begun with numpy 1.0, not"):
        run_study(parse(SMALL), tmp_path)
    for content, sentence in (
        ('{"lewa": ', "versions.json is damaged: Invalid JSON"),
        ("[1]", "versions.json is damaged: Input should be an object"),
    ):
        (tmp_path / "versions.json").write_text(content)
        with pytest.raises(ValueError, match=sentence):
            run_study(parse(SMALL), tmp_path)
    (tmp_path / "study.toml").unlink()
    with pytest.raises(ValueError, match="has a journal without its study"):
        run_study(parse(SMALL), tmp_path)


@pytest.mark.parametrize("torn", [b'{"id": "bernoulli/T=1', b"\0\0\0", b"\0\0\0\n", b""])
def test_a_torn_last_line_is_dropped_and_its_run_done_again(torn: bytes, tmp_path: Path) -> None:
    study = parse(SMALL)
    table = alone(study, tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + (torn or lines[5].rstrip(b"\n")))
    seen = list[Progress]()
    with ThreadPoolExecutor(1) as executor:
        run_study(study, tmp_path, executor=executor, progress=seen.append)
    assert seen[0].done == 5
    assert (tmp_path / "measures.parquet").read_bytes() == table
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(lines)


def test_a_journal_damaged_elsewhere_or_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"id": "a"}\nwhat?\n{"id": "b"}\n')
    with pytest.raises(ValueError, match="is damaged at line 2"):
        Journal(path)
    path.write_bytes(b'{"id": "a"}\n')
    journal = Journal(path)
    with pytest.raises(ValueError, match="is being written by another process"):
        Journal(path)
    journal.append([{"id": "a"}, {"id": "b"}])
    journal.close()
    assert path.read_bytes() == b'{"id": "a"}\n{"id": "b"}\n'


def test_short_runs_share_a_task_and_long_ones_come_first(tmp_path: Path) -> None:
    runs = expand(parse(SMALL.replace("seeds = 2", "seeds = 20")))
    journal = Journal(tmp_path / "journal.jsonl")
    work = Work([Job(run, journal) for run in runs], None)
    assert [len(work.chunk()), len(work.chunk())] == [1, 1]  # nobody knows yet how long they take
    work.pace = {("bernoulli", "lewa"): 1e-4, ("bernoulli", "bandit-lewa"): 1e-5}  # 0.1 and 0.01 seconds at T = 1000
    sizes = []
    while work.left:
        chunk = work.chunk()
        assert sum(map(work.seconds, chunk)) <= 2 * schedule.TASK
        sizes.append((chunk[0].rounds, len(chunk)))
    assert sizes[:3] == [(1000, 5), (1000, 5), (1000, 5)]
    assert sum(size for _, size in sizes) == len(runs) - 2
    assert len(sizes) < 10
    assert sizes == sorted(sizes, key=lambda size: -size[0])
    journal.close()


class Idle(Executor):
    """Takes tasks and does none."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


def test_a_run_that_lost_workers_is_tried_alone_so_that_no_other_is_blamed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    work, place = Work([Job(run, journal) for run in expand(parse(SMALL))], None), Place(Idle(), lambda: 4)
    for _ in range(schedule.SUSPECT):
        flying: dict[Future[Any], Any] = {}
        work.submit(place, flying)
        assert [len(chunk) for chunk in flying.values()] == [1, 1, 1, 1]
        for chunk in flying.values():
            work.put_back(chunk)
    flying = {}
    work.submit(place, flying)
    (alone_there,) = flying.values()
    with pytest.raises(ValueError, match=f"{alone_there[0].run.id} crashed 3 workers"):
        work.put_back(alone_there)
    journal.close()


def test_a_study_runs_in_one_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most one of executor, workers and cluster may be given, got several"):
        run_study(parse(SMALL), tmp_path, workers=2, cluster="tcp://nowhere:1")
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        run_study(parse(SMALL), tmp_path, workers=0)


def test_several_studies_run_together_as_each_does_alone(tmp_path: Path) -> None:
    one, other = parse(SMALL), parse(SMALL.replace('"small"', '"other"').replace("[100, 1000]", "[1000, 2000]"))
    seen = list[Progress]()
    with ThreadPoolExecutor(1) as executor:
        run_studies({tmp_path / "a": one, tmp_path / "b": other}, executor=executor, progress=seen.append)
    assert (seen[0], seen[-1]) == (Progress(0, 16, 0, 16_400), Progress(16, 16, 16_400, 16_400))
    assert len(ids(tmp_path / "a")) == len(ids(tmp_path / "b")) == 8  # runs that both have are in both
    assert (tmp_path / "a" / "measures.parquet").read_bytes() == alone(one, tmp_path / "one")
    assert (tmp_path / "b" / "measures.parquet").read_bytes() == alone(other, tmp_path / "other")


def test_rounds_that_react_count_for_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    reacting = expand(parse(SMALL.replace('"bernoulli"', '"penalty-breaker"')))
    work = Work([Job(run, journal) for run in [*expand(parse(SMALL)), *reacting]], None)
    assert work.rounds_total == 4400 * (1 + schedule.SLOWER)
    first, *then = ((job.run.learner, job.run.game, job.run.rounds) for job in work.left)
    assert {first, then[0]} == {("lewa", "bernoulli", 100), ("bandit-lewa", "bernoulli", 100)}  # to be compiled
    assert [game for _, game, _ in then[1:9]] == ["penalty-breaker"] * 8
    journal.close()


# Processes ---------------------------------------------------------------------------------------------------------------


def interrupt(study: Path, out: Path, worlds: Path) -> None:
    """Run a study in a process that spawns its workers, as users do, and press Ctrl-C."""
    printed = out.with_name("stderr")
    process = forks.process(forks.run_study_by_spawned_workers, study, out, printed, daemon=False)
    until(lambda: half_is_done(out, worlds))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    try:
        process.join(20)
        assert process.exitcode
    finally:
        process.kill()
    assert "KeyboardInterrupt" in printed.read_text()
    assert "SpawnProcess" not in printed.read_text()  # no worker complains


def kill(study: Path, out: Path, worlds: Path) -> None:
    """Run a study in a process that forks its workers, and kill it."""
    process = forks.process(forks.run_study, study, out, daemon=False)
    until(lambda: half_is_done(out, worlds))
    process.kill()
    process.join(20)
    assert process.exitcode == -signal.SIGKILL


def half_is_done(out: Path, worlds: Path) -> bool:
    return len(ids(out)) == 3 and sum(waits == "True" for _, waits, _ in begun(worlds)) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
@pytest.mark.parametrize("stop", [kill, interrupt])
def test_a_study_that_was_stopped_goes_on_where_it_was(stop: Any, worlds: Path, tmp_path: Path) -> None:
    text = study_of(worlds, 3, "", ", waits = true")
    (tmp_path / "study.toml").write_text(text)
    (worlds / "hold").touch()
    out = tmp_path / "out"
    stop(tmp_path / "study.toml", out, worlds)
    workers = {int(pid) for pid, _, _ in begun(worlds)}
    until(lambda: not any(map(alive, workers)), 10)  # they still had runs to wait for
    finished = ids(out)
    assert len(finished) == 3
    assert not (out / "measures.parquet").exists()

    (worlds / "hold").unlink()
    study = parse(text)
    with ThreadPoolExecutor(1) as executor:
        table = run_study(study, out, executor=executor).read_bytes()
    assert ids(out)[:3] == finished
    assert sorted(ids(out)) == sorted(run.id for run in expand(study))
    times = Counter((waits, key) for _, waits, key in begun(worlds))
    assert [times[which] for which in times if which[0] == "False"] == [1, 1, 1]  # what was finished was not begun again
    assert table == alone(study, tmp_path / "alone")


@pytest.mark.usefixtures("forked_workers")
def test_two_processes_of_which_one_dies_give_the_file_of_one_thread(worlds: Path, tmp_path: Path) -> None:
    study = parse(study_of(worlds, 4, "", ', dies = "once"'))
    table = run_study(study, tmp_path / "out", workers=2).read_bytes()
    assert (worlds / "died").exists()
    regrets = parquet.read_table(tmp_path / "out" / "measures.parquet")["regret"].to_numpy()
    assert np.isfinite(regrets).all()
    assert len(set(regrets.tolist())) > 2
    assert sorted(ids(tmp_path / "out")) == sorted(run.id for run in expand(study))
    assert table == alone(study, tmp_path / "alone")


@pytest.mark.usefixtures("forked_workers")
def test_a_run_that_takes_every_worker_down_is_named_and_the_rest_is_kept(worlds: Path, tmp_path: Path) -> None:
    study = parse(study_of(worlds, 1, "", ', dies = "always"', ", waits = true"))
    with pytest.raises(ValueError, match=r"dies=always/T=200/ewa/seed0 crashed 3 workers"):
        run_study(study, tmp_path, workers=1)
    assert not any("dies" in name for name in ids(tmp_path))
    assert ids(tmp_path)


# A cluster ---------------------------------------------------------------------------------------------------------------

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask is not installed: pip install -e '.[cluster]'"
)


@needs_dask
def test_a_cluster_that_loses_a_worker_gives_the_same_file(worlds: Path, tmp_path: Path) -> None:
    dask: Any = pytest.importorskip("distributed")
    text = study_of(worlds, 4, "", ", waits = true") + '\n[[learners]]\nname = "lewa"\n'
    study, killed = parse(text), list[int]()
    (worlds / "hold").touch()

    def kill_one(progress: Progress) -> None:
        """With half of the runs finished, only those that wait are left: a worker that has one of them dies."""
        if progress.done >= progress.total // 2 and not killed:
            until(lambda: any(waits == "True" for _, waits, _ in begun(worlds)))
            killed.append(next(int(pid) for pid, waits, _ in begun(worlds) if waits == "True"))
            os.kill(killed[0], signal.SIGKILL)
            (worlds / "hold").unlink()

    forks.start()
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        table = run_study(study, tmp_path / "out", cluster=address, progress=kill_one).read_bytes()
    assert killed
    assert sorted(ids(tmp_path / "out")) == sorted(run.id for run in expand(study))
    assert len(begun(worlds)) > len(expand(study))  # what the dead worker had begun was begun again
    assert table == alone(study, tmp_path / "alone")


@needs_dask
def test_an_address_where_nobody_answers_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "ANSWER", 0.2)
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9") as refused:
        run_study(parse(SMALL), tmp_path, cluster="tcp://127.0.0.1:9")
    assert "\n" not in str(refused.value)


class Forgetful(Executor):
    """Forgets the first task that it is given: nobody ever answers, as when a result dies with a worker of Dask's."""

    def __init__(self) -> None:
        self.forgotten = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.forgotten:
            future.set_result(fn(*args, **kwargs))
        else:
            self.forgotten = 1
        return future


def test_a_result_that_nobody_brings_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "QUIET", 0.05)
    journal, runs, executor = Journal(tmp_path / "journal.jsonl"), expand(parse(SMALL)), Forgetful()
    work = Work([Job(run, journal) for run in runs], None)
    work.go(Place(executor, lambda: 2, idle=lambda: True))
    assert executor.forgotten
    assert sorted(journal.rows) == sorted(run.id for run in runs)
    journal.close()
