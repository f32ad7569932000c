"""The commands `lewa guarantee` and `lewa advise`: the proved bounds of a learner, and the learner with the smallest."""

from typing import Annotated

import numpy as np
import typer

from lewa import learners, schema
from lewa.advice import Advice, Choice, advise
from lewa.cli.options import (
    Actions,
    Assumed,
    Epsilon,
    Floors,
    Json,
    Problem,
    Settings,
    Slater,
    Values,
    learner_names,
    make_learners,
    parse_settings,
    whole,
)
from lewa.cli.shared import app, note, out, print_json
from lewa.feedback import feedback_kind
from lewa.formatting import number, numbers
from lewa.learners.base import Learner
from lewa.report.tables import guarantee_of, table
from lewa.theory.guarantees import Guarantee, applicable, none
from lewa.theory.realised import subject
from lewa.theory.setting import Setting, checked, most_late


@app.command(epilog="Example: lewa guarantee lewa --actions 10 --rounds 100000 --floor 0.6 --set tuning=paper")
def guarantee(
    learner: Annotated[
        str, typer.Argument(help="A learner's name; `lewa learners` lists them.", autocompletion=learner_names)
    ],
    actions: Actions,
    rounds: Annotated[int, whole("The number of rounds.")],
    floor: Floors,
    epsilon: Epsilon = None,
    slater: Slater = None,
    variation: Annotated[float | None, typer.Option(help="The variation of the rewards, if it is known.")] = None,
    constraints: Assumed = "iid",
    adversary: Annotated[str, typer.Option(help="oblivious, or adaptive: rewards may react to the learner.")] = "oblivious",
    corruption: Annotated[float | None, typer.Option(help="The total amount by which constraints are corrupted.")] = None,
    delay: Annotated[int | None, whole("The largest delay of an answer, in decisions.")] = None,
    settings: Settings = [],  # noqa: B006 (Typer's way)
    as_json: Json = False,
) -> None:
    """Print the proved bounds of a learner."""
    setting = checked(Setting(constraints, adversary, epsilon, slater, variation, corruption))
    values = _with_epsilon(learner, parse_settings(settings), epsilon)
    player = next(iter(make_learners([learner], Problem(actions, rounds, floor), values).values()))
    if delay:
        proved = _with_late_answers(player, learner, actions, rounds, setting, delay)
    else:
        proved = [applicable(statement, setting) for statement in player.guarantees(actions, rounds, setting)]
    statements = [guarantee_of(statement) for statement in proved]
    parameters = {name: np.asarray(value).tolist() for name, value in player.parameters.items()}
    report: schema.GuaranteeReport = {
        "learner": learner,
        "actions": actions,
        "rounds": rounds,
        "floor": floor,
        "parameters": parameters,
        **statements[0],
        "statements": statements,
    }
    if as_json:
        print_json(report)
        return
    bandit = feedback_kind(type(player)).is_bandit
    about = [subject(statement, rounds, player.floor.tolist(), bandit, corruption=corruption or 0.0) for statement in proved]
    _print(report, about)
    if not delay and "+" not in learner and all(statement.violation is None for statement in proved):
        note(f"An agent with {learner} has a governor: lewa guarantee {learner}+governed prints its bound on violations.")
    untuned = delay and "delay" in learners.settings_of(learner) and "delay" not in values
    if untuned and all(statement.regret is None for statement in proved):
        note(f"--set delay={delay} tunes {learner} for answers that are so late.")
    share = next((statement.share for statement in proved if statement.share is not None), None)
    if share is not None:
        note(
            f"If some play has the slack {slater:g} in every round, the learner earns at least {share:.3g} of the "
            "reward of any fixed play, minus the regret against plays that meet the floors in every round "
            "(docs/theory_adversarial.md, 2.3)."
        )


def _with_late_answers(
    player: Learner, name: str, actions: int, rounds: int, setting: Setting, delay: int
) -> list[Guarantee]:
    """Return what is proved if every answer is at most `delay` decisions late."""
    if setting != Setting(epsilon=setting.epsilon):
        raise ValueError("delay cannot be combined with slater, variation, constraints, adversary or corruption")
    late = most_late(rounds, delay)
    setting = setting._replace(delays=late)
    if setting.epsilon is not None:
        others = player.guarantees(actions, rounds, setting._replace(epsilon=None))
        probable = [item for item in player.guarantees(actions, rounds, setting) if item not in others]
        return probable or [none(name, "nothing is proved with high probability for this learner with late answers")]
    statements = player.guarantees(actions, rounds, setting)
    return list(statements) or [none(name, "nothing is proved for this learner with late answers")]


def _with_epsilon(learner: str, values: Values, epsilon: float | None) -> Values:
    """Add epsilon to the settings, so that the learner is tuned for the requested guarantee."""
    chosen = {name for name, value in values.items() if (name, value) != ("tuning", "recommended")}
    free = "@" not in learner and not chosen & {"tuning", "b", "epsilon"}
    if epsilon is None or not free or "epsilon" not in learners.settings_of(learner):
        return values
    return {"epsilon": epsilon, **values}


def _print(report: schema.GuaranteeReport, about: list[str]) -> None:
    parameters = ", ".join(
        f"{name} = {_few(value)}" for name, value in report["parameters"].items() if name != "floor" and _few(value)
    )
    rows = [(_kind(s), number(s["regret"]), numbers(s["violation"]), s["source"]) for s in report["statements"]]
    size = f"{report['actions']} actions, {report['rounds']:,} rounds, floor {numbers(report['floor'])}"
    columns = ("kind", "regret at most", "violation at most", "source (docs/theory.md)")
    out.print(table(f"{report['learner']}: {size}\n{parameters}", *columns, rows=list(dict.fromkeys(rows))))
    silent: set[tuple[str, str]] = set()  # theorems that give no bound: reasons that differ in numbers are one
    for statement, text in zip(report["statements"], about, strict=True):
        source, reason = statement["source"], statement["reason"] or "assumes: " + "; ".join(statement["assumptions"])
        kind_of_reason = (source, reason.partition(": its bounds are")[0])
        if statement["regret"] is None and kind_of_reason in silent:
            continue
        silent |= {kind_of_reason} if statement["regret"] is None else set()
        note(f"{reason}." if reason.startswith(source) else f"{source}: {reason}.")
        if text:
            note(f"  {text[0].upper()}{text[1:]}.")


def _kind(statement: schema.Guarantee) -> str:
    """Return the kind of a bound; with a probability below 1, also its epsilon."""
    kind, epsilon = statement["kind"] or "none", statement["epsilon"]
    return kind if epsilon is None else f"{kind} (epsilon {epsilon:g})"


def _few(value: object) -> str:
    """Return a number, or the first few entries of an array, as text."""
    every = np.ravel(value).tolist()  # type: ignore[call-overload]  # numbers, as a learner's parameters are
    return numbers(every[:3]) + (", ..." if len(every) > 3 else "")


COLUMNS = ("", "learner", "proved", "regret at most", "violation at most", "positive violation", "larger / T")


@app.command(
    "advise", epilog="Example: lewa advise --feedback bandit --actions 10 --rounds 100000 --floor 0.6 --every-round"
)
def advise_learner(
    feedback: Annotated[str, typer.Option(help="The feedback of the learner: full or bandit.")],
    actions: Actions,
    floor: Floors,
    rounds: Annotated[
        int | None, whole("The number of rounds; leave it out if it is unknown.", "--rounds", "--horizon")
    ] = None,
    constraints: Assumed = "iid",
    every_round: Annotated[
        bool, typer.Option("--every-round", help="Bound the shortfall of every round, without offsetting surpluses.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Consider only learners with no violation at all.")] = False,
    epsilon: Epsilon = None,
    slater: Slater = None,
    safe: Annotated[int | None, whole("The index of an action that exceeds every floor by --slater.")] = None,
    corruption: Annotated[
        float | None, typer.Option(help="The total amount by which iid constraints are corrupted.")
    ] = None,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="Rewards may react to the learner.")] = False,
    as_json: Json = False,
) -> None:
    """Recommend the learner with the smallest proved bound for your numbers, and say why."""
    adversary = "adaptive" if adaptive else "oblivious"
    advice = advise(
        feedback, actions, rounds, floor, constraints, every_round, strict, epsilon, slater, safe, corruption, adversary
    )
    if as_json:
        print_json(_plain(advice, rounds))
        return
    proved = bool(advice.ranked)
    choices = (("take", advice.learner), ("runner-up", advice.runner_up), ("in practice", advice.practice))
    rows = [
        (title, choice.called, choice.guarantee.kind or "nothing", *_bounds(choice))
        for title, choice in choices
        if choice is not None and (proved or title == "take")
    ]
    out.print(table(f"{actions} actions, floor {numbers(floor)}", *COLUMNS, rows=rows))
    out.print(advice.reason, highlight=False, markup=False)
    if proved:
        guarantee = advice.learner.guarantee
        out.print(advice.in_practice, highlight=False, markup=False)
        note(f"{guarantee.source} (docs/guarantees.md) assumes: {'; '.join(guarantee.assumptions)}.")


def _plain(advice: Advice, rounds: int | None) -> schema.Advice:
    return {
        "learner": _choice(advice.learner),
        "runner_up": _choice(advice.runner_up),
        "practice": _choice(advice.practice),
        "reason": advice.reason,
        "in_practice": advice.in_practice,
        "rounds": rounds,
    }


def _choice(choice: Choice | None) -> schema.Choice | None:
    if choice is None:
        return None
    return {
        "name": choice.name,
        "settings": choice.settings,
        "share": choice.share,
        **guarantee_of(choice.guarantee),
    }


def _bounds(choice: Choice) -> tuple[str, ...]:
    guarantee, share = choice.guarantee, choice.share
    percent = "-" if share is None else f"{100 * share:.3g} %"
    return number(guarantee.regret), numbers(guarantee.violation), numbers(guarantee.positive_violation), percent
