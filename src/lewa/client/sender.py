"""Send answers to the service and understand what it says."""

import logging
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import quote

import httpx2

from lewa.client.spill import Entry

Refusal: TypeAlias = tuple[Mapping[str, object], str]  # an answer, and why the service did not take it
Result: TypeAlias = Mapping[str, object]  # of one answer, as the service sends it
FALLBACKS = 10_000  # fallbacks whose decision is remembered
WAITING = (401, 403, 408, 425, 429)  # also a rejected key: answers are worth more than a key that was revoked too early
log = logging.getLogger("lewa.client")


def address(agent: str, verb: str) -> str:
    """Return the address of an agent's verb, whatever characters the name has."""
    return f"/v1/agents/{quote(agent, safe='')}/{verb}"


def is_rejection(answer: httpx2.Response) -> bool:
    """Return whether the service itself says that a request is wrong. All else, as a page of a proxy, is no answer."""
    if not 400 <= answer.status_code < 500 or answer.status_code in (408, 425, 429):
        return False
    try:
        return isinstance(answer.json()["error"], str)
    except (TypeError, ValueError, KeyError):
        return False


class Sender:
    """Sends answers of one agent and one verb at a time, and keeps those that the service rejected."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        self._decisions: OrderedDict[tuple[str, str], str] = OrderedDict()  # of fallbacks, by agent and key
        self._silent = False  # whether the last request had no answer, which is logged once
        self.refused: deque[Refusal] = deque(maxlen=100)  # the last that the service did not take, and why

    def send(self, batch: list[Entry]) -> int:
        """Send answers; return how many of them, from the first, the service has acknowledged or rejected."""
        if batch[0]["decision"] is None:
            known = self._known(batch[0])
            if not isinstance(known, str):
                return int(known)
            batch = [{**batch[0], "decision": known}]
        verb = batch[0]["verb"]
        failed = {"result": "failed"} if verb == "fail" else {}
        bodies = [{"decision": entry["decision"], **failed, **entry["values"]} for entry in batch]
        results = self._post(batch[0]["agent"], "feedback" if verb == "fail" else verb, bodies)
        if results is None:
            return 0
        if isinstance(results, str):
            if len(batch) == 1:
                self.refuse(batch[0], results)
                return 1
            return self._one_by_one(batch)
        for entry, result in zip(batch, results, strict=True):
            if result.get("result") in ("conflict", "unknown", "refused"):
                self.refuse(entry, f"{result['result']}: {result.get('why') or ''}")
        return len(batch)

    def refuse(self, entry: Mapping[str, object], why: str) -> None:
        """Remember an answer that is not sent again, and the reason."""
        self.refused.append((entry, why))
        log.warning("the service rejected the answer %s: %s", entry, why)

    def _one_by_one(self, batch: list[Entry]) -> int:
        """Send answers alone, so that one of them does not spoil the others."""
        for done, entry in enumerate(batch):
            if not self.send([entry]):
                return done
        return len(batch)

    def _known(self, entry: Entry) -> str | bool:
        """Return the decision of a fallback, which the service hears of first; whether it is done with, if there is none.

        The service knows the key of a fallback for a limited time, so the decision is remembered here.
        """
        name = (entry["agent"], entry["key"])
        if name not in self._decisions:
            seen = {"action": entry["action"], "probability": 1.0, "propensities": {entry["action"]: 1.0}}
            results = self._post(entry["agent"], "observe", [{**seen, "key": entry["key"], "by": "client"}])
            if results is None:
                return False
            decision = None if isinstance(results, str) else results[0].get("decision")
            if not isinstance(decision, str):
                self.refuse(entry, results if isinstance(results, str) else str(results[0].get("why")))
                return True
            self._decisions[name] = decision
            if len(self._decisions) > FALLBACKS:
                self._decisions.popitem(last=False)
        return self._decisions[name]

    def _post(self, agent: str, verb: str, bodies: Sequence[Mapping[str, object]]) -> list[Result] | str | None:
        """Return one result for each body; a sentence if the request is rejected; None if it is to be sent again."""
        try:
            answer = self._http.post(address(agent, verb), json=bodies)
            if answer.status_code == 200:
                results = next(iter(answer.json().values()))  # "results"; version 0.2 of the service has another word
                if len(results) == len(bodies) and all(isinstance(result, dict) for result in results):
                    self._silent = False
                    return list(results)
        except Exception as error:  # no answer, or half of one; the thread goes on whatever it is
            self._note_silence(type(error).__name__)
            return None
        if is_rejection(answer) and answer.status_code not in WAITING:
            return answer.text[:200]
        self._note_silence(f"status {answer.status_code}, {answer.text[:200]!r}")
        return None

    def _note_silence(self, why: str) -> None:
        """Log once that answers wait."""
        level = logging.DEBUG if self._silent else logging.WARNING
        log.log(level, "the service does not take answers, so they wait: %s", why)
        self._silent = True
