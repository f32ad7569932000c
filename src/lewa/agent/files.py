"""An agent on disk: one JSON object with a checksum; a crash at any moment leaves the old file or the new one."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

FORMAT = "lewa agent"


def write(path: str | os.PathLike[str], plain: Mapping[str, Any]) -> None:
    """Write beside the file, wait until it is on the disk, then put it in the file's place in one step."""
    target = Path(os.path.realpath(path))
    body = text(plain)
    whole = json.dumps({"format": FORMAT, "checksum": _sum(body)})[:-1] + f', "agent": {body}}}\n'
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "x", encoding="utf-8") as file:
            file.write(whole)
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


def read(path: str | os.PathLike[str]) -> Any:
    """What `write` wrote, whole and unharmed; anything else is refused with a sentence."""
    content = Path(path).read_bytes()
    try:
        whole = json.loads(content)
    except ValueError:
        raise ValueError(f"{path} is no saved agent, or only a part of one: it ends or breaks off inside the JSON") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT or "agent" not in whole:
        raise ValueError(f"{path} is not a saved agent: it says no format {FORMAT!r}")
    if _sum(text(whole["agent"])) != whole.get("checksum"):
        raise ValueError(f"{path} is a saved agent that was changed or damaged: its checksum does not fit")
    return whole["agent"]


def text(plain: Any) -> str:
    """JSON without losing a bit: floats as the shortest text that reads back the same, infinite ones as strings."""
    return json.dumps(_finite(plain), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
