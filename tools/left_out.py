"""Learners that were tried and left out of the package: what docs/theory_practical.md, 5, has of them.

python -m tools.left_out FOLDER        prints its tables; FOLDER as for tools.data
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lewa import learners
from lewa.engine.session import Session, dice_of
from lewa.feedback import Bandit
from lewa.kernels import dual_step, lift, priced_loss, shrink_one
from lewa.learners import LossBanditLewa
from lewa.learners.lewa import LewaState
from lewa.types import Vector
from tools.data import head, line, percent, sets, small
from tools.shocks import LIMIT, T, World, optimum, phases, worlds

RUNS = 4
SHARE = 10  # over T: the mass that fixed share gives to all actions evenly


@dataclass(frozen=True)
class BanditFixedShareLewa(LossBanditLewa):
    """Bandit LEWA on losses, where no weight falls below an even share of 10/T of all."""

    eta: float
    delta: float
    mu: float
    floor: Vector
    share: float = 0.001

    def learn(self, s: LewaState, seen: Bandit) -> None:
        shrink_one(
            s.weights, seen.action, self.eta * priced_loss(seen.reward, s.multiplier, seen.constraints) / seen.propensity
        )
        dual_step(s.multiplier, self.delta, self.mu, seen.constraints, self.floor)
        lift(s.weights, self.share)


def restarted(world: World, name: str, seed: int, restart: bool) -> tuple[Vector, Vector]:
    """Play a world; with `restart` the learner forgets all but its debt in the very round in which a phase begins."""
    rng = np.random.default_rng(seed)
    noise, coins = world.noise(rng), rng.random(world.rewards.shape)
    top, K = world.range[1], world.rewards.shape[1]
    session = Session(learners.make(name, K, T, 1 - LIMIT / top), K, dice_of(seed))
    cost, reward = np.empty(T), np.empty(T)
    for t in range(T):
        if restart and t in world.phases[1:]:
            debt = session.state.debt.copy()
            session.adopt(session.learner, session.learner.start(K))
            session.state.debt[:] = debt
        choice = session.choose(t)
        k = choice.action
        cost[t], reward[t] = world.costs[t, k] * noise[t], float(coins[t, k] < world.rewards[t, k])
        rewards, met = np.full(K, reward[t]), np.full((1, K), 1 - cost[t] / top)
        session.learn(session.answer(choice, rewards, met))
    return cost, reward


def restarts() -> None:
    """Print what a learner that is told of every change, and starts afresh, has beside one that is not told."""
    print(head("world", "learner", "cost/limit", "worst run", "reward by phase"))
    for world in worlds():
        if world.title not in ("Prices double", "The best action breaks"):
            continue
        for title, name, restart in (
            ("`squarecb-lewa`", "squarecb-lewa", False),
            ("`ucb-lp`", "ucb-lp", False),
            ("`ucb-lp`, told of the change", "ucb-lp", True),
            ("`squarecb-lewa`, told of the change", "squarecb-lewa", True),
        ):
            runs = [restarted(world, name, seed, restart) for seed in range(RUNS)]
            ratios = [cost.sum() / (LIMIT * T) for cost, _ in runs]
            shares = [np.mean([r[part].mean() for _, r in runs]) / optimum(world, part) for part in phases(world)]
            shown = " ".join(f"{share:.3f}" for share in shares)
            print(line(world.title, title, f"{np.mean(ratios):.3f}", f"{max(ratios):.3f}", shown), flush=True)


def fixed_share(folder: Path) -> None:
    """Print what bandit LEWA with fixed share has on data."""
    import lewa

    print(head("set", "reward", "net violation", "worst seed"))
    for one in sets(folder):
        rounds, K = one.game.length, one.game.actions
        tuned = LossBanditLewa.tuned(K, rounds, one.floor)
        learner = BanditFixedShareLewa(tuned.eta, tuned.delta, tuned.mu, tuned.floor, SHARE / rounds)
        trace = lewa.play(learner, one.game, rounds, RUNS)
        net = np.maximum(trace.shortfall[:, -1], 0).max(axis=1) / rounds
        share = float(trace.reward[:, -1].mean()) / (one.best.value * rounds)
        print(line(f"`{one.name}`", percent(share), small(float(net.mean())), small(float(net.max()))), flush=True)


if __name__ == "__main__":
    restarts()
    fixed_share(Path(sys.argv[1]))
