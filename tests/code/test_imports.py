"""Who may import whom. The rule has no exception, and no permission that nobody uses."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.code.syntax import nodes_of

import lewa

ROOT = Path(lewa.__file__).parent
# A room is a module or a folder of src/lewa. Each may import the rooms named here; docs/architecture.md says why.
MAY_IMPORT: dict[str, set[str]] = {
    "compile_notice": {"kernels", "learners"},
    "figures": {"formatting", "types", "version"},
    "formatting": set(),
    "ids": set(),
    "notebook": {"figures", "formatting", "types"},
    "plugins": {"sources"},
    "schema": set(),
    "sources": set(),
    "types": set(),
    "units": {"validation"},
    "version": set(),
    "blocks": {"types"},
    "feedback": {"types"},
    "validation": {"types"},
    "budgets": {"kernels", "units", "validation"},
    "choice": {"advice", "learners", "theory", "validation"},
    "context": {"types", "units", "validation"},
    "kernels": {"feedback", "types"},
    "theory": {"formatting", "kernels", "notebook", "types", "validation"},
    "advice": {"learners", "notebook", "theory", "types", "validation"},
    "game": {"blocks", "theory", "types", "validation"},
    "journal": {"validation", "version"},
    "serve": {"agent", "feedback", "frontiers", "ids", "journal", "kernels", "version"},
    "functional": {"engine", "feedback", "learners", "types", "validation"},
    "data": {"blocks", "context", "games", "kernels", "measures", "theory", "types", "units", "validation", "version"},
    "engine": {"blocks", "feedback", "kernels", "learners", "types", "validation"},
    "lab": {"compile_notice", "games", "learners", "measures", "plugins", "simulate", "sources", "validation", "version"},
    "learners": {"feedback", "kernels", "measures", "plugins", "theory", "types", "validation"},
    "measures": {"blocks", "game", "kernels", "notebook", "theory", "types", "units", "validation"},
    "games": {"blocks", "engine", "game", "kernels", "measures", "plugins", "theory", "types", "validation"},
    "paper": {"feedback", "formatting", "games", "lab", "learners", "measures", "schema", "theory", "types"},
    "agent": {
        "choice",
        "context",
        "engine",
        "feedback",
        "ids",
        "journal",
        "kernels",
        "learners",
        "measures",
        "notebook",
        "plugins",
        "theory",
        "types",
        "units",
        "validation",
        "version",
    },
    "frontiers": {
        "figures",
        "notebook",
        "choice",
        "data",
        "feedback",
        "formatting",
        "games",
        "learners",
        "measures",
        "schema",
        "simulate",
        "types",
        "units",
        "validation",
    },
    "report": {
        "data",
        "figures",
        "formatting",
        "frontiers",
        "lab",
        "notebook",
        "measures",
        "paper",
        "schema",
        "simulate",
        "theory",
        "types",
        "version",
    },
    "simulate": {
        "blocks",
        "choice",
        "data",
        "engine",
        "feedback",
        "game",
        "games",
        "kernels",
        "learners",
        "measures",
        "types",
        "units",
        "validation",
    },
    "checks": {
        "blocks",
        "engine",
        "feedback",
        "functional",
        "game",
        "games",
        "kernels",
        "learners",
        "measures",
        "simulate",
        "theory",
        "types",
        "validation",
    },
}
DOORS = {
    "__init__",
    "__main__",
    "adapters",
    "cli",
    "client",
}  # they may import every room, and no room imports them


def rooms_imported(file: Path) -> Iterator[str]:
    """Yield the rooms that a file imports; `import lewa` and `from lewa import __version__` import the door `__init__`."""
    for node in nodes_of(file.read_text()):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: imports are absolute"
            names = [f"{node.module}.{alias.name}" if node.module == "lewa" else node.module or "" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "lewa":
                room = rest.split(".")[0]
                yield room if (ROOT / room).is_dir() or (ROOT / f"{room}.py").is_file() else "__init__"


def imports() -> dict[str, set[str]]:
    """Each room, and the other rooms that it imports."""
    rooms: dict[str, set[str]] = {}
    for file in sorted(ROOT.rglob("*.py")):
        room = file.relative_to(ROOT).parts[0].removesuffix(".py")
        rooms.setdefault(room, set()).update(set(rooms_imported(file)) - {room})
    return rooms


def test_rooms_import_what_they_may_and_no_permission_is_unused() -> None:
    assert {room: rooms for room, rooms in imports().items() if room not in DOORS} == MAY_IMPORT


def test_nobody_imports_a_door() -> None:
    inner = {room: rooms & DOORS for room, rooms in imports().items() if room not in DOORS}
    assert not any(inner.values()), inner


def test_no_two_rooms_import_each_other_however_far_around() -> None:
    left = dict(MAY_IMPORT)
    while left:
        free = [room for room, needs in left.items() if not needs & set(left)]
        assert free, f"a cycle among {sorted(left)}"
        for room in free:
            del left[room]


def test_the_figure_of_the_architecture_has_these_imports() -> None:
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    figure = page.split("## Who may import whom")[1].split("```")[1].strip().splitlines()
    chains = [[{room.strip() for room in step.split(",")} for step in line.split("<")] for line in figure]
    left: dict[str, set[str]] = {}
    for chain in chains:
        for n, step in enumerate(chain):
            for room in step:
                left.setdefault(room, {"types"}).update(*chain[:n])
    for _ in left:  # what stands left of a room that stands left
        left = {room: rooms.union(*(left[other] for other in rooms)) for room, rooms in left.items()}
    below = {
        "formatting",
        "ids",
        "schema",
        "sources",
        "version",
        "plugins",
        "figures",
        "notebook",
        "units",
    }  # which any room may import
    wrong = {room: MAY_IMPORT[room] - rooms - below for room, rooms in left.items() if room not in below}
    assert not any(wrong.values()), wrong
    assert not any(room in rooms for room, rooms in left.items() if room != "types"), "a cycle in the figure"
    assert all(MAY_IMPORT[room] <= below | {"types", "validation"} for room in below)


def test_learners_never_draw_random_numbers() -> None:
    for file in (ROOT / "learners").rglob("*.py"):
        nodes = nodes_of(file.read_text())
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        names |= {part for node in nodes if isinstance(node, ast.alias) for part in node.name.split(".")}
        assert not names & {"uniform", "random", "default_rng"}, file.name


def test_no_module_uses_what_is_private_to_another() -> None:
    private = []
    for file in sorted(ROOT.rglob("*.py")):
        nodes = nodes_of(file.read_text())
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lewa")]
        names = {alias.asname or alias.name for node in imports for alias in node.names}
        private += [f"{file.name}: {alias.name}" for node in imports for alias in node.names if _is_private(alias.name)]
        private += [
            f"{file.name}: {node.value.id}.{node.attr}"
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            if node.value.id in names and node.value.id.islower() and _is_private(node.attr)
        ]
    assert private == []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
