"""A2A 1.0, sections 3.3.2, 3.3.4, 5.4, 9.5 and 11.6: refusals, capabilities that are not there, and
how errors look.
"""

from __future__ import annotations

import re

import pytest
from conformance.agent import STRICT
from conformance.agent_client import (
    ERROR_ROWS,
    AgentClient,
    assert_error,
    parse_error_info,
    parse_field_errors,
)
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
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

HOOK = "https://hooks.example.org/a2a"
INSIDE = re.compile(r"Traceback|\.py|/usr/|/srv/|hunter2|asyncpg|sqlite3|pydantic", re.IGNORECASE)
EXTENSIONS = "A2A-Extensions"


@pytest.mark.requirement("1.0", "3.3.2a", "3.3.2b")
def test_v1_0_3_3_2_who_brings_no_credentials_is_refused(client: AgentClient) -> None:
    """A request without credentials gets 401 and a challenge that names the scheme."""
    for said in ({}, {"Authorization": "Bearer mallory"}, {"Authorization": "Basic YTpi"}):
        method, url, options = client.build_request(SEND_MESSAGE, build_send_request("x"))
        headers = {
            name: value for name, value in options["headers"].items() if name != "Authorization"
        }
        response = client.http.request(method, url, **{**options, "headers": {**headers, **said}})
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.requirement("1.0", "3.3.2c")
def test_v1_0_3_3_2_a_missing_permission_is_in_the_error(client: AgentClient) -> None:
    """A caller without permission gets 403, and nothing about the task."""
    response = client.with_headers(Authorization="Bearer eve").call_raw(
        SEND_MESSAGE, build_send_request("x")
    )
    assert response.status_code == 403
    assert "tasks:write" in response.text


@pytest.mark.requirement("1.0", "3.3.2d")
@pytest.mark.requirement("0.3", "8.2")
def test_v1_0_3_3_2_a_task_of_another_owner_does_not_exist(client: AgentClient) -> None:
    """The response equals that for an unknown id."""
    task = client.task("x", skill="wait", configuration={"return_immediately": True})
    for operation, make in (
        (GET_TASK, GetTaskRequest),
        (CANCEL_TASK, CancelTaskRequest),
        (SUBSCRIBE_TO_TASK, SubscribeToTaskRequest),
    ):
        theirs = client.bob.call_raw(operation, make(id=task.id))
        nobodys = client.bob.call_raw(operation, make(id="unknown"))
        assert theirs.status_code == nobodys.status_code
        assert theirs.text.replace(task.id, "unknown") == nobodys.text
        assert_error(theirs, client.dialect_binding, "TaskNotFoundError")
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.3.2e", "13.4a")
def test_v1_0_3_3_2_wrong_parameters_are_listed(client_1_0: AgentClient) -> None:
    """Each has its field path and its problem."""
    # A message has neither numbers for texts nor two members of a group.
    parts = (
        [{}, {}, {}]
        if client_1_0.dialect_binding.is_grpc
        else [{"text": 7}, {"text": "a", "url": "b"}, {}]
    )
    response = client_1_0.post_document(
        SEND_MESSAGE, {"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}}
    )
    assert_error(response, client_1_0.dialect_binding, "InvalidParamsError")
    assert {
        place.partition("]")[0]
        for place in parse_field_errors(response, client_1_0.dialect_binding)
    } == {
        "message.parts[0",
        "message.parts[1",
        "message.parts[2",
    }


@pytest.mark.requirement("1.0", "3.3.2g")
def test_v1_0_3_3_2_what_breaks_inside_stays_inside(client: AgentClient) -> None:
    """The task has failed; no answer has a word of the exception."""
    response = client.call_raw(SEND_MESSAGE, build_send_request("x", skill="break"))
    assert INSIDE.search(response.text) is None
    assert client.task("x", skill="break").status.state == TaskState.FAILED


PUSHES: list[tuple[Operation, WireModel]] = [
    (
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        TaskPushNotificationConfig(task_id="t", id="p", url=HOOK),
    ),
    (GET_TASK_PUSH_NOTIFICATION_CONFIG, GetTaskPushNotificationConfigRequest(task_id="t", id="p")),
    (LIST_TASK_PUSH_NOTIFICATION_CONFIGS, ListTaskPushNotificationConfigsRequest(task_id="t")),
    (
        DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
    ),
]


@pytest.mark.requirement("1.0", "3.3.4a")
@pytest.mark.requirement("0.3", "7.6")
@pytest.mark.parametrize(
    ("operation", "request_"), PUSHES, ids=[operation.name for operation, _ in PUSHES]
)
def test_v1_0_3_3_4_webhooks_that_are_not_declared_are_refused(
    client: AgentClient, operation: Operation, request_: WireModel
) -> None:
    """By every operation that has to do with them, and inline in a message."""
    client.at_path("/plain").expect_error(operation, request_, "PushNotificationNotSupportedError")
    inline = build_send_request("x", configuration={"task_push_notification_config": {"url": HOOK}})
    client.at_path("/plain").expect_error(SEND_MESSAGE, inline, "PushNotificationNotSupportedError")


@pytest.mark.requirement("1.0", "3.3.4b")
@pytest.mark.requirement("0.3", "7.2")
def test_v1_0_3_3_4_streams_that_are_not_declared_are_refused(client: AgentClient) -> None:
    """A message that wants one, and a subscription."""
    plain = client.at_path("/plain")
    plain.expect_error(SEND_STREAMING_MESSAGE, build_send_request("x"), "UnsupportedOperationError")
    plain.expect_error(
        SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), "UnsupportedOperationError"
    )


@pytest.mark.requirement("1.0", "3.3.4c")
def test_v1_0_3_3_4_an_extended_card_that_is_not_declared_is_refused(
    client_1_0: AgentClient,
) -> None:
    """And one that is declared but not there is another matter."""
    client_1_0.at_path("/plain").expect_error(
        GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest(), "UnsupportedOperationError"
    )
    client_1_0.at_path("/promised").expect_error(
        GET_EXTENDED_AGENT_CARD,
        GetExtendedAgentCardRequest(),
        "ExtendedAgentCardNotConfiguredError",
    )


@pytest.mark.requirement("1.0", "3.3.4d", "4.6.3b")
def test_v1_0_3_3_4_a_required_extension_has_to_be_requested(client_1_0: AgentClient) -> None:
    """Another version of it does not count, and there is no fallback to an older one."""
    strict = client_1_0.at_path("/strict")
    for requested in (
        {},
        {EXTENSIONS: STRICT.replace("v2", "v1")},
        {EXTENSIONS: "https://example.org/other"},
    ):
        strict.with_headers(**requested).expect_error(
            SEND_MESSAGE, build_send_request("x"), "ExtensionSupportRequiredError"
        )
    assert strict.with_headers(**{EXTENSIONS: STRICT}).task("x").status.state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "4.6.3a")
def test_v1_0_4_6_3_an_extension_that_is_not_known_is_ignored(client: AgentClient) -> None:
    """The request goes on without it, and the answer does not name it."""
    response = client.with_headers(**{EXTENSIONS: "https://example.org/unheard-of/v9"}).call_raw(
        SEND_MESSAGE, build_send_request("x")
    )
    assert response.is_success
    assert "unheard-of" not in str(response.headers)


def list_provocations(client: AgentClient) -> dict[str, tuple[AgentClient, Operation, WireModel]]:
    """Say how each error of the protocol comes about."""
    done = client.task("x")
    request = build_send_request("x")
    empty = request.model_copy(update={"message": request.message.model_copy(update={"parts": []})})
    return {
        "InvalidParamsError": (client, SEND_MESSAGE, empty),
        "TaskNotFoundError": (client, GET_TASK, GetTaskRequest(id="unknown")),
        "TaskNotCancelableError": (client, CANCEL_TASK, CancelTaskRequest(id=done.id)),
        "PushNotificationNotSupportedError": (client.at_path("/plain"), *PUSHES[0]),
        "UnsupportedOperationError": (
            client,
            SEND_MESSAGE,
            build_send_request("x", task_id=done.id),
        ),
        "ContentTypeNotSupportedError": (
            client,
            SEND_MESSAGE,
            build_send_request("x", skill="picture"),
        ),
        "ExtendedAgentCardNotConfiguredError": (
            client.at_path("/promised"),
            GET_EXTENDED_AGENT_CARD,
            GetExtendedAgentCardRequest(),
        ),
        "ExtensionSupportRequiredError": (
            client.at_path("/strict"),
            SEND_MESSAGE,
            build_send_request("x"),
        ),
        "VersionNotSupportedError": (
            client.with_headers(a2a_version="0.5"),
            SEND_MESSAGE,
            build_send_request("x"),
        ),
    }


REACHED = sorted(ERROR_ROWS.keys() - {"InvalidAgentResponseError", "MethodNotFoundError"})


@pytest.mark.requirement("1.0", "3.3.2f", "5.4a")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", REACHED)
def test_v1_0_5_4_every_error_has_its_code_and_its_status(
    client_1_0: AgentClient, name: str
) -> None:
    """The code in JSON-RPC, the HTTP status and the name of the gRPC status over HTTP+JSON."""
    who, operation, request = list_provocations(client_1_0)[name]
    who.expect_error(operation, request, name)


@pytest.mark.requirement("1.0", "9.5b", "11.6")
@pytest.mark.parametrize("name", REACHED)
def test_v1_0_9_5_every_error_has_a_reason(client_1_0: AgentClient, name: str) -> None:
    """In an ErrorInfo, by the name of the error without its last word, over both bindings
    (11.6).
    """
    who, operation, request = list_provocations(client_1_0)[name]
    info = parse_error_info(who.call_raw(operation, request), client_1_0.dialect_binding)
    reason = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Error")).upper()
    assert (info["reason"], info["domain"]) == (reason, "a2a-protocol.org")
    assert all(isinstance(value, str) for value in info.get("metadata", {}).values())
