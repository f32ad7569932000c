"""Play rounds one at a time: for late feedback, missing actions, and a learner whose rule is not compiled."""

import numpy as np

from lewa.blocks import Rounds
from lewa.engine.records import Record, RoundHistory, RunningSums, Window, new_history
from lewa.engine.session import Choice, Session
from lewa.feedback import Bandit, FeedbackKind, Full
from lewa.game import Game
from lewa.types import Matrix, Vector, Words


class PythonLoop:
    """A loop in Python with the interface of a compiled loop; it stores feedback that has not arrived yet."""

    def __init__(self, session: Session, game: Game, key: Words) -> None:
        self.session, self.game, self.key = session, game, key
        self.waiting: dict[int, list[tuple[Full | Bandit, Choice]]] = {}  # by the round after which it is learned
        self.answers = np.zeros(session.actions)  # of each action

    def __call__(self, memory: Vector, nature: Rounds, window: Window, record: Record) -> None:
        """Play rounds in a row."""
        session, start, stop = self.session, window.start, window.start + window.rounds
        arrives = self.game.arrives(self.key, start, stop).tolist()
        masks = self.game.available(self.key, start, stop) if self.game.missing_actions else None
        written, history = record.history.actions.size > 0, record.history
        if not written:
            history = new_history(window.rounds, session.actions, session.multiplier.size)
        for t in range(window.rounds):
            history.multipliers[t] = session.multiplier
            if nature.contexts.shape[1] > 0:
                session.see(nature.contexts[t])
            choice = session.choose(start + t, None if masks is None else masks[t], with_play=written)
            history.actions[t] = choice.action
            if choice.play.size:
                history.plays[t] = choice.play
            if arrives[t] >= start + t:
                seen = session.answer(choice, nature.rewards[t], nature.constraints[t])
                self.waiting.setdefault(arrives[t], []).append((seen, choice))
            for seen, made in self.waiting.pop(start + t, ()):
                session.see(made.features)
                self.answers[made.action] += 1
                gone = () if made.available is None else np.flatnonzero((made.available == 0) & (self.answers == 0)).tolist()
                session.learn(seen, made.available, gone)
        add_up(session, nature, record, history)
        if window.ahead:
            session.steps.play(memory, record.play)


def add_up(session: Session, nature: Rounds, record: Record, history: RoundHistory) -> None:
    """Add the rounds to the sums of the record."""
    floor, known = session.learner.floor, nature.constraints
    drew: Matrix = np.eye(session.actions)[history.actions]
    seen = history.plays if session.feedback is FeedbackKind.FULL else drew  # what rewards and constraints are revealed of
    by = drew if session.feedback is FeedbackKind.BANDIT else history.plays  # what violation is measured on
    if record.mean_constraints.shape[0] > 0:
        known = np.broadcast_to(record.mean_constraints, nature.constraints.shape)
    short = floor - np.einsum("tmk,tk->tm", known, by)
    sums, largest = record.sums, record.sums.largest_multiplier
    np.maximum(largest, history.multipliers.max(axis=0), out=largest)
    more = RunningSums(
        reward=np.array([(seen * nature.rewards).sum()]),
        shortfall=short.sum(axis=0),
        positive=np.maximum(short, 0).sum(axis=0),
        observed_shortfall=(floor - np.einsum("tmk,tk->tm", nature.constraints, seen)).sum(axis=0),
        multiplier_sums=history.multipliers.sum(axis=0),
        largest_multiplier=np.zeros(floor.size),
    )
    for total, part in zip(sums, more, strict=True):
        total += part
