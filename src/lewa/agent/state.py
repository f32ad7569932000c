"""An agent's state, and the three things that change it: a decision, an answer to one, and the end of one."""

from collections.abc import Mapping, Sequence
from copy import copy
from math import inf, isfinite
from typing import Self

import numpy as np

from lewa.agent.breaker import Breakers
from lewa.agent.context.features import settle_costs
from lewa.agent.context.groups import spread
from lewa.agent.context.misfits import Misfits
from lewa.agent.context.policies import Policy
from lewa.agent.context.regressors import Regressors
from lewa.agent.driver import Driver
from lewa.agent.errors import ClosedError
from lewa.agent.exposure import Exposure
from lewa.agent.governor.learned import LearnedGovernor
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.pending import DelayCounter, Epochs, OpenDecisions, Pending, Units
from lewa.agent.recent import KEPT_SHIFTS, Recent, Shift, find_common_shift, find_shift
from lewa.agent.records import Change, Input, Label, Value
from lewa.agent.setup import Setup, clipped_unit
from lewa.agent.statistics import STEP, Statistics, add_action, add_all
from lewa.agent.status.assumptions import ELSEWHERE, ROUNDING, UNSURE, all_counts
from lewa.agent.status.guarantee import Beginning, Segment, withdraw_earlier
from lewa.agent.values import check_bounds, single_value, value_bounds, vector_value
from lewa.kernels import DICE, keys
from lewa.kernels.roles import Rescaling
from lewa.types import Indices, Vector
from lewa.units import Scale
from lewa.validation import nearest

WITH_DEBT = ("squarecb-lewa", "paced-hedge", "ucb-lp", "thompson-lp")  # learners that pay debt back, and spend credit
COUNTS = ("answered", "late", "masked", "filled_in", "expired")
_new = tuple.__new__  # a named tuple in half the time


class AgentState:
    """The setup, the learner, the statistics and the open decisions of an agent.

    A decision, an answer and the end of a decision change it; a call is rejected before anything changes.
    """

    def __init__(self, setup: Setup, driver: Driver) -> None:
        fields, K = len(setup.fields), len(setup.actions)
        self.setup, self.driver = setup, driver
        self.sees_all = not driver.feedback.is_bandit
        self.statistics = Statistics.empty(setup.scales, K)
        self.rounds, self.records = 0, 0
        self.changing = False  # while a call changes it: an interrupt leaves this as it is, until `Recorder` looks
        self.asleep: tuple[int, ...] = ()  # the actions that could not be drawn in the last decision
        self.open = OpenDecisions(fields, K, self.sees_all)
        self.counts = dict.fromkeys(COUNTS, 0)
        self.breaches: dict[str, int] = {}  # how often the run did what a theorem excludes and nothing else counts
        self.charge_count, self.charge_total = np.zeros(fields), np.zeros(fields)  # of values filled in; in the user's units
        self.recent, self.debt_base, self.exposure = Recent(fields), np.zeros(fields - 1), Exposure()
        self.written_off = np.zeros((2, fields - 1))  # of `debts`: credit that is not carried over, and what was forgiven
        self.changes: list[Change] = []
        self.shifts: list[Shift] = []
        self.ledger: DebtLedger | LearnedGovernor | None = None  # of the governor, if there is one
        self.regressors: Regressors | None = None  # that predict in the place of a ridge; never copied or saved
        self.advisers: dict[str, Policy] = {}  # the functions of policies, which are never saved
        self.misfits = Misfits()  # of contexts that this process has seen
        self.looks = setup.context is not None or bool(setup.policies)
        self.delays, self.segments = DelayCounter(), list[Segment]()
        self.breakers = Breakers()  # the failures of actions, and which of these rest
        self.beginning: Beginning | None = None  # of the segment that goes on, after a change
        self.epochs = Epochs()
        self._max_open, self._close_after = setup.max_open, setup.close_after  # looked at in every round
        self._fields = {name: f for f, name in enumerate(setup.fields)}
        self._by_group = any(item.group for item in setup.constraints)
        self._unbounded = setup.learner.unbounded
        self._know_constraints()
        self._make_desk()

    def _know_constraints(self) -> None:
        """Note what answers need of the constraints as they are now; refuse what the learner cannot do."""
        setup = self.setup
        self.prior_units, self.bounds = setup.prior_units(), value_bounds(setup)
        theorems = setup.learner.theorems
        known = theorems and theorems.sure
        self.sure: tuple[int, float] | None = (
            known(setup.learner) if known else None
        )  # what the theorem assumes of an action
        self.credits: list[tuple[int, float]] = [
            (j, item.credit) for j, item in enumerate(setup.constraints) if item.credit < inf
        ]
        check_credit(self.driver, setup)

    def adopt(self, setup: Setup) -> None:
        """Continue with other constraints; raise ValueError, without a change, if the learner cannot."""
        check_credit(self.driver, setup)
        self.setup = setup
        self._know_constraints()

    @property
    def exposure(self) -> Exposure:
        """What is done with the learner's play before an action is drawn."""
        return self._exposure

    @exposure.setter
    def exposure(self, exposure: Exposure) -> None:
        self._exposure = exposure
        self.learns, self.plain_play = exposure.learns, exposure.plain_play  # every round asks for these three
        self.retired = exposure.retired

    @classmethod
    def begin(cls, setup: Setup) -> Self:
        """Return the state before the first decision."""
        dice = keys(setup.seed)[DICE : DICE + 1]
        return cls(setup, Driver(setup.learner, len(setup.actions), dice))

    def _make_desk(self) -> None:
        """Make room for the values and the units of one answer, which the compiled functions work on."""
        fields = len(self._fields)
        self._desk = np.full((2, fields), np.nan)
        self._values, self._units = self._desk

    def copy(self, whole: bool = True) -> Self:
        """Return a copy to read from while this one goes on; without the open decisions, unless it is to be `whole`.

        A status needs no more than the sums over these, so it does not take longer the more of them there are.
        """
        twin = copy(self)  # shares the setup and what else never changes
        twin.driver, twin.statistics = self.driver.copy(), self.statistics.copy()
        twin.open = self.open.copy() if whole else self.open.summary(self.rounds)  # what is in `open` never changes either
        twin.counts, twin.breaches = dict(self.counts), dict(self.breaches)
        twin.recent, twin.debt_base, twin.written_off = self.recent.copy(), self.debt_base.copy(), self.written_off.copy()
        twin.changes, twin.shifts = list(self.changes), list(self.shifts)
        twin.ledger, twin.breakers = self.ledger and self.ledger.copy(whole), self.breakers.copy()
        twin.delays, twin.segments = self.delays.copy() if whole else self.delays.summary(), list(self.segments)
        twin.epochs, twin.misfits = self.epochs.copy(), self.misfits.copy()
        twin.charge_count, twin.charge_total = self.charge_count.copy(), self.charge_total.copy()
        twin._make_desk()
        return twin

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

    def debts(self, j: int) -> tuple[float, float]:
        """Return the debt of constraint j by the values as reported, and by the values clipped to their range."""
        raw, off = self._raw_debts(j), self.written_off
        return float(raw[0] + off[0, j]), float(raw[1] + off[1, j])

    def _raw_debts(self, j: int) -> tuple[float, float]:
        constraint, statistics = self.setup.constraints[j], self.statistics
        sign, n = 1 if constraint.sense == "at most" else -1, statistics.count.item(j + 1)
        zero, span = constraint.scale
        clipped = n * zero + span * statistics.unit_sum.item(j + 1)
        base = self.debt_base.item(j)
        totals = statistics.total.item(j + 1), clipped
        reported, clipped = (base + sign * (total - n * constraint.limit) for total in totals)
        return reported, clipped

    def hold_credit(self) -> None:
        """Write off the credit that is not carried over: in the debts of the status, and in that of the learner."""
        for j, credit in self.credits:
            for row, debt in enumerate(self.debts(j)):
                if debt < -credit:
                    self.written_off[row, j] -= credit + debt
            owed, constraint = self.driver.debt, self.setup.constraints[j]
            least = 0.0 - credit / (constraint.high - constraint.low)
            if owed is not None and owed[j] < least:
                owed[j] = least

    def forgive(self, j: int) -> None:
        """Begin constraint j anew with a debt of 0; open decisions still count when their answers come."""
        self.written_off[:, j] = [-debt if isfinite(debt) else 0.0 for debt in self._raw_debts(j)]
        if self.driver.debt is not None:
            learned = (pending for number, pending in self.open.items() if not self.delays.is_safe(number))
            self.driver.debt[j] = sum((self.booked_debt(j, pending) for pending in learned), 0.0)
            self.hold_credit()
        if isinstance(self.ledger, LearnedGovernor):
            self.ledger.change(self.ledger.rule)
        elif self.ledger is not None:
            waiting = [number for number, pending in self.open.items() if j + 1 not in pending.known()]
            self.ledger.forgive(j, waiting, self.rounds)

    def booked_debt(self, j: int, pending: Pending) -> float:
        """Return what the learner must owe for an open decision now, so that its answer makes it what it then owes.

        The answer adds the cost less what was charged at the draw, or less the limit if nothing was. In the end the learner
        owes the cost less the limit, or nothing for a cost that was told before.
        """
        limit = 1 - float(self.setup.learner.floor[j])
        charged = float(pending.charged[j]) if self.driver.charges else limit
        if pending.units is None or j + 1 not in pending.known():
            return charged - limit
        return charged - (1 - self.unit_of_play(pending, pending.units[j + 1]))

    def unit_of_play(self, pending: Pending, unit: Units) -> float:
        """Return the unit of the action drawn, or the mean of the play."""
        return float(pending.play @ unit) if self.sees_all and pending.play is not None else float(unit)

    def index(self, label: Label | None) -> int:
        """Return the place of an action, by its label."""
        places = self.setup.places
        if not isinstance(label, str | int) or label not in places:
            raise ValueError(f"there is no action {label!r}{nearest(str(label), list(map(str, places)))}")
        return places[label]

    def extend(self, learner_state: object) -> None:
        """Take one more action in, with this state of the learner; the setup has it already."""
        self.driver.adopt(self.setup.learner, learner_state, len(self.setup.actions))
        self.statistics = self.statistics.extended(self.setup.scales)
        self._know_constraints()
        self.open.extend()

    def rescale(self, units: Rescaling, scale: Scale) -> None:
        """Write what is open and what was seen of a constraint in units of another range."""
        self.open.rescale(units, self.setup.learner.rescale_charged)
        self.statistics.rescale(units.j + 1, scale, units.ratio, units.shift)

    def draw(self, there: Vector | None) -> tuple[int, float, Vector]:
        """Return the action of the next decision, its propensity, and the play from which it is drawn.

        The play is the safe one of the governor, or that of the learner, mixed by mode and shares.
        """
        safe = None if self.ledger is None else self.ledger.next_play(there, self)
        if safe is not None:
            return self.driver.draw_from(self.rounds, safe)
        if there is None and self.plain_play:
            return self.driver.draw(self.rounds)
        available = np.ones(self.driver.actions) if there is None else there
        return self.driver.draw_among(self.rounds, available, self.exposure, self.statistics.action_count[0])

    def decide(
        self,
        action: int,
        propensity: float,
        play: Vector | None,
        masked: bool,
        there: Vector | None = None,
        elsewhere: bool = False,
    ) -> Vector:
        """Open one more decision, which may close the oldest ones; return its charges.

        `there` has 1 for each action that could be drawn, or is None if all could. `elsewhere`: somebody else made it.
        """
        self.rounds = t = self.rounds + 1
        self.epochs.decided(t)
        if elsewhere:
            self.breaches[ELSEWHERE] = self.breaches.get(ELSEWHERE, 0) + 1
        if self.breakers.failing:
            self.breakers.draw(action)
        safe = self.ledger is not None and not self.ledger.idle and self.ledger.book(t, action, elsewhere)
        if not safe:
            self.delays.draw(t)
        charged = self.driver.charge(action) if self.learns and not safe else self.driver.unbooked
        if self.credits:
            self.hold_credit()
        self.asleep = () if there is None else tuple(np.flatnonzero(there == 0).tolist())
        self.open.add(t, _new(Pending, (action, propensity, play, None, charged, self.driver.seen_features, self.asleep)))
        if masked:
            self.counts["masked"] += 1
        if self._exposure.entering:
            self.exposure = self._exposure.without_known(self.statistics.action_count[0])
        if len(self.open) > self._max_open:
            self.close(self.open.oldest())
        if self._close_after is not None:
            while self.open and (oldest := self.open.oldest()) <= t - self._close_after:
                self.close(oldest)
        return charged

    def answer(self, number: int, values: Mapping[str, Input], recorded: bool = False) -> dict[str, Value]:
        """Take in values of an open decision; return them as they were taken in."""
        if not self.breakers.failing:
            return self._take(number, values, recorded)
        action, taken = self.open[number].action, self._take(number, values, recorded)
        self.breakers.answer(action, number, "reward" in taken or number not in self.open)
        return taken

    def fail(self, number: int, values: Mapping[str, Input], recorded: bool = False) -> dict[str, Value]:
        """End a decision whose action failed, and count it for the breaker; return its values as they were taken in.

        A value that was not told is the least reward, or what a constraint has if nothing happens. With full information
        nothing is known of the other actions: the decision is closed with the values that were told.
        """
        pending, taken = self.open[number], dict[str, Value]()
        whole = values if self.sees_all else {**values, **self._failed_values(number, values)}
        if not (whole or self.sees_all):
            raise ClosedError(f"all values of decision {number} were reported before; nothing was changed")
        if whole:
            taken = self._take(number, whole, recorded)
        self.changing = True
        if self.sees_all and number in self.open:
            self._finish(number)
        others = (k for k in range(self.driver.actions) if k != pending.action and k not in self.retired)
        self.breakers.fail(pending.action, number, self.rounds, self.setup.breaker, others)
        return taken

    def _failed_values(self, number: int, values: Mapping[str, Input]) -> dict[str, Input]:
        """Return the values of a failed decision that were neither told before nor now."""
        setup, pending = self.setup, self.open[number]
        ends = {"reward": setup.reward_range[0]} | {item.name: item.if_failed for item in setup.constraints}
        if self._by_group:
            values = spread(values, setup.constraints, setup.context, pending.features)
            grouped = [item for item in setup.constraints if item.quantity is not None]
            ends |= spread(
                {str(item.quantity): item.if_failed for item in grouped}, grouped, setup.context, pending.features
            )
        known = {setup.fields[f] for f in pending.known()}
        return {name: ends[name] for name in setup.fields if name not in known and name not in values}

    def _take(self, number: int, values: Mapping[str, Input], recorded: bool) -> dict[str, Value]:
        """Take in values of an open decision: validate them, add them to the statistics, and, once the answer is whole,
        let the learner learn it and close the decision. Return the values as they were taken in.

        `recorded` values were accepted before, perhaps by a version that accepted any finite number.
        """
        pending, before = self.open[number], self._counts_before(number)
        known = () if pending.units is None else pending.known()
        numbers = self.check_values(number, values, known, recorded)
        self.changing = True
        whole = len(known) + len(numbers) == len(self._fields) and not self.setup.learns_at_close
        units = self._add(pending, numbers, whole)
        if self.sure is not None:
            self.count_unsure(np.array([pending.action]), units[np.newaxis], [self._fields[name] for name in numbers])
        if isinstance(self.ledger, DebtLedger):
            self.ledger.settle(number, pending.action, numbers)
        if not whole:
            fields, charged = [self._fields[name] for name in numbers], None
            if pending.charged.size and self._learns(number) and not self.setup.learns_at_close:
                charged = settle_costs(self.driver, pending.charged, units, fields)
            self.open.tell(number, units.copy(), fields, charged)
        else:
            safe = self.delays.is_safe(number)
            if self.ledger is not None and (safe or isinstance(self.ledger, DebtLedger)):
                self.ledger.end(number, pending, units, whole=True)
            self._learn(pending, units, safe)
            self.open.pop(number)
            self._count_answer(number)
        if before is not None:
            withdraw_earlier(self, number, before)
        if self.credits:
            self.hold_credit()
        if self.sees_all:
            return {name: tuple(np.asarray(value).tolist()) for name, value in numbers.items()}
        return numbers  # type: ignore[return-value]  # floats

    def _learns(self, number: int) -> bool:
        """Whether the learner made a decision, and the mode is to learn."""
        return self.learns and not self.delays.is_safe(number)

    def check_values(
        self, number: int, values: Mapping[str, Input], known: Sequence[int], recorded: bool = False
    ) -> dict[str, float | Vector]:
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
            low, high = self.bounds[f]
            if type(value) is float and low <= value <= high and not self.sees_all:  # nearly always
                numbers[name] = value
                continue
            numbers[name] = (vector_value if self.sees_all else single_value)(self.setup, name, value)
            if not recorded:
                check_bounds(name, numbers[name], (low, high))
        if not numbers:
            raise ValueError(f"an update needs at least one of {', '.join(self._fields)}, got none")
        return numbers

    def close(self, number: int) -> None:
        """Close a decision that gets no further values: leave it out, or fill in the missing values.

        A complete answer that waited for the close is learned now.
        """
        pending = self.open[number]
        self.changing = True
        self._finish(number)
        if self.breakers.failing and pending.known():  # what was told of it, and no failure, shows that the action works
            self.breakers.answer(pending.action, number, whole=True)

    def _counts_before(self, number: int) -> dict[str, int] | None:
        """Return what is counted for assumptions, if a decision belongs to an earlier segment."""
        return all_counts(self) if number <= self.delays.counts["before"] else None

    def _finish(self, number: int) -> None:
        before = self._counts_before(number)
        self._end(number)
        if before is not None:
            withdraw_earlier(self, number, before)
        if self.credits:
            self.hold_credit()

    def _end(self, number: int) -> None:
        pending = self.open.pop(number)
        safe, known = self.delays.is_safe(number), pending.known()
        whole = len(known) == len(self._fields)
        units = self._units_so_far(pending)
        reported = units if whole or not safe else units.copy()
        if not whole and self.setup.unanswered is not None:
            self._fill_in(number, pending, units, known)
        if self.ledger is not None and (safe or isinstance(self.ledger, DebtLedger)):
            self.ledger.end(number, pending, reported, whole)
        if whole:
            self.statistics.multiplier_sum[1:] += self.driver.multiplier
            self._learn(pending, units, safe)
            self._count_answer(number)
            return
        self.delays.end(number, learned=False)
        if self.setup.unanswered is None:
            self.counts["expired"] += 1
            if self.learns and not (safe and not self._tells_all):
                self._count_told_costs(pending, known)
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

    def _count_told_costs(self, pending: Pending, known: Sequence[int]) -> None:
        """Let the learner owe what was told of a decision that it will not learn, as the status does."""
        owed = self.driver.debt
        for f in known:
            if owed is not None and f > 0:
                owed[f - 1] -= self.booked_debt(f - 1, pending)

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
        if isinstance(self.ledger, DebtLedger):
            self.ledger.fill_in(number, values)

    def _count_answer(self, number: int) -> None:
        self.delays.end(number, learned=True)
        self.counts["answered"] += 1
        if number != self.rounds:
            self.counts["late"] += 1

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
        add = add_action.run(self.driver.compiled)
        if add(table, recent, self._desk, multiplier, action, propensity, self._unbounded, whole):
            self.compare(action, sorted(self._fields[name] for name in numbers))
        return self._units

    def _add_all(self, pending: Pending, play: Vector, numbers: Mapping[str, float | Vector], whole: bool) -> Units:
        units, table, recent = self._units_so_far(pending), self.statistics.table, self.recent.table
        add = add_all.run(self.driver.compiled)
        for name, values in numbers.items():
            f = self._fields[name]
            if add(table[f], recent[f], np.asarray(values), play, units[f], self._unbounded and f > 0):
                for action in range(len(self.setup.actions)):
                    self.compare(action, [f])
        if whole:
            self.statistics.multiplier_sum[1:] += self.driver.multiplier
        return units

    def count_unsure(self, actions: Indices, units: Units, fields: Sequence[int]) -> None:
        """Count the values of a sure action with less slack than its learner assumes; `units` has one row per answer."""
        if self.sure is None:
            return
        action, slack = self.sure
        rows = units[:, :, action] if self.sees_all else units[actions == action]
        columns = [f for f in fields if f > 0]
        least = self.setup.learner.floor[[f - 1 for f in columns]] + slack - ROUNDING
        if short := int((rows[:, columns] < least).sum()):
            self.breaches[UNSURE] = self.breaches.get(UNSURE, 0) + short

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

    def _learn(self, pending: Pending, units: Units, safe: bool) -> None:
        """Let the learner learn a whole answer, unless the agent's mode is not to learn, or the governor decided.

        A learner that keeps a debt learns what the learned governor decided too: else it would repay a second time.
        """
        if not self.learns or (safe and not self._tells_all):
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

    @property
    def _tells_all(self) -> bool:
        return isinstance(self.ledger, LearnedGovernor) and self.driver.debt is not None

    def _release(self, pending: Pending, safe: bool) -> None:
        if not safe:
            self.driver.release(pending.charged)


def check_credit(driver: Driver, setup: Setup) -> None:
    """Raise ValueError if a limit carries not all over and the learner keeps no debt."""
    limited = [item for item in setup.constraints if item.credit < inf]
    if limited and driver.debt is None:
        raise ValueError(
            f"carry_over needs a learner that keeps a debt, one of {', '.join(WITH_DEBT)}; {setup.learner_name} keeps none "
            f"and saves nothing for later, got carry_over={limited[0].carry_over!r} for {limited[0]}"
        )
