"""The process: open the store, make the first key, serve until it is told to stop."""

import os
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from lewa.journal.store import Store, StoreError, open_store
from lewa.serve.app import App
from lewa.serve.auth import SCOPES, is_key_of, make_key
from lewa.serve.limits import Limits
from lewa.serve.log import log, take_over
from lewa.serve.protocol import LimitedConnection, Room, most_connections
from lewa.serve.registry import Registry, new_owner

SWITCH = 0.001  # seconds that the event loop waits for a thread that computes
GRACE = 5  # seconds that requests under way have at the end


class Server(uvicorn.Server):
    """Uvicorn, which logs when it takes requests, and says that it stops before it waits for requests under way."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log it once requests are taken."""
        await super().startup(sockets=sockets)
        if self.started:
            log("ready", agents=len(self._app.registry.agents))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: not ready any more, streams end, the rest is finished."""
        self._app.registry.stopping = True
        self._app.events.stop()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def first_key(store: Store, key_file: Path | None) -> str | None:
    """Make the first admin key if there is none: return it, or write it to a file that only its owner reads."""
    there = _secret_in(key_file)  # read first: a replica that writes the file now has put its key into the store before
    foreign = there != "" and not is_key_of(there, store.api_keys())
    if _has_admin(store):  # then the folder of the file may be read-only, or gone
        _log_unwritten(key_file, foreign)
        return None
    if foreign:
        raise ValueError(
            f"{key_file} has no key of this store, maybe one of another store: move it, or name another file for the key"
        )
    token, stored = make_key("first", SCOPES)
    if key_file is None:
        return token if store.put_first_key(stored) else None
    draft = _write_secret(key_file, token)
    try:
        is_first = store.put_first_key(stored)
    except BaseException:
        draft.unlink()
        raise
    if not is_first:  # another replica was faster
        draft.unlink()
        _log_unwritten(key_file, False)
        return None
    draft.replace(key_file)
    log("the first admin key was written", file=str(key_file))
    return None


def _has_admin(store: Store) -> bool:
    return any(key.revoked is None and "admin" in key.scopes for key in store.api_keys())


def _log_unwritten(key_file: Path | None, foreign: bool) -> None:
    if foreign:
        log(f"{key_file} has no key of this store, which has an admin key; `lewa keys add --scope admin` makes another key")
    elif key_file is not None and not key_file.exists():
        log(f"the store has an admin key, so {key_file} is not written; `lewa keys add --scope admin` makes another key")


def _secret_in(path: Path | None) -> str:
    """Return what a file has now; one that cannot be read has something, too."""
    try:
        return "" if path is None else path.read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return str(error)


def _write_secret(path: Path, token: str) -> Path:
    """Write a key beside the path that it is for, readable by its owner only: the path may hold a key that is in force.

    The name is new for each call: replicas in containers may have one folder and the same process number.
    """
    handle, draft = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # with mode 0o600
    with os.fdopen(handle, "w") as file:
        file.write(token + "\n")
    return Path(draft)


def serve(
    url: str,
    port: int = 8000,
    *,
    bind: str = "127.0.0.1",
    key_file: Path | None = None,
    limits: Limits | None = None,
    address: str | None = None,
    lease: float = 3.0,
    metrics_key: bool = False,
) -> None:
    """Serve the agents of a store until SIGTERM or SIGINT."""
    listener = _listen(bind, port)
    port = listener.getsockname()[1]
    owner, here = new_owner(), address or _address(bind, port)
    try:
        store = open_store(url, owner=owner, address=here, serving=True, ttl=lease)
        key = first_key(store, key_file)
    except (StoreError, ValueError, OSError) as error:
        listener.close()
        raise ValueError(str(error)) from None
    if key is not None:
        print(f"The first admin key, shown once: {key}", flush=True)
    take_over()
    sys.setswitchinterval(SWITCH)
    registry = Registry(store, limits or Limits(), owner, here, lease)
    app = App(registry, metrics_key)
    room = Room(registry.limits, most_connections(store.shared))
    config = uvicorn.Config(
        app.build(),
        http=partial(LimitedConnection, room=room),  # type: ignore[arg-type]  # it is called as the class is
        ws="none",
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=75,
        server_header=False,
        date_header=False,
    )
    log("starting", address=here, store=_without_secret(url))
    log("reading the journal and compiling the learners of its agents; /ready answers 200 when this is done")
    server = Server(config, app)
    with suppress(SystemExit):  # Uvicorn's, if the start failed
        server.run(sockets=[listener])
    log("stopped")
    if not server.started:
        raise ValueError(f"the service did not start: {app.failure or 'the log has the reason'}")


def _listen(bind: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind, port))
    except (OSError, TypeError, UnicodeError) as error:  # a name of a host may be no text that a network knows
        listener.close()
        raise ValueError(f"cannot listen on {bind!r}:{port}: {getattr(error, 'strerror', error)}") from None
    return listener


def _address(bind: str, port: int) -> str:
    """Return where other replicas reach this one, unless the caller says otherwise."""
    return f"http://{socket.gethostname() if bind in ('', '0.0.0.0') else bind}:{port}"


def _without_secret(url: str) -> str:
    """Return a URL without the user and the options: both may have a password."""
    scheme, _, rest = url.partition("://")
    server, slash, path = rest.partition("/")  # in PostgreSQL's URLs the user ends before the first slash
    return f"{scheme}://{server.rpartition('@')[2].partition('?')[0]}{slash}{path.partition('?')[0]}"
