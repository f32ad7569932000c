"""Hostile words, numbers, objects and files."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

HUGE, NAN, INFINITY = 10**100, float("nan"), float("inf")
NUMBERS = ["0", "1", "-1", "0.5", "0.6", "0.999", "1e5", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "9" * 100]
NUMBERS += ["-" + "9" * 60, "0x10", "1_000", "", " 3 ", "1,5", "true", "None", "[1]", "9223372036854775808", "\u0664"]
FLOATS = [NAN, INFINITY, -INFINITY, -0.1, 1.1, 1e-320, 1e308, -0.0, 1 + 1e-15, 0.0]
WORDS = ["lewa", "x", "", " ", "a b", "\n", "two\nlines", "[red]x[/red]", "[/]", "'", '"', "\\", "--", "-", "=", ":", ".."]
WORDS += ["/", "../../etc/passwd", "\U0001f600", "\u202e", "e\u0301", "x" * 5000, "%s", "{}", "{0}", "NaN", "a:b", "a=b"]


def word(rng: Random) -> str:
    return rng.choice(WORDS + NUMBERS)


def number(rng: Random) -> str:
    return rng.choice(NUMBERS)


def thing(rng: Random) -> Any:
    """Return an object that does not belong where it is put."""
    pool: list[Any] = [None, True, False, 0, 1, -1, 0.5, HUGE, -HUGE, 2**63, NAN, INFINITY, -INFINITY, 1e308, 1e-320]
    pool += ["", "x", "0.5", "two\nlines", b"x", [], {}, (), [1], [[1, 2], [3]], {"a": 1}, {1: 2}, set(), 1j, object()]
    pool += [range(3), lambda: 0, int, np.float64(0.5), np.int64(1), np.zeros(0), np.zeros((2, 2)), np.array(["a"])]
    pool += [
        np.ma.masked_array([0.5] * 3, [False, True, False]),
        np.ma.masked,
        np.datetime64("NaT"),
        np.array([None, 1], dtype=object),
    ]
    pool += [np.array(1j), [0.5, "x"], [0.5, None], [0.5, NAN], [HUGE, 1], [True, False], (0, 1), (1, 0), (0, 0)]
    pool += [(-1e308, 1e308), (0, 1e-320), (0, INFINITY), ("a", "b"), (0, 1, 2), {"reward": "x"}, {"cost": [1, 2]}]
    return rng.choice(pool)


def mutate(rng: Random, tree: Any) -> Any:
    """Return a copy of a tree of JSON with one leaf or branch replaced, left out or doubled."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        key = rng.choice(list(tree))
        copy = dict(tree)
        if rng.random() < 0.12:
            del copy[key]
        elif rng.random() < 0.05:
            copy[word(rng)] = copy.pop(key)
        else:
            copy[key] = mutate(rng, tree[key])
        return copy
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        at = rng.randrange(len(tree))
        return [*tree[:at], *([] if rng.random() < 0.1 else [mutate(rng, tree[at])]), *tree[at + 1 :]]
    leaves: list[Any] = [None, True, 0, 1, -1, 0.5, HUGE, -HUGE, 2**63, 1e308, "", "x", [], {}, [1], [[]], {"a": 1}, "NaN"]
    return rng.choice([*leaves, NAN, INFINITY, tree, [tree], {"x": tree}])


def corrupt(rng: Random, data: bytes) -> bytes:
    """Return the bytes, with some cut off, overwritten, doubled or inserted."""
    if not data:
        return b""
    at = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + rng.randbytes(rng.randrange(1, 40)) + data[at:]
        case 2:
            size = rng.randrange(1, 40)
            return data[:at] + rng.randbytes(size) + data[at + size :]
        case 3:
            flipped = bytearray(data)
            for _ in range(rng.randrange(1, 6)):
                flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            return bytes(flipped)
        case _:
            return data[:at] + data[at // 2 :]


# Files -------------------------------------------------------------------------------------------------------------------


def npy(array: Any) -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.asanyarray(array), allow_pickle=True)
    return sink.getvalue()


def array(rng: Random) -> Any:
    """Return an array that may be one of rewards or constraints."""
    shapes: Sequence[tuple[int, ...]] = [(6, 3), (6, 3), (6, 3, 1), (6, 3, 2), (6,), (0, 3), (6, 0), (1, 1), (3, 6), ()]
    shape = rng.choice(shapes)
    values = np.random.default_rng(rng.randrange(99)).random(shape)
    kinds: list[Any] = [values, values, values.astype(np.float32), values > 0.5, values * 1e300, values - 1, values * np.nan]
    kinds += [values.astype(np.int8), values.astype("U4"), values.astype(object), values * 1j, values.astype("M8[s]")]
    return rng.choice(kinds)


def header(rng: Random) -> bytes:
    shape = rng.choice(["(6, 3)", "(1000000000, 1000000000)", "(-1, 3)", f"({'9' * 80}, 3)", "6", "'x'", "()", "(6.5, 3)"])
    kind = rng.choice(["'<f8'", "'|O'", "'nonsense'", "[('a', '<f8')]", "'<f99'", "None"])
    text = rng.choice(
        [
            f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n",
            "{",
            "[" * 4000,
            "__import__('os').getcwd()",
            "'" * 3,
            "",
            "{'descr': '<f8'}",
        ]
    )
    version = rng.choice([(1, 0), (1, 0), (2, 0), (3, 0), (9, 9)])
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text.encode() + bytes(144)


def npz(rng: Random) -> bytes:
    sink = io.BytesIO()
    method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name in ("rewards", "constraints", "actions", "constraint_names"):
            if rng.random() < (0.9 if name in ("rewards", "constraints") else 0.2):
                data = npy(array(rng)) if rng.random() < 0.8 else header(rng)
                archive.writestr(f"{name}.npy", corrupt(rng, data) if rng.random() < 0.15 else data)
    data = sink.getvalue()
    if rng.random() < 0.2:  # a password, or a compression that nobody knows
        at, field = rng.choice([(6, 8), (8, 10)])
        changed, value = bytearray(data), rng.choice([1, 9, 97])
        for magic, offset in ((b"PK\x03\x04", at), (b"PK\x01\x02", field)):
            place = data.find(magic)
            while place >= 0:
                changed[place + offset] = value
                place = data.find(magic, place + 4)
        data = bytes(changed)
    return corrupt(rng, data) if rng.random() < 0.3 else data


def rows(rng: Random) -> list[list[str]]:
    """Return a table or a log as text, with some cells that do not belong."""
    actions, is_log = rng.choice([["a", "b"], ["0", "1", "2"], ["a"], ["x:y", "[red]"]]), rng.random() < 0.5
    head = ["round", "action", "reward", rng.choice(["c", "cost", "c1"])] + (["propensity"] if is_log else [])
    body = [
        [str(t), action, f"{rng.random():.3f}", f"{rng.random():.3f}"] + (["0.5"] if is_log else [])
        for t in range(rng.choice([1, 4, 12]))
        for action in ([rng.choice(actions)] if is_log else actions)
    ]
    if rng.random() < 0.2:
        head = ["reward:a", "reward:b", "cost:a", "cost:b"]
        body = [[f"{rng.random():.2f}" for _ in head] for _ in range(5)]
    for _ in range(rng.choice([0, 0, 1, 3])):
        row = rng.choice([head, *body])
        row[rng.randrange(len(row))] = word(rng)
    if rng.random() < 0.1:
        rng.choice(body).append("more")
    return [head, *body]


def csv_text(rng: Random) -> bytes:
    separator = rng.choice([",", ",", ",", ",", ";", "\t", "|"])
    text = "\n".join(separator.join(row) for row in rows(rng)) + "\n"
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"])
    data = text.encode(encoding, errors="replace")
    return corrupt(rng, data) if rng.random() < 0.2 else data


def parquet_bytes(rng: Random) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    head, *body = rows(rng)
    columns: dict[str, Any] = {}
    for name, cells in zip(head, zip(*(row[: len(head)] for row in body), strict=True), strict=False):
        try:
            columns[name] = [float(cell) for cell in cells]
        except ValueError:
            columns[name] = list(cells)
    odd: list[Any] = [[1], {"a": 1}, None, b"\xff", True, float("nan"), 2**62]
    if rng.random() < 0.4 and columns:
        columns[rng.choice(list(columns))] = [rng.choice(odd)] * len(body)
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    data = sink.getvalue()
    return corrupt(rng, data) if rng.random() < 0.3 else data


def data_file(rng: Random, folder: Path) -> str:
    """Write a hostile file of data and return its name."""
    kind = rng.choice(["npz", "npz", "csv", "csv", "csv.gz", "parquet", "nothing", "folder", "other"])
    name = rng.choice(["data", "data", "d a", "[red]", "x\ny"])
    ending = rng.choice(["csv", "npz", "txt", "parquet"]) if kind in ("nothing", "folder", "other") else kind
    path = folder / f"{name}.{ending}"
    match kind:
        case "npz":
            path.write_bytes(npz(rng))
        case "csv":
            path.write_bytes(csv_text(rng))
        case "csv.gz":
            data = gzip.compress(csv_text(rng))
            path.write_bytes(corrupt(rng, data) if rng.random() < 0.4 else data)
        case "parquet":
            path.write_bytes(parquet_bytes(rng))
        case "folder":
            path.mkdir()
        case "other":
            path.write_bytes(rng.randbytes(rng.choice([0, 10, 1000])))
    return path.name


STUDY: dict[str, Any] = {
    "name": "small",
    "rounds": [10, 20],
    "seeds": 1,
    "measures": ["regret", "violation"],
    "games": [{"name": "bernoulli", "floors": [0.5], "parameters": {"rewards": [0.9, 0.5], "constraints": [[0.2, 0.8]]}}],
    "learners": [{"name": "lewa", "settings": {"eta": "0.5 T^(-2/3)"}}],
}


def toml_text(rng: Random) -> bytes:
    """Return a study that is not quite one."""
    tree = STUDY
    for _ in range(rng.choice([1, 1, 2, 4])):
        tree = mutate(rng, tree)
    items = tree.items() if isinstance(tree, dict) else {"x": tree}.items()
    text = "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in items)
    extra = ["", "", "x = " + "[" * 3000, "a = {" * 500, "\x00", "name = 'again'", f"y = {'9' * 5000}", "[[games]]\n"]
    data = (text + rng.choice(extra)).encode(errors="replace")
    return corrupt(rng, data) if rng.random() < 0.2 else data


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return '""'
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)


MODULES = {
    "syntax": "def (:\n",
    "indent": "  x = 1\n y = 2\n",
    "raises": "raise RuntimeError('two\\nlines')\n",
    "asserts": "assert False\n",
    "exits": "import sys; sys.exit(3)\n",
    "quits": "raise SystemExit\n",
    "deep": "def f(): f()\nf()\n",
    "bytes": "\udcff".encode("utf-8", "surrogateescape").decode("latin-1") + "x = (\n",
    "imports": "import a_module_that_is_not_there\n",
    "empty": "",
    "number": "Thing = 3\n",
    "function": "def Thing(): pass\n",
    "plain_class": "class Thing: pass\n",
    "raising_class": "class Thing:\n    def __init__(self, *a): raise ValueError('no')\n",
    "meta": "class M(type):\n    def __getattr__(self, n): raise RuntimeError(n)\nclass Thing(metaclass=M): pass\n",
    "getattr": "def __getattr__(name): raise RuntimeError(name)\n",
    "half_learner": "class Thing:\n    floor = 0.5\n    def start(self, K): pass\n    def learn(self, s, x): pass\n",
}


def module(rng: Random, folder: Path, index: int) -> str:
    """Write a hostile module and return MODULE:CLASS; `index` makes its name new, as modules are imported once."""
    name = rng.choice(list(MODULES))
    file = f"fuzz_{name}_{index}"
    (folder / f"{file}.py").write_text(MODULES[name], encoding="latin-1" if name == "bytes" else "utf-8")
    names = [f"{file}:Thing"] * 8 + [f".{file}:Thing", f"{file}:", f":{file}", file, f"{file}:Thing:x", f"{file}:a.b"]
    others = ["..:x", "os:path", "builtins:int", "json:loads", "typing:Any", "lewa:play", "numpy:ndarray", "a.b.c:d"]
    return rng.choice([*names, *others])
