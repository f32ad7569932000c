"""Steps on a copy of an agent: to compute the play of its learner, to try a change."""

from typing import Any, Self

from lewa.agent import Agent
from lewa.agent.breaker import Breakers
from lewa.agent.recorder import Recorder
from lewa.agent.status.report import Status, report


class Rehearsal(Agent):
    """A copy of an agent to try things on. It says nothing to the log: none of it has happened."""

    @classmethod
    def of(cls, agent: Agent, whole: bool = False) -> Self:
        """Return a copy of an agent, with its open decisions if it is to be `whole`; to make it takes little time."""
        return cls._with(Recorder(agent._recorder.copy(whole)))

    def bare(self) -> Self:
        """Put the copy into the mode live, without exposure, minimum shares and rests; return it."""
        self._state.breakers = Breakers()
        self._state.exposure = self._state.exposure._replace(mode="live", share=1.0, minimum={})
        return self

    def _announce(self, due: bool = True) -> None:
        """Do nothing: a rehearsal announces nothing."""

    def status(self) -> Status:
        """Return the status of the copy."""
        return look(self)


def look(agent: Agent) -> Status:
    """Return the status of an agent, without a word in the log."""
    return report(agent._recorder.copy(whole=False))


def nothing(agent: Agent) -> dict[str, Any]:
    """Return what a `pull` brings of which nothing is known: an empty context, or advice to take any action."""
    if agent.setup.policies:
        K = len(agent.setup.actions)
        return {"advice": dict.fromkeys(agent.setup.policies, [1 / K] * K)}
    return {} if agent.setup.context is None else {"context": {}}
