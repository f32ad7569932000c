"""A self-contained HTML page: tables that sort, figures for light and dark mode, no network."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape as escape_marks
from pathlib import Path
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree

from lewa import formatting
from lewa.figures import COLOURS, FAINT, INK, MUTED, Drawing

# What the page calls the colours of figures, so that they can be others in the dark.
NAMED = {INK: "--ink", MUTED: "--muted", FAINT: "--faint"} | {colour: f"--line-{n}" for n, colour in enumerate(COLOURS)}


POWER = re.compile(r"\^(?:\((-?\d+(?:/\d+)?)\)|(-?\d+(?:/\d+)?))")
LONG = 46  # characters: a cell's text that is as long may be broken into lines everywhere


class Cell(NamedTuple):
    """A cell of a table."""

    text: str
    value: float | None = None  # the number by which the column is sorted
    note: str = ""  # a smaller line below the text
    link: str = ""  # the name of a section to link to
    mark: str = ""  # "yes" or "no", for a coloured mark


class Table(NamedTuple):
    """A table whose headings sort its rows; `numeric` marks the columns of numbers."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


class Picture(NamedTuple):
    """A figure, whose panels are side by side if there is room, and its files."""

    name: str
    titles: tuple[str, ...]  # the titles of the panels, for screen readers
    caption: str


class Text(NamedTuple):
    """A paragraph, or the text of a file."""

    text: str
    verbatim: bool = False


class Heading(NamedTuple):
    """A heading within a section."""

    text: str


class Folded(NamedTuple):
    """A part that is shown after a click on its summary."""

    summary: str
    parts: "tuple[Part, ...]"


Part: TypeAlias = Table | Picture | Text | Heading | Folded


class Section(NamedTuple):
    """A section of the page with an entry in the contents."""

    slug: str
    title: str
    parts: tuple[Part, ...]


def page(
    title: str, lead: Sequence[str], first: Sequence[Part], sections: Sequence[Section], drawings: Mapping[str, Drawing]
) -> str:
    """Return the page as HTML."""
    here = Path(__file__)
    colours = "; ".join(f"{name}: {colour}" for colour, name in NAMED.items())
    style = f":root {{ {colours}; }}\n" + here.with_name("page.css").read_text(encoding="utf-8")
    script = here.with_name("page.js").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{section.slug}">{markup(section.title)}</a></li>' for section in sections)
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
        f"<h1>{markup(title)}</h1>",
        *(f"<p>{markup(sentence)}</p>" for sentence in lead),
        "</header>",
        f'<nav aria-label="Contents"><details><summary>Contents</summary><ol>{contents}</ol></details></nav>'
        if len(sections) > 1
        else "",
        "<main>",
        *_parts(first, drawings),
        *(line for section in sections for line in _section(section, drawings)),
        "</main>",
        f"<script>\n{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def escape(text: str) -> str:
    """Return a text with HTML escaped and without control characters other than line ends."""
    return escape_marks("\n".join(map(formatting.printable_text, text.split("\n"))))


def markup(text: str) -> str:
    """Return text as HTML, with powers and roots typeset: T^(-1/3), sqrt(T)."""
    return POWER.sub(r"<sup>\1\2</sup>", escape(text).replace("sqrt(", "\N{SQUARE ROOT}("))


def number(value: float | None) -> str:
    """Return a number with four digits, or a dash for None."""
    return formatting.number(value, "\N{EN DASH}").replace("-", "\N{MINUS SIGN}")


def slug(text: str) -> str:
    """Return a name that is valid in links and files."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:90] or "figure"


# Its parts ---------------------------------------------------------------------------------------------------------------


def _section(section: Section, drawings: Mapping[str, Drawing]) -> Iterator[str]:
    yield f'<section id="{section.slug}">'
    yield f"<h2>{markup(section.title)}</h2>"
    yield from _parts(section.parts, drawings)
    yield "</section>"


def _parts(parts: Sequence[Part], drawings: Mapping[str, Drawing]) -> Iterator[str]:
    for part in parts:
        match part:
            case Table():
                yield from _table(part)
            case Picture():
                yield from _picture(part, drawings[part.name])
            case Text(text, verbatim):
                yield f"<pre>{escape(text)}</pre>" if verbatim else f"<p>{markup(text)}</p>"
            case Heading(text):
                yield f"<h3>{markup(text)}</h3>"
            case Folded(summary, inner):
                yield f"<details><summary>{markup(summary)}</summary>"
                yield from _parts(inner, drawings)
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
        yield f'<p class="caption">{markup(table.caption)}</p>'


def _cell(cell: Cell, numeric: bool) -> str:
    text = markup(cell.text)
    if cell.link:
        text = f'<a href="#{cell.link}">{text}</a>'
    if cell.note:
        text += f"<small>{markup(cell.note)}</small>"
    classes = " ".join(filter(None, ["number" if numeric else "name" if len(cell.text) < LONG else "", cell.mark]))
    kind = f' class="{classes}"' if classes else ""
    value = f' data-value="{cell.value!r}"' if cell.value is not None else ""
    return f"<td{kind}{value}>{text}</td>"


def _picture(picture: Picture, drawing: Drawing) -> Iterator[str]:
    yield "<figure>"
    yield f'<div class="panels">{"".join(inline(drawing, picture.titles))}</div>'
    files = " ".join(f'<a href="figures/{picture.name}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png", "pdf"))
    yield f'<figcaption>{markup(picture.caption)} <span class="files">{files}</span></figcaption>'
    yield "</figure>"


# Figures -----------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
ROUND = re.compile(r"-?\d+\.\d\d+")


def inline(drawing: Drawing, titles: Sequence[str]) -> list[str]:
    """Return each panel of a figure as an image in HTML, with the colours of the page."""
    root = ElementTree.fromstring(drawing.svg)
    groups = {group.get("id"): group for group in root.iter(f"{SVG}g")}
    shared = "".join(_plain(child) for child in root if child.tag == f"{SVG}defs" and child.find(f"{SVG}style") is None)
    pieces = []
    for n, (box, title) in enumerate(zip(drawing.boxes, titles, strict=True), start=1):
        shape = " ".join(f"{side:g}" for side in box)
        content = _plain(groups[f"axes_{n}"]) + (shared if n == 1 else "")
        pieces.append(f'<svg viewBox="{shape}" role="img" aria-label="{escape(title)}">{content}</svg>')
    return pieces


def _plain(element: ElementTree.Element) -> str:
    """Return the element without what only an SVG file needs: namespaces, names that nothing refers to, many digits."""
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
    words = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{words}>{inner}</{tag}>" if inner else f"<{tag}{words}/>"


def _rounded(digits: re.Match[str]) -> str:
    return f"{float(digits[0]):.1f}".removesuffix(".0")


def _style(style: str) -> str:
    rules = [rule.strip().replace(": ", ":") for rule in style.split(";")]
    style = ";".join(rule for rule in rules if rule and not rule.startswith("font-family"))
    return re.sub("#[0-9a-f]{6}", lambda colour: f"var({NAMED[colour[0]]})" if colour[0] in NAMED else colour[0], style)
