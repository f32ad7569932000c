"""Compile the loop and the single steps of a class of learner, once per class, and keep them on disk.

Numba keeps one file on disk for each name of a function and compiles it anew when the function's own source file changes.
That is not enough here: a loop is made of a learner, its kernels and the engine, in many files. So the name holds a stamp,
a hash of all that the loop is made of (see stamp.py): code that was compiled of something else has another name and is
never found. The name also holds the learner and the step. Numba writes its files without a lock, so two processes that
compile two learners, or two versions of one, could otherwise overwrite each other's files.
"""

from functools import cache
from types import FunctionType
from typing import NamedTuple, TypeVar, cast

from lewa.engine.loops import LOOPS, Loop
from lewa.engine.not_compiled import explained
from lewa.engine.stamp import UNSAVED, stamp_of
from lewa.engine.steps import (
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
    draw_many_from_play_step,
    draw_many_step,
    learn_bandit_step,
    learn_full_step,
    learn_many_step,
    play_step,
    release_step,
)
from lewa.feedback import FeedbackKind, feedback_kind
from lewa.kernels import compiled_form, state_type
from lewa.kernels.jit import program
from lewa.kernels.roles import CHARGED, field_with
from lewa.learners.base import Learner

F = TypeVar("F")


class CompiledLearner(NamedTuple):
    """The compiled functions of one class of learner; each is compiled when it is first called."""

    run: Loop  # rounds in a row
    play: PlayStep
    choose: ChooseStep
    charge: ChargeStep
    release: ReleaseStep
    learn_full: LearnFull
    learn_bandit: LearnBandit
    draw_many: DrawMany
    learn_many: LearnMany


def compile_learner(learner: type[Learner]) -> CompiledLearner:
    """Return the compiled loop and single steps of a class of learner; plain Python if it has `compiled = False`."""
    return _compile(learner.compiled_as or learner)  # type: ignore[arg-type]  # mypy takes the hash of an object for that of its class


@cache
def _compile(learner: type[Learner]) -> CompiledLearner:
    form = compiled_form(learner)
    stamp, feedback = stamp_of(form), feedback_kind(learner)
    if feedback is FeedbackKind.BANDIT and field_with(state_type(form), CHARGED) is not None:
        raise ValueError(
            f"{learner.__name__} must not have both choose and a state with charged: a learner that charges draws from its "
            "whole play"
        )

    def named(name: str, function: F) -> F:
        if not learner.compiled:
            return function
        code = cast(FunctionType, function)
        copy = FunctionType(code.__code__, code.__globals__, code.__name__, None, code.__closure__)
        copy.__module__ = __name__
        copy.__qualname__ = f"{name}.{learner.__module__}.{learner.__qualname__}.{stamp[:16]}"
        # A single step keeps Python's lock: it is then atomic, and faster.
        made = program(copy, keep=stamp != UNSAVED, alone=name == "run")
        return cast(F, explained(made, learner))

    draw = choose_step if feedback is FeedbackKind.BANDIT else choose_from_play_step
    draw_many = draw_many_step if feedback is FeedbackKind.BANDIT else draw_many_from_play_step
    return CompiledLearner(
        run=named("run", LOOPS[feedback](form)),
        play=named("play", play_step(form)),
        choose=named("choose", draw(form)),
        charge=named("charge", charge_step(form)),
        release=named("release", release_step(form)),
        learn_full=named("learn_full", learn_full_step(form)),
        learn_bandit=named("learn_bandit", learn_bandit_step(form)),
        draw_many=named("draw_many", draw_many(form)),
        learn_many=named("learn_many", learn_many_step(form)),
    )
