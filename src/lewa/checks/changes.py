"""The laws of learners whose problem changes: an action is added, an action is missing, a constraint has other units."""

import numpy as np

from lewa.checks.laws import hold
from lewa.checks.sequences import World, world
from lewa.engine.extend import extend, with_floor
from lewa.engine.session import Choice, Session, dice_of
from lewa.feedback import feedback_kind
from lewa.kernels import Weights
from lewa.kernels.records import state_type
from lewa.kernels.roles import POLICIES, Rescaling, Units, arrays, field_with, part_of, roles
from lewa.learners.base import Learner
from lewa.types import State

SHARE = 0.02  # of the action that is added
JUMP = 6.0  # the factor by which an answer of another action may change a share: steps and projections change with it
AWAY, LATER = 60, 0.1  # rounds for which an action is missing; what its share may rise by in them, beyond twice
UNITS = Rescaling(j=0, ratio=0.5, shift=0.0)
NEAR = 1e-9


def arrays_have_roles(kind: type[Learner]) -> None:
    """Check that each array of the state has a role, and that its shape is that of its role."""
    try:
        roles(state_type(kind))
    except ValueError as error:
        hold(False, str(error))
    for learner, actions in kind.examples():
        more = _extended(learner)
        if more is None:
            continue
        m, first, larger = learner.floor.size, learner.start(actions), more.start(actions + 1)
        for (role, few, _), (_, many, _) in zip(arrays(first), arrays(larger), strict=True):
            grows = few.shape != many.shape
            hold(
                grows or not role.of_actions,
                f"an array with the role {role.name!r} has the shape {few.shape} with {actions} actions and with one more; "
                "it must have entries of each action",
            )
            size = few.shape[role.axis] if few.size else 0
            hold(
                role.units is Units.NONE or size % (m + role.targets) == 0,
                f"an array with the role {role.name!r} has the shape {few.shape} with {m} constraints; it must have entries "
                "of each constraint",
            )
        weights = part_of(first, Weights)
        hold(
            weights is None or weights.log.size == actions or field_with(type(first), POLICIES) is not None,
            f"with {actions} actions the state has other weights; those of policies must have the role OfPolicies",
        )


def a_new_action_keeps_its_share(learner: Learner, actions: int) -> None:
    """Check that an action that is added keeps the share that it enters with until its own answers move it.

    A learner whose play is made of statistics declares `keeps_shares = False`: an agent holds a new action to its share.
    """
    larger = _extended(learner)
    if larger is None:
        return
    session = _trained(learner, actions)
    try:
        state = extend(learner, larger, session.state, actions, None, SHARE)
    except ValueError:
        return  # it refuses
    now = Session(larger, actions + 1, state=state)
    before, floor = now.play(), learner.floor[:, np.newaxis]
    if not learner.keeps_shares or before[-1] == 0:
        return
    most = max(SHARE, 1 / (actions + 1)) + NEAR
    hold(
        before[-1] <= most,
        f"an action that enters with the share {SHARE} has {before[-1]:.4g}; it must be at most {most:.4g}, or the "
        "learner sets keeps_shares = False",
    )
    i = int(np.argmax(before[:-1]))
    choice = Choice(i, float(before[i]), before, None, now.charge(i), now.seen_features)
    now.learn(now.answer(choice, np.full(actions + 1, 0.5), np.tile(floor, actions + 1)))
    after = now.play()
    hold(
        before[-1] / JUMP <= after[-1] <= before[-1] * JUMP,
        f"a new action has the share {before[-1]:.4g}, and {after[-1]:.4g} after one answer of another action; it must keep "
        "its share until its own answers move it, or the learner sets keeps_shares = False",
    )


def a_missing_action_returns_with_its_share(learner: Learner, actions: int) -> None:
    """Check that an action that was missing for some rounds returns with about the share that it had before.

    The law is tested twice: the actions that are there earn nothing, or all that can be earned."""
    if actions == 1 or not learner.keeps_shares or not feedback_kind(type(learner)).is_bandit:
        return
    there, floor = np.ones(actions), np.tile(learner.floor[:, np.newaxis], actions)
    there[-1] = 0.0
    for earned in (0.0, 1.0):
        session = _trained(learner, actions)
        before = session.play()[-1]
        for t in range(AWAY):
            choice = session.choose(t, there)
            session.learn(session.answer(choice, np.full(actions, earned), floor), there)
        after = session.play()[-1]
        least, most = before / JUMP - NEAR, 2 * before + LATER
        hold(
            least <= after <= most,
            f"an action with the share {before:.4g} has {after:.4g} after {AWAY} rounds in which it was missing and the "
            f"others earned {earned:g}; it must have between {least:.4g} and {most:.4g}",
        )


def units_do_not_matter(learner: Learner, actions: int) -> None:
    """Check that statistics in other units of a constraint are those of a learner that learned in these units.

    What depends on prices or plays may differ. A learner may refuse other units with a ValueError."""
    here, j, floor = world(learner, actions), UNITS.j, np.array(learner.floor)
    floor[j] = UNITS.constraint(floor[j])
    try:
        other, state = with_floor(learner, _learned(learner, actions, here), floor, UNITS)
    except ValueError:
        return
    there = here._replace(constraints=here.constraints.copy())
    there.constraints[:, j] = UNITS.constraint(there.constraints[:, j])
    for (role, values, _), (_, wanted, _) in zip(arrays(state), arrays(_learned(other, actions, there)), strict=True):
        hold(
            not role.data or np.allclose(values, wanted, rtol=NEAR, atol=NEAR),
            "with a cost z in units of {} z the array with the role {!r} is {}; learned in these units it is {}",
            *(UNITS.ratio, role.name, values.tolist(), wanted.tolist()),
        )


def _extended(learner: Learner) -> Learner | None:
    """Return the learner for one more action, or None if it refuses."""
    try:
        return learner.extended(None, {1 + j: 0.5 for j in range(learner.floor.size)})
    except ValueError:
        return None


def _trained(learner: Learner, actions: int) -> Session:
    """Return a session after some rounds in which the last action earns less than the others."""
    session, here = Session(learner, actions, dice_of(3)), world(learner, actions)
    for t, (rewards, context) in enumerate(zip(here.rewards, here.contexts, strict=True)):
        session.see(context)
        earned, met = rewards.copy(), np.tile(learner.floor[:, np.newaxis], actions)
        earned[-1] /= 4
        session.learn(session.answer(session.choose(t), earned, met))
    return session


def _learned(learner: Learner, actions: int, here: World) -> State:
    """Return the state after these rounds, whose actions were drawn from the uniform play."""
    session, even = Session(learner, actions), np.full(actions, 1 / actions)
    for rewards, constraints, action, context in zip(*here, strict=True):
        session.see(context)
        choice = Choice(int(action), 1 / actions, even, None, session.charge(int(action)), context)
        session.learn(session.answer(choice, rewards, constraints)._replace(play=even))
    return session.state
