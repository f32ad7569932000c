"""The learners that mix policies, once more in plain floats; their numbers; and what they are without policies."""

import itertools

import numpy as np
import pytest

import lewa
from lewa import functional
from lewa.kernels import pack
from lewa.learners import (
    AnytimeExp4Lewa,
    AnytimeLossLewa,
    Exp4LewaIx,
    Lewa,
    LewaIx,
    LewaPolicies,
)
from lewa.learners.base import Learner
from lewa.types import Matrix

FLOOR, ROUNDS, T = (0.6, 0.3), 30, 10**6
C0 = np.array(FLOOR)


def outcomes(seed: int) -> tuple[Matrix, np.ndarray, np.ndarray, list[Matrix]]:
    dice = np.random.default_rng(seed)
    advice = [dice.dirichlet([1, 1, 1], size=2) for _ in range(ROUNDS)]
    return dice.random((ROUNDS, 3)), dice.random((ROUNDS, 2, 3)), dice.integers(3, size=ROUNDS), advice


def test_exp4_lewa_ix_is_its_box() -> None:
    learner = Exp4LewaIx.tuned(3, 100, FLOOR, policies=2)
    state, (rewards, constraints, drawn, advice) = functional.start(learner, 3), outcomes(1)
    w, lam = np.ones(5), np.zeros(2)
    for t in range(ROUNDS):
        xi = np.vstack([np.eye(3), advice[t]])
        p, a = w @ xi / w.sum(), int(drawn[t])
        state = functional.see(learner, state, advice[t].ravel())
        play = functional.play(learner, state)
        assert play == pytest.approx(p)
        r, c = rewards[t, a], constraints[t, :, a]
        g = learner.eta / 2 * (1 + lam.sum()) * xi[:, a].max()
        w = w * np.exp(-learner.eta * xi[:, a] * ((1 - r) + lam @ (1 - c)) / (p[a] + g))
        lam = np.maximum((1 - learner.delta * learner.mu) * lam - learner.mu * (c - C0), 0)
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        assert state.multiplier == pytest.approx(lam)


def test_anytime_exp4_lewa_is_its_box() -> None:
    learner = AnytimeExp4Lewa.tuned(3, 1, FLOOR, policies=2)
    state, (rewards, constraints, drawn, advice) = functional.start(learner, 3), outcomes(2)
    losses, queue, lam = np.zeros(5), np.zeros(2), np.zeros(2)
    for t in range(ROUNDS):
        xi = np.vstack([np.eye(3), advice[t]])
        w = np.exp(-learner.eta / np.sqrt(t + 1) * (losses - losses.min()))
        p, a = w @ xi / w.sum(), int(drawn[t])
        state = functional.see(learner, state, advice[t].ravel())
        play = functional.play(learner, state)
        assert play == pytest.approx(p)
        r, c = rewards[t, a], constraints[t, :, a]
        losses = losses + xi[:, a] * ((1 - r) + lam @ (1 - c)) / p[a]
        queue = np.maximum(queue + C0 - c, 0)
        lam = queue / (learner.delta * np.sqrt(t + 1))
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        assert state.multiplier == pytest.approx(lam)


def test_lewa_policies_is_its_box() -> None:
    learner = LewaPolicies.tuned(3, 100, FLOOR, policies=2)
    state, (rewards, constraints, _, advice) = functional.start(learner, 3), outcomes(3)
    w, lam = np.ones(5), np.zeros(2)
    for t in range(ROUNDS):
        xi, r, c = np.vstack([np.eye(3), advice[t]]), rewards[t], constraints[t]
        p = w @ xi / w.sum()
        state = functional.see(learner, state, advice[t].ravel())
        play = functional.play(learner, state)
        assert play == pytest.approx(p)
        w = w * np.exp(learner.eta * (xi @ r + xi @ (lam @ c)))
        lam = np.maximum((1 - learner.delta * learner.mu) * lam - learner.mu * (c @ p - C0), 0)
        state = functional.learn(learner, state, functional.Full(r, c, c @ play, play))
        assert state.multiplier == pytest.approx(lam)


@pytest.mark.parametrize(("ours", "theirs"), [(Exp4LewaIx, LewaIx), (AnytimeExp4Lewa, AnytimeLossLewa)])
def test_without_policies_they_are_the_learners_of_actions_to_the_bit(ours: type[Learner], theirs: type[Learner]) -> None:
    pair = [kind.tuned(3, 100, FLOOR) for kind in (ours, theirs)]
    states = [functional.start(learner, 3) for learner in pair]
    rewards, constraints, drawn, _ = outcomes(4)
    for t in range(ROUNDS):
        plays = [functional.play(learner, state) for learner, state in zip(pair, states, strict=True)]
        assert plays[0].tobytes() == plays[1].tobytes()
        a = int(drawn[t])
        seen = functional.Bandit(a, plays[0][a], rewards[t, a], constraints[t, :, a], plays[0])
        states = [functional.learn(learner, state, seen) for learner, state in zip(pair, states, strict=True)]
        assert states[0].multiplier.tobytes() == states[1].multiplier.tobytes()
        assert pack(states[0].weights).tobytes() == pack(states[1].weights).tobytes()


def test_without_policies_lewa_policies_is_lewa() -> None:
    pair: list[Learner] = [LewaPolicies.tuned(3, 100, FLOOR), Lewa.tuned(3, 100, FLOOR)]
    game = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2], constraints=[[0.2, 0.5, 0.9], [0.7, 0.3, 0.6]])
    one, other = (lewa.play(learner, game, rounds=50, seeds=1, every_round=True) for learner in pair)
    assert one.plays == pytest.approx(other.plays)


@pytest.mark.parametrize(("policies", "regret", "violation"), [(97, 18763.0, 276505.6), (997, 21600.7, 297186.6)])
def test_the_bounds_of_single_runs_are_those_of_the_proof(policies: int, regret: float, violation: float) -> None:
    learner = Exp4LewaIx.tuned(3, T, 0.6, policies=policies)
    bound = lewa.guarantee(learner, 3, T, epsilon=0.05)
    assert bound.regret == pytest.approx(regret, abs=0.05)
    assert bound.violation == pytest.approx((violation,), abs=0.05)
    assert "the comparator is fixed in advance" not in bound.assumptions
    assert "the comparator is fixed in advance" in lewa.guarantee(learner, 3, T).assumptions
    hindsight = lewa.guarantee(learner, 3, T, adversary="adaptive")
    assert "the comparator is fixed in advance" not in hindsight.assumptions
    assert hindsight.regret is not None
    assert hindsight.regret > (lewa.guarantee(learner, 3, T).regret or 0)


def test_the_anytime_bound_is_that_of_the_proof() -> None:
    learner = AnytimeExp4Lewa.tuned(3, 1, 0.6, policies=97)
    assert (learner.eta, learner.delta) == pytest.approx((0.883978, 10.607737), rel=1e-6)
    assert (lewa.guarantee(learner, 3, T).regret or 0) / 1000 == pytest.approx(10.6077, abs=1e-4)
    assert lewa.guarantee(learner.replace(delta=0.1), 3, T).regret is None
    assert lewa.guarantee(learner, 3, T, epsilon=0.05).regret is None


@pytest.mark.parametrize("setting", [{}, {"adversary": "adaptive"}, {"constraints": "arbitrary"}, {"epsilon": 0.05}])
def test_full_information_has_the_bounds_of_lewa_with_n_for_k(setting: dict[str, str | float]) -> None:
    epsilon = setting.get("epsilon")
    ours = LewaPolicies.tuned(3, T, 0.6, epsilon=epsilon, policies=97)
    theirs = Lewa.tuned(100, T, 0.6, epsilon=epsilon)
    mine, other = lewa.guarantee(ours, 3, T, **setting), lewa.guarantee(theirs, 100, T, **setting)
    assert (mine.regret, mine.violation, mine.kind) == (other.regret, other.violation, other.kind)
    assert ("the comparator is fixed in advance" in mine.assumptions) == (setting == {})
    # Where constraints are the same every round, what a policy meets still varies with its advice.
    assert lewa.guarantee(ours, 3, T, constraints="constant").kind != "pathwise"


@pytest.mark.parametrize("kind", [Exp4LewaIx, LewaPolicies])
def test_in_worlds_of_few_contexts_the_bounds_hold_against_every_mixture(kind: type[Learner]) -> None:
    """Regret and violation of single runs stay under what is proved with probability 1 - epsilon."""
    dice, K, rounds, floor = np.random.default_rng(8), 3, 2000, 0.5
    x = dice.integers(2, size=rounds)
    f, h = dice.random((2, K)), dice.random((2, K))
    h[:, 2] = 0.9
    rewards, constraints = ((dice.random((rounds, K)) < mean[x]).astype(float) for mean in (f, h))
    rules = np.array(list(itertools.product(range(K), repeat=2)))  # every map from the two contexts to actions
    advice = np.eye(K)[rules[:, x].T].reshape(rounds, -1)
    learner = kind.tuned(K, rounds, floor, policies=len(rules), epsilon=0.1)
    trace = lewa.play(learner, lewa.games.Table(rewards, constraints, advice), rounds=rounds, seeds=2, every_round=True)
    bound = lewa.guarantee(learner, K, rounds, epsilon=0.1)
    assert bound.regret is not None
    assert bound.violation is not None
    counts = np.bincount(x, minlength=2) / rounds
    gains = np.array([[counts @ mean[[0, 1], rule] for rule in rules] for mean in (f, h)])
    best = lewa.measures.best_fixed_play(gains[0], [gains[1]], floor)
    mixed = (best.play[:, None, None] * np.eye(K)[rules]).sum(axis=0)[x]  # (rounds, K)
    for seed in range(2):
        plays = trace.plays[seed]  # type: ignore[index]
        earned = plays if kind is LewaPolicies else np.eye(K)[trace.actions[seed]]
        assert ((mixed - earned) * rewards).sum() <= bound.regret
        assert (floor - (plays * h[x]).sum(axis=1)).sum() <= bound.violation[0]
