"""Files and functions stay small, and the nouns are typed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lewa

ROOT = Path(lewa.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LINES, BODY, PARAMETERS, ANY = 400, 60, 8, 15.0
# What a user calls with names: constructors, commands, and the three functions that take a whole problem.
BY_NAME = {"__init__", "tuned", "advise", "frontier", "replay"}


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
        uses += sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))
    assert 1000 * uses / code <= ANY
