"""A registry of a mesh, made small: it takes, refuses, forgets and answers as the real one does, and can be away, slow or in trouble.

registry = MeshRegistry(clock, prefix="https://agents.example.test")
heart = Heart(Registry("http://registry", registry.transport()), …)

It is an ASGI app, so that a server can serve it too. What it checks is written down here once more, on purpose: whoever is tested against it must not
be right by using the same table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import httpx

from a2a_runtime.clock import Clock, SystemClock, to_datetime

Json: TypeAlias = "dict[str, Any]"  # as it came
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Json], Awaitable[None]]

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_MAX_CHARS = {"agent_id": 253, "name": 63, "namespace": 63}
_ALLOWED_WORDS = {"agent_type": ("mcp_agent", "api", "a2a"), "runtime": ("python", "typescript", "java")}
_DEFAULTS = {"agent_type": "mcp_agent", "runtime": "python", "namespace": "default"}
_TEXTS = ("agent_id", "agent_type", "runtime", "name", "namespace", "version", "description", "http_host")
_MAX_DESCRIPTION_CHARS = 256


@dataclass
class RegisteredAgent:
    """An agent as the registry knows it."""

    facts: Json
    seen_at_seconds: float
    seen_topology: int
    """Up to which change of the topology it has heard."""
    is_healthy: bool = True
    surfaces: list[Json] = field(default_factory=list[Json])


class FakeResponse(NamedTuple):
    """What is sent back."""

    status: int
    body: Json | None = None


class BadRequestError(Exception):
    """A body that the registry cannot read."""


class FakeRegistry:
    """The registry. Tests read ``rows`` and ``heard``, and set ``is_away``, ``in_trouble``, ``objection`` and ``delay``."""

    def __init__(self, clock: Clock | None = None, *, prefix: str = "", expires_after_seconds: float = 20.0) -> None:
        self.agents: dict[str, RegisteredAgent] = {}
        self.requests: list[str] = []
        """Method and path of every request that has arrived."""
        self.registrations: list[Json] = []
        """Every announcement that could be read."""
        self.is_unreachable, self.is_failing, self.delay_seconds = False, False, 0.0
        self.rejection_reason = ""
        """Why it takes no announcement, if it takes none."""
        self.prefix = prefix
        self._clock, self._expires_after_seconds = clock or SystemClock(), expires_after_seconds
        self._topology = 0

    def restart(self) -> None:
        """Forget everything, as a registry does that keeps nothing on disk."""
        self.agents.clear()

    def change_topology(self) -> None:
        """Have something new for everybody."""
        self._topology += 1

    def transport(self) -> httpx.AsyncBaseTransport:
        """Give what connects a client with this registry, as long as it is not away."""
        return _RegistryTransport(self)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request of HTTP."""
        if scope["type"] == "lifespan":
            await _serve_lifespan(receive, send)
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if self.delay_seconds:
            await self._clock.sleep(self.delay_seconds)
        status, document = self.handle_request(scope["method"], scope["path"], body)
        sent = b"" if document is None else json.dumps(document).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else sent})

    def handle_request(self, method: str, path: str, body: bytes = b"") -> FakeResponse:
        """Answer a request."""
        self.requests.append(f"{method} {path}")
        self._expire()
        parts = path.strip("/").split("/")
        if (method, path) == ("POST", "/heartbeat"):
            return self._register(body)
        if method == "HEAD" and parts[0] == "heartbeat":
            return self._renew(parts[-1])
        if method == "DELETE" and parts[0] == "agents":
            return self._deregister(parts[-1])
        if (method, path) == ("POST", "/admin/rotate"):
            self.change_topology()
        documents = {"/a2a/agents": self.list_surfaces, "/agents": self._list_agents, "/health": dict, "/admin/rotate": dict}
        make: Callable[[], Json] | None = documents.get(path)
        return FakeResponse(200, make()) if make else FakeResponse(404, {"error": "not found", "timestamp": self._timestamp()})

    def list_surfaces(self) -> Json:
        """List the surfaces of all producers, those that are dead too."""
        producers = [row for row in self.agents.values() if row.facts["agent_type"] == "a2a"]
        return {"surfaces": [each for row in producers for each in self._describe_surfaces(row)]}

    def _list_agents(self) -> Json:
        return {"agents": [self._describe_agent(row) for row in self.agents.values()] or None}

    def _deregister(self, agent_id: str) -> FakeResponse:
        if agent_id in self.agents:
            self.agents[agent_id].is_healthy = False
        return FakeResponse(204)

    def _register(self, body: bytes) -> FakeResponse:
        if self.is_failing:
            return FakeResponse(500, {"error": "database is locked", "timestamp": self._timestamp()})
        try:
            said = _parse_registration(body)
        except BadRequestError as error:
            return FakeResponse(400, {"error": str(error), "timestamp": self._timestamp()})
        self.registrations.append(said)
        agent_id = said["agent_id"]
        row = self.agents.get(agent_id)
        wrong = self.rejection_reason or next(_find_invalid_words(said), None) or (next(_find_invalid_names(said), None) if row is None else None)
        if wrong:
            return FakeResponse(200, {"status": "error", "message": wrong, "agent_id": agent_id, "timestamp": self._timestamp()})
        is_new = row is None
        if row is None:
            self._topology += 1
            row = self.agents[agent_id] = RegisteredAgent({**_DEFAULTS, "name": agent_id}, 0, 0)
        # What is left out, and what is only the default, changes nothing.
        row.facts.update({name: value for name, value in said.items() if value is not None and _DEFAULTS.get(name) != value})
        if said.get("surfaces") is not None:
            row.surfaces = said["surfaces"]
        row.seen_at_seconds, row.seen_topology, row.is_healthy = self._clock.monotonic(), self._topology, True
        return FakeResponse(200, self._build_response(row, is_new=is_new))

    def _build_response(self, row: RegisteredAgent, *, is_new: bool) -> Json:
        said: Json = {
            "agent_id": row.facts["agent_id"],
            "dependencies_resolved": {},
            "llm_tools": {},
            "message": f"Agent {'registered' if is_new else 'updated'} via heartbeat",
            "status": "success",
            "timestamp": self._timestamp(),
        }
        length = len(row.facts.get("description", ""))
        warnings = {"warnings": [f"description truncated from {length} to {_MAX_DESCRIPTION_CHARS} chars"]} if length > _MAX_DESCRIPTION_CHARS else {}
        return {**said, **({"surfaces": list(self._describe_surfaces(row))} if row.surfaces else {}), **warnings}

    def _renew(self, agent_id: str) -> FakeResponse:
        if self.is_failing:
            return FakeResponse(503)
        row = self.agents.get(agent_id)
        if row is None or not row.is_healthy:
            return FakeResponse(410)
        row.seen_at_seconds = self._clock.monotonic()
        return FakeResponse(200 if row.seen_topology == self._topology else 202)

    def _expire(self) -> None:
        for row in self.agents.values():
            if self._clock.monotonic() - row.seen_at_seconds > self._expires_after_seconds:
                row.is_healthy = False

    def _describe_surfaces(self, row: RegisteredAgent) -> Iterator[Json]:
        for surface in row.surfaces:
            path, skill_id = surface.get("path"), surface.get("skill_id")
            if path and skill_id:
                url = f"{self.prefix.rstrip('/')}/{path.lstrip('/')}"
                stamped = {"public_url": url, "agent_card_url": f"{url}/.well-known/agent.json"} if self.prefix else {}
                yield {"path": path, "skill_id": skill_id, **stamped}

    def _describe_agent(self, row: RegisteredAgent) -> Json:
        shown = {name: row.facts.get(name) for name in ("agent_type", "name", "version", "namespace", "runtime")}
        return {**shown, "id": row.facts["agent_id"], "status": "healthy" if row.is_healthy else "unhealthy"}

    def _timestamp(self) -> str:
        """Tell the time as finely as the real one does."""
        return to_datetime(self._clock.millis()).strftime("%Y-%m-%dT%H:%M:%S.%f") + "956Z"


def _parse_registration(body: bytes) -> Json:
    """Read an announcement, as strictly as a language does whose types are those of the struct that it is read into."""
    said: Json | list[Any] | str | float | None
    try:
        said = json.loads(body)
    except ValueError:
        raise BadRequestError("invalid character in JSON") from None
    if not isinstance(said, dict):
        raise BadRequestError("json: cannot unmarshal into Go value of type MeshAgentRegistration")
    _check_types(said, _TEXTS, str)
    _check_types(said, ("http_port",), int)
    _check_types(said, ("a2a_producer", "a2a_consumer"), bool)
    _check_types(said, ("tools", "surfaces"), list)
    if not said.get("agent_id"):
        raise BadRequestError("agent_id is required")
    surfaces: list[Json | str] = said.get("surfaces") or []
    for surface in surfaces:
        if not isinstance(surface, dict):
            raise BadRequestError("json: cannot unmarshal into Go struct field surfaces")
        _check_types(surface, ("path", "skill_id", "name", "description"), str)
        _check_types(surface, ("input_modes", "output_modes", "tags"), list)
    try:
        datetime.fromisoformat(said.get("timestamp") or "2026-11-18T06:24:54+00:00")
    except ValueError:
        raise BadRequestError("parsing time: cannot parse") from None
    return said


def _check_types(registration: Json, names: tuple[str, ...], kind: type) -> None:
    for name in names:
        value = registration.get(name)
        if value is not None and type(value) is not kind:
            raise BadRequestError(f"json: cannot unmarshal {type(value).__name__} into Go struct field {name} of type {kind.__name__}")


def _find_invalid_words(registration: Json) -> Iterator[str]:
    for name, words in _ALLOWED_WORDS.items():
        if registration.get(name) is not None and registration[name] not in words:
            yield f"{name} {registration[name]!r} is not one of {', '.join(words)}"


def _find_invalid_names(registration: Json) -> Iterator[str]:
    """Find names that a new row may not have; one that is there already is not looked at."""
    for name, longest in _MAX_CHARS.items():
        value = registration.get(name)
        if value is not None and (len(value) > longest or not _LABEL.fullmatch(value)):
            yield f"{name} {value!r} is no label of at most {longest} characters"


async def _serve_lifespan(receive: Receive, send: Send) -> None:
    """Begin and end as a server wants it."""
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


class _RegistryTransport(httpx.ASGITransport):
    """Connects with a registry that may be away."""

    def __init__(self, registry: FakeRegistry) -> None:
        super().__init__(app=registry)
        self._registry = registry

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry a request, or find nobody there."""
        if self._registry.is_unreachable:
            raise httpx.ConnectError("All connection attempts failed", request=request)
        return await super().handle_async_request(request)
