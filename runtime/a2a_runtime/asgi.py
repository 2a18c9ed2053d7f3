"""Agents in front of an app of any ASGI framework, such as Django.

Loaded where the agents stand in front of another app of ASGI.

    application = with_agents(get_asgi_application(), "/agent", Surface(agent, caller=read_user))

Requests below the path go to the agents, all others to the app. The lifespan of the app runs around
that of the agents; an app without one, such as Django's, is served without.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, Unpack

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__):
    from litestar import Litestar

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.http.exposure import check_callers_are_known
from a2a_runtime.http.start_errors import describe_start_error
from a2a_runtime.plugin import HostedOptions, build_surfaces
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.surface import Surface

# pyright: reportUnknownMemberType=false
# Litestar's own types leave open what an app is called with.

AnyApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[object]]
"""An ASGI app, by whatever types its framework has for one."""


def build_agents(
    function: str,
    path: str,
    agents: Sequence[Surface | Agent],
    store: Store | str | None,
    settings: Settings | None,
    options: HostedOptions,
) -> Litestar:
    """Build the app of surfaces below a path of a host; each of them says who its callers are."""
    if not path.startswith("/") or path.endswith("/"):
        raise ValueError(
            f"{function}: {path!r} is not a path for agents; it begins with a slash and does "
            "not end with one"
        )
    surfaces = build_surfaces(function, agents, options)
    for surface in surfaces:
        check_callers_are_known(surface)
    return create_app(*surfaces, store=store, settings=settings)


def with_agents(
    host: AnyApp,
    path: str,
    /,
    *surfaces: Surface | Agent,
    store: Store | str | None = None,
    settings: Settings | None = None,
    **options: Unpack[HostedOptions],
) -> AgentsInFront:
    """Build an app that serves agents below a path, and another app everywhere else; the options
    are those of ``A2APlugin``.
    """
    return AgentsInFront(
        host, build_agents("with_agents", path, surfaces, store, settings, options), path
    )


class AgentsInFront:
    """ASGI app with agents below a path, and an app of a host everywhere else."""

    def __init__(self, host: AnyApp, agents: Litestar, path: str) -> None:
        self.agents = agents
        """The app of the agents, e.g. for ``local.connect``."""
        self._host = host
        self._mounted = BelowPath(agents, path)
        self._path = path

    # typed as Any, here and below: frameworks have types of their own
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Run the lifespan of both, or pass a request on."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
            return
        below = scope["path"].removeprefix(scope.get("root_path", ""))
        app = self._mounted if f"{below}/".startswith(f"{self._path}/") else self._host
        await app(scope, receive, send)

    async def _run_lifespan(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await receive()
        try:
            async with _run_host(self._host, scope), self.agents.lifespan():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except BaseException as error:
            message = describe_start_error(error) or str(error)
            await send({"type": "lifespan.startup.failed", "message": message})
            raise
        await send({"type": "lifespan.shutdown.complete"})


class BelowPath:
    """App below a path of a host, which sees the requests as a mount of Starlette passes them; also
    those to the path itself.
    """

    def __init__(self, app: AnyApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Call the app."""
        root = f"{scope.get('root_path', '')}{self._path}"
        path = scope["path"] if scope["path"].startswith(f"{root}/") else f"{root}/"
        await self._app({**scope, "root_path": root, "path": path}, receive, send)


@asynccontextmanager
async def _run_host(host: AnyApp, scope: Any) -> AsyncGenerator[None, None]:  # noqa: ANN401
    """Run the lifespan of an app; one that does not know this protocol raises at once, as ASGI
    allows.
    """
    events = asyncio.Queue[dict[str, str]]()
    replies = asyncio.Queue[dict[str, str]]()
    await events.put({"type": "lifespan.startup"})
    task: asyncio.Future[object] = asyncio.ensure_future(host(scope, events.get, replies.put))
    if await _await_reply(task, replies) is None:
        # it has no lifespan: reading the exception keeps asyncio from logging it
        task.exception()
        yield
        return
    yield
    await events.put({"type": "lifespan.shutdown"})
    await _await_reply(task, replies)
    await asyncio.wait([task])
    task.result()


async def _await_reply(
    task: asyncio.Future[object], replies: asyncio.Queue[dict[str, str]]
) -> dict[str, str] | None:
    reply = asyncio.ensure_future(replies.get())
    waiting: tuple[asyncio.Future[Any], ...] = (task, reply)
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not reply.done():
        reply.cancel()
        return None
    if reply.result()["type"].endswith("failed"):
        await asyncio.wait([task])
        raise RuntimeError(
            f"lifespan of the host: {reply.result().get('message') or 'failed'}; its own log "
            "has more"
        ) from task.exception()
    return reply.result()
