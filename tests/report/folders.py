"""Folders that reports are made of, from runs that are really made."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lewa import figures
from lewa.lab.run import run_study
from lewa.lab.study import parse

SMALL = """
name = "small <b>&</b>"
rounds = [100, 300, 1000]
seeds = 2

[[games]]
name = "bernoulli"
floor = 0.6

[[games]]
name = "slow-burn"
floor = 0.5

[[learners]]
name = "lewa"

[[learners]]
name = "bandit-lewa"
"""
ONE_GAME = SMALL.replace('[[games]]\nname = "slow-burn"\nfloor = 0.5\n', "")


@contextmanager
def only_svg() -> Iterator[None]:
    """Leave the PNG and the PDF of each figure empty: they take most of the time of a report."""
    saved = figures._saved

    def quick(figure: Any, kind: str, **options: Any) -> bytes:
        return saved(figure, kind, **options) if kind == "svg" else b""

    with patch.object(figures, "_saved", quick):
        yield


def study(folder: Path, text: str = SMALL) -> Path:
    with ThreadPoolExecutor(1) as executor:
        run_study(parse(text), folder, executor=executor)
    return folder


def reproduction(folder: Path, held: Path, **changes: Any) -> Path:
    """As `lewa reproduce` leaves it: two studies, and what was decided."""
    shutil.copytree(held, folder / "one")
    shutil.copytree(held, folder / "two")
    line = {
        "claim": "Theorem 1 & its tuning",
        "quantity": "regret",
        "game": "bernoulli",
        "learner": "lewa",
        "rounds": 1000,
        "sense": "<=",
        "bound": 48.9,
        "formula": "O(T^1/2) + sqrt(T)",
        "measured": -12.5,
        "ratio": -0.2556,
        "slope": 0.5,
        "low": 0.4,
        "high": 0.6,
        "exponent": 0.5,
        "holds": True,
        "study": "one",
        "why": "it held for every seed",
    }
    nothing = dict.fromkeys(("bound", "ratio", "slope", "low", "high", "exponent"))
    refuted = {**line, **nothing, "claim": "Theorem 3", "study": "two", "holds": False, "quantity": "violation"}
    studies = [{"name": "one", "title": "T^(3/4) is tight"}, {"name": "two", "title": "Another"}]
    told = {"title": "Claims <measured>", "lines": [line, refuted], "studies": studies, **changes}
    (folder / "verdicts.json").write_text(json.dumps(told))
    return folder
