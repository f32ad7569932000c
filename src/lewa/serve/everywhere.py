"""All agents of the store, wherever they are hosted: asked of the replicas, and the rest read from the journal."""

from collections.abc import Collection

from starlette.requests import Request

from lewa.journal.store import DamageError, StoreError
from lewa.serve.auth import Caller
from lewa.serve.forward import FORWARDED, Forwarder
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.log import log
from lewa.serve.reads import Reads
from lewa.serve.registry import Registry
from lewa.serve.storage import load


class Everywhere:
    """The agents that this process does not serve."""

    def __init__(self, registry: Registry, forwarder: Forwarder, reads: Reads) -> None:
        self._registry, self._forwarder, self._reads = registry, forwarder, reads

    async def ask(self, request: Request, caller: Caller) -> list[bytes]:
        """Return the responses of the other replicas to a request; none if the request comes from one of them."""
        if not self._registry.store.shared or FORWARDED in request.headers:
            return []
        return await self._forwarder.ask(await self._registry.others(), request, caller)

    async def rest(self, known: Collection[str], request: Request, caller: Caller) -> list[HostedAgent]:
        """Return the agents that no replica serves now, after a crash or during a handover."""
        if not self._registry.store.shared or FORWARDED in request.headers:
            return []
        agents = [
            agent for agent in await self._registry.known() if agent.name not in known and caller.may("read", agent.name)
        ]
        read = []
        for agent in agents:
            try:
                hosted = await self._reads.run(caller, load, self._registry.store, agent.id, begun=True)
            except Exception as error:  # as at the start: one whose journal is damaged stops nobody else
                if isinstance(error, StoreError) and not isinstance(error, DamageError):
                    raise
                log("journal damaged", agent=agent.name, why=str(error))
            else:
                read.append(hosted)
        return read
