"""Health of an app, for orchestrators and load balancers.

    path                     200 while, and otherwise 503
    ``/livez``               the process responds
    ``/readyz``, ``/ready``  the store answers, its schema fits this release, the lease is renewed,
                             and the process is not about to stop
    ``/health``              the same, and the agent's own health check passes

A failed own check leaves an agent ready: it is for operators and registries, which a restart would
not help.

Probes need no credentials, so they say which part fails and not why: the log does. One check serves
all probes of a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TypeAlias

from litestar import Litestar, MediaType, Response, get
from litestar.handlers import HTTPRouteHandler

from a2a_runtime.base.clock import Clock

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# Litestar's own types leave the parameters of its responses open.

Faults: TypeAlias = Mapping[str, str]
"""What does not work, by part: ``{"store": "unavailable"}``."""

HealthBody: TypeAlias = dict[str, object]
HealthCheck: TypeAlias = Callable[[], Awaitable[tuple[bool, HealthBody]]]

_MAX_AGE_SECONDS = 1.0


class ProcessHealth:
    """Health of the agents of an app; not ready before they run, and after they have stopped."""

    is_draining = False
    """Set in the class, by a server that is about to close its port: load balancers have to learn
    it before.
    """

    def __init__(self, clock: Clock, count_skills: Callable[[], int]) -> None:
        self.find_faults: Callable[[], Awaitable[Faults]] | None = None
        self.is_healthy: Callable[[], Awaitable[bool]] | None = None
        """The agent's own check."""
        self.describe_registration: Callable[[], str] = lambda: "none"
        self._clock = clock
        self._count_skills = count_skills
        self._started_at = clock.monotonic()
        self._check: asyncio.Task[Faults] | None = None
        self._checked_at = float("-inf")

    async def check_live(self) -> tuple[bool, HealthBody]:
        """Report that the process responds."""
        return True, {"status": "alive"}

    async def check_ready(self) -> tuple[bool, HealthBody]:
        """Report whether new requests can be served."""
        faults = await self._find_faults()
        if faults:
            return False, {"status": "not ready", "faults": dict(faults)}
        return True, {"status": "ready"}

    async def check_health(self) -> tuple[bool, HealthBody]:
        """Report the same with the agent's own check, for operators."""
        faults = dict(await self._find_faults())
        if self.is_healthy is not None and not await self.is_healthy():
            faults["agent"] = "its health check fails"
        body: HealthBody = {
            "status": "unhealthy" if faults else "healthy",
            "registry": self.describe_registration(),
            "module_count": self._count_skills(),
            "uptime_seconds": int(self._clock.monotonic() - self._started_at),
        }
        if faults:
            body["reason"] = "; ".join(f"{part}: {fault}" for part, fault in faults.items())
        return not faults, body

    async def _find_faults(self) -> Faults:
        if self.find_faults is None:
            return {"agents": "not running"}
        if self.is_draining:
            return {"server": "stopping"}
        now = self._clock.monotonic()
        if self._check is None or (
            self._check.done() and now >= self._checked_at + _MAX_AGE_SECONDS
        ):
            self._checked_at = now
            self._check = asyncio.ensure_future(self.find_faults())
        # A probe that gives up does not end the check of the others.
        return await asyncio.shield(self._check)


def register_health_routes(app: Litestar, checks: Mapping[str, HealthCheck]) -> None:
    """Add the routes that an app does not have, outside of its authentication."""
    taken = {route.path for route in app.routes}
    for path, check in checks.items():
        if path not in taken:
            app.register(_build_route(path, check))


def _build_route(path: str, check: HealthCheck) -> HTTPRouteHandler:
    @get(path, media_type=MediaType.JSON, include_in_schema=False, exclude_from_auth=True)
    async def health() -> Response[HealthBody]:
        is_good, body = await check()
        status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
        return Response(body, status_code=status, headers={"cache-control": "no-store"})

    return health
