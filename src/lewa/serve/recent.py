"""Which actions were taken lately and what they earned, for the page and the metrics. It is no part of an agent's state."""

from collections import Counter, deque
from collections.abc import Iterable

WINDOW = 500  # decisions, and rewards


class Recent:
    """The last actions and rewards."""

    def __init__(self, actions: int) -> None:
        self._size = actions
        self._actions: deque[int] = deque(maxlen=WINDOW)
        self._rewards: deque[float] = deque(maxlen=WINDOW)

    def widen(self, actions: int) -> None:
        """Count more actions."""
        self._size = actions

    def add_actions(self, actions: Iterable[int]) -> None:
        """Count actions."""
        self._actions.extend(actions)

    def add_rewards(self, rewards: Iterable[float | list[float]]) -> None:
        """Count rewards; of one per action the mean."""
        self._rewards.extend(sum(x) / len(x) if isinstance(x, list | tuple) else x for x in rewards)

    def copy(self) -> "Recent":
        """Return a copy."""
        twin = Recent(self._size)
        twin._actions, twin._rewards = self._actions.copy(), self._rewards.copy()
        return twin

    def plain(self) -> list[list[float]]:
        """Return the window as plain data for JSON."""
        return [list(self._actions), list(self._rewards)]

    def restore(self, plain: list[list[float]]) -> None:
        """Restore what `plain` returned."""
        self._actions.extend(map(int, plain[0]))
        self._rewards.extend(plain[1])

    def reward(self) -> float | None:
        """Return the average reward of the window."""
        return sum(self._rewards) / len(self._rewards) if self._rewards else None

    def shares(self) -> list[float]:
        """Return how often each action was taken in the window."""
        counts = Counter(self._actions.copy())  # another thread may ask
        n = max(1, counts.total())
        return [counts[action] / n for action in range(self._size)]
