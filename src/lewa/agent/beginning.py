"""The state of a new agent, made of the arguments of `Agent`."""

import secrets
from typing import Any

from lewa.agent import arguments, setup
from lewa.agent.breaker import as_breaker
from lewa.agent.context import features as contexts
from lewa.agent.context.policies import as_policies
from lewa.agent.context.regressors import as_regressor_name, bind, for_regressor
from lewa.agent.governor.choose import choose_governor, governing
from lewa.agent.governor.rule import Rule, split_governed
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.validation import as_flag


def first_state(wish: dict[str, Any]) -> AgentState:
    """Return the state before the first decision; `wish` has the arguments of `Agent` by name."""
    settings, policies, safe = wish["settings"], wish["policies"], wish["safe"]
    columns = contexts.declare(wish["context"], settings)
    labels, rounds = arguments.as_actions(wish["actions"]), arguments.as_horizon(wish["horizon"])
    items = arguments.as_constraints(wish["constraints"], columns)
    names = setup.field_names(items)
    known = arguments.as_expected(wish["expected"], names, labels)
    prior = setup.tuning_prior(items, wish["reward_range"], known, labels)
    setup.refuse_infeasible(items, known)
    advisers, functions = ((), {}) if policies is None else as_policies(policies)
    if advisers and columns is not None:
        raise ValueError("an agent takes either context or policies, got both: let the policies use the context")
    learner, governor = split_governed(wish["learner"], wish["governor"], safe)
    keeps = as_flag("keep_context", wish["keep_context"])
    writes = wish["sync"] is not None or as_flag("plays", wish["plays"])
    without = keeps and columns is None and not advisers
    setup.refuse_without_effect(wish["goal"], learner, without, writes and wish["journal"] is None)
    model = as_regressor_name(wish["regressor"], columns is not None)
    tuning = contexts.with_known(settings, items, known)
    size = 0 if columns is None else columns.size
    kind = setup.Wish(learner, wish["feedback"], wish["goal"], tuning, size, len(advisers))
    learner_name, tuned = setup.make_learner(kind, len(labels), rounds, items, prior)
    if model is not None:
        tuned = for_regressor(learner_name, tuned, wish["regressor"])
    governed = choose_governor(governor, safe, tuned, len(labels))
    rule = None if governed is None else Rule(governed, labels, items, rounds)
    made = Setup(
        actions=labels,
        constraints=items,
        reward_range=wish["reward_range"],
        horizon=rounds,
        learner_name=learner_name,
        learner=tuned,
        seed=secrets.randbits(32) if wish["seed"] is None else wish["seed"],
        max_pending=wish["max_pending"],
        expire_after=wish["expire_after"],
        unanswered=arguments.as_policy(wish["unanswered"], names),
        expected=known,
        agent_name=wish["name"],
        context=columns,
        policies=advisers,
        keep_context=keeps,
        learns_at_close=arguments.as_learning_time(wish["learn"]),
        regressor=model,
        epsilon=contexts.asked_epsilon(settings),
        sources=setup.source_versions(learner_name),
        breaker=as_breaker(wish["breaker"]),
    )
    state = AgentState.begin(made)
    state.ledger = None if rule is None else governing(rule, state.sees_all)
    state.advisers, state.regressors = functions, bind(made, wish["regressor"])
    return state
