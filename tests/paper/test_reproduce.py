import json
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from lewa import cli
from lewa.lab.execute import execute
from lewa.lab.study import expand, parse
from lewa.paper import reproduce as lab
from lewa.paper.claims import BEYOND, CLAIMS, PAPER, STUDIES
from lewa.paper.league import Standing, league
from lewa.paper.league import markdown as league_markdown
from lewa.paper.rules import AtMost, VerdictLine, series, verdict
from lewa.report.paper_tables import verdict_table
from lewa.theory.guarantees import PATHWISE, PROBABLE

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

ROOT = Path(__file__).parent.parent.parent
Whole: TypeAlias = tuple[Path, list[VerdictLine]]  # a folder, and what was decided from it
SHORT = 260  # rounds: every study is run, none takes long
# A league of everybody in every game is what tests/simulate/test_matrix.py plays; here a small one is enough.
PLAYERS, WORLDS = ("ewa", "lewa", "bandit-lewa"), ("bernoulli", "ads")
# These take some seconds together; all of them take minutes, so the other rows of the tables are not measured again here.
CHEAP = ("tight", "ewa", "theorem-3", *["gated-penalty"] * ("LEWA_HUNT" in os.environ))
INTERRUPTED = ("ewa", "theorem-2", "theorem-3")  # studies of which some are finished, some begun and some not when it stops


# The studies -------------------------------------------------------------------------------------------------------------


def test_every_built_in_study_is_a_claims_and_reads_as_a_file_of_its_own() -> None:
    folder = Path(lab.__file__).parent / "studies"
    assert {file.stem for file in folder.glob("*")} == set(STUDIES)
    for name in STUDIES:
        study = lab.built_in(name)
        assert study.text == (folder / f"{name}.toml").read_text()
        assert study.name != name
        assert study.text.startswith("#")  # it says what it is for


@pytest.mark.parametrize("name", STUDIES)
def test_at_length_a_study_goes_further_in_the_same_steps(name: str) -> None:
    study = lab.built_in(name)
    full = lab.at_length(study)
    assert full.rounds[: len(study.rounds)] == study.rounds
    reacts = name in ("reacting", "penalty-breaker")
    assert full.rounds[-1] == (64_000 if reacts else 10_000_000)
    steps = [b / a for a, b in zip(full.rounds, full.rounds[1:], strict=False)]
    assert max(steps) - min(steps) < 0.01
    assert len(full.seeds) == (1 if len(study.seeds) == 1 else max(32, len(study.seeds)))
    assert parse(full.text).model_dump() == full.model_dump()  # so that a folder which holds it is known again
    assert (full.games, full.learners) == (study.games, study.learners)


def test_a_formula_with_probability_is_judged_by_a_bound_with_probability() -> None:
    rules = [(claim, what, rule) for claim in CLAIMS for what, rule in claim.rules.items()]
    for claim, what, rule in rules:
        if not isinstance(rule, AtMost) or "w.p." not in rule.formula:
            continue
        runs = [run for run in expand(lab.within(lab.built_in(claim.study), SHORT)) if run.learner == rule.learner]
        bounds = [rule.bound(run, what) for run in runs if run.game == rule.game or not rule.game]
        kinds = {bound.kind for bound in bounds if bound is not None and not bound.trivial}
        assert kinds <= {PROBABLE, PATHWISE}, claim.title


def test_edited_sources_get_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = lab.folder(full=False)
    assert before == lab.folder(full=False)
    assert before.parent == Path("results")
    assert lab.folder(full=True) == before.with_name(f"{before.name}-full")
    monkeypatch.setattr(lab, "versions", lambda: {"source": "edited"})
    assert lab.folder(full=False) != before


# The job -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """All of it, cut short, in this process."""
    out = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setattr(lab, "league", partial(league, players=PLAYERS, worlds=WORLDS))
        return out, lab.reproduce(out, executor=executor, longest=SHORT)


def test_verdicts_are_written_as_they_are_returned(whole: Whole) -> None:
    out, lines = whole
    told = json.loads((out / "verdicts.json").read_text())
    assert set(told) == {"title", "lines", "studies"}
    assert [VerdictLine(**line) for line in told["lines"]] == lines
    assert all(set(line) == set(VerdictLine._fields) for line in told["lines"])
    assert all(type(line["holds"]) is bool and line["sense"] in ("<=", ">=", "=") and line["why"] for line in told["lines"])
    assert [study["name"] for study in told["studies"]] == list(STUDIES)
    assert all((out / study["name"] / "measures.parquet").exists() for study in told["studies"])
    assert [(line.claim, line.quantity) for line in lines] == [
        (claim.title, quantity) for claim in CLAIMS for quantity in claim.rules
    ]
    assert (out / "verdicts.md").read_text().strip() == lab.markdown(lines)
    standings = [Standing(**one) for one in json.loads((out / "league.json").read_text())]
    assert [(one.game, one.learner) for one in standings] == [(game, name) for game in WORLDS for name in PLAYERS]
    assert (out / "league.md").read_text() == league_markdown(standings)


def test_every_line_is_found_in_the_measures_that_it_names(whole: Whole) -> None:
    from pyarrow.parquet import read_table

    out, lines = whole
    for line in lines:
        rows = read_table(out / line.study / "measures.parquet").to_pylist()
        own = [row for row in rows if (row["game"], row["rounds"]) == (line.game, line.rounds)]
        assert any(f"{row['learner']} {row['settings']}".strip() == line.learner for row in own), line


class Dying(ThreadPoolExecutor):
    """Run this many tasks, then stop as Ctrl-C does."""

    def __init__(self, tasks: int) -> None:
        super().__init__(1)
        self.tasks = tasks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks -= 1
        if self.tasks < 0:
            raise KeyboardInterrupt
        return super().submit(fn, *args, **kwargs)


# tests/lab/test_run.py kills a process that runs studies.
def test_stopped_in_the_middle_and_run_again_it_gives_the_same_table(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "STUDIES", INTERRUPTED)
    monkeypatch.setattr(lab, "CLAIMS", [claim for claim in CLAIMS if claim.study in INTERRUPTED])
    monkeypatch.setattr(lab, "league", partial(league, players=PLAYERS, worlds=WORLDS))

    def finished() -> int:
        return sum(file.read_bytes().count(b"\n") for file in tmp_path.glob("*/journal.jsonl"))

    with Dying(6) as dying, pytest.raises(KeyboardInterrupt):
        lab.reproduce(tmp_path, executor=dying, longest=SHORT)
    runs = sum(len(expand(lab.within(lab.built_in(name), SHORT))) for name in INTERRUPTED)
    runs += len(WORLDS) * len(PLAYERS) * lab.LEAGUE[1]
    before = [file.read_bytes() for file in sorted(tmp_path.glob("*/journal.jsonl"))]
    assert 1 <= finished() < runs
    assert not (tmp_path / "verdicts.json").exists()
    with ThreadPoolExecutor(1) as executor:
        lines = lab.reproduce(tmp_path, executor=executor, longest=SHORT)
    assert finished() == runs  # what was finished was not done again
    after = [file.read_bytes() for file in sorted(tmp_path.glob("*/journal.jsonl"))]
    assert all(any(then.startswith(now) for then in after) for now in before)
    assert lines == [line for line in whole[1] if line.study in INTERRUPTED]
    assert (tmp_path / "verdicts.md").read_text().strip() == lab.markdown(lines)
    for name in ("league.json", "league.md", *(f"{study}/measures.parquet" for study in INTERRUPTED)):
        assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes(), name


def test_another_version_or_length_in_the_same_folder_is_refused(whole: Whole) -> None:
    out, _ = whole
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="has another study"):
        lab.reproduce(out, executor=executor, longest=258)
    assert json.loads((out / "verdicts.json").read_text())["title"] == lab.TITLE


# The table ---------------------------------------------------------------------------------------------------------------


def test_the_table_shows_regret_and_violation_together_and_says_no_where_it_is_so(
    whole: Whole, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [whole[1][0]._replace(claim="One", holds=True, bound=2498.2, ratio=0.5, slope=0.5, low=0.49, high=0.51)]
    lines += [lines[0]._replace(quantity="violation", holds=False, bound=None, ratio=None, formula="O(T^3/4)")]
    lines += [lines[0]._replace(claim="Two", quantity="multiplier", measured=1.5, ratio=-1.0, slope=None, exponent=None)]
    cli.out.print(verdict_table(lines))
    printed = [row.split() for row in capsys.readouterr().out.splitlines()[1:]]
    number = f"{lines[0].measured:.4g}"
    assert printed[1] == ["One", "regret", "<=", "2,498", number, "0.50", "0.50", "[0.49,", "0.51]", "1/2", "yes"]
    assert printed[2] == ["violation", "<=", "O(T^3/4)", number, "-", "0.50", "[0.49,", "0.51]", "1/2", "NO"]
    assert printed[3] == ["Two", "multiplier", "<=", "2,498", "1.5", "<", "0", "-", "-", "yes"]
    assert lab.markdown(lines).splitlines()[2:] == [
        f"| One | {SHORT} | {number} <= 2,498 = 3 sqrt(T ln K), slope 0.50 | yes | {number} <= O(T^3/4), slope 0.50 | NO |",
        f"| Two | {SHORT} | multiplier: 1.5 <= 2,498 = 3 sqrt(T ln K) | yes |  |  |",
    ]


def test_what_is_beyond_the_paper_has_a_heading(whole: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    cli.out.print(verdict_table(whole[1]))
    printed = [row.strip() for row in capsys.readouterr().out.splitlines()]
    assert printed[printed.index(lab.SECOND) + 1].startswith(BEYOND[0].title)
    written = lab.markdown(whole[1]).splitlines()
    assert written.index(f"| **{lab.SECOND}** |  |  |  |  |  |") == 2 + len(PAPER)
    assert len(written) == 3 + len(CLAIMS)


def table_in(document: str) -> list[str]:
    return (ROOT / document).read_text().split("<!-- reproduce -->")[1].strip().splitlines()


@pytest.mark.compiled
def test_the_documents_name_every_claim_and_show_what_the_cheap_studies_measure() -> None:
    table, second = table_in("docs/reproduce.md"), f"**{lab.SECOND}**"
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in table[2:]}
    assert list(rows) == [*(claim.title for claim in PAPER), second, *(claim.title for claim in BEYOND)]
    head, rule, *few = table_in("README.md")
    assert [head, rule] == table[:2]
    assert [row for row in table if row in few] == few, "README.md shows rows that docs/reproduce.md does not have"
    assert 0 < sum("| NO |" in row for row in few) < len(few) == 5, "README.md shows claims that hold and claims that fail"
    found: dict[str, Any] = {}
    for name in CHEAP:
        study = lab.built_in(name)
        found[name] = series(study, map(execute, expand(study)))
    for claim in CLAIMS:
        longest = max(lab.built_in(claim.study).rounds)
        assert rows[claim.title].startswith(f"| {claim.title} | {longest:,} | ")
        if claim.study in CHEAP:
            head, _, measured = lab.markdown(verdict(claim, found[claim.study])).splitlines()
            assert head == table[0]
            assert rows[claim.title] == measured, "the table is not what `lewa reproduce` writes to verdicts.md"


# The command -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def lewa_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `lewa reproduce`, cut short: its exit status, and what it printed."""
    cut = lab.within
    monkeypatch.setattr(lab, "built_in", lambda name, whole=lab.built_in: cut(whole(name), SHORT))
    monkeypatch.setattr(lab, "LEAGUE", (SHORT, lab.LEAGUE[1]))
    monkeypatch.setattr(lab, "league", partial(league, players=PLAYERS, worlds=WORLDS))

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lewa", "reproduce", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return run


def test_the_command_ends_with_the_table_and_the_pages_path(
    lewa_: Any, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lewa.report import study_report as report

    monkeypatch.setattr(report, "write_report", lambda out: Path(out) / "index.html")
    out = whole[0]
    status, printed, complaint = lewa_("--out", out)  # everything is there: it is only judged again
    assert (status, complaint) == (0, "")
    assert printed.splitlines()[-1] == str(out / "index.html")
    assert "Theorem 3, proof's tuning: claimed" in printed
    status, printed, _ = lewa_("--out", out, "--json")
    told = json.loads(printed)
    assert status == 0
    assert told.pop("page") == str(out / "index.html")
    assert told == json.loads((out / "verdicts.json").read_text())


def test_a_folder_begun_with_other_versions_is_refused_with_one_sentence(lewa_: Any, whole: Whole) -> None:
    stamp = whole[0] / STUDIES[3] / "versions.json"
    held = stamp.read_text()
    try:
        stamp.write_text(json.dumps({**json.loads(held), "source": "other"}))
        status, printed, complaint = lewa_("--out", whole[0])
    finally:
        stamp.write_text(held)
    assert (status, printed) == (2, "")
    assert "was begun with source other, not" in complaint
    assert complaint.count("\n") == 1
    assert lewa_("--out", whole[0], "--workers", 2, "--cluster", "tcp://nowhere:1")[0] == 2
