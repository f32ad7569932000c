"""Files and functions stay small, the nouns are typed, and names are nouns and verbs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lewa

ROOT = Path(lewa.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LINES, BODY, PARAMETERS, ANY = 400, 60, 8, 14.0
# What a user calls with names: constructors, commands, and the three functions that take a whole problem.
BY_NAME = {"__init__", "tuned", "advise", "frontier", "replay"}

# No names: each stood for several things (docs/glossary.md). A verdict may be the text "kept".
VAGUE = {"asked", "found", "given", "held", "kept", "one", "own", "said", "shown", "told"}
SAVED = {("kernels/budget_statistics.py", "kept")}  # files of saved agents have this field


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_small(file: Path) -> None:
    text = file.read_text()
    assert text.count("\n") <= LINES
    for function in functions(ast.parse(text)):
        body = [node for node in function.body if not is_docstring(node)]
        if body:
            assert (body[-1].end_lineno or 0) - body[0].lineno < BODY, function.name
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if function.name not in BY_NAME and file.parent.name != "cli":
            assert len([name for name in names if name not in ("self", "cls")]) <= PARAMETERS, function.name


def test_any_is_rare() -> None:
    uses = code = 0
    for file in FILES:
        tree = ast.parse(file.read_text())
        comments = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        lines = enumerate(file.read_text().splitlines(), start=1)
        code += sum(bool(line.strip()) and not line.strip().startswith("#") and n not in comments for n, line in lines)
        names = {"Any"} | (
            {"State"} if "from lewa.types import" in file.read_text() else set()
        )  # which is another name of it
        uses += sum(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))
    assert 1000 * uses / code <= ANY


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every name that is bound here, with its line: variables, parameters, functions, classes and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.MatchAs | ast.ExceptHandler) and node.name:
            yield node.name, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, 0


def test_names_say_what_they_are() -> None:
    vague = [
        f"{path}:{line} {name}"
        for file in FILES
        for path in [file.relative_to(ROOT).as_posix()]
        for name, line in bound_names(ast.parse(file.read_text()))
        if name.strip("_") in VAGUE and (path, name) not in SAVED
    ]
    assert not vague, "give these the name of what they hold"


def test_every_kind_of_vague_name_is_noticed() -> None:
    text = "import math as one\ndef own(given): pass\nclass kept: pass\nfound = 1\nx._said = 1\nfor told in y: pass\n"
    text += "try: pass\nexcept E as held: pass\nmatch x:\n case [asked]: pass\nlambda shown: 0\n"
    assert {name.strip("_") for name, _ in bound_names(ast.parse(text))} & VAGUE == VAGUE


def test_no_test_leaves_a_file_in_the_root_folder() -> None:
    files = [file.name for file in Path(__file__).parent.parent.iterdir() if file.is_file()]
    assert [name for name in files if "." not in name and name not in ("Makefile", "LICENSE")] == []
