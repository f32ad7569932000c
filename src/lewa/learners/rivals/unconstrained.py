"""Learners of other papers that ignore constraints: AdaHedge and NormalHedge, Exp3, Exp3.P and UCB1 for bandits."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, log, sqrt
from typing import Annotated, NamedTuple

import numpy as np

from lewa.kernels.algebra import dot, play_largest, total
from lewa.kernels.estimates import estimate_gains
from lewa.kernels.roles import Axes, Counts, MeanRewards, OfActions, Scratch
from lewa.kernels.weights.hedge import Weights, draw, grow, grow_one, mix, normalize
from lewa.kernels.weights.of_gains import AdaHedgeWeights, NormalHedgeWeights, grow_adahedge, grow_normalhedge
from lewa.learners.base import ENTRY, Bandit, Full, Learner, Parameters, Positive, Problem, Share, ShareOrAll, Step, Theorems
from lewa.learners.paper.ewa import EwaState
from lewa.theory import rivals
from lewa.types import Vector

UNTRIED = 1e300  # the index of an action that was never drawn


class AdaHedgeState(NamedTuple):
    weights: AdaHedgeWeights  # G and Delta
    price: Scratch[Annotated[Vector, Axes((0,))]]  # (0,)  no constraint has one


class NormalHedgeState(NamedTuple):
    weights: NormalHedgeWeights  # R, and w


class Exp3PState(NamedTuple):
    weights: Weights  # w
    gain: Scratch[OfActions]  # (K,)  rhat + bonus/p of the last round


class Ucb1State(NamedTuple):
    drawn: Counts  # (K,)  N
    mean: MeanRewards  # (K,)  of what each action earned


def nothing(q: Problem) -> Parameters:
    """There is nothing to tune."""
    return {}


def exp3_step(q: Problem) -> Parameters:
    """gamma = min(1, sqrt(K ln K/((e - 1) T)))."""
    return {"gamma": min(1.0, sqrt(q.K * q.ln_K / ((e - 1) * q.T)))}


def exp3_p_steps(q: Problem, epsilon: float = 0.05) -> Parameters:
    """gamma = min(3/5, 2 sqrt(3/5 K ln K/T)), eta = gamma/(3K), bonus = min(1, 2 sqrt(ln(KT/epsilon)/(KT)))."""
    gamma = min(0.6, 2 * sqrt(0.6 * q.K * q.ln_K / q.T))
    bonus = min(1.0, 2 * sqrt(log(q.K * q.T / epsilon) / (q.K * q.T)))
    return {"eta": gamma / (3 * q.K), "gamma": gamma, "bonus": bonus}


@dataclass(frozen=True)
class AdaHedge(Learner):
    """AdaHedge: exponential weights with an adaptive step; ignores constraints.

    A learner of another paper. With G_0 = 0 and Delta_0 = 0, in round t::

        eta_t   = ln K/Delta_{t-1}                       (the leaders alone are played, evenly, while Delta = 0)
        p_t     = exp(eta_t G_{t-1}) / sum exp(eta_t G_{t-1})
        G_t     = G_{t-1} + r_t
        Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t r_t))/eta_t - p_t.r_t

    Order: the step of a round depends only on the rounds before it.

    Parameters: none; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: regret is at most 1 + sqrt(1 + T ln K) on every sequence and at every T, and much less if one action
    clearly leads. The authors' bound for rewards in [0, 1] is sqrt(T ln K) + 16/3 ln K + 2 in the worst case, and less
    if the best action earns almost all or almost nothing. There is no bandit form here: estimates of gains have no
    known range, and their variance, not their range, determines the cost for a bandit. Proof:
    docs/theory_adversarial.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("adahedge", game, rounds=1000, seeds=1, floor=0)
    >>> f"regret {trace.regret[0]:.1f}, proved {trace.guarantee.regret:.1f}"
    'regret 0.8, proved 27.3'

    Reference: S. de Rooij, T. van Erven, P. Grunwald, W. Koolen, Follow the leader if you can, hedge if you must, JMLR
    15, 2014.
    """

    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": nothing}
    theorems = Theorems(rivals.adahedge)

    def play(self, s: AdaHedgeState, p: Vector) -> None:
        normalize(s.weights, p)  # p = exp(eta G) / sum exp(eta G)

    def learn(self, s: AdaHedgeState, seen: Full) -> None:
        grow_adahedge(s.weights, seen.rewards, s.price, seen.constraints)  # G <- G + r, and Delta with it


@dataclass(frozen=True)
class NormalHedge(Learner):
    """NormalHedge: weights that depend only on regrets, without a step; ignores constraints.

    A learner of another paper. Actions that earned less than the learner get no weight. With R_0 = 0, in round t::

        p_t = w_t / sum w_t,   w_{t,i} = [R_i]+/c exp([R_i]+^2/(2 c)),   R = R_{t-1}                (even, if no R_i > 0)
        c   : the mean over i of exp([R_i]+^2/(2 c)) is e
        R_t = R_{t-1} + r_t - p_t.r_t

    Order: the play of round t uses the regrets of rounds before t, in the weights and in c. A late answer adds the regret
    of the play that it answers.

    Parameters: none; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: c is computed to the last bit by Newton's method. Regret is at most sqrt(2 (1 + ln K) (rate (T - 1) +
    start)) on every sequence and at every T, with a rate that decreases to 1.56 as T grows (3/2 in the limit of the
    proof), the leading constant of the authors; the other terms are smaller than theirs. Regret against the best share
    of the actions, which the authors study, has the same bound with a smaller logarithm; it is not printed here. There
    is no bandit form: estimated regrets can change by more than 1 per round, and the proof needs this bound. Proof:
    docs/theory_rivals.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("normalhedge", game, rounds=1000, seeds=1, floor=0)
    >>> f"regret {trace.regret[0]:.1f}, proved {trace.guarantee.regret:.1f}"
    'regret 0.5, proved 106.3'

    Reference: K. Chaudhuri, Y. Freund, D. Hsu, A parameter-free hedging algorithm, NIPS 2009, arXiv 0903.2851.
    """

    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": nothing}
    theorems = Theorems(rivals.normalhedge)

    def play(self, s: NormalHedgeState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: NormalHedgeState, seen: Full) -> None:
        grow_normalhedge(s.weights, seen.rewards, dot(seen.play, seen.rewards))  # R <- R + r - p.r, and w with it


@dataclass(frozen=True)
class Exp3(Learner):
    """Exp3: EWA with bandit feedback; ignores constraints.

    A learner of another paper, and the parent of BanditLEWA. With w_1 = 1, in round t, i the action drawn from p_t::

        p_t       = (1 - gamma) w_t / sum w_t + gamma/K
        w_{t+1,i} = w_{t,i} exp(gamma r_t/(K p_{t,i}))                                 (the other weights stay)

    Order: the probability p_{t,i} is that of the draw, which the feedback contains.

    Parameters: gamma = gamma in (0, 1], the exploration and, divided by K, the step; c0 = floor, each in [0, 1], which the
    rule never reads.

    Reading: gamma = min(1, sqrt(K ln K/((e - 1) T))), with expected regret at most 2 sqrt(e - 1) sqrt(K T ln K),
    against rewards that are fixed in advance; the authors round this up to 2.63 sqrt(K T ln K). With full information
    there is nothing to estimate, and it is EWA. Proof: docs/theory_rivals.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("exp3", game, rounds=10_000, seeds=20, floor=0)
    >>> f"mean regret {trace.regret.mean():.0f}, proved {trace.guarantee.regret:.0f}"
    'mean regret 176, proved 309'

    Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, The nonstochastic multiarmed bandit problem, SIAM J.
    Comput. 32, 2002, theorem 3.1 and corollary 3.2.
    """

    gamma: ShareOrAll
    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": exp3_step}
    theorems = Theorems(rivals.exp3)

    def play(self, s: EwaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def choose(self, s: EwaState, u: float) -> tuple[int, float]:
        return draw(s.weights, self.gamma, u)  # i ~ p, and p_i

    def learn(self, s: EwaState, seen: Bandit) -> None:
        K = s.weights.log.size
        grow_one(s.weights, seen.action, self.gamma * seen.reward / (K * seen.propensity))  # w_i <- w_i exp(gamma r/(K p_i))


@dataclass(frozen=True)
class Exp3P(Learner):
    """Exp3.P: Exp3 with bounds for the single run; ignores constraints.

    A learner of another paper. With w_1 = 1, in round t, i the action drawn from p_t, and rhat_t = r_t/p_{t,i} at i and
    0 elsewhere::

        p_t     = (1 - gamma) w_t / sum w_t + gamma/K
        w_{t+1} = w_t exp(eta (rhat_t + bonus/p_t))

    Order: every weight moves every round, and `learn` needs the whole play of the decision, which the feedback
    contains.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); bonus = bonus > 0; c0 = floor, each in [0, 1], which the rule never
    reads. The proof needs bonus <= 1 and eta (1 + bonus) K <= gamma.

    Reading: gamma = min(3/5, 2 sqrt(3/5 K ln K/T)), eta = gamma/(3K) and bonus = alpha/sqrt(KT), at most 1, with alpha =
    2 sqrt(ln(KT/epsilon)), which are those of the authors (quoted from memory); their first weights, exp(alpha gamma/3
    sqrt(T/K)), are the same for all actions and cancel. Their bound, 4 sqrt(KT ln(KT/epsilon)) + 4 sqrt(5/3 KT ln K) +
    8 ln(KT/epsilon), is not printed, because a later and simpler proof gives a smaller bound: with probability 1 -
    epsilon and also if rewards react, regret <= gamma T + (e - 2)(1 + bonus) eta K T + bonus K T + ln K/eta +
    ln(K/epsilon)/bonus. With full information there is nothing to estimate, and the bound of EWA holds in every run.
    Proof: docs/theory_rivals.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Exp3P.tuned(actions=2, horizon=10_000, floor=0, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=10_000, epsilon=0.05)
    >>> f"regret at most {lewa.regret(trace).max():.0f} in 20 runs, proved {bound.regret:.0f} in 19 of 20"
    'regret at most 668 in 20 runs, proved 1541 in 19 of 20'

    Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, The nonstochastic multiarmed bandit problem, SIAM J.
    Comput. 32, 2002, section 6; S. Bubeck, N. Cesa-Bianchi, Regret analysis of stochastic and nonstochastic multi-armed
    bandit problems, Foundations and Trends in ML 5, 2012, section 3.2, for the proof.
    """

    eta: Step
    gamma: Share
    bonus: Positive
    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": exp3_p_steps}
    theorems = Theorems(rivals.exp3_p)

    def play(self, s: Exp3PState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def learn(self, s: Exp3PState, seen: Bandit) -> None:
        estimate_gains(seen, self.bonus, s.gain)
        grow(s.weights, self.eta, s.gain)  # w <- w exp(eta (rhat + bonus/p))


@dataclass(frozen=True)
class Ucb1(Learner):
    """UCB1: the action with the largest upper confidence bound; ignores constraints.

    A learner of another paper, for rewards with a fixed mean. With N_k and mean_k the number and the mean of the
    observations of action k, and n = sum N_k, in round t::

        index_k = mean_k + sqrt(2 ln n/N_k)                                           (without bound while N_k = 0)
        p_t     = the action with the largest index; evenly, where several have it

    Order: a round counts after it was played. Answers may come late and in any order; the learner does not use their
    propensities.

    Parameters: none; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: the authors try every action once, in an order that they do not specify; here the order is random, and so
    are ties, so that no action is special. If rewards have a fixed mean, the expected regret against the best mean is
    at most sum_i (8 ln T/D_i + (1 + pi^2/3) D_i), where the gap D_i, the difference between the mean of the best action
    and that of action i, is not known to the learner; a bound without gaps is of order sqrt(K T ln T). If rewards
    react, regret is linear, because the play is predictable. With full information there is nothing to explore: it
    would follow the leader. Proof: docs/theory_rivals.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("ucb1", game, rounds=10_000, seeds=20, floor=0)
    >>> f"mean regret {trace.regret.mean():.0f}; against the best mean {8 * 9.2103 / 0.4 + 4.29 * 0.4:.0f} is proved"
    'mean regret 36; against the best mean 186 is proved'

    Reference: P. Auer, N. Cesa-Bianchi, P. Fischer, Finite-time analysis of the multiarmed bandit problem, Machine
    Learning 47, 2002, theorem 1.
    """

    floor: Vector

    keeps_shares = False
    purpose = "comparison"
    tunings = {"recommended": nothing}
    theorems = Theorems(rivals.ucb1)

    def play(self, s: Ucb1State, p: Vector) -> None:
        n = total(s.drawn)
        for k in range(p.size):  # index = mean + sqrt(2 ln n/N)
            p[k] = s.mean[k] + sqrt(2 * log(n) / s.drawn[k]) if s.drawn[k] > 0 else UNTRIED
        play_largest(p)

    def learn(self, s: Ucb1State, seen: Bandit) -> None:
        i = seen.action
        s.drawn[i] += 1
        s.mean[i] += (seen.reward - s.mean[i]) / s.drawn[i]

    def hold_back(self, s: Ucb1State, there: Vector, play: Vector, unknown: Sequence[int]) -> None:
        # Unknown actions get the largest index of the others, known as if drawn 1/ENTRY times.
        if s.drawn[there > 0].min() > 0:
            s.drawn[list(unknown)] = 1 / ENTRY
            level = 2 * np.log(s.drawn.sum())
            largest = (s.mean + np.sqrt(level / np.maximum(s.drawn, 1)))[there > 0].max()
            s.mean[list(unknown)] = largest - np.sqrt(level * ENTRY)
