"""Writes the golden traces anew: twenty rounds of every learner, as a table that people can read."""

from pathlib import Path
from typing import Any

import lewa

HERE = Path(__file__).parent
GAME = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2], constraints=[[0.2, 0.5, 0.9], [0.7, 0.3, 0.6]])
# In twenty rounds a proved confidence radius lets no multiplier move: these are narrow ones.
NARROW = {"radius": 0.2, "level": 0.001}
TRUSTING = {"anytime-op-ewa": {"kappa": 0.0}}  # a radius that covers all rounds is never narrow


def file(name: str) -> Path:
    return HERE / f"{name.replace('@', '-')}.txt"


def table(name: str) -> str:
    learner = lewa.learners.make(name, actions=3, horizon=20, floor=(0.7, 0.6))
    learner = learner.replace(**{field: x for field, x in NARROW.items() if field in learner.parameters})
    learner = learner.replace(**TRUSTING.get(name, {}))
    trace: Any = lewa.play(learner, GAME, rounds=20, every_round=True)
    lines = [f"{'round':>5}  {'action':>6}  {'play':<26}  multipliers"]
    for t in range(20):
        p, lam = (" ".join(f"{x:.6f}" for x in row) for row in (trace.plays[0, t], trace.multipliers[0, t]))
        lines.append(f"{t + 1:5}  {trace.actions[0, t]:6}  {p}  {lam}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in lewa.learners.ALL:
        file(name).write_text(table(name))
