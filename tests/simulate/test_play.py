import os
import shutil
import subprocess
import sys
from pathlib import Path
from signal import SIGINT, default_int_handler, raise_signal, signal
from threading import Event as ThreadEvent
from threading import get_ident
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa.kernels import NATURE, keys, pack
from lewa.measures.performance import totals
from lewa.simulate import run as run_module
from lewa.simulate.run import Interrupted, log_spaced

pytestmark = [pytest.mark.compiled, pytest.mark.slow, pytest.mark.falsify]

SUMS = (
    "reward",
    "shortfall",
    "positive",
    "observed_shortfall",
    "multiplier_sums",
    "multiplier",
    "reward_sums",
    "constraint_sums",
)
ARRAYS = (*SUMS, "plays", "multipliers", "actions")
EVERY = pytest.mark.parametrize("name", lewa.learners.ALL)
LAZY = ("bandit-lewa", "hp-bandit-lewa", "exp3")  # compiled for coins that are drawn lazily; the others for tables only
# These may give an action no chance at all.
SURE = (
    *("normalhedge", "ucb1", "epsilon-first", "kube", "kube@fractional"),
    *("squarecb-lewa", "ucb-lp", "thompson-lp", "paced-linucb"),
)
COINS: dict[str, Any] = {"rewards": [0.9, 0.6, 0.2], "constraints": [[0.2, 0.5, 0.9], [0.7, 0.3, 0.6]]}
BERNOULLI = lewa.games.Bernoulli(**COINS)
FLOOR = (0.45, 0.4)


def tabled(rounds: int = 300) -> lewa.games.Table:
    eighths = np.random.default_rng(0).integers(0, 9, (rounds, 3, 3)) / 8  # their sums are exact in any order
    return lewa.games.Table(eighths[:, :, 0], eighths[:, :, 1:])


def learner(name: str, horizon: int = 300) -> Any:
    return lewa.learners.make(name, actions=3, horizon=horizon, floor=FLOOR)


def assert_same(one: Any, other: Any) -> None:
    for field in ARRAYS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)


# What comes out


@EVERY
def test_play_is_a_distribution_after_any_round(name: str) -> None:
    trace = lewa.play(learner(name), tabled(), rounds=300, seeds=2, every_round=True)
    plays: Any = trace.plays
    assert plays.shape == (2, 300, 3)
    np.testing.assert_array_equal(trace.play[:, :-1], plays[:, trace.marks[:-1]])  # at a mark, that of the next round
    assert ((plays >= 0) if name in SURE else (plays > 0)).all()
    np.testing.assert_allclose(plays.sum(axis=2), 1, rtol=0, atol=1e-12)


@pytest.mark.plain  # coins are drawn lazily, by a loop of its own: it is compiled for few learners
@EVERY
def test_violation_is_measured_by_the_true_means_where_the_game_knows_them(name: str) -> None:
    trace: Any = lewa.play(learner(name), BERNOULLI, rounds=60 if HUNT else 30, every_round=True)
    chosen = trace.plays[0] if trace.measured_on == "play" else np.eye(3)[trace.actions[0]]
    short = trace.floor - chosen @ BERNOULLI.mean_constraints.T
    at = trace.marks - 1
    np.testing.assert_allclose(trace.shortfall[0], short.cumsum(axis=0)[at], rtol=0, atol=1e-10)
    np.testing.assert_allclose(trace.positive[0], short.clip(min=0).cumsum(axis=0)[at], rtol=0, atol=1e-10)


def test_every_round_is_written_down_only_when_it_is_asked_for() -> None:
    trace = lewa.play(learner("lewa"), BERNOULLI, rounds=50)
    assert trace.plays is None
    assert trace.multipliers is None
    assert trace.actions is None


@pytest.mark.parametrize("rounds", [1, 2, 3, 10, 999, 10**6])
def test_marks_run_from_the_first_round_to_the_last(rounds: int) -> None:
    marks = log_spaced(rounds)
    assert marks[0] == 1
    assert marks[-1] == rounds
    assert (np.diff(marks) > 0).all()


def test_a_single_number_is_a_floor_for_one_constraint() -> None:
    trace = lewa.play(lewa.learners.Lewa(0.1, 0.05, 0.1, 0.5), lewa.games.Bernoulli(), rounds=20)  # type: ignore[arg-type]
    assert trace.floor.tolist() == [0.5]


# The same seed, the same results


@EVERY
def test_a_seed_gives_the_same_alone_and_among_others(name: str) -> None:
    among: Any = lewa.play(learner(name), tabled(), rounds=300, seeds=[4, 9, 2], every_round=True)
    alone: Any = lewa.play(learner(name), tabled(), rounds=300, seeds=[9], every_round=True)
    for field in ARRAYS:
        if getattr(alone, field) is not None:
            np.testing.assert_array_equal(getattr(among, field)[1], getattr(alone, field)[0], err_msg=field)


def test_a_number_of_seeds_stands_for_the_first_ones() -> None:
    three = lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=3, every_round=True)
    assert three.seeds == (0, 1, 2)
    assert_same(three, lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=iter([0, 1, 2]), every_round=True))


def test_the_number_of_threads_does_not_matter() -> None:
    one = lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=5, every_round=True, workers=1)
    assert_same(one, lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=5, every_round=True, workers=4))


class Watched(lewa.games.Bernoulli):
    """Note which thread plays a seed; at a seed, do as Ctrl-C does."""

    threads: ClassVar[list[int]] = []
    stop_at: ClassVar[int | None] = None

    def block(self, key: Any, start: int, stop: int) -> Any:
        if start == 0:
            self.threads.append(get_ident())
            if len(self.threads) - 1 == self.stop_at:
                raise KeyboardInterrupt
        return super().block(key, start, stop)


@pytest.mark.parametrize(("short", "here"), [(np.inf, 4), (0.0, 2)], ids=["short", "not short"])
def test_seeds_are_played_in_turn_as_long_as_they_are_short(
    short: float, here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lewa.simulate.run.SHORT", short)
    monkeypatch.setattr(Watched, "threads", [])
    trace = lewa.play(learner("lewa"), Watched(**COINS), rounds=300, seeds=4, every_round=True)
    assert [thread == get_ident() for thread in Watched.threads] == [True] * here + [False] * (4 - here)
    assert_same(trace, lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=4, every_round=True, workers=1))


def test_seeds_that_are_played_in_turn_are_stopped_and_the_finished_ones_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lewa.simulate.run.SHORT", np.inf)
    monkeypatch.setattr(Watched, "threads", [])
    for seed in (2, 0):
        Watched.threads.clear()
        monkeypatch.setattr(Watched, "stop_at", seed)
        with pytest.raises(Interrupted) as stopped:
            lewa.play(learner("lewa"), Watched(**COINS), rounds=300, seeds=4)
        assert len(Watched.threads) == seed + 1
        trace = stopped.value.trace
        assert trace is None if seed == 0 else trace is not None and trace.seeds == (0, 1)


def test_seeds_in_turn_and_in_threads_are_stopped_by_a_signal_and_the_finished_ones_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def finished(*arguments: Any, whole: Any = run_module._finished) -> Any:
        noticed.set()
        return whole(*arguments)

    def stop(_rounds: int) -> None:
        if get_ident() != here:  # the third seed, or a later one
            if next(once, False):
                raise_signal(SIGINT)
            noticed.wait(60)

    here, noticed, once = get_ident(), ThreadEvent(), iter([True])
    monkeypatch.setattr(run_module, "SHORT", 0.0)
    monkeypatch.setattr(run_module, "_finished", finished)
    before = signal(SIGINT, default_int_handler)  # a process in the background may ignore the signal
    try:
        with pytest.raises(Interrupted) as stopped:
            lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=6, progress=stop)
    finally:
        signal(SIGINT, before)
    trace: Any = stopped.value.trace
    assert trace.seeds == (0, 1)  # all others wait in their first block
    all_seeds = lewa.play(learner("lewa"), BERNOULLI, rounds=300, seeds=6, workers=1)
    np.testing.assert_array_equal(trace.reward, all_seeds.reward[:2])


class Underflowing(lewa.games.Bernoulli):
    """A game of a user's, which computes numbers that are rounded to 0."""

    def block(self, key: Any, start: int, stop: int) -> Any:
        assert np.exp(np.array([-1000.0])) == 0
        return super().block(key, start, stop)


@pytest.mark.parametrize("workers", [None, 1])
def test_errors_of_numpy_are_handled_the_same_in_every_thread(workers: int | None) -> None:
    with np.errstate(all="raise"):
        trace = lewa.play(learner("lewa"), Underflowing(**COINS), rounds=50, workers=workers)
    assert trace.seeds == (0,)


@EVERY
def test_the_size_of_blocks_does_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = 300 if HUNT else 90
    for game in (BERNOULLI, tabled(rounds)) if name in LAZY else (tabled(rounds),):
        whole = lewa.play(learner(name), game, rounds=rounds, seeds=2, every_round=True)
        for size in (1, 100):  # numbers: one round after the other, and eleven at a time
            monkeypatch.setattr("lewa.simulate.nature.BLOCK", size)
            assert_same(lewa.play(learner(name), game, rounds=rounds, seeds=2, every_round=True), whole)
        monkeypatch.undo()


def test_every_learner_meets_the_same_nature_on_a_seed() -> None:
    met = [totals(lewa.play(learner(name), BERNOULLI, rounds=300, seeds=[5]), 0) for name in ("lewa", *LAZY)]
    for rewards, constraints in met[1:]:
        np.testing.assert_array_equal(rewards, met[0][0])
        np.testing.assert_array_equal(constraints, met[0][1])


@pytest.mark.parametrize("name", ["bandit-lewa", "hp-bandit-lewa"])
def test_a_bandit_earns_what_full_information_would_have_seen_there(name: str) -> None:
    trace: Any = lewa.play(learner(name), BERNOULLI, rounds=300, seeds=[5], every_round=True)
    nature = BERNOULLI.block(keys(5)[NATURE : NATURE + 1], 0, 300)
    rounds, drawn, at = np.arange(300), trace.actions[0], trace.marks - 1
    seen = nature.constraints[rounds, :, drawn]
    np.testing.assert_array_equal(trace.reward[0], nature.rewards[rounds, drawn].cumsum()[at])
    np.testing.assert_allclose(trace.observed_shortfall[0], (trace.floor - seen).cumsum(axis=0)[at], rtol=0, atol=1e-10)


# Compiled code on disk

RULE = """
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lewa.feedback import Full
from lewa.kernels import positive
from lewa.kernels.roles import PerAction
from lewa.learners.base import Learner
from lewa.types import Vector
from step import scaled


class State(NamedTuple):
    lead: PerAction[Vector]


@dataclass(frozen=True)
class Mine(Learner):
    floor: Vector

    def start(self, actions: int) -> State:
        return State(np.zeros(actions))

    def play(self, s: State, p: Vector) -> None:
        p[0] = 0.5 + s.lead[0]
        p[1] = 0.5 - s.lead[0]

    def learn(self, s: State, seen: Full) -> None:
        s.lead[0] += scaled(0.1) * (positive(seen.rewards[0]) - positive(seen.rewards[1]))
"""
STEP = """
from lewa.kernels import rule


@rule
def scaled(eta: float) -> float:
    return 1.0 * eta
"""
RUN = """
import numpy as np

from lewa.engine.session import Session
from lewa.feedback import Full
from mine import Mine

session, rewards = Session(Mine(np.array([0.5])), 2), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
earned = 0.0
for t in range(3):
    earned += session.play() @ rewards[t]
    session.learn(Full(rewards[t], np.ones((1, 2)), np.ones(1), session.play()))
stats = session.steps.learn_full.stats
print(earned, sum(stats.cache_hits.values()), stats.cache_path)
"""


def run(folder: Path, **environment: str) -> tuple[float, int, str]:
    """The reward of `Mine`, how many forms of its step were found on disk, and where on disk that is."""
    paths = {"NUMBA_DISABLE_JIT": "0", "PYTHONPATH": f"{folder}{os.pathsep}{Path(lewa.__file__).parents[1]}"}
    variables = {**os.environ, **paths, **environment}
    ended = subprocess.run(
        [sys.executable, "-c", RUN], check=True, capture_output=True, env=variables, cwd=folder, text=True
    )
    reward, hits, path = ended.stdout.split()
    return float(reward), int(hits), path


@pytest.mark.plain  # the processes that it starts compile
def test_a_step_is_found_on_disk_again_and_an_edited_rule_is_never_served_stale(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RULE)
    (tmp_path / "step.py").write_text(STEP)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    first, hits, _ = run(tmp_path, **cache)
    assert hits == 0
    assert run(tmp_path, **cache)[:2] == (first, 1)
    # Both the rule and a file that it calls are edited: the reward tells which of them the step was compiled of.
    (tmp_path / "mine.py").write_text(RULE.replace("scaled(0.1)", "scaled(0.15)"))
    (tmp_path / "step.py").write_text(STEP.replace("1.0 * eta", "2.0 * eta"))
    edited, hits, _ = run(tmp_path, **cache)
    assert hits == 0
    assert (first, edited) == pytest.approx((earned(0.1), earned(0.3)), abs=1e-12)


def earned(eta: float) -> float:
    """What `Mine` earns in the three rounds of RUN."""
    return 0.5 + (0.5 + eta) + (0.5 - 2 * eta)


@pytest.mark.plain  # as above
def test_where_nothing_can_be_kept_on_disk_everything_works_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RULE)
    (tmp_path / "step.py").write_text(STEP)
    shutil.copytree(Path(lewa.__file__).parent, tmp_path / "lewa", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "lewa", *(tmp_path / "lewa").rglob("*/")]:
        (folder / "__pycache__").touch()  # a file where a directory would have to be
    below_a_file = str(tmp_path / "mine.py" / "cache")
    nowhere = dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"), below_a_file)
    reward, hits, path = run(tmp_path, **nowhere)
    assert 1 < reward < 2
    assert hits == 0
    assert path == "None"


# Extremes


@EVERY
def test_a_long_game_with_a_large_step_stays_finite(name: str) -> None:
    rounds = 200_000 if HUNT else 5_000  # weights grow by e^20 a round
    rewards = np.tile([1.0, 0.0, 0.0], (rounds, 1))
    game = lewa.games.Table(rewards, np.broadcast_to([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (rounds, 3, 2)))
    tuned = learner(name, horizon=200_000)
    large = tuned.replace(**{step: 20.0 for step in ("eta", "rate") if step in tuned.parameters})
    trace = lewa.play(large, game, rounds=rounds)
    assert np.isfinite(pack(large, trace.states[0])).all()
    assert all(
        np.isfinite(getattr(trace, field)).all() for field in ("reward", "shortfall", "multiplier_sums", "multiplier")
    )
    assert trace.play[0, -1].sum() == pytest.approx(1, abs=1e-12)


@EVERY
def test_one_action_and_one_round_are_enough(name: str) -> None:
    only = lewa.learners.ALL[name].tuned(actions=1, horizon=1, floor=0.25)
    trace: Any = lewa.play(only, lewa.games.Table([[0.75]], [[0.5]]), every_round=True)
    assert trace.plays.tolist() == [[[1.0]]]
    assert trace.reward.tolist() == [[0.75]]
    assert trace.shortfall.tolist() == [[[-0.25]]]


# Bad input


@pytest.mark.parametrize(
    ("rewards", "constraints", "sentence"),
    [
        ([[1, np.nan]], [1, 1], r"^rewards must be finite numbers in \[0, 1\], got nan at index \(0, 1\)$"),
        ([[1, np.inf]], [1, 1], r"^rewards must be finite numbers in \[0, 1\], got inf at index \(0, 1\)$"),
        (
            [[1, 0], [0, 7]],
            [1, 1],
            r"^rewards .* got 7.0 at index \(1, 1\); scale them first: \(x - low\) / \(high - low\)$",
        ),
        ([[1, 0]], [[1, -0.5]], r"^constraints .* got -0.5 at index .*; scale them first"),
        ([[1, 0]], [[[1], [np.nan]]], r"^constraints .* got nan at index \(0, 1, 0\)$"),
        ([1, 0], [1, 1], r"^rewards must have the shape \(rounds, actions\), both at least 1, got \(2,\)$"),
        (np.zeros((0, 2)), [1, 1], r"^rewards must have the shape .* got \(0, 2\)$"),
        ([[1, 0]], [1, 1, 1], r"^constraints must have the shape \(1, 2, m\), .* got \(3,\)$"),
        ([[1, 0]], [[[1, 1, 1]]], r"^constraints must have the shape \(1, 2, m\), .* got \(1, 1, 3\)$"),
    ],
)
def test_a_bad_table_is_refused_with_a_sentence(rewards: object, constraints: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lewa.games.Table(rewards, constraints)


@pytest.mark.parametrize(
    ("rewards", "constraints", "sentence"),
    [
        ([0.9, 1.1], [[0.2, 0.8]], r"^mean rewards must be finite numbers in \[0, 1\], got 1.1 at index \(1,\); scale"),
        ([0.9, 0.5], [[0.2, np.nan]], r"^mean constraints must be finite numbers in \[0, 1\], got nan at index \(0, 1\)$"),
        ([0.9, 0.5], [[0.2, 0.8, 0.1]], r"^mean constraints must have the shape \(m, 2\), got \(1, 3\)$"),
    ],
)
def test_bad_means_are_refused_with_a_sentence(rewards: object, constraints: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lewa.games.Bernoulli(rewards, constraints)


def floored(floor: object) -> Any:
    return lambda: learner("ewa").replace(floor=floor)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"rounds": 301}, r"^rounds must be at most the game's length 300, got 301$"),
        ({"rounds": 0}, r"^rounds must be an integer of at least 1, got 0$"),
        ({"rounds": 2.5}, r"^rounds must be an integer of at least 1, got 2.5$"),
        ({"seeds": 0}, r"^seeds must be a positive integer or a list of distinct non-negative integers, got 0$"),
        ({"seeds": []}, r"^seeds must be a positive integer or a list of distinct non-negative integers, got \[\]$"),
        (
            {"seeds": [1, -1]},
            r"^seeds must be a positive integer or a list of distinct non-negative integers, got \[1, -1\]$",
        ),
        ({"game": BERNOULLI}, r"^rounds must be an integer of at least 1, got None$"),
        ({"learner": floored(0.5)}, r"^the learner must have one floor per constraint, got 1 for 2 constraints$"),
        (
            {"learner": floored([0.5, 1.5])},
            r"^floor must be finite numbers in \[0, 1\], got 1.5 at index \(1,\); scale",
        ),
        (
            {"learner": floored([0.5, np.nan])},
            r"^floor must be finite numbers in \[0, 1\], got nan at index \(1,\)$",
        ),
        (
            {"learner": floored([[0.5, 0.5]])},
            r"^floor must be one number per constraint, .* got an array of shape \(1, 2\)$",
        ),
        (
            {"learner": lambda: learner("lewa").replace(mu=1e9)},
            r"^delta\*mu must be at most 1, got delta=.*, mu=1000000000.0$",
        ),
    ],
)
def test_a_bad_request_is_refused_with_a_sentence(arguments: dict[str, Any], sentence: str) -> None:
    arguments = {"learner": lambda: learner("ewa"), "game": tabled(), **arguments}
    made = arguments.pop("learner")
    with pytest.raises(ValueError, match=sentence):
        lewa.play(made(), **arguments)


@pytest.mark.parametrize(
    "game",
    [
        lewa.games.Bernoulli(rewards=[0.9, 0.5, 0.1], constraints=[[0.2, 0.3, 0.4], [1, 1, 1]]),
        lewa.games.Table(rewards=[[1, 0, 0]] * 50, constraints=[[0.2, 0.3, 0.4]] * 50),
    ],
)
def test_a_floor_that_no_play_meets_is_warned_about_and_played(game: Any) -> None:
    demanding = learner("lewa").replace(floor=np.array(FLOOR[: game.constraints]))
    with pytest.warns(UserWarning, match="no play meets the floor"):
        assert lewa.play(demanding, game, rounds=50).rounds == 50


# Games that react


class Contrary(lewa.games.Game):
    """Pays for the action that is played least, and keeps what the play says."""

    actions, constraints, length, mean_constraints = 3, 2, 100 if HUNT else 40, None
    setting = lewa.Setting(constraints="arbitrary", adversary="adaptive")
    reacts = True

    def __init__(self) -> None:
        self.plays: list[Any] = []

    def __deepcopy__(self, memo: object) -> "Contrary":  # let the test look at what the only seed's copy saw
        return self

    def reveal(self, t: int, p: Any, key: object) -> tuple[Any, Any]:
        assert t == len(self.plays)
        self.plays.append(p)
        return np.eye(3)[p.argmin()], np.array([1 - p, (1 + p) / 2])


@pytest.mark.plain  # round by round, which would be compiled for this alone
@EVERY
def test_a_game_that_reacts_sees_each_play_before_it_answers(name: str) -> None:
    game = Contrary()
    trace: Any = lewa.play(learner(name), game, every_round=True)
    plays = np.array(game.plays)
    np.testing.assert_array_equal(trace.plays[0], plays)
    np.testing.assert_array_equal(trace.reward_sums[0, -1], np.bincount(plays.argmin(axis=1), minlength=3))
    np.testing.assert_allclose(
        trace.constraint_sums[0, -1], [(1 - plays).sum(axis=0), (1 + plays).sum(axis=0) / 2], rtol=1e-12
    )
    chosen = plays if trace.measured_on == "play" else np.eye(3)[trace.actions[0]]
    met = [(chosen * (1 - plays)).sum(), (chosen * (1 + plays)).sum() / 2]
    np.testing.assert_allclose(trace.shortfall[0, -1], len(plays) * trace.floor - met, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (([1, 0], np.ones((2, 3))), r"^round 0 must have rewards \(3,\) and constraints \(2, 3\), got \(2,\) and \(2, 3\)$"),
        (
            ([1, 0, 0], np.ones((2, 2))),
            r"^round 0 must have rewards \(3,\) and constraints \(2, 3\), got \(3,\) and \(2, 2\)$",
        ),
        (
            ([1, 0, np.nan], np.ones((2, 3))),
            r"^rewards must be finite numbers in \[0, 1\], got nan at index \(0, 2\)$",
        ),
        (([1, 0, 0], 2 * np.ones((2, 3))), r"^constraints must .* got 2.0 at index \(0, 0, 0\); scale them first"),
    ],
)
def test_a_bad_answer_of_a_game_is_refused_with_its_round(
    answer: tuple[Any, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Contrary, "reveal", lambda self, t, p, key: answer)
    with pytest.raises(ValueError, match=sentence):
        lewa.play(learner("lewa"), Contrary())


@pytest.mark.plain
def test_auto_is_the_learner_with_the_least_bound_in_the_game() -> None:
    trace = lewa.play("auto", "bernoulli", rounds=100, floor=0.5)
    advice = lewa.advise("full", 3, 100, 0.5).learner
    assert trace.learner == lewa.learners.make(advice.name, 3, 100, 0.5, **advice.settings)
