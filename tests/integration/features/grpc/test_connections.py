"""Connections to a gRPC server: silent, slow and idle ones, and other protocols."""

from __future__ import annotations

import asyncio
import socket
import time

import grpc
import pytest
from integration.features.grpc.calls import CallClient, build_send, serve_agent
from integration.grpc_overlay import find_free_address
from integration.outcome_agent import BlockingHandler, build_test_agent

from a2a_runtime.features.grpc.options import GrpcOptions

pytestmark = pytest.mark.anyio


async def test_silent_connections_are_closed() -> None:
    """One that never begins HTTP/2 after the handshake timeout; a hundred of them delay no other
    client.
    """
    options = GrpcOptions(find_free_address(), handshake_timeout=0.5)
    host, _, port = options.address.partition(":")
    async with serve_agent(build_test_agent(), options) as client:
        silent = [socket.create_connection((host, int(port))) for _ in range(100)]
        try:
            await client.send("x")
            silent[0].settimeout(10)
            closed = await asyncio.to_thread(read_to_end, silent[0])
            assert closed
        finally:
            for each in silent:
                each.close()


def read_to_end(connection: socket.socket) -> bool:
    """Read until the server closes the connection."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


async def test_a_reader_that_stops_reading_delays_no_other_call() -> None:
    """Its stream waits for room; other calls are served, and the server stops within its grace."""
    began = time.monotonic()
    async with serve_agent(
        build_test_agent(BlockingHandler()), GrpcOptions(find_free_address(), grace=0.5)
    ) as client:
        slow = CallClient(client.address, **{"http2.lookahead_bytes": 1})
        call, _ = slow.open("SendStreamingMessage", build_send("20000", "count"))
        await call.initial_metadata()
        for _ in range(5):
            await client.send("x")
        call.cancel()
        await slow.channel.close()
    assert time.monotonic() - began < 20


async def test_one_connection_has_so_many_calls() -> None:
    """Others wait at their client until one has ended; another connection is not concerned."""
    async with serve_agent(
        build_test_agent(), GrpcOptions(find_free_address(), calls_per_connection=1)
    ) as client:
        stream = client.stream("SendStreamingMessage", build_send("x", "wait"))
        await anext(stream)
        waiting = asyncio.create_task(client.send("x"))
        async with CallClient(client.address, use_local_subchannel_pool=1) as other:
            for _ in range(10):
                await other.send("x")
        assert not waiting.done()
        await stream.aclose()
        assert (await waiting)["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_idle_connections_are_closed() -> None:
    """The client connects again with its next call."""
    async with (
        serve_agent(
            build_test_agent(), GrpcOptions(find_free_address(), idle_timeout=0.2)
        ) as client,
        asyncio.timeout(30),
    ):
        for _ in range(2):
            await client.send("x")
            while client.channel.get_state() is grpc.ChannelConnectivity.READY:
                await client.channel.wait_for_state_change(grpc.ChannelConnectivity.READY)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        bytes(1000),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000,
    ],
)
async def test_what_is_no_http_2_is_closed(data: bytes) -> None:
    """Connections of other protocols are closed silently, and others are served."""
    async with serve_agent(build_test_agent()) as client:
        host, _, port = client.address.partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.settimeout(30)
            connection.sendall(data)
            assert await asyncio.to_thread(read_to_end, connection)
        await client.send("x")
