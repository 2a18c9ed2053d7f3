"""Limits of what a caller keeps open at the MCP server beside an agent."""

from __future__ import annotations

import httpx2
import pytest
from integration.features.mcp.test_mounted import KEYS, World, initialize, list_tools, open_session

from a2a_runtime.auth.authenticators import ApiKeyAuthenticator
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Limits

pytestmark = pytest.mark.anyio


async def test_sessions_and_streams_of_a_caller_are_limited() -> None:
    """With the limit of streams of the agent: 429 beyond, until one is ended; others are not
    concerned.
    """
    world = World()
    async with (
        world.serve(AuthGate(ApiKeyAuthenticator(KEYS)), Limits(streams=2)),
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{world.port}") as http,
    ):
        one, two = [await open_session(http, "k-ada") for _ in range(2)]
        assert (await initialize(http, "k-ada")).status_code == 429
        assert await open_session(http, "k-eve")
        headers = {"x-api-key": "k-ada", "accept": "text/event-stream", "mcp-session-id": one}
        other = {**headers, "mcp-session-id": two}
        async with (
            http.stream("GET", "/mcp", headers=headers) as first,
            http.stream("GET", "/mcp", headers=other) as second,
        ):
            assert (first.status_code, second.status_code) == (200, 200)
            assert (await http.get("/mcp", headers=headers)).status_code == 429
            assert (await list_tools(http, "k-ada", two)).status_code == 200
        assert (await http.delete("/mcp", headers=headers)).status_code == 200
        assert await open_session(http, "k-ada")
