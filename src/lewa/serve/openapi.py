"""The description of the service, OpenAPI 3.1, generated from the table of routes and the types that validate."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from lewa.serve.calls import Route
from lewa.serve.schema import Name, Problem, RefusedEntry
from lewa.version import __version__

REFUSALS = {
    "400": "The body is invalid",
    "401": "No key, or an invalid one",
    "403": "The key lacks the scope",
    "404": "Not found",
    "409": "The request conflicts with the current state",
    "410": "The agent is retired",
    "412": "If-Match names another version",
    "413": "Too large or too many",
    "428": "If-Match is missing",
    "429": "Too many requests; see Retry-After",
    "503": "Temporarily unavailable; see Retry-After",
}


def description(routes: Sequence[Route]) -> dict[str, object]:
    """Return the whole description."""
    kinds = [kind for route in routes for kind in (*_takes(route), *_returns(route))] + [RefusedEntry, Problem]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    of = dict(zip(map(str, kinds), schemas, strict=True))
    problem = {"application/json": {"schema": schemas[-1]}}
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of, problem)
    for path, about in (("/live", "The process is alive"), ("/ready", "The service serves"), ("/metrics", "For Prometheus")):
        answers = {"200": {"description": about}} | ({"503": {"description": "Not yet"}} if path == "/ready" else {})
        paths[path] = {"get": {"summary": about, "operationId": path[1:], "security": [], "responses": answers}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lewa", "version": __version__, "description": "Decisions under long-term constraints."},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
    }


def _operation(route: Route, of: Mapping[str, object], problem: Mapping[str, object]) -> dict[str, object]:
    named = {"name": msgspec.json.schema(Name), "id": {"type": "string"}}
    inside = [
        {"name": name, "in": "path", "required": True, "schema": named[name]} for name in re.findall(r"{(\w+)}", route.path)
    ]
    answer: dict[str, object] = {"application/json": {"schema": {"anyOf": [of[str(kind)] for kind in _returns(route)]}}}
    if route.returns is str:
        answer = {"application/x-ndjson": {}, "application/vnd.apache.parquet": {}}
    operation: dict[str, object] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{re.sub('[^a-z]+', '_', route.path.lower()).rstrip('_')}",
        "description": f"Needs the scope {route.scope}.",
        "parameters": [*inside, *route.parameters],
        "responses": {str(route.status): {"description": route.summary, "content": answer}}
        | {status: {"description": about, "content": problem} for status, about in REFUSALS.items()},
    }
    if route.takes is not None:
        schema = {"anyOf": [of[str(kind)] for kind in _takes(route)]}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _takes(route: Route) -> tuple[object, ...]:
    return _kinds(route.takes)


def _returns(route: Route) -> tuple[object, ...]:
    return _kinds(route.returns)


def _kinds(kinds: object) -> tuple[object, ...]:
    if kinds is None or kinds is str:
        return ()
    return kinds if isinstance(kinds, tuple) else (kinds,)
