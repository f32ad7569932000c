"""What came of the last decisions, for the page and the metrics. It is no part of an agent's state."""

from collections import deque
from collections.abc import Mapping

Number = float | list[float]
WINDOW = 500  # decisions, and values of each quantity


class Recent:
    """Running sums over a window, and counts since the process began."""

    def __init__(self, actions: int, fields: tuple[str, ...]) -> None:
        self.taken = [0] * actions  # in the window
        self.total = [0] * actions
        self.late = self.closed = 0
        self._actions: deque[int] = deque()
        self._values: dict[str, deque[float]] = {name: deque() for name in fields}
        self._sums = dict.fromkeys(fields, 0.0)

    def decided(self, action: int) -> None:
        """Count an action."""
        self._actions.append(action)
        self.taken[action] += 1
        self.total[action] += 1
        if len(self._actions) > WINDOW:
            self.taken[self._actions.popleft()] -= 1

    def told(self, values: Mapping[str, Number]) -> None:
        """Count values; of a list, one per action, its mean."""
        for name, value in values.items():
            number = sum(value) / len(value) if isinstance(value, list | tuple) else value
            window = self._values[name]
            window.append(number)
            self._sums[name] += number
            if len(window) > WINDOW:
                self._sums[name] -= window.popleft()

    def average(self, name: str) -> float | None:
        """Return the average of the window."""
        window = self._values[name]
        return self._sums[name] / len(window) if window else None

    def shares(self) -> list[float]:
        """Return how often each action was taken in the window."""
        n = len(self._actions)
        return [count / n for count in self.taken] if n else [0.0] * len(self.taken)
