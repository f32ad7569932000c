"""Data of the user's: which column is what, and in which units; here it becomes a game, whose numbers lie in [0, 1].

A column that is named is in the user's units, and its range is what the data show, from the least value to the greatest,
unless it is given: NAME=LOW..HIGH. A column that is not named is looked for where the layout has it (`files.LAYOUT`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lewa.data.log import Log
from lewa.games.table import Table
from lewa.units import Scale, as_range, scale_of
from lewa.validation import nearest

REWARD = "a reward"  # the sense of what is to be large, without a line
UNIT = (0.0, 1.0)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ONE_ACTION = (
    "{file} shows one action a round, and no column of propensities: what the other actions would have done cannot be told "
    "from it; log the chance with which each action was drawn, and name that column by --propensity"
)


class Quantity(NamedTuple):
    """A column, or one column for each action, in the user's units."""

    name: str
    sense: str  # "at most", "at least" or "a reward"
    low: float
    high: float

    @property
    def scale(self) -> Scale:
        """From the user's units to [0, 1], where more is better."""
        return scale_of(self.sense, self.low, self.high)

    def floor(self, line: float) -> float:
        """The line as a learner's floor."""
        if not self.low <= line <= self.high:
            wider = "" if (self.low, self.high) == UNIT else f"; {self.name}=LOW..HIGH gives it a wider one"
            raise ValueError(
                f"the line of {self.name} must lie in its range {self.low:g}..{self.high:g}, got {line:g}{wider}"
            )
        return self.scale.unit(line)


class Columns(NamedTuple):
    """Which column is what, NAME or NAME=LOW..HIGH; where nothing is said, the names of the layout count."""

    reward: str | None = None
    at_most: str | Sequence[str] = ()
    at_least: str | Sequence[str] = ()
    action: str | None = None
    round: str | None = None
    propensity: str | None = None


UNNAMED = Columns()


@dataclass(frozen=True, eq=False)
class Data:
    """A game made of somebody's data, with the names and the units of what it is made of."""

    game: Table | Log
    actions: tuple[str, ...]
    reward: Quantity
    constraints: tuple[Quantity, ...]

    @classmethod
    def of(cls, game: Table | Log, actions: Iterable[object] = (), constraints: Iterable[object] = ()) -> "Data":
        """A game of [0, 1], whose actions and constraints have these names, or are numbered."""
        K, m = game.actions, game.constraints
        names = tuple(map(str, actions)) or tuple(f"action {i}" for i in range(K))
        kept = tuple(map(str, constraints)) or (("c",) if m == 1 else tuple(f"c{j + 1}" for j in range(m)))
        if len(set(names)) != K or len(set(kept)) != m:
            raise ValueError(
                f"{K} actions and {m} constraints need as many different names, got {len(names)} and {len(kept)}"
            )
        return cls(game, names, Quantity("reward", REWARD, *UNIT), tuple(Quantity(name, "at least", *UNIT) for name in kept))


def from_columns(columns: Mapping[str, Any], asked: Columns = UNNAMED, file: str = "the data") -> Data:
    """The game in these columns, or a sentence that says why there is none; `file` is what it calls them."""
    sheet = Sheet({str(name): np.asarray(values) for name, values in columns.items()}, file)
    if not sheet.columns or not all(len(values) for values in sheet.columns.values()):
        raise ValueError(f"{file} has no rows")
    reward, constraints = _wanted(sheet, asked)
    if reward.name not in sheet.columns and sheet.actions_of(reward.name):
        return _wide(sheet, reward, constraints)
    return _long(sheet, reward, constraints, asked)


# What is asked for -------------------------------------------------------------------------------------------------------


class Wanted(NamedTuple):
    """A quantity that is looked for, and its range; None stands for what the data show."""

    name: str
    sense: str
    range: tuple[float, float] | None
    named: bool  # by the user; else it is one of the layout's

    def quantity(self, values: Any, place: Any) -> Quantity:
        """The quantity, if its values are in order; `place` says where the one at some index stands."""
        low, high = float(values.min()), float(values.max())
        if self.range is None:
            if low == high:
                same = "every play earns the same" if self.sense == REWARD else "no play changes it; leave it out"
                raise ValueError(f"{self.name} is {low:g} everywhere: {same}")
            if self.sense == "at most" and low < 0:
                raise ValueError(
                    f"{self.name} is {low:g} {place(int(values.argmin()))}: a cost is not negative; if this one may be, "
                    f"give its range, {self.name}={low}..{high}"
                )
            return Quantity(self.name, self.sense, low, high)
        wrong = np.flatnonzero((values.ravel() < self.range[0]) | (values.ravel() > self.range[1]))
        if wrong.size:
            hint = "widen the range" if self.named else "name the column and its range is taken from the data"
            raise ValueError(
                f"{self.name} must lie in [{self.range[0]:g}, {self.range[1]:g}], got {values.ravel()[wrong[0]]:g} "
                f"{place(int(wrong[0]))}; {hint}"
            )
        return Quantity(self.name, self.sense, *self.range)


def _wanted(sheet: "Sheet", asked: Columns) -> tuple[Wanted, list[Wanted]]:
    """The reward and the constraints: those that are named, and else those of the layout, which lie in [0, 1]."""
    reward = _asked(sheet, asked.reward or "reward", REWARD, find=asked.reward is not None)
    senses = {"at most": asked.at_most, "at least": asked.at_least}
    listed = {sense: [texts] if isinstance(texts, str) else texts for sense, texts in senses.items()}
    named = [_asked(sheet, text, sense) for sense, texts in listed.items() for text in texts]
    each = [one.name for one in (reward, *named)]
    twice = [name for name in each if each.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is named twice: a column is the reward, or is kept at most or at least at a line")
    named = named or _laid_out(sheet, asked)
    own = asked.reward is not None or any(one.named for one in named)
    return reward._replace(range=reward.range or (None if own else UNIT), named=own), named


def _laid_out(sheet: "Sheet", asked: Columns) -> list[Wanted]:
    """The constraints of the layout: every NAME:ACTION, or c, c1, c2 and so on, or else cost; cost is in its own units."""
    names = sheet.names()
    found = sorted((name for name in names if re.fullmatch(r"c\d*", name)), key=lambda name: int(name[1:] or 0))
    if asked.reward is None and sheet.actions_of("reward") and "reward" not in sheet.columns:
        found = [name for name in names if name != "reward" and sheet.actions_of(name)]
    found = found or [name for name in names if name == "cost"]
    if not found:
        raise ValueError(f"{sheet.file} lacks a constraint: name its column by --at-most or --at-least; {sheet.has()}")
    cost = Wanted("cost", "at most", None, True)
    return [cost if name == "cost" else Wanted(name, "at least", UNIT, False) for name in found]


def _asked(sheet: "Sheet", text: str, sense: str, find: bool = True) -> Wanted:
    """NAME or NAME=LOW..HIGH, where there is such a column, or one for each action."""
    name, given = text, re.fullmatch(rf"(.+)=({NUMBER})\.\.({NUMBER})", text)
    if given is not None and text not in sheet.columns:
        name = given[1]
    elif "=" in text and text not in sheet.columns:
        raise ValueError(f"a column is NAME or NAME=LOW..HIGH, got {text!r}")
    if find and name not in sheet.columns and not sheet.actions_of(name):
        raise ValueError(f"{sheet.file} has no column {name!r}{nearest(name, sheet.names())}")
    span = None if given is None or name == text else as_range(name, (float(given[2]), float(given[3])))
    return Wanted(name, sense, span, True)


# What is there -----------------------------------------------------------------------------------------------------------


class Sheet(NamedTuple):
    """Columns by name, and what they are called together."""

    columns: dict[str, Any]
    file: str

    def actions_of(self, name: str) -> list[str]:
        """The actions of which there is a column NAME:ACTION."""
        return [column.removeprefix(f"{name}:") for column in self.columns if column.startswith(f"{name}:")]

    def names(self) -> list[str]:
        """What can be asked for."""
        return list(dict.fromkeys(name.partition(":")[0] if ":" in name else name for name in self.columns))

    def has(self) -> str:
        """The columns, in words."""
        return f"it has {', '.join(self.columns)}"

    def find(self, name: str | None, *usual: str) -> str:
        """The column of that name, or the usual one."""
        if name is not None and name not in self.columns:
            raise ValueError(f"{self.file} has no column {name!r}{nearest(name, self.names())}")
        found = next((one for one in (name, *usual) if one in self.columns), None)
        if found is None:
            raise ValueError(f"{self.file} lacks the column {usual[0]}: say which it is, --{usual[0]} NAME; {self.has()}")
        return found

    def whole(self, name: str) -> Any:
        """The column, if no cell is missing."""
        values = self.columns[name]
        gone = values != values  # so is NaN, and no date
        if values.dtype.kind in "OU":
            gone = np.array([one is None or one == "" or one != one for one in values])
        if gone.any():
            count, row = int(gone.sum()), int(np.flatnonzero(gone)[0]) + 1
            cells = "a missing cell" if count == 1 else f"{count} missing cells, the first"
            raise ValueError(
                f"the column {name} of {self.file} has {cells} in row {row}: fill it in or leave that round out"
            )
        return values

    def labels(self, name: str) -> Any:
        """The column as names of something: text as text, whatever else stands among it."""
        values = self.whole(name)
        if values.dtype.kind not in "OSU":
            return values
        try:
            return np.array([one.decode() if isinstance(one, bytes) else str(one) for one in values])
        except UnicodeDecodeError:
            raise ValueError(f"the column {name} of {self.file} is not in UTF-8: save the file in that encoding") from None

    def number(self, name: str) -> Any:
        """The column as numbers."""
        try:
            if self.columns[name].dtype.kind in "mM":
                raise TypeError
            values = self.whole(name).astype(np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, ValueError) and "missing cell" in str(error):
                raise
            raise ValueError(f"the column {name} of {self.file} must hold numbers") from None
        if not np.isfinite(values).all():
            raise ValueError(f"the column {name} of {self.file} must hold finite numbers")
        return values


def _wide(sheet: Sheet, reward: Wanted, constraints: list[Wanted]) -> Data:
    actions = sheet.actions_of(reward.name)
    cubes, found = [], []
    for one in (reward, *constraints):
        beyond = [action for action in sheet.actions_of(one.name) if action not in actions]
        if beyond:
            raise ValueError(
                f"{sheet.file} has the column {one.name}:{beyond[0]}, but no {reward.name}:{beyond[0]}: each of "
                f"{', '.join((*actions, *beyond))} must have both"
            )
        missing = [action for action in actions if f"{one.name}:{action}" not in sheet.columns]
        if missing:
            raise ValueError(
                f"{sheet.file} lacks the column {one.name}:{missing[0]}: each of {', '.join(actions)} must have one"
            )
        values = np.column_stack([sheet.number(f"{one.name}:{action}") for action in actions])
        found.append(one.quantity(values, lambda at: f"for {actions[at % len(actions)]} in row {at // len(actions) + 1}"))
        cubes.append(found[-1].scale.unit(values))
    return Data(Table(cubes[0], np.stack(cubes[1:], axis=2)), tuple(actions), found[0], tuple(found[1:]))


def _long(sheet: Sheet, reward: Wanted, constraints: list[Wanted], asked: Columns) -> Data:
    sheet.find(None, reward.name)
    column = sheet.find(asked.action, "action")
    labels, action = np.unique(sheet.labels(column), return_inverse=True)
    found, values = [], []
    for one in (reward, *constraints):
        if one.name not in sheet.columns:
            raise ValueError(f"{sheet.file} has one column {reward.name}, but {one.name}:ACTION: name columns of one kind")
        raw = sheet.number(one.name)
        found.append(one.quantity(raw, lambda at: f"in row {at + 1}"))
        values.append(found[-1].scale.unit(raw))
    game: Table | Log
    if asked.propensity is not None or "propensity" in sheet.columns:
        propensity = sheet.number(sheet.find(asked.propensity, "propensity"))
        game = Log(action, propensity, values[0], np.column_stack(values[1:]), len(labels))
    else:
        game = _squared(sheet, asked, labels, action, values)
    numbered = labels.dtype.kind in "iuf"
    return Data(game, tuple(f"action {one}" if numbered else str(one) for one in labels), found[0], tuple(found[1:]))


def _squared(sheet: Sheet, asked: Columns, labels: Any, action: Any, values: list[Any]) -> Table:
    """The table of which each row is a round and an action."""
    if asked.round is None and not {"round", "t"} & set(sheet.columns):
        raise ValueError(
            f"{sheet.file} lacks a column round, for a table with every action in every round, and a column propensity, for "
            f"a log of one action a row: say --round NAME or --propensity NAME; {sheet.has()}"
        )
    rounds, row = _in_order(sheet.labels(sheet.find(asked.round, "round", "t")))
    T, K = len(rounds), len(labels)
    seen = np.zeros((T, K), dtype=np.int64)
    np.add.at(seen, (row, action), 1)
    if K > 1 and (seen.sum(axis=1) == 1).all():
        raise ValueError(ONE_ACTION.format(file=sheet.file))
    if (seen != 1).any():
        t, i = np.argwhere(seen != 1)[0]
        raise ValueError(
            f"{sheet.file} must show every action once in every round, or a propensity for each row; round {rounds[t]} "
            f"shows action {labels[i]} {seen[t, i]} times"
        )
    cube = np.empty((T, K, len(values)))
    cube[row, action] = np.column_stack(values)
    return Table(np.ascontiguousarray(cube[:, :, 0]), cube[:, :, 1:])


def _in_order(values: Any) -> tuple[Any, Any]:
    """The different values and which of them each is: numbers and dates in their order, text as it first comes."""
    names, first, which = np.unique(values, return_index=True, return_inverse=True)
    if values.dtype.kind != "U":
        return names, which
    order = np.argsort(first)
    return names[order], np.argsort(order)[which]
