"""The command `lewa agents`: list the agents of a store."""

import json
import time

from rich.table import Table

from lewa.cli.options import Json
from lewa.cli.serve import DEFAULT, StoreOption, opened
from lewa.cli.shared import app, out


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
