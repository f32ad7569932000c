"""The main job: every claim of the paper, ours about it, and what learners beyond it can do, measured against its bound.

The studies are the files in `studies/`; claims.py says what is claimed of each, and rules.py how their runs decide.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from rich.table import Table

from lewa.lab.run import Progress, run_studies
from lewa.lab.storage import Row, versions, write
from lewa.lab.study import Study, parse, slow
from lewa.paper.claims import BEYOND, CLAIMS, STUDIES
from lewa.paper.league import league, standings
from lewa.paper.league import markdown as league_markdown
from lewa.paper.rules import READ, Line, fraction, series, verdict
from lewa.report.tables import number, table

TITLE = "The paper's claims, measured"
SECOND = "Beyond the paper"  # the heading of the table's second part
FULL = 10_000_000  # rounds of the longest game
FULL_REACTING = 100_000  # and where rewards react, which takes two hundred times as long
FULL_SEEDS = 32
LEAGUE = 4_000, 2  # rounds and seeds of the league


# The studies -------------------------------------------------------------------------------------------------------------


def built_in(name: str) -> Study:
    """The study of that name."""
    file = files("lewa.paper").joinpath("studies", f"{name}.toml")
    return parse(file.read_text(encoding="utf-8"), f"{name}.toml")


def at_length(study: Study) -> Study:
    """The same study with longer games, its horizons as far apart as they were, and more seeds where it has several."""
    reacts = any(slow(game.name) for game in study.games)
    first, last, steps = study.rounds[0], study.rounds[-1], len(study.rounds) - 1
    rounds, most = list(study.rounds), FULL_REACTING if reacts else FULL
    while (following := round(first * (last / first) ** (len(rounds) / steps))) <= most:
        rounds.append(following)
    seeds = FULL_SEEDS if 1 < len(study.seeds) < FULL_SEEDS else study.seeds
    return Study.model_validate({**study.model_dump(), "rounds": rounds, "seeds": seeds})


def within(study: Study, longest: int) -> Study:
    """The same study up to this horizon, with at most two seeds: to try things out."""
    rounds = [rounds for rounds in study.rounds if rounds <= longest] or [longest]
    return Study.model_validate({**study.model_dump(), "rounds": rounds, "seeds": study.seeds[:2]})


def folder(full: bool) -> Path:
    """Where results go if nothing is said: a folder for each version, so that edited sources never meet older numbers."""
    said = [json.dumps(versions()), *(built_in(name).text for name in STUDIES)]
    stamp = hashlib.sha256("".join(said).encode()).hexdigest()[:8]
    return Path("results") / f"reproduce-{stamp}{'-full' if full else ''}"


# The job -----------------------------------------------------------------------------------------------------------------


def reproduce(
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    full: bool = False,
    longest: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Line]:
    """Run what is left of all studies into folders of `out`, judge every claim, and write `verdicts.json` and `.md` there.

    The league of all learners in all games is one more study; what it came to is in `league.json` and `.md`. It runs as
    `lewa.lab.run.run_study` does. `full` takes games to ten million rounds, and `longest` cuts them short.
    """
    out, studies = Path(out), {name: built_in(name) for name in STUDIES}
    if full:
        studies = {name: at_length(study) for name, study in studies.items()}
    if longest is not None:
        studies = {name: within(study, longest) for name, study in studies.items()}
    everybody = league(min(LEAGUE[0], longest or LEAGUE[0]), LEAGUE[1])
    played = {**studies, "league": everybody}
    run_studies({out / name: study for name, study in played.items()}, executor, workers, cluster, progress)
    lines, found = list(judged(out, studies)), standings(_measures(out / "league"))
    told = {
        "title": TITLE,
        "lines": [line._asdict() for line in lines],
        "studies": [{"name": name, "title": study.name} for name, study in studies.items()],
    }
    write(out / "league.md", league_markdown(found).encode())
    write(out / "league.json", json.dumps([one._asdict() for one in found], indent=1).encode() + b"\n")
    write(out / "verdicts.md", markdown(lines).encode() + b"\n")
    write(out / "verdicts.json", json.dumps(told, indent=1).encode() + b"\n")
    return lines


def judged(out: Path, studies: dict[str, Study]) -> Iterator[Line]:
    """The lines of all claims, from the measures of the studies in this folder."""
    found = {name: series(study, _measures(out / name, list(READ))) for name, study in studies.items()}
    for claim in CLAIMS:
        yield from verdict(claim, found[claim.study])


def _measures(folder: Path, columns: list[str] | None = None) -> list[Row]:
    from pyarrow.parquet import read_table

    rows: list[Row] = read_table(folder / "measures.parquet", columns=columns).to_pylist()
    return rows


# The table ---------------------------------------------------------------------------------------------------------------


def shown(lines: list[Line]) -> Table:
    """The verdict table for people: the lines of a claim one below the other."""
    rows: list[tuple[str, ...]] = []
    for claim, group in groupby(lines, key=lambda line: line.claim):
        if claim == BEYOND[0].title:
            rows.append((f"[bold]{SECOND}[/]", *[""] * 7))
        for n, line in enumerate(group):
            slope = "-" if line.slope is None else f"{line.slope:.2f} [{line.low:.2f}, {line.high:.2f}]"
            theory = "-" if line.exponent is None else fraction(line.exponent)
            ratio = "-" if line.ratio is None else "< 0" if line.ratio < 0 else f"{line.ratio:.2f}"
            holds = yes(line) if line.holds else f"[bold red]{yes(line)}[/]"
            measured = (number(line.measured), ratio, slope, theory, holds)
            rows.append(("" if n else line.claim, line.quantity, bound(line), *measured))
    columns = ("claim", "", "bound", "measured", "ratio", "slope", "theory", "holds")
    return table(TITLE, *columns, rows=rows, caption=CAPTION)


CAPTION = (
    "Bound and measured are read at the longest horizon, in the game that comes nearest to the bound; measured is the mean "
    "over seeds, or the worst seed where the bound is for every run. Slopes are of log-log lines, with 95% intervals."
)


def bound(line: Line) -> str:
    """'<= 1,665', or the rate where there is no number."""
    return f"{line.sense} {line.formula if line.bound is None else number(line.bound)}"


def yes(line: Line) -> str:
    """A verdict that is no is what one looks for."""
    return "yes" if line.holds else "NO"


def markdown(lines: list[Line]) -> str:
    """The table for the documents: regret and violation side by side."""
    head = ("claim", "T", "regret", "holds", "violation", "holds")
    rows: list[tuple[str, ...]] = [head, tuple("---" for _ in head)]
    for claim, group in groupby(lines, key=lambda line: line.claim):
        if claim == BEYOND[0].title:
            rows.append((f"**{SECOND}**", *[""] * (len(head) - 1)))
        found = list(group)
        cells = [cell for line in found for cell in (_cell(line), yes(line))]
        rows.append((claim, f"{found[0].rounds:,}", *cells, *[""] * (len(head) - 2 - len(cells))))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(line: Line) -> str:
    """'416.5 <= 1,333 = sqrt(T ln K) + sqrt(T)/2, slope 0.50'"""
    what = [] if line.quantity in ("regret", "violation") else [f"{line.quantity}:"]
    stated = f"{bound(line)} = {line.formula}" if line.bound else f"{line.sense} {line.formula}"
    slope = "" if line.slope is None else f", slope {line.slope:.2f}"
    return " ".join([*what, number(line.measured), stated]) + slope
