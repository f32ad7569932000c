"""A game as an environment, against gymnasium and Safety-Gymnasium."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import forks

import lewa

pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install -e '.[gym]' in a clone of lewa")

import gymnasium
from gymnasium.utils.env_checker import check_env

from lewa.adapters.gym import Environment, SixValues, Telling

pytestmark = pytest.mark.slow

REACTS = {name for name, kind in lewa.games.ALL.items() if kind().reacts}
TWO = lewa.games.Bernoulli(rewards=[0.9, 0.5, 0.2], constraints=[[0.2, 0.6, 0.9], [0.7, 0.5, 0.6]])


@pytest.mark.parametrize("name", lewa.games.ALL)
def test_every_game_passes_check_env_without_a_warning(name: str) -> None:
    check_env(Environment(name, floor=0.5, rounds=50))  # warnings are errors here


def test_a_game_with_two_constraints_and_a_table_pass_check_env() -> None:
    check_env(Environment(TWO, floor=[0.5, 0.6], rounds=50))
    rng = np.random.default_rng(0)
    check_env(Environment(lewa.games.Table(rng.random((40, 3)), rng.random((40, 3, 2))), floor=[0.5, 0.6]))


def test_check_env_does_warn_where_it_has_a_reason_to() -> None:
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(Telling(Environment(TWO, floor=[0.5, 0.6], rounds=50)))


def test_it_is_made_by_its_id_alone_and_as_a_vector() -> None:
    env = gymnasium.make("lewa.adapters.gym:lewa/Game-v0", game="slater", floor=0.5, rounds=7)
    assert isinstance(env.unwrapped, Environment)
    assert env.unwrapped.rounds == 7
    many = gymnasium.make_vec("lewa/Game-v0", num_envs=2, game="bernoulli", floor=0.5, rounds=7)
    many.reset(seed=3)  # 3 and 4
    rows = [many.step(np.array([1, 1])) for _ in range(7)]
    many.close()
    for n in range(2):
        alone = Environment("bernoulli", floor=0.5, rounds=7)
        alone.reset(seed=3 + n)
        steps = [alone.step(1) for _ in range(7)]
        assert [row[1][n] for row in rows] == [step[1] for step in steps]
        assert [row[4]["cost"][n] for row in rows] == [step[4]["cost"] for step in steps]


@pytest.mark.parametrize("name", [*sorted(lewa.games.ALL.keys() - REACTS), "two constraints"])
def test_a_seed_names_the_nature_that_lewa_play_meets(name: str) -> None:
    floor = [0.5, 0.6] if name == "two constraints" else [0.5]
    game = TWO if name == "two constraints" else lewa.games.ALL[name].for_problem(np.array(floor), 300)
    learner = lewa.learners.BanditLewa.tuned(game.actions, 300, floor)
    trace = lewa.play(learner, game, rounds=300, seeds=[11], every_round=True)
    env = Environment(game, floor, rounds=300)
    env.reset(seed=11)
    steps = [env.step(action) for action in trace.actions[0]]
    assert sum(step[1] for step in steps) == pytest.approx(trace.reward[0, -1], abs=1e-9)
    slack = sum(step[4]["slack"] for step in steps)
    np.testing.assert_allclose(-slack, trace.observed_shortfall[0, -1], rtol=0, atol=1e-9)


def test_a_game_that_reacts_sees_the_action() -> None:
    env = Environment(lewa.games.AntiLeader(pays="least"), floor=0.5, rounds=30)
    env.reset(seed=1)
    assert [env.step(t % 3)[1] for t in range(30)] == [0.0] * 30


class Tiring(lewa.games.Game):
    """The more often an action was taken, the less it pays."""

    actions, constraints, setting = 2, 1, lewa.Setting("constant", "adaptive")
    reacts = True

    def __init__(self) -> None:
        self.taken = np.zeros(2)

    def reveal(self, t: int, p: Any, key: Any) -> Any:
        self.taken += p
        return 1 / np.maximum(self.taken, 1), np.ones((1, 2))


def test_a_game_that_remembers_begins_anew_with_each_episode() -> None:
    env = Environment(Tiring(), floor=0.5, rounds=4)
    for _ in range(2):
        env.reset(seed=1)
        assert rewards(env, 0) == [1, 1 / 2, 1 / 3, 1 / 4]


def test_an_episode_is_truncated_after_its_rounds_and_never_terminated() -> None:
    env = Environment("bernoulli", floor=0.5, rounds=3)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset to begin"):
        env.step(0)
    for _ in range(2):
        env.reset(seed=4)
        assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
        with pytest.raises(gymnasium.error.ResetNeeded, match="an episode of 3 rounds"):
            env.step(0)


@given(
    kept=st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=2), min_size=1, max_size=8),
    floor=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)
def test_the_costs_of_an_episode_are_within_the_limit_exactly_if_the_average_reaches_the_floor(
    kept: list[list[float]], floor: float
) -> None:
    env = Environment(lewa.games.Table(np.ones((len(kept), 2)), kept), floor)
    env.reset(seed=0)
    infos = [env.step(t % 2)[4] for t in range(len(kept))]
    average = np.mean([row[t % 2] for t, row in enumerate(kept)])
    assert (sum(info["cost"] for info in infos) <= env.cost_limit) == (average >= floor)
    assert [info["slack"][0] for info in infos] == [info["constraints"][0] - floor for info in infos]


def test_with_several_constraints_the_cost_is_the_sum_of_the_costs() -> None:
    env = Environment(TWO, floor=[0.5, 0.6], rounds=40)
    env.reset(seed=2)
    for _ in range(40):
        observation, reward, _, _, info = env.step(1)
        assert info["cost"] == info["costs"].sum()
        np.testing.assert_array_equal(info["costs"], 1 - info["constraints"])
        np.testing.assert_array_equal(observation, [reward, *info["constraints"]])
    np.testing.assert_allclose(env.cost_limits, [20, 16])
    assert env.cost_limit == pytest.approx(36)


def rewards(env: Any, action: int) -> list[float]:
    return [env.step(action)[1] for _ in range(env.rounds)]


def test_without_a_seed_each_episode_is_another_one_and_info_says_which() -> None:
    env, again = (Environment("bernoulli", floor=0.5, rounds=64) for _ in range(2))
    seeds, found = [], []
    for n in range(3):
        seeds.append(env.reset(seed=9 if n == 0 else None)[1]["seed"])
        found.append(rewards(env, 1))
    assert seeds[0] == 9
    assert len({tuple(one) for one in found}) == 3
    for n, (seed, seen) in enumerate(zip(seeds, found, strict=True)):
        assert again.reset(seed=9 if n == 0 else None)[1]["seed"] == seed  # from the first seed on, all are the same
        assert rewards(again, 1) == seen
    for seed, seen in zip(seeds, found, strict=True):
        again.reset(seed=seed)
        assert rewards(again, 1) == seen


def test_a_copy_in_the_middle_of_an_episode_goes_on_alike() -> None:
    env = Environment("bernoulli", floor=0.5, rounds=64)
    env.reset(seed=5)
    first = [env.step(1)[1] for _ in range(20)]
    copy = deepcopy(env)
    rest = [env.step(1)[1] for _ in range(44)]
    assert [copy.step(1)[1] for _ in range(44)] == rest
    env.reset(seed=5)
    assert rewards(env, 1) == first + rest


def test_the_step_of_six_values_is_that_of_safety_gymnasium(safety_gymnasium: Any) -> None:
    ours, theirs = (Environment("bernoulli", floor=0.6, rounds=50) for _ in range(2))
    six, wrapped = SixValues(ours), safety_gymnasium.Gymnasium2SafetyGymnasium(theirs)
    six.reset(seed=8)
    wrapped.reset(seed=8)
    for t in range(50):
        step = safety_gymnasium.env_step_passive_checker(six, t % 3) if t == 0 else six.step(t % 3)
        for mine, other in zip(step, wrapped.step(t % 3), strict=True):
            np.testing.assert_equal(mine, other)


def test_six_values_need_a_cost() -> None:
    class Costless(gymnasium.Env[Any, Any]):
        def step(self, action: Any) -> Any:
            return 0, 0.0, False, False, {}

    with pytest.raises(ValueError, match=r"needs info\['cost'\], got nothing"):
        SixValues(Costless()).step(0)
    with pytest.raises(ValueError, match="info must have cost, got nothing"):
        Telling(Costless()).step(0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"game": "bernouli", "floor": 0.5, "rounds": 9}, "unknown game 'bernouli'; did you mean 'bernoulli'"),
        ({"game": "bernoulli", "floor": 0.5}, "rounds must be an integer of at least 1 for a game .*, got None"),
        ({"game": TWO, "floor": [0.5, 0.6]}, "rounds must be an integer of at least 1 for a game .*, got None"),
        ({"game": TWO, "floor": 0.5, "rounds": 9}, "floor must have one number per constraint, got 1 for 2 constraints"),
        ({"game": lewa.games.Table([[1, 0]], [0, 1]), "floor": 0.5, "rounds": 9}, "at most the game's length 1, got 9"),
        ({"game": TWO, "floor": [0.5, 1.6], "rounds": 9}, "floor must be finite numbers in"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Environment(**arguments)


@pytest.mark.parametrize("action", [3, -1, 0.5, "a", None])
def test_an_action_that_is_none_is_refused(action: Any) -> None:
    env = Environment("bernoulli", floor=0.5, rounds=3)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"the action must be an integer from 0 to 2, got"):
        env.step(action)


def test_a_missing_library_is_named_with_the_extra_that_brings_it_and_lewa_needs_none(tmp_path: Path) -> None:
    program = """
import sys
import lewa, lewa.cli, lewa.serve.run  # a forked process has imported all of it already
assert not {"gymnasium", "river", "obp"} & set(sys.modules)
sys.modules.update(gymnasium=None, river=None, obp=None)
import lewa.adapters.obp
for name in ("gym", "river"):
    try:
        __import__(f"lewa.adapters.{name}")
    except ImportError as missing:
        print(missing)
"""
    code, out, err = forks.run(tmp_path, [], program)
    assert code == 0, err
    assert out.splitlines() == [
        "lewa.adapters.gym needs gymnasium: pip install -e '.[gym]' in a clone of lewa",
        "lewa.adapters.river needs river: pip install -e '.[river]' in a clone of lewa",
    ]


def test_an_observation_ends_with_the_features_of_the_round_that_comes_next() -> None:
    rng = np.random.default_rng(0)
    contexts = rng.uniform(-1, 1, (5, 2))
    env = Environment(lewa.games.Table(rng.random((5, 3)), rng.random((5, 3)), contexts), floor=0.5)
    check_env(env)
    seen = [env.reset(seed=1)[0], *(env.step(1)[0] for _ in range(5))]
    assert [observation.size for observation in seen] == [4] * 6
    np.testing.assert_array_equal([observation[2:] for observation in seen], [*contexts, np.zeros(2)])
    assert (seen[0][:2] == 0).all()
    learner = lewa.learners.SquareCbLewa.tuned(3, 5, 0.5, features=2)  # a learner gets them as they are
    state = lewa.functional.see(learner, lewa.functional.start(learner, 3), seen[0][2:])
    assert lewa.functional.play(learner, state).sum() == pytest.approx(1)
