"""Learners with bandit feedback and 2 to 100 actions: the share of the best reward, and what is spent beyond limits.

    python -m benchmarks.many_actions [--learners NAME ...] [--actions K ...] [--rounds T] [--games N] [--first SEED]

A game has coins with random means: dear actions pay more, but for noise; the limit of each cost lies three tenths of the way
from its least mean to its largest, and the share is of the best mixture by the means. Each game is played with one seed.
"""

import argparse

import numpy as np

import lewa
from lewa.measures import best_fixed_play


def game_of(actions: int, constraints: int, seed: int) -> tuple[lewa.games.Bernoulli, np.ndarray, float]:
    """Return a game, its floors, and the reward of its best mixture."""
    rng = np.random.default_rng([seed, actions, constraints])
    costs = rng.random((constraints, actions))
    rewards = np.clip(0.2 + 0.6 * costs.mean(axis=0) + 0.2 * rng.standard_normal(actions), 0, 1)
    best = None
    share = 0.3
    while best is None or not best.feasible:
        limits = costs.min(axis=1) + share * np.ptp(costs, axis=1)
        best, share = best_fixed_play(rewards, 1 - costs, 1 - limits), share + 0.1
    return lewa.games.Bernoulli(rewards=rewards.tolist(), constraints=(1 - costs).tolist()), 1 - limits, best.value


def main() -> None:
    """Print one line for each number of actions and constraints and each learner."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--learners", nargs="+", default=["squarecb-lewa", "thompson-lp"])
    parser.add_argument("--actions", nargs="+", type=int, default=[2, 3, 5, 10, 30, 100])
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first game; others are new games")
    chosen = parser.parse_args()
    T, seeds = chosen.rounds, range(chosen.first, chosen.first + chosen.games)
    print(f"T = {T:,}, {chosen.games} games from seed {chosen.first}")
    print("  K  m  learner                 of the optimum    violation / T, largest")
    for K in chosen.actions:
        for m in (1, 2):
            for name in chosen.learners:
                share, beyond = [], []
                for seed in seeds:
                    game, floor, best = game_of(K, m, seed)
                    trace = lewa.play(lewa.learners.make(name, K, T, floor), game, rounds=T, seeds=[seed])
                    share.append(float(trace.reward[0, -1]) / (T * best))
                    beyond.append(float(lewa.violation(trace).max()) / T)
                error = 1.96 * np.std(share, ddof=1) / len(share) ** 0.5
                spent = f"{np.mean(beyond):7.4f}  {max(beyond):7.4f}"
                print(f"{K:3d}  {m}  {name:22s} {np.mean(share):7.1%} +- {error:5.1%}  {spent}", flush=True)


if __name__ == "__main__":
    main()
