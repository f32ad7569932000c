"""Measure `lewa frontier` and `lewa replay` on a log of many rows: python -m tools.large_log FOLDER ROWS.

The log is written to the folder, unless it is there. Each command runs in a process of its own; what it took is printed:
processor time, which is most of the wall time, and the peak of its memory.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ACTIONS = np.array(["large", "medium", "small"])
PROPENSITY = np.array([0.5, 0.3, 0.2], dtype=np.float32)
QUALITY = np.array([0.9, 0.7, 0.5], dtype=np.float32)
DOLLARS = np.array([3, 2, 1], dtype=np.float32)
GROUP, GROUPS = 1 << 20, 8  # rows of a row group, and row groups of a file
COLUMNS = ["--reward", "quality", "--at-most", "dollars"]
COMMANDS = {
    "frontier": ["frontier", *COLUMNS],
    "replay": ["replay", *COLUMNS, "--budget", "2", "--seeds", "1"],
}
KINDS = {"action": pa.string(), "quality": pa.uint8(), "dollars": pa.float32(), "propensity": pa.float32()}
SCHEMA = pa.schema(list(KINDS.items()))


def write(folder: Path, rows: int) -> None:
    """Write a log in which three actions have drawn as their propensities say."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for n, start in enumerate(range(0, rows, GROUP * GROUPS)):
        with parquet.ParquetWriter(folder / f"part.{n}.parquet", SCHEMA) as file:
            for first in range(start, min(start + GROUP * GROUPS, rows), GROUP):
                file.write_table(part(rng, min(GROUP, rows - first)), row_group_size=GROUP)


def part(rng: np.random.Generator, rows: int) -> pa.Table:
    """Draw a row group."""
    a = np.searchsorted(PROPENSITY.cumsum(), rng.random(rows, np.float32)).clip(0, 2).astype(np.int8)
    quality = (rng.random(rows, np.float32) < QUALITY[a]).astype(np.uint8)
    dollars = np.round(DOLLARS[a] * (0.5 + rng.random(rows, np.float32)), 2).astype(np.float32)
    action = pa.DictionaryArray.from_arrays(pa.array(a), pa.array(ACTIONS)).cast(pa.string())
    return pa.table([action, quality, dollars, PROPENSITY[a]], schema=SCHEMA)


def measure(folder: Path, name: str) -> str:
    """Run a command and return what it took, in words."""
    process = subprocess.Popen([sys.executable, "-m", "lewa", *COMMANDS[name], str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"lewa {name} failed")
    return f"lewa {name}: {used.ru_utime + used.ru_stime:.0f} s of processor time, {used.ru_maxrss / 1e3:.0f} MB at most"


def main() -> None:
    """Write the log and measure."""
    folder, rows = Path(sys.argv[1]), int(float(sys.argv[2]))
    if not folder.exists():
        write(folder, rows)
    for name in sys.argv[3:] or COMMANDS:
        print(measure(folder, name), flush=True)


if __name__ == "__main__":
    main()
