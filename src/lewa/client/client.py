"""The two clients, which differ only in how they wait for a decision, and the decision itself."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import httpx2

from lewa.client.arguments import as_fallback, as_key, as_seconds, as_text, query_of
from lewa.client.outbox import PAUSE, Outbox
from lewa.client.sender import Refusal, address, is_rejection
from lewa.client.spill import Entry
from lewa.ids import read_id
from lewa.validation import as_path, short_repr
from lewa.version import __version__

LONGEST = 200  # characters of a key that the service takes
END = ""  # among what was reported: the end of the decision
MARK = "/client"  # at the end of the key under which a fallback is reported


@dataclass(frozen=True)
class ServedDecision:
    """An action to take. As a context manager it is reported as failed if its block ends in an exception.

    It is only closed if the block has reported a reward, or was cancelled or interrupted. If the block has called `close` or
    `fail`, nothing is sent.
    """

    agent: str  # the name of the agent
    action: str  # the name of the action
    probability: float  # the probability with which it was drawn
    id: str | None  # such as "router:17"; None for a fallback, which the service learns with its first answer
    key: str  # the key of the request
    by: str  # "learner", or another part of the service; "client" if the client used its fallback
    outbox: Outbox  # sends the answers
    _reported: set[str] = field(
        default_factory=set, init=False, repr=False, compare=False
    )  # what was reported by this object

    def feedback(self, **values: float) -> None:
        """Report values of the decision, all or some of them; they are sent in the background."""
        self.outbox.put(self._entry("feedback", values))
        self._reported.update(values)

    def fail(self, **values: float) -> None:
        """Report that the action failed: the least reward, and the costs that are told. It is sent in the background."""
        self.outbox.put(self._entry("fail", values))
        self._reported.add(END)

    def close(self) -> None:
        """Close the decision: no more values will follow. The request is sent in the background."""
        self.outbox.put(self._entry("close", {}))
        self._reported.add(END)

    def _entry(self, verb: str, values: dict[str, float]) -> Entry:
        entry: Entry = {"agent": self.agent, "verb": verb, "decision": self.id, "values": values}
        if self.id is None:
            key = self.key if len(self.key) <= LONGEST - len(MARK) else sha256(self.key.encode()).hexdigest()
            entry |= {"action": self.action, "key": key + MARK}
        return entry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or END in self._reported:
            return
        if issubclass(kind, Exception) and "reward" not in self._reported:
            self.fail()
        else:
            self.close()


ANSWER = 10.0  # seconds that the service has to take answers in, which nobody waits for


class Unavailable(ConnectionError):  # noqa: N818  it says what is the matter
    """Raised when the service did not decide in time, and there is no fallback."""


class _Base:
    """The common part of both clients."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 1.0,
        fallback: str | Mapping[str, str] | None = None,
        queue: int = 10_000,
        spill: str | Path | None = None,
    ) -> None:
        if isinstance(queue, bool) or not isinstance(queue, int) or queue < 1:
            raise ValueError(f"queue must be a whole number of at least 1, got {short_repr(queue)}")
        self._timeout, self._fallback = as_seconds("timeout", timeout), as_fallback(fallback)
        file = None if spill is None else Path(as_path("spill", spill))
        headers = {"Authorization": f"Bearer {as_key(key)}", "User-Agent": f"lewa/{__version__}"}
        self._options: dict[str, Any] = {"base_url": url, "headers": headers}
        try:
            self._sender = httpx2.Client(**self._options, timeout=ANSWER)
        except (TypeError, ValueError, httpx2.InvalidURL):
            raise ValueError(f"url must be the address of the service, got {short_repr(url)}") from None
        self._outbox = Outbox(self._sender, queue, file)

    @property
    def waiting(self) -> int:
        """The number of answers that the service has not acknowledged yet."""
        return len(self._outbox)

    @property
    def refused(self) -> list[Refusal]:
        """The last answers that the service rejected, and the reasons."""
        return list(self._outbox.refused)

    def feedback(self, decision: ServedDecision | str, /, **values: float) -> None:
        """Report values of a decision, given as an object or by its id, as "router:17"; they are sent in the background."""
        if isinstance(decision, ServedDecision):
            decision.feedback(**values)
        else:
            self._put("feedback", decision, values)

    def fail(self, decision: ServedDecision | str, /, **values: float) -> None:
        """Report that the action of a decision failed, and values that are known all the same, such as its cost."""
        if isinstance(decision, ServedDecision):
            decision.fail(**values)
        else:
            self._put("fail", decision, values)

    def _put(self, verb: str, decision: object, values: Mapping[str, float]) -> None:
        parts = read_id(decision) if isinstance(decision, str) else None
        if parts is None or not isinstance(decision, str):
            hint = "a decision of the fallback has the id None, so pass the decision itself"
            raise ValueError(f"a decision must be an id that decide returned, got {short_repr(decision)}; {hint}")
        self._outbox.put({"agent": parts.agent, "verb": verb, "decision": decision, "values": values})

    def _decided(self, agent: str, key: str, answer: httpx2.Response) -> ServedDecision | None:
        """Return the decision; None if the same request is to be sent again."""
        if answer.status_code == 200:
            try:
                body = answer.json()
                action, probability, number = str(body["action"]), float(body["probability"]), str(body["decision"])
                return ServedDecision(agent, action, probability, number, key, body.get("by", "learner"), self._outbox)
            except (TypeError, ValueError, KeyError, AttributeError):
                return None  # half of an answer, or not the service's
        if is_rejection(answer):
            raise ValueError(f"the service rejected the request: {answer.text[:300]}")
        return None

    def _fall_back(self, agent: str, key: str) -> ServedDecision:
        action = self._fallback if isinstance(self._fallback, str | None) else self._fallback.get(agent)
        if action is None:
            raise Unavailable(f"the service did not answer for {agent} within {self._timeout:g} s, and there is no fallback")
        return ServedDecision(agent, action, 1.0, None, key, "client", self._outbox)


class Client(_Base):
    """A client of the decision service.

    Parameters
    ----------
    url, key
        The address of the service, and a key with the scopes `decide` and `feedback`.
    timeout
        The most seconds that a decision may take, retries included. Every retry has the same key and so the same decision.
    fallback
        The action to use if the service does not answer in time, or a mapping of agents to actions. The client reports it to
        the service later, with its reward and costs. Without a fallback `Unavailable` is raised.
    queue, spill
        The number of answers that may wait in memory, and a file for further ones. When the client is closed, the file also
        keeps the unsent answers; the next client with this file sends them.
    """

    def __init__(self, url: str, key: str, **options: Any) -> None:
        super().__init__(url, key, **options)
        self._http = httpx2.Client(**self._options)

    def decide(
        self,
        agent: str,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        reserve: Mapping[str, float] | None = None,
        context: Mapping[str, object] | None = None,
        advice: Mapping[str, object] | None = None,
    ) -> ServedDecision:
        """Return a decision; `with client.decide("router") as decision:` reports it as failed on an exception.

        Parameters
        ----------
        agent
            The name of the agent.
        key
            Your key for the request: the same key gets the same decision. By default a random key makes retries safe.
        available
            The actions that can be taken now; all of them by default.
        reserve
            The largest cost of the decision, by constraint, at which it counts until its answer comes.
        context
            The context of the request, for an agent that declares one.
        advice
            The advice of policies by name, for an agent that mixes policies: an action, or probabilities of actions.
        """
        self._outbox.check_process()
        as_text("agent", agent)
        query = query_of(key, available, reserve=reserve, context=context, advice=advice)
        end, pause = time.monotonic() + self._timeout, PAUSE
        while (left := end - time.monotonic()) > 0:
            try:
                answer = self._http.post(address(agent, "decide"), json=query, timeout=left)
            except httpx2.HTTPError:
                pass
            else:
                decision = self._decided(agent, str(query["key"]), answer)
                if decision is not None:
                    return decision
            time.sleep(max(0.0, min(pause, end - time.monotonic())))
            pause *= 2
        return self._fall_back(agent, str(query["key"]))

    def flush(self, seconds: float = ANSWER) -> bool:
        """Wait at most this many seconds until all answers are acknowledged; return whether they are."""
        return self._outbox.flush(as_seconds("seconds", seconds, zero=True))

    def close(self, seconds: float = ANSWER) -> int:
        """Send the remaining answers for at most this many seconds; return how many are lost: none with a spill file."""
        lost = self._outbox.close(as_seconds("seconds", seconds, zero=True))
        self._http.close()
        self._sender.close()
        return lost

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Base):
    """The client for asyncio: `decide`, `flush` and `close` are awaited; a thread sends the answers."""

    def __init__(self, url: str, key: str, **options: Any) -> None:
        super().__init__(url, key, **options)
        self._http = httpx2.AsyncClient(**self._options)

    async def decide(
        self,
        agent: str,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        reserve: Mapping[str, float] | None = None,
        context: Mapping[str, object] | None = None,
        advice: Mapping[str, object] | None = None,
    ) -> ServedDecision:
        """Return a decision; `with await client.decide("router") as decision:` reports it as failed on an exception.

        Parameters
        ----------
        agent
            The name of the agent.
        key
            Your key for the request: the same key gets the same decision. By default a random key makes retries safe.
        available
            The actions that can be taken now; all of them by default.
        reserve
            The largest cost of the decision, by constraint, at which it counts until its answer comes.
        context
            The context of the request, for an agent that declares one.
        advice
            The advice of policies by name, for an agent that mixes policies: an action, or probabilities of actions.
        """
        self._outbox.check_process()
        as_text("agent", agent)
        query = query_of(key, available, reserve=reserve, context=context, advice=advice)
        end, pause = time.monotonic() + self._timeout, PAUSE
        while (left := end - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):  # of the whole request; that of httpx2 is one of each part
                    answer = await self._http.post(address(agent, "decide"), json=query, timeout=left)
            except (httpx2.HTTPError, TimeoutError):
                pass
            else:
                decision = self._decided(agent, str(query["key"]), answer)
                if decision is not None:
                    return decision
            await asyncio.sleep(max(0.0, min(pause, end - time.monotonic())))
            pause *= 2
        return self._fall_back(agent, str(query["key"]))

    async def flush(self, seconds: float = ANSWER) -> bool:
        """Wait at most this many seconds until all answers are acknowledged; return whether they are."""
        return await asyncio.to_thread(self._outbox.flush, as_seconds("seconds", seconds, zero=True))

    async def close(self, seconds: float = ANSWER) -> int:
        """Send the remaining answers for at most this many seconds; return how many are lost: none with a spill file."""
        lost = await asyncio.to_thread(self._outbox.close, as_seconds("seconds", seconds, zero=True))
        await self._http.aclose()
        self._sender.close()
        return lost

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
