"""The verbs over HTTP: what comes back, and what is refused with which sentence."""

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.store import StoreError
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
AGENT = "/v1/agents/router"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path, entries=50, body=20_000) as client:
        assert client.call("POST", "/v1/agents", SETUP)[0] == 201
        yield client


def results(answer: Any) -> list[str]:
    return [entry["result"] for entry in answer["results"]]


def test_one_decision_from_draw_to_story(web: Client) -> None:
    status, made = web.call("POST", f"{AGENT}/decide", {"key": "req-1"})
    assert status == 200
    assert made["decision"] == "router:1"
    assert made["action"] in SETUP["actions"]  # type: ignore[operator]
    assert 0 < made["probability"] <= 1
    assert (made["by"], made["version"]) == ("learner", 1)
    assert web.call("POST", f"{AGENT}/decide", {"key": "req-1"})[1] == made
    one, two = [{"decision": "router:1", "cost": 0.2}], [{"decision": "router:1", "reward": 1}]
    assert results(web.call("POST", f"{AGENT}/feedback", one)[1]) == ["kept"]
    assert results(web.call("POST", f"{AGENT}/feedback", two)[1]) == ["learned"]
    status, story = web.call("GET", f"{AGENT}/decisions/router:1")
    assert (story["state"], story["values"]) == ("answered", {"cost": 0.2, "reward": 1})
    assert [record["kind"] for record in story["records"]] == ["decision", "feedback", "feedback"]
    assert web.call("GET", f"{AGENT}/decisions/1")[1] == story
    assert web.call("GET", f"{AGENT}/decisions/router:2")[0] == 404


def test_one_bad_entry_never_spoils_the_others(web: Client) -> None:
    made = web.call(
        "POST", f"{AGENT}/decide", [{}, {"available": ["nobody"]}, {"what": 1}, 7, {"available": ["large"]}, {}]
    )[1]
    assert ["refused" in one for one in made["decisions"]] == [False, True, True, True, False, False]
    assert [one.get("decision") for one in made["decisions"]] == ["router:1", None, None, None, "router:2", "router:3"]
    told = web.call(
        "POST",
        f"{AGENT}/feedback",
        [
            {"decision": "router:1", "reward": 1, "cost": 0},
            {"decision": "router:1", "reward": 1, "cost": 0},
            {"decision": "router:1", "reward": 0},
            {"decision": "router:77", "reward": 1},
            {"decision": "other:1", "reward": 1},
            {"decision": "router:2", "nothing": 1},
            {"decision": "router:2", "reward": "much"},
            {"decision": "router:2", "reward": [1, 2, 3]},
            {"decision": "router:2"},
            {"reward": 1},
            "router:2",
            {"decision": "router:2", "reward": 1, "cost": 1},
        ],
    )[1]
    expected = ["learned", "same", "conflict", "unknown", "unknown", *["refused"] * 6, "learned"]
    assert results(told) == expected
    assert all("why" in entry for entry in told["results"] if entry["result"] in ("refused", "conflict", "unknown"))


def test_what_comes_after_the_close_is_late_and_counted_once(web: Client) -> None:
    web.call("POST", f"{AGENT}/decide")
    assert results(web.call("POST", f"{AGENT}/close", [{"decision": "router:1"}, {"decision": "router:9"}, {}])[1]) == [
        "closed",
        "unknown",
        "refused",
    ]
    bill = [{"decision": "router:1", "cost": 0.5}]
    assert results(web.call("POST", f"{AGENT}/feedback", bill)[1]) == ["late"]
    assert results(web.call("POST", f"{AGENT}/feedback", bill)[1]) == ["same"]
    web.app.registry.agents["router"].reports.finished.clear()  # as after a restart
    assert results(web.call("POST", f"{AGENT}/feedback", bill)[1]) == ["same"]
    assert results(web.call("POST", f"{AGENT}/feedback", [{"decision": "router:1", "cost": 0.6}])[1]) == ["conflict"]
    status = web.call("GET", f"{AGENT}/status")[1]
    assert (status["filled_in"], status["late_values"]) == (1, {"cost": {"values": 1, "average": 0.5}})


def test_decisions_made_elsewhere_are_taken_over(web: Client) -> None:
    seen = [
        {"action": "small", "probability": 1, "values": {"reward": 1, "cost": 0}, "key": "a"},
        {"action": "small", "probability": 1, "values": {"reward": 1, "cost": 0}, "key": "a"},
        {"action": "large", "probability": 0.5, "propensities": {"large": 0.5, "small": 0.5}},
        {"action": "nobody", "probability": 0.5},
        {"action": "small", "probability": 0},
        {"action": "small", "probability": 0.5},
        {"action": "small", "probability": 0.5, "values": {"fun": 1}},
    ]
    answer = web.call("POST", f"{AGENT}/observe", seen)[1]["observed"]
    assert [one["result"] for one in answer] == ["learned", "same", "kept", "refused", "refused", "kept", "refused"]
    status = web.call("GET", f"{AGENT}/status")[1]
    assert (status["decisions"], status["answered"], status["open"]) == (3, 1, 2)


def test_status_play_and_state_as_they_were(web: Client) -> None:
    for n in range(5):
        web.call("POST", f"{AGENT}/decide")
        web.call("POST", f"{AGENT}/feedback", [{"decision": f"router:{n + 1}", "reward": n / 5, "cost": 0.1}])
    assert web.call("GET", f"{AGENT}/status?at=5")[1]["answered"] == 2
    assert web.call("GET", f"{AGENT}/status?at=99")[0] == 404
    assert web.call("GET", f"{AGENT}/status?at=x")[0] == 400
    before = web.call("GET", f"{AGENT}/state")[1]
    play = web.call("GET", f"{AGENT}/play")[1]["play"]
    assert sum(play.values()) == pytest.approx(1)
    assert web.call("GET", f"{AGENT}/state")[1] == before
    made = web.call("POST", f"{AGENT}/decide")[1]
    assert made["probability"] == play[made["action"]]


def test_the_journal_comes_out_whole(web: Client) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    web.call("POST", f"{AGENT}/decide", [{"key": str(n)} for n in range(10)])
    web.call("POST", f"{AGENT}/feedback", [{"decision": f"router:{n}", "reward": 1, "cost": 0.5} for n in range(1, 9)])
    lines = web.client.get(f"{AGENT}/journal", headers={"Authorization": f"Bearer {web.key}"}).text.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["set", *["decision"] * 10, *["feedback"] * 8]
    some = web.client.get(f"{AGENT}/journal?after=3&limit=4", headers={"Authorization": f"Bearer {web.key}"}).text
    assert [json.loads(line)["seq"] for line in some.splitlines()] == [4, 5, 6, 7]
    content = web.client.get(f"{AGENT}/journal?format=parquet", headers={"Authorization": f"Bearer {web.key}"}).content
    table = pq.read_table(io.BytesIO(content)).to_pydict()
    assert table["reward"] == [1.0] * 8 + [None] * 2
    assert table["key"] == [str(n) for n in range(10)]
    assert web.call("GET", f"{AGENT}/journal?format=csv")[0] == 400


def test_what_other_lines_would_have_been_worth(web: Client) -> None:
    assert web.call("POST", f"{AGENT}/what-if")[0] == 409
    shares = {"safety": {"shares": {"small": 0.2, "medium": 0.2, "large": 0.2}}}
    assert web.call("PATCH", AGENT, shares, If_Match='"1"')[0] == 200
    worth = {"small": (0.3, 0.1), "medium": (0.6, 0.4), "large": (0.9, 0.9)}
    for _ in range(8):
        made = web.call("POST", f"{AGENT}/decide", [{} for _ in range(50)])[1]["decisions"]
        told = [
            dict(zip(("decision", "reward", "cost"), (one["decision"], *worth[one["action"]]), strict=True)) for one in made
        ]
        web.call("POST", f"{AGENT}/feedback", told)
    status, answer = web.call("POST", f"{AGENT}/what-if", {"budgets": [0.2, 0.5]})
    assert status == 200, answer
    assert answer["decisions"] == 400
    assert [point["line"] for point in answer["points"]] == pytest.approx([0.2, 0.5])
    values = [point["best"]["value"] for point in answer["points"]]
    assert values[0] < values[1]
    assert web.call("POST", f"{AGENT}/what-if", {"constraint": "fun"})[0] == 400


def test_changes_need_the_version_they_are_about(web: Client) -> None:
    change = {"answers": {"close_after": "5s"}, "why": "faster answers"}
    assert web.call("PATCH", AGENT, change)[0] == 428
    assert web.call("PATCH", AGENT, change, If_Match='"7"')[0] == 412
    status, view = web.call("PATCH", AGENT, change, If_Match='"1"')
    assert (status, view["version"], view["setup"]["answers"]["close_after"]) == (200, 2, "5s")
    assert web.call("PATCH", AGENT, {"constraints": [{"name": "fun", "at_most": 1}]}, If_Match='"2"')[0] == 400
    empty: list[dict[str, object]] = [{}, {"why": "no reason"}, {"constraints": [], "retire": []}]
    for nothing in empty:
        status, refusal = web.call("PATCH", AGENT, nothing, If_Match='"2"')
        assert (status, "a change needs at least one of constraints, add," in str(refusal)) == (400, True)
    assert web.call("POST", f"{AGENT}/decide")[1]["version"] == 2
    status, view = web.call("DELETE", AGENT)
    assert (status, view["retired"]) == (200, True)
    assert web.call("POST", f"{AGENT}/decide")[0] == 410
    assert results(web.call("POST", f"{AGENT}/feedback", [{"decision": "router:1", "reward": 1, "cost": 0}])[1]) == [
        "learned"
    ]
    assert web.call("POST", "/v1/agents", SETUP)[0] == 409


def test_the_set_up_after_a_retirement_makes_an_agent_again(web: Client) -> None:
    setup, other = {**SETUP, "name": "other", "answers": {"expected": {"cost": [0.1, 0.3, 0.8]}}}, "/v1/agents/other"
    assert web.call("POST", "/v1/agents", setup)[0] == 201
    assert web.call("PATCH", other, {"retire": ["medium"]}, If_Match='"1"')[0] == 200
    narrow = {"constraints": [{"name": "cost", "range": [0, 0.6]}]}
    assert web.call("PATCH", other, narrow, If_Match='"2"')[0] == 200
    current = web.call("GET", other)[1]["setup"]
    assert current["answers"]["expected"] == {"cost": [0.1, 0.6]}
    assert web.call("POST", "/v1/agents", {**current, "name": "again"})[0] == 201


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"actions": []}, "length"),
        ({"actions": ["a", "a"]}, "distinct names"),
        ({"constraints": []}, "length"),
        ({"constraints": [{"name": "cost"}]}, "one of at_most and at_least"),
        ({"constraints": [{"name": "decision", "at_most": 0.5}]}, "got 'decision'"),
        ({"constraints": [{"name": "cost", "at_most": 7}]}, "must lie in its range"),
        ({"learner": "nobody"}, "nobody"),
        ({"name": "a b"}, "name"),
        ({"answers": {"close_after": "soon"}}, "close_after"),
        ({"caps": [{"constraint": "cost", "total": 5}]}, "needs safety.fallback"),
        ({"caps": [{"constraint": "reward", "total": 5}]}, "at_most"),
        ({"safety": {"mode": "off"}}, "needs a fallback"),
        ({"safety": {"mode": "of"}}, "mode"),
        ({"safety": {"shares": {"small": 0.6, "large": 0.6}}}, "sum to less than 1"),
        ({"watchdog": [{"constraint": "cost"}]}, "one of band and debt"),
        ({"watchdog": [{"constraint": "cost", "band": 0.5}]}, "needs safety.fallback"),
        ({"seed": -1}, "seed"),
    ],
)
def test_agents_that_cannot_be(web: Client, change: dict[str, Any], words: str) -> None:
    status, answer = web.call("POST", "/v1/agents", {**SETUP, "name": "other", **change})
    assert status == 400
    assert words in answer["error"]
    assert "\n" not in answer["error"]


def test_keys_allow_what_their_scopes_say(web: Client) -> None:
    assert web.client.get(AGENT).status_code == 401
    assert web.call("GET", AGENT, key="lewa_00000000_wrong")[0] == 401
    assert web.call("GET", AGENT, key=web.key[:-1])[0] == 401
    caller = web.make_key("decide", agents="rout*")
    assert web.call("POST", f"{AGENT}/decide", key=caller)[0] == 200
    assert web.call("POST", f"{AGENT}/feedback", [], key=caller)[0] == 403
    assert web.call("GET", f"{AGENT}/status", key=caller)[0] == 403
    assert web.call("POST", "/v1/agents", {**SETUP, "name": "rout2"}, key=caller)[0] == 403
    stranger = web.make_key("decide", agents="else*")
    assert web.call("POST", f"{AGENT}/decide", key=stranger)[0] == 403
    admin = web.make_key("admin", agents="rout*")
    assert web.call("POST", "/v1/agents", {**SETUP, "name": "foreign"}, key=admin)[0] == 403
    assert web.call("GET", "/v1/agents", key=web.make_key("read", agents="x*"))[1] == {"agents": []}
    stored = web.app.registry.store.api_keys()
    assert all(web.key.split("_", 2)[2] not in str(key) for key in stored)


def test_limits(web: Client) -> None:
    slow = web.make_key("decide", rate=1)
    assert web.call("POST", f"{AGENT}/decide", key=slow)[0] == 200
    answer = web.client.post(f"{AGENT}/decide", headers={"Authorization": f"Bearer {slow}"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert web.call("POST", f"{AGENT}/decide", [{}] * 51)[0] == 413
    assert web.call("POST", f"{AGENT}/decide", b" " * 20_001)[0] == 413
    assert web.call("POST", "/v1/agents", {**SETUP, "name": "x", "actions": [str(n) for n in range(1001)]})[0] == 413
    web.app.registry.writer.lag = lambda: 2.0  # type: ignore[method-assign]
    answer = web.client.post(f"{AGENT}/decide", headers={"Authorization": f"Bearer {web.key}"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert web.client.get("/ready").status_code == 503


def test_without_a_key(web: Client) -> None:
    assert web.client.get("/live").status_code == 200
    assert web.client.get("/ready").status_code == 200
    web.call("POST", f"{AGENT}/decide")
    metrics = web.client.get("/metrics").text
    for name in (
        "lewa_decisions_total",
        "lewa_open",
        "lewa_line_limit",
        "lewa_commit_seconds_count",
        "lewa_price",
        "lewa_queue",
    ):
        assert f"\n{name}" in metrics, name
    description = web.client.get("/openapi.json").json()
    assert description["openapi"] == "3.1.0"
    assert set(description["paths"]["/v1/agents/{name}"]) == {"get", "patch", "delete"}
    assert web.client.get("/nothing").json() == {"error": "there is nothing at this address"}
    assert web.client.put(AGENT).status_code == 405


def test_log_lines_are_json_without_secrets_or_contexts(web: Client, capsys: pytest.CaptureFixture[str]) -> None:
    web.call("POST", f"{AGENT}/decide", {"context": {"user": "private"}, "available": ["nobody"]})
    web.call("GET", AGENT, key="lewa_1_secretsecret")
    lines = capsys.readouterr().err.splitlines()
    assert lines
    for line in lines:
        assert set(json.loads(line)) >= {"at", "event"}
        assert "private" not in line
        assert "secretsecret" not in line
        assert web.key.split("_", 2)[2] not in line


def test_a_store_that_fails_is_503_and_comes_back(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real, left = web.app.registry.store.commit, [1]

    def commit(batch: Any) -> Any:
        if left:
            left.pop()
            raise StoreError("the store did not commit: disk I/O error")
        return real(batch)

    monkeypatch.setattr(web.app.registry.store, "commit", commit)
    assert web.call("POST", f"{AGENT}/decide")[0] == 503
    for _ in range(3000):  # while it reads its journal again, which takes longer on a busy machine
        status, made = web.call("POST", f"{AGENT}/decide")
        if status == 200:
            break
        time.sleep(0.01)
    assert made["decision"].endswith("-1")  # with a tag, as the journal was read again


def test_the_sum_in_the_journal_is_the_sum_told(tmp_path: Path) -> None:
    """Lost settlement, double delivery and a restart in between: what counters of budgets get wrong."""
    total = 0.0
    for life in range(3):
        with service(tmp_path) as web:
            if life == 0:
                web.call("POST", "/v1/agents", SETUP)
            made = web.call("POST", f"{AGENT}/decide", [{} for _ in range(30)])[1]["decisions"]
            bills = [{"decision": one["decision"], "reward": 1, "cost": n / 30} for n, one in enumerate(made)]
            for _ in range(2):  # the queue delivers everything twice
                web.call("POST", f"{AGENT}/feedback", bills[:20])  # ten bills never come
            web.call("POST", f"{AGENT}/close", [{"decision": one["decision"]} for one in made[20:25]])
            web.call("POST", f"{AGENT}/feedback", bills[20:25])  # five come after the close
            total += sum(bill["cost"] for bill in bills[:25])
            lines = web.client.get(f"{AGENT}/journal", headers={"Authorization": f"Bearer {web.key}"}).text.splitlines()
            bodies = [json.loads(line) for line in lines]
            told = [record["body"]["cost"] for record in bodies if record["kind"] in ("feedback", "late")]
            assert sum(told) == pytest.approx(total, abs=1e-12)
            status = web.call("GET", f"{AGENT}/status")[1]
            late = status["late_values"]["cost"]
            counted = status["constraints"][0]["average"] * status["answered"] + late["average"] * late["values"]
            assert counted == pytest.approx(total)
            assert status["open"] == 5 * (life + 1)


def test_rules_and_board_name_metrics_that_exist(web: Client) -> None:
    import re

    rules = {"caps": [{"constraint": "cost", "total": 5}], "watchdog": [{"constraint": "cost", "debt": 1e6}]}
    assert web.call("PATCH", AGENT, {"safety": {"fallback": "small"}, **rules}, If_Match='"1"')[0] == 200
    web.call("POST", f"{AGENT}/decide")
    web.call("POST", f"{AGENT}/feedback", [{"decision": "router:1", "reward": 1, "cost": 0.5}])
    text, deadline = web.client.get("/metrics").text, time.monotonic() + 30
    while "\nlewa_line_average" not in text and time.monotonic() < deadline:  # a status may be a second old
        time.sleep(0.1)
        text = web.client.get("/metrics").text
    folder = Path(__file__).parents[2] / "deploy"
    for file in (folder / "alerts.yml", folder / "grafana" / "lewa.json"):
        for name in set(re.findall(r"\blewa_[a-z_]+", file.read_text())):
            assert f"\n{name}" in text, f"{file.name} names {name}"


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/decide", b'{"key": "\xff"}', "the body does not fit: it is not UTF-8"),
        ("/decide", b'{"key": "a\\nb"}', "the body does not fit: Expected `str` without control characters - at `$.key`"),
        (
            "",
            {**SETUP, "name": "<script>"},
            "of 1 to 64 letters, digits and . _ -, with a letter or a digit first - at `$.name`",
        ),
        ("", {**SETUP, "keys_for": "5y"}, "Expected `str` like 90s, 30m, 24h or 7d - at `$.keys_for`"),
    ],
)
def test_what_does_not_fit_is_said_without_a_pattern(web: Client, path: str, body: Any, sentence: str) -> None:
    status, answer = web.call("POST", f"{AGENT}{path}" if path else "/v1/agents", body)
    assert status == 400
    assert answer["error"].endswith(sentence)


def test_an_entry_of_a_list_is_refused_without_a_pattern(web: Client) -> None:
    made = web.call("POST", f"{AGENT}/decide", [{"key": "a\nb"}, {}])[1]["decisions"]
    assert made[0] == {"refused": "Expected `str` without control characters - at `$.key`", "index": 0}
    assert made[1]["decision"] == "router:1"
