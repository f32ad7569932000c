"""The whole surface against a plain model in memory, by random sequences of calls with restarts in between."""

import json
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from lewa.ids import read_id
from lewa.serve.auth import SCOPES
from tests.serve.inside import Client, service

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
SETUP = {
    "name": "m",
    "actions": ["a", "b"],
    "constraints": [{"name": "cost", "at_most": 0.5}],
    "seed": 1,
    "answers": {"max_open": 4},
    "safety": {"fallback": "a"},
}
LONG = bool(os.environ.get("LEWA_SERVICE"))
EXAMPLES = int(os.environ.get("LEWA_FUZZ", "0")) // 50 or (60 if LONG else 6)  # make fuzz-service: a fiftieth of its cases
CONTEXT = [{"kind": "number", "name": "x", "range": [0, 1]}]
FIELDS = ("reward", "cost")
values = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from([-1.0, 0.0, 0.25, 1.0]), max_size=2)


CALLS: list[tuple[str, str, str, Any]] = [  # that change nothing, by the scope that they need
    ("decide", "POST", "/v1/agents/m/decide", []),
    ("feedback", "POST", "/v1/agents/m/feedback", []),
    ("feedback", "POST", "/v1/agents/m/close", []),
    ("read", "GET", "/v1/agents/m/status", None),
    ("admin", "PATCH", "/v1/agents/m", {"keys_for": "never"}),
]


@dataclass
class Cap:
    """A hard cap of one period: bills, and the worst of decisions without one."""

    total: float
    trust: bool = False
    spent: float = 0.0
    waiting: dict[int, float] = field(default_factory=dict)

    def has_room(self, worst: float) -> bool:
        return self.spent + sum(self.waiting.values()) + worst <= self.total


class Surface(RuleBasedStateMachine):
    """What a caller may rely on, written down without any learner."""

    @initialize(context=st.booleans())
    def begin(self, context: bool) -> None:
        self.disk, self.stack = ExitStack(), ExitStack()
        self.folder = Path(self.disk.enter_context(TemporaryDirectory(prefix="lewa-model-")))
        self.told: dict[int, dict[str, float]] = {}
        self.open: list[int] = []
        self.ids, self.restarted = dict[int, str](), False
        self.late, self.closed, self.version, self.retired = 0, 0, 1, False
        self.mode, self.changes, self.told_records = "live", 0, 0
        self.keys: dict[str, tuple[int, object]] = {}
        self.actions, self.gone, self.limit = ["a", "b"], set[str](), 0.5
        self.exposure, self.share = 1.0, 0.0
        self.cap: Cap | None = None
        self.seen: dict[str, object] = {"context": {"x": 0.25}} if context else {}
        self.web: Client = self.stack.enter_context(service(self.folder, snapshot_every=7))
        setup = {**SETUP, "context": CONTEXT} if context else SETUP
        assert self.web.call("POST", "/v1/agents", setup)[0] == 201

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            with self.disk, self.stack:  # a service that is left running would never let the process end
                self.agrees()

    @rule()
    def restart(self) -> None:
        state = self.web.call("GET", "/v1/agents/m/state")[1]
        self.stack.close()
        self.web = self.stack.enter_context(service(self.folder, snapshot_every=7))
        assert self.web.call("GET", "/v1/agents/m/state")[1] == state
        self.restarted = True

    def decided(self, worst: float = 1.0) -> int:
        number = len(self.told) + 1
        if len(self.open) == 4:
            self.open.pop(0)
            self.closed += 1
        self.told[number] = {}
        self.open.append(number)
        if self.cap is not None:
            self.cap.waiting[number] = worst
        return number

    def who_decides(self, mask: list[str] | None, worst: float) -> tuple[str, list[str]] | None:
        """Return who decides and among which actions; None if the query is refused."""
        there = [action for action in mask or self.actions if action not in self.gone]
        if not set(mask or []) <= set(self.actions) or not there:
            return None
        if self.mode in ("off", "shadow") and "a" in there:
            return "fallback", ["a"]
        if self.cap is None or self.cap.has_room(worst):
            return "learner", there
        return ("cap", ["a"]) if "a" in there else None

    @rule(
        keys=st.lists(st.sampled_from([None, "x", "y", "z"]), min_size=1, max_size=3),
        mask=st.sampled_from([None, None, ["a"], ["b"], ["a", "c"], ["q"]]),
        reserve=st.sampled_from([None, 0.0, 0.5]),
    )
    def decide(self, keys: list[str | None], mask: list[str] | None, reserve: float | None) -> None:
        special = {} if reserve is None else {"reserve": {"cost": reserve}}
        body = [{"key": key, "available": mask, **special, **self.seen} for key in keys]
        status, answer = self.web.call("POST", "/v1/agents/m/decide", body)
        if self.retired and not all(key in self.keys for key in keys):  # what is repeated is answered as before
            assert status == 410
            return
        for key, made in zip(keys, answer["decisions"], strict=True):
            if key in self.keys:
                _, before = self.keys[key or ""]
                assert (made["decision"], made["action"], made["probability"]) == before
                continue
            trusted = reserve is not None and self.cap is not None and self.cap.trust
            worst = reserve if trusted and reserve is not None else 1.0
            wanted = self.who_decides(mask, worst)
            if wanted is None:
                assert "refused" in made
                continue
            by, among = wanted
            number = self.decided(worst)
            self.note_id(number, made["decision"])
            assert (made["by"], made["action"] in among) == (by, True)
            self.check_propensities(made, by, mask)
            if key is not None:
                self.keys[key] = (number, (made["decision"], made["action"], made["probability"]))

    def note_id(self, number: int, decision: str) -> None:
        """Note the id of a decision: after the service was started again, it has a tag."""
        parts = read_id(decision)
        assert parts is not None
        assert (parts.agent, parts.number, parts.tag is None) == ("m", number, not self.restarted)
        self.ids[number] = decision

    def id(self, number: int) -> str:
        return self.ids.get(number, f"m:{number}")

    def check_propensities(self, made: dict[str, Any], by: str, mask: list[str] | None) -> None:
        play = made["propensities"]
        assert sum(play.values()) == pytest.approx(1)
        assert play[made["action"]] == pytest.approx(made["probability"])
        assert all(play[action] == 0 for action in self.gone)
        if by == "learner" and mask is None and "b" not in self.gone:
            assert play["b"] >= self.exposure * self.share - 1e-9  # the share is one of what the learner decides
            assert play["a"] >= 1 - self.exposure - 1e-9

    @rule(seen=values)
    def observe(self, seen: dict[str, float]) -> None:
        body = [{"action": "a", "probability": 0.5, "values": seen, **self.seen}]
        status, answer = self.web.call("POST", "/v1/agents/m/observe", body)
        if self.retired:
            assert status == 410
            return
        number = self.decided()
        self.told[number] = dict(seen)
        self.bill(number, seen)
        self.told_records += bool(seen)
        if len(seen) == 2:
            self.open.remove(number)
        self.note_id(number, answer["observed"][0]["decision"])
        assert answer["observed"][0]["result"] == ("learned" if len(seen) == 2 else "kept")

    @rule(entries=st.lists(st.tuples(st.integers(0, 5), values), min_size=1, max_size=3))
    def feedback(self, entries: list[tuple[int, dict[str, float]]]) -> None:
        body = [{"decision": self.id(number), **given} for number, given in entries]
        answer = self.web.call("POST", "/v1/agents/m/feedback", body)[1]["results"]
        assert [entry["result"] for entry in answer] == [self.expected(number, given) for number, given in entries]

    def expected(self, number: int, given: dict[str, float]) -> str:
        before = self.told.get(number)
        if before is None:
            return "unknown"
        if any(name in before and before[name] != value for name, value in given.items()):
            return "conflict"
        fresh = {name: value for name, value in given.items() if name not in before}
        if not given:
            return "refused"
        if not fresh:
            return "same"
        before.update(fresh)
        self.bill(number, fresh)
        self.told_records += 1
        if number not in self.open:
            self.late += len(fresh)
            return "late"
        if len(before) == 2:
            self.open.remove(number)
            return "learned"
        return "kept"

    def bill(self, number: int, fresh: dict[str, float]) -> None:
        if self.cap is not None and "cost" in fresh and self.cap.waiting.pop(number, None) is not None:
            self.cap.spent += max(fresh["cost"], 0.0)  # a bill below the range counts as its end

    @rule(number=st.integers(0, 5))
    def close(self, number: int) -> None:
        result = self.web.call("POST", "/v1/agents/m/close", [{"decision": self.id(number)}])[1]["results"][0]["result"]
        assert result == ("unknown" if number not in self.told else "closed" if number in self.open else "same")
        if result == "closed":
            self.open.remove(number)
            self.closed += 1

    @rule(number=st.integers(0, 5))
    def story(self, number: int) -> None:
        status, story = self.web.call("GET", f"/v1/agents/m/decisions/{self.id(number)}")
        if number not in self.told:
            assert status == 404
        else:
            assert story["values"] == self.told[number]
            assert (story["state"] == "open") == (number in self.open)

    def patch(self, **wanted: object) -> Any:
        """Change the agent; return how it is set up now."""
        status, view = self.web.call("PATCH", "/v1/agents/m", wanted, If_Match=f'"{self.version}"')
        assert status == 200, view
        self.version, self.changes = self.version + 1, self.changes + 1
        return view["setup"]

    def refused(self, **wanted: object) -> None:
        before = self.web.call("GET", "/v1/agents/m/state")[1]
        assert self.web.call("PATCH", "/v1/agents/m", wanted, If_Match=f'"{self.version}"')[0] == 400
        assert self.web.call("GET", "/v1/agents/m/state")[1] == before

    @rule(match=st.booleans())
    def change(self, match: bool) -> None:
        number = self.version if match else self.version + 1
        status, _ = self.web.call("PATCH", "/v1/agents/m", {"keys_for": "48h"}, If_Match=f'"{number}"')
        assert status == (200 if match else 412)
        self.version += match
        self.changes += match

    @rule(mode=st.sampled_from(["live", "shadow", "frozen", "off"]))
    def switch(self, mode: str) -> None:
        assert self.patch(safety={"mode": mode})["safety"]["mode"] == mode
        self.mode = mode

    @rule(exposure=st.sampled_from([0.25, 1.0]), share=st.sampled_from([0.0, 0.25]))
    def expose(self, exposure: float, share: float) -> None:
        if "b" in self.gone:
            return
        safety = self.patch(safety={"exposure": exposure, "shares": {"b": share}})["safety"]
        assert (safety["exposure"], safety["shares"].get("b", 0.0)) == (exposure, share)
        self.exposure, self.share = exposure, share

    @rule(limit=st.sampled_from([0.25, 0.5, 0.75]))
    def move_a_line(self, limit: float) -> None:
        assert self.patch(constraints=[{"name": "cost", "at_most": limit}])["constraints"][0]["at_most"] == limit
        self.refused(constraints=[{"name": "cost", "at_least": limit}])
        self.refused(constraints=[{"name": "fun", "at_most": limit}])
        self.limit = limit

    @rule(action=st.sampled_from(["b", "c", "d"]))
    def add_an_action(self, action: str) -> None:
        if action in self.actions:
            self.refused(add=[{"name": action, "like": "a"}])
            return
        self.actions.append(action)
        live = self.patch(add=[{"name": action, "like": "a"}])["actions"]
        assert live == [name for name in self.actions if name not in self.gone]

    @rule(action=st.sampled_from(["b", "c"]))
    def retire_an_action(self, action: str) -> None:
        if action not in self.actions or action in self.gone or (action == "b" and self.share):
            return
        self.gone.add(action)
        live = self.patch(retire=[action])["actions"]
        assert live == [name for name in self.actions if name not in self.gone]
        self.refused(add=[{"name": action, "like": "a"}])

    @rule(total=st.sampled_from([None, 0.75, 2.0]), trust=st.booleans())
    def set_a_cap(self, total: float | None, trust: bool) -> None:
        caps = [] if total is None else [{"constraint": "cost", "total": total, "per": "week", "trust_reserve": trust}]
        assert [cap["total"] for cap in self.patch(caps=caps).get("caps", [])] == [cap["total"] for cap in caps]
        if total is None:
            self.cap = None
        elif self.cap is None:
            self.cap = Cap(total, trust)
        else:
            self.cap.total, self.cap.trust = total, trust  # what was spent in this period stays spent

    @rule(debt=st.sampled_from([-1e6, 1e6]))
    def watch(self, debt: float) -> None:
        """Set a watchdog, let it bite or not, and take it back."""
        if self.retired:
            return
        self.patch(watchdog=[{"constraint": "cost", "debt": debt}])
        status = self.web.call("GET", "/v1/agents/m/status")[1]
        if self.mode in ("live", "frozen") and status["constraints"][0]["debt"] > debt:
            while status["mode"] != "off":
                time.sleep(0.02)
                status = self.web.call("GET", "/v1/agents/m/status")[1]
            self.mode, self.version, self.changes = "off", self.version + 1, self.changes + 1
        self.patch(watchdog=[])

    @rule(scope=st.sampled_from(SCOPES), agents=st.sampled_from(["m", "x*"]))
    def use_a_key(self, scope: str, agents: str) -> None:
        """A key does what its scope says, of its agents, until it is revoked."""
        key, state = self.web.make_key(scope, agents=agents), self.web.call("GET", "/v1/agents/m/state")[1]
        for needed, method, path, body in CALLS:
            allowed = agents == "m" and scope in (needed, "admin")
            status = self.web.call(method, path, body, key=key)[0]
            assert (status == 403) == (not allowed), (scope, needed, status)
        assert self.web.call("GET", "/v1/agents/m/state")[1] == state
        self.web.revoke(key)
        assert self.web.call("GET", "/v1/agents/m/status", key=key)[0] == 401

    @rule(budget=st.sampled_from([0.25, 0.75]))
    def what_if(self, budget: float) -> None:
        """The journal tells of other limits, or one sentence says why it cannot; nothing changes."""
        state = self.web.call("GET", "/v1/agents/m/state")[1]
        status, answer = self.web.call("POST", "/v1/agents/m/what-if", {"constraint": "cost", "budgets": [budget]})
        whole = sum(len(told) == 2 for told in self.told.values())
        assert (status == 409) == (whole < 2)
        assert status in (200, 400, 409), answer
        assert status != 200 or answer["decisions"] == whole
        assert self.web.call("GET", "/v1/agents/m/state")[1] == state

    @rule()
    def make_again(self) -> None:
        assert self.web.call("POST", "/v1/agents", SETUP)[0] == 409
        [view] = self.web.call("GET", "/v1/agents")[1]["agents"]
        assert (view["version"], view["retired"], view["decisions"]) == (self.version, self.retired, len(self.told))

    @rule()
    def play(self) -> None:
        seen = self.web.call("GET", "/v1/agents/m/play")[1]
        assert sum(seen["play"].values()) == pytest.approx(1)
        assert all(seen["play"][action] == 0 for action in self.gone)
        if self.mode in ("off", "shadow"):
            assert seen["play"]["a"] == 1

    @rule(after=st.integers(0, 30))
    def journal(self, after: int) -> None:
        text = self.web.call("GET", f"/v1/agents/m/journal?after={after}")[1]
        lines = [json.loads(line) for line in text.splitlines()] if isinstance(text, str) else [text]
        assert [line["seq"] for line in lines] == list(range(after + 1, after + 1 + len(lines)))
        if after == 0:
            kinds = [line["kind"] for line in lines]
            counts = {kind: kinds.count(kind) for kind in ("decision", "close", "change")}
            assert counts == {"decision": len(self.told), "close": self.closed, "change": self.changes}
            assert kinds.count("feedback") + kinds.count("late") == self.told_records
            at = 1 + len(self.told) % len(kinds)
            before = self.web.call("GET", f"/v1/agents/m/status?at={at}")[1]
            counted = (kinds[:at].count("decision"), 1 + kinds[:at].count("change"))
            assert (before["decisions"], before["version"]) == counted

    @precondition(lambda self: len(self.told) > 5)
    @rule()
    def retire(self) -> None:
        assert self.web.call("DELETE", "/v1/agents/m")[0] == 200
        self.version += not self.retired
        self.changes += not self.retired
        self.retired = True

    @rule()
    def agrees(self) -> None:
        status = self.web.call("GET", "/v1/agents/m/status")[1]
        assert (status["decisions"], status["open"], status["version"]) == (len(self.told), len(self.open), self.version)
        assert status["filled_in"] == self.closed
        assert sum(one["values"] for one in status["late_values"].values()) == self.late
        assert (status["mode"], status["constraints"][0]["limit"]) == (self.mode, self.limit)
        caps = [] if self.cap is None else [(self.cap.total, self.cap.spent, sum(self.cap.waiting.values()))]
        assert [(cap["total"], cap["spent"], cap["reserved"]) for cap in status["caps"]] == caps


Surface.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30 if LONG else 25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],  # to shrink takes hundreds of services
)
TestSurface = Surface.TestCase
