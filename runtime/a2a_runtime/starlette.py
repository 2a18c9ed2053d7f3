"""Agents in an app of Starlette or FastAPI.

Loaded where the agents are mounted in an app of Starlette or FastAPI.

    app = FastAPI()
    mount_agents(app, "/agent", Surface(agent, caller=host_user()))

A plain ``app.mount`` does not run the lifespan of what it mounts, and redirects requests to the
path itself. ``mount_agents`` adds the lifespan of the agents to that of the app: they start last
and stop first, so that handlers may use what the app opens.

Dependencies of FastAPI run for its own routes only. Where an app has some, or ``dependencies=`` are
given, the agents are behind two routes of the app instead of a mount, so that the dependencies run
for every request to them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, Unpack

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__):
    from litestar import Litestar
    from litestar.types import Message

from a2a_runtime.agent import Agent
from a2a_runtime.asgi import BelowPath, build_agents
from a2a_runtime.features.openapi.merged import merge_openapi
from a2a_runtime.plugin import A2APlugin, HostedOptions
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface

# pyright: reportUnknownMemberType=false
# Litestar's own types leave open what an app is called with.

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


class HostRouter(Protocol):
    """The router of an app."""

    lifespan_context: Callable[[Any], AbstractAsyncContextManager[Any]]


class HostApp(Protocol):
    """An app of Starlette or FastAPI."""

    @property
    def router(self) -> Any:  # noqa: ANN401 - a HostRouter; the type of Starlette's own is wider
        """The router, which runs the lifespan."""
        ...

    # typed as Any: an ASGI app by the types of Starlette
    def mount(self, path: str, app: Any) -> None:  # noqa: ANN401
        """Mount an app below a path."""
        ...

    def add_route(
        self,
        path: str,
        route: Any,  # noqa: ANN401 - as above
        *,
        include_in_schema: bool = True,
    ) -> None:
        """Add a route of exactly one path."""
        ...


def mount_agents(
    host: HostApp,
    path: str,
    *surfaces: Surface | Agent,
    store: Store | str | None = None,
    settings: Settings | None = None,
    dependencies: Sequence[object] = (),
    **options: Unpack[HostedOptions],
) -> Litestar:
    """Mount agents below a path of a host; each of them names its callers, an agent without a
    surface by ``gate=`` or ``caller=``.

    ``dependencies`` of FastAPI run besides those of the app, except for probes.
    """
    agents = build_agents("mount_agents", path, surfaces, store, settings, options)
    router: HostRouter = host.router
    taken: frozenset[str] = getattr(router.lifespan_context, "agent_paths", frozenset())
    _check_free(path, taken)
    host_lifespan = router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncGenerator[Any, None]:
        async with host_lifespan(app) as state, agents.lifespan():
            yield state

    # the router keeps it with the lifespan
    lifespan.agent_paths = taken | {path}  # type: ignore[attr-defined]
    router.lifespan_context = lifespan
    if dependencies or getattr(router, "dependencies", ()):
        _add_routes(host, path, agents, dependencies)
    else:
        host.add_route(path, BelowPath(agents, path), include_in_schema=False)
        host.mount(path, agents)
    _describe_in_host(host, path, agents)
    return agents


def _describe_in_host(host: HostApp, path: str, agents: Litestar) -> None:
    """Add the agents to the OpenAPI document of FastAPI, which its ``/docs`` shows; they are known
    when the app has started.
    """
    describe: Callable[[], dict[str, Any]] | None = getattr(host, "openapi", None)
    if describe is None:
        return

    def describe_all() -> dict[str, Any]:
        return merge_openapi(describe(), agents.openapi_schema.to_schema(), path)

    host.openapi = describe_all  # type: ignore[attr-defined]  # the documented way to extend it


def _check_free(path: str, taken: frozenset[str]) -> None:
    """Refuse a second mount at one path, which would never be reached."""
    if path in taken:
        raise ValueError(
            f"mount_agents: {path!r} has agents already; give all of them to one call: "
            f'mount_agents(app, {path!r}, Surface(one, "/one"), Surface(two, "/two"))'
        )


def _add_routes(host: HostApp, path: str, agents: Litestar, dependencies: Sequence[object]) -> None:
    """Add routes of FastAPI, which run its dependencies and then the agents."""
    # a package of the host, which this one does not need
    from starlette.responses import Response  # noqa: PLC0415

    add_api_route = getattr(host, "add_api_route", None)
    if add_api_route is None:
        raise TypeError(
            "mount_agents: dependencies= are for FastAPI; with Starlette, add a middleware "
            "to the app"
        )
    app = BelowPath(agents, path)
    # a platform that watches a process has no credentials
    for probe in agents.plugins.get(A2APlugin).list_health_checks():
        host.add_route(f"{path}{probe}", app, include_in_schema=False)

    class AgentResponse(Response):
        """Runs the agents, with the headers that dependencies have set, and then their background
        tasks.
        """

        # typed as Any: types of Starlette
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            """Respond."""

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], *self.raw_headers]}
                await send(message)

            await app(scope, receive, send_with_headers)
            if self.background is not None:
                await self.background()

    async def respond(response: Any) -> Response:  # noqa: ANN401 - annotated below
        agent_response = AgentResponse()
        agent_response.raw_headers = response.raw_headers
        return agent_response

    # FastAPI resolves annotations among the names of this module
    respond.__annotations__["response"] = Response
    for route in (path, path + "/{rest:path}"):
        add_api_route(
            route,
            respond,
            methods=_METHODS,
            dependencies=dependencies,
            include_in_schema=False,
            response_model=None,
        )
