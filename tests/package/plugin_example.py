"""A learner and a game of a user's, as text: tests write it to a folder of theirs."""

from pathlib import Path

SOURCE = '''
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lewa.feedback import Bandit
from lewa.games.base import Scripted
from lewa.kernels import comparable
from lewa.kernels.roles import Charged, Counts, TargetSums
from lewa.learners.base import Learner, sizes_of
from lewa.learners.parameter_checks import check_positive, check_problem
from lewa.theory.guarantees import none
from lewa.types import Matrix, Vector


@comparable
class SolverState(NamedTuple):
    counts: Counts  # (K,)
    sums: TargetSums[Matrix]  # (1 + m, K)


@dataclass(frozen=True)
class Solver(Learner):
    """Solve a linear program for the means so far, by allocating what it likes."""

    compiled = False
    keeps_shares = False
    bonus: float
    floor: Vector

    @classmethod
    def tuned(cls, actions, horizon, floor, bonus=1.0):
        K, T, floor = check_problem(actions, horizon, floor)
        return cls(bonus, floor)

    def check(self):
        check_positive(bonus=self.bonus)

    def start(self, actions: int) -> SolverState:
        K, m = sizes_of(self, actions)
        return SolverState(np.zeros(K), np.zeros((1 + m, K)))

    def means(self, s):
        return (s.sums + self.bonus) / (s.counts + self.bonus)

    def play(self, s: SolverState, p: Vector) -> None:
        means = self.means(s)
        short = {i: float(np.maximum(self.floor - means[1:, i], 0).sum()) for i in range(p.size)}
        least = min(short.values())
        allowed = [i for i in short if short[i] <= least + 1e-12]
        most = max(means[0, i] for i in allowed)
        best = [i for i in allowed if means[0, i] >= most - 1e-12]
        p[:] = 0.1 / p.size
        p[best] += 0.9 / len(best)

    def learn(self, s: SolverState, seen: Bandit) -> None:
        s.counts[seen.action] += 1
        s.sums[:, seen.action] += np.array([seen.reward, *seen.constraints])

    def guarantees(self, actions, rounds, setting):
        return (none("Solver", "nothing is proved of it"),)


@dataclass(frozen=True)
class Seasons(Scripted):
    """Rewards come and go."""

    about = "rewards come and go"
    rewards: tuple[float, ...] = (0.9, 0.6, 0.3)
    constraint_means: tuple[float, ...] = (0.2, 0.6, 0.9)
    noisy: bool = True
    period: float = 50.0

    def script(self, start: int, stop: int) -> Matrix:
        t = np.arange(start, stop)[:, np.newaxis]
        return np.array(self.rewards) * (0.5 + 0.5 * np.sin(t / self.period) ** 2)
'''

STUDY = """
name = "mine"
rounds = [60]
seeds = 2

[[games]]
name = "{module}:Seasons"
floor = 0.5

[[learners]]
name = "{module}:Solver"

[[learners]]
name = "{module}:Solver+doubling"
settings = {{ bonus = 0.5 }}
"""


def write_module(folder: Path, module: str, source: str = SOURCE) -> Path:
    """Write the learner and the game to a module in this folder."""
    file = folder / f"{module}.py"
    file.write_text(source)
    return file


def write_package(folder: Path, module: str) -> None:
    """Write what an installed package leaves: its module, and entry points for a learner `solver` and a game `seasons`."""
    write_module(folder, module)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[lewa.learners]\nsolver = {module}:Solver\nlewa = {module}:Solver\nbroken = {module}:Nothing\n"
        f"[lewa.games]\nseasons = {module}:Seasons\n"
    )
