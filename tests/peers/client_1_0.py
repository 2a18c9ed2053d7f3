"""Runs in the environment of a2a-sdk 1.x: its client does everything that it can with the agent at
a URL.

    client_1_0.py URL BINDING VERSION

The client fetches the card and finds the interface of that binding (``JSONRPC``, ``HTTP+JSON``,
``GRPC``) and version (``1.0``, ``0.3``) on it. Nothing of this project is importable here.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from channels import create_channel
from google.protobuf.json_format import MessageToDict, ParseDict
from steps import refusal, state, take

TOKEN = {"Authorization": "Bearer ada"}
HOOK = "https://hooks.example.org/a2a"


class Peer:
    """The SDK's client twice: one that waits for answers, and one that streams."""

    def __init__(self, http, card, binding) -> None:  # noqa: ANN001 - the SDK's own
        def client(streaming: bool):  # noqa: ANN202, FBT001 - as above
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=create_channel,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
            )
            return ClientFactory(config).create(card)

        self.card = card
        self.waits = client(streaming=False)
        self.streams = client(streaming=True)

    def events(  # noqa: ANN201 - as above
        self,
        *parts,  # noqa: ANN002 - as above
        skill: str = "echo",
        streaming: bool = True,
        at_once: bool = False,
        **more,  # noqa: ANN003 - as above
    ):
        """Send a message."""
        said = [Part(text=each) if isinstance(each, str) else each for each in parts]
        message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=said, **more)
        request = SendMessageRequest(
            message=message, configuration=SendMessageConfiguration(return_immediately=at_once)
        )
        request.metadata["skillId"] = skill
        return (self.streams if streaming else self.waits).send_message(request)

    async def task(self, *parts, **more):  # noqa: ANN002, ANN003, ANN201 - as above
        """Send a message and wait for its task."""
        (event,) = [each async for each in self.events(*parts, streaming=False, **more)]
        return event.task

    async def begun(self, skill, text=""):  # noqa: ANN001, ANN201 - as above
        """Start a task without waiting for it."""
        return await self.task(text or "x", skill=skill, at_once=True)


def summarize_task(task) -> dict:  # noqa: ANN001 - the SDK's own
    """Return the visible members of a task."""
    return {
        "state": state(TaskState.Name(task.status.state)),
        "artifacts": ["".join(part.text for part in each.parts) for each in task.artifacts],
        "history": [each.parts[0].text for each in task.history],
    }


async def card(peer: Peer) -> object:
    """Read the card that was fetched."""
    return {
        "name": peer.card.name,
        "streaming": peer.card.capabilities.streaming,
        "skills": "echo" in [each.id for each in peer.card.skills],
    }


async def send(peer: Peer) -> object:
    """Wait for a task."""
    return summarize_task(await peer.task("hello"))


async def answer(peer: Peer) -> object:
    """Get a message instead of a task."""
    (event,) = [each async for each in peer.events("Ada", skill="greet", streaming=False)]
    return [part.text for part in event.message.parts]


async def contents(peer: Peer) -> object:
    """Get back what was sent, of every kind."""
    data = ParseDict({"data": {"n": [1, None, {"deep": True}], "text": "ü\u2028"}}, Part())
    sent = [
        Part(text="t", media_type="text/plain"),
        data,
        Part(raw=b"\x00\xff", filename="f.bin"),
        Part(url="https://example.org/f", media_type="image/png"),
    ]
    task = await peer.task(*sent, skill="mirror")
    return [{"text": "t"} if part.text else MessageToDict(part) for part in task.artifacts[0].parts]


async def stream(peer: Peer) -> object:
    """Hear everything that comes of a message."""
    events = [each async for each in peer.events("3", skill="count")]
    chunks = [
        each.artifact_update.artifact.parts[0].text
        for each in events
        if each.HasField("artifact_update")
    ]
    return {
        "first": events[0].WhichOneof("payload"),
        "chunks": chunks,
        "last": state(TaskState.Name(events[-1].status_update.status.state)),
    }


async def stream_answer(peer: Peer) -> object:
    """Hear a message instead of a task."""
    return [each.WhichOneof("payload") async for each in peer.events("Ada", skill="greet")]


async def get(peer: Peer) -> object:
    """Read a task, with its history and without."""
    task = await peer.task("hello")
    read, short = [
        await peer.waits.get_task(GetTaskRequest(id=task.id, **more))
        for more in ({}, {"history_length": 0})
    ]
    return {"task": summarize_task(read), "short": summarize_task(short)["history"]}


async def list_tasks(peer: Peer) -> object:
    """Read the tasks of a conversation page by page, newest first."""
    context = uuid.uuid4().hex
    texts = []
    token = ""
    for text in "abc":
        await peer.task(text, context_id=context)
    for _ in range(2):
        page = await peer.waits.list_tasks(
            ListTasksRequest(
                context_id=context, page_size=2, page_token=token, include_artifacts=True
            )
        )
        texts.append([summarize_task(task)["artifacts"][0] for task in page.tasks])
        token = page.next_page_token
    return {"pages": texts, "total": page.total_size, "token": token}


async def cancel(peer: Peer) -> object:
    """Stop a task, twice."""
    task = await peer.begun("wait")
    first = await peer.waits.cancel_task(CancelTaskRequest(id=task.id))
    return {
        "state": state(TaskState.Name(first.status.state)),
        "again": await refusal(peer.waits.cancel_task(CancelTaskRequest(id=task.id))),
    }


async def subscribe(peer: Peer) -> object:
    """Follow a task that runs; one that has ended has no stream."""
    task = await peer.begun("tick", "4")
    events = [each async for each in peer.streams.subscribe(SubscribeToTaskRequest(id=task.id))]
    ended = await refusal(peer.streams.subscribe(SubscribeToTaskRequest(id=task.id)))
    return {
        "first": events[0].WhichOneof("payload"),
        "last": state(TaskState.Name(events[-1].status_update.status.state)),
        "ended": ended,
    }


async def conversation(peer: Peer) -> object:
    """Answer what a task asks."""
    asking = await peer.task("hi", skill="ask")
    done = await peer.task("yes", task_id=asking.id)
    return {
        "asked": asking.status.message.parts[0].text,
        "before": summarize_task(asking)["state"],
        "after": summarize_task(done),
    }


async def push(peer: Peer) -> object:
    """Keep webhooks: make, read, list, delete, read again."""
    task = await peer.begun("wait")
    config = TaskPushNotificationConfig(task_id=task.id, id="p-1", url=HOOK, token="t-1")  # noqa: S106 - made up
    wanted = GetTaskPushNotificationConfigRequest(task_id=task.id, id="p-1")
    made = await peer.waits.create_task_push_notification_config(config)
    read = await peer.waits.get_task_push_notification_config(wanted)
    listed = await peer.waits.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=task.id)
    )
    for _ in range(2):
        await peer.waits.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p-1")
        )
    gone = await refusal(peer.waits.get_task_push_notification_config(wanted))
    await peer.waits.cancel_task(CancelTaskRequest(id=task.id))
    return {
        "made": made.url,
        "read": [read.id, read.url],
        "listed": [each.id for each in listed.configs],
        "gone": gone,
    }


async def extended_card(peer: Peer) -> object:
    """Read the card for known callers."""
    seen = await peer.waits.get_extended_agent_card(GetExtendedAgentCardRequest())
    return "secret" in [each.id for each in seen.skills]


async def unknown(peer: Peer) -> object:
    """Ask for what is not there."""
    calls = (
        peer.waits.get_task(GetTaskRequest(id="nobody")),
        peer.waits.cancel_task(CancelTaskRequest(id="nobody")),
        peer.events("x", task_id="nobody"),
    )
    return [await refusal(call) for call in calls]


async def failure(peer: Peer) -> object:
    """Hear that a handler has broken, and not why."""
    task = await peer.task("x", skill="break")
    return {"state": summarize_task(task)["state"], "told": "hunter2" in str(task)}


async def invalid(peer: Peer) -> object:
    """Get the error of a wrong value."""
    return await refusal(peer.task("x", skill="nothing"))


STEPS = (
    card,
    send,
    answer,
    contents,
    stream,
    stream_answer,
    get,
    cancel,
    subscribe,
    conversation,
    push,
    extended_card,
    unknown,
    failure,
)


async def main(url: str, binding: str, version: str) -> None:
    """Fetch the card, and take every step that the version has."""
    async with httpx.AsyncClient(headers=TOKEN, timeout=10, trust_env=False) as http:
        fetched = await A2ACardResolver(http, url).get_agent_card()
        if version != "1.0":
            kept = [
                each for each in fetched.supported_interfaces if each.protocol_version == version
            ]
            del fetched.supported_interfaces[:]
            fetched.supported_interfaces.extend(kept)
        await take(
            STEPS if version != "1.0" else (*STEPS, list_tasks, invalid),
            Peer(http, fetched, binding),
        )


asyncio.run(main(*sys.argv[1:]))
