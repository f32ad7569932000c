"""What mkdocs calls: the pages that are made, the files that are shown from where they are, and links between them."""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # before the first import of lewa: pictures are drawn without compiling anything

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from lewa.report.page import NAMED
from tools.site import learner_pages, mathematics, reference
from tools.site.prose import wrap_output

ROOT = Path(__file__).parents[2]
# Files outside of docs/ that are pages here; nothing is copied.
SHOWN = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "speed.md",
    "benchmarks/growth.png": "growth.png",
}
FORMULAS = re.compile(r"(?:theory\w*|errata)\.md")  # pages whose formulas are typeset
TEST = re.compile(r"\[([^\]]*)\]\((?:\.\./)+tests/[^)]+\)")  # a link to a test, of which there is no page
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<place>#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """Learners and reference get their entries; a test leaves out of each page the entries of other sections."""
    if os.environ.get("LEWA_SITE_WHOLE") == "false":
        config.theme["features"].append("navigation.prune")
    for entry in config.nav:
        if "Learners" in entry:
            groups = [{kind: [learner_pages.slug(name) for name in names]} for kind, names in learner_pages.kinds().items()]
            entry["Learners"] = ["learners/index.md", *groups]
        if "Reference" in entry:
            entry["Reference"] = ["reference/index.md", *(f"reference/{name}.md" for name in reference.rooms())]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is made and what lies elsewhere."""
    made = {**learner_pages.pages(), **reference.pages(), "assets/figures.css": colours()}
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    for path, place in SHOWN.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links and fences are written for a reader of the repository: here links lead to pages, and output is not code."""
    source = next((Path(path) for path, place in SHOWN.items() if place == page.file.src_uri), None)
    folder = (ROOT / "docs" / page.file.src_uri if source is None else ROOT / source).parent

    def led(link: re.Match[str]) -> str:
        path = (folder / link["target"]).resolve()
        if not path.exists() or not path.is_relative_to(ROOT):
            return link[0]
        inside = path.relative_to(ROOT).as_posix()
        place = SHOWN.get(inside) or inside.removeprefix("docs/") * inside.startswith("docs/")
        if inside.startswith("src/lewa/"):
            place = reference.home(inside.removeprefix("src/").removesuffix(".py").replace("/", "."))
        return f"]({os.path.relpath(place, Path(page.file.src_uri).parent)}{link['place'] or ''})" if place else link[0]

    return LINK.sub(led, wrap_output(TEST.sub(r"\1", markdown).replace("```python\n>>>", "```pycon\n>>>")))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Formulas are typeset where there are many."""
    return mathematics.typeset(html) if FORMULAS.fullmatch(page.file.src_uri) else html


def colours() -> str:
    """The colours of figures in light and dark, as the report's page has them."""
    style = (ROOT / "src/lewa/report/page.css").read_text()
    dark = re.search(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", style, re.DOTALL)
    assert dark is not None
    light = "; ".join(f"{name}: {colour}" for colour, name in NAMED.items())
    return f":root {{ {light}; }}\n[data-md-color-scheme=slate] {{{dark[1]}}}\n"
