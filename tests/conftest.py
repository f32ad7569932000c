"""Settings of the whole suite, and its two parts.

A test runs as plain Python (NUMBA_DISABLE_JIT=1) unless it is compiled: marked so, or in one of the files below, which take
many rounds or are about compiled code. `make tests` runs both parts side by side, the compiled one in a single process, so
that each learner is compiled once. tests/test_without_jit.py ties the two: every learner plays the same either way.
"""

import atexit
import fcntl
import gc
import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A deadline would be an assertion on noise, and so would other examples on each run: `make falsify` draws other ones.
settings.register_profile("lewa", deadline=None, derandomize="LEWA_HUNT" not in os.environ)
settings.load_profile("lewa")
# Numba words an error for every form of an operation that it tries and that does not fit. To colour them takes longer.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
gc.set_threshold(50_000, 20, 100)  # to compile makes many objects, few of them rubbish
atexit.register(gc.freeze)  # a last search for garbage takes a second, and all memory is freed anyway

ROOT = Path(__file__).parent.parent
WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
COMPILED = {
    ROOT / name
    for name in (
        "tests/agent/test_changes.py",
        "tests/agent/test_practice.py",
        "tests/agent/test_status.py",
        "tests/agent/test_telling_more.py",
        "tests/agent/test_units_and_tails.py",
        "tests/games/test_games.py",
        "tests/games/test_stories.py",
        "tests/kernels/test_adahedge.py",
        "tests/kernels/test_exponential.py",
        "tests/kernels/test_lazy.py",
        "tests/kernels/test_normal.py",
        "tests/kernels/test_projection.py",
        "tests/kernels/test_spread.py",
        "tests/kernels/test_weights.py",
        "tests/measures/test_bandit_bounds.py",
        "tests/measures/test_judge.py",
        "tests/measures/test_realised.py",
        "tests/test_benchmarks.py",
        "tests/test_documents.py",
        "tests/test_engine.py",
        "tests/test_pains.py",
        "tests/test_play.py",
        "tests/test_without_jit.py",
        "tests/theorems",
        "src/lewa/frontiers",
        "src/lewa/games",
        "src/lewa/learners",
    )
}
# Learners whose loops are compiled a second time, for coins that are drawn lazily: of each kind of feedback, and one that
# looks at contexts. For all others the rounds of coins are laid out while the compiled part runs. The rounds are the same
# (tests/kernels/test_streams.py), tests/test_without_jit.py compares these loops with plain Python, and `make falsify`
# compiles both loops of every learner.
LAZY = ("bandit-lewa", "bandit-lewa@printed", "hp-bandit-lewa", "exp3", "paced-linucb")
# Plain, but not for `make quick`: they start servers, browsers or processes, or take more than five seconds.
SLOW = {
    ROOT / name
    for name in (
        "tests/adapters/test_gym.py",
        "tests/adapters/test_river.py",
        "tests/agent/test_agent.py",
        "tests/agent/test_context.py",
        "tests/agent/test_files.py",
        "tests/agent/test_governor.py",
        "tests/agent/test_late.py",
        "tests/agent/test_machine.py",
        "tests/agent/test_masks.py",
        "tests/agent/test_trials.py",
        "tests/agent/test_watch.py",
        "tests/checks/test_laws.py",
        "tests/checks/test_laws_bite.py",
        "tests/checks/test_laws_of_wrapped.py",
        "tests/client/test_client.py",
        "tests/data/test_streaming.py",
        "tests/fuzz",
        "tests/lab/test_run.py",
        "tests/paper/test_reproduce.py",
        "tests/report/test_page_in_browser.py",
        "tests/report/test_report.py",
        "tests/serve/test_commands.py",
        "tests/serve/test_failures.py",
        "tests/serve/test_fuzz.py",
        "tests/serve/test_how_to.py",
        "tests/serve/test_kill.py",
        "tests/serve/test_page.py",
        "tests/serve/test_replicas.py",
        "tests/serve/test_store.py",
        "tests/test_advise.py",
        "tests/test_cli.py",
        "tests/test_contract.py",
        "tests/test_docs_site.py",
        "tests/test_frontier.py",
        "tests/test_frontier_context.py",
        "tests/test_matrix.py",
        "tests/test_play.py",
        "tests/test_plugins.py",
        "tests/test_wrappers.py",
    )
}


@cache
def parts_of(file: Path) -> frozenset[str]:
    """Return the parts that a file has tests of: that of its place, and those that it marks tests with."""
    text = file.read_text()
    marked = {part for part in ("compiled", "plain") if f"mark.{part}" in text}
    return frozenset(marked | {"compiled" if COMPILED & {file, *file.parents} else "plain"})


class OnePart:
    """Leave out the files of the other part: to import all of them takes as long as many tests."""

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Say so of a file that was not named, of the tests or of the package."""
        part = str(config.option.markexpr).partition(" ")[0]
        if part not in ("compiled", "plain") or collection_path.suffix != ".py" or collection_path.name == "__init__.py":
            return None
        if "not slow" in config.option.markexpr and SLOW & {collection_path, *collection_path.parents}:
            return True
        named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
        return True if collection_path not in named and part not in parts_of(collection_path) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Look for examples where the text has one: to look into every module takes long, and imports it."""
        collectors = yield
        if len(collectors) == 0 or ">>>" in file_path.read_text():
            return collectors
        return [collector for collector in collectors if type(collector).__name__ != "DoctestModule"]


def lay_out_rounds() -> None:
    """Let games lay out their rounds for all learners that are not in LAZY."""
    from lewa.engine.session import Session
    from lewa.game import Game
    from lewa.learners import ALL
    from lewa.simulate import nature, seed_run
    from lewa.types import Words

    lazy = {ALL[name] for name in LAZY}

    def nature_of(game: Game, key: Words, session: Session, every_round: bool) -> nature.Nature:
        rounds = nature.nature_of(game, key, session, every_round)
        if isinstance(rounds, nature.LazyNature) and type(session.learner) not in lazy:
            return nature.BlockNature(game, key)
        return rounds

    setattr(seed_run, "nature_of", nature_of)  # noqa: B010 (mypy takes a function for a constant)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(OnePart())  # what this file defines itself is asked about its own folder only
    if str(config.option.markexpr) == "compiled" and "LEWA_HUNT" not in os.environ:
        lay_out_rounds()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let one worker after the other import the tests, so that the next one finds the byte code that the first one wrote."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    with Path(__file__).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays: services in this process search for garbage when they start


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {path: {path, *path.parents} for path in {item.path for item in items}}
    slow = {path for path, around in places.items() if SLOW & around}
    compiled = {path for path, around in places.items() if COMPILED & around}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "compiled" in marks or (item.path in compiled and "plain" not in marks):
            part = "compiled"
            if WITHOUT_JIT:
                item.add_marker(pytest.mark.skip(reason="it is about compiled code, or takes many rounds"))
        else:
            part = "plain"
        if part not in marks:
            item.add_marker(part)
        if item.path.suffix == ".py" and part not in parts_of(item.path):
            raise pytest.UsageError(f"{item.nodeid} is a {part} test, but its file does not say mark.{part}")
        if item.path in slow:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser that all tests share."""
    from tests.browser import started

    yield from started(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="session")
def run_fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Run a program in a process that has imported the package and compiled nothing; it returns what was printed."""
    from tests.fresh import started

    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    yield from started(tmp_path_factory.mktemp("fresh"))


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the workers of studies and reports, which users spawn."""
    from tests import forks

    monkeypatch.setattr("lewa.lab.places.get_context", forks.context)


@pytest.fixture(autouse=True)
def any_module_may_be_named() -> Iterator[None]:
    """Take back what a service or a command in this process sets: which modules may be imported, and from where."""
    safe_path = os.environ.get("PYTHONSAFEPATH")
    yield
    if "lewa.plugins" in sys.modules:
        sys.modules["lewa.plugins"].allow_only(None)
        sys.modules["lewa.plugins"].look_in(None)
    if safe_path is None:  # a command sets it for the processes that it starts
        os.environ.pop("PYTHONSAFEPATH", None)
