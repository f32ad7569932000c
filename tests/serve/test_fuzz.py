"""Hostile requests: whatever is sent, the answer is one sentence and never 500, and the journal stays sound."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from lewa.serve.api import ROUTES
from lewa.serve.archive import verify
from lewa.serve.storage import state_hash
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

pytestmark = [pytest.mark.filterwarnings("ignore:overflow"), pytest.mark.slow]
REQUESTS = int(os.environ.get("LEWA_FUZZ", "300"))
ATOMS: list[Any] = [
    *(None, True, False, 0, 1, -1, 0.5, 1e308, -1e308, 1e-320, 2**53, 2**63, 2**64, 10**400, "", "a", "router", "small"),
    *("router:1", "router:2", "router:0", "router:-1", "router:1e3", "router:99999999999999999999", ":", "\u0000", "\ud7ff"),
    *(
        "x" * 300,
        "30m",
        "999999999d",
        "charge",
        "expire",
        "full",
        "bandit-lewa",
        "ewa",
        [],
        {},
        [[]],
        "é",
        "\u202e",
        "'; --",
    ),
]
NAMES = [
    *(
        "key",
        "available",
        "context",
        "decision",
        "reward",
        "cost",
        "action",
        "probability",
        "propensities",
        "values",
        "name",
    ),
    *(
        "actions",
        "constraints",
        "lines",
        "at_most",
        "at_least",
        "range",
        "answers",
        "close_after",
        "unanswered",
        "expected",
        "max_open",
        "seed",
    ),
    *(
        "learner",
        "settings",
        "horizon",
        "feedback",
        "budgets",
        "points",
        "constraint",
        "line",
        "keys_for",
        "why",
        "retired",
        "\u0000",
    ),
]
VALID: dict[str, list[Any]] = {
    "decide": [{}, {"key": "k"}, {"available": ["small", "large"]}, [{}, {}]],
    "feedback": [[{"decision": "router:1", "reward": 1, "cost": 0.5}], [{"decision": "router:2", "cost": 0.1}]],
    "close": [[{"decision": "router:1"}]],
    "observe": [[{"action": "small", "probability": 0.5, "values": {"reward": 1, "cost": 0}}]],
    "what-if": [{}, {"budgets": [0.2]}],
    "agents": [SETUP, {**SETUP, "name": "other", "constraints": [{"name": "q", "at_least": 0.5, "range": [0, 5]}]}],
    "{name}": [{"keys_for": "1h"}, {"answers": {"close_after": None}}],
}


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth > 3 or kind < 0.6:
        return rng.choice(ATOMS)
    if kind < 0.8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def spoiled(rng: random.Random, thing: Any) -> Any:
    """Change something somewhere."""
    if rng.random() < 0.2:
        return value(rng)
    if isinstance(thing, list) and thing:
        n = rng.randrange(len(thing))
        return [*thing[:n], spoiled(rng, thing[n]), *thing[n + 1 :]]
    if isinstance(thing, dict):
        if thing and rng.random() < 0.7:
            name = rng.choice(list(thing))
            return {**thing, name: spoiled(rng, thing[name])}
        return {**thing, rng.choice(NAMES): value(rng)}
    return value(rng)


def body(rng: random.Random, path: str) -> bytes:
    known = VALID.get(path.rsplit("/", 1)[1])
    thing = value(rng) if known is None or rng.random() < 0.1 else rng.choice(known)
    if rng.random() < 0.75:
        thing = spoiled(rng, thing)
    text = json.dumps(thing).encode()
    if rng.random() < 0.1:
        at = rng.randrange(len(text) + 1)
        text = rng.choice(
            [text[:at], text[:at] + bytes([rng.randrange(256)]) + text[at:], b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe"]
        )
    return text


def send(web: Client, rng: random.Random) -> tuple[str, int, Any]:
    route = rng.choice(ROUTES)
    names = ["router"] * 8 + ["nobody", "%00", "..", "a%2fb", "x" * 200, "%ff", "é"]
    path = route.path.replace("{name}", rng.choice(names)).replace(
        "{id}", rng.choice(["1", "router:1", "x", "-1", "%00", "9" * 30])
    )
    query = rng.choice(
        [
            "",
            "",
            "?at=1",
            "?at=x",
            "?at=-1",
            "?after=2&limit=3",
            "?limit=" + "9" * 40,
            "?format=" + rng.choice(["csv", "parquet"]),
        ]
    )
    headers = {"If_Match": rng.choice(['"1"', "1", "*", "x" * 5000, '"2"'])} if rng.random() < 0.7 else {}
    content = body(rng, route.path) if rng.random() < 0.9 else b""
    if route.method == "DELETE" and path.startswith("/v1/agents/router") and rng.random() < 0.99:
        path = "/v1/agents/nobody"
    status, answer = web.call(route.method, path + query, content, **headers)
    return f"{route.method} {path}{query} {content[:300]!r}", status, answer


def test_hostile_requests_end_in_a_sentence(tmp_path: Path) -> None:
    rng = random.Random(16)
    seen: dict[int, int] = {}
    with service(tmp_path, agents=6, snapshot_every=100) as web:
        web.call("POST", "/v1/agents", SETUP)
        for _ in range(REQUESTS):
            sent, status, answer = send(web, rng)
            seen[status] = seen.get(status, 0) + 1
            assert status < 500 or status == 501, (sent, status, answer)
            if status >= 400:
                assert "\n" not in answer["error"], (sent, answer)
                assert "Traceback" not in answer["error"]
        states = {name: state_hash(hosted) for name, hosted in web.app.registry.agents.items()}
        for agent in web.app.registry.store.agents():
            result = verify(web.app.registry.store, agent)
            assert (result.sound, result.sha256) == (True, states[agent.name])
    assert seen[200] > REQUESTS / 20
    assert seen[400] > REQUESTS / 20


@pytest.mark.filterwarnings("ignore")
def test_the_description_is_true(tmp_path: Path) -> None:
    """Schemathesis sends what the OpenAPI description allows, and compares the answers with it."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    with service(tmp_path, agents=4) as web:
        web.call("POST", "/v1/agents", SETUP)
        schema = schemathesis.openapi.from_dict(web.client.get("/openapi.json").json())
        for operation in (result.ok() for result in schema.get_all_operations()):
            strategy = operation.as_strategy()

            @settings(
                max_examples=max(4, REQUESTS // 200),
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def answered(case: Any) -> None:
                path = case.formatted_path
                if case.method == "DELETE":
                    path = "/v1/agents/nobody"
                content = (
                    b""
                    if not hasattr(case, "body") or isinstance(case.body, type(schemathesis.core.NOT_SET))
                    else json.dumps(case.body).encode()
                )
                status, answer = web.call(case.method, path, content)
                assert status < 500, (case.method, path, content[:500], answer)

            answered()
