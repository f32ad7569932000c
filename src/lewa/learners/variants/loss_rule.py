"""The rule of bandit LEWA in loss form, with its three axes.

When the answer of a decision for action i comes::

    L     = (1 - r) + sum_j price_j (1 - c_j),   b = 1 + sum_j price_j
    x     = the estimate of L: an *estimator* divides it by the chance of i
    w_k   = w_k exp(-eta x) for the *expert* that took i, or for all policies by their advice
    price = price + mu (c0 - c - delta price), by a *schedule*

A learner combines one of each, as `class LewaIx(Ix, Fixed, Drawn, LossRule, PrimalDual)` does. Its tunings and theorems are
its own. Compiled code finds the methods of an axis by the type of the learner.
"""

from math import log, sqrt
from typing import NamedTuple

from lewa.kernels.algebra import positive, total
from lewa.kernels.dispatch import method
from lewa.kernels.dual import anytime_dual_step, dual_step
from lewa.kernels.estimates import effective_chance, ix_loss, priced_loss
from lewa.kernels.jit import rule
from lewa.kernels.roles import Charged, Losses, Multiplier, Prices, Totals
from lewa.kernels.weights.hedge import Weights, draw, log_sum, mix_advice, normalize, set_weights, shrink_one
from lewa.learners.base import Bandit, Matrix, Reserves, Saved, Step, Vector
from lewa.learners.variants.anytime_lewa import SPENT, cost, end, open_decision
from lewa.types import State

# The methods of the axes, as functions of the learner, its state and an answer.
loss, most, chance, rate = map(method, ("loss", "most", "chance", "rate"))
estimate, blame, lower, settle = map(method, ("estimate", "blame", "lower", "settle"))


class LossRule:
    """One answer."""

    def learn(self, s: State, seen: Bandit) -> None:
        """Charge the experts with the estimated loss, then move the price."""
        x = estimate(self, s, seen)
        blame(self, s, seen.action, x)
        settle(self, s, seen)


# Estimators ------------------------------------------------------------------------------------------------------------


class Weighted:
    """x = L/p, which is right on average."""

    def estimate(self, s: State, seen: Bandit) -> float:
        """Return rate L/p."""
        return rate(self) * loss(self, s, seen) / chance(self, s, seen)


class Ix:
    """x = L/(p + (eta/2) b): implicit exploration, for bounds in a single run."""

    eta: Step

    def estimate(self, s: State, seen: Bandit) -> float:
        """Return rate L/(p + (eta/2) b)."""
        return ix_loss(rate(self) * loss(self, s, seen), chance(self, s, seen), self.eta / 2 * most(self, s, seen))


# Experts ---------------------------------------------------------------------------------------------------------------


class Actions:
    """The experts are the actions, and the action is drawn from their weights."""

    def play(self, s: State, p: Vector) -> None:
        """p = w / sum w"""
        normalize(s.weights, p)

    def blame(self, s: State, action: int, x: float) -> None:
        """Charge the action."""
        lower(self, s, action, x)


class Drawn(Actions):
    """The same; the learner draws its action by itself, in O(log K)."""

    def choose(self, s: State, u: float) -> tuple[int, float]:
        """i ~ p, and p_i"""
        return draw(s.weights, 0.0, u)


class Policies:
    """The experts are the K constant policies, and policies of the user, whose advice are the features."""

    def play(self, s: State, p: Vector) -> None:
        """p = sum_i w_i xi_i / sum w"""
        mix_advice(s.weights, s.features, p)

    def blame(self, s: State, action: int, x: float) -> None:
        """Charge the policy that always takes the action, then those that advised it, by their advice."""
        K = s.answers.size
        lower(self, s, action, x)
        for i in range(s.features.size // K):
            share = s.features[i * K + action]
            if share > 0:
                lower(self, s, K + i, share * x)
        s.answers[action] += 1


# Schedules -------------------------------------------------------------------------------------------------------------


class AtLearning:
    """The price is that of the time of learning, the chance that of the draw."""

    def loss(self, s: State, seen: Bandit) -> float:
        """L = (1 - r) + lam (1 - c)"""
        return priced_loss(seen.reward, s.multiplier, seen.constraints)

    def most(self, s: State, seen: Bandit) -> float:
        """b = 1 + lam"""
        return 1 + total(s.multiplier)

    def chance(self, s: State, seen: Bandit) -> float:
        """Return the propensity."""
        return seen.propensity


class Fixed(AtLearning):
    """The steps eta, delta and mu of a known horizon."""

    eta: Step
    delta: Step
    mu: Step
    floor: Vector

    def rate(self) -> float:
        """Return eta."""
        return self.eta

    def lower(self, s: State, i: int, x: float) -> None:
        """w_i <- w_i exp(-x)"""
        shrink_one(s.weights, i, x)

    def settle(self, s: State, seen: Bandit) -> None:
        """lam <- [(1 - delta mu) lam - mu (c - c0)]+"""
        dual_step(s.multiplier, self.delta, self.mu, seen.constraints, self.floor)


class Anytime(AtLearning):
    """Steps that decrease as 1/sqrt(t), for every horizon: the step weighs all past losses."""

    eta: Step
    delta: Step
    floor: Vector

    def rate(self) -> float:
        """Return 1: the step is that of all losses."""
        return 1.0

    def lower(self, s: State, i: int, x: float) -> None:
        """Lhat_i <- Lhat_i + x"""
        s.losses[i] += x

    def settle(self, s: State, seen: Bandit) -> None:
        """w = exp(-eta_{t+1} Lhat_t), lam <- [(1 - delta_t mu_t) lam - mu_t (c - c0)]+"""
        s.clock[0] += 1
        t = s.clock[0]
        set_weights(s.weights, -self.eta / sqrt(t + 1), s.losses)
        anytime_dual_step(s.multiplier, self.delta, t, seen.constraints, self.floor)


class AtTheDraw:
    """The price is that of the draw, which `charged` has; m numbers, then a positive one."""

    def loss(self, s: State, seen: Bandit) -> float:
        """L = (1 - r) + pi (1 - c)"""
        value = 1 - seen.reward
        for j in range(s.multiplier.size):
            value += price(s.multiplier, seen.charged, j) * (1 - seen.constraints[j])
        return value

    def most(self, s: State, seen: Bandit) -> float:
        """b = 1 + pi"""
        b = 1.0
        for j in range(s.multiplier.size):
            b += price(s.multiplier, seen.charged, j)
        return b


@rule
def price(multiplier: Vector, charged: Vector, j: int) -> float:
    """pi_j of the draw; that of now if no price was quoted"""
    return float(charged[j] if charged[multiplier.size] > 0 else multiplier[j])


QUOTED = 1.0  # in `charged`, after the prices: a price was quoted
LEAKS, HELD, ERROR = 0, 1, 2  # rows of `account`
UNKNOWN = -1e300  # LEAKS of a state that was saved without an account; prices added to it do not change it


class LateLossState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, the price of the next decision
    log_total: Totals[Vector]  # (1,)    ln W, less what actions that were added brought in
    charged: Charged  # (m+2,)  pi, 1 and ln W, of the last decision; with reserves (2m+2,), also v
    account: Totals[Matrix]  # (3, m)  sums of pi over steps that shrink, and of c0 - v without answers; the largest |c - v|

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Add an account to the state of an earlier version, which had none: it has no certificate."""
        m = len(plain["multiplier"])
        return {"account": [[UNKNOWN] * m, [0.0] * m, [0.0] * m], **plain}


class Late(AtTheDraw):
    """Answers that come at any time, with a known horizon: the chance grows while an answer is late.

    With reserves v the draw makes the step of the price with v for c, and the answer corrects it.
    """

    eta: Step
    delta: Step
    mu: Step
    floor: Vector
    reserves: Reserves

    def rate(self) -> float:
        """Return eta."""
        return self.eta

    def chance(self, s: LateLossState, seen: Bandit) -> float:
        """q = min(1, p W_t/W); p if no price was quoted"""
        m = s.multiplier.size
        if seen.charged[m] > 0:
            return effective_chance(seen.propensity, seen.charged[m + 1] - s.log_total[0])
        return seen.propensity

    def lower(self, s: LateLossState, i: int, x: float) -> None:
        """w_i <- w_i exp(-x), and ln W with it"""
        before = log_sum(s.weights)
        shrink_one(s.weights, i, x)
        s.log_total[0] += min(log_sum(s.weights) - before, 0.0)

    def settle(self, s: LateLossState, seen: Bandit) -> None:
        """lam <- [lam + mu (c0 - c - delta pi)]+, or with a reserve lam <- [lam + mu (v - c)]+"""
        m, c, lam = s.multiplier.size, seen.constraints, s.multiplier
        for j in range(m):
            if seen.charged[m] > 0 and self.reserves.size > 0:
                v = seen.charged[m + 2 + j]
                lam[j] = positive(lam[j] + self.mu * (v - c[j]))
                s.account[HELD, j] -= self.floor[j] - v
                s.account[ERROR, j] = max(s.account[ERROR, j], abs(c[j] - v))
            else:
                pi = seen.charged[j] if seen.charged[m] > 0 else lam[j]
                lam[j] = positive(lam[j] + self.mu * (self.floor[j] - c[j] - self.delta * pi))
                s.account[LEAKS, j] += pi

    def charge(self, s: LateLossState, action: int) -> None:
        """Quote pi and ln W; with reserves, lam <- [lam + mu (c0 - v - delta pi)]+"""
        m = s.multiplier.size
        for j in range(m):
            s.charged[j] = s.multiplier[j]
        s.charged[m] = QUOTED
        s.charged[m + 1] = s.log_total[0]
        if self.reserves.size > 0:
            K = self.reserves.size // m
            for j in range(m):
                v = self.reserves[j * K + action] if self.floor[j] > 0 else 0.0  # a floor of 0 cannot be missed
                s.charged[m + 2 + j] = v
                s.account[LEAKS, j] += s.multiplier[j]
                s.account[HELD, j] += self.floor[j] - v
                s.multiplier[j] = positive(s.multiplier[j] + self.mu * (self.floor[j] - v - self.delta * s.multiplier[j]))

    def release(self, s: LateLossState, charged: Vector) -> None:
        """Without an answer: as if c = c0; with reserves the decision stays at its reserve."""
        m = s.multiplier.size
        if charged[m] > 0 and self.reserves.size == 0:
            for j in range(m):
                s.account[LEAKS, j] += charged[j]
                s.multiplier[j] = positive(s.multiplier[j] - self.mu * self.delta * charged[j])


SAFE = -1.0  # in the place of b, of a decision for the safe action


class LateAnytimeLossLewaState(NamedTuple):
    weights: Weights  # w, of the next decision
    multiplier: Multiplier  # (m,)    pi, of the next decision
    losses: Losses  # (K,)    Lhat
    queue: Prices[Vector]  # (m,)    Q
    totals: Totals[Vector]  # (4,)    s, answers learned; n; decisions that are open; the sum of their b^2
    charged: Charged  # (m+1,)  pi and b, of the last decision


class Adaptive(AtTheDraw):
    """Answers that come at any time, for every horizon: steps follow the prices and the decisions that are open."""

    delta: Step
    floor: Vector

    def rate(self) -> float:
        """Return 1: the step is that of all losses."""
        return 1.0

    def chance(self, s: LateAnytimeLossLewaState, seen: Bandit) -> float:
        """Return the propensity."""
        return seen.propensity

    def lower(self, s: LateAnytimeLossLewaState, i: int, x: float) -> None:
        """Lhat_i <- Lhat_i + x"""
        s.losses[i] += x

    def settle(self, s: LateAnytimeLossLewaState, seen: Bandit) -> None:
        """Q <- [Q + c0 - c]+, and the decision is no longer open"""
        for j in range(s.queue.size):
            s.queue[j] = positive(s.queue[j] + self.floor[j] - seen.constraints[j])
        end(s, self.delta, seen.charged)
        weigh(s)

    def charge(self, s: LateAnytimeLossLewaState, action: int) -> None:
        """Quote pi and b, and count the decision as open."""
        open_decision(s, cost(s, s.losses.size))
        weigh(s)

    def release(self, s: LateAnytimeLossLewaState, charged: Vector) -> None:
        """End a decision without an answer; one that is none of the learner's changed parameters or actions."""
        if charged[s.queue.size] > 0:
            end(s, self.delta, charged)
        weigh(s)


@rule
def next_step(s: LateAnytimeLossLewaState) -> float:
    """eta = sqrt(ln K/n) of the next decision"""
    return sqrt(log(s.losses.size) / (s.totals[SPENT] + cost(s, s.losses.size)))


@rule
def weigh(s: LateAnytimeLossLewaState) -> None:
    """w <- exp(-eta Lhat), eta the step of the next decision"""
    set_weights(s.weights, -next_step(s), s.losses)
