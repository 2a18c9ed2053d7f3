"""A whole app around agents, and the one that a project describes.

    app = create_app(agent, store="sqlite:///tasks.db")          in your own module
    litestar --app a2a_runtime.app:app run                       the agent of this folder's a2a.toml, set up by the environment

``app`` is made when somebody asks for it: importing this module reads nothing and opens nothing.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from litestar import Litestar

from a2a_runtime.agent import Agent
from a2a_runtime.heartbeat.registration import MeshConfig
from a2a_runtime.http.middleware import ExactPathRouter, HstsMiddleware, build_cors_config
from a2a_runtime.plugin import A2APlugin, GcTuningPlugin
from a2a_runtime.project.loader import load_project
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface


def create_app(
    *mounted: Surface | Agent, store: Store | str | None = None, settings: Settings | None = None, mesh: MeshConfig | None = None
) -> Litestar:
    """Make an app of agents and nothing else.

    Without settings, the environment gives them (``A2A_…``); without a store, tasks live in the one that they name; without a membership, the
    environment says what part the app has in a mesh.
    """
    settings = Settings.from_environment(os.environ) if settings is None else settings
    agents = A2APlugin(*mounted, store=store, settings=settings, mesh=mesh)
    plugins = [agents, GcTuningPlugin()] if settings.tune_gc else [agents]
    app = Litestar(plugins=plugins, cors_config=build_cors_config(settings), logging_config=None)
    if app.cors_config is None:  # it would stand before the router
        app.asgi_handler = ExactPathRouter(app)
    if settings.hsts_seconds:
        app.asgi_handler = HstsMiddleware(app.asgi_handler, settings.hsts_seconds)  # a middleware would not see what the router refuses
    return app


@cache
def _app_of_project() -> Litestar:
    project = load_project(Path.cwd(), os.environ)
    return create_app(*project.surfaces, store=project.settings.store, settings=project.settings, mesh=project.mesh)


def __getattr__(name: str) -> Litestar:
    if name == "app":
        return _app_of_project()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
