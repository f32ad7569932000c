"""docs/compare.md: each row of ours links to a test that is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "compare.md").read_text()
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| |")]


def names_in(file: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def test_each_row_links_to_tests_that_exist() -> None:
    assert len(ROWS) > 20
    for row in ROWS:
        ours = row.rstrip(" |").split(" | ")[-1]
        links = re.findall(r"\[`(tests/[\w/]+\.py)::(test_\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", ours)
        assert links, f"no test is linked: {row}"
        assert ours.count("::") == len(links), f"a test is named without a link: {row}"
        for file, name, target in links:
            assert file == target, row
            assert (ROOT / file).is_file(), file
            assert name in names_in(ROOT / file), f"{file} has no {name}"


def test_each_row_has_a_cell_for_each_system() -> None:
    head = next(line for line in TEXT.splitlines() if line.startswith("| |"))
    for row in ROWS:
        assert row.count("|") == head.count("|"), row
