"""The command `lewa bench`, which was removed."""

from lewa.cli.shared import app


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def bench() -> None:
    """Say where the command went."""
    raise ValueError("`lewa bench` was removed in 0.3.0; `make bench` in a clone of lewa measures speed")
