"""The registration at a mesh as a feature of an app."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack

from litestar.exceptions import ImproperlyConfiguredException

from a2a_contract.dialects import MESH
from a2a_runtime.features.heartbeat.registration import MeshConfig, MeshSurfaces
from a2a_runtime.ports.feature import AppParts, Feature, RunningApp
from a2a_runtime.surface import Surface


class HeartbeatFeature(Feature):
    """Sends heartbeats to a registry that is configured in code, or once the app has a mesh surface
    or mesh tools.
    """

    def __init__(self, parts: AppParts) -> None:
        super().__init__(parts)
        given = parts.options.get("mesh")
        if given is not None and not isinstance(given, MeshConfig):
            raise TypeError(f"mesh: {given!r} is no MeshConfig")
        self._given = given
        self._surfaces = MeshSurfaces(parts.get_surfaces)
        self._stack = AsyncExitStack()
        self._is_open = False

    def check(self, surfaces: Sequence[Surface]) -> None:
        """Read the settings of the mesh, if a surface needs them."""
        if any(MESH.name in each.dialects for each in surfaces):
            self._read_config()

    async def open_app(self, running: RunningApp, stack: AsyncExitStack) -> None:
        """Send heartbeats as long as the app runs."""
        parts = self.parts
        prefix = running.app.path.rstrip("/")
        self._surfaces = MeshSurfaces(parts.get_surfaces, prefix, parts.public_urls)
        self._stack = stack
        stack.callback(self._close)

    async def surfaces_changed(self, running: RunningApp) -> None:
        """Begin to send heartbeats, if they are wanted."""
        given = self._given
        is_wanted = bool(self._surfaces.select()) or (
            given is not None and bool(given.tools or given.registry_url)
        )
        if self._is_open or not is_wanted:
            return
        from a2a_runtime.features.heartbeat.loop import run_heartbeat  # noqa: PLC0415 - loads httpx, which apps without a mesh do not need

        config = self._read_config()
        heartbeat = await self._stack.enter_async_context(run_heartbeat(config, self._surfaces))
        self._is_open = True

        def describe() -> str:
            if heartbeat is None:
                return "none"
            return "known" if heartbeat.is_registered else "unknown"

        running.health.is_healthy = config.is_healthy
        running.health.describe_registration = describe

    def _close(self) -> None:
        self._is_open = False

    def _read_config(self) -> MeshConfig:
        if self._given is not None:
            return self._given
        try:
            return MeshConfig.from_environment(os.environ)
        except ValueError as error:
            raise ImproperlyConfiguredException(str(error)) from error
