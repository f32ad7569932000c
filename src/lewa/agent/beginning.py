"""The state of a new agent, made of the arguments of `Agent`."""

import secrets
from dataclasses import replace

from lewa.agent import arguments, setup
from lewa.agent.breaker import as_breaker
from lewa.agent.context import features as contexts
from lewa.agent.context.policies import as_policies
from lewa.agent.context.regressors import as_regressor_name, bind, for_regressor
from lewa.agent.governor.choose import choose_governor, governing
from lewa.agent.governor.rule import Rule, split_governed
from lewa.agent.options import Answers, Wish
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.validation import short_repr


def first_state(wish: Wish) -> AgentState:
    """Return the state before the first decision."""
    options, answers, context = wish.learner, wish.answers, wish.context
    if not isinstance(answers, Answers):
        raise ValueError(f"answers must be lewa.Answers(...), got {short_repr(answers)}")
    columns = contexts.declare(context.columns, options.settings)
    labels, rounds = arguments.as_actions(wish.actions), arguments.as_horizon(wish.horizon)
    items = arguments.as_constraints(wish.constraints, columns)
    names = setup.field_names(items)
    known = arguments.as_expected(answers.expected, names, labels)
    prior = setup.tuning_prior(items, wish.reward_range, known, labels)
    setup.refuse_infeasible(items, known)
    advisers, functions = ((), {}) if context.policies is None else as_policies(context.policies)
    if advisers and columns is not None:
        raise ValueError("an agent takes either context or policies, got both: let the policies use the context")
    name, governor = split_governed(options.name, wish.governor, None)
    setup.check_goal(options.goal, name)
    model = as_regressor_name(context.regressor, columns is not None)
    options = replace(options, name=name, settings=contexts.with_known(options.settings, items, known))
    size = 0 if columns is None else columns.size
    learner_name, tuned = setup.make_learner(options, (len(labels), size, len(advisers)), rounds, items, prior)
    if model is not None:
        tuned = for_regressor(learner_name, tuned, context.regressor)
    governed = choose_governor(governor, None, tuned, len(labels))
    rule = None if governed is None else Rule(governed, labels, items, rounds)
    made = Setup(
        actions=labels,
        constraints=items,
        reward_range=wish.reward_range,
        horizon=rounds,
        learner_name=learner_name,
        learner=tuned,
        seed=secrets.randbits(32) if wish.seed is None else wish.seed,
        max_open=answers.max_open,
        close_after=answers.close_after,
        unanswered=arguments.as_policy(answers.unanswered, names),
        expected=known,
        agent_name=wish.name,
        context=columns,
        policies=advisers,
        keep_context=context.keep,
        learns_at_close=arguments.as_learning_time(answers.learn),
        regressor=model,
        epsilon=contexts.asked_epsilon(options.settings),
        sources=setup.source_versions(learner_name),
        breaker=as_breaker(wish.breaker),
    )
    state = AgentState.begin(made)
    state.ledger = None if rule is None else governing(rule, state.sees_all)
    state.advisers, state.regressors = functions, bind(made, context.regressor)
    return state
