"""Hostile calls in Python: each returns, or is refused in one sentence and changes nothing."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from tests.fuzz import hostile

import lewa
from lewa import functional
from lewa.data.log import Log
from lewa.data.off_policy import doubly_robust, ips, snips


class Call(NamedTuple):
    """A call, what it is called in a report, and what it may not change if it is refused."""

    text: str
    call: Callable[[], object]
    state: Callable[[], object] = lambda: None

    def __str__(self) -> str:
        return self.text[:300]


def make(rng: Random, folder: Path) -> Call:
    """Return a hostile call."""
    builder = rng.choices(list(BUILDERS), weights=list(BUILDERS.values()))[0]
    return builder(rng, folder)


def _agent(**changes: Any) -> lewa.Agent:
    given: dict[str, Any] = {"actions": ["a", "b"], "constraints": [lewa.at_most("cost", 0.4)], "seed": 1, **changes}
    return lewa.Agent(**given)


def _strict(agent: lewa.Agent) -> None:
    """Use an agent, and write its status as strict JSON."""
    decision = agent.pull()
    agent.update(decision, **dict.fromkeys(("reward", *(line.name for line in agent.setup.constraints)), 0.5))
    status = agent.status()
    str(status)
    json.dumps(status.plain(), allow_nan=False)


def new_agent(rng: Random, folder: Path) -> Call:
    names = ["actions", "constraints", "reward_range", "horizon", "learner", "seed", "answers", "context", "governor"]
    names += ["breaker", "name", "journal"]
    changes = {rng.choice(names): hostile.thing(rng) for _ in range(rng.choice([1, 1, 2]))}
    records: dict[str, Any] = {
        "learner": lewa.LearnerOptions,
        "answers": lewa.Answers,
        "context": lewa.ContextOptions,
        "governor": lewa.Governor,
    }
    name = rng.choice(list(records))
    fields = {rng.choice(list(records[name].__dataclass_fields__)): hostile.thing(rng)}
    if rng.random() < 0.5:
        return Call(f"Agent({changes!r})", lambda: _strict(_agent(**changes)))
    return Call(f"Agent({name}={fields!r})", lambda: _strict(_agent(**{name: records[name](**fields)})))


def line(rng: Random, folder: Path) -> Call:
    make_line = rng.choice([lewa.at_most, lewa.at_least])
    name, limit, span = rng.choice(["cost", hostile.thing(rng)]), rng.choice([0.4, hostile.thing(rng)]), hostile.thing(rng)
    text = f"{make_line.__name__}({name!r}, {limit!r}, range={span!r})"
    return Call(text, lambda: _strict(_agent(constraints=[make_line(name, limit, range=span)])))


def extreme_agent(rng: Random, folder: Path) -> Call:
    ends = [-1e308, -1e300, -1.0, 0.0, 1e-320, 1e-300, 1e-12, 1.0, 1e12, 1e300, 1e308]
    low, high = sorted(rng.sample(ends, 2))
    limit = rng.choice([low, high, low / 2 + high / 2])
    values = [rng.choice([low, high, limit, *ends]) for _ in range(4)]

    def go() -> None:
        agent = _agent(constraints=[lewa.at_most("cost", limit, range=(low, high))], reward_range=(low, high))
        for value in values:
            agent.update(agent.pull(), reward=value, cost=value)
        json.dumps(agent.status().plain(), allow_nan=False)
        str(agent.status())

    return Call(f"an agent with the range ({low}, {high}), line {limit}, told {values}", go)


def agent_verb(rng: Random, folder: Path) -> Call:
    agent = _agent()
    decision = agent.pull()
    value = hostile.thing(rng)
    verbs: dict[str, Callable[[], object]] = {
        "pull(available": lambda: agent.pull(available=value),
        "update(decision, reward": lambda: agent.update(decision, reward=value, cost=0.1),
        "update(decision, cost": lambda: agent.update(decision, cost=value),
        "update(decision, reward=0.5, other": lambda: agent.update(decision, reward=0.5, other=value),
        "update(of": lambda: agent.update(value, reward=0.5),
        "close(of": lambda: agent.close(value),
        "fail(of": lambda: agent.fail(value),
        "fail(decision, cost": lambda: agent.fail(decision, cost=value),
        "replay(records": lambda: agent.replay(value),
        "update(changed": lambda: agent.update(decision._replace(**{rng.choice(decision._fields): value}), reward=0.5),
        "replay(changed": lambda: _agent().replay([decision._replace(**{rng.choice(decision._fields): value})]),
    }
    text = rng.choice(list(verbs))
    return Call(f"agent.{text}={value!r})", verbs[text], agent.snapshot)


def change(rng: Random, folder: Path) -> Call:
    """A change of an agent, with one hostile value."""
    kinds: list[dict[str, Any]] = [{}, {"safe": "a"}, {"horizon": 100}, {"feedback": "full"}]
    agent = _agent(**rng.choice(kinds))
    agent.pull()
    verb, right = rng.choice(CHANGES)
    given = {**right, rng.choice(list(right)): hostile.thing(rng)}
    if rng.random() < 0.1 and not verb.endswith("_many"):
        given[rng.choice(["who", "why"])] = hostile.thing(rng)
    return Call(f"agent.{verb}({given!r})", lambda: getattr(agent, verb)(**given), agent.snapshot)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("set_limit", {"name": "cost", "limit": 0.5}),
    ("set_range", {"name": "cost", "ends": (0, 2)}),
    ("set_carry_over", {"name": "cost", "carry_over": 2.0}),
    ("set_refunds", {"name": "cost", "refunds": True}),
    ("forgive", {"name": "cost"}),
    ("add_action", {"action": "c", "like": "a"}),
    ("add_action", {"action": "c", "expected": {"cost": 0.1}, "share": 0.1}),
    ("retire_action", {"action": "b"}),
    ("set_mode", {"mode": "frozen"}),
    ("set_exposure", {"share": 1.0}),
    ("set_share", {"action": "a", "share": 0.1}),
    ("set_fallback", {"action": "a"}),
    ("set_governor", {"governor": lewa.Governor("a")}),
    ("set_breaker", {"breaker": {"failures": 3, "rest": 10}}),
    ("pull_many", {"n": 2}),
    ("update_many", {"answers": [(1, {"reward": 0.5, "cost": 0.1})]}),
]


def governor(rng: Random, folder: Path) -> Call:
    fields: dict[str, Any] = {"safe": "a", "sure": {"cost": 0.1}, "mean": {}, "debt": {"cost": 4.0}, "reserve": {}}
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice([*fields, "epsilon"])
        value = hostile.thing(rng)
        fields[name] = value if name in ("safe", "epsilon") or rng.random() < 0.4 else {"cost": value}
    return Call(f"Governor({fields!r})", lambda: _strict(_agent(governor=lewa.Governor(**fields))))


def in_context(rng: Random, folder: Path) -> Call:
    """A pull of an agent that looks at contexts or mixes policies."""
    columns = [lewa.number("n", (0, 1)), lewa.category("t", ["u", "v"]), lewa.vector("v", 2), lewa.text("w", 4)]
    if rng.random() < 0.5:
        agent = _agent(context=lewa.ContextOptions(columns=columns, keep=rng.random() < 0.5))
        context: Any = {"n": 0.5, "t": "u", "v": [0.1, 0.2], "w": "word"}
        context[rng.choice([*context, "other"])] = hostile.thing(rng)
        given: dict[str, Any] = {"context": context if rng.random() < 0.8 else hostile.thing(rng)}
    else:
        policies: Any = {"p": lambda context: hostile.thing(rng), "q": lambda context: "b"}
        agent = _agent(context=lewa.ContextOptions(policies=policies if rng.random() < 0.7 else ["p", "q"]))
        given = {"advice": rng.choice([{"p": hostile.thing(rng), "q": "a"}, {"p": "a", "q": "b"}, hostile.thing(rng)])}
        given |= {"context": hostile.thing(rng)} if rng.random() < 0.5 else {}
    return Call(f"pull({given!r})", lambda: agent.pull(**given), agent.snapshot)


def column(rng: Random, folder: Path) -> Call:
    rights: dict[str, dict[str, Any]] = {
        "number": {"name": "x", "range": (0, 1), "knots": 0},
        "category": {"name": "x", "levels": ["a", "b"], "buckets": 0},
        "text": {"name": "x", "size": 8},
        "vector": {"name": "x", "size": 3},
    }
    kind = rng.choice(list(rights))
    given = {**rights[kind], rng.choice(list(rights[kind])): _small(rng)}
    return Call(f"{kind}({given!r})", lambda: _agent(context=[getattr(lewa, kind)(**given)]))


def journal(rng: Random, folder: Path) -> Call:
    """Open a journal that is spoiled, or with hostile options."""
    path = folder / "agent.journal"
    agent = _agent(journal=path)
    for n in range(3):
        decision = agent.pull()
        if n:
            agent.update(decision, reward=0.5, cost=0.1)
    agent.set_limit("cost", 0.5)
    if rng.random() < 0.5:
        agent.checkpoint()
    agent.stop_journal()
    given: dict[str, Any] = {"path": path}
    if rng.random() < 0.6:
        files = [file for file in folder.iterdir() if file.name.startswith("agent.journal")]
        file = rng.choice(files)
        file.write_bytes(hostile.corrupt(rng, file.read_bytes()))
    else:
        given[rng.choice(["path", "sync", "plays", "regressor"])] = hostile.thing(rng)
    return Call(f"Agent.open({given!r})", lambda: _strict(lewa.Agent.open(**given)))


def snapshot(rng: Random, folder: Path) -> Call:
    agent = _agent()
    for n in range(5):
        decision = agent.pull()
        if n % 2:
            agent.update(decision, reward=0.5, cost=0.1 * n)
    tree = agent.snapshot()
    for _ in range(rng.choice([1, 1, 2])):
        tree = hostile.mutate(rng, tree)
    return Call(f"Agent.restore({json.dumps(tree)[:200]}...)", lambda: _strict(lewa.Agent.restore(tree)))


def saved_agent(rng: Random, folder: Path) -> Call:
    path = folder / "agent.json"
    agent = _agent()
    agent.update(agent.pull(), reward=0.5, cost=0.1)
    agent.save(path)
    data = hostile.corrupt(rng, path.read_bytes())
    path.write_bytes(rng.choice([data, data, data, b"", b"[]", b"3", b"null", b"[" * 3000, b'{"version": 1}']))
    return Call(f"Agent.load of {data[:80]!r}", lambda: _strict(lewa.Agent.load(path)))


def answer(rng: Random, folder: Path) -> Call:
    learner: Any = lewa.learners.make(rng.choice(["bandit-lewa", "lewa", "lewa-ucb", "bandit-op-ewa", "exp3"]), 3, 100, 0.5)
    state = functional.start(learner, 3)
    play: Any = functional.play(learner, state)
    given: list[Any] = [1, float(play[1]), 0.5, [0.5], play, []]
    for _ in range(rng.choice([1, 1, 2])):
        n = rng.randrange(6)
        bad: Any = rng.choice([-1, 3, 2**40]) if n == 0 else rng.choice(hostile.FLOATS)
        given[n] = bad if rng.random() < 0.5 else hostile.thing(rng)
    seen = functional.Bandit(*given)
    if rng.random() < 0.5:
        return Call(f"learn({seen!r})", lambda: functional.learn(learner, state, seen), lambda: pickle.dumps(state))
    full: list[Any] = [rng.choice([right, hostile.thing(rng)]) for right in ([0.5] * 3, [[0.5] * 3], play)]
    return Call(f"full_feedback{tuple(full)!r}", lambda: functional.learn(learner, state, functional.full_feedback(*full)))


def _small(rng: Random) -> Any:
    """Return anything but a number that is so large that honest work takes for ever."""
    value = hostile.thing(rng)
    return 3 if isinstance(value, int) and 1000 < value < 10**30 else value


def play(rng: Random, folder: Path) -> Call:
    given: dict[str, Any] = {"learner": lewa.learners.make("lewa", 3, 20, 0.6), "game": lewa.games.Bernoulli()}
    given |= {"rounds": 5, "seeds": 1}
    name = rng.choice(list(given))
    given[name] = _small(rng)
    return Call(f"play({name}={given[name]!r})", lambda: lewa.play(**given))


def tuned(rng: Random, folder: Path) -> Call:
    name = rng.choice(list(lewa.learners.ALL))
    given = [rng.choice([3, _small(rng)]), rng.choice([100, hostile.thing(rng)]), rng.choice([0.5, hostile.thing(rng)])]
    settings = {rng.choice(["eta", "tuning", "x", "b"]): hostile.thing(rng)} if rng.random() < 0.3 else {}
    return Call(f"learners.make({name!r}, {given!r}, {settings!r})", lambda: lewa.learners.make(name, *given, **settings))


def table(rng: Random, folder: Path) -> Call:
    rewards = rng.choice([np.full((4, 3), 0.5), hostile.thing(rng), hostile.array(rng)])
    constraints = rng.choice([np.full((4, 3, 1), 0.5), hostile.thing(rng), hostile.array(rng)])
    return Call(f"Table({rewards!r}, {constraints!r})", lambda: lewa.games.Table(rewards, constraints))


def log(rng: Random, folder: Path) -> Call:
    given: list[Any] = [np.array([0, 1, 0]), np.full(3, 0.5), np.full(3, 0.5), np.full((3, 1), 0.5), 2]
    given[rng.randrange(5)] = hostile.thing(rng)
    return Call(f"Log{tuple(given)!r}", lambda: Log(*given))


def off_policy(rng: Random, folder: Path) -> Call:
    given: list[Any] = [[0, 1, 0], [0.5, 1, 0], [0.5, 0.5, 0.5], [0.5, 0.5]]
    given[rng.randrange(4)] = hostile.thing(rng)
    estimate: Any = rng.choice([ips, snips, doubly_robust])
    extra: dict[str, Any] = {"level": hostile.thing(rng)} if rng.random() < 0.2 else {}
    extra |= {"range": hostile.thing(rng)} if rng.random() < 0.3 and estimate is not snips else {}
    return Call(f"{estimate.__name__}({given!r}, {extra!r})", lambda: _finite(estimate(*given, **extra)))


def _finite(value: tuple[Any, ...]) -> None:
    assert np.isfinite(value[:3]).all(), value


def frontier(rng: Random, folder: Path) -> Call:
    columns: dict[str, Any] = {"action": ["a", "b"] * 20, "propensity": [0.5] * 40}
    columns |= {"reward": [0.5, 0.25] * 20, "c": [0.25, 0.75] * 20}
    if rng.random() < 0.6:
        columns[rng.choice(list(columns))] = hostile.thing(rng)
    given: dict[str, Any] = {"points": 2}
    names = ["reward", "at_most", "at_least", "action", "round", "propensity"]
    names += ["budgets", "points", "lines", "learner", "level", "folds"]
    if rng.random() < 0.5:
        given[rng.choice(names)] = _small(rng)
    data = columns if rng.random() < 0.9 else hostile.thing(rng)

    def go() -> None:
        result = lewa.frontier(data, **given)
        str(result)
        json.dumps(result.plain(), allow_nan=False)

    odd = {name: value for name, value in columns.items() if not isinstance(value, list) or len(value) != 40}
    return Call(f"frontier({odd if data is columns else data!r}, {given!r})", go)


def theory(rng: Random, folder: Path) -> Call:
    value: list[Any] = [hostile.thing(rng) if rng.random() < 0.5 else good for good in (3, 100, 0.5)]
    calls: dict[str, Callable[[], object]] = {
        "best_fixed_play": lambda: lewa.measures.best_fixed_play(value[0], value[1], value[2]),
        "advise": lambda: lewa.advise("bandit", *value),
        "guarantees": lambda: lewa.learners.make("lewa", 3, 100, 0.5).guarantees(value[0], value[1], lewa.Setting()),
    }
    name = rng.choice(list(calls))
    return Call(f"{name}({value!r})", calls[name])


BUILDERS: dict[Callable[[Random, Path], Call], float] = {
    new_agent: 12,
    line: 6,
    extreme_agent: 8,
    agent_verb: 12,
    snapshot: 14,
    saved_agent: 6,
    change: 12,
    governor: 6,
    in_context: 8,
    column: 3,
    journal: 5,
    answer: 12,
    play: 6,
    tuned: 8,
    table: 5,
    log: 5,
    off_policy: 6,
    frontier: 10,
    theory: 5,
}
