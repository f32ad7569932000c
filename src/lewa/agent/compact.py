"""Records in a compact form: one JSON list on one line, about 100 bytes. `plain()` of a record is the long form beside it.

A decision has no play unless it is requested: the journal requests it if the learner needs it.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from lewa.agent.records import Change, Decision, Feedback, Record, record
from lewa.ids import read_id, write_id
from lewa.validation import short_repr

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def to_text(item: Record, with_play: bool = False) -> str:
    """Return a record as one line of text.

    >>> to_text(Decision(7, "small", 0.25, b"", (0.5,), 7))
    '["d",7,"small",0.25,[0.5]]'
    >>> to_text(Feedback(7, {"cost": 0.125}))
    '["f",7,{"cost":0.125}]'
    >>> to_text(Decision(7, "small", 0.25, b"", (0.5,), 7, tag="k3f9ab"))
    '["d",":k3f9ab-7","small",0.25,[0.5]]'
    """
    if isinstance(item, Change):
        return _encode(["c", item.plain()])
    if isinstance(item, Feedback):
        return _encode(_cut(["f", item.decision, dict(item.values), item.closed or None, item.agent, item.failed or None]))
    play = b64encode(item.play_bytes).decode() if with_play and item.play_bytes else None
    context = [b64encode(item.features_bytes).decode(), item.charged, item.context] if item.features_bytes else [None] * 3
    number = item.id if item.tag is None else write_id("", item.id, item.tag)
    head = ["d", number, item.action, item.probability, item.multipliers, item.available, item.agent, play]
    return _encode(_cut([*head, *context, item.elsewhere or None, item.run]))


def from_text(text: str) -> Record:
    """Return the record that `to_text` wrote; raise ValueError for any other text.

    >>> from_text('["f",7,{"cost":0.125}]')
    Feedback(decision=7, values={'cost': 0.125}, closed=False)
    """
    try:
        kind, *fields = json.loads(text)
        item: Record = _READERS[kind](*fields)
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"a line must be a decision, a feedback or a change, got {short_repr(text)}") from None
    return item


def _cut(fields: list[Any]) -> list[Any]:
    while fields[-1] is None:
        fields.pop()
    return fields


def _decision(
    number: int | str,
    action: str | int,
    probability: float,
    multipliers: list[float],
    available: list[str | int] | None = None,
    agent: str | None = None,
    play: str | None = None,
    *more: Any,
) -> Decision:
    among = None if available is None else tuple(available)
    features, charged, context, elsewhere, run = (*more, None, None, None, None, None)[:5]
    packed, seen = (b"" if data is None else b64decode(data) for data in (play, features))
    tag: str | None = None
    if isinstance(number, str):
        _, number, tag = read_id(number) or (None, number, None)
    head: tuple[Any, ...] = number, action, probability, packed, tuple(multipliers), number, among, agent
    return Decision._make((*head, seen, tuple(charged or ()), context, bool(elsewhere), tag, run))


def _feedback(
    number: int,
    values: Mapping[str, Any],
    closed: bool | None = None,
    agent: str | None = None,
    failed: bool | None = None,
) -> Feedback:
    made = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return Feedback(number, made, bool(closed), agent, bool(failed))


_READERS: dict[str, Any] = {"d": _decision, "f": _feedback, "c": record}
