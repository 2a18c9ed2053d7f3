"""One surface, several dialects: all of them see the same tasks, each as it speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from conformance.mesh.producer import Consumer, message, producer, text_of
from integration.dialect_client import DialectBinding, DialectClient
from integration.outcome_agent import serve_on_socket

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.v1_0 import TaskState

PATH = "/agents/mixed"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a producer with a surface that speaks mesh, 1.0 and 0.3, and asks something."""
    with serve_on_socket(producer()) as client:
        yield client


@pytest.fixture
def mesh(client: httpx.Client) -> Consumer:
    """Consumer in the mesh dialect."""
    return Consumer(client, PATH)


@pytest.fixture(params=[V1_0.name, V0_3.name])
def other(client: httpx.Client, request: pytest.FixtureRequest) -> DialectClient:
    """Client in another dialect."""
    return DialectClient(client, DialectBinding(request.param, is_jsonrpc=True), PATH)


def test_a_task_of_mesh_is_there_for_others(mesh: Consumer, other: DialectClient) -> None:
    """A suspended task is working in mesh; a client of another dialect sees the question and
    replies; mesh gets the result.
    """
    task_id = mesh.task("tasks/send", message=message("hello"))["id"]
    assert mesh.task("tasks/get", id=task_id)["status"]["state"] == "working"
    if (
        other.dialect_binding.dialect == V1_0.name
    ):  # the methods of 0.3 that mesh has too mean mesh here, unless a version is named
        assert other.get(task_id).status.state == TaskState.INPUT_REQUIRED
    answered = other.task("blue", task_id=task_id, message_id="m-2")
    assert answered.status.state == TaskState.COMPLETED
    assert text_of(mesh.task("tasks/get", id=task_id)) == "You said blue"


def test_a_task_of_others_is_theirs(
    client: httpx.Client, mesh: Consumer, other: DialectClient
) -> None:
    """A method that dialects share speaks of a task as the dialect does in which it was created,
    and of an unknown one as mesh does.
    """
    task = other.task("hello", message_id=f"m-{other.dialect_binding.dialect}")
    task_in_mesh = mesh.post("tasks/get", {"id": task.id}).json()["result"]
    assert (task_in_mesh["kind"], task_in_mesh["status"]["state"]) == ("task", "input-required")
    unknown = mesh.post("tasks/get", {"id": "unknown-1"}).json()["error"]
    assert (unknown["code"], unknown["message"]) == (-32602, "Unknown task id: unknown-1")
    with_version = client.post(
        PATH,
        json={"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": task.id}},
        headers={"A2A-Version": V0_3.version or ""},
    )
    assert with_version.json()["result"]["kind"] == "task"


def test_a_question_says_what_a_consumer_can_do(mesh: Consumer) -> None:
    """In answers and in streams: who can answer, and how to cancel."""
    task = mesh.task("tasks/send", message=message("hello"))
    hint = f"answer task {task['id']} as A2A 1.0 or 0.3, or cancel it with tasks/cancel"
    for state in (task, mesh.task("tasks/get", id=task["id"])):
        assert state["status"]["message"]["parts"][0]["text"].endswith(hint)
    assert mesh.task("tasks/cancel", id=task["id"])["status"]["state"] == "canceled"


def test_content_types_do_not_matter_to_mesh_alone(client: httpx.Client) -> None:
    """As on a surface that speaks nothing else; other dialects want theirs."""
    plain = {"content-type": "text/plain"}
    for method, params, code in (
        ("tasks/send", {"message": message("x")}, None),
        ("SendMessage", {}, -32005),
        ("nothing", {}, -32005),
    ):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert (
            client.post(PATH, content=body, headers=plain).json().get("error", {}).get("code")
            == code
        )


@pytest.mark.requirement("mesh", "D31")
def test_a_version_excludes_mesh(client: httpx.Client) -> None:
    """A request with a version is of another dialect: this one has none."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {"message": message("x")}}
    for version in (V0_3.version, V1_0.version):
        assert (
            client.post(PATH, json=body, headers={"A2A-Version": version or ""}).json()["error"][
                "code"
            ]
            == -32601
        )


@pytest.mark.parametrize("tag", [{"a": 1}, [1], None, 5], ids=str)
def test_a_part_whose_type_is_no_word_is_refused_with_its_place(
    mesh: Consumer, tag: object
) -> None:
    """A value that cannot be looked up among the types of parts is invalid parameters, as every
    wrong value.
    """
    error = mesh.post(
        "tasks/send",
        {"id": "t-1", "message": {"role": "user", "parts": [{"type": tag, "text": "x"}]}},
    ).json()["error"]
    assert error["code"] == -32602
    assert "parts" in json.dumps(error["data"])
