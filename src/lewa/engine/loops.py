"""The loop over rounds, one for each kind of feedback.

Each function here makes the loop of one class of learner. The loop holds the class in its closure and finds the learner's
methods by it; parameters and state are in one buffer (see kernels/packing.py).

A loop writes to its record only through the rules of outcomes.py. Numba inlines `unpack` and then removes assignments that
it takes for dead code: it does not see that an array inside of a nested record belongs to the caller.

A window may ask for the play of the round after its last one. The loop then begins that round and stops after the play, so
that the play is compiled once.
"""

from collections.abc import Callable
from typing import TypeAlias

from lewa.blocks import Rounds
from lewa.engine.outcomes import (
    add_multiplier,
    add_observed_shortfall,
    add_reward,
    add_shortfall,
    add_shortfall_of_action,
    met_by_play,
    reveal,
    see_context,
    write_action,
    write_play,
)
from lewa.engine.records import Record, Window
from lewa.feedback import Bandit, FeedbackKind, Full
from lewa.kernels import means, observe, pick, state_type, uniform, unpack
from lewa.kernels.dispatch import charge, choose, learn, play
from lewa.kernels.roles import CHARGED, FEATURES, MULTIPLIER, Role, field_with
from lewa.learners.base import Learner
from lewa.types import Vector

Loop: TypeAlias = Callable[[Vector, Rounds, Window, Record], None]


def _places(learner: type[Learner], *wanted: Role) -> list[int]:
    """Return the place in the state of the array with each of these roles, or -1. Numba leaves out branches on constants."""
    state = state_type(learner)
    names = [field_with(state, role) for role in wanted]
    return [-1 if name is None else state._fields.index(name) for name in names]


def full_loop(learner: type[Learner]) -> Loop:
    """Make the loop of a learner that sees every action."""
    features, multiplier, charges = _places(learner, FEATURES, MULTIPLIER, CHARGED)
    contextual, priced, charging = features >= 0, multiplier >= 0, charges >= 0

    def run(memory: Vector, nature: Rounds, window: Window, record: Record) -> None:
        sums, history, p, met = record.sums, record.history, record.play, record.met
        self, s = unpack(learner, memory)
        charged = s[charges] if charging else p[:0]
        for t in range(window.rounds + window.ahead):
            if contextual and t < window.rounds:
                see_context(s[features], nature, t)
            play(self, s, p)
            if t == window.rounds:
                break
            if priced:
                add_multiplier(s[multiplier], t, sums, history)
            if charging:
                charge(self, s, 0)  # the prices of a learner that sees every action do not depend on the action
            seen = Full(nature.rewards[t], nature.constraints[t], met, p, charged)
            add_reward(sums, observe(p, seen))
            add_observed_shortfall(sums, self.floor, met)
            learn(self, s, seen)
            if record.mean_constraints.shape[0] > 0:
                means(p, record.mean_constraints, met)
            add_shortfall(sums, self.floor, met)
            if history.actions.size > 0:
                write_action(history, t, pick(p, uniform(window.dice[0], window.start + t)))
                write_play(history, t, p)

    return run


def bandit_loop(learner: type[Learner]) -> Loop:
    """Make the loop of a learner that draws its action itself, and writes its play only if every round is written."""
    features, multiplier = _places(learner, FEATURES, MULTIPLIER)
    contextual, priced = features >= 0, multiplier >= 0

    def run(memory: Vector, nature: Rounds, window: Window, record: Record) -> None:
        sums, history, p, c = record.sums, record.history, record.play, record.met
        self, s = unpack(learner, memory)
        nothing = p[:0]
        for t in range(window.rounds + window.ahead):
            if contextual and t < window.rounds:
                see_context(s[features], nature, t)
            if history.actions.size > 0 or t == window.rounds:
                play(self, s, p)
                if t == window.rounds:
                    break
                write_play(history, t, p)
            i, propensity = choose(self, s, uniform(window.dice[0], window.start + t))
            if priced:
                add_multiplier(s[multiplier], t, sums, history)
            reward = reveal(nature, t, i, c)
            add_reward(sums, reward)
            add_shortfall_of_action(sums, self.floor, i, c, record.mean_constraints)
            learn(self, s, Bandit(i, propensity, reward, c, nothing, nothing))
            if history.actions.size > 0:
                write_action(history, t, i)

    return run


def dense_loop(learner: type[Learner]) -> Loop:
    """Make the loop of a learner that sees one action, drawn from a play that it writes out."""
    features, multiplier, charges = _places(learner, FEATURES, MULTIPLIER, CHARGED)
    contextual, priced, charging = features >= 0, multiplier >= 0, charges >= 0

    def run(memory: Vector, nature: Rounds, window: Window, record: Record) -> None:
        sums, history, p, c = record.sums, record.history, record.play, record.met
        self, s = unpack(learner, memory)
        charged = s[charges] if charging else p[:0]
        for t in range(window.rounds + window.ahead):
            if contextual and t < window.rounds:
                see_context(s[features], nature, t)
            play(self, s, p)
            if t == window.rounds:
                break
            i = pick(p, uniform(window.dice[0], window.start + t))
            if priced:
                add_multiplier(s[multiplier], t, sums, history)
            if charging:
                charge(self, s, i)
            reward = reveal(nature, t, i, c)
            add_reward(sums, reward)
            add_observed_shortfall(sums, self.floor, c)
            learn(self, s, Bandit(i, p[i], reward, c, p, charged))
            if record.mean_constraints.shape[0] > 0:
                means(p, record.mean_constraints, c)
            else:
                met_by_play(nature, t, p, c)
            add_shortfall(sums, self.floor, c)
            if history.actions.size > 0:
                write_action(history, t, i)
                write_play(history, t, p)

    return run


LOOPS: dict[FeedbackKind, Callable[[type[Learner]], Loop]] = {
    FeedbackKind.FULL: full_loop,
    FeedbackKind.BANDIT: bandit_loop,
    FeedbackKind.DENSE: dense_loop,
}
