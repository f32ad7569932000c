"""The commands of the decision service: `lewa serve`, `agents`, `keys` and `journal`."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer
from rich.table import Table

from lewa.cli.options import Json
from lewa.cli.shared import Group, app, err, out
from lewa.plugins import allow_only
from lewa.version import importing

if TYPE_CHECKING:
    from lewa.journal.rows import AgentRow
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
    with importing("the service", "serve"):
        from lewa.serve.run import serve as run
    allow_only(plugin)  # names come by HTTP, and to import a module is to run it
    run(store, port, bind=bind, key_file=key_file, address=address, lease=lease, metrics_key=metrics_key)


@contextmanager
def opened(url: str, serving: bool = False, reading: bool = False) -> Iterator["Store"]:
    """Open a store for a command; report an error in one sentence."""
    with importing("the service", "serve"):
        from lewa.journal.store import StoreError, open_store
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


@app.command(epilog="Example: lewa agents --store sqlite:///agents.sqlite3")
def agents(store: StoreOption = DEFAULT, as_json: Json = False) -> None:
    """List the agents of a store, and which replica serves each."""
    with opened(store) as place:
        owners = {lease.agent: lease.address for lease in place.leases() if lease.live}
        rows = [
            {"name": agent.name, "records": place.last(agent.id), "since": agent.at / 1e6, "replica": owners.get(agent.id)}
            for agent in place.agents()
        ]
    if as_json:
        print(json.dumps(rows))
        return
    table = Table("agent", "records", "since", "replica")
    for agent in rows:
        since = time.strftime("%Y-%m-%d %H:%M", time.gmtime(float(str(agent["since"]))))
        table.add_row(str(agent["name"]), str(agent["records"]), since, str(agent["replica"] or ""))
    out.print(table)


keys = typer.Typer(cls=Group, help="Keys of the decision service: add, list, revoke.", no_args_is_help=True)
app.add_typer(keys, name="keys")


@keys.command("add", epilog="Example: lewa keys add --scope decide --scope feedback --agents 'router*'")
def add(
    scope: Annotated[list[str], typer.Option("--scope", help="decide, feedback, read or admin; repeat for more.")],
    agents: Annotated[str, typer.Option(help="The agents that the key is for, as a pattern: router*.")] = "*",
    label: Annotated[str, typer.Option(help="A label, such as the name of the user.")] = "",
    rate: Annotated[float, typer.Option(help="The maximum number of requests per second.")] = 10_000.0,
    store: StoreOption = DEFAULT,
) -> None:
    """Create a key and print it once; a running server accepts it within two seconds."""
    from lewa.serve.auth import make_key

    token, stored = make_key(label, tuple(dict.fromkeys(scope)), agents, rate)
    with opened(store) as place:
        place.put_api_key(stored)
    print(token)


@keys.command("list", epilog="Example: lewa keys list --store sqlite:///agents.sqlite3")
def list_keys(store: StoreOption = DEFAULT, as_json: Json = False) -> None:
    """List the keys, without their secrets."""
    with opened(store) as place:
        rows = place.api_keys()
    if as_json:
        print(json.dumps([{name: value for name, value in key._asdict().items() if name != "sha256"} for key in rows]))
        return
    table = Table("id", "label", "scopes", "agents", "rate", "made", "revoked")
    for key in rows:
        days = [time.strftime("%Y-%m-%d", time.gmtime(at / 1e6)) if at else "" for at in (key.at, key.revoked)]
        table.add_row(key.id, key.label, key.scopes, key.agents, f"{key.rate:g}", *days)
    out.print(table)


@keys.command("revoke", epilog="Example: lewa keys revoke 1f3a9c02")
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as shown by `lewa keys list`.")],
    store: StoreOption = DEFAULT,
) -> None:
    """Revoke a key; a running server refuses it within two seconds."""
    with opened(store) as place:
        for stored in place.api_keys():
            if stored.id == key and stored.revoked is None:
                place.put_api_key(stored._replace(revoked=int(time.time() * 1e6)))
                return
    raise ValueError(f"there is no active key {key!r}")


journal = typer.Typer(cls=Group, help="Journals of the decision service: export, verify, import.", no_args_is_help=True)
app.add_typer(journal, name="journal")
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The name of an agent.")]


@journal.command("export", epilog="Example: lewa journal export router --out router.ndjson")
def export(
    agent: Agent,
    target: Annotated[
        Path | None, typer.Option("--out", help=("A .ndjson or .parquet file; standard output by default."))
    ] = None,
    store: StoreOption = DEFAULT,
) -> None:
    """Write the journal of an agent: every record as NDJSON, or one line per decision as Parquet."""
    from lewa.serve.archive import export_lines
    from lewa.serve.export import parquet
    from lewa.serve.storage import load

    with opened(store, reading=True) as place:
        number = _entry(place, agent).id
        if target is not None and target.suffix == ".parquet":
            hosted = load(place, number)
            target.write_bytes(parquet(place.rows(number, until=hosted.seq), hosted.actions, hosted.fields))
        elif target is not None:
            with open(target, "w", encoding="utf-8") as file:
                file.writelines(export_lines(place, number))
        else:
            sys.stdout.writelines(export_lines(place, number))


@journal.command("verify", epilog="Example: lewa journal verify --store sqlite:///agents.sqlite3")
def verify(
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="The name of one agent; all by default.")] = None,
    store: StoreOption = DEFAULT,
    as_json: Json = False,
) -> None:
    """Replay all records, check their checksums, and compare the state with every snapshot."""
    from lewa.serve.archive import verify as check

    with opened(store, reading=True) as place:
        problems = place.problems()
        chosen = place.agents() if agent is None else [_entry(place, agent)]
        results = [check(place, entry) for entry in chosen]
    if as_json:
        print(json.dumps([result._asdict() for result in results]))
        for line in problems:
            err.print(line, highlight=False, soft_wrap=True)
    else:
        for line in [*map(str, results), *problems] or ["there are no agents in this store"]:
            out.print(line, highlight=False, soft_wrap=True)
    if problems or not all(result.sound for result in results):
        raise typer.Exit(1)


@journal.command("import", epilog="Example: lewa journal import router.ndjson --store sqlite:///copy.sqlite3")
def import_journal(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `lewa journal export` wrote.")],
    store: StoreOption = DEFAULT,
) -> None:
    """Import a journal into a store as a new agent, after replaying it; stop the server of a SQLite store first."""
    from lewa.serve.archive import import_lines

    with opened(store, serving=True) as place, open(source, encoding="utf-8") as file:
        name, records = import_lines(place, file)
    out.print(f"{name}: {records} records", highlight=False)


def _entry(place: "Store", name: str) -> "AgentRow":
    """Return the agent of this name."""
    for agent in place.agents():
        if agent.name == name:
            return agent
    raise ValueError(f"there is no agent {name} in this store")
