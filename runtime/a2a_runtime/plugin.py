"""Agents in an app of Litestar: ``Litestar([…], plugins=[A2APlugin(agent)])``.

Any number of agents and surfaces, each at its own path, beside whatever the app has. The host's routes, and its handlers of exceptions, stay as they
are; what stands in the way of a surface is refused when the app starts.
"""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from litestar import Litestar, MediaType, Response, get
from litestar.config.app import AppConfig
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.plugins import InitPlugin

from a2a_contract.dialects import MESH
from a2a_runtime.agent import Agent
from a2a_runtime.heartbeat.registration import MeshConfig, MeshSurfaces
from a2a_runtime.http.dispatcher import Backend
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.mounting import UnroutedRequestHandler, build_controllers, check_guards, check_paths
from a2a_runtime.http.openapi import extend_openapi
from a2a_runtime.mesh.service import check_surface
from a2a_runtime.runtime import JWKS_PATH, AgentRuntime, ProcessKeys
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface

if TYPE_CHECKING:
    from a2a_runtime.heartbeat.loop import RegistryHeartbeat

# Python's garbage collector, set for a server.
#
# Left as it is, it walks through the hundred thousand objects of the program itself again and again, 20 to 40 ms each time, to find none of them
# gone:
# a fifth of what a message costs, and the longest waits. So what is there when the app has started is taken out of its sight, and the rest is looked
# at
# less often. The runtime's own work leaves nothing to the collector; what handlers leave to it is found all the same, a little later.
#
# The collector is the whole process's, so only apps that ``create_app`` makes are set like this; any other one asks for it:
#
#     Litestar([…], plugins=[A2APlugin(agent), SteadyGarbage()])          after the plugins that make objects when the app starts
#

# pyright: reportUnknownMemberType=false
# Litestar's own types leave open what a lifespan gives.


_THRESHOLDS = 10_000, 20, 20
"""Beyond these nearly nothing is left to win, and handlers that hold much in cycles would hold it for longer."""


class GcTuningPlugin(InitPlugin):
    """Sets the collector for as long as the app runs."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Be the last that the app does to start."""
        app_config.lifespan.append(_steady)
        return app_config


@asynccontextmanager
async def _steady(_app: Litestar) -> AsyncGenerator[None, None]:
    """Freeze what is there, and undo it at the end: what has become garbage meanwhile is found then, also where apps come and go in one process.

    There is no collection first: it would take 20 ms of the start, and finds next to nothing.
    """
    if gc.get_freeze_count():  # somebody has seen to it: whoever started the process, or another app in it
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


# What an orchestrator asks a process: whether it lives, whether it may be sent requests, and whether it is well.
#
#     /livez    the process answers                            always 200
#     /ready    its store and its engine are there             200 or 503; the verdict of a health check does not count
#     /health   whether the agent says that it is well         200 or 503, and whether the registry knows it
#
# A route that the app has at such a path goes first.
#

LIVE, READY, HEALTH = "/livez", "/ready", "/health"


class HealthRoutes:
    """Answers probes of an app."""

    def __init__(self, membership: MeshConfig) -> None:
        self.is_ready = False
        self.heartbeat: RegistryHeartbeat | None = None
        self._membership = membership

    def register(self, app: Litestar) -> None:
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
        well = await self._membership.is_healthy()
        registry = "none" if self.heartbeat is None else "known" if self.heartbeat.is_registered else "unknown"
        return well, {"status": "healthy" if well else "unhealthy", "registry": registry}


def _route(path: str, answer: Callable[[], Awaitable[tuple[bool, dict[str, object]]]]) -> HTTPRouteHandler:
    @get(path, media_type=MediaType.JSON, include_in_schema=False)
    async def probe() -> Response[dict[str, object]]:
        good, body = await answer()
        return Response(body, status_code=HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE)

    return probe


# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.


class A2APlugin(InitPlugin):
    """Mounts agents, and runs what is behind them for as long as the app runs."""

    def __init__(
        self, *mounted: Surface | Agent, store: Store | str | None = None, settings: Settings | None = None, mesh: MeshConfig | None = None
    ) -> None:
        if not mounted:
            raise ImproperlyConfiguredException("there is no agent to mount; name one: A2APlugin(agent)")
        self.surfaces: Sequence[Surface] = tuple(Surface(each) if isinstance(each, Agent) else each for each in mounted)
        self.runtime: AgentRuntime | None = None
        """What runs behind the surfaces, while the app runs."""
        self._store = store
        self._settings = Settings.from_environment(os.environ) if settings is None else settings
        self._mesh = mesh
        self._speaks_mesh = any(MESH.name in surface.dialects for surface in self.surfaces)

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add the routes of every surface."""
        keyring = ProcessKeys.from_settings(self._settings, self.surfaces)
        self.surfaces = keyring.attach_signer(self.surfaces)
        if (keys := keyring.to_jwks()) is not None:
            app_config.route_handlers.append(_published(keys))
        for surface in self.surfaces:
            check_surface(surface)
        presence = MeshSurfaces(lambda: self.surfaces, app_config.path.rstrip("/") if app_config.path else "")
        exchanges = [SurfaceEndpoints(surface, presence.public_urls) for surface in self.surfaces]
        counters = [exchange.dispatcher for exchange in exchanges]
        check_paths(exchanges, app_config.route_handlers)
        check_guards(app_config.guards)
        app_config.route_handlers.extend(controller for exchange in exchanges for controller in build_controllers(exchange))
        strays = UnroutedRequestHandler(counters, app_config.exception_handlers)
        app_config.exception_handlers.update(dict.fromkeys(map(int, UnroutedRequestHandler.STATUSES), strays))

        @asynccontextmanager
        async def running(app: Litestar) -> AsyncGenerator[None, None]:
            check_guards(app.guards)  # another plugin may have added some
            extend_openapi(app, self.surfaces)
            async with AgentRuntime(self.surfaces, self._store, self._settings, keys=keyring) as assembly:
                self.runtime = assembly
                for counter in counters:
                    services = assembly.build_services(counter.surface)
                    counter.start(Backend(*services, assembly.service.task_dialect, assembly.store, assembly.clock, app.cors_config))
                try:
                    async with self._known_to_mesh(app, presence):
                        yield
                finally:
                    self.runtime = None
                    for counter in counters:
                        counter.stop()

        app_config.lifespan.append(running)
        return app_config

    @asynccontextmanager
    async def _known_to_mesh(self, app: Litestar, presence: MeshSurfaces) -> AsyncGenerator[None, None]:
        """Answer probes and tell a registry of the app, where it has something that a mesh would look for."""
        if not self._speaks_mesh:
            yield
            return
        from a2a_runtime.heartbeat.loop import run_heartbeat  # noqa: PLC0415 - most apps talk to nobody, and what this stands on takes long to load

        membership = MeshConfig.from_environment(os.environ) if self._mesh is None else self._mesh
        probes = HealthRoutes(membership)
        probes.register(app)
        async with run_heartbeat(membership, presence) as heart:
            probes.heartbeat, probes.is_ready = heart, True
            try:
                yield
            finally:
                probes.is_ready = False


def _published(keys: bytes) -> HTTPRouteHandler:
    """Publish public keys: they are for everybody."""

    @get(JWKS_PATH, include_in_schema=False)
    async def public_keys() -> Response[bytes]:
        return Response(keys, media_type="application/jwk-set+json", headers={"cache-control": "public, max-age=300"})

    return public_keys
