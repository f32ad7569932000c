"""The governor of an agent that learns what is safe: who decides next, and the learner with a proof.

It plays by the rule of kernels/guard.py, on the debts of the answers so far. docs/theory_governor.md has the theorems, also
for late answers and for actions that are not always there.
"""

from collections.abc import Mapping, Sequence
from math import log
from operator import gt
from typing import TYPE_CHECKING

import numpy as np

from lewa.agent.governor.rule import Governor, Rule, best_mixture, governor_from_plain
from lewa.agent.pending import Pending, Units
from lewa.agent.records import JsonObject, Label, Plain
from lewa.kernels import guard
from lewa.kernels.exponential import exp
from lewa.kernels.guard import PRACTICAL, REPAY, WALL
from lewa.theory.governed import optimism
from lewa.types import Matrix, Vector

if TYPE_CHECKING:
    from lewa.agent.constraint import Constraint
    from lewa.agent.state import AgentState
    from lewa.agent.statistics import Statistics

LATE = 3  # decisions open at once from which on the wall takes what the confidence bounds of the means say (G5)
COUNTS = ("repaid", "walled", "unsafe", "stretches", "most_open", "lost", "begun")


class Copy:
    """One learner of the wall: each has at most one open decision."""

    __slots__ = ("losses", "rise", "rounds")

    def __init__(self, rounds: int, rise: Sequence[float], losses: Sequence[float]) -> None:
        self.rounds, self.rise, self.losses = rounds, list(rise), list(losses)


class Zone:
    """Decisions in a row that the governor makes: to repay, or at the wall."""

    def __init__(self, mode: int, base: Sequence[float], prior: Sequence[float] = (), by_bounds: bool = False) -> None:
        self.mode, self.by_bounds = mode, by_bounds
        self.base, self.prior = list(base), list(prior)  # the debts when it began; pi of the wall
        self.rounds = 0
        self.copies: list[Copy] = []
        self.open: dict[int, int] = {}  # the copies that wait, by the numbers of their decisions

    def copy(self) -> "Zone":
        """Return a copy."""
        twin = Zone(self.mode, self.base, self.prior, self.by_bounds)
        twin.rounds, twin.open = self.rounds, dict(self.open)
        twin.copies = [Copy(item.rounds, item.rise, item.losses) for item in self.copies]
        return twin

    def idle(self) -> int:
        """Return the place of a copy that does not wait; the next one if all wait."""
        waiting = set(self.open.values())
        return next((c for c in range(len(self.copies)) if c not in waiting), len(self.copies))

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        copies = [[item.rounds, item.rise, item.losses] for item in self.copies]
        waiting = [list(pair) for pair in self.open.items()]
        parts = {"mode": self.mode, "base": self.base, "prior": self.prior, "by_bounds": self.by_bounds}
        return {**parts, "rounds": self.rounds, "copies": copies, "open": waiting}


def zone_from_plain(plain: Plain | None) -> Zone | None:
    """Return what `Zone.plain` wrote."""
    if plain is None:
        return None
    zone = Zone(int(plain["mode"]), list(map(float, plain["base"])), list(map(float, plain["prior"])))
    zone.by_bounds, zone.rounds = bool(plain["by_bounds"]), int(plain["rounds"])
    zone.copies = [Copy(int(n), list(map(float, rise)), list(map(float, losses))) for n, rise, losses in plain["copies"]]
    zone.open = {int(number): int(c) for number, c in plain["open"]}
    return zone


class LearnedGovernor:
    """Who decides next. The state of the agent has the debts, so it costs little while the learner plays.

    `next_play` changes nothing: a decision that is made changes the zone, and the answer to one of the wall its learner.
    """

    def __init__(self, rule: Rule, full: bool, since: int = 0) -> None:
        self.since, self.full = since, full
        self.start: list[float] | None = None  # the debts at its first decision
        self.counts = dict.fromkeys(COUNTS, 0)
        self.zone: Zone | None = None
        self._begin(rule)
        self.peak = [0.0] * len(rule.names)  # the largest debts at a decision

    def _begin(self, rule: Rule) -> None:
        """Begin with a rule: nothing is known of the debts yet."""
        self.rule, m = rule, len(rule.names)
        self.worst: list[float] = rule.floor.tolist()
        self.limits: list[float] = (1 - rule.floor).tolist()
        self.spread = 1 + max(self.limits) - min(self.limits)
        spans: list[float] = rule.spans.tolist()
        self.bound = [bound / span for bound, span in zip(rule.debt, spans, strict=True)]
        low = [guard.level_base(bound, len(rule.actions), self.full) for bound in self.bound]
        room = [(level - worst) * span for level, worst, span in zip(low, self.worst, spans, strict=True)]
        limits = [item.limit for item in rule.constraints]
        self._fields = list(zip(range(1, m + 1), rule.signs, limits, room, strict=True))
        self.spans, self.counts["begun"] = spans, self.counts["begun"] + 1
        self.start, self.zone, self.counts["stretches"] = None, None, 0
        self._watched: list[tuple[float, float, float, memoryview, memoryview, int]] = []  # where nothing is to be done
        self._owed: list[float] = [0.0] * m
        self.idle = False  # whether the decision that is being made changes nothing here
        self._plays, self._mixed, self._copy, self._waiting = False, False, -1, 0
        self._next: Zone | None = None  # of the decision that is being made

    def copy(self, whole: bool = True) -> "LearnedGovernor":
        """Return a copy to read from."""
        twin = LearnedGovernor(self.rule, self.full, self.since)
        twin.start, twin.peak, twin.counts = self.start, self.peak[:], dict(self.counts)
        twin.zone = self.zone and self.zone.copy()
        return twin

    @property
    def mode(self) -> int:
        """Who made the last decision: PRACTICAL, REPAY or WALL."""
        return PRACTICAL if self.zone is None else self.zone.mode

    # Decisions -------------------------------------------------------------------------------------------------------------

    def next_play(self, available: Vector | None, state: "AgentState") -> Vector | None:
        """Return the play of the next decision, or None if the learner makes it; `available` has 1 for each action there."""
        for sign, limit, mark, total, count, f in self._watched:
            if sign * (total[f] - count[f] * limit) > mark:
                break
        else:
            if self._watched:
                self.idle = True
                return None
        return self._look(available, state)

    def _look(self, available: Vector | None, state: "AgentState") -> Vector | None:
        """Return the same where there may be something to do; if there is not, note from which debts on there is."""
        sums, n = state.statistics, len(self.limits)
        base = [state.debt_base.item(j) + state.written_off.item(0, j) for j in range(n)]
        watched = [  # with a margin for rounding, so that what is done does not depend on whether they are there
            (sign, limit, min(room, peak) - more - 1e-9 * (abs(room) + abs(more)), sums.total.data, sums.count.data, f)
            for (f, sign, limit, room), peak, more in zip(self._fields, self.peak, base, strict=True)
        ]
        self._owed = [
            more + sign * (total[f] - count[f] * limit)
            for (sign, limit, _, total, count, f), more in zip(watched, base, strict=True)
        ]
        marks = [min(room, peak) for (*_, room), peak in zip(self._fields, self.peak, strict=True)]
        self.idle = self.zone is None and self.start is not None and not any(map(gt, self._owed, marks))
        self._next, self._plays = None, False
        self._watched = watched if self.idle and not state.credits else []  # what is written off changes with each answer
        return None if self.idle else self._play_close(available, state)

    def _play_close(self, available: Vector | None, state: "AgentState") -> Vector | None:
        """Return the same where some debt is near its level, or the governor made the last decision."""
        owed, zone = [debt / span for debt, span in zip(self._owed, self.spans, strict=True)], self.zone
        numbers = [float(self.mode), float(state.rounds), float(self.counts["stretches"]), 0.0, float(self.full)]
        mode = guard.next_mode(numbers, owed, self.bound, self.worst, len(self.rule.actions), self.full)
        if mode == PRACTICAL:
            return None
        if zone is None or zone.mode != mode:
            zone = Zone(mode, owed)
            if mode == WALL:
                zone.prior = self._prior(owed, state.statistics)
                zone.by_bounds = not self.full and state.delays.counts["most_open"] >= LATE
        exposure = state.exposure
        self._next, self._waiting = zone, len(state.open)
        self._plays = exposure.mode in ("live", "frozen")
        self._mixed = not self._plays
        if not self._plays:  # the fallback is played, as the user wants
            return None
        there = np.ones(len(self.rule.actions)) if available is None else available
        play = self._play(zone, owed, there, state.statistics)
        if exposure.share < 1 or exposure.minimum:
            mixed = exposure.mix(play, there)
            self._mixed = not np.array_equal(mixed, play)
            return mixed
        return play

    def _play(self, zone: Zone, owed: Sequence[float], there: Vector, statistics: "Statistics") -> Vector:
        """Return the play of the zone over the actions that are there."""
        if zone.by_bounds:
            return self._play_by_bounds(there, statistics)
        awake = np.flatnonzero(there).tolist()
        w, p, play = [0.0] * len(self.limits), [0.0] * len(awake), np.zeros(there.size)
        if zone.mode == REPAY:
            counts, means = self.means(statistics)
            rise = [debt - before for debt, before in zip(owed, zone.base, strict=True)]
            guard.weigh_limits(rise, zone.rounds + 1.0, self.spread, w)
            guard.play_repay(w, [counts[k] for k in awake], [[row[k] for k in awake] for row in means], p)
        else:
            self._copy = c = zone.idle()
            losses = zone.copies[c].losses if c < len(zone.copies) else [0.0] * there.size
            n = zone.copies[c].rounds + 1.0 if c < len(zone.copies) else 1.0
            eta = guard.wall_step(n, there.size, self.full)
            guard.play_wall([zone.prior[k] for k in awake], [losses[k] for k in awake], eta, p)
        play[awake] = p
        return play

    def _play_by_bounds(self, there: Vector, statistics: "Statistics") -> Vector:
        """Return the mixture with the largest minimum slack, by the upper bounds of the actions."""
        count = statistics.action_count[1:]
        m, K = count.shape
        upper = statistics.action_sum[1:] / np.maximum(count, 1) + optimism(count, K, m, self.rule.wish.epsilon)
        gap = np.minimum(upper, 1.0) - self.rule.floor[:, np.newaxis]
        gap[:, there == 0] = -np.inf
        return best_mixture(gap)

    def means(self, statistics: "Statistics") -> tuple[list[float], list[list[float]]]:
        """Return the number of answers of each action since its values changed, at most 1,000, and its mean costs."""
        count: Matrix = statistics.reference_count[1:] + statistics.block_count[1:]
        units: Matrix = statistics.reference_sum[1:] + statistics.block_sum[1:]
        means = np.where(count > 0, 1 - units / np.maximum(count, 1), 0.0)
        return np.minimum(count.min(axis=0), guard.MEMORY).tolist(), means.tolist()

    def _prior(self, owed: Sequence[float], statistics: "Statistics") -> list[float]:
        """Return pi of the wall: half of it on the action with the least mean cost where the debt is largest."""
        worst = owed.index(max(owed))
        costs, K = self.means(statistics)[1][worst], len(self.rule.actions)
        prior = [(1 - guard.TRUST) / K] * K
        prior[costs.index(min(costs))] += guard.TRUST
        return prior

    def keeps_safe(self, there: Vector | None) -> bool:
        """Return True: the governor can play whatever is there."""
        return True

    def book(self, number: int, action: int, elsewhere: bool = False) -> bool:
        """Count a decision; return whether it was the turn of the governor."""
        if self.idle:
            return False
        zone = self._next
        if self.start is None:
            self.start = [debt / span for debt, span in zip(self._owed, self.spans, strict=True)]
        for j, debt in enumerate(self._owed):
            if debt > self.peak[j]:
                self.peak[j] = debt
        if zone is not self.zone:
            self.counts["stretches"] += zone is not None and zone.mode == WALL
            self.zone = zone
        if zone is None:
            return False
        zone.rounds += 1
        self.counts["most_open"] = max(self.counts["most_open"], self._waiting + 1)
        if zone.mode == REPAY:
            self.counts["repaid"] += self._plays
        elif elsewhere or self._mixed:
            self.counts["unsafe"] += 1
        else:
            self.counts["walled"] += 1
            if not zone.by_bounds:
                if self._copy == len(zone.copies):
                    zone.copies.append(Copy(0, [0.0] * len(self.limits), [0.0] * len(self.rule.actions)))
                zone.open[number] = self._copy
        return self._plays

    # Answers ---------------------------------------------------------------------------------------------------------------

    def end(self, number: int, pending: Pending, units: Units, whole: bool) -> None:
        """Let the learner of the wall learn the answer to its decision; what is not known counts as the largest cost."""
        self.counts["lost"] += not whole
        zone = self.zone
        c = None if zone is None else zone.open.pop(number, None)
        if zone is None or c is None:
            return
        copy, K, m = zone.copies[c], len(self.rule.actions), len(self.limits)
        copy.rounds += 1
        costs = np.clip(1 - np.nan_to_num(units[1:], nan=0.0), 0.0, 1.0).tolist()
        eta, w = guard.wall_step(float(copy.rounds), K, self.full), [0.0] * m
        guard.weigh_limits(copy.rise, float(copy.rounds), self.spread, w)
        if self.full:
            play = pending.play.tolist() if pending.play is not None else [1 / K] * K
            losses = [sum(weight * row[k] for weight, row in zip(w, costs, strict=True)) for k in range(K)]
            spent = [sum(p * z for p, z in zip(play, row, strict=True)) for row in costs]
            left = sum(p * exp(-eta * loss) for p, loss in zip(play, losses, strict=True))
        else:
            losses, spent, i = [0.0] * K, costs, pending.action
            loss = sum(weight * z for weight, z in zip(w, spent, strict=True))
            losses[i] = loss / (pending.propensity + eta / 2)
            left = 1 - pending.propensity * (1 - exp(-eta * losses[i]))
        for k in pending.asleep:  # its weight stays the same share of all
            losses[k] = -log(left) / eta
        copy.losses = [total + loss for total, loss in zip(copy.losses, losses, strict=True)]
        copy.rise = [rise + z - b for rise, z, b in zip(copy.rise, spent, self.limits, strict=True)]

    # Changes ---------------------------------------------------------------------------------------------------------------

    def change(self, rule: Rule) -> None:
        """Begin anew with another rule: the debt at the next decision takes the place of W if it is larger."""
        self._begin(rule)

    def restart(self, rule: Rule, since: int) -> None:
        """Begin anew by the wish of the user."""
        self.since, self.peak = since, self.peak if len(self.peak) == len(rule.names) else [0.0] * len(rule.names)
        self._begin(rule)

    def rule_for(self, actions: Sequence[Label], constraints: "Sequence[Constraint]", horizon: int | None) -> Rule:
        """Return the rule for other actions or constraints."""
        return Rule(self.rule.wish, actions, constraints, horizon)

    def plain(self) -> JsonObject:
        """Return everything as plain data for JSON."""
        return {
            "governor": self.rule.wish.plain(),
            "since": self.since,
            "start": self.start,
            "peak": self.peak,
            "counts": self.counts,
            "zone": self.zone and self.zone.plain(),
        }


def learned_from_plain(
    plain: Plain, actions: Sequence[Label], constraints: "Sequence[Constraint]", full: bool
) -> LearnedGovernor:
    """Return what `LearnedGovernor.plain` wrote; one of an earlier version continues by the rule of today."""
    wish: Governor = governor_from_plain(plain["governor"])
    made = LearnedGovernor(Rule(wish, actions, constraints), full, int(plain["since"]))
    if "zone" not in plain:
        return made
    start, counts = plain["start"], plain["counts"]
    made.start = None if start is None else list(map(float, start))
    made.peak = list(map(float, plain["peak"]))
    made.counts = {name: int(counts[name]) if isinstance(counts, Mapping) else 0 for name in COUNTS}
    made.zone = zone_from_plain(plain["zone"])
    return made
