"""The boxes of the rivals with a linear program once more, in plain floats and by another solver."""

from math import cos, log, pi, sqrt

import numpy as np
import pytest
from scipy.optimize import linprog

import lewa
from lewa import functional
from lewa.engine.session import Session, dice_of
from lewa.kernels.random_streams import uniform
from lewa.learners import ThompsonLp, UcbLp

REWARDS = [[0.9, 0.2, 0.4], [0.1, 0.8, 0.5], [1.0, 0.0, 0.3], [0.6, 0.7, 0.2], [0.5, 0.5, 0.9], [0.8, 0.1, 0.3]]
CONSTRAINTS = [
    [[0.1, 0.9, 0.5], [0.6, 0.2, 0.7]],
    [[0.3, 0.8, 0.9], [0.1, 0.4, 0.9]],
    [[0.0, 1.0, 0.6], [0.5, 0.5, 0.5]],
    [[0.2, 0.7, 0.4], [0.9, 0.3, 0.8]],
    [[0.4, 0.6, 0.1], [0.2, 0.1, 0.6]],
    [[0.2, 0.5, 0.7], [0.3, 0.8, 0.6]],
]
DRAWN = (0, 2, 1, 0, 2, 1)
TIMES = 5


KEY = np.uint64(0)  # of a state without a seed


def optimistic(rewards: list[float], costs: list[list[float]], b: list[float], t: int, k: int) -> tuple[float, list[float]]:
    mean, w = float(np.mean(rewards)), sqrt(log(1 + t) / (2 * len(rewards)))
    hoped = []
    for limit, answers in zip(b, np.transpose(costs).tolist(), strict=True):
        height = max(limit, sum(z * z for z in answers) / sum(answers)) if sum(answers) > 0 else limit
        hoped.append(max(float(np.mean(answers)) - height * w, 0))
    return mean + w, hoped


def sampled(rewards: list[float], costs: list[list[float]], b: list[float], t: int, k: int) -> tuple[float, list[float]]:
    n, mean = len(rewards), float(np.mean(rewards))
    place, a, total = (t * 3 + k) * (1 + len(b)), 1 + n * mean, 2 + n
    u, v = pair(place)
    normal = sqrt(-2 * log(u)) * cos(2 * pi * v)
    deviation = sqrt(a / total * (1 - a / total) / (total + 1))
    sampled_costs = []
    for j, (limit, answers) in enumerate(zip(b, np.transpose(costs).tolist(), strict=True)):
        known = [limit, *answers]  # the limit counts as an answer
        center = float(np.mean(known))
        variance = (limit**2 + sum((z - center) ** 2 for z in known)) / (n + 1)
        u, v = pair(place + 1 + j)
        student = sqrt((n + 1) * (u ** (-2 / (n + 1)) - 1)) * cos(2 * pi * v)
        sampled_costs.append(max(center + sqrt(variance / (n + 1)) * student, 0))
    return a / total + deviation * normal, sampled_costs


def pair(place: int) -> tuple[float, float]:
    return float(uniform(KEY, 2 * place)), float(uniform(KEY, 2 * place + 1))


@pytest.mark.parametrize("floor", [(0.6,), (0.5, 0.45)])
@pytest.mark.parametrize(("kind", "estimates"), [(UcbLp, optimistic), (ThompsonLp, sampled)])
def test_thirty_rounds_of_a_paced_program_by_hand(kind: type[UcbLp | ThompsonLp], estimates, floor) -> None:  # type: ignore[no-untyped-def]
    learner = kind.tuned(3, 100, floor).replace(repay=5.0)
    state, b = functional.start(learner, 3), [1 - c0 for c0 in floor]
    seen: list[list[tuple[float, list[float]]]] = [[], [], []]
    debt, bound = [0.0] * len(b), 0
    for t, (rewards, constraints, i) in enumerate(zip(REWARDS * TIMES, CONSTRAINTS * TIMES, DRAWN * TIMES, strict=True)):
        play = functional.play(learner, state)
        untried = [k for k in range(3) if not seen[k]]
        means = [np.mean([z for _, z in its], axis=0).tolist() if its else None for its in seen]
        if untried:
            assert play == pytest.approx([(k in untried) / len(untried) for k in range(3)])
        else:
            guess = [estimates(*zip(*seen[k], strict=True), b, t, k) for k in range(3)]
            limits = [min(max(x - d / 5, x / 20), 2 * x) for x, d in zip(b, debt, strict=True)]
            met = np.array([[1 - z[j] for _, z in guess] for j in range(len(b))])
            gains = np.array([r for r, _ in guess])
            best = linprog(-gains, 1 - met, limits, np.ones((1, 3)), [1.0])  # by HiGHS
            if best.status == 0:
                assert play @ gains == pytest.approx(-best.fun, abs=1e-6)
                assert (met @ play >= 1 - np.array(limits) - 1e-9).all()
                bound += -best.fun < gains.max() - 1e-6
            else:
                least = linprog([0, 0, 0, 1], np.c_[1 - met, -np.ones(len(b))], limits, np.array([[1.0, 1, 1, 0]]), [1.0])
                assert (1 - met @ play - limits).max() == pytest.approx(least.fun, abs=1e-9)
        state = functional.charge(learner, state, i)
        mean = means[i]
        charged = b if mean is None else mean
        assert state.charged == pytest.approx(charged)
        z = [1 - row[i] for row in constraints[: len(b)]]
        debt = [d + x - limit for d, x, limit in zip(debt, z, b, strict=True)]
        answer = functional.Bandit(
            i, 1.0, rewards[i], np.array([row[i] for row in constraints[: len(b)]]), np.eye(3)[i], state.charged
        )
        state = functional.learn(learner, state, answer)
        assert state.debt == pytest.approx(debt)
        seen[i].append((rewards[i], z))
    assert bound, "in some round a limit must bind"


@pytest.mark.parametrize("name", ["ucb-lp", "thompson-lp"])
@pytest.mark.parametrize("seed", [18, 25])
def test_an_action_that_was_dear_at_its_first_draw_is_drawn_again(name: str, seed: int) -> None:
    """By its mean cost alone the only action within the limit was never drawn again in these runs of Thompson-LP."""
    learner = lewa.learners.make(name, 3, 10_000, 0.6)
    state, dice = functional.start(learner, 3, seed), np.random.default_rng(seed)
    for i in (0, 1, 2) * 2 + (0, 1) * 200:  # the third one, a good one, is dear twice
        state = functional.charge(learner, state, i)
        met = np.array([[0.2, float(dice.random() < 0.5), 0.0][i]])
        seen = functional.Bandit(i, 1.0, [0.9, 0.6, 0.3][i], met, np.eye(3)[i], state.charged)
        state = functional.learn(learner, state, seen)
    plays = []
    for _ in range(200):
        plays.append(functional.play(learner, state)[2])
        state = functional.charge(learner, state, 1)  # the next round, whose answer is late
    assert max(plays) > 0.5


def test_a_run_samples_by_its_seed_and_an_agent_by_its_own() -> None:
    learner = lewa.learners.make("thompson-lp", 3, 100, 0.6, means=[[0.3, 0.6, 0.8]])
    plays = [functional.play(learner, functional.start(learner, 3, seed)).tolist() for seed in (*range(9), 4)]
    assert len({tuple(p) for p in plays}) > 2
    assert plays[4] == plays[-1]
    for seed in range(9):  # of an agent, as of a run
        expected, line = {"c": [0.3, 0.6, 0.8]}, [lewa.at_least("c", 0.6)]
        agent = lewa.Agent(["a", "b", "c"], line, learner="thompson-lp", seed=seed, answers=lewa.Answers(expected=expected))
        assert list(agent.pull().play) == pytest.approx(plays[seed])


@pytest.mark.parametrize("name", ["ucb-lp", "thompson-lp"])
def test_a_play_leaves_the_state_as_it_was(name: str) -> None:
    session = Session(lewa.learners.make(name, 3, 100, (0.6, 0.3)), 3, dice_of(1))
    for t in range(12):
        before = session.memory.tobytes()
        session.play()
        session.play_among([True, t % 2 == 0, True])
        assert session.memory.tobytes() == before
        choice = session.choose(t)
        session.learn(session.answer(choice, np.array(REWARDS[t % 6]), np.array(CONSTRAINTS[t % 6])))


@pytest.mark.parametrize("name", ["ucb-lp", "thompson-lp"])
def test_an_action_that_is_away_gets_nothing_and_the_limit_is_kept_without_it(name: str) -> None:
    learner = lewa.learners.make(name, 3, 100, 0.6)
    state = functional.start(learner, 3)
    for i in (0, 1, 2) * 1000:  # the dear one, the middle one, the cheap one
        state = functional.charge(learner, state, i)
        met = np.array([[0.1, 0.6, 0.9][i]])
        seen = functional.Bandit(i, 1.0, [0.9, 0.6, 0.3][i], met, np.eye(3)[i], state.charged)
        state = functional.learn(learner, state, seen)
    state = state._replace(available=np.array([1.0, 0.0, 1.0]), debt=np.zeros(1))
    play = functional.play(learner, state)
    assert play[1] == 0
    assert play @ [0.1, 0.6, 0.9] == pytest.approx(0.6, abs=0.1)
