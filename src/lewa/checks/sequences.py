"""The rounds on which the laws of learners are tested: a few arbitrary rounds, and many extreme ones."""

import warnings
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lewa import functional
from lewa.feedback import NOTHING, Bandit, FeedbackKind, Full, feedback_kind, full_feedback
from lewa.games import Table
from lewa.kernels.jit import DISABLED
from lewa.kernels.roles import CHARGED, FEATURES, array_with
from lewa.learners.base import Learner
from lewa.measures.trace import Trace
from lewa.simulate.run import play
from lewa.types import Cube, Indices, Matrix, State, Vector

FEW = 30  # rounds that most laws look at
MANY = 100_000  # rounds that bring out what a few do not
FEWER = 1000  # the same, of a rule that is not compiled
DRAWS = 1000  # rounds whose actions are counted


class World(NamedTuple):
    """Rounds, and the action that is drawn in each."""

    rewards: Matrix  # (T, K)
    constraints: Cube  # (T, m, K)
    actions: Indices  # (T,)
    contexts: Matrix  # (T, d), d = 0 for a learner without context


class Step(NamedTuple):
    """A round from the learner's side."""

    state: State  # after the draw, before the answer
    play: Vector  # (K,)
    seen: Full | Bandit
    context: Vector  # (d,)


def world(learner: Learner, actions: int, rounds: int | None = None) -> World:
    """Return arbitrary rounds, the same in every call; FEW rounds by default."""
    rounds = FEW if rounds is None else rounds
    dice, m = np.random.default_rng(12), learner.floor.size
    features = array_with(learner.start(actions), FEATURES)
    d = 0 if features is None else features.size
    outcomes = dice.random((rounds, actions)), dice.random((rounds, m, actions)), dice.integers(actions, size=rounds)
    if "policies" in learner.parameters:  # their advice, each row a distribution
        return World(*outcomes, dice.dirichlet(np.ones(actions), (rounds, d // actions)).reshape(rounds, d))
    contexts = dice.uniform(-1, 1, (rounds, d)) / max(d, 1) ** 0.5
    contexts[:, :1] = 1
    return World(*outcomes, contexts)


def relabelled_world(learner: Learner, here: World, order: Indices) -> World:
    """Return the same rounds with action order[k] renamed to action k, also in the advice of policies."""
    contexts = here.contexts
    if "policies" in learner.parameters:
        contexts = contexts.reshape(len(contexts), -1, order.size)[:, :, order].reshape(contexts.shape)
    return World(here.rewards[:, order], here.constraints[:, :, order], np.argsort(order)[here.actions], contexts)


def feedback_of(
    learner: Learner, p: Vector, rewards: Vector, constraints: Matrix, action: int, charged: Vector = NOTHING
) -> Full | Bandit:
    """Return the learner's feedback in a round with the play p."""
    p = p / p.sum()  # so that a play that sums to something else breaks the law that says so, and no other
    if feedback_kind(type(learner)) is FeedbackKind.FULL:
        return full_feedback(rewards, constraints, p, charged)
    return Bandit(action, float(p[action]), float(rewards[action]), constraints[:, action].copy(), p, charged)


def walk(learner: Learner, actions: int, sequence: World | None = None, seed: int | None = None) -> Iterator[Step]:
    """Play the rounds one by one, by the functions that an application calls."""
    state = functional.start(learner, actions, seed)
    for rewards, constraints, action, context in zip(*(sequence or world(learner, actions)), strict=True):
        if context.size:
            state = functional.see(learner, state, context)
        p = functional.play(learner, state)
        i = _drawable(p, int(action))
        state, charged = charge(learner, state, i)
        seen = feedback_of(learner, p, rewards, constraints, i, charged)
        yield Step(state, p, seen._replace(**{name: copy(value) for name, value in seen._asdict().items()}), context)
        state = functional.learn(learner, state, seen)


@lru_cache(maxsize=1)  # most laws look at these
def steps(learner: Learner, actions: int) -> tuple[Step, ...]:
    """Return the steps of a walk through arbitrary rounds; a law that passes one to the learner copies it first."""
    return tuple(walk(learner, actions))


def charge(learner: Learner, state: State, action: int) -> tuple[State, Vector]:
    """Return the state after the draw of an action, and the constraint values that were charged for it."""
    if array_with(state, CHARGED) is None:
        return state, NOTHING
    state = functional.charge(learner, state, action)
    return state, array_with(state, CHARGED).copy()


def _drawable(p: Vector, action: int) -> int:
    """Return the action, or the next one in a circle that the play can draw: so in every order of the actions alike."""
    return next((i for n in range(p.size) if p[i := (action + n) % p.size] > 0), action)


def run(
    learner: Learner, rewards: Matrix, constraints: Cube, every_round: bool = False, contexts: Matrix | None = None
) -> Trace:
    """Play the rounds in the compiled loop."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")  # the laws hold whether one does or not
        return play(learner, Table(rewards, constraints.transpose(0, 2, 1), contexts), every_round=every_round)


def many_rounds(learner: Learner) -> int:
    """Return the number of rounds for long tests; it is smaller for a rule that is not compiled."""
    return MANY if learner.compiled and not DISABLED else FEWER


@lru_cache(maxsize=1)  # two laws look at the same runs
def extremes(learner: Learner, actions: int) -> list[tuple[str, Trace]]:
    """Play many rounds that are numerically extreme."""
    many = many_rounds(learner)
    t, i = np.arange(many)[:, np.newaxis], np.arange(actions)
    late, turns, ones = t >= many // 2, (t + i) % 2.0, np.ones((many, actions))
    hardest = {
        "all ones": (ones, ones),
        "alternating 0 and 1": (turns, 1 - turns),
        "constraints below the floor at first and a changing best action": (
            i == np.where(late, actions - 1, 0),
            late * ones,
        ),
    }
    return [
        (name, run(learner, rewards, np.stack([constraints] * learner.floor.size, axis=1)))
        for name, (rewards, constraints) in hardest.items()
    ]
