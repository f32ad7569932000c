"""Every learner as plain Python and compiled: run as a script, this file plays the learners that it reads the names of.

So one process plays as plain Python while the other one compiles.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

HUNT = "LEWA_HUNT" in os.environ  # as in tests/theorems/instances.py, which this file, run as a script, does not import
ROUNDS = 60 if HUNT else 40
FIELDS = ("plays", "multipliers", "multiplier", "reward", "shortfall", "positive", "observed_shortfall", "actions")
# Coins are drawn lazily, by a loop of its own, which is compiled for a few, and for all in `make falsify`.
LAZY = ("lewa", "bandit-lewa", "hp-bandit-lewa", "exp3", "paced-linucb")
# With the radii that are proved no multiplier would move in so few rounds; these are played too.
NARROW = {"radius": 0.1, "level": 0.001}
# Learners that run another one inside. They play 60 rounds of two seeds, so that several epochs end.
WRAPPED = ("lewa+doubling", "bandit-lewa+doubling", "lewa+tightened")
COARSE = dict.fromkeys(("ucb-lp", "thompson-lp"), 1e-8)  # linear programs, in numbers of the size 10^7


def happened(name: str) -> dict[str, Any]:
    traces, kind = {}, lewa.learners.find(name)
    many = 700 if hasattr(kind, "choose") else 40  # those that draw by themselves draw from a tree then
    for n, (learner, K) in enumerate([*kind.examples(), (kind.tuned(many, ROUNDS, 0.5), many)]):
        m, rng = np.size(learner.floor), np.random.default_rng(n)
        rounds = 60 if name in WRAPPED else ROUNDS if HUNT or many > K else ROUNDS // 2
        radii = {field: x for field, x in NARROW.items() if field in learner.parameters}
        players = {"proved": learner, **({"narrow": learner.replace(**radii)} if radii else {})}
        means = np.column_stack([np.full(m, 0.7), rng.random((m, K - 1))])  # the first action meets every floor
        coins = lewa.games.Bernoulli(rewards=rng.random(K), constraints=means)
        table = lewa.games.Table(rewards=rng.random((rounds, K)), constraints=np.sqrt(rng.random((rounds, K, m))))
        for radius, who in players.items():
            for game in (coins, table) if name in LAZY or HUNT else (table,):
                trace = lewa.play(who, game, rounds=rounds, seeds=2 if name in WRAPPED else 1, every_round=True)
                for field in FIELDS:
                    traces[f"{name} {n} {radius} {type(game).__name__} {field}"] = getattr(trace, field)
    return traces


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A process that plays as plain Python: it reads the name of a file and writes the file."""
    environment, pipe = os.environ | {"NUMBA_DISABLE_JIT": "1"}, subprocess.PIPE
    with subprocess.Popen([sys.executable, __file__], env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        yield process, tmp_path_factory.mktemp("without_jit")
        process.communicate()


@pytest.mark.parametrize("name", [*lewa.learners.ALL, *WRAPPED])
def test_a_learner_plays_the_same_compiled_and_as_plain_python(plain: Any, name: str) -> None:
    process, folder = plain
    print(folder / f"{name}.npz", file=process.stdin, flush=True)
    compiled = happened(name)
    assert process.stdout.readline() == f"{name}\n"
    with np.load(folder / f"{name}.npz") as file:
        expected = dict(file)
    assert compiled.keys() == expected.keys()
    for key, values in compiled.items():
        if key.endswith("actions"):
            np.testing.assert_array_equal(expected[key], values, err_msg=key)
        else:
            np.testing.assert_allclose(expected[key], values, rtol=0, atol=COARSE.get(name, 1e-12), err_msg=key)


if __name__ == "__main__":
    for line in sys.stdin:
        path = Path(line.strip())
        np.savez(path, **happened(path.stem))
        print(path.stem, flush=True)
