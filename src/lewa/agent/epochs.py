"""The epochs of an agent: which tag the id of each decision has."""

from bisect import bisect_right
from typing import Any

from lewa.ids import is_tag, new_tag
from lewa.validation import short_repr


class Epochs:
    """The first decision and the tag of each epoch. The first epoch begins with decision 1 and has no tag."""

    def __init__(self) -> None:
        self._firsts: list[int] = [1]
        self._tags: list[str | None] = [None]
        self._next: str | None = None  # the tag of the next decision; that of the last epoch, or one that begins another

    def renew(self) -> None:
        """Give the next decision a new tag: the agent comes from a file, which may be an old copy."""
        self._next = new_tag()

    def take(self, tag: str | None) -> None:
        """Give the next decision the tag that its record has."""
        self._next = tag

    @property
    def next(self) -> str | None:
        """Return the tag of the next decision."""
        return self._next

    def decided(self, number: int) -> None:
        """Count a decision that was made."""
        if self._next != self._tags[-1]:
            self._firsts.append(number)
            self._tags.append(self._next)

    def tag(self, number: int) -> str | None:
        """Return the tag of a decision."""
        if len(self._tags) == 1:  # nearly always
            return None
        return self._tags[bisect_right(self._firsts, number) - 1]

    def copy(self) -> "Epochs":
        """Return a copy."""
        twin = Epochs()
        twin._firsts, twin._tags, twin._next = list(self._firsts), list(self._tags), self._next
        return twin

    def plain(self) -> list[list[object]]:
        """Return the epochs after the first as plain data for JSON; the next tag is of no decision yet, and is left out."""
        return [[first, tag] for first, tag in zip(self._firsts[1:], self._tags[1:], strict=True)]

    @classmethod
    def from_plain(cls, plain: Any) -> "Epochs":
        """Return what `plain` wrote."""
        epochs = cls()
        for first, tag in plain:
            if type(first) is not int or first < epochs._firsts[-1] or not is_tag(tag):
                raise ValueError(f"an epoch must have its first decision and a tag, got {short_repr([first, tag])}")
            epochs.take(tag)
            epochs.decided(first)
        return epochs
