"""Our client with agents of the official SDKs: a2a-sdk 1.3.0 and 0.3.26, over every transport that
they serve, on real sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from a2a_contract.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    MethodNotAllowedError,
    MethodNotFoundError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_contract.extension_table import IDEMPOTENCY
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    Message,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_runtime.client import (
    GRPC,
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    ClientOptions,
    Pin,
    SendOptions,
    TaskEvent,
    TaskStream,
    TransportError,
    UnexpectedStatusError,
)

pytestmark = [pytest.mark.anyio, pytest.mark.peer]


# It marks an agent that answers with an empty list, and is not an error of ours.
class NotListed(Exception):  # noqa: N818
    """The agent knows the path in another version only, and lists nothing there."""


@dataclass(frozen=True)
class Peer:
    """An agent, the way to talk to it, and what its SDK does not offer that way."""

    agent: str
    pin: Pin
    dialect: str
    lists_tasks: type[Exception] | None = None
    lists_hooks: type[A2AError] | None = None
    deletes_hooks: type[A2AError] | None = None
    refuses: bool = True
    """Whether an error of the agent's code is an error of the request: the SDK for JavaScript makes
    a failed task of it.
    """
    ended: type[Exception] | None = UnsupportedOperationError
    """The error of a subscription to a task that has ended; the SDK for JavaScript shows the task
    in 0.3.
    """
    null: int | None = None
    """What becomes of null in data: the SDK 0.3.14 for JavaScript writes 0 over gRPC."""


PEERS = {
    "1.0 JSON-RPC": Peer("agent_1_0", Pin(transport=JSONRPC), "v1_0"),
    "1.0 HTTP+JSON": Peer("agent_1_0", Pin(transport=HTTP_JSON), "v1_0"),
    "1.0 gRPC": Peer("agent_1_0", Pin(transport=GRPC), "v1_0"),
    "0.3 gRPC": Peer(
        "agent_0_3",
        Pin(transport=GRPC),
        "v0_3_proto",
        *[UnsupportedOperationError] * 3,
        ended=InvalidParamsError,
    ),
    "0.3 JSON-RPC": Peer(
        "agent_0_3",
        Pin(transport=JSONRPC),
        "v0_3",
        lists_tasks=MethodNotFoundError,
        ended=InvalidParamsError,
    ),
    # Over HTTP+JSON the 0.3 SDK breaks the connection instead of answering.
    "0.3 HTTP+JSON": Peer(
        "agent_0_3",
        Pin(transport=HTTP_JSON),
        "v0_3_proto",
        InternalError,
        InternalError,
        MethodNotAllowedError,
        ended=TransportError,
    ),
    "JS 1.0 JSON-RPC": Peer("agent_js_1_0", Pin("v1_0", JSONRPC), "v1_0", refuses=False),
    "JS 1.0 HTTP+JSON": Peer("agent_js_1_0", Pin("v1_0", HTTP_JSON), "v1_0", refuses=False),
    "JS 1.0 as 0.3 JSON-RPC": Peer(
        "agent_js_1_0", Pin("v0_3", JSONRPC), "v0_3", lists_tasks=MethodNotFoundError, refuses=False
    ),
    "JS 1.0 as 0.3 HTTP+JSON": Peer(
        "agent_js_1_0", Pin("v0_3_proto", HTTP_JSON), "v0_3_proto", NotListed, refuses=False
    ),
    "JS 0.3 JSON-RPC": Peer(
        "agent_js_0_3",
        Pin(transport=JSONRPC),
        "v0_3",
        lists_tasks=MethodNotFoundError,
        refuses=False,
        ended=None,
    ),
    "JS 0.3 HTTP+JSON": Peer(
        "agent_js_0_3",
        Pin(transport=HTTP_JSON),
        "v0_3_proto",
        UnexpectedStatusError,
        refuses=False,
        ended=None,
    ),
    "JS 1.0 gRPC": Peer("agent_js_1_0", Pin("v1_0", GRPC), "v1_0", refuses=False),
    "JS 1.0 as 0.3 gRPC": Peer(
        "agent_js_1_0",
        Pin("v0_3_proto", GRPC),
        "v0_3_proto",
        UnsupportedOperationError,
        refuses=False,
    ),
    "JS 0.3 gRPC": Peer(
        "agent_js_0_3",
        Pin(transport=GRPC),
        "v0_3_proto",
        UnsupportedOperationError,
        refuses=False,
        ended=None,
        null=0,
    ),
}


@pytest.fixture(params=PEERS.values(), ids=PEERS.keys())
def peer(request: pytest.FixtureRequest) -> Peer:
    """Talk to every peer in every way."""
    assert isinstance(request.param, Peer)
    return request.param


@pytest.fixture
async def client(
    peer: Peer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[A2AClient]:
    """A client of the peer, which finds out by its card how to talk to it, on a machine whose hosts
    need no proxy.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    async with A2AClient(
        request.getfixturevalue(peer.agent), timeout=20, options=ClientOptions(pin=peer.pin)
    ) as client:
        yield client


def text_of(events: list[TaskEvent]) -> str:
    """Put the chunks together."""
    return "".join(
        part.text or ""
        for event in events
        if isinstance(event, TaskArtifactUpdateEvent)
        for part in event.artifact.parts
    )


async def read_all(stream: TaskStream, has_begun: asyncio.Event) -> None:
    """Read a stream to its end."""
    async for _ in stream:
        has_begun.set()


def a_task(answer: Task | Message) -> Task:
    """Take an answer for the task that it is."""
    assert isinstance(answer, Task)
    return answer


async def test_the_card_selects_the_interface(client: A2AClient, peer: Peer) -> None:
    """The card is read in the agent's own form."""
    card = await client.get_card()
    assert (card.name, card.skills[0].id) == ("Peer", "echo")
    assert (await client._connection.resolve_protocol()).interface.dialect.name == peer.dialect


async def test_a_message_is_answered_by_a_task(client: A2AClient, peer: Peer) -> None:
    """Text, bytes and data come back as they were sent (bytes that are no text break the 0.3 SDK
    over HTTP+JSON).
    """
    parts = [
        Part(text="echo é \u2028"),
        Part(data={"a": [1, None, {"b": True}]}),
        Part(raw=b"\0png", media_type="image/png", filename="a.png"),
    ]
    task = a_task(await client.send(parts))
    assert task.status.state == TaskState.COMPLETED
    [artifact] = task.artifacts or []
    assert artifact.name == "echo"
    assert [part.text for part in artifact.parts] == ["echo é \u2028", None, None]
    assert [part.data for part in artifact.parts] == [
        None,
        {"a": [1, peer.null, {"b": True}]},
        None,
    ]
    assert [part.raw for part in artifact.parts] == [None, None, b"\0png"]


async def test_a_message_is_answered_by_a_message(client: A2AClient) -> None:
    """There may be no task at all, in a stream neither."""
    answer = await client.send("message hello")
    assert isinstance(answer, Message)
    assert answer.parts[0].text == "hello"
    events = [event async for event in client.stream("message hello")]
    assert [type(event) for event in events] == [Message]


async def test_a_stream_has_everything_in_order(client: A2AClient) -> None:
    """Every chunk once, and the terminal event last."""
    events = [event async for event in client.stream("count 25")]
    assert text_of(events) == "".join(f"{number} " for number in range(25))
    assert isinstance(events[0], Task)
    last = events[-1]
    assert isinstance(last, TaskStatusUpdateEvent)
    assert last.status.state == TaskState.COMPLETED


async def test_a_suspended_task_is_continued(client: A2AClient) -> None:
    """The reply has the id of the task; it stays one task."""
    suspended = a_task(await client.send("ask Which one?"))
    assert suspended.status.state == TaskState.INPUT_REQUIRED
    assert suspended.status.message
    assert suspended.status.message.parts[0].text == "Which one?"
    done = a_task(await client.send("echo the red one", task=suspended))
    assert (done.id, done.context_id, done.status.state) == (
        suspended.id,
        suspended.context_id,
        TaskState.COMPLETED,
    )


async def test_a_stream_of_a_suspended_task(client: A2AClient) -> None:
    """The question is its last event, whether the agent closes the stream there or not."""
    stream = client.stream("ask Which one?")
    _ = [event async for event in stream]
    task_id = stream.task_id
    assert stream.state == TaskState.INPUT_REQUIRED
    assert task_id
    events = [
        event async for event in client.stream("echo the red one", task=await client.get(task_id))
    ]
    assert text_of(events) == "echo the red one"


async def test_failing_is_a_result(client: A2AClient) -> None:
    """A task that failed is an answer, not an exception."""
    task = a_task(await client.send("fail because"))
    assert task.status.state == TaskState.FAILED
    assert task.status.message
    assert task.status.message.parts[0].text == "because"


async def test_not_waiting_and_stopping(client: A2AClient) -> None:
    """A long task gives its id at once, is read, followed and canceled."""
    task = a_task(await client.send("wait", wait=False))
    assert task.status.state in {TaskState.SUBMITTED, TaskState.WORKING}
    assert (await client.get(task)).id == task.id
    stream = client.subscribe(task)
    reading = asyncio.create_task(read_all(stream, has_begun := asyncio.Event()))
    with suppress(TimeoutError):  # the 0.3 SDK sends nothing to a subscriber until the next event
        await asyncio.wait_for(has_begun.wait(), 0.3)
    assert (await client.cancel(task)).status.state == TaskState.CANCELED
    await reading
    assert stream.state == TaskState.CANCELED
    assert (await client.get(task)).status.state == TaskState.CANCELED


async def test_reading_with_history(client: A2AClient) -> None:
    """The most messages to return can be said, also when sending."""
    task = a_task(await client.send("echo a", options=SendOptions(history_length=1)))
    assert len((await client.get(task, history_length=1)).history or []) == 1


async def test_refusals_are_typed(client: A2AClient, peer: Peer) -> None:
    """Each error is the contract's, whatever the peer wrote."""
    with pytest.raises(TaskNotFoundError):
        await client.get("nobody")
    with pytest.raises(TaskNotFoundError):
        await client.cancel("nobody")
    with pytest.raises(TaskNotCancelableError):
        await client.cancel(a_task(await client.send("echo a")))
    if not peer.refuses:
        assert a_task(await client.send("refuse because")).status.state == TaskState.FAILED
        return
    with pytest.raises(InvalidParamsError, match="because"):
        await client.send("refuse because")


async def test_subscribing_to_a_finished_task_is_an_error(client: A2AClient, peer: Peer) -> None:
    """The error is that of the agent."""
    done = a_task(await client.send("echo a"))
    if peer.ended is None:
        [only] = [event async for event in client.subscribe(done)]
        assert isinstance(only, Task)
        return
    with pytest.raises(peer.ended):
        _ = [event async for event in client.subscribe(done)]


async def test_webhooks(client: A2AClient, peer: Peer) -> None:
    """Made, read, listed and deleted, as far as the SDK offers it."""
    task = a_task(await client.send("ask for it"))
    made = await client.push_configs.create(
        task,
        TaskPushNotificationConfig(id="hook", url="https://hooks.example/a", token="t"),  # noqa: S106 - a made-up token
    )
    assert (made.id, made.task_id, made.url, made.token) == (
        "hook",
        task.id,
        "https://hooks.example/a",
        "t",
    )
    assert (await client.push_configs.get(task, "hook")).url == made.url
    if peer.lists_hooks:
        with pytest.raises(peer.lists_hooks):
            _ = [each async for each in client.push_configs.list(task)]
    else:
        assert [each.id async for each in client.push_configs.list(task)] == ["hook"]
    if peer.deletes_hooks:
        with pytest.raises(peer.deletes_hooks):
            await client.push_configs.delete(task, "hook")
    else:
        await client.push_configs.delete(task, "hook")
        with pytest.raises(A2AError):
            await client.push_configs.get(task, "hook")


async def test_listing(client: A2AClient, peer: Peer) -> None:
    """Pages follow each other by themselves; 0.3 has no listing in its SDK."""
    if peer.lists_tasks is NotListed:
        return
    if peer.lists_tasks:
        with pytest.raises(peer.lists_tasks):
            _ = [task async for task in client.list()]
        return
    first = a_task(await client.send("echo 0"))
    others = [
        a_task(await client.send(f"echo {number}", context_id=first.context_id))
        for number in range(1, 5)
    ]
    listed = [task.id async for task in client.list(context_id=first.context_id, page_size=2)]
    assert sorted(listed) == sorted(task.id for task in (first, *others))
    assert [
        task.id async for task in client.list(context_id=first.context_id, state=State.FAILED)
    ] == []


async def test_nobody_else_promises_to_heed_keys(client: A2AClient) -> None:
    """So nothing is sent twice to agents made with the official SDKs."""
    assert await client.find_extension(IDEMPOTENCY) is None


async def test_the_extended_card(client: A2AClient) -> None:
    """The card for authenticated callers, in the form that each SDK writes."""
    card = await client.get_extended_card()
    assert card.description == "For those who are known."
    assert card.supported_interfaces


async def test_a_card_in_the_names_of_python(agent_0_3: str) -> None:
    """The SDK's REST app writes its card in snake_case; below its path it is found and read too."""
    async with A2AClient(f"{agent_0_3}/rest") as client:
        card = await client.get_card()
        assert [each.protocol_binding for each in card.supported_interfaces] == [
            "JSONRPC",
            "HTTP+JSON",
            "GRPC",
        ]
        assert a_task(await client.send("echo a")).status.state == TaskState.COMPLETED


async def test_both_sdks_without_a_pin(agent_1_0: str, agent_0_3: str) -> None:
    """The same lines of code talk to both."""
    for url in (agent_1_0, agent_0_3):
        async with A2AClient(url) as client:
            assert text_of([event async for event in client.stream("count 2")]) == "0 1 "
