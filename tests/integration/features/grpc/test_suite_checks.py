"""Checks of the conformance suites over gRPC, each with the raw call that they make: 1.0 (commit
357c4a8) and 0.3 (0.3.0.beta4).
"""

from __future__ import annotations

import grpc
import pytest
from integration.features.grpc.calls import CallError, Json, build_send, serve_agent
from integration.outcome_agent import BlockingHandler, build_test_agent

from a2a_runtime.agent import Capabilities

pytestmark = pytest.mark.anyio
NEW = "lf.a2a.v1"
OLD = "a2a.v1"
WEBHOOK = {"url": "https://hooks.example.org/a2a", "id": "default"}


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


ABSENT = {
    "GetTask": (NEW, "GetTask", {"id": "absent"}),
    "CancelTask": (NEW, "CancelTask", {"id": "absent"}),
    "GetTask of 0.3": (OLD, "GetTask", {"name": "tasks/absent"}),
    "CancelTask of 0.3": (OLD, "CancelTask", {"name": "tasks/absent"}),
    "a webhook of 0.3": (
        OLD,
        "GetTaskPushNotificationConfig",
        {"name": "tasks/absent/pushNotificationConfigs/default"},
    ),
}


@pytest.mark.requirement("1.0", "10b")
@pytest.mark.parametrize(("package", "name", "document"), ABSENT.values(), ids=ABSENT)
async def test_an_absent_task_is_not_found(package: str, name: str, document: Json) -> None:
    """With the reason and the domain of the protocol; with the version in the metadata, and for 0.3
    without one.
    """
    metadata = {"a2a-version": "1.0"} if package == NEW else {}
    async with serve_agent(build_test_agent()) as client:
        failure = await client.fail(name, document, metadata, package=package)
        assert (failure.code, failure.reason) == ("NOT_FOUND", "TASK_NOT_FOUND")
        assert failure.details[0]["domain"] == "a2a-protocol.org"


@pytest.mark.parametrize(
    ("package", "name", "document"),
    [
        (NEW, "SubscribeToTask", {"id": "absent"}),
        (OLD, "TaskSubscription", {"name": "tasks/absent"}),
    ],
)
async def test_a_subscription_to_an_absent_task_is_not_found(
    package: str, name: str, document: Json
) -> None:
    """The call fails with NOT_FOUND before the first event."""
    async with serve_agent(build_test_agent()) as client:
        with pytest.raises(CallError) as caught:
            [each async for each in client.stream(name, document, package=package)]
        assert caught.value.failure.code == "NOT_FOUND"


PUSH = {
    "create": (NEW, "CreateTaskPushNotificationConfig", {"taskId": "x", **WEBHOOK}),
    "get": (NEW, "GetTaskPushNotificationConfig", {"taskId": "x", "id": "default"}),
    "list": (NEW, "ListTaskPushNotificationConfigs", {"taskId": "x"}),
    "delete": (NEW, "DeleteTaskPushNotificationConfig", {"taskId": "x", "id": "default"}),
    "list of 0.3": (OLD, "ListTaskPushNotificationConfig", {"parent": "tasks/x"}),
    "delete of 0.3": (
        OLD,
        "DeleteTaskPushNotificationConfig",
        {"name": "tasks/x/pushNotificationConfigs/default"},
    ),
}


@pytest.mark.parametrize(("package", "name", "document"), PUSH.values(), ids=PUSH)
async def test_webhooks_of_an_agent_without_them_are_unimplemented(
    package: str, name: str, document: Json
) -> None:
    """Every webhook operation is UNIMPLEMENTED, for known and unknown tasks."""
    async with serve_agent(build_test_agent(capabilities=Capabilities(streaming=True))) as client:
        failure = await client.fail(name, document, package=package)
        assert (failure.code, failure.reason) == (
            "UNIMPLEMENTED",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        )


async def test_streams_of_an_agent_without_them_are_unimplemented() -> None:
    """Both of them, before the first event."""
    async with serve_agent(build_test_agent(capabilities=Capabilities(streaming=False))) as client:
        task = await client.send("x", "wait", returnImmediately=True)
        for name, document in (
            ("SendStreamingMessage", build_send("x")),
            ("SubscribeToTask", {"id": task["id"]}),
        ):
            with pytest.raises(CallError) as caught:
                [each async for each in client.stream(name, document)]
            assert (caught.value.failure.code, caught.value.failure.reason) == (
                "UNIMPLEMENTED",
                "UNSUPPORTED_OPERATION",
            )


async def test_unknown_extensions_change_nothing() -> None:
    """Two of them, in one entry."""
    async with serve_agent(build_test_agent()) as client:
        metadata = {
            "a2a-version": "1.0",
            "a2a-extensions": "https://example.org/one,https://example.org/two",
        }
        assert (await client.send("x", metadata=metadata))["status"][
            "state"
        ] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("1.0", "10d")
async def test_streams_have_events_with_one_payload_each() -> None:
    """A subscription begins with the task, and a call that is canceled ends as canceled; a task
    that has ended has no subscription.
    """
    async with serve_agent(build_test_agent(BlockingHandler())) as client:
        events = [
            event
            async for _, event in client.stream("SendStreamingMessage", build_send("3", "count"))
        ]
        assert events
        assert {len(each) for each in events} == {1}
        task = await client.send("x", "wait", returnImmediately=True)
        call, _ = client.open("SubscribeToTask", {"id": task["id"]}, timeout=30)
        subscription = client.stream("SubscribeToTask", {"id": task["id"]})
        assert "task" in (await anext(subscription))[1]
        await call.read()
        call.cancel()
        assert await call.code() is grpc.StatusCode.CANCELLED
        await subscription.aclose()
        with pytest.raises(CallError) as caught:
            [
                each
                async for each in client.stream("SubscribeToTask", {"id": events[0]["task"]["id"]})
            ]
        assert caught.value.failure.reason == "UNSUPPORTED_OPERATION"


def message(**members: Json) -> Json:
    """Build a message as the suite of 0.3 sends it, with an empty configuration."""
    return {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "x"}], **members},
        "configuration": {},
    }


INVALID = {
    "no parts": ("SendMessage", message(content=[])),
    "an empty id": ("SendMessage", message(messageId="")),
    "no message": ("SendMessage", {"configuration": {}}),
    "a negative length of the history": ("GetTask", {"name": "tasks/x", "historyLength": -1}),
    "a name without a task": ("GetTask", {"name": "tasks/"}),
    "no name": ("GetTask", {}),
}


@pytest.mark.requirement("0.3", "3.2.2")
@pytest.mark.parametrize(("name", "document"), INVALID.values(), ids=INVALID)
async def test_invalid_requests_of_0_3_are_invalid_arguments(name: str, document: Json) -> None:
    """A value that is empty on the wire is missing."""
    async with serve_agent(build_test_agent()) as client:
        failure = await client.fail(name, document, package=OLD)
        assert failure.code == "INVALID_ARGUMENT"
        assert failure.text.startswith("InvalidParamsError: ")


@pytest.mark.requirement("0.3", "3.2.2")
async def test_every_method_of_0_3_is_served() -> None:
    """With the names of its resources, and without a version in the metadata."""
    async with serve_agent(build_test_agent()) as client:
        task = (await client.call("SendMessage", message(), package=OLD))["task"]
        name = f"tasks/{task['id']}"
        assert (await client.call("GetTask", {"name": name, "historyLength": 1}, package=OLD))[
            "id"
        ] == task["id"]
        hook = f"{name}/pushNotificationConfigs/default"
        config = {
            "parent": name,
            "configId": "default",
            "config": {"name": hook, "pushNotificationConfig": WEBHOOK},
        }
        assert (await client.call("CreateTaskPushNotificationConfig", config, package=OLD))[
            "name"
        ] == hook
        found = await client.call("GetTaskPushNotificationConfig", {"name": hook}, package=OLD)
        assert found["pushNotificationConfig"]["url"] == WEBHOOK["url"]
        assert (
            len(
                (
                    await client.call(
                        "ListTaskPushNotificationConfig", {"parent": name}, package=OLD
                    )
                )["configs"]
            )
            == 1
        )
        assert (
            await client.call("DeleteTaskPushNotificationConfig", {"name": hook}, package=OLD) == {}
        )
        assert "configs" not in await client.call(
            "ListTaskPushNotificationConfig", {"parent": name}, package=OLD
        )
        failure = await client.fail("CancelTask", {"name": name}, package=OLD)
        assert (failure.code, failure.reason) == ("FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")
        events = [
            event
            async for _, event in client.stream("SendStreamingMessage", message(), package=OLD)
        ]
        assert {len(each) for each in events} == {1}
