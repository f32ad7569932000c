"""NAME+doubling, NAME+tightened and NAME+governed as citizens of the package: by name, compiled, saved, and found again."""

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests import forks

import lewa
from lewa.engine.stamp import UNSAVED, stamp_of
from lewa.feedback import NOTHING, Bandit, Full, feedback_kind
from lewa.kernels import compiled_form, dump, grow, load, normalize, ones, pack, state_type
from lewa.kernels.roles import PerAction
from lewa.lab.study import expand, parse
from lewa.learners import ALL, WRAPPERS, Lewa, find, make, settings_of
from lewa.learners.base import Learner
from lewa.learners.wrappers.doubling import Doubling
from lewa.learners.wrappers.tightened import Tightened, least_slack
from lewa.theory.guarantees import PATHWISE
from lewa.types import Vector

pytestmark = pytest.mark.slow

# Learners with a parameter per action: an epoch has numbers and vectors only. All but the second need no horizon.
WITHOUT_EPOCHS = (
    *("squarecb-lewa", "proved-squarecb-lewa", "anytime-proved-squarecb-lewa"),
    *("paced-hedge", "ucb-lp", "thompson-lp", "paced-linucb"),
)
GAME = lewa.games.Bernoulli([0.9, 0.6, 0.3], [[0.2, 0.5, 0.9]])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_any_registered_learner_can_be_run_inside(name: str, wrapper: str) -> None:
    if wrapper == "doubling" and name in WITHOUT_EPOCHS:
        with pytest.raises(ValueError, match=r"numbers and vectors|one number per action"):
            make(f"{name}+{wrapper}", 3, 10_000, (0.5, 0.4))
        return
    wrapped: Any = find(f"{name}+{wrapper}")
    assert wrapped is WRAPPERS[wrapper].of(ALL[name])
    assert feedback_kind(wrapped) == feedback_kind(ALL[name])
    assert str(wrapped.__doc__).startswith(str(ALL[name].__doc__).splitlines()[0].rstrip(".").strip())
    learner: Any = make(f"{name}+{wrapper}", 3, 10_000, (0.5, 0.4))
    assert learner == make(f"{name}+{wrapper}", 3, 10_000, (0.5, 0.4)) != make(f"{name}+{wrapper}", 3, 10_000, (0.5, 0.3))
    assert hash(learner) == hash(make(f"{name}+{wrapper}", 3, 10_000, (0.5, 0.4)))
    state = lewa.functional.start(learner, 3)
    for record in (learner, state):
        again = load(type(record), json.loads(json.dumps(dump(record))))
        assert pack(again).tobytes() == pack(record).tobytes()
        assert again == record
    for rounds in (1, 10_000):
        said = lewa.guarantee(learner, 3, rounds)
        assert (said.regret is None) == bool(said.reason)
    again, same = pickle.loads(pickle.dumps((learner, state)))
    assert type(again) is wrapped
    assert pack(again).tobytes() == pack(learner).tobytes()
    assert type(same) is type(state)
    assert (again, same) == (learner, state)


def test_names_are_found_with_the_printed_reading_too_and_unknown_ones_are_refused() -> None:
    printed: Any = make("lewa@printed+doubling", 3, 1, 0.5)
    for k in (0, 5):
        assert printed.at(k) == make("lewa@printed", 3, 2**k, 0.5)
    with pytest.raises(ValueError, match=r"unknown learner 'lewa\+dubling'; did you mean 'lewa\+doubling'"):
        find("lewa+dubling")
    with pytest.raises(ValueError, match="unknown learner 'lewaa'; did you mean 'lewa'"):
        find("lewaa+doubling")


def test_settings_are_the_wrappers_and_those_of_the_learner_inside() -> None:
    assert settings_of("lewa+doubling") == sorted([*settings_of("lewa"), "first"])
    assert settings_of("bandit-lewa+tightened") == sorted([*settings_of("bandit-lewa"), "slack"])
    assert settings_of("bandit-lewa+governed") == sorted([*settings_of("bandit-lewa"), "safe", "margin", "debt"])
    learner: Any = make("lewa+doubling", 3, 1, 0.5, first=4, tuning="paper", mu=0.125)
    assert learner.length[:3].tolist() == [4, 8, 16]
    assert learner.at(2) == make("lewa", 3, 16, 0.5, tuning="paper", mu=0.125)
    same: Any = make("bandit-lewa+doubling", 3, 1, 0.5, tuning="recommended")  # the only one there is
    np.testing.assert_array_equal(same.gamma, find("bandit-lewa+doubling").tuned(3, 1, 0.5).gamma)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"lewa\+doubling has no parameter 'frist'; did you mean 'first'"):
        make("lewa+doubling", 3, 1, 0.5, frist=4)
    with pytest.raises(ValueError, match="slack must be a number"):
        make("lewa+tightened", 3, 1, 0.5, slack="little")


def test_wrappers_compose_where_the_start_of_an_epoch_does_not_depend_on_it() -> None:
    both: Any = make("lewa+doubling+tightened", 3, 10**6, 0.4)
    assert lewa.guarantee(both, 3, 10**6).violation == (0.0,)
    assert 0 < both.slack < 0.6
    with pytest.raises(ValueError, match="must be the same in every epoch"):
        make("lewa+tightened+doubling", 3, 1, 0.4)
    same: Any = make("lewa+tightened+doubling", 3, 1, 0.4, slack=0.1)
    assert (same.slack == 0.1).all()


def test_a_study_takes_them_by_name() -> None:
    study = parse(
        """
        name = "wrapped"
        rounds = 400
        seeds = 1
        [[games]]
        name = "bernoulli"
        floor = 0.6
        [[learners]]
        name = "lewa+doubling"
        settings = { first = 16, tuning = "paper" }
        [[learners]]
        name = "lewa+doubling"
        settings = { first = 1 }
        [[learners]]
        name = "lewa+tightened"
        settings = { slack = 0.1 }
        """
    )
    runs = expand(study)
    assert [run.id for run in runs] == [
        "bernoulli/T=400/lewa+doubling first=16 tuning=paper/seed0",
        "bernoulli/T=400/lewa+doubling/seed0",
        "bernoulli/T=400/lewa+tightened slack=0.1/seed0",
    ]
    from lewa.lab.execute import execute

    row = execute(runs[2])
    assert (row["floor"], row["guarantee_kind"]) == ([0.6], "expected [E V]+")
    assert json.loads(row["parameters"])["slack"] == 0.1


def test_the_command_line_takes_them_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    from lewa.cli import app

    def said(*words: object) -> str:
        app([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr().out

    assert "+doubling" in said("learners")
    sizes = ("--actions", 3, "--rounds", 20_000, "--floor", 0.5)
    found = json.loads(said("guarantee", "lewa+tightened", *sizes, "--slater", 0.4, "--json"))
    assert (found["violation"], found["source"]) == ([0.0], "LEWA (a), (b), tightened")
    found = json.loads(said("guarantee", "lewa+doubling", *sizes, "--epsilon", 0.1, "--json"))
    assert found["kind"] == "high probability"
    found = json.loads(said("guarantee", "lewa@printed+doubling", *sizes, "--epsilon", 0.1, "--json"))
    assert "needs delta > m*eta/2" in found["reason"]
    assert "eta = " in said("guarantee", "lewa+doubling", *sizes)
    assert "penalty = 1" in said("guarantee", "fixed-penalty", *sizes)
    words = ("play", "bernoulli", "--learner", "lewa+doubling", "--learner", "lewa", "--set", "first=8", "--floor", 0.6)
    found = json.loads(said(*words, "--rounds", 500, "--seeds", 2, "--json"))
    assert list(found["learners"]) == ["lewa+doubling", "lewa"]


class MineState(NamedTuple):
    weights: PerAction[Any]


class Rule(Learner):
    """A learner of a user's."""

    eta: float

    def start(self, actions: int) -> MineState:
        return MineState(ones(actions))

    def play(self, s: MineState, p: Vector) -> None:
        normalize(s.weights, p)


@dataclass(frozen=True)
class Mine(Rule):
    eta: float
    floor: Vector

    def learn(self, s: MineState, seen: Full) -> None:
        grow(s.weights, self.eta, seen.rewards)


@dataclass(frozen=True)
class Other(Rule):
    eta: float
    floor: Vector

    def learn(self, s: MineState, seen: Full) -> None:
        grow(s.weights, 2 * self.eta, seen.rewards)


def stamp_by_name(kind: type[Learner]) -> str:
    return stamp_of(compiled_form(kind))


def test_what_is_compiled_is_named_and_stamped_by_the_learner_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = {kind for name, kind in ALL.items() if name not in WITHOUT_EPOCHS} | {Mine, Other}
    kinds = [wrapper.of(kind) for wrapper in WRAPPERS.values() for kind in inside]
    assert len({(kind.__module__, kind.__qualname__) for kind in kinds}) == len(kinds)
    assert len({stamp_by_name(kind) for kind in kinds}) == len(kinds)
    for kind in [*kinds, *map(compiled_form, kinds), *map(state_type, kinds)]:
        # It is pickled by its name: so the key of what is on disk is the same in every process.
        assert attrgetter(kind.__qualname__)(sys.modules[kind.__module__]) is kind
    for wrapper in WRAPPERS.values():
        assert stamp_by_name(wrapper.of(Mine)) != stamp_by_name(wrapper.of(Other))  # the rule inside is another
    monkeypatch.setattr(compiled_form(Mine), "__module__", "__main__")
    assert [stamp_by_name(wrapper.of(Mine)) for wrapper in WRAPPERS.values()] == [UNSAVED] * len(WRAPPERS)


PICKLED = """
import gc, pickle, sys
from lewa.learners.base import Learner
gc.unfreeze()  # what was imported before the fork is listed too
made = [kind.__name__ for kind in gc.get_objects() if isinstance(kind, type) and issubclass(kind, Learner)]
print(sys.argv[1] in made)
learner, state = pickle.loads(bytes.fromhex(sys.argv[2]))[::-1]
print(type(learner).__name__, type(state).__name__, learner.start(3) == state)
"""


@pytest.mark.parametrize("name", ["lewa+doubling", "bandit-lewa+tightened", "lewa+governed"])
def test_another_process_reads_what_is_pickled_before_it_made_the_class(name: str, tmp_path: Path) -> None:
    learner = make(name, 3, 100, (0.6, 0.5))
    kind = type(learner).__name__
    code, out, err = forks.run(tmp_path, [kind, pickle.dumps((learner.start(3), learner)).hex()], PICKLED)
    assert code == 0, err
    assert out.split() == ["False", kind, f"{kind}State", "True"]


def test_the_modules_of_wrappers_are_not_hidden_by_a_function() -> None:
    import lewa.learners.wrappers.doubling as doubling
    import lewa.learners.wrappers.tightened as tightened

    assert (doubling.Doubling, tightened.Tightened) == (Doubling, Tightened)


FOUND = """
import sys
import lewa
from lewa.engine.compile import compile_learner
learner = lewa.learners.make(sys.argv[1], 3, 100, 0.6)
trace = lewa.play(learner, lewa.games.Bernoulli([0.9, 0.6, 0.3], [[0.2, 0.5, 0.9]]), 100)
print(sum(compile_learner(type(learner)).run.stats.cache_misses.values()), trace.reward[0, -1])
"""


@pytest.mark.compiled
def test_the_next_process_finds_the_loop_on_disk(tmp_path: Path) -> None:
    learner = make("lewa+tightened", 3, 100, 0.6)
    trace = lewa.play(learner, lewa.games.Bernoulli([0.9, 0.6, 0.3], [[0.2, 0.5, 0.9]]), 100)
    assert forks.run(tmp_path, ["lewa+tightened"], FOUND).out.split() == ["0", str(trace.reward[0, -1])]


def test_a_chance_that_no_epoch_gives_is_refused() -> None:
    learner = make("bandit-lewa+doubling", 3, 1, 0.5)
    state = lewa.functional.start(learner, 3)
    with pytest.raises(ValueError, match="the propensity of the action must lie in"):
        lewa.functional.learn(learner, state, Bandit(0, 1e-9, 1.0, np.array([0.5]), NOTHING, NOTHING))


@pytest.mark.compiled
def test_many_epochs_leave_no_nan() -> None:
    for name in ("lewa+doubling", "bandit-lewa+doubling"):
        trace = lewa.play(make(name, 3, 1, 0.6), GAME, 1_000_000)
        assert trace.states[0].epoch.tolist() == [19, 1_000_000 - (2**19 - 1)]
        assert np.isfinite(pack(trace.states[0])).all()
        assert lewa.regret(trace)[0] <= lewa.guarantee(trace.learner, 3, 1_000_000).regret


BOUNDS: dict[str, Callable[[float], tuple[float, ...]]] = {
    "falls": lambda slack: (40 / (1 + slack), 9.0),
    "constant": lambda slack: (25.0, 0.0),
    "rises": lambda slack: (9 + 50 * slack * slack, 1.0),
    "jumps": lambda slack: (60.0 if slack < 1 / 3 else 10.0, 3.0),
    "infinite below": lambda slack: (inf if slack < 0.3 else 7.0, 20.0),
    "infinite": lambda slack: (1.0, inf),
    "no number": lambda slack: (1.0, nan),
    "no number, and one": lambda slack: (nan, 1.0),
    "no number below": lambda slack: (1.0, nan if slack < 0.3 else 2.0),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_least_slack_is_that_of_a_bisection(bound: str) -> None:
    def make(actions: int, horizon: int, line: Vector) -> Any:
        best = SimpleNamespace(kind=PATHWISE, violation=BOUNDS[bound](float(line[0]) - 0.4))
        return SimpleNamespace(guarantees=lambda *setting: (best,))

    def enough(slack: float) -> bool:
        return all(v <= 100 * slack for v in BOUNDS[bound]((0.4 + slack) - 0.4))

    low, high = 0.0, 0.5
    for _ in range(50 if enough(high) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    assert least_slack(make, 3, 100, np.array([0.4, 0.5]), {}) == (high if enough(high) else 0)


def test_no_certificate_is_read_off_a_run_whose_steps_change() -> None:
    assert lewa.measures.certificate(lewa.play(Lewa.tuned(3, 100, 0.6), GAME, 100)).shape == (1, 1)
    for name in ("anytime-lewa", "lewa+doubling", "lewa+tightened"):
        with pytest.raises(ValueError, match="has no certificate: its multiplier must have a fixed shrinkage and step"):
            lewa.measures.certificate(lewa.play(make(name, 3, 100, 0.6), GAME, 100))
