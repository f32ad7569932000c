"""The whole surface against a plain model in memory, by random sequences of calls with restarts in between."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

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
}
FIELDS = ("reward", "cost")
values = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from([0.0, 0.25, 1.0]), max_size=2)


class Surface(RuleBasedStateMachine):
    """What a caller may rely on, written down without any learner."""

    @initialize()
    def begin(self) -> None:
        self.stack, self.folder = ExitStack(), Path(tempfile.mkdtemp(prefix="lewa-model-"))
        self.told: dict[int, dict[str, float]] = {}
        self.open: list[int] = []
        self.late, self.closed, self.version, self.retired = 0, 0, 1, False
        self.keys: dict[str, tuple[int, object]] = {}
        self.web: Client = self.stack.enter_context(service(self.folder, snapshot_every=7))
        assert self.web.call("POST", "/v1/agents", SETUP)[0] == 201

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.agrees()
            self.stack.close()

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
                assert made["action"] in (mask or ["a", "b"])
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

    @precondition(lambda self: len(self.told) > 5)
    @rule()
    def retire(self) -> None:
        assert self.web.call("DELETE", "/v1/agents/m")[0] == 200
        self.version += not self.retired
        self.retired = True

    @rule()
    def agrees(self) -> None:
        status = self.web.call("GET", "/v1/agents/m/status")[1]
        assert (status["decisions"], status["open"], status["version"]) == (len(self.told), len(self.open), self.version)
        assert status["charged"] == self.closed
        assert sum(one["values"] for one in status["late_values"].values()) == self.late


Surface.TestCase.settings = settings(
    max_examples=6,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],
)
TestSurface = Surface.TestCase
