"""Who decides. `ALL` is the one registry: a new learner is one file here and one line there."""

from functools import partial
from inspect import signature
from numbers import Real
from typing import Any

from lewa.learners.adahedge import AdaHedge
from lewa.learners.anytime_bandit_lewa import AnytimeBanditLewa
from lewa.learners.anytime_ewa import AnytimeEwa
from lewa.learners.anytime_lewa import AnytimeLewa
from lewa.learners.anytime_op_ewa import AnytimeOpEwa
from lewa.learners.bandit_epoch_project import BanditEpochProject
from lewa.learners.bandit_explore_then_project import BanditExploreThenProject
from lewa.learners.bandit_lewa import BanditLewa
from lewa.learners.bandit_lewa_printed import PrintedBanditLewa
from lewa.learners.bandit_op_ewa import BanditOpEwa
from lewa.learners.bandit_safe_mixing import BanditSafeMixing
from lewa.learners.base import Learner, lawful
from lewa.learners.doubling import doubling
from lewa.learners.entropic_lp import EntropicLp
from lewa.learners.epsilon_first import EpsilonFirst
from lewa.learners.ewa import Ewa
from lewa.learners.exp3 import Exp3
from lewa.learners.exp3_p import Exp3P
from lewa.learners.exp_lewa import ExpLewa
from lewa.learners.explore_then_project import ExploreThenProject
from lewa.learners.fixed_penalty import FixedPenalty
from lewa.learners.fixed_share_lewa import FixedShareLewa
from lewa.learners.forecast_lp import ForecastLp
from lewa.learners.fractional_kube import FractionalKube
from lewa.learners.gated_penalty import GatedPenalty
from lewa.learners.hp_bandit_lewa import HpBanditLewa
from lewa.learners.hp_bandit_lewa_printed import PrintedHpBanditLewa
from lewa.learners.hp_lewa import HpLewa
from lewa.learners.kube import Kube
from lewa.learners.lewa import Lewa
from lewa.learners.lewa_ix import LewaIx
from lewa.learners.lewa_ucb import LewaUcb
from lewa.learners.loss_bandit_lewa import LossBanditLewa
from lewa.learners.normalhedge import NormalHedge
from lewa.learners.op_ewa import OpEwa
from lewa.learners.safe_mixing import SafeMixing
from lewa.learners.tightened import tightened
from lewa.learners.ucb1 import Ucb1
from lewa.validation import as_floor, nearest

ALL: dict[str, Any] = {
    "ewa": Ewa,
    "lewa": Lewa,
    "anytime-lewa": AnytimeLewa,
    "hp-lewa": HpLewa,
    "bandit-lewa": BanditLewa,
    "bandit-lewa@printed": PrintedBanditLewa,
    "hp-bandit-lewa": HpBanditLewa,
    "hp-bandit-lewa@printed": PrintedHpBanditLewa,
    "loss-bandit-lewa": LossBanditLewa,
    "lewa-ix": LewaIx,
    "lewa-ucb": LewaUcb,
    "anytime-bandit-lewa": AnytimeBanditLewa,
    "fixed-share-lewa": FixedShareLewa,
    "exp-lewa": ExpLewa,
    "op-ewa": OpEwa,
    "anytime-op-ewa": AnytimeOpEwa,
    "bandit-op-ewa": BanditOpEwa,
    "explore-then-project": ExploreThenProject,
    "bandit-explore-then-project": BanditExploreThenProject,
    "safe-mixing": SafeMixing,
    "bandit-safe-mixing": BanditSafeMixing,
    "fixed-penalty": FixedPenalty,
    "gated-penalty": GatedPenalty,
    "anytime-ewa": AnytimeEwa,
    "adahedge": AdaHedge,
    "normalhedge": NormalHedge,
    "exp3": Exp3,
    "exp3-p": Exp3P,
    "ucb1": Ucb1,
    "epsilon-first": EpsilonFirst,
    "kube": Kube,
    "fractional-kube": FractionalKube,
    "bandit-epoch-project": BanditEpochProject,
    "forecast-lp": ForecastLp,
    "entropic-lp": EntropicLp,
}
# Where the printed box is the one that is followed, its printed reading is the paper's tuning of it.
PRINTED_TUNING = {"lewa@printed": "lewa", "hp-lewa@printed": "hp-lewa"}

# NAME+WRAPPER runs the learner of that name inside another: in epochs that double, or held to floors that are raised.
WRAPPERS: dict[str, Any] = {"doubling": doubling, "tightened": tightened}


def find(name: str) -> Any:
    """The class of that name, or a sentence with the nearest right one."""
    if name in ALL:
        return ALL[name]
    if name in PRINTED_TUNING:
        return ALL[PRINTED_TUNING[name]]
    inside, plus, wrapper = name.rpartition("+")
    if plus and wrapper in WRAPPERS:
        return WRAPPERS[wrapper](find(inside))
    wrapped = [f"{inside}+{wrapper}" for wrapper in WRAPPERS] if plus else []
    raise ValueError(f"unknown learner {name!r}{nearest(name, wrapped or [*ALL, *PRINTED_TUNING])}")


def make(name: str, actions: int, horizon: int, floor: object, **settings: Any) -> Learner:
    """A tuned learner by name. A setting is an argument of `tuned`, or a parameter that replaces the tuned one.

    What a wrapper does not know is a setting of the learner inside.
    """
    kind, (inside, plus, _) = find(name), name.rpartition("+")
    arguments = signature(find(name.partition("+")[0]).tuned).parameters
    if settings.get("tuning") == "recommended" and "tuning" not in arguments:
        del settings["tuning"]  # it is the only one
    for setting, value in settings.items():
        if setting not in settings_of(name):
            raise ValueError(f"{name} has no parameter {setting!r}{nearest(setting, settings_of(name))}")
        if setting not in ("tuning", "means") and not isinstance(value, Real):
            raise ValueError(f"{setting} must be a number, got {value!r}")
    if plus:
        wrapped: Learner = kind.made(partial(make, inside), actions, horizon, floor, **settings)
        return wrapped
    if name in PRINTED_TUNING:
        settings["tuning"] = "paper"
        if "eta" in settings:  # the box has one step, and the theorem's shrinkage is half of it
            eta = settings["eta"]
            settings = {"mu": eta, "delta": as_floor(floor).size * eta / 2, **settings}
    tuned: Learner = kind.tuned(actions, horizon, floor, **{k: v for k, v in settings.items() if k in arguments})
    return lawful(tuned._replace(**{k: float(v) for k, v in settings.items() if k not in arguments}))


def settings_of(name: str) -> list[str]:
    """What can be set: the arguments of the tuning, and the parameters; of a wrapper also those of what is inside."""
    kind, (inside, plus, _) = find(name), name.rpartition("+")
    if plus:
        own = {one.name for one in signature(kind.tuned).parameters.values() if one.kind is not one.VAR_KEYWORD}
        return sorted({*own, *settings_of(inside)} - {"actions", "horizon", "floor"})
    fixed = {"tuning", "mu", "b"} if name in PRINTED_TUNING else set()
    return sorted({*signature(kind.tuned).parameters, *kind._fields} - {"actions", "horizon", "floor"} - fixed)


__all__ = [
    "ALL",
    "WRAPPERS",
    "AdaHedge",
    "AnytimeBanditLewa",
    "AnytimeEwa",
    "AnytimeLewa",
    "AnytimeOpEwa",
    "BanditEpochProject",
    "BanditExploreThenProject",
    "BanditLewa",
    "BanditOpEwa",
    "BanditSafeMixing",
    "EntropicLp",
    "EpsilonFirst",
    "Ewa",
    "Exp3",
    "Exp3P",
    "ExpLewa",
    "ExploreThenProject",
    "FixedPenalty",
    "FixedShareLewa",
    "ForecastLp",
    "FractionalKube",
    "GatedPenalty",
    "HpBanditLewa",
    "HpLewa",
    "Kube",
    "Learner",
    "Lewa",
    "LewaIx",
    "LewaUcb",
    "LossBanditLewa",
    "NormalHedge",
    "OpEwa",
    "PrintedBanditLewa",
    "PrintedHpBanditLewa",
    "SafeMixing",
    "Ucb1",
    "find",
    "make",
    "settings_of",
]
