"""One agent of the service: what callers ask of it. No rule of the learner is written here.

A call changes the agent in memory and returns the entries that the journal has to hold before anyone hears of it;
`Fold.apply` takes them over from the journal and comes to the same state to the bit.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Self

import msgspec
from msgspec import UNSET

from lewa.agent import Decision
from lewa.agent.elsewhere import record_elsewhere
from lewa.agent.files import to_json
from lewa.agent.reserves import reserved_averages
from lewa.agent.status.report import Status
from lewa.agent.values import check_bounds, value_bounds
from lewa.journal.rows import Entry
from lewa.serve.bodies import (
    COLUMNS,
    DecisionBody,
    Failed,
    Open,
    agent_of,
    check_answers,
    check_depth,
    check_reserve,
    plain_value,
    play_elsewhere,
)
from lewa.serve.caps import RULES, check_caps, within
from lewa.serve.changes import check_change, current, make_changes, set_safety
from lewa.serve.fold import COMPILED, Fold
from lewa.serve.rehearsal import Rehearsal, look, nothing, warm
from lewa.serve.schema import OWN_WORDS, AgentChange, AgentSetup, Decided, Number, Observation, Query
from lewa.serve.terms import terms_at
from lewa.serve.watchdog import Watched, check_watchdog, watch

SHOWN = 20  # actions up to which a decision is answered with all propensities
OPTIONS = ("max_pending and expire_after", "answers.max_open and answers.close_after")  # their names here
encode = msgspec.json.Encoder().encode


class Hosted(Fold):
    """An agent at work."""

    # Set-up --------------------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, setup: AgentSetup) -> tuple[Self, Entry]:
        """Make an agent, and the first entry of its journal: the set-up, and the agent it gave, learner and all."""
        for line in setup.lines:
            if line.name in COLUMNS:
                raise ValueError(f"a line must not be called {', '.join(COLUMNS)}, which exports have, got {line.name!r}")
        agent = agent_of(setup)
        set_safety(agent, setup.safety)
        check_answers(setup.answers)
        check_caps(setup.caps, agent)
        check_watchdog(setup.watchdog, agent)
        setup = current(setup, agent)
        made = cls(setup, agent)
        how = made._way_here()
        body = f'{{"setup": {encode(setup).decode()}, {encode(how).decode()[1:-1]}, "agent": {to_json(agent.snapshot())}}}'
        return made, Entry("set", None, body)

    def run_here(self) -> list[Entry]:
        """Return a record of how this process computes, if the journal does not have it yet."""
        if (self.compiled, self.source, self.rules) == (COMPILED, self.source_here, RULES):
            return []
        return [Entry("run", None, encode(self._way_here()).decode())]

    def _way_here(self) -> dict[str, object]:
        """Compute as this process does from now on; return how, as the journal says it."""
        self.compiled, self.source, self.rules = COMPILED, self.source_here, RULES
        return {"compiled": COMPILED, **({} if self.source is None else {"source": self.source}), "rules": RULES}

    def change(self, wanted: AgentChange, who: str) -> Entry:
        """Change the agent: all that is wanted or nothing, as one record."""
        check_change(wanted)
        trial = Rehearsal.of(self.agent)
        made = make_changes(trial, wanted, who)
        caps = self.setup.caps if wanted.caps is UNSET else wanted.caps
        rules = self.setup.watchdog if wanted.watchdog is UNSET else wanted.watchdog
        check_caps(caps, trial)
        check_watchdog(rules, trial)
        if wanted.answers is not UNSET and wanted.answers.close_after is None:
            check_answers(msgspec.structs.replace(self.setup.answers, close_after=None))
        plain = msgspec.to_builtins(wanted)
        service = {name: plain[name] for name in ("answers", "keys_for", "caps", "watchdog") if name in plain}
        body = {"changes": [change.plain() for change in made], **service, "who": who, "why": plain.get("why", "")}
        self._change(body)
        return Entry("change", None, encode(body).decode())

    def retire(self, who: str) -> Entry:
        """Decide nothing any more."""
        body = {"changes": [], "retired": True, "who": who, "why": ""}
        self._change(body)
        return Entry("change", None, encode(body).decode())

    def watch(self) -> Watched:
        """Return the rule of the watchdog that is broken now, and those that cannot be judged."""
        return watch([] if self.retired else self.setup.watchdog, self.agent)

    # Calls ---------------------------------------------------------------------------------------------------------------

    def decide(self, query: Query, at: int) -> tuple[list[Entry], int, DecisionBody]:
        """Draw an action; return the entries, the number of the decision and what the journal says of it."""
        if query.available is not None:
            for label in query.available:
                self._action(label)
            if not query.available:
                raise ValueError("available must name at least one action, got none")
        if query.context is not None:
            check_depth(query.context)
        if query.reserve is not None:
            check_reserve(query.reserve, self.agent)
        if query.if_unused is not None and self.agent.setup.unanswered is not None:
            raise ValueError('if_unused "forget" needs an agent with answers.unanswered "expire"')
        self.at = at
        available, by = self._affordable(query, at)
        drawn = self.agent.pull(available, context=self._looked_at(query.context), advice=query.advice)
        body = self._body(drawn, query, by)
        self._opened(drawn.id, at, body)
        entries = [Entry("decision", drawn.id, encode(body).decode()), *self._make_room()]
        return entries, drawn.id, body

    def in_bulk(self) -> bool:
        """Whether queries that ask for nothing special may be decided together: there is no cap, context or policy."""
        return not self.spendings and self.agent.setup.context is None and not self.agent.setup.policies

    def decide_many(self, queries: Sequence[Query], at: int) -> tuple[list[Entry], list[tuple[int, DecisionBody]]]:
        """Draw for queries that ask for nothing special, of an agent `in_bulk`: the same as one after the other."""
        self.at = at
        entries: list[Entry] = []
        made: list[tuple[int, DecisionBody]] = []
        while len(made) < len(queries):
            rest = queries[len(made) :]
            size = min(len(rest), self.setup.answers.max_open - len(self.open))  # up to where none has to be closed
            if size < 2:
                single, number, body = self.decide(rest[0], at)
                entries += single
                made.append((number, body))
                continue
            by = "fallback" if self.agent.exposure.mode in ("shadow", "off") else "learner"
            first = len(made)
            for query, drawn in zip(rest, self.agent.pull_many(size), strict=False):
                body = self._body(drawn, query, by)
                self.open[drawn.id] = Open(at, body.a, {})
                entries.append(Entry("decision", drawn.id, encode(body).decode()))
                made.append((drawn.id, body))
            self.decisions = made[-1][0]
            self.recent.add_actions([body.a for _, body in made[first:]])
        return entries, made

    def _body(self, drawn: Decision, query: Query, by: str) -> DecisionBody:
        masked = drawn.available is not None
        return DecisionBody(
            a=self._index[str(drawn.action)],
            p=float(drawn.probability),  # uncompiled it is a NumPy number
            m=drawn.multipliers,
            q=drawn.play if self._needs_play or masked or len(self.actions) <= SHOWN else None,
            v=[self._index[str(label)] for label in drawn.available] if drawn.available is not None else None,
            by=by,
            r=query.reserve,
            x=drawn.features if drawn.features_bytes else (),
            c=drawn.charged,
            key=query.key,
            t=drawn.tag,
            context=query.context if self.setup.keep_context else None,
        )

    def _looked_at(self, context: dict[str, object] | None) -> dict[str, object] | None:
        """Return what the learner looks at; of a query without a context nothing is known.

        An agent without columns looks at nothing: a context is refused, unless it is only to be kept.
        """
        if self.agent.setup.context is not None:
            return context or {}
        if context and not self.setup.keep_context:
            names = ", ".join(list(context)[:3])
            raise ValueError(
                f"a context must be declared when the agent is made, by context or keep_context, got {names:.100}"
            )
        return None

    def _affordable(self, query: Query, at: int) -> tuple[list[str] | None, str]:
        """Return the actions that fit the caps, and who decides."""
        exposure, agent = self.agent.exposure, self.agent
        fallback = None if exposure.fallback is None else self.actions[exposure.fallback]
        if exposure.mode in ("shadow", "off") and (query.available is None or fallback in query.available):
            return query.available, "fallback"
        if not self.spendings:
            return query.available, "learner"
        wanted = range(len(self.actions)) if query.available is None else [self._index[label] for label in query.available]
        there = [i for i in wanted if i not in exposure.retired]
        fitting = within(self.spendings, agent, (there, query.reserve), at)
        if fitting == there:
            return query.available, "learner"
        if fitting:
            return [self.actions[i] for i in fitting], "learner"
        if exposure.fallback is None or exposure.fallback not in there:
            raise ValueError("a cap is spent, and the fallback is not among the available actions")
        return [self.actions[exposure.fallback]], "cap"

    def observe(self, seen: Observation, at: int) -> tuple[list[Entry], int]:
        """Take over a decision made elsewhere, with its propensity, and what is known of it."""
        if seen.by.strip().lower() in OWN_WORDS:
            raise ValueError(f"by must not be {', '.join(OWN_WORDS)}, which stand for decisions made here, got {seen.by!r}")
        self.at, action = at, self._action(seen.action)
        play = play_elsewhere(seen, self.actions, self.learner if self._needs_play else None)
        for name, value in seen.values.items():
            self._check_value(name, value)
        label, context = self.agent.setup.actions[action], self._looked_at(seen.context)
        record = record_elsewhere(self.agent, label, seen.probability, play, context, seen.advice)
        self.agent.apply(record)
        number, features = record.id, record.features
        body = DecisionBody(
            a=action,
            p=seen.probability,
            q=play or None,
            by=seen.by,
            key=seen.key,
            x=features,
            c=record.charged,
            o=True,
            t=record.tag,
        )
        self._opened(number, at, body)
        entries = [Entry("decision", number, encode(body).decode()), *self._make_room()]
        if seen.values:
            entry = self.tell(number, seen.values)[2]
            entries += [entry] if entry is not None else []
        return entries, number

    def tell(self, number: int, values: Mapping[str, Number]) -> tuple[str, str | None, Entry | None]:
        """Apply the reported values of a decision: the result, why, and the entry if something changed."""
        if not 1 <= number <= self.decisions:
            return "unknown", self._unknown(), None
        known, failed = self.open.get(number), isinstance(values, Failed)
        before = known.values if known is not None else self.finished[number]
        if known is None and isinstance(before, Failed):  # a call that failed without a bill may still be billed
            unbilled = self.if_failed().items()
            before = {name: value for name, value in before.items() if failed or (name, value) not in unbilled}
        fresh: dict[str, Number] = {}
        for name, value in values.items():
            if name not in before:
                fresh[name] = plain_value(value)
            elif before[name] != plain_value(value):
                why = f"the {name} was reported before as {before[name]}, now as {value}; nothing was changed"
                return "conflict", why, None
        if failed and (known is None or len(before) == len(self.fields)) and not fresh:
            return self._fail_again(before)
        if values and not fresh and not failed:
            return "same", None, None
        try:
            if known is not None and failed:
                return self._fail(number, known, fresh)
            if known is None:
                for name, value in fresh.items():
                    self._check_value(name, value)
                if not fresh:
                    raise ValueError("feedback must have at least one value, got none")
                kind, result = "late", "late"
                self._late(number, fresh)
            else:
                self.agent.update(number, **fresh)
                kind, result = "feedback", "learned" if self._add_values(number, known, fresh) else "kept"
        except ValueError as error:
            return "refused", str(error), None
        return result, None, Entry(kind, number, encode(fresh).decode())

    def _fail(self, number: int, known: Open, values: Mapping[str, Number]) -> tuple[str, str | None, Entry | None]:
        taken = self.agent.fail(number, **values).values
        body: dict[str, Number] = {name: list(value) if isinstance(value, tuple) else value for name, value in taken.items()}
        self._add_values(number, known, body, failed=True)
        return "failed", None, Entry("fail", number, encode(body).decode())

    def _fail_again(self, before: Mapping[str, Number]) -> tuple[str, str | None, Entry | None]:
        """Return the result of a failure of a decision that has ended: it may be the same one, sent again."""
        if self._observes_all or before.get("reward") == self.agent.setup.reward_range[0]:
            return "same", None, None
        if "reward" in before:
            return "conflict", f"the reward was reported before as {before['reward']}; nothing was changed", None
        return "late", "the decision was closed before; its failure is not learned", None

    def tell_many(self, answers: Sequence[tuple[int, Mapping[str, Number]]]) -> list[tuple[str, str | None, Entry | None]]:
        """Apply the reported values of decisions: the same as one after the other."""
        results: list[tuple[str, str | None, Entry | None]] = []
        bulk: dict[int, dict[str, float]] = {}
        for number, values in answers:
            whole = self._whole_answer(number, values)
            if whole is not None and number not in bulk:
                bulk[number] = whole
                continue
            results += self._tell_bulk(bulk)
            bulk = {}
            results.append(self.tell(number, values))
        return results + self._tell_bulk(bulk)

    def _whole_answer(self, number: int, values: Mapping[str, Number]) -> dict[str, float] | None:
        """Return the values of an answer that tells all of an open decision at once; None if it does not."""
        known = self.open.get(number)
        if known is None or known.values or self._observes_all or self._at_close or isinstance(values, Failed):
            return None
        if values.keys() != self._field_set:
            return None
        kinds = set(map(type, values.values()))
        if kinds == {float}:
            return dict(values)  # type: ignore[arg-type]
        return {name: float(value) for name, value in values.items()} if kinds <= {int, float} else None  # type: ignore[arg-type]

    def _tell_bulk(self, bulk: Mapping[int, dict[str, float]]) -> list[tuple[str, str | None, Entry | None]]:
        if len(bulk) < 2:
            return [self.tell(number, values) for number, values in bulk.items()]
        try:
            self.agent.update_many(list(bulk.items()))
        except ValueError:  # nothing has changed: each stands for itself
            return [self.tell(number, values) for number, values in bulk.items()]
        for number in bulk:
            del self.open[number]
        self.remember(bulk)
        self.recent.add_rewards(values["reward"] for values in bulk.values())
        for number, values in bulk.items() if self.spendings else ():
            self._billed(number, values)
        return [("learned", None, Entry("feedback", number, encode(values).decode())) for number, values in bulk.items()]

    def close(self, number: int, why: str = "request") -> tuple[str, str | None, Entry | None]:
        """End a decision that gets no further values."""
        if not 1 <= number <= self.decisions:
            return "unknown", self._unknown(), None
        if number not in self.open:
            return "same", None, None
        self.agent.close(number)
        self._closed(number)
        return "closed", None, Entry("close", number, encode({"why": why}).decode())

    def _unknown(self) -> str:
        return (
            f"this decision is not in the journal, which has {self.decisions}; a restored backup lacks those made after it"
        )

    def due(self, now: int, most: int) -> list[Entry]:
        """Close decisions whose time is over, at most so many."""
        limit = self.close_after
        if limit is None:
            return []
        over = list(islice(takewhile(lambda number: self.open[number].since + limit <= now, self.open), most))
        return [entry for number in over if (entry := self.close(number, "timeout")[2]) is not None]

    def _make_room(self) -> list[Entry]:
        """Close the oldest decisions after a new one was made: a call that is refused has closed nothing."""
        entries = []
        while len(self.open) > self.setup.answers.max_open:
            entry = self.close(next(iter(self.open)), "room")[2]
            entries += [entry] if entry is not None else []
        return entries

    def _action(self, label: str) -> int:
        if label not in self._index:
            raise ValueError(f"there is no action {label!r}: there are {', '.join(self.actions[:SHOWN])}")
        return self._index[label]

    def _check_value(self, name: str, value: Number) -> None:
        if name not in self.fields:
            raise ValueError(f"an answer must have values of {', '.join(self.fields)}, got {name!r}")
        wanted = len(self.actions) if self._observes_all else None
        if (len(value) if isinstance(value, list | tuple) else None) != wanted:
            raise ValueError(f"{name} must be {'one number' if wanted is None else f'{wanted} numbers, one per action'}")
        bounds = value_bounds(self.agent.setup)[self.fields.index(name)]
        for number in value if isinstance(value, list | tuple) else (value,):
            check_bounds(name, float(number), bounds)

    # Reading -------------------------------------------------------------------------------------------------------------

    def answer(self, number: int, at: int, made: DecisionBody) -> Decided:
        """Return a decision as a caller gets it: the same at any time, whatever was changed meanwhile."""
        terms = terms_at(self.terms, number)
        limit = terms.close_after
        has_room = made.q is not None and len(made.q) <= SHOWN
        prices = {name: x * reward / line for (name, reward, line), x in zip(terms.units, made.m, strict=False)}
        return Decided(
            decision=self.id_of(number),
            action=self.actions[made.a],
            probability=made.p,
            version=terms.version,
            by=made.by,
            propensities=dict(zip(self.actions, made.q or (), strict=False)) if has_room else None,
            prices=prices or None,
            available=None if made.v is None else [self.actions[i] for i in made.v],
            close_at=None if limit is None else (at + limit) / 1e6,
        )

    def status(self, now: int | None = None) -> dict[str, Any]:
        """Return the status of the agent, the values that came too late for it, and its caps at a time."""
        return self._describe(self.agent.status(), now)

    def look(self, now: int | None = None) -> dict[str, Any]:
        """Return the same without a word in the log: this is not now."""
        return self._describe(look(self.agent), now)

    def caps_at(self, now: int | None) -> list[dict[str, object]]:
        """Return the caps at a time; without one, at that of the last decision."""
        return [spending.summary(now) for spending in self.spendings]

    def _describe(self, standing: Status, now: int | None) -> dict[str, Any]:
        late = {name: {"values": count, "average": total / count} for name, (count, total) in self.late.items() if count}
        status = dict(standing.plain())
        blind = self.watch().blind
        status["warnings"] = [str(warning).replace(*OPTIONS) for warning in status["warnings"]] + [why for _, why in blind]
        status["codes"] = [*status["codes"], *("blind" for _ in blind)]
        lines = status.pop("constraints")  # the word of the setup that the user sent
        reserves = {number: waits.reserve for number, waits in self.open.copy().items() if waits.reserve is not None}
        for name, average in reserved_averages(self.agent, reserves).items() if reserves else ():
            next(line for line in lines if line["name"] == name)["reserved"] = average
        return {
            "name": self.setup.name,
            "version": self.version,
            **status,
            "lines": lines,
            "late_values": late,
            "safety": msgspec.to_builtins(self.setup.safety),
            "caps": self.caps_at(now),
            "blind": [line for line, _ in blind],
            "retired": self.retired,
        }

    def play(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the play that the next decision will be drawn from, and the learner's own; nothing is drawn here."""
        return self.plays()()

    def plays(self) -> Callable[[], tuple[dict[str, float], dict[str, float]]]:
        """Return a function for another thread that computes `play` on copies made now, without the open decisions."""
        copy, bare, actions = Rehearsal.of(self.agent), Rehearsal.of(self.agent).bare(), self.actions

        def play() -> tuple[dict[str, float], dict[str, float]]:
            played, unmixed = (twin.pull(**nothing(twin)).play for twin in (copy, bare))
            return dict(zip(actions, played, strict=False)), dict(zip(actions, unmixed, strict=False))

        return play

    def warm(self) -> None:
        """Run every step once on a copy, so that all code is compiled now."""
        warm(Rehearsal.of(self.agent, whole=True).bare(), self._observes_all)
