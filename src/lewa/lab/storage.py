"""What a study's folder holds, and how it is written so that nothing is lost.

`study.toml` and `versions.json` say what was run by what, `journal.jsonl` gets a line when a run is finished and is never
rewritten, `measures.parquet` is made from it in the end.
"""

import hashlib
import json
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numba
import numpy as np

from lewa.lab.study import Study, parse
from lewa.version import __version__

if sys.platform != "win32":
    import fcntl

Row: TypeAlias = dict[str, Any]

# The columns of measures.parquet, whatever was asked for: null is what was not.
COLUMNS = {
    "id": "string",
    "game": "string",
    "rounds": "int64",
    "floor": "list",
    "learner": "string",
    "settings": "string",
    "parameters": "string",
    "seed": "int64",
    "actions": "int64",
    "measured_on": "string",
    "reward": "double",
    "regret": "double",
    "violation": "list",
    "shortfall": "list",  # the violation before its positive part is taken: what a bound on [E V]+ is about
    "positive_violation": "list",
    "multiplier": "list",
    "largest_multiplier": "list",
    "feasible": "bool",
    "hindsight_value": "double",
    "price": "list",
    "guarantee_regret": "double",
    "guarantee_violation": "list",
    "guarantee_positive_violation": "list",
    "guarantee_kind": "string",
    "guarantee_source": "string",
    "guarantee_holds": "bool",
    "marks": "marks",
    "regret_curve": "list",
    "violation_curve": "curves",  # one per constraint
    "multiplier_curve": "curves",
    "play_curve": "curves",  # one per action, where they are few
}


# What it was run by ------------------------------------------------------------------------------------------------------

NUMBERS: tuple[str, ...] = ("types.py", "kernels", "engine/loops.py", "learners", "games", "measures", "simulate/run.py")
NUMBERS += ("lab/study.py", "lab/run.py", "lab/storage.py")


@cache
def versions() -> dict[str, str]:
    """Everything that numbers depend on besides the study: two folders with the same versions hold the same numbers."""
    return {
        "lewa": __version__,
        "source": _source(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }


def _source() -> str:
    """A hash of the files that numbers come from, so that an edited rule does not go on in an old journal."""
    root = Path(__file__).parent.parent
    found = hashlib.sha256()
    for name in NUMBERS:
        place = root / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def differ(one: dict[str, str], other: dict[str, str]) -> str:
    """'numba 0.61, not 0.62'"""
    names = [name for name in other if one.get(name) != other[name]] or [name for name in one if name not in other]
    return " and ".join(f"{name} {one.get(name, 'of no version')}, not {other.get(name, 'any')}" for name in names)


# The folder --------------------------------------------------------------------------------------------------------------


def begin(out: Path, study: Study) -> None:
    """Write down what is run by what; in a folder that holds a study already it has to be this one."""
    copy, stamp = out / "study.toml", out / "versions.json"
    if not copy.exists():
        if (out / "journal.jsonl").exists():
            raise ValueError(f"{out} holds a journal but not the study it is of: give another folder")
        out.mkdir(parents=True, exist_ok=True)
        write(stamp, json.dumps(versions(), indent=2).encode() + b"\n")
        write(copy, study.text.encode())
        return
    held = parse(copy.read_text(encoding="utf-8"), str(copy))
    if held.model_dump() != study.model_dump():
        raise ValueError(f"{out} holds another study, {held.name!r}: give another folder for {study.name!r}")
    begun = json.loads(stamp.read_text())
    if begun != versions():
        raise ValueError(f"{out} was begun with {differ(begun, versions())}: give another folder, or remove this one")


def write(path: Path, content: bytes) -> None:
    """All of the file or none of it."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class Journal:
    """A line for each finished run, only ever appended to; `rows` is what it says, by id."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._file = path.open("a+b")
        try:
            self._lock()
            self.rows: dict[str, Row] = {}
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # falls with the process, however it ends
            except OSError:
                raise ValueError(f"{self._file.name} is being written by another process: wait for it") from None

    def _read(self) -> None:
        self._file.seek(0)
        whole = 0
        lines = self._file.readlines()
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                self.rows.setdefault(row["id"], row)
            except (ValueError, KeyError, TypeError):
                if number < len(lines):
                    raise ValueError(f"{self._file.name} is damaged at line {number}") from None
                break
            if not line.endswith(b"\n"):  # whole by luck: it was cut at its very end
                del self.rows[row["id"]]
                break
            whole += len(line)
        self._file.truncate(whole)  # a line that was being written when the study was killed

    def append(self, rows: list[Row]) -> None:
        """The rows are on disk when this returns; one that is there already is not written again."""
        new = [row for row in rows if row["id"] not in self.rows]
        self._file.write(b"".join(json.dumps(row).encode() + b"\n" for row in new))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows |= {row["id"]: row for row in new}

    def close(self) -> None:
        """Let others write to it."""
        self._file.close()


def write_measures(path: Path, rows: list[Row]) -> None:
    """The rows as one Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    numbers = pa.list_(pa.float64())
    kinds = {"list": numbers, "marks": pa.list_(pa.int64()), "curves": pa.list_(numbers)}
    schema = pa.schema([(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    write(path, sink.getvalue().to_pybytes())
