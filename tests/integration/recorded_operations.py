"""Recorded operations in each dialect over each binding, and every error that a well-formed request
can provoke.
"""

from __future__ import annotations

import asyncio

from conformance.agent_client import AgentClient
from integration.conversation import Conversation, Json, build_conversation
from integration.dialect_client import DialectBinding, build_send_request
from integration.outcome_agent import EXTENSION
from integration.recording import Recorder

from a2a_contract.operations import (
    CANCEL_TASK,
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

AT_ONCE = {"return_immediately": True}
UNKNOWN = "no-such-task"


async def record_operations(recorder: Recorder, binding: DialectBinding) -> None:
    """Record everything that is recorded in one dialect over one binding."""
    talk = build_conversation(recorder, binding)
    for part in (
        _record_sends,
        _record_streams,
        _record_cancels,
        _record_lists,
        _record_pushes,
        _record_headers,
        _record_extended_cards,
        _record_errors,
        _record_wrong_parameters,
        _record_access,
    ):
        await part(talk)


async def _record_sends(talk: Conversation) -> None:
    """Blocking and at once, every kind of answer and of part, follow-ups, history."""
    done = await talk.send(
        "send: a task with a text", "hello", skill="echo", metadata={"mine": [1, 2.5, "ü", None]}
    )
    await talk.send("send: a message without a task", "Ada", skill="greet")
    await talk.send("send: a text in chunks", "3", skill="count")
    await talk.send("send: several artifacts in chunks", "x", skill="several")
    await talk.send(
        "send: text, data and bytes", "words", {"a": [1, {"b": None}]}, b"\x00\xff", skill="mirror"
    )
    linked = Part(url="https://files.example/a.png", media_type="image/png", filename="a.png")
    await talk.send("send: a link to a file", linked, skill="mirror")
    await talk.send("send: characters that end lines", "x", skill="lines")
    await talk.send("send: a message as the end of a task", "x", skill="comment")
    await talk.send("send: rejected", "x", skill="refuse")
    await talk.send("send: a handler that fails", "x", skill="break")
    await talk.send("send: an unknown skill", "x", skill="no-such-skill")
    suspended = await talk.send("send: input is required", "x", skill="ask", context_id="context-1")
    await talk.ask("get: a task that asks", GET_TASK, GetTaskRequest(id=suspended["id"]))
    await talk.send(
        "send: a follow-up of another context", "y", task_id=suspended["id"], context_id="context-2"
    )
    await talk.send("send: a follow-up", "answer", task_id=suspended["id"], message_id="m-2")
    await talk.send(
        "send: a follow-up of a task that has ended",
        "again",
        task_id=suspended["id"],
        message_id="m-3",
    )
    await talk.send("send: a follow-up of an unknown task", "x", task_id=UNKNOWN)
    permitted = await talk.send("send: authorization is required", "x", skill="permit")
    await talk.send("send: authorized", "token", task_id=permitted["id"], message_id="m-2")
    await talk.send("send: with references", "x", skill="recall", reference_task_ids=[done["id"]])
    for length in (0, 1):
        await talk.ask(
            f"get: history of {length}",
            GET_TASK,
            GetTaskRequest(id=suspended["id"], history_length=length),
        )
    await talk.ask("get: all history", GET_TASK, GetTaskRequest(id=suspended["id"]))
    await talk.send("send: without history", "x", skill="echo", configuration={"history_length": 0})
    await talk.send(
        "send: accepted output modes",
        "x",
        skill="echo",
        configuration={"accepted_output_modes": ["text/plain", "image/*"]},
    )
    await talk.send("send: of a tenant", "x", skill="echo", tenant="acme")


async def _record_streams(talk: Conversation) -> None:
    """Streams from their beginning, and from somewhere within."""
    await talk.stream("stream: a text", "hello", skill="echo")
    await talk.stream("stream: chunks that are appended", "3", skill="count")
    await talk.stream("stream: several artifacts", "x", skill="several")
    await talk.stream("stream: characters that end lines", "x", skill="lines")
    await talk.stream("stream: a message without a task", "Ada", skill="greet")
    await talk.stream("stream: a handler that fails", "x", skill="break")
    suspended = await talk.send("send: asks while a reader listens", "x", skill="ask")
    listening = asyncio.create_task(
        talk.ask(
            "subscribe: a task that asks",
            SUBSCRIBE_TO_TASK,
            SubscribeToTaskRequest(id=suspended["id"]),
        )
    )
    await talk.recorder.settle()
    await talk.stream("stream: a follow-up", "answer", task_id=suspended["id"], message_id="m-2")
    await listening
    await talk.stream("stream: a follow-up of an unknown task", "x", task_id=UNKNOWN)
    task = await talk.send("send: at once", "x", skill="wait", configuration=AT_ONCE)
    follow = SubscribeToTaskRequest(id=task["id"])
    streams = [
        asyncio.create_task(talk.ask("subscribe: from now on", SUBSCRIBE_TO_TASK, follow)),
        asyncio.create_task(
            talk.ask(
                "subscribe: after the first event", SUBSCRIBE_TO_TASK, follow, last_event_id="1"
            )
        ),
        asyncio.create_task(
            talk.ask(
                "subscribe: after the newest event", SUBSCRIBE_TO_TASK, follow, last_event_id="2"
            )
        ),
        asyncio.create_task(
            talk.ask(
                "subscribe: after no number", SUBSCRIBE_TO_TASK, follow, last_event_id="nonsense"
            )
        ),
    ]
    await talk.recorder.settle()
    await talk.ask("cancel: with streams open", CANCEL_TASK, CancelTaskRequest(id=task["id"]))
    await asyncio.gather(*streams)
    await talk.ask("subscribe: a task that has ended", SUBSCRIBE_TO_TASK, follow)
    await talk.ask(
        "subscribe: a task that has ended, after an event",
        SUBSCRIBE_TO_TASK,
        follow,
        last_event_id="1",
    )
    await talk.ask(
        "subscribe: an unknown task", SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=UNKNOWN)
    )


async def _record_cancels(talk: Conversation) -> None:
    """Record cancels, of tasks that can and that cannot be canceled."""
    task = await talk.send("send: to be canceled", "x", skill="wait", configuration=AT_ONCE)
    await talk.ask(
        "cancel: a running task",
        CANCEL_TASK,
        CancelTaskRequest(id=task["id"], metadata={"why": "enough"}),
    )
    await talk.ask("cancel: a canceled task", CANCEL_TASK, CancelTaskRequest(id=task["id"]))
    suspended = await talk.send("send: asks before it is canceled", "x", skill="ask")
    await talk.ask("cancel: a task that asks", CANCEL_TASK, CancelTaskRequest(id=suspended["id"]))
    await talk.ask("cancel: an unknown task", CANCEL_TASK, CancelTaskRequest(id=UNKNOWN))


async def _record_lists(talk: Conversation) -> None:
    """Filters and pages."""
    first = await talk.ask("list: the first page", LIST_TASKS, ListTasksRequest(page_size=2))
    more = ListTasksRequest(page_size=2, page_token=first.get("nextPageToken", ""))
    await talk.ask("list: the second page", LIST_TASKS, more)
    await talk.ask(
        "list: a token of another list",
        LIST_TASKS,
        more.model_copy(update={"context_id": "context-1"}),
    )
    await talk.ask("list: of a context", LIST_TASKS, ListTasksRequest(context_id="context-1"))
    await talk.ask(
        "list: with artifacts and one message",
        LIST_TASKS,
        ListTasksRequest(page_size=3, include_artifacts=True, history_length=1),
    )
    await talk.ask("list: rejected", LIST_TASKS, ListTasksRequest(status=TaskState.REJECTED))
    await talk.ask("list: none", LIST_TASKS, ListTasksRequest(context_id="no-such-context"))
    await talk.ask("list: of a tenant", LIST_TASKS, ListTasksRequest(tenant="acme"))
    wrong = more.model_copy(
        update={"page_size": 1000, "page_token": "nonsense", "history_length": -1}
    )
    await talk.ask("list: several wrong parameters", LIST_TASKS, wrong)


async def _record_pushes(talk: Conversation) -> None:
    """Push configurations of a task that does nothing meanwhile."""
    wanted = await _record_new_pushes(talk)
    await _record_read_pushes(talk, wanted.task_id or "")
    plain = talk.at("/plain")
    await plain.ask(
        "push: create where there are none", CREATE_TASK_PUSH_NOTIFICATION_CONFIG, wanted
    )
    await plain.ask(
        "push: list where there are none",
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        ListTaskPushNotificationConfigsRequest(task_id=wanted.task_id),
    )


async def _record_new_pushes(talk: Conversation) -> TaskPushNotificationConfig:
    """Create and replace configurations, good and refused ones; return the first one."""
    task = (await talk.send("send: with push configurations", "x", skill="ask"))["id"]
    wanted = TaskPushNotificationConfig(
        task_id=task,
        id="hook-1",
        url="https://hooks.example/a",
        token="s3cret-token",  # noqa: S106 - of this test
    )
    proof = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
    await talk.ask("push: create", CREATE_TASK_PUSH_NOTIFICATION_CONFIG, wanted)
    await talk.ask(
        "push: create another",
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        wanted.model_copy(update={"id": "hook-2", "authentication": proof}),
    )
    await talk.ask(
        "push: replace",
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        wanted.model_copy(update={"url": "https://hooks.example/b"}),
    )
    for name, url in (
        ("not public", "https://10.0.0.1/x"),
        ("not a URL", "nonsense"),
        ("not https", "http://hooks.example/a"),
    ):
        await talk.ask(
            f"push: create with a URL that is {name}",
            CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            wanted.model_copy(update={"url": url}),
        )
    await talk.ask(
        "push: create for an unknown task",
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        wanted.model_copy(update={"task_id": UNKNOWN}),
    )
    return wanted


async def _record_read_pushes(talk: Conversation, task: str) -> None:
    """Read, list and delete the configurations of a task."""
    await talk.ask(
        "push: get",
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task, id="hook-1"),
    )
    await talk.ask(
        "push: get an unknown one",
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task, id="none"),
    )
    for size in (None, 1):
        request = ListTaskPushNotificationConfigsRequest.model_validate(
            {"task_id": task, "page_size": size}
        )
        await talk.ask(f"push: list pages of {size}", LIST_TASK_PUSH_NOTIFICATION_CONFIGS, request)
    await talk.ask(
        "push: list of an unknown task",
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        ListTaskPushNotificationConfigsRequest(task_id=UNKNOWN),
    )
    for number, name in enumerate(("hook-1", "hook-2", "hook-2")):
        request = DeleteTaskPushNotificationConfigRequest(task_id=task, id=name)
        await talk.ask(
            f"push: delete {name}, number {number}", DELETE_TASK_PUSH_NOTIFICATION_CONFIG, request
        )


async def _record_headers(talk: Conversation) -> None:
    """Idempotency keys, versions and extensions."""
    for name, text in (("first", "one"), ("same request again", "one"), ("another request", "two")):
        await talk.ask(
            f"idempotency key: {name}",
            SEND_MESSAGE,
            build_send_request(text, skill="echo"),
            idempotency_key="key-1",
        )
    for version in ("1.0", "0.3", "0.5", "nonsense"):
        await talk.ask(
            f"version: {version}",
            SEND_MESSAGE,
            build_send_request("x", skill="echo"),
            a2a_version=version,
        )
    both = {
        "a2a_extensions": f"{EXTENSION}, https://example.org/unknown",
        "x_a2a_extensions": EXTENSION,
    }
    await talk.ask("extensions: named", SEND_MESSAGE, build_send_request("x", skill="echo"), **both)
    await talk.at("/strict").ask(
        "extensions: a required one is missing", SEND_MESSAGE, build_send_request("x", skill="echo")
    )
    strict = dict.fromkeys(both, "https://example.org/extensions/strict/v2")
    await talk.at("/strict").ask(
        "extensions: the required one",
        SEND_MESSAGE,
        build_send_request("x", skill="echo"),
        **strict,
    )


async def _record_extended_cards(talk: Conversation) -> None:
    """The extended card: there, not declared, declared and missing."""
    for name, path in (
        ("there", talk.asker.path),
        ("not declared", "/plain"),
        ("missing", "/promised"),
    ):
        await talk.at(path).ask(
            f"extended card: {name}", GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()
        )


async def _record_errors(talk: Conversation) -> None:
    """Errors of requests that are well formed."""
    await talk.ask("get: an unknown task", GET_TASK, GetTaskRequest(id=UNKNOWN))
    await talk.ask(
        "get: negative history",
        GET_TASK,
        GetTaskRequest(id=UNKNOWN).model_copy(update={"history_length": -1}),
    )
    await talk.at("/plain").stream("stream: where there are no streams", "x", skill="echo")
    await talk.at("/plain").ask(
        "subscribe: where there are no streams",
        SUBSCRIBE_TO_TASK,
        SubscribeToTaskRequest(id=UNKNOWN),
    )
    await talk.send("content type: a part that the skill does not take", "text", skill="picture")
    await talk.send(
        "content type: two parts", b"1", Part(text="<b>", media_type="text/html"), skill="echo"
    )
    await talk.send(
        "content type: nothing acceptable",
        "x",
        skill="echo",
        configuration={"accepted_output_modes": ["video/mp4"]},
    )


async def _record_wrong_parameters(talk: Conversation) -> None:
    """Parameters in which one or several values are wrong."""

    def spoil(said: Json) -> None:
        said["message"]["role"] = "nobody"
        said["message"].pop("messageId", None)
        for name in ("parts", "content"):
            if name in said["message"]:
                said["message"][name] = [{"text": 7}, {"text": "a", "url": "b"}, {}, 5]
        said["configuration"] = {"historyLength": "many"}

    for operation in (SEND_MESSAGE, SEND_STREAMING_MESSAGE):
        for path in (talk.asker.path, "/plain"):
            place = talk.at(path)
            await place.ask_wrongly(
                f"invalid parameters: {operation.name} at {path or '/'}",
                operation,
                build_send_request("x"),
                spoil,
            )
    await talk.ask_wrongly(
        "invalid parameters: no message",
        SEND_MESSAGE,
        build_send_request("x"),
        lambda said: said.clear(),
    )
    await talk.ask_wrongly(
        "invalid parameters: no parts",
        SEND_MESSAGE,
        build_send_request("x"),
        lambda said: said["message"].update(parts=[], content=[]),
    )
    await talk.ask_wrongly(
        "unknown parameters",
        SEND_MESSAGE,
        build_send_request("x", skill="echo"),
        lambda said: said.update(mood="good"),
    )


async def _record_access(talk: Conversation) -> None:
    """Record requests without credentials, and of a caller that does not own the task."""
    task = await talk.send("send: of ada", "x", skill="echo")
    other = Conversation(
        talk.recorder, AgentClient(talk.asker.http, talk.asker.dialect_binding, talk.asker.path, {})
    )
    for name, proof in (
        ("nobody", None),
        ("a wrong token", "Bearer mallory"),
        ("eve", "Bearer eve"),
        ("bob", "Bearer bob"),
    ):
        said = {} if proof is None else {"authorization": proof}
        await other.ask(
            f"access: {name} reads a task", GET_TASK, GetTaskRequest(id=task["id"]), **said
        )
        await other.ask(
            f"access: {name} sends", SEND_MESSAGE, build_send_request("x", skill="echo"), **said
        )
        await other.ask(
            f"access: {name} streams",
            SEND_STREAMING_MESSAGE,
            build_send_request("x", skill="echo"),
            **said,
        )
        await other.ask(
            f"access: {name} reads the extended card",
            GET_EXTENDED_AGENT_CARD,
            GetExtendedAgentCardRequest(),
            **said,
        )
