"""The version of the package, and how an extra of it is installed."""

__version__ = "0.2.0"


def install(extra: str) -> str:
    """Return the command that installs an extra: in a clone, as long as there is no release."""
    return f"pip install -e '.[{extra}]' in a clone of lewa"
