import threading
from pathlib import Path

import numpy as np
import pytest
from tests import forks
from tests.theorems.instances import HUNT

from lewa import functional
from lewa.engine.session import Session, dice_of
from lewa.games import Bernoulli, Table
from lewa.kernels import DICE, keys, uniform
from lewa.learners import ALL, BanditLewa, make
from lewa.simulate.run import play

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

GAME = Bernoulli([0.9, 0.6, 0.3, 0.5], [[0.2, 0.5, 0.9, 0.4]])


@pytest.mark.parametrize("name", ALL)
def test_results_are_the_same_bits_for_any_number_of_threads(name: str) -> None:
    rng = np.random.default_rng(5)
    game, learner = Table(rng.random((1000, 4)), rng.random((1000, 4, 1))), make(name, 4, 1000, 0.4)
    one, three = (play(learner, game, seeds=5 if HUNT else 3, workers=workers) for workers in (1, 3))
    for field in ("reward", "shortfall", "positive", "observed_shortfall", "multiplier_sums", "multiplier"):
        assert getattr(one, field).tobytes() == getattr(three, field).tobytes(), field


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8, bool])
def test_a_table_of_any_kind_of_number_is_streamed_to_the_same_results(kind: type) -> None:
    rng = np.random.default_rng(6)
    rewards, constraints = rng.integers(0, 2, (500, 4)), rng.integers(0, 2, (500, 4, 1))
    plain = play(make("lewa", 4, 500, 0.4), Table(rewards.astype(float), constraints.astype(float)))
    other = play(make("lewa", 4, 500, 0.4), Table(rewards.astype(kind), constraints.astype(kind)))
    assert plain.reward.tobytes() == other.reward.tobytes()
    assert plain.shortfall.tobytes() == other.shortfall.tobytes()


def test_a_memory_mapped_table_is_read_a_block_at_a_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rewards, constraints = rng.random((2000, 3)).astype(np.float32), rng.random((2000, 3, 2)).astype(np.float32)
    np.save(tmp_path / "r.npy", rewards)
    np.save(tmp_path / "c.npy", constraints)
    mapped = Table(np.load(tmp_path / "r.npy", mmap_mode="r"), np.load(tmp_path / "c.npy", mmap_mode="r"))
    assert isinstance(mapped.rewards, np.memmap)
    learner = make("lewa", 3, 2000, (0.3, 0.4))
    assert play(learner, mapped).reward.tobytes() == play(learner, Table(rewards, constraints)).reward.tobytes()
    rewards[1500, 1] = np.nan
    np.save(tmp_path / "r.npy", rewards)
    with pytest.raises(ValueError, match=r"got nan at index \(1500, 1\)"):
        Table(np.load(tmp_path / "r.npy", mmap_mode="r"), constraints)


LONG = """
import lewa
game = lewa.games.Bernoulli([0.5] * 10, [[0.7] * 10])
for rounds in (1000, 3_000_000):  # to compile takes memory too: it is done after the first
    for name in ("lewa", "bandit-lewa"):
        trace = lewa.play(lewa.learners.make(name, 10, rounds, 0.6), game, rounds)
        assert trace.plays is None and trace.reward[:, -1].min() > 0.4 * rounds
    print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])  # not rusage, which remembers the parent
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process's memory is read from /proc")
def test_a_long_run_takes_little_memory(tmp_path: Path) -> None:
    short, long = map(int, forks.run(tmp_path, [], LONG).out.split())
    assert long - short < 20_000  # kilobytes: a number per round would take 24,000


# The law of extreme rounds says it of every learner, over fewer rounds.
@pytest.mark.parametrize("name", ALL if HUNT else ["lewa", "bandit-lewa"])
def test_many_extreme_rounds_leave_no_nan(name: str) -> None:
    rounds = 10**7 if HUNT and name in ("lewa", "bandit-lewa") else 10**6
    learner = make(name, 2, 1000, 0.9)
    learner = learner.replace(**{step: 0.5 for step in ("eta", "rate") if hasattr(learner, step)})  # far above any tuning
    game = Bernoulli([1.0, 0.0], [[0.0, 1.0]])
    trace = play(learner, game, rounds)
    p = functional.play(trace.learner, trace.states[0])
    assert np.isfinite(trace.reward).all()
    assert np.isfinite(trace.multiplier).all()
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)


def test_progress_counts_every_round_of_every_seed() -> None:
    lock, rounds = threading.Lock(), [0]

    def count(n: int) -> None:
        with lock:
            rounds[0] += n

    play(make("lewa", 4, 5000, 0.6), GAME, 5000, seeds=3, progress=count)
    assert rounds == [15_000]


STOPPED = """
import os, signal, lewa
game, done = lewa.games.Bernoulli(), [0]
learner = lewa.learners.make("lewa", 3, 50_000, 0.6)

def count(n):
    done[0] += n
    if done[0] == 50_000:  # the first seed is through
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests in the background lets it be ignored
try:
    lewa.play(learner, game, 50_000, seeds=2000, workers=1, progress=count)
except KeyboardInterrupt as stopped:
    whole = lewa.play(learner, game, 50_000, seeds=1)
    print(len(stopped.trace.seeds), stopped.trace.reward[0].tobytes() == whole.reward[0].tobytes())
"""


def test_ctrl_c_leaves_the_seeds_that_were_finished(tmp_path: Path) -> None:
    seeds, same = forks.run(tmp_path, [], STOPPED).out.split()
    assert 1 <= int(seeds) < 2000
    assert same == "True"


def test_an_error_in_a_game_of_the_users_stops_the_play() -> None:
    class Broken(Bernoulli):
        def block(self, key: object, start: int, stop: int) -> object:  # type: ignore[override]
            raise RuntimeError("the game broke")

    with pytest.raises(RuntimeError, match="the game broke"):
        play(make("lewa", 3, 100, 0.6), Broken(), 100, seeds=4)


# Whose steps nothing else compiles is played as plain Python, and compiled in `make falsify`.
@pytest.mark.parametrize(
    "name",
    [
        "bandit-lewa",
        "bandit-lewa@printed",
        "hp-bandit-lewa",
        pytest.param("hp-bandit-lewa@printed", marks=pytest.mark.plain),
    ],
)
@pytest.mark.parametrize("m", [1, 2])
def test_single_steps_make_the_moves_of_the_batch_loop(name: str, m: int) -> None:
    rng = np.random.default_rng(9)
    rewards, constraints = rng.random((60, 4)), rng.random((60, 4, m))
    learner = make(name, 4, 60, (0.3,) * m)
    trace = play(learner, Table(rewards, constraints), seeds=[5], every_round=True)
    session = Session(learner, 4, dice_of(5))
    for t in range(60):
        choice = session.choose(t)
        assert choice.action == trace.actions[0, t]
        session.learn(session.answer(choice, rewards[t], constraints[t].T))
    assert session.multiplier == pytest.approx(trace.multiplier[0, -1], abs=1e-12)


@pytest.mark.parametrize("name", ["ewa", "lewa", pytest.param("hp-lewa", marks=pytest.mark.plain)])
def test_functions_and_single_steps_make_the_moves_of_the_full_information_loop(name: str) -> None:
    rng = np.random.default_rng(9)
    rewards, constraints = rng.random((60, 4)), rng.random((60, 4, 2))
    learner = make(name, 4, 60, (0.3, 0.4))
    trace = play(learner, Table(rewards, constraints), seeds=[5], every_round=True)
    assert trace.plays is not None
    session, state = Session(learner, 4, dice_of(5)), functional.start(learner, 4)
    for t in range(60):
        choice = session.choose(t)
        assert choice.play == pytest.approx(trace.plays[0, t], abs=1e-12)
        assert choice.action == trace.actions[0, t]
        session.learn(session.answer(choice, rewards[t], constraints[t].T))
        state = functional.learn(learner, state, functional.full_feedback(rewards[t], constraints[t].T, choice.play))
    assert functional.play(learner, state) == pytest.approx(session.play(), abs=1e-12)


@pytest.mark.parametrize("K", [1024, 5000, 70_000])
def test_many_actions_are_drawn_as_an_exact_reference_draws_them(K: int) -> None:
    rounds = 1000 if K < 10_000 or HUNT else 200
    learner = BanditLewa.tuned(K, rounds, 0.5).replace(eta=1e-3)
    game = Bernoulli(np.random.default_rng(3).random(K), np.random.default_rng(4).random((1, K)))
    trace = play(learner, game, rounds, seeds=[1])
    session, log_w, lam = Session(learner, K, dice_of(1)), np.zeros(K), 0.0
    dice = keys(1)[DICE]
    block = game.block(keys(1)[:1], 0, rounds)
    earned = 0.0
    with np.errstate(over="ignore"):
        for t in range(rounds):
            q = np.exp(log_w - log_w.max())
            q /= q.sum()
            u = uniform(dice, t)
            if u < learner.gamma:
                i = min(int(u / learner.gamma * K), K - 1)
            else:
                i = min(int(np.searchsorted(np.cumsum(q), (u - learner.gamma) / (1 - learner.gamma), side="right")), K - 1)
            choice = session.choose(t)
            assert choice.action == i
            p = (1 - learner.gamma) * q[i] + learner.gamma / K
            assert choice.propensity == pytest.approx(p, rel=1e-9)
            r, c = block.rewards[t, i], block.constraints[t, 0, i]
            earned += r
            log_w[i] += learner.eta * (r + lam * c) / p
            lam = max(0.0, (1 - learner.delta * learner.mu) * lam - learner.mu * (q[i] * c / p - 0.5))
            session.learn(session.answer(choice, block.rewards[t], block.constraints[t]))
    assert trace.reward[0, -1] == earned
    assert trace.multiplier[0, -1, 0] == pytest.approx(lam, rel=1e-9)
