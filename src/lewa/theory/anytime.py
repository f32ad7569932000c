"""The bounds of learners that need no horizon, and of those that are run inside another; docs/theory_anytime.md has the
statements and their proofs.

K actions, T rounds, m constraints with floors c0; eta and delta as in the boxes.
"""

from collections.abc import Sequence
from math import fsum, inf, sqrt
from typing import Any

from lewa.theory import paper, parameters
from lewa.theory.guarantees import EXPECTED_INSIDE, FEASIBLE, Bound, Guarantee, Setting, none, one_action, proved
from lewa.types import Vector

# Anytime LEWA ------------------------------------------------------------------------------------------------------------


def anytime_lewa(learner: parameters.EtaDelta, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
    """At every T what LEWA has with eta/sqrt(T), delta/(2 sqrt(T)) and mu = 2/(delta sqrt(T)), and eta^2/4 added to ln K."""
    floor, eta, delta = learner.floor, learner.eta, learner.delta
    if actions == 1:
        return one_action(floor)
    name, root, most = "Anytime LEWA", sqrt(rounds), floor.size * eta
    if delta < most * (1 - 1e-12):
        return (none(name, f"needs delta >= m*eta, got {delta=:.6g}, m*eta={most:.6g}"),)
    steps = parameters.Steps(eta / root, delta / (2 * root), 2 / (delta * root), floor)
    statements = paper.lewa(steps, actions, rounds, setting, name, eta * eta / 4)
    return tuple(_in_own_terms(said, f"needs delta > m*eta, got {delta=:.6g}, m*eta={most:.6g}") for said in statements)


def _in_own_terms(said: Guarantee, needs: str) -> Guarantee:
    """Where LEWA's steps would have to be others, the steps that were given are named."""
    lacks = said.reason.startswith("needs delta > m*eta/2")
    reason = f"{needs}; tuned(..., epsilon=...) sets it so" if lacks else said.reason
    trivial = "regret: only the trivial bound, as (d) "
    assumptions = tuple(trivial + needs if one.startswith(trivial) else one for one in said.assumptions)
    return said._replace(reason=reason, assumptions=assumptions)


# Doubling ----------------------------------------------------------------------------------------------------------------


def doubled(
    epochs: Sequence[tuple[Any, int]], actions: int, rounds: int, floor: Vector, setting: Setting
) -> tuple[Guarantee, ...]:
    """The sums over epochs, each a learner and the rounds it plays; the trivial bounds for one of which nothing is proved.

    Epoch k gets epsilon/((k + 1)(k + 2)). That the rewards vary little over all rounds is not used.
    """
    covered = sum(length for _, length in epochs)
    if covered < rounds:
        return (none("doubling", f"the epochs have {covered} rounds in all, fewer than {rounds}"),)
    setting, said = setting._replace(variation=None), []
    for k, (learner, length) in enumerate(epochs):
        own = None if setting.epsilon is None else setting.epsilon / ((k + 1) * (k + 2))
        said.append(learner.guarantees(actions, length, setting._replace(epsilon=own)))
    lengths = [length for _, length in epochs]
    longest = said[max(range(len(said)), key=lambda k: lengths[k])]
    return tuple(_summed(one, said, lengths, floor, setting) for one in longest)


def _summed(
    one: Guarantee, said: Sequence[tuple[Guarantee, ...]], lengths: list[int], floor: Vector, setting: Setting
) -> Guarantee:
    """The sum of what the epochs have of the kind of this statement, under no more assumptions."""
    source = f"{one.source}, doubled"
    if one.regret is None:
        return none(source, f"in its longest epoch: {one.reason}")
    regret, violation, positive, epsilon = [], [], [], []
    for statements, length in zip(said, lengths, strict=True):
        same = [s for s in statements if s.kind == one.kind]  # the same theorem, or one that assumes no more
        alike = [s for s in same if s.source == one.source or set(s.assumptions) <= set(one.assumptions)]
        trivial = tuple(c0 * length for c0 in floor.tolist())
        best = min(alike, key=lambda s: s.source != one.source, default=Guarantee(float(length), trivial, one.kind, ""))
        regret.append(best.regret or 0.0)
        violation.append(best.violation or ())
        positive.append(best.positive_violation or trivial)
        epsilon.append(best.epsilon or 0.0)
    bound = Bound(fsum(regret), tuple(map(fsum, zip(*violation, strict=True))))
    if one.positive_violation is not None:
        bound = bound._replace(positive=tuple(map(fsum, zip(*positive, strict=True))))
    fails = None if one.epsilon is None else setting.epsilon or fsum(epsilon)
    if fails is not None and fails >= 1:
        return none(source, f"the epochs' bounds may fail with probabilities that add up to {fails:.4g}")
    return proved(bound, sum(lengths), floor, str(one.kind), source, one.assumptions, fails)


# Tightened ---------------------------------------------------------------------------------------------------------------


def tightened(held: Any, actions: int, rounds: int, floor: Vector, slack: float, setting: Setting) -> tuple[Guarantee, ...]:
    """What is proved for the floors c0 + s, said of c0: s T less violation, and s T/S more regret."""
    if actions == 1:
        return one_action(floor)
    paper.check_slater(floor, setting)
    S, inside = setting.slater, setting
    if S is not None:
        if slack > S:
            needs = f"needs slack <= slater, or no play need meet the raised floors; got {slack=:.6g}, slater={S:g}"
            return (none("tightened", needs),)
        left = min(S - slack, 1 - float(held.floor.max()))
        inside = setting._replace(slater=left if left > 0 else None, variation=setting.variation if left > 0 else None)
    feasible = (FEASIBLE, paper.exceeded(inside)) if inside.slater else (FEASIBLE,)
    return tuple(
        _lowered(said, rounds, floor, slack, setting, feasible) for said in held.guarantees(actions, rounds, inside)
    )


def _lowered(
    said: Guarantee, rounds: int, floor: Vector, slack: float, setting: Setting, feasible: tuple[str, ...]
) -> Guarantee:
    """A statement about the floors c0 + s as one about c0; `feasible` is what it assumes of the former."""
    source, T, S = f"{said.source}, tightened", rounds, setting.slater
    if said.regret is None or said.violation is None:
        return none(source, f"of the raised floors: {said.reason}")
    if slack == 0 or not floor.any():
        return said._replace(source=source, assumptions=(*said.assumptions, "slack 0: the floors are not raised"))
    reachable = f"some play exceeds every floor by {S or slack:g}"
    world = [reachable if one in feasible else one for one in said.assumptions]
    # The mixture with a play that exceeds the floors in the mean does not exceed them in every round.
    known = S is not None and setting.constraints != "arbitrary"
    regret = said.regret + slack * T / S if known and S else inf
    if not known:
        against = f"against plays that meet the floors raised by {slack:.4g}, at most {said.regret:.6g}"
        lacks = "no slater is given" if S is None else "no play need exceed the floors in every round"
        world.append(f"regret: only the trivial bound, as {lacks}; {against}")
    off = 0.0 if said.kind == EXPECTED_INSIDE else slack * T
    violation = tuple(max(v - off, 0.0) for v in said.violation)
    bound = Bound(regret, violation, said.positive_violation)
    return proved(bound, T, floor, str(said.kind), source, tuple(world), said.epsilon)
