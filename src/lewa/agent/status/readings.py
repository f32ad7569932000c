"""What the rules of a watchdog are judged by, if the application watches an agent itself."""

from lewa.agent.agent import Agent
from lewa.agent.status.verdicts import Reading, reading_of


def readings(agent: Agent) -> dict[str, Reading]:
    """Return the band and the debt of each constraint, as rules count them."""
    state = agent._recorder.copy(whole=False)
    return {name: reading_of(state, f) for f, name in enumerate(state.setup.fields[1:], 1)}
