"""The governor of an agent: it plays safe while one more decision at its worst would take a debt beyond its bound."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.records import JsonObject, Label
from lewa.theory.governed import usual_rounds, weighted_least, weighted_level
from lewa.types import Matrix, Vector
from lewa.units import as_number
from lewa.validation import nearest, short_repr

SURE, MEAN, WEIGHTED, LEARNED = "sure", "mean", "weighted", "learned"


@dataclass(frozen=True)
class Governor:
    """Hold the debt of every constraint to a bound: play safe while one more decision at its worst would exceed it.

    The debt of a constraint is the total of the values beyond its limit minus the total below it, in your units. Decisions
    without an answer count at their reserve, so late and missing answers are covered.

    Parameters
    ----------
    safe : label or mapping, optional
        The safe action, or a safe mixture: actions with their probabilities. Without it, and without `sure`, the governor
        learns which mixture is safe.
    sure : mapping, optional
        By constraint, the worst possible value of the safe action; or one value per action. A safe action without a
        value is assumed to meet the limit in every decision.
    mean : mapping, optional
        By constraint, the worst possible mean of the safe action or mixture, if single values may be worse.
    debt : mapping, optional
        By constraint, the bound. By default the debt of 100 decisions at their worst, or of sqrt(horizon) if that is more.
    reserve : mapping, optional
        By constraint, the value at which an open decision counts: by default the worst of its range.
    epsilon : float
        The probability with which a bound may fail, if it is not certain.

    Examples
    --------
    >>> import lewa
    >>> limit = lewa.at_most("cost", 0.002, range=(0, 0.01))
    >>> governor = lewa.Governor("small", sure={"cost": 0.001}, debt={"cost": 0.05})
    >>> agent = lewa.Agent(["small", "large"], [limit], governor=governor, seed=0)
    >>> agent.status().governor.bounds  # the debt of the cost never exceeds it, on every path
    (0.05,)
    """

    safe: Label | Mapping[Label, float] | None = None
    sure: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    mean: Mapping[str, float] = field(default_factory=dict)
    debt: Mapping[str, float] = field(default_factory=dict)
    reserve: Mapping[str, float] = field(default_factory=dict)
    epsilon: float = 0.05

    def __post_init__(self) -> None:
        if self.safe is not None and not isinstance(self.safe, str | int | Mapping):
            raise ValueError(f"safe must be an action, or shares by action, got {short_repr(self.safe)}")
        for values in (self.sure, self.mean, self.debt, self.reserve):
            if not isinstance(values, Mapping):
                raise ValueError(f"sure, mean, debt and reserve must map constraints to values, got {short_repr(values)}")

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON: a mixture is a list of pairs."""
        safe = [list(pair) for pair in self.safe.items()] if isinstance(self.safe, Mapping) else self.safe
        sure = {name: list(value) if isinstance(value, Sequence) else value for name, value in self.sure.items()}
        return {**asdict(self), "safe": safe, "sure": sure}


def governor_from_plain(plain: object) -> Governor:
    """Return what `Governor.plain` wrote."""
    if not isinstance(plain, Mapping) or set(plain) - set(Governor.__dataclass_fields__):
        raise ValueError(
            f"a governor must have the fields {', '.join(Governor.__dataclass_fields__)}, got {short_repr(plain)}"
        )
    safe = plain.get("safe")
    if isinstance(safe, list):
        if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int) for pair in safe):
            raise ValueError(f"a safe mixture must be pairs of an action and its share, got {short_repr(safe)}")
        safe = dict(safe)
    return Governor(**{**plain, "safe": safe})


def split_governed(learner: str, governor: Governor | str, safe: Label | None) -> tuple[str, Governor | str]:
    """Return NAME and the governor for a learner NAME+governed: the agent's own, which reserves what is open.

    Without a safe action it learns what is safe.
    """
    if not isinstance(learner, str) or not learner.endswith("+governed"):
        return learner, governor
    if governor == "off":
        raise ValueError(f"the learner {learner} has a governor, got governor='off'")
    return learner.removesuffix("+governed"), "learned" if governor == "auto" and safe is None else governor


def as_governor(governor: object, safe: Label | None) -> Governor | None:
    """Return the governor that an agent is made with: one that is given, or that of a safe action, or none."""
    if isinstance(governor, Governor):
        if safe is not None and governor.safe is not None and (not isinstance(safe, str | int) or governor.safe != safe):
            both = f"safe={short_repr(safe)} and a governor with {short_repr(governor.safe)}"
            raise ValueError(f"the safe action must be named once, got {both}")
        return governor if safe is None else Governor(**{**governor.__dict__, "safe": safe})
    name = governor if isinstance(governor, str) else ""
    if name == "learned" and safe is None:
        return Governor()
    if name not in ("auto", "off"):
        raise ValueError(f"governor must be a Governor, 'auto', 'learned' or 'off', got {short_repr(governor)}")
    if name == "off" and safe is not None:
        raise ValueError(f"safe needs a governor, got safe={safe!r} and governor='off'")
    return None if safe is None else Governor(safe)


class Rule:
    """The rule of a governor for these actions and constraints; all arguments are checked when it is made.

    Values are in the user's units. `excess` turns a value into what it adds to the debt of its constraint.
    """

    def __init__(
        self, wish: Governor, actions: Sequence[Label], constraints: Sequence[Constraint], horizon: int | None = None
    ) -> None:
        self.wish, self.actions, self.constraints = wish, tuple(actions), tuple(constraints)
        self.names = [constraint.name for constraint in constraints]
        self.signs = [1.0 if constraint.sense == "at most" else -1.0 for constraint in constraints]
        self.spans = np.array([constraint.high - constraint.low for constraint in constraints])
        self.floor = np.array([constraint.floor for constraint in constraints])
        if not 0 < as_number("epsilon", wish.epsilon) < 1:
            raise ValueError(f"epsilon must lie strictly between 0 and 1, got {wish.epsilon}")
        for values in (wish.sure, wish.mean, wish.debt, wish.reserve):
            self._check_names(values)
        self.ends = ends = [constraint.scale.to_user(0.0) for constraint in constraints]
        self.reserve = tuple(
            as_number(f"the reserve of {n}", wish.reserve.get(n, e)) for n, e in zip(self.names, ends, strict=True)
        )
        self.worst = [self.excess(j, value) for j, value in enumerate(self.reserve)]
        self.sure = self._sure_values()
        self.mixture = self._mixture()
        self.slack = self._slacks()
        self.order = self._order()
        self.form = self._form()
        usual = usual_rounds(horizon)
        self.debt = [self._bound(j, usual) for j in range(len(self.names))]

    def excess(self, j: int, value: float) -> float:
        """Return the amount that a value adds to the debt of constraint j."""
        return self.signs[j] * (value - self.constraints[j].limit)

    def _check_names(self, values: Iterable[object]) -> None:
        for name in values:
            if name not in self.names:
                raise ValueError(f"there is no constraint {short_repr(name)}{nearest(str(name), self.names)}")

    def _index(self, label: object) -> int:
        if not isinstance(label, str | int) or label not in self.actions:
            raise ValueError(f"there is no action {short_repr(label)}{nearest(str(label), list(map(str, self.actions)))}")
        return self.actions.index(label)

    def _sure_values(self) -> Matrix:
        """Return the worst value of each constraint and action (m, K), NaN where none is told."""
        wish, K = self.wish, len(self.actions)
        values = np.full((len(self.names), K), np.nan)
        single = None if wish.safe is None or isinstance(wish.safe, Mapping) else self._index(wish.safe)
        for j, name in enumerate(self.names):
            sure = wish.sure.get(name)
            if isinstance(sure, Sequence) and not isinstance(sure, str):
                if len(sure) > K:
                    raise ValueError(f"the sure {name} must be one number, or one per action, {K}, got {len(sure)}")
                values[j, : len(sure)] = [as_number(f"the sure {name}", value) for value in sure]  # later actions: unknown
            elif single is not None and (sure is not None or name not in wish.mean):
                limit = self.constraints[j].limit
                values[j, single] = limit if sure is None else as_number(f"the sure {name}", sure)
            elif sure is not None:
                raise ValueError(
                    f"the sure {name} must be one number for a safe action, else one per action, got {short_repr(sure)}"
                )
        return values

    def _mixture(self) -> Vector | None:
        """Return the play of a safe action or mixture, or None where none is named."""
        safe = self.wish.safe
        if safe is None:
            return None
        play = np.zeros(len(self.actions))
        for label, share in (safe if isinstance(safe, Mapping) else {safe: 1.0}).items():
            play[self._index(label)] = as_number(f"the share of {label!r}", share)
        if play.min() < 0 or not abs(play.sum() - 1) < 1e-9:
            raise ValueError(f"a safe mixture must have shares of at least 0 that sum to 1, got {short_repr(safe)}")
        shares: Vector = play / play.sum()
        return shares

    def _slacks(self) -> list[float]:
        """Return by how much the safe play keeps each limit in the mean, as a share of the range; NaN where not told."""
        slacks = []
        for j, name in enumerate(self.names):
            if name in self.wish.mean:
                value = as_number(f"the mean {name}", self.wish.mean[name])
            elif self.mixture is None:
                value = np.nan
            else:
                value = float(self.mixture[self.mixture > 0] @ self.sure[j, self.mixture > 0])
            slacks.append(-self.excess(j, value) / float(self.spans[j]))
        return slacks

    def _order(self) -> list[int]:
        """Return the actions that surely keep every limit, those with the most slack first."""
        excess = np.array([[self.excess(j, v) for v in row] for j, row in enumerate(self.sure.tolist())])
        least = -(excess / self.spans[:, np.newaxis]).max(axis=0)  # NaN if one constraint is not known
        named = range(len(self.actions)) if self.mixture is None else np.flatnonzero(self.mixture).tolist()
        safe = [i for i in named if least[i] >= 0]
        return sorted(safe, key=lambda i: -least[i])

    def _form(self) -> str:
        """Return which of the statements applies; refuse a safe play that does not keep a limit."""
        wish = self.wish
        if wish.safe is None and not wish.mean and not wish.sure:
            return LEARNED
        if wish.safe is None and wish.mean:
            raise ValueError("mean values need a safe action or mixture: pass safe=...")
        if wish.safe is None:
            return SURE if self.order else self._weighted()
        single = not isinstance(wish.safe, Mapping)
        if single and not wish.mean:
            if not self.order:
                raise ValueError(self._refusal(j=int(np.argmin(self.slack)), what="surely"))
            return SURE
        if not all(isfinite(slack) for slack in self.slack):
            missing = [name for name, slack in zip(self.names, self.slack, strict=True) if not isfinite(slack)]
            raise ValueError(f"the mean values of {short_repr(wish.safe)} must include {', '.join(missing)}: pass mean=...")
        if min(self.slack) <= 0:
            raise ValueError(self._refusal(j=int(np.argmin(self.slack)), what="in the mean, with slack,"))
        return MEAN

    def _refusal(self, j: int, what: str) -> str:
        constraint = self.constraints[j]
        value = constraint.limit - self.signs[j] * self.slack[j] * float(self.spans[j])
        return f"the safe play must meet every limit {what}: {constraint} is not met by {constraint.name} {value:g}"

    def _weighted(self) -> str:
        """Check that a mixture of the sure values keeps every limit, and find its slack."""
        units = self.sure_units()
        gap = np.where(np.isfinite(units).all(axis=0), units - self.floor[:, np.newaxis], -np.inf)
        if not np.isfinite(gap).any():
            raise ValueError("some action needs sure values for every constraint, or safe must name an action")
        rho = float((np.where(np.isfinite(gap), gap, 0.0) @ best_mixture(gap)).min())
        if not rho > 1e-9:
            raise ValueError(
                "some mixture of the sure values must meet every limit with slack: name a safe action, or leave out sure"
            )
        self.slack = [rho] * len(self.names)
        return WEIGHTED

    def sure_units(self) -> Matrix:
        """Return the sure values in the learner's units (m, K)."""
        rows = zip(self.constraints, self.sure, strict=True)
        units: Matrix = np.array([constraint.scale.unit(row) for constraint, row in rows])
        return np.minimum(units, 1.0)

    def _bound(self, j: int, usual: float) -> float:
        """Return the bound of a debt, at least what one decision can add; 0 for the usual one of the learned form."""
        name, least = self.names[j], max(self.worst[j], 0.0)
        if self.form == LEARNED and name not in self.wish.debt:
            return 0.0
        if self.form == WEIGHTED:
            least = max(least, weighted_least(self.slack[j], self.floor) * float(self.spans[j]))
        bound = as_number(f"the debt of {name}", self.wish.debt.get(name, max(usual * self.worst[j], least)))
        if not bound >= least:
            why = "the most that one decision can add" if self.form != WEIGHTED else "the cost of mixing"
            raise ValueError(f"the debt of {name} must be at least {least:.4g}, {why}, got {bound:g}")
        return bound

    def check_retired(self, retired: frozenset[int]) -> None:
        """Refuse to govern when the last action that surely keeps every limit is retired, or a part of the safe mixture."""
        needed = self.order if self.form == SURE else [] if self.mixture is None else np.flatnonzero(self.mixture).tolist()
        gone = [i for i in needed if i in retired]
        if gone and (self.form != SURE or gone == needed):
            labels = ", ".join(repr(self.actions[i]) for i in gone)
            raise ValueError(f"the safe action of the governor, {labels}, cannot be retired: call set_governor first")

    def level(self) -> float:
        """Return the norm of the debts, in units, at which help is called for where only a mixture is safe."""
        return weighted_level(np.array(self.debt) / self.spans, self.floor)


def best_mixture(gap: Matrix) -> Vector:
    """Return the play z that makes the least of z.gap_j largest, for gaps (m, K); -inf for an action that is not there.

    >>> best_mixture(np.array([[0.4, -0.2], [-0.2, 0.4]])).round(3).tolist()
    [0.5, 0.5]
    """
    m, K = gap.shape
    there = np.flatnonzero(np.isfinite(gap).all(axis=0))
    play = np.zeros(K)
    least = gap[:, there].min(axis=0)
    if m == 1 or there.size == 1 or least.max() >= gap[:, there].max(axis=1).min():  # one action does as well
        play[there[int(np.argmax(least))]] = 1.0
        return play
    from scipy.optimize import linprog  # takes long to import, and few governors need it

    n = there.size
    rows = np.hstack([-gap[:, there], np.ones((m, 1))])
    simplex = np.append(np.ones(n), 0.0)[np.newaxis]
    bounds = [(0.0, 1.0)] * n + [(-1.0, 1.0)]
    best = linprog(-np.eye(n + 1)[-1], A_ub=rows, b_ub=np.zeros(m), A_eq=simplex, b_eq=[1.0], bounds=bounds)
    shares = np.clip(best.x[:n], 0.0, None)
    play[there] = shares / shares.sum()
    return play
