"""Cards of 0.3 whose URL for HTTP+JSON ends in the first step of its paths: the client finds the
agent in either reading.
"""

from __future__ import annotations

import json

import httpx
import pytest
from integration.outcome_agent import build_test_agent

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import Task
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient, ClientOptions, RetryPolicy
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio
URL = "http://agent.example"
CARD = "/.well-known/agent-card.json"


class CardWithPrefix(httpx.AsyncBaseTransport):
    """An agent of a web framework, whose card has one interface, at another URL."""

    def __init__(self, inner: httpx.AsyncBaseTransport, path: str, url: str) -> None:
        self._inner = inner
        self._path = path
        self._url = url
        self.paths: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Change the card; leave all else to the agent."""
        self.paths.append(request.url.path)
        if not request.url.path.startswith(
            (CARD, f"{self._path}/v1/")
        ) or request.url.path.startswith(f"{self._path}/v1/v1/"):
            return httpx.Response(404, json={"detail": "Not Found"})
        if request.url.path != CARD:
            return await self._inner.handle_async_request(request)
        card = httpx.Request("GET", f"{URL}{self._path}{CARD}", headers={"A2A-Version": "0.3"})
        response = await self._inner.handle_async_request(card)
        document = json.loads(await response.aread())
        return httpx.Response(
            200,
            json={
                **document,
                "url": self._url,
                "preferredTransport": "HTTP+JSON",
                "additionalInterfaces": [],
            },
        )


@pytest.mark.parametrize(
    "path", ["", "/v1"], ids=["the prefix is in the URL", "the agent is below the prefix"]
)
@pytest.mark.parametrize("first", ["send", "stream", "get"])
async def test_a_url_with_the_prefix(path: str, first: str) -> None:
    """The first request finds it out, whichever it is; an unknown task stays unknown."""
    surface = Surface(build_test_agent(), path, frozenset(("0.3",)))
    async with run_app(create_app(surface, settings=FAST_SETTINGS)) as inner:
        transport = CardWithPrefix(inner, path, f"{URL}/v1")
        options = ClientOptions(retry_policy=RetryPolicy(attempts=1))
        async with A2AClient(URL, transport=transport, options=options) as client:
            if first == "stream":
                assert [each async for each in client.stream("x")]
            elif first == "get":
                with pytest.raises(TaskNotFoundError):
                    await client.get("unknown")
            task = await client.send("x")
            assert isinstance(task, Task)
            assert (await client.get(task)).id == task.id
            with pytest.raises(TaskNotFoundError):
                await client.get("unknown")
    assert transport.paths[-1] == f"{path}/v1/tasks/unknown"
