"""Features of an app: routes, servers and background work beyond the operations of the protocol.

    app is built        prepare ──► check ──► list_routes, list_default_routes, configure
    surface is built    list_controllers, list_methods
    app runs            open_app ──► open_surface, for each surface ──► surfaces_changed
    later               open_surface, surfaces_changed, skills_changed, find_page

What was opened closes in the opposite order. A feature overrides what it adds; it is loaded only
where it is wanted (``ports.registry.FEATURES``), also for a surface that is added later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from litestar import Litestar
    from litestar.config.app import AppConfig
    from litestar.types import ControllerRouterHandler, HTTPScope

    from a2a_contract.controllers import AgentController
    from a2a_runtime.http.dispatcher import Dispatcher
    from a2a_runtime.http.health import ProcessHealth
    from a2a_runtime.http.pages import HtmlDocument
    from a2a_runtime.process import AgentRuntime
    from a2a_runtime.service.cards.cache import PublicUrls
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
    public_urls: PublicUrls
    """URLs of surfaces on their cards, where a feature has learned them."""


@dataclass(frozen=True, slots=True)
class RunningApp:
    """The app while it runs."""

    app: Litestar
    process: AgentRuntime
    health: ProcessHealth


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

    def configure(self, app_config: AppConfig) -> None:
        """Configure what else Litestar takes from a plugin."""

    def list_controllers(self, surface: Surface) -> Sequence[type[AgentController]]:  # noqa: ARG002 - for features
        """List controllers below the path of a surface."""
        return ()

    def list_methods(self, surface: Surface, path: str) -> tuple[str, ...]:  # noqa: ARG002 - for features
        """List the methods of one of their paths; empty for any other."""
        return ()

    def find_page(self, scope: HTTPScope) -> HtmlDocument | None:  # noqa: ARG002 - for features
        """Find the page for a browser at the root, where agents have none."""
        return None

    async def open_app(self, running: RunningApp, stack: AsyncExitStack) -> None:
        """Begin what runs as long as the app; it ends with the stack."""

    async def open_surface(
        self, running: RunningApp, dispatcher: Dispatcher, stack: AsyncExitStack
    ) -> None:
        """Begin what runs as long as a surface is mounted; it ends with the stack."""

    async def surfaces_changed(self, running: RunningApp) -> None:
        """Follow the surfaces: all of them are open, or one was added."""

    def skills_changed(self, running: RunningApp) -> None:
        """Follow the skills: surfaces or sources have changed them."""
