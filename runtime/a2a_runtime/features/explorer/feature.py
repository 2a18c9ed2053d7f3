"""The explorer as a feature of an app."""

from __future__ import annotations

from collections.abc import Sequence

from litestar.types import ControllerRouterHandler

from a2a_runtime.features.explorer.mounted import build_explorer_routes
from a2a_runtime.ports.feature import Feature

TOKEN_OPTION = "explorer_token"  # noqa: S105 - its name
"""Option of the plugin: the token that the page has to send, see ``a2a-gen explore``."""


class ExplorerFeature(Feature):
    """Serves the page and its API."""

    def list_routes(self) -> Sequence[ControllerRouterHandler]:
        """List the routes of the explorer."""
        parts = self.parts
        return build_explorer_routes(
            parts.get_surfaces,
            parts.settings.allowed_hosts,
            lambda: str(parts.options.get(TOKEN_OPTION, "")),
        )
