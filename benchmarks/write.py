"""Measure, and write RESULTS.md, the plot of cost against the number of actions, and what other pages quote: `make bench`.

`python -m benchmarks.write --quick FOLDER` tries in one turn, with few actions, whether everything runs; its numbers are no
measurement, so they are written to the folder. A part that fails is left out of the table, named at the end, and makes the
status 1.
"""

import argparse
import sys
import traceback
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from benchmarks import measure as bench
from benchmarks.growth import FIRST_PHASE, LEAST, SIZES, SLOW, costs_of, read_bandwidth
from benchmarks.measure import Row, machine, markdown
from benchmarks.quote import write_quotes

from lewa.learners import ALL

HERE = Path(__file__).parent
# The figure shows these; the table has all.
DRAWN = ("lewa", "hp-lewa", "op-ewa", "paced-hedge", "bandit-lewa", "hp-bandit-lewa", "squarecb-lewa", "exp3")
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5ea8", "#c98a1b", "#5b6770", "#2a9d8f")


# Why a goal may be missed: what the time of that row is made of.
WHY = {
    "against C": "C keeps everything in one pass and in registers; ours keeps the play, the rule and the measures apart",
    "an agent's": "an agent checks and converts every value and keeps averages, bands, a debt and a record of each decision",
    "Exp3": "a round waits for one draw, one division and one exponential in a row, and is then within a fifth of C's",
    "squarecb": "it keeps a ridge regression for each action, and solves for the play that fits the scores in every round",
    "EWARegressor": "the sweep over all actions is one exponential each, near what C takes",
    "against LEWA": "it keeps the running mean of the constraints, one more array to read and to write",
    "2 cores": "two threads share the memory and the lock of the interpreter between blocks",
    "import": "two thirds of it are NumPy and Numba",
    "first call": "the compiled loop is read from disk and linked",
}


def plot(found: dict[str, list[float]], sizes_of: tuple[int, ...], limit: float, folder: Path) -> None:
    """Time a round against K, with the time it takes to read what a round shows from memory."""
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    sizes = np.array(sizes_of, dtype=float)
    axes.loglog(sizes, 2 * limit * sizes, color="0.7", linestyle="--", linewidth=1)
    middle = sizes[min(4, len(sizes) - 1)]
    limit_at = (middle, 2 * limit * middle)
    axes.annotate("reading rewards and constraints", limit_at, (10, -14), textcoords="offset points", color="0.5")
    ends: list[float] = []
    drawn = {name: found[name] for name in DRAWN if np.isfinite(found[name]).any()}
    by_last = sorted(drawn.items(), key=lambda item: np.nan_to_num(item[1][-1], nan=np.inf))
    for colour, (name, times) in zip(cycle(COLOURS), by_last, strict=False):
        axes.loglog(sizes, times, color=colour, linewidth=1.6, marker="o", markersize=3)
        last = float(np.array(times)[np.isfinite(times)][-1])
        height = max(last, ends[-1] * 1.9 if ends else 0)  # labels stand apart where the lines end together
        ends.append(height)
        axes.annotate(name, (sizes[-1] * 1.25, height), color=colour, annotation_clip=False, va="center")
    axes.set(xlabel="actions K", ylabel="nanoseconds a round", xlim=(1.6, sizes[-1] * 1.1))
    axes.set_title("What a round costs, by learner", loc="left", fontsize=10)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"growth.{kind}", dpi=160, bbox_inches="tight")


def parts() -> dict[str, Callable[[], list[Row]]]:
    """Return the parts of the first table by what they say that they do."""
    return {(part.__doc__ or "").rstrip("."): part for part in bench.PARTS}


def measure_all(sizes: tuple[int, ...]) -> tuple[list[Row], dict[str, list[float]], list[str]]:
    """Return the rows of both tables, and the names of what failed; its traceback is printed."""
    rows: list[Row] = []
    found: dict[str, list[float]] = {}
    failed: list[str] = []
    for title, part in parts().items():
        print(title, flush=True)
        try:
            rows += part()
        except Exception:
            traceback.print_exc()
            failed.append(title)
    for name in ALL:
        print(f"growth: {name}", flush=True)
        try:
            found[name] = costs_of(name, sizes)
        except Exception:
            traceback.print_exc()
            found[name] = [float("nan")] * len(sizes)
            failed.append(name)
    return rows, found, failed


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description="Measure, and write RESULTS.md and its figure.")
    parser.add_argument("--quick", metavar="FOLDER", type=Path, help="only try whether everything runs")
    folder: Path | None = parser.parse_args().quick
    sizes: tuple[int, ...] = SIZES
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        bench.TURNS, sizes = 1, SIZES[:2]
    rows, found, failed = measure_all(sizes)
    write(rows, found, sizes, folder or HERE)
    if folder is None and not failed:
        write_quotes()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def write(rows: list[Row], found: dict[str, list[float]], sizes: tuple[int, ...], folder: Path) -> None:
    """Write the tables and the figure."""
    limit = read_bandwidth()
    plot(found, sizes, limit, folder)
    head = f"| learner | {' | '.join(f'K = {K:,}' for K in sizes)} |\n|---|{'---:|' * len(sizes)}"
    body = "\n".join(
        f"| {name} | " + " | ".join("" if np.isnan(time) else f"{time:,.0f}" for time in times) + " |"
        for name, times in found.items()
    )
    missed = [row for row in rows if row.met is False]
    misses = "\n".join(
        f"- {row.what}: the goal is {row.goal}"
        + (f", measured {row.ratio:.3g}x" if row.ratio else "")
        + next((f": {why}" for part, why in WHY.items() if part in row.what), "")
        + "."
        for row in missed
    )
    text = f"""# Measured speed

Written by `make bench` on {machine()}.

Times are nanoseconds of one core's CPU clock (start-up and two cores: wall clock), the best of several turns that the
variants of a row take in one process. LEWA's are of the loop alone, on rounds in the cache; BanditLEWA's contain the coins.
The C loops are in `benchmarks/loops.c`, fused by hand, built with gcc -O3 -march=native.
A ratio "against C" is our time over C's; "faster" is the peer's time over ours. Ours and C's keep the same sums of reward
and violation.

{markdown(rows)}

## Goals that were missed

{misses or "None."}

## How far to trust this table

It is one run on a shared virtual machine, and rows near their goal fall on either side of it from run to run.

## What a round costs as actions grow

Nanoseconds a round; the dashed line is the time to read a round's rewards and constraints from memory ({limit:.2f} ns a
number). The bandit learners that change one weight a round draw and update in a tree; the others touch every action. A
learner that first takes every action once, or explores, is timed after that. A cell is empty where this phase takes more
than {FIRST_PHASE:g} s, or where {LEAST} rounds would take more than {SLOW:g} s.

![time a round against the number of actions, for some of the learners](growth.png)

{head}
{body}
"""
    (folder / "RESULTS.md").write_text(text)


if __name__ == "__main__":
    main()
