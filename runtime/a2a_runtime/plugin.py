"""Litestar plugin that mounts agents.

    Litestar([…], plugins=[A2APlugin(agent, path="/agent", caller=host_user())])

Every surface says who its callers are: ``gate=AuthGate(…)``, ``caller=host_user()`` for the users
of the host, or ``gate=OpenGate()``.
An app may have any number of surfaces, beside its own routes and exception handlers; a conflict is
an error when the app starts.
"""

from __future__ import annotations

import asyncio
import os
import reprlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__):
    from litestar import Litestar
    from litestar.config.app import AppConfig
    from litestar.exceptions import ImproperlyConfiguredException
    from litestar.plugins import CLIPlugin, InitPlugin
    from litestar.types import ControllerRouterHandler, HTTPScope

from a2a_runtime.agent import Agent
from a2a_runtime.auth.gate import Gate
from a2a_runtime.auth.host import HostCaller
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.http.dispatcher import Backend, Dispatcher
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.exact_paths import Handler, find_exact_paths, install_shortcut
from a2a_runtime.http.exposure import check_callers_are_known, check_exposure, log_callers
from a2a_runtime.http.garbage_collection import GcTuningPlugin, freeze_objects, start_last
from a2a_runtime.http.health import HealthCheck, ProcessHealth, register_health_routes
from a2a_runtime.http.host_routes import adapt_routes
from a2a_runtime.http.mounting import (
    UnroutedRequestHandler,
    build_controllers,
    check_free,
    check_paths,
    list_routes,
    register_routes,
    unregister_routes,
)
from a2a_runtime.http.pages import HtmlDocument
from a2a_runtime.http.resource_metadata import build_metadata_route
from a2a_runtime.ports import registry
from a2a_runtime.ports.feature import AppParts, Feature, RunningApp
from a2a_runtime.ports.registry import OFF
from a2a_runtime.process import AgentRuntime
from a2a_runtime.service.cards.cache import PublicUrls
from a2a_runtime.service.cards.declarations import METADATA_PATH
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.factory import check_store, is_shared, try_store
from a2a_runtime.surface import RouteOptions, Surface

if TYPE_CHECKING:
    from click import Group

    from a2a_runtime.features.grpc.options import GrpcOptions
    from a2a_runtime.features.heartbeat.registration import MeshConfig

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its responses, guards and lifespans open.

AGENT_PATH = "/agent"
"""Path of an agent in an app of a host, which keeps its root."""

LIVE_PATH = "/livez"
READYZ_PATH = "/readyz"
READY_PATH = "/ready"
HEALTH_PATH = "/health"


class HostedOptions(TypedDict, total=False):
    """Options of a surface for agents that are given without one, at a path of a host."""

    gate: Gate | None
    caller: HostCaller | None
    public_card: bool | None
    routes: RouteOptions


class SurfaceOptions(HostedOptions, total=False):
    """The same with the path."""

    path: str


def build_surfaces(
    function: str, surfaces: Sequence[object], options: HostedOptions
) -> tuple[Surface, ...]:
    """Build the surfaces of agents that are given without one."""
    check_types(function, surfaces, Agent, Surface)
    if options and not any(isinstance(each, Agent) for each in surfaces):
        raise ImproperlyConfiguredException(
            f"{function}: {', '.join(options)}: no agent to apply it to; set it on the surface"
        )
    built: list[Surface] = []
    for each in surfaces:
        if isinstance(each, Agent):
            built.append(Surface(each, **options))
        elif isinstance(each, Surface):
            built.append(each)
    return tuple(built)


def check_types(function: str, values: Sequence[object], *expected: type) -> None:
    """Refuse arguments of other types, such as a list of surfaces."""
    if wrong := [each for each in values if not isinstance(each, expected)]:
        names = " or ".join(each.__name__ for each in expected)
        given = reprlib.repr(wrong[0])
        raise TypeError(
            f"{function}: {given} is not of type {names}; pass each {names} as an argument "
            "of its own, a list as *surfaces"
        )


class A2APlugin(InitPlugin, CLIPlugin):
    """Mounts agents and runs their engine, store and webhooks while the app runs.

    An agent without a surface is mounted at ``/agent``, or at ``path=``, with ``gate=`` or
    ``caller=``. ``grpc=`` is the gRPC address of the only surface; with several surfaces, each has
    its own (``Surface(grpc=…)``).
    """

    def __init__(
        self,
        *surfaces: Surface | Agent,
        store: Store | str | None = None,
        settings: Settings | None = None,
        mesh: MeshConfig | None = None,
        grpc: GrpcOptions | str | None = None,
        has_host: bool = True,
        **options: Unpack[SurfaceOptions],
    ) -> None:
        if not surfaces:
            raise ImproperlyConfiguredException(
                "A2APlugin: no agent given; pass at least one, e.g. A2APlugin(agent, "
                "caller=host_user())"
            )
        if any(isinstance(each, Agent) for each in surfaces):
            options = {"path": AGENT_PATH, **options}
        self.surfaces: Sequence[Surface] = build_surfaces("A2APlugin", surfaces, options)
        self.has_host = has_host
        """False in an app that has only agents: there a surface without a gate is open."""
        self.runtime: AgentRuntime | None = None
        """Runtime of the surfaces, while the app runs."""
        self.exact_paths: dict[str, Handler] = {}
        """Handlers that may be called past the router while the app runs, see
        ``http.exact_paths``.
        """
        if store is not None:
            check_store(store)
        self._store = store
        self.settings = Settings.from_environment(os.environ) if settings is None else settings
        self._endpoints: list[SurfaceEndpoints] = []
        self._app: Litestar | None = None
        self._changes, self._exit_stack = asyncio.Lock(), AsyncExitStack()
        self._stacks: dict[str, AsyncExitStack] = {}
        """What features have opened for a surface, by its path."""
        self.options: dict[str, object] = {"grpc": grpc, "mesh": mesh}
        """What features are given, by their names."""
        self.parts = AppParts(
            self.settings, has_host, lambda: self.surfaces, self.options, PublicUrls()
        )
        self.features: list[Feature] = []
        """Features of the app, in the order of the registry."""
        self._load_features(self.surfaces)
        self.surfaces = self._prepare(self.surfaces)
        self._health = ProcessHealth(
            SystemClock(), lambda: sum(len(each.skills) for each in self.surfaces)
        )

    def _load_features(self, surfaces: Sequence[Surface]) -> list[Feature]:
        """Load the features that surfaces want and that are not there yet."""
        known = {type(each) for each in self.features}
        loaded: list[Feature] = []
        for row in registry.FEATURES:
            if not row.is_wanted(self.parts, surfaces):
                continue
            kind = registry.load(row.name)
            if isinstance(kind, type) and issubclass(kind, Feature) and kind not in known:
                loaded.append(kind(self.parts))
        self.features += loaded
        return loaded

    def _forget_features(self, loaded: Sequence[Feature]) -> None:
        """Forget features of a surface that could not be added."""
        self.features[:] = [each for each in self.features if each not in loaded]

    def _prepare(
        self, surfaces: Sequence[Surface], beside: Sequence[Surface] = ()
    ) -> Sequence[Surface]:
        """Return surfaces as all features want them; raise if they cannot be served together."""
        for feature in self.features:
            surfaces = feature.prepare(surfaces)
        for feature in self.features:
            feature.check((*beside, *surfaces))
        return surfaces

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add the routes of every surface."""
        if any(isinstance(each, A2APlugin) and each is not self for each in app_config.plugins):
            cure = "give all agents to one: A2APlugin(Surface(one, path=…), Surface(two, path=…))"
            raise ImproperlyConfiguredException(
                "A2APlugin: this app has two of them, of which only the first would have "
                f"health and catalog; {cure}"
            )
        self._keys = registry.read_keys(self.settings, self.surfaces)
        self.surfaces = self._keys.attach_signer(self.surfaces)
        for surface in self.surfaces:
            self._check(surface)
        self._endpoints = [self._build_endpoints(surface) for surface in self.surfaces]
        handlers = app_config.route_handlers
        handlers.extend(self._keys.list_routes())
        for feature in self.features:
            handlers.extend(feature.list_routes())
            feature.configure(app_config)
        check_paths(self._endpoints, handlers)
        handlers.extend(self._list_default_routes(handlers))
        for each in self._endpoints:
            handlers.extend(build_controllers(each))
            if not each.dispatcher.surface.path:
                each.jsonrpc.find_page = self._find_page

        def find_page(scope: HTTPScope) -> HtmlDocument | None:
            # Litestar copies handlers of exceptions: a method would bring a copy of the plugin.
            return self._find_page(scope)

        unrouted = UnroutedRequestHandler(
            lambda: [each.dispatcher for each in self._endpoints],
            app_config.exception_handlers,
            find_page,
        )
        app_config.exception_handlers.update(
            dict.fromkeys(map(int, UnroutedRequestHandler.STATUSES), unrouted)
        )
        start_last(app_config, self._lifespan)
        if (
            self.has_host
            and self.settings.tune_gc
            and not any(isinstance(each, GcTuningPlugin) for each in app_config.plugins)
        ):
            start_last(app_config, freeze_objects)
        return app_config

    def _build_endpoints(self, surface: Surface) -> SurfaceEndpoints:
        return SurfaceEndpoints(surface, self.parts.public_urls, self.features)

    def _list_default_routes(
        self, handlers: Sequence[ControllerRouterHandler]
    ) -> Iterator[ControllerRouterHandler]:
        """List the routes that an app has unless its host has the path."""
        taken = {route for route, _ in list_routes(handlers)}
        defaults: dict[str, ControllerRouterHandler] = {
            METADATA_PATH: build_metadata_route(lambda: self.surfaces)
        }
        for feature in self.features:
            defaults |= feature.list_default_routes()
        for path, handler in defaults.items():
            if path not in taken:
                yield handler

    def _find_page(self, scope: HTTPScope) -> HtmlDocument | None:
        """Find the page that a feature has for a browser."""
        for feature in self.features:
            page = feature.find_page(scope)
            if page is not None:
                return page
        return None

    def get_dispatcher(self, path: str) -> Dispatcher:
        """Return the dispatcher of the surface at a path, for a route of the host that admits its
        requests as the surface does.
        """
        return {each.dispatcher.surface.path: each.dispatcher for each in self._endpoints}[path]

    def _check(self, surface: Surface) -> None:
        for dialect in surface.dialects:
            if check := registry.find_support(dialect).check_mounted:
                check(surface)
        if self.has_host:
            check_callers_are_known(surface)

    @asynccontextmanager
    async def _lifespan(self, app: Litestar) -> AsyncGenerator[None, None]:
        adapt_routes(app)
        if self.has_host:
            install_shortcut(app, self.exact_paths)
        register_health_routes(app, self.list_health_checks())
        check_exposure(self.surfaces, is_open=self.settings.open)
        log_callers(self.surfaces, is_open=self.settings.open)
        async with AgentRuntime(
            self.surfaces, self._store, self.settings, keys=self._keys
        ) as runtime:
            self.runtime = runtime
            self._app = app
            running = RunningApp(app, runtime, self._health)
            self._announce_skills()
            runtime.on_skills_changed = self._announce_skills
            for each in self._endpoints:
                self._start(each, runtime)
            try:
                async with AsyncExitStack() as self._exit_stack:
                    for feature in self.features:
                        await feature.open_app(running, self._exit_stack)
                    self._exit_stack.push_async_callback(self._close_surfaces)
                    for each in self._endpoints:
                        await self._open_surface(each.dispatcher, running)
                    for feature in self.features:
                        await feature.surfaces_changed(running)
                    self._health.find_faults = runtime.find_faults
                    self._find_exact_paths(app)
                    yield
            finally:
                self.exact_paths.clear()
                self.runtime = self._app = self._health.find_faults = None
                for each in self._endpoints:
                    each.dispatcher.stop()

    def _find_exact_paths(self, app: Litestar) -> None:
        self.exact_paths.clear()
        self.exact_paths.update(find_exact_paths(app))

    def list_health_checks(self) -> Mapping[str, HealthCheck]:
        """Return the probes of the process by path; they need no credentials."""
        health = self._health
        prefix = self.settings.health_path
        checks = {
            LIVE_PATH: health.check_live,
            READYZ_PATH: health.check_ready,
            READY_PATH: health.check_ready,
            HEALTH_PATH: health.check_health,
        }
        if prefix == OFF:
            return {}
        return {prefix.rstrip("/") + path: check for path, check in checks.items()}

    def _start(self, endpoints: SurfaceEndpoints, runtime: AgentRuntime) -> None:
        endpoints.dispatcher.observation = runtime.observation
        services = runtime.build_services(endpoints.dispatcher.surface)
        cors = None if self._app is None else self._app.cors_config
        settings = self.settings
        hosts = settings.allowed_hosts
        max_streams = settings.max_caller_streams
        endpoints.dispatcher.start(
            Backend(
                *services,
                runtime.service.task_dialect,
                runtime.store,
                runtime.clock,
                cors,
                hosts,
                max_streams,
            )
        )

    def _announce_skills(self) -> None:
        if self._app is None or self.runtime is None:
            return
        running = RunningApp(self._app, self.runtime, self._health)
        for feature in self.features:
            feature.skills_changed(running)

    async def add(self, agent: Surface | Agent, **options: Unpack[SurfaceOptions]) -> Surface:
        """Mount another agent while the app runs; an error leaves the app as it was."""
        app, runtime = self._require_running("add")
        defaults: SurfaceOptions = {"path": AGENT_PATH, **options}
        given = Surface(agent, **defaults) if isinstance(agent, Agent) else agent
        async with self._changes:
            (surface,) = self._keys.attach_signer((given,))
            self._check(surface)
            check_exposure((surface,), is_open=self.settings.open)
            if any(each.path == surface.path for each in self.surfaces):
                raise ImproperlyConfiguredException(
                    f"{surface}: another agent has the same path; set another path="
                )
            running = RunningApp(app, runtime, self._health)
            async with AsyncExitStack() as undo:
                loaded = self._load_features((surface,))
                undo.callback(self._forget_features, loaded)
                (surface,) = self._prepare((surface,), self.surfaces)
                endpoints = self._build_endpoints(surface)
                check_free(app, endpoints)
                for feature in loaded:
                    await feature.open_app(running, self._exit_stack)
                await runtime.add(surface)
                undo.push_async_callback(runtime.remove, surface)
                self._start(endpoints, runtime)
                undo.callback(endpoints.dispatcher.stop)
                await self._open_surface(endpoints.dispatcher, running)
                undo.pop_all()
            self.surfaces = (*self.surfaces, surface)
            self._endpoints = [*self._endpoints, endpoints]
            register_routes(app, endpoints)
            adapt_routes(app)
            self._find_exact_paths(app)
            self._announce_skills()
            for feature in self.features:
                await feature.surfaces_changed(running)
        return surface

    async def remove(self, path: str = AGENT_PATH) -> None:
        """Remove the agent at a path while the app runs: its routes at once; running tasks get
        their grace time and are then released.
        """
        app, runtime = self._require_running("remove")
        async with self._changes:
            endpoints = next(
                (
                    each
                    for each in self._endpoints
                    if each.dispatcher.surface.path == path.rstrip("/")
                ),
                None,
            )
            if endpoints is None:
                known = ", ".join(each.path or "/" for each in self.surfaces) or "none"
                raise ValueError(f"A2APlugin.remove: no agent at {path!r}; the paths are {known}")
            surface = endpoints.dispatcher.surface
            self.surfaces = tuple(each for each in self.surfaces if each is not surface)
            self._endpoints = [each for each in self._endpoints if each is not endpoints]
            unregister_routes(app, endpoints)
            self._find_exact_paths(app)
            self._announce_skills()
            closing = asyncio.create_task(self._close_surface(surface))
            try:
                await runtime.remove(surface)
            finally:
                endpoints.dispatcher.stop()
                endpoints.dispatcher.interrupt()
                await closing

    def _require_running(self, name: str) -> tuple[Litestar, AgentRuntime]:
        if self._app is None or self.runtime is None:
            raise RuntimeError(
                f"A2APlugin.{name}: the app is not running; pass agents to A2APlugin(…), or "
                "call this in its lifespan or later"
            )
        return self._app, self.runtime

    def on_cli_init(self, cli: Group) -> None:
        """Add ``litestar a2a …``."""
        build_group: Callable[..., Any] = registry.load_function(registry.HOST_COMMANDS)
        cli.add_command(build_group(lambda: self.surfaces, self.check_store))

    @property
    def store_url(self) -> str | None:
        """The URL of the store; ``None`` for a store that the app has made itself."""
        url = self.settings.store if self._store is None else self._store
        if isinstance(url, str):
            return url
        return None

    @property
    def has_shared_store(self) -> bool:
        """Return whether several processes may use the store."""
        return is_shared(self.settings.store if self._store is None else self._store)

    async def check_store(self) -> str:
        """Open the store that a URL names, beside a process that may run on it, and return its
        kind; raise if the agents could not start on it.
        """
        store = self._store if self.store_url is None else await try_store(self.store_url)
        return type(store).__name__

    def check_exposure(self, host: str) -> None:
        """Raise if the agents may not be served at an address."""
        check_exposure(self.surfaces, is_open=self.settings.open, host=host)

    def build_worker_runtime(self) -> AgentRuntime:
        """Build the runtime of a worker for these surfaces, with their store and settings, but
        without the app.
        """
        return AgentRuntime(self.surfaces, self._store, self.settings, is_worker=True)

    async def _open_surface(self, dispatcher: Dispatcher, running: RunningApp) -> None:
        """Open what features have for a surface."""
        async with AsyncExitStack() as stack:
            for feature in self.features:
                await feature.open_surface(running, dispatcher, stack)
            self._stacks[dispatcher.surface.path] = stack.pop_all()

    async def _close_surface(self, surface: Surface) -> None:
        if (stack := self._stacks.pop(surface.path, None)) is not None:
            await stack.aclose()

    async def _close_surfaces(self) -> None:
        await asyncio.gather(*map(self._close_surface, self.surfaces))
