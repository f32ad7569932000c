"""The page of a study, and its figures, from runs that were really made."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.report.folders import ONE_GAME, SMALL, only_svg, study

import lewa
from lewa import cli
from lewa.figures import Curve, apart, draw, short, wrapped
from lewa.lab.storage import write_measures
from lewa.report import study_report as report
from lewa.report.page import markup
from lewa.report.panels import NEAR, Curves, Level
from lewa.report.study_report import write_report

pytestmark = pytest.mark.slow

KINDS = ("svg", "png", "pdf")
FIGURES = ("rounds", "differences", "growth", "inside")
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype html>"}
SHORT = ONE_GAME.replace("[100, 300, 1000]", "[20, 50, 100]")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was run, without a page."""
    return study(tmp_path_factory.mktemp("study") / "small")


@pytest.fixture(scope="module")
def held(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with its page, and its figures for the page."""
    folder = tmp_path_factory.mktemp("held") / "small"
    shutil.copytree(ran, folder)
    with only_svg():
        write_report(folder)
    return folder


@pytest.fixture
def quick() -> Iterator[None]:
    """Figures without what takes longest."""
    with only_svg():
        yield


@pytest.fixture
def copy(ran: Path, tmp_path: Path) -> Path:
    """The study without a page, to be spoiled."""
    shutil.copytree(ran, tmp_path / "copy")
    return tmp_path / "copy"


def text_of(folder: Path) -> str:
    return (folder / "index.html").read_text()


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return list(parquet.read_table(folder / "measures.parquet").to_pylist())


def table(text: str, number: int = 0) -> list[dict[str, str]]:
    """A table of the page: what its cells say, by column."""
    found = re.findall(r"<table>(.*?)</table>", text, flags=re.DOTALL)[number]
    columns = [unescape(name) for name in re.findall(r'<button type="button">(.*?)</button>', found)]
    rows = re.findall(r"<tr>(.*?)</tr>", found.split("<tbody>")[1], flags=re.DOTALL)
    cells = [[unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]
    return [dict(zip(columns, row, strict=True)) for row in cells]


def cut_short(folder: Path, keep: Callable[[dict[str, Any]], bool] = lambda row: True) -> list[dict[str, Any]]:
    """The longest runs without what figures over rounds are drawn from: quickly shown."""
    curves = dict.fromkeys(("marks", "regret_curve", "violation_curve", "multiplier_curve", "play_curve"))
    return [{**row, **curves} for row in rows_of(folder) if row["rounds"] == 1000 and keep(row)]


def value(text: str) -> float:
    return float(text.split(" ")[0].replace(",", "").replace("\N{MINUS SIGN}", "-"))


def everything(folder: Path) -> dict[str, bytes]:
    files = [folder / "index.html", *sorted((folder / "figures").iterdir())]
    return {file.name: file.read_bytes() for file in files}


# What is there -----------------------------------------------------------------------------------------------------------


def test_a_study_has_a_page_and_its_figures_in_three_formats(held: Path) -> None:
    names = [f"{game}-{kind}" for game in ("bernoulli-floor-0.6", "slow-burn-floor-0.5") for kind in FIGURES]
    found = sorted(file.name for file in (held / "figures").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in names for kind in KINDS)


def test_the_table_says_what_was_measured_and_what_is_proved(held: Path) -> None:
    rows = rows_of(held)
    shown = table(text_of(held))
    assert [(row["game"], row["learner"]) for row in shown] == [
        (game, learner) for game in ("bernoulli", "slow-burn") for learner in ("lewa", "bandit-lewa")
    ]
    for row in shown:
        runs = [r for r in rows if (r["game"], r["learner"], r["rounds"]) == (row["game"], row["learner"], 1000)]
        assert value(row["regret"]) == pytest.approx(np.mean([r["regret"] for r in runs]), rel=1e-3, abs=0.5)
        assert value(row["violation"]) == pytest.approx(np.mean([r["violation"] for r in runs]), rel=1e-3, abs=0.5)
        assert value(row["regret proved"]) == pytest.approx(runs[0]["guarantee_regret"], rel=1e-3, abs=0.5)
        assert row["kind"] == runs[0]["guarantee_kind"]


def test_what_holds_is_what_the_runs_themselves_say(held: Path) -> None:
    for row in table(text_of(held)):
        floor = float(row["floor"])
        game = lewa.games.make(row["game"], floor, 1000)
        learner = lewa.learners.find(row["learner"]).tuned(game.actions, 1000, floor)
        verdict = lewa.judge(lewa.play(learner, game, rounds=1000, seeds=2))
        assert row["holds"] == {True: "yes", False: "no", None: "\N{EN DASH}"}[verdict.holds]
        assert row["holds"] == "yes"  # or this test says little


def test_every_horizon_is_there_too(held: Path) -> None:
    assert [int(row["T"].replace(",", "")) for row in table(text_of(held), 1)] == [100, 100, 300, 300, 1000, 1000] * 2


def test_slopes_are_those_of_the_means(held: Path) -> None:
    [row] = [row for row in table(text_of(held)) if (row["game"], row["learner"]) == ("slow-burn", "lewa")]
    runs = [r for r in rows_of(held) if (r["game"], r["learner"]) == ("slow-burn", "lewa")]
    means = [float(np.mean([r["violation"] for r in runs if r["rounds"] == T])) for T in (100, 300, 1000)]
    fit = lewa.measures.fit_rate([100, 300, 1000], means)
    assert fit is not None
    assert row["slope of violation"] == f"{fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}]"


@pytest.mark.usefixtures("quick")
def test_a_guarantee_that_was_not_kept_is_said_first(copy: Path) -> None:
    rows = cut_short(copy)
    for row in rows:
        if (row["game"], row["learner"]) == ("slow-burn", "lewa"):
            row["guarantee_violation"] = [row["shortfall"][0] / 2]
            row["guarantee_holds"] = False
    write_measures(copy / "measures.parquet", rows)
    text = write_report(copy).read_text()
    assert [row["holds"] for row in table(text)] == ["yes", "yes", "no", "yes"]
    assert "1 of 4 guarantees that these runs can decide do not hold: lewa in slow-burn at T = 1,000." in text


@pytest.mark.usefixtures("quick")
def test_a_mean_is_judged_with_its_margin_and_one_seed_is_not_enough(copy: Path) -> None:
    rows = cut_short(copy, lambda row: (row["game"], row["learner"]) == ("bernoulli", "lewa"))
    mean, error = np.mean([row["regret"] for row in rows]), np.std([row["regret"] for row in rows])  # of two seeds

    def holds(bound: float, seeds: int) -> str:
        changed = [{**row, "guarantee_regret": bound, "guarantee_kind": "expected [E V]+"} for row in rows[:seeds]]
        write_measures(copy / "measures.parquet", changed)
        return table(write_report(copy).read_text())[0]["holds"]

    assert error > 0.01
    assert holds(mean - 2.9 * error, 2) == "yes"
    assert holds(mean - 3.1 * error, 2) == "no"
    assert holds(mean - 3.1 * error, 1) == "\N{EN DASH}"


@pytest.mark.usefixtures("quick")
def test_a_study_of_one_learner_shows_its_games_together(tmp_path: Path) -> None:
    text = SMALL.replace('[[learners]]\nname = "bandit-lewa"', "").replace("[100, 300, 1000]", "[20, 50, 100]")
    page = write_report(study(tmp_path / "one", text))
    figures = sorted(file.stem for file in (page.parent / "figures").glob("*.svg"))
    assert figures == ["lewa-growth", "lewa-inside", "lewa-rounds"]
    drawn = (page.parent / "figures" / "lewa-rounds.svg").read_text()
    assert ">bernoulli</text>" in drawn
    assert ">slow-burn</text>" in drawn


@pytest.mark.usefixtures("quick")
def test_each_of_several_constraints_has_a_panel(tmp_path: Path) -> None:
    text = SHORT.replace(
        'name = "bernoulli"\nfloor = 0.6',
        'name = "bernoulli"\nfloor = [0.5, 0.3]\n'
        "parameters = { rewards = [0.9, 0.4, 0.1], constraints = [[0.2, 0.6, 0.9], [0.5, 0.4, 0.3]] }",
    )
    found = write_report(study(tmp_path / "several", text)).read_text()
    for kind in ("Violation", "Multiplier"):
        assert f'aria-label="{kind} of constraint 1' in found
        assert f'aria-label="{kind} of constraint 2' in found
    assert all(len(row["violation"].split(", ")) == 2 for row in table(found))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("changes", "figures"),
    [
        ({"seeds = 2": 'seeds = 2\nmeasures = ["regret", "violation"]'}, {"differences", "growth"}),
        ({"seeds = 2": 'seeds = 2\nmeasures = ["reward"]'}, set()),
        ({"seeds = 2": "seeds = 1"}, {"rounds", "growth", "inside"}),
        ({"[20, 50, 100]": "[20, 50]"}, {"rounds", "differences", "inside"}),
        ({"[20, 50, 100]": "1"}, {"rounds", "differences", "inside"}),
        ({"floor = 0.6": "floor = 1.0"}, {"rounds", "differences", "growth", "inside"}),  # no play meets it
    ],
)
def test_what_cannot_be_shown_is_left_out(tmp_path: Path, changes: dict[str, str], figures: set[str]) -> None:
    text = SHORT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    page = write_report(study(tmp_path / "less", text))
    assert {file.stem.rpartition("-")[2] for file in (page.parent / "figures").iterdir()} == figures
    assert page.read_text().count("<figure>") == len(figures)
    assert len(table(page.read_text())) == 2


# The reproduction --------------------------------------------------------------------------------------------------------


def test_a_reproduction_shows_every_verdict_first(reproduced: Path) -> None:
    text = text_of(reproduced)
    first, second = table(text)
    assert (first["claim"], first["holds"], first["theory"]) == ("Theorem 1 & its tuning", "yes", "1/2")
    assert (first["bound"], first["slope"]) == ("48.9", "0.50 [0.40, 0.60]")
    assert (second["claim"], second["holds"], second["bound"]) == ("Theorem 3", "no", "\N{EN DASH}")
    assert "1 of 2 claims hold, 1 fail. Each verdict was computed from the runs of 2 studies." in text
    assert "O(T<sup>1/2</sup>) + \N{SQUARE ROOT}(T)" in text
    assert "it held for every seed" in table(text, 1)[0]["claim"]


def test_a_reproduction_opens_with_the_claims_that_fail(reproduced: Path) -> None:
    text = text_of(reproduced)
    before = text[: text.index("<table>")]
    assert re.findall("<h3>(.*?)</h3>", before) == ["Fails: Theorem 3", "All claims"]
    assert (
        "<p>Violation should be at most O(T<sup>1/2</sup>) + \N{SQUARE ROOT}(T), but is \N{MINUS SIGN}12.5 after" in before
    )
    assert "1,000 rounds of the game bernoulli.</p>" in before
    assert before.count("<figure>") == 1
    assert 'aria-label="Violation in bernoulli of Theorem 3"' in before


def test_a_reproduction_has_a_section_for_each_study(reproduced: Path) -> None:
    text = text_of(reproduced)
    assert re.findall(r'<section id="(.*?)">', text) == ["one", "two"]
    assert text.count("T<sup>3/4</sup> is tight</") == 2  # in the contents and above the section
    assert (reproduced / "figures" / "two-bernoulli-floor-0.6-growth.pdf").is_file()
    assert ">(theory 1/2)</" in text  # beside the slope, in the game and for the learner that the claim is about


# The page is one file ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("forked_workers")
def test_the_same_numbers_give_the_same_bytes_whoever_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = study(tmp_path / "here", SHORT)
    shutil.copytree(here, tmp_path / "there")
    write_report(here)
    monkeypatch.setattr(report, "MANY", 1)  # several processes
    write_report(tmp_path / "there")
    found = everything(here)
    assert {name for name in found if name != "index.html"} == {
        f"bernoulli-floor-0.6-{figure}.{kind}" for figure in FIGURES for kind in KINDS
    }
    assert all(content.startswith(MAGIC[name.rpartition(".")[2]]) for name, content in found.items())
    assert everything(tmp_path / "there") == found


def test_a_figure_does_not_depend_on_what_the_user_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    panels = [Curves("Regret", (line("a", 8.0), line("b", 7.0)))]
    drawn = draw(panels, "name")
    monkeypatch.setitem(mpl.rcParams, "lines.markersize", 30.0)
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "path")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert draw(panels, "name") == drawn
    assert mpl.rcParams["svg.fonttype"] == "path"  # and leaves it as it was


@pytest.mark.parametrize("kind", ["held", "reproduced"])
def test_the_page_needs_nothing_but_itself(kind: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(kind)
    text = text_of(folder)
    assert not re.findall(r"https?://|@import|<link(?! rel=\"icon\" href=\"data:,\")|<img|<iframe|\bsrc=", text)
    names = re.findall(r' id="(.*?)"', text)
    assert len(set(names)) == len(names)
    for target in re.findall(r'url\((.*?)\)|href="(.*?)"', text):
        where = "".join(target)
        if where.startswith("#"):
            assert where[1:] in names, f"{where} leads nowhere"
        elif where != "data:,":
            assert (folder / where).is_file(), f"{where} leads nowhere"


def test_figures_of_the_page_have_no_colours_of_their_own(held: Path) -> None:
    figures = "".join(re.findall(r"<svg.*?</svg>", text_of(held), flags=re.DOTALL))
    assert "var(--line-0)" in figures
    assert not re.findall(r"(?:fill|stroke): ?(?!none|var)", figures)


def test_what_users_name_is_escaped(held: Path, reproduced: Path) -> None:
    assert "<title>small &lt;b&gt;&amp;&lt;/b&gt;</title>" in text_of(held)
    assert "<h1>Claims &lt;measured&gt;</h1>" in text_of(reproduced)
    assert "<b>" not in text_of(held)


def test_the_page_is_small(held: Path) -> None:
    assert (held / "index.html").stat().st_size < 300_000


def test_powers_and_roots_are_written_as_such() -> None:
    assert markup("O(T^3/4) <= 2 sqrt(T^(-1/3))") == ("O(T<sup>3/4</sup>) &lt;= 2 \N{SQUARE ROOT}(T<sup>-1/3</sup>)")


# What is wrong -----------------------------------------------------------------------------------------------------------


def missing(folder: Path) -> None:
    shutil.rmtree(folder)


def no_study(folder: Path) -> None:
    (folder / "study.toml").unlink()


def unfinished(folder: Path) -> None:
    (folder / "measures.parquet").unlink()


def cut(folder: Path) -> None:
    file = folder / "measures.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def no_versions(folder: Path) -> None:
    (folder / "versions.json").write_text("[1, 2]")


def empty(folder: Path) -> None:
    write_measures(folder / "measures.parquet", [])


def a_column_less(folder: Path) -> None:
    file = folder / "measures.parquet"
    parquet.write_table(parquet.read_table(file).drop_columns(["regret"]), file)


def no_json(folder: Path) -> None:
    (folder / "verdicts.json").write_text("{")


def deep(folder: Path) -> None:
    (folder / "verdicts.json").write_text("[" * 100_000 + "]" * 100_000)


def no_object(folder: Path) -> None:
    (folder / "verdicts.json").write_text("[]")


def a_number_for_lines(folder: Path) -> None:
    (folder / "verdicts.json").write_text(json.dumps({"title": "", "studies": [], "lines": 3}))


def versions_cut(folder: Path) -> None:
    (folder / "versions.json").write_text('{"lewa": ')


def words_for_numbers(folder: Path) -> None:
    file = folder / "measures.parquet"
    table = parquet.read_table(file)
    words = pa.array(["many"] * len(table))
    parquet.write_table(table.set_column(table.column_names.index("regret"), "regret", words), file)


def no_names(folder: Path) -> None:
    rows = rows_of(folder)
    write_measures(folder / "measures.parquet", [{**row, "game": None} for row in rows])


def no_lines(folder: Path) -> None:
    (folder / "verdicts.json").write_text(json.dumps({"title": "", "studies": []}))


def half_a_line(folder: Path) -> None:
    (folder / "verdicts.json").write_text(json.dumps({"title": "", "studies": [], "lines": [{"claim": ""}]}))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (missing, "there is no folder .*copy"),
        (no_study, "copy has no study: it has neither study.toml nor verdicts.json"),
        (unfinished, "the study in .*copy is not finished; to resume it: lewa run .*study.toml --out .*copy"),
        (cut, "measures.parquet is damaged: "),
        (no_versions, "versions.json is damaged: Input should be an object"),
        (empty, "measures.parquet is damaged: it has no rows"),
        (a_column_less, "measures.parquet is damaged: it has no column 'regret'"),
        (no_json, "verdicts.json is damaged: "),
        (deep, "verdicts.json is damaged: Invalid JSON: recursion limit exceeded"),
        (no_object, "verdicts.json is damaged: 0 Field required"),
        (a_number_for_lines, "verdicts.json is damaged: lines Input should be a valid array"),
        (versions_cut, "versions.json is damaged: Invalid JSON: EOF"),
        (words_for_numbers, "measures.parquet is damaged: its column 'regret' is not of the type double"),
        (no_names, "measures.parquet is damaged: a row does not name its run"),
        (no_lines, "verdicts.json is damaged: lines Field required"),
        (half_a_line, "verdicts.json is damaged: lines 0 quantity Field required"),
    ],
)
def test_a_folder_that_cannot_be_shown_is_refused_in_a_sentence(
    copy: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(copy)
    with pytest.raises(ValueError, match=sentence) as refused:
        write_report(copy)
    assert "\n" not in str(refused.value)
    assert not (copy / "index.html").exists()


def test_without_matplotlib_the_command_says_what_to_install(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"^a report needs matplotlib: pip install -e '\.\[lab\]' in a clone of lewa$"):
        write_report(copy)


@pytest.mark.usefixtures("quick")
def test_the_command_prints_the_page_or_one_sentence(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: Path) -> int:
        monkeypatch.setattr(sys, "argv", ["lewa", "report", str(folder)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0)

    write_measures(copy / "measures.parquet", cut_short(copy))
    assert run(copy) == 0
    assert capsys.readouterr().out == f"{copy / 'index.html'}\n"
    unfinished(copy)
    assert run(copy) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "is not finished" in said.err


# Figures -----------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(-50, 250), st.floats(5, 30)), min_size=1, max_size=12))
def test_labels_are_moved_apart_and_no_farther(labels: list[tuple[float, float]]) -> None:
    wanted, heights = zip(*labels, strict=True)
    room = max(200.0, sum(heights))
    places = apart(wanted, heights, 0.0, room)
    spans = sorted((place - high / 2, place + high / 2) for place, high in zip(places, heights, strict=True))
    assert spans[0][0] >= -1e-6
    assert spans[-1][1] <= room + 1e-6
    assert all(below[1] <= above[0] + 1e-6 for below, above in pairwise(spans))
    inside = all(high / 2 <= at <= room - high / 2 for at, high in labels)
    free = sorted((at - high / 2, at + high / 2) for at, high in labels)
    if inside and all(below[1] <= above[0] for below, above in pairwise(free)):
        assert places == pytest.approx(list(wanted))


def test_numbers_on_scales_are_short() -> None:
    numbers = [0, 0.02, -1, 12.34, 999.6, 1000, 25_000, 1.5e6, -2e9]
    minus = "\N{MINUS SIGN}"
    assert [short(x) for x in numbers] == ["0", "0.02", f"{minus}1", "12.3", "1k", "1k", "25k", "1.5M", f"{minus}2G"]


def test_long_labels_are_broken_between_words() -> None:
    assert wrapped("bandit-lewa@printed delta=0.125") == "bandit-lewa@printed\ndelta=0.125"


def line(name: str, height: float) -> Curve:
    marks = np.array([1, 10, 100])
    values = height * marks / 100
    return Curve(name, marks, values, values, values, colour="#0b68a8")


def test_what_is_proved_far_above_is_said_in_the_label() -> None:
    far, near = Level("a", "#0b68a8", 10 * NEAR), Level("b", "#c4500f", 9.0)
    labels = [text for text, *_ in Curves("", (line("a", 8.0), line("b", 7.0)), (far, near)).labels()]
    assert labels == ["a\nproved \N{LESS-THAN OR EQUAL TO} 30", "b", "proved: b"]


def test_what_is_proved_of_several_is_drawn_once() -> None:
    levels = (Level("a", "#0b68a8", 9.0), Level("b", "#c4500f", 9.0))
    labels = [text for text, *_ in Curves("", (line("a", 8.0), line("b", 7.0)), levels).labels()]
    assert labels == ["a", "b", "proved"]
