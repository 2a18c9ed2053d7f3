"""The OpenAPI document as a feature of an app."""

from __future__ import annotations

from litestar.config.app import AppConfig

from a2a_runtime.features.openapi.document import extend_openapi
from a2a_runtime.ports.feature import Feature, RunningApp


class OpenApiFeature(Feature):
    """Documents the surfaces of an app."""

    def configure(self, app_config: AppConfig) -> None:
        """Give an app without a host a document of its own, with a page."""
        if not self.parts.has_host:
            from a2a_runtime.features.openapi.page import build_openapi_config  # noqa: PLC0415 - hosts have one of their own

            app_config.openapi_config = build_openapi_config(self.parts.get_surfaces())

    def skills_changed(self, running: RunningApp) -> None:
        """Write what the surfaces offer now."""
        extend_openapi(running.app, self.parts.get_surfaces())
