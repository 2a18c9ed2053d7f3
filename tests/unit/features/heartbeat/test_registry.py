"""Responses of a registry."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing, suppress

import httpx
import pytest

from a2a_contract.mesh import AgentRegistration
from a2a_runtime.features.heartbeat.loop import RegistryClient
from a2a_runtime.features.heartbeat.schedule import HeartbeatResult

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            httpx.Response(
                200, headers={"content-encoding": "gzip"}, content=gzip.compress(b" " * 5_000_000)
            ),
            "compressed",
        ),
        (httpx.Response(200, content=b" " * 2_000_000), "too large"),
    ],
    ids=["compressed", "large"],
)
async def test_large_and_compressed_responses_are_rejected(
    answer: httpx.Response, said: str
) -> None:
    """A response is read uncompressed up to 1 MiB; any other counts as unavailable."""
    encodings = list[str]()

    async def answer_request(request: httpx.Request) -> httpx.Response:
        encodings.append(request.headers["accept-encoding"])
        return answer

    async with aclosing(
        RegistryClient("http://registry", httpx.MockTransport(answer_request))
    ) as registry:
        response = await registry.renew("an-agent")
    assert (response.result, said in response.reason) == (HeartbeatResult.UNAVAILABLE, True)
    assert encodings == ["identity"]


async def test_a_registry_that_drips_is_given_up() -> None:
    """The time is that of the whole answer, not of a pause in it."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(500):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        gone.set()

    gone = asyncio.Event()
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, aclosing(RegistryClient(url, answer_seconds=0.2)) as registry:
        response = await registry.register(AgentRegistration(agent_id="an-agent", tools=[]))
        await gone.wait()
    assert (response.result, response.reason) == (
        HeartbeatResult.UNAVAILABLE,
        "no complete answer in 0.2 s",
    )
