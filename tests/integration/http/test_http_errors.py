"""Errors before the handler: wrong bodies, methods, media types, versions, sizes and callers, at
every kind of path.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from integration.outcome_agent import EXTENSION, build_test_agent, build_test_app
from litestar.exceptions import WebSocketDisconnect
from litestar.testing import TestClient

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.errors import PermissionDeniedError
from a2a_runtime.auth.authentication import Credentials
from a2a_runtime.auth.gate import PresenceGate
from a2a_runtime.base.caller import Caller
from a2a_runtime.surface import Limits, Surface

JSON = {"content-type": "application/json"}
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
CALL = {"jsonrpc": "2.0", "id": "r-1", "method": "SendMessage", "params": {"message": MESSAGE}}
LIMIT = 2000


class TokenGate:
    """Accepts one token, asynchronously."""

    def admit(self, credentials: Credentials) -> Awaitable[Caller]:
        """Check the token."""
        return self._check(credentials.get("authorization"))

    async def _check(self, authorization: str | None) -> Caller:
        if authorization != "Bearer ada":
            raise PermissionDeniedError("scope tasks:write is missing")
        return Caller("ada")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an open agent, of two with a gate, and of agents with one dialect each."""
    agent = build_test_agent()
    surfaces = (
        Surface(agent, limits=Limits(body_bytes=LIMIT)),
        Surface(agent, "/bearer", gate=PresenceGate()),
        Surface(agent, "/known", gate=TokenGate()),
        Surface(agent, "/new", dialects=frozenset((V1_0.name,)), shared_card=V1_0.name),
        Surface(agent, "/old", dialects=frozenset((V0_3.name,)), shared_card=V0_3.name),
    )
    with TestClient(build_test_app(*surfaces)) as client:
        yield client


def extract_error(response: httpx.Response) -> Mapping[str, Any]:
    """Return the error of a JSON-RPC response."""
    body = response.json()
    assert body["jsonrpc"] == "2.0"
    assert set(body) == {"jsonrpc", "id", "error"}
    return body["error"]  # type: ignore[no-any-return]  # JSON


@pytest.mark.parametrize(
    ("body", "code", "call_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\xff"}}', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, None),
        (b"null", -32600, None),
        (b'{"id":1}', -32600, 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"x"}}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{"id":"x"}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"GetTask","params":{"id":"x"}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"GetTask","params":{"id":"x"}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"GetTask","params":{"id":"x"}}', -32700, None),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x","mood":-Infinity}}',
            -32700,
            None,
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"NaN of Infinity"}}',
            -32001,
            1,
        ),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"GetTask","params":{"id":7}}', -32602, 1.5),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"Nothing"}', -32601, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{}}', -32601, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask"}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}', -32602, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"unknown"}}', -32001, 1),
    ],
    ids=lambda value: value.decode("latin-1")[:60] if isinstance(value, bytes) else None,
)
def test_an_invalid_call_has_the_json_rpc_error_code(
    client: httpx.Client, body: bytes, code: int, call_id: object
) -> None:
    """The status is 200, and the id is that of the call if it could be parsed."""
    response = client.post("/", content=body, headers=JSON)
    assert response.status_code == 200
    assert (extract_error(response)["code"], response.json()["id"]) == (code, call_id)


def test_every_field_error_is_reported(client: httpx.Client) -> None:
    """A refusal lists every wrong field, in both dialects and bindings."""
    wrong = {"message": {"role": "ROLE_USER", "parts": [{"text": "a", "url": "b"}, {"text": 7}]}}
    violations = extract_error(client.post("/", json={**CALL, "params": wrong}))["data"][1][
        "fieldViolations"
    ]
    assert [each["field"] for each in violations] == ["message.parts[0]", "message.parts[1].text"]
    assert (
        client.post("/message:send", json=wrong).json()["error"]["details"][1]["fieldViolations"]
        == violations
    )
    old = {
        "message": {
            "kind": "message",
            "messageId": "m",
            "role": "user",
            "parts": [{"kind": "text", "text": 7}],
        }
    }
    fields = [{"field": "message.parts[0].text", "description": "Input should be a valid string"}]
    data = {"reason": "INVALID_PARAMS", "fields": fields}
    assert (
        extract_error(client.post("/", json={**CALL, "method": "message/send", "params": old}))[
            "data"
        ]
        == data
    )
    assert client.post("/v1/message:send", json=old).json() == {
        "code": -32602,
        "message": "Invalid parameters",
        "data": data,
    }


POSTS = pytest.mark.parametrize(
    "path", ["", "/message:send", "/message:stream", "/v1/message:send", "/acme/message:send"]
)


@POSTS
def test_a_body_over_the_limit_is_refused(client: httpx.Client, path: str) -> None:
    """With 413, in the format of the path, with or without a declared length."""
    huge = json.dumps(
        {**CALL, "params": {"message": {**MESSAGE, "parts": [{"text": "x" * LIMIT}]}}}
    ).encode()
    for content in (huge, iter([huge])):
        response = client.post(path or "/", content=content, headers=JSON)
        assert response.status_code == 413
        assert str(LIMIT) in response.text
    assert ("jsonrpc" in response.json()) is (path == "")


@POSTS
def test_a_body_of_another_media_type_is_refused(client: httpx.Client, path: str) -> None:
    """Every spelling of the JSON media types is accepted."""
    response = client.post(path or "/", content=b"<a/>", headers={"content-type": "text/xml"})
    error = response.json()["error"] if path != "/v1/message:send" else response.json()
    assert response.status_code == (415 if path else 200)
    assert error["code"] in {-32005, 415}
    accepted = client.post(
        path or "/", content=b"{}", headers={"content-type": "Application/JSON; charset=utf-8"}
    )
    assert "Incompatible" not in accepted.text
    assert accepted.status_code != 415


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/", {"POST", "OPTIONS"}),
        ("DELETE", "/old/", {"POST", "OPTIONS"}),
        ("PUT", "/.well-known/agent-card.json", {"GET", "HEAD", "OPTIONS"}),
        ("POST", "/new/.well-known/agent-card.json/", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/message:send", {"POST", "OPTIONS"}),
        ("PATCH", "/tasks/t-1", {"GET", "HEAD", "OPTIONS"}),
        ("DELETE", "/tasks/t-1:cancel", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("HEAD", "/tasks/t-1:subscribe", {"GET", "POST", "OPTIONS"}),
        ("BREW", "/acme/tasks/t-1:cancel", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("BREW", "/tasks/", {"GET", "HEAD", "OPTIONS"}),
        ("BREW", "/old/v1/message:stream", {"POST", "OPTIONS"}),
        ("BREW", "/", {"POST", "OPTIONS"}),
        ("PUT", "/v1/tasks/t-1/pushNotificationConfigs/p-1", {"GET", "HEAD", "DELETE", "OPTIONS"}),
    ],
)
def test_another_http_method_is_refused_with_the_allowed_ones(
    client: httpx.Client, method: str, path: str, allowed: set[str]
) -> None:
    """405 with an Allow header; OPTIONS has the same header and no body."""
    response = client.request(method, path)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == allowed
    options = client.options(path)
    assert (options.status_code, options.content) == (204, b"")
    assert set(options.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/nothing/at/all", "v1_0"),
        ("/old/v1/nothing", "v0_3"),
        ("/new/a/b/c/d/e", "v1_0"),
        ("/old/x", "v0_3"),
    ],
)
def test_an_unknown_path_is_refused_in_the_dialect(
    client: httpx.Client, path: str, dialect: str
) -> None:
    """An error of the router has the format of the surface that owns the path."""
    response = client.get(path)
    assert response.status_code == 404
    assert (
        (response.json()["error"]["code"] == 404)
        if dialect == "v1_0"
        else (response.json()["code"] == -32601)
    )


def test_an_unknown_http_method_is_refused_in_the_dialect(client: httpx.Client) -> None:
    """Although the router refuses it too."""
    assert client.request("BREW", "/tasks").json()["error"]["code"] == 405
    assert extract_error(client.request("BREW", "/"))["code"] == -32600


VERSIONED = [
    ("A2A-Version", "1.0", "/message:send", 200),
    ("OPVS-Version", "1.0", "/message:send", 200),
    ("OPVS-Version", "0.3", "/message:send", 400),
    ("A2A-Version", "1.0.7", "/message:send", 200),
    ("A2A-Version", "", "/message:send", 200),
    ("A2A-Version", "2.0", "/message:send", 400),
    ("A2A-Version", "1.0", "/v1/message:send", 400),
    ("A2A-Version", "0.3", "/new/message:send", 400),
]


@pytest.mark.parametrize(("header", "version", "path", "status"), VERSIONED)
def test_a_version_comes_in_a_header_or_in_the_query(
    client: httpx.Client, header: str, version: str, path: str, status: int
) -> None:
    """An unsupported version, or one that does not match the path, is refused with its own
    error.
    """
    for options in ({"headers": {header: version}}, {"params": {header: version}}):
        # The options are one of the two.
        response = client.post(path, json={"message": MESSAGE}, **options)  # type: ignore[arg-type]
        assert response.status_code == status
        assert ("VERSION_NOT_SUPPORTED" in response.text) is (status == 400)


def test_an_unsupported_version_is_reported_first(client: httpx.Client) -> None:
    """Before other errors of the call; the response has its id and the supported versions."""
    for params in ({"message": MESSAGE}, {}):
        response = client.post("/", json={**CALL, "params": params}, headers={"A2A-Version": "9.9"})
        assert response.json()["id"] == "r-1"
        assert extract_error(response)["code"] == -32009
        assert extract_error(response)["data"][0]["metadata"] == {"supportedVersions": "1.0, 0.3"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/bearer", CALL),
        ("/bearer/message:send", {"message": MESSAGE}),
        ("/bearer/v1/message:send", {"message": MESSAGE}),
    ],
)
def test_a_missing_token_is_refused_before_the_body_is_read(
    client: httpx.Client, path: str, body: object
) -> None:
    """With 401 and a challenge for any body; with a token the body is read."""
    for content in (json.dumps(body).encode(), b"{" * 3000):
        response = client.post(path, content=content, headers=JSON)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json().get("id", "none") in {None, "none"}
    admitted = client.post(path, json=body, headers={"Authorization": "Bearer anything"})
    assert admitted.status_code in {200, 400}
    assert client.get("/bearer/.well-known/agent-card.json").status_code == 200


def test_an_asynchronous_gate_refuses_and_admits(client: httpx.Client) -> None:
    """Its error is the response; an admitted caller owns the task."""
    refused = client.post("/known", json=CALL)
    assert refused.status_code == 403
    assert extract_error(refused)["message"] == "scope tasks:write is missing"
    task = client.post("/known", json=CALL, headers={"Authorization": "Bearer ada"}).json()[
        "result"
    ]["task"]
    assert client.get(f"/known/tasks/{task['id']}").status_code == 403
    assert (
        client.get(
            f"/known/tasks/{task['id']}", headers={"Authorization": "Bearer ada"}
        ).status_code
        == 200
    )


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ({}, "application/json"),
        ({"accept": "application/a2a+json"}, "application/a2a+json"),
        ({"content-type": "application/a2a+json"}, "application/a2a+json"),
        ({"accept": "*/*"}, "application/json"),
        ({"accept": "text/html"}, "application/json"),
    ],
)
def test_the_media_type_of_a_response_follows_the_request(
    client: httpx.Client, sent: dict[str, str], received: str
) -> None:
    """Plain JSON unless the request names the protocol's own media type; always plain over
    JSON-RPC.
    """
    headers = {**JSON, **sent}
    for body in ({"message": MESSAGE}, {}):
        assert (
            client.post("/message:send", content=json.dumps(body), headers=headers).headers[
                "content-type"
            ]
            == received
        )
    assert (
        client.post("/", content=json.dumps(CALL), headers=headers).headers["content-type"]
        == "application/json"
    )
    assert (
        client.post("/v1/message:send", content=b"{}", headers=JSON).headers["content-type"]
        == "application/json"
    )


@pytest.mark.parametrize(
    "header", ["A2A-Extensions", "X-A2A-Extensions", "OPVS-Extensions", "X-OPVS-Extensions"]
)
def test_active_extensions_are_listed(client: httpx.Client, header: str) -> None:
    """In the header in which the client listed them, without those that the agent does not
    support.
    """
    headers = {header: f"https://example.org/other, {EXTENSION}"}
    for response in (
        client.post("/", json=CALL, headers=headers),
        client.post("/message:send", json={"message": MESSAGE}, headers=headers),
    ):
        assert response.headers[header] == EXTENSION
    assert "a2a-extensions" not in client.post("/", json=CALL).headers


def test_a_head_request_gets_the_headers_of_a_get(client: httpx.Client) -> None:
    """HEAD has the headers of GET, for cards and for tasks."""
    task = client.post("/message:send", json={"message": MESSAGE}).json()["task"]
    for path in (f"/tasks/{task['id']}", "/.well-known/agent-card.json"):
        head = client.head(path)
        get = client.get(path)
        assert head.status_code == 200
        assert head.headers["content-length"] == get.headers["content-length"]


def test_a_websocket_is_rejected(client: TestClient[Any]) -> None:
    """A WebSocket is rejected at the endpoint and at the cards."""
    for path in ("/", "/.well-known/agent-card.json"):
        with pytest.raises(WebSocketDisconnect):
            client.websocket_connect(path).__enter__()


@pytest.mark.requirement("1.0", "3.3.2g")
def test_an_unexpected_error_has_a_fixed_text(caplog: pytest.LogCaptureFixture) -> None:
    """The details are in the log only."""

    class BrokenGate:
        def admit(self, _credentials: Credentials) -> Caller:
            raise ZeroDivisionError("/srv/secret/path.py")

    with (
        caplog.at_level(logging.ERROR),
        TestClient(build_test_app(Surface(build_test_agent(), gate=BrokenGate()))) as broken,
    ):
        response = broken.post("/message:send", json={"message": MESSAGE})
    assert (response.status_code, response.json()["error"]["message"]) == (500, "Internal error")
    assert "secret" not in response.text
    assert "/srv/secret/path.py" in caplog.text


def test_a_mesh_surface_has_no_versions() -> None:
    """A surface with only the mesh dialect lists none, and renders errors in that dialect."""
    with TestClient(
        build_test_app(
            Surface(
                build_test_agent(),
                dialects=frozenset((MESH.name,)),
                shared_card=MESH.name,
                only=frozenset(("echo",)),
            )
        )
    ) as mesh:
        assert mesh.post("/", content=b"{", headers=JSON).status_code == 400
        assert (
            extract_error(mesh.post("/", json=CALL))["message"]
            == "Method not implemented: SendMessage"
        )
