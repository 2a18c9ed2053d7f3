"""The page at the root of an app of agents, as a feature."""

from __future__ import annotations

from litestar.types import HTTPScope

from a2a_runtime.http.pages import HtmlDocument
from a2a_runtime.ports.feature import Feature


class LandingPage(Feature):
    """Shows a browser what the agents of an app are."""

    def find_page(self, scope: HTTPScope) -> HtmlDocument | None:
        """Build the page, for browsers only."""
        from a2a_runtime.features.pages.html import build_landing_page  # noqa: PLC0415 - few clients are browsers

        has_explorer = self.parts.settings.explorer
        return build_landing_page(scope, self.parts.get_surfaces(), has_explorer=has_explorer)
