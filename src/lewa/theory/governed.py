"""The bounds of the governor: on the debt, and on the number of safe rounds.

docs/theory_delay.md, 1, has the proofs. Everything here is in the learner's units: constraints and floors lie in [0, 1], and
a debt is a sum of shortfalls.
"""

from math import inf, log, sqrt

import numpy as np

from lewa.theory.assumptions import CONSTANT, EVERY_ROUND, EXPECTED, EXPECTED_INSIDE, MEAN, PATHWISE, PROBABLE, UNSEEN
from lewa.theory.guarantees import Bound, Guarantee, HasGuarantees, conclude, one_action, steady
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector

USUAL = 100  # rounds at their worst: what a debt may be, if nobody says it


def usual_rounds(horizon: int | None) -> float:
    """Return the default bound on a debt, as a number of rounds at the worst value: the larger of 100 and sqrt(T)."""
    return max(USUAL, sqrt(horizon or 0))


def governed(
    inner: HasGuarantees, actions: int, rounds: int, safe: tuple[float, float], debt: Vector, bandit: bool, setting: Setting
) -> tuple[Guarantee, ...]:
    """Bound every violation by its debt (G1), and regret by that of the inner learner plus the safe rounds (G2).

    Parameters
    ----------
    inner
        The learner inside.
    safe
        The index of the safe action, and the slack that it certainly has.
    debt
        (m,) The bound on each debt.
    bandit
        Whether the learner has bandit feedback.
    """
    (action, slack), floor = safe, inner.floor
    if actions == 1:
        return one_action(floor)
    world = [_surely(action, slack), _never_more(debt, bandit)]
    inside = _of_every_path(inner, actions, rounds, setting)
    if inside is not None and inside.violation is not None and inside.regret is not None:
        helps = max(
            safe_rounds(v, 0, float(b), c0, slack)
            for v, b, c0 in zip(inside.violation, debt.tolist(), floor.tolist(), strict=True)
        )
        source = f"{inside.source}, governed (G1, G2)"
        text = (
            f"regret: at most {inside.regret:.6g} in the rounds of the inner learner, plus {helps:.6g} safe rounds at 1 each"
        )
        bound = Bound(inside.regret + helps, tuple(debt.tolist()))
        statement = conclude(
            bound, rounds, floor, str(inside.kind), source, (*inside.assumptions, *world, text), inside.epsilon
        )
        both = (statement._replace(safe=safe), _net(rounds, floor, debt, bandit, setting, world)._replace(safe=safe))
        first = setting.constraints != "iid" and not setting.corruption and statement.regret is not None
        return both if first else both[::-1]
    return (_net(rounds, floor, debt, bandit, setting, world)._replace(safe=safe),)


def _never_more(debt: Vector, bandit: bool) -> str:
    values = " and ".join(f"{b:.4g}" for b in debt.tolist())
    what = "the actions drawn" if bandit else "the plays"
    return f"by the observed constraints of {what}, the debt is at most {values} at every time and on every path"


def _of_every_path(inner: HasGuarantees, actions: int, rounds: int, setting: Setting) -> Guarantee | None:
    """Return what the learner inside has of any number of rounds up to T at once, against plays that always meet the floors.

    How many rounds it plays depends on the past. A bound on every path, or with high probability against an opponent that
    reacts, covers that: let the rounds that are missing pay nothing and meet the floors exactly, whatever is played.
    """
    question = Setting(constraints="arbitrary", adversary="adaptive", epsilon=setting.epsilon)
    statements: tuple[Guarantee, ...] = inner.guarantees(actions, rounds, question)
    for statement in statements:
        if statement.kind in (PATHWISE, PROBABLE) and EVERY_ROUND in statement.assumptions:
            return statement
    return None


def _net(rounds: int, floor: Vector, debt: Vector, bandit: bool, setting: Setting, world: list[str]) -> Guarantee:
    """State G1 alone: with a mean in question, or an action drawn, it is about expectations or a probability."""
    because = (
        "regret: only the trivial bound; nothing is proved for the random number of rounds that the governor leaves to "
        "the inner learner"
    )
    premises = [*world, *([UNSEEN] if bandit else []), because]
    off, mean = setting.corruption or 0.0, setting.constraints == "iid" or bool(setting.corruption)
    if mean:
        premises.append(steady(setting))
    kind, luck = (EXPECTED, 0.0) if mean or bandit else (PATHWISE, 0.0)
    if kind == EXPECTED and setting.epsilon is not None:
        kind, luck = PROBABLE, sqrt(rounds / 2 * log(floor.size / setting.epsilon))
    bound = Bound(inf, tuple(b + luck + off for b in debt.tolist()))
    epsilon = setting.epsilon if kind == PROBABLE else None
    return conclude(bound, rounds, floor, kind, "governed (G1)", tuple(premises), epsilon)


def price_capped(
    statements: tuple[Guarantee, ...], rounds: int, floor: Vector, delta: float, safe: tuple[float, float]
) -> tuple[Guarantee, ...]:
    """Late Anytime LossLEWA with a safe action that is played while a price is above 1/slack (G7), where no answer is late.

    Its bounds on regret are unchanged. No debt of the actions drawn passes delta sqrt(t)/slack + c0, on any path.
    """
    action, slack = safe
    debt = delta * sqrt(rounds) / slack + floor
    world = (_surely(action, slack), _never_more(debt, bandit=True))

    def capped(statement: Guarantee) -> Guarantee:
        if statement.regret is None or statement.violation is None:
            return statement
        noise = sqrt(rounds) / 2 if statement.kind == EXPECTED_INSIDE and not statement.every_round else 0.0
        fixed = MEAN in statement.assumptions or CONSTANT in statement.assumptions or statement.every_round
        violation = statement.violation
        if fixed:  # with corruption only the observed constraints are bounded so
            violation = tuple(min(v, b + noise) for v, b in zip(violation, debt.tolist(), strict=True))
        source, assumptions = f"{statement.source}, governed (G7)", (*statement.assumptions, *world)
        return statement._replace(source=source, assumptions=assumptions, safe=safe, violation=violation)

    return tuple(map(capped, statements))


def _surely(action: float, slack: float) -> str:
    return f"action {action:g} exceeds the floor of every constraint by at least {slack:g} in every round"


def safe_rounds(violation: float, open_most: int, debt: float, floor: float, slack: float) -> float:
    """Return the most safe rounds that one constraint needs (G2).

    Parameters
    ----------
    violation
        A bound on the debt of the inner learner's rounds that holds at every time.
    open_most
        A bound on the number of these rounds that are open at once.
    debt, floor
        The bound on the debt, and the floor.
    slack
        The reduction of the debt by a safe round.
    """
    behind = max(violation + open_most - debt + floor, 0.0)
    if behind == 0:
        return 0.0
    return 1 + behind / slack if slack > 0 else float("inf")


def mean_excess(slack: float, stretches: int, constraints: int, epsilon: float) -> float:
    """Return a bound on the excess of a debt over its bound if the safe play is safe in the mean (G3).

    It holds at all times at once with probability 1 - epsilon.

    `slack` is that of the safe play in the mean, `stretches` the number of stretches of safe play so far.
    """
    if stretches == 0:
        return 0.0
    return log(constraints * stretches * (stretches + 1) / epsilon) / (8 * slack)


def optimism(count: Vector | Matrix, actions: int, constraints: int, epsilon: float) -> Matrix:
    """Return sqrt(L/(2 N)) with L = ln(4 K m N (N + 1)/epsilon), the confidence radius of the learned form; inf at N = 0."""
    n = np.maximum(np.atleast_2d(count), 1.0)
    width: Matrix = np.sqrt(np.log(4 * actions * constraints * n * (n + 1) / epsilon) / (2 * n))
    return np.where(np.atleast_2d(count) > 0, width, np.inf)


def learned_excess(actions: int, constraints: int, rounds: int, open_most: int, epsilon: float) -> tuple[float, float]:
    """Return a and b such that with probability 1 - epsilon a debt exceeds its bound by at most a + b/rho (G5).

    rho is the slack of the best mixture of the actions, which the rule does not know.

    `open_most` is the most decisions that are open at once.
    """
    bands = log(4 * actions * constraints * rounds * (rounds + 1) / epsilon)
    windows = log(2 * constraints * rounds * rounds * (rounds + 1) / epsilon)
    return actions * (1 + open_most), 4 * bands * actions + windows


def weighted_level(debt: Vector, floor: Vector) -> float:
    """Return the norm of the debts at which safe play begins, so that no debt exceeds its bound (G4)."""
    return float(debt.min()) - sqrt(float(floor @ floor))


def weighted_least(slack: float, floor: Vector) -> float:
    """Return the smallest possible bound on the norm of the debts if only a mixture is safe (G4)."""
    return floor.size / (2 * slack) + sqrt(float(floor @ floor))
