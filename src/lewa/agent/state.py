"""The state of an agent, and the three things that change it: a decision, an answer to one, and the end of one."""

from collections.abc import Mapping, Sequence
from copy import copy
from math import isfinite

import numpy as np

from lewa.agent.contexts import settle_costs
from lewa.agent.current_guarantee import Beginning, Segment
from lewa.agent.debt_ledger import DebtLedger
from lewa.agent.delays import DelayCounter
from lewa.agent.driver import Driver
from lewa.agent.errors import ClosedError, UnknownError
from lewa.agent.exposure import Exposure
from lewa.agent.groups import spread
from lewa.agent.pending import OpenDecisions, Pending, Units
from lewa.agent.recent import KEPT_SHIFTS, Recent, Shift, find_common_shift, find_shift
from lewa.agent.records import Change, Decision, Input, Label, Record, Value
from lewa.agent.regressors import Regressors
from lewa.agent.setup import Setup, clipped_unit
from lewa.agent.statistics import STEP, Statistics, add_action
from lewa.agent.values import single_value, vector_value
from lewa.kernels import DICE, keys
from lewa.types import Vector
from lewa.units import Scale
from lewa.validation import nearest, short_repr

_new = tuple.__new__  # a named tuple in half the time
COUNTS = ("answered", "late", "masked", "filled_in", "expired")


class AgentState:
    """The learner, the statistics and the open decisions. A call is rejected before anything changes."""

    def __init__(self, setup: Setup, driver: Driver) -> None:
        fields, K = len(setup.fields), len(setup.actions)
        self.setup, self.driver = setup, driver
        self.sees_all = not driver.feedback.is_bandit
        self.statistics = Statistics.empty(setup.scales, K)
        self.rounds, self.records = 0, 0
        self.asleep: tuple[int, ...] = ()  # the actions that could not be drawn in the last decision
        self.open = OpenDecisions(fields, K, self.sees_all)
        self.counts = dict.fromkeys(COUNTS, 0)
        self.charge_count, self.charge_total = np.zeros(fields), np.zeros(fields)  # of values filled in; in the user's units
        self.recent, self.debt_base, self.exposure = Recent(fields), np.zeros(fields - 1), Exposure()
        self.changes: list[Change] = []
        self.shifts: list[Shift] = []
        self.ledger: DebtLedger | None = None  # of the governor, if there is one
        self.regressors: Regressors | None = None  # that predict in the place of a ridge; never copied or saved
        self.delays, self.segments = DelayCounter(), list[Segment]()
        self.beginning: Beginning | None = None  # of the segment that goes on, after a change
        self._max_pending, self._expire_after = setup.max_pending, setup.expire_after  # looked at in every round
        self._fields = {name: f for f, name in enumerate(setup.fields)}
        self._by_group = any(item.group for item in setup.constraints)
        self.prior_units = setup.prior_units()
        self._unbounded = setup.learner.unbounded
        self._make_desk()

    @property
    def exposure(self) -> Exposure:
        """How the play of the learner is changed before an action is drawn."""
        return self._exposure

    @exposure.setter
    def exposure(self, exposure: Exposure) -> None:
        self._exposure = exposure
        self.learns, self.plain_play = exposure.learns, exposure.plain_play  # every round asks for these three
        self.retired = exposure.retired

    @classmethod
    def begin(cls, setup: Setup) -> "AgentState":
        """Return the state before the first decision."""
        dice = keys(setup.seed)[DICE : DICE + 1]
        return cls(setup, Driver(setup.learner, len(setup.actions), dice))

    def _make_desk(self) -> None:
        """Make room for the values and the units of one answer, which the compiled functions work on."""
        fields = len(self._fields)
        self._desk = np.full((2, fields), np.nan)
        self._values, self._units = self._desk

    def copy(self, whole: bool = True) -> "AgentState":
        """Return a copy to read from while this one goes on; without the open decisions, unless it is to be `whole`.

        A status needs only the sums over them, so its time does not depend on their number.
        """
        twin = copy(self)  # shares the setup and what else never changes
        twin.driver, twin.statistics = self.driver.copy(), self.statistics.copy()
        twin.open = self.open.copy() if whole else self.open.summary(self.rounds)  # what is in `open` never changes either
        twin.counts = dict(self.counts)
        twin.recent, twin.debt_base = self.recent.copy(), self.debt_base.copy()
        twin.changes, twin.shifts = list(self.changes), list(self.shifts)
        twin.ledger = self.ledger and self.ledger.copy(whole)
        twin.delays, twin.segments = self.delays.copy() if whole else self.delays.summary(), list(self.segments)
        twin.charge_count, twin.charge_total = self.charge_count.copy(), self.charge_total.copy()
        twin._make_desk()
        return twin

    def decide(
        self, action: int, propensity: float, play: Vector | None, masked: bool, there: Vector | None = None
    ) -> Vector:
        """Open one more decision, which may close the oldest ones; return its charges.

        `there` has 1 for each action that could be drawn, or is None if all could.
        """
        self.rounds = t = self.rounds + 1
        safe = self.ledger is not None and self.ledger.book(t, action)
        if not safe:
            self.delays.draw(t)
        charged = self.driver.charge(action) if self.learns and not safe else self.driver.unbooked
        self.asleep = () if there is None else tuple(np.flatnonzero(there == 0).tolist())
        self.open.add(t, _new(Pending, (action, propensity, play, None, charged, self.driver.seen_features, self.asleep)))
        if masked:
            self.counts["masked"] += 1
        if self._exposure.entering:
            self.exposure = self._exposure.without_known(self.statistics.action_count[0])
        if len(self.open) > self._max_pending:
            self.close(self.open.oldest())
        if self._expire_after is not None:
            while self.open and (oldest := self.open.oldest()) <= t - self._expire_after:
                self.close(oldest)
        return charged

    def find(self, decision: Decision | int | str) -> int:
        """Return the number of an open decision; raise an error if it is closed or was never made here."""
        made = decision if isinstance(decision, Decision) else None
        number: object = decision if made is None else made.id
        if type(number) is not int:
            number = self._as_number(number)
        if made is not None and made.agent != self.setup.agent_name:
            self.check_name(made)  # first: a number that is closed here says nothing of another agent's decision
        pending = self.open.get(number)
        if pending is None:
            if not 1 <= number <= self.rounds:
                raise UnknownError(
                    f"decision {short_repr(number)} does not belong to this agent, which has made {self.rounds}"
                )
            raise ClosedError(f"decision {number} is closed: it was answered or it expired; nothing was changed")
        if made is not None:
            self.check_size(made)
            if made.probability != pending.propensity or made.action != self.setup.actions[pending.action]:
                raise UnknownError(f"decision {number} of this agent differs from {short_repr(decision)}")
        return number

    def _as_number(self, key: object) -> int:
        """Return the number of a decision by its key, NAME:NUMBER, or by a number; refuse the key of another agent."""
        if isinstance(key, np.integer | int) and not isinstance(key, bool):
            return int(key)
        if type(key) is not str:
            raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
        name, colon, digits = key.rpartition(":")
        if not (colon and digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
        if (name or None) != self.setup.agent_name:
            theirs, ours = ("without a name" if x is None else repr(x) for x in (name or None, self.setup.agent_name))
            raise UnknownError(f"decision {digits} belongs to another agent, {theirs}; this agent is {ours}")
        return int(digits)

    def check_name(self, item: Record) -> None:
        """Refuse a decision of another agent, and an answer or a change that was made to another one."""
        if item.agent != self.setup.agent_name:
            kind = type(item).__name__.lower() if isinstance(item, Change) else f"decision {short_repr(item[0])}"
            theirs, ours = ("without a name" if name is None else repr(name) for name in (item.agent, self.setup.agent_name))
            raise UnknownError(f"{kind} belongs to another agent, {theirs}; this agent is {ours}")

    def check_size(self, decision: Decision) -> None:
        """Refuse a decision that was made among another number of actions."""
        if type(decision.play_bytes) is not bytes:
            raise UnknownError(
                f"a decision must be a result of pull, got one whose play is {short_repr(decision.play_bytes)}"
            )
        size, K = len(decision.play_bytes) // 8, self.driver.actions
        if size in (0, K):
            return
        if not K - sum(change.what == "add" for change in self.changes) <= size < K:
            raise UnknownError(
                f"decision {decision.id} belongs to an agent with another number of actions: it has {size}, this agent {K}"
            )

    def answer(self, number: int, values: Mapping[str, Input]) -> dict[str, Value]:
        """Take in values of an open decision: validate them, add them to the statistics, and, once the answer is whole,
        let the learner learn it and close the decision. Return the values as they were taken in.
        """
        pending = self.open[number]
        known = () if pending.units is None else pending.known()
        numbers = self.check_values(number, values, known)
        whole = len(known) + len(numbers) == len(self._fields) and not self.setup.learns_at_close
        units = self._add(pending, numbers, whole)
        if self.ledger is not None:
            self.ledger.settle(number, pending.action, numbers)
        if not whole:
            fields, charged = [self._fields[name] for name in numbers], pending.charged
            if charged.size and self._learns(number) and not self.setup.learns_at_close:
                charged = settle_costs(self.driver, charged, units, fields)
            self.open.tell(number, units.copy(), fields, charged)
        else:
            if self.ledger is not None:
                self.ledger.close(number, whole=True)
            self._learn(pending, units, self.delays.is_safe(number))
            self.open.pop(number)
            self._count_answer(number)
        if self.sees_all:
            return {name: tuple(np.asarray(value).tolist()) for name, value in numbers.items()}
        return numbers  # type: ignore[return-value]  # floats

    def _learns(self, number: int) -> bool:
        """Whether the learner made a decision, and the mode is to learn."""
        return self.learns and not self.delays.is_safe(number)

    def check_values(self, number: int, values: Mapping[str, Input], known: Sequence[int]) -> dict[str, float | Vector]:
        """Return the values of an answer as numbers; raise ValueError for invalid, unknown or repeated values."""
        numbers: dict[str, float | Vector] = {}
        if self._by_group:
            values = spread(values, self.setup.constraints, self.setup.context, self.open[number].features)
        for name, value in values.items():
            f = self._fields.get(name)
            if f is None:
                raise ValueError(f"there is no value named {name!r}{nearest(str(name), list(self._fields))}")
            if f in known:
                raise ClosedError(f"the {name} of decision {number} was reported before; nothing was changed")
            if type(value) is float and isfinite(value) and not self.sees_all:  # nearly always
                numbers[name] = value
            else:
                numbers[name] = (vector_value if self.sees_all else single_value)(self.setup, name, value)
        if not numbers:
            raise ValueError(f"an update needs at least one of {', '.join(self._fields)}, got none")
        return numbers

    def close(self, number: int) -> None:
        """Close a decision that gets no further values: leave it out, or fill in the missing values.

        A complete answer that waited for the close is learned now.
        """
        pending = self.open.pop(number)
        safe, known = self.delays.is_safe(number), pending.known()
        whole = len(known) == len(self._fields)
        units = self._units_so_far(pending)
        if not whole and self.setup.unanswered is not None:
            self._fill_in(number, pending, units, known)
        if self.ledger is not None:
            self.ledger.close(number, whole)
        if whole:
            self.statistics.multiplier_sum[1:] += self.driver.multiplier
            self._learn(pending, units, safe)
            self._count_answer(number)
            return
        self.delays.end(number, learned=False)
        if self.setup.unanswered is None:
            self.counts["expired"] += 1
            self._release(pending, safe)
            return
        guessed = self.driver.forecasts and not known and not self.setup.unanswered
        self.statistics.multiplier_sum[1:] += self.driver.multiplier
        regresses = pending.features.size > 0 and not self.setup.policies
        if regresses and not safe and 0 not in known and "reward" not in self.setup.unanswered:
            if self.learns:
                settle_costs(self.driver, pending.charged, units, known)  # a reward made up would mislead the regression
        elif not guessed:  # else nothing is known that was not booked at the draw: the learner's own forecast stands
            self._learn(pending, units, safe)
        self.counts["filled_in"] += 1

    def _fill_in(self, number: int, pending: Pending, units: Units, known: Sequence[int]) -> None:
        """Fill in the units that a decision lacks; the governor counts the action drawn at them."""
        values: dict[str, float] = {}
        for f in range(len(self._fields)):
            if f not in known:
                units[f] = self.expected_unit(pending, f)
                self.charge_count[f] += 1
                self.charge_total[f] += self.setup.scales[f].to_user(self.unit_of_play(pending, units[f]))
                drawn = units[f][pending.action] if self.sees_all else units[f]
                values[self.setup.fields[f]] = self.setup.scales[f].to_user(float(drawn))
        if self.ledger is not None:
            self.ledger.fill_in(number, values)

    def _count_answer(self, number: int) -> None:
        self.delays.end(number, learned=True)
        self.counts["answered"] += 1
        if number != self.rounds:
            self.counts["late"] += 1

    def expected_unit(self, pending: Pending, f: int) -> Units:
        """Return the unit that fills in a field: as the setup says, or the action's average, or as expected."""
        name, fixed = self.setup.fields[f], self.setup.unanswered or {}
        width = len(self.setup.actions) if self.sees_all else ()
        if name in fixed:
            return np.full(width, clipped_unit(self.setup.scales[f], fixed[name]))
        if f > 0 and self.driver.forecasts:
            return np.asarray(1 - pending.charged[f - 1])
        count, total, prior = self.statistics.action_count[f], self.statistics.action_sum[f], self.prior_units[f]
        if not self.sees_all:
            i = pending.action
            count, total, prior = count[i], total[i], prior[i]
        units: Units = np.where(count > 0, total / np.maximum(count, 1), prior)
        return units

    def reserved_total(self, f: int) -> float:
        """Return the sum of what fills in a field in the open decisions that await it, in the user's units."""
        scale, count = self.setup.scales[f], self.open.count(f)
        zero, span = scale.to_user(0.0), scale.to_user(1.0) - scale.to_user(0.0)
        fixed = (self.setup.unanswered or {}).get(self.setup.fields[f])
        if fixed is not None:
            units = count * clipped_unit(scale, fixed)
        elif f > 0 and self.driver.forecasts:
            units = count - self.open.charge(f)
        else:
            seen, total = self.statistics.action_count[f], self.statistics.action_sum[f]
            means = np.where(seen > 0, total / np.maximum(seen, 1), self.prior_units[f])
            weights = self.open.plays(f) if self.sees_all else np.array(self.open.awaited[f], dtype=np.float64)
            units = float(weights @ means)
        return float(count * zero + span * units)

    def unit_of_play(self, pending: Pending, unit: Units) -> float:
        """Return the unit of the action drawn, or the mean of the play."""
        return float(pending.play @ unit) if self.sees_all and pending.play is not None else float(unit)

    def _units_so_far(self, pending: Pending) -> Units:
        if pending.units is not None:
            return pending.units.copy()
        fields = len(self._fields)
        return np.full((fields, len(self.setup.actions)) if self.sees_all else fields, np.nan)

    def _add(self, pending: Pending, numbers: Mapping[str, float | Vector], whole: bool) -> Units:
        """Add values to the statistics; return their units, together with those that are known already."""
        if pending.play is not None and self.sees_all:
            return self._add_all(pending, pending.play, numbers, whole)
        if len(numbers) < len(self._fields):
            self._values.fill(np.nan)
            self._units[:] = np.nan if pending.units is None else pending.units
        for name, value in numbers.items():
            self._values[self._fields[name]] = value
        action, propensity, multiplier = pending.action, pending.propensity, self.driver.multiplier
        table, recent = self.statistics.table, self.recent.table
        if add_action(table, recent, self._desk, multiplier, action, propensity, self._unbounded, whole):
            self.compare(action, sorted(self._fields[name] for name in numbers))
        return self._units

    def _add_all(self, pending: Pending, play: Vector, numbers: Mapping[str, float | Vector], whole: bool) -> Units:
        units = self._units_so_far(pending)
        for name, value in numbers.items():
            f, values = self._fields[name], np.asarray(value)
            units[f] = self.statistics.add_all(f, values, play, self._unbounded)
            self.recent.add(f, float(play @ values))
            for action in range(len(self.setup.actions)):
                self.compare(action, [f])
        if whole:
            self.statistics.multiplier_sum[1:] += self.driver.multiplier
        return units

    def compare(self, action: int, fields: Sequence[int]) -> None:
        """Test for a change in the values of an action, in the fields that are due."""
        for f in fields:
            if self.statistics.count.item(f) % STEP == 0 and not self.sees_all:
                self._report(f, None, find_common_shift(self.statistics, f))
            if self.statistics.block_count.item(f, action) % STEP == 0:
                self._report(f, self.setup.actions[action], find_shift(self.statistics, f, action))

    def _report(self, f: int, action: Label | None, shift: tuple[float, float] | None) -> None:
        if shift is not None:
            before, after = map(self.setup.scales[f].to_user, shift)
            self.shifts.append(Shift(self.rounds, self.setup.fields[f], action, before, after))
            del self.shifts[:-KEPT_SHIFTS]

    def index(self, label: Label | None) -> int:
        """Return the place of an action, by its label."""
        actions = self.setup.actions
        if label not in actions:
            raise ValueError(f"there is no action {label!r}{nearest(str(label), list(map(str, actions)))}")
        return actions.index(label)

    def extend(self, learner_state: object) -> None:
        """Take one more action in, with this state of the learner; the setup has it already."""
        self.driver.adopt(self.setup.learner, learner_state, len(self.setup.actions))
        self.statistics = self.statistics.extended(self.setup.scales)
        self.prior_units = self.setup.prior_units()
        self.open.extend()

    def rescale(self, j: int, scale: Scale, ratio: float, shift: float) -> None:
        """Write what is open and what was seen of constraint j in units of another range."""
        self.open.rescale(j, ratio, shift, self.setup.learner.quotes_prices)
        self.statistics.rescale(j + 1, scale, ratio, shift)

    def _learn(self, pending: Pending, units: Units, safe: bool) -> None:
        """Let the learner learn a whole answer, unless the agent's mode is not to learn, or the governor decided."""
        if safe or not self.learns:
            self._release(pending, safe)
            return
        self.driver.see(pending.features)
        if self.sees_all and pending.play is not None:
            self.driver.learn_all(units, pending.play, pending.charged)  # type: ignore[arg-type]  # one row per field
        elif pending.asleep:
            self.driver.learn_among(pending, units, self.statistics.action_count[0])  # type: ignore[arg-type]
        else:
            self.driver.learn_action(pending.action, pending.propensity, units, pending.play, pending.charged)  # type: ignore[arg-type]
        if self.regressors is not None:
            self.regressors.learn(pending.features, pending.action, units)  # type: ignore[arg-type]  # of a bandit

    def _release(self, pending: Pending, safe: bool) -> None:
        if not safe:
            self.driver.release(pending.charged)
