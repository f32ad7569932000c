"""The page for people: rendered here, drawn live from the events. A key is taken once, and a cookie holds a session."""

from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec
from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.routing import Route as Path

from lewa.serve.auth import Caller
from lewa.serve.calls import json_response
from lewa.serve.errors import RequestError
from lewa.serve.forward import FORWARDED
from lewa.serve.history import Point
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.metrics import ACTIONS
from lewa.serve.reading import point_of, status_then
from lewa.serve.registry import ElsewhereError
from lewa.serve.sessions import forget, is_own, keep, token_of
from lewa.version import __version__

if TYPE_CHECKING:
    from lewa.serve.app import App

STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "uPlot.min.css": "text/css; charset=utf-8",
    "uPlot.iife.min.js": "text/javascript; charset=utf-8",
}
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
SHOWN = 20  # agents on one page
FORM = 1_000  # bytes of the form to sign in: anyone may send it
FOREIGN = "a page of another site sent this; sign in here"

_templates = Environment(
    loader=PackageLoader("lewa.serve"), autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True
)


class Pages:
    """The routes of the page."""

    def __init__(self, app: "App") -> None:
        self._app = app

    async def index(self, request: Request) -> Response:
        """Show every agent that the key may read."""
        return await self._page(request, None)

    async def agent(self, request: Request) -> Response:
        """Show one agent."""
        return await self._page(request, str(request.path_params["name"]))

    async def _page(self, request: Request, only: str | None) -> Response:
        try:
            caller = self._app.caller(request, cookie=True)
        except RequestError:
            wrong = "this page was signed out" if token_of(request) else ""
            return _render("sign_in.html", 200, wrong=wrong)
        try:
            caller.take()
            agents = await (self._single(only, request, caller) if only is not None else self._all(request, caller))
        except ElsewhereError as elsewhere:
            return await self._app.forwarder.send(elsewhere.address, request, caller)
        except RequestError as error:
            return _render("sign_in.html", error.status, wrong=error.sentence)
        if only is None and FORWARDED in request.headers:
            return json_response(agents)
        first = agents[:SHOWN]
        values = {"agents": first, "only": only, "label": caller.label, "more": len(agents) - len(first)}
        return await self._app.looks.run(caller, lambda: _render("page.html", 200, **values))

    async def _single(self, name: str, request: Request, caller: Caller) -> list[dict[str, object]]:
        if not caller.may("read", name):
            raise RequestError(404, f"there is no agent {name} here")
        hosted = await self._app.registry.find(name, FORWARDED in request.headers)
        point = await self._app.looks.run(caller, self._app.events.point, hosted)
        return [describe(hosted, point, caller)]

    async def _all(self, request: Request, caller: Caller) -> list[dict[str, object]]:
        """Return what the page shows of every agent, of those on other replicas too, by name."""
        registry, point, everywhere = self._app.registry, self._app.events.point, self._app.everywhere
        mine = [registry.agents[name] for name in sorted(registry.agents) if caller.may("read", name)]
        points = await self._app.looks.run(caller, lambda: [point(hosted) for hosted in mine[:SHOWN]])
        agents = {hosted.name: describe(hosted, at, caller) for hosted, at in zip(mine, points, strict=False)}
        agents |= {hosted.name: {"name": hosted.name} for hosted in mine[SHOWN:]}  # these are only counted
        for answer in await everywhere.ask(request, caller):
            agents = {agent["name"]: agent for agent in msgspec.json.decode(answer)} | agents
        for hosted in await everywhere.rest(agents, request, caller):
            agents[hosted.name] = describe(
                hosted, point_of(hosted, status_then(hosted, registry.now()), registry.now()), caller
            )
        return [agents[name] for name in sorted(agents)]

    async def sign_in(self, request: Request) -> Response:
        """Take a key; keep a token that stands for it in a cookie that scripts cannot read and other sites cannot send."""
        if not is_own(request):
            return _render("sign_in.html", 403, wrong=FOREIGN)
        token = (parse_qs((await self._app.read(request, FORM)).decode(errors="replace")).get("key") or [""])[0].strip()
        caller = self._app.registry.keys.find(token)
        if caller is None:
            return _render("sign_in.html", 401, wrong="that key is not valid")
        response = RedirectResponse("/", 303)
        keep(response, request, self._app.sessions.open(caller))
        return response

    async def sign_out(self, request: Request) -> Response:
        """End the session, on the other replicas too."""
        if not is_own(request):
            return _render("sign_in.html", 403, wrong=FOREIGN)
        caller = self._app.sessions.find(token := token_of(request))
        if caller is not None:
            self._app.sessions.end(token)
            await self._app.everywhere.ask(request, caller)
        response = RedirectResponse("/", 303)
        forget(response, request)
        return response

    async def static(self, request: Request) -> Response:
        """Send a file of the page."""
        name = str(request.path_params["file"])
        if name not in STATIC:
            return Response("there is nothing here\n", 404, media_type="text/plain")
        content = files("lewa.serve").joinpath("static", name).read_bytes()
        return Response(content, media_type=STATIC[name], headers={**SAFE, "Cache-Control": "public, max-age=3600"})


def describe(hosted: HostedAgent, point: Point, caller: Caller) -> dict[str, object]:
    """Return what the page shows of an agent, as plain data for JSON."""
    return {
        "name": hosted.name,
        "learner": hosted.learner,
        "version": hosted.version,
        "retired": hosted.retired,
        "actions": hosted.actions[:ACTIONS],
        "hidden": max(0, len(hosted.actions) - ACTIONS),
        "constraints": [
            {
                "name": line.name,
                "sense": "at most" if line.at_most is not None else "at least",
                "limit": line.at_most if line.at_most is not None else line.at_least,
            }
            for line in hosted.setup.constraints
        ],
        "safety": {"mode": hosted.setup.safety.mode, "fallback": hosted.setup.safety.fallback},
        "live": hosted.setup.actions,
        "close_after": hosted.setup.answers.close_after or "",
        "point": point,
        "admin": caller.may("admin", hosted.name),
    }


def _render(template: str, status: int, **values: object) -> Response:
    page = _templates.get_template(template).render(version=__version__, **values)
    return Response(page, status, media_type="text/html; charset=utf-8", headers=SAFE)


def routes(app: "App") -> list[BaseRoute]:
    """Return the routes of the page."""
    pages = Pages(app)
    for name in ("page.html", "sign_in.html"):
        _templates.get_template(name)  # compiled before the first request
    return [
        Path("/", pages.index),
        Path("/agents/{name}", pages.agent),
        Path("/session", pages.sign_in, methods=["POST"]),
        Path("/session/end", pages.sign_out, methods=["POST"]),
        Path("/static/{file}", pages.static),
    ]
