"""A short run is played by plain Python, at once; whether it is depends on the run alone."""

import os
import subprocess
import sys

import pytest

import lewa
from lewa.simulate import seed_run
from lewa.simulate.seed_run import SHORT

LIGHT = """
import sys
import lewa
from lewa.simulate.seed_run import SHORT
for game in lewa.games.ALL:
    lewa.play("lewa", game, rounds=50, floor=0.5)
lewa.play("bandit-lewa", "bernoulli", rounds=SHORT, seeds=2, floor=0.5)
print(sorted({"numba", "scipy", "pandas", "matplotlib"} & set(sys.modules)))
"""


def test_short_runs_of_all_games_import_no_compiler() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("NUMBA_DISABLE_JIT", "LEWA_COMPILE")}
    done = subprocess.run([sys.executable, "-W", "error", "-c", LIGHT], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.compiled
def test_a_short_run_is_the_same_before_and_after_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_run, "WAY", "background")

    def short() -> lewa.measures.Trace:
        return lewa.play("lewa", "radio", rounds=SHORT, floor=0.9, seeds=[4], every_round=True)

    before = short()
    long = lewa.play("lewa", "radio", rounds=2 * SHORT, floor=0.9, seeds=[4], every_round=True)
    after = short()
    assert before.plays is not None
    assert after.plays is not None
    assert long.plays is not None
    assert before.plays.tobytes() == after.plays.tobytes()
    assert before.reward.tobytes() == after.reward.tobytes()
    assert abs(long.plays[:, :100] - before.plays[:, :100]).max() < 0.1  # another tuning, the same rounds
