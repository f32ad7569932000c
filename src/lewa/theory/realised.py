"""From the play to the actions drawn: turn bounds on means into bounds on the rewards and constraints of a single run.

A bound on regret under full information is about p_t.r_t, and every bound on violation is about the mean p_t.c, if there is
one. An application draws an action from each play and gets its reward and its constraints. docs/theory.md, 0.6, has the
statements and their proofs.
"""

from collections.abc import Sequence
from math import log, sqrt

from lewa.formatting import number
from lewa.theory.assumptions import EXPECTED, EXPECTED_INSIDE, PROBABLE
from lewa.theory.guarantees import Guarantee, none


def realised(
    statement: Guarantee, rounds: int, floor: Sequence[float], bandit: bool, epsilon: float = 0.05, corruption: float = 0.0
) -> Guarantee:
    """Return the guarantee for the actions drawn, which may fail with an additional probability of epsilon.

    With bandit feedback its regret is about them already; the corruption adds to the constraints of a run.

    >>> import lewa
    >>> learner = lewa.learners.make("ewa", 2, 100, floor=0)
    >>> mean = lewa.guarantee(learner, actions=2, rounds=100)
    >>> told = realised(mean, 100, (0.0,), bandit=False)
    >>> f"{mean.kind} {mean.regret:.1f}; {told.kind} {told.regret:.1f}"
    'pathwise 5.9; high probability 18.1'
    """
    if statement.regret is None or statement.violation is None:
        return statement
    T, seen = rounds, bandit and statement.every_round  # then what the dual step sees is what was drawn
    lines = 0 if seen else sum(c0 > 0 for c0 in floor)
    count = lines if bandit else lines + 1
    regret, violation = luck(statement, T, count, epsilon)
    most = [c0 * T for c0 in floor]
    more = 0.0 if seen else violation + corruption
    bounds = tuple(min(v + more, top) for v, top in zip(statement.violation, most, strict=True))
    total = min(statement.regret + (0.0 if bandit else regret), float(T))
    if total >= T and all(v >= top for v, top in zip(bounds, most, strict=True)):
        return none(statement.source, "the theorem gives only the trivial bounds")
    kind, fails = statement.kind, statement.epsilon
    if count and kind not in (EXPECTED, EXPECTED_INSIDE):
        kind, fails = PROBABLE, (fails or 0.0) + epsilon
        if fails >= 1:
            return none(statement.source, f"its probabilities of failure sum to {fails:.4g}")
    return statement._replace(
        regret=total, violation=bounds, kind=kind, epsilon=fails, positive_violation=None, throughout=False
    )


def luck(statement: Guarantee, rounds: int, count: int, epsilon: float) -> tuple[float, float]:
    """Return the random error that the draws add to regret and to each violation, if `count` bounds must hold at once."""
    if statement.kind == EXPECTED or count == 0:
        return 0.0, 0.0
    if statement.kind == EXPECTED_INSIDE:
        return 0.0, sqrt(rounds) / 2
    term = sqrt(rounds / 2 * log(count / epsilon))
    return term, term


def subject(
    statement: Guarantee, rounds: int, floor: Sequence[float], bandit: bool, epsilon: float = 0.05, corruption: float = 0.0
) -> str:
    """Return a sentence on the subject of a guarantee: the play or the actions drawn, and one T or all."""
    if statement.regret is None:
        return ""
    mean = "the observed constraints" if statement.every_round else "the mean constraints"
    if bandit:
        what = "regret is that of the rewards drawn"
        what += (
            ", violation that of the constraints drawn"
            if statement.every_round
            else f", violation that of {mean} of the play"
        )
    else:
        what = f"regret and violation are those of the play: of the rewards and {mean} of all actions, weighted by the play"
    run = realised(statement, rounds, floor, bandit, epsilon, corruption)
    if run.regret is None or run.violation is None:
        what += f"; for the actions drawn, {run.reason}"
    elif (run.regret, run.violation, run.kind) != (
        statement.regret,
        statement.violation,
        statement.kind,
    ):
        sure = "" if run.epsilon is None else f", with probability {1 - run.epsilon:.4g}"
        limits = " and ".join(map(number, run.violation))
        what += f"; for the actions drawn, regret is at most {number(run.regret)}, violation {limits}{sure}"
    if statement.kind != PROBABLE:
        return what
    when = "all t <= T at once" if statement.throughout else "this single T, fixed in advance, not for all T at once"
    return f"{what}; the probability is for {when}"
