"""The table of the learners: a new learner is one file, its import, and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lewa.learners.base import Learner as Learner
from lewa.learners.contexts.policies import AnytimeExp4Lewa as AnytimeExp4Lewa
from lewa.learners.contexts.policies import Exp4Lewa as Exp4Lewa
from lewa.learners.contexts.policies import Exp4LewaIx as Exp4LewaIx
from lewa.learners.contexts.policies import LewaPolicies as LewaPolicies
from lewa.learners.contexts.proved_squarecb_lewa import AnytimeProvedSquareCbLewa as AnytimeProvedSquareCbLewa
from lewa.learners.contexts.proved_squarecb_lewa import ProvedSquareCbLewa as ProvedSquareCbLewa
from lewa.learners.paper.bandit_lewa import BanditLewa as BanditLewa
from lewa.learners.paper.ewa import Ewa as Ewa
from lewa.learners.paper.hp_bandit_lewa import HpBanditLewa as HpBanditLewa
from lewa.learners.paper.hp_bandit_lewa import PrintedHpBanditLewa as PrintedHpBanditLewa
from lewa.learners.paper.hp_lewa import HpLewa as HpLewa
from lewa.learners.paper.lewa import Lewa as Lewa
from lewa.learners.practical.paced_hedge import PacedHedge as PacedHedge
from lewa.learners.projections.explore_then_project import BanditEpochProject as BanditEpochProject
from lewa.learners.projections.explore_then_project import BanditExploreThenProject as BanditExploreThenProject
from lewa.learners.projections.explore_then_project import ExploreThenProject as ExploreThenProject
from lewa.learners.projections.op_ewa import AnytimeOpEwa as AnytimeOpEwa
from lewa.learners.projections.op_ewa import BanditOpEwa as BanditOpEwa
from lewa.learners.projections.op_ewa import OpEwa as OpEwa
from lewa.learners.projections.safe_mixing import BanditSafeMixing as BanditSafeMixing
from lewa.learners.projections.safe_mixing import SafeMixing as SafeMixing
from lewa.learners.rivals.budgeted import EpsilonFirst as EpsilonFirst
from lewa.learners.rivals.budgeted import Kube as Kube
from lewa.learners.rivals.paced_linear import PacedLinUcb as PacedLinUcb
from lewa.learners.rivals.paced_programs import ThompsonLp as ThompsonLp
from lewa.learners.rivals.paced_programs import UcbLp as UcbLp
from lewa.learners.rivals.penalties import FixedPenalty as FixedPenalty
from lewa.learners.rivals.penalties import GatedPenalty as GatedPenalty
from lewa.learners.rivals.unconstrained import AdaHedge as AdaHedge
from lewa.learners.rivals.unconstrained import Exp3 as Exp3
from lewa.learners.rivals.unconstrained import Exp3P as Exp3P
from lewa.learners.rivals.unconstrained import NormalHedge as NormalHedge
from lewa.learners.rivals.unconstrained import Ucb1 as Ucb1
from lewa.learners.squarecb_lewa import SquareCbLewa as SquareCbLewa
from lewa.learners.variants.anytime_lewa import AnytimeLewa as AnytimeLewa
from lewa.learners.variants.anytime_lewa import LateLewa as LateLewa
from lewa.learners.variants.exp_lewa import ExpBanditLewa as ExpBanditLewa
from lewa.learners.variants.exp_lewa import ExpLewa as ExpLewa
from lewa.learners.variants.fixed_share_lewa import FixedShareLewa as FixedShareLewa
from lewa.learners.variants.late_loss_lewa import LateAnytimeLossLewa as LateAnytimeLossLewa
from lewa.learners.variants.late_loss_lewa import LateLewaIx as LateLewaIx
from lewa.learners.variants.late_loss_lewa import LateLossLewa as LateLossLewa
from lewa.learners.variants.lewa_ucb import LewaUcb as LewaUcb
from lewa.learners.variants.loss_lewa import AnytimeLossLewa as AnytimeLossLewa
from lewa.learners.variants.loss_lewa import LewaIx as LewaIx
from lewa.learners.variants.loss_lewa import LossLewa as LossLewa
from lewa.learners.wrappers.doubling import Doubling as Doubling
from lewa.learners.wrappers.governed import Governed as Governed
from lewa.learners.wrappers.tightened import Tightened as Tightened
from lewa.learners.wrappers.wrapper import Wrapper as Wrapper

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
