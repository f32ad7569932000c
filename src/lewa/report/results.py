"""Read the folder of a study or of `lewa reproduce`, and group its results for figures."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa.figures import COLOURS
from lewa.lab.measures import Row, cells
from lewa.lab.storage import first_line, read_json, read_measures
from lewa.lab.study import LearnerOf, short, title
from lewa.measures.verdict import bounds_hold
from lewa.theory.guarantees import PATHWISE
from lewa.types import Array

World: TypeAlias = tuple[str, tuple[float, ...]]  # a game and a floor


class Result(NamedTuple):
    """The results of a learner in a game at one floor and horizon, with a row for each seed."""

    game: str
    floor: tuple[float, ...]
    learner: str  # the name, with the settings that differ from the defaults
    rounds: int
    rows: list[Row]

    @property
    def world(self) -> World:
        """The game and the floor."""
        return self.game, self.floor

    @property
    def kind(self) -> str | None:
        """How the guarantee holds; None unless every seed has a guarantee."""
        kinds = [row["guarantee_kind"] for row in self.rows]
        return None if None in kinds else str(kinds[0])

    def each(self, measure: str) -> Array | None:
        """Return the measure of every seed, or None if it was not measured."""
        values = [row[measure] for row in self.rows]
        return None if any(value is None for value in values) else np.array(values, dtype=np.float64)

    def mean(self, measure: str, constraint: int = 0) -> float | None:
        """Return the mean over seeds of a measure, or of its value for one constraint; None if it was not measured."""
        values = self.each(measure)
        if values is None:
            return None
        return float(values.mean() if values.ndim == 1 else values[:, constraint].mean())

    def bounds(self, measure: str) -> list[float] | None:
        """Return the bound, one number or one per constraint, if there is one for every seed.

        A seed whose floor no play meets has no guarantee.
        """
        values = [row[f"guarantee_{measure}"] for row in self.rows]
        return None if any(value is None for value in values) else np.atleast_1d(values[0]).tolist()

    def holds(self) -> bool | None:
        """Return whether the guarantee held; None if runs cannot decide."""
        regret, shortfall, positive = map(self.each, ("regret", "shortfall", "positive_violation"))
        bounds = self.bounds("regret")
        if bounds is None or regret is None or shortfall is None or positive is None:
            return None
        if self.kind == PATHWISE:  # each run was judged by itself, against the plays that its bound is about
            verdicts = [row["guarantee_holds"] for row in self.rows]
            return None if None in verdicts else all(verdicts)
        every = [*bounds, *(self.bounds("violation") or ()), *(self.bounds("positive_violation") or ())]
        return bounds_hold(self.kind, every, regret, shortfall, positive, self.rounds)


# Folders -----------------------------------------------------------------------------------------------------------------


class StudyFolder(NamedTuple):
    """The content of a study's folder."""

    name: str
    text: str  # the text of study.toml
    versions: dict[str, str]
    results: list[Result]  # in the study's order


def read_study(folder: Path) -> StudyFolder:
    """Read the finished study in this folder; raise ValueError if it is missing, unfinished or damaged."""
    file = folder / "measures.parquet"
    try:
        text = (folder / "study.toml").read_text(encoding="utf-8")
        name = tomllib.loads(text).get("name", folder.name)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{folder} is damaged: {first_line(error)}") from None
    versions = read_json(folder / "versions.json", dict[str, str])
    if not file.is_file():
        again = f"lewa run {folder / 'study.toml'} --out {folder}"
        raise ValueError(f"the study in {folder} is not finished; to resume it: {again}")
    return StudyFolder(str(name), text, versions, _labelled(_results(file), text))


def _labelled(results: list[Result], text: str) -> list[Result]:
    """Return the results with the labels that the study gives to learners and games in place of their names."""
    tables = tomllib.loads(text)
    games = {
        title(table["name"], table.get("parameters", {})): table["label"]
        for table in tables.get("games", [])
        if table.get("label")
    }
    names = {}
    for table in tables.get("learners", []):
        if table.get("label"):
            changed = LearnerOf(name=table["name"], settings=table.get("settings", {})).changed
            names[title(table["name"], changed)] = table["label"]
    return [
        result._replace(game=games.get(result.game, result.game), learner=names.get(result.learner, result.learner))
        for result in results
    ]


def _results(file: Path) -> list[Result]:
    rows = read_measures(file)
    try:
        return [Result(*cell, each) for cell, each in cells(rows).items()]
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None


# Groups ------------------------------------------------------------------------------------------------------------------


class Strand(NamedTuple):
    """A line of the figures, from the shortest horizon to the longest."""

    name: str
    colour: str
    results: list[Result]


class Group(NamedTuple):
    """Lines of one figure: the learners of one game and floor, or, if there is one learner, all of its games."""

    title: str
    strands: list[Strand]
    learners: bool  # whether the lines are learners, which then played the same rounds


def group(results: Sequence[Result]) -> list[Group]:
    """Return the results, grouped by figure."""
    learners = list(dict.fromkeys(result.learner for result in results))
    worlds = list(dict.fromkeys(result.world for result in results))
    if len(learners) == 1:
        games = [game for game, _ in worlds]
        names = [game if games.count(game) == 1 else f"{game} floor={short(floor)}" for game, floor in worlds]
        every = [[result for result in results if result.world == world] for world in worlds]
        return [Group(learners[0], _strands(names, every), False)]
    groups = []
    for world in worlds:
        here = [[result for result in results if result.world == world and result.learner == name] for name in learners]
        groups.append(Group(f"{world[0]}, floor {short(world[1])}", _strands(learners, here), True))
    return groups


def _strands(names: Sequence[str], results: Sequence[list[Result]]) -> list[Strand]:
    return [
        Strand(name, COLOURS[n % len(COLOURS)], sorted(each, key=lambda result: result.rounds))
        for n, (name, each) in enumerate(zip(names, results, strict=True))
    ]
