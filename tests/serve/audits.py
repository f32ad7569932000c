"""What must be true of a store after any accident: nothing acknowledged is lost, nothing is there twice."""

import json
from collections import Counter

from lewa.ids import DecisionId
from lewa.journal.store import Store
from lewa.serve.archive import verify
from tests.serve.running import Traffic


def audit(store: Store, traffic: Traffic) -> str:
    """Compare the journal with what callers were told; return the hash of the replayed state."""
    agent = next(one for one in store.agents() if one.name == traffic.agent)
    decisions: dict[str, dict[str, object]] = {}
    keys: Counter[str] = Counter()
    values: dict[str, dict[str, float]] = {}
    actions: list[str] = []
    tags: dict[int | None, str | None] = {}
    for row in store.rows(agent.id):
        body = json.loads(row.body)
        if row.kind == "decision":
            tags[row.decision] = body.get("t")
        name = str(DecisionId(agent.name, row.decision or 0, tags.get(row.decision)))
        if row.kind == "set":
            actions = body["setup"]["actions"]
        elif row.kind == "decision":
            assert name not in decisions, f"{name} is there twice"
            decisions[name] = {"action": actions[body["a"]], "probability": body["p"]}
            keys[body["key"]] += 1
        elif row.kind in ("feedback", "late"):
            known = values.setdefault(name, {})
            assert not set(known) & set(body), f"{name} was told {body} twice"
            known.update(body)
    assert max(keys.values(), default=1) == 1, "a key made two decisions"
    for decision, action, probability in traffic.decided.values():
        assert decisions[decision] == {"action": action, "probability": probability}
    for decision, told in traffic.told.items():
        assert {name: values[decision][name] for name in told} == told, f"{decision} lost {told}"
    result = verify(store, agent)
    assert result.sound, result.problem
    return result.sha256
