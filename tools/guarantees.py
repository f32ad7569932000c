"""Guarantees by setting: writes docs/guarantees.md, all of it computed from the code. `make guarantees` runs it."""

from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import lewa
from lewa.advice import Advice, Choice, Question
from lewa.advice.candidates import covering_radius, names, tunings
from lewa.advice.weighing import rank, weigh
from lewa.measures.rate_fit import fit_rate

FILE = Path(__file__).parent.parent / "docs" / "guarantees.md"
ACTIONS, FLOOR, ROUNDS, EPSILON, SLATER, CORRUPTION = 10, 0.6, 10**6, 0.05, 0.2, 100.0
SHORTEST, LONGEST = 8, 12  # 10^8 to 10^12 rounds, between which the exponents are measured
LONGER = tuple(10**n for n in range(SHORTEST, LONGEST + 1))
FEEDBACK = {"full": "Full information", "bandit": "Bandit feedback"}
WORLDS: dict[str, dict[str, Any]] = {
    "iid": {},
    "corrupted": {"corruption": CORRUPTION},
    "adversarial": {"constraints": "arbitrary"},
}
SURE: dict[str, dict[str, Any]] = {"expected": {}, "high probability": {"epsilon": EPSILON}}
COUNTED: dict[str, dict[str, Any]] = {"net": {}, "every round": {"every_round": True}}
# What is known beside that, or not known, and the question that it is compared with.
MORE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the number of rounds is unknown": ({"horizon": None}, {}),
    "the constraints are the same every round": ({"constraints": "constant"}, {}),
    f"some play exceeds every floor by {SLATER:g}": ({"slater": SLATER}, {}),
    f"some play exceeds every floor by {SLATER:g}; corrupted": (
        {"slater": SLATER, **WORLDS["corrupted"]},
        WORLDS["corrupted"],
    ),
    f"some play exceeds every floor by {SLATER:g} in every round; adversarial": (
        {"slater": SLATER, **WORLDS["adversarial"]},
        WORLDS["adversarial"],
    ),
    f"some play exceeds every floor by {SLATER:g}; no violation allowed": ({"slater": SLATER, "strict": True}, {}),
    f"action 0 exceeds every floor by {SLATER:g}; no violation allowed": (
        {"slater": SLATER, "safe": 0, "strict": True},
        {"slater": SLATER, "strict": True},
    ),
}


def asked(shown: str, given: dict[str, Any]) -> Advice:
    """The advice at the reference numbers, but for what is given."""
    return _asked(shown, tuple(sorted(given.items())))


@cache  # most questions are asked more than once
def _asked(shown: str, given: tuple[tuple[str, Any], ...]) -> Advice:
    return lewa.advise(shown, **{"actions": ACTIONS, "horizon": ROUNDS, "floor": FLOOR, **dict(given)})


class Notes:
    """Assumptions, numbered as they are met."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def marks(self, choice: Choice) -> str:
        """The numbers of what this choice assumes."""
        for text in choice.guarantee.assumptions:
            if text not in self.texts:
                self.texts.append(text)
        return " ".join(str(1 + self.texts.index(text)) for text in choice.guarantee.assumptions)

    def __str__(self) -> str:
        return "\n".join(f"{n}. {text}" for n, text in enumerate(self.texts, 1))


def number(x: float) -> str:
    """Whole, or two or three digits."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}" if x >= 10 else f"{x:.2g}"


def both(choice: Choice, question: Question) -> tuple[float, float]:
    """The bounds on regret and on the violation that is asked about."""
    return choice.guarantee.regret or 0.0, max(question.violation(choice.guarantee) or (0.0,))


def longer(choice: Choice, question: Question, rounds: int) -> Choice:
    """The same learner, tuned for so many rounds; what is explored grows as T^(2/3)."""
    later = question._replace(horizon=rounds)
    settings = dict(choice.settings)
    if "epsilon" in settings:
        settings["epsilon"] = question.setting.epsilon or 1 / rounds
    if settings.get("share"):
        settings["share"] = 1 / rounds
    if "explore" in settings:
        settings["explore"] = float(round(settings["explore"] * (rounds / question.rounds) ** (2 / 3)))
    if "radius" in settings:
        settings["radius"] = covering_radius(later, settings["explore"])
    return weigh(choice.name, settings, later)


def with_rates(choice: Choice, question: Question) -> tuple[str, str]:
    """Regret and violation: the value at the reference, and factor T^exponent as fitted at growing T."""
    later = [both(longer(choice, question, T), question) for T in LONGER]
    found = []
    for value, values in zip(both(choice, question), zip(*later, strict=True), strict=True):
        fit = fit_rate(LONGER, values)
        if fit is None:
            found.append(number(value))
        elif abs(fit.slope) < 0.005:
            found.append(f"{number(value)}, at every T")
        else:
            found.append(f"{number(value)} ({number(fit.factor)} T^{fit.slope:.2f})")
    return found[0], found[1]


def named(choice: Choice) -> str:
    """The learner, with what is set beside its recommended tuning and does not go with T."""
    shown = {name: value for name, value in choice.settings.items() if name != "epsilon"}
    if shown.get("share"):
        del shown["share"]
        return f"`{choice._replace(settings=shown).called} share=1/T`"
    return f"`{choice._replace(settings=shown).called}`"


def row(head: tuple[str, ...], advice: Advice, notes: Notes) -> str:
    """One line of the first tables."""
    if not advice.ranked:
        return line(*head, "", "", "", "", "", "")
    best, second = advice.learner, advice.runner_up
    return line(
        *head,
        named(best),
        *with_rates(best, advice.question),
        f"{best.guarantee.source} ({best.guarantee.kind})",
        notes.marks(best),
        ""
        if second is None
        else f"`{second.name}` {100 * (second.share or 0):.2g} % against {100 * (best.share or 0):.2g} %",
    )


def line(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def head(*cells: str) -> str:
    """The first two rows of a table."""
    return f"{line(*cells)}\n|{'---|' * len(cells)}"


def cells(shown: str, notes: Notes) -> str:
    """The table of one kind of feedback."""
    rows = [
        row((world, counted, sure), asked(shown, {**WORLDS[world], **COUNTED[counted], **SURE[sure]}), notes)
        for world, counted, sure in product(WORLDS, COUNTED, SURE)
    ]
    return "\n".join((head("constraints", "violation", "holds", *ANSWER), *rows))


def more(notes: Notes) -> str:
    """What is bought by knowing more, or lost by knowing less; only where that changes the answer."""
    rows = []
    for (what, (given, without)), shown, counted, sure in product(MORE.items(), FEEDBACK, COUNTED, SURE):
        found, before = (asked(shown, {**known, **COUNTED[counted], **SURE[sure]}) for known in (given, without))
        if found.ranked and (not before.ranked or found.learner.guarantee._replace(share=None) != before.learner.guarantee):
            rows.append(row((FEEDBACK[shown].split()[0].lower(), what, counted, sure), found, notes))
    return "\n".join((head("feedback", "where", "violation", "holds", *ANSWER), *rows))


ANSWER = ("learner", "regret at most", "violation at most", "source", "assumes", "runner-up")


def everyone(shown: str) -> str:
    """Every learner in every world: regret/T, net and positive violation/T, in per cent."""
    columns = [(world, sure) for world in WORLDS for sure in SURE]
    questions = [asked(shown, {**WORLDS[world], **SURE[sure]}).question for world, sure in columns]
    rows = []
    for name in names(questions[0]):
        found = [entry(name, question) for question in questions]
        rows.append(line(f"`{name}`", *found))
    return "\n".join((head("learner", *(f"{world}, {sure}" for world, sure in columns)), *rows))


def entry(name: str, question: Question) -> str:
    """The best that is proved of a learner for net violation, and what is proved of every round."""
    net = [one for one in tunings(name, question) if one.share is not None]
    strict = question._replace(every_round=True)
    each = [one for one in tunings(name, strict) if one.share is not None]
    if not net and not each:
        return ""
    best = min(net, key=partial(rank, question)) if net else min(each, key=partial(rank, strict))
    regret = f"{100 * question.shares(best.guarantee)[0]:.2g}"
    total = f"{100 * max(question.shares(best.guarantee)[1:]):.2g}" if net else "-"
    last = "-"
    if each:
        sharp = min(each, key=partial(rank, strict))
        last = f"{100 * max(strict.shares(sharp.guarantee)[1:]):.2g}"
    return f"{regret}; {total}; {last}"


def page() -> str:
    """The whole document."""
    notes = Notes()
    tables = {shown: cells(shown, notes) for shown in FEEDBACK}
    known = more(notes)
    return f"""# Guarantees by setting

For each combination of {{full information, bandit feedback}} x {{iid, corrupted, adversarial constraints}} x {{net
violation, every round}} x {{in expectation, with high probability}}, the tables name the learner with the best guarantee.
An empty cell means that no learner of `lewa` has a guarantee there, with any of the settings that `lewa advise` tries.
`make guarantees` computes this page from the `guarantees` of the learners; nothing is typed in, and a test checks that the
page is current. `lewa advise` answers the same questions for your own numbers.

## How to read it

- **Reference numbers.** K = {ACTIONS} actions, T = {ROUNDS:,} rounds, one constraint with floor {FLOOR:g}; high
  probability is 1 - epsilon with epsilon = {EPSILON:g}. Rewards are fixed in advance, constraints and rewards lie
  in [0, 1], every action is available, and each answer comes before the next draw.
- **Bounds.** `value (a T^b)` gives the bound at the reference numbers, and the factor and exponent of the same bound,
  fitted between T = 10^{SHORTEST} and T = 10^{LONGEST} with the learner tuned for each T. A logarithm adds 0.01 to
  0.03 to the exponent. Regret is relative to the best fixed play that meets the floor. The trivial bounds are
  T = {ROUNDS:,} and floor T = {FLOOR * ROUNDS:,.0f}.
- **Violation.** *Net* is `[sum_t (floor - p_t.c)]+`: rounds above the floor offset rounds below it. *Every round* is
  `sum_t [floor - p_t.c]+`: nothing offsets a round below the floor.
- **Constraints.** *iid*: given the past, they have a fixed mean `c`. *Corrupted*: the mean may leave `c`, and the largest
  distances of all rounds add up to at most {CORRUPTION:g}. *Adversarial*: any sequence. No learner can then compete with
  the best play that meets the floor on average (docs/theory.md), so bounds are relative to plays that meet it in every
  round, and violation is measured with the observed constraints.
- **Best** means the smallest maximum of regret/T and violation/T at the reference numbers. The runner-up is the next
  learner in this order, with both values; for longer games a learner with smaller exponents comes first. A bound with
  probability 1 - 1/T counts as a bound in expectation after adding 1 to regret and the floor to violation, the largest
  cost of its failure. A bound on every path counts everywhere. Because an application has a single run, a bound on an
  expectation alone counts double, and a bound on `[E V]+` comes after all others.
- **Quantities.** With full information, regret is that of the play, `p_t.r_t`, and violation that of the mean constraints
  of the play; for the actions drawn see docs/theory.md, 0.6. High probability refers to one T, unless the source is
  OP-EWA, anytime OP-EWA or safe mixing with full information, which hold at all rounds at once.
- **Assumes** refers to the list at the end. **Source** names the statement in docs/theory*.md and its kind: a bound on the
  expected violation (`[E V]+`), on the expectation of the violation's positive part (`E[V]+`), with high probability, or
  on every path.
- The name of a learner includes settings that differ from its recommended tuning. If the tuning has an epsilon, it is the
  one in question, and 1/T for bounds in expectation.

## {FEEDBACK["full"]}

{tables["full"]}

## {FEEDBACK["bandit"]}

{tables["bandit"]}

## With more or less knowledge

These tables are for iid constraints unless stated otherwise. They list only answers that differ from those without the
knowledge, and no empty ones. If the number of rounds is unknown, the T in an epsilon of 1/T is the one at which the bound
is evaluated.

{known}

## All learners, all settings

Each entry has three numbers: regret/T, net violation/T and violation of every round/T, in per cent at the reference
numbers. An empty entry or a dash means that no bound is proved, or only a trivial one; the net violation of
`exp-bandit-lewa` has a dash, since its theorem compares with mixtures of actions that each meet the floors in every round.
Of several tunings the best is shown. Learners that ignore constraints, penalties, the printed boxes and learners of
other papers (docs/theory_rivals.md) are left out, because their violation has no bound or a worse one than that of a
listed learner. Learners that need a safe action are in the table above.

### {FEEDBACK["full"]}

{everyone("full")}

### {FEEDBACK["bandit"]}

{everyone("bandit")}

## Assumptions

{notes}
"""


def main() -> None:
    """Write it."""
    FILE.write_text(page())


if __name__ == "__main__":
    main()
