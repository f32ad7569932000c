"""Send the sources of the user's modules to the workers of a Dask cluster; this needs Dask."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from distributed import WorkerPlugin

from lewa.lab.storage import versions
from lewa.sources import INSTALLED, fingerprint_of, root_of, sources


class ShippedSources(WorkerPlugin):
    """Modules and their source files. A worker that already has the same sources keeps them.

    Modules of installed packages are not sent: install such a package on the workers.
    """

    def __init__(self, prints: dict[str, str], files: dict[str, bytes]) -> None:
        self.prints = prints  # the fingerprint of each module
        self.files = files  # by their place below the folder that they are imported from
        self.name = "lewa-" + "-".join(prints.values())

    @classmethod
    def of(cls, modules: Sequence[str]) -> Self:
        """Read the sources of these modules."""
        roots = {module: root for module in modules if (root := root_of(module)).name not in INSTALLED}
        files = {
            file.relative_to(root).as_posix(): file.read_bytes()
            for module, root in roots.items()
            for file in sources(module, root)
        }
        return cls({module: fingerprint_of(module) for module in roots}, files)

    def setup(self, worker: Any) -> None:
        """Write the sources to a folder of the worker and put it first on the path, unless they are already there."""
        _forget()  # the worker may have had another version before
        if all(_is_here(module, stamp) for module, stamp in self.prints.items()):
            return
        folder = Path(worker.local_directory) / self.name
        for place, content in self.files.items():
            file = folder / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        tops = {Path(place).parts[0].removesuffix(".py") for place in self.files}
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]  # another version, which would be used in place of this one
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        _forget()


def _forget() -> None:
    fingerprint_of.cache_clear()
    versions.cache_clear()


def _is_here(module: str, fingerprint: str) -> bool:
    try:
        return fingerprint_of(module) == fingerprint
    except (ImportError, ValueError):
        return False
