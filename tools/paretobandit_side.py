"""The published router on given features: run by `tools.paretobandit` in an environment of its own, which has no lewa.

    build/paretobandit/bin/python tools/paretobandit_side.py PROBLEM.npz RESULT.json

The file has features (n, d), the constant last, where the package has its bias; rewards and costs (n, K); orders (seeds, n);
and budgets. The result is, for each budget and seed, the actions drawn in that order. The router starts without priors, with
the settings that its authors found best for such a start, `BEST_K3_TABULA_RASA_HPARAMS`; the pacer is theirs as it is.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def actions_of(problem: Any, budget: float, order: Any, seed: int) -> list[int]:
    """Return the actions that the router draws in this order."""
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


if __name__ == "__main__":
    problem_file, result_file = sys.argv[1:]
    data = np.load(problem_file)
    result = [[actions_of(data, b, order, s) for s, order in enumerate(data["orders"])] for b in data["budgets"].tolist()]
    Path(result_file).write_text(json.dumps(result))
