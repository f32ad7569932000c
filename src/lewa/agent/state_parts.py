"""What an agent's state holds, and what its open decisions are expected to give."""

from copy import copy
from math import inf, isfinite
from typing import Self

import numpy as np

from lewa.agent.breaker import Breakers
from lewa.agent.context.regressors import Regressors
from lewa.agent.delays import DelayCounter
from lewa.agent.driver import Driver
from lewa.agent.epochs import Epochs
from lewa.agent.exposure import Exposure
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.pending import OpenDecisions, Pending, Units
from lewa.agent.recent import Recent, Shift
from lewa.agent.records import Change, Label
from lewa.agent.setup import Setup, clipped_unit
from lewa.agent.statistics import Statistics
from lewa.agent.status.guarantee import Beginning, Segment
from lewa.agent.values import value_bounds
from lewa.kernels import DICE, keys
from lewa.kernels.roles import Rescaling
from lewa.units import Scale
from lewa.validation import nearest

WITH_DEBT = ("squarecb-lewa", "paced-hedge", "ucb-lp", "thompson-lp")  # learners that pay debt back, and spend credit
COUNTS = ("answered", "late", "masked", "filled_in", "expired")


class StateParts:
    """The setup, the learner, the statistics and the open decisions of an agent. `AgentState` changes them."""

    def __init__(self, setup: Setup, driver: Driver) -> None:
        fields, K = len(setup.fields), len(setup.actions)
        self.setup, self.driver = setup, driver
        self.sees_all = not driver.feedback.is_bandit
        self.statistics = Statistics.empty(setup.scales, K)
        self.rounds, self.records = 0, 0
        self.changing = False  # while a call changes it: an interrupt leaves this as it is, until `Journaling` looks
        self.asleep: tuple[int, ...] = ()  # the actions that could not be drawn in the last decision
        self.open = OpenDecisions(fields, K, self.sees_all)
        self.counts = dict.fromkeys(COUNTS, 0)
        self.breaches: dict[str, int] = {}  # how often the run did what a theorem excludes and nothing else counts
        self.charge_count, self.charge_total = np.zeros(fields), np.zeros(fields)  # of values filled in; in the user's units
        self.recent, self.debt_base, self.exposure = Recent(fields), np.zeros(fields - 1), Exposure()
        self.written_off = np.zeros((2, fields - 1))  # of `debts`: credit that is not carried over, and what was forgiven
        self.changes: list[Change] = []
        self.shifts: list[Shift] = []
        self.ledger: DebtLedger | None = None  # of the governor, if there is one
        self.regressors: Regressors | None = None  # that predict in the place of a ridge; never copied or saved
        self.delays, self.segments = DelayCounter(), list[Segment]()
        self.breakers = Breakers()  # the failures of actions, and which of these rest
        self.beginning: Beginning | None = None  # of the segment that goes on, after a change
        self.epochs = Epochs()
        self._max_pending, self._expire_after = setup.max_pending, setup.expire_after  # looked at in every round
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
        twin.epochs = self.epochs.copy()
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
        if self.ledger is not None:
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
        actions = self.setup.actions
        if label not in actions:
            raise ValueError(f"there is no action {label!r}{nearest(str(label), list(map(str, actions)))}")
        return actions.index(label)

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


def check_credit(driver: Driver, setup: Setup) -> None:
    """Raise ValueError if a limit carries not all over and the learner keeps no debt."""
    limited = [item for item in setup.constraints if item.credit < inf]
    if limited and driver.debt is None:
        raise ValueError(
            f"carry_over needs a learner that keeps a debt, one of {', '.join(WITH_DEBT)}; {setup.learner_name} keeps none "
            f"and saves nothing for later, got carry_over={limited[0].carry_over!r} for {limited[0]}"
        )
