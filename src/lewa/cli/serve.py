"""The command `lewa serve`: run the decision service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer

from lewa.cli.shared import app
from lewa.plugins import allow_only
from lewa.version import install

if TYPE_CHECKING:
    from lewa.journal.store import Store

DEFAULT = "sqlite:///lewa.sqlite3"
StoreOption = Annotated[str, typer.Option("--store", help="sqlite:///FILE or postgresql://...", envvar="LEWA_STORE")]


@app.command(epilog="Example: lewa serve --store sqlite:///agents.sqlite3 --port 8000 --key-file admin.key")
def serve(
    store: StoreOption = DEFAULT,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free one, which the log shows.")] = 8000,
    key_file: Annotated[Path | None, typer.Option(help="Write the first admin key to this file, with mode 600.")] = None,
    bind: Annotated[
        str, typer.Option(help="The address to listen on; for any other address put a proxy with TLS in front.")
    ] = "127.0.0.1",
    address: Annotated[
        str | None, typer.Option(help="The address at which other replicas reach this one: http://HOST:PORT.")
    ] = None,
    plugin: Annotated[
        list[str], typer.Option(help="A module whose learners agents may use as MODULE:CLASS; repeat for more.")
    ] = [],  # noqa: B006 (Typer's way)
    lease: Annotated[float, typer.Option(help="Seconds until another replica takes over.", envvar="LEWA_LEASE")] = 3.0,
    metrics_key: Annotated[
        bool, typer.Option("--metrics-key", help="Require a key with the scope read for /metrics, which is open otherwise.")
    ] = False,
) -> None:
    """Serve agents over HTTP, with a page at /; every acknowledged call is saved on disk."""
    try:
        from lewa.serve.run import serve as run
    except ModuleNotFoundError as error:
        raise ValueError(f"the service needs {error.name}: {install('serve')}") from None
    allow_only(plugin)  # names come by HTTP, and to import a module is to run it
    run(store, port, bind=bind, key_file=key_file, address=address, lease=lease, metrics_key=metrics_key)


@contextmanager
def opened(url: str, serving: bool = False, reading: bool = False) -> Iterator["Store"]:
    """Open a store for a command; report an error in one sentence."""
    try:
        from lewa.journal.store import StoreError, open_store
    except ModuleNotFoundError as error:
        raise ValueError(f"the service needs {error.name}: {install('serve')}") from None
    path = Path(unquote(url.removeprefix("sqlite:///")))
    if url.startswith("sqlite:///") and not serving and not path.is_file():
        raise ValueError(f"there is no store {path}; `lewa serve` creates one")
    if url.startswith("sqlite:///") and not serving and not path.stat().st_size:
        raise ValueError(f"{path} is empty, so it is not a store; `lewa serve` makes one of it")
    try:
        store = open_store(url, serving=serving, reading=reading)
        try:
            yield store
        finally:
            store.close()
    except StoreError as error:
        raise ValueError(str(error)) from None
