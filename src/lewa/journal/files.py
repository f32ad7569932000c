"""An agent on disk: one JSON object with a checksum; a crash at any moment leaves the old file or the new one."""

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from glob import escape
from math import isfinite
from pathlib import Path
from typing import Any

FORMAT = "lewa agent"
Plain = dict[str, Any]  # a JSON object that is read
JsonObject = dict[str, object]  # one that is written
PART = 1000  # entries of a list that are written at a time


def write(path: str | os.PathLike[str], plain: JsonObject) -> None:
    """Write beside the file, wait until it is on the disk, then put it in the file's place in one step."""
    target = Path(os.path.realpath(path))
    body = to_json(plain)
    text = json.dumps({"format": FORMAT, "checksum": _checksum(body)})[:-1] + f', "agent": {body}}}\n'
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name has to be on the disk too
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_parts(path: str | os.PathLike[str]) -> None:
    """Remove what processes that were killed in `write` left beside the file; no other process may be writing it."""
    target = Path(os.path.realpath(path))
    for beside in target.parent.glob(f".{escape(target.name)}.*.part"):
        beside.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> Plain:
    """Return the content that `write` wrote; raise ValueError for other, truncated or damaged files."""
    content = Path(path).read_bytes()
    try:
        saved = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not a saved agent, or is truncated: it is not complete JSON") from None
    if not isinstance(saved, dict) or saved.get("format") != FORMAT or not isinstance(saved.get("agent"), dict):
        raise ValueError(f"{path} is not a saved agent: it has no format {FORMAT!r}")
    agent: Plain = saved["agent"]
    if _checksum(to_json(agent)) != saved.get("checksum"):
        raise ValueError(f"{path} is a saved agent that was changed or damaged: its checksum does not match")
    return agent


def to_json(plain: object) -> str:
    """Return JSON without losing a bit: floats as the shortest text that reads back the same, infinite ones as strings."""
    try:
        return json.dumps(plain, allow_nan=False)
    except ValueError:  # a number that is not finite, which is rare
        return json.dumps(_finite(plain), allow_nan=False)


def json_parts(value: object) -> Iterator[str]:
    """Yield the text of `to_json` in parts: another thread can run between two of them, and not while one is made."""
    if isinstance(value, dict) and value:
        for n, (name, part) in enumerate(value.items()):
            yield f"{', ' if n else '{'}{json.dumps(name)}: "
            yield from json_parts(part)
        yield "}"
    elif isinstance(value, list) and len(value) > PART:
        for n in range(0, len(value), PART):
            yield (", " if n else "[") + to_json(value[n : n + PART])[1:-1]
        yield "]"
    else:
        yield to_json(value)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
