"""The online shortest path problem: the paths of a small network are the actions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Self, TypeAlias

import numpy as np

from lewa.blocks import Block
from lewa.games.base import Scripted, convert_counts, numbers
from lewa.types import Matrix, Words
from lewa.validation import as_count, in_unit, short_repr

Link: TypeAlias = tuple[str, str, float, float, float]  # from, to, delay at night, more of it at its rush hour, safe


@dataclass(frozen=True)
class ShortestPath(Scripted):
    """The actions are paths of a network: fast paths have large rewards, and few packets may be lost.

    The actions are the paths from "s" to "t", in the order of a depth-first search. A link's delay goes up and down once in
    `period` rounds, a day, between its least delay and its least delay plus its rush: links from "s" are fastest at the
    start of a day, the others half a day later. The reward is 1 - delay/longest, where longest is the largest possible delay
    of a path.

    Each link is safe with its probability, by a coin in each round that all paths share. A path meets its constraint if all
    of its links are safe: its mean is the product of their probabilities. p.c >= floor means that at least this share of
    packets arrives. The fast paths are not the safe ones. `for_problem` makes a day T/4 rounds.

    >>> import lewa
    >>> game = lewa.games.ShortestPath()
    >>> [" ".join(path) for path in game.paths]
    ['s a b t', 's a t', 's b t', 's c t']
    >>> game.mean_constraints.round(4).tolist()
    [[0.6859, 0.76, 0.665, 0.9801]]
    >>> known = lewa.games.facts(game, floor=0.8, rounds=10_000)
    >>> f"best {known.value:.3f} per round, and {known.price[0]:.2f} for a unit of safety"
    'best 0.352 per round, and 0.57 for a unit of safety'

    Reference: E. Takimoto, M. Warmuth, Path kernels and multiplicative updates, JMLR 4, 2003, to which the paper points.
    """

    about = "the paths of a network: delays that rise and fall, and links that are not always safe"

    links: tuple[Link, ...] = (
        ("s", "a", 1.0, 2.0, 0.95),
        ("s", "b", 2.0, 1.0, 0.70),
        ("s", "c", 2.5, 1.0, 0.99),
        ("a", "b", 0.5, 0.5, 0.76),
        ("a", "t", 2.0, 2.0, 0.80),
        ("b", "t", 1.0, 1.0, 0.95),
        ("c", "t", 2.0, 0.5, 0.99),
    )
    period: int = 2500
    noisy = True

    def __post_init__(self) -> None:
        convert_counts(self, "period")
        if not isinstance(self.links, list | tuple) or not all(map(_is_link, self.links)):
            raise ValueError(
                f"a link must be two nodes, two delays and the share that is safe, got {short_repr(self.links)}"
            )
        delays = np.array([link[2:4] for link in self.links], dtype=np.float64)
        in_unit("safe", [link[4] for link in self.links])
        if not (np.isfinite(delays) & (delays >= 0)).all():
            raise ValueError(f"delays must be finite and at least 0, got {delays.tolist()}")
        ends = [tuple(link[:2]) for link in self.links]
        if len(set(ends)) < len(ends):
            raise ValueError(f"two nodes must have at most one link, got {ends}")
        if not self.paths:
            raise ValueError("no path leads from 's' to 't'")
        if not (self.uses @ delays.sum(axis=1)).any():
            raise ValueError("some path must have a positive delay, got 0 for every path")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with four days."""
        return cls(period=max(1, as_count("rounds", rounds) // 4))

    @cached_property
    def paths(self) -> list[list[str]]:
        """The nodes of each path, without repetition."""

        def onward(path: list[str]) -> Iterator[list[str]]:
            if path[-1] == "t":
                yield path
                return
            for link in self.links:
                if link[0] == path[-1] and link[1] not in path:
                    yield from onward([*path, link[1]])

        return list(onward(["s"]))

    @cached_property
    def uses(self) -> Matrix:
        """The links of each path, (K, links): 1 if the path has the link, else 0."""
        steps = [set(pairwise(path)) for path in self.paths]
        return np.array([[float(link[:2] in step) for link in map(tuple, self.links)] for step in steps])

    @property
    def constraint_means(self) -> tuple[float, ...]:
        safe = np.array([link[4] for link in self.links])
        return tuple(np.where(self.uses > 0, safe, 1.0).prod(axis=1).tolist())

    def script(self, start: int, stop: int) -> Matrix:
        least, rush = (np.array([link[k] for link in self.links]) for k in (2, 3))
        first = np.array([link[0] == "s" for link in self.links])
        phase = np.arange(start, stop)[:, np.newaxis] / self.period + np.where(first, 0.0, 0.5)
        delays = least + rush * 2 * np.abs(phase - np.rint(phase))  # its rush hour is half way between whole numbers
        longest = (self.uses @ (least + rush)).max()
        rewards: Matrix = np.clip(1 - delays @ self.uses.T / longest, 0, 1)
        return rewards

    def block(self, key: Words, start: int, stop: int) -> Block:
        fails = numbers(key, start, stop, len(self.links)) >= [link[4] for link in self.links]
        arrives = (fails.astype(np.float64) @ self.uses.T == 0).astype(np.float64)
        return Block(self.script(start, stop), arrives[:, np.newaxis])


def _is_link(link: object) -> bool:
    if not isinstance(link, list | tuple) or len(link) != 5:
        return False
    return all(isinstance(end, str) for end in link[:2]) and all(isinstance(number, Real) for number in link[2:])
