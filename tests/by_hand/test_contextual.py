"""The learners of contexts with theorems, once more in plain floats; their numbers, and Lemma G with equality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lewa
from lewa import functional
from lewa.kernels import add_features, add_target, no_ridge, pack, ridge_mean, weigh_gaps, whiten
from lewa.learners import AnytimeProvedSquareCbLewa, Exp4Lewa, Learner, LossLewa, ProvedSquareCbLewa, SquareCbLewa
from lewa.types import Cube, Indices, Matrix, Vector

FLOOR, ROUNDS = (0.6, 0.3), 30


def outcomes(seed: int) -> tuple[Matrix, Cube, Indices]:
    dice = np.random.default_rng(seed)
    return dice.random((ROUNDS, 3)), dice.random((ROUNDS, 2, 3)), dice.integers(3, size=ROUNDS)


def numbers(bound: lewa.Guarantee) -> tuple[float | None, ...]:
    return bound.regret, *(bound.violation or ())


def test_exp4_lewa_is_its_box() -> None:
    learner = Exp4Lewa.tuned(3, 100, FLOOR, policies=2)
    state, (rewards, constraints, drawn) = functional.start(learner, 3), outcomes(1)
    w, lam, dice = np.ones(5), np.zeros(2), np.random.default_rng(2)
    for t in range(ROUNDS):
        advice = dice.dirichlet([1, 1, 1], size=2)
        xi = np.vstack([np.eye(3), advice])
        p = w @ xi / w.sum()
        state = functional.see(learner, state, advice.ravel())
        play = functional.play(learner, state)
        assert play == pytest.approx(p)
        a = int(drawn[t])
        r, c = rewards[t, a], constraints[t, :, a]
        loss = (1 - r) + lam @ (1 - c)
        w = w * np.exp(-learner.eta * xi[:, a] * loss / p[a])
        lam = np.maximum((1 - learner.delta * learner.mu) * lam - learner.mu * (c - np.array(FLOOR)), 0)
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        assert state.multiplier == pytest.approx(lam)


def test_exp4_lewa_without_policies_is_loss_lewa_to_the_bit() -> None:
    ours, theirs = Exp4Lewa.tuned(3, 100, FLOOR), LossLewa.tuned(3, 100, FLOOR)
    assert (ours.eta, ours.delta, ours.mu) == (theirs.eta, theirs.delta, theirs.mu)
    states = {learner: functional.start(learner, 3) for learner in (ours, theirs)}
    rewards, constraints, drawn = outcomes(3)
    for t in range(ROUNDS):
        plays = [functional.play(learner, state) for learner, state in states.items()]
        assert plays[0].tobytes() == plays[1].tobytes()
        a = int(drawn[t])
        for learner, state in states.items():
            seen = functional.Bandit(a, plays[0][a], rewards[t, a], constraints[t, :, a], plays[0])
            states[learner] = functional.learn(learner, state, seen)
        assert pack(states[ours].weights).tobytes() == pack(states[theirs].weights).tobytes()
        assert states[ours].multiplier.tobytes() == states[theirs].multiplier.tobytes()
    for T in (100, 10_000):
        bounds = [lewa.guarantee(learner.tuned(3, T, 0.6), 3, T) for learner in (Exp4Lewa, LossLewa)]
        assert numbers(bounds[0]) == pytest.approx(numbers(bounds[1]))


@pytest.mark.parametrize(("policies", "regret", "violation"), [(97, 7933.8, 130389.9), (997, 9604.6, 142839.9)])
def test_the_bounds_of_exp4_lewa_are_those_of_the_proof(policies: int, regret: float, violation: float) -> None:
    bound = lewa.guarantee(Exp4Lewa.tuned(3, 10**6, 0.6, policies=policies), 3, 10**6)
    assert bound.regret == pytest.approx(regret, abs=0.05)
    assert bound.violation == pytest.approx((violation,), abs=0.05)
    assert "the comparator is fixed in advance" in bound.assumptions


def test_proved_squarecb_lewa_is_its_box() -> None:
    known = np.array([[-1.0, -1, -1], [0.9, 0.5, 0.1]])
    learner = ProvedSquareCbLewa.tuned(3, 100, FLOOR, features=3, known=known)
    state, (rewards, constraints, drawn), dice = functional.start(learner, 3), outcomes(5), np.random.default_rng(6)
    A, b, lam = np.array([np.eye(3)] * 3), np.zeros((3, 2, 3)), np.zeros(2)
    for t in range(ROUNDS):
        x = np.append(1, dice.uniform(-1, 1, 2) / 2)
        state = functional.see(learner, state, x)
        score = np.zeros(3)
        for k in range(3):
            spread = x @ np.linalg.solve(A[k], x)
            r, c = (min(max(0.5 + x @ np.linalg.solve(A[k], b[k, o]) / (1 + spread), 0), 1) for o in range(2))
            score[k] = r + lam[0] * c + lam[1] * known[1, k]
        play, gap = functional.play(learner, state), max(score) - score
        g = learner.sharpness / (1 + lam[0] ** 2)
        nu = 1 / play - g * gap  # the same for every action, and the play sums to 1
        assert nu == pytest.approx(nu[0], rel=1e-6)
        assert play.sum() == pytest.approx(1)
        a = int(drawn[t])
        r, c = rewards[t, a], np.array([constraints[t, 0, a], known[1, a]])
        A[a] += np.outer(x, x)
        b[a] += np.outer([r - 0.5, c[0] - 0.5], x)
        lam = np.maximum((1 - learner.delta * learner.mu) * lam - learner.mu * (c - np.array(FLOOR)), 0)
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        assert state.multiplier == pytest.approx(lam)


@pytest.mark.parametrize("known", [None, [[-1, -1, -1], [0.2, 0.9, 0.5]]])
def test_anytime_proved_squarecb_lewa_is_its_box(known: list[list[float]] | None) -> None:
    learner = AnytimeProvedSquareCbLewa.tuned(3, 1, FLOOR, features=3, known=known)
    learned = np.array([1.0, known is None])
    state, (rewards, constraints, drawn), dice = functional.start(learner, 3), outcomes(5), np.random.default_rng(6)
    A, b, queue, lam, c0 = np.array([np.eye(3)] * 3), np.zeros((3, 3, 3)), np.zeros(2), np.zeros(2), np.array(FLOOR)
    for t in range(1, ROUNDS + 1):
        x = np.append(1, dice.uniform(-1, 1, 2) / 2)
        state = functional.see(learner, state, x)
        spread = [x @ np.linalg.solve(A[k], x) for k in range(3)]
        guess = [
            [min(max(0.5 + x @ np.linalg.solve(A[k], b[k, o]) / (1 + spread[k]), 0), 1) for o in range(3)] for k in range(3)
        ]
        if known:
            guess = [[r, c, known[1][k]] for k, (r, c, _) in enumerate(guess)]
        score = np.array([r + lam @ c for r, *c in guess])
        play = functional.play(learner, state)
        nu = 1 / play - learner.sharpness * np.sqrt(t) / (1 + learned @ lam**2) * (max(score) - score)
        assert nu == pytest.approx(nu[0], rel=1e-6)
        assert play.sum() == pytest.approx(1)
        a = int(drawn[t - 1])
        r, c = rewards[t - 1, a], constraints[t - 1, :, a]
        if known:
            c = np.array([c[0], known[1][a]])
        A[a] += np.outer(x, x)
        b[a] += np.outer([r - 0.5, *(c - 0.5)], x)
        queue = np.maximum(queue + c0 - c, 0)
        lam = queue / (learner.delta * np.sqrt(t))
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        assert state.multiplier == pytest.approx(lam)


def test_the_bounds_of_squarecb_lewa_are_those_of_the_proof() -> None:
    T, known = 10**6, [[0.9, 0.5, 0.1]]
    learner = ProvedSquareCbLewa.tuned(3, T, 0.6, features=10)
    assert (learner.sharpness, *learner.delta, *learner.mu) == pytest.approx((209.8807, 0.019058, 0.001), rel=1e-4)
    bound = lewa.guarantee(learner, 3, T)
    assert numbers(bound) == pytest.approx((19558.4, 202241.2), rel=1e-5)
    bound = lewa.guarantee(ProvedSquareCbLewa.tuned(3, T, 0.6, features=10, known=known), 3, T)
    assert numbers(bound) == pytest.approx((13976.4, 45032.8), rel=1e-5)
    probable = ProvedSquareCbLewa.tuned(3, T, 0.6, features=10, epsilon=0.05)
    bound = lewa.guarantee(probable, 3, T, epsilon=0.05)
    assert numbers(bound) == pytest.approx((38700.9, 292358.0), rel=1e-5)
    assert lewa.guarantee(learner, 3, T, epsilon=0.05).regret is None
    assert lewa.guarantee(learner, 3, T, constraints="arbitrary").regret is None
    anytime = AnytimeProvedSquareCbLewa.tuned(3, 1, 0.6, features=10)
    assert anytime == AnytimeProvedSquareCbLewa.tuned(3, T, 0.6, features=10)
    gamma, U = anytime.sharpness, 15 * (1 + np.log(1 + 2 * T / 30))
    B = 1000 * (4 / gamma + gamma * U / 4 + gamma / 8)  # delta = 8/gamma
    assert numbers(lewa.guarantee(anytime, 3, T)) == pytest.approx((B, np.sqrt(16 / gamma * 1000 * (T + B))))
    assert lewa.guarantee(anytime.replace(delta=[7 / gamma]), 3, T).regret is None
    listed = AnytimeProvedSquareCbLewa.tuned(3, 1, 0.6, features=10, known=known)
    gamma, U = np.sqrt(16 / (7.5 * (1 + np.log(1 + 2 * 10**5 / 30)))), 7.5 * (1 + np.log(1 + 2 * T / 30))
    B = 1000 * (4 / gamma + gamma * U / 4 + 1)  # delta = sqrt(m) = 1 of the known constraint
    assert (listed.sharpness, *listed.delta) == pytest.approx((gamma, 1))
    assert numbers(lewa.guarantee(listed, 3, T)) == pytest.approx((B, np.sqrt(2000 * (T + B))))
    assert lewa.guarantee(listed.replace(delta=[1e-3]), 3, T).regret is not None  # any delta will do
    assert lewa.guarantee(anytime, 3, T, epsilon=0.05).regret is None


@given(
    scores=st.lists(st.floats(-5, 5), min_size=2, max_size=6),
    g=st.floats(0.1, 1000),
    best=st.integers(0, 5),
)
def test_lemma_g_holds_with_equality_at_the_worst_scores(scores: list[float], g: float, best: int) -> None:
    p, s = np.array(scores), np.array(scores)
    weigh_gaps(p, g)
    k, n = best % len(scores), len(scores)
    worst = s + 2 * (np.eye(n)[k] - p) / (g * p)
    left = worst[k] - p @ worst
    right = g / 4 * p @ (s - worst) ** 2 + (n - 1) / g
    assert left == pytest.approx(right, rel=1e-6)
    other = s + np.sin(np.arange(n))
    assert other[k] - p @ other <= g / 4 * p @ (s - other) ** 2 + (n - 1) / g + 1e-9
    for scores_told in (other, worst, s - 2 / g):  # the best forecast in place of the score of k
        assert s.max() - p @ scores_told <= g / 4 * p @ (s - scores_told) ** 2 + n / g + 1e-6 * (1 + n / g)
    nu = 1 / p.max()  # and with n + 1 - nu for n there is equality at the last of them
    assert s.max() - p @ (s - 2 / g) == pytest.approx(1 / g + (n + 1 - nu) / g, rel=1e-6)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5), scale=st.sampled_from([0.1, 1.0]), stubborn=st.booleans())
def test_lemma_v_holds_for_targets_chosen_against_the_forecast(seed: int, d: int, scale: float, stubborn: bool) -> None:
    """sum (yhat - y)^2 <= min_u (|u|^2 + sum (u.x - y)^2) + (1/4) sum w/(1 + w); this sum is at most d ln(1 + n X^2/d)."""
    dice, ridge = np.random.default_rng(seed), no_ridge(np.ones(d), 1, 1)
    rows, targets, errors, leverages = list[Vector](), list[float](), 0.0, 0.0
    for n in range(1, 41):
        x = np.append(1.0, scale * dice.uniform(-1, 1, d - 1) / np.sqrt(d))
        w = whiten(ridge, x, 0)
        guess = ridge_mean(ridge, 0, 0) / (1 + w)
        y = -0.5 if (guess > 0) != (stubborn and n > 20) else 0.5  # the far end; a stubborn nature turns to the near one
        add_target(ridge, x, 0, y)
        add_features(ridge, x, 0, 1)
        rows, targets = [*rows, x], [*targets, y]
        errors, leverages = errors + (guess - y) ** 2, leverages + w / (1 + w)
        X, Y = np.array(rows), np.array(targets)
        u = np.linalg.solve(np.eye(d) + X.T @ X, X.T @ Y)
        assert errors <= u @ u + ((X @ u - Y) ** 2).sum() + leverages / 4 + 1e-9
        assert leverages <= d * np.log(1 + n * (X**2).sum(axis=1).max() / d) + 1e-9


@pytest.mark.parametrize("rule", [ProvedSquareCbLewa, AnytimeProvedSquareCbLewa])
@pytest.mark.parametrize("kind", ["two lines", "masks", "known line"])
def test_with_lines_masks_and_known_costs_runs_stay_under_the_bounds(kind: str, rule: type[Learner]) -> None:
    T, dice, K = 300, np.random.default_rng(9), 3
    m = 1 if kind == "masks" else 2
    f, h = dice.random((3, K)), dice.random((m, 3, K))  # by context and action
    h[:, :, 2] = 0.9  # this action meets every floor in every context
    if kind == "known line":
        h[1] = (0.2, 0.7, 0.9)
    known = [[-1.0] * K, h[1, 0].tolist()] if kind == "known line" else None
    floor, mask, best = np.full(m, 0.5), np.ones(K), dict[tuple[float, ...], float]()
    learner = rule.tuned(K, T, floor, features=4, known=known)
    state, regret, short = functional.start(learner, K), 0.0, np.zeros(m)
    for _ in range(T):
        g = int(dice.integers(3))
        if kind == "masks":
            mask = np.array([float(dice.random() < 0.7), float(dice.random() < 0.7), 1.0])
        state = functional.see(learner, state._replace(available=mask), np.append(1.0, np.eye(3)[g]))
        p, there = functional.play(learner, state), mask > 0
        assert (p[~there] == 0).all()
        a = int(dice.choice(K, p=p / p.sum()))
        c = (dice.random(m) < h[:, g, a]).astype(float)
        if kind == "known line":
            c[1] = h[1, g, a]
        if (g, *mask) not in best:
            best[g, *mask] = lewa.measures.best_fixed_play(f[g][there], h[:, g][:, there], floor).value
        regret += best[g, *mask] - p @ f[g]
        short += floor - h[:, g] @ p
        state = functional.learn(learner, state, functional.Bandit(a, p[a], float(dice.random() < f[g, a]), c, p))
    bound = lewa.guarantee(learner, K, T)
    assert bound.regret is not None
    assert bound.violation is not None
    assert regret <= bound.regret < T
    assert (short <= bound.violation).all()


def test_in_worlds_of_few_contexts_regret_and_violation_stay_under_the_bounds() -> None:
    T, dice, K = 3000, np.random.default_rng(8), 3
    contexts = np.eye(4)[dice.integers(4, size=T)]
    X = np.column_stack([np.ones(T), contexts])
    f, h = dice.random((4, K)), dice.random((4, K))
    h[:, 2] = 0.9  # some action meets the floor in every context
    means = contexts @ f, contexts @ h
    rewards, constraints = ((dice.random((T, K)) < mean).astype(float) for mean in means)
    floor = 0.5
    learner = ProvedSquareCbLewa.tuned(K, T, floor, features=5)
    trace = lewa.play(learner, lewa.games.Table(rewards, constraints, X), rounds=T, every_round=True)
    plays = trace.plays
    assert plays is not None
    value = sum(lewa.measures.best_fixed_play(f[x], [h[x]], floor).value for x in contexts.argmax(axis=1))
    bound = lewa.guarantee(learner, K, T)
    assert bound.regret is not None
    assert bound.violation is not None
    assert value - (plays[0] * means[0]).sum() <= bound.regret
    assert (floor - (plays[0] * means[1]).sum(axis=1)).sum() <= bound.violation[0]


def test_the_penalty_of_the_features_is_a_setting_and_leaves_the_constant_alone() -> None:
    learner = lewa.learners.make("squarecb-lewa", 3, 100, 0.5, features=4, ridge=0.02)
    assert learner.ridge.tolist() == [0.1, 0.02, 0.02, 0.02]  # type: ignore[attr-defined]
    assert lewa.learners.make("squarecb-lewa", 3, 100, 0.5, features=4, ridge=1) == SquareCbLewa.tuned(
        3, 100, 0.5, features=4
    )
    with pytest.raises(ValueError, match="ridge must be positive and at most 1e\\+100, got ridge=0"):
        lewa.learners.make("squarecb-lewa", 3, 100, 0.5, features=4, ridge=0)
