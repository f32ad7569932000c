"""How many entries of a list are handled at a time, so that other calls are served after a moment."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
MOMENT = 0.003  # seconds after which other calls are served
MOST = 100  # entries in a moment
SHORT, LONG = MOMENT / 8, MOMENT / 2  # seconds of a part, below and above which the next one is twice or half as large


class Pace:
    """The size of the next part of a list. With some agents an entry takes a thousand times longer than with others."""

    def __init__(self) -> None:
        self._size = 1

    def parts(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the parts of a list that are handled in this moment: its beginning, at least one entry."""
        begun, count, most = time.perf_counter(), 0, min(len(items), MOST)
        end = begun + MOMENT
        while count < most and begun <= end:
            part = items[count : count + min(self._size, most - count)]
            yield part
            count += len(part)
            now = time.perf_counter()
            if now - begun < SHORT:
                self._size *= 2
            elif now - begun > LONG:
                self._size = max(1, self._size // 2)
            begun = now
