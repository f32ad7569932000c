"""The sequencer: every agent that this process serves, in memory and on disk. It lives in one event loop.

Calls change agents one after the other, between two awaits, and are answered when their records are on disk. If a commit
fails, memory is ahead of the disk: it is dropped, callers get 503, and the agents are read from the journal again.
"""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lewa.journal.rows import AgentRow, Audit, Entry, KeyRow
from lewa.journal.store import DamageError, Store, StoreError, UnwrittenError
from lewa.journal.writer import Writer
from lewa.serve.auth import REFRESH, Keys
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.limits import Limits
from lewa.serve.log import log
from lewa.serve.metrics import Meters
from lewa.serve.schema import AgentChange, SafetyChange
from lewa.serve.served import Served, load

T = TypeVar("T")
FORGET = 60.0  # seconds between two deletions of old idempotency keys
TICK = 0.25  # seconds between looks at the clock
DUE = 200  # decisions that are closed in one step because their time is over
READERS = 4  # threads for small reads
SETTLED = 3  # leases that an agent stays after a takeover, before it is handed over
READING = "it is reading its journal"
LOST = "another replica serves this agent now; send the request again"


class ElsewhereError(Exception):
    """Another replica has the agent."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address


class Host:
    """The agents of one process."""

    def __init__(self, store: Store, limits: Limits, owner: str, address: str = "", lease: float = 3.0) -> None:
        self.store, self.limits, self.owner, self.address, self.lease = store, limits, owner, address, lease
        self.agents: dict[str, Served] = {}
        self.broken: dict[str, str] = {}  # agents whose journal cannot be read, or only in part, and why
        self.damage: list[str] = []  # what is wrong with the store as a whole
        self.keys, self.meters = Keys(), Meters()
        self.available, self.stopping = False, False
        self._warm: set[tuple[str, bool, bool, str]] = set()  # what was compiled, and for agents of which kind
        self._locks: dict[str, asyncio.Lock] = {}
        self.names: dict[str, int] = {}  # of all agents of the store, with their numbers
        self._tasks: set[asyncio.Task[None]] = set()
        self._recovering: asyncio.Task[None] | None = None
        self._drops = 0  # how often memory was dropped
        self._missing = READING  # why nothing is served, while nothing is
        self._loading: dict[int, int] = {}  # agents that are being read, with the epochs of their leases
        self._readers = ThreadPoolExecutor(READERS, "lewa small reads")
        self._lookout = ThreadPoolExecutor(1, "lewa leases")
        self._forgotten_at = time.monotonic()
        self._clock = time.time() - time.monotonic()  # a jump of the wall clock moves no timeout of this process

    # Start and stop ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read every agent that is free, compile what they need, and begin to serve."""
        self.writer = Writer(self.store, self._failed, self._lost, self.meters.committed)
        await self.writer.call(lambda store: store.check())
        await self.refresh_keys()
        if self.store.shared:
            await self.writer.call(lambda store: store.renew({}))
            self._spawn(self._repeat(self._renew))  # to read long journals must not cost the leases of the others
        await self._load_all()
        self.available = True
        for work in (self._clockwork(), self._repeat(self._upkeep), self._look_through()):
            self._spawn(work)

    async def stop(self) -> None:
        """Write everything, leave snapshots, give leases back."""
        self.stopping, self.available = True, False
        for task in list(self._tasks):
            task.cancel()
        try:
            for served in list(self.agents.values()):
                if served.seq > served.snapshot_seq:
                    await self._snapshot(served)
            if self.store.shared:
                epochs = {served.number: served.epoch for served in self.agents.values()}
                await self.writer.call(lambda store: store.release(epochs))
                await self.writer.call(lambda store: store.release({}))
        except StoreError as error:
            log("stopped without a snapshot", why=str(error))
        self.writer.stop()
        for threads in (self._readers, self._lookout):
            threads.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load_all(self) -> None:
        agents = await self._look(self.store.agents)
        self.names = {agent.name: agent.id for agent in agents}
        replicas = await self._replicas()
        for agent in agents:
            if agent.name in self.agents or self._winner(agent.name, replicas) != self.address:
                continue
            epoch = await self.writer.call(lambda store, number=agent.id: store.acquire(number))  # type: ignore[misc]
            served = None if epoch is None else await self._load(agent.name, agent.id, epoch)
            if served is not None and served.hosted.retired and agent.retired is None:  # an earlier lewa did not note it
                await self.retired(served)

    async def _load(self, name: str, number: int, epoch: int) -> Served | None:
        """Read one agent; a damaged journal does not affect other agents."""
        self._loading[number] = epoch
        try:
            hosted, chain, at, start = await asyncio.to_thread(load, self.store, number, None, True)
            await asyncio.to_thread(hosted.begin_at, now := self.now())
            seq, served = chain.seq, Served(number, hosted, chain, min(at, now), start, epoch)
            await asyncio.to_thread(served.load_keys, self.store)
            await self.compile(served)
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, DamageError):
                raise  # the store is at fault, not this journal
            self.found_damage(name, error)
            return None
        finally:
            del self._loading[number]
        entries = hosted.run_here()
        if entries:
            await self.append(served, entries, self.now(served))
        self.broken.pop(name, None)
        self.agents[name] = served
        if seq - start > self.limits.long_tail:  # before it is ready: the next start need not read it again
            await self._snapshot(served)
        log("agent ready", agent=name, decisions=hosted.decisions, records=seq, read=seq - start, epoch=epoch)
        return served

    async def compile(self, served: Served) -> None:
        """Compile the code of an agent before its first request, unless an agent like it has done so."""
        hosted = served.hosted  # with a governor, a cap or a context, the steps of lists are not run
        shape = (hosted.learner, len(hosted.actions) > 1, hosted.in_bulk(), repr(hosted.setup.safety))
        if shape not in self._warm:
            started = time.monotonic()
            await asyncio.to_thread(hosted.warm)
            self._warm.add(shape)
            log("compiled", learner=shape[0], seconds=round(time.monotonic() - started, 2))

    def found_damage(self, name: str, error: Exception) -> None:
        """Note that the journal of an agent cannot be read; an agent that is in memory goes on."""
        self.broken[name] = f"the journal of {name} cannot be read: {error}"
        log("journal damaged", agent=name, why=str(error))

    async def _look_through(self) -> None:
        """Look for damage in parts of the store that were not read at the start, while requests are served."""
        self.damage = await asyncio.to_thread(self.store.problems)
        for sentence in self.damage:
            log("store damaged", why=sentence)

    def troubles(self) -> str:
        """Return what is damaged in one sentence without names, and nothing if all is well."""
        parts = [f"the journals of {len(self.broken)} agents cannot be read"] if self.broken else []
        parts += ["the store is damaged"] if self.damage else []
        return f"{' and '.join(parts)}; the log has the reasons" if parts else ""

    # Which agents, and whose ---------------------------------------------------------------------------------------------

    def now(self, served: Served | None = None) -> int:
        """Return the time in microseconds; of an agent it never goes back."""
        at = int((self._clock + time.monotonic()) * 1e6)
        return at if served is None else max(at, served.at)

    async def find(self, name: str, forwarded: bool = False) -> Served:
        """Return an agent that is served here, or say who serves it."""
        while (served := self.agents.get(name)) is not None:
            if served.idle.is_set():
                return served
            await served.idle.wait()
        self.check_available()
        if name in self.broken:
            raise UnavailableError(self.broken[name], 60)
        if not self.store.shared:
            raise RequestError(404, f"there is no agent {name:.100}")
        async with self._locks.setdefault(name, asyncio.Lock()):
            return self.agents.get(name) or await self._claim(name, forwarded)

    async def turn(self, served: Served) -> None:
        """Wait until no thread changes an agent: then it is the caller's until the next await. Reject a dropped one."""
        while not served.idle.is_set():
            await served.idle.wait()
        if served.dropped:
            raise UnavailableError(LOST, 0.1)

    def check_available(self) -> None:
        """Reject a call while the agents are not in memory; the sentence says why."""
        if not self.available:
            raise UnavailableError(f"the service is not ready: {self._missing}")

    async def _claim(self, name: str, forwarded: bool) -> Served:
        if name not in self.names:
            agents = await self._look(self.store.agents)
            self.names = {agent.name: agent.id for agent in agents}
        number = self.names.get(name)
        if number is None:
            raise RequestError(404, f"there is no agent {name:.100}")
        leases = await self._look(self.store.leases)
        other = next((lease for lease in leases if lease.agent == number and lease.live and lease.owner != self.owner), None)
        winner = other.address if other is not None else self._winner(name, await self._replicas())
        if winner != self.address and not (forwarded and other is None):
            if forwarded:
                raise UnavailableError(LOST, 0.2)
            raise ElsewhereError(winner)
        epoch = await self.writer.call(lambda store: store.acquire(number))
        served = None if epoch is None else await self._load(name, number, epoch)
        if served is None:
            raise UnavailableError(self.broken.get(name, LOST), 0.2)
        served.taken_at = time.monotonic()
        return served

    async def _look(self, work: Callable[[], T]) -> T:
        """Read what says which replica serves an agent, in a thread that nothing else keeps busy."""
        return await asyncio.get_running_loop().run_in_executor(self._lookout, work)

    async def _replicas(self) -> list[str]:
        """Return the addresses of the replicas; this one is alive, even if its own entry was not prolonged in time."""
        return sorted({self.address, *(await self._look(self.store.replicas) if self.store.shared else ())})

    async def others(self) -> list[str]:
        """Return the addresses of the other replicas."""
        return [address for address in await self._replicas() if address != self.address]

    def _winner(self, name: str, replicas: Sequence[str]) -> str:
        """Return the replica that should have an agent: the highest hash of both names."""
        return max(replicas or [self.address], key=lambda replica: hashlib.sha256(f"{name} {replica}".encode()).digest())

    async def known(self) -> list[AgentRow]:
        """Return every agent of the store."""
        return await self.read(self.store.agents)

    async def read(self, work: Callable[..., T], *values: object) -> T:
        """Read a little from the store: SQLite answers at once, a database is asked in a thread."""
        if not self.store.shared:
            return work(*values)
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *values)

    # Writing -------------------------------------------------------------------------------------------------------------

    def append(
        self, served: Served, entries: Sequence[Entry], at: int, keys: Sequence[KeyRow] = ()
    ) -> "asyncio.Future[None]":
        """Put what a call changed into the batch that gathers."""
        served.at = at
        future = self.writer.append(served.place(entries, at), served.epoch, keys)
        if served.seq - served.snapshot_seq >= self.limits.snapshot_every:
            served.snapshot_seq = served.seq
            self._spawn(self._snapshot(served))
        return future

    def changed(self, served: Served, entry: Entry, at: int) -> "asyncio.Future[None]":
        """Put a change into the batch that gathers, and mark it on the page."""
        served.hosted.history.mark(entry.body, at)
        return self.append(served, [entry], at)

    async def change(self, served: Served, work: Callable[[], Entry]) -> Entry:
        """Change an agent in a thread, as it may take long if many decisions are open; other calls of the agent wait."""
        await self.turn(served)
        served.idle.clear()
        try:
            entry = await asyncio.to_thread(work)
            if served.dropped:
                raise UnavailableError(LOST, 0.1)
            commit = self.changed(served, entry, self.now(served))
        except (ValueError, RequestError):  # nothing has changed
            raise
        except asyncio.CancelledError:  # the thread goes on
            self._drop([served])
            raise
        except Exception as error:
            self.spoiled(error)
            raise
        finally:
            served.idle.set()
        await commit
        return entry

    async def settled(self, served: Served) -> None:
        """Wait until the state of an agent in memory is on disk; reject the call if it never will be."""
        await self.writer.barrier()
        if served.dropped:
            raise UnavailableError(LOST, 0.1)

    def spoiled(self, error: Exception) -> None:
        """Drop memory after an error in the middle of a change: the journal knows better."""
        self._failed(error)

    async def create(self, served: Served, entry: Entry, audit: Audit) -> bool:
        """Add an agent to the store and serve it; False if the name is taken."""
        rows, name = served.place([entry], served.at), served.name
        number = await self.writer.call(lambda store: store.create(name, rows, audit))
        if number is None:
            return False
        served.number = self.names[name] = number
        epoch = await self.writer.call(lambda store: store.acquire(number))
        if epoch is not None:
            served.epoch = epoch
            self.agents[name] = served
        return True

    async def retired(self, served: Served) -> None:
        """Note in the store that an agent is retired, so that it counts no more."""
        await self.writer.call(lambda store: store.put_retired(served.number, served.at))

    async def _snapshot(self, served: Served) -> None:
        while not served.idle.is_set():
            await served.idle.wait()
        if served.dropped:
            return
        copy, number, epoch = served.hosted.copy(), served.number, served.epoch
        served.snapshot_seq, served.snapshot_at = seq, at = served.seq, served.at
        try:
            snapshot = await asyncio.to_thread(copy.snapshot, number, seq, at)
            await self.writer.call(lambda store: store.put_snapshot(snapshot, epoch))
        except StoreError as error:
            log("no snapshot", agent=served.name, why=str(error))

    def _failed(self, error: Exception) -> None:
        log("commit failed; agents are read from the journal again", why=str(error))
        self.meters.failures.inc()
        self.available, self._missing = False, READING
        self._drops += 1
        self._drop(list(self.agents.values()))
        self.writer.reset()
        if not self.stopping and (self._recovering is None or self._recovering.done()):
            self._recovering = asyncio.get_running_loop().create_task(self._recover())

    def _lost(self, numbers: frozenset[int]) -> None:
        lost = [served for served in self.agents.values() if served.number in numbers]
        self._drop(lost)
        for served in lost:
            log("lease lost", agent=served.name, epoch=served.epoch)

    def _drop(self, agents: Sequence[Served]) -> None:
        for served in agents:
            served.dropped = True
            self.agents.pop(served.name, None)

    async def _recover(self) -> None:
        pause = 0.1
        while not self.stopping:
            try:
                await self.writer.call(lambda store: store.reconnect())
                await self.writer.call(lambda store: store.check())
                self._missing = READING
                if self.store.shared:
                    await self.writer.call(lambda store: store.renew({}))
                before = self._drops
                await self._load_all()
            except Exception as error:
                if isinstance(error, StoreError) and not isinstance(error, UnwrittenError):
                    self._missing = "its store does not answer"
                log("the store is still unavailable", why=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, 2.0)
            else:
                if before != self._drops:  # a commit failed meanwhile: agents that were read already are dropped again
                    continue
                self.available = True
                log("serving again", agents=len(self.agents))
                return

    # The clock -----------------------------------------------------------------------------------------------------------

    async def refresh_keys(self) -> None:
        """Read the keys of the service."""
        self.keys.replace(await self.read(self.store.api_keys))

    async def _clockwork(self) -> None:
        """Close overdue decisions and check the rules of watchdogs; both are records, so a replay needs no clock."""
        watched: dict[str, int] = {}
        while True:
            await asyncio.sleep(TICK)
            for served in list(self.agents.values()):
                if not served.idle.is_set():
                    continue
                at = self.now(served)
                try:
                    while entries := served.hosted.due(at, DUE):
                        self.append(served, entries, at).add_done_callback(_look)
                        await asyncio.sleep(0)  # other calls are served between two slices
                        if served.dropped or not served.idle.is_set():
                            break
                    if served.idle.is_set() and not served.dropped and watched.get(served.name) != served.seq:
                        if served.hosted.setup.watchdog:
                            await asyncio.sleep(0)  # other calls are served between two agents
                        if served.idle.is_set() and not served.dropped:
                            watched[served.name] = served.seq
                            self._watch(served, self.now(served))
                except Exception as error:
                    self.spoiled(error)
                    break

    def _watch(self, served: Served, at: int) -> None:
        watched = served.hosted.watch()
        for line, why in set(watched.blind) - served.blind:
            log("watchdog blind", agent=served.name, line=line, why=why)
        served.blind = set(watched.blind)
        if watched.broken is not None:
            rule, why = watched.broken
            entry = served.hosted.change(AgentChange(safety=SafetyChange(mode=rule.then), why=why), "watchdog")
            self.changed(served, entry, at).add_done_callback(_look)
            log("watchdog", agent=served.name, mode=rule.then, why=why)

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something now and then, whatever happens."""
        while True:
            await asyncio.sleep(min(self.lease / 3, 1.0))
            try:
                await work()
            except (UnwrittenError, UnavailableError):
                pass  # the store is being read again
            except StoreError as error:
                if self.available:
                    self._failed(error)
            except Exception as error:
                log("upkeep failed", why=str(error))

    async def _renew(self) -> None:
        """Prolong the leases of agents that are served or being read."""
        epochs = self._loading | {served.number: served.epoch for served in self.agents.values()}
        self._lost(await self.writer.call(lambda store: store.renew(epochs)))

    async def _upkeep(self) -> None:
        """Take over and hand over agents, read keys, forget old ones."""
        if self.store.shared and self.available:
            await self._share_out()
        if time.monotonic() - self.keys.read_at > REFRESH:
            await self.refresh_keys()
        for served in list(self.agents.values()):
            if served.seq > served.snapshot_seq and self.now() - served.snapshot_at > self.limits.snapshot_age * 1e6:
                await self._snapshot(served)
        if time.monotonic() - self._forgotten_at > FORGET:
            self._forgotten_at = time.monotonic()
            for served in list(self.agents.values()):
                before, number = served.at - served.keys_for, served.number
                await self.writer.call(lambda store, a=number, b=before: store.forget_keys(a, b))  # type: ignore[misc]

    async def _share_out(self) -> None:
        """Hand over agents that another replica should have, and take those that nobody has."""
        replicas = await self._replicas()
        for served in list(self.agents.values()):
            settled = time.monotonic() - served.taken_at > SETTLED * self.lease  # else agents follow a replica that flaps
            if settled and self._winner(served.name, replicas) != self.address:
                await self._hand_over(served)
        live = {lease.agent for lease in await self._look(self.store.leases) if lease.live}
        agents = await self._look(self.store.agents)
        self.names = {agent.name: agent.id for agent in agents}
        for agent in agents:
            if agent.id not in live and agent.name not in self.agents and self._winner(agent.name, replicas) == self.address:
                async with self._locks.setdefault(agent.name, asyncio.Lock()):
                    if agent.name not in self.agents:
                        await self._claim(agent.name, True)

    async def _hand_over(self, served: Served) -> None:
        while not served.idle.is_set():
            await served.idle.wait()
        self._drop([served])
        await self.writer.barrier()
        number, epoch = served.number, served.epoch
        snapshot = await asyncio.to_thread(served.hosted.snapshot, number, served.seq, served.at)
        await self.writer.call(lambda store: store.put_snapshot(snapshot, epoch))
        await self.writer.call(lambda store: store.release({number: epoch}))
        log("handed over", agent=served.name)


def new_owner() -> str:
    """Return a name for this process that no other has."""
    return secrets.token_hex(8)


def _look(future: "asyncio.Future[None]") -> None:
    if not future.cancelled():
        future.exception()  # a close that was not written is made again after the reload
