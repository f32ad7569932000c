"""The metrics for Prometheus: counters of the service, and the status of each agent, at most a second old."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.reading import recent_shares
from lewa.serve.reading import status as status_of

if TYPE_CHECKING:
    from lewa.serve.registry import Registry

MODES = ("live", "shadow", "frozen", "off")
ACTIONS = 20  # up to which each has its probability
FRESH = 1.0  # seconds that a status may be old
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
ROWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
LINES = {
    "average": "average",
    "limit": "limit",
    "band_low": "low",
    "band_high": "high",
    "reserved": "reserved",
    "recent": "recent",
    "debt": "debt",
}


class Counts:
    """A histogram that only the event loop adds to: without a lock, an observation takes a fraction of the time."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str] = ()) -> None:
        """Write the counts as Prometheus has them: of all values up to each bound."""
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        family.add_metric(labels, list(zip(names, accumulate(self._counts), strict=True)), self._sum)


class Meters(Collector):
    """Histograms and counters of the process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self.commit, self.rows = Counts(SECONDS), Counts(ROWS)
        self.failures = Counter(
            "lewa_commit_failures",
            "Commits that failed, after which agents were read from the journal again",
            registry=self.registry,
        )
        self.shed = Counter("lewa_shed", "Requests refused because commits are behind", registry=self.registry)
        self._routes: dict[tuple[str, int], Counts] = {}

    def describe(self) -> list[HistogramMetricFamily]:
        """Return nothing: requests have not come yet."""
        return []

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Return the histograms."""
        for name, text, counts in (
            ("lewa_commit_seconds", "Time of one commit", self.commit),
            ("lewa_commit_rows", "Records in one commit", self.rows),
        ):
            family = HistogramMetricFamily(name, text)
            counts.add_to(family)
            yield family
        family = HistogramMetricFamily("lewa_request_seconds", "Time of one request", labels=["route", "status"])
        for (
            route,
            status,
        ), counts in self._routes.copy().items():  # in this thread only a copy is safe
            counts.add_to(family, [route, str(status)])
        yield family

    def committed(self, rows: int, seconds: float) -> None:
        """Count a commit."""
        self.commit.observe(seconds)
        self.rows.observe(rows)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        counts = self._routes.get((route, status))
        if counts is None:
            counts = self._routes[route, status] = Counts(SECONDS)
        counts.observe(seconds)


class Statuses:
    """The status of each agent, computed at most once a second and only if somebody looks."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, int, dict[str, Any]]] = {}

    def of(self, hosted: HostedAgent) -> dict[str, Any]:
        """Return the status of an agent; its caps are those of that time."""
        at, seq, status = self._known.get(hosted.name, (0.0, -1, {}))
        now = time.monotonic()
        if seq != hosted.seq and now - at > FRESH:
            seq = hosted.seq  # a record that comes meanwhile is in the next one for sure
            status = status_of(hosted)
            self._known[hosted.name] = (now, seq, status)
        return status

    def seq_of(self, name: str) -> int:
        """Return the record up to which the status of an agent was computed last."""
        return self._known[name][1]


class AgentMetrics(Collector):
    """The agents of this process, as Prometheus has them."""

    def __init__(self, registry: "Registry", statuses: Statuses) -> None:
        self._registry, self._statuses = registry, statuses

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing: what there is depends on the agents."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Read every agent."""
        agents = list(self._registry.agents.values())
        yield from self._counters(agents)
        yield from self._gauges(agents)
        queue = GaugeMetricFamily("lewa_queue", "Records that wait for a commit", value=self._registry.writer.queued())
        yield queue
        yield GaugeMetricFamily("lewa_lag_seconds", "Waiting time of the oldest call", value=self._registry.writer.lag())

    def _counters(self, agents: list[HostedAgent]) -> Iterator[CounterMetricFamily]:
        decisions = CounterMetricFamily("lewa_decisions", "Decisions made", labels=["agent", "action", "by"])
        feedback = CounterMetricFamily("lewa_feedback", "Entries of feedback by result", labels=["agent", "result"])
        for hosted in agents:
            for (action, by), count in hosted.by.copy().items():
                decisions.add_metric([hosted.name, hosted.actions[action], by], count)
            for result, count in hosted.results.copy().items():
                feedback.add_metric([hosted.name, result], count)
        yield decisions
        yield feedback

    def _gauges(self, agents: list[HostedAgent]) -> Iterator[GaugeMetricFamily]:
        labels = ["agent"]
        gauges = {
            name: GaugeMetricFamily(f"lewa_{name}", text, labels=labels)
            for name, text in (
                ("open", "Decisions that wait for answers"),
                ("reward", "Average reported reward"),
                ("filled_in", "Decisions closed with expected values filled in"),
                ("failed", "Decisions whose action failed"),
                ("delay_decisions", "Age of the oldest open decision, in decisions"),
                ("owner", "1 if this process serves the agent, 0 if it does not"),
                ("snapshot_age_seconds", "Time since the newest snapshot"),
            )
        }
        lines = {
            name: GaugeMetricFamily(f"lewa_line_{name}", f"The {name} of a line", labels=["agent", "line"]) for name in LINES
        }
        price = GaugeMetricFamily("lewa_price", "Reward per unit of a line", labels=["agent", "line"])
        missed = GaugeMetricFamily("lewa_line_missed", "1 if the whole band misses the limit", labels=["agent", "line"])
        clipped = GaugeMetricFamily("lewa_clipped", "Values outside their range", labels=["agent", "line"])
        rests = GaugeMetricFamily("lewa_action_resting", "1 if an action rests after failures", labels=["agent", "action"])
        share = GaugeMetricFamily("lewa_probability", "Share of an action in the last decisions", labels=["agent", "action"])
        for known in list(self._registry.names):
            gauges["owner"].add_metric([known], known in self._registry.agents)
        for hosted in agents:
            status, name = self._statuses.of(hosted), [hosted.name]
            gauges["open"].add_metric(name, len(hosted.reports.open))
            gauges["delay_decisions"].add_metric(
                name, hosted.decisions - next(iter(hosted.reports.open.copy()), hosted.decisions)
            )
            gauges["snapshot_age_seconds"].add_metric(name, max(0.0, (self._registry.now() - hosted.snapshot_at) / 1e6))
            gauges["filled_in"].add_metric(name, status.get("filled_in", 0))
            gauges["failed"].add_metric(name, status.get("failed", 0))
            if status.get("reward") is not None:
                gauges["reward"].add_metric(name, status["reward"])
            for line in status.get("constraints", ()):
                label = [hosted.name, line["name"]]
                for metric, field in LINES.items():
                    if line[field] is not None:
                        lines[metric].add_metric(label, line[field])
                price.add_metric(label, line["price"])
                clipped.add_metric(label, line["clipped"])
                missed.add_metric(label, line["verdict"] == "missed")
            if len(hosted.actions) <= ACTIONS:
                for action, value in zip(hosted.actions, recent_shares(hosted), strict=False):
                    share.add_metric([hosted.name, action], value)
            resting = {item["action"] for item in status.get("resting", ())}
            for action in hosted.actions if len(hosted.actions) <= ACTIONS else resting:
                rests.add_metric([hosted.name, action], action in resting)
        yield from (*gauges.values(), *lines.values(), price, clipped, missed, share, rests)
        yield from self._safety(agents)

    def _safety(self, agents: list[HostedAgent]) -> Iterator[GaugeMetricFamily]:
        mode = GaugeMetricFamily("lewa_mode", "1 for the mode that an agent is in", labels=["agent", "mode"])
        caps = {
            name: GaugeMetricFamily(f"lewa_cap_{name}", f"The {name} of a cap", labels=["agent", "line", "per"])
            for name in ("total", "spent", "reserved")
        }
        blind = GaugeMetricFamily(
            "lewa_watchdog_blind", "1 if a rule of the watchdog cannot be judged by all values", labels=["agent", "line"]
        )
        for hosted in agents:
            for name in MODES:
                mode.add_metric([hosted.name, name], hosted.setup.safety.mode == name)
            for cap in hosted.caps.summary(self._registry.now()):
                for name, family in caps.items():
                    family.add_metric([hosted.name, str(cap["constraint"]), str(cap["per"])], cap[name])  # type: ignore[arg-type]
            seen = self._statuses.of(hosted).get("blind", ())
            for line in dict.fromkeys(rule.constraint for rule in hosted.setup.watchdog):
                blind.add_metric([hosted.name, line], line in seen)
        yield from (mode, *caps.values(), blind)


class Exposition:
    """The text that Prometheus reads, made at most once a second: whoever asks meanwhile gets the same."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry, self._lock = registry, asyncio.Lock()
        self._text, self._at = b"", float("-inf")

    async def text(self) -> bytes:
        """Return the text; it is made in a thread."""
        async with self._lock:
            if time.monotonic() - self._at > FRESH:
                self._text = await asyncio.to_thread(generate_latest, self._registry)
                self._at = time.monotonic()
            return self._text
