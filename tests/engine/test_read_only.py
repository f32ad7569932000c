"""Compiled code of an installation that cannot be written to goes to a folder of the user, never to someone else's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lewa

PROGRAM = """
import lewa.kernels.random_streams as streams
import numpy as np
out = np.empty(3)
streams.lots.compiled(np.zeros(1, dtype=np.uint64), 0, out)
print(out.sum(), streams.lots.compiled._cache.cache_path)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users are those of a Unix system")
def test_compiled_code_goes_to_a_folder_of_the_user(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    shutil.copytree(Path(lewa.__file__).parent, site / "lewa", ignore=shutil.ignore_patterns("*.nbi*", "*.nbc*", "*.pyc.*"))
    home.mkdir()
    command = [sys.executable, "-c", PROGRAM]
    if os.geteuid() == 0:  # for whom nothing is read-only, but without its capabilities it is
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not there to give up the rights of root")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    for folder in sorted(site.rglob("*"), reverse=True):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    site.chmod(0o555)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_DISABLE_JIT": "0"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=home)
    finally:
        for folder in (site, *site.rglob("*")):
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    place = Path(done.stdout.split()[1])
    assert place.is_relative_to(home)
    assert list(place.glob("*.nbi"))
    assert not list(site.rglob("*.nbi"))
