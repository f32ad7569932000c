"""Games that tell a story: advertisers, forecasts, a portfolio, radio links, and roads."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isqrt, log
from numbers import Real
from typing import Self, TypeAlias

import numpy as np

from lewa.blocks import Block
from lewa.games.base import OneConstraint, Scripted, convert_fields, numbers
from lewa.games.bernoulli import Bernoulli
from lewa.theory.setting import Setting
from lewa.types import Indices, Matrix, Vector, Words
from lewa.validation import as_count, as_floats, as_floor, in_unit, short_repr

CLICKS = (0.35, 0.25), (0.30, 0.20), (0.25, 0.15)
CONTESTED = (0.8, 0.4), (0.7, 0.3), (0.6, 0.2)


class Ads(Bernoulli):
    """Ads are shown for clicks, and each advertiser has a budget.

    Advertiser j has the ads of row j. An ad that is shown is clicked with its rate in `clicks` (m, n), which is the mean
    reward. With its probability in `contested` (m, n) another advertiser bids for the place too, and j pays 1 for it. Action
    0 is a house ad, which is free and rarely clicked: it makes every budget feasible.

    Constraint j is 1 minus the payment of advertiser j: its mean is 1 - contested for an ad of j, and 1 for all other ads.
    So p.c_j >= floor_j means that j pays at most 1 - floor_j per round: a budget of 0.1 per round is the floor 0.9.
    `for_problem` makes as many advertisers as there are floors.

    Clicks and payments are independent coins. A price per click would make the payment a function of the reward, which the
    theorem for rewards fixed in advance (docs/theory.md, 1.2) does not cover.

    >>> import lewa
    >>> budgets = [0.3, 0.2, 0.1]
    >>> game = lewa.games.Ads.for_problem(floor=[1 - budget for budget in budgets], rounds=10_000)
    >>> game.actions, game.constraints
    (7, 3)
    >>> known = lewa.games.facts(game, floor=[0.7, 0.8, 0.9], rounds=10_000)
    >>> f"clicks {known.value:.3f} per round; one more unit of a budget would bring {[round(x, 3) for x in known.price]}"
    'clicks 0.285 per round; one more unit of a budget would bring [0.25, 0.214, 0.167]'
    """

    about = "ads for clicks, each advertiser with a budget: as many constraints as advertisers"

    def __init__(self, clicks: object = CLICKS, contested: object = CONTESTED, house: float = 0.05) -> None:
        rates, paid = in_unit("click rates", clicks), in_unit("contested", contested)
        if rates.ndim != 2 or rates.shape != paid.shape or not rates.size:
            raise ValueError(f"clicks and contested must have the shape (advertisers, ads), got {rates.shape}, {paid.shape}")
        m, n = rates.shape
        constraints = np.ones((m, 1 + m * n))
        for j in range(m):
            constraints[j, 1 + j * n : 1 + (j + 1) * n] = 1 - paid[j]
        super().__init__(rewards=[house, *rates.ravel()], constraints=constraints)
        self._arguments = f"clicks={rates.tolist()}, contested={paid.tolist()}, house={house}"

    def __repr__(self) -> str:
        return f"Ads({self._arguments})"

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with one advertiser per floor; the fourth is like the first, and so on."""
        rows = np.arange(as_floor(floor).size) % len(CLICKS)
        return cls(np.array(CLICKS)[rows], np.array(CONTESTED)[rows])


@dataclass(frozen=True)
class Experts(Scripted):
    """Four experts forecast a sequence with calm and choppy phases; their intervals must cover often enough.

    The sequence y_t is calm for `period` rounds, in which it drifts once from 1 down to 0 and up again, and then choppy for
    as many rounds, in which it alternates between 0.9 and 0.1; then it is calm again. The four experts forecast y_{t-1} (as
    before), 1 - y_{t-1} (the opposite), always 0.9, and always 0.5. The reward is 1 - |forecast - y_t|: 1 minus the
    absolute loss.

    Each expert also gives an interval, and the constraint is whether it covers y_t: a coin with the expert's mean in
    `constraint_means`. The boldest expert covers least. p.c >= floor means that the chosen interval covers in at least that
    share of the rounds. `for_problem` makes a phase last sqrt(T) rounds.

    >>> import lewa
    >>> game = lewa.games.Experts.for_problem(floor=0.8, rounds=10_000)
    >>> game.mean_rewards(10_000).round(3).tolist()
    [0.589, 0.75, 0.595, 0.675]
    >>> learner = lewa.learners.Lewa.tuned(actions=4, horizon=10_000, floor=0.8)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}"
    'regret 35, violation 0'

    Reference: N. Cesa-Bianchi, Y. Freund, D. Haussler, D. Helmbold, R. Schapire, M. Warmuth, How to use expert advice,
    Journal of the ACM 44, 1997.
    """

    about = "expert forecasts of a changing sequence; the chosen interval must cover often enough"

    period: int = 100
    constraint_means: tuple[float, ...] = (0.6, 0.5, 0.8, 0.95)
    noisy: bool = True

    def __post_init__(self) -> None:
        convert_fields(self)
        if in_unit("coverage", self.constraint_means).shape != (4,):
            raise ValueError(
                "constraint_means must have one number for each of the four experts, got "
                f"{short_repr(self.constraint_means)}"
            )

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with phases of sqrt(T) rounds."""
        return cls(period=isqrt(as_count("rounds", rounds)))

    def outcomes(self, t: Indices) -> Vector:
        """Return y_t."""
        calm = np.abs(1 - 2 * (t % self.period) / self.period)
        choppy = np.where(t % 2 == 0, 0.9, 0.1)
        y: Vector = np.where(t // self.period % 2 == 0, calm, choppy)
        return y

    def script(self, start: int, stop: int) -> Matrix:
        t = np.arange(start, stop)
        y, last, same = self.outcomes(t), self.outcomes(t - 1), np.ones(t.size)
        return 1 - np.abs(np.column_stack([last, 1 - last, 0.9 * same, 0.5 * same]) - y[:, np.newaxis])


@dataclass(frozen=True)
class Portfolio(OneConstraint):
    """Assets move with the market and on their own, and the average risk held is limited.

    The play is the portfolio: the share of each asset on a day. The return of asset i, in units of the largest possible
    return, is drift_i + beta_i M + specific_i X_i, where M is the market's move of the day and X_i the asset's own move, all
    uniform in [-1, 1]; the reward is (1 + return)/2, so 1/2 stands for no change. The assets are cash, bonds, stocks and
    venture. The numbers are invented.

    The constraint is 1 - risk weight, which is the same every day: p.c >= floor means that the average risk weight of the
    portfolio is at most 1 - floor. Turnover cannot be limited in this way, because it depends on two plays at once.

    >>> import lewa
    >>> game = lewa.games.Portfolio()
    >>> known = lewa.games.facts(game, floor=0.7, rounds=10_000)
    >>> f"return {2 * known.value - 1:.3f} per day; one more unit of risk would bring {2 * known.price[0]:.3f}"
    'return 0.040 per day; one more unit of risk would bring 0.100'

    Reference: E. Hazan, S. Kale, On stochastic and worst-case models for investing, NIPS 2009, to which the paper points.
    """

    about = "a portfolio: returns that move with the market, under a limit on the average risk held"
    stationary_rewards = True

    drift: tuple[float, ...] = (0.0, 0.02, 0.06, 0.08)  # (K,)  the mean return of each asset
    beta: tuple[float, ...] = (0.0, 0.1, 0.4, 0.5)  # (K,)  its exposure to the market
    specific: tuple[float, ...] = (0.0, 0.1, 0.2, 0.4)  # (K,)  the size of its own moves
    constraint_means: tuple[float, ...] = (1.0, 0.9, 0.5, 0.1)  # (K,)  1 - its risk weight

    def __post_init__(self) -> None:
        arrays = [as_floats(name, getattr(self, name)) for name in ("drift", "beta", "specific")]
        shapes = [each.shape for each in (in_unit("1 - risk weights", self.constraint_means), *arrays)]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1 or not shapes[0][0]:
            raise ValueError(
                f"constraint_means, drift, beta and specific must have one number per asset, got the shapes {shapes}"
            )
        parts = np.array(arrays)
        if not (np.abs(parts).sum(axis=0) <= 1).all():
            raise ValueError(f"|drift| + |beta| + |specific| must be at most 1, got {np.abs(parts).sum(axis=0).tolist()}")

    @property
    def setting(self) -> Setting:
        return Setting(constraints="constant", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        moves = 2 * numbers(key, start, stop, 1 + self.actions) - 1  # the market's, then each asset's own
        returns = np.array(self.drift) + moves[:, :1] * self.beta + moves[:, 1:] * self.specific
        return Block(np.clip((1 + returns) / 2, 0, 1), np.tile(self.mean_constraints, (stop - start, 1, 1)))

    def mean_rewards(self, rounds: int) -> Vector:
        return (1 + np.array(self.drift)) / 2


@dataclass(frozen=True)
class Radio(OneConstraint):
    """A radio chooses a transmit power: the stronger, the more packets arrive and the less headroom is left.

    Action i is a level of power, from `edges[i]` to `edges[i + 1]` decibels. The reward is 1 if the packet arrives, a coin
    with the rate `delivered[i]`. The constraint is the headroom below full power, which is `edges[-1]`: the power of a
    packet is drawn uniformly, in decibels, from its level, and the headroom is 1 - 10^((power - full)/10). So an average
    headroom of at least 0.9 means an average power of at most a tenth of full power.

    The rates are those of 3264 packets, 816 at each of four levels, of a SIGFOX radio at 868 MHz behind an attenuator of
    30 dB whose gain was drawn at random: 493, 661, 719 and 737 of them arrived. Their mean headroom was 0.9812, 0.9411,
    0.8140 and 0.4062; `mean_constraints`, for a uniform draw, differs from it by at most 0.002. We assume that arrival does
    not depend on the power within a level.

    >>> import lewa
    >>> radio = lewa.games.Radio()
    >>> radio.mean_constraints.round(4).tolist()
    [[0.9812, 0.9406, 0.8122, 0.4061]]
    >>> known = lewa.games.facts(radio, floor=0.9, rounds=10_000)
    >>> f"best {known.value:.3f} per round, and {known.price[0]:.2f} for a unit of headroom"
    'best 0.833 per round, and 0.55 for a unit of headroom'

    Reference: SensorLab, Jozef Stefan Institute, SIGFOX packet dataset of 16 September 2016 (CC BY 4.0), in
    github.com/sensorlab/link-quality-estimation, trace4_JSI_20160916.
    """

    about = "transmit power of a radio: delivery against headroom, at rates that were measured"
    stationary_rewards = True

    delivered: tuple[float, ...] = (493 / 816, 661 / 816, 719 / 816, 737 / 816)
    edges: tuple[float, ...] = (-30.0, -25.0, -20.0, -15.0, -10.0)

    def __post_init__(self) -> None:
        rates, edges = in_unit("delivery rates", self.delivered), as_floats("edges", self.edges)
        if rates.ndim != 1 or not rates.size or edges.shape != (rates.size + 1,) or not (np.diff(edges) > 0).all():
            raise ValueError(
                f"edges must increase and be one more than the delivery rates, got {short_repr(self.edges)} for "
                f"{rates.size} rates"
            )

    @property
    def constraint_means(self) -> tuple[float, ...]:
        x = log(10) / 10 * (np.array(self.edges) - self.edges[-1])
        means: Vector = 1 - np.diff(np.exp(x)) / np.diff(x)  # the mean of 1 - exp(x), x even between two edges
        return tuple(means.tolist())

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        arrives, within = np.moveaxis(numbers(key, start, stop, 2 * self.actions).reshape(stop - start, -1, 2), 2, 0)
        edges = np.array(self.edges)
        power = edges[:-1] + np.diff(edges) * within
        headroom = 1 - 10 ** ((power - edges[-1]) / 10)
        return Block((arrives < self.delivered).astype(np.float64), headroom[:, np.newaxis])

    def mean_rewards(self, rounds: int) -> Vector:
        return np.array(self.delivered)


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
        convert_fields(self)
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
