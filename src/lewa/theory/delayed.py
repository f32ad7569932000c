"""The bounds with late answers; docs/theory_delay.md, 2 to 6, has the statements and their proofs.

K actions, T decisions, m constraints with floors c0; eta, delta, mu as in the learners' boxes; `share` is that of fixed
share, 0 for LEWA; `start` is the state at the start, None for a new learner. A bound is B and A: regret is at most B, and
each net violation of the decisions made at most sqrt(A (T + B)), in the sense of its theorem.
"""

from math import log, log1p, sqrt
from typing import NamedTuple

from lewa.theory.assumptions import EVERY_ROUND, EXPECTED, FEASIBLE, MEAN, OBLIVIOUS, PATHWISE, PROBABLE, UNSEEN
from lewa.theory.guarantees import AnyLearner, Bound, Guarantee, Statements, conclude, none, one_action, width
from lewa.theory.setting import Delays, Start, first_start
from lewa.types import Vector

ANY = "answers may arrive at any time"
APART = (
    "whether and when an answer arrives does not depend on actions or outcomes; the noise of different decisions is "
    "independent"
)
AT_CLOSE = (
    "answers are learned when their decisions close; when a decision closes, and whether its answer has arrived by "
    "then, does not depend on actions or outcomes; the noise of different decisions is independent"
)
PAST = "conditional on everything that was learned before the last change"
FIXED_ROUNDS = "the number of decisions is fixed in advance"
LEARNED_ONLY = "rewards do not depend on the outcomes of open decisions"  # nor do multipliers then
LATE, CHANGED = "late answers", "from the last change on"
CHANCE = (
    "with late answers its theorem divides by a different probability than the algorithm does, so nothing is proved "
    "for the algorithm; late-lewa-ix divides by that probability"
)


class Late(NamedTuple):
    """Regret at most B, violation at most sqrt(A (T + B))."""

    B: float
    A: float


def full_information(
    learner: AnyLearner, actions: int, rounds: int, late: Delays, share: float = 0.0, start: Start | None = None
) -> Late:
    """Return B and A of unmodified LEWA and fixed share (Th1), from any start (Th11).

    Delay costs the dual step nothing. If delta < (m eta/2)(1 + G) + 2 share m e, the shrinkage does not absorb all terms,
    and the multipliers' caps bound the rest.
    """
    T, m, D = rounds, learner.floor.size, late.total
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    begin = start or first_start(actions, m)
    steps = T + begin.waiting
    moving = -(steps - 1) * log1p(-share)
    B = (begin.entropy + moving) / eta + eta / 4 * (T + 2 * D) + 1.5 * share * D
    B += begin.dual_cost(delta, mu, learner.floor, steps) + begin.open_cost(mu, learner.floor, late.between)
    lacking = m * eta / 4 * (1 + late.partners) + share * m * late.between - delta / 2
    if lacking > 1e-15 * delta:
        pairs = zip(learner.floor.tolist(), begin.multiplier, strict=True)
        B += lacking * steps * sum(min(max(c0 / delta, value), value + mu * c0 * steps) ** 2 for c0, value in pairs)
    return Late(B, width(delta, mu, steps))


def price_of_learning(
    learner: AnyLearner, actions: int, rounds: int, late: Delays, start: Start | None = None
) -> Late | None:
    """Return B and A of unmodified BanditLEWA on losses (Th4), from any start; None if delta is too small.

    Each answer counts at the price when it is learned.
    """
    K, T, m, D = actions, rounds, learner.floor.size, late.total
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    if delta < 2 * m * eta * (K + late.partners) * (1 - 1e-12) or delta * mu > 1:
        return None
    begin = start or first_start(K, m)
    beta = 1 + 2 * m * mu * late.between * (1 + max(begin.excess(delta, learner.floor), default=0.0))
    steps = T + begin.waiting
    B = begin.entropy / eta + eta * (K * T + 2 * D * beta**2) + begin.dual_cost(delta, mu, learner.floor, steps)
    return Late(B + begin.open_cost(mu, learner.floor, late.between), width(delta, mu, steps))


class Form(NamedTuple):
    """What the step of a learner follows: n = sum_t (single + pairs g_t) b_t^2, and all steps cost at most c sqrt(n)."""

    single: float
    pairs: float
    c: float

    def lasts(self, late: Delays) -> float:
        """Return the most that one decision has in n, at the price 0."""
        return self.single + self.pairs * late.partners


def full_form(actions: int) -> Form:
    """Late LEWA (Th2): the covariance of two gains is at most a quarter of their prices."""
    return Form(1.0, 1.0, sqrt(log(actions)))


def bandit_form(actions: int) -> Form:
    """Late Anytime LossLEWA (Th7)."""
    return Form(actions, 1.0, 2 * sqrt(log(actions)))


def price_of_the_draw(
    learner: AnyLearner, actions: int, rounds: int, late: Delays, form: Form, start: Start | None = None
) -> Late:
    """Return B and A of Late LEWA and Late Anytime LossLEWA, from any start; steps follow prices and delays."""
    K, m, delta, D, e = actions, learner.floor.size, learner.delta, late.total, late.between
    T, before, moved, extra = rounds, 0.0, 1.0, 0.0
    if start is not None:
        T, (before, spent, first, prices, *queue) = rounds + start.waiting, start.totals
        pairs = list(zip(queue, learner.floor.tolist(), strict=True))
        moved += max([0.5, *(max(q / (before + 1) - c0, 0.0) / 2 for q, c0 in pairs)])
        dearest = sum(c0 * (q + c0 * e) for q, c0 in pairs) / (delta * sqrt(before + 1))
        extra = form.c / 2 * ((start.entropy - log(K)) / log(K) * sqrt(spent + first) + sqrt(spent))
        extra += prices + start.waiting * dearest
        extra += sum(q * q for q in queue) / (2 * delta * sqrt(max(before, 1.0)))
    most, end, y = form.lasts(late), sqrt(before + T), moved * m * e / delta
    passed = end - sqrt(before)
    n = (
        form.single * T + 2 * form.pairs * D + most * (4 * y * passed + y * y * (1 + log(T)))
    )  # at least that of the prices beta
    B = form.c * sqrt(n) + form.c**2 * m * most * end / delta + m / delta * (passed + 2 * moved * sqrt(e * D))
    return Late(B + extra, 2 * delta * end)


def lost_at_a_price(learner: AnyLearner, rounds: int, start: Start | None = None) -> float:
    """Return the cost of a lost answer besides 1 if its loss may depend on its outcome: at most sum_j pi_j (1 - c0_j).

    After k steps from a queue Q0 that s0 answers left, a price is at most Q0/(delta sqrt(s0 + 1)) + c0 sqrt(k)/delta.
    """
    floor, steps, first = learner.floor.tolist(), rounds, 0.0
    if start is not None:
        before, _, _, _, *queue = start.totals
        steps += start.waiting
        first = sum(q * (1 - c0) for q, c0 in zip(queue, floor, strict=True)) / sqrt(before + 1)
    return float((first + sum(c0 * (1 - c0) for c0 in floor) * sqrt(steps)) / learner.delta)


# Statements --------------------------------------------------------------------------------------------------------------


def lewa(
    learner: AnyLearner,
    actions: int,
    rounds: int,
    late: Delays,
    start: Start | None = None,
    source: str = "LEWA",
    share: float = 0.0,
) -> Statements:
    """Return Th1: in expectation for constraints with a fixed mean, and on every path against plays that meet every floor.

    For a new learner also in expectation if arrivals may depend on anything.
    """
    if actions == 1:
        return one_action(learner.floor)
    if learner.delta * learner.mu > 1:
        return (none(source, f"needs delta*mu <= 1, got delta={learner.delta}, mu={learner.mu}"),)
    bound = full_information(learner, actions, rounds, late, share, start)
    source = f"{source}, {LATE if start is None else CHANGED} (Th1)"
    mean = (FEASIBLE, MEAN, OBLIVIOUS)
    world = (*mean, APART) if start is None else (*mean, APART, PAST)
    statements = (
        _conclude(bound, rounds, learner.floor, late, EXPECTED, source, world, start),
        _conclude(bound, rounds, learner.floor, late, PATHWISE, source, (EVERY_ROUND, ANY), start),
    )
    if start is not None:
        return statements
    more = bound._replace(B=bound.B + at_prices_of_the_draw(learner, rounds, late))
    return *statements, _conclude(more, rounds, learner.floor, late, EXPECTED, source, (*mean, no_later(late)), start)


def at_prices_of_the_draw(learner: AnyLearner, rounds: int, late: Delays) -> float:
    """Return the cost of arrivals that may depend on anything, m mu D, and sum_j pi_j (1 - c0_j) for each lost answer.

    Only the prices of the draws do not depend on the noise then; those at learning differ by at most mu per answer.
    """
    delta, mu, floor, T = learner.delta, learner.mu, learner.floor.tolist(), rounds + late.missing
    lost = sum(min(c0 / delta, mu * c0 * T) * (1 - c0) for c0 in floor)
    return float(len(floor) * mu * late.total + late.missing * lost)


def loss_lewa(learner: AnyLearner, actions: int, rounds: int, late: Delays, start: Start | None = None) -> Statements:
    """Return the bounds of Th4, in expectation."""
    if actions == 1:
        return one_action(learner.floor)
    source, m = f"LossLEWA, {LATE if start is None else CHANGED} (Th4)", learner.floor.size
    bound = price_of_learning(learner, actions, rounds, late, start)
    if bound is None:
        least = 2 * m * learner.eta * (actions + late.partners)
        needs = f"needs delta >= 2*m*eta*(K + G) with G = {late.partners} decisions open together"
        hint = one_very_late(rounds, late)
        end = f"; {hint}" if hint else ""
        return (none(source, f"{needs}; got delta={learner.delta:.6g} where it is {least:.6g}{end}"),)
    return (_conclude(bound, rounds, learner.floor, late, EXPECTED, source, _bandit_world(start), start),)


def late_lewa(learner: AnyLearner, actions: int, rounds: int, late: Delays, start: Start | None = None) -> Statements:
    """Th2: in expectation for constraints of a fixed mean, and on every path against plays that meet every floor."""
    if start is not None and not start.totals:  # it was not recorded
        return ()
    if actions == 1:
        return one_action(learner.floor)
    T = rounds + late.missing  # a decision without an answer is a round in which nothing is gained
    bound = price_of_the_draw(learner, actions, T, late, full_form(actions), start)
    source = f"Late LEWA, {LATE if start is None else CHANGED} (Th2)"
    world = (FEASIBLE, MEAN, OBLIVIOUS, no_later(late), *(() if start is None else (PAST,)))
    lost = bound._replace(B=bound.B + late.missing * lost_at_a_price(learner, T, start))
    return (
        _conclude(lost, rounds, learner.floor, late, EXPECTED, source, world, start),
        _conclude(bound, rounds, learner.floor, late, PATHWISE, source, (EVERY_ROUND, ANY), start),
    )


def late_anytime_loss_lewa(
    learner: AnyLearner,
    actions: int,
    rounds: int,
    late: Delays,
    start: Start | None = None,
) -> Statements:
    """Return the bounds of Th7, in expectation; decisions without an answer count as rounds without loss."""
    if start is not None and not start.totals:  # it was not recorded
        return ()
    if actions == 1:
        return one_action(learner.floor)
    T = rounds + late.missing
    bound = price_of_the_draw(learner, actions, T, late, bandit_form(actions), start)
    source = f"Late Anytime LossLEWA, {LATE if start is None else CHANGED} (Th7)"
    return (_conclude(bound, rounds, learner.floor, late, EXPECTED, source, _bandit_world(start), start),)


def no_later(late: Delays) -> str:
    """Say what is assumed where arrivals may depend on anything, but a bound on an expectation is at given delays."""
    errors = " and ".join(f"{error:.4g}" for error in late.errors)
    reserves = f"; no constraint differs from its reserve by more than {errors} of its range" if errors else ""
    return (
        "whether and when an answer arrives may depend on anything, as long as the delays are never longer: "
        f"D <= {late.total}, G <= {late.partners}, e <= {late.between}, at most {late.most_open} decisions open, "
        f"at most {late.missing} lost{reserves}"
    )


def _bandit_world(start: Start | None) -> tuple[str, ...]:
    world = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS, APART)
    return world if start is None else (*world, PAST)


def _conclude(
    bound: Late,
    rounds: int,
    floor: Vector,
    late: Delays,
    kind: str,
    source: str,
    world: tuple[str, ...],
    start: Start | None,
) -> Guarantee:
    """State a bound over the decisions made: one whose answer never came costs at most 1, and its floor in violation.

    Answers that were open at the start moved the multipliers too, by what they kept beyond the floors.
    """
    T, lost, waiting = rounds, late.missing, 0 if start is None else start.waiting
    V = sqrt(bound.A * (T + bound.B))
    total = Bound(bound.B + lost, tuple(V + c0 * lost + (1 - c0) * waiting for c0 in floor.tolist()))
    statement, hint = conclude(total, T + lost, floor, kind, source, world), one_very_late(T, late)
    if hint and statement.regret is None:
        return statement._replace(reason=f"{statement.reason}; {hint}")
    if hint and statement.regret == T + lost:
        return statement._replace(assumptions=(*statement.assumptions, f"regret: only the trivial bound, as {hint}"))
    return statement


def one_very_late(rounds: int, late: Delays) -> str:
    """Return a hint if a few very late answers make the bounds large, else an empty text."""
    average = 2 * late.total / rounds
    if late.partners <= 20 * (1 + average):
        return ""
    return (
        f"the latest answer was open together with {late.partners} other decisions, the average one with {average:.3g}; "
        "with close_after=h that number is at most 2 h"
    )


# With high probability (3 and 5) ----------------------------------------------------------------------------------------


def lewa_probable(
    learner: AnyLearner, actions: int, rounds: int, late: Delays, epsilon: float, name: str = "LEWA", share: float = 0.0
) -> Statements:
    """Th1 with probability 1 - epsilon, for constraints of a fixed mean; a reason if no room is left for noise."""
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
    return (_conclude_probable(bound, learner, rounds, late, epsilon, source, (LEARNED_ONLY, APART)),)


def room_for_noise(learner: AnyLearner, late: Delays, share: float = 0.0) -> float:
    """Return the largest theta with delta >= (m eta/2)(1 + G) + 2 share m e + m theta/4."""
    m = learner.floor.size
    return float(4 * (learner.delta / m - learner.eta / 2 * (1 + late.partners) - 2 * share * late.between))


def late_lewa_probable(learner: AnyLearner, actions: int, rounds: int, late: Delays, epsilon: float) -> Statements:
    """Th2 with probability 1 - epsilon, for constraints of a fixed mean."""
    if actions == 1:
        return ()
    T, m = rounds + late.missing, learner.floor.size
    bound = with_room_for_noise(learner, actions, T, late)
    noise = 2 * m * sqrt(T) * log(2 * actions / epsilon) / learner.delta + late.missing * lost_at_a_price(learner, T)
    bound = bound._replace(B=bound.B + noise)
    return (_conclude_probable(bound, learner, rounds, late, epsilon, f"Late LEWA, {LATE} (Th2)", (ANY,)),)


def with_room_for_noise(learner: AnyLearner, actions: int, rounds: int, late: Delays) -> Late:
    """Return B and A of Late LEWA where half of the shrinkage is left for the noise of the constraints.

    On every path Regret(p) + sum_j Q_j^2/A + (theta/8) sum_t (sum_j pi_{t,j})^2 <= B + N(p), theta = delta/(2 m sqrt(T)).
    """
    T, m, delta, e, form = rounds, learner.floor.size, learner.delta, late.between, full_form(actions)
    bound = price_of_the_draw(learner, actions, T, late, form)
    twice = form.c**2 * m * form.lasts(late) * sqrt(T) / delta
    return bound._replace(B=bound.B + twice + m * e * e * (1 + log(T)) / (8 * delta * sqrt(T)))


def _conclude_probable(
    bound: Late,
    learner: AnyLearner,
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
