"""The constraints of an agent, in the user's units; `lewa.units` converts them to the learner's units."""

from collections.abc import Mapping
from typing import NamedTuple

from lewa.units import Scale, as_number, as_range, scale_of
from lewa.validation import is_unicode, short_repr

Group = str | Mapping[str, str | int]  # a column, or a level of one: {"tier": "premium"}


class Constraint(NamedTuple):
    """A quantity whose long-run average must be at most or at least a limit."""

    name: str  # the name of the constraint
    sense: str  # "at most" or "at least"
    limit: float  # the limit of the average
    low: float  # the least value
    high: float  # the greatest value
    quantity: str | None = None  # the quantity, for a constraint of a group of requests
    group: tuple[str, str | int | None] | None = None  # its column and level; None as the level stands for every level

    @property
    def scale(self) -> Scale:
        """Return the conversion between the user's units and the learner's."""
        return scale_of(self.sense, self.low, self.high)

    @property
    def floor(self) -> float:
        """Return the limit as the learner's floor."""
        return self.scale.unit(self.limit)

    @property
    def if_failed(self) -> float:
        """Return the value of a decision whose action failed, if none is told: no cost, and the least of what is wanted."""
        return max(self.low, min(0.0, self.high)) if self.sense == "at most" else self.low

    def changed(self, limit: object = None, ends: object = None) -> "Constraint":
        """Return the constraint with another limit or range, and all else as it is; raise ValueError if it is not valid."""
        valid = checked(
            self.name, self.sense, self.limit if limit is None else limit, (self.low, self.high) if ends is None else ends
        )
        return self._replace(limit=valid.limit, low=valid.low, high=valid.high)

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.limit:g}"


def at_most(
    name: str,
    limit: float,
    range: tuple[float, float] = (0, 1),  # noqa: A002  the user's word for it
    group: Group | None = None,
) -> Constraint:
    """Require that the average of a quantity is at most a limit.

    Parameters
    ----------
    name : str
        The name of the quantity, as answers tell it.
    limit : float
        The limit of its average, in your units.
    range : tuple of float
        The least and the largest value that it can have.
    group : str or mapping, optional
        A category of the context: each of its levels gets a constraint of its own, with the average over its
        requests. {column: level} is one of them.

    >>> at_most("cost", 0.002, range=(0, 0.05)).floor
    0.96
    >>> str(at_most("cost", 0.003, group={"tier": "premium"}))
    'cost of premium at most 0.003'
    """
    return _grouped(checked(name, "at most", limit, range), group)


def at_least(
    name: str,
    limit: float,
    range: tuple[float, float] = (0, 1),  # noqa: A002
    group: Group | None = None,
) -> Constraint:
    """Require that the average of a quantity is at least a limit.

    Parameters
    ----------
    name : str
        The name of the quantity, as answers tell it.
    limit : float
        The limit of its average, in your units.
    range : tuple of float
        The least and the largest value that it can have.
    group : str or mapping, optional
        A category of the context: each of its levels gets a constraint of its own, with the average over its
        requests. {column: level} is one of them.

    >>> at_least("quality", 4, range=(1, 5)).floor
    0.75
    """
    return _grouped(checked(name, "at least", limit, range), group)


def of_group(constraint: Constraint, column: str, level: str | int) -> Constraint:
    """Return the constraint for the requests of one level of a column."""
    quantity = constraint.quantity or constraint.name
    return constraint._replace(name=f"{quantity} of {level}", quantity=quantity, group=(column, level))


def _grouped(constraint: Constraint, group: Group | None) -> Constraint:
    if group is None:
        return constraint
    if isinstance(group, str) and group:
        return constraint._replace(quantity=constraint.name, group=(group, None))
    if isinstance(group, Mapping) and len(group) == 1 and all(isinstance(name, str) for name in group):
        ((column, level),) = group.items()
        return of_group(constraint, column, level)
    raise ValueError(f"a group must be a column of the context, or one level as {{column: level}}, got {short_repr(group)}")


def from_plain(
    name: str,
    sense: str,
    line: float,
    low: float,
    high: float,
    quantity: str | None = None,
    group: tuple[str, str | int] | None = None,
) -> Constraint:
    """Return the constraint that `to_plain` wrote."""
    if sense not in ("at most", "at least"):
        raise ValueError(f"the sense of a constraint must be 'at most' or 'at least', got {sense!r}")
    made = checked(name, sense, line, (low, high))
    return made if group is None else made._replace(quantity=quantity, group=(group[0], group[1]))


def to_plain(constraint: Constraint) -> dict[str, object]:
    """Return the constraint as plain data for JSON; files of version 1 call the limit "line", and know no groups."""
    plain = {"line" if name == "limit" else name: value for name, value in constraint._asdict().items()}
    return {name: value for name, value in plain.items() if value is not None}


def checked(name: str, sense: str, limit: object, ends: object) -> Constraint:
    """Return a constraint; raise ValueError if it is not valid."""
    if not isinstance(name, str) or len(name.splitlines()) != 1 or name == "reward":
        raise ValueError(f"a constraint needs a name of one line, which is not 'reward', got {short_repr(name)}")
    if not is_unicode(name):
        raise ValueError(f"the name of a constraint must be valid Unicode, got {short_repr(name)}")
    low, high = as_range(name, ends)
    limit = as_number(f"the limit of {name}", limit)
    if not low <= limit <= high:
        raise ValueError(f"the limit of {name} must lie in its range ({low:g}, {high:g}), got {limit:g}")
    return Constraint(name, sense, limit, low, high)
