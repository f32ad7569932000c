"""Files and functions stay small, the nouns are typed, and names are nouns and verbs."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.code.syntax import nodes_of, tree_of

import lewa

ROOT = Path(lewa.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LINES, BODY, PARAMETERS, ANY = 600, 60, 8, 14.0
# What a user calls with names: constructors, commands, `budget`, and the three functions that take a whole problem.
BY_NAME = {"__init__", "tuned", "advise", "budget", "frontier", "replay"}

# No names: each stood for several things (docs/glossary.md). A verdict may be the text "kept".
VAGUE = {"asked", "found", "given", "held", "kept", "one", "own", "said", "shown", "told"}
SAVED = {("kernels/budget_statistics.py", "kept")}  # files of saved agents have this field


def functions(text: str) -> Iterator[ast.FunctionDef]:
    return (node for node in nodes_of(text) if isinstance(node, ast.FunctionDef))


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def too_large(file: Path) -> Iterator[str]:
    """Yield what is too long in a file."""
    text = file.read_text()
    if text.count("\n") > LINES:
        yield f"{file}: {text.count(chr(10))} lines"
    for function in functions(text):
        body = [node for node in function.body if not is_docstring(node)]
        if body and (body[-1].end_lineno or 0) - body[0].lineno >= BODY:
            yield f"{file}: the body of {function.name}"
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        many = len([name for name in names if name not in ("self", "cls")]) > PARAMETERS
        if many and function.name not in BY_NAME and file.parent.name != "cli":
            yield f"{file}: the parameters of {function.name}"


def test_files_and_functions_stay_small(tmp_path: Path) -> None:
    assert [text for file in FILES for text in too_large(file)] == []
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f(a, b, c, d, e, f, g, h, i):\n" + "    pass\n" * BODY + "    pass\n" + "\n" * LINES)
    assert len([*too_large(wrong)]) == 3


def lines_of_code(nodes: Iterable[ast.AST], text: str) -> int:
    """Count the lines that are not empty and not part of a comment or a docstring."""
    texts = [node for node in nodes if isinstance(node, ast.stmt) and is_docstring(node)]
    docstrings = {line for node in texts for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    return sum(bool(line) and not line.startswith("#") and n not in docstrings for n, line in lines)


class AnyUses:
    """The uses of `Any` in modules, by their names: also by an alias, which is a variable of a module or a `type` statement
    whose value mentions `Any` or another alias, whatever name a module imports it by."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.trees = {module: tree_of(text) for module, text in modules.items()}
        self.nodes = {module: nodes_of(text) for module, text in modules.items()}
        self.imports = {
            module: {
                name.asname or name.name: (node.module or "", name.name)
                for node in nodes
                if isinstance(node, ast.ImportFrom)
                for name in node.names
            }
            for module, nodes in self.nodes.items()
        }
        self.aliases = {("typing", "Any")}
        before = 0
        while len(self.aliases) > before:
            before = len(self.aliases)
            for module, tree in self.trees.items():
                self.aliases |= {
                    (module, name)
                    for node in tree.body
                    for name, value in self._binding(node)
                    if self._uses(module, ast.walk(value))
                }

    @staticmethod
    def _binding(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif type(node).__name__ == "TypeAlias":  # from Python 3.12 on
            yield getattr(node, "name").id, getattr(node, "value")  # noqa: B009

    def _stands_for(self, module: str, name: str) -> bool:
        seen: set[tuple[str, str]] = set()
        place = module, name
        while place not in self.aliases and place not in seen:
            seen.add(place)
            place = self.imports.get(place[0], {}).get(place[1], place)
        return place in self.aliases

    def _uses(self, module: str, nodes: Iterable[ast.AST]) -> int:
        names = (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        return sum(self._stands_for(module, name) for name in names)

    def count(self) -> int:
        return sum(self._uses(module, nodes) for module, nodes in self.nodes.items())


def test_any_is_rare() -> None:
    modules = {
        ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): file.read_text()
        for file in FILES
    }
    uses = AnyUses(modules)
    code = sum(lines_of_code(uses.nodes[module], text) for module, text in modules.items())
    assert 1000 * uses.count() / code <= ANY


def test_an_alias_of_any_counts_as_any() -> None:
    modules = {
        "a": "from typing import Any, TypeAlias\nPlain: TypeAlias = dict[str, Any]\nRows = list[Plain]\nx: Plain = 1\n",
        "b": "from a import Rows as Table\n",
        "c": "from b import Table\ndef f(t: Table) -> int: ...\nclass State: ...\nState()\n",
    }
    assert AnyUses(modules).count() == 4


def bound_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield every name that is bound here, with its line: variables, parameters, functions, classes and attributes."""
    for node in nodes_of(text):
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
        for name, line in bound_names(file.read_text())
        if name.strip("_") in VAGUE and (path, name) not in SAVED
    ]
    assert not vague, "give these the name of what they hold"


def test_every_kind_of_vague_name_is_noticed() -> None:
    text = "import math as one\ndef own(given): pass\nclass kept: pass\nfound = 1\nx._said = 1\nfor told in y: pass\n"
    text += "try: pass\nexcept E as held: pass\nmatch x:\n case [asked]: pass\nlambda shown: 0\n"
    assert {name.strip("_") for name, _ in bound_names(text)} & VAGUE == VAGUE


def test_no_test_leaves_a_file_in_the_root_folder() -> None:
    files = [file.name for file in Path(__file__).parents[2].iterdir() if file.is_file()]
    assert [name for name in files if "." not in name and name not in ("Makefile", "LICENSE")] == []
