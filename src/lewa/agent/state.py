"""The state of an agent, and the three things that change it: a decision, what is told of one, and the end of one."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from lewa.agent import statistics as books
from lewa.agent.records import shortened
from lewa.agent.setup import Setup
from lewa.engine.compile import compile_learner
from lewa.feedback import feedback_kind
from lewa.kernels import dump, load, pack, state_type, unpack
from lewa.types import Vector, Words
from lewa.units import as_number
from lewa.validation import nearest

COUNTS = ("answered", "late", "masked", "charged", "expired")


class ClosedError(ValueError):
    """Feedback for something that has been told already, or for a decision that has expired."""


class Fold:
    """The learner's state, the book, and the open decisions. Whatever is refused is refused before anything changes."""

    def __init__(self, setup: Setup, state: Any, dice: Words) -> None:
        K, m, kind = len(setup.actions), len(setup.lines), type(setup.learner)
        self.setup, self.dice = setup, dice
        self.max_pending, self.expire_after = setup.max_pending, setup.expire_after  # looked at in every round
        self.kind, self.steps = feedback_kind(kind), compile_learner(kind)
        self.memory = pack(setup.learner, state)
        state = unpack(kind, self.memory)[1]
        self.multiplier: Vector = state.multiplier if hasattr(state, "multiplier") else np.zeros(m)
        self._one_by_one = self.kind != "full"
        self.book = books.blank(setup.scales, K)
        self.rounds = 0
        self.open: OrderedDict[int, list[Any]] = OrderedDict()  # [action, chance, play or None, units told or None]
        self.count = dict.fromkeys(COUNTS, 0)
        self.charges = np.zeros((2, 1 + m))  # of each field: how many values were charged, and their sum in the user's units
        self._fields = {name: f for f, name in enumerate(setup.fields)}
        self._lines = tuple(enumerate(setup.fields[1:], 1))
        self._desk = np.full(2 * (1 + m), np.nan)  # what was told, and its units: room for one answer
        self._constraints = self._desk[m + 2 :]
        self._priors, self._nothing = setup.priors(), np.zeros(0)

    def decide(self, i: int, propensity: float, play: Vector | None, masked: bool = False) -> None:
        """One more decision was made; it may close the oldest ones."""
        self.rounds = t = self.rounds + 1
        self.open[t] = [i, propensity, play, None]
        if masked:
            self.count["masked"] += 1
        if len(self.open) > self.max_pending:
            self.close(next(iter(self.open)))
        if self.expire_after is not None:
            while self.open and (oldest := next(iter(self.open))) <= t - self.expire_after:
                self.close(oldest)

    def tell_all(self, number: Any, propensity: float | None, reward: Any, constraints: Mapping[str, Any]) -> bool:
        """The short way for plain floats that are the whole answer at once; False, with nothing changed, for all else."""
        entry = self.open.get(number) if self._one_by_one and type(number) is int else None
        if entry is None or entry[3] is not None or type(reward) is not float or len(constraints) != len(self._lines):
            return False
        i, drawn, play, _ = entry
        if propensity is not None and propensity != drawn:
            return False
        desk = self._desk
        desk[0] = reward
        for f, name in self._lines:
            value = constraints.get(name)
            if type(value) is not float:
                return False
            desk[f] = value
        unit = books.enter(self.book, desk, self.multiplier, i, drawn, len(self._lines) + 1, True)
        if unit < 0:
            return False
        self.steps.learn_bandit(self.memory, i, drawn, unit, self._constraints, self._nothing if play is None else play)
        del self.open[number]
        self.count["answered"] += 1
        if number != self.rounds:
            self.count["late"] += 1
        return True

    def tell(self, number: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of an open decision, all or in part; the numbers that were entered."""
        entry = self.open[number]
        units = entry[3] or [None] * len(self._fields)
        given: dict[str, Any] = {}
        for name, value in values.items():
            f = self._fields.get(name)
            if f is None:
                raise ValueError(f"there is no {name!r} here{nearest(str(name), list(self._fields))}")
            if units[f] is not None:
                raise ClosedError(f"the {name} of decision {number} was told before; nothing was changed")
            given[name] = self._number(name, value)
        if not given:
            raise ValueError(f"an update tells something of a decision: {', '.join(self._fields)}; got nothing")
        units = list(units)
        learned = sum(unit is not None for unit in units) + len(given) == len(units)
        self._enter(entry, given, units, learned)
        if learned:
            del self.open[number]
            self._learn(entry, units)
            self.count["answered"] += 1
            self.count["late"] += number != self.rounds
        else:
            entry[3] = units
        return {name: tuple(value.tolist()) if isinstance(value, np.ndarray) else value for name, value in given.items()}

    def close(self, number: int) -> None:
        """No more will be told of a decision: it is left out, or what it lacks is charged."""
        entry = self.open.pop(number)
        if self.setup.unanswered is None:
            self.count["expired"] += 1
            return
        units = list(entry[3] or [None] * len(self._fields))
        for f in range(len(units)):
            if units[f] is None:
                units[f] = self.guess(entry, f)
                self.charges[:, f] += 1, self.setup.scales[f].own(self.met(entry, units[f]))
        self.book[1:, books.PRICED] += self.multiplier
        self._learn(entry, units)
        self.count["charged"] += 1

    def guess(self, entry: list[Any], f: int) -> Any:
        """The unit charged for a field that was not told: as the setup says, or as seen of the action, or as expected."""
        name, fixed = self.setup.fields[f], self.setup.unanswered or {}
        if name in fixed:
            unit = min(max(self.setup.scales[f].unit(fixed[name]), 0.0), 1.0)
            return np.full(len(self.setup.actions), unit) if self.kind == "full" else unit
        seen, gained = (books.block(self.book[f], block) for block in ("seen", "gained"))
        if self.kind != "full":
            i = entry[0]
            return float(gained[i] / seen[i] if seen[i] > 0 else self._priors[f, i])
        return np.where(seen > 0, gained / np.maximum(seen, 1), self._priors[f])

    def met(self, entry: list[Any], unit: Any) -> float:
        """The unit of the action taken, or of the play."""
        return float(entry[2] @ unit) if self.kind == "full" else float(unit)

    def _number(self, name: str, value: Any) -> Any:
        """A float, or one per action for a learner that sees them all."""
        K, learner = len(self.setup.actions), self.setup.name
        shape = () if isinstance(value, str | bytes) else _shape(value)
        if self.kind != "full":
            if shape:
                raise ValueError(f"{learner} learns from the action taken: {name} is one number, got {shortened(value)}")
            return as_number(name, value)
        if shape != (K,):
            raise ValueError(f"{learner} sees every action: {name} is {K} numbers, one per action, got {shortened(value)}")
        numbers = np.array(value)
        if numbers.dtype.kind in "fiu" and np.isfinite(numbers).all():
            return numbers.astype(np.float64)
        return np.array(
            [as_number(f"the {name} of {label!r}", x) for label, x in zip(self.setup.actions, value, strict=True)]
        )

    def _enter(self, entry: list[Any], given: Mapping[str, Any], units: list[Any], learned: bool) -> None:
        """Into the book with what was told; its units join those known."""
        fields = {self._fields[name]: value for name, value in given.items()}
        if self.kind == "full":
            for f, values in fields.items():
                units[f] = books.enter_all(self.book[f], values, entry[2])
            if learned:
                self.book[1:, books.PRICED] += self.multiplier
            return
        self._desk[:] = np.nan
        for f, value in fields.items():
            self._desk[f] = value
        books.enter(self.book, self._desk, self.multiplier, entry[0], entry[1], len(fields), learned)
        for f in fields:
            units[f] = float(self._desk[len(units) + f])

    def _learn(self, entry: list[Any], units: list[Any]) -> None:
        i, propensity, play, _ = entry
        if self.kind == "full":
            constraints = np.array(units[1:])
            met = np.clip(constraints @ play, 0, 1)
            self.steps.learn_full(self.memory, units[0], constraints, met, play)
        else:
            self._constraints[:] = units[1:]
            nothing = self._nothing if play is None else play
            self.steps.learn_bandit(self.memory, i, propensity, units[0], self._constraints, nothing)

    def copy(self) -> "Fold":
        """A copy to read from while this one goes on."""
        copy = Fold(self.setup, self.state(), self.dice)
        copy.book, copy.charges, copy.count = self.book.copy(), self.charges.copy(), dict(self.count)
        copy.rounds, copy.open = self.rounds, OrderedDict((number, list(entry)) for number, entry in self.open.items())
        return copy

    def state(self) -> Any:
        """The learner's state, as a view."""
        return unpack(type(self.setup.learner), self.memory)[1]

    def plain(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "round": self.rounds,
            "dice": f"{int(self.dice[0]):016x}",
            "learner": dump(self.state()),
            "book": books.plain(self.book),
            "counts": dict(self.count),
            "charges": self.charges.tolist(),
            "open": [
                [number, i, propensity, _plain(play), _plain(units)]
                for number, (i, propensity, play, units) in self.open.items()
            ],
        }


def from_plain(setup: Setup, plain: Mapping[str, Any]) -> Fold:
    """The state that `plain` wrote."""
    K, fields = len(setup.actions), len(setup.fields)
    kind = state_type(type(setup.learner))
    state, fresh = load(kind, plain["learner"]), setup.learner.start(K)
    if pack(setup.learner, state).shape != pack(setup.learner, fresh).shape:
        raise ValueError(f"the state of {setup.name} is not one of {K} actions and {fields - 1} constraints")
    fold = Fold(setup, state, np.array([int(plain["dice"], 16)], dtype=np.uint64))
    fold.rounds = int(plain["round"])
    fold.book = books.from_plain(plain["book"], fields, K)
    fold.count = {name: int(plain["counts"][name]) for name in COUNTS}
    fold.charges = np.array(plain["charges"], dtype=np.float64).reshape(2, fields)
    for number, i, propensity, play, units in plain["open"]:
        if not (1 <= number <= fold.rounds and 0 <= i < K and 0 < propensity <= 1):
            raise ValueError(f"decision {number} of action {i} with chance {propensity} cannot be open")
        known = None if units is None else [_array(unit) for unit in units]
        fold.open[int(number)] = [int(i), float(propensity), _array(play), known]
    return fold


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:  # lists of different lengths
        return (-1,)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _array(value: Any) -> Any:
    return np.array(value, dtype=np.float64) if isinstance(value, list) else value
