"""The bounds with late answers that hold with high probability; docs/theory_delay.md, 3 and 5, has the proofs."""

from math import log, sqrt

from lewa.theory import parameters
from lewa.theory.delayed import ANY, APART, LATE, Late, full_form, full_information, lost_at_a_price, price_of_the_draw
from lewa.theory.guarantees import FEASIBLE, MEAN, PROBABLE, Bound, Guarantee, conclude, none
from lewa.theory.setting import Delays

FIXED_ROUNDS = "the number of decisions is fixed in advance"
LEARNED_ONLY = "rewards do not depend on the outcomes of open decisions"  # nor do multipliers then


def lewa(
    learner: parameters.Dual, actions: int, rounds: int, late: Delays, epsilon: float, name: str = "LEWA", share: float = 0.0
) -> tuple[Guarantee, ...]:
    """Th1 with probability 1 - epsilon, for constraints of a fixed mean; a reason if the shrinkage leaves no room for noise.

    Parameters
    ----------
    learner, actions, rounds
        The learner, K and T.
    late
        The delays.
    epsilon
        The probability with which the bound may fail.
    name
        The name of the theorem.
    share
        The share of fixed share; 0 for LEWA.
    """
    if actions == 1 or learner.delta * learner.mu > 1:
        return ()
    theta, source, m = room_for_noise(learner, late, share), f"{name}, {LATE} (Th1)", learner.floor.size
    if theta <= 1e-12 * learner.eta:
        needs = "needs delta > (m*eta/2)*(1 + G)" + (" + 2*share*m*e" if share else "")
        delays = f"G = {late.partners} decisions open together" + (f" and e = {late.between}" if share else "")
        least = learner.delta - m * theta / 4
        return (none(source, f"{needs} with {delays}; got delta={learner.delta:.6g} where it is {least:.6g}"),)
    bound = full_information(learner, actions, rounds, late, share)
    bound = bound._replace(B=bound.B + log(2 * actions / epsilon) / theta)
    return (_conclude(bound, learner, rounds, late, epsilon, source, (LEARNED_ONLY, APART)),)


def room_for_noise(learner: parameters.Dual, late: Delays, share: float = 0.0) -> float:
    """Return the largest theta with delta >= (m eta/2)(1 + G) + 2 share m e + m theta/4."""
    m = learner.floor.size
    return 4 * (learner.delta / m - learner.eta / 2 * (1 + late.partners) - 2 * share * late.between)


def late_lewa(learner: parameters.Delta, actions: int, rounds: int, late: Delays, epsilon: float) -> tuple[Guarantee, ...]:
    """Th2 with probability 1 - epsilon, for constraints of a fixed mean."""
    if actions == 1:
        return ()
    T, m = rounds + late.missing, learner.floor.size
    bound = with_room_for_noise(learner, actions, T, late)
    noise = 2 * m * sqrt(T) * log(2 * actions / epsilon) / learner.delta + late.missing * lost_at_a_price(learner, T)
    bound = bound._replace(B=bound.B + noise)
    return (_conclude(bound, learner, rounds, late, epsilon, f"Late LEWA, {LATE} (Th2)", (ANY,)),)


def with_room_for_noise(learner: parameters.Delta, actions: int, rounds: int, late: Delays) -> Late:
    """Return B and A of Late LEWA where half of the shrinkage is left for the noise of the constraints.

    On every path Regret(p) + sum_j Q_j^2/A + (theta/8) sum_t (sum_j pi_{t,j})^2 <= B + N(p), theta = delta/(2 m sqrt(T)).
    """
    T, m, delta, e, form = rounds, learner.floor.size, learner.delta, late.between, full_form(actions)
    bound = price_of_the_draw(learner, actions, T, late, form)
    twice = form.c**2 * m * form.lasts(late) * sqrt(T) / delta
    return bound._replace(B=bound.B + twice + m * e * e * (1 + log(T)) / (8 * delta * sqrt(T)))


def _conclude(
    bound: Late,
    learner: parameters.Delta | parameters.Dual,
    rounds: int,
    late: Delays,
    epsilon: float,
    source: str,
    world: tuple[str, ...],
) -> Guarantee:
    """State a bound over the decisions made: one whose answer never came costs at most 1, and its floor in violation."""
    floor, T = learner.floor, rounds + late.missing
    V = sqrt(bound.A * (rounds + bound.B)) + sqrt(T / 2 * log(2 * floor.size / epsilon))
    total = Bound(bound.B + late.missing, tuple(V + c0 * late.missing for c0 in floor.tolist()))
    return conclude(total, T, floor, PROBABLE, source, (FEASIBLE, MEAN, *world, FIXED_ROUNDS), epsilon)
