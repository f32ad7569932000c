"""Count values of contexts that do not fit their declaration; the counts are not saved.

A context is not part of an agent's records, and neither are these counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lewa.context import Category, Context, Number

FEW = 50  # contexts below which nothing is said
SHARE = 0.01  # of the contexts that have to be outside before it is said


@dataclass
class Misfits:
    """Counts by column, since this process has the agent."""

    contexts: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    outside: dict[str, tuple[int, float, float]] = field(default_factory=dict)  # how many, the least and the largest
    undeclared: dict[str, int] = field(default_factory=dict)

    def add(self, context: Context, values: Mapping[str, object]) -> None:
        """Count the misfits of one context, whose types were checked when it was encoded."""
        self.contexts += 1
        for column in context.columns:
            name, value = column.name, values.get(column.name)
            if value is None or (isinstance(value, float) and value != value):
                self.missing[name] = self.missing.get(name, 0) + 1
            elif isinstance(column, Number):
                number = float(value)  # type: ignore[arg-type]
                if not column.range[0] <= number <= column.range[1]:
                    count, low, high = self.outside.get(name, (0, *column.range))
                    self.outside[name] = count + 1, min(low, number), max(high, number)
            elif isinstance(column, Category) and not column.buckets and value not in column.levels:
                self.undeclared[name] = self.undeclared.get(name, 0) + 1

    def copy(self) -> "Misfits":
        """Return a copy."""
        return replace(self, missing=dict(self.missing), outside=dict(self.outside), undeclared=dict(self.undeclared))

    def texts(self) -> list[str]:
        """Return one sentence for each column that does not fit."""
        n = self.contexts
        if n < FEW:
            return []
        few = max(1, SHARE * n)
        sentences = [
            f"{count} of {n} values of {name} were outside its range and were clipped to it; ({low:g}, {high:g}) would fit"
            for name, (count, low, high) in self.outside.items()
            if count >= few
        ]
        sentences += [
            f"{count} of {n} values of {name} are undeclared levels and count as missing: see buckets"
            for name, count in self.undeclared.items()
            if count >= few
        ]
        return sentences + [
            f"{count} of {n} values of {name} were missing" for name, count in self.missing.items() if count >= n / 2
        ]
