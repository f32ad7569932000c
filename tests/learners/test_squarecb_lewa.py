"""The default for bandit feedback finds a way to keep its limits, and agents of earlier versions keep their rule."""

import json

import numpy as np
import pytest

import lewa
from lewa import Agent, at_most, functional
from lewa.kernels import dump, load
from lewa.learners.squarecb_lewa import SquareCbLewa

EARLIER = {"doubt": 0.0, "hope": 0.0}


def rounds_until_tried_again(bad_answers: int, **settings: float) -> int:
    """Let action 1 begin with costs of 1, and action 0 always cost three times its limit: when is action 1 drawn again?"""
    learner = lewa.learners.make("squarecb-lewa", 2, 1000, 0.9, **settings)
    state = functional.start(learner, 2)
    for t in range(500):
        play = functional.play(learner, state)
        action = 1 if t < bad_answers else 0
        if t >= bad_answers and play[1] > 0.5:
            return t
        state = functional.charge(learner, state, action)
        answer = np.array([0.0 if action else 0.7])
        seen = functional.Bandit(action, max(float(play[action]), 0.01), 0.5, answer, play, state.charged)
        state = functional.learn(learner, state, seen)
    return 500


@pytest.mark.parametrize("bad_answers", [1, 2])
def test_an_action_with_few_bad_answers_is_tried_again_if_no_other_keeps_the_limit(bad_answers: int) -> None:
    assert rounds_until_tried_again(bad_answers) < 100
    assert rounds_until_tried_again(bad_answers, **EARLIER) == 500


def test_the_width_falls_with_many_actions() -> None:
    betas = [lewa.learners.make("squarecb-lewa", K, 100, 0.5).parameters["beta"] for K in (2, 7, 28, 700)]
    assert betas == [2, 2, 1, 0.2]


def test_a_learner_of_an_earlier_version_keeps_its_rule() -> None:
    learner = SquareCbLewa.tuned(3, 100, 0.5).replace(beta=2.0, **EARLIER)
    saved = dump(learner)
    del saved["doubt"], saved["hope"]
    assert dump(load(SquareCbLewa, saved)) == dump(learner)
    assert load(SquareCbLewa, dump(SquareCbLewa.tuned(3, 100, 0.5))).parameters["hope"] == 2.5


def test_an_agent_of_an_earlier_version_continues_by_its_rule() -> None:
    limits = [at_most("cost", 0.1)]
    agent = Agent(list("abc"), limits, seed=1, learner=lewa.LearnerOptions(settings=EARLIER))
    plain = json.loads(json.dumps(agent.snapshot()))
    del plain["setup"]["learner"]["doubt"], plain["setup"]["learner"]["hope"]
    earlier, today = Agent.restore(plain), Agent(list("abc"), limits, seed=1)
    plays: list[list[float]] = []
    for each in (agent, earlier, today):
        rng = np.random.default_rng(0)
        plays.append([])
        for _ in range(300):
            decision = each.pull()
            each.update(decision, reward=0.5, cost=float(rng.random() < 0.5))
            plays[-1].append(decision.probability)
    assert plays[0] == plays[1] != plays[2]
