"""Features of an app: routes, servers and background work beyond the operations of the protocol.

    built with the app     prepare ──► check ──► list_routes, list_default_routes
    while the app runs     open_app ──► open_surface for each surface; closed in the opposite order

A surface that is added later is opened then. A feature overrides what it adds; it is loaded only
where it is wanted (``ports.registry.FEATURES``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from litestar import Litestar
    from litestar.types import ControllerRouterHandler

    from a2a_runtime.http.dispatcher import Dispatcher
    from a2a_runtime.process import AgentRuntime
    from a2a_runtime.settings import Settings
    from a2a_runtime.surface import Surface


@dataclass(frozen=True, slots=True)
class AppParts:
    """Facts about an app that its features know before it runs."""

    settings: Settings
    has_host: bool
    get_surfaces: Callable[[], Sequence[Surface]]
    options: Mapping[str, object]
    """What the plugin was given for features, by their names."""


@dataclass(frozen=True, slots=True)
class RunningApp:
    """The app while it runs."""

    app: Litestar
    process: AgentRuntime


class Feature:
    """A part of an app. Every method adds nothing here."""

    def __init__(self, parts: AppParts) -> None:
        self.parts = parts

    def prepare(self, surfaces: Sequence[Surface]) -> Sequence[Surface]:
        """Return surfaces as this feature wants them, when the app is built and before one is
        added.
        """
        return surfaces

    def check(self, surfaces: Sequence[Surface]) -> None:
        """Raise ``ValueError`` for surfaces that cannot be served together."""

    def list_routes(self) -> Sequence[ControllerRouterHandler]:
        """List routes that no route of the host or of a surface may have."""
        return ()

    def list_default_routes(self) -> Mapping[str, ControllerRouterHandler]:
        """List routes that are left out where the host has the path, by path."""
        return {}

    async def open_app(self, running: RunningApp, stack: AsyncExitStack) -> None:
        """Begin what runs as long as the app; it ends with the stack."""

    async def open_surface(
        self, running: RunningApp, dispatcher: Dispatcher, stack: AsyncExitStack
    ) -> None:
        """Begin what runs as long as a surface is mounted; it ends with the stack."""
