"""Commands about learners and games: list them, check one of your own, compile them in advance."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import groupby
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from lewa import checks, games, learners
from lewa.agent import Agent, LearnerOptions, at_most
from lewa.checks.laws import Result
from lewa.choice import choose_learner
from lewa.cli.options import Json, learner_names, whole
from lewa.cli.shared import app, out, print_json, progress_bar, say
from lewa.feedback import feedback_kind
from lewa.formatting import number, numbers
from lewa.games import Game
from lewa.plugins import GAMES, LEARNERS, announced, import_class
from lewa.report.tables import table
from lewa.schema import GameRow, LearnerRow
from lewa.simulate.run import play
from lewa.theory.setting import Setting
from lewa.validation import as_floor

Row = TypeVar("Row", LearnerRow, GameRow)
WRAPPERS = (
    "NAME+doubling needs no horizon: it restarts NAME in epochs of doubling length. NAME+tightened raises the floors of",
    "NAME by its proved violation, so that in the long run no floor is missed. NAME+governed plays a safe action",
    "(--set safe=ACTION) whenever one more decision could take a debt beyond its bound.",
)


@app.command("learners", epilog="Example: lewa learners --json")
def list_learners(as_json: Json = False) -> None:
    """List the learners, including those of installed packages, with their feedback and kind of guarantee."""
    rows = [_learner(name) for name in learners.ALL] + list(_installed(LEARNERS, learners.ALL, _learner))
    if as_json:
        print_json(rows)
        return
    families = {**learners.FAMILIES, "of installed packages": {row["name"] for row in rows} - set(learners.ALL)}
    for family, members in families.items():
        listed = [row for row in rows if row["name"] in members]
        cells = [(row["name"], row["feedback"], row["guarantee"] or "none", row["about"]) for row in listed]
        if cells:
            out.print(table(f"Learners: {family}", "name", "feedback", "guarantee", "", rows=cells))
    for line in WRAPPERS:
        out.print(line)


def _installed(group: str, known: Collection[str], row: Callable[[str], Row]) -> Iterator[Row]:
    """Yield a row for each learner or game of an installed package."""
    for name in announced(group):
        try:
            if name not in known:
                yield row(name)
        except Exception as error:  # of somebody else's package
            kind = "learner" if group == LEARNERS else "game"
            say(f"the {kind} {name} of an installed package cannot be listed: {error}")


def _learner(name: str) -> LearnerRow:
    proved = learners.make(name, 10, 100_000, 0.5).guarantees(10, 100_000, Setting())[0]
    return {
        "name": name,
        "feedback": "bandit" if feedback_kind(learners.find(name)).is_bandit else "full",
        "guarantee": proved.kind,
        "about": learners.about(name),
    }


TWISTS = (
    "NAME+delay, NAME+noise, NAME+scale and NAME+dropping add a twist to a game, or several: feedback that comes late or",
    "never, noise in the numbers, a narrower range of numbers, actions that are unavailable at times.",
)
YES = {True: "yes", False: "no", None: "-"}


@app.command("games", epilog="Example: lewa games --floor 0.6 --rounds 10000")
def list_games(
    floor: Annotated[list[float] | None, typer.Option("--floor", help="Show the facts of each game at this floor.")] = None,
    rounds: Annotated[int, whole("The horizon of the games, if a floor is given.")] = 10_000,
    as_json: Json = False,
) -> None:
    """List the games, including those of installed packages, and the known facts about each."""
    row = partial(_game, floor, rounds)
    rows = [row(name) for name in games.ALL] + list(_installed(GAMES, games.ALL, row))
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


def _game(floor: list[float] | None, rounds: int, name: str) -> GameRow:
    kind: type[Game] = games.find(name)
    game = kind() if floor is None else kind.for_problem(as_floor(floor), rounds)
    row: GameRow = {
        "name": name,
        "actions": game.actions,
        "constraints": game.constraints,
        "setting": game.setting.constraints,  # type: ignore[typeddict-item]  # one of three words
        "rewards": game.setting.adversary,  # type: ignore[typeddict-item]  # one of two words
        "about": game.about,
    }
    if floor is not None:
        mean, facts = game.mean_constraints, games.facts(game, floor, rounds)
        row["truth"] = None if mean is None else mean.tolist()
        row["feasible"], row["slater"], row["variation"], row["value"] = facts[:4]
        row["price"] = None if facts.price is None else list(facts.price)
    return row


def _facts(row: GameRow) -> tuple[str, ...]:
    known = (row["slater"], row["variation"], row["value"])
    return row["name"], YES[row["feasible"]], *map(number, known), numbers(row["price"])


@app.command(epilog="Example: lewa check my_learner:MyLearner")
def check(
    learner: Annotated[str, typer.Argument(help="The name of a learner or a game, or MODULE:CLASS of your own.")],
) -> None:
    """Run the checks that every learner or game must pass on a class of your own."""
    kind = find(learner)
    results = checks.check(kind)
    failures = [result for result in results if result.sentence]
    for law, group in groupby(sorted(failures, key=lambda result: result.law), key=lambda result: result.law):
        _print_failure(law, list(group))
    if len(failures) < len(results):
        out.print(Text("ok", style="green").append(f"   {len(results) - len(failures)} checks", style="default"))
    out.print(f"{len(results)} checks, {len(failures)} failed")
    if failures:
        raise typer.Exit(1)


def find(name: str) -> Any:
    """Return the class at MODULE:CLASS, of any kind, or the learner or game with this name."""
    if ":" not in name:
        return games.find(name) if name in games.names() else learners.find(name)
    kind = import_class(name)
    try:
        learns = hasattr(kind, "learn")
    except Exception as error:  # a class of the user's may do anything when it is looked at
        raise ValueError(f"{name} cannot be examined: {type(error).__name__}: {error}") from None
    return learners.find(name) if learns else kind


def _print_failure(law: str, results: list[Result]) -> None:
    """Print a broken law once, with the first example that shows it."""
    first, *others = results
    more = f"; and {len(others)} other example{'s' if len(others) > 1 else ''}" if others else ""
    line = Text("FAIL", style="red").append(f" {law} ({first.example}{more}): {first.sentence}", style="default")
    out.print(line, highlight=False, soft_wrap=True)


@app.command(epilog="Example: lewa warm squarecb-lewa bandit-lewa")
def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="The names of learners; default: the learners that auto can choose.",
            autocompletion=learner_names,
        ),
    ] = None,
) -> None:
    """Compile learners in advance, so that the first request of a process does not wait."""
    chosen = names or [choose_learner(kind, 2, None, 0.5).name for kind in ("bandit", "full")]
    for name in chosen:
        learners.find(name)  # refuse a wrong name before anything is compiled
    with progress_bar():
        for name in chosen:
            play(name, "bernoulli", rounds=10, floor=0.5)
            feedback = feedback_kind(learners.find(name)).observes
            known = learners.settings_of(name.removesuffix("+governed"))  # an agent has the governor itself
            settings = {"safe": 0, "margin": 0.1} if "margin" in known else {}
            options = LearnerOptions(name, settings=settings)
            agent = Agent(["a", "b"], [at_most("cost", 0.5)], horizon=10, learner=options, seed=0)
            decision = agent.pull()
            values = {"reward": [1.0, 0.0], "cost": [0.5, 0.5]} if feedback == "full" else {"reward": 1.0, "cost": 0.5}
            agent.update(decision, **values)
            agent.status()
            agent.warm()  # lists too
            out.print(f"{name} is compiled", highlight=False, markup=False)


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def bench() -> None:
    """Say where the command went."""
    raise ValueError("`lewa bench` was removed in 0.3.0; `make bench` in a clone of lewa measures speed")
