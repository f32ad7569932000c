"""The bounds of the learners that project; docs/theory_projected.md has the statements and their proofs.

K actions, T rounds, m constraints with floors c0. On an event of probability 1 - epsilon every mean of t rounds is within
noise/sqrt(t) + C/t of the truth, C being the corruption; if constraints are the same in every round, noise is 0 and the
bounds hold on every path.
"""

from math import ceil, exp, inf, log, log1p, sqrt
from typing import NamedTuple

from lewa.theory.assumptions import CONSTANT, EXPECTED_INSIDE, FEASIBLE, MEAN, OBLIVIOUS, PATHWISE, PROBABLE, UNSEEN
from lewa.theory.guarantees import TINY, AnyLearner, Bound, Guarantee, Statements, conclude, none, steady
from lewa.theory.paper import check_slater, exceeded, hp_radius
from lewa.theory.setting import Setting
from lewa.types import Vector

NO_MEAN = "arbitrary constraints have no fixed mean that their running mean could approach"
REST = "up to the residuals of the projections, which a run adds up and adds to the bounds"
REST_UNKNOWN = "up to the residuals of the projections, which are unknown for a learner that restarts"
FREE = "every floor is 0"
UNSAFE = "it needs a safe action: set safe=I to its index and margin=D to the amount by which it exceeds every floor"


class Event(NamedTuple):
    """A bound on the error of all means, and its probability; or why the radius gives none."""

    noise: float  # the bound on the error, times sqrt(t)
    kind: str = PATHWISE  # how it holds
    epsilon: float | None = None  # the probability with which it may fail
    lacks: str = ""  # the condition that does not hold


class Estimate(NamedTuple):
    """The estimated means after exploration."""

    explored: int  # the number of rounds of exploration
    off: float  # the bound on their error
    bonus: float  # the amount by which they are relaxed
    radius: float  # the amount by which they may be relaxed


def _event(radius: float, means: float, needs: str, setting: Setting) -> Event:
    """Bound so many means at once, at the smallest epsilon that the radius covers, or the one that is asked for."""
    if setting.constraints == "constant":
        return Event(0.0)
    least = 2 * means * exp(-2 * radius * radius)
    epsilon = max(least, TINY) if setting.epsilon is None else setting.epsilon
    if epsilon >= 1 or least > epsilon * (1 + 1e-9):
        return Event(0.0, lacks=f"needs {needs}, got {radius=:.6g} and epsilon={epsilon:.4g}")
    return Event(min(sqrt(log(2 * means / epsilon) / 2), radius), PROBABLE, epsilon)


# OP-EWA ----------------------------------------------------------------------------------------------------------------


def op_ewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by (ln K + share T)/eta + eta T/8 if the learner is optimistic; otherwise only if there is slack.

    The bound on violation needs no slack. The bonus covers a corruption of G; the constraints are corrupted by C, and
    [C - G]+ remains uncovered.
    """
    floor, eta, radius, kappa, share = learner.floor, learner.eta, learner.radius, learner.kappa, learner.share
    source, K, T, m = "OP-EWA", actions, rounds, floor.size
    plain = (log(K) + share * T) / eta + eta * T / 8  # against plays in every set that is projected onto
    if not floor.any():
        return (conclude(Bound(plain, 0.0, 0.0), T, floor, PATHWISE, source, (FREE,)),)
    if setting.constraints == "arbitrary":
        return (none(source, NO_MEAN),)
    check_slater(floor, setting)
    event = _event(radius, K * m * T, "radius >= sqrt(ln(2*K*m*T/epsilon)/2)", setting)
    if event.lacks:
        return (none(source, event.lacks),)
    G, C, S, noise = learner.corruption, setting.corruption or 0.0, setting.slater, event.noise
    bonus, bare, spoilt = kappa * radius, max(C - G, 0.0), (G + C) * (1 + log(T))
    short = max(noise - bonus, 0.0)  # a play that meets the floors may miss the lines by short/sqrt(t) + bare/t
    world = (FEASIBLE, steady(setting), *several(floor))
    if short <= 1e-12 * radius and bare == 0:
        V = tuple(c0 * (1 + share * T) + 2 * (bonus + noise) * sqrt(T) + spoilt for c0 in floor.tolist())
        return (throughout(conclude(Bound(plain, V, V), T, floor, event.kind, source, world, event.epsilon)),)
    trivial = f"regret: only the trivial bound, as kappa*radius={bonus:.4g} is below {noise:.4g}"
    if S is None and bare == 0:
        V = tuple(c0 * (1 + share * T) + 2 * (radius + noise) * sqrt(T) + spoilt for c0 in floor.tolist())
        statement = conclude(Bound(inf, V, V), T, floor, event.kind, source, (*world, trivial), event.epsilon)
        return (throughout(statement),)
    if S is None or (bare > 0 and share == 0):
        needs = f"under corruption it needs a share and slater, or a bonus that covers it: corruption >= {C:g}"
        return (none(source, f"{needs}; got {share=:g}, slater={S}, corruption={G:g}"),)
    regret = inf
    if share > 0:
        trivial = ""
        behind = log(K * (1 + share) / share)
        for part in (n / 20 for n in range(1, 20)):  # from round n on plays miss the lines by at most part S
            n = _first(short, bare, part * S)
            if n <= T:
                missed = 2 * short * (sqrt(T) - sqrt(n - 1)) + bare * (1 / n + log(T / n))
                worth = (1 + eta / 8 + share / eta) * missed / ((1 - part) * S)
                regret = min(regret, n - 1 + (behind / (1 - part) + share * T) / eta + eta * T / 8 + worth)
    n = min(_first(short, bare, S), T + 1)  # from then on the lines of kappa are met by some play; before, those of 1
    early, late = 2 * (radius + noise) * sqrt(n - 1), 2 * max(bonus + noise, 0.0) * (sqrt(T) - sqrt(n - 1))
    V = tuple(c0 * (1 + share * T + bare / S) + early + late + spoilt for c0 in floor.tolist())
    world = (exceeded(setting), steady(setting), *several(floor), *((trivial,) if trivial else ()))
    return (throughout(conclude(Bound(regret, V, V), T, floor, event.kind, f"{source}, slack", world, event.epsilon)),)


def several(floor: Vector) -> tuple[str, ...]:
    """Return the assumption about projections onto several constraints."""
    return (REST,) if floor.size > 1 else ()


def throughout(statement: Guarantee) -> Guarantee:
    """Mark a guarantee whose event is the same for all t <= T, so that the bounds of all these t hold at once."""
    return statement._replace(throughout=True) if statement.kind == PROBABLE else statement


def _first(root: float, whole: float, least: float) -> int:
    """Return the first t with root/sqrt(t) + whole/t <= least."""
    x = (root + sqrt(root * root + 4 * whole * least)) / (2 * least)
    return max(1, ceil(x * x * (1 - 1e-12)))


# Bandit OP-EWA ---------------------------------------------------------------------------------------------------------


def bandit_op_ewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by (ln K + ln(4K/epsilon))/eta + eta K T + ln(4/epsilon), violation by the radii of the actions drawn."""
    floor, eta, level, kappa, G = learner.floor, learner.eta, learner.level, learner.kappa, learner.corruption
    source, K, T, C = "Bandit OP-EWA", actions, rounds, setting.corruption or 0.0
    if setting.constraints == "constant" and kappa >= 0 and G == C == 0:
        return _known_when_seen(K, T, floor, eta, level, kappa, setting)
    if kappa < 1:
        lost = "the set may exclude plays that meet the floors, and excluded actions are not observed again"
        needs = "kappa = 1" if setting.constraints != "constant" or G or C else "kappa >= 0"
        return (none(source, f"the theorem is about {needs}; below it {lost}, got {kappa=:g}"),)
    if G < C:
        return (none(source, f"needs corruption >= {C:g}, or the bonus does not cover the corruption; got {G:g}"),)
    epsilon, lacks = covered(8 * K * floor.size * T, level, setting)
    if lacks:
        return (none(source, lacks),)
    V = drawn_radii(K, T, level, epsilon) + (K * G + C) * (1 + log(T))  # one action a round: the actions share C
    bound = Bound(ix_regret(K, T, eta, epsilon), V, V)
    world = (FEASIBLE, steady(setting), UNSEEN, *several(floor))
    return (conclude(bound, T, floor, PROBABLE, source, world, epsilon),)


def _known_when_seen(
    actions: int, rounds: int, floor: Vector, eta: float, level: float, kappa: float, setting: Setting
) -> Statements:
    """Where constraints stay, one look is enough: violation is that of the actions not drawn yet, and of the bonus."""
    source, K, T = "Bandit OP-EWA, constant", actions, rounds
    world = (FEASIBLE, CONSTANT, UNSEEN, *several(floor))
    bonus = kappa * sqrt(2 * level * K * T)
    regret, V = log(K) / eta + eta * K * T, K + bonus
    if setting.adversary == "oblivious":
        expected = conclude(Bound(regret, V, V), T, floor, EXPECTED_INSIDE, source, (*world, OBLIVIOUS))
    else:  # the comparator is chosen after the game
        expected = conclude(Bound(regret + log(K) / eta, V, V), T, floor, EXPECTED_INSIDE, source, world)
    epsilon = setting.epsilon or max(8 * K * floor.size * T * exp(-level), TINY)
    if epsilon >= 1:
        return (expected,)
    luck = log(4 / epsilon)
    V = K + sqrt(2 * K * luck) + luck + bonus + kappa * sqrt(T / 2 * luck)
    bound = Bound(ix_regret(K, T, eta, epsilon), V, V)
    probable = conclude(bound, T, floor, PROBABLE, f"{source}, high probability", world, epsilon)
    return (expected, probable) if setting.epsilon is None else (probable, expected)


def covered(means: float, level: float, setting: Setting) -> tuple[float, str]:
    """Return the given epsilon, or the smallest that the level of bandit radii covers, and the missing condition."""
    if setting.constraints == "arbitrary":
        return 1.0, NO_MEAN
    least = means * exp(-level)
    epsilon = max(least, TINY) if setting.epsilon is None else setting.epsilon
    if epsilon < 1 and least <= epsilon * (1 + 1e-9):
        return epsilon, ""
    return epsilon, f"needs level >= ln(8*K*m*T/epsilon), got {level=:.6g} and epsilon={epsilon:.4g}"


def ix_regret(actions: int, rounds: int, eta: float, epsilon: float) -> float:
    """Bound the regret of implicit exploration, projected or not, with two of the four parts of epsilon."""
    K = actions
    return (log(K) + log(4 * K / epsilon)) / eta + eta * K * rounds + log(4 / epsilon)


def drawn_radii(actions: int, rounds: int, level: float, epsilon: float) -> float:
    """Bound sum_t p_t.min(1, 2 sqrt(L/(2 N_t))) with the other two parts of epsilon: radii drawn, and their deviation."""
    K, T = actions, rounds
    return K + 2 * sqrt(2 * level * K * T) + sqrt(T / 2 * log(4 / epsilon))


# Explore, then project -------------------------------------------------------------------------------------------------


def explore_radius(actions: int, constraints: int, epsilon: float) -> float:
    """Return sqrt(ln(2 K m/epsilon)/2); the means of the explored rounds are used once."""
    return hp_radius(actions, 1, constraints, epsilon)


def explore_then_project(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound n rounds of exploration by 1 each, then EWA on a fixed set, whose shortfall per round is at most two radii."""
    floor, eta, explore, radius, optimism = learner.floor, learner.eta, learner.explore, learner.radius, learner.optimism
    source, K, T, m = "Explore-then-project", actions, rounds, floor.size
    if setting.constraints == "arbitrary":
        return (none(source, NO_MEAN),)
    check_slater(floor, setting)
    event = _event(radius, K * m, "radius >= sqrt(ln(2*K*m/epsilon)/2)", setting)
    if event.lacks:
        return (none(source, event.lacks),)
    n = int(min(explore, T))
    alpha, off = radius / sqrt(explore), event.noise / sqrt(explore) + (setting.corruption or 0.0) / explore
    regret, estimate = n * (1 - 1 / K) + log(K) / eta + eta * T / 8, Estimate(n, off, optimism * alpha, alpha)
    return _one_set(source, regret, T, estimate, floor, setting, event, (steady(setting),))


def bandit_explore_then_project(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return these bounds with implicit exploration afterwards; exploration draws each action about n/K times."""
    floor, eta, explore, level, optimism = learner.floor, learner.eta, learner.explore, learner.level, learner.optimism
    source, K, T = "Bandit explore-then-project", actions, rounds
    check_slater(floor, setting)
    epsilon, lacks = covered(8 * K * floor.size * T, level, setting)
    if lacks:
        return (none(source, lacks),)
    n, each = int(min(explore, T)), explore / K
    least = each - sqrt(2 * each * log(4 * K / epsilon))
    if least < 1:
        few = "explore/K >= 1 + sqrt(2*explore/K*ln(4*K/epsilon))"
        return (
            none(source, f"needs more rounds of exploration, {few}, got explore/K={each:.4g} and epsilon={epsilon:.4g}"),
        )
    alpha = sqrt(level / (2 * least))
    regret, event = n + ix_regret(K, T - n, eta, epsilon), Event(0.0, PROBABLE, epsilon)
    estimate = Estimate(n, alpha, optimism * alpha, alpha)
    return _one_set(source, regret, T, estimate, floor, setting, event, (MEAN, UNSEEN))


def _one_set(
    source: str,
    regret: float,
    rounds: int,
    estimate: Estimate,
    floor: Vector,
    setting: Setting,
    event: Event,
    world: tuple[str, ...],
) -> Statements:
    """Regret against the plays of one set, moved to those that meet the floors: they miss its lines by `short` at most."""
    explored, off, bonus, radius = estimate
    left, short, S = rounds - explored, off - bonus, setting.slater
    if short <= 1e-12 * radius:
        world = (FEASIBLE, *world)
    elif S is not None and short <= S:
        regret, world = regret + rounds * short / S, (exceeded(setting), *world)
    elif off <= radius * (1 + 1e-12):  # the set may be empty: then the optimistic one is taken
        regret, bonus = inf, radius
        world = (FEASIBLE, *world, "regret: only the trivial bound, as the set may exclude plays that meet the floors")
    else:
        return (none(source, f"under corruption it needs slater >= {short:.4g}, got slater={S}"),)
    V = tuple(c0 * explored + left * min(c0, bonus + off) for c0 in floor.tolist())
    world = (*world, *several(floor))
    return (conclude(Bound(regret, V, V), rounds, floor, event.kind, source, world, event.epsilon),)


# Safe mixing -----------------------------------------------------------------------------------------------------------


def safe_mixing(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by ln K/eta + eta T/8 + the cost of the safe action while means are uncertain; no round violates."""
    floor, eta, radius, safe, margin = learner.floor, learner.eta, learner.radius, learner.safe, learner.margin
    source, K, T, m = "Safe mixing", actions, rounds, floor.size
    if not 0 <= safe < K:
        return (none(source, UNSAFE),)
    if setting.corruption:
        return (none(source, f"corrupted estimates can pass the guard, got corruption={setting.corruption:g}"),)
    if setting.constraints == "arbitrary":
        return (none(source, NO_MEAN),)
    event = _event(radius, K * m * T, "radius >= sqrt(ln(2*K*m*T/epsilon)/2)", setting)
    if event.lacks:
        return (none(source, event.lacks),)
    z = margin * sqrt(T) / (2 * radius)
    mixing = T if z < 1e-4 else 2 * T * (z - log1p(z)) / (z * z)  # at least sum 2 radius/(margin sqrt(t) + 2 radius)
    bound = Bound(log(K) / eta + eta * T / 8 + 1 + mixing, 0.0, 0.0)
    world = (steady(setting), safe_action(safe, margin), *several(floor))
    statement = throughout(conclude(bound, T, floor, event.kind, source, world, event.epsilon))
    return (statement._replace(safe=(safe, margin), safe_in_mean=True),)


def bandit_safe_mixing(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret for bandits by that of bandit OP-EWA plus its bound on violation/margin."""
    floor, eta, level, safe, margin = learner.floor, learner.eta, learner.level, learner.safe, learner.margin
    source, K, T = "Bandit safe mixing", actions, rounds
    if not 0 <= safe < K:
        return (none(source, UNSAFE),)
    epsilon, lacks = covered(8 * K * floor.size * T, level, setting)
    if lacks:
        return (none(source, lacks),)
    mixing = drawn_radii(K, T, level, epsilon) / margin if margin > 0 else inf
    bound = Bound(ix_regret(K, T, eta, epsilon) + mixing, 0.0, 0.0)
    world = (MEAN, UNSEEN, safe_action(safe, margin), *several(floor))
    statement = conclude(bound, T, floor, PROBABLE, source, world, epsilon)
    return (statement._replace(safe=(safe, margin), safe_in_mean=True),)


def safe_action(safe: float, margin: float) -> str:
    """Return the assumption about the safe action."""
    return f"action {safe:g} exceeds every floor by {margin:g}"
