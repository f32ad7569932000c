"""Values outside their range in the service: caps, the watchdog, the metrics, and the terms of a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from lewa.agent import Agent, Constraint, at_least, at_most
from lewa.journal.rows import Entry, Row
from lewa.serve import schema
from lewa.serve.bodies import constraint_of, setup_of
from lewa.serve.caps import RULES, Spending
from lewa.serve.events import Events, _caps_ended
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.metrics import Statuses
from lewa.serve.reports import Answer
from lewa.serve.schema import AgentSetup, Cap, ConstraintChange, ConstraintSetup, Query, Watch
from lewa.serve.storage import restore, snapshot_of, state_hash
from lewa.serve.watchdog import watch
from tests.serve.inside import Client, service
from tests.serve.running import SETUP
from tests.serve.test_safety import AGENT, SAFE, change, decide, sound

DAY = 86_400_000_000  # microseconds


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        yield client


def make(web: Client, **setup: Any) -> None:
    status, answer = web.call("POST", "/v1/agents", {**SAFE, **setup})
    assert status == 201, answer


def answer(web: Client, costs: list[float], **query: Any) -> list[str]:
    told = []
    for first in range(0, len(costs), 100):
        part = costs[first : first + 100]
        made = decide(web, len(part), **query)
        body = [{"decision": one["decision"], "reward": 0.5, "cost": cost} for one, cost in zip(made, part, strict=True)]
        told += web.call("POST", f"{AGENT}/feedback", body)[1]["results"]
    return [one["result"] for one in told]


def mode_after_a_look(web: Client) -> str:
    """Return the mode after the watchdog has looked at the newest record."""
    host = web.app.registry
    hosted = host.agents["router"]

    async def look() -> None:
        host._watch(hosted, host.now(hosted))

    assert web.client.portal is not None
    web.client.portal.call(look)
    return str(web.call("GET", f"{AGENT}/status")[1]["mode"])


def metric(web: Client, name: str) -> dict[str, float]:
    lines = web.client.get("/metrics").text.splitlines()
    return {line.split("{")[1].split("}")[0]: float(line.split()[-1]) for line in lines if line.startswith(f"{name}{{")}


# The watchdog ------------------------------------------------------------------------------------------------------------

BAND, DEBT = {"constraint": "cost", "band": 0.5}, {"constraint": "cost", "debt": 50.0}


@pytest.mark.parametrize("refund", [None, -1.0, -1000.0, -1e6])
@pytest.mark.parametrize("rule", [BAND, DEBT], ids=["band", "debt"])
def test_no_refund_disarms_a_rule(web: Client, tmp_path: Path, rule: dict[str, Any], refund: float | None) -> None:
    make(web, constraints=[{"name": "cost", "at_most": 0.3}], watchdog=[rule])
    answer(web, [] if refund is None else [refund])
    answer(web, [1.0] * 200)
    assert mode_after_a_look(web) == "off"
    status = web.call("GET", f"{AGENT}/status")[1]
    assert (status["constraints"][0]["verdict"], status["blind"]) == ("missed", [])
    assert metric(web, "lewa_line_missed") == {'agent="router",line="cost"': 1.0}
    assert metric(web, "lewa_watchdog_blind") == {'agent="router",line="cost"': 0.0}
    assert ("refunds" in status["codes"]) == (refund is not None)
    sound(web, tmp_path)


@pytest.mark.parametrize("if_blind", [None, "act", "warn"])
def test_a_rule_that_refunds_leave_blind_says_so_and_acts_as_it_is_told(
    web: Client, capsys: pytest.CaptureFixture[str], if_blind: str | None
) -> None:
    wish = {} if if_blind is None else {"if_blind": if_blind}
    make(web, constraints=[{"name": "cost", "at_most": 0.3, "refunds": True}], watchdog=[{**BAND, **wish}])
    answer(web, [-1.0, *[1.0] * 200])
    acts = if_blind != "warn"
    assert mode_after_a_look(web) == ("off" if acts else "live")
    status = web.call("GET", f"{AGENT}/status")[1]
    assert (status["constraints"][0]["low"], status["blind"], status["codes"][-1]) == (None, ["cost"], "blind")
    does = "it judges values clipped to the range" if acts else 'it rests (if_blind "warn")'
    assert status["warnings"][-1] == (
        f"the watchdog cannot judge the band of cost by all values, because some lay outside the range: {does}"
    )
    assert metric(web, "lewa_watchdog_blind") == {'agent="router",line="cost"': 1.0}
    logged = [json.loads(line) for line in capsys.readouterr().err.splitlines() if '"watchdog blind"' in line]
    assert [(line["agent"], line["constraint"]) for line in logged] == [("router", "cost")]  # once
    if acts:
        assert "of values clipped to the range" in status["changes"][-1]["why"]


def test_before_the_first_value_no_rule_is_blind_or_broken() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.3, refunds=True), at_least("quality", 0.5)])
    rules = [Watch("cost", band=0.5), Watch("cost", debt=1.0), Watch("quality", band=0.2), Watch("quality", debt=1.0)]
    assert watch(rules, agent) == (None, [])


def test_a_gain_above_its_range_disarms_no_rule() -> None:
    for rule in (Watch("quality", band=0.4), Watch("quality", debt=5.0)):
        agent = Agent(["a", "b"], [at_least("quality", 0.5)])
        for quality in (1e6, *[0.0] * 100):
            agent.update(agent.pull(), reward=0.5, quality=quality)
        watched = watch([rule], agent)
        assert watched.broken is not None
        assert (watched.broken[0], watched.blind) == (rule, [])


# Caps --------------------------------------------------------------------------------------------------------------------


def cap_of(web: Client) -> tuple[float, float]:
    [cap] = web.call("GET", f"{AGENT}/status")[1]["caps"]
    return cap["spent"], cap["reserved"]


CAP = {"constraint": "cost", "total": 3, "per": "week"}


def test_a_bill_below_the_range_frees_no_money(web: Client, tmp_path: Path) -> None:
    make(web, caps=[CAP])
    made = decide(web, 4)
    assert [one["by"] for one in made] == ["learner"] * 3 + ["cap"]
    results = web.call("POST", f"{AGENT}/feedback", [{"decision": made[0]["decision"], "reward": 0, "cost": -1000}])
    assert results[1]["results"][0]["result"] == "learned"
    assert cap_of(web) == (0.0, 3.0)
    assert [one["by"] for one in decide(web, 2)] == ["cap"] * 2
    sound(web, tmp_path)


def test_refunds_that_a_line_allows_count_but_nothing_falls_below_0(web: Client, tmp_path: Path) -> None:
    make(web, constraints=[{"name": "cost", "at_most": 0.4, "refunds": True}], caps=[CAP])
    assert answer(web, [0.75, -0.5]) == ["learned"] * 2
    assert cap_of(web) == (0.25, 0.0)
    answer(web, [-1000.0])
    assert cap_of(web) == (0.0, 0.0)
    late = decide(web)[0]["decision"]
    web.call("POST", f"{AGENT}/close", [{"decision": late}])
    assert web.call("POST", f"{AGENT}/feedback", [{"decision": late, "cost": 0.5}])[1]["results"][0]["result"] == "late"
    assert cap_of(web) == (0.5, 0.0)
    sound(web, tmp_path)


@pytest.mark.parametrize("trust", [False, True])
def test_a_reserve_below_the_worst_is_raised_to_it_unless_the_cap_trusts_it(
    web: Client, tmp_path: Path, trust: bool
) -> None:
    make(web, caps=[{**CAP, "trust_reserve": trust}])
    made = decide(web, 20, reserve={"cost": 0})
    assert [one["by"] for one in made].count("learner") == (20 if trust else 3)
    assert cap_of(web) == (0.0, 0.0 if trust else 20.0)  # the fallback's decisions are reserved too
    sound(web, tmp_path)


@pytest.mark.parametrize("trusts", [True, False])
@pytest.mark.parametrize("reserve", [None, {}, {"cost": 0.05}, {"cost": 0.7}, {"cost": 9.0}])
@pytest.mark.parametrize("worst", [{}, {"a": 0.1, "c": 3.0}, {"b": 0.5}])
def test_the_actions_that_fit_a_cap_are_those_that_fit_one_by_one(
    worst: dict[str, float], reserve: dict[str, float] | None, trusts: bool
) -> None:
    agent = Agent(["a", "b", "c"], [at_most("cost", 0.5)], seed=1)
    for total in (0.01, 0.06, 0.3, 0.6, 0.8, 2.0, 4.0, 20.0):
        spending = Spending(Cap("cost", total, "day", worst=worst, trust_reserve=trusts))
        spending.decided(1, 0, 0, 0.25)
        spending.settle(1, 0.25)
        costs = [spending.worst(agent, i, reserve) for i in range(3)]
        for at, spent in ((1, 0.25), (86_400_000_000, 0.0)):
            fitting = spending.fitting(agent, [0, 1, 2], reserve, at)
            assert fitting == [i for i in range(3) if spent + costs[i] <= total]


def test_a_reserve_above_the_worst_counts(web: Client) -> None:
    make(web, caps=[CAP])
    assert [one["by"] for one in decide(web, 2, reserve={"cost": 2.0})] == ["learner", "cap"]


@pytest.mark.parametrize("value", [1e308, -1e308, 1.1e9])
def test_values_that_would_spoil_sums_are_refused_on_every_way_in(web: Client, value: float) -> None:
    make(web, caps=[CAP])
    open_one, closed = (one["decision"] for one in decide(web, 2))
    web.call("POST", f"{AGENT}/close", [{"decision": closed}])
    before = web.call("GET", f"{AGENT}/state")[1]
    body = [{"decision": one, "cost": value} for one in (open_one, closed)]
    for told in web.call("POST", f"{AGENT}/feedback", body)[1]["results"]:
        assert told["result"] == "refused"
        assert "cost must lie between -1e+09 and 1e+09, so that sums stay finite" in told["why"]
    seen = {"action": "small", "probability": 0.5, "values": {"reward": 0.5, "cost": value}}
    observed = web.call("POST", f"{AGENT}/observe", [seen])
    assert "so that sums stay finite" in json.dumps(observed[1])
    status, error = web.call("POST", f"{AGENT}/decide", {"reserve": {"cost": abs(value)}})
    assert (status, "the reserve of cost must lie between" in error["error"]) == (400, True)
    assert web.call("GET", f"{AGENT}/state")[1] == before


def test_journals_of_earlier_versions_replay_to_the_same_caps() -> None:
    """Bills below the range, and reserves, count as told until a record says that the rules have changed."""
    setup = AgentSetup("r", ["a", "b"], [ConstraintSetup("cost", at_most=0.5)], caps=[Cap("cost", 3.0, "week")])
    setup.safety.fallback = "a"
    _, entry = HostedAgent.create(setup)
    assert json.loads(entry.body)["rules"] == RULES
    first = {name: value for name, value in json.loads(entry.body).items() if name != "rules"}
    old = HostedAgent.begin(Row(1, 1, "set", DAY, None, json.dumps(first)))
    rows: list[Row] = []

    def write(entries: list[Entry]) -> None:
        rows.extend(Row(1, 2 + len(rows) + n, one.kind, DAY, one.decision, one.body) for n, one in enumerate(entries))

    for query in (Query(reserve={"cost": 0.0}), Query()):
        write(old.decide([query], DAY).entries)
    write(old.tell([Answer(None, 1, {"reward": 0.5, "cost": -1000.0})], DAY).entries)
    [spending] = old.caps.spendings
    assert (len(rows), spending.spent, spending.reserved, old.way.rules) == (3, -1000.0, 1.0, 0)
    state = state_hash(old)
    again: HostedAgent = HostedAgent.begin(Row(1, 1, "set", DAY, None, json.dumps(first)))
    for row in rows:
        again.apply(row)
    assert state_hash(again) == state
    assert state_hash(restore(snapshot_of(again))) == state
    write(old.run_here())
    write(old.decide([Query(reserve={"cost": 0.0})], DAY).entries)
    assert (spending.reserved, old.run_here()) == (2.0, [])
    for row in rows[3:]:
        again.apply(row)
    assert state_hash(again) == state_hash(old)


# Caps whose period has ended ---------------------------------------------------------------------------------------------


def test_a_cap_is_shown_at_the_time_of_reading() -> None:
    spending = Spending(Cap("cost", 1.0, "day"))
    assert spending.summary(DAY)["until"] is None  # no decision was made
    spending.decided(1, 0, DAY, 0.5)
    spending.decided(2, 0, DAY, 0.25)
    spending.settle(1, 0.5)
    shown = spending.summary(2 * DAY - 1)
    assert (shown["spent"], shown["reserved"], shown["until"]) == (0.5, 0.25, 2 * 86_400.0)
    shown = spending.summary(4 * DAY + 1)
    assert (shown["spent"], shown["reserved"], shown["until"]) == (0.0, 0.0, 5 * 86_400.0)
    assert (spending.spent, spending.reserved) == (0.5, 0.25)  # reading changes nothing
    assert spending.summary(0)["spent"] == 0.5  # a clock that was set back


def test_status_page_and_metrics_show_no_spending_of_a_period_that_has_ended(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(web, caps=[{"constraint": "cost", "total": 3, "per": "minute"}])
    answer(web, [1.0])
    host, seq = web.app.registry, web.call("GET", f"{AGENT}/state")[1]["seq"]
    hosted = host.agents["router"]
    before = web.call("GET", f"{AGENT}/status?at={seq}")[1]["caps"]
    now = host.now()
    monkeypatch.setattr(host, "now", lambda hosted=None: now + 3 * 60_000_000)
    assert cap_of(web) == (0.0, 0.0)
    [shown] = web.call("GET", f"{AGENT}/status")[1]["caps"]
    assert shown["until"] > now / 1e6 + 120
    assert list(metric(web, "lewa_cap_spent").values()) == [0.0]
    assert list(metric(web, "lewa_cap_total").values()) == [3.0]
    statuses = Statuses()
    point = Events(host, statuses, None, None).point(hosted)  # type: ignore[arg-type]  # nothing is forwarded
    assert [cap["spent"] for cap in point["caps"]] == [0.0]
    hosted.history.points[:] = [{**point, "caps": before}]
    assert (_caps_ended(hosted, now), _caps_ended(hosted, host.now())) == (False, True)  # the page is drawn again, once
    hosted.history.points.append(point)
    assert not _caps_ended(hosted, now + DAY)
    assert web.call("GET", f"{AGENT}/status?at={seq}")[1]["caps"] == before  # as it was then
    assert before[0]["spent"] == 1.0


# Terms of a line ---------------------------------------------------------------------------------------------------------

KINDS = [
    at_most("cost", 0.4),
    at_most("cost", 0.4, range=(-1, 2), carry_over="none", refunds=True),
    at_most("cost", 0.4, carry_over=12.5),
    at_least("cost", 0.4, range=(-1, 2)),
    at_least("cost", 0.4, carry_over="none"),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_line_is_the_constraint_and_back(kind: Constraint) -> None:
    assert constraint_of(setup_of(kind)) == kind


def test_every_field_of_a_constraint_is_a_field_of_a_line_or_not_of_the_service() -> None:
    known = {"sense", "limit", "low", "high"}  # at_most or at_least, and range
    beyond = {"quantity", "group"}  # the service has no groups
    here = set(ConstraintSetup.__struct_fields__) - {"at_most", "at_least", "range"}
    assert set(Constraint._fields) == here | known | beyond
    assert set(ConstraintChange.__struct_fields__) == {*ConstraintSetup.__struct_fields__, "forgive"}


CHANGES: dict[str, dict[str, Any]] = {
    "limit": {"limit": 0.3},
    "range": {"low": -2.0, "high": 3.0},
    "carry_over": {"carry_over": 0.25},
    "refunds": {"refunds": False},
    "forgive": {},
}
WANTED: dict[str, Any] = {"range": [-2, 3], "carry_over": 0.25, "refunds": False, "forgive": True}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_change_of_a_line_keeps_its_other_fields(web: Client, tmp_path: Path, kind: Constraint, what: str) -> None:
    limit = kind.sense.replace(" ", "_")
    line = {"name": "cost", limit: 0.4, "range": [kind.low, kind.high], "carry_over": kind.carry_over}
    make(web, constraints=[{**line, "refunds": kind.refunds}])
    answer(web, [0.5] * 10)
    wanted = {limit: 0.3} if what == "limit" else {what: WANTED[what]}
    shown = change(web, constraints=[{"name": "cost", **wanted}], why="a test")["setup"]["constraints"]
    agent = web.app.registry.agents["router"].agent
    assert agent.setup.constraints == (kind._replace(**CHANGES[what]),)
    assert [constraint_of(ConstraintSetup(**one)) for one in shown] == list(agent.setup.constraints)
    answer(web, [0.5] * 10)
    status = web.call("GET", f"{AGENT}/status")[1]
    last = status["changes"][-1]
    assert (last["what"], last["why"]) == (what, "a test")
    assert status["constraints"][0]["carry_over"] == agent.setup.constraints[0].carry_over
    assert (status["open"], status["answered"]) == (0, 20)
    sound(web, tmp_path)


def test_terms_that_a_line_cannot_have_are_refused(web: Client) -> None:
    for line in (
        {"at_least": 0.5, "refunds": True},
        {"at_most": 0.5, "carry_over": -1},
        {"at_most": 0.5, "carry_over": "x"},
    ):
        assert web.call("POST", "/v1/agents", {**SETUP, "constraints": [{"name": "cost", **line}]})[0] == 400
    setup = {
        **SETUP,
        "learner": "anytime-loss-lewa",
        "constraints": [{"name": "cost", "at_most": 0.5, "carry_over": "none"}],
    }
    status, error = web.call("POST", "/v1/agents", setup)
    assert (status, "carry_over needs a learner that keeps a debt" in error["error"]) == (400, True)
    make(web)
    for wanted in ({"name": "cost"}, {"name": "cost", "forgive": False}, {"name": "fun", "forgive": True}):
        version = web.call("GET", AGENT)[1]["version"]
        assert web.call("PATCH", AGENT, {"constraints": [wanted]}, If_Match=f'"{version}"')[0] == 400


def test_no_type_of_a_request_needs_the_newest_msgspec() -> None:
    """Until version 0.22, msgspec refuses a Literal of True or False, and with it the whole service."""

    def parts(kind: Any) -> Iterator[Any]:
        yield kind
        for part in get_args(kind):
            yield from parts(part)

    structs = [kind for kind in vars(schema).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    hints = [hint for kind in structs for hint in get_type_hints(kind, include_extras=True).values()]
    assert len(hints) > 50
    assert not [part for hint in hints for part in parts(hint) if isinstance(part, bool)]


def test_a_setup_without_new_terms_is_written_as_before(web: Client) -> None:
    make(web, caps=[CAP], watchdog=[BAND])
    setup, line = web.call("GET", AGENT)[1]["setup"], {"name": "cost", "at_most": 0.4, "range": [0.0, 1.0]}
    assert (setup["constraints"], setup["watchdog"]) == ([line], [{**BAND, "line": "cost"}])
    assert setup["caps"] == [{"constraint": "cost", "line": "cost", "total": 3.0, "per": "week"}]


def test_a_line_that_carries_over_all_again_is_written_as_the_default(web: Client) -> None:
    make(web, constraints=[{"name": "cost", "at_most": 0.3, "carry_over": "none"}])
    text = json.loads('{"constraints": [{"name": "cost", "carry_over": "all"}]}')
    assert web.call("PATCH", AGENT, text, If_Match='"1"')[0] == 200
    hosted = web.app.registry.agents["router"]
    again = restore(snapshot_of(hosted))
    assert state_hash(again) == state_hash(hosted)
