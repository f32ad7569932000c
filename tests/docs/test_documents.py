"""Every example in README and docs is run."""

import doctest
import re
import shlex
import sys
from pathlib import Path

import pytest
from benchmarks import quote
from tests.report.folders import only_svg
from tools import first_picture

import lewa
from lewa import cli

pytestmark = pytest.mark.compiled

ROOT = Path(__file__).parents[2]
ELSEWHERE = {"service-in-five-minutes.md", "two-replicas.md"}  # they start servers: tests/serve/test_how_to.py
DOCUMENTS = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in ELSEWHERE)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_run_and_print_what_they_say(document: Path) -> None:
    with only_svg():  # tests/report looks at the other forms of a figure
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


@pytest.mark.parametrize("page", quote.PAGES, ids=lambda page: page.name)
def test_a_page_quotes_the_speed_that_was_measured(page: Path) -> None:
    text, table = page.read_text(), quote.PAGES[page](quote.RESULTS.read_text())
    assert text == quote.quoted(text, table), "run python -m benchmarks.quote"


def test_a_table_of_speed_is_written_between_its_marks() -> None:
    results = """
| what | ns a round | ratio | goal | met |
| --- | --- | --- | --- | --- |
| LEWA against C, K = 10 | 1,057 | 1.35x | at most 1.5x | yes |
| ucb-lp against bandit-lewa, K = 100 | 11,116 | 131x |  |  |
| `import lewa`: 1.51 s |  |  | below 0.4 s | no |
"""
    rows = quote.measured(results)
    assert rows["LEWA against C, K = 10"] == ("1,057", "1.35x", "at most 1.5x", "yes")
    assert rows["ucb-lp against bandit-lewa, K = 100"] == ("11,116", "131x", "", "")
    page = f"before\n{quote.START}\nold\n{quote.END}\nafter"
    new = quote.quoted(page, "| new |")
    assert new == f"before\n{quote.START}\n\n| new |\n\n{quote.END}\nafter"
    assert quote.quoted(new, "| new |") == new
    with pytest.raises(ValueError, match="must have the marks"):
        quote.quoted("nothing", "| new |")


def test_the_growth_table_has_no_learner_that_is_gone() -> None:
    _, _, growth = quote.RESULTS.read_text().partition("## What a round costs as actions grow")
    names = re.findall(r"^\| ([a-z0-9@-]*[a-z0-9][a-z0-9@-]*) \| [\d,]", growth, flags=re.MULTILINE)
    assert len(names) > 40
    assert set(names) <= set(lewa.learners.ALL)


def test_the_example_table_is_what_its_script_writes() -> None:
    assert first_picture.QUERIES.read_text() == first_picture.queries()


@pytest.mark.parametrize("page", ["analyst", "researcher"])
def test_a_start_page_shows_what_its_command_prints(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "start" / f"{page}.md").read_text()
    shown = re.findall(r"```sh\n(lewa [^`]*)```\n(?:(?!```).)*```text\n([^`]*)```", text, flags=re.DOTALL)
    assert shown
    monkeypatch.chdir(ROOT)
    for command, lines in shown:
        monkeypatch.setattr(sys, "argv", shlex.split(command.replace("\\\n", "")))
        with pytest.raises(SystemExit):
            cli.main()
        assert " ".join(capsys.readouterr().out.split()).startswith(" ".join(lines.split()))
