"""Watches of the health of a gRPC port, which need no credentials."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from integration.features.grpc.calls import serve_agent
from integration.outcome_agent import build_test_agent

from a2a_runtime.features.grpc.messages import encode_message

pytestmark = pytest.mark.anyio
HEALTH = "/grpc.health.v1.Health/"


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


async def test_watches_are_limited() -> None:
    """Those of one address: the next one is refused until one of them ends, and other calls are
    served.
    """
    request = encode_message("grpc.health.v1.HealthCheckRequest", {"service": ""})
    async with serve_agent(build_test_agent()) as client:
        open_watch = client.channel.unary_stream(f"{HEALTH}Watch")
        watches = [open_watch(request) for _ in range(100)]
        for watch in watches:
            assert await watch.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await open_watch(request).read()
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await client.send("x")
        watches.pop().cancel()
        async with asyncio.timeout(30):
            while not await can_read(open_watch(request)):
                pass


async def can_read(watch: grpc.aio.UnaryStreamCall[bytes, bytes]) -> bool:
    """Read the first message of a stream, if it is not refused."""
    try:
        return bool(await watch.read())
    except grpc.aio.AioRpcError:
        return False
