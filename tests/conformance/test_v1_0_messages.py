"""A2A 1.0, sections 3.1.1, 3.1.2 and 3.2: sending messages, and what comes of them."""

from __future__ import annotations

import time

import pytest
from conformance.agent_client import AgentClient
from integration.dialect_client import DialectBinding, build_send_request

from a2a_contract.dialects import V0_3_PROTO
from a2a_contract.operations import GET_TASK, SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import GetTaskRequest, Message, Task, TaskState

AT_ONCE = {"return_immediately": True}
KINDS = {"task", "message", "statusUpdate", "artifactUpdate"}


@pytest.mark.requirement("1.0", "3.1.1a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_1_a_message_is_answered_with_a_task_or_a_message(client: AgentClient) -> None:
    """The answer is one of the two, and never both."""
    assert isinstance(client.send("hello"), Task)
    assert isinstance(client.send("Ada", skill="greet"), Message)


@pytest.mark.requirement("1.0", "3.1.1b")
@pytest.mark.requirement("0.3", "6.1")
@pytest.mark.parametrize("skill", ["echo", "refuse", "break"])
def test_v1_0_3_1_1_a_task_that_has_ended_takes_no_message(client: AgentClient, skill: str) -> None:
    """A message to a task in any final state is refused."""
    task = client.task("x", skill=skill)
    client.expect_error(
        SEND_MESSAGE, build_send_request("more", task_id=task.id), "UnsupportedOperationError"
    )
    client.expect_error(
        SEND_STREAMING_MESSAGE,
        build_send_request("more", task_id=task.id),
        "UnsupportedOperationError",
    )


@pytest.mark.requirement("1.0", "3.1.1c")
def test_v1_0_3_1_1_a_media_type_that_the_skill_does_not_take_is_refused(
    client: AgentClient,
) -> None:
    """A part of another media type is refused with the specified error."""
    client.expect_error(
        SEND_MESSAGE, build_send_request("text", skill="picture"), "ContentTypeNotSupportedError"
    )


@pytest.mark.requirement("1.0", "3.1.1c")
def test_v1_0_3_1_1_a_message_to_an_unknown_task_is_refused(client: AgentClient) -> None:
    """The task does not exist, so it cannot go on."""
    client.expect_error(
        SEND_MESSAGE, build_send_request("x", task_id="unknown"), "TaskNotFoundError"
    )
    client.expect_error(
        SEND_STREAMING_MESSAGE, build_send_request("x", task_id="unknown"), "TaskNotFoundError"
    )


@pytest.mark.requirement("1.0", "3.1.2a")
@pytest.mark.requirement("0.3", "7.2")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_2_a_stream_of_a_message_has_one_event(client: AgentClient) -> None:
    """The message, and then the stream is over."""
    (event,) = client.stream("Ada", skill="greet")
    assert event.message is not None


@pytest.mark.requirement("1.0", "3.1.2b")
@pytest.mark.requirement("0.3", "7.2")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("skill", "end"), [("count", "COMPLETED"), ("break", "FAILED"), ("refuse", "REJECTED")]
)
def test_v1_0_3_1_2_a_stream_of_a_task_goes_from_the_task_to_its_end(
    client: AgentClient, skill: str, end: str
) -> None:
    """It begins with the task, goes on with updates only, and closes at the terminal state."""
    first, *updates = client.stream("3", skill=skill)
    assert first.task is not None
    assert all(event.status_update or event.artifact_update for event in updates)
    assert updates[-1].status_update is not None
    assert updates[-1].status_update.status.state == TaskState[end]
    assert not [
        event
        for event in updates[:-1]
        if event.status_update and event.status_update.status.state == TaskState[end]
    ]


@pytest.mark.requirement("1.0", "3.1.2c")
def test_v1_0_3_1_2_a_stream_sends_chunks_at_once(client_1_0: AgentClient) -> None:
    """Chunks come one by one, not all at the end."""
    chunks = [event for event in client_1_0.stream("3", skill="tick") if event.artifact_update]
    assert len(chunks) >= 3


@pytest.mark.requirement("1.0", "3.2.2a")
@pytest.mark.requirement("0.3", "7.1")
def test_v1_0_3_2_2_a_blocking_send_waits_for_the_end(client: AgentClient) -> None:
    """A send waits by default, and returns all artifacts and the newest status."""
    for configuration in (None, {"return_immediately": False}):
        task = client.task("3", skill="tick", configuration=configuration)
        assert task.status.state == TaskState.COMPLETED
        assert [part.text for artifact in task.artifacts or [] for part in artifact.parts] == [
            "0",
            "1",
            "2",
        ]


@pytest.mark.requirement("1.0", "3.2.2a")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("ask", TaskState.INPUT_REQUIRED),
        ("permit", TaskState.AUTH_REQUIRED),
        ("refuse", TaskState.REJECTED),
    ],
)
def test_v1_0_3_2_2_a_blocking_send_returns_where_the_task_stops(
    client: AgentClient, skill: str, state: TaskState
) -> None:
    """Also where the task waits for the caller, or is refused."""
    assert client.task("x", skill=skill).status.state == state


@pytest.mark.requirement("1.0", "3.1.1a", "3.2.2b")
def test_v1_0_3_2_2_an_immediate_send_does_not_wait(client: AgentClient) -> None:
    """The task that comes back is still under way, and can be asked for."""
    began = time.monotonic()
    task = client.task("x", skill="wait", configuration=AT_ONCE)
    assert time.monotonic() - began < 5
    assert task.status.state in {TaskState.SUBMITTED, TaskState.WORKING}
    assert client.get(task.id).id == task.id
    client.cancel(task.id)


@pytest.mark.requirement("1.0", "3.2.2b")
def test_v1_0_3_2_2_an_immediate_send_changes_nothing_for_messages_and_streams(
    client: AgentClient,
) -> None:
    """A message comes as ever, and a stream goes on to the end."""
    assert isinstance(client.send("Ada", skill="greet", configuration=AT_ONCE), Message)
    last = client.stream("3", skill="count", configuration=AT_ONCE)[-1]
    assert last.status_update is not None
    assert last.status_update.status.state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "3.2.3")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_2_3_an_event_is_exactly_one_thing(client_1_0: AgentClient) -> None:
    """A task, a message, or one of the two kinds of updates."""
    for skill in ("count", "greet"):
        for event in client_1_0.stream_wire(
            SEND_STREAMING_MESSAGE, build_send_request("3", skill=skill)
        ):
            assert len(KINDS & set(event)) == len(event) == 1


@pytest.mark.requirement("1.0", "3.2.4")
@pytest.mark.requirement("0.3", "7.3")
def test_v1_0_3_2_4_the_length_of_the_history_is_the_clients_choice(client: AgentClient) -> None:
    """Unset gives all, 0 gives no member at all, a number the newest of them."""
    asking = client.task("hi", skill="ask")
    task = client.task("yes", task_id=asking.id, message_id="m-2")
    whole = client.get(task.id).history or []
    assert [part.text for message in whole for part in message.parts] == ["hi", "What?", "yes"]
    newest = client.get(task.id, history_length=1).history or []
    assert [part.text for message in newest for part in message.parts] == ["yes"]
    if client.dialect_binding == DialectBinding(V0_3_PROTO.name, is_jsonrpc=False, is_grpc=True):
        return  # whose messages cannot tell 0 from unset
    assert "history" not in client.call_wire(GET_TASK, GetTaskRequest(id=task.id, history_length=0))
    assert "history" not in client.task("x", configuration={"history_length": 0}).to_dict()


@pytest.mark.requirement("1.0", "3.2.6")
def test_v1_0_3_2_6_names_of_service_parameters_have_no_case(client_1_0: AgentClient) -> None:
    """A version is found in whatever case its name is written."""
    for name in ("a2a-version", "A2A-VERSION", "opvs-Version"):
        client_1_0.with_headers(**{name: "9.9"}).expect_error(
            SEND_MESSAGE, build_send_request("x"), "VersionNotSupportedError"
        )
        assert (
            client_1_0.with_headers(**{name: client_1_0.version}).task("x").status.state
            == TaskState.COMPLETED
        )
