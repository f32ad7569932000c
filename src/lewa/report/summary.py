"""What a play or a replay comes to, as the plain numbers that `--json` prints and the tables show."""

from typing import Any

import numpy as np

from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace
from lewa.theory.guarantees import none


def summary(traces: dict[str, Trace]) -> dict[str, Any]:
    """Learners that played the same game, rounds, seeds and floor: regret and violation side by side, never apart."""
    first = next(iter(traces.values()))
    best = hindsight(first)
    return {
        "rounds": first.rounds,
        "actions": first.game.actions,
        "seeds": len(first.seeds),
        "floor": first.floor.tolist(),
        "hindsight": {
            "value": float(np.mean([h.value for h in best])),
            "play": np.mean([h.play for h in best], axis=0).tolist(),
            "price": np.mean([h.price for h in best], axis=0).tolist(),
            "feasible": all(h.feasible for h in best),
        },
        "learners": {name: _learner(trace) for name, trace in traces.items()},
    }


def _learner(trace: Trace) -> dict[str, Any]:
    verdict = judge(trace)
    return {
        "reward": spread(trace.reward[:, -1]),
        "regret": spread(regret(trace)),
        "violation": spread(violation(trace)),
        "positive_violation": spread(positive_violation(trace)),
        "multiplier": trace.multiplier[:, -1].mean(axis=0).tolist(),
        "measured_on": trace.measured_on,
        "guarantee": {**promise(verdict.guarantee), "holds": verdict.holds},
    }


def promise(guarantee: Any) -> dict[str, Any]:
    """A guarantee as plain numbers; what is not proved is None, with the reason."""
    return {
        "regret": guarantee.regret,
        "violation": None if guarantee.violation is None else list(guarantee.violation),
        "positive_violation": None if guarantee.positive_violation is None else list(guarantee.positive_violation),
        "kind": guarantee.kind,
        "epsilon": guarantee.epsilon,
        "source": guarantee.source,
        "assumptions": list(guarantee.assumptions),
        "reason": guarantee.reason,
    }


def spread(per_seed: Any) -> dict[str, Any]:
    """Mean and largest over seeds, and every seed; of a matrix (seeds, m) a list over constraints each."""
    values = np.asarray(per_seed)
    return {"mean": values.mean(axis=0).tolist(), "max": values.max(axis=0).tolist(), "per_seed": values.tolist()}


def summary_of_log(replays: dict[str, Any], log: Any, floor: Any) -> dict[str, Any]:
    """The same for a bandit log, which does not show what other actions would have earned: no hindsight, no regret.

    Learners are compared over the same number of rounds, the fewest that counted for any of them.
    """
    reason = "a log shows one action a row; nothing is proved of a learner replayed on it"
    nothing = {"holds": None, **promise(none("bandit log", reason))}
    rounds = min(run.rounds for run in replays.values())
    learners = {}
    for name, run in replays.items():
        short = run.shortfall[:, :rounds]
        learners[name] = {
            "reward": spread(run.reward[:, :rounds].sum(axis=1)),
            "regret": None,
            "violation": spread(np.maximum(short.sum(axis=1), 0)),
            "positive_violation": spread(np.maximum(short, 0).sum(axis=1)),
            "multiplier": run.multiplier[:, rounds - 1].mean(axis=0).tolist(),
            "measured_on": "action",
            "guarantee": nothing,
        }
    return {
        "rounds": rounds,
        "actions": log.actions,
        "seeds": len(next(iter(replays.values())).seeds),
        "floor": np.asarray(floor).tolist(),
        "hindsight": None,
        "learners": learners,
    }


def in_units(result: dict[str, Any], worth: Any, *scales: Any) -> dict[str, Any]:
    """A summary in the user's units: rewards by the first scale, what is said of each constraint by its own."""
    T, span = result["rounds"], worth.span
    sizes = [abs(scale.span) for scale in scales]

    def times(found: Any, factors: Any) -> Any:
        """Numbers, or lists with one for each constraint, times these."""
        if isinstance(found, dict):
            return {name: times(value, factors) for name, value in found.items()}
        return None if found is None else (np.asarray(found) * factors).tolist()

    def learner(got: dict[str, Any]) -> dict[str, Any]:
        said = got["guarantee"]
        reason = said["reason"]
        if reason and "regret <=" in reason and {span, *sizes} != {1}:
            reason += ", of rewards and constraints scaled to [0, 1]"
        missed = ("violation", "positive_violation")
        return {
            **got,
            "reward": {k: (worth.zero * T + np.asarray(v) * span).tolist() for k, v in got["reward"].items()},
            "regret": times(got["regret"], span),
            **{name: times(got[name], sizes) for name in missed},
            "multiplier": times(got["multiplier"], [span / size for size in sizes]),
            "guarantee": {
                **said,
                "regret": times(said["regret"], span),
                **{n: times(said[n], sizes) for n in missed},
                "reason": reason,
            },
        }

    best = result["hindsight"]
    if best is not None:
        best = {**best, "value": worth.own(best["value"]), "price": times(best["price"], [span / size for size in sizes])}
    return {
        **result,
        "floor": [scale.own(c0) for scale, c0 in zip(scales, result["floor"], strict=True)],
        "hindsight": best,
        "learners": {name: learner(got) for name, got in result["learners"].items()},
    }
