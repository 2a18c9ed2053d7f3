"""A heart: tells a registry that this app is here for as long as it is, and says goodbye.

What it announces is looked at anew before every beat, so that surfaces that come or go are known soon. It says once that a registry is away, and once
that it is back; between these it only tries.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import random
from types import TracebackType
from typing import NamedTuple, Self, TypedDict, Unpack
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from a2a_contract.mesh import AgentRegistration, RegistrationResponse, RegistrationStatus
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.heartbeat.registration import (
    ENVIRONMENT_NAMES,
    MeshConfig,
    MeshSurfaces,
    RegistryIdentity,
    build_identity,
    build_registration,
    detect_local_host,
)
from a2a_runtime.heartbeat.schedule import HeartbeatAction, HeartbeatResult, HeartbeatSchedule, ScheduleState, plan_next

# The registry of a mesh, over HTTP: whatever happens there becomes something that was heard.

_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_DEREGISTER_TIMEOUT = 5.0
_MAX_EXCERPT_CHARS = 200
_MAX_RESPONSE_BYTES = 1024 * 1024
_RESULT_BY_STATUS = {
    HTTPStatus.OK: HeartbeatResult.KNOWN,
    HTTPStatus.ACCEPTED: HeartbeatResult.CHANGED,
    HTTPStatus.GONE: HeartbeatResult.UNKNOWN,
}


class _RequestOptions(TypedDict, total=False):
    """What else belongs to a request."""

    content: bytes
    headers: Mapping[str, str]
    timeout: float


class RegistryResponse(NamedTuple):
    """What was heard, why, and what the registry says about the surfaces."""

    result: HeartbeatResult
    reason: str = ""
    registration: RegistrationResponse | None = None


class RegistryClient:
    """Talks to a registry. It is a neighbour: no proxy is asked for it."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, transport=transport, trust_env=False, headers={"accept-encoding": "identity"})

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def register(self, registration: AgentRegistration) -> RegistryResponse:
        """Announce an agent, for the first time or again; a refusal comes with HTTP status 200 too."""
        try:
            answer = await self._request("POST", "/heartbeat", content=registration.to_json(), headers={"content-type": "application/json"})
        except httpx.HTTPError as error:
            return RegistryResponse(HeartbeatResult.UNAVAILABLE, _describe(error))
        if answer.status_code != HTTPStatus.OK:
            return RegistryResponse(
                HeartbeatResult.REJECTED if answer.is_client_error else HeartbeatResult.UNAVAILABLE,
                f"HTTP status {answer.status_code}: {answer.text[:_MAX_EXCERPT_CHARS]}",
            )
        try:
            response = RegistrationResponse.model_validate_json(answer.content)
        except ValidationError:
            return RegistryResponse(HeartbeatResult.UNAVAILABLE, f"the answer is not one of a registry: {answer.text[:_MAX_EXCERPT_CHARS]}")
        if response.status is RegistrationStatus.ERROR:
            return RegistryResponse(HeartbeatResult.REJECTED, response.message[:_MAX_EXCERPT_CHARS])
        return RegistryResponse(HeartbeatResult.ACCEPTED, registration=response)

    async def renew(self, agent_id: str) -> RegistryResponse:
        """Ask whether an agent is known, which keeps it so."""
        try:
            answer = await self._request("HEAD", f"/heartbeat/{quote(agent_id, safe='')}")
        except httpx.HTTPError as error:
            return RegistryResponse(HeartbeatResult.UNAVAILABLE, _describe(error))
        status = answer.status_code
        return RegistryResponse(
            _RESULT_BY_STATUS.get(HTTPStatus(status), HeartbeatResult.UNAVAILABLE) if status in _STATUSES else HeartbeatResult.UNAVAILABLE,
            f"HTTP status {status}",
        )

    async def deregister(self, agent_id: str) -> str:
        """Say goodbye; why it could not be said, if it could not."""
        try:
            answer = await self._request("DELETE", f"/agents/{quote(agent_id, safe='')}", timeout=_DEREGISTER_TIMEOUT)
        except httpx.HTTPError as error:
            return _describe(error)
        return "" if answer.is_success else f"HTTP status {answer.status_code}"

    async def _request(self, method: str, path: str, **rest: Unpack[_RequestOptions]) -> httpx.Response:
        """Ask, and read an answer of moderate size as it is; nothing is unpacked."""
        async with self._client.stream(method, f"{self.url}{path}", **rest) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise httpx.DecodingError("the answer is packed, which was not asked for")
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _MAX_RESPONSE_BYTES:
                    raise httpx.DecodingError("the answer is too large")
            return httpx.Response(answer.status_code, content=bytes(body))


_STATUSES = frozenset(int(status) for status in HTTPStatus)


def _describe(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__


log = logging.getLogger(__name__)

_SUCCESSES = frozenset((HeartbeatResult.ACCEPTED, HeartbeatResult.KNOWN, HeartbeatResult.CHANGED))
_FAILURES = frozenset((HeartbeatResult.UNAVAILABLE, HeartbeatResult.REJECTED))


class RegistryHeartbeat:
    """Beats while it is open."""

    def __init__(self, registry: RegistryClient, identity: RegistryIdentity, mesh: MeshConfig, surfaces: MeshSurfaces, clock: Clock) -> None:
        self._registry, self._identity, self._mesh, self._surfaces, self._clock = registry, identity, mesh, surfaces, clock
        self._schedule = HeartbeatSchedule(mesh.health_interval)
        self._registered: AgentRegistration | None = None
        self._had_surfaces = False
        self._last_result: HeartbeatResult | None = None
        self._has_logged_failure = False

    async def __aenter__(self) -> Self:
        await self._registry.__aenter__()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._registered is not None:
            reason = await self._registry.deregister(self._identity.agent_id)
            if reason:
                log.info("could not say goodbye to the registry at %s: %s", self._registry.url, reason)
        await self._registry.__aexit__(kind, error, trace)

    @property
    def is_registered(self) -> bool:
        """Whether the registry knows the app, as far as was heard last."""
        return self._last_result in _SUCCESSES

    async def _run(self) -> None:
        pulse, wait = ScheduleState(), 0.0
        while True:
            await self._clock.sleep(wait)
            wait = self._schedule.interval
            if await self._mesh.is_healthy():
                pulse, wait = plan_next(pulse, await self._send_heartbeat(pulse), self._schedule, random())  # noqa: S311 - no secret hangs on it

    async def _send_heartbeat(self, state: ScheduleState) -> HeartbeatResult:
        try:
            announcement = build_registration(self._identity, self._surfaces, self._mesh.tools, had_surfaces=self._had_surfaces)
            if state.action is HeartbeatAction.RENEW and announcement == self._registered:
                reply = await self._registry.renew(self._identity.agent_id)
            else:
                reply = await self._registry.register(announcement)
                if reply.result is HeartbeatResult.ACCEPTED:
                    self._apply_registration(announcement, reply)
        except Exception as error:  # the edge of a background task: a heart that stops would take the agent from the mesh
            log.exception("a heartbeat failed")
            reply = RegistryResponse(HeartbeatResult.UNAVAILABLE, str(error))
        self._log_transition(reply)
        return reply.result

    def _apply_registration(self, registration: AgentRegistration, response: RegistryResponse) -> None:
        self._registered = registration
        self._had_surfaces = self._had_surfaces or bool(registration.surfaces)
        if response.registration is None:
            return
        for each in response.registration.surfaces or ():
            self._surfaces.public_urls.set(each.path.removeprefix(self._surfaces.prefix), each.skill_id, each.public_url)
        for warning in response.registration.warnings or ():
            log.warning("the registry at %s: %s", self._registry.url, warning)

    def _log_transition(self, response: RegistryResponse) -> None:
        """Log that the registry has come, gone or changed its mind; not what is as it was."""
        was_well, self._last_result = self._last_result in _SUCCESSES, response.result
        if response.result is HeartbeatResult.ACCEPTED and not was_well:
            log.info("the registry at %s knows this agent as %s", self._registry.url, self._identity.agent_id)
        elif response.result in _FAILURES and not self._has_logged_failure:
            kind = "refuses this agent" if response.result is HeartbeatResult.REJECTED else "is not there"
            log.warning("the registry at %s %s: %s; the agent serves all the same, and tries again", self._registry.url, kind, response.reason)
        self._has_logged_failure = response.result in _FAILURES


@asynccontextmanager
async def run_heartbeat(mesh: MeshConfig, surfaces: MeshSurfaces, clock: Clock | None = None) -> AsyncGenerator[RegistryHeartbeat | None, None]:
    """Take part in a mesh, if there is one and something to announce."""
    announced = surfaces.select()
    if not announced or mesh.standalone or not mesh.registry_url:
        if announced:
            log.info("no registry is told of this agent; name one with %s", ENVIRONMENT_NAMES["registry_url"][0])
        yield None
        return
    host = mesh.http_host or await detect_local_host(mesh.registry_url)
    identity = build_identity(announced[0].agent, mesh, host)
    async with RegistryHeartbeat(RegistryClient(mesh.registry_url), identity, mesh, surfaces, clock or SystemClock()) as heart:
        yield heart
