"""The debts of a governor with a safe play: answered decisions at their values, open decisions at their reserves.

A decision of the learner that is closed without an answer counts at the values that are filled in.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.governor.rule import MEAN, SURE, WEIGHTED, Governor, Rule, governor_from_plain
from lewa.agent.records import JsonObject, Label, Plain
from lewa.kernels import exceeds
from lewa.types import Vector

LEARNER, SAFE, UNSAFE = 0, 1, 2  # who makes a decision: the learner; safe play; the learner, as nothing safe is there
COUNTS = ("safe", "unsafe", "stretches", "broken", "most_open", "lost", "filled")


class Reserve(NamedTuple):
    """The values at which an open decision counts, by constraint, in the user's units, and whether it was safe."""

    safe: bool
    values: tuple[float, ...]


class DebtLedger:
    """The debts, and who decides next. Only decisions and answers change it, so it replays bit for bit."""

    idle = False  # every decision is counted

    def __init__(self, rule: Rule, debt: Sequence[float], since: int = 0) -> None:
        self.rule, self.since = rule, since
        self.debt, self.start, self.peak = list(debt), list(debt), list(debt)
        self.over = [0.0] * len(debt)  # the most that an answer was beyond its reserve
        self.eased = [0.0] * len(debt)  # by so much values that were filled in are better than the reserves, in all
        self.open: dict[int, Reserve] = {}
        self.reserves: dict[Reserve, int] = {}  # how many of the open ones are counted so
        self.counts = dict.fromkeys(COUNTS, 0)
        self.turn = LEARNER  # of the decision that is being made
        self._play: Vector | None = None  # the safe play, if it is its turn
        self.helping = False  # whether the last decision was a safe one
        self._reserve = Reserve(False, rule.reserve)

    def copy(self, whole: bool = True) -> "DebtLedger":
        """Return a copy to read from; without the open decisions, unless it is to be `whole`."""
        twin = copy(self)
        twin.debt, twin.peak, twin.over, twin.eased = self.debt[:], self.peak[:], self.over[:], self.eased[:]
        twin.open, twin.counts = self.open.copy() if whole else {}, dict(self.counts)
        twin.reserves = self.reserves.copy()
        return twin

    def _open(self, number: int, reserve: Reserve) -> None:
        self.open[number] = reserve
        self.reserves[reserve] = self.reserves.get(reserve, 0) + 1

    def calls(self) -> bool:
        """Return whether the next decision, at its worst, would take a debt beyond its bound."""
        rule = self.rule
        if rule.form == WEIGHTED:
            return float(np.linalg.norm(self._owed())) > rule.level()
        return exceeds(self.debt, rule.worst, rule.debt)

    def _owed(self) -> Vector:
        owed: Vector = np.maximum(np.array(self.debt), 0.0) / self.rule.spans
        return owed

    def next_play(self, available: Vector | None, state: object = None) -> Vector | None:
        """Return the safe play if it is called for and there, else None; `available` has 1 for each action there.

        The choice is made before an action is drawn, because looking at the draw would bias the feedback of the learner.
        """
        self.turn = LEARNER
        if not self.calls():
            return None
        there = np.ones(len(self.rule.actions)) if available is None else available
        self._play = play = self._safe_play(there)
        self.turn = UNSAFE if play is None else SAFE
        return play

    def keeps_safe(self, there: Vector | None) -> bool:
        """Return whether the next decision can be safe among these actions, if it has to be."""
        return not self.calls() or there is None or self._safe_play(there) is not None

    def _safe_play(self, there: Vector) -> Vector | None:
        rule = self.rule
        if rule.form == SURE:
            action = next((i for i in rule.order if there[i]), None)
        elif rule.form == MEAN:
            return rule.mixture if rule.mixture is not None and not np.any((rule.mixture > 0) & (there == 0)) else None
        else:
            owed = self._owed()
            gain = np.where(there > 0, owed @ (rule.sure_units() - rule.floor[:, np.newaxis]), -np.inf)
            action = int(np.nanargmax(gain))
            if not gain[action] >= rule.slack[0] * owed.sum() * (1 - 1e-9):
                action = None
        return None if action is None else np.eye(len(there))[action]

    def book(self, number: int, action: int, elsewhere: bool = False) -> bool:
        """Count a decision at its reserve; return whether it was the turn of safe play.

        A decision that was made elsewhere is safe only if it took an action that is surely safe now.
        """
        rule, turn, counts = self.rule, self.turn, self.counts
        reserve, sure, helped = self._reserve, rule.form in (SURE, WEIGHTED), self.helping
        self.helping = turn == SAFE and not (elsewhere and not (sure and self._play is not None and self._play[action]))
        if self.helping:
            counts["safe"] += 1
            counts["stretches"] += not helped
            reserve = Reserve(True, tuple(rule.sure[:, action].tolist()) if sure else rule.reserve)
        elif turn != LEARNER:
            counts["unsafe"] += 1
        self._open(number, reserve)
        counts["most_open"] = max(counts["most_open"], len(self.open))
        for j, value in enumerate(reserve.values):
            self._add(j, rule.excess(j, value))
        return turn == SAFE

    def _add(self, j: int, excess: float) -> None:
        self.debt[j] += excess
        if self.debt[j] > self.peak[j]:
            self.peak[j] = self.debt[j]

    def settle(self, number: int, action: int, numbers: Mapping[str, float | Vector]) -> None:
        """Count the reported values of a decision instead of its reserve."""
        reserve = self.open.get(number)
        if reserve is None:  # it was closed already
            return
        rule = self.rule
        for j, name in enumerate(rule.names):
            if name not in numbers:
                continue
            values_told = numbers[name]
            value = values_told if isinstance(values_told, float) else float(values_told[action])
            beyond = rule.signs[j] * (value - reserve.values[j])
            self._add(j, beyond)
            if beyond > self.over[j]:
                self.over[j] = beyond
            allowed = reserve.values[j] if rule.form in (SURE, WEIGHTED) else rule.ends[j]
            if reserve.safe and rule.signs[j] * (value - allowed) > 0:
                self.counts["broken"] += 1

    def fill_in(self, number: int, values: Mapping[str, float]) -> None:
        """Count a decision of the learner that gets no answer at the values that are filled in instead of its reserve.

        A safe decision stays at its reserve, because the theorem about safe play is about its true values.
        """
        reserve = self.open.get(number)
        if reserve is None or reserve.safe or not any(name in values for name in self.rule.names):
            return
        self.counts["filled"] += 1
        for j, name in enumerate(self.rule.names):
            if name in values:
                beyond = self.rule.signs[j] * (values[name] - reserve.values[j])
                self._add(j, beyond)
                self.over[j] = max(self.over[j], beyond)
                self.eased[j] += max(-beyond, 0.0)

    def end(self, number: int, pending: object, units: object, whole: bool) -> None:
        """Close a decision; what was told of it is counted already."""
        self.close(number, whole)

    def close(self, number: int, whole: bool) -> None:
        """Remove a decision from the open ones; values that were neither reported nor filled in stay at their reserve."""
        reserve = self.open.pop(number, None)
        if reserve is not None:
            self.reserves[reserve] -= 1
            if not self.reserves[reserve]:
                del self.reserves[reserve]
        self.counts["lost"] += not whole

    def take_over(self, numbers: Mapping[int, Sequence[str]]) -> None:
        """Count decisions that were open before there was a governor at their reserve, except for reported values."""
        for number, values_told in numbers.items():
            self._open(number, self._reserve)
            for j, name in enumerate(self.rule.names):
                if name not in values_told:
                    self.debt[j] += self.rule.excess(j, self.rule.reserve[j])
        self.start, self.peak = self.debt[:], self.debt[:]

    def forgive(self, j: int, waiting: Sequence[int], since: int) -> None:
        """Begin the debt of constraint j anew, with the decisions that await its value at their reserve."""
        reserves = [self.open[number].values[j] for number in waiting if number in self.open]
        self.debt[j] = sum((self.rule.excess(j, value) for value in reserves), 0.0)
        self.restart(self.rule, since)

    def change(self, rule: Rule) -> None:
        """Continue with another rule; open decisions keep their reserve."""
        self.rule, self._reserve = rule, Reserve(False, rule.reserve)

    def restart(self, rule: Rule, since: int) -> None:
        """Restart with another rule from the current debt; the new rule is not responsible for earlier decisions."""
        self.change(rule)
        self.start, self.peak, self.over, self.since = self.debt[:], self.debt[:], [0.0] * len(self.debt), since
        self.eased = [0.0] * len(self.debt)
        self.counts |= {"unsafe": 0, "stretches": 0, "broken": 0, "filled": 0}
        self.helping = False  # a stretch that goes on is the first one of this rule

    def rule_for(self, actions: Sequence[Label], constraints: Sequence[Constraint], horizon: int | None) -> Rule:
        """Return the rule for other actions or constraints; refuse a limit that the safe play does not keep.

        Bounds and the values of a safe action do not change in the user's units.
        """
        wish, old = self.rule.wish, self.rule
        debt = dict(zip(old.names, old.debt, strict=True))
        sure = dict(wish.sure)
        if wish.safe is not None and not isinstance(wish.safe, Mapping):
            safe_values = old.sure[:, old.actions.index(wish.safe)].tolist()
            sure |= {
                name: value
                for name, value in zip(old.names, safe_values, strict=True)
                if value == value and name not in sure
            }
        return Rule(Governor(wish.safe, sure, wish.mean, debt, wish.reserve, wish.epsilon), actions, constraints, horizon)

    def plain(self) -> JsonObject:
        """Return everything as plain data for JSON; equal reserves are written once."""
        kinds = list(dict.fromkeys(self.open.values()))
        places = {kind: k for k, kind in enumerate(kinds)}
        debt = dict(zip(self.rule.names, self.rule.debt, strict=True))
        return {
            "governor": {**self.rule.wish.plain(), "debt": debt},
            "since": self.since,
            "debt": [self.debt, self.start, self.peak, self.over, self.eased],
            "counts": self.counts,
            "helping": self.helping,
            "reserves": [[kind.safe, list(kind.values)] for kind in kinds],
            "open": [[number, places[reserve]] for number, reserve in self.open.items()],
        }


def ledger_from_plain(plain: Plain, actions: Sequence[Label], constraints: Sequence[Constraint]) -> DebtLedger:
    """Return what `DebtLedger.plain` wrote."""
    ledger = DebtLedger(Rule(governor_from_plain(plain["governor"]), actions, constraints), (), int(plain["since"]))
    ledger.debt, ledger.start, ledger.peak, ledger.over, *rest = [[float(x) for x in row] for row in plain["debt"]]
    ledger.eased = rest[0] if rest else [0.0] * len(ledger.debt)
    ledger.counts = {name: int(plain["counts"].get(name, 0)) for name in COUNTS}
    ledger.helping = bool(plain["helping"])
    kinds = [Reserve(bool(safe), tuple(map(float, values))) for safe, values in plain["reserves"]]
    for number, place in plain["open"]:
        ledger._open(int(number), kinds[place])
    return ledger


def governor_problems(ledger: DebtLedger) -> list[str]:
    """Return warnings about debts that open decisions block, and about safe decisions that were not safe."""
    rule, problems, waiting = ledger.rule, list[str](), sum(ledger.reserves.values())
    for j, name in enumerate(rule.names):
        reserved = sum(n * rule.excess(j, reserve.values[j]) for reserve, n in ledger.reserves.items())
        if ledger.debt[j] + rule.worst[j] > rule.debt[j] >= ledger.debt[j] - reserved + rule.worst[j]:
            problems.append(
                f"the governor plays safe because {waiting} open decisions count at their worst {name}; the learner "
                f"would decide with a debt of at least {rule.worst[j] * (waiting + 1):.4g}"
            )
    if ledger.counts["broken"]:
        problems.append(f"{ledger.counts['broken']} values of safe decisions were worse than the declared worst value")
    return problems
