"""The events of the other replicas: one stream to each of them for a key, whoever listens with it here."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from lewa.journal.store import StoreError
from lewa.serve.auth import REFRESH, Caller
from lewa.serve.forward import Forwarder
from lewa.serve.history import POINTS
from lewa.serve.log import log
from lewa.serve.registry import Registry
from lewa.serve.sessions import COOKIE, Sessions

if TYPE_CHECKING:
    from lewa.serve.events import Event, Queue

WAITING = 1000  # events that a listener may be behind


class Relay:
    """The streams of one key. `known` has the history of each agent, for a listener that comes later."""

    def __init__(self, caller: Caller, registry: Registry, forwarder: Forwarder, sessions: Sessions) -> None:
        self._caller, self._registry, self._forwarder, self._sessions = caller, registry, forwarder, sessions
        self.known: dict[str, Event] = {}
        self.listeners: set[Queue] = set()
        self._task = asyncio.get_running_loop().create_task(self._follow_all())

    def stop(self) -> None:
        """Follow nobody any more."""
        self._task.cancel()

    async def _follow_all(self) -> None:
        """Follow every other replica; replicas may come and go."""
        async with asyncio.TaskGroup() as group:
            following: dict[str, asyncio.Task[None]] = {}
            while True:
                try:
                    addresses = await self._registry.others()
                except StoreError:
                    addresses = []
                for address in addresses:
                    if address not in following or following[address].done():
                        following[address] = group.create_task(self._follow(address))
                await asyncio.sleep(REFRESH)

    async def _follow(self, address: str) -> None:
        cookie = {"cookie": f"{COOKIE}={self._sessions.open(self._caller)}"}
        try:
            async for text in self._forwarder.follow(address, "/v1/events", cookie):
                event: Event = msgspec.json.decode(text)
                self._remember(event)
                send(event, self.listeners)
        except Exception as error:  # one replica stops none of the others, and is asked again
            log("no events of another replica", address=address, why=str(error))

    def _remember(self, event: "Event") -> None:
        before = self.known.get(event["agent"])
        points = event["history"] if "history" in event else before["history"] if before is not None else []
        if "point" in event:
            points = [*points, event["point"]][-POINTS:]
        self.known[event["agent"]] = {"agent": event["agent"], "history": points, "marks": event["marks"]}


def send(event: "Event", listeners: "set[Queue]") -> None:
    """Give an event to all listeners; one that does not read misses events."""
    for listener in listeners:
        if listener.qsize() < WAITING:
            listener.put_nowait(event)
