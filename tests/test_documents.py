"""Every example in README and docs is run."""

import doctest
import re
from pathlib import Path

import pytest
from tools import example_table

import lewa

ROOT = Path(__file__).parent.parent
ELSEWHERE = {"two-replicas.md"}  # it needs a database: tests/serve/test_how_to.py
DOCUMENTS = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in ELSEWHERE)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_run_and_print_what_they_say(document: Path) -> None:
    failed, _ = doctest.testfile(str(document), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_changelog_names_this_release_or_what_is_unreleased() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert "## Unreleased" in changes  # where the next line goes
    assert re.search(rf"^## {re.escape(lewa.__version__)} \(\d{{4}}-\d\d-\d\d\)$", changes, flags=re.MULTILINE)


def test_the_first_page_is_short() -> None:
    text = re.sub("```.*?```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) <= 900


def test_the_first_page_has_the_figures_that_were_measured() -> None:
    readme, results = (ROOT / "README.md").read_text(), (ROOT / "benchmarks" / "RESULTS.md").read_text()
    rows = re.findall(r"^\| .*? \| [\d,]+ \| ([\d,]+) ns \| (\d+(?:\.\d+)?)x .*$", readme, flags=re.MULTILINE)
    assert len(rows) == 4
    for time, ratio in rows:
        found = re.findall(rf"\| {time} \| ([\d.]+)x \|", results)
        assert any(ratio in (measured, f"{float(measured):.0f}") for measured in found), f"{time} ns"


def test_the_example_table_is_what_its_script_writes() -> None:
    assert example_table.TABLE.read_text() == example_table.text()
