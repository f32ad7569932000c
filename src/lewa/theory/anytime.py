"""The bounds of learners that need no horizon, and of learners inside a wrapper; docs/theory_anytime.md has the statements
and their proofs.

K actions, T rounds, m constraints with floors c0; eta and delta as in the boxes.
"""

from collections.abc import Sequence
from math import exp, fsum, inf, log, sqrt
from typing import Any, NamedTuple

from lewa.theory import delayed, paper, projected
from lewa.theory.assumptions import EACH_ACTION, EVERY_ROUND, EXPECTED_INSIDE, FEASIBLE, PATHWISE, PROBABLE
from lewa.theory.guarantees import (
    TINY,
    AnyLearner,
    Bound,
    Guarantee,
    HasGuarantees,
    Statements,
    conclude,
    none,
    steady,
)
from lewa.theory.setting import NO_DELAY, Setting
from lewa.types import Vector


class Steps(NamedTuple):
    """The two steps and the shrinkage of LEWA, to which its theorem is applied."""

    eta: float
    delta: float
    mu: float
    floor: Vector


# Anytime LEWA ------------------------------------------------------------------------------------------------------------


def anytime_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return LEWA's bounds at every T, for eta/sqrt(T), delta/(2 sqrt(T)), mu = 2/(delta sqrt(T)) and ln K + eta^2/4."""
    floor, eta, delta = learner.floor, learner.eta, learner.delta
    name, root, most = "Anytime LEWA", sqrt(rounds), floor.size * eta
    if delta < most * (1 - 1e-12):
        return (none(name, f"needs delta >= m*eta, got {delta=:.6g}, m*eta={most:.6g}"),)
    steps = Steps(eta / root, delta / (2 * root), 2 / (delta * root), floor)
    statements = paper.lewa(steps, actions, rounds, setting, name, eta * eta / 4)
    needs = f"needs delta > m*eta, got {delta=:.6g}, m*eta={most:.6g}"
    return tuple(_of_anytime(statement, needs) for statement in statements)


def _of_anytime(statement: Guarantee, needs: str) -> Guarantee:
    """Name the steps that were given where the statement names LEWA's."""
    lacks = statement.reason.startswith("needs delta > m*eta/2")
    reason = f"{needs}; tuned(..., epsilon=...) sets it so" if lacks else statement.reason
    trivial = "regret: only the trivial bound, as (d) "
    assumptions = tuple(trivial + needs if text.startswith(trivial) else text for text in statement.assumptions)
    return statement._replace(reason=reason, assumptions=assumptions)


def late_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Late LEWA where no answer is late (docs/theory_delay.md, 5): LEWA's consequences at every T, for any delta."""
    floor, T, m, delta = learner.floor, rounds, learner.floor.size, learner.delta
    B, A = delayed.price_of_the_draw(learner, actions, T, NO_DELAY, delayed.full_form(actions))
    root = sqrt(T)
    inequality = paper.Inequality(
        B, A, float(floor.sum()) * root / delta, delta / (m * root), m * log(actions) * root / delta
    )
    return paper.consequences(inequality, actions, T, floor, setting, "Late LEWA")


PACE = 1.2  # as in kernels/projection.py: from one epoch of a radius that covers all rounds to the next

# Anytime OP-EWA ----------------------------------------------------------------------------------------------------------


def anytime_op_ewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by sqrt(T) (ln K/eta + eta/4) at every T, and shortfalls by radii that cover all rounds."""
    floor, eta, level, kappa, corruption = learner.floor, learner.eta, learner.level, learner.kappa, learner.corruption
    source, K, T, m = "Anytime OP-EWA", actions, rounds, floor.size
    regret = sqrt(T) * (log(K) / eta + eta / 4)
    if not floor.any():
        return (conclude(Bound(regret, 0.0, 0.0), T, floor, PATHWISE, source, (projected.FREE,)),)
    if setting.constraints == "arbitrary":
        return (none(source, projected.NO_MEAN),)
    C = setting.corruption or 0.0
    if corruption < C:
        return (none(source, f"needs corruption >= {C:g}, or the bonus does not cover the corruption; got {corruption=:g}"),)
    paper.check_slater(floor, setting)
    radii, noise, kind, epsilon = stitched_radii(level, T), 0.0, PATHWISE, None
    if setting.constraints != "constant":
        least = 2 * K * m * exp(-level)
        kind, epsilon = PROBABLE, max(least, TINY) if setting.epsilon is None else setting.epsilon
        if epsilon >= 1 or least > epsilon * (1 + 1e-9):
            return (none(source, f"needs level >= ln(2*K*m/epsilon), got {level=:.6g} and epsilon={epsilon:.4g}"),)
        noise = min(stitched_radii(log(2 * K * m / epsilon), T), radii)
    world: tuple[str, ...] = (FEASIBLE, steady(setting), *projected.several(floor))
    if kappa < 0 or (kappa < 1 and noise > 0):
        world = (*world, f"regret: only the trivial bound, as the set may exclude plays that meet the floors if {kappa=:g}")
        regret, bonus = inf, radii
    else:
        bonus = kappa * radii
    V = tuple(c0 + bonus + noise + (corruption + C) * (1 + log(T)) for c0 in floor.tolist())
    return (projected.throughout(conclude(Bound(regret, V, V), T, floor, kind, source, world, epsilon)),)


def stitched_radii(level: float, rounds: int) -> float:
    """Bound the sum over t <= T of the radii sqrt(n (level + ln((k + 1)(k + 2)))/2)/t, n = PACE^k the first power >= t."""
    total, first, k = sqrt((level + log(2)) / 2), 1, 0  # of round 1
    while first < rounds:
        k += 1
        last = min(int(PACE**k), rounds)
        if last > first:  # sum of 1/t over first < t <= last
            total += sqrt(PACE**k * (level + log((k + 1) * (k + 2))) / 2) * log(last / first)
        first = last
    return total


# Doubling ----------------------------------------------------------------------------------------------------------------


def doubled(
    epochs: Sequence[tuple[HasGuarantees, int]], actions: int, rounds: int, floor: Vector, setting: Setting
) -> Statements:
    """Add up the bounds of the epochs; an epoch without a theorem has the trivial bounds.

    Epoch k gets epsilon/((k + 1)(k + 2)). The variation of the rewards over all rounds is not used.

    `epochs` has the learner and the number of rounds of each epoch.
    """
    covered = sum(length for _, length in epochs)
    if covered < rounds:
        return (none("doubling", f"the epochs have only {covered} rounds, fewer than {rounds}"),)
    setting, by_epoch = setting._replace(variation=None), []
    for k, (learner, length) in enumerate(epochs):
        epsilon = None if setting.epsilon is None else setting.epsilon / ((k + 1) * (k + 2))
        by_epoch.append(learner.guarantees(actions, length, setting._replace(epsilon=epsilon)))
    lengths = [length for _, length in epochs]
    longest = by_epoch[max(range(len(by_epoch)), key=lambda k: lengths[k])]
    return tuple(_sum_of_epochs(statement, by_epoch, lengths, floor, setting) for statement in longest)


def _sum_of_epochs(
    last: Guarantee, by_epoch: Sequence[tuple[Guarantee, ...]], lengths: list[int], floor: Vector, setting: Setting
) -> Guarantee:
    """Add up what the epochs have of the kind of this statement, under no more assumptions."""
    source = f"{last.source}, doubled"
    if last.regret is None:
        return none(source, f"for its longest epoch: {last.reason}")
    regret, violation, positive, epsilon = [], [], [], []
    for statements, length in zip(by_epoch, lengths, strict=True):
        same = [s for s in statements if s.kind == last.kind]  # the same theorem, or one that assumes no more
        alike = [s for s in same if s.source == last.source or set(s.assumptions) <= set(last.assumptions)]
        trivial = tuple(c0 * length for c0 in floor.tolist())
        best = min(alike, key=lambda s: s.source != last.source, default=Guarantee(float(length), trivial, last.kind, ""))
        regret.append(best.regret or 0.0)
        violation.append(best.violation or ())
        positive.append(best.positive_violation or trivial)
        epsilon.append(best.epsilon or 0.0)
    bound = Bound(fsum(regret), tuple(map(fsum, zip(*violation, strict=True))))
    if last.positive_violation is not None:
        bound = bound._replace(positive=tuple(map(fsum, zip(*positive, strict=True))))
    fails = None if last.epsilon is None else setting.epsilon or fsum(epsilon)
    if fails is not None and fails >= 1:
        return none(source, f"the failure probabilities of the epochs' bounds sum to {fails:.4g}")
    total = conclude(bound, sum(lengths), floor, str(last.kind), source, last.assumptions, fails)
    return total._replace(raised=last.raised)


# Tightened ---------------------------------------------------------------------------------------------------------------


def tightened(inner: HasGuarantees, actions: int, rounds: int, floor: Vector, slack: float, setting: Setting) -> Statements:
    """Turn bounds for the floors c0 + s into bounds for c0: violation is smaller by s T, regret larger by s T/S.

    `inner` is the learner with the raised floors, and `slack` is s.
    """
    paper.check_slater(floor, setting)
    S, inside = setting.slater, setting
    if S is not None:
        if slack > S:
            needs = f"needs slack <= slater, or no play need meet the raised floors; got {slack=:.6g}, slater={S:g}"
            return (none("tightened", needs),)
        left = min(S - slack, 1 - float(inner.floor.max()))
        inside = setting._replace(slater=left if left > 0 else None, variation=setting.variation if left > 0 else None)
    premises = _premises(inner, slack, setting, inside)
    return tuple(
        _lower(statement, rounds, floor, slack, setting, premises) for statement in inner.guarantees(actions, rounds, inside)
    )


def _premises(inner: Any, slack: float, setting: Setting, inside: Setting) -> dict[str, str]:
    """Say of the floors c0 what a statement about c0 + s assumes of those: each premise, and what takes its place."""
    reachable = f"some play exceeds every floor by {setting.slater or slack:g}"
    premises = {
        FEASIBLE: reachable,
        EVERY_ROUND: EVERY_ROUND.replace("the floors", f"the floors raised by {slack:.4g}"),
        EACH_ACTION: EACH_ACTION.replace("the floors", f"the floors raised by {slack:.4g}"),
    }
    if inside.slater:
        premises[paper.exceeded(inside)] = reachable
        premises[f"{paper.exceeded(inside)}, in every round"] = f"{reachable}, in every round"
    if hasattr(inner, "margin"):
        premises[projected.safe_action(inner.safe, inner.margin)] = projected.safe_action(inner.safe, inner.margin + slack)
    return premises


def _lower(
    statement: Guarantee, rounds: int, floor: Vector, slack: float, setting: Setting, premises: dict[str, str]
) -> Guarantee:
    """Turn a statement about the floors c0 + s into one about c0, under the premises about c0 + s."""
    source, T, S = f"{statement.source}, tightened", rounds, setting.slater
    if statement.regret is None or statement.violation is None:
        return none(source, f"for the raised floors: {statement.reason}")
    if slack == 0 or not floor.any():
        unraised = "slack 0: the floors are not raised"
        return statement._replace(source=source, assumptions=(*statement.assumptions, unraised))
    world = [premises.get(text, text) for text in statement.assumptions]
    # The mixture with a play that exceeds the floors in the mean does not exceed them in every round.
    known = S is not None and setting.constraints != "arbitrary"
    regret = statement.regret + slack * T / S if known and S else inf
    if not known:
        against = f"against plays that meet the floors raised by {slack:.4g}, at most {statement.regret:.6g}"
        lacks = "no slater is given" if S is None else "no play need exceed the floors in every round"
        world.append(f"regret: only the trivial bound, as {lacks}; {against}")
    off = 0.0 if statement.kind == EXPECTED_INSIDE else slack * T
    violation = tuple(max(v - off, 0.0) for v in statement.violation)
    bound = Bound(regret, violation, statement.positive_violation)
    lower = conclude(bound, T, floor, str(statement.kind), source, tuple(world), statement.epsilon)
    return lower._replace(raised=slack, throughout=statement.throughout) if lower.regret is not None else lower
