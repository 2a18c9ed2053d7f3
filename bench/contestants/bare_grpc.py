"""The limit over gRPC: ``grpc.aio`` that reads classes of protocol buffers and answers
with them, with a dict for a store, and does nothing else.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from grpc.aio import server as create_server

from a2a_runtime.features.grpc.messages import message_class

PACKAGE = "lf.a2a.v1"
Task, Answer, Event = (
    message_class(f"{PACKAGE}.{name}") for name in ("Task", "SendMessageResponse", "StreamResponse")
)
Send, Get = (
    message_class(f"{PACKAGE}.{name}") for name in ("SendMessageRequest", "GetTaskRequest")
)
TASKS: dict[str, Any] = {}


def build_task(message: Any) -> Any:  # noqa: ANN401 - classes made at run time
    """Build a task that has the message as its artifact."""
    # As above.
    task = Task(id=str(uuid.uuid4()), context_id=str(uuid.uuid4()))  # type: ignore[call-arg]
    task.status.state = 3
    task.status.timestamp.GetCurrentTime()
    task.artifacts.add(artifact_id="result", name="result").parts.extend(message.parts)
    task.history.add().CopyFrom(message)
    return task


async def send(request: Any, _context: object) -> Any:  # noqa: ANN401 - as above
    """Answer a message."""
    task = build_task(request.message)
    TASKS[task.id] = task
    return Answer(task=task)  # type: ignore[call-arg]  # as above


async def get(request: Any, _context: object) -> Any:  # noqa: ANN401 - as above
    """Answer with a task."""
    return TASKS[request.id]


async def stream(request: Any, _context: object) -> AsyncIterator[Any]:  # noqa: ANN401 - as above
    """Answer with a task, some chunks and the end."""
    task = build_task(request.message)
    yield Event(task=task)  # type: ignore[call-arg]  # as above
    for _ in range(int(request.message.parts[0].text.split()[1])):
        event = Event()
        event.artifact_update.task_id = task.id
        event.artifact_update.context_id = task.context_id
        event.artifact_update.artifact.artifact_id = "result"
        event.artifact_update.artifact.parts.add(text="chunk")
        yield event
    event = Event()
    event.status_update.task_id = task.id
    event.status_update.status.CopyFrom(task.status)
    yield event


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[Any]],
    reply: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Serve while the lifespan runs; over HTTP there is an empty card."""
    if scope["type"] == "lifespan":
        server = create_server()
        methods = {
            "SendMessage": grpc.unary_unary_rpc_method_handler(
                send, Send.FromString, Answer.SerializeToString
            ),
            "GetTask": grpc.unary_unary_rpc_method_handler(
                get, Get.FromString, Task.SerializeToString
            ),
            "SendStreamingMessage": grpc.unary_stream_rpc_method_handler(
                stream, Send.FromString, Event.SerializeToString
            ),
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(f"{PACKAGE}.A2AService", methods),)
        )
        server.add_insecure_port(os.environ["A2A_GRPC"])
        await receive()
        await server.start()
        await reply({"type": "lifespan.startup.complete"})
        await receive()
        await server.stop(0)
        await reply({"type": "lifespan.shutdown.complete"})
        return
    await reply(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await reply({"type": "http.response.body", "body": b"{}"})
