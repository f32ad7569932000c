"""No code outside of the learners knows an array of a state by its name: see src/lewa/kernels/roles.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from lewa.kernels import field_types, state_type
from lewa.kernels.records import is_record
from lewa.learners import ALL

ROOT = Path(__file__).parents[2] / "src" / "lewa"
RUNS = ("engine", "checks", "kernels", "measures", "simulate")  # where a name in a comparison would be that of an array
ASKS = ("hasattr", "getattr", "setattr")
ASKS = ("hasattr", "getattr", "setattr")
OF_PARAMETERS = {"slack", "margin", "safe", "gamma", "known", "dual"}  # `getattr(learner, ...)`: no array of a state


def names_of(kind: type) -> Iterator[str]:
    for name, inside in field_types(kind).items():
        yield name
        if is_record(inside):
            yield from names_of(inside)


NAMES = {name for kind in ALL.values() for name in names_of(state_type(kind))} | {"epoch", "fresh", "line", "governed_debt"}


def texts(node: ast.AST) -> set[str]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def by_name(source: str, comparisons: bool) -> list[int]:
    """Return the lines that ask for an array by its name: hasattr, getattr, setattr, and comparisons with a name."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS:
            lines += [node.lineno] * bool(texts(node.args[1]) & (NAMES - OF_PARAMETERS))
        if comparisons and isinstance(node, ast.Compare) and texts(node) & NAMES:
            lines.append(node.lineno)
    return lines


def test_no_code_outside_of_learners_asks_for_an_array_by_its_name() -> None:
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        room = file.relative_to(ROOT).parts[0]
        if room != "learners":
            found += [f"{file.relative_to(ROOT)}:{line}" for line in by_name(file.read_text(), room in RUNS)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'hasattr(s, "losses")',
        'getattr(driver.state, "debt", None)',
        'x = getattr(self.state, "multiplier")',
        'for name in names:\n    if name == "fresh":\n        pass',
        'charging = "charged" in state_type(learner)._fields',
        'if name in ("leader", "mixture", "plays"):\n    pass',
    ],
)
def test_the_test_finds_each_of_these(source: str) -> None:
    assert by_name(source, comparisons=True)


def test_the_names_of_arrays_are_many() -> None:
    assert {"losses", "tilt", "upper", "book", "debt", "theta"} <= NAMES
