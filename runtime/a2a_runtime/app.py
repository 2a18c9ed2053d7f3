"""An app with agents and nothing else, and the app of a project.

    app = create_app(agent, store="sqlite:///tasks.db")    in your own module
    litestar --app a2a_runtime.app:app run                 the agent of this folder's a2a.toml,
                                                           with settings of the environment

``app`` is built on first access; importing this module reads and opens nothing.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__):
    from litestar import Litestar

from a2a_runtime.agent import Agent
from a2a_runtime.http.exact_paths import ShortcutApp, install_shortcut
from a2a_runtime.http.garbage_collection import GcTuningPlugin
from a2a_runtime.http.middleware import HstsMiddleware, build_cors_config
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.ports import registry
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface

if TYPE_CHECKING:
    from a2a_runtime.features.grpc.options import GrpcOptions
    from a2a_runtime.features.heartbeat.registration import MeshConfig


def create_app(
    *surfaces: Surface | Agent,
    store: Store | str | None = None,
    settings: Settings | None = None,
    mesh: MeshConfig | None = None,
    grpc: GrpcOptions | str | None = None,
) -> Litestar:
    """Build an app of agents.

    Defaults come from the environment (``A2A_…``): the settings, the store that they name, and the
    mesh config. ``grpc`` is the gRPC address of the only surface.
    """
    settings = Settings.from_environment(os.environ) if settings is None else settings
    agents = A2APlugin(
        *map(_to_surface, surfaces),
        store=store,
        settings=settings,
        mesh=mesh,
        grpc=grpc,
        has_host=False,
    )
    plugins = [agents, GcTuningPlugin()] if settings.tune_gc else [agents]
    app = ShortcutApp(
        plugins=plugins,
        cors_config=build_cors_config(settings),
        logging_config=None,
    )
    install_shortcut(app, agents.exact_paths)
    if settings.hsts_seconds:
        # outside of Litestar, whose middleware does not see errors of the router
        app.asgi_handler = HstsMiddleware(app.asgi_handler, settings.hsts_seconds)
    return app


def _to_surface(agent: Agent | Surface) -> Surface:
    return Surface(agent) if isinstance(agent, Agent) else agent


@cache
def _load_app(folder: Path) -> Litestar:
    app = registry.load_function(registry.PROJECT_APP)(folder)
    if not isinstance(app, Litestar):
        raise TypeError(f"{registry.PROJECT_APP} builds no app")
    return app


def __getattr__(name: str) -> Litestar:
    if name == "app":
        return _load_app(Path.cwd())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
