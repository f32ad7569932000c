"""Plain Python and compiled code run in one process, and nothing needs the compiler before something is compiled."""

import subprocess
import sys

import numpy as np
import pytest

from lewa import learners
from lewa.engine.compile import compile_learner, plain_learner
from lewa.engine.session import Session, dice_of

LIGHT = """
import sys
import lewa
assert not {"numba", "scipy", "numpy"} & set(sys.modules)
lewa.learners, lewa.games, lewa.checks
assert not {"numba", "scipy"} & set(sys.modules)
"""


def test_importing_the_package_imports_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["lewa", "bandit-lewa", "squarecb-lewa"])
def test_a_session_continues_with_compiled_steps(name: str) -> None:
    learner = learners.make(name, 3, 1000, 0.5)
    one, other = (Session(learner, 3, dice_of(1)) for _ in range(2))
    rng = np.random.default_rng(5)
    for t in range(200):
        one.steps = compile_learner(type(learner)) if t >= 100 else plain_learner(type(learner))
        other.steps = plain_learner(type(learner))
        rewards, constraints = rng.random(3), rng.random((1, 3))
        choices = [session.choose(t) for session in (one, other)]
        assert choices[0].action == choices[1].action
        assert choices[0].propensity == pytest.approx(choices[1].propensity, rel=1e-9)
        for session, choice in zip((one, other), choices, strict=True):
            session.learn(session.answer(choice, rewards, constraints))
    np.testing.assert_allclose(one.memory, other.memory, rtol=1e-9, atol=1e-12)
