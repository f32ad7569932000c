"""A learner's methods, as functions that compiled code finds by the learner's type: the engine's loops call them, and a
learner that runs another one inside."""

from collections.abc import Callable, Iterable, Sized
from typing import Any, Protocol

from lewa.feedback import Bandit, Full
from lewa.kernels.jit import INLINE, compiled_as
from lewa.kernels.packing import RULE
from lewa.types import Matrix, Vector


class Rule(Protocol):
    """The methods of a learner, in its compiled form or not; only the learner knows the type of its state."""

    def play(self, s: Any, p: Vector) -> None:
        """Write the play."""

    def charge(self, s: Any, action: int) -> None:
        """Charge the constraints."""

    def release(self, s: Any, charged: Vector) -> None:
        """Take note."""

    def learn(self, s: Any, seen: Any) -> None:
        """Learn."""


class DrawsItself(Rule, Protocol):
    """Those of a learner that draws its actions."""

    def choose(self, s: Any, u: float) -> tuple[int, float]:
        """Draw an action."""


def play(self: Rule, s: object, p: Vector) -> None:
    """Write its play into p."""
    self.play(s, p)


def choose(self: DrawsItself, s: object, u: float) -> tuple[int, float]:
    """Draw an action by one number u of [0, 1); return it and the probability that it had."""
    return self.choose(s, u)


def charge(self: Rule, s: object, action: int) -> None:
    """Let it charge its constraints for the action drawn."""
    self.charge(s, action)


def release(self: Rule, s: object, charged: Vector) -> None:
    """Let it take note that no answer to a decision will be learned."""
    self.release(s, charged)


def learn(self: Rule, s: object, seen: Full | Bandit) -> None:
    """Let it learn from one round."""
    self.learn(s, seen)


def inside(self: Any, s: Any) -> Any:
    """Return the learner that runs inside this one, and that learner's state."""
    return self.inside(s)


def rows(tables: Iterable[Vector | Matrix], e: int) -> tuple[Any, ...]:
    """Return row e of each of these vectors and matrices, as a tuple."""
    return tuple(table[e] for table in tables)


compiled_as(play, lambda self, s, p: self.instance_class.play, jit_options=INLINE)
compiled_as(choose, lambda self, s, u: self.instance_class.choose, jit_options=INLINE)
compiled_as(charge, lambda self, s, action: self.instance_class.charge, jit_options=INLINE)
compiled_as(release, lambda self, s, charged: self.instance_class.release, jit_options=INLINE)
compiled_as(learn, lambda self, s, seen: self.instance_class.learn, jit_options=INLINE)
# These two are inlined before typing: a function without reference counts may not return a new view.
compiled_as(inside, lambda self, s: self.instance_class.inside, inline="always")


def _rows(tables: Sized, e: object) -> Callable[..., object]:
    if len(tables) <= 4:  # written out, as each step of the recursion below takes long to compile
        return (
            lambda tables, e: (),
            lambda tables, e: (tables[0][e],),
            lambda tables, e: (tables[0][e], tables[1][e]),
            lambda tables, e: (tables[0][e], tables[1][e], tables[2][e]),
            lambda tables, e: (tables[0][e], tables[1][e], tables[2][e], tables[3][e]),
        )[len(tables)]
    return lambda tables, e: rows(tables[:4], e) + rows(tables[4:], e)


compiled_as(rows, _rows, inline="always")


def method(name: str) -> Callable[..., float]:
    """Return a function that calls a further method of a rule; compiled code finds it by the learner's type."""

    def call(self: Any, *arguments: object) -> Any:
        return getattr(self, name)(*arguments)

    call.__name__ = call.__qualname__ = name
    RULE.append(name)
    compiled_as(call, lambda self, *arguments: getattr(self.instance_class, name), jit_options=INLINE)
    return call
