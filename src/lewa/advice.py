"""Which learner to take: what is proved of each is evaluated for the numbers at hand, and the least bound is advised.

The criterion is a bound's share of the worst case: the larger of regret/T and violation/(floor T), over all constraints. Of
the learners of which something is proved in the setting that is asked about, the one with the smallest share is advised, and
the next one is the runner-up. Beside them stands what did best on real data (docs/data.md), whatever is proved of it.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

from lewa import learners
from lewa.feedback import feedback_kind
from lewa.learners.base import check_problem
from lewa.theory.guarantees import (
    EVERY_ROUND,
    EXPECTED_INSIDE,
    PATHWISE,
    PROBABLE,
    STILL,
    Guarantee,
    Setting,
    applicable,
    checked,
    none,
)
from lewa.types import Vector

# Never advised, beside the printed boxes: EWA and some rivals are blind to constraints, of the penalties and other rivals
# nothing is proved, and epochs only add rounds of exploration to bandit OP-EWA.
BLIND = ("ewa", "anytime-ewa", "adahedge", "normalhedge", "exp3", "exp3-p", "ucb1")
UNPROVED = ("fixed-penalty", "gated-penalty", "epsilon-first", "kube", "fractional-kube", "forecast-lp", "entropic-lp")
NEVER = (*BLIND, *UNPROVED, "bandit-epoch-project")
IF_UNKNOWN = 1_000_000  # the rounds at which bounds are compared where nobody knows how many there will be
# Tried beside the recommended tuning: b = 2/3 balances regret and violation; without their bonus the optimistic learners
# have a theorem where constraints are the same every round, or where some play is known to exceed the floors; and with a
# share of 1/T op-ewa has one under corruption.
ALSO = {"b": (2 / 3,), "kappa": (0.0, -1.0), "optimism": (0.0,)}

# What did best on the data of docs/data.md, by the kind of feedback.
PRACTICE: dict[str, tuple[str, dict[str, float]]] = {
    "full": ("op-ewa", {"kappa": 0.0}),
    "bandit": ("bandit-op-ewa", {"kappa": 0.0}),
}


class Question(NamedTuple):
    """What is asked, checked."""

    feedback: str
    actions: int
    horizon: int | None
    floor: Vector
    every_round: bool
    strict: bool
    safe: int | None
    setting: Setting

    @property
    def rounds(self) -> int:
        """T, or the rounds at which bounds are compared where nobody knows it."""
        return IF_UNKNOWN if self.horizon is None else self.horizon

    def violation(self, said: Guarantee) -> tuple[float, ...] | None:
        """The violation that is asked about: net, or that of every round."""
        return said.positive_violation if self.every_round else said.violation

    def shares(self, said: Guarantee) -> list[float]:
        """regret/T, then violation/(floor T) of each constraint."""
        T, bounds = self.rounds, self.violation(said) or ()
        kept = [v / (c0 * T) if c0 > 0 else 0.0 for v, c0 in zip(bounds, self.floor.tolist(), strict=True)]
        return [(said.regret or 0.0) / T, *kept]


class Choice(NamedTuple):
    """A learner by name, with the settings for `learners.make`, and what is proved of it for these numbers."""

    name: str
    settings: dict[str, float]
    guarantee: Guarantee
    share: float | None  # of the worst case: the larger of regret/T and violation/(floor T); None where nothing is proved

    @property
    def called(self) -> str:
        """The learner as it is made, in words."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))


class Advice(NamedTuple):
    """Which learner to take, the runner-up, and why, in two sentences; and what did best in practice, in one."""

    learner: Choice
    runner_up: Choice | None
    reason: str
    practice: Choice
    in_practice: str
    asked: Question
    ranked: tuple[Choice, ...]  # every tuned learner of which something is proved here, the best first


def advise(
    feedback: str,
    actions: int,
    horizon: int | None,
    floor: object,
    constraints: str = "iid",
    every_round: bool = False,
    strict: bool = False,
    epsilon: float | None = None,
    slater: float | None = None,
    safe: int | None = None,
    corruption: float | None = None,
    adversary: str = "oblivious",
) -> Advice:
    """The learner with the least proved bound for these numbers.

    `feedback` is "full" or "bandit"; `horizon` is the number of rounds, or None where nobody knows it; `constraints` are
    "iid", "constant" or "arbitrary", with a `corruption` where they are iid but for so much; `every_round` asks that no
    round makes up for another; `strict` asks for no violation at all; `epsilon` asks for bounds with probability
    1 - epsilon rather than on average; `slater` is by how much some play is known to exceed every floor, and `safe` the
    number of an action that does, where that is known too.

    >>> advice = advise("full", actions=10, horizon=100_000, floor=0.6, constraints="arbitrary", every_round=True)
    >>> advice.learner.name, round(advice.learner.guarantee.regret)
    ('exp-lewa', 482)
    """
    if feedback not in ("full", "bandit"):
        raise ValueError(f"feedback must be 'full' or 'bandit', got {feedback!r}")
    _, _, line = check_problem(actions, 1 if horizon is None else horizon, floor)
    setting = checked(Setting(constraints, adversary, epsilon, slater, None, corruption))
    if slater is not None and slater > 1 - line.max():
        raise ValueError(f"no play exceeds a floor of {line.max()} by slater={slater}: constraints are at most 1")
    if safe is not None and slater is None:
        raise ValueError(f"a safe action says something only together with slater, by how much it is safe, got safe={safe}")
    if safe is not None and not (isinstance(safe, Integral) and 0 <= safe < actions):
        raise ValueError(f"safe must be the number of an action, 0 to {actions - 1}, got {safe}")
    asked = Question(feedback, actions, horizon, line, every_round, strict, safe, setting)

    found = [choice for name in names(asked) for choice in tunings(name, asked) if choice.share is not None]
    ranked = tuple(sorted(found, key=lambda one: (one.share, sum(asked.shares(one.guarantee)), len(one.settings))))
    name, settings = PRACTICE[feedback]
    practice = weigh(name if horizon else f"{name}+doubling", settings, asked)
    note = f"In practice {practice.called} did best on real data (docs/data.md); {_proved(practice, asked)}."
    if not ranked:
        return Advice(practice, None, _nothing(asked, practice), practice, note, asked, ranked)
    second = next((choice for choice in ranked if choice.name != ranked[0].name), None)
    return Advice(ranked[0], second, _because(asked, ranked, second), practice, note, asked, ranked)


def names(asked: Question) -> Iterator[str]:
    """The learners that may be advised for this feedback, and inside another where that is of use."""
    for name, kind in learners.ALL.items():
        shown = feedback_kind(kind).observes
        if shown != asked.feedback or name in NEVER or "@" in name:
            continue
        if asked.safe is None and "safe" in learners.settings_of(name):
            continue
        yield name
        if asked.horizon is None:
            yield f"{name}+doubling"
        if asked.setting.slater is not None:
            yield f"{name}+tightened"


def tunings(name: str, asked: Question) -> Iterator[Choice]:
    """The learner as it is tuned, tuned for the epsilon that is asked for, and the other tunings that are of use."""
    known = learners.settings_of(name)
    told = {"safe": float(asked.safe or 0), "margin": asked.setting.slater or 0.0} if "safe" in known else {}
    sure = [{}, {"epsilon": _epsilon(asked)}] if "epsilon" in known else [{}]
    also = [{}, *({setting: value} for setting, values in ALSO.items() if setting in known for value in values)]
    if {"kappa", "share"} <= set(known) and asked.horizon is not None:
        also.append({"share": min(1 / asked.rounds, 0.5)})
    for one, other in product(sure, also):
        yield weigh(name, {**told, **one, **other}, asked)


def _epsilon(asked: Question) -> float:
    """What is asked for, or 1/T: a bound that fails so rarely is one on average, but for 1."""
    return asked.setting.epsilon or min(1 / asked.rounds, 0.5)


def weigh(name: str, settings: dict[str, float], asked: Question) -> Choice:
    """The learner with these settings, and the best that is proved of it in answer to what is asked."""
    try:
        learner = _made(name, asked.actions, asked.rounds, tuple(asked.floor.tolist()), tuple(settings.items()))
    except ValueError as error:  # a setting that is out of its range for these numbers
        return Choice(name, settings, none(name, str(error)), None)
    if getattr(learner, "slack", None) == 0:
        return Choice(name, settings, none(name, "no slack is proved to be enough, or none is needed"), None)
    if asked.horizon is None and not _timeless(learner, name, settings, asked):
        return Choice(name, settings, none(name, "its tuning needs to know the number of rounds"), None)
    settled = dict.fromkeys((asked.setting, asked.setting._replace(epsilon=_epsilon(asked))))
    said = [one for setting in settled for one in learner.guarantees(asked.actions, asked.rounds, setting)]
    answers = [answer for one in said if (answer := answered(one, asked)) is not None]
    if not answers:
        reasons = [one for one in said if one.reason]
        return Choice(name, settings, reasons[0] if reasons else none(name, "what is proved does not answer this"), None)
    best = min(answers, key=lambda one: (max(asked.shares(one)), sum(asked.shares(one))))
    share = max(asked.shares(best))
    return Choice(name, settings, best, share if share < 1 else None)  # of one of the two only the trivial bound


@lru_cache(maxsize=1024)
def _made(name: str, actions: int, rounds: int, floor: tuple[float, ...], settings: tuple[tuple[str, float], ...]) -> Any:
    """The learner; kept, as some search for their settings, and each is asked about more than once."""
    return learners.make(name, actions, rounds, floor, **dict(settings))


def _timeless(learner: Any, name: str, settings: dict[str, float], asked: Question) -> bool:
    """Whether the tuning does not use the horizon."""
    if name.endswith("+doubling"):
        return True
    other: Any = learners.make(name, asked.actions, 2 * asked.rounds, asked.floor, **settings)
    return bool(learner == other)


def answered(said: Guarantee, asked: Question) -> Guarantee | None:
    """The statement as an answer to what is asked: what is stronger answers too, what assumes more does not."""
    said = applicable(said, asked.setting)
    if said.regret is None or asked.violation(said) is None:
        return None
    if STILL in said.assumptions or (EVERY_ROUND in said.assumptions and asked.setting.constraints != "arbitrary"):
        return None
    if asked.setting.epsilon is None:
        if said.kind == PROBABLE and (said.epsilon or 1) > _epsilon(asked) * (1 + 1e-9):
            return None
        said = on_average(said, asked) if said.kind == PROBABLE else said
    elif said.kind != PATHWISE and not (said.kind == PROBABLE and (said.epsilon or 1) <= asked.setting.epsilon * (1 + 1e-9)):
        return None
    return None if asked.strict and any(asked.violation(said) or ()) else said


def on_average(said: Guarantee, asked: Question) -> Guarantee:
    """A bound with probability 1 - epsilon as one in expectation: where it fails, regret is at most T, violation floor T."""
    fails, T = said.epsilon or 0.0, asked.rounds

    def spoiled(bounds: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if bounds is None:
            return None
        return tuple(min(v + fails * c0 * T, c0 * T) for v, c0 in zip(bounds, asked.floor.tolist(), strict=True))

    return said._replace(
        regret=min((said.regret or 0.0) + fails * T, float(T)),
        violation=spoiled(said.violation),
        positive_violation=spoiled(said.positive_violation),
        kind=EXPECTED_INSIDE,
        epsilon=None,
    )


# Sentences -------------------------------------------------------------------------------------------------------------


def _because(asked: Question, ranked: tuple[Choice, ...], second: Choice | None) -> str:
    best, count = ranked[0], len({choice.name for choice in ranked})
    first = f"{best.called} has the smallest of the bounds that are proved of {count} learners"
    first = f"something is proved of {best.called} alone" if count == 1 else first
    held = f"by it the larger of regret/T and violation/(floor T) is at most {_held(best, asked)}"
    rest = "No other learner here has a theorem for that"
    if second is not None:
        rest = f"The runner-up, {second.called}, is held to {_held(second, asked)}"
    return f"For {_world(asked)}, {first}: {held}. {rest}."


def _nothing(asked: Question, practice: Choice) -> str:
    return (
        f"No learner here has a guarantee for {_world(asked)}. "
        f"Take {practice.called} anyway, which did best on real data (docs/data.md), and watch what it violates."
    )


def _proved(practice: Choice, asked: Question) -> str:
    if practice.share is not None:
        return f"it is proved to stay below {_percent(practice.share)} of the worst case here"
    if asked.violation(practice.guarantee) is None:
        return "nothing is proved of it here"
    return f"of its {'regret' if asked.shares(practice.guarantee)[0] >= 1 else 'violation'} nothing is proved here"


def _world(asked: Question) -> str:
    setting = asked.setting
    shown = "full information" if asked.feedback == "full" else "bandit feedback"
    means = f"{setting.constraints} constraints" + (f" but for {setting.corruption:g} in all" if setting.corruption else "")
    sure = "on average" if setting.epsilon is None else f"with probability {1 - setting.epsilon:g}"
    counted = ("no " if asked.strict else "") + ("violation in every round" if asked.every_round else "net violation")
    known = "" if asked.safe is None else f"action {asked.safe} known to be safe, "
    length = f"{asked.rounds:,} rounds" if asked.horizon else f"an unknown number of rounds, compared at {asked.rounds:,}"
    return f"{shown}, {means}, {known}{counted}, {sure}, over {length}"


def _held(choice: Choice, asked: Question) -> str:
    shares = asked.shares(choice.guarantee)
    return f"{_percent(max(shares))}, its {'regret' if shares[0] == max(shares) else 'violation'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
