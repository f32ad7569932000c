"""The recipe in CONTRIBUTING.md is followed to the letter: its one Python block is a learner, which has to work."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lewa
from lewa.checks import learners

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
[RECIPE] = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
FILE = re.findall(r"`(src/lewa/learners/\w+\.py)`", GUIDE)[0]
[(NAME, KIND)] = re.findall(r'ALL = \{\.\.\., "([\w@-]+)": (\w+)\}', GUIDE)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The recipe as a file that is imported, and a registry with its one line."""
    file, name = tmp_path / Path(FILE).name, f"lewa.learners.{Path(FILE).stem}"
    file.write_text(RECIPE)
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(lewa.learners, KIND, getattr(module, KIND), raising=False)
    monkeypatch.setitem(lewa.learners.ALL, NAME, getattr(module, KIND))
    return module


def test_the_recipe_is_a_learner_that_keeps_every_law(module: Any) -> None:
    assert [result for result in learners.check(lewa.learners.ALL[NAME]) if result.sentence] == []


def test_the_recipe_is_made_by_name_and_plays(module: Any) -> None:
    learner = lewa.learners.make(NAME, actions=3, horizon=500, floor=0.4)
    trace = lewa.play(learner, lewa.games.Bernoulli(), rounds=500, seeds=2)
    assert lewa.judge(trace).holds
    assert module.__doc__.splitlines()[0].endswith(".")


def test_the_example_in_the_recipe_is_true(module: Any) -> None:
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_the_recipe_is_in_the_style_it_asks_for(command: list[str]) -> None:
    ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", FILE, "-"]
    done = subprocess.run(ruff, input=RECIPE, text=True, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_that_the_guide_names_exist() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", GUIDE):
        assert (ROOT / link).exists(), link
