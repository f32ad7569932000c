"""The commands `lewa keys`: manage the keys of the service."""

import json
import time
from typing import Annotated

import typer
from rich.table import Table

from lewa.cli.options import Json
from lewa.cli.serve import DEFAULT, StoreOption, opened
from lewa.cli.shared import Group, app, out

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
