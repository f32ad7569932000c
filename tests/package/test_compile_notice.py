"""Compiling is never silent: every command and every agent says what it compiles, in one line."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from numba import config
from numba.core.event import Event
from rich.console import Console
from rich.progress import Progress as Bar

import lewa.lab.execute
from lewa import compile_notice
from lewa.agent import statistics
from lewa.cli import shared
from lewa.engine.compile import compile_learner
from lewa.lab.execute import execute, execute_all, versions_for
from lewa.lab.measures import Row
from lewa.lab.places import processes
from lewa.lab.schedule import Progress
from lewa.lab.study import Run, expand, parse
from lewa.learners import Ewa

AGENT = """
import lewa
lewa.Agent(["x", "y"], [lewa.at_most("cost", 0.4)], learner="ewa", horizon=10, seed=0).warm().pull()
"""

COMPILATION = """
from numba.core.event import Event, EventStatus, broadcast
from lewa.compile_notice import COMPILE
from lewa.engine.steps import play_step
from lewa.kernels import compiled_form
from lewa.kernels.jit import compiler
from lewa.learners import Ewa

compiler()

class Dispatcher:
    py_func = staticmethod(play_step(compiled_form(Ewa)))

for _ in range(2):
    broadcast(Event(COMPILE, EventStatus.START, {"dispatcher": Dispatcher}))
"""  # what Numba does first when it compiles a step of EWA, and then another


@pytest.mark.compiled
def test_an_agent_compiles_without_a_line(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", AGENT], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*.nbi"))


def test_the_line_names_the_learner_and_is_said_by_whoever_asked_to() -> None:
    class Dispatcher:
        py_func = staticmethod(lambda: None)

    class Started:
        data = {"dispatcher": Dispatcher}

    notice, lines = compile_notice.CompileNotice(), list[str]()
    with compile_notice.announced_by(lines.append, lambda compiling: None):
        notice.on_start(cast("Event", Started()))  # a function of nobody's
        notice.on_end(cast("Event", Started()))
    assert lines == []
    assert notice.seconds > 0
    step = compile_learner(Ewa).play
    assert compile_notice.learner_of(getattr(step, "py_func", step)) in ("ewa", None)  # None where the JIT is off


def test_what_learners_share_is_announced_once_and_not_inside_of_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dispatcher:
        py_func = staticmethod(statistics.add_many.py_func)

    class Started:
        data = {"dispatcher": Dispatcher}

    monkeypatch.setattr(compile_notice, "_announced", set())
    notice, lines, event = compile_notice.CompileNotice(), list[str](), cast("Event", Started())
    clock = list[bool]()
    with compile_notice.announced_by(lines.append, clock.append):
        for _ in range(2):
            notice.on_start(event)
            notice.on_start(event)  # what it calls
            notice.on_end(event)
            before = notice.seconds
            notice.on_end(event)
            assert notice.seconds > before
    assert lines == ["compiling parts of the code that all learners share, once (a few seconds)"]
    assert clock == [True, False] * 2  # once for all that is compiled inside of another


def test_the_bar_of_a_study_starts_its_clock_again_after_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "err", Console(file=StringIO(), force_terminal=True))
    with shared.study_bar("mine") as (bar, move):
        task = bar.tasks[0]
        began = task.start_time
        move(Progress(1, 10, 100, 1000))
        assert (task.start_time, task.completed) == (began, 100)
        move(Progress(2, 10, 200, 1000, compiled=True))
        assert task.completed == 200
        assert task.start_time is not None
        assert began is not None
        assert task.start_time > began
        assert task.speed is None  # nothing of before counts


def test_a_bar_shows_no_remaining_time_while_something_is_compiled() -> None:
    with Bar(console=Console(file=StringIO(), force_terminal=True)) as bar:
        task, done = bar.add_task("lewa", total=100), bar.add_task("ewa", total=1)
        bar.update(done, completed=1)
        bar.update(task, completed=10)
        shared.reset_clocks(bar, True)
        bar.update(task, completed=20)  # another thread plays on
        bar.update(task, completed=30)
        running, finished = bar.tasks
        assert (running.completed, running.time_remaining) == (30, None)
        shared.reset_clocks(bar, False)
        assert running.start_time is not None
        assert running.speed is None  # nothing of before counts
        assert finished.finished


def test_a_run_says_whether_something_was_compiled_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = expand(
        parse('name="x"\nrounds=10\nseeds=1\n[[games]]\nname="bernoulli"\nfloor=0.5\n[[learners]]\nname="ewa"\n')
    )
    notice = compile_notice.install()
    (plain,) = execute_all([run], versions_for([run]))

    def compiles(run: Run) -> Row:
        notice.seconds += 0.5
        return execute(run)

    monkeypatch.setattr(lewa.lab.execute, "execute", compiles)
    (compiled,) = execute_all([run], versions_for([run]))
    assert (compiled.row, compiled.compiled) == (plain.row, True)
    assert not plain.compiled or vars(config)["DISABLE_JIT"] == 0


def test_a_worker_of_a_study_says_what_it_compiles_once(capfd: pytest.CaptureFixture[str]) -> None:
    with processes(1) as place:
        place.executor.submit(exec, COMPILATION, {}).result()
    assert capfd.readouterr().err == "compiling parts of ewa, once (about 10 s)\n"
