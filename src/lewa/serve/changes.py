"""Changes of an agent over HTTP: each becomes changes of `lewa.Agent`, whose rules decide, and one record of the journal."""

from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import UNSET

from lewa.agent import Agent
from lewa.agent.breaker import USUAL
from lewa.agent.records import Change
from lewa.serve.bodies import breaker_of, setup_of
from lewa.serve.schema import (
    AgentChange,
    AgentSetup,
    BreakerSetup,
    ConstraintChange,
    NewAction,
    Safety,
    SafetyChange,
)


def set_safety(agent: Agent, safety: Safety) -> None:
    """Begin with this safety: in an order in which each step is allowed."""
    if safety.fallback is not None:
        agent.set_fallback(safety.fallback)
    for action, share in safety.shares.items():
        agent.set_share(action, share)
    if safety.exposure != 1:
        agent.set_exposure(safety.exposure)
    if safety.mode != "live":
        agent.set_mode(safety.mode)


def check_change(wanted: AgentChange) -> None:
    """Raise an error for a change that changes nothing: it would be a new version all the same."""
    names = [name for name in wanted.__struct_fields__ if name != "why"]
    values = {name: getattr(wanted, name) for name in names}
    if all(value is UNSET or (value == [] and name in ("constraints", "add", "retire")) for name, value in values.items()):
        raise ValueError(f"a change needs at least one of {', '.join(names)}, got none")


def make_changes(agent: Agent, wanted: AgentChange, who: str) -> list[Change]:
    """Change an agent, which may be spoiled if this is refused: give a copy. Return the records."""
    why = "" if wanted.why is UNSET else wanted.why
    made: list[Change] = []
    for constraint in () if wanted.constraints is UNSET else wanted.constraints:
        made += _constraint(agent, constraint, who, why)
    for action in () if wanted.add is UNSET else wanted.add:
        made.append(_add(agent, action, who, why))
    if wanted.safety is not UNSET:
        made += _safety(agent, wanted.safety, who, why)
    if wanted.breaker is not UNSET:
        made.append(agent.set_breaker(breaker_of(wanted.breaker), who=who, why=why))
    for label in () if wanted.retire is UNSET else wanted.retire:
        made.append(agent.retire_action(label, who=who, why=why))
    return made


def _constraint(agent: Agent, wanted: ConstraintChange, who: str, why: str) -> list[Change]:
    old = next((constraint for constraint in agent.setup.constraints if constraint.name == wanted.name), None)
    if old is None:
        names = ", ".join(constraint.name for constraint in agent.setup.constraints)
        raise ValueError(f"there is no constraint {wanted.name!r}: there are {names}")
    limit, other = (wanted.at_most, wanted.at_least) if old.sense == "at most" else (wanted.at_least, wanted.at_most)
    if other is not UNSET:
        raise ValueError(
            "a change cannot turn at_most into at_least or the reverse: "
            f"the constraint {wanted.name} is {old.sense} {old.limit:g}"
        )
    steps: list[Callable[[], Change]] = []
    if limit is not UNSET:
        steps.append(lambda: agent.set_limit(wanted.name, limit, who=who, why=why))
    if wanted.range is not UNSET:
        ends = wanted.range
        steps.append(lambda: agent.set_range(wanted.name, ends, who=who, why=why))
        if ends[0] <= old.limit <= ends[1]:
            steps.reverse()  # the new limit may lie in the new range only
    if wanted.forgive is False:
        raise ValueError(f"forgive of the constraint {wanted.name} must be true if it is there, got false")
    if wanted.forgive is not UNSET:
        steps.append(lambda: agent.forgive(wanted.name, who=who, why=why))
    for value, change in ((wanted.carry_over, agent.set_carry_over), (wanted.refunds, agent.set_refunds)):
        if value is not UNSET:
            steps.append(partial(change, wanted.name, value, who=who, why=why))  # type: ignore[arg-type]  # each its own
    if not steps:
        raise ValueError(
            f"a change of the constraint {wanted.name} needs a limit, range, carry_over, refunds or forgive, got none"
        )
    return [step() for step in steps]


def _add(agent: Agent, action: NewAction, who: str, why: str) -> Change:
    expected = action.expected or None
    return agent.add_action(action.name, like=action.like, expected=expected, share=action.share, who=who, why=why)


def _safety(agent: Agent, safety: SafetyChange, who: str, why: str) -> list[Change]:
    made = []
    if safety.fallback is not UNSET:
        made.append(agent.set_fallback(safety.fallback, who=who, why=why))
    for action, share in ({} if safety.shares is UNSET else safety.shares).items():
        if share > 0 or agent.setup.actions.index(_known(agent, action)) in agent.exposure.minimum:
            made.append(agent.set_share(action, share, who=who, why=why))
    if safety.exposure is not UNSET:
        made.append(agent.set_exposure(safety.exposure, who=who, why=why))
    if safety.mode is not UNSET:
        made.append(agent.set_mode(safety.mode, who=who, why=why))
    return made


def _known(agent: Agent, action: str) -> str:
    if action not in agent.setup.actions:
        raise ValueError(f"there is no action {action!r}: there are {', '.join(map(str, agent.setup.actions[:20]))}")
    return action


def current(setup: AgentSetup, agent: Agent) -> AgentSetup:
    """Return the set-up as it is after all changes, as the agent has it."""
    exposure, labels = agent.exposure, [str(label) for label in agent.setup.actions]
    constraints = [setup_of(constraint) for constraint in agent.setup.constraints]
    safety = Safety(
        mode=exposure.mode,  # type: ignore[arg-type]  # checked by the agent
        exposure=exposure.share,
        fallback=None if exposure.fallback is None else labels[exposure.fallback],
        shares={labels[i]: share for i, share in exposure.minimum.items()},
    )
    setup.constraints, setup.safety = constraints, safety
    setup.breaker = UNSET if agent.setup.breaker == USUAL else None
    if agent.setup.breaker not in (USUAL, None):
        setup.breaker = msgspec.convert(agent.setup.breaker, BreakerSetup, from_attributes=True)
    active = [i for i in range(len(labels)) if i not in exposure.retired]
    setup.actions = [labels[i] for i in active]
    ends = {"reward": agent.setup.reward_range, **{item.name: item.range for item in constraints if item.range}}
    setup.answers.expected = {  # a range may have become narrower
        name: [min(max(values[i], ends[name][0]), ends[name][1]) for i in active]
        for name, values in agent.setup.expected.items()
    }
    return setup
