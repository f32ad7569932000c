"""What `import lewa` offers, and how it answers a wrong kind of argument: with one sentence."""

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.data.log import Log
from lewa.game import DECLARED_BY
from lewa.validation import as_count

LEARNER = lewa.learners.make("lewa", 3, 100, 0.6)
BANDIT = lewa.learners.make("bandit-lewa", 3, 100, 0.6)
GAME = lewa.games.Bernoulli()
TABLE = lewa.games.Table([[1, 0, 0.5]] * 20, [0.2, 0.9, 0.7])
LOG = Log(np.arange(30) % 3, np.full(30, 1 / 3), np.ones(30), np.ones((30, 1)), 3)


# Names


def test_what_is_listed_is_there_and_nothing_else_is_listed() -> None:
    public = [name for name in dir(lewa) if not name.startswith("_")]
    assert set(public) == {*lewa.__all__, *lewa.PUBLIC, *lewa.MODULES}
    assert len(public) == len(set(public))
    assert all(getattr(lewa, name) is not None for name in public)
    with pytest.raises(AttributeError, match="module 'lewa' has no attribute 'start'"):
        lewa.start  # noqa: B018


def test_there_are_few_names_to_learn() -> None:
    assert len(lewa.__all__) == 17
    names: dict[str, object] = {}
    exec("from lewa import *", names)
    assert set(names) - {"__builtins__"} == set(lewa.__all__)


@pytest.mark.parametrize("package", ["lewa", "lewa.games", "lewa.measures", "lewa.checks", "lewa.simulate", "lewa.engine"])
def test_no_function_hides_its_module(package: str) -> None:
    room = importlib.import_module(package)
    for info in pkgutil.iter_modules(room.__path__):
        if info.name != "__main__":
            module = (
                importlib.import_module(f"{package}.{info.name}") if package != "lewa" else getattr(room, info.name, None)
            )
            assert module is None or isinstance(getattr(room, info.name), ModuleType), info.name


# Learners and games by name


def test_a_learner_and_a_game_are_played_by_name() -> None:
    trace = lewa.play("lewa", "radio", rounds=1e3, floor=0.9, seeds=2.0)  # type: ignore[arg-type]
    learner, game = lewa.learners.make("lewa", 4, 1000, 0.9), lewa.games.Radio()
    other = lewa.play(learner, game, rounds=1000, seeds=2)
    assert trace.reward.tobytes() == other.reward.tobytes()
    assert repr(trace) == "<Trace: Lewa on Radio, 1000 rounds, 2 seeds>"
    assert lewa.play(learner, "radio", rounds=1000, seeds=2).reward.tobytes() == other.reward.tobytes()
    assert lewa.play("lewa", game, rounds=1000, seeds=2, floor=0.9).reward.tobytes() == other.reward.tobytes()


def test_a_game_by_name_is_made_for_the_floor_and_the_rounds() -> None:
    trace = lewa.play("lewa", "slow-burn", rounds=256, floor=0.7)
    assert trace.game == lewa.games.SlowBurn(0.7, 0.25)


def test_a_trace_has_its_measures() -> None:
    trace = lewa.play(LEARNER, GAME, rounds=100, seeds=3)
    np.testing.assert_array_equal(trace.regret, lewa.regret(trace))
    np.testing.assert_array_equal(trace.violation, lewa.violation(trace))
    np.testing.assert_array_equal(trace.positive_violation, lewa.positive_violation(trace))
    assert trace.guarantee == lewa.judge(trace).guarantee


def test_a_table_and_a_log_are_replayed() -> None:
    trace = lewa.replay(TABLE, "lewa", floor=0.6)
    assert isinstance(trace, lewa.Trace)
    assert trace.rounds == 20
    run: Any = lewa.replay(LOG, BANDIT, seeds=2, every_round=True)
    assert repr(run) == f"<LogReplay: {run.rounds} of 30 rows count, 2 seeds>"
    assert run.plays.shape == (2, 30, 3)


# A wrong kind of argument


class NoGame:
    def block(self, key: object, start: int, stop: int) -> None: ...


class HalfAGame(lewa.games.Game):
    actions = 3


ANY: Any = "where None or a class is right"
STATE = lewa.functional.start(LEARNER, 3)
WRONG: dict[str, Callable[[Any], object]] = {
    "play a learner": lambda wrong: lewa.play(wrong, GAME, 10),
    "play a game": lambda wrong: lewa.play(LEARNER, wrong, 10),
    "play rounds": lambda wrong: lewa.play(LEARNER, GAME, wrong if wrong is not None else ANY),
    "play workers": lambda wrong: lewa.play(LEARNER, GAME, 10, workers=ANY if wrong is None else wrong),
    "play seeds": lambda wrong: lewa.play(LEARNER, GAME, 10, seeds=wrong),
    "play floor": lambda wrong: lewa.play("lewa", GAME, 10, floor=wrong),
    "play progress": lambda wrong: lewa.play(LEARNER, GAME, 10, progress=ANY if wrong in (None, int) else wrong),
    "replay data": lambda wrong: lewa.replay(wrong, LEARNER),
    "replay a learner": lambda wrong: lewa.replay(LOG, wrong),
    "start": lambda wrong: lewa.functional.start(wrong, 3),
    "start actions": lambda wrong: lewa.functional.start(LEARNER, wrong),
    "functional play": lambda wrong: lewa.functional.play(wrong, STATE),
    "functional play, a state": lambda wrong: lewa.functional.play(LEARNER, wrong),
    "functional learn": lambda wrong: lewa.functional.learn(LEARNER, STATE, wrong),
    "facts": lambda wrong: lewa.games.facts(wrong, 0.5, 10),
    "facts, rounds": lambda wrong: lewa.games.facts(GAME, 0.5, wrong),
    "make": lambda wrong: lewa.games.make(wrong, 0.5, 10),
    "make, a floor": lambda wrong: lewa.games.make("radio", wrong, 10),
    "make, rounds": lambda wrong: lewa.games.make("radio", 0.5, wrong),
    "check": lambda wrong: lewa.checks.check(wrong),
}


@pytest.mark.parametrize(
    "wrong", [-1.5, "x", None, object(), int], ids=["a number", "a word", "None", "an object", "a class"]
)
@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_kind_of_argument_is_refused_with_a_sentence(call: str, wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        WRONG[call](wrong)
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert " " in sentence


def test_what_is_missing_is_named() -> None:
    with pytest.raises(TypeError, match=r"game must be a lewa.games.Game or a name in lewa.games.ALL, got <.*NoGame object"):
        lewa.play(LEARNER, NoGame(), 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the game HalfAGame must have `constraints` and `setting`"):
        lewa.play(LEARNER, HalfAGame(), 10)
    with pytest.raises(TypeError, match="game must be an instance of Radio, not the class itself"):
        lewa.play(LEARNER, lewa.games.Radio, 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"learner must be an object such as .*, got the class Lewa"):
        lewa.play(lewa.learners.Lewa, GAME, 10)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown learner 'lewe'; did you mean 'lewa'"):
        lewa.play("lewe", "radio", 10, floor=0.9)
    with pytest.raises(ValueError, match="unknown game 'radioo'; did you mean 'radio'"):
        lewa.play("lewa", "radioo", 10, floor=0.9)
    with pytest.raises(ValueError, match="a learner and a game by their names need floor, got 'lewa'"):
        lewa.play("lewa", "radio", 10)
    with pytest.raises(ValueError, match=r"a learner by its name needs floor, .* got 'lewa'"):
        lewa.play("lewa", GAME, 10)
    with pytest.raises(ValueError, match=r"floor needs a learner that is given by its name, got floor=0\.6"):
        lewa.play(LEARNER, GAME, 10, floor=0.6)
    with pytest.raises(ValueError, match=r"a game by its name needs rounds, got 'radio'"):
        lewa.play("lewa", "radio", floor=0.9)


@pytest.mark.parametrize(("name", "alias"), lewa.learners.ALIASES.items())
def test_a_name_of_an_earlier_version_is_the_learner_of_this_one(name: str, alias: Any) -> None:
    assert name not in lewa.learners.ALL
    assert lewa.learners.make(name, 3, 100, 0.5) == lewa.learners.make(alias.name, 3, 100, 0.5)
    assert lewa.learners.about(name) == lewa.learners.about(alias.name)
    assert lewa.learners.settings_of(f"{name}+doubling") == lewa.learners.settings_of(f"{alias.name}+doubling")


@pytest.mark.parametrize(("name", "instead"), lewa.learners.REMOVED.items())
def test_a_learner_that_was_removed_says_what_to_use(name: str, instead: str) -> None:
    assert name not in lewa.learners.ALL
    with pytest.raises(ValueError, match=f"^the learner {name} was removed in 0.3.0; use {instead} instead$"):
        lewa.play(f"{name}+doubling", GAME, 10, floor=0.5)
    lewa.learners.find(instead.split()[0])


@pytest.mark.parametrize(("method", "attribute"), DECLARED_BY.items())
def test_a_method_that_would_never_be_called_is_refused(method: str, attribute: str) -> None:
    with pytest.raises(TypeError, match=f"Mine has `{method}`, so it must declare `{attribute} = True`"):
        type("Mine", (lewa.games.Game,), {method: lambda self: None})
    type("Mine", (lewa.games.Game,), {method: lambda self: None, attribute: True})


@pytest.mark.parametrize("value", [1, 7, 1e5, np.int64(3), np.float32(8), np.uint8(2)])
def test_a_whole_number_is_a_count(value: Any) -> None:
    assert as_count("n", value) == int(value)
    assert type(as_count("n", value)) is int


@pytest.mark.parametrize("value", [0, -1, 1.5, np.nan, np.inf, True, "3", None, [1], 1j])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got"):
        as_count("n", value)


def test_errors_have_public_paths() -> None:
    assert f"{lewa.agent.ClosedError.__module__}.{lewa.agent.ClosedError.__name__}" == "lewa.agent.ClosedError"
