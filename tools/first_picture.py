"""Draw the picture of the README: cost against its limit when prices double, for an agent and for two plain bandits.

    python -m tools.first_picture        writes docs/assets/price-shock.svg, and prints the figures of its caption

It also writes docs/assets/queries.csv, the table that the analyst's start page begins with: 400 queries, each answered by
the same three simulated models.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import lewa
from lewa.figures import COLOURS, INK, MUTED, Label, Panel, draw, ticks
from lewa.report.page import NAMED
from lewa.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parent.parent
PICTURE, QUERIES = (ROOT / "docs" / "assets" / name for name in ("price-shock.svg", "queries.csv"))
REQUESTS, WINDOW, LIMIT = 20_000, 500, 0.002
COST = {"small": 0.0004, "medium": 0.0015, "large": 0.006}  # dollars, for a request of average length
GOOD = {"small": 0.62, "medium": 0.74, "large": 0.86}  # probability of a good answer
PENALTY = 40.0  # reward per dollar: with it the second bandit spends about the limit before prices double


class Contestant(NamedTuple):
    """A learner, and the price per dollar that is subtracted from its reward."""

    name: str
    learner: str
    penalty: float = 0.0


CONTESTANTS = (
    Contestant("lewa.Agent", "auto"),
    Contestant("bandit (UCB1)", "ucb1"),
    Contestant("bandit, tuned\nreward \N{MINUS SIGN} 40 cost", "ucb1", PENALTY),
)


def bills(contestant: Contestant, requests: int = REQUESTS) -> tuple[Vector, Vector]:
    """Serve requests whose prices double half-way; return the cost of each, in dollars, and whether its answer was good."""
    agent = lewa.Agent(
        list(COST),
        [lewa.at_most("cost", LIMIT, range=(0, 0.02))],
        reward_range=(-0.02 * contestant.penalty, 1),
        learner=contestant.learner,
        horizon=None if contestant.learner == "auto" else requests,
        seed=7,
    )
    cost, good = np.empty(requests), np.empty(requests)
    for t, (length, luck) in enumerate(np.random.default_rng(3).random((requests, 2)).tolist()):
        decision = agent.pull()
        model = str(decision.action)
        cost[t] = COST[model] * (0.5 + length) * (2 if t >= requests // 2 else 1)
        good[t] = luck < GOOD[model]
        agent.update(decision, reward=float(good[t] - contestant.penalty * cost[t]), cost=float(cost[t]))
    return cost, good


@dataclass(frozen=True)
class Spending(Panel):
    """A panel: a curve for each contestant, in dollars per 1,000 requests, and the limit."""

    curves: tuple[tuple[str, Vector, Vector], ...]  # name, requests, cost

    def labels(self) -> list[Label]:
        return [(name, COLOURS[n], float(cost[-1])) for n, (name, _, cost) in enumerate(self.curves)]

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        axes.set_yscale("log")
        axes.axhline(1000 * LIMIT, color=INK, linewidth=0.9, dashes=(4, 3))
        axes.axvline(REQUESTS / 2, color=MUTED, linewidth=0.6, zorder=0)
        for (_, requests, cost), colour in zip(self.curves, COLOURS, strict=False):
            axes.plot(requests, cost, color=colour, linewidth=1.3)
        axes.set_ylim(1, 15)
        axes.set_yticks([1, 2, 5, 10], ["$1", "$2", "$5", "$10"])
        axes.set_yticks([], minor=True)
        axes.set_xlim(0, REQUESTS)
        ticks(axes.xaxis, 4)
        axes.set_xlabel("request", labelpad=2)
        axes.text(REQUESTS / 2 - 150, 13, "prices\ndouble", color=MUTED, ha="right", va="top")
        axes.text(REQUESTS / 50, 1000 * LIMIT * 0.93, "limit", color=INK, va="top")


def panels(costs: dict[str, Vector]) -> list[Spending]:
    """Return the average so far and the average of the last requests."""
    requests: Vector = np.arange(1.0, REQUESTS + 1)
    so_far, recent = [], []
    for name, cost in costs.items():
        total: Vector = np.cumsum(1000 * cost)
        last: Vector = (total[WINDOW:] - total[:-WINDOW]) / WINDOW
        so_far.append((name, requests[WINDOW::100], (total / requests)[WINDOW::100]))
        recent.append((name, requests[WINDOW::100], last[::100]))
    return [
        Spending("Cost per 1,000 requests, so far", tuple(so_far)),
        Spending(f"Cost per 1,000 requests, last {WINDOW}", tuple(recent)),
    ]


def with_colours(svg: str) -> str:
    """Let the colours of an SVG file follow light and dark."""
    style = (ROOT / "src/lewa/report/page.css").read_text()
    dark = re.search(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", style, re.DOTALL)
    assert dark is not None
    light = "; ".join(f"{name}: {colour}" for colour, name in NAMED.items())
    rules = f"svg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark[1].strip()} }} }}"
    for colour, name in NAMED.items():
        svg = svg.replace(colour, f"var({name})")
    return svg.replace('<style type="text/css">', f'<style type="text/css">\n{rules}\n', 1)


def queries() -> str:
    """Return the table as CSV, a row for each query and model: whether the answer was good, and what it cost in dollars."""
    rows = ["query,model,quality,dollars"]
    for query, (length, luck) in enumerate(np.random.default_rng(18).random((400, 2)).tolist(), start=1):
        rows += [f"{query},{model},{int(luck < GOOD[model])},{COST[model] * (0.5 + length):.6f}" for model in COST]
    return "\n".join(rows) + "\n"


def main() -> None:
    QUERIES.write_text(queries())
    served = {contestant.name: bills(contestant) for contestant in CONTESTANTS}
    for name, (cost, good) in served.items():
        halves = [f"${1000 * half.mean():.2f}" for half in np.array_split(cost, 2)]
        print(f"{name!r}: {' then '.join(halves)} per 1,000 requests; good answers {good.mean():.1%}")
    drawn = draw(panels({name: cost for name, (cost, _) in served.items()}), "price-shock", ["svg"])
    PICTURE.write_text(with_colours(drawn.svg))


if __name__ == "__main__":
    main()
