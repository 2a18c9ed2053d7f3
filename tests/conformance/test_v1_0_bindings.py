"""A2A 1.0, sections 9 and 11: the two bindings as they stand on the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient
from integration.dialect_client import build_send_request, parse_sse

from a2a_contract.operations import SEND_STREAMING_MESSAGE

MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
COUNT = {"message": {**MESSAGE, "parts": [{"text": "3"}]}, "metadata": {"skillId": "count"}}
Body = Mapping[str, Any]


def call_method(
    client: httpx.Client, method: str, params: object = None, call_id: object = 1, **headers: str
) -> Body:
    """Call a method, and read the whole answer."""
    body = {
        "jsonrpc": "2.0",
        "id": call_id,
        "method": method,
        **({} if params is None else {"params": params}),
    }
    response = client.post("/", json=body, headers={**ADA, **headers})
    assert response.headers["content-type"] == "application/json"
    return response.json()  # type: ignore[no-any-return]  # JSON


@pytest.mark.requirement("1.0", "9.1")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_9_1_answers_are_those_of_json_rpc(agent_place: httpx.Client) -> None:
    """With the version, the id of the call, and a result or an error but never both."""
    good = call_method(agent_place, "SendMessage", {"message": MESSAGE}, "r-1")
    bad = call_method(agent_place, "GetTask", {"id": "unknown"}, "r-2")
    assert (set(good), good["jsonrpc"], good["id"]) == ({"jsonrpc", "id", "result"}, "2.0", "r-1")
    assert (set(bad), bad["jsonrpc"], bad["id"]) == ({"jsonrpc", "id", "error"}, "2.0", "r-2")


@pytest.mark.requirement("1.0", "9.2")
def test_v1_0_9_2_service_parameters_come_in_headers(agent_place: httpx.Client) -> None:
    """Several extensions in one header, or in several."""
    by_name = {
        "A2A-Extensions": "https://example.org/other, https://example.org/extensions/poems/v1"
    }
    response = agent_place.post(
        "/",
        json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}},
        headers={**ADA, **by_name},
    )
    assert response.headers["a2a-extensions"] == "https://example.org/extensions/poems/v1"


@pytest.mark.requirement("1.0", "9.4.2")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_9_4_2_every_event_of_a_stream_is_an_answer(agent_place: httpx.Client) -> None:
    """With status 200, the media type of events, and the id of the call in each."""
    call = {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": COUNT}
    with agent_place.stream("POST", "/", json=call, headers=ADA) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        answers = [json.loads(data) for _, _, data in parse_sse(response.iter_lines())]
    assert all(
        (set(each), each["jsonrpc"], each["id"]) == ({"jsonrpc", "id", "result"}, "2.0", 7)
        for each in answers
    )
    assert list(answers[0]["result"]) == ["task"]


STANDARD = [
    (b"{", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[]", -32600, None),
    (b"7", -32600, None),
    (b'{"jsonrpc":"2.0","id":3}', -32600, 3),
    (b'{"jsonrpc":"1.0","id":3,"method":"GetTask","params":{"id":"x"}}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"category/action"}', -32601, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"GetTask","params":{"id":[]}}', -32602, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"GetTask","params":"x"}', -32602, 3),
]


@pytest.mark.requirement("1.0", "9.5a")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    ("body", "code", "call_id"), STANDARD, ids=[body.decode("latin-1") for body, _, _ in STANDARD]
)
def test_v1_0_9_5_standard_errors_have_their_codes(
    agent_place: httpx.Client, body: bytes, code: int, call_id: object
) -> None:
    """And the id of the call, as far as it could be read."""
    answer = agent_place.post(
        "/", content=body, headers={**ADA, "content-type": "application/json"}
    ).json()
    assert (answer["error"]["code"], answer["id"]) == (code, call_id)
    assert answer["error"]["message"]


@pytest.mark.requirement("1.0", "9.4.8")
def test_v1_0_9_4_8_a_method_without_parameters_needs_none(agent_place: httpx.Client) -> None:
    """A call without ``params`` is served, as in the example of the specification."""
    assert call_method(agent_place, "GetExtendedAgentCard")["result"]["name"] == "busy"
    assert "tasks" in call_method(agent_place, "ListTasks")["result"]


@pytest.mark.requirement("1.0", "11.4")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_11_4_requests_and_answers_are_plain_objects(agent_place: httpx.Client) -> None:
    """Bodies over HTTP+JSON have no envelope around the object of the operation."""
    response = agent_place.post("/message:send", json={"message": MESSAGE}, headers=ADA)
    assert (response.status_code, response.headers["content-type"], list(response.json())) == (
        200,
        "application/json",
        ["task"],
    )
    task = agent_place.get(f"/tasks/{response.json()['task']['id']}", headers=ADA).json()
    assert task == response.json()["task"]


@pytest.mark.requirement("1.0", "11.5")
def test_v1_0_11_5_parameters_of_a_get_are_in_the_query(agent_place: httpx.Client) -> None:
    """By their names in camel case; booleans and numbers as words."""
    task = agent_place.post("/message:send", json={"message": MESSAGE}, headers=ADA).json()["task"]
    assert (
        "history"
        not in agent_place.get(
            f"/tasks/{task['id']}", params={"historyLength": "0"}, headers=ADA
        ).json()
    )
    query = {
        "contextId": task["contextId"],
        "includeArtifacts": "true",
        "pageSize": "5",
        "status": "TASK_STATE_COMPLETED",
    }
    (listed,) = agent_place.get("/tasks", params=query, headers=ADA).json()["tasks"]
    assert agent_place.get("/tasks", params={**query, "status": "completed"}, headers=ADA).json()[
        "tasks"
    ] == [listed]  # as the examples spell it
    assert listed["artifacts"]
    assert (
        "artifacts"
        not in agent_place.get(
            "/tasks", params={**query, "includeArtifacts": "false"}, headers=ADA
        ).json()["tasks"][0]
    )


@pytest.mark.requirement("1.0", "11.5")
def test_v1_0_11_5_values_in_the_query_may_be_escaped(agent_place: httpx.Client) -> None:
    """Values in the query may be percent-encoded, as RFC 3986 describes."""
    context = "a b&c=d/é"
    agent_place.post(
        "/message:send", json={"message": {**MESSAGE, "contextId": context}}, headers=ADA
    )
    assert (
        agent_place.get("/tasks", params={"contextId": context}, headers=ADA).json()["totalSize"]
        == 1
    )


@pytest.mark.requirement("1.0", "11.6")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_11_6_errors_are_statuses(agent_place: httpx.Client) -> None:
    """One member, with the HTTP status, its gRPC name, a message and details."""
    response = agent_place.get("/tasks/unknown", headers=ADA)
    error = response.json()["error"]
    assert (response.status_code, list(response.json())) == (404, ["error"])
    assert (error["code"], error["status"], bool(error["message"])) == (404, "NOT_FOUND", True)
    assert error["details"][0]["metadata"]["taskId"] == "unknown"


@pytest.mark.requirement("1.0", "11.7a")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_11_7_events_are_plain_objects(agent_place: httpx.Client) -> None:
    """Of server-sent events, each the JSON of one event of the stream."""
    with agent_place.stream("POST", "/message:stream", json=COUNT, headers=ADA) as response:
        assert (response.status_code, response.headers["content-type"]) == (
            200,
            "text/event-stream",
        )
        events = [json.loads(data) for _, _, data in parse_sse(response.iter_lines())]
    assert [list(event) for event in (events[0], events[-1])] == [["task"], ["statusUpdate"]]


@pytest.mark.requirement("1.0", "11.3.2")
def test_v1_0_11_3_2_a_subscription_needs_no_body(agent_place: httpx.Client) -> None:
    """A subscription without a body is served, and its error is not a stream."""
    for body in ({}, {"content": b"{}", "headers": {**ADA, "content-type": "application/json"}}):
        response = agent_place.post("/tasks/unknown:subscribe", **{"headers": ADA, **body})  # type: ignore[arg-type]  # what httpx takes
        assert (response.status_code, response.headers["content-type"]) == (404, "application/json")


@pytest.mark.requirement("1.0", "14.1.1")
def test_v1_0_14_1_1_the_media_type_of_the_protocol_is_used(agent_place: httpx.Client) -> None:
    """Clients that send or accept the media type of the protocol get it back."""
    own = {"content-type": "application/a2a+json", "accept": "application/a2a+json"}
    response = agent_place.post(
        "/message:send", content=json.dumps({"message": MESSAGE}), headers={**ADA, **own}
    )
    assert (response.status_code, response.headers["content-type"]) == (200, "application/a2a+json")


@pytest.mark.requirement("1.0", "9.1")
def test_v1_0_9_1_streams_survive_readers_that_cut_lines(client_1_0: AgentClient) -> None:
    """Events have no character at which Python splits lines."""
    texts = [
        event["artifactUpdate"]["artifact"]["parts"][0]["text"]
        for event in client_1_0.stream_wire(
            SEND_STREAMING_MESSAGE, build_send_request("x", skill="lines")
        )
        if "artifactUpdate" in event
    ]
    assert texts == ["one\u2028two\u2029three\u0085four\x0bfive"]
