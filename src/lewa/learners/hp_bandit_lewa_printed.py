"""High-Probability BanditLEWA as printed (box 4 of the paper), for comparison."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, dual_step_one, mix, refresh, set_one
from lewa.kernels.roles import Clock, Estimates, Multiplier
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import require
from lewa.learners.parameters import Share, Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory.guarantees import none, one_action
from lewa.theory.setting import Setting
from lewa.theory.theorems import Statements, Theorems
from lewa.types import Matrix, Vector


@comparable
class PrintedHpBanditLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    sums: Estimates[Matrix]  # (m, K)  chat_1 + ... + chat_t
    clock: Clock  # (1,)    t, the rounds answered


def as_printed(q: Problem, gamma: float | None = None, delta: float | None = None, epsilon: float = 0.05) -> Parameters:
    """gamma = T^(-1/2), at most 1/2, delta = T^(-1/4), and the other values of the theorem."""
    gamma = min(0.5, q.T**-0.5) if gamma is None else gamma
    delta = q.T**-0.25 if delta is None else delta
    radius, alpha = sqrt(0.5 * log(6 * q.K * q.T / epsilon)), 2 * sqrt(log(4 * q.K * q.T / epsilon))
    eta = gamma / (max(3.0, 1 + 2 * radius) * q.K) * delta / (delta + 1)
    return {"eta": eta, "gamma": gamma, "delta": delta, "bonus": alpha / sqrt(q.K * q.T), "radius": radius}


def nothing(learner: Learner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Say why nothing is proved of more than one action."""
    if actions == 1:
        return one_action(learner.floor)
    reason = "the box has no memory, so nothing is learned: at the tunings of the theorem regret is linear"
    return (none("HP-BanditLEWA as printed", reason),)


@dataclass(frozen=True)
class PrintedHpBanditLewa(Learner):
    """High-Probability BanditLEWA as printed: weights without memory.

    This is exactly the box: the weights depend only on the last round.

    Box 4, Theorem 4. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t, and rhat_t = r_t/p_{t,i},
    chat_t = c_t/p_{t,i} at i and 0 elsewhere::

        q_t          = w_t / sum w_t
        p_t          = (1 - gamma) q_t + gamma/K
        ctilde_t     = (chat_1 + ... + chat_t)/t
        w_{t+1}      = exp(eta ((rhat_t + bonus/p_t) + lambda_t (ctilde_t + (2K/gamma) alpha_1/sqrt(t))))
        lambda_{t+1} = [(1 - delta eta) lambda_t - eta (q_t.chat_t + alpha_1/sqrt(t) - c0)]+

    Order: ctilde_t contains round t; the weights use lambda_t, the multiplier uses q_t.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); delta = delta > 0 with delta eta <= 1; alpha/sqrt(KT) = bonus > 0;
    alpha_1 = radius > 0; c0 = floor, each in [0, 1].

    Reading: the weight update is implemented as printed, without w_t. The box's x_t, which is not defined, is read as
    q_t, and its lambda_1, a bold zero, as 0. Its w_1 = exp(eta alpha sqrt(KT)) is the same for every action and cancels
    in q_1. `tuned` uses gamma = T^(-1/2) of the statement and delta = T^(-1/4) of the corollary. Without memory the
    play stays near uniform for any rewards, and regret is linear. With w_t restored, the proof would still not give the
    rates: its last inequality contains 4 alpha_1 K sqrt(T)/(gamma delta) and 4 gamma T (delta + 1)/(beta delta), which
    at gamma = T^(-1/4), delta = T^(-1/4) are of order T. The repaired learner is `hp-bandit-lewa`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[1.0, 0.0], constraints=[[1.0, 1.0]])
    >>> learner = lewa.learners.PrintedHpBanditLewa.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret per round {lewa.regret(trace).mean() / 10_000:.2f}"
    'regret per round 0.50'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5.
    """

    eta: Step
    gamma: Share
    delta: Step
    bonus: Step
    radius: Step
    floor: Vector

    tunings = {"recommended": as_printed}
    theorems = Theorems(nothing)

    keeps_shares = False

    def check(self) -> None:
        require(self.delta * self.eta <= 1, "delta*eta must be at most 1", delta=self.delta, eta=self.eta)

    def play(self, s: PrintedHpBanditLewaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def learn(self, s: PrintedHpBanditLewaState, seen: Bandit) -> None:
        i, p, c, lam, w = seen.action, seen.play, seen.constraints, s.multiplier, s.weights
        s.clock[0] += 1
        t, K = s.clock[0], p.size
        radius = self.radius / sqrt(t)
        for j in range(lam.size):
            s.sums[j, i] += c[j] / seen.propensity
        for k in range(K):  # w = exp(eta ((rhat + bonus/p) + lam (ctilde + (2K/gamma) alpha_1/sqrt(t))))
            gain = self.bonus / p[k] if p[k] > 0 else 0.0
            for j in range(lam.size):
                gain += lam[j] * (s.sums[j, k] / t + 2 * K / self.gamma * radius)
            if k == i:
                gain += seen.reward / seen.propensity
            set_one(w, k, self.eta * gain)
        refresh(w)
        q = (seen.propensity - self.gamma / K) / (1 - self.gamma)
        for j in range(lam.size):  # lam <- [(1 - delta eta) lam - eta (q.chat + alpha_1/sqrt(t) - c0)]+
            lam[j] = dual_step_one(lam[j], self.delta, self.eta, q * c[j] / seen.propensity + radius, self.floor[j])

    @property
    def dual(self) -> tuple[float, float]:
        return self.delta, self.eta
