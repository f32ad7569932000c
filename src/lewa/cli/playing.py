"""Commands that list, play and replay."""

import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import Progress

from lewa import games, learners
from lewa.advice import Choice, advise
from lewa.cli.shared import (
    ActionColumn,
    ChanceColumn,
    DataFile,
    Floors,
    Json,
    LeastColumns,
    MostColumns,
    Names,
    OwnLines,
    RewardColumn,
    RoundColumn,
    Seeds,
    Settings,
    TraceFile,
    app,
    err,
    game_names,
    learner_names,
    out,
    say,
)
from lewa.data.columns import Columns, Quantity
from lewa.data.files import read_data
from lewa.data.log import Log
from lewa.feedback import feedback_kind
from lewa.frontiers import POINTS
from lewa.frontiers import frontier as find_frontier
from lewa.games import Table
from lewa.measures.trace import Trace
from lewa.report.frontier import check_file, print_frontier, write_frontier
from lewa.report.summary import in_units, summary, summary_of_log
from lewa.report.tables import number, numbers, print_summary, table
from lewa.simulate.log_replay import replay_log
from lewa.simulate.run import Interrupted
from lewa.simulate.run import play as play_game
from lewa.theory.guarantees import Setting
from lewa.units import as_number
from lewa.validation import as_floor, nearest


def about(thing: Any) -> str:
    """The first line of a docstring."""
    return (thing.__doc__ or "").strip().splitlines()[0]


@app.command("learners", epilog="Example: lewa learners --json")
def list_learners(as_json: Json = False) -> None:
    """The learners: names, feedback, what kind of guarantee."""
    rows: list[dict[str, Any]] = []
    for name, kind in learners.ALL.items():
        proved = learners.make(name, 10, 100_000, 0.5).guarantees(10, 100_000, Setting())[0]
        shows = feedback_kind(kind).observes
        rows.append({"name": name, "feedback": shows, "guarantee": proved.kind, "about": learners.about(name)})
    if as_json:
        print(json.dumps(rows))
    else:
        cells = [(r["name"], r["feedback"], r["guarantee"] or "none", r["about"]) for r in rows]
        out.print(table("Learners", "name", "feedback", "guarantee", "", rows=cells))
        out.print(
            "NAME+doubling needs no horizon: it starts NAME afresh in epochs that double; NAME+tightened holds NAME to"
        )
        out.print("floors raised by what is proved of its violation, so that in the long run none is missed.")


@app.command("games", epilog="Example: lewa games --floor 0.6 --rounds 10000")
def list_games(
    floor: Annotated[
        list[float] | None, typer.Option("--floor", help="Show what each knows about itself at this floor.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="The horizon it is posed for, where a floor is given.")] = 10_000,
    as_json: Json = False,
) -> None:
    """The games: names and what each knows about itself."""
    rows: list[dict[str, Any]] = []
    for name, kind in games.ALL.items():
        game = kind() if floor is None else kind.for_problem(as_floor(floor), rounds)
        row = {"name": name, "actions": game.actions, "constraints": game.constraints}
        row |= {"setting": game.setting.constraints, "rewards": game.setting.adversary, "about": kind.about}
        if floor is not None:
            row |= {"truth": None if game.mean_constraints is None else game.mean_constraints.tolist()}
            row |= games.facts(game, floor, rounds)._asdict()
        rows.append(row)
    if as_json:
        print(json.dumps(rows))
    elif floor is None:
        cells = [tuple(str(cell) for cell in row.values()) for row in rows]
        out.print(table("Games", "name", "actions", "constraints", "constraints are", "rewards are", "", rows=cells))
        out.print(
            "NAME+delay, NAME+noise, NAME+scale and NAME+dropping are these with a twist, or several: feedback that is"
        )
        out.print(
            "late or never comes, numbers that are lost, ranges that are too wide, actions that drop out and come back."
        )
    else:
        known = ("feasible", "slater", "variation", "value", "price")
        yes = {True: "yes", False: "no", None: "-"}
        cells = [
            (row["name"], yes[row["feasible"]], *(number(row[key]) for key in known[1:4]), numbers(row["price"]))
            for row in rows
        ]
        title = f"What games know about themselves at floor {numbers(floor)} over {rounds:,} rounds"
        names = ("name", "feasible", "Slater's gap", "variation", "best value", "price")
        out.print(table(title, *names, rows=cells, caption="a dash: the game cannot tell, or there is none"))


@app.command(epilog="Example: lewa play bernoulli --learner lewa --learner ewa --floor 0.6 --rounds 10000")
def play(
    game: Annotated[
        str, typer.Argument(help="A game's name, or NAME+TWIST; `lewa games` lists them.", autocompletion=game_names)
    ],
    learner: Names,
    floor: Floors,
    rounds: Annotated[int, typer.Option(help="How long to play.")] = 10_000,
    seeds: Seeds = 8,
    settings: Settings = [],  # noqa: B006 (Typer's way)
    trace: TraceFile = None,
    as_json: Json = False,
) -> None:
    """Play learners against a game."""
    known = games.settings_of(game) or []
    own = [text for text in settings if text.partition("=")[0] in known]  # the others are the learners'
    for_problem = games.make(game, as_floor(floor), rounds, **{name: _whole(value) for name, value in map(_setting, own)})
    others = [text for text in settings if text not in own]
    anybodys = set(known).union(*(learners.settings_of(name) for name in learner if name != "auto"))
    for key in (text.partition("=")[0] for text in others if "auto" not in learner):
        if key not in anybodys:
            raise ValueError(f"{' or '.join([game, *learner])} has no parameter {key!r}{nearest(key, sorted(anybodys))}")
    _play(for_problem, learner, floor, rounds, seeds, others, trace, partial(_show, as_json=as_json), None)


@app.command(epilog="Example: lewa replay table.npz --learner lewa --floor 0.6")
def replay(
    data: DataFile,
    learner: Names,
    floor: OwnLines,
    reward: RewardColumn = None,
    at_most: MostColumns = [],  # noqa: B006 (Typer's way)
    at_least: LeastColumns = [],  # noqa: B006
    action: ActionColumn = None,
    clock: RoundColumn = None,
    propensity: ChanceColumn = None,
    shown: Annotated[str | None, typer.Option("--feedback", help="full or bandit: what the learner is shown.")] = None,
    seeds: Seeds = 8,
    settings: Settings = [],  # noqa: B006 (Typer's way)
    trace: TraceFile = None,
    as_json: Json = False,
) -> None:
    """Replay learners on a table or log."""
    if shown not in (None, "full", "bandit"):
        raise ValueError(f"feedback must be 'full' or 'bandit', got {shown!r}")
    own = read_data(data, Columns(reward, at_most, at_least, action, clock, propensity))
    game, show = own.game, partial(_show, as_json=as_json, units=(own.reward, *own.constraints))
    if len(floor) != game.constraints:
        named = ", ".join(f"{one.name} {one.sense}" for one in own.constraints)
        raise ValueError(f"there must be one line per constraint ({named}), in this order, got {len(floor)}")
    lines = [one.floor(line) for one, line in zip(own.constraints, floor, strict=True)]
    if reward or at_most or at_least:
        warnings.filterwarnings("ignore", "no play meets the floor")  # it is said below, in the user's units
    if isinstance(game, Log):
        _replay_log(game, learner, lines, seeds, settings, trace, show, shown)
    else:
        _play(game, learner, lines, game.length, seeds, settings, trace, show, shown)


@app.command(epilog="Example: lewa frontier queries.csv --round query --action model --reward quality --at-most dollars")
def frontier(
    data: DataFile,
    reward: RewardColumn = None,
    at_most: MostColumns = [],  # noqa: B006 (Typer's way)
    at_least: LeastColumns = [],  # noqa: B006
    action: ActionColumn = None,
    clock: RoundColumn = None,
    propensity: ChanceColumn = None,
    budgets: Annotated[
        list[float],
        typer.Option("--budget", "--floor", help="A line to look at, in the units of the data; repeat."),
    ] = [],  # noqa: B006
    points: Annotated[int, typer.Option(help="How many lines, where none are named.")] = POINTS,
    lines: Annotated[list[str], typer.Option("--line", help="NAME=VALUE: where the line of another constraint stays.")] = [],  # noqa: B006
    learner: Annotated[
        list[str], typer.Option("--learner", help="auto, or a learner's name; repeat.", autocompletion=learner_names)
    ] = ["auto"],  # noqa: B006
    seeds: Seeds = 8,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Also write a figure (.svg, .png, .pdf) or the numbers (.json, .csv).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Reward against budget: the best that each line allows, what one more unit is worth, and what a learner gets there."""
    if out_file is not None:
        check_file(out_file)
    stay = dict(_setting(text, "line") for text in lines)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("frontier", total=None)
        try:
            found = find_frontier(
                data,
                reward=reward,
                at_most=at_most,
                at_least=at_least,
                action=action,
                round=clock,
                propensity=propensity,
                budgets=budgets or None,
                points=points,
                lines={name: as_number(f"the line of {name}", value) for name, value in stay.items()},
                learner=learner[0] if len(learner) == 1 else learner,
                seeds=seeds,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
        except KeyboardInterrupt:
            say("lewa: stopped")
            raise typer.Exit(130) from None
    if out_file is not None:
        write_frontier(found, out_file)
    if as_json:
        print(json.dumps(found.plain()))
    else:
        print_frontier(found, out)


def _play(
    game: Any,
    names: list[str],
    floor: list[float],
    rounds: int,
    seeds: int,
    settings: list[str],
    trace: Path | None,
    show: Callable[[dict[str, Any]], None],
    shown: str | None,
) -> None:
    made = make(names, game.actions, rounds, floor, settings, shown, None if isinstance(game, Table) else game.setting)
    if trace is not None and len(made) > 1:
        raise ValueError(f"a trace is of one learner, got {', '.join(made)}")
    if trace is not None and (not trace.parent.is_dir() or trace.is_dir()):
        raise ValueError(f"a trace is written to a file in a folder that exists, got {trace}")
    traces: dict[str, Trace] = {}
    stopped = False
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        for name, learner in made.items():
            task = bar.add_task(name, total=rounds * seeds)
            try:
                traces[name] = play_game(
                    learner, game, rounds, seeds, trace is not None, progress=partial(bar.advance, task)
                )
            except Interrupted as interrupted:
                stopped = True
                if interrupted.trace is not None:
                    traces[name] = interrupted.trace
                break
    if stopped:
        done = ", ".join(f"{name} {len(run.seeds)} seeds" for name, run in traces.items())
        say(f"stopped; finished: {done or 'nothing'}")
    if trace is not None and traces:
        run = next(iter(traces.values()))
        with trace.open("wb") as file:
            np.savez_compressed(file, plays=run.plays, multipliers=run.multipliers, actions=run.actions)  # type: ignore[arg-type]
    if traces:
        show(summary(traces))
    if stopped:
        raise typer.Exit(130)


def _replay_log(
    log: Log,
    names: list[str],
    floor: list[float],
    seeds: int,
    settings: list[str],
    trace: Path | None,
    show: Callable[[dict[str, Any]], None],
    shown: str | None,
) -> None:
    if shown == "full":
        raise ValueError("a bandit log shows one action a row: feedback must be 'bandit'")
    if trace is not None:
        raise ValueError("a replayed bandit log leaves no trace: the rounds that count differ from seed to seed")
    made = make(names, log.actions, log.rounds, floor, settings, "bandit")
    runs = {name: replay_log(learner, log, seeds) for name, learner in made.items()}
    show(summary_of_log(runs, log, as_floor(floor)))


def _show(result: dict[str, Any], as_json: bool, units: Sequence[Quantity] = ()) -> None:
    if units:
        result = in_units(result, *(one.scale for one in units))
        if result["hindsight"] and not result["hindsight"]["feasible"] and any(one[2:] != (0, 1) for one in units):
            lines = zip(units[1:], result["floor"], strict=True)
            say(f"warning: no play keeps {' and '.join(f'{one.name} {one.sense} {line:g}' for one, line in lines)}")
    if as_json:
        print(json.dumps(result))
    else:
        print_summary(result, out, [one[:2] for one in units[1:]])


def make(
    names: list[str],
    actions: int,
    rounds: int,
    floor: list[float],
    settings: list[str],
    shown: str | None,
    world: Setting | None = None,
) -> dict[str, Any]:
    """The learners asked for; a setting goes to those that know it, and at least one has to."""
    wanted = dict(_setting(text) for text in settings)
    advised: dict[str, dict[str, float]] = {}
    if "auto" in names:
        choice = _advised(shown or "full", actions, rounds, floor, world)
        advised[choice.name] = choice.settings
        names = [choice.name if name == "auto" else name for name in names]
        say(f"auto: {choice.called}")
    known = {name: learners.settings_of(name) for name in names}
    for key in wanted:
        if not any(key in keys for keys in known.values()):
            allowed = sorted(set().union(*known.values()))
            raise ValueError(f"{' or '.join(names)} has no parameter {key!r}{nearest(key, allowed)}")
    made = {}
    for name in names:
        needs = feedback_kind(learners.find(name)).observes
        if shown is not None and shown != needs:
            raise ValueError(f"{name} learns from {needs} feedback, so it cannot be shown {shown} feedback")
        own = {**advised.get(name, {}), **{key: value for key, value in wanted.items() if key in known[name]}}
        made[name] = learners.make(name, actions, rounds, floor, **own)
    return made


def _advised(shown: str, actions: int, rounds: int, floor: list[float], world: Setting | None) -> Choice:
    """For a game what is proved best in its world; for data, of whose world nothing is known, what did best in practice."""
    if world is None or world.constraints == "arbitrary" or world.outside_theory:
        return advise(shown, actions, rounds, floor).practice
    constraints, adversary, corruption = world.constraints, world.adversary, world.corruption
    found = advise(shown, actions, rounds, floor, constraints=constraints, adversary=adversary, corruption=corruption)
    return found.learner


def _setting(text: str, what: str = "setting") -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ValueError(f"a {what} is NAME=VALUE, got {text!r}")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def _whole(value: Any) -> Any:
    """A whole number as one, and true and false as such: some parameters of games count rounds, some are switches."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if isinstance(value, float) and value.is_integer() else value
