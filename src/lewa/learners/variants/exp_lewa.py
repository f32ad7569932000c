"""ExpLEWA and ExpBanditLEWA: an exponential price on the shortfall so far, for constraints that vary arbitrarily."""

from dataclasses import dataclass
from math import expm1, log1p, sqrt
from typing import NamedTuple

from lewa.kernels import AdaHedgeWeights, Weights, draw, exp, grow_adahedge, normalize, rule, set_weights
from lewa.kernels.roles import Losses, Number, OfConstraints, Scratch, Totals
from lewa.learners.base import USUAL, Bandit, Full, Learner, Parameters, Problem, Step, Theorems, Vector, trial
from lewa.theory import adversarial


class ExpLewaState(NamedTuple):
    weights: AdaHedgeWeights  # G and Delta
    charge: Scratch[OfConstraints]  # (m,)  what the price was in the last round: Phi'(Q) for the floor missed most, or 0
    missed: Totals[Number]  # (1,)  Q


def slow_rate(q: Problem) -> Parameters:
    """b = 9/(10 C), C = 1 + sqrt(1 + T ln K)."""
    return {"rate": 0.9 / adversarial.adahedge(q.K, q.T)}


@rule
def growth(rate: float, missed: float) -> float:
    """exp(b Q), its exponent capped"""
    return exp(min(rate * missed, adversarial.STEEPEST))


@dataclass(frozen=True)
class ExpLewa(Learner):
    """ExpLEWA: an exponential price on all shortfall so far, for constraints that vary arbitrarily.

    While the floors are met, actions are weighed by r alone. In a round that misses a floor the constraint counts too,
    at a price that grows exponentially with the sum of all shortfalls so far; no later round offsets a shortfall. The
    weights are those of AdaHedge, whose step adapts to the scale of the prices.

    No box of the paper. With Q_0 = 0, G_0 = 0, Delta_0 = 0, in round t::

        eta_t   = ln K/Delta_{t-1}                       (the leaders alone are played, evenly, while Delta = 0)
        p_t     = exp(eta_t G_{t-1}) / sum exp(eta_t G_{t-1})
        Q_t     = Q_{t-1} + [c0 - p_t.c_t]+
        g_t     = r_t + b exp(b Q_t) 1{p_t.c_t < c0} c_t
        G_t     = G_{t-1} + g_t
        Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t g_t))/eta_t - p_t.g_t

    Order: the price of a round contains its own shortfall. For m constraints [c0 - p_t.c_t]+ is the largest over the floors
    and c_t in g_t is the constraint with this shortfall.

    Parameters: b = rate > 0; c0 = floor, each in [0, 1].

    Reading: with C = 1 + sqrt(1 + T ln K), b = 9/(10 C): on every path and against plays that meet the floors in every
    round regret <= C + 0.9 and sum_t max_j [c0_j - p_t.c_tj]+ <= (C/0.9) ln(10 (T + C + 1)), without slack and for any
    number of floors. Sinha and Vaze use b = 1/(2 C), for which both bounds are proved too; the second is 1.5 times as
    large. The exponent b Q_t never exceeds ln(10 (T + C + 1)) if some play meets the floors in every round. Otherwise
    it could, so it is capped at 100, and nothing is proved. One example is constraints that vary randomly around a
    mean, where every round below the floor counts as a shortfall; use `lewa` for them. Proof:
    docs/theory_adversarial.md, 2.

    >>> import lewa, numpy as np
    >>> T = 10_000
    >>> rewards, kept = np.sqrt([2, 3, 5]) * np.arange(T)[:, None] % 1, np.sqrt([7, 11, 13]) * np.arange(T)[:, None] % 1
    >>> kept[:, 2] = 0.6 + 0.4 * kept[:, 2]                              # the third action keeps 0.6 in every round
    >>> game = lewa.games.Table(rewards * [1, 0.9, 0.5], kept)
    >>> learner = lewa.learners.ExpLewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> trace = lewa.play(learner, game)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="arbitrary")
    >>> f"regret {lewa.regret(trace, 'every round')[0]:.0f} (bound {bound.regret:.0f})"
    'regret -1367 (bound 107)'
    >>> f"positive violation {lewa.positive_violation(trace)[0, 0]:.0f} (bound {bound.positive_violation[0]:.0f})"
    'positive violation 776 (bound 1355)'

    Reference: A. Sinha, R. Vaze, Optimal algorithms for online convex optimization with adversarial constraints, NeurIPS
    2024, for the price; S. de Rooij, T. van Erven, P. Grunwald, W. Koolen, Follow the leader if you can, hedge if you must,
    JMLR 15, 2014, for AdaHedge.
    """

    rate: Step
    floor: Vector

    tunings = {"recommended": slow_rate}
    trials = (*USUAL, trial(4, 100, 0.6, rate=2.0))  # a rate at which the price soon is as steep as it gets
    theorems = Theorems(adversarial.exp_lewa)

    def play(self, s: ExpLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = exp(eta G) / sum exp(eta G)

    def learn(self, s: ExpLewaState, seen: Full) -> None:
        worst, short = 0, 0.0
        for j in range(s.charge.size):  # the floor that is missed most
            s.charge[j] = 0.0
            if self.floor[j] - seen.met[j] > short:
                worst, short = j, self.floor[j] - seen.met[j]
        s.missed[0] += short  # Q <- Q + [c0 - p.c]+
        if short > 0:
            s.charge[worst] = self.rate * growth(self.rate, s.missed[0])  # b exp(b Q)
        grow_adahedge(s.weights, seen.rewards, s.charge, seen.constraints)  # G <- G + r + charge c, and Delta with it


class ExpBanditLewaState(NamedTuple):
    weights: Weights  # w
    losses: Losses  # (K,)  Lhat, the estimated losses added up
    missed: Totals[Number]  # (1,)  Q
    scale: Totals[Number]  # (1,)  n


def step_and_rate(q: Problem) -> Parameters:
    """eta = sqrt(ln K/K), b = ln(1 + 9/(10 C)), C = 2 sqrt(K T ln K)."""
    eta = sqrt(q.ln_K / q.K)
    return {"eta": eta, "rate": log1p(0.9 / (sqrt(q.T) * (q.ln_K / eta + q.K * eta)))}


@dataclass(frozen=True)
class ExpBanditLewa(Learner):
    """ExpBanditLEWA: an exponential price on all shortfall so far, for bandit feedback and arbitrary constraints.

    ExpLEWA for bandit feedback. If the action drawn misses a floor, its shortfall is a cost, at a price that grows
    exponentially with the sum of all earlier shortfalls. The step decreases as the prices add up, so that it adapts to
    their scale.

    No box of the paper. With Q_0 = 0, n_0 = 0, Lhat_0 = 0, in round t, i the action drawn from p_t::

        z_t        = (exp(b) - 1) exp(b Q_{t-1})
        n_t        = n_{t-1} + (1 + z_t)^2,   eta_t = eta/sqrt(n_t)
        p_t        = exp(-eta_t Lhat_{t-1}) / sum exp(-eta_t Lhat_{t-1})
        v_t        = max_j [c0_j - c_{t,j}]+                                           (of the action drawn)
        Lhat_{t,i} = Lhat_{t-1,i} + ((1 - r_t) + z_t v_t)/p_{t,i}                      (the others stay)
        Q_t        = Q_{t-1} + v_t

    Order: the price and the step of a round are known before its draw. A late answer is learned at the current price,
    with the probability of its draw.

    Parameters: eta = eta > 0; b = rate > 0; c0 = floor, each in [0, 1].

    Reading: eta = sqrt(ln K/K); with C = 2 sqrt(K T ln K), b = ln(1 + 9/(10 C)): in expectation, against every mixture
    of actions that each meet the floors in every round, regret <= C + 0.9 and sum_t v_t <= ln(10 (T + C + 1))/b,
    without slack and for any number of floors. With probability 1 - epsilon the shortfall has the same bound with
    10/epsilon in place of 10. There are fewer comparators than for ExpLEWA, because the constraint of a mixture is not
    observed. The exponent is capped at 100, which does not affect the proof. As for ExpLEWA, nothing is proved for
    constraints that vary randomly around a mean, because every round below the floor counts. Proof:
    docs/theory_adversarial.md, 2.4.

    >>> import lewa, numpy as np
    >>> T = 100_000
    >>> rewards, kept = np.sqrt([2, 3, 5]) * np.arange(T)[:, None] % 1, np.sqrt([7, 11, 13]) * np.arange(T)[:, None] % 1
    >>> kept[:, 2] = 0.6 + 0.4 * kept[:, 2]                              # the third action keeps 0.6 in every round
    >>> game = lewa.games.Table(rewards * [1, 0.9, 0.5], kept)
    >>> learner = lewa.learners.ExpBanditLewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> trace = lewa.play(learner, game, seeds=4)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="arbitrary")
    >>> f"positive violation {lewa.positive_violation(trace).mean():.0f} (bound {bound.positive_violation[0]:.0f})"
    'positive violation 11622 (bound 17647)'

    Reference: docs/theory_adversarial.md; the price is A. Sinha, R. Vaze, Optimal algorithms for online convex optimization
    with adversarial constraints, NeurIPS 2024.
    """

    eta: Step
    rate: Step
    floor: Vector

    all_weights_move = True
    tunings = {"recommended": step_and_rate}
    trials = (
        trial(3, 200, 0.5, eta=0.1),  # small steps keep the losses of rare draws from dwarfing all others
        *USUAL[1:],
        trial(4, 100, 0.6, eta=0.1, rate=2.0),  # a rate at which the price soon is as steep as it gets
    )
    theorems = Theorems(adversarial.exp_bandit_lewa)

    def play(self, s: ExpBanditLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def choose(self, s: ExpBanditLewaState, u: float) -> tuple[int, float]:
        return draw(s.weights, 0.0, u)  # i ~ p, and p_i

    def learn(self, s: ExpBanditLewaState, seen: Bandit) -> None:
        short = 0.0
        for j in range(self.floor.size):  # v = max_j [c0 - c]+
            short = max(short, self.floor[j] - seen.constraints[j])
        z = expm1(self.rate) * growth(self.rate, s.missed[0])  # (e^b - 1) e^{bQ}
        s.losses[seen.action] += ((1 - seen.reward) + z * short) / seen.propensity  # Lhat + ((1 - r) + z v)/p
        s.scale[0] += (1 + z) * (1 + z)  # n <- n + (1 + z)^2
        s.missed[0] += short  # Q <- Q + v
        z = expm1(self.rate) * growth(self.rate, s.missed[0])  # of the round to come
        set_weights(s.weights, -self.eta / sqrt(s.scale[0] + (1 + z) * (1 + z)), s.losses)  # w = exp(-eta_{t+1} Lhat)
