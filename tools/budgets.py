"""Budgets per day and month with unknown traffic: what `make budgets` runs.

    python -m tools.budgets [SEEDS]        writes docs/budgets.md and its figures

Every world is played by `squarecb-lewa` with the rules of `lewa.budgets`, and by rivals. Nothing is asserted; the page has
the figures. The seeds are others than those with which the constants of the forecast were chosen.
"""

import sys
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lewa.figures import COLOURS, FAINT, INK, MUTED
from lewa.types import Matrix, Vector
from tools.budget_play import (
    AVERAGE,
    BEST,
    BILLS,
    CLOCK,
    DESCENT,
    EMPTY_AT,
    KNOWN,
    PLAN,
    REFUSED,
    REWARD,
    SCHEDULE,
    THROTTLE,
    Method,
    simulate,
)
from tools.budget_tree import COUNTERS, TEAMS, TREE
from tools.budget_tree import rows as rows_of_trees
from tools.budget_worlds import DAYS, MONTHS, World, hindsight, make

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "assets" / "budgets"
FIRST_SEED, SEEDS = 900, 2
RULE = Method("the rule")
METHODS = (
    RULE,
    Method("traffic known", traffic=KNOWN),
    Method("constant limit", AVERAGE, ceiling=1e9, keep=False),
    Method("constant limit, wall", AVERAGE, keep=False),
    Method("best until empty", BEST, keep=False),
    Method("clock", traffic=CLOCK),
    Method("dual descent, traffic known", DESCENT, KNOWN, keep=False),
    Method("horizon schedule", SCHEDULE, keep=False),
    Method("spending plan", PLAN, keep=False),
    Method("throttle", THROTTLE, keep=False),
)
ODDS = Method("the rule, sure=0.999", odds=log(40 / 0.001))
RIVALS = [method.name for method in METHODS[1:]]
SHOWN = "launch at 10:00, three times the traffic"  # in a figure


class Play(NamedTuple):
    """What a method did in a world, period by period."""

    world: World
    out: Matrix
    best: Vector  # value in hindsight
    able: Vector  # what the best actions would spend, of the amount, at most 1

    @property
    def share(self) -> Vector:
        """Return the reward of each period over the best one."""
        return self.out[:, REWARD] / np.maximum(self.best, 1e-9)

    @property
    def spent(self) -> Vector:
        """Return the bills of each period over the amount."""
        return self.out[:, BILLS] / self.world.amount


def play_all(terms: dict[str, object], seeds: int, methods: tuple[Method, ...]) -> dict[str, list[Play]]:
    """Play a world with some seeds by each method."""
    plays: dict[str, list[Play]] = {method.name: [] for method in methods}
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        world = make(seed, **terms)  # type: ignore[arg-type]
        best, able = hindsight(world)
        for method in methods:
            plays[method.name].append(Play(world, simulate(world, method, seed), best, able))
    return plays


def reward(plays: list[Play], first: int) -> float:
    """Return the reward over the best in hindsight, in percent, from a period on."""
    return 100 * float(np.mean([play.out[first:, REWARD].sum() / play.best[first:].sum() for play in plays]))


def cells(plays: dict[str, list[Play]], first: int) -> list[str]:
    """Return the cells of a row: the rule's, then the rivals'."""
    rule = plays[RULE.name]
    busy = [play.best > 0 for play in rule]
    worst = min(float(play.share[first:][there[first:]].min()) for play, there in zip(rule, busy, strict=True))
    used = np.concatenate([(play.spent / play.able)[first:][there[first:]] for play, there in zip(rule, busy, strict=True)])
    begin = 100 * float(np.mean([play.share[0] for play in rule]))
    row = [f"**{reward(rule, first):.1f}** ({100 * worst:.0f})", f"{used.mean():.3f} [{used.min():.3f}, {used.max():.3f}]"]
    row += [f"{begin:.0f}", f"{reward(plays['traffic known'], first):.1f}"]
    row.append(f"{max(float(play.spent[first:].max()) for play in plays['constant limit']):.2f}")
    return [*row, *(f"{reward(plays[name], first):.1f}" for name in RIVALS[2:])]


def draw_rewards(table: dict[str, dict[str, list[Play]]], first: int, path: Path) -> None:
    """Draw the reward of some methods in every world, as points."""
    from matplotlib.figure import Figure

    names = [RULE.name, "constant limit, wall", "clock", "dual descent, traffic known", "spending plan"]
    figure = Figure(figsize=(9, 0.27 * len(table) + 1.2), layout="constrained")
    axis = figure.subplots()
    for n, name in enumerate(names):
        values = [reward(plays[name], first) for plays in table.values()]
        axis.plot(
            values, range(len(table)), "o", color=COLOURS[n], label=name, markersize=7 if n == 0 else 5, zorder=4 - n / 9
        )
    axis.set_yticks(range(len(table)), list(table), fontsize=8, color=INK)
    axis.invert_yaxis()
    axis.set_xlim(65, 101)
    axis.set_xlabel("reward, % of the best in hindsight", fontsize=8, color=MUTED)
    finish(figure, axis, path)


def draw_days(plays: dict[str, list[Play]], path: Path) -> None:
    """Draw what was spent on each day of one run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    axis = figure.subplots()
    for n, name in enumerate([RULE.name, "constant limit", "best until empty"]):
        spent = plays[name][0].spent
        axis.plot(np.arange(1, spent.size + 1), spent, "o-", color=COLOURS[n], label=name, linewidth=1.2, markersize=3.5)
    axis.axhline(1, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="budget")
    axis.set_ylim(0, None)
    axis.set_xlabel("day", fontsize=8, color=MUTED)
    axis.set_title("Spent per day over the budget", fontsize=9.5, loc="left", color=INK)
    finish(figure, axis, path)


def finish(figure: object, axis: object, path: Path) -> None:
    """Style a figure and write it."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "lewa"
    figure_, axis_ = figure, axis
    axis_.tick_params(length=3, labelsize=8)  # type: ignore[attr-defined]
    axis_.grid(axis="both", color=FAINT, linewidth=0.6)  # type: ignore[attr-defined]
    axis_.spines[["top", "right"]].set_visible(False)  # type: ignore[attr-defined]
    axis_.spines[["left", "bottom"]].set_color(FAINT)  # type: ignore[attr-defined]
    figure_.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False, labelcolor=INK)  # type: ignore[attr-defined]
    path.parent.mkdir(parents=True, exist_ok=True)
    figure_.savefig(path, metadata={"Date": None})  # type: ignore[attr-defined]


def write(seeds: int) -> None:
    """Play everything and write the page."""
    days, months, rows = {}, {}, []
    for name, terms in DAYS.items():
        print(name, flush=True)
        days[name] = play_all(terms, seeds, (*METHODS, ODDS) if "late" in terms else METHODS)
        rows.append(f"| {name} | {' | '.join(cells(days[name], 1))} |")
    month_rows = []
    for name, terms in MONTHS.items():
        print(name, flush=True)
        months[name] = play_all({"days": 120, "period": 720.0, "per_day": 1000, **terms}, seeds, METHODS)
        month_rows.append(f"| {name} | {' | '.join(cells(months[name], 0))} |")
    every = [play for plays in (*days.values(), *months.values()) for play in plays[RULE.name]]
    over = sum(int((play.spent > RULE.ceiling + 1e-9).sum()) for play in every)
    refused = [play.out[:, REFUSED].sum() / play.world.times.size for play in every]
    late = [
        f"| {name} | {reward(plays[RULE.name], 1):.1f} | {reward(plays[ODDS.name], 1):.1f} |"
        for name, plays in days.items()
        if ODDS.name in plays
    ]
    empty = {
        name: np.concatenate([play.out[:, EMPTY_AT] for play in days["ordinary, 5,000 a day"][name]]) for name in RIVALS[1:]
    }
    hours = ", ".join(f"{name} {np.median(at[at > 0]):.1f}" for name, at in empty.items() if (at > 0).mean() > 0.5)
    draw_rewards(days, 1, FIGURES / "days.svg")
    draw_days(days[SHOWN], FIGURES / "launch.svg")
    text = PAGE.format(
        seeds=seeds,
        periods=sum(play.best.size for play in every),
        over=over,
        refused=100 * float(np.mean(refused)),
        most_refused=100 * float(np.max(refused)),
        head=HEAD,
        days="\n".join(rows),
        months="\n".join(month_rows),
        late="\n".join(late),
        hours=hours,
        ways=f"{TREE} | {TEAMS} | {COUNTERS}",
        trees="\n".join(rows_of_trees(range(FIRST_SEED, FIRST_SEED + 1))),
    )
    (ROOT / "docs" / "budgets.md").write_text(text)


HEAD = (
    "| world | the rule (worst) | used [least, most] | first | traffic known | constant limit: most spent | "
    "constant limit, wall | best until empty | clock | dual descent | horizon schedule | spending plan | throttle |\n|"
    + "---|"
    * 13
)
PAGE = """# A budget per day, with unknown traffic

This page simulates money per period: a budget for each day or month, and requests that come as they like. `make
budgets` writes it. The learner is `squarecb-lewa`; the price comes from the rules in `lewa.budgets`, whose guarantees
are in [theory](theory_budgets.md). The worlds are synthetic: cycles by hour and weekday, noise of days and hours, costs
with lognormal noise, three models whose prices differ by 15, 5,000 requests a day unless the name says otherwise. The
ceiling is 1.025 of the budget. There are {seeds} runs of 30 days and of 4 months, with seeds that were not used when
the constants were chosen.

- **The rule** and the rivals: reward in percent of the best play in hindsight, which knows the traffic and all means.
  In brackets the worst single period. The first day is left out, and stands in the column **first**.
- **used**: bills over what the best actions would have spent of the budget. Noise of that denominator may push it above
  the ceiling.
- **traffic known**: the same rule, told how many requests are to come. **clock**: the present rate goes on.
- **constant limit**: a limit on the average, from the traffic of the period before; with a **wall**, requests above the
  ceiling are refused. **most spent** is its worst period, over the budget.
- **best until empty**: the best action until the ceiling. **dual descent**: a dual step against budget/requests, with
  known traffic (Balseiro, Lu, Mirrokni). **horizon schedule**: a schedule for half to twice the earlier traffic
  (Balseiro, Kroer, Kumar). **spending plan**: a dual step against the profile of earlier days. **throttle**: the share
  of the best action is controlled.

Over its ceiling: {over} of {periods} periods of the rule. Refused by the rule: {refused:.4f} % of the requests,
{most_refused:.3f} % in the worst run.

![Reward by world](assets/budgets/days.svg)

## Days

{head}
{days}

Hour at which the money is gone on half of the ordinary days or more (median): {hours}.

![Spent per day](assets/budgets/launch.svg)

*A launch triples the traffic on day 16.*

## Late answers

Open decisions count at their largest cost. With a ceiling on every path, late answers leave money unspent; with
`sure=0.999` less.

| world | sure | sure=0.999 |
|---|---|---|
{late}

## Months

1,000 requests a day.

{head}
{months}

## Purses below purses

A company with 3,000 requests a day, two teams in two time zones, and 200 users with budgets of their own; 14 days, one
run. Reward in percent of the linear program of each day with every budget, known traffic and known means; in brackets
the requests refused. This part is played with `Purses`, as an application would, and one learner with four kinds of
requests as context.

| budgets | {ways} |
|---|---|---|---|
{trees}

## What this does not show

The worlds were made by the authors, and no real traffic is among them. The rivals are our implementations; with money
kept back for the cheapest action they would be refused less often. In stable months a constant limit is as good.
"""

if __name__ == "__main__":
    write(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
