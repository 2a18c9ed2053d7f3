"""Calls of an MCP server beside an agent that no client library would make."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from integration.features.mcp.toolbox import serve_app

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.mcp import mount_mcp
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.ports import find_free_port

pytestmark = pytest.mark.anyio

VERSION = "2026-07-28"
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-method": "tools/call",
    "mcp-name": "shout",
    "mcp-protocol-version": VERSION,
}
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def serve(limits: Limits) -> AsyncGenerator[httpx2.AsyncClient]:
    """Serve an agent with an MCP server beside it, and give a client of it."""
    agent = Agent("office")
    port = find_free_port()

    @agent.skill("shout")
    async def shout(ctx: TaskContext) -> str:
        return ctx.text.upper()

    app = create_app(Surface(agent, limits=limits), settings=FAST_SETTINGS, store="memory")
    mount_mcp(app)
    async with (
        serve_app(app, port),
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=HEADERS) as http,
        asyncio.timeout(30),
    ):
        yield http


def build_call(arguments: str, **params: str) -> bytes:
    """Write a call of a tool, with arguments that need not be JSON."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "shout", **params, "arguments": 0, "_meta": META},
        }
    )
    return body.replace('"arguments": 0', f'"arguments": {arguments}').encode()


async def test_bad_input_is_not_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    """Texts that nothing after the library carries, and ids that no task has, are the fault of the
    client: nothing is logged.
    """
    async with serve(Limits()) as http:
        response = await http.post("/mcp", content=build_call('{"message": "tea"}'))
        assert response.json()["result"]["content"][0]["text"] == "TEA"
        for arguments in (r'{"message": "\ud800"}', '{"message": NaN}', "[" * 3000 + "]" * 3000):
            refused = await http.post("/mcp", content=build_call(arguments))
            assert (refused.status_code, refused.json()["error"]["message"]) == (400, "Parse error")
        refused = await http.post("/mcp", content=build_call("{}", requestState="\0"))
        assert refused.json()["result"]["content"][0]["text"] == "Task not found"
    assert not [record for record in caplog.records if record.exc_info]


async def test_bodies_are_limited_as_those_of_the_agent() -> None:
    """The limits of the agent for the size and the time of a body hold for MCP too."""

    async def trickle() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(1)

    async with serve(Limits(body_bytes=1000, body_seconds=0.2)) as http:
        large = build_call(json.dumps({"message": "x" * 1000}))
        assert (await http.post("/mcp", content=large)).status_code == 413
        assert (await http.post("/mcp", content=trickle())).status_code == 408
