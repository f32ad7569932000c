"""The version of the package, and the command that installs an extra."""

from collections.abc import Iterator
from contextlib import contextmanager

__version__ = "0.2.0"


def install(extra: str) -> str:
    """Return the command that installs an extra in a clone, because there is no release yet."""
    return f"pip install -e '.[{extra}]' in a clone of lewa"


@contextmanager
def importing(what: str, extra: str) -> Iterator[None]:
    """Say which package is missing for what, and how to install it, if an import within the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(f"{what} needs {error.name}: {install(extra)}") from None
