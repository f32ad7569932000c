"""What a restart must not lose, and what it must not take from a clock that was wrong."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from lewa.serve.caps import Spending
from lewa.serve.events import Events
from lewa.serve.fold import Fold
from lewa.serve.schema import Cap
from lewa.serve.served import load
from lewa.serve.store import BusyError, open_store
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"
HOUR = 3_600_000_000  # microseconds


def play(web: Client, rounds: int) -> None:
    for _ in range(rounds):
        made = web.call("POST", f"{AGENT}/decide")[1]
        web.call("POST", f"{AGENT}/feedback", [{"decision": made["decision"], "reward": 1, "cost": 0.2}])


def shares(web: Client) -> list[float]:
    text = web.client.get("/metrics").text
    return [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("lewa_probability{")]


def history(web: Client) -> dict[str, Any]:
    hosted = web.app.host.agents["router"].hosted
    return {"points": hosted.history.points, "marks": hosted.history.marks}


def test_the_page_goes_on_after_a_restart(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        play(web, 3)
        change = {"lines": [{"name": "cost", "at_most": 0.3}], "why": "dear"}
        assert web.call("PATCH", AGENT, change, If_Match='"1"')[0] == 200
        events: Events = web.app.events
        served = web.app.host.agents["router"]
        served.hosted.history.add(events.point(served))
        before, drawn = history(web), shares(web)
        reward = served.hosted.recent.reward()
    assert sum(drawn) == pytest.approx(1)
    with service(tmp_path) as web:
        assert history(web)["marks"] == before["marks"]
        assert history(web)["points"][: len(before["points"])] == before["points"]
        assert [mark["why"] for mark in before["marks"]] == ["dear"]
        assert shares(web) == drawn
        assert web.app.host.agents["router"].hosted.recent.reward() == reward


def test_without_a_snapshot_the_journal_gives_the_page_again(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        for n in range(4):
            web.app.host._clock += 10  # the clock of the service, in seconds
            play(web, 1)
            assert web.call("PATCH", AGENT, {"keys_for": "48h"}, If_Match=f'"{n + 1}"')[0] == 200
        marks, drawn = history(web)["marks"], shares(web)
        web.app.host.store._write.execute("DELETE FROM snapshots")  # type: ignore[attr-defined]
        store = web.app.host.store
        hosted, *_ = load(store, 1, drawn=True)
        plain, *_ = load(store, 1)
    assert hosted.history.marks == marks
    assert len(marks) == 4
    assert [point["decisions"] for point in hosted.history.points] == [0, 1, 2, 3, 4]
    assert hosted.recent.shares() == drawn
    assert not plain.history.points
    assert plain.hash() == hosted.hash()


def test_a_clock_that_was_fast_delays_nothing_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten hours fast, corrected, restarted: old and new decisions are closed in time, and caps and keys go on."""
    right = time.time
    setup = {**SETUP, "answers": {"close_after": "1h"}}
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: right() + 36000)
        with service(tmp_path) as web:
            web.call("POST", "/v1/agents", setup)
            old = web.call("POST", f"{AGENT}/decide", {"key": "k"})[1]
            assert old["close_at"] > right() + 36000
    with service(tmp_path) as web:
        new = web.call("POST", f"{AGENT}/decide")[1]
        assert abs(new["close_at"] - right() - 3600) < 1000
        same = web.call("POST", f"{AGENT}/decide", {"key": "k"})[1]
        assert same["decision"] == old["decision"]
        assert abs(same["close_at"] - right() - 3600) < 1000
        assert web.pass_time("router", HOUR // 2) == []
        assert web.pass_time("router", 2 * HOUR) == [1, 2]
        assert max(point["at"] for point in (*history(web)["points"], {"at": 0})) < right() + 1000
    with service(tmp_path) as web:  # the journal, whose times go back once, is replayed as it was made
        assert web.call("GET", f"{AGENT}/status")[1]["open"] == 0


def test_ages_follow_the_order_of_decisions(tmp_path: Path) -> None:
    """Of two clocks the first was fast: a decision is not younger than the one after it."""
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        web.call("POST", f"{AGENT}/decide", [{}, {}, {}])
        fold: Fold = web.app.host.agents["router"].hosted
        for decision, at in zip(fold.open.values(), (5 * HOUR, HOUR, 9 * HOUR), strict=True):
            decision.at = at
        fold.begin_at(7 * HOUR)
        assert [decision.since for decision in fold.open.values()] == [HOUR, HOUR, 7 * HOUR]


def test_a_cap_is_neither_stuck_nor_forgotten_when_the_clock_goes_back() -> None:
    spending = Spending(Cap("cost", 1.0, "hour"))
    spending.decided(1, 0, 5 * HOUR, 0.75)  # the clock is ahead
    spending.settle(1, 0.75)
    assert not spending.fits(0.5, 2 * HOUR)  # corrected: what was spent a moment ago still counts
    spending.decided(2, 0, 2 * HOUR, 0.25)
    assert (spending.spent, spending.reserved) == (0.75, 0.25)
    assert spending.fits(1.0, 3 * HOUR)  # and the next hour comes when it comes


def test_a_link_to_a_store_is_that_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    store = open_store(url, serving=True)
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "store.sqlite3", tmp_path / "elsewhere" / "link.sqlite3")
    with pytest.raises(BusyError, match="another server has"):
        open_store(f"sqlite:///{tmp_path}/elsewhere/link.sqlite3", serving=True)
    store.close()
    open_store(f"sqlite:///{tmp_path}/elsewhere/link.sqlite3", serving=True).close()
