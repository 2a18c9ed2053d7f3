"""The route of the metrics as a feature of an app."""

from __future__ import annotations

from contextlib import AsyncExitStack

from a2a_runtime.features.telemetry.metrics import find_metrics
from a2a_runtime.features.telemetry.metrics_route import build_metrics_route
from a2a_runtime.ports.feature import Feature, RunningApp


class MetricsFeature(Feature):
    """Serves the metrics where the host has no such route."""

    async def open_app(
        self,
        running: RunningApp,
        stack: AsyncExitStack,  # noqa: ARG002 - nothing to end
    ) -> None:
        """Add the route: only now all routes of the host are known."""
        path = self.parts.settings.metrics_path
        if path not in {route.path for route in running.app.routes}:
            route = build_metrics_route(
                path,
                lambda: find_metrics(running.process),
                names_skills=self.parts.settings.metrics_skills,
            )
            running.app.register(route)
