"""Summarise a play or a replay, as the plain numbers that `--json` prints and tables show."""

from collections.abc import Mapping

import numpy as np

from lewa import schema
from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace
from lewa.schema import LearnerSummary, Spread, Spreads, Summary, plain
from lewa.simulate.log_replay import LogReplay, StreamedReplay
from lewa.theory.guarantees import Guarantee, none
from lewa.types import Matrix, Vector


def summary(traces: Mapping[str, Trace]) -> Summary:
    """Return the regret and the violation of learners that played the same game, rounds, seeds and floor."""
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


def _learner(trace: Trace) -> LearnerSummary:
    guarantee, holds = judge(trace)
    return {
        "reward": spread(trace.reward[:, -1]),
        "regret": spread(regret(trace)),
        "violation": spreads(violation(trace)),
        "positive_violation": spreads(positive_violation(trace)),
        "multiplier": trace.multiplier[:, -1].mean(axis=0).tolist(),
        "measured_on": trace.measured_on,
        "guarantee": {**guarantee_of(guarantee), "holds": holds},
    }


def guarantee_of(guarantee: Guarantee) -> schema.Guarantee:
    """Return a guarantee as plain numbers; a bound that does not exist is None, with the reason."""
    listed = {name: getattr(guarantee, name) for name in schema.Guarantee.__annotations__}
    numbers: schema.Guarantee = plain(listed)
    return numbers


def spread(values: Vector) -> Spread:
    """Return the mean and the largest value over seeds, and the value of every seed."""
    return {"mean": float(values.mean()), "max": float(values.max()), "per_seed": values.tolist()}


def spreads(values: Matrix) -> Spreads:
    """Return the same for values (seeds, m), each as a list over constraints."""
    return {"mean": values.mean(axis=0).tolist(), "max": values.max(axis=0).tolist(), "per_seed": values.tolist()}


# A bandit log ------------------------------------------------------------------------------------------------------------


def summary_of_log(replays: Mapping[str, LogReplay | StreamedReplay], actions: int, floor: list[float]) -> Summary:
    """Return the summary for a bandit log, without regret, because the rewards of other actions are unknown.

    Learners are compared over the same number of rounds, the smallest number that counted for a learner.
    """
    reason = "no bound is proved for a learner that is replayed on a log, which has one action per row"
    rounds = min(run.rounds for run in replays.values())
    learners: dict[str, LearnerSummary] = {}
    for name, run in replays.items():
        totals = run.totals(rounds)
        learners[name] = {
            "reward": spread(totals.reward),
            "regret": None,
            "violation": spreads(np.maximum(totals.shortfall, 0)),
            "positive_violation": spreads(totals.positive),
            "multiplier": totals.multiplier.mean(axis=0).tolist(),
            "measured_on": "action",
            "guarantee": {**guarantee_of(none("bandit log", reason)), "holds": None},
        }
    return {
        "rounds": rounds,
        "actions": actions,
        "seeds": len(next(iter(replays.values())).seeds),
        "floor": floor,
        "hindsight": None,
        "learners": learners,
    }
