"""The feedback dictionary of the Open Bandit Pipeline, in and out. It holds plain arrays, so obp itself is not needed.

obp indexes arrays by round, action and position; a learner here takes one action a round, so there is one position.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lewa.data.log import Log
from lewa.games.stream import GameStream
from lewa.measures.trace import Trace
from lewa.simulate.log_replay import LogReplay
from lewa.types import Cube


def read_feedback(feedback: Mapping[str, Any], constraints: ArrayLike | None = None) -> Log:
    """Return the log that a feedback dictionary of obp holds: action, reward, and pscore as the propensity.

    obp knows a reward and nothing else, so the `constraints` are given beside it, (rows,) or (rows, m), in [0, 1] with more
    being better; by default they are what the dictionary has as "constraints", which is where `write_feedback` puts them.
    Rewards too must lie in [0, 1].

    The context becomes `contexts` of the log, as it is; one that is all zeros, which stands for none, does not. A learner
    such as `squarecb-lewa` wants the constant 1 as its first column. Not read: `expected_reward`, `pi_b` and
    `action_context`. More than one position, or a list of actions in a row, is refused.

    >>> import numpy as np
    >>> rows = dict(action=np.array([0, 1]), reward=np.array([1, 0]), pscore=np.array([0.5, 0.5]), position=None)
    >>> read_feedback({"n_rounds": 2, "n_actions": 2, **rows}, constraints=[0.2, 0.9])
    Log(2 rows, 2 actions, 1 constraints)
    """
    missing = [key for key in ("n_actions", "action", "reward", "pscore") if feedback.get(key) is None]
    if missing:
        why = ": without the logger's propensities nothing can be replayed or estimated" if "pscore" in missing else ""
        raise ValueError(f"the feedback must have {', '.join(missing)}{why}")
    position = feedback.get("position")
    if position is not None and np.unique(position).size > 1:
        positions = np.unique(position).tolist()
        raise ValueError(
            f"there must be one position, got {len(positions)}: {positions}; read the rows of each as a log of its own"
        )
    action = np.asarray(feedback["action"])
    if action.dtype.kind not in "iu" or action.ndim != 1:
        raise ValueError(f"action must be one integer per row, got {action.dtype} of the shape {action.shape}")
    values = feedback.get("constraints") if constraints is None else constraints
    if values is None:
        raise ValueError("obp's feedback has no constraint: give constraints, one number per row or (rows, m), in [0, 1]")
    values = np.asarray(values, dtype=np.float64)
    values = values[:, np.newaxis] if values.ndim == 1 else values
    context = feedback.get("context")
    context = None if context is None or not np.any(context) else context
    return Log(action, feedback["pscore"], feedback["reward"], values, int(feedback["n_actions"]), context)


def write_feedback(source: Trace | Log, seed: int | None = None) -> dict[str, Any]:
    """Return the feedback dictionary of a log, or of one seed of a play that was made with `every_round=True`.

    It has what obp's estimators, regression models and checks ask for: n_rounds, n_actions, action, position (all 0),
    reward, pscore, context (the features of each row, or zeros), action_context (one column per action), and "constraints"
    (rows, m). From a trace also "pi_b" (rows, K, 1), the plays. pscore is the probability with which the action was drawn.
    Its reward and constraints are computed by the game again, whose rounds are a function of the seed.

    The plays of a learner depend on the past. Estimates by pscore stay unbiased then; obp's intervals, which resample rows
    as if they were independent, are not proved for such a log.

    >>> import lewa
    >>> trace = lewa.play(lewa.learners.BanditLewa.tuned(3, 100, 0.6), lewa.games.Bernoulli(), rounds=100, every_round=True)
    >>> feedback = write_feedback(trace)
    >>> float(feedback["reward"].sum()), float(trace.reward[0, -1])
    (57.0, 57.0)
    """
    if isinstance(source, Log):
        return _feedback(source)
    s = _index_of_seed(source.seeds, seed)
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
    """What obp calls `action_dist`, (rows, K, 1): the play in each row, for one seed.

    `source` is a play, by `lewa.play` with `every_round=True`; or a replay of a log, by `lewa.replay` with
    `every_round=True`: the play that the learner had at each row before it saw it. That is what obp's `run_bandit_replay`
    returns, with probabilities in place of the action that was drawn.

    >>> import lewa
    >>> trace = lewa.play(lewa.learners.Lewa.tuned(3, 100, 0.6), lewa.games.Bernoulli(), rounds=100, every_round=True)
    >>> action_dist(trace).shape
    (100, 3, 1)
    """
    return np.array(_plays(source)[_index_of_seed(source.seeds, seed)][:, :, np.newaxis])


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
    """Return the index of the seed, which need not be named where there is one."""
    if seed is None and len(seeds) > 1:
        raise ValueError(f"a dictionary holds one seed: choose one of {', '.join(map(str, seeds))}")
    if seed is not None and seed not in seeds:
        raise ValueError(f"seed {seed} was not played, but {', '.join(map(str, seeds))}")
    return 0 if seed is None else seeds.index(seed)


def _plays(source: Trace | LogReplay) -> Cube:
    if source.plays is None:
        how = "lewa.play(..., every_round=True)" if isinstance(source, Trace) else "replay_log(..., every_row=True)"
        raise ValueError(f"the plays were not recorded: ask for them by {how}")
    return source.plays
