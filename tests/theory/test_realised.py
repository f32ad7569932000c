"""A bound on means, said of the actions drawn: what is added, that it is enough, and that it is needed."""

import re
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import some
from typer.testing import CliRunner

import lewa
from lewa import cli
from lewa.kernels import NATURE, keys
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, PATHWISE, PROBABLE
from lewa.theory.realised import realised, subject
from lewa.theory.setting import Setting

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

EPSILON = 0.1


def test_the_regret_of_the_actions_drawn_exceeds_that_of_the_play_but_not_the_bound_for_them() -> None:
    T, runs = 100, some(400)
    learner: Any = lewa.learners.make("ewa", 2, T, floor=0)
    mean = lewa.guarantee(learner, 2, T)
    told = realised(mean, T, (0.0,), bandit=False, epsilon=EPSILON)
    assert (mean.kind, told.kind, told.epsilon) == (PATHWISE, PROBABLE, EPSILON)
    assert told.regret == pytest.approx((mean.regret or 0) + sqrt(T / 2 * log(1 / EPSILON)))
    game, regrets = lewa.games.Bernoulli([0.5, 0.5], [[1.0, 1.0]]), []
    trace: Any = lewa.play(learner, game, T, every_round=True, seeds=runs)
    for seed, actions in enumerate(trace.actions):
        r = game.block(keys(seed)[NATURE : NATURE + 1], 0, T).rewards
        regrets.append(r.sum(axis=0).max() - r[np.arange(T), actions].sum())
    assert (np.array(regrets) > mean.regret).mean() > 0.05  # the bound on means is no bound on these
    assert (np.array(regrets) > told.regret).mean() <= EPSILON


def test_so_does_what_was_met() -> None:
    T, seeds = 200, some(200)
    game = lewa.games.Bernoulli([0.9, 0.5], [[0.2, 0.51]])
    learner: Any = lewa.learners.make("bandit-safe-mixing", 2, T, floor=0.5, safe=1, margin=0.01)
    trace = lewa.play(learner, game, T, seeds=seeds)
    mean = lewa.guarantee(learner, 2, T)
    assert mean.violation == (0.0,)
    told = realised(mean, T, (0.5,), bandit=True, epsilon=EPSILON)
    assert told.violation == pytest.approx((sqrt(T / 2 * log(1 / EPSILON)),))
    assert told.regret == mean.regret  # a bandit's regret is about the rewards drawn
    assert told.epsilon == pytest.approx((mean.epsilon or 0) + EPSILON)
    met = trace.observed_shortfall[:, -1, 0]
    assert (met > 0).mean() > 0.2
    assert (met > told.violation[0]).mean() <= EPSILON  # type: ignore[index]


@pytest.mark.parametrize("name", ["lewa", "op-ewa", "lewa-ix", "bandit-op-ewa"])
def test_several_floors_share_epsilon_and_floors_of_zero_need_none(name: str) -> None:
    T, floor = 10**6, (0.5, 0.4, 0.0)
    learner: Any = lewa.learners.make(name, 4, T, floor=floor)
    bandit = "ix" in name or "bandit" in name
    for statement in learner.guarantees(4, T, Setting(epsilon=0.05)):
        if statement.regret is None:
            continue
        told: Any = realised(statement, T, floor, bandit, EPSILON)
        term = sqrt(T / 2 * log((2 if bandit else 3) / EPSILON)) if statement.kind in (PATHWISE, PROBABLE) else 0.0
        assert told.regret == pytest.approx(statement.regret + (0 if bandit else term))
        more = {EXPECTED: 0.0, EXPECTED_INSIDE: sqrt(T) / 2}.get(statement.kind, term)
        bounds = [min(v + more, c0 * T) for v, c0 in zip(statement.violation, floor, strict=True)]
        assert told.violation == pytest.approx(bounds)
        assert told.positive_violation is None
        assert told.violation is not None
        assert told.violation[2] == 0


def test_what_is_corrupted_is_met_too() -> None:
    T = 10**6
    learner: Any = lewa.learners.make("lewa", 4, T, floor=0.5)
    statement = lewa.guarantee(learner, 4, T, corruption=50.0)
    with_, without = (realised(statement, T, (0.5,), False, corruption=C) for C in (50.0, 0.0))
    assert with_.violation[0] == pytest.approx(without.violation[0] + 50)  # type: ignore[index]


def test_where_constraints_are_arbitrary_a_bandit_is_bound_by_what_was_drawn() -> None:
    T = 10**6
    learner: Any = lewa.learners.make("loss-lewa", 4, T, floor=0.5)
    statement = learner.guarantees(4, T, Setting(constraints="arbitrary"))[1]
    assert realised(statement, T, (0.5,), bandit=True) == statement._replace(positive_violation=None)


def test_what_says_no_more_than_the_trivial_bounds_is_not_said() -> None:
    learner: Any = lewa.learners.make("ewa", 2, 3, floor=0)
    statement = lewa.guarantee(learner, 2, 3)
    assert realised(statement, 3, (0.5,), bandit=False).regret is None
    assert "probabilities of failure sum to" in realised(statement._replace(epsilon=0.97), 100, (0.0,), False).reason


def test_the_sentence_says_of_what_and_for_how_many_rounds() -> None:
    full: Any = lewa.learners.make("lewa", 4, 10**5, floor=0.5, epsilon=0.05)
    text = subject(lewa.guarantee(full, 4, 10**5, epsilon=0.05), 10**5, (0.5,), bandit=False)
    assert "are those of the play" in text
    assert "with probability 0.9" in text
    assert "this single T, fixed in advance" in text
    always: Any = lewa.learners.make("anytime-op-ewa", 4, 1, floor=0.5)
    assert "all t <= T at once" in subject(lewa.guarantee(always, 4, 10**5), 10**5, (0.5,), bandit=False)
    bandit: Any = lewa.learners.make("bandit-op-ewa", 4, 10**5, floor=0.5)
    assert "regret is that of the rewards drawn" in subject(lewa.guarantee(bandit, 4, 10**5), 10**5, (0.5,), bandit=True)
    nothing: Any = lewa.learners.make("fixed-penalty", 4, 10**5, floor=0.5)
    assert subject(lewa.guarantee(nothing, 4, 10**5), 10**5, (0.5,), bandit=False) == ""


def test_the_command_says_it_and_takes_a_corruption() -> None:
    words = ["guarantee", "lewa", "--actions", "10", "--rounds", "100000", "--floor", "0.6", "--epsilon", "0.05"]
    printed = re.sub(r"\s+", " ", CliRunner().invoke(cli.app, words).stdout)
    assert "Regret and violation are those of the play" in printed
    assert "this single T, fixed in advance" in printed
    corrupted = re.sub(r"\s+", " ", CliRunner().invoke(cli.app, [*words, "--corruption", "50"]).stdout)
    assert "except for a total corruption of 50" in corrupted
    refused = CliRunner().invoke(cli.app, ["guarantee", "hp-lewa", *words[2:], "--corruption", "50"]).stdout
    assert "no bound is proved under corruption" in re.sub(r"\s+", " ", refused)
