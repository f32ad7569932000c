"""The columns of a dataset that are read, and the map from a row group to numbers in [0, 1]."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Quantity, Query, Values, to_unit
from lewa.data.dataset import Group
from lewa.data.log import Log
from lewa.data.sheet import Labels, Sheet
from lewa.types import Indices


class Layout(NamedTuple):
    """The columns of a dataset that are read, by their role."""

    file: str  # the name of the dataset, for messages
    queries: tuple[Query, ...]  # the reward, then the constraints
    wide: tuple[str, ...] = ()  # the actions with a column NAME:ACTION each; empty if every row has one action
    action: str = ""  # the column of actions
    round: str = ""  # the column of rounds, in a table with one row per round and action
    propensity: str = ""  # the column of propensities, in a log

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        if self.wide:
            return [f"{query.name}:{action}" for query in self.queries for action in self.wide]
        return [*(query.name for query in self.queries), *filter(None, (self.action, self.round, self.propensity))]

    def sheet(self, group: Group) -> Sheet:
        """Read a row group; its cells are checked on access."""
        return Sheet.of(group.read(self.columns), self.file)._replace(first=group.start)

    def values(self, sheet: Sheet, query: Query) -> Values:
        """Return the numbers of a quantity: (n,), or (n, K) if there is a column for each action."""
        if not self.wide:
            return sheet.numbers(query.name)
        return np.column_stack([sheet.numbers(f"{query.name}:{action}") for action in self.wide])

    def place(self, first: int) -> Callable[[int], str]:
        """Return the function that describes the position of an index of a row group, for messages."""
        K = len(self.wide)
        if not K:
            return lambda at: f"in row {first + at + 1}"
        return lambda at: f"for {self.wide[at % K]} in row {first + at // K + 1}"


class Reader(NamedTuple):
    """Reads a row group as numbers in [0, 1]."""

    layout: Layout
    quantities: tuple[Quantity, ...]
    labels: Labels  # the labels of the actions, sorted

    def units(self, sheet: Sheet) -> list[Values]:
        """Return the values of each quantity."""
        pairs = zip(self.layout.queries, self.quantities, strict=True)
        return [to_unit(quantity, self.layout.values(sheet, query)) for query, quantity in pairs]

    def action(self, sheet: Sheet) -> Indices:
        """Return the action of each row, counted from 0."""
        labels, which = sheet.distinct(self.layout.action)
        action: Indices = np.searchsorted(self.labels, labels)[which]
        return action

    def log(self, group: Group) -> Log:
        """Return a row group of a log."""
        sheet = self.layout.sheet(group)
        values = self.units(sheet)
        propensity = sheet.numbers(self.layout.propensity)
        return Log(self.action(sheet), propensity, values[0], np.column_stack(values[1:]), self.labels.size)
