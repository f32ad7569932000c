"""Read and write the folder of a study so that no finished run is lost.

`study.toml` and `versions.json` describe the study and the versions, `journal.jsonl` gets a line for each finished run and
is never rewritten, `measures.parquet` is made from it at the end.
"""

import json
import os
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from lewa.lab.measures import COLUMNS, Row
from lewa.lab.study import Study, own_modules, parse
from lewa.sources import fingerprint, fingerprint_of, sources
from lewa.version import __version__

if sys.platform != "win32":
    import fcntl


# What it was run by ------------------------------------------------------------------------------------------------------

EXECUTES = "lewa.lab.execute"  # what plays a run and measures it: all that it imports decides numbers


@cache
def own_fingerprint() -> str:
    """Return a hash of the sources that the numbers depend on, so that an edited rule gets a new journal."""
    root = Path(__file__).parents[2]
    return fingerprint(sources(EXECUTES, root), root)


@cache
def versions(*modules: str) -> dict[str, str]:
    """Return the versions that numbers depend on: the same study with the same versions has the same numbers.

    `modules` are the user's modules that define games and learners.
    """
    return {
        "lewa": __version__,
        "source": own_fingerprint(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "python": platform.python_version(),
        **{f"source of {module}": fingerprint_of(module) for module in modules},
    }


def versions_of(study: Study) -> dict[str, str]:
    """Return the versions that the numbers of a study depend on."""
    return versions(*modules_of(study))


def modules_of(study: Study) -> list[str]:
    """Return the user's modules that define the games and learners of a study."""
    return own_modules((game.name for game in study.games), (learner.name for learner in study.learners))


def differ(first: dict[str, str], second: dict[str, str]) -> str:
    """Return the differences of versions, such as 'numba 0.61, not 0.62'."""
    names = [name for name in second if first.get(name) != second[name]] or [name for name in first if name not in second]
    return " and ".join(f"{name} {first.get(name, 'of no version')}, not {second.get(name, 'any')}" for name in names)


LABELS: Any = {"games": {"__all__": {"label"}}, "learners": {"__all__": {"label"}}}

# The folder --------------------------------------------------------------------------------------------------------------


def begin(out: Path, study: Study) -> None:
    """Write the study and the versions; raise ValueError if the folder has another study or other versions."""
    copy, stamp, here = out / "study.toml", out / "versions.json", versions_of(study)
    if not copy.exists():
        if (out / "journal.jsonl").exists():
            raise ValueError(f"{out} has a journal without its study: give another folder")
        out.mkdir(parents=True, exist_ok=True)
        write(stamp, json.dumps(here, indent=2).encode() + b"\n")
        write(copy, study.text.encode())
        return
    stored = parse(copy.read_text(encoding="utf-8"), str(copy))
    if stored.model_dump(exclude=LABELS) != study.model_dump(exclude=LABELS):
        raise ValueError(f"{out} has another study, {stored.name!r}: give another folder for {study.name!r}")
    begun = read_json(stamp, dict[str, str])
    if begun != here:
        raise ValueError(f"{out} was begun with {differ(begun, here)}: give another folder, or remove this one")
    if stored.model_dump() != study.model_dump():
        write(copy, study.text.encode())  # other labels: no number depends on them


def read_json(path: Path, kind: Any) -> Any:
    """Return the content of a JSON file as this type; raise ValueError if it is damaged."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise ValueError(f"{path} is damaged: {first_line(error)}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{path} is damaged: {' '.join([*map(str, first['loc']), first['msg']])}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if it has no message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def write(path: Path, content: bytes) -> None:
    """Write the file atomically."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class Journal:
    """An append-only file with a line for each finished run; `rows` has the rows by id."""

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
                raise ValueError(f"{self._file.name} is being written by another process: wait until it ends") from None

    def _read(self) -> None:
        self._file.seek(0)
        whole = 0
        lines = self._file.readlines()
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                self.rows.setdefault(row["id"], row)
            except (ValueError, KeyError, TypeError, RecursionError):
                if number < len(lines):
                    raise ValueError(f"{self._file.name} is damaged at line {number}") from None
                break
            if not line.endswith(b"\n"):  # whole by luck: it was cut at its very end
                del self.rows[row["id"]]
                break
            whole += len(line)
        self._file.truncate(whole)  # a line that was being written when the study was killed

    def append(self, rows: list[Row]) -> None:
        """Append rows that are not there yet; they are on disk when this returns."""
        new = [row for row in rows if row["id"] not in self.rows]
        self._file.write(b"".join(json.dumps(row).encode() + b"\n" for row in new))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows |= {row["id"]: row for row in new}

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


# The measures ------------------------------------------------------------------------------------------------------------


def schema() -> Any:
    """Return the schema of measures.parquet, for pyarrow."""
    import pyarrow as pa

    numbers = pa.list_(pa.float64())
    kinds = {"list": numbers, "marks": pa.list_(pa.int64()), "curves": pa.list_(numbers)}
    return pa.schema([(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])


def write_measures(path: Path, rows: list[Row]) -> None:
    """Write the rows as one Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = pa.Table.from_pylist(rows, schema=schema())
    except (pa.ArrowException, TypeError, AttributeError) as error:
        raise ValueError(f"{path.parent} has a damaged journal: {first_line(error)}") from None
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    write(path, sink.getvalue().to_pybytes())


def read_measures(path: Path, columns: list[str] | None = None) -> list[Row]:
    """Return the rows of a Parquet file of measures, or some of their columns; raise ValueError if it is damaged."""
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path, columns=columns)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is damaged: {first_line(error)}") from None
    for field in schema():
        if columns is not None and field.name not in columns:
            continue
        if field.name not in table.column_names:
            raise ValueError(f"{path} is damaged: it has no column {field.name!r}")
        if table.schema.field(field.name).type != field.type:
            raise ValueError(f"{path} is damaged: its column {field.name!r} is not of the type {field.type}")
    if not table.num_rows:
        raise ValueError(f"{path} is damaged: it has no rows")
    rows: list[Row] = table.to_pylist()
    return rows
