"""What a twist does to a game and to a learner that plays it, each once more by hand."""

import pickle
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.blocks import Block
from lewa.feedback import Bandit, feedback_kind
from lewa.games import Bernoulli, Corrupted, Delay, Dropping, Noise, Radio, Scale, SlowBurn, Switching, assumed, facts, make
from lewa.kernels import DICE, NATURE, keys, uniform

KEY = keys(5)[NATURE : NATURE + 1]
LEARNERS = ["lewa", "bandit-lewa", "exp3-p"]  # full information, bandit, and bandit with the whole play
FIELDS = (
    "reward",
    "shortfall",
    "positive",
    "observed_shortfall",
    "multiplier_sums",
    "largest_multiplier",
    "multiplier",
    "plays",
    "multipliers",
)
T = 120


def nth(key: Any, n: int) -> float:
    with np.errstate(over="ignore"):
        return float(uniform(key[0], n))


def branch(key: Any, depth: int = 0) -> Any:
    return np.array([nth(key, 2**62 + depth) * 2**53]).astype(np.uint64)


def learner_of(name: str, game: Any) -> Any:
    return lewa.learners.make(name, game.actions, T, 0.6)


def by_hand(learner: Any, game: Any, seed: int, arrives: list[int], there: Any) -> tuple[Any, Any]:
    """Plays and actions, by the pure functions of one round, with answers in a list until they are due."""
    nature, dice = keys(seed)[NATURE : NATURE + 1], keys(seed)[DICE]
    state, due, plays, actions = lewa.functional.start(learner, game.actions), defaultdict(list), [], []
    rewards, constraints, _ = game.block(nature, 0, T)
    for t in range(T):
        own = lewa.functional.play(learner, state)
        p = own * there[t] / (own * there[t]).sum()
        u, gamma = nth([dice], t), learner.gamma if hasattr(learner, "choose") and there[t].all() else 0.0
        if u < gamma:  # explore, evenly
            i = int(u / gamma * p.size)
        else:
            i = int(np.searchsorted(np.cumsum(p - gamma / p.size), u - gamma, side="right"))
        if feedback_kind(type(learner)) == "full":
            seen: Any = lewa.functional.full_feedback(rewards[t], constraints[t], p)
        else:
            seen = Bandit(i, float(p[i]), rewards[t, i], constraints[t, :, i], p)
        plays.append(p)
        actions.append(i)
        due[arrives[t]].append(seen)
        for one in due.pop(t, []):
            state = lewa.functional.learn(learner, state, one)
    return np.array(plays), np.array(actions)


def masked_bandit_lewa(learner: Any, game: Any, seed: int, there: Any) -> tuple[Any, Any]:
    """Plays and actions of BanditLEWA in plain numbers, with missing actions that sleep."""
    nature, dice, K = keys(seed)[NATURE : NATURE + 1], keys(seed)[DICE], game.actions
    eta, gamma, delta, mu, floor = (learner.eta, learner.gamma, learner.delta, learner.mu, float(learner.floor[0]))
    log, lam, seen, plays, actions = np.zeros(K), 0.0, np.zeros(K), [], []
    rewards, constraints, _ = game.block(nature, 0, T)
    for t in range(T):
        here, u = there[t], nth([dice], t)
        before = np.log(np.exp(log[here]).sum())
        p = ((1 - gamma) * np.exp(log - before) + gamma / K) * here
        if here.all() and u < gamma:
            i = int(u / gamma * K)
        else:
            p /= p.sum()
            least = gamma / K if here.all() else 0.0
            i = int(np.searchsorted(np.cumsum(p - least), u - K * least, side="right"))
        r, c = rewards[t, i], constraints[t, 0, i]
        log[i] += eta / p[i] * (r + lam * c)
        lam = max(0.0, (1 - delta * mu) * lam - mu * ((p[i] - gamma / K) / (1 - gamma) * c / p[i] - floor))
        after = np.log(np.exp(log[here]).sum())
        seen[i] += 1
        for k in np.flatnonzero(~here):  # a share stays what it was; what nobody has seen loses some, down to 2 %
            log[k] += after - before
            if seen[k] == 0:
                log[k] = min(log[k], max(log[k] + np.log(0.98), after + np.log(0.02 / 0.98)))
        plays.append(p)
        actions.append(i)
    return np.array(plays), np.array(actions)


# Delay -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_without_a_delay_rounds_one_by_one_are_those_of_the_compiled_loop(name: str) -> None:
    for game in (Radio(), Switching(period=9)):
        at_once = lewa.play(learner_of(name, game), game, T, seeds=2, every_round=True)
        for twisted in (Delay(game, delay=0), Dropping(game, missing=0.0)):
            one_by_one = lewa.play(learner_of(name, game), twisted, T, seeds=2, every_round=True)
            np.testing.assert_array_equal(one_by_one.actions, at_once.actions)
            for field in FIELDS:
                np.testing.assert_allclose(getattr(one_by_one, field), getattr(at_once, field), rtol=0, atol=1e-9)
            assert lewa.judge(one_by_one) == lewa.judge(at_once)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    "game", [Delay(Radio(), 7), Delay(Radio(), 5, random=True, lost=0.3)], ids=["fixed", "random, lost"]
)
def test_a_late_answer_is_learned_when_it_comes_with_the_chance_that_its_action_had(name: str, game: Delay) -> None:
    learner = learner_of(name, game)
    trace: Any = lewa.play(learner, game, T, seeds=[3], every_round=True)
    other = branch(keys(3)[NATURE : NATURE + 1])
    arrives = [t + 7 for t in range(T)]
    if game.random:
        lost = [nth(other, 2 * t + 1) < 0.3 for t in range(T)]
        arrives = [-1 if lost[t] else t + int(nth(other, 2 * t) * 11) for t in range(T)]
        assert 0.1 < np.mean(lost) < 0.5
        assert any(a > b >= 0 for a, b in pairwise(arrives))  # some overtake others
    plays, actions = by_hand(learner, game, 3, arrives, np.ones((T, 4), dtype=bool))
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trace.actions[0], actions)


def test_an_answer_that_never_comes_teaches_nothing() -> None:
    trace: Any = lewa.play(learner_of("lewa", Radio()), Delay(Radio(), lost=1.0), T, every_round=True)
    assert (trace.plays == 0.25).all()
    late: Any = lewa.play(learner_of("lewa", Radio()), Delay(Radio(), T), T, every_round=True)
    np.testing.assert_array_equal(late.plays, trace.plays)


def test_two_delays_add_up() -> None:
    once, twice = Delay(Radio(), 7), Delay(Delay(Radio(), 4), 3)
    np.testing.assert_array_equal(once.arrives(KEY, 5, 50), twice.arrives(KEY, 5, 50))
    assert (Delay(Delay(Radio(), lost=1.0), 3).arrives(KEY, 0, 9) == -1).all()


def test_what_a_delayed_game_knows_is_what_it_knew_but_nothing_is_proved() -> None:
    game = Delay(Bernoulli(), 5)
    assert facts(game, 0.6, T) == facts(Bernoulli(), 0.6, T)
    trace = lewa.play(learner_of("lewa", game), game, T, seeds=2, every_round=True)
    assert lewa.judge(trace).guarantee.regret is None
    assert lewa.judge(trace).guarantee.reason == "no theorem covers feedback that comes late or never"
    assert lewa.judge(trace).holds is None
    said = lewa.guarantee(trace.learner, 3, T, **assumed(game, 0.6, T)._asdict())
    assert said.reason == lewa.judge(trace).guarantee.reason
    with pytest.raises(ValueError, match="a certificate needs feedback within the same round, got feedback that"):
        lewa.measures.certificate(trace)
    with pytest.raises(ValueError, match="covers LEWA's own plays only, got feedback that comes late"):
        lewa.measures.regret_certificate(trace, np.array([0.0, 0.5, 0.5]))


# Dropping ----------------------------------------------------------------------------------------------------------------


def masks(key: Any, missing: float, spell: int, K: int) -> Any:
    luck = np.array([[nth(key, t // spell * K + i) for i in range(K)] for t in range(T)])
    return (luck >= missing) | (luck == luck.max(axis=1, keepdims=True))


@pytest.mark.parametrize("name", LEARNERS[:2])
def test_missing_actions_are_never_played_and_sleep(name: str) -> None:
    game = Dropping(Radio(), missing=0.6, spell=4)
    learner = learner_of(name, game)
    trace: Any = lewa.play(learner, game, T, seeds=[3], every_round=True)
    there = masks(branch(keys(3)[NATURE : NATURE + 1]), 0.6, 4, 4)
    assert 0.4 < 1 - there.mean() < 0.7
    assert (there.sum(axis=1) == 1).any()
    assert (trace.plays[0][~there] == 0).all()
    if name == "lewa":
        plays, actions = by_hand(learner, game, 3, list(range(T)), there)
    else:
        plays, actions = masked_bandit_lewa(learner, game, 3, there)
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trace.actions[0], actions)
    rewards, constraints, _ = game.block(keys(3)[NATURE : NATURE + 1], 0, T)
    got = (plays * rewards).sum() if name == "lewa" else rewards[np.arange(T), actions].sum()
    assert trace.reward[0, -1] == pytest.approx(got)
    drew = np.eye(4)[actions]
    assert game.mean_constraints is not None
    short = 0.6 - (drew if name == "bandit-lewa" else plays) @ game.mean_constraints[0]
    assert trace.shortfall[0, -1, 0] == pytest.approx(short.sum())
    assert trace.positive[0, -1, 0] == pytest.approx(np.maximum(short, 0).sum())
    observed_shortfall = 0.6 - (constraints[:, 0] * (plays if name == "lewa" else drew)).sum(axis=1)
    assert trace.observed_shortfall[0, -1, 0] == pytest.approx(observed_shortfall.sum())


@pytest.mark.parametrize("name", LEARNERS)
def test_an_agent_that_is_told_which_actions_there_are_decides_alike(name: str) -> None:
    game = Dropping(Radio(), missing=0.5, spell=3)
    trace: Any = lewa.play(learner_of(name, game), game, T, seeds=[3], every_round=True)
    line = lewa.at_least("headroom", 0.6, range=(0, 1))
    agent = lewa.Agent([0, 1, 2, 3], [line], reward_range=(0, 1), horizon=T, learner=name, seed=3)
    there = game.available(keys(3)[NATURE : NATURE + 1], 0, T)
    rewards, constraints, _ = game.block(keys(3)[NATURE : NATURE + 1], 0, T)
    for t in range(T):
        decision = agent.pull(available=np.flatnonzero(there[t]).tolist())
        assert decision.action == trace.actions[0, t]
        np.testing.assert_allclose(decision.play, trace.plays[0, t], rtol=0, atol=1e-12)
        if name == "lewa":
            agent.update(decision, reward=rewards[t], headroom=constraints[t, 0])
        else:
            i = int(decision.action)
            agent.update(decision, reward=float(rewards[t, i]), headroom=float(constraints[t, 0, i]))


def test_a_game_that_reacts_sees_the_play_over_the_actions_that_are_there() -> None:
    game, p = Dropping(lewa.games.AntiLeader(constraint_means=(0.2, 0.5, 0.9)), missing=0.9), np.array([0.5, 0.3, 0.2])
    there = game.available(KEY, 0, 1)[0]
    rewards, _ = game.reveal(0, p, KEY)
    assert there.sum() == 1
    assert rewards[np.flatnonzero(~there)[0]] == 1  # the first of the two that cannot be played is the least likely
    trace = lewa.play(learner_of("lewa", game), game, 30)
    assert trace.reward[0, -1] < 10


# Noise and scale ---------------------------------------------------------------------------------------------------------


def test_with_the_chance_that_is_said_a_fair_coin_stands_for_a_number() -> None:
    game: Any = Noise(Radio(), noise=0.4)
    inside = Radio()
    rewards, constraints, _ = game.block(KEY, 3, 50)
    r, c, _ = inside.block(KEY, 3, 50)
    other = branch(KEY)
    for t in range(3, 50):
        for i in range(4):
            for shown, was, n in ((rewards[t - 3, i], r[t - 3, i], i), (constraints[t - 3, 0, i], c[t - 3, 0, i], 4 + i)):
                u = nth(other, 8 * t + n)
                assert shown == (was if u >= 0.4 else float(u < 0.2))
    np.testing.assert_allclose(game.mean_constraints, 0.2 + 0.6 * inside.mean_constraints)
    np.testing.assert_allclose(game.mean_rewards(9), 0.2 + 0.6 * inside.mean_rewards(9))


def test_noise_leaves_a_mean_where_there_was_a_constant_and_a_guarantee_that_holds() -> None:
    game, rounds = make("slow-burn+noise", 0.6, 2000, noise=0.3), 2000
    assert game.mean_constraints is not None
    assert game.setting.constraints == "iid"
    assert Noise(SlowBurn(), 0.0).setting.constraints == "constant"
    assert game.mean_constraints.max() == pytest.approx(0.6)  # it was posed for what becomes this floor
    verdict = lewa.judge(lewa.play(lewa.learners.Lewa.tuned(2, rounds, 0.6), game, rounds, seeds=4))
    assert verdict.holds
    assert Noise(lewa.games.Impossible()).mean_constraints is None


def test_two_noises_use_different_numbers() -> None:
    once: Any = Noise(SlowBurn(), 0.5)
    twice: Any = Noise(once, 0.5)
    assert twice.branch(KEY) == branch(KEY, 1) != once.branch(KEY)
    np.testing.assert_allclose(twice.mean_constraints, 0.25 + 0.5 * once.mean_constraints)


def test_a_scaled_game_lays_its_numbers_onto_a_part_of_their_range() -> None:
    game, inside = Scale(Switching(period=9), rewards_in=(0.1, 0.3), constraints_in=(0.5, 0.9)), Switching(period=9)
    r, c, _ = inside.block(KEY, 0, T)
    rewards, constraints, _ = game.block(KEY, 0, T)
    np.testing.assert_allclose(rewards, 0.1 + 0.2 * r)
    np.testing.assert_allclose(constraints, 0.5 + 0.4 * c)
    known: Any = facts(game, 0.8, T)
    before: Any = facts(inside, 0.75, T)  # (0.8 - 0.5)/0.4
    assert known.variation == pytest.approx(0.2 * before.variation)
    assert known.value == pytest.approx(0.1 + 0.2 * before.value)
    assert known.price == pytest.approx([before.price[0] * 0.2 / 0.4])
    assert known.slater == pytest.approx(0.4 * before.slater)
    assert assumed(game, 0.8, T).slater == known.slater
    assert Scale(Bernoulli()).stationary_rewards
    assert facts(Scale(Bernoulli()), 0.6, T).variation is None


def test_a_scaled_game_is_posed_for_the_floor_that_becomes_the_one_asked_for() -> None:
    game: Any = make("slow-burn+scale", 0.6, 10_000)
    assert game.game.floor == pytest.approx((0.6 - 0.25) / 0.5)
    assert facts(game, 0.6, 10_000).slater == pytest.approx(0)
    steep: Any = make("slow-burn+scale", 0.9, 10_000)
    assert steep.game.floor == 1  # which none of its plays meets
    assert not facts(steep, 0.9, 10_000).feasible


def test_corruption_shrinks_with_the_range_and_still_bounds_what_is_corrupted() -> None:
    assert Scale(Corrupted(corruption=10), constraints_in=(0.2, 0.7)).setting.corruption == pytest.approx(5)
    assert Noise(Corrupted(corruption=10), noise=0.2).setting.corruption == pytest.approx(8)


# Names and parameters ----------------------------------------------------------------------------------------------------


def test_a_parameter_goes_to_the_outermost_that_knows_it() -> None:
    game = make("slow-burn+delay+noise+delay", 0.5, 10_000, delay=3, noise=0.5, nu=0.2)
    assert repr(game) == (
        "Delay(game=Noise(game=Delay(game=SlowBurn(floor=0.5, nu=0.2), delay=10, random=False, lost=0.0), noise=0.5), "
        "delay=3, random=False, lost=0.0)"
    )
    assert pickle.loads(pickle.dumps(game)) == game
    assert game.setting.outside_theory == "feedback that comes late or never and feedback that comes late or never"


def test_unknown_twists_and_parameters_get_a_sentence() -> None:
    wrong: dict[str, Any] = {
        "unknown twist 'dely'; did you mean 'delay'": lambda: make("bernoulli+dely", 0.5, 10),
        "unknown game 'bernouli'; did you mean 'bernoulli'": lambda: make("bernouli+delay", 0.5, 10),
        "bernoulli\\+delay has no parameter 'dely'; did you mean 'delay'": lambda: make("bernoulli+delay", 0.5, 10, dely=1),
        "counterexample has no parameter 'nu': it has none": lambda: make("counterexample", 0.5, 10, nu=1),
        "delay must be an integer of at least 0": lambda: Delay(Bernoulli(), delay=-1),
        "lost must be finite": lambda: Delay(Bernoulli(), lost=2),
        r"noise must lie in \[0, 1\), got 1": lambda: Noise(Bernoulli(), noise=1),
        "missing must be finite": lambda: Dropping(Bernoulli(), missing=2),
        "integer of at least 1": lambda: Dropping(Bernoulli(), spell=0),
        "rewards_in must be two numbers, the smaller one first": lambda: Scale(Bernoulli(), rewards_in=(0.5, 0.5)),
    }
    for sentence, call in wrong.items():
        with pytest.raises(ValueError, match=sentence):
            call()


class InCents(Bernoulli):
    def block(self, key: Any, start: int, stop: int) -> Any:
        rewards, constraints, _ = super().block(key, start, stop)
        return Block(100 * rewards, constraints)


@pytest.mark.parametrize("twist", [Delay, Dropping])
def test_a_game_of_the_users_is_looked_at_within_a_twist_too(twist: Any) -> None:
    with pytest.raises(ValueError, match=r"rewards must be finite numbers in \[0, 1\], got 100"):
        lewa.play(learner_of("lewa", InCents()), twist(InCents()), 10)
