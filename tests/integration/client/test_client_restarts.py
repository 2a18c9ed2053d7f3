"""Agents that restart while their streams are read, and calls whose attempts take time: on sockets,
with a clock whose waits take no time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from integration.client.bad_server import NEW, BadServer, answer, frames, stream, wrap_result

from a2a_contract.errors import UnavailableError
from a2a_contract.v1_0 import Task
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.client import A2AClient, ClientOptions, RetryPolicy, StreamLostError

pytestmark = pytest.mark.anyio

TASK = b'{"id":"t","status":{"state":"TASK_STATE_WORKING"}}'
WORKING = b'{"task":%b}' % TASK
DONE = b'{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}'


class PassingClock(SystemClock):
    """Clock whose waits take no time, and after each of which something may happen."""

    def __init__(self, on_wait: Callable[[float], Awaitable[None]] | None = None) -> None:
        self._now = 100.0
        self._on_wait = on_wait

    def monotonic(self) -> float:
        """Return the sum of the waits."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self._now += seconds
        if self._on_wait is not None:
            await self._on_wait(self._now - 100.0)


class RestartingAgent:
    """An agent that breaks a stream after its first event, is away for some seconds, and ends the
    task when it is back.
    """

    def __init__(self, away_seconds: float, gateway: bytes | None = None) -> None:
        self.away_seconds = away_seconds
        self.gateway = gateway
        self.away_for = 0.0
        self.requests = list[bytes]()
        self._server: asyncio.Server | None = None
        self._port = 0

    async def start(self) -> str:
        """Listen, on the same port each time."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{self._port}/"

    def stop(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def let_pass(self, seconds: float) -> None:
        """Come back as soon as the time is over."""
        self.away_for = seconds
        if seconds >= self.away_seconds and self._server is None:
            await self.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        if len(self.requests) == 1:
            writer.write(stream(more=b"id: 7\n" + frames(WORKING)))
            if self.gateway is None:
                self.stop()
        elif self.away_for < self.away_seconds and self.gateway is not None:
            writer.write(self.gateway)
        else:
            writer.write(stream(DONE))
        await writer.drain()
        writer.close()


async def follow(agent: RestartingAgent, policy: RetryPolicy) -> list[str]:
    """Stream, and name the states."""
    url = await agent.start()
    options = ClientOptions(
        pin=NEW, interface_url=url, retry_policy=policy, clock=PassingClock(agent.let_pass)
    )
    try:
        async with A2AClient(url, options=options) as client:
            events = [event async for event in client.stream("hello")]
    finally:
        agent.stop()
    return [event.status.state.name for event in events if hasattr(event, "status")]


@pytest.mark.parametrize(
    "gateway",
    [None, answer(b"<html>", "502 Bad Gateway", "text/html"), answer(b"", "503 Busy")],
    ids=["refused", "502", "503"],
)
async def test_a_stream_outlasts_a_restart(gateway: bytes | None) -> None:
    """An agent, or the proxy before it, that is away for many seconds is found again, and the
    stream goes on after its last event.
    """
    agent = RestartingAgent(25.0, gateway)
    assert await follow(agent, RetryPolicy()) == ["WORKING", "COMPLETED"]
    assert b"last-event-id: 7" in agent.requests[1].lower()
    assert agent.away_for < 28.0  # the waits stay short


async def test_an_agent_that_is_there_gets_few_requests() -> None:
    """One that ends its streams again and again, without anything new, is given up after the
    attempts of the policy.
    """
    clock = PassingClock()
    server = BadServer(stream(WORKING))
    async with server.client():
        options = ClientOptions(pin=NEW, interface_url=server.url, clock=clock)
        async with A2AClient(server.url, options=options) as client:
            with pytest.raises(StreamLostError):
                _ = [event async for event in client.stream("hello")]
    assert clock.monotonic() < 105.0


@pytest.mark.parametrize(
    "policy",
    [RetryPolicy(), RetryPolicy(stream_seconds=5), RetryPolicy(attempts=1)],
    ids=["default", "short", "never"],
)
async def test_a_stream_is_given_up_after_its_time(policy: RetryPolicy) -> None:
    """The time is the policy's; without retries it is none."""
    agent = RestartingAgent(60.0)
    with pytest.raises(StreamLostError):
        await follow(agent, policy)
    assert agent.away_for <= (0.0 if policy.attempts == 1 else policy.stream_seconds + 3)


async def test_a_timeout_is_of_the_call_and_not_of_each_attempt() -> None:
    """No attempt begins after the time of the call, and none gets more than what is left."""
    busy = BadServer(answer(b"", "503 Busy"))
    clock = PassingClock()
    async with busy.client() as client:
        policy = RetryPolicy(attempts=50, initial_delay=1.0, max_delay=1.0, idempotent=True)
        options = ClientOptions(pin=NEW, interface_url=busy.url, retry_policy=policy, clock=clock)
        async with A2AClient(busy.url, timeout=3.5, options=options) as patient:
            for call in (lambda: patient.get("t"), lambda: patient.send("a")):
                began = clock.monotonic()
                with pytest.raises(UnavailableError):
                    await call()
                assert clock.monotonic() - began < 3.5
    assert len(busy.requests) == 8
    assert client is not patient


async def test_a_call_ends_well_within_its_time() -> None:
    """An attempt that succeeds is the answer, whatever came before."""
    server = BadServer(b"", answer(wrap_result(TASK)))
    async with server.client(patience=5.0) as client:
        assert isinstance(await client.get("t"), Task)
