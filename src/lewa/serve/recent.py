"""Which actions were taken lately and what they earned, for the page and the metrics. It is no part of an agent's state."""

from collections import deque
from collections.abc import Iterable

WINDOW = 500  # decisions, and rewards


class Recent:
    """Running counts over a window."""

    def __init__(self, actions: int) -> None:
        self._taken = [0] * actions
        self._actions: deque[int] = deque()
        self._rewards: deque[float] = deque(maxlen=WINDOW)

    def widen(self, actions: int) -> None:
        """Count more actions."""
        self._taken += [0] * (actions - len(self._taken))

    def decided(self, action: int) -> None:
        """Count an action."""
        self._actions.append(action)
        self._taken[action] += 1
        if len(self._actions) > WINDOW:
            self._taken[self._actions.popleft()] -= 1

    def add_rewards(self, rewards: Iterable[float | list[float]]) -> None:
        """Count rewards; of one per action the mean."""
        self._rewards.extend(sum(x) / len(x) if isinstance(x, list | tuple) else x for x in rewards)

    def reward(self) -> float | None:
        """Return the average reward of the window."""
        return sum(self._rewards) / len(self._rewards) if self._rewards else None

    def shares(self) -> list[float]:
        """Return how often each action was taken in the window."""
        n = len(self._actions)
        return [count / n for count in self._taken] if n else [0.0] * len(self._taken)
