"""The laws can fail: each is broken by a learner or a game with the one fault that it is there to catch, and by no other."""

from collections.abc import Callable
from math import exp, floor
from typing import Any

import numpy as np
import pytest
from tests.laws.test_laws import LONG, PLAIN
from tests.theorems.instances import HUNT

from lewa.blocks import Block
from lewa.checks import changes, games, learners, sequences
from lewa.checks.laws import Law
from lewa.feedback import Bandit, Full
from lewa.games import Bernoulli, Table
from lewa.kernels import dot, draw, grow, grow_one, grow_priced, normalize, ones, positive
from lewa.learners import BanditLewa, Ewa, Lewa
from lewa.learners.base import sizes_of
from lewa.learners.paper.ewa import EwaState
from lewa.learners.paper.lewa import LewaState
from lewa.theory.guarantees import PATHWISE, Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Indices, Matrix, Vector, Words

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

ROUNDS = 1000 if HUNT else 300  # of plain Python, extreme ones and draws
FAULTY: dict[str, tuple[Any, Law, str]] = {}  # a class, the law it breaks, and what the sentence says


def fault(parent: Any, method: str, breaks: Law, says: str, **more: Any) -> Callable[[Any], Any]:
    """Turn a faulty method into a class: a copy of the parent's with this method in place of its own."""

    def faulty(function: Any) -> Any:
        name = function.__name__
        kind: Any = type(
            name, (parent,), {"__doc__": parent.__doc__.split("\n")[0], "__module__": __name__, **more, method: function}
        )
        FAULTY[name] = kind, breaks, says
        return kind

    return faulty


# Full information


@fault(Ewa, "learn", breaks=learners.the_action_that_alone_pays_gains, says="when action 0 alone paid", keeps_shares=False)
def integer_weights(self: Ewa, s: EwaState, seen: Full) -> None:
    w = s.weights
    for i in range(w.log.size):
        w.value[i] = floor(w.value[i] * exp(self.eta * seen.rewards[i]))  # 1.2 is 1 again, for ever


@fault(Ewa, "learn", breaks=learners.extreme_rounds_leave_no_nan, says="100,000 rounds of all ones lead to EwaState(weights")
def raw_weights(self: Ewa, s: EwaState, seen: Full) -> None:
    w = s.weights
    w.head[0] = 0.0
    for i in range(w.log.size):
        w.value[i] *= exp(self.eta * seen.rewards[i])
        w.head[0] += w.value[i]


@fault(Ewa, "learn", breaks=learners.relabelling_actions_relabels_plays, says="when the actions are relabelled by [")
def favours_the_first(self: Ewa, s: EwaState, seen: Full) -> None:
    grow(s.weights, self.eta, seen.rewards)
    grow_one(s.weights, 0, self.eta / 100)


@fault(Ewa, "learn", breaks=learners.learn_leaves_its_arguments_untouched, says="must not change its arguments: rewards was")
def scales_the_rewards_in_place(self: Ewa, s: EwaState, seen: Full) -> None:
    for i in range(seen.rewards.size):
        seen.rewards[i] *= self.eta
    grow(s.weights, 1.0, seen.rewards)


@fault(
    Ewa, "learn", breaks=learners.same_inputs_give_same_outputs, says="after round 1 two runs on the same rounds differ by"
)
def has_dice_of_its_own(self: Ewa, s: EwaState, seen: Full) -> None:
    grow(s.weights, self.eta, seen.rewards)
    grow_one(s.weights, 0, 1e-14 * np.random.random())  # noqa: NPY002 - what a compiled rule would call


@fault(Ewa, "play", breaks=learners.play_is_a_distribution, says="after round 0 the play sums to 0.98")
def leaks(self: Ewa, s: EwaState, p: Vector) -> None:
    normalize(s.weights, p)
    for i in range(p.size):
        p[i] *= 0.98


@fault(
    Ewa,
    "learn",
    breaks=learners.rule_compiles,
    says="`grow(s.weights, self.eta, 2 * seen.rewards)`: ",
)
def allocates(self: Ewa, s: EwaState, seen: Full) -> None:
    grow(s.weights, self.eta, 2 * seen.rewards)


# With a multiplier


@fault(Lewa, "learn", breaks=learners.multiplier_stays_between_zero_and_its_cap, says="it must lie between 0 and [")
def never_shrinks(self: Lewa, s: LewaState, seen: Full) -> None:
    lam = s.multiplier
    grow_priced(s.weights, self.eta, seen.rewards, lam, seen.constraints)
    for j in range(lam.size):
        lam[j] = positive(lam[j] - self.mu * (seen.met[j] - self.floor[j]))


@fault(Lewa, "learn", breaks=learners.multiplier_stays_between_zero_and_its_cap, says="of all ones the multiplier is [-")
def falls_below_zero(self: Lewa, s: LewaState, seen: Full) -> None:
    lam = s.multiplier
    grow_priced(s.weights, self.eta, seen.rewards, lam, seen.constraints)
    for j in range(lam.size):
        step = (1 - self.delta * self.mu) * lam[j] - self.mu * (seen.met[j] - self.floor[j])
        lam[j] = max(step, -0.01 * self.floor[j])


@fault(
    Lewa,
    "learn",
    breaks=learners.zero_floor_reduces_to_the_unconstrained_parent,
    says="with floor 0 the multiplier is [0.01",
)
def always_asks_a_price(self: Lewa, s: LewaState, seen: Full) -> None:
    lam = s.multiplier
    grow_priced(s.weights, self.eta, seen.rewards, lam, seen.constraints)
    for j in range(lam.size):
        step = (1 - self.delta * self.mu) * lam[j] - self.mu * (seen.met[j] - self.floor[j])
        lam[j] = max(step, 0.01)


@fault(Lewa, "learn", breaks=learners.zero_floor_reduces_to_the_unconstrained_parent, says="that of Ewa(eta=")
def steps_too_far(self: Lewa, s: LewaState, seen: Full) -> None:
    lam = s.multiplier
    grow_priced(s.weights, 2 * self.eta, seen.rewards, lam, seen.constraints)
    for j in range(lam.size):
        lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (seen.met[j] - self.floor[j]))


@fault(
    Lewa,
    "start",
    breaks=learners.any_number_of_constraints_will_do,
    says="after round 0 with three floors the multiplier is [0.]",
    examples=classmethod(lambda cls: [(cls.tuned(3, 200, 0.5), 3)]),
)
def has_one_multiplier(self: Lewa, actions: int) -> LewaState:
    sizes_of(self, actions)
    return LewaState(ones(actions), np.zeros(1))


# Bandits


@fault(BanditLewa, "learn", breaks=learners.a_stale_play_is_accepted, says="leads to the same state")
def uses_the_latest_chance(self: BanditLewa, s: LewaState, seen: Bandit) -> None:
    i, c, lam, w = seen.action, seen.constraints, s.multiplier, s.weights
    q = w.value[i] / w.head[0]
    p = (1 - self.gamma) * q + self.gamma / w.log.size
    grow_one(w, i, self.eta * (seen.reward + dot(lam, c)) / p)
    for j in range(lam.size):
        lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (q * c[j] / p - self.floor[j]))


@fault(BanditLewa, "choose", breaks=learners.actions_are_drawn_from_the_play, says=f"in {ROUNDS} rounds the actions were")
def takes_the_likeliest(self: BanditLewa, s: LewaState, u: float) -> tuple[int, float]:
    w, best = s.weights, 0
    for i in range(w.log.size):
        if w.value[i] > w.value[best]:
            best = i
    return best, (1 - self.gamma) * (w.value[best] / w.head[0]) + self.gamma / w.log.size


@fault(BanditLewa, "choose", breaks=learners.loop_and_single_steps_agree, says="the loop plays [")
def counts_its_exploration_twice(self: BanditLewa, s: LewaState, u: float) -> tuple[int, float]:
    i, p = draw(s.weights, self.gamma, u)
    return i, (1 - self.gamma) * p + self.gamma / s.weights.log.size


def breaks_its_law_and_no_other(name: str, laws: list[Law]) -> None:
    kind, law, says = FAULTY[name]
    broken = [result for result in learners.check(kind, laws) if result.sentence]
    assert {result.law for result in broken} == {law.__name__}
    assert says in broken[0].sentence


NEED_COMPILING = ["allocates", "raw_weights"]


@pytest.mark.parametrize("name", [name for name in FAULTY if name not in NEED_COMPILING])
def test_a_fault_breaks_its_law_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not HUNT:
        for rounds in ("FEWER", "DRAWS"):
            monkeypatch.setattr(sequences, rounds, ROUNDS)
        sequences.extremes.cache_clear()
    breaks_its_law_and_no_other(name, [*PLAIN, *LONG])


@pytest.mark.compiled
@pytest.mark.parametrize("name", NEED_COMPILING)
def test_a_fault_of_compiled_code_breaks_its_law_and_no_other(name: str) -> None:
    breaks_its_law_and_no_other(name, [*PLAIN, *LONG])


# What is not compiled can be broken in place.


def takes_anything(self: Ewa, actions: int) -> EwaState:
    return EwaState(ones(actions))


def promises_too_much(self: Ewa, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
    return (Guarantee(-1.0, (0.0,) * self.floor.size, PATHWISE, "hope"),)


def gives_no_reason(self: Ewa, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
    return (none("silence", ""),)


BESIDE_THE_RULE: list[tuple[str, Any, Law, str]] = [
    ("__doc__", "Nothing\nyet.", learners.one_line_says_what_it_is, "the docstring begins 'Nothing'"),
    ("examples", list, learners.examples_are_given, "Ewa.examples() is empty"),
    ("start", takes_anything, learners.wrong_parameters_are_refused, "start(0) is accepted; it must raise"),
    ("guarantees", promises_too_much, learners.guarantees_are_numbers_or_a_reason, "violation are bounded by [-1."),
    (
        "guarantees",
        gives_no_reason,
        learners.guarantees_are_numbers_or_a_reason,
        "a guarantee without a bound must have a reason",
    ),
]


@pytest.mark.parametrize(("name", "value", "law", "says"), BESIDE_THE_RULE)
def test_a_fault_beside_the_rule_breaks_its_law_and_no_other(
    name: str, value: Any, law: Law, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ewa, name, value)
    broken = [result for result in learners.check(Ewa, PLAIN) if result.sentence]
    assert {result.law for result in broken} == {law.__name__}
    assert says in broken[0].sentence


# Two laws are kept by the border for every learner, so it is the border that has to be broken.


def test_feedback_that_nobody_checks_breaks_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lewa.engine.check_feedback.in_unit", lambda name, values: np.asarray(values, dtype=np.float64))
    broken = [result.sentence for result in learners.check(Ewa, [learners.wrong_feedback_is_refused]) if result.sentence]
    assert broken[0] == "rewards = [nan nan nan] is accepted; it must raise ValueError"


def test_a_record_that_is_rounded_when_saved_breaks_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def fields(record: Any) -> Any:
        return record.parameters if hasattr(record, "parameters") else record._asdict()

    def rounded(record: Any) -> Any:
        return {name: rounded(x) if isinstance(x, tuple) else np.round(x, 6).tolist() for name, x in fields(record).items()}

    monkeypatch.setattr(learners, "dump", rounded)
    broken = [result for result in learners.check(Ewa, [learners.learner_and_state_survive_json]) if result.sentence]
    assert "is Ewa(eta=" in broken[0].sentence


def test_every_law_of_learners_is_broken_above() -> None:
    laws = {law for _, law, _ in FAULTY.values()} | {law for _, _, law, _ in BESIDE_THE_RULE}
    at_the_border = {learners.wrong_feedback_is_refused, learners.learner_and_state_survive_json}
    of_changes = {changes.a_new_action_keeps_its_share, changes.a_missing_action_returns_with_its_share}
    of_changes.add(changes.units_do_not_matter)  # see test_changes_bite.py
    assert laws | at_the_border | of_changes == {
        learners.examples_are_given,
        learners.rule_compiles,
        *learners.LAWS.values(),
    }


def test_a_learner_that_breaks_down_has_broken_the_law() -> None:
    def breaks_down(learner: Any, actions: int) -> None:
        raise ZeroDivisionError("division by zero")

    sentences = {result.sentence for result in learners.check(Ewa, [breaks_down])}
    assert sentences == {"", "it raised ZeroDivisionError: division by zero"}


def test_a_learner_may_name_another_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    law = learners.zero_floor_reduces_to_the_unconstrained_parent
    monkeypatch.setattr(steps_too_far, "parent", property(lambda self: Ewa(2 * self.eta, self.floor)), raising=False)
    assert [result.sentence for result in learners.check(steps_too_far, [law]) if result.sentence] == []


# Games


class TwoLines(Bernoulli):
    about = "a title\nand more"


class NoConstraints(Bernoulli):
    constraints = 0


class SaysItDoesNotLook(Table):
    reacts = True

    def reveal(self, t: int, p: Vector, key: object) -> tuple[Vector, Matrix]:
        return self.rewards[t], self.rows[t]


class PaysInCents(Table):
    def script(self, start: int, stop: int) -> Matrix:
        return 100 * self.rewards[start:stop]

    def block(self, key: Words, start: int, stop: int) -> Block:
        return Block(self.script(start, stop), self.rows[start:stop])


class Forgetful(Table):
    count = 0.0

    def block(self, key: Words, start: int, stop: int) -> Block:
        self.count += 1
        return Block(self.rewards[start:stop] / self.count, self.rows[start:stop])


class StartsAnew(Table):
    def block(self, key: Words, start: int, stop: int) -> Block:
        return super().block(key, 0, stop - start)


class Mistaken(Table):
    mean_constraints = np.array([[0.9, 0.1]])


class Flat(Table):
    mean_constraints = np.array([0.2, 0.9])


class SaysConstant(Table):
    mean_constraints = None
    setting = Setting(constraints="constant")


class OtherMeans(Bernoulli):
    def means(self) -> tuple[Vector, Matrix]:
        return self.rewards / 2, self.mean_constraints


class Boastful(Table):
    def mean_rewards(self, rounds: int) -> Vector:
        return np.ones(self.actions)


class StandsStill(Table):
    def variation(self, rounds: int) -> float:
        return 0.0


class Foresees(Table):
    late_feedback = True

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        return np.arange(start, stop) - 1


class Deserted(Table):
    missing_actions = True

    def available(self, key: Words, start: int, stop: int) -> Any:
        return np.zeros((stop - start, self.actions), dtype=bool)


class Overstates(Table):
    features = 3


REWARDS, CONSTRAINTS = [[1, 0], [0, 1], [0.5, 0.5]], [0.2, 0.9]
FAULTY_GAMES: list[tuple[Any, Law, str]] = [
    (TwoLines(), games.about_is_one_line, "it must be one line"),
    (
        SaysItDoesNotLook(REWARDS, CONSTRAINTS),
        games.setting_is_true_to_its_kind,
        "must declare itself adaptive, got oblivious",
    ),
    (PaysInCents(REWARDS, CONSTRAINTS), games.rounds_have_their_shape_and_range, "the rewards range from 0.0 to 100.0"),
    (Overstates(REWARDS, CONSTRAINTS, REWARDS), games.contexts_have_their_shape, "have the shape (3, 2); it must be (3, 3)"),
    (StartsAnew(REWARDS, CONSTRAINTS), games.block_boundaries_do_not_matter, "3 rounds in one block are"),
    (Mistaken([[1, 0]] * 200, CONSTRAINTS), games.mean_constraints_are_the_means, "200 rounds average to"),
    (
        Flat(REWARDS, CONSTRAINTS),
        games.mean_constraints_are_the_means,
        "mean_constraints has the shape (2,); it must be (1, 2)",
    ),
    (SaysConstant(REWARDS, REWARDS), games.constant_constraints_never_change, "must be the same in every round, got [[[1.0"),
    (OtherMeans(), games.means_draw_the_same_rounds, "drawn from the means they are"),
    (Boastful([[0, 0]] * 200, CONSTRAINTS), games.what_it_knows_of_rewards_is_true, "mean_rewards is [1. 1.]"),
    (StandsStill([[1, 0], [0, 1]], CONSTRAINTS), games.what_it_knows_of_rewards_is_true, "variation of 2 rounds is 1.0"),
    (Foresees(REWARDS, CONSTRAINTS), games.feedback_comes_after_its_round_or_never, "its own round, a later one, or -1"),
    (Deserted(REWARDS, CONSTRAINTS), games.some_action_is_always_there, "at least one must be"),
]


@pytest.mark.parametrize(("game", "law", "says"), FAULTY_GAMES, ids=[type(game).__name__ for game, _, _ in FAULTY_GAMES])
def test_a_faulty_game_breaks_its_law_and_no_other(game: Any, law: Law, says: str) -> None:
    broken = [result for result in games.check(game) if result.sentence]
    assert {result.law for result in broken} == {law.__name__}
    assert says in broken[0].sentence


def test_a_game_with_a_hidden_memory_breaks_its_law() -> None:  # and where its blocks begin matters too
    with pytest.raises(AssertionError, match="it must give the same rounds"):
        games.same_key_gives_same_rounds(Forgetful(REWARDS, CONSTRAINTS))


def test_a_game_without_constraints_breaks_its_law() -> None:  # and has no shape that another law could look at
    with pytest.raises(AssertionError, match="constraints is 0; it must be an integer of at least 1"):
        games.sizes_are_whole_and_positive(NoConstraints())


def test_every_law_of_games_is_broken_above() -> None:
    alone = {games.same_key_gives_same_rounds, games.sizes_are_whole_and_positive}
    assert {law for _, law, _ in FAULTY_GAMES} | alone == {*games.LAWS.values()}
