"""The commands beside the server: keys, agents, journals; and what is said when something is missing."""

import json
from pathlib import Path

import pytest

from tests.serve.inside import Command, service
from tests.serve.running import SETUP

pytestmark = [pytest.mark.filterwarnings("ignore:overflow"), pytest.mark.slow]


def test_keys_agents_and_journals(tmp_path: Path, lewa: Command) -> None:
    url, copy = f"sqlite:///{tmp_path}/store.sqlite3", f"sqlite:///{tmp_path}/copy.sqlite3"
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        web.call("POST", "/v1/agents/router/decide", [{}, {"key": "k"}])
        web.call("POST", "/v1/agents/router/feedback", [{"decision": "router:1", "reward": 1, "cost": 0}])
        key = lewa("keys", "add", "--scope", "decide", "--agents", "router", "--label", "app", "--store", url).strip()
        web.app.registry.keys.replace(web.app.registry.store.api_keys())  # a running server does so every two seconds
        assert web.call("POST", "/v1/agents/router/decide", key=key)[0] == 200
        state = web.call("GET", "/v1/agents/router/state")[1]
    listed = json.loads(lewa("keys", "list", "--json", "--store", url))
    number = next(one["id"] for one in listed if one["label"] == "app")
    assert key.split("_")[1] == number
    assert "sha256" not in listed[0]
    lewa("keys", "revoke", number, "--store", url)
    assert "no active key" in lewa("keys", "revoke", number, "--store", url, status=2)
    agents = json.loads(lewa("agents", "--json", "--store", url))
    assert [(one["name"], one["records"]) for one in agents] == [("router", state["seq"])]
    verdict = json.loads(lewa("journal", "verify", "--json", "--store", url))
    assert (verdict[0]["sha256"], verdict[0]["problem"]) == (state["sha256"], None)
    lewa("journal", "export", "router", "--out", str(tmp_path / "router.ndjson"), "--store", url)
    lewa("journal", "import", str(tmp_path / "router.ndjson"), "--store", copy)
    assert json.loads(lewa("journal", "verify", "--json", "--store", copy)) == [{**verdict[0], "snapshots": 0}]


def test_bad_input_is_one_sentence(tmp_path: Path, lewa: Command) -> None:
    for arguments in (
        ("agents", "--store", f"sqlite:///{tmp_path}/none.sqlite3"),
        ("serve", "--store", "mysql://x"),
        ("serve", "--store", f"sqlite:///{tmp_path}/no/folder/x.sqlite3"),
        ("serve", "--store", "postgresql://127.0.0.1:1/none", "--port", "0"),
        ("journal", "import", str(tmp_path / "none"), "--store", f"sqlite:///{tmp_path}/x.sqlite3"),
    ):
        sentence = lewa(*arguments, status=2)
        assert sentence.startswith("lewa: ")
        assert sentence.strip().count("\n") == 0, sentence


def test_a_damaged_key_is_refused_with_a_sentence(tmp_path: Path, lewa: Command) -> None:
    import sqlite3

    url = f"sqlite:///{tmp_path}/store.sqlite3"
    with service(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'api_keys'")
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("UPDATE api_keys SET rate = NULL")
    assert "store.sqlite3 is damaged: a key cannot be read" in lewa("keys", "list", "--store", url, status=2)


def test_a_tampered_journal_is_found(tmp_path: Path, lewa: Command) -> None:
    import sqlite3

    with service(tmp_path, snapshot_every=5) as web:
        web.call("POST", "/v1/agents", SETUP)
        for n in range(1, 5):
            web.call("POST", "/v1/agents/router/decide")
            web.call("POST", "/v1/agents/router/feedback", [{"decision": f"router:{n}", "reward": 1, "cost": 0.5}])
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("""UPDATE journal SET body = '{"reward":1.0,"cost":0.4}' WHERE seq = 3""")
        connection.commit()
        verify = "journal", "verify", "--store", f"sqlite:///{tmp_path}/store.sqlite3"
        assert "the checksum of record 3 does not match" in lewa(*verify, status=1)
        connection.execute("UPDATE journal SET checksum = NULL")  # as in a store of before
    connection.close()
    assert "differs from the replay of the records" in lewa(*verify, status=1)
