"""EWA with a fixed penalty: a Lagrange multiplier that is never adjusted."""

from dataclasses import dataclass
from typing import Self

from lewa.feedback import Full
from lewa.kernels import grow_priced, normalize, ones
from lewa.learners.paper.ewa import EwaState
from lewa.learners.penalty import PenaltyLearner
from lewa.theory.guarantees import Guarantee, none, one_action
from lewa.theory.setting import Setting
from lewa.types import Vector

BROKEN = (
    "a fixed penalty fails for every coefficient: with K = 2, constraints (0, 1) and floor 1/2, rewards (1, 0) or (1/2, 0) "
    "make regret or violation at least T/4 - 1/(1 - exp(-eta/4))"
)


@dataclass(frozen=True)
class FixedPenalty(PenaltyLearner):
    """EWA with a fixed penalty: constraints have a constant price.

    Actions are weighed by r + lambda c, with a lambda that is chosen in advance. Included for comparison: section 4 of
    the paper mentions this method only to reject it (no box). With w_1 = 1, in round t::

        p_t     = w_t / sum w_t
        w_{t+1} = w_t exp(eta (r_t + lambda c_t))

    Order: the play of round t uses the weights of rounds before t. For m constraints lambda is a vector and lambda c the
    sum over constraints.

    Parameters: eta = eta > 0; lambda = penalty, one per constraint, at least 0 (`tuned` also accepts one number for all
    constraints); c0 = floor, each in [0, 1], which the rule never reads.

    Reading: there is only one reading. Gains lie in [0, 1 + sum lambda], so the step is that of EWA for this range,
    eta = sqrt(8 ln K/T)/(1 + sum lambda). No penalty is right for every reward. Let K = 2, c = (0, 1) and c0 = 1/2. A
    penalty of at most 3/4 stays below the floor if r = (1, 0), and a penalty above 3/4 stays above it if r = (1/2, 0),
    so max(regret, violation) >= T/4 - 1/(1 - exp(-eta/4)) for every lambda (docs/theory.md, 6.2). The game
    `penalty-breaker` achieves this without knowing lambda.

    >>> import lewa
    >>> T, cheap, dear = 10_000, [[1, 0]], [[0.5, 0]]
    >>> for penalty, rewards in ((0.5, cheap), (1.0, dear)):
    ...     learner = lewa.learners.FixedPenalty.tuned(actions=2, horizon=T, floor=0.5, penalty=penalty)
    ...     trace = lewa.play(learner, lewa.games.Table(rewards * T, constraints=[0, 1]))
    ...     f"regret {lewa.regret(trace)[0] / T:.2f}, violation {lewa.violation(trace)[0, 0] / T:.2f} a round"
    'regret -0.49, violation 0.49 a round'
    'regret 0.24, violation 0.00 a round'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(5, 100, (0.4, 0.2), penalty=(2.0, 0.0)), 5)]

    def start(self, actions: int) -> EwaState:
        K, _ = self.sizes(actions)
        return EwaState(ones(K))

    def play(self, s: EwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: EwaState, seen: Full) -> None:
        grow_priced(s.weights, self.eta, seen.rewards, self.penalty, seen.constraints)  # w <- w exp(eta (r + lambda c))

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return one_action(self.floor) if actions == 1 else (none("fixed penalty", BROKEN),)
