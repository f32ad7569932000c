"""The bounds of the rivals, learners that others have published; docs/theory_rivals.md has the statements and their proofs.

K actions, T rounds. Most rivals ignore constraints: for their violation there is only the trivial bound.
"""

from math import e, exp, inf, log, pi, sqrt

from lewa.theory import adversarial, projected
from lewa.theory.assumptions import EXPECTED, FEASIBLE, MEAN, OBLIVIOUS, PATHWISE, PROBABLE, STILL, UNSEEN
from lewa.theory.guarantees import AnyLearner, Bound, Statements, conclude, none
from lewa.theory.setting import Setting
from lewa.types import Vector

BLIND = "violation: only the trivial bound"
BUDGETED = (
    "its theorem bounds the reward earned until a budget is spent, relative to the best that the budget buys; nothing "
    "is proved about regret and violation over T rounds"
)
CUT_OFF = "regret: only the trivial bound, as the set may exclude plays that meet the floors"
PACED_PROGRAM = "no bound is proved for it with limits that pay debt back; docs/data.md and docs/shocks.md measure it"
PACED_LINEAR = "no bound is proved for it with a price that follows the spending; docs/contexts.md measures it"

# Full information ------------------------------------------------------------------------------------------------------


def blind(regret: float, rounds: int, floor: Vector, source: str) -> Statements:
    """Return a bound on regret that holds on every path, and none on violation."""
    return (conclude(Bound(regret, inf), rounds, floor, PATHWISE, source, (BLIND,)),)


def adahedge(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by 1 + sqrt(1 + T ln K), at every T."""
    return blind(adversarial.adahedge(actions, rounds), rounds, learner.floor, "AdaHedge")


def normalhedge(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by sqrt(2 (1 + ln K) (rate (T - 1) + start)) at every T, minimised over the steepness."""
    L, least = 1 + log(actions), inf
    for steep in (n / 100 for n in range(1, 16)):
        least = min(least, normal_rate(steep) * (rounds - 1) + 2.5 * (sqrt(2 * L) / steep + 1) ** 2)
    return blind(sqrt(2 * L * least), rounds, learner.floor, "NormalHedge")


def normal_rate(steep: float) -> float:
    """Bound the rise of NormalHedge's c per round if x/c <= steep <= 0.15; the bound tends to 3/2 as steep falls to 0."""
    two = 1 + log(2)
    h, far = steep + steep**2 / (4 * two), steep + steep**2 / (2 * two)
    square, line, constant = exp(h) * far**2 * (3 + h) / 4, 1 - exp(h) * far * (2 + h), exp(h) * (3 + 2 * h) / 2
    return (line - sqrt(line * line - 4 * square * constant)) / (
        2 * square
    )  # the least x = constant + (1 - line) x + square x^2


# Bandits ---------------------------------------------------------------------------------------------------------------


def exp3(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound E Regret by (e - 1) gamma T + K ln K/gamma; as tuned, by 2.63 sqrt(K T ln K)."""
    floor, gamma = learner.floor, learner.gamma
    source, K, T = "Exp3", actions, rounds
    if setting.adversary != "oblivious":
        return (none(source, "the theorem assumes a comparator that is fixed in advance; see exp3-p"),)
    regret = (e - 1) * gamma * T + K * log(K) / gamma
    statement = conclude(Bound(regret, inf), T, floor, EXPECTED, source, (UNSEEN, OBLIVIOUS, BLIND))
    if setting.epsilon is None:
        return (statement,)
    return none(source, "the theorem bounds expectations, and nothing is proved about single runs; see exp3-p"), statement


def exp3_p(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by gamma T + (e - 2)(1 + b) eta K T + b K T + (1 - gamma) ln K/eta + ln(K/epsilon)/b.

    The bound on the expectation has 1 in the place of ln(1/epsilon).
    """
    floor, eta, gamma, bonus = learner.floor, learner.eta, learner.gamma, learner.bonus
    source, K, T, b = "Exp3.P", actions, rounds, bonus
    if b > 1 or eta * (1 + b) * K > gamma * (1 + 1e-12):
        got = f"{eta=:.6g}, {gamma=:.6g}, {bonus=:.6g}"
        return (none(source, f"needs bonus <= 1 and eta*(1 + bonus)*K <= gamma, got {got}"),)
    less = gamma + (e - 2) * (1 + b) * eta * K
    regret = inf if less > 1 else less * T + b * K * T + (1 - gamma) * log(K) / eta + log(K) / b
    statement = (conclude(Bound(regret + 1 / b, inf), T, floor, EXPECTED, source, (UNSEEN, BLIND)),)
    if setting.epsilon is None:
        return statement
    sure = Bound(regret + log(1 / setting.epsilon) / b, inf)
    return conclude(sure, T, floor, PROBABLE, source, (UNSEEN, BLIND), setting.epsilon), *statement


def ucb1(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound expected regret by 2 sqrt(8 (K - 1) T ln T) + (1 + pi^2/3)(K - 1) + sqrt(T ln K/2), if means are fixed.

    The bound does not depend on the gaps between the actions.
    """
    source, others, T = "UCB1", actions - 1, rounds
    regret = 2 * sqrt(8 * others * T * log(T)) + (1 + pi**2 / 3) * others + sqrt(T * log(actions) / 2)
    statement = conclude(Bound(regret, inf), T, learner.floor, EXPECTED, source, (STILL, UNSEEN, BLIND))
    reason = (
        "adversarial rewards can mislead it; proved only for rewards with a fixed mean: expected regret <= "
        f"{min(regret, float(T)):.6g}; relative to the best mean, not the best play in hindsight, sum_i (8 ln T/D_i + "
        "4.29 D_i), where action i is worse by D_i"
    )
    return none(source, reason), statement


# Explore, and project -------------------------------------------------------------------------------------------------


def epochs(rounds: int) -> float:
    """Return the largest number of epochs that begin in these rounds; epoch l has 1 + ceil(sqrt(l)) rounds."""
    return min(float(rounds), 1 + float((1.5 * (rounds - 1)) ** (2 / 3)))


def bandit_epoch_project(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret and violation by those of bandit OP-EWA plus 1 per round of exploration.

    Without optimism only the violation is bounded.
    """
    floor, eta, level, optimism = learner.floor, learner.eta, learner.level, learner.optimism
    source, K, T = "Bandit epoch-project", actions, rounds
    epsilon, lacks = projected.covered(8 * K * floor.size * T, level, setting)
    if lacks:
        return (none(source, lacks),)
    n, world = epochs(T), (FEASIBLE, MEAN, UNSEEN, *projected.several(floor), *(() if optimism == 1 else (CUT_OFF,)))
    regret = n + projected.ix_regret(K, T, eta, epsilon) if optimism == 1 else inf
    V = tuple(n * c0 + projected.drawn_radii(K, T, level, epsilon) for c0 in floor.tolist())
    return (conclude(Bound(regret, V, V), T, floor, PROBABLE, source, world, epsilon),)
