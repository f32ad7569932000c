"""Compiling is never silent: every command and every agent says what it compiles, in one line."""

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from numba.core.event import Event

from lewa import compile_notice
from lewa.engine.compile import compile_learner
from lewa.lab.places import processes
from lewa.learners import Ewa

AGENT = """
from lewa.agent.driver import Driver
from lewa.engine.session import dice_of
from lewa.learners import Ewa
Driver(Ewa.tuned(2, 10, 0.5), 2, dice_of(0)).play()
"""

COMPILATION = """
from numba.core.event import Event, EventStatus, broadcast
from lewa.compile_notice import COMPILE
from lewa.engine.steps import play_step
from lewa.kernels import compiled_form
from lewa.learners import Ewa

class Dispatcher:
    py_func = staticmethod(play_step(compiled_form(Ewa)))

for _ in range(2):
    broadcast(Event(COMPILE, EventStatus.START, {"dispatcher": Dispatcher}))
"""  # what Numba does first when it compiles a step of EWA, and then another


@pytest.mark.compiled
def test_an_agent_says_what_it_compiles_once(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    first, again = (
        subprocess.run([sys.executable, "-c", AGENT], capture_output=True, text=True, env=environment) for _ in range(2)
    )
    assert first.stderr == "compiling ewa, once (about 10 s)\n"
    assert again.stderr == ""


def test_the_line_names_the_learner_and_is_said_by_whoever_asked_to() -> None:
    class Dispatcher:
        py_func = staticmethod(lambda: None)

    class Started:
        data = {"dispatcher": Dispatcher}

    notice, lines = compile_notice.CompileNotice(), list[str]()
    with compile_notice.announced_by(lines.append):
        notice.on_start(cast("Event", Started()))  # a function of nobody's
    assert lines == []
    step = compile_learner(Ewa).play
    assert compile_notice.learner_of(getattr(step, "py_func", step)) in ("ewa", None)  # None where the JIT is off


def test_a_worker_of_a_study_says_what_it_compiles_once(capfd: pytest.CaptureFixture[str]) -> None:
    with processes(1) as place:
        place.executor.submit(exec, COMPILATION, {}).result()
    assert capfd.readouterr().err == "compiling ewa, once (about 10 s)\n"
