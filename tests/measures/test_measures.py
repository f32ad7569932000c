import numpy as np
import pytest

import lewa
from lewa.games import Bernoulli, Table
from lewa.learners import BanditLewa, Ewa, HpBanditLewa, HpLewa, Lewa, make
from lewa.simulate.run import play
from lewa.theory.guarantees import EXPECTED, PATHWISE

RNG = np.random.default_rng(3)
REWARDS, CONSTRAINTS = RNG.random((60, 3)), RNG.random((60, 3, 2))
FLOOR = (0.4, 0.5)


def test_sums_of_a_full_information_run_agree_with_a_plain_recomputation() -> None:
    trace = play(Lewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS), every_round=True)
    assert trace.plays is not None
    p = trace.plays[0]
    met = np.einsum("tk,tkm->tm", p, CONSTRAINTS)
    assert trace.reward[0, -1] == pytest.approx((p * REWARDS).sum(), abs=1e-12)
    assert trace.shortfall[0, -1] == pytest.approx((np.array(FLOOR) - met).sum(axis=0), abs=1e-12)
    assert trace.positive[0, -1] == pytest.approx(np.maximum(np.array(FLOOR) - met, 0).sum(axis=0), abs=1e-12)
    assert lewa.violation(trace)[0] == pytest.approx(np.maximum((np.array(FLOOR) - met).sum(axis=0), 0), abs=1e-12)
    assert lewa.positive_violation(trace)[0] == pytest.approx(trace.positive[0, -1])
    best = lewa.measures.best_fixed_play(REWARDS.mean(axis=0), CONSTRAINTS.mean(axis=0).T, np.array(FLOOR))
    assert lewa.regret(trace)[0] == pytest.approx(best.value * 60 - (p * REWARDS).sum(), abs=1e-9)


@pytest.mark.parametrize(("name", "measured_on"), [("bandit-lewa", "action"), ("hp-bandit-lewa", "play")])
def test_realised_sums_of_a_bandit_run_agree_with_a_plain_recomputation(name: str, measured_on: str) -> None:
    trace = play(make(name, 3, 60, FLOOR), Table(REWARDS, CONSTRAINTS), seeds=[4], every_round=True)
    assert trace.plays is not None
    assert trace.measured_on == measured_on
    rounds, drawn = np.arange(60), trace.actions[0]
    met = CONSTRAINTS[rounds, drawn] if measured_on == "action" else np.einsum("tk,tkm->tm", trace.plays[0], CONSTRAINTS)
    assert trace.reward[0, -1] == pytest.approx(REWARDS[rounds, drawn].sum(), abs=1e-12)
    assert trace.observed_shortfall[0, -1] == pytest.approx(
        (np.array(FLOOR) - CONSTRAINTS[rounds, drawn]).sum(axis=0), abs=1e-12
    )
    assert trace.shortfall[0, -1] == pytest.approx((np.array(FLOOR) - met).sum(axis=0), abs=1e-12)
    assert trace.positive[0, -1] == pytest.approx(np.maximum(np.array(FLOOR) - met, 0).sum(axis=0), abs=1e-12)


def test_violation_is_measured_with_the_true_mean_where_the_game_knows_it() -> None:
    game = Bernoulli([0.9, 0.5], [[0.2, 0.8]])
    for learner in (Lewa.tuned(2, 200, 0.5), HpBanditLewa.tuned(2, 200, 0.5)):
        trace = play(learner, game, 200, every_round=True)
        assert trace.plays is not None
        assert trace.shortfall[0, -1, 0] == pytest.approx((0.5 - trace.plays[0] @ game.mean_constraints[0]).sum(), abs=1e-10)
    trace = play(BanditLewa.tuned(2, 200, 0.5), game, 200, every_round=True)
    assert trace.shortfall[0, -1, 0] == pytest.approx((0.5 - game.mean_constraints[0][trace.actions[0]]).sum(), abs=1e-10)


def test_curves_end_where_the_totals_are_and_marks_hold_running_sums() -> None:
    trace = play(Lewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS), seeds=2, every_round=True)
    assert trace.plays is not None
    assert lewa.measures.regret_curve(trace)[:, -1] == pytest.approx(lewa.regret(trace))
    assert lewa.measures.violation_curve(trace)[:, -1] == pytest.approx(lewa.violation(trace))
    for n, mark in enumerate(trace.marks.tolist()):
        assert trace.reward[0, n] == pytest.approx((trace.plays[0] * REWARDS)[:mark].sum(), abs=1e-12)
        assert trace.reward_sums is not None
        assert trace.reward_sums[0, n] == pytest.approx(REWARDS[:mark].sum(axis=0))


def test_hindsight_of_a_lazily_drawn_game_is_that_of_the_nature_met() -> None:
    game = Bernoulli([0.7, 0.4], [[0.3, 0.9]])
    lazy = play(BanditLewa.tuned(2, 3000, 0.5), game, 3000, seeds=3)
    laid_out = play(Lewa.tuned(2, 3000, 0.5), game, 3000, seeds=3)
    assert lazy.reward_sums is None
    for constraint in ("known", "trace"):
        for a, b in zip(lewa.hindsight(lazy, constraint), lewa.hindsight(laid_out, constraint), strict=True):
            assert a.value == pytest.approx(b.value)
            assert a.play == pytest.approx(b.play)
    with pytest.raises(ValueError, match="'auto', 'known', 'trace' or 'every round'"):
        lewa.hindsight(lazy, "guessed")


def test_variation_is_the_sum_of_the_largest_deviations_from_the_mean() -> None:
    deviations = [max(abs(REWARDS[t, i] - sum(REWARDS[:, i]) / 60) for i in range(3)) for t in range(60)]
    assert lewa.measures.variation(REWARDS) == pytest.approx(sum(deviations))


def test_certificate_bounds_what_the_dual_step_saw() -> None:
    trace = play(Lewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS), seeds=2)
    assert (trace.observed_shortfall[:, -1] <= lewa.measures.certificate(trace) + 1e-12).all()
    with pytest.raises(ValueError, match="Ewa has no certificate: its multiplier"):
        lewa.measures.certificate(play(Ewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS)))


def test_judging_a_run_says_whether_the_guarantee_held() -> None:
    constant = Table(REWARDS, [0.2, 0.5, 0.9])
    kept = lewa.judge(play(Lewa.tuned(3, 60, 0.5), constant))
    assert (kept.guarantee.kind, kept.holds) == (PATHWISE, True)
    coins = Bernoulli()
    assert lewa.judge(play(Lewa.tuned(3, 500, 0.6), coins, 500, seeds=1)).holds is None  # one run has no mean
    verdict = lewa.judge(play(Lewa.tuned(3, 500, 0.6), coins, 500, seeds=4))
    assert (verdict.guarantee.kind, verdict.holds) == (EXPECTED, True)
    varying = lewa.judge(play(Lewa.tuned(3, 60, (0.3, 0.4)), Table(REWARDS, CONSTRAINTS)))
    assert (varying.guarantee.kind, varying.holds) == (None, None)
    assert "meet the floors in every round" in varying.guarantee.reason


def test_judging_can_say_no() -> None:
    trace = play(Lewa.tuned(3, 60, 0.5), Table(REWARDS, [0.2, 0.5, 0.9]))
    assert trace.shortfall.size
    trace.shortfall[:] += 60
    assert lewa.judge(trace).holds is False


def test_no_guarantee_applies_where_no_play_meets_the_floor() -> None:
    with pytest.warns(UserWarning, match="no play meets the floor"):
        trace = play(Lewa.tuned(3, 100, 0.95), Bernoulli(), 100, seeds=2)
    verdict = lewa.judge(trace)
    assert (verdict.guarantee.regret, verdict.holds) == (None, None)
    assert not lewa.hindsight(trace)[0].feasible
    with pytest.raises(ValueError, match=r"some play must meet the floor; the nearest feasible floor is \[0.9\]"):
        Lewa.tuned(3, 100, 0.95, means=[[0.2, 0.5, 0.9]])


def test_hindsight_can_be_asked_to_meet_the_floor_in_every_round() -> None:
    game = Table([[1, 0], [1, 0]], np.array([[[1.0], [0.5]], [[0.0], [0.5]]]))
    trace = play(Lewa.tuned(2, 2, 0.5), game)
    assert lewa.hindsight(trace)[0].value == pytest.approx(1.0)
    assert lewa.hindsight(trace, "every round")[0].value == pytest.approx(0.0, abs=1e-9)


def test_realised_violation_is_that_of_what_was_revealed() -> None:
    trace = play(BanditLewa.tuned(2, 300, 0.7), Bernoulli([0.9, 0.5], [[0.2, 0.8]]), 300, every_round=True)
    assert lewa.violation(trace, realised=True)[0] == pytest.approx(np.maximum(trace.observed_shortfall[0, -1], 0))
    assert lewa.violation(trace, realised=True)[0] != pytest.approx(lewa.violation(trace)[0])


def test_bad_means_are_refused() -> None:
    for means in ([float("nan"), 0.95], [5, 7], [[0.1, 0.9], [0.2, 0.9]]):
        with pytest.raises(ValueError, match="means must"):
            Lewa.tuned(2, 100, 0.5, means=means)
    with pytest.raises(ValueError, match="constraints must be finite"):
        lewa.measures.best_fixed_play([0.1, 0.2], [[float("nan"), 0.5]], [0.4])


def test_a_run_of_lewa_certifies_its_own_regret_against_any_play() -> None:
    trace = play(Lewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS), seeds=2, every_round=True)
    assert trace.plays is not None
    assert trace.multipliers is not None
    eta = trace.learner.eta
    for p in (np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.3, 0.5])):
        by_hand = np.log(3) / eta
        for t in range(60):
            lam, gap = trace.multipliers[0, t], trace.plays[0, t] - p
            by_hand += eta / 8 * (1 + lam.sum()) ** 2 + sum(lam[j] * (gap @ CONSTRAINTS[t, :, j]) for j in range(2))
        bound = lewa.measures.regret_certificate(trace, p)
        assert bound == pytest.approx([by_hand] * 2)
        assert (REWARDS @ p).sum() - trace.reward[0, -1] <= bound[0]
    with pytest.raises(ValueError, match="every_round=True"):
        lewa.measures.regret_certificate(play(Lewa.tuned(3, 60, FLOOR), Table(REWARDS, CONSTRAINTS)), p)
    for other in (Ewa.tuned(3, 60, FLOOR), HpLewa.tuned(3, 60, FLOOR)):
        with pytest.raises(ValueError, match=r"only LEWA has a regret certificate, got (Ewa|HpLewa)"):
            lewa.measures.regret_certificate(play(other, Table(REWARDS, CONSTRAINTS), every_round=True), p)
