"""Roles of a state's arrays: the name of an array is free, and a wrong role breaks a law.

The learner below is that of `anytime-loss-lewa` with other names for the arrays of its state.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
import pytest

from lewa import Agent, at_most
from lewa.checks import learners
from lewa.checks.changes import (
    a_missing_action_returns_with_its_share,
    a_new_action_keeps_its_share,
    arrays_have_roles,
    units_do_not_matter,
)
from lewa.checks.laws import Law, put
from lewa.engine.session import Session
from lewa.feedback import Bandit, Full
from lewa.kernels import Weights, anytime_dual_step, comparable, draw, grow, normalize, ones, priced_loss, set_weights
from lewa.kernels.roles import Clock, Counts, Losses, Multiplier, PerAction
from lewa.learners import ALL, AnytimeLossLewa
from lewa.learners.base import Learner, sizes_of
from lewa.learners.parameter_checks import check_positive
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector


@comparable
class Renamed(NamedTuple):
    evidence: Weights
    toll: Multiplier
    estimates: Losses
    rounds: Clock


@comparable
class Misnamed(NamedTuple):
    evidence: Weights
    toll: Multiplier
    estimates: PerAction[Vector]  # a role that is not that of losses
    rounds: Clock


@comparable
class Bare(NamedTuple):
    evidence: Weights
    toll: Multiplier
    estimates: Vector
    rounds: Clock


@comparable
class Crossed(NamedTuple):
    evidence: Weights
    toll: Multiplier
    estimates: Losses
    rounds: Counts  # (1,)


@dataclass(frozen=True)
class OtherNames(Learner):
    """The same rule as that of anytime LossLEWA."""

    eta: float
    delta: float
    floor: Vector

    State = Renamed
    reads_play = AnytimeLossLewa.reads_play

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        return cls(**AnytimeLossLewa.tuned(actions, horizon, floor).parameters)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [(cls.tuned(3, 200, 0.5), 3), (cls.tuned(5, 100, (0.4, 0.2)), 5)]

    def check(self) -> None:
        check_positive(eta=self.eta, delta=self.delta)

    def start(self, actions: int) -> Any:
        K, m = sizes_of(self, actions)
        return self.State(ones(K), np.zeros(m), np.zeros(K), np.zeros(1))

    def play(self, s: Renamed, p: Vector) -> None:
        normalize(s.evidence, p)

    def choose(self, s: Renamed, u: float) -> tuple[int, float]:
        return draw(s.evidence, 0.0, u)

    def learn(self, s: Renamed, seen: Bandit) -> None:
        s.rounds[0] += 1
        t = s.rounds[0]
        s.estimates[seen.action] += priced_loss(seen.reward, s.toll, seen.constraints) / seen.propensity
        set_weights(s.evidence, -self.eta / sqrt(t + 1), s.estimates)
        anytime_dual_step(s.toll, self.delta, t, seen.constraints, self.floor)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("other names", "a test"),)


class WithoutRole(OtherNames):
    State = Bare  # type: ignore[assignment]


class WithWrongRole(OtherNames):
    State = Misnamed  # type: ignore[assignment]


class WithWrongShape(OtherNames):
    State = Crossed  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in (("other-names", OtherNames), ("without-role", WithoutRole)):
        monkeypatch.setitem(ALL, name, kind)


def life(name: str) -> list[tuple[float, ...]]:
    """Return the plays of an agent to which all happens that changes a state."""
    agent, dice = Agent(["a", "b"], [at_most("cost", 0.4)], learner=name, seed=1), np.random.default_rng(0)
    plays = []

    def answer(rounds: int, available: list[str] | None = None) -> None:
        for _ in range(rounds):
            decision = agent.pull(available=available)
            plays.append(decision.play)
            agent.update(decision, reward=dice.random(), cost=dice.random())

    answer(30)
    agent.add_action("new", share=0.02)
    answer(20)
    answer(20, ["a", "new"])
    answer(5)
    agent.set_range("cost", (0, 2))
    answer(10)
    assert Agent.restore(agent.snapshot()).pull() == agent.pull()
    return plays


def test_a_learner_with_other_names_for_its_arrays_decides_the_same() -> None:
    assert life("other-names") == life("anytime-loss-lewa")


def test_a_new_action_keeps_its_share_whatever_the_arrays_are_called() -> None:
    agent, dice = Agent(["a", "b"], [at_most("cost", 0.7)], learner="other-names", seed=1), np.random.default_rng(0)
    for _ in range(300):
        agent.update(agent.pull(), reward=dice.random(), cost=0.5)
    agent.add_action("new", share=0.02)
    first = agent.pull()
    assert first.play[2] == pytest.approx(0.02)
    agent.update(first, reward=0.5, cost=0.5)
    assert agent.pull().play[2] == pytest.approx(0.02, rel=0.1)


def test_all_laws_hold_for_other_names() -> None:
    assert [result for result in learners.check(OtherNames) if result.sentence] == []


def sentence_of(law: Law, *subject: object) -> str:
    return put(law, "", *subject).sentence


def broken(law: Law, kind: type[Learner]) -> str:
    return next((told for pair in kind.examples() if (told := sentence_of(law, *pair))), "")


def test_losses_without_their_role_break_the_law_of_new_actions() -> None:
    assert "it must keep its share until its own answers move it" in broken(a_new_action_keeps_its_share, WithWrongRole)


def test_losses_without_their_role_break_the_law_of_missing_actions() -> None:
    told = broken(a_missing_action_returns_with_its_share, WithWrongRole)
    assert "rounds in which it was missing and the others earned 0" in told


def test_an_array_without_a_role_is_refused_in_one_sentence() -> None:
    law = "each array of a state must have a role of lewa.kernels.roles, such as Multiplier or PerAction[Vector]"
    told = f"{law}, got Bare.estimates without one"
    assert [result.sentence for result in learners.check(WithoutRole)] == ["", told]
    with pytest.raises(ValueError, match=r"got Bare\.estimates without one"):
        Agent(["a", "b"], [at_most("cost", 0.4)], learner="without-role")
    with pytest.raises(ValueError, match=r"got Bare\.estimates without one"):
        Session(WithoutRole.tuned(2, 100, 0.5), 2)


def test_a_role_of_actions_on_another_array_is_refused() -> None:
    assert "must have entries of each action" in sentence_of(arrays_have_roles, WithWrongShape)


# Units -------------------------------------------------------------------------------------------------------------------


@comparable
class MeansState(NamedTuple):
    weights: Weights
    means: PerAction[Matrix]  # of constraints, which have units
    clock: Clock


@dataclass(frozen=True)
class Means(Learner):
    """Follow the rewards, and look at the constraints."""

    eta: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: Any) -> Self:
        return cls(0.1, np.atleast_1d(floor))

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [(cls.tuned(3, 200, 0.5), 3)]

    def start(self, actions: int) -> MeansState:
        K, m = sizes_of(self, actions)
        return MeansState(ones(K), np.zeros((m, K)), np.zeros(1))

    def play(self, s: MeansState, p: Vector) -> None:
        normalize(s.weights, p)

    def learn(self, s: MeansState, seen: Full) -> None:
        s.clock[0] += 1
        for j in range(self.floor.size):
            for k in range(seen.rewards.size):
                s.means[j, k] += (seen.constraints[j, k] - s.means[j, k]) / s.clock[0]
        grow(s.weights, self.eta, seen.rewards)


def test_means_of_constraints_without_units_break_the_law_of_units() -> None:
    assert "with a cost z in units of 0.5 z the array with the role" in broken(units_do_not_matter, Means)
