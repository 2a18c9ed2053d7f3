"""A2A 0.3, sections 3, 6 to 8 and 11: how it looks on the wire, over JSON-RPC and over HTTP+JSON in
both of its forms.

What the operations do is in the tests of 1.0, most of which run in every dialect; the table names
them.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient
from integration.dialect_client import build_send_request, parse_body, parse_sse

from a2a_contract.dialects import V0_3, V0_3_PROTO
from a2a_contract.operations import GET_TASK, SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import GetTaskRequest

MESSAGE: dict[str, Any] = {
    "kind": "message",
    "messageId": "m-1",
    "role": "user",
    "parts": [{"kind": "text", "text": "hi"}],
}
STREAMS = {"message/stream", "tasks/resubscribe"}
PROTO: dict[str, Any] = {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}


def call_method(
    client: httpx.Client, method: str, params: object = None, call_id: object = 1, path: str = ""
) -> dict[str, Any]:
    """Call a method, and read the whole answer."""
    body = {
        "jsonrpc": "2.0",
        "id": call_id,
        "method": method,
        **({} if params is None else {"params": params}),
    }
    response = client.post(path or "/", json=body, headers=ADA)
    assert response.headers["content-type"] == (
        "text/event-stream" if method in STREAMS else "application/json"
    )
    return parse_body(response)  # type: ignore[no-any-return]  # JSON


@pytest.mark.requirement("0.3", "3.2.1", "6.11")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_3_2_1_calls_are_those_of_json_rpc(agent_place: httpx.Client) -> None:
    """The answer is plain JSON with version, id, and one of result and error."""
    good = call_method(agent_place, "message/send", {"message": MESSAGE}, "r-1")
    bad = call_method(agent_place, "tasks/get", {"id": "unknown"}, "r-2")
    assert (set(good), good["jsonrpc"], good["id"]) == ({"jsonrpc", "id", "result"}, "2.0", "r-1")
    assert (set(bad), bad["jsonrpc"], bad["id"]) == ({"jsonrpc", "id", "error"}, "2.0", "r-2")


@pytest.mark.requirement("0.3", "6.11")
@pytest.mark.parametrize("call_id", ["text", "", 7, 0, -3, 10**30, None])
def test_v0_3_6_11_2_the_id_of_a_call_comes_back(
    agent_place: httpx.Client, call_id: object
) -> None:
    """As it was, in results and in errors; what has no id that could be read gets null."""
    assert call_method(agent_place, "message/send", {"message": MESSAGE}, call_id)["id"] == call_id
    assert call_method(agent_place, "tasks/get", {"id": "unknown"}, call_id)["id"] == call_id
    for body in (b"{", b"[]", b'{"jsonrpc":"2.0","id":{},"method":"tasks/get"}'):
        answer = agent_place.post(
            "/", content=body, headers={**ADA, "content-type": "application/json"}
        ).json()
        assert answer["id"] is None


PATHS = {
    "message/send": ("POST", "/v1/message:send"),
    "message/stream": ("POST", "/v1/message:stream"),
    "tasks/get": ("GET", "/v1/tasks/unknown"),
    "tasks/list": ("GET", "/v1/tasks"),
    "tasks/cancel": ("POST", "/v1/tasks/unknown:cancel"),
    "tasks/resubscribe": ("POST", "/v1/tasks/unknown:subscribe"),
    "tasks/pushNotificationConfig/set": ("POST", "/v1/tasks/unknown/pushNotificationConfigs"),
    "tasks/pushNotificationConfig/get": ("GET", "/v1/tasks/unknown/pushNotificationConfigs/p"),
    "tasks/pushNotificationConfig/list": ("GET", "/v1/tasks/unknown/pushNotificationConfigs"),
    "tasks/pushNotificationConfig/delete": (
        "DELETE",
        "/v1/tasks/unknown/pushNotificationConfigs/p",
    ),
    "agent/getAuthenticatedExtendedCard": ("GET", "/v1/card"),
}


@pytest.mark.requirement("0.3", "3.1", "3.2.3a", "3.5.6", "11.1")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("method", PATHS)
def test_v0_3_3_5_6_every_method_is_there_in_both_transports(
    agent_place: httpx.Client, method: str
) -> None:
    """The error belongs to the request, not to the path."""
    answer = call_method(agent_place, method, None if method.startswith("agent") else {})
    assert answer.get("error", {}).get("code") != -32601
    verb, path = PATHS[method]
    response = agent_place.request(
        verb, path, headers=ADA, **({"json": {}} if verb == "POST" else {})
    )  # type: ignore[arg-type]  # what httpx takes
    assert response.status_code in {200, 400} or response.json()["code"] == -32001


@pytest.mark.requirement("0.3", "3.2.3a")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_3_2_3_answers_are_structured_like_the_data(agent_place: httpx.Client) -> None:
    """A task or a message by its name, in the form in which it was asked for."""
    kind = agent_place.post("/v1/message:send", json={"message": MESSAGE}, headers=ADA)
    proto = agent_place.post("/v1/message:send", json={"request": PROTO}, headers=ADA)
    assert (kind.status_code, kind.headers["content-type"], list(kind.json())) == (
        200,
        "application/json",
        ["task"],
    )
    assert (proto.status_code, proto.headers["content-type"], list(proto.json())) == (
        200,
        "application/json",
        ["task"],
    )
    assert (kind.json()["task"]["kind"], kind.json()["task"]["status"]["state"]) == (
        "task",
        "completed",
    )
    assert proto.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    greeted = agent_place.post(
        "/v1/message:send", json={"message": MESSAGE, "metadata": {"skillId": "greet"}}, headers=ADA
    )
    assert list(greeted.json()) == ["message"]


@pytest.mark.requirement("0.3", "3.2.3b", "8.2")
def test_v0_3_3_2_3_errors_are_json_with_the_codes_of_the_protocol(
    agent_place: httpx.Client,
) -> None:
    """An error has the code of the protocol and a status that fits it."""
    done = agent_place.post("/v1/message:send", json={"message": MESSAGE}, headers=ADA).json()[
        "task"
    ]["id"]
    for verb, path, body, status, code in (
        ("GET", "/v1/tasks/unknown", None, 404, -32001),
        ("POST", f"/v1/tasks/{done}:cancel", {}, 409, -32002),
        ("POST", "/v1/message:send", {"message": {}}, 400, -32602),
        ("GET", "/v1/nothing/here", None, 404, -32601),
        ("POST", "/plain/v1/message:stream", {"message": MESSAGE}, 400, -32004),
    ):
        response = agent_place.request(
            verb,
            path,
            headers={**ADA, "A2A-Version": "0.3"},
            **({} if body is None else {"json": body}),
        )  # type: ignore[arg-type]
        assert (response.status_code, response.json()["code"]) == (status, code), path
        assert response.json()["message"]


@pytest.mark.requirement("0.3", "3.3.1")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_3_3_1_every_event_of_a_stream_is_an_answer(agent_place: httpx.Client) -> None:
    """With the id of the call; the last one says that it is."""
    message = {**MESSAGE, "parts": [{"kind": "text", "text": "3"}]}
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "message/stream",
        "params": {"message": message, "metadata": {"skillId": "count"}},
    }
    with agent_place.stream("POST", "/", json=call, headers=ADA) as response:
        assert (response.status_code, response.headers["content-type"].partition(";")[0]) == (
            200,
            "text/event-stream",
        )
        answers = [json.loads(data) for _, _, data in parse_sse(response.iter_lines())]
    assert all(
        (each["jsonrpc"], each["id"], set(each)) == ("2.0", 7, {"jsonrpc", "id", "result"})
        for each in answers
    )
    results = [each["result"] for each in answers]
    assert [results[0]["kind"], results[-1]["kind"]] == ["task", "status-update"]
    assert [each["final"] for each in results if each["kind"] == "status-update"][-1] is True
    assert not any(each.get("final") for each in results[:-1])


@pytest.mark.requirement("0.3", "3.3.3")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_3_3_3_streams_over_http_are_events_too(client_0_3: AgentClient) -> None:
    """Streams are server-sent events of the same content in each form and transport."""
    events = list(
        client_0_3.stream_wire(SEND_STREAMING_MESSAGE, build_send_request("3", skill="count"))
    )
    text = json.dumps(events)
    assert [text.count(f'"text": "{number}"') >= 1 for number in range(3)] == [True] * 3
    if (
        client_0_3.dialect_binding.dialect == V0_3.name
        and not client_0_3.dialect_binding.is_jsonrpc
    ):
        assert [list(event) for event in (events[0], events[-1])] == [["task"], ["statusUpdate"]]


@pytest.mark.requirement("0.3", "6", "11.1")
def test_v0_3_6_objects_name_their_kind(client_0_3: AgentClient) -> None:
    """Tasks, messages, parts and events; the form of protocol buffers has other names."""
    asking = client_0_3.task("hi", skill="ask")
    task = client_0_3.call_wire(GET_TASK, GetTaskRequest(id=asking.id))
    message = task["status"].get("message") or task["status"].get("update")
    if client_0_3.dialect_binding.dialect == V0_3_PROTO.name:
        assert (task["status"]["state"], message["role"], list(message["content"][0])) == (
            "TASK_STATE_INPUT_REQUIRED",
            "ROLE_AGENT",
            ["text"],
        )
        return
    assert (task["kind"], task["status"]["state"]) == ("task", "input-required")
    assert (message["kind"], message["role"], message["parts"][0]["kind"]) == (
        "message",
        "agent",
        "text",
    )
    assert {each["kind"] for each in task["history"]} == {"message"}


STATES = {
    "echo": "completed",
    "break": "failed",
    "refuse": "rejected",
    "ask": "input-required",
    "permit": "auth-required",
}


@pytest.mark.requirement("0.3", "6.3")
@pytest.mark.parametrize(("skill", "state"), STATES.items())
def test_v0_3_6_3_states_have_the_names_of_0_3(
    agent_place: httpx.Client, skill: str, state: str
) -> None:
    """Both transports write the states of 0.3, canceled among them."""
    params = {"message": MESSAGE, "metadata": {"skillId": skill}}
    task = call_method(agent_place, "message/send", params)["result"]
    assert task["status"]["state"] == state
    if state.endswith("required"):
        assert (
            call_method(agent_place, "tasks/cancel", {"id": task["id"]})["result"]["status"][
                "state"
            ]
            == "canceled"
        )


PARTS: dict[str, dict[str, Any]] = {
    "text": {"kind": "text", "text": "ü\u2028", "metadata": {"a": 1}},
    "data": {"kind": "data", "data": {"n": 10**40, "list": [None, True]}},
    "bytes": {
        "kind": "file",
        "file": {"bytes": "AP8=", "name": "f.bin", "mimeType": "application/x-f"},
    },
    "address": {"kind": "file", "file": {"uri": "https://example.org/f", "mimeType": "image/png"}},
}


@pytest.mark.requirement("0.3", "6.5")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_v0_3_6_5_every_kind_of_part_survives(
    agent_place: httpx.Client, part: dict[str, Any]
) -> None:
    """Parts of every kind come back as they were sent."""
    task = call_method(
        agent_place,
        "message/send",
        {"message": {**MESSAGE, "parts": [part]}, "metadata": {"skillId": "mirror"}},
    )["result"]
    assert task["artifacts"][0]["parts"] == [part]


STANDARD = [
    (b"{", -32700),
    (b"[]", -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"1.1","id":1,"method":"tasks/get","params":{"id":"x"}}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"tasks/foo"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":7}}', -32602),
]


@pytest.mark.requirement("0.3", "8.1")
@pytest.mark.parametrize(("body", "code"), STANDARD, ids=[body.decode() for body, _ in STANDARD])
def test_v0_3_8_1_standard_errors_have_their_codes(
    agent_place: httpx.Client, body: bytes, code: int
) -> None:
    """Errors of JSON-RPC have the codes that JSON-RPC reserves for them."""
    answer = agent_place.post(
        "/", content=body, headers={**ADA, "content-type": "application/json", "A2A-Version": "0.3"}
    ).json()
    assert answer["error"]["code"] == code
    assert answer["error"]["message"]


@pytest.mark.requirement("0.3", "7.4b")
def test_v0_3_7_4_lists_look_like_those_of_1_0(agent_place: httpx.Client) -> None:
    """With the token of the next page, always, and without artifacts unless asked for."""
    context = call_method(agent_place, "message/send", {"message": MESSAGE})["result"]["contextId"]
    page = call_method(agent_place, "tasks/list", {"contextId": context})["result"]
    assert (page["nextPageToken"], page["totalSize"], page["pageSize"]) == ("", 1, 50)
    assert (page["tasks"][0]["kind"], "artifacts" in page["tasks"][0]) == ("task", False)
    assert (
        call_method(agent_place, "tasks/list", {"contextId": "no-such-context"})["error"]["code"]
        == -32001
    )


@pytest.mark.requirement("0.3", "7.4c", "10.2")
@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {"pageSize": 0},
            {"pageSize": 101},
            {"pageToken": "invalid!@#"},
            {"historyLength": -1},
            {"status": "running"},
            {"lastUpdatedAfter": "x"},
        ),
        {"historyLength": 2**31},
        {"contextId": "a\0b"},
    ],
)
def test_v0_3_7_4_wrong_filters_are_invalid_params(
    agent_place: httpx.Client, wrong: dict[str, object]
) -> None:
    """Each that the specification lists, by its name."""
    error = call_method(agent_place, "tasks/list", wrong)["error"]
    assert error["code"] == -32602
    assert [each["field"] for each in error["data"]["fields"]] == list(wrong)


@pytest.mark.requirement("0.3", "7.1")
def test_v0_3_7_1_blocking_false_returns_at_once(agent_place: httpx.Client) -> None:
    """Unset and true wait; false does not."""
    for blocking, states in (
        (None, {"completed"}),
        (True, {"completed"}),
        (False, {"submitted", "working"}),
    ):
        params = {
            "message": {**MESSAGE, "parts": [{"kind": "text", "text": "4"}]},
            "metadata": {"skillId": "tick"},
        }
        said = params if blocking is None else {**params, "configuration": {"blocking": blocking}}
        assert call_method(agent_place, "message/send", said)["result"]["status"]["state"] in states


@pytest.mark.requirement("0.3", "3.4.1")
def test_v0_3_3_4_1_both_transports_see_the_same_task(client_0_3: AgentClient) -> None:
    """A task that was created over one transport is read and listed over the other."""
    task = client_0_3.task("hello")
    assert (
        call_method(client_0_3.http, "tasks/get", {"id": task.id}, path=client_0_3.path)["result"][
            "id"
        ]
        == task.id
    )
    assert (
        client_0_3.http.get(f"{client_0_3.path}/v1/tasks/{task.id}", headers=ADA).json()["id"]
        == task.id
    )
    listed = call_method(
        client_0_3.http, "tasks/list", {"contextId": task.context_id}, path=client_0_3.path
    )["result"]["tasks"]
    assert [each["id"] for each in listed] == [task.id]


@pytest.mark.requirement("0.3", "3.3.1")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tasks/resubscribe", {"id": "unknown"}, -32001),
        ("message/stream", {"message": {**MESSAGE, "parts": [{"kind": "text"}]}}, -32602),
        ("message/stream", {"message": {**MESSAGE, "taskId": "unknown"}}, -32001),
    ],
)
def test_v0_3_3_3_1_a_stream_that_is_refused_is_a_stream_too(
    agent_place: httpx.Client, method: str, params: object, code: int
) -> None:
    """Its only event is the error; a method that does not exist streams nothing, and the same
    refusal in 1.0 is a plain answer.
    """
    response = agent_place.post(
        "/", json={"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, headers=ADA
    )
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
    [(number, _, data)] = parse_sse(response.iter_lines())
    answer = json.loads(data)
    assert (number, answer["id"], set(answer), answer["error"]["code"]) == (
        None,
        7,
        {"jsonrpc", "id", "error"},
        code,
    )
    assert call_method(agent_place, "message/streams")["error"]["code"] == -32601
    assert call_method(agent_place, "SubscribeToTask", {"id": "unknown"})["error"]["code"] == -32001


@pytest.mark.requirement("0.3", "9.3", "9.4")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("path", ["/", "/v1/message:send"])
def test_v0_3_9_examples_that_differ_from_the_schema_are_read(
    agent_place: httpx.Client, path: str
) -> None:
    """The bytes of a file as ``data``, and the id of a message beside it; an id at both places is
    that of the message.
    """
    part = {"kind": "file", "file": {"mimeType": "image/png", "data": "AP8="}}
    bare = {"role": "user", "parts": [part]}
    for params, message_id in (
        ({"message": bare, "messageId": "beside"}, "beside"),
        ({"message": {**bare, "messageId": "inside"}, "messageId": "beside"}, "inside"),
    ):
        said = {**params, "metadata": {"skillId": "mirror"}}
        body = (
            said
            if path != "/"
            else {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": said}
        )
        answer = agent_place.post(path, json=body, headers=ADA).json()
        task = answer["result"] if path == "/" else answer["task"]
        assert task["artifacts"][0]["parts"] == [
            {"kind": "file", "file": {"mimeType": "image/png", "bytes": "AP8="}}
        ]
        assert task["history"][0]["messageId"] == message_id
    refused = agent_place.post(
        "/",
        json={"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": bare}},
        headers=ADA,
    ).json()
    assert [each["field"] for each in refused["error"]["data"]["fields"]] == ["message.messageId"]


@pytest.mark.requirement("0.3", "7.6")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_7_6_a_webhook_is_answered_in_the_form_in_which_it_was_sent(
    agent_place: httpx.Client,
) -> None:
    """Over HTTP+JSON: the documented one, the whole request of the protocol buffer, or its member
    ``config`` alone, as transcoding has it.
    """
    task = call_method(
        agent_place, "message/send", {"message": MESSAGE, "metadata": {"skillId": "ask"}}
    )["result"]["id"]
    config = {"id": "p", "url": "https://hooks.example.org/a2a", "token": "t"}
    resource = {"name": f"tasks/{task}/pushNotificationConfigs/p", "pushNotificationConfig": config}
    for body, name in (
        ({"taskId": task, "pushNotificationConfig": config}, "taskId"),
        ({"parent": f"tasks/{task}", "configId": "p", "config": resource}, "name"),
        (resource, "name"),
    ):
        response = agent_place.post(
            f"/v1/tasks/{task}/pushNotificationConfigs", json=body, headers=ADA
        )
        answer = response.json()
        assert (response.status_code, set(answer)) == (200, {name, "pushNotificationConfig"}), (
            answer
        )
        assert (
            answer["pushNotificationConfig"]["id"],
            answer["pushNotificationConfig"]["url"],
        ) == ("p", config["url"])


@pytest.mark.requirement("0.3", "7.4b")
def test_v0_3_7_4_members_without_a_meaning_are_warned_of_once(
    agent_place: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Words of other sources would list everything: ``limit`` and ``cursor``."""
    for _ in "12":
        call_method(agent_place, "tasks/list", {"limit": 1, "cursor": "x", "pageSize": 5})
        agent_place.get("/v1/tasks?limit=1&pageSize=5", headers=ADA)
    warnings = [
        record.getMessage() for record in caplog.records if "is ignored" in record.getMessage()
    ]
    assert [text.split("member ")[1].split()[0] for text in warnings] == ["'cursor'", "'limit'"]
    assert "there are contextId, status, pageSize, pageToken" in warnings[0]
