"""Who may import whom. There are no exceptions, and the list of them stays empty."""

import ast
from pathlib import Path

import lewa

ROOT = Path(lewa.__file__).parent
# Each room may import the rooms named here, and itself.
ARROWS = {
    "rounds": set(),
    "units": set(),
    "kernels": {"rounds"},
    "engine": {"rounds", "kernels"},
    "measures": {"rounds", "units", "kernels"},
    "learners": {"rounds", "kernels", "measures"},
    "games": {"rounds", "units", "kernels", "measures"},
    "single": {"rounds", "kernels", "engine"},
    "one_by_one": {"rounds", "kernels", "engine"},
    "play": {"rounds", "kernels", "engine", "measures", "one_by_one"},
    "replay": {"rounds", "kernels", "engine", "games", "play"},
    "advise": {"rounds", "kernels", "measures", "learners"},
    "frontier": {"rounds", "units", "measures", "learners", "games", "play", "advise"},
    "agent": {"rounds", "units", "kernels", "engine", "measures", "learners", "advise"},
    "show": {"rounds", "measures"},
    "checks": {"rounds", "kernels", "engine", "measures", "learners", "games", "single", "play"},
    "lab": {"rounds", "kernels", "engine", "single", "measures", "learners", "games", "play", "show", "agent"},
}

ARROWS["adapters"] = set(ARROWS)  # for other libraries: they may import every room, and no room imports them


def rooms_imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" if node.module == "lewa" else node.module for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("lewa.")}
    return found


def test_imports_follow_the_arrows() -> None:
    wrong = []
    for file in sorted(ROOT.rglob("*.py")):
        room = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__", "cli"):  # the doors: they may import everything
            continue
        assert room in ARROWS, f"{file.name} is in no room: say in this test what {room} may import"
        wrong += [f"{room} imports {other}" for other in rooms_imported(file) - ARROWS[room] - {room}]
    assert not wrong


def test_arrows_have_no_cycle() -> None:
    left = dict(ARROWS)
    while left:
        free = [room for room, needs in left.items() if not needs & set(left)]
        assert free, f"a cycle among {sorted(left)}"
        for room in free:
            del left[room]


def test_learners_never_draw_random_numbers() -> None:
    for file in (ROOT / "learners").glob("*.py"):
        text = file.read_text()
        assert "uniform" not in text.replace("uniform exploration", "").replace("near uniform", ""), file.name
        assert "random" not in text, file.name
