"""`squarecb-lewa` beside the published contextual router, on the prompts of its own wheel: the same features and budgets.

    make router        writes the table at the end of docs/contexts.md

It makes build/paretobandit, an environment with the package `paretobandit` and without lewa, in which this file runs the
router: `python tools/router.py PROBLEM.npz RESULT.json`. The prompts stay there.
"""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from lewa.types import Matrix

ROOT = Path(__file__).parent.parent
HOME, PAGE = ROOT / "build" / "paretobandit", ROOT / "docs" / "contexts.md"
BUDGETS = (2.93e-5, 8.29e-5, 2.35e-4, 6.64e-4, 1.88e-3, 5.31e-3, 1.5e-2)
EXPECTED = (2.9e-5, 5e-4, 1e-2)  # dollars a request, by the price lists
MOST_USED = 1.01  # of the budget: the goal
REPAY, SOON = 1000.0, 250.0  # rounds in which debt is paid back: the default, and what suits few requests
SEEDS, HEAD = 20, "## Beside the published router"


def read(name: str, arms: list[str]) -> "tuple[list[str], Matrix, Matrix]":
    """Return the prompts of a part, and rewards and costs (n, K)."""
    (file,) = HOME.glob(f"lib/python3*/site-packages/pareto_bandit/data/examples/{name}.jsonl")
    rows = [json.loads(line) for line in file.read_text().strip().split("\n")]
    rewards, costs = ([[row["arms"][arm][field] for arm in arms] for row in rows] for field in ("reward", "cost"))
    return [row["prompt"] for row in rows], np.array(rewards), np.array(costs)


def orders(first: int, second: int) -> Any:
    """Return the orders: the first part shuffled, then the second."""
    dice = [np.random.default_rng(seed) for seed in range(SEEDS)]
    return np.array([np.append(rng.permutation(first), first + rng.permutation(second)) for rng in dice])


def ours(features: "Matrix", rewards: "Matrix", costs: "Matrix", budget: float, order: Any, seed: int, repay: float) -> Any:
    """Return the actions that squarecb-lewa draws in this order, if it pays its debt back in so many rounds."""
    import lewa

    top = float(costs.max())
    table = lewa.games.Table(rewards[order], 1 - costs[order] / top, features[order])
    expected = [[1 - cost / top for cost in EXPECTED]]
    floor, n = 1 - budget / top, len(order)
    learner = lewa.learners.SquareCbLewa.tuned(3, n, floor, means=expected, features=features.shape[1])
    learner = learner.replace(repay=repay)
    actions = lewa.play(learner, table, rounds=n, seeds=[seed], every_round=True).actions
    assert actions is not None
    return actions[0]


def actions_of(problem: Any, budget: float, order: Any, seed: int) -> list[int]:
    """Return the actions that the router draws in this order.

    The problem has features (n, d), the constant last, where the package has its bias; rewards and costs (n, K). The router
    starts without priors, with the settings that its authors found best for such a start, `BEST_K3_TABULA_RASA_HPARAMS`;
    the pacer is theirs as it is.
    """
    router_module, pacer = import_module("pareto_bandit.router"), import_module("pareto_bandit.budget_pacer")
    demo, cold = import_module("pareto_bandit.demo"), import_module("pareto_bandit.config").BEST_K3_TABULA_RASA_HPARAMS
    service = import_module("pareto_bandit.feature_service").FeatureService
    features, rewards, costs = problem["features"], problem["rewards"], problem["costs"]
    router = router_module.BanditRouter.create(
        model_registry=dict(demo.MODEL_REGISTRY),
        feature_service=service.for_precomputed(features.shape[1]),
        context_store=demo.EphemeralContextStore(),
        priors="none",
        alpha=cold["alpha"],
        forgetting_factor=cold["forgetting_factor"],
        cost_penalty=0.0,
        budget_pacer=pacer.BudgetPacer(target_avg_spend_usd=budget, mode=pacer.PacingMode.ADAPTIVE),
        bandit_seed=seed,
    )
    names, drawn = list(demo.ARM_ORDER), []
    for row in order:
        model, log = router.route(features[row])
        k = names.index(model)
        log.cost_usd = float(costs[row, k])
        router.process_feedback(log.request_id, reward=float(rewards[row, k]))
        drawn.append(k)
    return drawn


def run_router(problem: str, result: str) -> None:
    """Write the actions of the router, for each budget and seed; `orders` of the problem are (seeds, n)."""
    data = np.load(problem)
    actions = [[actions_of(data, b, order, s) for s, order in enumerate(data["orders"])] for b in data["budgets"].tolist()]
    Path(result).write_text(json.dumps(actions))


class Row(NamedTuple):
    """A row of the table."""

    budget: float
    reward: float
    used: float
    soon_reward: float
    soon_used: float
    their_reward: float
    their_used: float


def goals(rows: list[Row]) -> list[str]:
    """Return what was aimed at and where it is missed, by the figures as they are printed."""
    behind = [row for row in rows if round(row.reward, 4) < round(row.their_reward, 4)]
    over = [row for row in rows if round(row.used, 2) > MOST_USED]
    soon = [row for row in rows if round(row.soon_used, 2) > MOST_USED]
    return [
        "- Goal: at least the reward of the router at every budget. " + _missed(behind, "{row.reward:.4f}"),
        f"- Goal: at most {MOST_USED:.0%} of the budget spent. " + _missed(over, "{row.used:.2f}"),
        f"- The same with `repay={SOON:g}`. " + _missed(soon, "{row.soon_used:.2f}"),
    ]


def _missed(rows: list[Row], figure: str) -> str:
    if not rows:
        return "Met at all of them."
    return "Missed at " + ", ".join(f"{row.budget:.3g} ({figure.format(row=row)})" for row in rows) + "."


def main() -> None:
    """Run both, and write the table."""
    import lewa
    from lewa.context import as_context

    arms = ["meta-llama/llama-3.1-8b-instruct", "mistralai/mistral-large-2512", "google/gemini-2.5-pro"]
    parts = [read(name, arms) for name in ("val", "test_holdout")]
    prompts = [prompt for part in parts for prompt in part[0]]
    rewards, costs = (np.concatenate([part[n] for part in parts]) for n in (1, 2))
    context = as_context([lewa.text("prompt", 32), lewa.number("length", (0, 2000))])
    features = context.encode_rows({"prompt": prompts, "length": [len(prompt) for prompt in prompts]})
    ways, first = orders(len(parts[0][0]), len(parts[1][0])), len(parts[0][0])
    problem, result = HOME / "problem.npz", HOME / "result.json"
    constant_last = np.roll(features, -1, axis=1)
    np.savez(problem, features=constant_last, rewards=rewards, costs=costs, orders=ways, budgets=np.array(BUDGETS))
    side = [str(HOME / "bin" / "python"), str(Path(__file__).resolve()), str(problem), str(result)]
    subprocess.run(side, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs = json.loads(result.read_text())
    lines, found = [], []
    for budget, runs in zip(BUDGETS, theirs, strict=True):
        mine, soon = (
            [ours(features, rewards, costs, budget, order, seed, repay) for seed, order in enumerate(ways)]
            for repay in (REPAY, SOON)
        )
        cells: list[float] = []
        for drawn in (mine, soon, runs):
            pairs = [(order[first:], np.asarray(actions)[first:]) for order, actions in zip(ways, drawn, strict=True)]
            reward = np.mean([rewards[order, actions].mean() for order, actions in pairs])
            spent = np.mean([costs[order, actions].mean() for order, actions in pairs]) / budget
            cells += [float(reward), float(spent)]
        found.append(Row(budget, *cells))
        pairs_of_cells = (f"{reward:.4f} | {spent:.2f}" for reward, spent in zip(cells[::2], cells[1::2], strict=True))
        lines.append(f"| {budget:.3g} | {' | '.join(pairs_of_cells)} |")
    d = features.shape[1]
    text = [
        HEAD,
        "",
        "Written by `make router`. This compares `squarecb-lewa` with the package `paretobandit` (LinUCB",
        f"with a dual pacer), which runs in a separate environment, on the {len(prompts):,} prompts of its wheel. Both",
        "learn on the `val` part and continue on `test_holdout`, on which the figures are measured; they are means over",
        f"{SEEDS} orders. Both see the same {d} features: the hashed prompt and its length. The router starts cold",
        '(`priors="none"`), with the settings that its authors found best for such a start (`BEST_K3_TABULA_RASA_HPARAMS`',
        "of its wheel: alpha 0.05, forgetting 0.997), and its pacer is in adaptive mode. Its demonstration is not run: it",
        "starts from priors of an offline training, on embeddings by a language model, which need other models.",
        "`used` is the share of the budget that was spent on these prompts. What is spent beyond the budget is the debt at",
        "the end. Debt is paid back in 1,000 requests, of which there are 3,609. One call of the expensive model costs",
        f"up to 500 budgets. With `repay={SOON:g}` (`LearnerOptions(settings={{'repay': {SOON:g}}})`) debt "
        "is paid back sooner.",
        "",
        f"| dollars per request | squarecb-lewa | used | with repay={SOON:g} | used | paretobandit | used |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        *goals(found),
    ]
    page = PAGE.read_text().split(f"\n{HEAD}")[0].rstrip("\n")
    PAGE.write_text(page + "\n\n" + "\n".join(text) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    run_router(*sys.argv[1:]) if sys.argv[1:] else main()
