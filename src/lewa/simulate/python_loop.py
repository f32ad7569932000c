"""Rounds one at a time: for games in which feedback comes late or actions are missing, which no compiled loop is for."""

from typing import Any

import numpy as np

from lewa.blocks import Block
from lewa.engine.loops import Columns, Tally, loops
from lewa.feedback import feedback_kind
from lewa.kernels import uniform, unpack
from lewa.kernels.sampling import drawn, restricted
from lewa.types import Matrix, Vector, Words


class OneByOne:
    """What a compiled loop does, a round at a time, where feedback comes late or some actions are not there."""

    def __init__(self, learner: Any, game: Any, memory: Vector, key: Words) -> None:
        self.kind, self.steps, self.floor = feedback_kind(type(learner)), loops(type(learner)), learner.floor
        self.game, self.key = game, key
        state = unpack(type(learner), memory)[1]
        self.multiplier = state.multiplier if hasattr(state, "multiplier") else np.zeros(learner.floor.size)
        self.waiting: dict[int, list[tuple[Any, ...]]] = {}  # by the round after which it is learned
        self.learn = self.steps.learn_full if self.kind == "full" else self.steps.learn_bandit

    def __call__(
        self,
        memory: Vector,
        nature: Block,
        mean_constraints: Matrix,
        rounds: int,
        dice: Words,
        start: int,
        p: Vector,
        met: Vector,
        tally: Tally,
        columns: Columns,
    ) -> None:
        """Rounds in a row, with the arguments of a compiled loop."""
        now = self.key, start, start + rounds
        arrives = self.game.arrives(*now).tolist() if hasattr(self.game, "arrives") else range(*now[1:])
        there = self.game.available(*now) if hasattr(self.game, "available") else [None] * rounds
        written = columns.actions.size > 0
        if not written:
            columns = Columns(np.zeros((rounds, p.size)), np.zeros((rounds, met.size)), np.zeros(rounds, dtype=np.int64))
        for t, when in enumerate(arrives):
            columns.multipliers[t] = self.multiplier
            i, propensity, play = self.decide(memory, dice, start + t, p, there[t], written)
            columns.plays[t], columns.actions[t] = play, i
            if when >= start + t:
                answer = self.answer(i, propensity, p, play, nature.rewards[t], nature.constraints[t])
                self.waiting.setdefault(when, []).append(answer)
            for one in self.waiting.pop(start + t, ()):
                self.learn(memory, *one)
        self.add_up(nature, mean_constraints, tally, columns)

    def decide(self, memory: Vector, dice: Words, t: int, p: Vector, there: Any, written: bool) -> tuple[int, float, Vector]:
        """The action, the chance that it has, and the play, if anybody looks at it; the learner's own is left in p."""
        if there is not None and not there.all():
            self.steps.play(memory, p)
            play = restricted(p, there)
            i = drawn(play, uniform(dice[0], t))
            return i, float(play[i]), play
        if self.kind == "bandit":
            if written:
                self.steps.play(memory, p)
            return *self.steps.choose(memory, dice, t), p
        return *self.steps.choose(memory, dice, t, p), p

    def answer(
        self, i: int, propensity: float, p: Vector, play: Vector, rewards: Vector, constraints: Matrix
    ) -> tuple[Any, ...]:
        """What is learned of a round, in arrays of its own. Where actions are missing it is what an agent learns then: one
        that sees them all is told what the restricted play met, another its own play, and the chance that its action had."""
        if self.kind == "full":
            return rewards.copy(), constraints.copy(), np.minimum(constraints @ play, 1), play.copy()
        own = p[:0] if self.kind == "bandit" else p.copy()
        return i, propensity, float(rewards[i]), constraints[:, i].copy(), own

    def add_up(self, nature: Block, mean_constraints: Matrix, tally: Tally, columns: Columns) -> None:
        """What the rounds come to."""
        drew = np.eye(columns.plays.shape[1])[columns.actions]
        seen = columns.plays if self.kind == "full" else drew  # what rewards and constraints are revealed of
        by = drew if self.kind == "bandit" else columns.plays  # what violation is measured on
        known = (
            nature.constraints
            if mean_constraints.shape[0] == 0
            else np.broadcast_to(mean_constraints, nature.constraints.shape)
        )
        short = self.floor - np.einsum("tmk,tk->tm", known, by)
        np.maximum(tally.largest_multiplier, columns.multipliers.max(axis=0), out=tally.largest_multiplier)
        sums = Tally(
            reward=np.array([(seen * nature.rewards).sum()]),
            shortfall=short.sum(axis=0),
            positive=np.maximum(short, 0).sum(axis=0),
            observed_shortfall=(self.floor - np.einsum("tmk,tk->tm", nature.constraints, seen)).sum(axis=0),
            multiplier_sums=columns.multipliers.sum(axis=0),
            largest_multiplier=np.zeros(self.floor.size),
        )
        for total, more in zip(tally, sums, strict=True):
            total += more
