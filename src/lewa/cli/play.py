"""The command `lewa play`: play learners against a game."""

from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from lewa import games
from lewa.cli.options import (
    Floors,
    Json,
    Names,
    Problem,
    Seeds,
    Settings,
    TraceFile,
    check_file,
    game_names,
    game_value,
    make_learners,
    parse_settings,
    whole,
)
from lewa.cli.shared import app, out, print_json, progress_bar, say
from lewa.games import Game, Table
from lewa.learners import Learner
from lewa.measures.trace import Trace
from lewa.report.tables import print_summary, summary
from lewa.simulate.run import Interrupted, play_elsewhere
from lewa.simulate.run import play as play_game
from lewa.validation import as_floor


@app.command(epilog="Example: lewa play bernoulli --learner lewa --learner ewa --floor 0.6 --rounds 10000")
def play(
    game: Annotated[
        str, typer.Argument(help="A game's name, or NAME+TWIST; `lewa games` lists them.", autocompletion=game_names)
    ],
    learner: Names,
    floor: Floors,
    rounds: Annotated[int, whole("The number of rounds.")] = 10_000,
    seeds: Seeds = 8,
    settings: Settings = [],  # noqa: B006 (Typer's way)
    trace: TraceFile = None,
    as_json: Json = False,
) -> None:
    """Play learners against a game."""
    values, known = parse_settings(settings), games.settings_of(game) or []
    parameters: dict[str, Any] = {name: game_value(value) for name, value in values.items() if name in known}
    made: Game = games.make(game, as_floor(floor), rounds, **parameters)
    others = {name: value for name, value in values.items() if name not in known}  # the learners'
    problem = Problem(made.actions, rounds, floor, setting=made.setting, features=made.features, policies=made.policies)
    match = play_all(make_learners(learner, problem, others, {game: known}), made, rounds, seeds, trace)
    if match.traces:
        result = summary(match.traces)
        if as_json:
            print_json(result)
        else:
            print_summary(result, out, in_context=made.features > 0)
    match.end()


class Match(NamedTuple):
    """The traces by the name of the learner; some are missing if the command was stopped."""

    traces: dict[str, Trace]
    stopped: bool

    def end(self) -> None:
        """Exit with the status of an interrupted command if the match was stopped."""
        if self.stopped:
            raise typer.Exit(130)


def play_all(
    players: dict[str, Learner],
    game: Game | Table,
    rounds: int,
    seeds: int,
    trace_file: Path | None,
    executor: Executor | None = None,
) -> Match:
    """Play the learners one after the other, here or in an executor; write the trace of a single learner to a file."""
    if trace_file is not None:
        if len(players) > 1:
            raise ValueError(f"--trace takes one learner, got {', '.join(players)}")
        check_file(trace_file, "a trace")
    traces: dict[str, Trace] = {}
    stopped = False
    with progress_bar() as bar:
        for name, learner in players.items():
            task = bar.add_task(name, total=rounds * seeds)
            advance = partial(bar.advance, task)
            try:
                if executor is not None and trace_file is None:
                    traces[name] = play_elsewhere(executor, learner, game, seeds, advance)
                else:
                    traces[name] = play_game(learner, game, rounds, seeds, trace_file is not None, progress=advance)
            except Interrupted as interrupted:
                stopped = True
                if interrupted.trace is not None:
                    traces[name] = interrupted.trace
                break
    if stopped:
        done = ", ".join(f"{name} {len(run.seeds)} seeds" for name, run in traces.items())
        say(f"stopped; finished: {done or 'nothing'}")
    if trace_file is not None and traces:
        trace = next(iter(traces.values()))
        with trace_file.open("wb") as file:
            np.savez_compressed(file, plays=trace.plays, multipliers=trace.multipliers, actions=trace.actions)  # type: ignore[arg-type]
    return Match(traces, stopped)
