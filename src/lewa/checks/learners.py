"""The laws that every learner must obey. Each is tested on each of the learner's `examples()`.

Most laws hold on every sequence of rounds; they are tested on a fixed sequence.
"""

import json
from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from lewa.checks import sequences
from lewa.checks.changes import (
    a_missing_action_returns_with_its_share,
    a_new_action_keeps_its_share,
    arrays_have_roles,
    units_do_not_matter,
)
from lewa.checks.laws import Law, Result, hold, put, refuse
from lewa.checks.sequences import (
    MANY,
    charge,
    extremes,
    feedback_of,
    many_rounds,
    relabelled_world,
    run,
    steps,
    walk,
    world,
)
from lewa.engine.not_compiled import NotCompiledError
from lewa.engine.session import Session, dice_of
from lewa.feedback import Bandit, FeedbackKind, feedback_kind
from lewa.functional import learn, play, start
from lewa.kernels import dump, field_types, load, pack
from lewa.kernels.roles import MULTIPLIER, array_with
from lewa.learners import Learner
from lewa.learners.parameters import relabelled
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, PATHWISE, PROBABLE
from lewa.theory.setting import Setting
from lewa.types import State

ROUNDING = 1e-12  # what two ways of adding up the same numbers may differ by
KINDS = (PATHWISE, EXPECTED, EXPECTED_INSIDE, PROBABLE)


def examples_are_given(kind: type[Learner]) -> None:
    """Check that `examples()` has at least one pair of a learner and its number of actions."""
    hold(kind.examples(), f"{kind.__name__}.examples() is empty; it must return at least one (learner, actions)")


def rule_compiles(learner: Learner, actions: int) -> None:
    """Check that the rule compiles: it works in place and calls only kernels. No other law is tested before this one."""
    once = world(learner, actions, rounds=1)
    try:
        list(walk(learner, actions, once))
        run(learner, once.rewards, once.constraints)
    except NotCompiledError as error:
        hold(False, str(error))
    except ValueError:
        pass  # what it computes is for the other laws to judge


def rule_runs(learner: Learner, actions: int) -> None:
    """Check that a rule with `compiled = False` runs. No other law is tested before this one."""
    once = world(learner, actions, rounds=1)
    list(walk(learner, actions, once))
    run(learner, once.rewards, once.constraints)


def one_line_says_what_it_is(learner: Learner, actions: int) -> None:
    """Check that the docstring begins with a sentence of one line, for lists."""
    line = ((type(learner).__doc__ or "").strip().splitlines() or [""])[0]
    hold(line.endswith("."), f"the docstring begins {line!r}; its first line must be a sentence")


def play_is_a_distribution(learner: Learner, actions: int) -> None:
    """Check that the play is a distribution at the start and after every round."""
    for t, now in enumerate(steps(learner, actions)):
        least, total = now.play.min(), now.play.sum()
        hold(least >= 0, f"after round {t} the least entry of the play is {least}; it must be at least 0")
        hold(abs(total - 1) <= ROUNDING * actions, f"after round {t} the play sums to {total}; it must sum to 1")


def actions_are_drawn_from_the_play(learner: Learner, actions: int) -> None:
    """Check that actions are drawn with their propensities, up to an error that one of 10^9 runs exceeds (Azuma)."""
    rounds = sequences.DRAWS
    first_pays, all_meet = np.tile(np.eye(actions)[0], (rounds, 1)), np.ones((rounds, learner.floor.size, actions))
    trace = run(learner, first_pays, all_meet, every_round=True)
    drawn, expected = np.bincount(trace.actions[0], minlength=actions), trace.plays[0].sum(axis=0)  # type: ignore[index]
    luck = np.sqrt(rounds / 2 * np.log(2 * actions * 1e9))
    hold(
        (abs(drawn - expected) <= luck).all(),
        f"in {rounds} rounds the actions were drawn {drawn.tolist()} times, not {expected.round(1).tolist()}",
    )


def learn_leaves_its_arguments_untouched(learner: Learner, actions: int) -> None:
    """Check that `learn` changes neither the state nor the feedback that it gets."""
    now = deepcopy(steps(learner, actions)[-1])
    before = {**dump(now.state), **dump(now.seen)}
    learn(learner, now.state, now.seen)
    after = {**dump(now.state), **dump(now.seen)}
    changed = "; ".join(
        f"{name} was {before[name]} and is now {after[name]}" for name in before if before[name] != after[name]
    )
    hold(not changed, f"learn must not change its arguments: {changed}")


def same_inputs_give_same_outputs(learner: Learner, actions: int) -> None:
    """Check that the same rounds give the same plays, bit for bit: a learner has no memory but its state."""
    for t, (once, again) in enumerate(zip(steps(learner, actions), walk(learner, actions), strict=True)):
        gap = abs(pack(once.state) - pack(again.state)).max()
        hold(gap == 0, f"after round {t} two runs on the same rounds differ by {gap}; they must be equal")


def learner_and_state_survive_json(learner: Learner, actions: int) -> None:
    """Check that a learner and its state survive saving and loading, bit for bit."""
    now = steps(learner, actions)[-1]
    for record in (learner, now.state):
        again = load(type(record), json.loads(json.dumps(dump(record))))
        hold(pack(again).tobytes() == pack(record).tobytes(), "{} is {} after JSON; it must be unchanged", record, again)


def extreme_rounds_leave_no_nan(learner: Learner, actions: int) -> None:
    """Check that every number of the state and of the play is finite after 100,000 extreme rounds."""
    many = f"{many_rounds(learner):,}"
    for name, trace in extremes(learner, actions):
        for record in (trace.states[0], (trace.play[0, -1],)):
            hold(np.isfinite(pack(record)).all(), "{} rounds of {} lead to {}; it must be finite", many, name, record)


def relabelling_actions_relabels_plays(learner: Learner, actions: int) -> None:
    """Check that the play does not depend on the order of the actions.

    The parameters of a special action and of each action have roles, from which the learner for another order follows.
    """
    order, here = np.roll(np.arange(actions), 1), world(learner, actions)
    same = relabelled(learner, order.tolist())
    there = relabelled_world(learner, here, order)
    for t, (first, other) in enumerate(zip(steps(learner, actions), walk(same, actions, there), strict=True)):
        hold(
            abs(first.play[order] - other.play).max() <= 1e-9,
            "after round {} the play {} becomes {} when the actions are relabelled by {}",
            *(t, first.play[order], other.play, order),
        )


def the_action_that_alone_pays_gains(learner: Learner, actions: int) -> None:
    """Check that the only action with a reward gains on every other action, if constraints are equal.

    The law compares a round in which one action alone pays with a round in which no action pays. The action need not gain
    relative to before the round: a bandit may count losses only, and may have to try the other actions first. An action that
    the first play cannot draw is left out, and so is one that neither play can draw."""
    first, constraints = start(learner, actions), np.full((learner.floor.size, actions), 0.5)
    before = play(learner, first)
    for a in np.flatnonzero(before).tolist():
        rewards, (state, charged) = np.eye(actions)[a], charge(learner, first, a)
        paid, unpaid = (
            play(learner, learn(learner, state, feedback_of(learner, before, earned, constraints, a, charged)))
            for earned in (rewards, 0 * rewards)
        )
        gains = (paid[a] * unpaid > unpaid[a] * paid) | (paid[a] == unpaid[a] == 0) | ((paid == 0) & (unpaid == 0))
        hold(
            np.delete(gains, a).all(),
            "the play went from {} to {} when action {} alone paid, and to {} when it did not; action {} must gain on every "
            "other",
            *(before, paid, a, unpaid, a),
        )


def multiplier_stays_between_zero_and_its_cap(learner: Learner, actions: int) -> None:
    """Check that the multiplier is at least 0, and at most floor/delta for a `dual` step that shrinks by delta."""
    cap = learner.floor / learner.dual[0] if learner.dual else np.inf
    for name, trace in extremes(learner, actions):
        for mark, multiplier in zip(trace.marks, trace.multiplier[0], strict=True):
            hold(
                ((multiplier >= 0) & (multiplier <= cap * (1 + 1e-9))).all(),
                "after {} rounds of {} the multiplier is {}; it must lie between 0 and {}",
                *(mark, name, multiplier, cap),
            )


def zero_floor_reduces_to_the_unconstrained_parent(learner: Learner, actions: int) -> None:
    """Check that with floor 0 the multiplier stays 0 and the plays are those of the parent.

    The parent of a full-information learner with an `eta` is EWA with that eta. A property `parent` returns another
    parent, or None.
    """
    free = learner.replace(floor=np.zeros(learner.floor.size))
    if array_with(start(free, actions), MULTIPLIER) is None:
        return
    parent = free.parent
    plays = [then.play for then in walk(parent, actions)] if parent else None
    for t, now in enumerate(walk(free, actions)):
        multiplier, then = array_with(now.state, MULTIPLIER), plays[t] if plays else now.play
        hold(not multiplier.any(), "after round {} with floor 0 the multiplier is {}, not 0", t, multiplier)
        sentence = "after round {} with floor 0 the play is {}; that of {} is {}"
        hold(abs(now.play - then).max() <= ROUNDING, sentence, t, now.play, parent, then)


def a_stale_play_is_accepted(learner: Learner, actions: int) -> None:
    """Check that feedback may come late and out of order.

    A bandit learner weighs late feedback by its propensity, or counts it so that the order of answers makes no difference. A
    learner that estimates means and weighs no propensities declares this."""
    early, *others, now = deepcopy(steps(learner, actions))
    late = learn(learner, now.state, early.seen)
    hold(np.isfinite(pack(late)).all(), "feedback for the first round, given after the last, leads to {}", late)
    if isinstance(early.seen, Bandit) and actions > 1:
        p = early.seen.propensity
        stale = [step.seen for step in (early, *others) if isinstance(step.seen, Bandit)]
        weighed = any(_propensity_counts(learner, now.state, seen) for seen in stale)
        if not learner.weighs_propensities:
            hold(
                not weighed,
                f"{type(learner).__name__} declares that it weighs no propensities, but {p:.4g} makes a difference",
            )
            return
        first, other = learn(learner, late, now.seen), learn(learner, learn(learner, now.state, now.seen), early.seen)
        hold(
            weighed or np.allclose(pack(first), pack(other), rtol=1e-9),
            f"late feedback with the propensities {p:.4g} and {(p + 1) / 2:.4g} leads to the same state, although the order "
            "of answers makes a difference; the propensity of the feedback must count",
        )


def _propensity_counts(learner: Learner, state: State, seen: Bandit) -> bool:
    """Return whether feedback for an action that was likelier leads to another state.

    A learner may divide very late feedback by 1, whatever its propensity was, but not all late feedback.
    """
    play = (seen.play + np.eye(seen.play.size)[seen.action]) / 2
    likelier = seen._replace(propensity=(seen.propensity + 1) / 2, play=play)
    return pack(learn(learner, state, likelier)).tobytes() != pack(learn(learner, state, seen)).tobytes()


def wrong_feedback_is_refused(learner: Learner, actions: int) -> None:
    """Check that wrong shapes, NaN and numbers outside [0, 1] raise ValueError and do not change the state."""
    now = deepcopy(steps(learner, actions)[-1])
    before = pack(now.state).tobytes()
    seen: Any = now.seen  # wrong values have wrong types
    kind = feedback_kind(type(learner))
    unchecked = {"charged", "play"} if kind is FeedbackKind.BANDIT else {"charged"}
    used = [name for name in seen._fields if name not in unchecked]
    for name in used:
        values = np.asarray(getattr(seen, name), dtype=np.float64)
        wrong = [actions, -1, 0.5] if name == "action" else [values * np.nan, values + 1.5, values - 1.5]
        for value in wrong + [np.append(values, 0.0)] * (values.ndim > 0):
            refuse(f"{name} = {value}", learn, learner, now.state, seen._replace(**{name: value}))
    hold(pack(now.state).tobytes() == before, "rejected feedback changed the state; it must not change")


def wrong_parameters_are_refused(learner: Learner, actions: int) -> None:
    """Check that bad sizes and floors in `tuned`, no actions in `start`, and NaN parameters raise ValueError."""
    for arguments in ((0, 100, 0.5), (actions, 0, 0.5), (actions, 100, 1.5), (actions, 100, np.nan)):
        refuse(f"tuned{arguments}", type(learner).tuned, *arguments)
    refuse("start(0)", learner.start, 0)
    for name in (name for name, kind in field_types(type(learner)).items() if kind is float):
        refuse(f"{name} = nan", partial(learner.replace, **{name: np.nan}))


def loop_and_single_steps_agree(learner: Learner, actions: int) -> None:
    """Check that the loop of a simulation and the single steps of an application give the same plays and actions."""
    rewards, constraints, _, contexts = world(learner, actions)
    trace = run(learner, rewards, constraints, every_round=True, contexts=contexts if contexts.size else None)
    session = Session(learner, actions, dice_of(*trace.seeds))
    again = world(learner, actions)._replace(actions=trace.actions[0])
    for t, (now, p) in enumerate(zip(walk(learner, actions, again, *trace.seeds), trace.plays[0], strict=True)):  # type: ignore[index]
        if now.context.size:
            session.see(now.context)
        for who, other in (("single steps play", now.play), ("a session plays", session.play())):
            agree = abs(other - p).max() <= ROUNDING
            hold(agree, "after round {} the loop plays {}, {} {}; they must agree", t, p, who, other)
        action, drawn = session.choose(t).action, again.actions[t]
        hold(action == drawn, f"after round {t} the loop draws action {drawn}, a session action {action}; they must agree")
        session.learn(now.seen)


def any_number_of_constraints_will_do(learner: Learner, actions: int) -> None:
    """Check that a learner with three floors has three multipliers in every round."""
    three = type(learner).tuned(actions, 100, (0.1, 0.2, 0.3))
    for t, now in enumerate(walk(three, actions)):
        multiplier = array_with(now.state, MULTIPLIER)
        sentence = "after round {} with three floors the multiplier is {}; it must be three"
        hold(multiplier is None or multiplier.size == 3, sentence, t, multiplier)


def guarantees_are_numbers_or_a_reason(learner: Learner, actions: int) -> None:
    """Check that in every setting there is a bound of a known kind, at most the trivial one, or a reason for none."""
    worlds = product(("constant", "iid", "arbitrary"), ("oblivious", "adaptive"), (None, 0.05))
    for rounds, setting in product((1, 100, MANY), (Setting(*assumed) for assumed in worlds)):
        statements = learner.guarantees(actions, rounds, setting)
        hold(statements, "guarantees is empty for {}; it must state a bound, or why there is none", setting)
        for guarantee in statements:
            if guarantee.regret is None or guarantee.violation is None:
                sentence = "a guarantee without a bound must have a reason, got {} for {}"
                hold(guarantee.reason, sentence, guarantee, setting)
                continue
            numbers, trivial = np.array([guarantee.regret, *guarantee.violation]), rounds * np.array([1, *learner.floor])
            hold(guarantee.kind in KINDS, f"the guarantee is of the kind {guarantee.kind!r}; it must be one of {KINDS}")
            hold(
                numbers.shape == trivial.shape and ((numbers >= 0) & (numbers <= trivial)).all(),
                "over {} rounds regret and violation are bounded by {}; they must lie between 0 and {}",
                *(rounds, numbers, trivial),
            )


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        one_line_says_what_it_is,
        play_is_a_distribution,
        actions_are_drawn_from_the_play,
        learn_leaves_its_arguments_untouched,
        same_inputs_give_same_outputs,
        learner_and_state_survive_json,
        extreme_rounds_leave_no_nan,
        relabelling_actions_relabels_plays,
        the_action_that_alone_pays_gains,
        multiplier_stays_between_zero_and_its_cap,
        zero_floor_reduces_to_the_unconstrained_parent,
        a_stale_play_is_accepted,
        wrong_feedback_is_refused,
        wrong_parameters_are_refused,
        loop_and_single_steps_agree,
        any_number_of_constraints_will_do,
        guarantees_are_numbers_or_a_reason,
        a_new_action_keeps_its_share,
        a_missing_action_returns_with_its_share,
        units_do_not_matter,
    )
}


def check(kind: type[Learner], laws: Iterable[Law] = tuple(LAWS.values())) -> list[Result]:
    """Test a class of learners against the laws; return one result per example and law."""
    results = [put(examples_are_given, kind.__name__, kind)]
    if not results[0].sentence:
        results.append(put(arrays_have_roles, kind.__name__, kind))
    for n, (learner, actions) in enumerate([] if results[-1].sentence else kind.examples(), start=1):
        example, subject = f"example {n}: {actions} actions, floor {learner.floor}", (learner, actions)
        results.append(put(rule_compiles if learner.compiled else rule_runs, example, *subject))
        if not results[-1].sentence:
            results += [put(law, example, *subject) for law in laws]
    return results
