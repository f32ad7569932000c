"""Doubling: any tuned learner without a horizon, started afresh in epochs that double."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from math import ceil, log2
from typing import Any, get_type_hints

import numpy as np

from lewa.feedback import feedback_kind
from lewa.kernels import builder, flat, pack, restore
from lewa.kernels import dispatch as methods
from lewa.learners.base import check_epsilon, check_size, require
from lewa.learners.ewa import Ewa
from lewa.learners.wrapper import about, fields, settle
from lewa.theory import anytime
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector

MOST = 10**13  # rounds that the epochs cover at least: at a nanosecond each they take three hours


@cache
def doubling(kind: Any) -> Any:
    """The class of learners that start one of this kind afresh in epochs of 1, 2, 4, ... rounds.

    Box: in epoch k, of first 2^k rounds, the learner is the one that is tuned for that many rounds, from its start on.

    Order: the state is made new after the last answer of an epoch. An answer counts for the epoch in which it arrives: a
    late one, for a play of the epoch before, is learned from like any other, by the chance that came with it.

    Parameters: those of the learner inside, each with one entry (a vector: one row) per epoch; length = rounds of each
    epoch; c0 = floor, which is the same in all of them.

    Reading: what is proved is the sum over the epochs (docs/theory_anytime.md, 2): the best play overall is no better than
    the best of each epoch. Where the learner inside has a confidence epsilon, epoch k = 0, 1, ... is tuned for
    epsilon/((k + 1)(k + 2)), and these add up to less than epsilon.

    >>> import lewa
    >>> learner = lewa.learners.make("lewa+doubling", actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f} (bound {bound.violation[0]:.0f}, without learning 30000)"
    'violation 1096 (bound 16583, without learning 30000)'

    Reference: N. Cesa-Bianchi, G. Lugosi, Prediction, Learning, and Games, 2006, section 2.3.
    """
    State: Any = get_type_hints(kind.start)["return"]
    tables = {name: _per_epoch(kind, name, one) for name, one in get_type_hints(kind).items() if name != "floor"}
    Parameters: Any = fields("Parameters", {**tables, "length": Vector, "floor": Vector})
    Epochs = fields("Epochs", {**get_type_hints(State), "epoch": Vector, "fresh": Vector})
    now = builder(kind, "self, e", floor="self.floor", **{name: f"self.{name}[e]" for name in tables})
    inner = builder(State, "s", **{name: f"s.{name}" for name in State._fields})
    sound = [b""]  # the last learner that was checked: single steps start it again and again

    class Doubling(Parameters):  # type: ignore[misc]
        __slots__ = ()

        @classmethod
        def tuned(cls, actions: int, horizon: int, floor: object, first: float = 1, **settings: Any) -> Any:
            """The tunings for first, 2 first, 4 first, ... rounds; the horizon is not used."""
            return cls.made(kind.tuned, actions, horizon, floor, first, **settings)

        @classmethod
        def made(
            cls, make: Callable[..., Any], actions: int, horizon: int, floor: object, first: float = 1, **settings: Any
        ) -> Any:
            """The same, of learners that `make` makes."""
            check_size(actions, floor, horizon)
            require(1 <= first <= MOST and first % 1 == 0, "first must be a whole number of at least 1", first=first)
            length = int(first) * 2 ** np.arange(ceil(log2(MOST / first + 1)))
            usual = signature(kind.tuned).parameters.get("epsilon")
            epsilon = settings.get("epsilon", usual and usual.default)
            if epsilon is not None:
                check_epsilon(epsilon)
            made = []
            for k, rounds in enumerate(length.tolist()):
                own = {} if epsilon is None else {"epsilon": epsilon / ((k + 1) * (k + 2))}
                made.append(make(actions, rounds, floor, **{**settings, **own}))
            columns = {name: np.array([getattr(one, name) for one in made], dtype=np.float64) for name in tables}
            learner = cls(**columns, length=length.astype(np.float64), floor=made[0].floor)
            learner.start(1)
            return learner

        @classmethod
        def examples(cls) -> list[tuple[Any, int]]:
            return [
                (cls.tuned(3, 200, 0.5, first=8), 3),
                (cls.tuned(5, 100, (0.4, 0.2), first=4), 5),
                (cls.tuned(1, 50, 0.5, first=4), 1),
            ]

        def at(self, epoch: int) -> Any:
            """The learner of an epoch, counted from 0."""
            entries = {name: getattr(self, name)[epoch] for name in tables}
            plain = {name: float(x) if np.ndim(x) == 0 else x for name, x in entries.items()}
            return kind(**plain, floor=self.floor)

        def start(self, actions: int) -> Any:
            if pack(self).tobytes() != sound[0]:
                self.check()
                sound[0] = pack(self).tobytes()
            first = self.at(0).start(actions)
            return Epochs(*first, np.zeros(2), flat(first))

        def check(self) -> None:
            """Every epoch obeys the laws of the learner inside, and starts it alike."""
            whole = np.size(self.length) > 0 and bool(np.all((self.length >= 1) & (self.length % 1 == 0)))
            require(whole, "length must be whole numbers of at least 1, one per epoch", length=self.length)
            for name in tables:
                shape = np.shape(getattr(self, name))
                require(shape[:1] == np.shape(self.length), f"{name} must have one entry per epoch", shape=shape)
            each = [flat(self.at(k).start(1)) for k in range(self.length.size)]  # one action is enough to tell
            same = all(np.array_equal(one, each[0]) for one in each)
            require(same, "a learner is started afresh only if its start is the same in every epoch", learner=kind.__name__)

        def play(self, s: Any, p: Vector) -> None:
            methods.play(now(self, int(s.epoch[0])), inner(s), p)

        def choose(self, s: Any, u: float) -> Any:
            return methods.choose(now(self, int(s.epoch[0])), inner(s), u)

        def learn(self, s: Any, seen: Any) -> None:
            e = int(s.epoch[0])
            methods.learn(now(self, e), inner(s), seen)
            s.epoch[1] += 1
            if s.epoch[1] >= self.length[e]:  # the next epoch, from its start on; the last is repeated
                s.epoch[0], s.epoch[1] = min(e + 1, self.length.size - 1), 0
                restore(inner(s), s.fresh)

        @property
        def parent(self) -> Any:
            """With floor 0 a learner that is then EWA is EWA, doubled."""
            if feedback_kind(kind) != "full" or "eta" not in tables or hasattr(kind, "parent"):
                return None
            return doubling(Ewa)(self.eta, self.length, self.floor)

        def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
            epochs, left = [], rounds
            for k, length in enumerate(self.length.astype(int).tolist()):
                if left > 0:
                    epochs.append((self.at(k), min(left, length)))
                    left -= length
            return anytime.doubled(epochs, actions, rounds, self.floor, setting)

        def __reduce__(self) -> Any:
            return _again, (kind, tuple(self))

    if not hasattr(kind, "choose"):
        del Doubling.choose
    Doubling.__doc__ = f"{about(kind)}; started afresh in epochs that double."
    Doubling.start.__annotations__["return"] = Epochs
    Doubling.learn.__annotations__["seen"] = get_type_hints(kind.learn)["seen"]
    settle(Doubling, kind, "Doubling", globals())
    settle(Epochs, kind, "Epochs", globals())
    return Doubling


def _per_epoch(kind: Any, name: str, one: Any) -> Any:
    """The type of a parameter that has an entry per epoch."""
    if one not in (float, Vector):
        raise ValueError(f"doubling takes learners whose parameters are numbers and vectors, got {name} of {kind.__name__}")
    return Vector if one is float else Matrix


def _again(kind: Any, values: tuple[Any, ...]) -> Any:
    return doubling(kind)(*values)
