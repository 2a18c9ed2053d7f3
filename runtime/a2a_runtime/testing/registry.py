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

from a2a_runtime.clock import Clock, SystemClock, moment

Json: TypeAlias = "dict[str, Any]"  # as it came
Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[Json], Awaitable[None]]

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST = {"agent_id": 253, "name": 63, "namespace": 63}
_WORDS = {"agent_type": ("mcp_agent", "api", "a2a"), "runtime": ("python", "typescript", "java")}
_DEFAULTS = {"agent_type": "mcp_agent", "runtime": "python", "namespace": "default"}
_TEXTS = ("agent_id", "agent_type", "runtime", "name", "namespace", "version", "description", "http_host")
_DESCRIPTION = 256


@dataclass
class Row:
    """An agent as the registry knows it."""

    facts: Json
    seen_at: float
    knows: int
    """Up to which change of the topology it has heard."""
    is_healthy: bool = True
    surfaces: list[Json] = field(default_factory=list[Json])


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: Json | None = None


class BadRequestError(Exception):
    """A body that the registry cannot read."""


class MeshRegistry:
    """The registry. Tests read ``rows`` and ``heard``, and set ``is_away``, ``in_trouble``, ``objection`` and ``delay``."""

    def __init__(self, clock: Clock | None = None, *, prefix: str = "", expires_after: float = 20.0) -> None:
        self.rows: dict[str, Row] = {}
        self.heard: list[str] = []
        """Method and path of every request that has arrived."""
        self.announced: list[Json] = []
        """Every announcement that could be read."""
        self.is_away, self.in_trouble, self.delay = False, False, 0.0
        self.objection = ""
        """Why it takes no announcement, if it takes none."""
        self.prefix = prefix
        self._clock, self._expires_after = clock or SystemClock(), expires_after
        self._topology = 0

    def restart(self) -> None:
        """Forget everything, as a registry does that keeps nothing on disk."""
        self.rows.clear()

    def rotate(self) -> None:
        """Have something new for everybody."""
        self._topology += 1

    def transport(self) -> httpx.AsyncBaseTransport:
        """Give what connects a client with this registry, as long as it is not away."""
        return _Wire(self)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request of HTTP."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if self.delay:
            await self._clock.sleep(self.delay)
        status, document = self.answer(scope["method"], scope["path"], body)
        sent = b"" if document is None else json.dumps(document).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else sent})

    def answer(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Answer a request."""
        self.heard.append(f"{method} {path}")
        self._expire()
        parts = path.strip("/").split("/")
        if (method, path) == ("POST", "/heartbeat"):
            return self._register(body)
        if method == "HEAD" and parts[0] == "heartbeat":
            return self._known(parts[-1])
        if method == "DELETE" and parts[0] == "agents":
            return self._left(parts[-1])
        if (method, path) == ("POST", "/admin/rotate"):
            self.rotate()
        documents = {"/a2a/agents": self.surfaces, "/agents": self._agents, "/health": dict, "/admin/rotate": dict}
        make: Callable[[], Json] | None = documents.get(path)
        return Answer(200, make()) if make else Answer(404, {"error": "not found", "timestamp": self._now()})

    def surfaces(self) -> Json:
        """List the surfaces of all producers, those that are dead too."""
        producers = [row for row in self.rows.values() if row.facts["agent_type"] == "a2a"]
        return {"surfaces": [each for row in producers for each in self._shown(row)]}

    def _agents(self) -> Json:
        return {"agents": [self._agent(row) for row in self.rows.values()] or None}

    def _left(self, agent_id: str) -> Answer:
        if agent_id in self.rows:
            self.rows[agent_id].is_healthy = False
        return Answer(204)

    def _register(self, body: bytes) -> Answer:
        if self.in_trouble:
            return Answer(500, {"error": "database is locked", "timestamp": self._now()})
        try:
            said = _read(body)
        except BadRequestError as error:
            return Answer(400, {"error": str(error), "timestamp": self._now()})
        self.announced.append(said)
        agent_id = said["agent_id"]
        row = self.rows.get(agent_id)
        wrong = self.objection or next(_wrong_words(said), None) or (next(_wrong_names(said), None) if row is None else None)
        if wrong:
            return Answer(200, {"status": "error", "message": wrong, "agent_id": agent_id, "timestamp": self._now()})
        is_new = row is None
        if row is None:
            self._topology += 1
            row = self.rows[agent_id] = Row({**_DEFAULTS, "name": agent_id}, 0, 0)
        # What is left out, and what is only the default, changes nothing.
        row.facts.update({name: value for name, value in said.items() if value is not None and _DEFAULTS.get(name) != value})
        if said.get("surfaces") is not None:
            row.surfaces = said["surfaces"]
        row.seen_at, row.knows, row.is_healthy = self._clock.monotonic(), self._topology, True
        return Answer(200, self._taken(row, is_new=is_new))

    def _taken(self, row: Row, *, is_new: bool) -> Json:
        said: Json = {
            "agent_id": row.facts["agent_id"],
            "dependencies_resolved": {},
            "llm_tools": {},
            "message": f"Agent {'registered' if is_new else 'updated'} via heartbeat",
            "status": "success",
            "timestamp": self._now(),
        }
        length = len(row.facts.get("description", ""))
        warnings = {"warnings": [f"description truncated from {length} to {_DESCRIPTION} chars"]} if length > _DESCRIPTION else {}
        return {**said, **({"surfaces": list(self._shown(row))} if row.surfaces else {}), **warnings}

    def _known(self, agent_id: str) -> Answer:
        if self.in_trouble:
            return Answer(503)
        row = self.rows.get(agent_id)
        if row is None or not row.is_healthy:
            return Answer(410)
        row.seen_at = self._clock.monotonic()
        return Answer(200 if row.knows == self._topology else 202)

    def _expire(self) -> None:
        for row in self.rows.values():
            if self._clock.monotonic() - row.seen_at > self._expires_after:
                row.is_healthy = False

    def _shown(self, row: Row) -> Iterator[Json]:
        for surface in row.surfaces:
            path, skill_id = surface.get("path"), surface.get("skill_id")
            if path and skill_id:
                url = f"{self.prefix.rstrip('/')}/{path.lstrip('/')}"
                stamped = {"public_url": url, "agent_card_url": f"{url}/.well-known/agent.json"} if self.prefix else {}
                yield {"path": path, "skill_id": skill_id, **stamped}

    def _agent(self, row: Row) -> Json:
        shown = {name: row.facts.get(name) for name in ("agent_type", "name", "version", "namespace", "runtime")}
        return {**shown, "id": row.facts["agent_id"], "status": "healthy" if row.is_healthy else "unhealthy"}

    def _now(self) -> str:
        """Tell the time as finely as the real one does."""
        return moment(self._clock.millis()).strftime("%Y-%m-%dT%H:%M:%S.%f") + "956Z"


def _read(body: bytes) -> Json:
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


def _check_types(said: Json, names: tuple[str, ...], kind: type) -> None:
    for name in names:
        value = said.get(name)
        if value is not None and type(value) is not kind:
            raise BadRequestError(f"json: cannot unmarshal {type(value).__name__} into Go struct field {name} of type {kind.__name__}")


def _wrong_words(said: Json) -> Iterator[str]:
    for name, words in _WORDS.items():
        if said.get(name) is not None and said[name] not in words:
            yield f"{name} {said[name]!r} is not one of {', '.join(words)}"


def _wrong_names(said: Json) -> Iterator[str]:
    """Find names that a new row may not have; one that is there already is not looked at."""
    for name, longest in _LONGEST.items():
        value = said.get(name)
        if value is not None and (len(value) > longest or not _LABEL.fullmatch(value)):
            yield f"{name} {value!r} is no label of at most {longest} characters"


async def _live(receive: Receive, send: Send) -> None:
    """Begin and end as a server wants it."""
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


class _Wire(httpx.ASGITransport):
    """Connects with a registry that may be away."""

    def __init__(self, registry: MeshRegistry) -> None:
        super().__init__(app=registry)
        self._registry = registry

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry a request, or find nobody there."""
        if self._registry.is_away:
            raise httpx.ConnectError("All connection attempts failed", request=request)
        return await super().handle_async_request(request)
