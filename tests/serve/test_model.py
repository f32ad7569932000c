"""The whole surface against a plain model in memory, by random sequences of calls with restarts in between."""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.serve.inside import Client, service

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
SETUP = {
    "name": "m",
    "actions": ["a", "b"],
    "lines": [{"name": "cost", "at_most": 0.5}],
    "seed": 1,
    "answers": {"max_open": 4},
    "safety": {"fallback": "a"},
}
LONG = bool(os.environ.get("LEWA_SERVICE"))
FIELDS = ("reward", "cost")
values = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from([0.0, 0.25, 1.0]), max_size=2)


class Surface(RuleBasedStateMachine):
    """What a caller may rely on, written down without any learner."""

    @initialize()
    def begin(self) -> None:
        self.disk, self.stack = ExitStack(), ExitStack()
        self.folder = Path(self.disk.enter_context(TemporaryDirectory(prefix="lewa-model-")))
        self.told: dict[int, dict[str, float]] = {}
        self.open: list[int] = []
        self.late, self.closed, self.version, self.retired = 0, 0, 1, False
        self.mode, self.changes, self.told_records = "live", 0, 0
        self.keys: dict[str, tuple[int, object]] = {}
        self.web: Client = self.stack.enter_context(service(self.folder, snapshot_every=7))
        assert self.web.call("POST", "/v1/agents", SETUP)[0] == 201

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

    def decided(self) -> int:
        number = len(self.told) + 1
        if len(self.open) == 4:
            self.open.pop(0)
            self.closed += 1
        self.told[number] = {}
        self.open.append(number)
        return number

    @rule(
        keys=st.lists(st.sampled_from([None, "x", "y", "z"]), min_size=1, max_size=3),
        mask=st.sampled_from([None, ["a"], ["q"]]),
    )
    def decide(self, keys: list[str | None], mask: list[str] | None) -> None:
        status, answer = self.web.call("POST", "/v1/agents/m/decide", [{"key": key, "available": mask} for key in keys])
        if self.retired:
            assert status == 410
            return
        for key, made in zip(keys, answer["decisions"], strict=True):
            if key in self.keys:
                number, before = self.keys[key or ""]
                assert (made["decision"], made["action"], made["probability"]) == before
            elif mask == ["q"]:
                assert "refused" in made
            else:
                number = self.decided()
                assert made["decision"] == f"m:{number}"
                assert made["action"] in (["a"] if self.mode in ("off", "shadow") else mask or ["a", "b"])
                assert made.get("by", "learner") == ("fallback" if self.mode in ("off", "shadow") else "learner")
                if key is not None:
                    self.keys[key] = (number, (made["decision"], made["action"], made["probability"]))

    @rule(seen=values)
    def observe(self, seen: dict[str, float]) -> None:
        body = [{"action": "a", "probability": 0.5, "values": seen}]
        status, answer = self.web.call("POST", "/v1/agents/m/observe", body)
        if self.retired:
            assert status == 410
            return
        number = self.decided()
        self.told[number] = dict(seen)
        self.told_records += bool(seen)
        if len(seen) == 2:
            self.open.remove(number)
        result = {"decision": f"m:{number}", "result": "learned" if len(seen) == 2 else "kept"}
        assert answer["observed"] == [result]

    @rule(entries=st.lists(st.tuples(st.integers(0, 5), values), min_size=1, max_size=3))
    def feedback(self, entries: list[tuple[int, dict[str, float]]]) -> None:
        body = [{"decision": f"m:{number}", **given} for number, given in entries]
        answer = self.web.call("POST", "/v1/agents/m/feedback", body)[1]["told"]
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
        self.told_records += 1
        if number not in self.open:
            self.late += len(fresh)
            return "late"
        if len(before) == 2:
            self.open.remove(number)
            return "learned"
        return "kept"

    @rule(number=st.integers(0, 5))
    def close(self, number: int) -> None:
        result = self.web.call("POST", "/v1/agents/m/close", [{"decision": f"m:{number}"}])[1]["told"][0]["result"]
        assert result == ("unknown" if number not in self.told else "closed" if number in self.open else "same")
        if result == "closed":
            self.open.remove(number)
            self.closed += 1

    @rule(number=st.integers(0, 5))
    def story(self, number: int) -> None:
        status, story = self.web.call("GET", f"/v1/agents/m/decisions/m:{number}")
        if number not in self.told:
            assert status == 404
        else:
            assert story["values"] == self.told[number]
            assert (story["state"] == "open") == (number in self.open)

    @rule(match=st.booleans())
    def change(self, match: bool) -> None:
        number = self.version if match else self.version + 1
        status, _ = self.web.call("PATCH", "/v1/agents/m", {"keys_for": "48h"}, If_Match=f'"{number}"')
        assert status == (200 if match else 412)
        self.version += match
        self.changes += match

    @rule(mode=st.sampled_from(["live", "shadow", "frozen", "off"]))
    def switch(self, mode: str) -> None:
        status, view = self.web.call("PATCH", "/v1/agents/m", {"safety": {"mode": mode}}, If_Match=f'"{self.version}"')
        assert (status, view["setup"]["safety"]["mode"]) == (200, mode)
        self.mode, self.version, self.changes = mode, self.version + 1, self.changes + 1

    @rule()
    def make_again(self) -> None:
        assert self.web.call("POST", "/v1/agents", SETUP)[0] == 409
        [view] = self.web.call("GET", "/v1/agents")[1]["agents"]
        assert (view["version"], view["retired"], view["decisions"]) == (self.version, self.retired, len(self.told))

    @rule()
    def play(self) -> None:
        seen = self.web.call("GET", "/v1/agents/m/play")[1]
        assert sum(seen["play"].values()) == pytest.approx(1)
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
        assert status["charged"] == self.closed
        assert sum(one["values"] for one in status["late_values"].values()) == self.late


Surface.TestCase.settings = settings(
    max_examples=60 if LONG else 6,
    stateful_step_count=30 if LONG else 25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],  # to shrink takes hundreds of services
)
TestSurface = Surface.TestCase
