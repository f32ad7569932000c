"""Games in which one of ten actions keeps two tight limits: is it found, also if its first answer is bad?

    python -m benchmarks.lost_action [--seeds N] [--games N] [--first SEED] [--set NAME=VALUE ...]

First one game with many seeds, then many games like it: coins with random means, and limits that are 0.02 above the costs of
the action whose larger cost is least. `--set doubt=0 hope=0 beta=2` is the rule of earlier versions.
"""

import argparse

import numpy as np

import lewa
from lewa.types import Matrix, Vector

ROUNDS, ACTIONS, SLACK, MANY = 3000, 10, 0.02, (200, 500, 1000)
REWARDS = np.array([0.671, 0.420, 0.493, 0.876, 0.068, 0.626, 0.0, 1.0, 0.356, 0.277])
COSTS = np.array(
    [
        [0.768, 0.359, 0.741, 0.942, 0.012, 0.051, 0.366, 0.943, 0.504, 0.565],
        [0.831, 0.432, 0.180, 0.905, 0.263, 0.973, 0.0, 0.894, 0.918, 0.094],
    ]
)


def like(seed: int) -> tuple[Vector, Matrix]:
    """Return the rewards and costs of another game."""
    rng = np.random.default_rng([77, seed])
    costs = rng.random((2, ACTIONS))
    return np.clip(0.2 + 0.6 * costs.mean(axis=0) + 0.2 * rng.standard_normal(ACTIONS), 0, 1), costs


def owed(rewards: Vector, costs: Matrix, seeds: int, settings: dict[str, float]) -> Vector:
    """Return the largest violation of each seed at the end."""
    limits = np.clip(costs[:, costs.max(axis=0).argmin()] + SLACK, 0.02, 0.98)
    game = lewa.games.Bernoulli(rewards=rewards.tolist(), constraints=(1 - costs).tolist())
    learner = lewa.learners.make("squarecb-lewa", ACTIONS, ROUNDS, 1 - limits, **settings)
    trace = lewa.play(learner, game, rounds=ROUNDS, seeds=seeds)
    largest: Vector = np.asarray(lewa.violation(trace)).reshape(seeds, -1).max(axis=1)
    return largest


def main() -> None:
    """Print how many runs owe much after 3,000 rounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first game; others are new games")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="a setting of the learner")
    chosen = parser.parse_args()
    settings = {name: float(value) for name, value in (item.split("=") for item in chosen.set)}
    each = max(chosen.seeds // chosen.games, 1)
    found = {
        "one game": owed(REWARDS, COSTS, chosen.seeds, settings),
        f"{chosen.games} games from seed {chosen.first}": np.concatenate(
            [owed(*like(seed), each, settings) for seed in range(chosen.first, chosen.first + chosen.games)]
        ),
    }
    for title, violations in found.items():
        counts = ", ".join(f"{(violations > least).sum()} owe more than {least:,}" for least in MANY)
        print(f"{title}, {violations.size:,} runs: {counts}; mean {violations.mean():.1f}, largest {violations.max():.0f}")


if __name__ == "__main__":
    main()
