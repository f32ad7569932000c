"""An agent as its store has it: snapshots of its state, and the records after them."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from lewa.agent import Agent
from lewa.agent.elsewhere import breaches_of, count_earlier
from lewa.agent.status.assumptions import ELSEWHERE
from lewa.journal.files import json_parts
from lewa.journal.rows import Chain, Snapshot
from lewa.journal.store import Store
from lewa.serve.bodies import Way
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.old_words import modern
from lewa.serve.reading import point_of, status_then
from lewa.serve.reports import REMEMBERED_KEYS, Open, restored, terms_of
from lewa.serve.schema import AgentSetup

FORMAT = 1  # of a snapshot
STATEMENTS = ("segments", "beginning", "breaches")  # of an agent: what only its bounds need, and versions state differently
SECOND = 1_000_000  # microseconds
SAMPLES = 60  # points of the page that a replay makes


def _plain(hosted: HostedAgent) -> dict[str, Any]:
    """Return the whole state as plain data for JSON."""
    reports = hosted.reports
    return {
        "format": FORMAT,
        "setup": msgspec.to_builtins(hosted.setup),
        "version": hosted.version,
        "decisions": hosted.decisions,
        "retired": hosted.retired,
        "late": reports.late,
        **hosted.way.plain(),
        "open": [[number, waits.at, waits.action, waits.values] for number, waits in reports.open.items()],
        "spendings": hosted.caps.plain(),
        "agent": hosted.agent.snapshot(),
    }


def _hash(plain: Mapping[str, Any]) -> str:
    """Return the hash of a state without `STATEMENTS`, which change no decision."""
    agent, digest = plain["agent"], hashlib.sha256()
    state = {name: value for name, value in agent["state"].items() if name not in STATEMENTS}
    for part in json_parts({**plain, "agent": {**agent, "state": state}}):
        digest.update(part.encode())
    return digest.hexdigest()


def state_hash(hosted: HostedAgent) -> str:
    """Return the hash of the whole state: two that are equal to the bit have the same."""
    return _hash(_plain(hosted))


def snapshot_of(hosted: HostedAgent) -> Snapshot:
    """Return the state after the last record; beside it, and not in its hash, what the page draws and is reserved."""
    plain = _plain(hosted)
    beside = {
        "recent": [list(hosted.recent_actions), list(hosted.recent_rewards)],
        "history": hosted.history.plain(),
        "reserves": [[number, waits.reserve] for number, waits in hosted.reports.open.items() if waits.reserve is not None],
        "elsewhere": breaches_of(hosted.agent).get(ELSEWHERE, 0),  # for earlier versions, which read it here
        "terms": hosted.terms,
    }
    body = zlib.compress("".join(json_parts({**plain, "beside": beside})).encode(), 1)
    return Snapshot(hosted.number, hosted.seq, hosted.at, body, hashlib.sha256(body).hexdigest(), _hash(plain))


def restore(snapshot: Snapshot) -> HostedAgent:
    """Return the agent that a snapshot was taken of; a damaged one is refused."""
    if hashlib.sha256(snapshot.body).hexdigest() != snapshot.sha256:
        raise ValueError(f"the snapshot after record {snapshot.seq} is damaged: its checksum does not match")
    plain = json.loads(zlib.decompress(snapshot.body))
    if plain.get("format") != FORMAT:
        raise ValueError(f"a snapshot must have format {FORMAT}, got {plain.get('format')!r}")
    hosted = HostedAgent(msgspec.convert(modern(plain["setup"]), AgentSetup), Agent.restore(plain["agent"]))
    hosted.version, hosted.decisions, hosted.retired = plain["version"], plain["decisions"], plain["retired"]
    hosted.at, hosted.reports.late = snapshot.at, plain["late"]
    hosted.follow(Way.of(plain))
    hosted.caps.restore(plain["spendings"])
    hosted.reports.open = {number: Open(at, action, values) for number, at, action, values in plain["open"]}
    hosted.terms = [terms_of(hosted.agent, 1, hosted.version, hosted.close_after)]  # if the snapshot has none
    beside = plain.get("beside")
    if beside is not None:
        count_earlier(hosted.agent, beside["elsewhere"])
        actions, rewards = beside["recent"]
        hosted.recent_actions.extend(map(int, actions))
        hosted.recent_rewards.extend(rewards)
        hosted.history.restore(beside["history"])
        hosted.terms = restored(beside["terms"]) if "terms" in beside else hosted.terms
        for number, reserve in beside["reserves"]:
            hosted.reports.open[number].reserve = reserve
    return hosted


def load(store: Store, number: int, until: int | None = None, drawn: bool = False) -> HostedAgent:
    """Return an agent as its journal has it.

    The newest whole snapshot is taken, then the records after it; a damaged snapshot is passed over. If it is to be `drawn`,
    its history has points from these records too.
    """
    hosted, chain = None, Chain()
    for snapshot in store.snapshots(number, until):
        try:
            hosted = restore(snapshot)
        except (ValueError, KeyError, OSError):
            continue
        last = next(store.rows(number, after=snapshot.seq - 1, limit=1, until=snapshot.seq), None)
        chain = Chain(snapshot.seq, None if last is None else last.checksum, known=last is not None)
        break
    start, sampled = chain.seq, hosted.at if hosted is not None else 0
    step = 1 + (store.last(number) - start) // SAMPLES if drawn else 0
    for row in store.rows(number, after=start, until=until):
        chain.follow(row)
        if hosted is None:
            hosted = HostedAgent.begin(row)
        else:
            hosted.apply(row)
        if step and (row.seq - start) % step == 0 and abs(row.at - sampled) >= SECOND:
            hosted.history.add(point_of(hosted, status_then(hosted, row.at), row.at))
            sampled = row.at
    if hosted is None:
        raise ValueError(f"agent {number} has no journal")
    hosted.number, hosted.chain, hosted.snapshot_seq, hosted.snapshot_at = number, chain, start, hosted.at
    return hosted


def begin_at(hosted: HostedAgent, now: int) -> None:
    """Count the age of open decisions by the clock of this process, and give new decisions ids with a new tag.

    A clock that was wrong may have put records into the future: a decision that is there was made by now, and not
    after the one that follows it.
    """
    hosted.agent.begin_epoch()
    hosted.history.end_at(now)
    hosted.at = min(hosted.at, now)
    for decision in reversed(hosted.reports.open.values()):
        now = decision.since = min(decision.at, now)


def load_keys(hosted: HostedAgent, store: Store) -> None:
    """Read the newest keys of an agent into memory."""
    hosted.keys.load(store.recent_keys(hosted.number, hosted.at - hosted.keys_for, REMEMBERED_KEYS + 1), hosted.at)
