"""The paper's first example: a radio that chooses its transmit power, with rates that were measured on a real radio."""

from dataclasses import dataclass
from math import log

import numpy as np

from lewa.blocks import Block
from lewa.games.base import OneConstraint, numbers
from lewa.theory.setting import Setting
from lewa.types import Vector, Words
from lewa.validation import as_floats, in_unit, short_repr


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
