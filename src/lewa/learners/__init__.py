"""Who decides. `ALL` is the one registry: a new learner is one file here and one line there."""

from inspect import signature
from numbers import Real
from typing import Any

from lewa.learners.bandit_lewa import BanditLewa
from lewa.learners.bandit_lewa_printed import PrintedBanditLewa
from lewa.learners.base import Learner, lawful
from lewa.learners.ewa import Ewa
from lewa.learners.fixed_penalty import FixedPenalty
from lewa.learners.gated_penalty import GatedPenalty
from lewa.learners.hp_bandit_lewa import HpBanditLewa
from lewa.learners.hp_bandit_lewa_printed import PrintedHpBanditLewa
from lewa.learners.hp_lewa import HpLewa
from lewa.learners.lewa import Lewa
from lewa.rounds import as_floor, nearest

ALL: dict[str, Any] = {
    "ewa": Ewa,
    "lewa": Lewa,
    "hp-lewa": HpLewa,
    "bandit-lewa": BanditLewa,
    "bandit-lewa@printed": PrintedBanditLewa,
    "hp-bandit-lewa": HpBanditLewa,
    "hp-bandit-lewa@printed": PrintedHpBanditLewa,
    "fixed-penalty": FixedPenalty,
    "gated-penalty": GatedPenalty,
}
# Where the printed box is the one that is followed, its printed reading is the paper's tuning of it.
PRINTED_TUNING = {"lewa@printed": "lewa", "hp-lewa@printed": "hp-lewa"}

# What `auto` stands for, by the kind of feedback.
ADVISED = {"full": "lewa", "bandit": "bandit-lewa"}


def find(name: str) -> Any:
    """The class of that name, or a sentence with the nearest right one."""
    if name in ALL:
        return ALL[name]
    if name in PRINTED_TUNING:
        return ALL[PRINTED_TUNING[name]]
    raise ValueError(f"unknown learner {name!r}{nearest(name, [*ALL, *PRINTED_TUNING])}")


def make(name: str, actions: int, horizon: int, floor: object, **settings: Any) -> Learner:
    """A tuned learner by name. A setting is an argument of `tuned`, or a parameter that replaces the tuned one."""
    kind = find(name)
    arguments = signature(kind.tuned).parameters
    if settings.get("tuning") == "recommended" and "tuning" not in arguments:
        del settings["tuning"]  # it is the only one
    for setting, value in settings.items():
        if setting not in settings_of(name):
            raise ValueError(f"{name} has no parameter {setting!r}{nearest(setting, settings_of(name))}")
        if setting not in ("tuning", "means") and not isinstance(value, Real):
            raise ValueError(f"{setting} must be a number, got {value!r}")
    if name in PRINTED_TUNING:
        settings["tuning"] = "paper"
        if "eta" in settings:  # the box has one step, and the theorem's shrinkage is half of it
            eta = settings["eta"]
            settings = {"mu": eta, "delta": as_floor(floor).size * eta / 2, **settings}
    tuned: Learner = kind.tuned(actions, horizon, floor, **{k: v for k, v in settings.items() if k in arguments})
    return lawful(tuned._replace(**{k: float(v) for k, v in settings.items() if k not in arguments}))


def settings_of(name: str) -> list[str]:
    """What can be set: the arguments of the tuning, and the parameters."""
    kind = find(name)
    fixed = {"tuning", "mu", "b"} if name in PRINTED_TUNING else set()
    return sorted({*signature(kind.tuned).parameters, *kind._fields} - {"actions", "horizon", "floor"} - fixed)


__all__ = [
    "ADVISED",
    "ALL",
    "BanditLewa",
    "Ewa",
    "FixedPenalty",
    "GatedPenalty",
    "HpBanditLewa",
    "HpLewa",
    "Learner",
    "Lewa",
    "PrintedBanditLewa",
    "PrintedHpBanditLewa",
    "find",
    "make",
    "settings_of",
]
