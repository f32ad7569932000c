"""The breaker of an agent: an action that fails several times in a row rests for a while, and is then probed.

A rest is a change of which actions are available. The records of decisions have the available actions, so a replay
needs no clock: times are not part of an agent's state, and after a restart a rest begins anew.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from typing import NamedTuple

from lewa.agent.records import JsonObject, Label, Plain
from lewa.units import as_number
from lewa.validation import as_count, short_repr

Clock = Callable[[], float]  # returns seconds, from any point in time on


@dataclass(frozen=True)
class Breaker:
    """Let an action that fails several times in a row rest for a while, and then probe it.

    `Agent.fail` reports failures. While an action rests, it is not available. After the rest one decision may draw it: if
    it is answered, the action is back; if it fails, the action rests twice as long. If every available action rests, none
    is left out.

    Parameters
    ----------
    failures : int
        The number of failures in a row after which an action rests.
    rest : float
        The seconds of the first rest.
    longest : float
        The most seconds of a rest; a rest doubles up to it while probes fail.

    Examples
    --------
    >>> import lewa
    >>> limit = lewa.at_most("cost", 0.002, range=(0, 0.01))
    >>> agent = lewa.Agent(["small", "large"], [limit], breaker=lewa.Breaker(failures=2, rest=60), seed=7)
    >>> for _ in range(2):
    ...     _ = agent.fail(agent.pull(available=["large"]), cost=0.001)
    >>> agent.pull().available  # `large` rests for a minute
    ('small',)
    """

    failures: int = 5
    rest: float = 30.0
    longest: float = 600.0

    def __post_init__(self) -> None:
        count = as_count("failures", self.failures)
        rest, longest = as_number("rest", self.rest), as_number("longest", self.longest)
        if not 0 < rest <= longest:
            raise ValueError(f"rest must be positive and at most longest, got rest={rest:g} and longest={longest:g}")
        for name, value in (("failures", count), ("rest", rest), ("longest", longest)):
            object.__setattr__(self, name, value)

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        return asdict(self)


USUAL = Breaker()


def as_breaker(breaker: object) -> Breaker | None:
    """Return a breaker that is given as such or as plain data for JSON; None for no breaker."""
    if breaker is None or isinstance(breaker, Breaker):
        return breaker
    names = list(Breaker.__dataclass_fields__)
    if not isinstance(breaker, Mapping) or set(breaker) - set(names):
        raise ValueError(f"breaker must be None or a Breaker of {', '.join(names)}, got {short_repr(breaker)}")
    return Breaker(**breaker)


class Failures(NamedTuple):
    """The failures of an action in a row."""

    times: int
    last: int  # the newest decision that failed
    rest: float = 0.0  # the seconds that the action rests; 0 if it does not
    since: int = 0  # the number of decisions when the rest began: a later decision of the action is a probe
    back: bool = False  # whether a probe was answered in part: the action is available until its next failure


class RestingAction(NamedTuple):
    """An action that rests, or that waits for the result of its probe."""

    action: Label  # the label of the action
    failures: int  # the number of its failures in a row
    rest: float  # the seconds of its rest
    since: int  # the number of decisions when the rest began

    def __str__(self) -> str:
        often = "once" if self.failures == 1 else f"{self.failures} times in a row"
        return f"{self.action!r} failed {often} and rests for {self.rest:g} s at a time, until it is answered"


class Breakers:
    """The failures in a row of each action, and which actions rest."""

    def __init__(self) -> None:
        self.failed = 0  # decisions
        self.failing: dict[int, Failures] = {}  # by action
        self.clock: Clock = time.monotonic
        self._began: dict[int, float] = {}  # when rests began, by the clock; never saved

    def copy(self) -> "Breakers":
        """Return a copy."""
        twin = copy(self)
        twin.failing, twin._began = dict(self.failing), dict(self._began)
        return twin

    @property
    def resting(self) -> bool:
        """Whether some action rests."""
        return any(failures.rest and not failures.back for failures in self.failing.values())

    def fail(self, action: int, number: int, rounds: int, breaker: Breaker | None, others: Iterable[int]) -> None:
        """Count a failed decision of an action; `others` are the other actions that are not retired."""
        self.failed += 1
        count, last, rest, since, back = self.failing.get(action, Failures(0, 0))
        count, last = count + 1, max(last, number)
        if breaker is None:
            rest = 0.0
        elif not rest and count >= breaker.failures:
            rest, since = breaker.rest, rounds
            self._began[action] = self.clock()
        elif rest and number > since:  # a probe; while every action rests, none is left out, and a decision is no probe
            alone = not all(self.failing[k].rest if k in self.failing else False for k in others)
            rest, since, back = min(2 * rest, breaker.longest) if alone else rest, rounds, False
            self._began[action] = self.clock()
        self.failing[action] = Failures(count, last, rest, since, back)

    def answer(self, action: int, number: int, whole: bool) -> None:
        """End the failures of an action whose decision is answered, if the decision was made after they began.

        An answer to an earlier decision, as a late rating, does not show that the action works now. A part of an answer, as
        a cost, ends a rest only: the call may still fail.
        """
        failures = self.failing.get(action)
        if failures is None or number <= (failures.since if failures.rest else failures.last):
            return
        if whole:
            del self.failing[action]
            self._began.pop(action, None)
        elif failures.rest:
            self.failing[action] = failures._replace(back=True)

    def draw(self, action: int) -> None:
        """Note that an action was drawn: if it rests, this is its probe, and others have to wait for another rest."""
        if action in self.failing and self.failing[action].rest and not self.failing[action].back:
            self._began[action] = self.clock()

    def awake(self, there: Sequence[int]) -> list[int]:
        """Return the actions of these that do not rest now; all of them if every one rests."""
        now = self.clock()
        left = [k for k in there if k not in self.failing or not self._rests(k, self.failing[k], now)]
        return left or list(there)

    def _rests(self, action: int, failures: Failures, now: float) -> bool:
        resting = failures.rest > 0 and not failures.back
        return resting and 0 <= now - self._began.setdefault(action, now) < failures.rest

    def forget(self) -> None:
        """End every rest, as the breaker is switched off or has other settings."""
        self.failing, self._began = {}, {}

    def list_resting(self, actions: Sequence[Label], retired: frozenset[int]) -> tuple[RestingAction, ...]:
        """Return the actions that rest."""
        resting = {action: item for action, item in self.failing.items() if item.rest and not item.back}
        items = sorted(item for item in resting.items() if item[0] not in retired)
        return tuple(RestingAction(actions[k], item.times, item.rest, item.since) for k, item in items)

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON; nothing if nothing has failed."""
        rows = [[action, *failures] for action, failures in sorted(self.failing.items())]
        return {"failures": {"failed": self.failed, "in_a_row": rows}} if self.failed else {}


def breakers_from_plain(plain: Plain | None, actions: int) -> Breakers:
    """Return what `Breakers.plain` wrote."""
    breakers = Breakers()
    if plain is None:
        return breakers
    breakers.failed = as_count("failed", plain["failed"], least=0)
    for action, count, last, rest, since, back in plain["in_a_row"]:
        if not 0 <= action < actions:
            raise ValueError(f"an action that failed must be among {actions}, got {short_repr(action)}")
        breakers.failing[int(action)] = Failures(int(count), int(last), float(rest), int(since), bool(back))
    return breakers
