import json
import os
import re
import subprocess
import sys
from csv import reader
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from rich.console import Console
from tests import forks
from tests.statements import late_statements, probable_statements

from lewa import checks, cli
from lewa.data.files import read
from lewa.games import Table, make
from lewa.learners import Lewa
from lewa.learners import make as make_learner
from lewa.measures import hindsight, positive_violation, regret, violation
from lewa.report.tables import Sheet, table
from lewa.simulate.run import play
from lewa.theory.setting import most_late

pytestmark = pytest.mark.slow


@pytest.fixture
def lewa_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command: its exit status, and what it printed."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lewa", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return run


def check_summary(found: dict[str, Any], names: list[str], seeds: int, actions: int, constraints: int) -> None:
    assert set(found) == {"rounds", "actions", "seeds", "floor", "hindsight", "learners"}
    assert (found["seeds"], found["actions"], len(found["floor"])) == (seeds, actions, constraints)
    assert list(found["learners"]) == names
    if found["hindsight"] is not None:
        assert set(found["hindsight"]) == {"value", "play", "price", "feasible"}
        assert len(found["hindsight"]["play"]) == actions
        assert len(found["hindsight"]["price"]) == constraints
    for got in found["learners"].values():
        assert {"reward", "regret", "violation", "positive_violation", "multiplier", "guarantee"} <= set(got)
        for measure in ("reward", "regret"):
            if got[measure] is not None:
                assert set(got[measure]) == {"mean", "max", "per_seed"}
                assert len(got[measure]["per_seed"]) == seeds
                assert got[measure]["mean"] == pytest.approx(np.mean(got[measure]["per_seed"]))
        for measure in ("violation", "positive_violation"):
            assert np.shape(got[measure]["per_seed"]) == (seeds, constraints)
            assert len(got[measure]["mean"]) == len(got[measure]["max"]) == constraints
        assert len(got["multiplier"]) == constraints
        assert {"regret", "violation", "kind", "holds"} <= set(got["guarantee"])


def test_play_prints_the_object_that_the_contract_fixes(lewa_: Any) -> None:
    words = ("--learner", "lewa", "--learner", "bandit-lewa@printed", "--floor", 0.6, "--rounds", 500, "--seeds", 3)
    status, printed, _ = lewa_("play", "bernoulli", *words, "--json")
    assert status == 0
    found = json.loads(printed)
    check_summary(found, ["lewa", "bandit-lewa@printed"], seeds=3, actions=3, constraints=1)
    assert found["rounds"] == 500
    assert found["learners"]["lewa"]["guarantee"]["holds"] is True
    assert found["learners"]["bandit-lewa@printed"]["guarantee"]["regret"] is None
    assert found["learners"]["bandit-lewa@printed"]["measured_on"] == "action"


def test_play_for_people_shows_regret_and_violation_together(lewa_: Any) -> None:
    status, printed, _ = lewa_("play", "bernoulli", "--learner", "lewa", "--floor", 0.6, "--rounds", 200, "--seeds", 2)
    assert status == 0
    assert "regret" in printed
    assert "violation" in printed


def test_trace_holds_plays_multipliers_and_actions(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "trace.npz"
    for name in ("lewa", "bandit-lewa", "hp-bandit-lewa"):
        words = ("--learner", name, "--floor", 0.6, "--rounds", 50, "--seeds", 2, "--trace", file)
        status, _, _ = lewa_("play", "bernoulli", *words, "--json")
        assert status == 0
        with np.load(file) as trace:
            assert trace["plays"].shape == (2, 50, 3)
            assert trace["multipliers"].shape == (2, 50, 1)
            assert trace["actions"].shape == (2, 50)
            assert trace["multipliers"][:, 0].max() == 0
            assert trace["plays"].sum(axis=2) == pytest.approx(np.ones((2, 50)))


def test_guarantee_of_a_learner_without_a_theorem_names_that_of_its_governor(lewa_: Any) -> None:
    _, said, _ = lewa_("guarantee", "squarecb-lewa", "--actions", 3, "--rounds", 10_000, "--floor", 0.6)
    assert "lewa guarantee squarecb-lewa+governed" in " ".join(said.split())
    _, printed, _ = lewa_("guarantee", "squarecb-lewa+governed", "--actions", 3, "--rounds", 10_000, "--floor", 0.6)
    assert "theorem W" in printed


def test_guarantee_of_the_papers_tuning_is_two_root_t_ln_k(lewa_: Any) -> None:
    words = ("lewa", "--actions", 10, "--rounds", 100_000, "--floor", 0.6, "--set", "tuning=paper", "--json")
    status, printed, _ = lewa_("guarantee", *words)
    found = json.loads(printed)
    assert status == 0
    assert found["regret"] == pytest.approx(2 * np.sqrt(100_000 * np.log(10)))
    assert found["kind"] == "expected [E V]+"
    assert len(found["violation"]) == 1
    status, printed, _ = lewa_("guarantee", "lewa@printed", *words[1:7], "--json")
    assert json.loads(printed)["regret"] == found["regret"]


def test_a_bound_with_high_probability_is_printed_with_its_epsilon(lewa_: Any) -> None:
    problem = ("--actions", 10, "--rounds", 100_000, "--floor", 0.6)
    _, printed, _ = lewa_("guarantee", "bandit-op-ewa", *problem)
    assert "high probability (epsilon 0.05)" in printed
    _, printed, _ = lewa_("guarantee", "lewa", *problem)
    assert "epsilon" not in printed


def test_advice_says_which_bound_on_an_average_holds_in_a_single_run_too(lewa_: Any) -> None:
    _, printed, _ = lewa_("advise", "--feedback", "bandit", "--actions", 10, "--rounds", 100_000, "--floor", 0.6)
    text = " ".join(printed.split())
    assert "is at most 15.6 %, its violation, in a single run too with high probability. The bound of the runner-up" in text
    assert "is 10.9 %, its violation, on average over runs only; a bound on an average counts twice" in text
    _, printed, _ = lewa_(
        "advise", "--feedback", "bandit", "--actions", 10, "--rounds", 100_000, "--floor", 0.6, "--epsilon", 0.05
    )
    assert "single run" not in printed  # all bounds are for single runs


def test_guarantee_with_a_delay_prints_the_bounds_for_late_answers(lewa_: Any) -> None:
    words = ("--actions", 3, "--rounds", 10**6, "--floor", 0.5, "--delay", 20, "--json")
    for name, source in (("late-lewa", "(Th2)"), ("late-anytime-loss-lewa", "(Th7)")):
        status, printed, _ = lewa_("guarantee", name, *words)
        first = json.loads(printed)
        assert (status, first["source"][-5:]) == (0, source)
        learner = make_learner(name, 3, 10**6, 0.5)
        assert first["regret"] == late_statements(learner, 3, 10**6, most_late(10**6, 20))[0].regret
    _, printed, _ = lewa_("guarantee", "anytime-lewa", *words)
    assert json.loads(printed)["reason"] == "nothing is proved for this learner with late answers"
    _, printed, _ = lewa_("guarantee", "late-lewa", *words, "--epsilon", 0.1)
    assert (json.loads(printed)["kind"], json.loads(printed)["epsilon"]) == ("high probability", 0.1)
    _, printed, _ = lewa_("guarantee", "late-lewa-ix", *words, "--epsilon", 0.1, "--set", "delay=20")
    found = json.loads(printed)
    learner = make_learner("late-lewa-ix", 3, 10**6, 0.5, delay=20, epsilon=0.1)
    (bound,) = probable_statements(learner, 3, 10**6, most_late(10**6, 20), 0.1)
    assert (found["kind"], found["source"][-5:], found["regret"]) == ("high probability", "(Th6)", bound.regret)
    _, printed, _ = lewa_("guarantee", "late-lewa-ix", *words)
    assert "needs delta >= 4*m*eta*(K + G) with G = 40" in json.loads(printed)["reason"]
    _, printed, _ = lewa_("guarantee", "lewa", *words, "--epsilon", 0.1)
    assert json.loads(printed)["reason"].startswith("needs delta > (m*eta/2)*(1 + G) with G = 40 decisions open together")
    _, printed, _ = lewa_("guarantee", "late-anytime-loss-lewa", *words, "--epsilon", 0.1)
    assert json.loads(printed)["reason"] == "nothing is proved with high probability for this learner with late answers"
    status, _, error = lewa_("guarantee", "lewa", *words, "--slater", 0.1)
    assert (status, "delay cannot be combined with slater" in error) == (2, True)


def test_guarantee_with_a_delay_names_the_setting_that_tunes_for_it(lewa_: Any) -> None:
    words = ("guarantee", "late-loss-lewa", "--actions", 3, "--rounds", 10**6, "--floor", 0.5, "--delay", 20)
    assert "--set delay=20 tunes late-loss-lewa" in lewa_(*words)[1]
    assert "tunes" not in lewa_(*words, "--set", "delay=20")[1]


def test_guarantee_says_why_nothing_is_proved(lewa_: Any) -> None:
    words = ("bandit-lewa@printed", "--actions", 2, "--rounds", 10_000, "--floor", 0.5)
    status, printed, _ = lewa_("guarantee", *words, "--json")
    found = json.loads(printed)
    assert (status, found["regret"], found["violation"], found["kind"]) == (0, None, None, None)
    assert "gives only the trivial bounds regret <= T" in found["reason"]
    _, printed, _ = lewa_("guarantee", *words)
    assert "gives only the trivial bounds" in " ".join(printed.split())
    late = ("fixed-share-lewa", "--actions", 5, "--rounds", 10_000, "--floor", 0.5, "--delay", 20)  # three statements
    _, printed, _ = lewa_("guarantee", *late)
    assert printed.count("none") == " ".join(printed.split()).count("gives only the trivial bounds") == 1


def test_epsilon_asks_for_high_probability(lewa_: Any) -> None:
    for name in ("lewa", "hp-lewa", "hp-bandit-lewa"):
        words = (name, "--actions", 3, "--rounds", 10**7, "--floor", 0.5, "--epsilon", 0.1, "--json")
        _, printed, _ = lewa_("guarantee", *words)
        found = json.loads(printed)
        assert found["kind"] == "high probability"
        assert found["epsilon"] == pytest.approx(0.1)


def test_epsilon_only_asks_where_the_tuning_is_given(lewa_: Any) -> None:
    words = ("--actions", 3, "--rounds", 10_000, "--floor", 0.5, "--epsilon", 0.1, "--json")
    for more in (("lewa@printed",), ("lewa", "--set", "tuning=paper"), ("lewa", "--set", "b=0.6")):
        status, printed, _ = lewa_("guarantee", *more, *words)
        assert status == 0
        assert "needs delta > m*eta/2" in json.loads(printed)["reason"]


def test_an_assumption_nobody_made_is_no_headline(lewa_: Any) -> None:
    words = ("lewa", "--actions", 3, "--rounds", 100_000, "--floor", 0.5, "--slater", 0.5, "--json")
    found = json.loads(lewa_("guarantee", *words)[1])
    assert found["source"] == "LEWA (a), (b)"
    assert found["statements"][-1]["source"] == "LEWA, stochastic rewards"


def test_lists_name_everything_in_the_registries(lewa_: Any) -> None:
    from lewa import games, learners

    _, printed, _ = lewa_("learners", "--json")
    rows = json.loads(printed)
    assert [row["name"] for row in rows] == list(learners.ALL)
    assert {row["feedback"] for row in rows} == {"full", "bandit"}
    _, printed, _ = lewa_("games", "--json")
    assert [row["name"] for row in json.loads(printed)] == list(games.ALL)
    listed = lewa_("learners")[1]
    at = [listed.index(f"Learners: {family}") for family in learners.FAMILIES]
    assert at == sorted(at)
    for start, members, end in zip(at, learners.FAMILIES.values(), [*at[1:], len(listed)], strict=True):
        assert all(f"\n {name} " in listed[start:end] for name in members)
    assert "bernoulli" in lewa_("games")[1]


def test_a_setting_goes_to_the_game_its_twists_and_the_learners_whoever_knows_it(lewa_: Any) -> None:
    words = ("--learner", "lewa", "--floor", 0.6, "--rounds", 200, "--seeds", 2, "--json")
    late = json.loads(lewa_("play", "low-variation+delay", *words, "--set", "delay=200", "--set", "swing=0.1")[1])
    game = make("low-variation+delay", 0.6, 200, delay=200, swing=0.1)
    trace = play(Lewa.tuned(3, 200, 0.6), game, 200, seeds=2)
    assert late["learners"]["lewa"]["reward"]["per_seed"] == trace.reward[:, -1].tolist()
    assert late["learners"]["lewa"]["multiplier"] == [0.0]  # nothing was learned
    assert late["learners"]["lewa"]["guarantee"]["reason"].startswith("no theorem covers feedback that comes late")
    status, _, said = lewa_("play", "bernoulli+delay", *words, "--set", "dely=3")
    assert status == 2
    assert "has no parameter 'dely'" in said
    assert "did you mean 'delay'?" in said


RNG = np.random.default_rng(8)
REWARDS, CONSTRAINTS = RNG.random((40, 3)).round(3), RNG.random((40, 3, 2)).round(3)


def as_columns(wide: bool) -> pa.Table:
    if wide:
        columns = {f"reward:{a}": REWARDS[:, i] for i, a in enumerate("xyz")}
        columns |= {f"{n}:{a}": CONSTRAINTS[:, i, j] for j, n in enumerate(("thrift", "power")) for i, a in enumerate("xyz")}
        return pa.table(columns)
    t, i = (k.ravel() for k in np.indices((40, 3)))
    names = np.array(["x", "y", "z"])[i]
    return pa.table(
        {
            "round": t,
            "action": names,
            "reward": REWARDS.ravel(),
            "c1": CONSTRAINTS[..., 0].ravel(),
            "c2": CONSTRAINTS[..., 1].ravel(),
        }
    )


@pytest.mark.parametrize("kind", ["npz", "csv", "csv.gz", "parquet", "long csv"])
def test_replay_reads_every_kind_of_file_alike(lewa_: Any, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"table.{kind.split()[-1]}"
    if kind == "npz":
        np.savez(file, rewards=REWARDS, constraints=CONSTRAINTS)
    elif kind == "parquet":
        parquet.write_table(as_columns(wide=True), file)
    else:
        with pa.output_stream(str(file)) as stream:  # compresses when the name ends in .gz
            csv.write_csv(as_columns(wide=kind != "long csv"), stream)
    words = ("replay", file, "--learner", "lewa", "--learner", "bandit-lewa", "--budget", 0.4, "--budget", 0.5, "--seeds", 2)
    status, printed, _ = lewa_(*words, "--json")
    found = json.loads(printed)
    assert status == 0
    check_summary(found, ["lewa", "bandit-lewa"], seeds=2, actions=3, constraints=2)
    assert found["rounds"] == 40
    trace = play(Lewa.tuned(3, 40, (0.4, 0.5)), Table(REWARDS, CONSTRAINTS))
    assert found["learners"]["lewa"]["reward"]["per_seed"] == [trace.reward[0, -1]] * 2


def test_a_table_as_pandas_writes_it_is_read(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    rows = [
        f"{n},{t},{a},{REWARDS[t, i]},0.5"
        for n, (t, i, a) in enumerate((t, i, a) for t in range(40) for i, a in enumerate("xyz"))
    ]
    file.write_text(",round,action,reward,c\n" + "\n".join(rows))
    status, printed, _ = lewa_("replay", file, "--learner", "lewa", "--budget", 0.4, "--seeds", 2, "--json")
    assert status == 0
    assert json.loads(printed)["rounds"] == 40


def test_constraints_are_taken_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    names = [f"c{j}" for j in range(1, 12)]
    file.write_text(f"round,action,reward,{','.join(names)}\n0,x,1,{','.join(f'{j / 20}' for j in range(1, 12))}\n")
    game = read(file)
    assert isinstance(game, Table)
    assert game.block(np.zeros(1, dtype=np.uint64), 0, 1).constraints[0, :, 0] == pytest.approx(np.arange(1, 12) / 20)


def test_replay_of_a_bandit_log_has_no_regret_and_no_hindsight(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    action = RNG.integers(0, 2, 400)
    columns = {"t": np.arange(400), "action": action, "propensity": np.full(400, 0.5), "reward": 1 - action, "c": action}
    csv.write_csv(pa.table(columns), file)
    status, printed, _ = lewa_("replay", file, "--learner", "bandit-lewa", "--budget", 0.5, "--seeds", 3, "--json")
    found = json.loads(printed)
    assert status == 0
    check_summary(found, ["bandit-lewa"], seeds=3, actions=2, constraints=1)
    assert found["hindsight"] is None
    assert found["learners"]["bandit-lewa"]["regret"] is None
    assert 150 <= found["rounds"] <= 250  # about half of the rows count
    status, _, complaint = lewa_("replay", file, "--learner", "lewa", "--budget", 0.5)
    assert status == 2
    assert "bandit" in complaint
    assert "squarecb-lewa" in lewa_("replay", file, "--learner", "auto", "--budget", 0.5)[1]


def test_the_former_name_of_a_budget_is_accepted_with_a_warning(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "table.npz"
    np.savez(file, rewards=REWARDS, constraints=CONSTRAINTS)
    replays, frontiers = ("replay", file, "--learner", "lewa"), ("frontier", file, "--learner", "lewa", "--line", "c2=0.3")
    for words, lines in ((replays, (0.4, 0.5)), (frontiers, (0.4,))):
        same = [
            lewa_(*words, *(word for line in lines for word in (option, line)), "--seeds", 1, "--json")
            for option in ("--budget", "--floor")
        ]
        assert same[0][:2] == same[1][:2]
        assert same[0][0] == 0
        assert "--floor" not in same[0][2]
        assert "warning: --floor is the former name of --budget" in same[1][2]


def own_table(folder: Path) -> Path:
    file = folder / "queries.csv"
    columns = {f"stars:{a}": 1 + 4 * REWARDS[:, i] for i, a in enumerate("xyz")}
    columns |= {f"dollars:{a}": 0.02 * CONSTRAINTS[:, i, 0] for i, a in enumerate("xyz")}
    csv.write_csv(pa.table(columns), file)
    return file


def test_replay_in_units_of_the_users_is_the_same_replay(lewa_: Any, tmp_path: Path) -> None:
    game = Table(REWARDS, 1 - CONSTRAINTS[:, :, 0])
    trace = play(Lewa.tuned(3, 40, 0.45), game, seeds=2)
    words = ("--reward", "stars=1..5", "--at-most", "dollars=0..0.02", "--budget", 0.011, "--learner", "lewa", "--seeds", 2)
    status, printed, _ = lewa_("replay", own_table(tmp_path), *words, "--json")
    assert status == 0
    found = json.loads(printed)
    got, best = found["learners"]["lewa"], hindsight(trace)[0]
    assert found["floor"] == pytest.approx([0.011])
    assert found["hindsight"]["value"] == pytest.approx(1 + 4 * best.value)
    assert found["hindsight"]["price"] == pytest.approx(best.price * 4 / 0.02)
    assert got["reward"]["per_seed"] == pytest.approx(40 + 4 * trace.reward[:, -1])
    assert got["regret"]["per_seed"] == pytest.approx(4 * regret(trace))
    assert got["violation"]["per_seed"][1] == pytest.approx(0.02 * violation(trace)[1])
    assert got["positive_violation"]["mean"] == pytest.approx(0.02 * positive_violation(trace).mean(axis=0))
    assert got["multiplier"] == pytest.approx(trace.multiplier[:, -1].mean(axis=0) * 4 / 0.02)
    _, printed, _ = lewa_("replay", own_table(tmp_path), *words)
    assert "2 seeds, dollars at most 0.011\n" in printed.replace(" \n", "\n").replace("  ", "")
    assert "price of dollars" in printed
    assert "of rewards and constraints scaled to [0, 1]" in " ".join(printed.split())  # what a reason says in numbers is
    _, _, complaint = lewa_("replay", own_table(tmp_path), *words[:4], "--budget", 0.001, *words[6:])
    assert "warning: no play meets dollars at most 0.001" in complaint
    status, _, complaint = lewa_("replay", own_table(tmp_path), *words, "--budget", 0.01)
    assert (status, complaint.count("\n")) == (2, 1)
    assert "give one limit per constraint (dollars at most), in this order, got 2" in complaint


def test_frontier_for_people_shows_reward_and_violation_together(lewa_: Any, tmp_path: Path) -> None:
    words = (
        "frontier",
        own_table(tmp_path),
        "--reward",
        "stars",
        "--at-most",
        "dollars",
        "--points",
        2,
        "--learner",
        "lewa",
    )
    status, printed, complaint = lewa_(*words, "--out", tmp_path / "found.csv")
    assert (status, complaint) == (0, f"wrote {tmp_path / 'found.csv'}\n")
    for name in ("stars against dollars at most: 40 rounds", "gain per extra unit of dollars", "net violation", "positive"):
        assert name in printed
    assert (tmp_path / "found.csv").read_text().startswith("dollars at most,who,dollars price,stars,")
    assert "folds need a log" in lewa_(*words, "--folds", "halves")[2]


def test_names_are_printed_as_they_are(lewa_: Any, tmp_path: Path) -> None:
    (tmp_path / "half.csv").write_text("q:a,q:b,usd:a\n1,0,0.1\n")
    words = ("--reward", "q", "--at-most", "usd", "--points", 1, "--learner", "lewa")
    assert "lacks the column usd:b: each of" in lewa_("frontier", tmp_path / "half.csv", *words)[2]  # and no emoji
    (tmp_path / "odd.csv").write_text("q:[red]x:b:,q:y,usd:[red]x:b:,usd:y\n1,0,0.1,0.2\n1,0,0.1,0.3\n")
    assert "[red]x:b:" in lewa_("frontier", tmp_path / "odd.csv", *words)[1]


def test_frontier_for_people_shows_a_log_with_intervals_and_what_they_are(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    action = RNG.integers(0, 2, 400)
    csv.write_csv(pa.table({"action": action, "propensity": np.full(400, 0.5), "reward": 1 - action, "cost": action}), file)
    status, printed, _ = lewa_("frontier", file, "--points", 2)
    assert status == 0
    for name in ("inverse propensities", "self-normalised", "doubly robust", "proved, 95%", "held out", "approximate"):
        assert name in printed
    words = ("frontier", file, "--points", 2, "--folds", "halves")
    assert "the first half of the log selects it and the second evaluates it" in " ".join(lewa_(*words)[1].split())
    status, _, complaint = lewa_("frontier", file, "--folds", "odd")
    assert (status, complaint.count("\n")) == (2, 1)
    assert "folds must be 'auto', 'halves' or 'shuffled', got 'odd'" in complaint


BERNOULLI = ("play", "bernoulli", "--learner", "lewa")
BAD_INPUT = {
    "an unknown twist": (("play", "radio+late", "--learner", "lewa", "--floor", 0.5), "unknown twist 'late'"),
    "an unknown game": (("play", "bernouli", "--learner", "lewa", "--floor", 0.5), "did you mean 'bernoulli'?"),
    "a command that was removed": (("bench", "--out", "speed.md"), "`lewa bench` was removed in 0.3.0; `make bench`"),
    "an unknown learner": (("play", "bernoulli", "--learner", "lewwa", "--floor", 0.5), "did you mean 'lewa'?"),
    "an unknown parameter": ((*BERNOULLI, "--floor", 0.5, "--set", "etta=1"), "did you mean 'eta'?"),
    "a setting without a value": ((*BERNOULLI, "--floor", 0.5, "--set", "eta"), "a setting must be NAME=VALUE, got 'eta'"),
    "a floor above 1": ((*BERNOULLI, "--floor", 1.5), "floor must be finite numbers in [0, 1], got 1.5"),
    "a floor that is no number": ((*BERNOULLI, "--floor", "nan"), "floor must be finite numbers in [0, 1], got nan"),
    "two floors for one constraint": (
        (*BERNOULLI, "--floor", 0.5, "--floor", 0.5),
        "the learner must have one floor per constraint, got 2 for 1",
    ),
    "no floor": (BERNOULLI, "--floor"),
    "eta of 0": ((*BERNOULLI, "--floor", 0.5, "--set", "eta=0"), "eta must be positive and at most 1e+100, got eta=0.0"),
    "delta*mu above 1": ((*BERNOULLI, "--floor", 0.5, "--set", "delta=2", "--set", "mu=1"), "delta*mu must be at most 1"),
    "no rounds": ((*BERNOULLI, "--floor", 0.5, "--rounds", 0), "rounds must be an integer of at least 1, got 0"),
    "epsilon of 1": (
        ("guarantee", "lewa", "--actions", 2, "--rounds", 9, "--floor", 0.5, "--epsilon", 1),
        "epsilon must lie",
    ),
    "a word for a number": ((*BERNOULLI, "--floor", 0.5, "--set", "eta=abc"), "eta must be a number, got 'abc'"),
    "a delta of 0": (
        ("guarantee", "bandit-lewa", "--actions", 2, "--rounds", 9, "--floor", 0.5, "--set", "delta=0"),
        "delta must be positive",
    ),
    "a slack that no constraint leaves": (
        ("guarantee", "lewa", "--actions", 2, "--rounds", 9, "--floor", 0.6, "--slater", 0.9),
        "slater must be at most 1 - floor, got slater=0.9 and floor=0.6",
    ),
    "another step for the printed box": (
        ("guarantee", "lewa@printed", "--actions", 2, "--rounds", 9, "--floor", 0.6, "--set", "mu=0.1"),
        "lewa@printed has no parameter 'mu'",
    ),
    "more seeds than fit": ((*BERNOULLI, "--floor", 0.5, "--seeds", 10**14), "seeds must be at most 10000000"),
    "a trace in a folder's place": ((*BERNOULLI, "--floor", 0.5, "--trace", "."), "a trace needs a file"),
    "no actions": (("guarantee", "lewa", "--actions", 0, "--rounds", 9, "--floor", 0.5), "actions must be an integer"),
    "a file that is not there": (("replay", "nothing.npz", "--learner", "lewa", "--budget", 0.5), "there is no file"),
    "a learner that is not there": (("check", "nothing:Nobody"), "cannot be found"),
    "data that are not there": (("frontier", "nothing.csv"), "there is no file nothing.csv"),
    "a figure of no known kind": (("frontier", "nothing.csv", "--out", "f.gif"), "a file that ends in .svg, .png"),
    "a line without a value": (("frontier", "nothing.csv", "--line", "c2"), "a line must be NAME=VALUE, got 'c2'"),
    "a line that is no number": (("frontier", "nothing.csv", "--line", "c2=x"), "the line of c2 must be a number, got 'x'"),
    "a check without a class": (("check", "nothing"), "unknown learner 'nothing'"),
    "a check of a relative module": (("check", ".mine:Mine"), "name a class as MODULE:CLASS"),
    "rounds of a hundred digits": ((*BERNOULLI, "--floor", 0.5, "--rounds", 10**100), "is not an integer of at most"),
    "seeds of a hundred digits": ((*BERNOULLI, "--floor", 0.5, "--seeds", 10**100), "is not an integer of at most"),
    "half a round": ((*BERNOULLI, "--floor", 0.5, "--rounds", "2.5"), "'2.5' is not an integer"),
    "rounds in words": ((*BERNOULLI, "--floor", 0.5, "--rounds", "many"), "'many' is not an integer"),
    "a parameter of a hundred digits": ((*BERNOULLI, "--floor", 0.5, "--set", f"eta={10**100}0"), "eta must be positive"),
    "two lines where one is promised": (
        (*BERNOULLI, "--floor", 0.5, "--set", "first\nsecond"),
        "a setting must be NAME=VALUE, got 'first\\nsecond'",
    ),
    "a name of two lines": (("run", "first\nsecond.toml"), "there is no file first second.toml"),
    "a replay written to a picture": (("replay", "x.csv", "--budget", 0.5, "--out", "x.svg"), "that ends in .json, .csv"),
}


@pytest.mark.parametrize("what", BAD_INPUT)
def test_bad_input_is_answered_with_one_sentence_and_status_2(lewa_: Any, what: str) -> None:
    words, sentence = BAD_INPUT[what]
    status, printed, complaint = lewa_(*words)
    assert status == 2
    assert printed == ""
    assert sentence in complaint
    assert complaint.count("\n") == 1


def test_a_file_cut_short_or_with_wrong_contents_is_refused_with_a_sentence(lewa_: Any, tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    np.savez(whole, rewards=REWARDS, constraints=CONSTRAINTS)
    files = {"cut.npz": whole.read_bytes()[:200], "empty.csv": b"", "words.csv": b"a,b\n1,2\n", "odd.txt": b"x"}
    files["missing.csv"] = b"round,action,reward,c\n0,x,1,1\n0,y,1,1\n1,x,1,1\n"
    files["text.csv"] = b"round,action,reward,c\n0,x,high,1\n"
    for name, contents in files.items():
        (tmp_path / name).write_bytes(contents)
    np.savez(tmp_path / "nan.npz", rewards=np.full((3, 2), np.nan), constraints=np.ones((3, 2)))
    np.savez(tmp_path / "big.npz", rewards=np.full((3, 2), 7.0), constraints=np.ones((3, 2)))
    np.savez(tmp_path / "shape.npz", rewards=np.ones((3, 2)), constraints=np.ones((3, 4)))
    np.savez(tmp_path / "lacks.npz", rewards=np.ones((3, 2)))
    for file in sorted(set(tmp_path.iterdir()) - {whole}):
        status, _, complaint = lewa_("replay", file, "--learner", "lewa", "--budget", 0.5)
        assert (status, complaint.count("\n")) == (2, 1), (file.name, complaint)
    assert "scale them first" in lewa_("replay", tmp_path / "big.npz", "--learner", "lewa", "--budget", 0.5)[2]


def test_a_game_is_posed_for_the_floor_and_the_rounds_asked_for(lewa_: Any) -> None:
    words = ("--learner", "lewa", "--floor", 0.6, "--rounds", 10_000, "--seeds", 1, "--json")
    status, printed, _ = lewa_("play", "slow-burn", *words)
    assert status == 0
    assert json.loads(printed)["learners"]["lewa"]["violation"]["mean"][0] == pytest.approx(1000, rel=0.05)  # T^(3/4)


@pytest.mark.usefixtures("forked_workers")
def test_a_study_runs_and_goes_on_where_it_was(lewa_: Any, tmp_path: Path) -> None:
    study = tmp_path / "small.toml"
    study.write_text(
        'name = "small"\nrounds = [50, 100]\nseeds = 2\n'
        '[[games]]\nname = "bernoulli"\nfloor = 0.6\n[[learners]]\nname = "lewa"\n'
    )
    words = ("run", study, "--out", tmp_path / "out", "--workers", 1)
    status, printed, _ = lewa_(*words)
    assert status == 0
    assert parquet.read_table(printed.strip()).num_rows == 4
    assert lewa_(*words)[0] == 0
    study.write_text(study.read_text().replace("floor", "flor"))
    status, _, complaint = lewa_(*words)
    assert (status, complaint.count("\n")) == (2, 1)
    assert "did you mean 'floor'?" in complaint


def test_an_infeasible_floor_is_played_with_a_warning(lewa_: Any) -> None:
    status, printed, complaint = lewa_(*BERNOULLI, "--floor", 0.95, "--rounds", 100, "--seeds", 2, "--json")
    assert status == 0
    assert json.loads(printed)["hindsight"]["feasible"] is False
    assert "no play meets the floor" in complaint


def test_check_runs_the_laws_on_a_learner_of_yours(lewa_: Any) -> None:
    status, printed, _ = lewa_("check", "lewa.learners.paper.lewa:Lewa")
    assert status == 0
    assert "0 failed" in printed


BROKEN = {
    "syntax": ("x = (", "cannot be imported: line 1 of "),
    "raises": ("raise KeyError('a')", "cannot be imported: KeyError: 'a'"),
    "exits": ("import sys\nsys.exit(3)", "cannot be imported: its module calls exit(3)"),
    "without": ("class Mine:\n    def learn(self, s, seen): ...", "must be a subclass of lewa.learners.Learner, got <class"),
    "instance": (
        "class One:\n    def learn(self, s, seen): ...\nMine = One()",
        "must be a subclass of lewa.learners.Learner",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_check_of_what_cannot_be_checked_is_one_sentence(
    lewa_: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, sentence = BROKEN[name]
    (tmp_path / f"broken_{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    status, printed, complaint = lewa_("check", f"broken_{name}:Mine")
    assert (status, printed, complaint.count("\n")) == (2, "", 1)
    assert sentence in complaint


def test_check_says_each_failure_once_and_as_it_is(lewa_: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [checks.Result("a_law", f"example {n}", "it is array([nan, nan])") for n in (1, 2, 3)]
    results += [checks.Result("another", "example 1", "")] * 4
    monkeypatch.setattr(checks, "check", lambda kind: results)
    status, printed, _ = lewa_("check", "lewa.learners.paper.lewa:Lewa")
    assert status == 1
    assert printed.splitlines() == [
        "FAIL a_law (example 1; and 2 other examples): it is array([nan, nan])",
        "ok   4 checks",
        "7 checks, 3 failed",
    ]


def test_rounds_may_be_written_as_a_power_of_ten(lewa_: Any) -> None:
    words = ("--learner", "lewa", "--floor", 0.6, "--seeds", 1, "--json")
    assert json.loads(lewa_("play", "bernoulli", *words, "--rounds", "1e2")[1])["rounds"] == 100
    assert json.loads(lewa_("play", "bernoulli", *words, "--rounds", "1_00")[1])["rounds"] == 100


def printed_at(width: int, table: Sheet) -> list[str]:
    console = Console(width=width, file=StringIO())
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_table_breaks_between_words_only() -> None:
    columns = ("learner", "reward", "proved: at most", "positive violation", "holds")
    cells = ("bandit-explore-then-project", "1,234", "-", "c1 0.5\nc2 1", "yes")
    sheet = table("", *columns, rows=[cells])
    words = sorted(word for cell in (*columns, *cells) for word in cell.split())
    for width, height in ((81, 3), (80, 4), (72, 4), (66, 4)):
        lines = printed_at(width, sheet)
        assert len(lines) == height
        assert max(map(len, lines)) <= width
        assert sorted(word for line in lines for word in line.split()) == words


def test_a_table_that_is_too_wide_continues_below_with_its_first_column() -> None:
    columns = (
        "cost at most",
        *(f"{name}: {what}" for name in ("hedge", "bandit") for what in ("reward", "violation", "sum")),
    )
    rows = [("1.004", "0.4109", "0.06882", "0.1872", "0.4121", "0.07373", "0.1926")]
    for together in (1, 3):
        for width in (130, 100, 60, 40, 30):
            lines = printed_at(width, table("", *columns, rows=rows, together=together))
            assert max(map(len, lines)) <= width
            assert set(rows[0]) <= {word for line in lines for word in line.split()}  # no number is cut
            assert (len(lines) == 2) == (width == 130)
    first, second = "\n".join(printed_at(40, table("", *columns, rows=rows, together=3))).split("0.1872")
    assert "bandit" not in first  # the columns of a learner stay together
    assert "hedge" not in second


def test_numbers_of_several_constraints_are_named(lewa_: Any) -> None:
    floors = ("--floor", 0.7, "--floor", 0.8, "--floor", 0.9)
    printed = lewa_("play", "ads", "--learner", "lewa", *floors, "--rounds", 100, "--seeds", 2)[1]
    assert re.search(r"lewa .* c1 [\d.]+ ", printed)
    assert re.search(r"\n +c3 [\d.]+ ", printed)


def test_replay_of_a_log_says_how_many_rows_count_and_what_was_spent(lewa_: Any, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    action = RNG.integers(0, 2, 400)
    csv.write_csv(
        pa.table({"action": action, "propensity": np.full(400, 0.5), "stars": 1 - action, "usd": 2 * action}), file
    )
    words = ("replay", file, "--reward", "stars=0..1", "--at-most", "usd=0..2", "--budget", 0.35, "--seeds", 2)
    status, printed, complaint = lewa_(*words, "--learner", "bandit-lewa")
    assert (status, complaint) == (0, "")
    found = json.loads(lewa_(*words, "--learner", "bandit-lewa", "--json")[1])
    assert printed.startswith(f"{found['rounds']:,} of 400 rows count")
    assert "usd at most 0.35" in printed
    assert found["floor"] == [0.35]
    reward, spent = (float(word) for word in re.search(r"bandit-lewa +(\S+) +(\S+) ", printed).groups())  # type: ignore[union-attr]
    got = found["learners"]["bandit-lewa"]
    assert reward == pytest.approx(got["reward"]["mean"] / found["rounds"], rel=1e-3)
    assert spent == pytest.approx(2 * (1 - reward), rel=1e-3)  # whoever earns spends nothing
    assert "auto: squarecb-lewa, chosen by measurements; no bound is proved for it; " in lewa_(*words)[2]  # by default


def test_replay_is_written_to_a_file(lewa_: Any, tmp_path: Path) -> None:
    words = ("replay", own_table(tmp_path), "--reward", "stars", "--at-most", "dollars", "--budget", 0.011, "--seeds", 2)
    printed, complaint = lewa_(*words, "--learner", "lewa", "--json", "--out", tmp_path / "found.json")[1:]
    assert complaint.endswith(f"wrote {tmp_path / 'found.json'}\n")
    assert (tmp_path / "found.json").read_text() == printed
    lewa_(*words, "--learner", "lewa", "--learner", "ewa", "--out", tmp_path / "found.csv")
    first, second = list(reader((tmp_path / "found.csv").read_text().splitlines()))[1:]
    assert (first[0], second[0]) == ("lewa", "ewa")
    assert float(first[3]) == json.loads(printed)["learners"]["lewa"]["reward"]["mean"]


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
def test_compiling_is_announced_once_and_what_was_compiled_is_not(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "lewa"), "play", "bernoulli", "--learner", "ewa", "--floor", "0.6"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, again = (
        subprocess.run([*command, "--rounds", "100"], capture_output=True, text=True, env=environment) for _ in range(2)
    )
    assert first.stderr == "compiling parts of ewa, once (about 10 s)\n"
    assert again.stderr == ""
    assert first.stdout == again.stdout


@pytest.mark.compiled
def test_violation_per_round_falls_for_the_repaired_box_only(lewa_: Any) -> None:
    per_round: dict[str, list[float]] = {"bandit-lewa": [], "bandit-lewa@printed": []}
    for rounds in (1_000, 10_000, 100_000):
        words = ("--learner", "bandit-lewa", "--learner", "bandit-lewa@printed", "--floor", 0.7, "--rounds", rounds)
        found = json.loads(lewa_("play", "bernoulli", *words, "--json")[1])
        for name, got in found["learners"].items():
            per_round[name].append(got["violation"]["mean"][0] / rounds)
    printed, repaired = per_round["bandit-lewa@printed"], per_round["bandit-lewa"]
    assert min(printed) > 0.15
    assert repaired[0] > 2 * repaired[1] > 4 * repaired[2]


def test_the_installed_command_answers(tmp_path: Path) -> None:
    command = Path(sys.executable).parent / "lewa"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    code, _, complaint = forks.run(tmp_path, ["play", "nowhere", "--learner", "lewa", "--floor", "0.5"])
    assert (code, complaint.count("\n")) == (2, 1), complaint


def test_a_refusal_is_one_line_also_after_a_remark(lewa_: Any) -> None:
    words = ("play", "contextual+noise", "--learner", "lewa", "--rounds", 5, "--seeds", 1)
    for wrong in (("--floor", 0, "--floor", 1), ("--floor", 0.5, "--trace", ".")):
        status, _, complaint = lewa_(*words, *wrong)
        assert (status, complaint.count("\n")) == (2, 1), complaint
    assert "lewa cannot use a context and plays without it" in lewa_(*words, "--floor", 0.5)[2]


@pytest.mark.parametrize("words", [[], ["keys"], ["journal"]])
def test_a_group_without_a_command_shows_its_help_on_standard_error(lewa_: Any, words: list[str]) -> None:
    code, out, err = lewa_(*words)
    assert (code, out) == (2, "")
    assert "Usage:" in err
    code, out, err = lewa_(*words, "--help")
    assert (code, err) == (0, "")
    assert "Usage:" in out


def test_the_base_class_of_games_is_refused_in_one_sentence(lewa_: Any) -> None:
    code, out, err = lewa_("check", "lewa.games.base:Game")
    assert (code, out) == (2, "")
    assert err == "lewa: the game Game must have `actions` and `constraints` and `setting`\n"


LONG = "x" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ["check", LONG],
        ["check", f"{LONG}:{LONG}"],
        ["run", LONG],
        ["advise", f"--{LONG}"],
        ["learners", LONG],
        [LONG],
        ["learners", "x " * 5000],
        ["keys", "list", "--store", LONG],
    ],
)
def test_a_long_argument_is_cut_in_a_sentence(lewa_: Any, words: list[str]) -> None:
    code, out, err = lewa_(*words)
    assert (code, out) == (2, "")
    assert len(err) < 2000
    assert err.count("\n") == 1
    assert "xxx" in err or "x x" in err
