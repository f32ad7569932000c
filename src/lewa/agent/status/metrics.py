"""The status of an agent in the text format of Prometheus."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lewa.agent.status.report import Status

COUNTS = ("decisions", "answered", "failed", "late", "filled_in", "expired", "masked")
GAUGES = ("limit", "promised", "average", "low", "high", "recent", "smooth", "debt", "reserved", "multiplier", "price")
VERDICTS = ("kept", "missed", "undecided")
CODES = (
    "infeasible",
    "masked-infeasible",
    "range",
    "refunds",
    "near-limit",
    "shift",
    "governor",
    "cap",
    "no-effect",
    "regressor",
    "source",
    "horizon",
    "unanswered",
    "resting",
    "context",
    "stopped",
)  # of warnings, each of which is 0 where there is none: an alert needs a number


def metrics_text(status: "Status", agent: str) -> str:
    """Return one sample per line, with the names and units of the status."""
    lines = []

    def sample(name: str, kind: str, items: Sequence[tuple[dict[str, str], float | None]]) -> None:
        lines.append(f"# TYPE lewa_{name} {kind}")
        for labels, value in items:
            if value is not None:
                pairs = ",".join(f'{key}="{_escape(text)}"' for key, text in {"agent": agent, **labels}.items())
                lines.append(f"lewa_{name}{{{pairs}}} {value!r}")

    for name in COUNTS:
        sample(f"{name}_total", "counter", [({}, float(getattr(status, name)))])
    sample("open", "gauge", [({}, float(status.open))])
    sample("reward_average", "gauge", [({}, status.reward)])
    for name in GAUGES:
        sample(
            f"constraint_{name}", "gauge", [({"constraint": item.name}, getattr(item, name)) for item in status.constraints]
        )
    verdicts = [
        ({"constraint": item.name, "verdict": verdict}, float(item.verdict == verdict))
        for item in status.constraints
        for verdict in VERDICTS
    ]
    sample("constraint_verdict", "gauge", verdicts)
    if status.governor is not None:
        sample("safe_decisions_total", "counter", [({}, float(status.governor.safe))])
        debts = dict(zip((item.name for item in status.constraints), status.governor.reserved, strict=True))
        sample("constraint_reserved_debt", "gauge", [({"constraint": name}, debt) for name, debt in debts.items()])
    if status.resting:
        sample("action_resting", "gauge", [({"action": str(item.action)}, 1.0) for item in status.resting])
    sample("warnings", "gauge", [({}, float(len(status.warnings)))])
    codes = [warning.code for warning in status.warnings]
    sample("warning", "gauge", [({"code": code}, float(codes.count(code))) for code in CODES])
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
