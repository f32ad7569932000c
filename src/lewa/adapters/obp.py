"""Read and write feedback dictionaries of the Open Bandit Pipeline. They are plain arrays, so obp itself is not needed.

obp indexes arrays by round, action and position; a learner here takes one action per round, so there is one position.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lewa.data.log import Log
from lewa.games.stream import GameStream
from lewa.measures.trace import Trace
from lewa.simulate.log_replay import LogReplay
from lewa.types import Cube
from lewa.validation import as_count, as_floats, short_repr

T = TypeVar("T")


def read_feedback(feedback: Mapping[str, Any], constraints: ArrayLike | None = None) -> Log:
    """Return the log in a feedback dictionary of obp: action, reward, and pscore as the propensity.

    obp has no constraints, so `constraints` are an argument, (rows,) or (rows, m), in [0, 1] with more being better; the
    default is the entry "constraints" of the dictionary, which `write_feedback` writes. Rewards must lie in [0, 1] too.

    The context becomes `contexts` of the log, unchanged, unless it is all zeros, which stands for no context. A learner such
    as `squarecb-lewa` needs the constant 1 as the first column. `expected_reward`, `pi_b` and `action_context` are not read.
    More than one position, or a list of actions in a row, raises ValueError.

    >>> import numpy as np
    >>> rows = dict(action=np.array([0, 1]), reward=np.array([1, 0]), pscore=np.array([0.5, 0.5]), position=None)
    >>> read_feedback({"n_rounds": 2, "n_actions": 2, **rows}, constraints=[0.2, 0.9])
    Log(2 rows, 2 actions, 1 constraints)
    """
    if not isinstance(feedback, Mapping):
        raise ValueError(f"the feedback must be a dictionary of obp, got {short_repr(feedback)}")
    missing = [key for key in ("n_actions", "action", "reward", "pscore") if feedback.get(key) is None]
    if missing:
        why = ": replays and estimates need the logger's propensities" if "pscore" in missing else ""
        raise ValueError(f"the feedback must have {', '.join(missing)}{why}")
    position = feedback.get("position")
    positions = [] if position is None else np.unique(_array("position", position)).tolist()
    if len(positions) > 1:
        raise ValueError(
            f"there must be one position, got {len(positions)}: {positions}; read each position as a separate log"
        )
    action = _array("action", feedback["action"])
    if action.dtype.kind not in "iu" or action.ndim != 1:
        raise ValueError(f"action must be one integer per row, got {action.dtype} of the shape {action.shape}")
    values = feedback.get("constraints") if constraints is None else constraints
    if values is None:
        raise ValueError("feedback without constraints needs constraints=..., (rows,) or (rows, m), in [0, 1]")
    values = as_floats("constraints", values)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    context = feedback.get("context")
    context = None if context is None or not as_floats("context", context).any() else context
    actions = as_count("n_actions", feedback["n_actions"])
    return Log(action, feedback["pscore"], feedback["reward"], values, actions, context)


def write_feedback(source: Trace | Log, seed: int | None = None) -> dict[str, Any]:
    """Return the feedback dictionary of a log, or of one seed of a play with `every_round=True`.

    It has the entries that obp's estimators, regression models and checks need: n_rounds, n_actions, action, position (all
    0), reward, pscore, context (the features of each row, or zeros), action_context (one column per action), and
    "constraints" (rows, m). A trace also has "pi_b" (rows, K, 1), the plays. pscore is the probability with which the
    action was drawn. The game computes rewards and constraints again, because its rounds are a function of the seed.

    The plays of a learner depend on the past. Estimates by pscore are still unbiased, but obp's intervals, which resample
    rows as if they were independent, are not proved for such a log.

    >>> import lewa
    >>> trace = lewa.play(lewa.learners.BanditLewa.tuned(3, 100, 0.6), lewa.games.Bernoulli(), rounds=100, every_round=True)
    >>> feedback = write_feedback(trace)
    >>> float(feedback["reward"].sum()), float(trace.reward[0, -1])
    (57.0, 57.0)
    """
    if isinstance(source, Log):
        return _feedback(source)
    s = _index_of_seed(_check_source(source, Trace).seeds, seed)
    plays, actions = _plays(source)[s], source.actions[s].astype(np.int64)
    rows = len(plays)
    reward, values = np.empty(rows), np.empty((rows, source.floor.size))
    nature = GameStream(source.game, source.seeds[s])
    for t, i in enumerate(actions.tolist()):
        rewards, constraints = nature.round(t, plays[t].copy())
        reward[t], values[t] = rewards[i], constraints[:, i]
    contexts = source.game.block(nature.key, 0, rows).contexts if source.game.features else None
    log = Log(actions, plays[np.arange(rows), actions], reward, values, plays.shape[1], contexts)
    return {**_feedback(log), "pi_b": plays[:, :, np.newaxis].copy()}


def action_dist(source: Trace | LogReplay, seed: int | None = None) -> Cube:
    """Return obp's `action_dist`, (rows, K, 1): the play in each row, for one seed.

    `source` is a result of `lewa.play` or, for a log, of `lewa.replay`, with `every_round=True`. For a log it has the
    learner's play before each row. obp's `run_bandit_replay` returns the same, with the action that was drawn in place of
    probabilities.

    >>> import lewa
    >>> trace = lewa.play(lewa.learners.Lewa.tuned(3, 100, 0.6), lewa.games.Bernoulli(), rounds=100, every_round=True)
    >>> action_dist(trace).shape
    (100, 3, 1)
    """
    s = _index_of_seed(_check_source(source, Trace, LogReplay).seeds, seed)
    return np.array(_plays(source)[s][:, :, np.newaxis])


def _feedback(log: Log) -> dict[str, Any]:
    return {
        "n_rounds": log.rows,
        "n_actions": log.actions,
        "context": log.contexts.copy() if log.contexts.size else np.zeros((log.rows, 1)),
        "action_context": np.eye(log.actions),
        "action": log.action.copy(),
        "position": np.zeros(log.rows, dtype=np.int64),
        "reward": log.reward.copy(),
        "pscore": log.propensity.copy(),
        "constraints": log.constraint_values.copy(),
    }


def _index_of_seed(seeds: tuple[int, ...], seed: int | None) -> int:
    """Return the index of the seed, which need not be named if there is only one."""
    if seed is None and len(seeds) > 1:
        raise ValueError(f"a dictionary has one seed: choose one of {', '.join(map(str, seeds))}")
    if seed is not None and (not isinstance(seed, int) or seed not in seeds):
        raise ValueError(f"seed must be one of {', '.join(map(str, seeds))}, got {short_repr(seed)}")
    return 0 if seed is None else seeds.index(seed)


def _check_source(source: T, *kinds: type) -> T:
    if not isinstance(source, kinds):
        raise TypeError(f"source must be a result of lewa.play or lewa.replay, got {short_repr(source)}")
    return source


def _array(name: str, values: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one value per row, got {short_repr(values)}") from None


def _plays(source: Trace | LogReplay) -> Cube:
    if source.plays is None:
        how = "lewa.play(..., every_round=True)" if isinstance(source, Trace) else "replay_log(..., every_row=True)"
        raise ValueError(f"the plays must be recorded: use {how}")
    return source.plays
