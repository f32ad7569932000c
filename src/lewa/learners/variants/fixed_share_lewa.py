"""Fixed-share LEWA: LEWA with a uniform share in each round, so that no weight becomes too small."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import FixedShareWeights, dual_step, grow_fixed_share, normalize_fixed_share
from lewa.kernels.roles import Multiplier
from lewa.learners.base import USUAL, Flags, Full, Parameters, PrimalDual, Problem, Share, Theorems, Vector, trial
from lewa.learners.paper.lewa import late_steps
from lewa.theory import fixed_share
from lewa.theory.setting import Start


class FixedShareLewaState(NamedTuple):
    weights: FixedShareWeights  # w
    multiplier: Multiplier  # (m,)  lambda


def steps(q: Problem, epsilon: float | None = None, delay: float = 0.0) -> Parameters:
    """share = 1/T, at most 1/2; eta = 2 sqrt((ln K + 1)/(m T)), delta = m eta/2, mu = 1/sqrt(m T), at most 1/delta.

    With an epsilon, ln K + 1 + ln(2K/epsilon)/2 for ln K + 1, and delta = m eta. For late answers, the steps of LEWA.
    """
    share = min(1 / q.T, 0.5)
    late = late_steps(q, delay, epsilon, more=1.0)
    delta = late["delta"] + 4 * share * q.m * delay  # 2 share m e: an answer is learned after at most e = 2 delay others
    return {**late, "delta": delta, "mu": min(1 / sqrt(q.m * q.T), 1 / delta), "share": share}


def with_entropy(learner: "FixedShareLewa", s: FixedShareLewaState, there: Flags, start: Start) -> Start:
    """Return the start with the entropy of the play."""
    least = float(s.weights.value[there].min() / s.weights.head[0])
    return start._replace(entropy=-log((1 - learner.share) * least + learner.share / there.size))


@dataclass(frozen=True)
class FixedShareLewa(PrimalDual):
    """Fixed-share LEWA: no weight becomes too small, and with slack the violation is of order sqrt(T).

    In plain LEWA the weight of an action that exceeds the floor but earns little becomes very small. When the action is
    needed, the multiplier has to offset all of this first. Here each action keeps a share of the weights.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = (1 - share) w_t / sum w_t + share/K
        w_{t+1}      = p_t exp(eta (r_t + lambda_t c_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.c_t - c0)]+

    Order: the weights use lambda_t, the multiplier uses p_t; both move at once. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; share = share in (0, 1); c0 = floor, each in [0, 1].

    Reading: share = 1/T, which needs a horizon. All bounds of LEWA hold with ln K + 1 for ln K: regret sqrt(T (ln K +
    1)) + sqrt(T)/2, violation of order T^(3/4). If some play exceeds every floor by S, violation is also of order
    sqrt(T) (1/S + sqrt(ln T)), for any rewards; the rule does not use S. With `epsilon` the shrinkage is doubled and
    bounds hold with probability 1 - epsilon, as for LEWA. Proofs: docs/theory_adversarial.md, 1. `delay`, the largest
    delay of an answer in decisions, gives the steps of docs/theory_delay.md, 3.

    >>> import lewa
    >>> T = 100_000
    >>> game = lewa.games.Slater.for_problem(floor=0.5, rounds=T)
    >>> for kind in (lewa.learners.Lewa, lewa.learners.FixedShareLewa):
    ...     learner = kind.tuned(actions=3, horizon=T, floor=0.5)
    ...     trace = lewa.play(learner, game, rounds=T)
    ...     bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="constant", slater=0.5)
    ...     f"violation {lewa.violation(trace)[0, 0] / T**0.5:.2f} sqrt(T), bound {bound.violation[0] / T**0.5:.1f} sqrt(T)"
    'violation 10.09 sqrt(T), bound 36.1 sqrt(T)'
    'violation 2.53 sqrt(T), bound 6.6 sqrt(T)'

    Reference: M. Herbster, M. Warmuth, Tracking the best expert, Machine Learning 32, 1998, for the share; X. Wei, H. Yu,
    M. Neely, Online primal-dual mirror descent under stochastic constraints, 2019, who mix for the same purpose.
    """

    share: Share
    floor: Vector

    proved_with_shares = True
    parent = None  # with floor 0 it is the fixed share of Herbster and Warmuth, which is not among these learners
    tunings = {"recommended": steps}
    trials = (
        *(*USUAL, trial(5, 100, (0.4, 0.2), epsilon=0.1)),
        trial(4, 100, 0.6, eta=1e6, delta=0.5, mu=0.5, share=1e-30),  # steps that no exponential holds
    )
    theorems = Theorems(
        fixed_share.fixed_share_lewa, fixed_share.late, fixed_share.probable, fixed_share.changed, with_entropy
    )

    def play(self, s: FixedShareLewaState, p: Vector) -> None:
        normalize_fixed_share(s.weights, self.share, p)  # p = (1 - share) w / sum w + share/K

    def learn(self, s: FixedShareLewaState, seen: Full) -> None:
        lam = s.multiplier
        grow_fixed_share(s.weights, self.share, self.eta, seen.rewards, lam, seen.constraints)  # w <- p exp(eta (r + lam c))
        dual_step(lam, self.delta, self.mu, seen.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+
