"""The table of the learners: a new learner is one file, its import, and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lewa.learners.base import Learner
from lewa.learners.contexts.policies import AnytimeExp4Lewa, Exp4Lewa, Exp4LewaIx, LewaPolicies
from lewa.learners.contexts.proved_squarecb_lewa import AnytimeProvedSquareCbLewa, ProvedSquareCbLewa
from lewa.learners.paper.bandit_lewa import BanditLewa
from lewa.learners.paper.ewa import Ewa
from lewa.learners.paper.hp_bandit_lewa import HpBanditLewa, PrintedHpBanditLewa
from lewa.learners.paper.hp_lewa import HpLewa
from lewa.learners.paper.lewa import Lewa
from lewa.learners.practical.paced_hedge import PacedHedge
from lewa.learners.projections.explore_then_project import BanditEpochProject, BanditExploreThenProject, ExploreThenProject
from lewa.learners.projections.op_ewa import AnytimeOpEwa, BanditOpEwa, OpEwa
from lewa.learners.projections.safe_mixing import BanditSafeMixing, SafeMixing
from lewa.learners.rivals.budgeted import EpsilonFirst, Kube
from lewa.learners.rivals.paced_linear import PacedLinUcb
from lewa.learners.rivals.paced_programs import ThompsonLp, UcbLp
from lewa.learners.rivals.penalties import FixedPenalty, GatedPenalty
from lewa.learners.rivals.unconstrained import AdaHedge, Exp3, Exp3P, NormalHedge, Ucb1
from lewa.learners.squarecb_lewa import SquareCbLewa
from lewa.learners.variants.anytime_lewa import AnytimeLewa, LateLewa
from lewa.learners.variants.exp_lewa import ExpBanditLewa, ExpLewa
from lewa.learners.variants.fixed_share_lewa import FixedShareLewa
from lewa.learners.variants.late_loss_lewa import LateAnytimeLossLewa, LateLewaIx, LateLossLewa
from lewa.learners.variants.lewa_ucb import LewaUcb
from lewa.learners.variants.loss_lewa import AnytimeLossLewa, LewaIx, LossLewa
from lewa.learners.wrappers.doubling import Doubling
from lewa.learners.wrappers.governed import Governed
from lewa.learners.wrappers.tightened import Tightened
from lewa.learners.wrappers.wrapper import Wrapper

# The learners by family, each in the order in which lists show them. NAME@TUNING stands beside NAME where both are compared.
FAMILIES: dict[str, dict[str, type[Learner]]] = {
    "the paper's boxes": {
        "ewa": Ewa,
        "lewa": Lewa,
        "hp-lewa": HpLewa,
        "bandit-lewa": BanditLewa,
        "bandit-lewa@printed": BanditLewa,
        "hp-bandit-lewa": HpBanditLewa,
        "hp-bandit-lewa@printed": PrintedHpBanditLewa,
    },
    "LEWA beyond the paper": {
        "anytime-lewa": AnytimeLewa,
        "late-lewa": LateLewa,
        "fixed-share-lewa": FixedShareLewa,
        "exp-lewa": ExpLewa,
        "loss-lewa": LossLewa,
        "lewa-ix": LewaIx,
        "lewa-ucb": LewaUcb,
        "anytime-loss-lewa": AnytimeLossLewa,
        "late-anytime-loss-lewa": LateAnytimeLossLewa,
        "late-loss-lewa": LateLossLewa,
        "late-lewa-ix": LateLewaIx,
        "exp-bandit-lewa": ExpBanditLewa,
    },
    "projections onto estimates": {
        "op-ewa": OpEwa,
        "anytime-op-ewa": AnytimeOpEwa,
        "bandit-op-ewa": BanditOpEwa,
        "explore-then-project": ExploreThenProject,
        "bandit-explore-then-project": BanditExploreThenProject,
        "bandit-epoch-project": BanditEpochProject,
        "safe-mixing": SafeMixing,
        "bandit-safe-mixing": BanditSafeMixing,
    },
    "for practice": {
        "paced-hedge": PacedHedge,
        "squarecb-lewa": SquareCbLewa,
    },
    "contexts and policies, with proofs": {
        "proved-squarecb-lewa": ProvedSquareCbLewa,
        "anytime-proved-squarecb-lewa": AnytimeProvedSquareCbLewa,
        "exp4-lewa": Exp4Lewa,
        "exp4-lewa-ix": Exp4LewaIx,
        "anytime-exp4-lewa": AnytimeExp4Lewa,
        "lewa-policies": LewaPolicies,
    },
    "for comparison": {
        "fixed-penalty": FixedPenalty,
        "gated-penalty": GatedPenalty,
        "adahedge": AdaHedge,
        "normalhedge": NormalHedge,
        "exp3": Exp3,
        "exp3-p": Exp3P,
        "ucb1": Ucb1,
        "ucb-lp": UcbLp,
        "thompson-lp": ThompsonLp,
        "paced-linucb": PacedLinUcb,
        "epsilon-first": EpsilonFirst,
        "kube": Kube,
        "kube@fractional": Kube,
    },
}
ALL = {name: kind for family in FAMILIES.values() for name, kind in family.items()}


class Alias(NamedTuple):
    """A name of earlier versions that still works."""

    name: str  # of this version
    parameters: Mapping[str, float] = MappingProxyType({})  # what its saved files lack


ALIASES = {
    "fractional-kube": Alias("kube@fractional", {"fractional": 1.0}),
    "loss-bandit-lewa": Alias("loss-lewa"),
    "anytime-bandit-lewa": Alias("anytime-loss-lewa"),
    "late-bandit-lewa": Alias("late-anytime-loss-lewa"),
    "late-loss-bandit-lewa": Alias("late-loss-lewa"),
}
# Names of classes that still work, with a warning, until the next release.
FORMER_CLASSES: dict[str, type[Learner]] = {
    "LossBanditLewa": LossLewa,
    "AnytimeBanditLewa": AnytimeLossLewa,
    "LateBanditLewa": LateAnytimeLossLewa,
    "LateLossBanditLewa": LateLossLewa,
}
# Names of earlier versions that work no more, and what to use instead.
REMOVED = {
    "anytime-ewa": "adahedge",
    "bandit-q": "squarecb-lewa",
    "entropic-lp": "op-ewa with kappa=0",
    "forecast-lp": "paced-hedge",
    "paced-lints": "paced-linucb",
}
# NAME+WRAPPER runs the learner of that name inside another: in epochs that double, held to floors that are raised, or with a
# safe action that holds its debts to a bound.
WRAPPERS: dict[str, type[Wrapper]] = {"doubling": Doubling, "tightened": Tightened, "governed": Governed}
