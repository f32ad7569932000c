"""The recipes in CONTRIBUTING.md are followed to the letter: its Python blocks, a learner and a game, have to work."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lewa
from lewa.checks import check

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
FILES = [re.findall(rf"`(src/lewa/{room}/\w+\.py)`", GUIDE)[0] for room in ("learners", "games")]
LINES = re.findall(r'(?:ALL|FAMILIES\[.+\]) = \{\.\.\., "([\w@-]+)": (\w+)\}', GUIDE)
BOTH = pytest.mark.parametrize("n", [0, 1], ids=["learner", "game"])


def test_the_guide_has_a_recipe_for_a_learner_and_one_for_a_game() -> None:
    assert len(RECIPES) == len(LINES) == 2


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The recipes as files that are imported, and each registry with its one line."""
    made = []
    for recipe, path, (name, kind), room in zip(RECIPES, FILES, LINES, (lewa.learners, lewa.games), strict=True):
        file, title = tmp_path / Path(path).name, f"{room.__name__}.{Path(path).stem}"
        file.write_text(recipe)
        spec: Any = importlib.util.spec_from_file_location(title, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, title, module)
        spec.loader.exec_module(module)
        monkeypatch.setattr(room, kind, getattr(module, kind), raising=False)
        monkeypatch.setitem(room.ALL, name, getattr(module, kind))
        made.append(module)
    return made


@BOTH
def test_a_recipe_keeps_every_law(modules: list[Any], n: int) -> None:
    results = check(getattr(modules[n], LINES[n][1]))
    assert len(results) > 5
    assert [result for result in results if result.sentence] == []


def test_the_learner_is_made_by_name_and_plays_the_game_which_is_too(modules: list[Any]) -> None:
    (learner, _), (game, _) = LINES
    for_problem = lewa.games.make(game, floor=0.4, rounds=500)
    trace = lewa.play(lewa.learners.make(learner, actions=3, horizon=500, floor=0.4), for_problem, rounds=500, seeds=2)
    assert lewa.judge(trace).holds
    twisted = lewa.games.make(f"{game}+delay", floor=0.4, rounds=500, delay=3)
    assert lewa.games.facts(twisted, 0.4, 500) == lewa.games.facts(for_problem, 0.4, 500)


@BOTH
def test_the_example_in_a_recipe_is_true(modules: list[Any], n: int) -> None:
    assert modules[n].__doc__.splitlines()[0].endswith(".")
    found = doctest.testmod(modules[n], optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


@BOTH
@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_a_recipe_is_in_the_style_it_asks_for(n: int, command: list[str]) -> None:
    ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", FILES[n], "-"]
    done = subprocess.run(ruff, input=RECIPES[n], text=True, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_that_the_guide_names_exist() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", GUIDE):
        assert (ROOT / link).exists(), link


def test_every_file_that_asks_how_many_instances_to_try_is_marked() -> None:
    for file in (ROOT / "tests").rglob("test_*.py"):
        text = file.read_text()
        if re.search(r"\bHUNT\b|LEWA_HUNT|instances import .*\bsome\b", text) and file != Path(__file__):
            assert "pytest.mark.falsify" in text, f"`make falsify` does not run {file.name}"
