"""Requests that pages of other origins make a browser send, with the cookies of its user."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from conformance.security.guarded_apps import build_guarded_agent
from integration.outcome_agent import serve_on_socket
from litestar.testing import TestClient

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.jsonrpc import serialize_call
from a2a_contract.methods import METHODS
from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.v1_0 import SendMessageRequest
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, KeyLocation, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

OWN = "https://agent.example"
ALLOWED = "https://app.example"
MESSAGE = SendMessageRequest(message=build_user_message("x"))


def serialize_send(dialect: str) -> bytes:
    """Serialize a message as a JSON-RPC call."""
    name, binding = next(
        (name, each) for name, each in METHODS[dialect].items() if each.operation is SEND_MESSAGE
    )
    return serialize_call(name, "r-1", binding.encode_request(MESSAGE))


WRITES = {
    "1.0 JSON-RPC": ("/", serialize_send(V1_0.name)),
    "0.3 JSON-RPC": ("/", serialize_send(V0_3.name)),
    "HTTP+JSON": ("/message:send", MESSAGE.to_json()),
    "without a body": ("/tasks/nope:cancel", b""),
    "a skill": ("/skills/shout", b'"x"'),
}
ORIGINS = {
    "not a browser": ({}, True),
    "same origin": ({"sec-fetch-site": "same-origin", "origin": "https://inside.example"}, True),
    "typed by the user": ({"sec-fetch-site": "none"}, True),
    "same origin, old browser": ({"origin": "http://testserver.local"}, True),
    "same origin, behind a proxy": ({"origin": OWN}, True),
    "allowed origin": ({"origin": ALLOWED, "sec-fetch-site": "cross-site"}, True),
    "cross-site": ({"sec-fetch-site": "cross-site"}, False),
    "same site": ({"sec-fetch-site": "same-site", "origin": "https://other.agent.example"}, False),
    "cross-site, old browser": ({"origin": "https://evil.example"}, False),
    "another port": ({"origin": "http://testserver.local:81"}, False),
    "hidden": ({"origin": "null"}, False),
    "empty": ({"origin": ""}, False),
    "similar origin": ({"origin": f"{OWN}.evil.example"}, False),
}
REBOUND = {
    "Sec-Fetch-Site": ({"sec-fetch-site": "same-origin"}, "evil.example"),
    "Origin": ({"origin": "http://evil.example:8000"}, "evil.example:8000"),
    "both": ({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, "EVIL.example"),
    "typed by the user": ({"sec-fetch-site": "none"}, "evil.example"),
    "plain HTTP": ({"user-agent": "Mozilla/5.0 (X11)"}, "evil.example"),
    "plain HTTP, another name": ({"user-agent": "curl/8", "accept-language": "*"}, "evil.example"),
    "a link": ({"referer": "http://evil.example/"}, "evil.example"),
    "similar host": ({"sec-fetch-site": "same-origin"}, "agent.example.evil.example"),
    "no host": ({"sec-fetch-site": "same-origin"}, "["),
}
OWN_HOSTS = (
    "agent.example",
    "Agent.Example:8443",
    "inside.example",
    "localhost:8000",
    "app.localhost",
    "127.0.0.1:80",
    "[::1]:80",
    "10.1.2.3",
)


@pytest.mark.parametrize(("origin_headers", "is_allowed"), ORIGINS.values(), ids=ORIGINS.keys())
@pytest.mark.parametrize(("path", "body"), WRITES.values(), ids=WRITES.keys())
def test_writes_from_pages_of_other_origins_are_refused(
    path: str,
    body: bytes,
    origin_headers: dict[str, str],
    is_allowed: bool,  # noqa: FBT001 - a table
) -> None:
    """A browser sends a body without a media type, or no body, without preflight.

    Reads are served: no foreign page can read the response.
    """
    gate = AuthGate(
        ApiKeyAuthenticator(
            {digest_key("k"): Identity("ada")}, name="sid", location=KeyLocation.COOKIE
        )
    )
    surface = Surface(build_guarded_agent(), gate=gate, public_url=OWN)
    with TestClient(
        create_app(
            surface,
            store="memory",
            settings=replace(
                FAST_SETTINGS, cors_origins=(ALLOWED,), allowed_hosts=("testserver.local",)
            ),
        )
    ) as client:
        headers = {
            "cookie": "sid=k",
            "a2a-version": "1.0" if path.startswith(("/message", "/tasks")) else "",
            **origin_headers,
        }
        response = client.post(path, content=body, headers=headers)
        assert (response.status_code == 403) is not is_allowed
        assert ("Pages of other origins" in response.text) is not is_allowed
        assert client.get("/tasks", headers=headers).status_code == 200


@pytest.fixture(scope="module")
def socket_client() -> Iterator[httpx.Client]:
    """An agent on a socket, with a URL and a host in the settings."""
    app = create_app(
        Surface(build_guarded_agent(), public_url=OWN),
        store="memory",
        settings=replace(FAST_SETTINGS, allowed_hosts=("Inside.example",)),
    )
    with serve_on_socket(app) as client:
        yield client


@pytest.mark.parametrize(("browser_headers", "host"), REBOUND.values(), ids=REBOUND.keys())
@pytest.mark.parametrize(("path", "body"), WRITES.values(), ids=WRITES.keys())
def test_a_name_that_is_made_to_lead_here_is_not_the_agents(
    socket_client: httpx.Client, path: str, body: bytes, browser_headers: dict[str, str], host: str
) -> None:
    """The request of such a page names one host everywhere, and would be of the same origin; reads
    are refused too. Other clients name any host.
    """
    headers = {
        "host": host,
        "a2a-version": "1.0" if path.startswith(("/message", "/tasks")) else "",
    }
    response = socket_client.post(path, content=body, headers=headers | browser_headers)
    assert (response.status_code, "A2A_ALLOWED_HOSTS" in response.text) == (403, True)
    assert socket_client.get("/tasks", headers=headers | browser_headers).status_code == 403
    assert socket_client.get("/tasks", headers=headers).status_code == 200
    assert (
        socket_client.get(
            "/.well-known/agent-card.json", headers=headers | browser_headers
        ).status_code
        == 200
    )


def test_node_is_no_browser(socket_client: httpx.Client) -> None:
    """Its requests have some headers of browsers."""
    headers = {
        "host": "any.example",
        "accept-language": "*",
        "sec-fetch-mode": "cors",
        "user-agent": "node",
        "a2a-version": "1.0",
    }
    assert socket_client.get("/tasks", headers=headers).status_code == 200


def test_a_request_names_one_host(socket_client: httpx.Client) -> None:
    """Two would be judged by one and answered with the other."""
    for path in (b"/tasks", b"/.well-known/agent-card.json"):
        with socket.create_connection(
            ("127.0.0.1", socket_client.base_url.port or 0)
        ) as connection:
            hosts = b"Host: agent.example\r\nHost: evil.example\r\nConnection: close\r\n"
            connection.sendall(b"GET %b HTTP/1.1\r\n%bA2A-Version: 1.0\r\n\r\n" % (path, hosts))
            response = connection.makefile("rb").read()
        assert response.startswith(b"HTTP/1.1 400 ")
        assert b"send one" in response


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_pages_of_the_agent_are_served(socket_client: httpx.Client, host: str) -> None:
    """At the host of its URL, at those in the settings, and at names and addresses that no other
    page can have.
    """
    headers = {"host": host, "sec-fetch-site": "same-origin"}
    assert socket_client.get("/tasks", headers=headers).status_code == 200
    assert (
        socket_client.post(
            "/", content=serialize_send(V1_0.name), headers={**headers, "origin": f"http://{host}"}
        ).status_code
        == 200
    )


def test_a_wildcard_allows_every_origin() -> None:
    """The operator is warned in the log."""
    with TestClient(
        create_app(
            build_guarded_agent(),
            store="memory",
            settings=replace(FAST_SETTINGS, cors_origins=("*",)),
        )
    ) as client:
        assert client.post(
            "/",
            content=serialize_send(V1_0.name),
            headers={"origin": "https://any.example", "sec-fetch-site": "cross-site"},
        ).is_success
