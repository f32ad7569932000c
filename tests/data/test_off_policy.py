"""Off-policy values: by their definitions in plain Python, unbiased by counting every log, and intervals by counting."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from lewa.data.off_policy import checked_rows, doubly_robust, ips, normal_value, snips

RNG = np.random.default_rng(5)
T, K = 40, 3
CHANCES = RNG.dirichlet(np.ones(K) * 4, T)
ACTION = np.array([RNG.choice(K, p=p) for p in CHANCES])
LOG: dict[str, Any] = {"action": ACTION, "reward": RNG.random(T), "propensity": CHANCES[np.arange(T), ACTION]}
PLAY = np.array([0.2, 0.5, 0.3])
PLAYS = RNG.dirichlet(np.ones(K), T)
MODEL = RNG.random((T, K))


def weights(play: Any) -> list[float]:
    rows = [play] * T if np.ndim(play) == 1 else play
    return [rows[t][a] / p for t, (a, p) in enumerate(zip(LOG["action"], LOG["propensity"], strict=True))]


@pytest.mark.parametrize("play", [PLAY, PLAYS], ids=["one play", "a play in each row"])
def test_the_values_are_those_of_their_definitions(play: Any) -> None:
    w, r, a = weights(play), LOG["reward"].tolist(), LOG["action"].tolist()
    rows = [play] * T if np.ndim(play) == 1 else play
    assert ips(**LOG, play=play).value == pytest.approx(sum(w[t] * r[t] for t in range(T)) / T, rel=1e-13)
    assert snips(**LOG, play=play).value == pytest.approx(sum(w[t] * r[t] for t in range(T)) / sum(w), rel=1e-13)
    for model in (MODEL, MODEL[0]):
        q = MODEL if model is MODEL else [MODEL[0]] * T
        terms = [sum(rows[t][k] * q[t][k] for k in range(K)) + w[t] * (r[t] - q[t][a[t]]) for t in range(T)]
        assert doubly_robust(**LOG, play=play, model=model).value == pytest.approx(sum(terms) / T, rel=1e-13)


def test_by_default_a_row_is_guessed_from_the_rows_before_it() -> None:
    r, a = LOG["reward"].tolist(), LOG["action"].tolist()
    model = np.empty((T, K))
    for t, k in product(range(T), range(K)):
        own = [r[s] for s in range(t) if a[s] == k] or r[:t] or [0.0]
        model[t, k] = sum(own) / len(own)
    assert doubly_robust(**LOG, play=PLAY).value == pytest.approx(doubly_robust(**LOG, play=PLAY, model=model).value)


def test_ips_and_doubly_robust_are_unbiased() -> None:
    """The mean over every log that could have been written, by its chance, is the value; and chances depend on the past."""
    rewards = np.array([[0.2, 0.9], [0.7, 0.1], [0.5, 0.6], [1.0, 0.3]])
    play = np.array([0.25, 0.75])
    mean: dict[str, float] = {"ips": 0.0, "dr": 0.0, "snips": 0.0}
    for actions in product(range(2), repeat=4):
        likelihood, propensity = 1.0, []
        for t, a in enumerate(actions):
            first = 0.5 if t == 0 else 0.2 + 0.5 * (sum(actions[:t]) / t)
            propensity.append(first if a == 0 else 1 - first)
            likelihood *= propensity[-1]
        log = (actions, rewards[np.arange(4), actions], propensity, play)
        mean["ips"] += likelihood * ips(*log).value
        mean["dr"] += likelihood * doubly_robust(*log).value
        mean["snips"] += likelihood * snips(*log).value
    mean_constraints = float((rewards @ play).mean())
    assert mean["ips"] == pytest.approx(mean_constraints, rel=1e-12)
    assert mean["dr"] == pytest.approx(mean_constraints, rel=1e-12)
    assert abs(mean["snips"] - mean_constraints) > 1e-3  # which is why it is said to be biased


def test_the_normal_intervals_are_standard_errors_and_the_approximate_ones_contain_them() -> None:
    w, z = np.array(weights(PLAY)), 1.959963984540054
    rows = checked_rows(**LOG, play=PLAY)
    terms = w * LOG["reward"]
    found = normal_value(rows, "ips", None, 0.95, None)
    assert found.high - found.value == pytest.approx(z * terms.std(ddof=1) / np.sqrt(T))
    assert found.proved is None
    ratio = normal_value(rows, "snips", None, 0.95, None)
    off = w * (LOG["reward"] - ratio.value) / w.mean()
    assert ratio.value - ratio.low == pytest.approx(z * off.std(ddof=1) / np.sqrt(T))
    for normal, value in ((found, ips(**LOG, play=PLAY)), (ratio, snips(**LOG, play=PLAY))):
        assert value.value == normal.value
        assert value.low <= normal.low < normal.high <= value.high


def logs(runs: int, rows: int) -> Any:
    """Logs of a policy that leans to what did well: rows (runs, rows) of action, propensity and reward, and their means."""
    rng = np.random.default_rng(41)
    means = np.array([0.3, 0.7, 0.5])
    action, propensity = np.empty((runs, rows), dtype=int), np.empty((runs, rows))
    reward = np.empty((runs, rows))
    total, count = np.ones((runs, 3)), np.full((runs, 3), 2.0)
    for t in range(rows):
        lean = np.exp(3 * total / count)
        p = 0.7 * lean / lean.sum(axis=1, keepdims=True) + 0.1
        a = (rng.random(runs)[:, np.newaxis] > np.cumsum(p, axis=1)).sum(axis=1)
        action[:, t], propensity[:, t] = a, p[np.arange(runs), a]
        reward[:, t] = rng.random(runs) < means[a]
        total[np.arange(runs), a] += reward[:, t]
        count[np.arange(runs), a] += 1
    return action, reward, propensity, means


def test_the_proved_interval_covers_and_the_approximate_one_nearly_does() -> None:
    runs, rows = 400, 300
    action, reward, propensity, means = logs(runs, rows)
    play = np.array([0.5, 0.2, 0.3])
    mean_constraints = float(play @ means)
    missed: dict[str, int] = {}
    for n in range(runs):
        log = (action[n], reward[n], propensity[n], play)
        values = {"ips": ips(*log, range=(0, 1)), "dr": doubly_robust(*log, range=(0, 1)), "snips": snips(*log)}
        for name, found in values.items():
            missed[name] = missed.get(name, 0) + (not found.low <= mean_constraints <= found.high)
            if found.proved is not None:
                key = f"{name}, proved"
                missed[key] = missed.get(key, 0) + (not found.proved[0] <= mean_constraints <= found.proved[1])
    assert missed["ips, proved"] <= 0.05 * runs
    assert missed["dr, proved"] <= 0.05 * runs
    for name in ("ips", "dr", "snips"):
        assert missed[name] <= 0.07 * runs, name  # it is approximate, and no proof


def test_the_doubly_robust_interval_is_the_narrower_one_where_rewards_are_far_from_zero() -> None:
    rng = np.random.default_rng(2)
    action = rng.integers(0, 4, 4000)
    log = (action, 0.8 + 0.1 * rng.random(4000), np.full(4000, 0.25), np.eye(4)[1])
    wide, narrow = ips(*log, range=(0, 1)), doubly_robust(*log, range=(0, 1))
    assert narrow.high - narrow.low < 0.2 * (wide.high - wide.low)
    assert narrow.proved is not None
    assert wide.proved is not None
    assert narrow.proved[1] - narrow.proved[0] < 0.3 * (wide.proved[1] - wide.proved[0])


def test_what_is_proved_scales_with_the_units() -> None:
    unit = doubly_robust(**LOG, play=PLAY, range=(0, 1))
    cents = {**LOG, "reward": 7 + 3 * LOG["reward"]}
    own = doubly_robust(**cents, play=PLAY, range=(7, 10))
    assert unit.proved is not None
    assert own.proved == pytest.approx([7 + 3 * end for end in unit.proved])


def test_nothing_is_proved_where_the_log_never_shows_an_action_of_the_play() -> None:
    log = ([0, 0, 1], [1, 0, 1], [0.5, 0.5, 0.5])
    assert ips(*log, [0.5, 0.5, 0.0], range=(0, 1)).proved is not None
    assert ips(*log, [0.5, 0.4, 0.1], range=(0, 1)).proved is None


BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "no rows": (([], [], [], [1.0]), "at least 2 rows"),
    "rows that do not match": (([0, 1], [1.0], [0.5, 0.5], [1.0, 0.0]), "got the shapes"),
    "actions that are no numbers": (([0.5, 1], [1.0, 1], [0.5, 0.5], [1.0, 0.0]), "a non-negative integer"),
    "an action beyond the play": (([0, 2], [1.0, 1], [0.5, 0.5], [1.0, 0.0]), "must lie in 0 .. 1"),
    "a play that does not add up": (([0, 1], [1.0, 1], [0.5, 0.5], [0.7, 0.7]), "sum to 1"),
    "a negative play": (([0, 1], [1.0, 1], [0.5, 0.5], [1.5, -0.5]), "non-negative"),
    "a play for other rows": (([0, 1], [1.0, 1], [0.5, 0.5], [[0.5, 0.5]] * 3), "a play must have the shape"),
    "a propensity of 0": (([0, 1], [1.0, 1], [0.5, 0.0], [0.5, 0.5]), "positive and at most 1, got 0.0"),
    "a propensity above 1": (([0, 1], [1.0, 1], [0.5, 1.5], [0.5, 0.5]), "positive and at most 1, got 1.5"),
    "a reward that is missing": (([0, 1], [1.0, np.nan], [0.5, 0.5], [0.5, 0.5]), "rewards must be finite numbers, got nan"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_logs_are_answered_with_one_sentence(what: str) -> None:
    log, sentence = BAD[what]
    for estimate in (ips, snips, doubly_robust):
        with pytest.raises(ValueError, match=sentence):
            estimate(*log)


def test_bad_settings_are_answered_with_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"rewards must lie in the range 0 to 0.1, got"):
        ips(**LOG, play=PLAY, range=(0, 0.1))
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 95"):
        snips(**LOG, play=PLAY, level=95)
    with pytest.raises(ValueError, match="a model must be finite numbers of the shape"):
        doubly_robust(**LOG, play=PLAY, model=[0.5, 0.5])
    with pytest.raises(ValueError, match="no row has an action of this play"):
        snips([0, 0], [1.0, 1.0], [0.5, 0.5], [0.0, 1.0])
