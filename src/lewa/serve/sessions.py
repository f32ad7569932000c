"""Sessions of the page: a signed token in a cookie stands for a key, so that no key stays in a browser."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from lewa.serve.auth import Caller, Keys
from lewa.serve.forward import FORWARDED

LASTS = 12 * 3600  # seconds
SKEW = 60  # seconds by which the clocks of two replicas may differ
COOKIE, SECURE_COOKIE = "lewa_session", "__Host-lewa_session"  # the second one where a browser uses TLS


class Sessions:
    """Tokens that name a key and the time they were made, signed with the stored hash of the key.

    Every replica can check a token. The process that has a SQLite file alone also signs with a `secret` of its own: there
    the sessions end with the process, and a copy of the file is not enough to make one.
    """

    def __init__(self, keys: Keys, secret: bytes = b"") -> None:
        self._keys, self._secret = keys, secret
        self._ended: dict[str, int] = {}  # tokens that were signed out, and when they were made

    def open(self, caller: Caller) -> str:
        """Return a token for a key."""
        claim = f"{caller.id}.{int(time.time())}.{secrets.token_hex(8)}"
        return f"{claim}.{self._sign(claim, caller)}"

    def _sign(self, claim: str, caller: Caller) -> str:
        return hmac.new(caller.sha256.encode() + self._secret, f"session {claim}".encode(), hashlib.sha256).hexdigest()

    def find(self, token: str) -> Caller | None:
        """Return the caller of a token, while its key is in force and it has neither expired nor been signed out."""
        claim, _, signature = token.rpartition(".")
        number, _, rest = claim.partition(".")
        caller = self._keys.get(number)
        if caller is None or not hmac.compare_digest(signature.encode(), self._sign(claim, caller).encode()):
            return None
        age = time.time() - int(rest.partition(".")[0])
        return caller if token not in self._ended and -SKEW <= age < LASTS else None

    def end(self, token: str) -> None:
        """Accept a token no more."""
        if self.find(token) is not None:
            oldest = int(time.time()) - LASTS
            self._ended = {other: made for other, made in self._ended.items() if made > oldest}
            self._ended[token] = int(token.split(".")[1])


def is_secure(request: Request) -> bool:
    """Return whether the browser uses TLS, also to a proxy."""
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"


def token_of(request: Request) -> str:
    """Return the token in the cookie of a request; empty if there is none."""
    return request.cookies.get(SECURE_COOKIE if is_secure(request) else COOKIE, "")


def keep(response: Response, request: Request, token: str) -> None:
    """Set the cookie: scripts cannot read it, and other sites cannot send it."""
    secure = is_secure(request)
    name = SECURE_COOKIE if secure else COOKIE
    response.set_cookie(name, token, max_age=LASTS, httponly=True, samesite="strict", secure=secure, path="/")


def forget(response: Response, request: Request) -> None:
    """Delete the cookie."""
    secure = is_secure(request)
    response.delete_cookie(SECURE_COOKIE if secure else COOKIE, path="/", secure=secure, httponly=True, samesite="strict")


def is_own(request: Request) -> bool:
    """Return whether a request comes from a page of this service, or from no page at all."""
    headers = request.headers
    if FORWARDED in headers:  # no page of another site can set it: another replica has checked the request
        return True
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or urlsplit(origin).netloc in (headers.get("host"), headers.get("x-forwarded-host"))
