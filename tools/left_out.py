"""Learners that were tried and left out of the package: what docs/theory_practical.md, 5, has of them.

python -m tools.left_out FOLDER        prints its tables; FOLDER as for tools.data
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lewa import games, learners
from lewa.engine.session import NO_PLAY, Session, dice_of
from lewa.feedback import Bandit
from lewa.games import Game
from lewa.kernels import DICE, dual_step, keys, lift, priced_loss, shrink_one
from lewa.learners import LossBanditLewa
from lewa.learners.paper.lewa import LewaState
from lewa.measures import best_fixed_play
from lewa.types import Vector
from tools.data import head, line, percent, sets, small
from tools.shocks import LIMIT, T, World, optimum, phases, worlds

RUNS = 4
HEDGED_RUNS, MOST = 2, 20_000  # with a hedger: runs, and the most rounds of a set
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


class Mixed(NamedTuple):
    """What `squarecb-lewa` came to by itself, or with a hedger beside it: per round."""

    reward: float
    best: float  # of the best fixed play in hindsight
    net: float  # violation of the plays
    share: float  # of the hedger in the plays


def with_hedger(game: Game, rounds: int, floor: Vector, seed: int, first: float) -> Mixed:
    """Play `squarecb-lewa`, perhaps with Exp3-IX on the rewards less its priced costs as a second expert.

    With the losses l = 1 - (r - lambda.z), estimated by l/(p + eta/2) for the action drawn, both experts are weighed by
    exponential weights whose step is sqrt(ln 2/V), where V is the variance of their estimated losses, summed. Both learn
    from every answer, with the propensity of the mixture. `first` is the share of the hedger at first; 0 leaves it out.
    """
    rng, key, K = np.random.default_rng(seed), keys(seed)[:DICE], game.actions
    forecaster = Session(learners.make("squarecb-lewa", K, rounds, floor), K, dice_of(seed))
    block = None if game.reacts else game.block(key, 0, rounds)
    losses, behind, variance = np.zeros(K), np.zeros(2), 1.0
    reward, short, total, met, hedged = 0.0, np.zeros(floor.size), np.zeros(K), np.zeros((floor.size, K)), 0.0
    for t in range(rounds):
        eta = np.sqrt(np.log(K) / (K * (t + 1)))
        plays = np.array([forecaster.play(), np.exp(-eta * (losses - losses.min()))])
        plays[1] /= plays[1].sum()
        weights = np.exp(-np.sqrt(np.log(2) / variance) * (behind - behind.min())) if first else np.ones(2)
        weights *= (1 - first, first)
        weights /= weights.sum()
        play = weights @ plays
        i = int(rng.choice(K, p=play / play.sum()))
        multiplier, charged = forecaster.multiplier.copy(), forecaster.charge(i)
        rewards, constraints = game.reveal(t, play, key) if block is None else (block.rewards[t], block.constraints[t])
        loss = 1 - rewards[i] + multiplier @ (1 - constraints[:, i])
        estimate = loss / (play[i] + eta / 2)
        losses[i] += estimate
        off = plays[:, i] * estimate
        behind += off
        variance += float(weights @ (off - weights @ off) ** 2)
        forecaster.learn(Bandit(i, float(play[i]), float(rewards[i]), constraints[:, i].copy(), NO_PLAY, charged))
        reward, short, hedged = reward + play @ rewards, short + floor - constraints @ play, hedged + weights[1]
        total, met = total + rewards, met + constraints
    best = best_fixed_play(total / rounds, met / rounds, floor).value
    return Mixed(reward / rounds, best, float(np.maximum(short, 0).max()) / rounds, hedged / rounds)


def hedgers(folder: Path) -> None:
    """Print what a hedger beside the forecasts gains against an opponent that reacts, and costs elsewhere."""
    columns = ("game or set", "share of the hedger at first", "reward, of the best fixed play", "regret per round")
    print(head(*columns, "net violation", "share of the hedger on average"))
    cases: list[tuple[str, Game, int, Vector]] = [
        ("`anti-leader`, 0.6", games.make("anti-leader", 0.6, 20_000), 20_000, np.array([0.6])),
        ("`bernoulli`, 0.6", games.make("bernoulli", 0.6, 20_000), 20_000, np.array([0.6])),
    ]
    cases += [(f"`{one.name}`", one.game, min(one.game.length, MOST), one.floor) for one in sets(folder)]
    for title, game, rounds, floor in cases:
        for first in (0.0, 0.5, 0.1):
            runs = [with_hedger(game, rounds, floor, seed, first) for seed in range(HEDGED_RUNS)]
            reward, best, net, share = np.mean(runs, axis=0).tolist()
            cells = (percent(reward / best), f"{best - reward:.3f}", small(net), percent(share))
            print(line(title, f"{first:g}", *cells), flush=True)


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
    hedgers(Path(sys.argv[1]))
