"""A2A 1.0, sections 3.4 and 7.6: identifiers, conversations of several turns, and authorization
within a task.
"""

from __future__ import annotations

from uuid import uuid4

import pytest
from conformance.agent_client import AgentClient
from integration.dialect_client import build_send_request

from a2a_contract.dialects import V0_3_PROTO
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import Message, Task, TaskState


def read_texts(task: Task) -> list[str | None]:
    """Read the texts of the results."""
    return [part.text for artifact in task.artifacts or [] for part in artifact.parts]


@pytest.mark.requirement("1.0", "3.4.1a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_4_1_a_new_context_id_is_returned(client: AgentClient) -> None:
    """In the task, in the reply message, and in every event of a stream."""
    assert client.task("x").context_id
    answer = client.send("Ada", skill="greet")
    assert isinstance(answer, Message)
    assert answer.context_id
    first, *updates = client.stream("2", skill="count")
    assert first.task is not None
    contexts = {(event.status_update or event.artifact_update).context_id for event in updates}  # type: ignore[union-attr]  # it is one of the two
    assert contexts == {first.task.context_id}


@pytest.mark.requirement("1.0", "3.4.1b")
def test_v1_0_3_4_1_a_context_of_the_client_is_kept(client: AgentClient) -> None:
    """Every answer has the context id that the client chose."""
    context = str(uuid4())
    assert client.task("x", context_id=context).context_id == context
    answer = client.send("Ada", skill="greet", context_id=context)
    assert isinstance(answer, Message)
    assert answer.context_id == context


@pytest.mark.requirement("1.0", "3.4.2a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_4_2_every_new_task_has_an_id_of_its_own(client: AgentClient) -> None:
    """A message that is sent twice makes two tasks with different ids."""
    tasks = [client.task("x", message_id="same") for _ in range(3)]
    assert len({task.id for task in tasks}) == 3
    assert all(task.id for task in tasks)


@pytest.mark.requirement("1.0", "3.4.2b")
def test_v1_0_3_4_2_a_client_cannot_choose_the_id_of_a_task(client: AgentClient) -> None:
    """An unknown id is an unknown task in every operation."""
    for operation in (SEND_MESSAGE, SEND_STREAMING_MESSAGE):
        client.expect_error(
            operation, build_send_request("x", task_id=str(uuid4())), "TaskNotFoundError"
        )


@pytest.mark.requirement("1.0", "3.4.3a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_4_3_the_context_follows_from_the_task(client: AgentClient) -> None:
    """A message that names only its task goes on in the task's conversation."""
    asking = client.task("hi", skill="ask")
    done = client.task("yes", task_id=asking.id, message_id="m-2")
    assert (done.id, done.context_id, done.status.state) == (
        asking.id,
        asking.context_id,
        TaskState.COMPLETED,
    )
    assert {message.context_id for message in done.history or []} == {asking.context_id}


@pytest.mark.requirement("1.0", "3.4.3b")
def test_v1_0_3_4_3_a_task_in_another_context_is_refused(client: AgentClient) -> None:
    """A message with ids of two contexts is refused, and changes neither of them."""
    asking = client.task("hi", skill="ask")
    client.expect_error(
        SEND_MESSAGE,
        build_send_request("yes", task_id=asking.id, context_id=str(uuid4())),
        "InvalidParamsError",
    )
    assert client.get(asking.id) == asking


@pytest.mark.requirement("1.0", "3.4.3a")
def test_v1_0_3_4_3_a_task_goes_on_with_both_ids(client: AgentClient) -> None:
    """A message with the ids of a task and its context continues the task."""
    asking = client.task("hi", skill="ask")
    done = client.task("yes", task_id=asking.id, context_id=asking.context_id, message_id="m-2")
    assert read_texts(done) == ["You said yes"]


@pytest.mark.requirement("1.0", "3.4.3c")
def test_v1_0_3_4_3_a_conversation_has_several_tasks(client: AgentClient) -> None:
    """A context without a task begins a new one."""
    first = client.task("one")
    second = client.task("two", context_id=first.context_id)
    assert (second.context_id, second.id != first.id) == (first.context_id, True)


@pytest.mark.requirement("1.0", "3.4.3c")
def test_v1_0_3_4_3_tasks_that_a_message_refers_to_can_be_read(client: AgentClient) -> None:
    """The handler reads the tasks of its caller that the message refers to."""
    if client.dialect_binding.dialect == V0_3_PROTO.name:
        pytest.skip("messages of the ProtoJSON form of 0.3 have no references")
    mine = client.task("mine")
    theirs = client.bob.task("theirs")
    assert read_texts(
        client.task("x", skill="recall", reference_task_ids=[mine.id, theirs.id, "unknown"])
    ) == ["mine"]


@pytest.mark.requirement("1.0", "7.6.1a")
@pytest.mark.requirement("0.3", "4.5")
def test_v1_0_7_6_1_a_task_that_needs_authorization_has_a_message(client: AgentClient) -> None:
    """The state names the need, and the message of the status explains it."""
    task = client.task("x", skill="permit")
    assert task.status.state == TaskState.AUTH_REQUIRED
    assert task.status.message is not None
    assert task.status.message.parts[0].text == "Sign in at https://example.org"


@pytest.mark.requirement("1.0", "7.6.1b")
def test_v1_0_7_6_1_a_task_that_needs_authorization_takes_messages(client: AgentClient) -> None:
    """It goes on with what the caller says."""
    task = client.task("x", skill="permit")
    done = client.task("I have", task_id=task.id, message_id="m-2")
    assert read_texts(done) == ["Authorized: I have"]


WAITING = {TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED}


@pytest.mark.requirement("1.0", "11.7b")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("skill", ["ask", "permit"])
def test_v1_0_11_7_a_stream_of_a_message_ends_where_the_task_waits(
    client: AgentClient, skill: str
) -> None:
    """A client that reads it to its end can answer; the stream of the answer goes on to the end of
    the task.
    """
    events = client.stream("x", skill=skill)
    assert events[-1].status_update is not None
    assert events[-1].status_update.status.state in WAITING
    answer = client.stream("go on", task_id=events[-1].status_update.task_id, message_id="m-2")
    last = (
        answer[-1].status_update or answer[-1].task
    )  # a task that had ended before its stream began is one event
    assert last is not None
    assert last.status.state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "7.6.1b")
@pytest.mark.usefixtures("socket_only")
@pytest.mark.parametrize("skill", ["ask", "permit"])
def test_v1_0_7_6_1_a_subscription_stays_open_while_the_task_waits(
    client_1_0: AgentClient, skill: str
) -> None:
    """The subscription brings the events after the answer of the caller."""
    waiting = client_1_0.task("x", skill=skill)
    states = []
    for _, event in client_1_0.subscribe(waiting.id):
        if event.task is not None:
            assert event.task.status.state in WAITING
            client_1_0.task("go on", task_id=waiting.id, message_id="m-2")
        if event.status_update is not None:
            states.append(event.status_update.status.state)
    assert states[-1] == TaskState.COMPLETED
