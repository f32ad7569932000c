"""High-Probability BanditLEWA (box 4 of the paper): repaired, and as printed."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import Weights, dual_step_one, estimate_gains, grow_priced, mix, refresh, set_one, update_clipped_mean
from lewa.kernels.roles import Clock, Estimates, Multiplier, OfActions, OfConstraints, Scratch, Table
from lewa.learners.base import USUAL, Bandit, Dual, Learner, Share, Step, Theorems, trial
from lewa.learners.parameter_checks import require
from lewa.learners.problem import Parameters, Problem
from lewa.theory import paper
from lewa.theory.theorems import nothing_proved
from lewa.types import Matrix, Vector


class HpBanditLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    gain: Scratch[OfActions]  # (K,)    rhat + bonus/p of the last round
    sums: Estimates[Matrix]  # (m, K)  chat_1 + ... + chat_t
    estimate: Scratch[Table]  # (m, K)  ctilde
    met: Scratch[OfConstraints]  # (m,)    q.ctilde of the last round
    clock: Clock  # (1,)    t, the rounds answered


def recommended(q: Problem, epsilon: float = 0.05) -> Parameters:
    """gamma = 2 sqrt(K ln K/T), at most 1/2, eta = gamma/(4K), delta = 4 m eta, and the rest as the proof needs it."""
    gamma = min(0.5, 2 * sqrt(q.K * q.ln_K / q.T))
    eta = gamma / (4 * q.K)
    bonus = min(1.0, sqrt(log(3 * q.K / epsilon) / (q.K * q.T)))
    mu, level = min(q.T**-0.5, 1 / (4 * q.m * eta)), paper.hp_bandit_level(q.K, q.T, q.m, epsilon)
    return {"eta": eta, "gamma": gamma, "delta": 4 * q.m * eta, "mu": mu, "bonus": bonus, "level": level}


@dataclass(frozen=True)
class HpBanditLewa(Dual, Learner):
    """High-Probability BanditLEWA, repaired: bounds for the single run.

    A bonus for actions rarely drawn, clipped means of the constraint estimates, and their confidence radius in the dual
    step.

    Box 4, Theorem 4, repaired. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t, and rhat_t =
    r_t/p_{t,i}, chat_t = c_t/p_{t,i} at i and 0 elsewhere::

        q_t          = w_t / sum w_t
        p_t          = (1 - gamma) q_t + gamma/K
        ctilde_t     = (chat_1 + ... + chat_t)/t, clipped to [0, 1]
        w_{t+1}      = w_t exp(eta (rhat_t + bonus/p_t + lambda_t ctilde_t))
        kappa_t      = min(1, sqrt(2 K L/(gamma t)) + 2 K L/(3 gamma t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (q_t.ctilde_t + kappa_t - c0)]+

    Order: ctilde_t contains round t; the weights use lambda_t, the multiplier uses q_t. Every weight moves every round,
    and `learn` needs the whole play of the decision, which the feedback contains.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); delta = delta > 0 and mu = mu > 0 with delta mu <= 1;
    bonus = bonus in (0, 1]; L = level > 0; c0 = floor, each in [0, 1].

    Reading: this learner differs from the box in four ways. The weights keep their past (the box lacks w_t; as printed
    it has no memory, see `hp-bandit-lewa@printed`). The estimates are clipped and used in both updates (the box has
    ctilde in one and chat in the other, and the two do not cancel as the proof requires). The confidence radius is in
    the dual step and is large enough for bandit estimates; in the box it is added to every action, where it cancels,
    while the dual step has the radius for full information. The dual step is a separate parameter. The proved constants
    are large, because kappa allows for the worst case K/gamma.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[1.0, 0.0], constraints=[[1.0, 1.0]])
    >>> learner = lewa.learners.HpBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"regret per round {lewa.regret(trace).max() / 100_000:.3f}"
    'regret per round 0.013'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5; the
    bonus is that of Exp3.P, P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, SIAM J. Comput. 32, 2002.
    """

    eta: Step
    gamma: Share
    delta: Step
    mu: Step
    bonus: Step
    level: Step
    floor: Vector

    tunings = {"recommended": recommended}
    trials = (*USUAL, trial(4, 100, 0.6, level=0.001))
    theorems = Theorems(paper.hp_bandit_lewa)

    def play(self, s: HpBanditLewaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def learn(self, s: HpBanditLewaState, seen: Bandit) -> None:
        i, p, lam = seen.action, seen.play, s.multiplier
        s.clock[0] += 1
        t, K = s.clock[0], p.size
        for j in range(lam.size):  # ctilde = mean of chat, clipped; and q.ctilde, as p = (1 - gamma) q + gamma/K
            s.sums[j, i] += seen.constraints[j] / seen.propensity
            s.met[j] = update_clipped_mean(s.sums[j], t, s.estimate[j], p, self.gamma / K) / (1 - self.gamma)
        estimate_gains(seen, self.bonus, s.gain)
        grow_priced(s.weights, self.eta, s.gain, lam, s.estimate)  # w <- w exp(eta (rhat + bonus/p + lam ctilde))
        kappa = min(1.0, sqrt(2 * K * self.level / (self.gamma * t)) + 2 * K * self.level / (3 * self.gamma * t))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (q.ctilde + kappa - c0)]+
            lam[j] = dual_step_one(lam[j], self.delta, self.mu, s.met[j] + kappa, self.floor[j])


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
    >>> trace = lewa.play("hp-bandit-lewa@printed", game, rounds=10_000, seeds=4, floor=0.5)
    >>> f"regret per round {trace.regret.mean() / 10_000:.2f}"
    'regret per round 0.50'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5.
    """

    eta: Step
    gamma: Share
    delta: Step
    bonus: Step
    radius: Step
    floor: Vector

    keeps_shares = False
    tunings = {"recommended": as_printed}
    theorems = nothing_proved("HP-BanditLEWA as printed", paper.AS_PRINTED, trivial=True)

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
