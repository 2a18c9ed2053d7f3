"""A2A 1.0, sections 4 and 5.5 to 5.7: how data looks in JSON, and what must be there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient, assert_error, parse_field_errors
from integration.dialect_client import build_send_request

from a2a_contract.operations import (
    GET_TASK,
    LIST_TASKS,
    OPERATIONS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
)
from a2a_contract.v1_0 import GetTaskRequest, ListTasksRequest

MESSAGE: dict[str, Any] = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")
JSON = {**ADA, "Content-Type": "application/json"}
CONTENT = {"text", "raw", "url", "data"}


def post(client: AgentClient, message: object, **more: object) -> httpx.Response:
    """Send a message as it stands here."""
    return client.post_document(SEND_MESSAGE, {"message": message, **more})


def members(value: object) -> Iterator[tuple[str, object]]:
    """Go through all members of a document, but for those that clients choose."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name, each
            if name not in {"metadata", "data"}:
                yield from members(each)
    elif isinstance(value, list):
        for each in value:
            yield from members(each)


def documents(client: AgentClient) -> list[object]:
    """Collect one answer of every kind."""
    asking = client.task("hi", skill="ask")
    return [
        client.call_wire(GET_TASK, GetTaskRequest(id=asking.id)),
        client.call_wire(
            LIST_TASKS, ListTasksRequest(context_id=asking.context_id, include_artifacts=True)
        ),
        client.call_wire(SEND_MESSAGE, build_send_request("Ada", skill="greet")),
        *client.stream_wire(SEND_STREAMING_MESSAGE, build_send_request("3", skill="count")),
    ]


@pytest.mark.requirement("1.0", "5.5a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_5_5_names_are_in_camel_case(json_client_1_0: AgentClient) -> None:
    """Every member of every answer has a name in camel case."""
    names = {name for document in documents(json_client_1_0) for name, _ in members(document)}
    assert {"contextId", "messageId", "artifactUpdate", "nextPageToken"} <= names
    assert [name for name in names if not re.fullmatch(r"[a-z][a-zA-Z0-9]*", name)] == []


@pytest.mark.requirement("1.0", "5.5a")
def test_v1_0_5_5_enums_are_the_names_of_their_values(client_1_0: AgentClient) -> None:
    """States and roles are written with the names of the specification."""
    found = [
        (name, value)
        for document in documents(client_1_0)
        for name, value in members(document)
        if name in {"state", "role"}
    ]
    assert found
    assert all(re.fullmatch(r"(TASK_STATE|ROLE)_[A-Z_]+", str(value)) for _, value in found)


@pytest.mark.requirement("1.0", "5.6.1")
def test_v1_0_5_6_1_moments_are_utc_with_milliseconds(client_1_0: AgentClient) -> None:
    """Every status has a time, in UTC and with milliseconds."""
    found = [
        value
        for document in documents(client_1_0)
        for name, value in members(document)
        if name == "timestamp"
    ]
    assert found
    assert all(MOMENT.fullmatch(str(value)) for value in found)


@pytest.mark.requirement("1.0", "5.6.1")
@pytest.mark.parametrize(
    "moment",
    [
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00.5Z",
        "2020-01-01T02:00:00+02:00",
        "2020-01-01T00:00:00.123456789Z",
    ],
)
def test_v1_0_5_6_1_moments_are_read_in_every_form(client_1_0: AgentClient, moment: str) -> None:
    """That the form of protocol buffers allows."""
    params = {"statusTimestampAfter": moment}
    if client_1_0.dialect_binding.is_jsonrpc or client_1_0.dialect_binding.is_grpc:
        assert "error" not in client_1_0.post_document(LIST_TASKS, params).json()
    else:
        assert client_1_0.http.get("/tasks", params=params, headers=ADA).status_code == 200


LACKING = {
    "no message id": ({"messageId": None}, "message.messageId"),
    "an empty message id": ({"messageId": ""}, "message.messageId"),
    "no role": ({"role": None}, "message.role"),
    "no role that says something": ({"role": "ROLE_UNSPECIFIED"}, "message.role"),
    "no parts": ({"parts": None}, "message.parts"),
    "not one part": ({"parts": []}, "message.parts"),
}


@pytest.mark.requirement("1.0", "5.7a")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("change", "place"), LACKING.values(), ids=LACKING.keys())
def test_v1_0_5_7_what_is_required_must_be_there(
    client_1_0: AgentClient, change: dict[str, object], place: str
) -> None:
    """Arrays that are required have at least one element."""
    message = {name: value for name, value in {**MESSAGE, **change}.items() if value is not None}
    response = post(client_1_0, message)
    assert_error(response, client_1_0.dialect_binding, "InvalidParamsError")
    assert parse_field_errors(response, client_1_0.dialect_binding) == [place]


CANNOT_BE: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "the id of a task": ("GetTask", "/tasks/a%00b", {"id": "a\0b"}, "id"),
    "the id of a conversation": (
        "ListTasks",
        "/tasks?contextId=a%00b",
        {"contextId": "a\0b"},
        "contextId",
    ),
    "a tenant": ("ListTasks", "/tasks?tenant=a%0Ab", {"tenant": "a\nb"}, "tenant"),
    "a history of one task": (
        "GetTask",
        f"/tasks/x?historyLength={2**31}",
        {"id": "x", "historyLength": 2**31},
        "historyLength",
    ),
    "a history of many tasks": (
        "ListTasks",
        f"/tasks?historyLength={2**63}",
        {"historyLength": 2**63},
        "historyLength",
    ),
}


@pytest.mark.requirement("1.0", "3.3.2h")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("method", "path", "params", "place"), CANNOT_BE.values(), ids=CANNOT_BE.keys()
)
def test_v1_0_3_3_2_what_no_store_can_look_for_is_refused(
    client_1_0: AgentClient, method: str, path: str, params: dict[str, Any], place: str
) -> None:
    """Control characters in names, and numbers that no int32 holds: on every store alike, with the
    member.
    """
    if client_1_0.dialect_binding.is_jsonrpc or client_1_0.dialect_binding.is_grpc:
        response = client_1_0.post_document(OPERATIONS[method], params)
    else:
        response = client_1_0.http.get(path, headers=ADA)
    assert_error(response, client_1_0.dialect_binding, "InvalidParamsError")
    assert parse_field_errors(response, client_1_0.dialect_binding) == [place]


UNFIT: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "message": ({"messageId": "a\0b"}, {}, "message.messageId"),
    "conversation": ({"contextId": "a\0b"}, {}, "message.contextId"),
    "task": ({"taskId": "a\x7fb"}, {}, "message.taskId"),
    "another task": ({"referenceTaskIds": ["a", "\0"]}, {}, "message.referenceTaskIds[1]"),
    "history": ({}, {"historyLength": 2**63}, "configuration.historyLength"),
    "webhook": (
        {},
        {"taskPushNotificationConfig": {"url": "https://e.org", "id": "\0"}},
        "configuration.taskPushNotificationConfig.id",
    ),
}


@pytest.mark.requirement("1.0", "3.3.2h")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("change", "configuration", "place"), UNFIT.values(), ids=UNFIT.keys())
def test_v1_0_3_3_2_messages_are_checked_before_anything_is_done(
    client_1_0: AgentClient, change: dict[str, Any], configuration: dict[str, Any], place: str
) -> None:
    """A request whose result the client cannot accept is refused before the handler runs."""
    before = client_1_0.call_wire(LIST_TASKS, ListTasksRequest()).get("totalSize", 0)
    response = post(client_1_0, {**MESSAGE, **change}, configuration=configuration)
    assert_error(response, client_1_0.dialect_binding, "InvalidParamsError")
    assert parse_field_errors(response, client_1_0.dialect_binding) == [place]
    assert client_1_0.call_wire(LIST_TASKS, ListTasksRequest()).get("totalSize", 0) == before


@pytest.mark.requirement("1.0", "5.5b")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_v1_0_5_5_invalid_json_is_refused(json_client_1_0: AgentClient, number: str) -> None:
    """Also in members that are ignored; inside a string it is text."""
    said = json.dumps({"message": {**MESSAGE, "parts": [{"text": number}]}})
    wrong = said[:-1] + f', "mood": {number}}}'
    for text, code in ((said, None), (wrong, -32700)):
        if json_client_1_0.dialect_binding.is_jsonrpc:
            body = f'{{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {text}}}'
            answer = json_client_1_0.http.post("/", content=body, headers=JSON).json()
            assert answer.get("error", {}).get("code") == code
        else:
            answer = json_client_1_0.http.post("/message:send", content=text, headers=JSON)
            assert answer.status_code == (400 if code else 200)


@pytest.mark.requirement("1.0", "5.7b")
def test_v1_0_5_7_members_that_are_not_known_are_ignored(client_1_0: AgentClient) -> None:
    """Unknown members do no harm, at any depth of a request."""
    future = {**MESSAGE, "mood": "good", "parts": [{"text": "hi", "color": "red"}]}
    response = post(client_1_0, future, configuration={"urgency": 7}, horizon={"a": [1]})
    body = response.json()
    assert (body.get("result") or body)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("1.0", "4.1.6")
@pytest.mark.parametrize(
    "part",
    [
        {},
        {"text": "a", "url": "https://example.org"},
        {"text": "a", "data": 1},
        {"raw": "AA==", "url": "https://e.org"},
    ],
)
def test_v1_0_4_1_6_a_part_is_exactly_one_thing(client_1_0: AgentClient, part: object) -> None:
    """A part with two contents, or without any, is refused."""
    assert_error(
        post(client_1_0, {**MESSAGE, "parts": [part]}),
        client_1_0.dialect_binding,
        "InvalidParamsError",
    )


PARTS: dict[str, dict[str, Any]] = {
    "text": {"text": "ü\u2028\u0000 \U0001f600", "mediaType": "text/plain"},
    "empty text": {"text": ""},
    "bytes": {"raw": "AP8=", "filename": "f.bin", "mediaType": "application/x-f"},
    "address": {"url": "https://example.org/f?a=b#c", "mediaType": "image/png"},
    "object": {"data": {"z": 1, "a": [None, True, {"b": 1.5}]}, "metadata": {"x-y": {"deep": [1]}}},
    "list": {"data": [1, "two", None]},
    "number": {"data": 12345678901234567890123456789012345678901234567890},
    "null": {"data": None},
}


@pytest.mark.requirement("1.0", "4.1.6")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_v1_0_4_1_6_every_kind_of_part_survives(
    client_1_0: AgentClient, part: dict[str, Any]
) -> None:
    """There and back, with its media type, its name and its metadata."""
    if client_1_0.dialect_binding.is_grpc and part is PARTS["number"]:
        pytest.skip("the numbers of messages are doubles: the client has rounded this one")
    body = post(client_1_0, {**MESSAGE, "parts": [part]}, metadata={"skillId": "mirror"}).json()
    task = (body.get("result") or body)["task"]
    (back,) = task["artifacts"][0]["parts"]
    assert back == part
    assert len(CONTENT & set(back)) == 1


@pytest.mark.requirement("1.0", "4.1.7")
def test_v1_0_4_1_7_artifacts_have_ids_and_parts(client_1_0: AgentClient) -> None:
    """Two artifacts that come in pieces are two, each whole."""
    task = client_1_0.task("x", skill="several")
    assert [
        (each.artifact_id, [part.text for part in each.parts]) for each in task.artifacts or []
    ] == [("one", ["a", "b"]), ("two", ["a", "b"])]


@pytest.mark.requirement("1.0", "4.2.2")
def test_v1_0_4_2_2_pieces_of_an_artifact_say_that_they_are(client_1_0: AgentClient) -> None:
    """The first begins it, the others go on; one that comes whole says that there is no more."""
    pieces, (whole,) = [
        [
            event["artifactUpdate"]
            for event in client_1_0.stream_wire(
                SEND_STREAMING_MESSAGE, build_send_request("3", skill=skill)
            )
            if "artifactUpdate" in event
        ]
        for skill in ("count", "echo")
    ]
    assert [update.get("append", False) for update in pieces] == [False, True, True]
    assert len({update["artifact"]["artifactId"] for update in pieces}) == 1
    assert (whole.get("append", False), whole["lastChunk"]) == (False, True)
    assert all(update["taskId"] and update["contextId"] for update in (*pieces, whole))


@pytest.mark.requirement("1.0", "3.7")
def test_v1_0_3_7_results_are_artifacts_and_status_texts_are_messages(
    client_1_0: AgentClient,
) -> None:
    """The result of a handler is an artifact; its status text is the message of the status."""
    assert client_1_0.task("hello").artifacts
    spoken = client_1_0.task("x", skill="comment")
    assert spoken.artifacts is None
    assert spoken.status.message is not None
    assert spoken.status.message.parts[0].text == "Done"
