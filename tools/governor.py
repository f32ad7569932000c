"""How often the learned governor acts, and what it then does: what `make governor` runs.

    python -m tools.governor FOLDER [RUNS]        writes docs/governor.md and its figures

The constants of the governor were frozen before the seeds below were used. Nothing is asserted; the page has the figures.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import lewa
from lewa.figures import COLOURS, INK
from lewa.kernels import keys
from lewa.kernels.guard import MODE, STRETCHES, WALL
from lewa.kernels.random_streams import NATURE
from lewa.theory.learned import repay_level
from lewa.types import Matrix, Vector
from tools import data, shocks
from tools.hostile_costs import cases, play_case

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "assets" / "governor"
SEEDS, T = (7301, 7302, 7303), 10_000  # each has a third of the runs
GRID = [(K, m, slack) for K in (2, 3, 5, 10, 30) for m in (1, 2) for slack in (0.02, 0.05, 0.1, 0.3)]
INNER, GUARDED = "squarecb-lewa", "squarecb-lewa+governed"


class Problem(NamedTuple):
    """Coins: mean rewards and costs of the actions, and the limits that the best action keeps with some slack."""

    rewards: Vector
    costs: Matrix  # (m, K)
    limits: Vector
    about: str
    seed: int


class Run(NamedTuple):
    """A run with the governor and one without; debts are the largest ones."""

    problem: Problem
    acts: bool
    free: float
    governed: float
    reward: float  # of the run without
    change: float  # of the reward, by the governor
    stretches: int  # of the learner with a proof
    nearest: float  # the largest debt, as a share of E(t), at some 70 points of the run without
    curves: tuple[Vector, Vector] = (np.zeros(0), np.zeros(0))  # the debts of a run in which it acts


def problems(seed: int, runs: int) -> Iterator[Problem]:
    """Yield random coins; the dearest actions pay best."""
    rng = np.random.default_rng(seed)
    for n in range(runs):
        K, m, slack = GRID[n % len(GRID)]
        costs = rng.random((m, K))
        rewards = np.clip(0.2 + 0.6 * costs.mean(axis=0) + 0.2 * rng.standard_normal(K), 0, 1)
        limits = np.clip(costs[:, costs.max(axis=0).argmin()] + slack, 0.02, 0.98)
        yield Problem(rewards, costs, limits, f"K = {K}, m = {m}, slack {slack:g}", seed * 10**6 + n)


def compare(problem: Problem, game: Any, floor: Vector, rounds: int, seed: int) -> Run:
    """Play with the governor and without; only where these differ, once more, with every debt."""
    wish: dict[str, Any] = {"rounds": rounds, "seeds": [seed], "workers": 1}
    made = [lewa.learners.make(name, game.actions, rounds, floor) for name in (INNER, GUARDED)]
    free, guarded = (lewa.play(learner, game, **wish) for learner in made)
    levels = repay_levels(game.actions, np.asarray(free.marks, dtype=float))
    debts, reward = free.observed_shortfall[0].max(axis=1), float(free.reward[0, -1])
    nearest, largest = float((debts / levels).max()), float(debts.max())
    same = np.array_equal(free.observed_shortfall, guarded.observed_shortfall)
    if same and np.array_equal(free.reward, guarded.reward):
        return Run(problem, False, largest, largest, reward, 0.0, 0, nearest)
    _, constraints = game.block(keys(seed)[NATURE : NATURE + 1], 0, rounds)[:2]
    curves = []
    for learner in made:
        trace = lewa.play(learner, game, **wish, every_round=True)
        drawn = np.take_along_axis(constraints, np.asarray(trace.actions)[0][:, np.newaxis, np.newaxis], axis=2)[:, :, 0]
        total = np.cumsum(floor - drawn, axis=0)
        assert np.allclose(total[-1], trace.observed_shortfall[0, -1])  # these are the coins of the run
        curves.append(total.max(axis=1))
    change, stretches = float(guarded.reward[0, -1]) - reward, int(guarded.states[0].governor.numbers[STRETCHES])
    return Run(problem, True, curves[0].max(), curves[1].max(), reward, change, stretches, nearest, (curves[0], curves[1]))


def repay_levels(actions: int, t: Vector) -> Vector:
    return np.array([repay_level(0.0, actions, float(x), full=False) for x in t])


def coins(runs: int) -> list[Run]:
    found, start = [], monotonic()
    for seed in SEEDS:
        for problem in problems(seed, runs // len(SEEDS)):
            game = lewa.games.Bernoulli(rewards=problem.rewards, constraints=1 - problem.costs)
            found.append(compare(problem, game, 1 - problem.limits, T, problem.seed))
            if len(found) % 500 == 0:
                acts = sum(run.acts for run in found)
                print(f"{len(found)} of {runs} problems, {monotonic() - start:.0f} s: acts in {acts}", flush=True)
    return found


def on_sets(folder: Path, seeds: int = 2) -> list[Run]:
    """The sets of a folder, in their order and shuffled."""
    found = []
    for one in data.sets(folder) if folder.is_dir() else []:
        for name, game in (("in order", one.game), ("shuffled", data.shuffled(one).game)):
            problem = Problem(np.zeros(0), np.zeros((0, 0)), 1 - one.floor, f"{one.name}, {name}", 0)
            found += [compare(problem, game, one.floor, game.length, 100 + seed) for seed in range(seeds)]
    return found


def by_agents(seed: int, late: int, context: bool, runs: int, rounds: int = 3000) -> tuple[int, float]:
    """Coins with agents, answers up to `late` decisions late, or with a context that decides what actions cost.

    Return in how many runs the governor acts, and the largest debt.
    """
    acts, largest = 0, 0.0
    for problem in problems(seed, runs):
        rng, K, m = np.random.default_rng(problem.seed), problem.rewards.size, problem.limits.size
        limits = [lewa.at_most(f"cost{j}", float(b)) for j, b in enumerate(problem.limits)]
        columns = [lewa.number("x", (-1, 1))] if context else None
        agent: Any = lewa.Agent(list(range(K)), limits, seed=problem.seed, context=columns).warm()
        waiting: list[tuple[int, Any, dict[str, float]]] = []
        for t in range(rounds):
            x = float(rng.uniform(-1, 1))
            decision = agent.pull(context={"x": x} if context else None)
            chances = np.clip(problem.costs[:, int(decision.action)] + (0.2 * x if context else 0), 0, 1)
            values = {f"cost{j}": float(rng.random() < chances[j]) for j in range(m)}
            values["reward"] = float(rng.random() < problem.rewards[int(decision.action)])
            waiting.append((t + int(rng.integers(0, late + 1)), decision, values))
            for due in [item for item in waiting if item[0] <= t]:
                waiting.remove(due)
                agent.update(due[1], **due[2])
        status = agent.status().governor
        acts, largest = acts + (status.safe > 0), max(largest, *status.peak)
    return acts, largest


def infeasible(rounds: int = 20_000, runs: int = 20) -> tuple[float, float, float]:
    """Costs of at least .6 and a limit of .5: mean debts without and with the governor, and runs that end with the proof."""
    problem = Problem(np.array([0.3, 0.6, 0.9]), np.array([[0.6, 0.75, 0.9]]), np.array([0.5]), "", 0)
    game = lewa.games.Bernoulli(rewards=problem.rewards, constraints=1 - problem.costs)
    made = [lewa.learners.make(name, 3, rounds, [0.5]) for name in (INNER, GUARDED)]
    free, guarded = (lewa.play(learner, game, rounds=rounds, seeds=runs) for learner in made)
    debts = [float(trace.observed_shortfall[:, -1, 0].mean()) for trace in (free, guarded)]
    return debts[0], debts[1], float(np.mean([state.governor.numbers[MODE] == WALL for state in guarded.states]))


# The page ----------------------------------------------------------------------------------------------------------------


def attacks(runs: int, rounds: int = 5000) -> list[str]:
    """Return a row for each kind of feedback: hostile costs against a hostile inner learner."""
    rows = []
    for full in (False, True):
        every = cases(full)
        each = max(runs // 2 // len(every), 1)
        found = [play_case(case, rounds, 9000 + seed) for case in every for seed in range(each)]
        beyond, share = max(item.beyond for item in found), max(item.share for item in found)
        broken = sum(item.beyond > 1e-9 or item.share > 1 for item in found)
        rows.append(f"| {'full' if full else 'bandit'} | {len(found):,} | {broken} | {share:.2f} | {beyond:+.3f} |")
    return rows


def summary(what: str, runs: list[Run]) -> str:
    """Return the row of a set of runs."""
    acting = [run for run in runs if run.acts]
    ratios = [run.governed / run.free for run in acting]
    raised, worst = sum(ratio > 1.1 for ratio in ratios), f"{max(ratios):.2f}" if ratios else "none"
    change = sum(run.change for run in runs) / max(sum(run.reward for run in runs), 1)
    walls = sum(run.stretches > 0 for run in runs)
    share = f"{len(acting)} ({len(acting) / len(runs):.2%})"
    return f"| {what} | {len(runs):,} | {share} | {walls} | {raised} | {worst} | {change:+.4%} |"


def draw_nearest(runs: list[Run], path: Path) -> None:
    """How near debts come to the level at which the governor acts."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3))
    nearest = np.sort([run.nearest for run in runs])[::-1]
    axes.step(nearest, np.arange(1, nearest.size + 1) / nearest.size, color=COLOURS[0])
    axes.axvline(1.0, color=INK, linestyle="--", linewidth=1)
    axes.set(yscale="log", xlabel="largest debt, as a share of E(t)", ylabel="share of runs with more", xlim=(0, None))
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def draw_acting(runs: list[Run], path: Path) -> None:
    """The debts of the runs in which it acts: with the governor and without."""
    from matplotlib import pyplot

    acting = sorted((run for run in runs if run.acts), key=lambda run: -run.free)[:4]
    if not acting:
        return
    figure, panels = pyplot.subplots(1, len(acting), figsize=(2.6 * len(acting), 2.8), squeeze=False)
    for axes, run in zip(panels[0], acting, strict=True):
        for curve, label, colour in zip(run.curves, ("without", "with"), COLOURS, strict=False):
            axes.plot(curve, label=label, color=colour, linewidth=1)
        levels = repay_levels(run.problem.rewards.size, np.arange(1.0, T + 1, 50))
        axes.plot(np.arange(0, T, 50), levels, color=INK, linestyle="--", linewidth=1)
        axes.set_title(run.problem.about, fontsize=8)
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def write(folder: Path, runs: int) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    start = monotonic()
    found = coins(runs)
    draw_nearest(found, FIGURES / "nearest.svg")
    draw_acting(found, FIGURES / "acting.svg")
    rows = [summary(f"random coins, {T:,} rounds", found)]
    if on := on_sets(folder):
        rows.append(summary("data sets, in order and shuffled", on))
    played = [
        (world.title, shocks.play(world, "auto", 50 + seed).governed) for world in shocks.worlds() for seed in range(2)
    ]
    acted = sum(n > 0 for _, n in played)
    others = [
        ("answers at once, agents", *by_agents(7401, 0, False, 40)),
        ("answers up to 5 decisions late", *by_agents(7402, 5, False, 40)),
        ("answers up to 40 decisions late", *by_agents(7403, 40, False, 40)),
        ("with a context", *by_agents(7404, 0, True, 40)),
    ]
    print("agents done", flush=True)
    free, guarded, share = infeasible()
    largest = max((run.free for run in found), default=0.0), max((run.governed for run in found), default=0.0)
    ratios = [run.governed / run.free for run in found if run.acts]
    text = PAGE.format(
        runs=len(found),
        seeds=", ".join(map(str, SEEDS)),
        rows="\n".join(rows),
        shocks=len(played),
        acted=acted,
        others="\n".join(f"| {what} | 40 | {acts} | {debt:.0f} |" for what, acts, debt in others),
        attacks="\n".join(attacks(4000)),
        free=free,
        guarded=guarded,
        share=share,
        largest_free=largest[0],
        largest=largest[1],
        median=float(np.median(ratios)) if ratios else 1.0,
        minutes=(monotonic() - start) / 60,
        acting=ACTING if ratios else NONE,
        whole="" if len(found) >= 18_000 else WHOLE,
    )
    (ROOT / "docs" / "governor.md").write_text(text)


WHOLE = """These are fewer than the 18,000 problems of `make governor`, which takes longer:
`RUNS=18000 make governor` plays all of them."""
ACTING = """![Debts of runs in which it acts](assets/governor/acting.svg)

*The runs with the largest debts among those in which it acts: the debt without the governor and with it. Dashed:
E(t).*"""
NONE = "It acts in none of these problems, so there is no run to show."
PAGE = """# How often the governor acts

The [governor that learns what is safe](theory_governor.md) guards every agent whose learner has no theorem. It has to
be silent where nothing is wrong. This page measures that, and what it does where it acts. `make governor` plays the
runs and writes this page. The constants of the governor were frozen before these seeds ({seeds}) were used for the
first time. {whole}

## Random problems

Rewards and costs are coins, with K = 2 to 30 actions, one or two limits, and the limits such that the best single
action keeps them with .02 to .3 to spare; dear actions pay best. Each problem is played twice, by `squarecb-lewa`
with the governor and without, with the same draws. Where the governor does not act, both runs are the same to the
last bit.

| problems | runs | it acts in | proved learner in | debt raised > 10 % | largest debt, with/without | reward |
|---|---|---|---|---|---|---|
{rows}

The largest debt of all runs is {largest_free:.0f} without the governor and {largest:.0f} with it. Where it acts, the
median ratio of the largest debts is {median:.2f}. In {shocks} runs of agents under [changing conditions](shocks.md)
it acts in {acted}.

![How near debts come to the level](assets/governor/nearest.svg)

*The share of runs in which the largest debt exceeds a share of E(t), the level at which the governor begins to repay,
read at 70 rounds of each run.*

{acting}

## Agents: late answers and contexts

| agents, 3,000 decisions | runs | it acts in | largest debt |
|---|---|---|---|
{others}

## Hostile costs and learners

The inner learner takes the dearest action of the round, the prior of the proved learner is wrong, and costs react to
its state (`tools/hostile_costs.py`). Some mixture keeps the limits in every round, as theorem W and theorem V assume.

| feedback | runs | broken bounds | largest share of R(n) that is used | largest debt beyond W(t), below the wall |
|---|---|---|---|---|
{attacks}

## Where nothing is feasible

Three actions cost at least .6 on average, and the limit is .5. Then no promise holds, and every learner overspends.
After 20,000 rounds the debt is {free:.0f} without the governor and {guarded:.0f} with it, and the proved learner
decides in {share:.0%} of the runs: it explores, so it costs a little more. The status warns that no mixture seems to
keep the limit.

All of this took {minutes:.0f} minutes.
"""

if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 18_000)
