"""The stamp of a learner: a hash of everything that its compiled loop depends on. compile.py explains its use."""

import hashlib
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import get_type_hints

import numpy as np

from lewa.kernels.packing import RULE

UNSAVED = "unsaved"  # the stamp of a class typed at a prompt, which no other process will find again
ROOT = Path(__file__).parent.parent
SOURCES = b"".join(
    file.read_bytes()
    for file in sorted([*ROOT.glob("engine/*.py"), *ROOT.glob("kernels/**/*.py"), ROOT / "feedback.py", ROOT / "blocks.py"])
)


def stamp_of(learner: type) -> str:
    """Return a hash of the engine's and the kernels' sources, and of the code and constants that the rule reaches.

    The hash of the rule is that of the code in memory, which is compiled; its file may have been edited since.
    """
    digest = hashlib.sha256(SOURCES)
    visited: set[int] = set()
    modules: set[str] = set()

    def follow(thing: object) -> None:
        thing = getattr(thing, "py_func", thing)
        if id(thing) in visited:
            return
        visited.add(id(thing))
        if isinstance(thing, FunctionType):
            names = read(thing.__code__)
            closure = [cell.cell_contents for cell in thing.__closure__ or ()]
            for value in [*closure, *(thing.__globals__[name] for name in names if name in thing.__globals__)]:
                follow(value)
                if isinstance(value, ModuleType):
                    for name in names:
                        follow(vars(value).get(name))
        elif isinstance(thing, type) and hasattr(thing, "_fields"):
            modules.add(thing.__module__)
            digest.update(repr(thing._fields).encode())
            for name in RULE:
                follow(getattr(thing, name, None))
            for kind in get_type_hints(thing).values():
                follow(kind)
        elif isinstance(thing, np.ndarray | np.generic):
            digest.update(thing.tobytes())
        elif isinstance(thing, int | float | str | tuple):
            digest.update(repr(thing).encode())

    def read(code: CodeType) -> list[str]:
        digest.update(code.co_code)
        names = list(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names += read(constant)
            else:
                digest.update(repr(constant).encode())
        return names

    follow(learner)
    return UNSAVED if "__main__" in modules else digest.hexdigest()
