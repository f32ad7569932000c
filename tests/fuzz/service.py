"""Hostile command lines for the commands around the service; none of them starts a server."""

import json
import shutil
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from tests.fuzz import hostile
from tests.serve.inside import service
from tests.serve.running import SETUP


@cache
def _store() -> Path:
    """Return the folder of a small store and its journal, which are then spoiled."""
    from lewa.cli.service import opened
    from lewa.serve.archive import export_lines

    folder = Path(mkdtemp(prefix="lewa-fuzz-"))
    with service(folder) as web:
        web.call("POST", "/v1/agents", SETUP)
        web.call("POST", "/v1/agents/router/decide", [{}, {"key": "k"}])
        web.call("POST", "/v1/agents/router/feedback", [{"decision": "router:1", "reward": 1, "cost": 0}])
    with opened(f"sqlite:///{folder}/store.sqlite3") as place:
        (folder / "router.ndjson").write_text("".join(export_lines(place, place.agents()[0].id)))
    return folder


def _url(rng: Random, folder: Path) -> list[str]:
    """Write a store, perhaps a spoiled one, and return the option that names it, or another one."""
    file = folder / "store.sqlite3"
    shutil.copy(_store() / "store.sqlite3", file)
    if rng.random() < 0.4:
        file.write_bytes(rng.choice([hostile.corrupt(rng, file.read_bytes()), b"", b"x" * 5000]))
    others = ["sqlite:///nothing.sqlite3", "sqlite:///.", "sqlite:///", "mysql://x", "postgresql://127.0.0.1:1/x", "", "x"]
    return ["--store", "sqlite:///store.sqlite3" if rng.random() < 0.7 else rng.choice([*others, hostile.word(rng)])]


def keys(rng: Random, folder: Path, index: int) -> list[str]:
    match rng.randrange(3):
        case 0:
            words = [
                "add",
                "--scope",
                rng.choice(["decide", "admin", "x", ""]),
                "--rate",
                rng.choice(["10", *hostile.NUMBERS]),
            ]
            words += ["--label", hostile.word(rng), "--agents", rng.choice(["*", hostile.word(rng)])]
        case 1:
            words = ["list", *(["--json"] if rng.random() < 0.5 else [])]
        case _:
            words = ["revoke", hostile.word(rng)]
    return ["keys", *words, *_url(rng, folder)]


def agents(rng: Random, folder: Path, index: int) -> list[str]:
    return ["agents", *(["--json"] if rng.random() < 0.5 else []), *_url(rng, folder)]


def journal(rng: Random, folder: Path, index: int) -> list[str]:
    name = rng.choice(["router", "router", hostile.word(rng)])
    match rng.randrange(3):
        case 0:
            outs = ["r.ndjson", "r.parquet", "no/r.ndjson", ".", ""]
            words = ["export", name, *(["--out", rng.choice(outs)] if rng.random() < 0.7 else [])]
        case 1:
            words = ["verify", *([name] if rng.random() < 0.5 else []), *(["--json"] if rng.random() < 0.5 else [])]
        case _:
            (folder / "router.ndjson").write_bytes(_lines(rng))
            words = ["import", rng.choice(["router.ndjson"] * 5 + ["nothing", ".", ""]), "--store", "sqlite:///new.sqlite3"]
            return ["journal", *words]
    return ["journal", *words, *_url(rng, folder)]


def _lines(rng: Random) -> bytes:
    """Return a journal that is not quite one."""
    lines = (_store() / "router.ndjson").read_text().splitlines()
    if rng.random() < 0.3:
        return hostile.corrupt(rng, "\n".join(lines).encode())
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(hostile.mutate(rng, json.loads(lines[at])))
    return "\n".join(lines).encode()


def serve(rng: Random, folder: Path, index: int) -> list[str]:
    """Name an option that is refused, so that no server starts; `commands.make` leaves these words as they are."""
    (folder / "text.sqlite3").write_bytes(b"no store" * 1000)
    stores = ["", "x", "mysql://x", "sqlite:///no/such/folder/x", "sqlite:///.", "sqlite:///text.sqlite3"]
    wrong = rng.choice(
        [
            ["--port", rng.choice(["-1", "65536", "x", "", "9" * 100, "1e400", "0.5"])],
            ["--port", "0", "--store", rng.choice([*stores, "postgresql://127.0.0.1:1/x"])],
            ["--port", "0", "--bind", rng.choice(["999.1.1.1", "no such host", "x\ny", "\udcff"])],
            ["--port", "0", "--lease", rng.choice(["x", "", "1,5"])],
            ["--port", "0", "--nonsense"],
            ["--port", "0", "extra"],
        ]
    )
    return ["serve", *wrong]
