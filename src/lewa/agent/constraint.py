"""The constraints of an agent, in the user's units; `lewa.units` converts them to the learner's units."""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

from lewa.units import Scale, as_number, as_range, scale_of
from lewa.validation import as_flag, is_unicode, short_repr

CREDIT = {"all": inf, "none": 0.0}  # how much of what was saved is carried over, by the word for it
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
    carry_over: str | float = "all"  # what may be spent later of what was saved: "all", "none", or at most so much
    refunds: bool = False  # whether values below the range count in full in verdicts, caps and the rules of a watchdog

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

    @property
    def credit(self) -> float:
        """Return the largest credit that is carried over, in the user's units."""
        return CREDIT[self.carry_over] if isinstance(self.carry_over, str) else self.carry_over

    def changed(self, **terms: object) -> "Constraint":
        """Return the constraint with another limit, range (`ends`), carry_over or refunds, and all else as it is.

        Raise ValueError if it is not valid.
        """
        ends = terms.get("ends", (self.low, self.high))
        valid = checked(self.name, self.sense, terms.get("limit", self.limit), ends)
        made = self._replace(limit=valid.limit, low=valid.low, high=valid.high)
        return _with_terms(made, terms.get("carry_over", self.carry_over), terms.get("refunds", self.refunds))

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.limit:g}"


def at_most(
    name: str,
    limit: float,
    range: tuple[float, float] = (0, 1),  # noqa: A002  the user's word for it
    group: Group | None = None,
    carry_over: str | float = "all",
    refunds: bool = False,
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
    carry_over : "all", "none" or float
        What may be spent later of what was saved: all of it, nothing, or at most this amount, in your units. With "all",
        spending after a quiet time may be twice the limit until the savings are spent.
    refunds : bool
        Whether values below the range are legal. If so, they count in full; if not, verdicts, caps and the rules of a
        watchdog count them as the lower end of the range.

    >>> at_most("cost", 0.002, range=(0, 0.05)).floor
    0.96
    >>> str(at_most("cost", 0.003, group={"tier": "premium"}))
    'cost of premium at most 0.003'
    """
    return _with_terms(_grouped(checked(name, "at most", limit, range), group), carry_over, refunds)


def at_least(
    name: str,
    limit: float,
    range: tuple[float, float] = (0, 1),  # noqa: A002
    group: Group | None = None,
    carry_over: str | float = "all",
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
    carry_over : "all", "none" or float
        How much of an excess over the limit may be used up later: all of it, nothing, or at most this amount, in your
        units.

    >>> at_least("quality", 4, range=(1, 5)).floor
    0.75
    """
    return _with_terms(_grouped(checked(name, "at least", limit, range), group), carry_over)


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


def _with_terms(constraint: Constraint, carry_over: object, refunds: object = False) -> Constraint:
    """Return the constraint with what is carried over, and whether there are refunds; raise ValueError if it is invalid."""
    name, legal = constraint.name, as_flag("refunds", refunds)
    if legal and constraint.sense != "at most":
        raise ValueError(f"refunds are values below the range of a limit with at_most, got refunds=True for {constraint}")
    words = isinstance(carry_over, str)
    if words and carry_over not in CREDIT:
        raise ValueError(f"carry_over of {name} must be 'all', 'none' or a number, got {short_repr(carry_over)}")
    if isinstance(carry_over, bool) or (not words and as_number(f"carry_over of {name}", carry_over) < 0):
        raise ValueError(f"carry_over of {name} must be at least 0, got {short_repr(carry_over)}")
    return constraint._replace(carry_over=carry_over if words else float(carry_over), refunds=legal)  # type: ignore[arg-type]


def from_plain(name: str, sense: str, line: float, low: float, high: float, **further: Any) -> Constraint:
    """Return the constraint that `to_plain` wrote."""
    if sense not in ("at most", "at least"):
        raise ValueError(f"the sense of a constraint must be 'at most' or 'at least', got {sense!r}")
    made = checked(name, sense, line, (low, high))
    unknown = sorted(further.keys() - Constraint._field_defaults.keys())
    if unknown:
        raise ValueError(f"a saved constraint has no field {unknown[0]!r}")
    if (group := further.get("group")) is not None:
        made = made._replace(quantity=further.get("quantity"), group=(group[0], group[1]))
    return _with_terms(made, further.get("carry_over", "all"), further.get("refunds", False))


def to_plain(constraint: Constraint) -> dict[str, object]:
    """Return the constraint as plain data for JSON, without fields that say nothing; version 1 calls the limit "line"."""
    usual = Constraint._field_defaults
    fields = {name: value for name, value in constraint._asdict().items() if name not in usual or value != usual[name]}
    return {"line" if name == "limit" else name: value for name, value in fields.items()}


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
