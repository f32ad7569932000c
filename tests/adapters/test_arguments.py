"""The adapters answer what does not belong there with one sentence."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.adapters import gym, obp, river

WRONG: list[Any] = ["two\nlines", [[1, 2], [3]], object(), 10**400, float("nan"), np.zeros((5, 2))]
COST = [lewa.at_most("cost", 0.4)]
LEARNER, GAME = lewa.learners.make("bandit-lewa", 3, 9, 0.6), lewa.games.Bernoulli()
FEEDBACK: dict[str, Any] = {"n_actions": 2, "action": np.array([0, 1]), "reward": [1, 0], "pscore": [0.5, 0.5]}


def refused(call: Callable[[Any], object], fine: tuple[int, ...] = ()) -> None:
    for place, wrong in enumerate(WRONG):
        if place not in fine:
            with pytest.raises((ValueError, TypeError), match=r"^[^\n]+$") as error:
                call(wrong)
            assert "lewa" in Path(error.traceback[-1].path).parts


def _read_with(right: dict[str, Any], name: str, wrong: object) -> object:
    return obp.read_feedback({**right, name: wrong})


def test_feedback_of_obp() -> None:
    trace = lewa.play(LEARNER, GAME, 9, every_round=True)
    right = {**FEEDBACK, "constraints": [0.5, 0.5]}
    refused(obp.read_feedback)
    refused(obp.write_feedback)
    refused(obp.action_dist)
    refused(lambda seed: obp.write_feedback(trace, seed))
    for name in right:
        refused(partial(_read_with, right, name))
    assert obp.read_feedback(right).rows == 2


def test_arms_and_answers_of_river() -> None:
    refused(lambda arms: river.Policy(COST, arms))
    refused(lambda arms: river.Policy(COST).pull(arms))
    refused(lambda constraints: river.Policy(constraints, ["a", "b"]))
    refused(lambda statistic: river.Policy(COST, ["a", "b"], reward_obj=statistic))
    policy = river.Policy(COST, ["a", "b"])
    arm = policy.pull(["a", "b"])
    refused(policy.pull)
    refused(lambda wrong: policy.update(wrong, 1, cost=0.2))
    refused(lambda wrong: policy.update(arm, 1, decision=wrong, cost=0.2))
    refused(lambda wrong: policy.update(arm, wrong, cost=0.2))
    policy.update(arm, 1, cost=0.2)


def test_a_game_as_an_environment() -> None:
    refused(lambda game: gym.Environment(game, 0.6, 10))
    environment = gym.Environment("bernoulli", 0.6, 10)
    environment.reset(seed=1)
    refused(environment.step)
    refused(lambda names: gym.Telling(environment, names))
