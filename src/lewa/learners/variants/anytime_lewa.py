"""Anytime LEWA: LEWA with decreasing steps, for an unknown horizon."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import LazyWeights, anytime_dual_step, grow_lazy, normalize
from lewa.kernels.roles import Clock, Multiplier
from lewa.learners.base import USUAL, Full, Learner, Parameters, Problem, Step, Theorems, Vector, trial
from lewa.theory import anytime


class AnytimeLewaState(NamedTuple):
    gains: LazyWeights  # G, and w
    multiplier: Multiplier  # (m,)  lambda
    clock: Clock  # (1,)  t, the rounds seen


def steps(q: Problem, epsilon: float | None = None) -> Parameters:
    """eta = sqrt(2 (ln K + 1)/m), delta = m eta, for every T.

    With an epsilon, eta = sqrt((2 ln K + ln(2K/epsilon) + 1)/m), delta = 2 m eta.
    """
    if epsilon is None:
        eta = sqrt(2 * (q.ln_K + 1) / q.m)
        return {"eta": eta, "delta": q.m * eta}
    eta = sqrt((2 * q.ln_K + log(2 * q.K / epsilon) + 1) / q.m)
    return {"eta": eta, "delta": 2 * q.m * eta}


@dataclass(frozen=True)
class AnytimeLewa(Learner):
    """Anytime LEWA: LEWA for an unknown horizon.

    Every step decreases as 1/sqrt(t), and one bound holds at every T.

    No box of the paper. With G_0 = 0 and lambda_1 = 0, in round t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = w_t / sum w_t,   w_t = exp(eta_t G_{t-1})
        G_t          = G_{t-1} + r_t + lambda_t c_t
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (p_t.c_t - c0)]+

    Order: the gains use lambda_t, the multiplier uses p_t; both move at once. The current step weighs all past gains
    (lazy weights): weights that grew by earlier steps would have no such bound. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0; delta = delta > 0; c0 = floor, each in [0, 1]. The proof needs delta >= m eta.

    Reading: the dual step fits the shrinkage, 1/mu_t - 1/mu_{t-1} = delta_t, so in the proof its terms cancel exactly;
    and as 1 - delta_t mu_t = sqrt((t - 1)/t), the multiplier is a queue, Q_t = [Q_{t-1} + c0 - p_t.c_t]+, divided by
    delta sqrt(t). The tuning is eta = sqrt(2 (ln K + 1)/m), delta = m eta: for m = 1, regret <= sqrt(2 (ln K + 1) T),
    about sqrt(2) times the bound of LEWA with known T. With `epsilon`, eta = sqrt((2 ln K + ln(2K/epsilon) + 1)/m) and
    delta = 2 m eta, which gives bounds with probability 1 - epsilon. The proofs are in docs/theory_anytime.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("anytime-lewa", game, rounds=10_000, seeds=1, floor=0.5)
    >>> f"violation {trace.violation[0, 0]:.0f} (bound {trace.guarantee.violation[0]:.0f}, without learning 3000)"
    'violation 134 (bound 1936, without learning 3000)'

    Reference: docs/theory_anytime.md; the lazy step is P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident
    on-line learning algorithms, J. Comput. Syst. Sci. 64, 2002.
    """

    eta: Step
    delta: Step
    floor: Vector

    parent = None  # with floor 0 it is EWA with a decreasing step
    tunings = {"recommended": steps}
    trials = (*USUAL, trial(4, 100, 0.6, epsilon=0.1))
    theorems = Theorems(anytime.anytime_lewa)

    def play(self, s: AnytimeLewaState, p: Vector) -> None:
        normalize(s.gains, p)  # p = w / sum w

    def learn(self, s: AnytimeLewaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        eta = self.eta / sqrt(t + 1)  # of the next round
        grow_lazy(s.gains, eta, seen.rewards, s.multiplier, seen.constraints)  # G <- G + r + lam c, w = exp(eta G)
        anytime_dual_step(s.multiplier, self.delta, t, seen.met, self.floor)  # lam <- [(1 - delta_t mu_t) lam - ...]+
