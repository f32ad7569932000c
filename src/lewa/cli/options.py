"""The options that several commands share, their parsers, and the learners that a command line names."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

from lewa import games, learners
from lewa.choice import LearnerChoice, choose_for_game, choose_learner, describe_unproved
from lewa.cli.shared import remark, say
from lewa.data.columns import Columns
from lewa.feedback import feedback_kind
from lewa.learners import Learner
from lewa.theory.setting import Setting
from lewa.validation import nearest

LARGEST = 2**63 - 1
Values: TypeAlias = dict[str, float | str]  # what --set says, by name


# What texts mean ---------------------------------------------------------------------------------------------------------


def whole_number(text: str | int) -> int:
    """Return a whole number that fits into 64 bits; 1e5 is accepted too."""
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number) > LARGEST or number != number.to_integral_value():
        raise typer.BadParameter(f"{str(text)[:50]!r} is not an integer of at most {LARGEST}.")
    return int(number)


def whole(help: str, *names: str) -> Any:  # noqa: A002 (Typer's name)
    """Return an option whose value is a whole number."""
    return typer.Option(*names, help=help, parser=whole_number, metavar="INTEGER")


def parse_pair(text: str, what: str) -> tuple[str, float | str]:
    """Return the name and the value of NAME=VALUE; the value is a number if it reads as one."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ValueError(f"a {what} must be NAME=VALUE, got {text!r}")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def parse_settings(texts: Iterable[str]) -> Values:
    """Return the settings of all options --set."""
    return dict(parse_pair(text, "setting") for text in texts)


def game_value(value: float | str) -> float | str | bool:
    """Return a whole number as an int and the words true and false as a bool: games have such parameters."""
    if isinstance(value, str):
        return value.lower() == "true" if value.lower() in ("true", "false") else value
    return int(value) if value.is_integer() and abs(value) <= LARGEST else value


def check_file(path: Path, what: str, kinds: tuple[str, ...] = ()) -> None:
    """Raise ValueError, before anything is computed, if the file could not be written."""
    if kinds and path.suffix not in kinds:
        raise ValueError(f"{what} needs a file that ends in {', '.join(kinds)}, got {path.name}")
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(f"{what} needs a file in an existing folder, got {path}")


# Names that a shell completes --------------------------------------------------------------------------------------------


def learner_names(incomplete: str) -> list[str]:
    """Return the names of learners, and auto, that begin with the incomplete word."""
    return [name for name in ("auto", *learners.names()) if name.startswith(incomplete)]


def game_names(incomplete: str) -> list[str]:
    """Return the names of games that begin with the incomplete word."""
    inside, plus, _ = incomplete.rpartition("+")
    every = [f"{inside}+{twist}" for twist in games.TWISTS] if plus else games.names()
    return [name for name in every if name.startswith(incomplete)]


# Options -----------------------------------------------------------------------------------------------------------------

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Names = Annotated[
    list[str], typer.Option("--learner", help="A learner's name, or auto; repeat for more.", autocompletion=learner_names)
]
Floors = Annotated[
    list[float], typer.Option("--floor", help="The smallest average that a constraint may have; one per constraint.")
]
Actions = Annotated[int, whole("The number of actions.")]
Epsilon = Annotated[float | None, typer.Option(help="Ask for bounds with probability 1 - epsilon.")]
Slater = Annotated[float | None, typer.Option(help="The amount by which some play exceeds every floor.")]
Assumed = Annotated[str, typer.Option(help="What is assumed about the constraints: iid, constant or arbitrary.")]
Settings = Annotated[list[str], typer.Option("--set", help="NAME=VALUE: set a parameter of a learner or of the game.")]
Goal = Annotated[
    str,
    typer.Option(help="The learner that auto uses: practice (best in measurements) or proved (smallest proved bound)."),
]
Seeds = Annotated[int, whole("The number of independent runs.")]
TraceFile = Annotated[
    Path | None, typer.Option("--trace", help="Also write every play, multiplier and action to this .npz.")
]
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A .csv, .csv.gz, .parquet or .npz file, or a folder of .parquet files; see docs/own_data.md."
    ),
]
Lines = Annotated[list[float], typer.Option("--budget", help="The limit, in the units of the data; one per constraint.")]
FormerLines = Annotated[list[float], typer.Option("--floor", hidden=True, help="The former name of --budget.")]
# The options that name columns, by the fields of `lewa.data.columns.Columns`.
COLUMNS: dict[str, Any] = {
    "reward": Annotated[str | None, typer.Option(help="The column of rewards: NAME or NAME=LOW..HIGH for its range.")],
    "at_most": Annotated[
        list[str], typer.Option(help="A column with an upper limit: NAME or NAME=LOW..HIGH; repeat for more.")
    ],
    "at_least": Annotated[
        list[str], typer.Option(help="A column with a lower limit: NAME or NAME=LOW..HIGH; repeat for more.")
    ],
    "action": Annotated[str | None, typer.Option(help="The column of actions.")],
    "round": Annotated[str | None, typer.Option(help="The column of rounds.")],
    "propensity": Annotated[str | None, typer.Option(help="The column of propensities, for a log.")],
    "context": Annotated[
        list[str],
        typer.Option(
            help="A column known before each decision: NAME or NAME=KIND (number, category, text, date); repeat for more."
        ),
    ],
    "drop_missing": Annotated[bool, typer.Option("--drop-missing", help="Leave out the rows of a log that have no reward.")],
}
Workers = Annotated[int | None, whole("The number of processes. (default: one per core)")]
Cluster = Annotated[str | None, typer.Option(help="The address of a Dask scheduler to use instead of local processes.")]


COLUMN_OPTIONS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=COLUMNS[name], default=[] if usual == () else usual)
    for name, usual in Columns._field_defaults.items()
    if name in COLUMNS
]


def names_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name columns, in the place of its parameter `columns`."""

    @wraps(command)
    def wrapper(**values: Any) -> None:
        command(columns=Columns(**{name: values.pop(name) for name in COLUMNS}), **values)

    parameters = []
    for name, each in inspect.signature(command).parameters.items():
        parameters += COLUMN_OPTIONS if name == "columns" else [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapper


def lines_of(lines: list[float], former: list[float]) -> list[float]:
    """Return the limits of both options."""
    if former:
        say("warning: --floor is the former name of --budget, and will go in version 0.4.0")
    return lines + former


class Problem(NamedTuple):
    """The problem that the learners are made for."""

    actions: int
    rounds: int
    floor: Sequence[float]
    feedback: str | None = None  # "full" or "bandit"; None: the feedback that each learner needs
    setting: Setting | None = None  # the setting of a game; None for data, whose setting is unknown
    goal: str = "practice"  # the goal of `auto`, for data
    features: int = 0  # the number of features of the game's contexts
    policies: int = 0  # the number of policies whose advice the contexts contain


def make_learners(
    names: Iterable[str], problem: Problem, values: Values, others: Mapping[str, list[str]] | None = None
) -> dict[str, Learner]:
    """Return the learners by name. A setting goes to each learner that has it; `others` has the settings of the game."""
    advice: dict[str, dict[str, float]] = {}
    if "auto" in names:
        choice = _choose(problem)
        advice[choice.name] = choice.settings
        names = [choice.name if name == "auto" else name for name in names]
        remark(f"auto: {choice.called}{_beside(choice, problem)}")
    known = {name: learners.settings_of(name) for name in names}
    check_names(values, {**(others or {}), **known})
    players = {}
    for name, settings in known.items():
        needs = feedback_kind(learners.find(name)).observes
        if problem.feedback not in (None, needs):
            raise ValueError(f"{name} needs {needs} feedback and cannot learn from {problem.feedback} feedback")
        in_context = learners.settings_in_context(name, problem.features, problem.policies)
        if problem.features and not in_context:
            remark(f"{name} cannot use a context and plays without it")
        chosen = {**advice.get(name, {}), **in_context, **{key: value for key, value in values.items() if key in settings}}
        players[name] = learners.make(name, problem.actions, problem.rounds, problem.floor, **chosen)
    return players


def check_names(values: Values, known: Mapping[str, list[str]]) -> None:
    """Raise ValueError for an unknown setting, and suggest the nearest name."""
    every = sorted(set().union(*known.values()))
    for key in values:
        if key not in every:
            raise ValueError(f"{' or '.join(known)} has no parameter {key!r}{nearest(key, every)}")


def _choose(problem: Problem) -> LearnerChoice:
    """Choose the learner with the best bound for a game; for data, whose setting is unknown, the best in practice."""
    if problem.setting is not None:
        return choose_for_game(problem.actions, problem.rounds, problem.floor, problem.setting)
    numbers, features = (problem.actions, problem.rounds, problem.floor), _own_features(problem)
    return choose_learner(problem.feedback or "full", *numbers, goal=problem.goal, features=features)


def _own_features(problem: Problem) -> int:
    """Return the number of features for regressions; the advice of policies is not among them."""
    return 0 if problem.policies else problem.features


def _beside(choice: LearnerChoice, problem: Problem) -> str:
    """Return the remark for a choice by measurements: its bound, and the learner with the smallest bound."""
    numbers = (problem.actions, problem.rounds, problem.floor)
    text = describe_unproved(choice.name, problem.feedback or "full", *numbers, features=_own_features(problem))
    return f", {text}" if text else ""
