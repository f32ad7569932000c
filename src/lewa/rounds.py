"""The nouns: the shapes of arrays, what one round shows a learner, and what a run leaves behind."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Cube: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]
Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


class Full(NamedTuple):
    """Full information: what every action would have earned and met, and what the play that is answered met."""

    rewards: Vector  # (K,)    r_t
    constraints: Matrix  # (m, K)  c_t
    met: Vector  # (m,)    p_t . c_t
    play: Vector  # (K,)    p_t


class Bandit(NamedTuple):
    """Bandit feedback: the action drawn, the chance it had when it was drawn, and what it alone earned and met.

    The chance travels with the feedback, so late and out-of-order answers are weighted rightly. A dense learner, one that
    needs the whole play it is answered for, finds it in ``play``; for the others ``play`` is empty.
    """

    action: int  # i_t
    chance: float  # p_t[i_t]
    reward: float  # r_t[i_t]
    constraints: Vector  # (m,)    c_t[:, i_t]
    play: Vector  # (K,) or (0,)


class Block(NamedTuple):
    """Rounds laid out in full."""

    rewards: Matrix  # (n, K)
    constraints: Cube  # (n, m, K)


class Lazy(NamedTuple):
    """Bernoulli rounds of which only what the learner looks at is drawn."""

    rewards: Vector  # (K,)    means
    constraints: Matrix  # (m, K)  means
    key: Words  # (1,)    nature's
    start: Indices  # (1,)    the first round


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: running sums at some rounds (`marks`) for each seed, and every round where it was asked for.

    Shapes: S seeds, n marks, m constraints, K actions, T rounds.
    """

    learner: Any
    game: Any
    seeds: tuple[int, ...]
    floor: Vector  # (m,)
    marks: Indices  # (n,) the rounds at which the sums below were read; the last is T
    measured_on: str  # "play" (p_t), or "action" (the action drawn: the learner keeps no dense play)
    reward: Matrix  # (S, n)    sum of p.r (full information) or of the rewards drawn (bandit)
    shortfall: Cube  # (S, n, m) sum of floor - p.c, c the true mean where the game knows it, else as revealed
    positive: Cube  # (S, n, m) sum of [floor - p.c]+, likewise
    revealed: Cube  # (S, n, m) sum of floor - p.c_t (full information) or floor - c_t of the action drawn (bandit)
    priced: Cube  # (S, n, m) sum of the multipliers lambda_1 .. lambda_t
    largest: Cube  # (S, n, m) the largest of them
    multiplier: Cube  # (S, n, m) lambda_{t+1}
    play: Cube  # (S, n, K) p_{t+1}
    earnings: Cube | None  # (S, n, K) sum of r_t, where the rounds were laid out in full
    kept: Any  # (S, n, m, K) sum of c_t, likewise
    states: tuple[Any, ...]  # the state each seed ended in
    plays: Cube | None = None  # (S, T, K)
    multipliers: Cube | None = None  # (S, T, m) lambda_t, before each round
    actions: Any = None  # (S, T)

    @property
    def rounds(self) -> int:
        """T"""
        return int(self.marks[-1])


def feedback(learner: type) -> str:
    """ "full", "bandit", or "dense" (bandit feedback, and its rule needs the whole play): as the learner's methods say."""
    kind = get_type_hints(learner.learn).get("seen")  # type: ignore[attr-defined]
    if kind not in (Full, Bandit):
        raise TypeError(f"{learner.__name__}.learn must say what it sees, `seen: Full` or `seen: Bandit`, got {kind}")
    return "full" if kind is Full else "bandit" if hasattr(learner, "choose") else "dense"


def nearest(word: str, words: list[str]) -> str:
    """'; did you mean X?', where some X is near."""
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(sorted(words))}"


def in_unit(name: str, values: object, first: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values as float64, if they are numbers of [0, 1]; otherwise a sentence that says which is not.

    `first` is the index of the first row, where the values are a part of something larger.
    """
    array = np.asarray(values, dtype=np.float64)
    wrong = ~((array >= 0) & (array <= 1))  # true for NaN too
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        value = array[where]
        where = (where[0] + first, *where[1:]) if where else where
        hint = "; scale them first: (x - low) / (high - low)" if np.isfinite(value) else ""
        at = f" at index {where}" if where else ""
        raise ValueError(f"{name} must be finite numbers in [0, 1], got {value}{at}{hint}")
    return array


def plain(array: Any) -> Any:
    """The array in the layout that loops are compiled for: float64, contiguous, writable. Another is compiled anew."""
    return np.require(array, np.float64, ["C", "W"])


def restricted(play: Vector, there: Any) -> Vector:
    """The play over the actions that are there, each in proportion; all alike, if floats hold no chance of any."""
    part: Vector = np.where(there, play, 0.0)
    if not part.sum() > 0:
        part = np.array(there, dtype=np.float64)
    part /= part.sum()
    return part


def drawn(play: Vector, u: float) -> int:
    """An action drawn from the play by one uniform u: never one that has no chance."""
    ends = np.cumsum(play)
    return min(int(np.searchsorted(ends, u * ends[-1], side="right")), int(np.flatnonzero(play)[-1]))


def as_floor(floor: object) -> Vector:
    """One floor per constraint, each in [0, 1]; a single number stands for one constraint."""
    array = np.atleast_1d(in_unit("floor", floor))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"floor must be one number per constraint, at least one, got an array of shape {array.shape}")
    return array
