"""The events of the page: once per second a point for each agent that changed, stored for a while and sent to listeners."""

import asyncio
from collections.abc import AsyncIterator
from typing import NotRequired, TypedDict

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from lewa.serve.auth import REFRESH, Caller
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.forward import FORWARDED, Forwarder
from lewa.serve.history import Mark, Point, point_of
from lewa.serve.host import Host
from lewa.serve.log import log
from lewa.serve.metrics import Statuses
from lewa.serve.served import Served
from lewa.serve.store import StoreError

EVERY = 1.0  # seconds
WAITING = 1000  # events that a listener may be behind


class Event(TypedDict):
    """New points of an agent, and its marks."""

    agent: str  # the name of the agent
    marks: list[Mark]
    point: NotRequired[Point]  # the newest point
    history: NotRequired[list[Point]]  # all of them, the first time


# Of an agent that is served here, of another replica as it came, or the end.
Queue = asyncio.Queue[Event | bytes | None]


class Events:
    """The history of each agent in this process, and who listens to it."""

    def __init__(self, host: Host, statuses: Statuses, forwarder: Forwarder) -> None:
        self._host, self._statuses, self._forwarder = host, statuses, forwarder
        self._listeners: set[Queue] = set()
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

    async def _watch(self) -> None:
        turn = 0
        while True:
            await asyncio.sleep(EVERY)
            turn += 1
            for served in list(self._host.agents.values()):
                epoch, seq, step = self._drawn.get(served.name, (-1, -1, 1))
                if epoch != served.epoch:  # it came back from another replica: who listens may have missed it
                    seq, step = -1, 1
                if (served.seq == seq and not _caps_ended(served, self._host.now())) or turn % step:
                    continue
                try:
                    point = await asyncio.to_thread(self.point, served)
                except Exception as error:
                    log("no status", agent=served.name, why=str(error))
                    continue
                seen = self._statuses.seq_of(served.name)  # it may be a second old: then the next turn draws the rest
                self._drawn[served.name] = (served.epoch, seen, step)
                history = served.hosted.history
                if history.add(point):
                    self._drawn[served.name] = (served.epoch, seen, 2 * step)
                self._send({"agent": served.name, "point": point, "marks": history.marks})

    def _send(self, event: Event) -> None:
        for listener in self._listeners:
            if listener.qsize() < WAITING:  # one that does not read misses points
                listener.put_nowait(event)

    def point(self, served: Served) -> Point:
        """Return the status of an agent, as the page draws it."""
        now = self._host.now()
        return point_of(served.hosted, {**self._statuses.of(served), "caps": served.hosted.caps_at(now)}, now)

    async def listen(self, request: Request, caller: Caller, only: str | None) -> AsyncIterator[bytes]:
        """Yield the history of the agents that a key may read, then each new point."""
        queue: Queue = asyncio.Queue()
        self._listeners.add(queue)
        relays = asyncio.create_task(self._relay(request, queue))
        try:
            for served in list(self._host.agents.values()):
                if caller.may("read", served.name) and only in (None, served.name):
                    history = served.hosted.history
                    yield _frame({"agent": served.name, "history": history.points, "marks": history.marks})
            while self._host.keys.in_force(caller):
                try:
                    event = await asyncio.wait_for(queue.get(), REFRESH)
                except TimeoutError:
                    yield b": here\n\n"
                    continue
                if event is None:
                    return
                if isinstance(event, bytes):
                    yield event
                elif caller.may("read", event["agent"]) and only in (None, event["agent"]):
                    yield _frame(event)
        finally:
            self._listeners.discard(queue)
            relays.cancel()

    async def _relay(self, request: Request, queue: Queue) -> None:
        """Forward the events of the other replicas to a listener that is not a replica; replicas may come and go."""
        if not self._host.store.shared or FORWARDED in request.headers:
            return
        async with asyncio.TaskGroup() as group:
            following: dict[str, asyncio.Task[None]] = {}
            while True:
                try:
                    addresses = await self._host.others()
                except (StoreError, UnavailableError):
                    addresses = []
                for address in addresses:
                    if address not in following or following[address].done():
                        following[address] = group.create_task(self._pass_on(address, request, queue))
                await asyncio.sleep(REFRESH)

    async def _pass_on(self, address: str, request: Request, queue: Queue) -> None:
        try:
            async for frame in self._forwarder.follow(address, request):
                if queue.qsize() < WAITING:
                    queue.put_nowait(frame)
        except Exception as error:  # one replica stops none of the others, and is asked again
            log("no events of another replica", address=address, why=str(error))

    @property
    def listeners(self) -> int:
        """Return how many listen."""
        return len(self._listeners)

    @property
    def most(self) -> int:
        """Return how many may."""
        return self._host.limits.listeners


def stream(events: Events, request: Request, caller: Caller) -> StreamingResponse:
    """Return the stream of events for a caller."""
    if events.listeners >= events.most:
        raise RequestError(429, f"at most {events.most} streams may be open at a time", 10)
    only = request.query_params.get("agent")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events.listen(request, caller, only), media_type="text/event-stream", headers=headers)


def _caps_ended(served: Served, now: int) -> bool:
    """Whether the newest point shows what was spent in a period that has ended."""
    points = served.hosted.history.points
    return bool(points) and any(
        cap["until"] is not None and cap["until"] <= now / 1e6 and (cap["spent"] or cap["reserved"])
        for cap in points[-1]["caps"]
    )


def _frame(event: Event) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
