"""Learners on games, small: nothing is NaN, and every measure is what plain NumPy makes of the rounds.

Each learner plays every tenth game, and each game meets every tenth learner; `make falsify` plays every pair. They run
as plain Python: `test_without_jit.py` shows of each learner that it plays alike compiled. Here one of each kind of feedback
is compiled, and plays every fifth game.
"""

import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.theorems.instances import HUNT

import lewa
from lewa.feedback import feedback_kind
from lewa.games import ALL, Bernoulli
from lewa.kernels import NATURE, keys, pack
from lewa.learners import settings_in_context

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

T = 40
TWISTED = ["switching+noise", "shortest-path+scale", "anti-leader+noise", "radio+delay", "experts+dropping"]
TWISTED += ["anti-leader+dropping+delay", "ads+delay+dropping"]
PARTS, TURNS, COMPILED_TURNS = 4, 1 if HUNT else 10, 1 if HUNT else 5


def played(name: str, title: str, rounds: int = T) -> Any:
    """A trace of every round; a floor that no play meets is no matter here."""
    floor = (0.7, 0.8, 0.9) if title.startswith("ads") else 0.5 if title.startswith("impossible") else 0.6
    game = lewa.games.make(title, floor, rounds)
    looks = settings_in_context(name, game.features, game.policies)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")
        learner = lewa.learners.make(name, game.actions, rounds, floor, **looks)
        return lewa.play(learner, game, rounds, seeds=[7], every_round=True)


def nature(trace: Any) -> tuple[Any, Any]:
    """The rounds it met, (T, K) and (T, m, K): laid out once more, or asked for with the plays that were made."""
    key, game = keys(7)[NATURE : NATURE + 1], deepcopy(trace.game)
    if not game.reacts:
        block = game.block(key, 0, trace.rounds)
        return block.rewards, block.constraints
    shown = [game.reveal(t, p, key) for t, p in enumerate(trace.plays[0])]
    shape = (trace.rounds, game.constraints, game.actions)
    return np.array([r for r, _ in shown]), np.array([c for _, c in shown]).reshape(shape)


def check(trace: Any) -> None:
    """Plays are distributions and actions are drawn from them; sums, regret and violation are those of the rounds."""
    (rewards, constraints), plays, actions, marks = nature(trace), trace.plays[0], trace.actions[0], trace.marks - 1
    floor, mean_constraints = trace.floor, trace.game.mean_constraints
    for array in (plays, trace.multipliers, trace.multiplier, trace.play, pack(*trace.states)):
        assert np.isfinite(array).all()
    assert plays.min() >= 0
    np.testing.assert_allclose(plays.sum(axis=1), 1, rtol=0, atol=1e-9)
    drew = np.eye(trace.game.actions)[actions]
    assert (plays[drew == 1] > 0).all()

    full = feedback_kind(type(trace.learner)) == "full"
    seen, by = plays if full else drew, plays if trace.measured_on == "play" else drew
    known = constraints if mean_constraints is None else np.broadcast_to(mean_constraints, constraints.shape)
    short = floor - (known * by[:, np.newaxis]).sum(axis=2)
    observed_shortfall = floor - (constraints * seen[:, np.newaxis]).sum(axis=2)
    earned = (rewards * seen).sum(axis=1)
    sums = {
        "reward": earned,
        "shortfall": short,
        "positive": np.maximum(short, 0),
        "observed_shortfall": observed_shortfall,
        "multiplier_sums": trace.multipliers[0],
    }
    if trace.reward_sums is not None:  # laid out in blocks, not drawn lazily
        sums |= {"reward_sums": rewards, "constraint_sums": constraints}
    for field, each in sums.items():
        want = np.cumsum(each, axis=0)[marks]
        np.testing.assert_allclose(getattr(trace, field)[0], want, rtol=0, atol=1e-8, err_msg=field)
    np.testing.assert_array_equal(trace.largest_multiplier[0, -1], trace.multipliers[0].max(axis=0))
    np.testing.assert_allclose(lewa.violation(trace)[0], np.maximum(short.sum(axis=0), 0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(lewa.positive_violation(trace)[0], np.maximum(short, 0).sum(axis=0), rtol=0, atol=1e-8)

    kept, K = known.mean(axis=0), trace.game.actions
    best = linprog(-rewards.mean(axis=0), A_ub=-kept, b_ub=-floor, A_eq=np.ones((1, K)), b_eq=[1.0], bounds=(0, 1))
    if best.status == 0:
        assert lewa.regret(trace)[0] == pytest.approx(-best.fun * len(earned) - earned.sum(), abs=1e-4)
    assert lewa.judge(trace).holds is not False


def failures(names: list[str], turns: int) -> list[str]:
    """What went wrong, with the learner and the game.

    Neighbours in the list of learners take turns, so that each game meets as many.
    """
    found = []
    for name in names:
        first = list(lewa.learners.ALL).index(name) % turns
        for title in (*ALL, *TWISTED)[first::turns]:
            try:
                check(played(name, title))
            except Exception as error:
                found.append(f"{name} on {title}: {type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_every_learner_on_its_games(part: int) -> None:
    assert failures(list(lewa.learners.ALL)[part::PARTS], TURNS) == []


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["lewa", "bandit-lewa"])
def test_a_compiled_learner_on_every_game(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bernoulli, "means", lambda self: None)  # laid out in blocks too: nothing more to compile
    assert failures([name], COMPILED_TURNS) == []
