"""BanditLEWA, repaired: LEWA for bandit feedback (box 3 of the paper, with two steps, or as printed)."""

from dataclasses import dataclass
from math import sqrt

from lewa.kernels import dot, draw, dual_step_one, grow_one, mix
from lewa.learners.base import USUAL, Bandit, Dual, Learner, Parameters, Problem, Saved, Share, Step, Theorems, Tuning, trial
from lewa.learners.paper.lewa import LewaState
from lewa.theory import paper
from lewa.types import Vector


def recommended(q: Problem, gamma: float | None = None, delta: float | None = None, mu: float | None = None) -> Parameters:
    """gamma = sqrt(K ln K) T^(-1/4), at most 0.2, delta = mu = T^(-1/2), eta = (gamma/K) delta/(m + delta)."""
    gamma = min(0.2, sqrt(q.K * q.ln_K) * q.T**-0.25) if gamma is None else gamma
    delta = q.T**-0.5 if delta is None else delta
    mu = q.T**-0.5 if mu is None else mu
    return {"eta": gamma / q.K * delta / (q.m + delta), "gamma": gamma, "delta": delta, "mu": mu}


def printed(q: Problem, gamma: float | None = None, delta: float | None = None, eta: float | None = None) -> Parameters:
    """gamma = delta = T^(-1/2), eta = (gamma/K) delta/(delta + 1); the rule has gamma for delta and eta for mu."""
    gamma = min(0.5, q.T**-0.5) if gamma is None else gamma
    delta = min(0.5, q.T**-0.5) if delta is None else delta
    eta = gamma / q.K * delta / (delta + 1) if eta is None else eta
    return {"eta": eta, "gamma": gamma, "delta": gamma, "mu": eta}


@dataclass(frozen=True)
class BanditLewa(Dual, Learner):
    """BanditLEWA, repaired: LEWA for bandit feedback.

    LEWA on importance-weighted estimates of the one action seen, with uniform exploration.

    Box 3, Theorem 3, repaired. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        q_t          = w_t / sum w_t
        p_t          = (1 - gamma) q_t + gamma/K
        w_{t+1,i}    = w_{t,i} exp(eta/p_{t,i} (r_t + lambda_t c_t))          (the other weights stay)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (q_{t,i} c_t / p_{t,i} - c0)]+

    Order: the weight uses lambda_t, the multiplier uses q_t and p_t. Both q_{t,i} and p_{t,i} are those of the draw,
    which the feedback contains, so a late answer is weighted correctly.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1), the exploration; delta = delta > 0, the shrinkage; mu = mu > 0,
    the dual step, delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs eta K (1 + sum c0/delta)/gamma <= 1 and
    4 (e - 2) m eta K <= (1 - gamma) delta.

    Reading: the box shrinks lambda by gamma and steps by eta; the analysis shrinks by delta. If both updates share one
    step, no tuning gives the claimed rates by this proof. With a separate dual step, delta = mu = T^(-1/2), gamma =
    min(1/5, sqrt(K ln K) T^(-1/4)) and eta = (gamma/K) delta/(m + delta), both rates of Theorem 3, T^(3/4), are proved,
    in expectation.

    `tuning="printed"`, by name `bandit-lewa@printed`, is the box: delta = gamma and mu = eta in the lines above. The box's
    third argument, also called delta, does not occur in its lines; it enters through eta = (gamma/K) delta/(delta + 1), and
    is that argument of `tuned`. Its default is gamma = delta = T^(-1/2), where the proof of Theorem 3 ends. There 1/eta
    > K T: over the whole game a log-weight moves by about 1/K in expectation, and lambda by less than c0/K, so the
    learner does not learn. With K = 2, c = (1, 1), r = (1, 0) and c0 <= 1/2 the expected regret is at least 0.377 T
    (0.438 T by a finer estimate: docs/errata.md). The last step of the proof fails: it replaces a/gamma + b gamma by
    sqrt(a b), which holds (with a factor 2) only at the optimal gamma, which is of order T^(-1/4), not T^(-1/2). The
    theorem leaves delta free. This does not refute a constant delta, which behaves differently (`--set delta=0.125`),
    but no proof covers it. With gamma = delta = T^(-1/3) the box has regret O(T^(2/3)) and violation O(T^(5/6)).

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"violation per round {lewa.violation(trace).mean() / 100_000:.3f} (without learning 0.300)"
    'violation per round 0.004 (without learning 0.300)'
    >>> game = lewa.games.Bernoulli(rewards=[1.0, 0.0], constraints=[[1.0, 1.0]])
    >>> learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=100_000, floor=0.5, tuning="printed")
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"as printed: regret per round {lewa.regret(trace).mean() / 100_000:.2f}"
    'as printed: regret per round 0.44'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5.
    """

    eta: Step
    gamma: Share
    delta: Step
    mu: Step
    floor: Vector

    tunings = {
        "recommended": recommended,
        "printed": Tuning(printed, "BanditLEWA as printed: with its proof's tuning it does not learn.", fixes=("mu",)),
    }
    trials = (
        *USUAL,
        *(trial(3, 200, 0.5, tuning="printed"), trial(3, 200, 0.5, tuning="printed", delta=0.125)),
        trial(5, 100, (0.4, 0.2), tuning="printed"),
    )
    theorems = Theorems(paper.bandit_lewa)

    def play(self, s: LewaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def choose(self, s: LewaState, u: float) -> tuple[int, float]:
        return draw(s.weights, self.gamma, u)  # i ~ p, and p_i

    def learn(self, s: LewaState, seen: Bandit) -> None:
        i, p, c, lam = seen.action, seen.propensity, seen.constraints, s.multiplier
        q = (p - self.gamma / s.weights.log.size) / (1 - self.gamma)
        grow_one(s.weights, i, self.eta / p * (seen.reward + dot(lam, c)))  # w_i <- w_i exp(eta/p_i (r + lam c))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (q_i c/p_i - c0)]+
            lam[j] = dual_step_one(lam[j], self.delta, self.mu, q * c[j] / p, self.floor[j])

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Version 1 saved the printed box without the delta and the mu that it does not have."""
        return {"delta": plain["gamma"], "mu": plain["eta"], **plain} if set(plain) == {"eta", "gamma", "floor"} else plain
