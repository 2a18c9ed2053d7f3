"""A2A 1.0, sections 3.1.7 to 3.1.10, 4.3 and 13.2: webhooks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from conformance.agent import app_under_test
from conformance.agent_client import AgentClient, parse_field_errors
from integration.dialect_client import DialectBinding, build_send_request
from integration.outcome_agent import serve_on_socket

from a2a_contract.dialects import V1_0
from a2a_contract.operations import (
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    GET_TASK_PUSH_NOTIFICATION_CONFIG,
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    SEND_MESSAGE,
)
from a2a_contract.v1_0 import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.webhook_receiver import WebhookReceiver

HOOK = "https://hooks.example.org/a2a"
SECRET = "s3cr3t"  # noqa: S105 - that is what the test is about


def start_running_task(client: AgentClient) -> Task:
    """Start a task that does not end by itself."""
    return client.task("x", skill="wait", configuration={"return_immediately": True})


def add_webhook(
    client: AgentClient, task: Task, config_id: str = "p-1", url: str = HOOK
) -> TaskPushNotificationConfig:
    """Add a webhook to a task."""
    said = AuthenticationInfo(scheme="Bearer", credentials=SECRET)
    request = TaskPushNotificationConfig(
        task_id=task.id,
        id=config_id,
        url=url,
        token="t-1",  # noqa: S106 - as above
        authentication=said,
    )
    config = client.call(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, request)
    assert isinstance(config, TaskPushNotificationConfig)
    return config


def read_webhook(
    client: AgentClient, task: Task, config_id: str = "p-1"
) -> TaskPushNotificationConfig:
    """Read a webhook of a task."""
    config = client.call(
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task.id, id=config_id),
    )
    assert isinstance(config, TaskPushNotificationConfig)
    return config


def list_webhooks(client: AgentClient, task: Task) -> list[str | None]:
    """List the webhooks of a task."""
    answer = client.call(
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS, ListTaskPushNotificationConfigsRequest(task_id=task.id)
    )
    assert isinstance(answer, ListTaskPushNotificationConfigsResponse)
    return [each.id for each in answer.configs or []]


@pytest.mark.requirement("1.0", "3.1.7")
@pytest.mark.requirement("0.3", "7.6")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_7_a_webhook_stays_until_it_is_deleted(client: AgentClient) -> None:
    """It is returned as it was created, and can be read at any time."""
    task = start_running_task(client)
    assert add_webhook(client, task).url == HOOK
    assert (read_webhook(client, task).id, read_webhook(client, task).url) == ("p-1", HOOK)
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.7")
def test_v1_0_3_1_7_a_webhook_of_an_unknown_task_is_refused(client: AgentClient) -> None:
    """There is no task that it could hear of."""
    request = TaskPushNotificationConfig(task_id="unknown", id="p-1", url=HOOK)
    client.expect_error(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, request, "TaskNotFoundError")


NEVER_CALLED: dict[str, tuple[dict[str, object], str]] = {
    "a line break in the token": ({"token": "a\r\nX-Evil: 1"}, "token"),
    "a line break in the scheme": (
        {"authentication": AuthenticationInfo(scheme="Be\r\narer", credentials="x")},
        "authentication.scheme",
    ),
    "a line break in the credentials": (
        {"authentication": AuthenticationInfo(scheme="Bearer", credentials="x\n")},
        "authentication.credentials",
    ),
    "an id that is no segment of a path": ({"id": "a/b"}, "id"),
}


@pytest.mark.requirement("1.0", "3.3.2h")
@pytest.mark.parametrize(("change", "place"), NEVER_CALLED.values(), ids=NEVER_CALLED.keys())
def test_v1_0_3_3_2_a_webhook_that_can_never_be_called_is_refused_when_it_is_set(
    client_1_0: AgentClient, change: dict[str, object], place: str
) -> None:
    """And not at its first notification: beside a message, and alone."""
    config = TaskPushNotificationConfig(url=HOOK).model_copy(update=change)
    inline = build_send_request("x", configuration={"task_push_notification_config": config})
    response = client_1_0.expect_error(SEND_MESSAGE, inline, "InvalidParamsError")
    assert parse_field_errors(response, client_1_0.dialect_binding) == [
        f"configuration.taskPushNotificationConfig.{place}"
    ]
    task = start_running_task(client_1_0)
    response = client_1_0.expect_error(
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        config.model_copy(update={"task_id": task.id}),
        "InvalidParamsError",
    )
    assert parse_field_errors(response, client_1_0.dialect_binding) == [place]
    client_1_0.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.8a", "3.1.8b")
@pytest.mark.requirement("0.3", "7.6")
def test_v1_0_3_1_8_a_webhook_is_read_with_what_it_was_made_of(client: AgentClient) -> None:
    """With its address and its settings, and one that is not there is not found."""
    task = start_running_task(client)
    add_webhook(client, task)
    config = read_webhook(client, task)
    assert (config.task_id, config.url, config.token) == (task.id, HOOK, "t-1")
    assert config.authentication is not None
    client.expect_error(
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="p-2"),
        "TaskNotFoundError",
    )
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.8b")
def test_v1_0_3_1_8_nobody_else_reads_a_webhook(client: AgentClient) -> None:
    """For others there is no such task, whatever they ask about its webhooks."""
    task = start_running_task(client)
    add_webhook(client, task)
    client.bob.expect_error(
        GET_TASK_PUSH_NOTIFICATION_CONFIG,
        GetTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
        "TaskNotFoundError",
    )
    client.bob.expect_error(
        LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        ListTaskPushNotificationConfigsRequest(task_id=task.id),
        "TaskNotFoundError",
    )
    client.bob.expect_error(
        DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
        "TaskNotFoundError",
    )
    client.bob.expect_error(
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        TaskPushNotificationConfig(task_id=task.id, id="p-1", url=HOOK),
        "TaskNotFoundError",
    )
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.9")
@pytest.mark.requirement("0.3", "7.6")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_9_all_webhooks_are_listed(client: AgentClient) -> None:
    """All that are active, and none that was deleted."""
    task = start_running_task(client)
    assert list_webhooks(client, task) == []
    for config_id in ("p-1", "p-2", "p-3"):
        add_webhook(client, task, config_id)
    client.call(
        DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p-2"),
    )
    assert sorted(filter(None, list_webhooks(client, task))) == ["p-1", "p-3"]
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.10")
@pytest.mark.requirement("0.3", "7.6")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_10_a_webhook_that_is_deleted_is_gone(client: AgentClient) -> None:
    """For good, and deleting it again changes nothing; a task that is not there is not found."""
    task = start_running_task(client)
    add_webhook(client, task)
    for _ in range(3):
        client.call(
            DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
        )
        client.expect_error(
            GET_TASK_PUSH_NOTIFICATION_CONFIG,
            GetTaskPushNotificationConfigRequest(task_id=task.id, id="p-1"),
            "TaskNotFoundError",
        )
    client.expect_error(
        DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        DeleteTaskPushNotificationConfigRequest(task_id="unknown", id="p-1"),
        "TaskNotFoundError",
    )
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.1.7", "4.3.3a", "4.3.3b", "13.2a")
@pytest.mark.anyio
@pytest.mark.parametrize("is_jsonrpc", [True, False], ids=["jsonrpc", "http"])
async def test_v1_0_4_3_3_a_webhook_gets_the_events_of_a_stream(
    is_jsonrpc: bool,  # noqa: FBT001 - a table
) -> None:
    """One event in each call, at least once, in order, with the credentials and the token of the
    webhook.
    """
    binding = DialectBinding(V1_0.name, is_jsonrpc=is_jsonrpc)
    async with WebhookReceiver() as receiver:
        hook = {
            "url": receiver.url,
            "token": "t-1",
            "authentication": {"scheme": "Bearer", "credentials": SECRET},
        }
        request = build_send_request(
            "3", skill="count", configuration={"task_push_notification_config": hook}
        )
        with serve_on_socket(
            app_under_test(
                settings=replace(
                    FAST_SETTINGS, outbound_allow_loopback=True, push_poll_interval=0.05
                )
            )
        ) as http:
            await asyncio.to_thread(AgentClient(http, binding).call_wire, SEND_MESSAGE, request)
            while not receiver.requests or "COMPLETED" not in receiver.requests[-1].body.decode():  # noqa: ASYNC110 - the receiver counts, and does not read
                await asyncio.sleep(0.01)
    events = [json.loads(call.body) for call in receiver.requests]
    assert [len(event) for event in events] == [1] * len(events)
    assert {
        (call.headers["authorization"], call.headers["x-a2a-notification-token"])
        for call in receiver.requests
    } == {(f"Bearer {SECRET}", "t-1")}
    assert {call.headers["content-type"].partition(";")[0] for call in receiver.requests} <= {
        "application/json",
        "application/a2a+json",
    }
    assert [
        event["artifactUpdate"]["artifact"]["parts"][0]["text"]
        for event in events
        if "artifactUpdate" in event
    ] == ["0", "1", "2"]


@pytest.mark.requirement("1.0", "13.2b")
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/h",
        "https://10.0.0.1/h",
        "https://172.16.0.1/h",
        "https://192.168.1.1/h",
        "https://169.254.169.254/h",
        "https://[::1]/h",
    ],
)
def test_v1_0_13_2_a_webhook_inside_our_network_is_refused(client: AgentClient, url: str) -> None:
    """Private, loopback and link-local addresses, and what is not https."""
    task = start_running_task(client)
    client.expect_error(
        CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        TaskPushNotificationConfig(task_id=task.id, id="p-1", url=url),
        "InvalidParamsError",
    )
    plain = TaskPushNotificationConfig(task_id=task.id, id="p-1", url="http://hooks.example.org/h")
    client.expect_error(CREATE_TASK_PUSH_NOTIFICATION_CONFIG, plain, "InvalidParamsError")
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "13.2b")
def test_v1_0_13_2_credentials_of_a_webhook_are_secrets(client: AgentClient) -> None:
    """No operation returns the credentials of a webhook."""
    task = start_running_task(client)
    assert SECRET not in add_webhook(client, task).to_json().decode()
    assert SECRET not in read_webhook(client, task).to_json().decode()
    client.cancel(task.id)
