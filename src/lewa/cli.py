"""The command line. Every command answers bad input with one sentence and exit status 2."""

import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

import lewa
from lewa import checks, games, learners
from lewa.advise import Choice, advise
from lewa.frontier import POINTS
from lewa.frontier import frontier as find_frontier
from lewa.games import Table
from lewa.games.data import Columns, Quantity
from lewa.games.files import read_data
from lewa.games.log import Log
from lewa.measures.guarantees import Setting, checked
from lewa.play import Interrupted
from lewa.play import play as play_game
from lewa.replay import replay_log
from lewa.rounds import Trace, as_floor, feedback, nearest
from lewa.show.frontier import check_file, print_frontier, write_frontier
from lewa.show.summary import in_units, promise, summary, summary_of_log
from lewa.show.tables import number, numbers, print_summary, table
from lewa.units import as_number

app = typer.Typer(help="Online decisions under long-term constraints.", no_args_is_help=True, pretty_exceptions_enable=False)
WIDE = 130  # columns where the output is no terminal, so that tables do not fold
out = Console(width=None if sys.stdout.isatty() else WIDE, emoji=False)  # names stay as they are
err = Console(stderr=True, emoji=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def _starting(words: Iterable[str], start: str) -> list[str]:
    """What a shell offers to complete a word with."""
    return [word for word in words if word.startswith(start)]


def _learner_names(incomplete: str) -> list[str]:
    return _starting(["auto", *learners.ALL, *learners.PRINTED_TUNING], incomplete)


def _game_names(incomplete: str) -> list[str]:
    inside, plus, _ = incomplete.rpartition("+")
    return _starting([f"{inside}+{twist}" for twist in games.TWISTS] if plus else games.ALL, incomplete)


Names = Annotated[
    list[str], typer.Option("--learner", help="A learner's name; repeat for more.", autocompletion=_learner_names)
]
Floors = Annotated[list[float], typer.Option("--floor", help="What must be met on average; one per constraint.")]
Settings = Annotated[
    list[str], typer.Option("--set", help="NAME=VALUE: a parameter, of the game's too, or an option of the tuning.")
]
Seeds = Annotated[int, typer.Option(help="How many independent runs.")]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write every play, multiplier and action to this .npz.")]
DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A .csv(.gz) or .parquet, or a .npz with rewards (T, K) and constraints (T, K, m)."),
]
OwnLines = Annotated[
    list[float], typer.Option("--floor", "--budget", help="The line, in the units of the data; one per constraint.")
]
RewardColumn = Annotated[str | None, typer.Option("--reward", help="The column of rewards: NAME or NAME=LOW..HIGH.")]
MostColumns = Annotated[list[str], typer.Option("--at-most", help="A column whose average is to be small, likewise.")]
LeastColumns = Annotated[list[str], typer.Option("--at-least", help="A column whose average is to be large, likewise.")]
ActionColumn = Annotated[str | None, typer.Option("--action", help="The column of actions.")]
RoundColumn = Annotated[str | None, typer.Option("--round", help="The column of rounds.")]
ChanceColumn = Annotated[str | None, typer.Option("--propensity", help="The column of propensities, for a log.")]


def about(thing: Any) -> str:
    """The first line of a docstring."""
    return (thing.__doc__ or "").strip().splitlines()[0]


@app.command("learners", epilog="Example: lewa learners --json")
def list_learners(as_json: Json = False) -> None:
    """The learners: names, feedback, what kind of guarantee."""
    rows = []
    for name, kind in learners.ALL.items():
        proved = kind.tuned(10, 100_000, 0.5).guarantees(10, 100_000, Setting())[0]
        shows = "full" if feedback(kind) == "full" else "bandit"
        rows.append({"name": name, "feedback": shows, "guarantee": proved.kind, "about": about(kind)})
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
        game = kind() if floor is None else kind.posed(as_floor(floor), rounds)
        row = {"name": name, "actions": game.actions, "constraints": game.constraints}
        row |= {"setting": game.setting.constraints, "rewards": game.setting.adversary, "about": kind.about}
        if floor is not None:
            row |= {"truth": None if game.truth is None else game.truth.tolist()}
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
        str, typer.Argument(help="A game's name, or NAME+TWIST; `lewa games` lists them.", autocompletion=_game_names)
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
    posed = games.make(game, as_floor(floor), rounds, **{name: _whole(value) for name, value in map(_setting, own)})
    others = [text for text in settings if text not in own]
    anybodys = set(known).union(*(learners.settings_of(name) for name in learner if name != "auto"))
    for key in (text.partition("=")[0] for text in others if "auto" not in learner):
        if key not in anybodys:
            raise ValueError(f"{' or '.join([game, *learner])} has no parameter {key!r}{nearest(key, sorted(anybodys))}")
    _play(posed, learner, floor, rounds, seeds, others, trace, partial(_show, as_json=as_json), None)


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
        list[str], typer.Option("--learner", help="auto, or a learner's name; repeat.", autocompletion=_learner_names)
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
            _say("lewa: stopped")
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
    made = _make(names, game.actions, rounds, floor, settings, shown, None if isinstance(game, Table) else game.setting)
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
        _say(f"stopped; finished: {done or 'nothing'}")
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
    made = _make(names, log.actions, log.rounds, floor, settings, "bandit")
    runs = {name: replay_log(learner, log, seeds) for name, learner in made.items()}
    show(summary_of_log(runs, log, as_floor(floor)))


def _show(result: dict[str, Any], as_json: bool, units: Sequence[Quantity] = ()) -> None:
    if units:
        result = in_units(result, *(one.scale for one in units))
        if result["hindsight"] and not result["hindsight"]["feasible"] and any(one[2:] != (0, 1) for one in units):
            lines = zip(units[1:], result["floor"], strict=True)
            _say(f"warning: no play keeps {' and '.join(f'{one.name} {one.sense} {line:g}' for one, line in lines)}")
    if as_json:
        print(json.dumps(result))
    else:
        print_summary(result, out, [one[:2] for one in units[1:]])


def _make(
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
        _say(f"auto: {choice.called}")
    known = {name: learners.settings_of(name) for name in names}
    for key in wanted:
        if not any(key in keys for keys in known.values()):
            allowed = sorted(set().union(*known.values()))
            raise ValueError(f"{' or '.join(names)} has no parameter {key!r}{nearest(key, allowed)}")
    made = {}
    for name in names:
        needs = "full" if feedback(learners.find(name)) == "full" else "bandit"
        if shown is not None and shown != needs:
            raise ValueError(f"{name} learns from {needs} feedback, so it cannot be shown {shown} feedback")
        own = {**advised.get(name, {}), **{key: value for key, value in wanted.items() if key in known[name]}}
        made[name] = learners.make(name, actions, rounds, floor, **own)
    return made


def _advised(shown: str, actions: int, rounds: int, floor: list[float], world: Setting | None) -> Choice:
    """For a game what is proved best in its world; for data, of whose world nothing is known, what did best in practice."""
    if world is None or world.constraints == "arbitrary" or world.beyond:
        return advise(shown, actions, rounds, floor).practice
    known = {"constraints": world.constraints, "adversary": world.adversary, "corruption": world.corruption}
    return advise(shown, actions, rounds, floor, **known).learner


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


@app.command(epilog="Example: lewa guarantee lewa --actions 10 --rounds 100000 --floor 0.6 --set tuning=paper")
def guarantee(
    learner: Annotated[
        str, typer.Argument(help="A learner's name; `lewa learners` lists them.", autocompletion=_learner_names)
    ],
    actions: Annotated[int, typer.Option()],
    rounds: Annotated[int, typer.Option()],
    floor: Floors,
    epsilon: Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")] = None,
    slater: Annotated[float | None, typer.Option(help="Some play exceeds every floor by this.")] = None,
    variation: Annotated[float | None, typer.Option(help="The rewards' variation, where it is known.")] = None,
    constraints: Annotated[str, typer.Option(help="constant, iid, or arbitrary.")] = "iid",
    adversary: Annotated[str, typer.Option(help="oblivious, or adaptive: rewards may react to the learner.")] = "oblivious",
    settings: Settings = [],  # noqa: B006 (Typer's way)
    as_json: Json = False,
) -> None:
    """What is proved."""
    setting = checked(Setting(constraints, adversary, epsilon, slater, variation))
    chosen = {text.partition("=")[0] for text in settings if text != "tuning=recommended"}
    free = learner.partition("+")[0] not in learners.PRINTED_TUNING and not chosen & {"tuning", "b", "epsilon"}
    if epsilon is not None and free and "epsilon" in learners.settings_of(learner):
        settings = [f"epsilon={epsilon}", *settings]  # the recommended tuning is that for the guarantee that is asked for
    made = next(iter(_make([learner], actions, rounds, floor, settings, None).values()))
    statements = [promise(statement) for statement in made.guarantees(actions, rounds, setting)]
    parameters = {name: np.asarray(value).tolist() for name, value in made._asdict().items()}
    if as_json:
        head = {"learner": learner, "actions": actions, "rounds": rounds, "floor": floor, "parameters": parameters}
        print(json.dumps({**head, **statements[0], "statements": statements}))
        return
    shown = ", ".join(f"{name} = {_short(value)}" for name, value in parameters.items() if name != "floor")
    rows = [(s["kind"] or "none", number(s["regret"]), numbers(s["violation"]), s["source"]) for s in statements]
    title = f"{learner}: {actions} actions, {rounds:,} rounds, floor {numbers(floor)}\n{shown}"
    out.print(table(title, "kind", "regret at most", "violation at most", "source (docs/theory.md)", rows=rows))
    for statement in statements:
        sentence = statement["reason"] or "; ".join(statement["assumptions"])
        out.print(f"{statement['source']}: {sentence}.", style="dim", highlight=False)


def _short(value: Any) -> str:
    """A number, or the first few of many."""
    every = np.ravel(value).tolist()
    return numbers(every[:3]) + (", ..." if len(every) > 3 else "")


@app.command(
    "advise", epilog="Example: lewa advise --feedback bandit --actions 10 --rounds 100000 --floor 0.6 --every-round"
)
def which_learner(
    shown: Annotated[str, typer.Option("--feedback", help="full or bandit: what a learner is shown.")],
    actions: Annotated[int, typer.Option(help="How many there are to choose from.")],
    floor: Floors,
    rounds: Annotated[int | None, typer.Option("--rounds", "--horizon", help="How many; leave it out if unknown.")] = None,
    constraints: Annotated[str, typer.Option(help="iid, constant or arbitrary.")] = "iid",
    every_round: Annotated[bool, typer.Option("--every-round", help="No round makes up for another.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Only learners proved to violate nothing.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")] = None,
    slater: Annotated[float | None, typer.Option(help="Some play exceeds every floor by this.")] = None,
    safe: Annotated[int | None, typer.Option(help="The number of an action that is known to, counted from 0.")] = None,
    corruption: Annotated[float | None, typer.Option(help="The constraints are iid but for this much in all.")] = None,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="Rewards may react to the learner.")] = False,
    as_json: Json = False,
) -> None:
    """Which learner to take, by what is proved for these numbers, and why."""
    adversary = "adaptive" if adaptive else "oblivious"
    given = (shown, actions, rounds, floor, constraints, every_round, strict, epsilon, slater, safe, corruption, adversary)
    found = advise(*given)
    chosen = {"learner": found.learner, "runner_up": found.runner_up, "practice": found.practice}
    if as_json:
        why = {"reason": found.reason, "in_practice": found.in_practice, "rounds": rounds}
        print(json.dumps({name: _choice(choice) for name, choice in chosen.items()} | why))
        return
    proved = bool(found.ranked)
    rows = [
        (title, choice.called, choice.guarantee.kind or "nothing", *_bounds(choice))
        for title, choice in zip(("take", "runner-up", "in practice"), chosen.values(), strict=True)
        if choice is not None and (proved or title == "take")
    ]
    columns = ("", "learner", "proved", "regret at most", "violation at most", "every round's", "of the worst case")
    out.print(table(f"{actions} actions, floor {numbers(floor)}", *columns, rows=rows))
    out.print(found.reason, highlight=False)
    if proved:
        said = found.learner.guarantee
        out.print(found.in_practice, highlight=False)
        out.print(
            f"{said.source} (docs/guarantees.md) assumes: {'; '.join(said.assumptions)}.", style="dim", highlight=False
        )


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {"name": choice.name, "settings": choice.settings, "share": choice.share, **promise(choice.guarantee)}


def _bounds(choice: Choice) -> tuple[str, ...]:
    said, share = choice.guarantee, choice.share
    percent = "-" if share is None else f"{100 * share:.3g} %"
    return number(said.regret), numbers(said.violation), numbers(said.positive_violation), percent


@app.command(epilog="Example: lewa check my_learner:MyLearner")
def check(learner: Annotated[str, typer.Argument(help="MODULE:CLASS, a learner or a game of yours.")]) -> None:
    """Check a learner or a game of yours against the laws that all of them obey."""
    module, colon, name = learner.partition(":")
    if not colon:
        raise ValueError(f"a learner or a game of yours is named MODULE:CLASS, got {learner!r}")
    sys.path.insert(0, "")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{learner} cannot be found: {error}") from error
    results = checks.check(kind)
    for result in results:
        mark = "[green]ok[/]  " if not result.sentence else "[red]FAIL[/]"
        out.print(
            f"{mark} {result.law} ({result.example})" + (f": {result.sentence}" if result.sentence else ""), highlight=False
        )
    broken = sum(1 for result in results if result.sentence)
    out.print(f"{len(results)} checks, {broken} failed")
    if broken:
        raise typer.Exit(1)


@app.command(epilog="Example: lewa reproduce --out results/paper --workers 2")
def reproduce(
    folder: Annotated[Path | None, typer.Option("--out", help="Where results go; by default results/reproduce-...")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; by default one per core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to run on instead.")] = None,
    full: Annotated[bool, typer.Option("--full", help="To T = 10^7, with 32 seeds.")] = False,
    as_json: Json = False,
) -> None:
    """Measure every claim of the paper against its bound; a few minutes."""
    try:
        import matplotlib as mpl  # noqa: F401 (before minutes of work, not after)

        from lewa.lab import reproduce as lab
        from lewa.lab.league import Standing, shown
        from lewa.lab.report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"reproduce takes {error.name}: pip install 'lewa[lab]'") from None
    out_folder = folder or lab.folder(full)
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("reproduce", total=None)
        lines = lab.reproduce(
            out_folder,
            workers=workers,
            cluster=cluster,
            full=full,
            progress=lambda now: bar.update(task, completed=now.rounds_done, total=now.rounds_total),
        )
        bar.update(task, visible=False)
        bar.add_task("report", total=None)
        page = write_report(out_folder)
    if as_json:
        print(json.dumps({**json.loads((out_folder / "verdicts.json").read_text()), "page": str(page)}))
        return
    out.print(lab.shown(lines))
    out.print(shown(Standing(**one) for one in json.loads((out_folder / "league.json").read_text())))
    out.print(f"{page}", highlight=False, soft_wrap=True)


@app.command("run", epilog="Example: lewa run study.toml --out results/mine --workers 2")
def run_a_study(
    study: Annotated[Path, typer.Argument(help="A study: one TOML file, as docs/studies.md shows.")],
    folder: Annotated[Path | None, typer.Option("--out", help="Where results go; by default results/NAME.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; by default one per core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to run on instead.")] = None,
) -> None:
    """Run a study, or go on with one that was stopped."""
    try:
        from lewa.lab.run import run_study
        from lewa.lab.study import read as read_study
    except ModuleNotFoundError as error:
        raise ValueError(f"studies take {error.name}: pip install 'lewa[lab]'") from None
    asked = read_study(study)
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(asked.name, total=None)
        measures = run_study(
            asked,
            folder or Path("results") / asked.name,
            workers=workers,
            cluster=cluster,
            progress=lambda now: bar.update(task, completed=now.rounds_done, total=now.rounds_total),
        )
    out.print(f"{measures}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: lewa report results/mine")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished study, or of `lewa reproduce`.")],
) -> None:
    """Write the page of a study: verdicts, figures, tables; and its figures as SVG, PNG and PDF."""
    try:
        from lewa.lab.report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"a report takes {error.name}: pip install 'lewa[lab]'") from None
    out.print(f"{write_report(folder)}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: lewa bench --out speed.md")
def bench(
    out_file: Annotated[Path | None, typer.Option("--out", help="Also write the table to this Markdown file.")] = None,
    as_json: Json = False,
) -> None:
    """How fast, as ratios to C and to the peers that are installed; a minute or two."""
    from lewa.lab.bench import machine, markdown, measure

    with err.status("") as status:
        rows = measure(lambda title: status.update(title))
    if out_file is not None:
        out_file.write_text(f"{machine()}\n\n{markdown(rows)}\n")
    if as_json:
        print(json.dumps({"machine": machine(), "rows": [row._asdict() for row in rows]}))
        return
    cells = [
        (row.what, number(row.nanoseconds), "-" if row.ratio is None else f"{number(row.ratio)}x", row.goal, row.answer)
        for row in rows
    ]
    out.print(table(machine(), "what", "ns a round", "ratio", "goal", "met", rows=cells))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Print the version, if that is what was asked."""
    if show:
        print(lewa.__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; bad input ends in one sentence on standard error and exit status 2."""
    with warnings.catch_warnings(record=False):
        warnings.simplefilter("default")
        warnings.showwarning = _warn
        try:
            code = app(standalone_mode=False)
        except (ValueError, OSError) as error:
            code = _say(f"lewa: {error}")
        except KeyboardInterrupt:
            code = 130
            _say("lewa: stopped; what was finished is kept")
        except (MemoryError, OverflowError) as error:
            code = _say(f"lewa: these numbers are too large for this machine ({type(error).__name__})")
        except Exception as error:
            if not hasattr(error, "format_message"):  # not the parser's, so a bug: it keeps its traceback
                raise
            message = " ".join(error.format_message().split())
            code = _say(f"lewa: {message}") if message else 2  # without a command the help was shown
    sys.exit(code or 0)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say(f"warning: {message}")


def _say(sentence: str) -> int:
    err.print(sentence, highlight=False, markup=False, soft_wrap=True)
    return 2
