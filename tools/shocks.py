"""What agents do when the world changes under them: what `make shocks` runs.

    python -m tools.shocks [RUNS]        writes docs/shocks.md and its figures

Every world is played by agents as an application would: pull, act, update. Nothing is asserted; the page has the figures.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import lewa
from lewa import learners
from lewa.figures import COLOURS, FAINT, INK, MUTED
from lewa.measures import best_fixed_play
from lewa.types import Matrix, Vector

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "assets" / "shocks"
T, RUNS, WINDOW, LIMIT = 24_000, 4, 500, 0.4
SHOWN_DEBT = 400  # the debt of 1,000 decisions that cost twice their limit: where a curve leaves its panel
CONTESTANTS = ("auto", "anytime-loss-lewa", "ucb-lp", "thompson-lp")
RANGES = (1.0, 2.0, 4.0, 20.0, 80.0)  # declared for costs with a heavy tail
CALLED = {"auto": "default agent", "anytime-loss-lewa": "previous default (`anytime-loss-lewa`)"}


class World(NamedTuple):
    """Mean reward and cost of each action in each round, and what happens besides."""

    title: str
    about: str
    rewards: Matrix  # (T, K)
    costs: Matrix  # (T, K)
    noise: Callable[[np.random.Generator], Vector] = lambda rng: 0.5 + rng.random(T)  # a factor of every cost, mean 1
    limits: tuple[tuple[int, float], ...] = ((0, LIMIT),)  # the limit from each round on
    absent: tuple[int, int, int] = (0, 0, 0)  # an action, and the rounds between which it is away
    added: tuple[int, int] | None = None  # an action, and the round in which it is added
    delay: int = 0
    missing: float = 0.0
    range: tuple[float, float] = (0.0, 2.0)
    phases: tuple[int, ...] = (0, T // 2)  # the rounds in which a phase begins
    near: float = 0.01  # how near to the limit the average is to end


class Run(NamedTuple):
    """One run: what was spent and earned, and the limit, round by round."""

    cost: Vector
    reward: Vector
    limit: Vector
    governed: int = 0  # the decisions of the governor


def constant(rewards: list[float], costs: list[float]) -> tuple[Matrix, Matrix]:
    return np.tile(rewards, (T, 1)), np.tile(costs, (T, 1))


def worlds() -> Iterator[World]:
    half, names = T // 2, ([0.35, 0.6, 0.8], [0.1, 0.5, 0.9])
    rewards, costs = constant(*names)
    costs[half:] *= 2
    yield World("Prices double", "All prices double half-way.", rewards, costs, range=(0.0, 4.0))
    rewards, costs = constant(*names)
    rewards[half:, 2] = 0.0
    yield World("The best action breaks", "The reward of the most expensive action drops to 0 half-way.", rewards, costs)
    rewards, costs = constant(*names)
    yield World(
        "An action leaves and returns",
        "The middle action cannot be taken in the second third.",
        rewards,
        costs,
        absent=(1, T // 3, 2 * T // 3),
        phases=(0, T // 3, 2 * T // 3),
    )
    yield heavy_tails(1.0)
    rewards, costs = constant(*names)
    yield World(
        "Late and missing answers",
        "Answers come 200 decisions late, and 30 % never.",
        rewards,
        costs,
        delay=200,
        missing=0.3,
        phases=(0,),
    )
    rewards, costs = constant(*names)
    wave = 1 + 0.5 * np.sin(2 * np.pi * np.arange(T) / 4000)
    about = "Prices go up and down by half, every 4,000 decisions."
    yield World("Seasons", about, rewards, costs * wave[:, None], phases=(0,))
    rewards, costs = constant([0.35, 0.6, 0.8, 0.75], [0.1, 0.5, 0.9, 0.4])
    yield World("An action is added", "A better action is added half-way.", rewards, costs, added=(3, half))
    rewards, costs = constant(*names)
    yield World(
        "The limit is changed",
        "The limit is lowered half-way, from 0.4 to 0.25.",
        rewards,
        costs,
        limits=((0, 0.4), (half, 0.25)),
    )


def heavy_tails(top: float) -> World:
    """The program of a user whose bills have a heavy tail, with the range (0, top) declared for them."""
    rewards, costs = constant([0.5, 0.6], [0.1, 0.9])
    return World(
        "Heavy tails",
        f"Costs have a Pareto tail (index 1.6); the largest is 200 times the limit, and the declared range is (0, {top:g}).",
        rewards,
        costs,
        noise=lambda rng: np.minimum((rng.pareto(1.6, T) + 1) * 0.6 / 1.6, 80 / 0.9),
        range=(0.0, top),
        phases=(0,),
        near=0.05,
    )


def play(world: World, learner: str, seed: int) -> Run:
    """Play a world by an agent."""
    rng = np.random.default_rng(seed)
    noise, coins, lost = world.noise(rng), rng.random(world.rewards.shape), rng.random(T) < world.missing
    K = world.rewards.shape[1]
    first = [k for k in range(K) if world.added is None or k != world.added[0]]
    limit_of_cost = lewa.at_most("cost", world.limits[0][1], range=world.range)
    agent = lewa.Agent(first, [limit_of_cost], learner=learner, seed=seed)
    limits, (gone, start, stop) = dict(world.limits), world.absent
    cost, reward, limit, waiting = np.empty(T), np.empty(T), np.empty(T), []
    for t in range(T):
        if t in limits and t:
            agent.set_limit("cost", limits[t])
        if world.added and t == world.added[1]:
            agent.add_action(world.added[0])
        decision = agent.pull(available=[k for k in first if k != gone] if start <= t < stop else None)
        k = int(decision.action)
        cost[t], reward[t] = world.costs[t, k] * noise[t], float(coins[t, k] < world.rewards[t, k])
        limit[t] = agent.setup.constraints[0].limit
        waiting.append(decision)
        due = t - world.delay
        if due >= 0 and not lost[due]:
            agent.update(waiting[due], reward=float(reward[due]), cost=float(cost[due]))
        elif due >= 0:
            agent.close(waiting[due])
    governor = agent.status().governor
    return Run(cost, reward, limit, 0 if governor is None else governor.safe)


def optimum(world: World, part: slice) -> float:
    """Return what the best fixed mixture earns a round in a part of a phase."""
    first = int(part.start)
    rewards, costs, limit = world.rewards[part], world.costs[part], [b for t, b in world.limits if t <= first][-1]
    gone, start, stop = world.absent
    there = np.ones(rewards.shape[1], dtype=bool)
    there[gone] = not start <= first < stop
    if world.added and first < world.added[1]:
        there[world.added[0]] = False
    scale = 1.001 * max(float(costs.max()), limit)
    means = 1 - costs.mean(axis=0)[there][None] / scale
    return best_fixed_play(rewards.mean(axis=0)[there], means, [1 - limit / scale]).value


def phases(world: World) -> list[slice]:
    """Return the rounds of each phase after its first tenth."""
    ends = [*world.phases[1:], T]
    return [slice(a + (b - a) // 10, b) for a, b in zip(world.phases, ends, strict=True)]


def row(world: World, runs: list[Run]) -> list[str]:
    """Return the cells of a table: spending over the limit, in all and by eighths, and reward by phases."""
    ratio = [run.cost.sum() / run.limit.sum() for run in runs]
    eighths = [
        [
            part_cost.sum() / part_limit.sum()
            for part_cost, part_limit in zip(np.array_split(run.cost, 8), np.array_split(run.limit, 8), strict=True)
        ]
        for run in runs
    ]
    shares = [float(np.mean([run.reward[part].mean() for run in runs])) / optimum(world, part) for part in phases(world)]
    debt = [float((run.cost - run.limit).sum()) for run in runs]
    kept, near = bool(max(ratio) <= 1 + world.near), abs(float(np.mean(ratio)) - 1) <= world.near
    missed = ["limit"] * (not (kept and near)) + ["reward"] * (min(shares) < 0.97)
    return [
        f"{np.mean(ratio):.3f}",
        f"{max(ratio):.3f}",
        " ".join(f"{x:.2f}" for x in np.mean(eighths, axis=0)),
        f"{max(debt):+.0f}",
        " ".join(f"{x:.3f}" for x in shares),
        f"no: {' and '.join(missed)}" if missed else "yes",
    ]


def by_range(runs: int) -> Iterator[str]:
    """Yield the lines of a table: the cost over the limit for each range that is declared for costs with a heavy tail."""
    yield "| range | default agent: cost/limit | worst run | previous default: cost/limit |"
    yield "|---|---|---|---|"
    for top in RANGES:
        ratios = [
            [run.cost.sum() / run.limit.sum() for run in (play(heavy_tails(top), name, seed) for seed in range(runs))]
            for name in CONTESTANTS[:2]
        ]
        yield f"| (0, {top:g}) | {np.mean(ratios[0]):.3f} | {max(ratios[0]):.3f} | {np.mean(ratios[1]):.3f} |"


def draw(world: World, runs: dict[str, list[Run]], path: Path) -> None:
    """Draw the running average, the debt and the recent window of one run of each contestant."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "lewa"
    figure = Figure(figsize=(10.5, 3.1), layout="constrained")
    axes = figure.subplots(1, 3)
    rounds, limit = np.arange(1, T + 1), runs["auto"][0].limit
    for n, (name, its) in enumerate(runs.items()):
        cost = its[0].cost
        style = {"color": COLOURS[n], "linewidth": 1.8 if name == "auto" else 1.0, "zorder": 3 if name == "auto" else 2}
        axes[0].plot(rounds[::50], (np.cumsum(cost) / rounds)[::50], label=CALLED.get(name, name).replace("`", ""), **style)
        axes[1].plot(rounds[::50], np.cumsum(cost - limit)[::50], **style)
        window = np.convolve(cost, np.ones(WINDOW) / WINDOW, mode="valid")
        axes[2].plot(rounds[WINDOW - 1 :: 50], window[::50], **style)
    for axis, line in zip(axes, (np.cumsum(limit) / rounds, np.zeros(T), limit), strict=True):
        axis.plot(rounds, line, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4, label="limit")
        axis.set_xlim(0, T)
        axis.set_xticks(range(0, T + 1, T // 4), [f"{t:,}" for t in range(0, T + 1, T // 4)])
        axis.tick_params(colors=MUTED, labelsize=8, length=3)
        axis.grid(axis="y", color=FAINT, linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(FAINT)
        axis.set_xlabel("decision", fontsize=8, color=MUTED)
    axes[0].set_ylim(0, 2.5 * LIMIT)
    axes[1].set_ylim(-0.5 * SHOWN_DEBT, SHOWN_DEBT)
    axes[2].set_ylim(0, 2.5 * LIMIT)
    for axis, title in zip(axes, ("Cost, average so far", "Debt", f"Cost, last {WINDOW} decisions"), strict=True):
        axis.set_title(title, fontsize=9.5, loc="left", color=INK)
    curves = axes[0].get_legend_handles_labels()
    figure.legend(*curves, loc="outside lower center", ncols=1 + len(runs), fontsize=8, frameon=False, labelcolor=INK)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def write(runs: int) -> None:
    names = [name for name in CONTESTANTS if name == "auto" or name in learners.ALL]
    text = [INTRODUCTION.format(T=T, runs=runs, LIMIT=LIMIT, WINDOW=WINDOW, SHOWN_DEBT=SHOWN_DEBT)]
    for world in worlds():
        print(world.title, flush=True)
        played = {name: [play(world, name, seed) for seed in range(runs)] for name in names}
        slug = world.title.lower().replace(" ", "-")
        draw(world, played, FIGURES / f"{slug}.svg")
        text += [f"## {world.title}", "", world.about, "", f"![{world.title}](assets/shocks/{slug}.svg)", "", *HEAD]
        text += [f"| {CALLED.get(name, f'`{name}`')} | {' | '.join(row(world, its))} |" for name, its in played.items()]
        text.append("")
    text += ["## The declared range", "", RANGE_TEXT, "", *by_range(runs), ""]
    (ROOT / "docs" / "shocks.md").write_text("\n".join(text))


HEAD = [
    "| agent | cost/limit | worst run | by eighths | largest debt | reward by phase | goals met |",
    "|---|---|---|---|---|---|---|",
]
INTRODUCTION = """# Changing conditions

This page simulates eight changes, each with {T:,} decisions and a limit of {LIMIT} on the average cost unless stated
otherwise, with {runs} runs each. `make shocks` runs the agent as an application would, and writes this page. Costs vary by
half around their mean.

- **cost/limit**: the total spending divided by the allowed amount; 1 is the limit. **worst run**: the largest value of it.
- **by eighths**: the same for each eighth of the decisions.
- **largest debt**: the debt of the worst run at the end, in units of cost; a negative debt is a saving.
- **reward by phase**: the reward of each phase after its first tenth, as a share of the best fixed mixture of that
  period. An agent that overspends can exceed 1.
- **The figures** show the first run of each agent: the average cost so far, the debt, and the average cost of the last
  {WINDOW} decisions. The dashed line is the limit, and a debt of 0. A debt above {SHOWN_DEBT} is outside its panel.
- **goals met**: the average ends within 1 % of the limit (5 % for heavy tails), no run ends above that, and the reward of
  every phase is at least 0.97.
"""
RANGE_TEXT = "This table repeats *Heavy tails* with other declared ranges. The limit is 0.4, the largest cost 80."

if __name__ == "__main__":
    write(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
