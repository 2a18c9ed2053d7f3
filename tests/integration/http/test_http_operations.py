"""Every operation, in every dialect and binding, from the bytes of a request to the bytes of a
response.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from integration.outcome_agent import build_test_agent, build_test_app
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V0_3_PROTO
from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    LIST_TASKS,
    SEND_MESSAGE,
)
from a2a_contract.v1_0 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    Message,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a_runtime.surface import Surface

HOOK = "https://hooks.example.org/a2a"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent with all capabilities; below /kind, requests without a body have the
    documented form of 0.3.
    """
    agent = build_test_agent()
    with TestClient(
        build_test_app(Surface(agent), Surface(agent, "/kind", default_v0_3_form=V0_3.name))
    ) as client:
        yield client


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def talker(request: pytest.FixtureRequest, client: httpx.Client) -> DialectClient:
    """A client for one dialect and binding."""
    binding: DialectBinding = request.param
    return DialectClient(
        client, binding, "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    )


def test_a_send_returns_the_finished_task(talker: DialectClient) -> None:
    """The response waits for the end of the task and has its result."""
    task = talker.task("hello")
    assert task.status.state == TaskState.COMPLETED
    assert [part.text for artifact in task.artifacts or [] for part in artifact.parts] == ["hello"]


@pytest.mark.parametrize("size", [1_000, 70_000, 300_000])
def test_a_result_of_any_size_is_whole(talker: DialectClient, size: int) -> None:
    """A large one is sent in pieces, and is the same as one that is read."""
    text = "ä" * size
    task = talker.task(text)
    assert [part.text for artifact in task.artifacts or [] for part in artifact.parts] == [text]
    assert talker.get(task.id).to_json() == task.to_json()


def test_a_send_may_return_a_message(talker: DialectClient) -> None:
    """A skill that replies with a message creates no task."""
    answer = talker.send("Ada", skill="greet")
    assert isinstance(answer, Message)
    assert [part.text for part in answer.parts] == ["Hello, Ada!"]


def test_a_task_is_read_and_listed(talker: DialectClient) -> None:
    """A task can be read by its id and in a list."""
    task = talker.task("hello", context_id=f"c-{talker.dialect_binding}")
    assert talker.get(task.id).artifacts == task.artifacts
    if talker.dialect_binding.has(LIST_TASKS):
        assert [
            each.id for each in talker.list(context_id=f"c-{talker.dialect_binding}").tasks
        ] == [task.id]


def test_a_running_task_is_canceled(talker: DialectClient) -> None:
    """A running task can be canceled once."""
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    assert task.status.state in {TaskState.SUBMITTED, TaskState.WORKING}
    assert talker.cancel(task.id).status.state == TaskState.CANCELED
    with pytest.raises(CallError) as refused:
        talker.cancel(task.id)
    assert refused.value.body[
        "error"
        if talker.dialect_binding.is_jsonrpc or talker.dialect_binding.dialect == "v1_0"
        else "code"
    ]


def test_a_stream_has_all_events_in_order(talker: DialectClient) -> None:
    """First the task, then each chunk, then the end of the task."""
    first, *middle, last = talker.stream("3", skill="count")
    assert first.task is not None
    chunks = [
        event.artifact_update.artifact.parts[0].text for event in middle if event.artifact_update
    ]
    assert chunks == ["0", "1", "2"]
    assert last.status_update is not None
    assert last.status_update.status.state == TaskState.COMPLETED


def test_a_stream_is_resumed_after_a_cursor(talker: DialectClient) -> None:
    """With the number of its last event a client gets the rest, also of a terminal task; without a
    cursor a terminal task has no stream.
    """
    task_id = (talker.stream("3", skill="count")[0].task or pytest.fail("no task")).id
    events = list(talker.subscribe(task_id, last_event_id="3"))
    assert [event_id for event_id, _ in events] == [
        str(number) for number in range(4, 4 + len(events))
    ]
    assert events[-1][1].status_update is not None
    with pytest.raises(CallError):
        list(talker.subscribe(task_id))


def test_a_question_is_answered(talker: DialectClient) -> None:
    """A message to a task that needs input resumes it."""
    asking = talker.task("hi", skill="ask")
    assert asking.status.state == TaskState.INPUT_REQUIRED
    done = talker.task("yes", task_id=asking.id, message_id="m-2")
    assert done.status.state == TaskState.COMPLETED


def test_push_configs_are_stored(talker: DialectClient) -> None:
    """A push config is created, read, listed and deleted; deleting it again succeeds."""
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    config = TaskPushNotificationConfig(task_id=task.id, id="p-1", url=HOOK)
    assert talker.call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, config)
    read = talker.call(
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
    )
    assert isinstance(read, TaskPushNotificationConfig)
    assert (read.id, read.url) == ("p-1", HOOK)
    listed = talker.call(
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS, ListTaskPushNotificationConfigsRequest(task_id=task.id)
    )
    assert isinstance(listed, ListTaskPushNotificationConfigsResponse)
    assert [each.id for each in listed.configs or []] == ["p-1"]
    for _ in range(2):
        assert (
            talker.call(
                DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
                DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
            )
            is None
        )
    talker.cancel(task.id)


def test_an_unknown_task_is_not_found(talker: DialectClient) -> None:
    """Every operation on an unknown task is answered with "task not found"."""
    for operation in (talker.get, talker.cancel, lambda task_id: list(talker.subscribe(task_id))):
        with pytest.raises(CallError) as refused:
            operation("unknown")
        assert refused.value.status == (200 if talker.dialect_binding.is_jsonrpc else 404)


def test_the_error_of_a_handler_is_not_exposed(talker: DialectClient) -> None:
    """The task fails; the error is in the log only."""
    task = talker.task("x", skill="break")
    assert task.status.state == TaskState.FAILED
    assert (
        "hunter2" not in talker.call_raw(SEND_MESSAGE, build_send_request("x", skill="break")).text
    )


@pytest.mark.parametrize("path", ["/tasks/{id}", "/v1/tasks/{id}"])
def test_all_dialects_share_tasks(client: httpx.Client, path: str) -> None:
    """A task of one dialect can be read in every other dialect."""
    for binding in DIALECT_BINDINGS:
        task = DialectClient(client, binding).task("hello")
        assert client.get(path.format(id=task.id)).json()["id"] == task.id


def test_a_tenant_in_the_path_has_its_own_tasks(client: httpx.Client) -> None:
    """A task of a tenant does not exist for others, nor without a tenant."""
    body = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
    task = client.post("/acme/message:send", json=body).json()["task"]
    assert client.get(f"/acme/tasks/{task['id']}").status_code == 200
    assert client.get(f"/tasks/{task['id']}").status_code == 404
    assert client.get(f"/other/tasks/{task['id']}").status_code == 404


def test_a_form_of_0_3_is_answered_in_that_form(client: httpx.Client) -> None:
    """A body shows its form; a request without a body gets the form that the official SDK reads."""
    kind = (
        DialectClient(client, DialectBinding(V0_3.name, is_jsonrpc=False))
        .call_raw(SEND_MESSAGE, build_send_request("hi"))
        .json()
    )
    proto = (
        DialectClient(client, DialectBinding(V0_3_PROTO.name, is_jsonrpc=False))
        .call_raw(SEND_MESSAGE, build_send_request("hi"))
        .json()
    )
    assert kind["task"]["status"]["state"] == "completed"
    assert proto["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (
        client.get(f"/v1/tasks/{kind['task']['id']}").json()["status"]["state"]
        == "TASK_STATE_COMPLETED"
    )


CALL_IDS = (
    '"a"',
    '"\\u00e4 \\""',
    "7",
    "-7",
    "0",
    str(10**40),
    "1.5",
    "1.50",
    "-0.0",
    "1e3",
    "1E+3",
    "0.12345678901234567890123",
    "null",
)


@pytest.mark.parametrize("call_id", CALL_IDS)
@pytest.mark.parametrize("method", ["GetTask", "tasks/get", "Nothing"])
def test_call_ids_are_echoed(client: httpx.Client, call_id: str, method: str) -> None:
    """Results and errors echo strings, null, and numbers of any size with all of their digits."""
    task = DialectClient(client, DIALECT_BINDINGS[0]).task("hello")
    for task_id in (task.id, "unknown", ""):
        body = (
            f'{{"jsonrpc":"2.0","id":{call_id},"method":"{method}","params":{{"id":"{task_id}"}}}}'
        )
        answer = client.post("/", content=body, headers={"content-type": "application/json"}).text
        echoed = json.loads(answer, parse_float=str, parse_int=str)["id"]
        assert echoed == json.loads(call_id, parse_float=str, parse_int=str)


def test_a_call_without_an_id_is_answered_with_null(client: httpx.Client) -> None:
    """Over HTTP every request has a response."""
    assert (
        client.post(
            "/", json={"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "x"}}
        ).json()["id"]
        is None
    )
