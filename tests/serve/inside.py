"""A service in this process, without a socket."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from lewa.journal.store import open_store
from lewa.serve.app import App
from lewa.serve.auth import SCOPES, make_key
from lewa.serve.limits import Limits
from lewa.serve.registry import Registry

Command = Callable[..., str]  # the command line: arguments and the status wanted, to what it prints


class Client:
    """Calls with a key, as (status, JSON)."""

    def __init__(self, client: TestClient, app: App, key: str) -> None:
        self.client, self.app, self.key = client, app, key

    def call(self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str) -> tuple[int, Any]:
        head = {"Authorization": f"Bearer {key or self.key}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        if isinstance(body, bytes):
            answer = self.client.request(method, path, content=body, headers=head)
        else:
            answer = (
                self.client.request(method, path, json=body, headers=head)
                if body is not None
                else self.client.request(method, path, headers=head)
            )
        try:
            return answer.status_code, answer.json()
        except ValueError:
            return answer.status_code, answer.text

    def make_key(self, *scopes: str, agents: str = "*", rate: float = 10_000) -> str:
        token, stored = make_key("test", scopes, agents, rate)
        self.app.registry.store.put_api_key(stored)
        assert self.client.portal is not None
        self.client.portal.call(self.app.registry.refresh_keys)  # in the loop, which reads them now and then too
        return token

    def pass_time(self, agent: str, microseconds: int) -> list[int | None]:
        """Close what is due then, as the clock of the service does; return these decisions."""
        host = self.app.registry

        async def close() -> list[int | None]:
            hosted = host.agents[agent]
            entries = hosted.due(host.now() + microseconds, 1_000_000)
            if entries:
                await host.append(hosted, entries, host.now(hosted))
            return [entry.decision for entry in entries]

        assert self.client.portal is not None
        return self.client.portal.call(close)

    def revoke(self, token: str) -> None:
        store, number = self.app.registry.store, token.split("_")[1]
        key = next(key for key in store.api_keys() if key.id == number)
        store.put_api_key(key._replace(revoked=1))
        assert self.client.portal is not None
        self.client.portal.call(self.app.registry.refresh_keys)


@contextmanager
def service(folder: Path, name: str = "store.sqlite3", metrics_key: bool = False, **limits: Any) -> Iterator[Client]:
    """Run a service on a SQLite file."""
    store = open_store(f"sqlite:///{folder}/{name}", serving=True)
    token, stored = make_key("admin", SCOPES)
    store.put_api_key(stored)
    app = App(Registry(store, Limits(**limits), "inside", "http://127.0.0.1:1"), metrics_key)
    with TestClient(app.build(), raise_server_exceptions=False) as client:
        yield Client(client, app, token)
