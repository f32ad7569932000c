"""What readers see of an agent: its status, its set-up and its play."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lewa.agent.reserves import reserved_averages
from lewa.agent.status.report import Status
from lewa.serve.history import Point
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.old_words import with_old
from lewa.serve.rehearsal import Rehearsal, look, nothing
from lewa.serve.schema import AgentView

DRAWN = ("name", "sense", "limit", "average", "recent", "low", "high", "verdict", "price", "reserved", "debt")
OPTIONS = ("max_open and close_after", "answers.max_open and answers.close_after")  # their names here


def status(hosted: HostedAgent, now: int | None = None) -> dict[str, Any]:
    """Return the status of the agent, the values that came too late for it, and its caps at a time."""
    return _describe(hosted, hosted.agent.status(), now)


def status_then(hosted: HostedAgent, now: int | None = None) -> dict[str, Any]:
    """Return the same without a word in the log: this is not now."""
    return _describe(hosted, look(hosted.agent), now)


def _describe(hosted: HostedAgent, standing: Status, now: int | None) -> dict[str, Any]:
    reports, plain, blind = hosted.reports, dict(standing.plain()), hosted.watch().blind
    late = {name: {"values": count, "average": total / count} for name, (count, total) in reports.late.items() if count}
    plain["warnings"] = [str(warning).replace(*OPTIONS) for warning in plain["warnings"]] + [why for _, why in blind]
    plain["codes"] = [*plain["codes"], *("blind" for _ in blind)]
    reserves = {number: waits.reserve for number, waits in reports.open.copy().items() if waits.reserve is not None}
    for name, average in reserved_averages(hosted.agent, reserves).items() if reserves else ():
        next(item for item in plain["constraints"] if item["name"] == name)["reserved"] = average
    described = {
        "name": hosted.name,
        "version": hosted.version,
        **plain,
        "late_values": late,
        "safety": msgspec.to_builtins(hosted.setup.safety),
        "caps": hosted.caps.summary(now),
        "blind": [name for name, _ in blind],
        "retired": hosted.retired,
    }
    return with_old(described)


def view_of(hosted: HostedAgent) -> AgentView:
    """Return an agent as it is set up after its last record."""
    setup = with_old(msgspec.to_builtins(hosted.setup))
    return AgentView(hosted.name, hosted.version, hosted.retired, setup, hosted.learner, hosted.decisions, hosted.seq)


def plays_of(hosted: HostedAgent) -> Callable[[], tuple[dict[str, float], dict[str, float]]]:
    """Return a function that computes the play that the next decision will be drawn from, and the learner's own.

    It may run in another thread: it works on copies made now, without the open decisions, and draws nothing here.
    """
    twins, actions = (Rehearsal.of(hosted.agent), Rehearsal.of(hosted.agent).bare()), hosted.actions

    def plays() -> tuple[dict[str, float], dict[str, float]]:
        played, unmixed = (dict(zip(actions, twin.pull(**nothing(twin)).play, strict=False)) for twin in twins)
        return played, unmixed

    return plays


def recent_reward(hosted: HostedAgent) -> float | None:
    """Return the average reward of the window."""
    rewards = hosted.recent_rewards.copy()  # another thread may ask
    return sum(rewards) / len(rewards) if rewards else None


def recent_shares(hosted: HostedAgent) -> list[float]:
    """Return how often each action was taken in the window."""
    counts = Counter(hosted.recent_actions.copy())
    n = max(1, counts.total())
    return [counts[action] / n for action in range(len(hosted.actions))]


def point_of(hosted: HostedAgent, status: Mapping[str, Any], at: int) -> Point:
    """Return the status of an agent, as the page draws it."""
    return {
        "at": at / 1e6,
        "version": hosted.version,
        "mode": status.get("mode"),
        "caps": status.get("caps", []),
        "decisions": hosted.decisions,
        "open": len(hosted.reports.open),
        "late": sum(int(count) for count, _ in hosted.reports.late.values()),
        "filled_in": status.get("filled_in", 0),
        "expired": status.get("expired", 0),
        "answered": status.get("answered", 0),
        "reward": status.get("reward"),
        "recent_reward": recent_reward(hosted),
        "shares": recent_shares(hosted)[:20],
        "constraints": [{name: item[name] for name in DRAWN} for item in status.get("constraints", ())],
        "guarantee": _guarantee(status),
        "warnings": status.get("warnings", []),
    }


def _guarantee(status: Mapping[str, Any]) -> str:
    """Return the guarantee in one sentence."""
    promise = status.get("promise") or []
    if promise:
        *parts, source = promise
        return "Proved: " + "; ".join(parts) + f" (by {source})"
    if governor := status.get("governor"):
        return "Promised: " + "; ".join(governor["promise"])
    reason = (status.get("guarantee") or {}).get("reason") or "no round was answered yet"
    return f"No guarantee: {reason}"
