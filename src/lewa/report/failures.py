"""The first part of the page of `lewa reproduce`: the claims that fail, each with a sentence and a picture."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from lewa.figures import COLOURS, Panel
from lewa.paper.rules import fraction
from lewa.paper.verdicts import VerdictLine
from lewa.report import captions
from lewa.report.page import Heading, Part, Picture, Text, slug
from lewa.report.panels import Growths, Point
from lewa.report.results import Result, StudyFolder
from lewa.report.study_figures import Plans
from lewa.report.study_tables import fit

DRAWN = {"regret": "regret", "violation": "violation", "positive violation": "positive_violation"}  # quantity and column
LEAST = 3  # horizons that a picture needs


def failures(lines: Sequence[VerdictLine], studies: Mapping[str, StudyFolder], plans: Plans) -> list[Part]:
    """Return a heading, a sentence and a picture for each claim that fails; the pictures are put into `plans`."""
    parts: list[Part] = []
    for claim, group in groupby((line for line in lines if not line.holds), key=lambda line: line.claim):
        failed = list(group)
        panels = [panel for line in failed if (panel := _panel(line, studies[line.study].results)) is not None]
        parts += [Heading(f"Fails: {claim.removesuffix(': claimed')}"), Text(captions.failure(failed))]
        if panels:
            name = slug(f"fails {claim}")
            plans[name] = panels
            parts.append(Picture(name, tuple(f"{panel.title} of {claim}" for panel in panels), captions.FAILURE))
    return parts


def _panel(line: VerdictLine, results: Sequence[Result]) -> Panel | None:
    """Return what was measured at every horizon, with the claimed rate through the first point; None if it is too little."""
    column = DRAWN.get(line.quantity)
    about = [result for result in results if (result.game, result.learner) == (line.game, line.learner)]
    about.sort(key=lambda result: result.rounds)
    if column is None or len(about) < LEAST:
        return None
    means = [result.mean(column) for result in about]
    values = tuple(mean for mean in means if mean is not None)
    if len(values) < len(about):
        return None
    rounds = tuple(result.rounds for result in about)
    claimed: tuple[tuple[int, float], ...] = ()
    beside = ""
    if line.exponent is not None and values[0] > 0:
        claimed = tuple((T, values[0] * (T / rounds[0]) ** line.exponent) for T in rounds)
        beside = f"(claimed {fraction(line.exponent)})"
    point = Point("measured", COLOURS[1], rounds, values, fit(about, column), beside, claimed)
    return Growths(f"{line.quantity.capitalize()} in {line.game.split()[0]}", (point,), f"{line.quantity} at T")
