"""Forecast-LP: the best play for the forecast of the next round, by a linear program."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    EMPTY,
    Tilt,
    Weights,
    comparable,
    no_tilt,
    normalize,
    ones,
    prices,
    project,
    refresh,
    set_one,
    set_weights,
    update_mean,
    update_means,
)
from lewa.kernels.roles import Clock, Lines, Multiplier, PerAction
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_problem, require
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Vector

SHARP = 1e7  # the linear program is solved to within ln K/SHARP; ties are played evenly


@comparable
class ForecastLpState(NamedTuple):
    weights: Weights  # exp(SHARP rhat), tilted
    multiplier: Multiplier  # (m,)    lambda, the price of each floor
    reward: PerAction[Vector]  # (K,)    rhat
    mean: Lines  # (m, K)  chat
    tilt: Tilt  # SHARP lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class ForecastLp(Learner):
    """Forecast-LP: the best play for the forecast of the next round, by a linear program.

    A learner of another paper: the first heuristic of Mannor, Tsitsiklis and Yu. They play the best response to a
    calibrated forecast of the next round, which is costly, and then measure forecasts that are not calibrated. With g_t
    = max(1/t, gain), rhat_1 = chat_1 = 0 and p_1 uniform, in round t::

        rhat_{t+1} = rhat_t + g_t (r_t - rhat_t),   chat_{t+1} = chat_t + g_t (c_t - chat_t)
        p_{t+1}    = argmax {p.rhat_{t+1} : p.chat_{t+1} >= c0};
                     if there is no such play, the action with the largest min_j (chat_j - c0_j)

    Order: forecasts contain round t. If several plays are best, the one nearest to the uniform play in relative entropy
    is taken.

    Parameters: gain = gain in [0, 1]: 0 forecasts the mean of all rounds, a larger gain follows recent rounds; c0 =
    floor, each in [0, 1].

    Reading: this follows the paper from memory, and details may differ. In particular, they forecast the state of
    nature, which determines rewards and constraints, so both have the same gain here. The linear program is solved by
    its entropic form with weights exp(10^7 rhat), to within 10^-7 ln K. The learner follows the leader, so rewards that
    react can mislead it in every round. It has no bound. There is no bandit form, because actions that are not played
    could not be forecast.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.ForecastLp.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret -34, violation 52'

    Reference: S. Mannor, J. Tsitsiklis, J. Y. Yu, Online learning with sample path constraints, JMLR 10, 2009.
    """

    gain: float
    floor: Vector

    keeps_shares = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, gain: float = 0.0, means: object = None) -> Self:
        """Return the learner, by default with gain = 0, which forecasts the mean of all rounds.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        gain
            The least weight of the newest round in a forecast, in [0, 1].
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        return cls(gain, check_problem(actions, horizon, floor, means)[2])

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(5, 100, (0.4, 0.2), gain=0.2), 5)]

    def check(self) -> None:
        require(0 <= self.gain <= 1, "gain must lie in [0, 1]", gain=self.gain)

    def start(self, actions: int) -> ForecastLpState:
        K, m = self.sizes(actions)
        return ForecastLpState(ones(K), np.zeros(m), np.zeros(K), np.zeros((m, K)), no_tilt(K, m), np.zeros(1))

    def play(self, s: ForecastLpState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: ForecastLpState, seen: Full) -> None:
        s.clock[0] += 1
        n = 1 / max(1 / s.clock[0], self.gain)
        update_mean(s.reward, seen.rewards, n, seen.play)  # rhat <- rhat + g (r - rhat)
        update_means(s.mean, seen.constraints, n)  # chat <- chat + g (c - chat)
        set_weights(s.weights, SHARP, s.reward)
        if project(s.weights, s.mean, self.floor, s.tilt) == EMPTY:
            for k in range(s.reward.size):  # the action with the largest min_j (chat_j - c0_j)
                worst = 1.0
                for j in range(self.floor.size):
                    worst = min(worst, s.mean[j, k] - self.floor[j])
                set_one(s.weights, k, SHARP * worst)
            refresh(s.weights)
        prices(s.tilt, SHARP, s.multiplier)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("Forecast-LP", rivals.HEURISTIC),)
