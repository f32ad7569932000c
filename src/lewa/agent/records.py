"""The two records that ever change an agent. A list of them, applied in order, gives the same agent to the bit."""

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

VERSION = 1

Label = str | int
Value = float | tuple[float, ...]


class Decision(NamedTuple):
    """One action drawn, with everything its answer will need.

    `probability` is the chance the action had and `play` the distribution it was drawn from: over the available actions if
    some were masked, and empty where writing it out would cost more than the round (above `agent.WRITTEN_OUT` actions).
    """

    id: int
    action: Label
    probability: float
    packed: bytes  # the play as eight bytes an action, which costs a tenth of a tuple
    multipliers: tuple[float, ...]
    round: int  # counted from 1
    available: tuple[Label, ...] | None = None  # None: all of them

    @property
    def play(self) -> tuple[float, ...]:
        """The distribution that the action was drawn from."""
        return tuple(memoryview(self.packed).cast("d"))

    def __repr__(self) -> str:
        said = {**self._asdict(), "packed": self.play}
        return f"Decision({', '.join(f'{_spoken(name)}={value!r}' for name, value in said.items())})"

    def plain(self) -> dict[str, Any]:
        """The record as JSON has it."""
        fields = {_spoken(name): value for name, value in self._asdict().items()}
        available = None if self.available is None else list(self.available)
        lists = {"play": list(self.play), "multipliers": list(self.multipliers), "available": available}
        return {"kind": "decision", "version": VERSION, **fields, **lists}


def _spoken(name: str) -> str:
    return "play" if name == "packed" else name


def packed(play: Iterable[float]) -> bytes:
    """A play as a decision carries it."""
    return array("d", play).tobytes()


class Feedback(NamedTuple):
    """What became known of a decision, in the user's units: all of it or a part, by name; or that no more will come."""

    decision: int
    values: Mapping[str, Value]
    closed: bool = False

    def plain(self) -> dict[str, Any]:
        """The record as JSON has it."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in self.values.items()}
        head: dict[str, Any] = {"kind": "feedback", "version": VERSION}
        return {**head, "decision": self.decision, "values": values, "closed": self.closed}


Record = Decision | Feedback


def record(plain: Any) -> Record:
    """The record that `plain()` wrote.

    >>> record({"kind": "feedback", "version": 1, "decision": 3, "values": {"cost": 0.25}, "closed": False})
    Feedback(decision=3, values={'cost': 0.25}, closed=False)
    """
    if not isinstance(plain, Mapping) or plain.get("kind") not in ("decision", "feedback"):
        raise ValueError(f"a record is a decision or a feedback, got {shortened(plain)}")
    if plain.get("version") != VERSION:
        raise ValueError(f"records of version {VERSION} can be read, got version {plain.get('version')!r}")
    fields = {name: value for name, value in plain.items() if name not in ("kind", "version")}
    kind: Any = Decision if plain["kind"] == "decision" else Feedback
    names = [_spoken(name) for name in kind._fields]
    if set(fields) != set(names):
        raise ValueError(f"a {plain['kind']} has the fields {', '.join(names)}, got {', '.join(map(str, fields))}")
    if kind is Feedback:
        if not isinstance(fields["values"], Mapping):
            raise ValueError(f"the values of a feedback are numbers by name, got {shortened(fields['values'])}")
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in fields["values"].items()}
        return Feedback(fields["decision"], values, fields["closed"])
    try:
        available = None if fields["available"] is None else tuple(fields["available"])
        lists = {"packed": packed(fields.pop("play")), "multipliers": tuple(fields["multipliers"]), "available": available}
    except TypeError:
        raise ValueError(f"play, multipliers and available of a decision are lists, got {shortened(plain)}") from None
    return Decision(**{**fields, **lists})


def shortened(value: object) -> str:
    """Its text, if that is short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
