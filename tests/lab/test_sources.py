"""What a study's numbers come from is part of its versions: no source can be forgotten, nor edited without notice."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

import lewa
from lewa import sources
from lewa.lab.run import run_study
from lewa.lab.storage import EXECUTES, versions, versions_of
from lewa.lab.study import parse

ROOT = Path(lewa.__file__).parent
# Prints every module that executing runs of every kind imports; the package's __init__, which imports more, is left out.
SCRIPT = """
import sys, types
package = types.ModuleType("lewa")
package.__path__ = [sys.argv[1]]
sys.modules["lewa"] = package
from lewa.lab.execute import execute
from lewa.lab.study import expand, parse
text = 'name = "x"\\nrounds = 20\\nseeds = 1\\n'
for game in ("bernoulli+delay", "bernoulli+dropping", "slow-burn+noise+scale", "anti-leader"):
    text += f'[[games]]\\nname = "{game}"\\nfloor = 0.5\\n'
for learner in ("lewa", "bandit-lewa", "bandit-op-ewa", "lewa+doubling", "lewa+tightened"):
    text += f'[[learners]]\\nname = "{learner}"\\n'
for run in expand(parse(text)):
    execute(run)
for name, module in sys.modules.items():
    if name.startswith("lewa."):
        print(module.__file__)
"""


@cache
def decides() -> set[Path]:
    return set(sources.sources(EXECUTES, ROOT.parent))


def test_every_module_that_executing_runs_imports_is_in_the_versions() -> None:
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(ROOT)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    imported = {Path(line) for line in printed.splitlines()}
    assert len(imported) > 80
    assert imported <= decides(), sorted(path.name for path in imported - decides())


def test_what_only_shows_results_is_not_in_the_versions() -> None:
    rooms = {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in decides()}
    assert {"engine", "games", "kernels", "lab", "learners", "measures", "simulate", "theory"} <= rooms
    assert not {"agent", "cli", "paper", "report", "__init__"} & rooms
    assert ROOT / "simulate" / "python_loop.py" in decides()  # it plays what is late or masked


@pytest.mark.parametrize(
    "text",
    [
        "import package.second",
        "x = 1; import package.second",
        "if True: import package.second",
        "import \\\n    package.second",
        "from . \\\n    import second",
        "from . import (  # a remark)\n    second,\n)",
        "from . import second; x = 1",
        "def f():\n    from package import second as other  # a remark",
        '"""Words\nimport this module.\n"""\nimport package.second',
        "try:\n    from package.second import x\nexcept ImportError:\n    pass",
        '"""Words\n# a remark"""; import package.second',
        '"""Words\n>>> x"""; import package.second',
        '"""Words\nimport this  # a remark"""; import package.second',
        "# a remark\rimport package.second",
        "# coding: utf-7\n+AGkAbQBwAG8AcgB0 package.second",
    ],
)
def test_an_import_is_found_however_it_is_written(text: str, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "second.py").write_text("x = 2\n")
    (package / "first.py").write_text(f"{text}\n")
    assert package / "second.py" in sources.sources("package.first", tmp_path)


def test_an_edit_of_any_of_them_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "inside").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("from . import second\nfrom package.inside import third\n")
    (package / "second.py").write_text("import numpy\n")
    (package / "inside" / "__init__.py").write_text("")
    (package / "inside" / "third.py").write_text("def f():\n    from ..fourth import x\n")
    (package / "fourth.py").write_text("x = 1\n")
    (package / "other.py").write_text("x = 2\n")

    def stamp() -> str:
        return sources.fingerprint(sources.sources("package.first", tmp_path), tmp_path)

    found = [file.name for file in sources.sources("package.first", tmp_path)]
    assert sorted(found) == ["__init__.py", "__init__.py", "first.py", "fourth.py", "second.py", "third.py"]
    before = stamp()
    (package / "other.py").write_text("x = 3\n")
    assert stamp() == before
    (package / "fourth.py").write_text("x = 2\n")
    assert stamp() != before


GAME = """
from helper_of_tests import REWARDS
from lewa.games import Bernoulli


class Mine(Bernoulli):
    def __init__(self):
        super().__init__(REWARDS, [[0.5, 0.9]])
"""
STUDY = """
name = "mine"
rounds = 50
seeds = 2
[[games]]
name = "game_of_tests:Mine"
floor = 0.6
[[learners]]
name = "ewa"
"""


@pytest.mark.parametrize("edited", ["game_of_tests.py", "helper_of_tests.py"])
def test_a_study_does_not_go_on_with_an_edited_game_of_the_users(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game_of_tests.py").write_text(GAME)
    (tmp_path / "helper_of_tests.py").write_text("REWARDS = [0.9, 0.4]\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("game_of_tests", "helper_of_tests"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    study, out = parse(STUDY), tmp_path / "out"
    with ThreadPoolExecutor(1) as executor:
        run_study(study, out, executor=executor)
    stamp = json.loads((out / "versions.json").read_text())
    assert stamp == versions_of(study) == {**versions(), "source of game_of_tests": stamp["source of game_of_tests"]}
    (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# edited\n")
    sources.fingerprint_of.cache_clear()  # as in a new process
    versions.cache_clear()
    with pytest.raises(ValueError, match=r"out was begun with source of game_of_tests \w+, not \w+: give another folder"):
        run_study(study, out)
    for name in ("game_of_tests", "helper_of_tests"):
        sys.modules.pop(name, None)
