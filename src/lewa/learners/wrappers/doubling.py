"""Doubling: any tuned learner without a horizon, restarted in epochs that double."""

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import signature
from math import ceil, log2
from typing import Any, Self

import numpy as np

from lewa.kernels import compiled_form, field_types, flat, restore, state_type
from lewa.kernels import dispatch as rule
from lewa.kernels.roles import Fresh, Totals
from lewa.learners.base import Bandit, Full, Learner, Matrix, Statements, Theorems, Vector, require, trial
from lewa.learners.paper.ewa import Ewa
from lewa.learners.parameter_checks import check_problem, check_share
from lewa.learners.wrappers.wrapper import Wrapper
from lewa.theory import anytime
from lewa.theory.setting import Setting
from lewa.validation import as_real

MOST = 10**13  # rounds that the epochs cover at least: at a nanosecond each they take three hours


def over_epochs(learner: "Doubling", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the sums of the bounds of the epochs."""
    epochs, left = [], rounds
    for k, length in enumerate(learner.length.astype(int).tolist()):
        if left > 0:
            epochs.append((learner.at(k), min(left, length)))
            left -= length
    return anytime.doubled(epochs, actions, rounds, learner.floor, setting)


class Doubling(Wrapper):
    """Restart the inner learner in epochs of 1, 2, 4, ... rounds, for an unknown horizon.

    Box: in epoch k, which has first 2^k rounds, the inner learner is tuned for that many rounds and starts from its
    first state.

    Order: the state is reset after the last answer of an epoch. An answer counts in the epoch in which it arrives: a
    late answer to a play of the previous epoch is learned like any other, with its propensity.

    Parameters: those of the inner learner, each with one entry (for a vector, one row) per epoch; length = rounds of each
    epoch; c0 = floor, which is the same in all of them.

    Reading: the bound is the sum over the epochs (docs/theory_anytime.md, 2), because the best play overall is no
    better than the best play of each epoch. If the inner learner has a confidence epsilon, epoch k = 0, 1, ... is tuned
    for epsilon/((k + 1)(k + 2)), and these sum to less than epsilon.

    >>> import lewa
    >>> learner = lewa.learners.make("lewa+doubling", actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f} (bound {bound.violation[0]:.0f}, without learning 30000)"
    'violation 1096 (bound 16583, without learning 30000)'

    Reference: N. Cesa-Bianchi, G. Lugosi, Prediction, Learning, and Games, 2006, section 2.3.
    """

    length: Vector  # (epochs,)  the rounds of each epoch

    restarts = True
    ending = "restarted in epochs of doubling length"
    theorems = Theorems(over_epochs)
    trials = (trial(3, 200, 0.5, first=8), trial(5, 100, (0.4, 0.2), first=4), trial(1, 50, 0.5, first=4))

    @classmethod
    def fields_around(cls, kind: type[Learner]) -> dict[str, object]:
        tables = {}
        for name, kind_of_field in field_types(kind).items():
            known = kind_of_field in (float, Vector)
            require(known, "doubling needs a learner whose parameters are numbers and vectors", **{name: kind.__name__})
            tables[name] = Vector if kind_of_field is float else Matrix
        del tables["floor"]
        return {**tables, "length": Vector, "floor": Vector}

    @classmethod
    def state_around(cls) -> dict[str, object]:
        return {"epoch": Totals[Vector], "fresh": Fresh[Vector]}  # (2,) the epoch, its rounds so far; the numbers of a start

    @classmethod
    def opener(cls, kind: type[Learner]) -> Callable[..., tuple[object, object]]:
        form, state = compiled_form(kind), state_type(kind)
        k, numbers = list(form._fields).index("floor"), len(state._fields)
        end = len(form._fields) - 1  # Numba takes a slice of a tuple by numbers that it knows

        def inside(self: Any, s: Any) -> tuple[object, object]:
            e = int(s.epoch[0])
            parameters = rule.rows(self[:k], e) + (self.floor,) + rule.rows(self[k:end], e)  # noqa: RUF005 (no star here)
            return form(*parameters), state(*s[:numbers])

        return inside

    @classmethod
    def made_by(
        cls,
        make: Callable[..., Learner],
        actions: int,
        horizon: int,
        floor: object,
        first: float = 1,
        **settings: object,
    ) -> Self:
        """Return the learner with tunings for first, 2 first, 4 first, ... rounds; the horizon is not used."""
        check_problem(actions, horizon, floor)
        cls.refuse_reserves(settings)
        require(
            1 <= as_real("first", first) <= MOST and first % 1 == 0, "first must be an integer of at least 1", first=first
        )
        length = int(first) * 2 ** np.arange(ceil(log2(MOST / first + 1)))
        usual = signature(cls.kind.tuned).parameters.get("epsilon")
        if (confidence := settings.get("epsilon", usual and usual.default)) is not None:
            epsilon = as_real("epsilon", confidence)
            check_share("epsilon", epsilon)
        epochs = []
        for k, rounds in enumerate(length.tolist()):
            if confidence is not None:
                settings["epsilon"] = epsilon / ((k + 1) * (k + 2))
            epochs.append(make(actions, rounds, floor, **settings))
        return cls.in_epochs(epochs, length)

    @classmethod
    def in_epochs(cls, epochs: list[Learner], length: object) -> Self:
        """Return the learner that runs these, one per epoch."""
        tables = {name: [learner.parameters[name] for learner in epochs] for name in cls.tables()}
        return cls(**tables, length=length, floor=epochs[0].floor)  # type: ignore[call-arg]

    @classmethod
    def tables(cls) -> list[str]:
        """Return the names of the parameters that have an entry per epoch."""
        return [name for name in field_types(cls.kind) if name != "floor"]

    def at(self, epoch: int) -> Learner:
        """Return the learner of an epoch, counted from 0."""
        return self._epochs[epoch]

    def inner_at(self, s: Any) -> Learner:
        return self.at(int(s.epoch[0]))

    @cached_property
    def _epochs(self) -> list[Learner]:
        tables = {name: self.parameters[name] for name in self.tables()}
        columns = {name: table.tolist() if table.ndim == 1 else table for name, table in tables.items()}
        entries = [{name: column[k] for name, column in columns.items()} for k in range(self.length.size)]
        return [self.kind(**each, floor=self.floor) for each in entries]  # type: ignore[call-arg]

    def check(self) -> None:
        """Check that every epoch obeys the laws of the inner learner, and starts it in the same state."""
        whole = self.length.ndim == 1 and self.length.size > 0 and bool(np.all((self.length >= 1) & (self.length % 1 == 0)))
        require(whole, "length must be integers of at least 1, one per epoch", length=self.length)
        for name in self.tables():
            shape = self.parameters[name].shape
            require(shape[:1] == self.length.shape, f"{name} must have one entry per epoch", shape=shape)
        starts = [flat(self.at(k).start(1)) for k in range(self.length.size)]  # one action is enough to tell
        same = all(np.array_equal(start, starts[0]) for start in starts)
        require(same, "the start of the inner learner must be the same in every epoch", learner=self.kind.__name__)

    def start(self, actions: int) -> Any:
        first = self.at(0).start(actions)
        return state_type(type(self))(*first, np.zeros(2), flat(first))

    def learn(self, s: Any, seen: Full | Bandit) -> None:
        learner, state = rule.inside(self, s)
        rule.learn(learner, state, seen)
        e = int(s.epoch[0])
        s.epoch[1] += 1
        if s.epoch[1] >= self.length[e]:  # the next epoch, from its start on; the last is repeated
            s.epoch[0], s.epoch[1] = min(e + 1, self.length.size - 1), 0
            restore(state, s.fresh)

    @property
    def parent(self) -> Learner | None:
        """Doubled EWA, if the inner learner is EWA with floor 0."""
        parents = [self.at(k).parent for k in range(self.length.size)]
        if not all(isinstance(parent, Ewa) for parent in parents):
            return None
        return Doubling.of(Ewa).in_epochs([parent for parent in parents if parent], self.length)

    def extended(self, like: int | None, expected: Mapping[int, float]) -> Self:
        return self.in_epochs([self.at(k).extended(like, expected) for k in range(self.length.size)], self.length)
