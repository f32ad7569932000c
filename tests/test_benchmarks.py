import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks import growth, peers
from benchmarks import measure as bench
from benchmarks.c_loops import KEY, in_c
from benchmarks.rounds import FLOOR, coins, rows_of

from lewa.blocks import Rounds
from lewa.engine.compile import compile_learner
from lewa.engine.records import Window
from lewa.engine.session import Session, dice_of
from lewa.feedback import feedback_kind
from lewa.kernels import DICE, NATURE, field_types, pack
from lewa.learners import ALL, BanditLewa, EpsilonFirst, HpBanditLewa, Lewa, UcbLp

pytestmark = pytest.mark.compiled


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the C loops are built with gcc, which is not here")
@pytest.mark.parametrize("K", [10, 100])
@pytest.mark.parametrize(("name", "kind"), [("lewa", Lewa), ("bandit_lewa", BanditLewa), ("hp_bandit_lewa", HpBanditLewa)])
def test_the_c_loops_play_the_same_rounds_to_the_same_sums(name: str, kind: Any, K: int) -> None:
    learner = kind.tuned(K, 5000, FLOOR)
    if kind is HpBanditLewa:
        learner = learner.replace(level=1e-4)  # the proved radius keeps the multiplier at 0 for so few rounds
    full = feedback_kind(kind) == "full"
    world: Any = rows_of(K) if full else coins(K)
    rewards, constraints = world
    rounds = min(5000, len(rewards)) if full else 5000
    theirs = np.zeros(6)
    in_c(name, learner, K, rounds, theirs)()
    key = KEY[NATURE : NATURE + 1]
    nature = Rounds(rewards, constraints) if full else Rounds(rewards[np.newaxis], constraints[np.newaxis], key=key)
    run = compile_learner(kind).run
    record = bench.empty(K, None if full else constraints)
    run(pack(learner, learner.start(K)), nature, Window(0, rounds, KEY[DICE:]), record)
    assert np.concatenate(record.sums) == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert record.sums.multiplier_sums[0] > 0


def test_variants_take_turns_and_the_best_turn_counts() -> None:
    turns: list[str] = []

    def variant(name: str) -> Callable[[], int]:
        def run() -> int:
            turns.append(name)
            return 100

        return run

    times = bench.best_of(3, variant("a"), variant("b"))
    assert turns == ["a", "b"] * 3
    assert all(0 <= ns < 1e6 for ns in times)


def test_a_row_says_whether_its_goal_is_met() -> None:
    assert bench.at_most("x", 10, 1.2, 1.5).met is True
    assert bench.at_most("x", 10, 1.6, 1.5).met is False
    assert bench.faster("x", 10, 120, 100).met is True
    shown = bench.markdown([bench.faster("x", 10, 90, 100), bench.Row("y", None, None, "5x faster", None)])
    assert "| x | 10 | 90x | 100x faster | no |" in shown
    assert "| y |  |  | 5x faster | not installed |" in shown
    assert "| z | 10 | 3.00x |  |  |" in bench.markdown([bench.at_most("z", 10, 3, 0)])


@pytest.mark.plain
@pytest.mark.parametrize("calls", [bench.pull_and_update, bench.in_lists])
def test_the_calls_of_an_agent_play_the_rounds(calls: Callable[[int, int], Callable[[], int]]) -> None:
    assert calls(3, 20)() == 20


@pytest.mark.plain
def test_the_growth_table_has_every_learner_and_leaves_out_what_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[int, int]] = []

    def make(learner: Any, actions: int, rounds: int, first: int = 0) -> Callable[[], int]:
        learner.start(actions)
        played.append((rounds, first))
        return lambda: rounds

    def seconds(turns: int, *variants: Callable[[], int]) -> list[float]:
        return [0.1e9 for _ in variants]  # a tenth of a second a round

    monkeypatch.setattr(growth, "full", make)
    monkeypatch.setattr(growth, "bandit", make)
    monkeypatch.setattr(growth, "best_of", seconds)
    times = {name: growth.costs_of(name, (2, 10)) for name in ALL}
    explorers = [name for name, cells in times.items() if np.isnan(cells[0])]
    assert explorers == [
        "explore-then-project",
        "bandit-explore-then-project",
        "epsilon-first",
    ]  # 10,000 rounds take too long
    assert all(cells[0] == 0.1e9 and np.isnan(cells[1]) for name, cells in times.items() if name not in explorers)
    assert {first for rounds, first in played if rounds != growth.LEAST} == {0, 2}  # a tour of two actions


@pytest.mark.plain
def test_learners_that_begin_with_a_tour_are_timed_after_it() -> None:
    K = 16  # sixteen different actions in a row are no chance: 16!/16^16 is one in a million
    tours = []
    for name, kind in ALL.items():
        if feedback_kind(kind) == "full" or "explore" in field_types(kind):
            continue
        session = Session(kind.tuned(K, 1_000_000, FLOOR), K, dice_of(0))
        taken = []
        for t in range(K):
            choice = session.choose(t)
            session.learn(session.answer(choice, np.full(K, 0.5), np.full((1, K), 0.5)))
            taken.append(choice.action)
        if len(set(taken)) == K:
            tours.append(name)
    assert sorted(tours) == sorted(growth.TOURS)
    learner = EpsilonFirst.tuned(K, 1_000_000, FLOOR)
    assert growth.first_phase("epsilon-first", learner, K) == 10_001  # until T^(2/3) are passed
    assert growth.first_phase("ucb-lp", learner, K) == K
    assert growth.first_phase("lewa", Lewa.tuned(K, 1_000_000, FLOOR), K) == 0


@pytest.mark.plain
def test_rounds_of_the_first_phase_are_played_before_the_clock_starts() -> None:
    variant = bench.bandit(UcbLp.tuned(4, 1000, FLOOR), 4, 5, first=4)
    cells = dict(zip(variant.__code__.co_freevars, variant.__closure__ or (), strict=True))
    assert cells["window"].cell_contents.start == 4
    counted = UcbLp.tuned(4, 1000, FLOOR)
    assert cells["fresh"].cell_contents.size == pack(counted, counted.start(4)).size
    assert not np.array_equal(cells["fresh"].cell_contents, pack(counted, counted.start(4)))
    assert variant() == 5


@pytest.mark.parametrize("peer", [peers.mabwiser_ucb1, peers.pareto_bandit])
def test_peers_of_the_agent_play_rounds_where_they_are_installed(peer: Callable[[int, int], Callable[[], int]]) -> None:
    try:
        assert peer(3, 5)() == 5
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed: make bench installs it")
