"""The learners, by name (`make`) or by class (`tuned`); `ALL` has every one, and `FAMILIES` has them by family.

`__all__` lists what a user chooses from first: the two defaults of the goal "practice", the boxes of the paper, two learners
that mix policies, and three learners of others. The goals "auto" and "proved" of an agent choose by themselves.
"""

from warnings import warn

from lewa.learners.naming import about, examine, find, make, names, settings_of
from lewa.learners.naming import check_looks_at_features as check_looks_at_features
from lewa.learners.naming import chosen_for as chosen_for
from lewa.learners.naming import first_choice as first_choice
from lewa.learners.naming import needs_horizon as needs_horizon
from lewa.learners.naming import settings_in_context as settings_in_context
from lewa.learners.registry import *


def __getattr__(name: str) -> object:
    """Return a class by its name of an earlier version."""
    if name in FORMER_CLASSES:
        kind = FORMER_CLASSES[name]
        warn(f"{name} is called {kind.__name__} now; the former name will go in the next release", DeprecationWarning, 2)
        return kind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__doc__ += "\n".join(f"\n{family}: {', '.join(members)}" for family, members in FAMILIES.items())

__all__ = [
    "ALL",
    "FAMILIES",
    "WRAPPERS",
    "BanditLewa",
    "Ewa",
    "Exp4Lewa",
    "HpBanditLewa",
    "HpLewa",
    "Learner",
    "Lewa",
    "LewaPolicies",
    "PacedHedge",
    "SquareCbLewa",
    "ThompsonLp",
    "Ucb1",
    "UcbLp",
    "about",
    "examine",
    "find",
    "make",
    "names",
    "settings_of",
]
