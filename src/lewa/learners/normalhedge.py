"""NormalHedge: weights that depend only on regrets, without a step."""

from dataclasses import dataclass
from typing import NamedTuple, Self

from lewa.feedback import Full
from lewa.kernels import NormalHedgeWeights, comparable, dot, grow_normalhedge, normalhedge_weights, normalize_normalhedge
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_problem
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class NormalHedgeState(NamedTuple):
    weights: NormalHedgeWeights  # R, and w


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
    >>> learner = lewa.learners.NormalHedge.tuned(actions=2, horizon=1, floor=0)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=1000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=1000)
    >>> f"regret {lewa.regret(trace)[0]:.1f}, proved {bound.regret:.1f}"
    'regret 0.5, proved 106.3'

    Reference: K. Chaudhuri, Y. Freund, D. Hsu, A parameter-free hedging algorithm, NIPS 2009, arXiv 0903.2851.
    """

    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner, which has nothing to tune."""
        return cls(check_problem(actions, horizon, floor)[2])

    def start(self, actions: int) -> NormalHedgeState:
        K, _ = self.sizes(actions)
        return NormalHedgeState(normalhedge_weights(K))

    def play(self, s: NormalHedgeState, p: Vector) -> None:
        normalize_normalhedge(s.weights, p)  # p = w / sum w

    def learn(self, s: NormalHedgeState, seen: Full) -> None:
        grow_normalhedge(s.weights, seen.rewards, dot(seen.play, seen.rewards))  # R <- R + r - p.r, and w with it

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.normalhedge(actions, rounds, self.floor)
