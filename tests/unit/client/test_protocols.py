"""Requests of each protocol binding."""

from __future__ import annotations

import httpx
import pytest
from pydantic_core import from_json, to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.operations import (
    CANCEL_TASK,
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    LIST_TASKS,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
)
from a2a_runtime.client import HTTP_JSON, JSONRPC, A2AClient, ClientOptions, Pin, SendOptions
from a2a_runtime.client.interface import interface_from_pin
from a2a_runtime.client.protocols import build_protocol

URL = "https://agent/base"

SAID: dict[str, tuple[Pin, Operation, WireModel, tuple[str, str, tuple[tuple[str, str], ...]]]] = {
    "1.0 JSON-RPC": (Pin("v1_0", JSONRPC), GET_TASK, GetTaskRequest(id="t"), ("POST", "", ())),
    "1.0 HTTP+JSON": (
        Pin("v1_0", HTTP_JSON),
        GET_TASK,
        GetTaskRequest(id="t", history_length=2),
        ("GET", "/tasks/t", (("historyLength", "2"),)),
    ),
    "1.0 HTTP+JSON, of a tenant": (
        Pin("v1_0", HTTP_JSON),
        GET_TASK,
        GetTaskRequest(id="t", tenant="a"),
        ("GET", "/a/tasks/t", ()),
    ),
    "0.3 HTTP+JSON": (
        Pin("v0_3", HTTP_JSON),
        CANCEL_TASK,
        CancelTaskRequest(id="t"),
        ("POST", "/v1/tasks/t:cancel", ()),
    ),
    "0.3 HTTP+JSON in ProtoJSON": (
        Pin("v0_3_proto"),
        SUBSCRIBE_TO_TASK,
        SubscribeToTaskRequest(id="t"),
        ("GET", "/v1/tasks/t:subscribe", ()),
    ),
    "what only the other form has": (
        Pin("v0_3_proto"),
        LIST_TASKS,
        ListTasksRequest(page_size=5),
        ("GET", "/v1/tasks", (("pageSize", "5"),)),
    ),
}


@pytest.mark.parametrize(("pin", "operation", "request_", "said"), SAID.values(), ids=SAID.keys())
def test_each_operation_has_a_request(
    pin: Pin,
    operation: Operation,
    request_: WireModel,
    said: tuple[str, str, tuple[tuple[str, str], ...]],
) -> None:
    """With the method, the path and the query that the dialect has for it."""
    question = build_protocol(interface_from_pin(URL, pin)).encode(operation, request_)
    method, path, query = said
    assert (question.method, question.url, question.query) == (method, URL + path, query)
    assert bool(question.media_type) == (question.body is not None)


def test_a_call_names_the_method_of_its_dialect() -> None:
    """The same request is another method, and other params, for each."""
    bodies = [
        build_protocol(interface_from_pin(URL, Pin(dialect)))
        .encode(GET_TASK, GetTaskRequest(id="t"))
        .body
        or b""
        for dialect in ("v1_0", "v0_3", "mesh")
    ]
    assert [(from_json(body)["method"], from_json(body)["params"]) for body in bodies] == [
        ("GetTask", {"id": "t"}),
        ("tasks/get", {"id": "t"}),
        ("tasks/get", {"id": "t"}),
    ]


def test_an_operation_that_the_dialect_lacks_is_an_error() -> None:
    """The error names the dialect and the operation."""
    with pytest.raises(
        UnsupportedOperationError,
        match=r"GetExtendedAgentCard: not available in mesh .* over JSONRPC",
    ):
        build_protocol(interface_from_pin(URL, Pin("mesh"))).encode(
            GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()
        )


@pytest.mark.anyio
async def test_every_request_has_tenant_version_and_extensions() -> None:
    """The tenant of the interface, the version, the extensions under all of their header names, and
    the headers of the user.
    """
    interface = {
        "url": "https://agent/base",
        "protocolBinding": "HTTP+JSON",
        "protocolVersion": "1.0",
        "tenant": "acme",
    }
    card = {
        "name": "a",
        "description": "",
        "version": "1",
        "capabilities": {},
        "supportedInterfaces": [interface],
        "skills": [],
    }
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        body: object = (
            card
            if request.url.path.endswith(".json")
            else {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}
        )
        return httpx.Response(200, content=to_json(body))

    options = ClientOptions(
        extensions=("https://x/1", "https://x/2"), headers={"x-request-id": "7"}
    )
    async with A2AClient(
        "https://agent", auth="secret", options=options, transport=httpx.MockTransport(answer)
    ) as client:
        await client.get("t")
        await client.get("u")
    assert [request.url.path for request in requests] == [
        "/.well-known/agent-card.json",
        "/base/acme/tasks/t",
        "/base/acme/tasks/u",
    ]
    headers = requests[-1].headers
    assert {
        name: headers[name]
        for name in ("a2a-version", "opvs-version", "x-request-id", "authorization")
    } == {
        "a2a-version": "1.0",
        "opvs-version": "1.0",
        "x-request-id": "7",
        "authorization": "Bearer secret",
    }
    assert headers["a2a-extensions"] == headers["x-a2a-extensions"] == "https://x/1, https://x/2"


def test_a_token_is_not_in_a_repr() -> None:
    """The repr of a client with a token does not contain the token."""
    client = A2AClient("https://agent", auth="secret")
    assert "secret" not in repr(client._connection._transport._http.auth)


@pytest.mark.anyio
async def test_tenant_and_extensions_of_one_request() -> None:
    """The tenant of the client precedes the card's; extensions of a message are requested with that
    message only.
    """
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        task = {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}
        return httpx.Response(
            200, content=to_json({"task": task} if request.url.path.endswith("send") else task)
        )

    options = ClientOptions(
        interface_url="https://agent/base",
        pin=Pin("v1_0", HTTP_JSON),
        tenant="acme",
        extensions=("https://x/1",),
    )
    async with A2AClient(
        "https://agent", options=options, transport=httpx.MockTransport(answer)
    ) as client:
        await client.send(
            "hi",
            options=SendOptions(
                message_id="m", reference_task_ids=("t-0",), extensions=("https://x/2",)
            ),
        )
        await client.cancel("t", metadata={"why": "late"})
    sent, canceled = requests
    message = from_json(sent.content)["message"]
    assert (message["messageId"], message["referenceTaskIds"], message["extensions"]) == (
        "m",
        ["t-0"],
        ["https://x/2"],
    )
    assert [sent.url.path, canceled.url.path] == [
        "/base/acme/message:send",
        "/base/acme/tasks/t:cancel",
    ]
    assert [each.headers["a2a-extensions"] for each in requests] == [
        "https://x/1, https://x/2",
        "https://x/1",
    ]
    assert from_json(canceled.content)["metadata"] == {"why": "late"}


@pytest.mark.anyio
async def test_a_tenant_for_an_agent_without_tenants_is_an_error() -> None:
    """An agent of 0.3 knows no tenants."""
    options = ClientOptions(interface_url="https://agent", pin=Pin("v0_3"), tenant="acme")
    async with A2AClient(
        "https://agent",
        options=options,
        transport=httpx.MockTransport(lambda _: httpx.Response(500)),
    ) as client:
        with pytest.raises(UnsupportedOperationError, match="tenant"):
            await client.get("t")
