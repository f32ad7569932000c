"""Play one run and measure it, or several runs as one task of a worker."""

import json
import time
import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lewa import compile_notice
from lewa.lab.measures import MEASURES, Row
from lewa.lab.storage import differ, versions
from lewa.lab.study import Run, own_modules, short, title
from lewa.measures.performance import totals
from lewa.simulate.run import play


def execute(run: Run) -> Row:
    """Play the run and return its row of plain numbers, with only the measures of the study."""
    learner, game = run.build()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")  # the row says so
        trace = play(learner, game, run.rounds, [run.seed], workers=1)
    row: Row = {
        "id": run.id,
        "game": title(run.game, run.parameters),
        "rounds": run.rounds,
        "floor": list(run.floor),
        "learner": run.learner,
        "settings": " ".join(f"{key}={short(value)}" for key, value in run.settings.items()),
        "parameters": json.dumps({k: np.asarray(v).tolist() for k, v in learner.parameters.items() if k != "floor"}),
        "seed": run.seed,
        "actions": game.actions,
        "measured_on": trace.measured_on,
    }
    measures = [measure for name, measure in MEASURES.items() if name in run.measures]
    if any(measure.against_best for measure in measures):
        # The best fixed play needs the sums of what nature held; drawn lazily, they are added up here, once.
        rewards, constraints = totals(trace, 0)
        trace = replace(trace, reward_sums=rewards[None], constraint_sums=constraints[None])
    for measure in measures:
        row |= dict(zip(measure.columns, measure.function(trace), strict=True))
    return row


class Finished(NamedTuple):
    """A row and its duration, which sets the size of the next tasks. No number of the row depends on the duration."""

    row: Row  # the measures of the run
    seconds: float  # the duration in seconds, without compiling
    compiled: bool  # whether something was compiled for the run


def versions_for(runs: list[Run]) -> dict[str, str]:
    """Return the versions that the numbers of these runs depend on."""
    return versions(*own_modules((run.game for run in runs), (run.learner for run in runs)))


def execute_all(runs: list[Run], expected: dict[str, str]) -> list[Finished]:
    """Execute the runs of one task, one after the other; raise an error if this worker has other versions."""
    here = versions_for(runs)
    if here != expected:
        raise ValueError(f"a worker must have the same versions to get the same numbers, got {differ(here, expected)}")
    finished, notice = [], compile_notice.install()
    for run in runs:
        start, before = time.perf_counter(), notice.seconds
        try:
            row = execute(run)
        except ValueError as error:
            raise ValueError(f"{run.id}: {error}") from error
        except Exception as error:
            error.add_note(f"in the run {run.id}")
            raise
        compiling = notice.seconds - before
        finished.append(Finished(row, max(0.0, time.perf_counter() - start - compiling), compiling > 0))
    return finished
