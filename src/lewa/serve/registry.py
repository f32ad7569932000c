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
from lewa.kernels.jit import WAY
from lewa.serve.auth import REFRESH, Keys
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.limits import Limits
from lewa.serve.log import log
from lewa.serve.metrics import Meters
from lewa.serve.schema import AgentChange, AgentSetup, SafetyChange
from lewa.serve.storage import begin_at, load, load_keys, snapshot_of

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


class Registry:
    """The agents of one process."""

    def __init__(self, store: Store, limits: Limits, owner: str, address: str = "", lease: float = 3.0) -> None:
        self.store, self.limits, self.owner, self.address, self.lease = store, limits, owner, address, lease
        self.agents: dict[str, HostedAgent] = {}
        self.broken: dict[str, str] = {}  # agents whose journal cannot be read, or only in part, and why
        self.damage: list[str] = []  # what is wrong with the store as a whole
        self.keys, self.meters = Keys(), Meters()
        self.available, self.stopping = False, False
        self._warm: set[str] = set()  # learners that were compiled
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
            for hosted in list(self.agents.values()):
                if hosted.seq > hosted.snapshot_seq:
                    await self._snapshot(hosted)
            if self.store.shared:
                epochs = {hosted.number: hosted.epoch for hosted in self.agents.values()}
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
            hosted = None if epoch is None else await self._load(agent.name, agent.id, epoch)
            if hosted is not None and hosted.retired and agent.retired is None:  # an earlier lewa did not note it
                await self.retired(hosted)

    async def _load(self, name: str, number: int, epoch: int) -> HostedAgent | None:
        """Read one agent; a damaged journal does not affect other agents."""
        self._loading[number] = epoch
        try:
            hosted = await asyncio.to_thread(load, self.store, number, None, True)
            await asyncio.to_thread(begin_at, hosted, self.now())
            hosted.epoch, hosted.snapshot_at = epoch, hosted.at
            await asyncio.to_thread(load_keys, hosted, self.store)
            await self.compile(hosted)
        except Exception as error:
            if isinstance(error, StoreError) and not isinstance(error, DamageError):
                raise  # the store is at fault, not this journal
            self.found_damage(name, error)
            return None
        finally:
            del self._loading[number]
        seq, read = hosted.seq, hosted.seq - hosted.snapshot_seq
        entries = hosted.run_here()
        if entries:
            await self.append(hosted, entries, self.now(hosted))
        self.broken.pop(name, None)
        self.agents[name] = hosted
        if read > self.limits.long_tail:  # before it is ready: the next start need not read it again
            await self._snapshot(hosted)
        log("agent ready", agent=name, decisions=hosted.decisions, records=seq, read=read, epoch=epoch)
        return hosted

    async def compile(self, hosted: HostedAgent) -> None:
        """Compile the code of an agent that runs compiled code already, or is to wait for it, before its first request."""
        if (hosted.agent.compiled or WAY == "wait") and hosted.learner not in self._warm:
            started = time.monotonic()
            await asyncio.to_thread(hosted.agent.warm)
            self._warm.add(hosted.learner)
            log("compiled", learner=hosted.learner, seconds=round(time.monotonic() - started, 2))

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

    def now(self, hosted: HostedAgent | None = None) -> int:
        """Return the time in microseconds; of an agent it never goes back."""
        at = int((self._clock + time.monotonic()) * 1e6)
        return at if hosted is None else max(at, hosted.at)

    async def find(self, name: str, forwarded: bool = False) -> HostedAgent:
        """Return an agent that is served here, or say who serves it."""
        while (hosted := self.agents.get(name)) is not None:
            if hosted.idle.is_set():
                return hosted
            await hosted.idle.wait()
        self.check_available()
        if name in self.broken:
            raise UnavailableError(self.broken[name], 60)
        if not self.store.shared:
            raise RequestError(404, f"there is no agent {name:.100}")
        async with self._locks.setdefault(name, asyncio.Lock()):
            return self.agents.get(name) or await self._claim(name, forwarded)

    async def turn(self, hosted: HostedAgent) -> None:
        """Wait until no thread changes an agent: then it is the caller's until the next await. Reject a dropped one."""
        while not hosted.idle.is_set():
            await hosted.idle.wait()
        if hosted.dropped:
            raise UnavailableError(LOST, 0.1)

    def check_available(self) -> None:
        """Reject a call while the agents are not in memory; the sentence says why."""
        if not self.available:
            raise UnavailableError(f"the service is not ready: {self._missing}")

    async def _claim(self, name: str, forwarded: bool) -> HostedAgent:
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
        hosted = None if epoch is None else await self._load(name, number, epoch)
        if hosted is None:
            raise UnavailableError(self.broken.get(name, LOST), 0.2)
        hosted.taken_at = time.monotonic()
        return hosted

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
        self, hosted: HostedAgent, entries: Sequence[Entry], at: int, keys: Sequence[KeyRow] = ()
    ) -> "asyncio.Future[None]":
        """Put what a call changed into the batch that gathers."""
        hosted.at = at
        future = self.writer.append(hosted.chain.extend(hosted.number, entries, at), hosted.epoch, keys)
        if hosted.seq - hosted.snapshot_seq >= self.limits.snapshot_every:
            hosted.snapshot_seq = hosted.seq
            self._spawn(self._snapshot(hosted))
        return future

    def changed(self, hosted: HostedAgent, entry: Entry, at: int) -> "asyncio.Future[None]":
        """Put a change into the batch that gathers, and mark it on the page."""
        hosted.history.mark(entry.body, at)
        return self.append(hosted, [entry], at)

    async def change(self, hosted: HostedAgent, work: Callable[[], Entry]) -> Entry:
        """Change an agent in a thread, as it may take long if many decisions are open; other calls of the agent wait."""
        await self.turn(hosted)
        hosted.idle.clear()
        try:
            entry = await asyncio.to_thread(work)
            if hosted.dropped:
                raise UnavailableError(LOST, 0.1)
            commit = self.changed(hosted, entry, self.now(hosted))
        except (ValueError, RequestError):  # nothing has changed
            raise
        except asyncio.CancelledError:  # the thread goes on
            self._drop([hosted])
            raise
        except Exception as error:
            self.spoiled(error)
            raise
        finally:
            hosted.idle.set()
        await commit
        return entry

    async def settled(self, hosted: HostedAgent) -> None:
        """Wait until the state of an agent in memory is on disk; reject the call if it never will be."""
        await self.writer.barrier()
        if hosted.dropped:
            raise UnavailableError(LOST, 0.1)

    def spoiled(self, error: Exception) -> None:
        """Drop memory after an error in the middle of a change: the journal knows better."""
        self._failed(error)

    async def create(self, setup: AgentSetup, who: str) -> HostedAgent:
        """Make an agent, add it to the store and serve it; compiling what it needs may take seconds, in a thread."""
        hosted, entry = await asyncio.to_thread(HostedAgent.create, setup)
        hosted.at = self.now()
        await self.compile(hosted)
        rows = hosted.chain.extend(0, [entry], hosted.at)
        audit = Audit(hosted.at, who, "create", setup.name, None, entry.body)
        number = await self.writer.call(lambda store: store.create(setup.name, rows, audit))
        if number is None:
            raise RequestError(409, f"the name of an agent must be new, but there is an agent {setup.name} already")
        hosted.number = self.names[setup.name] = number
        epoch = await self.writer.call(lambda store: store.acquire(number))
        if epoch is not None:
            hosted.epoch = epoch
            self.agents[setup.name] = hosted
        return hosted

    async def retired(self, hosted: HostedAgent) -> None:
        """Note in the store that an agent is retired, so that it counts no more."""
        await self.writer.call(lambda store: store.put_retired(hosted.number, hosted.at))

    async def _snapshot(self, hosted: HostedAgent) -> None:
        while not hosted.idle.is_set():
            await hosted.idle.wait()
        if hosted.dropped:
            return
        copy = hosted.copy()
        hosted.snapshot_seq, hosted.snapshot_at = copy.seq, copy.at
        try:
            snapshot = await asyncio.to_thread(snapshot_of, copy)
            await self.writer.call(lambda store: store.put_snapshot(snapshot, copy.epoch))
        except StoreError as error:
            log("no snapshot", agent=hosted.name, why=str(error))

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
        lost = [hosted for hosted in self.agents.values() if hosted.number in numbers]
        self._drop(lost)
        for hosted in lost:
            log("lease lost", agent=hosted.name, epoch=hosted.epoch)

    def _drop(self, agents: Sequence[HostedAgent]) -> None:
        for hosted in agents:
            hosted.dropped = True
            self.agents.pop(hosted.name, None)

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
            for hosted in list(self.agents.values()):
                if not hosted.idle.is_set():
                    continue
                at = self.now(hosted)
                try:
                    while entries := hosted.due(at, DUE):
                        self.append(hosted, entries, at).add_done_callback(_look)
                        await asyncio.sleep(0)  # other calls are served between two slices
                        if hosted.dropped or not hosted.idle.is_set():
                            break
                    if hosted.idle.is_set() and not hosted.dropped and watched.get(hosted.name) != hosted.seq:
                        if hosted.setup.watchdog:
                            await asyncio.sleep(0)  # other calls are served between two agents
                        if hosted.idle.is_set() and not hosted.dropped:
                            watched[hosted.name] = hosted.seq
                            self._watch(hosted, self.now(hosted))
                except Exception as error:
                    self.spoiled(error)
                    break

    def _watch(self, hosted: HostedAgent, at: int) -> None:
        watched = hosted.watch()
        for name, why in set(watched.blind) - hosted.blind:
            log("watchdog blind", agent=hosted.name, constraint=name, why=why)
        hosted.blind = set(watched.blind)
        if watched.broken is not None:
            rule, why = watched.broken
            entry = hosted.change(AgentChange(safety=SafetyChange(mode=rule.then), why=why), "watchdog")
            self.changed(hosted, entry, at).add_done_callback(_look)
            log("watchdog", agent=hosted.name, mode=rule.then, why=why)

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
        epochs = self._loading | {hosted.number: hosted.epoch for hosted in self.agents.values()}
        self._lost(await self.writer.call(lambda store: store.renew(epochs)))

    async def _upkeep(self) -> None:
        """Take over and hand over agents, read keys, forget old ones."""
        if self.store.shared and self.available:
            await self._share_out()
        if time.monotonic() - self.keys.read_at > REFRESH:
            await self.refresh_keys()
        for hosted in list(self.agents.values()):
            if hosted.seq > hosted.snapshot_seq and self.now() - hosted.snapshot_at > self.limits.snapshot_age * 1e6:
                await self._snapshot(hosted)
        if time.monotonic() - self._forgotten_at > FORGET:
            self._forgotten_at = time.monotonic()
            for hosted in list(self.agents.values()):
                before, number = hosted.at - hosted.keys_for, hosted.number
                await self.writer.call(lambda store, a=number, b=before: store.forget_keys(a, b))  # type: ignore[misc]

    async def _share_out(self) -> None:
        """Hand over agents that another replica should have, and take those that nobody has."""
        replicas = await self._replicas()
        for hosted in list(self.agents.values()):
            settled = time.monotonic() - hosted.taken_at > SETTLED * self.lease  # else agents follow a replica that flaps
            if settled and self._winner(hosted.name, replicas) != self.address:
                await self._hand_over(hosted)
        live = {lease.agent for lease in await self._look(self.store.leases) if lease.live}
        agents = await self._look(self.store.agents)
        self.names = {agent.name: agent.id for agent in agents}
        for agent in agents:
            if agent.id not in live and agent.name not in self.agents and self._winner(agent.name, replicas) == self.address:
                async with self._locks.setdefault(agent.name, asyncio.Lock()):
                    if agent.name not in self.agents:
                        await self._claim(agent.name, True)

    async def _hand_over(self, hosted: HostedAgent) -> None:
        while not hosted.idle.is_set():
            await hosted.idle.wait()
        self._drop([hosted])
        await self.writer.barrier()
        number, epoch = hosted.number, hosted.epoch
        snapshot = await asyncio.to_thread(snapshot_of, hosted)
        await self.writer.call(lambda store: store.put_snapshot(snapshot, epoch))
        await self.writer.call(lambda store: store.release({number: epoch}))
        log("handed over", agent=hosted.name)


def new_owner() -> str:
    """Return a name for this process that no other has."""
    return secrets.token_hex(8)


def _look(future: "asyncio.Future[None]") -> None:
    if not future.cancelled():
        future.exception()  # a close that was not written is made again after the reload
