"""How fast, as ratios: variants take turns in one process, on its CPU clock, the best of several turns counts.

The rulers are loops fused by hand in C (loops.c, built with gcc where there is one) and, where they are installed, the
peers river and pymab. A ratio says how many times the ruler's time a round takes, or how many times faster it is.
"""

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lewa import agent as agents
from lewa.bench.peers import coins, plain_coins, pymab_exp3, river_ewa, river_exp3
from lewa.blocks import Block, Lazy
from lewa.engine.compile import compile_learner
from lewa.engine.records import Record, Window, new_record
from lewa.feedback import feedback_kind
from lewa.games import Bernoulli
from lewa.kernels import DICE, NATURE, keys, pack
from lewa.learners import ALL, BanditLewa, Ewa, HpBanditLewa, HpLewa, Lewa
from lewa.simulate.player import Player
from lewa.simulate.run import play

FLOOR = 0.6
TURNS = 15
FLAGS = ["-O3", "-march=native", "-fopenmp-simd", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
KEY = keys(3)
# A learner beyond the paper, the paper's learner it is held against, and how many times that one's round it may take at
# K = 10 and K = 100; 0: it is measured, no goal was set.
BEYOND = (
    ("anytime-lewa", "lewa", (1.3, 1.3)),
    ("fixed-share-lewa", "lewa", (1.3, 1.3)),
    ("exp-lewa", "lewa", (0, 0)),
    ("op-ewa", "lewa", (0, 4)),
    ("safe-mixing", "lewa", (0, 4)),
    ("loss-bandit-lewa", "bandit-lewa", (1.3, 1.3)),
    ("lewa-ix", "bandit-lewa", (1.3, 1.3)),
    ("anytime-bandit-lewa", "hp-bandit-lewa", (1.3, 1.3)),
    ("lewa-ucb", "hp-bandit-lewa", (1.3, 1.3)),
    ("bandit-op-ewa", "hp-bandit-lewa", (0, 4)),
)


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
    """Nanoseconds a round of each variant: they take turns, and return how many rounds they played."""
    best = [np.inf] * len(variants)
    for _ in range(turns):
        for n, variant in enumerate(variants):
            start = time.process_time()
            rounds = variant()
            best[n] = min(best[n], (time.process_time() - start) / rounds * 1e9)
    return best


# Ours --------------------------------------------------------------------------------------------------------------------


def empty(actions: int, mean_constraints: Any = None) -> Record:
    """Sums at zero, and no history."""
    return new_record(0, actions, 1, mean_constraints)


def rows_of(actions: int) -> tuple[Any, Any]:
    """Rewards and constraints that fit the cache: the loop is measured, not the memory.

    What pays more keeps less, so that the floor binds in every round and a projection has work to do.
    """
    rng = np.random.default_rng(0)
    height, means = max(1, 100_000 // actions), np.linspace(0.2, 0.9, actions)
    rewards, kept = rng.random((height, actions)), rng.random((height, 1, actions))
    return 0.5 * (1 - means) + 0.5 * rewards, means + 0.2 * (kept - 0.5)


def full(learner: Any, actions: int, rounds: int) -> Callable[[], int]:
    """The batch loop of a full-information learner on rounds in memory."""
    rewards, constraints = rows_of(actions)
    run, again = compile_learner(type(learner)).run, max(1, rounds // len(rewards))
    memory, record, window = pack(learner, learner.start(actions)), empty(actions), Window(0, len(rewards), KEY[DICE:])

    def variant() -> int:
        for _ in range(again):
            run(memory, Block(rewards, constraints), window, record)
        return again * len(rewards)

    variant()
    return variant


def bandit(learner: Any, actions: int, rounds: int) -> Callable[[], int]:
    """The batch loop of a bandit learner on a Bernoulli game drawn lazily."""
    rewards, constraints = coins(actions)
    run, memory = compile_learner(type(learner)).run_lazy, pack(learner, learner.start(actions))
    fresh = memory.copy()
    record, window = empty(actions, constraints), Window(0, rounds, KEY[DICE:])
    nature = Lazy(rewards, constraints, KEY[NATURE : NATURE + 1], np.zeros(1, dtype=np.int64))

    def variant() -> int:
        memory[:] = fresh
        run(memory, nature, window, record)
        return rounds

    variant()
    return variant


def interactive(actions: int, rounds: int) -> Callable[[], int]:
    """One round at a time, through the checked single step."""
    player = Player(tuned(BanditLewa, actions), actions)
    means, uniforms = plain_coins(actions, rounds)

    def variant() -> int:
        for u in uniforms:
            action, propensity = player.choose()
            player.learn(action, propensity, 1.0 if u < means[action] else 0.0, 0.5)
        return rounds

    variant()
    return variant


def deciding(actions: int, rounds: int) -> Callable[[], int]:
    """An agent's pull and update, in the user's units, by the learner it takes by itself."""
    agent = agents.Agent(range(actions), [agents.at_most("cost", 0.02, range=(0, 0.05))])
    means, uniforms = plain_coins(actions, rounds)

    def variant() -> int:
        for u in uniforms:
            decision = agent.pull()
            agent.update(decision, reward=1.0 if u < means[decision.action] else 0.0, cost=0.025)  # type: ignore[index]
        return rounds

    variant()
    return variant


def tuned(kind: Any, actions: int) -> Any:
    """The learner with its recommended tuning for a million rounds."""
    return kind.tuned(actions, 1_000_000, FLOOR)


# C -----------------------------------------------------------------------------------------------------------------------


@cache
def c_library() -> Any:
    """loops.c, built for this machine; None where there is no gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    target = Path(tempfile.mkdtemp()) / "loops.so"
    source = Path(__file__).with_name("loops.c")
    subprocess.run([gcc, *FLAGS, "-shared", "-fPIC", "-o", target, source, "-lm"], check=True)
    return ctypes.CDLL(str(target))


def pointer(array: Any) -> Any:
    """An array as C sees it."""
    return array.ctypes.data_as(ctypes.c_void_p)


def in_c(name: str, learner: Any, actions: int, rounds: int, sums: Any = None) -> Callable[[], int]:
    """The C loop of that name with the learner's parameters; it adds what it measures to `sums`, as RunningSums."""
    call = getattr(c_library(), name)
    numbers = [ctypes.c_double(value) for field, value in learner.parameters.items() if field != "floor"]
    head = [ctypes.c_int(rounds), ctypes.c_int(actions), *numbers, ctypes.c_double(FLOOR)]
    scratch = [np.empty(actions) for _ in range(4 if name == "hp_bandit_lewa" else 2)]
    if name == "lewa":
        rewards, constraints = rows_of(actions)
        world = [pointer(rewards), pointer(constraints), ctypes.c_int(len(rewards))]
    else:
        rewards, constraints = coins(actions)
        world = [pointer(rewards), pointer(constraints), *(ctypes.c_uint64(int(key)) for key in KEY)]
    sums = np.zeros(6) if sums is None else sums
    keep = (rewards, constraints, scratch, sums)  # what C points at must stay alive as long as the variant

    def variant() -> int:
        call(*head, *world, *map(pointer, keep[2]), pointer(sums))
        return rounds

    return variant


# The table ---------------------------------------------------------------------------------------------------------------


def length(actions: int, numbers: int = 2_000_000) -> int:
    """Rounds that take some tens of milliseconds."""
    return max(200, numbers // actions)


def against_c() -> list[Row]:
    """Each batch loop beside the C loop of the same learner."""
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
    """Each learner beyond the paper beside the paper's learner that touches as many numbers a round."""
    rows = []
    for name, ruler, goals in BEYOND:
        make = full if feedback_kind(ALL[ruler]) == "full" else bandit
        for K, goal in zip((10, 100), goals, strict=True):
            rounds = 100_000 if feedback_kind(ALL[name]) == "bandit" else length(K, 1_000_000)
            ours, its = best_of(TURNS, *(make(tuned(ALL[one], K), K, rounds) for one in (name, ruler)))
            rows.append(at_most(f"{name} against {ruler}, K = {K}", ours, ours / its, goal))
    return rows


def growth_of_bandit() -> list[Row]:
    """What a round of a bandit learner that changes one weight costs with many actions."""
    sizes, rows = (10, 10_000, 1_000_000), []
    for name in ("bandit-lewa", "loss-bandit-lewa", "lewa-ix"):
        times = best_of(TURNS, *(bandit(tuned(ALL[name], K), K, 200_000) for K in sizes))
        for K, ns, goal in zip(sizes[1:], times[1:], (6, 25), strict=True):
            rows.append(at_most(f"{name}, K = {K:,} against K = 10", ns, ns / times[0], goal))
    return rows


def against_peers() -> list[Row]:
    """Beside the libraries that are installed."""
    rows = []
    short = 5_000
    for library, ruler, goals in (("pymab", pymab_exp3, (100, 70)), ("river", river_exp3, (100, 400))):
        for K, goal in zip((10, 100), goals, strict=True):
            title = f"BanditLEWA, batch, against {library}'s Exp3, K = {K}"
            if importlib.util.find_spec(library) is None:
                rows.append(Row(title, None, None, f"{goal}x faster", None))
                continue
            times = best_of(TURNS, bandit(tuned(BanditLewa, K), K, 200_000), ruler(K, short))
            rows.append(faster(title, times[0], times[1] / times[0], goal))
    for K, goal in ((10, 150), (100, 500)):
        title = f"EWA, batch, against river's EWARegressor, K = {K}"
        if importlib.util.find_spec("river") is None:
            rows.append(Row(title, None, None, f"{goal}x faster", None))
            continue
        times = best_of(TURNS, full(tuned(Ewa, K), K, length(K)), river_ewa(K, short))
        rows.append(faster(title, times[0], times[1] / times[0], goal))
    for K, goal in ((10, 5), (100, 25)):
        title = f"one interactive round against river's Exp3, K = {K}"
        if importlib.util.find_spec("river") is None:
            rows.append(Row(title, None, None, f"{goal}x faster", None))
            continue
        times = best_of(TURNS, interactive(K, short), river_exp3(K, short))
        rows.append(faster(title, times[0], times[1] / times[0], goal))
    for K, goal in ((10, 1), (100, 5)):
        title = f"an agent's pull and update against river's Exp3, K = {K}"
        if importlib.util.find_spec("river") is None:
            rows.append(Row(title, None, None, f"{goal}x faster", None))
            continue
        times = best_of(TURNS, deciding(K, short), river_exp3(K, short))
        rows.append(faster(title, times[0], times[1] / times[0], goal))
    return rows


def on_two_cores() -> list[Row]:
    """64 seeds of a play in two threads against one, on the wall clock, in turns."""
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
    """Importing the package, and the first call of a learner that an earlier process has compiled; wall clock."""
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
    """A goal on time relative to a ruler; none if it is 0."""
    if not goal:
        return Row(what, nanoseconds, ratio, "", None)
    return Row(what, nanoseconds, ratio, f"at most {goal}x", ratio <= goal)


def faster(what: str, nanoseconds: float, ratio: float, goal: float) -> Row:
    """A goal on speed relative to a ruler."""
    return Row(what, nanoseconds, ratio, f"{goal}x faster", ratio >= goal)


def measure(progress: Callable[[str], None] = lambda title: None) -> list[Row]:
    """The whole table for the machine it runs on: a minute or two."""
    rows: list[Row] = []
    for part in (against_c, beside_the_papers, growth_of_bandit, against_peers, on_two_cores, start_up):
        progress((part.__doc__ or "").rstrip("."))
        rows += part()
    return rows


def machine() -> str:
    """What it was measured on."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):  # not Linux
        pass
    import numba

    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    for peer in ("river", "pymab"):
        if importlib.util.find_spec(peer):
            versions += f", {peer} {importlib.metadata.version(peer)}"
    if gcc := shutil.which("gcc"):
        versions += f", gcc {subprocess.check_output([gcc, '-dumpfullversion'], text=True).strip()}"
    return f"{model}, {os.cpu_count()} cores; {versions}"


def cost_growth(sizes: tuple[int, ...] = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)) -> dict[str, list[float]]:
    """Nanoseconds a round of every learner at each number of actions."""
    found: dict[str, list[float]] = {}
    for name, kind in ALL.items():
        found[name] = []
        for K in sizes:
            make = full if feedback_kind(kind) == "full" else bandit
            rounds = 100_000 if feedback_kind(kind) == "bandit" else max(20, 500_000 // K)
            found[name].append(best_of(7, make(tuned(kind, K), K, rounds))[0])
    return found


def read_bandwidth() -> float:
    """Nanoseconds to read one float64 from memory on one core: the limit of what touches every action's numbers."""
    numbers = np.ones(1 << 25)
    return best_of(5, lambda: int(numbers.sum() > 0) * numbers.size)[0]


def markdown(rows: list[Row]) -> str:
    """The table for benchmarks/RESULTS.md."""
    lines = ["| what | ns a round | ratio | goal | met |", "|---|---|---|---|---|"]
    for row in rows:
        ns = "" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x" if row.ratio < 10 else f"{row.ratio:,.0f}x"
        lines.append(f"| {row.what} | {ns} | {ratio} | {row.goal} | {row.answer} |")
    return "\n".join(lines)
