"""The game with contexts: its rounds by hand, what it declares, who looks at it, and a study of it."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lewa
from lewa.cli import main
from lewa.cli.shared import app
from lewa.games import Contextual
from lewa.games.base import numbers
from lewa.kernels import NATURE, keys
from lewa.lab.execute import execute
from lewa.lab.study import expand, parse
from lewa.learners import settings_in_context
from lewa.measures import judge
from lewa.measures.best_play import best_fixed_play

KEY = keys(5)[NATURE : NATURE + 1]
GAME, ADVICE = Contextual(), Contextual(advice=True)


class Reacting(Contextual):
    reacts = True


def test_its_rounds_are_these_coins() -> None:
    block, luck = GAME.block(KEY, 3, 40), numbers(KEY, 3, 40, 7)
    for t in range(37):
        g = 0 if luck[t, 0] < 0.4 else 1
        assert block.contexts[t].tolist() == [1.0, float(g == 0), float(g == 1)]
        assert block.rewards[t].tolist() == [float(luck[t, 1 + k] < GAME.rewards[g][k]) for k in range(3)]
        assert block.constraints[t, 0].tolist() == [float(luck[t, 4 + k] < GAME.constraint_means[k]) for k in range(3)]
    assert {tuple(row) for row in block.contexts.tolist()} == {(1.0, 1.0, 0.0), (1.0, 0.0, 1.0)}


def test_advice_is_that_of_every_policy_on_the_same_rounds() -> None:
    plain, advised = GAME.block(KEY, 0, 30), ADVICE.block(KEY, 0, 30)
    assert (plain.rewards == advised.rewards).all()
    assert (ADVICE.features, ADVICE.policies, GAME.policies) == (27, 9, 0)
    for context, advice in zip(plain.contexts, advised.contexts.reshape(30, 9, 3), strict=True):
        g = int(context[2])
        assert [row.argmax() for row in advice] == [(n // 3, n % 3)[g] for n in range(9)]
        assert (advice.sum(axis=1) == 1).all()


def test_the_best_policy_is_worth_what_a_search_says() -> None:
    shares = np.linspace(0, 1, 41)
    values = [
        0.4 * (0.2 * (1 - x - y) + 0.5 * x + 0.6 * y) + 0.6 * (0.28 * (1 - z) + 0.3 * z)
        for x in shares
        for y in shares
        for z in shares
        if x + y <= 1 and 0.4 * (0.9 * (1 - x - y) + 0.6 * x + 0.1 * y) + 0.6 * (0.9 * (1 - z) + 0.6 * z) >= 0.7 - 1e-9
    ]
    assert max(values) <= GAME.policy_value(0.7) <= max(values) + 0.005
    assert lewa.games.facts(GAME, 0.7, 10).value == pytest.approx(0.336)


def test_a_learner_by_name_looks_at_the_context_if_it_can() -> None:
    def features(learner: str, game: Contextual) -> int:
        state: Any = lewa.play(learner, game, rounds=20, floor=0.7).states[0]
        return int(getattr(state, "features", np.zeros(0)).size)

    assert features("squarecb-lewa", GAME) == features("proved-squarecb-lewa", GAME) == 3
    assert features("exp4-lewa", ADVICE) == 27
    assert features("squarecb-lewa", ADVICE) == 0  # advice is no features
    with pytest.raises(ValueError, match=r"advice of 9 policies needs .* such as exp4-lewa, got .* 1 feature"):
        lewa.play("proved-squarecb-lewa", ADVICE, rounds=10, floor=0.7)
    assert features("exp4-lewa", GAME) == features("lewa", GAME) == 0
    assert settings_in_context("squarecb-lewa", 0) == settings_in_context("lewa", 3) == {}
    with pytest.raises(ValueError, match="a game that reacts must have 0 features, because it has no contexts, got 3"):
        lewa.play("squarecb-lewa", Reacting(), rounds=10, floor=0.7)
    with pytest.raises(ValueError, match="must use as many features as the game has, got 2 and 3"):
        lewa.play(lewa.learners.SquareCbLewa.tuned(3, 10, 0.7, features=2), GAME, rounds=10)


def test_context_earns_more_than_any_fixed_play_that_keeps_the_floor() -> None:
    earned = {name: lewa.play(name, GAME, rounds=1500, floor=0.7).reward[0, -1] for name in ("squarecb-lewa", "lewa")}
    assert earned["squarecb-lewa"] > 1500 * 0.336
    late = lewa.games.make("contextual+delay", 0.7, 300, delay=20)
    assert late.features == 3
    assert lewa.play("squarecb-lewa", late, rounds=300, floor=0.7).reward[0, -1] > 0


def test_the_command_line_says_who_plays_without_the_context(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "lewa play contextual --floor 0.7 --rounds 30 --seeds 1 --json --learner lewa --learner squarecb-lewa"
    for more, status, sentence in (
        ("", 0, "lewa cannot use a context and plays without it"),
        (" --set features=2", 2, "as many features as the game has, got 2 and 3"),
    ):
        monkeypatch.setattr("sys.argv", (line + more).split())
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code in (status, None)
        assert sentence in " ".join(capsys.readouterr().err.split())


def test_the_study_of_the_page_plays_with_the_context_and_without() -> None:
    page = (Path(__file__).parents[2] / "docs" / "games.md").read_text()
    text = re.search("```toml\n(.*?)```", page, flags=re.DOTALL)
    assert text is not None
    runs = expand(parse(text[1].replace("[2000]", "[60]").replace("seeds = 2", "seeds = 1")))
    sizes = {run.id: getattr(run.build()[0], "ridge", np.zeros(0)).size for run in runs}
    assert list(sizes.values()) == [3, 0, 0, 0, 0, 0]
    assert [run.build()[0].parameters.get("policies") for run in runs if run.learner == "exp4-lewa"] == [0, 9]
    rows = [execute(run) for run in runs[::3]]  # of squarecb-lewa, on the same rounds
    assert rows[0]["id"] != rows[1]["id"]
    assert rows[0]["reward"] != rows[1]["reward"]


def test_what_is_no_such_game_gets_one_sentence() -> None:
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"shares": (0.5, 0.6)}, "shares must sum to 1"),
        ({"rewards": ((0.1, 0.2),)}, "rewards must have a row for each of 2 kinds"),
        ({"rewards": ((2.0, 0, 0), (0, 0, 0))}, "mean rewards must"),
        ({"shares": 1.0}, "shares and constraint_means must be lists of numbers"),
        ({"advice": "yes"}, "advice must be true or false, got 'yes'"),
        ({"rewards": ((0.1,) * 3,) * 8, "shares": (0.125,) * 8, "advice": True}, "at most 1000 policies.* got 3\\^8"),
    ]
    for wrong, sentence in refusals:
        with pytest.raises(ValueError, match=sentence):
            Contextual(**wrong)
    with pytest.raises(ValueError, match="some policy must meet the floor"):
        GAME.policy_value(0.95)
    with pytest.raises(ValueError, match=r"must have one floor, got \[0.5, 0.6\]"):
        GAME.policy_value([0.5, 0.6])


def test_the_best_policy_needs_no_list_of_policies() -> None:
    G, dice = 4, np.random.default_rng(7)
    rewards, shares = dice.random((G, 3)), dice.dirichlet(np.ones(G))
    small = Contextual(rewards=tuple(map(tuple, rewards.tolist())), shares=tuple(shares.tolist()))
    choices = np.array(list(product(range(3), repeat=G)))
    earned = rewards[np.arange(G), choices] @ shares
    met = np.array(small.constraint_means)[choices] @ shares
    for floor in (0.0, 0.3, 0.7, 0.9):
        listed = best_fixed_play(earned, met[np.newaxis], np.array([floor])).value
        assert small.policy_value(floor) == pytest.approx(listed, abs=1e-9)
    many = Contextual(rewards=((0.2, 0.5, 0.6),) * 40, shares=(0.025,) * 40)  # 3^40 policies, and all kinds are alike
    alike = best_fixed_play(np.array([0.2, 0.5, 0.6]), np.array([[0.9, 0.6, 0.1]]), np.array([0.7])).value
    assert many.policy_value(0.7) == pytest.approx(alike, abs=1e-9)


class Richer(Contextual):
    """Where the best policy is said to earn more than anything does."""

    def policy_value(self, floor: object) -> float:
        return 5.0


class Unknown(Contextual):
    """Where nobody knows what the best policy earns."""

    def policy_value(self, floor: object) -> None:  # type: ignore[override]
        return None


def test_a_bound_on_policies_is_judged_by_the_best_policy() -> None:
    learner = lewa.learners.ProvedSquareCbLewa.tuned(3, 300, 0.7, features=3)
    verdicts = [judge(lewa.play(learner, game, rounds=300, seeds=2)) for game in (GAME, Richer(), Unknown())]
    assert [verdict.holds for verdict in verdicts] == [True, False, None]
    assert len({verdict.guarantee for verdict in verdicts}) == 1
    blind = lewa.learners.ProvedSquareCbLewa.tuned(
        3, 300, 0.7
    )  # a context of the constant alone: a fixed play is its policy
    table = lewa.games.Table(np.full((300, 3), 0.5), [0.9, 0.6, 0.1])
    assert judge(lewa.play(blind, table, seeds=2)).holds is True
    printed = CliRunner().invoke(app, ["play", "contextual", "--learner", "exp4-lewa", "--floor", "0.7", "--rounds", "50"])
    assert "relative to policies on the context" in " ".join(printed.output.split())
