"""Every learner on every set of a folder of real data, at its recommended floor: what `make data` runs.

    python -m tools.data FOLDER        writes docs/data.md

A set is NAME.npz, with rewards (T, K) and constraints (T, K, m), beside NAME.json, whose `budgets` name a recommended floor;
or NAME.csv.gz, a bandit log, beside the same.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

import lewa
from lewa import learners
from lewa.advice import PRACTICE
from lewa.data.files import read
from lewa.data.log import Log
from lewa.feedback import feedback_kind
from lewa.games import Table
from lewa.measures import Hindsight, best_fixed_play
from lewa.simulate.log_replay import replay_log
from lewa.types import Cube, Matrix, Vector
from lewa.validation import as_floor

HERE = Path(__file__).parent
SEEDS = 20
LONG = 5_000  # rounds from which on the goals are asked for
GOALS = {"full": (0.99, 0.01), "bandit": (0.97, 0.01)}  # reward as a share of hindsight; positive or net violation per round
# Tried beside the recommended tuning.
KNOBS: dict[str, tuple[float, ...]] = {"kappa": (0.3, 0.0, -0.05, -1.0), "b": (2 / 3,), "optimism": (0.0,)}


class Set(NamedTuple):
    name: str
    title: str
    game: Table
    floor: Vector
    best: Hindsight

    @property
    def means(self) -> Matrix:
        mean: Matrix = np.asarray(self.game.rows, dtype=np.float64).mean(axis=0)
        return mean


class Row(NamedTuple):
    """One learner on one set, means over seeds; violations are those of the constraint that is missed most."""

    name: str
    settings: dict[str, float]
    shown: str
    share: float  # reward as a share of the hindsight optimum
    net: float  # [sum_t (floor - p_t.c_t)]+ / T
    worst: float  # the same for the worst seed
    positive: float  # sum_t [floor - p_t.c_t]+ / T
    steady: float  # sum_t [floor - p_t.c]+ / T, c the mean of the table
    spread: float  # standard deviation of the share over seeds

    @property
    def called(self) -> str:
        return " ".join((self.name, *(f"{name}={value:.3g}" for name, value in self.settings.items())))


def sets(folder: Path) -> list[Set]:
    """The tables of a folder."""
    found = []
    for path in (path for path in sorted(folder.glob("*.npz")) if path.with_suffix(".json").is_file()):
        about = json.loads(path.with_suffix(".json").read_text())
        game = read(path)
        assert isinstance(game, Table)
        floor = recommended(about)
        rows = np.asarray(game.rows, dtype=np.float64)
        best = best_fixed_play(np.asarray(game.rewards, dtype=np.float64).mean(axis=0), rows.mean(axis=0), floor)
        found.append(Set(path.stem, about["title"], game, floor, best))
    return found


def recommended(about: dict[str, Any]) -> Vector:
    return as_floor(next(budget["c0"] for budget in about["budgets"] if budget["label"] == "recommended"))


def entrants(shown: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Every learner of the registry for this feedback, as it is tuned, and with each knob turned."""
    for name, kind in learners.ALL.items():
        if (feedback_kind(kind).observes) != shown:
            continue
        yield name, {}
        for knob, values in KNOBS.items():
            if knob in learners.settings_of(name):
                yield from ((name, {knob: value}) for value in values)
    name, settings = PRACTICE[shown]
    yield f"{name}+doubling", settings


def measure(one: Set, name: str, settings: dict[str, float], seeds: int = SEEDS) -> Row:
    """Full information draws nothing, so one run says all."""
    shown = feedback_kind(learners.find(name)).observes
    T, K = one.game.length, one.game.actions
    learner = learners.make(name, K, T, one.floor, **settings, **told(one.means, one.floor, name))
    trace = lewa.play(learner, one.game, T, 1 if shown == "full" else seeds, every_round=True)
    assert trace.plays is not None
    return measured(one, name, settings, shown, trace.plays, trace.reward[:, -1])


def told(means: Matrix, floor: Vector, name: str) -> dict[str, float]:
    """What a learner has to be told that needs a safe action: which it is, and by how much."""
    if "safe" not in learners.settings_of(name):
        return {}
    above = (means - floor[:, np.newaxis]).min(axis=0)
    return {"safe": float(above.argmax()), "margin": float(min(above.max(), 1 - floor.max()))}


def measured(one: Set, name: str, settings: dict[str, float], shown: str, plays: Cube, reward: Vector) -> Row:
    """What plays (S, T, K) and their rewards (S,) come to."""
    T = one.game.length
    met = np.einsum("stk,tmk->stm", plays, one.game.rows)
    net = np.maximum((one.floor - met).sum(axis=1), 0).max(axis=1) / T
    share = reward / (one.best.value * T)
    return Row(
        name,
        settings,
        shown,
        float(share.mean()),
        float(net.mean()),
        float(net.max()),
        float((np.maximum(one.floor - met, 0).sum(axis=1) / T).max(axis=1).mean()),
        float((np.maximum(one.floor - plays @ one.means.T, 0).sum(axis=1) / T).max(axis=1).mean()),
        float(share.std(ddof=1)) if len(share) > 1 else 0.0,
    )


def shuffled(one: Set, seed: int = 0) -> Set:
    """The same rounds in an order drawn at random: what is left of a miss is not the drift."""
    order = np.random.default_rng(seed).permutation(one.game.length)
    rows = np.asarray(one.game.rows)[order].transpose(0, 2, 1)
    return one._replace(game=Table(np.asarray(one.game.rewards)[order], rows))


# What could have been reached -------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """What the best fixed play misses itself, what nobody could have avoided, and what following the last round gets."""

    slater: float  # by how much some action exceeds every floor
    fixed: Vector  # (m,) positive violation per round of the best fixed play
    least: Vector  # (m,) the least that any play could have, had it known each round in advance
    follows: Row  # the best play for the last round, played in the next


def limits(one: Set) -> Limits:
    rewards, rows = np.asarray(one.game.rewards, dtype=np.float64), np.asarray(one.game.rows, dtype=np.float64)
    fixed = np.maximum(one.floor - rows @ one.best.play, 0).mean(axis=0)
    least = np.maximum(one.floor - rows.max(axis=2), 0).mean(axis=0)
    plays = np.full((1, *rewards.shape), 1 / one.game.actions)
    for t in range(1, len(rewards)):
        plays[0, t] = best_fixed_play(rewards[t - 1], rows[t - 1], one.floor).play
    reward = np.array([(plays[0] * rewards).sum()])
    return Limits(
        float((one.means - one.floor[:, np.newaxis]).min(axis=0).max()),
        fixed,
        least,
        measured(one, "the last round's best play", {}, "full", plays, reward),
    )


# The page ---------------------------------------------------------------------------------------------------------------


class Studied(NamedTuple):
    """All that is measured of one set."""

    one: Set
    rows: list[Row]
    limits: Limits
    mixed: dict[str, Row]  # the advised learners, with the rounds in an order drawn at random
    searched: dict[str, Row]  # a learner with settings that were searched for on this very set

    def advised(self, shown: str) -> Row:
        """What `--learner auto` takes."""
        name, settings = PRACTICE[shown]
        return next(row for row in self.rows if (row.name, row.settings) == (name, settings))

    def best(self, shown: str) -> Row | None:
        """The largest reward among those that keep the goal's violation."""
        kept = [row for row in self.rows if row.shown == shown and missed(row) <= GOALS[shown][1]]
        return max(kept, key=lambda row: row.share, default=None)


def missed(row: Row) -> float:
    """The violation that the goal is about."""
    return row.positive if row.shown == "full" else row.net


def reached(row: Row) -> bool:
    """Whether the goal is met."""
    share, violation = GOALS[row.shown]
    return row.share >= share and missed(row) <= violation


def study(one: Set, seeds: int = SEEDS) -> Studied:
    """Every learner on one set."""
    rows = [measure(one, name, settings, seeds) for shown in GOALS for name, settings in entrants(shown)]
    mixed = {shown: measure(shuffled(one), *PRACTICE[shown], seeds) for shown in GOALS}
    known = {shown: SEARCHED[one.name, shown] for shown in GOALS if (one.name, shown) in SEARCHED}
    searched = {shown: measure(one, *found, seeds) for shown, found in known.items() if found[0] in learners.ALL}
    return Studied(one, rows, limits(one), mixed, searched)


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*cells: str) -> str:
    return f"{line(*cells)}\n|{'---|' * len(cells)}"


def percent(x: float) -> str:
    return f"{100 * x:.1f} %"


def small(x: float) -> str:
    return f"{x:.4f}" if x < 0.1 else f"{x:.3f}"


def each(values: Vector) -> str:
    return ", ".join(small(float(x)) for x in values)


def goal_table(studies: list[Studied]) -> str:
    rows = []
    for found in studies:
        cells = []
        for shown in GOALS:
            row = found.advised(shown)
            asked = found.one.game.length >= LONG
            cells += [
                percent(row.share),
                small(missed(row)),
                ("yes" if reached(row) else "**no**") if asked else "not asked",
            ]
        rows.append(line(f"`{found.one.name}`", f"{found.one.game.length:,}", str(found.one.game.actions), *cells))
    return "\n".join(
        (
            head(
                "set",
                "T",
                "K",
                "full: reward",
                "positive violation",
                "goal met",
                "bandit: reward",
                "net violation",
                "goal met",
            ),
            *rows,
        )
    )


def limit_table(studies: list[Studied]) -> str:
    rows = [
        line(
            f"`{found.one.name}`",
            ", ".join(f"{c0:g}" for c0 in found.one.floor),
            f"{found.one.best.value:.3f}",
            ", ".join(f"{price:.2f}" for price in found.one.best.price),
            small(found.limits.slater),
            each(found.limits.fixed),
            each(found.limits.least),
            f"{percent(found.limits.follows.share)}, {small(found.limits.follows.positive)}",
        )
        for found in studies
    ]
    columns = (
        "set",
        "floor",
        "best fixed play",
        "price",
        "slack",
        "its positive violation",
        "the least possible",
        "following the last round",
    )
    return "\n".join((head(*columns), *rows))


def cells(row: Row, mark: str = "") -> tuple[str, ...]:
    """A learner's line in the table of a set."""
    return (
        f"`{row.called}` {mark}".strip(),
        row.shown,
        percent(row.share) + (f" +- {100 * row.spread:.1f}" if row.shown == "bandit" else ""),
        *(small(x) for x in (row.net, row.worst, row.positive, row.steady)),
    )


def set_table(found: Studied) -> str:
    advised = [found.advised(shown) for shown in GOALS]
    rows = [line(*cells(row, "(advised)" if row in advised else "")) for row in found.rows]
    rows += [line(*cells(row, "(searched)")) for row in found.searched.values()]
    columns = ("learner", "feedback", "reward", "net", "net, worst seed", "positive, revealed", "positive, mean")
    one = found.one
    floor = ", ".join(f"{c0:g}" for c0 in one.floor)
    title = f"### {one.name}\n\n{one.title}: {one.game.length:,} rounds, {one.game.actions} actions, floor {floor}.\n"
    return "\n".join((title, head(*columns), *rows))


def misses(studies: list[Studied]) -> str:
    """What each goal that was missed was missed by, and what could have been reached."""
    said = []
    for found in studies:
        for shown in GOALS:
            row = found.advised(shown)
            if found.one.game.length < LONG or reached(row):
                continue
            best, mixed = found.best(shown), found.mixed[shown]
            kind = "positive" if shown == "full" else "net"
            text = (
                f"- **`{found.one.name}`, {'full information' if shown == 'full' else 'bandit feedback'}**: "
                f"{percent(row.share)} at {kind} violation {small(missed(row))}. "
                f"{WHY.get((found.one.name, shown), '')}"
                f"With the same rounds in an order drawn at random: {percent(mixed.share)} at {small(missed(mixed))}"
                + (f", positive violation of the table's mean {small(mixed.steady)}. " if shown == "full" else ". ")
                + (
                    f"The best here that keeps the violation is `{best.called}`, with {percent(best.share)}."
                    if best is not None
                    else "No learner here keeps that violation as it is tuned."
                )
                + (
                    f" With settings searched for on this set, `{search.called}` has {percent(search.share)} at "
                    f"{small(missed(search))}."
                    if (search := found.searched.get(shown))
                    else ""
                )
            )
            said.append(fill(text, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    return "\n".join(said) or "None."


# What is known of the misses, beside the figures.
WHY: dict[tuple[str, str], str] = {
    ("energy_geo_carbon", "full"): (
        "The best fixed play itself is beyond the goal, because the carbon in the grids moves with hours and seasons: "
        "to stay near the line in every hour a play has to move with them. The learners here estimate what stays the same. "
    ),
    ("energy_geo_carbon", "bandit"): (
        "The mean of all hours so far is not the mean of those to come. A little caution, a kappa just below 0, pays for "
        "that here; on sets whose floors are near the best action it finds no play, and costs more than it saves. "
    ),
    ("flusight_2023_24", "full"): (
        "The constraints are 0 or 1, whether an interval covered: any play has a shortfall in most rounds that somebody "
        "misses, and the best fixed play itself is beyond the goal by far. Its net violation is within it. "
    ),
    ("flusight_2023_24", "bandit"): (
        "One of 14 actions meets both floors, by about 0.01. To draw each 30 times, when a frequency is known to about "
        "0.03, costs the whole allowance of violation; the rest is that who is good changes over the season. What is "
        "missing is to know the action that is safe, as `bandit-safe-mixing` does. "
    ),
}
# Settings found by a search on the very set: what a learner here could reach, no advice for another.
SEARCHED: dict[tuple[str, str], tuple[str, dict[str, float]]] = {
    ("energy_geo_carbon", "full"): ("fixed-share-lewa", {"eta": 3.0, "delta": 1e-4, "mu": 30.0, "share": 0.003}),
}


def log_table(folder: Path, seeds: int) -> str:
    """Bandit learners replayed on the logs of the folder, by rejection."""
    parts = []
    for path in sorted(folder.glob("*.csv.gz")):
        about = json.loads(path.with_name(path.name.removesuffix(".csv.gz") + ".json").read_text())
        log, floor = read(path), recommended(about)
        assert isinstance(log, Log)
        best = next(budget["lp"]["constrained_value"] for budget in about["budgets"] if budget["label"] == "recommended")
        rows = []
        for name, settings in entrants("bandit"):
            known = told(np.array([list(about["mean_c_snips"].values())]), floor, name)
            run = replay_log(learners.make(name, log.actions, log.rounds, floor, **settings, **known), log, seeds)
            net = np.maximum(run.shortfall.mean(axis=1), 0).max(axis=1)
            called = " ".join((name, *(f"{knob}={value:.3g}" for knob, value in settings.items())))
            shown = f"`{called}`" + (" (advised)" if (name, settings) == PRACTICE["bandit"] else "")
            rows.append(line(shown, str(run.rounds), percent(float(run.reward.mean()) / best), small(float(net.mean()))))
        text = f"### {about['name']}\n\n{about['title']}: {log.rows:,} rows, {log.actions} actions, floor "
        text += ", ".join(f"{c0:g}" for c0 in floor) + ". A row counts when the learner drew its action (rejection).\n"
        parts.append("\n".join((text, head("learner", "rounds that counted", "reward", "net, of the actions drawn"), *rows)))
    return "\n\n".join(parts)


def page(folder: Path, seeds: int = SEEDS) -> str:
    """The whole document."""
    studies = []
    for one in sets(folder):
        print(one.name, flush=True)
        studies.append(study(one, seeds))
    advised = {
        shown: " ".join((name, *(f"{k}={v:g}" for k, v in settings.items()))) for shown, (name, settings) in PRACTICE.items()
    }
    return f"""# Real data

Every learner on {len(studies)} sets of real rewards and constraints, each at its recommended floor, with full
information and with bandit feedback. Written by `make data DATA=FOLDER` (`tools/data.py`); the sets are not part
of this repository.

- **Reward** is in per cent of the hindsight optimum: the best fixed play that meets the floor on average. A learner
  that misses the floor can earn more than that.
- **Net** violation is `[sum_t (floor - p_t.c_t)]+ / T`, with the constraints as revealed; of several constraints the
  one that is missed most.
- **Positive** violation is `sum_t [floor - p_t.c_t]+ / T` with the constraints as revealed, and beside it with the
  mean constraint `c` of the table: the first counts every round's noise, which no play that is chosen before it can
  avoid, the second only the learner's own doing. It is the second that theorems about iid constraints speak of.
- All are measured on the play `p_t`, for bandit learners too. Bandit learners: means over {seeds} seeds. Full
  information draws nothing, so that one run says all.
- **Advised** is what `lewa replay DATA --learner auto` takes: `{advised["full"]}` with full information,
  `{advised["bandit"]}` with bandit feedback. They are advised for what is measured here. Where the constraints are
  the same every round, as those of two of the sets are, `{advised["full"]}` has a theorem (docs/guarantees.md); else
  nothing is proved of the regret of learners without a bonus (kappa = 0).
- The learners that need a safe action (`safe-mixing`, `bandit-safe-mixing`) are told which it is, and by how much.

## The goals

For the advised learner where T >= {LONG:,}: with full information at least {percent(GOALS["full"][0])} of hindsight
with positive violation (as revealed) at most {GOALS["full"][1]:g} a round; with bandit feedback at least
{percent(GOALS["bandit"][0])} with net violation at most {GOALS["bandit"][1]:g} a round.

{goal_table(studies)}

## What could have been reached

The best fixed play of each set, the price of its floor (reward per unit), the slack (by how much some action exceeds
every floor), and positive violations a round as revealed: of that play itself, and the least that any play could have
had, had it known every round in advance. The last column is the play that is best for the round before, its reward
and positive violation: what there is to gain from following the data closely, which no learner here is tuned for.

{limit_table(studies)}

## Goals that were missed, and why

{misses(studies)}

## All learners

{(chr(10) * 2).join(set_table(found) for found in studies)}

## A bandit log

{log_table(folder, seeds)}
"""


def main() -> None:
    """Write it, if there is something to read."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print(f"tools/data.py takes a folder of sets, got {' '.join(sys.argv[1:]) or 'none'}: docs/data.md stays as it is")
        return
    (HERE.parent / "docs" / "data.md").write_text(page(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
