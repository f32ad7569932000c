"""The journal of an agent: every acknowledged record, in order, whatever happens to the process."""

import json
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.kill_loop import kill_loop

import lewa
from lewa import Agent, at_most
from lewa.agent import Decision, Feedback, Record, StoppedError, read_journal, record
from lewa.agent.compact import from_text, to_text
from lewa.agent.rule_version import explain_misfit, rule_version
from lewa.version import __version__

ASSETS = Path(__file__).parents[1] / "assets"
KILLS = int(os.environ.get("LEWA_KILLS", "4"))


def fresh(learner: str = "anytime-loss-lewa", **more: Any) -> Agent:
    made = {"seed": 0, **more}
    return Agent(["x", "y", "z"], [at_most("cost", 0.4)], learner=learner, horizon=1000, name="router", **made)


def live(agent: Agent, rounds: int, seed: int = 0) -> list[Record]:
    """Let an agent see masks, parts, late answers, ends and changes."""
    dice, records = np.random.default_rng(seed), list[Record]()
    for _ in range(rounds):
        decision = agent.pull(available=["x", "z"] if dice.random() < 0.1 else None)
        records.append(decision)
        u, v, w = dice.random(3).tolist()
        if w < 0.6:
            records.append(agent.update(decision, reward=u, cost=v))
        elif w < 0.8:
            records.append(agent.update(decision, cost=v))
        elif w < 0.9:
            records.append(agent.close(decision))
        elif w < 0.95:
            records.append(agent.set_limit("cost", 0.3 + 0.2 * u, who="ops", why="ümlaut"))
    return records


def chained(bodies: Iterable[bytes]) -> bytes:
    """Return a journal of these lines: each checksum continues the one before."""
    checksum, lines = 0, []
    for body in bodies:
        checksum = zlib.crc32(body, checksum)
        lines.append(b"%08x %s\n" % (checksum, body))
    return b"".join(lines)


def bodies(journal: bytes) -> list[bytes]:
    return [line[9:] for line in journal.splitlines()]


@pytest.mark.parametrize("learner", ["anytime-loss-lewa", "hp-bandit-lewa", "squarecb-lewa"])
def test_a_journal_gives_the_agent_again_to_the_bit(learner: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(learner, journal=path)
    records = live(agent, 60)
    assert agent.snapshot()["records"] == len(records)
    agent.stop_journal()
    again = Agent.open(path)
    assert again.snapshot() == agent.snapshot()
    assert again.pull() == agent.pull()
    again.checkpoint()
    live(again, 20, seed=1)
    again.stop_journal()
    third = Agent.open(path)  # from the snapshot, and what came after it
    assert third.snapshot() == again.snapshot()
    third.stop_journal()
    (tmp_path / "journal.snapshot").write_text("damaged")
    assert Agent.open(path).snapshot() == again.snapshot()  # from the start


def test_the_records_of_a_journal_are_those_that_were_returned(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=lewa.JournalOptions(path=path, plays=True))
    records = live(agent, 40)
    assert list(read_journal(path)) == records
    assert fresh().replay(read_journal(path)).snapshot() == agent.snapshot()


def test_a_compact_record_has_about_a_hundred_bytes(tmp_path: Path) -> None:
    labels = [f"provider/model-{n}" for n in range(10)]
    agent = Agent(labels, [at_most("cost", 0.4), at_most("delay", 0.4)], name="router", journal=tmp_path / "journal", seed=0)
    for n in range(200):
        agent.update(agent.pull(), reward=n / 200, cost=0.123456789, delay=0.987654321 / (n + 1))
    lines = (tmp_path / "journal").read_bytes().splitlines()[1:]
    assert len(lines) == 400
    assert sum(map(len, lines)) / 400 < 110
    for item in read_journal(tmp_path / "journal"):
        assert from_text(to_text(item)) == item == record(json.loads(json.dumps(item.plain())))


def test_a_cut_last_line_is_dropped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    live(agent, 10)
    agent.stop_journal()
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in (last + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.warns(UserWarning, match=r"the last line of .*journal is incomplete after a crash"):
            again = Agent.open(path)
        assert path.read_bytes() == whole[:last]
        again.pull()
        again.stop_journal()
        Agent.open(path).stop_journal()


def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    live(agent, 10)
    agent.stop_journal()
    lines = path.read_bytes().splitlines(keepends=True)
    for number in (1, 5, len(lines)):
        damaged = list(lines)
        damaged[number - 1] = damaged[number - 1].replace(b"1", b"2", 1)
        path.write_bytes(b"".join(damaged))
        with pytest.raises(ValueError, match=f"line {number} of .*journal is damaged"):
            Agent.open(path)
    body = to_text(Feedback(999, {"cost": 0.1}, agent="router")).encode()
    path.write_bytes(chained([*bodies(b"".join(lines)), body]))
    with pytest.raises(ValueError, match=f"line {len(lines) + 1} of .*journal does not fit: decision 999 does not belong"):
        Agent.open(path)
    path.write_bytes(b"".join(lines))
    agent = Agent.open(path)
    agent.checkpoint()
    agent.pull()
    agent.pull()
    agent.stop_journal()
    path.write_bytes(path.read_bytes().replace(b'["d",11', b'["d",12'))
    with pytest.raises(ValueError, match=f"line {len(lines) + 1} of .*journal is damaged"):
        Agent.open(path)
    path.write_bytes(b"".join(lines[:4]))
    with pytest.raises(ValueError, match="has fewer records than its snapshot"):
        Agent.open(path)


def misplaced(lines: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Return each way to delete, repeat, swap or move one line, or to add one, with the first line that is then wrong."""
    for n in range(1, len(lines)):
        if n < len(lines) - 1:  # without its last lines a journal is whole: a crash may leave it so
            yield n + 1, lines[:n] + lines[n + 1 :]
            yield n + 1, [*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]
            yield n + 1, [*lines[:n], *lines[n + 1 :], lines[n]]
        yield n + 2, [*lines[: n + 1], *lines[n:]]
        body = lines[n][9:-1]
        yield n + 1, [*lines[:n], b"%08x %s\n" % (zlib.crc32(body), body), *lines[n:]]


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_line_that_is_deleted_added_or_moved_is_refused_with_its_number(tmp_path: Path, snapshot: bool) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    live(agent, 10)
    read = 0  # bytes that are not read again
    if snapshot:
        agent.checkpoint()
        read = path.stat().st_size
    live(agent, 5)
    agent.stop_journal()
    whole = path.read_bytes()
    lines, records = whole.splitlines(keepends=True), list(read_journal(path))
    for number, wrong in misplaced(lines):
        path.write_bytes(b"".join(wrong))
        with pytest.raises(ValueError, match=rf"line {number} of .*journal is damaged or out of place: its checksum does"):
            list(read_journal(path))
        if snapshot and len(b"".join(wrong)) == len(whole) and b"".join(wrong)[read:] == whole[read:]:
            opened = Agent.open(path)  # lines before the snapshot changed places, and the agent is the same
            assert opened.snapshot() == agent.snapshot()
            opened.stop_journal()
            continue
        with pytest.raises(ValueError, match=rf"line {number} of .*journal is damaged or out of place"):
            Agent.open(path)
    path.write_bytes(b"".join(lines[:-1]))  # only the end can be cut, as by a crash
    assert list(read_journal(path)) == records[:-1]
    again = Agent.open(path)
    again.pull()
    again.stop_journal()
    assert Agent.open(path).snapshot() == again.snapshot()
    path.write_bytes(b"".join(lines[:3]))
    if snapshot:
        with pytest.raises(ValueError, match="has fewer records than its snapshot"):
            Agent.open(path)


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_journal_of_version_1_opens_and_continues_as_it_is(tmp_path: Path, snapshot: bool) -> None:
    path = tmp_path / "journal"
    for end in ("", ".snapshot") if snapshot else ("",):
        path.with_name(path.name + end).write_bytes((ASSETS / f"journal-v1{end}").read_bytes())
    records = list(read_journal(path))
    twin = Agent(["x", "y", "z"], [at_most("cost", 0.4)], learner="anytime-bandit-lewa", seed=7, name="router")
    twin.replay(records)
    agent = Agent.open(path)
    restored, replayed = agent.snapshot()["state"], twin.snapshot()["state"]
    worded = {"beginning", "segments"} if snapshot else set()  # an old snapshot has the bounds of its version
    assert {name: restored[name] for name in restored.keys() - worded} == {
        name: replayed[name] for name in replayed.keys() - worded
    }
    made = live(agent, 5)
    agent.checkpoint()
    made += live(agent, 5)
    agent.stop_journal()
    for line in path.read_bytes().splitlines():
        assert line[:9] == b"%08x " % zlib.crc32(line[9:])
    assert [type(item) for item in read_journal(path)] == [type(item) for item in records + made]
    assert len(json.loads((tmp_path / "journal.snapshot").read_text())["agent"]["place"]) == 2  # the version before reads it
    assert Agent.open(path).snapshot() == agent.snapshot()
    (tmp_path / "journal.snapshot").unlink()
    damaged = path.read_bytes().replace(b'"cost":0.5', b'"cost":0.6', 1)
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"line \d+ of .*journal is damaged: its checksum does not match"):
        Agent.open(path)


def test_a_journal_has_one_owner_and_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    agent.pull()
    begins: list[Callable[[], object]] = [lambda: Agent.open(path), lambda: fresh(journal=path)]
    for begin in begins:
        with pytest.raises(ValueError, match=r"a journal can be open once, but .* is open"):
            begin()
    agent.stop_journal()
    with pytest.raises(ValueError, match=r"use Agent\.open to continue a journal"):
        fresh(journal=path)
    with pytest.raises(ValueError, match="sync must be 'every', 'batch' or 'never', got 'always'"):
        fresh(journal=lewa.JournalOptions(path=tmp_path / "other", sync="always"))
    with pytest.raises(ValueError, match="the agent has no journal"):
        fresh().checkpoint()
    with pytest.raises(FileNotFoundError):
        Agent.open(tmp_path / "missing")
    (tmp_path / "text").write_text("hello\n")
    with pytest.raises(ValueError, match=r"line 1 of .*text is damaged"):
        Agent.open(tmp_path / "text")


def test_the_snapshot_of_another_journal_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    live(agent, 30)
    agent.checkpoint()
    agent.stop_journal()
    path.unlink()
    agent = fresh(journal=path)
    live(agent, 3)
    agent.stop_journal()
    assert Agent.open(path).snapshot() == agent.snapshot()


def test_a_journal_goes_on_from_a_saved_agent(tmp_path: Path) -> None:
    agent = fresh()
    live(agent, 30)
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json")
    again.start_journal(tmp_path / "journal", sync="every")
    live(again, 5, seed=2)
    again.stop_journal()
    assert Agent.open(tmp_path / "journal", sync="never").snapshot() == again.snapshot()


def test_threads_write_records_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)

    def call(seed: int) -> None:
        live(agent, 100, seed)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agent.stop_journal()
    assert Agent.open(path).snapshot() == agent.snapshot()


def test_an_agent_whose_journal_cannot_be_written_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    agent.pull()

    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoppedError, match="could not be written"):
            agent.pull()
    calls: list[Callable[[], object]] = [agent.pull, lambda: agent.close(1), lambda: agent.set_limit("cost", 0.3)]
    for call in calls:
        with pytest.raises(StoppedError, match="open the journal again"):
            call()
    assert Agent.open(path).snapshot()["records"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_copy_of_an_agent_in_a_forked_child_stops(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent, plain = fresh(journal=path), fresh()
    decision = agent.pull()
    plain.pull()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for call in (agent.pull, plain.pull, lambda: agent.update(decision, cost=0.1)):
                with pytest.raises(StoppedError, match="copied by a fork"):
                    call()
            with pytest.raises(ValueError, match=r"a journal can be open once, but .* is open"):
                Agent.open(path)
            again = Agent.restore(plain.snapshot())  # said in so many words
            status = 0 if again.pull().id == 2 else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    agent.update(decision, reward=0.5, cost=0.1)
    agent.stop_journal()
    assert Agent.open(path).snapshot() == agent.snapshot()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_killed_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert kill_loop(tmp_path / "journal", KILLS) > 0


def test_a_record_that_an_earlier_rule_wrote_is_refused_with_the_reason_and_a_remedy(tmp_path: Path) -> None:
    def rewrite(head: dict[str, object]) -> None:
        """Give the journal another head, and its first decision another charge, as an earlier rule may have made."""
        lines = whole.splitlines(keepends=True)
        text = lines[0][9:-1].decode()
        body = (json.dumps(head) + text[json.JSONDecoder().raw_decode(text)[1] :]).encode()
        record = from_text(lines[1][9:-1].decode())
        assert isinstance(record, Decision)
        drawn = to_text(record._replace(charged=(0.123,))).encode()
        path.write_bytes(chained([body, drawn]))

    path = tmp_path / "journal"
    agent = Agent(["a", "b"], [at_most("cost", 0.5)], context=[lewa.number("size", (0, 2))], journal=path, seed=0)
    agent.pull(context={"size": 1.0})
    agent.stop_journal()
    whole = path.read_bytes()
    head, _ = json.JSONDecoder().raw_decode(whole[9:].decode())
    rule, stamp = {"lewa": "0.1.9", "stamp": "0123456789ab"}, head["rule"]["stamp"]
    rewrite({**head, "rule": rule})
    versions = rf"\(lewa 0\.1\.9, rule 0123456789ab; here lewa {__version__}, rule {stamp}\)"
    remedy = "open the journal with the version that wrote it$"
    with pytest.raises(
        ValueError, match=f"line 2 of .* the rule of squarecb-lewa has changed since it was written {versions}: {remedy}"
    ):
        Agent.open(path)
    rewrite({name: value for name, value in head.items() if name != "rule"})
    with pytest.raises(ValueError, match="the journal does not say which version of squarecb-lewa wrote it"):
        Agent.open(path)
    rewrite(head)  # of today: the record itself is wrong
    with pytest.raises(ValueError, match=r"the record belongs to another agent, or its rule has changed$"):
        Agent.open(path)
    path.write_bytes(whole)
    agent = Agent.open(path)
    agent.checkpoint()
    agent.stop_journal()
    assert explain_misfit(rule, agent.setup, f"{path}.snapshot").endswith(
        f", or load {path}.snapshot, which lacks the last records, and start a new journal"
    )
    assert Agent.load(f"{path}.snapshot").pull(context={"size": 1.0}) == agent.pull(context={"size": 1.0})


def with_rule(path: Path, rule: dict[str, str] | None) -> None:
    """Let the head of a journal say that another version of the rule wrote it, or none."""
    first, *rest = bodies(path.read_bytes())
    text = first.decode()
    head, end = json.JSONDecoder().raw_decode(text)
    head = {**{name: value for name, value in head.items() if name != "rule"}, **({} if rule is None else {"rule": rule})}
    body = (json.dumps(head) + text[end:]).encode()
    path.write_bytes(chained([body, *rest]))


OLD = {"lewa": "0.1.9", "stamp": "0123456789ab"}


@pytest.mark.parametrize("rule", [OLD, None])
@pytest.mark.parametrize("learner", ["auto", "exp3", "lewa-ix"])
def test_a_journal_of_another_rule_that_decides_the_same_opens_without_a_word(
    tmp_path: Path, learner: str, rule: dict[str, str] | None
) -> None:
    path = tmp_path / "journal"
    agent = fresh(learner, journal=path)
    live(agent, 40)
    agent.set_fallback("x")
    agent.set_exposure(0.5)
    live(agent, 20)
    agent.stop_journal()
    with_rule(path, rule)
    again = Agent.open(path)  # a warning would be an error here
    assert again.snapshot() == agent.snapshot()
    assert again.status().warnings == agent.status().warnings
    again.stop_journal()
    snapshot = json.loads((tmp_path / "journal.snapshot").read_text())["agent"]
    assert snapshot["rule"] == rule_version(agent.setup.learner)  # the next opening does not have to compare


@pytest.mark.parametrize(
    ("learner", "one", "other"),
    [
        ("squarecb-lewa", {"expected": {"reward": [0.9, 0.1]}}, {"expected": {"reward": [0.1, 0.9]}}),
        ("exp3", {"settings": {"gamma": 0.1}}, {"settings": {"gamma": 0.5}}),
        ("anytime-loss-lewa", {}, {"expected": {"cost": [0.4, 0.6]}}),
    ],
)
def test_a_journal_whose_decisions_another_rule_made_is_noticed_at_once(
    tmp_path: Path, learner: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Another rule: the records of an agent with one setting under the first line of an agent with another setting."""
    paths = tmp_path / "journal", tmp_path / "other"
    for path, more in zip(paths, (one, other), strict=True):
        agent = Agent(["x", "y"], [at_most("cost", 0.5)], learner=learner, horizon=500, seed=2, journal=path, **more)
        for n in range(30):
            agent.update(agent.pull(), reward=0.1 * (n % 9), cost=0.07 * (n % 11))
        agent.stop_journal()
    heads, records = zip(*(path.read_bytes().split(b"\n", 1) for path in paths), strict=True)
    paths[0].write_bytes(heads[0] + b"\n" + records[1])
    with_rule(paths[0], OLD)
    if learner == "anytime-loss-lewa":  # it does not use expected values: nothing that it decides has changed
        Agent.open(paths[0]).stop_journal()
        return
    versions = rf"\(lewa 0\.1\.9, rule 0123456789ab; here lewa {__version__}, rule \w{{12}}\)"
    noticed = (
        rf"the rule of {learner} has changed since .*journal was written {versions}: decision \d+ would have been another"
    )
    with pytest.warns(UserWarning, match=noticed):
        again = Agent.open(paths[0])
    again.stop_journal()
    assert again.status().decisions == 30
    assert "source" in [warning.code for warning in again.status().warnings]
    assert "its rule has changed" in again.status().guarantee.reason
    assert Agent.open(paths[0]).snapshot() == again.snapshot()  # it is said once, and stays in the status
