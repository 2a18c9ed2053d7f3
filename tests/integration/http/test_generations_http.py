"""The next version on the wire, beside 1.0 on one mount: generations, timeline, long polls and
conditions, over every binding.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DRAFT_BINDINGS,
    CallError,
    DialectClient,
    build_send_request,
)
from integration.grpc_overlay import GrpcOverlay, find_free_address
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0, V1_1_DRAFT
from a2a_contract.operations import (
    GET_TASK,
    LIST_TASKS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import SubscribeToTaskRequest, Task
from a2a_contract.v1_1_draft import (
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageConfiguration,
    SendMessageRequest,
)
from a2a_contract.v1_1_draft import Task as NumberedTask
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import TaskPage, TaskQuery
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message
from a2a_runtime.testing.asgi_transport import run_app

VERSION = {"A2A-Version": V1_1_DRAFT.version or ""}
AT_ONCE = {"return_immediately": True}
DEADLINE = 30


def build_agent() -> Agent:
    """Build an agent with a skill that asks, one that streams, and one that reads messages."""
    agent = Agent("numbered", capabilities=Capabilities(streaming=True, push_notifications=True))

    @agent.skill("ask", default=True)
    async def ask(ctx: TaskContext) -> str:
        return (await ctx.ask("Who?")).text

    @agent.skill("count")
    async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
        for number in range(int(ctx.text)):
            yield str(number)

    @agent.skill("listen", accepts_messages=True)
    async def listen(ctx: TaskContext) -> str:
        async for message in ctx.incoming():
            return message.parts[0].text or ""
        return ""

    return agent


@contextmanager
def serve(**settings: Any) -> Iterator[httpx.Client]:  # noqa: ANN401 - settings of any type
    """Serve the agent in process, with a port for gRPC."""
    dialects = frozenset((V1_0.name, V1_1_DRAFT.name, V0_3.name))
    surface = Surface(build_agent(), dialects=dialects, grpc=GrpcOptions(find_free_address()))
    with TestClient(create_app(surface, settings=replace(FAST_SETTINGS, **settings))) as client:
        assert surface.grpc is not None
        client._transport = GrpcOverlay(client._transport, {"": surface.grpc.address})
        yield client


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """One app for all tests, whose long polls end soon."""
    with serve(long_poll_timeout=0.05) as client:
        yield client


class DraftClient(DialectClient):
    """A client that names the version of the draft."""

    def build_request(
        self,
        operation: Any,  # noqa: ANN401 - as above
        request: Any,  # noqa: ANN401 - as above
        **headers: str,
    ) -> tuple[str, str, dict[str, Any]]:
        """Add the version."""
        method, url, options = super().build_request(operation, request, **headers)
        return method, url, {**options, "headers": {**VERSION, **options["headers"]}}


@pytest.fixture(params=DRAFT_BINDINGS, ids=str)
def client(request: pytest.FixtureRequest, http: httpx.Client) -> DialectClient:
    """A client of the draft for each binding."""
    return DraftClient(http, request.param)


def build_numbered_message(
    text: str, task: Task | None = None, **configuration: object
) -> SendMessageRequest:
    """Build a message with a configuration of the draft."""
    ids = {} if task is None else {"task_id": task.id}
    return SendMessageRequest(
        message=build_user_message(text, **ids),
        configuration=SendMessageConfiguration.model_validate(configuration),
    )


def show_timeline(task: object) -> list[tuple[str, int | None]]:
    """Show the kinds of the timeline with their generations."""
    assert isinstance(task, NumberedTask)
    return [
        ("message" if each.message else "status", each.generation) for each in task.timeline or []
    ]


def read_task(client: DialectClient, task_id: str, **members: object) -> NumberedTask:
    """Read a task."""
    task = client.call(GET_TASK, GetTaskRequest.model_validate({"id": task_id, **members}))
    assert isinstance(task, NumberedTask)
    return task


def test_a_task_has_its_generation_and_its_timeline(client: DialectClient) -> None:
    """Statuses and client messages in order; artifacts know where they begin and end; history
    stays.
    """
    question = client.task("hello")
    assert isinstance(question, NumberedTask)
    assert (question.generation, show_timeline(question)) == (
        2,
        [("message", 1), ("status", 1), ("status", 2)],
    )
    answered = client.task("Ada", task_id=question.id)
    assert show_timeline(answered) == [
        ("message", 1),
        ("status", 1),
        ("status", 2),
        ("message", 3),
        ("status", 3),
        ("status", 5),
    ]
    ended = read_task(client, question.id)
    assert ended == answered
    assert [
        (each.artifact_id, each.start_generation, each.end_generation)
        for each in ended.artifacts or []
    ] == [("result", 4, 4)]
    assert [each.message.parts[0].text for each in ended.timeline or [] if each.message] == [
        "hello",
        "Ada",
    ]
    assert [each.parts[0].text for each in ended.history or []] == ["hello", "Who?", "Ada"]


def test_the_newest_entries_of_a_timeline_are_returned(client: DialectClient) -> None:
    """As many as the client wants, in answers, reads and lists."""
    question = client.call(SEND_MESSAGE, build_numbered_message("hello", timeline_length=1))
    # The response has a task.
    assert show_timeline(question.task) == [("status", 2)]  # type: ignore[union-attr]
    task_id = question.task.id  # type: ignore[union-attr]  # as above
    assert show_timeline(read_task(client, task_id, timeline_length=0)) == []
    assert show_timeline(read_task(client, task_id, timeline_length=2)) == [
        ("status", 1),
        ("status", 2),
    ]
    assert read_task(client, task_id, history_length=0, timeline_length=0).history is None
    page = client.call(LIST_TASKS, ListTasksRequest(page_size=1, timeline_length=1))
    assert isinstance(page, ListTasksResponse)
    assert [(each.generation, show_timeline(each)) for each in page.tasks] == [(2, [("status", 2)])]


def test_events_carry_the_generation_after_them(client: DialectClient) -> None:
    """Every event is the next one, and the artifact of an event knows where it begins."""
    events = client.stream("3", skill="count")
    changes = [each.task or each.status_update or each.artifact_update for each in events]
    assert [each.generation for each in changes] == list(range(1, len(events) + 1))  # type: ignore[union-attr]  # of the draft
    chunks = [each.artifact_update.artifact for each in events if each.artifact_update]
    assert [each.start_generation for each in chunks] == [chunks[0].start_generation] * 3  # type: ignore[attr-defined]  # as above
    resumed = [event for _, event in client.subscribe(events[0].task.id, last_event_id="1")]  # type: ignore[union-attr]  # a snapshot is first
    assert resumed == events[1:]


def test_a_message_is_refused_if_the_task_has_changed(client: DialectClient) -> None:
    """With the error of the table, and with the present generation; at the right one it is
    taken.
    """
    question = client.task("hello")
    with pytest.raises(CallError) as refused:
        client.call(SEND_MESSAGE, build_numbered_message("Ada", question, if_generation_match=1))
    error = refused.value.body.get("error", refused.value.body)
    if client.dialect_binding.is_jsonrpc:
        assert (refused.value.status, error["code"]) == (200, -32010)
    else:
        assert (error["status"], error["code"]) == ("ABORTED", 409)
    info = next(each for each in error.get("data", error.get("details")) if each.get("reason"))
    assert (info["reason"], info["metadata"]) == (
        "TASK_GENERATION_MISMATCH",
        {"taskId": question.id, "expectedGeneration": "1", "currentGeneration": "2"},
    )
    answered = client.call(
        SEND_MESSAGE, build_numbered_message("Ada", question, if_generation_match=2)
    )
    assert answered.task.generation == 5  # type: ignore[union-attr]  # a response with a task


def test_a_condition_is_ignored_for_a_message_that_creates_a_task(client: DialectClient) -> None:
    """There is no generation to compare."""
    created = client.call(SEND_MESSAGE, build_numbered_message("hello", if_generation_match=7))
    assert created.task.generation == 2  # type: ignore[union-attr]  # a response with a task


def test_a_repeated_message_is_not_refused(http: httpx.Client) -> None:
    """The first attempt has changed the task; the second is the same message by its idempotency
    key.
    """
    client = DraftClient(http, DRAFT_BINDINGS[0])
    question = client.task("hello")
    request = build_numbered_message("Ada", question, if_generation_match=2)
    answers = [
        client.call_raw(SEND_MESSAGE, request, idempotency_key="once").json()["result"]["task"][
            "generation"
        ]
        for _ in range(2)
    ]
    assert answers == [5, 5]


def test_a_read_answers_at_once_where_nothing_is_to_be_waited_for(client: DialectClient) -> None:
    """The generation is later already, or the task has ended; else the time-out answers."""
    question = client.task("hello")
    assert read_task(client, question.id, current_generation=1).generation == 2
    assert read_task(client, question.id, current_generation=2).generation == 2
    client.task("Ada", task_id=question.id)
    assert read_task(client, question.id, current_generation=99).generation == 5


def test_texts_are_read_as_numbers(http: httpx.Client) -> None:
    """ProtoJSON writes 64 bits as text."""
    question = DraftClient(http, DRAFT_BINDINGS[0]).task("hello")
    found = http.get(
        f"/tasks/{question.id}",
        params={"currentGeneration": "1", "timelineLength": "0"},
        headers=VERSION,
    )
    assert found.json()["generation"] == 2
    wrong = http.get(f"/tasks/{question.id}", params={"currentGeneration": "soon"}, headers=VERSION)
    assert (wrong.status_code, "currentGeneration" in wrong.text) == (400, True)


def test_a_held_read_is_answered_by_the_next_change() -> None:
    """A message of another client to the running task, which changes no state, is such a change."""
    with serve(long_poll_timeout=DEADLINE * 10) as http, ThreadPoolExecutor() as pool:
        client = DraftClient(http, DRAFT_BINDINGS[1])
        started = client.call(
            SEND_MESSAGE,
            build_numbered_message("x", return_immediately=True).model_copy(
                update={"metadata": {"skillId": "listen"}}
            ),
        )
        # The response has a task.
        task = read_task(client, started.task.id)  # type: ignore[union-attr]
        while task.status.state != "TASK_STATE_WORKING":
            task = read_task(client, task.id, current_generation=task.generation)
        held: Future[NumberedTask] = pool.submit(
            read_task, client, task.id, current_generation=task.generation
        )
        client.call(
            SEND_MESSAGE,
            build_numbered_message(
                "more", task, return_immediately=True, if_generation_match=task.generation
            ),
        )
        assert (held.result(DEADLINE).generation or 0) > (task.generation or 0)


@pytest.mark.parametrize("binding", DIALECT_BINDINGS[:2], ids=str)
def test_clients_of_1_0_see_no_difference(
    http: httpx.Client,
    binding: Any,  # noqa: ANN401 - as above
) -> None:
    """No member is added, conditions are unknown members, and a message to a running task is in no
    stream.
    """
    client = DialectClient(http, binding)
    document = {
        "message": build_user_message("hello").to_dict(),
        "configuration": {"ifGenerationMatch": "no number", "timelineLength": -1},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": document}
    question = (
        http.post("/", json=call).json()["result"]
        if binding.is_jsonrpc
        else http.post("/message:send", json=document).json()
    )
    assert "eneration" not in json.dumps(question)
    assert "timeline" not in question["task"]
    started = client.task("x", skill="listen", configuration=AT_ONCE)
    while client.get(started.id).status.state != "TASK_STATE_WORKING":
        time.sleep(0.01)
    client.call(SEND_MESSAGE, build_send_request("more", task_id=started.id))
    events = list(
        client.events(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=started.id), last_event_id="0")
    )
    assert [each.message for _, each in events] == [None] * len(events)
    numbers = [int(number or 0) for number, _ in events]
    assert (numbers[0], len(numbers)) == (
        1,
        numbers[-1] - 1,
    )  # the message has the number that is left out
    assert "eneration" not in json.dumps([each.to_dict() for _, each in events])


class HastyStore(MemoryStore):
    """A store whose cleanup deletes the oldest task of a list at once."""

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, and delete one."""
        page = await super().list_tasks(scope, query)
        await self.delete_task(scope, page.tasks[-1].wire_id)
        return page


def test_a_list_goes_without_a_task_that_is_deleted_meanwhile() -> None:
    """A list leaves out a task that is deleted meanwhile, and has the others."""
    surface = Surface(build_agent(), dialects=frozenset((V1_0.name, V1_1_DRAFT.name)))
    with TestClient(create_app(surface, settings=FAST_SETTINGS, store=HastyStore())) as client:
        for _ in range(2):
            message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "2"}]}
            client.post(
                "/message:send",
                json={"message": message, "metadata": {"skillId": "count"}},
                headers=VERSION,
            ).raise_for_status()
        assert len(client.get("/tasks", headers=VERSION).json()["tasks"]) == 1


@pytest.mark.anyio
async def test_the_log_of_a_long_task_gives_way_to_other_requests() -> None:
    """Other requests are served meanwhile, also with a store in memory."""
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    app = create_app(
        Surface(build_agent(), dialects=frozenset((V1_0.name, V1_1_DRAFT.name))),
        settings=FAST_SETTINGS,
        store="memory",
    )
    async with (
        run_app(app) as transport,
        httpx.AsyncClient(transport=transport, base_url="http://agent", headers=VERSION) as client,
    ):
        message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "6000"}]}
        sent = await client.post(
            "/message:send", json={"message": message, "metadata": {"skillId": "count"}}
        )
        other = asyncio.create_task(take_turns())
        await asyncio.sleep(0)
        turns = 0
        await client.get(f"/tasks/{sent.json()['task']['id']}")
        other.cancel()
    assert turns > 20


def test_the_draft_is_off_by_default() -> None:
    """Its version is refused, and no card names it; it needs the version that it extends."""
    with TestClient(create_app(build_agent(), settings=FAST_SETTINGS)) as http:
        refused = http.get("/tasks/t-1", headers=VERSION)
        assert (refused.status_code, "VERSION_NOT_SUPPORTED" in refused.text) == (400, True)
        call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t-1"}}
        assert http.post("/", json=call, headers=VERSION).json()["error"]["code"] == -32009
        versions = [
            each["protocolVersion"]
            for each in http.get("/.well-known/agent-card.json").json()["supportedInterfaces"]
        ]
        assert versions == ["1.0", "1.0", "0.3", "0.3"]
    with pytest.raises(
        ValueError, match=r"1\.1-draft needs the version that it extends; add '1\.0'"
    ):
        Surface(build_agent(), dialects=frozenset(("1.1-draft",)))


def test_a_stream_of_the_draft_shows_messages_of_clients(http: httpx.Client) -> None:
    """As the status at that time with the next generation, so that its reader sees no gap."""
    client = DraftClient(http, DRAFT_BINDINGS[0])
    started = client.task("x", skill="listen", configuration=AT_ONCE)
    while client.get(started.id).status.state != "TASK_STATE_WORKING":
        time.sleep(0.01)
    client.call(SEND_MESSAGE, build_send_request("more", task_id=started.id))
    events = [event for _, event in client.subscribe(started.id, last_event_id="0")]
    changes = [each.task or each.status_update or each.artifact_update for each in events]
    assert [each.generation for each in changes] == list(range(1, len(events) + 1))  # type: ignore[union-attr]  # of the draft
    states = [each.status_update.status.state for each in events if each.status_update]
    assert states == ["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    assert SEND_STREAMING_MESSAGE.streams
