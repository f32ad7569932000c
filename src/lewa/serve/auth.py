"""Keys of the service: random, stored as SHA-256, compared in constant time, limited in rate."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase

from lewa.journal.rows import ApiKey
from lewa.serve.errors import RequestError

SCOPES = ("decide", "feedback", "read", "admin")
RATE = 10_000.0  # requests per second, unless a key says otherwise
REFRESH = 2.0  # seconds after which a revoked key is no longer taken


def make_key(label: str, scopes: tuple[str, ...], agents: str = "*", rate: float = RATE) -> tuple[str, ApiKey]:
    """Make a key: the text that is shown once, and the row to store."""
    for scope in scopes:
        if scope not in SCOPES:
            raise ValueError(f"a scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not scopes:
        raise ValueError(f"a key needs a scope: {', '.join(SCOPES)}")
    if not rate > 0:
        raise ValueError(f"the rate of a key must be positive, got {rate:g}")
    number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    stored = ApiKey(number, _digest(secret), label, " ".join(scopes), agents, rate, int(time.time() * 1e6), None)
    return f"lewa_{number}_{secret}", stored


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()  # 256 random bits need no slow hash


def is_key_of(token: str, keys: Sequence[ApiKey]) -> bool:
    """Return whether a text is one of these keys, in force or revoked."""
    return any(token.startswith(f"lewa_{key.id}_") and _digest(token.split("_", 2)[2]) == key.sha256 for key in keys)


class Caller:
    """The caller of a request: a key and its token bucket."""

    __slots__ = ("_filled", "_tokens", "agents", "id", "label", "rate", "scopes", "sha256")

    def __init__(self, key: ApiKey) -> None:
        self.id, self.label, self.sha256, self.agents, self.rate = key.id, key.label, key.sha256, key.agents, key.rate
        self.scopes = frozenset(key.scopes.split())
        self._tokens, self._filled = max(key.rate, 1.0), time.monotonic()

    def take(self) -> None:
        """Count one request against the rate."""
        now = time.monotonic()
        self._tokens = min(max(self.rate, 1.0), self._tokens + (now - self._filled) * self.rate)
        self._filled = now
        if self._tokens < 1:
            wait = (1 - self._tokens) / self.rate
            raise RequestError(429, f"this key may send at most {self.rate:g} requests per second", wait)
        self._tokens -= 1

    def may(self, scope: str, agent: str | None = None) -> bool:
        """Return whether the key has the scope for this agent; admin includes every scope."""
        return (scope in self.scopes or "admin" in self.scopes) and (agent is None or fnmatchcase(agent, self.agents))

    def need(self, scope: str, agent: str | None = None) -> None:
        """Raise an error unless the key has the scope."""
        if not self.may(scope, agent):
            of = "" if agent is None else f" of {agent:.100}"
            raise RequestError(403, f"this key does not have the scope {scope}{of}")


class Keys:
    """The keys that are in force."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self.read_at = float("-inf")

    def replace(self, keys: list[ApiKey]) -> None:
        """Take over the keys of the store; buckets of those that stay go on."""
        before, self.read_at = self._callers, time.monotonic()
        self._callers = {}
        for key in keys:
            if key.revoked is None:
                same = before.get(key.id)
                self._callers[key.id] = same if same is not None and same.sha256 == key.sha256 else Caller(key)

    def in_force(self, caller: Caller) -> bool:
        """Return whether the key of a caller is still valid."""
        return self._callers.get(caller.id) is caller

    def get(self, number: str) -> Caller | None:
        """Return the caller of the key with this id, which is no secret."""
        return self._callers.get(number)

    def find(self, token: str) -> Caller | None:
        """Return the caller of a key."""
        word, _, rest = token.partition("_")
        number, _, secret = rest.partition("_")
        caller = self._callers.get(number)
        matches = hmac.compare_digest(_digest(secret), caller.sha256 if caller is not None else _digest(""))
        return caller if caller is not None and matches and word == "lewa" else None
