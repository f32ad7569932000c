"""The feedback dictionary, and off-policy values, against the Open Bandit Pipeline."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.adapters.obp import action_dist, read_feedback, write_feedback
from lewa.data.log import Log
from lewa.data.off_policy import doubly_robust, ips, snips
from lewa.simulate.log_replay import replay_log

T, K = 600, 3
GAME = lewa.games.Bernoulli(rewards=[0.9, 0.5, 0.2], constraints=[[0.2, 0.6, 0.9], [0.7, 0.5, 0.6]])
FLOOR = [0.5, 0.6]


@pytest.fixture(scope="module")
def trace() -> Any:
    return lewa.play(lewa.learners.BanditLewa.tuned(K, T, FLOOR), GAME, rounds=T, seeds=[3, 4], every_round=True)


@pytest.fixture(scope="module")
def written(trace: Any) -> Any:
    return write_feedback(trace, seed=4)


@pytest.fixture(scope="module")
def log() -> Log:
    rng = np.random.default_rng(0)
    propensities = np.array([0.5, 0.3, 0.2])
    action = rng.choice(3, size=T, p=propensities)
    return Log(action, propensities[action], rng.random(T), rng.random((T, 2)), actions=3)


# Values ------------------------------------------------------------------------------------------------------------------


def theirs(obp: Any, feedback: dict[str, Any], dist: Any, model: Any) -> dict[str, float]:
    estimators = [
        obp.InverseProbabilityWeighting(),
        obp.SelfNormalizedInverseProbabilityWeighting(),
        obp.DoublyRobust(),
    ]
    ope = obp.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators)
    return ope.estimate_policy_values(dist, estimated_rewards_by_reg_model=model)  # type: ignore[no-any-return]


def ours(rows: Log, reward: Any, play: Any, model: Any) -> dict[str, float]:
    given = (rows.action, reward, rows.propensity, play)
    return {"ipw": ips(*given).value, "snipw": snips(*given).value, "dr": doubly_robust(*given, model=model).value}


def evaluated(trace: Any, log: Log) -> dict[str, Any]:
    """Plays (T, K) of several kinds."""
    best = lewa.measures.best_fixed_play(GAME.rewards, GAME.mean_constraints, FLOOR).play
    replayed = replay_log(lewa.learners.BanditLewa.tuned(3, 100, FLOOR), log, seeds=[5], every_row=True)
    return {
        "a fixed play": np.tile(best, (T, 1))[:, :, np.newaxis],
        "one action": np.tile([0.0, 0.0, 1.0], (T, 1))[:, :, np.newaxis],
        "a learner that played elsewhere": action_dist(trace, seed=3),
        "a learner replayed on the log": action_dist(replayed),
    }


def test_values_of_a_log_agree_with_obp_to_1e_12_for_the_reward_and_every_constraint(
    obp: Any, trace: Any, written: Any, log: Log
) -> None:
    rng = np.random.default_rng(1)
    for feedback in (written, write_feedback(log)):
        rows = read_feedback(feedback)
        for name, dist in evaluated(trace, log).items():
            model = rng.random((T, K))
            for reward in (rows.reward, *rows.constraint_values.T):
                expected = theirs(obp, {**feedback, "reward": reward}, dist, model[:, :, np.newaxis])
                assert ours(rows, reward, dist[:, :, 0], model) == pytest.approx(expected, rel=0, abs=1e-12), name


def test_values_of_obps_own_data_agree_to_1e_12_with_its_own_model_of_the_reward(obp: Any) -> None:
    linear_model = import_module("sklearn.linear_model")
    data = obp.SyntheticBanditDataset(
        n_actions=4, dim_context=3, reward_function=obp.logistic_reward_function, random_state=1
    )
    feedback = data.obtain_batch_bandit_feedback(n_rounds=800)
    rows = read_feedback(feedback, constraints=np.linspace(0, 1, 800))
    assert (rows.rows, rows.actions, rows.constraints) == (800, 4, 1)
    at = np.arange(800), feedback["action"], np.zeros(800, dtype=int)
    np.testing.assert_array_equal(rows.propensity, feedback["pi_b"][at])
    model = obp.RegressionModel(n_actions=4, base_model=linear_model.LogisticRegression())
    guessed = model.fit_predict(context=feedback["context"], action=feedback["action"], reward=feedback["reward"])
    softmaxed = obp.softmax(feedback["expected_reward"] * 3)  # a play that depends on the context
    for play in (np.tile([0.4, 0.3, 0.2, 0.1], (800, 1)), softmaxed):
        expected = theirs(obp, feedback, play[:, :, np.newaxis], guessed)
        assert ours(rows, rows.reward, play, guessed[:, :, 0]) == pytest.approx(expected, rel=0, abs=1e-12)


def test_obp_takes_what_is_written(obp: Any, written: Any) -> None:
    for feedback in (written, write_feedback(read_feedback(written))):
        keys = ("context", "action", "reward", "position", "pscore", "action_context")
        obp.check_bandit_feedback_inputs(**{key: feedback[key] for key in keys})
        obp.check_ope_inputs(written["pi_b"], *(feedback[key] for key in ("position", "action", "reward", "pscore")))


# In and out --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["bernoulli", "switching", "anti-leader", "penalty-breaker"])
def test_what_is_written_of_a_play_is_what_happened(game: str) -> None:
    for_problem = lewa.games.ALL[game].for_problem(np.array([0.5]), 300)
    learner = lewa.learners.BanditLewa.tuned(for_problem.actions, 300, 0.5)
    played = lewa.play(learner, for_problem, rounds=300, seeds=[7], every_round=True)
    feedback = write_feedback(played)
    assert feedback["reward"].sum() == pytest.approx(played.reward[0, -1], abs=1e-9)
    assert (0.5 - feedback["constraints"]).sum() == pytest.approx(played.observed_shortfall[0, -1, 0], abs=1e-9)
    np.testing.assert_array_equal(feedback["action"], played.actions[0])
    np.testing.assert_array_equal(feedback["pi_b"], action_dist(played))
    np.testing.assert_array_equal(feedback["pscore"], played.plays[0][np.arange(300), played.actions[0]])  # type: ignore[index]


def test_a_log_comes_back_as_it_went(log: Log) -> None:
    back = read_feedback(write_feedback(log))
    for field in ("action", "propensity", "reward", "constraint_values"):
        np.testing.assert_array_equal(getattr(back, field), getattr(log, field))
    assert back.actions == log.actions


def test_what_is_written_can_be_changed_without_harm(log: Log) -> None:
    before = log.reward.copy()
    write_feedback(log)["reward"][:] = 9
    np.testing.assert_array_equal(log.reward, before)


def test_the_seed_is_named_where_there_are_several(trace: Any) -> None:
    with pytest.raises(ValueError, match="a dictionary has one seed: choose one of 3, 4"):
        write_feedback(trace)
    with pytest.raises(ValueError, match="seed must be one of 3, 4, got 0"):
        action_dist(trace, seed=0)
    assert not np.array_equal(action_dist(trace, seed=3), action_dist(trace, seed=4))


def test_plays_that_were_not_kept_are_asked_for_in_a_sentence(log: Log) -> None:
    learner = lewa.learners.BanditLewa.tuned(3, 100, FLOOR)
    with pytest.raises(ValueError, match=r"the plays must be recorded: use lewa.play\(..., every_round=True\)"):
        write_feedback(lewa.play(learner, GAME, rounds=20))
    with pytest.raises(ValueError, match=r"use replay_log\(..., every_row=True\)"):
        action_dist(replay_log(learner, log))


def test_a_replay_has_the_play_of_every_row_and_is_otherwise_the_same(log: Log) -> None:
    learner = lewa.learners.BanditLewa.tuned(3, 100, FLOOR)
    plain, whole = (replay_log(learner, log, seeds=2, every_row=every_row) for every_row in (False, True))
    np.testing.assert_array_equal(plain.reward, whole.reward)
    assert plain.plays is None
    assert whole.plays is not None
    np.testing.assert_allclose(whole.plays[:, 0], 1 / 3)
    np.testing.assert_allclose(whole.plays.sum(axis=2), 1)
    for plays in whole.plays:  # it changes where a row counted: there are no more such rows than the log promises
        changes = (plays[1:] != plays[:-1]).any(axis=1).sum()
        assert whole.rounds - 1 <= changes < log.rows / 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"pscore": None}, "the feedback must have pscore: replays and estimates need the logger.s propensities"),
        ({"reward": None, "n_actions": None}, "the feedback must have n_actions, reward"),
        ({"position": np.array([0, 1])}, r"there must be one position, got 2: \[0, 1\]"),
        ({"action": np.array([[0, 1], [1, 0]])}, "action must be one integer per row, got int64 of the shape"),
        ({"action": np.array([0.5, 1])}, "action must be one integer per row, got float64"),
        ({"constraints": None}, "feedback without constraints needs constraints=..."),
        ({"pscore": np.array([0.0, 0.5])}, "propensities must be positive"),
        ({"reward": np.array([0.0, 7.0])}, "rewards must be finite numbers in"),
        ({"action": np.array([0, 5])}, r"actions must be among 0 \.\. 1"),
    ],
)
def test_what_is_no_log_of_ours_is_refused_with_a_sentence(change: dict[str, Any], sentence: str) -> None:
    whole = {
        "n_actions": 2,
        "action": np.array([0, 1]),
        "reward": np.array([1.0, 0.0]),
        "pscore": np.array([0.5, 0.5]),
        "position": None,
        "constraints": np.array([0.2, 0.9]),
    }
    assert read_feedback(whole).rows == 2
    with pytest.raises(ValueError, match=sentence):
        read_feedback({**whole, **change})


def test_contexts_go_both_ways() -> None:
    rng = np.random.default_rng(0)
    contexts = np.column_stack([np.ones(T), rng.uniform(-1, 1, (T, 2))])
    table = lewa.games.Table(rng.random((T, 3)), rng.random((T, 3)), contexts)
    learner = lewa.learners.SquareCbLewa.tuned(3, T, 0.5, features=3)
    feedback = write_feedback(lewa.play(learner, table, rounds=T, seeds=[2], every_round=True))
    np.testing.assert_array_equal(feedback["context"], contexts)
    read = read_feedback(feedback)
    np.testing.assert_array_equal(read.contexts, contexts)
    np.testing.assert_array_equal(write_feedback(read)["context"], contexts)
    rows = Log(read.action, np.full(T, 1 / 3), read.reward, read.constraint_values, 3, contexts)
    replayed = replay_log(learner, rows, seeds=[1], every_row=True)
    assert replayed.plays is not None
    assert np.unique(replayed.plays[0], axis=0).shape[0] > replayed.rounds  # rows that do not count have plays of their own
    assert read_feedback({**feedback, "context": np.zeros((T, 1))}).contexts.size == 0
    with pytest.raises(ValueError, match="contexts must be finite numbers of the shape"):
        read_feedback({**feedback, "context": contexts[:3]})
    with pytest.raises(ValueError, match="as many features as the log has, got 2 and 3"):
        replay_log(lewa.learners.SquareCbLewa.tuned(3, T, 0.5, features=2), rows)
