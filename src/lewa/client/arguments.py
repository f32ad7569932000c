"""Checks of what a client is called with, before anything is sent."""

import json
from collections.abc import Mapping
from uuid import uuid4

from lewa.validation import as_real, is_list, short_repr

LONGEST_WAIT = 1e9  # seconds, which every clock can add


def as_seconds(name: str, value: object, zero: bool = False) -> float:
    """Return a number of seconds to wait, positive or zero; raise ValueError for anything else."""
    seconds = as_real(name, value)
    if not (0 < seconds <= LONGEST_WAIT or (zero and seconds == 0)):
        law = "must lie between 0 and" if zero else "must be positive, and at most"
        raise ValueError(f"{name} {law} {LONGEST_WAIT:g} seconds, got {seconds}")
    return seconds


def as_text(name: str, value: object) -> str:
    """Return a text that can be sent; raise ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text, got {short_repr(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} must be valid Unicode, got {short_repr(value)}") from None
    return value


def as_key(value: object) -> str:
    """Return a key of the service, which is a header of every request."""
    key = as_text("key", value)
    if not key.isascii() or not key.isprintable():
        raise ValueError("key must consist of printable ASCII characters")  # and is not repeated: it is secret
    return key


def as_fallback(value: object) -> str | Mapping[str, str] | None:
    """Return an action, actions by agent, or None."""
    texts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else [] if value is None else [value]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"fallback must be an action, or map agents to actions, got {short_repr(value)}")
    return value  # type: ignore[return-value]


def query_of(key: object, available: object, **mappings: object) -> dict[str, object]:
    """Return the body of a request for a decision; raise ValueError for what the service cannot understand."""
    if key is not None:
        as_text("key", key)
    query: dict[str, object] = {"key": key or uuid4().hex}
    if available is not None:
        if isinstance(available, Mapping) or not is_list(available):
            raise ValueError(f"available must be a list of actions, got {short_repr(available)}")
        query["available"] = [as_text("an available action", action) for action in available]
    for name, mapping in mappings.items():
        if mapping is not None:
            if not isinstance(mapping, Mapping) or not all(isinstance(entry, str) for entry in mapping):
                raise ValueError(f"{name} must be a dictionary with texts as its names, got {short_repr(mapping)}")
            query[name] = dict(mapping)
    check_json("a request", query)
    return query


def check_json(what: str, body: Mapping[str, object]) -> None:
    """Raise ValueError for what cannot be sent, which would stand in the way of all others."""
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"{what} must consist of texts and finite numbers, got {short_repr(body)}") from None
