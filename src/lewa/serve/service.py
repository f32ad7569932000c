"""The verbs of the service on agents: decide, feedback, close, observe, and reading. HTTP is in `api`."""

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from starlette.requests import Request

from lewa.journal.rows import TOLD, Audit, Chain, Entry, KeyRow, Row, stored_key
from lewa.journal.store import Store
from lewa.serve.auth import Caller
from lewa.serve.bodies import Failed, body_of
from lewa.serve.drawing import Drawing, Made
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.everywhere import Everywhere
from lewa.serve.export import plain
from lewa.serve.forward import Forwarder
from lewa.serve.host import LOST, Host
from lewa.serve.hosted import Hosted
from lewa.serve.pace import MOST, Pace
from lewa.serve.reads import Reads
from lewa.serve.schema import (
    AgentChange,
    AgentList,
    AgentSetup,
    AgentView,
    Decided,
    Number,
    Observation,
    Query,
    Story,
    Told,
)
from lewa.serve.served import Served, load

T = TypeVar("T")
Done = tuple[list[Told], list[Entry], Sequence[KeyRow]]  # what a part of a list gave, and what the journal has to hold of it
Given = tuple[str | None, int, Mapping[str, Number] | str]  # the id as given, the number, and the values or why refused


class Service:
    """The operations of the service. Every method that changes an agent returns after its records are on disk."""

    def __init__(self, host: Host, forwarder: Forwarder | None = None) -> None:
        self.host = host
        limits = host.limits
        self.reads = Reads("heavy reads", limits.reads_per_key, limits.reads)
        self.looks = Reads("reads of the present state", limits.looks_per_key, limits.looks)
        self.everywhere = Everywhere(host, forwarder or Forwarder(limits.forwards_per_key), self.reads)

    def stop(self) -> None:
        """End the threads of reads."""
        self.reads.stop()
        self.looks.stop()

    # Agents --------------------------------------------------------------------------------------------------------------

    async def create(self, setup: AgentSetup, who: Caller) -> Served:
        """Make an agent; compiling what it needs may take some seconds, in another thread."""
        limits, host = self.host.limits, self.host
        host.check_available()
        for what, count, most in (
            ("agents", sum(agent.retired is None for agent in await host.known()) + 1, limits.agents),
            ("actions", len(setup.actions), limits.actions),
            ("lines", len(setup.lines), limits.lines),
            ("policies times actions", len(setup.policies) * len(setup.actions), limits.advice),
            ("open decisions", setup.answers.max_open, limits.open),
        ):
            if count > most:
                raise RequestError(413, f"this service allows at most {most} {what}, got {count}")
        if setup.seed is None:
            setup.seed = secrets.randbits(32)
        hosted, entry = await asyncio.to_thread(Hosted.create, setup)
        at = host.now()
        served = Served(0, hosted, Chain(), at, 0, 0)
        await host.compile(served)
        audit = Audit(at, who.id, "create", setup.name, None, entry.body)
        if not await host.create(served, entry, audit):
            raise RequestError(409, f"the name of an agent must be new, but there is an agent {setup.name} already")
        return served

    async def change(self, served: Served, wanted: AgentChange | None, match: str | None, who: Caller) -> None:
        """Change an agent, or retire it if nothing is wanted of it, if it still is the version that the caller saw."""
        await self.host.turn(served)  # from here to the change nothing is awaited
        hosted = served.hosted
        if match is None:
            raise RequestError(
                428, f'a change needs the header If-Match with the current version, If-Match: "{hosted.version}"'
            )
        if match.strip().removeprefix("W/").strip('"') != str(hosted.version):
            raise RequestError(
                412, f"a change must name the current version: {served.name} has version {hosted.version}, got {match}"
            )
        before = msgspec.json.encode(hosted.setup).decode()
        for what, count, most in self._grown(served, wanted):
            if count > most:
                raise RequestError(413, f"this service allows at most {most} {what}, got {count}")
        work = partial(hosted.retire, who.id) if wanted is None else partial(hosted.change, wanted, who.id)
        entry = await self.host.change(served, work)
        audit = Audit(served.at, who.id, "change", served.name, before, entry.body)
        await self.host.writer.call(lambda store: store.put_audit(audit))
        if wanted is None:
            await self.host.retired(served)

    def _grown(self, served: Served, wanted: AgentChange | None) -> list[tuple[str, int, int]]:
        added = wanted.add if wanted is not None and wanted.add is not UNSET else []
        return [("actions", len(served.hosted.actions) + len(added), self.host.limits.actions)]

    async def views(self, request: Request, caller: Caller) -> list[AgentView]:
        """Return all agents that a caller may read, those of other replicas too."""
        here = [served for served in self.host.agents.values() if caller.may("read", served.name)]
        views = await self.looks.run(caller, lambda: {served.name: self.view(served) for served in here})
        for answer in await self.everywhere.ask(request, caller):
            for view in msgspec.json.decode(answer, type=AgentList).agents:
                views.setdefault(view.name, view)
        for hosted, seq in await self.everywhere.rest(views, request, caller):
            views[hosted.setup.name] = view_of(hosted, seq)
        return [views[name] for name in sorted(views)]

    def view(self, served: Served) -> AgentView:
        """Return an agent as it is set up now."""
        return view_of(served.hosted, served.seq)

    # Decisions -----------------------------------------------------------------------------------------------------------

    async def decide(self, served: Served, queries: Sequence[Query | str]) -> list[Decided | str]:
        """Draw an action for each query; a text stands for one that was refused before."""
        keys = [query.key for query in queries if isinstance(query, Query) and query.key is not None]
        await self._fetch_keys(served, keys)
        host, made, commits, pace = self.host, list[tuple[Made, int]](), list[asyncio.Future[None]](), Pace()
        while len(made) < len(queries):
            if made:
                await asyncio.sleep(0)  # other calls are served meanwhile
            await host.turn(served)
            at = host.now(served)
            if served.hosted.retired:
                repeated = len(keys) == len(queries) and all(served.known_key(key, at) is not None for key in keys)
                if not repeated:
                    raise RequestError(410, f"{served.name} is retired: it makes no more decisions")
            drawing = Drawing(served, at)
            try:
                drawing.draw(queries[len(made) :], pace)
            except Exception as error:
                host.spoiled(error)
                raise
            made += [(item, at) for item in drawing.made]
            if drawing.entries:
                commits.append(host.append(served, drawing.entries, at, drawing.keys))
        for commit in commits:
            await commit
        return await self._answers(served, made)

    async def _answers(self, served: Served, made: Sequence[tuple[Made, int]]) -> list[Decided | str]:
        hosted = served.hosted
        repeated = sorted({number for number, _ in made if isinstance(number, int)})
        rows: dict[int | None, Row] = {}
        if repeated:
            await self.host.settled(served)
        for start in range(0, len(repeated), MOST):
            read = await self.host.read(self.host.store.rows_of, served.number, repeated[start : start + MOST])
            rows |= {row.decision: row for row in read if row.kind == "decision"}
            await asyncio.sleep(0)
        answers: list[Decided | str] = []
        for item, at in made:
            if answers and len(answers) % MOST == 0:
                await asyncio.sleep(0)
            if isinstance(item, str):
                answers.append(item)
            elif isinstance(item, int):
                row = rows.get(item)
                answers.append(hosted.answer(item, row.at, body_of(row)) if row is not None else "its journal was deleted")
            else:
                answers.append(hosted.answer(item[0], at, item[1]))
                served.by[item[1].a, item[1].by] += 1
        return answers

    async def _fetch_keys(self, served: Served, keys: Sequence[str], elsewhere: bool = False) -> None:
        """Read keys that are no longer in memory."""
        if not keys or served.keys_complete:
            return
        now = self.host.now(served)
        for n, key in enumerate(keys, 1):
            if n % MOST == 0:
                await asyncio.sleep(0)
            if served.known_key(key, now, elsewhere) is None:
                row = await self.host.read(self.host.store.find_key, served.number, stored_key(key, elsewhere))
                if row is not None and served.known_key(key, now, elsewhere) is None:
                    served.keys[row.key] = (row.decision, min(row.at, now))
        if served.dropped:
            raise UnavailableError(LOST, 0.1)

    async def observe(self, served: Served, seen: Sequence[Observation | str]) -> list[Told]:
        """Take over decisions made elsewhere."""
        if served.hosted.retired:
            raise RequestError(410, f"{served.name} is retired: it records no decisions made elsewhere")
        keys_seen = [item.key for item in seen if isinstance(item, Observation) and item.key is not None]
        await self._fetch_keys(served, keys_seen, elsewhere=True)

        def take(part: Sequence[Observation | str], at: int) -> Done:
            entries: list[Entry] = []
            keys: list[KeyRow] = []
            results = [self._observe_one(served, observation, at, entries, keys) for observation in part]
            return results, entries, keys

        return await self._in_slices(served, seen, take)

    def _observe_one(
        self, served: Served, seen: Observation | str, at: int, entries: list[Entry], keys: list[KeyRow]
    ) -> Told:
        hosted = served.hosted
        if isinstance(seen, str):
            return Told(None, "refused", seen)
        known = None if seen.key is None else served.known_key(seen.key, at, elsewhere=True)
        if known is not None:
            return Told(hosted.id_of(known), "same")
        try:
            made, number = hosted.observe(seen, at)
        except ValueError as error:
            return Told(None, "refused", str(error))
        entries += made
        if seen.key is not None:
            keys.append(served.remember_key(seen.key, number, at, elsewhere=True))
        served.by[hosted.actions.index(seen.action), "elsewhere"] += 1  # `by` is any text, a metric has few labels
        return Told(hosted.id_of(number), "kept" if number in hosted.open else "learned")

    async def _in_slices(
        self,
        served: Served,
        items: Sequence[T],
        take: Callable[[Sequence[T], int], Done],
        numbers: Callable[[Sequence[T]], Sequence[int]] = lambda part: (),
    ) -> list[Told]:
        """Apply the entries of a call, as many at a time as a moment allows: then other calls are served."""
        host, answered, commits, pace = self.host, list[Told](), list[asyncio.Future[None]](), Pace()
        while len(answered) < len(items):
            if answered:
                await asyncio.sleep(0)
            rest, entries, keys = items[len(answered) :], list[Entry](), list[KeyRow]()
            await self._fetch_finished(served, numbers(rest[:MOST]))
            at = host.now(served)
            try:
                for part in pace.parts(rest):
                    results, made, bound = take(part, at)
                    answered += results
                    entries += made
                    keys += bound
            except Exception as error:
                host.spoiled(error)
                raise
            if entries:
                commits.append(host.append(served, entries, at, keys))
        for commit in commits:
            await commit
        if any(result.result == "same" for result in answered):
            await host.settled(served)  # what it is the same as may not be on disk yet
        return answered

    # Answers -------------------------------------------------------------------------------------------------------------

    async def feedback(self, served: Served, answers: Sequence[Given]) -> list[Told]:
        """Apply the reported values of decisions, each entry for itself."""

        def take(part: Sequence[Given], at: int) -> Done:
            served.hosted.at = at
            complete = [(number, values) for _, number, values in part if not isinstance(values, str)]
            outcomes = iter(served.hosted.tell_many(complete))
            results, entries = [], list[Entry]()
            for decision, _, values in part:
                result, why, entry = ("refused", values, None) if isinstance(values, str) else next(outcomes)
                if entry is not None:
                    entries.append(entry)
                results.append(Told(decision, result, why))
            served.results.update(result.result for result in results)
            return results, entries, ()

        return await self._in_slices(served, answers, take, lambda part: [number for _, number, _ in part])

    async def close(self, served: Served, answers: Sequence[tuple[str | None, int, str | None]]) -> list[Told]:
        """End decisions."""

        def take(part: Sequence[tuple[str | None, int, str | None]], at: int) -> Done:
            results, entries = [], list[Entry]()
            for decision, number, refused in part:
                result, why, entry = ("refused", refused, None) if refused is not None else served.hosted.close(number)
                if entry is not None:
                    entries.append(entry)
                results.append(Told(decision, result, why))
            return results, entries, ()

        return await self._in_slices(served, answers, take)

    async def _fetch_finished(self, served: Served, numbers: Sequence[int]) -> None:
        """Wait for the turn of a call, with the values of these decisions in memory where they are finished."""
        await self.host.turn(served)
        while missing := served.hosted.missing(numbers):
            await self.host.writer.barrier()
            rows = await self.host.read(self.host.store.rows_of, served.number, missing)
            await self.host.turn(served)
            values: dict[int, dict[str, Number]] = {number: {} for number in missing}
            for row in rows:
                if row.kind in TOLD and row.decision in values:
                    values[row.decision].update(msgspec.json.decode(row.body, type=dict[str, Number]))
                if row.kind == "fail" and row.decision in values:
                    values[row.decision] = Failed(values[row.decision])
            served.hosted.remember({number: values[number] for number in served.hosted.missing(missing)})
        for number in numbers:  # those that this call finishes push out others
            if number in served.hosted.finished:
                served.hosted.finished.move_to_end(number)

    # Reading -------------------------------------------------------------------------------------------------------------

    async def story(self, served: Served, decision: str) -> Story:
        """Return everything that the journal has about one decision, by its id, or by what comes after the agent's name."""
        number = served.hosted.number_of(decision if ":" in decision else f"{served.name}:{decision}")
        if not number and re.fullmatch(r"[0-9]{1,15}", decision):  # a number stands for the decision that has it here
            number = int(decision)
        rows = await self.host.read(self.host.store.rows_of, served.number, [number]) if number else []
        made = next((row for row in rows if row.kind == "decision"), None)
        if made is None:
            raise RequestError(
                404, f"{served.name} has no decision {decision:.100}; a restored backup lacks those made after it"
            )
        hosted, values = served.hosted, {}
        for row in rows:
            if row.kind in TOLD:
                values.update(msgspec.json.decode(row.body))
        ends = {"fail": "failed", "close": "closed"}
        ended = next((ends[row.kind] for row in rows if row.kind in ends), "answered")
        state = "open" if number in hosted.open else ended
        answer = hosted.answer(number, made.at, body_of(made))
        records = [plain(row, hosted.actions) for row in rows]
        return Story(answer.decision, state, answer.action, answer.probability, values, records)

    async def status(self, served: Served, at: int | None, caller: Caller) -> dict[str, Any]:
        """Return the status now, or as it was after a record of the journal."""
        if at is None:
            return await self.looks.run(caller, served.hosted.status, self.host.now())
        if not 1 <= at <= served.seq:
            raise RequestError(404, f"{served.name} has records 1 to {served.seq}, got {at}")
        await self.host.writer.barrier()
        return await self.reads.run(caller, _status_at, self.host.store, served.number, at)


def _status_at(store: Store, number: int, at: int) -> dict[str, Any]:
    hosted, _, then, _ = load(store, number, at)
    return hosted.status(then)


def view_of(hosted: Hosted, seq: int) -> AgentView:
    """Return an agent as it is set up after a record."""
    setup = msgspec.to_builtins(hosted.setup)
    return AgentView(hosted.setup.name, hosted.version, hosted.retired, setup, hosted.learner, hosted.decisions, seq)
