"""Every public function and constructor answers what does not belong there with one sentence, or takes it as it is."""

import inspect
import json
import linecache
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.agent import Feedback, read_journal, record
from lewa.cli.catalogue import find
from lewa.data import off_policy
from lewa.data.log import Log

PACKAGE = Path(lewa.__file__).parent
WRONG: dict[str, Any] = {
    "None": None,
    "a word": "x",
    "two lines": "two\nlines",
    "an empty list": [],
    "a list of lists": [[1, 2], [3]],
    "an object": object(),
    "nan": nan,
    "-1": -1,
    "a huge integer": 10**400,
    "a masked array": np.ma.masked_array([0.5] * 3, [False, True, False]),
    "a matrix": np.zeros((2, 2)),
    "a complex number": 1j,
    "bytes": b"x",
    "a dictionary": {1: 2},
}
LEARNER, BANDIT = lewa.learners.make("lewa", 3, 100, 0.6), lewa.learners.make("bandit-lewa", 3, 100, 0.6)
GAME = lewa.games.Table([[1, 0, 0.5]] * 4, [0.2, 0.9, 0.7])
LOG = Log(np.arange(6) % 3, np.full(6, 1 / 3), np.ones(6), np.ones((6, 1)), 3)
COLUMNS = {"action": ["a", "b"] * 4, "propensity": [0.5] * 8, "reward": [0.5, 0.25] * 4, "c": [0.25, 0.75] * 4}
AGENT: dict[str, Any] = {"actions": ["a", "b"], "constraints": [lewa.at_most("cost", 0.4)]}
POLICIES = lewa.ContextOptions(policies=["p"])
STATE = lewa.functional.start(LEARNER, 3)
TRACE = lewa.play(LEARNER, GAME, 4, every_round=True)
# The right arguments of each public function: one after the other is replaced by something wrong.
RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Agent": (
        lewa.Agent,
        {
            **AGENT,
            **{"reward_range": (0, 1), "horizon": 100, "learner": "auto", "seed": 0, "answers": lewa.Answers()},
            **{"context": None, "governor": "auto", "breaker": None, "name": "x", "journal": None},
        },
    ),
    "LearnerOptions": (
        lambda **wish: lewa.Agent(**AGENT, learner=lewa.LearnerOptions(**wish)),
        {"name": "auto", "goal": "practice", "feedback": "bandit", "settings": None},
    ),
    "Answers": (
        lambda **wish: lewa.Agent(**AGENT, answers=lewa.Answers(**wish)),
        {"max_open": 10, "close_after": None, "unanswered": "charge", "learn": "answer", "expected": None},
    ),
    "ContextOptions": (
        lambda **wish: lewa.Agent(**AGENT, context=lewa.ContextOptions(**wish)),
        {"columns": None, "policies": None, "regressor": None, "keep": False},
    ),
    "JournalOptions": (
        lambda **wish: lewa.Agent(**AGENT, journal=lewa.JournalOptions(**wish)).stop_journal(),
        {"path": "new", "sync": "batch", "plays": False},
    ),
    "Breaker": (lewa.Breaker, {"failures": 5, "rest": 30, "longest": 600}),
    "Governor": (
        lambda **wish: lewa.Agent(**AGENT, governor=lewa.Governor(**wish)),
        {"safe": "a", "sure": {"cost": 0.1}, "mean": {}, "debt": {"cost": 3.0}, "reserve": {"cost": 1.0}, "epsilon": 0.05},
    ),
    "Setting": (
        lambda **wish: LEARNER.guarantees(3, 100, lewa.Setting(**wish)),
        {"constraints": "iid", "adversary": "oblivious", "epsilon": 0.1, "slater": 0.1, "corruption": 0.0},
    ),
    "at_most": (lewa.at_most, {"name": "cost", "limit": 0.4, "range": (0, 1)}),
    "at_least": (lewa.at_least, {"name": "cost", "limit": 0.4, "range": (0, 1)}),
    "number": (lewa.number, {"name": "x", "range": (0, 1), "knots": 0}),
    "category": (lewa.category, {"name": "x", "levels": ["a", "b"], "buckets": 0}),
    "text": (lewa.text, {"name": "x", "size": 8}),
    "vector": (lewa.vector, {"name": "x", "size": 3}),
    "play": (lewa.play, {"learner": LEARNER, "game": GAME, "rounds": 4, "seeds": 1}),
    "replay": (lewa.replay, {"data": LOG, "learner": BANDIT, "seeds": 1}),
    "frontier": (
        lewa.frontier,
        {
            **{"data": COLUMNS, "points": 2, "budgets": None, "lines": None, "level": 0.95, "folds": "auto", "seeds": 1},
            **{"reward": None, "at_most": (), "at_least": (), "action": None, "round": None, "propensity": None},
            **{"learner": "auto", "goal": "practice", "context": ()},
        },
    ),
    "advise": (lewa.advise, {"feedback": "full", "actions": 2, "horizon": 100, "floor": 0.5, "epsilon": 0.1, "slater": 0.1}),
    "guarantee": (lewa.guarantee, {"learner": LEARNER, "actions": 3, "rounds": 100, "epsilon": 0.1, "constraints": "iid"}),
    "guarantees": (LEARNER.guarantees, {"actions": 3, "rounds": 100, "setting": lewa.Setting()}),
    "judge": (lewa.judge, {"trace": TRACE}),
    "regret": (lewa.regret, {"trace": TRACE}),
    "violation": (lewa.violation, {"trace": TRACE}),
    "positive_violation": (lewa.positive_violation, {"trace": TRACE}),
    "hindsight": (lewa.hindsight, {"trace": TRACE}),
    "best_fixed_play": (lewa.measures.best_fixed_play, {"rewards": [1, 0], "constraints": [[0, 1]], "floor": 0.5}),
    "best_play_every_round": (
        lewa.measures.best_play_every_round,
        {"rewards": [1, 0], "constraints": [[[0, 1]]], "floor": 0.5},
    ),
    "certificate": (lewa.measures.certificate, {"trace": TRACE}),
    "regret_certificate": (lewa.measures.regret_certificate, {"trace": TRACE, "play": [0.2, 0.3, 0.5]}),
    "regret_curve": (lewa.measures.regret_curve, {"trace": TRACE, "constraint": "auto"}),
    "violation_curve": (lewa.measures.violation_curve, {"trace": TRACE}),
    "variation": (lewa.measures.variation, {"rewards": [[1, 0], [0, 1]]}),
    "fit_rate": (lewa.measures.fit_rate, {"rounds": [10, 100, 1000], "values": [1, 2, 3], "level": 0.95}),
    "learners.make": (lewa.learners.make, {"name": "lewa", "actions": 3, "horizon": 100, "floor": 0.5}),
    "learners.make, a setting": (
        lewa.learners.make,
        {"name": "lewa", "actions": 3, "horizon": 100, "floor": 0.5, "eta": 0.1},
    ),
    "learners.find": (lewa.learners.find, {"name": "lewa"}),
    "Lewa.tuned": (lewa.learners.Lewa.tuned, {"actions": 3, "horizon": 100, "floor": 0.5}),
    "Lewa": (lewa.learners.Lewa, {"eta": 0.1, "delta": 0.1, "mu": 0.1, "floor": 0.5}),
    "learners.about": (lewa.learners.about, {"name": "lewa"}),
    "learners.settings_of": (lewa.learners.settings_of, {"name": "lewa"}),
    "games.find": (lewa.games.find, {"name": "radio"}),
    "games.is_compiled": (lewa.games.is_compiled, {"name": "radio"}),
    "games.settings_of": (lewa.games.settings_of, {"name": "radio"}),
    "games.split_twists": (lewa.games.split_twists, {"name": "radio+delay"}),
    "games.assumed": (lewa.games.assumed, {"game": GAME, "floor": 0.5, "rounds": 4}),
    "games.make": (lewa.games.make, {"name": "radio", "floor": 0.5, "rounds": 10}),
    "games.facts": (lewa.games.facts, {"game": GAME, "floor": 0.5, "rounds": 4}),
    "Bernoulli": (lewa.games.Bernoulli, {"rewards": (0.9, 0.1), "constraints": ((0.2, 0.9),)}),
    "Table": (lewa.games.Table, {"rewards": [[1, 0]], "constraints": [[0, 1]]}),
    "Log": (Log, {"action": [0, 1], "propensity": [0.5, 0.5], "reward": [1, 1], "constraints": [[1], [1]], "actions": 2}),
    "checks.check": (lewa.checks.check, {"subject": lewa.learners.Lewa}),
    "functional.start": (lewa.functional.start, {"learner": LEARNER, "actions": 3}),
    "functional.play": (lewa.functional.play, {"learner": LEARNER, "state": STATE}),
    "functional.see": (lewa.functional.see, {"learner": LEARNER, "state": STATE, "features": []}),
    "functional.charge": (lewa.functional.charge, {"learner": LEARNER, "state": STATE, "action": 1}),
    "functional.learn": (
        lewa.functional.learn,
        {
            **{"learner": LEARNER, "state": STATE},
            "seen": lewa.functional.full_feedback([1, 0, 0], [[1, 0, 0]], [1, 0, 0]),
        },
    ),
    "read_journal": (lambda path: list(read_journal(path)), {"path": "x"}),
    "record": (record, {"plain": lewa.Agent(**AGENT).pull().plain()}),
    "functional.full_feedback": (
        lewa.functional.full_feedback,
        {"rewards": [1, 0, 0], "constraints": [[1, 0, 0]], "play": [1, 0, 0]},
    ),
}


FEW = {name: WRONG[name] for name in ("None", "two lines", "a list of lists", "a huge integer", "a matrix", "a dictionary")}


def _complaints(function: Callable[..., object], right: dict[str, Any]) -> dict[str, str]:
    """Call a function with each argument wrong in turn; return what is not answered well."""
    calls = {f"{name}={what}": {**right, name: wrong} for name in right for what, wrong in FEW.items()}
    answers = {call: complaint(partial(function, **arguments)) for call, arguments in calls.items()}
    return {call: text for call, text in answers.items() if text}


@pytest.mark.parametrize("name", [*lewa.learners.ALL, "lewa+doubling", "lewa+tightened", "lewa+governed"])
def test_every_learner_refuses_wrong_parameters(name: str) -> None:
    kind = lewa.learners.find(name)
    learner = kind.examples()[0][0]
    assert _complaints(kind, learner.parameters) == {}
    arguments = inspect.signature(kind.tuned).parameters.values()
    settings = {one.name: one.default for one in arguments if one.default is not one.empty}
    right = {"actions": 3, "horizon": 100, "floor": 0.5, **settings, **({"policies": 2} if "policies" in settings else {})}
    assert _complaints(kind.tuned, right) == {}


@pytest.mark.parametrize("kind", [*lewa.games.ALL.values(), *lewa.games.TWISTS.values()])
def test_every_game_refuses_wrong_parameters(kind: Callable[..., object]) -> None:
    arguments = inspect.signature(kind).parameters.values()
    assert _complaints(kind, {one.name: GAME if one.name == "game" else one.default for one in arguments}) == {}


def test_every_off_policy_value_refuses_wrong_arguments() -> None:
    right = {"action": [0, 1] * 2, "reward": [0.5] * 4, "propensity": [0.5] * 4, "play": [0.5, 0.5], "level": 0.95}
    for function in (off_policy.ips, off_policy.snips, off_policy.doubly_robust):
        more: dict[str, Any] = {"range": (0, 1)} if function is not off_policy.snips else {}
        more |= {"model": [0.5, 0.5]} if function is off_policy.doubly_robust else {}
        assert _complaints(function, {**right, **more}) == {}


# The methods of public classes, each with the right arguments and the object it is called on, made anew.
METHODS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "pull": (lambda: _agent(), {"available": ["a"], "context": None, "advice": None}),
    "pull of contexts": (lambda: _agent(context=[lewa.number("n", (0, 1))]), {"context": {"n": 0.5}}),
    "pull of policies": (lambda: _agent(context=POLICIES), {"advice": {"p": "a"}}),
    "pull_many": (lambda: _agent(), {"n": 2}),
    "update_many": (lambda: _agent(), {"answers": [(1, {"reward": 0.5})]}),
    "set_limit": (lambda: _agent(), {"name": "cost", "limit": 0.5, "who": "", "why": ""}),
    "set_range": (lambda: _agent(), {"name": "cost", "ends": (0, 2), "who": "", "why": ""}),
    "set_carry_over": (lambda: _agent(), {"name": "cost", "carry_over": "none", "who": "", "why": ""}),
    "set_refunds": (lambda: _agent(), {"name": "cost", "refunds": True, "who": "", "why": ""}),
    "forgive": (lambda: _agent(), {"name": "cost", "who": "", "why": ""}),
    "tag_of": (lambda: _agent(), {"number": 1}),
    "add_action": (lambda: _agent(), {"action": "c", "like": None, "expected": {"cost": 0.2}, "share": 0.1}),
    "retire_action": (lambda: _agent(), {"action": "a"}),
    "set_mode": (lambda: _agent(), {"mode": "frozen"}),
    "set_exposure": (lambda: _agent(), {"share": 1.0}),
    "set_share": (lambda: _agent(), {"action": "a", "share": 0.1}),
    "set_fallback": (lambda: _agent(), {"action": "a"}),
    "set_governor": (lambda: _agent(), {"governor": "learned"}),
    "set_breaker": (lambda: _agent(), {"breaker": None}),
    "bind_policies": (lambda: _agent(context=POLICIES), {"policies": {"p": lambda context: "a"}}),
    "close": (lambda: _agent(), {"decision": 1}),
    "apply": (lambda: _agent(), {"entry": lewa.Agent(**AGENT).pull()}),
    "replay": (lambda: _agent(), {"records": []}),
    "start_journal": (lambda: _agent(), {"path": "new", "sync": "batch", "plays": False}),
    "save": (lambda: _agent(), {"path": "saved"}),
    "load": (lambda: lewa.Agent, {"path": "saved"}),
    "open": (lambda: lewa.Agent, {"path": "journal", "sync": "batch", "plays": False, "regressor": None}),
    "restore": (lambda: lewa.Agent, {"plain": lewa.Agent(**AGENT).snapshot()}),
}


def _agent(**more: Any) -> lewa.Agent:
    """An agent with one open decision."""
    agent = lewa.Agent(**AGENT, **more)
    mixes, looks = more.get("context") is POLICIES, "context" in more
    agent.pull(**{"advice": {"p": "a"}} if mixes else {"context": {"n": 0.5}} if looks else {})
    return agent


def cases() -> Iterator[tuple[str, str]]:
    return ((name, argument) for name, (_, right) in RIGHT.items() for argument in right)


def raised_at(error: BaseException) -> tuple[str, int]:
    """Return the file and the line where an error was raised; `traceback` would read the lines of all callers too."""
    place: Any = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_code.co_filename, place.tb_lineno


def complaint(call: Callable[[], object]) -> str | None:
    """Return why a call is not answered well; None if it is refused in one sentence of this package, or returns."""
    try:
        call()
    except OSError as error:  # a path that is not there
        return f"several lines: {error}" if "\n" in str(error) else None
    except (ValueError, TypeError) as error:
        file, number = raised_at(error)
        if not file.startswith(f"{PACKAGE}{os.sep}") or not linecache.getline(file, number).lstrip().startswith("raise "):
            return f"{Path(file).name}:{number} {type(error).__name__}: {error}"
        return f"several lines: {error}" if "\n" in str(error) else None
    except Exception as error:
        file, number = raised_at(error)
        return f"{Path(file).name}:{number} {type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize(("name", "argument"), list(cases()))
def test_what_does_not_belong_there_gets_one_sentence(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where "x" is a journal's name
    function, right = RIGHT[name]
    complaints = {what: complaint(partial(function, **{**right, argument: wrong})) for what, wrong in WRONG.items()}
    assert {what: text for what, text in complaints.items() if text} == {}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_answers_so_too_and_a_refused_call_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, right = METHODS[name]
    complaints: dict[str, object] = {}
    for argument, (what, wrong) in product(right, WRONG.items()):
        subject = make()
        before = subject.snapshot() if isinstance(subject, lewa.Agent) else None
        returned: list[object] = []
        call = partial(getattr(subject, name.split()[0]), **{**right, argument: wrong})
        text = complaint(lambda: returned.append(call()))  # noqa: B023
        if before is not None and not returned and subject.snapshot() != before:
            text = "refused, and changed the agent"
        complaints |= {f"{argument}={what}": text} if text else {}
    assert complaints == {}


def test_the_right_arguments_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, (function, right) in RIGHT.items():
        if name not in ("checks.check", "read_journal"):  # which takes long, and needs a file
            function(**right)
        if name in ("Answers", "Breaker", "ContextOptions", "Governor", "JournalOptions", "LearnerOptions", "Setting"):
            function = getattr(lewa, name)
        assert set(right) <= set(inspect.signature(function).parameters) | {"epsilon", "constraints", "eta"}, name


def test_no_public_function_is_left_out() -> None:
    functions = {name for name in dir(lewa) if not name.startswith("_") and callable(getattr(lewa, name))}
    assert functions - set(RIGHT) == {"Guarantee", "Trace"}  # what functions return
    rooms = {"measures": lewa.measures, "functional": lewa.functional, "games": lewa.games, "learners": lewa.learners}
    inner = {
        name
        for place, room in rooms.items()
        for name in room.__all__
        if callable(getattr(room, name)) and not inspect.isclass(getattr(room, name))
        if inspect.signature(getattr(room, name)).parameters and not {name, f"{place}.{name}"} & set(RIGHT)
    }
    assert inner == {"examine"}  # which looks at a class for `lewa check`
    methods = {name for name in dir(lewa.Agent) if not name.startswith("_") and callable(getattr(lewa.Agent, name))}
    without_arguments = {"stop_journal", "checkpoint", "warm", "snapshot", "status", "begin_epoch"}
    assert methods - without_arguments - {"update", "fail"} == {name.split()[0] for name in METHODS}
    # `update` is tested below, with values that are part of an answer


# What is wrong in other ways


def test_a_number_that_no_float_holds_is_null_in_a_status() -> None:
    agent = lewa.Agent(["a", "b"], [lewa.at_most("cost", 5e307, range=(1e300, 1e308))], reward_range=(1e300, 1e308), seed=0)
    with np.errstate(over="ignore", invalid="ignore"):  # plain Python warns where compiled code does not
        for value in (1e12, 1e308, 1e308, 1e308):
            agent.apply(Feedback(agent.pull().id, {"reward": value, "cost": value}))  # as an earlier version accepted it
    status = json.loads(json.dumps(agent.status().plain(), allow_nan=False))
    assert status["constraints"][0]["average"] is None
    assert str(agent.status())


def test_a_refused_call_changes_nothing() -> None:
    agent = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.4)], seed=0)
    decision = agent.pull()
    before = agent.snapshot()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: agent.replay(None), "records must be a sequence of records, got None"),  # type: ignore[arg-type]
        (lambda: agent.replay(np.array(1j)), "records must be a sequence of records, got array"),
        (lambda: lewa.at_most("two\nlines", 0.4), r"a constraint needs a name of one line, .*, got 'two\\nlines'"),
        (lambda: agent.replay("x"), "records must be a sequence of records, got 'x'"),  # type: ignore[arg-type]
        (lambda: agent.replay([decision._replace(action=[])]), "a decision must have the fields that an agent gave it"),  # type: ignore[arg-type]
        (lambda: agent.replay([decision._replace(features_bytes=0.5)]), "a decision must have the fields"),  # type: ignore[arg-type]
        (lambda: agent.replay([decision._replace(id=np.zeros((2, 2)))]), "a decision must have the fields"),  # type: ignore[arg-type]
        (lambda: agent.replay([decision._replace(run=np.zeros((2, 2)))]), "a decision must have the fields"),  # type: ignore[arg-type]
        (lambda: agent.update(decision._replace(play_bytes=None), reward=1), "a decision must be a result of pull"),  # type: ignore[arg-type]
        (lambda: agent.pull(available=[[1, 2]]), r"there is no action \[1, 2\]"),  # type: ignore[list-item]
    ]
    for call, sentence in wrong:
        with pytest.raises(ValueError, match=sentence):
            call()
    assert agent.snapshot() == before


@pytest.mark.parametrize("what", WRONG)
def test_a_refused_answer_changes_nothing(what: str) -> None:
    agent = _agent()
    before, wrong = agent.snapshot(), WRONG[what]
    for call in (
        partial(agent.update, wrong, reward=0.5),
        partial(agent.update, 1, reward=wrong, other=0.5),
        partial(agent.update, 1, reward=0.5, cost=[wrong, wrong]),
        partial(agent.update_many, [(1, {"reward": 0.5}), (1, {"cost": wrong, "reward": wrong})]),
    ):
        returned: list[object] = []
        assert complaint(lambda: returned.append(call())) is None  # noqa: B023
        assert not returned
    assert agent.snapshot() == before


@pytest.mark.parametrize("wrong", [[[1]], "x", None, 10**400])
def test_a_window_that_is_none_is_refused(wrong: object) -> None:
    snapshot = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.4)], seed=0).snapshot()
    snapshot["state"]["recent"]["values"] = [wrong, wrong]
    with pytest.raises(ValueError, match=r"the recent values must be numbers|too large|is not complete") as refused:
        lewa.Agent.restore(snapshot)
    assert "\n" not in str(refused.value)


def test_a_class_that_cannot_be_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "class M(type):\n    def __getattr__(self, n): raise RuntimeError(n)\nclass Thing(metaclass=M): pass\n"
    (tmp_path / "hostile_class.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="hostile_class:Thing cannot be examined: RuntimeError: learn"):
        find("hostile_class:Thing")
