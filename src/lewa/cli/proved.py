"""Commands about what is proved, and the one that checks."""

import importlib
import json
import sys
from typing import Annotated, Any

import numpy as np
import typer

from lewa import checks, learners
from lewa.advice import Choice, advise
from lewa.cli.playing import make
from lewa.cli.shared import Floors, Json, Settings, app, learner_names, out
from lewa.feedback import feedback_kind
from lewa.report.summary import promise
from lewa.report.tables import number, numbers, table
from lewa.theory.guarantees import Setting, applicable, checked
from lewa.theory.realised import subject


@app.command(epilog="Example: lewa guarantee lewa --actions 10 --rounds 100000 --floor 0.6 --set tuning=paper")
def guarantee(
    learner: Annotated[
        str, typer.Argument(help="A learner's name; `lewa learners` lists them.", autocompletion=learner_names)
    ],
    actions: Annotated[int, typer.Option()],
    rounds: Annotated[int, typer.Option()],
    floor: Floors,
    epsilon: Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")] = None,
    slater: Annotated[float | None, typer.Option(help="Some play exceeds every floor by this.")] = None,
    variation: Annotated[float | None, typer.Option(help="The rewards' variation, where it is known.")] = None,
    constraints: Annotated[str, typer.Option(help="constant, iid, or arbitrary.")] = "iid",
    adversary: Annotated[str, typer.Option(help="oblivious, or adaptive: rewards may react to the learner.")] = "oblivious",
    corruption: Annotated[float | None, typer.Option(help="The constraints are as above but for this much in all.")] = None,
    settings: Settings = [],  # noqa: B006 (Typer's way)
    as_json: Json = False,
) -> None:
    """Print what is proved of a learner."""
    setting = checked(Setting(constraints, adversary, epsilon, slater, variation, corruption))
    chosen = {text.partition("=")[0] for text in settings if text != "tuning=recommended"}
    free = learner.partition("+")[0] not in learners.PRINTED_TUNING and not chosen & {"tuning", "b", "epsilon"}
    if epsilon is not None and free and "epsilon" in learners.settings_of(learner):
        settings = [f"epsilon={epsilon}", *settings]  # the recommended tuning is that for the guarantee that is asked for
    made = next(iter(make([learner], actions, rounds, floor, settings, None).values()))
    proved = [applicable(statement, setting) for statement in made.guarantees(actions, rounds, setting)]
    statements = [promise(statement) for statement in proved]
    parameters = {name: np.asarray(value).tolist() for name, value in made._asdict().items()}
    if as_json:
        head = {"learner": learner, "actions": actions, "rounds": rounds, "floor": floor, "parameters": parameters}
        print(json.dumps({**head, **statements[0], "statements": statements}))
        return
    shown = ", ".join(f"{name} = {_short(value)}" for name, value in parameters.items() if name != "floor")
    rows = [(s["kind"] or "none", number(s["regret"]), numbers(s["violation"]), s["source"]) for s in statements]
    title = f"{learner}: {actions} actions, {rounds:,} rounds, floor {numbers(floor)}\n{shown}"
    out.print(table(title, "kind", "regret at most", "violation at most", "source (docs/theory.md)", rows=rows))
    bandit = feedback_kind(type(made)).is_bandit
    for statement in proved:
        sentence = statement.reason or f"assumes: {'; '.join(statement.assumptions)}"
        out.print(f"{statement.source}: {sentence}.", style="dim", highlight=False)
        about = subject(statement, rounds, made.floor.tolist(), bandit, corruption=corruption or 0.0)
        if about:
            out.print(f"  {about[0].upper()}{about[1:]}.", style="dim", highlight=False)


def _short(value: Any) -> str:
    """A number, or the first few of many."""
    every = np.ravel(value).tolist()
    return numbers(every[:3]) + (", ..." if len(every) > 3 else "")


@app.command(
    "advise", epilog="Example: lewa advise --feedback bandit --actions 10 --rounds 100000 --floor 0.6 --every-round"
)
def which_learner(
    shown: Annotated[str, typer.Option("--feedback", help="full or bandit: what a learner is shown.")],
    actions: Annotated[int, typer.Option(help="How many there are to choose from.")],
    floor: Floors,
    rounds: Annotated[int | None, typer.Option("--rounds", "--horizon", help="How many; leave it out if unknown.")] = None,
    constraints: Annotated[str, typer.Option(help="iid, constant or arbitrary.")] = "iid",
    every_round: Annotated[bool, typer.Option("--every-round", help="No round makes up for another.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Only learners proved to violate nothing.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")] = None,
    slater: Annotated[float | None, typer.Option(help="Some play exceeds every floor by this.")] = None,
    safe: Annotated[int | None, typer.Option(help="The number of an action that is known to, counted from 0.")] = None,
    corruption: Annotated[float | None, typer.Option(help="The constraints are iid but for this much in all.")] = None,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="Rewards may react to the learner.")] = False,
    as_json: Json = False,
) -> None:
    """Which learner to take, by what is proved for these numbers, and why."""
    adversary = "adaptive" if adaptive else "oblivious"
    given = (shown, actions, rounds, floor, constraints, every_round, strict, epsilon, slater, safe, corruption, adversary)
    found = advise(*given)
    chosen = {"learner": found.learner, "runner_up": found.runner_up, "practice": found.practice}
    if as_json:
        why = {"reason": found.reason, "in_practice": found.in_practice, "rounds": rounds}
        print(json.dumps({name: _choice(choice) for name, choice in chosen.items()} | why))
        return
    proved = bool(found.ranked)
    rows = [
        (title, choice.called, choice.guarantee.kind or "nothing", *_bounds(choice))
        for title, choice in zip(("take", "runner-up", "in practice"), chosen.values(), strict=True)
        if choice is not None and (proved or title == "take")
    ]
    columns = ("", "learner", "proved", "regret at most", "violation at most", "every round's", "of the worst case")
    out.print(table(f"{actions} actions, floor {numbers(floor)}", *columns, rows=rows))
    out.print(found.reason, highlight=False)
    if proved:
        said = found.learner.guarantee
        out.print(found.in_practice, highlight=False)
        out.print(
            f"{said.source} (docs/guarantees.md) assumes: {'; '.join(said.assumptions)}.", style="dim", highlight=False
        )


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {"name": choice.name, "settings": choice.settings, "share": choice.share, **promise(choice.guarantee)}


def _bounds(choice: Choice) -> tuple[str, ...]:
    said, share = choice.guarantee, choice.share
    percent = "-" if share is None else f"{100 * share:.3g} %"
    return number(said.regret), numbers(said.violation), numbers(said.positive_violation), percent


@app.command(epilog="Example: lewa check my_learner:MyLearner")
def check(learner: Annotated[str, typer.Argument(help="MODULE:CLASS, a learner or a game of yours.")]) -> None:
    """Check a learner or a game of yours against the laws that all of them obey."""
    module, colon, name = learner.partition(":")
    if not colon:
        raise ValueError(f"a learner or a game of yours is named MODULE:CLASS, got {learner!r}")
    sys.path.insert(0, "")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{learner} cannot be found: {error}") from error
    results = checks.check(kind)
    for result in results:
        mark = "[green]ok[/]  " if not result.sentence else "[red]FAIL[/]"
        out.print(
            f"{mark} {result.law} ({result.example})" + (f": {result.sentence}" if result.sentence else ""), highlight=False
        )
    broken = sum(1 for result in results if result.sentence)
    out.print(f"{len(results)} checks, {broken} failed")
    if broken:
        raise typer.Exit(1)
