"""Files that cannot be read: each is refused in one sentence, in Python and at the shell, with no traceback."""

import bz2
import gzip
import io
import os
import pickle
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lewa.data.columns import Columns
from lewa.data.files import read_data

RNG = np.random.default_rng(8)
REWARDS, CONSTRAINTS = RNG.random((40, 3)), RNG.random((40, 3, 1))
TABLE = "round,action,reward,c\n1,a,0.5,0.5\n1,b,0.25,0.75\n2,a,0.5,0.5\n2,b,0.25,0.75\n"


def npy(array: object, allow_pickle: bool = False) -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.asanyarray(array), allow_pickle=allow_pickle)
    return sink.getvalue()


def npz(path: Path, method: int = zipfile.ZIP_STORED, **members: object) -> Path:
    """Write an archive; bytes are taken as they are, arrays are written as .npy."""
    given = {"rewards": REWARDS, "constraints": CONSTRAINTS, **members}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, value in given.items():
            archive.writestr(f"{name}.npy", value if isinstance(value, bytes) else npy(value))
    return path


def header(text: str, version: tuple[int, int] = (1, 0), body: bytes = b"") -> bytes:
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text.encode("latin-1") + body


def claims(shape: str, descr: str = "'<f8'") -> bytes:
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n", body=bytes(64))


def patched(path: Path, local: int, central: int, value: int) -> Path:
    """Change a two-byte field of every member, in its local header and in the archive's directory."""
    data = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        at = data.find(magic)
        while at >= 0:
            data[at + offset : at + offset + 2] = struct.pack("<H", value)
            at = data.find(magic, at + 4)
    path.write_bytes(data)
    return path


def broken(path: Path, at: float = 0.5) -> Path:
    """Overwrite some bytes in the middle of the data."""
    data = bytearray(path.read_bytes())
    start = int(len(data) * at)
    data[start : start + 40] = bytes(range(40, 80))
    path.write_bytes(data)
    return path


def cut(path: Path, share: float = 0.6) -> Path:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    return path


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


class Exploit:
    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        return (os.mkdir, ("/tmp/lewa-was-unpickled",))


def parquet_of(path: Path, **columns: object) -> Path:
    base: dict[str, object] = {"round": [1, 1], "action": ["a", "b"], "reward": [0.5, 0.2], "c": [0.5, 0.1]}
    parquet.write_table(pa.table({**base, **columns}), path)
    return path


DAMAGED = "cannot be read and may be truncated or damaged: "
BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    # Archives of arrays
    "an encrypted member": (lambda d: patched(npz(d / "x.npz"), 6, 8, 1), f"x.npz {DAMAGED}.*encrypted"),
    "an unknown compression": (lambda d: patched(npz(d / "x.npz"), 8, 10, 97), f"x.npz {DAMAGED}.*compression"),
    "a broken zlib stream": (lambda d: broken(npz(d / "x.npz", zipfile.ZIP_DEFLATED)), f"x.npz {DAMAGED}"),
    "a broken bzip2 stream": (lambda d: broken(npz(d / "x.npz", zipfile.ZIP_BZIP2)), f"x.npz {DAMAGED}"),
    "a broken lzma stream": (lambda d: broken(npz(d / "x.npz", zipfile.ZIP_LZMA)), f"x.npz {DAMAGED}"),
    "a wrong checksum": (lambda d: broken(npz(d / "x.npz")), f"x.npz {DAMAGED}"),
    "a cut archive": (lambda d: cut(npz(d / "x.npz")), f"x.npz {DAMAGED}.*zip"),
    "an empty file": (lambda d: written(d / "x.npz", b""), f"x.npz {DAMAGED}.*zip"),
    "text": (lambda d: written(d / "x.npz", "rewards"), f"x.npz {DAMAGED}.*zip"),
    "a pickle": (lambda d: written(d / "x.npz", pickle.dumps(Exploit())), f"x.npz {DAMAGED}.*zip"),
    "a bare array": (lambda d: written(d / "x.npz", npy(REWARDS)), f"x.npz {DAMAGED}.*zip"),
    "no magic": (lambda d: npz(d / "x.npz", rewards=b"nothing at all"), f"x.npz {DAMAGED}.*magic"),
    "no header": (lambda d: npz(d / "x.npz", rewards=npy(REWARDS)[:9]), f"x.npz {DAMAGED}"),
    "half an array": (lambda d: npz(d / "x.npz", rewards=npy(REWARDS)[:300]), r"rewards has the shape \(40, 3\)"),
    "a header that is no dictionary": (lambda d: npz(d / "x.npz", rewards=header("[1, 2\n")), f"x.npz {DAMAGED}"),
    "a header that calls": (lambda d: npz(d / "x.npz", rewards=header("__import__('os')\n")), f"x.npz {DAMAGED}"),
    "a header that is nested": (lambda d: npz(d / "x.npz", rewards=header("[" * 5000 + "\n")), f"x.npz {DAMAGED}"),
    "a header without end": (lambda d: npz(d / "x.npz", rewards=header("'''{'descr': 1}\n")), f"x.npz {DAMAGED}"),
    "a header of another version": (lambda d: npz(d / "x.npz", rewards=header("{}\n", (9, 9))), f"x.npz {DAMAGED}"),
    "a huge shape": (lambda d: npz(d / "x.npz", rewards=claims("(1000000, 1000000)")), "shape"),
    "a shape of a hundred digits": (lambda d: npz(d / "x.npz", rewards=claims(f"({'9' * 100}, 3)")), f"x.npz {DAMAGED}"),
    "a negative shape": (lambda d: npz(d / "x.npz", rewards=claims("(-4, -2)")), f"x.npz {DAMAGED}"),
    "a type that is none": (lambda d: npz(d / "x.npz", rewards=claims("(4, 2)", "'nonsense'")), f"x.npz {DAMAGED}"),
    "Python objects": (
        lambda d: npz(d / "x.npz", rewards=npy(np.array([[Exploit()]], dtype=object), allow_pickle=True)),
        "rewards of x.npz must be numbers, got Python objects, which are never loaded",
    ),
    "no rows": (lambda d: npz(d / "x.npz", rewards=np.zeros((0, 3))), r"rewards must have the shape .*got \(0, 3\)"),
    "no actions": (lambda d: npz(d / "x.npz", rewards=np.zeros((40, 0))), "rewards must have the shape"),
    "no constraints": (lambda d: npz(d / "x.npz", constraints=np.zeros((40, 3, 0))), "constraints must have the shape"),
    "complex numbers": (
        lambda d: npz(d / "x.npz", rewards=REWARDS * 1j),
        "must be numbers, got complex128",
    ),
    "texts": (lambda d: npz(d / "x.npz", rewards=np.full((40, 3), "a")), "rewards of x.npz must be numbers, got <U1"),
    "dates": (
        lambda d: npz(d / "x.npz", rewards=np.zeros((40, 3), "M8[D]")),
        "must be numbers, got datetime64",
    ),
    "records": (lambda d: npz(d / "x.npz", rewards=np.zeros(40, "f8,f8")), "rewards of x.npz must be numbers, got"),
    "other members": (
        lambda d: written(d / "x.npz", zipped({"a.npy": npy(REWARDS)})),
        r"x.npz must hold rewards \(T, K\) and constraints \(T, K, m\), got a",
    ),
    "not a number": (
        lambda d: npz(d / "x.npz", rewards=np.full((40, 3), np.nan)),
        "rewards must be finite numbers in",
    ),
    # Compressed text
    "a cut gzip": (lambda d: cut(written(d / "x.csv.gz", gzip.compress(TABLE.encode() * 40))), f"x.csv.gz {DAMAGED}"),
    "a broken gzip": (lambda d: broken(written(d / "x.csv.gz", gzip.compress(RNG.bytes(900)))), f"x.csv.gz {DAMAGED}"),
    "no gzip": (lambda d: written(d / "x.csv.gz", TABLE), f"x.csv.gz {DAMAGED}.*gzip"),
    "bzip2 for gzip": (lambda d: written(d / "x.csv.gz", bz2.compress(TABLE.encode())), f"x.csv.gz {DAMAGED}.*gzip"),
    "a zip for gzip": (lambda d: written(d / "x.csv.gz", zipped({"x.csv": TABLE.encode()})), f"x.csv.gz {DAMAGED}.*gzip"),
    "an unknown method of gzip": (
        lambda d: written(d / "x.csv.gz", b"\x1f\x8b\x07" + gzip.compress(TABLE.encode())[3:]),
        f"x.csv.gz {DAMAGED}.*compression method",
    ),
    "zlib without gzip": (lambda d: written(d / "x.csv.gz", zlib.compress(TABLE.encode())), f"x.csv.gz {DAMAGED}.*gzip"),
    "an empty gzip": (lambda d: written(d / "x.csv.gz", gzip.compress(b"")), "x.csv.gz is empty"),
    # Text
    "an empty text": (lambda d: written(d / "x.csv", ""), "x.csv is empty"),
    "blank lines": (lambda d: written(d / "x.csv", "\n\n  \n"), "x.csv is empty"),
    "names only": (lambda d: written(d / "x.csv", "round,action,reward,c\n"), "x.csv has no rows"),
    "semicolons": (
        lambda d: written(d / "x.csv", TABLE.replace(",", ";").replace(".", ",")),
        "x.csv cannot be read: its columns seem to be separated by ';'; save it with ',' between columns",
    ),
    "tabs": (lambda d: written(d / "x.csv", TABLE.replace(",", "\t")), "separated by a tab"),
    "rows of other lengths": (lambda d: written(d / "x.csv", TABLE + "3,a\n"), f"x.csv {DAMAGED}.*[Cc]olumns"),
    "two columns of one name": (
        lambda d: written(d / "x.csv", TABLE.replace("action", "c")),
        "x.csv has two columns named",
    ),
    "another encoding": (
        lambda d: written(d / "x.csv", TABLE.replace("a,0.5", "\xe4,0.5").encode("latin-1")),
        "the column action of x.csv is not in UTF-8",
    ),
    "names in another encoding": (
        lambda d: written(d / "x.csv", TABLE.replace("reward", "gr\xf6\xdfe").encode("latin-1")),
        "the names of its columns are not in UTF-8",
    ),
    "UTF-16": (lambda d: written(d / "x.csv", TABLE.encode("utf-16")), "x.csv "),
    "bytes": (lambda d: written(d / "x.csv", bytes(range(256)) * 4), "x.csv "),
    "zeros": (lambda d: written(d / "x.csv", bytes(1000)), "x.csv "),
    "numbers of a hundred digits": (
        lambda d: written(d / "x.csv", TABLE.replace("0.25", "9" * 100)),
        r"reward must lie in \[0, 1\], got 1e\+100 in row 2",
    ),
    "numbers beyond all": (
        lambda d: written(d / "x.csv", TABLE.replace("0.25", "1e999")),
        "the column reward of x.csv must hold finite numbers",
    ),
    # Parquet
    "a cut parquet": (lambda d: cut(parquet_of(d / "x.parquet")), f"x.parquet {DAMAGED}"),
    "a broken parquet": (lambda d: broken(parquet_of(d / "x.parquet"), 0.9), f"x.parquet {DAMAGED}"),
    "no parquet": (lambda d: written(d / "x.parquet", TABLE), f"x.parquet {DAMAGED}"),
    "lists in cells": (
        lambda d: parquet_of(d / "x.parquet", reward=[[1], [2]]),
        "the column reward of x.parquet must hold numbers",
    ),
    "records in cells": (
        lambda d: parquet_of(d / "x.parquet", action=[{"a": 1}, {"a": 2}]),
        "the column action of x.parquet must hold text, numbers or dates, got",
    ),
    "empty cells": (lambda d: parquet_of(d / "x.parquet", reward=[None, 0.5]), "has a missing cell in row 1"),
    "dates for numbers": (
        lambda d: parquet_of(d / "x.parquet", reward=np.array(["2024-01-01"] * 2, dtype="M8[ns]")),
        "the column reward of x.parquet must hold numbers",
    ),
    # No such file
    "nothing": (lambda d: d / "x.csv", "there is no file .*x.csv"),
    "a folder": (lambda d: d, "is a folder: name a .npz, .csv, .csv.gz or .parquet file in it"),
    "a folder that is called a table": (lambda d: folder(d / "x.npz"), "x.npz is a folder"),
    "another kind": (
        lambda d: written(d / "x.txt", TABLE),
        "a table must be a .npz, .csv, .csv.gz or .parquet file, got x.txt",
    ),
    "a long name": (lambda d: d / f"{'x' * 5000}.csv", "there is no file .*: File name too long"),
    "a loop of links": (lambda d: loop(d / "x.csv"), "there is no file .*x.csv"),
}


def zipped(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return sink.getvalue()


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_in_one_sentence(what: str, tmp_path: Path) -> None:
    make, sentence = BAD[what]
    path = make(tmp_path)
    with pytest.raises(ValueError, match=sentence) as refusal:
        read_data(path)
    assert "\n" not in str(refusal.value)
    assert not Path("/tmp/lewa-was-unpickled").exists()


def test_a_header_that_python_warns_about_is_only_refused(tmp_path: Path) -> None:
    file = npz(tmp_path / "x.npz", rewards=claims("(4, 2)", "'\\k'"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match=DAMAGED):
            read_data(file)
    assert not said


@pytest.mark.parametrize("what", BAD)
def test_at_the_shell_it_is_one_line_and_status_2(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lewa import cli

    path = BAD[what][0](tmp_path)
    monkeypatch.setattr(sys, "argv", ["lewa", "frontier", str(path)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert error.startswith("lewa: ")
    assert error.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for the superuser")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", TABLE)
    path.chmod(0)
    with pytest.raises(ValueError, match=r"x.csv cannot be read, .*: Permission denied"):
        read_data(path)


def test_wide_columns_with_another_separator_are_recognised(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", "quality_a,quality_b,usd_a,usd_b\n1,2,3,4\n2,3,4,5\n")
    sentence = "x.csv has no column 'quality'; wide columns are named NAME:ACTION, so quality_a would be quality:a"
    with pytest.raises(ValueError, match=sentence):
        read_data(path, Columns("quality", "usd"))


def test_a_column_that_nobody_asks_for_may_hold_anything(tmp_path: Path) -> None:
    tags = [["x"], ["y", "z"]]
    assert read_data(parquet_of(tmp_path / "x.parquet", tags=tags)).game.actions == 2


def test_quoted_names_may_hold_semicolons(tmp_path: Path) -> None:
    text = TABLE.replace("c\n", '"c;d;e;f;g"\n', 1)
    data = read_data(written(tmp_path / "x.csv", text), Columns("reward", at_least="c;d;e;f;g=0..1"))
    assert data.constraints[0].name == "c;d;e;f;g"
