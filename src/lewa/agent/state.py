"""The three things that change an agent's state: a decision, an answer to one, and the end of one."""

from collections.abc import Mapping, Sequence

import numpy as np

from lewa.agent.context.features import settle_costs
from lewa.agent.context.groups import spread
from lewa.agent.errors import ClosedError, UnknownError
from lewa.agent.pending import Pending, Units
from lewa.agent.recent import KEPT_SHIFTS, Shift, find_common_shift, find_shift
from lewa.agent.records import Change, Decision, Input, Label, Record, Value
from lewa.agent.state_parts import StateParts
from lewa.agent.statistics import STEP, add_action, add_all
from lewa.agent.status.assumptions import ELSEWHERE, ROUNDING, UNSURE, all_counts
from lewa.agent.status.guarantee import withdraw_earlier
from lewa.agent.values import check_bounds, single_value, vector_value
from lewa.ids import is_tag, read_id, write_id
from lewa.types import Indices, Vector
from lewa.validation import nearest, short_repr

_new = tuple.__new__  # a named tuple in half the time


def _differ(theirs: object, ours: object) -> bool:
    """Return whether a field of a record is not ours; it may be anything."""
    try:
        return bool(theirs != ours)
    except ValueError:  # an array is neither equal nor not
        return True


class AgentState(StateParts):
    """The learner, the statistics and the open decisions. A call is rejected before anything changes."""

    def draw(self, there: Vector | None) -> tuple[int, float, Vector]:
        """Return the action of the next decision, its propensity, and the play from which it is drawn.

        The play is the safe one of the governor, or that of the learner, mixed by mode and shares.
        """
        safe = None if self.ledger is None else self.ledger.next_play(there, self.statistics)
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
        safe = self.ledger is not None and self.ledger.book(t, action, elsewhere)
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
        if made is not None and _differ(made.agent, self.setup.agent_name):
            self.check_name(made)  # first: a number that is closed here says nothing of another agent's decision
        if made is not None:
            self._check_tag(number, made.tag)
        pending = self.open.get(number)
        if pending is None:
            if not 1 <= number <= self.rounds:
                raise UnknownError(
                    f"decision {short_repr(number)} does not belong to this agent, which has made {self.rounds}"
                )
            raise ClosedError(f"decision {number} is closed: it was answered or it expired; nothing was changed")
        if made is not None:
            self.check_size(made)
            label = self.setup.actions[pending.action]
            if _differ(made.probability, pending.propensity) or _differ(made.action, label):
                raise UnknownError(f"decision {number} of this agent differs from {short_repr(decision)}")
        return number

    def _as_number(self, key: object) -> int:
        """Return the number of a decision by its key or by a number; refuse the key of another agent."""
        if isinstance(key, np.integer | int) and not isinstance(key, bool):
            return int(key)
        if type(key) is not str:
            raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
        parts = read_id(key)
        if parts is None:
            raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
        name = parts.agent or None
        if name != self.setup.agent_name:
            theirs, ours = ("without a name" if x is None else short_repr(x) for x in (name, self.setup.agent_name))
            raise UnknownError(f"decision {parts.number} belongs to another agent, {theirs}; this agent is {ours}")
        self._check_tag(parts.number, parts.tag)
        return parts.number

    def _check_tag(self, number: int, tag: str | None) -> None:
        """Refuse a decision that was made after this agent's file was copied, and before that copy was restored."""
        if not is_tag(tag):
            raise UnknownError(f"pass a decision, its key or its number, got the tag {short_repr(tag)}")
        if 1 <= number <= self.rounds and _differ(tag, self.epochs.tag(number)):
            name = self.setup.agent_name or ""
            theirs, ours = write_id(name, number, tag), write_id(name, number, self.epochs.tag(number))
            raise UnknownError(
                f"decision {theirs} is not among those of this agent, which has {ours} in its place, as after an older copy "
                f"was restored; nothing was changed"
            )

    def check_name(self, item: Record) -> None:
        """Refuse a decision of another agent, and an answer or a change that was made to another one."""
        if _differ(item.agent, self.setup.agent_name):
            kind = type(item).__name__.lower() if isinstance(item, Change) else f"decision {short_repr(item[0])}"
            theirs, ours = (
                "without a name" if name is None else short_repr(name) for name in (item.agent, self.setup.agent_name)
            )
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
        if self.ledger is not None:
            self.ledger.settle(number, pending.action, numbers)
        if not whole:
            fields, charged = [self._fields[name] for name in numbers], None
            if pending.charged.size and self._learns(number) and not self.setup.learns_at_close:
                charged = settle_costs(self.driver, pending.charged, units, fields)
            self.open.tell(number, units.copy(), fields, charged)
        else:
            if self.ledger is not None:
                self.ledger.close(number, whole=True)
            self._learn(pending, units, self.delays.is_safe(number))
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
            if self.learns and not safe:
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
        if self.ledger is not None:
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
