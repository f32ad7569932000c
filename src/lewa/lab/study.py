"""A study: one TOML file that describes an experiment. It is checked when it is read, and expands to runs with names.

    name = "what a floor costs"
    rounds = { from = 1000, to = 100_000, per_decade = 2 }   # or a list: [1000, 10_000]
    seeds = 8                                                # or a list: [0, 3, 7]
    measures = ["regret", "violation"]                       # left out: everything

    [[games]]
    name = "bernoulli"                                       # or MODULE:CLASS, a game of yours
    floors = [0.5, 0.6]                                      # `floor = 0.6` for one; a list in the list for m constraints
    parameters = { rewards = [0.9, 0.5], constraints = [[0.2, 0.8]] }

    [[learners]]
    name = "lewa"
    label = "LEWA, as printed"                               # its name in tables and figures; games have one too
    settings = { tuning = "paper" }                          # a number may grow with the rounds: eta = "0.5 T^(-2/3)"

An error is one sentence, with the nearest known word.
"""

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, StrictStr, ValidationError, model_validator
from pydantic_core import ErrorDetails

from lewa import games, learners, plugins
from lewa.games import Game
from lewa.lab.measures import MEASURES, TOGETHER
from lewa.learners import Learner
from lewa.simulate.arguments import as_seeds
from lewa.validation import as_floor, nearest

Settings: TypeAlias = dict[str, object]  # parameters of a game or settings of a learner, as a file has them


def slow(game: str, learner: str = "lewa") -> bool:
    """Return whether rounds are played one by one: because of the game, of a twist, or of a learner that is not compiled."""
    return not (games.is_compiled(game) and learners.find(learner).compiled)


def own_modules(game_names: Iterable[str], learner_names: Iterable[str]) -> list[str]:
    """Return the modules outside this package that define games and learners of these names, in alphabetical order."""
    named = [*((name, plugins.GAMES) for name in game_names), *((name, plugins.LEARNERS) for name in learner_names)]
    modules = {plugins.module_of(name.partition("+")[0].partition("@")[0], group) for name, group in named}
    return sorted(module for module in modules if module is not None)


def title(name: str, settings: Settings) -> str:
    """Return a name with its settings, such as 'lewa tuning=paper'."""
    return " ".join([name, *(f"{key}={short(value)}" for key, value in settings.items())])


def short(value: object) -> str:
    """Return the shortest text of a value; lists have commas, lists of lists semicolons."""
    if isinstance(value, list | tuple):
        deep = any(isinstance(item, list | tuple) for item in value)
        return (";" if deep else ",").join(short(item) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:g}"
        return text if float(text) == value else repr(value)
    return str(value)


LARGEST = 2**63 - 1


# The file ----------------------------------------------------------------------------------------------------------------


def whole(value: object) -> int:
    """Return an integer of at least 1; 1e5, a float in TOML, is accepted too."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(f"must be integers of at least 1, got {value!r}")
    if number > LARGEST:
        raise ValueError(f"must be integers of at most {LARGEST}, got one of {len(str(number))} digits")
    return number


def horizons(value: object) -> tuple[int, ...]:
    """Return the horizons, from a number, a list, or `from`, `to` and `per_decade`, the number per factor of ten."""
    if isinstance(value, dict):
        keys = ["from", "to", "per_decade"]
        for key in value:
            if key not in keys:
                raise ValueError(f"has no key {key!r}{nearest(key, keys)}")
        for key in keys[:2]:
            if key not in value:
                raise ValueError(f"lacks the key {key!r}: it must be a list, or a table of from, to and per_decade")
        first, last, density = (whole(value.get(key, 1)) for key in keys)
        if last < first:
            raise ValueError(f"must have from at most to, got from = {first} and to = {last}")
        count = 1 + round(density * np.log10(last / first))
        spaced = np.geomspace(first, last, max(count, 2 if last > first else 1))
        return tuple(np.unique(np.rint(spaced).astype(np.int64)).tolist())
    listed = tuple(whole(item) for item in (value if isinstance(value, list | tuple) else [value]))
    if not listed or len(set(listed)) < len(listed):
        raise ValueError(f"must be at least one and distinct, got {value!r}")
    return listed


def seed_list(value: object) -> tuple[int, ...]:
    """Return the seeds, from their number or from a list."""
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, bool) or not isinstance(item, int) for item in items):
        raise ValueError(f"must be the number of seeds, or a list of non-negative integers, got {value!r}")
    try:
        return as_seeds(value)  # type: ignore[arg-type]  # as was just seen
    except ValueError as error:
        raise ValueError(str(error).removeprefix("seeds ")) from None


def single_floor(value: object) -> tuple[float, ...]:
    """Return a floor, one number per constraint."""
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, bool) or not isinstance(item, int | float) for item in items):
        raise ValueError(f"must be one number per constraint, got {value!r}")
    return tuple(as_floor(list(items)).tolist())


def floor_list(value: object) -> tuple[tuple[float, ...], ...]:
    """Return a list of floors."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of floors, at least one, got {value!r}")
    floors = tuple(single_floor(item) for item in value)
    if len(set(floors)) < len(floors):
        raise ValueError(f"must be distinct, got {value!r}")
    return floors


Horizons: TypeAlias = Annotated[tuple[int, ...], BeforeValidator(horizons)]
Seeds: TypeAlias = Annotated[tuple[int, ...], BeforeValidator(seed_list)]
Floor: TypeAlias = Annotated[tuple[float, ...], BeforeValidator(single_floor)]
Floors: TypeAlias = Annotated[tuple[tuple[float, ...], ...], BeforeValidator(floor_list)]


class Part(BaseModel):
    """A table of the file, with no keys but its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GameOf(Part):
    """A `[[games]]` table."""

    name: StrictStr  # the name of a game, or MODULE:CLASS
    floor: Floor | None = None  # the floor of each constraint
    floors: Floors | None = None  # several floors, in place of `floor`
    parameters: Settings = {}  # the parameters of the game
    label: StrictStr | None = None  # its name in tables and figures

    @model_validator(mode="after")
    def _check(self) -> "GameOf":
        if (self.floor is None) == (self.floors is None):
            raise ValueError("needs either the key 'floor' or, for several floors, the key 'floors'")
        allowed = games.settings_of(self.name)
        for key in self.parameters:
            if allowed is not None and key not in allowed:
                raise ValueError(f"the game {self.name} has no parameter {key!r}{_nearest(key, allowed)}")
        return self

    @property
    def every_floor(self) -> tuple[tuple[float, ...], ...]:
        """The floors at which the game is played."""
        return self.floors if self.floors is not None else (self.floor or (),)


class LearnerOf(Part):
    """A `[[learners]]` table."""

    name: StrictStr
    settings: Settings = {}
    label: StrictStr | None = None

    @model_validator(mode="after")
    def _check(self) -> "LearnerOf":
        allowed = learners.settings_of(self.name)
        for key in self.settings:
            if key not in allowed:
                raise ValueError(f"the learner {self.name} has no setting {key!r}{_nearest(key, allowed)}")
        return self

    @property
    def changed(self) -> Settings:
        """The settings that differ from their defaults; 0 features differ in a game with contexts."""
        tuning = signature(learners.find(self.name).tuned).parameters
        usual = {name: item.default for name, item in tuning.items() if name not in ("features", "policies")}
        return {key: value for key, value in sorted(self.settings.items()) if key not in usual or usual[key] != value}


class Study(Part):
    """An experiment: games, learners, horizons, seeds and measures."""

    name: Annotated[StrictStr, Field(min_length=1)]  # the title of the study
    games: Annotated[tuple[GameOf, ...], Field(min_length=1)]  # its games
    learners: Annotated[tuple[LearnerOf, ...], Field(min_length=1)]  # its learners
    rounds: Horizons  # the horizons
    seeds: Seeds  # the seeds
    measures: tuple[StrictStr, ...] = tuple(MEASURES)  # the names of the measures
    _text: str = PrivateAttr("")

    @model_validator(mode="after")
    def _check(self) -> "Study":
        for measure in self.measures:
            if measure not in MEASURES:
                raise ValueError(f"measures has no {measure!r}{nearest(measure, list(MEASURES))}")
        for tables in (self.games, self.learners):
            labels = [table.label for table in tables if table.label is not None]
            if len(set(labels)) < len(labels):
                raise ValueError(f"labels must be distinct, got {', '.join(labels)}")
        if len(TOGETHER & set(self.measures)) == 1:
            raise ValueError("measures must include regret and violation together")
        return self

    @property
    def text(self) -> str:
        """The text of the file, or the text that a file of this study would have."""
        return self._text or "\n".join(_toml(self)) + "\n"


def read(path: str | Path) -> Study:
    """Read a study from a file; raise ValueError if it is not valid."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a study: it must be text in UTF-8") from None


def parse(text: str, file: str = "study") -> Study:
    """Read a study from its text; `file` is its name in errors."""
    try:
        study = Study.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply for a study") from None
    except ValidationError as error:
        raise ValueError(f"{file}: {_sentence(error)}") from None
    study._text = text
    try:
        expand(study)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply for a study") from None
    return study


# What is wrong -----------------------------------------------------------------------------------------------------------

TABLES: dict[str, tuple[str, type[Part]]] = {"games": ("game", GameOf), "learners": ("learner", LearnerOf)}


def _sentence(error: ValidationError) -> str:
    """Say the first thing that is wrong; an unknown key goes before a missing one, for it may be that one."""
    first = min(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    where, place, part = [str(step) for step in first["loc"]], "", Study
    if len(first["loc"]) > 1 and where[0] in TABLES:
        title, part_of = TABLES[where[0]]
        place, part, where = f"{title} {int(where[1]) + 1}: ", part_of, where[2:]  # type: ignore[assignment]
    return place + _about(first, where, part)


def _about(error: ErrorDetails, where: list[str], part: type[Part]) -> str:
    key = where[0] if where else ""
    if error["type"] == "extra_forbidden":
        return f"there is no key {key!r}{nearest(key, list(part.model_fields))}"
    if error["type"] == "missing":
        return f"the key {key!r} is missing"
    if error["type"] == "value_error":
        reason = str(error["ctx"]["error"])
        return f"{key} {reason}" if key and not reason.startswith(key) else reason
    must = error["msg"].replace("Input should", "must").replace("Tuple should", "must").replace("dictionary", "table")
    got = "" if error["type"] == "too_short" else f", got {error['input']!r}"
    return f"{key} {must[0].lower()}{must[1:].replace('tuple', 'list')}{got}".strip()


def _nearest(word: str, words: list[str]) -> str:
    return nearest(word, words) if words else ": it has none"


# The runs ----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One learner in one game at one horizon, floor and seed, with everything that a worker needs to execute it."""

    id: str  # a readable name, distinct within the study
    game: str  # the name of the game
    parameters: Settings  # the parameters of the game
    rounds: int  # the horizon
    floor: tuple[float, ...]  # the floor of each constraint
    learner: str  # the name of the learner
    settings: Settings  # the settings of the learner
    seed: int  # the seed
    measures: tuple[str, ...]  # the names of the measures

    def build(self) -> tuple[Learner, Game]:
        """Return the learner and the game."""
        game: Game = games.make(self.game, self.floor, self.rounds, **at(self.parameters, self.rounds))
        if game.constraints != len(self.floor):
            raise ValueError(
                f"the game {self.game} must have one floor per constraint, {game.constraints}, got {len(self.floor)}"
            )
        in_context = learners.settings_in_context(self.learner, game.features, game.policies)
        settings = {**in_context, **at(self.settings, self.rounds)}
        return learners.make(self.learner, game.actions, self.rounds, self.floor, **settings), game


POWER = re.compile(r"(?:(?P<factor>\d*\.?\d+) )?T\^\((?P<over>-?\d+)(?:/(?P<under>[1-9]\d*))?\)")


def at(values: Settings, rounds: int) -> Settings:
    """Return the values; powers of the horizon, such as "0.5 T^(-2/3)", become numbers."""
    return {key: _at(value, rounds) for key, value in values.items()}


def _at(value: object, rounds: int) -> object:
    power = POWER.fullmatch(value) if isinstance(value, str) else None
    if power is None:
        return value
    return float(power["factor"] or 1) * float(rounds ** (int(power["over"]) / int(power["under"] or 1)))


def expand(study: Study) -> list[Run]:
    """Return every run of the study in a fixed order; build each learner and game once, to find errors early."""
    runs: list[Run] = []
    seen: set[str] = set()
    for first, *others in _groups(study):
        if first.id in seen:
            raise ValueError(f"the runs of a study must be distinct, got {first.id} twice")
        try:
            first.build()
        except (ValueError, TypeError) as error:
            raise ValueError(f"{first.id.rpartition('/')[0]}: {error}") from None
        seen.add(first.id)
        runs += [first, *others]
    return runs


def _groups(study: Study) -> Iterator[list[Run]]:
    """Yield the runs that differ by their seed alone, together."""
    several = len({floor for game in study.games for floor in game.every_floor}) > 1
    changed = [(learner, learner.changed) for learner in study.learners]
    for game in study.games:
        for rounds, floor, (learner, settings) in product(study.rounds, game.every_floor, changed):
            at = [f"floor={short(floor)}"] if several else []
            words = [title(game.name, game.parameters), f"T={rounds}", *at, title(learner.name, settings)]
            yield [
                Run(
                    "/".join([*words, f"seed{seed}"]),
                    game.name,
                    game.parameters,
                    rounds,
                    floor,
                    learner.name,
                    settings,
                    seed,
                    study.measures,
                )
                for seed in study.seeds
            ]


# Written down ------------------------------------------------------------------------------------------------------------


def _toml(study: Study) -> Iterator[str]:
    """Yield the lines of a file that this study could have been read from."""
    tables = study.model_dump(exclude_defaults=True)
    for key, value in tables.items():
        if key not in TABLES:
            yield f"{key} = {_value(value)}"
    for key in TABLES:
        for table in tables[key]:
            yield f"\n[[{key}]]"
            yield from (f"{name} = {_value(value)}" for name, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
