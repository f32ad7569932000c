"""What the theorems ask of a learner: its parameters by name. The docstrings of the learners say what each of them is."""

# ruff: noqa: D101, D102 (the names say it)

from typing import NamedTuple, Protocol

from lewa.types import Vector


class Floor(Protocol):
    """c0, one per constraint."""

    @property
    def floor(self) -> Vector: ...


class Eta(Floor, Protocol):
    """A primal step."""

    @property
    def eta(self) -> float: ...


class EtaDelta(Eta, Protocol):
    """A primal step, and a shrinkage of the multiplier."""

    @property
    def delta(self) -> float: ...


class Dual(EtaDelta, Protocol):
    """The two steps and the shrinkage."""

    @property
    def mu(self) -> float: ...


class Steps(NamedTuple):
    """The two steps and the shrinkage, where a theorem is applied to others than the learner's own."""

    eta: float
    delta: float
    mu: float
    floor: Vector


class Radius(Protocol):
    """A confidence radius."""

    @property
    def radius(self) -> float: ...


class Level(Protocol):
    """A level of confidence radii."""

    @property
    def level(self) -> float: ...


class Gamma(Protocol):
    """A share of exploration."""

    @property
    def gamma(self) -> float: ...


class Bonus(Protocol):
    """A bonus for actions that are seldom drawn."""

    @property
    def bonus(self) -> float: ...


class Kappa(Protocol):
    """The part of its radius by which an estimate is eased."""

    @property
    def kappa(self) -> float: ...


class Corruption(Protocol):
    """How much of the constraints may be corrupted in all."""

    @property
    def corruption(self) -> float: ...


class Share(Protocol):
    """A share that no action falls below."""

    @property
    def share(self) -> float: ...


class Optimism(Protocol):
    """Whether an estimate is eased by its radius."""

    @property
    def optimism(self) -> float: ...


class Explore(Optimism, Protocol):
    """Rounds that are explored first."""

    @property
    def explore(self) -> float: ...


class Safe(Protocol):
    """A safe action, and by how much it is safe."""

    @property
    def safe(self) -> float: ...

    @property
    def margin(self) -> float: ...


class Rate(Floor, Protocol):
    """The rate of an exponential price."""

    @property
    def rate(self) -> float: ...


# What the theorems take, by the learner they are about.


class HpLewa(Dual, Radius, Protocol): ...


class BanditLewa(Dual, Gamma, Protocol): ...


class HpBanditLewa(Dual, Gamma, Bonus, Level, Protocol): ...


class LewaUcb(Dual, Level, Protocol): ...


class FixedShareLewa(Dual, Share, Protocol): ...


class OpEwa(Eta, Radius, Kappa, Share, Protocol): ...


class BanditOpEwa(Eta, Level, Kappa, Protocol): ...


class AnytimeOpEwa(Eta, Level, Kappa, Corruption, Protocol): ...


class ExploreThenProject(Eta, Radius, Explore, Protocol): ...


class BanditExploreThenProject(Eta, Level, Explore, Protocol): ...


class BanditEpochProject(Eta, Level, Optimism, Protocol): ...


class SafeMixing(Eta, Radius, Safe, Protocol): ...


class BanditSafeMixing(Eta, Level, Safe, Protocol): ...


class Exp3(Floor, Gamma, Protocol): ...


class Exp3P(Eta, Gamma, Bonus, Protocol): ...
