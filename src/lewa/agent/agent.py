"""An agent: a learner in an application, in the application's units."""

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence

from lewa.agent import arguments, setup
from lewa.agent.batches import Answer, answer_batch, check_answers, check_pairs, draw_batch, in_bulk, room
from lewa.agent.breaker import USUAL, Breaker, Clock, as_breaker
from lewa.agent.change_methods import ChangeMethods
from lewa.agent.constraint import Constraint
from lewa.agent.context import features as contexts
from lewa.agent.context.policies import Policy, advise, as_policies
from lewa.agent.context.regressors import as_regressor_name, bind, for_regressor
from lewa.agent.core import AgentCore, log
from lewa.agent.exposure import Exposure
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.governor.rule import Governor, Rule, as_governor, split_governed
from lewa.agent.records import NO_CONTEXT, Change, Decision, Feedback, Input, Label, as_json
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.agent.status.diagnostics import StatusWarning
from lewa.agent.status.report import Status, report
from lewa.agent.status.watch import VerdictCallback, announce
from lewa.context import Column
from lewa.types import Vector
from lewa.validation import as_count, as_flag, nearest

_new = tuple.__new__  # a named tuple in half the time


class Agent(ChangeMethods, AgentCore):
    """Pull an action, and update with its outcome as soon as it is known; each constraint is met on average.

    Calls may come from several threads. Only records change an agent: the records that `pull`, `update`, `fail`, `close` and
    the methods for changes return, passed to `replay` of a new agent with the same arguments, give the same state, bit for
    bit.

    Parameters
    ----------
    actions : sequence of str or int
        The labels of the actions.
    constraints : sequence of Constraint
        The limits on averages, from `at_most` and `at_least`, in your units.
    reward_range : (float, float)
        The range of the reward. A value outside is clipped for the learner and counted, and the status has a warning.
    horizon : int, optional
        The number of decisions, if it is known.
    learner : str
        A name in `lewa.learners.ALL`, or "auto": the choice of `lewa.choice.choose_learner` for the goal.
        NAME+governed is NAME with a governor, which learns what is safe if no safe action is named.
    seed : int, optional
        The seed of the draws. If it is left out, it is drawn at random, so that two agents do not draw the same actions. The
        setup, a snapshot and the journal record it.
    goal : "practice" or "proved"
        For "auto": the learner that did best on real data, or the learner with the smallest proved bound.
    settings : mapping, optional
        Settings of the learner's tuning, by name. With `epsilon`, the status has the bound with probability 1 - epsilon, if
        there is one. `{"known": ["cost"]}` tells `proved-squarecb-lewa` that the expected costs are exact.
    feedback : "bandit" or "full", optional
        Whether an answer has the outcome of the action taken, or one value per action. The default is the learner's
        feedback, and "bandit" for "auto".
    max_pending : int
        The largest number of open decisions; a further one closes the oldest.
    expire_after : int, optional
        Close a decision this many decisions later.
    unanswered : "charge", "expire" or mapping
        The rule for missing values of a closed decision. "charge" fills in the average of its action, or what is expected
        of it, or the worst value of the range; for a constraint, a learner that forecasts costs fills in its forecast.
        "expire" does not learn the decision, and reported values still count; a mapping such as {"reward": 0} fills in
        these values.
    learn : "answer" or "close"
        When an answer is learned: as soon as it is complete, or when its decision is closed, `expire_after` decisions later.
        Use "close" if the time of an answer depends on its values: with fixed times of learning, the theorems hold that
        assume arrivals which do not depend on outcomes.
    expected : mapping, optional
        Values per action that are known in advance, by name, within their ranges. They are filled in until there are
        answers; constraints that no mixture of them meets raise ValueError; and a learner that can, such as that of
        "auto", starts from them.
    context : sequence of columns, optional
        The columns of the context of each request, from `number`, `category`, `text` and `vector`. Every `pull` then takes
        a `context`, and the learner uses it.
    policies : mapping or list of names, optional
        Rules or models that choose an action: functions of the context by name, models with `predict` or `predict_one`, or
        only names. Every `pull` then takes a `context` for the policies, or their `advice`, and the learner mixes them.
        Policies that always take one action are added.
    regressor : regressor, optional
        Predicts rewards and costs in place of the ridge of `squarecb-lewa`: an unfitted regressor of scikit-learn
        (`partial_fit`) or river (`learn_one`). A copy per action and quantity learns with the agent; `open` needs it again.
        If its `predict` takes `return_std`, its standard deviations set where the agent explores.
    keep_context : bool
        Whether decisions record the context itself, for audits. By default they record only its features.
    safe : label, optional
        An action that meets every limit in every decision. The agent is then governed.
    governor : Governor, "auto", "learned" or "off"
        Play safe while one more decision at its worst would take a debt beyond its bound. "auto" does so if `safe` is
        given; "learned" learns what is safe; a `Governor` has further settings.
    breaker : Breaker, optional
        Lets an action that fails several times in a row, as `fail` reports, rest for a while; None for no breaker.
    name : str, optional
        The name of the agent, distinct for each running agent. Its decisions have it, also in their `key`; an answer for
        a decision or a key of an agent with another name raises an error.
    on_verdict : callable, optional
        Called with a `VerdictChange` when a verdict has changed, outside of the agent's lock; verdicts are checked every
        100 answers. Its exceptions are logged. For an agent that was opened or loaded, set the attribute `on_verdict`.
    journal : path, optional
        A new file to which every record is written before its call returns: see `start_journal`. After a crash
        `Agent.open` continues it.
    sync, plays
        When and what the journal writes: see `start_journal`.

    Examples
    --------
    >>> import lewa
    >>> agent = lewa.Agent(["small", "large"], [lewa.at_most("cost", 0.002, range=(0, 0.01))], seed=7)
    >>> decision = agent.pull()
    >>> decision.action, decision.probability
    ('small', 0.5)
    >>> agent.update(decision, cost=0.001)  # what is known now
    Feedback(decision=1, values={'cost': 0.001}, closed=False)
    >>> agent.update(decision.id, reward=0.8)  # and what became known later
    Feedback(decision=1, values={'reward': 0.8}, closed=False)
    >>> agent.status().constraints[0].average
    0.001
    """

    def __init__(
        self,
        actions: Sequence[Label],
        constraints: Constraint | Sequence[Constraint],
        reward_range: tuple[float, float] = (0, 1),
        horizon: float | None = None,
        learner: str = "auto",
        seed: int | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        feedback: str | None = None,
        goal: str = "practice",
        max_pending: int = 10_000,
        expire_after: int | None = None,
        unanswered: str | Mapping[str, float] = "charge",
        learn: str = "answer",
        expected: Mapping[str, Sequence[float]] | None = None,
        context: Column | Sequence[Column] | None = None,
        policies: Mapping[str, Policy] | Sequence[str] | None = None,
        regressor: object = None,
        keep_context: bool = False,
        safe: Label | None = None,
        governor: Governor | str = "auto",
        breaker: Breaker | None = USUAL,
        name: str | None = None,
        on_verdict: VerdictCallback | None = None,
        journal: str | os.PathLike[str] | None = None,
        sync: str | None = None,
        plays: bool = False,
    ) -> None:
        columns = contexts.declare(context, settings)
        labels, rounds = arguments.as_actions(actions), arguments.as_horizon(horizon)
        items = arguments.as_constraints(constraints, columns)
        names = setup.field_names(items)
        known = arguments.as_expected(expected, names, labels)
        prior = setup.tuning_prior(items, reward_range, known, labels)
        setup.refuse_infeasible(items, known)
        advisers, functions = ((), {}) if policies is None else as_policies(policies)
        if advisers and columns is not None:
            raise ValueError("an agent takes either context or policies, got both: let the policies use the context")
        learner, governor = split_governed(learner, governor, safe)
        keeps, writes = as_flag("keep_context", keep_context), sync is not None or as_flag("plays", plays)
        setup.refuse_without_effect(goal, learner, keeps and columns is None and not advisers, writes and journal is None)
        model = as_regressor_name(regressor, columns is not None)
        tuning = contexts.with_known(settings, items, known)
        wish = setup.Wish(learner, feedback, goal, tuning, 0 if columns is None else columns.size, len(advisers))
        learner_name, tuned = setup.make_learner(wish, len(labels), rounds, items, prior)
        if model is not None:
            tuned = for_regressor(learner_name, tuned, regressor)
        governed = as_governor(governor, safe)
        rule = None if governed is None else Rule(governed, labels, items, rounds)
        self._begin(
            AgentState.begin(
                Setup(
                    actions=labels,
                    constraints=items,
                    reward_range=reward_range,
                    horizon=rounds,
                    learner_name=learner_name,
                    learner=tuned,
                    seed=secrets.randbits(32) if seed is None else seed,
                    max_pending=max_pending,
                    expire_after=expire_after,
                    unanswered=arguments.as_policy(unanswered, names),
                    expected=known,
                    agent_name=name,
                    context=columns,
                    policies=advisers,
                    keep_context=keeps,
                    learns_at_close=arguments.as_learning_time(learn),
                    regressor=model,
                    epsilon=contexts.asked_epsilon(settings),
                    sources=setup.source_versions(learner_name),
                    breaker=as_breaker(breaker),
                )
            )
        )
        self._policies, self._state.regressors = functions, bind(self.setup, regressor)
        self._state.ledger = None if rule is None else DebtLedger(rule, [0.0] * len(items))
        self.on_verdict = arguments.as_callback(on_verdict)
        if journal is not None:
            self.start_journal(journal, "batch" if sync is None else sync, plays)

    @property
    def exposure(self) -> Exposure:
        """Its current mode, exposure, minimum shares, fallback and retired actions."""
        return self._state.exposure

    @property
    def clock(self) -> Clock:
        """The clock of the breaker: a function that returns seconds, `time.monotonic` unless you set another one."""
        return self._state.breakers.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._state.breakers.clock = clock

    def __repr__(self) -> str:
        constraints, learner = ", ".join(map(str, self.setup.constraints)), self.setup.describe_learner()
        made = f"{self._state.rounds} decisions; seed {self.setup.seed}"
        return f"<Agent: {len(self._actions)} actions, {constraints}; {learner}; {made}>"

    def bind_policies(self, policies: Mapping[str, Policy]) -> None:
        """Set the policies of an agent that was loaded or opened; functions and models are not saved.

        Parameters
        ----------
        policies : mapping
            The functions or models by name. Policies that are left out must be in the `advice` of each `pull`.
        """
        bound, functions = as_policies(policies)
        for name in bound:
            if name not in self.setup.policies:
                raise ValueError(f"there is no policy {name!r}{nearest(name, list(self.setup.policies))}")
        self._policies = functions

    def pull(
        self,
        available: Iterable[Label] | None = None,
        *,
        context: Mapping[str, object] | None = None,
        advice: Mapping[str, object] | None = None,
    ) -> Decision:
        """Draw an action from the play, or from the play restricted to the available actions.

        Parameters
        ----------
        available : iterable of labels, optional
            The actions that can be taken now; all of them by default.
        context : mapping, optional
            The context of the request, by the declared names; missing values may be None or left out. The decision records
            the features of the context, and not the context itself. An agent that mixes policies passes the context on to
            them.
        advice : mapping, optional
            The advice of policies by name: an action, probabilities by action, or one probability per action.

        Returns
        -------
        Decision
            The action, its probability, and the number of the decision.
        """
        with self._lock, self._next_turn(), self._guard:
            decision = self._decide(available, context, advice)
            self._note(decision)
            return decision

    def _look(self, context: object, advice: Mapping[str, object] | None) -> Vector | None:
        """Return the features of a round: those of its context, or the advice of the policies."""
        setup = self.setup
        if setup.policies:
            return advise(setup.policies, self._policies, self._actions, context, advice)
        if advice is not None:
            raise ValueError("advice needs an agent with policies: pass policies=... when you make the agent")
        features = contexts.encode(setup.context, context)
        if setup.context is not None and isinstance(context, Mapping):
            self._misfits.add(setup.context, context)
        regressors = self._state.regressors
        return features if regressors is None or features is None else regressors.look(features)

    def _decide(
        self,
        available: Iterable[Label] | None,
        context: Mapping[str, object] | None,
        advice: Mapping[str, object] | None = None,
    ) -> Decision:
        state = self._state
        driver, t = state.driver, state.rounds
        among = None if available is None else self._among(available)
        if state.breakers.failing:
            among = self._awake(among)
        labels = None if among is None else tuple(self._actions[k] for k in among)
        raw = contexts.as_json_value(context) if self._keeps_context else None
        there = self._there(among) if among or state.retired else None
        features = self._look(context, advice) if self._looks or context is not None or advice is not None else None
        state.changing = True  # nothing is refused from here on
        run = None if driver.settled else driver.switch()
        if features is not None:
            driver.see(features)
        unmixed = there is None and state.plain_play  # whether the learner's play is drawn from as it is
        i, propensity, play = state.draw(there)
        number, label, data, multipliers = t + 1, self._actions[i], play.tobytes(), tuple(driver.multiplier.tolist())
        carried = driver.pending_play(play, there, unmixed) if driver.needs_play else None
        charged = state.decide(i, propensity, carried, among is not None, there)
        looked = NO_CONTEXT if features is None else (features.tobytes(), tuple(charged.tolist()), raw)
        rest = *looked, False, state.epochs.next, run
        return _new(Decision, (number, label, propensity, data, multipliers, number, labels, self._name, *rest))

    def _awake(self, among: list[int] | None) -> list[int] | None:
        """Return the available actions without those that rest, unless the mode, or a governor, needs one of them."""
        state = self._state
        there = [k for k in (range(len(self._actions)) if among is None else among) if k not in state.retired]
        left = state.breakers.awake(there)
        if left == there or state.exposure.mode in ("shadow", "off"):
            return among
        if state.ledger is not None and not state.ledger.keeps_safe(self._there(left), state.statistics):
            return among
        return left

    def pull_many(self, n: int) -> list[Decision]:
        """Make n decisions in a row, over all actions: the same as n calls of `pull`, at a fraction of the cost.

        Parameters
        ----------
        n : int
            The number of decisions.
        """
        count = as_count("n", n, least=0)
        with self._lock, self._next_turn(), self._guard:
            state, made = self._state, list[Decision]()
            while len(made) < count:
                size = min(count - len(made), room(state))
                bulk = size > 0 and in_bulk(state) and state.plain_play and not state.breakers.resting
                made += draw_batch(state, size) if bulk else [self._decide(None, None)]
            self._note_all(made)
            return made

    def update_many(self, answers: Sequence[Answer]) -> Sequence[Feedback]:
        """Process several answers: the same as one `update` after the other, at a fraction of the cost.

        Parameters
        ----------
        answers : sequence of (decision, values)
            The decision, its key or its number, and its values by name: `(decision, {"reward": 1.0, "cost": 0.2})`. If one
            is invalid, none is accepted.
        """
        with self._lock, self._next_turn(), self._guard:
            state, items = self._state, check_pairs(answers)
            records: Sequence[Feedback] | None = answer_batch(state, items)
            if records is None:
                records = [
                    Feedback(number, state.answer(number, values), False, self._name)
                    for number, values in check_answers(state, items)
                ]
            self._note_all(records)
            due = self._watch.is_due(len(records))
        if due:
            self._announce()
        return records

    def update(self, decision: Decision | int | str, /, reward: Input | None = None, **constraints: Input) -> Feedback:
        """Report the outcome of a decision, in your units: all values, or some now and the rest later.

        The learner learns when the last value is reported; averages count each value at once. A value that was
        reported before, or is not a number, raises an error, and nothing changes.

        Parameters
        ----------
        decision : Decision, str or int
            The decision, its key, or its number, which does not identify the agent.
        reward : float or sequence of float, optional
            The reward; one value per action if the learner has full information.
        **constraints : float or sequence of float
            The value of each constraint, by its name.

        Returns
        -------
        Feedback
            The record of this update.
        """
        with self._lock, self._next_turn(), self._guard:
            number = self._state.find(decision)
            if reward is not None:
                constraints["reward"] = reward
            feedback = _new(Feedback, (number, self._state.answer(number, constraints), False, self._name, False))
            self._note(feedback)
            due = self._watch.is_due()
        if due:
            self._announce()
        return feedback

    def fail(self, decision: Decision | int | str, /, **values: Input) -> Feedback:
        """Report that the action of a decision failed, as by an exception or a timeout; this ends the decision.

        It counts as the least reward. A constraint counts at the value that is told here or was told before; else `at_most`
        counts as nothing, which is 0 or the value of its range next to 0, and `at_least` at the low end of its range. With
        full information the decision is closed instead. An action that fails several times in a row rests: see `Breaker`.

        Parameters
        ----------
        decision : Decision, str or int
            The decision, its key, or its number.
        **values : float
            The values of constraints that are known all the same, by name, such as the cost of a call that failed.
        """
        if "reward" in values:
            raise ValueError("a decision that failed counts as the least reward: report another reward by update")
        with self._lock, self._next_turn(), self._guard:
            number = self._state.find(decision)
            feedback = Feedback(number, self._state.fail(number, values), True, self._name, failed=True)
            self._note(feedback)
            due = self._watch.is_due()
        if due:
            self._announce()
        return feedback

    def _make(self, what: str, name: Label | None, value: object, who: str, why: str) -> Change:
        with self._lock, self._next_turn(), self._guard:
            change = as_json(Change(what, name, value, self._state.rounds, who, why, self._name))
            self._change(change)
            self._note(change)
        log.info("%s", change)
        self._announce()
        return change

    def close(self, decision: Decision | int | str) -> Feedback:
        """Close a decision that will get no further answer."""
        with self._lock, self._next_turn(), self._guard:
            number = self._state.find(decision)
            self._state.close(number)
            feedback = Feedback(number, {}, True, self._name)
            self._note(feedback)
            return feedback

    def status(self) -> Status:
        """Return the status: each constraint with its average and band, regret, guarantee, and warnings."""
        status = report(self._copy(whole=False), self._misfits)
        if self._stopped is not None:
            stopped = StatusWarning("stopped", f"the agent has stopped: {self._stopped}")
            status = status._replace(warnings=(stopped, *status.warnings))
        with self._lock, self._free_turn():
            problems = self._watch.new_warnings(list(status.warnings))
        announce([], problems, self._name, None)
        return status
