"""A learner's methods, as functions that compiled code finds by the learner's type: the engine's loops call them, and a
learner that runs another one inside."""

from typing import Any

from numba.extending import overload

from lewa.kernels.jit import INLINE
from lewa.types import Vector


def play(self: Any, s: Any, p: Vector) -> None:
    """Write its play into p."""
    self.play(s, p)


def choose(self: Any, s: Any, u: float) -> Any:
    """Draw an action by one number u of [0, 1)."""
    return self.choose(s, u)


def learn(self: Any, s: Any, seen: Any) -> None:
    """Let it learn from one round."""
    self.learn(s, seen)


overload(play, jit_options=INLINE, strict=False)(lambda self, s, p: self.instance_class.play)
overload(choose, jit_options=INLINE, strict=False)(lambda self, s, u: self.instance_class.choose)
overload(learn, jit_options=INLINE, strict=False)(lambda self, s, seen: self.instance_class.learn)
