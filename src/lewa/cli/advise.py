"""The command `lewa advise`: recommend a learner."""

from typing import Annotated

import typer

from lewa import schema
from lewa.advice import Advice, Choice, advise
from lewa.cli.options import Floors, Json, whole_number
from lewa.cli.shared import app, note, out, print_json
from lewa.formatting import number, numbers
from lewa.report.summary import guarantee_of
from lewa.report.tables import table

COLUMNS = ("", "learner", "proved", "regret at most", "violation at most", "positive violation", "larger / T")


@app.command(
    "advise", epilog="Example: lewa advise --feedback bandit --actions 10 --rounds 100000 --floor 0.6 --every-round"
)
def advise_learner(
    feedback: Annotated[str, typer.Option(help="The feedback of the learner: full or bandit.")],
    actions: Annotated[int, typer.Option(help="The number of actions.", parser=whole_number, metavar="INTEGER")],
    floor: Floors,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            "--horizon",
            help="The number of rounds; leave it out if it is unknown.",
            parser=whole_number,
            metavar="INTEGER",
        ),
    ] = None,
    constraints: Annotated[
        str, typer.Option(help="What is assumed about the constraints: iid, constant or arbitrary.")
    ] = "iid",
    every_round: Annotated[
        bool, typer.Option("--every-round", help="Bound the shortfall of every round, without offsetting surpluses.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Consider only learners with no violation at all.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")] = None,
    slater: Annotated[float | None, typer.Option(help="The amount by which some play exceeds every floor.")] = None,
    safe: Annotated[
        int | None,
        typer.Option(
            help="The index of an action that exceeds every floor by --slater.", parser=whole_number, metavar="INTEGER"
        ),
    ] = None,
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
