"""The catalog as a feature of an app."""

from __future__ import annotations

from collections.abc import Mapping

from litestar.types import ControllerRouterHandler

from a2a_runtime.features.catalog.document import CATALOG_PATH
from a2a_runtime.features.catalog.route import build_catalog_route
from a2a_runtime.ports.feature import Feature


class CatalogFeature(Feature):
    """Serves the catalog where the host has none."""

    def list_default_routes(self) -> Mapping[str, ControllerRouterHandler]:
        """List the route of the catalog."""
        return {CATALOG_PATH: build_catalog_route(self.parts.get_surfaces)}
