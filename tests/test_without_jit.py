"""Every learner as plain Python and compiled: run as a script, this file plays them all and saves what happened."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa

FIELDS = ("plays", "multipliers", "multiplier", "reward", "shortfall", "positive", "observed_shortfall", "actions")
# With the radii that are proved no multiplier would move in so few rounds; these are played too.
NARROW = {"radius": 0.1, "level": 0.001}
COARSE = dict.fromkeys(("forecast-lp", "ucb-lp", "thompson-lp"), 1e-8)  # linear programs, in numbers of the size 10^7


def happened(names: list[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        kind = lewa.learners.ALL[name]
        many = 700 if hasattr(kind, "choose") else 40  # those that draw by themselves draw from a tree then
        for n, (learner, K) in enumerate([*kind.examples(), (kind.tuned(many, 150, 0.5), many)]):
            m, rng = np.size(learner.floor), np.random.default_rng(n)
            radii = {field: x for field, x in NARROW.items() if field in learner.parameters}
            players = {"proved": learner, **({"narrow": learner.replace(**radii)} if radii else {})}
            means = np.column_stack([np.full(m, 0.7), rng.random((m, K - 1))])  # the first action meets every floor
            coins = lewa.games.Bernoulli(rewards=rng.random(K), constraints=means)
            table = lewa.games.Table(rewards=rng.random((150, K)), constraints=np.sqrt(rng.random((150, K, m))))
            for radius, who in players.items():
                for game in (coins, table):
                    trace = lewa.play(who, game, rounds=150, seeds=2, every_round=True)
                    for field in FIELDS:
                        found[f"{name} {n} {radius} {type(game).__name__} {field}"] = getattr(trace, field)
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("without_jit") / "plain.npz"
    subprocess.run([sys.executable, __file__, str(file)], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True)
    with np.load(file) as found:
        return dict(found)


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_a_learner_plays_the_same_compiled_and_as_plain_python(plain: Any, name: str) -> None:
    for key, values in happened([name]).items():
        if key.endswith("actions"):
            np.testing.assert_array_equal(plain[key], values, err_msg=key)
        else:
            np.testing.assert_allclose(plain[key], values, rtol=0, atol=COARSE.get(name, 1e-12), err_msg=key)


if __name__ == "__main__":
    np.savez(Path(sys.argv[1]), **happened(list(lewa.learners.ALL)))
