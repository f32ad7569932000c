"""One HTML page that needs nothing else: tables that sort, figures that follow light and dark, no network."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree

from lewa.report.charts import COLOURS, FAINT, INK, MUTED, Drawn

# What the page calls the colours of figures, so that they can be others in the dark.
NAMED = {INK: "--ink", MUTED: "--muted", FAINT: "--faint"} | {colour: f"--line-{n}" for n, colour in enumerate(COLOURS)}


POWER = re.compile(r"\^(?:\((-?\d+(?:/\d+)?)\)|(-?\d+(?:/\d+)?))")
LONG = 46  # characters: a cell's text that is as long may be broken into lines everywhere


class Cell(NamedTuple):
    """What a table shows in one place."""

    text: str
    value: float | None = None  # what it is sorted by, if it is a number
    note: str = ""  # said below it, smaller
    link: str = ""  # a section's name
    mark: str = ""  # "yes" or "no"


class Table(NamedTuple):
    """Rows under headings that sort them; `numeric` says which columns are numbers."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


class Picture(NamedTuple):
    """A figure: its panels side by side where there is room, and its files."""

    name: str
    titles: tuple[str, ...]  # of the panels, for those who cannot see them
    caption: str


class Text(NamedTuple):
    """A paragraph; or, word for word, a file."""

    text: str
    verbatim: bool = False


class Heading(NamedTuple):
    """A heading within a section."""

    text: str


class Folded(NamedTuple):
    """What is shown when its summary is clicked."""

    summary: str
    parts: "tuple[Part, ...]"


Part: TypeAlias = Table | Picture | Text | Heading | Folded


class Section(NamedTuple):
    """A part of the page with a name of its own in the contents."""

    slug: str
    title: str
    parts: tuple[Part, ...]


def page(
    title: str, lead: Sequence[str], first: Sequence[Part], sections: Sequence[Section], drawn: Mapping[str, Drawn]
) -> str:
    """The page: its title, sentences, what comes first, and the sections, with a list of contents where there are several.

    `drawn` has the figures by name.
    """
    here = Path(__file__)
    colours = "; ".join(f"{name}: {colour}" for colour, name in NAMED.items())
    style = f":root {{ {colours}; }}\n" + here.with_name("page.css").read_text(encoding="utf-8")
    script = here.with_name("page.js").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{section.slug}">{said(section.title)}</a></li>' for section in sections)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',  # or the browser looks for one
        f"<title>{escape(title)}</title>",
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{said(title)}</h1>",
        *(f"<p>{said(sentence)}</p>" for sentence in lead),
        "</header>",
        f'<nav aria-label="Contents"><details><summary>Contents</summary><ol>{contents}</ol></details></nav>'
        if len(sections) > 1
        else "",
        "<main>",
        *_parts(first, drawn),
        *(line for section in sections for line in _section(section, drawn)),
        "</main>",
        f"<script>\n{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def said(text: str) -> str:
    """Text as HTML, with powers and roots as they are written: T^(-1/3), sqrt(T)."""
    return POWER.sub(r"<sup>\1\2</sup>", escape(text).replace("sqrt(", "\N{SQUARE ROOT}("))


def number(value: float | None) -> str:
    """Four digits that fit a column; a dash where there is none."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


# Its parts ---------------------------------------------------------------------------------------------------------------


def _section(section: Section, drawn: Mapping[str, Drawn]) -> Iterator[str]:
    yield f'<section id="{section.slug}">'
    yield f"<h2>{said(section.title)}</h2>"
    yield from _parts(section.parts, drawn)
    yield "</section>"


def _parts(parts: Sequence[Part], drawn: Mapping[str, Drawn]) -> Iterator[str]:
    for part in parts:
        match part:
            case Table():
                yield from _table(part)
            case Picture():
                yield from _picture(part, drawn[part.name])
            case Text(text, verbatim):
                yield f"<pre>{escape(text)}</pre>" if verbatim else f"<p>{said(text)}</p>"
            case Heading(text):
                yield f"<h3>{said(text)}</h3>"
            case Folded(summary, inner):
                yield f"<details><summary>{said(summary)}</summary>"
                yield from _parts(inner, drawn)
                yield "</details>"


def _table(table: Table) -> Iterator[str]:
    # A region that scrolls has to be reached by the keyboard, and named.
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(", ".join(table.columns))}">'
    yield "<table><thead><tr>"
    for name, numeric in zip(table.columns, table.numeric, strict=True):
        kind = ' class="number"' if numeric else ""
        yield f'<th scope="col"{kind}><button type="button">{escape(name)}</button></th>'
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>" + "".join(map(_cell, row, table.numeric)) + "</tr>"
    yield "</tbody></table></div>"
    if table.caption:
        yield f'<p class="caption">{said(table.caption)}</p>'


def _cell(cell: Cell, numeric: bool) -> str:
    text = said(cell.text)
    if cell.link:
        text = f'<a href="#{cell.link}">{text}</a>'
    if cell.note:
        text += f"<small>{said(cell.note)}</small>"
    classes = " ".join(filter(None, ["number" if numeric else "name" if len(cell.text) < LONG else "", cell.mark]))
    kind = f' class="{classes}"' if classes else ""
    value = f' data-value="{cell.value!r}"' if cell.value is not None else ""
    return f"<td{kind}{value}>{text}</td>"


def _picture(picture: Picture, drawn: Drawn) -> Iterator[str]:
    yield "<figure>"
    yield f'<div class="panels">{"".join(inline(drawn, picture.titles))}</div>'
    files = " ".join(f'<a href="figures/{picture.name}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png", "pdf"))
    yield f'<figcaption>{said(picture.caption)} <span class="files">{files}</span></figcaption>'
    yield "</figure>"


# Figures -----------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
ROUND = re.compile(r"-?\d+\.\d\d+")


def inline(drawn: Drawn, titles: Sequence[str]) -> list[str]:
    """The panels of a figure as pieces of HTML, each an image of its own; colours become the page's."""
    root = ElementTree.fromstring(drawn.svg)
    groups = {group.get("id"): group for group in root.iter(f"{SVG}g")}
    shared = "".join(_plain(child) for child in root if child.tag == f"{SVG}defs" and child.find(f"{SVG}style") is None)
    pieces = []
    for n, (box, title) in enumerate(zip(drawn.boxes, titles, strict=True), start=1):
        shape = " ".join(f"{side:g}" for side in box)
        drawing = _plain(groups[f"axes_{n}"]) + (shared if n == 1 else "")
        pieces.append(f'<svg viewBox="{shape}" role="img" aria-label="{escape(title)}">{drawing}</svg>')
    return pieces


def _plain(element: Any) -> str:
    """The element without what only an SVG file needs: namespaces, names that nothing refers to, digits nobody sees."""
    tag = element.tag.removeprefix(SVG)
    inner = escape(element.text or "").strip() + "".join(_plain(child) for child in element)
    attributes = {}
    for name, value in element.attrib.items():
        if name == "id" and tag == "g":
            continue
        if name == "transform" and value.startswith("rotate(-0 "):
            continue
        attributes["href" if name == LINK else name] = _style(value) if name == "style" else ROUND.sub(_rounded, value)
    if tag == "path" and "d" in attributes:
        attributes["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", attributes["d"])
    if tag == "g" and not attributes:
        return inner
    if tag == "path" and attributes.get("style") == "fill:none":
        return ""
    said = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{said}>{inner}</{tag}>" if inner else f"<{tag}{said}/>"


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _style(style: str) -> str:
    rules = [rule.strip().replace(": ", ":") for rule in style.split(";")]
    kept = ";".join(rule for rule in rules if rule and not rule.startswith("font-family"))
    return re.sub("#[0-9a-f]{6}", lambda found: f"var({NAMED[found[0]]})" if found[0] in NAMED else found[0], kept)
