"""What a restart must not lose, and what it must not take from a clock that was wrong."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.sqlite import Claim
from lewa.journal.store import BusyError, StoreError, open_store
from lewa.serve.caps import Spending
from lewa.serve.events import Events
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.reading import recent_reward, recent_shares
from lewa.serve.schema import Cap
from lewa.serve.storage import begin_at, load, state_hash
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
    hosted = web.app.registry.agents["router"]
    return {"points": hosted.history.points, "marks": hosted.history.marks}


def test_the_page_goes_on_after_a_restart(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        play(web, 3)
        change = {"constraints": [{"name": "cost", "at_most": 0.3}], "why": "dear"}
        assert web.call("PATCH", AGENT, change, If_Match='"1"')[0] == 200
        events: Events = web.app.events
        hosted = web.app.registry.agents["router"]
        hosted.history.add(events.point(hosted))
        before, drawn = history(web), shares(web)
        reward = recent_reward(hosted)
    assert sum(drawn) == pytest.approx(1)
    with service(tmp_path) as web:
        assert history(web)["marks"] == before["marks"]
        assert history(web)["points"][: len(before["points"])] == before["points"]
        assert [mark["why"] for mark in before["marks"]] == ["dear"]
        assert shares(web) == drawn
        assert recent_reward(web.app.registry.agents["router"]) == reward


def test_an_agent_that_comes_back_is_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who began to listen while another replica had it would hear nothing of it until its next record."""
    monkeypatch.setattr("lewa.serve.events.EVERY", 0.01)
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)

        async def listen() -> list[str]:
            queue: asyncio.Queue[Any] = asyncio.Queue()
            web.app.events._listeners.add(queue)
            heard = []
            for _ in range(2):
                web.app.registry.agents["router"].epoch += 1  # the same records, a new lease
                heard.append((await asyncio.wait_for(queue.get(), 60))["agent"])
            web.app.events._listeners.discard(queue)
            return heard

        assert web.client.portal is not None
        assert web.client.portal.call(listen) == ["router", "router"]


def test_without_a_snapshot_the_journal_gives_the_page_again(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        for n in range(4):
            web.app.registry._clock += 10  # the clock of the service, in seconds
            play(web, 1)
            assert web.call("PATCH", AGENT, {"keys_for": "48h"}, If_Match=f'"{n + 1}"')[0] == 200
        marks, drawn = history(web)["marks"], shares(web)
        web.app.registry.store._write.execute("DELETE FROM snapshots")  # type: ignore[attr-defined]
        store = web.app.registry.store
        hosted, plain = load(store, 1, drawn=True), load(store, 1)
    assert hosted.history.marks == marks
    assert len(marks) == 4
    assert [point["decisions"] for point in hosted.history.points] == [0, 1, 2, 3, 4]
    assert recent_shares(hosted) == drawn
    assert not plain.history.points
    assert state_hash(plain) == state_hash(hosted)


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
        assert same == old  # the first answer, with what it said of the time
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
        fold: HostedAgent = web.app.registry.agents["router"]
        for decision, at in zip(fold.reports.open.values(), (5 * HOUR, HOUR, 9 * HOUR), strict=True):
            decision.at = at
        begin_at(fold, 7 * HOUR)
        assert [decision.since for decision in fold.reports.open.values()] == [HOUR, HOUR, 7 * HOUR]


def test_a_cap_is_neither_stuck_nor_forgotten_when_the_clock_goes_back() -> None:
    spending = Spending(Cap("cost", 1.0, "hour"))
    spending.decided(1, 0, 5 * HOUR, 0.75)  # the clock is ahead
    spending.settle(1, 0.75)
    assert not spending.fits(0.5, 2 * HOUR)  # corrected: what was spent a moment ago still counts
    spending.decided(2, 0, 2 * HOUR, 0.25)
    assert (spending.spent, spending.reserved) == (0.75, 0.25)
    assert spending.fits(1.0, 3 * HOUR)  # and the next hour comes when it comes


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_repeated_key_gets_the_first_answer_byte_for_byte(tmp_path: Path, snapshot: bool) -> None:
    """The limit, a range, the timeout, the actions and the mode change: what was answered stays as it was."""
    setup = {**SETUP, "safety": {"fallback": "small"}}
    changes: list[dict[str, Any]] = [
        {"constraints": [{"name": "cost", "at_most": 0.3, "range": [0, 2]}]},
        {"answers": {"close_after": "1h"}},
        {"add": [{"name": "huge"}]},
        {"answers": {"close_after": None}, "safety": {"mode": "shadow"}},
        {"retire": ["large"]},
    ]

    def ask(web: Client, key: str) -> bytes:
        head = {"Authorization": f"Bearer {web.key}"}
        return web.client.post(f"{AGENT}/decide", json={"key": key}, headers=head).content

    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", setup)
        play(web, 30)
        first = {"0": ask(web, "0")}
        for n, change in enumerate(changes, 1):
            assert web.call("PATCH", AGENT, change, If_Match=f'"{n}"')[0] == 200
            first[str(n)] = ask(web, str(n))
            assert {key: ask(web, key) for key in first} == first
        web.call("POST", f"{AGENT}/close", [{"decision": "router:31"}])
        assert {key: ask(web, key) for key in first} == first
    with service(tmp_path) as web:
        if not snapshot:
            web.app.registry.store._write.execute("DELETE FROM snapshots")  # type: ignore[attr-defined]
            hosted = load(web.app.registry.store, 1)
            assert hosted.terms == web.app.registry.agents["router"].terms
        assert {key: ask(web, key) for key in first} == first


def test_an_answer_has_the_version_that_it_was_drawn_under(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that comes while a decision is written does not date the answer forward."""
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        hosted = web.app.registry.agents["router"]
        append = web.app.registry.append

        async def slow(*parts: Any) -> None:
            await append(*parts)
            hosted._change({"changes": []})

        monkeypatch.setattr(web.app.registry, "append", slow)
        assert web.call("POST", f"{AGENT}/decide", {"key": "k"})[1]["version"] == 1
        assert hosted.version == 2


def test_a_link_to_a_store_is_that_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    store = open_store(url, serving=True)
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "store.sqlite3", tmp_path / "elsewhere" / "link.sqlite3")
    with pytest.raises(BusyError, match="another server has"):
        open_store(f"sqlite:///{tmp_path}/elsewhere/link.sqlite3", serving=True)
    store.close()
    open_store(f"sqlite:///{tmp_path}/elsewhere/link.sqlite3", serving=True).close()


@pytest.mark.parametrize("serving", [True, False])
def test_a_store_with_two_names_is_refused(tmp_path: Path, serving: bool) -> None:
    """SQLite's log lies beside the name: under the other name what was committed last would be missing."""
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    os.link(tmp_path / "store.sqlite3", tmp_path / "other.sqlite3")
    for name in ("store", "other"):
        with pytest.raises(BusyError, match=f"{name}.sqlite3 has 2 names .hard links."):
            open_store(f"sqlite:///{tmp_path}/{name}.sqlite3", serving=serving)
    store.check()
    store.close()
    (tmp_path / "other.sqlite3").unlink()
    open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=serving).close()


def test_what_is_no_store_is_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, but a text that is longer than the header of one\n" * 9)
    for _ in range(2):
        with pytest.raises(StoreError, match="is not a store"):
            open_store(f"sqlite:///{tmp_path}/text", serving=True)
    with pytest.raises((StoreError, OSError), match=r"is not a store|directory"):
        open_store(f"sqlite:///{tmp_path}", serving=True)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="it reads the locks of a file, as Linux lists them")
def test_a_store_that_was_moved_under_its_server_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim follows the file, in this process and in another, and SQLite has its own locks as before."""
    url, moved = f"sqlite:///{tmp_path}/store.sqlite3", f"sqlite:///{tmp_path}/moved.sqlite3"
    store = open_store(url, serving=True)
    os.rename(tmp_path / "store.sqlite3", tmp_path / "moved.sqlite3")
    before = locks(tmp_path / "moved.sqlite3")
    assert [lock for lock in before if lock.startswith("POSIX")]
    with pytest.raises(BusyError, match="another server has"):
        open_store(moved, serving=True)
    assert locks(tmp_path / "moved.sqlite3") == before
    with monkeypatch.context() as another:  # as a process that has no such list finds it
        another.setattr(Claim, "_files", set())
        with pytest.raises(BusyError, match="another server has"):
            open_store(moved, serving=True)
    store.close()
    open_store(moved, serving=True).close()


def locks(file: Path) -> list[str]:
    """Return the locks on a file, as Linux has them: the kind, whether to read or to write, and the range."""
    number = f":{file.stat().st_ino}"
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sorted(f"{line[1]} {line[3]} {line[6]}-{line[7]}" for line in lines if line[5].endswith(number))
