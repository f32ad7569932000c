"""A command imports from its folder what was named, and what that imports itself; nothing else that is there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.package.plugin_example import STUDY, write_module

import lewa
from lewa import plugins

# Modules that libraries try to import though they may be missing, modules of Python itself, and some that nobody imports.
BAIT = ["bottleneck", "numexpr", "sksparse", "icc_rt", "cupy", "xarray", "numba_cuda", "sitecustomize", "usercustomize"]
BAIT += ["csv", "pickle", "socket", "selectors", "helper_of_nobody"]
# As the script `lewa` starts: the folder of the script is on the path, the current one is not. It runs one command after the
# other in one process: what the first one has imported, it has looked for.
SCRIPT = """
import sys

from lewa.cli import main

if __name__ == "__main__":
    for words in " ".join(sys.argv[1:]).split(" then "):
        sys.argv = ["lewa", *words.split()]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
"""


def set_bait(folder: Path) -> Path:
    """Write modules that leave a line in a file if they are ever imported."""
    caught = folder / "caught.txt"
    for name in BAIT:
        (folder / f"{name}.py").write_text(f"with open({str(caught)!r}, 'a') as file:\n    print({name!r}, file=file)\n")
    return caught


def commands(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run `lewa` with each of these lines in this folder, by a script of another."""
    script = folder.parent / "bin" / "start_lewa.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(lewa.__file__).parents[1]), "NUMBA_DISABLE_JIT": "1"}
    environment.pop("PYTHONSAFEPATH", None)
    line = [sys.executable, str(script), " then ".join(lines)]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that commands run in."""
    before = set(sys.modules)
    here = tmp_path / "here"
    here.mkdir()
    plugins.look_in(str(here))
    yield here
    plugins.look_in(None)
    for name in set(sys.modules) - before:
        if str(here) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.slow
def test_a_figure_and_a_study_import_nothing_that_was_not_named(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    caught = set_bait(here)
    rows = "".join(f"{t},{a},{(t + k) % 2},{k}\n" for t in range(8) for k, a in enumerate("ab"))
    (here / "log.csv").write_text("round,action,reward,cost\n" + rows)
    write_module(here, "mine_named")
    (here / "study.toml").write_text(STUDY.format(module="mine_named"))
    done = commands(
        here,
        "frontier log.csv --round round --action action --reward reward --at-most cost --out z.svg",
        "run study.toml --workers 1 --out results",  # in a process of its own
    )
    assert done.returncode == 0, done.stderr
    assert (here / "z.svg").exists()
    assert (here / "results" / "measures.parquet").exists()
    assert not caught.exists(), caught.read_text()


def test_a_named_module_finds_its_neighbours_also_later(folder: Path) -> None:
    caught = set_bait(folder)
    (folder / "first_here.py").write_text(
        "import csv, json\nimport package_here.inside\ntry:\n    import not_here\nexcept ImportError:\n    pass\n\n"
        "class Thing:\n    def late(self):\n        from second_here import VALUE\n        return VALUE, csv.__name__\n"
    )
    (folder / "second_here.py").write_text("import third_here\nVALUE = third_here.VALUE\n")
    (folder / "third_here.py").write_text("VALUE = 3\n")
    (folder / "package_here").mkdir()
    (folder / "package_here" / "__init__.py").write_text("")
    (folder / "package_here" / "inside.py").write_text("from . import beside\n")
    (folder / "package_here" / "beside.py").write_text("")
    with pytest.raises(ModuleNotFoundError):
        __import__("first_here")
    thing = plugins.import_class("first_here:Thing")
    assert thing().late() == (3, "csv")
    assert not hasattr(sys.modules["csv"], "file")  # Python's own, although there is one here
    for name in ("helper_of_nobody", "numexpr_of_nobody", "sksparse"):
        with pytest.raises(ModuleNotFoundError):
            __import__(name)
    assert not caught.exists()


def test_a_name_of_a_library_does_not_open_the_folder(folder: Path) -> None:
    (folder / "numpy.py").write_text("import helper_of_nobody\n")
    caught = set_bait(folder)
    assert plugins.import_class("numpy:ndarray").__name__ == "ndarray"
    with pytest.raises(ModuleNotFoundError):
        __import__("helper_of_nobody")
    assert not caught.exists()


def test_a_module_that_is_no_python_is_one_sentence(folder: Path) -> None:
    (folder / "broken_here.py").write_text("def f(:\n")
    with pytest.raises(ValueError, match=r"broken_here:X cannot be imported: line 1 of .*broken_here.py: invalid syntax"):
        plugins.import_class("broken_here:X")
    (folder / "nothing_here").mkdir()
    with pytest.raises(ValueError, match="has no 'X'"):
        plugins.import_class("nothing_here:X")
