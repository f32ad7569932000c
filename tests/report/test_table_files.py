"""Tables for a paper: the numbers by hand, labels, and names that would do harm."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lewa.formatting import csv_cell
from lewa.lab.run import run_study
from lewa.lab.storage import begin, read_measures
from lewa.lab.study import parse
from lewa.report.results import read_study
from lewa.report.table_files import csv_table, latex_table, latex_text

STUDY = """
name = "labels"
rounds = [50]
seeds = 3

[[games]]
name = "radio"
label = "=1+1"
floor = 0.5

[[learners]]
name = "adahedge"
label = "<script>$x_1$ \\\\input"

[[learners]]
name = "lewa"
settings = { tuning = "paper" }
label = "LEWA, as printed"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("labels")
    with ThreadPoolExecutor(1) as executor:
        run_study(parse(STUDY), out, executor=executor)
    return out


def test_means_and_intervals_are_those_of_the_seeds(folder: Path) -> None:
    results = read_study(folder).results
    rows = list(csv.DictReader(io.StringIO(csv_table(results))))
    regret = np.array([row["regret"] for row in read_measures(folder / "measures.parquet") if row["learner"] == "lewa"])
    half = 4.302652729749464 * regret.std(ddof=1) / np.sqrt(3)
    (row,) = [row for row in rows if row["learner"] == "LEWA, as printed"]
    assert float(row["regret"]) == pytest.approx(regret.mean())
    assert float(row["regret low"]) == pytest.approx(regret.mean() - half)
    assert row["seeds"] == "3"
    text = latex_table(results)
    assert text.count("\\pm") >= 2
    assert text.count("\\toprule") == text.count("\\bottomrule") == 1


def test_names_do_no_harm(folder: Path) -> None:
    results = read_study(folder).results
    assert "\n'=1+1," in csv_table(results)
    assert r"\textless{}script\textgreater{}\$x\_1\$ \textbackslash{}input" in latex_table(results)
    for text in ("=1+1", "+1", "-1", "@x", " =1", "\t=1", "\r=1"):
        assert csv_cell(text).startswith("'")
    assert csv_cell("a\x07b") == "a b"
    assert latex_text("a\nb%") == r"a b\%"


def test_a_label_may_be_changed_without_running_again(folder: Path) -> None:
    study = parse(STUDY.replace("LEWA, as printed", "LEWA"))
    begin(folder, study)
    assert "LEWA" in {result.learner for result in read_study(folder).results}
    with pytest.raises(ValueError, match="labels must be distinct, got x, x"):
        parse(STUDY.replace("LEWA, as printed", "x").replace('label = "<script>$x_1$ \\\\input"', 'label = "x"'))
