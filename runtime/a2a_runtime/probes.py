"""What an orchestrator asks a process: whether it lives, whether it may be sent requests, and whether it is well.

    /livez    the process answers                            always 200
    /ready    its store and its engine are there             200 or 503; the verdict of a health check does not count
    /health   whether the agent says that it is well         200 or 503, and whether the registry knows it

A route that the app has at such a path goes first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from litestar import Litestar, MediaType, Response, get
from litestar.handlers import HTTPRouteHandler

from a2a_runtime.heartbeat.membership import Membership

if TYPE_CHECKING:
    from a2a_runtime.heartbeat.heart import Heart

LIVE, READY, HEALTH = "/livez", "/ready", "/health"


class Probes:
    """Answers probes of an app."""

    def __init__(self, membership: Membership) -> None:
        self.is_ready = False
        self.heart: Heart | None = None
        self._membership = membership

    def mount(self, app: Litestar) -> None:
        """Add the routes that the app has not."""
        taken = {route.path for route in app.routes}
        for path, answer in ((LIVE, self._live), (READY, self._ready), (HEALTH, self._health)):
            if path not in taken:
                app.register(_route(path, answer))

    async def _live(self) -> tuple[bool, dict[str, object]]:
        return True, {"status": "alive"}

    async def _ready(self) -> tuple[bool, dict[str, object]]:
        return self.is_ready, {"status": "ready" if self.is_ready else "not ready"}

    async def _health(self) -> tuple[bool, dict[str, object]]:
        well = await self._membership.is_well()
        registry = "none" if self.heart is None else "known" if self.heart.is_known else "unknown"
        return well, {"status": "healthy" if well else "unhealthy", "registry": registry}


def _route(path: str, answer: Callable[[], Awaitable[tuple[bool, dict[str, object]]]]) -> HTTPRouteHandler:
    @get(path, media_type=MediaType.JSON, include_in_schema=False)
    async def probe() -> Response[dict[str, object]]:
        good, body = await answer()
        return Response(body, status_code=HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE)

    return probe
