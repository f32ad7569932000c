"""docs/architecture.md names only what is there, and every room; docs/glossary.md names only what is there."""

import ast
import re
from pathlib import Path

from tests.code.syntax import nodes_of

import lewa

ROOT = Path(lewa.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "architecture.md").read_text()
FILE = re.compile(r"`([\w/]+\.py)`")
WHERE = re.compile(r"`([\w.]+)`\s+\(`([\w/]+\.py)`")  # `name` (`file`
NAMES = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`")
OUTSIDE = {"ValueError", "OSError", "MemoryError", "OverflowError", "auto"}  # names of Python, and a value


def defined(file: Path) -> set[str]:
    """Return the functions, classes, parameters, variables and attributes that a file defines."""
    names: set[str] = set()
    for node in nodes_of(file.read_text()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_every_file_exists() -> None:
    files = [name for name in FILE.findall(PAGE) if not name.startswith("tests/")]
    assert len(files) > 50
    missing = sorted({name for name in files if not (ROOT / name).is_file()})
    assert not missing, missing


def test_every_name_is_defined_in_the_file_that_stands_beside_it() -> None:
    pairs = WHERE.findall(PAGE)
    assert len(pairs) > 30
    missing = sorted({(name, file) for name, file in pairs if name.split(".")[-1] not in defined(ROOT / file)})
    assert not missing, missing


def test_every_other_name_is_defined_somewhere() -> None:
    files = list(ROOT.rglob("*.py"))
    known = set[str]().union(*map(defined, files), (file.stem for file in files), (file.parent.name for file in files))
    names = {name for name in NAMES.findall(PAGE) if not name.endswith((".py", ".json", ".jsonl", ".parquet"))}
    unknown = sorted(name for name in names - OUTSIDE if not set(name.split(".")) <= known)
    assert not unknown, unknown


def test_every_room_has_its_row() -> None:
    rows = "\n".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    rooms = {f"`{path.name}/`" for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    rooms |= {f"`{path.stem}`" for path in ROOT.glob("*.py") if path.stem != "__init__"}
    missing = sorted(room for room in rooms if room not in rows)
    assert not missing, missing


def test_every_code_name_of_the_glossary_is_there() -> None:
    sources = "\n".join(file.read_text() for file in ROOT.rglob("*.py"))
    codes = re.findall("`([^`]+)`", (DOCS / "glossary.md").read_text())
    words = {word for code in codes for word in re.findall(r"\w+", code)}
    assert len(words) > 40
    missing = sorted(word for word in words if not re.search(rf"\b{word}\b", sources))
    assert not missing, missing
