"""The command `lewa games`: list the games and the known facts about each."""

from typing import Annotated

import typer

from lewa import games
from lewa.cli.options import Json, whole_number
from lewa.cli.shared import app, out, print_json, say
from lewa.formatting import number, numbers
from lewa.games import Game
from lewa.plugins import GAMES, announced
from lewa.report.tables import table
from lewa.schema import GameRow
from lewa.validation import as_floor

TWISTS = (
    "NAME+delay, NAME+noise, NAME+scale and NAME+dropping add a twist to a game, or several: feedback that comes late or",
    "never, noise in the numbers, a narrower range of numbers, actions that are unavailable at times.",
)
YES = {True: "yes", False: "no", None: "-"}


@app.command("games", epilog="Example: lewa games --floor 0.6 --rounds 10000")
def list_games(
    floor: Annotated[list[float] | None, typer.Option("--floor", help="Show the facts of each game at this floor.")] = None,
    rounds: Annotated[
        int,
        typer.Option(help="The horizon of the games, if a floor is given.", parser=whole_number, metavar="INTEGER"),
    ] = 10_000,
    as_json: Json = False,
) -> None:
    """List the games, including those of installed packages, and the known facts about each."""
    rows = [_row_of(name, kind, floor, rounds) for name, kind in games.ALL.items()]
    for name in announced(GAMES):
        try:
            rows += [] if name in games.ALL else [_row_of(name, games.find(name), floor, rounds)]
        except Exception as error:  # of somebody else's package
            say(f"the game {name} of an installed package cannot be listed: {error}")
    if as_json:
        print_json(rows)
    elif floor is None:
        cells = [tuple(str(cell) for cell in row.values()) for row in rows]
        out.print(table("Games", "name", "actions", "constraints", "constraints are", "rewards are", "", rows=cells))
        for line in TWISTS:
            out.print(line)
    else:
        title = f"Known facts about each game at floor {numbers(floor)} over {rounds:,} rounds"
        columns = ("name", "feasible", "Slater's gap", "variation", "best value", "price")
        caption = "a dash: the value is unknown in advance or does not exist"
        out.print(table(title, *columns, rows=[_facts(row) for row in rows], caption=caption))


def _row_of(name: str, kind: type[Game], floor: list[float] | None, rounds: int) -> GameRow:
    game = kind() if floor is None else kind.for_problem(as_floor(floor), rounds)
    row = _row(name, game)
    if floor is not None:
        mean, facts = game.mean_constraints, games.facts(game, floor, rounds)
        row["truth"] = None if mean is None else mean.tolist()
        row["feasible"], row["slater"], row["variation"], row["value"] = facts[:4]
        row["price"] = None if facts.price is None else list(facts.price)
    return row


def _row(name: str, game: Game) -> GameRow:
    constraints, adversary = game.setting.constraints, game.setting.adversary
    return {
        "name": name,
        "actions": game.actions,
        "constraints": game.constraints,
        "setting": constraints,  # type: ignore[typeddict-item]  # one of three words
        "rewards": adversary,  # type: ignore[typeddict-item]  # one of two words
        "about": game.about,
    }


def _facts(row: GameRow) -> tuple[str, ...]:
    known = (row["slater"], row["variation"], row["value"])
    return row["name"], YES[row["feasible"]], *map(number, known), numbers(row["price"])
