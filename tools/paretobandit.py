"""`squarecb-lewa` beside the published contextual router, on the prompts of its own wheel: the same features and budgets.

    make router        writes the table at the end of docs/contexts.md

It makes build/paretobandit, an environment with the package `paretobandit`. The prompts stay there.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import lewa
from lewa.context import as_context
from lewa.types import Matrix

ROOT = Path(__file__).parent.parent
HOME, PAGE = ROOT / "build" / "paretobandit", ROOT / "docs" / "contexts.md"
BUDGETS = (2.93e-5, 8.29e-5, 2.35e-4, 6.64e-4, 1.88e-3, 5.31e-3, 1.5e-2)
EXPECTED = (2.9e-5, 5e-4, 1e-2)  # dollars a request, by the price lists
SEEDS, HEAD = 5, "## Beside the published router"


def read(name: str, arms: list[str]) -> tuple[list[str], Matrix, Matrix]:
    """Return the prompts of a part, and rewards and costs (n, K)."""
    (file,) = HOME.glob(f"lib/python3*/site-packages/pareto_bandit/data/examples/{name}.jsonl")
    rows = [json.loads(line) for line in file.read_text().strip().split("\n")]
    rewards, costs = ([[row["arms"][arm][field] for arm in arms] for row in rows] for field in ("reward", "cost"))
    return [row["prompt"] for row in rows], np.array(rewards), np.array(costs)


def orders(first: int, second: int) -> Any:
    """Return the orders: the first part shuffled, then the second."""
    dice = [np.random.default_rng(seed) for seed in range(SEEDS)]
    return np.array([np.append(rng.permutation(first), first + rng.permutation(second)) for rng in dice])


def ours(features: Matrix, rewards: Matrix, costs: Matrix, budget: float, order: Any, seed: int) -> Any:
    """Return the actions that squarecb-lewa draws in this order."""
    top = float(costs.max())
    table = lewa.games.Table(rewards[order], 1 - costs[order] / top, features[order])
    expected = [[1 - cost / top for cost in EXPECTED]]
    floor, n = 1 - budget / top, len(order)
    learner = lewa.learners.SquareCbLewa.tuned(3, n, floor, means=expected, features=features.shape[1])
    actions = lewa.play(learner, table, rounds=n, seeds=[seed], every_round=True).actions
    assert actions is not None
    return actions[0]


def main() -> None:
    """Run both, and write the table."""
    arms = ["meta-llama/llama-3.1-8b-instruct", "mistralai/mistral-large-2512", "google/gemini-2.5-pro"]
    parts = [read(name, arms) for name in ("val", "test_holdout")]
    prompts = [prompt for part in parts for prompt in part[0]]
    rewards, costs = (np.concatenate([part[n] for part in parts]) for n in (1, 2))
    context = as_context([lewa.text("prompt", 32), lewa.number("length", (0, 2000))])
    features = context.encode_rows({"prompt": prompts, "length": [len(prompt) for prompt in prompts]})
    ways, first = orders(len(parts[0][0]), len(parts[1][0])), len(parts[0][0])
    problem, result = HOME / "problem.npz", HOME / "result.json"
    np.savez(problem, features=features, rewards=rewards, costs=costs, orders=ways, budgets=np.array(BUDGETS))
    side = [str(HOME / "bin" / "python"), str(ROOT / "tools" / "paretobandit_side.py"), str(problem), str(result)]
    subprocess.run(side, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs = json.loads(result.read_text())
    lines = []
    for budget, runs in zip(BUDGETS, theirs, strict=True):
        mine = [ours(features, rewards, costs, budget, order, seed) for seed, order in enumerate(ways)]
        cells = []
        for drawn in (mine, runs):
            pairs = [(order[first:], np.asarray(actions)[first:]) for order, actions in zip(ways, drawn, strict=True)]
            reward = np.mean([rewards[order, actions].mean() for order, actions in pairs])
            spent = np.mean([costs[order, actions].mean() for order, actions in pairs]) / budget
            cells.append(f"{reward:.4f} | {spent:.2f}")
        lines.append(f"| {budget:.3g} | {' | '.join(cells)} |")
    d = features.shape[1]
    text = [
        HEAD,
        "",
        "Written by `make router`. This compares `squarecb-lewa` with the package `paretobandit` (LinUCB",
        f"with a dual pacer), which runs in a separate environment, on the {len(prompts):,} prompts of its wheel. Both",
        "learn on the `val` part and continue on `test_holdout`, on which the figures are measured; they are means over",
        f"{SEEDS} orders. Both see the same {d} features: the hashed prompt and its length. The router runs in its adaptive",
        "mode, as in its demonstration, but without its own embeddings and its offline training, which need other models.",
        "`used` is the share of the budget that was spent.",
        "",
        "| dollars per request | squarecb-lewa | used | paretobandit | used |",
        "|---|---|---|---|---|",
        *lines,
    ]
    page = PAGE.read_text().split(f"\n{HEAD}")[0].rstrip("\n")
    PAGE.write_text(page + "\n\n" + "\n".join(text) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
