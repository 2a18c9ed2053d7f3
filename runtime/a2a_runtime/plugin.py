"""Litestar plugin that mounts agents, health routes for orchestrators, and a plugin that tunes the garbage collector.

    Litestar([…], plugins=[A2APlugin(agent, path="/agent", caller=host_user())])

Every surface says who its callers are: ``gate=AuthGate(…)``, ``caller=host_user()`` for the users of the host, or ``gate=OpenGate()``.

An app may have any number of agents and surfaces, each at its own path, beside its other routes. The host's routes and exception handlers are left
as they are; a conflict with a surface is an error when the app starts.
"""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

from litestar import Litestar, MediaType, Response, get
from litestar.config.app import AppConfig
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.plugins import InitPlugin
from litestar.types import ASGIApp

from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import Gate
from a2a_runtime.auth.host import HostCaller
from a2a_runtime.heartbeat.registration import MeshConfig, MeshSurfaces
from a2a_runtime.http.dispatcher import Backend
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.host_routes import adapt_routes
from a2a_runtime.http.mounting import UnroutedRequestHandler, build_controllers, check_paths
from a2a_runtime.http.openapi import extend_openapi
from a2a_runtime.mesh.service import check_surface
from a2a_runtime.runtime import JWKS_PATH, AgentRuntime, ProcessKeys
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.factory import try_store
from a2a_runtime.surface import RouteOptions, Surface

if TYPE_CHECKING:
    from a2a_runtime.heartbeat.loop import RegistryHeartbeat

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its responses, guards and lifespans open.

AGENT_PATH = "/agent"
"""Path of an agent in an app of a host, which keeps its root."""

LifespanManager: TypeAlias = Callable[[Litestar], AbstractAsyncContextManager[None]]

LIVE_PATH, READY_PATH, HEALTH_PATH = "/livez", "/ready", "/health"

_GC_THRESHOLDS = 10_000, 20, 20
"""Higher thresholds gain nearly nothing, and would keep large cyclic garbage of handlers for longer."""


class SurfaceOptions(TypedDict, total=False):
    """Options of a surface for agents that are given without one."""

    path: str
    gate: Gate | None
    caller: HostCaller | None
    public_card: bool | None
    routes: RouteOptions


class A2APlugin(InitPlugin):
    """Mounts agents and runs their engine, store and webhooks while the app runs.

    An agent without a surface is mounted at ``/agent``, or at ``path=``, with ``gate=`` or ``caller=``.
    """

    has_host = True
    """False in an app that has only agents: there a surface without a gate is open."""

    def __init__(
        self,
        *surfaces: Surface | Agent,
        store: Store | str | None = None,
        settings: Settings | None = None,
        mesh: MeshConfig | None = None,
        **options: Unpack[SurfaceOptions],
    ) -> None:
        if not surfaces:
            raise ImproperlyConfiguredException("A2APlugin: no agent given; pass at least one, e.g. A2APlugin(agent, caller=host_user())")
        if options and not any(isinstance(each, Agent) for each in surfaces):
            raise ImproperlyConfiguredException(f"A2APlugin: {', '.join(options)}: no agent to apply it to; set it on the surface")
        defaults: SurfaceOptions = {"path": AGENT_PATH, **options}
        self.surfaces: Sequence[Surface] = tuple(Surface(each, **defaults) if isinstance(each, Agent) else each for each in surfaces)
        self.runtime: AgentRuntime | None = None
        """Runtime of the surfaces, while the app runs."""
        self.exact_paths: dict[str, ASGIApp] = {}
        """Endpoints that may be called past the router, see ``ExactPathRouter``."""
        self._store = store
        self._settings = Settings.from_environment(os.environ) if settings is None else settings
        self._mesh_config = mesh

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add the routes of every surface."""
        keys = ProcessKeys.from_settings(self._settings, self.surfaces)
        self.surfaces = keys.attach_signer(self.surfaces)
        if (jwks := keys.to_jwks()) is not None:
            app_config.route_handlers.append(_jwks_route(jwks))
        for surface in self.surfaces:
            check_surface(surface)
            if self.has_host:
                surface.check_callers_are_known()
        mesh_surfaces = MeshSurfaces(lambda: self.surfaces, app_config.path.rstrip("/") if app_config.path else "")
        endpoints = [SurfaceEndpoints(surface, mesh_surfaces.public_urls) for surface in self.surfaces]
        dispatchers = [each.dispatcher for each in endpoints]
        check_paths(endpoints, app_config.route_handlers)
        for each in endpoints:
            app_config.route_handlers.extend(build_controllers(each))
            self.exact_paths.update(each.by_exact_path())
        unrouted = UnroutedRequestHandler(dispatchers, app_config.exception_handlers)
        app_config.exception_handlers.update(dict.fromkeys(map(int, UnroutedRequestHandler.STATUSES), unrouted))

        @asynccontextmanager
        async def lifespan(app: Litestar) -> AsyncGenerator[None, None]:
            adapt_routes(app)
            hosts = self._settings.allowed_hosts
            async with AgentRuntime(self.surfaces, self._store, self._settings, keys=keys) as runtime:
                self.runtime = runtime
                extend_openapi(app, self.surfaces)
                runtime.on_skills_changed = partial(extend_openapi, app, self.surfaces)
                for dispatcher in dispatchers:
                    services = runtime.build_services(dispatcher.surface)
                    dispatcher.start(Backend(*services, runtime.service.task_dialect, runtime.store, runtime.clock, app.cors_config, hosts))
                try:
                    async with self._join_mesh(app, mesh_surfaces):
                        yield
                finally:
                    self.runtime = None
                    for dispatcher in dispatchers:
                        dispatcher.stop()

        start_last(app_config, lifespan)
        return app_config

    async def check_store(self) -> None:
        """Open the store that a URL names, beside a process that may run on it; raise if the agents could not start on it."""
        url = self._settings.store if self._store is None else self._store
        if isinstance(url, str):
            await try_store(url)

    @asynccontextmanager
    async def _join_mesh(self, app: Litestar, surfaces: MeshSurfaces) -> AsyncGenerator[None, None]:
        """Add the health routes and send heartbeats to a registry, for an app with a mesh surface."""
        if not surfaces.select():
            yield
            return
        from a2a_runtime.heartbeat.loop import run_heartbeat  # noqa: PLC0415 - loads httpx, which apps without a mesh do not need

        mesh_config = MeshConfig.from_environment(os.environ) if self._mesh_config is None else self._mesh_config
        health_routes = HealthRoutes(mesh_config)
        health_routes.register(app)
        async with run_heartbeat(mesh_config, surfaces) as heartbeat:
            health_routes.heartbeat, health_routes.is_ready = heartbeat, True
            try:
                yield
            finally:
                health_routes.is_ready = False


def start_last(app_config: AppConfig, manager: LifespanManager) -> None:
    """Add a lifespan that starts after those of all plugins, also of plugins behind this one, and stops before them."""
    managers = app_config.lifespan

    @asynccontextmanager
    async def append(_app: Litestar) -> AsyncGenerator[None, None]:
        if manager not in managers:  # an app may be started twice
            managers.append(manager)  # the app is just walking through this list
        yield

    managers.append(append)


def _jwks_route(jwks: bytes) -> HTTPRouteHandler:
    @get(JWKS_PATH, include_in_schema=False)
    async def public_keys() -> Response[bytes]:
        return Response(jwks, media_type="application/jwk-set+json", headers={"cache-control": "public, max-age=300"})

    return public_keys


class HealthRoutes:
    """Health routes of an app, for orchestrators.

    | | says | status |
    |---|---|---|
    | ``/livez`` | the process responds | 200 |
    | ``/ready`` | store and engine are running; health checks do not count | 200 or 503 |
    | ``/health`` | the agent's health check passes; with the state of the registration | 200 or 503 |

    A route that the app has at one of these paths takes precedence.
    """

    def __init__(self, mesh_config: MeshConfig) -> None:
        self.is_ready = False
        self.heartbeat: RegistryHeartbeat | None = None
        self._mesh_config = mesh_config

    def register(self, app: Litestar) -> None:
        """Add the routes that the app does not have."""
        taken = {route.path for route in app.routes}
        for path, check in ((LIVE_PATH, self._check_live), (READY_PATH, self._check_ready), (HEALTH_PATH, self._check_health)):
            if path not in taken:
                app.register(_health_route(path, check))

    async def _check_live(self) -> tuple[bool, dict[str, object]]:
        return True, {"status": "alive"}

    async def _check_ready(self) -> tuple[bool, dict[str, object]]:
        return self.is_ready, {"status": "ready" if self.is_ready else "not ready"}

    async def _check_health(self) -> tuple[bool, dict[str, object]]:
        is_healthy = await self._mesh_config.is_healthy()
        registry = "none" if self.heartbeat is None else "known" if self.heartbeat.is_registered else "unknown"
        return is_healthy, {"status": "healthy" if is_healthy else "unhealthy", "registry": registry}


def _health_route(path: str, check: Callable[[], Awaitable[tuple[bool, dict[str, object]]]]) -> HTTPRouteHandler:
    @get(path, media_type=MediaType.JSON, include_in_schema=False)
    async def health() -> Response[dict[str, object]]:
        is_good, body = await check()
        return Response(body, status_code=HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE)

    return health


class GcTuningPlugin(InitPlugin):
    """Freezes the objects of the program at start, and lets Python's garbage collector run less often.

    By default the collector visits the hundred thousand objects of the program again and again, for 20 to 40 ms each time, and finds none to free: a
    fifth of the cost of a message, and its longest delays. The runtime leaves no cycles; those of handlers are still collected, a little later.

    The collector belongs to the process, so only apps of ``create_app`` are tuned by default. For another app, add the plugin after those that make
    objects at start:

        Litestar([…], plugins=[A2APlugin(agent, caller=host_user()), GcTuningPlugin()])
    """

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Tune the collector in the last lifespan of the app."""
        start_last(app_config, _tune_gc)
        return app_config


@asynccontextmanager
async def _tune_gc(_app: Litestar) -> AsyncGenerator[None, None]:
    """Freeze what is there, and undo it at the end: garbage among it is found then, also where apps come and go in one process.

    There is no collection first: it would take 20 ms of the start, and finds next to nothing.
    """
    if gc.get_freeze_count():  # tuned already: by the process, or by another app in it
        yield
        return
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
