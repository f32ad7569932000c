"""Lists of queries and of answers, which are drawn and learned together where that is possible."""

import random
from pathlib import Path
from typing import Any

import pytest

from lewa.serve.archive import verify
from tests.serve.inside import service
from tests.serve.running import SETUP

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
AGENT = "/v1/agents/router"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"answers": {"max_open": 7}},
        {"learner": "lewa", "horizon": 1000},
        {"safety": {"fallback": "small", "shares": {"large": 0.1}, "exposure": 0.5}},
        {"safety": {"fallback": "small"}, "caps": [{"constraint": "cost", "total": 3, "per": "week"}]},
        {"context": [{"kind": "number", "name": "size", "range": [0, 1]}]},
        {"keep_context": True},
    ],
)
def test_a_list_is_the_same_as_its_entries_one_by_one(tmp_path: Path, change: dict[str, Any]) -> None:
    rng = random.Random(3)
    queries: list[dict[str, Any]] = [{}, {}, {"key": "a"}, {"key": "a"}, {"key": "b"}, {"available": ["small"]}, {}, {}]
    queries += [{"available": ["nothing"]}, {"reserve": {"cost": 0.2}}, {"key": "b"}, {}, {"context": {"size": 0.5}}, {}, {}]
    answers = [{"decision": f"router:{rng.randrange(1, 14)}", "reward": rng.random(), "cost": 1} for _ in range(12)]
    answers += [{"decision": "router:3", "cost": 1}, {"decision": "router:99", "reward": 1}, {"decision": "router:4"}]
    states: list[Any] = []
    results: list[list[Any]] = []
    for name, lists in (("whole", True), ("single", False)):
        with service(tmp_path, f"{name}.sqlite3") as web:
            assert web.call("POST", "/v1/agents", {**SETUP, **change})[0] == 201
            web.app.registry.now = lambda hosted=None: 1_000_000  # type: ignore[method-assign]
            results.append([])
            for _ in range(2):
                for part in [queries] if lists else [[one] for one in queries]:
                    results[-1] += web.call("POST", f"{AGENT}/decide", part)[1]["decisions"]
                for part in [answers] if lists else [[one] for one in answers]:
                    results[-1] += web.call("POST", f"{AGENT}/feedback", part)[1]["results"]
            states.append(web.call("GET", f"{AGENT}/state")[1])
            store = web.app.registry.store
            assert verify(store, store.agents()[0]).sha256 == states[-1]["sha256"]
    for one in (*results[0], *results[1]):
        one.pop("index", None)
    assert results[0] == results[1]
    assert states[0] == states[1]
