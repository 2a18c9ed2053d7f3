"""A2A 1.0, sections 7.4, 13.1 and 13.4: who may do what, and what is taken in at all."""

from __future__ import annotations

import httpx
import pytest
from conformance.agent import ADA, LIMIT
from conformance.agent_client import AgentClient
from integration.dialect_client import build_send_request

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
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
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

HOOK = "https://hooks.example.org/a2a"


def requests(task_id: str) -> list[tuple[Operation, WireModel]]:
    """Ask for everything that has to do with a task."""
    return [
        (SEND_MESSAGE, build_send_request("x", task_id=task_id)),
        (SEND_STREAMING_MESSAGE, build_send_request("x", task_id=task_id)),
        (GET_TASK, GetTaskRequest(id=task_id)),
        (CANCEL_TASK, CancelTaskRequest(id=task_id)),
        (SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task_id)),
        (
            CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            TaskPushNotificationConfig(task_id=task_id, id="p", url=HOOK),
        ),
        (
            GET_TASK_PUSH_NOTIFICATION_CONFIG,
            GetTaskPushNotificationConfigRequest(task_id=task_id, id="p"),
        ),
        (
            LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsRequest(task_id=task_id),
        ),
        (
            DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="p"),
        ),
    ]


@pytest.mark.requirement("1.0", "3.3.2a", "7.4")
@pytest.mark.requirement("0.3", "4.4")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_7_4_every_operation_wants_credentials(client: AgentClient) -> None:
    """None responds without them, and no error discloses more; the public card needs none."""
    others: list[tuple[Operation, WireModel]] = [
        (LIST_TASKS, ListTasksRequest()),
        (GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()),
    ]
    for operation, request in [*requests("unknown"), *others]:
        if not client.dialect_binding.has(operation):
            continue
        method, url, options = client.build_request(operation, request)
        headers = {
            name: value for name, value in options["headers"].items() if name != "Authorization"
        }
        response = client.http.request(method, url, **{**options, "headers": headers})
        assert response.status_code == 401, operation.name
        assert response.headers["www-authenticate"]
    assert client.http.get("/.well-known/agent-card.json").status_code == 200


@pytest.mark.requirement("1.0", "3.3.2d", "13.1")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_13_1_a_task_belongs_to_its_owner(client: AgentClient) -> None:
    """By no operation; each says that there is no such task."""
    task = client.task("x", skill="wait", configuration={"return_immediately": True})
    for operation, request in requests(task.id):
        client.bob.expect_error(operation, request, "TaskNotFoundError")
    assert client.get(task.id).status.state in {TaskState.SUBMITTED, TaskState.WORKING}
    assert client.cancel(task.id).status.state == TaskState.CANCELED


@pytest.mark.requirement("1.0", "13.1")
def test_v1_0_13_1_a_context_belongs_to_its_owner(client: AgentClient) -> None:
    """The context id of another owner starts a new context without the tasks of the other."""
    task = client.task("mine")
    theirs = client.bob.task(
        "x", skill="recall", context_id=task.context_id, reference_task_ids=[task.id]
    )
    assert theirs.id != task.id
    assert [part.text for artifact in theirs.artifacts or [] for part in artifact.parts] == [""]
    if client.dialect_binding.has(LIST_TASKS):
        assert [each.id for each in client.bob.list(context_id=task.context_id).tasks] == [
            theirs.id
        ]
        assert [each.id for each in client.list(context_id=task.context_id).tasks] == [task.id]


@pytest.mark.requirement("1.0", "13.4b")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/message:send",
        "/message:stream",
        "/v1/message:send",
        "/tasks/t/pushNotificationConfigs",
    ],
)
def test_v1_0_13_4_requests_have_a_limit(agent_place: httpx.Client, path: str) -> None:
    """A larger body is refused without being read."""
    response = agent_place.post(
        path,
        content=b'{"x":"' + b"x" * LIMIT + b'"}',
        headers={**ADA, "content-type": "application/json"},
    )
    assert response.status_code == 413


@pytest.mark.requirement("1.0", "13.4b")
@pytest.mark.parametrize("path", ["/", "/message:send", "/v1/message:send"])
@pytest.mark.parametrize("depth", [500, 10_000, 45_000])
def test_v1_0_13_4_requests_have_a_limit_of_depth(
    agent_place: httpx.Client, path: str, depth: int
) -> None:
    """A deeper body is refused like invalid JSON."""
    data = (
        b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":'
        + b"[" * depth
        + b"]" * depth
        + b"}]}}"
    )
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":' + data + b"}"
        if path == "/"
        else data
    )
    response = agent_place.post(
        path, content=body, headers={**ADA, "content-type": "application/json"}
    )
    assert response.status_code == (200 if path == "/" else 400)
    assert "error" in response.json() or "code" in response.json()


@pytest.mark.requirement("1.0", "13.4b")
def test_v1_0_13_4_media_types_that_nobody_expects_are_refused(client: AgentClient) -> None:
    """Unexpected media types of requests and of parts are refused."""
    client.expect_error(
        SEND_MESSAGE, build_send_request("text", skill="picture"), "ContentTypeNotSupportedError"
    )
    if client.dialect_binding.is_grpc:
        return  # the library itself refuses requests of other media types
    method, url, options = client.build_request(SEND_MESSAGE, build_send_request("x"))
    wrong = {**options, "headers": {**options["headers"], "content-type": "text/plain"}}
    assert (
        "-32005" in (text := client.http.request(method, url, **wrong).text)
        or "CONTENT_TYPE_NOT_SUPPORTED" in text
    )
