"""Ids of decisions, such as "router:17" or "router:k3f9ab-17": the agent, the tag of an epoch, and the number.

An epoch is a run of decisions of one agent without a break. The first one has no tag. An agent that was read from a file, a
journal or a store draws a new tag for its next decisions: the file may be an old copy, and decisions with the same numbers
may have been made after it was copied.
"""

import re
import secrets
from typing import NamedTuple

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without letters that look like digits
SIZE = 6  # letters of a tag: 30 random bits
_ID = re.compile(r"(?s:(.*)):(?:([a-z0-9]{1,16})-)?([0-9]{1,18})")
_TAG = re.compile(r"[a-z0-9]{1,16}")


class DecisionId(NamedTuple):
    """The parts of an id.

    >>> str(DecisionId("router", 17))
    'router:17'
    >>> read_id("router:k3f9ab-17")
    DecisionId(agent='router', number=17, tag='k3f9ab')
    """

    agent: str  # its name, empty if it has none
    number: int
    tag: str | None = None  # None in the first epoch

    def __str__(self) -> str:
        return write_id(*self)


def write_id(agent: str, number: int, tag: str | None = None) -> str:
    """Return an id as text."""
    return f"{agent}:{number}" if tag is None else f"{agent}:{tag}-{number}"


def read_id(text: str) -> DecisionId | None:
    """Return the parts of an id; None if the text is no id."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    agent, tag, number = match.groups()
    return DecisionId(agent, int(number), tag)


def is_tag(tag: object) -> bool:
    """Return whether this can be the tag of an epoch; None is that of the first one."""
    return tag is None or (isinstance(tag, str) and _TAG.fullmatch(tag) is not None)


def new_tag() -> str:
    """Return a random tag."""
    return "".join(secrets.choice(ALPHABET) for _ in range(SIZE))
