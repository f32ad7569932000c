"""Decisions and answers in batches, with the same records and the same state, bit for bit, as single calls."""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from operator import is_, itemgetter
from typing import Any, overload

import numpy as np

from lewa.agent.errors import ClosedError
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.identify import find
from lewa.agent.pending import Block, Pending, columns, stack
from lewa.agent.records import Decision, Feedback, Input
from lewa.agent.state import AgentState
from lewa.agent.statistics import add_many
from lewa.types import Indices, Matrix, Vector
from lewa.validation import short_repr

Answer = tuple[Decision | int | str, Mapping[str, Input]]  # a decision, its key or its number, and values by name

# Records in columns: one record, each of whose fields holds the values of many. It is typed as nothing, so that it can.
DecisionColumns: Any = Decision
_new: Any = tuple.__new__  # a named tuple in half the time


class Feedbacks(Sequence[Feedback]):
    """The records of whole answers, each made when it is looked at."""

    def __init__(self, numbers: list[int], names: tuple[str, ...], rows: Matrix, agent: str | None) -> None:
        self._numbers, self._names, self._rows, self._agent = numbers, names, rows, agent

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Feedback: ...
    @overload
    def __getitem__(self, index: slice) -> list[Feedback]: ...
    def __getitem__(self, index: int | slice) -> Feedback | list[Feedback]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        values = dict(zip(self._names, self._rows[index].tolist(), strict=True))
        return Feedback(self._numbers[index], values, False, self._agent)

    def __repr__(self) -> str:
        return f"<{len(self)} feedbacks>"


def in_bulk(state: AgentState) -> bool:
    """Return whether compiled code may draw and learn: no context, safe play, retired action or limit on what is carried
    over, and a mode that learns.
    """
    reserves = isinstance(state.ledger, DebtLedger)
    return not (state.driver.features or reserves or state.retired or state.credits) and state.learns


def learner_decides(state: AgentState) -> bool:
    """Return whether the learner's play is drawn from in all decisions before the next answer; count the first of them."""
    if not state.plain_play or state.breakers.resting:
        return False
    ledger = state.ledger
    return ledger is None or (ledger.next_play(None, state) is None and not ledger.book(0, 0))


def draw_batch(state: AgentState, n: int) -> list[Decision]:
    """Make n decisions in a row, over all actions; none of them closes another one."""
    driver, t, m = state.driver, state.rounds, state.driver.multiplier.size
    state.changing = True
    run = None if driver.settled else driver.switch()
    actions, numbers, plays = driver.draw_many(t, n)
    ids, labels = range(t + 1, t + n + 1), state.setup.actions
    propensities = numbers[:, 0].copy()
    made = DecisionColumns(
        id=ids,
        action=map(labels.__getitem__, actions.tolist()),
        probability=propensities.tolist(),
        play_bytes=plays.view(f"V{8 * plays.shape[1]}").ravel().tolist() if plays.shape[1] else repeat(b""),
        multipliers=zip(*numbers[:, 1 : 1 + m].T.tolist(), strict=True),
        round=ids,
        available=repeat(None),
        agent=repeat(state.setup.agent_name),
        features_bytes=repeat(b""),
        charged=repeat(()),
        context=repeat(None),
        elsewhere=repeat(False),
        tag=repeat(state.epochs.next),
        run=chain([run], repeat(None)),
    )
    state.open.add_many(
        Block(t + 1, actions, propensities, numbers[:, 1 + m :].copy(), plays if driver.needs_play else None)
    )
    state.delays.draw_many(t + 1, n)
    state.rounds, state.asleep = state.rounds + n, ()
    state.epochs.decided(t + 1)
    return list(map(_new, repeat(Decision), zip(*made, strict=False)))


def room(state: AgentState) -> int:
    """Return how many decisions can be made before one of them closes another."""
    left = state.setup.max_open - len(state.open)
    if state.setup.close_after is not None:
        oldest = state.open.oldest() if state.open else state.rounds + 1
        left = min(left, oldest + state.setup.close_after - state.rounds - 1)
    return left


def check_pairs(answers: object) -> Sequence[Answer]:
    """Return the answers; raise ValueError unless each is a pair of a decision and values by name."""
    if isinstance(answers, str | bytes) or not isinstance(answers, Sequence):
        raise ValueError(f"answers must be a list of (decision, values), got {short_repr(answers)}")
    if (
        set(map(type, answers)) <= {tuple}
        and set(map(len, answers)) <= {2}
        and set(map(type, map(itemgetter(1), answers))) <= {dict}
    ):
        return answers
    for item in answers:
        if type(item) is not tuple or len(item) != 2 or not isinstance(item[1], Mapping):
            raise ValueError(f"an answer must be a pair (decision, {{...}}), got {short_repr(item)}")
    return answers


def check_answers(state: AgentState, answers: Sequence[Answer]) -> list[tuple[int, dict[str, float | Vector]]]:
    """Return the number and the values of each answer; refuse all of them if one breaks a law."""
    known: dict[int, set[int]] = {}
    checked = []
    for decision, values in answers:
        number = find(state, decision)
        if number not in known:
            known[number] = set(state.open[number].known())
        elif len(known[number]) == len(state.setup.fields):
            raise ClosedError(f"decision {number} has two answers in one batch; nothing was changed")
        values_told = known[number]
        numbers = state.check_values(number, values, tuple(values_told))
        values_told.update(state.setup.fields.index(name) for name in numbers)
        checked.append((number, numbers))
    return checked


def answer_batch(state: AgentState, answers: Sequence[Answer]) -> "Feedbacks | None":
    """Apply complete answers of one number each; return None and change nothing if some answer is different."""
    if state.sees_all or state.setup.learns_at_close or not in_bulk(state) or not answers:
        return None
    decisions, values_told = zip(*answers, strict=True)
    kinds, rows = set(map(type, decisions)), _rows(state, values_told)
    if rows is None or kinds not in ({Decision}, {int}):
        return None
    numbers = list(decisions) if kinds == {int} else next(columns(Decision, decisions, "id"))
    if set(map(type, numbers)) != {int} or len(set(numbers)) < len(numbers):
        return None
    items = _unanswered(state, numbers) if min(numbers) > state.delays.counts["before"] else None
    if items is None or (kinds == {Decision} and not _fit(state, decisions, numbers, items)):
        return None
    index, chance, charged = items.actions, items.propensities, items.charged
    if not state.breakers.failing.keys().isdisjoint(index.tolist()):  # an answer ends the failures of its action
        return None
    state.changing = True
    learned = _add(state, rows, index, chance)
    state.count_unsure(index, learned, range(1, learned.shape[1]))
    learned_plays = np.zeros((len(rows), 0)) if items.plays is None else items.plays
    multipliers = state.driver.learn_many(index, chance, learned, learned_plays, charged)
    sums = state.statistics.multiplier_sum
    for j in range(multipliers.shape[1]):  # one after the other, so that it rounds as single answers do
        sums[j + 1] = np.cumsum(np.append(sums[j + 1], multipliers[:, j]))[-1]
    state.open.pop_many(numbers, index, charged)
    state.delays.end_many(numbers)
    state.counts["answered"] += len(numbers)
    state.counts["late"] += len(numbers) - (state.rounds in numbers)
    return Feedbacks(numbers, state.setup.fields, rows, state.setup.agent_name)


def _unanswered(state: AgentState, numbers: list[int]) -> Block | None:
    """Return open decisions of the learner over all actions, of which nothing is known; None if not all are like that."""
    block = state.open.gather(numbers)
    if block is not None:
        return block
    once = set(numbers)
    if not (state.open.has_all(once) and state.delays.are_open(once)):
        return None
    items = state.open.get_all(numbers)
    actions, propensities, units, charges, asleep = columns(
        Pending, items, "action", "propensity", "units", "charged", "asleep"
    )
    if not all(map(is_, units, repeat(None))) or any(asleep):
        return None
    plays = stack(*columns(Pending, items, "play")) if state.driver.needs_play else None
    return Block(numbers[0], np.array(actions), np.array(propensities), stack(charges), plays)


def _fit(state: AgentState, decisions: Sequence[Any], numbers: Sequence[int], items: Block) -> bool:
    """Whether decisions are those that are open under their numbers."""
    labels, chances, agents, plays = columns(Decision, decisions, "action", "probability", "agent", "play_bytes")
    (tags,) = columns(Decision, decisions, "tag")
    return (
        chances == items.propensities.tolist()
        and labels == list(map(state.setup.actions.__getitem__, items.actions.tolist()))
        and agents.count(state.setup.agent_name) == len(agents)
        and tags == list(map(state.epochs.tag, numbers))
        and set(map(type, plays)) == {bytes}
        and not set(map(len, plays)) - {0, 8 * state.driver.actions}
    )


def _rows(state: AgentState, values_told: Sequence[Mapping[str, Input]]) -> Matrix | None:
    """Return the values of whole answers, one row each; None where one is not whole, or may have to be refused."""
    names = state.setup.fields
    if set(map(type, values_told)) != {dict} or set(map(len, values_told)) != {len(names)}:
        return None
    table = np.empty((len(values_told), len(names)))
    for f, name in enumerate(names):
        try:
            column = list(map(itemgetter(name), values_told))
        except KeyError:
            return None
        if set(map(type, column)) != {float}:
            return None
        table[:, f] = column
    low, high = np.array(state.bounds).T
    return table if ((low <= table) & (table <= high)).all() else None


def _add(state: AgentState, values: Matrix, actions: Indices, propensities: Vector) -> Matrix:
    """Add answers to the statistics, and compare actions when it is their turn; return the units to be learned."""
    units, row, fields = np.empty_like(values), 0, range(values.shape[1])
    add = add_many.run(state.driver.compiled)
    tables, unbounded = (state.statistics.table, state.recent.table), state.setup.learner.unbounded
    while row < len(values):
        row = add(*tables, values, units, actions, propensities, row, unbounded)
        state.compare(int(actions[row - 1]), fields)
    return units
