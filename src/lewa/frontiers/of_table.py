"""The frontier of a table, which has every action in every round: the best plays in hindsight, and learners."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np

from lewa import learners
from lewa.choice import LearnerChoice, choose_learner, describe_unproved
from lewa.data.columns import Data
from lewa.feedback import feedback_kind
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.result import Frontier, LearnerResult, Mean, Point
from lewa.games.table import Table
from lewa.measures.performance import positive_violation, violation
from lewa.measures.rate_fit import mean_interval
from lewa.measures.trace import Trace
from lewa.simulate.run import play, play_elsewhere
from lewa.types import Array, Vector


class _Replay(NamedTuple):
    """A learner that is replayed: its name, its settings, what it is shown, and the seeds."""

    name: str
    settings: dict[str, float]
    feedback: Literal["full", "bandit"]
    seeds: tuple[int, ...]


class Replays(NamedTuple):
    """The learners to replay, and how to replay them."""

    names: Sequence[str]  # their names, or "auto"
    seeds: tuple[int, ...]  # the seeds of each
    goal: str = "practice"  # the rule for "auto"
    progress: Callable[[int, int], None] | None = None  # called with the rounds played so far and in all
    executor: Executor | None = None  # plays the seeds in parallel; None plays them here


def of_table(data: Data, game: Table, budgets: Budgets, level: float, how: Replays) -> Frontier:
    """Return the frontier of a table, with the results of learners that are replayed on it."""
    T = game.length
    rewards, constraints = game.mean_rewards(T), game.average_constraints()
    levels = budgets.levels(rewards, constraints)
    replays = _replays(how, game, budgets.floors_at(levels[0]))
    advance = _counter(how.progress, T * len(levels) * sum(len(replay.seeds) for replay in replays.values()))
    points = []
    for floor in levels:
        floors = budgets.floors_at(floor)
        best, _ = budgets.best(rewards, constraints, floors)
        traces = {name: _replay(replay, game, floors, advance, how.executor) for name, replay in replays.items()}
        results = {name: _result(trace, data, level) for name, trace in traces.items()}
        lines = budgets.lines(floors)
        points.append(Point(lines[budgets.varied.name], lines, best, results, None))
    on_action = [name for name, result in points[0].learners.items() if result.measured_on == "action"]
    notes = budgets.notes(rewards, constraints)
    notes += [f"the violation of {name} is measured on the action drawn" for name in on_action]
    notes += _unproved(replays, game, budgets.floors_at(levels[0])) if "auto" in how.names else []
    return Frontier(
        kind="table",
        rounds=T,
        actions=data.actions,
        reward=data.reward,
        constraints=data.constraints,
        varied=budgets.varied.name,
        level=level,
        learners={name: replay.feedback for name, replay in replays.items()},
        points=tuple(points),
        actions_alone={},
        notes=tuple(notes),
        curve=budgets.curve(rewards, constraints),
        action_means=budgets.action_means(rewards, constraints),
        source=data.source,
    )


def _replays(how: Replays, game: Table, floors: Vector) -> dict[str, _Replay]:
    """Return the learners by what they are called; "auto" is one of each kind of feedback, the same at every line."""
    floor = tuple(np.maximum(floors, 0.0).tolist())
    replays = {}
    for text in how.names:
        choices = [LearnerChoice(text, {})]
        if text == "auto":
            choices = [choose_learner(kind, game.actions, game.length, floor, how.goal) for kind in ("full", "bandit")]
        for choice in choices:
            feedback = feedback_kind(learners.find(choice.name)).observes
            # With full information a learner draws nothing: one run says all.
            used = how.seeds if feedback == "bandit" else how.seeds[:1]
            replays[choice.called] = _Replay(choice.name, choice.settings, feedback, used)
    return replays


def _unproved(replays: dict[str, _Replay], game: Table, floors: Vector) -> list[str]:
    """Say of learners that measurements chose what is proved of them, and name what has the least bound at this line."""
    numbers = (game.actions, game.length, np.maximum(floors, 0.0).tolist())
    texts = [(each, describe_unproved(each.name, each.feedback, *numbers)) for each in replays.values()]
    return [f"auto: {each.name} ({each.feedback}), {text}" for each, text in texts if text]


def _counter(progress: Callable[[int, int], None] | None, total: int) -> Callable[[int], None]:
    """Return a function that adds rounds and reports their number; seeds run in threads."""
    rounds_done, lock = 0, Lock()

    def advance(rounds: int) -> None:
        nonlocal rounds_done
        with lock:
            rounds_done += rounds
            if progress is not None:
                progress(rounds_done, total)

    return advance


def _replay(
    replay: _Replay, game: Table, floors: Vector, advance: Callable[[int], None], executor: Executor | None
) -> Trace:
    """Play the learner on the table."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")  # a note says it, in the user's units
        learner = learners.make(replay.name, game.actions, game.length, np.maximum(floors, 0.0), **replay.settings)
        if executor is not None:
            return play_elsewhere(executor, learner, game, replay.seeds, advance)
        return play(learner, game, game.length, replay.seeds, progress=advance)


def _result(trace: Trace, data: Data, level: float) -> LearnerResult:
    """Return the result of a run, in the user's units."""
    T = trace.rounds
    net, positive, short = (each / T for each in (violation(trace), positive_violation(trace), trace.shortfall[:, -1]))
    average, net_violation, all_violation = {}, {}, {}
    for j, quantity in enumerate(data.constraints):
        average[quantity.name] = _mean(quantity.scale.to_user(trace.floor[j] - short[:, j]), level)
        net_violation[quantity.name] = _mean(abs(quantity.scale.span) * net[:, j], level, least=0.0)
        all_violation[quantity.name] = _mean(abs(quantity.scale.span) * positive[:, j], level, least=0.0)
    reward = _mean(data.reward.scale.to_user(trace.reward[:, -1] / T), level)
    return LearnerResult(reward, average, net_violation, all_violation, trace.measured_on)


def _mean(per_seed: Array, level: float, least: float = -np.inf) -> Mean:
    """Return the mean and its Student interval, which is the mean itself if all seeds agree or there is only one."""
    mean, reach = mean_interval(per_seed, level)
    return Mean(mean, max(mean - reach, least), mean + reach, tuple(per_seed.tolist()))
