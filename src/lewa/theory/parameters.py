"""The parameters of a learner that theorems need, by name. The docstrings of the learners describe them."""

# ruff: noqa: D102 (the class says it)

from typing import NamedTuple, Protocol

from lewa.types import Vector


class Floor(Protocol):
    """`floor`: c0, one per constraint."""

    @property
    def floor(self) -> Vector: ...


class Eta(Floor, Protocol):
    """`eta`: a primal step."""

    @property
    def eta(self) -> float: ...


class Delta(Floor, Protocol):
    """`delta`: a shrinkage of the multiplier."""

    @property
    def delta(self) -> float: ...


class EtaDelta(Eta, Protocol):
    """`delta`: a primal step, and a shrinkage of the multiplier."""

    @property
    def delta(self) -> float: ...


class Dual(EtaDelta, Protocol):
    """`mu`: the two steps and the shrinkage."""

    @property
    def mu(self) -> float: ...


class Policies(Dual, Protocol):
    """`policies`: the number of the user's policies."""

    @property
    def policies(self) -> float: ...


class Reserving(Dual, Protocol):
    """`reserves`: the values at which decisions count until their answers come, of each constraint and action, or none."""

    @property
    def reserves(self) -> Vector: ...


class Steps(NamedTuple):
    """The two steps and the shrinkage, for applying a theorem to parameters other than the learner's."""

    eta: float
    delta: float
    mu: float
    floor: Vector


class Radius(Protocol):
    """`radius`: a confidence radius."""

    @property
    def radius(self) -> float: ...


class Level(Protocol):
    """`level`: a level of confidence radii."""

    @property
    def level(self) -> float: ...


class Gamma(Protocol):
    """`gamma`: a share of exploration."""

    @property
    def gamma(self) -> float: ...


class Bonus(Protocol):
    """`bonus`: a bonus for actions that are seldom drawn."""

    @property
    def bonus(self) -> float: ...


class Kappa(Protocol):
    """`kappa`: the share of its radius by which an estimate is relaxed."""

    @property
    def kappa(self) -> float: ...


class Corruption(Protocol):
    """`corruption`: the total corruption of the constraints."""

    @property
    def corruption(self) -> float: ...


class Share(Protocol):
    """`share`: the smallest share of an action."""

    @property
    def share(self) -> float: ...


class Optimism(Protocol):
    """`optimism`: whether an estimate is relaxed by its radius."""

    @property
    def optimism(self) -> float: ...


class Explore(Optimism, Protocol):
    """`explore`: the number of rounds of exploration at the start."""

    @property
    def explore(self) -> float: ...


class Safe(Protocol):
    """`safe`, `margin`: a safe action, and the amount by which it exceeds the floors."""

    @property
    def safe(self) -> float: ...

    @property
    def margin(self) -> float: ...


class EtaRate(Eta, Protocol):
    """`eta` and `rate`: a primal step, and the rate of an exponential price."""

    @property
    def rate(self) -> float: ...


class Rate(Floor, Protocol):
    """`rate`: the rate of an exponential price."""

    @property
    def rate(self) -> float: ...


# What the theorems take, by the learner they are about.


class HpLewa(Dual, Radius, Protocol):
    """The parameters of `hp-lewa`."""


class BanditLewa(Dual, Gamma, Protocol):
    """The parameters of `bandit-lewa`."""


class HpBanditLewa(Dual, Gamma, Bonus, Level, Protocol):
    """The parameters of `hp-bandit-lewa`."""


class LewaUcb(Dual, Level, Protocol):
    """The parameters of `lewa-ucb`."""


class FixedShareLewa(Dual, Share, Protocol):
    """The parameters of `fixed-share-lewa`."""


class OpEwa(Eta, Radius, Kappa, Share, Corruption, Protocol):
    """The parameters of `op-ewa`."""


class BanditOpEwa(Eta, Level, Kappa, Corruption, Protocol):
    """The parameters of `bandit-op-ewa`."""


class AnytimeOpEwa(Eta, Level, Kappa, Corruption, Protocol):
    """The parameters of `anytime-op-ewa`."""


class ExploreThenProject(Eta, Radius, Explore, Protocol):
    """The parameters of `explore-then-project`."""


class BanditExploreThenProject(Eta, Level, Explore, Protocol):
    """The parameters of `bandit-explore-then-project`."""


class BanditEpochProject(Eta, Level, Optimism, Protocol):
    """The parameters of `bandit-epoch-project`."""


class SafeMixing(Eta, Radius, Safe, Protocol):
    """The parameters of `safe-mixing`."""


class BanditSafeMixing(Eta, Level, Safe, Protocol):
    """The parameters of `bandit-safe-mixing`."""


class Exp3(Floor, Gamma, Protocol):
    """The parameters of `exp3`."""


class Exp3P(Eta, Gamma, Bonus, Protocol):
    """The parameters of `exp3-p`."""
