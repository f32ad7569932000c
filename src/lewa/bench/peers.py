"""The libraries beside which lewa is timed, each where it is installed: one variant of the same rounds for each."""

from collections.abc import Callable

import numpy as np

from lewa.bench.rounds import plain_coins


def river_exp3(actions: int, rounds: int) -> Callable[[], int]:
    """Return river's Exp3, pull and update."""
    from river import bandit as river_bandit

    means, uniforms = plain_coins(actions, rounds)

    def variant() -> int:
        policy, arms = river_bandit.Exp3(gamma=0.1, seed=1), list(range(actions))
        for u in uniforms:
            arm = policy.pull(arms)
            policy.update(arm, 1.0 if u < means[arm] else 0.0)
        return rounds

    return variant


def river_ewa(actions: int, rounds: int) -> Callable[[], int]:
    """Return river's EWARegressor with constant experts, learn_one."""
    from river import dummy, ensemble, optim, stats

    class Constant(stats.base.Univariate):  # type: ignore[misc]
        def __init__(self, value: float = 0.0) -> None:
            self.value = value

        def update(self, x: float) -> None:
            pass

        def get(self) -> float:
            return self.value

    experts = [dummy.StatisticRegressor(Constant(n / actions)) for n in range(actions)]
    targets = np.random.default_rng(4).random(rounds).tolist()
    features: dict[str, float] = {}

    def variant() -> int:
        model = ensemble.EWARegressor(experts, loss=optim.losses.Squared(), learning_rate=0.01)
        for target in targets:
            model.learn_one(features, target)
        return rounds

    return variant


def pymab_exp3(actions: int, rounds: int) -> Callable[[], int]:
    """Return pymab's EXP3 (a compiled core), select_action and update."""
    from pymab.policies import EXP3Policy

    means, uniforms = plain_coins(actions, rounds)

    def variant() -> int:
        policy, rng = EXP3Policy(n_arms=actions, gamma=0.1), np.random.default_rng(1)
        for u in uniforms:
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=1.0 if u < means[arm] else 0.0)
        return rounds

    return variant
