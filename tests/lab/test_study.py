import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lewa.games import SlowBurn
from lewa.lab.measures import MEASURES
from lewa.lab.study import Study, expand, parse, read, slow
from lewa.learners import Lewa

GOOD = """
name = "small"
rounds = [100, 1000]
seeds = 2

[[games]]
name = "bernoulli"
floor = 0.6

[[learners]]
name = "lewa"

[[learners]]
name = "lewa"
settings = { tuning = "paper" }
"""


def test_a_study_is_laid_out_as_runs_with_readable_names_in_one_order() -> None:
    runs = expand(parse(GOOD))
    assert [run.id for run in runs] == [
        "bernoulli/T=100/lewa/seed0",
        "bernoulli/T=100/lewa/seed1",
        "bernoulli/T=100/lewa tuning=paper/seed0",
        "bernoulli/T=100/lewa tuning=paper/seed1",
        "bernoulli/T=1000/lewa/seed0",
        "bernoulli/T=1000/lewa/seed1",
        "bernoulli/T=1000/lewa tuning=paper/seed0",
        "bernoulli/T=1000/lewa tuning=paper/seed1",
    ]
    assert runs[0].measures == tuple(MEASURES)
    assert pickle.loads(pickle.dumps(runs)) == runs


def test_a_setting_that_is_the_default_is_not_in_the_name() -> None:
    usual = parse(GOOD.replace('"paper"', '"paper", mu = 0.125').replace("floor = 0.6", "floor = 1e0"))
    assert expand(usual)[2].id == "bernoulli/T=100/lewa mu=0.125 tuning=paper/seed0"
    with pytest.raises(ValueError, match=r"must be distinct, got bernoulli/T=100/lewa/seed0 twice"):
        parse(GOOD.replace('"paper"', '"recommended"'))


def test_a_setting_or_parameter_can_be_a_power_of_the_horizon() -> None:
    text = GOOD.replace('"bernoulli"', '"slow-burn"').replace("floor = 0.6", 'floor = 0.6\nparameters = { nu = "T^(-1/3)" }')
    runs = expand(parse(text.replace('{ tuning = "paper" }', '{ eta = ".5 T^(-2/3)", delta = "3 T^(0)" }')))
    assert runs[2].id == "slow-burn nu=T^(-1/3)/T=100/lewa delta=3 T^(0) eta=.5 T^(-2/3)/seed0"
    for run in runs[2::4]:
        learner, game = run.build()
        assert isinstance(learner, Lewa)
        assert isinstance(game, SlowBurn)
        assert (learner.eta, learner.delta) == (0.5 * run.rounds ** (-2 / 3), 3)
        assert game.nu == run.rounds ** (-1 / 3)
    for wrong in ("T^-1/3", "2 T^(1/0)", "T^()", "x T^(-1)", "-1 T^(-1)"):
        with pytest.raises(ValueError, match="eta must be a number, got '"):
            parse(GOOD.replace('tuning = "paper"', f'eta = "{wrong}"'))


def test_floors_and_parameters_are_in_the_name_where_there_are_several() -> None:
    game = """floors = [0.25, 0.6]
        parameters = { rewards = [0.9, 0.5], constraints = [[0.2, 0.8]] }"""
    ids = [run.id for run in expand(parse(GOOD.replace("floor = 0.6", game)))]
    assert ids[0] == "bernoulli rewards=0.9,0.5 constraints=0.2,0.8/T=100/floor=0.25/lewa/seed0"
    assert len(set(ids)) == len(ids) == 16
    two = "floor = [0.5, 0.4]\nparameters = { rewards = [0.9, 0.5], constraints = [[0.2, 0.8], [0.5, 0.5]] }"
    assert expand(parse(GOOD.replace("floor = 0.6", two)))[0].floor == (0.5, 0.4)


def test_a_game_may_have_a_twist_and_parameters_go_to_both() -> None:
    twisted = GOOD.replace('"bernoulli"', '"slow-burn+delay"').replace(
        "floor = 0.6", "floor = 0.6\nparameters = { delay = 3, nu = 0.1 }"
    )
    first = expand(parse(twisted))[0]
    assert first.id == "slow-burn+delay delay=3 nu=0.1/T=100/lewa/seed0"
    assert repr(first.build()[1]) == "Delay(game=SlowBurn(floor=0.6, nu=0.1), delay=3, random=False, lost=0.0)"
    assert slow("slow-burn+delay")
    assert slow("anti-leader+noise")
    assert not slow("slow-burn+noise")
    with pytest.raises(ValueError, match="game 1: unknown twist 'dely'; did you mean 'delay'"):
        parse(twisted.replace("slow-burn+delay", "slow-burn+dely"))


@pytest.mark.parametrize(
    ("said", "rounds"),
    [
        ("{ from = 1000, to = 100000 }", (1000, 10_000, 100_000)),
        ("{ from = 100, to = 1000, per_decade = 2 }", (100, 316, 1000)),
        ("{ from = 7, to = 7 }", (7,)),
        ("[1e5, 20]", (100_000, 20)),
        ("300", (300,)),
    ],
)
def test_rounds_are_a_list_or_evenly_spaced_on_a_logarithmic_scale(said: str, rounds: tuple[int, ...]) -> None:
    assert parse(GOOD.replace("[100, 1000]", said)).rounds == rounds


def test_seeds_are_their_number_or_themselves() -> None:
    assert [run.seed for run in expand(parse(GOOD.replace("seeds = 2", "seeds = [7, 3]")))][:2] == [7, 3]


BAD = [
    ("seeds = 2", "sedes = 2", "there is no key 'sedes'; did you mean 'seeds'?"),
    ("seeds = 2", "", "the key 'seeds' is missing"),
    ("seeds = 2", "seeds = 0", "seeds must be a positive integer or a list of distinct non-negative integers, got 0"),
    ("seeds = 2", "seeds = true", "seeds must be the number of seeds, or a list of non-negative integers, got True"),
    ("seeds = 2", 'seeds = ["a"]', "seeds must be the number of seeds, or a list of non-negative integers, got ['a']"),
    ("[100, 1000]", "[100, 0]", "rounds must be integers of at least 1, got 0"),
    ("[100, 1000]", "[100, 100]", "rounds must be at least one and distinct, got [100, 100]"),
    ("[100, 1000]", '"many"', "rounds must be integers of at least 1, got 'many'"),
    ("[100, 1000]", "{ form = 10, to = 100 }", "rounds has no key 'form'; did you mean 'from'?"),
    ("[100, 1000]", "{ from = 10 }", "rounds lacks the key 'to': it must be a list, or a table of from, to and per_decade"),
    ("[100, 1000]", "{ from = 10, to = 1 }", "rounds must have from at most to, got from = 10 and to = 1"),
    ('"small"', "3", "name must be a valid string, got 3"),
    ("seeds = 2", 'seeds = 2\nmeasures = ["regrets"]', "measures has no 'regrets'; did you mean 'regret'?"),
    (
        "seeds = 2",
        'seeds = 2\nmeasures = ["regret"]',
        "measures must include regret and violation together",
    ),
    ("seeds = 2", 'seeds = 2\nmeasures = "regret"', "measures must be a valid list, got 'regret'"),
    ("floor = 0.6", "flor = 0.6", "game 1: there is no key 'flor'; did you mean 'floor'?"),
    ("floor = 0.6", "", "game 1: needs either the key 'floor' or, for several floors, the key 'floors'"),
    ("floor = 0.6", "floor = 1.5", "game 1: floor must be finite numbers in [0, 1], got 1.5 at index (0,); scale"),
    ("floor = 0.6", 'floor = "low"', "game 1: floor must be one number per constraint, got 'low'"),
    ("floor = 0.6", "floors = 0.6", "game 1: floors must be a list of floors, at least one, got 0.6"),
    ("floor = 0.6", "floors = [0.6, 0.6]", "game 1: floors must be distinct, got [0.6, 0.6]"),
    (
        "floor = 0.6",
        "floor = [0.6, 0.5]",
        "bernoulli/T=100/lewa: the game bernoulli must have one floor per constraint, 1, got 2",
    ),
    ("floor = 0.6", "floor = 0.6\nparameters = 3", "game 1: parameters must be a valid table, got 3"),
    (
        "floor = 0.6",
        "floor = 0.6\nparameters = { reward = [1] }",
        "game 1: the game bernoulli has no parameter 'reward'; did you mean 'rewards'?",
    ),
    (
        "floor = 0.6",
        "floor = 0.6\nparameters = { rewards = [2, 3] }",
        "bernoulli rewards=2,3/T=100/lewa: mean rewards must be finite numbers in [0, 1], got 2.0",
    ),
    ('"bernoulli"', '"bernouli"', "game 1: unknown game 'bernouli'; did you mean 'bernoulli'?"),
    ('"bernoulli"', '"no_such_module:Game"', "game 1: no_such_module:Game cannot be found: No module named"),
    ('"lewa"\nsettings', '"lewaa"\nsettings', "learner 2: unknown learner 'lewaa'; did you mean 'lewa'?"),
    (
        '"lewa"\nsettings',
        '"entropic-lp"\nsettings',
        "the learner entropic-lp was removed in 0.3.0; use op-ewa with kappa=0 instead",
    ),
    ("tuning =", "tunning =", "learner 2: the learner lewa has no setting 'tunning'; did you mean 'tuning'?"),
    ("settings =", "setting =", "learner 2: there is no key 'setting'; did you mean 'settings'?"),
    ('"paper"', '"papers"', "bernoulli/T=100/lewa tuning=papers: tuning must be 'recommended' or 'paper'"),
    ("[[games]]", "[games]", "games must be a valid list, got {"),
    ("seeds = 2", "seeds == 2", "is not valid TOML: "),
    ("seeds = 2", f"seeds = {'[' * 5000}{']' * 5000}", "is nested too deeply for a study"),
    ("[100, 1000]", f"[1{'0' * 100}]", "rounds must be integers of at most 9223372036854775807, got one of 101 digits"),
]


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"), BAD, ids=[wrong.replace("\n", " ")[:60] or "nothing" for _, wrong, _ in BAD]
)
def test_what_is_wrong_is_said_in_one_sentence_with_the_nearest_right_word(
    right: str, wrong: str, sentence: str, tmp_path: Path
) -> None:
    assert right in GOOD
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace(right, wrong, 1))
    with pytest.raises(ValueError, match="mine") as refused:
        read(file)
    said = str(refused.value)
    assert said.startswith(str(file))
    assert sentence in said
    assert "\n" not in said
    assert "pydantic" not in said


def test_a_study_without_games_or_learners_is_refused() -> None:
    head = 'name = "x"\nrounds = 10\nseeds = 1\n'
    with pytest.raises(ValueError, match="study: the key 'games' is missing"):
        parse(head)
    with pytest.raises(ValueError, match=r"study: games must have at least 1 item"):
        parse(head + 'games = []\n[[learners]]\nname = "lewa"')


def test_what_is_no_file_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no file"):
        read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="must be text in UTF-8"):
        read(tmp_path / "bytes.toml")


def test_a_study_keeps_its_text_and_one_made_in_python_can_be_written_down() -> None:
    assert parse(GOOD).text == GOOD
    floors: dict[str, Any] = {"name": "bernoulli", "floors": [0.5, [0.6]], "parameters": {"rewards": [0.9, 0.5, 0.25]}}
    settings: dict[str, Any] = {"name": "lewa", "settings": {"tuning": "paper"}}
    made = Study.model_validate(
        {"name": 'a "b" \\ é', "games": [floors], "learners": [settings], "rounds": {"from": 10, "to": 1000}, "seeds": 3}
    )
    again = parse(made.text)
    assert again.model_dump() == made.model_dump()
    assert expand(again) == expand(made)


def test_importing_the_package_imports_nothing_that_only_studies_need() -> None:
    code = (
        "import sys, lewa; print([name for name in ('pydantic', 'pyarrow', 'dask', 'distributed') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
