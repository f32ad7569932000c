"""Settings of the whole suite, and its two parts.

A test runs as plain Python (NUMBA_DISABLE_JIT=1) unless it is compiled: marked so, or in one of the files below, which take
many rounds or are about compiled code. `make tests` runs both parts side by side, the compiled one in a single process, so
that each learner is compiled once. tests/test_without_jit.py ties the two: every learner plays the same either way.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline would be an assertion on noise, and so would other examples on each run: `make falsify` draws other ones.
settings.register_profile("lewa", deadline=None, derandomize="LEWA_HUNT" not in os.environ)
settings.load_profile("lewa")
gc.set_threshold(50_000, 20, 100)  # to compile makes many objects, few of them rubbish

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
        "tests/bench",
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
        "tests/test_documents.py",
        "tests/test_engine.py",
        "tests/test_pains.py",
        "tests/test_play.py",
        "tests/test_without_jit.py",
        "tests/theorems",
        "src/lewa/games",
        "src/lewa/learners",
    )
}
# Plain, but not for `make quick`: they start servers, browsers or processes, or take more than five seconds.
SLOW = {
    ROOT / name
    for name in (
        "tests/adapters/test_gym.py",
        "tests/adapters/test_river.py",
        "tests/agent/test_agent.py",
        "tests/agent/test_context.py",
        "tests/agent/test_files.py",
        "tests/agent/test_late.py",
        "tests/agent/test_machine.py",
        "tests/agent/test_masks.py",
        "tests/agent/test_trials.py",
        "tests/checks/test_laws.py",
        "tests/checks/test_laws_bite.py",
        "tests/checks/test_laws_of_wrapped.py",
        "tests/client/test_client.py",
        "tests/data/test_streaming.py",
        "tests/fuzz",
        "tests/lab/test_run.py",
        "tests/measures/test_realised.py",
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        places = {item.path, *item.path.parents}
        if item.get_closest_marker("compiled") is None and (COMPILED & places and item.get_closest_marker("plain") is None):
            item.add_marker("compiled")
        if item.get_closest_marker("compiled") is None:
            item.add_marker("plain")
        elif WITHOUT_JIT:
            item.add_marker(pytest.mark.skip(reason="it is about compiled code, or takes many rounds"))
        if SLOW & places:
            item.add_marker("slow")


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
