"""Run by .ci/wheel in an environment that holds the wheel and its core dependencies, nothing else."""

import importlib.util

for extra in ("typer", "rich", "pyarrow", "pytest"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is here, so this is no core environment"

import lewa  # noqa: E402

learner = lewa.learners.Lewa.tuned(actions=3, horizon=1000, floor=0.6)
trace = lewa.play(learner, lewa.games.Bernoulli(), rounds=1000, seeds=2)
assert lewa.violation(trace).shape == (2, 1)
assert lewa.measures.best_fixed_play([0.9, 0.5, 0.1], [[0.2, 0.8, 0.5], [0.9, 0.1, 0.5]], [0.4, 0.4]).feasible
print(f"lewa {lewa.__version__} works with its core dependencies alone")
