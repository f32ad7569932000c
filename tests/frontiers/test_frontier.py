"""Reward against budget: the hindsight curve against other ways to compute it, learners against `lewa.play`, and logs."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import lewa
from lewa.cli.options import check_file
from lewa.data.columns import Data
from lewa.data.files import read_data
from lewa.data.log import Log
from lewa.data.moments import Value, past_mean
from lewa.data.off_policy import doubly_robust, ips, snips
from lewa.figures import Lines, ticks
from lewa.formatting import number
from lewa.frontiers import Frontier, frontier
from lewa.frontiers.figure import figure_title, panels
from lewa.frontiers.of_log import HALVES, SHUFFLED
from lewa.frontiers.tables import interval, tables
from lewa.games import Table
from lewa.measures import best_fixed_play
from lewa.report import frontier as show

pytestmark = pytest.mark.slow

FOLDER = Path(os.environ.get("LEWA_DATA", Path(__file__).parents[3] / "shared" / "data"))
RNG = np.random.default_rng(9)
T, MODELS = 300, ("small", "medium", "large")
QUALITY = (RNG.random((T, 3)) < [0.5, 0.7, 0.9]).astype(float) * 5  # stars
DOLLARS = np.array([0.001, 0.003, 0.01]) * (0.5 + RNG.random((T, 3)))
SECONDS = np.array([1.0, 4.0, 2.0]) * (0.5 + RNG.random((T, 3)))
MEANS = QUALITY.mean(axis=0), DOLLARS.mean(axis=0), SECONDS.mean(axis=0)


def table() -> dict[str, Any]:
    named = (("quality", QUALITY), ("dollars", DOLLARS), ("seconds", SECONDS))
    return {f"{name}:{model}": values[:, i] for name, values in named for i, model in enumerate(MODELS)}


def best(budget: float) -> float:
    """The most stars for these dollars, by looking at every mixture of two actions."""
    quality, dollars, _ = MEANS
    values = [quality[i] for i in range(3) if dollars[i] <= budget + 1e-12]
    for i in range(3):
        for j in range(3):
            if dollars[i] < budget < dollars[j]:
                share = (budget - dollars[i]) / (dollars[j] - dollars[i])
                values.append((1 - share) * quality[i] + share * quality[j])
    return float(max(values))


OWN: dict[str, Any] = {"reward": "quality", "at_most": "dollars"}


@pytest.fixture(scope="module")
def result() -> Frontier:
    return frontier(table(), **OWN, points=4, seeds=3)


def test_the_curve_is_the_best_of_all_mixtures_with_its_slope_as_the_price(result: Frontier) -> None:
    quality, dollars, _ = MEANS
    lines = [point.line for point in result.points]
    assert lines == pytest.approx(np.linspace(dollars[0], dollars[2], 4))  # from the least that can be kept to what is free
    for point in result.points:
        assert point.best.feasible
        assert point.best.value == pytest.approx(best(point.line))
        assert sum(point.best.play.values()) == pytest.approx(1)
        assert point.best.average["dollars"] == pytest.approx(point.line)
        assert sum(quality[MODELS.index(name)] * share for name, share in point.best.play.items()) == pytest.approx(
            point.best.value
        )
        if point is not result.points[-1]:
            slope = (best(point.line + 1e-7) - best(point.line)) / 1e-7
            assert point.best.price["dollars"] == pytest.approx(slope, rel=1e-4)
    assert result.points[-1].best.price == {"dollars": 0}
    assert [point.value for point in result.curve] == pytest.approx([best(point.line) for point in result.curve], abs=1e-7)


def test_learners_get_what_a_play_of_theirs_gets(result: Frontier) -> None:
    low, high = DOLLARS.min(), DOLLARS.max()
    game = Table(QUALITY / 5, (high - DOLLARS) / (high - low))
    assert result.learners == {"paced-hedge": "full", "squarecb-lewa": "bandit"}
    point = result.points[1]
    for name, seeds in (("paced-hedge", 1), ("squarecb-lewa", 3)):
        made = lewa.learners.make(name, 3, T, (high - point.line) / (high - low))
        trace, got = lewa.play(made, game, seeds=seeds), point.learners[name]
        assert got.reward.per_seed == pytest.approx(5 * trace.reward[:, -1] / T)
        assert got.violation["dollars"].per_seed == pytest.approx((high - low) * lewa.violation(trace)[:, 0] / T)
        positive = (high - low) * lewa.positive_violation(trace)[:, 0] / T
        assert got.positive_violation["dollars"].per_seed == pytest.approx(positive)
        spent = point.line + (high - low) * trace.shortfall[:, -1, 0] / T
        assert got.average["dollars"].per_seed == pytest.approx(spent)
        assert got.reward.low <= got.reward.mean <= got.reward.high
    assert point.learners["paced-hedge"].reward.low == point.learners["paced-hedge"].reward.high
    three = np.array(got.reward.per_seed)
    assert got.reward.high - got.reward.mean == pytest.approx(4.302652729911275 * three.std(ddof=1) / np.sqrt(3))


def test_an_at_least_line_is_the_mirror_image() -> None:
    spare = {
        name.replace("dollars", "spare"): 1 - values if "dollars" in name else values for name, values in table().items()
    }
    one = frontier(table(), **OWN, budgets=[0.004, 0.002], learner="lewa")
    other = frontier(spare, reward="quality", at_least="spare", budgets=[0.998, 0.996], learner="lewa")
    assert [point.line for point in other.points] == pytest.approx([0.996, 0.998])
    for a, b in zip(one.points, reversed(other.points), strict=True):
        assert a.best.value == pytest.approx(b.best.value)
        assert a.best.price["dollars"] == pytest.approx(b.best.price["spare"])
        assert a.learners["lewa"].reward.mean == pytest.approx(b.learners["lewa"].reward.mean)


def test_the_other_constraints_stay_where_they_are() -> None:
    own: dict[str, Any] = {"reward": "quality", "at_most": ["dollars", "seconds"], "learner": "lewa", "points": 3}
    held = frontier(table(), **own, lines={"seconds": 2.2})
    quality, dollars, seconds = MEANS
    grid = np.array([[a, b, 1 - a - b] for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1 - a, 101)])
    for point in held.points:
        assert point.lines["seconds"] == 2.2
        assert point.best.average["seconds"] <= 2.2 + 1e-6
        assert point.best.average["dollars"] <= point.line + 1e-8
        kept = (grid @ quality)[(grid @ dollars <= point.line) & (grid @ seconds <= 2.2)]
        assert point.best.value >= max(kept, default=0) - 1e-6
        assert set(point.learners["lewa"].violation) == {"dollars", "seconds"}
    assert held.points[-1].best.price["dollars"] == pytest.approx(0, abs=1e-9)
    fast = frontier(table(), **own, lines={"seconds": 1.5})  # which binds where the line of dollars no longer does
    assert 0 < fast.points[-1].best.play["small"] < 1
    assert fast.points[-1].best.price["dollars"] == pytest.approx(0, abs=1e-9)
    other = frontier(table(), **own, lines={"dollars": 0.004})
    assert other.varied == "seconds"
    loose = frontier(table(), **own)
    assert (loose.varied, loose.points[0].lines["seconds"]) == ("dollars", SECONDS.max())
    assert "seconds has no limit here, so any average of it is allowed" in loose.notes


def test_a_line_that_no_play_keeps_is_shown_as_such(recwarn: pytest.WarningsRecorder) -> None:
    result = frontier(table(), **OWN, budgets=[0.0008, 0.004], learner="lewa")
    assert [point.best.feasible for point in result.points] == [False, True]
    assert result.points[0].best.play == {"small": 1.0}
    assert result.points[0].best.price == {"dollars": None}
    assert "0.0008 none - small 0.004" in printed(result)
    assert "no play meets dollars at most 0.0008: the nearest feasible limit is" in result.notes[0]
    assert not recwarn.list


def test_a_line_is_shown_once_however_often_it_is_asked_for() -> None:
    assert [point.line for point in frontier(table(), **OWN, budgets=[0.004, 0.002, 0.004], learner="lewa").points] == [
        pytest.approx(0.002),
        pytest.approx(0.004),
    ]


def printed(result: Frontier) -> str:
    """What is printed, with its spaces and ends of line as one space each."""
    console = Console(width=200, file=io.StringIO())
    show.print_frontier(result, console)
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def test_tables_say_what_easing_the_line_yields_and_no_line_where_there_is_none() -> None:
    own: dict[str, Any] = {"reward": "quality", "learner": "lewa", "points": 2}
    assert "gain per extra unit of dollars" in printed(frontier(table(), **own, at_most="dollars"))
    speed = {name.replace("seconds", "speed"): values for name, values in table().items()}
    least = frontier(speed, **own, at_least=["speed", "dollars"], lines={"dollars": 0.001})
    text = printed(least)
    assert (
        "quality against speed at least, dollars at least 0.001: 300 rounds" in text
    )  # on one line, however narrow the table
    assert "gain per unit less of speed" in text
    assert "quality against dollars at most: 300 rounds" in printed(frontier(table(), **own, at_most=["dollars", "seconds"]))
    assert "results of lewa (full)" in text
    assert text.endswith("per round; ! the limit is missed")


def test_the_price_is_drawn_as_the_steps_that_it_has() -> None:
    for own, way in (({"at_most": "dollars"}, "post"), ({"at_least": "seconds"}, "pre")):
        price = panels(frontier(table(), reward="quality", learner="lewa", points=2, **own))[1]  # type: ignore[arg-type]
        assert isinstance(price, Lines)
        assert price.curves[0].steps == way


def test_scales_tell_their_numbers_apart() -> None:
    from matplotlib.figure import Figure

    for low, high in ((0.25281, 0.25369), (100.1, 100.4), (1_000_100, 1_000_400), (0, 1)):
        axes = Figure().subplots()
        axes.set_xlim(low, high)
        ticks(axes.xaxis, 5)
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert len(set(labels)) == len(labels) >= 3
    assert labels == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_where_the_best_action_is_the_cheapest_there_is_one_point() -> None:
    columns = {"r:a": [1, 1, 0.5], "r:b": [0, 1, 0], "cost:a": [1, 1, 2], "cost:b": [3, 1, 4]}
    result = frontier(columns, reward="r", at_most="cost", learner="lewa")
    assert len(result.points) == 1
    assert result.points[0].best.play == {"a": 1.0}
    assert "costs any reward" in result.notes[0]
    assert panels(result)


def test_progress_ends_at_all_rounds() -> None:
    seen: list[tuple[int, int]] = []
    frontier(table(), **OWN, points=2, seeds=2, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2 * 3 * T, 2 * 3 * T)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


# Logs --------------------------------------------------------------------------------------------------------------------


def log(rows: int = 2000, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    p = np.array([0.5, 0.3, 0.2])
    a = rng.choice(3, size=rows, p=p)
    dollars = np.array([0.001, 0.003, 0.01])[a] * (0.5 + rng.random(rows))
    quality = (rng.random(rows) < np.array([0.5, 0.7, 0.9])[a]) * 5.0
    return {"action": np.array(MODELS)[a], "quality": quality, "dollars": dollars, "propensity": p[a]}


def test_the_play_of_a_log_in_order_is_chosen_by_the_first_half_and_valued_by_the_second() -> None:
    columns = log()
    result = frontier(columns, **OWN, budgets=[0.004], folds="halves", confidence=None)
    point = result.points[0]
    names = sorted(MODELS)
    rows = columns
    action = np.array([names.index(name) for name in rows["action"]])
    chosen = chosen_by(rows, action, slice(0, 1000))
    low, high = columns["dollars"].min(), columns["dollars"].max()
    assert point.held_out is not None
    assert point.held_out.play == pytest.approx({name: p for name, p in zip(names, chosen.play, strict=True) if p > 0})
    for name, within in (("quality", (0, 5)), ("dollars", (low, high))):
        half = (action[1000:], rows[name][1000:], rows["propensity"][1000:], chosen.play)
        model = past_means(action, rows[name], 3)[1000:]  # made of all rows before, those that chose included
        for way, value in (
            ("ips", ips(*half, range=within)),
            ("snips", snips(*half)),
            ("dr", doubly_robust(*half, model=model, range=within)),
        ):
            found = point.held_out.values[name][way]
            assert found.value == pytest.approx(value.value)
            assert found.low <= value.value - 0.99 * z_interval(*half, way=way, model=model)
            assert found.proved == pytest.approx(value.proved)
    assert HALVES in result.notes


def past_means(action: Any, x: Any, actions: int) -> Any:
    """The mean of each action's rows before each row, (T, K)."""
    return np.column_stack([past_mean(x, drawn=action == a, default=past_mean(x)) for a in range(actions)])


def z_interval(*half: Any, way: str, model: Any) -> float:
    """The half-width of the normal approximation."""
    action, x, propensity, play = half
    weight, rows = play[action] / propensity, np.arange(action.size)
    terms = {
        "ips": weight * x,
        "snips": weight * (x - (weight * x).sum() / weight.sum()) / weight.mean(),
        "dr": model @ play + weight * (x - model[rows, action]),
    }[way]
    return float(1.96 * terms.std(ddof=1) / action.size**0.5)


def chosen_by(rows: dict[str, Any], action: Any, half: slice) -> Any:
    means = [
        [snips(action[half], rows[name][half], rows["propensity"][half], row).value for row in np.eye(3)]
        for name in ("quality", "dollars")
    ]
    low, high = rows["dollars"].min(), rows["dollars"].max()
    return best_fixed_play(np.array(means[0]) / 5, (high - np.array(means[1])) / (high - low), (high - 0.004) / (high - low))


def test_of_a_shuffled_log_each_half_chooses_a_play_that_the_other_half_values() -> None:
    columns = log()
    result = frontier(columns, **OWN, budgets=[0.004], folds="shuffled", confidence=None)
    order, names = np.random.default_rng(0).permutation(2000), sorted(MODELS)
    held_out = result.points[0].held_out
    assert held_out is not None
    plays, values = [], []
    for first, second in ((slice(0, 1000), slice(1000, 2000)), (slice(1000, 2000), slice(0, 1000))):
        turned = np.concatenate([order[first], order[second]])
        rows = {name: column[turned] for name, column in columns.items()}
        action = np.array([names.index(name) for name in rows["action"]])
        plays.append(chosen_by(rows, action, slice(0, 1000)).play)
        half, within = (action[1000:], rows["quality"][1000:], rows["propensity"][1000:], plays[-1]), (0, 5)
        model = past_means(action, rows["quality"], 3)[1000:]
        values.append(doubly_robust(*half, model=model, range=within, level=0.975))
    mean = (plays[0] + plays[1]) / 2
    assert held_out.play == pytest.approx({name: p for name, p in zip(names, mean, strict=True) if p > 0})
    found = held_out.values["quality"]["dr"]
    assert found.value == pytest.approx((values[0].value + values[1].value) / 2)
    ends = [value.proved or (0, 0) for value in values]
    assert found.proved == pytest.approx(np.mean(ends, axis=0))
    assert SHUFFLED in result.notes


def test_rows_are_shuffled_where_the_log_says_that_draws_depend_on_nothing() -> None:
    columns = log()
    assert SHUFFLED in frontier(columns, **OWN, points=1).notes
    varying = np.where(np.arange(2000) % 2, columns["propensity"], columns["propensity"] * 1.01)
    assert HALVES in frontier({**columns, "propensity": varying}, **OWN, points=1).notes
    with pytest.raises(ValueError, match="folds must be 'auto', 'halves' or 'shuffled', got 'odd'"):
        frontier(columns, **OWN, folds="odd")


def test_what_is_estimated_of_a_log_is_near_the_truth_and_optimism_is_seen() -> None:
    """Many short logs of actions that are all alike: the estimated maximum is above the truth, what is held out is not."""
    rng, estimated, held = np.random.default_rng(1), [], []
    for _ in range(30):
        a = rng.integers(0, 8, 400)
        columns = {"action": a, "r": rng.random(400), "c": rng.random(400), "propensity": np.full(400, 0.125)}
        result = frontier(columns, reward="r=0..1", budgets=[0.0])
        estimated.append(result.points[0].best.value - 0.5)
        held.append(result.points[0].held_out.values["r"]["dr"].value - 0.5)  # type: ignore[union-attr]
    assert np.mean(estimated) > 4 * np.std(estimated) / 30**0.5
    assert abs(np.mean(held)) < 3 * np.std(held) / 30**0.5


def doubts(result: Frontier) -> list[str]:
    return [note for note in result.notes if note.startswith("propensities do not fit")]


def test_wrong_propensities_are_noticed_and_right_ones_are_not() -> None:
    columns = log()
    assert not doubts(frontier(columns, **OWN))
    wrong = {**columns, "propensity": np.full(2000, 1 / 3)}
    (note,) = doubts(frontier(wrong, **OWN))
    drawn = int((columns["action"] == "small").sum())
    assert f"the log: small was drawn {drawn:,} times, 667 expected" in note
    assert "large was drawn" in note
    assert "medium" not in note  # its propensity was 0.3
    assert "were they recorded wrongly" in note


def sorted_log() -> dict[str, Any]:
    """Rows sorted by village after the draws: the best action was drawn mostly in the first villages."""
    rng = np.random.default_rng(7)
    p = np.array([0.35, 0.1, 0.35, 0.2])
    a = rng.choice(4, size=2834, p=p)
    village = rng.random(2834) - 0.3 * (a == 1)
    order = np.argsort(village)
    helped = (rng.random(2834) < np.array([0.4, 0.9, 0.5, 0.6])[a]).astype(float)
    usd = np.array([0.0, 1.0, 0.5, 2.0])[a]
    rows = {"action": a, "helped": helped, "usd": usd, "propensity": p[a]}
    return {name: values[order] for name, values in rows.items()}


def test_a_log_that_is_sorted_is_noticed_and_its_proved_intervals_agree() -> None:
    columns = sorted_log()
    own: dict[str, Any] = {"reward": "helped=0..1", "at_most": "usd=0..2", "budgets": [1.0]}
    disjoint = {}
    for folds in ("halves", "auto"):
        result = frontier(columns, **own, folds=folds)
        held_out = result.points[0].held_out
        assert held_out is not None
        values = held_out.values["helped"]
        assert values["ips"].proved is not None
        assert values["dr"].proved is not None
        disjoint[folds] = values["ips"].proved[1] < values["dr"].proved[0]
        (note,) = doubts(result)
        assert "action 1 was drawn" in note
        assert ("sorted after the draws" in note) == (folds == "auto")
    assert disjoint == {"halves": True, "auto": False}
    free = result.actions_alone["action 0"]["usd"]["dr"]  # it costs 0 in every row
    assert abs(free.value) < 0.005


def test_a_log_where_one_half_never_shows_an_action_is_refused() -> None:
    columns = log()
    order = np.argsort(columns["action"])
    columns = {name: values[order] for name, values in columns.items()}
    with pytest.raises(ValueError, match=r"the second half \(1000 of 2000 rows\) lacks large, medium"):
        frontier(columns, **OWN, folds="halves")
    assert doubts(frontier(columns, **OWN))


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no folder of data at {FOLDER}")
def test_the_wireless_log_has_the_values_that_its_makers_found() -> None:
    about = json.loads((FOLDER / "wireless_sigfox_power_log.json").read_text())
    budgets = {one["label"]: one for one in about["budgets"]}
    file = FOLDER / "wireless_sigfox_power_log.csv.gz"
    result = frontier(file, budgets=[budgets["recommended"]["c0"][0]], confidence=None)
    for name, column in (("reward", "mean_reward_snips"), ("c", "mean_c_snips")):
        alone = [of[name]["snips"].value for of in result.actions_alone.values()]
        assert alone == pytest.approx(list(about[column].values()), abs=6e-7)
    lp, point = budgets["recommended"]["lp"], result.points[0]
    assert point.best.value == pytest.approx(lp["constrained_value"], abs=6e-7)
    assert point.best.price["c"] == pytest.approx(lp["dual_price"][0], abs=6e-6)
    assert list(point.best.play.values()) == pytest.approx(list(lp["support"].values()), abs=6e-5)


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no folder of data at {FOLDER}")
def test_real_tables_have_the_hindsight_that_their_makers_found() -> None:
    for path in (path for path in sorted(FOLDER.glob("*.npz")) if path.with_suffix(".json").is_file()):
        about = json.loads(path.with_suffix(".json").read_text())
        data = read_data(path)
        assert isinstance(data.game, Table)
        means = Table(
            data.game.mean_rewards(data.game.length)[np.newaxis], data.game.rows.mean(axis=0, dtype=np.float64).T[np.newaxis]
        )
        small = Data.of_game(
            means, data.actions, [one.name for one in data.constraints]
        )  # one round: learners have little to do
        for budget in about["budgets"]:
            first, *rest = budget["c0"]
            stay = dict(zip([one.name for one in data.constraints[1:]], rest, strict=True))
            point = frontier(small, budgets=[first], lines=stay, learner="lewa").points[0]
            assert point.best.feasible == budget["lp"]["feasible"]
            if point.best.feasible:
                assert point.best.value == pytest.approx(budget["lp"]["constrained_value"], abs=1e-5)
                assert list(point.best.price.values()) == pytest.approx(budget["lp"]["dual_price"], abs=1e-4)


def test_it_prints_itself_as_the_tables_that_the_command_shows(result: Frontier) -> None:
    assert " ".join(str(result).split()) == printed(result)
    log_result = frontier(log(), **OWN, points=2)
    assert " ".join(str(log_result).split()) == printed(log_result)
    assert repr(log_result) == "<Frontier: quality against dollars at most, 2 lines, from a log>"


def test_every_price_is_shown_and_every_number_of_a_cell_has_a_name() -> None:
    own: dict[str, Any] = {"reward": "quality", "at_most": ["dollars", "seconds"], "learner": "lewa", "points": 3}
    result = frontier(table(), **own, lines={"seconds": 1.5})
    head, rows = tables(result)[0].columns, tables(result)[0].rows
    assert head[2:4] == ("gain per extra unit of dollars", "gain per extra unit of seconds")
    for point, row in zip(result.points, rows, strict=True):
        assert row[2:4] == tuple(number(point.best.price[name]) for name in ("dollars", "seconds"))
    net = result.points[0].learners["lewa"].violation
    assert tables(result)[1].columns[1:4] == ("lewa: quality", "average", "net violation")
    cell = tables(result)[1].rows[0][3]
    assert cell == f"dollars {number(net['dollars'].mean)}, seconds {number(net['seconds'].mean)}"
    assert figure_title(result) == "quality against dollars at most, seconds at most 1.5, 300 rounds"


def test_learners_are_shown_at_what_they_spent_and_marked_where_they_missed_a_limit(result: Frontier) -> None:
    reward = panels(result)[0]
    assert isinstance(reward, Lines)
    strand = next(each for each in reward.curves if each.name == "squarecb-lewa")
    spent = [point.learners["squarecb-lewa"].average["dollars"].mean for point in result.points]
    assert strand.x == pytest.approx(spent)
    over = tuple(cost > point.line for cost, point in zip(spent, result.points, strict=True))
    assert strand.hollow == over
    assert set(over) == {True, False}
    column = tables(result)[1].columns.index("squarecb-lewa: quality") + 1
    assert tables(result)[1].columns[column] == "average dollars"
    cells = [row[column] for row in tables(result)[1].rows]
    assert cells == [number(cost) + "!" * missed for cost, missed in zip(spent, over, strict=True)]
    assert "! the limit is missed" in printed(result)


def test_actions_that_are_numbers_can_be_named(tmp_path: Path) -> None:
    columns = {**log(), "arm": np.array([MODELS.index(name) for name in log()["action"]])}
    named = frontier(columns, **OWN, action="arm=0:small,2:large", points=2)
    assert named.actions == ("small", "action 1", "large")
    assert frontier(columns, **OWN, action="arm", points=2).actions == ("action 0", "action 1", "action 2")
    wide = {f"{name}:{k}": values for name, values in (("r", [1, 0, 1]), ("cost", [2, 1, 3])) for k in (0, 1)}
    assert frontier(wide, reward="r", at_most="cost", learner="lewa", points=1).actions == ("action 0", "action 1")
    for text, sentence in (
        ("arm=0:x,1:x", "names of actions must be distinct, got 'x' twice"),
        ("arm=7:x", "there is no action '7' to call 'x'; the actions are 0, 1, 2"),
        ("arm=small", "a column of actions must be NAME or NAME=LABEL:TEXT,LABEL:TEXT, got 'arm=small'"),
        ("amr=0:x", "has no column 'amr'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            frontier(columns, **OWN, action=text)


def test_the_figure_shows_actions_the_curve_to_the_loosest_line_and_shares(result: Frontier) -> None:
    reward = panels(frontier(table(), **OWN, budgets=[0.002, 0.0149], learner="lewa"))[0]
    assert isinstance(reward, Lines)
    assert set(reward.actions) == set(MODELS)
    assert reward.actions["large"] == pytest.approx((MEANS[1][2], MEANS[0][2]))
    best = reward.curves[0]
    assert (best.x[-1], best.y[-1], best.flat) == (pytest.approx(0.0149), pytest.approx(MEANS[0].max()), "right")
    of_log = panels(frontier(log(), **OWN, points=3))
    assert len(of_log) == 4
    shares = of_log[3]
    assert isinstance(shares, Lines)
    assert {strand.name for strand in shares.curves} <= set(MODELS)
    assert np.sum([strand.y for strand in shares.curves], axis=0) == pytest.approx(1)
    assert isinstance(of_log[0], Lines)
    assert of_log[0].curves[0].low is not None
    assert of_log[0].curves[1].proved is not None
    assert of_log[1].title == "quality gained per extra unit of dollars"
    assert figure_title(result) == "quality against dollars at most, 300 rounds, 3 seeds"


# What is shown -----------------------------------------------------------------------------------------------------------


def test_games_are_taken_as_they_are() -> None:
    result = frontier(Table(QUALITY / 5, 1 - DOLLARS), learner="lewa", points=2)
    assert (result.actions, result.varied) == (("action 0", "action 1", "action 2"), "c")
    assert repr(result) == "<Frontier: reward against c at least, 2 lines, from a table>"
    a = np.arange(40) % 2
    small = Log(a, np.full(40, 0.5), np.where(a, 1.0, 0.25), np.where(a, 0.0, 1.0)[:, np.newaxis], 2)
    assert frontier(small, points=2).kind == "log"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no points": ({"points": 0}, "points must be an integer from 1 to 10000, got 0"),
    "a level of 95": ({"level": 95}, "level must lie between 0 and 1, got 95"),
    "a line of something else": ({"lines": {"dolars": 1}}, "there is no constraint 'dolars'; did you mean 'dollars'?"),
    "nothing to vary": ({"lines": {"dollars": 0.004}}, "lines must leave out the constraint whose limit is varied"),
    "a budget below the range": ({"budgets": [0.0001]}, "the limit of dollars must lie in its range"),
    "a confidence of 1": ({"confidence": 1}, "confidence must lie between 0 and 1 or be None, got 1"),
    "no budget": ({"budgets": []}, "there must be at least one budget"),
    "an unknown learner": ({"learner": "lewwa"}, "unknown learner 'lewwa'; did you mean 'lewa'?"),
    "lines that cannot be kept together": (
        {"at_most": ["dollars", "seconds"], "lines": {"seconds": 0.6}},
        "no play meets seconds at 0.6, whatever the limit of dollars",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_questions_are_answered_with_one_sentence(what: str) -> None:
    asked, sentence = BAD[what]
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (its sentence is read below)
        frontier(table(), **{**OWN, **asked})
    assert sentence in str(refused.value)


def test_columns_are_not_those_of_a_game_and_a_log_replays_no_learner() -> None:
    with pytest.raises(ValueError, match="a game has no columns"):
        frontier(Table(QUALITY / 5, 1 - DOLLARS), at_most="dollars")
    with pytest.raises(ValueError, match="the frontier of a log cannot replay learners"):
        frontier(log(), **OWN, learner="bandit-lewa")


@pytest.mark.parametrize("kind", ["table", "log"])
def test_it_is_written_as_a_figure_as_numbers_and_as_a_spreadsheet(kind: str, tmp_path: Path, result: Frontier) -> None:
    if kind == "log":
        result = frontier(log(), **OWN, points=4)
    for name in ("f.svg", "f.json", "f.csv") if kind == "log" else ("f.svg", "f.png", "f.pdf", "f.json", "f.csv"):
        show.write_frontier(result, tmp_path / name)
    svg = (tmp_path / "f.svg").read_text()
    assert "dollars at most" in svg
    assert ("hindsight" if kind == "table" else "held out") in svg
    for name in ("positive violation, dollars", "net violation, dollars"):
        assert (name in svg) == (kind == "table")
    show.write_frontier(result, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == svg
    if kind == "table":
        assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
        assert (tmp_path / "f.pdf").read_bytes()[:4] == b"%PDF"
    assert json.loads((tmp_path / "f.json").read_text()) == json.loads(json.dumps(result.plain()))
    with (tmp_path / "f.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * (3 if kind == "table" else 4)
    assert float(rows[0]["quality"]) == result.points[0].best.value
    assert {row["who"] for row in rows} >= ({"hindsight"} if kind == "table" else {"estimated", "held out, dr"})
    with pytest.raises(ValueError, match=r"a file that ends in .svg, .png, .pdf, .json, .csv, got f.txt"):
        check_file(tmp_path / "f.txt", "a frontier", show.FILES)
    with pytest.raises(ValueError, match="a file in an existing folder"):
        check_file(tmp_path / "nowhere" / "f.svg", "a frontier")


def test_an_interval_of_rounding_errors_is_not_printed() -> None:
    assert interval(Value(0.2, 0.2 - 1e-17, 0.2 + 3e-17)) == "0.2"
    assert interval(Value(0.2, 0.1, 0.4)) == "0.2 (0.1 to 0.4)"
