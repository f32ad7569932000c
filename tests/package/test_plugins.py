"""A learner or a game of one's own works wherever a name does."""

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import forks
from tests.package.plugin_example import SOURCE, STUDY, write_module, write_package

import lewa
from lewa import plugins
from lewa.data.log import Log
from lewa.engine.session import Session, dice_of
from lewa.lab.run import run_study
from lewa.lab.study import expand, parse
from lewa.simulate.log_replay import LogReplay
from lewa.types import Vector

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is imported from it is forgotten afterwards, and so are entry points."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.announced.cache_clear()
    yield tmp_path
    plugins.announced.cache_clear()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_learner_and_a_game_of_ones_own_are_played_by_name(folder: Path) -> None:
    write_module(folder, "mine_played")
    trace = lewa.play("mine_played:Solver", "mine_played:Seasons+noise", rounds=200, floor=0.5, seeds=2)
    again = lewa.play(trace.learner, trace.game, rounds=200, seeds=2)
    assert type(trace.learner).__name__ == "Solver"
    assert trace.measured_on == "play"
    np.testing.assert_array_equal(trace.reward, again.reward)
    assert lewa.play("mine_played:Solver+doubling", trace.game, rounds=50, floor=0.5).reward[0, -1] > 0


def test_a_rule_in_python_gives_the_numbers_of_the_same_rule_compiled(folder: Path) -> None:
    class Plain(lewa.learners.BanditLewa):
        compiled = False

    for game in ("radio", "anti-leader", "radio+delay"):
        problem = lewa.games.make(game, 0.5, 300)
        compiled = lewa.learners.BanditLewa.tuned(problem.actions, 300, 0.5)
        plain = Plain(*compiled.parameters.values())
        first, second = (lewa.play(one, problem, rounds=300, seeds=2, every_round=True) for one in (compiled, plain))
        np.testing.assert_array_equal(first.actions, second.actions, err_msg=game)
        np.testing.assert_allclose(first.reward, second.reward, rtol=1e-12, err_msg=game)
        np.testing.assert_allclose(first.shortfall, second.shortfall, atol=1e-10, err_msg=game)


def test_an_answer_that_is_lost_may_call_other_methods_of_a_rule_in_python() -> None:
    class Plain(lewa.learners.LateAnytimeLossLewa):
        compiled = False

        def end_of(self, s: Any, charged: Vector) -> None:
            super().release(s, charged)

        def release(self, s: Any, charged: Vector) -> None:
            self.end_of(s, charged)

    compiled = lewa.learners.LateAnytimeLossLewa.tuned(3, 100, 0.5)
    states = []
    for learner in (compiled, Plain(*compiled.parameters.values())):
        session = Session(learner, 3, dice_of(1))
        charged = [session.choose(t).charged for t in range(4)]
        session.steps.release(session.memory, charged[1])
        states.append(session.memory)
    np.testing.assert_allclose(states[0], states[1], rtol=1e-12)


def test_an_agent_runs_and_restores_a_learner_of_ones_own(folder: Path, tmp_path: Path) -> None:
    write_module(folder, "mine_agent")
    agent = lewa.Agent(["a", "b", "c"], [lewa.at_most("cost", 0.5)], learner="mine_agent:Solver", seed=1)
    for t in range(30):
        decision = agent.pull()
        agent.update(decision, reward=t % 2, cost=0.3)
    agent.save(tmp_path / "agent.json")
    again = lewa.Agent.load(tmp_path / "agent.json")
    assert again.pull()._replace(tag=None) == agent.pull()


def test_a_log_and_a_table_are_replayed_by_a_learner_of_ones_own(folder: Path) -> None:
    write_module(folder, "mine_data")
    rng = np.random.default_rng(0)
    log = Log(rng.integers(0, 2, 200), np.full(200, 0.5), rng.random(200), rng.random((200, 1)), 2)
    replay = lewa.replay(log, "mine_data:Solver", floor=0.5)
    assert isinstance(replay, LogReplay)
    assert replay.log_rows == 200
    table = {f"reward:{a}": rng.random(50) for a in "xy"} | {f"cost:{a}": rng.random(50) for a in "xy"}
    frontier = lewa.frontier(table, reward="reward", at_most="cost", budgets=[0.5], learner=["mine_data:Solver"], seeds=1)
    assert [name for point in frontier.points for name in point.learners] == ["mine_data:Solver"]


def test_entry_points_are_names_and_never_hide_those_of_the_package(folder: Path) -> None:
    write_package(folder, "mine_installed")
    trace = lewa.play("solver", "seasons", rounds=50, floor=0.5)
    assert type(trace.learner).__module__ == "mine_installed"
    assert lewa.learners.find("lewa") is lewa.learners.Lewa
    assert "solver" in lewa.learners.names()
    assert "seasons" in lewa.games.names()
    with pytest.raises(ValueError, match=r"broken cannot be found: .*mine_installed.py has no 'Nothing'"):
        lewa.learners.find("broken")
    with pytest.raises(ValueError, match="did you mean 'solver'"):
        lewa.learners.find("slover")


def test_lists_of_learners_and_games_have_entry_points_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lewa.cli import app

    write_package(folder, "mine_listed")
    for command, name in (("learners", "solver"), ("games", "seasons")):
        app([command, "--json"], standalone_mode=False)
        printed = capsys.readouterr()
        rows = {row["name"]: row for row in json.loads(printed.out)}
        assert name in rows
        assert ("broken of an installed package cannot be listed: broken cannot be found" in printed.err) == (
            name == "solver"
        )
        assert sum(row == "lewa" for row in rows) <= 1


TUPLE = """
from collections import namedtuple
State = namedtuple("State", "counts")
class Solver(namedtuple("Solver", "floor")):
    examples = classmethod(lambda cls: [(cls(0.5), 3)])
    def start(self, actions): return State(0)
    def learn(self, s, seen): pass
"""
# A learner that lacks what the engine reads of it.
HALF_LEARNERS = [
    ("mine_tuple:Solver", TUPLE, "the learner mine_tuple:Solver must be a subclass of lewa.learners.Learner, got <class"),
    (
        "mine_start:Solver",
        SOURCE.replace(" -> SolverState", "").replace("learn(self, s: SolverState", "learn(self, s"),
        "the learner mine_start:Solver cannot be used: Solver.learn must annotate its state, `s`, with a named tuple",
    ),
    (
        "mine_str:Solver",
        SOURCE.replace("learn(self, s: SolverState", "learn(self, s: 'X'"),
        r"the learner mine_str:Solver cannot be used: the annotations of Solver.learn cannot .*'X' is not defined",
    ),
    (
        "mine_seen:Solver",
        SOURCE.replace("seen: Bandit", "seen"),
        "the learner mine_seen:Solver cannot be used: Solver.learn must annotate its argument, `seen: Full` or",
    ),
    ("mine_plain:Solver", SOURCE.replace("@dataclass(frozen=True)", ""), "mine_plain:Solver must be a dataclass: write @"),
    ("mine_play:Solver", SOURCE.replace("def play", "def plays"), "the learner mine_play:Solver must define play"),
]


@pytest.mark.parametrize(("name", "source", "sentence"), HALF_LEARNERS)
def test_half_a_learner_is_refused_by_every_command(
    folder: Path, name: str, source: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lewa.cli import main

    write_module(folder, name.partition(":")[0], source)
    commands = (
        "check NAME",
        "play bernoulli --learner NAME --rounds 5 --floor 0.5",
        "guarantee NAME --actions 3 --rounds 5 --floor 0.5",
    )
    for words in commands:
        monkeypatch.setattr(sys, "argv", ["lewa", *words.replace("NAME", name).split()])
        with pytest.raises(SystemExit) as end:
            main()
        complaint = capsys.readouterr().err
        assert (end.value.code, complaint.count("\n")) == (2, 1), complaint
        assert re.search(sentence, complaint)


@pytest.mark.parametrize(
    ("name", "source", "sentence"),
    [
        ("mine_none:Solver", None, "mine_none:Solver cannot be found: No module named 'mine_none'"),
        ("mine_other:Solverr", SOURCE, r"mine_other:Solverr cannot be found: .*mine_other.py has no 'Solverr'"),
        ("mine_syntax:Solver", "def (", r"mine_syntax:Solver cannot be imported: line 1 of "),
        ("mine_exit:Solver", "raise SystemExit(3)", r"its module calls exit\(3\)"),
        ("mine_zero:Solver", "1/0", "mine_zero:Solver cannot be imported: ZeroDivisionError: division by zero"),
        ("os:getcwd", None, "the learner os:getcwd must be a subclass of lewa.learners.Learner, got <built-in"),
        (":Solver", None, ":Solver cannot be found: name a class as MODULE:CLASS"),
        *HALF_LEARNERS,
    ],
)
def test_what_is_wrong_with_a_name_is_one_sentence(folder: Path, name: str, source: str | None, sentence: str) -> None:
    if source is not None:
        write_module(folder, name.partition(":")[0], source)
    with pytest.raises(ValueError, match=sentence) as refused:
        lewa.learners.find(name)
    assert len(str(refused.value).splitlines()) == 1


def test_a_service_may_restrict_what_names_import(folder: Path) -> None:
    write_module(folder, "mine_allowed")
    try:
        plugins.allow_only(["mine_allowed"])
        assert lewa.learners.find("mine_allowed:Solver")
        with pytest.raises(ValueError, match="os:getcwd cannot be used here: the module os is not allowed"):
            lewa.learners.find("os:getcwd")
    finally:
        plugins.allow_only(None)


def test_the_laws_hold_for_a_rule_in_python(folder: Path) -> None:
    write_module(folder, "mine_checked")
    results = lewa.checks.check(lewa.learners.find("mine_checked:Solver"))
    assert [result for result in results if result.sentence] == []
    assert "rule_runs" in {result.law for result in results}
    assert not [r for r in lewa.checks.check(lewa.games.find("mine_checked:Seasons")) if r.sentence]


def test_every_command_finds_modules_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_module(tmp_path, "mine_here")
    (tmp_path / "csv.py").write_text("raise SystemExit('a file here hides a library')")
    (tmp_path / "study.toml").write_text(STUDY.format(module="mine_here"))
    monkeypatch.chdir(tmp_path)
    ran = forks.run(tmp_path, ["run", "study.toml", "--workers", "1", "--out", "results"])  # its worker is spawned
    assert ran.code == 0, ran.err
    words = "play mine_here:Seasons --learner mine_here:Solver --floor 0.5 --rounds 40 --set period=20 --set bonus=2"
    played = forks.run(tmp_path, [*words.split(), "--seeds", "1", "--json"])
    assert played.code == 0, played.err
    assert list(json.loads(played.out)["learners"]) == ["mine_here:Solver"]
    (tmp_path / "mine_here.py").write_text(SOURCE.replace("0.9, 0.6", "0.8, 0.6"))
    # From here on in this process, which is quicker.
    proved = called(monkeypatch, capsys, "guarantee mine_here:Solver --actions 3 --rounds 40 --floor 0.5")
    assert "nothing is proved of it" in proved.out, proved.err
    resumed = called(monkeypatch, capsys, "run study.toml --workers 1 --out results", code=2)
    assert "results was begun with source of mine_here" in resumed.err
    del sys.modules["mine_here"]


def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, code: int = 0) -> Any:
    """Run `lewa` in this process, and return what it printed."""
    from lewa.cli import main

    monkeypatch.setattr(sys, "argv", ["lewa", *words.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code or 0) == code
    return capsys.readouterr()


def test_a_study_by_entry_points_is_stamped_with_their_source(folder: Path) -> None:
    from lewa.lab.storage import versions_of

    write_package(folder, "mine_stamped")
    study = parse(
        STUDY.format(module="mine_stamped")
        .replace("mine_stamped:Seasons", "seasons")
        .replace("mine_stamped:Solver", "solver")
    )
    assert "source of mine_stamped" in versions_of(study)
    assert len(expand(study)) == 4


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")
def test_dask_workers_get_the_sources_and_give_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    distributed: Any = importlib.import_module("distributed")
    write_module(folder, "mine_shipped")
    study = parse(STUDY.format(module="mine_shipped"))
    with ThreadPoolExecutor(1) as executor:
        here = run_study(study, tmp_path / "here", executor=executor).read_bytes()
    forks.start()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.run(lambda path: sys.path.remove(path) if path in sys.path else None, str(folder))
        there = run_study(study, tmp_path / "there", cluster=cluster.scheduler_address).read_bytes()
        # An edited module is sent anew, and does not mix with the one before.
        write_module(folder, "mine_shipped", SOURCE.replace("0.9, 0.6", "0.8, 0.6"))
        from lewa.lab.storage import versions
        from lewa.sources import fingerprint_of

        fingerprint_of.cache_clear()
        versions.cache_clear()
        other = run_study(study, tmp_path / "other", cluster=cluster.scheduler_address).read_bytes()
    assert there == here
    assert other != here


ALLOCATES = '''
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lewa.feedback import Full
from lewa.kernels import comparable
from lewa.kernels.roles import Play
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_problem
from lewa.theory.guarantees import none
from lewa.types import Vector


@comparable
class AllocatesState(NamedTuple):
    play: Play[Vector]


@dataclass(frozen=True)
class Allocates(Learner):
    """It solves an equation that no kernel solves."""

    floor: Vector

    @classmethod
    def tuned(cls, actions, horizon, floor):
        return cls(check_problem(actions, horizon, floor)[2])

    def start(self, actions: int) -> AllocatesState:
        return AllocatesState(np.ones(actions))

    def play(self, s: AllocatesState, p: Vector) -> None:
        p[:] = s.play / s.play.sum()

    def learn(self, s: AllocatesState, seen: Full) -> None:
        answers = {"a": [seen.rewards], 1: None}

    def guarantees(self, actions, rounds, setting):
        return (none("Allocates", "nothing is proved of it"),)
'''


@pytest.mark.compiled
def test_a_rule_that_does_not_compile_is_one_sentence(folder: Path) -> None:
    write_module(folder, "mine_wrong", ALLOCATES)
    sentence = (
        r"^the rule of mine_wrong:Allocates does not compile, method (play|learn), line \d+, `.*`: .*; a compiled rule "
        r"allocates nothing .* math\. With `compiled = False` in the class it runs as plain Python, slowly$"
    )
    with pytest.raises(ValueError, match=sentence):
        lewa.play("mine_wrong:Allocates", "bernoulli", rounds=10, floor=0.5)
    with pytest.raises(ValueError, match=sentence):
        lewa.Agent(
            ["a", "b"],
            [lewa.at_most("cost", 0.5)],
            horizon=10,
            seed=0,
            learner=lewa.LearnerOptions("mine_wrong:Allocates", feedback="full"),
        )


def test_a_rule_whose_feedback_is_not_annotated_is_one_sentence(folder: Path) -> None:
    write_module(folder, "mine_bare", ALLOCATES.replace("seen: Full", "seen"))
    with pytest.raises(ValueError, match=r"the learner mine_bare:Allocates cannot be used: Allocates.learn must annotate"):
        lewa.play("mine_bare:Allocates", "bernoulli", rounds=10, floor=0.5)


def test_a_learner_that_charges_and_draws_by_itself_is_one_sentence(folder: Path) -> None:
    """The loop of a learner that draws by itself does not charge, and an agent does: they would differ."""
    source = SOURCE.replace("counts: Counts  # (K,)", "counts: Counts  # (K,)\n    charged: Charged  # (m,)")
    source = source.replace("SolverState(np.zeros(K), np", "SolverState(np.zeros(K), np.zeros(m), np")
    method = "    def choose(self, s: SolverState, u: float) -> tuple[int, float]:\n        return 0, 1.0\n\n    def learn("
    write_module(folder, "mine_charging", source.replace("    def learn(", method, 1))
    sentence = "Solver must not have both choose and a state with charged: a learner that charges draws from its whole play"
    with pytest.raises(ValueError, match=sentence):
        lewa.play("mine_charging:Solver", "bernoulli", rounds=10, floor=0.5)
    with pytest.raises(ValueError, match=sentence):
        lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], learner="mine_charging:Solver", horizon=10, seed=0)
