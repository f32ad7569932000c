"""Measure speed as ratios: variants take turns in one process, on its CPU clock, and the best of several turns counts.

The rulers are loops fused by hand in C (loops.c, built with gcc where there is one) and, where they are installed, the
peers river and pymab. A ratio says how many times the ruler's time a round takes, or how many times faster it is.
"""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from benchmarks.c_loops import KEY, c_library, in_c
from benchmarks.peers import mabwiser_ucb1, pareto_bandit, pymab_exp3, river_ewa, river_exp3
from benchmarks.rounds import FLOOR, coins, plain_coins, rows_of

from lewa import agent as agents
from lewa.blocks import Rounds
from lewa.engine.compile import compile_learner
from lewa.engine.records import Record, Window, new_record
from lewa.feedback import feedback_kind
from lewa.formatting import markdown_table
from lewa.games import Bernoulli
from lewa.kernels import DICE, NATURE, pack
from lewa.learners import ALL, FAMILIES, BanditLewa, Ewa, HpBanditLewa, HpLewa, Learner, Lewa, chosen_for, find
from lewa.simulate.run import play

Variant: TypeAlias = Callable[[int], Callable[[], int]]  # for so many actions, a function that plays some rounds
TURNS = 15
LIST = 1_000  # decisions of a list
COST = 0.015  # of every decision, below the limit
FEW = 500  # rounds of a peer that takes some tenths of a millisecond each
# How many times the round of the paper's learner a learner of this family may take at K = 10 and K = 100. Learners of other
# families and packages are measured without a goal; 0 is no goal either.
GOALS: dict[str, dict[str, tuple[float, float]]] = {
    "LEWA beyond the paper": {"full": (1.3, 1.3), "bandit": (1.3, 1.3)},
    "projections onto estimates": {"full": (0, 4), "bandit": (0, 4)},
    "for practice": {"full": (0, 8), "bandit": (8, 0)},
}


class Row(NamedTuple):
    """One line of the table."""

    what: str
    nanoseconds: float | None  # ours, a round
    ratio: float | None
    goal: str
    met: bool | None

    @property
    def answer(self) -> str:
        """Whether the goal is met; nothing where none was set."""
        return {True: "yes", False: "no", None: "not installed" if self.goal else ""}[self.met]


def best_of(turns: int, *variants: Callable[[], int]) -> list[float]:
    """Return the nanoseconds a round of each variant: they take turns, and return how many rounds they played."""
    best = [np.inf] * len(variants)
    for _ in range(turns):
        for n, variant in enumerate(variants):
            start = time.process_time()
            rounds = variant()
            best[n] = min(best[n], (time.process_time() - start) / rounds * 1e9)
    return best


# Ours --------------------------------------------------------------------------------------------------------------------


def empty(actions: int, mean_constraints: Any = None) -> Record:
    """Return sums at zero, without history."""
    return new_record(0, actions, 1, mean_constraints)


def full(learner: Any, actions: int, rounds: int, first: int = 0) -> Callable[[], int]:
    """Return the batch loop of a full-information learner on rounds in memory, which has played `first` rounds or more."""
    rewards, constraints = rows_of(actions)
    run, again = compile_learner(type(learner)).run, max(1, rounds // len(rewards))
    memory, record, window = pack(learner, learner.start(actions)), empty(actions), Window(0, len(rewards), KEY[DICE:])

    def variant() -> int:
        for _ in range(again):
            run(memory, Rounds(rewards, constraints), window, record)
        return again * len(rewards)

    played = variant()
    while played < first:
        played += variant()
    return variant


def bandit(learner: Any, actions: int, rounds: int, first: int = 0) -> Callable[[], int]:
    """Return the batch loop of a bandit learner on a Bernoulli game drawn lazily, from round `first` on."""
    rewards, constraints = coins(actions)
    run, memory = compile_learner(type(learner)).run, pack(learner, learner.start(actions))
    record, window = empty(actions, constraints), Window(first, rounds, KEY[DICE:])
    nature = Rounds(rewards[np.newaxis], constraints[np.newaxis], key=KEY[NATURE : NATURE + 1])
    if first:
        run(memory, nature, Window(0, first, KEY[DICE:]), record)
    fresh = memory.copy()

    def variant() -> int:
        memory[:] = fresh
        run(memory, nature, window, record)
        return rounds

    variant()
    return variant


def new_agent(actions: int) -> agents.Agent:
    """Return an agent in the user's units, with the learner that it takes by itself."""
    return agents.Agent(range(actions), [agents.at_most("cost", 0.02, range=(0, 0.05))], seed=0)


def pull_and_update(actions: int, rounds: int) -> Callable[[], int]:
    """Return an agent's pull and update."""
    agent, (means, uniforms) = new_agent(actions), plain_coins(actions, rounds)

    def variant() -> int:
        for u in uniforms:
            decision = agent.pull()
            agent.update(decision, reward=1.0 if u < means[decision.action] else 0.0, cost=COST)  # type: ignore[index]
        return rounds

    variant()
    return variant


def in_lists(actions: int, rounds: int) -> Callable[[], int]:
    """Return an agent's pull_many and update_many."""
    agent, (means, uniforms) = new_agent(actions), plain_coins(actions, rounds)
    lists = [uniforms[start : start + LIST] for start in range(0, rounds, LIST)]

    def variant() -> int:
        for some in lists:
            pairs = zip(agent.pull_many(len(some)), some, strict=True)
            rewards = ((decision, 1.0 if u < means[decision.action] else 0.0) for decision, u in pairs)  # type: ignore[index]
            agent.update_many([(decision, {"reward": reward, "cost": COST}) for decision, reward in rewards])
        return rounds

    variant()
    return variant


def tuned(kind: Any, actions: int) -> Learner:
    """Return the learner with its recommended tuning for a million rounds."""
    learner: Learner = kind.tuned(actions, 1_000_000, FLOOR)
    return learner


# The table ---------------------------------------------------------------------------------------------------------------


def length(actions: int, numbers: int = 2_000_000) -> int:
    """Return how many rounds take some tens of milliseconds."""
    return max(200, numbers // actions)


def against_c() -> list[Row]:
    """Compare each batch loop with the C loop of the same learner."""
    rows = []
    for K in (10, 100, 1_000, 10_000):
        learner, probable = tuned(Lewa, K), tuned(HpLewa, K)
        ours = full(learner, K, length(K))
        ruler = in_c("lewa", learner, K, length(K)) if c_library() else None
        times = best_of(TURNS, ours, full(probable, K, length(K)), *([ruler] if ruler else []))
        if ruler:
            rows.append(at_most(f"LEWA against C, K = {K:,}", times[0], times[0] / times[2], 1.5))
        rows.append(at_most(f"High-Probability LEWA against LEWA, K = {K:,}", times[1], times[1] / times[0], 1.3))
    for name, kind, sizes in (
        ("bandit_lewa", BanditLewa, (10, 100)),
        ("hp_bandit_lewa", HpBanditLewa, (10, 100, 10_000)),
    ):
        title = "BanditLEWA" if kind is BanditLewa else "High-Probability BanditLEWA"
        for K in sizes if c_library() else ():
            rounds = 100_000 if kind is BanditLewa else length(K, 1_000_000)
            learner = tuned(kind, K)
            ours_ns, c_ns = best_of(TURNS, bandit(learner, K, rounds), in_c(name, learner, K, rounds))
            rows.append(at_most(f"{title} against C, K = {K:,}", ours_ns, ours_ns / c_ns, 1.3))
    return rows


def beside_the_papers() -> list[Row]:
    """Compare each further learner with the paper's learner that reads as many numbers per round."""
    rows = []
    for name in beyond():
        kind, ruler = find(name), ruler_of(find(name))
        make = full if feedback_kind(ruler) == "full" else bandit
        for K, goal in zip((10, 100), goals_of(name), strict=True):
            rounds = 100_000 if feedback_kind(kind) == "bandit" else length(K, 1_000_000)
            ours, its = best_of(TURNS, *(make(tuned(each, K), K, rounds) for each in (kind, ruler)))
            rows.append(at_most(f"{name} against {name_of(ruler)}, K = {K}", ours, ours / its, goal))
    return rows


def beyond() -> list[str]:
    """Return the learners that declare a purpose for which they are measured, without the boxes of the paper."""
    chosen = [chosen_for(purpose, feedback) for purpose in ("bounds", "practice") for feedback in ("full", "bandit")]
    return [name for names in chosen for name in names if name not in FAMILIES["the paper's boxes"]]


def ruler_of(kind: type[Learner]) -> type[Learner]:
    """Return the box of the paper that reads and writes as many weights per round."""
    if feedback_kind(kind) == "full":
        return Lewa
    return BanditLewa if moves_one_weight(kind) or not kind.weighs_propensities else HpBanditLewa


def moves_one_weight(kind: type[Learner]) -> bool:
    """Return whether a learner draws by itself and changes the weight of the action drawn alone."""
    return hasattr(kind, "choose") and not kind.all_weights_move


def goals_of(name: str) -> tuple[float, float]:
    """Return the goals of the family of a learner, by its feedback."""
    goals = next((goals for family, goals in GOALS.items() if name in FAMILIES[family]), {})
    return goals.get(feedback_kind(find(name)).observes, (0, 0))


def name_of(kind: type[Learner]) -> str:
    """Return the name of a box of the paper."""
    return next(name for name, box in ALL.items() if box is kind)


def growth_of_bandit() -> list[Row]:
    """Measure the time per round with many actions for bandit learners that change one weight."""
    sizes, rows = (10, 10_000, 1_000_000), []
    for name in filter(lambda name: moves_one_weight(find(name)), chosen_for("bounds", "bandit")):
        times = best_of(TURNS, *(bandit(tuned(ALL[name], K), K, 200_000) for K in sizes))
        for K, ns, goal in zip(sizes[1:], times[1:], (6, 25), strict=True):
            rows.append(at_most(f"{name}, K = {K:,} against K = 10", ns, ns / times[0], goal))
    return rows


def against_peers() -> list[Row]:
    """Compare with the libraries that are installed."""
    short, rows = 5_000, list[Row]()
    for library, exp3, goals in (("pymab", pymab_exp3, (100, 70)), ("river", river_exp3, (100, 400))):
        title, batch = f"BanditLEWA, batch, against {library}'s Exp3", partial(_bandit_lewa, rounds=200_000)
        rows += _against(title, library, goals, batch, partial(exp3, rounds=short))
    title = "EWA, batch, against river's EWARegressor"
    rows += _against(title, "river", (150, 500), _ewa, partial(river_ewa, rounds=short))
    exp3_of_river = partial(river_exp3, rounds=short)
    for name, package, ruler, goals in (
        ("river's Exp3", "river", exp3_of_river, (1, 5)),
        ("mabwiser's UCB1", "mabwiser", partial(mabwiser_ucb1, rounds=FEW), (1, 1)),
        ("ParetoBandit's route", "pareto_bandit", partial(pareto_bandit, rounds=FEW), (1, 1)),
    ):
        for what, calls in (("pull and update", pull_and_update), ("lists of 1,000 decisions", in_lists)):
            rows += _against(f"an agent's {what} against {name}", package, goals, partial(calls, rounds=short), ruler)
    return rows


def _bandit_lewa(actions: int, rounds: int) -> Callable[[], int]:
    return bandit(tuned(BanditLewa, actions), actions, rounds)


def _ewa(actions: int) -> Callable[[], int]:
    return full(tuned(Ewa, actions), actions, length(actions))


def _against(title: str, library: str, goals: tuple[int, int], ours: Variant, ruler: Variant) -> Iterator[Row]:
    """Yield a row for K = 10 and one for K = 100; without numbers where the library is not installed."""
    for K, goal in zip((10, 100), goals, strict=True):
        if importlib.util.find_spec(library) is None:
            yield Row(f"{title}, K = {K}", None, None, f"{goal}x faster", None)
            continue
        times = best_of(TURNS, ours(K), ruler(K))
        yield faster(f"{title}, K = {K}", times[0], times[1] / times[0], goal)


def on_two_cores() -> list[Row]:
    """Measure 64 seeds of a play in two threads against one, by the wall clock, in turns."""
    K, rounds, seeds = 100, 300_000, 64
    game, learner = Bernoulli(*coins(K)), BanditLewa.tuned(K, rounds, FLOOR)
    best = {1: np.inf, 2: np.inf}
    for _ in range(4):
        for workers in best:
            start = time.perf_counter()
            play(learner, game, rounds, seeds, workers=workers)
            best[workers] = min(best[workers], time.perf_counter() - start)
    return [faster("64 seeds on 2 cores against 1", best[1] / seeds / rounds * 1e9, best[1] / best[2], 1.8)]


def start_up() -> list[Row]:
    """Measure the import, and the first call of a learner that an earlier process compiled, by the wall clock."""
    clock = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    game = "lewa.games.Bernoulli([0.5] * 10, [[0.7] * 10])"
    first = f"lewa.play(lewa.learners.Lewa.tuned(10, 1000, 0.5), {game}, 1000)"
    times, call = clock.format("import lewa"), f"import lewa; {clock.format(first)}"
    rows = []
    for title, code, goal in (("`import lewa`", times, 0.4), ("first call from a warm cache", call, 1.0)):
        seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
        rows.append(Row(f"{title}: {seconds:.2f} s", None, None, f"below {goal} s", seconds < goal))
    return rows


def at_most(what: str, nanoseconds: float, ratio: float, goal: float) -> Row:
    """Return a row with a goal on time relative to a ruler; none if it is 0."""
    if not goal:
        return Row(what, nanoseconds, ratio, "", None)
    return Row(what, nanoseconds, ratio, f"at most {goal}x", ratio <= goal)


def faster(what: str, nanoseconds: float, ratio: float, goal: float) -> Row:
    """Return a row with a goal on speed relative to a ruler."""
    return Row(what, nanoseconds, ratio, f"{goal}x faster", ratio >= goal)


PARTS = (against_c, beside_the_papers, growth_of_bandit, against_peers, on_two_cores, start_up)


def machine() -> str:
    """Return the machine and the versions of the measurement."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux
        pass
    import numba

    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    for peer, module in (
        ("river", "river"),
        ("pymab", "pymab"),
        ("mabwiser", "mabwiser"),
        ("paretobandit", "pareto_bandit"),
    ):
        if importlib.util.find_spec(module):
            versions += f", {peer} {importlib.metadata.version(peer)}"
    if gcc := shutil.which("gcc"):
        versions += f", gcc {subprocess.check_output([gcc, '-dumpfullversion'], text=True).strip()}"
    return f"{model}, {os.cpu_count()} cores; {versions}"


def markdown(rows: list[Row]) -> str:
    """Return the table for benchmarks/RESULTS.md."""
    cells = []
    for row in rows:
        ns = "" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x" if row.ratio < 10 else f"{row.ratio:,.0f}x"
        cells.append((row.what, ns, ratio, row.goal, row.answer))
    return markdown_table(("what", "ns a round", "ratio", "goal", "met"), cells)
