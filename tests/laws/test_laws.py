"""Every learner and every game of ours obeys every law."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa.checks import games, learners, sequences

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

# Each twist around numbers that stand still, a game that reacts and several constraints; and twists around twists.
TWISTED = [f"{name}+{twist}" for name in ("slater", "anti-leader") for twist in lewa.games.TWISTS]
TWISTED += ["corrupted+scale+noise", "impossible+dropping+dropping", "penalty-breaker+dropping+delay", "radio+delay+delay"]

GAMES: dict[str, Any] = {
    **{name: kind() for name, kind in lewa.games.ALL.items()},
    "table": lewa.games.Table([[1, 0], [0, 1], [0.5, 0.5]], [[0.2, 0.9], [0.4, 0.1], [0, 1]]),
    "constant table": lewa.games.Table([[1, 0], [0, 1], [0.5, 0.5]], [0.2, 0.9]),
    "short table": lewa.games.Table([[1, 0]], np.ones((1, 2, 3))),
    "corrupted, without noise": lewa.games.Corrupted(noisy=False, every=3),
    "lost and late": lewa.games.Delay(lewa.games.Radio(), delay=3, random=True, lost=0.3),
    **{name: lewa.games.make(name, 0.6, 1000) for name in TWISTED},
    **{f"ads+{name}": twist(lewa.games.Ads()) for name, twist in lewa.games.TWISTS.items()},
}


# These take many rounds (10,000 here, 100,000 in `make falsify`), or 1,000 draws, which are played compiled; all others are
# said of plain Python.
LONG = [
    *(learners.extreme_rounds_leave_no_nan, learners.multiplier_stays_between_zero_and_its_cap),
    learners.actions_are_drawn_from_the_play,
]
PLAIN = [law for law in learners.LAWS.values() if law not in LONG]
# These project or solve a program in every round: 2,000 rounds here, all of them in `make falsify`.
LONG_ROUNDS = [
    *(
        "op-ewa",
        "bandit-op-ewa",
        "anytime-op-ewa",
        "explore-then-project",
        "bandit-explore-then-project",
        "bandit-epoch-project",
    ),
    *("safe-mixing", "bandit-safe-mixing", "ucb-lp", "thompson-lp", "paced-hedge"),
    *("squarecb-lewa", "proved-squarecb-lewa", "anytime-proved-squarecb-lewa", "exp4-lewa", "exp4-lewa-ix"),
    "paced-linucb",
]
# Each kind of feedback, and what the single steps of some learners do besides: contexts, charges, programs, projections.
# The loop of every learner is compiled, here and in engine/test_without_jit.py; the single steps of all in `make falsify`.
STEPS = ["lewa", "bandit-lewa", "hp-bandit-lewa", "op-ewa", "exp4-lewa", "squarecb-lewa", "kube@fractional", "thompson-lp"]


def put_to(laws: list[Any], kind: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Test a class of learners: the laws look at 13 rounds, and leave out the first example where another is like it.

    In `make falsify`, `lewa check` and test_laws_bite they look at all 30 and at every example. After 12 rounds an epoch of
    doubling would end, and the order of two answers would change its length.
    """
    if not HUNT:
        monkeypatch.setattr(sequences, "FEW", 13)
        sequences.steps.cache_clear()
        first, *others = kind.examples()
        if any(actions > 1 and learner.floor.size == first[0].floor.size for learner, actions in others):
            monkeypatch.setattr(kind, "examples", lambda: others)
    return learners.check(kind, laws)


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_learner(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = put_to(PLAIN, lewa.learners.ALL[name], monkeypatch)
    assert len({result.law for result in results}) == 3 + len(PLAIN)
    assert [result for result in results if result.sentence] == []


@pytest.mark.compiled
@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_many_rounds_of_a_learner(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not HUNT:
        monkeypatch.setattr(sequences, "MANY", 2_000 if name in LONG_ROUNDS else 10_000)
    for learner, actions in lewa.learners.ALL[name].examples():
        for law in LONG:
            law(learner, actions)


@pytest.mark.compiled
@pytest.mark.parametrize("name", lewa.learners.ALL if HUNT else STEPS)
def test_compiled_steps(name: str) -> None:
    results = learners.check(lewa.learners.ALL[name], [learners.loop_and_single_steps_agree])
    first = {"examples_are_given", "arrays_have_roles", "rule_compiles"}
    assert {result.law for result in results} == first | {"loop_and_single_steps_agree"}
    assert [result for result in results if result.sentence] == []


@pytest.mark.parametrize("name", GAMES)
def test_game(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not HUNT:
        monkeypatch.setattr(games, "MANY", 1000)
    results = games.check(GAMES[name])
    assert {result.law for result in results} == {*games.LAWS}
    assert [result for result in results if result.sentence] == []


@pytest.mark.compiled
def test_check_puts_a_learner_to_every_law() -> None:
    names = {result.law for result in lewa.checks.check(lewa.learners.Ewa)}
    assert names == {"examples_are_given", "arrays_have_roles", "rule_compiles", *learners.LAWS}


def test_check_takes_learners_and_games_and_nothing_else() -> None:
    assert {result.law for result in lewa.checks.check(lewa.games.Bernoulli)} == {*games.LAWS}
    with pytest.raises(
        ValueError, match=r"the subject must be a learner, which has `learn`, or a subclass of lewa.games.Game"
    ):
        lewa.checks.check(dict)
    with pytest.raises(ValueError, match="needs arguments"):
        lewa.checks.check(lewa.games.Table)
