"""Anytime BanditLEWA: the loss form with decreasing steps, for an unknown horizon."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, anytime_dual_step, comparable, draw, normalize, ones, priced_loss, set_weights
from lewa.kernels.roles import Clock, Losses, Multiplier
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem, log_actions
from lewa.theory import bandit
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class AnytimeBanditLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    losses: Losses  # (K,)    the estimated losses added up
    clock: Clock  # (1,)    t, the rounds answered


@dataclass(frozen=True)
class AnytimeBanditLewa(Learner):
    """Anytime BanditLEWA: the loss form for an unknown horizon.

    Every step decreases as 1/sqrt(t), and one bound holds at every T.

    No box of the paper. With Lhat_0 = 0 and lambda_1 = 0, in round t, i the action drawn from p_t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = w_t / sum w_t,   w_t = exp(-eta_t Lhat_{t-1})
        Lhat_{t,i}   = Lhat_{t-1,i} + ((1 - r_t) + lambda_t (1 - c_t))/p_{t,i}             (the others stay)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the loss uses lambda_t; both move at once. For m constraints lambda (1 - c) is the sum over constraints. The
    current step weighs all past losses, so every weight moves every round. The probability p_{t,i} is that of the draw,
    which the feedback contains; t counts the rounds that were answered. The multiplier is that of the time of learning,
    as in `loss-bandit-lewa`.

    Parameters: eta = eta > 0; delta = delta > 0; c0 = floor, each in [0, 1]. The proof needs delta >= 4 m eta K.

    Reading: 1/mu_t - 1/mu_{t-1} = delta_t, so in the proof the dual step's terms cancel exactly; and as 1 - delta_t mu_t =
    sqrt((t - 1)/t), the multiplier is a queue, Q_t = [Q_{t-1} + c0 - c_t]+, divided by delta sqrt(t). The tuning is
    delta = sqrt(2 m (4 K ln K + 1)), eta = delta/(4 m K); for m = 1 regret <= delta sqrt(T) in expectation, at every T. The
    proof is in docs/theory_bandit.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.AnytimeBanditLewa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_bandit.md; the lazy step is P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident
    on-line learning algorithms, J. Comput. Syst. Sci. 64, 2002.
    """

    eta: float
    delta: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, means: object = None) -> Self:
        """Return the learner with delta = sqrt(2 m (4 K ln K + 1)), eta = delta/(4 m K), for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, _, floor = check_problem(actions, horizon, floor, means)
        m = floor.size
        delta = sqrt(2 * m * (4 * K * log_actions(K) + 1))
        return cls(delta / (4 * m * K), delta, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        # The laws show it actions that it would hardly draw: small steps keep such losses from dwarfing all others.
        small = cls.tuned(3, 200, 0.5).replace(eta=0.1)
        return [(small, 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def check(self) -> None:
        check_positive(eta=self.eta, delta=self.delta)

    def start(self, actions: int) -> AnytimeBanditLewaState:
        K, m = self.sizes(actions)
        return AnytimeBanditLewaState(ones(K), np.zeros(m), np.zeros(K), np.zeros(1))

    def play(self, s: AnytimeBanditLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def choose(self, s: AnytimeBanditLewaState, u: float) -> tuple[int, float]:
        return draw(s.weights, 0.0, u)  # i ~ p, and p_i

    def learn(self, s: AnytimeBanditLewaState, seen: Bandit) -> None:
        c, lam = seen.constraints, s.multiplier
        s.clock[0] += 1
        t = s.clock[0]
        s.losses[seen.action] += priced_loss(seen.reward, lam, c) / seen.propensity  # Lhat_i + ((1 - r) + lam (1 - c))/p_i
        set_weights(s.weights, -self.eta / sqrt(t + 1), s.losses)  # w = exp(-eta_{t+1} Lhat_t)
        anytime_dual_step(lam, self.delta, t, c, self.floor)  # lam <- [(1 - delta_t mu_t) lam - mu_t (c - c0)]+

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return bandit.anytime_bandit_lewa(self, actions, rounds, setting)
