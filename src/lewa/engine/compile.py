"""Compile the loop and the single steps of a class of learner, once per class, and keep them on disk.

Numba keeps one file on disk for each name of a function and compiles it anew when the function's own source file changes.
That is not enough here: a loop is made of a learner, its kernels and the engine, in many files. So the name holds a stamp,
a hash of all that the loop is made of (see stamp.py): code that was compiled of something else has another name and is
never found. The name also holds the learner and the step. Numba writes its files without a lock, so two processes that
compile two learners, or two versions of one, could otherwise overwrite each other's files.
"""

from collections.abc import Iterator
from types import FunctionType
from typing import NamedTuple

from lewa.engine.loops import LOOPS, Loop
from lewa.engine.not_compiled import explained
from lewa.engine.stamp import UNSAVED, stamp_of
from lewa.engine.steps import (
    TYPES,
    ChargeStep,
    ChooseStep,
    DrawMany,
    LearnBandit,
    LearnFull,
    LearnMany,
    PlayStep,
    ReleaseStep,
    charge_step,
    choose_from_play_step,
    choose_step,
    draw_many_step,
    learn_bandit_step,
    learn_full_step,
    learn_many_step,
    play_step,
    release_step,
)
from lewa.feedback import FeedbackKind, feedback_kind
from lewa.kernels import compiled_form, state_type
from lewa.kernels.jit import DISABLED, compile_program, load_program
from lewa.kernels.roles import CHARGED, field_with
from lewa.learners.base import Learner
from lewa.types import cached


class CompiledLearner(NamedTuple):
    """The compiled functions of one class of learner; each is compiled when it is first called, or by `load_steps`."""

    run: Loop  # rounds in a row
    play: PlayStep
    choose: ChooseStep
    charge: ChargeStep
    release: ReleaseStep
    learn_full: LearnFull
    learn_bandit: LearnBandit
    draw_many: DrawMany
    learn_many: LearnMany


def load_steps(learner: type[Learner]) -> Iterator[None]:
    """Compile the single steps that an agent with this class of learner takes, or read them from the disk, one by one."""
    steps, feedback = compile_learner(learner), feedback_kind(learner)
    names = ["play", "choose", "draw_many"]
    names += ["learn_full"] if feedback is FeedbackKind.FULL else ["learn_bandit", "learn_many"]
    if field_with(state_type(compiled_form(learner)), CHARGED) is not None:
        names += ["charge", "release"] if learner.quotes_prices else ["charge"]
    for name in names:
        types = "choose_itself" if name == "choose" and feedback is FeedbackKind.BANDIT else name
        load_program(getattr(steps, name), TYPES[types])
        yield


@cached
def plain_learner(learner: type[Learner]) -> CompiledLearner:
    """Return the loop and single steps of a class of learner as plain Python, which needs no compiler."""
    form, feedback = compiled_form(learner), feedback_kind(learner)
    if feedback is FeedbackKind.BANDIT and field_with(state_type(form), CHARGED) is not None:
        raise ValueError(
            f"{learner.__name__} must not have both choose and a state with charged: a learner that charges draws from its "
            "whole play"
        )

    draw = choose_step if feedback is FeedbackKind.BANDIT else choose_from_play_step
    return CompiledLearner(
        run=LOOPS[feedback](form),
        play=play_step(form),
        choose=draw(form),
        charge=charge_step(form),
        release=release_step(form),
        learn_full=learn_full_step(form),
        learn_bandit=learn_bandit_step(form),
        draw_many=draw_many_step(form),
        learn_many=learn_many_step(form),
    )


@cached
def compile_learner(learner: type[Learner]) -> CompiledLearner:
    """Return the same compiled; plain Python if the class has `compiled = False`."""
    plain = plain_learner(learner)
    if DISABLED or not learner.compiled:
        return plain
    stamp = stamp_of(compiled_form(learner))

    def named(name: str, code: FunctionType) -> object:
        copy = FunctionType(code.__code__, code.__globals__, code.__name__, None, code.__closure__)
        copy.__module__ = __name__
        copy.__qualname__ = f"{name}.{learner.__module__}.{learner.__qualname__}.{stamp[:16]}"
        # A single step keeps Python's lock: it is then atomic, and faster.
        return explained(compile_program(copy, keep=stamp != UNSAVED, alone=name == "run"), learner)

    return CompiledLearner(*(named(name, code) for name, code in plain._asdict().items()))  # type: ignore[arg-type]
