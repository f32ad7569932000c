"""LEWA: exponential weights with a Lagrange multiplier (box 1 of the paper)."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import Weights, dual_step, grow_priced, normalize
from lewa.kernels.roles import Multiplier
from lewa.learners.base import USUAL, Flags, Full, Parameters, PrimalDual, Problem, Theorems, Tuning, entropy_of, trial
from lewa.learners.parameter_checks import require
from lewa.theory import delayed, paper
from lewa.theory.setting import Start
from lewa.types import Vector


class LewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)  lambda


def recommended_steps(q: Problem, b: float | None = None, epsilon: float | None = None, delay: float = 0.0) -> Parameters:
    """Two steps: eta = 2 sqrt(ln K/m) T^(-b), delta = m eta/2, mu = T^(b-1)/sqrt(m), at most 1/delta; b = 1/2 by default.

    With an epsilon, ln K + ln(2K/epsilon)/2 for ln K, and delta = m eta. For answers that are late see `late_steps`.
    """
    if delay or epsilon is not None:
        require(b is None, "b cannot be combined with epsilon or delay", b=b, epsilon=epsilon, delay=delay)
        return late_steps(q, delay, epsilon)
    b = 0.5 if b is None else b
    eta = 2 * sqrt(q.ln_K / q.m) * q.T**-b
    return {"eta": eta, "delta": q.m * eta / 2, "mu": min(q.T ** (b - 1) / sqrt(q.m), 2 / (q.m * eta))}


def late_steps(q: Problem, delay: float, epsilon: float | None = None, more: float = 0.0) -> dict[str, float]:
    """Return the steps for answers that are up to `delay` decisions late; `more` is added to ln K.

    A decision is then open together with at most G = 2 delay others, and the theorem requires delta = (m eta/2)(1 + G). With
    an epsilon it is (m eta/2)(1 + G + s) with s = sqrt(1 + G), which leaves theta = 2 eta s for the noise.
    """
    among = 1 + 2 * delay
    cost, room = q.ln_K + more, 0.0
    if epsilon is not None:
        room = sqrt(among)
        cost += log(2 * q.K / epsilon) / (2 * room)
    eta = 2 * sqrt(cost / (q.m * q.T * among))
    delta = q.m * eta / 2 * (among + room)
    return {"eta": eta, "delta": delta, "mu": min(1 / sqrt(q.m * q.T), 1 / delta)}


def paper_steps(q: Problem) -> Parameters:
    """Take the values of Theorem 1: eta = sqrt(4 ln K/(9T)), delta = m eta/2, mu = eta, at most 1/delta."""
    eta = sqrt(4 * q.ln_K / (9 * q.T))
    return {"eta": eta, "delta": q.m * eta / 2, "mu": min(eta, 2 / (q.m * eta))}


def printed_steps(q: Problem, eta: float | None = None) -> Parameters:
    """Take the values of Theorem 1; the box has one step, so another eta is mu too."""
    return paper_steps(q) if eta is None else {"eta": eta, "delta": q.m * eta / 2, "mu": eta}


def with_entropy(learner: object, s: LewaState, there: Flags, start: Start) -> Start:
    """Return the start with the entropy of the play, which is in proportion to the weights of the state."""
    return start._replace(entropy=entropy_of(s.weights.log, there))


@dataclass(frozen=True)
class Lewa(PrimalDual):
    """LEWA: exponential weights with a Lagrange multiplier.

    Actions are weighed by r + lambda c, and the multiplier lambda rises while the floor is missed.

    Box 1, Theorem 1. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = w_t / sum w_t
        w_{t+1}      = w_t exp(eta (r_t + lambda_t c_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.c_t - c0)]+

    Order: the weights use lambda_t, the multiplier uses p_t; both move at once. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1 (then 0 <= lambda <= c0/delta); c0 = floor, each in [0, 1].

    Reading: the box has one step, mu = eta. The proof treats the two steps separately, and a separate dual step gives a
    better constant, so mu is a parameter. `tuning="paper"` is that of the theorem, eta = mu = sqrt(4 ln K/(9 T)), delta
    = eta/2, for which regret <= 2 sqrt(T ln K) is proved (the paper has the constant 3). `tuning="recommended"` is eta
    = 2 sqrt(ln K/(m T)), delta = m eta/2, mu = 1/sqrt(m T); with `b` in [1/2, 1) regret O(T^b) is traded for violation
    O(T^(1 - b/2)); with `epsilon`, eta = 2 sqrt((ln K + ln(2K/epsilon)/2)/(m T)) and delta = m eta, which gives the
    same algorithm bounds with probability 1 - epsilon; `delay`, the largest delay of an answer in decisions, gives eta
    = 2 sqrt(ln K/(m T n)) and delta = m eta n/2 with n = 1 + 2 delay, and bounds for answers that are this late
    (docs/theory_delay.md, 3). The proof of the theorem takes an expectation and then maximises inside it;
    docs/theory.md, 1 (a) to (g), has the statements that remain true.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("lewa", game, rounds=10_000, seeds=1, floor=0.5)
    >>> f"violation {trace.violation[0, 0]:.0f} (bound {trace.guarantee.violation[0]:.0f}, without learning 3000)"
    'violation 137 (bound 1927, without learning 3000)'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    floor: Vector

    proved_with_shares = True
    tunings = {
        "recommended": recommended_steps,
        "paper": paper_steps,
        "printed": Tuning(printed_steps, "LEWA with the paper's tuning: one step for both updates.", fixes=("mu",)),
    }
    trials = (*USUAL, trial(4, 100, 0.6, tuning="paper"))
    theorems = Theorems(paper.lewa, delayed.lewa, delayed.lewa_probable, changed=delayed.lewa, begin=with_entropy)

    def play(self, s: LewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: LewaState, seen: Full) -> None:
        grow_priced(s.weights, self.eta, seen.rewards, s.multiplier, seen.constraints)  # w <- w exp(eta (r + lam c))
        dual_step(s.multiplier, self.delta, self.mu, seen.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+
