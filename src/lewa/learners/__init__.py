"""Who decides. `ALL` is the one registry: a new learner is one file here and one line there."""

from difflib import get_close_matches
from inspect import signature
from typing import Any

from lewa.learners.bandit_lewa import BanditLewa
from lewa.learners.bandit_lewa_printed import PrintedBanditLewa
from lewa.learners.base import Learner
from lewa.learners.ewa import Ewa
from lewa.learners.hp_bandit_lewa import HpBanditLewa
from lewa.learners.hp_bandit_lewa_printed import PrintedHpBanditLewa
from lewa.learners.hp_lewa import HpLewa
from lewa.learners.lewa import Lewa

ALL: dict[str, Any] = {
    "ewa": Ewa,
    "lewa": Lewa,
    "hp-lewa": HpLewa,
    "bandit-lewa": BanditLewa,
    "bandit-lewa@printed": PrintedBanditLewa,
    "hp-bandit-lewa": HpBanditLewa,
    "hp-bandit-lewa@printed": PrintedHpBanditLewa,
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
    if name in PRINTED_TUNING:
        settings = {"tuning": "paper", **settings}
    for setting in settings:
        if setting not in settings_of(name):
            raise ValueError(f"{name} has no parameter {setting!r}{nearest(setting, settings_of(name))}")
    arguments = signature(kind.tuned).parameters
    tuned = kind.tuned(actions, horizon, floor, **{k: v for k, v in settings.items() if k in arguments})
    learner: Learner = tuned._replace(**{k: float(v) for k, v in settings.items() if k not in arguments})
    learner.start(actions)
    return learner


def settings_of(name: str) -> list[str]:
    """What can be set: the arguments of the tuning, and the parameters."""
    kind = find(name)
    return sorted({*signature(kind.tuned).parameters, *kind._fields} - {"actions", "horizon", "floor", "means"})


def nearest(word: str, words: list[str]) -> str:
    """'; did you mean X?', where some X is near."""
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(sorted(words))}"


__all__ = [
    "ADVISED",
    "ALL",
    "BanditLewa",
    "Ewa",
    "HpBanditLewa",
    "HpLewa",
    "Learner",
    "Lewa",
    "PrintedBanditLewa",
    "PrintedHpBanditLewa",
    "find",
    "make",
    "nearest",
    "settings_of",
]
