"""The events of the page: once per second a point for each agent that changed, stored for a while and sent to listeners."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import NotRequired, TypedDict

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from lewa.serve.auth import REFRESH, Caller
from lewa.serve.errors import RequestError
from lewa.serve.forward import FORWARDED, Forwarder
from lewa.serve.history import Mark, Point
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.log import log
from lewa.serve.metrics import Statuses
from lewa.serve.reading import point_of
from lewa.serve.registry import Registry
from lewa.serve.relay import Relay, send
from lewa.serve.sessions import Sessions

EVERY = 1.0  # seconds


class Event(TypedDict):
    """New points of an agent, and its marks."""

    agent: str  # the name of the agent
    marks: list[Mark]
    point: NotRequired[Point]  # the newest point
    history: NotRequired[list[Point]]  # all of them, the first time


Queue = asyncio.Queue[Event | None]  # events, or the end


class Events:
    """The history of each agent in this process, and who listens to it."""

    def __init__(self, registry: Registry, statuses: Statuses, forwarder: Forwarder, sessions: Sessions) -> None:
        self._registry, self._statuses, self._forwarder, self._sessions = registry, statuses, forwarder, sessions
        self._listeners: set[Queue] = set()
        self._counts: Counter[tuple[bool, str]] = Counter()  # streams, by whether a replica listens, and by key
        self._relays: dict[str, Relay] = {}  # of the keys that listen here
        self._task: asyncio.Task[None] | None = None
        self._drawn: dict[str, tuple[int, int, int]] = {}  # the epoch and seq drawn last, and every how many seconds

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def stop(self) -> None:
        """End every stream."""
        if self._task is not None:
            self._task.cancel()
        for listener in self._listeners:
            listener.put_nowait(None)
        for relay in self._relays.values():
            relay.stop()

    async def _watch(self) -> None:
        turn = 0
        while True:
            await asyncio.sleep(EVERY)
            turn += 1
            for hosted in list(self._registry.agents.values()):
                epoch, seq, step = self._drawn.get(hosted.name, (-1, -1, 1))
                if epoch != hosted.epoch:  # it came back from another replica: who listens may have missed it
                    seq, step = -1, 1
                if (hosted.seq == seq and not _caps_ended(hosted, self._registry.now())) or turn % step:
                    continue
                try:
                    point = await asyncio.to_thread(self.point, hosted)
                except Exception as error:
                    log("no status", agent=hosted.name, why=str(error))
                    continue
                seen = self._statuses.seq_of(hosted.name)  # it may be a second old: then the next turn draws the rest
                self._drawn[hosted.name] = (hosted.epoch, seen, step)
                history = hosted.history
                if history.add(point):
                    self._drawn[hosted.name] = (hosted.epoch, seen, 2 * step)
                send({"agent": hosted.name, "point": point, "marks": history.marks}, self._listeners)

    def point(self, hosted: HostedAgent) -> Point:
        """Return the status of an agent, as the page draws it."""
        now = self._registry.now()
        return point_of(hosted, {**self._statuses.of(hosted), "caps": hosted.caps.summary(now)}, now)

    async def listen(self, request: Request, caller: Caller, only: str | None) -> AsyncIterator[bytes]:
        """Yield the history of the agents that a key may read, then each new point."""
        queue: Queue = asyncio.Queue()
        kind = (self._is_replica(request), caller.id)
        self._listeners.add(queue)
        self._counts[kind] += 1
        try:
            known = [_history_of(hosted) for hosted in self._registry.agents.values()]
            if self._registry.store.shared and not kind[0]:
                known += [event for event in self._join(caller, queue) if event["agent"] not in self._registry.agents]
            for event in known:
                if caller.may("read", event["agent"]) and only in (None, event["agent"]):
                    yield _frame(event)
            while self._registry.keys.in_force(caller):
                try:
                    new = await asyncio.wait_for(queue.get(), REFRESH)
                except TimeoutError:
                    yield b": here\n\n"
                    continue
                if new is None:
                    return
                if caller.may("read", new["agent"]) and only in (None, new["agent"]):
                    yield _frame(new)
        finally:
            self._listeners.discard(queue)
            self._counts[kind] -= 1
            self._leave(caller, queue)

    def _is_replica(self, request: Request) -> bool:
        return self._registry.store.shared and FORWARDED in request.headers

    def _join(self, caller: Caller, queue: Queue) -> list[Event]:
        """Listen to the other replicas too; return what is known of their agents."""
        relay = self._relays.get(caller.id)
        if relay is None:
            relay = self._relays[caller.id] = Relay(caller, self._registry, self._forwarder, self._sessions)
        relay.listeners.add(queue)
        return list(relay.known.values())

    def _leave(self, caller: Caller, queue: Queue) -> None:
        relay = self._relays.get(caller.id)
        if relay is not None:
            relay.listeners.discard(queue)
            if not relay.listeners:
                self._relays.pop(caller.id).stop()

    @property
    def listeners(self) -> int:
        """Return how many listen."""
        return len(self._listeners)

    def check_room(self, request: Request, caller: Caller) -> None:
        """Refuse one stream too many, of a key or in all. Replicas need one for each key: these are limited by key only."""
        limits, replica = self._registry.limits, self._is_replica(request)
        if self._counts[replica, caller.id] >= limits.listeners_per_key:
            raise RequestError(429, f"at most {limits.listeners_per_key} streams of a key may be open at a time", 10)
        if not replica and sum(n for (other, _), n in self._counts.items() if not other) >= limits.listeners:
            raise RequestError(429, f"at most {limits.listeners} streams may be open at a time", 10)


def stream(events: Events, request: Request, caller: Caller) -> StreamingResponse:
    """Return the stream of events for a caller."""
    events.check_room(request, caller)
    only = request.query_params.get("agent")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events.listen(request, caller, only), media_type="text/event-stream", headers=headers)


def _caps_ended(hosted: HostedAgent, now: int) -> bool:
    """Whether the newest point shows what was spent in a period that has ended."""
    points = hosted.history.points
    return bool(points) and any(
        cap["until"] is not None and cap["until"] <= now / 1e6 and (cap["spent"] or cap["reserved"])
        for cap in points[-1]["caps"]
    )


def _history_of(hosted: HostedAgent) -> Event:
    history = hosted.history
    return {"agent": hosted.name, "history": list(history.points), "marks": history.marks}


def _frame(event: Event) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
