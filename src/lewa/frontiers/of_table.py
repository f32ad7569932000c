"""The frontier of a table, which shows every action in every round: hindsight, and learners replayed."""

import warnings
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from lewa import learners
from lewa.advice import PRACTICE
from lewa.data.columns import Data
from lewa.feedback import feedback_kind
from lewa.frontiers.budgets import Lines
from lewa.frontiers.result import Frontier, Got, Mean, Point
from lewa.games.table import Table
from lewa.measures.performance import positive_violation, violation
from lewa.measures.trace import Trace
from lewa.simulate.run import play
from lewa.types import Matrix, Vector


def of_table(
    data: Data,
    game: Table,
    lines: Lines,
    level: float,
    learner: str | Sequence[str],
    seeds: tuple[int, ...],
    progress: Callable[[int, int], None] | None,
) -> Frontier:
    """The frontier of a table, with learners replayed on it."""
    made = _learners([learner] if isinstance(learner, str) else list(learner))
    T, K = game.length, game.actions
    rewards = game.mean_rewards(T)
    constraints: Matrix = np.asarray(game.rows.mean(axis=0, dtype=np.float64))
    chosen = lines.chosen(rewards, constraints)
    # With full information a learner draws nothing: one run says all.
    runs = {name: seeds if shown == "bandit" else seeds[:1] for name, (_, _, shown) in made.items()}
    done, total, one_at_a_time = [0], T * len(chosen) * sum(map(len, runs.values())), Lock()

    def advance(rounds: int) -> None:
        with one_at_a_time:  # seeds run in threads
            done[0] += rounds
            if progress is not None:
                progress(done[0], total)

    found = []
    for floor in chosen:
        floors = lines.floors(floor)
        best, _ = lines.best(rewards, constraints, floors)
        got = {}
        for name, (called, settings, _) in made.items():
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "no play meets the floor")  # it is noted below, in the user's units
                run = play(learners.make(called, K, T, floors, **settings), game, T, runs[name], progress=advance)
            got[name] = _got(run, data, level)
        found.append(Point(lines.own(floors)[lines.varied.name], lines.own(floors), best, got, None))
    notes = lines.notes(rewards, constraints)
    shown = {name: kind for name, (_, _, kind) in made.items()}
    measured = [name for name, got in found[0].learners.items() if got.measured_on == "action"]
    notes += [f"violation of {name} is measured on the action drawn" for name in measured]
    curve = lines.curve(rewards, constraints)
    head = ("table", T, data.actions, data.reward, data.constraints, lines.varied.name, level)
    return Frontier(*head, shown, tuple(found), curve, {}, tuple(notes))


def _learners(names: list[str]) -> dict[str, tuple[str, dict[str, float], str]]:
    """The learners by what they are called: name, settings and kind of feedback."""
    made = {}
    for name in names:
        for found, settings in PRACTICE.values() if name == "auto" else [(name, {})]:
            called = " ".join((found, *(f"{knob}={value:g}" for knob, value in settings.items())))
            shown = feedback_kind(learners.find(found)).observes
            made[called] = (found, settings, shown)
    return made


def _got(run: Trace, data: Data, level: float) -> Got:
    """What a run came to, in the user's units."""
    T, worth = run.rounds, data.reward.scale
    net, positive, short = (found / T for found in (violation(run), positive_violation(run), run.shortfall[:, -1]))
    average, missed, below = {}, {}, {}
    for j, one in enumerate(data.constraints):
        average[one.name] = _mean(one.scale.own(run.floor[j] - short[:, j]), level)
        missed[one.name] = _mean(abs(one.scale.span) * net[:, j], level, least=0.0)
        below[one.name] = _mean(abs(one.scale.span) * positive[:, j], level, least=0.0)
    return Got(_mean(worth.own(run.reward[:, -1] / T), level), average, missed, below, run.measured_on)


def _mean(per_seed: Vector, level: float, least: float = -np.inf) -> Mean:
    """Student's interval; where all seeds agree, or there is one, it is the mean itself."""
    from scipy.special import stdtrit  # imported here: it takes longer than everything else together

    n, mean = per_seed.size, float(per_seed.mean())
    reach = float(stdtrit(n - 1, (1 + level) / 2) * per_seed.std(ddof=1) / n**0.5) if n > 1 else 0.0
    return Mean(mean, max(mean - reach, least), mean + reach, tuple(per_seed.tolist()))
