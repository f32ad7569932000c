"""The commands about your own data: `lewa replay` replays learners, `lewa frontier` shows reward against budget."""

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from lewa.cli.options import (
    COLUMNS,
    Cluster,
    DataFile,
    FormerLines,
    Goal,
    Json,
    Lines,
    Names,
    Problem,
    Seeds,
    Settings,
    TraceFile,
    Values,
    check_file,
    lines_of,
    make_learners,
    names_columns,
    parse_pair,
    parse_settings,
    whole,
)
from lewa.cli.play import Match, play_all
from lewa.cli.shared import app, executor_at, out, print_json, progress_bar, say
from lewa.data.columns import UNIT, Columns, Data
from lewa.data.frames import as_data, with_group_lines
from lewa.data.log import Log, StreamedLog
from lewa.formatting import csv_table
from lewa.frontiers import POINTS
from lewa.frontiers import frontier as find_frontier
from lewa.games import Table
from lewa.learners import Learner, check_looks_at_features
from lewa.report.frontier import FIGURES, FILES, print_frontier, write_frontier
from lewa.report.tables import print_log_summary, print_summary, summary, summary_of_log
from lewa.schema import Summary, json_text
from lewa.simulate.log_replay import LogReplay, StreamedReplay, replay_log, replay_stream
from lewa.simulate.replay import units_of, with_contexts
from lewa.units import as_number
from lewa.version import importing

OutFile = Annotated[Path | None, typer.Option("--out", help="Also write the numbers to this .json or .csv.")]


@app.command(epilog="Example: lewa replay log.csv --propensity p --reward quality --at-most dollars --budget 0.004")
@names_columns
def replay(
    data: DataFile,
    columns: Columns,
    lines: Lines = [],  # noqa: B006 (Typer's way)
    former: FormerLines = [],  # noqa: B006
    learner: Names = ["auto"],  # noqa: B006
    group: Annotated[
        str | None, typer.Option(help="A column of groups: every limit must also hold for each of its levels.")
    ] = None,
    feedback: Annotated[str | None, typer.Option(help="The feedback of the learner: full or bandit.")] = None,
    seeds: Seeds = 8,
    settings: Settings = [],  # noqa: B006
    goal: Goal = "practice",
    trace: TraceFile = None,
    out_file: OutFile = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Replay learners on your own table or log."""
    if feedback not in (None, "full", "bandit"):
        raise ValueError(f"feedback must be 'full' or 'bandit', got {feedback!r}")
    if out_file is not None:
        check_file(out_file, "a replay", (".json", ".csv"))
    values = parse_settings(settings)
    with executor_at(cluster, learner) as executor:
        named = as_data(data, columns._replace(group=group), executor)
        content, floor = with_group_lines(named, lines_of(lines, former))
        for note in content.notes:
            say(note)
        how = How(learner, values, goal, floor, seeds, executor, content.game)
        content = replace(content, game=with_contexts(content))
        if not _in_unit(content):
            warnings.filterwarnings("ignore", "no play meets the floor")  # it is said below, in the user's units
        if isinstance(content.game, Table):
            outcome = _on_table(content, content.game, how, feedback, trace)
        else:
            if feedback == "full":
                raise ValueError("a bandit log has one action per row, so feedback must be 'bandit'")
            if trace is not None:
                raise ValueError("--trace needs a table; in a log, each seed uses different rows")
            outcome = _on_log(content, content.game, how)
    if outcome.result is not None:
        if out_file is not None:
            out_file.write_text(_text(outcome.result, content, out_file.suffix))
            say(f"wrote {out_file}")
        if as_json:
            print_json(outcome.result)
        else:
            outcome.show()
    if outcome.stopped:
        raise typer.Exit(130)


class Replay(NamedTuple):
    """The results of a replay, in the user's units, and the function that prints them."""

    result: Summary | None
    show: Callable[[], None]
    stopped: bool = False


class How(NamedTuple):
    """The learners to replay, their limits, and the executor."""

    learners: list[str]
    settings: Values
    goal: str
    floor: list[float]
    seeds: int
    executor: Executor | None
    bare: Table | Log | StreamedLog  # the data without a context


def _players(content: Data, problem: Problem, how: How) -> tuple[dict[str, Learner], dict[str, Learner]]:
    """Return the learners; with a context, those that use it, and the same learners without it for comparison."""
    if not content.contexts.size:
        return make_learners(how.learners, problem, how.settings), {}
    features = content.contexts.shape[1]
    for name in how.learners:
        if name != "auto":
            check_looks_at_features(name)
    problem = problem._replace(feedback=problem.feedback or "bandit")
    players = make_learners(how.learners, problem._replace(features=features), {**how.settings, "features": features})
    without = make_learners(list(players), problem, how.settings)
    return players, {f"{name} without context": without[name] for name in players}


def _on_table(content: Data, game: Table, how: How, feedback: str | None, trace: Path | None) -> Replay:
    problem = Problem(game.actions, game.length, _floors(content, how.floor), feedback, goal=how.goal)
    players, without = _players(content, problem, how)
    match = play_all(players, game, game.length, how.seeds, trace, how.executor)
    if without and isinstance(how.bare, Table) and not match.stopped:
        beside = play_all(without, how.bare, game.length, how.seeds, None, how.executor)
        match = Match({**match.traces, **beside.traces}, beside.stopped)
    if not match.traces:
        return Replay(None, lambda: None, match.stopped)
    units = units_of(content)
    result: Summary = {**summary({name: trace.in_units(units) for name, trace in match.traces.items()}), "floor": how.floor}
    best = result["hindsight"]
    if best is not None and not best["feasible"] and not _in_unit(content):
        lines = [f"{q.name} {q.sense} {line:g}" for q, line in zip(content.constraints, how.floor, strict=True)]
        say(f"warning: no play meets {' and '.join(lines)}")
    return Replay(result, lambda: print_summary(result, out, content.constraints, content.contexts.size > 0), match.stopped)


def _on_log(content: Data, log: Log | StreamedLog, how: How) -> Replay:
    floors = np.array(_floors(content, how.floor))
    problem = Problem(log.actions, log.rounds, floors.tolist(), "bandit", goal=how.goal)
    players, without = _players(content, problem, how)
    with progress_bar() as bar:
        replays: dict[str, LogReplay | StreamedReplay] = {}
        task = bar.add_task("replay", total=(len(players) + len(without)) * how.seeds * log.rows)
        advance = partial(bar.advance, task)
        for name, learner in (players | without).items():
            rows = how.bare if name in without else log
            if isinstance(rows, Log):
                replays[name] = replay_log(learner, rows, how.seeds, advance=advance)
            elif isinstance(rows, StreamedLog):
                replays[name] = replay_stream(learner, rows, how.seeds, how.executor, advance)
        units = units_of(content)
        replays = {name: run.in_units(units) for name, run in replays.items()}
        result, rounds = summary_of_log(replays, log.actions, how.floor), min(run.rounds for run in replays.values())
        spare = {name: run.totals(rounds).shortfall.mean(axis=0) / rounds / units.sizes for name, run in replays.items()}
    averages = {name: (units.zeros + units.spans * (floors - short)).tolist() for name, short in spare.items()}
    return Replay(result, lambda: print_log_summary(result, averages, log.rows, content.constraints, out))


def _floors(content: Data, lines: list[float]) -> list[float]:
    """Return the user's limits as floors in [0, 1]."""
    if len(lines) != len(content.constraints):
        names = ", ".join(f"{quantity.name} {quantity.sense}" for quantity in content.constraints)
        raise ValueError(f"give one limit per constraint ({names}), in this order, got {len(lines)}")
    return [quantity.floor(line) for quantity, line in zip(content.constraints, lines, strict=True)]


def _in_unit(content: Data) -> bool:
    """Return whether the user's units are already the learners' units, [0, 1]."""
    return all((quantity.low, quantity.high) == UNIT for quantity in (content.reward, *content.constraints))


def _text(result: Summary, content: Data, kind: str) -> str:
    """Return the text of a file of this kind: the JSON object, or a CSV row for each learner."""
    if kind == ".json":
        return json_text(result) + "\n"
    names = [
        f"{measure} of {name}"
        for measure in ("violation", "positive violation")
        for name in (q.name for q in content.constraints)
    ]
    rows: list[list[object]] = [["learner", "rounds", "seeds", "reward", "regret", *names]]
    for name, learner in result["learners"].items():
        regret = "" if learner["regret"] is None else learner["regret"]["mean"]
        short = [*learner["violation"]["mean"], *learner["positive_violation"]["mean"]]
        rows.append([name, result["rounds"], result["seeds"], learner["reward"]["mean"], regret, *short])
    return csv_table(rows)


@app.command(epilog="Example: lewa frontier queries.csv --round query --action model --reward quality --at-most dollars")
@names_columns
def frontier(
    data: DataFile,
    columns: Columns,
    budgets: Annotated[
        list[float], typer.Option("--budget", help="A budget, in the units of the data; repeat for more.")
    ] = [],  # noqa: B006 (Typer's way)
    former: FormerLines = [],  # noqa: B006
    points: Annotated[int, whole("The number of budgets, if none is given.")] = POINTS,
    lines: Annotated[list[str], typer.Option("--line", help="NAME=VALUE: the limit of a further constraint.")] = [],  # noqa: B006
    learner: Names = ["auto"],  # noqa: B006
    seeds: Seeds = 8,
    confidence: Annotated[
        str,
        typer.Option(help="For a log: the probability with which the mixture at a budget keeps it; none for no promise."),
    ] = "0.95",
    folds: Annotated[
        str, typer.Option(help="How a log is split to choose a play and to evaluate it: auto, halves or shuffled.")
    ] = "auto",
    goal: Goal = "practice",
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Also write a figure (.svg, .png, .pdf) or the numbers (.json, .csv).")
    ] = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Compute the best reward at each budget, the gain per extra unit, and the results of learners."""
    if out_file is not None:
        check_file(out_file, "a frontier", FILES)
        if out_file.suffix in FIGURES:
            with importing("a figure", "lab"):
                import matplotlib as mpl  # noqa: F401 (before minutes of work, not after)
    stay = dict(parse_pair(text, "line") for text in lines)
    with executor_at(cluster, learner) as executor, progress_bar() as bar:
        task = bar.add_task("frontier", total=None)
        try:
            result = find_frontier(
                data,
                **{name: getattr(columns, name) for name in COLUMNS},
                budgets=lines_of(budgets, former) or None,
                points=points,
                lines={name: as_number(f"the line of {name}", value) for name, value in stay.items()},
                learner=learner[0] if len(learner) == 1 else learner,
                seeds=seeds,
                confidence=None if confidence == "none" else _probability(confidence),
                folds=folds,
                goal=goal,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
                executor=executor,
            )
        except KeyboardInterrupt:
            say("lewa: stopped")
            raise typer.Exit(130) from None
    if out_file is not None:
        write_frontier(result, out_file)
        say(f"wrote {out_file}")
    if as_json:
        print_json(result.plain())
    else:
        print_frontier(result, out)


def _probability(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"confidence must be a number between 0 and 1 or none, got {text!r}") from None
