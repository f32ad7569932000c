"""The status of an agent as Prometheus reads it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lewa.agent.status import Status

COUNTS = ("decisions", "answered", "late", "charged", "expired", "masked")
GAUGES = ("limit", "average", "recent", "debt", "reserved", "multiplier", "price")
VERDICTS = ("kept", "missed", "undecided")


def metrics_text(status: "Status", agent: str) -> str:
    """Return one sample a line; names and units are those of the status."""
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
    sample("warnings", "gauge", [({}, float(len(status.warnings)))])
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
