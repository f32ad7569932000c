"""Governed: any learner, with safe play, or a learner with a proof, where a debt would exceed its bound."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from lewa.feedback import feedback_kind
from lewa.kernels import dispatch as rule
from lewa.kernels import pick
from lewa.kernels.governing import book, calls_for_safety, play_one
from lewa.kernels.guard import MODE, PRACTICAL, Guard, guarded_play, new_guard, settle_round
from lewa.kernels.packing import compiled_form
from lewa.kernels.records import annotated_types, field_types, state_type
from lewa.kernels.roles import CHARGED, DEBT, field_with
from lewa.learners.base import Bandit, Full, Learner, SpecialAction, Statements, Theorems, Vector, sizes_of
from lewa.learners.parameter_checks import check_problem, per_constraint, require
from lewa.learners.parameters import NO_ACTION
from lewa.learners.projections.safe_mixing import check_safe
from lewa.learners.wrappers.wrapper import Wrapper
from lewa.theory import governed, learned
from lewa.theory.setting import Setting


def governed_bounds(learner: "Governed", actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds on debts, and on what the safe rounds cost."""
    bandit, safe = feedback_kind(learner.kind).is_bandit, (learner.safe, learner.margin)
    if learner.safe < 0:
        return learned.learned(actions, rounds, learner.floor, learner.debt, bandit, setting)
    return governed.governed(learner.inner(), actions, rounds, safe, learner.debt, bandit, setting)


observe_safely = rule.method("observe_safely")  # what the inner learner learns from a round of the governor
charge_nothing = rule.method("charge_nothing")  # and what it is charged at its draw


class Governed(Wrapper):
    """Play a safe action, or a learner with a proof, whenever the inner learner could take a debt past its bound.

    Box: with debts D = 0 at the start, costs z = 1 - c with limits b = 1 - c0, and a safe action, in round t::

        if D_j + 1 - b_j > debt_j for some j: play the safe action; the inner learner does not get the answer
        else: the inner learner plays, and learns
        then:                               D_j = D_j + z_j - b_j

    where z is the cost of the play, or with bandit feedback that of the action drawn. Without a safe action, with
    E(t) = 300 + 7.5 K + 1.5 sqrt(t) and W(t) = 4/3 E(t)::

        while D_j + 1 - b_j <= E(t) for all j: the inner learner plays
        beyond: repay until D_j <= E(t)/2 for all j: the action with the least w.(mean_k - 5/4 N_k^(-1/2))
        once D_j + 1 - b_j > W(t) for some j: Exp3-IX with the losses w.z and the steps 2.8/sqrt(K n) in the n-th round,
        until D_j <= E(t) for all j

    where w_j is proportional to exp(2 sqrt(ln m/n)/G (rise of D_j since the zone began)), G = 1 + max b - min b. With full
    information E(t) = W(t) = 100 + 5 K + 2 sqrt(t), Hedge with the steps 2 sqrt(ln(2K)/n) plays beyond, until D_j <= E(t)/2.

    Order: the choice is made before an action is drawn. Drawing first and rejecting some actions would bias the
    feedback of the inner learner. Answers are assumed to come at once; an agent's governor has a rule for late ones.

    Parameters: those of the inner learner; safe = safe, the number of an action, or -1 if none is known; margin =
    margin >= 0, the amount by which that action always exceeds every floor; debt = debt, one number per constraint, at
    least c0: the bound on the debt with a safe action, else W, or 0 for the one above; c0 = floor, each in [0, 1].

    Reading: with a safe action debt = c0 max(100, sqrt(T)), the worst debt of this many rounds. If the observed constraints
    of the safe action meet every floor in every round, no debt ever exceeds its bound, on every path (G1). This costs
    regret: each safe round costs at most 1, and there are at most 1 + max_j [V_j - debt_j + c0_j]+/margin of them, if the
    inner learner misses floor j by at most V_j in its own rounds at all times (G2). Without a safe action no debt ever
    exceeds W(t) until Exp3-IX plays, on every path; what then holds is theorem W of docs/theory_governor.md, for any inner
    learner. One that keeps a debt learns from the rounds of the governor too.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 1.0]])
    >>> learner = lewa.learners.make("lewa+governed", 2, 100_000, floor=0.5, safe=1, margin=0.5, debt=20)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"most behind {trace.observed_shortfall.max():.1f}, regret {lewa.regret(trace).max():.0f}"
    'most behind 19.8, regret 120'

    Reference: docs/theory_governor.md; Exp3-IX is G. Neu, Explore no more, NIPS 2015.
    """

    safe: SpecialAction
    margin: float
    debt: Vector

    ending = "governed: debts have a bound"
    theorems = Theorems(governed_bounds)

    @classmethod
    def fields_around(cls, kind: type[Learner]) -> dict[str, object]:
        require(not issubclass(kind, Governed), "a learner can have only one governor", learner=kind.__name__)
        return {**annotated_types(kind), "safe": SpecialAction, "margin": float, "debt": Vector}

    @classmethod
    def state_around(cls) -> dict[str, object]:
        return {"governor": Guard}

    @classmethod
    def rules(cls, kind: type[Learner]) -> dict[str, object]:
        """Return these rules, and what a learner that keeps a debt is told of rounds that the governor plays."""
        state = state_type(kind)
        keeps_debt, place = field_with(state, DEBT) is not None, -1
        if keeps_debt and (name := field_with(state, CHARGED)) is not None:
            place = state._fields.index(name)

        def observe(self: object, s: object, seen: Full | Bandit) -> None:
            learner, inner = rule.inside(self, s)
            rule.learn(learner, inner, seen)

        def charge_limits(self: Learner, s: Sequence[Vector]) -> None:
            for j in range(self.floor.size):
                s[place][j] = 1 - self.floor[j]  # then the answer counts fully

        def ignore(self: object, s: object, seen: Full | Bandit) -> None:
            return

        def charge_none(self: object, s: object) -> None:
            return

        return {
            **super().rules(kind),
            "observe_safely": observe if keeps_debt else ignore,
            "charge_nothing": charge_none if place < 0 else charge_limits,
        }

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
        """Return the learner with debt = c0 max(100, sqrt(T)), if it is None, and the usual tuning of the inner learner.

        If `safe` is -1, the governor learns what is safe, and the usual debt is 0.
        """
        K, T, c0 = check_problem(actions, horizon, floor)
        check_safe(safe, margin, c0)
        if "margin" in field_types(cls.kind):  # it is told of the same action
            settings = {**settings, "safe": safe, "margin": margin}
        usual = c0 * governed.usual_rounds(T) if safe >= 0 else np.zeros(c0.size)
        bound = usual if debt is None else per_constraint("debt", debt, c0)
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
            debt = 2 * learner.floor if safe >= 0 else np.full(learner.floor.size, learned.LEAST)
            examples.append((cls(**{**parameters, "safe": safe, "margin": margin, "debt": debt}), actions))
            if n == 1 and "margin" not in parameters:
                debt = np.full(learner.floor.size, learned.LEAST)
                examples.append((cls(**{**parameters, "safe": NO_ACTION, "margin": 0.0, "debt": debt}), actions))
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
        shape = self.debt.shape == self.floor.shape and np.isfinite(self.debt).all()
        if self.safe < 0:
            law = f"debt must be one number per constraint, 0 or at least {learned.LEAST:g}"
            require(bool(shape and ((self.debt == 0) | (self.debt >= learned.LEAST)).all()), law, debt=self.debt.tolist())
        else:
            law = "debt must be one number per constraint, at least its floor"
            fits = bool(shape and (self.debt >= self.floor).all())
            require(fits, law, debt=self.debt.tolist(), floor=self.floor.tolist())

    def start(self, actions: int) -> Any:
        K, _ = sizes_of(self, actions)
        return state_type(type(self))(
            *self.inner().start(K), new_guard(1 - self.floor, K, not feedback_kind(self.kind).is_bandit)
        )

    def play(self, s: Any, p: Vector) -> None:
        if self.safe >= 0 and calls_for_safety(s.governor.debt, self.floor, self.debt):
            play_one(p, int(self.safe))
        elif s.governor.numbers[MODE] != PRACTICAL:
            guarded_play(s.governor, self.floor, p)
        else:
            learner, state = rule.inside(self, s)
            rule.play(learner, state, p)

    def choose(self, s: Any, u: float) -> tuple[int, float]:
        """Draw an action, if the inner learner draws by itself."""
        if self.safe >= 0 and calls_for_safety(s.governor.debt, self.floor, self.debt):
            return int(self.safe), 1.0
        if s.governor.numbers[MODE] != PRACTICAL:
            guarded_play(s.governor, self.floor, s.governor.play)
            i = pick(s.governor.play, u)
            return i, float(s.governor.play[i])
        learner, state = rule.inside(self, s)
        return rule.choose(learner, state, u)

    def charge(self, s: Any, action: int) -> None:
        if s.governor.numbers[MODE] != PRACTICAL:
            charge_nothing(self, s)
        elif self.safe < 0 or not calls_for_safety(s.governor.debt, self.floor, self.debt):
            learner, state = rule.inside(self, s)
            rule.charge(learner, state, action)

    def learn(self, s: Any, seen: Full | Bandit) -> None:
        if s.governor.numbers[MODE] != PRACTICAL:
            observe_safely(self, s, seen)
        elif self.safe < 0 or not calls_for_safety(s.governor.debt, self.floor, self.debt):
            learner, state = rule.inside(self, s)
            rule.learn(learner, state, seen)
        if self.safe < 0:
            settle_round(s.governor, self.floor, self.debt, seen)
        else:
            book(s.governor.debt, self.floor, seen)

    @property
    def parent(self) -> Learner | None:
        """The parent of the inner learner: with floor 0 there is no debt."""
        return self.inner().parent
