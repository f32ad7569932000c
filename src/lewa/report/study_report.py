"""Write the results of a study, or of the reproduction of the paper: an HTML page, and figures and tables as files."""

import os
from pathlib import Path
from typing import NamedTuple

from lewa.figures import Drawing, draw
from lewa.lab.places import processes
from lewa.lab.storage import read_json, write
from lewa.paper.league import Standing
from lewa.paper.reproduce import Reproduction
from lewa.report import captions
from lewa.report.page import Folded, Heading, Part, Section, Text, page, slug
from lewa.report.results import Result, StudyFolder, group, read_study
from lewa.report.study_figures import Plans, exponents, failures, pictures
from lewa.report.study_tables import claims_table, league_section, results_table
from lewa.report.table_files import write_tables
from lewa.version import importing

MANY = 24  # figures that are drawn by several processes


def write_report(folder: str | Path) -> Path:
    """Write `index.html`, `figures/` and `tables/` into the folder of a study or of `lewa reproduce`; return the page.

    A script that calls this function needs the usual `if __name__ == "__main__":`, because processes draw the figures.
    """
    with importing("a report", "lab"):
        import pyarrow  # noqa: F401 (so that a sentence says what is missing)
        from matplotlib import font_manager  # noqa: F401 (on a new machine it lists the fonts: once, not in each process)
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    if (folder / "verdicts.json").is_file():
        contents = _reproduction(folder)
    elif (folder / "study.toml").is_file():
        contents = _study(folder)
    else:
        raise ValueError(f"{folder} has no study: it has neither study.toml nor verdicts.json")
    drawings = _draw_all(contents.plans)
    (folder / "figures").mkdir(exist_ok=True)
    for name, drawing in drawings.items():
        for kind, content in (("svg", drawing.svg.encode()), ("png", drawing.png), ("pdf", drawing.pdf)):
            (folder / "figures" / f"{name}.{kind}").write_bytes(content)
    for name, results in contents.results.items():
        write_tables(folder / name, results)
    html = page(contents.title, contents.lead, contents.first, contents.sections, drawings)
    write(folder / "index.html", html.encode())
    return folder / "index.html"


def _draw_all(plans: Plans) -> dict[str, Drawing]:
    if len(plans) < MANY:
        return {name: draw(panels, name) for name, panels in plans.items()}
    with processes(os.cpu_count() or 1) as place:
        return dict(zip(plans, place.executor.map(draw, plans.values(), plans, chunksize=2), strict=True))


class Contents(NamedTuple):
    """A page, before its figures are drawn."""

    title: str
    lead: list[str]  # the sentences below the title
    first: list[Part]
    sections: list[Section]
    plans: Plans
    results: dict[str, list[Result]]  # the results of each study, by the folder of its tables


def _study(folder: Path) -> Contents:
    study = read_study(folder)
    groups = group(study.results)
    plans: Plans = {}
    sections: list[Section] = []
    links: dict[int, str] = {}
    for together in groups:
        name = slug(together.title)
        sections.append(Section(name, together.title, tuple(pictures(together, together.title, {}, plans))))
        links |= {id(result): name for strand in together.strands for result in strand.results}
    longest = [strand.results[-1] for together in groups for strand in together.strands]
    first: list[Part] = [results_table(longest, study.results, links)]
    if len(longest) < len(study.results):
        first.append(Folded("Every horizon", (results_table(study.results, [], links),)))
    first.append(_provenance(study))
    return Contents(
        study.name,
        [captions.judgement(study.results), captions.facts(study)],
        first,
        sections,
        plans,
        {"tables": study.results},
    )


def _reproduction(folder: Path) -> Contents:
    report: Reproduction = read_json(folder / "verdicts.json", Reproduction)
    lines = report.lines
    plans: Plans = {}
    sections = []
    studies = {entry.name: read_study(folder / entry.name) for entry in report.studies}
    first = [*failures(lines, studies, plans), *([Heading("All claims")] if lines else []), claims_table(lines)]
    for entry in report.studies:
        study = studies[entry.name]
        claims = [line for line in lines if line.study == entry.name]
        parts: list[Part] = [Text(captions.facts(study))]
        if claims:
            parts.append(claims_table(claims, reasons=True))
        groups = group(study.results)
        for n, together in enumerate(groups):
            drawn = tuple(pictures(together, f"{entry.name} {together.title}", exponents(claims), plans))
            if n:  # the first game is shown, the others are at hand
                parts.append(Folded(together.title, drawn))
            else:
                parts += [Heading(together.title), *drawn] if len(groups) > 1 else drawn
        parts.append(Folded("All numbers", (results_table(study.results, study.results, {}),)))
        parts.append(_provenance(study))
        sections.append(Section(slug(entry.name), entry.title, tuple(parts)))
    if (folder / "league.json").is_file():
        sections.append(league_section(read_json(folder / "league.json", list[Standing])))
    lead = [captions.count(lines, len(report.studies))]
    tables = {f"{name}/tables": study.results for name, study in studies.items()}
    return Contents(report.title, lead, first, sections, plans, tables)


def _provenance(study: StudyFolder) -> Folded:
    versions = "\n".join(f"{name} {version}" for name, version in study.versions.items())
    return Folded("The study and its versions", (Text(study.text, True), Text(versions, True)))
