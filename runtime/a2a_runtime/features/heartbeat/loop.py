"""The heartbeat of an app, and the HTTP client of the registry.

Each heartbeat compares the current surfaces with the registered ones, so that changes are
registered soon. A registry that goes away or comes back is logged once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import random
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from a2a_contract.mesh import AgentRegistration, RegistrationResponse, RegistrationStatus
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.features.heartbeat.registration import (
    ENVIRONMENT_NAMES,
    MeshConfig,
    MeshSurfaces,
    build_identity,
    build_registration,
    detect_local_host,
)
from a2a_runtime.features.heartbeat.schedule import (
    HeartbeatResult,
    HeartbeatSchedule,
    ScheduleState,
    plan_next,
)
from a2a_runtime.net.bounded import read_bounded
from a2a_runtime.net.target import is_web_url

_ANSWER_SECONDS = 30.0
_DEREGISTER_SECONDS = 5.0
_TIMEOUT = httpx.Timeout(_ANSWER_SECONDS, connect=10.0)
_MAX_EXCERPT_CHARS = 200
_RESULT_BY_STATUS: Mapping[int, HeartbeatResult] = {
    HTTPStatus.OK: HeartbeatResult.KNOWN,
    HTTPStatus.ACCEPTED: HeartbeatResult.CHANGED,
    HTTPStatus.GONE: HeartbeatResult.UNKNOWN,
}
_SUCCESSES = frozenset((HeartbeatResult.ACCEPTED, HeartbeatResult.KNOWN, HeartbeatResult.CHANGED))
_FAILURES = frozenset((HeartbeatResult.UNAVAILABLE, HeartbeatResult.REJECTED))

log = logging.getLogger(__name__)


class RegistryHeartbeat:
    """Sends heartbeats while it is open, and deregisters when it closes."""

    def __init__(
        self,
        registry: RegistryClient,
        identity: AgentRegistration,
        mesh: MeshConfig,
        surfaces: MeshSurfaces,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._identity = identity
        self._mesh = mesh
        self._surfaces = surfaces
        self._clock = clock
        self._schedule = HeartbeatSchedule(mesh.health_interval)
        self._registered: AgentRegistration | None = None
        self._had_surfaces = False
        self._last_result: HeartbeatResult | None = None
        self._logged_failure: HeartbeatResult | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._registered is not None and (
            reason := await self._registry.deregister(self._identity.agent_id)
        ):
            log.info("registry %s: deregistration failed: %s", self._registry.url, reason)
        await self._registry.aclose()

    @property
    def is_registered(self) -> bool:
        """True after a successful heartbeat."""
        return self._last_result in _SUCCESSES

    async def _run(self) -> None:
        state = ScheduleState()
        delay = 0.0
        while True:
            await self._clock.sleep(delay)
            delay = self._schedule.interval
            if await self._mesh.is_healthy():
                state, delay = plan_next(
                    state,
                    await self._send_heartbeat(state),
                    self._schedule,
                    random(),  # noqa: S311 - jitter, no secret
                )

    async def _send_heartbeat(self, state: ScheduleState) -> HeartbeatResult:
        try:
            registration = build_registration(
                self._identity, self._surfaces, self._mesh.tools, had_surfaces=self._had_surfaces
            )
            if registration == self._registered and not state.should_register:
                response = await self._registry.renew(self._identity.agent_id)
            else:
                response = await self._registry.register(registration)
                if response.result is HeartbeatResult.ACCEPTED:
                    self._apply_registration(registration, response)
        except Exception as error:
            # the edge of a background task: a heartbeat that ends would remove the agent from the
            # mesh
            log.exception("registry %s: heartbeat failed", self._registry.url)
            response = RegistryResponse(HeartbeatResult.UNAVAILABLE, str(error))
        self._log_transition(response)
        return response.result

    def _apply_registration(
        self, registration: AgentRegistration, response: RegistryResponse
    ) -> None:
        self._registered = registration
        self._had_surfaces = self._had_surfaces or bool(registration.surfaces)
        if response.registration is None:
            return
        for each in response.registration.surfaces or ():
            is_usable = each.public_url is None or is_web_url(each.public_url)
            if not is_usable:
                log.warning(
                    "registry %s: public URL ignored: %.100r is not one of a web page",
                    self._registry.url,
                    each.public_url,
                )
            self._surfaces.public_urls.set(
                each.path.removeprefix(self._surfaces.prefix),
                each.skill_id,
                each.public_url if is_usable else None,
            )
        for warning in response.registration.warnings or ():
            log.warning("registry %s: %s", self._registry.url, warning)

    def _log_transition(self, response: RegistryResponse) -> None:
        """Log a result that differs in kind from the last one."""
        was_successful = self._last_result in _SUCCESSES
        self._last_result = response.result
        if response.result is HeartbeatResult.ACCEPTED and not was_successful:
            log.info("registry %s: registered as %s", self._registry.url, self._identity.agent_id)
        elif response.result in _FAILURES and response.result is not self._logged_failure:
            event = (
                "registration rejected"
                if response.result is HeartbeatResult.REJECTED
                else "unavailable"
            )
            log.warning(
                "registry %s: %s: %s; retrying, the agent serves meanwhile",
                self._registry.url,
                event,
                response.reason,
            )
        self._logged_failure = response.result if response.result in _FAILURES else None


class RegistryResponse(NamedTuple):
    """The result of a request, the reason of a failure, and the registration as the registry
    returns it.
    """

    result: HeartbeatResult
    reason: str = ""
    registration: RegistrationResponse | None = None


class RegistryClient:
    """The HTTP client of a registry. It uses no proxy; every HTTP error becomes a result."""

    def __init__(
        self,
        url: str,
        transport: httpx.AsyncBaseTransport | None = None,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self.url = url.rstrip("/")
        self._answer_seconds = answer_seconds
        self._client = httpx.AsyncClient(
            transport=transport, trust_env=False, headers={"accept-encoding": "identity"}
        )
        self.aclose = self._client.aclose

    async def register(self, registration: AgentRegistration) -> RegistryResponse:
        """Register an agent, or update its registration."""
        return await self._request(
            _parse_registration, "POST", "/heartbeat", registration.to_json()
        )

    async def renew(self, agent_id: str) -> RegistryResponse:
        """Check that an agent is registered, which keeps it alive."""
        return await self._request(_parse_renewal, "HEAD", f"/heartbeat/{quote(agent_id, safe='')}")

    async def deregister(self, agent_id: str) -> str:
        """Deregister an agent; return the reason of a failure, or an empty text."""
        return (
            await self._request(
                _parse_deregistration,
                "DELETE",
                f"/agents/{quote(agent_id, safe='')}",
                seconds=_DEREGISTER_SECONDS,
            )
        ).reason

    async def _request(
        self,
        parse: Callable[[httpx.Response], RegistryResponse],
        method: str,
        path: str,
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> RegistryResponse:
        """Send a request; the time is that of the whole answer, because httpx limits the pauses in
        it only.
        """
        seconds = self._answer_seconds if seconds is None else min(seconds, self._answer_seconds)
        headers = {"content-type": "application/json"} if body else None
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(
                    method, f"{self.url}{path}", content=body, headers=headers, timeout=_TIMEOUT
                ) as response,
            ):
                return parse(
                    httpx.Response(response.status_code, content=await read_bounded(response))
                )
        except TimeoutError:
            return RegistryResponse(
                HeartbeatResult.UNAVAILABLE, f"no complete answer in {seconds:g} s"
            )
        except httpx.HTTPError as error:
            return RegistryResponse(HeartbeatResult.UNAVAILABLE, str(error) or type(error).__name__)


def _parse_registration(response: httpx.Response) -> RegistryResponse:
    excerpt = response.text[:_MAX_EXCERPT_CHARS]
    if response.status_code != HTTPStatus.OK:
        result = (
            HeartbeatResult.REJECTED if response.is_client_error else HeartbeatResult.UNAVAILABLE
        )
        return RegistryResponse(result, f"HTTP status {response.status_code}: {excerpt}")
    try:
        registration = RegistrationResponse.model_validate_json(response.content)
    except ValidationError:
        return RegistryResponse(
            HeartbeatResult.UNAVAILABLE, f"the response is not that of a registry: {excerpt}"
        )
    if registration.status is RegistrationStatus.ERROR:  # with HTTP status 200 too
        return RegistryResponse(HeartbeatResult.REJECTED, registration.message[:_MAX_EXCERPT_CHARS])
    return RegistryResponse(HeartbeatResult.ACCEPTED, registration=registration)


def _parse_renewal(response: httpx.Response) -> RegistryResponse:
    return RegistryResponse(
        _RESULT_BY_STATUS.get(response.status_code, HeartbeatResult.UNAVAILABLE),
        f"HTTP status {response.status_code}",
    )


def _parse_deregistration(response: httpx.Response) -> RegistryResponse:
    return RegistryResponse(
        HeartbeatResult.ACCEPTED,
        "" if response.is_success else f"HTTP status {response.status_code}",
    )


@asynccontextmanager
async def run_heartbeat(
    mesh: MeshConfig, surfaces: MeshSurfaces, clock: Clock | None = None
) -> AsyncGenerator[RegistryHeartbeat | None, None]:
    """Send heartbeats while the context is open; none without a registry.

    An app without mesh surfaces is registered by its first agent.
    """
    selected = surfaces.select() or surfaces.surfaces()
    if not selected or mesh.standalone or not mesh.registry_url:
        if surfaces.select() or mesh.tools:
            log.info(
                "registry: none is configured, so the agent is not registered; set %s",
                ENVIRONMENT_NAMES["registry_url"][0],
            )
        yield None
        return
    identity = build_identity(
        selected[0].agent, mesh, mesh.http_host or await detect_local_host(mesh.registry_url)
    )
    async with RegistryHeartbeat(
        RegistryClient(mesh.registry_url), identity, mesh, surfaces, clock or SystemClock()
    ) as heartbeat:
        yield heartbeat
