"""Servers of tools: of the official library over HTTP, of npm, and one written by hand that speaks
only the protocol of 2025-11-25.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as mt
import uvicorn
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from peers.environments import environment

from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient
from a2a_runtime.engine.handlers.results import to_parts
from a2a_runtime.features.mcp import McpSource
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app
from a2a_runtime.testing.ports import find_free_port

URL = "http://agent"
NO_INPUT: dict[str, Any] = {"type": "object"}
NUMBERS = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"$ref": "#/definitions/number"}, "b": {"$ref": "#/definitions/number"}},
    "required": ["a", "b"],
    "definitions": {"number": {"type": "integer"}},
}
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
HANDSHAKE_SERVER = (sys.executable, str(Path(__file__).with_name("stdio_server.py")))
Call = Callable[[Any, mt.CallToolRequestParams], Awaitable[Any]]


def find_reference_server() -> tuple[str, ...]:
    """Return the command of the server from npm."""
    folder = environment("mcp-everything-2026.8.31").interpreter.parent
    return (
        "node",
        str(folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
        "stdio",
    )


def form(**properties: object) -> mt.ElicitRequest:
    """Make a question with a form."""
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return mt.ElicitRequest(
        params=mt.ElicitRequestFormParams(
            message=f"Please give {' and '.join(properties)}", requested_schema=schema
        )
    )


def text(value: object) -> mt.CallToolResult:
    """Make a result of one text."""
    return mt.CallToolResult(content=[mt.TextContent(text=str(value))])


class Toolbox:
    """Tools of the official library; tests add those that they need."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[mt.Tool, Call]] = {}
        self._bus = InMemorySubscriptionBus()
        self.calls: list[str] = []
        self.server = Server(
            "toolbox",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.port = find_free_port()

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def add(
        self,
        name: str,
        call: Call,
        **members: Any,  # noqa: ANN401 - members of a tool
    ) -> None:
        """Add a tool."""
        self._tools[name] = (mt.Tool(name=name, **{"input_schema": NO_INPUT, **members}), call)

    async def announce(self) -> None:
        """Say that the list has changed."""
        await self._bus.publish(ToolsListChanged())

    async def _list(
        self, _ctx: object, params: mt.PaginatedRequestParams | None
    ) -> mt.ListToolsResult:
        """List one tool on each page."""
        names = [*self._tools]
        at = int((params and params.cursor) or 0)
        page = [self._tools[name][0] for name in names[at : at + 1]]
        return mt.ListToolsResult(
            tools=page, next_cursor=str(at + 1) if at + 1 < len(names) else None
        )

    async def _call(
        self,
        ctx: Any,  # noqa: ANN401 - of the library
        params: mt.CallToolRequestParams,
    ) -> Any:  # noqa: ANN401 - of the library
        self.calls.append(params.name)
        return await self._tools[params.name][1](ctx, params)

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None]:
        """Serve over HTTP; a second time as a restarted process would."""
        async with serve_app(self.server.streamable_http_app(), self.port):
            yield


@asynccontextmanager
async def serve_app(app: Any, port: int) -> AsyncGenerator[None]:  # noqa: ANN401 - any ASGI app
    """Serve an app over HTTP."""
    process = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=port, log_config=None, timeout_graceful_shutdown=0
        )
    )
    serving = asyncio.create_task(process._serve())
    async with asyncio.timeout(30):
        while not process.started:
            assert not serving.done(), serving
            await asyncio.sleep(0.005)
    try:
        yield
    finally:
        process.should_exit = True
        await serving


@asynccontextmanager
async def agent_of(*sources: McpSource) -> AsyncGenerator[A2AClient]:
    """Serve an agent of sources, and give a client of it."""
    app = create_app(Agent("toolbox", sources=sources), settings=FAST_SETTINGS, store="memory")
    async with run_app(app) as transport, A2AClient(URL, transport=transport) as client:
        yield client


@asynccontextmanager
async def http_of(*sources: McpSource) -> AsyncGenerator[httpx.AsyncClient]:
    """Serve an agent of sources, and give plain HTTP to it."""
    app = create_app(Agent("toolbox", sources=sources), settings=FAST_SETTINGS, store="memory")
    async with (
        run_app(app) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as client,
    ):
        yield client


def message(skill: str, value: object = None, task: Task | None = None) -> Message:
    """Make a message to a skill, or to a task."""
    parts = [Part(data={})] if value is None else to_parts(value)
    return Message(
        message_id=f"m-{id(parts)}",
        role=Role.USER,
        parts=parts,
        task_id=task.id if task else None,
        metadata={"skillId": skill},
    )


async def call(
    client: A2AClient, skill: str, value: object = None, task: Task | None = None
) -> Task:
    """Call a skill, or answer the question of a task."""
    answer = await client.send(message(skill, value, task))
    assert isinstance(answer, Task)
    return answer


def outcome(task: Task) -> tuple[str, object]:
    """Show the state of a task, and its first output or what its status says."""
    output: object = None
    parts = [part for artifact in task.artifacts or [] for part in artifact.parts]
    if parts:
        contents = (parts[0].text, parts[0].data, parts[0].raw)
        output = next((content for content in contents if content is not None), None)
    elif task.status.message:
        output = "".join(part.text or "" for part in task.status.message.parts)
    return task.status.state.name.removeprefix("TASK_STATE_"), output
