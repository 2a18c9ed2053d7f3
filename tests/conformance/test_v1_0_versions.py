"""A2A 1.0, sections 3.6, 5.1, 5.2 and 5.3: which version answers, and that all bindings do the
same.
"""

from __future__ import annotations

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient, assert_error, parse_error_info
from integration.dialect_client import DIALECT_BINDINGS, DialectClient, build_send_request
from integration.grpc_overlay import call_unary
from integration.outcome_agent import build_test_agent, build_test_app
from litestar.testing import TestClient

from a2a_contract.binding import Operation
from a2a_contract.operations import GET_TASK, OPERATIONS, SEND_MESSAGE
from a2a_contract.v1_0 import GetTaskRequest, TaskState
from a2a_runtime.surface import Surface

CARD = "/.well-known/agent-card.json"
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
OLD_MESSAGE = {
    "kind": "message",
    "messageId": "m-1",
    "role": "user",
    "parts": [{"kind": "text", "text": "hi"}],
}
PROTO_MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}


@pytest.mark.requirement("1.0", "3.6")
def test_v1_0_3_6_patch_numbers_make_no_difference(client_1_0: AgentClient) -> None:
    """Requests may name a patch number; cards of 1.0 name none."""
    assert (
        client_1_0.with_headers(a2a_version=f"{client_1_0.version}.9").task("x").status.state
        == TaskState.COMPLETED
    )
    card = client_1_0.http.get(CARD, headers={"A2A-Version": client_1_0.version}).json()
    assert {each["protocolVersion"] for each in card["supportedInterfaces"]} == {
        "1.0",
        "0.3",
        client_1_0.version,
    }


@pytest.mark.requirement("1.0", "3.6.1")
def test_v1_0_3_6_1_the_version_may_be_in_the_query(agent_place: httpx.Client) -> None:
    """The version may be in the query, in any case, as section 3.2.6 allows."""
    for version, status in (("1.0", 200), ("0.5", 400)):
        for name in ("A2A-Version", "OPVS-Version", "a2a-version", "A2A-VERSION"):
            response = agent_place.post(
                "/message:send", params={name: version}, json={"message": MESSAGE}, headers=ADA
            )
            assert response.status_code == status


@pytest.mark.requirement("1.0", "3.6.2b")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_6_2_a_version_that_is_not_spoken_is_refused(client: AgentClient) -> None:
    """An unsupported version has its own error, which lists the supported ones."""
    for version in ("0.5", "2.0", "1.7", "nonsense"):
        response = client.with_headers(a2a_version=version).call_raw(
            SEND_MESSAGE, build_send_request("x")
        )
        if client.dialect_binding.is_1_x:
            assert_error(response, client.dialect_binding, "VersionNotSupportedError")
            assert (
                "1.0"
                in parse_error_info(response, client.dialect_binding)["metadata"][
                    "supportedVersions"
                ]
            )
        else:
            assert "-32009" in response.text or "VERSION_NOT_SUPPORTED" in response.text


ELSEWHERE: dict[str, tuple[str, str, str, str, str]] = {
    "1.0 by name": ("/old", "POST", "/message:send", "1.0", "0.3"),
    "1.0 by name, of a tenant": ("/old", "POST", "/acme/message:send", "1.0", "0.3"),
    "0.3 by a path": ("/new", "GET", "/v1/tasks/x", "", "1.0"),
    "0.3 by a path, whatever is named": ("/new", "GET", "/v1/tasks/x", "1.0", "1.0"),
    "0.3 by a path that no tenant has": ("/new", "GET", "/v1/card", "", "1.0"),
    "unknown, at an unknown path": ("/new", "GET", "/nothing", "7.0", "1.0"),
}


@pytest.mark.requirement("1.0", "3.6.2d")
@pytest.mark.parametrize(
    ("below", "verb", "path", "version", "spoken"), ELSEWHERE.values(), ids=ELSEWHERE.keys()
)
def test_v1_0_3_6_2_a_version_of_another_surface_is_refused_at_every_path(
    below: str, verb: str, path: str, version: str, spoken: str
) -> None:
    """The error lists the versions of the surface."""
    agent = build_test_agent()
    surfaces = [
        Surface(agent, f"/{name}", frozenset((dialect,)), shared_card=dialect)
        for name, dialect in (("new", "v1_0"), ("old", "v0_3"))
    ]
    with TestClient(build_test_app(*surfaces)) as client:
        response = client.request(
            verb,
            f"{below}{path}",
            headers={"A2A-Version": version} if version else {},
            json={"message": MESSAGE},
        )
    assert response.status_code == 400
    assert f"supported: {spoken}" in response.text
    assert "-32009" in response.text or "VERSION_NOT_SUPPORTED" in response.text


@pytest.mark.requirement("1.0", "3.6.2a")
def test_v1_0_3_6_2_the_version_decides_how_a_request_is_read(agent_place: httpx.Client) -> None:
    """One method that only one of the versions has is not found in the other, and answers have the
    form of their version.
    """
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": OLD_MESSAGE}}
    old = agent_place.post("/", json=call, headers={**ADA, "A2A-Version": "0.3"}).json()
    assert old["result"]["kind"] == "task"
    new = agent_place.post("/", json=call, headers={**ADA, "A2A-Version": "1.0"}).json()
    assert new["error"]["code"] == -32601
    current = {**call, "method": "SendMessage", "params": {"message": MESSAGE}}
    assert set(
        agent_place.post("/", json=current, headers={**ADA, "A2A-Version": "1.0"}).json()["result"]
    ) == {"task"}


@pytest.mark.requirement("1.0", "3.6.2a", "3.6.2b")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("operation", [SEND_MESSAGE, GET_TASK], ids=lambda each: each.name)
def test_v1_0_3_6_2_a_method_of_1_0_is_not_that_of_0_3(
    client_1_0: AgentClient, operation: Operation
) -> None:
    """A client that names 0.3 would misread the result, so it gets an error with the version of the
    method.
    """
    request = build_send_request("x") if operation is SEND_MESSAGE else GetTaskRequest(id="x")
    response = client_1_0.with_headers(a2a_version="0.3").call_raw(operation, request)
    assert_error(response, client_1_0.dialect_binding, "VersionNotSupportedError")
    assert "1.0" in response.text


@pytest.mark.requirement("1.0", "3.6.2c")
@pytest.mark.parametrize(
    "said", [{}, {"A2A-Version": ""}, {"A2A-Version": "  "}], ids=["none", "empty", "blank"]
)
def test_v1_0_3_6_2_no_version_means_0_3_where_0_3_has_the_name(
    agent_place: httpx.Client, said: dict[str, str]
) -> None:
    """Methods and paths of 0.3 are 0.3; those that only 1.0 has are 1.0."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": OLD_MESSAGE}}
    assert (
        agent_place.post("/", json=call, headers={**ADA, **said}).json()["result"]["kind"] == "task"
    )
    rest = agent_place.post(
        "/v1/message:send", json={"message": OLD_MESSAGE}, headers={**ADA, **said}
    ).json()
    assert rest["task"]["kind"] == "task"
    new = {**call, "method": "SendMessage", "params": {"message": MESSAGE}}
    assert "task" in agent_place.post("/", json=new, headers={**ADA, **said}).json()["result"]


@pytest.mark.requirement("1.0", "5.1")
@pytest.mark.requirement("0.3", "3.4.1")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_5_1_every_way_of_talking_does_the_same(agent_place: httpx.Client) -> None:
    """One scenario over all dialects and bindings gives the same tasks, but for their ids and
    times.
    """
    seen = [
        _scenario(AgentClient(agent_place, binding, "/kind" if str(binding) == "v0_3-http" else ""))
        for binding in DIALECT_BINDINGS
    ]
    assert all(each == seen[0] for each in seen)


def _scenario(talker: DialectClient) -> list[object]:
    done = talker.task("hello")
    failed = talker.task("x", skill="break")
    refused = talker.task("x", skill="refuse")
    asking = talker.task("hi", skill="ask")
    answered = talker.task("yes", task_id=asking.id, message_id="m-2")
    results = [
        [
            task.status.state,
            [part.text for artifact in task.artifacts or [] for part in artifact.parts],
            len(task.history or []),
        ]
        for task in (done, failed, refused, asking, answered)
    ]
    kinds = [
        "task" if event.task else "artifact"
        for event in talker.stream("3", skill="count")
        if not event.status_update
    ]
    return [*results, kinds]


@pytest.mark.requirement("1.0", "5.1")
def test_v1_0_5_1_every_operation_is_there_over_every_binding(client_1_0: AgentClient) -> None:
    """Every binding has all operations of the specification."""
    assert [
        name
        for name, operation in OPERATIONS.items()
        if "v1_0" in operation.calls and not client_1_0.dialect_binding.has(operation)
    ] == []


@pytest.mark.requirement("1.0", "5.2")
@pytest.mark.usefixtures("socket_only")
def test_v1_0_5_2_every_interface_on_the_card_answers(agent_place: httpx.Client) -> None:
    """In its binding and its version, at its address; and the first one is 1.0."""
    card = agent_place.get(CARD, headers={"A2A-Version": "1.0"}).json()
    said = [
        (each["protocolBinding"], each["protocolVersion"]) for each in card["supportedInterfaces"]
    ]
    assert said == [
        (binding, version)
        for version in ("1.0", "0.3")
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
    ]
    for each in card["supportedInterfaces"]:
        new = each["protocolVersion"] == "1.0"
        message = {"message": MESSAGE if new else OLD_MESSAGE}
        headers = {**ADA, "A2A-Version": each["protocolVersion"]}
        if each["protocolBinding"] == "JSONRPC":
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "SendMessage" if new else "message/send",
                "params": message,
            }
            assert "result" in agent_place.post(each["url"], json=call, headers=headers).json()
        elif each["protocolBinding"] == "GRPC":
            document = {"message": MESSAGE} if new else {"request": PROTO_MESSAGE}
            assert "task" in call_unary(
                each["url"],
                f"/{'lf.' if new else ''}a2a.v1.A2AService/SendMessage",
                document,
                headers,
            )
        else:
            assert (
                agent_place.post(
                    f"{each['url']}{'' if new else '/v1'}/message:send",
                    json=message,
                    headers=headers,
                ).status_code
                == 200
            )


METHODS = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/unknown"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/unknown:cancel"),
    "SubscribeToTask": ("POST", "/tasks/unknown:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/unknown/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/unknown/pushNotificationConfigs/p"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/unknown/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/unknown/pushNotificationConfigs/p"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}


@pytest.mark.requirement("1.0", "5.3")
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("method", METHODS)
def test_v1_0_5_3_every_operation_has_its_method_and_its_path(
    agent_place: httpx.Client, method: str
) -> None:
    """The error belongs to the request, not to the path."""
    called = agent_place.post(
        "/",
        json={"jsonrpc": "2.0", "id": 1, "method": method, "params": {}},
        headers={**ADA, "A2A-Version": "1.0"},
    )
    assert called.json().get("error", {}).get("code") != -32601
    verb, path = METHODS[method]
    response = agent_place.request(
        verb,
        path,
        headers={**ADA, "A2A-Version": "1.0"},
        **({"json": {}} if verb == "POST" else {}),
    )  # type: ignore[arg-type]
    assert response.status_code != 405
    assert (
        response.status_code in {200, 400}
        or response.json()["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"
    )
