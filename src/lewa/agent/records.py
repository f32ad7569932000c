"""The records that change an agent. Applied in order, they give the same agent, bit for bit."""

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, SupportsFloat

import numpy as np

from lewa.ids import is_tag, write_id
from lewa.validation import short_repr

VERSION = 1
COMPILED, PLAIN = "compiled", "plain"  # code that an agent runs, which differ in the last bits

Label = str | int
Input = SupportsFloat | Sequence[SupportsFloat]  # a value as the user gives it: a number, or one per action
Value = float | tuple[float, ...]  # and as a record keeps it
Plain = dict[str, Any]  # a JSON object that is read: its values have the types that the reader expects
JsonObject = dict[str, object]  # a JSON object that is written


class Decision(NamedTuple):
    """An action that was drawn, with everything that its answer needs.

    `probability` is the propensity of the action, and `play` the distribution from which it was drawn: over the available
    actions if some were masked, and empty above `agent.LARGEST_PLAY` actions, for which writing it would take too long.
    """

    id: int  # the number of the decision
    action: Label  # the action
    probability: float  # its propensity
    play_bytes: bytes  # the play as eight bytes per action
    multipliers: tuple[float, ...]  # the multipliers before the draw
    round: int  # the number of the round, from 1 on
    available: tuple[Label, ...] | None = None  # the available actions; None for all
    agent: str | None = None  # the name of the agent that made it, if it has one
    features_bytes: bytes = b""  # the features of its context, eight bytes each; empty without context
    charged: tuple[float, ...] = ()  # the costs in [0, 1] that a learner with context charged at the draw
    context: Any = None  # the context itself, if the agent records it
    elsewhere: bool = False  # whether somebody else made it, and this agent took it over
    tag: str | None = None  # of its epoch; None until the agent was opened or loaded from a file
    run: str | None = None  # COMPILED or PLAIN: the code that the agent runs from here on; None: the code as before

    @property
    def key(self) -> str:
        """Return the agent's name with the number, such as "router:17"; agents with other names reject this key.

        After the agent was opened or loaded from a file, keys have a tag, such as "router:k3f9ab-17".
        """
        return write_id(self.agent or "", self.id, self.tag)

    @property
    def features(self) -> tuple[float, ...]:
        """Return the features of the context that the action was drawn in."""
        return tuple(memoryview(self.features_bytes).cast("d"))

    @property
    def play(self) -> tuple[float, ...]:
        """Return the distribution that the action was drawn from."""
        return tuple(memoryview(self.play_bytes).cast("d"))

    def __repr__(self) -> str:
        return _text("Decision", {**self._asdict(), "play_bytes": self.play, "features_bytes": self.features})

    def plain(self) -> Plain:
        """Return the record as plain data for JSON."""
        fields = {_public(name): value for name, value in _named(self._asdict()).items()}
        available = None if self.available is None else list(self.available)
        lists = {"play": list(self.play), "multipliers": list(self.multipliers), "available": available}
        context = {"features": list(self.features), "charged": list(self.charged)} if self.features_bytes else {}
        return {"kind": "decision", "version": VERSION, **fields, **lists, **context}


NO_CONTEXT = (b"", (), None)  # the fields about the context of a decision without one


class Feedback(NamedTuple):
    """Values of a decision by name, in the user's units, all or some of them; or the end of the decision."""

    decision: int  # the number of the decision
    values: Mapping[str, Value]  # the values by name
    closed: bool = False  # whether the decision gets no further answer
    agent: str | None = None  # the name of the agent, if it has one
    failed: bool = False  # whether its action failed: the values are then complete, and the breaker counts it

    def __repr__(self) -> str:
        return _text("Feedback", self._asdict())

    def plain(self) -> Plain:
        """Return the record as plain data for JSON."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in self.values.items()}
        return {"kind": "feedback", "version": VERSION, **_named({**self._asdict(), "values": values})}


class Change(NamedTuple):
    """A change of an agent: what was changed, to which value, when, by whom and why."""

    what: str  # "limit", "range", "carry_over", "refunds", "forgive", "add", "retire", "mode" and so on: `changes.CHANGES`
    name: Label | None  # the name of the constraint or the action; None for a mode and an exposure
    value: Any  # the new value, as plain data
    decisions: int  # the number of decisions before it
    who: str = ""  # who made the change
    why: str = ""  # the reason
    agent: str | None = None  # the name of the agent that was changed, if it has one

    def __repr__(self) -> str:
        return _text("Change", self._asdict())

    def plain(self) -> Plain:
        """Return the record as plain data for JSON."""
        return {"kind": "change", "version": VERSION, **_named(self._asdict())}


Record = Decision | Feedback | Change
# Left out where they say nothing:
OPTIONAL = {"agent", "failed", "features", "charged", "context", "elsewhere", "tag", "run"}
KINDS: dict[str, type[Record]] = {"decision": Decision, "feedback": Feedback, "change": Change}


def record(plain: object) -> Record:
    """Return the record that `plain()` wrote.

    >>> record({"kind": "feedback", "version": 1, "decision": 3, "values": {"cost": 0.25}, "closed": False})
    Feedback(decision=3, values={'cost': 0.25}, closed=False)
    """
    if not isinstance(plain, Mapping) or plain.get("kind") not in KINDS:
        raise ValueError(f"a record must be a decision, a feedback or a change, got {short_repr(plain)}")
    if plain.get("version") != VERSION:
        raise ValueError(f"a record must have version {VERSION}, got version {short_repr(plain.get('version'))}")
    fields = {name: value for name, value in plain.items() if name not in ("kind", "version")}
    names = [_public(name) for name in KINDS[plain["kind"]]._fields]
    if not set(names) - OPTIONAL <= set(fields) <= set(names):
        raise ValueError(f"a {plain['kind']} must have the fields {', '.join(names)}, got {', '.join(map(str, fields))}")
    agent = fields.setdefault("agent", None)
    if agent is not None and not isinstance(agent, str):
        raise ValueError(f"the agent of a {plain['kind']} must be a name, got {short_repr(agent)}")
    if plain["kind"] == "change":
        return Change(**fields)
    return _decision(fields) if plain["kind"] == "decision" else _feedback(fields)


def _decision(fields: Plain) -> Decision:
    try:
        available = None if fields["available"] is None else tuple(fields["available"])
        lists = {"play_bytes": play_to_bytes(fields.pop("play")), "multipliers": tuple(fields["multipliers"])}
        context = {"features_bytes": play_to_bytes(fields.pop("features", ())), "charged": tuple(fields.get("charged", ()))}
    except (TypeError, OverflowError):
        raise ValueError(f"play, multipliers and available of a decision must be lists, got {short_repr(fields)}") from None
    return Decision(**{**fields, **lists, **context, "available": available})


def _feedback(fields: Plain) -> Feedback:
    values = fields["values"]
    if not isinstance(values, Mapping):
        raise ValueError(f"the values of a feedback must map names to numbers, got {short_repr(values)}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    failed = fields.get("failed", False)
    if type(failed) is not bool:
        raise ValueError(f"failed must be true or false in a feedback, got {short_repr(failed)}")
    return Feedback(fields["decision"], values, fields["closed"], fields["agent"], failed)


def check_types(decision: Decision) -> None:
    """Refuse a decision that no agent can have made, as its fields are of other types."""
    right = type(decision.id) is type(decision.round) is int and isinstance(decision.action, str | int)
    for data in (decision.play_bytes, decision.features_bytes):
        right = right and type(data) is bytes and len(data) % 8 == 0
    right = right and isinstance(decision.charged, tuple) and isinstance(decision.multipliers, tuple)
    right = right and type(decision.elsewhere) is bool and is_tag(decision.tag)
    right = right and (decision.run is None or (isinstance(decision.run, str) and decision.run in (COMPILED, PLAIN)))
    if not right:
        fields = {name: short_repr(value) for name, value in decision._asdict().items()}
        raise ValueError(f"a decision must have the fields that an agent gave it, got {short_repr(fields)}")


def play_to_bytes(play: Iterable[float]) -> bytes:
    """Return a play in the form in which a decision carries it."""
    return array("d", play).tobytes()


def as_json(change: Change) -> Change:
    """Return a change with its values as plain data for JSON; raise ValueError for values without such a form.

    >>> as_json(Change("limit", "cost", np.float32(0.5), 0)).value
    0.5
    """
    fields = change._asdict()
    try:
        text = json.dumps(fields, ensure_ascii=False, default=_plain_value)
        text.encode()  # refuses half a character
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"a change must consist of texts and numbers that JSON can hold, got {short_repr(change)}"
        ) from None
    return Change(**json.loads(text))


def _plain_value(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return float(value)  # type: ignore[arg-type]  # a fraction, say; else a TypeError


def _public(name: str) -> str:
    return name.removesuffix("_bytes")


def _named(fields: JsonObject) -> JsonObject:
    """Leave out a name and a context where there is none: so records of version 1 are written as they were."""
    return {name: value for name, value in fields.items() if _public(name) not in OPTIONAL or value}


def _text(kind: str, fields: JsonObject) -> str:
    return f"{kind}({', '.join(f'{_public(name)}={value!r}' for name, value in _named(fields).items())})"
