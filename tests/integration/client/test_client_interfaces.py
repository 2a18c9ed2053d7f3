"""Agents with several interfaces, some of which do not answer, and the deadlines of what is asked
there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from integration.client.bad_server import answer, serve_connections, stream, wrap_result
from pydantic_core import to_json

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.v1_0 import Task, TaskStatusUpdateEvent
from a2a_runtime.client import (
    A2AClient,
    A2AClientError,
    ClientOptions,
    ResponseTimeoutError,
    RetryPolicy,
    UnexpectedStatusError,
)
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = pytest.mark.anyio

TASK = b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}'
WORKING = b'{"task":%b}' % TASK
DONE = b'{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}'


@asynccontextmanager
async def agent_at(
    *interfaces: tuple[str, str], answers: Mapping[str, bytes]
) -> AsyncGenerator[str, None]:
    """Serve a card with some interfaces, whose URLs may begin with the address of this server, and
    answers by path.
    """

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        listed = [
            {"url": url.replace("SELF", address), "protocolBinding": kind, "protocolVersion": "1.0"}
            for kind, url in interfaces
        ]
        card = {
            "name": "n",
            "description": "",
            "version": "1",
            "capabilities": {"streaming": True},
            "supportedInterfaces": listed,
        }
        known = {
            "/.well-known/agent-card.json": answer(
                to_json(card | {"defaultInputModes": [], "defaultOutputModes": [], "skills": []})
            ),
            **answers,
        }
        writer.write(known.get(path, answer(b"<html>", "404 Not Found", "text/html")))
        writer.close()

    async with serve_connections(respond) as address:
        yield address


FALLBACKS = {
    "nothing answers there": "http://127.0.0.1:1/rpc",
    "a server without the path": "SELF/elsewhere",
}


@pytest.mark.parametrize("first", FALLBACKS.values(), ids=FALLBACKS.keys())
async def test_another_interface_of_the_card_is_used(
    first: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In the order of the card, if no agent has seen the request; with a warning, and from then
    on.
    """
    answers = {"/rpc": answer(wrap_result(TASK)), "/other": answer(wrap_result(b'{"tasks":[]}'))}
    once = ClientOptions(retry_policy=RetryPolicy(attempts=1))
    async with (
        agent_at(
            ("JSONRPC", first), ("JSONRPC", "SELF/rpc"), ("JSONRPC", "SELF/other"), answers=answers
        ) as url,
        A2AClient(url, options=once) as client,
    ):
        assert (await client.get("t")).id == "t"
        assert (await client.get("t")).id == "t"
    assert [
        record.getMessage().endswith("/rpc of the card")
        for record in caplog.records
        if record.levelname == "WARNING"
    ] == [True]


async def test_a_stream_uses_another_interface_too() -> None:
    """Nothing was sent to the first one."""
    answers = {"/rpc": stream(WORKING, DONE)}
    once = ClientOptions(retry_policy=RetryPolicy(attempts=1))
    interfaces = ("JSONRPC", FALLBACKS["nothing answers there"]), ("JSONRPC", "SELF/rpc")
    async with (
        agent_at(*interfaces, answers=answers) as url,
        A2AClient(url, options=once) as client,
    ):
        assert [type(event) async for event in client.stream("x")] == [Task, TaskStatusUpdateEvent]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_another_interface_gets_no_credentials_at_another_origin(host: str) -> None:
    """A card whose first interface answers nothing leads to a second one elsewhere: our token is
    for the agent that we have named.
    """
    seen: list[WebhookRequest] = []

    def take(call: WebhookRequest) -> WebhookResponse:
        seen.append(call)
        return WebhookResponse(200)

    once = ClientOptions(retry_policy=RetryPolicy(attempts=1))
    async with WebhookReceiver(take) as other:
        interfaces = (
            ("JSONRPC", FALLBACKS["a server without the path"]),
            ("JSONRPC", f"http://{host}:{other.port}/rpc"),
        )
        async with (
            agent_at(*interfaces, answers={}) as url,
            A2AClient(url, auth="hush", options=once) as client,
        ):
            with pytest.raises(A2AClientError):
                await client.get("t")
    assert seen == []


async def test_interfaces_that_all_fail_are_one_error() -> None:
    """That of the last one; a refusal by an agent is no reason to ask another."""
    once = ClientOptions(retry_policy=RetryPolicy(attempts=1))
    async with (
        agent_at(("JSONRPC", "SELF/a"), ("HTTP+JSON", "SELF/b"), answers={}) as url,
        A2AClient(url, options=once) as client,
    ):
        with pytest.raises(UnexpectedStatusError, match="404"):
            await client.send("x")
    gone = answer(b'{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"no such task"}}')
    answers = {"/a": gone, "/b": answer(wrap_result(TASK))}
    interfaces = (("JSONRPC", "SELF/a"), ("JSONRPC", "SELF/b"))
    async with (
        agent_at(*interfaces, answers=answers) as url,
        A2AClient(url, options=once) as client,
    ):
        with pytest.raises(TaskNotFoundError):
            await client.get("t")


async def test_only_messages_wait_as_long_as_the_agent_takes() -> None:
    """Everything else has a deadline of its own: the card, get, list, cancel and push
    configurations, by default 30 seconds.
    """
    assert ClientOptions().read_timeout == 30
    options = ClientOptions(retry_policy=RetryPolicy(attempts=1), read_timeout=0.2)
    slow = asyncio.Event()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await slow.wait()
        writer.write(answer(wrap_result(WORKING)))
        writer.close()

    async with (
        serve_connections(respond) as url,
        A2AClient(url, options=replace(options, interface_url=url)) as client,
    ):
        sending = asyncio.create_task(client.send("x"))
        for call in (
            client.get("t"),
            client.cancel("t"),
            client.push_configs.get("t", "p"),
            anext(aiter(client.list())),
            client.get_card(),
        ):
            with pytest.raises(ResponseTimeoutError, match=r"0\.2 s"):
                await call
        slow.set()
        assert isinstance(await sending, Task)
