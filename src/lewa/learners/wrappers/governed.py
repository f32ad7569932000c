"""Governed: any learner, with a safe action that is played while a debt would exceed its bound."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from lewa.feedback import feedback_kind
from lewa.kernels import dispatch as rule
from lewa.kernels.governing import book, calls_for_safety, play_one
from lewa.kernels.packing import compiled_form
from lewa.kernels.records import annotated_types, field_types, state_type
from lewa.kernels.roles import Excess
from lewa.learners.base import Bandit, Full, Learner, SpecialAction, Statements, Theorems, Vector, sizes_of
from lewa.learners.parameter_checks import check_problem, per_constraint, require
from lewa.learners.parameters import NO_ACTION
from lewa.learners.projections.safe_mixing import check_safe
from lewa.learners.wrappers.wrapper import Wrapper
from lewa.theory import governed
from lewa.theory.setting import Setting


def with_safe_rounds(learner: "Governed", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds on debts, and on what the safe rounds cost."""
    bandit, safe = feedback_kind(learner.kind).is_bandit, (learner.safe, learner.margin)
    return governed.governed(learner.inner(), actions, rounds, safe, learner.debt, bandit, setting)


class Governed(Wrapper):
    """Play a safe action whenever one more round of the inner learner could take a debt past its bound.

    Box: with debts R = 0 at the start, in round t::

        if R_j + c0_j > debt_j for some j: play the safe action; the inner learner does not get the answer
        else: the inner learner plays, and learns
        then:                               R_j = R_j + c0_j - x_j

    where x is the constraint of the play, or with bandit feedback that of the action drawn.

    Order: the choice is made before an action is drawn. Drawing first and rejecting some actions would bias the
    feedback of the inner learner. Answers are assumed to come at once. For late answers use `lewa.Governor`, which
    reserves the worst case of open decisions: an agent with the learner NAME+governed uses NAME and a governor.

    Parameters: those of the inner learner; safe = safe, the number of an action, or -1 if none is known, which turns
    the governor off; margin = margin >= 0, the amount by which that action always exceeds every floor; debt = debt, one
    number per constraint, at least c0; c0 = floor, each in [0, 1].

    Reading: debt = c0 max(100, sqrt(T)), the worst debt of this many rounds. If the observed constraints of the safe
    action meet every floor in every round, no debt ever exceeds its bound, on every path (G1). This costs regret: each
    safe round costs at most 1, and there are at most 1 + max_j [V_j - debt_j + c0_j]+/margin of them, if the inner
    learner misses floor j by at most V_j in its own rounds at all times (G2). Proof: docs/theory_delay.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 1.0]])
    >>> learner = lewa.learners.make("lewa+governed", 2, 100_000, floor=0.5, safe=1, margin=0.5, debt=20)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"most behind {trace.observed_shortfall.max():.1f}, regret {lewa.regret(trace).max():.0f}"
    'most behind 19.8, regret 120'

    Reference: docs/theory_delay.md.
    """

    safe: SpecialAction
    margin: float
    debt: Vector

    ending = "governed: a safe action keeps every debt below a bound"
    theorems = Theorems(with_safe_rounds)

    @classmethod
    def fields_around(cls, kind: type[Learner]) -> dict[str, object]:
        require(not issubclass(kind, Governed), "a learner can have only one governor", learner=kind.__name__)
        return {**annotated_types(kind), "safe": SpecialAction, "margin": float, "debt": Vector}

    @classmethod
    def state_around(cls) -> dict[str, object]:
        return {"governed_debt": Excess}  # (m,)  R

    @classmethod
    def opener(cls, kind: type[Learner]) -> Callable[..., tuple[object, object]]:
        form, state = compiled_form(kind), state_type(kind)
        end, numbers = len(form._fields), len(state._fields)  # Numba takes a slice of a tuple by numbers that it knows

        def inside(self: Any, s: Any) -> tuple[object, object]:
            return form(*self[:end]), state(*s[:numbers])

        return inside

    @classmethod
    def made_by(
        cls,
        make: Callable[..., Learner],
        actions: int,
        horizon: int,
        floor: object,
        safe: float = NO_ACTION,
        margin: float = 0.0,
        debt: object = None,
        **settings: object,
    ) -> Self:
        """Return the learner with debt = c0 max(100, sqrt(T)) and the usual tuning of the inner learner.

        Parameters
        ----------
        make, actions, horizon, floor
            Makes the inner learner, for K, T and c0.
        safe
            The index of an action that is known to be safe; -1 if there is none.
        margin
            The amount by which the safe action exceeds every floor.
        debt
            The bound on the debt of each constraint; None for the value above.
        **settings
            Settings of the inner learner.
        """
        K, T, c0 = check_problem(actions, horizon, floor)
        if "margin" in field_types(cls.kind):  # it is told of the same action
            settings = {**settings, "safe": safe, "margin": margin}
        bound = c0 * governed.usual_rounds(T) if debt is None else per_constraint("debt", debt, c0)
        inside = make(K, T, c0, **settings)
        learner = cls(**{**inside.parameters, "safe": safe, "margin": margin, "debt": bound})
        sizes_of(learner, K)  # raises ValueError if there is no such action
        return learner

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        """Return the examples of the inner learner: one with a safe action that is soon needed, and one without."""
        examples = []
        for n, (learner, actions) in enumerate(cls.kind.examples()):
            parameters = learner.parameters
            safe, margin = (
                (parameters["safe"], parameters["margin"]) if "margin" in parameters else (float(min(n, actions - 1)), 0.0)
            )
            examples.append((cls(**{**parameters, "safe": safe, "margin": margin, "debt": 2 * learner.floor}), actions))
        return examples

    def inner(self) -> Learner:
        """Return the inner learner."""
        return self.kind(**{name: self.parameters[name] for name in field_types(self.kind)})

    def inner_at(self, s: Any) -> Learner:
        return self.inner()

    def check(self) -> None:
        """Check the inner learner, and that each bound lets it play at least once."""
        self.inner()
        check_safe(self.safe, self.margin, self.floor)
        fits = self.debt.shape == self.floor.shape and np.isfinite(self.debt).all() and (self.debt >= self.floor).all()
        law = "debt must be one number per constraint, at least its floor"
        require(bool(fits), law, debt=self.debt.tolist(), floor=self.floor.tolist())

    def start(self, actions: int) -> Any:
        K, m = sizes_of(self, actions)
        return state_type(type(self))(*self.inner().start(K), np.zeros(m))

    def play(self, s: Any, p: Vector) -> None:
        if self.safe >= 0 and calls_for_safety(s.governed_debt, self.floor, self.debt):
            play_one(p, int(self.safe))
        else:
            learner, state = rule.inside(self, s)
            rule.play(learner, state, p)

    def choose(self, s: Any, u: float) -> tuple[int, float]:
        """Draw an action, if the inner learner draws by itself."""
        if self.safe >= 0 and calls_for_safety(s.governed_debt, self.floor, self.debt):
            return int(self.safe), 1.0
        learner, state = rule.inside(self, s)
        return rule.choose(learner, state, u)

    def charge(self, s: Any, action: int) -> None:
        if self.safe < 0 or not calls_for_safety(s.governed_debt, self.floor, self.debt):
            learner, state = rule.inside(self, s)
            rule.charge(learner, state, action)

    def learn(self, s: Any, seen: Full | Bandit) -> None:
        if self.safe < 0 or not calls_for_safety(s.governed_debt, self.floor, self.debt):
            learner, state = rule.inside(self, s)
            rule.learn(learner, state, seen)
        book(s.governed_debt, self.floor, seen)

    @property
    def parent(self) -> Learner | None:
        """The parent of the inner learner: with floor 0 there is no debt."""
        return self.inner().parent
