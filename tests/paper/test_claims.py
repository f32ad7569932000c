"""What is claimed: by the numbers that are proved, of studies and learners that are there."""

from math import log, sqrt
from typing import Any

import pytest

from lewa import learners
from lewa.games import Slater
from lewa.lab.study import Run
from lewa.paper.claims import BEYOND, CLAIMS, PAPER, STUDIES, gated_penalty, slow_burn, varying
from lewa.paper.rules import AtMost, Series, proved_bound
from lewa.theory.guarantees import EXPECTED, PATHWISE, PROBABLE


def run_of(learner: str, game: str, T: int, floor: float = 0.5, **settings: Any) -> Run:
    return Run("", game, {}, T, (floor,), learner, settings, 0, ())


def test_bounds_are_those_of_the_guarantees() -> None:
    paper = run_of("lewa", "switching", 10_000, 0.7, tuning="paper")
    assert proved_bound(paper, "regret").value == pytest.approx(2 * sqrt(10_000 * log(3)))
    assert proved_bound(paper, "regret").kind == EXPECTED
    assert proved_bound(run_of("lewa", "slow-burn", 10_000), "violation").kind == PATHWISE
    probable = proved_bound(run_of("hp-lewa", "bernoulli", 10_000, 0.7), "regret")
    assert probable.kind == PROBABLE
    assert probable.epsilon == pytest.approx(0.05)
    nothing = proved_bound(run_of("hp-bandit-lewa", "bernoulli", 100, 0.7), "violation")
    assert (nothing.trivial, nothing.value) == (True, 70)
    slater = run_of("lewa", "slater", 100_000)
    assert varying(slater, "violation").value < proved_bound(slater, "violation").value
    assert Slater.for_problem(0.5, 100_000).variation(100_000) > 0
    burn = slow_burn(run_of("lewa", "slow-burn", 10_000), "violation")
    assert 0.95 < burn.value / 1000 < 1


def test_a_gated_penalty_is_claimed_to_fail_only_where_nu_is_small() -> None:
    run = Run("", "slow-burn", {"nu": 0.1}, 10_000, (0.5,), "gated-penalty", {"penalty": 5}, 0, ())
    assert gated_penalty(run, "violation") is not None
    dear = Run("", "slow-burn", {"nu": 0.1}, 10_000, (0.5,), "gated-penalty", {"penalty": 6}, 0, ())
    assert gated_penalty(dear, "violation") is None
    with pytest.raises(ValueError, match="a bound in some games only"):
        AtMost("", None, gated_penalty).judge("regret", [Series("slow-burn", "x", [dear], [[{"regret": 1.0}]])])


def test_formulas_beyond_the_paper_are_the_bounds_that_are_proved_bound() -> None:
    T, K, c0, S, eps = 100_000, 3, 0.7, 0.2, 0.05

    def bounds(
        learner: str, bounding: Any = proved_bound, short: str = "positive violation", **settings: Any
    ) -> list[float]:
        run = run_of(learner, "switching", T, c0, **settings)
        return [bounding(run, quantity).value for quantity in ("regret", short)]

    n, radius = 2155, sqrt(log(2 * K / eps) / 2)
    explored, off = n * (1 - 1 / K) + sqrt(T * log(K) / 2), radius / sqrt(n)
    assert bounds("explore-then-project") == pytest.approx([explored, n * c0 + 2 * (T - n) * off])
    plain = bounds("explore-then-project", varying, optimism=0)
    assert plain == pytest.approx([explored + T * off / S, n * c0 + (T - n) * off])
    radius = sqrt(log(2 * K * T / eps) / 2)
    assert bounds("op-ewa") == pytest.approx([sqrt(T * log(K) / 2), c0 + 4 * radius * sqrt(T)])
    level, z = log(8 * K * T / eps), S * sqrt(T) / (2 * radius)
    radii = K + 2 * sqrt(2 * level * K * T) + sqrt(T * log(4 / eps) / 2)
    B = 2 * sqrt(K * T * (log(K) + log(4 * K / eps))) + log(4 / eps)
    assert bounds("bandit-op-ewa") == pytest.approx([B, radii])
    mixing = 2 * T * (z - log(1 + z)) / z**2
    assert bounds("safe-mixing", safe=2, margin=S) == pytest.approx([sqrt(T * log(K) / 2) + 1 + mixing, 0])
    losses = 2 * sqrt(K * T * log(K)) + sqrt(T) / 2
    assert bounds("loss-lewa", short="violation")[0] == pytest.approx(losses)
    assert bounds("anytime-lewa", short="violation")[0] == pytest.approx(sqrt(2 * (log(K) + 1) * T))
    shared = sqrt(T * (log(K) + 1)) + sqrt(T) / 2
    assert bounds("fixed-share-lewa", short="violation")[0] == pytest.approx(shared, rel=1e-5)


# The claims --------------------------------------------------------------------------------------------------------------


def test_regret_and_violation_are_claimed_together() -> None:
    for claim in CLAIMS:
        together = {"regret", "violation"}, {"regret", "positive violation"}  # the latter is at least the violation
        assert set(claim.rules) in together or not {"regret", "violation", "positive violation"} & set(claim.rules)
        assert len(claim.title) <= 36, f"{claim.title} does not fit the table"
    assert len({claim.title for claim in CLAIMS}) == len(CLAIMS)
    assert len(STUDIES) == 26
    assert not {claim.study for claim in PAPER} & {claim.study for claim in BEYOND}


def test_the_learners_of_the_claims_are_there() -> None:
    names = [rule.learner.removeprefix("only ") for claim in CLAIMS for rule in claim.rules.values() if rule.learner]
    for name in names:
        assert learners.find(name.split()[0])
