"""A2A 1.0, sections 3.1.3 to 3.1.6 and 3.3.1: reading, listing, canceling and following tasks."""

from __future__ import annotations

from uuid import uuid4

import pytest
from conformance.agent_client import AgentClient, assert_error, parse_field_errors

from a2a_contract.operations import CANCEL_TASK, GET_TASK, LIST_TASKS, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskState,
)

AT_ONCE = {"return_immediately": True}


def lists(client: AgentClient) -> AgentClient:
    """Leave out who has no lists: the ProtoJSON form of 0.3."""
    if not client.dialect_binding.has(LIST_TASKS):
        pytest.skip("the ProtoJSON form of 0.3 has no lists")
    return client


@pytest.mark.requirement("1.0", "3.1.3")
@pytest.mark.requirement("0.3", "7.3")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_3_a_task_is_read_as_it_is_now(client: AgentClient) -> None:
    """With its state, artifacts and history; one that is not there is not found."""
    task = client.task("hello")
    assert client.get(task.id) == task
    client.expect_error(GET_TASK, GetTaskRequest(id="unknown"), "TaskNotFoundError")


@pytest.mark.requirement("1.0", "3.1.4a")
@pytest.mark.requirement("0.3", "7.4b")
def test_v1_0_3_1_4_artifacts_are_listed_only_on_request(client: AgentClient) -> None:
    """A list has artifacts if the request asks for them; otherwise the member is absent."""
    context = lists(client).task("hello").context_id
    for request in (
        ListTasksRequest(context_id=context),
        ListTasksRequest(context_id=context, include_artifacts=False),
    ):
        (task,) = client.call_wire(LIST_TASKS, request)["tasks"]
        assert "artifacts" not in task
    (task,) = client.call_wire(
        LIST_TASKS, ListTasksRequest(context_id=context, include_artifacts=True)
    )["tasks"]
    assert task["artifacts"][0]["parts"][0]["text"] == "hello"


@pytest.mark.requirement("1.0", "3.1.4g")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_a_task_without_artifacts_has_an_empty_list_of_them(
    client_1_0: AgentClient,
) -> None:
    """The text and the data of the task make no difference."""
    context = client_1_0.task(
        ',"artifacts":[', {"all": 1, "artifacts": [1]}, skill="comment"
    ).context_id
    (task,) = client_1_0.call_wire(
        LIST_TASKS, ListTasksRequest(context_id=context, include_artifacts=True)
    )["tasks"]
    assert (
        task.get("artifacts", [] if client_1_0.dialect_binding.is_grpc else None) == []
    )  # messages have no empty lists
    (task,) = client_1_0.call_wire(LIST_TASKS, ListTasksRequest(context_id=context))["tasks"]
    assert "artifacts" not in task


@pytest.mark.requirement("1.0", "3.1.4b")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_the_token_of_the_next_page_is_always_there(client_1_0: AgentClient) -> None:
    """Empty on the last page, and when there is nothing at all."""
    context = str(uuid4())
    absent = (
        {"nextPageToken": ""} if client_1_0.dialect_binding.is_grpc else {}
    )  # messages have no empty texts
    assert {**absent, **client_1_0.call_wire(LIST_TASKS, ListTasksRequest(context_id=context))}[
        "nextPageToken"
    ] == ""
    client_1_0.task("hello", context_id=context)
    page = {**absent, **client_1_0.call_wire(LIST_TASKS, ListTasksRequest(context_id=context))}
    assert (page["nextPageToken"], page["pageSize"], page["totalSize"]) == ("", 50, 1)


@pytest.mark.requirement("1.0", "3.1.4e")
@pytest.mark.requirement("0.3", "7.4a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_the_newest_change_is_listed_first(client: AgentClient) -> None:
    """A task that goes on after others have come moves to the front."""
    context = str(uuid4())
    asking = lists(client).task("hi", skill="ask", context_id=context)
    later = client.task("hello", context_id=context)
    assert [task.id for task in client.list(context_id=context).tasks] == [later.id, asking.id]
    client.task("yes", task_id=asking.id, message_id="m-2")
    page = client.list(context_id=context).tasks
    assert [task.id for task in page] == [asking.id, later.id]
    moments = [task.status.timestamp for task in page if task.status.timestamp]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.requirement("1.0", "3.1.4d")
def test_v1_0_3_1_4_pages_have_no_gaps_while_tasks_come(client: AgentClient) -> None:
    """A cursor goes on where the page ended, whatever has come in front of it."""
    context = str(uuid4())
    known = [lists(client).task(text, context_id=context).id for text in "abcde"]
    first = client.list(context_id=context, page_size=2)
    client.task("new", context_id=context)
    second = client.list(context_id=context, page_size=2, page_token=first.next_page_token)
    third = client.list(context_id=context, page_size=2, page_token=second.next_page_token)
    assert [task.id for page in (first, second, third) for task in page.tasks] == known[::-1]
    assert not third.next_page_token


@pytest.mark.requirement("1.0", "3.1.4f")
def test_v1_0_3_1_4_a_list_has_what_its_filters_say(client: AgentClient) -> None:
    """Tasks of a conversation, in a state, changed after a moment."""
    context = str(uuid4())
    done = lists(client).task("hello", context_id=context)
    asking = client.task("hi", skill="ask", context_id=context)
    assert [
        task.id for task in client.list(context_id=context, status=TaskState.INPUT_REQUIRED).tasks
    ] == [asking.id]
    assert [
        task.id for task in client.list(context_id=context, status=TaskState.COMPLETED).tasks
    ] == [done.id]
    after = client.list(context_id=context, status_timestamp_after=done.status.timestamp).tasks
    assert asking.id in {task.id for task in after}


@pytest.mark.requirement("1.0", "3.1.4f", "3.3.2e")
@pytest.mark.parametrize(
    "wrong",
    [
        {"pageSize": 150, "historyLength": -5},
        {"pageSize": 0, "status": "TASK_STATE_RUNNING", "pageToken": "?!"},
        {"pageToken": "?!"},
    ],
)
def test_v1_0_3_1_4_wrong_filters_are_field_errors(
    client_1_0: AgentClient, wrong: dict[str, object]
) -> None:
    """All of them in one response."""
    headers = dict(client_1_0.headers)
    if client_1_0.dialect_binding.is_jsonrpc or client_1_0.dialect_binding.is_grpc:
        response = client_1_0.post_document(LIST_TASKS, wrong)
    else:
        response = client_1_0.http.get(
            "/tasks", params={name: str(value) for name, value in wrong.items()}, headers=headers
        )
    assert_error(response, client_1_0.dialect_binding, "InvalidParamsError")
    assert parse_field_errors(response, client_1_0.dialect_binding) == list(wrong)


@pytest.mark.requirement("1.0", "3.1.4c")
@pytest.mark.requirement("0.3", "7.4a")
def test_v1_0_3_1_4_a_list_has_the_callers_tasks_only(client: AgentClient) -> None:
    """With and without a filter; of a caller of this test alone, because other tests leave tasks
    that not every binding can carry.
    """
    carl = lists(client).with_headers(Authorization="Bearer carl")
    task = carl.task("mine")
    assert task.id in {each.id for each in carl.list(page_size=100).tasks}
    for query in ({"page_size": 100}, {"page_size": 100, "include_artifacts": True}):
        assert task.id not in {each.id for each in client.bob.list(**query).tasks}


@pytest.mark.requirement("1.0", "3.1.5")
@pytest.mark.requirement("0.3", "7.5")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_5_cancel_gives_the_task_as_it_is_then(client: AgentClient) -> None:
    """A task that runs is stopped, one that waits for the caller too."""
    for skill in ("wait", "ask", "permit"):
        task = client.task("x", skill=skill, configuration=AT_ONCE)
        assert client.cancel(task.id).status.state == TaskState.CANCELED
        assert client.get(task.id).status.state == TaskState.CANCELED


@pytest.mark.requirement("1.0", "3.1.5", "3.3.1")
@pytest.mark.requirement("0.3", "7.5")
@pytest.mark.parametrize("skill", ["echo", "break", "refuse", "wait"])
def test_v1_0_3_1_5_a_task_that_has_ended_is_not_canceled(client: AgentClient, skill: str) -> None:
    """Whatever its end was, being canceled included; so canceling twice changes nothing (3.3.1)."""
    task = client.task("x", skill=skill, configuration=AT_ONCE if skill == "wait" else None)
    before = client.cancel(task.id) if skill == "wait" else client.get(task.id)
    client.expect_error(CANCEL_TASK, CancelTaskRequest(id=task.id), "TaskNotCancelableError")
    assert client.get(task.id) == before
    client.expect_error(CANCEL_TASK, CancelTaskRequest(id="unknown"), "TaskNotFoundError")


@pytest.mark.requirement("1.0", "3.1.6a")
@pytest.mark.requirement("0.3", "7.10a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_6_a_subscription_begins_with_the_task_and_ends_with_it(
    client: AgentClient,
) -> None:
    """Earlier changes are in the first event, later ones in those that follow."""
    task = client.task("6", skill="tick", configuration=AT_ONCE)
    (_, first), *updates = client.subscribe(task.id)
    assert first.task is not None
    assert first.task.id == task.id
    before = [part.text for artifact in first.task.artifacts or [] for part in artifact.parts]
    after = [
        event.artifact_update.artifact.parts[0].text
        for _, event in updates
        if event.artifact_update
    ]
    assert before + after == [str(number) for number in range(6)]
    last = updates[-1][1].status_update
    assert last is not None
    assert last.status.state == TaskState.COMPLETED


@pytest.mark.requirement("1.0", "3.1.6b", "11.3.2")
@pytest.mark.requirement("0.3", "7.10a")
@pytest.mark.parametrize("skill", ["echo", "break", "refuse"])
def test_v1_0_3_1_6_there_is_no_subscription_to_a_task_that_has_ended(
    client: AgentClient, skill: str
) -> None:
    """That is not supported; to one that is not there it is not found."""
    task = client.task("x", skill=skill)
    client.expect_error(
        SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id), "UnsupportedOperationError"
    )
    client.expect_error(
        SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="unknown"), "TaskNotFoundError"
    )


@pytest.mark.requirement("1.0", "3.3.1")
def test_v1_0_3_3_1_reading_changes_nothing(client: AgentClient) -> None:
    """A task that is read twice is the same twice, and so is a list."""
    task = client.task("hello")
    assert client.get(task.id) == client.get(task.id)
    if client.dialect_binding.has(LIST_TASKS):
        assert client.list(context_id=task.context_id) == client.list(context_id=task.context_id)
