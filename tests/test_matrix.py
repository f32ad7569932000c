"""Every learner on every game, small: nothing is NaN, and every measure is what plain NumPy makes of the rounds.

Compiling a learner takes longer than all its games, and is done once: so there is one test for each learner. Those twists
whose rounds are played one by one would need more compiled; they are played as plain Python, by this file as a script.
"""

import os
import subprocess
import sys
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import lewa
from lewa.games import ALL, Bernoulli
from lewa.kernels import NATURE, keys, pack
from lewa.rounds import feedback

T = 200
BLOCKS = [*ALL, "switching+noise", "shortest-path+scale", "anti-leader+noise"]
ONE_BY_ONE = ["radio+delay", "experts+dropping", "anti-leader+dropping+delay", "ads+delay+dropping"]


def played(name: str, title: str, rounds: int = T) -> Any:
    """A trace of every round; a floor that no play meets is no matter here."""
    floor = (0.7, 0.8, 0.9) if title.startswith("ads") else 0.5 if title.startswith("impossible") else 0.6
    game = lewa.games.make(title, floor, rounds)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")
        return lewa.play(lewa.learners.make(name, game.actions, rounds, floor), game, rounds, seeds=[7], every_round=True)


def nature(trace: Any) -> tuple[Any, Any]:
    """The rounds it met, (T, K) and (T, m, K): laid out once more, or asked for with the plays that were made."""
    key, game = keys(7)[NATURE : NATURE + 1], deepcopy(trace.game)
    if not hasattr(game, "reveal"):
        return game.block(key, 0, trace.rounds)  # type: ignore[no-any-return]
    shown = [game.reveal(t, p, key) for t, p in enumerate(trace.plays[0])]
    shape = (trace.rounds, game.constraints, game.actions)
    return np.array([r for r, _ in shown]), np.array([c for _, c in shown]).reshape(shape)


def check(trace: Any) -> None:
    """Plays are distributions and actions are drawn from them; sums, regret and violation are those of the rounds."""
    (rewards, constraints), plays, actions, marks = nature(trace), trace.plays[0], trace.actions[0], trace.marks - 1
    floor, truth = trace.floor, trace.game.truth
    for array in (plays, trace.multipliers, trace.multiplier, trace.play, trace.earnings, trace.kept, pack(*trace.states)):
        assert np.isfinite(array).all()
    assert plays.min() >= 0
    np.testing.assert_allclose(plays.sum(axis=1), 1, rtol=0, atol=1e-9)
    drew = np.eye(trace.game.actions)[actions]
    assert (plays[drew == 1] > 0).all()

    full = feedback(type(trace.learner)) == "full"
    seen, by = plays if full else drew, plays if trace.measured_on == "play" else drew
    known = constraints if truth is None else np.broadcast_to(truth, constraints.shape)
    short = floor - (known * by[:, np.newaxis]).sum(axis=2)
    revealed = floor - (constraints * seen[:, np.newaxis]).sum(axis=2)
    earned = (rewards * seen).sum(axis=1)
    sums = {
        "reward": earned,
        "shortfall": short,
        "positive": np.maximum(short, 0),
        "revealed": revealed,
        "priced": trace.multipliers[0],
        "earnings": rewards,
        "kept": constraints,
    }
    for field, each in sums.items():
        want = np.cumsum(each, axis=0)[marks]
        np.testing.assert_allclose(getattr(trace, field)[0], want, rtol=0, atol=1e-8, err_msg=field)
    np.testing.assert_array_equal(trace.largest[0, -1], trace.multipliers[0].max(axis=0))
    np.testing.assert_allclose(lewa.violation(trace)[0], np.maximum(short.sum(axis=0), 0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(lewa.positive_violation(trace)[0], np.maximum(short, 0).sum(axis=0), rtol=0, atol=1e-8)

    kept, K = known.mean(axis=0), trace.game.actions
    best = linprog(-rewards.mean(axis=0), A_ub=-kept, b_ub=-floor, A_eq=np.ones((1, K)), b_eq=[1.0], bounds=(0, 1))
    if best.status == 0:
        assert lewa.regret(trace)[0] == pytest.approx(-best.fun * len(earned) - earned.sum(), abs=1e-4)
    assert lewa.judge(trace).holds is not False


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_a_learner_on_every_game(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bernoulli, "means", lambda self: None)  # laid out in blocks too: nothing more to compile
    for title in BLOCKS:
        check(played(name, title))


def test_every_learner_where_feedback_is_late_or_actions_are_missing() -> None:
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    for learner in lewa.learners.ALL:
        for twisted in ONE_BY_ONE:
            check(played(learner, twisted, rounds=60))
