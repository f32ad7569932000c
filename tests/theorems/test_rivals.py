"""What is known of the rivals, reproduced: bounds on every path, in the mean, with high probability, and who earns more."""

from math import e, log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import Instance, few, instances, law, never_above, regrets, rounds, run, some
from tests.theorems.test_expected import GAMES, SOME, above
from tests.theorems.test_projected_probable import EPSILON, SEEDS, kept

import lewa
from lewa.games import Bernoulli, Switching
from lewa.kernels import NATURE, keys
from lewa.kernels.weights.of_gains import scale
from lewa.learners import AdaHedge, BanditEpochProject, Ewa, Exp3, Exp3P, NormalHedge, Ucb1, make
from lewa.theory.rivals import epochs, normal_rate
from lewa.types import Matrix

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

BLIND = instances(constraints=st.just(1), feasible=False)

# On every path -----------------------------------------------------------------------------------------------------------


@few
@given(BLIND)
def test_hedge_keeps_the_root_of_half_t_ln_k(x: Instance) -> None:
    T, _, K = x.shape
    if K > 1:
        r = run(Ewa, x._replace(eta=sqrt(8 * log(K) / T)))
        never_above(regrets(r)[-1], sqrt(T * log(K) / 2))


@few
@given(BLIND)
def test_adahedge_keeps_its_bound_at_every_round(x: Instance) -> None:
    r, K, t = run(AdaHedge, x), x.shape[2], rounds(x)
    never_above(regrets(r).T, 1 + np.sqrt(1 + t * log(K)) if K > 1 else 0 * t)
    lost = np.cumsum(1 - r.rewards, axis=0).min(axis=1)  # the authors' bound, by the loss of the best action
    published = 2 * np.sqrt(lost * (t - lost) / t * log(K)) + 16 / 3 * log(K) + 2
    assert (regrets(r).max(axis=1) <= published + 1e-9 * t).all()


@law
@given(BLIND)
def test_normalhedge_keeps_its_bound_at_every_round(x: Instance) -> None:
    r, K, t = run(NormalHedge, x), x.shape[2], rounds(x)
    if K == 1:
        never_above(regrets(r)[:, 0], 0 * t)
        return
    L, found = 1 + log(K), regrets(r)
    squares = [normal_rate(steep) * (t - 1) + 2.5 * (sqrt(2 * L) / steep + 1) ** 2 for steep in (0.05, 0.1, 0.15)]
    never_above(found.T, np.sqrt(2 * L * np.min(squares, axis=0)))
    steps_of_the_proof(found, L)


def steps_of_the_proof(found: Matrix, L: float, steep: float = 0.15) -> int:
    """c bounds regret, never leaps, and past some point rises slowly; and how many rounds were past it."""
    tops = [float(R.max()) for R in found]
    c = np.array([0.0, *(top * top / (2 * scale(R, top)) if top > 0 else 0.0 for R, top in zip(found, tops))])
    assert (np.array(tops) <= np.sqrt(2 * L * c[1:]) * (1 + 1e-9)).all()
    assert (c[1:] <= 2.5 * (np.sqrt(c[:-1]) + 1) ** 2).all()
    late = c[:-1] >= 2 * L / steep**2
    assert (np.diff(c)[late] <= normal_rate(steep)).all()
    return int(late.sum())


def test_normalhedge_is_steady_in_a_long_game_against_it() -> None:
    x = Instance(4000, ((0.5, 0.5),), (0.0,), 1, 1, 1, "rivals")
    assert steps_of_the_proof(regrets(run(NormalHedge, x)), 1 + log(2)) > 1000


# In the mean -------------------------------------------------------------------------------------------------------------

HARD: dict[str, Any] = {
    "two that are hard to tell apart": Bernoulli([0.5, 0.55], [[0.5, 0.5]]),
    "one of five": Bernoulli([0.4, 0.6, 0.4, 0.4, 0.4], [[0.5] * 5]),
    "switching": Switching(),
}


@pytest.mark.parametrize("name", HARD)
def test_exp3_keeps_two_point_six_three_roots_in_the_mean(name: str) -> None:
    game, T = HARD[name], 3000
    learner = Exp3.tuned(game.actions, T, [0.0] * game.constraints)
    regret = lewa.regret(lewa.play(learner, game, T, seeds=some(60)))
    promised = lewa.guarantee(learner, game.actions, T).regret
    assert promised is not None
    assert promised == pytest.approx(2 * sqrt(e - 1) * sqrt(T * game.actions * log(game.actions)))
    assert promised < 2.63 * sqrt(T * game.actions * log(game.actions))
    assert above(regret, promised) < 3
    assert regret.mean() > promised / 20  # the test is not about nothing


@pytest.mark.parametrize("name", HARD)
def test_exp3_p_keeps_its_bound_in_all_but_few_runs_and_the_published_one_is_larger(name: str) -> None:
    game, T = HARD[name], 3000
    K = game.actions
    learner = Exp3P.tuned(K, T, [0.0] * game.constraints, epsilon=EPSILON)
    regret = lewa.regret(lewa.play(learner, game, T, seeds=SEEDS))
    sure, mean = learner.guarantees(K, T, lewa.Setting(epsilon=EPSILON))
    assert sure.regret is not None
    assert (regret <= sure.regret).mean() >= 1 - EPSILON
    assert above(regret, mean.regret) < 3
    L = log(K * T / EPSILON)
    assert sure.regret <= 4 * sqrt(K * T * L) + 4 * sqrt(5 / 3 * K * T * log(K)) + 8 * L


def test_ucb1_grows_with_the_logarithm_of_t_on_a_stationary_game() -> None:
    gaps = np.array([0.2, 0.3])
    game, marks = Bernoulli([0.8, *(0.8 - gaps)], [[0.5] * 3]), (1_000, 10_000, 100_000)
    runs = [lewa.play(Ucb1(np.array([0.0])), game, T, seeds=some(40)) for T in marks]
    means = [float(lewa.regret(trace).mean()) for trace in runs]
    for T, mean in zip(marks, means):
        assert mean <= (8 * log(T) / gaps + (1 + pi**2 / 3) * gaps).sum()
    first, second = np.diff(means)
    assert 0.6 < second / first < 1.4  # equal steps for equal factors of T; those of a root would grow by 3.16
    T = marks[-1]
    still = Ucb1(np.array([0.0])).guarantees(3, T, lewa.Setting())[1]
    assert still.regret is not None
    assert means[-1] <= still.regret < T


# Budgets -----------------------------------------------------------------------------------------------------------------


def bought(learner: Any, game: Any, T: int, seeds: int) -> float:
    """What a budget of T (1 - floor) buys, in the mean: the rewards until it is spent."""
    trace: Any = lewa.play(learner, game, T, seeds=seeds, every_round=True)
    found = []
    for seed, actions in enumerate(trace.actions):
        block = game.block(keys(seed)[NATURE : NATURE + 1], 0, T)
        cost = np.cumsum(1 - block.constraints[np.arange(T), 0, actions])
        assert cost[-1] > T * (1 - trace.floor[0])  # it is spent before the game ends
        found.append(block.rewards[np.arange(T), actions][cost <= T * (1 - trace.floor[0])].sum())
    return float(np.mean(found))


@pytest.mark.filterwarnings("ignore:no play meets the floor")  # a budget that does not last is what it is about
def test_kube_and_its_fractional_form_buy_more_than_epsilon_first() -> None:
    """As Tran-Thanh, Chapman, Rogers and Jennings (2012) report, in direction: means over games drawn at random."""
    rng, T, floor, K, shares = np.random.default_rng(1), 4000, 0.8, 10, []
    rivals = [("kube", {}), ("kube@fractional", {}), *(("epsilon-first", {"explore": x}) for x in (0.05, 0.1, 0.3))]
    for _ in range(6):
        rewards, costs = rng.random(K), rng.uniform(0.2, 1, K)
        game, most = Bernoulli(rewards, [1 - costs]), (rewards / costs).max() * T * (1 - floor)
        shares.append([bought(make(name, K, T, floor, **how), game, T, 5) / most for name, how in rivals])
    kube, fractional, *first = np.mean(shares, axis=0)
    assert min(kube, fractional) > 0.9
    assert min(kube, fractional) > 1.1 * max(first)
    assert abs(kube - fractional) < 0.02


# Epochs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("optimism", [1, 0])
def test_bandit_epoch_project_keeps_its_bound_in_all_but_few_runs(name: str, optimism: int) -> None:
    (game, floor), T = GAMES[name], 10_000
    learner = BanditEpochProject.tuned(game.actions, T, floor, optimism=optimism, epsilon=EPSILON)
    trace = lewa.play(learner, game, T, seeds=SEEDS)
    said = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
    assert said.regret is not None
    assert (said.regret == T) == (optimism == 0)
    assert kept(trace, said) >= 1 - EPSILON


def test_the_epochs_that_begin_are_counted() -> None:
    begun, length = 0, 0
    for T in range(1, 3000):
        if length == 0:
            begun += 1
            length = 1 + int(np.ceil(np.sqrt(begun)))
        length -= 1
        assert begun <= epochs(T) <= 1.5 * begun + 2


# What is not proved ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked", "why"),
    [
        ("exp3", {"adversary": "adaptive"}, "fixed in advance"),
        ("exp3", {"epsilon": 0.1}, "nothing is proved about single runs"),
        ("ucb1", {}, "proved only for rewards with a fixed mean: expected regret <="),
        ("kube", {}, "until a budget is spent"),
        ("kube@fractional", {}, "until a budget is spent"),
        ("epsilon-first", {}, "until a budget is spent"),
        ("ucb-lp", {}, "no bound is proved"),
        ("thompson-lp", {}, "no bound is proved"),
        ("paced-linucb", {}, "no bound is proved"),
        ("bandit-epoch-project", {"constraints": "arbitrary"}, "have no fixed mean"),
        ("bandit-epoch-project", {"epsilon": 1e-9}, "needs level >= "),
    ],
)
def test_what_is_not_proved_is_not_printed(name: str, asked: dict[str, Any], why: str) -> None:
    said = lewa.guarantee(make(name, 4, 10**6, 0.5), 4, 10**6, **asked)
    assert said.regret is None
    assert why in said.reason


@pytest.mark.parametrize("name", ["adahedge", "normalhedge", "exp3", "exp3-p"])
def test_of_violation_the_blind_claim_the_trivial_bound_and_say_so(name: str) -> None:
    said = lewa.guarantee(make(name, 4, 10**6, (0.5, 0.25)), 4, 10**6)
    assert said.regret is not None
    assert said.regret < 3 * 10**4
    assert said.violation == (0.5 * 10**6, 0.25 * 10**6)
    assert "violation: only the trivial bound" in said.assumptions


def test_exp3_p_needs_a_small_bonus() -> None:
    said = lewa.guarantee(Exp3P(0.01, 0.5, 1.5, np.array([0.5])), 4, 10**6)
    assert said.reason == "needs bonus <= 1 and eta*(1 + bonus)*K <= gamma, got eta=0.01, gamma=0.5, bonus=1.5"
