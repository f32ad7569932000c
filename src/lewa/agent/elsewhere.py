"""Decisions made elsewhere, as records that an agent takes over."""

from collections.abc import Mapping, Sequence

from lewa.agent.agent import Agent
from lewa.agent.context.features import charges_of
from lewa.agent.decisions import look, mask_of
from lewa.agent.records import Decision, Label, play_to_bytes
from lewa.agent.status.assumptions import ELSEWHERE
from lewa.theory.guarantees import none


def record_elsewhere(
    agent: Agent,
    action: Label,
    probability: float,
    play: Sequence[float] = (),
    context: Mapping[str, object] | None = None,
    advice: Mapping[str, object] | None = None,
) -> Decision:
    """Return the record of a decision that somebody else made, as the next one of this agent; `apply` takes it over.

    Its bounds end then: the learner did not make this decision.

    Parameters
    ----------
    agent
        The agent that learns from the decision.
    action, probability
        The action taken, and the probability with which it was taken.
    play
        The probabilities of all actions; empty if the learner does not read them.
    context, advice
        As for `pull`.
    """
    state = agent._state
    features = look(state, context, advice)
    number = state.rounds + 1
    fields = (number, action, probability, play_to_bytes(play), (), number, None, state.setup.agent_name)
    if features is None:
        return Decision(*fields, elsewhere=True, tag=state.epochs.next)
    ledger, there = state.ledger, mask_of(state)
    safe = ledger is not None and ledger.next_play(there, state) is not None
    charged = charges_of(state.driver.copy(), features, state.index(action) if state.exposure.learns and not safe else None)
    return Decision(*fields, features.tobytes(), charged, elsewhere=True, tag=state.epochs.next)


def breaches_of(agent: Agent) -> dict[str, int]:
    """Return how often the run of an agent did what a theorem excludes, by name."""
    return dict(agent._state.breaches)


def count_earlier(agent: Agent, number: int) -> None:
    """Count decisions made elsewhere that an earlier version did not count in the agent itself, and withdraw its bounds."""
    state = agent._state
    if number <= state.breaches.get(ELSEWHERE, 0):
        return
    state.breaches[ELSEWHERE] = number
    reason = f"{number} decisions were made elsewhere, not by this learner"
    state.segments = [item._replace(statement=none(state.setup.learner_name, reason)) for item in state.segments]
