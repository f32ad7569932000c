"""The libraries beside which lewa is timed, each where it is installed: one variant of the same rounds for each."""

from collections.abc import Callable

import numpy as np
from benchmarks.rounds import plain_coins


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


def mabwiser_ucb1(actions: int, rounds: int) -> Callable[[], int]:
    """Return mabwiser's UCB1, predict and partial_fit of one row."""
    from mabwiser.mab import MAB, LearningPolicy

    means, uniforms = plain_coins(actions, rounds)

    def variant() -> int:
        mab = MAB(list(range(actions)), LearningPolicy.UCB1(alpha=1.0), seed=1)
        mab.fit(list(range(actions)), [0.0] * actions)  # it wants data before the first prediction
        for u in uniforms:
            arm = mab.predict()
            mab.partial_fit([arm], [1.0 if u < means[arm] else 0.0])
        return rounds

    return variant


def pareto_bandit(actions: int, rounds: int) -> Callable[[], int]:
    """Return ParetoBandit's route and process_feedback, with one constant feature in place of an embedding."""
    from pareto_bandit import BanditRouter
    from pareto_bandit.feature_service import FeatureService

    means, uniforms = plain_coins(actions, rounds)
    models = {str(n): {"input_cost_per_m": 1.0 + n, "output_cost_per_m": 2.0 + n} for n in range(actions)}

    def variant() -> int:
        features = FeatureService.for_precomputed(1)
        router = BanditRouter.create(models, priors="none", feature_service=features)
        constant = np.ones(1)
        for u in uniforms:
            model, log = router.route(constant)
            router.process_feedback(log.request_id, 1.0 if u < means[int(model)] else 0.0)
        return rounds

    return variant
