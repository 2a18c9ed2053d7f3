"""One connection to an MCP server, used by all calls: opened and closed in one task, and opened
again when it is lost.

Questions over stdio, before 2026-07-28, name no call. Then no further call begins until all but the
asking one have ended. A question that still belongs to several calls is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import anyio
import mcp_types as mt
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import SubscriptionLost

from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.mcp.source.calls import ElicitParams, ToolCall, ToolResult, current_call
from a2a_runtime.features.mcp.source.transport import Command, Url

SESSION_LOST = frozenset({"Session not found", "Session terminated"})
"""Messages of a server that has forgotten the session: it has not run the call."""
FIRST_STATELESS = "2026"
"""Begin of the first version of the protocol without sessions."""

_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_CALL_WAIT_SECONDS = 10.0
"""Time that a call waits for a connection that is being opened again."""
_MAX_PAGES = 100

log = logging.getLogger(__name__)


class NotConnectedError(ConnectionError):
    """There is no connection; the call was not sent."""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """Arguments of a call; ``responses`` and ``state`` go on with an earlier call that has ended
    with questions.
    """

    name: str
    arguments: Mapping[str, Any]
    responses: Mapping[str, mt.ElicitResult] | None = None
    state: str | None = None
    trace: Mapping[str, str] | None = None


class McpConnection:
    """A connection to one server."""

    def __init__(
        self, server: Command | Url, connect_timeout: float, on_change: Callable[[], None]
    ) -> None:
        self._server = server
        self._connect_timeout = connect_timeout
        self._on_change = on_change
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._dropped = asyncio.Event()
        self._is_closing = self._was_up = False
        self._error: BaseException | None = None
        self._owner: asyncio.Task[None] | None = None
        self._calls: set[ToolCall] = set()
        self._unattributed = 0
        self._calls_changed = asyncio.Condition()

    def __str__(self) -> str:
        return f"MCP server {str(self._server)!r}"

    async def open(self) -> None:
        """Connect, or raise ``SkillSourceError``."""
        opened = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._keep_connected(opened))
        try:
            await opened
        except (Exception, asyncio.CancelledError) as error:
            await self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise SkillSourceError(
                f"{self}: cannot be reached: {describe_error(error)}; start it, or correct "
                "its command or URL"
            ) from error

    async def close(self) -> None:
        """Disconnect; calls in flight end with an error."""
        if (owner := self._owner) is not None:
            self._is_closing = True
            self._owner = None
            self._dropped.set()
            if self._client is None:  # being opened, which may take long
                owner.cancel()
            await asyncio.wait([owner])

    async def list_tools(self) -> Sequence[mt.Tool]:
        """List all pages of tools."""
        client = await self._wait_connected()
        found = list[mt.Tool]()
        cursor = None
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found
        raise SkillSourceError(
            f"{self}: its list of tools has more than {_MAX_PAGES} pages; name those that "
            "you need with include=[…]"
        )

    async def call_tool(self, call: ToolCall, request: ToolRequest) -> ToolResult:
        """Call a tool. ``NotConnectedError``: the server has not seen the call."""
        client = await self._wait_connected()
        async with self._in_flight(call):
            try:
                return await self._send(client, call, request)
            except MCPError as error:
                if (
                    error.message in SESSION_LOST or error.code == mt.CONNECTION_CLOSED
                ) and self._client is client:
                    self._drop()
                if error.message in SESSION_LOST:
                    raise NotConnectedError(error.message) from error
                # The server has refused a call with the schema that it had before.
                if error.code == mt.HEADER_MISMATCH:
                    await self.list_tools()
                    return await self._send(client, call, request)
                raise
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise MCPError(code=mt.CONNECTION_CLOSED, message="Connection closed") from error

    async def read_resource(self, uri: str) -> mt.ReadResourceResult:
        """Read a resource."""
        return await (await self._wait_connected()).read_resource(uri)

    async def _send(self, client: Client, call: ToolCall, request: ToolRequest) -> ToolResult:
        # A trace has members that the type does not name.
        meta: Any = dict(request.trace) if request.trace else None
        return await client.session.call_tool(
            request.name,
            dict(request.arguments),
            progress_callback=call.report_progress,
            input_responses=None if request.responses is None else {**request.responses},
            request_state=request.state,
            meta=meta,
            allow_input_required=True,
        )

    async def _wait_connected(self) -> Client:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALL_WAIT_SECONDS):
                while self._client is None:
                    await self._up.wait()
        if self._client is None:
            reason = describe_error(self._error) if self._error else "closed"
            raise NotConnectedError(f"not connected: {reason}")
        return self._client

    def _drop(self) -> None:
        """Give a connection up that is of no use any more: calls wait for the next one from now
        on.
        """
        self._client = None
        self._up.clear()
        self._dropped.set()

    # --- the owner of the connection --------------------------------------------------------------

    async def _keep_connected(self, opened: asyncio.Future[None]) -> None:
        """Open the connection again and again.

        A transport that crashes cancels only the task of its life.
        """
        pauses = iter(_PAUSES)
        while not self._is_closing:
            life = asyncio.create_task(self._live(opened))
            try:
                await asyncio.wait([life])
            except asyncio.CancelledError:
                life.cancel()
                await asyncio.wait([life])
                return
            self._error = None if life.cancelled() else life.exception()
            if not opened.done():
                opened.set_exception(
                    self._error or ConnectionError("the connection was closed at once")
                )
                return
            if self._was_up:
                pauses = iter(_PAUSES)
            self._was_up = False
            self._client = None
            self._up.clear()
            if not self._is_closing:
                reason = describe_error(self._error) if self._error else "it was closed"
                log.warning("%s: connection lost, opened again: %s", self, reason)
                await self._pause(next(pauses, _PAUSES[-1]))

    async def _pause(self, seconds: float) -> None:
        self._dropped.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._dropped.wait()

    async def _live(self, opened: asyncio.Future[None]) -> None:
        self._dropped.clear()
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._connect_timeout):
                client = await stack.enter_async_context(self._build_client())
            stack.push_async_callback(_stop, asyncio.create_task(self._follow_changes(client)))
            self._client = client
            self._was_up = True
            self._up.set()
            if opened.done():
                self._on_change()
            else:
                opened.set_result(None)
            if not self._is_closing:
                await self._dropped.wait()

    def _build_client(self) -> Client:
        return Client(
            self._server.connect(self._drop),
            elicitation_callback=self._elicit,
            message_handler=self._handle_message,
        )

    async def _handle_message(self, message: Any) -> None:  # noqa: ANN401 - messages and exceptions
        if isinstance(message, mt.ToolListChangedNotification):
            self._on_change()

    async def _follow_changes(self, client: Client) -> None:
        """Follow the changes of the list at a server without sessions."""
        tools = client.server_capabilities.tools
        if client.protocol_version < FIRST_STATELESS or tools is None or not tools.list_changed:
            return
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    # A subscription does not repeat what was before.
                    self._on_change()
                    async for _ in changes:
                        self._on_change()
            except (MCPError, SubscriptionLost) as error:
                log.debug("%s: changes of its list are not followed: %s", self, error)
            await asyncio.sleep(pause)

    # --- questions within calls -------------------------------------------------------------------

    @asynccontextmanager
    async def _in_flight(self, call: ToolCall) -> AsyncGenerator[None]:
        async with self._calls_changed:
            await self._calls_changed.wait_for(lambda: not self._unattributed)
            self._calls.add(call)
        try:
            yield
        finally:
            self._calls.discard(call)
            await self._notify()

    async def _notify(self) -> None:
        async with self._calls_changed:
            self._calls_changed.notify_all()

    async def _elicit(
        self, context: ClientRequestContext, params: ElicitParams
    ) -> mt.ElicitResult | mt.ErrorData:
        """Ask the caller of the call that a question belongs to."""
        del context
        call = None
        if self._server.has_contexts:
            call = current_call.get()
        if call is None:
            call = await self._attribute()
        if call is None:
            log.warning(
                (
                    "question refused: %s may have asked it for several calls; use HTTP, or a "
                    "source for each tool that asks"
                ),
                self,
            )
            return mt.ErrorData(
                code=mt.INVALID_REQUEST,
                message="The question may belong to several calls: ask one at a time, or over HTTP",
            )
        try:
            return await call.ask(params)
        finally:
            await self._notify()

    async def _attribute(self) -> ToolCall | None:
        """Find the only call that a question can belong to; ``None`` if as many questions wait as
        calls.
        """
        self._unattributed += 1
        try:
            async with self._calls_changed:
                self._calls_changed.notify_all()
                await self._calls_changed.wait_for(
                    lambda: len(self._list_silent()) <= self._unattributed
                )
                silent = self._list_silent()
                if len(silent) == 1 and self._unattributed == 1:
                    return silent[0]
                return None
        finally:
            self._unattributed -= 1
            await self._notify()

    def _list_silent(self) -> Sequence[ToolCall]:
        return [each for each in self._calls if each.question is None]


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("changes of the list were not followed to the end: %s", error)


def describe_error(error: BaseException) -> str:
    """Describe the first cause in a group of exceptions."""
    nested: tuple[BaseException, ...] = ()
    if isinstance(error, BaseExceptionGroup):
        nested = error.exceptions
    if nested:
        return describe_error(nested[0])
    if isinstance(error, TimeoutError):
        return str(error) or "no answer in time"
    return str(error) or type(error).__name__
