"""The feedback dictionary of the Open Bandit Pipeline, in and out. It holds plain arrays, so obp itself is not needed.

obp indexes arrays by round, action and position; a learner here takes one action a round, so there is one position.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lewa.data.log import Log
from lewa.games.stream import GameStream
from lewa.measures.trace import Trace
from lewa.simulate.log_replay import LogReplay
from lewa.types import Cube


def read_feedback(feedback: Mapping[str, Any], constraints: Any = None) -> Log:
    """The log that a feedback dictionary of obp holds: action, reward, and pscore as the propensity.

    obp knows a reward and nothing else, so the `constraints` are given beside it, (rows,) or (rows, m), in [0, 1] with more
    being better; by default they are what the dictionary has as "constraints", which is where `write_feedback` puts them.
    Rewards too must lie in [0, 1].

    Not read: the context, as learners here do not look at one. The log stays right without it, since `pscore` is the chance
    given the context, and replay and off-policy values only divide by it. `expected_reward`, `pi_b` and `action_context` are
    not read either. More than one position, or a list of actions in a row, is refused.

    >>> import numpy as np
    >>> rows = dict(action=np.array([0, 1]), reward=np.array([1, 0]), pscore=np.array([0.5, 0.5]), position=None)
    >>> read_feedback({"n_rounds": 2, "n_actions": 2, **rows}, constraints=[0.2, 0.9])
    Log(2 rows, 2 actions, 1 constraints)
    """
    missing = [key for key in ("n_actions", "action", "reward", "pscore") if feedback.get(key) is None]
    if missing:
        why = ": without the chances of the logger nothing can be replayed or estimated" if "pscore" in missing else ""
        raise ValueError(f"the feedback must have {', '.join(missing)}{why}")
    position = feedback.get("position")
    if position is not None and np.unique(position).size > 1:
        found = np.unique(position).tolist()
        raise ValueError(f"there must be one position, got {len(found)}: {found}; read the rows of each as a log of its own")
    action = np.asarray(feedback["action"])
    if action.dtype.kind not in "iu" or action.ndim != 1:
        raise ValueError(f"action must be one whole number a row, got {action.dtype} of the shape {action.shape}")
    kept = feedback.get("constraints") if constraints is None else constraints
    if kept is None:
        raise ValueError("obp's feedback has no constraint: give constraints, one number a row or (rows, m), in [0, 1]")
    kept = np.asarray(kept, dtype=np.float64)
    kept = kept[:, np.newaxis] if kept.ndim == 1 else kept
    return Log(action, feedback["pscore"], feedback["reward"], kept, int(feedback["n_actions"]))


def write_feedback(source: Trace | Log, seed: int | None = None) -> dict[str, Any]:
    """The feedback dictionary of a log, or of one seed of a play that was made with `every_round=True`.

    It has what obp's estimators, regression models and checks ask for: n_rounds, n_actions, action, position (all 0),
    reward, pscore, context (zeros, as there is none) and action_context (one column per action); and "constraints"
    (rows, m). From a trace also "pi_b" (rows, K, 1), the plays. pscore is the chance that the action had when it was drawn.
    What the action earned and met is asked of the game again, whose nature is a function of the seed.

    The plays of a learner depend on the past. Estimates by pscore stay unbiased then; obp's intervals, which resample rows
    as if they were independent, are not proved for such a log.

    >>> import lewa
    >>> trace = lewa.play(lewa.learners.BanditLewa.tuned(3, 100, 0.6), lewa.games.Bernoulli(), rounds=100, every_round=True)
    >>> feedback = write_feedback(trace)
    >>> float(feedback["reward"].sum()), float(trace.reward[0, -1])
    (57.0, 57.0)
    """
    if isinstance(source, Log):
        return _feedback(source.actions, source.action, source.reward, source.propensity, source.kept)
    plays = _plays(source)[s := _which(source.seeds, seed)]
    actions, rounds = source.actions[s], np.arange(len(plays))
    reward, kept = np.empty(len(plays)), np.empty((len(plays), source.floor.size))
    nature = GameStream(source.game, source.seeds[s])
    for t, i in enumerate(actions.tolist()):
        rewards, constraints = nature.round(t, plays[t].copy())
        reward[t], kept[t] = rewards[i], constraints[:, i]
    found = _feedback(plays.shape[1], actions.astype(np.int64), reward, plays[rounds, actions], kept)
    return {**found, "pi_b": plays[:, :, np.newaxis].copy()}


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
    return np.array(_plays(source)[_which(source.seeds, seed)][:, :, np.newaxis])


def _feedback(actions: int, action: Any, reward: Any, pscore: Any, kept: Any) -> dict[str, Any]:
    return {
        "n_rounds": action.size,
        "n_actions": actions,
        "context": np.zeros((action.size, 1)),
        "action_context": np.eye(actions),
        "action": action.copy(),
        "position": np.zeros(action.size, dtype=np.int64),
        "reward": reward.copy(),
        "pscore": pscore.copy(),
        "constraints": kept.copy(),
    }


def _which(seeds: tuple[int, ...], seed: int | None) -> int:
    """The place of the seed; there is no need to name it where there is one."""
    if seed is None and len(seeds) > 1:
        raise ValueError(f"a dictionary holds one seed: name one of {', '.join(map(str, seeds))}")
    if seed is not None and seed not in seeds:
        raise ValueError(f"seed {seed} was not played, but {', '.join(map(str, seeds))}")
    return 0 if seed is None else seeds.index(seed)


def _plays(source: Trace | LogReplay) -> Cube:
    if source.plays is None:
        how = "lewa.play(..., every_round=True)" if isinstance(source, Trace) else "replay_log(..., every_row=True)"
        raise ValueError(f"the plays were not kept: ask for them by {how}")
    return source.plays
