"""docs/formats.md says the versions that the code writes."""

import re
from pathlib import Path

import lewa
from lewa.agent.records import VERSION
from lewa.journal import file as journal
from lewa.journal import files

TEXT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()


def version_of(what: str) -> str:
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| {what} |"))
    return row.split("|")[3].strip()


def test_the_page_has_the_versions_of_the_code() -> None:
    assert f"Version of the package: {lewa.__version__}." in TEXT
    assert version_of("agent") == version_of("record") == str(VERSION)
    assert version_of("journal of an agent") == str(journal.VERSION)
    assert f'"format": "lewa journal", "version": {journal.VERSION}' in TEXT
    assert f'"format": "{files.FORMAT}"' in TEXT
    assert f'"format": "{journal.FORMAT}"' in TEXT


def test_every_file_that_the_page_names_is_there() -> None:
    root = Path(__file__).parents[2]
    for name in re.findall(r"`((?:tests|src)/[\w/.-]+)`", TEXT):
        assert (root / name).exists(), name


def test_vendored_files_have_their_licences() -> None:
    root = Path(__file__).parents[2]
    assert "MIT" in (root / "src/lewa/serve/static/uPlot.LICENSE").read_text()
    for folder in (root / "docs" / "assets").iterdir():
        if (folder / "SHA256SUMS").is_file():
            assert (folder / "LICENSE").is_file(), folder
    assert "src/lewa/serve/static/uPlot.LICENSE" in (root / "pyproject.toml").read_text()
