"""Tools of servers of the protocol of 2025-11-25 over stdio: questions within calls, processes that
end, a server from npm.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator

import pytest
from integration.features.mcp.toolbox import (
    HANDSHAKE_SERVER,
    agent_of,
    call,
    find_reference_server,
    http_of,
    message,
    outcome,
)

from a2a_contract.errors import A2AError
from a2a_contract.v1_0 import TaskState, TaskStatusUpdateEvent
from a2a_runtime.client import A2AClient
from a2a_runtime.features.mcp import McpSource
from a2a_runtime.testing.ports import find_free_port

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client() -> AsyncGenerator[A2AClient]:
    """A client of an agent with the server that is written by hand."""
    async with agent_of(McpSource(HANDSHAKE_SERVER)) as client, asyncio.timeout(60):
        yield client


async def test_a_question_leaves_the_call_open(client: A2AClient) -> None:
    """The answer goes into the call, and progress after it is the status of the task."""
    task = await call(client, "ask")
    assert outcome(task) == ("INPUT_REQUIRED", "Which word?")
    said = [event async for event in client.stream(message("ask", {"word": "tea"}, task))]
    progress = [
        event.metadata
        for event in said
        if isinstance(event, TaskStatusUpdateEvent) and event.status.message
    ]
    assert [(each or {}).get("progress") for each in progress] == [0.5]
    assert json.loads(str(outcome(await client.get(task.id))[1])) == {
        "action": "accept",
        "content": {"word": "tea"},
    }


async def test_a_question_waits_until_it_can_belong_to_one_call_only(client: A2AClient) -> None:
    """Nothing in it names its call. The call that did not ask is never answered."""
    holding = asyncio.create_task(call(client, "hold"))
    while not (  # noqa: ASYNC110 - a list has no event
        held := [each async for each in client.list() if each.status.state is TaskState.WORKING]
    ):
        await asyncio.sleep(0.01)
    asking = asyncio.create_task(call(client, "ask"))
    while len([each async for each in client.list() if each.status.state is TaskState.WORKING]) < 2:  # noqa: ASYNC110 - a list has no event
        await asyncio.sleep(0.01)
    await client.cancel(held[0].id)
    assert (await holding).status.state is TaskState.CANCELED
    assert outcome(await asking) == ("INPUT_REQUIRED", "Which word?")


async def test_calls_with_questions_go_on_side_by_side(client: A2AClient) -> None:
    """Once a question has found its call, other calls run, and may ask too."""
    first = await call(client, "ask")
    assert outcome(await call(client, "echo", {"a": 1})) == ("COMPLETED", '{"a": 1}')
    second = await call(client, "ask")
    for task, word in ((second, "two"), (first, "one")):
        assert json.loads(str(outcome(await call(client, "ask", word, task))[1]))["content"] == {
            "word": word
        }


async def test_questions_that_may_belong_to_several_calls_are_refused(client: A2AClient) -> None:
    """At least one of them; no answer reaches the wrong call."""
    tasks = await asyncio.gather(*(call(client, "ask") for _ in range(2)))
    answered = [
        await call(client, "ask", "one", task) if outcome(task)[0] == "INPUT_REQUIRED" else task
        for task in tasks
    ]
    said = [json.loads(str(outcome(task)[1])) for task in answered]
    refused = [each for each in said if "code" in each]
    assert len(refused) >= 1
    assert all("may belong to several calls" in each["message"] for each in refused)


async def test_a_canceled_question_cancels_the_call(client: A2AClient) -> None:
    """The server is told; an answer afterwards is refused."""
    task = await call(client, "ask")
    assert (await client.cancel(task.id)).status.state is TaskState.CANCELED
    with pytest.raises(A2AError, match="has ended"):
        await call(client, "ask", "tea", task)
    assert outcome(await call(client, "hold")) == (
        "COMPLETED",
        "held",
    )  # released by the cancellation


async def test_an_answer_after_the_limit_has_no_call() -> None:
    """The task ends with an unknown outcome; the server was told that the call is canceled."""
    async with (
        agent_of(McpSource(HANDSHAKE_SERVER, question_timeout=0.05)) as client,
        asyncio.timeout(60),
    ):
        task = await call(client, "ask")
        assert outcome(await call(client, "hold")) == (
            "COMPLETED",
            "held",
        )  # released by the cancellation
        state, reason = outcome(await call(client, "ask", "tea", task))
        assert (state, str(reason)) == (
            "FAILED",
            (
                "Outcome unknown: the call that has asked is not open any more; it may have had "
                "effects"
            ),
        )


async def test_a_url_is_an_authorization(client: A2AClient) -> None:
    """The caller is sent there, and says when it is done."""
    task = await call(client, "ask-url")
    assert outcome(task) == ("AUTH_REQUIRED", "Sign in")
    assert [part.url for part in (task.status.message.parts if task.status.message else [])] == [
        None,
        "https://id.example.com/in",
    ]
    assert outcome(await call(client, "ask-url", "done", task)) == ("COMPLETED", "accept")
    assert outcome(await call(client, "ask-url", "decline", await call(client, "ask-url"))) == (
        "COMPLETED",
        "decline",
    )


async def test_a_url_may_be_needed_before_a_call(client: A2AClient) -> None:
    """The server has refused the call; it is made again when the caller has been there."""
    task = await call(client, "needs-url")
    assert outcome(task) == ("AUTH_REQUIRED", "Sign in")
    assert outcome(await call(client, "needs-url", "done", task)) == ("COMPLETED", "signed in")


async def test_a_process_that_ends_is_started_again(client: A2AClient) -> None:
    """The call in flight has an unknown outcome; the next one finds another process."""
    before = outcome(await call(client, "pid"))
    assert outcome(await call(client, "die")) == (
        "FAILED",
        "Outcome unknown: the connection to the MCP server was lost within the call",
    )
    state, after = outcome(await call(client, "pid"))
    assert (state, after != before[1]) == ("COMPLETED", True)


async def test_a_list_that_has_grown_is_on_the_card() -> None:
    """The server announces it on its connection."""
    async with http_of(McpSource(HANDSHAKE_SERVER)) as http, asyncio.timeout(60):
        await http.post("/skills/grow", json={})
        while "grown" not in [  # noqa: ASYNC110 - as above
            each["id"] for each in (await http.get("/.well-known/agent-card.json")).json()["skills"]
        ]:
            await asyncio.sleep(0.01)


@pytest.mark.peer
async def test_a_server_from_npm() -> None:
    """Text, data, pictures, resources that only the server can read, progress, a question, and what
    it says of bad input.
    """
    async with (
        agent_of(McpSource(find_reference_server(), env={"A2A_SHOWN": "s-1"})) as client,
        asyncio.timeout(60),
    ):
        assert outcome(await call(client, "echo", {"message": "hi"})) == ("COMPLETED", "Echo: hi")
        state, data = outcome(
            await call(client, "get-structured-content", {"location": "New York"})
        )
        assert (state, isinstance(data, dict) and set(data)) == (
            "COMPLETED",
            {"temperature", "conditions", "humidity"},
        )
        image = await call(client, "get-tiny-image")
        assert [
            (part.media_type, (part.raw or b"")[:4])
            for artifact in image.artifacts or []
            for part in artifact.parts
            if part.raw
        ] == [("image/png", b"\x89PNG")]
        links = await call(client, "get-resource-links", {"count": 2})
        read = [
            part for artifact in links.artifacts or [] for part in artifact.parts if part.filename
        ]
        assert [(part.filename, bool(part.text or part.raw)) for part in read] == [
            ("Blob Resource 1", True),
            ("Text Resource 2", True),
        ]
        said = [
            event
            async for event in client.stream(
                message("trigger-long-running-operation", {"duration": 0.2, "steps": 2})
            )
        ]
        assert [
            (event.metadata or {}).get("progress")
            for event in said
            if isinstance(event, TaskStatusUpdateEvent) and event.metadata
        ][-1:] == [1.0]
        question = await call(client, "trigger-elicitation-request")
        answered = await call(client, "trigger-elicitation-request", {"name": "Ada"}, question)
        texts = [
            part.text or "" for artifact in answered.artifacts or [] for part in artifact.parts
        ]
        assert any("Name: Ada" in text for text in texts)
        environment = json.loads(str(outcome(await call(client, "get-env"))[1]))
        assert environment["A2A_SHOWN"] == "s-1"
        assert "PYTEST_CURRENT_TEST" not in environment


@pytest.mark.peer
async def test_a_server_from_npm_over_http() -> None:
    """A question arrives in the response of its call, so that calls that ask at once find their
    callers.
    """
    port = find_free_port()
    *command, _ = find_reference_server()
    process = await asyncio.create_subprocess_exec(
        *command,
        "streamableHttp",
        env={**os.environ, "PORT": str(port)},
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while b"listening" not in await process.stderr.readline():
                pass
            async with agent_of(McpSource(f"http://127.0.0.1:{port}/mcp")) as client:
                tasks = await asyncio.gather(
                    *(call(client, "trigger-elicitation-request") for _ in range(3))
                )
                assert [outcome(task)[0] for task in tasks] == ["INPUT_REQUIRED"] * 3
                for name, task in enumerate(tasks):
                    answered = await call(
                        client, "trigger-elicitation-request", {"name": f"n-{name}"}, task
                    )
                    assert any(
                        f"Name: n-{name}" in (part.text or "")
                        for artifact in answered.artifacts or []
                        for part in artifact.parts
                    )
    finally:
        process.terminate()
        await process.communicate()
