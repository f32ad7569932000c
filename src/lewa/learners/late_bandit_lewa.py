"""Late BanditLEWA: the loss form with steps that adapt to its prices and the delays, for answers that come late."""

from dataclasses import dataclass
from math import ceil, exp, log, log2, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, effective_chance, normalize, play_one, positive, rule, set_weights
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Charged, Losses, Multiplier, Prices, Rescaling, Totals
from lewa.learners.base import Learner, Saved, entropy_of
from lewa.learners.parameter_checks import LARGEST, require
from lewa.learners.parameters import NO_ACTION, SpecialAction, Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory import bandit, delayed
from lewa.theory.governed import price_capped
from lewa.theory.setting import Delays, Setting, Start
from lewa.theory.theorems import Flags, Statements, Theorems
from lewa.types import Vector

ANSWERS, SPENT, OPEN, SQUARES, STEP = 0, 1, 2, 3, 4  # places in `totals`
SAFE = -1.0  # in the place of b, of a decision for the safe action


@comparable
class LateBanditLewaState(NamedTuple):
    weights: Weights  # w, of the next decision
    multiplier: Multiplier  # (m,)    pi, of the next decision
    losses: Losses  # (K,)    Lhat
    queue: Prices[Vector]  # (m,)    Q
    totals: Totals[Vector]  # (4,)    s, answers learned; n; decisions that are open; the sum of their b^2
    charged: Charged  # (m+1,)  pi and b, of the last decision
    # With any_arrivals, totals also has the step eta of the last decision, and charged its eta and ln W.


def any_shrinkage(
    q: Problem, delay: float = 0.0, any_arrivals: float = 0.0, cap_action: float = NO_ACTION, cap_slack: float = 0.0
) -> Parameters:
    """delta = sqrt(2 m (4 K ln K + 1) (1 + 2 delay/K))."""
    delta = sqrt(2 * q.m * (4 * q.K * q.ln_K + 1) * (1 + 2 * delay / q.K))
    return {"delta": delta, "any_arrivals": any_arrivals, "cap_action": cap_action, "cap_slack": cap_slack}


def at_once(learner: "LateBanditLewa", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds where no answer is late, of a capped price too."""
    statements = bandit.late_bandit_lewa(learner, actions, rounds, setting, bool(learner.any_arrivals))
    if not learner.is_capped or actions == 1:
        return statements
    return price_capped(statements, rounds, learner.floor, learner.delta, (learner.cap_action, learner.cap_slack))


def late(learner: "LateBanditLewa", actions: int, rounds: int, delays: Delays) -> Statements:
    """Return Th7 or Th8; nothing is proved of a capped price."""
    if learner.is_capped:
        return ()
    return delayed.late_bandit_lewa(learner, actions, rounds, delays, any_arrivals=bool(learner.any_arrivals))


@dataclass(frozen=True)
class LateBanditLewa(Learner):
    """Late BanditLEWA: for an unknown horizon and late answers, with a bound for the delays that occurred.

    The loss form with a step that adapts to the prices and the number of open decisions, so that any shrinkage is
    allowed.

    No box of the paper. With Lhat = 0, Q = 0, s = 0 and n = 0 at first, at decision t::

        pi_t  = Q/(delta sqrt(s + 1)),   b_t = 1 + sum_j pi_{t,j}
        n     = n + K b_t^2 + sum (b_t^2 + b_u^2) over the decisions u that are open,   eta_t = sqrt(ln K/n)
        p_t   = w / sum w,   w = exp(-eta_t Lhat);   i_t is drawn from p_t

    when the answer to decision t comes, i = i_t::

        Lhat_i = Lhat_i + ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j}))/p_{t,i}               (the others stay)
        Q_j    = [Q_j + c0_j - c_{t,j}]+,   s = s + 1

    With any_arrivals = 1 every sum over the open decisions counts twice, and the step and the probability are::

        eta_t = sqrt(sqrt(2) ln K/N),   N = the least power of 2 that is at least n;   W_t = sum exp(-eta_t Lhat) at the draw
        p_{t,i} becomes 1 if eta has changed since the draw, else min(1, p_{t,i} W_t/W), W = sum exp(-eta_t Lhat) at learning

    If a safe action is named, it is played while cap_slack pi_{t,j} > 1 for some j, and its answer counts in Q and s only.

    Order: an answer is learned with the price and the probability of its own draw, at any time and in any order; both
    are stored with the decision. A decision that is closed without an answer is no longer open, and s counts it.

    Parameters: delta = delta > 0; c0 = floor, each in [0, 1]; any_arrivals, 0 or 1; cap_action, the number
    of a safe action, or -1 if none is named; cap_slack, the amount by which that action always exceeds every floor.

    Reading: `anytime-bandit-lewa` has the same multiplier, a queue over delta sqrt(t), but steps eta/sqrt(t), for which its
    proof needs delta >= 4 m eta K; with late answers this would be 4 m eta (K + G), where G is the largest number of
    decisions that were open together with one decision, and with such a large shrinkage the constraint is missed. Here
    n grows by the terms of the proof. Without delay regret is at most 2 sqrt(K T ln K) + (4 m K ln K + m)
    sqrt(T)/delta, which at the same delta is at most 1.21 times the bound of `anytime-bandit-lewa` for m = 1, and at
    most 1.37 times for more constraints. The tuning uses the same delta, sqrt(2 m (4 K ln K + 1)); with `delay`, the
    expected delay of answers in decisions, it is multiplied by sqrt(1 + 2 delay/K), which gives a smaller bound on
    regret and a larger one on violation. The arrival of an answer must not depend on its content (Th7), unless
    any_arrivals = 1: then it may depend on anything, and the bound is larger (Th8). The proofs are in
    docs/theory_delay.md, 6. With a safe action and answers at once the bound on regret is the same, and after t rounds
    no debt exceeds delta sqrt(t)/cap_slack + c0, on every path (G7, docs/theory_delay.md, 1).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateBanditLewa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_delay.md; without constraints, steps that follow the number of open decisions are T. Thune, N.
    Cesa-Bianchi, Y. Seldin, Nonstochastic multiarmed bandits with unrestricted delays, NeurIPS 2019.
    """

    delta: Step
    floor: Vector
    any_arrivals: float = 0.0
    cap_action: SpecialAction = NO_ACTION
    cap_slack: float = 0.0

    reads_play = False
    quotes_prices = True
    proved_with_shares = True
    tunings = {"recommended": any_shrinkage}
    theorems = Theorems(
        at_once,
        late,
        changed=delayed.late_bandit_lewa,
        begin=lambda learner, s, there, start: begin(learner, s, there, start),
        certificate=lambda learner, s: s.queue.copy(),  # V <= Q, in whatever order answers come
        sure=lambda learner: (int(learner.cap_action), learner.cap_slack) if learner.is_capped else None,
    )

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        capped = cls(0.5, np.array([0.6]), 0.0, 2.0, 0.4)
        others = [cls.tuned(4, 100, 0.6, delay=20), cls.tuned(4, 100, 0.6, any_arrivals=1), capped]
        return [*super().examples(), *((learner, 4) for learner in others)]

    def check(self) -> None:
        require(self.any_arrivals in (0, 1), "any_arrivals must be 0 or 1", any_arrivals=self.any_arrivals)
        index = 0 <= self.cap_action < LARGEST and self.cap_action % 1 == 0
        require(
            index or self.cap_action == NO_ACTION, "cap_action must be the index of an action", cap_action=self.cap_action
        )
        most = 1 - float(self.floor.max())
        require(
            0 <= self.cap_slack <= most + 1e-12,
            f"cap_slack must lie between 0 and 1 - floor = {most:.6g}",
            cap_slack=self.cap_slack,
        )

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        return {"any_arrivals": 0.0, "cap_action": NO_ACTION, "cap_slack": 0.0, **plain}

    def start(self, actions: int) -> LateBanditLewaState:
        K, m = self.sizes(actions)
        totals, charged = (5, m + 3) if self.any_arrivals else (4, m + 1)
        return first_state(LateBanditLewaState, K, m, totals=np.zeros(totals), charged=np.zeros(charged))

    def play(self, s: LateBanditLewaState, p: Vector) -> None:
        if self.cap_action >= 0 and too_dear(s.multiplier, self.cap_slack):
            play_one(p, int(self.cap_action))
        else:
            normalize(s.weights, p)  # p = w / sum w

    def charge(self, s: LateBanditLewaState, action: int) -> None:
        if self.cap_action >= 0 and too_dear(s.multiplier, self.cap_slack):
            s.charged[:] = 0.0
            s.charged[s.multiplier.size] = SAFE
            return
        b = 1.0
        for j in range(s.multiplier.size):
            s.charged[j] = s.multiplier[j]  # pi_t
            b += s.multiplier[j]
        s.charged[s.multiplier.size] = b
        s.totals[SPENT] += cost(s, self.any_arrivals)  # n
        if self.any_arrivals > 0:
            s.totals[STEP] = step(s.losses.size, s.totals[SPENT], self.any_arrivals)  # eta_t
            s.charged[s.multiplier.size + 1] = s.totals[STEP]
            s.charged[s.multiplier.size + 2] = log_total(s.losses, s.totals[STEP])  # ln W_t
        s.totals[OPEN] += 1
        s.totals[SQUARES] += b * b
        weigh(s, self.any_arrivals)

    def learn(self, s: LateBanditLewaState, seen: Bandit) -> None:
        quoted = seen.charged[s.queue.size] > 0
        loss = 1 - seen.reward
        for j in range(s.queue.size):  # L = (1 - r) + pi (1 - c), Q <- [Q + c0 - c]+
            loss += (seen.charged[j] if quoted else s.multiplier[j]) * (1 - seen.constraints[j])
            s.queue[j] = positive(s.queue[j] + self.floor[j] - seen.constraints[j])
        chance = seen.propensity
        if self.any_arrivals > 0 and quoted:
            chance = chance_at_step(s, chance, seen.charged)
        if seen.charged[s.queue.size] != SAFE:
            s.losses[seen.action] += loss / chance
        end(s, self.delta, self.any_arrivals, seen.charged)

    def release(self, s: LateBanditLewaState, charged: Vector) -> None:
        if charged[s.queue.size] > 0:
            end(s, self.delta, self.any_arrivals, charged)
        else:  # no decision of the learner: parameters or actions may have changed
            weigh(s, self.any_arrivals)

    def changed(self, s: LateBanditLewaState, floor: Vector, units: Rescaling | None) -> tuple[Self, LateBanditLewaState]:
        before, slack = np.array(self.floor), self.cap_slack
        if units is not None:  # the slack in the new units of one constraint; in those of the others it is what it was
            before[units.j] = min(max(units.constraint(before[units.j]), 0.0), 1.0)
            slack = min(slack * min(units.ratio, 1.0), 1 - float(before.max()))
        lower = float((before - floor).min())  # by as much as a floor rises its slack falls; 0 means no cap
        return self.replace(floor=floor, cap_slack=max(slack + lower, 0.0) if self.is_capped else 0.0), s

    @property
    def is_capped(self) -> bool:
        """Whether a safe action is played while prices are high."""
        return self.cap_action >= 0 and self.cap_slack > 0


@rule
def too_dear(multiplier: Vector, slack: float) -> bool:
    """Whether slack pi_j > 1 for some j"""
    for j in range(multiplier.size):  # noqa: SIM110 (Numba compiles no generator)
        if slack * multiplier[j] > 1:
            return True
    return False


@rule
def cost(s: LateBanditLewaState, any_arrivals: float) -> float:
    """K b^2 + sum (b^2 + b_u^2) over the open decisions u, twice that sum for any arrivals; b that of the next decision"""
    b, pairs = 1.0, 1.0 + any_arrivals
    for j in range(s.multiplier.size):
        b += s.multiplier[j]
    return float((s.losses.size + pairs * s.totals[OPEN]) * b * b + pairs * s.totals[SQUARES])


@rule
def step(actions: int, n: float, any_arrivals: float) -> float:
    """eta = sqrt(ln K/n); for any arrivals sqrt(sqrt(2) ln K/N), N the least power of 2 that is at least n"""
    if any_arrivals > 0:
        return sqrt(sqrt(2.0) * log(actions) / 2.0 ** ceil(log2(n)))
    return sqrt(log(actions) / n)


@rule
def weigh(s: LateBanditLewaState, any_arrivals: float) -> None:
    """w <- exp(-eta Lhat), eta the step of the next decision"""
    set_weights(s.weights, -step(s.losses.size, s.totals[SPENT] + cost(s, any_arrivals), any_arrivals), s.losses)


@rule
def log_total(losses: Vector, eta: float) -> float:
    """ln W, W = sum_i exp(-eta Lhat_i)"""
    least, total = losses[0], 0.0
    for i in range(losses.size):
        least = min(least, losses[i])
    for i in range(losses.size):
        total += exp(-eta * (losses[i] - least))
    return float(log(total) - eta * least)


@rule
def chance_at_step(s: LateBanditLewaState, chance: float, charged: Vector) -> float:
    """1 if the step has changed since the draw, else min(1, p W_t/W)"""
    eta, before = charged[s.queue.size + 1], charged[s.queue.size + 2]
    return effective_chance(chance, before - log_total(s.losses, eta)) if eta == s.totals[STEP] else 1.0


@rule
def end(s: LateBanditLewaState, delta: float, any_arrivals: float, charged: Vector) -> None:
    """End a decision: s <- s + 1, pi <- Q/(delta sqrt(s + 1)); if its price was quoted, it was open"""
    b = charged[s.queue.size]
    if b > 0:
        s.totals[OPEN] = max(s.totals[OPEN] - 1, 0.0)
        s.totals[SQUARES] = max(s.totals[SQUARES] - b * b, 0.0) if s.totals[OPEN] > 0 else 0.0
    s.totals[ANSWERS] += 1
    for j in range(s.queue.size):
        s.multiplier[j] = s.queue[j] / (delta * sqrt(s.totals[ANSWERS] + 1))
    weigh(s, any_arrivals)


def begin(learner: LateBanditLewa, s: LateBanditLewaState, there: Flags, start: Start) -> Start:
    """Return the start with the entropy of the play, and the totals if the weights are those of the losses."""
    start = start._replace(entropy=entropy_of(s.weights.log, there))
    if learner.any_arrivals or learner.is_capped:
        return start
    answers, spent, waiting, squares = s.totals.tolist()
    log_weights = -sqrt(log(s.losses.size) / (spent + cost(s, 0.0))) * s.losses
    apart = np.ptp(s.weights.log - log_weights)  # where weights are not those of the losses, nothing is proved
    if waiting != start.waiting or apart > 1e-9 * (1 + np.ptp(log_weights)):
        return start
    prices = sqrt(waiting * squares)  # at least the sum of b over what is open
    return start._replace(totals=(answers, spent, cost(s, 0.0), prices, *s.queue.tolist()))
