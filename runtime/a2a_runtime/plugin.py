"""Agents in an app of Litestar: ``Litestar([…], plugins=[A2APlugin(agent)])``.

Any number of agents and surfaces, each at its own path, beside whatever the app has. The host's routes, and its handlers of exceptions, stay as they
are; what stands in the way of a surface is refused when the app starts.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from litestar import Litestar, Response, get
from litestar.config.app import AppConfig
from litestar.exceptions import ImproperlyConfiguredException
from litestar.handlers import HTTPRouteHandler
from litestar.plugins import InitPlugin

from a2a_contract.dialects import MESH
from a2a_runtime.agent import Agent
from a2a_runtime.assembly import Assembly
from a2a_runtime.exchange.browsers import Pages
from a2a_runtime.exchange.exchange import HttpExchange
from a2a_runtime.exchange.framework import Strays
from a2a_runtime.exchange.mount import check_guards, check_paths, controllers_of
from a2a_runtime.exchange.openapi import add_paths
from a2a_runtime.heartbeat.announcement import Presence
from a2a_runtime.heartbeat.membership import Membership
from a2a_runtime.keyring import JWKS_PATH, Keyring
from a2a_runtime.mesh.checks import check_surface
from a2a_runtime.probes import Probes
from a2a_runtime.settings import Settings
from a2a_runtime.stores.port import Store
from a2a_runtime.surface import Surface


class A2APlugin(InitPlugin):
    """Mounts agents, and runs what is behind them for as long as the app runs."""

    def __init__(
        self, *mounted: Surface | Agent, store: Store | str | None = None, settings: Settings | None = None, mesh: Membership | None = None
    ) -> None:
        if not mounted:
            raise ImproperlyConfiguredException("there is no agent to mount; name one: A2APlugin(agent)")
        self.surfaces: Sequence[Surface] = tuple(Surface(each) if isinstance(each, Agent) else each for each in mounted)
        self.assembly: Assembly | None = None
        """What runs behind the surfaces, while the app runs."""
        self._store = store
        self._settings = Settings.from_environment(os.environ) if settings is None else settings
        self._mesh = mesh
        self._speaks_mesh = any(MESH.name in surface.dialects for surface in self.surfaces)

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add the routes of every surface."""
        keyring = Keyring.of(self._settings, self.surfaces)
        self.surfaces = keyring.sign(self.surfaces)
        if (keys := keyring.published()) is not None:
            app_config.route_handlers.append(_published(keys))
        for surface in self.surfaces:
            check_surface(surface)
        presence = Presence(lambda: self.surfaces, app_config.path.rstrip("/") if app_config.path else "")
        exchanges = [HttpExchange(surface, presence.addresses) for surface in self.surfaces]
        counters = [exchange.counter for exchange in exchanges]
        check_paths(exchanges, app_config.route_handlers)
        check_guards(app_config.guards)
        app_config.route_handlers.extend(controller for exchange in exchanges for controller in controllers_of(exchange))
        strays = Strays(counters, app_config.exception_handlers)
        app_config.exception_handlers.update(dict.fromkeys(map(int, Strays.STATUSES), strays))

        @asynccontextmanager
        async def running(app: Litestar) -> AsyncGenerator[None, None]:
            check_guards(app.guards)  # another plugin may have added some
            add_paths(app, self.surfaces)
            async with Assembly(self.surfaces, self._store, self._settings, keyring=keyring) as assembly:
                self.assembly = assembly
                for counter in counters:
                    counter.pages = Pages(counter.surface, app.cors_config)
                    counter.live_by(assembly.store, assembly.clock)
                    counter.open(*assembly.services(counter.surface), assembly.service.home)
                try:
                    async with self._known_to_mesh(app, presence):
                        yield
                finally:
                    self.assembly = None
                    for counter in counters:
                        counter.close()

        app_config.lifespan.append(running)
        return app_config

    @asynccontextmanager
    async def _known_to_mesh(self, app: Litestar, presence: Presence) -> AsyncGenerator[None, None]:
        """Answer probes and tell a registry of the app, where it has something that a mesh would look for."""
        if not self._speaks_mesh:
            yield
            return
        from a2a_runtime.heartbeat.heart import joined  # noqa: PLC0415 - most apps talk to nobody, and what this stands on takes long to load

        membership = Membership.from_environment(os.environ) if self._mesh is None else self._mesh
        probes = Probes(membership)
        probes.mount(app)
        async with joined(membership, presence) as heart:
            probes.heart, probes.is_ready = heart, True
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
