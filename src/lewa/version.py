"""The version of the package, and the command that installs an extra."""

__version__ = "0.2.0"


def install(extra: str) -> str:
    """Return the command that installs an extra in a clone, because there is no release yet."""
    return f"pip install -e '.[{extra}]' in a clone of lewa"
