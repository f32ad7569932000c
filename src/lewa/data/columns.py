"""Turn named columns in the user's units into a game whose numbers lie in [0, 1].

A column that the user names is in the user's units. Its range is that of its values, from the least to the greatest, unless
the user gives one: NAME=LOW..HIGH. `lewa.data.files.read_data` describes the default names of columns.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from lewa.data.contexts import check_known_before, parse_context, read_contexts
from lewa.data.log import Log, StreamedLog
from lewa.data.sheet import Labels, Sheet
from lewa.games.table import Table
from lewa.types import Indices, Matrix
from lewa.units import Scale, as_range, scale_of
from lewa.validation import short_repr

REWARD: Final = "a reward"  # the sense of a quantity that is to be large and has no limit
UNIT = (0.0, 1.0)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ONE_ACTION = (
    "{file} has one action per round and no column of propensities, so the outcomes of the other actions cannot be "
    "estimated; log the probability with which each action was drawn, and name that column by --propensity"
)
Sense: TypeAlias = Literal["a reward", "at most", "at least"]
Values: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Quantity(NamedTuple):
    """A column, or one column for each action, in the user's units."""

    name: str  # the name of the column
    sense: Sense  # of a reward, of a cost with an upper limit, of a quantity with a lower one
    low: float  # the least value
    high: float  # the greatest value

    @property
    def scale(self) -> Scale:
        """Return the map from the user's units to [0, 1], where more is better."""
        return scale_of(self.sense, self.low, self.high)

    def floor(self, line: float) -> float:
        """Return the floor, in a learner's units, of a limit in the user's units; 0 if it is looser than the range."""
        if self.scale.unit(line) < 0:
            return 0.0
        if not self.low <= line <= self.high:
            wider = "" if (self.low, self.high) == UNIT else f"; {self.name}=LOW..HIGH sets a wider range"
            raise ValueError(
                f"the limit of {self.name} must lie in its range {self.low:g}..{self.high:g}, got {line:g}{wider}"
            )
        return self.scale.unit(line)


class Columns(NamedTuple):
    """The names of columns: a quantity is NAME or NAME=LOW..HIGH, actions are NAME or NAME=LABEL:TEXT,LABEL:TEXT."""

    reward: str | None = None  # the column of rewards
    at_most: str | Sequence[str] = ()  # the columns with an upper limit
    at_least: str | Sequence[str] = ()  # the columns with a lower limit
    action: str | None = None  # the column of actions, in a file with one row per action
    round: str | None = None  # the column of rounds, in a table with one row per round and action
    propensity: str | None = None  # the column of propensities; with one, the file is a log
    context: str | Sequence[str] = ()  # the columns that are known before each decision
    group: str | None = None  # the column of groups, each of which must meet every limit
    drop_missing: bool = False  # whether to leave out the rows of a log that have no reward


DEFAULT_NAMES = Columns()


@dataclass(frozen=True, eq=False)
class Data:
    """A game made from the user's data, with the names and units of its actions, reward and constraints."""

    game: Table | Log | StreamedLog  # the data in [0, 1]
    actions: tuple[str, ...]  # the names of the actions
    reward: Quantity  # the name and the range of the reward
    constraints: tuple[Quantity, ...]  # the name, sense and range of each constraint
    source: str = ""  # the name of the file, or "" if the data come from memory
    contexts: Matrix = field(default_factory=lambda: np.zeros((0, 0)))  # (T, d)  the features of the context columns
    groups: Labels = field(default_factory=lambda: np.zeros(0, dtype=np.str_))  # (T,)  the cells of the group column
    notes: tuple[str, ...] = ()  # what was left out, and what context columns are taken for

    @classmethod
    def of_game(cls, game: Table | Log, actions: Iterable[object] = (), constraints: Iterable[object] = ()) -> "Data":
        """Name the actions and constraints of a game with values in [0, 1]; number them by default."""
        K, m = game.actions, game.constraints
        action_names = tuple(map(str, actions)) or tuple(f"action {i}" for i in range(K))
        constraint_names = tuple(map(str, constraints)) or (("c",) if m == 1 else tuple(f"c{j + 1}" for j in range(m)))
        if len(set(action_names)) != K or len(set(constraint_names)) != m:
            raise ValueError(
                f"every action and every constraint needs a distinct name, got {len(action_names)} names for {K} actions "
                f"and {len(constraint_names)} names for {m} constraints"
            )
        quantities = tuple(Quantity(name, "at least", *UNIT) for name in constraint_names)
        return cls(game, action_names, Quantity("reward", REWARD, *UNIT), quantities)


def from_columns(columns: Mapping[str, object], names: Columns = DEFAULT_NAMES, file: str = "the data") -> Data:
    """Return the game in these columns; errors call the columns by the name `file`."""
    check_names(names)
    sheet = Sheet.of(columns, file)
    reward, _ = find_queries(sheet, names)
    left_out: tuple[str, ...] = ()
    if names.drop_missing:
        sheet, left_out = _rated(sheet, reward.name)
    layout, called = Layout.of(sheet, names)
    if layout.propensity and (count := int(sheet.missing(reward.name).sum())):
        raise ValueError(
            f"the column {reward.name} of {sheet.file} must have a value in each row, got {count:,} of {sheet.rows:,} rows "
            "without one: fill them in, or leave these rows out (--drop-missing, drop_missing=True)"
        )
    quantities = tuple(query.quantity(layout.values(sheet, query), layout.place()) for query in layout.queries)
    labels = np.array(layout.wide) if layout.wide else sheet.distinct(layout.action)[0]
    reader = Reader(layout, quantities, labels, called)
    game = reader.log(sheet) if layout.propensity else reader.table(sheet)
    data = replace(reader.data(game, sheet.source), notes=left_out)
    context = [parse_context(sheet, text) for text in texts("context", names.context)]
    if not context and names.group is None:
        return data
    rows = row = None
    if isinstance(data.game, Table) and data.game.length < sheet.rows:  # a row for each action: the first of each round
        _, row = in_order(sheet.labels(sheet.find(names.round, "round", "t")))
        rows = np.unique(row, return_index=True)[1]
    known = [*(name for name, _ in context), *([] if names.group is None else [names.group])]
    check_known_before(sheet, known, _outcomes(sheet, layout, names), row)
    if names.group is not None:
        groups = np.array([str(cell) for cell in sheet.labels(sheet.find(names.group, names.group)).tolist()])
        data = replace(data, groups=groups if rows is None else groups[rows])
    if not context:
        return data
    features = read_contexts(sheet, context, rows)
    return replace(data, contexts=features.matrix, notes=(*left_out, *features.notes))


def _rated(sheet: Sheet, reward: str) -> tuple[Sheet, tuple[str, ...]]:
    """Return the rows that have a reward, and a sentence about the others."""
    if reward not in sheet.columns:
        raise ValueError(
            f"rows without a reward can be left out of a log only, but {sheet.file} has columns {reward}:ACTION"
        )
    missing = sheet.missing(reward)
    count = int(missing.sum())
    if not count:
        return sheet, ()
    if count == sheet.rows:
        raise ValueError(f"the column {reward} of {sheet.file} must have a value in some row, got none")
    share = f"{count:,} of {sheet.rows:,} rows have no {reward} and are left out"
    return sheet.keep(~missing), (
        f"{share}, which assumes that a row is as likely to lack it whatever its action and outcome",
    )


def _outcomes(sheet: Sheet, layout: "Layout", names: Columns) -> dict[str, str]:
    """Return what each column is that shows the decision or its outcome."""
    words = {}
    if not layout.wide:  # a row has one action
        words = {names.propensity or "propensity": "the propensity", layout.action: "the action"}
    for n, query in enumerate(layout.queries):
        columns = [query.name, *(f"{query.name}:{action}" for action in sheet.actions_of(query.name))]
        words |= dict.fromkeys(columns, "a constraint" if n else "the reward")
    return words


def check_names(names: Columns) -> None:
    """Raise ValueError unless every name is a text."""
    for role in ("reward", "action", "round", "propensity", "group"):
        if not isinstance(name := getattr(names, role), str | None):
            raise ValueError(f"{role} must be the name of a column, got {short_repr(name)}")


def texts(name: str, words: str | Sequence[str]) -> list[str]:
    """Return a name, or a list of names, as a list."""
    if isinstance(words, str):
        return [words]
    if not isinstance(words, list | tuple) or not all(isinstance(text, str) for text in words):
        raise ValueError(f"{name} must be a name or a list of names, got {short_repr(words)}")
    return list(words)


# What is looked for ------------------------------------------------------------------------------------------------------


class Query(NamedTuple):
    """A quantity to read, and its range."""

    name: str  # the name of the column, or of the columns NAME:ACTION
    sense: Sense  # of a reward, of a cost with an upper limit, of a quantity with a lower one
    range: tuple[float, float] | None  # None: the range of its values
    by_user: bool  # whether the user named the column; otherwise the name is a default

    def quantity(self, values: Values, place: Callable[[int], str]) -> Quantity:
        """Check the values and return the quantity; `place` describes the position of an index."""
        low, high = float(values.min()), float(values.max())
        if self.range is None:
            if low == high:
                same = "every play earns the same" if self.sense == REWARD else "no play can change it; leave it out"
                raise ValueError(f"{self.name} is {low:g} everywhere: {same}")
            if self.sense == "at most" and low < 0:
                raise ValueError(
                    f"a cost must not be negative, got {self.name} of {low:g} {place(int(values.argmin()))}; to allow "
                    f"negative values give the range, {self.name}={low}..{high}"
                )
            return Quantity(self.name, self.sense, *as_range(self.name, (low, high)))
        wrong = np.flatnonzero((values.ravel() < self.range[0]) | (values.ravel() > self.range[1]))
        if wrong.size:
            hint = "widen the range" if self.by_user else "name the column to take its range from the data"
            raise ValueError(
                f"{self.name} must lie in [{self.range[0]:g}, {self.range[1]:g}], got {values.ravel()[wrong[0]]:g} "
                f"{place(int(wrong[0]))}; {hint}"
            )
        return Quantity(self.name, self.sense, *self.range)


def find_queries(sheet: Sheet, names: Columns) -> tuple[Query, list[Query]]:
    """Return the reward and the constraints that the user names, or those with default names, in [0, 1]."""
    reward = _parse(sheet, names.reward or "reward", REWARD, check=names.reward is not None)
    constraints = [_parse(sheet, text, "at most") for text in texts("at_most", names.at_most)]
    constraints += [_parse(sheet, text, "at least") for text in texts("at_least", names.at_least)]
    each = [query.name for query in (reward, *constraints)]
    twice = [name for name in each if each.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is named twice: a column is either the reward or one constraint")
    constraints = constraints or _default_constraints(sheet, names)
    by_user = names.reward is not None or any(query.by_user for query in constraints)
    return reward._replace(range=reward.range or (None if by_user else UNIT), by_user=by_user), constraints


def _default_constraints(sheet: Sheet, names: Columns) -> list[Query]:
    """Return every NAME:ACTION, or c, c1, c2 and so on, or else cost; cost is in its own units."""
    every = sheet.names()
    usual = sorted((name for name in every if re.fullmatch(r"c\d{0,6}", name)), key=lambda name: int(name[1:] or 0))
    if names.reward is None and sheet.actions_of("reward") and "reward" not in sheet.columns:
        usual = [name for name in every if name != "reward" and sheet.actions_of(name)]
    usual = usual or [name for name in every if name == "cost"]
    if not usual:
        raise ValueError(f"{sheet.file} has no constraint: name a column with --at-most or --at-least; {sheet.listing()}")
    cost = Query("cost", "at most", None, True)
    return [cost if name == "cost" else Query(name, "at least", UNIT, False) for name in usual]


def _parse(sheet: Sheet, text: str, sense: Sense, check: bool = True) -> Query:
    """Read NAME or NAME=LOW..HIGH; there must be such a column, or one for each action."""
    name, match = text, re.fullmatch(rf"(.+)=({NUMBER})\.\.({NUMBER})", text, re.DOTALL)
    if match is not None and text not in sheet.columns:
        name = match[1]
    elif "=" in text and text not in sheet.columns:
        raise ValueError(f"a column must be NAME or NAME=LOW..HIGH, got {text!r}")
    if check and name not in sheet.columns and not sheet.actions_of(name):
        raise ValueError(f"{sheet.file} has no column {name!r}{sheet.hint(name)}")
    span = None if match is None or name == text else as_range(name, (float(match[2]), float(match[3])))
    return Query(name, sense, span, True)


# What is there -----------------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """The columns that are read, by their role."""

    file: str  # the name of the data, for messages
    queries: tuple[Query, ...]  # the reward, then the constraints
    wide: tuple[str, ...] = ()  # the actions with a column NAME:ACTION each; empty if every row has one action
    action: str = ""  # the column of actions
    round: str = ""  # the column of rounds, in a table with one row per round and action
    propensity: str = ""  # the column of propensities, in a log

    @classmethod
    def of(cls, sheet: Sheet, names: Columns) -> "tuple[Layout, dict[str, str]]":
        """Return the columns to read, and the user's names of the actions."""
        reward, constraints = find_queries(sheet, names)
        action, called = action_labels(sheet, names.action)
        layout = cls(sheet.file, (reward, *constraints))
        if reward.name not in sheet.columns and sheet.actions_of(reward.name):
            for query in layout.queries:
                check_wide(sheet, reward, query)
            return layout._replace(wide=tuple(sheet.actions_of(reward.name))), called
        sheet.find(None, reward.name)
        layout = layout._replace(action=sheet.find(action, "action"))
        for query in layout.queries:
            if query.name not in sheet.columns:
                raise ValueError(
                    f"{sheet.file} has a column {reward.name} but columns {query.name}:ACTION: use one layout for all "
                    "quantities"
                )
        if names.propensity is not None or "propensity" in sheet.columns:
            return layout._replace(propensity=sheet.find(names.propensity, "propensity")), called
        return layout._replace(round=find_round(sheet, names)), called

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        if self.wide:
            return [f"{query.name}:{action}" for query in self.queries for action in self.wide]
        return [*(query.name for query in self.queries), *filter(None, (self.action, self.round, self.propensity))]

    def values(self, sheet: Sheet, query: Query) -> Values:
        """Return the numbers of a quantity: (n,), or (n, K) if there is a column for each action."""
        if not self.wide:
            return sheet.numbers(query.name)
        return np.column_stack([sheet.numbers(f"{query.name}:{action}") for action in self.wide])

    def place(self, first: int = 0) -> Callable[[int], str]:
        """Return the function that describes the position of an index of rows with `first` others before, for messages."""
        K = len(self.wide)
        if not K:
            return lambda at: f"in row {first + at + 1}"
        return lambda at: f"for {self.wide[at % K]} in row {first + at // K + 1}"


class Reader(NamedTuple):
    """Reads rows as numbers in [0, 1]."""

    layout: Layout  # the columns
    quantities: tuple[Quantity, ...]  # the reward, then the constraints
    labels: Labels  # the labels of the actions, sorted
    called: dict[str, str]  # the user's names of actions, by label

    def units(self, sheet: Sheet) -> list[Values]:
        """Return the values of each quantity."""
        pairs = zip(self.layout.queries, self.quantities, strict=True)
        return [q.scale.unit(self.layout.values(sheet, query)).clip(0, 1) for query, q in pairs]  # but for rounding there

    def action(self, sheet: Sheet) -> Indices:
        """Return the action of each row, counted from 0."""
        labels, which = sheet.distinct(self.layout.action)
        action: Indices = np.searchsorted(self.labels, labels)[which]
        return action

    def log(self, sheet: Sheet) -> Log:
        """Return the rows as a log."""
        values = self.units(sheet)
        propensity = sheet.numbers(self.layout.propensity)
        return Log(self.action(sheet), propensity, values[0], np.column_stack(values[1:]), self.labels.size)

    def table(self, sheet: Sheet) -> Table:
        """Return the rows as a table."""
        values = self.units(sheet)
        if self.layout.wide:
            return Table(values[0], np.stack(values[1:], axis=2))
        return _table(sheet, self.layout.round, self.labels, self.action(sheet), values)

    def data(self, game: Table | Log | StreamedLog, source: str) -> Data:
        """Return a game that was read with the names of its actions and its quantities."""
        labels = [f"{label:g}" if isinstance(label, float) else str(label) for label in self.labels.tolist()]
        names = action_names(labels, self.called)
        return Data(game, names, self.quantities[0], self.quantities[1:], source)


def check_wide(sheet: Sheet, reward: Query, query: Query) -> None:
    """Raise ValueError unless a quantity has a column NAME:ACTION for exactly the actions of the reward."""
    actions = sheet.actions_of(reward.name)
    unpaired = [action for action in sheet.actions_of(query.name) if action not in actions]
    if unpaired:
        raise ValueError(
            f"{sheet.file} has the column {query.name}:{unpaired[0]}, but no {reward.name}:{unpaired[0]}: each of "
            f"{', '.join((*actions, *unpaired))} must have both"
        )
    missing = [action for action in actions if f"{query.name}:{action}" not in sheet.columns]
    if missing:
        raise ValueError(
            f"{sheet.file} lacks the column {query.name}:{missing[0]}: each of {', '.join(actions)} must have one"
        )


def action_labels(sheet: Sheet, action: str | None) -> tuple[str | None, dict[str, str]]:
    """Parse NAME or NAME=LABEL:TEXT,LABEL:TEXT: the column of actions, and names for some of them."""
    if action is None or action in sheet.columns or "=" not in action:
        return action, {}
    column, _, listing = action.partition("=")
    pairs = [pair.partition(":") for pair in listing.split(",")]
    if not all(colon and label and text for label, colon, text in pairs):
        raise ValueError(f"a column of actions must be NAME or NAME=LABEL:TEXT,LABEL:TEXT, got {action!r}")
    return column, {label: text for label, _, text in pairs}


def action_names(labels: Sequence[str], called: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the actions: the user's name, else the label; the label N, a number, becomes action N."""
    unknown = [label for label in called if label not in labels]
    if unknown:
        listing = ", ".join(labels)
        raise ValueError(f"there is no action {unknown[0]!r} to call {called[unknown[0]]!r}; the actions are {listing}")
    numeral = re.compile(NUMBER)
    names = tuple(called.get(label, f"action {label}" if numeral.fullmatch(label) else label) for label in labels)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"names of actions must be distinct, got {twice!r} twice")
    return names


def _table(sheet: Sheet, round_column: str, labels: Labels, action: Indices, values: list[Values]) -> Table:
    """Return the table from rows with one round and one action each."""
    rounds, row = in_order(sheet.labels(round_column))
    T, K = len(rounds), len(labels)
    rows = action.size
    if 4 * rows < T * K - 1000:  # there must be T K rows: do not allocate a table that is mostly empty
        whole = f"{sheet.file} must have every action once in every round, or a propensity for each row"
        sizes = f"it has {T} rounds, {K} actions and {rows} rows"
        raise ValueError(ONE_ACTION.format(file=sheet.file) if rows == T else f"{whole}; {sizes}")
    count = np.zeros((T, K), dtype=np.int64)
    np.add.at(count, (row, action), 1)
    if K > 1 and (count.sum(axis=1) == 1).all():
        raise ValueError(ONE_ACTION.format(file=sheet.file))
    if (count != 1).any():
        t, i = np.argwhere(count != 1)[0]
        raise ValueError(
            f"{sheet.file} must have every action once in every round, or a propensity for each row; round {rounds[t]} "
            f"has action {labels[i]} {count[t, i]} times"
        )
    cube = np.empty((T, K, len(values)))
    cube[row, action] = np.column_stack(values)
    return Table(np.ascontiguousarray(cube[:, :, 0]), cube[:, :, 1:])


def find_round(sheet: Sheet, names: Columns) -> str:
    """Return the column of rounds."""
    if names.round is None and not {"round", "t"} & set(sheet.columns):
        raise ValueError(
            f"{sheet.file} lacks a column round, for a table with every action in every round, and a column propensity, for "
            f"a log with one action per row: give --round NAME or --propensity NAME; {sheet.listing()}"
        )
    return sheet.find(names.round, "round", "t")


def in_order(values: Labels) -> tuple[Labels, Indices]:
    """Return the distinct values and their indices: numbers and dates in their order, text in order of appearance."""
    distinct, first, which = np.unique(values, return_index=True, return_inverse=True)
    if values.dtype.kind != "U":
        return distinct, which
    order = np.argsort(first)
    return distinct[order], np.argsort(order)[which]
