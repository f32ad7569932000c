"""Modes, exposure, minimum shares, caps and the watchdog: in the recorded propensity, and in the journal."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.store import open_store
from lewa.serve.archive import export_lines, import_lines, verify
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
AGENT = "/v1/agents/router"
COST = {"small": 0.0, "medium": 0.5, "large": 1.0}
SAFE = {**SETUP, "safety": {"fallback": "small"}}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        yield client


def change(web: Client, **wanted: Any) -> Any:
    version = web.call("GET", AGENT)[1]["version"]
    status, view = web.call("PATCH", AGENT, wanted, If_Match=f'"{version}"')
    assert status == 200, view
    return view


def decide(web: Client, count: int = 1, **query: Any) -> list[Any]:
    made = web.call("POST", f"{AGENT}/decide", [query] * count)[1]["decisions"]
    for one in made:
        assert one["propensities"][one["action"]] == pytest.approx(one["probability"])
        assert sum(one["propensities"].values()) == pytest.approx(1)
    return list(made)


def tell(web: Client, made: list[Any]) -> None:
    told = [{"decision": one["decision"], "reward": 0.5, "cost": COST[one["action"]]} for one in made]
    results = web.call("POST", f"{AGENT}/feedback", told)[1]["results"]
    assert {one["result"] for one in results} <= {"learned", "late"}


def sound(web: Client, folder: Path) -> None:
    """Replay the journal, and once more what `journal export` writes of it."""
    store, state = web.app.registry.store, web.call("GET", f"{AGENT}/state")[1]["sha256"]
    assert verify(store, store.agents()[0]).sha256 == state
    copy = open_store(f"sqlite:///{folder}/copy.sqlite3")
    import_lines(copy, export_lines(store, 1))
    assert verify(copy, copy.agents()[0]).sha256 == state
    copy.close()


def test_every_mode_is_in_the_propensity_and_in_the_journal(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", {**SAFE, "safety": {"fallback": "small", "mode": "shadow"}})[0] == 201
    for mode, by in (("shadow", "fallback"), ("off", "fallback"), ("frozen", "learner"), ("live", "learner")):
        if mode != "shadow":
            assert change(web, safety={"mode": mode}, why=f"try {mode}")["setup"]["safety"].get("mode", "live") == mode
        made = decide(web, 5)
        assert all(one["by"] == by for one in made)
        if by == "fallback":
            assert {(one["action"], one["probability"]) for one in made} == {("small", 1.0)}
        play = web.call("GET", f"{AGENT}/play")[1]
        assert (play["play"] == play["learner"]) == (by == "learner")
        tell(web, made)
    story = web.call("GET", f"{AGENT}/status")[1]["changes"]
    assert [(one["what"], one["value"]) for one in story[-3:]] == [("mode", "off"), ("mode", "frozen"), ("mode", "live")]
    assert story[-1]["why"] == "try live"
    assert story[-1]["who"]
    sound(web, tmp_path)


def test_exposure_and_minimum_shares_bound_every_propensity_from_below(web: Client, tmp_path: Path) -> None:
    safety = {"fallback": "small", "exposure": 0.5, "shares": {"large": 0.2}}
    assert web.call("POST", "/v1/agents", {**SETUP, "safety": safety})[0] == 201
    for _ in range(4):
        made = decide(web, 10)
        for one in made:  # p = e (f + (1 - f) q) + (1 - e) [small]
            assert one["propensities"]["large"] >= 0.5 * 0.2 - 1e-12
            assert one["propensities"]["small"] >= 0.5 - 1e-12
        tell(web, made)
    change(web, safety={"exposure": 1, "shares": {"large": 0, "medium": 0.1}})
    safety = web.call("GET", AGENT)[1]["setup"]["safety"]
    assert (safety["shares"], safety.get("exposure", 1.0)) == ({"medium": 0.1}, 1.0)
    assert all(one["propensities"]["medium"] >= 0.1 - 1e-12 for one in decide(web, 5))
    sound(web, tmp_path)


def test_lines_and_actions_change_live_and_whole_or_not_at_all(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", SAFE)[0] == 201
    tell(web, decide(web, 20))
    debt = web.call("GET", f"{AGENT}/status")[1]["constraints"][0]["debt"]
    before = web.call("GET", f"{AGENT}/state")[1]
    half = {"constraints": [{"name": "cost", "at_most": 0.2}], "retire": ["nobody"]}
    assert web.call("PATCH", AGENT, half, If_Match='"1"')[0] == 400
    assert web.call("GET", f"{AGENT}/state")[1] == before
    view = change(
        web, constraints=[{"name": "cost", "at_most": 1.5, "range": [0, 2]}], add=[{"name": "huge", "like": "large"}]
    )
    assert view["setup"]["constraints"] == [{"name": "cost", "at_most": 1.5, "range": [0, 2]}]
    assert view["setup"]["actions"] == ["small", "medium", "large", "huge"]
    assert web.call("GET", f"{AGENT}/status")[1]["constraints"][0]["debt"] == pytest.approx(debt)  # what was owed stays owed
    COST["huge"] = 2.0
    tell(web, decide(web, 20))
    assert change(web, retire=["medium"])["setup"]["actions"] == ["small", "large", "huge"]
    made = decide(web, 20)
    assert all(one["action"] != "medium" for one in made)
    again = {"add": [{"name": "medium"}]}
    status, answer = web.call("PATCH", AGENT, again, If_Match='"3"')
    assert (status, "cannot be used again" in answer["error"]) == (400, True)
    tell(web, made)
    sound(web, tmp_path)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bills_of_a_period_never_come_to_more_than_the_cap(web: Client, tmp_path: Path, seed: int) -> None:
    """Told late, twice, after the close or never; the fallback costs nothing."""
    rng = random.Random(seed)
    cap = {"constraint": "cost", "total": 10, "per": "week", "worst": {"small": 0.0, "medium": 0.5}}
    assert web.call("POST", "/v1/agents", {**SAFE, "caps": [cap]})[0] == 201
    told, by = 0.0, set()
    waiting: list[Any] = []
    for _ in range(15):
        made = decide(web, rng.randrange(1, 6))
        by |= {one["by"] for one in made}
        waiting += made
        rng.shuffle(waiting)
        some, waiting = waiting[:3], waiting[3:]
        web.call("POST", f"{AGENT}/close", [{"decision": one["decision"]} for one in some if rng.random() < 0.3])
        tell(web, some)
        told += sum(COST[one["action"]] for one in some)
        [stands] = web.call("GET", f"{AGENT}/status")[1]["caps"]
        assert stands["spent"] == pytest.approx(told)
        assert stands["spent"] + stands["reserved"] <= 10 + 1e-9
        assert stands["until"] > time.time()
    assert told + sum(COST[one["action"]] for one in waiting) <= 10 + 1e-9
    assert by == {"learner"}  # the one that costs nothing always fits
    sound(web, tmp_path)
    change(web, caps=[{**cap, "total": 1000}], why="more money")
    [stands] = web.call("GET", f"{AGENT}/status")[1]["caps"]
    assert stands["spent"] == pytest.approx(told)  # a larger cap forgets nothing
    assert {one["by"] for one in decide(web, 20)} == {"learner"}


def test_a_reservation_counts_until_the_bill_comes(web: Client) -> None:
    assert (
        web.call(
            "POST", "/v1/agents", {**SAFE, "caps": [{"constraint": "cost", "total": 1, "per": "day", "trust_reserve": True}]}
        )[0]
        == 201
    )
    made = decide(web, 2, reserve={"cost": 0.5})
    assert [one["by"] for one in [*made, *decide(web)]] == ["learner", "learner", "cap"]
    web.call("POST", f"{AGENT}/feedback", [{"decision": made[0]["decision"], "cost": 0.1}])
    [stands] = web.call("GET", f"{AGENT}/status")[1]["caps"]
    assert (stands["spent"], stands["reserved"]) == (pytest.approx(0.1), pytest.approx(1.5))  # the cap's own decision too
    refused = web.call("POST", f"{AGENT}/decide", {"reserve": {"fun": 1}})
    assert (refused[0], "reserve must map" in refused[1]["error"]) == (400, True)
    refused = web.call("POST", f"{AGENT}/decide", {"available": ["large"]})
    assert (refused[0], "a cap is spent" in refused[1]["error"]) == (400, True)


@pytest.mark.parametrize(("rule", "words"), [({"debt": 5.0}, "debt"), ({"band": 0.45}, "band")])
def test_the_watchdog_switches_off_by_a_record(web: Client, tmp_path: Path, rule: Any, words: str) -> None:
    watched = {**SAFE, "constraints": [{"name": "cost", "at_most": 0.4}], "watchdog": [{"constraint": "cost", **rule}]}
    assert web.call("POST", "/v1/agents", watched)[0] == 201
    for _ in range(4):  # whatever is drawn costs everything
        made = decide(web, 100)
        web.call("POST", f"{AGENT}/feedback", [{"decision": one["decision"], "reward": 1, "cost": 1} for one in made])
    for _ in range(100):
        if web.call("GET", AGENT)[1]["setup"]["safety"].get("mode") == "off":
            break
        time.sleep(0.05)
    last = web.call("GET", f"{AGENT}/status")[1]["changes"][-1]
    assert (last["what"], last["value"], last["who"]) == ("mode", "off", "watchdog")
    assert words in last["why"]
    assert {(one["action"], one["probability"]) for one in decide(web, 5)} == {("small", 1.0)}
    lines = web.client.get(f"{AGENT}/journal", headers={"Authorization": f"Bearer {web.key}"}).text.splitlines()
    assert [one["body"]["who"] for one in map(json.loads, lines) if one["kind"] == "change"] == ["watchdog"]
    sound(web, tmp_path)


def test_a_governed_agent_with_a_context_replays_too(web: Client, tmp_path: Path) -> None:
    columns = [
        {"kind": "number", "name": "tokens", "range": [0, 100]},
        {"kind": "category", "name": "kind", "levels": ["a", "b"]},
    ]
    assert web.call("POST", "/v1/agents", {**SETUP, "context": columns, "safe": "small"})[0] == 201
    for n in range(20):
        made = decide(web, 3, context={"tokens": 5 * n, "kind": "ab"[n % 2]})
        tell(web, made)
    refused = web.call("POST", f"{AGENT}/decide", {"context": {"tokens": "many"}})
    assert (refused[0], "tokens" in refused[1]["error"]) == (400, True)
    assert web.call("POST", f"{AGENT}/decide")[0] == 200  # nothing is known of it
    sound(web, tmp_path)
    status, answer = web.call("POST", "/v1/agents", {**SETUP, "name": "other", "context": [{"kind": "number", "name": "x"}]})
    assert (status, "does not fit" in answer["error"]) == (400, True)
