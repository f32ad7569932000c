"""SquareCB-LEWA: forecasts with several memories, inverse gap weighting, and a paced price, for bandit feedback."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Forecasts, comparable, forecast, keep_shares, measure_unit, no_forecasts, pace, rule, weigh_gaps
from lewa.kernels.dispatch import method
from lewa.kernels.first_state import first_state
from lewa.kernels.forecasts import count_answer, hold_share, remember, stand_beside, weigh_memories
from lewa.kernels.ridge import Ridge, add_features, add_target, fade, no_ridge, ridge_mean, whiten
from lewa.kernels.roles import (
    Available,
    Charged,
    CostDifferences,
    Counts,
    Debt,
    Deviations,
    Features,
    Multiplier,
    Scores,
    SquaredErrors,
    Totals,
)
from lewa.learners.base import USUAL, Learner, Saved, sizes_of, trial
from lewa.learners.parameter_checks import check_known, check_memories, expected_values, require
from lewa.learners.parameters import Expected, NotNegative, Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory import practical
from lewa.theory.theorems import nothing_proved
from lewa.types import Matrix, Vector

ALL_ANSWERS = 1e18  # a memory that forgets nothing
MEMORIES = (50.0, 500.0, 5000.0, ALL_ANSWERS)
STALE = 5000.0  # answers over which errors are averaged, and after which an action has to be tried again
CLOCK, ANSWERS, LEVERAGE = 0, 1, 2  # places in `totals`
RIDGE_SHARE = (
    0.5  # of the ridge beside the memories, at least: an average of the contexts an action was taken in flatters it
)
FEW_ACTIONS = 7  # up to which beta is 2
PRIOR_ANSWERS = 0.1  # the weight of a prior in how often an action was tried

# Methods that a subclass replaces, as functions of the learner.
beside, spread_at, leads, told_widths = map(method, ("beside", "spread_at", "leads", "told_widths"))


@comparable
class SquareCbLewaState(NamedTuple):
    tried: Counts  # (K,)    n, answers of each action, discounted
    multiplier: Multiplier  # (m,)    lambda
    deviations: Deviations  # (2, m)  (z - b)^2 of the costs foreseen, summed, and their number, both discounted
    debt: Debt  # (m,)    D: what was spent beyond the limits, open answers at what they were charged
    forecasts: Forecasts  # r, z
    squares: SquaredErrors[Vector]  # (1+m,)  S, squared errors of each target, discounted
    totals: Totals[Vector]  # (3,)    t; N, answers, discounted; H, leverages, discounted (V of regressors that have widths)
    available: Available  # (K,)    1, or 0 for an action that cannot be drawn now
    charged: Charged  # (m,)    at the last draw
    features: Features  # (d,)    x, of the round at hand: of the draw, then of the answer
    ridge: CostDifferences[Ridge]  # of the features
    spread: Scores[Vector]  # (K,)    sqrt(w_k): of the forecast of each action, in errors


def measured(q: Problem, means: object = None, rewards: object = None, features: int = 0, ridge: float = 1.0) -> Parameters:
    """step = 0.005, repay = 1000, kappa = 4, beta = 2 sqrt(min(7/K, 1)), doubt = 1, hope = 2.5; rho = ridge, or 1/10."""
    rho = np.full(int(features), float(ridge))
    rho[:1] = PRIOR_ANSWERS
    beta = 2 * sqrt(min(FEW_ACTIONS / q.K, 1.0))
    constants = {"step": 0.005, "repay": 1000.0, "kappa": 4.0, "beta": beta, "doubt": 1.0, "hope": 2.5}
    return {**constants, "memories": MEMORIES, "ridge": rho, "prior": expected_values(q.floor, q.K, means, rewards)}


@dataclass(frozen=True)
class SquareCbLewa(Learner):
    """SquareCB-LEWA: the default for bandit feedback; it adapts to change and pays back its debt.

    Not a box of the paper. Costs are z = 1 - c with limits b = 1 - c0. With forecasts r_k and z_{j,k} of each action's
    reward and costs, the score s_k = r_k - lambda.z_k, and e = (S_0 + sum_j lambda_j^2 S_j)/N, the mean squared error of a
    score, in round t::

        v_k      = w_k (e + doubt w_k d_k^2),  w_k = 1/(n_k + 1/10); with features x' A_k^-1 x
        h_k      = beta sqrt(v_k)
        A        = the available actions with s_k + h_k >= max_i (s_i - h_i)
        p_k      = 1/(nu + g (max s - s_k)) in A, 0 elsewhere,  g = 2 kappa sqrt((K - 1) min(t, 5000)/(e H))
        at the draw of i, for each constraint j:
        D_j      = D_j + z_{j,i} - b_j                                                 (the forecast cost)
        u_j      = 4 sqrt(the mean of (z_{j,i} - b_j)^2 over the draws, discounted by 1 - 1/5000), at most b_j
        lambda_j = [lambda_j + (step/u_j^2)(z_{j,i} - b'_j)]+,  b'_j = b_j - D_j/repay, held to [b_j - 19 u_j/20, b_j + u_j]
        when the answer comes:
        D_j      = D_j + the cost told - the cost forecast at the draw                 (lambda is left alone)

    d_k^2 is the squared distance of r_k and lambda z_k from their priors. So an action has as many answers, and one more
    that is off by d_k: e is the error of the actions that are drawn, and much too small if these have less noise.

    If lambda.(z_k - b) > 0 for every available action, no mixture is forecast to keep all limits. Then h_k = hope sqrt(v_k),
    and s_k + h_k takes the place of s_k in A and p: what is known least is tried until a way to keep the limits is found.

    The forecast is a mean over several memories of (50, 500, 5000, all) answers, each the prior of the next shorter
    one; each action weighs its memories by their squared errors. An answer adds its squared errors to S, 1 to N, its
    leverage w/(1 + w) with w = w_i to H, and 1 to n; all of them are discounted by 1 - 1/5000.

    With features x of each round, there is also a ridge regression for each action and target. It is weighted together
    with the memories, so that useless context costs little; it has at least half of the weight. A_k = diag(rho) + sum
    of x x' over the answers of action k; every 64 answers, older answers are discounted by exp(-64/5000). The first
    feature that `lewa.context` makes is the constant.

    Order: the price moves at the draw, by the forecast cost; the answer changes the debt, and the price depends on the
    debt. An answer may come late or never: until then the debt contains the forecast. Values outside [0, 1] are used
    unchanged. The unit u of the price is updated first, and lambda u^2 does not change with u. So the range of a cost
    has no effect.

    Parameters: step > 0, the step of the price; repay > 0, the number of rounds in which debt is paid back; kappa > 0,
    the sharpness; beta > 0, the width; doubt >= 0, the weight of d; hope >= 0, 0 to let s_k always be the score; memories,
    in increasing order; prior (1+m, K), the forecasts before any answer; rho = ridge > 0, one per feature, empty without
    context; c0 = floor, each in [0, 1].

    Reading: step = 0.005, repay = 1000, kappa = 4, beta = 2 sqrt(min(7/K, 1)), doubt = 1 and hope = 2.5 for every horizon.
    Agents of earlier versions keep beta = 2 and doubt = hope = 0. `means` and `rewards` are the expected values of each
    action; without them a reward is 1/2 and a cost is its limit. No bound on regret is proved. On every path the violation
    is at most lambda u^2/step plus the excess of costs over their forecasts, minus the sum of k (docs/theory_practical.md,
    2). Results on data are in docs/data.md, docs/shocks.md and docs/contexts.md. Actions that are not available are part of
    the context, and the play is over the others.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("squarecb-lewa", game, rounds=100_000, seeds=4, floor=0.5)
    >>> f"regret at most {trace.regret.max():.0f}, violation at most {trace.violation.max():.0f}"
    'regret at most -56, violation at most 48'

    Reference: docs/theory_practical.md; inverse gap weighting is D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    step: Step
    repay: Step
    kappa: Step
    beta: Step
    doubt: NotNegative
    hope: NotNegative
    memories: Vector
    prior: Expected
    ridge: Vector
    floor: Vector

    purpose = "practice"
    unbounded = True
    weighs_propensities = False
    reads_play = False
    keeps_shares = False
    tunings = {"recommended": measured}
    trials = (*USUAL, trial(3, 200, (0.5, 0.4), features=4))
    theorems = nothing_proved("SquareCB-LEWA", practical.CERTIFICATE)

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Set doubt = hope = 0, the rule of earlier versions, in parameters that these versions saved."""
        return {"doubt": 0.0, "hope": 0.0, **plain}

    def check(self) -> None:
        check_memories(self.memories)
        check_known(self.prior, self.floor)
        penalised = self.ridge.ndim == 1 and np.isfinite(self.ridge).all() and (self.ridge > 0).all()
        require(bool(penalised), "ridge must be one positive number per feature", ridge=self.ridge.tolist())

    def start(self, actions: int) -> SquareCbLewaState:
        K, m = sizes_of(self, actions)
        require(self.prior.shape[1] == K, "the prior must have one column per action", actions=K, prior=self.prior.shape)
        b = 1 - self.floor
        return first_state(
            SquareCbLewaState,
            K,
            m,
            deviations=np.zeros((2, m)),
            forecasts=no_forecasts(self.memories.size, 1 + m, K, further=min(self.ridge.size, 1)),
            squares=2 * np.concatenate([[0.09], b * (1 - b)]),  # of two answers, as if: sd 0.3, and that of a coin
            totals=np.array([0.0, 2.0, 0.0]),
            charged=np.zeros(m),
            features=np.eye(1, self.ridge.size)[0],  # nothing but the constant
            ridge=no_ridge(self.ridge, 1 + m, K),
            spread=np.full(K, PRIOR_ANSWERS**-0.5),
        )

    def play(self, s: SquareCbLewaState, p: Vector) -> None:
        e, low, n, wide = score_error(s), -inf, 0, told_widths(self)
        if self.ridge.size > 0:
            for k in range(p.size):
                look(self, s, k)
        for k in range(p.size):
            p[k] = forecast(s.forecasts, self.prior, 0, k)
        for j in range(self.floor.size):
            for k in range(p.size):
                p[k] -= s.multiplier[j] * forecast(s.forecasts, self.prior, 1 + j, k)
        hope, doubt = (0.0, 0.0) if wide else (self.hope, self.doubt)
        lost = hope > 0 and sees_no_way(self.prior, s, self.floor)
        beta = hope if lost else self.beta
        for k in range(p.size):
            if s.available[k] > 0:
                low = max(low, p[k] if wide else p[k] - width(s, e, beta, doubt, k))
                n += 1
        for k in range(p.size):
            h = width(s, e, beta, doubt, k)
            if s.available[k] == 0 or p[k] + h < low:
                p[k] = -inf
            elif lost:
                p[k] += h
        t = max(min(s.totals[CLOCK], STALE), 1.0)
        total = s.totals[LEVERAGE] if wide else e * s.totals[LEVERAGE]
        weigh_gaps(p, 2 * self.kappa * sqrt((n - 1) * t / max(total, 1e-12)))

    def charge(self, s: SquareCbLewaState, action: int) -> None:
        s.totals[CLOCK] += 1
        if self.ridge.size > 0:
            look(self, s, action)
        for j in range(self.floor.size):
            b = 1 - self.floor[j]
            s.charged[j] = forecast(s.forecasts, self.prior, 1 + j, action)
            s.debt[j] += s.charged[j] - b
            unit2 = measure_unit(s.multiplier, s.deviations, j, b, (s.charged[j] - b) ** 2)
            pace(s.multiplier, j, b, unit2, s.debt[j], s.charged[j], self.step, self.repay)

    def learn(self, s: SquareCbLewaState, seen: Bandit) -> None:
        i, targets, e, x = seen.action, self.prior.shape[0], score_error(s), s.features[: self.ridge.size]
        if x.size > 0:
            look(self, s, i)
        leverage, most = s.spread[i] ** 2 / (1 + s.spread[i] ** 2), 0.0
        for j in range(self.floor.size):
            s.debt[j] += (1 - seen.constraints[j]) - seen.charged[j]
        for o in range(targets):
            y = seen.reward if o == 0 else 1 - seen.constraints[o - 1]
            price = 1.0 if o == 0 else s.multiplier[o - 1]
            most += price * price
            off = y - forecast(s.forecasts, self.prior, o, i)
            s.squares[o] = (1 - 1 / STALE) * s.squares[o] + off * off * (1 - leverage)
            weigh_memories(s.forecasts, o, i, y - self.prior[o, i], price * price / (2 * e), beside(self, s, o, i))
        keep_shares(s.forecasts, i, s.totals[CLOCK])
        if x.size > 0 and leads(self):
            hold_share(s.forecasts, i, RIDGE_SHARE)
        count_answer(s.forecasts, self.memories, i)
        for o in range(targets):
            y = seen.reward if o == 0 else 1 - seen.constraints[o - 1]
            remember(s.forecasts, self.memories, i, o, y - self.prior[o, i])
            add_target(s.ridge, x, i * targets + o, y - self.prior[o, i])
        if x.size > 0:
            add_features(s.ridge, x, i, targets)
            fade(s.ridge, self.ridge, targets, STALE)
        added = min(e * s.spread[i] ** 2, most) if told_widths(self) else leverage
        s.totals[ANSWERS] = (1 - 1 / STALE) * s.totals[ANSWERS] + 1
        s.totals[LEVERAGE] = (1 - 1 / STALE) * s.totals[LEVERAGE] + added
        try_action(s, i)
        if x.size == 0:
            for k in range(s.tried.size):
                s.spread[k] = 1 / sqrt(s.tried[k] + PRIOR_ANSWERS)

    # What depends on where the forecasts that stand beside the memories come from: the ridge regression here.

    def beside(self, s: SquareCbLewaState, o: int, k: int) -> float:
        """Return the forecast of target o of action k at the features, less its prior."""
        return ridge_mean(s.ridge, k, k * self.prior.shape[0] + o)

    def spread_at(self, s: SquareCbLewaState, k: int) -> float:
        """sqrt(x' A_k^-1 x)"""
        return sqrt(whiten(s.ridge, s.features[: self.ridge.size], k))

    def leads(self) -> bool:
        """Return whether this forecast has at least half of the weight."""
        return True

    def told_widths(self) -> bool:
        """Return whether the features contain standard deviations."""
        return False


@dataclass(frozen=True)
class RegressorSquareCbLewa(SquareCbLewa):
    """SquareCB-LEWA with regressions that are made elsewhere: an agent calls its regressors and trains them.

    The features of a round are those of its context, followed by the predictions of the regressors: the reward, in [0,
    1], and the costs, at least 0, of the first action, those of the next, and so on. These predictions replace those of
    the ridge regression in `squarecb-lewa`; w_k is that of the ridge regression. The class is not in `ALL`, because its
    caller has to have the regressors.
    """

    def start(self, actions: int) -> SquareCbLewaState:
        state = SquareCbLewa.start(self, actions)
        return state._replace(features=np.append(state.features, self.prior.T))

    def beside(self, s: SquareCbLewaState, o: int, k: int) -> float:
        return float(s.features[self.ridge.size + k * self.prior.shape[0] + o] - self.prior[o, k])

    def leads(self) -> bool:
        return False


@dataclass(frozen=True)
class WidthSquareCbLewa(RegressorSquareCbLewa):
    """The same with regressors that say how sure they are.

    The predictions are followed by their standard deviations d, in the same order. The variance of a score is v_k =
    d_{0,k}^2 + sum_j lambda_j^2 d_{j,k}^2, and in the rule of `squarecb-lewa`, with doubt = hope = 0::

        h_k = beta sqrt(v_k)
        A   = the available actions with s_k + h_k >= max_i s_i
        g   = 2 kappa sqrt((K - 1) min(t, 5000)/V)

    where V is the sum over the answers of v of their actions, at most 1 + |lambda|^2 each, discounted by 1 - 1/5000. It is
    what the regressors expect as their squared errors, in place of e H: e is small if most rounds are predicted well,
    also if an action has never been taken where it is good. A score that is too high is corrected by taking its action, so
    only the upper ends have a width. As the ridge regression, these regressors have at least half of the weight beside the
    memories: their widths are those of their predictions alone.
    """

    def start(self, actions: int) -> SquareCbLewaState:
        state = RegressorSquareCbLewa.start(self, actions)
        return state._replace(features=np.append(state.features, np.ones(self.prior.size)))

    def spread_at(self, s: SquareCbLewaState, k: int) -> float:
        """sqrt(v_k/e)"""
        first = self.ridge.size + self.prior.size + k * self.prior.shape[0]
        square = s.features[first] ** 2
        for j in range(s.multiplier.size):
            square += (s.multiplier[j] * s.features[first + 1 + j]) ** 2
        return sqrt(square / score_error(s))

    def leads(self) -> bool:
        return True

    def told_widths(self) -> bool:
        return True


@rule
def score_error(s: SquareCbLewaState) -> float:
    """e = (S_0 + sum_j lambda_j^2 S_j)/N: the mean squared error of a score at the current prices"""
    e = s.squares[0]
    for j in range(s.multiplier.size):
        e += s.multiplier[j] * s.multiplier[j] * s.squares[1 + j]
    return float(max(e / s.totals[ANSWERS], 1e-12))


@rule
def sees_no_way(prior: Matrix, s: SquareCbLewaState, floor: Vector) -> bool:
    """Whether lambda.(z_k - b) > 0 for every available action: then no mixture is forecast to keep all limits."""
    for k in range(s.available.size):
        above = 0.0
        for j in range(floor.size):
            above += s.multiplier[j] * (forecast(s.forecasts, prior, 1 + j, k) - (1 - floor[j]))
        if s.available[k] > 0 and above <= 0:
            return False
    return True


@rule
def width(s: SquareCbLewaState, e: float, beta: float, doubt: float, k: int) -> float:
    """h_k = beta sqrt(v_k), v_k = w_k (e + doubt w_k d_k^2)"""
    if doubt > 0:
        square = s.forecasts.mean[0, k] ** 2
        for j in range(s.multiplier.size):
            square += (s.multiplier[j] * s.forecasts.mean[1 + j, k]) ** 2
        e += doubt * s.spread[k] * s.spread[k] * square
    return float(beta * sqrt(e) * s.spread[k])


@rule
def try_action(s: SquareCbLewaState, a: int) -> None:
    """n <- (1 - 1/5000) n, and + 1 for action a"""
    for k in range(s.tried.size):
        s.tried[k] *= 1 - 1 / STALE
    s.tried[a] += 1


@rule
def look(self: SquareCbLewa, s: SquareCbLewaState, k: int) -> None:
    """sqrt(w_k), and the forecasts of action k, at the features at hand"""
    s.spread[k] = spread_at(self, s, k)
    for o in range(self.prior.shape[0]):
        stand_beside(s.forecasts, o, k, beside(self, s, o, k))
