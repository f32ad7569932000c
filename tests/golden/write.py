"""Writes the golden traces anew: twenty rounds of every learner, as a table that people can read."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import lewa
from lewa.kernels import keys

HERE = Path(__file__).parent
GAME = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2], constraints=[[0.2, 0.5, 0.9], [0.7, 0.3, 0.6]])
# In twenty rounds a proved confidence radius lets no multiplier move: these are narrow ones.
NARROW = {"radius": 0.2, "level": 0.001}
TRUSTING = {"anytime-op-ewa": {"kappa": 0.0}}  # a radius that covers all rounds is never narrow


# Learners that look at features, here of contexts that come in turn.
CONTEXTUAL = {f"{kind}squarecb-lewa": {"features": 3} for kind in ("", "proved-", "anytime-proved-")}
CONTEXTUAL["paced-linucb"] = {"features": 3}
CONTEXTUAL |= {name: {"policies": 2} for name in ("exp4-lewa", "exp4-lewa-ix", "anytime-exp4-lewa", "lewa-policies")}
CONTEXTS = [[1.0, (t % 3) / 3, (t % 4 - 2) / 4] for t in range(20)]
ADVICE = [[*[float(k == t % 3) for k in range(3)], 0.5, 0.25, 0.25] for t in range(20)]  # of two policies


def file(name: str) -> Path:
    return HERE / f"{name.replace('@', '-')}.txt"


def table(name: str) -> str:
    learner = lewa.learners.make(name, actions=3, horizon=20, floor=(0.7, 0.6))
    learner = learner.replace(**{field: x for field, x in NARROW.items() if field in learner.parameters})
    learner = learner.replace(**TRUSTING.get(name, {}))
    return layout(lewa.play(learner, GAME, rounds=20, every_round=True))


def layout(trace: Any) -> str:
    lines = [f"{'round':>5}  {'action':>6}  {'play':<26}  multipliers"]
    for t in range(20):
        p, lam = (" ".join(f"{x:.6f}" for x in row) for row in (trace.plays[0, t], trace.multipliers[0, t]))
        lines.append(f"{t + 1:5}  {trace.actions[0, t]:6}  {p}  {lam}")
    return "\n".join(lines) + "\n"


# Learners inside another that are not laid down by those of the two alone: the safe action is called for at once.
WRAPPED = {"lewa+governed": {"safe": 2, "debt": 2.0}}


def wrapped_table(name: str) -> str:
    learner = lewa.learners.make(name, actions=3, horizon=20, floor=(0.7, 0.6), **WRAPPED[name])
    return layout(lewa.play(learner, GAME, rounds=20, every_round=True))


def contextual_table(name: str) -> str:
    contexts = ADVICE if "policies" in CONTEXTUAL[name] else CONTEXTS
    rows: Any = GAME.block(keys(0)[:1], 0, 20)
    game = lewa.games.Table(rows.rewards, rows.constraints.transpose(0, 2, 1), contexts)
    learner = lewa.learners.make(name, actions=3, horizon=20, floor=(0.7, 0.6), **CONTEXTUAL[name])
    return layout(lewa.play(learner, game, rounds=20, every_round=True))


def tables() -> Mapping[Path, Callable[[], str]]:
    plain = {file(name): partial(table, name) for name in lewa.learners.ALL}
    plain |= {file(f"{name}-in-context"): partial(contextual_table, name) for name in CONTEXTUAL}
    return plain | {file(name): partial(wrapped_table, name) for name in WRAPPED}


if __name__ == "__main__":
    for path, write in tables().items():
        path.write_text(write())
