"""Which columns of a dataset are read, and how a row group of them becomes numbers of [0, 1]."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Quantity, Query, Values, to_unit
from lewa.data.dataset import Group
from lewa.data.log import Log
from lewa.data.sheet import Labels, Sheet
from lewa.types import Indices


class Layout(NamedTuple):
    """Which columns of a dataset are read, and what for."""

    file: str
    queries: tuple[Query, ...]  # the reward, then the constraints
    wide: tuple[str, ...] = ()  # the actions that have a column NAME:ACTION each; none where a row is about one action
    action: str = ""
    round: str = ""  # of a table with a row for each action
    propensity: str = ""  # of a log

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        if self.wide:
            return [f"{query.name}:{action}" for query in self.queries for action in self.wide]
        return [*(query.name for query in self.queries), *filter(None, (self.action, self.round, self.propensity))]

    def sheet(self, group: Group) -> Sheet:
        """Read a row group; cells are checked when they are looked at."""
        return Sheet.of(group.read(self.columns), self.file)._replace(first=group.start)

    def values(self, sheet: Sheet, query: Query) -> Values:
        """Return the numbers of a quantity: (n,), or (n, K) where there is a column for each action."""
        if not self.wide:
            return sheet.numbers(query.name)
        return np.column_stack([sheet.numbers(f"{query.name}:{action}") for action in self.wide])

    def place(self, first: int) -> Callable[[int], str]:
        """Return what says where the value at an index of a row group stands."""
        K = len(self.wide)
        if not K:
            return lambda at: f"in row {first + at + 1}"
        return lambda at: f"for {self.wide[at % K]} in row {first + at // K + 1}"


class Reader(NamedTuple):
    """What turns a row group into numbers of [0, 1]."""

    layout: Layout
    quantities: tuple[Quantity, ...]
    labels: Labels  # of the actions, sorted

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
