"""Bandit LEWA in loss form for answers that come late: with a known horizon, for the single run, and for any horizon."""

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Self

import numpy as np

from lewa.kernels import normalize, play_one, rule
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Rescaling
from lewa.learners.base import USUAL, Bandit, Learner, Parameters, PrimalDual, Problem, Saved, entropy_of, sizes_of, trial
from lewa.learners.parameter_checks import LARGEST, check_reserves, require, reserved_means
from lewa.learners.parameters import NO_ACTION, Reserves, SpecialAction, Step
from lewa.learners.problem import refuse_removed
from lewa.learners.variants.anytime_lewa import begun, cost, open_decision
from lewa.learners.variants.loss_rule import (
    ERROR,
    HELD,
    LEAKS,
    SAFE,
    Actions,
    Adaptive,
    Ix,
    Late,
    LateAnytimeLossLewaState,
    LateLossState,
    LossRule,
    Weighted,
    blame,
    estimate,
    next_step,
    settle,
    weigh,
)
from lewa.theory import bandit, delayed, delayed_losses
from lewa.theory.delayed_losses import late_steps
from lewa.theory.governed import price_capped
from lewa.theory.setting import NO_DELAY, Delays, Setting, Start
from lewa.theory.theorems import Flags, Statements, Theorems
from lewa.types import Vector

# With a known horizon --------------------------------------------------------------------------------------------------


def late_loss_steps(
    q: Problem, b: float = 0.5, delay: float = 0.0, means: object = None, reserve: float = 0.0
) -> Parameters:
    """eta = sqrt(ln K/(m (K + 4 delay))) T^(-b), delta = 2 m eta (K + 4 delay), mu as below."""
    most = q.K + 4 * delay  # a pair of decisions that are open together counts twice
    eta = sqrt(q.ln_K / (q.m * most)) * q.T**-b
    return {**late_dual_steps(q, b, delay, 2 * q.m * eta * most), "eta": eta, "reserves": reserved_means(means, reserve)}


def late_dual_steps(q: Problem, b: float, delay: float, delta: float) -> Parameters:
    """mu = T^(b-1)/sqrt(m (1 + 2 delay)), at most 1/delta."""
    return {"delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m * (1 + 2 * delay)), 1 / delta)}


def late_ix_steps(
    q: Problem, b: float = 0.5, delay: float = 0.0, means: object = None, epsilon: float = 0.05, reserve: float = 0.0
) -> Parameters:
    """eta = sqrt((ln K + ln(5K/epsilon))/(2 m (K + 2 delay))) T^(-b), delta = 8 m eta (K + 2 delay), mu as of losses."""
    most = q.K + 2 * delay  # decisions that are open together count as actions do
    eta = sqrt((q.ln_K + log(5 * q.K / epsilon)) / (2 * q.m * most)) * q.T**-b
    return {**late_dual_steps(q, b, delay, 8 * q.m * eta * most), "eta": eta, "reserves": reserved_means(means, reserve)}


def losses_at_once(learner: "LateLossLewa", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of the loss form, with the dual steps of reserves."""
    sizes_of(learner, actions)
    dual = late_steps(learner, rounds, NO_DELAY)
    return bandit.loss_lewa(learner, actions, rounds, setting, "Late LossLEWA", dual)


def ix_at_once(learner: "LateLewaIx", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of LEWA-IX, with the dual steps of reserves."""
    sizes_of(learner, actions)
    return bandit.lewa_ix(learner, actions, rounds, setting, "Late LEWA-IX", late_steps(learner, rounds, NO_DELAY))


def errors(learner: "LateLossLewa", s: LateLossState) -> tuple[float, ...]:
    """Return the largest error of the reserves of each constraint; none without reserves."""
    return tuple(s.account[ERROR].tolist()) if learner.reserves.size else ()


def certificate(learner: "LateLossLewa", s: LateLossState) -> Vector | None:
    """Return the bound on the shortfall that the account gives; None for a state that was saved without one."""
    if s.account[LEAKS].min() < 0:
        return None
    bound: Vector = s.multiplier / learner.mu + learner.delta * s.account[LEAKS] - s.account[HELD]
    return bound


@dataclass(frozen=True)
class LateHorizon(Late, Actions, LossRule, PrimalDual):
    """What the two learners with a known horizon have in common: reserves, and an account that is a certificate."""

    floor: Vector
    reserves: Reserves = field(default_factory=lambda: np.zeros(0))

    dual = None  # its account is a certificate
    State = LateLossState
    reads_play = False
    quotes_prices = True

    trials = (
        *(*USUAL, trial(4, 100, 0.6, delay=20)),
        trial(3, 100, (0.6, 0.5), delay=2, means=[[0.9, 0.3, 0.7], [0.4, 0.8, 0.6]], reserve=1),
    )

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        return {"reserves": [], **plain}

    def check(self) -> None:
        super().check()
        check_reserves(self.reserves, self.floor)

    def start(self, actions: int) -> LateLossState:
        K, m = sizes_of(self, actions)
        charged, account = np.zeros(2 * m + 2 if self.reserves.size else m + 2), np.zeros((3, m))
        return first_state(LateLossState, K, m, log_total=np.array([log(K)]), charged=charged, account=account)

    def rescale_charged(self, charged: Vector, units: Rescaling) -> None:
        super().rescale_charged(charged, units)
        place = self.floor.size + 2 + units.j
        if self.reserves.size and charged[self.floor.size] > 0:
            charged[place] = min(max(units.constraint(charged[place]), 0.0), 1.0)


@dataclass(frozen=True)
class LateLossLewa(Weighted, LateHorizon):
    """Late LossLEWA, for a known horizon: regret of order sqrt(T) in expectation, for answers that come at any time.

    The loss form that learns at the price of the draw and divides by a probability that grows while an answer is late.

    No box of the paper. With w = 1 and lambda = 0 at first, at decision t::

        p_t      = w / W,   W_t = W = sum w;   i_t is drawn from p_t
        pi_t     = lambda

    when the answer to decision t comes, i = i_t::

        q        = min(1, p_{t,i} W_t/W)
        w_i      = w_i exp(-eta/q ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j})))               (the others stay)
        lambda_j = [lambda_j + mu (c0_j - c_{t,j} - delta pi_{t,j})]+

    Order: an answer is learned with the price, the probability and the sum of the weights of its own draw, at any time and
    in any order; all are stored with the decision. If a decision is closed without an answer, lambda moves as by an
    answer with c_t = c0, and the weights stay.

    With reserves v_{j,k} of each action the step of lambda has two parts, one at the draw and one at the answer::

        lambda_j = [lambda_j + mu (c0_j - v_{j,i} - delta pi_{t,j})]+
        lambda_j = [lambda_j + mu (v_{j,i} - c_{t,j})]+                                     (no step without an answer)

    If c0_j = 0, v_{j,i} is 0: such a constraint is always met.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]; v = reserves, each in [0, 1], those of all actions for
    the first constraint, then for the next; none if it is empty. The proof needs
    delta >= 2 m eta (K + 2G), where G is the largest number of decisions that were open together with one decision.

    Reading: if no answer is late, q = p_{t,i} and the rule is that of `loss-lewa`, with its bounds. With late
    answers the bound of `loss-lewa` assumes that the arrival of an answer does not depend on actions and outcomes.
    Here it may depend on anything. The tuning is
    eta = sqrt(ln K/(m (K + 4 delay) T)), delta = 2 m eta (K + 4 delay), mu = 1/sqrt(m (1 + 2 delay) T), at most 1/delta;
    `delay` is the most decisions by which answers are late. With `b` in [1/2, 1) regret O(T^b) is traded for violation
    O(T^(1 - b/2)). The bounds hold only in expectation; `late-lewa-ix` has bounds for the single run. With long delays
    the shrinkage is large and the constraint is missed by much; `late-anytime-loss-lewa` keeps it better. The proof is in
    docs/theory_delay.md, 9. `reserve` = 1 makes the expected constraints `means` of each action its reserve: the price then
    reacts at the draw, and the answer only corrects it (docs/theory_delay.md, 10).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateLossLewa.tuned(actions=2, horizon=100_000, floor=0.5, delay=1)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.19, without learning 0.30'

    Reference: docs/theory_delay.md; without constraints, Exp3 with late losses is in T. Thune, N. Cesa-Bianchi, Y. Seldin,
    Nonstochastic multiarmed bandits with unrestricted delays, NeurIPS 2019.
    """

    tunings = {"recommended": late_loss_steps}
    theorems = Theorems(losses_at_once, delayed_losses.late_loss_lewa, errors=errors, certificate=certificate)


@dataclass(frozen=True)
class LateLewaIx(Ix, LateHorizon):
    """Late LEWA-IX: bandit LEWA with bounds for the single run, for answers that come late, at any time.

    LEWA-IX that learns at the price of the draw and divides by a probability that grows while an answer is late.

    No box of the paper. With w = 1 and lambda = 0 at first, at decision t::

        p_t      = w / W,   W_t = W = sum w;   i_t is drawn from p_t
        pi_t     = lambda,   b_t = 1 + sum_j pi_{t,j}

    when the answer to decision t comes, i = i_t::

        q        = min(1, p_{t,i} W_t/W)
        w_i      = w_i exp(-eta/(q + (eta/2) b_t) ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j})))      (the others stay)
        lambda_j = [lambda_j + mu (c0_j - c_{t,j} - delta pi_{t,j})]+

    Order: an answer is learned with the price, the probability and the sum of the weights of its own draw, at any time and
    in any order; all are stored with the decision. If a decision is closed without an answer, lambda moves as by an
    answer with c_t = c0, and the weights stay. With reserves the step of lambda has two parts, as in
    `late-loss-lewa`.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]; reserves, as in `late-loss-lewa`. The proof needs delta > 4 m eta
    (K + G), where G is the largest number of decisions that were open together with one decision.

    Reading: if no answer is late, q = p_{t,i} and the rule is that of `lewa-ix`. The draw of an action can decide which
    answers come first, so an action can be more probable in a later play than at its draw. The weights only decrease,
    so q is at least the probability of i in every play that lacks the answer. This is enough for a bound with probability
    1 - epsilon, whatever the arrivals depend on. The tuning is eta = sqrt((ln K + ln(5K/epsilon))/(2 m (K + 2 delay) T)),
    delta = 8 m eta (K + 2 delay), mu = 1/sqrt(m (1 + 2 delay) T), at most 1/delta; `delay` is the most decisions by which
    answers are late. The learner has bounds at every other epsilon too. With `b` in [1/2, 1) regret O(T^b) is traded for
    violation O(T^(1 - b/2)). With long delays the shrinkage is large and the constraint is missed by much; a larger `b`
    helps, and `late-anytime-loss-lewa` keeps it better, with bounds in expectation. The proof is in docs/theory_delay.md, 8.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateLewaIx.tuned(actions=2, horizon=100_000, floor=0.5, delay=1)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, epsilon=0.05)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.06, proved 0.44, without learning 0.30'

    Reference: docs/theory_delay.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    tunings = {"recommended": late_ix_steps}
    theorems = Theorems(
        ix_at_once, delayed_losses.late_lewa_ix, delayed_losses.late_lewa_ix, errors=errors, certificate=certificate
    )


# For any horizon -------------------------------------------------------------------------------------------------------


def any_shrinkage(q: Problem, delay: float = 0.0, cap_action: float = NO_ACTION, cap_slack: float = 0.0) -> Parameters:
    """delta = sqrt(2 m (4 K ln K + 1) (1 + 2 delay/K))."""
    delta = sqrt(2 * q.m * (4 * q.K * q.ln_K + 1) * (1 + 2 * delay / q.K))
    return {"delta": delta, "cap_action": cap_action, "cap_slack": cap_slack}


def adaptive_at_once(learner: "LateAnytimeLossLewa", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds where no answer is late, of a capped price too."""
    statements = bandit.late_anytime_loss_lewa(learner, actions, rounds, setting)
    if not learner.is_capped:
        return statements
    return price_capped(statements, rounds, learner.floor, learner.delta, (learner.cap_action, learner.cap_slack))


def adaptive_late(learner: "LateAnytimeLossLewa", actions: int, rounds: int, delays: Delays) -> Statements:
    """Return Th7; nothing is proved of a capped price."""
    return () if learner.is_capped else delayed.late_anytime_loss_lewa(learner, actions, rounds, delays)


def begin(learner: "LateAnytimeLossLewa", s: LateAnytimeLossLewaState, there: Flags, start: Start) -> Start:
    """Return the start with the entropy of the play, and the totals if the weights are those of the losses."""
    start = start._replace(entropy=entropy_of(s.weights.log, there))
    if learner.is_capped:
        return start
    return begun(s, start, -next_step(s) * s.losses, cost(s, s.losses.size))


@dataclass(frozen=True)
class LateAnytimeLossLewa(Weighted, Adaptive, Actions, LossRule, Learner):
    """Late Anytime LossLEWA: for an unknown horizon and late answers, with a bound for the delays that occurred.

    The loss form with a step that adapts to the prices and the number of open decisions, so that any shrinkage is
    allowed.

    No box of the paper. With Lhat = 0, Q = 0, s = 0 and n = 0 at first, at decision t::

        pi_t  = Q/(delta sqrt(s + 1)),   b_t = 1 + sum_j pi_{t,j}
        n     = n + K b_t^2 + sum (b_t^2 + b_u^2) over the decisions u that are open,   eta_t = sqrt(ln K/n)
        p_t   = w / sum w,   w = exp(-eta_t Lhat);   i_t is drawn from p_t

    when the answer to decision t comes, i = i_t::

        Lhat_i = Lhat_i + ((1 - r_t) + sum_j pi_{t,j} (1 - c_{t,j}))/p_{t,i}               (the others stay)
        Q_j    = [Q_j + c0_j - c_{t,j}]+,   s = s + 1

    If a safe action is named, it is played while cap_slack pi_{t,j} > 1 for some j, and its answer counts in Q and s only.

    Order: an answer is learned with the price and the probability of its own draw, at any time and in any order; both
    are stored with the decision. A decision that is closed without an answer is no longer open, and s counts it.

    Parameters: delta = delta > 0; c0 = floor, each in [0, 1]; cap_action, the number of a safe action,
    or -1 if none is named; cap_slack, the amount by which that action always exceeds every floor.

    Reading: `anytime-loss-lewa` has the same multiplier, a queue over delta sqrt(t), but steps eta/sqrt(t), for which its
    proof needs delta >= 4 m eta K; with late answers this would be 4 m eta (K + G), where G is the largest number of
    decisions that were open together with one decision, and with such a large shrinkage the constraint is missed. Here
    n grows by the terms of the proof. Without delay regret is at most 2 sqrt(K T ln K) + (4 m K ln K + m)
    sqrt(T)/delta, which at the same delta is at most 1.21 times the bound of `anytime-loss-lewa` for m = 1, and at
    most 1.37 times for more constraints. The tuning uses the same delta, sqrt(2 m (4 K ln K + 1)); with `delay`, the
    expected delay of answers in decisions, it is multiplied by sqrt(1 + 2 delay/K), which gives a smaller bound on
    regret and a larger one on violation. The arrival of an answer must not depend on its content (Th7,
    docs/theory_delay.md, 6). With a safe action and answers at once the bound on regret is the same, and after t rounds
    no debt exceeds delta sqrt(t)/cap_slack + c0, on every path (G7, docs/theory_delay.md, 1).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LateAnytimeLossLewa.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
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
    cap_action: SpecialAction = NO_ACTION
    cap_slack: float = 0.0

    State = LateAnytimeLossLewaState
    reads_play = False
    quotes_prices = True
    proved_with_shares = True
    tunings = {"recommended": any_shrinkage}
    trials = (
        *(*USUAL, trial(4, 100, 0.6, delay=20)),
        trial(4, 100, 0.6, delta=0.5, cap_action=2, cap_slack=0.4),
    )
    theorems = Theorems(
        adaptive_at_once,
        adaptive_late,
        changed=delayed.late_anytime_loss_lewa,
        begin=begin,
        certificate=lambda learner, s: s.queue.copy(),  # V <= Q, in whatever order answers come
        sure=lambda learner: (int(learner.cap_action), learner.cap_slack) if learner.is_capped else None,
    )

    def check(self) -> None:
        index = 0 <= self.cap_action < LARGEST and self.cap_action % 1 == 0
        law = "cap_action must be the index of an action"
        require(index or self.cap_action == NO_ACTION, law, cap_action=self.cap_action)
        most = 1 - float(self.floor.max())
        law = f"cap_slack must lie between 0 and 1 - floor = {most:.6g}"
        require(0 <= self.cap_slack <= most + 1e-12, law, cap_slack=self.cap_slack)

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Version 1 had no safe action; version 2 had a setting for arrivals that depend on anything."""
        if plain.get("any_arrivals"):
            refuse_removed("any_arrivals")
        current = {name: value for name, value in plain.items() if name != "any_arrivals"}
        return {"cap_action": NO_ACTION, "cap_slack": 0.0, **current}

    def start(self, actions: int) -> LateAnytimeLossLewaState:
        K, m = sizes_of(self, actions)
        return first_state(LateAnytimeLossLewaState, K, m, totals=np.zeros(4), charged=np.zeros(m + 1))

    def play(self, s: LateAnytimeLossLewaState, p: Vector) -> None:
        if self.cap_action >= 0 and too_dear(s.multiplier, self.cap_slack):
            play_one(p, int(self.cap_action))
        else:
            normalize(s.weights, p)  # p = w / sum w

    def changed(
        self, s: LateAnytimeLossLewaState, floor: Vector, units: Rescaling | None
    ) -> tuple[Self, LateAnytimeLossLewaState]:
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

    def charge(self, s: LateAnytimeLossLewaState, action: int) -> None:
        if self.cap_action >= 0 and too_dear(s.multiplier, self.cap_slack):
            s.charged[:] = 0.0
            s.charged[s.multiplier.size] = SAFE
        else:
            open_decision(s, cost(s, s.losses.size))
            weigh(s)

    def learn(self, s: LateAnytimeLossLewaState, seen: Bandit) -> None:
        if seen.charged[s.queue.size] != SAFE:
            blame(self, s, seen.action, estimate(self, s, seen))
        settle(self, s, seen)


@rule
def too_dear(multiplier: Vector, slack: float) -> bool:
    """Whether slack pi_j > 1 for some j"""
    for j in range(multiplier.size):  # noqa: SIM110 (Numba compiles no generator)
        if slack * multiplier[j] > 1:
            return True
    return False
