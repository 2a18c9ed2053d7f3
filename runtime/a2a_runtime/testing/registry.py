"""A fake mesh registry: it accepts, rejects and forgets agents like the real one, and can be
unreachable, slow or failing.

registry = FakeRegistry(clock, prefix="https://agents.example.test")
heartbeat = RegistryHeartbeat(RegistryClient("http://registry", registry.transport()), …)

It is an ASGI app, so that a server can serve it too. It repeats the rules of the registry on
purpose: tests must not share a table with the runtime.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import httpx

from a2a_runtime.base.clock import Clock, SystemClock, to_datetime

Json: TypeAlias = "dict[str, Any]"  # parsed JSON
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Json], Awaitable[None]]

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_MAX_CHARS = {"agent_id": 253, "name": 63, "namespace": 63}
_ALLOWED_WORDS = {
    "agent_type": ("mcp_agent", "api", "a2a"),
    "runtime": ("python", "typescript", "java"),
}
_DEFAULTS = {"agent_type": "mcp_agent", "runtime": "python", "namespace": "default"}
_TEXTS = (
    "agent_id",
    "agent_type",
    "runtime",
    "name",
    "namespace",
    "version",
    "description",
    "http_host",
)
_MAX_DESCRIPTION_CHARS = 256


@dataclass
class RegisteredAgent:
    """A registered agent."""

    facts: Json
    seen_at_seconds: float
    seen_topology: int
    """The topology version that the agent has received."""
    is_healthy: bool = True
    surfaces: list[Json] = field(default_factory=list[Json])


class FakeResponse(NamedTuple):
    """Status and body of a response."""

    status: int
    body: Json | None = None


class BadRequestError(Exception):
    """An invalid body."""


class FakeRegistry:
    """The registry.

    Tests read ``agents`` and ``requests``; they set ``is_unreachable``, ``is_failing``,
    ``rejection_reason``, ``delay_seconds``.
    """

    def __init__(
        self, clock: Clock | None = None, *, prefix: str = "", expires_after_seconds: float = 20.0
    ) -> None:
        self.agents: dict[str, RegisteredAgent] = {}
        self.requests: list[str] = []
        """Method and path of every request."""
        self.registrations: list[Json] = []
        """Every valid registration."""
        self.is_unreachable = False
        self.is_failing = False
        self.delay_seconds = 0.0
        self.rejection_reason = ""
        """The reason to reject every registration; empty to accept them."""
        self.prefix = prefix
        self._clock = clock or SystemClock()
        self._expires_after_seconds = expires_after_seconds
        self._topology = 0

    def restart(self) -> None:
        """Forget all agents, like a registry without a disk."""
        self.agents.clear()

    def change_topology(self) -> None:
        """Change the topology, so that renewals report a change."""
        self._topology += 1

    def transport(self) -> httpx.AsyncBaseTransport:
        """Return a transport to this registry; it fails while the registry is unreachable."""
        return _RegistryTransport(self)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve an HTTP request."""
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
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(b"content-type", b"application/json")],
            }
        )
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else sent}
        )

    def handle_request(self, method: str, path: str, body: bytes = b"") -> FakeResponse:
        """Handle a request."""
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
        documents = {
            "/a2a/agents": self.list_surfaces,
            "/agents": self._list_agents,
            "/health": dict,
            "/admin/rotate": dict,
        }
        make: Callable[[], Json] | None = documents.get(path)
        if make:
            return FakeResponse(200, make())
        return FakeResponse(404, {"error": "not found", "timestamp": self._timestamp()})

    def list_surfaces(self) -> Json:
        """List the surfaces of all producers, dead ones included."""
        producers = [agent for agent in self.agents.values() if agent.facts["agent_type"] == "a2a"]
        return {
            "surfaces": [each for agent in producers for each in self._describe_surfaces(agent)]
        }

    def _list_agents(self) -> Json:
        return {"agents": [self._describe_agent(agent) for agent in self.agents.values()] or None}

    def _deregister(self, agent_id: str) -> FakeResponse:
        if agent_id in self.agents:
            self.agents[agent_id].is_healthy = False
        return FakeResponse(204)

    def _register(self, body: bytes) -> FakeResponse:
        if self.is_failing:
            return FakeResponse(
                500, {"error": "database is locked", "timestamp": self._timestamp()}
            )
        try:
            registration = _parse_registration(body)
        except BadRequestError as error:
            return FakeResponse(400, {"error": str(error), "timestamp": self._timestamp()})
        self.registrations.append(registration)
        agent_id = registration["agent_id"]
        agent = self.agents.get(agent_id)
        problem = (
            self.rejection_reason
            or next(_find_invalid_words(registration), None)
            or (next(_find_invalid_names(registration), None) if agent is None else None)
        )
        if problem:
            return FakeResponse(
                200,
                {
                    "status": "error",
                    "message": problem,
                    "agent_id": agent_id,
                    "timestamp": self._timestamp(),
                },
            )
        is_new = agent is None
        if agent is None:
            self._topology += 1
            agent = self.agents[agent_id] = RegisteredAgent({**_DEFAULTS, "name": agent_id}, 0, 0)
        # What is left out, and what is only the default, changes nothing.
        agent.facts.update(
            {
                name: value
                for name, value in registration.items()
                if value is not None and _DEFAULTS.get(name) != value
            }
        )
        if registration.get("surfaces") is not None:
            agent.surfaces = registration["surfaces"]
        agent.seen_at_seconds = self._clock.monotonic()
        agent.seen_topology = self._topology
        agent.is_healthy = True
        return FakeResponse(200, self._build_response(agent, is_new=is_new))

    def _build_response(self, agent: RegisteredAgent, *, is_new: bool) -> Json:
        document: Json = {
            "agent_id": agent.facts["agent_id"],
            "dependencies_resolved": {},
            "llm_tools": {},
            "message": f"Agent {'registered' if is_new else 'updated'} via heartbeat",
            "status": "success",
            "timestamp": self._timestamp(),
        }
        length = len(agent.facts.get("description", ""))
        warnings = (
            {"warnings": [f"description truncated from {length} to {_MAX_DESCRIPTION_CHARS} chars"]}
            if length > _MAX_DESCRIPTION_CHARS
            else {}
        )
        return {
            **document,
            **({"surfaces": list(self._describe_surfaces(agent))} if agent.surfaces else {}),
            **warnings,
        }

    def _renew(self, agent_id: str) -> FakeResponse:
        if self.is_failing:
            return FakeResponse(503)
        agent = self.agents.get(agent_id)
        if agent is None or not agent.is_healthy:
            return FakeResponse(410)
        agent.seen_at_seconds = self._clock.monotonic()
        return FakeResponse(200 if agent.seen_topology == self._topology else 202)

    def _expire(self) -> None:
        for agent in self.agents.values():
            if self._clock.monotonic() - agent.seen_at_seconds > self._expires_after_seconds:
                agent.is_healthy = False

    def _describe_surfaces(self, agent: RegisteredAgent) -> Iterator[Json]:
        for surface in agent.surfaces:
            path = surface.get("path")
            skill_id = surface.get("skill_id")
            if path and skill_id:
                url = f"{self.prefix.rstrip('/')}/{path.lstrip('/')}"
                stamped = (
                    {"public_url": url, "agent_card_url": f"{url}/.well-known/agent.json"}
                    if self.prefix
                    else {}
                )
                yield {"path": path, "skill_id": skill_id, **stamped}

    def _describe_agent(self, agent: RegisteredAgent) -> Json:
        summary = {
            name: agent.facts.get(name)
            for name in ("agent_type", "name", "version", "namespace", "runtime")
        }
        return {
            **summary,
            "id": agent.facts["agent_id"],
            "status": "healthy" if agent.is_healthy else "unhealthy",
        }

    def _timestamp(self) -> str:
        """Return the time with nine digits, like the real registry."""
        return to_datetime(self._clock.millis()).strftime("%Y-%m-%dT%H:%M:%S.%f") + "956Z"


def _parse_registration(body: bytes) -> Json:
    """Parse a registration as strictly as Go does."""
    registration: Json | list[Any] | str | float | None
    try:
        registration = json.loads(body)
    except ValueError:
        raise BadRequestError("invalid character in JSON") from None
    if not isinstance(registration, dict):
        raise BadRequestError("json: cannot unmarshal into Go value of type MeshAgentRegistration")
    _check_types(registration, _TEXTS, str)
    _check_types(registration, ("http_port",), int)
    _check_types(registration, ("a2a_producer", "a2a_consumer"), bool)
    _check_types(registration, ("tools", "surfaces"), list)
    if not registration.get("agent_id"):
        raise BadRequestError("agent_id is required")
    surfaces: list[Json | str] = registration.get("surfaces") or []
    for surface in surfaces:
        if not isinstance(surface, dict):
            raise BadRequestError("json: cannot unmarshal into Go struct field surfaces")
        _check_types(surface, ("path", "skill_id", "name", "description"), str)
        _check_types(surface, ("input_modes", "output_modes", "tags"), list)
    try:
        datetime.fromisoformat(registration.get("timestamp") or "2026-11-18T06:24:54+00:00")
    except ValueError:
        raise BadRequestError("parsing time: cannot parse") from None
    return registration


def _check_types(registration: Json, names: tuple[str, ...], kind: type) -> None:
    for name in names:
        value = registration.get(name)
        if value is not None and type(value) is not kind:
            raise BadRequestError(
                f"json: cannot unmarshal {type(value).__name__} into Go struct field {name} "
                f"of type {kind.__name__}"
            )


def _find_invalid_words(registration: Json) -> Iterator[str]:
    for name, words in _ALLOWED_WORDS.items():
        if registration.get(name) is not None and registration[name] not in words:
            yield f"{name} {registration[name]!r} is not one of {', '.join(words)}"


def _find_invalid_names(registration: Json) -> Iterator[str]:
    """Find invalid names of a new agent; those of a registered one are not checked."""
    for name, longest in _MAX_CHARS.items():
        value = registration.get(name)
        if value is not None and (len(value) > longest or not _LABEL.fullmatch(value)):
            yield f"{name} {value!r} is no label of at most {longest} characters"


async def _serve_lifespan(receive: Receive, send: Send) -> None:
    """Answer the lifespan events of a server."""
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


class _RegistryTransport(httpx.ASGITransport):
    """A transport to a registry that may be unreachable."""

    def __init__(self, registry: FakeRegistry) -> None:
        super().__init__(app=registry)
        self._registry = registry

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, or fail to connect."""
        if self._registry.is_unreachable:
            raise httpx.ConnectError("All connection attempts failed", request=request)
        return await super().handle_async_request(request)
