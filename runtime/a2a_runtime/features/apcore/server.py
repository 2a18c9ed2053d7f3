"""An agent of a registry: on a port, or as an ASGI app.

    serve(registry, port=9000)                    until the process is stopped
    app = async_serve(registry)                   for any ASGI server;
                                                  ``await async_serve(registry)`` is the same
    app.mount("/tools", async_serve(registry))    inside another app, whose lifespan need not know
                                                  of it

Both take the options of ``ServeOptions``. Settings of the environment (``A2A_…``) apply where no
option says otherwise.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__, "apcore"):
    import uvicorn
    from litestar import Litestar, Response, get

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.features.apcore.app import AgentApp
from a2a_runtime.features.apcore.auth import build_gate
from a2a_runtime.features.apcore.errors import build_selection_error
from a2a_runtime.features.apcore.modules import list_modules
from a2a_runtime.features.apcore.source import (
    DEFAULT_HISTORY,
    DEFAULT_TIMEOUT_SECONDS,
    ApcoreSource,
)
from a2a_runtime.features.apcore.stores import build_store
from a2a_runtime.features.server.protocol import BoundedHttpProtocol
from a2a_runtime.features.server.runner import run_server
from a2a_runtime.features.telemetry.metrics import find_metrics
from a2a_runtime.http.exposure import LISTENING_HOST
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# Litestar's own types leave the parameters of its responses open.

DEFAULT_NAME = "apcore-agent"
DEFAULT_VERSION = "0.0.0"
METRICS_PATH = "/metrics"
MAX_PUSH_ATTEMPTS = 4
MAX_PUSH_DELAY = 4.0
"""The first attempt and three more, after 1, 2 and 4 seconds."""

# only apps with authentication listen on all addresses
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104
_LOOPBACK = "127.0.0.1"
_SHUTDOWN_SECONDS = 30.0
_CLOSING_SECONDS = 2
"""Time that responses get after the last task has ended."""

log = logging.getLogger(__name__)


class ServeOptions(TypedDict, total=False):
    """Options of an agent."""

    name: str
    """Name on the card.

    Default: ``project.name`` of the registry's config, or ``apcore-agent``.
    """
    description: str
    """Default: ``project.description``, or the number of skills."""
    version: str
    """Default: ``project.version``, or ``0.0.0``."""
    url: str
    """Public URL of the agent, for its card. Default: that of the request."""
    auth: Any
    """An authenticator, a list of them, or a gate, see ``auth``.

    Default: every caller is anonymous.
    """
    task_store: Any
    """A store, or its URL. Default: in memory, for an hour, up to 10,000 tasks."""
    cors_origins: Sequence[str] | None
    """Origins whose pages may call the agent. Default: only its own."""
    push_notifications: bool
    """Deliver webhooks. Default: no."""
    development: bool
    """Allow webhooks on this machine, also over plain HTTP. Default: no."""
    explorer: bool
    """Serve the explorer at ``/explorer``, a page to see and try the skills. Default: no."""
    metrics: bool
    """Serve ``/metrics`` as JSON. Default: no."""
    watch: bool
    """Reload modules whose files change; needs watchdog. Default: no."""
    execution_timeout: float
    """Seconds for one call of a module. Default: 300; a given executor may have a shorter one."""
    shutdown_timeout: float
    """Seconds that running tasks get when the process is stopped. Default: 30."""
    cancel_on_disconnect: bool
    """Cancel a task whose client has gone. Default: yes."""
    max_history: int
    """Earlier messages of a conversation that a module sees. Default: 100."""


def async_serve(registry_or_executor: Any, **options: Unpack[ServeOptions]) -> AgentApp:
    """Build the ASGI app of a registry or an executor.

    It opens no port, and starts with its lifespan or with its first request.
    """
    return AgentApp(_build_app(registry_or_executor, options, build_settings(options)))


def _build_app(registry_or_executor: Any, options: ServeOptions, settings: Settings) -> Litestar:
    _check_names(options)
    source = _build_source(registry_or_executor, options)
    surface = Surface(
        _build_agent(source, options),
        gate=build_gate(options.get("auth")),
        cancel_on_disconnect=options.get("cancel_on_disconnect", True),
        variants=("srs_forms",),
        public_card=True if options.get("auth") is not None else None,
    )
    app = create_app(
        surface, store=build_store(options.get("task_store"), settings), settings=settings
    )
    if options.get("metrics", False):
        _register_metrics(app)
    return app


def serve(
    registry_or_executor: Any,
    *,
    host: str | None = None,
    port: int = 8000,
    log_level: str = "info",
    **options: Unpack[ServeOptions],
) -> None:
    """Serve a registry or an executor over HTTP until the process is stopped.

    With ``auth``, or with ``A2A_OPEN=on``, it listens on all addresses, otherwise on this machine
    only.
    """
    settings = build_settings(options)
    if host is None:
        is_public = options.get("auth") is not None or settings.open
        host = _ALL_ADDRESSES if is_public else _LOOPBACK
    os.environ[LISTENING_HOST] = host
    app = _build_app(registry_or_executor, options, settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        http=BoundedHttpProtocol,
        log_level=log_level,
        proxy_headers=False,
        timeout_graceful_shutdown=int(settings.shutdown_grace + settings.cancel_grace)
        + _CLOSING_SECONDS,
    )
    if (
        error := run_server(config, drain=lambda: _drain(app, settings.shutdown_grace))
    ) is not None:
        raise error


def find_plugin(app: Litestar) -> A2APlugin:
    """Find the plugin of the agents in an app."""
    return next(each for each in app.plugins if isinstance(each, A2APlugin))


async def _drain(app: Litestar, grace: float) -> None:
    if (runtime := find_plugin(app).runtime) is not None:
        await runtime.drain(grace)


def _check_names(options: ServeOptions) -> None:
    if unknown := ", ".join(sorted(set(options) - ServeOptions.__annotations__.keys())):
        raise TypeError(
            f"serve: unknown option {unknown}; known: {', '.join(ServeOptions.__annotations__)}"
        )


def _build_source(target: Any, options: ServeOptions) -> ApcoreSource:
    source = ApcoreSource(
        target,
        execution_timeout=options.get("execution_timeout", DEFAULT_TIMEOUT_SECONDS),
        protects=options.get("auth") is not None,
        watch=options.get("watch", False),
        history=options.get("max_history", DEFAULT_HISTORY),
    )
    found = list(list_modules(source.registry))
    if not found:
        raise ValueError(
            "serve: the registry has no modules; call registry.discover() or "
            "registry.register(…) before"
        )
    if not any(each.has_description for each in found):
        raise ValueError(
            "serve: no module of the registry has a description, so that none can be "
            "offered; describe at least one"
        )
    return source


def _build_agent(source: ApcoreSource, options: ServeOptions) -> Agent:
    config = getattr(source.registry, "_config", None) or getattr(source.registry, "config", None)

    def read(name: str) -> str:
        value = options.get(name)
        if value is None and callable(find := getattr(config, "get", None)):
            value = find(f"project.{name}")
        return str(value or "")

    return Agent(
        read("name") or DEFAULT_NAME,
        read("description"),
        read("version") or DEFAULT_VERSION,
        url=options.get("url"),
        sources=[source],
        selection_error=build_selection_error,
        capabilities=Capabilities(
            streaming=None,
            push_notifications=options.get("push_notifications", False),
            extended_agent_card=options.get("auth") is not None,
        ),
    )


def build_settings(options: ServeOptions) -> Settings:
    """Build the settings: those of the environment, with what the options say."""
    settings = Settings.from_environment(os.environ)
    changes: dict[str, Any] = {
        "shutdown_grace": options.get("shutdown_timeout", _SHUTDOWN_SECONDS),
        "push_max_attempts": MAX_PUSH_ATTEMPTS,
        "push_max_delay": MAX_PUSH_DELAY,
        "push_jitter": 0.0,
    }
    if (origins := options.get("cors_origins")) is not None:
        changes["cors_origins"] = tuple(origins)
    if options.get("development", False):
        changes["outbound_allow_loopback"] = True
    if "explorer" in options:
        changes["explorer"] = options["explorer"]
    if options.get("metrics", False):
        changes["metrics_path"] = METRICS_PATH
    return replace(settings, **changes)


def _register_metrics(app: Litestar) -> None:
    """Add the metrics as JSON, for every ``Accept``."""

    @get(METRICS_PATH, include_in_schema=False, exclude_from_auth=True, sync_to_thread=False)
    def read_metrics() -> Response[Mapping[str, int | float]]:
        runtime = find_plugin(app).runtime
        metrics = find_metrics(runtime)
        summary = {} if metrics is None else metrics.summarize()
        return Response(
            summary,
            media_type="application/json",
            headers={"cache-control": "no-store"},
        )

    app.register(read_metrics)
