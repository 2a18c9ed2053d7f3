"""An MCP server beside an agent, on the same app.

    app = create_app(Surface(agent, gate=…))
    mount_mcp(app)                                  https://…/mcp

Each request is admitted as one of the agent: origin policy, gate, limits and audit log are those of
its surface, and a call runs in the name of the caller that the gate has found. Sessions of the
older protocol belong to their caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__, "mcp"):
    import mcp_types as mt
    from mcp import MCPError
    from mcp.server import Server
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from litestar import Litestar, asgi
from litestar.types import Receive, Scope, Send

from a2a_contract.errors import A2AError
from a2a_contract.operations import CANCEL_TASK, GET_TASK, SEND_MESSAGE
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.origin import Origin, current_origin
from a2a_runtime.features.mcp.server.long_tools import TASKS, TaskParams, UpdateTaskParams
from a2a_runtime.features.mcp.server.results import build_error_result
from a2a_runtime.features.mcp.server.sessions import CallerSessions
from a2a_runtime.features.mcp.server.tools import SkillTools, ToolAnswer
from a2a_runtime.features.remote_tools import RemoteTools
from a2a_runtime.http.asgi import HttpRequest, drop_unreadable, replay_body
from a2a_runtime.http.dispatcher import Dispatcher, Endpoint
from a2a_runtime.local import connect
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.ports.feature import AppParts, Feature, RunningApp
from a2a_runtime.service.context import ProtocolBinding

DEFAULT_PATH = "/mcp"
_CALLER = "a2a_caller"
_REQUEST = "a2a_request"
_TRACE = (b"traceparent", b"tracestate")
_CALL, _GET, _CANCEL = (
    str(each.model_fields["method"].default)
    for each in (mt.CallToolRequest, mt.GetTaskRequest, mt.CancelTaskRequest)
)
_UPDATE = "tasks/update"
_OPERATIONS = {_CALL: SEND_MESSAGE, _GET: GET_TASK, _UPDATE: SEND_MESSAGE, _CANCEL: CANCEL_TASK}
"""The operation of the agent that a request stands for."""

log = logging.getLogger(__name__)


class McpFeature(Feature):
    """Tells the clients of an MCP server that its tools have changed."""

    def __init__(self, parts: AppParts, endpoint: McpEndpoint) -> None:
        super().__init__(parts)
        self._endpoint = endpoint

    def skills_changed(self, running: RunningApp) -> None:  # noqa: ARG002 - the endpoint knows its surface
        """Announce a change."""
        self._endpoint.announce_change()


def mount_mcp(app: Litestar, path: str = DEFAULT_PATH, *, agent: str | None = None) -> None:
    """Mount an MCP server with the skills of the agent at a path of an app; without one, of the
    only agent.
    """
    plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    if plugin is None:
        raise ValueError(
            "mount_mcp: the app has no A2APlugin; pass an app of create_app, or one with the plugin"
        )
    found = [each for each in plugin.surfaces if agent is None or each.path == agent.rstrip("/")]
    if len(found) != 1:
        paths = ", ".join(each.path or "/" for each in plugin.surfaces)
        problem = "the app has several agents" if agent is None else "no agent at this path"
        raise ValueError(f"mount_mcp: {problem}; pass agent= one of {paths}")
    surface = found[0]

    def connect_as(caller: Caller) -> RemoteTools:
        return RemoteTools.over(connect(app, caller, surface.path))

    endpoint = McpEndpoint(plugin.get_dispatcher(surface.path), SkillTools(surface, connect_as))
    plugin.features.append(McpFeature(plugin.parts, endpoint))

    @asgi(path, copy_scope=True)
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await endpoint(scope, receive, send)

    app.register(serve)
    app.on_shutdown.append(endpoint.stop)


class McpEndpoint(Endpoint):
    """The ASGI app of an MCP server.

    Its session manager runs in a task of its own, from the first request to the end of the app.
    """

    binding = ProtocolBinding.JSONRPC

    def __init__(self, dispatcher: Dispatcher, tools: SkillTools) -> None:
        super().__init__(dispatcher)
        self._tools = tools
        self._sessions = CallerSessions(dispatcher.streams)
        self._changes = InMemorySubscriptionBus()
        self._announcements: set[asyncio.Task[None]] = set()
        self._stopped = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._started: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def handle(self, request: HttpRequest) -> None:
        """Admit a request, and let the server answer it."""
        caller = await self.dispatcher.admit(request)
        scope: Any = request.scope
        receive: Any = request.receive
        body = b""
        if scope["method"] == "POST":
            body = drop_unreadable(await self.dispatcher.read_body(request))
            receive = replay_body(body, receive)
        scope["state"] = {**scope.get("state", {}), _CALLER: caller, _REQUEST: request}
        if caller.owner:
            token = AccessToken(
                token="",
                client_id=caller.owner,
                scopes=sorted(caller.scopes),
                subject=caller.subject,
            )
            scope["user"] = AuthenticatedUser(token)
        manager = await self._start()
        # Nothing public names the sessions.
        sessions = manager._server_instances  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        with self._sessions.hold(request, caller, body, sessions) as observe:

            async def send(message: Any) -> None:  # noqa: ANN401 - of ASGI
                request.has_started_response = True
                observe(message)
                await request.send(message)

            await manager.handle_request(scope, receive, send)

    def announce_change(self) -> None:
        """Tell those who listen that the list of tools has changed; clients of the older protocol
        list them again by themselves.
        """
        task = asyncio.create_task(self._changes.publish(ToolsListChanged()))
        self._announcements.add(task)
        task.add_done_callback(self._announcements.discard)

    async def stop(self) -> None:
        """End all sessions."""
        if (owner := self._owner) is not None:
            self._owner = self._started = None
            self._stopped.set()
            await asyncio.wait([owner])

    async def _start(self) -> StreamableHTTPSessionManager:
        """Start a session manager once for all requests; one runs only once."""
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._stopped.clear()
            self._owner = asyncio.create_task(self._run(self._started))
        return await asyncio.shield(self._started)

    async def _run(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        manager = StreamableHTTPSessionManager(
            self._build_server(), max_request_body_size=self.dispatcher.surface.limits.body_bytes
        )
        async with manager.run():
            started.set_result(manager)
            await self._stopped.wait()

    def _build_server(self) -> Server[Any]:
        agent = self.dispatcher.surface.agent
        server = Server[Any](
            agent.name,
            version=agent.version,
            description=agent.description or None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._changes),
        )
        server.extensions = {TASKS: {}}
        server.add_request_handler(_GET, TaskParams, self._get_task)
        server.add_request_handler(_UPDATE, UpdateTaskParams, self._update_task)
        server.add_request_handler(_CANCEL, TaskParams, self._cancel_task)
        return server

    async def _list_tools(
        self,
        context: Any,  # noqa: ANN401 - of the library
        _params: object,
    ) -> mt.ListToolsResult:
        return self._tools.list_tools(_find_caller(context))

    # The result is one of the library, or a handle: a dictionary.
    async def _call_tool(
        self,
        context: Any,  # noqa: ANN401 - of the library
        params: mt.CallToolRequestParams,
    ) -> Any:  # noqa: ANN401 - as said above
        return await self._guard(context, lambda caller: self._tools.call(context, params, caller))

    async def _get_task(self, context: Any, params: TaskParams) -> Any:  # noqa: ANN401 - as above
        return await self._guard(
            context, lambda caller: self._tools.get_task(context, params, caller)
        )

    async def _update_task(
        self,
        context: Any,  # noqa: ANN401 - of the library
        params: UpdateTaskParams,
    ) -> Any:  # noqa: ANN401 - as above
        return await self._guard(context, lambda caller: self._tools.update_task(params, caller))

    async def _cancel_task(
        self,
        context: Any,  # noqa: ANN401 - of the library
        params: TaskParams,
    ) -> Any:  # noqa: ANN401 - as above
        return await self._guard(context, lambda caller: self._tools.cancel_task(params, caller))

    async def _guard(
        self,
        context: Any,  # noqa: ANN401 - as above
        call: Callable[[Caller], Awaitable[ToolAnswer]],
    ) -> ToolAnswer:
        """Make a call within the rates of its operation and in its chain of agents; no exception
        leaves with its text.
        """
        caller = _find_caller(context)
        operation = _OPERATIONS[context.method]
        current_origin.set(_build_origin(context))
        try:
            await self.dispatcher.check_rate(
                context.request.scope["state"][_REQUEST], operation, caller
            )
            return await call(caller)
        except A2AError as error:
            if context.method == _CALL:
                return build_error_result(str(error))
            raise MCPError(code=mt.INVALID_PARAMS, message=str(error)) from error
        except MCPError:
            raise
        # The edge: the library would send the text of any exception to older clients.
        except Exception as error:
            log.exception("request failed: %s", context.method)
            raise MCPError(code=mt.INTERNAL_ERROR, message="Internal error") from error


def _find_caller(context: Any) -> Caller:  # noqa: ANN401 - as above
    caller: Caller = context.request.scope["state"][_CALLER]
    return caller


def _build_origin(context: Any) -> Origin:  # noqa: ANN401 - as above
    """Build the origin of a call: that of its request, with the trace in the metadata of the call
    if it has one.
    """
    headers = dict(context.request.scope["headers"])
    meta: Mapping[str, object] = context.meta or {}
    traced = {name: str(meta[name.decode()]).encode() for name in _TRACE if name.decode() in meta}
    return Origin.parse({**headers, **traced})
