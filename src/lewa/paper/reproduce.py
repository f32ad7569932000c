"""Measure every claim of the paper, our claims about it, and those about further learners, against their bounds.

The studies are the files in `studies/`; claims.py has the claims, and rules.py the rules by which runs decide.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lewa.formatting import markdown_table, number
from lewa.lab.run import run_studies
from lewa.lab.schedule import Progress
from lewa.lab.storage import read_measures, versions, write
from lewa.lab.study import Study, parse, slow
from lewa.paper.claims import BEYOND, CLAIMS, STUDIES
from lewa.paper.league import league, standings
from lewa.paper.league import markdown as league_markdown
from lewa.paper.rules import READ, VerdictLine, series, verdict
from lewa.schema import json_text, plain

TITLE = "The paper's claims, measured"
SECOND = "Beyond the paper"  # the heading of the table's second part
FULL = 10_000_000  # rounds of the longest game
FULL_REACTING = 100_000  # and where rewards react, which takes two hundred times as long
FULL_SEEDS = 32
LEAGUE = 4_000, 2  # rounds and seeds of the league


# The studies -------------------------------------------------------------------------------------------------------------


@cache
def built_in(name: str) -> Study:
    """Return the study of that name, cached: reading it builds every learner and game."""
    file = files("lewa.paper").joinpath("studies", f"{name}.toml")
    return parse(file.read_text(encoding="utf-8"), f"{name}.toml")


def at_length(study: Study) -> Study:
    """Return the study with longer games, the same ratio of horizons, and more seeds if it has several."""
    reacts = any(slow(game.name) for game in study.games)
    first, last, steps = study.rounds[0], study.rounds[-1], len(study.rounds) - 1
    rounds, most = list(study.rounds), FULL_REACTING if reacts else FULL
    while (following := round(first * (last / first) ** (len(rounds) / steps))) <= most:
        rounds.append(following)
    seeds = FULL_SEEDS if 1 < len(study.seeds) < FULL_SEEDS else study.seeds
    return Study.model_validate({**study.model_dump(), "rounds": rounds, "seeds": seeds})


def within(study: Study, longest: int) -> Study:
    """Return the study up to this horizon with at most two seeds, for quick trials."""
    rounds = [rounds for rounds in study.rounds if rounds <= longest] or [longest]
    return Study.model_validate({**study.model_dump(), "rounds": rounds, "seeds": study.seeds[:2]})


def folder(full: bool) -> Path:
    """Return the default folder for results, one for each version, so that edited sources never mix with older numbers."""
    texts = [json.dumps(versions()), *(built_in(name).text for name in STUDIES)]
    stamp = hashlib.sha256("".join(texts).encode()).hexdigest()[:8]
    return Path("results") / f"reproduce-{stamp}{'-full' if full else ''}"


class StudyTitle(NamedTuple):
    """A study of the reproduction: the name of its folder, and its title."""

    name: str
    title: str


class Reproduction(NamedTuple):
    """The content of verdicts.json, which `lewa reproduce --json` prints, with the path of the page."""

    title: str
    lines: list[VerdictLine]
    studies: list[StudyTitle]


# The job -----------------------------------------------------------------------------------------------------------------


def reproduce(
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    full: bool = False,
    longest: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[VerdictLine]:
    """Run the unfinished runs of all studies, judge every claim, and write `verdicts.json` and `verdicts.md`.

    The league of all learners in all games is one more study; its results are in `league.json` and `league.md`.

    Parameters
    ----------
    out
        The folder for the results.
    executor, workers, cluster, progress
        As for `lewa.lab.run.run_study`.
    full
        Whether to play up to ten million rounds.
    longest
        The longest horizon, for quick trials.
    """
    out, studies = Path(out), {name: built_in(name) for name in STUDIES}
    if full:
        studies = {name: at_length(study) for name, study in studies.items()}
    if longest is not None:
        studies = {name: within(study, longest) for name, study in studies.items()}
    everybody = league(min(LEAGUE[0], longest or LEAGUE[0]), LEAGUE[1])
    everything = {**studies, "league": everybody}
    run_studies({out / name: study for name, study in everything.items()}, executor, workers, cluster, progress)
    lines, places = list(verdicts(out, studies)), standings(read_measures(out / "league" / "measures.parquet"))
    report = Reproduction(TITLE, lines, [StudyTitle(name, study.name) for name, study in studies.items()])
    write(out / "league.md", league_markdown(places).encode())
    write(out / "league.json", json_text(plain(places), indent=1).encode() + b"\n")
    write(out / "verdicts.md", markdown(lines).encode() + b"\n")
    write(out / "verdicts.json", json_text(plain(report), indent=1).encode() + b"\n")
    return lines


def verdicts(out: Path, studies: dict[str, Study]) -> Iterator[VerdictLine]:
    """Yield the lines of all claims, from the measures of the studies in this folder."""
    by_study = {
        name: series(study, read_measures(out / name / "measures.parquet", list(READ))) for name, study in studies.items()
    }
    for claim in CLAIMS:
        yield from verdict(claim, by_study[claim.study])


# The table ---------------------------------------------------------------------------------------------------------------


CAPTION = (
    "Bound and measured are read at the longest horizon, in the game that comes nearest to the bound; measured is the mean "
    "over seeds, or the worst seed where the bound is for every run. Slopes are of log-log lines, with 95% intervals."
)


def bound(line: VerdictLine) -> str:
    """Return the bound, such as '<= 1,665', or the rate if there is no number."""
    return f"{line.sense} {line.formula if line.bound is None else number(line.bound)}"


def answer(line: VerdictLine) -> str:
    """Return "yes" or "NO": whether the claim holds."""
    return "yes" if line.holds else "NO"


def markdown(lines: list[VerdictLine]) -> str:
    """Return the table for the documents: regret and violation side by side."""
    columns = ("claim", "T", "regret", "holds", "violation", "holds")
    rows: list[tuple[str, ...]] = []
    for claim, group in groupby(lines, key=lambda line: line.claim):
        if claim == BEYOND[0].title:
            rows.append((f"**{SECOND}**", *[""] * (len(columns) - 1)))
        together = list(group)
        cells = [cell for line in together for cell in (_cell(line), answer(line))]
        rows.append((claim, f"{together[0].rounds:,}", *cells, *[""] * (len(columns) - 2 - len(cells))))
    return markdown_table(columns, rows)


def _cell(line: VerdictLine) -> str:
    """Return a cell such as '416.5 <= 1,333 = sqrt(T ln K) + sqrt(T)/2, slope 0.50'."""
    what = [] if line.quantity in ("regret", "violation") else [f"{line.quantity}:"]
    bounds = f"{bound(line)} = {line.formula}" if line.bound else f"{line.sense} {line.formula}"
    slope = "" if line.slope is None else f", slope {line.slope:.2f}"
    return " ".join([*what, number(line.measured), bounds]) + slope
