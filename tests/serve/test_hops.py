"""A reader who follows a decision through the code opens few files."""

import asyncio
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import lewa
from lewa.journal.store import open_store
from lewa.serve.app import App
from lewa.serve.auth import SCOPES, make_key
from lewa.serve.limits import Limits
from lewa.serve.registry import Registry

ROOT = Path(lewa.__file__).parent
MOST = 25  # files of a POST to `decide`, up to its answer
SETUP = {
    "name": "router",
    "actions": ["a", "b", "c"],
    "constraints": [{"name": "cost", "at_most": 0.4}],
    "learner": "anytime-loss-lewa",
    "seed": 1,
}


async def call(app: Any, path: str, body: Any, key: str) -> int:
    sent: list[dict[str, Any]] = []
    headers = [(b"authorization", f"Bearer {key}".encode())]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "root_path": ""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return int(sent[0]["status"])


def test_a_decision_passes_few_files(tmp_path: Path) -> None:
    files: Counter[str] = Counter()
    counting = [False]

    def count(frame: Any, event: str, _: object) -> None:
        name = Path(frame.f_code.co_filename)
        if event == "call" and counting[0] and name.is_relative_to(ROOT):
            files[str(name.relative_to(ROOT))] += 1

    async def scene() -> None:
        store = open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
        key, stored = make_key("test", SCOPES)
        store.put_api_key(stored)
        registry = Registry(store, Limits(), "here")
        app = App(registry).build()
        await registry.start()
        assert await call(app, "/v1/agents", SETUP, key) == 201
        for n in range(5):
            assert await call(app, "/v1/agents/router/decide", {"key": f"before {n}"}, key) == 200
        counting[0] = True
        assert await call(app, "/v1/agents/router/decide", {"key": "counted"}, key) == 200
        counting[0] = False
        await registry.stop()

    profiles = sys.getprofile(), threading.getprofile()
    threading.setprofile(count)  # for the thread that writes
    sys.setprofile(count)
    try:
        asyncio.run(scene())
    finally:
        sys.setprofile(profiles[0])
        threading.setprofile(profiles[1])
    assert "journal/sqlite.py" in files
    assert len(files) <= MOST, sorted(files)
