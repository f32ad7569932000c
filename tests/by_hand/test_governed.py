from typing import Any

import numpy as np
import pytest

import lewa
from lewa.engine.session import Session, dice_of

RNG = np.random.default_rng(8)
T, K, FLOOR = 60, 3, (0.5, 0.4)
REWARDS, KEPT = RNG.random((T, K)), RNG.random((T, K, 2)) * 0.6
KEPT[:, 1], REWARDS[:, 1] = 0.75, 0.1  # the safe action
DEBT = (1.2, 1.0)


def by_hand(name: str, told: Any) -> tuple[list[list[float]], list[list[float]]]:
    """Return the plays and the debts of a learner that is governed by a few lines of Python."""
    inside = lewa.learners.make(name, K, T, FLOOR)
    state, behind = lewa.functional.start(inside, K), np.zeros(2)
    plays, debts = [], []
    for t in range(T):
        safe = bool((behind + FLOOR > DEBT).any())
        p = np.eye(K)[1] if safe else lewa.functional.play(inside, state)
        seen, met = told(inside, p, t)
        if not safe:
            state = lewa.functional.learn(inside, state, seen)
        behind += np.array(FLOOR) - met
        plays.append(p.tolist())
        debts.append(behind.tolist())
    return plays, debts


def test_full_information_by_hand() -> None:
    learner: Any = lewa.learners.make("lewa+governed", K, T, FLOOR, safe=1, margin=0.25, debt=1.2)
    learner = learner.replace(debt=np.array(DEBT))
    trace = lewa.play(learner, lewa.games.Table(REWARDS, KEPT), every_round=True)

    def told(inside: Any, p: Any, t: int) -> Any:
        seen = lewa.feedback.full_feedback(REWARDS[t], KEPT[t].T, p)
        return seen, seen.met

    plays, debts = by_hand("lewa", told)
    np.testing.assert_allclose(trace.plays[0], np.array(plays), rtol=0, atol=1e-12)  # type: ignore[index]
    assert np.max(debts, axis=0)[0] == pytest.approx(DEBT[0], abs=0.3)  # the bound is nearly reached
    assert (np.array(debts) <= np.array(DEBT) + 1e-12).all()
    assert 0 < np.mean([p == [0, 1, 0] for p in plays]) < 1


def weights(rise: Any, n: int) -> Any:
    """w_j ~ exp(2 sqrt(ln m/n)/G rise_j)"""
    G = 1 + max(FLOOR) - min(FLOOR)
    w = np.exp(2 * np.sqrt(np.log(2) / n) / G * rise)
    return w / w.sum()


W = 4.0  # a small one: it is passed within 60 rounds
COSTLY = KEPT.copy()
COSTLY[:, [0, 2]] *= 0.2


def test_the_learned_form_with_bandit_feedback_by_hand() -> None:
    """Practical, repay and wall, in the floats of docs/theory_governor.md; the inner learner is told of every round."""
    learner: Any = lewa.learners.make("squarecb-lewa+governed", K, T, FLOOR).replace(debt=np.full(2, W))
    kept = COSTLY.copy()
    kept[20:40] = 0.0  # nothing is cheap now
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    drawn: Any = trace.actions
    inside, limits, E = lewa.learners.make("squarecb-lewa", K, T, FLOOR), 1 - np.array(FLOOR), 0.75 * W
    state, mode, n, debt = lewa.functional.start(inside, K), "practical", 0, np.zeros(2)
    means, counts, rise, losses = np.zeros((limits.size, K)), np.zeros(K), np.zeros(2), np.zeros(K)
    prior = np.zeros(K)
    modes = []
    for t, i in enumerate(drawn[0].tolist()):
        n, eta, w = n + 1, 2.8 / np.sqrt(K * (n + 1)), weights(rise, n + 1)
        if mode == "practical":
            p = lewa.functional.play(inside, state)
            state = lewa.functional.charge(inside, state, i)
            charged = state.charged.copy()
        elif mode == "repay":
            p = np.eye(K)[(w @ means - 1.25 / np.sqrt(counts + 1)).argmin()]
        else:
            p = prior * np.exp(-eta * losses)
            p /= p.sum()
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        seen = lewa.feedback.Bandit(
            i, float(p[i]), float(REWARDS[t, i]), kept[t, i].copy(), p, charged if mode == "practical" else limits
        )
        state, z = lewa.functional.learn(inside, state, seen), 1 - kept[t, i]
        if mode == "wall":
            losses[i] += w @ z / (p[i] + eta / 2)
        counts[i] += 1 - counts[i] / 1000
        means[:, i] += (z - means[:, i]) / (counts[i] + 1)
        debt, rise = debt + z - limits, rise + z - limits
        modes.append(mode)
        after = mode
        if after == "wall" and (debt <= E).all():
            after = "repay"
        if after == "repay" and (debt <= E / 2).all():
            after = "practical"
        if after == "practical" and (debt + FLOOR > E).any():
            after = "repay"
        if (debt + FLOOR > W).any():
            after = "wall"
        if after != mode:
            mode, n, rise, losses = after, 0, np.zeros(2), np.zeros(K)
            prior = 0.5 / K + 0.5 * np.eye(K)[means[debt.argmax()].argmin()]
    assert set(modes) == {"practical", "repay", "wall"}
    np.testing.assert_allclose(debt, trace.observed_shortfall[0, -1], rtol=0, atol=1e-9)
    assert state.debt == pytest.approx(debt)  # it owes what it truly owes


def test_the_learned_form_with_full_information_by_hand() -> None:
    learner: Any = lewa.learners.make("lewa+governed", K, T, FLOOR).replace(debt=np.full(2, W))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, COSTLY), every_round=True)
    inside, limits = lewa.learners.make("lewa", K, T, FLOOR), 1 - np.array(FLOOR)
    state, n, debt, rise, losses, stretch, prior = (
        lewa.functional.start(inside, K),
        0,
        np.zeros(2),
        np.zeros(2),
        np.zeros(K),
        False,
        0,
    )
    means, counts, stretches = np.repeat(limits[:, None], K, axis=1), np.zeros(K), 0
    for t in range(T):
        n, z = n + 1, 1 - COSTLY[t].T
        p = lewa.functional.play(inside, state)
        if stretch:
            p = prior * np.exp(-2 * np.sqrt(np.log(2 * K) / n) * losses)
            p /= p.sum()
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        if not stretch:
            state = lewa.functional.learn(inside, state, lewa.feedback.full_feedback(REWARDS[t], COSTLY[t].T, p))
        losses += weights(rise, n) @ z
        counts += 1 - counts / 1000
        means += (z - means) / (counts + 1)
        debt, rise = debt + z @ p - limits, rise + z @ p - limits
        after = bool((debt + FLOOR > W).any()) or (stretch and not (debt <= W / 2).all())
        if after != stretch:
            stretch, n, rise, losses, stretches = after, 0, np.zeros(2), np.zeros(K), stretches + after
            prior = 0.5 / K + 0.5 * np.eye(K)[means[debt.argmax()].argmin()]
    assert stretches > 1


@pytest.mark.parametrize("name", ["lewa-ix", "bandit-lewa", "squarecb-lewa"])
def test_bandit_feedback_by_hand(name: str) -> None:
    learner: Any = lewa.learners.make(f"{name}+governed", K, T, FLOOR, safe=1, margin=0.25, debt=1.2)
    learner = learner.replace(debt=np.array(DEBT))
    trace = lewa.play(learner, lewa.games.Table(REWARDS, KEPT), every_round=True)
    drawn: Any = trace.actions
    charges = "charged" in lewa.functional.start(lewa.learners.make(name, K, T, FLOOR), K)._fields
    inside = lewa.learners.make(name, K, T, FLOOR)
    state, behind = lewa.functional.start(inside, K), np.zeros(2)
    for t, i in enumerate(drawn[0].tolist()):
        safe = bool((behind + FLOOR > DEBT).any())
        p = np.eye(K)[1] if safe else lewa.functional.play(inside, state)
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)  # type: ignore[index]
        if not safe:
            if charges:
                state = lewa.functional.charge(inside, state, i)
            charged = state.charged.copy() if charges else np.zeros(0)
            seen = lewa.feedback.Bandit(i, float(p[i]), float(REWARDS[t, i]), KEPT[t, i].copy(), p, charged)
            state = lewa.functional.learn(inside, state, seen)
        behind += np.array(FLOOR) - KEPT[t, i]
        assert (behind <= np.array(DEBT) + 1e-12).all()
    np.testing.assert_allclose(trace.observed_shortfall[0, -1], behind, rtol=0, atol=1e-9)


def test_the_agents_governor_and_the_wrapper_call_for_safe_play_in_the_same_rounds() -> None:
    """One rule: with answers at once an agent with a governor makes the decisions of the wrapped learner."""
    learner: Any = lewa.learners.make("squarecb-lewa+governed", K, T, FLOOR, safe=1, margin=0.25, debt=1.2)
    session: Any = Session(learner, K, dice_of(5))
    limits = [lewa.at_least("a", FLOOR[0]), lewa.at_least("b", FLOOR[1])]
    governor = lewa.Governor(1, sure={"a": 0.75, "b": 0.65}, debt={"a": 1.2, "b": 1.2})
    agent = lewa.Agent([0, 1, 2], limits, governor=governor, seed=5, learner="squarecb-lewa+governed")
    assert agent.setup.learner_name == "squarecb-lewa"
    for t in range(T):
        decision, choice = agent.pull(), session.choose(t)
        assert (decision.action, decision.probability) == choice[:2]
        a, b = KEPT[t, choice.action].tolist()
        agent.update(decision, reward=float(REWARDS[t, choice.action]), a=a, b=b)
        session.learn(session.answer(choice, REWARDS[t], KEPT[t].T))
    status: Any = agent.status().governor
    assert 0 < status.safe < T
    assert status.reserved == pytest.approx(tuple(session.state.governor.debt), abs=1e-12)


def test_tuning_and_refusals() -> None:
    learner: Any = lewa.learners.make("lewa+governed", 3, 1_000_000, (0.5, 0.2), safe=1)
    assert learner.debt.tolist() == [500, 200]  # sqrt(T) rounds at their worst
    assert lewa.learners.make("lewa+governed", 3, 100, 0.5, safe=1).parameters["debt"].tolist() == [50]  # of 100 rounds
    assert lewa.learners.make("lewa+governed", 3, 100, 0.5).parameters["debt"].tolist() == [0]  # the usual levels
    assert (lewa.learners.make("lewa+governed", 3, 100, 0.5).parameters["safe"]) == -1  # it learns what is safe
    assert learner.inner() == lewa.learners.make("lewa", 3, 1_000_000, (0.5, 0.2))
    mixed: Any = lewa.learners.make("safe-mixing+governed", 3, 1000, 0.5, safe=2, margin=0.25)
    assert (mixed.inner().safe, mixed.inner().margin) == (2, 0.25)  # both are told of one action
    for settings, sentence in (
        ({"safe": 3}, "safe must be the index of an action, 0 .. 2"),
        ({"safe": 1, "margin": 0.6}, r"margin must lie between 0 and 1 - floor = 0.5"),
        ({"safe": 1, "debt": 0.4}, "debt must be one number per constraint, at least its floor"),
        ({"safe": 1, "debt": float("nan")}, "debt must be one number per constraint, at least its floor"),
        ({"debt": 3.9}, r"debt must be one number per constraint, 0 or at least 4"),
    ):
        with pytest.raises(ValueError, match=sentence):
            lewa.learners.make("lewa+governed", 3, 1000, 0.5, **settings)
    with pytest.raises(ValueError, match=r"safe must be the index of an action, 0 .. 0, got safe=1"):
        lewa.learners.make("lewa+governed", 1, 1000, 0.5, safe=1)
    with pytest.raises(ValueError, match="a learner can have only one governor"):
        lewa.learners.make("lewa+governed+governed", 3, 1000, 0.5)
    with pytest.raises(ValueError, match="has a governor, got governor='off'"):
        lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], learner="auto+governed", governor="off", seed=0)


def test_the_guarantee_is_that_of_the_proofs() -> None:
    T, debt = 1_000_000, 60_000.0
    learner = lewa.learners.make("lewa+governed", 3, T, 0.5, safe=1, margin=0.25, debt=debt)
    inside: Any = lewa.learners.make("lewa", 3, T, 0.5).guarantees(
        3, T, lewa.Setting(constraints="arbitrary", adversary="adaptive")
    )[1]
    for constraints in ("arbitrary", "constant"):
        said: Any = lewa.guarantee(learner, 3, T, constraints=constraints)
        assert (said.kind, said.violation) == ("pathwise", (debt,))
        assert said.regret == pytest.approx(inside.regret + 1 + (inside.violation[0] - debt + 0.5) / 0.25)
    rare: Any = lewa.guarantee(
        lewa.learners.make("lewa+governed", 3, T, 0.5, safe=1, margin=0.25, debt=inside.violation[0] + 0.5),
        3,
        T,
        constraints="arbitrary",
    )
    assert rare.regret == inside.regret  # the safe action is never called for: the promise is free
    mean: Any = lewa.guarantee(learner, 3, T)  # with noise the regret of so many rounds as are left is not known
    assert (mean.kind, mean.violation, mean.regret) == ("expected [E V]+", (debt,), T)
    assert "on every path" in mean.assumptions[1]
    likely: Any = lewa.guarantee(learner, 3, T, epsilon=0.05)
    assert likely.violation[0] == pytest.approx(debt + np.sqrt(T / 2 * np.log(1 / 0.05)))
    learned: Any = lewa.guarantee(lewa.learners.make("lewa+governed", 3, T, 0.5), 3, T, constraints="arbitrary")
    base, rise = 100 + 5 * 3 + 2 * 1000, np.sqrt(T * np.log(6))
    assert (learned.kind, learned.regret, learned.source) == ("pathwise", T, "governed (theorem V)")
    assert learned.violation == pytest.approx((base + rise,))
    one: Any = lewa.guarantee(lewa.learners.make("squarecb-lewa+governed", 1, T, 0.5), 1, T)
    assert (one.regret, one.violation) == (0, (0,))
    no_slack: Any = lewa.guarantee(
        lewa.learners.make("lewa+governed", 3, T, 0.5, safe=1, debt=debt), 3, T, constraints="arbitrary"
    )
    assert (no_slack.violation, no_slack.regret) == ((debt,), T)


def test_without_a_safe_action_the_learned_form_is_offered_with_its_bound() -> None:
    agent = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], learner="auto+governed", seed=0)
    status: Any = agent.status().governor
    assert status.form == "learned"
    assert status.promise[1] == "it is never more than 620 over, on every path, unless that learner decides"
    assert "(theorem W)" in status.promise[2]
    told: Any = (
        lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], learner="auto+governed", seed=0, governor=lewa.Governor("a"))
        .status()
        .governor
    )
    assert told.form == "sure"
    usual: Any = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], seed=0).status().governor
    assert usual.form == "learned"


@pytest.mark.parametrize("name", ["lewa", "exp-lewa", "loss-lewa", "squarecb-lewa"])
def test_on_every_path_debts_are_bounded_and_safe_rounds_counted(name: str) -> None:
    """G1 and G2 on rounds that were drawn to be hard: constraints of 0 and 1, and rewards that want what is missed."""
    rng, T, slack = np.random.default_rng(1), 80, 0.1
    for _ in range(6):
        floor = rng.choice([0.0, 0.3, 0.6, 0.9], size=2) * (1 - slack)
        kept = (rng.random((T, 3, 2)) < rng.random()).astype(float)
        kept[:, 2] = floor + slack
        rewards = np.clip(1 - kept.mean(axis=2) + 0.1 * rng.random((T, 3)), 0, 1)
        debt = np.maximum(floor, rng.random(2) * 4)
        learner = lewa.learners.make(f"{name}+governed", 3, T, floor, safe=2, margin=slack).replace(debt=debt)
        trace = lewa.play(learner, lewa.games.Table(rewards, kept), every_round=True)
        plays, drawn = trace.plays[0], np.eye(3)[trace.actions[0]]  # type: ignore[index]
        by = plays if name in ("lewa", "exp-lewa") else drawn
        short = floor - np.einsum("tk,tkm->tm", by, kept)
        assert (short.cumsum(axis=0) <= debt + 1e-9).all()
        behind = np.vstack([np.zeros(2), short.cumsum(axis=0)[:-1]])
        safe = np.any(behind + floor > debt + 1e-12, axis=1, keepdims=True)[:, 0]
        assert (plays[safe] == [0, 0, 1]).all()
        own = np.where(safe[:, np.newaxis], 0, short).cumsum(axis=0)
        assert safe.sum() <= 1 + max(0, ((own - debt + floor) / slack).max())
        if name in ("lewa", "exp-lewa"):  # a bound on every path, for the best play that meets the floors in every round
            said: Any = lewa.guarantee(learner, 3, T, constraints="arbitrary")
            if said.regret is not None:
                assert lewa.regret(trace, "every round").max() <= said.regret + 1e-9
