"""The claims of the paper, our claims about it, and claims about further learners. Each has a study that measures it, and
the rule by which its runs decide (rules.py).
"""

from dataclasses import replace
from functools import partial
from math import exp, log, sqrt
from typing import Any

from lewa.games import SlowBurn
from lewa.lab.study import Run
from lewa.learners import FixedPenalty, GatedPenalty, Lewa
from lewa.paper.rules import AtLeast, AtMost, Attains, Claim, Grows, Rule, RunBound, Same, proved_bound

# Bounds ------------------------------------------------------------------------------------------------------------------

probable = partial(proved_bound, epsilon=0.05)
varying = partial(proved_bound, assuming=True)
noisy = partial(proved_bound, noisy=True)


def three_roots(run: Run, quantity: str) -> RunBound:
    """Return the paper's bound 3 sqrt(T ln K), in the sense in which 2 sqrt(T ln K) is proved."""
    return proved_bound(run, quantity)._replace(value=3 * sqrt(run.rounds * log(run.build()[1].actions)), trivial=False)


def largest_multiplier(run: Run, quantity: str) -> RunBound:
    """Return c0/delta, for the delta by which the multiplier shrinks."""
    learner: Any = run.build()[0]
    return RunBound(max(run.floor) / learner.dual[0])


def nothing(run: Run, quantity: str) -> RunBound:
    """Return 0."""
    return RunBound(0.0)


def linear(share: float, run: Run, quantity: str) -> RunBound:
    """Return a share of the rounds."""
    return RunBound(share * run.rounds)


def above(reached: float, run: Run, quantity: str) -> RunBound:
    """Return (c0 - reached) T."""
    return RunBound((max(run.floor) - reached) * run.rounds)


def cut_off(run: Run, quantity: str) -> RunBound:
    """Return T/16, for plain explore-then-project, two actions with the mean c0 = 1/2, and the rewards 1 and 0.

    Expected regret is at least T/8; the claim is half of it, because there are few runs. Let the estimates be c0 - a and
    c0 + b, with a, b > 0: after n rounds the play has p_1 <= b/(a + b), so each round costs at least a/(a + b), which is 1/2
    on average because a and b have the same law. With q the probability that n fair coins show n/2 heads, this case has
    probability (1 - q)^2/4. With probability q (1 - q)/2, a > 0 = b, and a round costs 1. The sum is (1 - q) (1 + 3q)/8 >=
    1/8, because q <= 1/2; each of the first n rounds costs 1/2.
    """
    return RunBound(run.rounds / 16)


def slow_burn(run: Run, quantity: str) -> RunBound:
    """Return nu (T - 1/2 - ln 2/(eta theta)) if theta > 0, else 0; docs/theory.md, 1.8."""
    learner, game = run.build()
    assert isinstance(learner, Lewa)
    assert isinstance(game, SlowBurn)
    shrunk = learner.delta * learner.mu * run.rounds
    theta = 1 - game.nu**2 / learner.delta * (1 - (1 - exp(-shrunk)) / shrunk)
    return RunBound(game.nu * (run.rounds - 0.5 - log(2) / (learner.eta * theta)) if theta > 0 else 0.0)


def fixed_penalty(run: Run, quantity: str) -> RunBound:
    """Return the bound of docs/theory.md, 6.2."""
    learner, _ = run.build()
    assert isinstance(learner, FixedPenalty)
    return RunBound(run.rounds / 4 - 1 / (1 - exp(-learner.eta / 4)))


def gated_penalty(run: Run, quantity: str) -> RunBound | None:
    """Return nu (T - 1/(1 - exp(-eta/2))) if nu penalty <= 1/2; there is no claim otherwise."""
    learner, game = run.build()
    assert isinstance(learner, GatedPenalty)
    assert isinstance(game, SlowBurn)
    if game.nu * learner.penalty.max() > 0.5:
        return None
    return RunBound(game.nu * (run.rounds - 1 / (1 - exp(-learner.eta / 2))))


# The claims --------------------------------------------------------------------------------------------------------------


def both(title: str, study: str, regret: Rule, violation: Rule, learner: str = "", quantity: str = "violation") -> Claim:
    """Return a claim about regret and violation, of a learner or of all of the study."""
    regret, violation = replace(regret, learner=learner), replace(violation, learner=learner)
    return Claim(title, study, {"regret": regret, quantity: violation})


every_round = partial(both, quantity="positive violation")  # about the sum of all shortfalls
BALANCED = AtMost("sqrt(T ln K) + sqrt(T)/2", 1 / 2)
ROOT = AtMost("sqrt(A (T + B))", 3 / 4)
EXPLORING = AtMost("(1 - gamma) B + gamma T (1 - 1/K)", 3 / 4)
EXPLORING_SHORT = AtMost("(1 - gamma) sqrt(A (T + B)) + gamma c0 T", 3 / 4)
PAPER = (
    both("Theorem 1: claimed", "theorem-1", AtMost("3 sqrt(T ln K)", 1 / 2, three_roots), Grows(3 / 4)),
    both("Theorem 1: proved", "theorem-1", AtMost("2 sqrt(T ln K)", 1 / 2), ROOT),
    both("LEWA, recommended tuning: proved", "recommended", BALANCED, ROOT),
    both("LEWA, b = 2/3: proved", "trade-off", AtMost("B", 2 / 3), AtMost("sqrt(A (T + B))", 2 / 3)),
    both(
        "LEWA, no Slater gap: T^3/4 is tight",
        "tight",
        BALANCED,
        AtLeast("1.35 T^3/4 - 1.92 T^1/4 - 0.7 T^-1/4", 3 / 4, slow_burn),
    ),
    both(
        "Variation bound, few changes: proved",
        "variation",
        AtMost("sqrt(T ln K) + sqrt(T)/2", 1 / 2, game="low-variation"),
        AtMost("A C + sqrt(A (B + Var))", 1 / 2, varying, game="low-variation"),
    ),
    both(
        "Variation bound, Slater game: proved",
        "variation",
        AtMost("sqrt(T ln K) + sqrt(T)/2", 1 / 2, game="slater"),
        AtMost("A C + sqrt(A (B + Var))", 2 / 3, varying, game="slater"),
    ),
    Claim("The multiplier is at most c0/delta", "multiplier", {"multiplier": AtMost("c0/delta", None, largest_multiplier)}),
    both("LEWA is EWA if no constraint binds", "ewa", Same("ewa"), Same("ewa")),
    both("LEWA, rewards that react: proved", "reacting", AtMost("B + ln K/theta", 1 / 2), ROOT),
    both("Theorem 2: claimed", "theorem-2", Grows(1 / 2), Grows(3 / 4), "hp-lewa@printed"),
    both(
        "Theorem 2, wider radius: proved",
        "theorem-2",
        AtMost("B, w.p. 0.95", 1 / 2),
        AtMost("sqrt(A (T + B)) + 4 alpha_1 sqrt(T)", 3 / 4),
        "hp-lewa",
    ),
    both(
        "Theorem 2, no radius (LEWA): proved",
        "theorem-2",
        AtMost("B, w.p. 0.95", 1 / 2, probable),
        AtMost("sqrt(A (T + B)) + sqrt(T ln(2/eps)/2)", 3 / 4, probable),
        "lewa epsilon=0.05",
    ),
    both("Theorem 3, proof's tuning: claimed", "theorem-3", Grows(3 / 4), Grows(3 / 4)),
    both(
        "Theorem 3, proof's tuning: true",
        "theorem-3",
        AtLeast("0.377 T", 1, partial(linear, 0.377), game="counterexample"),
        AtLeast("(c0 - 0.532) T", 1, partial(above, 0.532), game="bernoulli"),
    ),
    both("Theorem 3, delta = 1/8: claimed", "constant-delta", Grows(3 / 4), Grows(3 / 4)),
    both("Theorem 3, proof's gamma: claimed", "one-step", Grows(3 / 4), Grows(3 / 4)),
    both(
        "Theorem 3, proof's gamma: true",
        "one-step",
        Attains(3 / 4, game="counterexample"),
        Attains(7 / 8, game="slow-burn"),
    ),
    both(
        "Theorem 3, gamma=delta=T^-1/3: true",
        "cube-root",
        Attains(2 / 3, game="counterexample"),
        Attains(5 / 6, game="slow-burn"),
    ),
    both("Theorem 3, repaired: proved", "two-steps", EXPLORING, EXPLORING_SHORT),
    both(
        "Theorem 3, repaired: rates attained",
        "two-steps",
        Attains(3 / 4, game="counterexample"),
        Attains(3 / 4, game="slow-burn"),
    ),
    both("Theorem 4: claimed", "theorem-4", Grows(7 / 8), Grows(7 / 8)),
    both(
        "Theorem 4: true",
        "theorem-4",
        AtLeast("0.339 T", 1, partial(linear, 0.339), game="counterexample"),
        AtLeast("(c0 - 0.661) T", 1, partial(above, 0.661), game="bernoulli"),
    ),
    both(
        "Theorem 4, repaired: proved",
        "theorem-4-repaired",
        AtMost("B, w.p. 0.95", 1 / 2),
        AtMost("(1 - gamma) (sqrt(A (T + B)) + 2 sum kappa_t) + gamma c0 T", 3 / 4),
    ),
    Claim(
        "Every fixed penalty fails",
        "fixed-penalty",
        {"regret or violation": AtLeast("T/4 - 1/(1 - exp(-eta/4))", 1, fixed_penalty, learner="fixed-penalty")},
    ),
    both("LEWA where fixed penalties fail", "fixed-penalty", BALANCED, ROOT, "lewa"),
    Claim(
        "One adversary breaks every penalty",
        "penalty-breaker",
        {"regret or violation": AtLeast("T/4", 1, partial(linear, 0.25), learner="fixed-penalty")},
    ),
    both("LEWA against that adversary", "penalty-breaker", AtMost("B + ln K/theta", 1 / 2), ROOT, "lewa"),
    both(
        "Every gated penalty fails",
        "gated-penalty",
        AtMost("0", None, nothing),
        AtLeast("nu (T - 1/(1 - exp(-eta/2)))", 1, gated_penalty),
        "gated-penalty",
    ),
    both("LEWA where gated penalties fail", "gated-penalty", BALANCED, ROOT, "lewa"),
)
EXPLORED = AtMost("n (1 - 1/K) + sqrt(T ln K/2)", 2 / 3)
EXPLORED_SHORT = AtMost("n c0 + (T - n) (radius + noise)/sqrt(n)", 2 / 3)
OPTIMISTIC = AtMost("c0 + 2 (radius + noise) sqrt(T)", 1 / 2)
RADII = AtMost("K + 2 sqrt(2 L K T) + sqrt(T ln(4/eps)/2)", 1 / 2, noisy)
PROBABLY = AtMost("B, w.p. 0.95", 1 / 2)
SHARED = AtMost("sqrt(T (ln K + 1)) + sqrt(T)/2", 1 / 2)
RATES = (Attains(1 / 2, game="counterexample"), Attains(3 / 4, game="slow-burn"))
BEYOND = (
    every_round("Explore-then-project: proved", "projected", EXPLORED, EXPLORED_SHORT, "only explore-then-project"),
    every_round(
        "Explore-then-project: rates attained",
        "projected",
        Attains(2 / 3, game="counterexample"),
        Attains(2 / 3, game="slow-burn nu=0.5"),
        "only explore-then-project",
    ),
    every_round(
        "Explore-then-project, plain: proved",
        "projected",
        AtMost("n (1 - 1/K) + sqrt(T ln K/2) + T noise/(S sqrt(n))", 2 / 3, varying),
        AtMost("n c0 + (T - n) noise/sqrt(n)", 2 / 3, varying),
        "explore-then-project optimism=0",
    ),
    every_round("OP-EWA: proved", "projected", AtMost("sqrt(T ln K/2)", 1 / 2), OPTIMISTIC, "op-ewa"),
    every_round(
        "OP-EWA: rates attained",
        "projected",
        Attains(1 / 2, game="counterexample"),
        Attains(1 / 2, game="slow-burn nu=0.5"),
        "op-ewa",
    ),
    both("LEWA beside them: proved", "projected", BALANCED, ROOT, "lewa"),
    every_round(
        "Plain explore-then-project, no slack",
        "no-slack",
        AtLeast("T/16", 1, cut_off),
        AtMost("n c0 + (T - n) (radius + noise)/sqrt(n)", 2 / 3),
        "explore-then-project optimism=0",
    ),
    every_round("Optimistic, no slack: proved", "no-slack", EXPLORED, EXPLORED_SHORT, "only explore-then-project"),
    every_round(
        "Bandit explore-then-project: proved",
        "bandit-projected",
        AtMost("n + B, w.p. 0.95", 2 / 3),
        AtMost("n c0 + 2 (T - n) alpha", 2 / 3),
        "only bandit-explore-then-project",
    ),
    every_round(
        "Bandit explore-then-project: rates",
        "bandit-projected",
        Attains(2 / 3, game="counterexample"),
        Attains(2 / 3, game="slow-burn nu=0.5"),
        "only bandit-explore-then-project",
    ),
    every_round(
        "Bandit, plain, slack: proved",
        "bandit-projected",
        AtMost("n + B + T alpha/S, w.p. 0.95", 2 / 3, varying, game="switching"),
        AtMost("n c0 + (T - n) alpha", 2 / 3, varying, game="switching"),
        "bandit-explore-then-project optimism=0",
    ),
    every_round("Bandit OP-EWA: proved", "bandit-projected", AtMost("B, w.p. 0.95", 1 / 2, noisy), RADII, "bandit-op-ewa"),
    every_round(
        "Bandit OP-EWA: rates attained",
        "bandit-projected",
        Attains(1 / 2, game="counterexample"),
        Attains(1 / 2, game="slow-burn nu=0.5"),
        "bandit-op-ewa",
    ),
    both("BanditLEWA beside them: proved", "bandit-projected", EXPLORING, EXPLORING_SHORT, "bandit-lewa"),
    both(
        "LossLEWA: proved",
        "losses",
        AtMost("2 sqrt(K T ln K) + sqrt(T)/2", 1 / 2),
        ROOT,
        "loss-lewa",
    ),
    both("LossLEWA: rates attained", "losses", *RATES, "loss-lewa"),
    both(
        "LEWA-IX: proved",
        "losses",
        AtMost("B, w.p. 0.95", 1 / 2, probable),
        AtMost("sqrt(A (T + B)) + sqrt(T ln(4/eps)/2)", 3 / 4, probable),
        "lewa-ix",
    ),
    both("LEWA-IX: rates attained", "losses", *RATES, "lewa-ix"),
    both(
        "LEWA-UCB: proved",
        "losses",
        PROBABLY,
        AtMost("sqrt(A (T + B)) + K + 2 sqrt(2 L K T) + sqrt(T ln(4/eps)/2)", 3 / 4),
        "lewa-ucb",
    ),
    both("LEWA-UCB: rates attained", "losses", *RATES, "lewa-ucb"),
    both(
        "Fixed-share LEWA, Slater: proved",
        "fixed-share",
        SHARED,
        AtMost("Lambda/mu + delta sum lambda", 1 / 2, varying),
        "fixed-share-lewa",
    ),
    both("Fixed-share LEWA: rate attained", "fixed-share", SHARED, Attains(1 / 2), "fixed-share-lewa"),
    both("LEWA in that game: rate attained", "fixed-share", BALANCED, Attains(2 / 3), "lewa"),
    both("Anytime LEWA: proved", "anytime", AtMost("sqrt(2 (ln K + 1) T)", 1 / 2), ROOT),
    every_round(
        "Safe mixing: proved", "safe-mixing", AtMost("sqrt(T ln K/2) + 1 + 2T (z - ln(1 + z))/z^2", 1 / 2), AtMost("0")
    ),
)
CLAIMS = (*PAPER, *BEYOND)
STUDIES = tuple(dict.fromkeys(claim.study for claim in CLAIMS))  # in the order of the claims
