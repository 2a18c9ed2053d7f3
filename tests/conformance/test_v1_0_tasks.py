"""A2A 1.0, sections 3.1.3 to 3.1.6 and 3.3.1: reading, listing, canceling and following tasks."""

from __future__ import annotations

from uuid import uuid4

import pytest
from conformance.agent_client import Asker, check_refusal, fields_of

from a2a_contract.operations import CANCEL_TASK, GET_TASK, LIST_TASKS, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import CancelTaskRequest, GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest, TaskState

AT_ONCE = {"return_immediately": True}


def lists(asker: Asker) -> Asker:
    """Leave out who has no lists: the ProtoJSON form of 0.3."""
    if not asker.dialect_binding.has(LIST_TASKS):
        pytest.skip("the ProtoJSON form of 0.3 has no lists")
    return asker


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_3_a_task_is_read_as_it_is_now(asker: Asker) -> None:
    """With its state, artifacts and history; one that is not there is not found."""
    task = asker.task("hello")
    assert asker.get(task.id) == task
    asker.refused(GET_TASK, GetTaskRequest(id="nobody"), "TaskNotFoundError")


def test_v1_0_3_1_4_artifacts_are_listed_only_when_asked_for(asker: Asker) -> None:
    """Otherwise the member is not there at all."""
    context = lists(asker).task("hello").context_id
    for request in (ListTasksRequest(context_id=context), ListTasksRequest(context_id=context, include_artifacts=False)):
        (task,) = asker.wire(LIST_TASKS, request)["tasks"]
        assert "artifacts" not in task
    (task,) = asker.wire(LIST_TASKS, ListTasksRequest(context_id=context, include_artifacts=True))["tasks"]
    assert task["artifacts"][0]["parts"][0]["text"] == "hello"


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_a_task_without_artifacts_has_an_empty_list_of_them(asker_1_0: Asker) -> None:
    """Where artifacts are asked for; whatever is said in the task's words, and in its data."""
    context = asker_1_0.task(',"artifacts":[', {"all": 1, "artifacts": [1]}, skill="comment").context_id
    (task,) = asker_1_0.wire(LIST_TASKS, ListTasksRequest(context_id=context, include_artifacts=True))["tasks"]
    assert task["artifacts"] == []
    (task,) = asker_1_0.wire(LIST_TASKS, ListTasksRequest(context_id=context))["tasks"]
    assert "artifacts" not in task


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_the_token_of_the_next_page_is_always_there(asker_1_0: Asker) -> None:
    """Empty on the last page, and when there is nothing at all."""
    context = str(uuid4())
    assert asker_1_0.wire(LIST_TASKS, ListTasksRequest(context_id=context))["nextPageToken"] == ""
    asker_1_0.task("hello", context_id=context)
    page = asker_1_0.wire(LIST_TASKS, ListTasksRequest(context_id=context))
    assert (page["nextPageToken"], page["pageSize"], page["totalSize"]) == ("", 50, 1)


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_4_the_newest_change_is_listed_first(asker: Asker) -> None:
    """A task that goes on after others have come moves to the front."""
    context = str(uuid4())
    asking = lists(asker).task("hi", skill="ask", context_id=context)
    later = asker.task("hello", context_id=context)
    assert [task.id for task in asker.list(context_id=context).tasks] == [later.id, asking.id]
    asker.task("yes", task_id=asking.id, message_id="m-2")
    page = asker.list(context_id=context).tasks
    assert [task.id for task in page] == [asking.id, later.id]
    moments = [task.status.timestamp for task in page if task.status.timestamp]
    assert moments == sorted(moments, reverse=True)


def test_v1_0_3_1_4_pages_have_no_gaps_while_tasks_come(asker: Asker) -> None:
    """A cursor goes on where the page ended, whatever has come in front of it."""
    context = str(uuid4())
    known = [lists(asker).task(text, context_id=context).id for text in "abcde"]
    first = asker.list(context_id=context, page_size=2)
    asker.task("new", context_id=context)
    second = asker.list(context_id=context, page_size=2, page_token=first.next_page_token)
    third = asker.list(context_id=context, page_size=2, page_token=second.next_page_token)
    assert [task.id for page in (first, second, third) for task in page.tasks] == known[::-1]
    assert not third.next_page_token


def test_v1_0_3_1_4_a_list_has_what_its_filters_say(asker: Asker) -> None:
    """Tasks of a conversation, in a state, changed after a moment."""
    context = str(uuid4())
    done = lists(asker).task("hello", context_id=context)
    asking = asker.task("hi", skill="ask", context_id=context)
    assert [task.id for task in asker.list(context_id=context, status=TaskState.INPUT_REQUIRED).tasks] == [asking.id]
    assert [task.id for task in asker.list(context_id=context, status=TaskState.COMPLETED).tasks] == [done.id]
    after = asker.list(context_id=context, status_timestamp_after=done.status.timestamp).tasks
    assert asking.id in {task.id for task in after}


@pytest.mark.parametrize(
    "wrong", [{"pageSize": 150, "historyLength": -5}, {"pageSize": 0, "status": "TASK_STATE_RUNNING", "pageToken": "?!"}, {"pageToken": "?!"}]
)
def test_v1_0_3_1_4_wrong_filters_are_named(asker_1_0: Asker, wrong: dict[str, object]) -> None:
    """All of them at once."""
    headers = dict(asker_1_0.said)
    if asker_1_0.dialect_binding.is_jsonrpc:
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": wrong}
        response = asker_1_0.client.post("/", json=call, headers=headers)
    else:
        response = asker_1_0.client.get("/tasks", params={name: str(value) for name, value in wrong.items()}, headers=headers)
    check_refusal(response, asker_1_0.dialect_binding, "InvalidParamsError")
    assert fields_of(response, asker_1_0.dialect_binding) == list(wrong)


def test_v1_0_3_1_4_a_list_has_the_callers_tasks_only(asker: Asker) -> None:
    """With and without a filter."""
    task = lists(asker).task("mine")
    assert task.id in {each.id for each in asker.list(page_size=100).tasks}
    for query in ({"page_size": 100}, {"page_size": 100, "include_artifacts": True}):
        assert task.id not in {each.id for each in asker.bob.list(**query).tasks}


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_5_cancel_gives_the_task_as_it_is_then(asker: Asker) -> None:
    """A task that runs is stopped, one that waits for the caller too."""
    for skill in ("wait", "ask", "permit"):
        task = asker.task("x", skill=skill, configuration=AT_ONCE)
        assert asker.cancel(task.id).status.state == TaskState.CANCELED
        assert asker.get(task.id).status.state == TaskState.CANCELED


@pytest.mark.parametrize("skill", ["echo", "break", "refuse", "wait"])
def test_v1_0_3_1_5_a_task_that_has_ended_is_not_canceled(asker: Asker, skill: str) -> None:
    """Whatever its end was, being canceled included; so canceling twice changes nothing (3.3.1)."""
    task = asker.task("x", skill=skill, configuration=AT_ONCE if skill == "wait" else None)
    before = asker.cancel(task.id) if skill == "wait" else asker.get(task.id)
    asker.refused(CANCEL_TASK, CancelTaskRequest(id=task.id), "TaskNotCancelableError")
    assert asker.get(task.id) == before
    asker.refused(CANCEL_TASK, CancelTaskRequest(id="nobody"), "TaskNotFoundError")


@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_6_a_subscription_begins_with_the_task_and_ends_with_it(asker: Asker) -> None:
    """What has happened before is in the first event, what happens after in those that follow."""
    task = asker.task("6", skill="tick", configuration=AT_ONCE)
    (_, first), *updates = asker.subscribe(task.id)
    assert first.task is not None
    assert first.task.id == task.id
    before = [part.text for artifact in first.task.artifacts or [] for part in artifact.parts]
    after = [event.artifact_update.artifact.parts[0].text for _, event in updates if event.artifact_update]
    assert before + after == [str(number) for number in range(6)]
    last = updates[-1][1].status_update
    assert last is not None
    assert last.status.state == TaskState.COMPLETED


@pytest.mark.parametrize("skill", ["echo", "break", "refuse"])
def test_v1_0_3_1_6_there_is_no_subscription_to_a_task_that_has_ended(asker: Asker, skill: str) -> None:
    """That is not supported; to one that is not there it is not found."""
    task = asker.task("x", skill=skill)
    asker.refused(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id), "UnsupportedOperationError")
    asker.refused(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="nobody"), "TaskNotFoundError")


def test_v1_0_3_3_1_reading_changes_nothing(asker: Asker) -> None:
    """A task that is read twice is the same twice, and so is a list."""
    task = asker.task("hello")
    assert asker.get(task.id) == asker.get(task.id)
    if asker.dialect_binding.has(LIST_TASKS):
        assert asker.list(context_id=task.context_id) == asker.list(context_id=task.context_id)
