"""Summarise a play or a replay, as the plain numbers that `--json` prints and tables show."""

from collections.abc import Mapping, Sequence

import numpy as np

from lewa import schema
from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace
from lewa.schema import LearnerSummary, Spread, Spreads, Summary
from lewa.simulate.log_replay import LogReplay, StreamedReplay
from lewa.theory.guarantees import Guarantee, none
from lewa.types import Matrix, Vector
from lewa.units import Scale

UNIT = ", of rewards and constraints scaled to [0, 1]"  # what is added to a reason that has numbers


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


def spread(values: Vector) -> Spread:
    """Return the mean and the largest value over seeds, and the value of every seed."""
    return {"mean": float(values.mean()), "max": float(values.max()), "per_seed": values.tolist()}


def spreads(values: Matrix) -> Spreads:
    """Return the same for values (seeds, m), each as a list over constraints."""
    return {"mean": values.mean(axis=0).tolist(), "max": values.max(axis=0).tolist(), "per_seed": values.tolist()}


# A bandit log ------------------------------------------------------------------------------------------------------------


def summary_of_log(replays: Mapping[str, LogReplay | StreamedReplay], actions: int, floor: Vector) -> Summary:
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
        "floor": floor.tolist(),
        "hindsight": None,
        "learners": learners,
    }


def averages_on_log(replays: Mapping[str, LogReplay | StreamedReplay], floor: Vector) -> dict[str, list[float]]:
    """Return, by learner, the average of each constraint in the rounds that count, as a mean over seeds."""
    rounds = min(run.rounds for run in replays.values())
    short = {name: run.totals(rounds).shortfall.mean(axis=0) / rounds for name, run in replays.items()}
    return {name: (floor - each).tolist() for name, each in short.items()}


# The user's units --------------------------------------------------------------------------------------------------------


def in_units(result: Summary, reward: Scale, constraints: Sequence[Scale]) -> Summary:
    """Return a summary in the user's units, with the scales of the reward and of each constraint."""
    sizes = [abs(scale.span) for scale in constraints]
    prices = [reward.span / size for size in sizes]
    best = result["hindsight"]
    if best is not None:
        best = {**best, "value": reward.to_user(best["value"]), "price": _times(best["price"], prices)}
    return {
        **result,
        "floor": [scale.to_user(c0) for scale, c0 in zip(constraints, result["floor"], strict=True)],
        "hindsight": best,
        "learners": {
            name: {
                **learner,
                "reward": _spread(learner["reward"], reward.span, reward.zero * result["rounds"]),
                "regret": None if learner["regret"] is None else _spread(learner["regret"], reward.span),
                "violation": _spreads(learner["violation"], sizes),
                "positive_violation": _spreads(learner["positive_violation"], sizes),
                "multiplier": _times(learner["multiplier"], prices),
                "guarantee": _guarantee(learner["guarantee"], reward.span, sizes),
            }
            for name, learner in result["learners"].items()
        },
    }


def _guarantee(guarantee: schema.JudgedGuarantee, span: float, sizes: list[float]) -> schema.JudgedGuarantee:
    regret, short, positive = guarantee["regret"], guarantee["violation"], guarantee["positive_violation"]
    reason = guarantee["reason"]
    scaled = "regret <=" in reason and {span, *sizes} != {1}
    return {
        **guarantee,
        "regret": None if regret is None else regret * span,
        "violation": None if short is None else _times(short, sizes),
        "positive_violation": None if positive is None else _times(positive, sizes),
        "reason": reason + UNIT if scaled else reason,
    }


def _times(values: list[float], factors: list[float]) -> list[float]:
    return [value * factor for value, factor in zip(values, factors, strict=True)]


def _spread(values: Spread, factor: float, zero: float = 0.0) -> Spread:
    per_seed = [zero + value * factor for value in values["per_seed"]]
    return {"mean": zero + values["mean"] * factor, "max": zero + values["max"] * factor, "per_seed": per_seed}


def _spreads(values: Spreads, factors: list[float]) -> Spreads:
    per_seed = [_times(value, factors) for value in values["per_seed"]]
    return {"mean": _times(values["mean"], factors), "max": _times(values["max"], factors), "per_seed": per_seed}
