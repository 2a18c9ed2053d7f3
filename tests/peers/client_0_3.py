"""Runs in the environment of a2a-sdk 0.3: its client does everything that it can with the agent at
a URL.

    client_0_3.py URL TRANSPORT

The client fetches the card and finds the interface of that transport (``JSONRPC``, or
``HTTP+JSON``, where it speaks the ProtoJSON form) on it by itself. It has neither lists nor
deletion of webhooks. Nothing of this project is importable here.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatusUpdateEvent,
    TextPart,
)
from channels import create_channel
from steps import refusal, state, take

TOKEN = {"Authorization": "Bearer ada"}
HOOK = "https://hooks.example.org/a2a"


class Peer:
    """The SDK's client twice: one that waits for answers, and one that streams."""

    def __init__(self, http, card, transport) -> None:  # noqa: ANN001 - the SDK's own
        def client(streaming: bool):  # noqa: ANN202, FBT001 - as above
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=create_channel,
                supported_transports=[transport],
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
        said = [Part(root=TextPart(text=each) if isinstance(each, str) else each) for each in parts]
        message = Message(message_id=uuid.uuid4().hex, role=Role.user, parts=said, **more)
        configuration = MessageSendConfiguration(blocking=not at_once)
        client = self.streams if streaming else self.waits
        return client.send_message(
            message, configuration=configuration, request_metadata={"skillId": skill}
        )

    async def task(self, *parts, **more):  # noqa: ANN002, ANN003, ANN201 - as above
        """Send a message and wait for its task."""
        ((task, _),) = [each async for each in self.events(*parts, streaming=False, **more)]
        return task

    async def begun(self, skill, text=""):  # noqa: ANN001, ANN201 - as above
        """Start a task without waiting for it."""
        return await self.task(text or "x", skill=skill, at_once=True)


def summarize_task(task) -> dict:  # noqa: ANN001 - the SDK's own
    """Return the visible members of a task."""
    return {
        "state": state(task.status.state.value),
        "artifacts": [
            "".join(part.root.text for part in each.parts if part.root.kind == "text")
            for each in task.artifacts or []
        ],
        "history": [each.parts[0].root.text for each in task.history or []],
    }


def summarize_stream(events) -> dict:  # noqa: ANN001 - the SDK's own
    """Return the ends of a stream, whose events come with the task at that time."""
    last = events[-1][1]
    assert isinstance(last, TaskStatusUpdateEvent)
    return {
        "first": "task" if events[0][1] is None else "update",
        "last": state(last.status.state.value),
        "final": last.final,
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
    (message,) = [each async for each in peer.events("Ada", skill="greet", streaming=False)]
    return [part.root.text for part in message.parts]


async def contents(peer: Peer) -> object:
    """Get back what was sent, of every kind."""
    data = DataPart(data={"n": [1, None, {"deep": True}], "text": "ü\u2028"})
    inline = FileWithBytes(bytes="AP8=", name="f.bin")
    linked = FileWithUri(uri="https://example.org/f", mime_type="image/png")
    task = await peer.task("t", data, FilePart(file=inline), FilePart(file=linked), skill="mirror")
    found = []
    for part in task.artifacts[0].parts:
        root = part.root
        match root.kind:
            case "text":
                found.append({"text": root.text})
            case "data":
                found.append({"data": root.data})
            case _:
                file = root.file
                is_inline = isinstance(file, FileWithBytes)
                found.append(
                    {"raw": file.bytes, "filename": "f.bin"}
                    if is_inline
                    else {"url": file.uri, "mediaType": file.mime_type}
                )
    return found


async def stream(peer: Peer) -> object:
    """Hear everything that comes of a message."""
    events = [each async for each in peer.events("3", skill="count")]
    chunks = [
        update.artifact.parts[0].root.text for _, update in events if hasattr(update, "artifact")
    ]
    return {**summarize_stream(events), "chunks": chunks}


async def stream_answer(peer: Peer) -> object:
    """Hear a message instead of a task."""
    return [each.kind async for each in peer.events("Ada", skill="greet")]


async def get(peer: Peer) -> object:
    """Read a task, with its history and without."""
    task = await peer.task("hello")
    read, short = [
        await peer.waits.get_task(TaskQueryParams(id=task.id, **more))
        for more in ({}, {"history_length": 0})
    ]
    return {"task": summarize_task(read), "short": summarize_task(short)["history"]}


async def cancel(peer: Peer) -> object:
    """Stop a task, twice."""
    task = await peer.begun("wait")
    first = await peer.waits.cancel_task(TaskIdParams(id=task.id))
    return {
        "state": state(first.status.state.value),
        "again": await refusal(peer.waits.cancel_task(TaskIdParams(id=task.id))),
    }


async def subscribe(peer: Peer) -> object:
    """Follow a task that runs; one that has ended has no stream."""
    task = await peer.begun("tick", "4")
    events = [each async for each in peer.streams.resubscribe(TaskIdParams(id=task.id))]
    return {
        **summarize_stream(events),
        "ended": await refusal(peer.streams.resubscribe(TaskIdParams(id=task.id))),
    }


async def conversation(peer: Peer) -> object:
    """Answer what a task asks."""
    asking = await peer.task("hi", skill="ask")
    done = await peer.task("yes", task_id=asking.id)
    return {
        "asked": asking.status.message.parts[0].root.text,
        "before": summarize_task(asking)["state"],
        "after": summarize_task(done),
    }


async def question(peer: Peer) -> object:
    """Hear a stream end where the task asks."""
    return summarize_stream([each async for each in peer.events("hi", skill="ask")])


async def push(peer: Peer) -> object:
    """Keep webhooks: make and read."""
    task = await peer.begun("wait")
    config = TaskPushNotificationConfig(
        task_id=task.id,
        push_notification_config=PushNotificationConfig(id="p-1", url=HOOK, token="t-1"),  # noqa: S106 - made up
    )
    made = await peer.waits.set_task_callback(config)
    read = await peer.waits.get_task_callback(
        GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="p-1")
    )
    gone = await refusal(
        peer.waits.get_task_callback(
            GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="p-2")
        )
    )
    await peer.waits.cancel_task(TaskIdParams(id=task.id))
    found = read.push_notification_config
    return {"made": made.push_notification_config.url, "read": [found.id, found.url], "gone": gone}


async def extended_card(peer: Peer) -> object:
    """Read the card for known callers."""
    seen = await peer.waits.get_card()
    return "secret" in [each.id for each in seen.skills]


async def unknown(peer: Peer) -> object:
    """Ask for what is not there."""
    calls = (
        peer.waits.get_task(TaskQueryParams(id="nobody")),
        peer.waits.cancel_task(TaskIdParams(id="nobody")),
        peer.events("x", task_id="nobody"),
    )
    return [await refusal(call) for call in calls]


async def failure(peer: Peer) -> object:
    """Hear that a handler has broken, and not why."""
    task = await peer.task("x", skill="break")
    return {"state": summarize_task(task)["state"], "told": "hunter2" in str(task)}


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
    question,
    push,
    extended_card,
    unknown,
    failure,
)


async def main(url: str, transport: str) -> None:
    """Fetch the card, and take every step."""
    async with httpx.AsyncClient(headers=TOKEN, timeout=10, trust_env=False) as http:
        fetched = await A2ACardResolver(http, url).get_agent_card()
        await take(STEPS, Peer(http, fetched, transport))


asyncio.run(main(*sys.argv[1:]))
