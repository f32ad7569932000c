"""The advice is the least proved bound, found again here by trying everything; and it says so in two sentences."""

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.theorems.instances import HUNT
from tools import guarantees

import lewa
from lewa import cli, learners
from lewa.advice.weighing import rank, weigh
from lewa.choice import choose_learner, least_bound_beside
from lewa.feedback import feedback_kind
from lewa.theory.guarantees import CONSTANT, EACH_ACTION, EVERY_ROUND, EXPECTED, MEAN, STILL
from lewa.theory.setting import Setting

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

K, FLOOR = 10, 0.6
WORLDS: dict[str, dict[str, Any]] = {
    "iid": {"constraints": "iid"},
    "corrupted": {"constraints": "iid", "corruption": 50.0},
    "constant": {"constraints": "constant"},
    "arbitrary": {"constraints": "arbitrary"},
}
CHOSEN = {name for shown in ("full", "bandit") for name in learners.chosen_for("bounds", shown)}
NEVER = [name for name in learners.ALL if "@" not in name and name not in CHOSEN]
IN_CONTEXT = [name for name in NEVER if learners.ALL[name].purpose in ("contexts", "policies")]
CELLS = [
    (shown, world, every_round, epsilon, slater, horizon)
    for shown, world, every_round, epsilon, slater, horizon in product(
        ("full", "bandit"), WORLDS, (False, True), (None, 0.05), (None, 0.2), (1_000_000, None)
    )
    if (horizon and slater is None) or ((horizon or slater is None) and world == "iid")  # the rest is alike
]


def made(name: str, actions: int, rounds: int, floor: float, settings: dict[str, float]) -> Any:
    return learners.make(name, actions, rounds, floor, **settings)


def shares(said: Any, every_round: bool, T: int, fails: float = 0.0) -> list[float]:
    """regret/T and violation/T, after what failing with so much probability costs."""
    violation = said.positive_violation if every_round else said.violation
    return [min(said.regret / T + fails, 1), *(min(v / T + FLOOR * fails, FLOOR) for v in violation)]


def settings_tried(name: str, setting: Setting, T: int, timeless: bool) -> list[dict[str, float]]:
    """Every tuning of one learner, on grids of the test's own, finer than those that the advice begins with."""
    known, epsilon, C = learners.settings_of(name), setting.epsilon or 1 / T, setting.corruption or 0.0
    grid: dict[str, Any] = {"b": np.linspace(0.503, 0.993, 36), "kappa": (0.0, -1.0, 0.5), "optimism": (0.0,)}
    if "+" in name:
        grid["b"] = (0.7,)
    tunings: list[dict[str, float]] = [{}, *({knob: x} for knob, values in grid.items() if knob in known for x in values)]
    if "kappa" in known and "share" in known and not timeless:
        tunings += [{"share": 1 / T}, {"kappa": 0, "share": 0}]
    if "explore" in known and not timeless and "+" not in name:
        for n in np.ceil(np.geomspace(10, T, 40)):
            tunings.append({"explore": n})
            if C and "radius" in known:
                tunings.append({"explore": n, "radius": float(np.sqrt(np.log(2 * K / epsilon) / 2) + C / np.sqrt(n))})
    if "corruption" in known and C:
        tunings = [{**one, "corruption": C} for one in tunings]
    return [*tunings, *({**one, "epsilon": epsilon} for one in tunings if "epsilon" in known)]


class Tried(NamedTuple):
    """What one statement about one tuning comes to; sorted, the best is first."""

    weak: bool  # a bound on [E V]+
    share: float  # doubled if it is about expectations only
    total: float
    name: str
    single: float


def tried(
    name: str, setting: Setting, every_round: bool, T: int, timeless: bool, only: dict[str, float] | None = None
) -> list[Tried]:
    """Every statement of every tuning of one learner that answers."""
    epsilon, found = setting.epsilon or 1 / T, []
    for settings in settings_tried(name, setting, T, timeless) if only is None else [only]:
        try:
            learner, later = (made(name, K, rounds, FLOOR, settings) for rounds in (T, 7 * T))
        except ValueError:
            continue
        if getattr(learner, "slack", 1) == 0:
            continue
        if timeless and learner != later:
            continue
        for one in (setting, setting._replace(epsilon=epsilon)):
            for said in learner.guarantees(K, T, one):
                forbidden = {STILL} | ({MEAN, CONSTANT} if setting.corruption else set())
                forbidden |= set() if setting.constraints == "arbitrary" else {EVERY_ROUND, EACH_ACTION}
                if said.regret is None or forbidden & set(said.assumptions):
                    continue
                if every_round and said.positive_violation is None:
                    continue
                fails = 0.0
                if said.kind == "high probability":
                    fails = (said.epsilon or 0.0) if setting.epsilon is None else 0.0
                    if (said.epsilon or 1.0) > epsilon * (1 + 1e-9):
                        continue
                elif said.kind != "pathwise" and setting.epsilon is not None:
                    continue
                each, sure = shares(said, every_round, T, fails), said.kind in ("pathwise", "high probability")
                if max(each) < 1:
                    times = 1 if sure else 2
                    found.append(Tried(said.kind == EXPECTED, times * max(each), times * sum(each), name, max(each)))
    return found


def practice(shown: str) -> str:
    """The default learner of this feedback."""
    return learners.first_choice("practice", shown, None)


def test_a_learner_declares_what_it_is_chosen_for() -> None:
    declared = {name: kind.purpose for name, kind in learners.ALL.items()}
    others = {name: purpose for name, purpose in declared.items() if purpose != "bounds"}
    rivals = [*learners.FAMILIES["for comparison"], "ewa", "bandit-epoch-project"]
    assert others == {
        **dict.fromkeys(rivals, "comparison"),
        **dict.fromkeys(["squarecb-lewa", "paced-hedge"], "practice"),
        **dict.fromkeys(["proved-squarecb-lewa", "anytime-proved-squarecb-lewa"], "contexts"),
        **dict.fromkeys(["exp4-lewa", "exp4-lewa-ix", "anytime-exp4-lewa", "lewa-policies"], "policies"),
    }
    assert [practice(shown) for shown in ("full", "bandit")] == ["paced-hedge", "squarecb-lewa"]


@pytest.mark.parametrize("cell", CELLS if HUNT else CELLS[::3], ids=str)
def test_the_advice_is_the_least_bound_of_all(cell: tuple[Any, ...]) -> None:
    shown, world, every_round, epsilon, slater, horizon = cell
    T = horizon or 1_000_000
    setting = Setting(epsilon=epsilon, slater=slater, **WORLDS[world])
    named = [
        name
        for name, kind in learners.ALL.items()
        if (feedback_kind(kind) == "full") == (shown == "full")
        and "printed" not in name
        and "penalty" not in name
        and name not in (*NEVER, "safe-mixing", "bandit-safe-mixing")
    ]
    inside = [f"{name}+doubling" for name in named if learners.needs_horizon(name)] if horizon is None else []
    inside += [f"{name}+tightened" for name in named] if slater else []
    found = sorted(one for name in (*named, *inside) for one in tried(name, setting, every_round, T, horizon is None))
    advice = lewa.advise(shown, K, horizon, FLOOR, every_round=every_round, epsilon=epsilon, slater=slater, **WORLDS[world])
    assert len(sentences(advice.reason)) == 2, advice.reason
    assert len(sentences(advice.in_practice)) == 1
    if not found:
        assert not advice.ranked
        assert advice.runner_up is None
        assert "No learner has a guarantee" in advice.reason
        assert advice.learner.name.removesuffix("+doubling") == practice(shown)
        assert advice.learner.settings == {}
        return
    others = [one for one in found if one.name != advice.learner.name]
    assert (advice.runner_up is None) == (not others)
    for choice, rivals in ((advice.learner, found), (advice.runner_up, others)):
        if choice is None:
            continue
        again = min(tried(choice.name, setting, every_round, T, horizon is None, choice.settings))
        assert choice.share == pytest.approx(again.single)
        assert again.weak == rivals[0].weak
        assert again.share <= 1.001 * rivals[0].share  # a grid of ours has no better point


@pytest.mark.parametrize("floor", [0.0, FLOOR])  # with floor 0 nothing is violated, and the blind have the least bounds
@pytest.mark.parametrize("shown", ["full", "bandit"])
def test_rivals_are_measured_and_never_advised(shown: str, floor: float) -> None:
    ranked = lewa.advise(shown, K, 100_000, floor).ranked
    assert ranked
    assert not {choice.name for choice in ranked} & set(NEVER)


@pytest.mark.parametrize("name", sorted({*NEVER} - {*IN_CONTEXT, "bandit-epoch-project"}))
def test_nothing_is_proved_of_what_they_violate(name: str) -> None:
    for setting in (Setting(), Setting("constant"), Setting("arbitrary"), Setting(epsilon=0.05)):
        for said in learners.make(name, K, 100_000, FLOOR).guarantees(K, 100_000, setting):
            assert said.violation is None or said.violation[0] == pytest.approx(FLOOR * 100_000)


def test_epochs_are_never_better_than_what_they_add_exploration_to() -> None:
    for T, epsilon in product((10**3, 10**5, 10**8), (0.05, 1e-4)):
        kinds = [learners.make(name, K, T, FLOOR, epsilon=epsilon) for name in ("bandit-epoch-project", "bandit-op-ewa")]
        more, less = (lewa.guarantee(learner, K, T, epsilon=epsilon) for learner in kinds)
        if more.regret is not None:
            assert less.regret is not None
            assert more.regret >= less.regret
            assert max(more.violation or ()) >= max(less.violation or ())


def sentences(text: str) -> list[str]:
    return re.findall(r"[^.].*?[.](?=\s|$)", text)


def test_what_is_advised_can_be_made_and_has_that_guarantee() -> None:
    for shown, epsilon in product(("full", "bandit"), (None, 0.01)):
        advice = lewa.advise(shown, K, 100_000, FLOOR, epsilon=epsilon)
        for choice in (advice.learner, *filter(None, [advice.runner_up])):
            learner = learners.make(choice.name, K, 100_000, FLOOR, **choice.settings)
            said = [
                one
                for asked in (Setting(epsilon=epsilon), Setting(epsilon=epsilon or 1 / 100_000))
                for one in learner.guarantees(K, 100_000, asked)
            ]
            fails = [0.0 if epsilon else one.epsilon or 0.0 for one in said]  # on average, what failing costs is added
            bounds = [one.regret + 100_000 * f for one, f in zip(said, fails, strict=True) if one.regret is not None]
            assert any(bound == pytest.approx(choice.guarantee.regret) for bound in bounds)


def test_adversarial_constraints_every_round_have_one_learner_for_each_feedback_and_none_for_single_runs_of_a_bandit() -> (
    None
):
    assert lewa.advise("full", K, 100_000, FLOOR, "arbitrary", every_round=True).learner.name == "exp-lewa"
    assert lewa.advise("bandit", K, 100_000, FLOOR, "arbitrary", every_round=True).learner.name == "exp-bandit-lewa"
    nothing = lewa.advise("bandit", K, 100_000, FLOOR, "arbitrary", every_round=True, epsilon=0.05)
    assert nothing.learner.share is None
    assert nothing.reason.startswith("No learner has a guarantee for bandit feedback, arbitrary constraints")


def test_fixed_share_is_advised_where_a_gap_is_known_and_it_is_not_assumed_where_it_is_not() -> None:
    known = lewa.advise("full", K, 10**8, FLOOR, "arbitrary", slater=0.3)
    assert any("exceeds every floor" in one for one in known.learner.guarantee.assumptions)
    unknown = lewa.advise("full", K, 10**8, FLOOR, "arbitrary")
    assert not any("exceeds every floor" in one for one in unknown.learner.guarantee.assumptions)


def test_no_violation_is_proved_of_what_is_advised_when_none_is_allowed() -> None:
    for shown in ("full", "bandit"):
        advice = lewa.advise(shown, 5, 10**8, 0.5, epsilon=0.05, slater=0.4, strict=True)
        assert advice.ranked
        assert advice.learner.guarantee.violation == (0.0,)
    assert not lewa.advise("full", 5, 10**8, 0.5, strict=True).ranked


def test_a_safe_action_is_used_only_if_it_is_known() -> None:
    known = {"every_round": True, "strict": True, "epsilon": 0.05, "slater": 0.3}
    for shown, name in (("full", "safe-mixing"), ("bandit", "bandit-safe-mixing")):
        advice = lewa.advise(shown, 5, 10**8, 0.5, safe=3, **known)  # type: ignore[arg-type]
        assert advice.learner.name == name
        assert (advice.learner.settings["safe"], advice.learner.settings["margin"]) == (3, 0.3)
        assert advice.learner.guarantee.positive_violation == (0.0,)
        unknown = lewa.advise(shown, 5, 10**8, 0.5, **known)  # type: ignore[arg-type]
        assert not any(choice.name.startswith(name) for choice in unknown.ranked)


def test_op_ewa_is_advised_for_iid_constraints_in_every_round() -> None:
    for epsilon in (None, 0.05):
        full = lewa.advise("full", 10, 10**6, 0.6, every_round=True, epsilon=epsilon)
        assert full.runner_up is not None
        assert {full.learner.name, full.runner_up.name} == {"op-ewa", "anytime-op-ewa"}
        assert lewa.advise("bandit", 10, 10**6, 0.6, every_round=True, epsilon=epsilon).learner.name == "bandit-op-ewa"


def test_what_did_best_in_practice_comes_with_what_is_proved_of_it() -> None:
    for shown in ("full", "bandit"):
        assert practice(shown) in lewa.advise(shown, 10, 10**6, 0.6).in_practice
        assert lewa.advise(shown, 10, 10**6, 0.6, epsilon=0.05).in_practice.endswith("no bound is proved for it here.")
        assert lewa.advise(shown, 10, 10**6, 0.6, "constant").in_practice.endswith("no bound is proved for it here.")


def test_an_unknown_horizon_gets_a_learner_that_needs_none() -> None:
    for shown in ("full", "bandit"):
        choice = lewa.advise(shown, 4, None, 0.5).learner
        one, other = (made(choice.name, 4, T, 0.5, choice.settings) for T in (10, 10**9))
        assert one == other


def test_several_floors_are_advised_on_and_a_floor_of_zero_too() -> None:
    assert lewa.advise("full", 5, 10**6, (0.4, 0.2)).learner.share is not None
    assert lewa.advise("full", 5, 10**6, 0.0).learner.share is not None
    assert lewa.advise("bandit", 1, 10, 0.5).learner.guarantee.regret == 0


def test_the_same_question_has_the_same_answer() -> None:
    assert str(lewa.advise("bandit", 7, 12_345, 0.4)) == str(lewa.advise("bandit", 7, 12_345, 0.4))


def test_where_the_package_proves_something_it_is_advised() -> None:
    """Corrupted constraints: a radius that covers the corruption too, without any slack."""
    T = 10**6
    for every_round, epsilon in product((False, True), (None, 0.05)):
        advice = lewa.advise("full", 10, T, 0.6, every_round=every_round, epsilon=epsilon, corruption=100.0)
        assert advice.ranked
        assert (advice.learner.share or 1) < 0.02
        assert advice.learner.settings["corruption"] == 100
        assert any(choice.name == "explore-then-project" for choice in advice.ranked)
        bandit = lewa.advise("bandit", 10, T, 0.6, every_round=every_round, epsilon=epsilon, corruption=100.0)
        assert (bandit.learner.name, bandit.learner.settings["corruption"]) == ("bandit-op-ewa", 100)
        assert (bandit.learner.share or 1) < 0.07
    wide = made("explore-then-project", 10, T, 0.6, {"epsilon": 5e-4, "explore": 31_622})
    known = lewa.guarantee(wide, 10, T, epsilon=0.05, corruption=100.0)
    advice = lewa.advise("full", 10, T, 0.6, every_round=True, epsilon=0.05, corruption=100.0)
    assert (advice.learner.share or 1) <= max(known.regret or T, *(known.positive_violation or (T,))) / T


@pytest.mark.parametrize("floor", [0.01, (0.6, 0.01)])
@pytest.mark.parametrize("epsilon", [None, 0.05])
def test_a_small_floor_does_not_hide_a_bound_on_regret(floor: Any, epsilon: float | None) -> None:
    advice = lewa.advise("full", 10, 10**6, floor, epsilon=epsilon)
    assert "No learner" not in advice.reason
    assert advice.learner.guarantee.regret is not None
    assert advice.learner.guarantee.regret < 2000
    if floor == 0.01:
        assert "with only the trivial bound known" in advice.reason


def test_one_action_violates_nothing_in_any_round() -> None:
    for shown in ("full", "bandit"):
        advice = lewa.advise(shown, 1, 100, 0.5, every_round=True)
        assert advice.learner.guarantee.positive_violation == (0.0,)
        assert advice.learner.share == 0


def test_no_setting_beside_the_advised_one_has_a_smaller_bound() -> None:
    constant = lewa.advise("full", 10, 10**6, 0.6, constraints="constant").learner
    assert (constant.name, constant.settings) == ("op-ewa", {"kappa": 0.0, "share": 0.0})
    assert constant.guarantee.violation == (0.6,)
    bandit = lewa.advise("bandit", 10, 10**6, 0.6, constraints="constant").learner
    assert (bandit.name, bandit.settings) == ("bandit-op-ewa", {"kappa": 0.0})
    assert bandit.guarantee.positive_violation == (10.0,)
    for b in (0.5, 0.55, 0.65, 0.7, 0.85, 0.95):
        ix = made("lewa-ix", 2, 10**4, 0.6, {"b": b, "epsilon": 0.05})
        said = lewa.guarantee(ix, 2, 10**4, epsilon=0.05)
        advice = lewa.advise("bandit", 2, 10**4, 0.6, epsilon=0.05, adversary="adaptive").learner
        assert (advice.share or 1) <= 1.02 * max(said.regret or 10**4, *(said.violation or (10**4,))) / 10**4


@pytest.mark.parametrize(
    ("question", "name", "settings"),
    [  # each was better than what was advised, on a coarser grid
        (("bandit", 10, 10**8, 0.6, "arbitrary"), "loss-lewa", {"b": 0.66}),
        (("full", 10, 10**5, (0.5, 0.3), "arbitrary"), "lewa", {"b": 0.7}),
        (("full", 5, 1000, 0.3, "arbitrary", False, False, 0.05), "lewa", {"b": 0.74}),
        (("full", 50, 1000, 0.6, "iid", True), "explore-then-project", {"explore": 299.0, "epsilon": 1e-3}),
    ],
)
def test_a_setting_between_those_of_a_grid_is_found(question: Any, name: str, settings: dict[str, float]) -> None:
    advice = lewa.advise(*question)
    other = weigh(name, settings, advice.question)
    assert other.share is not None
    assert rank(advice.question, advice.learner)[:2] <= rank(advice.question, other)[:2]


def test_a_bound_on_the_mean_violation_comes_after_one_on_the_mean_of_what_is_violated() -> None:
    for T in (10**4, 10**5, 10**6):
        advice = lewa.advise("bandit", 10, T, 0.6)
        assert advice.learner.name == "bandit-op-ewa"  # of single runs, and of every round
        assert advice.learner.guarantee.kind == "expected E[V]+"
        kinds = [choice.guarantee.kind == EXPECTED for choice in advice.ranked]
        assert kinds == sorted(kinds)
    advice = lewa.advise("bandit", 10, 10**5, 0.6)
    assert advice.runner_up.share < advice.learner.share  # type: ignore[union-attr, operator]
    runner_up = advice.reason.split("the runner-up")[1]
    assert runner_up.endswith(
        "on average over runs only; a bound on an average counts twice, because an application has one run."
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "feedback": ({"feedback": "half"}, "feedback must be 'full' or 'bandit', got 'half'"),
    "actions": ({"actions": 0}, "actions must be an integer of at least 1, got actions=0"),
    "horizon": ({"horizon": 0}, "horizon must be an integer of at least 1, got horizon=0"),
    "floor": ({"floor": 1.5}, r"floor must be finite numbers in \[0, 1\]"),
    "constraints": ({"constraints": "none"}, "constraints must be 'constant', 'iid' or 'arbitrary', got 'none'"),
    "epsilon": ({"epsilon": 1.0}, "epsilon must lie strictly between 0 and 1, got 1.0"),
    "slater": ({"slater": 0.9}, "slater must be at most 1 - floor, got slater=0.9 and floor=0.6"),
    "safe": ({"slater": 0.2, "safe": 10}, "safe must be the index of an action, 0 to 9, got 10"),
    "safe alone": ({"safe": 1}, "safe needs slater"),
    "corruption": ({"corruption": -1.0}, "corruption must be at least 0, got -1.0"),
    "adversary": ({"adversary": "angry"}, "adversary must be 'oblivious' or 'adaptive', got 'angry'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_answered_with_one_sentence(what: str) -> None:
    given, sentence = BAD[what]
    with pytest.raises(ValueError, match=sentence):
        lewa.advise(**{"feedback": "full", "actions": K, "horizon": 1000, "floor": FLOOR, **given})


@pytest.fixture
def lewa_(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lewa", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return run


def test_the_command_prints_the_learner_its_guarantee_the_runner_up_and_the_reason(lewa_: Any) -> None:
    words = ("advise", "--feedback", "bandit", "--actions", 10, "--rounds", 10**6, "--floor", 0.6, "--epsilon", 0.05)
    status, printed, _ = lewa_(*words, "--json")
    assert status == 0
    found = json.loads(printed)
    assert set(found) == {"learner", "runner_up", "practice", "reason", "in_practice", "rounds"}
    advice = lewa.advise("bandit", 10, 10**6, 0.6, epsilon=0.05)
    assert found["learner"]["name"] == advice.learner.name
    assert found["learner"]["settings"] == advice.learner.settings
    assert found["learner"]["regret"] == pytest.approx(advice.learner.guarantee.regret)
    assert found["learner"]["kind"] == "high probability"
    assert found["runner_up"]["name"] == advice.runner_up.name  # type: ignore[union-attr]
    assert found["reason"] == advice.reason
    status, printed, _ = lewa_(*words)
    assert status == 0
    assert advice.learner.name in printed
    assert "runner-up" in printed


def test_the_command_answers_bad_input_with_one_sentence_and_status_2(lewa_: Any) -> None:
    words = ("advise", "--feedback", "half", "--actions", 10, "--floor", 0.6)
    status, printed, complaint = lewa_(*words)
    assert (status, printed, complaint.count("\n")) == (2, "", 1)
    assert "feedback must be 'full' or 'bandit'" in complaint


def test_auto_is_what_is_proved_best_in_a_game_and_what_did_best_in_practice_on_a_table(lewa_: Any, tmp_path: Path) -> None:
    words = ("--learner", "auto", "--seeds", 2, "--json")
    status, printed, said = lewa_("play", "bernoulli", "--rounds", 300, "--floor", 0.5, *words)
    assert status == 0
    advice = lewa.advise("full", 3, 300, 0.5)
    assert list(json.loads(printed)["learners"]) == [advice.learner.name]
    assert said.strip() == f"auto: {advice.learner.called}"
    rng = np.random.default_rng(5)
    file = tmp_path / "table.npz"
    np.savez(file, rewards=rng.random((50, 3)), constraints=rng.random((50, 3)))
    for shown in ("full", "bandit"):
        status, printed, said = lewa_("replay", file, "--budget", 0.5, "--feedback", shown, *words)
        assert status == 0
        assert list(json.loads(printed)["learners"]) == [practice(shown)]
        least = lewa.advise(shown, 3, 50, 0.5).learner
        assert said.startswith(
            f"auto: {practice(shown)}, chosen by measurements; no bound is proved for it; {least.called} has"
        )
        status, printed, said = lewa_("replay", file, "--budget", 0.5, "--feedback", shown, *words, "--goal", "proved")
        assert list(json.loads(printed)["learners"]) == [least.name]


def test_where_nothing_is_proved_no_learner_is_said_to_have_a_bound(lewa_: Any, tmp_path: Path) -> None:
    """In 3 rounds every bound is trivial; the practical learner was said to have the smallest of them."""
    file, few = tmp_path / "table.npz", np.random.default_rng(5).random((3, 9))
    np.savez(file, rewards=few, constraints=few)
    assert least_bound_beside("squarecb-lewa", "bandit", 9, 3, [0.1]) is None
    said = lewa_("replay", file, "--feedback", "bandit", "--budget", 0.1, "--seeds", 1, "--json")[2]
    assert "; no bound is proved for it; no learner has one for these numbers" in said


def test_a_frontier_names_what_is_proved_beside_what_measurements_chose() -> None:
    rng = np.random.default_rng(5)
    table = lewa.games.Table(rng.random((50, 3)), rng.random((50, 3)))
    notes = lewa.frontier(table, budgets=[0.5], seeds=1).notes
    for shown in ("full", "bandit"):
        least, name = lewa.advise(shown, 3, 50, 0.5).learner, practice(shown)
        text = f"auto: {name} ({shown}), chosen by measurements; no bound is proved for it; {least.called} has the smallest"
        assert f"{text} proved bound (goal: proved)" in notes
    named = lewa.frontier(table, budgets=[0.5], seeds=1, learner="squarecb-lewa")
    proved = lewa.frontier(table, budgets=[0.5], seeds=1, goal="proved")
    assert not any(note.startswith("auto: ") for note in (*named.notes, *proved.notes))


def test_replay_and_frontier_choose_as_an_agent_does() -> None:
    rng = np.random.default_rng(5)
    table = lewa.games.Table(rng.random((50, 3)), rng.random((50, 3)))
    for goal in ("practice", "proved"):
        best = choose_learner("full", 3, 50, 0.5, goal=goal)
        replayed = lewa.replay(table, "auto", floor=0.5, goal=goal)
        assert replayed.learner == lewa.learners.make(best.name, 3, 50, 0.5, **best.settings)  # type: ignore[union-attr]
        frontier = lewa.frontier(table, budgets=[0.5], seeds=1, goal=goal)
        assert list(frontier.learners) == [choose_learner(kind, 3, 50, 0.5, goal=goal).called for kind in ("full", "bandit")]
    with pytest.raises(ValueError, match="goal must be 'practice' or 'proved', got 'best'"):
        lewa.replay(table, "auto", floor=0.5, goal="best")


def test_the_page_of_guarantees_is_current() -> None:
    assert guarantees.FILE.read_text() == guarantees.page(), "docs/guarantees.md is stale: run `make guarantees`"
