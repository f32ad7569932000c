"""The commands `lewa journal`: export a journal, verify it, import it into another store."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import Json
from lewa.cli.serve import DEFAULT, StoreOption, opened
from lewa.cli.shared import Group, app, err, out

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
        number = _number(place.agents(), agent)
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
        chosen = [entry for entry in place.agents() if agent in (None, entry.name)]
        if agent is not None and not chosen:
            raise ValueError(f"there is no agent {agent} in this store")
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


def _number(agents: list, name: str) -> int:  # type: ignore[type-arg]
    for agent in agents:
        if agent.name == name:
            return int(agent.id)
    raise ValueError(f"there is no agent {name} in this store")
